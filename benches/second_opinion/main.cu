// Measures works by name, and prints a line for each: NAME<TAB>NS_PER_PASS<TAB>UNITS_PER_PASS, NAME<TAB>wrong where its results
// aren't right, or NAME<TAB>failed: REASON.
//
// Usage: PROGRAM SEED PCI_ADDRESS|- CARVE_OUT NAME...

#include <cstdio>
#include <cstring>
#include <memory>
#include <random>

#include "cache.cuh"
#include "library.cuh"
#include "memory.cuh"
#include "peak.cuh"
#include "products.cuh"
#include "within.cuh"

struct Work {
    const char* name;
    Found (*measure)();
};

static const Work WORKS[] = {
    {"stream read 1", stream<Stream::Read, float>},
    {"stream read 2", stream<Stream::Read, float2>},
    {"stream read 4", stream<Stream::Read, float4>},
    {"stream init 1", stream<Stream::Init, float>},
    {"stream init 2", stream<Stream::Init, float2>},
    {"stream init 4", stream<Stream::Init, float4>},
    {"stream copy 1", stream<Stream::Copy, float>},
    {"stream copy 2", stream<Stream::Copy, float2>},
    {"stream copy 4", stream<Stream::Copy, float4>},
    {"stream triad 1", stream<Stream::Triad, float>},
    {"stream triad 2", stream<Stream::Triad, float2>},
    {"stream triad 4", stream<Stream::Triad, float4>},
    {"gather sequential", indexed<true, false>},
    {"gather random", indexed<true, true>},
    {"scatter sequential", indexed<false, false>},
    {"scatter random", indexed<false, true>},
    {"transpose naive", transpose<-1>},
    {"transpose tiled", transpose<0>},
    {"transpose padded", transpose<1>},
    {"banks 1", banks<1>},
    {"banks 2", banks<2>},
    {"banks 4", banks<4>},
    {"banks 8", banks<8>},
    {"banks 16", banks<16>},
    {"banks 32", banks<32>},
    {"banks 33", banks<33>},
    {"latency index 16Ki", latency<ByIndex, 16ull << 10>},
    {"latency index 128Ki", latency<ByIndex, 128ull << 10>},
    {"latency index 4Mi", latency<ByIndex, 4ull << 20>},
    {"latency index 16Mi", latency<ByIndex, 16ull << 20>},
    {"latency index 256Mi", latency<ByIndex, 256ull << 20>},
    {"latency pointer 16Ki", latency<ByPointer, 16ull << 10>},
    {"latency pointer 128Ki", latency<ByPointer, 128ull << 10>},
    {"latency pointer 4Mi", latency<ByPointer, 4ull << 20>},
    {"latency pointer 16Mi", latency<ByPointer, 16ull << 20>},
    {"latency pointer 256Mi", latency<ByPointer, 256ull << 20>},
    {"atomic used distinct", atomics<true, Sharers::Nobody, 264>},
    {"atomic used warp", atomics<true, Sharers::Warp, 264>},
    {"atomic used one", atomics<true, Sharers::All, 264>},
    {"atomic used distinct 1056", atomics<true, Sharers::Nobody, 1056>},
    {"atomic combinable distinct", atomics<false, Sharers::Nobody, 264>},
    {"atomic combinable warp", atomics<false, Sharers::Warp, 264>},
    {"atomic combinable one", atomics<false, Sharers::All, 264>},
    {"atomic combinable distinct 1056", atomics<false, Sharers::Nobody, 1056>},
    {"peak f32", peak<Float, 8>},
    {"peak f16", peak<Halves, 8>},
    {"peak f64", peak<Double, 8>},
    {"peak i32", peak<Whole, 8>},
    {"reduce warps", reduce<true, false>},
    {"reduce warps fenced", reduce<true, true>},
    {"reduce shared", reduce<false, false>},
    {"barrier registers 1", barriers<false, false, 1>},
    {"barrier registers 256", barriers<false, false, 256>},
    {"barrier fenced 1", barriers<false, true, 1>},
    {"barrier fenced 256", barriers<false, true, 256>},
    {"barrier shared 1", barriers<true, false, 1>},
    {"barrier shared 256", barriers<true, false, 256>},
    {"barrier shared fenced 1", barriers<true, true, 1>},
    {"barrier shared fenced 256", barriers<true, true, 256>},
    {"library reduce", library_reduce},
    {"library argmax", library_argmax},
    {"library scan", library_scan},
    {"library compact 1", library_compact<1>},
    {"library compact 50", library_compact<50>},
    {"library compact 99", library_compact<99>},
    {"library histogram uniform", library_histogram<Spread::Uniform, false>},
    {"library histogram zipf", library_histogram<Spread::Zipf, false>},
    {"library histogram one", library_histogram<Spread::One, false>},
    {"library histogram bytes uniform", library_histogram<Spread::Uniform, true>},
    {"library histogram bytes zipf", library_histogram<Spread::Zipf, true>},
    {"library histogram bytes one", library_histogram<Spread::One, true>},
    {"library matmul f32", library_product<ProductF32>},
    {"library matmul f16_f32", library_product<ProductF16F32>},
    {"library matmul bf16_f32", library_product<ProductBf16F32>},
    {"library matmul f16_f16", library_product<ProductF16F16>},
    {"library matmul i8_i32", library_product<ProductI8I32>},
    {"library sort keys", library_sort<false>},
    {"library sort pairs", library_sort<true>},
};

// What is kept of the memory that the first cache and shared memory share, as the driver is asked for it.
struct CarveOut {
    const char* name;
    cudaFuncCache preference;
};

static const CarveOut CARVE_OUTS[] = {
    {"none", cudaFuncCachePreferNone},
    {"cache", cudaFuncCachePreferL1},
    {"shared", cudaFuncCachePreferShared},
    {"equal", cudaFuncCachePreferEqual},
};

static cudaFuncCache preference(const char* name) {
    for (const CarveOut& carve_out : CARVE_OUTS) {
        if (std::strcmp(carve_out.name, name) == 0) {
            return carve_out.preference;
        }
    }
    throw std::runtime_error("there is no such carve-out");
}

static Found measure(const char* name) {
    for (const Work& work : WORKS) {
        if (std::strcmp(work.name, name) == 0) {
            return work.measure();
        }
    }
    throw std::runtime_error("there is no such work");
}

int main(int argc, char** argv) {
    if (argc < 4) {
        std::fprintf(stderr, "usage: %s SEED PCI_ADDRESS|- CARVE_OUT NAME...\n", argv[0]);
        return 2;
    }
    try {
        int device = 0;
        if (std::strcmp(argv[2], "-") != 0) {
            check(cudaDeviceGetByPCIBusId(&device, argv[2]));
        }
        check(cudaSetDevice(device));
        check(cudaDeviceSetCacheConfig(preference(argv[3])));
        cudaDeviceProp properties;
        check(cudaGetDeviceProperties(&properties, device));
        std::fprintf(stderr, "%s\n", properties.name);
        // Buffers lie elsewhere in each process.
        std::minstd_rand random(std::strtoul(argv[1], nullptr, 10) + 1);
        random.discard(16);
        const Buffer<char> room((1 + random() % 512) << 20);
        // Clocks need a while to rise.
        for (int i = 0; i < 5; ++i) {
            peak<Float, 8>();
        }
        for (int i = 4; i < argc; ++i) {
            try {
                const Found found = measure(argv[i]);
                if (found.is_right) {
                    std::printf("%s\t%.3f\t%.0f\n", argv[i], found.ns, found.units);
                } else {
                    std::printf("%s\twrong\n", argv[i]);
                }
            } catch (const std::exception& error) {
                std::printf("%s\tfailed: %s\n", argv[i], error.what());
            }
            std::fflush(stdout);
        }
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
