//! `workgroup/saturation`: how many workgroups, and invocations, does it take to fill the device?

use crate::experiments::common::knee::{marks, rise, told};
use crate::experiments::common::prelude::*;
use crate::experiments::common::sweep::grouped;
use crate::experiments::stepped;

pub const EXPERIMENT: Experiment = Experiment {
    derived: &[FILL],
    derive: |rows| grouped(rows, &["groups"]).iter().flat_map(|(point, rows)| fill(point, rows)).collect(),
    ..Experiment::new("workgroup/saturation", axes, build)
};

const FILL: &str = "workgroup/fill";

/// More would keep the twin busy for minutes.
const MOST_STEPS: u64 = 1 << 18;

fn axes(setting: &Setting) -> Vec<Axis> {
    let groups = match setting.preset {
        Preset::Quick => vec![setting.by_class(8, 1056)],
        Preset::Default | Preset::Thorough => counts(setting.by_class(64, 1 << 14)),
    };
    let steps = setting.by_class(512_u64, 16384);
    vec![
        Axis::new("groups", "workgroups", AxisKind::AtLeast(1), groups).of_work(),
        Axis::new("local_size_x", "invocations per workgroup", AxisKind::AtLeast(1), [64_u64]),
        loop_axis("steps", "dependent steps per invocation", [steps], MOST_STEPS),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let [groups, local_size, steps] = ["groups", "local_size_x", "steps"].map(|axis| config.integer(axis));
    // A grid of another size than asked for would be another point of the sweep.
    let limit = config.most_groups();
    let grid = fold_groups(groups, limit);
    if workgroups(grid) != groups {
        return Err(Skip::new(format!("maxComputeWorkGroupCount[0] is {limit}, the case needs {groups}")));
    }
    let invocations = product([groups, local_size]);
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let results = case.output("results", Expected::words_from(invocations, move || results(local_size, steps)));
    case.run(config.kernel("workgroup/saturation.comp", &["steps"]), &[results], grid, &[]);
    let work = Work { items: Some(invocations), ops: Some(product([invocations, steps])), ..Work::default() };
    Ok(case.iterations(steps).build(work, Headline::ITEMS))
}

#[expect(clippy::cast_possible_truncation, reason = "a buffer holds less than 2^32 words")]
fn results(local_size: u64, steps: u64) -> impl Fn(u64) -> u32 + Send + Sync {
    // All workgroups do the same, up to their last addition.
    let x: Vec<u32> = (0..local_size).map(|lane| stepped(lane as u32 + 1, steps)).collect();
    move |i| x[(i % local_size) as usize].wrapping_add((i / local_size) as u32)
}

/// 1, 2, 3, 4, 6, 8, 12 and so on up to `most`: two for each doubling.
fn counts(most: u64) -> Vec<u64> {
    let with_half = powers_of_two(2, most).flat_map(|power| [power, power / 2 * 3]).filter(|n| *n <= most);
    std::iter::once(1).chain(with_half).collect()
}

fn fill(point: &Point, rows: &[&Finished]) -> [Derived; 2] {
    let knee = rise("groups", &marks("groups", rows, |groups| groups));
    let told = |variant, metric, unit| told([FILL, variant, metric, unit], "groups", point, &knee);
    let mut invocations = told("invocations", "invocations", "invocations");
    #[expect(clippy::cast_precision_loss, reason = "a workgroup has few invocations")]
    let local_size = point.get("local_size_x").map_or(0.0, |_| point.integer("local_size_x") as f64);
    invocations.figure = invocations.figure.map(|figure| figure.times(local_size));
    [told("groups", "workgroups", "workgroups"), invocations]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::rows::{row, untold};
    use crate::model::Figure;

    /// A device that runs so many workgroups at a time.
    fn rows(width: u64, groups: &[u64]) -> Vec<Finished> {
        let time = |groups: u64| 100.0 * f64::from(u32::try_from(groups.div_ceil(width)).unwrap());
        groups.iter().map(|n| row(&format!("groups={n} local_size_x=64 steps=512"), time(*n))).collect()
    }

    #[test]
    fn the_knee_is_where_the_device_is_full() {
        let derived = EXPERIMENT.derive(&rows(96, &counts(1 << 14)));
        let told: Vec<_> = derived.iter().map(|row| (row.variant, row.figure.clone())).collect();
        let figure = |value: f64, low: f64| Ok(Figure { value, interval: Some((low, value)) });
        assert_eq!(told, [("groups", figure(96.0, 64.0)), ("invocations", figure(6144.0, 4096.0))]);
        assert_eq!(derived[0].point.to_string(), "local_size_x=64;steps=512");
    }

    #[test]
    fn without_a_plateau_there_is_none() {
        let rows = [rows(1000, &counts(1000)), rows(1, &counts(64)), rows(96, &[1056]), Vec::new()];
        let reasons = ["still rises", "already gives", "1 values of groups were measured", "0 values of groups were measured"];
        for (rows, why) in rows.iter().zip(reasons) {
            let derived = EXPERIMENT.derive(rows);
            assert_eq!(derived.len(), 2);
            assert!(derived.iter().all(|row| untold(row).contains(why)), "{derived:?}");
        }
    }

    #[test]
    fn counts_double_in_two_steps() {
        assert_eq!(counts(16), [1, 2, 3, 4, 6, 8, 12, 16]);
        assert_eq!(counts(1), [1]);
    }
}
