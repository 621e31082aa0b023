//! `workgroup/divergence`: what does it cost when the lanes of a subgroup take different paths?

use crate::experiments::common::prelude::*;
use crate::experiments::scramble;

pub const EXPERIMENT: Experiment = Experiment::new("workgroup/divergence", axes, build);

choices! { enum Pattern { Uniform = "uniform", Alternate = "alternate", Block = "block", Random = "random" } }

/// The numbers of paths that there can be.
const BRANCHES: &[u64] =
    &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32];

const STEPS: u64 = 4;

/// More would keep the twin busy for minutes.
const MOST_ITERATIONS: u64 = 1 << 14;

fn axes(setting: &Setting) -> Vec<Axis> {
    let usual = [usual_size(setting)];
    let (patterns, branches, sizes): (_, &[u64], &[u64]) = match setting.preset {
        Preset::Quick => (&[Pattern::Alternate][..], &[8], &usual),
        Preset::Default => (Pattern::ALL, &[1, 2, 4, 8, 16, 32], &usual),
        Preset::Thorough => (Pattern::ALL, BRANCHES, &[32, 64, 256, 1024]),
    };
    let groups = setting.by_class(4_u64, 8448);
    let iterations = setting.by_class(32_u64, 128);
    vec![
        Pattern::axis("pattern", "which lanes take which path", patterns),
        Axis::new("branches", "paths", AxisKind::Numbers(BRANCHES), branches.iter().copied()).relative_to(1_u64),
        Axis::new("local_size_x", "invocations per workgroup", AxisKind::AtLeast(1), sizes.iter().copied()),
        Axis::new("groups", "workgroups", AxisKind::AtLeast(1), [groups]).of_monotone_work(),
        loop_axis("turns", "times four steps of a path", [iterations], MOST_ITERATIONS),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let [local_size, iterations] = ["local_size_x", "turns"].map(|axis| config.integer(axis));
    let (branches, lanes) = (config.u32("branches"), lanes(config.device()));
    let twin = Twin { pattern: Pattern::of(config.choice("pattern")), branches, lanes, steps: iterations * STEPS };
    let kernel = config.kernel("workgroup/divergence.comp", &["branches"]);
    let mut kernel = kernel.constant("PATTERN", Scalar::U32(twin.pattern.code())).constant("LANES", Scalar::U32(lanes));
    kernel.required_subgroup_size = size_to_require(config.device(), local_size);
    let (groups, invocations) = config.grid(config.integer("groups"));
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let results = case.output("results", Expected::words_from(invocations, move || twin.results(local_size)));
    case.run(kernel, &[results], groups, &[config.u32("turns")]);
    let work = Work { ops: Some(product([invocations, iterations, STEPS])), items: Some(invocations), ..Work::default() };
    // Where lanes that take no part in a loop are counted with those that do, all paths' loops sum up.
    Ok(case.iterations(iterations * u64::from(branches)).build(work, Headline::OPS))
}

/// The shader, for one invocation at a time.
#[derive(Clone, Copy)]
struct Twin {
    pattern: Pattern,
    branches: u32,
    lanes: u32,
    steps: u64,
}

impl Twin {
    #[expect(clippy::cast_possible_truncation, reason = "a buffer holds less than 2^32 words, and a list in memory fewer")]
    fn results(self, local_size: u64) -> impl Fn(u64) -> u32 + Send + Sync {
        // Paths come back to the same lanes after as many workgroups as there are paths.
        let finished: Vec<Vec<u32>> =
            (0..self.branches).map(|group| (0..local_size as u32).map(|lane| self.finished(group, lane)).collect()).collect();
        move |i| {
            let (group, lane) = (i / local_size, i % local_size);
            finished[(group % finished.len() as u64) as usize][lane as usize].wrapping_add(group as u32)
        }
    }

    fn path(&self, group: u32, own: u32) -> u32 {
        let lane = own % self.lanes;
        match self.pattern {
            Pattern::Uniform => (group + own / self.lanes) % self.branches,
            Pattern::Alternate => lane % self.branches,
            Pattern::Block => lane * self.branches / self.lanes,
            Pattern::Random => ((scramble(own) >> 16) * self.branches) >> 16,
        }
    }

    fn finished(&self, group: u32, own: u32) -> u32 {
        let path = self.path(group, own);
        let (shift, factor) = (1 + path % 16, 2_654_435_761_u32.wrapping_add(2 * path));
        (0..self.steps).fold(own + 1, |x, _| (x ^ (x >> shift)).wrapping_mul(factor))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn paths(pattern: Pattern, branches: u32, group: u32, subgroup: u32) -> Vec<u32> {
        let twin = Twin { pattern, branches, lanes: 32, steps: 1 };
        (0..32).map(|lane| twin.path(group, 32 * subgroup + lane)).collect()
    }

    #[test]
    fn a_subgroup_takes_as_many_paths_as_the_pattern_says() {
        let count = |pattern, branches| paths(pattern, branches, 3, 1).into_iter().collect::<BTreeSet<_>>().len();
        for branches in 1..=32 {
            assert_eq!(count(Pattern::Uniform, branches), 1);
            assert_eq!([count(Pattern::Alternate, branches), count(Pattern::Block, branches)], [branches as usize; 2]);
            let random = count(Pattern::Random, branches);
            assert!(random <= branches as usize && random * 2 >= branches as usize, "{random} of {branches}");
        }
    }

    #[test]
    fn neighbours_take_what_the_pattern_says() {
        assert_eq!(paths(Pattern::Alternate, 2, 0, 0)[..4], [0, 1, 0, 1]);
        assert_eq!(paths(Pattern::Block, 2, 0, 0)[14..18], [0, 0, 1, 1]);
        assert!(paths(Pattern::Block, 32, 0, 0).into_iter().eq(0..32));
        let uniform: Vec<u32> = (0..4).map(|subgroup| paths(Pattern::Uniform, 4, 1, subgroup)[7]).collect();
        assert_eq!(uniform, [1, 2, 3, 0]);
    }
}
