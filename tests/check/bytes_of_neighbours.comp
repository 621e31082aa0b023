// expects: race — two lanes store the same byte; bytes side by side in one word are not in dispute; needs: int8
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint8_t s[64];

void main() {
    uint lid = gl_LocalInvocationIndex;
    uint gid = gl_WorkGroupID.x * 64u + lid;
    uint x = (a[gid] & 255u) * 64u + lid; // differs between the lanes of a workgroup
#if FAULT
    s[lid & 62u] = uint8_t(lid);
#else
    s[lid] = uint8_t(lid);
#endif
    barrier();
    b[gid] = x + uint(s[lid & 62u]);
}
