//! Which device a command works on.

use anyhow::Context;

use super::args::Run;
use crate::error::{Error, nearest};
use crate::experiments;
use crate::gpu::{DeviceOptions, Instance, InstanceOptions, NO_DEVICE_ADVICE};
use crate::measure::{Dispatcher, Mock, MockOptions, Vulkan};
use crate::model::{DeviceInfo, DeviceKind};
use crate::validate::Expected;

/// The devices that a run works on, resolved from what the user typed.
pub enum Targets {
    /// Simulated ones.
    Mock {
        /// What each simulates.
        options: Vec<MockOptions>,
        /// What is known about each.
        devices: Vec<DeviceInfo>,
    },
    /// Devices of installed drivers.
    Vulkan {
        /// What they are opened from.
        instance: Box<Instance>,
        /// Each with the queue family asked for.
        devices: Vec<DeviceInfo>,
        /// As asked for.
        queue: Option<u32>,
    },
}

impl Targets {
    /// Resolves `--device`, `--queue`, `--validation` and, since a pair may be of one device, `--paired`.
    ///
    /// # Errors
    /// No loader, no driver, no usable device, or none that is meant.
    pub fn resolve(arguments: &Run) -> anyhow::Result<Self> {
        let Run { device: asked, queue, validation, paired, .. } = arguments;
        let (queue, validation) = (*queue, *validation);
        let mocks: Vec<_> = asked.iter().filter_map(|name| mock_options(name)).collect();
        if !mocks.is_empty() {
            if asked.len() > mocks.len() || (asked.len() > 1 && !paired) || validation || queue.is_some_and(|queue| queue != 0)
            {
                let message = "the mock device is used alone, but in pairs, without --validation, and has queue family 0 only";
                return Err(Error::Usage(message.to_owned()).into());
            }
            let options = mocks.into_iter().collect::<Result<Vec<_>, _>>()?;
            let devices = options.iter().enumerate().map(|(index, options)| options.device_info(index)).collect();
            return Ok(Self::Mock { options, devices });
        }
        let instance = Instance::load(InstanceOptions { validation }).map_err(|error| Error::NoDevice(error.to_string()))?;
        let devices = choose(&instance.devices(), asked, *paired)?;
        for device in &devices {
            check_queue(device, queue)?;
        }
        Ok(Self::Vulkan { instance: Box::new(instance), devices, queue })
    }

    /// The devices.
    pub fn devices(&self) -> &[DeviceInfo] {
        match self {
            Self::Mock { devices, .. } | Self::Vulkan { devices, .. } => devices,
        }
    }

    /// Whether these are simulated.
    pub fn are_mock(&self) -> bool {
        matches!(self, Self::Mock { .. })
    }

    /// Active layers, joined by `;`.
    pub fn layers(&self) -> String {
        match self {
            Self::Mock { .. } => String::new(),
            Self::Vulkan { instance, .. } => instance.layers().join(";"),
        }
    }

    /// What the validation layer said since it was last asked, such as about what a closed device left behind.
    pub fn messages(&self) -> Vec<String> {
        match self {
            Self::Mock { .. } => Vec::new(),
            Self::Vulkan { instance, .. } => instance.message_log().drain(),
        }
    }

    /// Opens one of the devices, with the driver's pipeline statistics or without.
    ///
    /// # Errors
    /// What the driver refused.
    pub fn open(&self, device: &DeviceInfo, seed: u64, statistics: bool) -> anyhow::Result<Box<dyn Dispatcher>> {
        match self {
            Self::Mock { options, .. } => {
                let options = options.get(device.index).cloned().unwrap_or_default();
                let mock = Mock::new(options, seed.wrapping_add(device.index as u64), Box::new(oracle));
                Ok(Box::new(mock.with_statistics(statistics)))
            }
            Self::Vulkan { instance, queue, .. } => {
                let options = DeviceOptions { queue_family: *queue, statistics };
                let opened =
                    instance.open_with(device.index, options).with_context(|| format!("can't open {}", device.name))?;
                Ok(Box::new(Vulkan::new(opened)))
            }
        }
    }
}

fn mock_options(name: &str) -> Option<Result<MockOptions, Error>> {
    let rest = name.strip_prefix("mock")?;
    match rest.strip_prefix(':') {
        Some(options) => Some(MockOptions::parse(options)),
        None => rest.is_empty().then(|| Ok(MockOptions::default())),
    }
}

/// What a right device writes is what the twin says.
fn oracle(case: &crate::model::Case) -> Vec<Vec<u8>> {
    let expected = experiments::find(&case.experiment).map(|experiment| experiment.expected(case)).unwrap_or_default();
    expected.iter().map(Expected::bytes).collect()
}

/// The devices that are meant, in the order asked for, each once unless they are to be paired.
fn choose(all: &[DeviceInfo], asked: &[String], paired: bool) -> Result<Vec<DeviceInfo>, Error> {
    let usable: Vec<&DeviceInfo> = all.iter().filter(|device| device.unusable.is_none()).collect();
    if usable.is_empty() {
        return Err(no_device(all));
    }
    if asked.is_empty() {
        let gpu = usable.iter().find(|device| device.kind != DeviceKind::Cpu);
        return Ok(vec![(*gpu.unwrap_or(&usable[0])).clone()]);
    }
    let mut chosen: Vec<DeviceInfo> = Vec::new();
    for name in asked {
        let found = if name == "all" { usable.clone() } else { vec![find(all, name)?] };
        for device in found {
            if paired || chosen.iter().all(|earlier| earlier.index != device.index) {
                chosen.push(device.clone());
            }
        }
    }
    Ok(chosen)
}

/// The one device with this index, UUID, or part of its name or of its driver's.
fn find<'a>(all: &'a [DeviceInfo], asked: &str) -> Result<&'a DeviceInfo, Error> {
    let lower = asked.to_lowercase();
    let by_index = |device: &&DeviceInfo| asked.parse() == Ok(device.index);
    let by_uuid = |device: &&DeviceInfo| device.device_uuid.to_string() == lower;
    let by_name = |device: &&DeviceInfo| {
        [&device.name, &device.driver.name, &device.driver.info].iter().any(|name| name.to_lowercase().contains(&lower))
    };
    let exact = all.iter().find(by_index).or_else(|| all.iter().find(by_uuid));
    let found: Vec<&DeviceInfo> = exact.map_or_else(|| all.iter().filter(by_name).collect(), |device| vec![device]);
    match found.as_slice() {
        [device] => match &device.unusable {
            None => Ok(device),
            Some(reason) => Err(Error::NoDevice(format!("device {} ({}) can't be used: {reason}", device.index, device.name))),
        },
        [] => Err(Error::Unknown { what: "device", given: asked.to_owned(), nearest: candidates(asked, all) }),
        several => {
            let names: Vec<String> = several.iter().map(|device| described(device)).collect();
            Err(Error::Usage(format!("device `{asked}` could be any of {}: name it by its index", names.join(", "))))
        }
    }
}

/// The nearest names; where none is near, all there are.
fn candidates(asked: &str, all: &[DeviceInfo]) -> Vec<String> {
    let near = nearest(asked, all.iter().map(|device| device.name.as_str()));
    if near.is_empty() { all.iter().map(described).collect() } else { near }
}

fn described(device: &DeviceInfo) -> String {
    format!("{} ({}, {})", device.index, device.name, device.driver.label())
}

fn no_device(all: &[DeviceInfo]) -> Error {
    let reason = |device: &DeviceInfo| format!("{}: {}; ", device.name, device.unusable.as_deref().unwrap_or_default());
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

    fn devices() -> Vec<DeviceInfo> {
        let device = |index, name: &str, kind, unusable: Option<&str>| DeviceInfo {
            index,
            name: name.to_owned(),
            kind,
            unusable: unusable.map(str::to_owned),
            ..DeviceInfo::mock()
        };
        vec![
            device(0, "llvmpipe", DeviceKind::Cpu, None),
            device(1, "Big GPU", DeviceKind::Discrete, None),
            device(2, "Small GPU", DeviceKind::Integrated, None),
            device(3, "Ghost", DeviceKind::Discrete, Some("no memory types")),
        ]
    }

    fn chosen(asked: &[&str]) -> Result<Vec<usize>, String> {
        let asked: Vec<String> = asked.iter().map(ToString::to_string).collect();
        let found = choose(&devices(), &asked, false).map_err(|error| error.to_string())?;
        Ok(found.iter().map(|device| device.index).collect())
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
    }

    #[test]
    fn without_a_device_the_error_says_what_to_do() {
        let error = choose(&[], &[], false).unwrap_err().to_string();
        assert!(error.contains("mesa-vulkan-drivers") && error.contains("VK_DRIVER_FILES"), "{error}");
    }
}
