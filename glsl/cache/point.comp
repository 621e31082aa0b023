#version 450
#include "pointers.glsl"
#include "local_size.glsl"
#include "chain.glsl"

layout(push_constant) uniform Push {
    // The address at which the nodes begin.
    uvec2 base;
    // How many there are.
    uint count;
};

// The host knows the nodes' indexes, but not their addresses.
layout(set = 0, binding = 0) restrict buffer Nodes { uint nodes[]; };

// Gives each node the address of the next one, beside its index. A second time, it finds the same index and writes the same.
void main() {
    const uint invocations = gl_NumWorkGroups.x * gl_WorkGroupSize.x;
    for (uint node = gl_GlobalInvocationID.x; node < count; node += invocations) {
        const uint word = first_word(node);
        const uvec2 next = address_of(base, nodes[word] + POINTER);
        nodes[word + POINTER] = next.x;
        nodes[word + POINTER + 1u] = next.y;
    }
}
