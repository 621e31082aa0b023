//! Kernels of nothing but arithmetic: chains of dependent operations in a loop. `glsl/peak/chains.glsl` has the other half.

use crate::experiments::fold_groups;
use crate::model::{AxisValue, Case, Contents, Kernel, Point, Resource, Scalar, Sequence, Skip};

/// Words that chains start from.
pub const STARTS: u64 = 32;

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

/// How much a kernel computes.
#[derive(Clone, Copy, Debug)]
pub struct Chains {
    /// Components of a vector.
    pub width: u64,
    /// Independent chains of an invocation.
    pub chains: u64,
    /// Pairs of operations in a block.
    pub pairs: u64,
    /// Blocks in an iteration of the loop.
    pub unroll: u64,
    /// Iterations of the loop.
    pub iterations: u64,
    /// Invocations of a workgroup.
    pub local_size: u64,
    /// The grid.
    pub groups: [u32; 3],
}

impl Chains {
    /// What a point says, for blocks of so many pairs; chains and vectors of one and a lone workgroup where it doesn't say.
    pub fn new(point: &Point, pairs: u64, limit_x: u32) -> Self {
        let or_one = |axis: &str| if let Some(AxisValue::Integer(n)) = point.get(axis) { *n } else { 1 };
        Self {
            width: or_one("width"),
            chains: or_one("chains"),
            pairs,
            unroll: point.integer("unroll"),
            iterations: point.integer("iterations"),
            local_size: point.integer("local_size_x"),
            groups: fold_groups(or_one("groups"), limit_x),
        }
    }

    /// The same of a case.
    pub fn of_case(case: &Case, pairs: u64) -> Self {
        Self { groups: case.groups(), ..Self::new(&case.point, pairs, u32::MAX) }
    }

    /// Operations of one component of one chain: each needs the result of the one before.
    pub fn depth(&self) -> u64 {
        [2, self.pairs, self.unroll, self.iterations].into_iter().fold(1, u64::saturating_mul)
    }

    /// Components of all chains of an invocation.
    pub fn lanes(&self) -> u64 {
        self.width * self.chains
    }

    /// Invocations of the whole grid.
    pub fn invocations(&self) -> u64 {
        self.groups.iter().fold(self.local_size, |product, &count| product.saturating_mul(count.into()))
    }

    /// Operations of the whole grid.
    pub fn operations(&self) -> Option<u64> {
        self.invocations().checked_mul(self.lanes())?.checked_mul(self.depth())
    }

    /// Which of the starts a component of an invocation's chain has.
    pub fn start(&self, invocation: u64, chain: u64, component: u64) -> usize {
        ((invocation + chain * self.width + component) % STARTS) as usize
    }

    /// The case of a kernel; what it counts and leads with is for its experiment to say.
    ///
    /// # Errors
    /// Where a chain is too long.
    pub fn case(&self, experiment: &str, point: &Point, seed: u64, kernel: Kernel, told: Coefficients) -> Result<Case, Skip> {
        let (iterations, depth) = (self.iterations, self.depth());
        if iterations > MOST_ITERATIONS || depth > MOST_OPERATIONS {
            return Err(Skip::new(format!(
                "chains have at most {MOST_OPERATIONS} operations, and loops {MOST_ITERATIONS} iterations: the case needs {depth} and {iterations}"
            )));
        }
        let narrow = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        let kernel = kernel
            .define("CHAINS", self.chains)
            .define("PAIRS", self.pairs)
            .constant("UNROLL", Scalar::U32(narrow(self.unroll)));
        let resources = vec![
            Resource::words("results", self.invocations(), Contents::Undefined),
            Resource::words("starts", STARTS, Contents::Sequence(Sequence::Words { seed })),
        ];
        let Coefficients { a, b, x_shape, y_shape } = told;
        let mut push: Vec<u32> = [a, b, x_shape, y_shape].into_iter().flat_map(halves).collect();
        push.push(narrow(iterations));
        let case = Case::single_dispatch(experiment, point, kernel, self.groups, &push, resources, vec![0]);
        Ok(Case { iterations, ..case })
    }
}

/// The lower half and the upper one.
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
