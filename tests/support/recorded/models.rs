//! Made-up spaces, each of another shape: times from simple models of occupancy, traffic, waves of workgroups and what a compiler
//! makes of unrolling, with 3 % of what no model explains. They stand in for devices; what they say of strategies is relations.

use std::convert::Infallible;

use lanescope::model::Point;
use lanescope::tuning::space::{Dimension, Space};

use super::Recorded;

pub fn all() -> Vec<Recorded> {
    vec![product_on_gpu(), product_on_cpu(), blur(), reduction(), variants()]
}

/// A space by its axes, what is allowed, and what a configuration takes.
fn recorded(
    name: &str,
    axes: Vec<Dimension>,
    is_allowed: impl Fn(&Point) -> bool,
    time: impl Fn(&Point) -> Option<f64>,
) -> Recorded {
    let space =
        Space::new(axes, |point| Ok::<_, Infallible>(is_allowed(point))).unwrap_or_else(|error| panic!("{name}: {error}"));
    let point_time = |configuration| {
        let point = space.point(configuration);
        time(&point).map(|time| time * unexplained(name, &point))
    };
    Recorded { name: name.to_owned(), times: (0..space.len()).map(point_time).collect(), space }
}

fn numbers(name: &'static str, values: &[u64]) -> Dimension {
    Dimension::new(name, values.iter().copied())
}

fn words(name: &'static str, values: &[&'static str]) -> Dimension {
    Dimension::new(name, values.iter().copied())
}

/// A number from 0 to 1 that follows from a text alone.
fn chance(text: &str) -> f64 {
    let digest =
        text.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3));
    let mut mixed = digest ^ (digest >> 33);
    mixed = mixed.wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    mixed = (mixed ^ (mixed >> 33)).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    real((mixed ^ (mixed >> 33)) >> 11) / real(1 << 53)
}

/// From 0.97 to 1.03.
fn unexplained(name: &str, point: &Point) -> f64 {
    0.97 + 0.06 * chance(&format!("{name} {point}"))
}

#[expect(clippy::cast_precision_loss, reason = "sizes are small")]
fn real(n: u64) -> f64 {
    n as f64
}

/// A multiprocessor: how many workgroups of such a size share it.
fn resident(threads: u64, registers: u64, shared: u64) -> u64 {
    let warps = threads.div_ceil(32);
    let by_registers = 65_536 / (registers.next_multiple_of(8) * warps * 32).max(1);
    let by_shared = (100 << 10) / shared.next_multiple_of(1 << 10).max(1);
    (48 / warps).min(by_registers).min(by_shared).min(16)
}

/// The share of the peak that so many warps with so much independent work each reach.
fn hidden(warps: u64, independent: f64) -> f64 {
    1.0 - (-(real(warps) * independent.sqrt()) / 14.0).exp()
}

/// By how much the last, partly filled wave of workgroups stretches a launch.
fn waves(groups: u64, at_once: u64) -> f64 {
    let waves = real(groups) / real(at_once);
    waves.ceil() / waves
}

const BLOCKS: [u64; 4] = [32, 64, 128, 256];

fn product_axes() -> Vec<Dimension> {
    vec![
        numbers("block_m", &BLOCKS),
        numbers("block_n", &BLOCKS),
        numbers("tile_k", &[4, 8, 16, 32]),
        numbers("thread_m", &[1, 2, 4, 8]),
        numbers("thread_n", &[1, 2, 4, 8]),
        numbers("vector", &[1, 2, 4]),
        numbers("unroll", &[1, 2, 4]),
        numbers("padding", &[0, 1]),
    ]
}

struct Product {
    threads: u64,
    shared: u64,
    loads: u64,
    m: u64,
    n: u64,
    k: u64,
    thread_m: u64,
    thread_n: u64,
    vector: u64,
    unroll: u64,
    padding: u64,
}

impl Product {
    fn of(point: &Point) -> Self {
        let at = |axis: &str| point.integer(axis);
        let (m, n, k) = (at("block_m"), at("block_n"), at("tile_k"));
        let (thread_m, thread_n) = (at("thread_m"), at("thread_n"));
        let threads = (m / thread_m) * (n / thread_n);
        let shared = 4 * k * (m + n + 2 * at("padding"));
        let (vector, unroll, padding) = (at("vector"), at("unroll"), at("padding"));
        Self { threads, shared, loads: (m + n) * k / vector, m, n, k, thread_m, thread_n, vector, unroll, padding }
    }

    fn is_allowed(&self, most_threads: u64, most_shared: u64) -> bool {
        (16..=most_threads).contains(&self.threads)
            && self.shared <= most_shared
            && self.loads >= self.threads
            && self.unroll <= self.k
            && self.vector <= self.k
    }
}

/// A tiled product of matrices of 1500 rows and columns on 46 multiprocessors.
fn product_on_gpu() -> Recorded {
    const SIZE: u64 = 1500;
    let time = |point: &Point| {
        let p = Product::of(point);
        let results = p.thread_m * p.thread_n;
        let registers = 24 + results + (p.thread_m + p.thread_n) * p.unroll.min(4) + 2 * p.vector;
        let spilled = registers.saturating_sub(128);
        let residents = resident(p.threads, registers.min(128), p.shared);
        if residents == 0 {
            return None;
        }
        let warps = residents * p.threads.div_ceil(32);
        let idle_lanes = real(p.threads.next_multiple_of(32)) / real(p.threads);
        let groups = SIZE.div_ceil(p.m) * SIZE.div_ceil(p.n);
        let work = real(groups * p.m * p.n * SIZE);
        let conflicts = match (p.padding, p.vector, p.k) {
            (0, 1, 32) | (0, 2, 16..) => 2.2,
            (0, 4, 16..) | (0, 1, 16) => 1.6,
            (1, 4, _) => 1.35,
            _ => 1.0,
        };
        let arithmetic = work * (1.0 + 0.35 / real(p.unroll)) * idle_lanes / hidden(warps, real(results * p.unroll.min(4)));
        let shared =
            work * real(p.thread_m + p.thread_n) / real(results) * 0.55 * conflicts / real(p.vector.min(p.thread_n)).sqrt();
        let fetched = work * (1.0 / real(p.m) + 1.0 / real(p.n)) * 7.0 * if p.k * p.vector < 32 { 1.5 } else { 1.0 };
        let barriers = real(groups * SIZE.div_ceil(p.k)) * real(p.threads) * 9.0 / real(residents).sqrt();
        let fetching = fetched / hidden(warps, real(p.vector)) + real(spilled) / 16.0 * work * 0.2;
        let slowest = arithmetic.max(shared).max(fetching);
        Some((slowest + 0.25 * (arithmetic + shared + fetching - slowest) + barriers) * waves(groups, residents * 46))
    };
    recorded("product on a GPU", product_axes(), |point| Product::of(point).is_allowed(1024, 48 << 10), time)
}

/// The same on a processor: vectors of eight, a cache instead of shared memory, barriers that cost, and little use of threads.
fn product_on_cpu() -> Recorded {
    const SIZE: u64 = 500;
    let time = |point: &Point| {
        let p = Product::of(point);
        let groups = SIZE.div_ceil(p.m) * SIZE.div_ceil(p.n);
        let work = real(groups * p.m * p.n * SIZE);
        let lanes = real(p.threads.next_multiple_of(8)) / real(p.threads);
        let live = p.thread_m * p.thread_n + p.thread_m + p.thread_n;
        let spills = 1.0 + real(live.saturating_sub(16)) * 0.03;
        let reuse = real(p.thread_m + p.thread_n) / real(p.thread_m * p.thread_n);
        let unrolled = real(p.unroll * p.thread_m * p.thread_n);
        let overhead = 1.0 + 2.0 / unrolled + if unrolled > 128.0 { 0.4 } else { 0.0 };
        let set = real(p.shared + 4 * p.m * p.n);
        let misses = if set > 32_768.0 { 1.0 + 0.25 * (set / 32_768.0).ln() } else { 1.0 };
        let strided = if p.padding == 0 && p.k >= 16 { 1.12 } else { 1.0 };
        let gathers = [1.0, 0.9, 1.25][p.vector.ilog2() as usize];
        let barriers = real(groups * SIZE.div_ceil(p.k)) * (40.0 + 6.0 * real(p.threads));
        Some((work * (0.4 + reuse * gathers) * overhead * spills * lanes * misses * strided + barriers) * waves(groups, 2))
    };
    recorded("product on a CPU", product_axes(), |point| Product::of(point).is_allowed(1024, 32 << 10), time)
}

/// A blur of an image: sizes of workgroups that are no powers of two, and words.
fn blur() -> Recorded {
    let axes = vec![
        numbers("local_size_x", &[8, 16, 32, 48, 64, 96, 128, 256]),
        numbers("local_size_y", &[1, 2, 3, 4, 6, 8, 12, 16, 32]),
        numbers("items_x", &[1, 2, 4, 8]),
        numbers("items_y", &[1, 2, 3, 4, 8]),
        words("source", &["buffer", "image", "shared"]),
        words("unroll", &["no", "inner", "both"]),
    ];
    let extent = |point: &Point| {
        let at = |axis: &str| point.integer(axis);
        (at("local_size_x") * at("items_x"), at("local_size_y") * at("items_y"), at("local_size_x") * at("local_size_y"))
    };
    let halo = |x: u64, y: u64| (x + 8) * (y + 8);
    let is_allowed = move |point: &Point| {
        let (x, y, threads) = extent(point);
        (32..=1024).contains(&threads) && (point.choice("source") != "shared" || halo(x, y) * 4 <= 48 << 10)
    };
    let time = move |point: &Point| {
        let (x, y, threads) = extent(point);
        let items = point.integer("items_x") * point.integer("items_y");
        let (source, unroll) = (point.choice("source"), point.choice("unroll"));
        let unrolled = match unroll {
            "no" => 1.0,
            "inner" => 9.0,
            _ => 81.0,
        };
        let registers = 20 + 2 * items + if unroll == "both" { 24 } else { 0 };
        let shared = if source == "shared" { halo(x, y) * 4 } else { 0 };
        let residents = resident(threads, registers, shared);
        if residents == 0 {
            return None;
        }
        let warps = residents * threads.div_ceil(32);
        let groups = 1920_u64.div_ceil(x) * 1080_u64.div_ceil(y);
        let pixels = real(groups * x * y);
        let lanes = real(threads.next_multiple_of(32)) / real(threads);
        let coalesced = real(32 / point.integer("local_size_x").clamp(8, 32)).sqrt();
        let taps = match source {
            "buffer" => 81.0 * 0.06 * coalesced * (1.0 + 0.2 * f64::from(point.integer("items_x").ilog2())),
            "image" => 81.0 * 0.075 * if point.integer("local_size_y") >= 4 { 0.8 } else { 1.0 },
            _ => 81.0 * 0.02 + real(halo(x, y)) / real(x * y) * 1.6 * coalesced + 0.3,
        };
        let arithmetic = 81.0 * 0.03 * (1.0 + 0.8 / unrolled) * lanes + 2.0 / real(items);
        let cached = if unroll == "both" && items > 8 { 1.3 } else { 1.0 };
        let rate = hidden(warps, real(items) * unrolled.ln().max(1.0));
        Some(pixels * (taps.max(arithmetic) + 0.3 * taps.min(arithmetic)) * cached / rate * waves(groups, residents * 46))
    };
    recorded("blur", axes, is_allowed, time)
}

/// A reduction: few axes of many values.
fn reduction() -> Recorded {
    let multiples: Vec<u64> = (1..=32).map(|n| 32 * n).collect();
    let items: Vec<u64> = (1..=24).collect();
    let axes = vec![
        numbers("local_size_x", &multiples),
        numbers("items", &items),
        numbers("vector", &[1, 2, 4]),
        words("last", &["shared", "subgroup", "atomic"]),
    ];
    let time = |point: &Point| {
        let at = |axis: &str| point.integer(axis);
        let (threads, items, vector) = (at("local_size_x"), at("items"), at("vector"));
        let registers = 16 + vector * 2 + items.min(16);
        let residents = resident(threads, registers, 4 * threads);
        let groups = (1_u64 << 22).div_ceil(threads * items * vector);
        let read = real(groups * threads * items * vector);
        let rate = hidden(residents * threads.div_ceil(32), real(items * vector).sqrt());
        let steps = f64::from(threads.next_power_of_two().ilog2());
        let tail = match point.choice("last") {
            "shared" => 90.0 * steps + if threads.is_power_of_two() { 0.0 } else { 120.0 },
            "subgroup" => 60.0 + 55.0 * steps.sqrt(),
            _ => 30.0 + 2.5 * real(threads) / 8.0,
        };
        let coalesced = [1.25, 1.0, 1.04][vector.ilog2() as usize];
        let odd = if items % 4 == 0 { 1.0 } else { 1.05 };
        let time = read * coalesced * odd / rate + real(groups) * (tail * real(threads).sqrt() / 3.0 + 150.0);
        Some(time * waves(groups, residents * 46).min(1.6))
    };
    recorded("reduction", axes, |_| true, time)
}

/// Words alone, of which any two may suit each other or not, and some combinations fail.
fn variants() -> Recorded {
    const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let counts = [4, 3, 5, 2, 3, 4, 2, 2];
    let values = ["p", "q", "r", "s", "t"];
    let axes = NAMES.iter().zip(counts).map(|(name, count)| words(name, &values[..count])).collect();
    let time = |point: &Point| {
        if chance(&format!("fails {} {} {}", point.choice("a"), point.choice("c"), point.choice("f"))) < 0.1 {
            return None;
        }
        let alone: f64 = NAMES.iter().map(|name| 0.4 * chance(&format!("{name} {}", point.choice(name)))).sum();
        let pairs = NAMES.iter().enumerate().flat_map(|(i, a)| NAMES[..i].iter().map(move |b| (a, b)));
        let together: f64 =
            pairs.map(|(a, b)| 0.15 * chance(&format!("{a} {} {b} {}", point.choice(a), point.choice(b)))).sum();
        Some((alone + together).exp())
    };
    recorded("variants", axes, |_| true, time)
}
