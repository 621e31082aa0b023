//! Names and decorations of a module by id.

use std::collections::HashMap;

use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{Decoration, Op, Word};

use crate::shader::loader::id;

/// Bytes of a name that are kept: names are copied to all that bears them, and one may take a quarter of a megabyte.
const LONGEST_NAME: usize = 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Decorated {
    decoration: Decoration,
    argument: Option<u32>,
}

#[derive(Debug, Default)]
pub(in crate::shader) struct Index {
    names: HashMap<Word, String>,
    member_names: HashMap<(Word, u32), String>,
    decorations: HashMap<Word, Vec<Decorated>>,
    members: HashMap<(Word, u32), Vec<Decorated>>,
}

impl Index {
    pub(in crate::shader) fn of(module: &Module) -> Self {
        let mut index = Self::default();
        for instruction in &module.debug_names {
            match (instruction.class.opcode, &instruction.operands[..]) {
                (Op::Name, [Operand::IdRef(id), Operand::LiteralString(name)]) => {
                    // The declaration's own comes first: a constant that is only given the value of another one is that one's id as well.
                    index.names.entry(*id).or_insert_with(|| shortened(name));
                }
                (Op::MemberName, [Operand::IdRef(id), Operand::LiteralBit32(member), Operand::LiteralString(name)]) => {
                    index.member_names.insert((*id, *member), shortened(name));
                }
                _ => {}
            }
        }
        for instruction in &module.annotations {
            index.decorate(instruction);
        }
        // Groups are applied after all their decorations are known.
        for instruction in &module.annotations {
            index.apply_group(instruction);
        }
        index
    }

    fn decorate(&mut self, instruction: &Instruction) {
        match (instruction.class.opcode, &instruction.operands[..]) {
            (Op::Decorate, [Operand::IdRef(target), Operand::Decoration(decoration), arguments @ ..]) => {
                add(self.decorations.entry(*target).or_default(), &[Decorated::new(*decoration, arguments)]);
            }
            (
                Op::MemberDecorate,
                [Operand::IdRef(target), Operand::LiteralBit32(member), Operand::Decoration(decoration), arguments @ ..],
            ) => add(self.members.entry((*target, *member)).or_default(), &[Decorated::new(*decoration, arguments)]),
            _ => {}
        }
    }

    fn apply_group(&mut self, instruction: &Instruction) {
        let Some((group, targets)) = instruction.operands.split_first() else { return };
        let Some(group) = id(group).and_then(|group| self.decorations.get(&group)).cloned() else { return };
        match instruction.class.opcode {
            Op::GroupDecorate => {
                for target in targets.iter().filter_map(id) {
                    add(self.decorations.entry(target).or_default(), &group);
                }
            }
            Op::GroupMemberDecorate => {
                for pair in targets.chunks_exact(2) {
                    if let [Operand::IdRef(target), Operand::LiteralBit32(member)] = pair {
                        add(self.members.entry((*target, *member)).or_default(), &group);
                    }
                }
            }
            _ => {}
        }
    }

    /// The name of an id; empty where it has none.
    pub(in crate::shader) fn name(&self, id: Word) -> &str {
        self.names.get(&id).map_or("", String::as_str)
    }

    pub(in crate::shader) fn member_name(&self, id: Word, member: u32) -> &str {
        self.member_names.get(&(id, member)).map_or("", String::as_str)
    }

    pub(in crate::shader) fn has(&self, id: Word, decoration: Decoration) -> bool {
        self.decorations.get(&id).is_some_and(|all| all.iter().any(|one| one.decoration == decoration))
    }

    pub(in crate::shader) fn argument(&self, id: Word, decoration: Decoration) -> Option<u32> {
        argument(self.decorations.get(&id)?, decoration)
    }

    pub(in crate::shader) fn member_has(&self, id: Word, member: u32, decoration: Decoration) -> bool {
        self.members.get(&(id, member)).is_some_and(|all| all.iter().any(|one| one.decoration == decoration))
    }

    pub(in crate::shader) fn member_argument(&self, id: Word, member: u32, decoration: Decoration) -> Option<u32> {
        argument(self.members.get(&(id, member))?, decoration)
    }
}

impl Decorated {
    fn new(decoration: Decoration, arguments: &[Operand]) -> Self {
        let argument = arguments.first().and_then(|operand| match operand {
            Operand::LiteralBit32(value) => Some(*value),
            Operand::BuiltIn(builtin) => Some(*builtin as u32),
            _ => None,
        });
        Self { decoration, argument }
    }
}

/// Adds the decorations that aren't there yet: of each, only the first counts. A group that decorates itself adds nothing.
fn add(all: &mut Vec<Decorated>, more: &[Decorated]) {
    for one in more {
        if !all.iter().any(|other| other.decoration == one.decoration) {
            all.push(one.clone());
        }
    }
}

/// So much of a name as anybody reads, in one line: no language's names have line ends.
fn shortened(name: &str) -> String {
    let end = (0..=name.len().min(LONGEST_NAME)).rev().find(|end| name.is_char_boundary(*end)).unwrap_or_default();
    name.get(..end).unwrap_or(name).replace(['\n', '\r'], " ")
}

fn argument(all: &[Decorated], decoration: Decoration) -> Option<u32> {
    all.iter().find(|one| one.decoration == decoration).and_then(|one| one.argument)
}
