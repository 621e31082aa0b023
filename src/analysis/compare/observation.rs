//! What a row tells of its case, in little memory.

use std::borrow::Cow;
use std::num::NonZeroU64;
use std::sync::Arc;

use super::core_clock::{ClockSource, ClockedRound, clocked_rounds};
use super::interner::Shared;
use super::spread::Spread;
use crate::digest::hash64;
use crate::experiments::{self, CATALOGUE};
use crate::model::{DeviceKind, Flag, Point, Repeatability, Status, Stop};
use crate::record::Record;

/// The columns that say how much work a case is, and in what shape. Not the subgroup size: it is how a device does the work.
pub const WORK: [&str; 7] =
    ["bytes_per_pass", "flops_per_pass", "ops_per_pass", "items_per_pass", "groups_x", "groups_y", "groups_z"];

/// The row of a case in one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// The run, as a place among those of its side.
    pub run: usize,
    /// The file, as a place among all.
    pub file: usize,
    pub line: u64,
    pub status: Status,
    pub said: Arc<Remarks>,
    value: Real,
    /// What tells the interval of a row's figure and the clock beside it from others: rows that differ in it contradict each other.
    ends_hash: u64,
    time: Real,
    /// How far the figure may be off, by what the run shows itself: the variance, and its degrees of freedom.
    own: [Real; 2],
    processes: u32,
    /// Passes per sample.
    pub batch: Option<NonZeroU64>,
    pub class: Repeatability,
    /// Of the sentinel beside it, as a logarithm.
    sentinel_speed: Real,
    /// Its place in the plan.
    pub place: u32,
    pub basis: Arc<Basis>,
    /// What few rows have.
    rare: Option<Box<Rare>>,
    /// Whether measuring ended before it had as many rounds as an interval needs.
    pub is_early: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Rare {
    ends: Option<(f64, f64)>,
    code: Option<Box<Code>>,
    pair: Option<Box<Pair>>,
    /// Its rounds with the core's clock beside each.
    clocked: Option<Box<[ClockedRound]>>,
    application: Option<Application>,
}

/// What a row of an application's kernel tells besides.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Application {
    calls_time: f64,
    /// A hash of the run: few calls may take the same to the tick in another one.
    run: u64,
}

/// What is to be said of a row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Remarks {
    /// Why it has no figure, or what is wrong with it.
    pub reason: Box<str>,
    pub flags: Box<str>,
}

impl Remarks {
    fn new(record: &Record) -> Self {
        Self { reason: record.reason.as_str().into(), flags: record.quality_flags.as_str().into() }
    }
}

/// What a figure is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Basis {
    /// Hashes of its modules, and of their sources; 0 where none is told.
    pub modules: [u64; 2],
    pub work: [Option<u64>; WORK.len()],
    /// Whether the host's clock timed it.
    pub is_by_host: bool,
}

/// A number that a row may lack, in half the memory: the bits of it, or of NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Real(u64);

impl Real {
    fn new(value: Option<f64>) -> Self {
        Self(value.unwrap_or(f64::NAN).to_bits())
    }

    fn get(self) -> Option<f64> {
        Some(f64::from_bits(self.0)).filter(|value| !value.is_nan())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// Registers per invocation, bytes spilled, bytes of code: where told.
    pub figures: [Option<u64>; 3],
    pub all: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The case that it was measured alternately with, as the row names it.
    pub base: String,
    pub ratio: f64,
    pub spread: Option<Spread>,
}

impl Observation {
    pub fn new(record: &Record, status: Status, run: usize, (file, line): (usize, u64), shared: &mut Shared) -> Self {
        let ends = record.value_ci_low.zip(record.value_ci_high);
        let time_ends = record.ci_low_ns.zip(record.ci_high_ns).or(ends);
        let of_interval = || Spread::of_interval(time_ends?, record.processes, record.rounds);
        let own = match record.is_derived() {
            true => ends.and_then(Spread::of_derived),
            false => Spread::of_rounds(&record.round_medians_ns).or_else(of_interval),
        };
        let hash = |text: &String| if text.is_empty() { 0 } else { hash64(text) };
        let basis = Basis {
            modules: [hash(&record.spirv_hash), hash(&record.source_hash)],
            work: [
                record.bytes_per_pass,
                record.flops_per_pass,
                record.ops_per_pass,
                record.items_per_pass,
                record.groups_x,
                record.groups_y,
                record.groups_z,
            ],
            is_by_host: record.timer == "host",
        };
        let rare = Rare {
            ends: ends.filter(|_| record.is_derived()),
            code: code(record).map(Box::new),
            pair: record.ratio.filter(|ratio| *ratio > 0.0).map(|ratio| pair(record, ratio).into()),
            clocked: clocked_rounds(record),
            application: record.calls_time_ns.map(|calls_time| Application { calls_time, run: hash64(&record.run_id) }),
        };
        Self {
            run,
            file,
            line,
            status,
            said: shared.said.of(Remarks::new(record)),
            value: Real::new(record.value),
            ends_hash: ends.map_or(0, |(low, high)| low.to_bits().rotate_left(1) ^ high.to_bits())
                ^ record.clock_ratio.unwrap_or_default().to_bits().rotate_left(2),
            time: Real::new(record.time_ns),
            own: [Real::new(own.map(|own| own.variance)), Real::new(own.map(|own| own.degrees))],
            processes: record.processes.unwrap_or(1).try_into().unwrap_or(u32::MAX),
            batch: record.batch.and_then(NonZeroU64::new),
            class: class(record),
            sentinel_speed: Real::new(record.clock_ratio.zip(record.sentinel_ns).map(|(ratio, ns)| (ratio / ns).ln())),
            place: record.plan_index.and_then(|place| place.try_into().ok()).unwrap_or(0),
            basis: shared.bases.of(basis),
            is_early: Stop::ALL.iter().any(|stop| stop.is_early() && stop.as_str() == record.stop),
            rare: (rare != Rare::default()).then(|| rare.into()),
        }
    }

    pub fn has_flag(&self, flag: Flag) -> bool {
        self.said.flags.split(';').any(|own| own == flag.name())
    }

    /// Whether it says the same as another one, wherever both stand.
    pub fn is_copy_of(&self, other: &Self) -> bool {
        // Most differ in these, and are told apart without more.
        (self.value, self.time) == (other.value, other.time)
            && Self { run: other.run, file: other.file, line: other.line, ..self.clone() } == *other
    }

    pub fn value(&self) -> Option<f64> {
        self.value.get()
    }

    /// The interval of a derived figure. That of a measured one is in its spread.
    pub fn ends(&self) -> Option<(f64, f64)> {
        self.rare.as_ref()?.ends
    }

    /// How far the figure may be off, by what the run shows itself.
    pub fn own(&self) -> Option<Spread> {
        let [variance, degrees] = self.own.map(Real::get);
        Some(Spread { variance: variance?, degrees: degrees? })
    }

    /// Processes that its rounds were dealt over.
    pub fn processes(&self) -> u64 {
        self.processes.into()
    }

    pub fn code(&self) -> Option<Code> {
        self.rare.as_ref()?.code.as_deref().copied()
    }

    /// Its time over that of the case that it was measured alternately with.
    pub fn pair(&self) -> Option<&Pair> {
        self.rare.as_ref()?.pair.as_deref()
    }

    /// What all calls of an application's kernel took, ns.
    pub fn calls_time(&self) -> Option<f64> {
        self.rare.as_ref()?.application.map(|own| own.calls_time)
    }

    /// Time per pass, ns.
    pub fn time(&self) -> Option<f64> {
        self.time.get()
    }

    /// The logarithm of the sentinel's speed beside it: work in a nanosecond.
    pub fn sentinel_speed(&self) -> Option<f64> {
        self.sentinel_speed.get().filter(|speed| speed.is_finite())
    }

    /// Its rounds with the core's clock beside each, where that was measured; by the sentinel, the row as one.
    pub fn clocked_rounds(&self, source: ClockSource) -> Option<Cow<'_, [ClockedRound]>> {
        match source {
            ClockSource::Counters => self.rare.as_ref()?.clocked.as_deref().map(Cow::Borrowed),
            // The host's clock is none of the device's, and what a processor does to a sentinel is no step of a clock.
            ClockSource::Sentinel if matches!(self.class, Repeatability::Host | Repeatability::Processor) => None,
            ClockSource::Sentinel => {
                let time = self.time().filter(|time| *time > 0.0)?;
                Some(vec![ClockedRound::by_sentinel(time, self.sentinel_speed()?)].into())
            }
        }
    }

    /// Whether it is said to be right, and has nothing to show.
    pub fn lacks_figure(&self) -> bool {
        self.status == Status::Ok && self.value().is_none()
    }

    pub fn is_ok(&self) -> bool {
        self.status == Status::Ok && self.value().is_some()
    }
}

fn code(record: &Record) -> Option<Code> {
    let figures = [record.registers, record.spill_bytes, record.code_bytes];
    let is_told = figures.iter().any(Option::is_some) || !record.statistics.is_empty();
    is_told.then(|| Code { figures, all: hash64(&record.statistics) })
}

fn pair(record: &Record, ratio: f64) -> Pair {
    let ends = record.ratio_ci_low.zip(record.ratio_ci_high);
    let spread = ends.and_then(|ends| Spread::of_interval(ends, record.processes, record.rounds));
    Pair { base: record.pair_base.clone(), ratio, spread }
}

/// How far the time of a row's case moves from run to run. Of a shader of a user's own nothing is known: it reads memory, most likely.
fn class(record: &Record) -> Repeatability {
    if record.device_type == DeviceKind::Cpu.as_str() {
        return Repeatability::Processor;
    }
    if record.timer == "host" {
        return Repeatability::Host;
    }
    if [Flag::LaunchBound, Flag::NearFloor].iter().any(|flag| record.has_flag(flag.name())) {
        return Repeatability::Launch;
    }
    // A peak is that of what its variant names.
    if record.experiment == "peak/summary" {
        let is_memory = ["global", "cache"].contains(&record.variant.as_str());
        return if is_memory { Repeatability::Memory } else { Repeatability::Core };
    }
    let point = || Point::new(record.by_axis.iter().map(|(name, value)| (name.clone().into(), value.clone())));
    let derives = || CATALOGUE.iter().copied().find(|experiment| experiment.derived.contains(&record.experiment.as_str()));
    let experiment = experiments::find(&record.experiment).or_else(derives);
    experiment.map_or(Repeatability::Memory, |experiment| experiment.repeatability(&point()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(experiment: &str) -> Record {
        Record { experiment: experiment.to_owned(), timer: "device".to_owned(), ..Record::new() }
    }

    #[test]
    fn a_class_follows_from_the_experiment_and_from_how_it_was_timed() {
        let of = |row: &Record| class(row);
        assert_eq!(
            ["peak/arith", "memory/stream", "dispatch/empty", "sync/false_sharing"].map(|name| of(&row(name))),
            [Repeatability::Core, Repeatability::Memory, Repeatability::Launch, Repeatability::Placement]
        );
        assert_eq!(of(&Record { timer: "host".to_owned(), ..row("peak/arith") }), Repeatability::Host);
        assert_eq!(of(&Record { device_type: "cpu".to_owned(), ..row("peak/arith") }), Repeatability::Processor);
        assert_eq!(of(&Record { quality_flags: "noisy;launch_bound".to_owned(), ..row("peak/arith") }), Repeatability::Launch);
        assert_eq!((of(&row("shared/banks")), of(&row("my.comp"))), (Repeatability::Core, Repeatability::Memory));
    }

    #[test]
    fn atomics_depend_on_where_their_cells_lie() {
        let of = |memory: &'static str| {
            let mut row = row("sync/atomic");
            row = row.at(&Point::new([("memory".into(), memory.into())]));
            class(&row)
        };
        assert_eq!((of("global"), of("shared")), (Repeatability::Placement, Repeatability::Core));
    }

    #[test]
    fn what_is_kept_of_a_row_is_little() {
        // A comparison holds one for each row of either side, which may be a million.
        assert!(size_of::<Observation>() <= 120);
    }

    #[test]
    fn columns_of_work_are_columns() {
        assert!(WORK.iter().all(|name| crate::record::schema::position(name).is_some()));
    }
}
