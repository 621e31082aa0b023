//! Known driver faults, as data: what it is called, where it applies, what it does, where it is written down.

use crate::model::DeviceInfo;

/// A fault of some driver that changes what a measurement means.
pub(super) struct Quirk {
    /// As `devices` and the flag `quirk:NAME` show it.
    pub(super) name: &'static str,
    /// Whether this device's driver has it.
    applies: fn(&DeviceInfo) -> bool,
    /// What it does. Read by people who look a name up here.
    #[expect(dead_code, reason = "documents the entry; shown once `devices` explains quirks")]
    why: &'static str,
    /// The driver's source, or a thread about it.
    #[expect(dead_code, reason = "documents the entry; shown once `devices` explains quirks")]
    link: &'static str,
}

const QUIRKS: &[Quirk] = &[Quirk {
    name: "llvmpipe-loop-cap",
    applies: |device| device.driver.id == "MESA_LLVMPIPE" && mesa_major(&device.driver.info).is_some_and(|major| major < 23),
    why: "an invocation ends its loops, silently, after 65,535 iterations over all of them (LP_MAX_TGSI_LOOP_ITERATIONS); seen on \
          22.3.6, gone in 25.0.7",
    link: "https://gitlab.freedesktop.org/mesa/mesa/-/blob/mesa-22.3.6/src/gallium/auxiliary/gallivm/lp_bld_limits.h",
}];

/// The names of the faults that apply to a device.
pub(super) fn names(device: &DeviceInfo) -> Vec<String> {
    QUIRKS.iter().filter(|quirk| (quirk.applies)(device)).map(|quirk| quirk.name.to_owned()).collect()
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
        assert_eq!(names(&device("MESA_LLVMPIPE", "Mesa 22.3.6 (LLVM 15.0.6)")), ["llvmpipe-loop-cap"]);
        assert!(names(&device("MESA_LLVMPIPE", "Mesa 25.0.7-2~bpo12+1 (LLVM 15.0.6)")).is_empty());
        assert!(names(&device("MESA_RADV", "Mesa 22.3.6")).is_empty());
    }
}
