#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
// Every invocation adds to one word.
layout(local_size_x = 256) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint total; };
void main() {
    uint i = gl_GlobalInvocationID.x;
#ifdef MENDED
    uint sum = subgroupAdd(a[i] & 255u);
    if (subgroupElect()) atomicAdd(total, sum);
#else
    atomicAdd(total, a[i] & 255u); // FAULT
#endif
}
