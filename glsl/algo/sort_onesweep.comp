#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "local_size.glsl"
#include "grid.glsl"
#include "sort.glsl"
#include "sort_ranked.glsl"

// `onesweep`: one look at the keys for each digit. A tile learns from the tiles before it where its runs go, while these are still at
// work: it looks back, tile by tile, and adds up their counts until it meets one that knows the sum up to its own (D. Merrill and
// M. Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016). Nobody promises that a tile before is ever done, since
// Vulkan lets a device leave a workgroup aside. So nobody waits for long: what isn't there after SPINS looks, a workgroup counts itself.

// Looks at a tile that isn't ready, until its keys are counted instead; with 0 nobody looks, and all are.
layout(constant_id = 5) const uint SPINS = 4096;

// Where each digit begins in the target, for each of the four passes.
layout(set = 0, binding = 4) restrict readonly buffer Begins { uint begins[]; };
// For each tile and digit a state: nothing yet, the tile's own count, or the sum up to it and with it. Counts are below 2^30, so that
// state and count fit into one word, and no order between words matters.
layout(set = 0, binding = 5) restrict buffer States { uint states[]; };
// Tiles that were taken, in the word of this pass.
layout(set = 0, binding = 6) restrict buffer Tickets { uint tickets[]; };

const uint OWN = 1u << 30;
const uint SUM = 2u << 30;
const uint COUNT = OWN - 1u;

// Stands for a digit whose sum is known, in the place of a tile.
const uint DONE = 0xFFFFFFFFu;

shared uint taken;
// For each digit what the tiles so far have of it, and the tile up to which that isn't known: all from 0 to the one before this.
shared uint sums[DIGITS];
shared uint ends[DIGITS];
// The highest tile that isn't ready, plus one; 0 where all were.
shared uint missing;
shared uint recounted[DIGITS];

// The next tile. Its number comes from a counter, not from the workgroup's: those before it have been taken by workgroups that run.
uint next_tile() {
    if (gl_LocalInvocationID.x == 0u) {
        taken = atomicAdd(tickets[shift / BITS], 1u);
        missing = 0u;
    }
    barrier();
    return taken;
}

void publish(uint tile, uint digit, uint state) {
    atomicStore(states[tile * DIGITS + digit], state, gl_ScopeDevice, 0, 0);
}

// Looks back from where a digit's sum has come to. Where that leads to the first tile, the sum is there for all that look back later.
// `looks` counts those in a row that found nothing, of all digits of an invocation: one that has waited for a tile doesn't do so again
// for its other digits.
void walk(uint tile, uint digit, inout uint looks) {
    uint end = ends[digit];
    if (end == DONE) {
        return;
    }
    uint sum = sums[digit];
    [[dont_unroll]] while (end > 0u) {
        if (looks == SPINS) {
            atomicMax(missing, end);
            break;
        }
        const uint state = atomicLoad(states[(end - 1u) * DIGITS + digit], gl_ScopeDevice, 0, 0);
        ++looks;
        if (state >= OWN) {
            sum += state & COUNT;
            end = state >= SUM ? 0u : end - 1u;
            looks = 0u;
        }
    }
    sums[digit] = sum;
    if (end == 0u) {
        publish(tile, digit, SUM | (sum + counts[digit]));
        end = DONE;
    }
    ends[digit] = end;
}

// Counts the digits of a tile that isn't ready, for all whose sums wait for it. It lies before another one, so it is whole.
void recount(uint tile) {
    const uint self = gl_LocalInvocationID.x;
    for (uint digit = self; digit < DIGITS; digit += gl_WorkGroupSize.x) {
        recounted[digit] = 0u;
    }
    barrier();
    if (self == 0u) {
        missing = 0u;
    }
    [[dont_unroll]] for (uint k = 0u; k < ITEMS; ++k) {
        atomicAdd(recounted[digit_of(source[tile * TILE + k * gl_WorkGroupSize.x + self])], 1u);
    }
    barrier();
    for (uint digit = self; digit < DIGITS; digit += gl_WorkGroupSize.x) {
        if (ends[digit] == tile + 1u) {
            sums[digit] += recounted[digit];
            ends[digit] = tile;
        }
    }
}

// Leaves in `sums` how many keys of the tiles before this one have each digit.
void look_back(uint tile) {
    const uint self = gl_LocalInvocationID.x;
    [[dont_unroll]] while (true) {
        uint looks = 0u;
        for (uint digit = self; digit < DIGITS; digit += gl_WorkGroupSize.x) {
            walk(tile, digit, looks);
        }
        barrier();
        const uint end = missing;
        if (end == 0u) {
            break;
        }
        recount(end - 1u);
    }
}

void main() {
    const uint self = gl_LocalInvocationID.x;
    clear_counters();
    const uint tile = next_tile();
    if (tile >= tiles) {
        return;
    }
    const uint extent = extent_of(tile);
    load_keys(tile, extent);
    rank_keys();
    barrier();
    // Others wait for these counts: they come before all that only this tile needs.
    for (uint digit = self; digit < DIGITS; digit += gl_WorkGroupSize.x) {
        const uint count = sum_counters(digit);
        publish(tile, digit, (tile == 0u ? SUM : OWN) | count);
        counts[digit] = count;
        sums[digit] = 0u;
        ends[digit] = tile == 0u ? DONE : tile;
        offsets[digit] = begins[shift / BITS * DIGITS + digit];
    }
    barrier();
    sum_digits();
    barrier();
    reorder_keys();
    look_back(tile);
    for (uint digit = self; digit < DIGITS; digit += gl_WorkGroupSize.x) {
        offsets[digit] += sums[digit] - starts[digit];
    }
    barrier();
    write_tile(tile, extent);
}
