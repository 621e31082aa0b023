//! `lanescope inspect -d`: what devices make of a shader, those that aren't there included, and what becomes of the others where one
//! fails.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use lanescope::gpu::{Instance, InstanceOptions};
use lanescope::model::{Feature, PipelineDetail};
use lanescope::shader::{BindingKind, Reading, from_file, specialize_entry};
use serde_json::{Value, json};

use crate::support::inspected::{SHADER, json_of, told};
use crate::support::{Folder, Ran, devices, lanescope, radv, ran, skip};

// ---- on each device -------------------------------------------------------------------------------------------------------

/// `devices --json` says what the limits are; what `inspect` makes of them is worked out here anew.
#[test]
fn the_sizes_that_go_are_those_within_the_limits() {
    let (_folder, shader) = Folder::with("shader.comp", SHADER);
    let known: Value = serde_json::from_str(&crate::support::succeeded(&["devices", "--json"]).out).unwrap();
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
    let module = from_file(Path::new(&folder.write("shader.comp", SHADER)), &Reading::default()).unwrap();
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
fn a_device_that_is_not_there_is_refused() {
    let (_folder, shader) = Folder::with("shader.comp", SHADER);
    for device in ["no such device", "99"] {
        ran(&["inspect", &shader, "-d", device]).refuses(&[&format!("unknown device `{device}`")]);
    }
}

#[test]
fn what_does_not_go_is_not_tried() {
    let (folder, shader) = Folder::with("shader.comp", SHADER);
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
    for part in json_of(&[&folder.write("wide.comp", wide), "-d", "all"], 0) {
        // SwiftShader has no doubles.
        let lacks = part["driver_id"] == "GOOGLE_SWIFTSHADER";
        let lacking = if lacks { json!([{"need": "Float64", "missing": "feature float64"}]) } else { json!([]) };
        assert_eq!((&part["lacking"], &part["status"]), (&lacking, &if lacks { "skipped" } else { "ok" }.into()), "{part}");
    }
    let rays = "#version 460\n#extension GL_EXT_ray_query : require\nlayout(binding = 3) uniform accelerationStructureEXT tree;\n\
                void main() {\n    rayQueryEXT ray;\n    rayQueryInitializeEXT(ray, tree, 0, 255, vec3(0), 0, vec3(1), 1);\n}\n";
    let ran = ran(&["inspect", &folder.write("rays.comp", rays), "--target-env", "vulkan1.2", "-d", "all"]);
    let why = "not compiled   set 0, binding 3 (tree) is of a kind of descriptor that Lanescope doesn't know";
    assert!(ran.code == Some(0) && ran.out.contains(why) && ran.out.contains("unknown        RayQueryKHR"), "{ran:?}");
}

// ---- faults of drivers ----------------------------------------------------------------------------------------------------

#[cfg(unix)]
#[test]
fn a_driver_that_fails_costs_its_own_part() {
    use crate::support::faults::Faults;
    let (_folder, shader) = Folder::with("shader.comp", SHADER);
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
        let ran = crate::support::ended(faults.meet(&mut command)).says(1, &[]);
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
    let Some(radv) = radv() else { skip!("RADV is not installed: mesa-vulkan-drivers brings it") };
    let (folder, shader) = Folder::with("shader.comp", SHADER);
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
    let names: Vec<&str> = table.lines().skip(3).map(|line| line[4..].split("  ").next().unwrap()).take(5).collect();
    assert_eq!(names, ["registers", "spill bytes", "shared bytes", "code bytes", "subgroup size"], "{table}");
    // What only compiles is nothing to measure on.
    let run = on_radv(&mut lanescope(&["run", "-d", "radv", "memory/stream"]), &radv, "navi21");
    assert!(run.code == Some(2) && run.err.contains("for compiling only"), "{run:?}");
}
