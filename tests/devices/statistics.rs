//! The driver's pipeline statistics: `--stats` on a driver that has none, and what RADV tells, which compiles for GPUs that aren't
//! there.

use std::collections::BTreeMap;
use std::process::Command;

use lanescope::experiments::{self, Config};
use lanescope::gpu::{DeviceOptions, Instance, InstanceOptions, NO_DEVICE_ADVICE};
use lanescope::model::{DeviceInfo, Executable, Feature, PipelineDetail, Point, Preset, StatValue};
use lanescope::shader::{self, Compiler, Library, Prepared};

use crate::support::{only, radv, run, setting, skip};

// ---- the command line -----------------------------------------------------------------------------------------------------

const SMALL: [&str; 5] = ["memory/stream", "-a", "n=1024", "-a", "local_size_x=64"];

#[test]
fn a_driver_without_statistics_is_named_once_and_measured_all_the_same() {
    let instance = Instance::load(InstanceOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let without = |info: &&DeviceInfo| info.unusable.is_none() && !info.has(Feature::PipelineExecutableProperties);
    let devices = instance.devices();
    let Some(device) = devices.iter().find(without) else {
        skip!("every driver here tells statistics");
    };
    let arguments = ["-d", &device.index.to_string(), "--stats", "--max-time", "20ms"];
    let folder = tempfile::tempdir().unwrap();
    let isa = ["--isa", folder.path().to_str().unwrap()];
    let (rows, said, code) = run(&[&SMALL[..], &arguments, &isa].concat());
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("no driver showed code") && std::fs::read_dir(folder.path()).unwrap().next().is_none(), "{said}");
    assert_eq!(said.matches("VK_KHR_pipeline_executable_properties is missing").count(), 1, "{said}");
    assert!(rows.iter().all(|row| row.statistics.is_empty() && row.registers.is_none()));
}

// ---- on each device -------------------------------------------------------------------------------------------------------

#[test]
fn a_loaded_case_has_statistics_just_where_the_device_does() {
    let instance = Instance::load(InstanceOptions { validation: true }).unwrap_or_else(|error| panic!("{error}"));
    let devices = instance.devices();
    assert!(devices.iter().any(|info| info.unusable.is_none()), "{NO_DEVICE_ADVICE}");
    for info in devices.iter().filter(|info| info.unusable.is_none()) {
        for detail in [PipelineDetail::None, PipelineDetail::Statistics, PipelineDetail::Code] {
            let options = DeviceOptions { detail, ..DeviceOptions::default() };
            let mut device = instance.open_with(info.index, options).unwrap_or_else(|error| panic!("{error}"));
            let loaded = device.load(&triad(info, 4, None)).unwrap_or_else(|error| panic!("{error}"));
            eprintln!("{}, asked for {detail:?}: {:?}", info.name, loaded.statistics);
            let kernels = loaded.statistics.as_ref().map(Vec::len);
            assert_eq!(
                kernels,
                (detail > PipelineDetail::None && info.has(Feature::PipelineExecutableProperties)).then_some(1)
            );
            device.run_checked(loaded.slot).unwrap_or_else(|error| panic!("{error}"));
        }
    }
    let log = instance.message_log();
    drop(instance);
    assert_eq!(log.drain(), [""; 0]);
}

// ---- compiling for GPUs that aren't there ---------------------------------------------------------------------------------

/// Tells the ignored test that it was started by its parent, not by someone who asked for all ignored tests.
const CHILD: &str = "LANESCOPE_TEST_CHILD";

/// In a process of its own for each: the family is chosen by the environment, and one that RADV doesn't know ends the process.
#[test]
fn radv_tells_statistics_of_gpus_that_are_not_there() {
    let Some(driver) = radv() else {
        skip!("RADV is not installed: mesa-vulkan-drivers brings it");
    };
    for family in ["polaris10", "navi21"] {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "--nocapture", "statistics::child_on_radv"])
            .envs([("VK_DRIVER_FILES", &driver), ("VK_ICD_FILENAMES", &driver)])
            .envs([("RADV_FORCE_FAMILY", family), (CHILD, "1")])
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        assert!(output.status.success() && said.contains("told by MESA_RADV"), "{family}: {said}");
        eprintln!("{family}: {said}");
    }
}

#[test]
#[ignore = "a part of radv_tells_statistics_of_gpus_that_are_not_there"]
fn child_on_radv() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let instance = Instance::load(InstanceOptions { validation: true }).unwrap_or_else(|error| panic!("{error}"));
    let log = instance.message_log();
    let device = instance.devices().into_iter().find(|info| info.driver.id == "MESA_RADV").unwrap();
    assert!(device.unusable.as_deref().is_some_and(|reason| reason.contains("for compiling only")), "{:?}", device.unusable);
    assert!(device.has(Feature::PipelineExecutableProperties));

    let (few, many) = (told(&instance, &triad(&device, 1, None)), told(&instance, &triad(&device, 64, None)));
    assert!(count(&few, "VGPRs") > 0 && count(&few, "Code size") > 0, "{few:?}");
    assert!(count(&few, "VGPRs") <= count(&many, "VGPRs"), "64 elements in flight in fewer registers than one: {many:?}");
    assert_ne!(few.statistics, many.statistics, "the specialization constant is lost");
    assert_eq!((count(&few, "Spilled VGPRs"), count(&few, "LDS size")), (0, 0));
    for variant in experiments::find("load/path").unwrap().variants() {
        assert_eq!(loads(&told(&instance, &uniform_loads(&device, variant))), loads_by_rules(variant), "{variant}");
    }

    let sizes = [device.subgroup.min_size, device.subgroup.max_size];
    for size in sizes.into_iter().filter(|_| device.subgroup.size_control) {
        assert_eq!(told(&instance, &triad(&device, 1, Some(size))).subgroup_size, size);
    }
    drop(instance);
    assert!(log.is_closed(), "something of the device was leaked");
    assert_eq!(log.drain(), [""; 0]);
    println!("told by {}, sizes {sizes:?}: {few:?}", device.driver.id);
}

const LOADS: u64 = 16;

/// A case of `load/path` whose lanes all want the same: where a compiler has most to gain by leaving loads out.
fn uniform_loads(device: &DeviceInfo, variant: &str) -> Prepared {
    let numbers =
        [("n", 1 << 10), ("loads", LOADS), ("local_size_x", 64)].map(|(name, n): (&str, u64)| (name.into(), n.into()));
    let point = Point::new(numbers.into_iter().chain([("pattern".into(), "uniform".into())]));
    let setting = setting(device, Preset::Quick);
    let case = experiments::find("load/path").unwrap().case(&Config::new(variant, &point, &setting)).unwrap();
    shader::prepare(case, &mut Compiler::new(Library::embedded()).unwrap()).unwrap()
}

/// Instructions of AMD's instruction sets that load, in the machine code, by what they go through; descriptors, and constants that
/// are pushed, come by `s_load`, and aren't counted.
fn loads(executable: &Executable) -> BTreeMap<&'static str, u64> {
    const WAYS: [&str; 4] = ["s_buffer_load_dword", "buffer_load_dword", "buffer_load_format", "image_"];
    let code = executable.representations.iter().find(|form| form.name == "Assembly").expect("RADV shows machine code");
    let instructions = code.text.lines().filter_map(|line| line.split_whitespace().next());
    let ways = instructions.filter_map(|word| WAYS.into_iter().find(|way| word.starts_with(way)));
    ways.fold(BTreeMap::new(), |mut counts, way| {
        *counts.entry(way).or_default() += 1;
        counts
    })
}

/// Each of an iteration's loads is there, and those of buffers are scalar ones. Push constants are in registers by then.
fn loads_by_rules(variant: &str) -> BTreeMap<&'static str, u64> {
    let way = match variant.split('_').next() {
        Some("push") => return BTreeMap::new(),
        Some("ssbo" | "ubo" | "spec") => "s_buffer_load_dword",
        Some("texel") => "buffer_load_format",
        _ => "image_",
    };
    BTreeMap::from([(way, LOADS)])
}

/// A case of the catalogue with a kernel that unrolls a loop.
fn triad(device: &DeviceInfo, unroll: u64, subgroup_size: Option<u32>) -> Prepared {
    let experiment = experiments::find("memory/stream").unwrap();
    let numbers = [("width", 1), ("n", 1 << 16), ("local_size_x", 64), ("unroll", unroll)];
    let axes = numbers.map(|(name, value)| (name.into(), value.into()));
    let words = [("op", "triad"), ("issue", "loads_first"), ("bounds", "tile")].map(|(name, word)| (name.into(), word.into()));
    let point = Point::new(words.into_iter().chain(axes));
    let mut case = experiment.case(&Config::new("", &point, &setting(device, Preset::Quick))).unwrap();
    only(&mut case.kernels).required_subgroup_size = subgroup_size;
    shader::prepare(case, &mut Compiler::new(Library::embedded()).unwrap()).unwrap()
}

/// Of the case's one kernel, its one executable.
fn told(instance: &Instance, prepared: &Prepared) -> Executable {
    let kernel = only(&prepared.kernels);
    let told = instance.kernel_statistics(0, kernel, PipelineDetail::Code).unwrap_or_else(|error| panic!("{error}")).unwrap();
    assert_eq!(told.executables.len(), 1, "{told:?}");
    told.executables[0].clone()
}

fn count(executable: &Executable, name: &str) -> u64 {
    executable.get(name).and_then(StatValue::count).unwrap_or_else(|| panic!("no {name}: {executable:?}"))
}
