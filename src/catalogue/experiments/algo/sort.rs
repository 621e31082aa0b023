//! `algo/sort`: how fast are keys sorted by each way of doing it, from a bitonic sort to one look at the keys a digit?

mod check;
mod passes;

use self::check::Problem;
use self::passes::Column;
use crate::experiments::common::prelude::*;

pub const EXPERIMENT: Experiment = Experiment {
    variants: Rung::WORDS,
    // Where the ladder begins, and where it ends.
    quick_variants: &[Rung::Bitonic.word(), Rung::Onesweep.word()],
    repeatability: |_| Repeatability::Memory,
    axes_of: Some(axes_of),
    ..Experiment::of_ladder(LADDER, axes, build)
};

choices! {
    enum Rung { Bitonic = "bitonic", Radix = "radix", Radix8 = "radix8", Onesweep = "onesweep" }
}

choices! {
    /// Of the keys before.
    enum Order { Random = "random", Sorted = "sorted", Few = "few" }
}

const PAYLOADS: &[&str] = &["nothing", "word"];

/// Keys that an invocation may take: as many as registers hold.
const ITEMS: &[u64] = &[1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 28, 32];

/// Counts share their words with two bits of state, so that they are below 2^30.
const MOST_KEYS: u64 = (1 << 30) - 1;

const LADDER: Ladder = Ladder { experiment: "algo/sort", first: Rung::WORDS[0], choices: &["local_size_x", "items", "spins"] };

// No kind of peak: keys per second have none, and how many bytes a key moves is what the variants differ in.
fn axes(setting: &Setting) -> Vec<Axis> {
    let usual = usual_size(setting);
    // Software has small subgroups, so that a workgroup has many of them, and each needs counters of its own.
    let (cpu, gpu) = match setting.preset {
        Preset::Quick => (vec![64], vec![size_up_to(512, setting)]),
        Preset::Default => (vec![64], vec![usual, 512]),
        Preset::Thorough => (vec![1, 16, 32, 64, 128], vec![32, 64, 128, 192, 256, 384, 512, 1024]),
    };
    let sizes = setting.by_class(cpu, gpu);
    let items = match setting.preset {
        Preset::Thorough => setting.by_class(vec![4_u64, 16], vec![8, 12, 16, 20, 24]),
        Preset::Quick | Preset::Default => setting.by_class(vec![4], vec![20]),
    };
    let keys = setting.quick_or(
        vec![setting.by_class(1_u64 << 11, 1 << 24)],
        setting.by_class(vec![1_u64 << 14, 10_007], vec![1 << 26, 10_000_019]),
    );
    let payloads = setting.quick_or(&PAYLOADS[..1], PAYLOADS).iter().copied();
    let spins = setting.by_class(128_u64, 4096);
    vec![
        Axis::new("local_size_x", "invocations per workgroup", AxisKind::AtLeast(1), sizes),
        Axis::new("items", "keys that an invocation takes", AxisKind::Numbers(ITEMS), items),
        Axis::new("n", "keys", AxisKind::AtLeast(1), keys).up_to(MOST_KEYS).of_work(),
        Axis::new("payload", "what belongs to a key", AxisKind::Choices(PAYLOADS), payloads),
        Order::axis("order", "the order of the keys before", setting.quick_or(&Order::ALL[..1], Order::ALL)),
        Axis::new("spins", "looks at a tile that isn't ready, until its keys are counted", AxisKind::AtLeast(0), [spins])
            .up_to(1 << 20),
    ]
}

fn axes_of(variant: &str, setting: &Setting) -> Vec<Axis> {
    let mut axes = axes(setting);
    // The first rungs take long, and aren't what an order is for.
    if [Rung::Bitonic, Rung::Radix].contains(&Rung::of(variant)) && setting.preset != Preset::Thorough {
        axes.iter_mut().filter(|axis| axis.name == "order").for_each(|axis| axis.defaults.truncate(1));
    }
    axes
}

fn build(config: &Config) -> Result<Built, Skip> {
    let problem = Problem::of(config);
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let keys = Column {
        source: case.input("source", problem.n, problem.keys),
        target: case.output("target", problem.expected_keys()),
        scratch: ["ping", "pong"],
    };
    let values = problem.values.map(|values| Column {
        source: case.input("source values", problem.n, values),
        target: case.output("target values", problem.expected_values()),
        scratch: ["ping values", "pong values"],
    });
    let columns: Vec<Column> = [keys].into_iter().chain(values).collect();
    let iterations = match Rung::of(config.variant) {
        Rung::Bitonic => passes::bitonic(&mut case, config, &columns),
        Rung::Radix => passes::radix(&mut case, config, &columns),
        Rung::Radix8 => passes::radix8(&mut case, config, &columns)?,
        Rung::Onesweep => passes::onesweep(&mut case, config, &columns)?,
    };
    let case = problem.checked(case.iterations(iterations), keys.target, values.map(|values| values.target));
    Ok(case.build(Work { items: Some(problem.n), ..Work::default() }, Headline::ITEMS))
}

#[cfg(test)]
mod testing {
    use super::*;
    use crate::experiments::common::testing::{self, mock_with, quick};

    /// What becomes of a case on a device that can run all variants.
    pub(super) fn built<T>(variant: &str, told: &str, then: impl FnOnce(Built) -> T) -> T {
        let device = mock_with(&[], &[SubgroupClass::Ballot, SubgroupClass::Shuffle]);
        let told = format!("local_size_x=64 items=16 n=1000 spins=9 {told}");
        testing::built(&EXPERIMENT, variant, quick(&device), &told, then).unwrap()
    }
}
