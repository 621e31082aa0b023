//! `memory/row_column`: what does it matter whether lanes walk a matrix along its rows or down its columns?

use crate::experiments::MOST_SIZE;
use crate::experiments::common::prelude::*;

pub const EXPERIMENT: Experiment = Experiment::of_memory("memory/row_column", axes, build);

choices! { enum Walk { Row = "row", Column = "column", Linear = "linear" } }

/// How workgroups go over the matrix.
#[derive(Clone, Copy)]
struct Walked {
    walk: Walk,
    size: u64,
    /// The elements of one row or column; all of them where one index goes over the whole.
    line: Elements,
    groups: [u32; 3],
    local_size: u64,
}

impl Walked {
    fn new(config: &Config) -> Result<Self, Skip> {
        let [size, local_size, unroll] = ["matrix_size", "local_size_x", "unroll"].map(|axis| config.integer(axis));
        let walk = Walk::of(config.choice("walk"));
        let line = match walk {
            // Longer than any limit of x: the plan skips what doesn't fit.
            Walk::Row | Walk::Column => Elements::dealt(size, local_size, unroll, u32::MAX)?,
            Walk::Linear => Elements::new(size * size, config)?,
        };
        let groups = if walk == Walk::Linear { line.groups } else { [line.groups[0], config.u32("matrix_size"), 1] };
        Ok(Self { walk, size, line, groups, local_size })
    }

    fn invocations(&self) -> u64 {
        product([self.local_size, workgroups(self.groups)])
    }

    fn words(&self, invocation: u64) -> impl Iterator<Item = u64> + use<> {
        let in_line = self.line.invocations();
        // There is but one line where one index goes over the whole.
        let (line, along) = (invocation / in_line, invocation % in_line);
        let [from_line, from_place] = match self.walk {
            Walk::Row | Walk::Linear => [self.size, 1],
            Walk::Column => [1, self.size],
        };
        self.line.of(along).map(move |at| line * from_line + at * from_place)
    }
}

fn axes(setting: &Setting) -> Vec<Axis> {
    let quick = setting.preset == Preset::Quick;
    let size = if quick { setting.by_class(512_u64, 8192) } else { setting.by_class(1024_u64, 16_384) };
    vec![
        Walk::axis("walk", "where neighbouring lanes read", Walk::ALL).relative_to(Walk::Row.word()),
        Axis::new("matrix_size", "width and height of the matrix, words", AxisKind::AtLeast(1), [size])
            .up_to(MOST_SIZE)
            .of_work(),
        local_size_axis(setting),
        Elements::unroll_axis("words per invocation", setting.by_class(2, 16)),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let walked = Walked::new(config)?;
    let (words, sums) = (walked.size * walked.size, walked.invocations());
    let matrix = Sequence::Words { seed: config.seed() };
    let sum = move |i| walked.words(i).map(|word| matrix.word(word)).fold(0, u32::wrapping_add);
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let resources = [case.output("sums", Expected::words(sums, sum)), case.input("matrix", words, matrix)];
    let kernel = config.kernel("memory/row_column.comp", &["unroll"]).constant("WALK", Scalar::U32(walked.walk.code()));
    case.run(kernel, &resources, walked.groups, &[config.u32("matrix_size")]);
    let work = Work { bytes: Some((words + sums) * 4), items: Some(words), ..Work::default() };
    Ok(case.bound(beyond_caches(words * 4)).build(work, Headline::BANDWIDTH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::testing::{quick, with};
    use crate::model::DeviceInfo;

    #[test]
    fn every_word_is_read_once() {
        let mut device = DeviceInfo::mock();
        device.limits.workgroup_count[0] = 65_535;
        for (size, local_size, unroll) in [(1, 64, 2), (70, 16, 2), (70, 7, 1), (64, 32, 2)] {
            for walk in Walk::WORDS {
                let told = format!("walk={walk} matrix_size={size} local_size_x={local_size} unroll={unroll}");
                let walked = with(&EXPERIMENT, "", quick(&device), &told, Walked::new).unwrap();
                let mut words: Vec<u64> = (0..walked.invocations()).flat_map(|i| walked.words(i)).collect();
                words.sort_unstable();
                assert!(words.into_iter().eq(0..size * size), "{told}");
            }
        }
    }
}
