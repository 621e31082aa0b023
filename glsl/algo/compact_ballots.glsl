// How many words of a row of a subgroup are kept: a ballot for each component of the lanes' vectors.
#ifndef COMPACT_BALLOTS_GLSL
#define COMPACT_BALLOTS_GLSL

uint kept_of_row(bvec4 is_kept) {
    uint count = 0u;
    [[unroll]] for (uint i = 0u; i < 4u; ++i) {
        count += subgroupBallotBitCount(subgroupBallot(is_kept[i]));
    }
    return count;
}

#endif
