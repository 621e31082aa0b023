//! `calibration/evict`: sweeping whatever the caches hold.

use crate::experiments::{Built, CaseBuilder, Config, Experiment, Setting, fold_groups};
use crate::model::{Axis, AxisKind, Headline, Kernel, Point, Preset, Repeat, Repeatability, Skip, Work};
use crate::validate::Expected;

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &Evict;

const LOCAL_SIZE: u64 = 64;
/// Knuth's multiplicative hashing constant, the shader's factor.
const FACTOR: u32 = 2_654_435_761;
/// Cold mode evicts with at most this much where nothing tells the size of the last cache.
const DEFAULT_BYTES: u64 = 512 << 20;

struct Evict;

/// Bytes that evict every cache of a device: twice the last level where the system tells its size, else 512 MiB or an eighth of
/// the device's memory.
pub fn default_bytes(last_level_cache: Option<u64>, heap_bytes: u64) -> u64 {
    let bytes = last_level_cache.map_or(DEFAULT_BYTES.min(heap_bytes / 8), |bytes| bytes.saturating_mul(2));
    bytes.next_multiple_of(4)
}

impl Experiment for Evict {
    fn name(&self) -> &'static str {
        "calibration/evict"
    }

    fn repeatability(&self, _: &Point) -> Repeatability {
        Repeatability::Memory
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
        let gpu = default_bytes(None, setting.device.local_heap_bytes());
        let bytes =
            if setting.preset == Preset::Quick { setting.by_class(1 << 20, gpu) } else { setting.by_class(64 << 20, gpu) };
        vec![Axis::new("evict_bytes", "size of the buffer, bytes", AxisKind::AtLeast(4), [bytes]).of_work()]
    }

    #[expect(clippy::cast_possible_truncation, reason = "a buffer holds less than 2^32 words")]
    fn build<'a>(&self, config: &Config<'a>) -> Result<Built<'a>, Skip> {
        let words = config.integer("evict_bytes").div_ceil(4);
        let limits = &config.device().limits;
        let most_words = (limits.storage_buffer_range.min(limits.allocation_bytes) / 4).max(1);
        let mut case = CaseBuilder::new(self.name(), config);
        for (words, name) in split(words, most_words)?.into_iter().zip(NAMES) {
            let ballast = case.output_from(0, name, Expected::words(words, |i| (i as u32).wrapping_mul(FACTOR)));
            let groups = fold_groups(words.div_ceil(LOCAL_SIZE), config.most_groups());
            let n = u32::try_from(words).unwrap_or(u32::MAX);
            case.run(Kernel::new("calibration/evict.comp", [64, 1, 1]), &[ballast], groups, &[n]);
        }
        let work = Work { bytes: Some(words * 8), ..Work::default() };
        Ok(case.repeat(Repeat::AfterReset).build(work, Headline::BANDWIDTH))
    }
}

/// Names of the buffers that one is split into where the range of one is limited.
const NAMES: [&str; 16] = [
    "ballast 0",
    "ballast 1",
    "ballast 2",
    "ballast 3",
    "ballast 4",
    "ballast 5",
    "ballast 6",
    "ballast 7",
    "ballast 8",
    "ballast 9",
    "ballast 10",
    "ballast 11",
    "ballast 12",
    "ballast 13",
    "ballast 14",
    "ballast 15",
];

/// `words` in parts of at most `most`.
fn split(words: u64, most: u64) -> Result<Vec<u64>, Skip> {
    let parts = words.div_ceil(most);
    if parts > NAMES.len() as u64 {
        return Err(Skip::new(format!("maxStorageBufferRange allows {most} words a buffer, the case needs {parts} of them")));
    }
    Ok((0..parts).map(|part| most.min(words - part * most)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_buffer_is_split_whole() {
        assert_eq!(split(10, 4).unwrap(), [4, 4, 2]);
        assert_eq!(split(4, 4).unwrap(), [4]);
        assert!(split(u64::MAX, 4).is_err());
    }

    #[test]
    fn what_the_system_tells_comes_first() {
        assert_eq!(default_bytes(Some(32 << 20), 1 << 30), 64 << 20);
        assert_eq!(default_bytes(None, 80 << 30), 512 << 20);
        assert_eq!(default_bytes(None, 2 << 30), 256 << 20);
    }
}
