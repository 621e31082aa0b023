//! The core clock, as the vendor's own interface tells it: Vulkan doesn't. It says what a figure goes by, and nothing depends on it:
//! where it can't be read there is none, and nothing fails.

use std::fs;
use std::path::{Path, PathBuf};

use crate::model::{DeviceInfo, PciAddress};

use super::nvml::Gpu;

/// The driver that NVIDIA's management library comes with, as `VkDriverId` names it. Of GPUs under others the library knows nothing.
const NVIDIA: &str = "NVIDIA_PROPRIETARY";

const SYSFS: &str = "/sys";

pub(super) enum CoreClock {
    Nvml(Gpu),
    /// Linux' driver of AMD's GPUs, whichever driver of Vulkan's stands upon it.
    Amdgpu(Amdgpu),
}

impl CoreClock {
    /// What tells the core clock of this device, if anything does. May take tens of milliseconds.
    pub(super) fn find(info: &DeviceInfo) -> Option<Self> {
        if info.driver.id == NVIDIA {
            return Gpu::find(info.device_uuid).map(Self::Nvml);
        }
        let address = info.pci_address.filter(|_| cfg!(target_os = "linux"))?;
        Amdgpu::find(Path::new(SYSFS), address).map(Self::Amdgpu)
    }

    /// NVIDIA's library, where it is what tells.
    pub(super) fn nvml(&self) -> Option<&Gpu> {
        match self {
            Self::Nvml(gpu) => Some(gpu),
            Self::Amdgpu(_) => None,
        }
    }

    /// The clock now. NVIDIA's driver renews it every 100 ms.
    pub(super) fn mhz(&self) -> Option<f64> {
        let mhz = match self {
            Self::Nvml(gpu) => gpu.mhz(),
            Self::Amdgpu(gpu) => gpu.mhz(),
        };
        // A clock that stands still belongs to a device that is switched off, and says nothing of one that works.
        mhz.filter(|mhz| mhz.is_finite() && *mhz > 0.0)
    }
}

/// The files in which the kernel's driver `amdgpu` tells the core clock of a GPU, the best first.
pub(super) struct Amdgpu(Vec<ClockFile>);

type ClockFile = (PathBuf, fn(&str) -> Option<f64>);

impl Amdgpu {
    /// By the labels of that driver; those of others have no such files.
    fn find(sysfs: &Path, address: PciAddress) -> Option<Self> {
        let device = sysfs.join("bus/pci/devices").join(address.to_string());
        // `freq1_input` is measured, `pp_dpm_sclk` is the level that was chosen, which older kernels have alone.
        let measured = monitors(&device).into_iter().find(|monitor| label(monitor).as_deref() == Some("sclk"));
        let measured = measured.map(|monitor| (monitor.join("freq1_input"), hertz as fn(&str) -> Option<f64>));
        let level: ClockFile = (device.join("pp_dpm_sclk"), chosen_level);
        let files: Vec<ClockFile> = measured.into_iter().chain([level]).filter(|(path, _)| path.is_file()).collect();
        (!files.is_empty()).then_some(Self(files))
    }

    fn mhz(&self) -> Option<f64> {
        self.0.iter().find_map(|(path, read)| read(&fs::read_to_string(path).ok()?))
    }
}

/// The folders of a device's sensors, of which the kernel counts through all that the system has.
fn monitors(device: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(device.join("hwmon")).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

fn label(monitor: &Path) -> Option<String> {
    let text = fs::read_to_string(monitor.join("freq1_label")).ok()?;
    Some(text.trim().to_owned())
}

/// `1800000000`
fn hertz(text: &str) -> Option<f64> {
    let hertz: f64 = text.trim().parse().ok()?;
    Some(hertz / 1e6)
}

/// A line per level, the one in force with a star: `1: 1200Mhz *`
fn chosen_level(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.trim_end().strip_suffix('*'))?;
    let (_, clock) = line.split_once(':')?;
    clock.trim().to_lowercase().strip_suffix("mhz")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::DriverIdentity;

    const ADDRESS: PciAddress = PciAddress { domain: 0, bus: 0x65, device: 0, function: 0 };
    const LEVELS: &str = "0: 500Mhz \n1: 1200Mhz *\n2: 2100Mhz \n";

    /// A folder as Linux lays it out, with these files of the device at [`ADDRESS`].
    fn sysfs(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join("bus/pci/devices/0000:65:00.0").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn told(files: &[(&str, &str)]) -> Option<f64> {
        let root = sysfs(files);
        CoreClock::Amdgpu(Amdgpu::find(root.path(), ADDRESS)?).mhz()
    }

    #[test]
    fn the_measured_clock_comes_before_the_chosen_level() {
        let measured = [("hwmon/hwmon3/freq1_label", "sclk\n"), ("hwmon/hwmon3/freq1_input", "1836000000\n")];
        assert_eq!(told(&measured), Some(1836.0));
        assert_eq!(told(&[&measured[..], &[("pp_dpm_sclk", LEVELS)]].concat()), Some(1836.0));
        let garbled = [measured[0], ("hwmon/hwmon3/freq1_input", "n/a\n"), ("pp_dpm_sclk", LEVELS)];
        assert_eq!(told(&garbled), Some(1200.0));
    }

    #[test]
    fn a_frequency_of_something_else_is_not_taken() {
        let memory = [("hwmon/hwmon0/freq1_label", "mclk\n"), ("hwmon/hwmon0/freq1_input", "96000000\n")];
        let core = [("hwmon/hwmon4/freq1_label", "sclk\n"), ("hwmon/hwmon4/freq1_input", "500000000\n")];
        assert_eq!(told(&memory), None);
        assert_eq!(told(&[memory, core].concat()), Some(500.0));
        assert_eq!(told(&[("hwmon/hwmon0/freq1_input", "96000000\n")]), None, "without a label");
    }

    #[test]
    fn the_level_in_force_bears_a_star() {
        assert_eq!(told(&[("pp_dpm_sclk", LEVELS)]), Some(1200.0));
        assert_eq!(told(&[("pp_dpm_sclk", "S: 19Mhz *\n0: 500Mhz\n")]), Some(19.0), "asleep");
        for garbage in ["", "\n", "*", "0: 500Mhz\n1: 1200Mhz\n", "1: 1200 *", "1 1200Mhz *", "1: Mhz *", "\u{fffd}: x*"] {
            assert_eq!(told(&[("pp_dpm_sclk", garbage)]), None, "{garbage}");
        }
    }

    #[test]
    fn what_can_be_no_clock_is_none() {
        for garbage in ["", "0\n", "-5\n", "inf", "nan", "12 MHz", "0x10"] {
            let files = [("hwmon/hwmon3/freq1_label", "sclk\n"), ("hwmon/hwmon3/freq1_input", garbage)];
            assert_eq!(told(&files), None, "{garbage}");
        }
    }

    #[test]
    fn a_file_that_goes_is_no_clock() {
        let root = sysfs(&[("pp_dpm_sclk", LEVELS)]);
        let clock = Amdgpu::find(root.path(), ADDRESS).unwrap();
        fs::remove_file(root.path().join("bus/pci/devices/0000:65:00.0/pp_dpm_sclk")).unwrap();
        assert_eq!(clock.mhz(), None);
        assert!(Amdgpu::find(root.path(), ADDRESS).is_none());
        assert!(Amdgpu::find(&root.path().join("absent"), ADDRESS).is_none());
        assert!(Amdgpu::find(root.path(), PciAddress::default()).is_none(), "another device's");
    }

    #[test]
    fn a_device_that_nothing_tells_of_has_no_clock() {
        assert!(CoreClock::find(&DeviceInfo::mock()).is_none());
        let driver = DriverIdentity { id: NVIDIA.to_owned(), ..DriverIdentity::default() };
        let unknown = DeviceInfo { driver, pci_address: Some(ADDRESS), ..DeviceInfo::mock() };
        assert!(CoreClock::find(&unknown).is_none());
    }
}
