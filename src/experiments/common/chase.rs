//! Walks along chains of nodes: what the experiments on caches have in common.
//!
//! One invocation follows the words of a chain through memory. No load can begin before the one before it has ended, so the time
//! per hop is a load's latency. A pass goes on from where the last one stopped.

use crate::experiments::compare_all;
use crate::model::{
    Binding, Case, Chain, Check, Contents, Headline, Kernel, Moved, POISON, Point, Repeat, Resource, Scalar, Sequence, Skip,
    Step, Traffic, Work,
};
use crate::validate::{Expected, Verdict};

/// Invocations of the workgroup that walks: one does, the others help with the preload.
const LOCAL_SIZE: u32 = 64;
/// Hops of an iteration of the shader's loop.
const HOPS_PER_ITERATION: u64 = 16;
/// More would outlast the watchdogs of graphics drivers.
const MOST_HOPS: u64 = 1 << 24;
/// Words that the shader's indexes reach.
const MOST_WORDS: u64 = 1 << 32;

/// The invocations of the workgroup that sweeps, as many as every device has, and how many nodes each reads in an iteration of
/// its loop.
const SWEEP_LOCAL_SIZE: u32 = 128;
const SWEEP_UNROLL: u64 = 16;

/// The resources, in this order.
const STATE: usize = 0;
const NODES: usize = 1;
const SWEPT: usize = 2;

/// A walk, and what happens before it.
#[derive(Clone, Copy, Debug)]
pub(in crate::experiments) struct Walk {
    /// The nodes.
    pub(in crate::experiments) chain: Chain,
    /// Loads of a pass, 16 in each iteration.
    pub(in crate::experiments) hops: u64,
    /// Nodes, the first in memory, that the workgroup itself loads before it walks.
    pub(in crate::experiments) preloaded: u64,
    /// What a workgroup loads before each sample: one, as one walks, so that the nodes lie in those parts of the caches that are
    /// near the walk, and in no others.
    pub(in crate::experiments) sweep: Sweep,
}

/// Loads of one word in each of many pieces of memory.
#[derive(Clone, Copy, Debug)]
pub(in crate::experiments) struct Sweep {
    /// How many there are.
    pub(in crate::experiments) count: u64,
    /// Words from one to the next.
    pub(in crate::experiments) stride: u64,
    /// As [`Chain::places`].
    pub(in crate::experiments) places: u64,
}

impl Sweep {
    /// The first words of all nodes of a chain.
    pub(in crate::experiments) fn of_nodes(chain: Chain) -> Self {
        Self { count: chain.nodes, stride: chain.stride, places: chain.places }
    }

    /// The words of all the memory that a chain lies in, this many apart.
    pub(in crate::experiments) fn of_all(chain: Chain, stride: u64) -> Self {
        Self { count: chain.nodes.saturating_mul(chain.stride).div_ceil(stride), stride, places: 1 }
    }

    /// Where it finds the words: as a chain's nodes.
    fn chain(self) -> Chain {
        Chain { seed: 0, nodes: self.count, stride: self.stride, detour: 0, places: self.places }
    }
}

/// The case of a walk. Its items are the nodes that it visits.
///
/// # Errors
/// Where the shader's numbers don't reach so far.
pub(in crate::experiments) fn case(experiment: &str, point: &Point, walk: &Walk) -> Result<Case, Skip> {
    let (chain, sweep) = (walk.chain, walk.sweep);
    let words = chain.nodes.saturating_mul(chain.stride);
    if words > MOST_WORDS {
        return Err(Skip::new(format!("indexes of 32 bits reach {MOST_WORDS} words, the case needs {words}")));
    }
    if walk.hops % HOPS_PER_ITERATION != 0 || walk.hops > MOST_HOPS {
        let hops = walk.hops;
        return Err(Skip::new(format!("hops is {hops}, the case needs a multiple of {HOPS_PER_ITERATION} up to {MOST_HOPS}")));
    }
    let walked = walk.hops / HOPS_PER_ITERATION + walk.preloaded.div_ceil(LOCAL_SIZE.into());
    let seen = if chain.detour > 0 { walk.hops / 2 } else { walk.hops };
    Ok(Case {
        kernels: vec![chase_kernel(walk)?, sweep_kernel(sweep)?],
        resources: vec![
            Resource::words("state", 1 + 2 * u64::from(LOCAL_SIZE), Contents::Undefined),
            Resource::words("nodes", words, Contents::Sequence(Sequence::Chain(chain))),
            Resource::words("swept", SWEEP_LOCAL_SIZE.into(), Contents::Undefined),
        ],
        reset: vec![Step::Fill { resource: STATE, word: 0 }, Step::Fill { resource: SWEPT, word: POISON }],
        prepare: vec![
            Step::Bind { kernel: 1 },
            Step::push_words(&[u32_of(sweep.count)?]),
            Step::Dispatch { groups: [1, 1, 1] },
        ],
        pass: vec![
            Step::Bind { kernel: 0 },
            Step::push_words(&[u32_of(chain.after(0))?, u32_of(walk.preloaded)?, 1]),
            Step::Dispatch { groups: [1, 1, 1] },
        ],
        repeat: Repeat::Resumes,
        work: Work { items: Some(seen), ..Work::default() },
        headline: Headline::LATENCY,
        check: Check::Twin(vec![STATE, SWEPT]),
        iterations: walked.max(sweep.count.div_ceil(SWEEP_UNROLL * u64::from(SWEEP_LOCAL_SIZE))),
        ..Case::new(experiment, point)
    })
}

fn chase_kernel(walk: &Walk) -> Result<Kernel, Skip> {
    let kernel = Kernel::new("cache/chase.comp", [LOCAL_SIZE, 1, 1], 2);
    let kernel = with_layout(kernel, walk.chain.stride, walk.chain.places)?;
    Ok(kernel.constant("ITERATIONS", Scalar::U32(u32_of(walk.hops / HOPS_PER_ITERATION)?)))
}

fn sweep_kernel(sweep: Sweep) -> Result<Kernel, Skip> {
    let mut kernel = Kernel::new("cache/sweep.comp", [SWEEP_LOCAL_SIZE, 1, 1], 0);
    kernel.bindings = (0..).zip([SWEPT, NODES]).map(|(binding, resource)| Binding::new(0, binding, resource)).collect();
    with_layout(kernel, sweep.stride, sweep.places)
}

fn with_layout(kernel: Kernel, stride: u64, places: u64) -> Result<Kernel, Skip> {
    Ok(kernel.constant("STRIDE", Scalar::U32(u32_of(stride)?)).constant("PLACES", Scalar::U32(u32_of(places)?)))
}

fn u32_of(n: u64) -> Result<u32, Skip> {
    u32::try_from(n).map_err(|_| Skip::new(format!("the kernel counts in 32 bits, the case needs {n}")))
}

/// What the outputs of a walk must hold after so many passes, the first of them after a reset.
pub(in crate::experiments) fn expected(case: &Case, passes: u64) -> Vec<Expected<'_>> {
    let (swept, state) = (Swept::new(case), State::new(case, passes));
    vec![
        Expected::words(case.resources[STATE].bytes() / 4, move |word| state.word(word)),
        Expected::words(case.resources[SWEPT].bytes() / 4, move |invocation| swept.sum(invocation)),
    ]
}

/// Compares the outputs with what they must hold after the passes that they themselves count.
pub(in crate::experiments) fn check(case: &Case, outputs: &[Vec<u8>]) -> Verdict {
    let count = outputs.first().and_then(|state| Some(u32::from_ne_bytes(state.get(..4)?.try_into().ok()?)));
    // There was one at least.
    compare_all(case, outputs, expected(case, count.unwrap_or(0).max(1).into()))
}

/// How the loads of a walk and of the sweep before it show in their kernels.
pub(in crate::experiments) fn traffic(case: &Case) -> Vec<Traffic> {
    let hops = case.point.integer("hops");
    // One invocation goes from load to load.
    let counted = Moved { dependent: 1, ..Moved::NONE };
    let walk = Traffic { counted, loops: vec![hops / HOPS_PER_ITERATION], invocations: 1, total: hops, ..Traffic::of(case) };
    // The last iteration of the sweep may have fewer loads.
    let invocations = u64::from(SWEEP_LOCAL_SIZE);
    let iterations = pushed(&case.prepare, 0).div_ceil(SWEEP_UNROLL * invocations);
    let total = 4 * SWEEP_UNROLL * invocations * iterations;
    let sweep = Traffic { kernel: 1, counted: Moved::READ, loops: vec![iterations], invocations, total, ..walk.clone() };
    vec![walk, sweep]
}

fn chain(case: &Case) -> Chain {
    match &case.resources[NODES].contents {
        Contents::Sequence(Sequence::Chain(chain)) => *chain,
        other => panic!("the nodes are {other:?}"),
    }
}

fn constant(kernel: &Kernel, name: &str) -> u64 {
    match kernel.constants.iter().find(|(constant, _)| constant == name) {
        Some((_, Scalar::U32(value))) => (*value).into(),
        other => panic!("`{name}` is {other:?}"),
    }
}

/// A word that is pushed before the first dispatch of a program.
fn pushed(steps: &[Step], index: usize) -> u64 {
    let words = steps.iter().find_map(|step| if let Step::Push { bytes } = step { Some(bytes) } else { None });
    let word = words.and_then(|bytes| bytes.chunks_exact(4).nth(index)?.try_into().ok());
    word.map(u32::from_ne_bytes).unwrap_or_else(|| panic!("no word {index} is pushed")).into()
}

/// The twin of the walk.
struct State {
    chain: Chain,
    passes: u64,
    hops: u64,
    preloaded: u64,
}

impl State {
    fn new(case: &Case, passes: u64) -> Self {
        let hops = constant(&case.kernels[0], "ITERATIONS") * HOPS_PER_ITERATION;
        Self { chain: chain(case), passes, hops, preloaded: pushed(&case.pass, 1) }
    }

    #[expect(clippy::cast_possible_truncation, reason = "indexes of words are below 2^32, and passes are few")]
    fn word(&self, word: u64) -> u32 {
        let local_size = u64::from(LOCAL_SIZE);
        match word {
            0 => self.passes as u32,
            1 => (self.chain.after(self.passes * self.hops) as u32).wrapping_sub(self.chain.after(0) as u32),
            // The others don't walk.
            _ if word <= local_size => 0,
            _ => self.preload_sum(word - 1 - local_size),
        }
    }

    fn preload_sum(&self, invocation: u64) -> u32 {
        let nodes = (invocation..self.preloaded).step_by(LOCAL_SIZE as usize);
        nodes.fold(0, |sum, node| sum.wrapping_add(Sequence::Chain(self.chain).word(self.chain.first_word(node))))
    }
}

/// The twin of the sweep.
struct Swept {
    memory: Sequence,
    places: Chain,
    count: u64,
}

impl Swept {
    fn new(case: &Case) -> Self {
        let kernel = &case.kernels[1];
        let [stride, places] = ["STRIDE", "PLACES"].map(|name| constant(kernel, name));
        let count = pushed(&case.prepare, 0);
        Self { memory: Sequence::Chain(chain(case)), places: Sweep { count, stride, places }.chain(), count }
    }

    fn sum(&self, invocation: u64) -> u32 {
        let nodes = (invocation..self.count).step_by(SWEEP_LOCAL_SIZE as usize);
        nodes.fold(0, |sum, node| sum.wrapping_add(self.memory.word(self.places.first_word(node))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk() -> Walk {
        let chain = Chain { seed: 3, nodes: 50, stride: 16, detour: 0, places: 1 };
        Walk { chain, hops: 48, preloaded: 50, sweep: Sweep::of_nodes(chain) }
    }

    fn bytes(expected: &[Expected]) -> Vec<Vec<u8>> {
        expected.iter().map(Expected::bytes).collect()
    }

    #[test]
    fn outputs_are_held_against_the_passes_that_they_count() {
        let case = case("cache/latency", &Point::default(), &walk()).unwrap();
        let [first, third] = [1, 3].map(|passes| bytes(&expected(&case, passes)));
        assert_ne!(first, third);
        assert_eq!([check(&case, &first), check(&case, &third)], [Verdict::Right, Verdict::Right]);
        let mut miscounted = third.clone();
        miscounted[0][..4].copy_from_slice(&2_u32.to_ne_bytes());
        assert!(matches!(check(&case, &miscounted), Verdict::Wrong(_)));
        let mut uncounted = first;
        uncounted[0][..4].copy_from_slice(&0_u32.to_ne_bytes());
        assert!(matches!(check(&case, &uncounted), Verdict::Wrong(_)));
    }

    #[test]
    fn what_the_shader_can_not_count_is_skipped() {
        let reason = |walk: Walk| case("cache/latency", &Point::default(), &walk).unwrap_err().reason;
        assert!(reason(Walk { hops: 47, ..walk() }).contains("the case needs 47"));
        let chain = Chain { nodes: 1 << 33, ..walk().chain };
        assert!(reason(Walk { chain, ..walk() }).contains("the case needs 137438953472"));
    }

    /// Drivers that end long loops would end the longer of the two.
    #[test]
    fn iterations_are_those_of_the_longer_loop() {
        let iterations = |nodes, hops| {
            let chain = Chain { nodes, ..walk().chain };
            let walk = Walk { chain, hops, preloaded: 0, sweep: Sweep::of_nodes(chain) };
            case("cache/latency", &Point::default(), &walk).unwrap().iterations
        };
        assert_eq!([iterations(50, 48), iterations(2049, 16), iterations(1 << 24, 1 << 16)], [3, 2, 1 << 13]);
    }
}
