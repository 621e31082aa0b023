// expects: race — perhaps: if the reader comes late enough to see the flag
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
// Who sees the flag sees what was written before it, if both have a fence.
shared uint data;
shared uint flag;
void main() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
    if (l == 0) { flag = 0; data = 0; }
    barrier();
    if (l == 0) {
        data = a[g];
        memoryBarrierShared();
        atomicExchange(flag, 1);
    }
    if (l == 63 && atomicOr(flag, 0) == 1) {
#if !FAULT
        memoryBarrierShared();
#endif
        b[g] = data;
    }
}
