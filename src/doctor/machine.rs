//! What the system tells of a machine beside Vulkan: its processors, GPUs on its bus, its kernel, and in what it runs.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::available_parallelism;

use super::{Fact, Finding, Harm};
use crate::model::{DeviceInfo, DeviceKind, Shown};
use crate::regular::{self, Kind};

/// What the kernel tells in its files.
const KERNELS: Kind = Kind { what: "a file of the kernel's", largest: 1 << 20, may_stream: false };

/// PCI's class of displays, and who makes GPUs that compute: virtual machines and servers have others that only show a picture.
const DISPLAYS: &str = "0x03";
const MAKERS: [(u32, &str); 3] = [(0x10de, "NVIDIA"), (0x1002, "AMD"), (0x8086, "Intel")];

/// Marks of containers: files that they have, and words in the name of the first process's group.
const CONTAINER_FILES: [(&str, &str); 2] = [(".dockerenv", "Docker"), ("run/.containerenv", "Podman")];
const CONTAINER_GROUPS: [(&str, &str); 4] =
    [("docker", "Docker"), ("kubepods", "Kubernetes"), ("lxc", "LXC"), ("containerd", "containerd")];

/// What the system tells, as data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// The system and its kernel.
    pub system: String,
    /// Processors that there are, and those that this process may use.
    pub processors: usize,
    pub usable_processors: usize,
    pub container: Option<&'static str>,
    /// What kind of virtual machine it is, in the words that its firmware has; `virtual machine` where it has none.
    pub virtual_machine: Option<String>,
    /// GPUs on the bus, of makers whose GPUs compute: the maker's id and name.
    pub gpus: Vec<(u32, &'static str)>,
    /// Files by which programs reach GPUs, that this user may not open.
    pub closed_nodes: Vec<String>,
    /// The version of NVIDIA's part of the kernel.
    pub nvidia_kernel: Option<String>,
}

impl Machine {
    /// This machine.
    pub fn look(system: String, processors: usize) -> Self {
        let usable_processors = available_parallelism().map_or(processors, usize::from);
        Self { system, processors, usable_processors, ..Self::below(Path::new("/")) }
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
            ..Self::default()
        }
    }

    pub fn facts(&self) -> Vec<Fact> {
        let Self { system, processors, usable_processors, container, virtual_machine, .. } = self;
        let inside = [container.map(|name| format!("in a container ({name})")), virtual_machine.clone()];
        let inside: Vec<String> = inside.into_iter().flatten().collect();
        let inside = if inside.is_empty() { String::new() } else { format!(", {}", inside.join(", ")) };
        let usable = if usable_processors < processors {
            format!(", {usable_processors} of them for this process")
        } else {
            String::new()
        };
        vec![Fact::new("machine", format!("{system}; {processors} processors{usable}{inside}"))]
    }

    /// What keeps a device from working as it should. The device is the one that was chosen; there may be none.
    pub fn findings(&self, device: Option<&DeviceInfo>, variables: &str) -> Vec<Finding> {
        let gpu = self.unused_gpu(device).filter(|_| device.is_none_or(is_software));
        let processors = device.filter(|device| is_software(device)).and_then(|_| self.few_processors(variables));
        gpu.into_iter().chain(processors).chain(self.other_half(device)).collect()
    }

    /// A GPU is there, and what was chosen is software: nobody wants that by accident.
    fn unused_gpu(&self, device: Option<&DeviceInfo>) -> Option<Finding> {
        let (id, maker) = self.gpus.first()?;
        let closed = match self.closed_nodes.as_slice() {
            [] => String::new(),
            nodes => format!(" This user may not open {}.", nodes.join(", ")),
        };
        let advice = match self.closed_nodes.is_empty() {
            true => format!("install {maker}'s Vulkan driver, or name it by VK_DRIVER_FILES"),
            false => "add this user to the group that owns these files (often `render`), and log in anew".to_owned(),
        };
        Some(Finding {
            name: "gpu-unused",
            harm: Harm::Missing,
            what: match device {
                Some(device) => format!("This machine has a GPU of {maker}, and the device is software: {}.", device.name),
                None => format!("This machine has a GPU of {maker}."),
            },
            evidence: format!("The bus lists a display controller of vendor {id:#06x}.{closed}"),
            advice,
        })
    }

    /// Software drivers work on all processors unless they are told not to.
    fn few_processors(&self, variables: &str) -> Option<Finding> {
        let told = |name: &str| variables.split(';').find_map(|variable| variable.strip_prefix(name)?.strip_prefix('='));
        let threads: Option<usize> = told("LP_NUM_THREADS").and_then(|threads| threads.parse().ok());
        let (used, evidence, advice) = match threads {
            Some(threads) if threads < self.processors => {
                let evidence = format!("LP_NUM_THREADS={threads} is set.");
                (threads, evidence, "unset LP_NUM_THREADS".to_owned())
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
        })
    }

    /// A driver has a half in the kernel. Where it was updated and the machine wasn't started anew, the halves differ.
    fn other_half(&self, device: Option<&DeviceInfo>) -> Option<Finding> {
        let kernel = self.nvidia_kernel.as_deref()?;
        let device = device.filter(|device| device.driver.id == "NVIDIA_PROPRIETARY")?;
        let user = &device.driver.info;
        (user != kernel && !user.is_empty()).then(|| Finding {
            name: "driver-halves-differ",
            harm: Harm::WrongFigures,
            what: "The two halves of NVIDIA's driver have different versions.".to_owned(),
            evidence: format!("The kernel runs {kernel}; programs load {user}."),
            advice: "start the machine anew, or load the kernel's half again".to_owned(),
        })
    }

    /// The kernel's half of a device's driver, as far as it has a version of its own.
    pub fn kernel_half(&self, device: &DeviceInfo) -> Option<&str> {
        self.nvidia_kernel.as_deref().filter(|_| device.driver.id == "NVIDIA_PROPRIETARY")
    }
}

/// Not what only doesn't say what it is.
fn is_software(device: &DeviceInfo) -> bool {
    device.kind == DeviceKind::Cpu
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

fn gpus(devices: &Path) -> Vec<(u32, &'static str)> {
    let entries = std::fs::read_dir(devices).into_iter().flatten().flatten();
    let maker = |path: PathBuf| {
        let text = |name: &str| regular::read_text(&path.join(name), KERNELS).ok();
        let is_display = text("class")?.starts_with(DISPLAYS);
        let id = u32::from_str_radix(text("vendor")?.trim().strip_prefix("0x")?, 16).ok()?;
        MAKERS.into_iter().find(|(maker, _)| *maker == id && is_display)
    };
    entries.filter_map(|entry| maker(entry.path())).collect()
}

fn closed_nodes(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_render = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("renderD"));
    let is_closed = |path: &PathBuf| !crate::platform::can_write(path);
    let mut nodes: Vec<String> = entries.filter(is_render).filter(is_closed).map(|path| path.shown()).collect();
    nodes.sort();
    nodes
}

/// A system's packages: how to ask which one a file belongs to.
const PACKAGES: [&[&str]; 3] =
    [&["dpkg-query", "-S"], &["rpm", "-qf", "--qf", "%{NAME} %{VERSION}-%{RELEASE}"], &["pacman", "-Qo"]];

/// The package of a file, with its version, where the system has packages and the file is of one.
pub fn package(file: &Path) -> Option<String> {
    let ask = |command: &[&str], last: &Path| {
        let output = Command::new(command[0]).args(&command[1..]).arg(last).stdin(Stdio::null()).stderr(Stdio::null()).output();
        let output = output.ok().filter(|output| output.status.success())?;
        String::from_utf8(output.stdout).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let [debian, redhat, arch] = PACKAGES;
    // Debian's lists have files where they were before /lib became a link to /usr/lib.
    let names = [Some(file.to_owned()), file.strip_prefix("/usr").ok().map(|rest| Path::new("/").join(rest))];
    let of_debian = || {
        let listed = names.iter().flatten().find_map(|name| ask(debian, name))?;
        let package = listed.lines().next()?.split(": ").next()?.to_owned();
        ask(&["dpkg-query", "-W", "-f", "${Package} ${Version}"], Path::new(&package))
    };
    let of_arch = || ask(arch, file)?.split_once(" is owned by ").map(|(_, package)| package.to_owned());
    of_debian().or_else(|| ask(redhat, file)).or_else(of_arch)
}

#[cfg(test)]
mod tests {
    use super::*;
    fn software() -> DeviceInfo {
        DeviceInfo { kind: DeviceKind::Cpu, ..DeviceInfo::mock() }
    }

    fn names(machine: &Machine, device: &DeviceInfo, variables: &str) -> Vec<&'static str> {
        machine.findings(Some(device), variables).iter().map(|finding| finding.name).collect()
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
        assert_eq!((found.gpus, found.nvidia_kernel.as_deref()), (vec![(0x10de, "NVIDIA")], Some("580.1")));
        write(".dockerenv", "");
        write("proc/version", "Linux 6 (Microsoft@x)");
        let found = Machine::below(folder.path());
        assert_eq!((found.container, found.virtual_machine.as_deref()), (Some("Docker"), Some("in WSL")));
    }

    #[test]
    fn what_holds_software_back_is_found() {
        let machine = Machine { processors: 4, usable_processors: 4, ..Machine::default() };
        assert_eq!(names(&machine, &software(), "LP_NUM_THREADS=4"), [""; 0]);
        assert_eq!(names(&machine, &software(), "A=1;LP_NUM_THREADS=3"), ["few-processors"]);
        assert_eq!(names(&machine, &DeviceInfo::mock(), "LP_NUM_THREADS=3"), [""; 0], "a GPU");
        let bound = Machine { usable_processors: 1, ..machine };
        assert_eq!(names(&bound, &software(), ""), ["few-processors"]);
        assert!(bound.findings(Some(&software()), "")[0].what.contains("1 of 4 processors"));
    }

    #[test]
    fn a_gpu_beside_the_chosen_software_is_found() {
        let mut machine = Machine { gpus: vec![(0x1002, "AMD")], ..Machine::default() };
        assert_eq!(names(&machine, &DeviceInfo::mock(), ""), [""; 0]);
        assert_eq!(names(&machine, &software(), ""), ["gpu-unused"]);
        machine.closed_nodes = vec!["/dev/dri/renderD128".to_owned()];
        let found = machine.findings(None, "");
        assert!(found[0].evidence.contains("may not open /dev/dri/renderD128") && found[0].advice.contains("render"));
    }

    #[test]
    fn halves_of_a_driver_that_differ_are_found() {
        let machine = Machine { nvidia_kernel: Some("570.2".to_owned()), ..Machine::default() };
        let mut device = DeviceInfo::mock();
        device.driver.id = "NVIDIA_PROPRIETARY".to_owned();
        for (user, expected) in [("570.2", 0), ("580.1", 1)] {
            device.driver.info = user.to_owned();
            assert_eq!(names(&machine, &device, "").len(), expected, "{user}");
        }
        device.driver.id = "MESA_NVK".to_owned();
        assert_eq!(names(&machine, &device, ""), [""; 0]);
    }
}
