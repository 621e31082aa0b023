//! Whether the best may be believed: what it is held against once it is known.

use super::checks::WinnerChecks;
use super::rows::Trial;
use super::run::SearchRun;
use crate::campaign::device::DeviceSession;
use crate::campaign::interrupt;
use crate::model::{Point, Status};
use crate::stats;
use crate::subject::Reference;
use crate::tuning::answer::same_values;
use crate::tuning::ending::Ending;
use crate::worker::questions::trials::Repeated;

/// A unit in the last place, in units of what is allowed for floats: so far anything may be off.
const UNIT: f64 = 1.0 / 128.0;

/// How many times as far off as the others a configuration may be, and how many there have to be to tell.
const FAR_OFF: f64 = 30.0;
const ENOUGH: usize = 4;

impl SearchRun<'_> {
    /// Tries the best and its ties with other inputs and sizes, and again and again. What is wrong then can't win.
    pub(super) fn examine(&mut self, session: &mut DeviceSession) -> anyhow::Result<()> {
        self.leave_out_failing(session)?;
        let Some(best) = self.standing().filter(|_| !interrupt::is_asked()) else { return Ok(()) };
        let (spent, _) = self.spent();
        self.checks.find_idle(&mut self.checker, spent);
        let with = |status: Option<Status>| {
            let is_it = move |trial: &Trial| trial.failure.as_ref().map(|failure| failure.status) == status;
            // What is wrong with other inputs alone is right with these.
            let those =
                self.trials.values().filter(|trial| is_it(trial) && !self.checks.wrong_elsewhere.contains(&trial.point));
            those.map(|trial| trial.point.clone()).collect::<Vec<Point>>()
        };
        let (right, wrong) = (with(None), with(Some(Status::WrongResult)));
        self.checks.repeat(&best, &right, &wrong, spent);
        self.checks.closeness = self.closeness(&best);
        let off = self.far_off(&best);
        self.checks.doubt(&best, off);
        Ok(())
    }

    /// Measures the next ones as long as one of the best fails.
    fn leave_out_failing(&mut self, session: &mut DeviceSession) -> anyhow::Result<()> {
        while let Some(best) = self.standing() {
            let (spent, _) = self.spent();
            // The reference is right by definition.
            let others = best.iter().filter(|point| !self.is_reference(point)).cloned().collect();
            let mut failed = self.checks.vary(&mut self.checker, others, spent);
            if failed.is_empty() {
                failed = self.races.look(&best, spent);
            }
            if failed.is_empty() || interrupt::is_asked() {
                break;
            }
            for (point, why) in failed {
                // With the usual inputs it is right, each time that it is repeated.
                self.checks.wrong_elsewhere.insert(point.clone());
                if self.is_reference(&point) {
                    self.checks.doubts.push(format!("the reference can't be believed: {why}"));
                }
                if let Some(configuration) = self.search.space.find(&point) {
                    self.disqualify(configuration, why);
                }
            }
            self.compare(session)?;
        }
        Ok(())
    }

    fn is_reference(&self, point: &Point) -> bool {
        match &self.kernel.subject().reference {
            Reference::Untouched => self.search.written_point().is_some_and(|written| same_values(point, &written)),
            Reference::Configuration(own) => {
                let written = self.search.written_point();
                let value = |axis| own.get(axis).or_else(|| written.as_ref()?.get(axis));
                point.iter().all(|(axis, given)| value(axis) == Some(given))
            }
            Reference::Shader(_) | Reference::Files(_) => false,
        }
    }

    /// The configuration that the answer names, and those that can't be told from it.
    fn standing(&self) -> Option<Vec<Point>> {
        let figures = self.figures();
        let ending = Ending::of(&figures, self.search.written_point().as_ref())?;
        let others = std::iter::once(ending.fastest).chain(ending.tied.iter().map(|(i, _)| *i));
        let others = others.filter(|i| *i != ending.chosen);
        Some(std::iter::once(ending.chosen).chain(others).map(|i| figures[i].point.clone()).collect())
    }

    /// How far the best is from the reference, and the others.
    fn closeness(&self, best: &[Point]) -> Option<String> {
        let error = |trial: &Trial| trial.measured.as_ref()?.error;
        let own = self.trials.values().filter(|trial| best.first() == Some(&trial.point)).find_map(error)?;
        let others = self.trials.values().filter(|trial| best.first() != Some(&trial.point)).filter_map(error).reduce(f64::max);
        let told = |error: f64| match error {
            0.0 => "the reference's bit by bit".to_owned(),
            error if error < 0.001 => "off by less than 0.001 of the tolerance".to_owned(),
            error => format!("off by up to {error:.2} of the tolerance"),
        };
        if own == 0.0 && others == Some(0.0) {
            return Some("All results are the reference's bit by bit.".to_owned());
        }
        let others = others.map(|others| format!(", those of the others {}", told(others)));
        Some(format!("Its results are {}{}.", told(own), others.unwrap_or_default()))
    }

    /// How far off each configuration is that may be believed in, where that is far beyond what the others are.
    fn far_off(&self, best: &[Point]) -> Option<String> {
        let error = |trial: &Trial| trial.measured.as_ref()?.error;
        let others: Vec<f64> = self.trials.values().filter(|trial| !best.contains(&trial.point)).filter_map(error).collect();
        let own = self.trials.values().filter(|trial| best.first() == Some(&trial.point)).find_map(error)?;
        let usual = stats::quantile(&others, 0.9);
        (others.len() >= ENOUGH && own > FAR_OFF * usual.max(UNIT)).then(|| {
            format!(
                "its results are {own:.2} of the tolerance off, and those of 9 in 10 others at most {usual:.2}: look whether it leaves \
                 something out"
            )
        })
    }
}

impl WinnerChecks<'_> {
    /// What repeating showed.
    fn doubt(&mut self, best: &[Point], far_off: Option<String>) {
        let race = |repeated: &Repeated| repeated.race.clone();
        if let Some(how) = self.reference.as_ref().and_then(race) {
            self.doubts.push(format!("the reference's results change from one run to the next ({how}): {RACE}"));
        }
        let changing: Vec<String> =
            (self.repeated.iter()).filter_map(|(point, repeated)| Some(format!("{point} ({})", race(repeated)?))).collect();
        if let Some(first) = changing.first() {
            let others = match changing.len() - 1 {
                0 => String::new(),
                1 => " and of 1 other".to_owned(),
                others => format!(" and of {others} others"),
            };
            self.doubts.push(format!("results of {first}{others} change from one run to the next: {RACE}"));
        }
        let undetected: Vec<String> = (best.iter().take(1))
            .filter_map(|best| self.repeated.get(best))
            .flat_map(|repeated| repeated.undetected.iter().cloned())
            .collect();
        if !undetected.is_empty() {
            self.doubts.push(format!(
                "the comparison can't find some kinds of errors in the best: {}; give inputs with larger results, or a smaller \
                 --relative-tolerance",
                undetected.join(", ")
            ));
        }
        self.doubts.extend(far_off);
    }
}

const RACE: &str = "invocations race, or read what nothing wrote, and no result can be believed";
