// What the kernels of all classes share: buffers, what a lane knows of its subgroup, and the chain of operations. A kernel
// includes this and defines `advance`, one operation of the class with what feeds its result into the next.
#ifndef OPS_GLSL
#define OPS_GLSL

#extension GL_EXT_control_flow_attributes : require
#include "types.glsl"
#include "local_size.glsl"
#include "grid.glsl"

// Which operation: its place among those of the class in the host's table. A macro, so that a module has no other: some drivers
// (SwiftShader) go through all branches on a specialization constant, and would do every operation of the class each time.
#ifndef OP
#define OP 0
#endif

// Operations of one invocation, each of which needs the result of the one before; a multiple of 16.
layout(constant_id = 3) const uint CHAIN = 32;

layout(set = 0, binding = 0) restrict writeonly buffer Results { STORED results[]; };
layout(set = 0, binding = 1) restrict writeonly buffer Ids { uint ids[]; };
layout(set = 0, binding = 2) restrict readonly buffer Words { uint words[]; };

// Workgroups with words of their own: the others repeat them. No compiler knows which of them it compiles for.
const uint BEGINNINGS = 16u;

// An invocation in its subgroup.
struct Lane {
    uint id;
    // Invocations of its subgroup: they are the lanes from 0 on.
    uint count;
    // Makes lanes differ: a chain of operations on one value for all could be folded into one.
    uint term;
    // A lane that has an invocation.
    uint pick;
    // The same word in every invocation.
    uint same;
};

// A yes or no makes the next operand as well.
T stir_bool(T x, bool result, Lane lane) {
    return stir(x, result ? lane.term : ~lane.term);
}

// What lane `partner` gave; where it has no invocation that is undefined, and the own value stands for it.
T given(T from_partner, T own, uint partner, Lane lane) {
    return partner < lane.count ? from_partner : own;
}

// The operation of this number in the chain.
T advance(T x, Lane lane, uint number);

Lane this_lane(uint i) {
    Lane lane;
    lane.id = gl_SubgroupInvocationID;
    lane.count = gl_WorkGroupSize.x % gl_SubgroupSize == 0
        ? gl_SubgroupSize
        : min(gl_SubgroupSize, gl_WorkGroupSize.x - gl_SubgroupID * gl_SubgroupSize);
    const uint at = (i / gl_WorkGroupSize.x) % BEGINNINGS * gl_WorkGroupSize.x + i % gl_WorkGroupSize.x;
    lane.term = words[at];
    lane.pick = words[at] % lane.count;
    lane.same = words[0];
    return lane;
}

// One iteration of the loop: sixteen operations, so that the loop itself hardly counts. They are written out: a loop within
// would leave it to the driver.
#ifdef ONE_BY_ONE
#define OPERATIONS_PER_ITERATION 1
#define OPERATIONS(first) x = advance(x, lane, first);
#else
#define OPERATIONS_PER_ITERATION 16
#define OPERATIONS(first) FOUR(first) FOUR(first + 4) FOUR(first + 8) FOUR(first + 12)
#endif
#define FOUR(first)                  \
    x = advance(x, lane, first);     \
    x = advance(x, lane, first + 1); \
    x = advance(x, lane, first + 2); \
    x = advance(x, lane, first + 3);

void main() {
    const uint i = linear_group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    const Lane lane = this_lane(i);
    T x = operand_of(lane.term);
    [[dont_unroll]] for (uint done = 0; done < CHAIN; done += OPERATIONS_PER_ITERATION) {
        OPERATIONS(done)
    }
    results[i] = stored(x);
    ids[i] = (gl_SubgroupID << 16) | (gl_SubgroupInvocationID << 8) | gl_SubgroupSize;
}

#endif
