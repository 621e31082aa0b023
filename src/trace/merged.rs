//! The least that loads and stores of shared memory can take, whatever of them a compiler puts together.
//!
//! What a lane accesses in one block of 16 bytes may be one access of that width, and what it accessed before may still be in a register:
//! both as far as no barrier is between, and as it knows that these are the same.

use rayon::prelude::*;

use super::hardware::SharedMemory;
use super::requests::{Moment, Request, Requests};
use crate::shader::{AccessKind, Run, Site, WIDEST};

/// What registers can't hold longer than for so many accesses: lanes have 256 words at most.
const HELD: u32 = 256;

/// A request of shared memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) moment: Moment,
    root: usize,
    is_load: bool,
    /// In which iterations of loops that move it to where no compiler foresees: the same for the same ones.
    iterations: u64,
    /// Which blocks its lanes access, and which bytes: as well.
    blocks: u64,
    bytes: u64,
    pub(super) wavefronts: u64,
    /// Its place among all requests.
    pub(super) request: usize,
}

impl Access {
    /// Nothing of one that isn't put together with others.
    pub(super) fn new(
        request: &Request,
        at: usize,
        (root, site): (usize, &Site),
        (wavefronts, shared): (u64, &SharedMemory),
    ) -> Option<Self> {
        let &[run] = site.target.runs() else { return None };
        if !matches!(site.kind, AccessKind::Load | AccessKind::Store) {
            return None;
        }
        let width = if shared.wide_is_aligned { site.foreseen.alignment } else { WIDEST };
        let (mut blocks, mut bytes, mut is_within) = (site.kind as u64, run.bytes, true);
        for (lane, from) in places(request, run) {
            is_within &= from / width == (from + run.bytes - 1) / width;
            blocks = mixed(mixed(blocks, lane.into()), from / width);
            bytes = mixed(mixed(bytes, lane.into()), from);
        }
        let blocks = if is_within { blocks } else { bytes };
        let is_load = site.kind == AccessKind::Load;
        let iterations = iterations(request, site);
        Some(Self { moment: request.moment, root, is_load, iterations, blocks, bytes, wavefronts, request: at })
    }

    fn place(&self) -> (u32, usize, bool, u32, u64, u64) {
        (self.moment.subgroup, self.root, self.is_load, self.moment.barriers, self.iterations, self.blocks)
    }
}

/// Lanes of a request are in the same ones.
fn iterations(request: &Request, site: &Site) -> u64 {
    let all = request.lanes.first().map_or(&[][..], |(_, record)| record.iterations);
    let own = &all[all.len() - site.loops.min(all.len())..];
    let meant = own
        .iter()
        .enumerate()
        .filter(|(at, _)| site.foreseen.loops.checked_shr(u32::try_from(*at).unwrap_or(32)).unwrap_or(0) & 1 == 1);
    meant.fold(0, |hash, (at, of)| mixed(mixed(hash, at as u64 + 1), u64::from(*of) + 1))
}

fn places(request: &Request, run: Run) -> impl Iterator<Item = (u32, u64)> {
    request.lanes.iter().filter_map(move |(lane, record)| Some((*lane, record.offset? + run.offset)))
}

/// By a step of a hash: where two are mixed up, the least is only less.
fn mixed(hash: u64, more: u64) -> u64 {
    (hash ^ more).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
}

/// The least wavefronts of all these.
pub(super) fn least(mut all: Vec<Access>, requests: &Requests, shared: &SharedMemory) -> u64 {
    all.par_sort_unstable_by_key(|access| (access.place(), access.moment.requests));
    let alike: Vec<&[Access]> = all.chunk_by(|one, other| one.place() == other.place()).collect();
    alike.into_par_iter().map(|alike| of_alike(alike, requests, shared)).sum()
}

/// Those of the accesses of one subgroup in the same blocks, in the order in which they were made.
fn of_alike(mut alike: &[Access], requests: &Requests, shared: &SharedMemory) -> u64 {
    let mut sum = 0;
    while let Some(first) = alike.first() {
        let end = alike.partition_point(|access| access.moment.requests - first.moment.requests < HELD);
        let (held, rest) = alike.split_at(end);
        sum += of_held(held, requests, shared);
        alike = rest;
    }
    sum
}

/// Those of accesses that are as good as one: by themselves, or together as many as the bank takes that has most of their words.
fn of_held(held: &[Access], requests: &Requests, shared: &SharedMemory) -> u64 {
    let mut each = held.to_vec();
    each.sort_unstable_by_key(|access| (access.bytes, access.request));
    each.dedup_by_key(|access| access.bytes);
    let apart = each.iter().map(|access| access.wavefronts).sum();
    if each.len() == 1 { apart } else { together(&each, requests, shared).min(apart) }
}

fn together(each: &[Access], requests: &Requests, shared: &SharedMemory) -> u64 {
    let mut words: Vec<(u64, u64)> = Vec::new();
    for request in each.iter().filter_map(|access| requests.get(access.request)) {
        let site = requests.recorded().traced().sites.get(request.site);
        let Some(&[run]) = site.map(|site| site.target.runs()) else { continue };
        words.extend(places(&request, run).flat_map(|(_, from)| {
            let (first, last) = (from / shared.bank_bytes, (from + run.bytes - 1) / shared.bank_bytes);
            (first..=last).map(|word| (word % shared.banks, word))
        }));
    }
    words.sort_unstable();
    words.dedup();
    let banks = words.chunk_by(|one, other| one.0 == other.0);
    banks.map(|bank| bank.len() as u64).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::hardware::Hardware;
    use super::super::requests::Lanes;
    use super::super::sites::{Analysis, Pass};
    use super::*;
    use crate::shader::Traced;

    const LOAD: u32 = 0;
    const STORE: u32 = 1;
    const BARRIER: u32 = 2;

    fn traced(alignment: u64, loops: u32) -> Traced {
        let site = |kind: &str, target: &str| {
            format!(
                r#"{{"kind":"{kind}","name":"","line":null,"target":{target},"loops":1,"polls":false,"sync":null,"atomic":null,
                "merging":"summed","foreseen":{{"alignment":{alignment},"loops":{loops}}},"matters":0,"is_coherent":true,"values":0}}"#
            )
        };
        let tile = r#"{"root":{"root":0,"is_array":false,"runs":[{"offset":0,"bytes":4}]}}"#;
        let sites = [site("load", tile), site("store", tile), site("barrier", r#""nothing""#)].join(",");
        let text = format!(
            r#"{{"place":[0,0],"sites":[{sites}],"roots":[{{"space":"shared","name":"t","is_natural":true,"bytes":65536,
            "has_initial":false,"array":null}}],"calls":{{"entry":4,"calls":{{}},"has_paths":false,"deepest":0}},"has_leaders":false}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    /// What a subgroup takes as it is written, and at least: of its lanes' accesses one after the other, each an instruction and an offset.
    fn wavefronts(count: u32, access: impl Fn(u32, u32) -> (u32, u32)) -> [u64; 2] {
        wavefronts_of(&traced(WIDEST, 0), count, access)
    }

    fn wavefronts_of(traced: &Traced, count: u32, access: impl Fn(u32, u32) -> (u32, u32)) -> [u64; 2] {
        let mut words = vec![0, 32, 32, 0];
        words.extend(0..32);
        let (mut ends, mut records) = (Vec::new(), Vec::new());
        for lane in 0..32 {
            for at in 0..count {
                let (site, offset) = access(at, lane);
                records.extend([(site + 1) << 16, at].into_iter().chain((site != BARRIER).then_some(offset)));
            }
            ends.push(u32::try_from(records.len()).unwrap());
        }
        words.extend(ends.into_iter().chain(records));
        let hardware = Hardware::of_vendor(0x10de, 32);
        let requests = Requests::of(traced.recorded(&words), Lanes::OfDevice);
        let mut analysis = Analysis::default();
        let pass = Pass { requests: &requests, sites: &[0, 1, 2], groups: &[0], ends: &|_, _| None };
        analysis.add(pass, &hardware);
        [analysis.sums.values().map(|sums| sums.wavefronts).sum(), analysis.must_wavefronts]
    }

    #[test]
    fn accesses_of_one_block_are_one() {
        // Of a product of matrices by tiles of 32 x 32: a row for all lanes, and a row for each step.
        assert_eq!(wavefronts(32, |k, _| (LOAD, 4 * (7 * 32 + k))), [32, 8]);
        assert_eq!(wavefronts(32, |k, lane| (LOAD, 4 * (32 * k + lane))), [32, 32]);
        assert_eq!(wavefronts(4, |j, lane| (LOAD, 16 * lane + 4 * j)), [16, 4]);
        assert_eq!(wavefronts(4, |j, lane| (STORE, 16 * lane + 4 * j)), [16, 4]);
        assert_eq!(wavefronts(2, |at, lane| ([LOAD, STORE][at as usize], 4 * lane)), [2, 2]);
    }

    #[test]
    fn conflicts_stay_that_no_wider_access_takes_away() {
        // A column each time: of other rows, and of the next words in the same ones.
        assert_eq!(wavefronts(4, |row, lane| (LOAD, 128 * (32 * row + lane))), [128, 128]);
        assert_eq!(wavefronts(4, |column, lane| (LOAD, 128 * lane + 16 * column)), [128, 128]);
        assert_eq!(wavefronts(4, |column, lane| (LOAD, 128 * lane + 4 * column)), [128, 32]);
    }

    /// By a step, or an alignment, that only the device knows.
    #[test]
    fn what_no_compiler_foresees_stays_apart() {
        let same = |_: u32, lane: u32| (LOAD, 4 * lane);
        assert_eq!(wavefronts_of(&traced(4, 1), 10, same), [10, 10]);
        assert_eq!(wavefronts_of(&traced(4, 0), 10, same), [10, 1]);
        let row = |k: u32, _: u32| (LOAD, 4 * (7 * 32 + k));
        assert_eq!(wavefronts_of(&traced(4, 0), 32, row), [32, 32]);
        assert_eq!(wavefronts_of(&traced(8, 0), 32, row), [32, 16]);
        assert_eq!(wavefronts_of(&traced(WIDEST, 1), 32, row), [32, 32]);
    }

    #[test]
    fn what_was_loaded_is_kept_up_to_a_barrier_and_while_registers_hold_it() {
        assert_eq!(wavefronts(10, |_, lane| (LOAD, 4 * lane)), [10, 1]);
        assert_eq!(wavefronts(9, |at, lane| ([LOAD, BARRIER][at as usize % 2], 4 * lane)), [5, 5]);
        assert_eq!(wavefronts(400, |at, lane| (LOAD, 128 * (at % 200) + 4 * lane)), [400, 200]);
        assert_eq!(wavefronts(600, |at, lane| (LOAD, 128 * (at % 300) + 4 * lane)), [600, 600]);
    }
}
