//! What would take bank conflicts away: longer rows of an array in shared memory, whose ends nobody uses.

use std::collections::BTreeMap;

use super::hardware::Hardware;
use super::request::wavefronts;
use super::requests::{Request, Requests};
use crate::shader::{NaturalArray, Padding, Site, Target, Traced};

/// The most elements that are added to a row.
const MOST: usize = 32;

/// Requests of an instruction that are looked at; what is found is recorded once more.
const SAMPLE: u64 = 1 << 10;

/// An array with longer rows, and what all requests of it take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The variable, by its index.
    pub root: usize,
    pub padding: Padding,
    /// Bytes that it takes more.
    pub more_bytes: u64,
}

/// What longer rows would take, over several passes.
#[derive(Default)]
pub struct LongerRows {
    /// By variable and instruction: those of one that has none of the conflicts don't stand for the others.
    sampled: BTreeMap<(usize, usize), Sampled>,
}

/// Requests of an instruction.
struct Sampled {
    requests: u64,
    seen: u64,
    /// By elements added, the wavefronts of those that were looked at, and the least that they could be.
    sums: Vec<(u64, u64)>,
}

impl Sampled {
    fn add(&mut self, request: &Request, site: &Site, (root, array): (usize, &NaturalArray), hardware: &Hardware) {
        self.seen += 1;
        let of_root = request.lanes.iter().filter(|(_, record)| record.root == Some(root));
        let lanes: Vec<(u32, u64)> = of_root.filter_map(|(lane, record)| Some((*lane, record.offset?))).collect();
        for (added, sum) in (0..).zip(self.sums.iter_mut()) {
            let lanes: Vec<(u32, u64)> = lanes.iter().map(|(lane, offset)| (*lane, moved(*offset, array, added))).collect();
            if let Some(found) = wavefronts(&lanes, site.kind, site.target.runs(), hardware) {
                *sum = (sum.0 + found.all, sum.1 + found.least);
            }
        }
    }
}

impl LongerRows {
    pub fn add(&mut self, requests: &Requests, hardware: &Hardware) {
        let traced = requests.recorded().traced();
        for (at, range) in requests.by_site() {
            let Some(site) = traced.sites.get(at).filter(|site| may_have_rows(traced, site)) else { continue };
            for request in requests.range(range) {
                let first = request.lanes.first();
                let Some((root, array)) = first.and_then(|(_, record)| rows(traced, record.root?)) else { continue };
                let new = || Sampled { requests: 0, seen: 0, sums: vec![(0, 0); MOST + 1] };
                let sampled = self.sampled.entry((root, at)).or_insert_with(new);
                sampled.requests += 1;
                if sampled.requests <= SAMPLE {
                    sampled.add(&request, site, (root, array), hardware);
                }
            }
        }
    }

    /// For each array of rows with conflicts, the fewest elements to add to a row that leave the fewest wavefronts.
    pub fn candidates(&self, traced: &Traced) -> Vec<Candidate> {
        let mut sums: BTreeMap<usize, Vec<(u64, u64)>> = BTreeMap::new();
        for ((root, _), sampled) in &self.sampled {
            let of_all = |sum: u64| sum.saturating_mul(sampled.requests) / sampled.seen.max(1);
            for (sum, more) in sums.entry(*root).or_insert_with(|| vec![(0, 0); MOST + 1]).iter_mut().zip(&sampled.sums) {
                *sum = (sum.0.saturating_add(of_all(more.0)), sum.1.saturating_add(of_all(more.1)));
            }
        }
        sums.iter().filter_map(|(root, sums)| best(traced, *root, sums)).collect()
    }
}

/// Whether an instruction may lead to an array of rows.
fn may_have_rows(traced: &Traced, site: &Site) -> bool {
    match site.target {
        Target::Nothing | Target::Unfollowed(_) => false,
        Target::Root { root, .. } => rows(traced, root).is_some(),
        Target::Chosen { .. } | Target::Address { .. } => true,
    }
}

/// A variable that is an array of rows, if its name tells it from all others.
fn rows(traced: &Traced, root: usize) -> Option<(usize, &NaturalArray)> {
    let of = traced.roots.get(root)?;
    let is_named = !of.name.is_empty() && traced.roots.iter().filter(|other| other.name == of.name).count() == 1;
    let array = of.array.as_ref().filter(|array| is_named && array.lengths.len() > 1)?;
    Some((root, array))
}

/// Where an offset is once each row has so many elements more.
fn moved(offset: u64, NaturalArray { lengths, element_bytes }: &NaturalArray, added: u64) -> u64 {
    let row = lengths.last().copied().unwrap_or(1).max(1) * element_bytes;
    offset + offset / row * added * element_bytes
}

fn best(traced: &Traced, root: usize, sums: &[(u64, u64)]) -> Option<Candidate> {
    let (now, least) = *sums.first()?;
    let (added, (then, _)) = (0_u64..).zip(sums).min_by_key(|(_, sum)| sum.0)?;
    if now <= least || *then >= now {
        return None;
    }
    let (_, array) = rows(traced, root)?;
    let (row, outer) = array.lengths.split_last()?;
    let lengths: Option<Vec<u32>> =
        outer.iter().copied().chain([row + added]).map(|length| u32::try_from(length).ok()).collect();
    let more_bytes = outer.iter().product::<u64>() * added * array.element_bytes;
    Some(Candidate { root, padding: Padding { name: traced.roots[root].name.clone(), lengths: lengths? }, more_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_move_apart() {
        let array = NaturalArray { lengths: vec![4, 32], element_bytes: 4 };
        assert_eq!([0, 124, 128, 260].map(|offset| moved(offset, &array, 1)), [0, 124, 132, 268]);
    }
}
