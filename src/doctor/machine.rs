//! What the system tells of a machine beside Vulkan: its processors, GPUs on its bus, its kernel, and in what it runs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::available_parallelism;

use super::{Fact, Finding, Harm};
use crate::model::{DeviceInfo, DeviceKind, PciAddress, Shown};
use crate::regular::{self, Kind};

/// What the kernel tells in its files.
const KERNELS: Kind = Kind { what: "a file of the kernel's", largest: 1 << 20, may_stream: false };

/// PCI's class of displays, and who makes GPUs that compute: virtual machines and servers have others that only show a picture.
const DISPLAYS: &str = "0x03";
const MAKERS: [(u32, &str); 3] = [(0x10de, "NVIDIA"), (0x1002, "AMD"), (0x8086, "Intel")];
/// PCI's class of accelerators, as which AMD's GPUs without a display come.
const ACCELERATORS: &str = "0x12";
const AMD: u32 = MAKERS[1].0;
/// The kernel's driver of what is given to virtual machines.
const PASSED_THROUGH: &str = "vfio-pci";

const NVIDIA: u32 = MAKERS[0].0;

/// NVIDIA's driver as `VkDriverId` names it, and where programs find its library.
const NVIDIA_DRIVER: &str = "NVIDIA_PROPRIETARY";
const NVIDIA_LIBRARY: &str = "libGLX_nvidia.so.0";
const NVIDIA_FOLDERS: [&str; 4] = ["usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib64", "usr/lib"];

/// Marks of containers: files that they have, and words in the name of the first process's group.
const CONTAINER_FILES: [(&str, &str); 3] =
    [(".dockerenv", "Docker"), ("run/.containerenv", "Podman"), (".flatpak-info", "Flatpak")];
/// Variables that they set.
const CONTAINER_VARIABLES: [(&str, &str); 2] = [("KUBERNETES_SERVICE_HOST", "Kubernetes"), ("container", "by its variable")];
const CONTAINER_GROUPS: [(&str, &str); 4] =
    [("docker", "Docker"), ("kubepods", "Kubernetes"), ("lxc", "LXC"), ("containerd", "containerd")];

/// What the system tells, as data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// The system and its kernel.
    pub system: String,
    pub processor: String,
    /// Processors that there are, and those that this process may use.
    pub processors: usize,
    pub usable_processors: usize,
    pub container: Option<&'static str>,
    /// What kind of virtual machine it is, in the words that its firmware has; `virtual machine` where it has none.
    pub virtual_machine: Option<String>,
    /// GPUs on the bus, of makers whose GPUs compute.
    pub gpus: Vec<PciGpu>,
    /// Files by which programs reach GPUs, that this user may not open.
    pub closed_nodes: Vec<String>,
    /// The versions of the two halves of NVIDIA's driver: the kernel's, and what programs load.
    pub nvidia_kernel: Option<String>,
    pub nvidia_user: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PciGpu {
    pub address: Option<PciAddress>,
    pub vendor: u32,
    pub maker: &'static str,
}

impl PciGpu {
    fn is(&self, device: &DeviceInfo) -> bool {
        match self.address.zip(device.pci_address) {
            Some((own, other)) => own == other,
            None => self.vendor == device.vendor_id,
        }
    }
}

impl Machine {
    /// This machine.
    pub fn look(system: String, processor: String, processors: usize) -> Self {
        let usable_processors = available_parallelism().map_or(processors, usize::from);
        let below = Self::below(Path::new("/"));
        let by_variable = || CONTAINER_VARIABLES.into_iter().find(|(name, _)| std::env::var_os(name).is_some());
        let container = below.container.or_else(|| by_variable().map(|(_, name)| name));
        Self { system, processor, processors, usable_processors, container, ..below }
    }

    /// What the files below a root tell: those of Linux.
    fn below(root: &Path) -> Self {
        let text = |path: &str| regular::read_text(&root.join(path), KERNELS).unwrap_or_default();
        let by_group = || {
            let groups = text("proc/1/cgroup") + &text("proc/self/cgroup");
            CONTAINER_GROUPS.into_iter().find(|(word, _)| groups.contains(word)).map(|(_, name)| name)
        };
        let by_file = CONTAINER_FILES.into_iter().find(|(file, _)| root.join(file).exists()).map(|(_, name)| name);
        Self {
            container: by_file.or_else(by_group),
            virtual_machine: virtual_machine(&text),
            gpus: gpus(&root.join("sys/bus/pci/devices")),
            closed_nodes: closed_nodes(&root.join("dev/dri")),
            nvidia_kernel: Some(text("sys/module/nvidia/version").trim().to_owned()).filter(|version| !version.is_empty()),
            nvidia_user: nvidia_user(root),
            ..Self::default()
        }
    }

    pub fn facts(&self) -> Vec<Fact> {
        let Self { system, processor, processors, usable_processors, container, virtual_machine, .. } = self;
        let inside = [container.map(|name| format!("in a container ({name})")), virtual_machine.clone()];
        let inside: Vec<String> = inside.into_iter().flatten().collect();
        let inside = if inside.is_empty() { String::new() } else { format!(", {}", inside.join(", ")) };
        let usable = if usable_processors < processors {
            format!(", {usable_processors} of them for this process")
        } else {
            String::new()
        };
        let named = if processor.is_empty() { String::new() } else { format!(" ({processor})") };
        vec![Fact::new("machine", format!("{system}; {processors} processors{named}{usable}{inside}"))]
    }

    /// What of the machine no driver serves, of all devices that can be used.
    pub fn findings(&self, usable: &[&DeviceInfo]) -> Vec<Finding> {
        // Where the halves differ, that is why there is no device.
        let halves = self.other_half(usable);
        let is_explained = |gpu: &PciGpu| gpu.vendor == NVIDIA && halves.is_some();
        let unused = |gpu: &&PciGpu| !usable.iter().any(|device| gpu.is(device)) && !is_explained(gpu);
        let of_maker = |(vendor, maker): (u32, &str)| {
            let unused: Vec<&PciGpu> = self.gpus.iter().filter(unused).filter(|gpu| gpu.vendor == vendor).collect();
            (!unused.is_empty()).then(|| self.unused_gpus(maker, &unused))
        };
        let unused: Vec<Finding> = MAKERS.into_iter().filter_map(of_maker).collect();
        halves.into_iter().chain(unused).collect()
    }

    fn unused_gpus(&self, maker: &str, gpus: &[&PciGpu]) -> Finding {
        let closed = match self.closed_nodes.as_slice() {
            [] => String::new(),
            nodes => format!(" This user may not open {}.", nodes.join(", ")),
        };
        let places: Vec<String> = gpus.iter().filter_map(|gpu| gpu.address).map(|address| address.to_string()).collect();
        let at = if places.is_empty() { String::new() } else { format!(" at {}", places.join(", ")) };
        let (count, them) = match gpus.len() {
            1 => ("a GPU".to_owned(), "it"),
            count => (format!("{count} GPUs"), "them"),
        };
        Finding {
            name: "gpu-unused",
            harm: Harm::Missing,
            what: format!("This machine has {count} of {maker} that no Vulkan driver here serves."),
            evidence: format!("The bus lists {them}{at}.{closed}"),
            advice: match self.closed_nodes.is_empty() {
                // The bus shows all that the host has.
                true if self.container.is_some() => {
                    format!(
                        "if you mean to use {them}, give {them} to the container (for Docker: --gpus or --device), with the driver"
                    )
                }
                true => format!("install {maker}'s Vulkan driver, or name it by VK_DRIVER_FILES"),
                false => "add this user to the group that owns these files (often `render`), and log in anew".to_owned(),
            },
            ..Finding::default()
        }
    }

    /// What keeps software from being as fast as it is.
    pub fn findings_of(&self, device: &DeviceInfo, variables: &str) -> Option<Finding> {
        (device.kind == DeviceKind::Cpu).then(|| self.few_processors(device, variables))?
    }

    /// Software drivers work on all processors unless they are told not to.
    fn few_processors(&self, device: &DeviceInfo, variables: &str) -> Option<Finding> {
        let told = |name: &str| variables.split(';').find_map(|variable| variable.strip_prefix(name)?.strip_prefix('='));
        let is_lavapipe = device.driver.id == "MESA_LLVMPIPE";
        let threads: Option<usize> = told("LP_NUM_THREADS").filter(|_| is_lavapipe).and_then(|threads| threads.parse().ok());
        let (used, evidence, advice) = match threads {
            Some(threads) if threads < self.processors => {
                let evidence = format!("LP_NUM_THREADS={threads} is set.");
                // Without threads of its own, it works on the program's.
                (threads.max(1), evidence, "unset LP_NUM_THREADS".to_owned())
            }
            _ => {
                let evidence = "The system lets this process use no more (by its affinity or its control group).".to_owned();
                (self.usable_processors, evidence, "run without taskset, and without a limit of processors".to_owned())
            }
        };
        (used < self.processors).then(|| Finding {
            name: "few-processors",
            harm: Harm::WrongFigures,
            what: format!("The software driver may use {used} of {} processors.", self.processors),
            evidence,
            advice,
            ..Finding::default()
        })
    }

    /// A driver has a half in the kernel. Where it was updated and the machine wasn't started anew, the halves differ.
    fn other_half(&self, usable: &[&DeviceInfo]) -> Option<Finding> {
        let kernel = self.nvidia_kernel.as_deref()?;
        let device = usable.iter().find(|device| device.driver.id == NVIDIA_DRIVER);
        let user = device.map(|device| device.driver.info.as_str()).or(self.nvidia_user.as_deref())?;
        (user != kernel && !user.is_empty()).then(|| Finding {
            name: "driver-halves-differ",
            harm: Harm::WrongFigures,
            what: "The two halves of NVIDIA's driver have different versions.".to_owned(),
            evidence: format!("The kernel runs {kernel}; programs load {user}."),
            advice: "start the machine anew, or load the kernel's half again".to_owned(),
            ..Finding::default()
        })
    }

    /// The kernel's half of a device's driver, as far as it has a version of its own.
    pub fn kernel_half(&self, device: &DeviceInfo) -> Option<&str> {
        self.nvidia_kernel.as_deref().filter(|_| device.driver.id == NVIDIA_DRIVER)
    }
}

/// The version of what programs load of NVIDIA's driver, which stands in the name of its file.
fn nvidia_user(root: &Path) -> Option<String> {
    let link = NVIDIA_FOLDERS.iter().find_map(|folder| std::fs::canonicalize(root.join(folder).join(NVIDIA_LIBRARY)).ok())?;
    let name = link.file_name()?.to_string_lossy().into_owned();
    let version = name.strip_prefix("libGLX_nvidia.so.")?;
    version.contains('.').then(|| version.to_owned())
}

fn virtual_machine(text: &impl Fn(&str) -> String) -> Option<String> {
    if text("proc/version").to_lowercase().contains("microsoft") {
        return Some("in WSL".to_owned());
    }
    let is_guest = text("proc/cpuinfo").lines().any(|line| line.starts_with("flags") && line.contains(" hypervisor"));
    let maker = text("sys/class/dmi/id/sys_vendor").trim().to_owned();
    let named = || if maker.is_empty() { "in a virtual machine".to_owned() } else { format!("in a virtual machine ({maker})") };
    is_guest.then(named)
}

fn gpus(devices: &Path) -> Vec<PciGpu> {
    let entries = std::fs::read_dir(devices).into_iter().flatten().flatten();
    let gpu = |path: PathBuf| {
        let text = |name: &str| regular::read_text(&path.join(name), KERNELS).ok();
        let class = text("class")?;
        let vendor = u32::from_str_radix(text("vendor")?.trim().strip_prefix("0x")?, 16).ok()?;
        let is_gpu = class.starts_with(DISPLAYS) || (vendor == AMD && class.starts_with(ACCELERATORS));
        // What is given to virtual machines, whole or in parts, isn't for programs here.
        let driver = std::fs::read_link(path.join("driver")).unwrap_or_default();
        let is_given = driver.file_name().is_some_and(|name| name == PASSED_THROUGH) || path.join("physfn").exists();
        let (_, maker) = MAKERS.into_iter().find(|(maker, _)| *maker == vendor && is_gpu && !is_given)?;
        let address = path.file_name()?.to_str()?.parse().ok();
        Some(PciGpu { address, vendor, maker })
    };
    let mut gpus: Vec<PciGpu> = entries.filter_map(|entry| gpu(entry.path())).collect();
    gpus.sort_by_key(|gpu| gpu.address.map(|address| address.to_string()));
    gpus
}

fn closed_nodes(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_render = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("renderD"));
    let is_closed = |path: &PathBuf| !crate::platform::can_write(path);
    let mut nodes: Vec<String> = entries.filter(is_render).filter(is_closed).map(|path| path.shown()).collect();
    nodes.sort();
    nodes
}

/// What systems know their packages by, and how to ask which one a file belongs to.
const PACKAGES: [(&str, &[&str]); 4] = [
    ("/var/lib/dpkg/status", &["dpkg-query", "-S"]),
    ("/var/lib/rpm", &["rpm", "-qf", "--qf", "%{NAME} %{VERSION}-%{RELEASE}"]),
    ("/usr/lib/sysimage/rpm", &["rpm", "-qf", "--qf", "%{NAME} %{VERSION}-%{RELEASE}"]),
    ("/var/lib/pacman", &["pacman", "-Qo"]),
];

/// The package of a file, with its version, where the system has packages and the file is of one.
pub fn package(file: &Path) -> Option<String> {
    let ask = |command: &[&str], last: &Path| {
        let (program, arguments) = command.split_first()?;
        let output = Command::new(program).args(arguments).arg(last).stdin(Stdio::null()).stderr(Stdio::null()).output();
        let output = output.ok().filter(|output| output.status.success())?;
        String::from_utf8(output.stdout).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let (_, command) = PACKAGES.into_iter().find(|(database, _)| Path::new(database).exists())?;
    // Debian's lists have files where they were before /lib became a link to /usr/lib.
    let names = [Some(file.to_owned()), file.strip_prefix("/usr").ok().map(|rest| Path::new("/").join(rest))];
    let told = names.iter().flatten().find_map(|name| ask(command, name))?;
    match command.first() {
        Some(&"dpkg-query") => {
            let package = told.lines().next()?.split(": ").next()?;
            ask(&["dpkg-query", "-W", "-f", "${Package} ${Version}"], Path::new(package))
        }
        Some(&"pacman") => told.split_once(" is owned by ").map(|(_, package)| package.to_owned()),
        _ => Some(told),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    fn software() -> DeviceInfo {
        DeviceInfo { kind: DeviceKind::Cpu, ..DeviceInfo::mock() }
    }

    fn names(machine: &Machine, usable: &[&DeviceInfo]) -> Vec<&'static str> {
        machine.findings(usable).iter().map(|finding| finding.name).collect()
    }

    fn gpu(vendor: u32, address: &str) -> PciGpu {
        PciGpu { address: address.parse().ok(), vendor, maker: "AMD" }
    }

    #[test]
    fn a_machine_is_read_from_the_kernels_files() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        assert_eq!(Machine::below(folder.path()), Machine::default());
        write("proc/1/cgroup", "0::/kubepods/pod1\n");
        write("proc/cpuinfo", "processor: 0\nflags : fpu hypervisor sse\n");
        write("sys/class/dmi/id/sys_vendor", "QEMU\n");
        write("sys/module/nvidia/version", "580.1\n");
        for (place, class, vendor) in [("a", "0x030200", "0x10de"), ("b", "0x030000", "0x1234"), ("c", "0x020000", "0x8086")] {
            write(&format!("sys/bus/pci/devices/{place}/class"), class);
            write(&format!("sys/bus/pci/devices/{place}/vendor"), vendor);
        }
        let found = Machine::below(folder.path());
        assert_eq!(
            (found.container, found.virtual_machine.as_deref()),
            (Some("Kubernetes"), Some("in a virtual machine (QEMU)"))
        );
        assert_eq!(
            (found.gpus, found.nvidia_kernel.as_deref()),
            (vec![PciGpu { address: None, vendor: NVIDIA, maker: "NVIDIA" }], Some("580.1"))
        );
        let bus = folder.path().join("sys/bus/pci/devices");
        std::fs::remove_dir_all(&bus).unwrap();
        let places = [("d", "0x120000", "0x1002"), ("e", "0x120000", "0x8086"), ("f", "0x030200", "0x10de")];
        for (place, class, vendor) in places.into_iter().chain([("g", "0x030200", "0x10de")]) {
            write(&format!("sys/bus/pci/devices/{place}/class"), class);
            write(&format!("sys/bus/pci/devices/{place}/vendor"), vendor);
        }
        write("sys/bus/pci/devices/f/physfn/class", "0x030200");
        #[cfg(unix)]
        std::os::unix::fs::symlink("../../drivers/vfio-pci", bus.join("g/driver")).unwrap();
        #[cfg(unix)]
        assert_eq!(Machine::below(folder.path()).gpus, [PciGpu { address: None, vendor: AMD, maker: "AMD" }]);
        write(".dockerenv", "");
        write("proc/version", "Linux 6 (Microsoft@x)");
        let found = Machine::below(folder.path());
        assert_eq!((found.container, found.virtual_machine.as_deref()), (Some("Docker"), Some("in WSL")));
    }

    #[test]
    fn what_holds_software_back_is_found() {
        let lavapipe = || {
            let mut device = software();
            device.driver.id = "MESA_LLVMPIPE".to_owned();
            device
        };
        let machine = Machine { processors: 4, usable_processors: 4, ..Machine::default() };
        let what = |machine: &Machine, device: &DeviceInfo, variables: &str| {
            machine.findings_of(device, variables).map(|finding| finding.what)
        };
        assert_eq!(what(&machine, &lavapipe(), "LP_NUM_THREADS=4"), None);
        assert!(what(&machine, &lavapipe(), "A=1;LP_NUM_THREADS=3").unwrap().contains("3 of 4 processors"));
        assert_eq!(what(&machine, &software(), "LP_NUM_THREADS=3"), None, "another driver doesn't read it");
        assert_eq!(what(&machine, &DeviceInfo::mock(), "LP_NUM_THREADS=3"), None, "a GPU");
        let bound = Machine { usable_processors: 1, ..machine };
        assert!(what(&bound, &software(), "").unwrap().contains("1 of 4 processors"));
    }

    #[test]
    fn a_gpu_that_no_driver_serves_is_found() {
        let mut machine =
            Machine { gpus: vec![gpu(0x1002, "0000:03:00.0"), gpu(0x1002, "0000:09:00.0")], ..Machine::default() };
        let device = |vendor_id, address: Option<&str>| {
            let pci_address = address.and_then(|address| address.parse().ok());
            DeviceInfo { kind: DeviceKind::Discrete, vendor_id, pci_address, ..DeviceInfo::mock() }
        };
        let [first, second] = ["0000:03:00.0", "0000:09:00.0"].map(|address| device(0x1002, Some(address)));
        assert_eq!(names(&machine, &[&first, &second, &software()]), [""; 0]);
        assert_eq!(names(&machine, &[&first, &software()]), ["gpu-unused"]);
        assert_eq!(names(&machine, &[&device(0x1002, None)]), [""; 0], "its driver doesn't tell where it sits");
        let found = machine.findings(&[&device(0x8086, None)]);
        assert!(found.len() == 1 && found[0].what.contains("2 GPUs of AMD"), "{found:?}");
        assert!(found[0].evidence.ends_with("them at 0000:03:00.0, 0000:09:00.0."), "{found:?}");
        let inside = Machine { container: Some("Docker"), ..machine.clone() };
        assert!(inside.findings(&[&first])[0].advice.contains("--device"));
        machine.closed_nodes = vec!["/dev/dri/renderD128".to_owned()];
        let found = machine.findings(&[&first]);
        assert!(found[0].evidence.contains("may not open /dev/dri/renderD128") && found[0].advice.contains("render"));
    }

    #[test]
    fn halves_of_a_driver_that_differ_are_found() {
        let mut machine = Machine { nvidia_kernel: Some("570.2".to_owned()), ..Machine::default() };
        let mut device = DeviceInfo::mock();
        device.driver.id = NVIDIA_DRIVER.to_owned();
        for (user, expected) in [("570.2", 0), ("580.1", 1)] {
            device.driver.info = user.to_owned();
            assert_eq!(names(&machine, &[&device]).len(), expected, "{user}");
        }
        assert_eq!(names(&machine, &[]), [""; 0]);
        // The kernel refuses another half: then there is no device, and that is why.
        machine.nvidia_user = Some("580.1".to_owned());
        machine.gpus = vec![gpu(NVIDIA, "0000:03:00.0")];
        assert_eq!(names(&machine, &[&software()]), ["driver-halves-differ"]);
    }

    #[test]
    #[cfg(unix)]
    fn the_version_that_programs_load_stands_in_a_files_name() {
        let folder = tempfile::tempdir().unwrap();
        let libraries = folder.path().join("usr/lib64");
        std::fs::create_dir_all(&libraries).unwrap();
        assert_eq!(nvidia_user(folder.path()), None);
        std::fs::write(libraries.join("libGLX_nvidia.so.580.1"), "").unwrap();
        std::os::unix::fs::symlink("libGLX_nvidia.so.580.1", libraries.join(NVIDIA_LIBRARY)).unwrap();
        assert_eq!(nvidia_user(folder.path()).as_deref(), Some("580.1"));
    }
}
