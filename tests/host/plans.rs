//! Nothing that is planned moves: a digest of all cases of each experiment, with their kernels, constants, resources, steps, work and
//! identity, on devices unlike each other and at every preset. For as long as experiments are reshaped.
//!
//! `LANESCOPE_PLANS=FOLDER` (an empty one) writes what the digests are of, a file for each experiment: two of them compare with diff.

#![expect(clippy::unwrap_used, reason = "clippy exempts test functions but not the helpers beside them")]

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use lanescope::experiments::{CATALOGUE, Setting};
use lanescope::model::{Cache, DeviceInfo, DeviceKind, Preset};
use lanescope::plan::{Plan, Planned, Request};
use sha2::{Digest, Sha256};

use crate::support::{PRESETS, device_classes, with_matrices};

/// What had another name when the digests were taken: in which experiments, now, then.
const RENAMED: [(&[&str], &str, &str); 2] = [
    (
        &[
            "cache/bandwidth",
            "cache/latency",
            "cache/line",
            "cache/tlb",
            "shared/capacity",
            "shared/latency",
            "workgroup/persistent",
            "workgroup/registers",
        ],
        "\"ITERATIONS\"",
        "\"TURNS\"",
    ),
    (&["peak/roofline"], "\"PAIR_ITERATIONS\"", "\"PAIR_TURNS\""),
];

/// Devices unlike each other, the software drivers among them, and the presets that each is asked at.
fn devices() -> Vec<(DeviceInfo, &'static [Preset])> {
    let own = |text: &str| serde_json::from_str::<DeviceInfo>(text).unwrap();
    let software = [include_str!("devices/lavapipe.json"), include_str!("devices/swiftshader.json")].map(own);
    let mock = |kind| DeviceInfo { kind, ..DeviceInfo::mock() };
    let usual = [DeviceKind::Cpu, DeviceKind::Integrated, DeviceKind::Discrete].map(mock).into_iter().chain(software);
    // These have every feature, and the least of each limit.
    let others = device_classes().into_iter().chain([with_matrices()]);
    usual.map(|device| (device, &PRESETS[..])).chain(others.map(|device| (device, &PRESETS[1..2]))).collect()
}

/// All that is known of a case before it is compiled.
fn dump(planned: &Planned) -> String {
    let Planned { index, experiment, variant, point, cache, case_id, base, work, case } = planned;
    let name = experiment.name();
    let case = case.as_ref().map_or_else(|skip| format!("{skip:?}"), |case| format!("{case:?}"));
    format!("{name} {variant} {point} {cache:?} {case_id} {index:?}\n  base {base:?}\n  work {work:?}\n  {case}\n")
}

#[test]
fn nothing_that_is_planned_moves() {
    let kept = std::env::var_os("LANESCOPE_PLANS");
    let mut plans: BTreeMap<String, (u64, Sha256)> = BTreeMap::new();
    for (device, presets) in &devices() {
        for &preset in *presets {
            for cache in [Cache::Warm, Cache::Cold] {
                let setting = Setting { device, queue: None, preset, seed: 1 };
                let plan = Plan::new(&Request { cache, ..Request::default() }, setting).unwrap();
                // Cold cases are the warm ones with another identity.
                for planned in plan.iter().filter(|planned| cache == Cache::Warm || planned.index.is_some_and(|i| i % 16 == 0))
                {
                    let name = planned.experiment.name();
                    let renamed = RENAMED.iter().filter(|(experiments, ..)| experiments.contains(&name));
                    let text = renamed.fold(dump(&planned), |text, (_, now, then)| text.replace(now, then));
                    if let Some(folder) = &kept {
                        let path = Path::new(folder).join(name.replace('/', "-"));
                        OpenOptions::new().create(true).append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
                    }
                    let (count, digest) = plans.entry(name.to_owned()).or_default();
                    *count += 1;
                    digest.update(text);
                }
            }
        }
    }
    assert!(CATALOGUE.iter().all(|experiment| plans.contains_key(experiment.name())));
    let line = |(name, (count, digest)): (String, (u64, Sha256))| format!("{name} {count} cases {:.16x}", digest.finalize());
    let lines: Vec<String> = plans.into_iter().map(line).collect();
    insta::assert_snapshot!(lines.join("\n"));
}
