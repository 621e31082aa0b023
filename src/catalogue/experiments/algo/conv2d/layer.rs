//! The layer of a network that `algo/conv2d` computes: its sizes, its data and its twin.

use crate::experiments::common::components::{Kind, kind};
use crate::experiments::common::factored::{Factored, Factors, row};
use crate::experiments::{CaseBuilder, Config, Handle, product, u32_of};
use crate::model::{Axis, AxisKind, Component, Skip, Texels};
use crate::validate::Expected;

/// Up to here every whole number is exact as `f32`.
const EXACT_F32: u64 = 1 << 24;
/// The same of what stands in an `f16`, as far as sequences go.
const MOST_HALF: u64 = 1 << 10;

/// Layers that are measured unless told otherwise.
pub(super) const OF_GPUS: &[&str] = &["8x56x128x128x3", "8x56x256x64x1", "3x29x37x41x3"];
pub(super) const OF_CPUS: &[&str] = &["1x16x16x16x3", "1x16x32x16x1", "1x7x5x3x3"];
pub(super) const LAYERS: &[&str] =
    &["8x56x128x128x3", "8x56x256x64x1", "3x29x37x41x3", "1x16x16x16x3", "1x16x32x16x1", "1x7x5x3x3"];

/// The most that a size may be: all that fit into memory are smaller.
const MOST: u64 = 1 << 24;

/// The axes of a layer's sizes, each in the place of one of those that its name tells.
pub(super) fn axes() -> [Axis; 5] {
    let axis = |name, description, kind| Axis::new(name, description, kind, [0_u64]);
    let size = |name, description| axis(name, description, AxisKind::AtLeast(0)).up_to(MOST);
    [
        size("images", "images; 0 for as many as the layer's name says"),
        size("image_size", "width and height of an image, pixels; 0 for what the layer's name says"),
        size("channels", "channels of a pixel; 0 for as many as the layer's name says"),
        size("filters", "filters, and with them channels of the result; 0 for as many as the layer's name says"),
        axis("filter_size", "width and height of a filter; 0 for what the layer's name says", AxisKind::Numbers(&[0, 1, 3])),
    ]
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Layer {
    pub(super) kind: Kind,
    pub(super) images: u64,
    /// Width and height of each.
    pub(super) image_size: u64,
    pub(super) channels: u64,
    pub(super) filters: u64,
    /// Width and height of each, an odd number.
    pub(super) filter_size: u64,
}

impl Layer {
    /// Skipped: one whose sums might not be exact.
    pub(super) fn new(config: &Config) -> Result<Self, Skip> {
        let mut named = config.choice("layer").split('x').filter_map(|size| size.parse().ok());
        let mut size = |axis: &str| match (config.integer(axis), named.next().unwrap_or(1)) {
            (0, named) => named,
            (own, _) => own,
        };
        let layer = Self {
            kind: kind(config.choice("type")),
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

    /// Channels of all taps: the columns of the source as a matrix, and the products of a sum. Those with the zeros around an image
    /// count.
    pub(super) fn columns(&self) -> u64 {
        product([self.taps(), self.channels])
    }

    /// The largest absolute value of a factor with which every sum is exact, in any order.
    fn magnitude(&self) -> u64 {
        let largest = (EXACT_F32 / self.columns()).isqrt();
        if self.kind.factor == Component::F16 { largest.min(MOST_HALF) } else { largest }
    }

    /// What is multiplied, the source and the weights: whole numbers.
    pub(super) fn whole(&self, seed: u64) -> Factors {
        let kind = Kind { magnitude: u32::try_from(self.magnitude()).unwrap_or(1), ..self.kind };
        [kind.contents(seed), kind.contents(!seed)]
    }

    /// The result as a picture: the first filter's numbers, image under image. Skipped: where it is too large to have numbers of 32 bits.
    pub(super) fn show(&self, case: &mut CaseBuilder, target: Handle) -> Result<(), Skip> {
        let size = [u32_of(self.image_size)?, u32_of(product([self.image_size, self.images]))?];
        case.shows(target, size, Texels::Floats { of: u32_of(self.filters)? });
        Ok(())
    }
}

impl Factored for Layer {
    fn kind(&self) -> Kind {
        self.kind
    }

    fn sizes(&self) -> [u64; 3] {
        [self.pixels(), self.filters, self.columns()]
    }

    fn elements(&self) -> [u64; 2] {
        [product([self.pixels(), self.channels]), product([self.columns(), self.filters])]
    }

    /// Nothing where a tap lies outside of its image.
    fn left(&self, row: u64, column: u64) -> Option<u64> {
        let Self { image_size: size, channels, filter_size, .. } = *self;
        let (tap, channel) = (column / channels, column % channels);
        let (x, y) = (row % size, row / size % size);
        let moved = |at: u64, tap: u64| (at + tap).checked_sub(filter_size / 2).filter(|at| *at < size);
        let (x, y) = (moved(x, tap % filter_size)?, moved(y, tap / filter_size)?);
        Some(((row / (size * size) * size + y) * size + x) * channels + channel)
    }

    fn right(&self, column: u64, filter: u64) -> u64 {
        column * self.filters + filter
    }

    fn expected(self, factors: Factors) -> Expected {
        #[expect(clippy::cast_precision_loss, reason = "sums are exact in f32")]
        Expected::floats_from(self.sums(), move || {
            let sum = self.twin(factors);
            move |i| sum(i) as f32
        })
    }

    fn twin(self, [source, weights]: Factors) -> impl Fn(u64) -> i64 + Send + Sync {
        let (columns, filters, channels) = (self.columns(), self.filters, self.channels);
        let value = |of, place| i64::from(self.kind.value(of, place));
        let [sources, all] = self.elements();
        let source: Vec<i64> = (0..sources).map(|place| value(source, place)).collect();
        // Filter by filter, so that what is multiplied lies side by side.
        let weights: Vec<i64> = (0..all).map(|i| value(weights, self.right(i % columns, i / columns))).collect();
        move |i| {
            let (pixel, filter) = (i / filters, i % filters);
            let sum_of = |tap: u64| {
                let left = row(&source, self.left(pixel, tap * channels)?, channels);
                let right = row(&weights, filter * columns + tap * channels, channels);
                Some(left.iter().zip(right).map(|(a, b)| a * b).sum::<i64>())
            };
            (0..self.taps()).filter_map(sum_of).sum()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::testing::bytes;
    use crate::validate::{Output, invariants};

    fn layer(kind_name: &str) -> Layer {
        Layer { kind: kind(kind_name), images: 2, image_size: 3, channels: 5, filters: 4, filter_size: 3 }
    }

    fn by_definition(layer: &Layer) -> Vec<i64> {
        let [source, weights] = layer.whole(7);
        let value = |of, place| i64::from(layer.kind.value(of, place));
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
                        let left = value(source, ((image * size + in_y) * size + in_x) * layer.channels + channel);
                        let column = (down * layer.filter_size + across) * layer.channels + channel;
                        sum += left * value(weights, column * layer.filters + filter);
                    }
                }
                sums.push(sum);
            }
        }
        sums
    }

    #[test]
    fn the_twin_is_the_definition_and_so_is_what_the_checks_take() {
        for layer in [
            layer("f32"),
            Layer { filter_size: 1, ..layer("f32") },
            layer("f16_f32"),
            Layer { image_size: 1, ..layer("f16_f32") },
        ] {
            let factors = layer.whole(7);
            let sums: Vec<i64> = (0..layer.sums()).map(layer.twin(factors)).collect();
            assert_eq!(sums, by_definition(&layer));
            let mut words: Vec<u32> = sums.iter().map(|sum| layer.kind.bits(*sum)).collect();
            let check = |words: &[u32]| layer.check_whole(factors, Output { name: "target", bytes: &bytes(words) });
            assert_eq!(check(&words), Ok(()));
            let near = |i: u64| layer.near(factors, i / layer.filters, &[i % layer.filters])[0].value;
            assert!((0..layer.sums()).map(|i| invariants::whole(near(i)).unwrap()).eq(sums));
            words[1] ^= 1 << 30;
            assert!(check(&words).is_err());
        }
    }

    #[test]
    fn the_check_finds_what_is_wrong() {
        let layer = layer("f32");
        let factors = layer.whole(7);
        let right = layer.expected(factors).bytes();
        let check = |bytes: &[u8]| layer.check_whole(factors, Output { name: "target", bytes });
        let sum = f32::from_ne_bytes(right[36..40].try_into().unwrap());
        for wrong in [sum + 1.0, -sum, 0.5, f32::NAN, f32::INFINITY].into_iter().filter(|wrong| *wrong != sum) {
            assert!(check(&[&right[..36], &wrong.to_ne_bytes(), &right[40..]].concat()).is_err(), "{wrong}");
        }
        let swapped = [&right[16..20], &right[4..16], &right[..4], &right[20..]].concat();
        assert!(check(&swapped).is_err() && check(&right[4..]).is_err());
    }

    #[test]
    fn full_mantissas_are_near_or_wrong() {
        for layer in ["f32", "f16_f32"].map(layer) {
            let factors = layer.full(7);
            let right = layer.expected_full(factors).bytes();
            let check = |bytes: &[u8]| layer.check_full(factors, Output { name: "target", bytes });
            assert_eq!(check(&right), Ok(()), "{layer:?}");
            let wrong = [&right[..36], &1.5_f32.to_ne_bytes(), &right[40..]].concat();
            assert!(check(&wrong).is_err() && check(&right[4..]).is_err(), "{layer:?}");
        }
    }

    #[test]
    fn numbers_are_as_large_as_sums_stay_exact() {
        for (name, channels) in [("f32", 1), ("f32", 128), ("f16_f32", 1), ("f16_f32", 128), ("f32", EXACT_F32 / 9)] {
            let layer = Layer { channels, ..layer(name) };
            let most = |magnitude: u64| magnitude.pow(2) * layer.columns() <= EXACT_F32;
            let magnitude = layer.magnitude();
            assert!(magnitude > 0 && most(magnitude), "{layer:?}");
            assert!(!most(magnitude + 1) || (name, magnitude) == ("f16_f32", MOST_HALF), "{layer:?}");
        }
        assert_eq!(Layer { channels: EXACT_F32, ..layer("f32") }.magnitude(), 0);
    }
}
