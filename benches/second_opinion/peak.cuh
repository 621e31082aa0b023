// Arithmetic: chains of multiply-adds that don't wait for each other.
#pragma once

#include <cuda_fp16.h>

#include "common.cuh"

constexpr uint32_t PEAK_BLOCK = 256, PEAK_BLOCKS = 4224, STARTS = 32, PAIRS = 128;

// A type with its multiply-add of two values, and how often the loop is run. Floats go round between -7/4, 5/4 and -1/4, of which
// no type rounds any nor their squares; whole numbers wrap around.
struct Float {
    using T = float;
    static constexpr uint32_t LANES = 1, ITERATIONS = 256;
    static constexpr double COEFFICIENT = -1.8125;
    static __host__ T start(uint32_t word) { return word % 2 ? 1.25f : -1.75f; }
    static __host__ T coefficient() { return T(COEFFICIENT); }
    static __host__ __device__ T step(T, T other, T k) { return fmaf(other, other, k); }
};

struct Double {
    using T = double;
    static constexpr uint32_t LANES = 1, ITERATIONS = 32;
    static __host__ T start(uint32_t word) { return word % 2 ? 1.25 : -1.75; }
    static __host__ T coefficient() { return Float::COEFFICIENT; }
    static __host__ __device__ T step(T, T other, T k) { return fma(other, other, k); }
};

struct Halves {
    using T = __half2;
    static constexpr uint32_t LANES = 2, ITERATIONS = 256;
    static __host__ T start(uint32_t word) { return __floats2half2_rn(Float::start(word), Float::start(word / 2)); }
    static __host__ T coefficient() { return __float2half2_rn(Float::coefficient()); }
    static __host__ __device__ T step(T, T other, T k) {
#ifdef __CUDA_ARCH__
        return __hfma2(other, other, k);
#else
        // Exact on the host as well, since nothing is rounded.
        const float2 x = __half22float2(other), c = __half22float2(k);
        return __floats2half2_rn(x.x * x.x + c.x, x.y * x.y + c.y);
#endif
    }
};

struct Whole {
    using T = uint32_t;
    static constexpr uint32_t LANES = 1, ITERATIONS = 256;
    static __host__ T start(uint32_t word) { return hash(word) | 1u; }
    static __host__ T coefficient() { return 0x4C957F2Du; }
    static __host__ __device__ T step(T own, T other, T k) { return own * k + other; }
};

// What is left of a value: of an exact one all bits count.
__host__ __device__ inline uint32_t bits_of(float x) { return uint32_t(int32_t(x * 4)); }
__host__ __device__ inline uint32_t bits_of(double x) { return uint32_t(int32_t(x * 4)); }
__host__ __device__ inline uint32_t bits_of(__half2 x) { return bits_of(__low2float(x)) + 3 * bits_of(__high2float(x)); }
__host__ __device__ inline uint32_t bits_of(uint32_t x) { return x; }

template <class Of, int CHAINS>
__global__ void peak_kernel(const typename Of::T* __restrict__ starts, typename Of::T k, uint32_t iterations,
                            uint32_t* __restrict__ results) {
    typename Of::T x[CHAINS], y[CHAINS];
    const uint32_t i = blockIdx.x * PEAK_BLOCK + threadIdx.x;
#pragma unroll
    for (int chain = 0; chain < CHAINS; ++chain) {
        x[chain] = starts[(i + chain) % STARTS];
        y[chain] = starts[(i + chain + STARTS / 2) % STARTS];
    }
#pragma unroll 1
    for (uint32_t iteration = 0; iteration < iterations; ++iteration) {
#pragma unroll
        for (uint32_t pair = 0; pair < PAIRS; ++pair) {
#pragma unroll
            for (int chain = 0; chain < CHAINS; ++chain) {
                x[chain] = Of::step(x[chain], y[chain], k);
            }
#pragma unroll
            for (int chain = 0; chain < CHAINS; ++chain) {
                y[chain] = Of::step(y[chain], x[chain], k);
            }
        }
    }
    uint32_t result = 0;
#pragma unroll
    for (int chain = 0; chain < CHAINS; ++chain) {
        result = 31 * result + bits_of(x[chain]) + 5 * bits_of(y[chain]);
    }
    results[i] = result;
}

template <class Of, int CHAINS>
Found peak() {
    using T = typename Of::T;
    Buffer<T> starts(STARTS);
    const Buffer<uint32_t> results(PEAK_BLOCKS * PEAK_BLOCK);
    std::vector<T> first(STARTS);
    for (uint32_t i = 0; i < STARTS; ++i) {
        first[i] = Of::start(hash(i));
    }
    starts.write(first);
    const double ns = time_repeated([&] {
        peak_kernel<Of, CHAINS><<<PEAK_BLOCKS, PEAK_BLOCK>>>(starts.get(), Of::coefficient(), Of::ITERATIONS, results.get());
    });
    std::vector<uint32_t> ends(STARTS);
    for (uint32_t i = 0; i < STARTS; ++i) {
        T x = first[i], y = first[(i + STARTS / 2) % STARTS];
        for (uint32_t k = 0; k < PAIRS * Of::ITERATIONS; ++k) {
            x = Of::step(x, y, Of::coefficient());
            y = Of::step(y, x, Of::coefficient());
        }
        ends[i] = bits_of(x) + 5 * bits_of(y);
    }
    const std::vector<uint32_t> got = results.read();
    bool is_right = true;
    for (uint32_t i = 0; i < got.size(); ++i) {
        uint32_t result = 0;
        for (int chain = 0; chain < CHAINS; ++chain) {
            result = 31 * result + ends[(i + chain) % STARTS];
        }
        is_right = is_right && got[i] == result;
    }
    const double steps = double(got.size()) * CHAINS * Of::LANES * PAIRS * 2 * Of::ITERATIONS;
    return {ns, 2 * steps, is_right};
}
