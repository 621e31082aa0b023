//! What `lanescope inspect` says of modules, held against an independent reflector: SPIRV-Cross. On every module of the catalogue that
//! SPIRV-Cross can read, and on shaders with each feature that it can describe.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use lanescope::model::SpirvTarget;
use lanescope::plan::{Plan, Request};
use lanescope::shader::{Capability, Compiler, Library, Module};
use serde_json::Value;

use crate::support::form::sample;
use crate::support::{Folder, PRESETS, Ran, device_classes, ran, setting, spirv_tool, to_bytes};

// ---- the two reflectors ---------------------------------------------------------------------------------------------------

/// What both tell of one entry point, in the same words.
#[derive(Debug, Default, PartialEq)]
struct Told {
    entry: String,
    /// In each direction a length, or the `constant_id` that sets it.
    workgroup: Vec<String>,
    /// By set and binding.
    /// By set, number and name.
    bindings: BTreeMap<(u64, u64, String), Binding>,
    /// Members of the push constants' block.
    push: Vec<Member>,
    /// Named specialization constants: id, name, type, default. The default only where SPIRV-Cross tells it.
    constants: BTreeSet<(u64, String, String, String)>,
}

#[derive(Debug, PartialEq)]
struct Binding {
    /// The variable's, or of a buffer the block's: SPIRV-Cross tells that alone.
    name: String,
    kind: String,
    /// 0 for an open array.
    count: u64,
    /// Of storage buffers and images.
    access: Option<String>,
    /// Bytes and members, of buffers.
    block: Option<(u64, Vec<Member>)>,
}

#[derive(Debug, PartialEq)]
struct Member {
    name: String,
    offset: u64,
    ty: String,
    /// Lengths, outermost first; 0 for a runtime array.
    lengths: Vec<u64>,
    /// Of the outermost array.
    stride: Option<u64>,
    /// Of the matrix, and whether its rows come first.
    matrix: Option<(u64, bool)>,
    members: Vec<Member>,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

// ---- Lanescope ------------------------------------------------------------------------------------------------------------

fn inspected(path: &Path, entry: &str) -> Told {
    let ran = ran(&["inspect", path.to_str().unwrap(), "--entry", entry, "--format", "json"]).says(0, &[]);
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    let [entry] = list(&told["entry_points"]) else { panic!("{told}") };
    let blocks = list(&told["blocks"]);
    let members = |block: &Value| list(&block["layout"]["members"]).iter().map(own_member).collect();
    let binding = |binding: &Value| {
        let here = |block: &&Value| (&block["set"], &block["binding"]) == (&binding["set"], &binding["binding"]);
        let kind = text(&binding["kind"]);
        let is_written = ["storage_buffer", "storage_image", "storage_texel_buffer"].contains(&kind.as_str());
        let block = blocks.iter().find(here);
        let told = Binding {
            name: text(block.map_or(&binding["name"], |block| &block["layout"]["type_name"])),
            count: binding["count"].as_u64().unwrap(),
            access: is_written.then(|| text(&binding["access"])),
            block: block.map(|block| (block["layout"]["bytes"].as_u64().unwrap(), members(block))),
            kind,
        };
        ((binding["set"].as_u64().unwrap(), binding["binding"].as_u64().unwrap(), told.name.clone()), told)
    };
    let constant = |constant: &Value| {
        let (ty, value) = (text(&constant["type"]), text(&constant["value"]));
        (constant["id"].as_u64().unwrap(), text(&constant["name"]), ty.clone(), default_of(&ty, value))
    };
    let extent = |extent: &Value| match extent.get("literal") {
        Some(literal) => literal.to_string(),
        None => format!("constant {}", extent["specialized"]["constant_id"]),
    };
    Told {
        entry: text(&entry["name"]),
        workgroup: list(&entry["local_size"]).iter().map(extent).collect(),
        bindings: list(&told["bindings"]).iter().map(binding).collect(),
        push: blocks.iter().filter(|block| block["kind"] == "push_constants").flat_map(members).collect(),
        constants: list(&told["spec_constants"]).iter().map(constant).collect(),
    }
}

/// Nothing where SPIRV-Cross tells none.
fn default_of(ty: &str, value: String) -> String {
    if ["double", "int64_t", "uint64_t", "float16_t", "int16_t", "uint16_t", "int8_t", "uint8_t"].contains(&ty) {
        String::new()
    } else {
        value
    }
}

fn own_member(member: &Value) -> Member {
    let (mut ty, mut lengths) = (&member["type"], Vec::new());
    let stride = ty["element"].is_object().then(|| ty["stride"].as_u64().unwrap());
    while ty["element"].is_object() {
        lengths.push(ty["length"].as_u64().unwrap_or(0));
        ty = &ty["element"];
    }
    let is_struct = ty["kind"] == "struct";
    Member {
        name: text(&member["name"]),
        offset: member["offset"].as_u64().unwrap(),
        ty: if is_struct { "struct".to_owned() } else { own_type(ty) },
        lengths,
        stride,
        matrix: (ty["kind"] == "matrix").then(|| (ty["stride"].as_u64().unwrap(), ty["order"] == "row_major")),
        members: list(&ty["members"]).iter().map(own_member).collect(),
    }
}

fn own_type(ty: &Value) -> String {
    let scalar = ty["scalar"].as_str().unwrap_or_default();
    let prefix = match scalar {
        "float" => "",
        "double" => "d",
        "int" => "i",
        "uint" => "u",
        "float16_t" => "f16",
        "int8_t" => "i8",
        "uint8_t" => "u8",
        "int16_t" => "i16",
        "uint16_t" => "u16",
        "int64_t" => "i64",
        "uint64_t" => "u64",
        other => panic!("no prefix for {other}: {ty}"),
    };
    match ty["kind"].as_str().unwrap() {
        "scalar" => scalar.to_owned(),
        "vector" => format!("{prefix}vec{}", ty["components"]),
        "matrix" if ty["columns"] == ty["rows"] => format!("{prefix}mat{}", ty["columns"]),
        "matrix" => format!("{prefix}mat{}x{}", ty["columns"], ty["rows"]),
        other => panic!("a member is a {other}"),
    }
}

// ---- SPIRV-Cross ----------------------------------------------------------------------------------------------------------

/// What SPIRV-Cross says of a module.
fn cross(path: &Path, entry: &str) -> Told {
    let output = Command::new("spirv-cross").arg(path).args(["--reflect", "--entry", entry, "--stage", "comp"]).output();
    let ran: Ran =
        output.unwrap_or_else(|error| panic!("spirv-cross: {error}; install it (scripts/setup.sh --tests does)")).into();
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    Cross(&serde_json::from_str(&ran.out).unwrap()).told(entry)
}

struct Cross<'a>(&'a Value);

impl Cross<'_> {
    fn told(&self, entry: &str) -> Told {
        let Self(told) = self;
        let point = list(&told["entryPoints"]).iter().find(|point| point["name"] == entry).unwrap();
        let is_constant = list(&point["workgroup_size_is_spec_constant_id"]);
        let extent = |(length, is_constant): (&Value, &Value)| match is_constant.as_bool() {
            Some(true) => format!("constant {length}"),
            _ => length.to_string(),
        };
        let kinds = ["textures", "separate_images", "separate_samplers", "images", "ssbos", "ubos"];
        let bindings = kinds.into_iter().flat_map(|kind| list(&told[kind]).iter().map(move |binding| (kind, binding)));
        let constant = |constant: &Value| {
            let ty = text(&constant["type"]);
            (
                constant["id"].as_u64().unwrap(),
                text(&constant["name"]),
                ty.clone(),
                default_of(&ty, plain(&constant["default_value"])),
            )
        };
        Told {
            entry: text(&point["name"]),
            workgroup: list(&point["workgroup_size"]).iter().zip(is_constant).map(extent).collect(),
            bindings: bindings.map(|(kind, binding)| self.binding(kind, binding)).collect(),
            push: list(&told["push_constants"]).iter().flat_map(|push| self.members(&push["type"])).collect(),
            constants: list(&told["specialization_constants"]).iter().map(constant).collect(),
        }
    }

    fn binding(&self, list_name: &str, binding: &Value) -> ((u64, u64, String), Binding) {
        let ty = text(&binding["type"]);
        let kind = match (list_name, ty.as_str()) {
            ("ssbos", _) => "storage_buffer",
            ("ubos", _) => "uniform_buffer",
            ("images", ty) if ty.ends_with("imageBuffer") => "storage_texel_buffer",
            ("images", _) => "storage_image",
            ("separate_samplers", _) => "sampler",
            (_, ty) if ty.ends_with("samplerBuffer") || ty.ends_with("textureBuffer") => "uniform_texel_buffer",
            ("separate_images", _) => "sampled_image",
            _ => "combined_image_sampler",
        };
        let is_written = ["ssbos", "images"].contains(&list_name);
        let access = match (&binding["readonly"], &binding["writeonly"]) {
            (Value::Bool(true), _) => "read_only",
            (_, Value::Bool(true)) => "write_only",
            _ => "read_write",
        };
        let told = Binding {
            name: text(&binding["name"]),
            kind: kind.to_owned(),
            count: self.lengths(binding).into_iter().product(),
            access: is_written.then(|| access.to_owned()),
            block: binding["block_size"].as_u64().map(|bytes| (bytes, self.members(&binding["type"]))),
        };
        ((binding["set"].as_u64().unwrap_or(0), binding["binding"].as_u64().unwrap(), told.name.clone()), told)
    }

    fn members(&self, ty: &Value) -> Vec<Member> {
        list(&self.0["types"][text(ty)]["members"]).iter().map(|member| self.member(member)).collect()
    }

    fn member(&self, member: &Value) -> Member {
        let ty = text(&member["type"]);
        let is_struct = self.0["types"].get(&ty).is_some();
        Member {
            name: text(&member["name"]),
            offset: member["offset"].as_u64().unwrap(),
            members: if is_struct { self.members(&member["type"]) } else { Vec::new() },
            ty: if is_struct { "struct".to_owned() } else { ty },
            lengths: self.lengths(member),
            stride: member["array_stride"].as_u64(),
            matrix: member["matrix_stride"].as_u64().map(|stride| (stride, member["row_major"] == true)),
        }
    }

    /// Innermost first in SPIRV-Cross; a length that is no literal is the id of its constant's variable.
    fn lengths(&self, of: &Value) -> Vec<u64> {
        let lengths = list(&of["array"]).iter().zip(list(&of["array_size_is_literal"])).rev();
        let constant = |id: &Value| {
            let constants = list(&self.0["specialization_constants"]);
            constants.iter().find(|constant| constant["variable_id"] == *id).unwrap()["default_value"].clone()
        };
        let length =
            |(length, is_literal): (&Value, &Value)| if is_literal == true { length.clone() } else { constant(length) };
        lengths.map(|told| length(told).as_u64().unwrap()).collect()
    }
}

/// A value as a command line takes it.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Holds one against the other.
fn agree(path: &Path, entry: &str, what: &str) -> Told {
    let (own, mut theirs) = (inspected(path, entry), cross(path, entry));
    // What is declared twice, as words and as vectors, Lanescope tells once: there is one descriptor.
    let is_told =
        |set: u64, number: u64| own.bindings.keys().any(|(own_set, own_number, _)| (*own_set, *own_number) == (set, number));
    theirs.bindings.retain(|place, _| own.bindings.contains_key(place) || !is_told(place.0, place.1));
    assert_eq!(own, theirs, "{what}: Lanescope's on the left, SPIRV-Cross's on the right");
    own
}

// ---- the catalogue --------------------------------------------------------------------------------------------------------

/// Every module of the catalogue that the default sweeps use, and of shaders that none uses what they are without macros: what each
/// is made of, and itself.
fn modules() -> Vec<(String, Arc<Module>)> {
    let mut compiler = Compiler::new(Library::embedded()).unwrap();
    let (mut modules, mut seen, mut used) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
    for device in device_classes().into_iter().chain([crate::support::with_matrices()]) {
        for preset in PRESETS {
            let plan = Plan::new(&Request::default(), setting(&device, preset)).unwrap();
            for kernel in plan.iter().filter_map(|planned| planned.case.ok()).flat_map(|case| case.kernels) {
                let what = format!("{} {:?} {:?}", kernel.source, kernel.macros, kernel.target);
                if seen.insert(what.clone()) {
                    let module = compiler.compile(&kernel.source, &kernel.macros, kernel.target).unwrap();
                    modules.insert(module.spirv_hash.clone(), (what, module));
                }
                used.insert(kernel.source.into_owned());
            }
        }
    }
    for shader in Library::embedded().shaders().filter(|shader| !used.contains(*shader)) {
        let module = compiler.compile(shader, &[], SpirvTarget::default()).unwrap();
        modules.insert(module.spirv_hash.clone(), (shader.to_owned(), module));
    }
    modules.into_values().collect()
}

/// All but those with cooperative matrices, which are younger than Debian's SPIRV-Cross; `tests/host/catalogue.rs` holds these to what
/// their experiments say.
#[test]
fn every_module_of_the_catalogue_is_described_as_spirv_cross_does() {
    let folder = Folder::new();
    let modules = modules();
    let is_young = |module: &Module| module.reflection.capabilities.contains(&Capability::CooperativeMatrixKHR);
    let read: Vec<_> = modules.iter().filter(|(_, module)| !is_young(module)).collect();
    assert!(read.len() > 1000, "only {} modules", read.len());
    let open = Mutex::new(sample(read, 3, 3));
    // Each is two processes.
    thread::scope(|scope| {
        for worker in 0..thread::available_parallelism().map_or(1, usize::from) {
            let path = folder.path(&format!("{worker}.spv"));
            let next = || open.lock().unwrap().next();
            scope.spawn(move || {
                while let Some((what, module)) = next() {
                    fs::write(&path, to_bytes(&module.words)).unwrap();
                    agree(&path, "main", what);
                }
            });
        }
    });
}

// ---- each feature ---------------------------------------------------------------------------------------------------------

const EVERYTHING: &str = "#version 460
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_nonuniform_qualifier : require
layout(local_size_x = 8, local_size_y_id = 0, local_size_z = 2) in;
layout(constant_id = 1) const uint TILE = 32;
layout(constant_id = 2) const float SCALE = 0.5;
layout(constant_id = 3) const bool FLAG = true;
layout(constant_id = 4) const double WIDE = 0.25;
layout(constant_id = 7) const int BIAS = -3;
layout(constant_id = 8) const int64_t LONG = -5;
struct Inner { vec2 uv; float16_t half_float; };
struct Particle { vec3 position; float mass; mat3 frame; Inner inner[2]; };
layout(set = 1, binding = 2) readonly buffer Particles { uint count; Particle particles[]; };
layout(binding = 0) uniform Frame { layout(row_major) mat4x3 view; float times[3]; mat2 grid[2][3]; vec3 v; dmat2x3 wide; };
layout(binding = 1) uniform sampler2D combined[4];
layout(set = 2, binding = 9) uniform sampler3D volume;
layout(binding = 4) uniform textureBuffer texels;
layout(binding = 10) uniform samplerBuffer sampled_texels;
layout(binding = 5, r32f) uniform readonly imageBuffer stored_texels;
layout(binding = 6, r32f) uniform writeonly image2D stored;
layout(binding = 12, r32ui) uniform uimage2DArray counters;
layout(binding = 7) uniform sampler bare;
layout(binding = 8) uniform texture2D bindless[];
layout(push_constant) uniform Push { uint n; layout(offset = 16) float weights[TILE]; u16vec2 narrow; i8vec4 bytes; };
layout(binding = 3) writeonly buffer Out { float result[]; } outs[2];
layout(scalar, binding = 11) buffer Scalar { float16_t a; vec3 packed[5]; uint64_t b; u8vec3 c; } exact;
shared float tile[TILE * 4];
void main() {
    tile[gl_LocalInvocationIndex] = texture(combined[1], vec2(0)).x * SCALE + float(WIDE) + float(LONG) + BIAS + (FLAG ? 1 : 0);
    barrier();
    imageStore(stored, ivec2(0), vec4(texelFetch(texels, 0).x + imageLoad(stored_texels, 0).x + texelFetch(sampled_texels, 1).x));
    imageAtomicAdd(counters, ivec3(0), 1u);
    exact.packed[1].x = textureLod(volume, vec3(0), 0).x + textureLod(sampler2D(bindless[nonuniformEXT(n)], bare), vec2(0), 0).x;
    outs[0].result[gl_GlobalInvocationID.x] = particles[1].mass + tile[3] + times[1] + view[0][0] + n + weights[2];
}
";

/// As compilers wrote it before SPIR-V 1.3: storage buffers are uniforms with a decoration of their own, and decorations come in
/// groups. Two entry points share it.
const OLD: &str = "OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %first \"first\"
OpEntryPoint GLCompute %second \"second\"
OpExecutionMode %first LocalSize 64 1 1
OpExecutionMode %second LocalSize 8 4 2
OpName %Store \"Store\"
OpMemberName %Store 0 \"head\"
OpMemberName %Store 1 \"rows\"
OpName %Fixed \"Fixed\"
OpMemberName %Fixed 0 \"turn\"
OpMemberDecorate %Store 0 Offset 0
OpMemberDecorate %Store 1 Offset 16
OpDecorate %Store BufferBlock
OpDecorate %rows ArrayStride 32
OpDecorate %inner ArrayStride 8
OpMemberDecorate %Fixed 0 Offset 0
OpMemberDecorate %Fixed 0 MatrixStride 16
OpMemberDecorate %Fixed 0 RowMajor
OpDecorate %Fixed Block
OpDecorate %group DescriptorSet 3
OpDecorate %group Binding 7
OpDecorate %group NonReadable
%group = OpDecorationGroup
OpGroupDecorate %group %store
OpDecorate %fixed DescriptorSet 0
OpDecorate %fixed Binding 2
%void = OpTypeVoid
%function = OpTypeFunction %void
%uint = OpTypeInt 32 0
%float = OpTypeFloat 32
%zero = OpConstant %uint 0
%four = OpConstant %uint 4
%v3 = OpTypeVector %float 3
%v2 = OpTypeVector %float 2
%mat = OpTypeMatrix %v3 2
%inner = OpTypeArray %v2 %four
%rows = OpTypeRuntimeArray %inner
%Store = OpTypeStruct %uint %rows
%Fixed = OpTypeStruct %mat
%to_store = OpTypePointer Uniform %Store
%to_fixed = OpTypePointer Uniform %Fixed
%to_uint = OpTypePointer Uniform %uint
%to_mat = OpTypePointer Uniform %mat
%store = OpVariable %to_store Uniform
%fixed = OpVariable %to_fixed Uniform
%first = OpFunction %void None %function
%a = OpLabel
%b = OpAccessChain %to_uint %store %zero
OpStore %b %zero
%c = OpAccessChain %to_mat %fixed %zero
%d = OpLoad %mat %c
OpReturn
OpFunctionEnd
%second = OpFunction %void None %function
%e = OpLabel
%f = OpAccessChain %to_uint %store %zero
OpStore %f %four
%g = OpAccessChain %to_mat %fixed %zero
%h = OpLoad %mat %g
OpReturn
OpFunctionEnd
";

fn written(folder: &Folder, glsl: &str, target: SpirvTarget) -> PathBuf {
    let library = Library::embedded().with("test.comp", glsl);
    let module = Compiler::new(library).unwrap().compile("test.comp", &[], target).unwrap();
    let path = folder.path("test.spv");
    fs::write(&path, to_bytes(&module.words)).unwrap();
    path
}

#[test]
fn every_feature_is_described_as_spirv_cross_does() {
    let folder = Folder::new();
    for target in [SpirvTarget::Vulkan1_1, SpirvTarget::Vulkan1_2] {
        let told = agree(&written(&folder, EVERYTHING, target), "main", "everything");
        assert_eq!((told.bindings.len(), told.constants.len(), told.push.len()), (13, 7, 4));
        assert_eq!(told.workgroup, ["8", "constant 0", "2"]);
        let kinds: BTreeSet<&str> = told.bindings.values().map(|binding| binding.kind.as_str()).collect();
        assert_eq!(kinds.len(), 8, "every kind of descriptor that is told: {kinds:?}");
        let open = told.bindings.iter().find(|((set, binding, _), _)| (*set, *binding) == (0, 8));
        assert_eq!(open.unwrap().1.count, 0, "an open array");
    }
    // The newest has its workgroup size in the execution mode LocalSizeId, of which SPIRV-Cross tells no literals.
    let newest =
        EVERYTHING.replace("local_size_x = 8", "local_size_x_id = 20").replace("local_size_z = 2", "local_size_z_id = 21");
    let told = agree(&written(&folder, &newest, SpirvTarget::Vulkan1_3), "main", "everything, newest");
    assert_eq!(told.workgroup, ["constant 20", "constant 0", "constant 21"]);
}

#[test]
fn old_spirv_with_several_entry_points_is_described_as_spirv_cross_does() {
    let folder = Folder::new();
    let path = folder.path("old.spv");
    let binary = spirv_tool("spirv-as", &["--target-env", "spv1.0", "-", "-o", "-"], OLD.as_bytes()).unwrap();
    spirv_tool("spirv-val", &["--target-env", "vulkan1.0", "-"], &binary).unwrap();
    fs::write(&path, binary).unwrap();
    for (entry, size) in [("first", ["64", "1", "1"]), ("second", ["8", "4", "2"])] {
        let told = agree(&path, entry, entry);
        assert_eq!((told.entry.as_str(), told.bindings.len()), (entry, 2));
        assert_eq!(told.bindings[&(3, 7, "Store".to_owned())].access.as_deref(), Some("write_only"));
        assert_eq!(told.workgroup, size);
    }
}

/// What agrees always proves nothing.
#[test]
fn a_difference_shows() {
    let folder = Folder::new();
    let of = |glsl: &str| cross(&written(&folder, glsl, SpirvTarget::Vulkan1_1), "main");
    let same = of(EVERYTHING);
    for (from, to) in [
        ("binding = 10", "binding = 13"),
        ("local_size_z = 2", "local_size_z = 4"),
        ("row_major", "column_major"),
        ("times[3]", "times[5]"),
        ("combined[4]", "combined[5]"),
        ("SCALE = 0.5", "SCALE = 0.25"),
        ("offset = 16", "offset = 32"),
        ("readonly imageBuffer", "imageBuffer"),
        ("constant_id = 8", "constant_id = 9"),
        ("layout(scalar, binding = 11)", "layout(std430, binding = 11)"),
    ] {
        assert!(EVERYTHING.contains(from), "{from}");
        let path = written(&folder, &EVERYTHING.replace(from, to), SpirvTarget::Vulkan1_1);
        assert_ne!(inspected(&path, "main"), same, "{from}");
    }
}
