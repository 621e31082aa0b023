//! `workgroup/registers`: how many values can an invocation hold before some of them are kept in memory?

use crate::experiments::common::elements::chained;
use crate::experiments::common::knee::{self, fall, marks};
use crate::experiments::common::prelude::*;
use crate::experiments::common::sweep::grouped;
use crate::model::{Figure, Metric, NoFigure};

pub const EXPERIMENT: Experiment = Experiment {
    derived: &[SPILLING],
    derive: |rows| grouped(rows, &["live_values"]).iter().flat_map(|(point, rows)| spilling(point, rows)).collect(),
    ..Experiment::new("workgroup/registers", axes, build)
};

const SPILLING: &str = "workgroup/spilling";

/// What is pushed: odd, so that no bit of a value is lost.
const FACTOR: u32 = 1_664_525;

/// More values would keep drivers' compilers busy for minutes, more iterations the twin.
const MOST_VALUES: u64 = 1024;
const MOST_ITERATIONS: u64 = 4096;

/// The time of one multiply-add of one value in all invocations.
const TIME_PER_VALUE: Headline = Headline { metric: Metric::TimePerItem, name: "time_per_value", unit: "ns", better: "lower" };

fn axes(setting: &Setting) -> Vec<Axis> {
    let values: Vec<u64> = match (setting.preset, setting.device.is_cpu()) {
        (Preset::Quick, _) => vec![16],
        (_, true) => vec![4, 8, 12, 16, 24, 32, 48, 64, 96],
        // Close together where registers run out on the devices of today: at 64, 128 and 256 of them.
        (_, false) => {
            vec![8, 16, 24, 32, 48, 56, 64, 80, 96, 112, 120, 128, 160, 192, 208, 224, 232, 240, 248, 256, 272, 288, 320, 384]
        }
    };
    let sizes = if setting.preset == Preset::Thorough { vec![64, 256, 1024] } else { vec![usual_size(setting)] };
    // Eight waves of 2048 invocations on the largest devices of today, as long as registers allow them.
    let groups = setting.by_class(4_u64, 8448);
    let iterations = setting.by_class(16_u64, 128);
    vec![
        Axis::new("live_values", "words that an invocation holds", AxisKind::AtLeast(2), values).up_to(MOST_VALUES),
        Axis::new("local_size_x", "invocations per workgroup", AxisKind::AtLeast(1), sizes),
        Axis::new("groups", "workgroups", AxisKind::AtLeast(1), [groups]).of_monotone_work(),
        loop_axis("turns", "multiply-adds of each value", [iterations], MOST_ITERATIONS),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let [local_size, values, iterations] = ["local_size_x", "live_values", "turns"].map(|axis| config.integer(axis));
    let kernel = config.kernel("workgroup/registers.comp", &["live_values"]);
    let kernel = kernel.constant("ITERATIONS", Scalar::U32(config.u32("turns")));
    let (groups, invocations) = config.grid(config.integer("groups"));
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let results = case.output("results", Expected::words_from(invocations, move || results(local_size, values, iterations)));
    case.run(kernel, &[results], groups, &[FACTOR]);
    let updates = values * iterations;
    let work = Work { items: Some(updates), ops: Some(product([updates, invocations])), ..Work::default() };
    // At most: where the driver doesn't unroll the loops over the values, all of them count.
    Ok(case.iterations(iterations + updates + 2 * values).build(work, TIME_PER_VALUE))
}

#[expect(clippy::cast_possible_truncation, reason = "a buffer holds less than 2^32 words, and a list in memory fewer")]
fn results(local_size: u64, values: u64, iterations: u64) -> impl Fn(u64) -> u32 + Send + Sync {
    // All workgroups hold the same values; the sum begins with their number, which is multiplied with each value.
    let scale = 3_u32.wrapping_pow(values as u32);
    let sums: Vec<u32> = (0..local_size).map(|lane| sum(lane as u32, values as usize, iterations)).collect();
    move |i| sums[(i % local_size) as usize].wrapping_add(scale.wrapping_mul((i / local_size) as u32))
}

/// What an invocation of the workgroup 0 writes.
fn sum(lane: u32, count: usize, iterations: u64) -> u32 {
    let mut values: Vec<u32> = (lane..).take(count).map(|seed| seed.wrapping_mul(2_654_435_761)).collect();
    for _ in 0..iterations {
        for k in 0..count {
            values[k] = values[k].wrapping_mul(FACTOR).wrapping_add(values[(k + 1) % count]);
        }
    }
    chained(values.into_iter())
}

fn spilling(point: &Point, rows: &[&Finished]) -> [Derived; 2] {
    let axis = "live_values";
    let knee = fall(axis, &marks(axis, rows, |values| values));
    let time = knee::told([SPILLING, "time", "live_values", "words"], axis, point, &knee);
    let told = by_statistics(rows);
    let note = told.as_ref().map_or_else(|_| String::new(), |(_, note)| note.clone());
    let driver = Derived { variant: "driver", figure: told.map(|(figure, _)| figure), note, ..time.clone() };
    [time, driver]
}

/// The most values with nothing spilled, by what the driver's compiler says; and how it says so.
fn by_statistics(rows: &[&Finished]) -> Result<(Figure, String), NoFigure> {
    let told = |statistic: fn(&Finished) -> Option<u64>| {
        let told = rows.iter().filter_map(|row| Some((row.point.integer("live_values"), statistic(row)?)));
        let mut told: Vec<(u64, u64)> = told.collect();
        told.sort_unstable();
        told
    };
    let spilled = told(|row| row.spill_bytes);
    if !spilled.is_empty() {
        let what = |values, bytes| format!("at {values} the driver spills {bytes} B");
        return last_before(&spilled, |bytes| bytes > 0, what, ["the driver spills nothing", "the driver spills"]);
    }
    let registers = told(|row| row.registers);
    let Some(most) = registers.iter().map(|(_, count)| *count).max() else {
        let why = "the driver's statistics are not known: --stats asks for them, where the driver has them";
        return Err(NoFigure::TooFew(why.to_owned()));
    };
    // One row with the most may just be the last of the growth.
    let is_full = registers.iter().filter(|(_, count)| *count == most).count() > 1;
    let full = |count| is_full && count == most;
    let what = |values, count| format!("from {values} on the driver gives {count} registers, and no more");
    last_before(&registers, full, what, ["the driver's registers still grow", "the driver gives all its registers"])
}

/// The last value before a statistic says so for the first time, with what it says there.
fn last_before(
    told: &[(u64, u64)],
    says: impl Fn(u64) -> bool,
    what: impl Fn(u64, u64) -> String,
    [nowhere, at_once]: [&str; 2],
) -> Result<(Figure, String), NoFigure> {
    let why = match told.iter().position(|(_, count)| says(*count)) {
        Some(0) => format!("{at_once} at live_values={} already", told[0].0),
        None => format!("{nowhere} up to live_values={}", told[told.len() - 1].0),
        Some(place) => {
            let ((before, _), (values, count)) = (told[place - 1], told[place]);
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let figure = Figure { value: before as f64, interval: Some((before as f64, values as f64)) };
            return Ok((figure, what(values, count)));
        }
    };
    Err(if told.len() < knee::LEAST_MARKS { NoFigure::TooFew(why) } else { NoFigure::Unseen(why) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::sweep::count;
    use crate::experiments::common::testing::point;

    /// Registers and spilled bytes, by the number of values.
    type Statistics = fn(u64) -> (Option<u64>, Option<u64>);

    /// A device with so many registers, each value above which costs four times as much.
    fn rows(most: u64, told: impl Fn(u64) -> (Option<u64>, Option<u64>)) -> Vec<Finished> {
        let row = |values: u64| {
            let cost = count(usize::try_from(values + 3 * values.saturating_sub(most)).unwrap());
            let (registers, spill_bytes) = told(values);
            let point = point(&format!("live_values={values} local_size_x=256"));
            Finished { point, time: 100.0 * cost + 50.0, registers, spill_bytes, ..Finished::default() }
        };
        [8, 32, 64, 128, 192, 224, 240, 256, 288, 320].map(row).to_vec()
    }

    fn figures(rows: &[Finished]) -> [Result<Figure, NoFigure>; 2] {
        let derived = EXPERIMENT.derive(rows);
        assert_eq!(derived.iter().map(|row| row.variant).collect::<Vec<_>>(), ["time", "driver"]);
        [derived[0].figure.clone(), derived[1].figure.clone()]
    }

    #[test]
    fn spilling_is_seen_in_times_and_in_statistics() {
        let figure = |value, next| Ok(Figure { value, interval: Some((value, next)) });
        // What NVIDIA's driver tells: registers, up to 255, of which some hold something else.
        let capped = |values: u64| (Some((values + 16).min(255)), None);
        assert_eq!(figures(&rows(232, capped)), [figure(240.0, 256.0), figure(224.0, 240.0)]);
        let spilled = |values: u64| (Some(values.min(256)), Some(4 * values.saturating_sub(250)));
        assert_eq!(figures(&rows(250, spilled)), [figure(256.0, 288.0), figure(240.0, 256.0)]);
    }

    #[test]
    fn what_can_not_be_told_says_why() {
        let cases: [(Statistics, &str); 5] = [
            (|_| (None, None), "the driver's statistics are not known: --stats asks for them, where the driver has them"),
            (|values| (Some(values), None), "the driver's registers still grow up to live_values=320"),
            (|_| (Some(8), None), "the driver gives all its registers at live_values=8 already"),
            (|values| (Some(values), Some(0)), "the driver spills nothing up to live_values=320"),
            (|values| (Some(values), Some(4)), "the driver spills at live_values=8 already"),
        ];
        for (told, why) in cases {
            let [time, driver] = figures(&rows(1000, told)).map(|figure| figure.unwrap_err().to_string());
            assert!(time.starts_with("no knee seen: up to live_values=320"), "{time}");
            assert_eq!(driver, why);
        }
        assert!(figures(&[])[0].clone().unwrap_err().to_string().contains("0 values"));
    }
}
