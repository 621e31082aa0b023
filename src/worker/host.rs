//! The devices of the installed drivers, or simulated ones, in this process.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::pictures::PictureFolder;
use super::source::{Catalogue, FixedSource, Tuned};
use super::{Platform, placement};
use crate::error::Error;
use crate::experiments::{self, Config, Setting};
use crate::gpu::{DeviceOptions, Instance, InstanceOptions};
use crate::measure::{CaseKey, CaseSource, Dispatcher, LocalBench, LocalOptions, Mock, MockOptions, Timer, Vulkan};
use crate::model::{Case, DeviceInfo, Failure, FilePath, PipelineDetail, Preset, Stage, Status, Uuid};
use crate::shader::Alteration;
use crate::subject::{FixedKernel, KernelSpec, UserKernel};
use crate::units::Nanos;
use crate::validate::Expected;

/// What a process says of itself once its drivers are loaded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    pub loader_version: String,
    /// The layers that are known to be active.
    pub layers: Vec<String>,
    pub devices: Vec<DeviceInfo>,
}

/// Which device is meant, told to a process that finds its devices by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub device_uuid: Uuid,
    /// Identifies its driver: one device may have several.
    pub driver_uuid: Uuid,
    /// Its place in the enumeration, which tells devices apart that are alike in the above.
    pub index: usize,
}

impl Identity {
    /// Of a device that has this place in the other process.
    pub fn at_place(device: &DeviceInfo, index: usize) -> Self {
        Self { device_uuid: device.device_uuid, driver_uuid: device.driver.uuid, index }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Opening {
    pub device: Identity,
    pub queue: Option<u32>,
    pub detail: PipelineDetail,
    pub seed: u64,
    /// On how many threads pipelines are made before they are needed; 0 for one by one, as they are.
    pub compile_threads: usize,
    pub is_robust: bool,
    pub preset: Preset,
    /// In cold mode, how many bytes to evict with.
    pub evict_bytes: Option<u64>,
    pub warm_up: Duration,
    pub max_time: Duration,
    /// How long a submission may take before the device counts as hung, where the supervisor says so.
    pub deadline: Option<Duration>,
    /// Where times come from, if another process has found that out.
    pub timer: Option<Timer>,
    /// The sentinel's time that clocks relate to, if another process or an earlier run has begun the plan.
    #[serde(default)]
    pub sentinel: Option<Nanos>,
    /// Which of the run's processes this is for the device, from 1.
    pub process: u32,
    /// Differs from run to run where buffers are to lie elsewhere in each process of each; `None` where they lie as they come.
    #[serde(default)]
    pub placement: Option<u64>,
    /// The folder for pictures of what cases left behind, which is there.
    #[serde(default)]
    pub dump: Option<FilePath>,
    /// The kernel of the user's that is measured; `None` for the catalogue.
    pub subject: Option<Box<KernelSpec>>,
    /// Kernels that are measured beside the catalogue.
    #[serde(default)]
    pub kernels: Vec<FixedKernel>,
    /// Cases that are otherwise than the catalogue or the user has them. Where there are any, modules say which lines they are from.
    #[serde(default)]
    pub altered: Vec<AlteredCase>,
}

/// A case of the catalogue's or a kernel of the user's that is otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlteredCase {
    /// What stands for it in the place of an experiment.
    pub name: String,
    pub base: CaseKey,
    pub alteration: Alteration,
}

pub enum Host {
    Mock(Vec<MockOptions>),
    Vulkan(Box<Instance>),
}

impl Host {
    /// Errors: where there is no loader, no driver, or what the mock is told can't be read.
    pub fn load(platform: &Platform) -> Result<Self, Error> {
        match platform {
            Platform::Mock(devices) => {
                let options = devices.iter().map(|options| MockOptions::parse(options)).collect::<Result<_, _>>()?;
                Ok(Self::Mock(options))
            }
            Platform::Vulkan { validation, .. } => {
                let instance = Instance::load(InstanceOptions { validation: *validation });
                Ok(Self::Vulkan(Box::new(instance.map_err(|error| Error::NoDevice(error.to_string()))?)))
            }
        }
    }

    pub fn hello(&self) -> Hello {
        match self {
            Self::Mock(options) => {
                let devices = options.iter().enumerate().map(|(index, options)| options.device_info(index)).collect();
                Hello { devices, ..Hello::default() }
            }
            Self::Vulkan(instance) => {
                Hello { loader_version: instance.loader_version(), layers: instance.layers(), devices: instance.devices() }
            }
        }
    }

    /// What the validation layer said since it was last asked, such as about what a closed device left behind.
    pub fn messages(&self) -> Vec<String> {
        match self {
            Self::Mock(_) => Vec::new(),
            Self::Vulkan(instance) => instance.message_log().drain(),
        }
    }

    /// Opens and calibrates a device; tells so, and runs the reference of a kernel of the user's.
    pub fn open(&self, opening: &Opening, mut calibrated: impl FnMut()) -> Result<LocalBench<'static>, Failure> {
        let device = self.device(&opening.device)?;
        let catalogue = Catalogue::new(&device, opening.queue, opening.preset, opening.seed)?;
        let mut catalogue = if opening.altered.is_empty() { catalogue } else { catalogue.with_lines() };
        catalogue.pictures = opening.dump.as_ref().map(|folder| PictureFolder::of(folder, &device));
        let kernels = opening.kernels.iter().map(|kernel| (kernel.name(), FixedSource::new(kernel.clone(), &device)));
        catalogue.kernels = kernels.collect();
        catalogue.altered.clone_from(&opening.altered);
        let tools = catalogue.tools(opening.evict_bytes)?;
        let dispatcher = self.dispatcher(&device, opening)?;
        let source: Box<dyn CaseSource> = match &opening.subject {
            Some(subject) => Box::new(Tuned::new(UserKernel::new((**subject).clone(), device))),
            None => Box::new(catalogue),
        };
        let Opening { warm_up, max_time, timer, sentinel, .. } = *opening;
        // Kernels of the user's are measured warm as well.
        let is_cold = opening.evict_bytes.is_some() && opening.kernels.is_empty();
        let options = LocalOptions { warm_up, max_time, timer, sentinel, is_cold };
        let mut bench = LocalBench::new(dispatcher, tools, source, options)?;
        calibrated();
        bench.learn().map_err(|failure| failure.at(Stage::Reference))?;
        Ok(bench)
    }

    /// The device that is meant: that of the same identity, at the same place if several have it.
    pub(super) fn device(&self, identity: &Identity) -> Result<DeviceInfo, Failure> {
        let devices = self.hello().devices;
        let is_it =
            |device: &&DeviceInfo| device.device_uuid == identity.device_uuid && device.driver.uuid == identity.driver_uuid;
        let at_place = devices.iter().find(|device| device.index == identity.index && is_it(device));
        at_place.or_else(|| devices.iter().find(is_it)).cloned().ok_or_else(|| {
            let reason = format!("the device {} is no longer there", identity.device_uuid);
            Failure::new(Status::DeviceLost, reason)
        })
    }

    fn dispatcher(&self, device: &DeviceInfo, opening: &Opening) -> Result<Box<dyn Dispatcher>, Failure> {
        match self {
            // Its buffers lie nowhere.
            Self::Mock(options) => {
                let options = options.get(device.index).cloned().unwrap_or_default();
                let seed = opening.seed.wrapping_add(device.index as u64);
                let (device, queue, preset, seed_of_data) = (device.clone(), opening.queue, opening.preset, opening.seed);
                let oracle = move |case: &Case| oracle(case, &Setting { device: &device, queue, preset, seed: seed_of_data });
                let mock = Mock::new(options, seed, Box::new(oracle)).in_process(opening.process);
                Ok(Box::new(mock.with_detail(opening.detail)))
            }
            Self::Vulkan(instance) => {
                let Opening { queue: queue_family, detail, is_robust, compile_threads, .. } = *opening;
                let options = DeviceOptions { queue_family, detail, is_robust, compile_threads };
                let mut opened = opened(instance, device, options, opening.deadline)?;
                if let Some(bytes) = placement::displacement(opening, device) {
                    opened.displace(bytes);
                }
                Ok(Box::new(opened))
            }
        }
    }
}

/// Opens a device; a submission that takes longer than this takes it for hung.
pub(super) fn opened(
    instance: &Instance,
    device: &DeviceInfo,
    options: DeviceOptions,
    deadline: Option<Duration>,
) -> Result<Vulkan, Failure> {
    let opened = instance.open_with(device.index, options);
    let mut opened = opened.map_err(|error| Failure::new(error.status(), format!("can't open {}: {error}", device.name)))?;
    if let Some(deadline) = deadline {
        opened.set_timeout(deadline);
    }
    Ok(Vulkan::new(opened))
}

fn oracle(case: &Case, setting: &Setting) -> Vec<Vec<u8>> {
    let config = Config::new(&case.variant, &case.point, setting);
    match experiments::find(&case.experiment).and_then(|experiment| experiment.build(&config).ok()) {
        Some(built) => built.expected().iter().map(Expected::bytes).collect(),
        // What a user's kernel would write, nobody knows; all of its configurations write the same.
        None => case.check.outputs().iter().map(|&output| zeros(case.resources[output].bytes())).collect(),
    }
}

fn zeros(bytes: u64) -> Vec<u8> {
    vec![0; usize::try_from(bytes).unwrap_or(usize::MAX)]
}
