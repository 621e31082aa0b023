//! `workgroup/divergence`: what does it cost when the lanes of a subgroup take different paths?

use crate::experiments::{Experiment, Setting, fold_groups, lanes, scramble, size_to_require, usual_size};
use crate::model::{Axis, AxisKind, Case, Contents, Headline, Kernel, Point, Preset, Resource, Scalar, Skip, Work};
use crate::validate::Expected;

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &Divergence;

/// The values of the shader's specialization constant, in this order.
const PATTERNS: &[&str] = &["uniform", "alternate", "block", "random"];

/// The numbers of paths that there can be.
const BRANCHES: &[u64] = &{
    let mut all = [0; 32];
    let mut i = 0;
    while i < 32 {
        all[i] = i as u64 + 1;
        i += 1;
    }
    all
};

/// Steps of a turn.
const STEPS: u64 = 4;

/// More would keep the twin busy for minutes.
const MOST_TURNS: u64 = 1 << 14;

struct Divergence;

impl Experiment for Divergence {
    fn name(&self) -> &'static str {
        "workgroup/divergence"
    }

    fn summary(&self) -> &'static str {
        "lanes of a subgroup that take up to 32 different paths"
    }

    fn description(&self) -> &'static str {
        "Every invocation takes one of `branches` paths. Each path is a loop of `turns` turns with four steps of integer \
         arithmetic in each, the same work as every other path, but other code. `pattern` says who takes which: `uniform` all \
         lanes of a subgroup the same, and the next subgroup the next one; `alternate` neighbouring lanes different ones, in \
         turn; `block` neighbouring lanes the same, in as many runs as there are paths; `random` each lane a pseudorandom one. A \
         lane is the local invocation modulo the subgroup size, which Vulkan doesn't promise, but which drivers do. There are \
         workgroups enough to fill the largest devices several times.\n\
         \n\
         How to read it: ops are steps of single invocations, and `relative` compares with one path, where nothing diverges. \
         `uniform` should stay near 1 whatever the number of paths: different subgroups may go different ways, as long as \
         their code fits the caches of instructions. Where lanes of a subgroup diverge, a device that runs a subgroup as one \
         runs its paths one after the other: 1/2 with two paths, 1/32 with 32, alike for `alternate` and `block`. Where \
         `block` is faster, the hardware works on parts of a subgroup by themselves, which have fewer paths each. `random` \
         takes as many paths as came up, a few less than there are, but subgroups then take other code at any time, which \
         caches of instructions must hold. With more branches than lanes, a subgroup takes at most as many as it has lanes. \
         Small workgroups that fill no subgroup have idle lanes. On processors, lanes are those of the processor's vectors, \
         and the same holds: a driver that runs them one by one instead loses nothing, and the figure shows it.\n\
         \n\
         On an NVIDIA H100 (driver 580.159.04), paths are run one after the other, whoever takes them: of one path's figure, \
         `alternate` and `block` both have 0.50 to 0.51 with 2 paths, 0.25 with 4, 0.13 with 8, 0.064 with 16 and 0.032 with \
         32. So no part of a subgroup goes its own way. `uniform` keeps 0.99 to 1.00 up to 16 paths, whose code is 33664 \
         bytes, and falls to 0.62 with 32, whose 66944 bytes no longer fit the caches of instructions. `random` gains a little \
         with 16, 0.073, as some of them don't come up; with 32 it is slowest of all, 0.026, although a third don't: most \
         likely since subgroups are then at different code at any time, while in `alternate` and `block` all take it in the \
         same order."
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
        let thorough = setting.preset == Preset::Thorough;
        let quick = setting.preset == Preset::Quick;
        let branches: Vec<u64> = match setting.preset {
            Preset::Quick => vec![8],
            Preset::Default => vec![1, 2, 4, 8, 16, 32],
            Preset::Thorough => BRANCHES.to_vec(),
        };
        let patterns = if quick { &PATTERNS[1..2] } else { PATTERNS };
        let sizes = if thorough { vec![32, 64, 256, 1024] } else { vec![usual_size(setting)] };
        let groups = setting.by_class(4_u64, 8448);
        let turns = setting.by_class(32_u64, 128);
        vec![
            Axis::new("pattern", "which lanes take which path", AxisKind::Words(PATTERNS), patterns.iter().copied()),
            Axis::new("branches", "paths", AxisKind::Numbers(BRANCHES), branches).relative_to(1_u64),
            Axis::new("local_size_x", "invocations per workgroup", AxisKind::AtLeast(1), sizes),
            Axis::new("groups", "workgroups", AxisKind::AtLeast(1), [groups]).of_monotone_work(),
            Axis::new("turns", "times four steps of a path", AxisKind::AtLeast(1), [turns]).of_monotone_work(),
        ]
    }

    fn case(&self, _: &str, point: &Point, setting: &Setting) -> Result<Case, Skip> {
        let (local_size, turns) = (point.u32("local_size_x"), point.integer("turns"));
        let pushed = u32::try_from(turns).ok().filter(|_| turns <= MOST_TURNS);
        let pushed = pushed.ok_or_else(|| {
            Skip::new(format!("{MOST_TURNS} turns are the most that the twin follows, the case needs {turns}"))
        })?;
        let pattern = (0..).zip(PATTERNS).find(|(_, name)| **name == point.word("pattern")).map_or(0, |(code, _)| code);
        let mut kernel = Kernel::new("workgroup/divergence.comp", [local_size, 1, 1], 1)
            .constant("PATTERN", Scalar::U32(pattern))
            .constant("BRANCHES", Scalar::U32(point.u32("branches")))
            .constant("LANES", Scalar::U32(lanes(setting.device)));
        kernel.required_subgroup_size = size_to_require(setting.device, local_size.into());
        let groups = fold_groups(point.integer("groups"), setting.device.limits.workgroup_count[0]);
        let invocations = groups.iter().fold(u64::from(local_size), |product, &count| product.saturating_mul(count.into()));
        let resources = vec![Resource::words("results", invocations, Contents::Undefined)];
        let case = Case::single_dispatch(self.name(), point, kernel, groups, &[pushed], resources, vec![0]);
        let steps = invocations.checked_mul(turns).and_then(|turns| turns.checked_mul(STEPS));
        let work = Work { ops: steps, items: Some(invocations), ..Work::default() };
        // Where lanes that take no part in a loop are counted with those that do, all paths' loops sum up.
        Ok(Case { work, headline: Headline::OPS, iterations: turns * point.integer("branches"), ..case })
    }

    #[expect(clippy::cast_possible_truncation, reason = "a buffer holds less than 2^32 words, and a list in memory fewer")]
    fn expected<'a>(&self, case: &'a Case) -> Vec<Expected<'a>> {
        let twin = Twin::new(case);
        let local_size = case.point.integer("local_size_x");
        // Paths come back to the same lanes after as many workgroups as there are paths.
        let finished: Vec<Vec<u32>> =
            (0..twin.branches).map(|group| (0..local_size as u32).map(|lane| twin.finished(group, lane)).collect()).collect();
        let result = move |i: u64| {
            let (group, lane) = (i / local_size, i % local_size);
            finished[(group % finished.len() as u64) as usize][lane as usize].wrapping_add(group as u32)
        };
        vec![Expected::words(case.resources[0].bytes() / 4, result)]
    }
}

/// The shader, for one invocation at a time.
struct Twin<'a> {
    pattern: &'a str,
    branches: u32,
    lanes: u32,
    steps: u64,
}

impl<'a> Twin<'a> {
    fn new(case: &'a Case) -> Self {
        let lanes = match case.kernels[0].constants.iter().find(|(name, _)| name == "LANES") {
            Some((_, Scalar::U32(lanes))) => *lanes,
            other => panic!("`LANES` is {other:?}"),
        };
        let (pattern, branches) = (case.point.word("pattern"), case.point.u32("branches"));
        Self { pattern, branches, lanes, steps: case.point.integer("turns") * STEPS }
    }

    fn path(&self, group: u32, own: u32) -> u32 {
        let lane = own % self.lanes;
        match self.pattern {
            "alternate" => lane % self.branches,
            "block" => lane * self.branches / self.lanes,
            "random" => ((scramble(own) >> 16) * self.branches) >> 16,
            _ => (group + own / self.lanes) % self.branches,
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

    fn paths(pattern: &str, branches: u32, group: u32, subgroup: u32) -> Vec<u32> {
        let twin = Twin { pattern, branches, lanes: 32, steps: 1 };
        (0..32).map(|lane| twin.path(group, 32 * subgroup + lane)).collect()
    }

    #[test]
    fn a_subgroup_takes_as_many_paths_as_the_pattern_says() {
        let count = |pattern, branches| paths(pattern, branches, 3, 1).into_iter().collect::<BTreeSet<_>>().len();
        for branches in 1..=32 {
            assert_eq!(count("uniform", branches), 1);
            assert_eq!([count("alternate", branches), count("block", branches)], [branches as usize; 2]);
            let random = count("random", branches);
            assert!(random <= branches as usize && random * 2 >= branches as usize, "{random} of {branches}");
        }
    }

    #[test]
    fn neighbours_take_what_the_pattern_says() {
        assert_eq!(paths("alternate", 2, 0, 0)[..4], [0, 1, 0, 1]);
        assert_eq!(paths("block", 2, 0, 0)[14..18], [0, 0, 1, 1]);
        assert!(paths("block", 32, 0, 0).into_iter().eq(0..32));
        let uniform: Vec<u32> = (0..4).map(|subgroup| paths("uniform", 4, 1, subgroup)[7]).collect();
        assert_eq!(uniform, [1, 2, 3, 0]);
    }
}
