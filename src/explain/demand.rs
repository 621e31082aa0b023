//! What a dispatch moves and computes.

use std::collections::BTreeMap;

use crate::analysis::limits::{AtomicKind, Sharing};
use crate::campaign::trace::{DispatchTrace, Moved};
use crate::shader::{AccessKind, Merging, Operation, Site, Space, Target, Touched};
use crate::trace::hardware::Hardware;
use crate::trace::request::Pattern;
use crate::trace::sites::Sums;

/// All that workgroups were recorded of is scaled to the whole dispatch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Demand {
    pub groups: u64,
    pub local_size: u64,
    /// Bytes of buffers that all workgroups together touch; nothing where that isn't known.
    pub touched: Option<Touched>,
    /// The same if no workgroup finds in a cache what another one loaded.
    pub moved: Option<Moved>,
    pub operations: BTreeMap<Operation, u64>,
    /// Bytes that workgroup memory could have moved in the time that its accesses take at least, conflicts included.
    pub shared_bytes: u64,
    pub atomics: BTreeMap<AtomicKind, u64>,
    /// Barriers of one workgroup, one after the other.
    pub barriers: u64,
    /// What isn't among all this.
    pub gaps: Vec<&'static str>,
}

/// Bytes of a word that atomic operations change, at most.
const ATOMIC_BYTES: u64 = 8;

impl Demand {
    pub fn of(trace: &DispatchTrace, hardware: &Hardware) -> Self {
        let what = &trace.what;
        let local_size = what.local_size.iter().map(|size| u64::from(*size)).product();
        let counted = trace.operations.as_ref();
        let mut new = Self {
            groups: trace.workgroups(),
            local_size,
            touched: trace.touched,
            moved: trace.moved(hardware),
            operations: counted.map(|counted| counted.done.iter().copied().collect()).unwrap_or_default(),
            ..Self::default()
        };
        let recorded = trace.recorded.len() as u64;
        let of_all = |count: u64| scaled(count, new.groups, recorded);
        let of_group = |count: u64| count / (recorded * local_size).max(1);
        let (mut barriers, mut atomics) = (0, BTreeMap::new());
        for (at, sums) in &trace.analysis.sums {
            let Some(site) = what.traced.sites.get(*at) else { continue };
            match site.kind {
                AccessKind::Barrier => barriers += of_group(sums.lanes),
                AccessKind::Atomic => {
                    let space = sums.root(site, &what.traced).map(|(_, root)| root.space);
                    let is_shared = space == Some(Space::Shared);
                    let sharing = sharing(sums, is_shared, recorded);
                    let kind = AtomicKind { is_shared, sharing, is_taken: site.merging == Merging::Separate };
                    *atomics.entry(kind).or_default() += of_all(operations(site, sums));
                }
                AccessKind::Load | AccessKind::Store | AccessKind::Fence => {}
            }
        }
        let wavefront_bytes = hardware.shared.banks * hardware.shared.bank_bytes;
        let shared = of_all(trace.analysis.must_wavefronts);
        (new.shared_bytes, new.barriers, new.atomics) = (shared.saturating_mul(wavefront_bytes), barriers, atomics);
        new.gaps = gaps(trace);
        new
    }
}

fn scaled(count: u64, groups: u64, recorded: u64) -> u64 {
    let all = (u128::from(count) * u128::from(groups)).checked_div(u128::from(recorded)).unwrap_or(0);
    u64::try_from(all).unwrap_or(u64::MAX)
}

/// Who shares what they change, as far as the workgroups that were recorded tell.
pub(super) fn sharing(sums: &Sums, is_shared: bool, recorded: u64) -> Sharing {
    let of_one_place = if is_shared { sums.of_groups / recorded.max(1) } else { sums.footprint };
    match sums.pattern() {
        Some(Pattern::Uniform) if of_one_place <= ATOMIC_BYTES && (is_shared || recorded > 1) => Sharing::Everybody,
        Some(Pattern::Uniform) => Sharing::Subgroup,
        _ => Sharing::Nobody,
    }
}

/// How many atomic operations must happen: of lanes that want the same one for all of a request. No row tells the rate of those: that of lanes,
/// of which a row's driver may have made one as well, is as high at least.
fn operations(site: &Site, sums: &Sums) -> u64 {
    if site.merging == Merging::Once { sums.requests } else { sums.lanes }
}

/// What the trace doesn't tell, in words.
fn gaps(trace: &DispatchTrace) -> Vec<&'static str> {
    let reason = |site: &Site| match &site.target {
        Target::Unfollowed(why) => Some(why.words()),
        _ => None,
    };
    let mut gaps: Vec<&str> = trace.what.traced.sites.iter().filter_map(reason).collect();
    if trace.touched.is_none_or(|touched| touched.is_partial) {
        gaps.push("not all bytes that it touches are known");
    }
    match &trace.operations {
        None => gaps.push("what it computes couldn't be counted"),
        Some(counted) if counted.is_partial => gaps.push("products of matrices aren't counted, or not all"),
        Some(_) => {}
    }
    if !trace.too_large.is_empty() {
        gaps.push("some workgroups have more accesses than there is room for");
    }
    gaps.sort_unstable();
    gaps.dedup();
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atomics_are_told_apart_by_who_shares_a_word() {
        let sums = |pattern, of_groups, footprint| Sums {
            patterns: BTreeMap::from([(pattern, 3)]),
            of_groups,
            footprint,
            ..Sums::default()
        };
        assert_eq!(sharing(&sums(Pattern::Uniform, 16, 4), false, 4), Sharing::Everybody);
        assert_eq!(sharing(&sums(Pattern::Uniform, 16, 16), false, 4), Sharing::Subgroup);
        assert_eq!(sharing(&sums(Pattern::Uniform, 4, 4), false, 1), Sharing::Subgroup, "one workgroup tells of no other");
        assert_eq!(sharing(&sums(Pattern::Uniform, 16, 4), true, 4), Sharing::Everybody);
        assert_eq!(sharing(&sums(Pattern::Linear, 4096, 4096), false, 4), Sharing::Nobody);
    }

    #[test]
    fn lanes_that_want_the_same_of_one_place_are_one_operation() {
        let site = |merging: &str| {
            let text = format!(
                r#"{{"kind":"atomic","name":"","line":null,"target":"nothing","loops":0,"polls":false,"sync":null,
                "atomic":null,"merging":"{merging}","foreseen":{{"alignment":16,"loops":0}},"matters":0,"is_coherent":true,"values":0}}"#
            );
            serde_json::from_str::<Site>(&text).unwrap()
        };
        let sums = Sums { requests: 3, lanes: 96, ..Sums::default() };
        let all = ["separate", "summed", "once"].map(|merging| operations(&site(merging), &sums));
        assert_eq!(all, [96, 96, 3]);
    }

    #[test]
    fn a_part_is_scaled_to_the_whole() {
        assert_eq!([scaled(10, 100, 4), scaled(10, 100, 0), scaled(u64::MAX, 2, 1)], [250, 0, u64::MAX]);
    }
}
