// Memory: streams, gathers, scatters, transposes.
#pragma once

#include "common.cuh"

constexpr uint32_t BLOCK = 256;
constexpr float SCALAR = 3.0f;

// Threads of a block take neighbouring elements; what one thread takes lies a block apart.
template <int PER_THREAD>
__device__ uint32_t first_of_thread() {
    return blockIdx.x * (BLOCK * PER_THREAD) + threadIdx.x;
}

__device__ inline uint32_t own_thread() { return blockIdx.x * BLOCK + threadIdx.x; }

// ---- streams --------------------------------------------------------------------------------------------------------------

template <class T>
__host__ __device__ T each(float value);
template <>
__host__ __device__ inline float each<float>(float value) { return value; }
template <>
__host__ __device__ inline float2 each<float2>(float value) { return make_float2(value, value); }
template <>
__host__ __device__ inline float4 each<float4>(float value) { return make_float4(value, value, value, value); }

__device__ inline float plus(float a, float b) { return a + b; }
__device__ inline float2 plus(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ inline float4 plus(float4 a, float4 b) { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }

__device__ inline float scaled(float s, float a) { return s * a; }
__device__ inline float2 scaled(float s, float2 a) { return make_float2(s * a.x, s * a.y); }
__device__ inline float4 scaled(float s, float4 a) { return make_float4(s * a.x, s * a.y, s * a.z, s * a.w); }

__device__ inline float total(float a) { return a; }
__device__ inline float total(float2 a) { return a.x + a.y; }
__device__ inline float total(float4 a) { return a.x + a.y + a.z + a.w; }

constexpr int STREAM = 8;

template <class T>
__global__ void stream_read(const T* __restrict__ a, float* __restrict__ sums, uint32_t n) {
    const uint32_t first = first_of_thread<STREAM>();
    T sum = each<T>(0.0f);
#pragma unroll
    for (int k = 0; k < STREAM; ++k) {
        const uint32_t i = first + k * BLOCK;
        if (i < n) {
            sum = plus(sum, a[i]);
        }
    }
    sums[own_thread()] = total(sum);
}

template <class T>
__global__ void stream_init(T* __restrict__ c, float scalar, uint32_t n) {
    const uint32_t first = first_of_thread<STREAM>();
#pragma unroll
    for (int k = 0; k < STREAM; ++k) {
        const uint32_t i = first + k * BLOCK;
        if (i < n) {
            c[i] = each<T>(float(i & 0xFFFFu) + scalar);
        }
    }
}

template <class T>
__global__ void stream_copy(const T* __restrict__ a, T* __restrict__ c, uint32_t n) {
    const uint32_t first = first_of_thread<STREAM>();
#pragma unroll
    for (int k = 0; k < STREAM; ++k) {
        const uint32_t i = first + k * BLOCK;
        if (i < n) {
            c[i] = a[i];
        }
    }
}

template <class T>
__global__ void stream_triad(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c, float scalar, uint32_t n) {
    const uint32_t first = first_of_thread<STREAM>();
#pragma unroll
    for (int k = 0; k < STREAM; ++k) {
        const uint32_t i = first + k * BLOCK;
        if (i < n) {
            c[i] = plus(a[i], scaled(scalar, b[i]));
        }
    }
}

enum class Stream { Read, Init, Copy, Triad };

template <Stream op, class T>
Found stream() {
    constexpr uint32_t WORDS = 1u << 28, WIDTH = sizeof(T) / 4, N = WORDS / WIDTH, BLOCKS = N / (BLOCK * STREAM);
    constexpr uint32_t THREADS = BLOCKS * BLOCK;
    const bool reads = op != Stream::Init, reads_two = op == Stream::Triad;
    const Buffer<float> a(reads ? WORDS : WIDTH), b(reads_two ? WORDS : WIDTH), c(op == Stream::Read ? THREADS : WORDS);
    fill(a, [] __device__(uint32_t i) { return whole_float(i); });
    fill(b, [] __device__(uint32_t i) { return whole_float(~i); });
    const T* a_elements = reinterpret_cast<const T*>(a.get());
    const T* b_elements = reinterpret_cast<const T*>(b.get());
    T* c_elements = reinterpret_cast<T*>(c.get());
    const double ns = time_repeated([&] {
        if constexpr (op == Stream::Read) {
            stream_read<T><<<BLOCKS, BLOCK>>>(a_elements, c.get(), N);
        } else if constexpr (op == Stream::Init) {
            stream_init<T><<<BLOCKS, BLOCK>>>(c_elements, SCALAR, N);
        } else if constexpr (op == Stream::Copy) {
            stream_copy<T><<<BLOCKS, BLOCK>>>(a_elements, c_elements, N);
        } else {
            stream_triad<T><<<BLOCKS, BLOCK>>>(a_elements, b_elements, c_elements, SCALAR, N);
        }
    });
    const float* got = c.get();
    const bool is_right = all_right(c.count(), [=] __device__(uint32_t i) {
        if (op == Stream::Read) {
            float sum = 0;
            for (uint32_t k = 0; k < STREAM; ++k) {
                const uint32_t element = i / BLOCK * BLOCK * STREAM + i % BLOCK + k * BLOCK;
                for (uint32_t word = 0; word < WIDTH; ++word) {
                    sum += whole_float(element * WIDTH + word);
                }
            }
            return got[i] == sum;
        }
        const float counted = float(i / WIDTH & 0xFFFFu) + SCALAR, first = whole_float(i);
        return got[i] == (op == Stream::Init ? counted : op == Stream::Copy ? first : first + SCALAR * whole_float(~i));
    });
    const double arrays = op == Stream::Triad ? 2 : reads ? 1 : 0;
    return {ns, (arrays * WORDS + double(c.count())) * 4, is_right};
}

// ---- gathers and scatters ---------------------------------------------------------------------------------------------------

constexpr uint32_t LIST_BITS = 27;
constexpr int GATHERED = 32, SCATTERED = 8;

__global__ void gather_kernel(const uint32_t* __restrict__ source, const uint32_t* __restrict__ indexes,
                              uint32_t* __restrict__ sums, uint32_t n) {
    const uint32_t first = first_of_thread<GATHERED>();
    uint32_t sum = 0;
#pragma unroll
    for (int k = 0; k < GATHERED; ++k) {
        const uint32_t i = first + k * BLOCK;
        if (i < n) {
            sum += source[indexes[i]];
        }
    }
    sums[own_thread()] = sum;
}

__global__ void scatter_kernel(const uint32_t* __restrict__ source, const uint32_t* __restrict__ indexes,
                               uint32_t* __restrict__ target, uint32_t n) {
    const uint32_t first = first_of_thread<SCATTERED>();
#pragma unroll
    for (int k = 0; k < SCATTERED; ++k) {
        const uint32_t i = first + k * BLOCK;
        if (i < n) {
            target[indexes[i]] = source[i];
        }
    }
}

template <bool is_random>
__host__ __device__ uint32_t index_at(uint32_t i) {
    return is_random ? permuted(i, LIST_BITS) : i;
}

template <bool is_gather, bool is_random>
Found indexed() {
    constexpr uint32_t N = 1u << LIST_BITS, PER_THREAD = is_gather ? GATHERED : SCATTERED, BLOCKS = N / (BLOCK * PER_THREAD);
    const Buffer<uint32_t> source(N), indexes(N), results(is_gather ? BLOCKS * BLOCK : N);
    fill(source, [] __device__(uint32_t i) { return hash(i); });
    fill(indexes, [] __device__(uint32_t i) { return index_at<is_random>(i); });
    const double ns = time_repeated([&] {
        if constexpr (is_gather) {
            gather_kernel<<<BLOCKS, BLOCK>>>(source.get(), indexes.get(), results.get(), N);
        } else {
            scatter_kernel<<<BLOCKS, BLOCK>>>(source.get(), indexes.get(), results.get(), N);
        }
    });
    const uint32_t* got = results.get();
    const bool is_right = all_right(results.count(), [=] __device__(uint32_t i) {
        if (is_gather) {
            uint32_t sum = 0;
            for (uint32_t k = 0; k < PER_THREAD; ++k) {
                sum += hash(index_at<is_random>(i / BLOCK * BLOCK * PER_THREAD + i % BLOCK + k * BLOCK));
            }
            return got[i] == sum;
        }
        return got[index_at<is_random>(i)] == hash(i);
    });
    return {ns, (2.0 * N + double(results.count())) * 4, is_right};
}

// ---- transposes -------------------------------------------------------------------------------------------------------------

constexpr uint32_t TILE = 32, ROWS = 8;

__global__ void transpose_naive(const uint32_t* __restrict__ source, uint32_t* __restrict__ target, uint32_t size) {
    const uint32_t x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
#pragma unroll
    for (uint32_t j = 0; j < TILE; j += ROWS) {
        if (x < size && y + j < size) {
            target[x * size + y + j] = source[(y + j) * size + x];
        }
    }
}

template <int PADDING>
__global__ void transpose_tiled(const uint32_t* __restrict__ source, uint32_t* __restrict__ target, uint32_t size) {
    __shared__ uint32_t tile[TILE][TILE + PADDING];
    uint32_t x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
#pragma unroll
    for (uint32_t j = 0; j < TILE; j += ROWS) {
        if (x < size && y + j < size) {
            tile[threadIdx.y + j][threadIdx.x] = source[(y + j) * size + x];
        }
    }
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
#pragma unroll
    for (uint32_t j = 0; j < TILE; j += ROWS) {
        if (x < size && y + j < size) {
            target[(y + j) * size + x] = tile[threadIdx.x][threadIdx.y + j];
        }
    }
}

// By a tile with this many words between its rows; by none where the number is negative.
template <int PADDING>
Found transpose() {
    constexpr uint32_t SIZE = 8192, WORDS = SIZE * SIZE;
    const Buffer<uint32_t> source(WORDS), target(WORDS);
    fill(source, [] __device__(uint32_t i) { return hash(i); });
    const dim3 blocks(SIZE / TILE, SIZE / TILE), block(TILE, ROWS);
    const double ns = time_repeated([&] {
        if constexpr (PADDING < 0) {
            transpose_naive<<<blocks, block>>>(source.get(), target.get(), SIZE);
        } else {
            transpose_tiled<PADDING><<<blocks, block>>>(source.get(), target.get(), SIZE);
        }
    });
    const uint32_t* got = target.get();
    const bool is_right = all_right(WORDS, [=] __device__(uint32_t i) { return got[i] == hash(i % SIZE * SIZE + i / SIZE); });
    return {ns, 8.0 * WORDS, is_right};
}
