//! Leaves out what says how memory is laid out where a module has no say in that: in Workgroup memory without
//! `WorkgroupMemoryExplicitLayoutKHR`, in variables of functions and invocations, on arrays of descriptors. Some compilers write it
//! there; drivers pass over it, but a validator refuses the module.
//!
//! A type may be a buffer's as well, where its layout counts. Then there are two of it: pointers into buffers keep the type with the
//! layout, all else gets a plain twin, and what is read or written whole is converted on the way, as compilers do that tell the two apart.

mod convert;
mod types;

use std::collections::BTreeSet;

use rspirv::grammar::{INSTRUCTION_TABLE, OperandKind};
use rspirv::spirv::{Decoration, Op};

use self::convert::Converter;
use self::types::Types;
use super::words::{BOUND, HEADER_WORDS, instruction, instructions, opcode};

/// What a reader is told of it.
pub(super) const NOTE: &str = "the module says how memory is laid out where that means nothing (shared memory, variables): those \
                               decorations are left out, as drivers pass over them";

/// A module without what means nothing in it.
#[derive(Debug, PartialEq, Eq)]
pub struct Undecorated {
    pub words: Vec<u32>,
    pub note: Option<&'static str>,
    /// Why what means nothing had to stay.
    pub hindrance: Option<&'static str>,
}

/// The same module where nothing in it means nothing, or where that can't be left out.
pub fn undecorated(words: &[u32]) -> Undecorated {
    let words = without_strides_of_blocks(words);
    let types = Types::of(&words);
    if !types.has_needless_layouts() {
        return Undecorated { words, note: None, hindrance: None };
    }
    match rewritten(&words, types) {
        Ok(words) => Undecorated { words, note: Some(NOTE), hindrance: None },
        Err(hindrance) => Undecorated { words, note: None, hindrance: Some(hindrance) },
    }
}

/// The module without strides on arrays of blocks: they mean nothing, since each block is a descriptor of its own.
fn without_strides_of_blocks(words: &[u32]) -> Vec<u32> {
    let decorated = |decoration: Decoration| {
        instructions(words).filter_map(move |instruction| match (opcode(instruction), instruction) {
            (Some(Op::Decorate), [_, target, kind, ..]) if *kind == decoration as u32 => Some(*target),
            _ => None,
        })
    };
    let blocks: BTreeSet<u32> = decorated(Decoration::Block).chain(decorated(Decoration::BufferBlock)).collect();
    let arrays = instructions(words).filter_map(|instruction| match (opcode(instruction), instruction) {
        (Some(Op::TypeArray | Op::TypeRuntimeArray), [_, array, element, ..]) if blocks.contains(element) => Some(*array),
        _ => None,
    });
    let arrays: BTreeSet<u32> = arrays.collect();
    if !decorated(Decoration::ArrayStride).any(|target| arrays.contains(&target)) {
        return words.to_vec();
    }
    let is_needless = |instruction: &&[u32]| {
        opcode(instruction) == Some(Op::Decorate)
            && matches!(instruction, [_, target, kind, ..] if *kind == Decoration::ArrayStride as u32 && arrays.contains(target))
    };
    let kept = instructions(words).filter(|instruction| !is_needless(instruction)).flatten();
    words[..HEADER_WORDS].iter().chain(kept).copied().collect()
}

fn rewritten(words: &[u32], mut types: Types) -> Result<Vec<u32>, &'static str> {
    let mut bound = words[BOUND];
    types.make_twins(&mut bound)?;
    let mut out = words[..HEADER_WORDS].to_vec();
    let mut converter = Converter::new(&types, words[1], bound);
    for instruction in instructions(words) {
        match opcode(instruction).ok_or("it has an instruction that isn't known")? {
            Op::Decorate | Op::MemberDecorate => decoration(&types, instruction, &mut out),
            Op::Name | Op::MemberName => {
                out.extend(instruction);
                out.extend(of_twin(&types, instruction));
            }
            Op::DecorationGroup => return Err("it has a group of decorations"),
            Op::TypeStruct | Op::TypeArray => composite(&types, instruction, &mut out),
            Op::TypePointer | Op::TypeFunction => out.extend(types.with_plain_operands(instruction)),
            op if is_untyped(op) => return Err("it has untyped pointers"),
            Op::Load => converter.load(instruction, &mut out)?,
            Op::Store => converter.store(instruction, &mut out)?,
            Op::CopyMemory => converter.copy(instruction, &mut out)?,
            op if has_result_type(op) => {
                let mut words = instruction.to_vec();
                if let Some(ty) = words.get_mut(1) {
                    *ty = types.plain(*ty);
                }
                out.extend(words);
            }
            _ => out.extend(instruction),
        }
    }
    out[BOUND] = converter.bound();
    Ok(out)
}

/// A decoration, unless it says the layout of a type that has none; the twin has the others, too.
fn decoration(types: &Types, instruction: &[u32], out: &mut Vec<u32>) {
    let kind = match opcode(instruction) {
        Some(Op::Decorate) => instruction.get(2),
        _ => instruction.get(3),
    };
    let target = instruction.get(1).copied().unwrap_or_default();
    let is_layout = kind.is_some_and(|kind| is_layout(*kind));
    if !(is_layout && types.is_plain(target)) {
        out.extend(instruction);
    }
    if kind == Some(&(Decoration::RelaxedPrecision as u32)) {
        out.extend(of_twin(types, instruction));
    }
}

/// The same of the target's twin, if it has one.
fn of_twin(types: &Types, instruction: &[u32]) -> Vec<u32> {
    let twin = instruction.get(1).and_then(|target| types.twin(*target));
    twin.map(|twin| [&instruction[..1], &[twin], &instruction[2..]].concat()).unwrap_or_default()
}

fn composite(types: &Types, old: &[u32], out: &mut Vec<u32>) {
    let plain = types.with_plain_operands(old);
    match old.get(1).map(|id| (types.twin(*id), types.is_plain(*id))) {
        Some((Some(twin), _)) => {
            out.extend(old);
            out.extend([&plain[..1], &[twin], &plain[2..]].concat());
        }
        Some((None, true)) => out.extend(plain),
        _ => out.extend(old),
    }
}

/// Whether a decoration says how memory is laid out.
fn is_layout(decoration: u32) -> bool {
    use Decoration::*;
    [Block, BufferBlock, Offset, ArrayStride, MatrixStride, RowMajor, ColMajor].iter().any(|kind| *kind as u32 == decoration)
}

fn is_untyped(op: Op) -> bool {
    format!("{op:?}").contains("Untyped")
}

fn has_result_type(op: Op) -> bool {
    INSTRUCTION_TABLE.get(op).operands.first().is_some_and(|operand| operand.kind == OperandKind::IdResultType)
}

/// `OpCopyMemory` as a load and a store.
fn load_and_store(ty: u32, value: u32, from: u32, to: u32) -> [Vec<u32>; 2] {
    [instruction(Op::Load, &[ty, value, from]), instruction(Op::Store, &[to, value])]
}

#[cfg(test)]
mod tests;
