//! Kernels of nothing but arithmetic: chains of dependent operations in a loop. `glsl/peak/chains.glsl` has the other half.

use crate::experiments::{CaseBuilder, Config, fold_groups, narrow, number, product, workgroups};
use crate::model::{AxisValue, Kernel, Sequence, Skip};
use crate::validate::Expected;

/// Words that chains start from.
const STARTS: u64 = 32;

/// More operations one after the other would keep the twin busy for long.
const MOST_OPERATIONS: u64 = 1 << 24;

/// Some drivers end loops after 65,535 iterations.
const MOST_ITERATIONS: u64 = 65_534;

/// What the kernel is told by push constants, so that no compiler knows it; what each means is the kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coefficients {
    /// Of the first operation of each pair.
    pub a: u64,
    /// Of the second.
    pub b: u64,
    /// What makes a start of a word.
    pub x_shape: u64,
    /// The same of a chain's second value.
    pub y_shape: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct Chains {
    pub width: u64,
    pub chains: u64,
    pub pairs: u64,
    pub unroll: u64,
    pub iterations: u64,
    pub local_size: u64,
    pub groups: [u32; 3],
    starts: Sequence,
}

impl Chains {
    /// What a configuration says, for blocks of so many pairs; chains and vectors of one and a lone workgroup where it doesn't
    /// say.
    pub fn new(config: &Config, pairs: u64) -> Self {
        let or_one = |axis: &str| if let Some(AxisValue::Integer(n)) = config.point.get(axis) { *n } else { 1 };
        Self {
            width: or_one("width"),
            chains: or_one("chains"),
            pairs,
            unroll: config.integer("unroll"),
            iterations: config.integer("iterations"),
            local_size: config.integer("local_size_x"),
            groups: fold_groups(or_one("groups"), config.most_groups()),
            starts: Sequence::Words { seed: config.seed() },
        }
    }

    /// Operations of one component of one chain: each needs the result of the one before.
    pub fn depth(&self) -> u64 {
        product([2, self.pairs, self.unroll, self.iterations])
    }

    /// Components of all chains of an invocation.
    pub fn lanes(&self) -> u64 {
        self.width * self.chains
    }

    pub fn invocations(&self) -> u64 {
        product([self.local_size, workgroups(self.groups)])
    }

    pub fn operations(&self) -> u64 {
        product([self.invocations(), self.lanes(), self.depth()])
    }

    /// What each of the words that chains start from ends at.
    pub fn of_starts<T>(&self, end: impl Fn(u32) -> T) -> Vec<T> {
        (0..STARTS).map(|i| end(self.starts.word(i))).collect()
    }

    /// What the components of an invocation's chain end at, where the starts end at these.
    pub fn ends<'e, T: Copy>(&self, of_starts: &'e [T], invocation: u64, chain: u64) -> impl Iterator<Item = T> + use<'e, T> {
        let first = invocation + chain * self.width;
        (0..self.width).filter_map(move |component| of_starts.get(((first + component) % STARTS) as usize).copied())
    }

    /// The case of a kernel and of what it must leave; what it counts and leads with is for its experiment to say.
    /// Skipped: where a chain is too long.
    pub fn case(
        &self,
        experiment: &str,
        config: &Config,
        kernel: Kernel,
        told: Coefficients,
        expected: Expected,
    ) -> Result<CaseBuilder, Skip> {
        let (iterations, depth) = (self.iterations, self.depth());
        if iterations > MOST_ITERATIONS || depth > MOST_OPERATIONS {
            return Err(Skip::new(format!(
                "chains have at most {MOST_OPERATIONS} operations, and loops {MOST_ITERATIONS} iterations: the case needs {depth} and {iterations}"
            )));
        }
        let kernel = kernel.define("CHAINS", self.chains).define("PAIRS", self.pairs).constant("UNROLL", number(self.unroll));
        let Coefficients { a, b, x_shape, y_shape } = told;
        let push: Vec<u32> = [a, b, x_shape, y_shape].into_iter().flat_map(halves).chain([narrow(iterations)]).collect();
        let mut case = CaseBuilder::new(experiment, config);
        let resources = [case.output("results", expected), case.input("starts", STARTS, self.starts)];
        case.run(kernel, &resources, self.groups, &push);
        Ok(case.iterations(iterations))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the halves are meant")]
pub fn halves(wide: u64) -> [u32; 2] {
    [wide as u32, (wide >> 32) as u32]
}

/// The word that the second value of a chain is made of.
pub fn second_word(word: u32) -> u32 {
    word.wrapping_mul(747_796_405).wrapping_add(2_891_336_453)
}

/// Takes a word up into an invocation's result.
pub fn mix(result: u32, word: u32) -> u32 {
    result.rotate_left(5).wrapping_mul(31).wrapping_add(word)
}
