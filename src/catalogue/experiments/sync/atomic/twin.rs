//! What the shader computes, one atomic at a time. Values are held as their bits.

use crate::experiments::common::choices::choices;

choices! {
    pub enum Op {
        Add = "add",
        AddByLoop = "add_by_loop",
        Min = "min",
        Max = "max",
        And = "and",
        Or = "or",
        Xor = "xor",
        Exchange = "exchange",
        CompareExchange = "compare_exchange",
    }
}

choices! {
    pub enum Type { U32 = "u32", I32 = "i32", U64 = "u64", I64 = "i64", F32 = "f32", F64 = "f64" }
}

impl Type {
    pub fn is_real(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }

    fn is_wide(self) -> bool {
        matches!(self, Self::U64 | Self::I64 | Self::F64)
    }
}

/// Added from one operand of an invocation to the next one.
const STEP: u32 = 0x9E37_79B1;

/// The words that a cell begins with, both halves of one of 64 bits.
pub fn first_word(op: Op, ty: Type) -> u32 {
    let is_signed = matches!(ty, Type::I32 | Type::I64);
    match op {
        // As a float: what is added and taken away again is far less than what would make sums inexact.
        Op::Add if ty == Type::F32 => 1024.0_f32.to_bits(),
        // The upper half of 1024.0. With the same bits in its lower half it is a little more, and a multiple of 2^-22.
        Op::Add if ty == Type::F64 => 0x4090_0000,
        Op::Min if is_signed => 0x7FFF_FFFF,
        Op::Max if is_signed => 0x8000_0000,
        Op::Min | Op::And => u32::MAX,
        Op::Add | Op::AddByLoop | Op::Max | Op::Or | Op::Xor | Op::Exchange | Op::CompareExchange => 0,
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Twin {
    pub op: Op,
    pub ty: Type,
    /// What makes the values of a cell that is compared.
    pub factor: u32,
}

impl Twin {
    pub fn words(&self) -> u64 {
        if self.ty.is_wide() { 2 } else { 1 }
    }

    pub fn first(&self) -> u64 {
        let word = u64::from(first_word(self.op, self.ty));
        if self.ty.is_wide() { (word << 32) | word } else { word }
    }

    /// The shader's `WORD`, by which weights are told.
    #[expect(clippy::cast_possible_truncation, reason = "both halves are meant")]
    pub fn word(&self, bits: u64) -> u32 {
        if self.ty.is_wide() { (bits as u32).wrapping_add(((bits >> 32) as u32).wrapping_mul(3)) } else { bits as u32 }
    }

    fn whole(&self, word: u32) -> u64 {
        let high = u64::from(word);
        if self.ty.is_wide() { (high << 32) | u64::from(word.wrapping_mul(0x5BD1_E995)) } else { high }
    }

    /// A value of the four that a compared cell goes through.
    fn phase(&self, term: u32, k: u32) -> u64 {
        self.whole((k.wrapping_add(term) & 3).wrapping_mul(self.factor))
    }

    /// The operand of an invocation's atomic number `k` on a cell.
    fn operand(&self, term: u32, cell: u64, k: u32) -> u64 {
        let word = term.wrapping_add(k.wrapping_mul(STEP));
        #[expect(clippy::cast_possible_truncation, reason = "cells are fewer than 2^32")]
        let own = (cell as u32).wrapping_mul(STEP).wrapping_add(1);
        match self.op {
            Op::Add if self.ty.is_real() => {
                let size = f64::from(1 + (term & 3));
                let signed = if k % 2 == 0 { size } else { -size };
                #[expect(clippy::cast_possible_truncation, reason = "it is a whole number, 4 at most")]
                let single = signed as f32;
                if self.ty.is_wide() { signed.to_bits() } else { single.to_bits().into() }
            }
            Op::And => self.whole(word) | self.whole(own),
            Op::Or => self.whole(word) & self.whole(own),
            Op::CompareExchange => self.phase(term, k.wrapping_add(1)),
            Op::Add | Op::AddByLoop | Op::Min | Op::Max | Op::Xor | Op::Exchange => self.whole(word),
        }
    }

    /// What a cell holds after an invocation's atomic number `k`.
    pub fn after(&self, old: u64, term: u32, cell: u64, k: u32) -> u64 {
        let operand = self.operand(term, cell, k);
        let [less, more] = if self.is_less(old, operand) { [old, operand] } else { [operand, old] };
        match self.op {
            Op::Add | Op::AddByLoop => self.sum(old, operand),
            Op::Min => less,
            Op::Max => more,
            Op::And => old & operand,
            Op::Or => old | operand,
            Op::Xor => old ^ operand,
            Op::CompareExchange if old != self.phase(term, k) => old,
            Op::Exchange | Op::CompareExchange => operand,
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "of 32 bits, the upper ones are zero")]
    fn sum(&self, a: u64, b: u64) -> u64 {
        match self.ty {
            Type::F32 => (f32::from_bits(a as u32) + f32::from_bits(b as u32)).to_bits().into(),
            Type::F64 => (f64::from_bits(a) + f64::from_bits(b)).to_bits(),
            Type::U64 | Type::I64 => a.wrapping_add(b),
            Type::U32 | Type::I32 => (a as u32).wrapping_add(b as u32).into(),
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "of 32 bits, the upper ones are zero")]
    fn is_less(&self, a: u64, b: u64) -> bool {
        match self.ty {
            // With its sign turned, the smallest comes first.
            Type::I32 => (a as u32 ^ (1 << 31)) < (b as u32 ^ (1 << 31)),
            Type::I64 => (a ^ (1 << 63)) < (b ^ (1 << 63)),
            Type::U32 | Type::U64 | Type::F32 | Type::F64 => a < b,
        }
    }

    /// What a cell holds after so many passes, where one pass alone leaves `once` of what it began with, in whatever order its
    /// atomics came; nothing where that depends on the order.
    pub fn after_passes(&self, once: u64, passes: u32, has_others: bool) -> Option<u64> {
        match self.op {
            Op::Add if self.ty.is_real() => Some(self.first()),
            Op::Add | Op::AddByLoop => {
                let all = once.wrapping_mul(passes.into());
                Some(if self.ty.is_wide() { all } else { all & u64::from(u32::MAX) })
            }
            Op::Xor => Some(if passes % 2 == 1 { once } else { self.first() }),
            Op::Exchange | Op::CompareExchange => (!has_others).then_some(once),
            Op::Min | Op::Max | Op::And | Op::Or => Some(once),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_go_on_from_where_the_last_one_stopped() {
        let pairs = Op::ALL.iter().flat_map(|op| Type::ALL.iter().map(move |ty| (*op, *ty)));
        for (op, ty) in pairs.filter(|(op, ty)| *op == Op::Add || !ty.is_real()) {
            let twin = Twin { op, ty, factor: 0x1234_5677 };
            let pass = |start: u64| (0..16).fold(start, |cell, k| twin.after(cell, 77, 3, k));
            let once = pass(twin.first());
            let three = pass(pass(once));
            assert_eq!(twin.after_passes(once, 1, false), Some(once), "{op:?} {ty:?}");
            assert_eq!(twin.after_passes(once, 3, false), Some(three), "{op:?} {ty:?}");
        }
    }

    #[test]
    fn order_does_not_matter_where_it_is_not_said_to() {
        for (op, ty) in Op::ALL[..6].iter().flat_map(|op| Type::ALL[..4].iter().map(move |ty| (*op, *ty))) {
            let twin = Twin { op, ty, factor: 1 };
            let run = |terms: [u32; 2]| {
                let all = terms.into_iter().flat_map(|term| (0..8).map(move |k| (term, k)));
                all.fold(twin.first(), |cell, (term, k)| twin.after(cell, term, 3, k))
            };
            assert_eq!(run([5, 99]), run([99, 5]), "{op:?} {ty:?}");
            assert_ne!(run([5, 99]), twin.first(), "{op:?} {ty:?}");
        }
    }

    #[test]
    fn signs_count_where_there_are_some() {
        let is_less = |ty, a, b| Twin { op: Op::Min, ty, factor: 1 }.is_less(a, b);
        assert!(is_less(Type::U32, 1, 0x8000_0000) && is_less(Type::I32, 0x8000_0000, 1));
        assert!(is_less(Type::U64, 1, 1 << 63) && is_less(Type::I64, 1 << 63, 1));
    }

    /// A compared cell goes through four values, each only from the one before.
    #[test]
    fn a_compared_cell_goes_round() {
        let twin = Twin { op: Op::CompareExchange, ty: Type::U32, factor: 7 };
        let walk = |term| {
            let step = |cell: &mut u64, k| {
                *cell = twin.after(*cell, term, 0, k);
                Some(*cell)
            };
            (0..5).scan(0, step).collect::<Vec<u64>>()
        };
        assert_eq!(walk(0), [7, 14, 21, 0, 7]);
        assert_eq!(walk(3), [0, 7, 14, 21, 0], "it waits for its value");
        assert_eq!(walk(2), [0, 0, 7, 14, 21]);
    }
}
