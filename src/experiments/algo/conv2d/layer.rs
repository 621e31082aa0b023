//! The layer of a network that `algo/conv2d` computes: its sizes, its data, its twin, and what must be true of its results.

use std::ops::Range;

use half::f16;

use crate::experiments::{Config, product};
use crate::model::{Axis, AxisKind, Sequence, Skip};
use crate::validate::invariants::{self, Matrix};
use crate::validate::{Output, Verdict};

/// Factors and sums of `f32`.
pub(super) const F32: &str = "f32";
/// Factors of `f16`, sums of `f32`.
pub(super) const F16_F32: &str = "f16_f32";

/// Up to here every whole number is exact as `f32`.
const EXACT_F32: u64 = 1 << 24;
/// The same of what stands in an `f16`, as far as sequences go.
const MOST_HALF: u64 = 1 << 10;

/// Layers that are measured unless told otherwise.
pub(super) const OF_GPUS: &[&str] = &["8x56x128x128x3", "8x56x256x64x1", "3x29x37x41x3"];
/// The same on CPUs.
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
    /// Images.
    pub(super) images: u64,
    /// Width and height of each.
    pub(super) image_size: u64,
    /// Channels of a pixel.
    pub(super) channels: u64,
    /// Filters.
    pub(super) filters: u64,
    /// Width and height of each, an odd number.
    pub(super) filter_size: u64,
}

/// One of the two factors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operand {
    /// What it holds: whole numbers.
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

    /// Pixels of all images.
    pub(super) fn pixels(&self) -> u64 {
        product([self.images, self.image_size, self.image_size])
    }

    /// Places of a filter.
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

    /// What is multiplied: the source and the weights.
    pub(super) fn operands(&self, seed: u64) -> [Operand; 2] {
        let magnitude = u32::try_from(self.magnitude()).unwrap_or(1);
        let is_half = self.kind == F16_F32;
        let of = |seed: u64, elements: u64| {
            let sequence =
                if is_half { Sequence::WholeHalves { seed, magnitude } } else { Sequence::WholeFloats { seed, magnitude } };
            Operand { sequence, elements, is_half }
        };
        [of(seed, product([self.pixels(), self.channels])), of(!seed, product([self.columns(), self.filters]))]
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

    /// What each element of the result must be: the sums, product by product.
    #[expect(clippy::cast_possible_truncation, reason = "sums are exact in f32")]
    pub(super) fn twin(self, source: Operand, weights: Operand) -> impl Fn(u64) -> f32 + Send + Sync {
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

    /// Whether the result can be right: what `INVARIANT` says.
    pub(super) fn check(&self, source: Operand, weights: Operand, target: Output) -> Verdict {
        let [pixels, columns, filters] =
            [self.pixels(), self.columns(), self.filters].map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        let words = target.words();
        let left = |row: usize, column: usize| {
            let place = self.place(row as u64, column as u64);
            Some(place.map_or(0, |place| source.whole(place)))
        };
        let right = |row: usize, column: usize| Some(weights.whole((row * filters + column) as u64));
        let result =
            |row: usize, column: usize| words.get(row * filters + column).and_then(|word| whole(f32::from_bits(*word)));
        let matrix = |size, at| Matrix { size, at };
        invariants::product(
            target.name,
            [&matrix([pixels, columns], &left), &matrix([columns, filters], &right), &matrix([pixels, filters], &result)],
        )
    }
}

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

/// A float as the whole number that it is; nothing where it is none.
#[expect(clippy::cast_possible_truncation, reason = "it is checked")]
fn whole(float: f32) -> Option<i64> {
    let is_whole = float.is_finite() && float.fract() == 0.0 && float.abs() <= EXACT_F32 as f32;
    is_whole.then_some(float as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYER: Layer = Layer { kind: F32, images: 2, image_size: 3, channels: 5, filters: 4, filter_size: 3 };

    /// The result as the definition has it, in whole numbers.
    fn by_definition(layer: &Layer) -> Vec<i64> {
        let [source, weights] = layer.operands(7);
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
        let [source, weights] = layer.operands(7);
        layer.check(source, weights, Output { name: "target", bytes: &bytes })
    }

    #[test]
    fn the_twin_is_the_definition_and_so_is_what_the_check_takes() {
        for layer in [LAYER, Layer { filter_size: 1, ..LAYER }, Layer { kind: F16_F32, image_size: 1, ..LAYER }] {
            let [source, weights] = layer.operands(7);
            let twin = layer.twin(source, weights);
            let sums: Vec<f32> = (0..layer.sums()).map(twin).collect();
            let whole: Vec<i64> = sums.iter().map(|sum| whole(*sum).unwrap()).collect();
            assert_eq!(whole, by_definition(&layer));
            assert_eq!(check(&layer, &sums), Ok(()));
        }
    }

    #[test]
    fn the_check_finds_what_is_wrong() {
        let [source, weights] = LAYER.operands(7);
        let sums: Vec<f32> = (0..LAYER.sums()).map(LAYER.twin(source, weights)).collect();
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
