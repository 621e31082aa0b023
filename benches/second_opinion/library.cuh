// The vendor's own library, CUB: reduction, arg-max, scan, compaction, histogram, sort. All that a call launches counts; its
// temporary memory is there beforehand. Inputs stay as they are, so that a call may follow itself.
#pragma once

#include <cub/cub.cuh>

#include "common.cuh"

constexpr uint32_t LIBRARY_WORDS = 1u << 28, SORTED_WORDS = 1u << 26, BINS = 256;

// The time of a call, which tells how much temporary memory it needs where it is given none.
template <class Call>
double time_library(const Call& call) {
    size_t bytes = 0;
    check(call(nullptr, bytes));
    const Buffer<char> temporary(std::max(bytes, size_t(1)));
    return time_repeated([&] { check(call(temporary.get(), bytes)); });
}

inline void fill_with_words(const Buffer<uint32_t>& buffer) {
    fill(buffer, [] __device__(uint32_t i) { return hash(i); });
}

// ---- reduction and scan ---------------------------------------------------------------------------------------------------

inline Found library_reduce() {
    const Buffer<uint32_t> words(LIBRARY_WORDS), sum(1);
    fill_with_words(words);
    const double ns = time_library([&](void* temporary, size_t& bytes) {
        return cub::DeviceReduce::Sum(temporary, bytes, words.get(), sum.get(), int(LIBRARY_WORDS));
    });
    uint32_t expected = 0;
    for (uint32_t i = 0; i < LIBRARY_WORDS; ++i) {
        expected += hash(i);
    }
    return {ns, LIBRARY_WORDS, sum.read()[0] == expected};
}

inline Found library_argmax() {
    const Buffer<uint32_t> words(LIBRARY_WORDS);
    fill_with_words(words);
#if CUB_VERSION >= 200800
    const Buffer<uint32_t> largest(1);
    const Buffer<int64_t> index(1);
    const double ns = time_library([&](void* temporary, size_t& bytes) {
        return cub::DeviceReduce::ArgMax(temporary, bytes, words.get(), largest.get(), index.get(), int64_t(LIBRARY_WORDS));
    });
    const uint64_t got[2] = {largest.read()[0], uint64_t(index.read()[0])};
#else
    const Buffer<cub::KeyValuePair<int, uint32_t>> found(1);
    const double ns = time_library([&](void* temporary, size_t& bytes) {
        return cub::DeviceReduce::ArgMax(temporary, bytes, words.get(), found.get(), int(LIBRARY_WORDS));
    });
    const uint64_t got[2] = {found.read()[0].value, uint64_t(found.read()[0].key)};
#endif
    uint32_t expected = 0;
    for (uint32_t i = 0; i < LIBRARY_WORDS; ++i) {
        expected = hash(i) > hash(expected) ? i : expected;
    }
    return {ns, LIBRARY_WORDS, got[0] == hash(expected) && got[1] == expected};
}

inline Found library_scan() {
    const Buffer<uint32_t> words(LIBRARY_WORDS), sums(LIBRARY_WORDS);
    fill_with_words(words);
    const double ns = time_library([&](void* temporary, size_t& bytes) {
        return cub::DeviceScan::InclusiveSum(temporary, bytes, words.get(), sums.get(), int(LIBRARY_WORDS));
    });
    const uint32_t* got = sums.get();
    const bool is_right = all_right(LIBRARY_WORDS, [=] __device__(uint32_t i) {
        return got[i] - (i == 0 ? 0 : got[i - 1]) == hash(i);
    });
    return {ns, LIBRARY_WORDS, is_right};
}

// ---- compaction -----------------------------------------------------------------------------------------------------------

struct IsBelow {
    uint32_t limit;
    __host__ __device__ bool operator()(uint32_t word) const { return word < limit; }
};

// Keeps so many words of a hundred, in their order.
template <int KEPT>
Found library_compact() {
    const Buffer<uint32_t> words(LIBRARY_WORDS), kept(LIBRARY_WORDS), count(1);
    fill_with_words(words);
    const IsBelow is_kept{uint32_t((uint64_t(1) << 32) * KEPT / 100)};
    const double ns = time_library([&](void* temporary, size_t& bytes) {
        return cub::DeviceSelect::If(temporary, bytes, words.get(), kept.get(), count.get(), int(LIBRARY_WORDS), is_kept);
    });
    const uint32_t found = count.read()[0];
    const std::vector<uint32_t> got = kept.read();
    uint32_t expected = 0;
    bool is_right = true;
    for (uint32_t i = 0; i < LIBRARY_WORDS; ++i) {
        if (is_kept(hash(i))) {
            is_right &= got[expected] == hash(i);
            ++expected;
        }
    }
    return {ns, LIBRARY_WORDS, is_right && found == expected};
}

// ---- histograms -----------------------------------------------------------------------------------------------------------

enum class Spread { Uniform, Zipf, One };

// Where the ranks of Zipf's law end, but the last one, as shares of 2^32: a rank's own share is as its reciprocal.
inline std::vector<uint32_t> zipf_ends() {
    double whole = 0, sum = 0;
    for (uint32_t rank = 1; rank <= BINS; ++rank) {
        whole += 1.0 / rank;
    }
    std::vector<uint32_t> ends;
    for (uint32_t rank = 1; rank < BINS; ++rank) {
        sum += 1.0 / rank;
        ends.push_back(uint32_t(sum / whole * 4294967296.0));
    }
    return ends;
}

// The bin that a key falls into. An odd factor puts likely bins far apart.
__host__ __device__ inline uint32_t bin_of_index(Spread spread, const uint32_t* ends, uint32_t i) {
    if (spread == Spread::Uniform) {
        return hash(i) >> 24;
    }
    uint32_t rank = 0;
    for (uint32_t step = BINS / 2; spread == Spread::Zipf && step > 0; step /= 2) {
        rank += ends[rank + step - 1] <= hash(i) ? step : 0;
    }
    return (rank * 167 + 59) % BINS;
}

// Its bin is the key's highest byte, and its lowest as well; the rest is random. No key has all bits.
__host__ __device__ inline uint32_t key_of_index(Spread spread, const uint32_t* ends, uint32_t i) {
    const uint32_t bin = bin_of_index(spread, ends, i);
    return bin << 24 | (hash(~i) & 0x7FFF) << 8 | bin;
}

// What is said of a channel each: CUB 3 takes an array with its length, earlier ones a plain one.
#if CUB_VERSION >= 300000
template <class T>
using OfOneChannel = cuda::std::array<T, 1>;
#else
template <class T>
using OfOneChannel = T[1];
#endif

// Of whole keys, or only of their lowest bytes: as the first of four channels, whose bins need no arithmetic.
template <Spread spread, bool of_bytes>
Found library_histogram() {
    const Buffer<uint32_t> keys(LIBRARY_WORDS), bins(BINS);
    Buffer<uint32_t> ends(BINS - 1);
    const std::vector<uint32_t> host_ends = zipf_ends();
    ends.write(host_ends);
    const uint32_t* device_ends = ends.get();
    fill(keys, [=] __device__(uint32_t i) { return key_of_index(spread, device_ends, i); });
    const double ns = time_library([&](void* temporary, size_t& bytes) {
        if constexpr (of_bytes) {
            OfOneChannel<uint32_t*> histograms = {bins.get()};
            const OfOneChannel<int> levels = {BINS + 1}, lower = {0}, upper = {BINS};
            const unsigned char* samples = reinterpret_cast<const unsigned char*>(keys.get());
            return cub::DeviceHistogram::MultiHistogramEven<4, 1>(temporary, bytes, samples, histograms, levels, lower, upper,
                                                                  int(LIBRARY_WORDS));
        } else {
            return cub::DeviceHistogram::HistogramEven(temporary, bytes, keys.get(), bins.get(), int(BINS + 1), 0u, ~0u,
                                                       int(LIBRARY_WORDS));
        }
    });
    std::vector<uint32_t> expected(BINS);
    for (uint32_t i = 0; i < LIBRARY_WORDS; ++i) {
        ++expected[bin_of_index(spread, host_ends.data(), i)];
    }
    return {ns, LIBRARY_WORDS, bins.read() == expected};
}

// ---- sorts ------------------------------------------------------------------------------------------------------------------

// From one buffer to another one (no DoubleBuffer, which would leave sorted keys to the next call). All keys differ.
template <bool with_values>
Found library_sort() {
    const uint32_t room = with_values ? SORTED_WORDS : 1;
    const Buffer<uint32_t> keys(SORTED_WORDS), sorted(SORTED_WORDS), values(room), moved(room);
    fill_with_words(keys);
    fill(values, [] __device__(uint32_t i) { return i; });
    const double ns = time_library([&](void* temporary, size_t& bytes) {
        if constexpr (with_values) {
            return cub::DeviceRadixSort::SortPairs(temporary, bytes, keys.get(), sorted.get(), values.get(), moved.get(),
                                                   int(SORTED_WORDS));
        } else {
            return cub::DeviceRadixSort::SortKeys(temporary, bytes, keys.get(), sorted.get(), int(SORTED_WORDS));
        }
    });
    const uint32_t *got = sorted.get(), *got_values = moved.get();
    bool is_right = all_right(SORTED_WORDS, [=] __device__(uint32_t i) {
        // Keys that rise are all different ones; each being its value's, all values are there.
        const bool rises = i == 0 || got[i - 1] < got[i];
        return rises && (!with_values || (got_values[i] < SORTED_WORDS && got[i] == hash(got_values[i])));
    });
    if constexpr (!with_values) {
        // Two sums that any other key would change, but for an unlikely chance.
        uint64_t sums[2] = {0, 0};
        const std::vector<uint32_t> read = sorted.read();
        for (uint32_t i = 0; i < SORTED_WORDS; ++i) {
            sums[0] += uint64_t(read[i]) - hash(i);
            sums[1] += uint64_t(hash(read[i])) - hash(hash(i));
        }
        is_right = is_right && sums[0] == 0 && sums[1] == 0;
    }
    return {ns, SORTED_WORDS, is_right};
}
