//! What is said of shaders as build systems and other compilers write them: what is wrong, where, and what to do.

use lanescope::model::SpirvTarget;
use lanescope::shader::{Compiler, Library};

use crate::support::{Folder, ran, succeeded};

const HEAD: &str = "#version 460\nlayout(local_size_x = 64) in;\nlayout(binding = 0) buffer D { float d[]; };\n";

fn main_of(body: &str) -> String {
    format!("{HEAD}void main() {{ {body} }}\n")
}

#[test]
fn errors_name_what_the_user_can_mend() {
    let folder = Folder::new();
    let zero = "layout(constant_id = 0) const uint LEN = 0u;\nshared float tile[LEN + 0u];\n\
                void main() { tile[gl_LocalInvocationIndex] = d[0]; barrier(); d[1] = tile[0]; }";
    for (name, text, parts) in [
        ("times.comp", main_of("d[0] = 2 × d[1];"), &["times.comp:4: error: `×` (U+00D7) can't stand in code"][..]),
        (
            "build.comp",
            format!("{HEAD}shared FLOAT_TYPE cache[BLOCK];\n{}", "void main() { d[0] = cache[0]; }"),
            &["Nothing defines `BLOCK` (", "build.comp:4), `FLOAT_TYPE` (", "-D BLOCK=VALUE -D FLOAT_TYPE=VALUE"],
        ),
        ("zero.comp", format!("{HEAD}{zero}"), &["`tile` has no elements where LEN is 0 (its default)", "by -c LEN=VALUE"]),
        ("shader.hlsl", "[numthreads(8, 8, 1)] void main() {}".to_owned(), &["shader.hlsl is HLSL: compile it (dxc -spirv"]),
        ("shader.comp", "@compute @workgroup_size(64)\nfn main() {}".to_owned(), &["shader.comp is WGSL", "naga"]),
        ("none.comp", "void main() {}".to_owned(), &["the shader must begin with its version"]),
    ] {
        ran(&["inspect", &folder.write(name, text)]).refuses(parts);
    }
    let zero = folder.at("zero.comp");
    succeeded(&["inspect", &zero, "-c", "LEN=0x40"]);
    let tuned = ran(&["tune", &zero, "-d", "mock", "-n", "2^14", "-a", "local_size_x=32"]);
    tuned.refuses(&["`tile` has no elements where LEN is 0 (its default): give another value by -c LEN=VALUE"]);
    let axes = ["-a", "LEN=32,64", "-a", "local_size_x=32", "--dry-run"];
    let tuned = ran(&[&["tune", &zero, "-d", "mock", "-n", "2^14"], &axes[..]].concat());
    assert!(tuned.err.contains("results are compared with those of local_size_x=32;spec_LEN="), "{}", tuned.err);
}

#[test]
fn what_other_files_define_is_told_from_what_a_build_system_does() {
    let folder = Folder::new();
    std::fs::create_dir(folder.at("lib")).unwrap();
    let including = |name: &str| HEAD.replacen('\n', &format!("\n#include \"{name}\"\n"), 1);
    let body = "void main() { d[0] = D_GGX(WIDTH); }\n";
    folder.write("lib/phase.h", "#ifndef PHASE\n#error \"the phase?\"\n#endif\n#define D_GGX(x) x\n");
    folder.write("lib/indirect.h", "#include \"nowhere.h\"\n");
    let es = HEAD.replace("460", "310 es");
    let function = "Nothing defines the function `D_GGX` (";
    for (name, text, parts, absent) in [
        ("absent.comp", including("nowhere.h") + body, &["no `nowhere.h` beside"][..], "Nothing defines"),
        ("indirect.comp", including("lib/indirect.h") + body, &["no `nowhere.h` beside"], "Nothing defines"),
        ("function.comp", format!("{HEAD}{body}"), &[function, "function.comp:4): a file that", "-D WIDTH=VALUE\n"], "D_GGX="),
        ("error.comp", including("lib/phase.h"), &["Nothing defines `PHASE` (", "phase.h:1)", "-D PHASE=VALUE"], "D_GGX"),
        ("es.comp", format!("{es}#if FEEDBACK\n#endif\n"), &["es.comp:4): if a build", "-D FEEDBACK=VALUE"], "function"),
        ("if.comp", format!("{HEAD}#if 1\n#elif D_GGX(2)\n#endif\n#if D_GGX(2)\n#endif\n"), &[function, "if.comp:7)"], "-D "),
    ] {
        let path = folder.write(name, text);
        let ran = ran(&["inspect", &path]).refuses(parts);
        assert!(!ran.err.contains(absent), "{}", ran.err);
    }
    let given = ["-D", "D_GGX(x)=x", "-D", "WIDTH=2", "-D", "PHASE=1"];
    succeeded(&[&["inspect", &folder.at("function.comp")], &given[..]].concat());
}

#[test]
fn spirv_that_needs_a_later_version_says_how_to_get_it() {
    let glsl = HEAD.replace('\n', "\n#extension GL_KHR_shader_subgroup_arithmetic : require\n");
    let library = Library::empty(Vec::new()).with("a.comp", glsl + "void main() { d[0] = subgroupAdd(d[1]); }");
    let module = Compiler::new(library).unwrap().compile("a.comp", &[], SpirvTarget::default()).unwrap();
    let mut words = module.words.clone();
    words[1] = 0x0001_0000;
    let folder = Folder::new();
    let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_ne_bytes).collect();
    let mends = "; compile it for SPIR-V 1.3, as by naga's --spirv-version 1.3; --no-validate";
    ran(&["inspect", &folder.write("early.spv", bytes)]).refuses(&["GroupNonUniform(61) requires", mends]);
}

#[test]
fn paths_are_as_the_user_writes_them() {
    let folder = Folder::new();
    std::fs::create_dir(folder.at("own")).unwrap();
    std::fs::create_dir(folder.at("lib")).unwrap();
    let include = |name: &str| {
        format!("#version 460\n#extension GL_GOOGLE_include_directive : require\n#include \"{name}\"\nvoid main() {{}}\n")
    };
    folder.write("own/beside.h", "float twice(float x) { return x * ; }\n");
    folder.write("lib/far.h", "float twice(float x) { return x * ; }\n");
    let beside = folder.write("own/beside.comp", include("beside.h"));
    let far = folder.write("own/far.comp", include("far.h"));
    let root = beside.strip_suffix("own/beside.comp").unwrap();
    let indirect = |name: &str| format!("{root}own/../own/{name}");
    let said = |arguments: &[&str]| ran(&[&["inspect"], arguments].concat()).err;
    for shader in [beside.clone(), indirect("beside.comp")] {
        let err = said(&[&shader]);
        let expected = format!("{}.h:1: error", shader.strip_suffix(".comp").unwrap());
        assert!(err.contains(&expected), "{expected} isn't in {err}");
    }
    let err = said(&[&far, "-I", &format!("{root}own/../lib")]);
    assert!(err.contains(&format!("{root}lib/far.h:1: error")), "{err}");
}

#[test]
fn values_are_read_as_shaders_write_them() {
    let folder = Folder::new();
    let half = "#version 460\n#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require\nlayout(local_size_x = 64) in;\n\
                layout(constant_id = 4) const float16_t BIAS = 0.5hf;\nlayout(binding = 0) buffer D { float d[]; };\n\
                layout(binding = 1, rgba8) uniform image2D picture;\nlayout(binding = 2) uniform texture3D volume;\n\
                void main() { d[0] = float(BIAS); imageStore(picture, ivec2(0), texelFetch(sampler3D(volume, s), ivec3(0), 0)); }";
    let half = half.replace("void main", "layout(binding = 3) uniform sampler s;\nvoid main");
    let half = folder.write("half.comp", half);
    let text = succeeded(&["inspect", &half, "-c", "BIAS=-1.5"]).out;
    for part in ["float16_t   -1.5", "storage_image picture (2d, rgba8), ", "sampled_image volume (3d, float), read_only"] {
        assert!(text.contains(part), "{part} isn't in {text}");
    }
    ran(&["inspect", &half, "-c", "BIAS=1e9"]).refuses(&["`1e9` is no float16_t"]);
}

#[test]
fn constants_and_bindings_without_a_name_are_told_apart() {
    let glsl = "#version 460\nlayout(local_size_x_id = 3) in;\nlayout(constant_id = 5) const uint REPEAT = 3;\n\
                layout(binding = 1) uniform Sizes { uint n; };\nlayout(binding = 0) buffer Data { float d[]; };\n\
                void main() { for (uint i = 0; i < REPEAT; i++) d[n + i] += 1; }";
    let library = Library::empty(Vec::new()).with("a.comp", glsl);
    let module = Compiler::new(library).unwrap().compile("a.comp", &[], SpirvTarget::default()).unwrap();
    let changed = |change: &dyn Fn(&mut Vec<u32>)| {
        let mut words = module.words.clone();
        change(&mut words);
        words.into_iter().flat_map(u32::to_ne_bytes).collect::<Vec<u8>>()
    };
    let folder = Folder::new();
    // Without OpName and OpMemberName.
    let nameless = changed(&|words| {
        let mut at = 5;
        while at < words.len() {
            let end = at + (words[at] >> 16) as usize;
            if matches!(words[at] & 0xFFFF, 5 | 6) {
                words.drain(at..end);
            } else {
                at = end;
            }
        }
    });
    let text = succeeded(&["inspect", &folder.write("nameless.spv", nameless)]).out;
    assert!(text.contains("3   (workgroup size)") && text.contains("5   (no name)"), "{text}");
    // Decorated with binding 0 instead of 1.
    let overlapping = |words: &mut Vec<u32>| {
        let at = words.windows(4).position(|four| four[0] == 4 << 16 | 71 && four[2] == 33 && four[3] == 1).unwrap();
        words[at + 3] = 0;
    };
    let overlap = folder.write("overlap.spv", changed(&overlapping));
    let those = "set 0, binding 0 is declared twice, as `Data` (storage_buffer) and as `Sizes` (uniform_buffer); ";
    ran(&["inspect", &overlap]).refuses(&[&format!("{those}give one of them another binding")]);
    // As DXC's modules say whose they are.
    let hlsl = folder.write(
        "hlsl.spv",
        changed(&|words| {
            overlapping(words);
            let source = words.iter().position(|word| *word == 3 << 16 | 3).unwrap();
            words[source + 1] = 5;
        }),
    );
    ran(&["inspect", &hlsl]).refuses(&[those, "-fvk-b-shift", "[[vk::binding(8, 0)]]"]);
}
