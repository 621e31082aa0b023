//! Workgroup sizes and Workgroup memory under specialization.

use lanescope::model::SpirvTarget;
use lanescope::shader::{Extent, ReflectError, SpecValues};

use super::support::{HEAD, compiled, compiled_for, reflected};

const OUT: &str = "layout(binding = 0) buffer Out { uint result; };";

fn specialized(constant_id: u32) -> Extent {
    Extent::Specialized { constant_id, default: 1 }
}

fn shared(declarations: &str, uses: &str, values: &SpecValues) -> Result<u64, ReflectError> {
    compiled(&format!("{HEAD}{OUT}\n{declarations}\nvoid main() {{ {uses} }}")).reflection.shared_bytes(values)
}

#[test]
fn literal_sizes_are_read_with_and_without_their_builtin() {
    for body in ["", "result = gl_WorkGroupSize.x;"] {
        let source = format!("#version 460\nlayout(local_size_x = 8, local_size_y = 4) in; {OUT} void main() {{ {body} }}");
        for target in [SpirvTarget::Vulkan1_1, SpirvTarget::Vulkan1_3] {
            let module = compiled_for(&source, target);
            assert_eq!(module.reflection.entry_points[0].local_size, [8, 4, 1].map(Extent::Literal));
            assert!(!module.reflection.entry_points[0].needs_local_size_id);
        }
    }
}

#[test]
fn specialized_sizes_are_read_for_every_target() {
    for body in ["", "result = gl_WorkGroupSize.x;"] {
        let source = format!("{HEAD}{OUT} void main() {{ {body} }}");
        for target in [SpirvTarget::Vulkan1_1, SpirvTarget::Vulkan1_2, SpirvTarget::Vulkan1_3] {
            let reflection = &compiled_for(&source, target).reflection;
            let entry = &reflection.entry_points[0];
            assert_eq!((entry.name.as_str(), entry.local_size), ("main", [0, 1, 2].map(specialized)), "{target:?} {body}");
            assert_eq!(reflection.local_size(entry, &[(0, 64), (2, 2)].into()), Ok([64, 1, 2]));
        }
    }
}

#[test]
fn the_mode_local_size_id_is_marked() {
    let source = format!("{HEAD} void main() {{}}");
    let marked = |target| compiled_for(&source, target).reflection.entry_points[0].needs_local_size_id;
    assert!(!marked(SpirvTarget::Vulkan1_1));
    assert!(marked(SpirvTarget::Vulkan1_3));
}

#[test]
fn a_size_may_be_specialized_in_part() {
    let module = compiled("#version 460\nlayout(local_size_x_id = 5, local_size_y = 4) in; void main() {}");
    let expected = [specialized(5), Extent::Literal(4), Extent::Literal(1)];
    assert_eq!(module.reflection.entry_points[0].local_size, expected);
}

/// GLSL can't write such a size, other languages can.
#[test]
fn a_size_may_be_an_expression() {
    let reflection = reflected(
        r#"OpCapability Shader
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %f "main"
        OpExecutionModeId %f LocalSizeId %twice %one %one
        OpDecorate %half SpecId 4
        %void = OpTypeVoid
        %fn = OpTypeFunction %void
        %uint = OpTypeInt 32 0
        %one = OpConstant %uint 1
        %two = OpConstant %uint 2
        %half = OpSpecConstant %uint 16
        %twice = OpSpecConstantOp %uint IMul %half %two
        %f = OpFunction %void None %fn
        %l = OpLabel
        OpReturn
        OpFunctionEnd"#,
        "vulkan1.3",
    );
    let entry = &reflection.entry_points[0];
    assert_eq!(entry.local_size, [Extent::Derived { default: 32 }, Extent::Literal(1), Extent::Literal(1)]);
    assert_eq!(reflection.local_size(entry, &[(4, 100)].into()), Ok([200, 1, 1]));
}

#[test]
fn shared_arrays_follow_the_workgroup_size() {
    let values = [(0, 64), (1, 2)].into();
    let uses = "tile[0] = result; result = tile[1];";
    assert_eq!(shared("shared uint tile[gl_WorkGroupSize.x];", uses, &values), Ok(256));
    assert_eq!(shared("shared uint tile[gl_WorkGroupSize.x * gl_WorkGroupSize.y + 1];", uses, &values), Ok(516));
    // A shuffle and an extraction from it, both on specialization constants.
    let shuffled = "const uvec2 size = gl_WorkGroupSize.yx; shared uint tile[size.x];";
    assert_eq!(shared(shuffled, uses, &values), Ok(8));
    let doubled = "const uvec3 size = gl_WorkGroupSize * 2u; shared uint tile[size.x];";
    assert_eq!(shared(doubled, uses, &values), Ok(512));
}

#[test]
fn shared_arrays_follow_arithmetic_of_constants() {
    let declare = |length: &str| {
        format!(
            "layout(constant_id = 3) const uint N = 6;
            layout(constant_id = 4) const int S = -3;
            layout(constant_id = 5) const bool WIDE = false;
            shared uint tile[{length}];"
        )
    };
    let bytes = |length: &str, values: SpecValues| shared(&declare(length), "tile[0] = 1; result = tile[0];", &values);
    assert_eq!(bytes("N", [].into()), Ok(24));
    assert_eq!(bytes("N", [(3, 10)].into()), Ok(40));
    assert_eq!(bytes("(N / 4) * 4 + N % 4", [(3, 10)].into()), Ok(40));
    assert_eq!(bytes("(N << 2) | 1", [].into()), Ok(100));
    assert_eq!(bytes("(N >> 1) ^ 8 & ~1u", [].into()), Ok(44));
    assert_eq!(bytes("N + uint(S)", [].into()), Ok(12));
    assert_eq!(bytes("-S", [].into()), Ok(12));
    assert_eq!(bytes("WIDE ? N : 1", [].into()), Ok(4));
    assert_eq!(bytes("WIDE ? N : 1", [(5, 1)].into()), Ok(24));
    assert_eq!(bytes("N > 6 && !WIDE ? 2 : 3", [(3, 7)].into()), Ok(8));
    assert_eq!(bytes("S < 0 ? 2 : 3", [].into()), Ok(8));
}

#[test]
fn an_impossible_length_is_an_error_with_the_variables_name() {
    let declare = "layout(constant_id = 3) const uint N = 6; shared uint tile[8 / N];";
    let size = |n| shared(declare, "tile[0] = 1; result = tile[0];", &[(3, n)].into());
    assert_eq!(size(4), Ok(8));
    assert_eq!(size(0), Err(ReflectError::Size { name: "tile".to_owned() }));
    assert_eq!(size(9).unwrap_err().to_string(), "`tile` has no elements where N is 9: give another value by -c N=VALUE");
}

#[test]
fn shared_variables_are_laid_out_as_in_a_storage_buffer() {
    let bytes = |declarations: &str, uses: &str| shared(declarations, uses, &[].into());
    assert_eq!(bytes("", ""), Ok(0));
    assert_eq!(bytes("shared bool b[3];", "b[0] = true;"), Ok(12));
    assert_eq!(bytes("shared vec3 v[2];", "v[0] = vec3(0);"), Ok(32));
    assert_eq!(bytes("shared mat3 m;", "m[0] = vec3(0);"), Ok(48));
    assert_eq!(bytes("shared double d[3];", "d[0] = 0;"), Ok(24));
    let record = "struct Record { uint a; vec2 b; uint c; }; shared Record r[2];";
    assert_eq!(bytes(record, "r[0].a = 1;"), Ok(48));
    assert_eq!(bytes("shared uint a; shared vec4 v;", "a = 1; v = vec4(0);"), Ok(32));
    // One that no function uses takes no memory.
    assert_eq!(bytes("shared uint a[100]; shared uint b;", "b = 1;"), Ok(4));
}

#[test]
fn shared_blocks_lie_over_each_other() {
    let module = compiled_for(
        "#version 460
        #extension GL_EXT_shared_memory_block : require
        #include \"local_size.glsl\"
        shared Words { uint words[64]; };
        shared Vectors { vec4 vectors[8]; };
        void main() { words[0] = 1; vectors[1] = vec4(0); }",
        SpirvTarget::Vulkan1_2,
    );
    assert_eq!(module.reflection.shared_bytes(&[].into()), Ok(256));
}
