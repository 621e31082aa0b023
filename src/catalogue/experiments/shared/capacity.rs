//! `shared/capacity`: how much workgroup memory may a workgroup take before fewer of them hide each other's latency?

use crate::experiments::common::axes::{HOPS_PER_ITERATION, hops_axis, sizes_up_to};
use crate::experiments::common::knee;
use crate::experiments::common::prelude::*;
use crate::experiments::common::ring::{LEAST_NODES, Ring};
use crate::experiments::common::windows;

pub const EXPERIMENT: Experiment = Experiment {
    derived: &[CLIFF],
    derive: |rows| knee::falls([CLIFF, "", "window", "B"], "window_bytes", rows),
    peak_kind: Some("shared"),
    traffic: |case| windows::reads(case, case.point.integer("hops") / HOPS_PER_ITERATION),
    ..Experiment::new("shared/capacity", axes, build)
};

const CLIFF: &str = "shared/cliff";

fn axes(setting: &Setting) -> Vec<Axis> {
    let windows = match setting.preset {
        Preset::Quick => vec![8 << 10],
        Preset::Default | Preset::Thorough => sizes_up_to(setting.device.limits.shared_bytes.into()),
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
        hops_axis("loads of an invocation", hops),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let ring = Ring::new(config.integer("groups"), config);
    let hops = ring.all_hops();
    let work = Work { bytes: Some(product([hops, 4])), items: Some(hops), ..Work::default() };
    Ok(ring.case(EXPERIMENT.name, config)?.bound(Some(Bound::Shared)).build(work, Headline::BANDWIDTH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::rows::{device, row, untold};
    use crate::experiments::common::testing::{asked, case, quick, reason};
    use crate::model::{DeviceInfo, DeviceKind, Figure};

    #[test]
    fn the_cliff_is_told_for_each_workgroup_size() {
        // A processor with 228 KiB, which 8 workgroups of 128 saturate, or 4 of 256.
        let row = |window: u64, local_size: u64| {
            let resident = ((228 << 10) / window).clamp(1, 2048 / local_size) * local_size;
            let time = 1e6 / f64::from(u32::try_from(resident.min(1024)).unwrap());
            row(&format!("window_bytes={window} local_size_x={local_size}"), time)
        };
        let rows = |local_size| sizes_up_to(48 << 10).into_iter().map(move |window| row(window, local_size));
        let derived = EXPERIMENT.derive(&rows(128).chain(rows(256)).collect::<Vec<_>>());
        assert_eq!(derived[0].figure, Ok(Figure { value: 24_576.0, interval: Some((24_576.0, 32_768.0)) }));
        assert!(untold(&derived[1]).starts_with("no knee seen: up to window_bytes=49152"), "{derived:?}");
    }

    /// By default none is skipped because of it: where it did, no hop at all would have the same result.
    #[test]
    fn no_walk_ends_where_it_began() {
        for kind in [DeviceKind::Cpu, DeviceKind::Discrete] {
            let device = device(kind);
            for window in sizes_up_to(device.limits.shared_bytes.into()) {
                let reason = reason(&EXPERIMENT, "", asked(&device, Preset::Thorough), &format!("window_bytes={window}"));
                assert_eq!(reason, "", "{window}");
            }
        }
    }

    #[test]
    fn windows_that_are_no_cycle_are_skipped() {
        let device = DeviceInfo::mock();
        // Whole rows of 32 words, and an odd number of them.
        for told in ["window_bytes=1000 hops=32", "window_bytes=1024 hops=32"] {
            let case = case(&EXPERIMENT, "", quick(&device), told).unwrap();
            assert_eq!(case.resources.iter().find(|resource| resource.name == "next").unwrap().bytes(), 4 * 7);
        }
        for (told, why) in [
            ("window_bytes=383 hops=32", "the case needs"),
            ("window_bytes=49153 hops=32", "the case needs"),
            ("window_bytes=1099511627776 hops=32", "the case needs"),
            ("window_bytes=384 hops=48", "after 48 hops a walk round 3 nodes is back"),
        ] {
            assert!(reason(&EXPERIMENT, "", quick(&device), told).contains(why), "{told}");
        }
    }
}
