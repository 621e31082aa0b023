//! `algo/argmax`: what brings the search for the largest value, and for where it is, to the speed of memory?

use crate::experiments::common::parts::in_parts;
use crate::experiments::common::prelude::*;
use crate::experiments::common::reduction::{self, Rounds, VECTOR, by_subgroups, dealt, padded, taking};

pub const EXPERIMENT: Experiment = Experiment {
    variants: Rung::WORDS,
    quick_variants: &[Rung::Atomics.word(), Rung::Vector.word()],
    peak_kind: Some("global"),
    repeatability: |_| Repeatability::Memory,
    axes_of: Some(|variant, setting| axes(setting, Rung::of(variant) == Rung::Vector)),
    traffic: reduction::traffic,
    ..Experiment::of_ladder(LADDER, |setting| axes(setting, false), build)
};

choices! {
    enum Rung { Atomics = "atomics", Tree = "tree", Subgroup = "subgroup", Vector = "vector" }
}

const DATA: &[&str] = &["random", "ascending"];

const KEY: u64 = 2;

const LADDER: Ladder = Ladder { experiment: "algo/argmax", first: "atomics", choices: &["local_size_x", "items"] };

fn build(config: &Config) -> Result<Built, Skip> {
    let n = config.integer("n");
    let (words, count) = (padded(n)?, u32_of(n)?);
    let values = values(config, n, words);
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let key = move || {
        let key = largest_key(n, |i| values.word(i));
        move |word| halves(key)[usize::from(word > 0)]
    };
    let result = case.output("result", Expected::words_from(KEY, key));
    let source = case.input("source", words, values);
    let (rung, items) = (Rung::of(config.variant), config.integer("items"));
    let width = if rung == Rung::Vector { VECTOR } else { 1 };
    let elements = dealt(n.div_ceil(width), width, config)?;
    let of = |shader| taking(shader, items, config);
    let mut in_rounds = |first: Kernel, later: Kernel| {
        let later = later.define("KEYS", "");
        let kernel = |is_first| if is_first { first.clone() } else { later.clone() };
        Rounds { source, elements, count, words: KEY, result }.dispatch(&mut case, config, kernel)
    };
    match rung {
        Rung::Atomics => {
            config.require(&[Feature::Int64, Feature::BufferInt64Atomics])?;
            case.fill(result, 0);
            case.barrier();
            case.run(of("algo/argmax_atomics.comp"), &[result, source], elements.groups, &[count]);
        }
        Rung::Tree => in_rounds(of("algo/argmax_tree.comp"), of("algo/argmax_tree.comp"))?,
        Rung::Subgroup | Rung::Vector => {
            let narrow = by_subgroups(of("algo/argmax_subgroup.comp"), config)?;
            let wide = by_subgroups(taking("algo/argmax_vector.comp", items / width, config), config)?;
            in_rounds(if rung == Rung::Vector { wide } else { narrow.clone() }, narrow)?;
        }
    }
    let work = Work { bytes: Some(n * 4), items: Some(n), ..Work::default() };
    Ok(case.bound(beyond_caches(n * 4)).build(work, Headline::BANDWIDTH))
}

fn axes(setting: &Setting, is_wide: bool) -> Vec<Axis> {
    let items: &[u64] = match setting.preset {
        Preset::Quick | Preset::Default => setting.by_class(&[16], &[32]),
        Preset::Thorough => &[1, 4, 8, 16, 32, 64],
    };
    let data = setting.quick_or(&DATA[..1], DATA).iter().copied();
    let data = Axis::new("data", "in which order the values come", AxisKind::Choices(DATA), data);
    [vec![data], reduction::axes(setting, items, is_wide)].concat()
}

/// `n` values, and those that only fill the buffer. `random` ones are so few different ones that about 16 are alike, the largest as
/// well. Each of the `ascending` ones is larger than all before it.
fn values(config: &Config, n: u64, words: u64) -> Sequence {
    if config.choice("data") == "ascending" {
        return Sequence::Shuffled(Shuffled { seed: config.seed(), n: words, block: 1 });
    }
    // As whole numbers, the words of floats are any: up to 20 bits of them differ.
    let magnitude = u32::try_from(n / 32).unwrap_or(u32::MAX).clamp(1, 1 << 19);
    Sequence::WholeFloats { seed: config.seed(), magnitude }
}

/// The largest key of so many values: the value in its upper half, and in its lower one its index with all bits inverted, so that of
/// equal values the first one has the largest key.
fn largest_key(n: u64, value: impl Fn(u64) -> u32 + Sync) -> u64 {
    let key = |i: u64| (u64::from(value(i)) << 32) | (u64::from(u32::MAX) - i);
    in_parts(n, |range| range.map(key).max()).into_iter().flatten().max().unwrap_or_default()
}

/// The words of a key as they lie in memory, the lower one first.
#[expect(clippy::cast_possible_truncation, reason = "half of a key is meant")]
fn halves(key: u64) -> [u32; 2] {
    [key as u32, (key >> 32) as u32]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::testing::{quick, with};
    use crate::model::DeviceInfo;

    #[test]
    fn of_equal_values_the_first_is_the_largest() {
        let values = [3, 9, 2, 9, 9, 0];
        let key = largest_key(6, |i| values[usize::try_from(i).unwrap()]);
        assert_eq!(halves(key), [!1, 9]);
        assert_eq!(halves(largest_key(1, |_| 0)), [!0, 0]);
    }

    /// A device that took another one of the equal ones would be wrong, and be seen.
    #[test]
    fn random_values_have_ties_and_ascending_ones_end_with_the_largest() {
        for n in [100_u64, 1000, 65_536, 100_003] {
            let [random, ascending] = ["data=random", "data=ascending"].map(|data| {
                let values = |config: &Config| values(config, n, n.next_multiple_of(VECTOR));
                let values = with(&EXPERIMENT, "tree", quick(&DeviceInfo::mock()), data, values);
                (0..n).map(move |i| values.word(i)).collect::<Vec<u32>>()
            });
            let largest = random.iter().max().unwrap();
            assert!(random.iter().filter(|word| *word == largest).count() > 1, "{n}");
            assert!(ascending.is_sorted_by(|one, next| one < next), "{n}");
        }
    }
}
