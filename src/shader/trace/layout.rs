//! How what a pointer leads to lies in memory.
//!
//! A type with offsets and strides lies as they say. One without, as in Workgroup memory, lies as its driver likes: then the natural
//! layout is assumed, in which each value lies at the next multiple of its alignment (std430, `bool` as 32 bits).

use std::collections::{HashMap, HashSet};

use rspirv::dr::{Block, Function, Module};
use rspirv::spirv::Word;

use super::loops::Loops;
use super::{NaturalArray, Run};
use crate::shader::reflect::SpecValues;
use crate::shader::reflect::constants::{Constants, Values};
use crate::shader::reflect::flow::End;
use crate::shader::reflect::index::Index;
use crate::shader::reflect::types::{Layout, TypeNode, Types};

/// The most pieces that a value may have which is read or written at once.
const MOST_RUNS: usize = 1 << 12;

/// Most parts of a value that are looked at. Those that touch each other are one piece, so the pieces alone don't bound the work.
const MOST_PARTS: u32 = 1 << 16;

/// Types nest no deeper in a valid module; one that isn't may hold itself.
const DEEPEST: u32 = 255;

pub(super) struct Layouts {
    types: Types,
    constants: Constants,
    values: Values,
    explicit: HashMap<Word, u64>,
    natural: HashMap<Word, Layout>,
}

/// What a pointer leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) ty: Word,
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// As its type says.
    Plain,
    /// A member of a struct, which says how the matrices in it lie.
    Matrices { stride: u64, are_row_major: bool },
    /// A vector whose components lie so many bytes apart: the column of a matrix of rows.
    Apart { stride: u64 },
}

/// How far an index leads into a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stride {
    /// To a member, which has its place.
    Member(u64),
    /// To an element: so many bytes for each before it.
    Element(u64),
}

impl Place {
    pub(super) fn of(ty: Word) -> Self {
        Self { ty, form: Form::Plain }
    }
}

impl Layouts {
    pub(super) fn of(module: &Module, values: &SpecValues) -> Self {
        let index = Index::of(module);
        let (mut types, mut constants) = (Types::default(), Constants::default());
        for instruction in &module.types_global_values {
            types.note(instruction, &index);
            constants.note(instruction, &index);
        }
        let values = constants.evaluate(&types, values);
        let (explicit, natural) = (types.explicit(&values), types.std430(&values));
        Self { types, constants, values, explicit, natural }
    }

    pub(super) fn node(&self, ty: Word) -> Option<&TypeNode> {
        self.types.get(ty)
    }

    /// What control flow of a function comes to.
    pub(super) fn loops(&self, function: &Function) -> Loops {
        Loops::taken(function, &self.types, &self.constants, &self.values)
    }

    /// From which block to which one control flow of a function goes.
    pub(super) fn edges(&self, function: &Function) -> HashSet<(Word, Word)> {
        let of = |block: &Block| {
            let label = block.label.as_ref().and_then(|label| label.result_id).unwrap_or_default();
            End::of(block, &self.types, &self.constants).targets(&self.values).into_iter().map(move |to| (label, to))
        };
        function.blocks.iter().flat_map(of).collect()
    }

    pub(super) fn values(&self) -> &Values {
        &self.values
    }

    /// One step of an access chain; `index` is the index where it is a constant. Nothing where the type doesn't say how it lies.
    pub(super) fn step(&self, from: Place, index: Option<u64>) -> Option<(Stride, Place)> {
        match self.node(from.ty)? {
            TypeNode::Struct { members, .. } => {
                let at = usize::try_from(index?).ok()?;
                let member = members.get(at)?;
                let form = match member.matrix_stride {
                    Some(stride) => Form::Matrices { stride: stride.into(), are_row_major: member.row_major },
                    None => Form::Plain,
                };
                let offset = match member.offset {
                    Some(offset) => offset.into(),
                    None => self.natural_offset(members.iter().map(|member| member.ty), at)?,
                };
                Some((Stride::Member(offset), Place { ty: member.ty, form }))
            }
            TypeNode::Array { element, stride, .. } | TypeNode::RuntimeArray { element, stride } => {
                let stride = stride.map_or_else(|| self.natural_stride(*element), |stride| Some(stride.into()))?;
                Some((Stride::Element(stride), Place { ty: *element, form: from.form }))
            }
            TypeNode::Matrix { column, .. } => {
                let TypeNode::Vector { component, .. } = self.node(*column)? else { return None };
                Some(match from.form {
                    Form::Matrices { stride, are_row_major: true } => {
                        let bytes = self.types.scalar(*component)?.bytes();
                        (Stride::Element(bytes), Place { ty: *column, form: Form::Apart { stride } })
                    }
                    Form::Matrices { stride, .. } => (Stride::Element(stride), Place::of(*column)),
                    _ => (Stride::Element(self.natural_stride(*column)?), Place::of(*column)),
                })
            }
            TypeNode::Vector { component, .. } => {
                let stride = match from.form {
                    Form::Apart { stride } => stride,
                    _ => self.types.scalar(*component)?.bytes(),
                };
                Some((Stride::Element(stride), Place::of(*component)))
            }
            _ => None,
        }
    }

    fn natural_offset(&self, members: impl Iterator<Item = Word>, at: usize) -> Option<u64> {
        let mut end = 0;
        for (i, member) in members.enumerate() {
            let layout = self.natural.get(&member)?;
            if i == at {
                return end_aligned(end, *layout);
            }
            end = layout.after(end)?;
        }
        None
    }

    /// How far the elements of an array lie apart whose type doesn't say it.
    pub(super) fn natural_stride(&self, element: Word) -> Option<u64> {
        let layout = self.natural.get(&element)?;
        layout.size.checked_next_multiple_of(layout.align)
    }

    /// How large values of a type are, by its own offsets where it has them; nothing of those without an end.
    pub(super) fn size(&self, ty: Word) -> Option<u64> {
        match self.node(ty)? {
            TypeNode::Struct { block: true, .. } => self.explicit.get(&ty).copied(),
            _ => self.natural.get(&ty).map(|layout| layout.size),
        }
    }

    /// An array whose layout is the driver's, by its lengths and its elements.
    pub(super) fn natural_array(&self, mut ty: Word) -> Option<NaturalArray> {
        let mut lengths = Vec::new();
        while let TypeNode::Array { element, length, stride: None } = self.node(ty)? {
            lengths.push(self.values.length(*length)?);
            ty = *element;
        }
        let element_bytes = self.natural_stride(ty)?;
        (!lengths.is_empty()).then_some(NaturalArray { lengths, element_bytes })
    }

    /// The pieces of a value that is read or written whole, in order, those that touch each other as one. Nothing where the value is of
    /// a kind that has no size, or has too many.
    pub(super) fn runs(&self, of: Place) -> Option<Vec<Run>> {
        let mut runs = Vec::new();
        self.add_runs(of, 0, &mut Left { parts: MOST_PARTS, depth: DEEPEST }, &mut runs)?;
        Some(runs)
    }

    fn add_runs(&self, of: Place, at: u64, left: &mut Left, runs: &mut Vec<Run>) -> Option<()> {
        left.parts = left.parts.checked_sub(1)?;
        let count = match self.node(of.ty)? {
            TypeNode::Scalar(scalar) => return add(Run { offset: at, bytes: scalar.bytes() }, runs),
            TypeNode::Pointer { .. } => return add(Run { offset: at, bytes: *self.explicit.get(&of.ty)? }, runs),
            TypeNode::Struct { members, .. } => members.len() as u64,
            TypeNode::Array { length, .. } => self.values.length(*length)?,
            TypeNode::Matrix { count, .. } | TypeNode::Vector { count, .. } => (*count).into(),
            _ => return None,
        };
        left.depth = left.depth.checked_sub(1)?;
        for i in 0..count {
            let (stride, part) = self.step(of, Some(i))?;
            let offset = match stride {
                Stride::Member(offset) => offset,
                Stride::Element(stride) => i.checked_mul(stride)?,
            };
            self.add_runs(part, at.checked_add(offset)?, left, runs)?;
        }
        left.depth += 1;
        Some(())
    }
}

/// What may still be looked at of a value.
struct Left {
    parts: u32,
    depth: u32,
}

fn end_aligned(end: u64, layout: Layout) -> Option<u64> {
    end.checked_next_multiple_of(layout.align)
}

fn add(run: Run, runs: &mut Vec<Run>) -> Option<()> {
    match runs.last_mut() {
        Some(last) if last.offset + last.bytes == run.offset => last.bytes += run.bytes,
        _ => runs.push(run),
    }
    (runs.len() <= MOST_RUNS).then_some(())
}
