//! `lanescope inspect -d`: what devices make of a shader, those that aren't there included, and what becomes of the others where one
//! fails.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, helpers included; an absent driver is told"
)]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use lanescope::gpu::{Instance, InstanceOptions};
use lanescope::model::{Feature, PipelineDetail};
use lanescope::shader::{BindingKind, Reading, from_file, specialize_entry};
use serde_json::{Value, json};
use support::{Folder, Ran, devices, lanescope, ran};

/// Every kind of descriptor that Lanescope knows, an array of them among these, in two sets; shared memory that grows with the
/// workgroup.
const SHADER: &str = "#version 460
layout(local_size_x_id = 0, local_size_y = 4) in;
layout(constant_id = 0) const uint WIDTH = 16;
layout(constant_id = 1) const uint TILE = 8;
layout(set = 1, binding = 2) readonly buffer In { float values[]; };
layout(set = 1, binding = 4) uniform Frame { vec4 frame; };
layout(binding = 0) writeonly buffer Out { float result[]; };
layout(binding = 1) uniform sampler2D combined;
layout(binding = 2) uniform texture2D many[3];
layout(binding = 3) uniform sampler bare;
layout(binding = 4, r32f) uniform readonly image2D stored;
layout(binding = 5, r32f) uniform readonly imageBuffer stored_texels;
layout(binding = 6) uniform textureBuffer texels;
layout(push_constant) uniform Push { uint n; float weight; };
shared float tile[TILE * WIDTH * 16];
void main() {
    tile[gl_LocalInvocationIndex] = textureLod(combined, vec2(0), 0).x + textureLod(sampler2D(many[1], bare), vec2(0), 0).x;
    barrier();
    float sum = imageLoad(stored, ivec2(0)).x + imageLoad(stored_texels, int(n)).x + texelFetch(texels, 0).x + frame.x;
    for (uint i = 0; i < n; ++i) sum += values[i] * tile[i % TILE];
    result[gl_GlobalInvocationID.x] = sum * weight;
}
";

fn written(folder: &Folder, name: &str, text: &str) -> String {
    let path = folder.path(name);
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn told(ran: &Ran) -> Value {
    serde_json::from_str::<Value>(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"))["devices"].clone()
}

fn json_of(arguments: &[&str], code: i32) -> Vec<Value> {
    let ran = ran(&[&["inspect", "--format", "json"], arguments].concat());
    assert_eq!(ran.code, Some(code), "{}", ran.err);
    told(&ran).as_array().unwrap().clone()
}

// ---- the mock device ------------------------------------------------------------------------------------------------------

#[test]
fn statistics_of_several_devices_stand_side_by_side() {
    let folder = Folder::new();
    let shader = written(&folder, "shader.comp", SHADER);
    let ran = ran(&["inspect", &shader, "-d", "mock", "-d", "mock", "-c", "0=16"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let (_, devices) = ran.out.split_once("\ndevice 0: ").unwrap();
    insta::assert_snapshot!(format!("device 0: {devices}"));
    // A shader without a device is described as before.
    let alone = support::ran(&["inspect", &shader, "-c", "0=16"]).out;
    assert!(ran.out.starts_with(&alone) && !alone.contains("device"), "{alone}");
}

#[test]
fn what_a_device_tells_is_there_for_programs() {
    let folder = Folder::new();
    let shader = written(&folder, "shader.comp", SHADER);
    let isa = folder.path("isa");
    let parts = json_of(&[&shader, "-d", "mock", "-c", "0=16", "--isa", isa.to_str().unwrap()], 0);
    let [part] = &parts[..] else { panic!("{parts:?}") };
    assert_eq!((&part["name"], &part["status"], &part["lacking"]), (&"mock".into(), &"ok".into(), &json!([])));
    assert_eq!(
        part["executables"],
        json!([{"name": "mock", "subgroup_size": 32, "statistics": {"Registers": 32, "Spilled bytes": 0, "Code bytes": 1024}}])
    );
    let figures = ["registers", "spill_bytes", "shared_bytes", "code_bytes"].map(|name| part[name].as_u64());
    assert_eq!(figures, [Some(32), Some(0), Some(8192), Some(1024)]);
    // 512 bytes for each invocation in x, 48 KiB in all.
    let shared = json!({"limit": "maxComputeSharedMemorySize", "allowed": 49_152, "needed": 65_536});
    assert_eq!(part["workgroup"]["reach"][0], json!({"largest": 64, "next": shared}));
    let code = PathBuf::from(part["isa"].as_str().unwrap());
    assert_eq!(code.parent(), Some(isa.as_path()));
    let text = fs::read_to_string(&code).unwrap();
    assert!(text.contains(" main 0 WIDTH=16\n# mock, mock 1\n") && text.ends_with("\nnop\n"), "{text}");
    // Other constants, another file.
    json_of(&[&shader, "-d", "mock", "-c", "0=32", "--isa", isa.to_str().unwrap()], 0);
    assert_eq!(fs::read_dir(&isa).unwrap().count(), 2);
}

#[test]
fn what_can_not_be_asked_is_refused() {
    let folder = Folder::new();
    let shader = written(&folder, "shader.comp", SHADER);
    let file = folder.path("shader.comp").display().to_string();
    for (arguments, words) in [
        (&["-d", "no such device"][..], "unknown device `no such device`"),
        (&["-d", "99"], "unknown device `99`"),
        (&["-d", "mock", "-d", "all"], "mock devices are used without others"),
        (&["-d", "mock:wrung=1"], "wrung"),
        (&["-d", "mock", "--isa", &file], "can't write"),
        (&["--isa", "x"], "--device"),
        (&["-d", "mock", "--timeout", "0s"], "longer than 0"),
    ] {
        let ran = ran(&[&["inspect", &shader], arguments].concat());
        assert!(ran.code == Some(2) && ran.out.is_empty() && ran.err.contains(words), "{arguments:?}: {ran:?}");
    }
    let nowhere = folder.path("none.json");
    let mut command = lanescope(&["inspect", &shader, "-d", "all"]);
    let ran: Ran = command.env("VK_DRIVER_FILES", &nowhere).env("VK_ICD_FILENAMES", &nowhere).output().unwrap().into();
    assert!(ran.code == Some(2) && ran.out.is_empty() && ran.err.contains("VK_DRIVER_FILES"), "{ran:?}");
}

// ---- on each device -------------------------------------------------------------------------------------------------------

/// `devices --json` says what the limits are; what `inspect` makes of them is worked out here anew.
#[test]
fn the_sizes_that_go_are_those_within_the_limits() {
    let folder = Folder::new();
    let shader = written(&folder, "shader.comp", SHADER);
    let known: Value = serde_json::from_str(&support::succeeded(&["devices", "--json"]).out).unwrap();
    for device in devices() {
        let parts = json_of(&[&shader, "-d", &device.index, "-c", "0=16"], 0);
        let part = &parts[0];
        assert_eq!((parts.len(), &part["status"], &part["driver_id"]), (1, &"ok".into(), &device.driver.clone().into()));
        let limits = &known.as_array().unwrap().iter().find(|known| known["index"] == part["index"]).unwrap()["limits"];
        let fits = |size: [u64; 3]| {
            (0..3).all(|i| size[i] <= limits["workgroup_size"][i].as_u64().unwrap())
                && size.iter().product::<u64>() <= limits["workgroup_invocations"].as_u64().unwrap()
                && size[0] * 8 * 16 * 4 <= limits["shared_bytes"].as_u64().unwrap()
        };
        for direction in 0..3 {
            let of = |length: u64| {
                let mut size = [16, 4, 1];
                size[direction] = length;
                size
            };
            let reach = &part["workgroup"]["reach"][direction];
            let largest = reach["largest"].as_u64().unwrap();
            assert!(fits(of(largest)) && !fits(of(2 * largest)), "{}: {reach}", device.driver);
            assert!(reach["next"]["needed"].as_u64() > reach["next"]["allowed"].as_u64(), "{reach}");
        }
    }
}

/// The pipeline's layout comes from reflection alone, and the validation layer has nothing against it.
#[test]
fn a_pipeline_is_made_as_its_module_declares_it() {
    let folder = Folder::new();
    let module = from_file(Path::new(&written(&folder, "shader.comp", SHADER)), &Reading::default()).unwrap();
    let reflection = &module.reflection;
    let kinds = [
        BindingKind::StorageBuffer,
        BindingKind::UniformBuffer,
        BindingKind::SampledImage,
        BindingKind::StorageImage,
        BindingKind::CombinedImageSampler,
        BindingKind::Sampler,
        BindingKind::UniformTexelBuffer,
        BindingKind::StorageTexelBuffer,
    ];
    assert!(kinds.iter().all(|kind| reflection.bindings.iter().any(|binding| binding.kind == *kind)));
    let instance = Instance::load(InstanceOptions { validation: true }).unwrap_or_else(|error| panic!("{error}"));
    let mut asked = 0;
    for info in instance.devices().iter().filter(|info| info.unusable.is_none()) {
        let values = [(0, 8), (1, 4)].into();
        let specialized = specialize_entry(&module, &reflection.entry_points[0], &values).unwrap();
        let told = instance.kernel_statistics(info.index, &specialized, PipelineDetail::Code);
        let told = told.unwrap_or_else(|error| panic!("{}: {error}", info.name));
        assert_eq!(told.is_some(), info.has(Feature::PipelineExecutableProperties), "{}", info.name);
        asked += 1;
    }
    assert!(asked > 0, "no usable device: run eval \"$(scripts/drivers.sh)\"");
    let log = instance.message_log();
    drop(instance);
    assert!(log.is_closed(), "something of the device was leaked");
    assert_eq!(log.drain(), [""; 0]);
}

#[test]
fn what_does_not_go_is_not_tried() {
    let folder = Folder::new();
    let shader = written(&folder, "shader.comp", SHADER);
    // Workgroups of 65536 in x, and 32 MiB of shared memory for them.
    let parts = json_of(&[&shader, "-d", "all", "-c", "0=65536"], 0);
    assert!(parts.len() >= devices().len());
    for part in &parts {
        assert_eq!((&part["status"], &part["executables"]), (&"skipped".into(), &Value::Null));
        let limits = ["maxComputeWorkGroupSize[0]", "maxComputeWorkGroupInvocations", "maxComputeSharedMemorySize"];
        let stops: Vec<&str> =
            part["workgroup"]["stopped_by"].as_array().unwrap().iter().map(|stop| stop["limit"].as_str().unwrap()).collect();
        assert_eq!(stops, limits);
        assert!(limits.iter().all(|limit| part["reason"].as_str().unwrap().contains(limit)), "{part}");
    }
    let wide = "#version 460\nlayout(binding = 0) buffer B { double b[]; };\nvoid main() { b[0] *= 2; }\n";
    for part in json_of(&[&written(&folder, "wide.comp", wide), "-d", "all"], 0) {
        // SwiftShader has no doubles.
        let lacks = part["driver_id"] == "GOOGLE_SWIFTSHADER";
        let lacking = if lacks { json!([{"need": "Float64", "missing": "feature float64"}]) } else { json!([]) };
        assert_eq!((&part["lacking"], &part["status"]), (&lacking, &if lacks { "skipped" } else { "ok" }.into()), "{part}");
    }
    let rays = "#version 460\n#extension GL_EXT_ray_query : require\nlayout(binding = 3) uniform accelerationStructureEXT tree;\n\
                void main() {\n    rayQueryEXT ray;\n    rayQueryInitializeEXT(ray, tree, 0, 255, vec3(0), 0, vec3(1), 1);\n}\n";
    let ran = ran(&["inspect", &written(&folder, "rays.comp", rays), "--target-env", "vulkan1.2", "-d", "all"]);
    let why = "not compiled set 0, binding 3 (tree) is of a kind of descriptor that Lanescope doesn't know";
    assert!(ran.code == Some(0) && ran.out.contains(why) && ran.out.contains("untold       RayQueryKHR"), "{ran:?}");
}

// ---- faults of drivers ----------------------------------------------------------------------------------------------------

#[cfg(unix)]
#[test]
fn a_driver_that_fails_costs_its_own_part() {
    use support::faults::Faults;
    let folder = Folder::new();
    let shader = written(&folder, "shader.comp", SHADER);
    let all = devices().len();
    for (fault, status, reason) in [
        ("abort:pipeline", "crashed", "SIGABRT"),
        ("segfault:open", "crashed", "SIGSEGV"),
        ("hang:pipeline", "timeout", "its process was killed"),
        ("pipeline_error", "compile_error", "vkCreateComputePipelines"),
        ("device_lost:open", "device_lost", "VK_ERROR_DEVICE_LOST"),
    ] {
        // It comes once, at whichever device is the first.
        let faults = Faults::new(fault).once();
        let mut command = lanescope(&["inspect", &shader, "-d", "all", "--timeout", "5s", "--format", "json"]);
        let ran: Ran = faults.meet(&mut command).output().unwrap().into();
        assert_eq!(ran.code, Some(1), "{fault}: {}", ran.err);
        let parts = told(&ran);
        let (failed, others): (Vec<&Value>, Vec<&Value>) =
            parts.as_array().unwrap().iter().partition(|part| part["status"] != "ok");
        assert_eq!((failed.len(), others.len()), (1, all - 1), "{fault}: {parts}");
        assert_eq!(failed[0]["status"], status, "{fault}: {parts}");
        assert!(failed[0]["reason"].as_str().unwrap().contains(reason), "{fault}: {parts}");
        // What needs no driver's compiler is told all the same.
        assert!(failed[0]["workgroup"]["reach"][0]["largest"].is_u64(), "{fault}: {parts}");
    }
}

// ---- compiling for GPUs that aren't there ---------------------------------------------------------------------------------

/// RADV's driver file: distributions name it with and without the architecture.
fn radv() -> Option<PathBuf> {
    let names = [format!("radeon_icd.{}.json", std::env::consts::ARCH), "radeon_icd.json".to_owned()];
    let folder = Path::new("/usr/share/vulkan/icd.d");
    let found = names.iter().map(|name| folder.join(name)).find(|path| path.exists());
    if found.is_none() {
        eprintln!("RADV is not installed: mesa-vulkan-drivers brings it");
    }
    found
}

/// Beside the drivers that the tests have.
fn on_radv(command: &mut Command, radv: &Path, family: &str) -> Ran {
    let others = std::env::var_os("VK_DRIVER_FILES").unwrap_or_default();
    let files: Vec<PathBuf> = std::env::split_paths(&others).chain([radv.to_owned()]).collect();
    let files = std::env::join_paths(files.iter().filter(|file| !file.as_os_str().is_empty())).unwrap();
    let command = command.env("VK_DRIVER_FILES", &files).env("VK_ICD_FILENAMES", &files).env("RADV_FORCE_FAMILY", family);
    command.output().unwrap().into()
}

#[test]
fn gpus_that_are_not_there_tell_statistics_beside_others() {
    let Some(radv) = radv() else { return };
    let folder = Folder::new();
    let shader = written(&folder, "shader.comp", SHADER);
    let isa = folder.path("isa");
    let of = |family: &str, tile: &str| {
        let isa = isa.to_str().unwrap();
        let arguments = ["inspect", &shader, "-d", "all", "-c", "0=16", "-c", tile, "--isa", isa, "--format", "json"];
        let ran = on_radv(&mut lanescope(&arguments), &radv, family);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let parts = told(&ran).as_array().unwrap().clone();
        assert_eq!(parts.len(), devices().len() + 1, "{parts:?}");
        parts.into_iter().find(|part| part["driver_id"] == "MESA_RADV").unwrap()
    };
    for family in ["polaris10", "navi21"] {
        let [small, large] = ["1=2", "1=4"].map(|tile| of(family, tile));
        for (part, shared) in [(&small, 2048), (&large, 4096)] {
            assert!(part["unusable"].as_str().unwrap().contains("for compiling only"), "{part}");
            let statistics = &part["executables"][0]["statistics"];
            assert_eq!((&part["shared_bytes"], &statistics["LDS size"]), (&shared.into(), &shared.into()), "{part}");
            assert_eq!((&part["registers"], &part["code_bytes"]), (&statistics["VGPRs"], &statistics["Code size"]));
            assert!(part["registers"].as_u64() > Some(0) && part["spill_bytes"] == 0, "{part}");
            let code = fs::read_to_string(part["isa"].as_str().unwrap()).unwrap();
            assert!(code.contains("Assembly") && code.contains("s_endpgm"), "{code}");
        }
    }
    assert_eq!(fs::read_dir(&isa).unwrap().count(), 4, "a file for each family and specialization");
    let ran = on_radv(&mut lanescope(&["inspect", &shader, "-d", "radv"]), &radv, "navi21");
    let table = ran.out.split_once("\ndrivers' statistics").unwrap().1;
    let names: Vec<&str> = table.lines().skip(2).map(|line| line[4..].split("  ").next().unwrap()).take(5).collect();
    assert_eq!(names, ["registers", "spill bytes", "shared bytes", "code bytes", "subgroup size"], "{table}");
    // What only compiles is nothing to measure on.
    let run = on_radv(&mut lanescope(&["run", "-d", "radv", "memory/stream"]), &radv, "navi21");
    assert!(run.code == Some(2) && run.err.contains("for compiling only"), "{run:?}");
}
