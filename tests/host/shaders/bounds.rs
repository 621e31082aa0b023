//! What a module can be made to note of how far it indexes. That it notes the right numbers, tests/devices/tune_bounds.rs shows on devices.

use lanescope::model::SpirvTarget;
use lanescope::shader::{Dimension, Home, Noting, SourceLine, validate};

use super::support::{PATH, compiled_for, compiled_with_news, compiler};
use crate::support::{spirv_tool, to_words};

fn noting(text: &str) -> Noting {
    let module = compiled_with_news(&format!("#version 460\n{text}"));
    Noting::of_overruns(&module.words, "main", None).unwrap_or_else(|error| panic!("{error}"))
}

/// Names of the arrays, and whether their lengths are their buffers'.
fn arrays(noting: &Noting) -> Vec<(&str, bool)> {
    noting.arrays.iter().map(|array| (array.path.as_str(), array.is_runtime)).collect()
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

#[test]
fn every_array_on_the_way_is_noted_once_under_its_name() {
    let noting = noting(
        "layout(constant_id = 0) const uint PARTS = 4;
        struct Light { float weights[PARTS]; mat4 turn; };
        layout(binding = 0) readonly buffer X { float x[]; };
        layout(set = 1, binding = 7) buffer L { uint head; Light lights[]; } data;
        layout(binding = 3) buffer B { uint bins[]; } many[2];
        layout(binding = 4) uniform U { vec4 table[8]; };
        shared float own[4];
        void main() {
            uint i = gl_GlobalInvocationID.x;
            float mine[3];
            mine[i % 3] = 1;
            own[i % 4] = x[i] + x[i + 1] + table[i % 8].y;
            data.lights[i].weights[i] = own[0] + data.lights[3].turn[i % 4][i % 3] + mine[i % 3];
            atomicAdd(many[i % 2].bins[i], data.head);
        }",
    );
    let expected = [
        ("x", true),
        ("table", false),
        ("data.lights", true),
        ("data.lights[].turn", false),
        ("data.lights[].turn[]", false),
        ("data.lights[].weights", false),
        ("mine", false),
        ("own", false),
        ("many", false),
        ("many[].bins", true),
    ];
    let mut found = arrays(&noting);
    found.sort_unstable();
    assert_eq!(found, {
        let mut sorted = expected;
        sorted.sort_unstable();
        sorted
    });
    assert_eq!((noting.place, noting.unfollowed), ((0, 8), 0));
    let home = |path: &str| noting.arrays.iter().find(|array| array.path == path).unwrap().home;
    assert_eq!(home("data.lights"), Home::Buffer { set: 1, binding: 7 });
    assert_eq!([home("own"), home("mine")], [Home::Shared, Home::Invocation]);
}

/// Push constants and built-in inputs have no robust access either: their indexes are noted, and kept within.
#[test]
fn push_constants_and_inputs_are_noted_as_other_memory_is_and_never_left() {
    let text = "#version 460
        layout(constant_id = 0) const uint PARTS = 2;
        struct Light { float weights[PARTS]; vec4 colour; };
        layout(push_constant) uniform P { float scale[2][3]; Light lights[2]; mat2 turn; uint at; } p;
        layout(binding = 0) buffer X { float x[]; };
        float of(float given[3], uint i) { return given[i]; }
        void main() {
            uint i = p.at;
            x[0] = p.scale[i][i] + p.lights[i].weights[i] + p.lights[1].colour[i] + p.turn[i][i] + of(p.scale[1], i);
            x[1] = float(gl_GlobalInvocationID[i]);
        }";
    let module = compiled_with_news(text);
    let noting = Noting::of_overruns(&module.words, "main", None).unwrap();
    let of = |home| {
        let own = noting.arrays.iter().filter(|array| array.home == home);
        let mut paths: Vec<&str> = own.map(|array| array.path.as_str()).collect();
        paths.sort_unstable();
        paths
    };
    let pushed = ["p.lights", "p.lights[].colour", "p.lights[].weights", "p.scale", "p.scale[]", "p.turn", "p.turn[]"];
    assert_eq!((of(Home::PushConstants), noting.unfollowed), (pushed.to_vec(), 0));
    assert_eq!(of(Home::Invocation), ["given", "gl_GlobalInvocationID"]);
    let selects = |words: &[u32]| {
        let text = String::from_utf8(spirv_tool("spirv-dis", &["--no-header", "-"], &bytes(words)).unwrap()).unwrap();
        text.matches("OpSelect ").count()
    };
    // One to note each of nine indexes, and one to keep it within. Of `x` there are two to note.
    assert_eq!((selects(&module.words), selects(&noting.words)), (0, 2 * 9 + 2));
}

/// Names of what is noted, and which of its dimensions.
fn dimensions(noting: &Noting) -> Vec<(&str, Option<Dimension>)> {
    let mut all: Vec<_> = noting.arrays.iter().map(|array| (array.path.as_str(), array.dimension)).collect();
    all.sort_unstable();
    all
}

#[test]
fn coordinates_of_images_are_noted_by_their_dimensions() {
    use Dimension::{Layer, X, Y, Z};
    let texels = noting(
        "layout(binding = 0) uniform sampler2D a;
        layout(binding = 1, r32f) uniform readonly image3D b;
        layout(binding = 2, r32f) uniform readonly image1DArray c;
        layout(binding = 3, r32f) uniform readonly imageCube d;
        layout(binding = 4, r32f) uniform readonly imageCubeArray e;
        layout(binding = 5, r32f) uniform writeonly imageBuffer f;
        layout(binding = 6) uniform texture2D g[2];
        layout(binding = 7) uniform sampler s;
        layout(binding = 8, r32ui) uniform uimage2D h;
        layout(binding = 9) uniform sampler2DMS k;
        float of(sampler2D given, int i) { return texelFetch(given, ivec2(i), 0).r; }
        void main() {
            int i = int(gl_GlobalInvocationID.x);
            float sum = texelFetchOffset(a, ivec2(i), 1, ivec2(1, -1)).r + imageLoad(b, ivec3(i)).r + imageLoad(c, ivec2(i)).r;
            sum += imageLoad(d, ivec3(i)).r + imageLoad(e, ivec3(i)).r + texelFetch(sampler2D(g[i], s), ivec2(i), 0).r;
            imageStore(f, i, vec4(sum + of(a, i) + texelFetch(k, ivec2(i), 0).r));
            imageAtomicAdd(h, ivec2(i), 1u);
        }",
    );
    let of =
        |name: &'static str, dimensions: &[Dimension]| dimensions.iter().map(move |of| (name, Some(*of))).collect::<Vec<_>>();
    let two = ["a", "g[]", "h", "k"].map(|name| of(name, &[X, Y])).concat();
    let cubes = ["d", "e"].map(|name| of(name, &[X, Y, Layer])).concat();
    let mut expected = [two, cubes, of("b", &[X, Y, Z]), of("c", &[X, Layer]), vec![("f", None), ("g", None)]].concat();
    expected.sort_unstable();
    assert_eq!((dimensions(&texels), texels.unfollowed), (expected, 1));
    assert!(texels.arrays.iter().all(|array| matches!(array.home, Home::Image { set: 0, .. }) && array.home.is_given()));
    let sampled = noting(
        "layout(binding = 0) uniform sampler2D a;
        layout(binding = 1) buffer X { float x; };
        void main() { x = textureLod(a, vec2(gl_GlobalInvocationID.xy), 0).r; }",
    );
    assert_eq!((dimensions(&sampled), sampled.unfollowed), (Vec::new(), 0), "a sampler keeps within");
}

/// Rewritten, where reads at some lines are accepted.
fn accepting(text: &str, accepted: &[u32]) -> Noting {
    let module = compiler(text).with_lines().compile(PATH, &[], SpirvTarget::default()).unwrap();
    let accepts = |line: &SourceLine| accepted.contains(&line.line);
    Noting::accepting(&module.words, "main", None, &accepts).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn reads_are_told_from_writes_at_each_line_and_accepted() {
    let text = "#version 460
        layout(binding = 0) buffer X { uint x[]; };
        void main() {
            uint i = gl_GlobalInvocationID.x;
            x[i] = 1;
            uint read = x[i + 1];
            atomicAdd(x[i + 2], read);
        }";
    let of = |accepted: &[u32]| {
        let noting = accepting(text, accepted);
        let left = bytes(&[9, 8].repeat(noting.arrays.len()));
        let lines = |lines: Vec<SourceLine>| lines.into_iter().map(|line| line.line).collect::<Vec<_>>();
        let overruns = noting.overruns(&left).into_iter().map(|overrun| (overrun.is_read, lines(overrun.lines)));
        (overruns.collect::<Vec<_>>(), lines(noting.accepted(&left)))
    };
    assert_eq!(of(&[]), (vec![(false, vec![5, 6, 7])], vec![]));
    assert_eq!(of(&[5, 6, 7]), (vec![(false, vec![5, 7])], vec![6]));
    // Of two arrays, one is only read.
    let noting = accepting(&text.replace("x[i + 1]", "y[i]").replace("void main", "shared uint y[4]; void main"), &[]);
    let overruns = noting.overruns(&bytes(&[9, 8].repeat(noting.arrays.len())));
    let mut found: Vec<_> = overruns.iter().map(|overrun| (overrun.array.path.as_str(), overrun.is_read)).collect();
    found.sort_unstable();
    assert_eq!(found, [("x", false), ("y", true)]);
}

#[test]
fn a_module_of_many_accesses_has_a_note_for_each_array() {
    let reads: String = (0..600).map(|at| format!("s += x[i + {at}];\n")).collect();
    let text = format!(
        "#version 460\nlayout(binding = 0) buffer X {{ uint x[]; }};\nvoid main() {{\nuint i = gl_GlobalInvocationID.x, s = 0;\n{reads}x[i] = s;\n}}"
    );
    assert_eq!(accepting(&text, &[]).arrays.len(), 1);
    assert_eq!(accepting(&text, &[9]).arrays.len(), 2, "what is accepted is still told apart");
}

/// A module that stores to an array at an index of this type.
fn indexed_by(width: u32, is_signed: bool) -> Vec<u32> {
    let capability = match width {
        8 => "OpCapability Int8\n",
        16 => "OpCapability Int16\n",
        64 => "OpCapability Int64\n",
        _ => "",
    };
    // The number for people to read is 100, or the lowest that the type has.
    let index = if is_signed { -(1_i128 << (width - 1)) } else { 100 };
    let own = if (width, is_signed) == (32, false) {
        "%index = OpTypePointer Function %uint".to_owned()
    } else {
        format!("%int = OpTypeInt {width} {}\n%index = OpTypePointer Function %int", u32::from(is_signed))
    };
    let ty = if (width, is_signed) == (32, false) { "%uint" } else { "%int" };
    let text = format!(
        "OpCapability Shader\n{capability}OpMemoryModel Logical GLSL450\nOpEntryPoint GLCompute %main \"main\"\n\
        OpExecutionMode %main LocalSize 1 1 1\nOpDecorate %array ArrayStride 4\nOpMemberDecorate %block 0 Offset 0\n\
        OpDecorate %block Block\nOpDecorate %a DescriptorSet 0\nOpDecorate %a Binding 0\n%void = OpTypeVoid\n\
        %function = OpTypeFunction %void\n%uint = OpTypeInt 32 0\n{own}\n%at = OpConstant {ty} {index}\n\
        %zero = OpConstant %uint 0\n%array = OpTypeRuntimeArray %uint\n%block = OpTypeStruct %array\n\
        %buffer = OpTypePointer StorageBuffer %block\n%element = OpTypePointer StorageBuffer %uint\n\
        %a = OpVariable %buffer StorageBuffer\n%main = OpFunction %void None %function\n%label = OpLabel\n\
        %i = OpVariable %index Function\nOpStore %i %at\n%loaded = OpLoad {ty} %i\n\
        %p = OpAccessChain %element %a %zero %loaded\nOpStore %p %zero\nOpReturn\nOpFunctionEnd"
    );
    to_words(&spirv_tool("spirv-as", &["--target-env", "spv1.3", "-o", "-", "-"], text.as_bytes()).unwrap())
}

#[test]
fn indexes_of_every_width_are_noted() {
    for (width, is_signed) in [8, 16, 32, 64].into_iter().flat_map(|width| [(width, false), (width, true)]) {
        let words = indexed_by(width, is_signed);
        assert_eq!(validate(&words), Ok(()), "{width} {is_signed}");
        let noting = Noting::of_overruns(&words, "main", None).unwrap_or_else(|error| panic!("{width} {is_signed}: {error}"));
        let overruns = noting.overruns(&bytes(&[u32::MAX, 8]));
        // 32 bits are all that the device tells.
        let expected = if is_signed { -1 } else { i64::from(u32::MAX) };
        assert_eq!((overruns.len(), overruns[0].index), (1, expected), "{width} {is_signed}");
    }
}

/// Parameters lead to variables of the invocation; of other pointers as parameters nobody knows how long their arrays are.
#[test]
fn arrays_that_functions_are_given_are_noted_under_the_names_that_those_have() {
    let noting = noting(
        "layout(binding = 0) buffer X { float x[]; };
        shared float own[4];
        float at(inout float given[5], uint i) { given[i] += 1; return given[i]; }
        void main() {
            float mine[5];
            uint i = gl_GlobalInvocationID.x;
            for (uint k = 0; k < 5; k++) mine[k] = k;
            x[i] = at(mine, i) + mine[i];
        }",
    );
    let mut found = arrays(&noting);
    found.sort_unstable();
    assert_eq!((&found[..], noting.unfollowed), (&[("given", false), ("mine", false), ("x", true)][..], 0));
}

/// The access chains with three indexes, word by word.
fn long_chains(words: &[u32]) -> Vec<Vec<String>> {
    let text = spirv_tool("spirv-dis", &["--no-header", "--raw-id", "-"], &bytes(words)).unwrap();
    let text = String::from_utf8(text).unwrap();
    let chains = text.lines().filter(|line| line.contains("AccessChain"));
    // Result, =, opcode, type, base, then the indexes.
    chains.map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).filter(|line| line.len() == 8).collect()
}

#[test]
fn only_indexes_that_may_lie_beyond_are_replaced() {
    let text = "#version 460
        layout(binding = 0) buffer X { float x[]; };
        struct Pair { float first[2]; float second[2]; };
        shared Pair own[4];
        void main() { uint i = gl_GlobalInvocationID.x; own[3].second[1] = 2; own[i].second[0] = 3; x[i] = own[0].first[i]; }";
    let module = compiled_with_news(text);
    let noting = Noting::of_overruns(&module.words, "main", None).unwrap();
    let mut found = arrays(&noting);
    found.sort_unstable();
    assert_eq!(found, [("own", false), ("own[].first", false), ("x", true)]);
    let [before, after] = [&module.words, &noting.words].map(|words| long_chains(words));
    assert_eq!((before.len(), after.len()), (3, 3), "{before:?} {after:?}");
    let changed = |i: usize| (0..8).filter(|place| before[i][*place] != after[i][*place]).collect::<Vec<_>>();
    assert_eq!([changed(0), changed(1), changed(2)], [vec![], vec![5], vec![7]], "{before:?} {after:?}");
}

#[test]
fn iterations_are_noted_from_a_number_on() {
    let text = "#version 460
        layout(binding = 0) buffer X { uint x[]; };
        uint sum(uint n) { uint s = 0; for (uint i = 0; i < n; i++) s += i; return s; }
        void main() { uint n = x[0]; do { n = sum(n); } while (n > 4); x[1] = n; }";
    let module = compiled_with_news(text);
    let adds = |words: &[u32]| {
        let text = String::from_utf8(spirv_tool("spirv-dis", &["--no-header", "-"], &bytes(words)).unwrap()).unwrap();
        text.matches("OpIAdd").count()
    };
    let plain = Noting::of_overruns(&module.words, "main", None).unwrap();
    let counting = Noting::of_overruns(&module.words, "main", Some(100)).unwrap();
    assert_eq!(adds(&counting.words), adds(&plain.words) + 2, "one for each loop");
    let noted = |count: u32| bytes(&[&vec![0; 2 * counting.arrays.len()][..], &[count, 100]].concat());
    assert!(!counting.loops_too_often(&noted(99)) && counting.loops_too_often(&noted(100)));
    assert!(!plain.loops_too_often(&noted(100)), "nobody asked");
    let none = compiled_with_news("#version 460\nvoid main() {}");
    assert!(Noting::of_overruns(&none.words, "main", None).unwrap().is_idle());
    assert!(!Noting::of_overruns(&none.words, "main", Some(1)).unwrap().is_idle());
}

#[test]
fn only_what_lies_beyond_the_end_is_an_overrun() {
    let noting = noting(
        "layout(binding = 0) buffer X { float x[]; };
        layout(binding = 1) buffer Y { float y[]; };
        void main() { int i = int(gl_GlobalInvocationID.x); x[i] = y[gl_LocalInvocationID.x]; }",
    );
    let place = |path: &str| noting.arrays.iter().position(|array| array.path == path).unwrap();
    let noted = |x: [u32; 2], y: [u32; 2]| {
        let mut words = vec![0; 4];
        words[2 * place("x")..][..2].copy_from_slice(&x);
        words[2 * place("y")..][..2].copy_from_slice(&y);
        let overruns = noting.overruns(&bytes(&words));
        overruns.iter().map(|overrun| (overrun.array.path.clone(), overrun.index, overrun.length)).collect::<Vec<_>>()
    };
    assert_eq!(noted([7, 8], [0, 1]), []);
    assert_eq!(noted([8, 8], [7, 8]), [("x".to_owned(), 8, 8)]);
    assert_eq!(noted([u32::MAX - 1, 8], [9, 8]).len(), 2);
    assert_eq!(noted([u32::MAX - 1, 8], [0, 8]), [("x".to_owned(), -2, 8)]);
    assert_eq!(noted([0, 0], [0, 0]), [], "nobody touched them");
}

#[test]
fn every_target_and_memory_model_is_served() {
    let text = "#version 460\n#extension GL_KHR_memory_scope_semantics : require\n#pragma use_vulkan_memory_model
        layout(binding = 0) buffer X { uint x[]; };
        void main() { atomicStore(x[gl_GlobalInvocationID.x], 1u, gl_ScopeDevice, gl_StorageSemanticsBuffer, gl_SemanticsRelaxed); }";
    for target in [SpirvTarget::Vulkan1_1, SpirvTarget::Vulkan1_2, SpirvTarget::Vulkan1_3] {
        let module = compiled_for(text, target);
        let noting = Noting::of_overruns(&module.words, "main", None).unwrap_or_else(|error| panic!("{target:?}: {error}"));
        assert_eq!(arrays(&noting), [("x", true)]);
    }
    // SPIR-V 1.0 has storage buffers of another class.
    let old = "OpCapability Shader\nOpMemoryModel Logical GLSL450\nOpEntryPoint GLCompute %main \"main\"\n\
        OpExecutionMode %main LocalSize 1 1 1\nOpDecorate %array ArrayStride 4\nOpMemberDecorate %block 0 Offset 0\n\
        OpDecorate %block BufferBlock\nOpDecorate %a DescriptorSet 0\nOpDecorate %a Binding 0\n%void = OpTypeVoid\n\
        %function = OpTypeFunction %void\n%uint = OpTypeInt 32 0\n%c5 = OpConstant %uint 5\n%c0 = OpConstant %uint 0\n\
        %array = OpTypeRuntimeArray %uint\n%block = OpTypeStruct %array\n%buffer = OpTypePointer Uniform %block\n\
        %element = OpTypePointer Uniform %uint\n%a = OpVariable %buffer Uniform\n%main = OpFunction %void None %function\n\
        %label = OpLabel\n%p = OpAccessChain %element %a %c0 %c5\nOpStore %p %c5\nOpReturn\nOpFunctionEnd";
    let words = to_words(&spirv_tool("spirv-as", &["--target-env", "spv1.0", "-o", "-", "-"], old.as_bytes()).unwrap());
    assert_eq!(validate(&words), Ok(()));
    assert_eq!(Noting::of_overruns(&words, "main", None).unwrap().arrays.len(), 1);
    assert_eq!(Noting::of_overruns(&words, "other", None).unwrap_err().to_string(), "the module has no such entry point");
}

#[test]
fn descriptors_without_number_and_other_entry_points_buffers_are_left_out() {
    let all = noting(
        "#extension GL_EXT_nonuniform_qualifier : require
        layout(binding = 0) readonly buffer X { float x[]; } many[];
        layout(binding = 1) buffer Y { float y[]; };
        void main() { uint i = gl_GlobalInvocationID.x; y[i] = many[i % 2].x[i]; }",
    );
    // Nothing tells how many there are: what lies beyond can't be told either.
    let mut found = arrays(&all);
    found.sort_unstable();
    assert_eq!(found, [("many[].x", true), ("y", true)]);

    let two = "OpCapability Shader\nOpMemoryModel Logical GLSL450\nOpEntryPoint GLCompute %main \"main\"\n\
        OpEntryPoint GLCompute %more \"more\"\nOpExecutionMode %main LocalSize 1 1 1\nOpExecutionMode %more LocalSize 1 1 1\n\
        OpName %a \"a\"\nOpName %b \"b\"\nOpDecorate %array ArrayStride 4\nOpMemberDecorate %block 0 Offset 0\n\
        OpDecorate %block Block\nOpDecorate %a DescriptorSet 0\nOpDecorate %a Binding 0\nOpDecorate %b DescriptorSet 0\n\
        OpDecorate %b Binding 1\n%void = OpTypeVoid\n%function = OpTypeFunction %void\n%uint = OpTypeInt 32 0\n\
        %c0 = OpConstant %uint 0\n%array = OpTypeRuntimeArray %uint\n%block = OpTypeStruct %array\n\
        %buffer = OpTypePointer StorageBuffer %block\n%element = OpTypePointer StorageBuffer %uint\n\
        %a = OpVariable %buffer StorageBuffer\n%b = OpVariable %buffer StorageBuffer\n\
        %main = OpFunction %void None %function\n%l1 = OpLabel\n%called = OpFunctionCall %void %help\nOpReturn\nOpFunctionEnd\n\
        %more = OpFunction %void None %function\n%l2 = OpLabel\n%pb = OpAccessChain %element %b %c0 %c0\nOpStore %pb %c0\n\
        OpReturn\nOpFunctionEnd\n\
        %help = OpFunction %void None %function\n%l3 = OpLabel\n%pa = OpAccessChain %element %a %c0 %c0\nOpStore %pa %c0\n\
        OpReturn\nOpFunctionEnd";
    let words = to_words(&spirv_tool("spirv-as", &["--target-env", "spv1.3", "-o", "-", "-"], two.as_bytes()).unwrap());
    for (entry, variable) in [("main", "a"), ("more", "b")] {
        assert_eq!(arrays(&Noting::of_overruns(&words, entry, None).unwrap()), [(variable, true)]);
    }
}
