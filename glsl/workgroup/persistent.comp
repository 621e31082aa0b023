#version 450
#include "local_size.glsl"
#include "grid.glsl"
#include "scramble.glsl"
#include "stepped.glsl"

// Blocks of items, one item for each invocation of a workgroup.
layout(constant_id = 3) const uint BLOCKS = 1;
layout(constant_id = 4) const uint ITERATIONS = 1;
// Whether one block of 16 takes 16 times as long as the others.
layout(constant_id = 5) const bool UNEVEN = false;

// Neighbouring blocks begin with different numbers: what is the same for all blocks would leave the loop over them.
const uint BEGINNINGS = 4;

layout(set = 0, binding = 0) restrict writeonly buffer Results { uint results[]; };

uint iterations_of(uint block) {
    return UNEVEN && scramble(block) % 16u == 0u ? 16u * ITERATIONS : ITERATIONS;
}

void work_on(uint block) {
    const uint self = gl_LocalInvocationID.x;
    uint x = block % BEGINNINGS * gl_WorkGroupSize.x + self + 1u;
    for (uint k = iterations_of(block); k > 0u; --k) {
        x = stepped(x);
    }
    results[block * gl_WorkGroupSize.x + self] = x + block;
}

// QUEUE is a macro: it has the queue, a resource of its own.
#ifdef QUEUE

// The number of blocks that were taken, in the one word that it has.
layout(set = 0, binding = 1) restrict buffer Queue { uint queue[]; };

shared uint taken;

// The next block, the same for the whole workgroup; BLOCKS or more where there is none.
uint next_block() {
    if (gl_LocalInvocationID.x == 0u) {
        taken = atomicAdd(queue[0], 1u);
    }
    barrier();
    const uint block = taken;
    // Nobody takes another before all have seen this one.
    barrier();
    return block;
}

void main() {
    uint block = next_block();
    while (block < BLOCKS) {
        work_on(block);
        block = next_block();
    }
    // Every workgroup comes back once without a block. The last one of them leaves the queue as the pass found it.
    const uint groups = gl_NumWorkGroups.x * gl_NumWorkGroups.y;
    if (gl_LocalInvocationID.x == 0u && block == BLOCKS + groups - 1u) {
        queue[0] = 0u;
    }
}

#else

void main() {
    const uint groups = gl_NumWorkGroups.x * gl_NumWorkGroups.y;
    for (uint block = linear_group(); block < BLOCKS; block += groups) {
        work_on(block);
    }
}

#endif
