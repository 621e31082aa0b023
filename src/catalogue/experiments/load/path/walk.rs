//! What invocations load, and how it goes into what they write: the twin of the loop that the family's shaders share.
//!
//! A result depends on the element that an invocation begins with, and on no more. So all results are computed once, and looked
//! up.

use crate::experiments::common::prelude::*;
use crate::experiments::scramble;
use crate::validate::Near;

/// The shader's constant of the same name.
pub const LOADS_PER_ITERATION: u32 = 16;

choices! {
    /// Which elements lanes load at a time.
    pub enum Pattern {
        /// All lanes of a workgroup the same one.
        Uniform = "uniform",
        Linear = "linear",
        /// Each lane one of its own.
        Random = "random",
    }
}

/// The axes of so many invocations, and of what each loads.
pub fn axes(n: u64, loads: &'static str) -> [Axis; 2] {
    [
        // Their workgroups come in waves, the last of which is rarely full: time is in proportion to `loads`, not quite to n.
        Axis::new("n", "invocations", AxisKind::AtLeast(1), [n]),
        Axis::new("loads", loads, AxisKind::Numbers(&[16, 32, 64, 128, 256]), [256_u64]).of_monotone_work(),
    ]
}

/// The loads of all invocations.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    /// Which elements lanes load at a time.
    pub pattern: Pattern,
    /// Elements to choose from, a power of two.
    pub elements: u32,
    /// Numbers that a load gives.
    pub components: u32,
    pub loads: u32,
    pub local_size: u64,
}

/// The most elements that the shader calls few.
pub const FEW: u32 = 64;

/// The shader's LEAD, in halves, and STEP_OF_ITERATION.
struct Steps {
    halves: u32,
    of_iteration: u32,
}

impl Steps {
    fn of(elements: u32) -> Self {
        if elements <= FEW { Self { halves: 3, of_iteration: 49 } } else { Self { halves: 24, of_iteration: 96 } }
    }
}

/// A component of an element, and how often it counts in a result.
#[derive(Clone, Copy, Debug)]
pub struct Term {
    pub element: u32,
    pub component: u32,
    pub weight: u32,
}

impl Walk {
    /// The walk that the axes `loads` and `local_size_x` stand for.
    pub fn new(config: &Config, pattern: Pattern, elements: u32, components: u32) -> Self {
        Self { pattern, elements, components, loads: config.u32("loads"), local_size: config.integer("local_size_x") }
    }

    /// What an invocation writes where components are words, whose sums wrap.
    pub fn words(self, component: &dyn Fn(&Term) -> u32) -> impl Fn(u64) -> u32 + use<> {
        let add = |sum: u32, term: Term| sum.wrapping_add(component(&term).wrapping_mul(term.weight));
        self.by_first((0..self.elements).map(|first| self.terms(first).fold(0, add)).collect())
    }

    /// The same where they are numbers; exact where all of them are whole and their sum is below 2^24.
    #[expect(clippy::cast_possible_truncation, reason = "results are f32")]
    pub fn floats(self, component: &dyn Fn(&Term) -> f64) -> impl Fn(u64) -> f32 + use<> {
        let add = |sum: f64, term: Term| sum + f64::from(term.weight) * component(&term);
        self.by_first((0..self.elements).map(|first| self.terms(first).fold(0.0, add) as f32).collect())
    }

    /// The same where they are numbers that a device may miss.
    pub fn near(self, component: &dyn Fn(&Term) -> Near) -> impl Fn(u64) -> Near + use<> {
        let sum = |first| self.terms(first).map(|term| component(&term).times(term.weight)).sum();
        self.by_first((0..self.elements).map(sum).collect())
    }

    /// The results of invocations, from those by the element that one begins with.
    fn by_first<T: Copy>(self, results: Vec<T>) -> impl Fn(u64) -> T {
        move |i| results[self.first(i)]
    }

    /// All that goes into the result of an invocation that begins with this element.
    fn terms(self, first: u32) -> impl Iterator<Item = Term> {
        let steps = Steps::of(self.elements);
        (0..self.loads).flat_map(move |load| {
            let (iteration, k) = (load / LOADS_PER_ITERATION, load % LOADS_PER_ITERATION);
            let element = ((first + iteration * steps.of_iteration) ^ (k * steps.halves / 2)) & (self.elements - 1);
            (0..self.components).map(move |component| Term { element, component, weight: (iteration + 1) * (component + 1) })
        })
    }

    /// The element that an invocation begins with.
    fn first(self, i: u64) -> usize {
        (self.first_index(i) & (self.elements - 1)) as usize
    }

    #[expect(clippy::cast_possible_truncation, reason = "a dispatch has less than 2^32 invocations")]
    fn first_index(self, i: u64) -> u32 {
        let [group, lane] = [i / self.local_size, i % self.local_size].map(|n| n as u32);
        match self.pattern {
            Pattern::Uniform => scramble(group),
            Pattern::Linear => scramble(group).wrapping_mul(32).wrapping_add(lane),
            Pattern::Random => scramble(i as u32),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn walk(pattern: Pattern) -> Walk {
        Walk { pattern, elements: 1024, components: 1, loads: 256, local_size: 64 }
    }

    /// What the shader's constants are chosen for: lanes side by side load whole lines of 32 elements, in pieces of four that
    /// lie side by side themselves, and a lane has no two neighbours in an iteration.
    #[test]
    fn linear_lanes_load_whole_lines() {
        let walk = walk(Pattern::Linear);
        let elements = |lane: u64| walk.terms(u32::try_from(walk.first(lane)).unwrap()).map(|term| term.element);
        let lanes: Vec<Vec<u32>> = (0..64).map(|lane| elements(lane).collect()).collect();
        for load in 0..256 {
            for line in lanes.chunks(32) {
                let mut loaded: Vec<u32> = line.iter().map(|elements| elements[load]).collect();
                assert!(loaded.chunks(4).all(|four| four[0] % 4 == 0 && four.iter().zip(four[0]..).all(|(at, n)| *at == n)));
                loaded.sort_unstable();
                assert!(loaded[0] % 32 == 0 && loaded.iter().zip(loaded[0]..).all(|(at, n)| *at == n), "{loaded:?}");
            }
        }
        for iteration in lanes.iter().flat_map(|elements| elements.chunks(16)) {
            let apart = |i: usize, k: usize| iteration[i].abs_diff(iteration[k]) >= 4;
            assert!((0..16).all(|i| (0..i).all(|k| apart(i, k))), "{iteration:?}");
        }
    }

    /// Where all lanes begin alike, a workgroup has one result; where they don't, nearly each has its own.
    #[test]
    fn lanes_begin_as_the_pattern_says() {
        for (pattern, distinct) in [(Pattern::Uniform, 12..=16), (Pattern::Linear, 200..=1000), (Pattern::Random, 500..=1000)] {
            let walk = walk(pattern);
            let mut firsts: Vec<usize> = (0..1000).map(|i| walk.first(i)).collect();
            assert!(pattern != Pattern::Uniform || firsts.chunks(64).all(|group| group.iter().all(|first| *first == group[0])));
            firsts.sort_unstable();
            firsts.dedup();
            assert!(distinct.contains(&firsts.len()), "{pattern:?}: {}", firsts.len());
        }
    }

    /// The result tells what an invocation began with, or else one could take another's place; so does that of a single iteration.
    #[test]
    fn each_beginning_has_a_result_of_its_own() {
        for (elements, loads) in [(16, 16), (16, 256), (64, 16), (64, 256), (1024, 16), (1024, 256)] {
            let walk = Walk { elements, loads, ..walk(Pattern::Random) };
            let results: HashSet<u32> = (0..100_000).map(walk.words(&|term| scramble(term.element))).collect();
            assert_eq!(results.len(), elements as usize, "{loads} loads of {elements}");
        }
    }

    /// Of few elements, a lane loads most in its first iteration and each in the end, wherever it begins.
    #[test]
    fn lanes_load_all_of_a_few_elements() {
        for (elements, loads, least) in [(16, 16, 13), (16, 64, 16), (64, 16, 16), (64, 256, 64)] {
            let walk = Walk { elements, loads, ..walk(Pattern::Linear) };
            for first in 0..elements {
                let loaded: HashSet<u32> = walk.terms(first).map(|term| term.element).collect();
                assert!(loaded.len() >= least, "{loads} loads of {elements}, from {first} on: {}", loaded.len());
            }
        }
    }
}
