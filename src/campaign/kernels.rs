//! Kernels of users as experiments, which plans hold beside those of the catalogue.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::experiments::{Build, Built, Config, Experiment, Twin};
use crate::model::{DeviceInfo, Skip};
use crate::subject::{FixedKernel, UserKernel};

/// An experiment with this kernel as its only case. It stays for as long as the process.
pub fn experiment(kernel: FixedKernel) -> &'static Experiment {
    let name: &'static str = Box::leak(kernel.name().into_boxed_str());
    let fingerprint: &'static str = Box::leak(kernel.fingerprint().into_boxed_str());
    // What was compiled for a device is kept.
    let known: Mutex<HashMap<String, UserKernel>> = Mutex::default();
    let build = move |config: &Config| {
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        let own = known.entry(identity(config.device())).or_insert_with(|| kernel.on(config.device()));
        let case = kernel.describe(own).map_err(|failure| Skip::new(failure.reason))?;
        Ok(Built { case, twin: Twin::default() })
    };
    let made = Experiment::made(name, Build::Made(Box::leak(Box::new(build))));
    let experiment = Experiment { fingerprint, ..made };
    Box::leak(Box::new(experiment))
}

fn identity(device: &DeviceInfo) -> String {
    format!("{} {}", device.device_uuid, device.driver.uuid)
}
