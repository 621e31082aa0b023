// A walk through lines of memory in a random order, by one thread: the time of a hop is a load's latency.
#pragma once

#include <random>

#include "common.cuh"

constexpr uint32_t LINE_BYTES = 64, HOPS = 1u << 16, WALK_BLOCK = 64, SWEEP_BLOCK = 128;
// Sets of up to this size are read by the walking block itself before it walks, since a kernel begins with an empty first cache.
constexpr uint64_t PRELOADED_BYTES = 1u << 20;
// Long enough for the host to queue what comes next.
constexpr long long QUEUE_CLOCKS = 100000;

__global__ void wait_clocks(long long clocks) {
    const long long begin = clock64();
    while (clock64() - begin < clocks) {
    }
}

// A line by index and by pointer: the first word says where the next one is.
struct ByIndex {
    using Word = uint32_t;
    static constexpr uint32_t PER_LINE = LINE_BYTES / sizeof(Word);
    static __device__ Word next(const Word* __restrict__ nodes, Word at) { return nodes[at]; }
    static Word told(const Word*, uint32_t line) { return line * PER_LINE; }
};

struct ByPointer {
    using Word = unsigned long long;
    static constexpr uint32_t PER_LINE = LINE_BYTES / sizeof(Word);
    static __device__ Word next(const Word*, Word at) { return *reinterpret_cast<const Word*>(at); }
    static Word told(const Word* nodes, uint32_t line) { return reinterpret_cast<Word>(nodes + line * PER_LINE); }
};

// One block reads a word of each line, so that the lines are in the caches near it.
template <class By>
__global__ void sweep(const typename By::Word* __restrict__ nodes, uint32_t lines, typename By::Word* __restrict__ sums) {
    typename By::Word sum = 0;
#pragma unroll 16
    for (uint32_t line = threadIdx.x; line < lines; line += SWEEP_BLOCK) {
        sum += nodes[line * By::PER_LINE];
    }
    sums[threadIdx.x] = sum;
}

template <class By>
__global__ void walk(const typename By::Word* __restrict__ nodes, uint32_t preloaded, typename By::Word* at,
                     typename By::Word* sums) {
    typename By::Word sum = 0;
    for (uint32_t line = threadIdx.x; line < preloaded; line += WALK_BLOCK) {
        sum += nodes[line * By::PER_LINE];
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        typename By::Word here = *at;
#pragma unroll 16
        for (uint32_t hop = 0; hop < HOPS; ++hop) {
            here = By::next(nodes, here);
        }
        *at = here;
    }
}

template <class By, uint64_t BYTES>
Found latency() {
    using Word = typename By::Word;
    constexpr uint32_t LINES = BYTES / LINE_BYTES, PRELOADED = BYTES <= PRELOADED_BYTES ? LINES : 0;
    Buffer<Word> nodes(BYTES / sizeof(Word)), at(1), sums(SWEEP_BLOCK);
    // One cycle through all lines: in a shuffled order each leads to the one after it.
    std::vector<uint32_t> order(LINES);
    for (uint32_t i = 0; i < LINES; ++i) {
        order[i] = i;
    }
    std::shuffle(order.begin(), order.end(), std::mt19937(1));
    std::vector<Word> words(nodes.count());
    Word sum = 0;
    for (uint32_t i = 0; i < LINES; ++i) {
        const Word next = By::told(nodes.get(), order[(i + 1) % LINES]);
        words[order[i] * By::PER_LINE] = next;
        sum += next;
    }
    nodes.write(words);
    at.write({By::told(nodes.get(), order[0])});
    uint64_t passes = 0;
    const auto before = [&] {
        wait_clocks<<<1, 1>>>(QUEUE_CLOCKS);
        sweep<By><<<1, SWEEP_BLOCK>>>(nodes.get(), LINES, sums.get());
    };
    const double ns = time_prepared(before, [&] {
        walk<By><<<1, WALK_BLOCK>>>(nodes.get(), PRELOADED, at.get(), sums.get());
        ++passes;
    });
    // Where so many hops lead to, and what was read of the lines before.
    bool is_right = at.read()[0] == By::told(nodes.get(), order[passes * HOPS % LINES]);
    before();
    const std::vector<Word> swept = sums.read();
    Word all = 0;
    for (const Word part : swept) {
        all += part;
    }
    is_right = is_right && all == sum;
    return {ns, HOPS, is_right};
}
