//! What must be true of results whose twin would take far longer than the device: exact, and computed in parallel.

use std::num::Wrapping;

use rayon::prelude::*;

use super::{Mismatch, Near, Position, Verdict};

/// A prime, 2^61 - 1: what is true of whole numbers is true of their remainders, and what is not is so of nearly none.
const PRIME: i128 = (1 << 61) - 1;

pub struct Matrix<'m> {
    pub size: [usize; 2],
    /// The number in a row and a column; nothing where there is none.
    pub at: &'m (dyn Fn(usize, usize) -> Option<i64> + Sync),
}

impl Matrix<'_> {
    /// The matrix times a vector, as remainders; nothing in rows that lack a number.
    fn times(&self, vector: &[i128]) -> Vec<Option<i128>> {
        let product = |row: usize| {
            (0..self.size[1]).zip(vector).try_fold(0, |sum, (column, factor)| {
                let number = i128::from((self.at)(row, column)?).rem_euclid(PRIME);
                Some((sum + number * factor) % PRIME)
            })
        };
        (0..self.size[0]).into_par_iter().map(product).collect()
    }
}

/// Whether a matrix is the product of two, by Freivalds' check: both sides times a vector of numbers that look random. It takes as
/// many steps as the three have numbers, and passes a wrong product once in 2^61 times.
///
/// R. Freivalds, Probabilistic machines can use less running time, 1977.
pub fn product(output: &str, [left, right, result]: [&Matrix; 3]) -> Verdict {
    let vector: Vec<i128> = (0..result.size[1] as u64).map(|i| i128::from(mixed(i)) % PRIME).collect();
    let inner: Option<Vec<i128>> = right.times(&vector).into_iter().collect();
    let right_rows = inner.map(|inner| left.times(&inner));
    let found = result.times(&vector);
    let expected = right_rows.unwrap_or_else(|| vec![None; found.len()]);
    let wrong: Vec<usize> = (0..found.len()).filter(|&row| found[row].is_none() || found[row] != expected[row]).collect();
    let Some(&first) = wrong.first() else { return Ok(()) };
    let at = Position::Row(first as u64);
    let (got, right) = ("another one".to_owned(), "that of the product (Freivalds' check)".to_owned());
    let found = Mismatch::single(output, at, got, right);
    Err(Mismatch { wrong: wrong.len() as u64, total: expected.len() as u64, ..found })
}

const ROWS_COMPARED: u64 = 16;

/// Whether a matrix of numbers that round can be right: of rows from the first to the last, sixteen at most, every number is as near as
/// `near` says of the row. `got` has the number at an index, row by row, or nothing where there is none.
pub fn near_rows(
    output: &str,
    [rows, columns]: [u64; 2],
    got: impl Fn(u64) -> Option<f64>,
    near: impl Fn(u64) -> Vec<Near>,
) -> Verdict {
    let compared = rows.min(ROWS_COMPARED);
    for row in (0..compared).map(|i| if compared == 1 { 0 } else { i * (rows - 1) / (compared - 1) }) {
        for (index, Near { value, error }) in (row * columns..).zip(near(row)) {
            let got = got(index);
            // Not what is farther: neither is what is no number at all, nor an infinity.
            if !got.is_some_and(|got| (got - value).abs() <= error) {
                let got = got.map_or_else(|| "nothing".to_owned(), |got| format!("{got:?}"));
                return Err(Mismatch::single(output, Position::Element(index), got, format!("{value:?} within {error:?}")));
            }
        }
    }
    Ok(())
}

/// Whether words are in order, and the same as others in any order: what every sort must leave. Two sums over all words tell the
/// same words from others but once in 2^128 times.
pub fn sorted(output: &str, before: impl IndexedParallelIterator<Item = u32>, after: &[u32]) -> Verdict {
    let step = after.par_windows(2).position_first(|pair| pair[0] > pair[1]);
    if let Some(place) = step {
        let [one, next] = [after[place], after[place + 1]];
        let (got, right) = (format!("{next:#010x}"), format!("{one:#010x} at least, as the one before it"));
        return Err(Mismatch::single(output, Position::Element(place as u64 + 1), got, right));
    }
    permutation(output, before, after)
}

pub fn permutation(output: &str, before: impl IndexedParallelIterator<Item = u32>, after: &[u32]) -> Verdict {
    let weights = |word: u32| {
        let first = mixed(word.into());
        (1_u64, Wrapping(first), Wrapping(mixed(!first)))
    };
    let none = || (0, Wrapping(0), Wrapping(0));
    let sum = |one: (u64, Wrapping<u64>, Wrapping<u64>), other: (u64, Wrapping<u64>, Wrapping<u64>)| {
        (one.0 + other.0, one.1 + other.1, one.2 + other.2)
    };
    let (given, left) = (before.map(weights).reduce(none, sum), after.par_iter().copied().map(weights).reduce(none, sum));
    if given == left {
        return Ok(());
    }
    let (got, right) = (format!("{} words, not the same ones", left.0), format!("the {} words that it was given", given.0));
    Err(Mismatch::single(output, Position::Whole, got, right))
}

/// A float as the whole number that it is; nothing where it is none, or one beyond 2^53.
#[expect(clippy::cast_possible_truncation, reason = "it is a whole number, and within i64")]
pub fn whole(float: f64) -> Option<i64> {
    (float.fract() == 0.0 && float.abs() <= 9_007_199_254_740_992.0).then_some(float as i64)
}

fn mixed(number: u64) -> u64 {
    let x = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn multiplied([rows, inner, columns]: [usize; 3], left: &[i64], right: &[i64]) -> Vec<i64> {
        let element = |i: usize| (0..inner).map(|k| left[i / columns * inner + k] * right[k * columns + i % columns]).sum();
        (0..rows * columns).map(element).collect()
    }

    fn verdict([rows, inner, columns]: [usize; 3], left: &[i64], right: &[i64], result: &[i64]) -> Verdict {
        let of = |numbers: &[i64], columns: usize, row: usize, column: usize| numbers.get(row * columns + column).copied();
        product(
            "c",
            [
                &Matrix { size: [rows, inner], at: &|row, column| of(left, inner, row, column) },
                &Matrix { size: [inner, columns], at: &|row, column| of(right, columns, row, column) },
                &Matrix { size: [rows, columns], at: &|row, column| of(result, columns, row, column) },
            ],
        )
    }

    proptest! {
        #![proptest_config(crate::properties::config())]

        #[test]
        fn a_product_is_right_and_with_any_other_number_wrong(
            rows in 1_usize..6, inner in 1_usize..6, columns in 1_usize..6, seed: u64, at: usize, by in prop_oneof![Just(1_i64), Just(-1), any::<i32>().prop_map(i64::from)]
        ) {
            let number = |i: usize| i64::try_from(mixed(seed.wrapping_add(i as u64)) >> 40).unwrap() - (1 << 23);
            let [left, right] = [(0, rows * inner), (50, inner * columns)];
            let [left, right] = [left, right].map(|(first, count)| (first..first + count).map(number).collect::<Vec<i64>>());
            let shape = [rows, inner, columns];
            let mut result = multiplied(shape, &left, &right);
            prop_assert_eq!(verdict(shape, &left, &right, &result), Ok(()));
            let at = at % result.len();
            result[at] = result[at].wrapping_add(by);
            let found = verdict(shape, &left, &right, &result);
            if by == 0 {
                prop_assert_eq!(found, Ok(()));
            } else {
                let Err(mismatch) = found else { panic!("{at} off by {by} passes") };
                prop_assert_eq!((mismatch.at, mismatch.wrong), (Position::Row((at / columns) as u64), 1));
            }
        }
    }

    #[test]
    fn two_errors_of_a_row_that_cancel_in_its_sum_are_found() {
        let (left, right) = ([1, 2, 3, 4], [5, 6, 7, 8]);
        let mut result = multiplied([2, 2, 2], &left, &right);
        result[2] += 1;
        result[3] -= 1;
        let Err(mismatch) = verdict([2, 2, 2], &left, &right, &result) else { panic!("it passes") };
        assert_eq!(
            mismatch.to_string(),
            "row 1 of c is another one, should be that of the product (Freivalds' check) (1 of 2 rows are wrong)"
        );
        result.pop();
        assert!(verdict([2, 2, 2], &left, &right, &result) != Ok(()), "a number is missing");
    }

    #[test]
    fn rows_are_near_or_wrong() {
        let near = |row: u64| vec![Near::of_products([row as f64, 1.0].into_iter()), Near { value: 0.5, error: 0.25 }];
        let right = |index: u64| Some(if index % 2 == 0 { (index / 2) as f64 + 1.0 } else { 0.7 });
        for rows in [1, 2, 16, 40] {
            assert_eq!(near_rows("sums", [rows, 2], right, near), Ok(()));
            for (at, got) in [(1, Some(0.2)), (0, None), (2 * rows - 1, Some(f64::NAN)), (2 * rows - 2, Some(f64::INFINITY))] {
                let verdict = near_rows("sums", [rows, 2], |index| if index == at { got } else { right(index) }, near);
                let Err(mismatch) = verdict else { panic!("{rows} {at}") };
                assert_eq!(mismatch.at, Position::Element(at));
            }
        }
    }

    #[test]
    fn only_whole_floats_are_whole() {
        assert_eq!([-3.0, 0.0, 16_777_216.0].map(whole), [Some(-3), Some(0), Some(1 << 24)]);
        assert_eq!([0.5, f64::NAN, f64::INFINITY, 1e17].map(whole), [None; 4]);
    }

    #[test]
    fn a_sort_keeps_its_words_and_puts_them_in_order() {
        let before = [3_u32, 1, 2, 2, 0xFFFF_FFFF];
        let sort = |after: &[u32]| sorted("keys", before.into_par_iter(), after);
        assert_eq!(sort(&[1, 2, 2, 3, 0xFFFF_FFFF]), Ok(()));
        let Err(mismatch) = sort(&[1, 3, 2, 2, 0xFFFF_FFFF]) else { panic!("it passes") };
        assert_eq!((mismatch.at, mismatch.got.as_str()), (Position::Element(2), "0x00000002"));
        for other in
            [&[1, 2, 3, 3, 0xFFFF_FFFF][..], &[1, 2, 2, 3], &[1, 2, 2, 3, 3, 0xFFFF_FFFF], &[1, 1, 2, 4, 0xFFFF_FFFF], &[]]
        {
            assert!(matches!(sort(other), Err(Mismatch { at: Position::Whole, .. })), "{other:?}");
        }
        assert_eq!(permutation("keys", before.into_par_iter(), &[0xFFFF_FFFF, 2, 1, 3, 2]), Ok(()));
    }
}
