//! What the shader computes, one atomic at a time. Values are held as their bits.

/// The operations, as the axis names them.
pub const OPERATIONS: &[&str] = &["add", "min", "max", "and", "or", "xor", "exchange", "compare_exchange"];

pub const TYPES: &[&str] = &["u32", "i32", "u64", "i64", "f32", "f64"];

/// Added from one operand of an invocation to the next one.
const STEP: u32 = 0x9E37_79B1;

/// The words that a cell begins with, both halves of one of 64 bits.
pub fn first_word(op: &str, ty: &str) -> u32 {
    let is_signed = ty.starts_with('i');
    match op {
        // As a float: what is added and taken away again is far less than what would make sums inexact.
        "add" if ty == "f32" => 1024.0_f32.to_bits(),
        // The upper half of 1024.0. With the same bits in its lower half it is a little more, and a multiple of 2^-22.
        "add" if ty == "f64" => 0x4090_0000,
        "min" if is_signed => 0x7FFF_FFFF,
        "max" if is_signed => 0x8000_0000,
        "min" | "and" => u32::MAX,
        _ => 0,
    }
}

/// One operation on values of one type.
#[derive(Clone, Copy, Debug)]
pub struct Twin<'a> {
    pub op: &'a str,
    pub ty: &'a str,
    /// What makes the values of a cell that is compared.
    pub factor: u32,
}

impl Twin<'_> {
    /// Words of a value.
    pub fn words(&self) -> u64 {
        if self.ty.ends_with("64") { 2 } else { 1 }
    }

    /// What a cell begins with.
    pub fn first(&self) -> u64 {
        let word = u64::from(first_word(self.op, self.ty));
        if self.words() == 2 { (word << 32) | word } else { word }
    }

    /// The shader's `WORD`, by which weights are told.
    #[expect(clippy::cast_possible_truncation, reason = "both halves are meant")]
    pub fn word(&self, bits: u64) -> u32 {
        if self.words() == 2 { (bits as u32).wrapping_add(((bits >> 32) as u32).wrapping_mul(3)) } else { bits as u32 }
    }

    fn is_real(&self) -> bool {
        self.ty.starts_with('f')
    }

    fn whole(&self, word: u32) -> u64 {
        let high = u64::from(word);
        if self.words() == 2 { (high << 32) | u64::from(word.wrapping_mul(0x5BD1_E995)) } else { high }
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
            "add" if self.is_real() => {
                let size = f64::from(1 + (term & 3));
                let signed = if k % 2 == 0 { size } else { -size };
                #[expect(clippy::cast_possible_truncation, reason = "it is a whole number, 4 at most")]
                let single = signed as f32;
                if self.words() == 2 { signed.to_bits() } else { single.to_bits().into() }
            }
            "and" => self.whole(word) | self.whole(own),
            "or" => self.whole(word) & self.whole(own),
            "compare_exchange" => self.phase(term, k.wrapping_add(1)),
            _ => self.whole(word),
        }
    }

    /// What a cell holds after an invocation's atomic number `k`.
    pub fn after(&self, old: u64, term: u32, cell: u64, k: u32) -> u64 {
        let operand = self.operand(term, cell, k);
        match self.op {
            "add" => self.sum(old, operand),
            "min" => {
                if self.is_less(old, operand) {
                    old
                } else {
                    operand
                }
            }
            "max" => {
                if self.is_less(old, operand) {
                    operand
                } else {
                    old
                }
            }
            "and" => old & operand,
            "or" => old | operand,
            "xor" => old ^ operand,
            "exchange" => operand,
            _ => {
                if old == self.phase(term, k) {
                    operand
                } else {
                    old
                }
            }
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "of 32 bits, the upper ones are zero")]
    fn sum(&self, a: u64, b: u64) -> u64 {
        match self.ty {
            "f32" => (f32::from_bits(a as u32) + f32::from_bits(b as u32)).to_bits().into(),
            "f64" => (f64::from_bits(a) + f64::from_bits(b)).to_bits(),
            _ if self.words() == 2 => a.wrapping_add(b),
            _ => (a as u32).wrapping_add(b as u32).into(),
        }
    }

    #[expect(clippy::cast_possible_truncation, reason = "of 32 bits, the upper ones are zero")]
    fn is_less(&self, a: u64, b: u64) -> bool {
        match self.ty {
            // With its sign turned, the smallest comes first.
            "i32" => (a as u32 ^ (1 << 31)) < (b as u32 ^ (1 << 31)),
            "i64" => (a ^ (1 << 63)) < (b ^ (1 << 63)),
            _ => a < b,
        }
    }

    /// What a cell holds after so many passes, where one pass alone leaves `once` of what it began with, in whatever order its
    /// atomics came; nothing where that depends on the order.
    pub fn after_passes(&self, once: u64, passes: u32, has_others: bool) -> Option<u64> {
        match (self.op, self.ty) {
            ("add", "f32" | "f64") => Some(self.first()),
            ("add", _) => {
                let all = once.wrapping_mul(passes.into());
                Some(if self.words() == 2 { all } else { all & u64::from(u32::MAX) })
            }
            ("xor", _) => Some(if passes % 2 == 1 { once } else { self.first() }),
            ("exchange" | "compare_exchange", _) => (!has_others).then_some(once),
            _ => Some(once),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_go_on_from_where_the_last_one_stopped() {
        for (op, ty) in OPERATIONS.iter().flat_map(|op| TYPES.iter().map(move |ty| (*op, *ty))) {
            if ty.starts_with('f') && op != "add" {
                continue;
            }
            let twin = Twin { op, ty, factor: 0x1234_5677 };
            let pass = |start: u64| (0..16).fold(start, |cell, k| twin.after(cell, 77, 3, k));
            let once = pass(twin.first());
            let three = pass(pass(once));
            assert_eq!(twin.after_passes(once, 1, false), Some(once), "{op} {ty}");
            assert_eq!(twin.after_passes(once, 3, false), Some(three), "{op} {ty}");
        }
    }

    #[test]
    fn order_does_not_matter_where_it_is_not_said_to() {
        for (op, ty) in OPERATIONS[..6].iter().flat_map(|op| TYPES[..4].iter().map(move |ty| (*op, *ty))) {
            let twin = Twin { op, ty, factor: 1 };
            let run = |terms: [u32; 2]| {
                let all = terms.into_iter().flat_map(|term| (0..8).map(move |k| (term, k)));
                all.fold(twin.first(), |cell, (term, k)| twin.after(cell, term, 3, k))
            };
            assert_eq!(run([5, 99]), run([99, 5]), "{op} {ty}");
            assert_ne!(run([5, 99]), twin.first(), "{op} {ty}");
        }
    }

    #[test]
    fn signs_count_where_there_are_some() {
        let is_less = |ty, a, b| Twin { op: "min", ty, factor: 1 }.is_less(a, b);
        assert!(is_less("u32", 1, 0x8000_0000) && is_less("i32", 0x8000_0000, 1));
        assert!(is_less("u64", 1, 1 << 63) && is_less("i64", 1 << 63, 1));
    }

    /// A compared cell goes through four values, each only from the one before.
    #[test]
    fn a_compared_cell_goes_round() {
        let twin = Twin { op: "compare_exchange", ty: "u32", factor: 7 };
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
