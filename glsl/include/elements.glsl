// How the elements of an array are dealt to the invocations of a grid. Include local_size.glsl and grid.glsl before it.
#ifndef ELEMENTS_GLSL
#define ELEMENTS_GLSL

// Elements per invocation: what it does with one doesn't depend on the others, so this many accesses can be in flight.
layout(constant_id = 4) const uint UNROLL = 8;

// Neighbouring invocations take neighbouring elements; one invocation's own lie a workgroup apart.
uint first_element() {
    return linear_group() * gl_WorkGroupSize.x * UNROLL + gl_LocalInvocationID.x;
}

uint own_element(uint k) {
    return first_element() + k * gl_WorkGroupSize.x;
}

// The first element that belongs to the next workgroup.
uint next_first_element() {
    return first_element() - gl_LocalInvocationID.x + UNROLL * gl_WorkGroupSize.x;
}

// Where an invocation writes the one result that it has.
uint own_result() {
    return linear_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
}

#endif
