//! What is measured on a device: cases of the catalogue, each for a reason.

use crate::error::Error;
use crate::experiments::Setting;
use crate::model::{Case, Preset};
use crate::plan::{Plan, Planned, Request};

/// A case of the catalogue: the first of those that are asked for that the device can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    /// An experiment, or one of its variants, as filters name them.
    pub filter: &'static str,
    /// Values of its axes; the others have their defaults in the overview.
    pub axes: &'static [&'static str],
}

/// A feature that a device advertises, and what does the same without it.
#[derive(Clone, Copy, Debug)]
pub struct Feature {
    pub name: &'static str,
    /// What it is compared with, in words.
    pub plain_name: &'static str,
    pub claimed: Pick,
    pub plain: Pick,
}

const fn pick(filter: &'static str, axes: &'static [&'static str]) -> Pick {
    Pick { filter, axes }
}

const FLOATS: Pick = pick("peak/arith:f32", &["op=fma"]);

/// Features that some drivers offer though they only imitate them.
pub const FEATURES: [Feature; 5] = [
    Feature {
        name: "cooperative matrices",
        plain_name: "multiply-adds of f32",
        claimed: pick("peak/coopmat", &[]),
        plain: FLOATS,
    },
    Feature { name: "packed f16", plain_name: "f32", claimed: pick("peak/arith:f16", &["op=fma", "width=4"]), plain: FLOATS },
    Feature {
        name: "integer dot products",
        plain_name: "multiply-adds of i32",
        claimed: pick("peak/dot:signed", &["op=dot"]),
        plain: pick("peak/arith:i32", &["op=fma"]),
    },
    Feature {
        name: "64-bit atomics",
        plain_name: "a compare-and-swap loop",
        claimed: pick("sync/atomic:used", &["op=add", "type=u64", "contention=distinct"]),
        plain: pick("sync/atomic:used", &["op=add_by_loop", "type=u64", "contention=distinct"]),
    },
    Feature {
        name: "subgroup operations",
        plain_name: "workgroup memory",
        claimed: pick("subgroup/versus_shared:subgroup", &["job=reduce", "local_size_x=256"]),
        plain: pick("subgroup/versus_shared:shared", &["job=reduce", "local_size_x=256"]),
    },
];

/// What is timed in several processes to see whether they agree: arithmetic, memory, and both.
pub const STEADY: [Pick; 3] = [FLOATS, pick("memory/stream", &["op=copy", "width=4"]), pick("shared/bandwidth", &[])];

/// What keeps the device busy while its clocks are watched.
pub const LOAD: Pick = FLOATS;

/// The device's clock over the host's.
pub const CLOCK: Pick = pick("calibration/clock", &[]);

/// Small cases of all that a driver may get wrong: their results are compared with the CPU twins'.
pub const RESULTS: [Pick; 12] = [
    pick("sync/barrier", &["kind=control", "traffic=shared"]),
    pick("sync/atomic:used", &["op=max", "type=u32", "contention=one"]),
    pick("sync/atomic:used", &["op=exchange", "type=u32", "memory=shared", "contention=per_workgroup"]),
    pick("subgroup/ops:u32", &["op=add"]),
    pick("subgroup/ops:u32", &["op=inclusive_add"]),
    pick("subgroup/ops:u32", &["op=shuffle"]),
    pick("subgroup/ops:u32", &["op=ballot"]),
    pick("workgroup/linear", &["local_size_x=48"]),
    pick("memory/dtype", &["type=u8"]),
    pick("memory/dtype", &["type=u16"]),
    pick("memory/dtype", &["type=f16"]),
    pick("algo/scan:look_back", &[]),
];

/// Copies between host and device, the largest that the overview has.
pub const TO_DEVICE: Pick = pick("transfer/copy", &["direction=host_to_device", "by=command"]);
pub const FROM_DEVICE: Pick = pick("transfer/copy", &["direction=device_to_host", "by=command"]);

/// The experiment that fills more and more of the memory, and which of its sizes are tried: a few up to nearly all.
pub const RESIDENCY: &str = "memory/residency";
const SIZES: [usize; 5] = [0, 2, 4, 6, 7];

/// Sizes of memory that are read, the smallest first; none where the device can't be tried so.
pub fn residency(setting: Setting) -> Vec<Planned> {
    let request = Request { filters: vec![RESIDENCY.to_owned()], ..Request::default() };
    let plan = Plan::new(&request, Setting { preset: Preset::Default, ..setting });
    let sizes: Vec<Planned> = plan.iter().flat_map(Plan::iter).collect();
    let is_meant = |place: &usize| SIZES.contains(place);
    sizes.into_iter().enumerate().filter(|(place, size)| is_meant(place) && size.case.is_ok()).map(|(_, size)| size).collect()
}

impl Pick {
    /// The last of the cases that can run: where there are several sizes, the largest.
    /// Errors: names that the catalogue doesn't have.
    pub fn planned(&self, setting: Setting) -> Result<Option<Planned>, Error> {
        let Self { filter, axes } = self;
        let owned = |word: &&str| (*word).to_owned();
        let request = Request { filters: vec![owned(filter)], axes: axes.iter().map(owned).collect(), ..Request::default() };
        Ok(Plan::new(&request, setting)?.iter().filter(|planned| planned.case.is_ok()).last())
    }

    /// As people read it.
    pub fn name(&self) -> String {
        [&[self.filter], self.axes].concat().join(" ")
    }
}

/// What a case does in a pass, in the unit in which those of a feature are compared: arithmetic where it has some, else what it works on.
#[expect(clippy::cast_precision_loss, reason = "a ratio of two is wanted")]
pub fn amount(case: &Case) -> Option<f64> {
    let work = &case.work;
    work.flops.or(work.ops).or(work.items).or(work.bytes).map(|amount| amount as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{DeviceInfo, DeviceKind};

    #[test]
    fn the_catalogue_has_all_that_is_picked() {
        for kind in [DeviceKind::Cpu, DeviceKind::Discrete] {
            let device = DeviceInfo { kind, ..DeviceInfo::mock() };
            let setting = Setting { device: &device, queue: None, preset: Preset::Quick, seed: 1 };
            let of_features = FEATURES.iter().flat_map(|feature| [feature.claimed, feature.plain]);
            let all = of_features.chain(STEADY).chain(RESULTS).chain([CLOCK, LOAD, TO_DEVICE, FROM_DEVICE]);
            for pick in all {
                let planned = pick.planned(setting).unwrap_or_else(|error| panic!("{}: {error}", pick.name()));
                // The mock lacks nearly all features.
                let needs_none = [LOAD, TO_DEVICE, STEADY[1], RESULTS[0], RESULTS[7]].contains(&pick);
                assert!(!needs_none || planned.is_some(), "{}", pick.name());
            }
        }
    }
}
