// How a workgroup sorts its tile by a digit of eight bits, and writes it to the target in runs of the same digit. What `radix8` and
// `onesweep` have in common; they differ in how they learn where the runs go. Include local_size.glsl, grid.glsl and sort.glsl before it.
//
// Lanes with the same digit find each other by ballots, so that no lane waits for another: each subgroup goes through its keys row by
// row, and a counter for each digit tells how many came before. Counters of subgroups, summed up, tell a key's place in the tile.
// D. Merrill and A. Grimshaw, High Performance and Scalable Radix Sorting, 2011; A. Adinets and D. Merrill, Onesweep: A Faster Least
// Significant Digit Radix Sort for GPUs, 2022.
#ifndef SORT_RANKED_GLSL
#define SORT_RANKED_GLSL

// Lanes of a subgroup.
layout(constant_id = 4) const uint LANES = 32;

const uint BITS = 8u;
const uint DIGITS = 1u << BITS;
const uint SUBGROUPS = (gl_WorkGroupSize.x + LANES - 1u) / LANES;
const uint COUNTERS = SUBGROUPS * DIGITS;

layout(set = 0, binding = 0) restrict writeonly buffer Target { uint target[]; };
layout(set = 0, binding = 1) restrict readonly buffer Source { uint source[]; };
// PAYLOAD is a macro: values are resources of their own.
#ifdef PAYLOAD
layout(set = 0, binding = 2) restrict writeonly buffer TargetValues { uint target_values[]; };
layout(set = 0, binding = 3) restrict readonly buffer SourceValues { uint source_values[]; };
#endif

// First a counter for each digit and subgroup, later the tile in its new order: these take turns, since workgroup memory decides
// how many workgroups a processor holds.
shared uint pool[COUNTERS > TILE ? COUNTERS : TILE];
// How many keys of the tile have each digit, and where they begin in its new order.
shared uint counts[DIGITS];
shared uint starts[DIGITS];
// What leads from a place in the new order to a place in the target, for each digit.
shared uint offsets[DIGITS];

// Digits are summed up in two steps, sixteen by sixteen.
const uint PART = 16u;
shared uint part_sums[DIGITS / PART];

// An invocation's keys, and their places in the tile's new order.
uint keys[ITEMS];
uint places[ITEMS];

uint digit_of(uint key) {
    return (key >> shift) & (DIGITS - 1u);
}

// Where an invocation's keys stand in the tile: a subgroup has neighbouring rows, of a key for each of its lanes. The last subgroup
// may lack lanes, where no workgroup is asked for that fills it.
uint lanes_here() {
    return gl_WorkGroupSize.x % LANES == 0u ? LANES : min(LANES, gl_WorkGroupSize.x - gl_SubgroupID * LANES);
}

uint slot_of(uint k) {
    return gl_SubgroupID * LANES * ITEMS + k * lanes_here() + gl_SubgroupInvocationID;
}

// Loads the tile's keys. Where a ragged tile has none, the largest one stands for it: it comes last in the new order as well, and is
// not written.
void load_keys(uint tile, uint extent) {
    const uint first = tile * TILE;
    if (extent == TILE) {
        [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
            keys[k] = source[first + slot_of(k)];
        }
    } else {
        [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
            keys[k] = slot_of(k) < extent ? source[first + slot_of(k)] : 0xFFFFFFFFu;
        }
    }
}

void clear_counters() {
    for (uint i = gl_LocalInvocationID.x; i < COUNTERS; i += gl_WorkGroupSize.x) {
        pool[i] = 0u;
    }
}

// Small subgroups have their ballots in one word: the other three are zero, which a compiler can't know.
uvec4 ballot(bool is_set) {
    const uvec4 lanes = subgroupBallot(is_set);
    return LANES <= 32u ? uvec4(lanes.x, 0u, 0u, 0u) : lanes;
}

uint count_of(uvec4 lanes) {
    const uvec4 bits = uvec4(bitCount(lanes));
    return bits.x + bits.y + bits.z + bits.w;
}

uint lowest_of(uvec4 lanes) {
    return LANES <= 32u ? uint(findLSB(lanes.x)) : subgroupBallotFindLSB(lanes);
}

// The lanes whose key has this digit as well.
uvec4 peers_of(uint digit) {
    uvec4 peers = ballot(true);
    [[unroll]] for (uint bit = 0u; bit < BITS; ++bit) {
        const bool is_set = ((digit >> bit) & 1u) != 0u;
        const uvec4 others = ballot(is_set);
        peers &= is_set ? others : ~others;
    }
    return peers;
}

// How many keys with the same digit come before each in its subgroup. Counters are zero before, and how many there are after it.
void rank_keys() {
    const uint first = gl_SubgroupID * DIGITS;
    [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
        const uint digit = digit_of(keys[k]);
        const uvec4 peers = peers_of(digit);
        const uint below = count_of(peers & gl_SubgroupLtMask);
        uint rows_before = 0u;
        if (below == 0u) {
            rows_before = atomicAdd(pool[first + digit], count_of(peers));
        }
        places[k] = subgroupShuffle(rows_before, lowest_of(peers)) + below;
    }
}

// Puts how many keys of the subgroups before it have a digit in the place of each subgroup's counter, and returns how many of all
// have it.
uint sum_counters(uint digit) {
    uint sum = 0u;
    for (uint subgroup = 0u; subgroup < SUBGROUPS; ++subgroup) {
        const uint count = pool[subgroup * DIGITS + digit];
        pool[subgroup * DIGITS + digit] = sum;
        sum += count;
    }
    return sum;
}

// Where each digit begins, of how many there are of each. A barrier has to come before, and one after it.
// Its loops have few iterations, but no hint: some software drivers take minutes to compile so many loads in a row.
void sum_digits() {
    for (uint part = gl_LocalInvocationID.x; part < DIGITS / PART; part += gl_WorkGroupSize.x) {
        uint sum = 0u;
        for (uint k = 0u; k < PART; ++k) {
            sum += counts[part * PART + k];
        }
        part_sums[part] = sum;
    }
    barrier();
    for (uint digit = gl_LocalInvocationID.x; digit < DIGITS; digit += gl_WorkGroupSize.x) {
        const uint own_part = digit / PART;
        uint sum = 0u;
        for (uint part = 0u; part < DIGITS / PART; ++part) {
            sum += part < own_part ? part_sums[part] : 0u;
        }
        for (uint k = 0u; k < PART; ++k) {
            const uint other = own_part * PART + k;
            sum += other < digit ? counts[other] : 0u;
        }
        starts[digit] = sum;
    }
}

// Brings the tile's keys into their new order in the pool. Those that read counters there have to be done, and a barrier has to
// follow.
void reorder_keys() {
    [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
        const uint digit = digit_of(keys[k]);
        places[k] += starts[digit] + pool[gl_SubgroupID * DIGITS + digit];
    }
    barrier();
    [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
        pool[places[k]] = keys[k];
    }
}

// Writes the tile in its new order: neighbouring invocations write neighbouring words as long as the digit is the same.
void write_tile(uint tile, uint extent) {
    const uint self = gl_LocalInvocationID.x;
    uint to[ITEMS];
    [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
        keys[k] = pool[self + k * gl_WorkGroupSize.x];
    }
    [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
        to[k] = offsets[digit_of(keys[k])] + self + k * gl_WorkGroupSize.x;
    }
    if (extent == TILE) {
        [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
            target[to[k]] = keys[k];
        }
    } else {
        [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
            if (self + k * gl_WorkGroupSize.x < extent) {
                target[to[k]] = keys[k];
            }
        }
    }
#ifdef PAYLOAD
    // The values go the same way, once nobody needs the keys any more.
    const uint first = tile * TILE;
    uint values[ITEMS];
    if (extent == TILE) {
        [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
            values[k] = source_values[first + slot_of(k)];
        }
    } else {
        [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
            values[k] = slot_of(k) < extent ? source_values[first + slot_of(k)] : 0u;
        }
    }
    barrier();
    [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
        pool[places[k]] = values[k];
    }
    barrier();
    [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
        values[k] = pool[self + k * gl_WorkGroupSize.x];
    }
    if (extent == TILE) {
        [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
            target_values[to[k]] = values[k];
        }
    } else {
        [[unroll]] for (uint k = 0u; k < ITEMS; ++k) {
            if (self + k * gl_WorkGroupSize.x < extent) {
                target_values[to[k]] = values[k];
            }
        }
    }
#endif
}

#endif
