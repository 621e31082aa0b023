//! What pointers lead to: the variable, the element of an array of descriptors, and the offset in bytes, as values beside each pointer.

use rspirv::dr::{Function, Instruction, Operand};
use rspirv::spirv::{Decoration, Op, StorageClass, Word};

use super::layout::{Place, Stride};
use super::writer::Writer;
use super::{Root, Space, UNKNOWN_ROOT, Unfollowed};
use crate::shader::edit::Step;
use crate::shader::loader::id;
use crate::shader::reflect::types::TypeNode;

#[derive(Clone, Debug)]
pub(super) enum Shadow {
    Followed(Followed),
    /// It is the address of a buffer's memory itself.
    Address(Place, Name),
    Unfollowed(Unfollowed),
}

#[derive(Clone, Debug)]
pub(super) struct Followed {
    pub(super) root: RootIs,
    /// The element of an array of descriptors.
    pub(super) element: Option<Word>,
    pub(super) offset: Word,
    pub(super) place: Place,
    pub(super) name: Name,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RootIs {
    Known(usize),
    Chosen(Word),
}

/// The steps by which an access came about, for its name.
#[derive(Clone, Debug, Default)]
pub(super) struct Name {
    pub(super) variable: Word,
    pub(super) ty: Word,
    pub(super) path: Vec<Step>,
}

/// Words that stand beside a pointer that is chosen or given to a function: its variable, its element, and its offset.
pub(super) type Beside = [Word; 3];

/// Memory whose accesses are recorded.
pub(super) fn is_recorded(class: StorageClass) -> bool {
    use StorageClass::{PhysicalStorageBuffer, PushConstant, StorageBuffer, Uniform, Workgroup};
    matches!(class, StorageBuffer | Uniform | PushConstant | Workgroup | PhysicalStorageBuffer | StorageClass::Image)
}

impl Writer {
    /// The storage class of the memory that a pointer leads to.
    pub(super) fn class_of(&self, pointer: Word) -> Option<StorageClass> {
        self.edit.type_of.get(&pointer).and_then(|ty| self.edit.pointee(*ty)).map(|(class, _)| class)
    }

    /// Whether other words have to stand beside a pointer of this type.
    fn is_shadowed(&self, pointer_type: Word) -> bool {
        let class = self.edit.pointee(pointer_type).map(|(class, _)| class);
        class.is_some_and(|class| {
            is_recorded(class) && !matches!(class, StorageClass::PhysicalStorageBuffer | StorageClass::Image)
        })
    }

    pub(super) fn note_variables(&mut self) {
        for instruction in self.edit.module.types_global_values.clone() {
            if instruction.class.opcode == Op::Variable {
                self.note_variable(&instruction);
            }
        }
    }

    fn note_variable(&mut self, instruction: &Instruction) {
        let (Some(variable), Some(pointer)) = (instruction.result_id, instruction.result_type) else { return };
        let Some((class, ty)) = self.edit.pointee(pointer).filter(|_| self.is_shadowed(pointer)) else { return };
        let names = &self.edit.names;
        let at = |decoration| names.argument(variable, decoration).unwrap_or(0);
        let (set, binding) = (at(Decoration::DescriptorSet), at(Decoration::Binding));
        // A descriptor may be an array of blocks.
        let (mut block, mut is_array) = (ty, false);
        while let (true, Some(TypeNode::Array { element, .. } | TypeNode::RuntimeArray { element, .. })) =
            (matches!(class, StorageClass::Uniform | StorageClass::StorageBuffer), self.layouts.node(block))
        {
            (block, is_array) = (*element, true);
        }
        let is_block = matches!(self.layouts.node(ty), Some(TypeNode::Struct { block: true, .. }));
        let space = match class {
            StorageClass::Workgroup => Space::Shared,
            StorageClass::PushConstant => Space::PushConstants,
            // Before SPIR-V 1.3, storage buffers are uniforms with another decoration.
            StorageClass::Uniform if !names.has(block, Decoration::BufferBlock) => Space::Uniform { set, binding },
            _ => Space::Storage { set, binding },
        };
        let name = match names.name(variable) {
            "" => names.name(block),
            name => name,
        };
        let is_buffer = matches!(space, Space::Storage { .. } | Space::Uniform { .. });
        let bytes = if is_buffer { None } else { self.layouts.size(ty) };
        let is_natural = class == StorageClass::Workgroup && !is_block;
        let array = if is_natural { self.layouts.natural_array(ty) } else { None };
        // Its class comes first, and then what it holds.
        let has_initial = instruction.operands.len() > 1;
        let root = Root { space, name: name.to_owned(), is_natural, bytes, has_initial, array };
        // What is declared several times is one memory; so are all blocks in a workgroup's.
        let is_same = |known: &Root| known.space == space && !root.is_natural && !known.is_natural;
        let at = self.roots.iter().position(is_same).unwrap_or_else(|| {
            self.roots.push(root.clone());
            self.roots.len() - 1
        });
        let followed = Followed {
            root: RootIs::Known(at),
            element: is_array.then_some(self.edit.zero),
            offset: self.edit.zero,
            place: Place::of(ty),
            name: Name { variable, ty, path: Vec::new() },
        };
        self.shadows.insert(variable, Shadow::Followed(followed));
    }

    /// What a pointer leads to; those of memory that nobody records have none.
    pub(super) fn shadow(&self, pointer: Word) -> Option<Shadow> {
        let ty = *self.edit.type_of.get(&pointer)?;
        let (class, pointee) = self.edit.pointee(ty)?;
        if !is_recorded(class) {
            return None;
        }
        Some(match (self.shadows.get(&pointer), class) {
            (Some(shadow), _) => shadow.clone(),
            (None, StorageClass::Image) => Shadow::Unfollowed(Unfollowed::Image),
            (None, StorageClass::PhysicalStorageBuffer) => self.by_address(pointee),
            (None, _) => Shadow::Unfollowed(Unfollowed::Pointer),
        })
    }

    fn by_address(&self, pointee: Word) -> Shadow {
        match self.layouts.node(pointee) {
            Some(TypeNode::Matrix { .. }) => Shadow::Unfollowed(Unfollowed::Matrix),
            _ => Shadow::Address(Place::of(pointee), Name { variable: 0, ty: pointee, path: Vec::new() }),
        }
    }

    /// Gives the functions that are called words beside their pointers, and notes those as what the pointers lead to.
    pub(super) fn extend_parameters(&mut self, function: &mut Function) {
        let parameters: Vec<(Word, Word)> =
            function.parameters.iter().filter_map(|parameter| Some((parameter.result_id?, parameter.result_type?))).collect();
        let mut added = Vec::new();
        for (parameter, ty) in parameters {
            if !self.is_shadowed(ty) {
                continue;
            }
            let beside: Beside = std::array::from_fn(|_| self.edit.take_id());
            self.note_chosen(parameter, ty, beside);
            added.extend(beside);
        }
        if added.is_empty() {
            return;
        }
        let uint = self.edit.uint;
        let new = added.iter().map(|id| Instruction::new(Op::FunctionParameter, Some(uint), Some(*id), Vec::new()));
        function.parameters.extend(new);
        self.edit.type_of.extend(added.into_iter().map(|id| (id, uint)));
        let Some(def) = &mut function.def else { return };
        let Some(result) = def.result_type else { return };
        let types = function.parameters.iter().filter_map(|parameter| parameter.result_type).map(Operand::IdRef);
        let ty = [Operand::IdRef(result)].into_iter().chain(types).collect::<Vec<_>>();
        let ty = self.edit.find_type(Op::TypeFunction, &ty);
        if let Some(operand) = def.operands.get_mut(1) {
            *operand = Operand::IdRef(ty);
        }
    }

    fn note_chosen(&mut self, pointer: Word, ty: Word, [root, element, offset]: Beside) {
        let Some((class, pointee)) = self.edit.pointee(ty) else { return };
        let is_matrix = matches!(self.layouts.node(pointee), Some(TypeNode::Matrix { .. }));
        let shadow = if is_matrix && class != StorageClass::Workgroup {
            Shadow::Unfollowed(Unfollowed::Matrix)
        } else {
            Shadow::Followed(Followed {
                root: RootIs::Chosen(root),
                element: Some(element),
                offset,
                place: Place::of(pointee),
                name: Name { variable: pointer, ty: pointee, path: Vec::new() },
            })
        };
        self.shadows.insert(pointer, shadow);
    }

    /// The words beside a pointer. Of one that comes later in its function, they are kept for it.
    fn beside(&mut self, pointer: Word) -> Beside {
        match self.shadows.get(&pointer) {
            Some(Shadow::Followed(followed)) => self.words_of(&followed.clone()),
            Some(_) => self.nothing_beside(),
            None if self.results_left.contains(&pointer) => {
                let edit = &mut self.edit;
                *self.reserved.entry(pointer).or_insert_with(|| std::array::from_fn(|_| edit.take_id()))
            }
            None => self.nothing_beside(),
        }
    }

    fn nothing_beside(&mut self) -> Beside {
        [self.edit.constant(UNKNOWN_ROOT), self.edit.zero, self.edit.zero]
    }

    fn words_of(&mut self, followed: &Followed) -> Beside {
        let root = match followed.root {
            RootIs::Known(root) => self.edit.constant(u32::try_from(root).unwrap_or(UNKNOWN_ROOT)),
            RootIs::Chosen(root) => root,
        };
        [root, followed.element.unwrap_or(self.edit.zero), followed.offset]
    }

    /// Follows an instruction that makes a pointer, behind which its words are computed.
    pub(super) fn follow(&mut self, instruction: &Instruction, code: &mut Vec<Instruction>) {
        let (Some(result), Some(ty)) = (instruction.result_id, instruction.result_type) else { return };
        let Some((class, _)) = self.edit.pointee(ty).filter(|(class, _)| is_recorded(*class)) else { return };
        self.results_left.remove(&result);
        match instruction.class.opcode {
            Op::AccessChain | Op::InBoundsAccessChain | Op::PtrAccessChain | Op::InBoundsPtrAccessChain => {
                if let Some(shadow) = self.chain(instruction, class, code) {
                    self.shadows.insert(result, shadow);
                }
            }
            Op::CopyObject => {
                let from = instruction.operands.first().and_then(id).and_then(|from| self.shadow(from));
                from.into_iter().for_each(|shadow| drop(self.shadows.insert(result, shadow)));
            }
            Op::Select if self.is_shadowed(ty) => {
                if let [condition, yes, no] = instruction.operands.iter().filter_map(id).collect::<Vec<_>>()[..] {
                    let (yes, no) = (self.beside(yes), self.beside(no));
                    let uint = self.edit.uint;
                    let beside = std::array::from_fn(|i| self.edit.emit(code, Op::Select, uint, &[condition, yes[i], no[i]]));
                    self.note_chosen(result, ty, beside);
                }
            }
            Op::Phi if self.is_shadowed(ty) => {
                let incoming: Vec<Word> = instruction.operands.iter().filter_map(id).collect();
                let mut operands: [Vec<Word>; 3] = Default::default();
                for pair in incoming.chunks_exact(2) {
                    let beside = if pair[0] == result { None } else { Some(self.beside(pair[0])) };
                    for (i, operands) in operands.iter_mut().enumerate() {
                        operands.extend([beside.map_or(result, |beside| beside[i]), pair[1]]);
                    }
                }
                let ids: Beside = self.reserved.remove(&result).unwrap_or_else(|| std::array::from_fn(|_| self.edit.take_id()));
                let uint = self.edit.uint;
                for (id, operands) in ids.iter().zip(operands) {
                    let operands =
                        operands.into_iter().map(|operand| Operand::IdRef(if operand == result { *id } else { operand }));
                    code.push(Instruction::new(Op::Phi, Some(uint), Some(*id), operands.collect()));
                    self.edit.type_of.insert(*id, uint);
                }
                self.note_chosen(result, ty, ids);
            }
            _ => {}
        }
        // Phis before this one wait for its words.
        if let Some(reserved) = self.reserved.remove(&result) {
            let words = match self.shadows.get(&result) {
                Some(Shadow::Followed(followed)) => self.words_of(&followed.clone()),
                _ => self.nothing_beside(),
            };
            let uint = self.edit.uint;
            for (id, word) in reserved.into_iter().zip(words) {
                code.push(Instruction::new(Op::CopyObject, Some(uint), Some(id), vec![Operand::IdRef(word)]));
            }
        }
    }

    fn chain(&mut self, chain: &Instruction, class: StorageClass, code: &mut Vec<Instruction>) -> Option<Shadow> {
        let operands: Vec<Word> = chain.operands.iter().filter_map(id).collect();
        let (base, indexes) = operands.split_first()?;
        let is_element = matches!(chain.class.opcode, Op::PtrAccessChain | Op::InBoundsPtrAccessChain);
        let (mut place, mut name, followed) = match self.shadow(*base)? {
            Shadow::Followed(followed) => (followed.place, followed.name.clone(), Some(followed)),
            Shadow::Address(place, name) => (place, name, None),
            unfollowed @ Shadow::Unfollowed(_) => return Some(unfollowed),
        };
        let (mut constant, mut sum, mut element) = (0_u32, None, followed.as_ref().and_then(|followed| followed.element));
        let mut indexes = indexes.iter().copied();
        if is_element {
            let index = indexes.next()?;
            let ty = *self.edit.type_of.get(base)?;
            let stride = self.edit.names.argument(ty, Decoration::ArrayStride).map(u64::from);
            let stride = stride.or_else(|| self.layouts.natural_stride(place.ty))?;
            // Such an index may be less than zero, and its product wraps around as the sum does.
            self.add(index, stride, false, (&mut constant, &mut sum), code)?;
        }
        // Steps within an array of descriptors choose one of them.
        let mut is_descriptor = followed.as_ref().is_some_and(|followed| {
            let is_within = followed.name.path.iter().any(|step| matches!(step, Step::Member(_)));
            matches!(followed.root, RootIs::Known(_)) && !is_within && self.is_of_descriptors(place.ty, class)
        });
        for index in indexes {
            let constant_index = self.layouts.values().integer(index);
            if is_descriptor {
                element = Some(self.choose(place, element, index, code)?);
                let Some(TypeNode::Array { element: of, .. } | TypeNode::RuntimeArray { element: of, .. }) =
                    self.layouts.node(place.ty)
                else {
                    return None;
                };
                place = Place::of(*of);
                name.path.push(Step::Element);
                is_descriptor = self.is_of_descriptors(place.ty, class);
                continue;
            }
            let Some((stride, next)) = self.layouts.step(place, constant_index) else {
                return Some(Shadow::Unfollowed(Unfollowed::Pieces));
            };
            match stride {
                Stride::Member(offset) => {
                    constant = constant.wrapping_add(u32::try_from(offset).unwrap_or(u32::MAX));
                    name.path.push(Step::Member(u32::try_from(constant_index?).unwrap_or(u32::MAX)));
                }
                Stride::Element(stride) => {
                    self.add(index, stride, true, (&mut constant, &mut sum), code)?;
                    name.path.push(Step::Element);
                }
            }
            place = next;
        }
        let Some(followed) = followed else { return Some(Shadow::Address(place, name)) };
        let mut offset = followed.offset;
        // Of a pointer that may go backwards, sums wrap around.
        let has_end = sum.is_some() && !is_element;
        let constant = (constant != 0).then(|| self.edit.constant(constant));
        for part in [constant, sum].into_iter().flatten() {
            offset = match offset == self.edit.zero {
                true => part,
                false if has_end => self.sum(offset, part, code),
                false => self.edit.emit(code, Op::IAdd, self.edit.uint, &[offset, part]),
            };
        }
        Some(Shadow::Followed(Followed { root: followed.root, element, offset, place, name }))
    }

    fn is_of_descriptors(&self, ty: Word, class: StorageClass) -> bool {
        matches!(class, StorageClass::Uniform | StorageClass::StorageBuffer)
            && matches!(self.layouts.node(ty), Some(TypeNode::Array { .. } | TypeNode::RuntimeArray { .. }))
    }

    /// The element of an array of descriptors, which may itself be of arrays.
    fn choose(&mut self, place: Place, element: Option<Word>, index: Word, code: &mut Vec<Instruction>) -> Option<Word> {
        let index = self.edit.as_uint(index, code)?;
        let before = element.filter(|element| *element != self.edit.zero);
        let Some(before) = before else { return Some(index) };
        let Some(TypeNode::Array { length, .. }) = self.layouts.node(place.ty) else { return Some(index) };
        let length = u32::try_from(self.layouts.values().length(*length)?).ok()?;
        let length = self.edit.constant(length);
        let uint = self.edit.uint;
        let rows = self.edit.emit(code, Op::IMul, uint, &[before, length]);
        Some(self.edit.emit(code, Op::IAdd, uint, &[rows, index]))
    }

    /// Adds an index's share to a sum of constants and one of words.
    fn add(
        &mut self,
        index: Word,
        stride: u64,
        is_kept_within: bool,
        (constant, sum): (&mut u32, &mut Option<Word>),
        code: &mut Vec<Instruction>,
    ) -> Option<()> {
        let stride = u32::try_from(stride).ok()?;
        if let Some(index) = self.edit.literal(index).filter(|index| index.checked_mul(stride).is_some()) {
            *constant = constant.wrapping_add(index * stride);
            return Some(());
        }
        let uint = self.edit.uint;
        let mut share = self.edit.as_uint(index, code)?;
        if stride > 1 {
            if is_kept_within {
                // What is beyond all buffers stays there: its product must not wrap around into one.
                let most = self.edit.constant(u32::MAX / stride);
                let is_beyond = self.edit.emit(code, Op::UGreaterThan, self.edit.bool, &[share, most]);
                share = self.edit.emit(code, Op::Select, uint, &[is_beyond, most, share]);
            }
            let stride = self.edit.constant(stride);
            share = self.edit.emit(code, Op::IMul, uint, &[share, stride]);
        }
        *sum = Some(match *sum {
            Some(sum) if is_kept_within => self.sum(sum, share, code),
            Some(sum) => self.edit.emit(code, Op::IAdd, uint, &[sum, share]),
            None => share,
        });
        Some(())
    }

    /// A sum that stays beyond all buffers where it is there: it must not wrap around into one.
    fn sum(&mut self, one: Word, other: Word, code: &mut Vec<Instruction>) -> Word {
        let (uint, bool) = (self.edit.uint, self.edit.bool);
        let sum = self.edit.emit(code, Op::IAdd, uint, &[one, other]);
        let is_beyond = self.edit.emit(code, Op::ULessThan, bool, &[sum, one]);
        let most = self.edit.constant(u32::MAX);
        self.edit.emit(code, Op::Select, uint, &[is_beyond, most, sum])
    }

    /// The arguments of a call, with the words beside those that are pointers.
    pub(super) fn extend_arguments(&mut self, call: &mut Instruction) {
        let arguments: Vec<Word> = call.operands.iter().skip(1).filter_map(id).collect();
        for argument in arguments {
            if self.edit.type_of.get(&argument).is_some_and(|ty| self.is_shadowed(*ty)) {
                let beside = self.beside(argument);
                call.operands.extend(beside.map(Operand::IdRef));
            }
        }
    }
}
