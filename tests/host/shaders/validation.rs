//! What breaks a rule of SPIR-V is found before a driver sees it, and the place is told.

use std::time::Duration;

use lanescope::shader::{Invalid, Reflection, validate, validate_within};
use rspirv::spirv::{self, AddressingModel, Capability, ExecutionMode, ExecutionModel, MemoryModel, Op};

use super::support::{HEAD, compiled_with_news};
use crate::support::{spirv_tool, to_words};

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
    Reflection::parse(&words).unwrap();
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

fn instruction(op: Op, operands: &[u32]) -> Vec<u32> {
    let first = (u32::try_from(operands.len() + 1).unwrap() << 16) | op as u32;
    [&[first], operands].concat()
}

/// A module of these words with an empty entry point, whose function is id 1, and ids from 5 on of its own.
fn around(version: u32, declarations: &[u32], body: &[u32], bound: u32) -> Vec<u32> {
    let name = u32::from_le_bytes(*b"main");
    let parts = [
        vec![spirv::MAGIC_NUMBER, version, 0, bound, 0],
        instruction(Op::Capability, &[Capability::Shader as u32]),
        instruction(Op::MemoryModel, &[AddressingModel::Logical as u32, MemoryModel::GLSL450 as u32]),
        instruction(Op::EntryPoint, &[ExecutionModel::GLCompute as u32, 1, name, 0]),
        instruction(Op::ExecutionMode, &[1, ExecutionMode::LocalSize as u32, 1, 1, 1]),
        instruction(Op::TypeVoid, &[2]),
        instruction(Op::TypeFunction, &[3, 2]),
        instruction(Op::TypeInt, &[4, 32, 0]),
        declarations.to_vec(),
        instruction(Op::Function, &[2, 1, 0, 3]),
        body.to_vec(),
        instruction(Op::Return, &[]),
        instruction(Op::FunctionEnd, &[]),
    ];
    parts.concat()
}

/// Arrays of which each has the one before as its element, and as its length: the names that the validator would make up for them
/// double with each.
#[test]
fn names_that_would_fill_the_memory_are_not_made_up() {
    let arrays: Vec<u32> = (5..65).flat_map(|id| instruction(Op::TypeArray, &[id, id - 1, id - 1])).collect();
    let words = around(0x0001_0300, &arrays, &instruction(Op::Label, &[65]), 66);
    let error = validate(&words).unwrap_err();
    assert!(error.what.contains("can't be named"), "{error}");
    // Few of them break a rule that can be told.
    let arrays: Vec<u32> = (5..13).flat_map(|id| instruction(Op::TypeArray, &[id, id - 1, id - 1])).collect();
    let error = validate(&around(0x0001_0300, &arrays, &instruction(Op::Label, &[13]), 14)).unwrap_err();
    assert!(error.place.ends_with("OpTypeArray)") && error.what.contains("is not a scalar constant type"), "{error}");
}

#[test]
fn what_keeps_the_validator_busy_is_left_to_itself() {
    // Selections in selections: the time grows with the third power of their number.
    let nested = |count: u32| {
        let (first, last) = (10, 10 + count);
        let declarations = [instruction(Op::TypeBool, &[5]), instruction(Op::ConstantTrue, &[5, 6])].concat();
        let down = (0..count).flat_map(|i| {
            let (here, merge) = (first + i, last + 1 + i);
            let select = instruction(Op::SelectionMerge, &[merge, 0]);
            [instruction(Op::Label, &[here]), select, instruction(Op::BranchConditional, &[6, here + 1, merge])].concat()
        });
        let up = (0..count).rev().flat_map(|i| {
            let to = if i + 1 == count { last } else { last + 2 + i };
            [instruction(Op::Label, &[to]), instruction(Op::Branch, &[last + 1 + i])].concat()
        });
        let body = down.chain(up).chain(instruction(Op::Label, &[last + 1])).collect::<Vec<_>>();
        around(0x0001_0300, &declarations, &body, last + count + 1)
    };
    assert_eq!(validate_within(&nested(3), Duration::from_secs(60)), Some(Ok(())));
    assert_eq!(validate_within(&nested(300), Duration::ZERO), None);
}

#[test]
fn a_version_that_vulkan_does_not_take_is_told() {
    let error = validate(&around(0x0001_0900, &[], &instruction(Op::Label, &[5]), 6)).unwrap_err().to_string();
    assert_eq!(error, "not valid SPIR-V, at word 1: version 1.9, where 1.6 is the newest that Vulkan 1.4 takes");
    assert_eq!(validate(&around(0x0001_0600, &[], &instruction(Op::Label, &[5]), 6)), Ok(()));
}
