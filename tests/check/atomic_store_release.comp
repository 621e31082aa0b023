// expects: race — perhaps, if a reader sees the flag: a relaxed store of the flag releases nothing, so a reader that sees the flag is not ordered after the data
#version 450
#extension GL_KHR_memory_scope_semantics : require
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
        atomicStore(flag, 1u, gl_ScopeWorkgroup, 0, gl_SemanticsRelaxed);
#else
        atomicStore(flag, 1u, gl_ScopeWorkgroup, gl_StorageSemanticsShared, gl_SemanticsRelease);
#endif
    }
    uint r = 0u;
    if (atomicLoad(flag, gl_ScopeWorkgroup, gl_StorageSemanticsShared, gl_SemanticsAcquire) != 0u)
        r = data;
    b[gid] = r;
}
