#version 450
#extension GL_KHR_shader_subgroup_ballot : require
#include "ops.glsl"

// In the order of the axis `op`.
const uint BALLOT = 0, INVERSE_BALLOT = 1, BIT_EXTRACT = 2, BIT_COUNT = 3, INCLUSIVE_BIT_COUNT = 4, EXCLUSIVE_BIT_COUNT = 5,
           FIND_LSB = 6, FIND_MSB = 7, BROADCAST = 8;

// A ballot that differs from lane to lane and from step to step.
uvec4 spread(uint x) {
    return uvec4(x, ~x, x, ~x);
}

// The same for all lanes, as inverse ballots must be; no two steps share it.
uvec4 uniform_ballot(Lane lane, uint number) {
    return spread(lane.same + number * 0x9E3779B9u);
}

uint gather(uvec4 ballot) {
    return ballot.x ^ ballot.y ^ ballot.z ^ ballot.w;
}

T advance(T x, Lane lane, uint number) {
    const uint bits = BITS(x);
    // Of the bits that count, one is set: without any, the place of the first is undefined.
    const uint last_bit = 1u << (min(gl_SubgroupSize, 32u) - 1u);
    if (OP == BALLOT) return stir(VALUE(gather(subgroupBallot(bits >= 0x80000000u))), lane.term);
    if (OP == INVERSE_BALLOT) return stir_bool(x, subgroupInverseBallot(uniform_ballot(lane, number)), lane);
    if (OP == BIT_EXTRACT) return stir_bool(x, subgroupBallotBitExtract(spread(bits), lane.pick), lane);
    if (OP == BIT_COUNT) return stir(VALUE(subgroupBallotBitCount(spread(bits))), lane.term);
    if (OP == INCLUSIVE_BIT_COUNT) return stir(VALUE(subgroupBallotInclusiveBitCount(spread(bits))), lane.term);
    if (OP == EXCLUSIVE_BIT_COUNT) return stir(VALUE(subgroupBallotExclusiveBitCount(spread(bits))), lane.term);
    if (OP == FIND_LSB) return stir(VALUE(subgroupBallotFindLSB(spread(bits | last_bit))), lane.term);
    if (OP == FIND_MSB) return stir(VALUE(subgroupBallotFindMSB(spread(bits | 1u))), lane.term);
    if (OP == BROADCAST) return stir(given(subgroupBroadcast(x, 1), x, 1, lane), lane.term);
    return stir(subgroupBroadcastFirst(x), lane.term);
}
