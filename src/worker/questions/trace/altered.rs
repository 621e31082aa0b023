//! A case that is to be otherwise: whether it can be, and computes what it is to.

use std::collections::BTreeSet;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Difference, TracedCase, Tracer};
use crate::measure::Dispatcher;
use crate::model::{Failure, Point};
use crate::shader::{Alteration, Kept, Operation, Operations, Prepared, Relief, ReliefAt, ReliefError};
use crate::worker::questions::{Host, Question, QuestionState};

/// Whether a case can be otherwise: where it is relieved of a cost it must compute as much as before, else the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TryAlteration {
    pub alteration: Alteration,
}

/// The same of other values on its axes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TryPoint {
    pub point: Point,
}

/// What will be asked about next, so that the device's compiler is at all of it at one time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompileAhead {
    pub alterations: Vec<Alteration>,
    pub points: Vec<Point>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Feasible {
    Yes,
    /// But for these instructions.
    Except(Kept),
    /// It has nothing that would be taken away.
    Nothing,
    /// Why not.
    No(String),
}

impl Question for TryAlteration {
    type Answer = Feasible;

    fn answer(self, _: &Host, kept: &mut QuestionState) -> Result<Feasible, Failure> {
        kept.tracer()?.try_alteration(&self.alteration)
    }

    #[cfg(test)]
    fn example() -> (Self, Feasible) {
        let lines = Some(vec![crate::shader::SourceLine { file: "a.comp".to_owned(), line: 5 }]);
        let of = ReliefAt { relief: Relief::Stores, lines, kept: Kept::default() };
        let alteration = Alteration::Relieved { of, is_placebo: true };
        (Self { alteration }, Feasible::No("it branches".to_owned()))
    }
}

impl Question for TryPoint {
    type Answer = Feasible;

    fn answer(self, _: &Host, kept: &mut QuestionState) -> Result<Feasible, Failure> {
        kept.tracer()?.try_point(&self.point)
    }

    #[cfg(test)]
    fn example() -> (Self, Feasible) {
        (Self { point: Point::new([("local_size_x".into(), 64_u64.into())]) }, Feasible::Yes)
    }
}

impl Question for CompileAhead {
    type Answer = ();

    fn answer(self, _: &Host, kept: &mut QuestionState) -> Result<(), Failure> {
        kept.tracer()?.compile_ahead(&self)
    }

    #[cfg(test)]
    fn example() -> (Self, ()) {
        (Self { alterations: vec![Alteration::Copies(2)], points: vec![TryPoint::example().0.point] }, ())
    }
}

/// A case otherwise, or why it can't be.
pub(super) type Foreseen = (Alteration, Result<Altered, Feasible>);

/// A case otherwise.
pub(super) struct Altered {
    prepared: Prepared,
    /// What it isn't relieved of, since it goes by that.
    kept: Option<Kept>,
}

impl Altered {
    /// Without the whole cost, or where it goes by a part of that, without the rest.
    fn of(original: &Prepared, alteration: &Alteration) -> Result<Self, Feasible> {
        let why = match original.altered(alteration) {
            Ok(prepared) => return Ok(Self { prepared, kept: None }),
            Err(ReliefError::Nothing) => return Err(Feasible::Nothing),
            Err(why) => why,
        };
        let refused = |why: ReliefError| Feasible::No(why.to_string());
        let (ReliefError::Flow | ReliefError::Address, Alteration::Relieved { of, .. }) = (&why, alteration) else {
            return Err(refused(why));
        };
        let rest = original.decisive(of).and_then(|kept| {
            let prepared = original.altered(&alteration.except(kept.clone()))?;
            Ok(Self { prepared, kept: Some(kept) })
        });
        rest.map_err(|_| refused(why))
    }
}

/// Each of a case's dispatches as it counts what it computes, where it can.
fn counting(prepared: &Prepared, can_elect: bool) -> Vec<Prepared> {
    let of = |dispatch| prepared.counting(dispatch, can_elect).ok().map(|(prepared, _, _)| prepared);
    prepared.dispatches().into_iter().filter_map(of).collect()
}

fn same_if(is_same: bool) -> Feasible {
    if is_same { Feasible::Yes } else { Feasible::No("it computes other things then".to_owned()) }
}

/// A relief adds whole numbers.
fn but_integers(all: &Operations) -> Operations {
    let is_left = |(operation, _): &(&Operation, &u64)| !matches!(operation, Operation::Integer { .. });
    all.iter().filter(is_left).map(|(operation, count)| (*operation, *count)).collect()
}

/// Whether a kernel whose blocks may be in parts computes what it did, but for a little: it may choose otherwise between values. A
/// multiplication isn't put together with an addition of another part: these may be more, up to twice as many.
fn computes_as_much(before: &Operations, after: &Operations) -> bool {
    let off = |operation: &Operation| {
        let [count, now] = [before, after].map(|all| all.get(operation).copied().unwrap_or(0));
        let most = match operation {
            Operation::MultiplyAdd { .. } => count.saturating_mul(2),
            // A relief converts what is stored.
            Operation::OtherFloat { .. } => u64::MAX,
            _ => count,
        };
        count.saturating_sub(now).max(now.saturating_sub(most))
    };
    let all: BTreeSet<&Operation> = before.keys().chain(after.keys()).collect();
    let off: u64 = all.into_iter().map(off).fold(0, u64::saturating_add);
    off.saturating_mul(SAME) <= before.values().copied().fold(0, u64::saturating_add)
}

/// One in so many operations may be another: less than a placebo's time may be off by.
const SAME: u64 = 100;

impl Tracer {
    fn compile_ahead(&mut self, CompileAhead { alterations, points }: &CompileAhead) -> Result<(), Failure> {
        if self.device.compile_threads() == 0 {
            return Ok(());
        }
        let (original, can_elect) = (self.prepared(), self.device.info().subgroup.in_compute);
        let foreseen = |alteration: &Alteration| {
            let altered = Altered::of(original, alteration);
            let runs = match (&altered, alteration) {
                (Ok(Altered { prepared, .. }), Alteration::Relieved { .. }) => counting(prepared, can_elect),
                (Ok(Altered { prepared, .. }), Alteration::Padded(_) | Alteration::Narrowed) => vec![prepared.clone()],
                _ => Vec::new(),
            };
            ((alteration.clone(), altered), runs)
        };
        let all: Vec<(Foreseen, Vec<Prepared>)> = alterations.par_iter().map(foreseen).collect();
        for (foreseen, runs) in all {
            runs.iter().for_each(|run| self.device.compile_ahead(run));
            self.foreseen.push(foreseen);
        }
        for point in points {
            let TracedCase::Users(_, kernel) = &self.case else { continue };
            let noting = kernel.borrow_mut().noting(point).ok().flatten().map(|(prepared, _)| prepared);
            let prepared = kernel.borrow_mut().prepare(point).ok();
            noting.iter().chain(&prepared).for_each(|run| self.device.compile_ahead(run));
        }
        Ok(())
    }

    fn try_alteration(&mut self, alteration: &Alteration) -> Result<Feasible, Failure> {
        let foreseen = self.foreseen.iter().position(|(known, _)| known == alteration);
        let altered = match foreseen {
            Some(at) => self.foreseen.swap_remove(at).1,
            None => Altered::of(self.prepared(), alteration),
        };
        let Altered { prepared, kept } = match altered {
            Ok(altered) => altered,
            Err(answer) => return Ok(answer),
        };
        let as_made = kept.iter().fold(alteration.clone(), |all, kept| all.except(kept.clone()));
        let answer = match &as_made {
            Alteration::Relieved { of, .. } if of.relief == Relief::Loops => self.try_loops(&prepared, of)?,
            Alteration::Relieved { .. } => {
                let (before, after) = (self.counted_before()?, self.all_operations(&prepared)?);
                same_if(computes_as_much(&before, &but_integers(&after)))
            }
            Alteration::Padded(_) | Alteration::Narrowed => same_if(self.leaves_the_same(&prepared)?),
            Alteration::Copies(_) | Alteration::Crowded(_) => Feasible::Yes,
        };
        Ok(match (answer, kept) {
            (Feasible::Yes, Some(kept)) => Feasible::Except(kept),
            (answer, _) => answer,
        })
    }

    /// Where loops do half of their iterations, it must compute less, and not with the placebo of that.
    fn try_loops(&mut self, altered: &Prepared, of: &ReliefAt) -> Result<Feasible, Failure> {
        let placebo = self.prepared().altered(&Alteration::Relieved { of: of.clone(), is_placebo: true });
        let Ok(placebo) = placebo else { return Ok(Feasible::Nothing) };
        let [before, after] = [self.all_operations(&placebo)?, self.all_operations(altered)?];
        let is_same = computes_as_much(&self.counted_before()?, &but_integers(&before));
        let [before, after] = [before, after].map(|all| all.into_values().fold(0, u64::saturating_add));
        Ok(match after.saturating_mul(4) <= before.saturating_mul(3) {
            true => same_if(is_same),
            false => Feasible::No("half of their iterations are less than a quarter of what it computes".to_owned()),
        })
    }

    fn try_point(&mut self, point: &Point) -> Result<Feasible, Failure> {
        let TracedCase::Users(_, kernel) = &self.case else { return Ok(Feasible::Nothing) };
        let found = kernel.borrow_mut().prepare(point);
        let prepared = match found {
            Ok(prepared) => prepared,
            Err(failure) => return Ok(Feasible::No(failure.reason)),
        };
        if !self.overruns(point)?.is_empty() {
            return Ok(Feasible::No("it accesses an array beyond its end then".to_owned()));
        }
        let is_same = self.leaves_the_same(&prepared)?;
        Ok(if is_same { Feasible::Yes } else { Feasible::No("its results differ then".to_owned()) })
    }

    /// Whether another form of the case leaves what it does as it stands, as far as `tune` would tell.
    fn leaves_the_same(&mut self, altered: &Prepared) -> Result<bool, Failure> {
        self.release();
        let slot = self.device.load(altered)?.slot;
        let outputs = self.outputs(slot, altered);
        self.device.release(slot);
        let (outputs, _) = outputs?;
        Ok(match self.difference(&outputs) {
            None => true,
            Some(Difference { beyond_tolerance, .. }) => match &self.case {
                TracedCase::Users(..) => beyond_tolerance.is_none(),
                TracedCase::Catalogues(_) => self.wrong(outputs)?.is_none(),
            },
        })
    }

    /// What it computes as it stands, but for whole numbers.
    fn counted_before(&mut self) -> Result<Operations, Failure> {
        let mut all = Operations::default();
        for at in 0..self.prepared().dispatches().len() {
            all.extend(self.count(at)?.done);
        }
        Ok(but_integers(&all))
    }

    fn all_operations(&mut self, prepared: &Prepared) -> Result<Operations, Failure> {
        let mut all = Operations::default();
        for dispatch in prepared.dispatches() {
            all.extend(self.operations(prepared, dispatch)?.done);
        }
        Ok(all)
    }
}
