//! The works that both sides do.

/// A work of the CUDA program, and the cases of the catalogue that do the same.
pub struct Work {
    /// How the CUDA program calls it.
    pub cuda: &'static str,
    /// Which columns make its figure.
    pub figure: Figure,
    /// The experiment, or `EXPERIMENT:VARIANT`.
    pub filter: &'static str,
    /// Values on axes, parted by spaces. Those that aren't named have the first of their default values.
    pub axes: &'static [&'static str],
    /// The case's forms, each a line of its own: a name, and values on further axes. One that this catalogue
    /// doesn't have says so in its line.
    pub forms: &'static [(&'static str, &'static str)],
}

/// A figure: work per time, or time per work.
#[derive(Clone, Copy)]
pub struct Figure {
    /// The row's column that tells the work of a pass, as the CUDA program counts it.
    pub column: &'static str,
    /// Its unit; the work of a nanosecond where it is a rate, else the nanoseconds of a piece of work.
    pub unit: &'static str,
    /// Whether more is better.
    pub is_rate: bool,
}

impl Figure {
    /// Of the time that a unit of work takes.
    pub fn of(&self, ns_per_unit: f64) -> f64 {
        if self.is_rate { 1.0 / ns_per_unit } else { ns_per_unit }
    }
}

const BYTES: Figure = Figure { column: "bytes_per_pass", unit: "GB/s", is_rate: true };
const FLOPS: Figure = Figure { column: "flops_per_pass", unit: "GFLOP/s", is_rate: true };
const OPS: Figure = Figure { column: "ops_per_pass", unit: "GOP/s", is_rate: true };
const ITEMS: Figure = Figure { column: "items_per_pass", unit: "ns", is_rate: false };
/// Words per time, whatever a pass makes of them.
const WORDS: Figure = Figure { column: "items_per_pass", unit: "Gword/s", is_rate: true };
const STEPS: Figure = Figure { column: "ops_per_pass", unit: "ns", is_rate: false };

/// The one form of most works.
const PLAIN: &[(&str, &str)] = &[("", "")];

/// Ways to go about several words an invocation.
const ISSUES: &[(&str, &str)] =
    &[("interleaved", "issue=interleaved bounds=element"), ("loads first", "issue=loads_first bounds=element")];

/// What a barrier orders besides waiting.
const BARRIERS: &[(&str, &str)] = &[("control", "kind=control"), ("execution", "kind=execution")];

const STREAM: &str = "n=2^28 local_size_x=256 unroll=8";
const GATHER: &str = "n=2^27 local_size_x=256 unroll=32";
const SCATTER: &str = "n=2^27 local_size_x=256 unroll=8";
const TRANSPOSE: &str = "matrix_size=8192 tile=32 local_size_x=32 local_size_y=8";
const BANKS: &str = "pattern=strided width=1 padding=0 local_size_x=256 iterations=64 groups=8448";
const LATENCY: &str = "line_bytes=64 hops=65536 link=index";
const POINTERS: &str = "line_bytes=64 hops=65536 link=pointer";
const ATOMIC: &str = "op=add type=u32 memory=global local_size_x=256 atomics=512";
const ARITH: &str = "op=fma chains=4 local_size_x=256 unroll=16 groups=4224";
const REDUCE: &str = "job=reduce local_size_x=256 groups=1056 jobs=2048";
const BARRIER: &str = "local_size_x=256 barriers=16384";

const LIBRARY: &str = "n=2^28";
const TILES: &str = "local_size_x=512 items=32";
const PRODUCT: &str = "matrix_size=4096 rows=0 columns=0 inner=0";
const FLOATS: &str = "transposed=neither data=mantissas";
/// The library multiplies bytes only where both factors lie along what is summed.
const BYTES_APART: &str = "type=i8_i32 transposed=right data=whole";
const SUBGROUPS: &str = "shape=16x16x16 tile_k=32";
const WORKGROUPS: &str = "shape=128x128x64";
const SORTED: &str = "n=2^26 local_size_x=512 items=20 order=random";

const fn issued(cuda: &'static str, filter: &'static str, axes: &'static [&'static str]) -> Work {
    Work { cuda, figure: BYTES, filter, axes, forms: ISSUES }
}

const fn stream(cuda: &'static str, axes: &'static [&'static str]) -> Work {
    issued(cuda, "memory/stream", axes)
}

const fn barrier(cuda: &'static str, axes: &'static [&'static str]) -> Work {
    plain(cuda, STEPS, "sync/barrier", axes)
}

/// A work of the vendor's library, beside the best rung of a ladder.
const fn library(cuda: &'static str, filter: &'static str, axes: &'static [&'static str]) -> Work {
    plain(cuda, WORDS, filter, axes)
}

/// A product of matrices by the vendor's library, beside one rung of this name.
const fn product(
    cuda: &'static str,
    figure: Figure,
    filter: &'static str,
    axes: &'static [&'static str],
    forms: &'static [(&'static str, &'static str)],
) -> Work {
    Work { cuda, figure, filter, axes, forms }
}

const fn transpose(cuda: &'static str, filter: &'static str) -> Work {
    plain(cuda, BYTES, filter, &[TRANSPOSE])
}

const fn plain(cuda: &'static str, figure: Figure, filter: &'static str, axes: &'static [&'static str]) -> Work {
    Work { cuda, figure, filter, axes, forms: PLAIN }
}

/// All of them.
pub const WORKS: &[Work] = &[
    stream("stream read 1", &[STREAM, "op=read width=1"]),
    stream("stream read 2", &[STREAM, "op=read width=2"]),
    stream("stream read 4", &[STREAM, "op=read width=4"]),
    stream("stream init 1", &[STREAM, "op=init width=1"]),
    stream("stream init 2", &[STREAM, "op=init width=2"]),
    stream("stream init 4", &[STREAM, "op=init width=4"]),
    stream("stream copy 1", &[STREAM, "op=copy width=1"]),
    stream("stream copy 2", &[STREAM, "op=copy width=2"]),
    stream("stream copy 4", &[STREAM, "op=copy width=4"]),
    stream("stream triad 1", &[STREAM, "op=triad width=1"]),
    stream("stream triad 2", &[STREAM, "op=triad width=2"]),
    stream("stream triad 4", &[STREAM, "op=triad width=4"]),
    plain("gather sequential", BYTES, "memory/gather", &[GATHER, "pattern=sequential"]),
    plain("gather random", BYTES, "memory/gather", &[GATHER, "pattern=random"]),
    issued("scatter sequential", "memory/scatter", &[SCATTER, "pattern=sequential"]),
    issued("scatter random", "memory/scatter", &[SCATTER, "pattern=random"]),
    transpose("transpose naive", "algo/transpose:naive"),
    // A variant, and not an axis: the form has a name alone.
    Work { forms: &[("loads first", "")], ..transpose("transpose naive", "algo/transpose:naive_loads_first") },
    transpose("transpose tiled", "algo/transpose:tiled"),
    transpose("transpose padded", "algo/transpose:padded"),
    plain("banks 1", BYTES, "shared/bank_conflict", &[BANKS, "stride=1"]),
    plain("banks 2", BYTES, "shared/bank_conflict", &[BANKS, "stride=2"]),
    plain("banks 4", BYTES, "shared/bank_conflict", &[BANKS, "stride=4"]),
    plain("banks 8", BYTES, "shared/bank_conflict", &[BANKS, "stride=8"]),
    plain("banks 16", BYTES, "shared/bank_conflict", &[BANKS, "stride=16"]),
    plain("banks 32", BYTES, "shared/bank_conflict", &[BANKS, "stride=32"]),
    plain("banks 33", BYTES, "shared/bank_conflict", &[BANKS, "stride=33"]),
    plain("latency index 16Ki", ITEMS, "cache/latency", &[LATENCY, "working_set_bytes=2^14"]),
    plain("latency index 128Ki", ITEMS, "cache/latency", &[LATENCY, "working_set_bytes=2^17"]),
    plain("latency index 4Mi", ITEMS, "cache/latency", &[LATENCY, "working_set_bytes=2^22"]),
    plain("latency index 16Mi", ITEMS, "cache/latency", &[LATENCY, "working_set_bytes=2^24"]),
    plain("latency index 256Mi", ITEMS, "cache/latency", &[LATENCY, "working_set_bytes=2^28"]),
    plain("latency pointer 16Ki", ITEMS, "cache/latency", &[POINTERS, "working_set_bytes=2^14"]),
    plain("latency pointer 128Ki", ITEMS, "cache/latency", &[POINTERS, "working_set_bytes=2^17"]),
    plain("latency pointer 4Mi", ITEMS, "cache/latency", &[POINTERS, "working_set_bytes=2^22"]),
    plain("latency pointer 16Mi", ITEMS, "cache/latency", &[POINTERS, "working_set_bytes=2^24"]),
    plain("latency pointer 256Mi", ITEMS, "cache/latency", &[POINTERS, "working_set_bytes=2^28"]),
    plain("atomic used distinct", ITEMS, "sync/atomic:used", &[ATOMIC, "contention=distinct groups=264"]),
    plain("atomic used warp", ITEMS, "sync/atomic:used", &[ATOMIC, "contention=per_subgroup groups=264"]),
    plain("atomic used one", ITEMS, "sync/atomic:used", &[ATOMIC, "contention=one groups=264"]),
    // As many as the device holds at once: no invocation waits alone.
    plain("atomic used distinct 1056", ITEMS, "sync/atomic:used", &[ATOMIC, "contention=distinct groups=1056"]),
    plain("atomic combinable distinct", ITEMS, "sync/atomic:combinable", &[ATOMIC, "contention=distinct groups=264"]),
    plain("atomic combinable warp", ITEMS, "sync/atomic:combinable", &[ATOMIC, "contention=per_subgroup groups=264"]),
    plain("atomic combinable one", ITEMS, "sync/atomic:combinable", &[ATOMIC, "contention=one groups=264"]),
    plain("atomic combinable distinct 1056", ITEMS, "sync/atomic:combinable", &[ATOMIC, "contention=distinct groups=1056"]),
    plain("peak f32", FLOPS, "peak/arith:f32", &[ARITH, "width=2 iterations=256"]),
    Work {
        cuda: "peak f16",
        figure: FLOPS,
        filter: "peak/arith:f16",
        axes: &[ARITH, "iterations=256"],
        forms: &[("width 2", "width=2"), ("width 4", "width=4")],
    },
    plain("peak f64", FLOPS, "peak/arith:f64", &[ARITH, "width=2 iterations=32"]),
    plain("peak i32", OPS, "peak/arith:i32", &[ARITH, "width=2 iterations=256"]),
    plain("reduce warps", ITEMS, "subgroup/versus_shared:subgroup", &[REDUCE]),
    // A Vulkan barrier orders memory as well: a fence before CUDA's does that.
    plain("reduce warps fenced", ITEMS, "subgroup/versus_shared:subgroup", &[REDUCE]),
    Work { forms: &[("loop", "")], ..plain("reduce shared", ITEMS, "subgroup/versus_shared:shared", &[REDUCE]) },
    Work { forms: &[("unrolled", "")], ..plain("reduce shared", ITEMS, "subgroup/versus_shared:shared_unrolled", &[REDUCE]) },
    Work { forms: BARRIERS, ..barrier("barrier registers 1", &[BARRIER, "traffic=registers groups=1"]) },
    Work { forms: BARRIERS, ..barrier("barrier registers 256", &[BARRIER, "traffic=registers groups=256"]) },
    barrier("barrier fenced 1", &[BARRIER, "kind=control traffic=registers groups=1"]),
    barrier("barrier fenced 256", &[BARRIER, "kind=control traffic=registers groups=256"]),
    barrier("barrier shared 1", &[BARRIER, "kind=control traffic=shared groups=1"]),
    barrier("barrier shared 256", &[BARRIER, "kind=control traffic=shared groups=256"]),
    barrier("barrier shared fenced 1", &[BARRIER, "kind=control traffic=shared groups=1"]),
    barrier("barrier shared fenced 256", &[BARRIER, "kind=control traffic=shared groups=256"]),
    library("library reduce", "algo/reduce:vector", &[LIBRARY]),
    library("library argmax", "algo/argmax:vector", &[LIBRARY]),
    library("library scan", "algo/scan:look_back", &[LIBRARY, TILES]),
    library("library compact 1", "algo/compact:look_back", &[LIBRARY, TILES, "kept=1"]),
    library("library compact 50", "algo/compact:look_back", &[LIBRARY, TILES, "kept=50"]),
    library("library compact 99", "algo/compact:look_back", &[LIBRARY, TILES, "kept=99"]),
    library("library histogram uniform", "algo/histogram:vector", &[LIBRARY, "local_size_x=1024 distribution=uniform"]),
    library("library histogram zipf", "algo/histogram:vector", &[LIBRARY, "local_size_x=1024 distribution=zipf"]),
    library("library histogram one", "algo/histogram:vector", &[LIBRARY, "local_size_x=1024 distribution=one"]),
    // The same of the keys' lowest bytes alone, which are all that matters there: its quickest way.
    library("library histogram bytes uniform", "algo/histogram:vector", &[LIBRARY, "local_size_x=1024 distribution=uniform"]),
    library("library histogram bytes zipf", "algo/histogram:vector", &[LIBRARY, "local_size_x=1024 distribution=zipf"]),
    library("library histogram bytes one", "algo/histogram:vector", &[LIBRARY, "local_size_x=1024 distribution=one"]),
    product("library matmul f32", FLOPS, "algo/matmul:buffered", &[PRODUCT, FLOATS, "type=f32"], PLAIN),
    product(
        "library matmul f16_f32",
        FLOPS,
        "algo/matmul:coopmat_subgroup",
        &[PRODUCT, FLOATS, SUBGROUPS, "type=f16_f32"],
        &[("subgroups", "")],
    ),
    product(
        "library matmul f16_f32",
        FLOPS,
        "algo/matmul:coopmat_workgroup",
        &[PRODUCT, FLOATS, WORKGROUPS, "type=f16_f32"],
        &[("workgroups", "")],
    ),
    product(
        "library matmul bf16_f32",
        FLOPS,
        "algo/matmul:coopmat_subgroup",
        &[PRODUCT, FLOATS, SUBGROUPS, "type=bf16_f32"],
        &[("subgroups", "")],
    ),
    product(
        "library matmul bf16_f32",
        FLOPS,
        "algo/matmul:coopmat_workgroup",
        &[PRODUCT, FLOATS, WORKGROUPS, "type=bf16_f32"],
        &[("workgroups", "")],
    ),
    product(
        "library matmul f16_f16",
        FLOPS,
        "algo/matmul:coopmat_subgroup",
        &[PRODUCT, FLOATS, SUBGROUPS, "type=f16_f16"],
        &[("subgroups", "")],
    ),
    product(
        "library matmul f16_f16",
        FLOPS,
        "algo/matmul:coopmat_workgroup",
        &[PRODUCT, FLOATS, WORKGROUPS, "type=f16_f16"],
        &[("workgroups", "")],
    ),
    product(
        "library matmul i8_i32",
        OPS,
        "algo/matmul:coopmat_subgroup",
        &[PRODUCT, BYTES_APART, "shape=16x16x32 tile_k=64"],
        &[("subgroups", "")],
    ),
    product(
        "library matmul i8_i32",
        OPS,
        "algo/matmul:coopmat_workgroup",
        &[PRODUCT, BYTES_APART, "shape=128x128x128"],
        &[("workgroups", "")],
    ),
    library("library sort keys", "algo/sort:onesweep", &[SORTED, "payload=nothing"]),
    library("library sort pairs", "algo/sort:onesweep", &[SORTED, "payload=word"]),
];
