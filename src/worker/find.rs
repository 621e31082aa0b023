//! All devices, asked for in a process of its own: some drivers crash when they are asked.

use std::path::Path;
use std::sync::Arc;

use super::remote::{Isolated, NoDrivers};
use super::{Deadlines, Platform};
use crate::error::Error;
use crate::gpu::driver_manifests;
use crate::model::{DeviceInfo, Failure, Status};
use crate::process::Listener;

pub struct FoundDevices {
    pub loader_version: String,
    /// The layers that are known to be active.
    pub layers: Vec<String>,
    /// Every device, and every driver that crashed when it was asked, as a device that can't be used.
    pub devices: Vec<FoundDevice>,
    /// The worker that found them, ready for one of its devices; `None` where several had to be asked.
    pub worker: Option<Isolated>,
}

#[derive(Clone, Debug)]
pub struct FoundDevice {
    /// The device; its index counts all that were found.
    pub info: DeviceInfo,
    /// Its index in a process that loads the platform below.
    pub index: usize,
    pub platform: Platform,
}

/// Asks for all devices. Where that takes the worker down, each driver is asked in a worker of its own: the others can be used.
/// Errors: where there is no loader or no driver, in words that say what to do.
pub fn find(platform: &Platform, deadlines: Deadlines, listener: &Arc<dyn Listener>) -> Result<FoundDevices, Error> {
    let mut asked = Isolated::start(platform, deadlines, listener);
    if matches!(&asked, Err(NoDrivers::Lost(failure)) if failure.status == Status::Crashed) {
        // It may have been by chance; and one by one, devices would have other numbers.
        asked = Isolated::start(platform, deadlines, listener);
    }
    let failure = match asked {
        Ok(worker) => return Ok(FoundDevices::by(worker, platform)),
        Err(NoDrivers::Refused(words)) => return Err(Error::NoDevice(words)),
        Err(NoDrivers::Lost(failure)) => failure,
    };
    let Platform::Vulkan { validation, driver: None } = platform else { return Err(Error::NoDevice(failure.reason)) };
    let drivers = driver_manifests();
    listener.said(&format!("the Vulkan drivers took their process down ({}): asking one by one", failure.reason));
    let mut found = FoundDevices { loader_version: String::new(), layers: Vec::new(), devices: Vec::new(), worker: None };
    for driver in &drivers {
        let platform = Platform::Vulkan { validation: *validation, driver: Some(driver.clone()) };
        match Isolated::start(&platform, deadlines, listener) {
            Ok(worker) => found.join(FoundDevices::by(worker, &platform)),
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

impl FoundDevices {
    fn by(worker: Isolated, platform: &Platform) -> Self {
        let hello = worker.hello();
        let places =
            hello.devices.iter().map(|info| FoundDevice { info: info.clone(), index: info.index, platform: platform.clone() });
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
        for FoundDevice { info, index, platform } in other.devices {
            self.add(info, index, &platform);
        }
    }

    fn add(&mut self, info: DeviceInfo, index: usize, platform: &Platform) {
        let info = DeviceInfo { index: self.devices.len(), ..info };
        self.devices.push(FoundDevice { info, index, platform: platform.clone() });
    }
}

/// A driver that can't even be asked, as a device that can't be used.
fn crashed(driver: &Path, failure: &Failure) -> DeviceInfo {
    let name = driver.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let unusable = format!("asking its driver for devices failed: {}: {}", failure.status, failure.reason);
    DeviceInfo { name, unusable: Some(unusable), ..DeviceInfo::default() }
}
