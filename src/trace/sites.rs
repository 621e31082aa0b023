//! What all requests of an instruction cost.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rayon::prelude::*;

use super::hardware::{Hardware, Wavefronts};
use super::merged::{self, Access};
use super::request::{Bytes, Cost, Pattern, pattern, touched, wavefronts};
use super::requests::{Request, Requests};
use super::traffic::Traffic;
use crate::shader::{AccessKind, Record, Root, Site, Space, Target, Traced};

/// The sums over an instruction's requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sums {
    pub requests: u64,
    pub lanes: u64,
    /// Parts into which the device split them.
    pub parts: u64,
    pub asked: u64,
    pub distinct: u64,
    pub sectors: u64,
    pub fewest_sectors: u64,
    pub lines: u64,
    pub unaligned: u64,
    /// Bytes that each workgroup touches, each once, over all workgroups; and those of all together.
    pub of_groups: u64,
    pub footprint: u64,
    /// Aligned sectors that the first workgroup touches with it, each once; and bytes of them that it touches with all instructions of
    /// that kind.
    pub first_sectors: u64,
    pub first_used: u64,
    pub most_sharing: u64,
    pub words: u64,
    /// Of workgroup memory; and the worst request's, over the least that it could be.
    pub wavefronts: u64,
    pub least_wavefronts: u64,
    pub worst_degree: f64,
    /// The words that it wants of each bank.
    pub worst_banks: Vec<u32>,
    /// Requests of which several lanes read one word.
    pub broadcasts: u64,
    /// Accesses that were recorded without an offset.
    pub unfollowed: u64,
    /// Accesses that end beyond their buffer or variable.
    pub beyond: u64,
    /// Accesses that repeated what they read, and weren't recorded one by one.
    pub polls: u64,
    pub patterns: BTreeMap<Pattern, u64>,
    /// The variables that it led to, by their indexes.
    pub roots: BTreeSet<usize>,
}

impl Sums {
    /// Bytes that are of use over bytes that memory moves.
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    pub fn efficiency(&self, hardware: &Hardware) -> Option<f64> {
        let moved = self.sectors * hardware.sector_bytes;
        (moved > 0).then(|| self.distinct as f64 / moved as f64)
    }

    #[expect(clippy::cast_precision_loss, reason = "a ratio")]
    pub fn degree(&self) -> Option<f64> {
        (self.least_wavefronts > 0).then(|| self.wavefronts as f64 / self.least_wavefronts as f64)
    }

    /// The variable that all of its accesses led to, if it is one.
    pub fn root<'t>(&self, site: &Site, traced: &'t Traced) -> Option<(usize, &'t Root)> {
        let only = || self.roots.first().copied().filter(|_| self.roots.len() == 1);
        let at = site.target.root().or_else(only)?;
        Some((at, traced.roots.get(at)?))
    }

    /// The pattern of most requests.
    pub fn pattern(&self) -> Option<Pattern> {
        self.patterns.iter().max_by_key(|(_, count)| **count).map(|(pattern, _)| *pattern)
    }
}

/// Bytes of variables, each once.
#[derive(Default)]
struct Footprint {
    /// Of each variable, descriptor and page, which of its bytes.
    pages: Vec<[u64; PAGE_WORDS]>,
    places: HashMap<Page, usize>,
    /// The page that was last asked for.
    last: Option<(Page, usize)>,
    count: u64,
}

type Page = (usize, u32, u64);

const PAGE: u64 = 1 << 12;
const PAGE_WORDS: usize = (PAGE / 64) as usize;

impl Footprint {
    fn add(&mut self, root: usize, element: u32, Bytes { start, end }: Bytes) {
        let mut at = start;
        while at < end {
            let page = at / PAGE;
            let last = end.min((page + 1) * PAGE);
            let bits = self.page((root, element, page));
            let mut more = 0;
            while at < last {
                let (word, from) = ((at % PAGE / 64) as usize, at % 64);
                let taken = (64 - from).min(last - at);
                let mask = (u64::MAX >> (64 - taken)) << from;
                more += u64::from((mask & !bits[word]).count_ones());
                bits[word] |= mask;
                at += taken;
            }
            self.count += more;
        }
    }

    fn page(&mut self, page: Page) -> &mut [u64; PAGE_WORDS] {
        let at = match self.last {
            Some((last, at)) if last == page => at,
            _ => *self.places.entry(page).or_insert(self.pages.len()),
        };
        if at == self.pages.len() {
            self.pages.push([0; PAGE_WORDS]);
        }
        self.last = Some((page, at));
        &mut self.pages[at]
    }

    fn merge(&mut self, other: &Self) {
        for (page, at) in &other.places {
            self.page(*page).iter_mut().zip(other.pages[*at].iter()).for_each(|(own, word)| *own |= word);
        }
    }

    /// In how many aligned sectors these bytes are, of as many bytes as divide a page; and how many bytes of `all` are in those.
    fn sectors(&self, all: &Self, sector_bytes: u64) -> (u64, u64) {
        let bytes = usize::try_from(sector_bytes.clamp(1, PAGE)).unwrap_or(PAGE_WORDS * 64);
        let touched = |page: &[u64; PAGE_WORDS], first: usize| {
            let words = &page[first / 64..(first + bytes).div_ceil(64).min(PAGE_WORDS)];
            let mask = if bytes < 64 { ((1 << bytes) - 1) << (first % 64) } else { u64::MAX };
            words.iter().map(|word| u64::from((word & mask).count_ones())).sum::<u64>()
        };
        let (mut sectors, mut used) = (0, 0);
        for (place, at) in &self.places {
            let page = &self.pages[*at];
            for first in (0..PAGE_WORDS * 64).step_by(bytes).filter(|first| touched(page, *first) > 0) {
                sectors += 1;
                used += all.places.get(place).map_or(0, |at| touched(&all.pages[*at], first));
            }
        }
        (sectors, used)
    }
}

/// The sums of each instruction that was recorded, by its index, over several passes.
#[derive(Default)]
pub struct Analysis {
    pub sums: BTreeMap<usize, Sums>,
    pub traffic: Traffic,
    /// The least wavefronts of shared memory, whatever loads and stores are put together.
    pub must_wavefronts: u64,
    footprints: BTreeMap<usize, Footprint>,
    /// Those of the last workgroup, which the next pass may go on with.
    of_last: BTreeMap<usize, OfGroup>,
    /// Those of the first one.
    first: Option<u32>,
    of_first: BTreeMap<usize, OfGroup>,
}

/// What an instruction touches in a workgroup.
#[derive(Default)]
struct OfGroup {
    group: Option<u32>,
    is_load: bool,
    touched: Footprint,
}

/// What a pass recorded.
pub struct Pass<'p> {
    pub requests: &'p Requests<'p>,
    /// The instructions that it is to tell of, by their indexes in ascending order.
    pub sites: &'p [usize],
    /// The linear numbers of its workgroups.
    pub groups: &'p [u32],
    /// How large a buffer is, by its root and its place in an array of descriptors.
    pub ends: &'p (dyn Fn(usize, u32) -> Option<u64> + Sync),
}

/// Requests that are looked at side by side, before they are summed up one after the other.
const MANY: usize = 1 << 13;

impl Analysis {
    /// Adds what a pass recorded. What an instruction does in a workgroup may be in several passes, one after the other, but nothing in
    /// two of them.
    pub fn add(&mut self, pass: Pass, hardware: &Hardware) {
        let Pass { requests, sites, groups, .. } = pass;
        let mut shared = Vec::new();
        for (at, range) in requests.by_site().filter(|(at, _)| sites.binary_search(at).is_ok()) {
            let Some(site) = requests.recorded().traced().sites.get(at) else { continue };
            for start in range.clone().step_by(MANY) {
                let some = (start..range.end.min(start + MANY)).into_par_iter();
                let costs: Vec<Costs> = some.filter_map(|place| Costs::of(place, site, &pass, hardware)).collect();
                for costs in costs {
                    let group = groups.get(costs.group as usize).copied();
                    self.add_costs((at, site), group, &costs, hardware);
                    shared.extend(costs.shared);
                }
            }
            self.sums.entry(at).or_default().footprint = self.footprints.entry(at).or_default().count;
        }
        self.must_wavefronts += merged::least(shared, requests, &hardware.shared);
    }

    fn add_costs(&mut self, (at, site): (usize, &Site), group: Option<u32>, costs: &Costs, hardware: &Hardware) {
        let (sums, whole) = (self.sums.entry(at).or_default(), self.footprints.entry(at).or_default());
        let last = self.of_last.entry(at).or_default();
        self.first = self.first.or(group);
        if last.group != group {
            let new = OfGroup { group, is_load: site.kind == AccessKind::Load, touched: Footprint::default() };
            let ended = std::mem::replace(last, new);
            sums.of_groups += ended.touched.count;
            if ended.group.is_some() && ended.group == self.first {
                self.of_first.insert(at, ended);
            }
        }
        sums.add(costs, hardware);
        for OfMemory { root, element, touched, is_cached, wavefronts, .. } in &costs.memories {
            for bytes in touched {
                whole.add(*root, *element, bytes.clone());
                last.touched.add(*root, *element, bytes.clone());
            }
            if *is_cached {
                self.traffic.add((*root, *element), touched, group.unwrap_or(u32::MAX), site.kind, hardware);
            }
            if let Some(found) = wavefronts.filter(|_| costs.shared.is_none()) {
                self.must_wavefronts += found.all;
            }
        }
        self.traffic.compact();
    }

    /// Ends the last workgroup.
    pub fn finish(&mut self, hardware: &Hardware) {
        for (at, ended) in std::mem::take(&mut self.of_last) {
            self.sums.entry(at).or_default().of_groups += ended.touched.count;
            if ended.group.is_some() && ended.group == self.first {
                self.of_first.insert(at, ended);
            }
        }
        let of_first = std::mem::take(&mut self.of_first);
        for is_load in [true, false] {
            let of_kind = || of_first.iter().filter(|(_, of)| of.is_load == is_load);
            let mut all = Footprint::default();
            of_kind().for_each(|(_, of)| all.merge(&of.touched));
            for (at, of) in of_kind() {
                let sums = self.sums.entry(*at).or_default();
                (sums.first_sectors, sums.first_used) = of.touched.sectors(&all, hardware.sector_bytes);
            }
        }
        self.traffic.close();
    }
}

/// How many lanes of a request leave what they access.
fn beyond(request: &Request, site: &Site, traced: &Traced, ends: &dyn Fn(usize, u32) -> Option<u64>) -> u64 {
    let farthest = site.target.runs().iter().map(|run| run.offset + run.bytes).max().unwrap_or(0);
    let leaves = |(_, record): &&(u32, Record)| {
        let (Some(root), Some(offset)) = (record.root, record.offset) else {
            return matches!(site.target, Target::Address { .. });
        };
        let end = traced.roots.get(root).and_then(|of| of.bytes).or_else(|| ends(root, record.element));
        end.is_some_and(|end| offset + farthest > end)
    };
    request.lanes.iter().filter(leaves).count() as u64
}

/// What a request costs.
struct Costs {
    group: u32,
    lanes: u64,
    parts: u64,
    polls: u64,
    beyond: u64,
    unfollowed: u64,
    /// Where lanes lead to several buffers, each is memory of its own.
    memories: Vec<OfMemory>,
    shared: Option<Access>,
}

struct OfMemory {
    root: usize,
    element: u32,
    cost: Cost,
    touched: Vec<Bytes>,
    pattern: Pattern,
    /// Whether it comes by way of caches from memory.
    is_cached: bool,
    wavefronts: Option<Wavefronts>,
}

impl Costs {
    fn of(at: usize, site: &Site, Pass { requests, ends, .. }: &Pass, hardware: &Hardware) -> Option<Self> {
        let (request, traced) = (requests.get(at)?, requests.recorded().traced());
        let mut new = Self {
            group: request.group,
            lanes: request.lanes.len() as u64,
            parts: request.parts(requests.recorded()) as u64,
            polls: request.lanes.iter().map(|(_, record)| u64::from(record.count.saturating_sub(1))).sum(),
            beyond: beyond(&request, site, traced, *ends),
            unfollowed: 0,
            memories: Vec::new(),
            shared: None,
        };
        match site.target {
            Target::Nothing => return Some(new),
            Target::Unfollowed(_) => return Some(Self { unfollowed: new.lanes, ..new }),
            _ => {}
        }
        let place =
            |(lane, record): &(u32, Record)| Some((record.root.unwrap_or(usize::MAX), record.element, *lane, record.offset?));
        let mut places: Vec<(usize, u32, u32, u64)> = request.lanes.iter().filter_map(place).collect();
        new.unfollowed = new.lanes - places.len() as u64;
        places.sort_by_key(|(root, element, ..)| (*root, *element));
        let memories = places.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1));
        new.memories = memories.map(|lanes| OfMemory::of(lanes, site, traced, hardware)).collect();
        if let [one] = &mut new.memories[..] {
            new.shared =
                one.wavefronts.and_then(|found| Access::new(&request, at, (one.root, site), (found.all, &hardware.shared)));
        } else {
            new.memories.iter_mut().for_each(|of| of.pattern = Pattern::Scattered);
        }
        Some(new)
    }
}

impl OfMemory {
    fn of(lanes: &[(usize, u32, u32, u64)], site: &Site, traced: &Traced, hardware: &Hardware) -> Self {
        let (root, element, ..) = lanes[0];
        let (space, runs) = (traced.roots.get(root).map(|root| root.space), site.target.runs());
        let lanes: Vec<(u32, u64)> = lanes.iter().map(|(_, _, lane, offset)| (*lane, *offset)).collect();
        let offsets: Vec<u64> = lanes.iter().map(|(_, offset)| *offset).collect();
        let touched = touched(&offsets, runs);
        Self {
            root,
            element,
            cost: Cost::of_touched(&offsets, &touched, runs, hardware),
            touched,
            pattern: pattern(&lanes, runs.iter().map(|run| run.bytes).sum()),
            is_cached: !matches!(space, Some(Space::Shared | Space::PushConstants)),
            wavefronts: (space == Some(Space::Shared)).then(|| wavefronts(&lanes, site.kind, runs, hardware)).flatten(),
        }
    }
}

impl Sums {
    fn add(&mut self, costs: &Costs, hardware: &Hardware) {
        self.requests += 1;
        self.lanes += costs.lanes;
        self.parts += costs.parts;
        self.polls += costs.polls;
        self.beyond += costs.beyond;
        self.unfollowed += costs.unfollowed;
        for OfMemory { root, cost, pattern, wavefronts, touched, .. } in &costs.memories {
            self.roots.insert(*root);
            self.add_cost(cost);
            *self.patterns.entry(*pattern).or_default() += 1;
            if wavefronts.is_some_and(|found| self.add_wavefronts(found)) {
                self.worst_banks = words_of_banks(touched, hardware);
            }
        }
    }

    fn add_cost(&mut self, cost: &Cost) {
        self.asked += cost.asked;
        self.distinct += cost.distinct;
        self.sectors += cost.sectors;
        self.fewest_sectors += cost.fewest_sectors;
        self.lines += cost.lines;
        self.unaligned += u64::from(cost.is_unaligned);
        self.most_sharing = self.most_sharing.max(cost.most_sharing);
        self.words += cost.words;
        self.broadcasts += u64::from(cost.most_sharing > 1);
    }

    #[expect(clippy::cast_precision_loss, reason = "a ratio")]
    /// Says whether it is the worst so far.
    fn add_wavefronts(&mut self, found: Wavefronts) -> bool {
        self.wavefronts += found.all;
        self.least_wavefronts += found.least;
        let degree = if found.least > 0 { found.all as f64 / found.least as f64 } else { 0.0 };
        let is_worst = degree > self.worst_degree;
        self.worst_degree = self.worst_degree.max(degree);
        is_worst
    }
}

/// How many words of each bank are touched.
#[expect(clippy::cast_possible_truncation, reason = "a bank is one of few")]
fn words_of_banks(touched: &[Bytes], hardware: &Hardware) -> Vec<u32> {
    let (banks, width) = (hardware.shared.banks.max(1), hardware.shared.bank_bytes.max(1));
    let mut words = vec![0; banks as usize];
    for bytes in touched {
        (bytes.start / width..bytes.end.div_ceil(width)).for_each(|word| words[(word % banks) as usize] += 1);
    }
    words
}

/// Of how many accesses something is known, of how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    pub sites: usize,
    pub sites_followed: usize,
    pub accesses: u64,
    pub accesses_followed: u64,
}

impl Coverage {
    pub fn of(traced: &Traced, sums: &BTreeMap<usize, Sums>) -> Self {
        let accesses = |site: &&Site| site.target != Target::Nothing;
        let is_followed = |site: &&Site| accesses(site) && !matches!(site.target, Target::Unfollowed(_));
        let with_offset: BTreeSet<usize> =
            traced.sites.iter().enumerate().filter(|(_, site)| accesses(site)).map(|(at, _)| at).collect();
        let all = sums.iter().filter(|(at, _)| with_offset.contains(at)).map(|(_, sums)| sums);
        let (lanes, unfollowed) =
            all.fold((0, 0), |(lanes, unfollowed), sums| (lanes + sums.lanes, unfollowed + sums.unfollowed));
        Self {
            sites: with_offset.len(),
            sites_followed: traced.sites.iter().filter(is_followed).count(),
            accesses: lanes,
            accesses_followed: lanes - unfollowed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_count_once_across_pages() {
        let mut footprint = Footprint::default();
        footprint.add(0, 0, 4090..4102);
        footprint.add(0, 0, 4096..4100);
        assert_eq!(footprint.count, 12);
        footprint.add(0, 1, 4096..4100);
        footprint.add(1, 0, 0..70);
        assert_eq!(footprint.count, 12 + 4 + 70);
        footprint.add(1, 0, 63..64);
        assert_eq!(footprint.count, 86);
        // Of 4090 to 4102, of 4096 to 4100, and of 0 to 70.
        let mut all = Footprint::default();
        all.merge(&footprint);
        all.add(1, 0, 1000..1001);
        assert_eq!([32, 128].map(|bytes| footprint.sectors(&all, bytes)), [(2 + 1 + 3, 86), (2 + 1 + 1, 86)]);
        all.add(1, 0, 70..96);
        assert_eq!([32, 128].map(|bytes| footprint.sectors(&all, bytes)), [(2 + 1 + 3, 112), (2 + 1 + 1, 112)]);
    }
}
