//! `cache/latency`: how long does a load take, and which caches shorten it?

use crate::experiments::common::axes::hops_axis;
use crate::experiments::common::chase::{self, Link, Sweep, Walk};
use crate::experiments::common::levels::{self, Names};
use crate::experiments::common::prelude::*;
use crate::experiments::common::sweep::sweeps;
use crate::model::Chain;

pub const EXPERIMENT: Experiment = Experiment {
    derived: &[LEVELS.experiment],
    derive,
    repeatability: |_| Repeatability::Memory,
    plot: Some(LEVELS.plot()),
    traffic,
    ..Experiment::new("cache/latency", axes, build)
};

/// What figures on caches are reported under, here and by `cache/bandwidth`.
static LEVELS: Names = Names {
    experiment: "cache/levels",
    count: "count",
    capacities: ["capacity_1", "capacity_2", "capacity_3", "capacity_4", "capacity_5"],
    costs: ["latency_1", "latency_2", "latency_3", "latency_4", "latency_5"],
    beyond: "latency_beyond",
    cost: ["latency", "ns", "lower"],
    of_cost: |cost| cost,
};

/// Bytes from node to node by default: one cache line of most devices.
const LINE_BYTES: u64 = 64;

/// The first cache of no device of today is larger; on processors, which keep what they hold from dispatch to dispatch, it is the
/// second one, that of the processor on which the walk runs.
const PRELOADED_BYTES: (u64, u64) = (2 << 20, 1 << 20);

fn derive(rows: &[Finished]) -> Vec<Derived> {
    let sweeps = sweeps(rows, "working_set_bytes");
    let derived = |(point, curve): (&Point, &Vec<(u64, f64)>)| {
        // Figures of before there were pointers keep their ids.
        let is_neutral = point.get("link").is_some_and(|link| *link == Link::Index.word().into());
        let point = if is_neutral { point.without(&["link"]) } else { point.clone() };
        levels::derived(&LEVELS, &point, &levels::infer(curve))
    };
    sweeps.iter().flat_map(derived).collect()
}

fn axes(setting: &Setting) -> Vec<Axis> {
    let quick = setting.preset == Preset::Quick;
    // Enough loads to see a fair sample of a large set, few enough that a pass of the slowest takes some 50 ms.
    let hops = if quick { setting.by_class(1_u64 << 15, 1 << 16) } else { setting.by_class(1 << 18, 1 << 16) };
    // The quick overview is about levels, which indexes show as well as pointers do, and on every device.
    // The third is for whoever asks what the declaration of a buffer costs.
    let links = match setting.preset {
        Preset::Quick => &Link::ALL[..1],
        Preset::Default => &Link::ALL[..2],
        Preset::Thorough => Link::ALL,
    };
    let link = Link::axis("link", "what a node says of the next: its index, or its address", links);
    vec![
        Axis::new("working_set_bytes", "memory that the walk leads through", AxisKind::AtLeast(64), sizes(setting)),
        Axis::new("line_bytes", "bytes from node to node", AxisKind::Numbers(&[16, 32, 64, 128, 256]), [LINE_BYTES]),
        hops_axis("loads per pass", hops),
        Axis { neutral: Some(Link::Index.word().into()), ..link.relative_to(Link::Index.word()) },
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let [bytes, line, hops] = ["working_set_bytes", "line_bytes", "hops"].map(|axis| config.integer(axis));
    let chain = Chain { seed: config.seed(), nodes: nodes(config.point), stride: line / 4, detour: 0, places: 1 };
    let preloads = bytes <= config.setting.by_class(PRELOADED_BYTES.0, PRELOADED_BYTES.1);
    let preloaded = if preloads { chain.nodes } else { 0 };
    let link = Link::of(config.choice("link"));
    chase::build(EXPERIMENT.name, config, Walk { chain, link, hops, preloaded, sweep: Sweep::of_nodes(chain) })
}

fn traffic(case: &Case) -> Result<Vec<Traffic>, &'static str> {
    let nodes = nodes(&case.point);
    Ok(chase::traffic(case, nodes, nodes))
}

fn nodes(point: &Point) -> u64 {
    (point.integer("working_set_bytes") / point.integer("line_bytes")).max(1)
}

/// The working sets: four to an octave, thoroughly eight.
fn sizes(setting: &Setting) -> Vec<u64> {
    let last = setting.by_class(64_u64 << 20, 1 << 30);
    let steps: &[u64] = match setting.preset {
        // On a GPU as many as levels can be told from; on a processor, whose figures vary more, one for each level of most.
        Preset::Quick if setting.device.is_cpu() => return vec![16 << 10, 256 << 10, 4 << 20],
        Preset::Quick => return (13..=29).map(|octave| 1 << octave).collect(),
        // 1024 x 2^(i/4)
        Preset::Default => &[1024, 1218, 1448, 1722],
        Preset::Thorough => &[1024, 1117, 1218, 1328, 1448, 1579, 1722, 1878],
    };
    let sizes = powers_of_two(1 << 10, last).flat_map(|octave| steps.iter().map(move |step| step * (octave >> 10)));
    let mut sizes: Vec<u64> = sizes.map(whole_lines).take_while(|size| *size <= last).collect();
    sizes.dedup();
    sizes
}

/// The nearest multiple of a line.
fn whole_lines(bytes: u64) -> u64 {
    (bytes + LINE_BYTES / 2) / LINE_BYTES * LINE_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::rows::{device, untold};
    use crate::experiments::common::testing::{asked, case, point};
    use crate::model::{DeviceKind, Figure, Step};

    #[test]
    fn sizes_are_whole_lines_in_even_steps() {
        let gpu = device(DeviceKind::Discrete);
        for (preset, octave) in [(Preset::Default, 4), (Preset::Thorough, 8)] {
            let sizes = sizes(&asked(&gpu, preset));
            assert_eq!((sizes[0], *sizes.last().unwrap(), sizes.len()), (1 << 10, 1 << 30, 20 * octave + 1));
            assert!(sizes.iter().all(|size| size % LINE_BYTES == 0) && sizes.is_sorted());
        }
    }

    /// Whether a number is among the words that are pushed.
    fn pushes(steps: &[Step], number: u64) -> bool {
        let is_pushed =
            |bytes: &[u8]| bytes.chunks_exact(4).any(|word| u64::from(u32::from_ne_bytes(word.try_into().unwrap())) == number);
        steps.iter().any(|step| matches!(step, Step::Push { bytes } if is_pushed(bytes)))
    }

    /// What a pass of the walk would otherwise load from the next level is there before it begins.
    #[test]
    fn small_sets_are_preloaded_and_all_are_swept() {
        for (kind, most) in [(DeviceKind::Discrete, 1 << 20), (DeviceKind::Cpu, 2 << 20)] {
            let device = device(kind);
            for (bytes, preloaded) in [(1 << 10, 16), (most, most / 64), (most + 64, 0)] {
                let told = format!("working_set_bytes={bytes} line_bytes=64");
                let case = case(&EXPERIMENT, "", asked(&device, Preset::Default), &told).unwrap();
                assert!(pushes(&case.pass, preloaded), "{bytes}");
                assert!(pushes(&case.prepare, bytes / 64), "{bytes}");
            }
        }
    }

    fn rows(told: &str) -> Vec<Finished> {
        let row = |bytes: u64| Finished {
            point: point(&format!("working_set_bytes={bytes} {told}")),
            value: if bytes <= 128 << 10 { 20.0 } else { 200.0 },
            ..Finished::default()
        };
        sizes(&asked(&device(DeviceKind::Discrete), Preset::Default)).into_iter().map(row).collect()
    }

    /// Those of indexes keep the point, and so the id, that they had before there were pointers.
    #[test]
    fn levels_are_told_for_each_sweep_over_working_sets() {
        let told = ["line_bytes=64 link=index", "line_bytes=64 link=pointer", "line_bytes=128 link=index"];
        let derived = derive(&told.map(rows).concat());
        let told: Vec<_> = derived.iter().map(|row| (row.point.to_string(), row.variant)).collect();
        let variants = ["count", "capacity_1", "latency_1", "latency_beyond"];
        let points = ["line_bytes=64", "line_bytes=64;link=pointer", "line_bytes=128"];
        assert_eq!(told, points.map(|point| variants.map(|variant| (point.to_owned(), variant))).concat());
        assert_eq!(derived[0].figure, Ok(Figure { value: 1.0, interval: None }));
        let value = |row: &Derived| row.figure.clone().unwrap().value;
        assert!((value(&derived[1]) / 131_072.0 - 1.0).abs() < 0.1, "{:?}", derived[1]);
        assert!((value(&derived[2]) - 20.0).abs() < 0.1 && (value(&derived[3]) - 200.0).abs() < 1.0, "{derived:?}");
    }

    #[test]
    fn without_what_levels_follow_from_there_is_one_row_that_says_why() {
        for rows in [Vec::new(), rows("line_bytes=64 link=index")[..4].to_vec()] {
            let derived = derive(&rows);
            assert!(derived.len() == 1 && untold(&derived[0]).contains("at least"), "{derived:?}");
        }
    }
}
