//! What one request costs.

use serde::{Deserialize, Serialize};

use super::hardware::{Hardware, LaneAccess, Wavefronts};
use crate::shader::{AccessKind, Run};

/// Bytes from one to another, of one variable.
pub type Bytes = std::ops::Range<u64>;

/// What lanes ask memory for, and what memory has to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    pub lanes: u64,
    /// Bytes that lanes ask for, one by one.
    pub asked: u64,
    /// Bytes that they touch, each once.
    pub distinct: u64,
    pub sectors: u64,
    /// The fewest sectors that so many bytes could be in.
    pub fewest_sectors: u64,
    pub lines: u64,
    /// Whether it begins within a sector.
    pub is_unaligned: bool,
    /// The most lanes that share a word.
    pub most_sharing: u64,
    /// Words, each once.
    pub words: u64,
}

/// How offsets go from lane to lane, in words of the access's width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// All lanes have one offset.
    Uniform,
    /// Each lane's word is the next one's neighbour.
    Linear,
    /// Each is so many bytes behind the last.
    Strided(i64),
    /// They are neighbours, in another order.
    Permuted,
    Scattered,
}

/// Bytes that are counted in words.
const WORD: u64 = 4;

impl Cost {
    /// Of lanes' offsets, each of which stands for these runs of bytes.
    pub fn of(offsets: &[u64], runs: &[Run], hardware: &Hardware) -> Self {
        Self::of_touched(offsets, &touched(offsets, runs), runs, hardware)
    }

    /// The same where it is known what they touch.
    pub(super) fn of_touched(offsets: &[u64], touched: &[Bytes], runs: &[Run], hardware: &Hardware) -> Self {
        let distinct = touched.iter().map(|bytes| bytes.end - bytes.start).sum::<u64>();
        let per_lane: u64 = runs.iter().map(|run| run.bytes).sum();
        let mut words: Vec<u64> = offsets
            .iter()
            .flat_map(|offset| runs.iter().flat_map(move |run| words_of(offset + run.offset, run.bytes)))
            .collect();
        words.sort_unstable();
        let most_sharing = words.chunk_by(|one, other| one == other).map(<[u64]>::len).max().unwrap_or(0);
        words.dedup();
        Self {
            lanes: offsets.len() as u64,
            asked: per_lane * offsets.len() as u64,
            distinct,
            sectors: blocks(touched, hardware.sector_bytes),
            fewest_sectors: distinct.div_ceil(hardware.sector_bytes),
            lines: blocks(touched, hardware.line_bytes),
            is_unaligned: touched.first().is_some_and(|bytes| bytes.start % hardware.sector_bytes != 0),
            most_sharing: most_sharing as u64,
            words: words.len() as u64,
        }
    }
}

fn words_of(offset: u64, bytes: u64) -> std::ops::RangeInclusive<u64> {
    offset / WORD..=(offset + bytes.max(1) - 1) / WORD
}

/// The bytes that are touched, in order and each once.
pub fn touched(offsets: &[u64], runs: &[Run]) -> Vec<Bytes> {
    let mut all: Vec<Bytes> = offsets
        .iter()
        .flat_map(|offset| runs.iter().map(move |run| offset + run.offset..offset + run.offset + run.bytes))
        .collect();
    all.sort_by_key(|bytes| (bytes.start, bytes.end));
    let mut merged: Vec<Bytes> = Vec::with_capacity(all.len());
    for bytes in all {
        match merged.last_mut() {
            Some(last) if last.end >= bytes.start => last.end = last.end.max(bytes.end),
            _ => merged.push(bytes),
        }
    }
    merged
}

/// How many aligned blocks of this size bytes are in.
pub(super) fn blocks(touched: &[Bytes], size: u64) -> u64 {
    let (mut count, mut next) = (0, 0);
    for bytes in touched {
        let (first, last) = ((bytes.start / size).max(next), (bytes.end - 1) / size);
        if last >= first {
            count += last - first + 1;
            next = last + 1;
        }
    }
    count
}

/// How many aligned blocks of this size bytes are in, but not in all of each.
pub(super) fn partial(touched: &[Bytes], size: u64) -> u64 {
    let whole: u64 = touched.iter().map(|bytes| (bytes.end / size).saturating_sub(bytes.start.div_ceil(size))).sum();
    blocks(touched, size) - whole
}

/// How the offsets of lanes go, which are sorted by their lanes.
pub fn pattern(lanes: &[(u32, u64)], bytes: u64) -> Pattern {
    let &[(first_lane, first), ref rest @ ..] = lanes else { return Pattern::Uniform };
    if rest.iter().all(|(_, offset)| *offset == first) {
        return Pattern::Uniform;
    }
    let width = bytes.max(1);
    let step = |lane: u32, offset: u64| {
        let far = i128::from(offset) - i128::from(first);
        let lanes = i128::from(lane - first_lane);
        (lanes > 0 && far % lanes == 0).then(|| far / lanes)
    };
    let steps: Vec<Option<i128>> = rest.iter().map(|(lane, offset)| step(*lane, *offset)).collect();
    if let Some(Some(step)) = steps.first().filter(|first| steps.iter().all(|step| step == *first)) {
        return match i64::try_from(*step) {
            Ok(step) if u64::try_from(step) == Ok(width) => Pattern::Linear,
            Ok(step) => Pattern::Strided(step),
            Err(_) => Pattern::Scattered,
        };
    }
    let mut offsets: Vec<u64> = lanes.iter().map(|(_, offset)| *offset).collect();
    offsets.sort_unstable();
    let are_neighbours = offsets.windows(2).all(|pair| pair[1] - pair[0] == width);
    if are_neighbours { Pattern::Permuted } else { Pattern::Scattered }
}

/// What a request takes of workgroup memory, by the lanes and their offsets; of a value in several runs, what each takes.
pub fn wavefronts(lanes: &[(u32, u64)], kind: AccessKind, runs: &[Run], hardware: &Hardware) -> Option<Wavefronts> {
    let mut sum = Wavefronts::default();
    for run in runs {
        let lane = |(lane, offset): &(u32, u64)| LaneAccess { lane: *lane, offset: offset + run.offset };
        let lanes: Vec<LaneAccess> = lanes.iter().map(lane).collect();
        let Wavefronts { all, least } = hardware.shared.wavefronts(kind, run.bytes, &lanes)?;
        sum = Wavefronts { all: sum.all + all, least: sum.least + least };
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(offsets: &[u64], runs: &[Run]) -> Cost {
        Cost::of(offsets, runs, &Hardware::of_vendor(0, 4))
    }

    const FLOAT: [Run; 1] = [Run { offset: 0, bytes: 4 }];

    #[test]
    fn sectors_are_counted_each_once() {
        let linear: Vec<u64> = (0..32).map(|lane| 4 * lane).collect();
        let strided: Vec<u64> = (0..32).map(|lane| 4096 * lane).collect();
        let all = cost(&linear, &FLOAT);
        assert_eq!((all.sectors, all.fewest_sectors, all.lines, all.distinct, all.asked), (4, 4, 1, 128, 128));
        let all = cost(&strided, &FLOAT);
        assert_eq!((all.sectors, all.fewest_sectors, all.lines), (32, 4, 32), "a naive transpose's store");
        let all = cost(&[64; 32], &FLOAT);
        assert_eq!((all.sectors, all.fewest_sectors, all.distinct, all.asked, all.most_sharing), (1, 1, 4, 128, 32));
        let shifted: Vec<u64> = linear.iter().map(|offset| offset + 4).collect();
        let all = cost(&shifted, &FLOAT);
        assert!(all.is_unaligned && (all.sectors, all.fewest_sectors) == (5, 4), "{all:?}");
        let quads: Vec<u64> = (0..32).map(|lane| 16 * lane).collect();
        let all = cost(&quads, &[Run { offset: 0, bytes: 16 }]);
        assert_eq!((all.sectors, all.fewest_sectors), (16, 16));
        let of_three: Vec<u64> = (0..32).map(|lane| 12 * lane).collect();
        let all = cost(&of_three, &FLOAT);
        assert_eq!((all.sectors, all.fewest_sectors), (12, 4), "one of three");
        let all = cost(&[0, 64], &[Run { offset: 0, bytes: 8 }, Run { offset: 16, bytes: 8 }]);
        assert_eq!((all.sectors, all.distinct, all.words), (2, 32, 8));
    }

    #[test]
    fn patterns_are_told_by_lanes() {
        let of = |offset: &dyn Fn(u32) -> u64| pattern(&(0..32).map(|lane| (lane, offset(lane))).collect::<Vec<_>>(), 4);
        assert_eq!(of(&|_| 8), Pattern::Uniform);
        assert_eq!(of(&|lane| 4 * u64::from(lane)), Pattern::Linear);
        assert_eq!(of(&|lane| 32 * u64::from(lane)), Pattern::Strided(32));
        assert_eq!(of(&|lane| 4000 - 4 * u64::from(lane)), Pattern::Strided(-4));
        assert_eq!(pattern(&[(0, 0), (1, 16), (2, 32)], 12), Pattern::Strided(16), "three floats of four");
        assert_eq!(of(&|lane| 4 * u64::from(lane ^ 5)), Pattern::Permuted);
        assert_eq!(of(&|lane| 4 * u64::from(lane * lane)), Pattern::Scattered);
        assert_eq!(pattern(&[(3, 12), (9, 36)], 4), Pattern::Linear, "lanes between them are idle");
    }
}
