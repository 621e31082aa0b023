//! `cache/tlb`: what does it cost to touch many pages?

mod inference;

use crate::experiments::common::axes::hops_axis;
use crate::experiments::common::chase::{self, Link, Sweep, Walk};
use crate::experiments::common::prelude::*;
use crate::experiments::common::sweep::{Telling, sweeps};
use crate::model::{Chain, NoFigure};
use inference::{MOST_STEPS, Step, infer};

pub const EXPERIMENT: Experiment = Experiment {
    derived: &[REACH],
    derive,
    repeatability: |_| Repeatability::Memory,
    traffic,
    ..Experiment::new("cache/tlb", axes, build)
};

/// Bytes of a line: what a page that is nothing else has.
const LINE_BYTES: u64 = 64;
const PAGE_BYTES: &[u64] = &[LINE_BYTES, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 2 << 20];

/// So many lines, which the first caches of some devices hold, are loaded once more before each walk: where walks begin with an
/// empty first cache, what fills it again shows less.
const PRELOADED_PAGES: u64 = (1 << 20) / LINE_BYTES;

const REACH: &str = "cache/tlb_reach";
/// Names of the derived rows of each step.
const PAGES: [&str; MOST_STEPS] = ["pages_1", "pages_2", "pages_3", "pages_4", "pages_5"];
const BYTES: [&str; MOST_STEPS] = ["bytes_1", "bytes_2", "bytes_3", "bytes_4", "bytes_5"];
const MISSES: [&str; MOST_STEPS] = ["miss_1", "miss_2", "miss_3", "miss_4", "miss_5"];

fn derive(rows: &[Finished]) -> Vec<Derived> {
    let sweeps = sweeps(rows, "pages");
    let is_packed = |point: &Point| matches!(point.get("page_bytes"), Some(bytes) if *bytes == LINE_BYTES.into());
    let mut derived = Vec::new();
    for (point, curve) in sweeps.iter().filter(|(point, _)| !is_packed(point)) {
        let packed = sweeps.get(&point.with("page_bytes", &LINE_BYTES.into())).filter(|_| !curve.is_empty());
        derived.extend(reach(point, &infer(curve, packed.map(Vec::as_slice))));
    }
    derived
}

fn axes(setting: &Setting) -> Vec<Axis> {
    let (pages, page_bytes) = match setting.preset {
        Preset::Quick => setting.by_class((vec![1023_u64], vec![64, 4 << 10]), (vec![255], vec![64, 64 << 10, 2 << 20])),
        Preset::Default => setting.by_class(
            (one_less_than(16, 1 << 14), vec![64, 4 << 10]),
            (one_less_than(4, 1 << 14), vec![64, 4 << 10, 64 << 10, 2 << 20]),
        ),
        Preset::Thorough => setting.by_class(
            (one_less_than(4, 1 << 16), vec![64, 4 << 10, 16 << 10]),
            (one_less_than(4, 1 << 16), PAGE_BYTES.to_vec()),
        ),
    };
    vec![
        Axis::new("page_bytes", "bytes from page to page", AxisKind::Numbers(PAGE_BYTES), page_bytes).relative_to(LINE_BYTES),
        Axis::new("pages", "pages with a line that the walk visits", AxisKind::AtLeast(1), pages),
        hops_axis("loads per pass", 1 << 16),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let [pages, page_bytes, hops] = ["pages", "page_bytes", "hops"].map(|axis| config.integer(axis));
    let places = page_bytes / LINE_BYTES;
    let chain = Chain { seed: config.seed(), nodes: pages, stride: page_bytes / 4, detour: 0, places };
    let preloaded = if pages <= PRELOADED_PAGES { pages } else { 0 };
    chase::build(EXPERIMENT.name, config, Walk { chain, link: Link::Index, hops, preloaded, sweep: Sweep::of_nodes(chain) })
}

fn traffic(case: &Case) -> Result<Vec<Traffic>, &'static str> {
    let pages = case.point.integer("pages");
    Ok(chase::traffic(case, pages, pages))
}

/// One less than the powers of two: what has a power of two of entries or bytes holds all of them, be it a TLB or the range of a
/// buffer, which is one byte less than 4 GiB on many devices.
fn one_less_than(first: u64, last: u64) -> Vec<u64> {
    powers_of_two(first, last).map(|pages| pages - 1).collect()
}

/// The derived rows of the steps at one page: at least one, which says why where there is none.
fn reach(point: &Point, found: &Result<Vec<Step>, NoFigure>) -> Vec<Derived> {
    const PAGES_HELD: [&str; 3] = ["reach", "pages", "higher"];
    let steps = match found {
        Ok(steps) => steps,
        Err(why) => return vec![Telling { experiment: REACH, point, note: "" }.row(PAGES[0], PAGES_HELD, Err(why.clone()))],
    };
    #[expect(clippy::cast_precision_loss, reason = "pages are small powers of two")]
    let page_bytes = point.integer("page_bytes") as f64;
    let rows = |(i, step): (usize, &Step)| {
        let telling = Telling { experiment: REACH, point, note: &step.note };
        [
            telling.row(PAGES[i], PAGES_HELD, Ok(step.pages.figure())),
            telling.row(BYTES[i], ["reach", "B", "higher"], Ok(step.pages.times(page_bytes).figure())),
            telling.row(MISSES[i], ["latency", "ns", "lower"], step.miss.clone().map(|miss| miss.figure())),
        ]
    };
    steps.iter().enumerate().flat_map(rows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::rows::{device, untold};
    use crate::experiments::common::testing::{asked, case, point, quick};
    use crate::model::{DeviceInfo, DeviceKind};

    /// Whatever the page, the walk visits as many lines, and the memory is as large as the pages are.
    #[test]
    fn pages_have_a_line_each() {
        let device = DeviceInfo::mock();
        for page_bytes in PAGE_BYTES {
            let case = case(&EXPERIMENT, "", quick(&device), &format!("pages=48 page_bytes={page_bytes} hops=96")).unwrap();
            let nodes = case.resources.iter().find(|resource| resource.name == "nodes").unwrap();
            assert_eq!((nodes.bytes(), case.work.items), (48 * page_bytes, Some(96)));
        }
    }

    /// The largest storage buffer of many devices is one byte less than 4 GiB: 2 GiB should not be the largest set for that.
    #[test]
    fn pages_come_as_near_to_the_largest_buffer_as_they_can() {
        let gpu = device(DeviceKind::Discrete);
        let axes = axes(&asked(&gpu, Preset::Default));
        let pages = axes.iter().find(|axis| axis.name == "pages").unwrap();
        let bytes = pages.defaults.iter().map(|pages| pages.to_string().parse::<u64>().unwrap() * (2 << 20));
        assert_eq!(bytes.filter(|bytes| *bytes < 1 << 32).max(), Some((4 << 30) - (2 << 20)));
    }

    /// Of a translation that holds so many pages.
    fn rows(page_bytes: u64, entries: u64) -> Vec<Finished> {
        let row = |pages: u64| Finished {
            point: point(&format!("pages={pages} page_bytes={page_bytes} hops=96")),
            value: if pages <= entries { 20.0 } else { 50.0 },
            ..Finished::default()
        };
        one_less_than(4, 1 << 14).into_iter().map(row).collect()
    }

    #[test]
    fn a_reach_is_told_for_each_page() {
        let derived = derive(&[rows(64, 1 << 20), rows(4096, 64), rows(65_536, 1 << 20)].concat());
        let told: Vec<_> = derived.iter().map(|row| (row.point.integer("page_bytes"), row.variant, row.unit)).collect();
        let steps = [(4096, "pages_1", "pages"), (4096, "bytes_1", "B"), (4096, "miss_1", "ns"), (65_536, "pages_1", "pages")];
        assert_eq!(told, steps);
        assert!(untold(&derived[3]).starts_with("no step seen"), "{derived:?}");
        for (row, truth) in derived.iter().zip([64.0, 64.0 * 4096.0, 30.0]) {
            let (low, high) = row.figure.clone().unwrap().interval.unwrap();
            assert!(low <= truth && truth <= high, "{row:?}");
        }
    }

    #[test]
    fn without_what_a_reach_follows_from_one_row_says_why() {
        let alone = rows(4096, 1 << 20);
        let few = [alone[..1].to_vec(), rows(64, 1 << 20)[..1].to_vec()].concat();
        for rows in [&[][..], &alone, &few] {
            let derived = derive(rows);
            assert!(derived.len() == 1 && derived[0].figure.is_err(), "{derived:?}");
        }
    }
}
