//! The layer of a network that `algo/conv2d` computes: its sizes, its data, its twin, and what must be true of its results.

use std::ops::Range;

use half::f16;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::experiments::{CaseBuilder, Config, Handle, product, u32_of};
use crate::model::{Axis, AxisKind, Sequence, Skip, Texels};
use crate::validate::invariants::{self, Matrix};
use crate::validate::{Expected, Mismatch, Near, Output, Position, Verdict};

/// Factors and sums of `f32`.
pub(super) const F32: &str = "f32";
/// Factors of `f16`, sums of `f32`.
pub(super) const F16_F32: &str = "f16_f32";

/// Up to here every whole number is exact as `f32`.
const EXACT_F32: u64 = 1 << 24;
/// The same of what stands in an `f16`, as far as sequences go.
const MOST_HALF: u64 = 1 << 10;

/// Products and sums up to which every element of the result is compared with the twin's: those of three square matrices of 512.
const MOST_COMPARED: u64 = 1 << 27;

/// Layers that are measured unless told otherwise.
pub(super) const OF_GPUS: &[&str] = &["8x56x128x128x3", "8x56x256x64x1", "3x29x37x41x3"];
pub(super) const OF_CPUS: &[&str] = &["1x16x16x16x3", "1x16x32x16x1", "1x7x5x3x3"];
/// All that have a name.
pub(super) const LAYERS: &[&str] =
    &["8x56x128x128x3", "8x56x256x64x1", "3x29x37x41x3", "1x16x16x16x3", "1x16x32x16x1", "1x7x5x3x3"];

/// The most that a size may be: all that fit into memory are smaller.
const MOST: u64 = 1 << 24;

/// The axes of a layer's sizes, each in the place of one of those that its name tells.
pub(super) fn axes() -> [Axis; 5] {
    let axis = |name, description, kind| Axis::new(name, description, kind, [0_u64]);
    let size = |name, description| axis(name, description, AxisKind::AtLeast(0)).up_to(MOST);
    [
        size("images", "images; 0 for as many as the layer's name tells"),
        size("image_size", "width and height of an image, pixels; 0 for what the layer's name tells"),
        size("channels", "channels of a pixel; 0 for as many as the layer's name tells"),
        size("filters", "filters, and with them channels of the result; 0 for as many as the layer's name tells"),
        axis("filter_size", "width and height of a filter; 0 for what the layer's name tells", AxisKind::Numbers(&[0, 1, 3])),
    ]
}

/// A layer: filters that go over images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layer {
    /// What its elements are, as the axis `type` has it.
    pub(super) kind: &'static str,
    pub(super) images: u64,
    /// Width and height of each.
    pub(super) image_size: u64,
    pub(super) channels: u64,
    pub(super) filters: u64,
    /// Width and height of each, an odd number.
    pub(super) filter_size: u64,
}

/// One of the two factors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operand {
    pub(super) sequence: Sequence,
    elements: u64,
    is_half: bool,
}

impl Layer {
    /// The layer that a configuration tells.
    ///
    /// # Errors
    /// One whose sums might not be exact.
    pub(super) fn new(config: &Config) -> Result<Self, Skip> {
        let mut named = config.choice("layer").split('x').filter_map(|size| size.parse().ok());
        let mut size = |axis: &str| match (config.integer(axis), named.next().unwrap_or(1)) {
            (0, named) => named,
            (own, _) => own,
        };
        let kind = if config.choice("type") == F16_F32 { F16_F32 } else { F32 };
        let layer = Self {
            kind,
            images: size("images"),
            image_size: size("image_size"),
            channels: size("channels"),
            filters: size("filters"),
            filter_size: size("filter_size"),
        };
        if layer.magnitude() == 0 {
            let columns = layer.columns();
            return Err(Skip::new(format!("sums of f32 are exact up to {EXACT_F32}: the case adds {columns} products")));
        }
        Ok(layer)
    }

    pub(super) fn pixels(&self) -> u64 {
        product([self.images, self.image_size, self.image_size])
    }

    pub(super) fn taps(&self) -> u64 {
        self.filter_size.pow(2)
    }

    /// Channels of all taps: the columns of the source as a matrix, and the products of a sum.
    pub(super) fn columns(&self) -> u64 {
        product([self.taps(), self.channels])
    }

    /// Elements of the result.
    pub(super) fn sums(&self) -> u64 {
        product([self.pixels(), self.filters])
    }

    /// Products of all sums; those with the zeros around an image count.
    pub(super) fn products(&self) -> u64 {
        product([self.sums(), self.columns()])
    }

    /// The largest absolute value of a factor with which every sum is exact, in any order.
    fn magnitude(&self) -> u64 {
        let largest = (EXACT_F32 / self.columns()).isqrt();
        if self.kind == F16_F32 { largest.min(MOST_HALF) } else { largest }
    }

    /// What is multiplied, the source and the weights: whole numbers.
    pub(super) fn whole(&self, seed: u64) -> Operands {
        let magnitude = u32::try_from(self.magnitude()).unwrap_or(1);
        self.operands([seed, !seed].map(|seed| match self.kind {
            F16_F32 => Sequence::WholeHalves { seed, magnitude },
            _ => Sequence::WholeFloats { seed, magnitude },
        }))
    }

    /// The same with full mantissas.
    pub(super) fn full(&self, seed: u64) -> Operands {
        self.operands([seed, !seed].map(|seed| match self.kind {
            F16_F32 => Sequence::FullHalves { seed },
            _ => Sequence::FullFloats { seed },
        }))
    }

    fn operands(&self, [source, weights]: [Sequence; 2]) -> Operands {
        let of = |sequence, elements| Operand { sequence, elements, is_half: self.kind == F16_F32 };
        [of(source, product([self.pixels(), self.channels])), of(weights, product([self.columns(), self.filters]))]
    }

    /// Where a column of a row of the source as a matrix lies in the source; nothing where a tap lies outside of its image.
    fn place(&self, row: u64, column: u64) -> Option<u64> {
        let Self { image_size: size, channels, filter_size, .. } = *self;
        let (tap, channel) = (column / channels, column % channels);
        let (x, y) = (row % size, row / size % size);
        let moved = |at: u64, tap: u64| (at + tap).checked_sub(filter_size / 2).filter(|at| *at < size);
        let (x, y) = (moved(x, tap % filter_size)?, moved(y, tap / filter_size)?);
        Some(((row / (size * size) * size + y) * size + x) * channels + channel)
    }

    /// What the result of whole numbers must hold.
    pub(super) fn expected(self, operands: Operands) -> Expected<'static> {
        Expected::floats_from(self.sums(), move || self.twin(operands))
    }

    /// The result as a picture: the first filter's numbers, image under image.
    ///
    /// # Errors
    /// Where it is too large to have numbers of 32 bits.
    pub(super) fn show(&self, case: &mut CaseBuilder, target: Handle) -> Result<(), Skip> {
        let size = [u32_of(self.image_size)?, u32_of(product([self.image_size, self.images]))?];
        case.shows(target, size, Texels::Floats { of: u32_of(self.filters)? });
        Ok(())
    }

    /// Each of its elements: the sums, product by product.
    #[expect(clippy::cast_possible_truncation, reason = "sums are exact in f32")]
    fn twin(self, [source, weights]: Operands) -> impl Fn(u64) -> f32 + Send + Sync {
        let (columns, filters) = (self.columns(), self.filters);
        let source: Vec<f64> = (0..source.elements).map(|i| source.value(i)).collect();
        // Filter by filter, so that what is multiplied lies side by side.
        let place = |i: u64| i % columns * filters + i / columns;
        let weights: Vec<f64> = (0..weights.elements).map(|i| weights.value(place(i))).collect();
        move |i| {
            let (row, filter) = (i / filters, i % filters);
            let sum_of = |tap: u64| {
                let column = tap * self.channels;
                let left = &source[range(self.place(row, column)?, self.channels)];
                let right = &weights[range(filter * columns + column, self.channels)];
                Some(left.iter().zip(right).map(|(a, b)| a * b).sum::<f64>())
            };
            (0..self.taps()).filter_map(sum_of).sum::<f64>() as f32
        }
    }

    /// Whether the result of whole numbers is too large to compare every element of.
    pub(super) fn is_large(&self) -> bool {
        self.products() > MOST_COMPARED
    }

    /// Whether the result of whole numbers is right: element by element, or by Freivalds' check where it is large.
    pub(super) fn check(&self, operands: Operands, target: Output) -> Verdict {
        if self.is_large() { self.check_product(operands, target) } else { target.compare(&self.expected(operands)) }
    }

    /// What the result of full mantissas must be near to.
    pub(super) fn expected_full(self, operands: Operands) -> Expected<'static> {
        Expected::near(self.sums(), move |i| self.near(operands, i / self.filters, &[i % self.filters])[0])
    }

    /// Whether the result of full mantissas can be right: some pixels are compared.
    pub(super) fn check_full(&self, operands: Operands, target: Output) -> Verdict {
        let words = target.words();
        if words.len() as u64 != self.sums() {
            let told = |words: u64| format!("{words} words long");
            return Err(Mismatch::single(target.name, Position::Whole, told(words.len() as u64), told(self.sums())));
        }
        let filters: Vec<u64> = (0..self.filters).collect();
        let got = |index| Some(f32::from_bits(*words.get(usize::try_from(index).ok()?)?).into());
        invariants::near_rows(target.name, [self.pixels(), self.filters], got, |pixel| self.near(operands, pixel, &filters))
    }

    /// A pixel's sums for these filters, and how far they may be off.
    fn near(&self, [source, weights]: Operands, pixel: u64, filters: &[u64]) -> Vec<Near> {
        let left = |column| self.place(pixel, column).map_or(0.0, |place| source.value(place));
        let left: Vec<f64> = (0..self.columns()).map(left).collect();
        let of = |filter: &u64| {
            Near::of_products((0..).zip(&left).map(|(column, a)| a * weights.value(column * self.filters + filter)))
        };
        filters.par_iter().map(of).collect()
    }

    /// Freivalds' check of the result of whole numbers.
    fn check_product(&self, [source, weights]: Operands, target: Output) -> Verdict {
        let [pixels, columns, filters] =
            [self.pixels(), self.columns(), self.filters].map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        let words = target.words();
        let left = |row: usize, column: usize| {
            let place = self.place(row as u64, column as u64);
            Some(place.map_or(0, |place| source.whole(place)))
        };
        let right = |row: usize, column: usize| Some(weights.whole((row * filters + column) as u64));
        let result = |row: usize, column: usize| {
            words.get(row * filters + column).and_then(|word| invariants::whole(f32::from_bits(*word).into()))
        };
        let matrix = |size, at| Matrix { size, at };
        invariants::product(
            target.name,
            [&matrix([pixels, columns], &left), &matrix([columns, filters], &right), &matrix([pixels, filters], &result)],
        )
    }
}

/// The source and the weights.
pub(super) type Operands = [Operand; 2];

impl Operand {
    /// Words of its buffer: kernels load whole vectors of 16 bytes.
    pub(super) fn words(&self) -> u64 {
        product([self.elements.div_ceil(if self.is_half { 8 } else { 4 }), 4])
    }

    fn value(&self, i: u64) -> f64 {
        if self.is_half { f16::to_f64(self.sequence.half(i)) } else { self.sequence.float(i).into() }
    }

    #[expect(clippy::cast_possible_truncation, reason = "it holds small whole numbers")]
    fn whole(&self, i: u64) -> i64 {
        self.value(i) as i64
    }
}

/// So many places from one on.
fn range(first: u64, count: u64) -> Range<usize> {
    let [first, end] = [first, first + count].map(|at| usize::try_from(at).unwrap_or(usize::MAX));
    first..end
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYER: Layer = Layer { kind: F32, images: 2, image_size: 3, channels: 5, filters: 4, filter_size: 3 };

    /// The result as the definition has it, in whole numbers.
    fn by_definition(layer: &Layer) -> Vec<i64> {
        let [source, weights] = layer.whole(7);
        let size = layer.image_size;
        let mut sums = Vec::new();
        for (image, y, x) in (0..layer.pixels()).map(|i| (i / size.pow(2), i / size % size, i % size)) {
            for filter in 0..layer.filters {
                let mut sum = 0;
                for (down, across) in (0..layer.taps()).map(|tap| (tap / layer.filter_size, tap % layer.filter_size)) {
                    let radius = layer.filter_size / 2;
                    let [in_y, in_x] = [(y + down).wrapping_sub(radius), (x + across).wrapping_sub(radius)];
                    if in_y >= size || in_x >= size {
                        continue;
                    }
                    for channel in 0..layer.channels {
                        let left = source.whole(((image * size + in_y) * size + in_x) * layer.channels + channel);
                        let column = (down * layer.filter_size + across) * layer.channels + channel;
                        sum += left * weights.whole(column * layer.filters + filter);
                    }
                }
                sums.push(sum);
            }
        }
        sums
    }

    fn check(layer: &Layer, sums: &[f32]) -> Verdict {
        let bytes: Vec<u8> = sums.iter().flat_map(|sum| sum.to_ne_bytes()).collect();
        layer.check_product(layer.whole(7), Output { name: "target", bytes: &bytes })
    }

    #[test]
    fn the_twin_is_the_definition_and_so_is_what_the_check_takes() {
        for layer in [LAYER, Layer { filter_size: 1, ..LAYER }, Layer { kind: F16_F32, image_size: 1, ..LAYER }] {
            let sums: Vec<f32> = (0..layer.sums()).map(layer.twin(layer.whole(7))).collect();
            let whole: Vec<i64> = sums.iter().map(|sum| invariants::whole((*sum).into()).unwrap()).collect();
            assert_eq!(whole, by_definition(&layer));
            assert_eq!(check(&layer, &sums), Ok(()));
        }
    }

    #[test]
    fn the_check_finds_what_is_wrong() {
        let sums: Vec<f32> = (0..LAYER.sums()).map(LAYER.twin(LAYER.whole(7))).collect();
        let with = |at: usize, sum: f32| {
            let mut sums = sums.clone();
            sums[at] = sum;
            check(&LAYER, &sums)
        };
        let wrong = [sums[9] + 1.0, -sums[9], 0.5, f32::NAN, f32::INFINITY];
        assert!(wrong.into_iter().filter(|sum| *sum != sums[9]).all(|sum| with(9, sum).is_err()));
        let mut swapped = sums.clone();
        swapped.swap(0, 4);
        assert!(check(&LAYER, &swapped).is_err());
        assert!(check(&LAYER, &sums[1..]).is_err());
    }

    #[test]
    fn full_mantissas_are_near_or_wrong() {
        for kind in [F32, F16_F32] {
            let layer = Layer { kind, ..LAYER };
            let operands = layer.full(7);
            let right = layer.expected_full(operands).bytes();
            let check = |bytes: &[u8]| layer.check_full(operands, Output { name: "target", bytes });
            assert_eq!(check(&right), Ok(()), "{kind}");
            let mut wrong = right.clone();
            wrong[4 * 9..4 * 10].copy_from_slice(&1.5_f32.to_ne_bytes());
            assert!(check(&wrong).is_err() && check(&right[4..]).is_err(), "{kind}");
        }
        // A pixel's sums, from whole numbers: as the definition has them.
        let near = |i: u64| LAYER.near(LAYER.whole(7), i / LAYER.filters, &[i % LAYER.filters])[0].value;
        let sums: Vec<Option<i64>> = (0..LAYER.sums()).map(|i| invariants::whole(near(i))).collect();
        assert!(sums.into_iter().flatten().eq(by_definition(&LAYER)));
    }

    #[test]
    fn numbers_are_as_large_as_sums_stay_exact() {
        for (kind, channels) in [(F32, 1), (F32, 128), (F16_F32, 1), (F16_F32, 128), (F32, EXACT_F32 / 9)] {
            let layer = Layer { kind, channels, ..LAYER };
            let most = |magnitude: u64| magnitude.pow(2) * layer.columns() <= EXACT_F32;
            let magnitude = layer.magnitude();
            assert!(magnitude > 0 && most(magnitude), "{layer:?}");
            assert!(!most(magnitude + 1) || (kind, magnitude) == (F16_F32, MOST_HALF), "{layer:?}");
        }
        assert_eq!(Layer { channels: EXACT_F32, ..LAYER }.magnitude(), 0);
    }
}
