//! What else is tried, untimed, before a winner is believed: other inputs and sizes, and the same pass again and again.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::bounds::{BoundsChecker, told};
use super::spec::Search;
use crate::model::{Failure, Point};
use crate::subject::{KernelSpec, Reference, Unusual, Variation};
use crate::worker::questions::Respondent;
use crate::worker::questions::bounds::Pass;
use crate::worker::questions::trials::{FindIdle, Repeat, Repeated, Varied, Vary, Wrong};

/// How often the winner and the reference run: 300 runs without a change mean that at most 1 % of all change, at 95 %.
const OFTEN: u32 = 300;

/// How often other configurations run.
const SOMETIMES: u32 = 5;

/// How many of the wrong configurations are repeated, and how many of the right ones.
const SAMPLE: usize = 8;

/// The share of the search's time that other inputs, idle ones and repeating may take, each, and what it may take in any case. What the
/// best has to be tried with isn't left out for it.
const SHARE: f64 = 0.04;
const LEAST: Duration = Duration::from_millis(1500);

pub struct WinnerChecks<'r> {
    search: &'r Search<'r>,
    /// Runs passes as they are timed, without robust buffer access.
    repeater: Option<Respondent<'r>>,
    is_lost: bool,
    /// The configurations that are through, with what each was right with.
    tried: BTreeMap<Point, BTreeSet<String>>,
    /// How many there was no time for, the last time.
    untried: usize,
    /// Those that are wrong with other inputs, or of other sizes.
    pub wrong_elsewhere: BTreeSet<Point>,
    dropped: BTreeMap<String, String>,
    /// What came of running configurations again, by configuration; the reference's stands for itself.
    pub repeated: BTreeMap<Point, Repeated>,
    pub reference: Option<Repeated>,
    pub doubts: Vec<String>,
    /// How far the results of the best are from the reference's.
    pub closeness: Option<String>,
    /// What is said of configurations that are wrong at other sizes alone.
    notes: BTreeMap<Point, String>,
}

/// One of the second trials: what it is called, and what differs.
struct Kind {
    name: String,
    subject: KernelSpec,
    is_size: bool,
}

impl<'r> WinnerChecks<'r> {
    pub fn new(search: &'r Search<'r>) -> Self {
        Self {
            search,
            repeater: None,
            is_lost: false,
            tried: BTreeMap::new(),
            untried: 0,
            wrong_elsewhere: BTreeSet::new(),
            dropped: BTreeMap::new(),
            repeated: BTreeMap::new(),
            reference: None,
            doubts: Vec::new(),
            closeness: None,
            notes: BTreeMap::new(),
        }
    }

    fn kinds(&self) -> Vec<Kind> {
        let varied = |how: Unusual| Kind {
            name: how.to_string(),
            subject: KernelSpec { variation: Some(Variation { how, only: None }), ..self.search.subject.clone() },
            is_size: false,
        };
        let n = self.search.subject.n;
        let sizes: BTreeSet<u64> = [n.checked_sub(1), prime_below(n)].into_iter().flatten().filter(|size| *size > 0).collect();
        let sized = sizes.into_iter().rev().map(|size| Kind {
            name: format!("n = {size}"),
            subject: KernelSpec { n: size, ..self.search.subject.clone() },
            is_size: true,
        });
        Unusual::ALL.into_iter().map(varied).chain(sized).collect()
    }

    /// Tries configurations with other inputs than they were timed with, and of other sizes: the first with all of them, the others while
    /// there is time. Gives those that are wrong there, and why.
    pub fn vary(&mut self, checker: &mut BoundsChecker, points: Vec<Point>, spent: Duration) -> Vec<(Point, String)> {
        let mut points: Vec<Point> = points.into_iter().filter(|point| !self.tried.contains_key(point)).collect();
        let (mut wrong, mut right_with) = (Vec::new(), BTreeMap::<Point, BTreeSet<String>>::new());
        if points.is_empty() || matches!(self.search.subject.reference, Reference::Files(_)) {
            return wrong;
        }
        let (began, most) = (Instant::now(), spent.mul_f64(SHARE).max(LEAST));
        self.untried = 0;
        for Kind { name, subject, is_size } in self.kinds() {
            if points.is_empty() {
                break;
            }
            // The first is tried whatever that takes.
            let left = most.saturating_sub(began.elapsed());
            let question = Vary { subject, points: points.clone(), most: left };
            let Some(tried) = self.ask_varied(checker, &name, question) else { continue };
            // The last ones may have had no time: they come again if one of them is to be the best.
            self.untried += points.split_off(tried.len()).len();
            for (point, outcome) in points.clone().into_iter().zip(tried) {
                let Some(outcome) = outcome else {
                    right_with.entry(point).or_default().insert(name.clone());
                    continue;
                };
                let why = match outcome {
                    Wrong::Result(words) => words,
                    Wrong::Leaves(overrun) => {
                        format!("{}, which the reference doesn't do", told(&overrun, &self.search.subject))
                    }
                };
                if let Some(failed) = self.failed(&point, &name, is_size, &why) {
                    points.retain(|other| *other != point);
                    wrong.push((point, failed));
                }
            }
        }
        self.tried.extend(points.into_iter().map(|point| (point.clone(), right_with.remove(&point).unwrap_or_default())));
        wrong
    }

    /// What came of a second trial of each of some configurations; nothing where there is none.
    fn ask_varied(&mut self, checker: &mut BoundsChecker, name: &str, question: Vary) -> Option<Vec<Option<Wrong>>> {
        let why = match checker.ask(question) {
            Ok(Varied::Tried(tried)) => return Some(tried),
            Ok(Varied::Same) => return None,
            // An expression that has no value there is shown below.
            Ok(Varied::Dropped(why)) => why,
            Err(Failure { status, reason, .. }) => format!("{status}: {reason}"),
        };
        self.dropped.insert(name.to_owned(), why.lines().next().unwrap_or_default().to_owned());
        None
    }

    /// What to say of a configuration that is wrong in a second trial; nothing where it may win all the same.
    fn failed(&mut self, point: &Point, name: &str, is_size: bool, why: &str) -> Option<String> {
        if is_size && !self.search.counts_sizes {
            let note = format!("{point} is wrong at {name} ({why}); with --any-size it can't win");
            self.notes.insert(point.clone(), note);
            return None;
        }
        self.wrong_elsewhere.insert(point.clone());
        let advice = if is_size { "" } else { "; if such inputs can't be, fill buffers yourself (--buffer PLACE=:random)" };
        Some(format!("right with the usual inputs, wrong with {name}: {why}{advice}"))
    }

    /// Looks for inputs that the results don't depend on.
    pub fn find_idle(&mut self, checker: &mut BoundsChecker, spent: Duration) {
        if matches!(self.search.subject.reference, Reference::Files(_)) {
            return;
        }
        match checker.ask(FindIdle { most: spent.mul_f64(SHARE).max(LEAST) }) {
            Ok(idle) => self.doubts.extend(idle.into_iter().map(|name| {
                format!(
                    "no result depends on what `{name}` holds, so that a mistake in reading it would pass; give inputs that make a \
                     difference (--buffer, --push), or say --accept idle:{name} if that is as it should be"
                )
            })),
            Err(failure) => self.note_failure("which inputs matter", &failure),
        }
    }

    /// Runs the reference and the best again and again, and some others a few times.
    pub fn repeat(&mut self, best: &[Point], right: &[Point], wrong: &[Point], spent: Duration) {
        let most = spent.mul_f64(SHARE).max(LEAST);
        if self.reference.is_none() {
            self.reference = self.ask(Pass::Reference, OFTEN, most / 4);
        }
        let began = Instant::now();
        let share = u32::try_from(best.len()).unwrap_or(u32::MAX);
        for point in best {
            self.repeat_one(point, false, OFTEN, (most / 2).saturating_sub(began.elapsed()).max(most / 2 / share));
        }
        let others = (wrong.iter().take(SAMPLE).map(|point| (point, true)))
            .chain(right.iter().take(wrong.len().min(SAMPLE)).map(|point| (point, false)));
        for (point, was_wrong) in others {
            let left = most.saturating_sub(began.elapsed());
            if !left.is_zero() {
                self.repeat_one(point, was_wrong, SOMETIMES, left);
            }
        }
    }

    fn repeat_one(&mut self, point: &Point, was_wrong: bool, times: u32, most: Duration) {
        if self.repeated.contains_key(point) {
            return;
        }
        let Some(mut repeated) = self.ask(Pass::Configuration(point.clone()), times, most) else { return };
        // What is near what is allowed may come to lie on either side.
        if repeated.is_wrong != was_wrong && !repeated.is_near {
            let words = |is_wrong: bool| if is_wrong { "wrong" } else { "right" };
            let changed = format!("{} when it was measured, and {} later", words(was_wrong), words(repeated.is_wrong));
            repeated.race.get_or_insert(changed);
        }
        self.repeated.insert(point.clone(), repeated);
    }

    fn ask(&mut self, pass: Pass, times: u32, most: Duration) -> Option<Repeated> {
        if self.is_lost {
            return None;
        }
        let open = self.repeater.take().map_or_else(|| self.search.respondent(false, 0), Ok);
        match open.and_then(|mut repeater| Ok((repeater.ask(Repeat { pass, times, most })?, repeater))) {
            Ok((repeated, repeater)) => {
                self.repeater = Some(repeater);
                Some(repeated).filter(|repeated| repeated.runs > 0)
            }
            Err(failure) => {
                self.is_lost = true;
                self.note_failure("whether results change from one run to the next", &failure);
                None
            }
        }
    }

    fn note_failure(&self, what: &str, Failure { status, reason, .. }: &Failure) {
        self.search.campaign.voice.progress.note(&format!("note: {what} couldn't be looked at: {status}: {reason}"));
    }

    /// Whether wrong configurations were run again, and were wrong each time.
    pub fn is_steady(&self) -> bool {
        let mut wrong = self.repeated.values().filter(|repeated| repeated.is_wrong && repeated.runs > 1).peekable();
        wrong.peek().is_some() && wrong.all(|repeated| repeated.race.is_none())
    }

    /// Whether results change from one run to the next.
    pub fn has_race(&self) -> bool {
        self.reference.iter().chain(self.repeated.values()).any(|repeated| repeated.race.is_some())
    }

    /// What was tried and what not, for the answer about this configuration.
    pub fn said(&self, best: &Point) -> Vec<String> {
        let mut said: Vec<String> = self.notes.get(best).map(|note| format!("Note: {note}.")).into_iter().collect();
        said.extend(self.closeness.clone());
        let right_with = self.tried.get(best).filter(|names| !names.is_empty());
        if let Some(names) = right_with {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            said.push(format!("It is also right with {}.", names.join(", ")));
        }
        let is_open = |name: &String| right_with.is_none_or(|names| !names.contains(name));
        let mut dropped: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, why) in self.dropped.iter().filter(|(name, _)| is_open(name)) {
            dropped.entry(why).or_default().push(name);
        }
        let dropped = dropped.into_iter().map(|(why, names)| format!("Not tried: {} ({why}).", names.join(", ")));
        said.extend(dropped);
        match self.untried {
            0 => {}
            1 => said.push("1 other was not tried with these: no time was left.".to_owned()),
            others => said.push(format!("{others} others were not tried with these: no time was left.")),
        }
        if let Some(Repeated { runs, changed, .. }) = self.repeated.get(best).filter(|of| of.runs > 1 && of.race.is_none()) {
            let share = 1.0 - 0.05_f64.powf(1.0 / f64::from(*runs));
            let changed = match changed {
                0 => "without a change".to_owned(),
                1 => "right each time, once with other bits, as sums in another order have them".to_owned(),
                changed => format!("right each time, {changed} times with other bits, as sums in another order have them"),
            };
            said.push(format!(
                "It ran {runs} times {changed}: at 95 %, fewer than {:.1} % of its runs come out otherwise.",
                100.0 * share
            ));
        }
        said
    }
}

fn prime_below(n: u64) -> Option<u64> {
    (2..n).rev().find(|candidate| (2..=candidate.isqrt()).all(|divisor| candidate % divisor != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prime_is_no_multiple_of_anything() {
        assert_eq!([4096, 1 << 20, 3, 2, 1].map(prime_below), [Some(4093), Some(1_048_573), Some(2), None, None]);
    }
}
