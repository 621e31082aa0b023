//! The layer of a network that `algo/conv2d` computes: its sizes, its data, its twin, and what must be true of its results.

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
pub(super) const OF_CPUS: &[&str] = &["1x8x8x8x3", "1x8x16x8x1", "1x7x5x3x3"];
/// All that have a name.
pub(super) const LAYERS: &[&str] =
    &["8x56x128x128x3", "8x56x256x64x1", "3x29x37x41x3", "1x8x8x8x3", "1x8x16x8x1", "1x7x5x3x3"];

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
        let source: Vec<f64> = (0..source.elements).map(|i| source.value(i)).collect();
        // Filter by filter, so that what is multiplied lies side by side.
        let (columns, filters) = (self.columns(), self.filters);
        let place = |i: u64| i % columns * filters + i / columns;
        let weights: Vec<f64> = (0..weights.elements).map(|i| weights.value(place(i))).collect();
        let slice = |values: &[f64], first: u64, count: u64| {
            let [first, end] = [first, first + count].map(|at| usize::try_from(at).unwrap_or(usize::MAX));
            values.get(first..end).unwrap_or_default().to_vec()
        };
        let tap_sum = move |row: u64, filter: u64, tap: u64| {
            let column = tap * self.channels;
            let first = self.place(row, column)?;
            let left = slice(&source, first, self.channels);
            let right = slice(&weights, filter * columns + column, self.channels);
            Some(left.iter().zip(right).map(|(a, b)| a * b).sum::<f64>())
        };
        move |i| (0..self.taps()).filter_map(|tap| tap_sum(i / filters, i % filters, tap)).sum::<f64>() as f32
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
        let result = |row: usize, column: usize| words.get(row * filters + column).and_then(|word| whole(f32::from_bits(*word)));
        let matrix = |size, at| Matrix { size, at };
        invariants::product(
            target.name,
            [
                &matrix([pixels, columns], &left),
                &matrix([columns, filters], &right),
                &matrix([pixels, filters], &result),
            ],
        )
    }
}

impl Operand {
    /// Words of its buffer: kernels load whole vectors.
    pub(super) fn words(&self) -> u64 {
        let elements = self.elements.next_multiple_of(4);
        if self.is_half { elements / 2 } else { elements }
    }

    fn value(&self, i: u64) -> f64 {
        if self.is_half { f16::to_f64(self.sequence.half(i)) } else { self.sequence.float(i).into() }
    }

    #[expect(clippy::cast_possible_truncation, reason = "it holds small whole numbers")]
    fn whole(&self, i: u64) -> i64 {
        self.value(i) as i64
    }
}

/// A float as the whole number that it is; nothing where it is none.
#[expect(clippy::cast_possible_truncation, reason = "it is checked")]
fn whole(float: f32) -> Option<i64> {
    let is_whole = float.is_finite() && float.fract() == 0.0 && float.abs() <= EXACT_F32 as f32;
    is_whole.then_some(float as i64)
}
