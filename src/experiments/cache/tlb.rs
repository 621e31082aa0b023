//! `cache/tlb`: what does it cost to touch many pages?

use crate::experiments::chase::{self, Sweep, Walk};
use crate::experiments::{Experiment, Setting, powers_of_two};
use crate::model::{Axis, AxisKind, Case, Chain, Point, Preset, Skip};
use crate::validate::{Expected, Verdict};

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &Tlb;

/// Bytes of a line: what a page that is nothing else has.
const LINE_BYTES: u64 = 64;
const PAGE_BYTES: &[u64] = &[LINE_BYTES, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 2 << 20];

/// So many lines, which the first caches of some devices hold, are loaded once more before each walk: where walks begin with an
/// empty first cache, what fills it again shows less.
const PRELOADED_PAGES: u64 = (1 << 20) / LINE_BYTES;

struct Tlb;

impl Experiment for Tlb {
    fn name(&self) -> &'static str {
        "cache/tlb"
    }

    fn summary(&self) -> &'static str {
        "time per dependent load by the number of pages touched"
    }

    fn description(&self) -> &'static str {
        "The walk of cache/latency over one line in each of `pages` pieces of memory of `page_bytes` each. Where in its page a \
         line lies differs from page to page, so that the lines spread over the sets of a cache as neighbours would. With \
         page_bytes=64 there is nothing between the lines: as many of them, packed. The order is random, a pass goes on from \
         where the last one stopped, and before each sample, outside its timestamps, all lines are read once.\n\
         \n\
         How to read it: the lines are the same in number; what a load takes beyond the packed lines (`relative`) is the \
         time that addresses take to be translated, and what the caches of data lose where they keep more than a line \
         together. Follow one page_bytes over the pages: while the translations (the entries of the TLB) of all pages are \
         held near by, `relative` is near 1; where it steps up, the last number of pages before is how many entries there \
         are, as long as page_bytes is not less than the page that the driver uses. With smaller ones, several pieces \
         share an entry, and the step comes at as many bytes, not at as many pages: compare pages x page_bytes of the \
         steps at different page_bytes. A step that comes at the same number of pages whatever page_bytes is, is one of \
         the caches of data. GPUs commonly use pages of 2 MiB for large buffers and cover gigabytes: the step may lie \
         beyond what fits a buffer. On processors, pages are of 4 KiB unless the system joins them, and a second step \
         comes where the tables themselves leave the caches.\n\
         \n\
         On an NVIDIA H100 (driver 580.159.04): 23.8 ns for up to 512 pages of 4 KiB, 24.5 ns for 512 of 64 KiB and 26.4 \
         ns for 512 of 2 MiB, a GiB in all. At 1024 pages 33 to 36 ns and at 2048 pages 93 to 94 ns, whatever the page: \
         that is the first cache, which keeps one such line where it keeps two packed ones."
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
        let (pages, page_bytes) = match setting.preset {
            Preset::Quick => setting.by_class((vec![1024_u64], vec![64, 4 << 10]), (vec![256], vec![64, 64 << 10, 2 << 20])),
            Preset::Default => setting.by_class(
                (powers_of_two(16, 1 << 14).collect(), vec![64, 4 << 10]),
                (powers_of_two(4, 1 << 14).collect(), vec![64, 4 << 10, 64 << 10, 2 << 20]),
            ),
            Preset::Thorough => setting.by_class(
                (powers_of_two(4, 1 << 16).collect(), vec![64, 4 << 10, 16 << 10]),
                (powers_of_two(4, 1 << 16).collect(), PAGE_BYTES.to_vec()),
            ),
        };
        vec![
            Axis::new("page_bytes", "bytes from page to page", AxisKind::Numbers(PAGE_BYTES), page_bytes)
                .relative_to(LINE_BYTES),
            Axis::new("pages", "pages with a line that the walk visits", AxisKind::AtLeast(1), pages),
            Axis::new("hops", "loads per pass, a multiple of 16", AxisKind::AtLeast(16), [1_u64 << 16]).of_monotone_work(),
        ]
    }

    fn case(&self, _: &str, point: &Point, setting: &Setting) -> Result<Case, Skip> {
        let [pages, page_bytes, hops] = ["pages", "page_bytes", "hops"].map(|axis| point.integer(axis));
        let places = page_bytes / LINE_BYTES;
        let chain = Chain { seed: setting.seed, nodes: pages, stride: page_bytes / 4, detour: 0, places };
        let preloaded = if pages <= PRELOADED_PAGES { pages } else { 0 };
        let walk = Walk { chain, hops, preloaded, sweep: Sweep::of_nodes(chain) };
        chase::case(self.name(), point, &walk)
    }

    fn expected<'a>(&self, case: &'a Case) -> Vec<Expected<'a>> {
        chase::expected(case, 1)
    }

    fn check(&self, case: &Case, outputs: &[Vec<u8>]) -> Verdict {
        chase::check(case, outputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{AxisValue, DeviceInfo};

    /// Whatever the page, the walk visits as many lines, and the memory is as large as the pages are.
    #[test]
    fn pages_have_a_line_each() {
        let device = DeviceInfo::mock();
        let setting = Setting { device: &device, queue: None, preset: Preset::Quick, seed: 1 };
        for page_bytes in PAGE_BYTES {
            let values = [("pages", 48), ("page_bytes", *page_bytes), ("hops", 96)];
            let point = Point::new(values.map(|(name, value)| (name.into(), AxisValue::from(value))));
            let case = Tlb.case("", &point, &setting).unwrap();
            assert_eq!((case.resources[1].bytes(), case.work.items), (48 * page_bytes, Some(96)));
        }
    }
}
