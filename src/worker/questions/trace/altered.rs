//! A case that is to be otherwise: whether it can be, and computes what it is to.

use std::collections::BTreeSet;

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

const DIFFERS: &str = "it computes other things then";

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
    fn try_alteration(&mut self, alteration: &Alteration) -> Result<Feasible, Failure> {
        let original = self.prepared().clone();
        let altered = match original.altered(alteration) {
            Ok(altered) => altered,
            Err(ReliefError::Nothing) => return Ok(Feasible::Nothing),
            Err(why @ (ReliefError::Flow | ReliefError::Address)) => return self.try_rest(&original, alteration, &why),
            Err(error) => return Ok(Feasible::No(error.to_string())),
        };
        let is_same = match alteration {
            Alteration::Relieved { of, .. } if of.relief == Relief::Loops => return self.try_loops(&original, &altered, of),
            Alteration::Relieved { .. } => {
                let (before, after) = (self.counted_before(&original)?, self.all_operations(&altered)?);
                computes_as_much(&before, &but_integers(&after))
            }
            Alteration::Padded(_) | Alteration::Narrowed => self.leaves_the_same(&altered)?,
            Alteration::Copies(_) | Alteration::Crowded(_) => true,
        };
        Ok(if is_same { Feasible::Yes } else { Feasible::No(DIFFERS.to_owned()) })
    }

    /// Where a kernel goes by a part of what it would be relieved of, the rest is tried.
    fn try_rest(&mut self, original: &Prepared, alteration: &Alteration, why: &ReliefError) -> Result<Feasible, Failure> {
        let refused = Feasible::No(why.to_string());
        let whole = match alteration {
            Alteration::Relieved { of, .. } if of.kept == Kept::default() => of,
            _ => return Ok(refused),
        };
        let Ok(kept) = original.decisive(whole) else { return Ok(refused) };
        Ok(match self.try_alteration(&alteration.except(kept.clone()))? {
            Feasible::Yes => Feasible::Except(kept),
            _ => refused,
        })
    }

    /// Where loops do half of their iterations, it must compute less, and not with the placebo of that.
    fn try_loops(&mut self, original: &Prepared, altered: &Prepared, of: &ReliefAt) -> Result<Feasible, Failure> {
        let placebo = original.altered(&Alteration::Relieved { of: of.clone(), is_placebo: true });
        let Ok(placebo) = placebo else { return Ok(Feasible::Nothing) };
        let [before, after] = [self.all_operations(&placebo)?, self.all_operations(altered)?];
        let is_same = computes_as_much(&self.counted_before(original)?, &but_integers(&before));
        let [before, after] = [before, after].map(|all| all.into_values().fold(0, u64::saturating_add));
        Ok(match after.saturating_mul(4) <= before.saturating_mul(3) {
            true if is_same => Feasible::Yes,
            true => Feasible::No(DIFFERS.to_owned()),
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
    fn counted_before(&mut self, original: &Prepared) -> Result<Operations, Failure> {
        if let Some(known) = &self.counted_before {
            return Ok(known.clone());
        }
        let counted = but_integers(&self.all_operations(original)?);
        Ok(self.counted_before.insert(counted).clone())
    }

    fn all_operations(&mut self, prepared: &Prepared) -> Result<Operations, Failure> {
        let mut all = Operations::default();
        for dispatch in prepared.dispatches() {
            let counted = self.operations(prepared, dispatch)?;
            all.extend(counted.done);
        }
        Ok(all)
    }
}
