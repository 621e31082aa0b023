//! SPIR-V as words: what stands where, and what is added. Whole instructions are copied as they are.

use rspirv::spirv::{Decoration, Op, Word};

pub(super) const HEADER_WORDS: usize = 5;
/// Where the header says which ids there are.
pub(super) const BOUND: usize = 3;
/// SPIR-V's universal limit for the bound of ids.
pub(super) const MOST_IDS: u32 = 0x003f_ffff;

/// The first `constant_id` above all that the module uses; nothing where it uses the last one.
pub(super) fn unused_spec_id(words: &[u32]) -> Option<u32> {
    let used = instructions(words).filter_map(|instruction| match (opcode(instruction), instruction) {
        (Some(Op::Decorate), [_, _, decoration, id]) if *decoration == Decoration::SpecId as u32 => Some(*id),
        _ => None,
    });
    used.max().map_or(Some(0), |id| id.checked_add(1))
}

/// The instructions of words that are known to be a module.
pub(super) fn instructions(words: &[u32]) -> impl Iterator<Item = &[u32]> {
    let mut rest = words.get(HEADER_WORDS..).unwrap_or_default();
    std::iter::from_fn(move || {
        let length = (rest.first()? >> 16) as usize;
        let (instruction, after) = rest.split_at_checked(length).filter(|_| length > 0)?;
        rest = after;
        Some(instruction)
    })
}

pub(super) fn opcode(instruction: &[u32]) -> Option<Op> {
    Op::from_u32(instruction.first()? & 0xffff)
}

pub(super) fn instruction(op: Op, operands: &[u32]) -> Vec<u32> {
    with_length(&[&[op as u32], operands].concat())
}

/// An instruction of few words, of which the first is its opcode.
fn with_length(words: &[u32]) -> Vec<u32> {
    let length = u32::try_from(words.len()).unwrap_or(u32::MAX);
    [&[(length << 16) | words[0]], &words[1..]].concat()
}

/// Whether instructions of this kind stand before all types, constants, variables and functions.
fn is_before_types(op: Op) -> bool {
    use Op::*;
    let is_head =
        matches!(op, Capability | Extension | ExtInstImport | MemoryModel | EntryPoint | ExecutionMode | ExecutionModeId);
    let is_debug = matches!(op, String | Source | SourceExtension | SourceContinued | Name | MemberName | ModuleProcessed);
    is_head || is_debug || op.is_annotation()
}

/// The next id that nothing has; nothing where the module has none to spare.
pub(super) fn take_id(bound: &mut u32) -> Option<Word> {
    let id = *bound;
    *bound = id.checked_add(1).filter(|bound| *bound <= MOST_IDS)?;
    Some(id)
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ModuleSection {
    Head,
    Types,
    Functions,
}

/// The instructions, each with its place. A source line goes with what follows it.
pub(super) fn with_places(words: &[u32]) -> Vec<(ModuleSection, &[u32])> {
    let mut place = ModuleSection::Head;
    let mut placed = Vec::new();
    let mut lines = 0;
    for instruction in instructions(words) {
        let is_line = matches!(opcode(instruction), Some(Op::Line | Op::NoLine));
        let own = match opcode(instruction) {
            Some(Op::Function) => ModuleSection::Functions,
            Some(op) if is_before_types(op) => ModuleSection::Head,
            _ => ModuleSection::Types,
        };
        if own > place {
            place = own;
            let before = placed.len() - lines;
            placed[before..].iter_mut().for_each(|(line, _)| *line = place);
        }
        lines = if is_line { lines + 1 } else { 0 };
        placed.push((place, instruction));
    }
    placed
}

/// A module of these instructions, each with its opcode first.
#[cfg(test)]
pub(super) fn module(instructions: &[&[u32]]) -> Vec<u32> {
    let body = instructions.iter().flat_map(|words| with_length(words));
    [rspirv::spirv::MAGIC_NUMBER, 0x0001_0300, 0, 100, 0].into_iter().chain(body).collect()
}
