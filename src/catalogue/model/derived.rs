//! What derivation works on: finished rows as an experiment sees them, and the figures that it draws from them.

use std::fmt;

use super::{Cache, Point};

/// A measured row, as far as derivation depends on it. Rows without a time (skipped, failed) aren't among them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Finished {
    pub variant: String,
    pub point: Point,
    pub case_id: String,
    pub cache: Cache,
    /// The subgroup size that it ran with, where that is known.
    pub subgroup_size: Option<u64>,
    /// Registers of an invocation, where the driver's compiler told them.
    pub registers: Option<u64>,
    /// Bytes that an invocation spills from registers to memory, likewise.
    pub spill_bytes: Option<u64>,
    /// Time per pass, ns.
    pub time: f64,
    /// The ends of its 95 % interval, ns.
    pub interval: Option<(f64, f64)>,
    /// Reasons to doubt it, as its row has them. None is implausible: those are left out.
    pub flags: Vec<String>,
    /// The headline figure, in the unit of the experiment's headline.
    pub value: f64,
}

impl Finished {
    /// The ends of the interval of a rate, of so much work: the longest time has the lowest. The interval of times of few
    /// processes that differ much may reach below nothing: such a rate has no upper end.
    pub fn rate_ends(&self, work: f64) -> (f64, f64) {
        let (shortest, longest) = self.interval.unwrap_or((self.time, self.time));
        (work / longest, if shortest > 0.0 { work / shortest } else { f64::INFINITY })
    }
}

/// A figure that follows from several rows: one row of its own. A pure function of those, which any file that holds them gives again.
#[derive(Clone, Debug, PartialEq)]
pub struct Derived {
    /// `family/name` of the derivation, such as `shared/banks`; one that the experiment announces.
    pub experiment: &'static str,
    /// Which of several figures of that name; empty where there is but one.
    pub variant: &'static str,
    /// What it holds for: values of axes of the experiment that it was drawn from.
    pub point: Point,
    /// What is told, in the column `metric`.
    pub metric: &'static str,
    /// Its unit; empty for a count.
    pub unit: &'static str,
    /// Which value is the better one: `higher`, `lower`, or empty where neither is.
    pub better: &'static str,
    pub figure: Result<Figure, NoFigure>,
    /// What it rests on and how sure it is, in words.
    pub note: String,
}

impl Derived {
    /// Why too little was measured to tell it: then it is no row.
    pub fn lacking(&self) -> Option<&str> {
        match &self.figure {
            Err(NoFigure::TooFew(reason)) => Some(reason),
            _ => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoFigure {
    /// Too little was measured to tell: a larger sweep may.
    TooFew(String),
    /// Enough was measured, and it shows none.
    Unseen(String),
}

/// What isn't said to be otherwise.
impl From<String> for NoFigure {
    fn from(reason: String) -> Self {
        Self::Unseen(reason)
    }
}

impl fmt::Display for NoFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFew(reason) | Self::Unseen(reason) => f.write_str(reason),
        }
    }
}

impl NoFigure {
    #[must_use]
    pub fn behind(self, words: &str) -> Self {
        match self {
            Self::TooFew(reason) => Self::TooFew(format!("{words}{reason}")),
            Self::Unseen(reason) => Self::Unseen(format!("{words}{reason}")),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    pub value: f64,
    pub interval: Option<(f64, f64)>,
}

impl Figure {
    /// The same in a unit of which there are so many.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self { value: self.value * factor, interval: self.interval.map(|(low, high)| (low * factor, high * factor)) }
    }
}
