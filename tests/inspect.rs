//! `lanescope inspect`: what it says of shaders, and what it says of files that are none.

#![expect(clippy::unwrap_used, reason = "clippy exempts test functions but not the helpers beside them")]

mod support;

use std::fs;
use std::path::Path;

use lanescope::model::SpirvTarget;
use lanescope::shader::{Compiler, Library};
use serde_json::Value;
use support::{Folder, ran};

const SHADER: &str = "#version 460
layout(local_size_x_id = 0, local_size_y = 4) in;
layout(constant_id = 1) const uint TILE = 8;
layout(constant_id = 2) const float SCALE = 0.5;
struct Particle { vec3 position; float mass; mat3 frame; };
layout(set = 1, binding = 2) readonly buffer Particles { uint count; Particle particles[]; };
layout(binding = 0) uniform Frame { layout(row_major) mat4 view; float times[3]; };
layout(binding = 1) uniform sampler2D image;
layout(push_constant) uniform Push { uint n; float weight; };
layout(set = 0, binding = 3) writeonly buffer Out { float result[]; };
shared float tile[TILE * TILE];
void main() {
    tile[gl_LocalInvocationIndex] = texture(image, vec2(0)).x * SCALE;
    barrier();
    float sum = 0;
    for (uint i = 0; i < n; ++i) sum += particles[i].mass * tile[i] + view[0][0] + times[1] + particles[i].frame[0][1];
    result[gl_GlobalInvocationID.x] = sum * weight;
}
";

fn written(folder: &Folder, name: &str, bytes: impl AsRef<[u8]>) -> String {
    let path = folder.path(name);
    fs::write(&path, bytes).unwrap();
    path.display().to_string()
}

fn json(arguments: &[&str]) -> Value {
    let ran = ran(&[&["inspect", "--format", "json"], arguments].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    serde_json::from_str(&ran.out).unwrap()
}

#[test]
fn everything_that_a_shader_declares_is_told() {
    let folder = Folder::new();
    let shader = written(&folder, "shader.comp", SHADER);
    let told = json(&[&shader, "-c", "TILE=32", "-c", "0=64"]);
    assert_eq!((&told["shared_bytes"], &told["push_constant_bytes"]), (&4096.into(), &8.into()));
    assert_eq!(told["shared_bytes_depend_on"], serde_json::json!([1]));
    let entry = &told["entry_points"][0];
    assert_eq!((entry["name"].as_str(), &entry["workgroup"]), (Some("main"), &serde_json::json!([64, 4, 1])));
    assert_eq!(entry["local_size"][0], serde_json::json!({"specialized": {"constant_id": 0, "default": 1}}));
    let names = ["Frame", "image", "Out", "Particles"];
    let bindings = told["bindings"].as_array().unwrap();
    assert_eq!(bindings.iter().map(|binding| binding["name"].as_str().unwrap()).collect::<Vec<_>>(), names);
    assert_eq!((&bindings[3]["set"], &bindings[3]["access"]), (&1.into(), &"read_only".into()));
    let blocks = told["blocks"].as_array().unwrap();
    let members = |name: &str| &blocks.iter().find(|block| block["name"] == name).unwrap()["layout"]["members"];
    assert_eq!(members("Frame")[0]["type"]["order"], "row_major");
    assert_eq!(
        members("Frame")[1]["type"],
        serde_json::json!({"kind": "array", "length": 3, "stride": 16, "element": {"kind": "scalar", "scalar": "float"}})
    );
    let particles = &members("Particles")[1]["type"];
    assert_eq!((&particles["kind"], &particles["stride"]), (&"runtime_array".into(), &64.into()));
    assert_eq!(particles["element"]["members"][2]["offset"], 16);
    let constants = told["spec_constants"].as_array().unwrap();
    assert_eq!(constants.iter().map(|one| one["value"].as_str().unwrap()).collect::<Vec<_>>(), ["64", "32", "0.5"]);
    assert_eq!(entry["instructions"]["by_depth"][1]["shared_load"], 1);
}

/// What is told of a module is the same whether it comes as GLSL or as SPIR-V, in either byte order.
#[test]
fn spirv_is_described_like_its_source() {
    let folder = Folder::new();
    let library = Library::embedded().with("shader.comp", SHADER);
    let module = Compiler::new(library).unwrap().compile("shader.comp", &[], SpirvTarget::default()).unwrap();
    let bytes = |swap: bool| {
        let words = module.words.iter().map(|word| if swap { word.swap_bytes() } else { *word });
        words.flat_map(u32::to_ne_bytes).collect::<Vec<u8>>()
    };
    let mut of_source = json(&[&written(&folder, "shader.comp", SHADER)]);
    assert_eq!(of_source["spirv_hash"], module.spirv_hash.as_str());
    of_source["source_hash"] = "".into();
    for swap in [false, true] {
        assert_eq!(json(&[&written(&folder, "shader.spv", bytes(swap))]), of_source, "swapped: {swap}");
    }
}

/// All of the project's own kernels, as a user would name them.
#[test]
fn every_shader_of_the_catalogue_that_needs_no_macro_is_described() {
    let glsl = Path::new(env!("CARGO_MANIFEST_DIR")).join("glsl");
    let include = glsl.join("include").display().to_string();
    let mut described = 0;
    for shader in Library::embedded().shaders() {
        let path = glsl.join(shader).display().to_string();
        let ran = ran(&["inspect", &path, "-I", &include, "--target-env", "vulkan1.3"]);
        if ran.code == Some(0) {
            assert!(ran.out.contains("entry point main: workgroups of "), "{}", ran.out);
            described += 1;
        } else {
            assert!(ran.code == Some(2) && ran.err.contains("#error"), "{shader}: {}", ran.err);
        }
    }
    assert!(described >= 20, "{described}");
}

#[test]
fn what_is_no_shader_is_refused_with_the_place() {
    let folder = Folder::new();
    let bad = written(&folder, "bad.comp", "#version 460\nvoid main() { x = 1; }\n");
    let good = written(&folder, "good.comp", SHADER);
    let junk = written(&folder, "junk", [0xFF, 0xFE, 0, 0x80]);
    let cut = written(&folder, "cut.spv", [3, 2, 0x23, 7, 0]);
    let head = written(&folder, "head.spv", 0x0723_0203_u32.to_ne_bytes());
    let none = folder.path("none.comp").display().to_string();
    for (arguments, words) in [
        (&[&bad[..]][..], "bad.comp:2: error: 'x' : undeclared identifier"),
        (&[&none], "none.comp"),
        (&[&junk], "neither GLSL"),
        (&[&cut], "5 bytes"),
        (&[&head], "no valid header"),
        (&[&head, "-D", "A"], "macros and include folders are for GLSL"),
        (&[&good, "-c", "TIL=3"], "it has 0, 1 TILE, 2 SCALE"),
        (&[&good, "-c", "TILE=-1"], "`-1` is no uint"),
        (&[&good, "-c", "TILE"], "NAME=VALUE"),
        (&[&good, "-D", "1A"], "defines no macro"),
    ] {
        let ran = ran(&[&["inspect"], arguments].concat());
        assert!(ran.code == Some(2) && ran.out.is_empty() && ran.err.contains(words), "{arguments:?}: {}", ran.err);
    }
}
