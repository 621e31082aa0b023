//! The static instruction mix: kinds, loop depths, calls, and what control flow can't reach.

use lanescope::model::{Scalar, SpirvTarget};
use lanescope::shader::{
    Compiler, InstructionCounts, InstructionKind, InstructionMix, Library, Reflection, ScalarType, SpecValues,
};

use super::support::{HEAD, compiled, compiled_for, compiled_with_news, reflected};
use crate::support::{spirv_tool, to_bytes};

/// The mix of the first entry point.
fn mix_of(reflection: &Reflection, values: &SpecValues) -> InstructionMix {
    let mix = reflection.instruction_mix(&reflection.entry_points[0], values);
    for kind in InstructionKind::all() {
        assert_eq!(mix.total.get(kind), mix.by_depth.iter().map(|counts| counts.get(kind)).sum::<u64>(), "{kind}");
    }
    mix
}

/// The mix of a `main` with these declarations before it.
fn mix(declarations: &str, main: &str, values: &SpecValues) -> InstructionMix {
    mix_of(&compiled(&format!("{HEAD} {declarations} void main() {{ {main} }}")).reflection, values)
}

/// The kinds that there are, as text.
fn text(counts: &InstructionCounts) -> String {
    let some = counts.iter().filter(|(_, count)| *count > 0);
    some.map(|(kind, count)| format!("{kind} {count}")).collect::<Vec<_>>().join(", ")
}

/// The same without what only unoptimized code has: an invocation's variables and the arithmetic of addresses.
fn essence(counts: &InstructionCounts) -> String {
    let text = text(counts);
    let lasting = |part: &&str| !part.starts_with("private_") && !part.starts_with("address");
    text.split(", ").filter(lasting).collect::<Vec<_>>().join(", ")
}

const NESTED: &str = "
    layout(constant_id = 3) const uint N = 4;
    layout(binding = 0) buffer Data { float data[]; };
    layout(push_constant) uniform Push { uint n; } push;
    shared float tile[64];
    float scaled(float x) {
        float sum = 0;
        for (uint k = 0; k < 2; ++k) { sum = fma(x, 2.0, sum); }
        return sum;
    }";

const NESTED_MAIN: &str = "
    uint i = gl_GlobalInvocationID.x;
    for (uint a = 0; a < push.n; ++a) {
        tile[gl_LocalInvocationIndex] = data[i];
        barrier();
        for (uint b = 0; b < N; ++b) { data[i] += tile[b] * 2.0; }
        data[i] = scaled(sqrt(data[i]));
    }
    data[i] = scaled(1.0);";

/// `scaled` is called outside all loops and within one: its loop stands at depths 1 and 2.
#[test]
fn instructions_count_at_the_depth_of_their_loops_and_calls() {
    let mix = mix(NESTED, NESTED_MAIN, &[].into());
    let [none, outer, inner] = &mix.by_depth[..] else { panic!("three depths: {mix:?}") };
    assert_eq!(text(none), "address 2, global_store 1, private_load 2, private_store 5, call 1, other 1");
    assert_eq!(
        text(outer),
        "float_arithmetic 1, integer_arithmetic 2, logic 2, transcendental 1, address 5, global_load 2, global_store 1, \
         shared_store 1, private_load 10, private_store 7, uniform_load 1, barrier 1, control_flow 2, call 1, other 1"
    );
    assert_eq!(
        text(inner),
        "float_arithmetic 3, integer_arithmetic 2, logic 2, address 3, global_load 1, global_store 1, shared_load 1, \
         private_load 8, private_store 3, control_flow 2"
    );
}

#[test]
fn every_loop_of_glsl_is_a_loop() {
    let count = |body: &str| {
        let declarations = "layout(binding = 0) buffer Data { uint n; float x; };";
        let mix = mix(declarations, body, &[].into());
        mix.by_depth.iter().map(|counts| counts.get(InstructionKind::FloatArithmetic)).collect::<Vec<_>>()
    };
    assert_eq!(count("x += 1;"), [1]);
    assert_eq!(count("while (n > 3) { x += 1; }"), [0, 1]);
    assert_eq!(count("do { x += 1; } while (n > 3);"), [0, 1]);
    assert_eq!(count("for (;;) { if (n > 3) { break; } x += 1; }"), [0, 1]);
    assert_eq!(count("for (;;) { if (n > 3) { x += 1; return; } }"), [0, 1]);
    assert_eq!(count("while (n > 3) { if (n == 4) { continue; } x += 1; }"), [0, 1]);
    assert_eq!(count("while (n > 3) { x += 1; } x *= 2; while (n > 4) { x += 1; }"), [1, 2]);
    assert_eq!(count("while (n > 3) { while (n > 4) { x += 1; } x *= 2; }"), [0, 1, 1]);
    assert_eq!(
        count("while (n > 3) { do { while (x < 1) x += 1; } while (n > 5); switch (n) { case 1: x -= 1; } }"),
        [0, 1, 0, 1]
    );
    assert_eq!(count("if (n > 3) { x += 1; } else { x += 2; } switch (n) { case 1: x *= 2; default: x *= 3; }"), [4]);
    // Nothing leads behind a return.
    assert_eq!(count("x += 1; return; x += 2;"), [1]);
}

#[test]
fn a_function_counts_once_for_each_call() {
    let declarations = "layout(binding = 0) buffer Data { float x; };
        float once(float y) { return y * y; }
        float twice(float y) { return once(y) + once(y); }
        float never(float y) { return sqrt(y); }";
    let mix = mix(declarations, "x = twice(x) + once(x);", &[].into());
    assert_eq!(essence(&mix.total), "float_arithmetic 5, global_load 2, global_store 1, call 4");
}

#[test]
fn a_constant_condition_leads_one_way() {
    let declarations = "layout(constant_id = 3) const bool DEEP = false;
        layout(constant_id = 4) const int WAYS = -1;
        layout(binding = 0) buffer Data { float x; };
        float far(float y) { return sqrt(y); }";
    let main = "if (DEEP) { for (int i = 0; i < 4; ++i) { x = far(x); } } else { x *= 2; }
        switch (WAYS + 1) { case -1: x += 1; break; case 0: x += 2; x += 3; break; default: x = sin(x); }
        if (WAYS > 4 && !DEEP) { barrier(); }";
    let counts = |values: SpecValues| {
        let mix = mix(declarations, main, &values);
        let kinds = [InstructionKind::FloatArithmetic, InstructionKind::Transcendental, InstructionKind::Barrier];
        (kinds.map(|kind| mix.total.get(kind)), mix.by_depth.len())
    };
    assert_eq!(counts([].into()), ([3, 0, 0], 1));
    assert_eq!(counts([(3, 1)].into()), ([2, 1, 0], 2));
    let (_, minus_two) = ScalarType::typed(Scalar::I32(-2));
    assert_eq!(counts([(4, minus_two)].into()), ([2, 0, 0], 1));
    assert_eq!(counts([(4, 7)].into()), ([1, 1, 1], 1));
}

#[test]
fn loads_and_stores_are_told_apart_by_memory() {
    let source = "#version 460
        #extension GL_EXT_buffer_reference : require
        #include \"local_size.glsl\"
        layout(buffer_reference) buffer Far;
        layout(buffer_reference, std430) buffer Far { float x; Far next; };
        layout(binding = 0) buffer Near { float near; Far head; };
        layout(binding = 1) uniform Parameters { float factor; };
        layout(push_constant) uniform Push { float shift; };
        shared float tile[4];
        float global = 1;
        void main() {
            tile[0] = near;
            tile[1] = factor + shift + global;
            head.next.x = tile[1];
            global = 2;
        }";
    let total = mix_of(&compiled_for(source, SpirvTarget::Vulkan1_3).reflection, &[].into()).total;
    let expected = "float_arithmetic 2, address 9, global_load 3, global_store 1, shared_load 1, shared_store 2, private_load 1, \
                    private_store 2, uniform_load 2";
    assert_eq!(text(&total), expected);
}

#[test]
fn every_other_kind_is_counted() {
    let declarations = "layout(binding = 0) buffer Data { uint n; float x; vec4 v; mat4 m; };
        layout(binding = 1, r32ui) uniform uimage2D image;
        layout(binding = 2) uniform sampler2D textures;";
    let count = |body: &str| essence(&mix(declarations, body, &[].into()).total);
    assert_eq!(count("x = dot(m * v, v) + mix(x, 2, -x);"), "float_arithmetic 5, global_load 5, global_store 1");
    assert_eq!(count("n = (n + 3) * min(n, 4) / 2;"), "integer_arithmetic 4, global_load 2, global_store 1");
    assert_eq!(count("n = n << 2 | bitCount(n) ^ findLSB(n);"), "logic 5, conversion 1, global_load 3, global_store 1");
    assert_eq!(count("x = float(n) + uintBitsToFloat(n);"), "float_arithmetic 1, conversion 2, global_load 2, global_store 1");
    assert_eq!(
        count("x = length(v) + exp2(x) + tan(x);"),
        "float_arithmetic 2, transcendental 3, global_load 3, global_store 1"
    );
    assert_eq!(count("n = packHalf2x16(v.xy);"), "conversion 1, global_load 1, global_store 1, other 1");
    assert_eq!(count("imageStore(image, ivec2(0), uvec4(1));"), "image 1");
    assert_eq!(count("v = textureLod(textures, vec2(0), 0);"), "global_store 1, image 1");
    assert_eq!(count("imageAtomicAdd(image, ivec2(0), 1); atomicMax(n, 2);"), "atomic 2");
    assert_eq!(count("barrier(); memoryBarrierShared(); groupMemoryBarrier();"), "barrier 3");
    assert_eq!(count("n = gl_WorkGroupID.x + gl_NumWorkGroups.y;"), "integer_arithmetic 1, global_store 1, other 2");
    assert_eq!(count("n = x > 1 ? 2u : 3u;"), "logic 2, global_load 1, global_store 1");
    let clustered = "#version 460
        #extension GL_KHR_shader_subgroup_arithmetic : require
        layout(binding = 0) buffer Data { uint n; };
        void main() { n = subgroupAdd(n) + gl_SubgroupSize; }";
    let total = mix_of(&compiled(clustered).reflection, &[].into()).total;
    assert_eq!(essence(&total), "integer_arithmetic 1, global_load 1, global_store 1, subgroup 1, other 1");
}

#[test]
fn cooperative_matrices_load_multiply_and_store() {
    let module = compiled_with_news(
        "#version 460
        #extension GL_KHR_cooperative_matrix : require
        #extension GL_KHR_memory_scope_semantics : require
        #extension GL_EXT_shader_explicit_arithmetic_types : require
        #include \"local_size.glsl\"
        layout(binding = 0) buffer Data { float16_t data[]; };
        shared float16_t tile[512];
        void main() {
            coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> a;
            coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> b;
            coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> c;
            coopMatLoad(a, data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
            coopMatLoad(b, tile, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
            c = coopMatMulAdd(a, b, c);
            coopMatStore(c, data, 256, 16, gl_CooperativeMatrixLayoutRowMajor);
        }",
    );
    let total = mix_of(&module.reflection, &[].into()).total;
    assert_eq!(essence(&total), "cooperative_matrix 1, global_load 1, global_store 1, shared_load 1");
}

/// The older form of storage buffers; and each entry point has its own instructions.
#[test]
fn entry_points_and_old_buffers_are_told_apart() {
    let reflection = reflected(
        r#"OpCapability Shader
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %f "first"
        OpEntryPoint GLCompute %g "second"
        OpExecutionMode %f LocalSize 1 1 1
        OpExecutionMode %g LocalSize 1 1 1
        OpDecorate %Buffer BufferBlock
        OpMemberDecorate %Buffer 0 Offset 0
        OpDecorate %Uniform Block
        OpMemberDecorate %Uniform 0 Offset 0
        OpDecorate %buffers DescriptorSet 0
        OpDecorate %buffers Binding 0
        OpDecorate %uniform DescriptorSet 0
        OpDecorate %uniform Binding 1
        %void = OpTypeVoid
        %fn = OpTypeFunction %void
        %uint = OpTypeInt 32 0
        %zero = OpConstant %uint 0
        %two = OpConstant %uint 2
        %Buffer = OpTypeStruct %uint
        %Buffers = OpTypeArray %Buffer %two
        %Uniform = OpTypeStruct %uint
        %ptr_buffers = OpTypePointer Uniform %Buffers
        %ptr_uniform = OpTypePointer Uniform %Uniform
        %ptr = OpTypePointer Uniform %uint
        %buffers = OpVariable %ptr_buffers Uniform
        %uniform = OpVariable %ptr_uniform Uniform
        %f = OpFunction %void None %fn
        %fl = OpLabel
        %from = OpAccessChain %ptr %uniform %zero
        %value = OpLoad %uint %from
        %to = OpAccessChain %ptr %buffers %zero %zero
        OpStore %to %value
        OpReturn
        OpFunctionEnd
        %g = OpFunction %void None %fn
        %gl = OpLabel
        %only = OpAccessChain %ptr %buffers %zero %zero
        %read = OpLoad %uint %only
        OpReturn
        OpFunctionEnd"#,
        "vulkan1.0",
    );
    let totals = reflection.entry_points.iter().map(|entry| text(&reflection.instruction_mix(entry, &[].into()).total));
    assert_eq!(totals.collect::<Vec<_>>(), ["address 2, global_store 1, uniform_load 1", "address 1, global_load 1"]);
}

/// Instructions that do no work of their own, by name.
const SILENT: &str = "OpBranch OpFunction OpFunctionEnd OpLabel OpLoopMerge OpReturn OpSelectionMerge OpUnreachable OpVariable";

/// The disassembler's instructions within functions, by name.
fn disassembled(words: &[u32]) -> Vec<String> {
    let text = String::from_utf8(spirv_tool("spirv-dis", &["--no-color", "-"], &to_bytes(words)).unwrap()).unwrap();
    let names = text.lines().filter_map(|line| line.split_whitespace().find(|word| word.starts_with("Op")));
    names.skip_while(|name| *name != "OpFunction").map(str::to_owned).collect()
}

/// Of a module with one function, all of which control flow reaches, the disassembler shows what the mix counts.
#[test]
fn counts_are_those_of_the_disassembler() {
    let mut compiler = Compiler::new(Library::embedded()).unwrap();
    let (mut modules, library) = (Vec::new(), Library::embedded());
    modules.extend(library.shaders().filter_map(|path| compiler.compile(path, &[], SpirvTarget::default()).ok()));
    let declarations = NESTED.split("float scaled").next().unwrap();
    modules.push(compiled(&format!("{HEAD} {declarations} void main() {{ {} }}", NESTED_MAIN.replace("scaled", "exp"))));
    let mut compared = 0;
    for module in modules {
        let names = disassembled(&module.words);
        if names.iter().filter(|name| *name == "OpFunction").count() > 1 {
            continue;
        }
        let mix = mix_of(&module.reflection, &[].into()).total;
        let count = |matches: &dyn Fn(&str) -> bool| names.iter().filter(|name| matches(name)).count() as u64;
        let sum = |kinds: &[InstructionKind]| kinds.iter().map(|kind| mix.get(*kind)).sum::<u64>();
        use InstructionKind as Kind;
        assert_eq!(mix.sum(), count(&|name| !SILENT.split(' ').any(|silent| silent == name)), "{names:?}");
        assert_eq!(sum(&[Kind::ControlFlow]), count(&|name| ["OpBranchConditional", "OpSwitch"].contains(&name)));
        assert_eq!(sum(&[Kind::Barrier]), count(&|name| name.ends_with("Barrier")));
        assert_eq!(sum(&[Kind::Atomic]), count(&|name| name.starts_with("OpAtomic")));
        assert_eq!(sum(&[Kind::Subgroup]), count(&|name| name.starts_with("OpGroupNonUniform")));
        assert_eq!(sum(&[Kind::Address]), count(&|name| name.ends_with("AccessChain")));
        assert_eq!(sum(&[Kind::GlobalStore, Kind::SharedStore, Kind::PrivateStore]), count(&|name| name == "OpStore"));
        compared += 1;
    }
    assert!(compared > 0);
}

#[test]
fn a_mix_is_written_as_json() {
    let declarations = "layout(binding = 0) buffer Data { uint n; };";
    let json = serde_json::to_value(mix(declarations, "while (n > 3) { n = 2; }", &[].into())).unwrap();
    assert_eq!(json["total"]["global_store"], 1);
    assert_eq!(json["by_depth"][0]["global_store"], 0);
    assert_eq!(json["by_depth"][1]["control_flow"], 1);
    let names: Vec<&str> = json["total"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, InstructionKind::all().map(InstructionKind::name).collect::<Vec<_>>());
    assert_eq!(serde_json::to_value(InstructionKind::ControlFlow).unwrap(), "control_flow");
}
