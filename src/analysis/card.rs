//! The card: what a device is, in a few lines, and how far to trust them. A pure function of rows.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::doubts::{DOUBTS, Doubt, Tally};
use super::words::counted;
use crate::model::{Bound, CoreClocks, Flag, Peak, Published, Status};
use crate::record::{Packed, Record, round_clocks};
use crate::stats;
use crate::units::{Bytes, figure, is_wide};

/// A workgroup size is on the flat part of streaming from this share of the best rate on.
const FLAT: f64 = 0.95;

/// A figure is at its limit from this share of it on: clocks are told no better.
const AT_LIMIT: f64 = 0.995;

/// Sizes that are listed, such as those whose latencies are told where no levels are.
const MOST_SIZES: usize = 4;

/// The workgroup whose barrier is told, if it was measured.
const USUAL_SIZE: u64 = 256;

/// What share of the rows has to bear a flag before it is about the machine and not about them.
const MANY: f64 = 0.25;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Card {
    pub device: String,
    pub uuid: String,
    pub driver: String,
    /// What is told of it: a label, and the figure in words. What couldn't be told is left out.
    pub facts: Vec<(&'static str, String)>,
    /// How far to trust them: a summary, then what to do about what is wrong, most important first.
    pub trust: Vec<String>,
    /// Whether what is wrong may be the machine's, so that measuring again may mend it.
    pub is_doubtful: bool,
}

/// A line of the card: its label, and what it says of a device's rows.
type Line = (&'static str, fn(&OneDevice) -> Option<String>);

const LINES: &[Line] = &[
    ("fp32", |rows| rows.peak("fp32", Bound::Float32)),
    ("fp16", |rows| rows.peak("fp16", Bound::Float16)),
    ("fp64", |rows| rows.peak("fp64", Bound::Float64)),
    ("int32", |rows| rows.peak("int", Bound::Int32)),
    ("int8 dot product", |rows| rows.of_kinds(&[("dot", "")])),
    ("matrix product", |rows| rows.of_kinds(&[("matrix_fp16", "fp16 "), ("matrix_bf16", "bf16 "), ("matrix_int8", "int8 ")])),
    ("memory read", |rows| rows.stream("read")),
    ("memory copy", |rows| rows.stream("copy")),
    ("shared memory", |rows| rows.shared()),
    ("caches", |rows| rows.caches()),
    ("latency", |rows| rows.latencies()),
    ("core clock", |rows| rows.clock()),
    ("workgroups", |rows| together([rows.subgroup(), rows.flat_size()])),
    ("dispatch", |rows| together([rows.empty_dispatch(), rows.round_trip()])),
    ("barrier", |rows| together([rows.workgroup_barrier(), rows.pipeline_barrier()])),
    ("transfer", |rows| together([rows.transfer("host_to_device", "to the device"), rows.transfer("device_to_host", "back")])),
];

fn together(told: [Option<String>; 2]) -> Option<String> {
    let told: Vec<String> = told.into_iter().flatten().collect();
    (!told.is_empty()).then(|| told.join(", "))
}

impl Card {
    /// Of the rows of one device. Its limits are those of the user's own entries, else of those that come along.
    pub fn new(rows: &[Packed], own: Option<&Published>) -> Self {
        let mut of_device = OneDevice { own, ..OneDevice::default() };
        let mut counts = Counts::default();
        let mut row = Record::default();
        for packed in rows {
            packed.read_into(&mut row);
            counts.count(&row);
            of_device.take(packed, &row);
        }
        let facts = LINES.iter().filter_map(|(label, tell)| Some((*label, tell(&of_device)?))).collect();
        let first = rows.first().map(Packed::record).unwrap_or_default();
        let kind = format!("({})", first.device_type);
        let parts = [first.driver_name.as_str(), first.driver_info.as_str(), kind.as_str()];
        let driver = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
        let (trust, is_doubtful) = counts.trust();
        let uuid = first.device_uuid.chars().take(8).collect();
        Self { device: first.device_name, uuid, driver, facts, trust, is_doubtful }
    }
}

/// The rows of a device that the card may tell figures of: with warm caches, and with a figure that can be right.
#[derive(Default)]
struct OneDevice<'r> {
    /// By experiment: they stay packed until a line asks for them.
    rows: HashMap<String, Vec<&'r Packed>>,
    subgroup_sizes: BTreeSet<u64>,
    /// The core's clock, MHz: as the driver reports it, and as the device's counters showed it in each round.
    driver_clocks: Vec<f64>,
    clocks: Vec<f64>,
    own: Option<&'r Published>,
}

impl<'r> OneDevice<'r> {
    fn take(&mut self, packed: &'r Packed, row: &Record) {
        if row.cache == "cold" || row.status != Status::Ok.as_str() || row.value.is_none() || row.is_implausible() {
            return;
        }
        self.subgroup_sizes.extend(row.subgroup_size);
        self.driver_clocks.extend(row.clock_mhz);
        self.clocks.extend(round_clocks(&row.round_clocks_mhz).into_iter().flatten().map(CoreClocks::mean));
        match self.rows.get_mut(&row.experiment) {
            Some(rows) => rows.push(packed),
            None => drop(self.rows.insert(row.experiment.clone(), vec![packed])),
        }
    }

    fn of(&self, experiment: &str, axes: &[(&str, &str)]) -> impl Iterator<Item = Record> {
        let has = |row: &Record, axis: &str, value: &str| row.by_axis.get(axis).is_some_and(|own| own.to_string() == value);
        let rows = self.rows.get(experiment).into_iter().flatten().map(|row| row.record());
        rows.filter(move |row| axes.iter().all(|(axis, value)| has(row, axis, value)))
    }

    fn first(&self, experiment: &str, variant: &str, axes: &[(&str, &str)]) -> Option<Record> {
        self.of(experiment, axes).find(|row| row.variant == variant)
    }

    fn derived(&self, experiment: &str, variant: &str) -> Option<Record> {
        self.first(experiment, variant, &[]).filter(Record::is_derived)
    }

    /// The one with the best figure that is sure: by the worse end of its interval, since the best of many that are alike would be the
    /// noisiest. Where problems differ in size, of the largest: smaller ones may lie in caches.
    fn surest(&self, experiment: &str, axes: &[(&str, &str)]) -> Option<Record> {
        let sure = |row: &Record| match row.better.as_str() {
            "lower" => -row.value_ci_high.or(row.value).unwrap_or(f64::INFINITY),
            _ => row.value_ci_low.or(row.value).unwrap_or(f64::NEG_INFINITY),
        };
        let size = |row: &Record| row.integer("n");
        self.of(experiment, axes).max_by(|one, other| size(one).cmp(&size(other)).then(sure(one).total_cmp(&sure(other))))
    }

    fn figure(&self, row: &Record, bound: Option<Bound>) -> String {
        let value = row.value.unwrap_or(f64::NAN);
        let is_wide = row.value_ends().is_some_and(|ends| is_wide(value, ends));
        let beside =
            bound.filter(|_| !is_wide).and_then(|bound| self.limit(row, bound)).map(|Peak { rate, is_hard, .. }| {
                match value / rate {
                    share if !is_hard => format!(", {:.0} % of nominal", 100.0 * share),
                    share if share >= AT_LIMIT => ", at its limit".to_owned(),
                    share => format!(", {:.0} % of its limit", 100.0 * share),
                }
            });
        format!("{}{}", shown(row), beside.unwrap_or_default())
    }

    fn limit(&self, row: &Record, bound: Bound) -> Option<Peak> {
        let id = |id: Option<u64>| id.and_then(|id| u32::try_from(id).ok());
        let of = |published: &'r Published| published.of(id(row.vendor_id), id(row.device_id), &row.device_name);
        let limit = self.own.and_then(of).or_else(|| of(Published::built_in()))?.limit(bound)?;
        Some(limit.at(self.core_clock(row)))
    }

    /// The core's clock beside a row; beside the best of a kind, that of the row which has its figure.
    fn core_clock(&self, row: &Record) -> Option<f64> {
        let is_it = |own: &Record| own.value == row.value && own.unit == row.unit;
        let experiments = || self.rows.keys().filter(|name| ["peak/", "shared/"].iter().any(|family| name.starts_with(family)));
        let found = || experiments().flat_map(|name| self.of(name, &[])).find(|own| !own.is_derived() && is_it(own));
        if row.is_derived() { found()?.core_clock_mhz } else { row.core_clock_mhz }
    }

    fn peak(&self, kind: &str, bound: Bound) -> Option<String> {
        Some(self.figure(&self.derived("peak/summary", kind)?, Some(bound)))
    }

    fn of_kinds(&self, kinds: &[(&str, &str)]) -> Option<String> {
        let told = |(kind, word): &(&str, &str)| {
            self.derived("peak/summary", kind).map(|row| format!("{word}{}", self.figure(&row, None)))
        };
        let told: Vec<String> = kinds.iter().filter_map(told).collect();
        (!told.is_empty()).then(|| told.join(", "))
    }

    fn stream(&self, op: &str) -> Option<String> {
        let row = self.surest("memory/stream", &[("op", op)])?;
        let figure = self.figure(&row, Some(Bound::Memory));
        // A processor's caches may hold all of it.
        let moved = row.bytes_per_pass.filter(|_| row.is_on_processor());
        Some(moved.map_or_else(|| figure.clone(), |bytes| format!("{figure} with {}, which caches may hold", Bytes(bytes))))
    }

    fn shared(&self) -> Option<String> {
        let row = self.derived("peak/summary", "shared").or_else(|| self.surest("shared/bandwidth", &[]))?;
        let banks = self.derived("shared/banks", "count").and_then(|row| row.value);
        let width = self.derived("shared/banks", "width").and_then(|row| row.value);
        let banks = banks.map(|count| format!("; {count:.0} banks")).unwrap_or_default();
        let width = width.filter(|_| !banks.is_empty()).map(|bytes| format!(" of {bytes:.0} B")).unwrap_or_default();
        Some(format!("{}{banks}{width}", self.figure(&row, Some(Bound::Shared))))
    }

    /// The levels that were inferred: how large, and how long a load takes.
    fn caches(&self) -> Option<String> {
        let level = |place: usize| {
            let size = self.level(&format!("capacity_{place}"))?;
            let latency = self.level(&format!("latency_{place}")).map(|row| format!(" ({})", shown(&row)));
            Some(format!("{}{}", shown(&size), latency.unwrap_or_default()))
        };
        let levels: Vec<String> = (1..=5).map_while(level).collect();
        let beyond = self.level("latency_beyond").map(|row| format!("; beyond, {}", shown(&row)));
        (!levels.is_empty()).then(|| format!("{}{}", levels.join(", "), beyond.unwrap_or_default()))
    }

    /// What was inferred of a cache from walks by index, which all devices do.
    fn level(&self, variant: &str) -> Option<Record> {
        self.of("cache/levels", &[]).find(|row| row.variant == variant && row.is_derived() && !is_by_other_link(row))
    }

    /// Where no levels were inferred, what loads take from sets of a few sizes.
    fn latencies(&self) -> Option<String> {
        if self.caches().is_some() {
            return None;
        }
        let by_index = self.of("cache/latency", &[]).filter(|row| !is_by_other_link(row));
        let measured: BTreeMap<u64, String> =
            by_index.filter_map(|row| Some((row.integer("working_set_bytes")?, shown(&row)))).collect();
        let step = measured.len().saturating_sub(1).div_ceil(MOST_SIZES - 1).max(1);
        let last = measured.len().saturating_sub(1);
        let few = measured.iter().enumerate().filter(|(i, _)| i % step == 0 || *i == last).map(|(_, entry)| entry);
        let told: Vec<String> = few.map(|(size, time)| format!("{time} in {}", Bytes(*size))).collect();
        (!told.is_empty()).then(|| told.join(", "))
    }

    fn subgroup(&self) -> Option<String> {
        let sizes: Vec<String> = self.subgroup_sizes.iter().map(u64::to_string).collect();
        (!sizes.is_empty()).then(|| format!("subgroup size {}", sizes.join(" or ")))
    }

    fn clock(&self) -> Option<String> {
        let told = (!self.driver_clocks.is_empty()).then(|| format!("{:.0} MHz", stats::median(&self.driver_clocks)));
        let ends = [f64::min, f64::max].map(|of| self.clocks.iter().copied().reduce(of).map(|mhz| format!("{mhz:.0}")));
        let [Some(least), Some(most)] = ends else { return told };
        let range = if least == most { format!("{least} MHz") } else { format!("{least} to {most} MHz") };
        Some(match told {
            Some(told) => format!("{range} as measured, {told} as the driver says"),
            None => format!("{range} as measured"),
        })
    }

    /// The smallest workgroup from which on all stream about as fast as the best; else the best.
    fn flat_size(&self) -> Option<String> {
        let most = self.of("workgroup/linear", &[]).filter_map(|row| row.items_per_pass).max()?;
        let of_most = || self.of("workgroup/linear", &[]).filter(|row| row.items_per_pass == Some(most));
        let sizes: BTreeMap<u64, Record> = of_most().filter_map(|row| Some((row.local_size_x?, row))).collect();
        let rate = |row: &Record| row.value.unwrap_or(f64::NAN);
        let (best_at, best) = sizes.iter().max_by(|one, other| rate(one.1).total_cmp(&rate(other.1)))?;
        let flat = sizes.iter().rev().take_while(|(_, row)| rate(row) >= FLAT * rate(best)).last();
        // A short disturbance makes another one look fastest.
        if of_most().any(|row| [Flag::Noisy, Flag::Contended].iter().any(|flag| row.has_flag(flag.name()))) {
            return None;
        }
        let words = match flat {
            Some((size, _)) if size <= best_at => format!("full streaming speed from {size} invocations on"),
            _ => {
                let least = best.value_ends().map_or(rate(best), |(low, _)| low);
                let tied = sizes.iter().filter(|(_, row)| row.value_ends().is_none_or(|(_, high)| high >= least));
                let tied: Vec<String> = tied.map(|(size, _)| size.to_string()).collect();
                match tied.len() {
                    1 => format!("of {} sizes, {best_at} streams fastest", sizes.len()),
                    2..=MOST_SIZES => format!("of {} sizes, {} streams fastest (tied)", sizes.len(), tied.join(" or ")),
                    count => format!("{count} of {} sizes stream fastest (tied)", sizes.len()),
                }
            }
        };
        (sizes.len() > 2).then_some(words)
    }

    fn empty_dispatch(&self) -> Option<String> {
        Some(format!("{} when empty", shown(&self.first("calibration/empty", "", &[])?)))
    }

    fn round_trip(&self) -> Option<String> {
        Some(format!("round trip {}", shown(&self.surest("dispatch/fence", &[("dispatches", "1")])?)))
    }

    /// What a barrier adds to a step through workgroup memory, where that can be told: of workgroups of 256, or of the largest.
    fn workgroup_barrier(&self) -> Option<String> {
        let steps = |kind| self.of("sync/barrier", kind);
        let others = |row: &Record| {
            row.by_axis.iter().filter(|(name, _)| *name != "kind").map(|(_, value)| value.clone()).collect::<Vec<_>>()
        };
        let with = steps(&[("kind", "control"), ("traffic", "shared")])
            .max_by_key(|row| (row.local_size_x == Some(USUAL_SIZE), row.local_size_x))?;
        let without = steps(&[("kind", "nothing"), ("traffic", "shared")]).find(|row| others(row) == others(&with))?;
        let (low, high) = (with.value_ci_low? - without.value_ci_high?, with.value_ci_high? - without.value_ci_low?);
        let added = with.value? - without.value?;
        let size = with.local_size_x.filter(|size| *size > 1)?;
        (low > 0.0).then(|| format!("{} in a workgroup of {size}", figure(added, Some((low, high)), "ns")))
    }

    fn pipeline_barrier(&self) -> Option<String> {
        let row = self.surest("dispatch/pipeline_barrier", &[("barrier", "memory"), ("side", "device")])?;
        Some(format!("{} between dispatches", shown(&row)))
    }

    fn transfer(&self, direction: &str, words: &str) -> Option<String> {
        let row = self.surest("transfer/copy", &[("direction", direction)])?;
        Some(format!("{words} {}", self.figure(&row, None)))
    }
}

fn shown(row: &Record) -> String {
    figure(row.value.unwrap_or(f64::NAN), row.value_ends(), &row.unit)
}

/// Whether a row is about a walk in another way than by indexes that are declared as such: addresses aren't there on all devices.
fn is_by_other_link(row: &Record) -> bool {
    row.by_axis.get("link").is_some_and(|link| link.to_string() != "index")
}

/// What is counted of measured rows.
#[derive(Default)]
struct Counts {
    measured: u64,
    skipped: u64,
    planned: u64,
    not_run: u64,
    wrong: u64,
    implausible: u64,
    /// Of rows that ended well: how many, and which flags they bear.
    tally: Tally,
    /// The others are of these rows, too.
    checked: u64,
    cold: u64,
    validated: u64,
    on_processor: u64,
    by_host: u64,
    noise: Vec<f64>,
}

impl Counts {
    fn count(&mut self, row: &Record) {
        if row.is_derived() {
            return;
        }
        self.measured += 1;
        self.implausible += u64::from(row.is_implausible());
        self.tally.count(row);
        match Status::named(&row.status) {
            Some(Status::Ok) => {
                self.checked += u64::from(row.checked == "true" || row.checked == "invariant");
                self.cold += u64::from(row.cache == "cold");
                self.validated += u64::from(row.validation == Some(true));
                self.on_processor += u64::from(row.is_on_processor());
                self.by_host += u64::from(row.timer == "host");
                self.noise.extend(row.noise);
            }
            Some(Status::Skipped) => self.skipped += 1,
            Some(Status::Planned) => self.planned += 1,
            Some(Status::NotRun) => self.not_run += 1,
            Some(Status::WrongResult) => self.wrong += 1,
            _ => {}
        }
    }

    /// How far to trust rows, and whether the machine may be to blame where not.
    fn trust(&self) -> (Vec<String>, bool) {
        let mut said = vec![self.summary()];
        said.extend(self.doubted());
        said.extend(self.circumstances());
        let doubt = self.widespread();
        let is_doubtful = doubt.is_some();
        said.extend(doubt);
        (said, is_doubtful)
    }

    fn summary(&self) -> String {
        let ok = self.tally.measured;
        let failed = self.measured - ok - self.skipped - self.planned - self.not_run;
        let mut said = format!("{ok} measured, {} checked", self.checked);
        let others = [(self.skipped, "skipped"), (failed, "failed"), (self.not_run, "not run"), (self.planned, "only planned")];
        for (count, what) in others.into_iter().filter(|(count, _)| *count > 0) {
            said += &format!(", {count} {what}");
        }
        if !self.noise.is_empty() {
            said += &format!("; median noise {:.1} %", 100.0 * stats::median(&self.noise));
        }
        said
    }

    fn doubted(&self) -> impl Iterator<Item = String> {
        let [wrong, implausible] = [self.wrong, self.implausible].map(|count| (count > 0).then(|| counted(count, "case")));
        let wrong = wrong.map(|cases| format!("wrong results: {cases}, see the column `reason`"));
        let implausible =
            implausible.map(|cases| format!("figures that can't be right: {cases}, left out above, see the column `reason`"));
        wrong.into_iter().chain(implausible)
    }

    fn circumstances(&self) -> impl Iterator<Item = String> {
        let is_of_most = |count: u64| count * 2 > self.tally.measured;
        let known: [(bool, &str); 4] = [
            (self.cold > 0, "rows with cold caches are left out above"),
            (is_of_most(self.validated), "the validation layer was on, which slows everything down"),
            (is_of_most(self.on_processor), "it is the host's processor: don't compare it with a GPU"),
            (is_of_most(self.by_host), "timed by the host's clock: launching and waiting are part of every figure"),
        ];
        known.into_iter().filter(|(holds, _)| *holds).map(|(_, words)| words.to_owned())
    }

    #[expect(clippy::cast_precision_loss, reason = "rows are far fewer than 2^53")]
    fn widespread(&self) -> Option<String> {
        let all = self.tally.measured;
        let is_widespread = |doubt: &&Doubt| {
            let bearing = self.tally.bearing(doubt);
            bearing > 0 && bearing as f64 >= MANY * all as f64
        };
        let doubt = DOUBTS.iter().filter(|doubt| doubt.is_of_machine).find(is_widespread)?;
        let (bearing, Doubt { flag, advice, .. }) = (self.tally.bearing(doubt), doubt);
        Some(format!("{bearing} of {all} cases bear the flag {flag}: {advice}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::AxisValue;
    use crate::model::Point;

    fn row(experiment: &str, variant: &str, axes: &[(&'static str, &'static str)], value: f64, unit: &str) -> Record {
        let mut row = Record {
            row_kind: "measured".to_owned(),
            experiment: experiment.to_owned(),
            variant: variant.to_owned(),
            status: "ok".to_owned(),
            value: Some(value),
            unit: unit.to_owned(),
            better: if unit == "ns" { "lower" } else { "higher" }.to_owned(),
            device_name: "NVIDIA H100 80GB HBM3".to_owned(),
            driver_name: "NVIDIA".to_owned(),
            driver_info: "580".to_owned(),
            device_type: "discrete".to_owned(),
            vendor_id: Some(0x10DE),
            checked: "true".to_owned(),
            noise: Some(0.01),
            ..Record::new()
        };
        let value = |text: &'static str| text.parse().map_or_else(|_| AxisValue::Choice(text.into()), AxisValue::Integer);
        row = row.at(&Point::new(axes.iter().map(|(name, text)| ((*name).into(), value(text)))));
        row
    }

    fn derived(experiment: &str, variant: &str, value: f64, unit: &str) -> Record {
        Record { row_kind: "derived".to_owned(), ..row(experiment, variant, &[], value, unit) }
    }

    fn within(row: Record, half: f64) -> Record {
        let value = row.value.unwrap();
        Record { value_ci_low: Some(value - half), value_ci_high: Some(value + half), ..row }
    }

    fn card_of(rows: &[Record]) -> Card {
        Card::new(&rows.iter().map(Packed::new).collect::<Vec<_>>(), None)
    }

    fn fact(rows: &[Record], label: &str) -> Option<String> {
        card_of(rows).facts.into_iter().find(|(own, _)| *own == label).map(|(_, text)| text)
    }

    #[test]
    fn a_figure_is_told_beside_its_limit() {
        let rows = [
            derived("peak/summary", "fp32", 66_446.0, "GFLOP/s"),
            row("memory/stream", "", &[("op", "read"), ("width", "1")], 3089.0, "GB/s"),
            row("memory/stream", "", &[("op", "read"), ("width", "4")], 2995.0, "GB/s"),
        ];
        let card = card_of(&rows);
        assert_eq!((card.device.as_str(), card.driver.as_str()), ("NVIDIA H100 80GB HBM3", "NVIDIA 580 (discrete)"));
        let expected = [("fp32", "66.4 TFLOP/s, 99 % of nominal"), ("memory read", "3090 GB/s, 92 % of its limit")];
        assert_eq!(card.facts, expected.map(|(label, text)| (label, text.to_owned())));
        let measured = Record {
            core_clock_mhz: Some(2010.0),
            round_clocks_mhz: "1:1980.0;1:2010.0/2025.0".to_owned(),
            clock_mhz: Some(1980.0),
            ..row("peak/arith", "f32", &[("op", "fma")], 66_446.0, "GFLOP/s")
        };
        let at_clock = [rows[0].clone(), measured];
        assert_eq!(fact(&at_clock, "fp32").as_deref(), Some("66.4 TFLOP/s, 98 % of its limit"));
        let clocks = "1980 to 2018 MHz as measured, 1980 MHz as the driver says";
        assert_eq!(fact(&at_clock, "core clock").as_deref(), Some(clocks));
        let unknown = rows.clone().map(|row| Record { device_name: "novel".to_owned(), ..row });
        assert_eq!(fact(&unknown, "memory read").as_deref(), Some("3090 GB/s"));
    }

    #[test]
    fn what_may_be_exceeded_is_called_nominal_and_own_limits_come_first() {
        let read = |name: &str, value| Record {
            device_name: name.to_owned(),
            ..row("memory/stream", "", &[("op", "read")], value, "GB/s")
        };
        assert_eq!(fact(&[read("NVIDIA H200", 4358.0)], "memory read").as_deref(), Some("4360 GB/s, 91 % of nominal"));
        assert_eq!(fact(&[read("NVIDIA H200", 4900.0)], "memory read").as_deref(), Some("4900 GB/s, 102 % of nominal"));
        let text =
            "[[device]]\nnames = [\"NVIDIA H200\"]\nclock = \"highest\"\nclock_mhz = 1980\npublished = { memory = 5000 }";
        let own = Published::parse(text).unwrap();
        let told = |row: Record| Card::new(&[Packed::new(&row)], Some(&own)).facts[0].1.clone();
        assert_eq!(told(read("NVIDIA H200", 4500.0)), "4500 GB/s, 90 % of its limit");
        assert_eq!(told(read("NVIDIA H100 80GB HBM3", 3352.0)), "3350 GB/s, at its limit", "it says nothing of others");
    }

    #[test]
    fn what_can_not_be_right_or_has_no_figure_is_left_out() {
        let read = || row("memory/stream", "", &[("op", "read")], 9999.0, "GB/s");
        let doubted = Record { quality_flags: "implausible".to_owned(), ..read() };
        let failed = Record { status: "timeout".to_owned(), value: None, ..read() };
        let card = card_of(&[doubted, failed]);
        assert_eq!(card.facts, []);
        assert_eq!(card.trust[0], "1 measured, 1 checked, 1 failed; median noise 1.0 %");
        assert!(card.trust[1].contains("can't be right: 1 case"), "{:?}", card.trust);
    }

    #[test]
    fn caches_are_told_by_level_or_by_size() {
        let loads = [("16384", 23.6), ("8388608", 146.6)]
            .map(|(size, ns)| row("cache/latency", "", &[("working_set_bytes", size)], ns, "ns"));
        let pointer = row("cache/latency", "", &[("working_set_bytes", "16384"), ("link", "pointer")], 16.0, "ns");
        let both = [&loads[..], &[pointer]].concat();
        assert_eq!(fact(&both, "latency").as_deref(), Some("23.6 ns in 16 KiB, 147 ns in 8 MiB"));
        let levels = [("capacity_1", 212_992.0, "B"), ("latency_1", 23.6, "ns"), ("latency_beyond", 330.0, "ns")]
            .map(|(variant, value, unit)| within(derived("cache/levels", variant, value, unit), 0.15 * value));
        // What pointers show isn't mixed with it.
        let by_pointer = |row: Record| row.at(&Point::new([("link".into(), "pointer".into())]));
        let others = [("capacity_1", 1.0, "B"), ("capacity_2", 3.3e7, "B")]
            .map(|(variant, value, unit)| by_pointer(within(derived("cache/levels", variant, value, unit), 0.1 * value)));
        let rows = [&others[..], &loads[..], &levels[..]].concat();
        assert_eq!(fact(&rows, "caches").as_deref(), Some("177 to 239 KiB (20 to 27 ns); beyond, 280 to 380 ns"));
        assert_eq!(fact(&rows, "latency"), None);
    }

    #[test]
    fn of_many_sizes_a_few_are_told() {
        let of_size = |size: u64| Point::new([("working_set_bytes".into(), size.into())]);
        let row = |octave: u32| row("cache/latency", "", &[], 5.0, "ns").at(&of_size(1 << octave));
        let told = fact(&(10..27).map(row).collect::<Vec<_>>(), "latency").unwrap();
        assert_eq!(told, "5.00 ns in 1 KiB, 5.00 ns in 64 KiB, 5.00 ns in 4 MiB, 5.00 ns in 64 MiB");
    }

    #[test]
    fn a_barrier_is_what_it_adds() {
        let step =
            |kind, ns| row("sync/barrier", "", &[("kind", kind), ("traffic", "shared"), ("local_size_x", "256")], ns, "ns");
        let rows = [step("nothing", 21.8), step("control", 38.1)];
        assert_eq!(fact(&rows, "barrier"), None, "without intervals nobody knows");
        let sure = rows.clone().map(|row| within(row, 0.1));
        assert_eq!(fact(&sure, "barrier").as_deref(), Some("16.3 ns in a workgroup of 256"));
        assert_eq!(fact(&sure[1..], "barrier"), None);
        let overlap = rows.map(|row| within(row, 9.0));
        assert_eq!(fact(&overlap, "barrier"), None);
    }

    #[test]
    fn the_flat_part_begins_where_the_rate_is_as_good_as_the_best() {
        let size = |size, value| Record {
            items_per_pass: Some(1 << 20),
            ..row("workgroup/linear", "", &[("local_size_x", size)], value, "GB/s")
        };
        let rows = [size("1", 20.0), size("32", 630.0), size("256", 2630.0), size("1024", 2642.0)];
        assert_eq!(fact(&rows, "workgroups").as_deref(), Some("full streaming speed from 256 invocations on"));
        assert_eq!(fact(&rows[2..], "workgroups"), None, "two sizes show no flat part");
        let falls = [&rows[..3], &[size("1024", 2400.0)]].concat();
        assert_eq!(fact(&falls, "workgroups").as_deref(), Some("of 4 sizes, 256 streams fastest"));
        let even = [&falls[..2], &[within(size("256", 2630.0), 20.0), within(size("1024", 2490.0), 140.0)]].concat();
        assert_eq!(fact(&even, "workgroups").as_deref(), Some("of 4 sizes, 256 or 1024 streams fastest (tied)"));
        let mut busy = falls.clone();
        busy[1].quality_flags = "noisy;contended".to_owned();
        assert_eq!(fact(&busy, "workgroups"), None);
    }

    #[test]
    fn a_doubt_that_many_rows_share_is_said_once_with_what_to_do() {
        let flagged = |flags: &str| Record { quality_flags: flags.to_owned(), ..row("a/b", "", &[], 1.0, "ns") };
        let busy = [flagged("noisy"), flagged("launch_bound;noisy"), flagged("")];
        let card = card_of(&busy);
        assert!(card.is_doubtful && card.trust[1].starts_with("2 of 3 cases bear the flag noisy: "), "{:?}", card.trust);
        let calm = [flagged("noisy"), flagged(""), flagged(""), flagged(""), flagged("")];
        let card = card_of(&calm);
        assert!(!card.is_doubtful && card.trust.len() == 1);
    }
}
