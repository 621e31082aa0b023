//! How rows are best drawn, where that doesn't follow from their axes.

use super::Point;

#[derive(Clone, Copy)]
pub struct Plot {
    /// The axis of numbers that its curves run along.
    pub x: &'static str,
    pub of: Plotted,
    /// Places on x that follow from its rows.
    pub marks: Option<Marks>,
    pub expected: Option<Expectation>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plotted {
    Value,
    /// How many times as long it takes as the row with the least x.
    SlowDown,
}

/// Places on x that derived rows tell: levels of caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks {
    /// Under which name they are derived.
    pub experiment: &'static str,
    /// The variants whose figures are places on x, in order: `level 1`, `level 2`.
    pub variants: &'static [&'static str],
}

/// Derived figures, by their variant.
pub type DerivedFigures<'f> = &'f dyn Fn(&str) -> Option<f64>;

/// What a model expects, from derived figures.
#[derive(Clone, Copy)]
pub struct Expectation {
    /// Under which name those figures are derived.
    pub experiment: &'static str,
    pub name: &'static str,
    /// What is expected of a case on these axes, by subgroups of so many lanes and by derived figures, if anything.
    pub of: fn(&Point, u64, DerivedFigures) -> Option<f64>,
}

impl Plot {
    pub const fn over(x: &'static str) -> Self {
        Self { x, of: Plotted::Value, marks: None, expected: None }
    }
}
