//! `cache/latency`: how long does a load take, and which caches shorten it?

use crate::experiments::common::chase::{self, HOPS_PER_ITERATION, Link, MOST_HOPS, Sweep, Walk};
use crate::experiments::common::levels::{self, Names};
use crate::experiments::common::sweep::sweeps;
use crate::experiments::{Built, Config, Experiment, Setting};
use crate::model::{Axis, AxisKind, Case, Chain, Derived, Finished, Marks, Plot, Point, Preset, Repeatability, Skip, Traffic};

pub const EXPERIMENT: Experiment = Experiment {
    derived: &[LEVELS.experiment],
    derive,
    repeatability: |_| Repeatability::Memory,
    plot: Some(PLOT),
    traffic,
    ..Experiment::new("cache/latency", axes, build)
};

/// What figures on caches are reported under, here and by `cache/bandwidth`.
const LEVELS: Names = Names {
    experiment: "cache/levels",
    count: "count",
    capacities: ["capacity_1", "capacity_2", "capacity_3", "capacity_4", "capacity_5"],
    costs: ["latency_1", "latency_2", "latency_3", "latency_4", "latency_5"],
    beyond: "latency_beyond",
    metric: "latency",
    unit: "ns",
    better: "lower",
    of_cost: |cost| cost,
};

/// Bytes from node to node by default: one cache line of most devices.
const LINE_BYTES: u64 = 64;

/// The first cache of no device of today is larger; on processors, which keep what they hold from dispatch to dispatch, it is the
/// second one, that of the processor on which the walk runs.
const PRELOADED_BYTES: (u64, u64) = (2 << 20, 1 << 20);

/// What a node may tell of the next one, the neutral value first.
const LINKS: &[&str] = &["index", "pointer", "index_unqualified"];

fn derive(rows: &[Finished]) -> Vec<Derived> {
    let sweeps = sweeps(rows, "working_set_bytes");
    let derived = |(point, curve): (&Point, &Vec<(u64, f64)>)| {
        // Figures of before there were pointers keep their ids.
        let is_neutral = point.get("link").is_some_and(|link| *link == LINKS[0].into());
        let point = if is_neutral { point.without(&["link"]) } else { point.clone() };
        levels::derived(&LEVELS, &point, &levels::infer(curve))
    };
    sweeps.iter().flat_map(derived).collect()
}

const PLOT: Plot = {
    let marks = Marks { experiment: LEVELS.experiment, variants: &LEVELS.capacities };
    Plot { marks: Some(marks), ..Plot::over("working_set_bytes") }
};

fn axes(setting: &Setting) -> Vec<Axis> {
    let quick = setting.preset == Preset::Quick;
    // Enough loads to see a fair sample of a large set, few enough that a pass of the slowest takes some 50 ms.
    let hops = if quick { setting.by_class(1_u64 << 15, 1 << 16) } else { setting.by_class(1 << 18, 1 << 16) };
    // The quick overview is about levels, which indexes show as well as pointers do, and on every device.
    // The third is for whoever asks what the declaration of a buffer costs.
    let links = match setting.preset {
        Preset::Quick => 1,
        Preset::Default => 2,
        Preset::Thorough => LINKS.len(),
    };
    let links = LINKS[..links].iter().copied();
    vec![
        Axis::new("working_set_bytes", "memory that the walk leads through", AxisKind::AtLeast(64), sizes(setting)),
        Axis::new("line_bytes", "bytes from node to node", AxisKind::Numbers(&[16, 32, 64, 128, 256]), [LINE_BYTES]),
        Axis::new("hops", "loads per pass", AxisKind::AtLeast(HOPS_PER_ITERATION), [hops])
            .multiple_of(HOPS_PER_ITERATION)
            .up_to(MOST_HOPS)
            .of_monotone_work(),
        Axis {
            neutral: Some(LINKS[0].into()),
            ..Axis::new("link", "what a node tells of the next: its index, or its address", AxisKind::Choices(LINKS), links)
                .relative_to(LINKS[0])
        },
    ]
}

fn build<'a>(config: &Config<'a>) -> Result<Built<'a>, Skip> {
    let [bytes, line, hops] = ["working_set_bytes", "line_bytes", "hops"].map(|axis| config.integer(axis));
    let chain = Chain { seed: config.seed(), nodes: nodes(config.point), stride: line / 4, detour: 0, places: 1 };
    let preloads = bytes <= config.setting.by_class(PRELOADED_BYTES.0, PRELOADED_BYTES.1);
    let preloaded = if preloads { chain.nodes } else { 0 };
    let link = match config.choice("link") {
        "pointer" => Link::Pointer,
        "index_unqualified" => Link::UnqualifiedIndex,
        _ => Link::Index,
    };
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
    let (first, last) = (1_u64 << 10, setting.by_class(64_u64 << 20, 1 << 30));
    let steps: &[u64] = match setting.preset {
        // On a GPU as many as levels can be told from; on a processor, whose figures vary more, one for each level of most.
        Preset::Quick if setting.device.is_cpu() => return vec![16 << 10, 256 << 10, 4 << 20],
        Preset::Quick => return (13..=29).map(|octave| 1 << octave).collect(),
        // 1024 x 2^(i/4)
        Preset::Default => &[1024, 1218, 1448, 1722],
        Preset::Thorough => &[1024, 1117, 1218, 1328, 1448, 1579, 1722, 1878],
    };
    let octaves = std::iter::successors(Some(1_u64), |factor| factor.checked_mul(2));
    let sizes = octaves.flat_map(|factor| steps.iter().map(move |step| step * first / 1024 * factor));
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
    use crate::model::{AxisValue, Cache, DeviceInfo, DeviceKind, Figure, Step};

    fn device(kind: DeviceKind) -> DeviceInfo {
        DeviceInfo { kind, ..DeviceInfo::mock() }
    }

    fn setting(device: &DeviceInfo, preset: Preset) -> Setting<'_> {
        Setting { device, queue: None, preset, seed: 1 }
    }

    fn point(bytes: u64, line: u64) -> Point {
        let values = [("working_set_bytes", bytes), ("line_bytes", line), ("hops", 1 << 16)];
        let numbers = values.map(|(name, value)| (name.into(), AxisValue::from(value)));
        Point::new(numbers.into_iter().chain([("link".into(), LINKS[0].into())]))
    }

    #[test]
    fn sizes_are_whole_lines_in_even_steps() {
        let gpu = device(DeviceKind::Discrete);
        for (preset, octave) in [(Preset::Default, 4), (Preset::Thorough, 8)] {
            let sizes = sizes(&setting(&gpu, preset));
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
            let setting = setting(&device, Preset::Default);
            for (bytes, preloaded) in [(1 << 10, 16), (most, most / 64), (most + 64, 0)] {
                let case = EXPERIMENT.case(&Config::new("", &point(bytes, 64), &setting)).unwrap();
                assert!(pushes(&case.pass, preloaded), "{bytes}");
                assert!(pushes(&case.prepare, bytes / 64), "{bytes}");
            }
        }
    }

    fn rows(line: u64) -> Vec<Finished> {
        let gpu = device(DeviceKind::Discrete);
        let row = |bytes: u64| Finished {
            variant: String::new(),
            point: point(bytes, line),
            case_id: String::new(),
            cache: Cache::Warm,
            subgroup_size: None,
            time: 1.0,
            flags: Vec::new(),
            interval: None,
            value: if bytes <= 128 << 10 { 20.0 } else { 200.0 },
            ..Finished::default()
        };
        sizes(&setting(&gpu, Preset::Default)).into_iter().map(row).collect()
    }

    #[test]
    fn levels_are_told_for_each_sweep_over_working_sets() {
        let derived = derive(&[rows(64), rows(128)].concat());
        let told: Vec<_> = derived.iter().map(|row| (row.point.integer("line_bytes"), row.variant)).collect();
        let variants = ["count", "capacity_1", "latency_1", "latency_beyond"];
        assert_eq!(told, [64, 128].map(|line| variants.map(|variant| (line, variant))).concat());
        assert_eq!(derived[0].figure, Ok(Figure { value: 1.0, interval: None }));
        let value = |row: &Derived| row.figure.clone().unwrap().value;
        assert!((value(&derived[1]) / 131_072.0 - 1.0).abs() < 0.1, "{:?}", derived[1]);
        assert!((value(&derived[2]) - 20.0).abs() < 0.1 && (value(&derived[3]) - 200.0).abs() < 1.0, "{derived:?}");
    }

    /// Those of indexes keep the point, and so the id, that they had before there were pointers.
    #[test]
    fn pointers_have_levels_of_their_own() {
        let pointing = rows(64).into_iter().map(|row| Finished { point: row.point.with("link", &LINKS[1].into()), ..row });
        let derived = derive(&rows(64).into_iter().chain(pointing).collect::<Vec<_>>());
        let links: Vec<_> = derived.iter().map(|row| row.point.get("link").map(ToString::to_string)).collect();
        assert_eq!(links, [vec![None; 4], vec![Some("pointer".to_owned()); 4]].concat());
    }

    #[test]
    fn without_what_levels_follow_from_there_is_one_row_that_says_why() {
        for rows in [Vec::new(), rows(64)[..4].to_vec()] {
            let derived = derive(&rows);
            assert_eq!(derived.len(), 1);
            assert!(derived[0].figure.clone().unwrap_err().to_string().contains("at least"), "{derived:?}");
        }
    }
}
