//! What breaks a rule of SPIR-V is found before a driver sees it, and the place is told.

use lanescope::shader::{Invalid, Reflection, validate};

use crate::common::{spirv_tool, to_words};
use crate::support::{HEAD, compiled_with_news};

/// A module that stores a sum, with a place for what is to be wrong.
fn module(sum: &str, index: &str) -> Vec<u32> {
    let text = format!(
        "OpCapability Shader
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %main \"main\"
        OpExecutionMode %main LocalSize 1 1 1
        OpName %sum \"sum\"
        OpDecorate %block Block
        OpMemberDecorate %block 0 Offset 0
        OpDecorate %data DescriptorSet 0
        OpDecorate %data Binding 0
        %void = OpTypeVoid
        %fn = OpTypeFunction %void
        %float = OpTypeFloat 32
        %uint = OpTypeInt 32 0
        %zero = OpConstant %uint 0
        %one = OpConstant %float 1
        %block = OpTypeStruct %uint
        %pointer = OpTypePointer StorageBuffer %block
        %member = OpTypePointer StorageBuffer %uint
        %data = OpVariable %pointer StorageBuffer
        %main = OpFunction %void None %fn
        %label = OpLabel
        %sum = {sum}
        %place = OpAccessChain %member %data {index}
        OpStore %place %sum
        OpReturn
        OpFunctionEnd"
    );
    to_words(
        &spirv_tool("spirv-as", &["--target-env", "spv1.3", "--preserve-numeric-ids", "-o", "-", "-"], text.as_bytes())
            .unwrap(),
    )
}

#[test]
fn the_broken_rule_is_told_with_the_instruction_and_its_place() {
    assert_eq!(validate(&module("OpIAdd %uint %zero %zero", "%zero")), Ok(()));
    let words = module("OpIAdd %uint %zero %one", "%zero");
    // Reflection has nothing against it.
    Reflection::of(&words).unwrap();
    let Invalid { place, what } = validate(&words).unwrap_err();
    let sum = words.iter().position(|word| *word == (5 << 16) | 128).unwrap();
    assert_eq!(place, format!("instruction 22 (at word {sum}, OpIAdd)"));
    assert!(what.contains("Expected int scalar or vector type as operand: IAdd operand index 3"), "{what}");
    assert!(what.ends_with("%sum = OpIAdd %uint %uint_0 %float_1"), "{what}");
}

#[test]
fn a_missing_capability_and_an_index_out_of_range_are_found() {
    let error = validate(&module("OpSDot %uint %zero %zero", "%zero")).unwrap_err().to_string();
    assert!(error.starts_with("not valid SPIR-V, instruction 22 (at word ") && error.contains("OpSDot"), "{error}");
    let error = validate(&module("OpIAdd %uint %zero %zero", "%zero %zero")).unwrap_err();
    assert!(error.what.contains("reached non-composite type while indexes still remain"), "{error}");
}

#[test]
fn what_is_cut_off_is_found_at_its_word() {
    let words = module("OpIAdd %uint %zero %zero", "%zero");
    let cut = &words[..words.len() - 3];
    let Invalid { place, what } = validate(cut).unwrap_err();
    assert!(place.starts_with("at word ") || place == "the module as a whole", "{place}: {what}");
    for end in 0..words.len() {
        assert!(validate(&words[..end]).is_err(), "{end} of {} words", words.len());
    }
}

#[test]
fn layouts_of_any_feature_are_valid() {
    compiled_with_news(&format!(
        "{HEAD}#extension GL_EXT_scalar_block_layout : require
        layout(scalar, binding = 0) buffer Data {{ float first; vec3 packed[]; }};
        void main() {{ packed[gl_GlobalInvocationID.x].x = first; }}"
    ));
}
