//! What several test files share: the command and its rows, the catalogue's settings, the SPIR-V tools.

#![allow(dead_code, reason = "each test file uses its own part of this")]

pub mod blocks;
pub mod built;
pub mod confirmed;
pub mod console;
pub mod faults;
pub mod fleets;
pub mod form;
pub mod inspected;
pub mod mutants;
pub mod passes;
pub mod processes;
pub mod recorded;
pub mod second_opinion;
pub mod shapes;
pub mod simulated;
pub mod tables;
pub mod texts;
pub mod tunings;
pub mod windows;

pub(crate) use form::skip;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use lanescope::experiments::{CATALOGUE, Experiment, Setting};
use lanescope::model::{
    AxisKind, AxisValue, Case, Component, Descriptors, DeviceInfo, DeviceKind, Feature, Limits, MatrixProduct, MatrixScope,
    Point, Preset, Subgroup, SubgroupClass,
};
use lanescope::plan::{Plan, Request, parse_values};
use lanescope::record::schema::position;
use lanescope::record::{Reader, Record};
use lanescope::shader::{ScalarType, SpecConstant, Specialized};
use sha2::{Digest, Sha256};

// ---- files ----------------------------------------------------------------------------------------------------------------

/// A file of tests/data.
pub fn data(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name).display().to_string()
}

/// The one that there is.
pub fn only<T>(all: impl IntoIterator<Item = T>) -> T {
    let mut all = all.into_iter();
    let (first, second) = (all.next(), all.next());
    assert!(second.is_none(), "one and more");
    first.unwrap()
}

/// A folder that goes when a test ends.
pub struct Folder(pub tempfile::TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// One with a file, and its path as an argument.
    pub fn with(name: &str, bytes: impl AsRef<[u8]>) -> (Self, String) {
        let folder = Self::new();
        let path = folder.write(name, bytes);
        (folder, path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A path as an argument.
    pub fn at(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    /// Writes a file, and gives its path as an argument.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        std::fs::write(self.path(name), bytes).unwrap();
        self.at(name)
    }
}

// ---- the command ----------------------------------------------------------------------------------------------------------

pub fn typed(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// The command under test, away from a terminal, with nothing on its input. What only costs time is left out, unless a test asks for it.
pub fn lanescope(arguments: &[&str]) -> Command {
    let mut command = lanescope_as_it_is(arguments);
    if arguments.first() == Some(&"run") {
        // Tests run side by side, on the same devices: their figures don't count.
        command.arg("--no-lock");
        // Three processes show of most things what one shows, and start up three times.
        let says =
            |argument: &str| argument.starts_with("--processes") || argument == "--no-isolate" || argument.ends_with("study");
        let is_said = |argument: &&str| says(argument);
        command.args((!arguments.iter().any(is_said)).then_some("--processes=1"));
    }
    command
}

/// The same with its own defaults.
pub fn lanescope_as_it_is(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lanescope"));
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// How the command ended and what it said.
#[derive(Debug, Default)]
pub struct Ran {
    pub command: String,
    /// Its exit code; none where a signal ended it.
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), out: text(output.stdout), err: text(output.stderr), ..Self::default() }
    }
}

impl Ran {
    /// Demands that it ended with this code, and that its error stream says all of this.
    #[track_caller]
    pub fn says(self, code: i32, parts: &[&str]) -> Self {
        assert_eq!(self.code, Some(code), "{}: {}", self.command, self.err);
        parts.iter().for_each(|part| assert!(self.err.contains(part), "{}: no `{part}` in: {}", self.command, self.err));
        self
    }

    /// The same of what is wrong with what it was given: nothing is on standard output.
    #[track_caller]
    pub fn refuses(self, parts: &[&str]) -> Self {
        assert_eq!(self.out, "", "{}: {}", self.command, self.err);
        self.says(2, parts)
    }
}

pub fn ended(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    Ran { command: format!("{command:?}"), ..output.into() }
}

pub fn ran(arguments: &[&str]) -> Ran {
    ended(&mut lanescope(arguments))
}

#[track_caller]
pub fn succeeded(arguments: &[&str]) -> Ran {
    ran(arguments).says(0, &[])
}

/// Runs `lanescope run` with these arguments, demands success, and gives its rows.
pub fn measured(arguments: &[&str]) -> Vec<Record> {
    rows(&succeeded(&[&["run", "--format", "csv"], arguments].concat()).out)
}

/// Runs `lanescope run`, and gives its rows, what it said on the error stream, and its exit code.
pub fn run(arguments: &[&str]) -> (Vec<Record>, String, Option<i32>) {
    let Ran { code, out, err, .. } = ran(&[&["run", "--format", "csv"], arguments].concat());
    (rows(&out), err, code)
}

/// The rows of a CSV text, read by any CSV reader and by Lanescope's own, which have to agree.
pub fn rows(csv: &str) -> Vec<Record> {
    let mut reader = csv::ReaderBuilder::new().from_reader(csv.as_bytes());
    let header = reader.headers().unwrap().clone();
    let foreign: Vec<csv::StringRecord> = reader.records().map(|row| row.unwrap()).collect();
    let own: Vec<Record> = Reader::new("rows", csv.as_bytes()).unwrap().map(|row| row.unwrap()).collect();
    assert_eq!(csv.lines().count(), own.len() + 1, "a row is a line");
    assert_eq!(foreign.len(), own.len());
    for (foreign, own) in foreign.iter().zip(&own) {
        let fixed: Vec<String> = own.fixed_cells().map(|cell| cell.to_string()).collect();
        for (name, cell) in header.iter().zip(foreign) {
            let axis = || own.by_axis.get(name).map_or_else(String::new, ToString::to_string);
            assert_eq!(cell, position(name).map_or_else(axis, |place| fixed[place].clone()), "{name}");
        }
    }
    own
}

pub fn rows_of(path: &Path) -> Vec<Record> {
    rows(&std::fs::read_to_string(path).unwrap())
}

// ---- devices --------------------------------------------------------------------------------------------------------------

/// What `lanescope devices --json` says of a device.
#[derive(Debug)]
pub struct Found {
    /// Its index, as `--device` takes it.
    pub index: String,
    /// The driver's id, such as `MESA_LLVMPIPE`.
    pub driver: String,
    /// Whether a shader that never ends never ends there.
    pub has_endless_loops: bool,
    /// Whether it is software on the host's processor.
    pub is_cpu: bool,
    /// `maxComputeWorkGroupSize[0]`, or the invocations of a workgroup where they are fewer.
    pub largest_workgroup: u64,
    pub most_groups: u64,
}

/// The usable devices of all drivers. Those that LANESCOPE_TEST_DRIVERS promises must be among them; where nothing is promised,
/// any one will do.
pub fn devices() -> Vec<Found> {
    let json: serde_json::Value = serde_json::from_str(&succeeded(&["devices", "--json"]).out).unwrap();
    let usable = json.as_array().unwrap().iter().filter(|device| device["unusable"].is_null());
    let found: Vec<Found> = usable
        .map(|device| Found {
            index: device["index"].to_string(),
            driver: device["driver"]["id"].as_str().unwrap().to_owned(),
            has_endless_loops: device["quirks"].as_array().unwrap().iter().all(|quirk| quirk["most_iterations"].is_null()),
            is_cpu: device["kind"] == "cpu",
            largest_workgroup: device["limits"]["workgroup_size"][0]
                .as_u64()
                .min(device["limits"]["workgroup_invocations"].as_u64())
                .unwrap(),
            most_groups: device["limits"]["workgroup_count"][0].as_u64().unwrap(),
        })
        .collect();
    for promised in std::env::var("LANESCOPE_TEST_DRIVERS").unwrap_or_default().split(',').filter(|name| !name.is_empty()) {
        let id = match promised {
            "lavapipe" => "MESA_LLVMPIPE",
            "swiftshader" => "GOOGLE_SWIFTSHADER",
            // Nothing is measured on it: it is no device among the others.
            "mock" => continue,
            other => panic!("LANESCOPE_TEST_DRIVERS promises {other}, which is not known here"),
        };
        let present = found.iter().any(|device| device.driver == id);
        assert!(present, "LANESCOPE_TEST_DRIVERS promises {promised}, which is absent: run eval \"$(scripts/drivers.sh)\"");
    }
    assert!(!found.is_empty(), "no usable device: run eval \"$(scripts/drivers.sh)\"");
    found
}

/// The devices that a test asks the same of: in the full form all of them, else one, by the test's name.
pub fn devices_in_turn() -> Vec<Found> {
    let mut all = devices();
    if form::form() == form::Form::Full {
        return all;
    }
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    let turn = usize::from(Sha256::digest(test)[0]) % all.len();
    vec![all.swap_remove(turn)]
}

/// The devices that are software on the host's processor; nothing where there is none.
pub fn software() -> Option<Vec<Found>> {
    let found: Vec<Found> = devices().into_iter().filter(|device| device.is_cpu).collect();
    (!found.is_empty()).then_some(found)
}

/// RADV's driver file: distributions name it with and without the architecture.
pub fn radv() -> Option<PathBuf> {
    let names = [format!("radeon_icd.{}.json", std::env::consts::ARCH), "radeon_icd.json".to_owned()];
    names.iter().map(|name| Path::new("/usr/share/vulkan/icd.d").join(name)).find(|path| path.exists())
}

// ---- the catalogue --------------------------------------------------------------------------------------------------------

/// Devices unlike each other in all that experiments look at: a processor with common limits, every type and every subgroup
/// operation, one with the least that drivers have, and a large GPU with every type that lets subgroup sizes be chosen.
pub fn device_classes() -> Vec<DeviceInfo> {
    let mock = DeviceInfo::mock;
    let small = Limits {
        workgroup_size: [256, 256, 64],
        workgroup_invocations: 256,
        workgroup_count: [65_535; 3],
        shared_bytes: 16 << 10,
        storage_buffer_range: 1 << 30,
        uniform_buffer_range: 16 << 10,
        storage_buffer_alignment: 256,
        uniform_buffer_alignment: 256,
        texel_buffer_elements: 1 << 16,
        image_dimension: 4096,
        image_dimension_1d: 4096,
        image_dimension_3d: 256,
        image_dimension_cube: 4096,
        image_layers: 256,
        descriptors: Descriptors {
            samplers: 16,
            uniform_buffers: 12,
            storage_buffers: 4,
            sampled_images: 16,
            storage_images: 4,
            all: 128,
        },
        push_constant_bytes: 128,
        descriptor_sets: 4,
        allocation_bytes: 1 << 30,
    };
    let whole = Subgroup { classes: every_class(), ..mock().subgroup };
    let chosen = Subgroup { min_size: 32, max_size: 64, max_workgroup_subgroups: 32, size_control: true, ..whole.clone() };
    let features: BTreeSet<Feature> = mock().features.union(&every_feature()).copied().collect();
    vec![
        DeviceInfo { name: "a processor".into(), kind: DeviceKind::Cpu, subgroup: whole, features: features.clone(), ..mock() },
        DeviceInfo { name: "a small processor".into(), kind: DeviceKind::Cpu, limits: small, ..mock() },
        DeviceInfo { name: "a discrete GPU".into(), kind: DeviceKind::Discrete, subgroup: chosen, features, ..mock() },
    ]
}

/// A device that does products of matrices. Apart from the others, whose modules the tools here can all judge.
pub fn with_matrices() -> DeviceInfo {
    let mut device = DeviceInfo { name: "a device with matrices".into(), kind: DeviceKind::Discrete, ..DeviceInfo::mock() };
    let product = |scope, workgroup_invocations| MatrixProduct {
        m: 16,
        n: 16,
        k: 16,
        a: Component::F16,
        b: Component::F16,
        c: Component::F32,
        result: Component::F32,
        saturating: false,
        scope,
        workgroup_invocations,
    };
    let by_workgroups = [128, 256].map(|invocations| product(MatrixScope::Workgroup, Some(invocations)));
    device.matrices = [product(MatrixScope::Subgroup, None)].into_iter().chain(by_workgroups).collect();
    let more = [
        Feature::CooperativeMatrix,
        Feature::CooperativeMatrixWorkgroupScope,
        Feature::CooperativeMatrixTensorAddressing,
        Feature::MemoryModel,
        Feature::Float16,
    ];
    device.features.extend(more);
    device
}

fn every_class() -> BTreeSet<SubgroupClass> {
    use SubgroupClass::{Arithmetic, Ballot, Basic, Clustered, Quad, Rotate, RotateClustered, Shuffle, ShuffleRelative, Vote};
    [Basic, Vote, Arithmetic, Ballot, Shuffle, ShuffleRelative, Clustered, Quad, Rotate, RotateClustered].into()
}

/// The features that let shaders hold and compute with more types, and do more with them, but for bfloat16, which the tools here don't
/// know yet.
pub fn every_feature() -> BTreeSet<Feature> {
    use Feature::{
        BufferDeviceAddress, BufferFloat32AtomicAdd, BufferFloat64AtomicAdd, BufferInt64Atomics, DeviceClock, Float16, Float64,
        Int8, Int16, Int64, IntegerDotProduct, MemoryModel, MemoryModelDeviceScope, SharedFloat32AtomicAdd,
        SharedFloat64AtomicAdd, SharedInt64Atomics, Storage8, Storage16, SubgroupClock, SubgroupExtendedTypes,
    };
    let types = [Float16, Float64, Int8, Int16, Int64, IntegerDotProduct, Storage8, Storage16, SubgroupExtendedTypes];
    let atomics = [BufferInt64Atomics, SharedInt64Atomics];
    let sums = [BufferFloat32AtomicAdd, SharedFloat32AtomicAdd, BufferFloat64AtomicAdd, SharedFloat64AtomicAdd];
    types
        .into_iter()
        .chain(atomics)
        .chain(sums)
        .chain([MemoryModel, MemoryModelDeviceScope, BufferDeviceAddress, SubgroupClock, DeviceClock])
        .collect()
}

pub const PRESETS: [Preset; 3] = [Preset::Quick, Preset::Default, Preset::Thorough];

/// What experiments look at on a device.
pub fn setting(device: &DeviceInfo, preset: Preset) -> Setting<'_> {
    Setting { queue: None, device, preset, seed: 1 }
}

/// Every class of device under every preset.
pub fn each_setting(mut act: impl FnMut(Setting)) {
    for device in device_classes() {
        PRESETS.into_iter().for_each(|preset| act(setting(&device, preset)));
    }
}

/// The cases of a filter with these values of axes that can be, in a quick run.
pub fn cases_of(device: &DeviceInfo, filter: &str, axes: &[&str]) -> Vec<Case> {
    let axes = axes.iter().map(ToString::to_string).collect();
    let request = Request { filters: vec![filter.to_owned()], axes, ..Request::default() };
    let plan = Plan::new(&request, setting(device, Preset::Quick)).unwrap();
    plan.iter().filter_map(|planned| planned.case.ok()).collect()
}

/// A point on an experiment's axes: the first default of each, but for those that are given as a user would write them.
pub fn point(experiment: &Experiment, setting: &Setting, given: &[(&str, &str)]) -> Point {
    let mut given: BTreeMap<&str, &str> = given.iter().copied().collect();
    let values = experiment.axes(setting).into_iter().map(|axis| {
        let value: AxisValue = match given.remove(axis.name.as_ref()) {
            Some(text) => parse_values(&axis, text).unwrap().remove(0),
            None => axis.defaults[0].clone(),
        };
        (axis.name, value)
    });
    let point = Point::new(values.collect::<Vec<_>>());
    assert!(given.is_empty(), "{} has no such axis: {given:?}", experiment.name());
    point
}

/// Values of every axis of work in the catalogue, as `--axis` takes them: small enough that all cases can be had in full.
pub fn little_work() -> Vec<String> {
    let device = DeviceInfo::mock();
    let axes = CATALOGUE
        .iter()
        .flat_map(|experiment| experiment.axes(&setting(&device, Preset::Quick)))
        .filter(|axis| axis.is_work && matches!(axis.kind, AxisKind::AtLeast(_)));
    let mut names: Vec<String> = axes.map(|axis| axis.name.to_string()).collect();
    names.sort_unstable();
    names.dedup();
    // A multiple of everything that work comes in pieces of, and none of 3: some chains of operations go round.
    names.into_iter().map(|name| format!("{name}=64")).collect()
}

// ---- SPIR-V tools ---------------------------------------------------------------------------------------------------------

/// What a tool of the package spirv-tools makes of its input. A tool that is absent is a failure that says what to install.
///
/// # Errors
/// What the tool said against the input.
pub fn spirv_tool(name: &str, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, String> {
    let mut child = Command::new(name)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{name}: {error}; install spirv-tools (scripts/test.sh does)"));
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    if output.status.success() { Ok(output.stdout) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

pub fn to_bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

pub fn to_words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap())).collect()
}

/// The bits that a pipeline is given for a constant.
pub fn given(specialized: &Specialized, id: u32) -> Option<u64> {
    let entry = specialized.entries.iter().find(|entry| entry.id == id)?;
    let (start, size) = (entry.offset as usize, entry.size as usize);
    let mut bytes = [0; 8];
    bytes[..size].copy_from_slice(&specialized.data[start..start + size]);
    Some(u64::from_le_bytes(bytes))
}

/// The module with the pipeline's values in place of its specialization constants, and what further passes of an optimizer that is
/// not ours make of it.
pub fn optimized(specialized: &Specialized, passes: &[&str]) -> Vec<u32> {
    let constants = &specialized.module.reflection.spec_constants;
    let value = |constant: &SpecConstant| given(specialized, constant.id).unwrap_or(constant.default_bits);
    let text = |constant: &SpecConstant| match constant.ty {
        ScalarType::Bool => (value(constant) != 0).to_string(),
        _ => value(constant).to_string(),
    };
    let values: Vec<String> = constants.iter().map(|constant| format!("{}:{}", constant.id, text(constant))).collect();
    let values = format!("--set-spec-const-default-value={}", values.join(" "));
    let arguments = [&[values.as_str(), "--freeze-spec-const"], passes, &["-", "-o", "-"]].concat();
    to_words(&spirv_tool("spirv-opt", &arguments, &to_bytes(&specialized.module.words)).unwrap())
}
