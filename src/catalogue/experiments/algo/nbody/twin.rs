//! What bodies attract each other by, in `f64`, and how far `f32` may be from it.

use rayon::prelude::*;

use super::VECTOR;
use crate::model::Sequence;
use crate::validate::{Expected, Mismatch, Near, Output, Position, Verdict};

/// The square of a distance, as the shader has it.
const SOFTENING: f64 = 68_719_476_736.0;

const SAMPLES: u64 = 256;

/// Roundings of one term, counted as if each of its factors had them all: four of the square of the distance, half of which
/// the root leaves, and two of its own (Vulkan, Precision and Operation of SPIR-V Instructions: `inversesqrt` is right within 2 ULP), all
/// that three times, and four multiplications. The difference of two places is exact.
const ROUNDINGS: u64 = 3 * (4 / 2 + 2) + 4 + 1;

/// x, y, z and mass.
type Body = [f64; 4];

/// The bodies, and how a kernel adds up.
#[derive(Clone, Copy)]
pub(super) struct Twin {
    pub(super) source: Sequence,
    pub(super) count: u64,
    /// Additions that a term goes through, at most.
    pub(super) terms_in_a_row: u64,
}

impl Twin {
    pub(super) fn expected(self) -> Expected {
        Expected::near_from(self.count * VECTOR, move || {
            let bodies = self.bodies();
            let all: Vec<[Near; 4]> = bodies.par_iter().map(|body| self.acceleration(body, &bodies)).collect();
            move |word| usize::try_from(word / VECTOR).ok().and_then(|at| all.get(at)).map_or(NOTHING, |all| all[lane(word)])
        })
    }

    pub(super) fn samples(&self, accelerations: Output) -> Verdict {
        let (bodies, found) = (self.bodies(), accelerations.words());
        let sampled: Vec<u64> = (0..SAMPLES).map(|k| k * (self.count - 1) / (SAMPLES - 1)).collect();
        let wrong = |body: u64| {
            let expected = self.acceleration(bodies.get(usize::try_from(body).ok()?)?, &bodies);
            (body * VECTOR..(body + 1) * VECTOR).find_map(|word| {
                let Near { value, error } = expected[lane(word)];
                let got = usize::try_from(word).ok().and_then(|word| found.get(word)).map(|bits| f32::from_bits(*bits));
                let is_right = got.is_some_and(|got| (f64::from(got) - value).abs() <= error);
                (!is_right).then(|| (word, got.map_or("nothing".to_owned(), |got| format!("{got:?}")), value, error))
            })
        };
        let first = sampled.into_par_iter().filter_map(wrong).min_by_key(|(word, ..)| *word);
        first.map_or(Ok(()), |(word, got, value, error)| {
            let right = format!("{value:?} within {error:?}");
            Err(Mismatch::single(accelerations.name, Position::Element(word), got, right))
        })
    }

    /// Whether forces cancel out: what one body does to another one, that one does to it.
    pub(super) fn momentum(&self, accelerations: Output) -> Verdict {
        let (bodies, found) = (self.bodies(), accelerations.words());
        let all_mass: f64 = bodies.iter().map(|body| body[3]).sum();
        // No attraction is stronger than that at the distance where SOFTENING / distance^2 is 2.
        let strongest = 2.0 / (3.0 * 3.0_f64.sqrt() * SOFTENING);
        let most = Near { value: 0.0, error: 0.0 }.rounded(self.operations(), all_mass * strongest).error * all_mass;
        for component in 0..3 {
            let force = |(body, found): (&Body, &[u32])| {
                found.get(component).map_or(f64::NAN, |bits| body[3] * f64::from(f32::from_bits(*bits)))
            };
            let missing = if found.len() == 4 * bodies.len() { 0.0 } else { f64::NAN };
            let sum: f64 = bodies.iter().zip(found.chunks(4)).map(force).sum::<f64>() + missing;
            // Neither is it what is no number.
            let is_explained = sum.abs() <= most;
            if !is_explained {
                let (got, right) =
                    (format!("a change of momentum by {sum:?}"), format!("none but roundings, {most:?} at most"));
                return Err(Mismatch::single(accelerations.name, Position::Whole, got, right));
            }
        }
        Ok(())
    }

    fn bodies(&self) -> Vec<Body> {
        let body = |body: u64| {
            let [x, y, z, mass] = [0, 1, 2, 3].map(|word| f64::from(self.source.float(body * VECTOR + word)));
            [x, y, z, mass.abs()]
        };
        (0..self.count).into_par_iter().map(body).collect()
    }

    /// What all bodies do to one, and a last word that is zero.
    fn acceleration(&self, body: &Body, bodies: &[Body]) -> [Near; 4] {
        let (mut sum, mut all) = ([0.0; 3], [0.0; 3]);
        for other in bodies {
            let r = [0, 1, 2].map(|component| other[component] - body[component]);
            let distance_squared = r.iter().map(|part| part * part).sum::<f64>() + SOFTENING;
            let scale = other[3] / (distance_squared * distance_squared.sqrt());
            for component in 0..3 {
                sum[component] += r[component] * scale;
                all[component] += (r[component] * scale).abs();
            }
        }
        let near = |component: usize| Near { value: sum[component], error: 0.0 }.rounded(self.operations(), all[component]);
        [near(0), near(1), near(2), NOTHING]
    }

    /// Operations that lead to an acceleration one after the other.
    fn operations(&self) -> u64 {
        self.terms_in_a_row + ROUNDINGS
    }
}

const NOTHING: Near = Near { value: 0.0, error: 0.0 };

fn lane(word: u64) -> usize {
    usize::try_from(word % VECTOR).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::testing::{bytes, words};

    fn twin(count: u64) -> Twin {
        let source = Sequence::WholeFloats { seed: 3, magnitude: super::super::MAGNITUDE };
        Twin { source, count, terms_in_a_row: 128 + count / 128 + 8 }
    }

    #[test]
    fn two_bodies_attract_each_other_along_the_line_between_them() {
        let twin = twin(2);
        let bodies = [[0.0, 0.0, 0.0, 2.0], [3.0, 4.0, 0.0, 1.0]];
        let [x, y, z, _] = twin.acceleration(&bodies[0], &bodies);
        let all = 5.0 / (25.0 + SOFTENING).powf(1.5);
        assert!((x.value - 0.6 * all).abs() < 1e-9 * all && (y.value - 0.8 * all).abs() < 1e-9 * all && z == NOTHING);
        assert!(x.error > 0.0 && x.error < 1e-4 * all);
    }

    #[test]
    fn accelerations_that_are_wrong_are_found() {
        let twin = twin(600);
        let right = words(&twin.expected());
        let check = |words: &[u32]| {
            let output = bytes(words);
            let output = Output { name: "accelerations", bytes: &output };
            (twin.samples(output), twin.momentum(output))
        };
        assert_eq!(check(&right), (Ok(()), Ok(())));
        let halved: Vec<u32> = right
            .iter()
            .enumerate()
            .map(|(i, bits)| if i % 8 < 4 { *bits } else { (f32::from_bits(*bits) / 2.0).to_bits() })
            .collect();
        assert!(check(&halved).0.is_err());
        let one_side: Vec<u32> = right.iter().map(|bits| f32::from_bits(*bits).max(0.0).to_bits()).collect();
        assert!(check(&one_side).1.is_err());
        assert!(check(&right[4..]).1.is_err(), "a body is missing");
        let mut poisoned = right.clone();
        poisoned[5] = crate::model::POISON;
        assert!(check(&poisoned).1.is_err());
    }
}
