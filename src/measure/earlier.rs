//! What an earlier run that didn't come to its end measured of a case: a later one goes on from there.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::bench::{CaseKey, ShaderFacts, Visited};
use super::session::Session;
use super::visit::Sizes;
use crate::units::Nanos;

/// The visits of a case so far, all of one module in one choice of sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Earlier {
    /// The hash of its first kernel's SPIR-V; empty for a case without kernels.
    pub spirv_hash: String,
    /// The sizes in which it was sampled, and those of the base of a pair.
    pub sizes: (Sizes, Option<Sizes>),
    /// The sentinel's time that the clocks of its visits relate to.
    pub sentinel: Nanos,
    /// What each visit gave, and the number of the process that made it.
    pub visits: Vec<(u32, Visited)>,
}

/// The longest time that a sample or a visit may say that it took: far longer than any takes, and short enough to be multiplied.
const LONGEST: Duration = Duration::from_secs(200 * 365 * 24 * 60 * 60);

/// The last number that a process of an earlier run may have: far more than a run starts, and few enough to go on counting.
const LAST_PROCESS: u32 = 1 << 24;

impl Earlier {
    /// Whether a visit can be one that a run made. What a file tells may be damaged.
    pub fn can_have(sizes: &(Sizes, Option<Sizes>), process: u32, sentinel: Nanos, visited: &Visited) -> bool {
        let (own, base) = sizes;
        own.can_be(LONGEST)
            && base.is_none_or(|base| base.can_be(LONGEST))
            && (1..=LAST_PROCESS).contains(&process)
            && sentinel.0.is_normal()
            && sentinel.0 > 0.0
            && visited.spent <= LONGEST
            && !visited.visit.samples.is_empty()
    }

    /// Whether they were visits of this module, and in pairs if those to come are.
    pub(super) fn is_of(&self, shader: Option<&ShaderFacts>, is_paired: bool) -> bool {
        let is_same = shader.map_or("", |shader| shader.spirv_hash.as_str()) == self.spirv_hash;
        is_same && self.visits.iter().all(|(_, visited)| visited.visit.ratios.is_empty() != is_paired)
    }
}

impl Session<'_> {
    /// Goes on from what was measured of a case when it is measured next: if its module is still the same, its visits count, and each
    /// case gets at least one more, after which its results are compared. Numbers of processes are made to differ from those here.
    pub fn recall(&mut self, key: CaseKey, mut earlier: Earlier) {
        let own = self.pool.instrument().sentinel;
        earlier.visits.iter_mut().for_each(|(_, visited)| visited.conditions.relate(earlier.sentinel, own));
        self.earlier.insert(key, Earlier { sentinel: own, ..earlier });
    }

    /// Numbers its processes from behind this number on. Before anything is measured.
    pub fn number_processes_behind(&mut self, last: u32) {
        self.pool.number_behind(last);
    }
}
