//! Costs that are taken away from a kernel, one at a time, and what that does to its time.

use super::measured::Taken;
use crate::measure::CaseKey;
use crate::model::Failure;
use crate::shader::Relief;
use crate::units::Ends;
use crate::worker::RelievedCase;

/// A relief that lowers the time by this share binds, and one that lowers it by less than that doesn't.
const BINDS: f64 = 0.10;
const LETS_GO: f64 = 0.03;

/// The most by which a placebo's time may differ from the kernel's own, as a share of it.
const SAME_TIME: f64 = 0.02;

/// What a relief did.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    pub relief: Relief,
    pub outcome: Outcome,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// By which share of the placebo's time the kernel is faster, with the ends of that where there were enough rounds; below 0 it is
    /// slower.
    Gained { share: f64, ends: Option<Ends> },
    /// Why it wasn't tried, or shows nothing.
    NotTried(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Binds,
    LetsGo,
    Undecided,
}

impl Tried {
    /// Whether what was taken away keeps the kernel from being faster; nothing where that wasn't tried.
    pub fn verdict(&self) -> Option<Verdict> {
        let Outcome::Gained { ends, .. } = self.outcome else { return None };
        Some(match ends {
            Some((low, _)) if low >= BINDS => Verdict::Binds,
            Some((_, high)) if high < LETS_GO => Verdict::LetsGo,
            _ => Verdict::Undecided,
        })
    }
}

/// What stands for a relief, or its placebo, in the place of an experiment.
pub fn name(relief: Relief, is_placebo: bool) -> String {
    let word = match relief {
        Relief::Loads => "loads",
        Relief::Stores => "stores",
        Relief::Conflicts => "conflicts",
    };
    format!("explain/{word}{}", if is_placebo { "_placebo" } else { "" })
}

/// The cases that tell what these reliefs do, the placebo of each first.
pub fn cases(base: &CaseKey, reliefs: &[Relief]) -> Vec<RelievedCase> {
    let of = |(relief, is_placebo)| RelievedCase { name: name(relief, is_placebo), base: base.clone(), relief, is_placebo };
    reliefs.iter().flat_map(|relief| [(*relief, true), (*relief, false)]).map(of).collect()
}

/// What the relief did by what the kernel, its placebo and itself took.
pub fn outcome(own: &Taken, placebo: &Result<Taken, Failure>, relieved: &Result<Taken, Failure>) -> Outcome {
    let (placebo, relieved) = match (placebo, relieved) {
        (Ok(placebo), Ok(relieved)) => (placebo, relieved),
        (Err(failure), _) | (_, Err(failure)) => return Outcome::NotTried(failure.words().to_string()),
    };
    let off = placebo.ns / own.ns - 1.0;
    if off.abs() > SAME_TIME {
        let words = format!("the same code without the relief takes {:+.1} % longer than the kernel", 100.0 * off);
        return Outcome::NotTried(words);
    }
    let share = 1.0 - relieved.ns / placebo.ns;
    let ends = placebo.ends.zip(relieved.ends);
    let ends = ends.map(|((low, high), (fast, slow))| (1.0 - slow / low, 1.0 - fast / high));
    Outcome::Gained { share, ends }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Status;

    fn taken(ns: f64, half: f64) -> Taken {
        Taken { ns, ends: Some((ns * (1.0 - half), ns * (1.0 + half))), rounds: 6, processes: 3, flags: Vec::new() }
    }

    #[test]
    fn a_relief_binds_where_its_interval_says_so() {
        let verdict = |own: f64, placebo: f64, relieved: f64, half: f64| {
            let outcome = outcome(&taken(own, half), &Ok(taken(placebo, half)), &Ok(taken(relieved, half)));
            Tried { relief: Relief::Loads, outcome }.verdict()
        };
        assert_eq!(verdict(100.0, 100.5, 60.0, 0.01), Some(Verdict::Binds));
        assert_eq!(verdict(100.0, 100.0, 99.5, 0.005), Some(Verdict::LetsGo));
        // Slower than it was.
        assert_eq!(verdict(100.0, 100.0, 240.0, 0.005), Some(Verdict::LetsGo));
        assert_eq!(verdict(100.0, 100.0, 95.0, 0.005), Some(Verdict::Undecided));
        assert_eq!(verdict(100.0, 100.0, 89.0, 0.02), Some(Verdict::Undecided));
        assert_eq!(verdict(100.0, 103.0, 50.0, 0.001), None, "its placebo is another kernel");
        let failed = Err(Failure::new(Status::Timeout, "it hung"));
        let of_failed = outcome(&taken(1.0, 0.1), &Ok(taken(1.0, 0.1)), &failed);
        assert!(matches!(of_failed, Outcome::NotTried(why) if why.contains("it hung")));
    }
}
