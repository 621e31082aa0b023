//! What is recorded of the machine and of the run.

use std::env;
use std::ffi::OsString;
use std::time::UNIX_EPOCH;

use sha2::{Digest, Sha256};
use sysinfo::{CpuRefreshKind, RefreshKind, System};

use crate::digest::{hash64, label};
use crate::platform::now;
use crate::record::{Record, environment};
use crate::units::parse_number;

/// Variables that change what a driver, a layer or the loader does begin like this.
#[rustfmt::skip]
const DRIVER_PREFIXES: &[&str] = &[
    "ACO_", "AMDVLK_", "AMD_DEBUG", "AMD_VULKAN_", "ANV_", "DRI_", "GALLIUM_", "GALLIVM_", "INTEL_COMPUTE_CLASS", "INTEL_DEBUG",
    "INTEL_NO_HW", "INTEL_PRECISE_TRIG", "LIBGL_", "LP_", "LVP_", "MESA_", "NIR_", "NVK_", "DRAW_", "DZN_", "AGX_", "HK_",
    "MVK_", "PANVK_", "PVR_", "RADV_", "TU_", "V3D_", "VK_", "VN_", "__GL_", "__NV_",
];

/// Fills the columns that are the same in all rows of a run on this machine.
pub fn describe_host(row: &mut Record) {
    row.run_id = run_id();
    row.host = System::host_name().unwrap_or_default();
    row.os = system();
    row.cpu_name = processor_name();
    row.cpu_threads = Some(processors() as u64);
    row.environment = variables();
}

/// The operating system, and what kind of processor it runs on.
pub fn system() -> String {
    [System::long_os_version(), Some(env::consts::ARCH.to_owned())].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// The machine's name.
pub fn name() -> String {
    System::host_name().unwrap_or_default()
}

/// The kernel's version.
pub fn kernel() -> String {
    System::kernel_version().unwrap_or_default()
}

/// Logical processors of the machine.
pub fn processors() -> usize {
    System::new_with_specifics(RefreshKind::nothing().with_cpu(CpuRefreshKind::nothing())).cpus().len()
}

/// What the processors are, as the first one says.
pub fn processor_name() -> String {
    let with_processors = System::new_with_specifics(RefreshKind::nothing().with_cpu(CpuRefreshKind::nothing()));
    with_processors.cpus().first().map(|cpu| cpu.brand().trim().to_owned()).unwrap_or_default()
}

/// Variables that change what drivers, layers and the loader do, as rows have them.
pub fn variables() -> String {
    let told = |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.to_string_lossy().into_owned()));
    let variables = env::vars_os().filter_map(told);
    environment(of_drivers(variables))
}

/// Fixed values in place of all that differs from run to run, so that the mock device gives the same bytes anywhere.
pub fn describe_mock_host(row: &mut Record) {
    for word in [&mut row.run_id, &mut row.host, &mut row.os, &mut row.cpu_name, &mut row.loader_version] {
        "mock".clone_into(word);
    }
    row.cpu_threads = Some(1);
}

/// Bytes of the processor's last cache, as Linux tells it; elsewhere nothing portable does.
pub fn last_level_cache() -> Option<u64> {
    let caches = std::fs::read_dir("/sys/devices/system/cpu/cpu0/cache").ok()?;
    let sizes = caches.filter_map(|cache| std::fs::read_to_string(cache.ok()?.path().join("size")).ok());
    sizes.filter_map(|size| parse_number(&format!("{}i", size.trim()))).max()
}

/// A name that no other run on any machine is likely to have.
fn run_id() -> String {
    let now = now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let host = System::host_name().unwrap_or_default();
    label('r', Sha256::new_with_prefix(format!("{now:?} {} {host}", std::process::id())))
}

/// A number that no other run is likely to have.
pub fn number_of_run() -> u64 {
    hash64(&run_id())
}

fn of_drivers(variables: impl Iterator<Item = (String, String)>) -> impl Iterator<Item = (String, String)> {
    variables.filter(|(name, _)| DRIVER_PREFIXES.iter().any(|prefix| name.starts_with(prefix)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_drivers_read_is_kept() {
        let variables = [("LP_NUM_THREADS", "2"), ("HOME", "/root"), ("ACO_DEBUG", "x"), ("GALLIVM_PERF", "nopt")];
        let owned = variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(environment(of_drivers(owned)), "ACO_DEBUG=x;GALLIVM_PERF=nopt;LP_NUM_THREADS=2");
    }
}
