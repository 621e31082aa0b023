#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "ledger.glsl"

// Macros, since each changes the module: the type (U32, I32, U64, I64, F32, F64), the operation, SHARED, where cells lie in workgroup
// memory, and COMBINABLE, where results aren't used and the compiler knows which invocations share a cell: all (ONE), those of a
// workgroup (PER_WORKGROUP), of a subgroup (PER_SUBGROUP), or none.

#if defined(U64) || defined(I64)
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_shader_atomic_int64 : require
#elif defined(F32) || defined(F64)
#define REAL
#extension GL_EXT_shader_atomic_float : require
#endif
#ifdef PER_SUBGROUP
#extension GL_KHR_shader_subgroup_basic : require
#endif

#if defined(U32)
#define T uint
#define WHOLE(v) (v)
#define WORD(x) (x)
#elif defined(I32)
#define T int
#define WHOLE(v) int(v)
#define WORD(x) uint(x)
#elif defined(U64) || defined(I64)
#ifdef U64
#define T uint64_t
#else
#define T int64_t
#endif
#define WHOLE(v) T(pack64(uvec2((v) * 0x5BD1E995u, v)))
#define WORD(x) (uint(x) + 3u * uint((x) >> 32))
#elif defined(F32)
#define T float
#define WORD(x) floatBitsToUint(x)
#elif defined(F64)
#define T double
#define WORD(v) (unpackDouble2x32(v).x + 3u * unpackDouble2x32(v).y)
#else
#error "define the type: U32, I32, U64, I64, F32 or F64"
#endif

// ATOMIC(cell, v) gives what the cell held before, AFTER(old, v) tells what it holds then.
#if defined(ADD)
#define ATOMIC(cell, v) atomicAdd(cell, v)
#define AFTER(old, v) (old + v)
#elif defined(ADD_BY_LOOP)
// What stands for an add on devices that have none of the type.
#define ATOMIC(cell, v) add_by_loop(OWN_PLACE, v)
#define AFTER(old, v) (old + v)
#elif defined(MIN)
#define ATOMIC(cell, v) atomicMin(cell, v)
#define AFTER(old, v) min(old, v)
#elif defined(MAX)
#define ATOMIC(cell, v) atomicMax(cell, v)
#define AFTER(old, v) max(old, v)
#elif defined(AND)
#define ATOMIC(cell, v) atomicAnd(cell, v)
#define AFTER(old, v) (old & v)
#elif defined(OR)
#define ATOMIC(cell, v) atomicOr(cell, v)
#define AFTER(old, v) (old | v)
#elif defined(XOR)
#define ATOMIC(cell, v) atomicXor(cell, v)
#define AFTER(old, v) (old ^ v)
#elif defined(EXCHANGE)
#define ATOMIC(cell, v) atomicExchange(cell, v)
#define AFTER(old, v) (v)
#elif defined(COMPARE_EXCHANGE)
#define ATOMIC(cell, v) atomicCompSwap(cell, phase(k, invocation), v)
#define AFTER(old, v) (old == phase(k, invocation) ? v : old)
#else
#error "define the operation: ADD, ADD_BY_LOOP, MIN, MAX, AND, OR, XOR, EXCHANGE or COMPARE_EXCHANGE"
#endif

// Atomics of one invocation, a multiple of 8.
layout(constant_id = 3) const uint ATOMICS = 8;
// Cells that a workgroup has in its memory.
layout(constant_id = 4) const uint CELLS = 1;
// Neighbouring invocations that share a cell.
layout(constant_id = 5) const uint SHARERS = 1;

layout(set = 0, binding = 1) restrict readonly buffer Terms { uint terms[]; };
#ifdef COMBINABLE
#define PASSES_BINDING 2
#else
#define PASSES_BINDING 4
// Its own number for every invocation, which nobody can know: so the compiler can't know who shares a cell either.
layout(set = 0, binding = 2) restrict readonly buffer Numbers { uint numbers[]; };
#endif

// In memory, cells and notes go on from pass to pass, which are counted; in workgroup memory each pass begins anew.
#ifdef SHARED
layout(set = 0, binding = 0) restrict writeonly buffer Cells { T left[]; };
shared T cells[CELLS];
#ifndef COMBINABLE
layout(set = 0, binding = 3) restrict writeonly buffer Notes { uint notes[]; };
#endif
#else
layout(set = 0, binding = 0) restrict buffer Cells { T cells[]; };
#ifndef COMBINABLE
layout(set = 0, binding = 3) restrict buffer Notes { uint notes[]; };
#endif
layout(set = 0, binding = PASSES_BINDING) restrict buffer Passes { uint passes[]; };
#endif

#if !defined(COMBINABLE) || defined(SHARED)
layout(push_constant) uniform Push {
    // Both halves of a cell's first value.
    uint first;
#ifndef COMBINABLE
    // Cells from one workgroup's first to the next one's.
    uint cells_per_group;
#endif
};
#endif

struct Invocation {
    // The word that makes its operands.
    uint term;
    // Its cell, counted through all workgroups.
    uint cell;
    // What makes the values of a cell that is compared.
    uint factor;
};

// A value of the four that a cell goes through by compare_exchange, where each invocation begins with one of its own.
T phase(uint k, Invocation invocation) {
#ifdef REAL
    return T(0.0);
#else
    return WHOLE(((k + invocation.term) & 3u) * invocation.factor);
#endif
}

T operand(uint k, Invocation invocation) {
    const uint v = invocation.term + k * 0x9E3779B1u;
    // What bits a cell may lose by `and` and get by `or`, each another: else all cells would soon hold zeros or ones alone.
    const uint own = invocation.cell * 0x9E3779B1u + 1u;
#if defined(REAL)
    // To and fro, so that cells stay small, and every sum exact.
    const T size = T(1u + (invocation.term & 3u));
    return (k & 1u) == 0u ? size : -size;
#elif defined(AND)
    return WHOLE(v) | WHOLE(own);
#elif defined(OR)
    return WHOLE(v) & WHOLE(own);
#elif defined(COMPARE_EXCHANGE)
    return phase(k + 1u, invocation);
#else
    return WHOLE(v);
#endif
}

T first_value(uint word) {
#if defined(U64) || defined(I64)
    return T(pack64(uvec2(word)));
#elif defined(F32)
    return uintBitsToFloat(word);
#elif defined(F64)
    return packDouble2x32(uvec2(word));
#else
    return T(word);
#endif
}

// The invocation in its workgroup.
uint self() {
#ifdef PER_SUBGROUP
    return gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
#else
    return gl_LocalInvocationID.x;
#endif
}

// Its cell in its workgroup, and the workgroup's first cell.
#if defined(ONE)
#define OWN_CELL(i) 0u
#define FIRST_CELL(i) 0u
#elif defined(PER_WORKGROUP)
#define OWN_CELL(i) 0u
#define FIRST_CELL(i) linear_group()
#elif defined(PER_SUBGROUP)
#define OWN_CELL(i) gl_SubgroupID
#define FIRST_CELL(i) (linear_group() * ((gl_WorkGroupSize.x + SHARERS - 1u) / SHARERS))
#elif defined(COMBINABLE)
#define OWN_CELL(i) gl_LocalInvocationID.x
#define FIRST_CELL(i) (linear_group() * gl_WorkGroupSize.x)
#else
#define OWN_CELL(i) (numbers[i] % gl_WorkGroupSize.x / SHARERS)
#define FIRST_CELL(i) (numbers[i] / gl_WorkGroupSize.x * cells_per_group)
#endif

#ifdef SHARED
#define OWN_PLACE own_cell
#else
#define OWN_PLACE invocation.cell
#endif
#define CELL cells[OWN_PLACE]

#ifdef ADD_BY_LOOP
T add_by_loop(uint place, T v) {
    T seen = cells[place];
    // A lane's result passes through the turns that other lanes still take: of a value that only its last turn computes, SwiftShader
    // keeps what a later turn of others makes of it.
    for (bool is_done = false; !is_done;) {
        const T old = atomicCompSwap(cells[place], seen, seen + v);
        is_done = old == seen;
        seen = old;
    }
    return seen;
}
#endif

#ifdef COMBINABLE
#define STEP(number)                            \
    {                                           \
        const uint k = number;                  \
        const T v = operand(k, invocation);     \
        ATOMIC(CELL, v);                        \
    }
#else
#define STEP(number)                                   \
    {                                                  \
        const uint k = number;                         \
        const T v = operand(k, invocation);            \
        const T old = ATOMIC(CELL, v);                 \
        note += rise(WORD(old), WORD((AFTER(old, v)))); \
    }
#endif
#define STEPS_4(first) STEP(first) STEP(first + 1u) STEP(first + 2u) STEP(first + 3u)

void main() {
    const uint i = linear_group() * gl_WorkGroupSize.x + self();
    const uint own_cell = OWN_CELL(i);
    const Invocation invocation = Invocation(terms[i], FIRST_CELL(i) + own_cell, terms[0] | 1u);
#ifdef SHARED
    for (uint cell = gl_LocalInvocationID.x; cell < CELLS; cell += gl_WorkGroupSize.x) {
        cells[cell] = first_value(first);
    }
    barrier();
#endif
    uint note = 0u;
    [[dont_unroll]] for (uint done = 0u; done < ATOMICS; done += 8u) {
        STEPS_4(done)
        STEPS_4(done + 4u)
    }
#ifdef SHARED
    barrier();
    for (uint cell = gl_LocalInvocationID.x; cell < CELLS; cell += gl_WorkGroupSize.x) {
        left[linear_group() * CELLS + cell] = cells[cell];
    }
#ifndef COMBINABLE
    notes[i] = note;
#endif
#else
#ifndef COMBINABLE
    notes[i] += note;
#endif
    if (i == 0u) {
        passes[0] += 1u;
    }
#endif
}
