//! `shared/capacity`: how much workgroup memory may a workgroup take before fewer of them hide each other's latency?

use crate::experiments::common::knee::{Mark, Told, fall, sweeps};
use crate::experiments::common::ring::{HOPS_PER_ITERATION, LEAST_NODES, MOST_HOPS, Ring};
use crate::experiments::{Built, Config, Experiment, Setting, powers_of_two, product};
use crate::model::{Axis, AxisKind, Bound, Case, Derived, Finished, Headline, Moved, Preset, Skip, Traffic, Work};

pub const EXPERIMENT: Experiment = Experiment {
    derived: &[CLIFF],
    derive,
    peak_kind: Some("shared"),
    traffic,
    ..Experiment::new("shared/capacity", axes, build)
};

/// What the knee is reported under.
const CLIFF: &str = "shared/cliff";

fn derive(rows: &[Finished]) -> Vec<Derived> {
    let axis = "window_bytes";
    let told = Told { name: [CLIFF, "", "window", "B"], axis };
    let knee = |rows: &[&Finished]| {
        fall(axis, &rows.iter().map(|row| Mark::new(row.point.integer(axis), 1.0, row)).collect::<Vec<_>>())
    };
    sweeps(axis, rows).into_iter().map(|(point, rows)| told.of(&point, &knee(&rows))).collect()
}

fn axes(setting: &Setting) -> Vec<Axis> {
    let windows = match setting.preset {
        Preset::Quick => vec![8 << 10],
        Preset::Default | Preset::Thorough => windows(setting.device.limits.shared_bytes.into()),
    };
    let sizes = if setting.preset == Preset::Thorough { vec![64, 128, 256] } else { vec![128_u64] };
    // Four waves of 2048 invocations on the largest devices of today. On a GPU, hops enough that filling the largest windows
    // takes a small part of the time.
    let groups = setting.by_class(4_u64, 8448);
    let hops = setting.by_class(2048_u64, 8192);
    vec![
        Axis::new("window_bytes", "workgroup memory of a workgroup", AxisKind::AtLeast(4 * LEAST_NODES), windows),
        Axis::new("local_size_x", "invocations per workgroup", AxisKind::AtLeast(1), sizes),
        Axis::new("groups", "workgroups", AxisKind::AtLeast(1), [groups]).of_monotone_work(),
        Axis::new("hops", "loads of an invocation", AxisKind::AtLeast(HOPS_PER_ITERATION), [hops])
            .multiple_of(HOPS_PER_ITERATION)
            .up_to(MOST_HOPS)
            .of_monotone_work(),
    ]
}

fn build<'a>(config: &Config<'a>) -> Result<Built<'a>, Skip> {
    let ring = Ring::new(config.integer("groups"), config);
    let hops = ring.all_hops();
    let work = Work { bytes: Some(product([hops, 4])), items: Some(hops), ..Work::default() };
    Ok(ring.case(EXPERIMENT.name, config)?.bound(Some(Bound::Shared)).build(work, Headline::BANDWIDTH))
}

fn traffic(case: &Case) -> Result<Vec<Traffic>, &'static str> {
    let loops = vec![case.point.integer("hops") / HOPS_PER_ITERATION];
    Ok(vec![Traffic { counted: Moved::SHARED_READ, loops, ..Traffic::usual(case) }])
}

/// Two for each doubling from 1 KiB on, up to the device's limit.
fn windows(limit: u64) -> Vec<u64> {
    let powers = powers_of_two(1 << 10, limit).flat_map(|power| [power, power / 2 * 3]);
    let mut all: Vec<u64> = powers.filter(|bytes| *bytes < limit).collect();
    all.push(limit.max(4 * LEAST_NODES));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{DeviceInfo, DeviceKind, Figure, Point};

    fn point(window: u64, local_size: u64, hops: u64) -> Point {
        let values = [("window_bytes", window), ("local_size_x", local_size), ("groups", 100), ("hops", hops)];
        Point::new(values.map(|(name, value)| (name.into(), value.into())))
    }

    #[test]
    fn the_cliff_is_told_for_each_workgroup_size() {
        // A processor with 228 KiB, which 8 workgroups of 128 saturate, or 4 of 256.
        let row = |window: u64, local_size: u64| {
            let resident = ((228 << 10) / window).clamp(1, 2048 / local_size) * local_size;
            let time = 1e6 / f64::from(u32::try_from(resident.min(1024)).unwrap());
            let interval = Some((0.99 * time, 1.01 * time));
            Finished { point: point(window, local_size, 512), time, interval, ..Finished::default() }
        };
        let rows = |local_size| windows(48 << 10).into_iter().map(move |window| row(window, local_size));
        let derived = derive(&rows(128).chain(rows(256)).collect::<Vec<_>>());
        assert_eq!(derived[0].figure, Ok(Figure { value: 24_576.0, interval: Some((24_576.0, 32_768.0)) }));
        let reason = derived[1].figure.clone().unwrap_err().to_string();
        assert!(reason.starts_with("no knee seen: up to window_bytes=49152"), "{reason}");
    }

    /// By default none is skipped because of it: where it did, no hop at all would have the same result.
    #[test]
    fn no_walk_ends_where_it_began() {
        for kind in [DeviceKind::Cpu, DeviceKind::Discrete] {
            let device = DeviceInfo { kind, ..DeviceInfo::mock() };
            let setting = Setting { queue: None, device: &device, preset: Preset::Thorough, seed: 1 };
            let axes = axes(&setting);
            let hops = axes.iter().find(|axis| axis.name == "hops").unwrap().defaults[0].clone();
            for window in windows(device.limits.shared_bytes.into()) {
                let point = point(window, 128, 16).with("hops", &hops);
                let skip = build(&Config::new("", &point, &setting)).err();
                assert!(skip.is_none(), "{window}: {skip:?}");
            }
        }
    }

    #[test]
    fn windows_that_are_no_cycle_are_skipped() {
        let device = DeviceInfo::mock();
        let setting = Setting { queue: None, device: &device, preset: Preset::Quick, seed: 1 };
        let case = |window, hops| {
            let point = point(window, 128, hops);
            build(&Config::new("", &point, &setting)).map(|built| built.case)
        };
        assert_eq!(case(1000, 32).unwrap().resources[1].bytes(), 4 * 7, "whole rows of 32 words");
        assert_eq!(case(1024, 32).unwrap().resources[1].bytes(), 4 * 7, "an odd number of them");
        for (window, hops) in [(383, 32), (49_153, 32), (u64::MAX, 32)] {
            assert!(case(window, hops).unwrap_err().reason.contains("the case needs"), "{window} {hops}");
        }
        assert!(case(384, 48).unwrap_err().reason.contains("after 48 hops a walk round 3 nodes is back"));
    }
}
