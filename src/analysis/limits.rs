//! What a device does at most, as rows show it: of each kind of work the highest rate that any of them reached, with the row that did.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::model::{Cache, Flag, Status};
use crate::record::Record;

/// Work that has one rate, whatever surrounds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorkKind {
    /// A multiplication with the addition that takes it up, of floating-point numbers of so many bits.
    MultiplyAdd {
        bits: u32,
    },
    /// A root, an exponential, a sine or the like.
    Special {
        bits: u32,
    },
    /// Four products of bytes and their sum.
    DotProduct,
    /// The same as a multiply-add, of cooperative matrices whose factors have so many bits.
    MatrixMultiplyAdd {
        bits: u32,
    },
    Integer,
    /// A byte that is read from or written to workgroup memory without conflicts.
    SharedByte,
    Atomic(AtomicKind),
}

/// Atomic operations, as far as their rate depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AtomicKind {
    pub is_shared: bool,
    pub sharing: Sharing,
    /// Whether anything takes what was there before.
    pub is_taken: bool,
}

/// Who changes the same word at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sharing {
    Nobody,
    /// The lanes of a subgroup.
    Subgroup,
    Everybody,
}

/// A rate, and the row that reached it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limit {
    /// Units of work for each nanosecond.
    #[serde(skip)]
    pub rate: f64,
    /// The case: experiment, variant and axes.
    pub row: String,
    pub case_id: String,
    /// The row's figure.
    pub value: f64,
    pub unit: String,
    /// Reasons to doubt it, as the row has them.
    pub quality_flags: String,
}

/// A rate that holds for this many bytes that are touched, and more.
#[derive(Clone, Debug, PartialEq)]
struct Sized {
    bytes: u64,
    /// Which share of them is written.
    written: f64,
    limit: Limit,
}

/// Dispatches that do nothing.
#[derive(Clone, Debug, PartialEq)]
struct Empty {
    groups: u64,
    local_size: u64,
    limit: Limit,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    rates: BTreeMap<WorkKind, Limit>,
    memory: Vec<Sized>,
    caches: Vec<Sized>,
    empty: Vec<Empty>,
    /// Barriers of one workgroup alone, by its size.
    barriers: BTreeMap<u64, Limit>,
}

/// Streams over up to so many times the bytes that a kernel touches are as good as its own: caches make little of a difference to either.
const NEAR: u64 = 4;

/// Shares that are written are the same to within this.
const SAME_SHARE: f64 = 0.02;

impl Limits {
    /// Takes what a row tells. One that isn't sound, or is of cold caches, tells nothing.
    pub fn take(&mut self, row: &Record) {
        // What mostly measured its launch says too little of what the device can.
        let is_of_launch = row.has_flag(Flag::LaunchBound.name()) && row.experiment != "dispatch/empty";
        let is_warm = row.cache != Cache::Cold.as_str();
        let is_sound = row.status == Status::Ok.as_str() && is_warm && !row.is_implausible() && !is_of_launch;
        let Some(value) = row.value.filter(|value| is_sound && !row.is_derived() && *value > 0.0) else { return };
        let op = row.choice("op");
        let limit = |rate: f64| Limit {
            rate,
            row: row.case_name(),
            case_id: row.case_id.clone(),
            value,
            unit: row.unit.clone(),
            quality_flags: row.quality_flags.clone(),
        };
        match row.experiment.as_str() {
            "peak/arith" => {
                let Some((kind, each)) = arithmetic(&row.variant, op) else { return };
                self.keep(kind, limit(value / each));
            }
            "peak/dot" => self.keep(WorkKind::DotProduct, limit(value / 8.0)),
            "peak/coopmat" | "peak/coopmat_workgroup" => {
                let Some(bits) = bits_of(row.variant.split('_').next().unwrap_or_default()) else { return };
                self.keep(WorkKind::MatrixMultiplyAdd { bits }, limit(value / 2.0));
            }
            // Of what lanes read of one word, the memory gives less than they get.
            "shared/bandwidth" | "shared/bank_conflict" if row.choice("pattern") != "broadcast" => {
                self.keep(WorkKind::SharedByte, limit(value));
            }
            "sync/atomic" if op == "add" && row.choice("type") == "u32" => {
                let sharing = match row.choice("contention") {
                    "distinct" => Sharing::Nobody,
                    "per_subgroup" => Sharing::Subgroup,
                    _ => Sharing::Everybody,
                };
                let is_shared = row.choice("memory") == "shared";
                // Workgroups have a cell each there; in memory, several cells are several times as fast as one.
                if is_shared || row.choice("contention") != "per_workgroup" {
                    let kind = |is_taken| WorkKind::Atomic(AtomicKind { is_shared, sharing, is_taken });
                    self.keep(kind(false), limit(1.0 / value));
                    // The other variant's results are of use to nobody, and a driver may add them up first.
                    if row.variant == "used" {
                        self.keep(kind(true), limit(1.0 / value));
                    }
                }
            }
            "memory/stream" => {
                let Some((written, bytes)) = written(op).zip(row.bytes_per_pass) else { return };
                keep_sized(&mut self.memory, Sized { bytes, written, limit: limit(value) });
            }
            "cache/bandwidth" if row.variant == "shared" => {
                let bytes = row.integer("working_set_bytes").unwrap_or(0);
                keep_sized(&mut self.caches, Sized { bytes, written: 0.0, limit: limit(value) });
            }
            "dispatch/empty" => {
                let (groups, local_size) = (row.integer("groups").unwrap_or(0), row.integer("local_size_x").unwrap_or(0));
                let new = Empty { groups, local_size, limit: limit(1.0 / value) };
                match self.empty.iter_mut().find(|of| (of.groups, of.local_size) == (groups, local_size)) {
                    Some(known) if known.limit.rate >= new.limit.rate => {}
                    Some(known) => *known = new,
                    None => self.empty.push(new),
                }
                self.empty.sort_by_key(|of| of.groups);
            }
            "sync/barrier" if is_lone_barrier(row) => {
                let limit = limit(1.0 / value);
                let fastest = self.barriers.entry(row.integer("local_size_x").unwrap_or(0)).or_insert_with(|| limit.clone());
                if limit.rate > fastest.rate {
                    *fastest = limit;
                }
            }
            _ => {}
        }
    }

    fn keep(&mut self, kind: WorkKind, limit: Limit) {
        let fastest = self.rates.entry(kind).or_insert_with(|| limit.clone());
        if limit.rate > fastest.rate {
            *fastest = limit;
        }
    }

    pub fn is_empty(&self) -> bool {
        self == &Self::default()
    }

    pub fn rate(&self, kind: WorkKind) -> Option<&Limit> {
        self.rates.get(&kind)
    }

    /// The rate of so many bytes that are touched once, of which this share is written: that of memory, or where they are fewer than any
    /// row of it has, that of caches which hold as many.
    pub fn moving(&self, bytes: u64, written: f64) -> Option<&Limit> {
        let large = self.memory.iter().filter(|of| of.bytes <= bytes.saturating_mul(NEAR));
        let fastest = |one: &&Sized, other: &&Sized| one.limit.rate.total_cmp(&other.limit.rate);
        let below = large.clone().filter(|of| of.written <= written + SAME_SHARE);
        let below = below.max_by(|one, other| one.written.total_cmp(&other.written).then(fastest(one, other)));
        let above = large.filter(|of| of.written >= written - SAME_SHARE);
        let above = above.max_by(|one, other| other.written.total_cmp(&one.written).then(fastest(one, other)));
        // What lies between two mixes is no faster than the faster of them.
        let nearest = below.into_iter().chain(above).max_by(fastest);
        nearest.map(|of| &of.limit).or_else(|| self.cached(bytes))
    }

    /// The rate at which caches give what so many bytes hold.
    pub fn cached(&self, bytes: u64) -> Option<&Limit> {
        // What holds more isn't faster.
        let smaller = self.caches.iter().filter(|of| of.bytes <= bytes.max(self.smallest_cached()));
        smaller.max_by_key(|of| of.bytes).map(|of| &of.limit)
    }

    fn smallest_cached(&self) -> u64 {
        self.caches.iter().map(|of| of.bytes).min().unwrap_or(0)
    }

    /// How long a dispatch of so many workgroups takes that does nothing, and the row nearest to it.
    #[expect(clippy::cast_precision_loss, reason = "workgroups are fewer than 2^53")]
    pub fn launching(&self, groups: u64, local_size: u64) -> Option<(f64, &Limit)> {
        let size = self.empty.iter().map(|of| of.local_size).filter(|size| *size <= local_size).max();
        let size = size.or_else(|| self.empty.iter().map(|of| of.local_size).min())?;
        let own: Vec<&Empty> = self.empty.iter().filter(|of| of.local_size == size).collect();
        let after = own.iter().position(|of| of.groups >= groups).unwrap_or(own.len());
        // Between two rows, and behind the last one as before it.
        let (from, to) = match (own.get(after.saturating_sub(1)), own.get(after)) {
            (Some(from), Some(to)) => (*from, *to),
            (Some(last), None) => (own[own.len().saturating_sub(2)], *last),
            _ => return None,
        };
        let (span, rise) = ((to.groups - from.groups) as f64, to.limit.value - from.limit.value);
        let more = if span > 0.0 { rise.max(0.0) / span * (groups.saturating_sub(from.groups)) as f64 } else { 0.0 };
        Some((from.limit.value.min(to.limit.value) + more, if groups > from.groups { &to.limit } else { &from.limit }))
    }

    /// How long a workgroup of this size takes for a barrier when it is alone.
    pub fn waiting(&self, local_size: u64) -> Option<&Limit> {
        let smaller = self.barriers.range(..=local_size).next_back();
        smaller.or_else(|| self.barriers.first_key_value()).map(|(_, limit)| limit)
    }
}

fn keep_sized(all: &mut Vec<Sized>, new: Sized) {
    let same = |of: &&mut Sized| of.bytes == new.bytes && (of.written - new.written).abs() < SAME_SHARE;
    match all.iter_mut().find(same) {
        Some(known) if known.limit.rate >= new.limit.rate => {}
        Some(known) => *known = new,
        None => all.push(new),
    }
}

/// What a case of `peak/arith` does, and how many operations its figure counts for each.
fn arithmetic(variant: &str, op: &str) -> Option<(WorkKind, f64)> {
    match (variant, op) {
        ("f16" | "f32" | "f64", "fma") => Some((WorkKind::MultiplyAdd { bits: bits_of(variant)? }, 2.0)),
        ("f16" | "f32" | "f64", "rcp" | "sqrt" | "rsqrt" | "exp2" | "log2" | "sin") => {
            Some((WorkKind::Special { bits: bits_of(variant)? }, 1.0))
        }
        ("i32", "add" | "mul" | "shift") => Some((WorkKind::Integer, 1.0)),
        _ => None,
    }
}

/// The bits of a type by its word, such as `bf16`.
fn bits_of(word: &str) -> Option<u32> {
    word.trim_start_matches(|c: char| c.is_alphabetic()).parse().ok()
}

/// Which share of its bytes a stream writes.
fn written(op: &str) -> Option<f64> {
    Some(match op {
        "read" => 0.0,
        "triad" => 1.0 / 3.0,
        "copy" | "scale" => 0.5,
        "init" => 1.0,
        _ => return None,
    })
}

fn is_lone_barrier(row: &Record) -> bool {
    row.choice("kind") == "control" && row.choice("traffic") == "registers" && row.integer("groups") == Some(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::AxisValue;

    fn row(experiment: &str, variant: &str, axes: &[(&str, AxisValue)], value: f64) -> Record {
        Record {
            experiment: experiment.to_owned(),
            variant: variant.to_owned(),
            status: Status::Ok.to_string(),
            row_kind: "measured".to_owned(),
            cache: "warm".to_owned(),
            case_id: format!("c{value}"),
            value: Some(value),
            by_axis: axes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
            ..Record::default()
        }
    }

    fn of(rows: &[Record]) -> Limits {
        let mut limits = Limits::default();
        rows.iter().for_each(|row| limits.take(row));
        limits
    }

    #[test]
    fn the_fastest_row_of_a_kind_is_its_limit() {
        let op = |op: &'static str| vec![("op", AxisValue::from(op))];
        let mut implausible = row("peak/arith", "f32", &op("fma"), 90_000.0);
        implausible.doubt("above the limit");
        let limits = of(&[
            row("peak/arith", "f32", &op("fma"), 60_000.0),
            row("peak/arith", "f32", &op("fma"), 66_000.0),
            row("peak/arith", "f32", &op("fma"), 65_000.0),
            row("peak/arith", "f32", &op("rsqrt"), 4_000.0),
            row("peak/arith", "f32", &op("sin"), 4_100.0),
            Record { cache: "cold".to_owned(), ..row("peak/arith", "f32", &op("fma"), 80_000.0) },
            implausible,
            Record { quality_flags: "launch_bound".to_owned(), ..row("peak/arith", "f64", &op("fma"), 9_000.0) },
            row("peak/coopmat", "bf16_f32", &[], 600_000.0),
            row("shared/bank_conflict", "", &[("pattern", AxisValue::from("broadcast"))], 90_000.0),
        ]);
        let rate = |kind| limits.rate(kind).map(|limit| (limit.rate, limit.case_id.as_str()));
        assert_eq!(rate(WorkKind::MultiplyAdd { bits: 32 }), Some((33_000.0, "c66000")));
        assert_eq!(rate(WorkKind::Special { bits: 32 }), Some((4_100.0, "c4100")));
        assert_eq!(rate(WorkKind::MatrixMultiplyAdd { bits: 16 }), Some((300_000.0, "c600000")));
        assert_eq!((rate(WorkKind::SharedByte), rate(WorkKind::MultiplyAdd { bits: 64 })), (None, None));
    }

    #[test]
    fn memory_is_as_fast_as_the_nearest_mixes_and_caches_hold_what_is_small() {
        let stream = |op: &'static str, value, bytes| Record {
            bytes_per_pass: Some(bytes),
            ..row("memory/stream", "", &[("op", AxisValue::from(op))], value)
        };
        let cache = |bytes: u64, value| row("cache/bandwidth", "shared", &[("working_set_bytes", bytes.into())], value);
        let limits = of(&[
            stream("read", 4400.0, 1 << 30),
            stream("read", 4300.0, 1 << 30),
            stream("copy", 4100.0, 2 << 30),
            stream("init", 4300.0, 1 << 30),
            cache(1 << 16, 30_000.0),
            cache(1 << 24, 9_000.0),
        ]);
        let rate = |bytes, written| limits.moving(bytes, written).map(|limit| limit.rate);
        assert_eq!([rate(1 << 30, 0.0), rate(1 << 30, 0.5), rate(1 << 30, 1.0)], [Some(4400.0), Some(4100.0), Some(4300.0)]);
        assert_eq!([rate(1 << 30, 0.03), rate(1 << 30, 0.75)], [Some(4400.0), Some(4300.0)]);
        assert_eq!([rate(1 << 26, 0.0), rate(1 << 20, 0.0), rate(16, 0.0)], [Some(9_000.0), Some(30_000.0), Some(30_000.0)]);
        assert_eq!(Limits::default().moving(1 << 30, 0.0), None);
    }

    #[test]
    fn dispatches_that_do_nothing_lie_on_a_line() {
        let empty = |groups: u64, size: u64, value| {
            row("dispatch/empty", "", &[("groups", groups.into()), ("local_size_x", size.into())], value)
        };
        let again = empty(65536, 64, 34_000.0);
        let rows = [empty(1, 64, 1000.0), empty(4096, 64, 3000.0), empty(65536, 64, 33_000.0), again, empty(1, 256, 1100.0)];
        let limits = of(&rows);
        let launching = |groups, size| limits.launching(groups, size).map(|(time, limit)| (time.round(), limit.value));
        assert_eq!(launching(1, 64), Some((1000.0, 1000.0)));
        assert_eq!(launching(1, 32), Some((1000.0, 1000.0)));
        assert_eq!(launching(34_816, 128), Some((18_000.0, 33_000.0)));
        assert_eq!(launching(126_976, 64), Some((63_000.0, 33_000.0)));
        assert_eq!(launching(5000, 512), Some((1100.0, 1100.0)));
        assert_eq!(Limits::default().launching(1, 1), None);
    }
}
