//! `calibration/evict`: sweeping whatever the caches hold.

use std::borrow::Cow;

use crate::experiments::common::prelude::*;
use crate::model::{Contents, Repeat, Resource};

pub const EXPERIMENT: Experiment =
    Experiment { repeatability: |_| Repeatability::Memory, traffic, ..Experiment::new("calibration/evict", axes, build) };

const LOCAL_SIZE: u64 = 64;
/// Words that a workgroup of the sweep reads and sums up.
const SWEPT: u64 = LOCAL_SIZE * 64;
choices! {
    /// What follows the writes.
    enum Sweep {
        Off = "off",
        Read = "read",
        /// The writes are done before.
        Alone = "alone",
    }
}

/// Knuth's multiplicative hashing constant, the shader's factor.
const FACTOR: u32 = 2_654_435_761;
/// The watch of memory's speed reads so much, or a sixteenth of the device's memory.
const WATCHED_BYTES: u64 = 256 << 20;
/// Cold mode evicts with at most this much where nothing tells the size of the last cache.
const DEFAULT_BYTES: u64 = 512 << 20;

/// Bytes that evict every cache of a device: twice the last level where the system tells its size, else 512 MiB or an eighth of
/// the device's memory.
pub fn default_bytes(last_level_cache: Option<u64>, heap_bytes: u64) -> u64 {
    let bytes = last_level_cache.map_or(DEFAULT_BYTES.min(heap_bytes / 8), |bytes| bytes.saturating_mul(2));
    bytes.next_multiple_of(4)
}

/// Bytes that a sweep reads by which memory's speed is watched: several times what the last caches of most GPUs hold, and 0.1 ms
/// of a large one's time.
pub fn watched_bytes(heap_bytes: u64) -> u64 {
    WATCHED_BYTES.min(heap_bytes / 16).next_multiple_of(4)
}

fn traffic(case: &Case) -> Result<Vec<Traffic>, &'static str> {
    let words = case.point.integer("evict_bytes").div_ceil(4);
    let written = Traffic { total: words * 8, ..Traffic::usual(case) };
    let swept = Traffic {
        kernel: case.kernels.len() / 2,
        counted: Moved::READ,
        uncounted: 0,
        loops: vec![LOCAL_SIZE],
        invocations: words.div_ceil(SWEPT) * LOCAL_SIZE,
        total: words * 4,
    };
    Ok(match Sweep::of(case.point.choice("sweep")) {
        Sweep::Off => vec![written],
        Sweep::Read => vec![written, swept],
        Sweep::Alone => vec![swept],
    })
}

fn axes(setting: &Setting) -> Vec<Axis> {
    let gpu = default_bytes(None, setting.device.local_heap_bytes());
    let bytes = if setting.preset == Preset::Quick { setting.by_class(1 << 20, gpu) } else { setting.by_class(64 << 20, gpu) };
    let sweeps = if setting.preset == Preset::Thorough { &[Sweep::Off, Sweep::Read][..] } else { &[Sweep::Read] };
    let sweep = Sweep::axis("sweep", "reading what was written: not, after it, or alone", sweeps);
    vec![
        Axis::new("evict_bytes", "size of the buffer, bytes", AxisKind::AtLeast(4), [bytes]).of_work(),
        Axis { neutral: Some(Sweep::Off.word().into()), ..sweep },
    ]
}

#[expect(clippy::cast_possible_truncation, reason = "a buffer holds less than 2^32 words")]
fn build(config: &Config) -> Result<Built, Skip> {
    let words = config.integer("evict_bytes").div_ceil(4);
    let limits = &config.device().limits;
    let most_words = (limits.storage_buffer_range.min(limits.allocation_bytes) / 4).max(1);
    let parts = split(words, most_words)?;
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let mut ballasts = Vec::new();
    for (i, &words) in parts.iter().enumerate() {
        let name = Cow::Owned(format!("ballast {i}"));
        let resource = Resource { name, ..Resource::words("", words, Contents::Undefined) };
        let ballast = case.output_in(resource, 0, Expected::words(words, |i| (i as u32).wrapping_mul(FACTOR)));
        ballasts.push((ballast, words, u32::try_from(words).unwrap_or(u32::MAX)));
    }
    let write = |case: &mut CaseBuilder| {
        for &(ballast, words, n) in &ballasts {
            let groups = fold_groups(words.div_ceil(LOCAL_SIZE), config.most_groups());
            case.run(Kernel::new("calibration/evict.comp", [64, 1, 1]), &[ballast], groups, &[n]);
        }
    };
    let sweep = Sweep::of(config.choice("sweep"));
    let (accesses, repeat) = match sweep {
        Sweep::Off => {
            write(&mut case);
            (2, Repeat::AfterReset)
        }
        Sweep::Read => {
            write(&mut case);
            case.depend();
            (3, Repeat::AfterReset)
        }
        Sweep::Alone => {
            case.reset(write);
            (1, Repeat::Resumes)
        }
    };
    if sweep != Sweep::Off {
        let sums: Vec<u32> = parts.iter().flat_map(|&words| sums(words)).collect();
        let sums = case.output("sums", Expected::words(sums.len() as u64, move |i| sums[i as usize]));
        let mut first_sum = 0;
        for (ballast, words, n) in ballasts {
            let groups = fold_groups(words.div_ceil(SWEPT), config.most_groups());
            let kernel = Kernel::new("calibration/sweep.comp", [64, 1, 1]);
            case.run(kernel, &[ballast, sums], groups, &[n, first_sum]);
            first_sum += words.div_ceil(SWEPT) as u32;
        }
    }
    let work = Work { bytes: Some(words * 4 * accesses), ..Work::default() };
    Ok(case.repeat(repeat).build(work, Headline::BANDWIDTH))
}

/// What the sweep's workgroups find in so many words that were written once.
#[expect(clippy::cast_possible_truncation, reason = "sums wrap around")]
fn sums(words: u64) -> impl Iterator<Item = u32> {
    (0..words.div_ceil(SWEPT)).map(move |group| {
        let (first, end) = (group * SWEPT, words.min((group + 1) * SWEPT));
        // All whole numbers from the first to the last.
        let indexes = (first + end - 1) * (end - first) / 2;
        (indexes as u32).wrapping_mul(FACTOR)
    })
}

/// Buffers that one is split into where the range of one is limited.
const MOST_PARTS: u64 = 16;

/// `words` in parts of at most `most`.
fn split(words: u64, most: u64) -> Result<Vec<u64>, Skip> {
    let parts = words.div_ceil(most);
    if parts > MOST_PARTS {
        return Err(Skip::new(format!("maxStorageBufferRange allows {most} words a buffer, the case needs {parts} of them")));
    }
    Ok((0..parts).map(|part| most.min(words - part * most)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_what_was_written() {
        for words in [1, 64, SWEPT, SWEPT + 1, 3 * SWEPT - 7] {
            let written: Vec<u32> = (0..words).map(|i| u32_of(i).unwrap().wrapping_mul(FACTOR)).collect();
            let of_group = |words: &[u32]| words.iter().copied().fold(0, u32::wrapping_add);
            assert!(sums(words).eq(written.chunks(SWEPT.try_into().unwrap()).map(of_group)), "{words}");
        }
    }

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
        assert_eq!([80 << 30, 2 << 30].map(watched_bytes), [256 << 20, 128 << 20]);
    }
}
