//! Values on their way between memory whose layout counts and all else.

use rspirv::spirv::{Op, Word};

use super::load_and_store;
use super::types::{Composite, Types};
use crate::shader::words::{instruction, take_id};

/// From here on one instruction converts a value.
const FIRST_WITH_COPY_LOGICAL: u32 = 0x0001_0400;

/// The most instructions that conversions by parts may take together, and the deepest that parts may lie.
const MOST_PARTS: u32 = 1 << 16;
const DEEPEST: u32 = 255;

pub(super) struct Converter<'t> {
    types: &'t Types,
    version: u32,
    bound: u32,
    parts: u32,
}

type Done = Result<(), &'static str>;

impl<'t> Converter<'t> {
    pub(super) fn new(types: &'t Types, version: u32, bound: u32) -> Self {
        Self { types, version, bound, parts: 0 }
    }

    pub(super) fn bound(&self) -> u32 {
        self.bound
    }

    pub(super) fn load(&mut self, old: &[u32], out: &mut Vec<u32>) -> Done {
        let [head, ty, id, pointer, rest @ ..] = old else { return Err("it has a load without a pointer") };
        let is_kept = self.types.pointee(*pointer).is_some_and(|(_, written)| written == *ty);
        if !is_kept || self.types.twin(*ty).is_none() {
            out.extend([&[*head, self.types.plain(*ty), *id, *pointer], rest].concat());
            return Ok(());
        }
        let loaded = self.take_id()?;
        out.extend([&[*head, *ty, loaded, *pointer], rest].concat());
        self.convert(loaded, *ty, true, *id, 0, out)
    }

    pub(super) fn store(&mut self, old: &[u32], out: &mut Vec<u32>) -> Done {
        let [head, pointer, value, rest @ ..] = old else { return Err("it has a store without a value") };
        let kept = self.types.pointee(*pointer).map(|(_, written)| written).filter(|ty| self.types.twin(*ty).is_some());
        let Some(ty) = kept else {
            out.extend(old);
            return Ok(());
        };
        let stored = self.take_id()?;
        self.convert(*value, ty, false, stored, 0, out)?;
        out.extend([&[*head, *pointer, stored], rest].concat());
        Ok(())
    }

    pub(super) fn copy(&mut self, old: &[u32], out: &mut Vec<u32>) -> Done {
        let [_, to, from, rest @ ..] = old else { return Err("it has a copy without a source") };
        let (Some((_, target)), Some((declared, source))) = (self.types.pointee(*to), self.types.pointee(*from)) else {
            return Err("it copies by what is no pointer");
        };
        if target == source {
            out.extend(old);
            return Ok(());
        }
        // They may be of the load, of the store, or of both.
        if !rest.is_empty() {
            return Err("it copies memory with operands that say how (OpCopyMemory)");
        }
        let value = self.take_id()?;
        let [load, store] = load_and_store(declared, value, *from, *to);
        self.load(&load, out)?;
        self.store(&store, out)
    }

    /// Makes the value `id` of one of a type and its twin from a value of the other.
    fn convert(&mut self, value: Word, ty: Word, is_to_plain: bool, id: Word, depth: u32, out: &mut Vec<u32>) -> Done {
        let types = self.types;
        let side = |ty: Word, is_plain: bool| if is_plain { types.plain(ty) } else { ty };
        let result = side(ty, is_to_plain);
        if self.version >= FIRST_WITH_COPY_LOGICAL {
            out.extend(instruction(Op::CopyLogical, &[result, id, value]));
            return Ok(());
        }
        let parts: Vec<Word> = match types.composite(ty).ok_or("it has a value that is no composite")? {
            Composite::Struct(members) => members.clone(),
            Composite::Array(_, None) => {
                return Err(
                    "an array whose length is a specialization constant is read or written whole; for that it must be SPIR-V \
                            1.4 or later",
                );
            }
            Composite::Array(element, Some(length)) => {
                self.spend(*length)?;
                vec![*element; *length as usize]
            }
        };
        self.spend(u32::try_from(parts.len()).unwrap_or(u32::MAX))?;
        if depth > DEEPEST || parts.len() > usize::from(u16::MAX) - 3 {
            return Err(TOO_LARGE);
        }
        let mut converted = vec![result, id];
        for (at, part) in (0..).zip(parts) {
            let extracted = self.take_id()?;
            out.extend(instruction(Op::CompositeExtract, &[side(part, !is_to_plain), extracted, value, at]));
            let made = if types.twin(part).is_some() {
                let made = self.take_id()?;
                self.convert(extracted, part, is_to_plain, made, depth + 1, out)?;
                made
            } else {
                extracted
            };
            converted.push(made);
        }
        out.extend(instruction(Op::CompositeConstruct, &converted));
        Ok(())
    }

    fn spend(&mut self, parts: u32) -> Done {
        self.parts = self.parts.saturating_add(parts);
        if self.parts > MOST_PARTS { Err(TOO_LARGE) } else { Ok(()) }
    }

    fn take_id(&mut self) -> Result<Word, &'static str> {
        take_id(&mut self.bound).ok_or("it has no id left")
    }
}

const TOO_LARGE: &str = "a large array is read or written whole; for that it must be SPIR-V 1.4 or later";
