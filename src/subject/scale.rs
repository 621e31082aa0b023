//! How large an output's numbers are: a difference counts beside that, and not beside a fixed size.

use rayon::prelude::*;

use super::scalars::Number;
use super::sized::Layout;
use super::slots::{NumberSlot, Stretch};
use super::written::Written;

/// The numbers of a column are of one size where the middle 98 % of those that aren't 0 lie within so many powers of two: three
/// decades.
const WIDEST: usize = 10;

/// The share of a column that is left out at either end.
const EXTREME: f64 = 0.01;

/// Elements that are judged by their own root mean square where a column is of many sizes.
const NEIGHBOURS: u64 = 256;

/// Powers of two that are told apart. What is beyond counts as the last.
const POWERS: usize = 512;

/// Of each column the root mean square of what the reference wrote there; where its numbers are of many sizes, that of the elements
/// around each.
pub(super) struct Scale {
    /// By column.
    columns: Vec<Column>,
    /// By stretch, column and neighbourhood, of columns of many sizes alone.
    around: Vec<Vec<Vec<f64>>>,
}

#[derive(Clone, Copy)]
struct Column {
    size: f64,
    is_wide: bool,
}

impl Scale {
    pub(super) fn new(layout: &Layout, right: &Written) -> Self {
        let stretches = layout.stretches(right.bytes.len());
        let count = layout.columns();
        let tallies = stretches.par_iter().map(|stretch| {
            let mut tallies = vec![Tally::default(); count];
            for_each_real(stretch, right, &mut |slot, real| tallies[slot.column as usize].add(real));
            tallies
        });
        let all = tallies.reduce(
            || vec![Tally::default(); count],
            |mut one, other| {
                one.iter_mut().zip(&other).for_each(|(one, other)| one.join(other));
                one
            },
        );
        let columns: Vec<Column> = all.iter().map(|tally| Column { size: tally.size(), is_wide: tally.is_wide() }).collect();
        let around = match columns.iter().any(|column| column.is_wide) {
            true => stretches.par_iter().map(|stretch| around(stretch, right, &columns)).collect(),
            false => Vec::new(),
        };
        Self { columns, around }
    }

    /// The size beside which a difference counts in this slot of a stretch, whose number may be larger.
    pub(super) fn at(&self, (stretch, (start, grain)): (usize, (u64, u64)), slot: &NumberSlot) -> f64 {
        let column = slot.column as usize;
        let Column { size, is_wide } = self.columns[column];
        if !is_wide {
            return size;
        }
        let place = usize::try_from((slot.at - start) / (grain * NEIGHBOURS)).unwrap_or(usize::MAX);
        self.around[stretch][column].get(place).copied().unwrap_or(0.0)
    }

    /// The size of a column, where its numbers are of one; else 0.
    pub(super) fn of_column(&self, column: u32) -> f64 {
        let Column { size, is_wide } = self.columns[column as usize];
        if is_wide { 0.0 } else { size }
    }
}

fn for_each_real(stretch: &Stretch, side: &Written, visit: &mut dyn FnMut(NumberSlot, f64)) {
    stretch.for_each(&mut |slot| {
        if let (false, Number::Real(real)) = (slot.is_unwritten(side), slot.number(side)) {
            if real.is_finite() {
                visit(slot, real);
            }
        }
    });
}

fn around(stretch: &Stretch, right: &Written, columns: &[Column]) -> Vec<Vec<f64>> {
    let (start, grain) = stretch.grain();
    let mut sums: Vec<Vec<(f64, f64)>> = vec![Vec::new(); columns.len()];
    for_each_real(stretch, right, &mut |slot, real| {
        let column = slot.column as usize;
        if columns[column].is_wide {
            let place = usize::try_from((slot.at - start) / (grain * NEIGHBOURS)).unwrap_or(usize::MAX);
            let sums = &mut sums[column];
            if sums.len() <= place {
                sums.resize(place + 1, (0.0, 0.0));
            }
            sums[place].0 += real * real;
            sums[place].1 += 1.0;
        }
    });
    let mean = |(sum, count): (f64, f64)| if count > 0.0 { (sum / count).sqrt() } else { 0.0 };
    sums.into_iter().map(|sums| sums.into_iter().map(mean).collect()).collect()
}

#[derive(Clone)]
struct Tally {
    squares: f64,
    count: f64,
    largest: f64,
    /// How many aren't 0, by their power of two.
    powers: Box<[u32; POWERS]>,
}

impl Default for Tally {
    fn default() -> Self {
        Self { squares: 0.0, count: 0.0, largest: 0.0, powers: Box::new([0; POWERS]) }
    }
}

impl Tally {
    fn add(&mut self, real: f64) {
        let size = real.abs();
        self.squares += size * size;
        self.count += 1.0;
        self.largest = self.largest.max(size);
        if size > 0.0 {
            // The bits of the exponent, those of 1 becoming the middle place.
            let power = (size.to_bits() >> 52).saturating_sub(1023 - POWERS as u64 / 2);
            self.powers[usize::try_from(power).unwrap_or(POWERS).min(POWERS - 1)] += 1;
        }
    }

    fn join(&mut self, other: &Self) {
        self.squares += other.squares;
        self.count += other.count;
        self.largest = self.largest.max(other.largest);
        self.powers.iter_mut().zip(other.powers.iter()).for_each(|(own, other)| *own = own.saturating_add(*other));
    }

    fn size(&self) -> f64 {
        let square = self.squares / self.count.max(1.0);
        // What is too large to be squared.
        if square.is_finite() { square.sqrt() } else { self.largest }
    }

    fn is_wide(&self) -> bool {
        let all: f64 = self.powers.iter().map(|count| f64::from(*count)).sum();
        let place = |share: f64| {
            let mut before = 0.0;
            self.powers.iter().position(|count| {
                before += f64::from(*count);
                before > share * all
            })
        };
        let ends = place(EXTREME).zip(place(1.0 - EXTREME).or(Some(POWERS - 1)));
        all > 0.0 && ends.is_some_and(|(low, high)| high - low >= WIDEST)
    }
}
