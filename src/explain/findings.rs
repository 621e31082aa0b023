//! What of a kernel costs time for nothing, with its place in the source, and what mending it would gain: measured, where it was tried.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;

use super::demand::sharing;
use super::measured::Taken;
use super::trials::{BINDS, CONFLICTS, COPIES, Gain, Outcome, Trial, Tried, Verdict, costs};
use crate::analysis::counted;
use crate::analysis::limits::Sharing;
use crate::campaign::trace::DispatchTrace;
use crate::shader::{AccessKind, Operation, Relief, ReliefAt, Site, SourceLine, Space, Visited};
use crate::trace::hardware::Hardware;
use crate::trace::request::Pattern;
use crate::trace::sites::Sums;
use crate::units::{percent, rounded};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    BankConflicts,
    /// Lanes far apart, or anywhere.
    PartialSectors,
    /// The same where the workgroup uses the sectors all the same: each request takes longer, and memory doesn't.
    Uncoalesced,
    Unaligned,
    RedundantLoads,
    ContendedAtomics,
    Barriers,
    LocalSize,
    FewWorkgroups,
    Divergence,
    DoublePrecision,
    Spills,
}

impl FindingKind {
    /// Whether its accesses themselves are what is taken away to see what it costs.
    pub fn is_of_accesses(self) -> bool {
        matches!(self, Self::PartialSectors | Self::Uncoalesced | Self::RedundantLoads)
    }
}

/// Something that costs time.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    pub kind: FindingKind,
    /// The lines that it is at, in ascending order; none where the module doesn't say them, or the whole kernel is meant.
    pub lines: Vec<SourceLine>,
    /// What was seen.
    pub evidence: String,
    /// What to do about it.
    pub remedy: String,
    pub proof: Proof,
}

/// What tells that it costs time.
#[derive(Clone, Debug, PartialEq)]
pub enum Proof {
    /// The remedy was measured, and computes the same: its gain.
    Remedy(Outcome),
    /// What it is at was taken away, all of it: a remedy may leave a part.
    Relief(Outcome),
    Nothing,
}

impl Finding {
    /// What the kernel gains without it.
    pub fn gain(&self) -> Option<Gain> {
        match self.proof {
            Proof::Remedy(Outcome::Gained(gain)) | Proof::Relief(Outcome::Gained(gain)) => Some(gain),
            _ => None,
        }
    }

    /// Whether it costs time; nothing where that wasn't tried.
    pub fn verdict(&self) -> Option<Verdict> {
        match &self.proof {
            Proof::Remedy(outcome) | Proof::Relief(outcome) => outcome.verdict(),
            Proof::Nothing => None,
        }
    }
}

/// What lasts hardly longer for several times the workgroups has too few of them.
const HALF: f64 = 0.5;
/// The least share of sectors, loads or barriers that makes an instruction worth a word.
const LEAST_SHARE: f64 = 0.05;
/// Below this share of bytes in use, sectors are used in part.
const PARTIAL: f64 = 0.6;
/// From so many times the sectors on that a request needs, it counts as uncoalesced.
const APART: u64 = 4;
/// From this share of requests on that begin within a sector, an access counts as unaligned.
const UNALIGNED: f64 = 0.5;
/// So often a workgroup loads a byte by different requests, at least, where that is redundant.
const REDUNDANT: f64 = 4.0;
/// So often each invocation waits, at least, where barriers are many.
const MANY_BARRIERS: u64 = 8;
/// Below this share of lanes that are active, lanes diverge.
const DIVERGED: f64 = 0.75;

/// What there is to find in a dispatch, whose requests have so many lanes: the greatest gain first; what wasn't tried comes last.
/// `attained`: the share of the time that no remedy changes, where that is known.
pub fn find(
    dispatch: &DispatchTrace,
    hardware: &Hardware,
    [lanes, device_lanes]: [u32; 2],
    tried: &[Tried],
    taken: &Taken,
    attained: Option<f64>,
) -> Vec<Finding> {
    let seen = Seen { dispatch, hardware, subgroup: lanes, device_lanes, tried };
    let mut all = seen.conflicts();
    all.extend(seen.sectors());
    all.extend(seen.unaligned());
    if attained.is_none_or(|attained| 1.0 - attained >= BINDS) {
        all.extend(seen.uncoalesced());
    }
    all.extend(seen.redundant());
    all.extend(seen.atomics());
    all.extend(seen.barriers());
    all.extend(seen.local_size());
    all.extend(seen.few_workgroups());
    all.extend(seen.divergence());
    all.extend(seen.double_precision());
    all.extend(spills(taken.spill_bytes));
    // What a compiler made several of is one.
    let mut seen = HashSet::new();
    all.retain(|finding| seen.insert((finding.kind, finding.lines.clone(), finding.evidence.clone())));
    let gain = |finding: &Finding| finding.gain().map_or(f64::NEG_INFINITY, |gain| gain.share);
    all.sort_by(|one, other| gain(other).total_cmp(&gain(one)));
    all
}

struct Seen<'s> {
    dispatch: &'s DispatchTrace,
    hardware: &'s Hardware,
    subgroup: u32,
    /// Those of the device's own subgroups.
    device_lanes: u32,
    tried: &'s [Tried],
}

/// An instruction that was recorded.
type Access<'s> = (&'s Site, &'s Sums);

#[expect(clippy::cast_precision_loss, reason = "a share")]
fn ratio(part: u64, of: u64) -> f64 {
    part as f64 / (of as f64).max(1.0)
}

impl<'s> Seen<'s> {
    fn accesses(&self) -> impl Iterator<Item = Access<'s>> {
        let dispatch = self.dispatch;
        dispatch.analysis.sums.iter().filter_map(|(at, sums)| Some((dispatch.what.traced.sites.get(*at)?, sums)))
    }

    fn space(&self, (site, sums): Access) -> Option<Space> {
        sums.root(site, &self.dispatch.what.traced).map(|(_, root)| root.space)
    }

    /// Those that load from or store to buffers.
    fn of_buffers(&self) -> impl Iterator<Item = Access<'s>> {
        let is_buffer = |access: &Access| {
            let space = self.space(*access);
            let is_memory = !matches!(space, Some(Space::Shared | Space::PushConstants | Space::Uniform { .. }));
            is_memory && matches!(access.0.kind, AccessKind::Load | AccessKind::Store) && access.1.sectors > 0
        };
        self.accesses().filter(is_buffer).collect::<Vec<_>>().into_iter()
    }

    fn local_size(&self) -> Option<Finding> {
        let size: u32 = self.dispatch.what.local_size.iter().product();
        let idle = size.next_multiple_of(self.subgroup) - size;
        let gained = |tried: &&Tried| match (&tried.trial, &tried.outcome) {
            (Trial::LocalSize(_), Outcome::Gained(gain)) => Some(gain.share),
            _ => None,
        };
        let best = self.tried.iter().filter(|tried| gained(tried).is_some());
        let best = best.max_by(|one, other| gained(one).unwrap_or(0.0).total_cmp(&gained(other).unwrap_or(0.0)));
        let best = best.filter(|best| idle > 0 || best.outcome.is_gain());
        if idle == 0 && best.is_none() {
            return None;
        }
        let evidence = match idle {
            0 => format!("its workgroups have {size} invocations"),
            _ => format!("workgroups of {size} leave {idle} of {} lanes idle", size + idle),
        };
        let (remedy, proof) = match best {
            Some(Tried { trial: Trial::LocalSize(point), outcome }) => {
                (format!("take {point}"), Proof::Remedy(outcome.clone()))
            }
            _ => (format!("make them a multiple of {}", self.subgroup), Proof::Nothing),
        };
        Some(Finding { kind: FindingKind::LocalSize, lines: Vec::new(), evidence, remedy, proof })
    }

    fn few_workgroups(&self) -> Option<Finding> {
        let copies = self.tried.iter().find(|tried| tried.trial == Trial::Copies)?;
        let Outcome::Gained(Gain { share, .. }) = copies.outcome else { return None };
        if copies.verdict() != Some(Verdict::Binds) {
            return None;
        }
        let times = f64::from(COPIES) * (1.0 - share);
        let groups = counted(self.dispatch.workgroups(), "workgroup");
        let times = rounded(times, None);
        let what = if share >= HALF { "too few workgroups for the device" } else { "its dispatch's beginning and end" };
        let evidence = format!("{what}: {COPIES} times its {groups} take {times} times as long");
        let remedy = "let it do more at a time, or dispatch others beside it without a barrier between them".to_owned();
        let proof = Proof::Relief(copies.outcome.clone());
        Some(Finding { kind: FindingKind::FewWorkgroups, lines: Vec::new(), evidence, remedy, proof })
    }

    fn conflicts(&self) -> Vec<Finding> {
        let mut by_root: BTreeMap<usize, Vec<Access>> = BTreeMap::new();
        for (site, sums) in self.accesses() {
            let Some((at, root)) = sums.root(site, &self.dispatch.what.traced) else { continue };
            if root.space == Space::Shared && sums.degree().is_some_and(|degree| degree >= CONFLICTS) {
                by_root.entry(at).or_default().push((site, sums));
            }
        }
        let of = |(root, all): (usize, Vec<Access>)| {
            let (taken, least) =
                all.iter().fold((0, 0), |(taken, least), (_, sums)| (taken + sums.wavefronts, least + sums.least_wavefronts));
            let name = name(all[0].0);
            let evidence = format!(
                "bank conflicts in {name}: {} times the time that its accesses need",
                rounded(ratio(taken, least), None)
            );
            let remedy = self.dispatch.remedies.iter().find(|remedy| remedy.root == root);
            let padded = remedy.and_then(|remedy| {
                let is_it = |tried: &&Tried| tried.trial == Trial::Padding(remedy.padding.clone());
                self.tried.iter().find(is_it).map(|tried| tried.outcome.clone())
            });
            let is_refused = matches!(padded, Some(Outcome::NotTried(_)));
            let remedy = match remedy.filter(|_| !is_refused) {
                Some(remedy) => format!("declare `{}`", remedy.declaration()),
                None => "let neighbouring lanes access neighbouring words, or make rows an odd number of words long".to_owned(),
            };
            let lines = lines(&all);
            let proof = match padded {
                Some(outcome @ Outcome::Gained(_)) => Proof::Remedy(outcome),
                _ => self.relieved(Relief::Conflicts, &lines),
            };
            Finding { kind: FindingKind::BankConflicts, lines, evidence, remedy, proof }
        };
        by_root.into_iter().map(of).collect()
    }

    /// Buffers whose sectors are used in part.
    fn sectors(&self) -> Vec<Finding> {
        let all: u64 = self.of_buffers().map(|(_, sums)| sums.sectors).sum();
        let of = |access: Access| {
            let (site, sums) = access;
            let used = sums.efficiency(self.hardware)?;
            let bytes: u64 = site.target.runs().iter().map(|run| run.bytes).sum();
            // What other accesses of the workgroup use of the same sectors, a cache may have kept for them.
            let whole = self.used(sums);
            let is_worth_it = ratio(sums.sectors, all) >= LEAST_SHARE;
            let (how, remedy) = match sums.pattern() {
                Some(Pattern::Uniform) => return None,
                _ if self.is_unaligned(&access) => return None,
                _ if !is_worth_it => return None,
                _ if whole >= PARTIAL => return None,
                Some(Pattern::Strided(stride)) if used < PARTIAL => (
                    format!("lanes are {} apart", apart(stride, bytes)),
                    "let neighbouring lanes access neighbouring words: an array for each member of a structure, or a tile in shared memory",
                ),
                Some(Pattern::Scattered) if used < PARTIAL => (
                    "lanes access words here and there".to_owned(),
                    "sort what is accessed, or group it, so that neighbouring lanes need the same sectors",
                ),
                _ if used < PARTIAL => {
                    ("lanes access parts of sectors".to_owned(), "let neighbouring lanes access neighbouring words")
                }
                _ => return None,
            };
            let evidence = format!(
                "{}: {how}, {} of the bytes that memory moves are of use",
                accesses(site.kind, &[access]),
                percent(used.max(whole))
            );
            let lines = lines(&[access]);
            let relief = if site.kind == AccessKind::Load { Relief::Loads } else { Relief::Stores };
            let proof = self.relieved(relief, &lines);
            Some(Finding { kind: FindingKind::PartialSectors, lines, evidence, remedy: remedy.to_owned(), proof })
        };
        self.of_buffers().filter_map(of).collect()
    }

    fn is_unaligned(&self, (_, sums): &Access) -> bool {
        let is_within = ratio(sums.unaligned, sums.requests) >= UNALIGNED;
        sums.pattern() == Some(Pattern::Linear) && is_within && sums.sectors > sums.fewest_sectors
    }

    /// Loads and stores that are worth a word, buffer by buffer.
    fn by_buffer(&self, is_meant: impl Fn(&Access) -> bool) -> Vec<(AccessKind, Vec<Access<'s>>)> {
        let all: u64 = self.of_buffers().map(|(_, sums)| sums.sectors).sum();
        let mut by_buffer: BTreeMap<(usize, AccessKind), Vec<Access>> = BTreeMap::new();
        for (site, sums) in self.of_buffers().filter(is_meant).filter(|(_, sums)| ratio(sums.sectors, all) >= LEAST_SHARE) {
            if let Some((root, _)) = sums.root(site, &self.dispatch.what.traced) {
                by_buffer.entry((root, site.kind)).or_default().push((site, sums));
            }
        }
        by_buffer.into_iter().map(|((_, kind), all)| (kind, all)).collect()
    }

    /// Requests that begin within a sector, and take one more for that. What all of the access costs says nothing of those sectors.
    fn unaligned(&self) -> Vec<Finding> {
        let of = |(kind, all): (AccessKind, Vec<Access>)| {
            let sum = |part: fn(&Sums) -> u64| all.iter().map(|(_, sums)| part(sums)).sum::<u64>();
            let evidence = format!(
                "{}: {} of the requests begin within a sector, and all together take {} times the sectors that they need",
                accesses(kind, &all),
                percent(ratio(sum(|sums| sums.unaligned), sum(|sums| sums.requests))),
                rounded(ratio(sum(|sums| sums.sectors), sum(|sums| sums.fewest_sectors)), None)
            );
            let remedy = "begin rows at multiples of a sector, or let the first lanes wait".to_owned();
            Finding { kind: FindingKind::Unaligned, lines: lines(&all), evidence, remedy, proof: Proof::Nothing }
        };
        self.by_buffer(|access| self.is_unaligned(access)).into_iter().map(of).collect()
    }

    /// The share of the bytes of its sectors that the workgroup uses, by this instruction or another.
    fn used(&self, sums: &Sums) -> f64 {
        ratio(sums.first_used, sums.first_sectors * self.hardware.sector_bytes)
    }

    /// Requests of lanes that lie apart, buffer by buffer, where no sector is used in part.
    fn uncoalesced(&self) -> Vec<Finding> {
        let is_apart = |(_, sums): &Access| {
            let is_one = matches!(sums.pattern(), None | Some(Pattern::Uniform | Pattern::Linear));
            !is_one && sums.sectors >= APART * sums.fewest_sectors && self.used(sums) >= PARTIAL
        };
        let of = |(kind, all): (AccessKind, Vec<Access>)| {
            let sum = |part: fn(&Sums) -> u64| all.iter().map(|(_, sums)| part(sums)).sum::<u64>();
            let requests = sum(|sums| sums.requests);
            let [taken, least] = [sum(|sums| sums.sectors), sum(|sums| sums.fewest_sectors)];
            let [bytes, used] = [sum(|sums| sums.first_sectors) * self.hardware.sector_bytes, sum(|sums| sums.first_used)];
            let each = |sectors| format!("{:.0}", ratio(sectors, requests));
            let evidence = format!(
                "{}: lanes are apart, so that a request takes {} sectors where {} would do; the workgroup uses {} of their bytes",
                accesses(kind, &all),
                each(taken),
                each(least),
                percent(ratio(used, bytes))
            );
            let remedy =
                "let neighbouring lanes access neighbouring words, by a tile in shared memory, or let each lane load vectors";
            let (lines, relief) = (lines(&all), if kind == AccessKind::Load { Relief::Loads } else { Relief::Stores });
            let proof = self.relieved(relief, &lines);
            Finding { kind: FindingKind::Uncoalesced, lines, evidence, remedy: remedy.to_owned(), proof }
        };
        self.by_buffer(is_apart).into_iter().map(of).collect()
    }

    fn redundant(&self) -> Vec<Finding> {
        let loads = || self.of_buffers().filter(|(site, _)| site.kind == AccessKind::Load);
        let all: u64 = loads().map(|(_, sums)| sums.sectors).sum();
        let of = |access: Access| {
            let (site, sums) = access;
            let times = ratio(sums.distinct, sums.of_groups);
            if times < REDUNDANT || ratio(sums.sectors, all) < LEAST_SHARE {
                return None;
            }
            let evidence = format!("the load of {}: a workgroup loads each byte {} times", name(site), rounded(times, None));
            let remedy = "load it once into shared memory or registers".to_owned();
            let lines = lines(&[access]);
            let proof = self.relieved(Relief::Loads, &lines);
            Some(Finding { kind: FindingKind::RedundantLoads, lines, evidence, remedy, proof })
        };
        loads().filter_map(of).collect()
    }

    fn atomics(&self) -> Vec<Finding> {
        // A lane of each of the device's subgroups, of which a request may have several.
        let one_each = u64::from((self.subgroup / self.device_lanes.max(1)).max(1));
        let of = |access: Access| {
            let (site, sums) = access;
            let is_shared = self.space(access) == Some(Space::Shared);
            let who = match sharing(sums, is_shared, self.dispatch.recorded.len() as u64) {
                _ if site.kind != AccessKind::Atomic || sums.most_sharing <= one_each => return None,
                Sharing::Everybody if is_shared => "all lanes of a workgroup change",
                Sharing::Everybody => "all lanes of all workgroups change",
                _ => "up to {} lanes change",
            };
            let who = who.replace("{}", &sums.most_sharing.to_string());
            let evidence = format!("atomics on {}: {who} one word at a time", name(site));
            let remedy = "add up within the subgroup first, then in shared memory, and let one lane do the rest".to_owned();
            let lines = lines(&[access]);
            let proof = self.relieved(Relief::Atomics, &lines);
            Some(Finding { kind: FindingKind::ContendedAtomics, lines, evidence, remedy, proof })
        };
        self.accesses().filter_map(of).collect()
    }

    fn barriers(&self) -> Vec<Finding> {
        let invocations = self.dispatch.recorded.len() as u64
            * self.dispatch.what.local_size.iter().map(|size| u64::from(*size)).product::<u64>();
        let of = |access: Access| {
            let (site, sums) = access;
            let times = sums.lanes / invocations.max(1);
            if site.kind != AccessKind::Barrier || times < MANY_BARRIERS {
                return None;
            }
            let evidence = format!("a barrier at which each invocation waits {times} times");
            let remedy = "do more between two barriers, or exchange values within a subgroup".to_owned();
            let lines = lines(&[access]);
            let proof = self.relieved(Relief::Barriers, &lines);
            Some(Finding { kind: FindingKind::Barriers, lines, evidence, remedy, proof })
        };
        self.accesses().filter_map(of).collect()
    }

    /// Arithmetic that few lanes of a subgroup do together while the others wait: the line that loses most by it.
    fn divergence(&self) -> Option<Finding> {
        let size: u64 = self.dispatch.what.local_size.iter().map(|size| u64::from(*size)).product();
        let lanes = ratio(size, size.div_ceil(u64::from(self.device_lanes)));
        let visited = &self.dispatch.operations.as_ref()?.visited;
        // Its own subgroups may be smaller than the device's.
        let most = visited.iter().map(|of| ratio(of.lanes, of.visits)).fold(0.0, f64::max);
        let lanes = lanes.min(most);
        #[expect(clippy::cast_precision_loss, reason = "a share")]
        let room = |of: &Visited| of.operations as f64 * of.visits as f64 * lanes;
        #[expect(clippy::cast_precision_loss, reason = "a share")]
        let used = |of: &Visited| of.operations as f64 * of.lanes as f64;
        let (all, taken) = visited.iter().fold((0.0, 0.0), |(all, taken), of| (all + room(of), taken + used(of)));
        if all == 0.0 || taken >= DIVERGED * all {
            return None;
        }
        let lost = |of: &&Visited| room(of) - used(of);
        let worst = visited.iter().max_by(|one, other| lost(one).total_cmp(&lost(other)))?;
        let evidence = format!(
            "lanes diverge: on average {} of {} are active in the kernel's arithmetic, and {} here",
            rounded(lanes * taken / all, Some(0.0)),
            rounded(lanes, Some(0.0)),
            rounded(ratio(worst.lanes, worst.visits), Some(0.0))
        );
        let remedy =
            "let the lanes of a subgroup branch alike, and loop as often as each other: sort or group what they work on";
        let lines = worst.line.iter().cloned().collect();
        Some(Finding { kind: FindingKind::Divergence, lines, evidence, remedy: remedy.to_owned(), proof: Proof::Nothing })
    }

    /// Arithmetic on f64 where nothing that is read or written holds any.
    fn double_precision(&self) -> Option<Finding> {
        let counted = self.dispatch.operations.as_ref()?;
        let is_double = |operation: Operation| {
            use Operation::{MultiplyAdd, OtherFloat, Special};
            matches!(operation, MultiplyAdd { bits: 64 } | Special { bits: 64 } | OtherFloat { bits: 64 })
        };
        let count = counted.sum(is_double);
        if count == 0 || counted.stray_doubles.is_empty() {
            return None;
        }
        let evidence = "arithmetic on f64, and no buffer holds any".to_owned();
        let remedy = "write literals as 2.0f or 2.0, not 2.0lf, and declare what they go to as float".to_owned();
        let lines = counted.stray_doubles.clone();
        let tried = self.tried.iter().find(|tried| tried.trial == Trial::Narrow);
        let proof = tried.map_or(Proof::Nothing, |tried| Proof::Remedy(tried.outcome.clone()));
        Some(Finding { kind: FindingKind::DoublePrecision, lines, evidence, remedy, proof })
    }

    /// What taking away the cost at these lines did; or that of all, where they are all that has it.
    fn relieved(&self, relief: Relief, lines: &[SourceLine]) -> Proof {
        let at = ReliefAt { lines: Some(lines.to_vec()), ..relief.into() };
        let all = costs(self.dispatch, relief);
        let is_here = |line: &Option<SourceLine>| line.as_ref().is_some_and(|line| lines.contains(line));
        let has_no_other = all.len() == 1 || all.iter().all(|(line, _)| is_here(line));
        let is_it = |trial: &Trial| match trial {
            Trial::Line(of) | Trial::Relief(of) if *of == at => true,
            Trial::Relief(of) => of.is_whole() && of.relief == relief && has_no_other,
            _ => false,
        };
        let tried = self.tried.iter().find(|tried| is_it(&tried.trial));
        tried.map_or(Proof::Nothing, |tried| Proof::Relief(tried.outcome.clone()))
    }
}

fn spills(spilled: Option<u64>) -> Option<Finding> {
    let bytes = spilled.filter(|bytes| *bytes > 0)?;
    let evidence = format!("the driver has no register for {bytes} bytes of each invocation, and keeps them in memory");
    let remedy = "keep fewer values at a time: smaller arrays, or more invocations with less work each".to_owned();
    Some(Finding { kind: FindingKind::Spills, lines: Vec::new(), evidence, remedy, proof: Proof::Nothing })
}

/// What an instruction accesses, for people.
fn name(site: &Site) -> String {
    if site.name.is_empty() { "a buffer without a name".to_owned() } else { format!("`{}`", site.name) }
}

fn apart(stride: i64, bytes: u64) -> String {
    let away = stride.unsigned_abs().max(1);
    match away.checked_rem(bytes) {
        Some(0) => format!("{} elements", away / bytes),
        _ => format!("{away} bytes"),
    }
}

/// Loads or stores, in words.
fn accesses(kind: AccessKind, all: &[Access]) -> String {
    let what = match (kind, all.len()) {
        (AccessKind::Load, 1) => "the load of",
        (AccessKind::Load, _) => "the loads of",
        (_, 1) => "the store to",
        _ => "the stores to",
    };
    format!("{what} {}", name(all[0].0))
}

fn lines(all: &[Access]) -> Vec<SourceLine> {
    let mut lines: Vec<SourceLine> = all.iter().filter_map(|(site, _)| site.line.clone()).collect();
    lines.sort();
    lines.dedup();
    lines
}
