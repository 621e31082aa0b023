// expects: race
#version 450
#extension GL_KHR_memory_scope_semantics : require
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
shared uint word;
void main() {
    uint l = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
    if (l == 0) word = a[g];
    barrier();
#if FAULT
    if (l == 0) atomicStore(word, a[g] + 1, gl_ScopeWorkgroup, 0, 0);
#else
    if (l == 0) b[g] = atomicLoad(word, gl_ScopeWorkgroup, 0, 0);
#endif
    else b[g] = word;
}
