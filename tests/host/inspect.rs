//! `lanescope inspect`: what it says of shaders, and what it says of files that are none.

use std::path::Path;

use lanescope::model::SpirvTarget;
use lanescope::shader::{Compiler, Library};
use serde_json::Value;

use crate::support::form::sample;
use crate::support::{Folder, ran, spirv_tool, succeeded};

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

/// Two entry points: `up` writes `a` at set 0, binding 0 in workgroups of 64, `down` reads an image there in workgroups of 8 x 4, with
/// 64 bytes of shared memory.
const SEVERAL: &str = "OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %up \"up\"
OpEntryPoint GLCompute %down \"down\"
OpExecutionMode %up LocalSize 64 1 1
OpExecutionMode %down LocalSize 8 4 1
OpName %a \"a\"
OpName %image \"image\"
OpName %spare \"spare\"
OpMemberDecorate %block 0 Offset 0
OpDecorate %block Block
OpDecorate %a DescriptorSet 0
OpDecorate %a Binding 0
OpDecorate %image DescriptorSet 0
OpDecorate %image Binding 0
OpDecorate %spare DescriptorSet 0
OpDecorate %spare Binding 1
%void = OpTypeVoid
%function = OpTypeFunction %void
%uint = OpTypeInt 32 0
%float = OpTypeFloat 32
%zero = OpConstant %uint 0
%sixteen = OpConstant %uint 16
%block = OpTypeStruct %uint
%buffer = OpTypePointer StorageBuffer %block
%element = OpTypePointer StorageBuffer %uint
%type = OpTypeImage %float 2D 0 0 0 1 Unknown
%constant = OpTypePointer UniformConstant %type
%array = OpTypeArray %uint %sixteen
%memory = OpTypePointer Workgroup %array
%word = OpTypePointer Workgroup %uint
%a = OpVariable %buffer StorageBuffer
%spare = OpVariable %buffer StorageBuffer
%image = OpVariable %constant UniformConstant
%tile = OpVariable %memory Workgroup
%up = OpFunction %void None %function
%up_begins = OpLabel
%place = OpAccessChain %element %a %zero
OpStore %place %zero
OpReturn
OpFunctionEnd
%read = OpFunction %void None %function
%read_begins = OpLabel
%loaded = OpLoad %type %image
%here = OpAccessChain %word %tile %zero
OpStore %here %zero
OpReturn
OpFunctionEnd
%down = OpFunction %void None %function
%down_begins = OpLabel
%called = OpFunctionCall %void %read
OpReturn
OpFunctionEnd
";

/// A binary of an assembly text, which the validator takes.
fn assembled(text: &str) -> Vec<u8> {
    let binary = spirv_tool("spirv-as", &["--target-env", "spv1.3", "-", "-o", "-"], text.as_bytes()).unwrap();
    spirv_tool("spirv-val", &["--target-env", "vulkan1.1", "-"], &binary).unwrap();
    binary
}

fn json(arguments: &[&str]) -> Value {
    let ran = ran(&[&["inspect", "--format", "json"], arguments].concat()).says(0, &[]);
    serde_json::from_str(&ran.out).unwrap()
}

#[test]
fn everything_that_a_shader_declares_is_told() {
    let (_folder, shader) = Folder::with("shader.comp", SHADER);
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

#[test]
fn text_tells_matrices_whose_rows_come_first_from_others() {
    let folder = Folder::new();
    let told = ran(&["inspect", &folder.write("shader.comp", SHADER)]).out;
    assert!(told.contains("row_major mat4") && told.contains(" mat3") && !told.contains("row_major mat3"), "{told}");
}

/// The compiler names the constant a second time.
#[test]
fn a_constant_keeps_its_name_where_another_one_takes_its_value() {
    let folder = Folder::new();
    let shader = SHADER
        .replace("struct Particle", "const uint strideA = TILE;\nstruct Particle")
        .replace("* weight", "* weight + strideA");
    let shader = folder.write("alias.comp", shader);
    let told = json(&[&shader, "-c", "TILE=16"]);
    let names: Vec<&str> = told["spec_constants"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"TILE") && !names.contains(&"strideA"), "{names:?}");
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
    let mut of_source = json(&[&folder.write("shader.comp", SHADER)]);
    assert_eq!(of_source["spirv_hash"], module.spirv_hash.as_str());
    of_source["source_hash"] = "".into();
    for swap in [false, true] {
        assert_eq!(json(&[&folder.write("shader.spv", bytes(swap))]), of_source, "swapped: {swap}");
    }
}

#[test]
#[cfg_attr(windows, ignore = "the SPIR-V tools are programs of the system around Wine")]
fn an_entry_point_is_described_alone() {
    let folder = Folder::new();
    let several = folder.write("several.spv", assembled(SEVERAL));
    let bindings = |told: &Value| {
        let bindings = told["bindings"].as_array().unwrap().iter();
        bindings
            .map(|binding| format!("{} {}", binding["name"].as_str().unwrap(), binding["kind"].as_str().unwrap()))
            .collect::<Vec<_>>()
    };
    let up = json(&[&several, "--entry", "up"]);
    assert_eq!((&up["entry_points"][0]["workgroup"], &up["shared_bytes"]), (&serde_json::json!([64, 1, 1]), &0.into()));
    assert_eq!(bindings(&up), ["a storage_buffer", "spare storage_buffer"]);
    let down = json(&[&several, "-e", "down"]);
    assert_eq!((&down["entry_points"][0]["workgroup"], &down["shared_bytes"]), (&serde_json::json!([8, 4, 1]), &64.into()));
    assert_eq!(bindings(&down), ["image sampled_image", "spare storage_buffer"]);
    assert!([&up, &down].iter().all(|told| told["entry_points"].as_array().unwrap().len() == 1));
    for (entry, words) in [
        (&["-e", "left"][..], "no compute entry point `left`; it has up, down"),
        (
            &[],
            "set 0, binding 0 is declared twice, as `a` (storage_buffer) and as `image` (sampled_image); name one of the entry points by",
        ),
    ] {
        ran(&[&["inspect", &several], entry].concat()).refuses(&[words]);
    }
    // Nothing at one descriptor: all can be described at once.
    let alike = folder.write("alike.spv", assembled(&SEVERAL.replace("%image Binding 0", "%image Binding 2")));
    let all = json(&[&alike]);
    let names: Vec<&str> =
        all["entry_points"].as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap()).collect();
    assert_eq!((names, bindings(&all).len()), (vec!["up", "down"], 3));
    let glsl = folder.write("shader.comp", SHADER);
    assert_eq!(json(&[&glsl, "-e", "main"]), json(&[&glsl]));
    assert!(ran(&["inspect", &glsl, "-e", "mian"]).err.contains("no compute entry point `mian`; it has main"));
}

/// All of the project's own kernels, as a user would name them.
#[test]
fn every_shader_of_the_catalogue_that_needs_no_macro_is_described() {
    let glsl = Path::new(env!("CARGO_MANIFEST_DIR")).join("glsl");
    let include = glsl.join("include").display().to_string();
    let mut described = 0;
    for shader in sample(Library::embedded().shaders(), 2, 6) {
        let path = glsl.join(shader).display().to_string();
        let ran = ran(&["inspect", &path, "-I", &include, "--target-env", "vulkan1.3"]);
        if ran.code == Some(0) {
            assert!(ran.out.contains("entry point main: workgroups of "), "{}", ran.out);
            described += 1;
        } else {
            assert!(ran.code == Some(2) && ran.err.contains("#error"), "{shader}: {}", ran.err);
        }
    }
    assert!(described >= 3, "{described}");
}

#[test]
fn what_is_no_shader_is_refused_with_the_place() {
    let folder = Folder::new();
    let bad = folder.write("bad.comp", "#version 460\nvoid main() { x = 1; }\n");
    let good = folder.write("good.comp", SHADER);
    let junk = folder.write("junk", [0xFD, 0xFE, 0, 0x80]);
    let cut = folder.write("cut.spv", [3, 2, 0x23, 7, 0]);
    let broken = folder.write("broken.spv", [3, 2, 0x32, 7, 0]);
    let head = folder.write("head.spv", 0x0723_0203_u32.to_ne_bytes());
    let none = folder.at("none.comp");
    for (arguments, words) in [
        (&[&bad[..]][..], "bad.comp:2: error: 'x' : undeclared identifier"),
        (&[&none], "none.comp"),
        (&[&junk], "neither GLSL"),
        (&[&cut], "5 bytes"),
        (&[&head], "no valid header"),
        (&[&broken], "broken.spv is no SPIR-V: it doesn't begin with 0x07230203"),
        (&[&head, "-D", "A"], "macros, preambles and include folders are for GLSL"),
        (&[&good, "-c", "TIL=3"], "it has 0, 1 TILE, 2 SCALE"),
        (&[&good, "-c", "TILE=-1"], "`-1` is no uint"),
        (&[&good, "-c", "TILE"], "NAME=VALUE"),
        (&[&good, "-D", "1A"], "defines no macro"),
    ] {
        ran(&[&["inspect"], arguments].concat()).refuses(&[words]);
    }
}

/// A descriptor that is seen in two ways, a buffer that is read against its declaration, an array that nothing uses, a function that is
/// called twice.
#[test]
fn what_a_declaration_alone_would_not_tell_is_told() {
    let folder = Folder::new();
    let shader = "#version 450
        layout(local_size_x = 64) in;
        layout(binding = 0) readonly buffer A { float a[]; };
        layout(binding = 0) readonly buffer Wide { vec4 wide[]; };
        layout(binding = 1) writeonly buffer B { float b[]; };
        layout(binding = 2) writeonly buffer C { float c[]; };
        shared float spare[1024];
        shared float used[64];
        float f(float x) { used[gl_LocalInvocationIndex] = x; barrier(); return used[63 - gl_LocalInvocationIndex]; }
        void main() { uint g = gl_GlobalInvocationID.x; b[g] *= f(a[g]) + f(wide[g / 4].x); c[g] = 1; }";
    let shader = folder.write("told.comp", shader);
    let text = succeeded(&["inspect", &shader]).out;
    for part in [
        "set 0, binding 0: storage_buffer A and Wide, read_only\n        as A\n",
        "        as Wide\n            0  vec4[] wide, 16 bytes apart",
        "binding 1: storage_buffer B, write_only, but it is read\n",
        "binding 2: storage_buffer C, write_only\n",
        "shared   256 B; unused, and not counted: spare\n",
        "(functions count at each call)\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let told: Value = serde_json::from_str(&succeeded(&["inspect", &shader, "--format", "json"]).out).unwrap();
    assert_eq!(told["bindings"][0]["variables"], serde_json::json!(["A", "Wide"]));
    let access = |binding: usize| [&told["bindings"][binding]["access"], &told["bindings"][binding]["used_access"]];
    assert_eq!(access(1), ["write_only", "read_write"]);
    assert_eq!(access(2), ["write_only", "write_only"]);
    assert_eq!(told["unused_shared"], serde_json::json!(["spare"]));
}
