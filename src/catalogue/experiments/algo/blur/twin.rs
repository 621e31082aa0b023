//! The twin of `algo/blur`: exact sums of whole weights times bytes, along rows and then along columns.

use rayon::prelude::*;

use super::filter::Filter;
use crate::model::Sequence;
use crate::validate::{Mismatch, Output, Position, TexelPosition, Verdict};

const CHANNELS: usize = 4;

/// Rows that are blurred together: their halo is blurred once for them.
const BAND: usize = 64;

pub(super) struct Blurred {
    size: usize,
    /// Channel by channel: the sum of all bytes, each as often as both weights say.
    sums: Vec<u32>,
    /// What all weights add up to, of both axes.
    total: f64,
}

impl Blurred {
    /// The picture, of so many pixels along a side. Beyond an edge are the pixels at the edge.
    pub(super) fn of(source: Sequence, size: u32, filter: &Filter) -> Self {
        let size = size as usize;
        let radius = filter.weights.len() / 2;
        let width = CHANNELS * size;
        let mut sums = vec![0_u32; width * size];
        sums.par_chunks_mut(BAND * width).enumerate().for_each(|(band, sums)| {
            let first = band * BAND;
            let rows = sums.len() / width;
            // From `radius` above the band to `radius` below it.
            let blurred: Vec<Vec<u32>> = (0..rows + 2 * radius)
                .map(|row| blurred_row(source, size, (first + row).saturating_sub(radius).min(size - 1), filter))
                .collect();
            for (row, sums) in sums.chunks_exact_mut(width).enumerate() {
                for (weight, above) in filter.weights.iter().zip(&blurred[row..]) {
                    sums.iter_mut().zip(above).for_each(|(sum, one)| *sum += weight * one);
                }
            }
        });
        Self { size, sums, total: f64::from(filter.total()).powi(2) }
    }

    /// The exact value of a channel of a pixel, in steps of bytes.
    fn exact(&self, pixel: usize, channel: usize) -> f64 {
        f64::from(self.sums[CHANNELS * pixel + channel]) / self.total
    }

    /// The pixel that is as near as bytes come.
    pub(super) fn nearest(&self, pixel: u64) -> u32 {
        let Ok(pixel) = usize::try_from(pixel) else { return 0 };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 255")]
        let byte = |channel| self.exact(pixel, channel).round() as u8;
        u32::from_ne_bytes([0, 1, 2, 3].map(byte))
    }

    /// Compares each byte with the exact value, from which it may be off by so much.
    pub(super) fn compare(&self, output: Output, error: f64) -> Verdict {
        if output.bytes.len() != self.sums.len() {
            let counts = [output.bytes.len(), self.sums.len()].map(|bytes| format!("{bytes} bytes"));
            let [got, expected] = counts;
            return Err(Mismatch::single(output.name, Position::Whole, got, expected));
        }
        let is_wrong = |at: &usize| {
            let exact = self.exact(at / CHANNELS, at % CHANNELS);
            (f64::from(output.bytes[*at]) - exact).abs() > error
        };
        let wrong = (0..self.sums.len()).into_par_iter().filter(is_wrong).count() as u64;
        let Some(at) = (wrong > 0).then(|| (0..self.sums.len()).find(is_wrong)).flatten() else { return Ok(()) };
        let (pixel, channel) = (at / CHANNELS, at % CHANNELS);
        let place = vec![(pixel % self.size) as u64, (pixel / self.size) as u64];
        let texel = TexelPosition { place, component: ["r", "g", "b", "a"][channel] };
        let expected = format!("{:.3} within {error:.3}", self.exact(pixel, channel));
        let found = Mismatch::single(output.name, Position::Texel(Box::new(texel)), output.bytes[at].to_string(), expected);
        Err(Mismatch { wrong, total: self.sums.len() as u64, ..found })
    }
}

fn blurred_row(source: Sequence, size: usize, row: usize, filter: &Filter) -> Vec<u32> {
    let radius = filter.weights.len() / 2;
    let pixel = |at: usize| source.word((row * size + at.saturating_sub(radius).min(size - 1)) as u64);
    // With the pixels beyond both ends.
    let line: Vec<u32> = (0..size + 2 * radius).flat_map(|at| pixel(at).to_ne_bytes()).map(u32::from).collect();
    let mut sums = vec![0_u32; CHANNELS * size];
    for (tap, weight) in filter.weights.iter().enumerate() {
        sums.iter_mut().zip(&line[CHANNELS * tap..]).for_each(|(sum, byte)| *sum += weight * byte);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All taps of both axes at once, as the first variant has them.
    fn direct(source: Sequence, size: usize, filter: &Filter, [x, y]: [usize; 2], channel: usize) -> u32 {
        let radius = filter.weights.len() / 2;
        let inside = |at: usize| at.saturating_sub(radius).min(size - 1);
        let weighed = |down: usize, across: usize| {
            let word = source.word((inside(y + down) * size + inside(x + across)) as u64);
            filter.weights[down] * filter.weights[across] * u32::from(word.to_ne_bytes()[channel])
        };
        let taps = filter.weights.len();
        (0..taps).map(|down| (0..taps).map(|across| weighed(down, across)).sum::<u32>()).sum()
    }

    #[test]
    fn axis_by_axis_is_all_at_once() {
        for (size, filter) in [(1, Filter::new(false, 3)), (5, Filter::new(true, 4)), (70, Filter::new(false, 2))] {
            let source = Sequence::Picture { seed: 3, width: size };
            let blurred = Blurred::of(source, size, &filter);
            let size = size as usize;
            for at in [0, size / 2, size - 1, (size - 1) * size, size * size - 1] {
                for channel in 0..CHANNELS {
                    let sum = direct(source, size, &filter, [at % size, at / size], channel);
                    assert_eq!(blurred.sums[CHANNELS * at + channel], sum, "{size} {at}");
                }
            }
        }
    }

    #[test]
    fn a_byte_that_is_too_far_off_is_named() {
        let blurred = Blurred::of(Sequence::Picture { seed: 3, width: 5 }, 5, &Filter::new(false, 1));
        let mut bytes: Vec<u8> = (0..25).flat_map(|at| blurred.nearest(at).to_ne_bytes()).collect();
        let check = |bytes: &[u8]| blurred.compare(Output { name: "target", bytes }, 0.5);
        assert_eq!(check(&bytes), Ok(()));
        assert!(check(&bytes[1..]).is_err());
        bytes[4 * 7 + 2] ^= 2;
        let mismatch = check(&bytes).unwrap_err();
        assert_eq!((mismatch.wrong, mismatch.total), (1, 100));
        assert!(mismatch.to_string().starts_with("target[2, 1].b is "), "{mismatch}");
    }
}
