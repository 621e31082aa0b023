//! `cache/bandwidth`: how fast does the whole device read what its caches hold?

use crate::experiments::{Experiment, Setting, fold_groups, gcd, powers_of_two};
use crate::model::{Axis, AxisKind, Case, Contents, Headline, Kernel, Point, Preset, Resource, Scalar, Sequence, Skip, Work};
use crate::validate::Expected;

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &Bandwidth;

/// Whose window is whose.
const VARIANTS: &[&str] = &["private", "shared"];

/// Words, and bytes, that an invocation loads at once.
const WORDS: u64 = 4;
const BYTES: u64 = 4 * WORDS;
/// Loads of a turn of the shader's loop.
const TURN: u64 = 8;
/// From one load to the next where the workgroup's loads fill the window anyway: a line of most devices.
const LINE: u64 = 8;

/// More would keep the twin busy for minutes.
const MOST_READS: u64 = 1 << 20;

struct Bandwidth;

/// The sizes that a point stands for.
struct Shape {
    /// Elements of a window.
    elements: u64,
    /// Elements from one workgroup's window to the next one's.
    spacing: u64,
    /// Elements from where one workgroup begins in its window to where the next one does.
    skew: u64,
    /// Elements from one load of an invocation to its next.
    step: u64,
    local_size: u64,
    reads: u64,
    groups: [u32; 3],
    /// Workgroups of the whole grid.
    all_groups: u64,
}

impl Shape {
    fn new(variant: &str, point: &Point, limit_x: u32) -> Self {
        let [bytes, local_size, reads] = ["working_set_bytes", "local_size_x", "reads"].map(|axis| point.integer(axis));
        let groups = fold_groups(point.integer("groups"), limit_x);
        let all_groups = groups.iter().fold(1, |product: u64, count| product.saturating_mul((*count).into()));
        let elements = (bytes / BYTES).max(1);
        let is_shared = variant == "shared";
        // Spread over the shared window: workgroups that read the same at the same time would hide how far it is away.
        let skew = if is_shared { (elements / all_groups) / LINE * LINE } else { 0 };
        let step = if elements > local_size { local_size } else { LINE.min(elements - 1) };
        Self { elements, spacing: if is_shared { 0 } else { elements }, skew, step, local_size, reads, groups, all_groups }
    }

    /// Elements of all windows.
    fn all_elements(&self) -> u64 {
        if self.spacing == 0 { self.elements } else { self.elements.saturating_mul(self.all_groups) }
    }

    fn invocations(&self) -> u64 {
        self.all_groups.saturating_mul(self.local_size)
    }

    /// Loads of all invocations.
    fn loads(&self) -> Option<u64> {
        self.invocations().checked_mul(self.reads)
    }

    /// Loads after which an invocation is back at its first element.
    fn period(&self) -> u64 {
        self.elements / gcd(self.step, self.elements)
    }
}

impl Experiment for Bandwidth {
    fn name(&self) -> &'static str {
        "cache/bandwidth"
    }

    fn summary(&self) -> &'static str {
        "reading windows of memory again and again, by their size"
    }

    fn description(&self) -> &'static str {
        "Workgroups enough to fill the device read windows of memory with loads of 16 bytes, neighbouring invocations side by \
         side, `reads` of them per invocation, round and round. In `private` each workgroup has a window of `working_set_bytes` \
         of its own, so that the device reads `groups` times as much memory; in `shared` all have the same window, in which each \
         begins elsewhere.\n\
         \n\
         How to read it: bytes are what the invocations load. On a GPU with a first cache for each of its processors, \
         `private` is flat as long as the windows of the workgroups that run on one processor at a time fit that cache \
         (with 256 invocations, commonly four to eight of them), then falls to what the next cache gives, and where \
         groups x working_set_bytes leaves the last cache, to what memory gives. `shared` stays with the first cache up \
         to its whole size, and falls again where the window leaves the last cache. In between, its figure is more than \
         the last cache gives: workgroups of one processor find in their first cache what another has just read. Where a \
         window is larger than an invocation's reads reach (groups x reads x local_size_x x 16 bytes in all), a pass \
         reads a part of it. The first cache of many GPUs is empty when a pass begins: its figure is a little low where \
         `reads` bring each window in only a few times. On processors there are only as many workgroups as the figure \
         needs to be stable, and the loads' own instructions limit the first caches.\n\
         \n\
         On an NVIDIA H100 (driver 580.159.04): `private` 31 600 GB/s up to windows of 16 KiB, of which eight share a \
         first cache, and 3110 GB/s from memory; `shared` 31 600 GB/s up to 128 KiB, 8560 at 8 MiB and 7680 at 64 MiB, \
         both with hits in the first caches, and 3040 from memory."
    }

    fn variants(&self) -> &[&str] {
        VARIANTS
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
        let quick = setting.preset == Preset::Quick;
        let most = setting.by_class(16_u64 << 20, 1 << 30);
        let sizes = if quick { vec![16 << 10, 1 << 20] } else { powers_of_two(1 << 10, most).collect() };
        // Eight workgroups for each processor of the largest devices of today.
        let groups = setting.by_class(8_u64, 1056);
        // On a GPU, enough to fill a first cache a hundred times.
        let reads = if quick { setting.by_class(64_u64, 1024) } else { setting.by_class(512, 1024) };
        vec![
            Axis::new("working_set_bytes", "size of a window", AxisKind::AtLeast(2 * BYTES), sizes),
            Axis::new("local_size_x", "invocations per workgroup", AxisKind::AtLeast(1), [256_u64]),
            // Of other numbers of workgroups, other ones share a processor and its first cache: that isn't the same work.
            Axis::new("groups", "workgroups", AxisKind::AtLeast(1), [groups]),
            Axis::new("reads", "loads per invocation, a multiple of 8", AxisKind::AtLeast(TURN), [reads]).of_monotone_work(),
        ]
    }

    fn case(&self, variant: &str, point: &Point, setting: &Setting) -> Result<Case, Skip> {
        let shape = Shape::new(variant, point, setting.device.limits.workgroup_count[0]);
        let reads = shape.reads;
        if reads % TURN != 0 || reads > MOST_READS {
            return Err(Skip::new(format!(
                "loads come in turns of {TURN}, up to {MOST_READS} of them: the case needs {reads}"
            )));
        }
        let too_many = |_| Skip::new("the kernel counts elements in 32 bits, the case needs more");
        let numbers = [shape.elements, shape.spacing, shape.skew, shape.step, shape.all_elements(), reads / TURN];
        let [elements, spacing, skew, step, _, turns] = numbers.map(|n| u32::try_from(n).map_err(too_many));
        let kernel =
            Kernel::new("cache/bandwidth.comp", [point.u32("local_size_x"), 1, 1], 2).constant("TURNS", Scalar::U32(turns?));
        let a = Contents::Sequence(Sequence::Words { seed: setting.seed });
        let resources = vec![
            Resource::words("sums", shape.invocations(), Contents::Undefined),
            Resource::words("a", shape.all_elements().saturating_mul(WORDS), a),
        ];
        let push = [elements?, spacing?, skew?, step?];
        let case = Case::single_dispatch(self.name(), point, kernel, shape.groups, &push, resources, vec![0]);
        let work =
            Work { bytes: shape.loads().and_then(|loads| loads.checked_mul(BYTES)), items: shape.loads(), ..Work::default() };
        Ok(Case { variant: variant.to_owned(), work, headline: Headline::BANDWIDTH, iterations: reads / TURN, ..case })
    }

    fn expected<'a>(&self, case: &'a Case) -> Vec<Expected<'a>> {
        let shape = Shape::new(&case.variant, &case.point, case.groups()[0]);
        let a = case.resources[1].sequence();
        vec![Expected::words(case.resources[0].bytes() / 4, move |invocation| sum(&shape, a, invocation))]
    }
}

/// What one invocation sums up: whole rounds first, then what is left of its reads.
#[expect(clippy::cast_possible_truncation, reason = "a sum of words wraps as the device's does")]
fn sum(shape: &Shape, a: Sequence, invocation: u64) -> u32 {
    let (group, lane) = (invocation / shape.local_size, invocation % shape.local_size);
    let first = (group * shape.skew + lane) % shape.elements;
    let mixed = |k: u64| {
        let element = group * shape.spacing + (first + k * shape.step) % shape.elements;
        let words = (0..WORDS).map(|word| a.word(element * WORDS + word));
        words.zip([1, 3, 5, 7]).fold(0, |mixed: u32, (word, factor)| mixed.wrapping_add(word.wrapping_mul(factor)))
    };
    let all = |reads: u64| (0..reads).map(mixed).fold(0, u32::wrapping_add);
    let (rounds, rest) = (shape.reads / shape.period(), shape.reads % shape.period());
    let round = if rounds > 0 { all(shape.period()) } else { 0 };
    round.wrapping_mul(rounds as u32).wrapping_add(all(rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::AxisValue;

    fn shape(variant: &str, bytes: u64, local_size: u64, groups: u64) -> Shape {
        let values = [("working_set_bytes", bytes), ("local_size_x", local_size), ("groups", groups), ("reads", 64)];
        Shape::new(variant, &Point::new(values.map(|(name, value)| (name.into(), AxisValue::from(value)))), 65_535)
    }

    /// What a workgroup reads is its window, the whole of it if it reads enough.
    #[test]
    fn a_workgroup_reads_its_window() {
        for (bytes, local_size) in [(1 << 10, 256), (1 << 10, 64), (1 << 12, 48), (16 << 10, 256), (1000, 7), (32, 1)] {
            let shape = shape("private", bytes, local_size, 3);
            let element = |lane: u64, k: u64| (lane + k * shape.step) % shape.elements;
            let read: std::collections::BTreeSet<u64> =
                (0..local_size).flat_map(|lane| (0..shape.elements).map(move |k| element(lane, k))).collect();
            assert_eq!(read.len() as u64, shape.elements, "{bytes} B, {local_size} invocations");
            assert!(shape.step > 0 && shape.step < shape.elements);
        }
    }

    #[test]
    fn private_windows_lie_side_by_side_and_a_shared_one_is_begun_everywhere() {
        let private = shape("private", 1 << 16, 64, 8);
        assert_eq!((private.spacing, private.skew, private.all_elements()), (4096, 0, 8 * 4096));
        let shared = shape("shared", 1 << 16, 64, 8);
        assert_eq!((shared.spacing, shared.skew, shared.all_elements()), (0, 512, 4096));
    }

    #[test]
    fn a_sum_by_rounds_is_the_sum() {
        let a = Sequence::Words { seed: 1 };
        for (bytes, local_size) in [(1 << 10, 256), (1000, 7), (1 << 16, 64)] {
            let shape = shape("shared", bytes, local_size, 3);
            let one_by_one = |invocation: u64| {
                let mut i = (invocation / local_size * shape.skew + invocation % local_size) % shape.elements;
                let mut sum = 0_u32;
                for _ in 0..shape.reads {
                    let words = [0, 1, 2, 3].map(|word| a.word(4 * i + word));
                    sum = (0..4).fold(sum, |sum, j| sum.wrapping_add(words[j].wrapping_mul([1, 3, 5, 7][j])));
                    i = (i + shape.step) % shape.elements;
                }
                sum
            };
            assert!((0..3 * local_size).all(|invocation| sum(&shape, a, invocation) == one_by_one(invocation)));
        }
    }
}
