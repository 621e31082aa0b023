//! What processes here load of Vulkan: the loader, drivers, layers, and the variables that change these.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use super::machine::package;
use super::{Fact, Finding, Harm};
use crate::gpu::driver_manifests;
use crate::model::{DeviceInfo, DeviceKind, DriverFile, FilePath, LayerFile, LoadedFiles, Shown};
use crate::process::Listener;
use crate::worker::questions::loaded::FindLoaded;
use crate::worker::{Deadlines, Isolated, NoDrivers, Platform};

/// Folders of the system's: what lies below them names nobody.
const OF_SYSTEM: [&str; 6] = ["/usr/", "/etc/", "/opt/", "/lib", "/nix/", "C:\\Windows\\"];

/// Layers that choose or order devices, and stand between a program and its driver in nothing that is timed.
const HARMLESS: [&str; 3] = ["VK_LAYER_MESA_device_select", "VK_LAYER_NV_optimus", "VK_LAYER_AMD_switchable_graphics"];

/// How variables end that make drivers do something else than usual.
const DEBUGGING: [&str; 4] = ["_DEBUG", "_PERFTEST", "_TRACE", "LP_PERF"];
/// Those that only make somebody say more.
const SAYING_MORE: [&str; 2] = ["VK_LOADER_DEBUG", "MESA_VK_WSI_DEBUG"];

/// What was found by starting processes that load Vulkan.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    pub loader_version: String,
    pub files: LoadedFiles,
    /// All devices of all drivers.
    pub devices: Vec<DeviceInfo>,
    /// Of each driver file, by its place among the files, the devices that it serves; an error where its process died.
    pub served: Vec<Result<Vec<DeviceInfo>, String>>,
    /// Variables that change what drivers, layers and the loader do, as rows have them.
    pub variables: String,
    /// Why no process could load Vulkan, or none found a device.
    pub refusal: Option<String>,
}

impl Loaded {
    /// Asks in worker processes: one with all drivers, and one for each driver by itself.
    pub fn ask(platform: &Platform, deadlines: Deadlines, listener: &Arc<dyn Listener>, variables: String) -> Self {
        let mut loaded = Self { variables, ..Self::default() };
        match Isolated::start(platform, deadlines, listener) {
            Ok(mut worker) => loaded.take(&mut worker),
            Err(NoDrivers::Refused(words)) => loaded.refusal = Some(words),
            // One of them takes all others down: which, shows when each is asked by itself.
            Err(NoDrivers::Lost(_)) => {
                let drivers = driver_manifests().into_iter();
                loaded.files.drivers =
                    drivers.map(|manifest| DriverFile { manifest: Some(manifest.into()), ..DriverFile::default() }).collect();
            }
        }
        let is_lost = loaded.files.loader.is_none() && loaded.refusal.is_none();
        for driver in loaded.files.drivers.clone() {
            let is_asked = is_lost || driver.library.is_some();
            let alone = driver.manifest.as_ref().filter(|_| is_asked).map(|manifest| {
                let platform = Platform::Vulkan { validation: false, driver: Some(manifest.to_path_buf()) };
                Isolated::start(&platform, deadlines, listener)
            });
            let served = match alone {
                Some(Ok(mut worker)) => {
                    if is_lost {
                        loaded.take(&mut worker);
                    }
                    Ok(worker.hello().devices.clone())
                }
                Some(Err(NoDrivers::Lost(failure))) => Err(format!("{}: {}", failure.status, failure.reason)),
                // That of hardware which isn't there.
                None | Some(Err(NoDrivers::Refused(_))) => Ok(Vec::new()),
            };
            loaded.served.push(served);
        }
        loaded
    }

    /// What a process tells that has loaded drivers: all, or one of those that are known by their manifests.
    fn take(&mut self, worker: &mut Isolated) {
        let hello = worker.hello();
        self.loader_version.clone_from(&hello.loader_version);
        self.devices.extend(hello.devices.iter().cloned());
        let LoadedFiles { loader, drivers, layers } = worker.ask(FindLoaded).unwrap_or_default();
        self.files.loader = loader.or(self.files.loader.take());
        for driver in drivers {
            match self.files.drivers.iter_mut().find(|known| known.manifest == driver.manifest && known.manifest.is_some()) {
                Some(known) => *known = driver,
                None => self.files.drivers.push(driver),
            }
        }
        let is_new = |layer: &LayerFile| !self.files.layers.contains(layer);
        self.files.layers.extend(layers.into_iter().filter(is_new).collect::<Vec<_>>());
    }

    pub fn facts(&self) -> Vec<Fact> {
        let mut facts = Vec::new();
        if !self.loader_version.is_empty() {
            let file = self.files.loader.as_ref().map(|file| format!(": {}", with_package(file))).unwrap_or_default();
            facts.push(Fact::new("loader", format!("{}{file}", self.loader_version)));
        }
        let (serving, others): (Vec<_>, Vec<_>) = self
            .files
            .drivers
            .iter()
            .zip(&self.served)
            .partition(|(_, served)| served.as_ref().is_ok_and(|devices| !devices.is_empty()));
        for (driver, served) in serving {
            let mut labels: Vec<&str> = served.iter().flatten().map(|device| device.driver.label()).collect();
            labels.dedup();
            facts.push(Fact::new("driver", format!("{}: {}", described(driver), labels.join(" and "))));
        }
        let idle: Vec<String> =
            others.iter().filter(|(driver, _)| driver.fault.is_none()).map(|(driver, _)| name_of(driver)).collect();
        if !idle.is_empty() {
            facts.push(Fact::new("others", format!("{} (no device here)", idle.join(", "))));
        }
        let layers: Vec<String> =
            self.files.layers.iter().map(|layer| format!("{} ({})", layer.name, with_package(&layer.library))).collect();
        let layers = if layers.is_empty() { "none active".to_owned() } else { layers.join(", ") };
        facts.push(Fact::new("layers", layers));
        let variables = if self.variables.is_empty() { "none" } else { &self.variables };
        facts.push(Fact::new("variables", variables.replace(';', "; ")));
        facts
    }

    pub fn findings(&self) -> Vec<Finding> {
        let files = self.files.drivers.iter().zip(&self.served).filter_map(|(driver, served)| of_driver(driver, served));
        let layers = self.files.layers.iter().filter_map(of_layer);
        self.of_refusal()
            .into_iter()
            .chain(files)
            .chain(several_drivers(&self.devices))
            .chain(layers)
            .chain(of_variables(&self.variables))
            .collect()
    }

    fn of_refusal(&self) -> Option<Finding> {
        let usable = self.devices.iter().any(|device| device.unusable.is_none());
        let words = match &self.refusal {
            Some(words) => words.clone(),
            None if usable => return None,
            None if self.devices.is_empty() => "The loader and its drivers list no device.".to_owned(),
            None => {
                let why = |device: &DeviceInfo| format!("{}: {}.", device.name, device.unusable.as_deref().unwrap_or_default());
                self.devices.iter().map(why).collect::<Vec<_>>().join(" ")
            }
        };
        Some(Finding {
            name: "no-device",
            harm: Harm::NoDevice,
            what: "No Vulkan device can be used.".to_owned(),
            evidence: sentence(&without_folders(&words)),
            advice: "install the loader (libvulkan1 on Debian and Ubuntu) and a driver (mesa-vulkan-drivers has one for the \
                     processor too), or name a driver's manifest by VK_DRIVER_FILES"
                .to_owned(),
        })
    }
}

fn of_driver(driver: &DriverFile, served: &Result<Vec<DeviceInfo>, String>) -> Option<Finding> {
    let name = name_of(driver);
    let (what, evidence) = match (&driver.fault, served) {
        (Some(fault), _) => (format!("The driver {name} isn't loaded."), format!("Its manifest: {fault}.")),
        (None, Err(reason)) => (format!("The driver {name} fails when it is asked for its devices."), sentence(reason)),
        (None, Ok(_)) => return None,
    };
    Some(Finding {
        name: "driver-failed",
        harm: Harm::Missing,
        what,
        evidence: without_folders(&evidence),
        advice: "install the driver's package again, with all that it depends on, or remove its manifest".to_owned(),
    })
}

/// GPUs that more than one driver serves: which of them is measured depends on the order in which the loader finds them.
fn several_drivers(devices: &[DeviceInfo]) -> Vec<Finding> {
    let gpus: Vec<&DeviceInfo> =
        devices.iter().filter(|device| device.kind != DeviceKind::Cpu && device.unusable.is_none()).collect();
    let mut findings: Vec<Finding> = Vec::new();
    for (i, first) in gpus.iter().enumerate() {
        let is_known = gpus[..i].iter().any(|earlier| is_one_gpu(earlier, first));
        let same: Vec<&&DeviceInfo> = gpus[i..].iter().filter(|other| is_one_gpu(first, other)).collect();
        if is_known || same.len() < 2 {
            continue;
        }
        let drivers: Vec<String> =
            same.iter().map(|device| format!("device {} by {}", device.index, device.driver.label())).collect();
        findings.push(Finding {
            name: "several-drivers",
            harm: Harm::WrongFigures,
            what: format!("{} drivers serve one GPU, {}.", same.len(), first.name),
            evidence: format!("It is {}.", drivers.join(", and ")),
            advice: "name the one that you mean by -d; for other programs, by VK_DRIVER_FILES or VK_LOADER_DRIVERS_SELECT"
                .to_owned(),
        });
    }
    findings
}

/// Whether two devices are one GPU. Drivers agree on where it sits; where they don't tell, on its ids, which equal GPUs share, but then
/// not under another driver.
fn is_one_gpu(one: &DeviceInfo, other: &DeviceInfo) -> bool {
    if std::ptr::eq(one, other) {
        return true;
    }
    match (one.pci_address, other.pci_address) {
        (Some(one), Some(other)) => one == other,
        _ => {
            let ids = |device: &DeviceInfo| (device.vendor_id, device.device_id);
            one.device_uuid == other.device_uuid || (ids(one) == ids(other) && one.driver.uuid != other.driver.uuid)
        }
    }
}

fn of_layer(layer: &LayerFile) -> Option<Finding> {
    let name = &layer.name;
    (!HARMLESS.contains(&name.as_str())).then(|| Finding {
        name: "layer-active",
        harm: Harm::WrongFigures,
        what: format!("The layer {name} stands between programs and their driver."),
        evidence: format!("Its library {} is loaded.", file_name(&layer.library)),
        advice: format!("switch it off while you measure: unset VK_INSTANCE_LAYERS, or set VK_LOADER_LAYERS_DISABLE={name}"),
    })
}

fn of_variables(variables: &str) -> Option<Finding> {
    let is_debugging = |variable: &&str| {
        let name = variable.split('=').next().unwrap_or_default();
        DEBUGGING.iter().any(|end| name.ends_with(end)) && !SAYING_MORE.contains(&name)
    };
    let found: Vec<&str> = variables.split(';').filter(is_debugging).collect();
    (!found.is_empty()).then(|| Finding {
        name: "driver-variables",
        harm: Harm::WrongFigures,
        what: "Variables make drivers do something else than usual.".to_owned(),
        evidence: format!("Set: {}.", found.join(", ")),
        advice: "unset them while you measure, unless it is them that you measure".to_owned(),
    })
}

fn described(driver: &DriverFile) -> String {
    let library = driver.library.as_ref().map(with_package);
    match (&driver.manifest, library) {
        (Some(manifest), Some(library)) => format!("{}: {library}", file_name(manifest)),
        (None, Some(library)) => library,
        _ => name_of(driver),
    }
}

fn name_of(driver: &DriverFile) -> String {
    driver.manifest.as_ref().or(driver.library.as_ref()).map(file_name).unwrap_or_default()
}

fn with_package(library: &FilePath) -> String {
    let package = package(library).map(|package| format!(" ({package})"));
    format!("{}{}", file_name(library), package.unwrap_or_default())
}

fn file_name(path: &FilePath) -> String {
    Path::new(path.file_name().unwrap_or(OsStr::new(""))).shown()
}

/// Words in which paths outside of the system's folders are cut down to the files that they name: a folder may bear a user's name.
fn without_folders(words: &str) -> String {
    let cut = |word: &str| {
        let (begin, path) = word.split_at(word.find(['/', '\\']).unwrap_or(word.len()));
        let is_path = path.len() > 1 && (begin.is_empty() || begin.ends_with(['(', ':', '=', '\'', '"']));
        // Windows' have a letter in front.
        let begin = begin
            .strip_suffix(|c: char| c == ':')
            .map_or(begin, |rest| rest.trim_end_matches(|c: char| c.is_ascii_alphabetic()));
        if !is_path || OF_SYSTEM.iter().any(|folder| path.starts_with(folder)) {
            return word.to_owned();
        }
        format!("{begin}{}", path.rsplit(['/', '\\']).next().unwrap_or_default())
    };
    words.split(' ').map(cut).collect::<Vec<_>>().join(" ")
}

/// Words as a sentence of their own.
fn sentence(words: &str) -> String {
    let is_word = words
        .split(' ')
        .next()
        .is_some_and(|word| word.chars().all(|letter| letter.is_ascii_lowercase() || "':".contains(letter)));
    let mut letters = words.chars();
    let first = letters.next().map(|first| if is_word { first.to_ascii_uppercase() } else { first }).map(String::from);
    let first = first.unwrap_or_default();
    let end = if words.ends_with('.') { "" } else { "." };
    first + letters.as_str() + end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{PciAddress, Uuid};

    fn names(loaded: &Loaded) -> Vec<&'static str> {
        loaded.findings().iter().map(|finding| finding.name).collect()
    }

    /// With one device, and nothing wrong.
    fn fine() -> Loaded {
        Loaded { devices: vec![DeviceInfo::mock()], ..Loaded::default() }
    }

    #[test]
    fn a_machine_without_a_usable_device_says_why() {
        assert_eq!(names(&fine()), [""; 0]);
        assert_eq!(names(&Loaded::default()), ["no-device"]);
        let refused = Loaded { refusal: Some("can't read /home/ann/x.json: no".to_owned()), ..Loaded::default() };
        assert_eq!(refused.findings()[0].evidence, "Can't read x.json: no.");
        let unusable = DeviceInfo { unusable: Some("no memory types".to_owned()), ..DeviceInfo::mock() };
        let found = Loaded { devices: vec![unusable], ..Loaded::default() }.findings();
        assert!(found[0].evidence.contains("no memory types"), "{found:?}");
    }

    #[test]
    fn drivers_that_fail_are_named_and_others_are_not() {
        let driver = |fault: Option<&str>, is_foreign| DriverFile {
            manifest: Some("/home/ann/a.json".into()),
            library: None,
            fault: fault.map(str::to_owned),
            is_foreign,
        };
        let mut loaded = fine();
        loaded.files.drivers = vec![driver(None, false), driver(None, true)];
        loaded.served = vec![Ok(Vec::new()), Ok(Vec::new())];
        assert_eq!(names(&loaded), [""; 0], "hardware that isn't there, and another processor's programs");
        assert!(loaded.facts().iter().any(|fact| fact.about == "others" && fact.is.starts_with("a.json, a.json")));
        loaded.served[0] = Err("crashed: SIGSEGV".to_owned());
        assert_eq!(names(&loaded), ["driver-failed"]);
        loaded.files.drivers[1] = driver(Some("it names /home/ann/lib.so, which can't be read"), false);
        let found = loaded.findings();
        assert_eq!(found[1].evidence, "Its manifest: it names lib.so, which can't be read.");
    }

    #[test]
    fn several_drivers_of_one_gpu_are_found_and_equal_gpus_are_not() {
        let gpu = |driver: u8, place: Option<u32>, uuid: u8| {
            let mut gpu = DeviceInfo { kind: DeviceKind::Discrete, device_uuid: Uuid([uuid; 16]), ..DeviceInfo::mock() };
            gpu.driver.uuid = Uuid([driver; 16]);
            gpu.pci_address = place.map(|bus| PciAddress { bus, ..PciAddress::default() });
            gpu
        };
        let count = |gpus: &[DeviceInfo]| several_drivers(gpus).len();
        assert_eq!(count(&[gpu(1, Some(1), 1), gpu(1, Some(2), 2)]), 0, "two equal GPUs");
        assert_eq!(count(&[gpu(1, Some(1), 1), gpu(2, Some(1), 2)]), 1);
        assert_eq!(count(&[gpu(1, None, 1), gpu(2, None, 2)]), 1, "the same ids under two drivers");
        assert_eq!(count(&[gpu(1, None, 1), gpu(1, None, 2)]), 0);
        assert_eq!(count(&[gpu(1, Some(1), 1), gpu(2, Some(1), 1), gpu(1, Some(2), 2), gpu(2, Some(2), 2)]), 2);
        let software = |driver| DeviceInfo { kind: DeviceKind::Cpu, ..gpu(driver, None, 1) };
        assert_eq!(count(&[software(1), software(2), gpu(1, None, 1)]), 0, "software beside others");
        let found = several_drivers(&[gpu(1, Some(1), 1), gpu(2, Some(1), 2)]);
        assert!(found[0].what.starts_with("2 drivers serve one GPU, "), "{found:?}");
    }

    #[test]
    fn layers_and_variables_that_change_figures_are_found() {
        let layer = |name: &str| LayerFile { name: name.to_owned(), library: "/opt/x/liblayer.so".into() };
        let mut loaded = fine();
        loaded.files.layers = vec![layer("VK_LAYER_MESA_device_select")];
        loaded.variables = "LP_NUM_THREADS=2;VK_LOADER_DEBUG=all;VK_DRIVER_FILES=a.json".to_owned();
        assert_eq!(names(&loaded), [""; 0]);
        loaded.files.layers.push(layer("VK_LAYER_KHRONOS_validation"));
        loaded.variables += ";RADV_DEBUG=nooutoforder";
        assert_eq!(names(&loaded), ["layer-active", "driver-variables"]);
    }

    #[test]
    fn paths_lose_their_folders_unless_they_are_the_systems() {
        for (words, expected) in [
            ("it names /home/ann/lib.so, which", "it names lib.so, which"),
            ("/usr/share/vulkan/icd.d/a.json is no JSON", "/usr/share/vulkan/icd.d/a.json is no JSON"),
            (r"can't read C:\Users\ann\a.json: no", "can't read a.json: no"),
            ("and/or 1/2", "and/or 1/2"),
            ("(/root/x/y.so)", "(y.so)"),
        ] {
            assert_eq!(without_folders(words), expected);
        }
    }
}
