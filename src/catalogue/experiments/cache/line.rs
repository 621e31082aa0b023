//! `cache/line`: how many bytes come along with the one that was asked for?

mod inference;

use crate::experiments::common::axes::hops_axis;
use crate::experiments::common::chase::{self, Link, Sweep, Walk};
use crate::experiments::common::prelude::*;
use crate::experiments::common::sweep::{Telling, sweeps};
use crate::model::{Chain, Figure, NoFigure};
use inference::{Finding, MOST_SECTORS, infer};

pub const EXPERIMENT: Experiment = Experiment {
    derived: &[SECTORS],
    derive: |rows| sweeps(rows, "distance").iter().flat_map(|(point, times)| sectors(point, &infer(times))).collect(),
    repeatability: |_| Repeatability::Memory,
    traffic,
    ..Experiment::new("cache/line", axes, build)
};

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
        hops_axis("loads per pass, two for each node", 1 << 15),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
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
fn sectors(point: &Point, found: &Result<Finding, NoFigure>) -> Vec<Derived> {
    const GRANULE: [&str; 3] = ["granule", "B", ""];
    let note = found.as_ref().map_or("", |finding| &finding.note);
    let telling = Telling { experiment: SECTORS, point, note };
    match found {
        Err(why) => vec![telling.row(VARIANTS[0], GRANULE, Err(why.clone()))],
        #[expect(clippy::cast_precision_loss, reason = "distances are small")]
        Ok(finding) => {
            let figure = |(low, high): &(u64, u64)| Figure { value: *high as f64, interval: Some((*low as f64, *high as f64)) };
            let sectors = finding.sectors.iter().zip(VARIANTS);
            sectors.map(|(sector, variant)| telling.row(variant, GRANULE, Ok(figure(sector)))).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::rows::untold;
    use crate::experiments::common::testing::{case, point, quick, reason};
    use crate::model::DeviceInfo;

    #[test]
    fn both_words_of_a_node_count_as_one() {
        let device = DeviceInfo::mock();
        let at = |distance: u64| format!("distance={distance} working_set_bytes=1048576 hops=48");
        let case = case(&EXPERIMENT, "", quick(&device), &at(64)).unwrap();
        let nodes = case.resources.iter().find(|resource| resource.name == "nodes").unwrap();
        assert_eq!((case.work.items, nodes.bytes()), (Some(24), 1 << 20));
        for distance in [6, 2048, 1 << 40] {
            assert!(reason(&EXPERIMENT, "", quick(&device), &at(distance)).contains("the case needs"));
        }
    }

    fn rows(bytes: u64) -> Vec<Finished> {
        let row = |distance: u64| Finished {
            point: point(&format!("distance={distance} working_set_bytes={bytes}")),
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
        let figure = Ok(Figure { value: 32.0, interval: Some((32.0, 32.0)) });
        assert!(derived.iter().all(|row| row.figure == figure), "{derived:?}");
    }

    #[test]
    fn without_what_sectors_follow_from_one_row_says_why() {
        for rows in [Vec::new(), rows(1 << 20)[..4].to_vec()] {
            let derived = EXPERIMENT.derive(&rows);
            assert!(derived.len() == 1 && untold(&derived[0]).contains("at least"), "{derived:?}");
        }
    }
}
