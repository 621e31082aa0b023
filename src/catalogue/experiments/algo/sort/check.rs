//! What is sorted, and what tells whether it is.

use rayon::prelude::*;

use super::{Order, Rung};
use crate::experiments::common::prelude::*;
use crate::experiments::common::words;
use crate::validate::{Mismatch, Position, Verdict, invariants};

/// Keys up to which a twin sorts them as well, and every element is compared: it takes a fraction of a second.
const MOST_TWIN: u64 = 1 << 22;

/// Distinct keys where they are few.
const FEW: u32 = 16;

#[derive(Clone, Copy)]
pub(super) struct Problem {
    /// How many keys there are, fewer than 2^32.
    pub(super) n: u64,
    pub(super) keys: Sequence,
    /// The values: no two alike, so that each tells where its key was.
    pub(super) values: Option<Sequence>,
    places: Shuffled,
    is_stable: bool,
}

impl Problem {
    pub(super) fn of(config: &Config) -> Self {
        let (n, seed) = (config.integer("n"), config.seed());
        let keys = match Order::of(config.choice("order")) {
            Order::Random => Sequence::Words { seed },
            Order::Sorted => Sequence::Ascending { seed, n },
            Order::Few => Sequence::Few { seed, distinct: FEW },
        };
        let places = Shuffled { seed: !seed, n, block: n };
        let values = (config.choice("payload") == "word").then_some(Sequence::Shuffled(places));
        Self { n, keys, values, places, is_stable: Rung::of(config.variant) != Rung::Bitonic }
    }

    pub(super) fn expected_keys(self) -> Expected {
        Expected::words_from(self.n, move || {
            let mut keys: Vec<u32> = (0..self.n).into_par_iter().map(|i| self.keys.word(i)).collect();
            keys.par_sort_unstable();
            words::of(keys)
        })
    }

    /// Their values, those of equal keys in the order that they had.
    pub(super) fn expected_values(self) -> Expected {
        Expected::words_from(self.n, move || {
            let mut pairs: Vec<(u32, u64)> = (0..self.n).into_par_iter().map(|i| (self.keys.word(i), i)).collect();
            pairs.par_sort_unstable();
            words::of(pairs.into_par_iter().map(|(_, place)| Sequence::Shuffled(self.places).word(place)).collect())
        })
    }

    pub(super) fn checked(self, case: CaseBuilder, keys: Handle, values: Option<Handle>) -> CaseBuilder {
        match values {
            Some(values) => case.checked_by(move |left| self.check_pairs(left, keys, values)),
            None if self.n <= MOST_TWIN => case,
            None => case.holds("keys in order, and two sums over them those of the source's keys", move |left| {
                let output = left.of(keys);
                invariants::sorted(output.name, self.source(), &output.words())
            }),
        }
    }

    fn source(self) -> impl IndexedParallelIterator<Item = u32> {
        let n = usize::try_from(self.n).unwrap_or(usize::MAX);
        (0..n).into_par_iter().map(move |i| self.keys.word(i as u64))
    }

    /// Whether keys are in order and each value stands beside its own key, once: exact, since values tell where their keys were. What is
    /// stable leaves equal keys in the order that they had.
    fn check_pairs(self, left: &PassOutputs, keys: Handle, values: Handle) -> Verdict {
        let (key_output, value_output) = (left.of(keys), left.of(values));
        let (keys, values) = (key_output.words(), value_output.words());
        for (output, words) in [(key_output, &keys), (value_output, &values)] {
            if words.len() as u64 != self.n {
                let (got, right) = (words.len().to_string(), self.n.to_string());
                return Err(Mismatch::single(output.name, Position::Count, got, right));
            }
        }
        let disorder = keys.par_windows(2).position_first(|pair| pair[0] > pair[1]);
        if let Some(at) = disorder {
            let right = format!("{:#010x} at least, as the one before it", keys[at]);
            return Err(wrong(key_output.name, at + 1, keys[at + 1], right));
        }
        let place = |value: u32| (u64::from(value) < self.n).then(|| self.places.position(value.into()));
        let places: Vec<Option<u64>> = values.par_iter().map(|value| place(*value)).collect();
        let is_strange = |(place, key): (&Option<u64>, &u32)| place.is_none_or(|place| self.keys.word(place) != *key);
        let stranger = places.par_iter().zip(&keys).position_first(is_strange);
        if let Some(at) = stranger {
            return Err(wrong(value_output.name, at, values[at], format!("the value of a key {:#010x}", keys[at])));
        }
        if self.is_stable {
            // No value comes twice then, so that all are there.
            let is_late = |at: &usize| keys[*at] == keys[at + 1] && places[*at] >= places[at + 1];
            let late = (0..keys.len() - 1).into_par_iter().find_first(is_late);
            return late.map_or(Ok(()), |at| {
                Err(wrong(value_output.name, at + 1, values[at + 1], "that of a later one of the equal keys".to_owned()))
            });
        }
        let mut sorted = values;
        sorted.par_sort_unstable();
        let twice = sorted.par_windows(2).position_first(|pair| pair[0] == pair[1]);
        twice.map_or(Ok(()), |at| {
            let got = format!("{:#010x}, twice", sorted[at]);
            Err(Mismatch::single(value_output.name, Position::Sorted(at as u64 + 1), got, "each value once".to_owned()))
        })
    }
}

fn wrong(output: &str, at: usize, got: u32, right: String) -> Mismatch {
    Mismatch::single(output, Position::Element(at as u64), format!("{got:#010x}"), right)
}

#[cfg(test)]
mod tests {
    use super::super::testing::built;
    use crate::experiments::common::testing::{bytes, words};
    use crate::model::Check;
    use crate::validate::Verdict;

    /// What becomes of what a right pass would leave, changed.
    fn verdict(variant: &str, n: u64, payload: &str, change: impl FnOnce(&mut [Vec<u32>])) -> Verdict {
        built(variant, &format!("n={n} payload={payload} order=few"), |built| {
            assert_eq!(matches!(built.case.check, Check::Invariant(..)), n > super::MOST_TWIN && payload == "nothing");
            let mut outputs: Vec<Vec<u32>> = built.expected().iter().map(words).collect();
            change(&mut outputs);
            built.check(&outputs.iter().map(|words| bytes(words)).collect::<Vec<_>>())
        })
    }

    fn found(variant: &str, change: impl FnOnce(&mut [Vec<u32>])) -> Option<String> {
        verdict(variant, 1000, "word", change).err().map(|mismatch| mismatch.output)
    }

    #[test]
    fn what_is_right_is_found_so() {
        for variant in ["bitonic", "radix", "radix8", "onesweep"] {
            for payload in ["nothing", "word"] {
                assert_eq!([1, 1000].map(|n| verdict(variant, n, payload, |_| {})), [Ok(()), Ok(())], "{variant} {payload}");
            }
        }
        assert_eq!(verdict("radix", super::MOST_TWIN + 1, "nothing", |_| {}), Ok(()));
    }

    #[test]
    fn keys_are_all_there_and_in_order() {
        for n in [1000, super::MOST_TWIN + 1] {
            let other_key = verdict("onesweep", n, "nothing", |outputs| outputs[0][500] = outputs[0][501].wrapping_sub(1));
            let disorder = verdict("onesweep", n, "nothing", |outputs| outputs[0].reverse());
            assert!(other_key.is_err() && disorder.is_err(), "{n}");
        }
    }

    #[test]
    fn values_belong_to_their_keys_and_equal_keys_keep_their_order() {
        for variant in ["bitonic", "radix8"] {
            assert_eq!(found(variant, |outputs| outputs[0].swap(0, 999)).as_deref(), Some("target"));
            for wrong in [
                &(|outputs: &mut [Vec<u32>]| outputs[1].swap(0, 999)) as &dyn Fn(&mut [Vec<u32>]),
                &|outputs| outputs[1][5] = outputs[1][6],
                &|outputs| outputs[1][5] = 1000,
                &|outputs| {
                    outputs[1].pop();
                },
            ] {
                assert_eq!(found(variant, wrong).as_deref(), Some("target values"), "{variant}");
            }
        }
        // The first two keys of sixteen distinct ones are alike.
        let swapped = |outputs: &mut [Vec<u32>]| outputs[1].swap(0, 1);
        assert_eq!([found("bitonic", swapped), found("radix", swapped)], [None, Some("target values".to_owned())]);
    }
}
