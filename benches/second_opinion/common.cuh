// What all works share: memory, data that doesn't compress, times and checks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <cuda_runtime.h>

inline void check(cudaError_t error) {
    if (error != cudaSuccess) {
        throw std::runtime_error(cudaGetErrorString(error));
    }
}

// What a work found: the time of a pass, how much a pass does, and whether its results are right.
struct Found {
    double ns;
    double units;
    bool is_right;
};

// ---- memory ---------------------------------------------------------------------------------------------------------------

template <class T>
class Buffer {
public:
    explicit Buffer(size_t count) : count_(count) { check(cudaMalloc(&data_, count * sizeof(T))); }
    ~Buffer() { cudaFree(data_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    T* get() const { return data_; }
    size_t count() const { return count_; }
    void clear() { check(cudaMemset(data_, 0, count_ * sizeof(T))); }
    void write(const std::vector<T>& values) {
        check(cudaMemcpy(data_, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
    }
    std::vector<T> read() const {
        std::vector<T> values(count_);
        check(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
        return values;
    }

private:
    T* data_ = nullptr;
    size_t count_;
};

// ---- data -----------------------------------------------------------------------------------------------------------------

// A number that looks random.
__host__ __device__ inline uint32_t hash(uint32_t x) {
    x = (x + 0x6A09E667u) * 0x9E3779B1u;
    x ^= x >> 15;
    x *= 0x85EBCA77u;
    x ^= x >> 13;
    x *= 0xC2B2AE3Du;
    return x ^ (x >> 16);
}

// Another order of the numbers below 2^bits: each step can be undone, so that no two meet.
__host__ __device__ inline uint32_t permuted(uint32_t x, uint32_t bits) {
    const uint32_t mask = uint32_t((uint64_t(1) << bits) - 1), shift = bits / 2;
    x = (x * 0x9E3779B1u + 0x3C6EF372u) & mask;
    x ^= x >> shift;
    x = (x * 0x85EBCA77u) & mask;
    x ^= x >> shift;
    x = (x * 0xC2B2AE3Du) & mask;
    return x ^ (x >> shift);
}

// A whole number of 16 bits with its sign: sums of a few hundred are exact.
__host__ __device__ inline float whole_float(uint32_t x) {
    return float(int32_t(hash(x) & 0xFFFFu) - 0x8000);
}

template <class T, class F>
__global__ void fill_kernel(T* data, uint64_t count, F value) {
    for (uint64_t i = blockIdx.x * uint64_t(blockDim.x) + threadIdx.x; i < count; i += uint64_t(gridDim.x) * blockDim.x) {
        data[i] = value(uint32_t(i));
    }
}

template <class T, class F>
void fill(const Buffer<T>& buffer, F value) {
    fill_kernel<<<4096, 256>>>(buffer.get(), buffer.count(), value);
    check(cudaGetLastError());
}

// ---- checks ---------------------------------------------------------------------------------------------------------------

template <class F>
__global__ void count_wrong(uint64_t count, F is_right, unsigned long long* wrong) {
    for (uint64_t i = blockIdx.x * uint64_t(blockDim.x) + threadIdx.x; i < count; i += uint64_t(gridDim.x) * blockDim.x) {
        if (!is_right(uint32_t(i))) {
            atomicAdd(wrong, 1ull);
        }
    }
}

// Whether a condition holds for all numbers below `count`.
template <class F>
bool all_right(uint64_t count, F is_right) {
    Buffer<unsigned long long> wrong(1);
    wrong.clear();
    count_wrong<<<4096, 256>>>(count, is_right, wrong.get());
    check(cudaGetLastError());
    return wrong.read()[0] == 0;
}

// ---- times ----------------------------------------------------------------------------------------------------------------

constexpr int SAMPLES = 11;
// What a sample takes at least, by its length and by its launches; passes so long that launching them is nothing need fewer.
constexpr double LEAST_NS = 2e6;
constexpr int LAUNCHES = 16;
constexpr double LONG_NS = 5e6;
constexpr int LONG_LAUNCHES = 4;
// Clocks rise while there is work.
constexpr double WARM_UP_NS = 30e6;

struct Events {
    cudaEvent_t begin, end;
    Events() {
        check(cudaEventCreate(&begin));
        check(cudaEventCreate(&end));
    }
    ~Events() {
        cudaEventDestroy(begin);
        cudaEventDestroy(end);
    }
};

// The time of so many launches. What is launched before them keeps the device busy until they wait in its queue.
template <class Before, class Launch>
double elapsed_ns(const Events& events, int launches, const Before& before, const Launch& launch) {
    before();
    check(cudaEventRecord(events.begin));
    for (int i = 0; i < launches; ++i) {
        launch();
    }
    check(cudaEventRecord(events.end));
    check(cudaEventSynchronize(events.end));
    check(cudaGetLastError());
    float ms;
    check(cudaEventElapsedTime(&ms, events.begin, events.end));
    return double(ms) * 1e6;
}

inline double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

// The time of a pass, where passes follow each other.
template <class Launch>
double time_repeated(const Launch& launch) {
    const Events events;
    double single = 0;
    for (double spent = 0; spent < WARM_UP_NS; spent += single) {
        single = std::max(elapsed_ns(events, 1, launch, launch), 1e3);
    }
    const int launches = single > LONG_NS ? LONG_LAUNCHES : std::max(LAUNCHES, int(LEAST_NS / single) + 1);
    std::vector<double> times;
    for (int i = 0; i < SAMPLES; ++i) {
        times.push_back(elapsed_ns(events, launches, launch, launch) / launches);
    }
    return median(times);
}

// The time of a pass, where each is a sample of its own, and something that isn't timed comes before it.
template <class Before, class Launch>
double time_prepared(const Before& before, const Launch& launch) {
    const Events events;
    for (double spent = 0; spent < WARM_UP_NS;) {
        spent += elapsed_ns(events, 1, before, launch);
    }
    std::vector<double> times;
    for (int i = 0; i < SAMPLES; ++i) {
        times.push_back(elapsed_ns(events, 1, before, launch));
    }
    return median(times);
}
