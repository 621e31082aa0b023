//! Descriptors, push constants, capabilities, entry points.

use lanescope::model::{Dimension, Format, SpirvTarget};
use lanescope::shader::{Access, BindingInfo, BindingKind, Capability, ImageInfo, ScalarType};

use super::support::{HEAD, compiled, compiled_for, compiled_with_news, reflected};

fn binding(binding: u32, name: &str, kind: BindingKind, access: Access) -> BindingInfo {
    BindingInfo { set: 0, binding, name: name.to_owned(), kind, count: 1, access, is_untouched: false, image: None }
}

fn image(
    number: u32,
    name: &str,
    kind: BindingKind,
    access: Access,
    (dimension, format): (Option<Dimension>, Option<Format>),
) -> BindingInfo {
    let component = Some(ScalarType::F32);
    let image = Some(ImageInfo { dimension, depth: false, multisampled: false, component, format });
    BindingInfo { image, ..binding(number, name, kind, access) }
}

#[test]
fn buffers_tell_their_access() {
    let module = compiled(&format!(
        "{HEAD}
        layout(set = 0, binding = 0) readonly buffer Source {{ uint source[]; }};
        layout(set = 0, binding = 1) writeonly buffer Target {{ uint n; uint target[]; }};
        layout(set = 0, binding = 2) buffer Both {{ uint values[]; }} both;
        layout(set = 0, binding = 3) buffer Mixed {{ readonly uint a; uint b; }} mixed_access;
        layout(set = 0, binding = 4) uniform Parameters {{ uint n; }} parameters;
        void main() {{ target[0] = source[0] + both.values[0] + mixed_access.a + parameters.n; }}"
    ));
    let expected = [
        binding(0, "Source", BindingKind::StorageBuffer, Access::ReadOnly),
        binding(1, "Target", BindingKind::StorageBuffer, Access::WriteOnly),
        binding(2, "both", BindingKind::StorageBuffer, Access::ReadWrite),
        binding(3, "mixed_access", BindingKind::StorageBuffer, Access::ReadWrite),
        binding(4, "parameters", BindingKind::UniformBuffer, Access::ReadOnly),
    ];
    assert_eq!(module.reflection.bindings, expected);
}

#[test]
fn buffers_tell_what_functions_do_with_them() {
    let module = compiled(&format!(
        "{HEAD}
        struct Pair {{ vec2 a; uint b[4]; }};
        layout(binding = 0) buffer Source {{ Pair source[]; }};
        layout(binding = 1) buffer Target {{ uint target[]; }};
        layout(binding = 2) buffer Counter {{ uint counter; }};
        layout(binding = 3) buffer Sums {{ uint sums[]; }} sums;
        layout(binding = 4) buffer Length {{ uint unread[]; }};
        layout(binding = 5) writeonly buffer Part {{ uint part[]; }};
        layout(binding = 6) buffer Untouched {{ uint untouched[]; }};
        layout(binding = 7) buffer Parts {{ uint words[]; }} parts[2];
        void add(inout uint sum, uint more) {{ sum += more; }}
        void main() {{
            const uint i = gl_GlobalInvocationID.x;
            target[i] = source[i].b[i % 4] + uint(unread.length()) + parts[0].words[i];
            atomicAdd(counter, 1);
            add(sums.sums[i], uint(source[i].a.x));
            part[i] = 1;
            parts[1].words[i] = 2;
        }}"
    ));
    let used: Vec<Access> = module.reflection.used_bindings.iter().map(|info| info.access).collect();
    let (read, written, both) = (Access::ReadOnly, Access::WriteOnly, Access::ReadWrite);
    assert_eq!(used, [read, written, both, both, read, written, read, both]);
}

#[test]
fn what_cannot_be_followed_is_read_and_written() {
    let reflection = reflected(
        "OpCapability Shader
        OpCapability VariablePointersStorageBuffer
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %main \"main\"
        OpExecutionMode %main LocalSize 1 1 1
        OpDecorate %block Block
        OpMemberDecorate %block 0 Offset 0
        OpDecorate %passed DescriptorSet 0
        OpDecorate %passed Binding 0
        OpDecorate %copied DescriptorSet 0
        OpDecorate %copied Binding 1
        OpDecorate %idle DescriptorSet 0
        OpDecorate %idle Binding 2
        %void = OpTypeVoid
        %uint = OpTypeInt 32 0
        %zero = OpConstant %uint 0
        %block = OpTypeStruct %uint
        %to_block = OpTypePointer StorageBuffer %block
        %to_uint = OpTypePointer StorageBuffer %uint
        %passed = OpVariable %to_block StorageBuffer
        %copied = OpVariable %to_block StorageBuffer
        %idle = OpVariable %to_block StorageBuffer
        %procedure = OpTypeFunction %void
        %taking = OpTypeFunction %void %to_uint
        %main = OpFunction %void None %procedure
        %begin = OpLabel
        %word = OpAccessChain %to_uint %passed %zero
        %call = OpFunctionCall %void %take %word
        %from = OpAccessChain %to_uint %idle %zero
        %to = OpAccessChain %to_uint %copied %zero
        OpCopyMemory %to %from
        OpReturn
        OpFunctionEnd
        %take = OpFunction %void None %taking
        %pointer = OpFunctionParameter %to_uint
        %entered = OpLabel
        OpStore %pointer %zero
        OpReturn
        OpFunctionEnd",
        "vulkan1.1",
    );
    let used: Vec<Access> = reflection.used_bindings.iter().map(|info| info.access).collect();
    assert_eq!(used, [Access::ReadWrite, Access::WriteOnly, Access::ReadOnly]);
}

#[test]
fn images_samplers_and_texel_buffers_are_told_apart() {
    let source = format!(
        "{HEAD}
        layout(set = 0, binding = 0) uniform texture2D sampled;
        layout(set = 0, binding = 1, rgba32f) uniform readonly image2D stored;
        layout(set = 0, binding = 2, rgba32f) uniform writeonly image2D written;
        layout(set = 0, binding = 3) uniform sampler2D combined;
        layout(set = 0, binding = 4) uniform sampler lone;
        layout(set = 0, binding = 5) uniform samplerBuffer texels;
        layout(set = 0, binding = 6) uniform textureBuffer bare_texels;
        layout(set = 0, binding = 7, r32ui) uniform uimageBuffer stored_texels;
        void main() {{
            vec4 value = texelFetch(sampled, ivec2(0), 0) + imageLoad(stored, ivec2(0)) + textureLod(combined, vec2(0), 0)
                + textureLod(sampler2D(sampled, lone), vec2(0), 0) + texelFetch(texels, 0) + texelFetch(bare_texels, 0);
            imageStore(written, ivec2(0), value);
            imageStore(stored_texels, 0, imageLoad(stored_texels, 1));
        }}"
    )
    .replace("#include", "#extension GL_EXT_samplerless_texture_functions : require\n#include");
    let plane = Some(Dimension::D2);
    let expected = [
        image(0, "sampled", BindingKind::SampledImage, Access::ReadOnly, (plane, None)),
        image(1, "stored", BindingKind::StorageImage, Access::ReadOnly, (plane, Some(Format::Rgba32Float))),
        image(2, "written", BindingKind::StorageImage, Access::WriteOnly, (plane, Some(Format::Rgba32Float))),
        image(3, "combined", BindingKind::CombinedImageSampler, Access::ReadOnly, (plane, None)),
        binding(4, "lone", BindingKind::Sampler, Access::ReadOnly),
        image(5, "texels", BindingKind::UniformTexelBuffer, Access::ReadOnly, (None, None)),
        image(6, "bare_texels", BindingKind::UniformTexelBuffer, Access::ReadOnly, (None, None)),
        BindingInfo {
            image: Some(ImageInfo {
                dimension: None,
                depth: false,
                multisampled: false,
                component: Some(ScalarType::U32),
                format: Some(Format::R32Uint),
            }),
            ..binding(7, "stored_texels", BindingKind::StorageTexelBuffer, Access::ReadWrite)
        },
    ];
    // SPIR-V 1.6 declares samplerBuffer in another way.
    for target in [SpirvTarget::Vulkan1_1, SpirvTarget::Vulkan1_3] {
        assert_eq!(compiled_for(&source, target).reflection.bindings, expected);
    }
}

#[test]
fn images_tell_what_they_are_and_what_functions_do_with_them() {
    let module = compiled(&format!(
        "{HEAD}
        layout(binding = 0, rgba8) uniform image2D written;
        layout(binding = 1, r11f_g11f_b10f) uniform image3D read;
        layout(binding = 2, rg16_snorm) uniform image1DArray both;
        layout(binding = 3, r32i) uniform iimage2DArray counted;
        layout(binding = 4, rgba8ui) uniform uimageCube measured;
        layout(binding = 5, rgb10_a2ui) uniform uimageBuffer passed;
        layout(binding = 6, r8) uniform writeonly image2D several[2];
        layout(binding = 7) uniform sampler2DShadow shadow;
        layout(binding = 8) uniform writeonly image2D given;
        void give(writeonly image2D image) {{ imageStore(image, ivec2(0), vec4(0)); }}
        void main() {{
            imageStore(written, ivec2(0), imageLoad(read, ivec3(0)));
            imageStore(both, ivec2(0), imageLoad(both, ivec2(1)));
            imageAtomicAdd(counted, ivec3(0), imageSize(measured).x);
            imageStore(passed, 0, imageLoad(passed, 1));
            give(given);
            imageStore(several[1], ivec2(0), vec4(textureLod(shadow, vec3(0), 0)));
        }}"
    ));
    let used = &module.reflection.used_bindings;
    let (read, written, both) = (Access::ReadOnly, Access::WriteOnly, Access::ReadWrite);
    let accesses: Vec<Access> = used.iter().map(|info| info.access).collect();
    assert_eq!(accesses, [written, read, both, both, read, both, written, read, written]);
    let images: Vec<&ImageInfo> = used.iter().map(|info| info.image.as_ref().unwrap()).collect();
    let told = images.iter().map(|image| (image.dimension, image.component, image.format));
    let (float, int, uint) = (Some(ScalarType::F32), Some(ScalarType::I32), Some(ScalarType::U32));
    let expected = [
        (Some(Dimension::D2), float, Some(Format::Rgba8Unorm)),
        (Some(Dimension::D3), float, Some(Format::Rg11B10Float)),
        (Some(Dimension::D1Array), float, Some(Format::Rg16Snorm)),
        (Some(Dimension::D2Array), int, Some(Format::R32Sint)),
        (Some(Dimension::Cube), uint, Some(Format::Rgba8Uint)),
        (None, uint, Some(Format::Rgb10A2Uint)),
        (Some(Dimension::D2), float, Some(Format::R8Unorm)),
        (Some(Dimension::D2), float, None),
        (Some(Dimension::D2), float, None),
    ];
    assert!(told.eq(expected), "{images:?}");
    assert!(images.iter().enumerate().all(|(binding, image)| image.depth == (binding == 7)), "{images:?}");
}

#[test]
fn arrays_of_descriptors_are_counted_and_sorted() {
    let module = compiled(&format!(
        "{}
        layout(constant_id = 7) const uint COUNT = 3;
        layout(set = 1, binding = 0) buffer Open {{ uint v[]; }} open[];
        layout(set = 0, binding = 5) buffer Grid {{ uint v[]; }} grid[6];
        layout(set = 0, binding = 1) uniform texture2D textures[COUNT];
        void main() {{ open[gl_WorkGroupID.x].v[0] = grid[5].v[0] + uint(texelFetch(textures[1], ivec2(0), 0).x); }}",
        HEAD.replace(
            "#include",
            "#extension GL_EXT_nonuniform_qualifier : require
            #extension GL_EXT_samplerless_texture_functions : require\n#include"
        )
    ));
    let places: Vec<_> = module.reflection.bindings.iter().map(|b| (b.set, b.binding, b.name.as_str(), b.count)).collect();
    assert_eq!(places, [(0, 1, "textures", 3), (0, 5, "grid", 6), (1, 0, "open", 0)]);
    let wider = module.reflection.bindings_under(&[(7, 8)].into()).unwrap();
    assert_eq!(wider[0].count, 8);
}

#[test]
fn two_views_of_one_buffer_are_one_descriptor() {
    let module = compiled(&format!(
        "{HEAD}
        layout(set = 0, binding = 0) readonly buffer Words {{ uint words[]; }};
        layout(set = 0, binding = 0) writeonly buffer Vectors {{ uvec4 vectors[]; }};
        void main() {{ vectors[0] = uvec4(words[9]); }}"
    ));
    assert_eq!(module.reflection.bindings, [binding(0, "Vectors", BindingKind::StorageBuffer, Access::ReadWrite)]);
}

#[test]
fn push_constants_are_measured_through_nested_structs() {
    let push = |members: &str| {
        let uses = "void main() { out_word = p.first; }";
        let source = format!(
            "{HEAD} struct Inner {{ vec3 a; uint b; }}; struct Outer {{ Inner inner[2]; uint c; }};
            layout(binding = 0) buffer Out {{ uint out_word; }};
            layout(push_constant) uniform Push {{ uint first; {members} }} p; {uses}"
        );
        compiled(&source).reflection.push_bytes
    };
    assert_eq!(push(""), 4);
    assert_eq!(push("uvec3 v;"), 28);
    assert_eq!(push("Outer outer;"), 16 + 36);
    assert_eq!(push("mat3 m;"), 16 + 48);
    assert_eq!(push("layout(row_major) mat2x3 m;"), 8 + 24);
    assert_eq!(push("mat2 m[2]; uint last;"), 8 + 32 + 4);
    assert_eq!(push("layout(offset = 100) uint late;"), 104);
    assert_eq!(compiled(&format!("{HEAD} void main() {{}}")).reflection.push_bytes, 0);
}

#[test]
fn capabilities_extensions_and_version_are_listed() {
    let source = "#version 460
        #extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
        #extension GL_KHR_shader_subgroup_ballot : require
        #include \"local_size.glsl\"
        layout(binding = 0) buffer Out { uint64_t wide; double d; uvec4 votes; };
        void main() { wide += 1; d *= 2; votes = subgroupBallot(true); }";
    let reflection = &compiled(source).reflection;
    assert_eq!(reflection.version, (1, 3));
    for capability in [Capability::Int64, Capability::Float64, Capability::GroupNonUniformBallot] {
        assert!(reflection.capabilities.contains(&capability), "{capability:?}");
    }
    assert_eq!(compiled_for(source, SpirvTarget::Vulkan1_2).reflection.version, (1, 5));
    assert_eq!(compiled_for(source, SpirvTarget::Vulkan1_3).reflection.version, (1, 6));
}

#[test]
fn integer_dot_products_compile_to_their_instruction() {
    let module = compiled(
        "#version 460
        #extension GL_EXT_integer_dot_product : require
        #include \"local_size.glsl\"
        layout(binding = 0) buffer Data { uint a; uint b; int c; };
        void main() { c = int(dotPacked4x8EXT(a, b)); }",
    );
    assert!(module.reflection.capabilities.contains(&Capability::DotProductInput4x8BitPacked));
    assert_eq!(module.reflection.extensions, ["SPV_KHR_integer_dot_product"]);
}

/// Debian's validator predates these.
#[test]
fn cooperative_matrices_and_bfloat16_compile() {
    let matrix = compiled_with_news(
        "#version 460
        #extension GL_KHR_cooperative_matrix : require
        #extension GL_KHR_memory_scope_semantics : require
        #extension GL_EXT_shader_explicit_arithmetic_types : require
        #include \"local_size.glsl\"
        layout(constant_id = 3) const uint M = 16;
        layout(binding = 0) buffer Data { float16_t data[]; };
        void main() {
            coopmat<float16_t, gl_ScopeSubgroup, M, 16, gl_MatrixUseAccumulator> m;
            coopMatLoad(m, data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
            coopMatStore(m, data, 256, 16, gl_CooperativeMatrixLayoutRowMajor);
        }",
    );
    assert!(matrix.reflection.capabilities.contains(&Capability::CooperativeMatrixKHR));
    assert_eq!(matrix.reflection.version, (1, 3));
    let bfloat = compiled_with_news(
        "#version 460
        #extension GL_EXT_bfloat16 : require
        #include \"local_size.glsl\"
        layout(binding = 0) buffer Data { bfloat16_t data[]; };
        shared bfloat16_t tile[6];
        void main() { tile[0] = data[0]; data[1] = tile[0]; }",
    );
    assert!(bfloat.reflection.capabilities.contains(&Capability::BFloat16TypeKHR));
    assert_eq!(bfloat.reflection.shared_bytes(&[].into()), Ok(12));
}

/// Vulkan asks for the descriptors that an entry point uses; an image and a sampler at one place are a combined one.
#[test]
fn a_place_may_be_declared_twice_where_that_means_one_descriptor() {
    let kinds = |declarations: &str, uses: &str| {
        let module = compiled(&format!(
            "{HEAD} {declarations} layout(binding = 1) buffer Out {{ vec4 o[]; }}; void main() {{ {uses} }}"
        ));
        module.reflection.bindings.iter().map(|info| (info.kind, info.image.is_some())).collect::<Vec<_>>()
    };
    let out = (BindingKind::StorageBuffer, false);
    let unused = "layout(binding = 0) uniform sampler2D unused; layout(binding = 0) buffer A { vec4 a[]; };";
    assert_eq!(kinds(unused, "o[0] = a[0];"), [out, out]);
    let apart = "layout(binding = 0) uniform texture2D t; layout(binding = 0) uniform sampler s;";
    let combined = (BindingKind::CombinedImageSampler, true);
    assert_eq!(kinds(apart, "o[0] = textureLod(sampler2D(t, s), vec2(0), 0.0);"), [combined, out]);
    // As many as the array has, whichever comes first.
    for declared in [
        "uniform sampler s; layout(binding = 0) uniform texture2D t[4];",
        "uniform texture2D t[4]; layout(binding = 0) uniform sampler s;",
    ] {
        let module = compiled(&format!(
            "{HEAD} layout(binding = 0) {declared} layout(binding = 1) buffer Out {{ vec4 o[]; }};
            void main() {{ o[0] = textureLod(sampler2D(t[3], s), vec2(0), 0.0); }}"
        ));
        assert_eq!(module.reflection.bindings[0].count, 4, "{declared}");
    }
}

#[test]
fn modules_tell_in_which_directions_invocations_differ() {
    let of = |uses: &str| {
        compiled(&format!("{HEAD} layout(binding = 0) buffer Out {{ uint o[]; }}; void main() {{ {uses} }}"))
            .reflection
            .directions
    };
    assert_eq!(of("o[0] = 1;"), [false; 3]);
    assert_eq!(of("o[gl_GlobalInvocationID.x] = gl_LocalInvocationID.y;"), [true, false, false]);
    assert_eq!(of("o[gl_GlobalInvocationID.x] = gl_WorkGroupID.z;"), [true, false, true]);
    assert_eq!(of("uvec2 p = gl_GlobalInvocationID.xy; o[0] = p.x;"), [true, true, false]);
    assert_eq!(of("uvec3 p = gl_GlobalInvocationID; o[0] = p.x;"), [false; 3], "what a copy is for can't be told");
}
