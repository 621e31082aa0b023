//! Results that are products of two matrices: what they must hold, and what must be true of them.

use half::f16;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::components::{Kind, Types};
use super::grid::product;
use super::subgroup_tiles::VECTOR_BYTES;
use crate::experiments::{CaseBuilder, Handle};
use crate::model::{Component, POISON, Sequence};
use crate::validate::invariants::{self, Matrix};
use crate::validate::{Expected, Mismatch, Near, Output, Position, Verdict};

/// Products and sums up to which every element of a result is compared: those of three square matrices of 512.
const MOST_COMPARED: u64 = 1 << 27;

/// The two factors in memory.
pub type Factors = [Sequence; 2];

/// A product of matrices that lie in memory in some way.
pub trait Factored: Copy + Send + Sync + 'static {
    fn kind(&self) -> Kind;

    /// Rows and columns of the result, and what a sum goes over.
    fn sizes(&self) -> [u64; 3];

    /// Elements of each factor in memory.
    fn elements(&self) -> [u64; 2];

    /// Where an element of the left factor lies; nothing for a zero that lies nowhere.
    fn left(&self, row: u64, k: u64) -> Option<u64>;

    fn right(&self, k: u64, column: u64) -> u64;

    /// What the result of whole numbers must hold: an element's value by its index.
    fn twin(self, factors: Factors) -> impl Fn(u64) -> i64 + Send + Sync;

    /// Elements of the result.
    fn sums(&self) -> u64 {
        let [rows, columns, _] = self.sizes();
        product([rows, columns])
    }

    fn products(&self) -> u64 {
        product([self.sums(), self.sizes()[2]])
    }

    /// Words of the result.
    fn words(&self) -> u64 {
        product([self.sums(), self.kind().sum_bytes()]).div_ceil(4)
    }

    /// Factors with full mantissas.
    fn full(&self, seed: u64) -> Factors {
        [seed, !seed].map(|seed| self.kind().full_contents(seed))
    }

    /// The buffers of both factors. Kernels load whole vectors.
    fn inputs(&self, case: &mut CaseBuilder, names: [&'static str; 2], factors: Factors) -> [Handle; 2] {
        [0, 1].map(|i| {
            let bytes = product([self.elements()[i], self.kind().factor_bytes()]);
            case.input(names[i], product([bytes.div_ceil(VECTOR_BYTES), VECTOR_BYTES / 4]), factors[i])
        })
    }

    fn expected(self, factors: Factors) -> Expected {
        Expected::words_from(self.words(), move || {
            let value = self.twin(factors);
            move |word| self.word(word, |i| self.kind().bits(value(i)))
        })
    }

    /// A word of the result, of which an element's bits are these.
    fn word(&self, word: u64, bits: impl Fn(u64) -> u32) -> u32 {
        if self.kind().sum_bytes() != 2 {
            return bits(word);
        }
        // Nobody writes behind the last element.
        let second = if 2 * word + 1 < self.sums() { bits(2 * word + 1) } else { POISON >> 16 };
        bits(2 * word) | (second << 16)
    }

    /// Whether the result of whole numbers is too large to compare every element of.
    fn is_large(&self) -> bool {
        self.products() > MOST_COMPARED
    }

    /// Whether the result of whole numbers is right: element by element, or by Freivalds' check where it is large.
    fn check(&self, factors: Factors, result: Output) -> Verdict {
        if self.is_large() { self.check_whole(factors, result) } else { result.compare(&self.expected(factors)) }
    }

    /// Freivalds' check of a result of whole numbers.
    fn check_whole(&self, [left, right]: Factors, result: Output) -> Verdict {
        let words = result.words();
        let [rows, columns, inner] = self.sizes().map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        let value = |of, place| i64::from(self.kind().value(of, place));
        let at_left = |row: usize, k: usize| Some(self.left(row as u64, k as u64).map_or(0, |place| value(left, place)));
        let at_right = |k: usize, column: usize| Some(value(right, self.right(k as u64, column as u64)));
        let at = |row: usize, column: usize| invariants::whole(self.decoded(&words, (row * columns + column) as u64)?);
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
        let is_half = self.kind().sum_bytes() == 2;
        let word = *words.get(usize::try_from(if is_half { index / 2 } else { index }).ok()?)?;
        #[expect(clippy::cast_possible_truncation, reason = "the half is meant")]
        Some(match self.kind().types {
            Types::F16F16 => f16::from_bits((word >> (16 * (index % 2))) as u16).to_f64(),
            Types::F32 | Types::F16F32 | Types::Bf16F32 => f32::from_bits(word).into(),
            Types::I8I32 | Types::U8U32 => f64::from(i32::from_ne_bytes(word.to_ne_bytes())),
        })
    }

    /// What a device that rounds as rarely as it can makes of full mantissas.
    fn expected_full(self, factors: Factors) -> Expected {
        let [_, columns, _] = self.sizes();
        Expected::words(self.words(), move |word| {
            self.word(word, |i| {
                let Near { value, .. } = self.near(factors, i / columns, &[i % columns])[0];
                #[expect(clippy::cast_possible_truncation, reason = "as near as f32 comes")]
                let rounded = value as f32;
                if self.kind().sum == Component::F16 { f16::from_f64(value).to_bits().into() } else { rounded.to_bits() }
            })
        })
    }

    /// Whether a result of full mantissas can be right: some of its rows are compared.
    fn check_full(&self, factors: Factors, result: Output) -> Verdict {
        let words = result.words();
        if words.len() as u64 != self.words() {
            let told = |words: u64| format!("{words} words long");
            return Err(Mismatch::single(result.name, Position::Whole, told(words.len() as u64), told(self.words())));
        }
        let [rows, columns, _] = self.sizes();
        let all: Vec<u64> = (0..columns).collect();
        let got = |index| self.decoded(&words, index);
        invariants::near_rows(result.name, [rows, columns], got, |row| self.near(factors, row, &all))
    }

    /// Sums of a row, and how far they may be off. Sums of `f16` round so much that no more is known of them than that they are no
    /// larger than the sum of all absolute values: so far may they be off.
    fn near(&self, [left, right]: Factors, row: u64, columns: &[u64]) -> Vec<Near> {
        let (kind, [_, _, inner]) = (self.kind(), self.sizes());
        let factor = |k| self.left(row, k).map_or(0.0, |place| kind.real(left, place));
        let left: Vec<f64> = (0..inner).map(factor).collect();
        let of = |&column: &u64| {
            let products = || (0..).zip(&left).map(|(k, a)| a * kind.real(right, self.right(k, column)));
            let near = Near::of_products(products());
            if kind.sum == Component::F16 {
                return Near { error: near.value.abs() + 1.01 * products().map(f64::abs).sum::<f64>(), ..near };
            }
            near
        };
        columns.into_par_iter().map(of).collect()
    }
}

/// The elements of a row of a matrix that lies row by row.
pub fn row(of: &[i64], first: u64, length: u64) -> &[i64] {
    let [start, end] = [first, first + length].map(|at| usize::try_from(at).unwrap_or(usize::MAX));
    of.get(start..end).unwrap_or_default()
}
