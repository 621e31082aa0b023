// expects: uninitialised — component w was never stored and is added; the right variant loads the whole vec4 too, but uses x, y and z only
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared vec4 v[64];

void main() {
    uint lid = gl_LocalInvocationIndex;
    uint gid = gl_WorkGroupID.x * 64u + lid;
    uint x = (a[gid] & 255u) * 64u + lid; // differs between the lanes of a workgroup
    v[lid].x = float(x);
    v[lid].y = 2.0;
    v[lid].z = 3.0;
    barrier();
    vec4 t = v[63u - lid];
#if FAULT
    b[gid] = uint(t.x + t.y + t.w);
#else
    b[gid] = uint(t.x + t.y + t.z);
#endif
}
