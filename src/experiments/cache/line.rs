//! `cache/line`: how many bytes come along with the one that was asked for?

mod inference;

use crate::experiments::common::chase::{self, HOPS_PER_ITERATION, Link, MOST_HOPS, Sweep, Walk};
use crate::experiments::common::sweep::sweeps;
use crate::experiments::{Built, Config, Experiment, Setting};
use crate::model::{Axis, AxisKind, Case, Chain, Derived, Figure, Point, Preset, Repeatability, Skip, Traffic, Untold};
use inference::{Finding, MOST_SECTORS, infer};

pub const EXPERIMENT: Experiment = Experiment {
    derived: &[SECTORS],
    derive: |rows| sweeps(rows, "distance").iter().flat_map(|(point, times)| sectors(point, &infer(times))).collect(),
    repeatability: |_| Repeatability::Memory,
    traffic,
    ..Experiment::new("cache/line", axes, build)
};

/// What figures on lines are reported under.
const SECTORS: &str = "cache/granules";
const VARIANTS: [&str; MOST_SECTORS] = ["granule_1", "granule_2", "granule_3"];

/// Bytes from node to node: nodes begin where the largest sectors do.
const NODE_BYTES: u64 = 2048;
/// Bytes from word to word of what is read to evict the nodes: no line of today is shorter.
const SWEEP_BYTES: u64 = 32;
const SWEPT_PER_NODE: u64 = NODE_BYTES / SWEEP_BYTES;

/// Three or more to each sector that is a power of two, from 16 to 512 bytes.
const DISTANCES: [u64; 26] =
    [4, 8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 768, 1024];

fn axes(setting: &Setting) -> Vec<Axis> {
    let quick = setting.preset == Preset::Quick;
    let distances = if quick { vec![4, 32, 64, 128] } else { DISTANCES.to_vec() };
    // On a GPU, ten times the last cache of the large ones of today.
    let set = if quick { setting.by_class(4_u64 << 20, 256 << 20) } else { setting.by_class(64_u64 << 20, 512 << 20) };
    vec![
        Axis::new("distance", "bytes from a node's first word to its second", AxisKind::AtLeast(4), distances)
            .relative_to(4_u64),
        Axis::new("working_set_bytes", "memory that the walk leads through", AxisKind::AtLeast(NODE_BYTES), [set]),
        Axis::new("hops", "loads per pass, two for each node", AxisKind::AtLeast(HOPS_PER_ITERATION), [1_u64 << 15])
            .multiple_of(HOPS_PER_ITERATION)
            .up_to(MOST_HOPS)
            .of_monotone_work(),
    ]
}

fn build<'a>(config: &Config<'a>) -> Result<Built<'a>, Skip> {
    let [distance, hops] = ["distance", "hops"].map(|axis| config.integer(axis));
    if distance % 4 != 0 || distance >= NODE_BYTES {
        return Err(Skip::new(format!(
            "nodes are {NODE_BYTES} bytes apart, and words are 4 bytes long: the case needs a distance of {distance}"
        )));
    }
    let nodes = nodes(config.point);
    let chain = Chain { seed: config.seed(), nodes, stride: NODE_BYTES / 4, detour: distance / 4, places: 1 };
    let sweep = Sweep { count: nodes * SWEPT_PER_NODE, stride: SWEEP_BYTES / 4, places: 1 };
    chase::build(EXPERIMENT.name, config, Walk { chain, link: Link::Index, hops, preloaded: 0, sweep })
}

fn traffic(case: &Case) -> Result<Vec<Traffic>, &'static str> {
    let nodes = nodes(&case.point);
    Ok(chase::traffic(case, nodes, nodes * SWEPT_PER_NODE))
}

fn nodes(point: &Point) -> u64 {
    (point.integer("working_set_bytes") / NODE_BYTES).max(1)
}

/// The derived rows of a finding: one at least, which says why where there is no step.
fn sectors(point: &Point, found: &Result<Finding, Untold>) -> Vec<Derived> {
    let derived = |variant, figure: Result<Figure, Untold>| Derived {
        experiment: SECTORS,
        variant,
        point: point.clone(),
        metric: "granule",
        unit: "B",
        better: "",
        figure,
        note: found.as_ref().map_or_else(|_| String::new(), |finding| finding.note.clone()),
    };
    match found {
        Err(why) => vec![derived(VARIANTS[0], Err(why.clone()))],
        #[expect(clippy::cast_precision_loss, reason = "distances are small")]
        Ok(finding) => {
            let figure = |(low, high): &(u64, u64)| Figure { value: *high as f64, interval: Some((*low as f64, *high as f64)) };
            finding.sectors.iter().zip(VARIANTS).map(|(sector, variant)| derived(variant, Ok(figure(sector)))).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{AxisValue, Cache, DeviceInfo, Finished};

    fn point(distance: u64, bytes: u64) -> Point {
        let values = [("distance", distance), ("working_set_bytes", bytes), ("hops", 48)];
        Point::new(values.map(|(name, value)| (name.into(), AxisValue::from(value))))
    }

    #[test]
    fn both_words_of_a_node_count_as_one() {
        let device = DeviceInfo::mock();
        let setting = Setting { device: &device, queue: None, preset: Preset::Quick, seed: 1 };
        let case = EXPERIMENT.case(&Config::new("", &point(64, 1 << 20), &setting)).unwrap();
        assert_eq!((case.work.items, case.resources[1].bytes()), (Some(24), 1 << 20));
        for distance in [6, 2048, 1 << 40] {
            let skip = EXPERIMENT.case(&Config::new("", &point(distance, 1 << 20), &setting)).unwrap_err();
            assert!(skip.reason.contains("the case needs"));
        }
    }

    fn rows(bytes: u64) -> Vec<Finished> {
        let row = |distance: u64| Finished {
            variant: String::new(),
            point: point(distance, bytes),
            case_id: String::new(),
            cache: Cache::Warm,
            subgroup_size: None,
            time: 1.0,
            flags: Vec::new(),
            interval: None,
            value: if distance < 32 { 600.0 } else { 800.0 },
            ..Finished::default()
        };
        DISTANCES.map(row).to_vec()
    }

    #[test]
    fn sectors_are_told_for_each_set() {
        let derived = EXPERIMENT.derive(&[rows(1 << 20), rows(1 << 21)].concat());
        let told: Vec<_> = derived.iter().map(|row| (row.point.integer("working_set_bytes"), row.variant)).collect();
        assert_eq!(told, [(1 << 20, "granule_1"), (1 << 21, "granule_1")]);
        assert!(
            derived.iter().all(|row| row.figure == Ok(Figure { value: 32.0, interval: Some((32.0, 32.0)) })),
            "{derived:?}"
        );
    }

    #[test]
    fn without_what_sectors_follow_from_one_row_says_why() {
        for rows in [Vec::new(), rows(1 << 20)[..4].to_vec()] {
            let derived = EXPERIMENT.derive(&rows);
            assert_eq!(derived.len(), 1);
            assert!(derived[0].figure.clone().unwrap_err().to_string().contains("at least"), "{derived:?}");
        }
    }
}
