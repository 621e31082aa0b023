//! `cache/tlb`: what does it cost to touch many pages?

mod inference;

use crate::experiments::common::chase::{self, HOPS_PER_ITERATION, Link, MOST_HOPS, Sweep, Walk};
use crate::experiments::common::sweep::sweeps;
use crate::experiments::{Built, Config, Experiment, Setting, powers_of_two};
use crate::model::{
    Axis, AxisKind, Case, Chain, Derived, Figure, Finished, Point, Preset, Repeatability, Skip, Traffic, Untold,
};
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

/// What figures on the translation of addresses are reported under.
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
        derived.extend(reach(point, infer(curve, packed.map(Vec::as_slice))));
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
        Axis::new("hops", "loads per pass", AxisKind::AtLeast(HOPS_PER_ITERATION), [1_u64 << 16])
            .multiple_of(HOPS_PER_ITERATION)
            .up_to(MOST_HOPS)
            .of_monotone_work(),
    ]
}

fn build<'a>(config: &Config<'a>) -> Result<Built<'a>, Skip> {
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
fn reach(point: &Point, found: Result<Vec<Step>, Untold>) -> Vec<Derived> {
    let row = |variant, metric, unit, better, figure: Result<Figure, Untold>, note: &str| Derived {
        experiment: REACH,
        variant,
        point: point.clone(),
        metric,
        unit,
        better,
        figure,
        note: note.to_owned(),
    };
    let steps = match found {
        Ok(steps) => steps,
        Err(why) => return vec![row(PAGES[0], "reach", "pages", "higher", Err(why), "")],
    };
    #[expect(clippy::cast_precision_loss, reason = "pages are small powers of two")]
    let page_bytes = point.integer("page_bytes") as f64;
    let rows = |(i, step): (usize, &Step)| {
        let miss = step.miss.clone().map(|miss| miss.figure());
        [
            row(PAGES[i], "reach", "pages", "higher", Ok(step.pages.figure()), &step.note),
            row(BYTES[i], "reach", "B", "higher", Ok(step.pages.times(page_bytes).figure()), &step.note),
            row(MISSES[i], "latency", "ns", "lower", miss, &step.note),
        ]
    };
    steps.iter().enumerate().flat_map(rows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{AxisValue, Cache, DeviceInfo, DeviceKind};

    /// Whatever the page, the walk visits as many lines, and the memory is as large as the pages are.
    #[test]
    fn pages_have_a_line_each() {
        let device = DeviceInfo::mock();
        let setting = Setting { device: &device, queue: None, preset: Preset::Quick, seed: 1 };
        for page_bytes in PAGE_BYTES {
            let values = [("pages", 48), ("page_bytes", *page_bytes), ("hops", 96)];
            let point = Point::new(values.map(|(name, value)| (name.into(), AxisValue::from(value))));
            let case = EXPERIMENT.case(&Config::new("", &point, &setting)).unwrap();
            assert_eq!((case.resources[1].bytes(), case.work.items), (48 * page_bytes, Some(96)));
        }
    }

    /// The largest storage buffer of many devices is one byte less than 4 GiB: 2 GiB should not be the largest set for that.
    #[test]
    fn pages_come_as_near_to_the_largest_buffer_as_they_can() {
        let gpu = DeviceInfo { kind: DeviceKind::Discrete, ..DeviceInfo::mock() };
        let setting = Setting { device: &gpu, queue: None, preset: Preset::Default, seed: 1 };
        let pages = axes(&setting).into_iter().find(|axis| axis.name == "pages").unwrap();
        let bytes = pages.defaults.iter().map(|pages| pages.to_string().parse::<u64>().unwrap() * (2 << 20));
        let largest = bytes.filter(|bytes| *bytes < 1 << 32).max();
        assert_eq!(largest, Some((4 << 30) - (2 << 20)));
    }

    fn row(pages: u64, page_bytes: u64, value: f64) -> Finished {
        let values = [("pages", pages), ("page_bytes", page_bytes), ("hops", 96)];
        Finished {
            variant: String::new(),
            point: Point::new(values.map(|(name, value)| (name.into(), AxisValue::from(value)))),
            case_id: String::new(),
            cache: Cache::Warm,
            time: 1.0,
            value,
            ..Finished::default()
        }
    }

    #[test]
    fn a_reach_is_told_for_each_page() {
        let pages = one_less_than(4, 1 << 14);
        let of = |page_bytes: u64, entries: u64| {
            pages
                .iter()
                .map(move |&pages| row(pages, page_bytes, if pages <= entries { 20.0 } else { 50.0 }))
                .collect::<Vec<_>>()
        };
        let derived = derive(&[of(64, 1 << 20), of(4096, 64), of(65_536, 1 << 20)].concat());
        let told: Vec<_> = derived.iter().map(|row| (row.point.integer("page_bytes"), row.variant, row.unit)).collect();
        let steps = [(4096, "pages_1", "pages"), (4096, "bytes_1", "B"), (4096, "miss_1", "ns"), (65_536, "pages_1", "pages")];
        assert_eq!(told, steps);
        let figures = derived.iter().map(|row| row.figure.clone()).collect::<Result<Vec<_>, _>>();
        assert!(figures.is_err_and(|why| why.to_string().starts_with("no step seen")), "{derived:?}");
        for (row, truth) in derived.iter().zip([64.0, 64.0 * 4096.0, 30.0]) {
            let (low, high) = row.figure.clone().unwrap().interval.unwrap();
            assert!(low <= truth && truth <= high, "{row:?}");
        }
    }

    #[test]
    fn without_what_a_reach_follows_from_one_row_says_why() {
        let pages = one_less_than(4, 1 << 14);
        let alone: Vec<Finished> = pages.iter().map(|pages| row(*pages, 4096, 20.0)).collect();
        let few = [row(3, 64, 20.0), row(3, 4096, 20.0)];
        for rows in [&[][..], &alone, &few] {
            let derived = derive(rows);
            assert!(derived.len() == 1 && derived[0].figure.is_err(), "{derived:?}");
        }
    }
}
