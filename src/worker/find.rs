//! All devices, asked for in a process of its own: some drivers crash when they are asked.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::remote::{Isolated, NoDrivers};
use super::{Deadlines, Platform};
use crate::error::Error;
use crate::model::{DeviceInfo, Failure, Status};
use crate::process::Listener;

/// Variables that name the loader's drivers, in the order in which it looks at them.
const DRIVER_VARIABLES: [&str; 2] = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"];

/// What was found.
pub struct Found {
    /// The loader's Vulkan version.
    pub loader_version: String,
    /// The layers that are known to be active.
    pub layers: Vec<String>,
    /// Every device, and every driver that crashed when it was asked, as a device that can't be used.
    pub devices: Vec<Place>,
    /// The worker that found them, ready for one of its devices; `None` where several had to be asked.
    pub worker: Option<Isolated>,
}

/// A device and where it is to be had.
#[derive(Clone, Debug)]
pub struct Place {
    /// The device; its index counts all that were found.
    pub info: DeviceInfo,
    /// Its index in a process that loads the platform below.
    pub index: usize,
    /// What such a process loads.
    pub platform: Platform,
}

/// Asks for all devices. Where that takes the worker down, each driver is asked in a worker of its own, so that the others can
/// still be used.
///
/// # Errors
/// Where there is no loader or no driver, in words that say what to do.
pub fn find(platform: &Platform, deadlines: Deadlines, listener: &Arc<dyn Listener>) -> Result<Found, Error> {
    let mut asked = Isolated::start(platform, deadlines, listener);
    if matches!(&asked, Err(NoDrivers::Lost(failure)) if failure.status == Status::Crashed) {
        // It may have been by chance; and one by one, devices would have other numbers.
        asked = Isolated::start(platform, deadlines, listener);
    }
    let failure = match asked {
        Ok(worker) => return Ok(Found::by(worker, platform)),
        Err(NoDrivers::Refused(words)) => return Err(Error::NoDevice(words)),
        Err(NoDrivers::Lost(failure)) => failure,
    };
    let Platform::Vulkan { validation, driver: None } = platform else { return Err(Error::NoDevice(failure.reason)) };
    let drivers = manifests();
    listener.said(&format!("the Vulkan drivers took their process down ({}): asking one by one", failure.reason));
    let mut found = Found { loader_version: String::new(), layers: Vec::new(), devices: Vec::new(), worker: None };
    for driver in &drivers {
        let platform = Platform::Vulkan { validation: *validation, driver: Some(driver.clone()) };
        match Isolated::start(&platform, deadlines, listener) {
            Ok(worker) => found.join(Found::by(worker, &platform)),
            Err(NoDrivers::Lost(failure)) => found.add(crashed(driver, &failure), 0, &platform),
            // A driver without a device here is nothing to speak of.
            Err(NoDrivers::Refused(_)) => {}
        }
    }
    if found.devices.is_empty() {
        let reason = failure.reason;
        return Err(Error::NoDevice(format!("asking the Vulkan drivers for their devices failed: {reason}; {ADVICE}")));
    }
    Ok(found)
}

const ADVICE: &str = "name the driver to use by VK_DRIVER_FILES (VK_ICD_FILENAMES for loaders before 1.3.207)";

impl Found {
    fn by(worker: Isolated, platform: &Platform) -> Self {
        let hello = worker.hello();
        let places =
            hello.devices.iter().map(|info| Place { info: info.clone(), index: info.index, platform: platform.clone() });
        Self {
            loader_version: hello.loader_version.clone(),
            layers: hello.layers.clone(),
            devices: places.collect(),
            worker: Some(worker),
        }
    }

    fn join(&mut self, other: Self) {
        self.loader_version = other.loader_version;
        self.layers = other.layers;
        for Place { info, index, platform } in other.devices {
            self.add(info, index, &platform);
        }
    }

    fn add(&mut self, info: DeviceInfo, index: usize, platform: &Platform) {
        let info = DeviceInfo { index: self.devices.len(), ..info };
        self.devices.push(Place { info, index, platform: platform.clone() });
    }
}

/// A driver that can't even be asked, as a device that can't be used.
fn crashed(driver: &Path, failure: &Failure) -> DeviceInfo {
    let name = driver.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let unusable = format!("asking its driver for devices failed: {}: {}", failure.status, failure.reason);
    DeviceInfo { name, unusable: Some(unusable), ..DeviceInfo::default() }
}

/// The manifests of all drivers, as the loader finds them: those that a variable names, else those in the system's folders (see
/// `LoaderDriverInterface.md` of the Vulkan loader). Elsewhere than on Unix they are in a registry, and none is found here.
fn manifests() -> Vec<PathBuf> {
    let named = DRIVER_VARIABLES.iter().find_map(|name| env::var_os(name).filter(|value| !value.is_empty()));
    if let Some(named) = named {
        return env::split_paths(&named).flat_map(|path| if path.is_dir() { in_folder(&path) } else { vec![path] }).collect();
    }
    let home = env::var_os("HOME").map(PathBuf::from);
    let of = |name: &str, default: &str| -> Vec<PathBuf> {
        let value = env::var_os(name).filter(|value| !value.is_empty()).unwrap_or_else(|| default.into());
        env::split_paths(&value).collect()
    };
    let own = |folder: &str| home.iter().map(|home| home.join(folder)).collect::<Vec<_>>();
    let folders = [
        own(".config"),
        of("XDG_CONFIG_DIRS", "/etc/xdg"),
        vec!["/etc".into()],
        own(".local/share"),
        of("XDG_DATA_DIRS", "/usr/local/share:/usr/share"),
    ];
    let mut files: Vec<PathBuf> = folders.concat().iter().flat_map(|folder| in_folder(&folder.join("vulkan/icd.d"))).collect();
    let mut seen = std::collections::HashSet::new();
    files.retain(|file| seen.insert(file.canonicalize().unwrap_or_else(|_| file.clone())));
    files
}

fn in_folder(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "json")).collect();
    files.sort();
    files
}
