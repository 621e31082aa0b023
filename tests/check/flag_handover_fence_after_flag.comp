// expects: race — perhaps, as readers come: the fence comes after the flag, so no release precedes it and a reader that sees the flag is not ordered after the data
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
    if (lid == 20u) {
        data = x;
#if FAULT
        atomicExchange(flag, 1u); memoryBarrierShared();
#else
        memoryBarrierShared(); atomicExchange(flag, 1u);
#endif
    }
    uint r = 0u;
    if (lid != 20u && atomicAdd(flag, 0u) != 0u) {
        memoryBarrierShared();
        r = data;
    }
    b[gid] = r;
}
