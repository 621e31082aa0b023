//! The product that `algo/matmul` computes: its sizes, its data, its twin, and what must be true of its result.

use half::f16;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::experiments::common::components::{Kind, kind};
use crate::experiments::{Config, product};
use crate::model::{Component, POISON, Sequence, Skip};
use crate::validate::invariants::{self, Matrix};
use crate::validate::{Expected, Mismatch, Near, Output, Position, Verdict};

/// Products and sums up to which every element of a result is compared: those of three square matrices of 512.
const MOST_COMPARED: u64 = 1 << 27;

/// A product of two matrices.
#[derive(Clone, Copy, Debug)]
pub(super) struct Problem {
    /// What factors and sums are made of.
    pub(super) kind: Kind,
    /// Rows of the left factor and of the result.
    pub(super) rows: u64,
    /// Columns of the right factor and of the result.
    pub(super) columns: u64,
    pub(super) inner: u64,
    /// Whether the left factor lies column by column, and the right one.
    pub(super) transposed: [bool; 2],
}

/// The two factors in memory.
pub(super) type Factors = [Sequence; 2];

impl Problem {
    /// The product that a configuration tells.
    pub(super) fn new(config: &Config) -> Self {
        let side = |axis: &str| match config.integer(axis) {
            0 => config.integer("matrix_size"),
            own => own,
        };
        let transposed = config.choice("transposed");
        Self {
            kind: kind(config.choice("type")),
            rows: side("rows"),
            columns: side("columns"),
            inner: side("inner"),
            transposed: ["left", "right"].map(|factor| [factor, "both"].contains(&transposed)),
        }
    }

    /// Elements of the result.
    pub(super) fn sums(&self) -> u64 {
        product([self.rows, self.columns])
    }

    pub(super) fn products(&self) -> u64 {
        product([self.sums(), self.inner])
    }

    /// Elements of each factor.
    pub(super) fn elements(&self) -> [u64; 2] {
        [product([self.rows, self.inner]), product([self.inner, self.columns])]
    }

    /// Whether the rows of each factor in memory are multiples of so many elements, where they lie along what is summed and across it.
    pub(super) fn are_whole(&self, along: u64, across: u64) -> [bool; 2] {
        let is_whole = |is_along: bool, length: u64| if is_along { self.inner % along == 0 } else { length % across == 0 };
        [is_whole(!self.transposed[0], self.rows), is_whole(self.transposed[1], self.columns)]
    }

    /// Words of the result.
    pub(super) fn words(&self) -> u64 {
        product([self.sums(), self.kind.sum_bytes()]).div_ceil(4)
    }

    /// Over how many of its products sums of whole numbers are exact, in any order.
    pub(super) fn exact_inner(&self) -> u64 {
        // Those of bytes wrap around beyond 32 bits.
        self.kind.exact.unwrap_or((1 << 31) - 1) / u64::from(self.kind.magnitude).pow(2)
    }

    /// Factors that are whole numbers.
    ///
    /// # Errors
    /// Where sums of them might not be exact.
    pub(super) fn whole(&self, seed: u64) -> Result<Factors, Skip> {
        if self.inner > self.exact_inner() {
            return Err(Skip::new(format!(
                "sums of {} are exact over {} products, the case has {}: take a smaller inner or other data",
                self.kind.sum,
                self.exact_inner(),
                self.inner
            )));
        }
        Ok([self.kind.contents(seed), self.kind.contents(!seed)])
    }

    pub(super) fn full(&self, seed: u64) -> Factors {
        [self.kind.full_contents(seed), self.kind.full_contents(!seed)]
    }

    /// The same with so few products in a sum that whole numbers are exact.
    pub(super) fn shortened(self) -> Self {
        Self { inner: self.inner.min(self.exact_inner()), ..self }
    }

    fn left(&self, row: u64, k: u64) -> u64 {
        if self.transposed[0] { k * self.rows + row } else { row * self.inner + k }
    }

    fn right(&self, k: u64, column: u64) -> u64 {
        if self.transposed[1] { column * self.inner + k } else { k * self.columns + column }
    }

    /// What the result of whole numbers must hold.
    pub(super) fn expected(self, [left, right]: Factors) -> Expected<'static> {
        Expected::words_from(self.words(), move || {
            let value = |of, index| i64::from(self.kind.value(of, index));
            let Self { rows, columns, inner, .. } = self;
            let left: Vec<i64> = (0..rows * inner).map(|i| value(left, self.left(i / inner, i % inner))).collect();
            // Column by column, so that what is multiplied lies side by side.
            let right: Vec<i64> = (0..columns * inner).map(|i| value(right, self.right(i % inner, i / inner))).collect();
            let sum = move |i: u64| {
                let (left, right) = (row(&left, i / columns, inner), row(&right, i % columns, inner));
                left.iter().zip(right).map(|(a, b)| a * b).sum::<i64>()
            };
            move |word| self.word(word, |i| self.kind.bits(sum(i)))
        })
    }

    /// A word of the result, of which an element's bits are these.
    fn word(&self, word: u64, bits: impl Fn(u64) -> u32) -> u32 {
        if self.kind.sum_bytes() != 2 {
            return bits(word);
        }
        // Nobody writes behind the last element.
        let second = if 2 * word + 1 < self.sums() { bits(2 * word + 1) } else { POISON >> 16 };
        bits(2 * word) | (second << 16)
    }

    /// Whether the result of whole numbers is too large to compare every element of.
    pub(super) fn is_large(&self) -> bool {
        self.products() > MOST_COMPARED
    }

    /// Whether the result of whole numbers is right: element by element, or by Freivalds' check where it is large.
    pub(super) fn check(&self, factors: Factors, result: Output) -> Verdict {
        if self.is_large() { self.check_whole(factors, result) } else { result.compare(&self.expected(factors)) }
    }

    /// Freivalds' check of a result of whole numbers.
    fn check_whole(&self, factors: Factors, result: Output) -> Verdict {
        let words = result.words();
        let [left, right] = factors;
        let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let value = |of, index| Some(i64::from(self.kind.value(of, index)));
        let at_left = |row: usize, k: usize| value(left, self.left(row as u64, k as u64));
        let at_right = |k: usize, column: usize| value(right, self.right(k as u64, column as u64));
        let at = |row: usize, column: usize| {
            let index = row as u64 * self.columns + column as u64;
            let value = self.decoded(&words, index)?;
            invariants::whole(value)
        };
        let [rows, columns, inner] = [self.rows, self.columns, self.inner].map(size);
        invariants::product(
            result.name,
            [
                &Matrix { size: [rows, inner], at: &at_left },
                &Matrix { size: [inner, columns], at: &at_right },
                &Matrix { size: [rows, columns], at: &at },
            ],
        )
    }

    /// An element of a result; nothing where it isn't there.
    fn decoded(&self, words: &[u32], index: u64) -> Option<f64> {
        let is_half = self.kind.sum_bytes() == 2;
        let word = *words.get(usize::try_from(if is_half { index / 2 } else { index }).ok()?)?;
        #[expect(clippy::cast_possible_truncation, reason = "the half is meant")]
        Some(match self.kind.sum {
            Component::F16 => f16::from_bits((word >> (16 * (index % 2))) as u16).to_f64(),
            Component::F32 => f32::from_bits(word).into(),
            _ => f64::from(i32::from_ne_bytes(word.to_ne_bytes())),
        })
    }

    /// What a device that rounds as rarely as it can makes of full mantissas.
    pub(super) fn expected_full(self, factors: Factors) -> Expected<'static> {
        Expected::words(self.words(), move |word| {
            self.word(word, |i| {
                let Near { value, .. } = self.near(factors, i / self.columns, &[i % self.columns])[0];
                #[expect(clippy::cast_possible_truncation, reason = "as near as f32 comes")]
                let rounded = value as f32;
                if self.kind.sum == Component::F16 { f16::from_f64(value).to_bits().into() } else { rounded.to_bits() }
            })
        })
    }

    /// Whether a result of full mantissas can be right: some of its rows are compared.
    pub(super) fn check_full(&self, factors: Factors, result: Output) -> Verdict {
        let words = result.words();
        if words.len() as u64 != self.words() {
            let told = |words: u64| format!("{words} words long");
            return Err(Mismatch::single(result.name, Position::Whole, told(words.len() as u64), told(self.words())));
        }
        let columns: Vec<u64> = (0..self.columns).collect();
        let got = |index| self.decoded(&words, index);
        invariants::near_rows(result.name, [self.rows, self.columns], got, |row| self.near(factors, row, &columns))
    }

    /// Sums of a row, and how far they may be off. Sums of `f16` round so much that no more is known of them than that they are no
    /// larger than the sum of all absolute values: so far may they be off.
    fn near(&self, [left, right]: Factors, row: u64, columns: &[u64]) -> Vec<Near> {
        let left: Vec<f64> = (0..self.inner).map(|k| self.kind.real(left, self.left(row, k))).collect();
        let of = |&column: &u64| {
            let products = || (0..).zip(&left).map(|(k, a)| a * self.kind.real(right, self.right(k, column)));
            let near = Near::of_products(products());
            if self.kind.sum == Component::F16 {
                return Near { error: near.value.abs() + 1.01 * products().map(f64::abs).sum::<f64>(), ..near };
            }
            near
        };
        columns.into_par_iter().map(of).collect()
    }
}

fn row(of: &[i64], index: u64, length: u64) -> &[i64] {
    let [start, end] = [index * length, (index + 1) * length].map(|at| usize::try_from(at).unwrap_or(usize::MAX));
    of.get(start..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 5] = ["f32", "f16_f16", "f16_f32", "bf16_f32", "i8_i32"];

    fn problem(name: &str, transposed: [bool; 2]) -> Problem {
        Problem { kind: kind(name), rows: 5, columns: 3, inner: 7, transposed }
    }

    /// The result by the definition, from factors as they lie in memory.
    fn by_definition(problem: &Problem, [left, right]: Factors) -> Vec<i64> {
        let Problem { rows, columns, inner, transposed, .. } = *problem;
        let value = |of, index| i64::from(problem.kind.value(of, index));
        let element = |row: u64, column: u64| {
            (0..inner)
                .map(|k| {
                    let a = value(left, if transposed[0] { k * rows + row } else { row * inner + k });
                    a * value(right, if transposed[1] { column * inner + k } else { k * columns + column })
                })
                .sum()
        };
        (0..rows * columns).map(|i| element(i / columns, i % columns)).collect()
    }

    fn bytes(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn the_twin_is_the_definition() {
        for (name, i) in NAMES.iter().zip(0..) {
            let problem = problem(name, [i % 2 == 0, i % 3 == 0]);
            let factors = problem.whole(7).unwrap();
            let expected = problem.expected(factors);
            let words: Vec<u32> = (0..problem.words()).map(|word| expected.word(word)).collect();
            let decoded: Vec<i64> =
                (0..15).map(|index| invariants::whole(problem.decoded(&words, index).unwrap()).unwrap()).collect();
            assert_eq!(decoded, by_definition(&problem, factors), "{name}");
            assert_eq!(problem.check(factors, Output { name: "sums", bytes: &bytes(&words) }), Ok(()));
        }
    }

    #[test]
    fn a_large_result_is_checked_by_its_invariant() {
        assert!(Problem { rows: 600, columns: 520, inner: 500, ..problem("f32", [false; 2]) }.is_large());
        for name in NAMES {
            let problem = problem(name, [true, false]);
            let factors = problem.whole(7).unwrap();
            let expected = problem.expected(factors);
            let mut words: Vec<u32> = (0..problem.words()).map(|word| expected.word(word)).collect();
            let check = |words: &[u32]| problem.check_whole(factors, Output { name: "sums", bytes: &bytes(words) });
            assert_eq!(check(&words), Ok(()), "{name}");
            words.swap(2, 3);
            assert!(words[2] == words[3] || check(&words).is_err(), "{name}");
            words.swap(2, 3);
            words[4] ^= 1 << 30;
            assert!(check(&words).is_err(), "{name}");
        }
    }

    #[test]
    fn full_mantissas_are_near_or_wrong() {
        for name in ["f32", "f16_f32", "bf16_f32", "f16_f16"] {
            let problem = problem(name, [false, true]);
            let factors = problem.full(7);
            let expected = problem.expected_full(factors);
            let check = |bytes: &[u8]| problem.check_full(factors, Output { name: "sums", bytes });
            let right = expected.bytes();
            assert_eq!(check(&right), Ok(()), "{name}");
            // Of f16, two infinities: nothing smaller is known to be wrong.
            let bits = if name == "f16_f16" { 0x7C00_7C00 } else { 1.5_f32.to_bits() };
            let mut wrong = right.clone();
            wrong[4 * 7..4 * 8].copy_from_slice(&bits.to_ne_bytes());
            assert!(check(&wrong).is_err() && check(&right[4..]).is_err(), "{name}");
        }
    }

    #[test]
    fn sums_that_may_not_be_exact_are_skipped_or_shortened() {
        let problem = Problem { inner: 4096, ..problem("f16_f16", [false; 2]) };
        assert!(problem.whole(7).unwrap_err().reason.contains("exact over 2048 products"));
        assert_eq!(problem.shortened().inner, 2048);
        assert!(problem.shortened().whole(7).is_ok());
        assert_eq!(Problem { inner: 1 << 20, ..problem }.shortened().inner, 2048);
        // One more of the smallest bytes' squares would be 2^31.
        assert_eq!(Problem { kind: kind("i8_i32"), ..problem }.exact_inner(), 131_071);
    }
}
