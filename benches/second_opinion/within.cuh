// What happens within blocks, and between those that share an address: banks, reductions, barriers, atomics.
#pragma once

#include "common.cuh"

// ---- banks ------------------------------------------------------------------------------------------------------------------

constexpr uint32_t BANK_LOADS = 16, BANK_SHIFTS = 8, BANK_BEGINNINGS = 4, BANK_ITERATIONS = 64, BANK_BLOCK = 256;

// Lanes read words a stride apart, 16 in a row from a place that moves from iteration to iteration.
template <uint32_t STRIDE>
__global__ void bank_kernel(const uint32_t* __restrict__ source, uint32_t* __restrict__ results, uint32_t shift, uint32_t step) {
    constexpr uint32_t WORDS = 31 * STRIDE + 1 + BANK_SHIFTS - 1 + BANK_LOADS - 1;
    __shared__ uint32_t window[WORDS];
    for (uint32_t i = threadIdx.x; i < WORDS; i += BANK_BLOCK) {
        window[i] = source[blockIdx.x % BANK_BEGINNINGS + i];
    }
    __syncthreads();
    const uint32_t place = threadIdx.x % 32 * STRIDE;
    uint32_t result = 0;
    for (uint32_t k = 0; k < BANK_ITERATIONS; ++k) {
        const uint32_t* words = window + place + shift;
        uint32_t sum = 0;
#pragma unroll
        for (uint32_t j = 0; j < BANK_LOADS; ++j) {
            sum += words[j];
        }
        result = 3 * result + sum;
        shift = (shift + step) % BANK_SHIFTS;
    }
    results[blockIdx.x * BANK_BLOCK + threadIdx.x] = result;
}

template <uint32_t STRIDE>
Found banks() {
    constexpr uint32_t BLOCKS = 8448, SHIFT = 5, STEP = 3, WORDS = 32 * STRIDE + 64;
    const Buffer<uint32_t> source(WORDS), results(BLOCKS * BANK_BLOCK);
    fill(source, [] __device__(uint32_t i) { return hash(i); });
    const double ns = time_repeated([&] { bank_kernel<STRIDE><<<BLOCKS, BANK_BLOCK>>>(source.get(), results.get(), SHIFT, STEP); });
    const std::vector<uint32_t> got = results.read();
    bool is_right = true;
    for (uint32_t i = 0; i < 2 * BANK_BEGINNINGS * BANK_BLOCK; ++i) {
        uint32_t result = 0, shift = SHIFT;
        for (uint32_t k = 0; k < BANK_ITERATIONS; ++k) {
            uint32_t sum = 0;
            for (uint32_t j = 0; j < BANK_LOADS; ++j) {
                sum += hash(i / BANK_BLOCK % BANK_BEGINNINGS + i % 32 * STRIDE + shift + j);
            }
            result = 3 * result + sum;
            shift = (shift + STEP) % BANK_SHIFTS;
        }
        // Blocks that begin at the same word have the same results.
        for (size_t other = i; other < got.size(); other += 2 * BANK_BEGINNINGS * BANK_BLOCK) {
            is_right = is_right && got[other] == result;
        }
    }
    return {ns, 4.0 * BLOCKS * BANK_BLOCK * BANK_ITERATIONS * BANK_LOADS, is_right};
}

// ---- reductions ---------------------------------------------------------------------------------------------------------------

constexpr uint32_t REDUCED = 256, JOBS = 2048;

// What follows each sum, so that the next one needs it.
__host__ __device__ inline uint32_t stirred(uint32_t sum, uint32_t term) { return (sum ^ (sum >> 15)) * 1664525u + term; }

__device__ inline uint32_t warp_sum(uint32_t x) {
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(0xFFFFFFFFu, x);
#else
    for (int distance = 16; distance > 0; distance /= 2) {
        x += __shfl_xor_sync(0xFFFFFFFFu, x, distance);
    }
    return x;
#endif
}

// Two rows of parts, for this sum and for the next one, so that one barrier is enough.
template <bool is_fenced>
__device__ uint32_t block_sum_by_warps(uint32_t x, uint32_t job) {
    __shared__ uint32_t parts[2][REDUCED / 32];
    uint32_t* row = parts[job % 2];
    const uint32_t part = warp_sum(x);
    if (threadIdx.x % 32 == 0) {
        row[threadIdx.x / 32] = part;
    }
    if (is_fenced) {
        __threadfence_block();
    }
    __syncthreads();
    uint32_t sum = 0;
#pragma unroll
    for (uint32_t warp = 0; warp < REDUCED / 32; ++warp) {
        sum += row[warp];
    }
    return sum;
}

// A tree: in each step half as many threads add what the other half has.
__device__ inline uint32_t block_sum_by_tree(uint32_t x, uint32_t job) {
    __shared__ uint32_t slots[2][REDUCED];
    uint32_t* row = slots[job % 2];
    row[threadIdx.x] = x;
    __syncthreads();
#pragma unroll
    for (uint32_t half = REDUCED / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            row[threadIdx.x] += row[threadIdx.x + half];
        }
        __syncthreads();
    }
    return row[0];
}

template <bool by_warps, bool is_fenced>
__global__ void reduce_kernel(const uint32_t* __restrict__ words, uint32_t* __restrict__ results) {
    const uint32_t i = blockIdx.x * REDUCED + threadIdx.x, term = words[i];
    uint32_t x = term;
#pragma unroll 1
    for (uint32_t job = 0; job < JOBS; ++job) {
        x = stirred(by_warps ? block_sum_by_warps<is_fenced>(x, job) : block_sum_by_tree(x, job), term);
    }
    results[i] = x;
}

template <bool by_warps, bool is_fenced>
Found reduce() {
    constexpr uint32_t BLOCKS = 1056;
    const Buffer<uint32_t> words(BLOCKS * REDUCED), results(BLOCKS * REDUCED);
    fill(words, [] __device__(uint32_t i) { return hash(i); });
    const double ns = time_repeated([&] { reduce_kernel<by_warps, is_fenced><<<BLOCKS, REDUCED>>>(words.get(), results.get()); });
    const std::vector<uint32_t> got = results.read();
    bool is_right = true;
    // Every eleventh block is enough, and soon done.
    for (uint32_t block = 0; block < BLOCKS; block += 11) {
        uint32_t x[REDUCED];
        for (uint32_t lane = 0; lane < REDUCED; ++lane) {
            x[lane] = hash(block * REDUCED + lane);
        }
        for (uint32_t job = 0; job < JOBS; ++job) {
            uint32_t sum = 0;
            for (const uint32_t own : x) {
                sum += own;
            }
            for (uint32_t lane = 0; lane < REDUCED; ++lane) {
                x[lane] = stirred(sum, hash(block * REDUCED + lane));
            }
        }
        is_right = is_right && std::equal(x, x + REDUCED, got.begin() + block * REDUCED);
    }
    return {ns, double(BLOCKS) * JOBS, is_right};
}

// ---- barriers -----------------------------------------------------------------------------------------------------------------

constexpr uint32_t STEPS = 16384, STEPPING = 256;

// A step needs the one before; with traffic, that of a thread in the block's other half. Two rows, so that one barrier is enough.
template <bool has_traffic, bool is_fenced>
__global__ void barrier_kernel(uint32_t* __restrict__ results, uint32_t partner_bits) {
    __shared__ uint32_t slots[2][STEPPING];
    const uint32_t lane = threadIdx.x, partner = lane ^ partner_bits;
    uint32_t x = lane * 2654435761u + 1;
#pragma unroll 8
    for (uint32_t k = 0; k < STEPS; ++k) {
        uint32_t other = partner;
        if (has_traffic) {
            slots[k % 2][lane] = x;
        }
        if (is_fenced) {
            __threadfence_block();
        }
        __syncthreads();
        if (has_traffic) {
            other = slots[k % 2][partner];
        }
        x = (x ^ (other >> 3)) * 1664525u;
    }
    results[blockIdx.x * STEPPING + lane] = (x + blockIdx.x) >> 1;
}

template <bool has_traffic, bool is_fenced, uint32_t BLOCKS>
Found barriers() {
    constexpr uint32_t PARTNER_BITS = STEPPING / 2;
    const Buffer<uint32_t> results(BLOCKS * STEPPING);
    const double ns = time_repeated([&] { barrier_kernel<has_traffic, is_fenced><<<BLOCKS, STEPPING>>>(results.get(), PARTNER_BITS); });
    std::vector<uint32_t> x(STEPPING);
    for (uint32_t lane = 0; lane < STEPPING; ++lane) {
        x[lane] = lane * 2654435761u + 1;
    }
    for (uint32_t k = 0; k < STEPS; ++k) {
        const std::vector<uint32_t> slots = x;
        for (uint32_t lane = 0; lane < STEPPING; ++lane) {
            const uint32_t partner = lane ^ PARTNER_BITS;
            x[lane] = (x[lane] ^ ((has_traffic ? slots[partner] : partner) >> 3)) * 1664525u;
        }
    }
    const std::vector<uint32_t> got = results.read();
    bool is_right = true;
    for (uint32_t i = 0; i < got.size(); ++i) {
        is_right = is_right && got[i] == (x[i % STEPPING] + i / STEPPING) >> 1;
    }
    return {ns, double(BLOCKS) * STEPS, is_right};
}

// ---- atomics ------------------------------------------------------------------------------------------------------------------

constexpr uint32_t ATOMICS = 512, ATOMIC_BLOCK = 256, OPERAND_STEP = 0x9E3779B1u;

enum class Sharers { Nobody, Warp, All };

template <Sharers sharers>
__host__ __device__ uint32_t cell_of(uint32_t i) {
    return sharers == Sharers::All ? 0 : sharers == Sharers::Warp ? i / 32 : i;
}

// Each result is used, at a cell that data tells. Each add notes by how much it raised the square of its cell: whatever their
// order, the notes of all who share a cell sum up to its square.
__global__ void atomics_used(uint32_t* cells, const uint32_t* __restrict__ own_cells, const uint32_t* __restrict__ terms,
                             uint32_t* notes) {
    const uint32_t i = blockIdx.x * ATOMIC_BLOCK + threadIdx.x, term = terms[i];
    uint32_t* cell = cells + own_cells[i];
    uint32_t note = 0;
#pragma unroll 8
    for (uint32_t k = 0; k < ATOMICS; ++k) {
        const uint32_t added = term + k * OPERAND_STEP;
        note += added * (2 * atomicAdd(cell, added) + added);
    }
    notes[i] += note;
}

// No result is used, and the compiler sees who shares a cell.
template <Sharers sharers>
__global__ void atomics_combinable(uint32_t* cells, const uint32_t* __restrict__ terms) {
    const uint32_t i = blockIdx.x * ATOMIC_BLOCK + threadIdx.x, term = terms[i];
#pragma unroll 8
    for (uint32_t k = 0; k < ATOMICS; ++k) {
        atomicAdd(cells + cell_of<sharers>(i), term + k * OPERAND_STEP);
    }
}

template <bool is_used, Sharers sharers, uint32_t BLOCKS>
Found atomics() {
    constexpr uint32_t THREADS = BLOCKS * ATOMIC_BLOCK;
    Buffer<uint32_t> cells(cell_of<sharers>(THREADS - 1) + 1), own_cells(THREADS), terms(THREADS), notes(THREADS);
    cells.clear();
    notes.clear();
    fill(own_cells, [] __device__(uint32_t i) { return cell_of<sharers>(i); });
    fill(terms, [] __device__(uint32_t i) { return hash(i); });
    uint32_t passes = 0;
    const double ns = time_repeated([&] {
        if constexpr (is_used) {
            atomics_used<<<BLOCKS, ATOMIC_BLOCK>>>(cells.get(), own_cells.get(), terms.get(), notes.get());
        } else {
            atomics_combinable<sharers><<<BLOCKS, ATOMIC_BLOCK>>>(cells.get(), terms.get());
        }
        ++passes;
    });
    const std::vector<uint32_t> got = cells.read(), noted = notes.read();
    std::vector<uint32_t> sums(got.size()), squares(got.size());
    for (uint32_t i = 0; i < THREADS; ++i) {
        sums[cell_of<sharers>(i)] += passes * (ATOMICS * hash(i) + ATOMICS * (ATOMICS - 1) / 2 * OPERAND_STEP);
        squares[cell_of<sharers>(i)] += noted[i];
    }
    bool is_right = got == sums;
    for (size_t cell = 0; is_used && cell < got.size(); ++cell) {
        is_right = is_right && squares[cell] == got[cell] * got[cell];
    }
    return {ns, double(THREADS) * ATOMICS, is_right};
}
