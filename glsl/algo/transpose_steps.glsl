// How a workgroup of any shape passes over its tile, row by row: its invocations together cover one piece of its own shape per
// step.
#ifndef TRANSPOSE_STEPS_GLSL
#define TRANSPOSE_STEPS_GLSL

const uint STEPS_ACROSS = (TILE + gl_WorkGroupSize.x - 1) / gl_WorkGroupSize.x;
const uint STEPS = STEPS_ACROSS * ((TILE + gl_WorkGroupSize.y - 1) / gl_WorkGroupSize.y);

// Steps that are unrolled, so that as many words are in flight. Not all of them: the smallest shapes have a thousand.
const uint UNROLL = STEPS < 4 ? STEPS : 4;

// The invocation's place in the tile; beyond the tile where the shape doesn't divide it, and after the last step.
uvec2 place_at(uint step) {
    return gl_LocalInvocationID.xy + uvec2(step % STEPS_ACROSS, step / STEPS_ACROSS) * gl_WorkGroupSize.xy;
}

#endif
