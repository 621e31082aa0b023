//! A cycle in workgroup memory that lanes walk side by side: `glsl/shared/chase.comp` is the shader.

use super::axes::HOPS_PER_ITERATION;
use crate::experiments::{CaseBuilder, Config, lanes, product, size_to_require, u32_of};
use crate::model::{Chain, Kernel, Scalar, Sequence, Skip};
use crate::validate::Expected;

/// The fewest nodes of a cycle: an odd number of them, of which more than one.
pub const LEAST_NODES: u64 = 3;

/// The node that the first walk begins at, and from there to where the next subgroup's begins.
const START: u32 = 1;
const SKEW: u32 = 1;

/// The sizes of a walk.
#[derive(Clone, Copy)]
pub struct Ring {
    /// Lanes that walk side by side: those of a subgroup, or of a smaller workgroup.
    lanes: u64,
    /// Nodes of the cycle, each of a word for each lane. An odd number: each iteration has 16 hops, which would lead any number of
    /// times around a smaller power of two, and a walk that ends where it began is none.
    nodes: u64,
    /// Words of workgroup memory, of which the last may be left over.
    words: u64,
    local_size: u64,
    pub hops: u64,
    groups: [u32; 3],
    invocations: u64,
}

impl Ring {
    /// What the axes `window_bytes`, `local_size_x` and `hops` stand for, in so many workgroups.
    pub fn new(groups: u64, config: &Config) -> Self {
        let [bytes, local_size, hops] = ["window_bytes", "local_size_x", "hops"].map(|axis| config.integer(axis));
        let lanes = local_size.min(lanes(config.device()).into());
        let (groups, invocations) = config.grid(groups);
        let words = bytes / 4;
        let nodes = (words / lanes).saturating_sub(1) | 1;
        Self { lanes, nodes, words, local_size, hops, groups, invocations }
    }

    pub fn all_hops(&self) -> u64 {
        product([self.invocations, self.hops])
    }

    /// The case of an experiment, but for its work.
    pub fn case(self, experiment: &str, config: &Config) -> Result<CaseBuilder, Skip> {
        let (bytes, limit) = (config.integer("window_bytes"), config.device().limits.shared_bytes);
        if bytes > limit.into() {
            return Err(Skip::new(format!("maxComputeSharedMemorySize is {limit}, the case needs {bytes}")));
        }
        if self.nodes < LEAST_NODES {
            let least = LEAST_NODES * 4 * self.lanes;
            return Err(Skip::new(format!("window_bytes is {bytes}, the case needs {least} for a cycle of three nodes")));
        }
        let iterations = self.hops / HOPS_PER_ITERATION;
        if self.hops % self.nodes == 0 {
            let (hops, nodes) = (self.hops, self.nodes);
            return Err(Skip::new(format!(
                "after {hops} hops a walk round {nodes} nodes is back where it began: the case needs others"
            )));
        }
        let [words, lanes, nodes, count] = [self.words, self.lanes, self.nodes, iterations].map(u32_of);
        let mut kernel = Kernel::new("shared/chase.comp", config.workgroup())
            .constant("WORDS", Scalar::U32(words?))
            .constant("LANES", Scalar::U32(lanes?))
            .constant("NODES", Scalar::U32(nodes?))
            .constant("ITERATIONS", Scalar::U32(count?));
        kernel.required_subgroup_size = size_to_require(config.device(), self.local_size);
        let next = Sequence::Chain(Chain { seed: config.seed(), nodes: self.nodes, stride: 1, detour: 0, places: 1 });
        let mut case = CaseBuilder::new(experiment, config);
        let resources = [
            case.output("results", Expected::words_from(self.invocations, move || self.results(next))),
            case.input("next", self.nodes, next),
        ];
        case.run(kernel, &resources, self.groups, &[START, SKEW]);
        let copied = (self.nodes * self.lanes).div_ceil(self.local_size);
        Ok(case.iterations(iterations + copied))
    }

    /// Where each invocation is after its hops.
    #[expect(clippy::cast_possible_truncation, reason = "workgroup memory has far fewer than 2^32 words")]
    fn results(self, next: Sequence) -> impl Fn(u64) -> u32 + Send + Sync {
        let Self { lanes, nodes, local_size, hops, .. } = self;
        let ends = ends(next, nodes, hops);
        move |i| {
            let (group, own) = (i / local_size, i % local_size);
            let node = (u64::from(START) + (group + own / lanes) * u64::from(SKEW)) % nodes;
            ends[node as usize] * lanes as u32 + (own % lanes) as u32
        }
    }
}

/// Of each node of a cycle, the one that lies so many hops behind it.
fn ends(next: Sequence, nodes: u64, hops: u64) -> Vec<u32> {
    let cycle: Vec<u32> = std::iter::successors(Some(0), |at: &u32| Some(next.word(u64::from(*at))))
        .take(usize::try_from(nodes).unwrap_or_default())
        .collect();
    let on = usize::try_from(hops % nodes).unwrap_or_default();
    let mut ends = vec![0; cycle.len()];
    for (place, node) in cycle.iter().enumerate() {
        ends[*node as usize] = cycle[(place + on) % cycle.len()];
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_where_hops_lead() {
        for (nodes, hops) in [2_u32, 3, 64, 100].into_iter().flat_map(|nodes| [0, 1, 16, 1000].map(|hops| (nodes, hops))) {
            let next = Sequence::Chain(Chain { seed: 3, nodes: nodes.into(), stride: 1, detour: 0, places: 1 });
            let walked = |from: u32| (0..hops).fold(from, |at, _| next.word(at.into()));
            let ends = ends(next, nodes.into(), hops.into());
            assert!(ends.iter().copied().eq((0..nodes).map(walked)), "{nodes} {hops}: {ends:?}");
            assert_eq!(ends.into_iter().eq(0..nodes), hops % nodes == 0, "{nodes} {hops}");
        }
    }
}
