//! The driver's pipeline statistics: `--stats` on the mock device and on a driver that has none, and what RADV tells, which
//! compiles for GPUs that aren't there.

#![expect(clippy::unwrap_used, reason = "clippy exempts test functions but not the helpers beside them")]

use std::path::{Path, PathBuf};
use std::process::Command;

use lanescope::experiments::{self, Setting};
use lanescope::gpu::{DeviceOptions, Instance, InstanceOptions, NO_DEVICE_ADVICE};
use lanescope::model::{DeviceInfo, Executable, Feature, Point, Preset, StatValue};
use lanescope::record::{Reader, Record};
use lanescope::shader::{self, Compiler, Library, Prepared};

// ---- the command line -----------------------------------------------------------------------------------------------------

/// Runs `lanescope run` and gives rows, error stream and exit code.
fn run(arguments: &[&str]) -> (Vec<Record>, String, Option<i32>) {
    let mut command = assert_cmd::Command::cargo_bin("lanescope").unwrap();
    let output = command.args(["run", "--format", "csv"]).args(arguments).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    let rows = Reader::new("the output", output.stdout.as_slice()).unwrap().collect::<Result<Vec<_>, _>>().unwrap();
    (rows, said, output.status.code())
}

const SMALL: [&str; 5] = ["memory/stream", "-a", "n=1024", "-a", "local_size_x=64"];

#[test]
fn statistics_are_in_the_row_where_they_are_asked_for() {
    let (rows, said, code) = run(&[&SMALL[..], &["-d", "mock", "--stats"]].concat());
    assert_eq!(code, Some(0), "{said}");
    assert!(!rows.is_empty() && !said.contains("tells no pipeline statistics"), "{said}");
    for row in rows {
        assert_eq!((row.registers, row.spill_bytes, row.code_bytes), (Some(32), Some(0), Some(1024)));
        assert_eq!(row.statistics, r#"{"Registers":32,"Spilled bytes":0,"Code bytes":1024}"#);
    }
}

#[test]
fn nothing_is_told_unasked() {
    let (rows, said, code) = run(&[&SMALL[..], &["-d", "mock"]].concat());
    assert_eq!(code, Some(0), "{said}");
    for row in rows {
        assert_eq!((row.registers, row.spill_bytes, row.code_bytes, row.statistics.as_str()), (None, None, None, ""));
    }
}

#[test]
fn a_driver_without_statistics_is_named_once_and_measured_all_the_same() {
    let instance = Instance::load(InstanceOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let without = |info: &&DeviceInfo| info.unusable.is_none() && !info.has(Feature::PipelineExecutableProperties);
    let devices = instance.devices();
    let Some(device) = devices.iter().find(without) else {
        eprintln!("every driver here tells statistics");
        return;
    };
    let arguments = ["-d", &device.index.to_string(), "--stats", "--max-time", "20ms"];
    let (rows, said, code) = run(&[&SMALL[..], &arguments].concat());
    assert_eq!(code, Some(0), "{said}");
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
        for asked in [false, true] {
            let options = DeviceOptions { statistics: asked, ..DeviceOptions::default() };
            let mut device = instance.open_with(info.index, options).unwrap_or_else(|error| panic!("{error}"));
            let loaded = device.load(&triad(info, 4, None)).unwrap_or_else(|error| panic!("{error}"));
            eprintln!("{}, asked {asked}: {:?}", info.name, loaded.statistics);
            let kernels = loaded.statistics.as_ref().map(Vec::len);
            assert_eq!(kernels, (asked && info.has(Feature::PipelineExecutableProperties)).then_some(1));
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

/// RADV's driver file: distributions name it with and without the architecture.
fn radv() -> Option<PathBuf> {
    let names = [format!("radeon_icd.{}.json", std::env::consts::ARCH), "radeon_icd.json".to_owned()];
    let folder = Path::new("/usr/share/vulkan/icd.d");
    names.iter().map(|name| folder.join(name)).find(|path| path.exists())
}

/// In a process of its own for each: the family is chosen by the environment, and one that RADV doesn't know ends the process.
#[test]
fn radv_tells_statistics_of_gpus_that_are_not_there() {
    let Some(driver) = radv() else {
        eprintln!("RADV is not installed: mesa-vulkan-drivers brings it");
        return;
    };
    for family in ["polaris10", "navi21"] {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "--nocapture", "child_on_radv"])
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

    let sizes = [device.subgroup.min_size, device.subgroup.max_size];
    for size in sizes.into_iter().filter(|_| device.subgroup.size_control) {
        assert_eq!(told(&instance, &triad(&device, 1, Some(size))).subgroup_size, size);
    }
    drop(instance);
    assert!(log.is_closed(), "something of the device was leaked");
    assert_eq!(log.drain(), [""; 0]);
    println!("told by {}, sizes {sizes:?}: {few:?}", device.driver.id);
}

/// A case of the catalogue with a kernel that unrolls a loop.
fn triad(device: &DeviceInfo, unroll: u64, subgroup_size: Option<u32>) -> Prepared {
    let experiment = experiments::find("memory/stream").unwrap();
    let numbers = [("width", 1), ("n", 1 << 16), ("local_size_x", 64), ("unroll", unroll)];
    let axes = numbers.map(|(name, value)| (name.into(), value.into()));
    let point = Point::new([("op".into(), "triad".into())].into_iter().chain(axes));
    let mut case = experiment.case("", &point, &Setting { queue: None, device, preset: Preset::Quick, seed: 1 }).unwrap();
    case.kernels[0].required_subgroup_size = subgroup_size;
    shader::prepare(case, &mut Compiler::new(Library::embedded()).unwrap()).unwrap()
}

/// Of the case's one kernel, its one executable.
fn told(instance: &Instance, prepared: &Prepared) -> Executable {
    let kernels = instance.pipeline_statistics(0, prepared).unwrap_or_else(|error| panic!("{error}")).unwrap();
    assert_eq!((kernels.len(), kernels[0].executables.len()), (1, 1), "{kernels:?}");
    kernels[0].executables[0].clone()
}

fn count(executable: &Executable, name: &str) -> u64 {
    executable.get(name).and_then(StatValue::count).unwrap_or_else(|| panic!("no {name}: {executable:?}"))
}
