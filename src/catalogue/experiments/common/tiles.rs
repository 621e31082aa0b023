//! Arrays in tiles, each of which needs what the tiles before it come to: what `algo/scan` and `algo/compact` have in common. The
//! shaders' half is `glsl/algo/scan_*.glsl`.

use super::prelude::*;
use crate::validate::{Output, Verdict};

/// Words of a vector: kernels of subgroups load and store vectors.
const VECTOR: u64 = 4;

choices! {
    /// How workgroups come by their tiles, in the order of the shader's constants.
    enum Order { Ticket = "ticket", Index = "index", Reversed = "reversed" }
}

pub const SHUFFLES: &[SubgroupClass] = &[SubgroupClass::Shuffle, SubgroupClass::ShuffleRelative];

pub const LOOK_BACK: &[SubgroupClass] = &[SubgroupClass::Ballot, SubgroupClass::Shuffle, SubgroupClass::ShuffleRelative];

/// Words before the states of tiles: the next ticket, and how often a workgroup fell back.
const FIRST_STATE: u64 = 2;
/// The state of a tile whose sum of all up to it is known, above either half of it.
const PREFIX: u32 = 2 << 16;

/// Invocations that scan the sums of all tiles, at most: one workgroup does so.
const MOST_OF_SUMS: u32 = 1024;

/// Iterations of its loop, at most: a single workgroup that takes longer is what the device waits for.
const MOST_ROUNDS_OF_SUMS: u64 = 1 << 14;

/// How the sums of tiles are scanned, in the order of the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steps {
    Doubling,
    Tree,
    Subgroups,
}

impl Steps {
    /// Iterations of the loops of one scan of a workgroup.
    pub fn iterations(self, local_size: u64, config: &Config) -> u64 {
        match self {
            Self::Doubling | Self::Tree => 2 * (1 + u64::from(local_size.max(1).ilog2())),
            Self::Subgroups => local_size.div_ceil(lanes(config.device()).into()),
        }
    }

    /// The kernel with what its scan of a workgroup needs.
    pub fn of(self, kernel: Kernel, config: &Config) -> Kernel {
        let local_size = kernel.local_size[0];
        match self {
            Self::Doubling => kernel,
            Self::Tree => {
                let padded = local_size.checked_next_power_of_two().unwrap_or(u32::MAX);
                kernel.define("WORK_EFFICIENT", "").constant("PADDED", Scalar::U32(padded))
            }
            Self::Subgroups => with_lanes(in_subgroups(kernel.define("BY_SUBGROUP", ""), config), config),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Tiles {
    pub words: u64,
    pub tile: u64,
    pub groups: [u32; 3],
}

impl Tiles {
    /// The array of the axis `n`, in tiles of the axes `local_size_x` and `items`.
    pub fn new(config: &Config) -> Result<Self, Skip> {
        let [words, local_size, items] = ["n", "local_size_x", "items"].map(|axis| config.integer(axis));
        let Elements { groups, .. } = Elements::dealt(words, local_size, items, config.most_groups())?;
        Ok(Self { words, tile: local_size * items, groups })
    }

    pub fn count(&self) -> u64 {
        self.words.div_ceil(self.tile)
    }

    /// Words of a buffer that holds the array in whole vectors.
    pub fn padded(&self) -> u64 {
        self.words.next_multiple_of(VECTOR)
    }

    fn end(&self, tile: u64) -> u64 {
        ((tile + 1) * self.tile).min(self.words)
    }

    // ---- sums that a dispatch of their own scans ----------------------------------------------------------------------------

    pub fn sums(&self, case: &mut CaseBuilder) -> Handle {
        case.scratch("sums", self.count().next_multiple_of(VECTOR))
    }

    /// Puts in the place of each tile's sum that of all before it: by one workgroup, which is as large as may be, whatever the
    /// others are.
    /// Skipped: where that takes far too long.
    pub fn scan_sums(&self, case: &mut CaseBuilder, sums: Handle, steps: Steps, config: &Config) -> Result<(), Skip> {
        let local_size = size_of_sums(config);
        let rounds = self.rounds_of_sums(config);
        if rounds > MOST_ROUNDS_OF_SUMS {
            let count = self.count();
            let reason = format!(
                "one workgroup scans the sums of all tiles, in at most {MOST_ROUNDS_OF_SUMS} rounds: of {count} tiles the case \
                 needs {rounds}"
            );
            return Err(Skip::new(reason));
        }
        let kernel = steps.of(Kernel::new("algo/scan_sums.comp", [local_size, 1, 1]), config);
        case.run(kernel, &[sums], [1; 3], &[narrow(self.count().div_ceil(VECTOR))]);
        Ok(())
    }

    fn rounds_of_sums(&self, config: &Config) -> u64 {
        self.count().div_ceil(VECTOR * u64::from(size_of_sums(config)))
    }

    /// Iterations of all its loops, at most.
    pub fn iterations_of_sums(&self, steps: Steps, config: &Config) -> u64 {
        self.rounds_of_sums(config).saturating_mul(1 + steps.iterations(size_of_sums(config).into(), config))
    }

    // ---- states that look-back leaves ------------------------------------------------------------------------------------------

    /// The states of all tiles, as a pass leaves them that never fell back. What `prepare` computes gives the sum of so many words.
    pub fn states<F>(self, prepare: impl Fn() -> F + 'static) -> Expected
    where
        F: Fn(u64) -> u32 + Send + Sync + 'static,
    {
        Expected::words_from(self.words_of_states(), move || {
            let sum_up_to = prepare();
            move |i| self.word_of_states(i, &sum_up_to)
        })
    }

    fn words_of_states(self) -> u64 {
        FIRST_STATE + 2 * self.count()
    }

    fn word_of_states(self, i: u64, sum_up_to: impl Fn(u64) -> u32) -> u32 {
        i.checked_sub(FIRST_STATE).map_or(0, |half| {
            let sum = sum_up_to(self.end(half / 2));
            PREFIX | if half % 2 == 0 { sum & 0xFFFF } else { sum >> 16 }
        })
    }

    /// Compares states with those. The ticket and how often workgroups fell back are whatever they are.
    pub fn check_states(self, states: Output, sum_up_to: impl Fn(u64) -> u32 + Send + Sync + 'static) -> Verdict {
        let counters: Vec<u32> = states.words().into_iter().take(2).collect();
        let counter = move |i: u64| usize::try_from(i).ok().and_then(|i| counters.get(i).copied());
        let word = move |i| counter(i).unwrap_or_else(|| self.word_of_states(i, &sum_up_to));
        states.compare(&Expected::words(self.words_of_states(), word))
    }

    /// What states tell beside that: how often workgroups fell back.
    pub fn fallbacks(&self, states: Output) -> Option<String> {
        let fallbacks = states.words().get(1).copied()?;
        Some(format!("{fallbacks} fallbacks in look-back over {} tiles", self.count()))
    }

    /// Iterations of the loops of a workgroup that looks back, at most: over all tiles, and in vain.
    pub fn iterations_of_looking(&self, config: &Config) -> u64 {
        self.count().saturating_mul(2).saturating_add(config.integer("spins"))
    }
}

/// Invocations that scan the sums of all tiles.
fn size_of_sums(config: &Config) -> u32 {
    let limits = &config.device().limits;
    let most = limits.workgroup_invocations.min(limits.workgroup_size[0]).clamp(1, MOST_OF_SUMS);
    // No subgroup of it is left with a part.
    1 << most.ilog2()
}

pub fn axes(setting: &Setting) -> Vec<Axis> {
    let usual = usual_size(setting);
    let few = vec![setting.by_class(16_u64, 32)];
    let (sizes, items, orders) = match setting.preset {
        Preset::Quick => (vec![setting.by_class(usual, size_up_to(512, setting))], few, &Order::ALL[..1]),
        Preset::Default => (vec![64, 256, 512], few, &Order::ALL[..1]),
        Preset::Thorough => (vec![32, 64, 128, 192, 256, 384, 512, 1024], vec![4, 8, 16, 32], &Order::ALL[..2]),
    };
    let words = setting.quick_or(
        vec![setting.by_class(1_u64 << 14, 1 << 28)],
        vec![setting.by_class(1_u64 << 16, 1 << 28), setting.by_class(20_011, 100_000_007)],
    );
    vec![
        Axis::new("local_size_x", "invocations per workgroup", AxisKind::AtLeast(1), sizes),
        Axis::new("items", "words of an invocation", AxisKind::Numbers(&[1, 2, 4, 8, 16, 32, 64]), items),
        Order::axis("order", "how a workgroup that looks back comes by its tile", orders),
        Axis::new(
            "spins",
            "times that a workgroup looks back in vain before it computes other tiles' sums itself",
            AxisKind::AtLeast(0),
            [setting.by_class(256_u64, 1024)],
        )
        .up_to(1 << 30),
        Axis::new("n", "words of the array", AxisKind::AtLeast(1), words).of_work(),
    ]
}

/// The same, of which those of look-back have one value where a variant does nothing of the kind.
pub fn axes_of(looks_back: bool, setting: &Setting) -> Vec<Axis> {
    let mut axes = axes(setting);
    for axis in axes.iter_mut().filter(|axis| !looks_back && ["order", "spins"].contains(&axis.name.as_ref())) {
        axis.defaults.truncate(1);
    }
    axes
}

/// A kernel whose invocations take vectors, in tiles.
/// Skipped: where they have none, or where compute shaders lack these classes of subgroup operations.
pub fn by_vectors(source: &'static str, classes: &[SubgroupClass], config: &Config) -> Result<Kernel, Skip> {
    config.require_classes(classes)?;
    let items = config.integer("items");
    if items % VECTOR != 0 {
        return Err(Skip::new(format!("items is {items}: the case needs whole vectors of {VECTOR} words")));
    }
    let kernel = in_subgroups(config.kernel(source, &["items"]), config);
    let scans = classes.contains(&SubgroupClass::ShuffleRelative);
    Ok(if scans { with_lanes(kernel, config) } else { kernel })
}

/// The same that looks back at the tiles before its own, by states at this binding.
pub fn by_look_back(source: &'static str, binding: u32, config: &Config) -> Result<Kernel, Skip> {
    let kernel = by_vectors(source, LOOK_BACK, config)?;
    Ok(kernel
        .define("LOOK_BACK", binding)
        .constant("ORDER", Scalar::U32(Order::of(config.choice("order")).code()))
        .constant("SPINS", Scalar::U32(config.u32("spins"))))
}

fn in_subgroups(kernel: Kernel, config: &Config) -> Kernel {
    let [local_size, ..] = kernel.local_size;
    let subgroups = local_size.div_ceil(lanes(config.device()));
    let required_subgroup_size = size_to_require(config.device(), local_size.into());
    Kernel { required_subgroup_size, ..kernel.constant("SUBGROUPS", Scalar::U32(subgroups)) }
}

fn with_lanes(kernel: Kernel, config: &Config) -> Kernel {
    kernel.constant("LANES", Scalar::U32(lanes(config.device())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::testing::{self, bytes, point, quick};
    use crate::model::DeviceInfo;

    /// What becomes of an array of so many words in tiles of so many invocations with four words each.
    fn with<T>(words: u64, local_size: u64, then: impl FnOnce(Tiles, &Config) -> T) -> T {
        let (device, point) = (DeviceInfo::mock(), point(&format!("n={words} local_size_x={local_size} items=4")));
        let config = Config::new("", &point, &quick(&device));
        then(Tiles::new(&config).unwrap(), &config)
    }

    #[test]
    fn states_tell_the_sum_up_to_the_end_of_each_tile_in_halves() {
        let sum_up_to = |end: u64| u32::try_from(end << 12).unwrap();
        let (count, states) = with(70, 8, |tiles, _| (tiles.count(), testing::words(&tiles.states(move || sum_up_to))));
        assert_eq!((count, states.len()), (3, 2 + 6));
        let ends = [32_u32, 64, 70].map(|end| end << 12);
        let told = ends.into_iter().flat_map(|sum| [PREFIX | (sum & 0xFFFF), PREFIX | (sum >> 16)]);
        assert!(states.into_iter().eq([0, 0].into_iter().chain(told)));
    }

    #[test]
    fn a_wrong_state_is_found_and_fallbacks_are_told() {
        with(70, 8, |tiles, _| {
            let mut words = testing::words(&tiles.states(|| |_| 5));
            (words[0], words[1]) = (3, 2);
            let check = |words: &[u32]| tiles.check_states(Output { name: "states", bytes: &bytes(words) }, |_| 5);
            assert_eq!(check(&words), Ok(()));
            let told = tiles.fallbacks(Output { name: "states", bytes: &bytes(&words) });
            assert_eq!(told.as_deref(), Some("2 fallbacks in look-back over 3 tiles"));
            words[4] = 1 << 16 | 5;
            assert!(check(&words).is_err(), "an aggregate is left where a prefix should be");
        });
    }

    #[test]
    fn one_workgroup_is_not_asked_for_too_much() {
        let result = |words, local_size| {
            with(words, local_size, |tiles, config| {
                let mut case = CaseBuilder::new("a/b", config);
                let sums = tiles.sums(&mut case);
                tiles.scan_sums(&mut case, sums, Steps::Doubling, config).map_err(|skip| skip.reason)
            })
        };
        assert_eq!(result(1 << 20, 1), Ok(()));
        assert!(result(1 << 29, 1).unwrap_err().contains("at most 16384 rounds"));
        assert_eq!(result(1 << 29, 256), Ok(()));
    }
}
