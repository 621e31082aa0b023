//! The types of a module: which of them are laid out, where that counts, and the plain twins of those that are both.

use std::collections::{HashMap, HashSet};

use rspirv::spirv::{Capability, Decoration, Op, StorageClass, Word};

use super::{has_result_type, is_layout};
use crate::shader::words::{instructions, opcode, take_id};

/// The last version of SPIR-V that lets variables of functions and invocations have a layout.
const LAST_WITH_LAID_OUT_VARIABLES: u32 = 0x0001_0400;

pub(super) enum Composite {
    Struct(Vec<Word>),
    /// The element's type, and the length, where it is a plain number.
    Array(Word, Option<u32>),
}

#[derive(Default)]
pub(super) struct Types {
    composites: HashMap<Word, Composite>,
    /// Those that say how they lie in memory, or contain one that does, and can be a value.
    laid_out: HashSet<Word>,
    /// The class of each type of pointers, and what it points to.
    pointers: HashMap<Word, (Word, Word)>,
    /// The types of values.
    of_values: HashMap<Word, Word>,
    /// Those whose layout counts somewhere.
    needed: HashSet<Word>,
    twins: HashMap<Word, Word>,
    has_workgroup_layouts: bool,
    lets_variables: bool,
}

impl Types {
    pub(super) fn of(words: &[u32]) -> Self {
        let version = words.get(1).copied().unwrap_or_default();
        let mut types = Self { lets_variables: version <= LAST_WITH_LAID_OUT_VARIABLES, ..Self::default() };
        let (mut decorated, mut lengths, mut order) = (HashSet::new(), HashMap::new(), Vec::new());
        let mut unsized_ones = HashSet::new();
        for instruction in instructions(words) {
            let Some(op) = opcode(instruction) else { continue };
            match (op, instruction) {
                (Op::Capability, [_, capability]) => {
                    types.has_workgroup_layouts |= *capability == Capability::WorkgroupMemoryExplicitLayoutKHR as u32;
                }
                (Op::Decorate, [_, target, kind, ..]) | (Op::MemberDecorate, [_, target, _, kind, ..])
                    // How a matrix lies tells nothing without its stride.
                    if is_layout(*kind) && ![Decoration::RowMajor as u32, Decoration::ColMajor as u32].contains(kind) =>
                {
                    decorated.insert(*target);
                }
                (Op::Constant, [_, ty, id, value]) => {
                    lengths.insert(*id, *value);
                    types.of_values.insert(*id, *ty);
                }
                (Op::TypeRuntimeArray, [_, id, ..]) => drop(unsized_ones.insert(*id)),
                // What an invalid module declares twice, or before its parts, is as it is first, and without them: so nothing is part
                // of itself.
                (Op::TypeStruct, [_, id, members @ ..]) if !types.composites.contains_key(id) => {
                    types.declare(*id, members, &decorated, &mut unsized_ones);
                    types.composites.insert(*id, Composite::Struct(members.to_vec()));
                    order.push(*id);
                }
                (Op::TypeArray, [_, id, element, length]) if !types.composites.contains_key(id) => {
                    types.declare(*id, &[*element], &decorated, &mut unsized_ones);
                    types.composites.insert(*id, Composite::Array(*element, lengths.get(length).copied()));
                    order.push(*id);
                }
                (Op::TypePointer, [_, id, class, pointee]) => drop(types.pointers.entry(*id).or_insert((*class, *pointee))),
                (op, [_, ty, id, ..]) if has_result_type(op) => drop(types.of_values.entry(*id).or_insert(*ty)),
                _ => {}
            }
        }
        types.find_needed(&order, words);
        types
    }

    fn declare(&mut self, id: Word, parts: &[Word], decorated: &HashSet<Word>, unsized_ones: &mut HashSet<Word>) {
        if parts.iter().any(|part| unsized_ones.contains(part)) {
            unsized_ones.insert(id);
        } else if decorated.contains(&id) || parts.iter().any(|part| self.laid_out.contains(part)) {
            self.laid_out.insert(id);
        }
    }

    /// What pointers into buffers lead to, and all within it.
    fn find_needed(&mut self, order: &[Word], words: &[u32]) {
        let pointees = self.pointers.values().filter(|(class, _)| self.counts_in(*class)).map(|(_, pointee)| *pointee);
        let mut needed: HashSet<Word> = pointees.collect();
        let elements = instructions(words).filter_map(|instruction| match (opcode(instruction), instruction) {
            // Nothing but a buffer has one.
            (Some(Op::TypeRuntimeArray), [_, _, element]) => Some(*element),
            _ => None,
        });
        needed.extend(elements);
        for id in order.iter().rev() {
            let is_unsized = !self.laid_out.contains(id);
            match self.composites.get(id) {
                Some(Composite::Struct(members)) if is_unsized || needed.contains(id) => needed.extend(members),
                Some(Composite::Array(element, _)) if needed.contains(id) => drop(needed.insert(*element)),
                _ => {}
            }
        }
        self.needed = needed;
    }

    /// Whether a layout means something in memory of this class. Of those that nothing is known of, it may.
    fn counts_in(&self, class: Word) -> bool {
        match StorageClass::from_u32(class) {
            Some(StorageClass::Workgroup) => self.has_workgroup_layouts,
            Some(StorageClass::UniformConstant | StorageClass::Function | StorageClass::Private) => false,
            _ => true,
        }
    }

    /// Whether a pointer's layout is one that the module may not have.
    pub(super) fn has_needless_layouts(&self) -> bool {
        self.pointers.values().any(|(class, pointee)| {
            let is_variables = [StorageClass::Function as u32, StorageClass::Private as u32].contains(class);
            self.laid_out.contains(pointee) && !self.counts_in(*class) && !(is_variables && self.lets_variables)
        })
    }

    pub(super) fn make_twins(&mut self, bound: &mut u32) -> Result<(), &'static str> {
        let mut both: Vec<Word> = self.laid_out.intersection(&self.needed).copied().collect();
        both.sort_unstable();
        for id in both {
            self.twins.insert(id, take_id(bound).ok_or("it has no id left")?);
        }
        Ok(())
    }

    pub(super) fn twin(&self, ty: Word) -> Option<Word> {
        self.twins.get(&ty).copied()
    }

    /// The type that values have instead of this one.
    pub(super) fn plain(&self, ty: Word) -> Word {
        self.twin(ty).unwrap_or(ty)
    }

    /// Whether no layout of this type, or of this type of pointers, counts.
    pub(super) fn is_plain(&self, ty: Word) -> bool {
        let is_such_pointer = || self.pointers.get(&ty).is_some_and(|(class, _)| !self.counts_in(*class));
        (self.laid_out.contains(&ty) && !self.twins.contains_key(&ty)) || is_such_pointer()
    }

    /// A type's declaration, made of plain types. Pointers into buffers stay as they are.
    pub(super) fn with_plain_operands(&self, declaration: &[u32]) -> Vec<u32> {
        let mut words = declaration.to_vec();
        let parts = match opcode(declaration) {
            Some(Op::TypePointer) if declaration.get(2).is_some_and(|class| self.counts_in(*class)) => 0..0,
            Some(Op::TypePointer) => 3..words.len(),
            Some(Op::TypeArray) => 2..words.len().min(3),
            _ => 2..words.len(),
        };
        words.get_mut(parts).into_iter().flatten().for_each(|part| *part = self.plain(*part));
        words
    }

    pub(super) fn composite(&self, ty: Word) -> Option<&Composite> {
        self.composites.get(&ty)
    }

    /// The type that a pointer leads to, as it is declared and as it is written now.
    pub(super) fn pointee(&self, pointer: Word) -> Option<(Word, Word)> {
        let (class, pointee) = *self.pointers.get(self.of_values.get(&pointer)?)?;
        Some((pointee, if self.counts_in(class) { pointee } else { self.plain(pointee) }))
    }
}
