// Decoupled look-back: in one pass over an array, each tile learns the sum of all tiles before it. Include grid.glsl and
// scan_lanes.glsl before it.
//
// A tile publishes its own sum as soon as it knows it (its aggregate), then adds up what the tiles before it have published, from
// the nearest one backwards, until it meets one that knows the sum of all up to itself (its prefix); then it publishes its own prefix.
// D. Merrill, M. Garland: Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016.
//
// Vulkan promises no workgroup that it goes on while another one waits for it. So nobody waits for long: who has looked SPINS times
// in vain at a tile has its own workgroup compute that tile's sum, and goes on (decoupled fallback; T. Smith, R. Levien, J. D. Owens:
// Decoupled Fallback, 2025). No order of workgroups and no pause of one can keep the pass from its end.
//
// The includer defines `own_part_of`: what the invocation itself adds to the sum of any tile but the last.
#ifndef SCAN_LOOK_BACK_GLSL
#define SCAN_LOOK_BACK_GLSL

// Which tile a workgroup takes: the next one that nobody has (a ticket), so that those before it were begun by others; the one of
// its own index; or, which is the worst order there can be, the last one first.
layout(constant_id = 5) const uint ORDER = 0;
const uint BY_TICKET = 0u;
const uint BY_INDEX = 1u;

// How often a workgroup looks in vain, in all.
layout(constant_id = 6) const uint SPINS = 1024;

// The next ticket, how often a workgroup fell back, and two words for each tile: the lower and the upper half of a sum, each below
// what kind of sum it is. With a kind in either half, no order between the two words is needed, and sums have all their 32 bits.
// All are 0 in the beginning.
layout(set = 0, binding = LOOK_BACK) coherent buffer States { uint states[]; };
// The same as pairs: one load and one store for a state. Two atomics each had cost a scan of an H100 an eighth of its rate.
layout(set = 0, binding = LOOK_BACK) coherent volatile buffer StatePairs { uvec2 state_pairs[]; };
const uint TICKET = 0u;
const uint FALLBACKS = 1u;
const uint FIRST_STATE = 2u;
const uint FIRST_PAIR = FIRST_STATE / 2u;

const uint NOTHING = 0u;
const uint AGGREGATE = 1u << 16;
const uint PREFIX = 2u << 16;
const uint KIND = ~0xFFFFu;

// Of no tile.
const uint NO_TILE = ~0u;

shared uint own_tile;
// What the subgroup that looks back tells the others: the tile whose sum it lacks, or the sum that it found.
shared uint lacking;
shared uint found;

uint own_part_of(uint tile);

void publish(uint tile, uint kind, uint sum) {
    state_pairs[FIRST_PAIR + tile] = kind | uvec2(sum & 0xFFFFu, sum >> 16);
}

// The same of another workgroup's tile, unless that one has published something itself by now.
void publish_for(uint tile, uint sum) {
    const uint at = FIRST_STATE + 2u * tile;
    atomicCompSwap(states[at], NOTHING, AGGREGATE | (sum & 0xFFFFu));
    atomicCompSwap(states[at + 1u], NOTHING, AGGREGATE | (sum >> 16));
}

// The workgroup's tile.
uint next_tile() {
    if (gl_LocalInvocationID.x == 0u) {
        const uint group = linear_group();
        const uint last = gl_NumWorkGroups.x * gl_NumWorkGroups.y - 1u;
        own_tile = ORDER == BY_TICKET ? atomicAdd(states[TICKET], 1u) : ORDER == BY_INDEX ? group : last - group;
    }
    barrier();
    return own_tile;
}

// Looks at as many tiles before `end` as the subgroup has lanes, and so on until it has met a prefix, which it tells, or has looked
// SPINS times in vain at the one before `end`. Each lane adds to `sum` what it saw.
bool look_back(inout uint end, inout uint spins, inout uint sum) {
    const uint lane = gl_SubgroupInvocationID;
    [[dont_unroll]] while (true) {
        // Before the first tile, the sum is 0.
        uint kind = PREFIX;
        uint value = 0u;
        if (lane < end) {
            const uvec2 halves = state_pairs[FIRST_PAIR + (end - 1u - lane)];
            // Where only one half of a change is seen, there is nothing yet.
            const uvec2 kinds = halves & KIND;
            kind = kinds.x == kinds.y ? kinds.x : NOTHING;
            value = (halves.x & 0xFFFFu) | (halves.y << 16);
        }
        // Up to the nearest lane that has a prefix, or to the one before the nearest that has nothing.
        const uvec4 prefixes = subgroupBallot(kind == PREFIX);
        const uvec4 ends = subgroupBallot(kind != AGGREGATE);
        const bool is_any = subgroupBallotBitCount(ends) > 0u;
        const uint nearest = is_any ? subgroupBallotFindLSB(ends) : lanes();
        const bool is_found = is_any && subgroupBallotBitExtract(prefixes, nearest);
        const uint seen = nearest + uint(is_found);
        sum += lane < seen ? value : 0u;
        if (is_found) {
            return true;
        }
        end -= seen;
        if (seen == 0u) {
            if (spins >= SPINS) {
                return false;
            }
            ++spins;
        }
    }
    return false;
}

// The sum of all tiles before this one, whose own sum it makes known. All invocations of the workgroup ask together.
uint sum_before(uint tile, uint own) {
    // One invocation tells the other workgroups all that there is to tell: so a prefix comes after the aggregate.
    const bool is_teller = gl_SubgroupID == 0u && is_first_lane();
    if (is_teller) {
        publish(tile, tile == 0u ? PREFIX : AGGREGATE, own);
    }
    uint end = tile;
    uint spins = 0u;
    uint sum = 0u;
    [[dont_unroll]] while (true) {
        if (gl_SubgroupID == 0u) {
            const bool is_found = look_back(end, spins, sum);
            const uint before = of_last_lane(scan_lanes(sum));
            if (is_teller) {
                if (is_found && tile > 0u) {
                    publish(tile, PREFIX, before + own);
                }
                lacking = is_found ? NO_TILE : end - 1u;
                found = before;
            }
        }
        barrier();
        // What a subgroup lacks of its lanes goes through loops as well on some drivers, and has to leave them with the others.
        const uint other = subgroupBroadcastFirst(lacking);
        if (other == NO_TILE) {
            break;
        }
        // Nobody waits any longer: the tile's sum is computed here as well.
        uint before, all;
        share_part(of_last_lane(scan_lanes(own_part_of(other))), before, all);
        if (is_teller) {
            publish_for(other, all);
            atomicAdd(states[FALLBACKS], 1u);
            sum += all;
        }
        end -= 1u;
    }
    return found;
}

#endif
