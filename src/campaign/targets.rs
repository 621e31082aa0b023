//! Which devices a command works on, and how they are opened.

use std::sync::{Arc, Mutex, PoisonError};

use super::settings::Settings;
use super::voice::Voice;
use crate::error::{Error, nearest};
use crate::gpu::NO_DEVICE_ADVICE;
use crate::measure::{Bench, Loss, MockOptions};
use crate::model::{DeviceInfo, DeviceKind, Failure, Feature, Published, QueueChoice};
use crate::worker::questions::{QuestionState, Respondent};
use crate::worker::{self, Deadlines, FoundDevice, Host, Isolated, Listener, Opening, Platform};

pub struct Targets {
    devices: Vec<FoundDevice>,
    loader_layers: Vec<String>,
    access: Access,
}

enum Access {
    Here(Host),
    Apart {
        deadlines: Deadlines,
        listener: Arc<dyn Listener>,
        /// The worker that found the devices, of use for the first that is opened.
        finder: Mutex<Option<Box<Isolated>>>,
    },
}

impl Targets {
    /// Errors: no loader, no driver, no usable device, or none that is meant.
    pub fn resolve(settings: &Settings, voice: &Voice) -> anyhow::Result<Self> {
        let Settings { devices: asked, may_repeat, queue, is_validated, is_robust, .. } = settings;
        let platform = platform(asked, *queue, *is_validated)?;
        let (all, layers, access) = if let Some(deadlines) = settings.isolation {
            let listener = voice.listener();
            let found = worker::find(&platform, deadlines, &listener)?;
            let access = Access::Apart { deadlines, listener, finder: Mutex::new(found.worker.map(Box::new)) };
            (found.devices, found.layers, access)
        } else {
            let host = Host::load(&platform)?;
            let hello = host.hello();
            let place = |info: DeviceInfo| FoundDevice { index: info.index, info, platform: platform.clone() };
            (hello.devices.into_iter().map(place).collect(), hello.layers, Access::Here(host))
        };
        let is_usable_cpu = |place: &FoundDevice| (place.info.unusable.is_none(), place.info.kind == DeviceKind::Cpu);
        let alike: Vec<(bool, bool)> = all.iter().map(is_usable_cpu).collect();
        let devices = choose(all, asked, *may_repeat, Purpose::Run)?;
        let others = alike.into_iter().filter(|of| *of == is_usable_cpu(&devices[0])).count();
        if asked.is_empty() && others > 1 {
            let FoundDevice { info, .. } = &devices[0];
            let kind = if info.kind == DeviceKind::Cpu { "software devices" } else { "GPUs" };
            let (index, name) = (info.index, &info.name);
            voice.progress.note(&format!("device {index} ({name}) is the first of {others} {kind}: -d names another"));
        }
        for FoundDevice { info, .. } in &devices {
            check_queue(info, queue.of(info))?;
            if *is_robust && !info.has(Feature::RobustBufferAccess) {
                return Err(Error::Usage(format!("{} has no robust buffer access: leave out --robust", info.name)).into());
            }
        }
        Ok(Self { devices, loader_layers: layers, access })
    }

    /// Gives devices the limits that the user's own entries have of them.
    pub fn limit(&mut self, own: &Published) {
        self.devices.iter_mut().for_each(|place| place.info.limit(own));
    }

    pub fn devices(&self) -> impl Iterator<Item = &DeviceInfo> {
        self.devices.iter().map(|place| &place.info)
    }

    pub fn device(&self, index: usize) -> &FoundDevice {
        &self.devices[index]
    }

    pub fn are_mock(&self) -> bool {
        self.devices.iter().any(|place| matches!(place.platform, Platform::Mock(_)))
    }

    pub fn layers(&self) -> String {
        self.loader_layers.join(";")
    }

    /// What the validation layer said about what devices left behind that were closed in this process.
    pub fn messages(&self) -> Vec<String> {
        match &self.access {
            Access::Here(host) => host.messages(),
            Access::Apart { .. } => Vec::new(),
        }
    }

    /// Errors: what the driver refused, or that it took its process down.
    pub fn open(&self, device: &FoundDevice, opening: Opening) -> Result<Box<dyn Bench>, Loss> {
        match &self.access {
            Access::Here(host) => Ok(Box::new(host.open(&opening, || {}).map_err(Loss)?)),
            Access::Apart { deadlines, listener, finder } => {
                let found = finder.lock().unwrap_or_else(PoisonError::into_inner).take();
                let worker = match found {
                    Some(worker) => *worker,
                    None => Isolated::start(&device.platform, *deadlines, listener).map_err(|error| Loss(error.into()))?,
                };
                Ok(Box::new(worker.open(&device.info, opening)?))
            }
        }
    }

    pub fn respondent(&self, device: &FoundDevice) -> Result<Respondent<'_>, Failure> {
        match &self.access {
            Access::Here(host) => Ok(Respondent::Here(host, QuestionState::default())),
            Access::Apart { deadlines, listener, .. } => {
                Ok(Respondent::Apart(Box::new(Isolated::start(&device.platform, *deadlines, listener)?)))
            }
        }
    }
}

/// Devices that pipelines are only made for: those that can't run anything count. None is opened.
pub fn for_compiling(asked: &[String], deadlines: Deadlines, listener: &Arc<dyn Listener>) -> Result<Vec<FoundDevice>, Error> {
    let platform = platform(asked, QueueChoice::Usual, false)?;
    choose(worker::find(&platform, deadlines, listener)?.devices, asked, false, Purpose::Compile)
}

/// What is known of one device. It isn't opened.
pub fn info(asked: &str, deadlines: Deadlines, listener: &Arc<dyn Listener>) -> Result<DeviceInfo, Error> {
    let asked = [asked.to_owned()];
    let platform = platform(&asked, QueueChoice::Usual, false)?;
    let chosen = choose(worker::find(&platform, deadlines, listener)?.devices, &asked, false, Purpose::Run)?;
    let only = |[place]: [FoundDevice; 1]| place.info;
    chosen.try_into().map(only).map_err(|_| Error::Usage("one device is meant: name it by its index".to_owned()))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Run,
    /// Making pipelines, for which a device needs no memory.
    Compile,
}

impl Purpose {
    fn is_met(self, device: &DeviceInfo) -> bool {
        device.unusable.is_none() || (self == Self::Compile && device.can_compile())
    }
}

fn platform(asked: &[String], queue: QueueChoice, validation: bool) -> Result<Platform, Error> {
    let mocks: Vec<String> = asked.iter().filter_map(|name| mock_options(name)).collect();
    if mocks.is_empty() {
        return Ok(Platform::Vulkan { validation, driver: None });
    }
    if asked.len() > mocks.len() || validation || matches!(queue, QueueChoice::Family(1..)) {
        let message = "mock devices are used without others, without --validation, and have queue family 0 only";
        return Err(Error::Usage(message.to_owned()));
    }
    // What they are told must be right before a process is started with it.
    mocks.iter().try_for_each(|options| MockOptions::parse(options).map(drop))?;
    Ok(Platform::Mock(mocks))
}

/// Whether simulated devices are meant.
pub fn names_mock(asked: &[String]) -> bool {
    asked.iter().any(|name| mock_options(name).is_some())
}

fn mock_options(name: &str) -> Option<String> {
    let rest = name.strip_prefix("mock")?;
    match rest.strip_prefix(':') {
        Some(options) => Some(options.to_owned()),
        None => rest.is_empty().then(String::new),
    }
}

/// The devices that are meant, in the order asked for, each once unless they are to be paired. Simulated ones are those that were asked for.
fn choose(all: Vec<FoundDevice>, asked: &[String], paired: bool, purpose: Purpose) -> Result<Vec<FoundDevice>, Error> {
    if all.iter().any(|place| matches!(place.platform, Platform::Mock(_))) {
        return Ok(all);
    }
    let usable: Vec<&FoundDevice> = all.iter().filter(|place| purpose.is_met(&place.info)).collect();
    if usable.is_empty() {
        return Err(no_device(&all));
    }
    if asked.is_empty() {
        let gpu = usable.iter().find(|place| place.info.kind != DeviceKind::Cpu);
        return Ok(vec![(*gpu.unwrap_or(&usable[0])).clone()]);
    }
    let mut chosen: Vec<FoundDevice> = Vec::new();
    for name in asked {
        let found = if name == "all" { usable.clone() } else { vec![find(&all, name, purpose)?] };
        for place in found {
            if paired || chosen.iter().all(|earlier| earlier.info.index != place.info.index) {
                chosen.push(place.clone());
            }
        }
    }
    Ok(chosen)
}

/// The one device with this index, UUID, or part of its name or of its driver's. Short numbers are indexes alone: versions have them.
fn find<'a>(all: &'a [FoundDevice], asked: &str, purpose: Purpose) -> Result<&'a FoundDevice, Error> {
    let lower = asked.to_lowercase();
    let by_index = |place: &&FoundDevice| asked.parse() == Ok(place.info.index);
    let by_uuid = |place: &&FoundDevice| place.info.device_uuid.to_string() == lower;
    let is_index = lower.len() < 3 && lower.bytes().all(|byte| byte.is_ascii_digit());
    let by_name = |FoundDevice { info, .. }: &&FoundDevice| {
        if is_index {
            return false;
        }
        [&info.name, &info.driver.name, &info.driver.info].iter().any(|name| name.to_lowercase().contains(&lower))
    };
    let exact = all.iter().find(by_index).or_else(|| all.iter().find(by_uuid));
    let found: Vec<&FoundDevice> = exact.map_or_else(|| all.iter().filter(by_name).collect(), |place| vec![place]);
    match found.as_slice() {
        [place] => match &place.info.unusable {
            Some(reason) if !purpose.is_met(&place.info) => {
                Err(Error::NoDevice(format!("device {} ({}) can't be used: {reason}", place.info.index, place.info.name)))
            }
            _ => Ok(place),
        },
        [] => Err(unknown(asked, all)),
        several => {
            let names: Vec<String> = several.iter().map(|place| described(place)).collect();
            Err(Error::Usage(format!("device `{asked}` could be any of {}: name it by its index", names.join(", "))))
        }
    }
}

/// With the nearest names; where none is near, with all there are.
fn unknown(asked: &str, all: &[FoundDevice]) -> Error {
    let nearest = nearest(asked, all.iter().map(|place| place.info.name.as_str()));
    if nearest.is_empty() {
        let there: Vec<String> = all.iter().map(described).collect();
        return Error::Usage(format!("unknown device `{asked}`; the devices are {}", there.join(", ")));
    }
    Error::Unknown { what: "device", given: asked.to_owned(), nearest }
}

fn described(FoundDevice { info, .. }: &FoundDevice) -> String {
    format!("{} ({}, {})", info.index, info.name, info.driver.label())
}

fn no_device(all: &[FoundDevice]) -> Error {
    let reason =
        |FoundDevice { info, .. }: &FoundDevice| format!("{}: {}; ", info.name, info.unusable.as_deref().unwrap_or_default());
    let unusable: String = all.iter().map(reason).collect();
    Error::NoDevice(format!("{unusable}{NO_DEVICE_ADVICE}"))
}

fn check_queue(device: &DeviceInfo, queue: Option<u32>) -> Result<(), Error> {
    let compute = || device.queues.iter().filter(|family| family.compute).map(|family| family.index);
    match queue {
        Some(queue) if !compute().any(|index| index == queue) => {
            let families: Vec<String> = compute().map(|index| index.to_string()).collect();
            Err(Error::Usage(format!("{} has no compute queue family {queue}; it has {}", device.name, families.join(", "))))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn devices() -> Vec<FoundDevice> {
        let device = |index, name: &str, kind, unusable: Option<&str>| {
            let (name, unusable) = (name.to_owned(), unusable.map(str::to_owned));
            let info = DeviceInfo { index, name, kind, unusable, ..DeviceInfo::mock() };
            FoundDevice { info, index, platform: Platform::Vulkan { validation: false, driver: None } }
        };
        vec![
            device(0, "llvmpipe", DeviceKind::Cpu, None),
            device(1, "Big GPU", DeviceKind::Discrete, None),
            device(2, "Small GPU", DeviceKind::Integrated, None),
            device(3, "Ghost", DeviceKind::Discrete, Some("no memory types")),
        ]
    }

    fn chosen_of(all: Vec<FoundDevice>, asked: &[&str], purpose: Purpose) -> Result<Vec<usize>, String> {
        let asked: Vec<String> = asked.iter().map(ToString::to_string).collect();
        let found = choose(all, &asked, false, purpose).map_err(|error| error.to_string())?;
        Ok(found.iter().map(|place| place.info.index).collect())
    }

    fn chosen(asked: &[&str]) -> Result<Vec<usize>, String> {
        chosen_of(devices(), asked, Purpose::Run)
    }

    #[test]
    fn a_gpu_is_preferred_to_a_processor() {
        assert_eq!(chosen(&[]), Ok(vec![1]));
    }

    #[test]
    fn devices_are_found_by_index_and_part_of_the_name() {
        assert_eq!(chosen(&["2", "llvm", "2"]), Ok(vec![2, 0]));
        assert_eq!(chosen(&["all"]), Ok(vec![0, 1, 2]));
        assert!(chosen(&["gpu"]).unwrap_err().contains("could be any of 1 (Big GPU"));
        assert!(chosen(&["ghost"]).unwrap_err().contains("no memory types"));
        assert!(chosen(&["smal gpu"]).unwrap_err().contains("did you mean Small GPU"));
        let mut versioned = devices();
        versioned[0].info.name = "llvmpipe (LLVM 17.0.6, 256 bits)".to_owned();
        assert!(chosen_of(versioned.clone(), &["7"], Purpose::Run).unwrap_err().starts_with("unknown device `7`"));
        assert_eq!(chosen_of(versioned, &["256"], Purpose::Run), Ok(vec![0]));
        let none = chosen(&["no such thing"]).unwrap_err();
        assert!(
            none.starts_with("unknown device `no such thing`; the devices are 0 (llvmpipe, ") && !none.contains("mean"),
            "{none}"
        );
    }

    #[test]
    fn what_can_not_run_may_still_compile() {
        let mut all = devices();
        let (name, unusable) = ("crashed".to_owned(), Some("SIGSEGV".to_owned()));
        all.push(FoundDevice { info: DeviceInfo { index: 4, name, unusable, ..DeviceInfo::default() }, ..all[0].clone() });
        let chosen = |asked: &str| chosen_of(all.clone(), &[asked], Purpose::Compile);
        assert_eq!(chosen("all"), Ok(vec![0, 1, 2, 3]));
        assert_eq!(chosen("ghost"), Ok(vec![3]));
        assert!(chosen("crashed").unwrap_err().contains("can't be used: SIGSEGV"));
    }

    #[test]
    fn without_a_device_the_error_says_what_to_do() {
        let error = chosen_of(Vec::new(), &[], Purpose::Run).unwrap_err();
        assert!(error.contains("mesa-vulkan-drivers") && error.contains("VK_DRIVER_FILES"), "{error}");
    }
}
