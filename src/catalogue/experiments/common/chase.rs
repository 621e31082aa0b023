//! Walks along chains of nodes: what the experiments on caches have in common.
//!
//! One invocation follows the words of a chain through memory. No load can begin before the one before it has ended, so the time
//! per hop is a load's latency. A pass goes on from where the last one stopped.
//!
//! Words are indexes, or the addresses that the device itself makes of these: `glsl/cache/pointers.glsl` has the other half. Either way
//! the walk visits the same nodes, and passes leave the same behind.

use super::axes::HOPS_PER_ITERATION;
use super::choices::choices;
use crate::experiments::{Built, CaseBuilder, Config, Handle, KernelHandle, product, u32_of};
use crate::model::{Case, Chain, Feature, Headline, Kernel, Moved, Repeat, Scalar, Sequence, Skip, Step, Traffic, Work};
use crate::validate::Expected;

/// Invocations of the workgroup that walks: one does, the others help with the preload.
const LOCAL_SIZE: u32 = 64;
/// Words that the shader's indexes reach.
const MOST_WORDS: u64 = 1 << 32;

/// The invocations of the workgroup that sweeps, as many as every device has, and how many nodes each reads in an iteration of
/// its loop.
const SWEEP_LOCAL_SIZE: u32 = 128;
const SWEEP_UNROLL: u64 = 16;

/// The invocations that make addresses of indexes, at most, each for node after node.
const POINT_LOCAL_SIZE: u32 = 64;
const POINT_GROUPS: u32 = 1024;
/// Where the kernels of pointers take the address at which the nodes begin, among their push constants, and two words in its place.
const BASE: u32 = 0;
const NO_BASE: [u32; 2] = [0; 2];

choices! {
    /// What a node tells of the one that follows it.
    pub enum Link {
        /// The index of its first word.
        Index = "index",
        /// Where it is in memory. Nodes have four words at least.
        Pointer = "pointer",
        /// The index, but the shader doesn't declare that the nodes are only read and have no other name.
        UnqualifiedIndex = "index_unqualified",
    }
}

/// A walk, and what happens before it.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    pub chain: Chain,
    pub link: Link,
    /// Loads of a pass, 16 in each iteration.
    pub hops: u64,
    /// Nodes, the first in memory, that the workgroup itself loads before it walks.
    pub preloaded: u64,
    /// What a workgroup loads before each sample: one, as one walks, so that the nodes lie in those parts of the caches that are
    /// near the walk, and in no others.
    pub sweep: Sweep,
}

/// Loads of one word in each of many pieces of memory.
#[derive(Clone, Copy, Debug)]
pub struct Sweep {
    pub count: u64,
    /// Words from one to the next.
    pub stride: u64,
    /// As [`Chain::places`].
    pub places: u64,
}

impl Sweep {
    /// The first words of all nodes of a chain.
    pub fn of_nodes(chain: Chain) -> Self {
        Self { count: chain.nodes, stride: chain.stride, places: chain.places }
    }

    /// Where it finds the words: as a chain's nodes.
    fn chain(self) -> Chain {
        Chain { seed: 0, nodes: self.count, stride: self.stride, detour: 0, places: self.places }
    }
}

/// The case of a walk, and its twin. Its items are the nodes that it visits.
pub fn build(experiment: &str, config: &Config, walk: Walk) -> Result<Built, Skip> {
    let Walk { chain, link, hops, preloaded, sweep } = walk;
    let words = product([chain.nodes, chain.stride]);
    if words > MOST_WORDS {
        return Err(Skip::new(format!("indexes of 32 bits reach {MOST_WORDS} words, the case needs {words}")));
    }
    let iterations = hops / HOPS_PER_ITERATION;
    let source = match link {
        Link::Index | Link::UnqualifiedIndex => "cache/chase.comp",
        Link::Pointer => "cache/chase_pointers.comp",
    };
    let walker = kernel(source, LOCAL_SIZE, chain)?.constant("ITERATIONS", Scalar::U32(u32_of(iterations)?));
    let walker = if link == Link::UnqualifiedIndex { walker.define("UNQUALIFIED", "") } else { walker };
    let sweeper = kernel("cache/sweep.comp", SWEEP_LOCAL_SIZE, sweep.chain())?;
    let count = u32_of(sweep.count)?;

    let mut case = CaseBuilder::new(experiment, config);
    let [state, swept] = walk.expected(1);
    let state = case.output_from(0, "state", state);
    let nodes = case.input("nodes", words, Sequence::Chain(chain));
    let swept = case.output("swept", swept);
    let walker = case.kernel(walker, &[state, nodes]);
    let sweeper = case.kernel(sweeper, &[swept, nodes]);
    case.prepare(|case| case.dispatch(sweeper, [1, 1, 1], &[count]));
    let push = [u32_of(chain.after(0))?, u32_of(preloaded)?, 1];
    match link {
        Link::Index | Link::UnqualifiedIndex => case.dispatch(walker, [1, 1, 1], &push),
        Link::Pointer => {
            config.require(&[Feature::BufferDeviceAddress])?;
            let pointer = case.kernel(kernel("cache/point.comp", POINT_LOCAL_SIZE, chain)?, &[nodes]);
            let count = u32_of(chain.nodes)?;
            case.reset(|case| dispatch_at(case, pointer, point_groups(chain.nodes), nodes, &[count]));
            dispatch_at(&mut case, walker, 1, nodes, &push);
        }
    }

    let walked = iterations + preloaded.div_ceil(LOCAL_SIZE.into());
    let seen = if chain.detour > 0 { hops / 2 } else { hops };
    let case = case
        .repeat(Repeat::Resumes)
        .iterations(walked.max(sweep.count.div_ceil(SWEEP_UNROLL * u64::from(SWEEP_LOCAL_SIZE))))
        // The state itself counts the passes. There was one at least.
        .checked_by(move |left| {
            let passes = left.of(state).bytes.first_chunk().map_or(0, |count| u32::from_ne_bytes(*count));
            left.compare(&walk.expected(passes.max(1).into()))
        });
    Ok(case.build(Work { items: Some(seen), ..Work::default() }, Headline::LATENCY))
}

/// Dispatches a kernel that takes the address of the nodes before its other push constants.
fn dispatch_at(case: &mut CaseBuilder, kernel: KernelHandle, groups: u32, nodes: Handle, push: &[u32]) {
    case.bind(kernel);
    case.push(&[&NO_BASE, push].concat());
    case.push_address(BASE, nodes);
    case.step(Step::Dispatch { groups: [groups, 1, 1] });
}

/// The workgroups that give so many nodes their addresses.
fn point_groups(nodes: u64) -> u32 {
    u32::try_from(nodes.div_ceil(POINT_LOCAL_SIZE.into())).map_or(POINT_GROUPS, |groups| groups.min(POINT_GROUPS))
}

/// A kernel of one workgroup or more that finds the nodes of a chain.
fn kernel(source: &'static str, local_size: u32, chain: Chain) -> Result<Kernel, Skip> {
    let kernel = Kernel::new(source, [local_size, 1, 1]).constant("STRIDE", Scalar::U32(u32_of(chain.stride)?));
    Ok(kernel.constant("PLACES", Scalar::U32(u32_of(chain.places)?)))
}

/// How the loads of a walk over so many nodes, and of the sweep of so many words before it, show in their kernels.
pub fn traffic(case: &Case, nodes: u64, swept: u64) -> Vec<Traffic> {
    let hops = case.point.integer("hops");
    // One invocation goes from load to load.
    let counted = Moved { dependent: 1, ..Moved::NONE };
    let walk = Traffic { counted, loops: vec![hops / HOPS_PER_ITERATION], invocations: 1, total: hops, ..Traffic::usual(case) };
    // The last iteration of the sweep may have fewer loads.
    let invocations = u64::from(SWEEP_LOCAL_SIZE);
    let iterations = swept.div_ceil(SWEEP_UNROLL * invocations);
    let total = 4 * SWEEP_UNROLL * invocations * iterations;
    let sweep = Traffic { kernel: 1, counted: Moved::READ, loops: vec![iterations], invocations, total, ..walk.clone() };
    let mut all = vec![walk, sweep];
    // Each node's index is read, and two words are written.
    if case.kernels.len() > all.len() {
        let invocations = u64::from(point_groups(nodes) * POINT_LOCAL_SIZE);
        let iterations = nodes.div_ceil(invocations);
        let (counted, total) = (Moved::READ_AND_WRITTEN, 3 * 4 * invocations * iterations);
        all.push(Traffic { kernel: 2, counted, loops: vec![iterations], invocations, total, ..all[0].clone() });
    }
    all
}

impl Walk {
    /// What the outputs must hold after so many passes, the first of them after a reset.
    fn expected(self, passes: u64) -> [Expected; 2] {
        [
            Expected::words(1 + 2 * u64::from(LOCAL_SIZE), move |word| self.state(passes, word)),
            Expected::words(SWEEP_LOCAL_SIZE.into(), move |invocation| self.swept(invocation)),
        ]
    }

    #[expect(clippy::cast_possible_truncation, reason = "indexes of words are below 2^32, and passes are few")]
    fn state(self, passes: u64, word: u64) -> u32 {
        let local_size = u64::from(LOCAL_SIZE);
        match word {
            0 => passes as u32,
            1 => (self.chain.after(passes * self.hops) as u32).wrapping_sub(self.chain.after(0) as u32),
            // The others don't walk.
            _ if word <= local_size => 0,
            _ => self.sum(self.chain, (word - 1 - local_size..self.preloaded).step_by(LOCAL_SIZE as usize)),
        }
    }

    /// What an invocation of the sweep sums up.
    fn swept(self, invocation: u64) -> u32 {
        self.sum(self.sweep.chain(), (invocation..self.sweep.count).step_by(SWEEP_LOCAL_SIZE as usize))
    }

    /// The sum of the words that lie where these nodes of a chain begin.
    fn sum(self, places: Chain, nodes: impl Iterator<Item = u64>) -> u32 {
        let memory = Sequence::Chain(self.chain);
        nodes.fold(0, |sum, node| sum.wrapping_add(memory.word(places.first_word(node))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::testing::{mock_with, quick};
    use crate::model::Address;
    use crate::model::{DeviceInfo, Point};

    fn walk() -> Walk {
        let chain = Chain { seed: 3, nodes: 50, stride: 16, detour: 0, places: 1 };
        Walk { chain, link: Link::Index, hops: 48, preloaded: 50, sweep: Sweep::of_nodes(chain) }
    }

    fn built(device: &DeviceInfo, walk: Walk) -> Result<Built, String> {
        let config = Config { variant: "", point: &Point::default(), setting: quick(device) };
        build("cache/latency", &config, walk).map_err(|skip| skip.reason)
    }

    fn bytes(expected: &[Expected]) -> Vec<Vec<u8>> {
        expected.iter().map(Expected::bytes).collect()
    }

    #[test]
    fn outputs_are_held_against_the_passes_that_they_count() {
        let built = built(&DeviceInfo::mock(), walk()).unwrap();
        let [first, third] = [built.expected(), &walk().expected(3)].map(bytes);
        assert_ne!(first, third);
        assert_eq!([built.check(&first), built.check(&third)], [Ok(()), Ok(())]);
        let mut miscounted = third.clone();
        miscounted[0][..4].copy_from_slice(&2_u32.to_ne_bytes());
        assert!(built.check(&miscounted).is_err());
        let mut uncounted = first;
        uncounted[0][..4].copy_from_slice(&0_u32.to_ne_bytes());
        assert!(built.check(&uncounted).is_err());
    }

    #[test]
    fn what_the_device_or_the_shader_can_not_do_is_skipped() {
        let reason = |walk: Walk| built(&DeviceInfo::mock(), walk).map(drop).unwrap_err();
        let chain = Chain { nodes: 1 << 33, ..walk().chain };
        assert!(reason(Walk { chain, ..walk() }).contains("the case needs 137438953472"));
        assert!(reason(Walk { link: Link::Pointer, ..walk() }).starts_with("bufferDeviceAddress is missing"));
    }

    #[test]
    fn pointers_lead_where_indexes_do() {
        let device = mock_with(&[Feature::BufferDeviceAddress], &[]);
        let [indexed, pointing] = [Link::Index, Link::Pointer].map(|link| built(&device, Walk { link, ..walk() }).unwrap());
        assert_eq!(bytes(indexed.expected()), bytes(pointing.expected()));
        let case = pointing.case;
        assert_eq!(indexed.case.resources, case.resources);
        // Before each use of them, all nodes have their addresses, and kernels know where the first one is.
        let resource = case.resources.iter().position(|resource| resource.name == "nodes").unwrap();
        for (steps, source) in [(&case.reset, "cache/point.comp"), (&case.pass, "cache/chase_pointers.comp")] {
            let kernel = case.kernels.iter().position(|kernel| kernel.source == source).unwrap();
            let bind = steps.iter().position(|step| *step == Step::Bind { kernel }).unwrap();
            assert_eq!(
                steps[bind + 2..][..2],
                [Step::PushAddress { offset: 0, address: Address { resource, byte: 0 } }, Step::Dispatch { groups: [1; 3] }]
            );
        }
        assert_eq!(indexed.case.addressed().count(), 0);
    }

    #[test]
    fn many_nodes_share_the_invocations_that_point() {
        assert_eq!([1, 64, 65, 1 << 16, 1 << 30].map(point_groups), [1, 1, 2, 1024, 1024]);
    }

    /// Drivers that end long loops would end the longer of the two.
    #[test]
    fn iterations_are_those_of_the_longer_loop() {
        let iterations = |nodes, hops| {
            let chain = Chain { nodes, ..walk().chain };
            let walk = Walk { chain, hops, preloaded: 0, sweep: Sweep::of_nodes(chain), ..walk() };
            built(&DeviceInfo::mock(), walk).unwrap().case.iterations
        };
        assert_eq!([iterations(50, 48), iterations(2049, 16), iterations(1 << 24, 1 << 16)], [3, 2, 1 << 13]);
    }
}
