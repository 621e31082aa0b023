//! `workgroup/persistent`: a workgroup for each block of items, or a few that stay and take one block after the other?

use crate::experiments::common::prelude::*;
use crate::experiments::{scramble, stepped};
use crate::model::Repeat;

pub const EXPERIMENT: Experiment = Experiment {
    variants: &["grid", "stride", "queue"],
    quick_variants: &["grid", "queue"],
    base_variant: Some("grid"),
    ..Experiment::new("workgroup/persistent", axes, build)
};

/// What blocks are: all alike, or one of 16 with 16 times the steps.
const LENGTHS: &[&str] = &["even", "uneven"];
const LONG: u64 = 16;

/// Numbers that an invocation begins a block with, one for each block in turn.
const BEGINNINGS: u64 = 4;

/// More would keep the twin busy for minutes. No more workgroups find a block, and the kernel counts both in 32 bits.
const MOST_BLOCKS: u64 = 1 << 22;
const MOST_ITERATIONS: u64 = 1 << 14;

fn axes(setting: &Setting) -> Vec<Axis> {
    // Of a GPU's workgroups, four or eight for each processor of the largest devices of today, which hold 2048 invocations each.
    let [(groups, iterations), on_gpu]: [(&[u64], &[u64]); 2] = match setting.preset {
        Preset::Quick => [(&[4], &[16]), (&[1056], &[64])],
        Preset::Default => [(&[2, 4], &[16, 64]), (&[528, 1056], &[16, 256])],
        Preset::Thorough => [(&[1, 2, 4, 8], &[16, 64]), (&[132, 264, 528, 1056, 2112], &[16, 64, 256, 1024])],
    };
    let (groups, iterations) = setting.by_class((groups, iterations), on_gpu);
    let lengths = if setting.preset == Preset::Quick { &LENGTHS[1..] } else { LENGTHS };
    let blocks = setting.by_class(128_u64, 1 << 17);
    vec![
        Axis::new("lengths", "steps of the blocks", AxisKind::Choices(LENGTHS), lengths.iter().copied()),
        // More of them are no more work.
        Axis::new("groups", "workgroups that stay", AxisKind::AtLeast(1), groups.iter().copied()).up_to(MOST_BLOCKS),
        local_size_axis(setting),
        Axis::new("blocks", "blocks of items", AxisKind::AtLeast(1), [blocks]).up_to(MOST_BLOCKS).of_work(),
        loop_axis("turns", "steps of an item of a short block", iterations.iter().copied(), MOST_ITERATIONS),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let [blocks, local_size, iterations] = ["blocks", "local_size_x", "turns"].map(|axis| config.integer(axis));
    let groups = if config.variant == "grid" { blocks } else { config.integer("groups") };
    let groups = fold_groups(groups, config.most_groups());
    let (items, is_uneven) = (blocks * local_size, config.choice("lengths") == "uneven");
    let kernel = Kernel::new("workgroup/persistent.comp", config.workgroup())
        .constant("BLOCKS", Scalar::U32(config.u32("blocks")))
        .constant("ITERATIONS", Scalar::U32(config.u32("turns")))
        .constant("UNEVEN", Scalar::Bool(is_uneven));
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let results = case.output("results", Expected::words_from(items, move || results(local_size, iterations, is_uneven)));
    if config.variant == "queue" {
        // It begins empty, and each pass leaves it so.
        let queue = case.output_from(0, "queue", Expected::words(1, |_| 0));
        case.run(kernel.define("QUEUE", ""), &[results, queue], groups, &[]);
        case = case.repeat(Repeat::Resumes);
    } else {
        case.run(kernel, &[results], groups, &[]);
    }
    let long = if is_uneven { (0..blocks).filter(|block| is_long(*block)).count() as u64 } else { 0 };
    let all_iterations = iterations * (blocks + long * (LONG - 1));
    let work = Work { items: Some(items), ops: Some(product([all_iterations, local_size])), ..Work::default() };
    // A lone workgroup may get all blocks, but for `grid`.
    let iterations = if config.variant == "grid" { iterations * LONG } else { all_iterations + blocks };
    Ok(case.iterations(iterations).build(work, Headline::ITEMS))
}

#[expect(clippy::cast_possible_truncation, reason = "a buffer holds less than 2^32 words, and a list in memory fewer")]
fn results(local_size: u64, iterations: u64, is_uneven: bool) -> impl Fn(u64) -> u32 + Send + Sync {
    // Blocks of one length that begin alike have the same items, up to their last addition.
    let short: Vec<u32> = (0..BEGINNINGS * local_size).map(|begin| stepped(begin as u32 + 1, iterations)).collect();
    let long: Vec<u32> = short.iter().map(|x| stepped(*x, iterations * (LONG - 1))).collect();
    move |i| {
        let block = i / local_size;
        let items = if is_uneven && is_long(block) { &long } else { &short };
        items[(block % BEGINNINGS * local_size + i % local_size) as usize].wrapping_add(block as u32)
    }
}

/// Whether a block is one of the long ones where they are uneven, as the shader has it.
#[expect(clippy::cast_possible_truncation, reason = "there are less than 2^32 blocks")]
fn is_long(block: u64) -> bool {
    scramble(block as u32) % 16 == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::testing::{built, case, quick};
    use crate::model::DeviceInfo;

    #[test]
    fn long_blocks_are_few_and_counted() {
        let ops = |lengths| {
            let told = format!("groups=4 local_size_x=32 blocks=4096 turns=10 lengths={lengths}");
            case(&EXPERIMENT, "grid", quick(&DeviceInfo::mock()), &told).unwrap().work.ops.unwrap()
        };
        let short = 32 * 10 * (1 << 12);
        assert_eq!(ops("even"), short);
        // 1/16 of them with 15 times as much on top: twice as much in all, nearly.
        let uneven = ops("uneven");
        assert!(uneven > short * 18 / 10 && uneven < short * 22 / 10, "{uneven} for {short}");
        assert_eq!((uneven - short) % (32 * 10 * 15), 0);
    }

    #[test]
    fn all_variants_do_the_same() {
        let bytes = |variant| {
            let of = |built: Built| built.expected().iter().map(Expected::bytes).collect::<Vec<_>>();
            let told = "groups=4 local_size_x=32 blocks=100 turns=3 lengths=uneven";
            built(&EXPERIMENT, variant, quick(&DeviceInfo::mock()), told, of).unwrap()
        };
        let grid = bytes("grid");
        assert_eq!(bytes("stride"), grid);
        assert_eq!(bytes("queue"), [&grid[0][..], &[0; 4]]);
    }
}
