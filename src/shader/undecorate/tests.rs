use rspirv::spirv::{Capability, Decoration, MAGIC_NUMBER as MAGIC, Op, StorageClass};

use super::*;
use crate::shader::validate;
use crate::shader::words::module;

/// A struct with an array, in a buffer (40), in shared memory (41) and in part in a function's variable (42), copied among them whole.
fn shared_with_a_buffer(version: u32, length: Op) -> Vec<u32> {
    use StorageClass::{Function, StorageBuffer, Workgroup};
    let interface: &[u32] = if version >= 0x0001_0400 { &[40, 41] } else { &[] };
    let entry = [&[Op::EntryPoint as u32, 5, 1, u32::from(b'a')], interface].concat();
    let stride = |array, stride| [Op::Decorate as u32, array, Decoration::ArrayStride as u32, stride];
    let offset = |ty, member, offset| [Op::MemberDecorate as u32, ty, member, Decoration::Offset as u32, offset];
    let pointer = |id, class: StorageClass, to| [Op::TypePointer as u32, id, class as u32, to];
    let variable = |ty, id, class: StorageClass| [Op::Variable as u32, ty, id, class as u32];
    let mut words = module(&[
        &[Op::Capability as u32, Capability::Shader as u32],
        &[Op::MemoryModel as u32, 0, 1],
        &entry,
        &[Op::ExecutionMode as u32, 1, 17, 1, 1, 1],
        &[Op::Name as u32, 11, u32::from(b's')],
        &stride(10, 4),
        &offset(11, 0, 0),
        &offset(11, 1, 16),
        &stride(12, 32),
        &[Op::Decorate as u32, 13, Decoration::Block as u32],
        &offset(13, 0, 0),
        &[Op::Decorate as u32, 40, Decoration::DescriptorSet as u32, 0],
        &[Op::Decorate as u32, 40, Decoration::Binding as u32, 0],
        &[Op::TypeVoid as u32, 2],
        &[Op::TypeFunction as u32, 3, 2],
        &[Op::TypeInt as u32, 4, 32, 0],
        &[length as u32, 4, 5, 4],
        &[Op::Constant as u32, 4, 6, 0],
        &[Op::Constant as u32, 4, 7, 2],
        &[Op::TypeArray as u32, 10, 4, 5],
        &[Op::TypeStruct as u32, 11, 10, 4],
        &[Op::TypeArray as u32, 12, 11, 7],
        &[Op::TypeStruct as u32, 13, 11],
        &pointer(20, StorageBuffer, 13),
        &pointer(21, StorageBuffer, 11),
        &pointer(22, Workgroup, 12),
        &pointer(23, Workgroup, 11),
        &pointer(24, Function, 10),
        &pointer(25, StorageBuffer, 10),
        &variable(20, 40, StorageBuffer),
        &variable(22, 41, Workgroup),
        &[Op::Function as u32, 2, 1, 0, 3],
        &[Op::Label as u32, 43],
        &variable(24, 42, Function),
        &[Op::AccessChain as u32, 21, 50, 40, 6],
        &[Op::Load as u32, 11, 51, 50],
        &[Op::AccessChain as u32, 23, 52, 41, 6],
        &[Op::Store as u32, 52, 51],
        &[Op::Load as u32, 11, 53, 52],
        &[Op::Store as u32, 50, 53],
        &[Op::CompositeExtract as u32, 10, 54, 53, 0],
        &[Op::Store as u32, 42, 54],
        &[Op::AccessChain as u32, 25, 55, 50, 6],
        &[Op::CopyMemory as u32, 55, 42],
        &[Op::CopyMemory as u32, 52, 50],
        &[Op::Return as u32],
        &[Op::FunctionEnd as u32],
    ]);
    words[1] = version;
    words
}

#[test]
fn what_a_buffer_shares_with_shared_memory_keeps_its_layout_there_alone() {
    for (version, copies) in [(0x0001_0300, 0), (0x0001_0400, 4), (0x0001_0500, 4), (0x0001_0600, 4)] {
        let words = shared_with_a_buffer(version, Op::Constant);
        assert!(validate(&words).unwrap_err().what.contains("explicit layout"));
        let Undecorated { words, note, hindrance } = undecorated(&words);
        assert_eq!((validate(&words), note, hindrance), (Ok(()), Some(NOTE), None));
        let strides = |array| {
            let stride = [array, Decoration::ArrayStride as u32];
            instructions(&words).filter(|words| opcode(words) == Some(Op::Decorate) && words[1..3] == stride).count()
        };
        assert_eq!([10, 12].map(strides), [1, 0], "the buffer's, and the one that is in shared memory alone");
        assert_eq!(instructions(&words).filter(|words| opcode(words) == Some(Op::CopyLogical)).count(), copies);
        let again = undecorated(&words);
        assert_eq!(again, Undecorated { words, note: None, hindrance: None });
    }
}

#[test]
fn what_cannot_be_copied_by_parts_is_told() {
    let words = shared_with_a_buffer(0x0001_0300, Op::SpecConstant);
    let kept = undecorated(&words);
    assert_eq!((&kept.words, kept.note), (&words, None));
    assert!(kept.hindrance.unwrap().contains("specialization constant"));
    let newer = undecorated(&shared_with_a_buffer(0x0001_0400, Op::SpecConstant));
    assert_eq!((validate(&newer.words), newer.hindrance), (Ok(()), None));
}

#[test]
fn layouts_that_count_in_shared_memory_stay() {
    let words = shared_with_a_buffer(0x0001_0400, Op::Constant);
    let explicit = [(2 << 16) | Op::Capability as u32, Capability::WorkgroupMemoryExplicitLayoutKHR as u32];
    let words = [&words[..HEADER_WORDS], &explicit, &words[HEADER_WORDS..]].concat();
    assert_eq!(undecorated(&words), Undecorated { words, note: None, hindrance: None });
}

#[test]
fn no_planted_error_stops_it() {
    for version in [0x0001_0300, 0x0001_0600] {
        let words = shared_with_a_buffer(version, Op::Constant);
        for at in 0..words.len() {
            drop(undecorated(&words[..at]));
            for planted in [0, 1, 4, 10, 11, 12, 13, 99, u32::MAX, words[at] ^ (1 << 16), words[at] ^ 1] {
                let mut broken = words.clone();
                broken[at] = planted;
                drop(undecorated(&broken));
            }
        }
    }
}

#[test]
fn strides_of_arrays_of_blocks_are_left_out_and_no_others() {
    let one = |op: Op, operands: &[u32]| [&[(u32::try_from(operands.len() + 1).unwrap() << 16) | op as u32], operands].concat();
    let (block, stride) = (Decoration::Block as u32, Decoration::ArrayStride as u32);
    let head = [MAGIC, 0x1_0300, 0, 20, 0];
    let rest = [one(Op::TypeStruct, &[3, 2]), one(Op::TypeArray, &[4, 3, 9]), one(Op::TypeArray, &[5, 2, 9])].concat();
    let kept = [one(Op::Decorate, &[3, block]), one(Op::Decorate, &[5, stride, 4])].concat();
    let dropped = one(Op::Decorate, &[4, stride, 16]);
    let module = |decorations: &[u32]| [&head[..], decorations, &rest].concat();
    let plain = module(&kept);
    assert_eq!(without_strides_of_blocks(&module(&[kept.clone(), dropped].concat())), plain);
    assert_eq!(without_strides_of_blocks(&plain), plain);
    // What is no module is left as it is.
    for words in [vec![], head.to_vec(), [&head[..], &[0]].concat(), [&head[..], &[9 << 16]].concat()] {
        assert_eq!(without_strides_of_blocks(&words), words);
    }
}
