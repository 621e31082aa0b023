// expects: race — in one workgroup; in the others a flag that two invocations set leaves open who was first
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint flag;
shared uint s[64];
void main() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
    if (l == 0) flag = 0;
    barrier();
    s[l] = a[g] + l * 4096;
    if (gl_WorkGroupID.x > 0 && l % 32 == 0) {
        // All have written before: who sees 1 comes behind whoever set it, and nobody reads before the barrier.
        memoryBarrierShared();
        atomicExchange(flag, 1 + l * 0);
        atomicExchange(flag, 0);
        atomicOr(flag, 0);
        memoryBarrierShared();
    }
#if FAULT
    if (gl_WorkGroupID.x > 0)
#endif
    barrier();
    b[g] = s[63 - l];
}
