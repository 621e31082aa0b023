// expects: race
#version 450
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
// Within a subgroup its barrier is enough.
shared uint s[64];
void main() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
    uint first = gl_SubgroupID * gl_SubgroupSize;
    s[l] = a[g];
#if FAULT
    subgroupMemoryBarrierShared();
#else
    subgroupBarrier();
#endif
    b[g] = s[first + (gl_SubgroupInvocationID ^ 1)];
}
