//! The product that `algo/matmul` computes: its sizes, its data and its twin.

use crate::experiments::common::components::{Kind, kind};
use crate::experiments::common::factored::{Factored, Factors, row};
use crate::experiments::{Config, product};
use crate::model::Skip;

#[derive(Clone, Copy, Debug)]
pub(super) struct Problem {
    pub(super) kind: Kind,
    /// Rows of the left factor and of the result.
    pub(super) rows: u64,
    /// Columns of the right factor and of the result.
    pub(super) columns: u64,
    pub(super) inner: u64,
    /// Whether the left factor lies column by column, and the right one.
    pub(super) transposed: [bool; 2],
}

impl Problem {
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

    /// Whether the rows of each factor in memory are multiples of so many elements, where they lie along what is summed and across it.
    pub(super) fn are_whole(&self, along: u64, across: u64) -> [bool; 2] {
        let is_whole = |is_along: bool, length: u64| if is_along { self.inner % along == 0 } else { length % across == 0 };
        [is_whole(!self.transposed[0], self.rows), is_whole(self.transposed[1], self.columns)]
    }

    /// Over how many of its products sums of whole numbers are exact, in any order.
    pub(super) fn exact_inner(&self) -> u64 {
        // Those of bytes wrap around beyond 32 bits.
        self.kind.exact.unwrap_or((1 << 31) - 1) / u64::from(self.kind.magnitude).pow(2)
    }

    /// Factors that are whole numbers. Skipped: where sums of them might not be exact.
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

    /// The same with so few products in a sum that whole numbers are exact.
    pub(super) fn shortened(self) -> Self {
        Self { inner: self.inner.min(self.exact_inner()), ..self }
    }
}

impl Factored for Problem {
    fn kind(&self) -> Kind {
        self.kind
    }

    fn sizes(&self) -> [u64; 3] {
        [self.rows, self.columns, self.inner]
    }

    fn elements(&self) -> [u64; 2] {
        [product([self.rows, self.inner]), product([self.inner, self.columns])]
    }

    fn left(&self, row: u64, k: u64) -> Option<u64> {
        Some(if self.transposed[0] { k * self.rows + row } else { row * self.inner + k })
    }

    fn right(&self, k: u64, column: u64) -> u64 {
        if self.transposed[1] { column * self.inner + k } else { k * self.columns + column }
    }

    fn twin(self, [left, right]: Factors) -> impl Fn(u64) -> i64 + Send + Sync {
        let value = |of, place| i64::from(self.kind.value(of, place));
        let Self { rows, columns, inner, .. } = self;
        let at_left = |i: u64| self.left(i / inner, i % inner).map_or(0, |place| value(left, place));
        let left: Vec<i64> = (0..rows * inner).map(at_left).collect();
        // Column by column, so that what is multiplied lies side by side.
        let right: Vec<i64> = (0..columns * inner).map(|i| value(right, self.right(i % inner, i / inner))).collect();
        move |i| {
            let (left, right) = (row(&left, i / columns * inner, inner), row(&right, i % columns * inner, inner));
            left.iter().zip(right).map(|(a, b)| a * b).sum()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::testing::{bytes, words};
    use crate::validate::{Output, invariants};

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

    #[test]
    fn the_twin_is_the_definition() {
        for (name, i) in NAMES.iter().zip(0..) {
            let problem = problem(name, [i % 2 == 0, i % 3 == 0]);
            let factors = problem.whole(7).unwrap();
            let words = words(&problem.expected(factors));
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
            let mut words = words(&problem.expected(factors));
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
