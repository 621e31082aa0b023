// expects: race — perhaps, as readers come: the reader reads the data whether or not it saw the flag set
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint flag;
shared uint data;

void main() {
    uint lid = gl_LocalInvocationIndex;
    uint gid = gl_WorkGroupID.x * 64u + lid;
    uint x = (a[gid] & 255u) * 64u + lid; // differs between the lanes of a workgroup
    if (lid == 0u) { flag = 0u; data = 5u; }
    barrier();
    if (lid == 40u) {
        data = x;
        memoryBarrierShared();
        atomicExchange(flag, 1u);
    }
    uint r = 0u;
#if FAULT
    if (atomicOr(flag, 0u) <= 1u) {
#else
    if (atomicOr(flag, 0u) == 1u) {
#endif
        memoryBarrierShared();
        r = data;
    }
    b[gid] = r;
}
