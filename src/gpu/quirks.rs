//! Known driver faults, as data: what it is called, where it applies, what it does, where it is written down.

use std::borrow::Cow;

use crate::model::{DeviceInfo, Quirk};

type Applies = fn(&DeviceInfo) -> bool;

const QUIRKS: &[(Quirk, Applies)] = &[
    (
        Quirk {
            name: Cow::Borrowed("llvmpipe-loop-cap"),
            what: Cow::Borrowed(
                "an invocation's loops end silently after 65,535 iterations in all (Mesa before 23; the catalogue stays below by \
                 default)",
            ),
            link: Cow::Borrowed(
                "https://gitlab.freedesktop.org/mesa/mesa/-/blob/mesa-22.3.6/src/gallium/auxiliary/gallivm/lp_bld_limits.h",
            ),
            most_iterations: Some(65_535),
            most_reductions: None,
        },
        |device| device.driver.id == "MESA_LLVMPIPE" && mesa_major(&device.driver.info).is_some_and(|major| major < 23),
    ),
    (
        // Nobody has told since which version and up to which one: the results of `subgroup/ops` showed it.
        Quirk {
            name: Cow::Borrowed("nvidia-subgroup-folds"),
            what: Cow::Borrowed(
                "several subgroup reductions or scans in one iteration of a loop give the result of the first of them (seen with \
                 580.159.04; the catalogue has one in an iteration)",
            ),
            link: Cow::Borrowed("glsl/subgroup/arithmetic.glsl"),
            most_iterations: None,
            most_reductions: Some(1),
        },
        |device| device.driver.id == "NVIDIA_PROPRIETARY",
    ),
];

pub(super) fn of(device: &DeviceInfo) -> Vec<Quirk> {
    QUIRKS.iter().filter(|(_, applies)| applies(device)).map(|(quirk, _)| quirk.clone()).collect()
}

/// The major version in Mesa's driver information, such as `Mesa 22.3.6 (LLVM 15.0.6)`.
fn mesa_major(info: &str) -> Option<u32> {
    info.strip_prefix("Mesa ")?.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::DriverIdentity;

    fn device(id: &str, info: &str) -> DeviceInfo {
        DeviceInfo { driver: DriverIdentity { id: id.into(), info: info.into(), ..Default::default() }, ..Default::default() }
    }

    #[test]
    fn the_loop_cap_is_lavapipes_before_23() {
        assert_eq!(of(&device("MESA_LLVMPIPE", "Mesa 22.3.6 (LLVM 15.0.6)"))[0].name, "llvmpipe-loop-cap");
        assert!(of(&device("MESA_LLVMPIPE", "Mesa 25.0.7-2~bpo12+1 (LLVM 15.0.6)")).is_empty());
        assert!(of(&device("MESA_RADV", "Mesa 22.3.6")).is_empty());
    }

    #[test]
    fn reductions_in_a_loop_are_nvidias_own_compilers() {
        let found = of(&device("NVIDIA_PROPRIETARY", "580.159.04"));
        assert_eq!((found.len(), &*found[0].name, found[0].most_reductions), (1, "nvidia-subgroup-folds", Some(1)));
        // Mesa's driver for the same hardware has another compiler.
        assert!(of(&device("MESA_NVK", "Mesa 25.0.7")).is_empty());
        assert!(of(&device("AMD_PROPRIETARY", "580.159.04")).is_empty());
    }
}
