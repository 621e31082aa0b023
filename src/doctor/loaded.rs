//! What processes here load of Vulkan: the loader, drivers, layers, and the variables that change these.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::machine::package;
use super::{Fact, Finding, Harm};
use crate::gpu::driver_manifests;
use crate::model::{DeviceInfo, DeviceKind, DriverFile, Failure, FilePath, LayerFile, LoadedFiles, Shown, Status};
use crate::process::Listener;
use crate::worker::questions::loaded::FindLoaded;
use crate::worker::{Deadlines, Isolated, NoDrivers, Platform};

/// What stands before a process's last words.
const LAST_WORDS: &str = "; its last words: ";

/// Layers that choose or order devices, and stand between a program and its driver in nothing that is timed.
const HARMLESS: [&str; 3] = ["VK_LAYER_MESA_device_select", "VK_LAYER_NV_optimus", "VK_LAYER_AMD_switchable_graphics"];

/// How variables end that make drivers do something else than usual.
const DEBUGGING: [&str; 5] = ["_DEBUG", "_PERFTEST", "_TRACE", "_PERF", "LP_NATIVE_VECTOR_WIDTH"];
/// Those that only make somebody say more.
const SAYING_MORE: [&str; 3] = ["VK_LOADER_DEBUG", "MESA_VK_WSI_DEBUG", "MESA_DEBUG"];

/// What was found by starting processes that load Vulkan.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    pub loader_version: String,
    pub files: LoadedFiles,
    /// All devices of all drivers.
    pub devices: Vec<DeviceInfo>,
    /// Of each driver file, by its place among the files, the devices that it serves, where it was asked by itself; an error where its
    /// process died.
    pub served: Vec<Option<Result<Vec<DeviceInfo>, String>>>,
    /// Variables that change what drivers, layers and the loader do, as rows have them.
    pub variables: String,
    /// Why no process could load Vulkan, or none found a device.
    pub refusal: Option<String>,
    /// Why the process died that loaded all drivers.
    pub loss: Option<String>,
    /// Whether it died because it said nothing for too long.
    pub hangs: bool,
    /// Why it can't be told what is loaded.
    pub untold: Option<String>,
}

impl Loaded {
    /// Asks in worker processes: one with all drivers, and one for each driver by itself.
    pub fn ask(platform: &Platform, deadlines: Deadlines, listener: &Arc<dyn Listener>, variables: String) -> Self {
        let mut loaded = Self { variables, ..Self::default() };
        match Isolated::start(platform, deadlines, listener) {
            Ok(mut worker) => loaded.take(&mut worker),
            Err(NoDrivers::Refused(words)) => loaded.refusal = Some(words),
            Err(NoDrivers::Lost(failure)) => {
                loaded.hangs = failure.status == Status::Timeout;
                loaded.loss = Some(told(&failure));
            }
        }
        // What takes all of them down may be one: each is asked by itself.
        let is_down = loaded.refusal.is_some() || loaded.loss.is_some();
        if is_down {
            let of = |manifest: PathBuf| DriverFile { manifest: Some(manifest.into()), ..DriverFile::default() };
            loaded.files.drivers = driver_manifests().into_iter().map(of).collect();
        }
        for driver in loaded.files.drivers.clone() {
            // The loader may take what looks wrong here.
            let is_asked = is_down || driver.library.is_some() || driver.fault.is_some();
            let alone = driver.manifest.as_ref().filter(|_| is_asked).map(|manifest| {
                let platform = Platform::Vulkan { validation: false, driver: Some(manifest.to_path_buf()) };
                Isolated::start(&platform, deadlines, listener)
            });
            let served = alone.map(|alone| match alone {
                Ok(mut worker) => {
                    if is_down {
                        loaded.take(&mut worker);
                    }
                    Ok(worker.hello().devices.clone())
                }
                Err(NoDrivers::Lost(failure)) => Err(told(&failure)),
                // Where it is the only one, that was said.
                Err(NoDrivers::Refused(words)) if loaded.refusal.is_some() && loaded.files.drivers.len() > 1 => {
                    Err(without_call(&words))
                }
                // That of hardware which isn't there.
                Err(NoDrivers::Refused(_)) => Ok(Vec::new()),
            });
            loaded.served.push(served);
        }
        loaded
    }

    /// What a process tells that has loaded drivers: all, or one of those that are known by their manifests.
    fn take(&mut self, worker: &mut Isolated) {
        let hello = worker.hello();
        self.loader_version.clone_from(&hello.loader_version);
        self.devices.extend(hello.devices.iter().cloned());
        let found = worker.ask(FindLoaded).map_err(|failure| self.untold = Some(told(&failure)));
        let LoadedFiles { loader, drivers, layers } = found.unwrap_or_default();
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

    /// The devices that can be used.
    pub fn usable(&self) -> Vec<&DeviceInfo> {
        self.devices.iter().filter(|device| device.unusable.is_none()).collect()
    }

    pub fn facts(&self) -> Vec<Fact> {
        let mut facts = Vec::new();
        if !self.loader_version.is_empty() {
            let file = self.files.loader.as_ref().map(|file| format!(": {}", with_package(file))).unwrap_or_default();
            facts.push(Fact::new("loader", format!("{}{file}", self.loader_version)));
        }
        let mut idle = Vec::new();
        for (driver, served) in self.files.drivers.iter().zip(&self.served) {
            let labels = served.iter().flatten().flatten().map(|device| device.driver.label());
            let mut labels: Vec<&str> = labels.collect();
            labels.dedup();
            match (labels.as_slice(), &driver.manifest) {
                ([], None) => facts.push(Fact::new("driver", described(driver))),
                ([], Some(_)) if driver.fault.is_some() => {}
                ([], Some(_)) if driver.library.is_none() => idle.push(format!("{} (not loaded)", name_of(driver))),
                ([], Some(_)) => idle.push(name_of(driver)),
                _ => facts.push(Fact::new("driver", format!("{}: {}", described(driver), labels.join(" and ")))),
            }
        }
        if !idle.is_empty() {
            facts.push(Fact::new("others", format!("without a device here: {}", idle.join(", "))));
        }
        let layers: Vec<String> = self
            .files
            .layers
            .iter()
            .map(|layer| format!("{} ({}{})", layer.name, with_package(&layer.library), harmless(layer)))
            .collect();
        let layers = match (&self.files.loader, &self.untold) {
            (_, Some(why)) => format!("can't be told: {why}"),
            (None, _) => "can't be told here".to_owned(),
            _ if layers.is_empty() => "none active".to_owned(),
            _ => layers.join(", "),
        };
        facts.push(Fact::new("layers", layers));
        let variables = if self.variables.is_empty() { "none" } else { &self.variables };
        facts.push(Fact::new("variables", variables.replace(';', "; ")));
        facts
    }

    pub fn findings(&self) -> Vec<Finding> {
        let files =
            self.files.drivers.iter().zip(&self.served).filter_map(|(driver, served)| self.of_driver(driver, served.as_ref()));
        let layers = self.files.layers.iter().filter_map(|layer| self.of_layer(layer));
        self.of_refusal()
            .into_iter()
            .chain(files)
            .chain(self.of_clash())
            .chain(self.of_unknown_variable())
            .chain(self.several_drivers())
            .chain(layers)
            .chain(of_variables(&self.variables))
            .collect()
    }

    fn of_driver(&self, driver: &DriverFile, served: Option<&Result<Vec<DeviceInfo>, String>>) -> Option<Finding> {
        let name = name_of(driver);
        let (what, evidence) = match (&driver.fault, served) {
            // Whatever is wrong with it, the loader takes it.
            (Some(_), Some(Ok(devices))) if !devices.is_empty() => return None,
            (Some(fault), _) => (format!("The driver {name} isn't loaded."), format!("Its manifest: {fault}.")),
            (None, Some(Err(reason))) => {
                (format!("The driver {name} fails when it is asked for its devices."), sentence(reason))
            }
            (None, None) if self.is_left_out(driver) => (
                format!("The loader doesn't take the driver {name}, though a variable names it."),
                "Its library can be loaded, and isn't.".to_owned(),
            ),
            (None, _) => return None,
        };
        let or = self.chosen_by().map_or("remove its manifest".to_owned(), |variable| format!("take it out of {variable}"));
        Some(Finding {
            name: "driver-failed",
            harm: Harm::Missing,
            what,
            evidence,
            advice: format!("install the driver's package again, with all that it depends on, or {or}"),
            ..Finding::default()
        })
    }

    /// Drivers that work alone, and not beside each other: their libraries may need others of one name.
    fn of_clash(&self) -> Option<Finding> {
        let is_known = self.served.iter().any(|served| matches!(served, Some(Err(_))));
        let loss = self.loss.as_ref().filter(|_| !is_known)?;
        Some(Finding {
            name: "drivers-clash",
            harm: Harm::WrongFigures,
            what: "Drivers that work by themselves crash when they are loaded together.".to_owned(),
            evidence: sentence(loss),
            advice: "name the driver to use by VK_DRIVER_FILES, and remove one of two builds of the same driver".to_owned(),
            ..Finding::default()
        })
    }

    /// Loaders before 1.3.207 don't look at the variable, and load the system's drivers.
    fn of_unknown_variable(&self) -> Option<Finding> {
        let has = |name: &str| self.variables.split(';').any(|variable| variable.starts_with(name));
        (self.is_loader_before([1, 3, 207]) && has("VK_DRIVER_FILES=") && !has("VK_ICD_FILENAMES=")).then(|| Finding {
            name: "variable-unknown",
            harm: Harm::WrongFigures,
            what: "The loader doesn't know VK_DRIVER_FILES, and loads other drivers than that names.".to_owned(),
            evidence: format!("It is of version {}; 1.3.207 was the first to know it.", self.loader_version),
            advice: "set VK_ICD_FILENAMES to the same".to_owned(),
            ..Finding::default()
        })
    }

    fn of_refusal(&self) -> Option<Finding> {
        let usable = self.devices.iter().any(|device| device.unusable.is_none());
        let words = match (&self.refusal, &self.loss) {
            (Some(words), _) => without_call(words),
            (None, _) if usable => return None,
            (None, Some(loss)) => loss.clone(),
            (None, None) if self.devices.is_empty() => "The loader and its drivers list no device.".to_owned(),
            (None, None) => {
                let why = |device: &DeviceInfo| format!("{}: {}.", device.name, device.unusable.as_deref().unwrap_or_default());
                self.devices.iter().map(why).collect::<Vec<_>>().join(" ")
            }
        };
        Some(Finding {
            name: "no-device",
            harm: Harm::NoDevice,
            what: "No Vulkan device can be used.".to_owned(),
            evidence: sentence(&words),
            advice: match self.chosen_by() {
                Some(variable) => format!("correct {variable}, or unset it to use the drivers that are installed"),
                None => {
                    "install the loader (libvulkan1 on Debian and Ubuntu) and a driver (mesa-vulkan-drivers has one for the \
                         processor too), or name a driver's manifest by VK_DRIVER_FILES"
                        .to_owned()
                }
            },
            ..Finding::default()
        })
    }

    fn several_drivers(&self) -> Vec<Finding> {
        let libraries = |gpu: &DeviceInfo| {
            let files = self.files.drivers.iter().zip(&self.served);
            let serves = |served: &Option<Result<Vec<DeviceInfo>, String>>| {
                served.iter().flatten().flatten().any(|device| is_one_gpu(device, gpu))
            };
            let libraries = files.filter(|(_, served)| serves(served)).map(|(driver, _)| &driver.library);
            // A registry's drivers weren't asked one by one.
            match libraries.collect::<HashSet<_>>().len() {
                0 => usize::MAX,
                count => count,
            }
        };
        several_drivers(&self.devices, libraries, self.loss.is_none() && self.refusal.is_none())
    }

    fn of_layer(&self, layer: &LayerFile) -> Option<Finding> {
        let name = &layer.name;
        // One without a manifest has no name that the loader knows; older loaders know no variable for it.
        let other = match self.is_loader_before([1, 3, 234]) {
            true => "set the variable that its manifest names (disable_environment)".to_owned(),
            false if name.starts_with("VK_LAYER_") => format!("set VK_LOADER_LAYERS_DISABLE={name}"),
            false => "set VK_LOADER_LAYERS_DISABLE=~all~".to_owned(),
        };
        (!HARMLESS.contains(&name.as_str())).then(|| Finding {
            name: "layer-active",
            harm: Harm::WrongFigures,
            what: format!("The layer {name} stands between programs and their driver."),
            evidence: format!("Its library {} is loaded.", file_name(&layer.library)),
            advice: format!("switch it off while you measure: unset VK_INSTANCE_LAYERS, or {other}"),
            ..Finding::default()
        })
    }

    fn is_loader_before(&self, version: [u32; 3]) -> bool {
        let own: Vec<u32> = self.loader_version.split('.').filter_map(|part| part.parse().ok()).collect();
        own.len() == 3 && own[..] < version[..]
    }

    /// Whether the loader passes over a driver that is named to it.
    fn is_left_out(&self, driver: &DriverFile) -> bool {
        let is_named = matches!(self.chosen_by(), Some("VK_DRIVER_FILES" | "VK_ICD_FILENAMES"));
        let is_chosen_by_name = self.variables.split(';').any(|set| set.starts_with("VK_LOADER_DRIVERS_"));
        let is_down = self.loss.is_some() || self.refusal.is_some();
        is_named && !is_chosen_by_name && !is_down && driver.library.is_none() && self.of_unknown_variable().is_none()
    }

    /// The variable that says which drivers the loader looks at, where one does.
    fn chosen_by(&self) -> Option<&'static str> {
        let is_set = |name: &&str| self.variables.split(';').any(|set| set.split('=').next() == Some(*name));
        let choosing = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES", "VK_LOADER_DRIVERS_SELECT", "VK_LOADER_DRIVERS_DISABLE"];
        choosing.into_iter().find(is_set)
    }
}

fn harmless(layer: &LayerFile) -> &'static str {
    if HARMLESS.contains(&layer.name.as_str()) { "; harmless" } else { "" }
}

/// Why the loader refused, without the call that failed: what is to do is said apart.
fn without_call(words: &str) -> String {
    words.split(" (vk").next().unwrap_or_default().to_owned()
}

/// Without what a process printed last: a driver's log may name anything.
pub(super) fn told(Failure { status, reason, .. }: &Failure) -> String {
    format!("{status}: {}", reason.split(LAST_WORDS).next().unwrap_or_default())
}

/// GPUs that more than one driver serves: which of them is measured depends on the order in which the loader finds them. `libraries`
/// says how many libraries serve one; a driver may be named twice. Where drivers were asked one by one, devices have no numbers.
fn several_drivers(devices: &[DeviceInfo], libraries: impl Fn(&DeviceInfo) -> usize, are_numbered: bool) -> Vec<Finding> {
    let gpus: Vec<&DeviceInfo> =
        devices.iter().filter(|device| device.kind != DeviceKind::Cpu && device.unusable.is_none()).collect();
    let mut findings: Vec<Finding> = Vec::new();
    for (i, first) in gpus.iter().enumerate() {
        let is_known = gpus[..i].iter().any(|earlier| is_one_gpu(earlier, first));
        let same: Vec<&&DeviceInfo> = gpus[i..].iter().filter(|other| is_one_gpu(first, other)).collect();
        if is_known || same.len() < 2 || libraries(first) < 2 {
            continue;
        }
        let called = |device: &DeviceInfo| if are_numbered { format!("device {} by ", device.index) } else { String::new() };
        let drivers: Vec<String> = same.iter().map(|device| format!("{}{}", called(device), device.driver.label())).collect();
        findings.push(Finding {
            name: "several-drivers",
            harm: Harm::WrongFigures,
            what: format!("{} drivers serve one GPU, {}.", same.len(), first.name),
            evidence: format!("It is served by {}.", drivers.join(", and ")).replace("served by device", "device"),
            advice: "name the one that you mean by -d; for other programs, by VK_DRIVER_FILES or VK_LOADER_DRIVERS_SELECT"
                .to_owned(),
            ..Finding::default()
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

fn of_variables(variables: &str) -> Option<Finding> {
    let is_debugging = |variable: &&str| {
        let Some((name, _)) = variable.split_once('=').filter(|(_, value)| !value.is_empty()) else { return false };
        DEBUGGING.iter().any(|end| name.ends_with(end)) && !SAYING_MORE.contains(&name)
    };
    let found: Vec<&str> = variables.split(';').filter(is_debugging).collect();
    (!found.is_empty()).then(|| Finding {
        name: "driver-variables",
        harm: Harm::WrongFigures,
        what: "Variables make drivers do something else than usual.".to_owned(),
        evidence: format!("Set: {}.", found.join(", ")),
        advice: "unset them, unless you mean to measure with them".to_owned(),
        ..Finding::default()
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

/// Words as a sentence of their own.
fn sentence(words: &str) -> String {
    let is_word = words
        .split(' ')
        .next()
        .is_some_and(|word| word.chars().all(|letter| letter.is_ascii_lowercase() || "':".contains(letter)));
    let mut letters = words.chars();
    let first = letters.next().map(|first| if is_word { first.to_ascii_uppercase() } else { first }).map(String::from);
    let first = first.unwrap_or_default();
    let end = if words.ends_with(['.', '?', '!']) { "" } else { "." };
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
        let refused = Loaded { refusal: Some("can't read x.json: no".to_owned()), ..Loaded::default() };
        assert_eq!(refused.findings()[0].evidence, "Can't read x.json: no.");
        assert!(refused.findings()[0].advice.starts_with("install the loader"));
        let named = Loaded { variables: "VK_DRIVER_FILES=x.json".to_owned(), ..refused };
        assert!(named.findings()[0].advice.starts_with("correct VK_DRIVER_FILES"));
        let lost = Loaded { loss: Some("crashed: SIGSEGV".to_owned()), ..Loaded::default() };
        assert!(lost.findings().iter().any(|finding| finding.evidence.contains("SIGSEGV")));
        let unusable = DeviceInfo { unusable: Some("no memory types".to_owned()), ..DeviceInfo::mock() };
        let found = Loaded { devices: vec![unusable], ..Loaded::default() }.findings();
        assert!(found[0].evidence.contains("no memory types"), "{found:?}");
    }

    #[test]
    fn drivers_that_fail_are_named_and_others_are_not() {
        let driver = |fault: Option<&str>, library: Option<&str>| DriverFile {
            manifest: Some("/home/ann/a.json".into()),
            library: library.map(FilePath::from),
            fault: fault.map(str::to_owned),
        };
        let mut loaded = fine();
        loaded.files.drivers = vec![driver(None, Some("/x/a.so")), driver(None, None)];
        loaded.served = vec![Some(Ok(Vec::new())), None];
        assert_eq!(names(&loaded), [""; 0], "hardware that isn't there, and what a variable leaves out");
        let is_told = |fact: &Fact| fact.is == "without a device here: a.json, a.json (not loaded)";
        assert!(loaded.facts().iter().any(is_told), "{:?}", loaded.facts());
        loaded.loss = Some("crashed: SIGSEGV".to_owned());
        assert_eq!(names(&loaded), ["drivers-clash"]);
        loaded.served[0] = Some(Err("crashed: SIGSEGV".to_owned()));
        assert_eq!(names(&loaded), ["driver-failed"]);
        loaded.files.drivers[1] = driver(Some("it names lib.so, which can't be read"), None);
        let found = loaded.findings();
        assert_eq!(found[1].evidence, "Its manifest: it names lib.so, which can't be read.");
        let mut taken = fine();
        taken.files.drivers = vec![driver(Some("it is no JSON"), None)];
        taken.served = vec![Some(Ok(vec![DeviceInfo::mock()]))];
        assert_eq!(names(&taken), [""; 0], "the loader takes it all the same");
        taken.files.drivers = vec![driver(None, None)];
        taken.served = vec![None];
        for (variables, expected) in [
            ("", None),
            ("VK_DRIVER_FILES=a.json", Some("driver-failed")),
            ("VK_DRIVER_FILES=a.json;VK_LOADER_DRIVERS_SELECT=b*", None),
        ] {
            variables.clone_into(&mut taken.variables);
            assert_eq!(names(&taken).first().copied(), expected, "{variables}");
        }
    }

    #[test]
    fn drivers_of_a_registry_are_told_and_layers_without_a_name_too() {
        let mut loaded = fine();
        loaded.files.drivers = vec![DriverFile { library: Some("C:/Windows/nvoglv64.dll".into()), ..DriverFile::default() }];
        loaded.served = vec![None];
        let facts = loaded.facts();
        assert!(facts.iter().any(|fact| fact.about == "driver" && fact.is == "nvoglv64.dll"), "{facts:?}");
        assert!(facts.iter().any(|fact| fact.about == "layers" && fact.is == "can't be told here"), "{facts:?}");
        loaded.files.layers = vec![LayerFile { name: "overlay.dll".to_owned(), library: "overlay.dll".into() }];
        assert!(loaded.findings()[0].advice.ends_with("VK_LOADER_LAYERS_DISABLE=~all~"));
        loaded.loader_version = "1.3.204".to_owned();
        assert!(loaded.findings()[0].advice.ends_with("(disable_environment)"), "an older loader");
    }

    #[test]
    fn a_variable_that_the_loader_does_not_know_is_found() {
        let of = |loader: &str, variables: &str| {
            names(&Loaded { loader_version: loader.to_owned(), variables: variables.to_owned(), ..fine() })
        };
        assert_eq!(of("1.3.204", "VK_DRIVER_FILES=a.json"), ["variable-unknown"]);
        assert_eq!(of("1.3.239", "VK_DRIVER_FILES=a.json"), [""; 0]);
        assert_eq!(of("1.3.204", "VK_DRIVER_FILES=a.json;VK_ICD_FILENAMES=a.json"), [""; 0]);
    }

    #[test]
    fn several_drivers_of_one_gpu_are_found_and_equal_gpus_are_not() {
        let gpu = |driver: u8, place: Option<u32>, uuid: u8| {
            let mut gpu = DeviceInfo { kind: DeviceKind::Discrete, device_uuid: Uuid([uuid; 16]), ..DeviceInfo::mock() };
            gpu.driver.uuid = Uuid([driver; 16]);
            gpu.pci_address = place.map(|bus| PciAddress { bus, ..PciAddress::default() });
            gpu
        };
        let count = |gpus: &[DeviceInfo]| several_drivers(gpus, |_| 2, true).len();
        assert_eq!(count(&[gpu(1, Some(1), 1), gpu(1, Some(2), 2)]), 0, "two equal GPUs");
        assert_eq!(count(&[gpu(1, Some(1), 1), gpu(2, Some(1), 2)]), 1);
        assert_eq!(count(&[gpu(1, None, 1), gpu(2, None, 2)]), 1, "the same ids under two drivers");
        assert_eq!(count(&[gpu(1, None, 1), gpu(1, None, 2)]), 0);
        assert_eq!(count(&[gpu(1, Some(1), 1), gpu(2, Some(1), 1), gpu(1, Some(2), 2), gpu(2, Some(2), 2)]), 2);
        let software = |driver| DeviceInfo { kind: DeviceKind::Cpu, ..gpu(driver, None, 1) };
        assert_eq!(count(&[software(1), software(2), gpu(1, None, 1)]), 0, "software beside others");
        let two = [gpu(1, Some(1), 1), gpu(2, Some(1), 2)];
        let found = several_drivers(&two, |_| 2, true);
        assert!(found[0].what.starts_with("2 drivers serve one GPU, "), "{found:?}");
        assert!(found[0].evidence.starts_with("It is device 0 by "), "{found:?}");
        assert!(!several_drivers(&two, |_| 2, false)[0].evidence.contains("device 0"), "asked one by one");
        let mut loaded = Loaded { devices: vec![two[0].clone(), two[0].clone()], ..Loaded::default() };
        let by = |library: &str| DriverFile { library: Some(library.into()), ..DriverFile::default() };
        loaded.served = vec![Some(Ok(vec![two[0].clone()])), Some(Ok(vec![two[0].clone()]))];
        loaded.files.drivers = vec![by("/x/a.so"), by("/x/a.so")];
        assert_eq!(names(&loaded), [""; 0], "one driver, named twice");
        loaded.files.drivers[1] = by("/x/b.so");
        assert_eq!(names(&loaded), ["several-drivers"]);
    }

    #[test]
    fn layers_and_variables_that_change_figures_are_found() {
        let layer = |name: &str| LayerFile { name: name.to_owned(), library: "/opt/x/liblayer.so".into() };
        let mut loaded = fine();
        loaded.files.layers = vec![layer("VK_LAYER_MESA_device_select")];
        loaded.variables = "LP_NUM_THREADS=2;VK_LOADER_DEBUG=all;VK_DRIVER_FILES=a.json;RADV_DEBUG=".to_owned();
        assert_eq!(names(&loaded), [""; 0]);
        for debugging in ["GALLIVM_PERF=nopt", "LP_NATIVE_VECTOR_WIDTH=128", "LVP_DEBUG=x"] {
            loaded.variables = debugging.to_owned();
            assert_eq!(names(&loaded), ["driver-variables"], "{debugging}");
        }
        loaded.variables.clear();
        loaded.files.layers.push(layer("VK_LAYER_KHRONOS_validation"));
        loaded.variables += "RADV_DEBUG=nooutoforder";
        assert_eq!(names(&loaded), ["layer-active", "driver-variables"]);
    }
}
