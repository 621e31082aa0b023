//! `memory/row_column`: what does it matter whether lanes walk a matrix along its rows or down its columns?

use crate::experiments::{
    Built, CaseBuilder, Config, Elements, Experiment, MOST_SIZE, Setting, local_size_axis, product, workgroups,
};
use crate::model::{Axis, AxisKind, Bound, Headline, Kernel, Preset, Repeatability, Scalar, Sequence, Skip, Work};
use crate::validate::Expected;

pub const EXPERIMENT: Experiment = Experiment {
    peak_kind: Some("global"),
    repeatability: |_| Repeatability::Memory,
    ..Experiment::new("memory/row_column", axes, build)
};

/// The values of the shader's specialization constant, in this order.
const WALKS: &[&str] = &["row", "column", "linear"];

/// Words per matrix from which no cache of today holds a part that matters: 1 GiB.
const BEYOND_CACHES: u64 = 1 << 28;

/// The sizes that a point stands for.
#[derive(Clone, Copy)]
struct Shape {
    size: u64,
    /// Workgroups that walk one row or column; all of them where one index goes over the whole.
    walk: Elements,
    groups: [u32; 3],
    local_size: u64,
}

impl Shape {
    fn new(config: &Config) -> Result<Self, Skip> {
        let [size, local_size, unroll] = ["matrix_size", "local_size_x", "unroll"].map(|axis| config.integer(axis));
        if config.choice("walk") == "linear" {
            let walk = Elements::new(size * size, config)?;
            return Ok(Self { size, walk, groups: walk.groups, local_size });
        }
        // Longer than any limit of x: the plan skips what doesn't fit.
        let walk = Elements::dealt(size, local_size, unroll, u32::MAX)?;
        Ok(Self { size, walk, groups: [walk.groups[0], config.u32("matrix_size"), 1], local_size })
    }

    /// Invocations of the whole grid.
    fn invocations(&self) -> u64 {
        product([self.local_size, workgroups(self.groups)])
    }

    /// The words that one invocation takes.
    fn words(&self, walk: &str, invocation: u64) -> impl Iterator<Item = u64> + use<> {
        let size = self.size;
        let in_line = self.walk.invocations();
        // A line is a row or a column; there is but one where one index goes over the whole.
        let (line, along) = (invocation / in_line, invocation % in_line);
        let [from_line, from_place] = if walk == "column" { [1, size] } else { [size, 1] };
        self.walk.of(along).map(move |at| line * from_line + at * from_place)
    }
}

fn axes(setting: &Setting) -> Vec<Axis> {
    let quick = setting.preset == Preset::Quick;
    let size = if quick { setting.by_class(512_u64, 8192) } else { setting.by_class(1024_u64, 16_384) };
    let unroll = setting.by_class(2_u64, 16);
    vec![
        Axis::new("walk", "where neighbouring lanes read", AxisKind::Choices(WALKS), WALKS.iter().copied()).relative_to("row"),
        Axis::new("matrix_size", "width and height of the matrix, words", AxisKind::AtLeast(1), [size])
            .up_to(MOST_SIZE)
            .of_work(),
        local_size_axis(setting),
        Elements::unroll_axis("words per invocation", unroll),
    ]
}

fn build<'a>(config: &Config<'a>) -> Result<Built<'a>, Skip> {
    let (shape, walk) = (Shape::new(config)?, config.choice("walk"));
    let (words, sums) = (shape.size * shape.size, shape.invocations());
    let matrix = Sequence::Words { seed: config.seed() };
    let sum = move |i| shape.words(walk, i).map(|word| matrix.word(word)).fold(0, u32::wrapping_add);
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let resources = [case.output("sums", Expected::words(sums, sum)), case.input("matrix", words, matrix)];
    let code = config.code("walk", WALKS);
    let kernel = Kernel::new("memory/row_column.comp", config.workgroup())
        .constant("WALK", Scalar::U32(code))
        .constant("UNROLL", Scalar::U32(config.u32("unroll")));
    case.run(kernel, &resources, shape.groups, &[config.u32("matrix_size")]);
    let work = Work { bytes: Some((words + sums) * 4), items: Some(words), ..Work::default() };
    Ok(case.bound((words >= BEYOND_CACHES).then_some(Bound::Memory)).build(work, Headline::BANDWIDTH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{DeviceInfo, Point};

    #[test]
    fn every_word_is_read_once() {
        let mut device = DeviceInfo::mock();
        device.limits.workgroup_count[0] = 65_535;
        let setting = Setting { device: &device, queue: None, preset: Preset::Default, seed: 1 };
        for (size, local_size, unroll) in [(1_u64, 64_u64, 2_u64), (70, 16, 2), (70, 7, 1), (64, 32, 2)] {
            for walk in WALKS {
                let point = Point::new([
                    ("walk".into(), (*walk).into()),
                    ("matrix_size".into(), size.into()),
                    ("local_size_x".into(), local_size.into()),
                    ("unroll".into(), unroll.into()),
                ]);
                let shape = Shape::new(&Config::new("", &point, &setting)).unwrap();
                let mut words: Vec<u64> = (0..shape.invocations()).flat_map(|i| shape.words(walk, i)).collect();
                words.sort_unstable();
                assert!(words.into_iter().eq(0..size * size), "{point}");
            }
        }
    }
}
