//! Measures a kernel, and all that is tried of it: first what concerns the whole of it, then single lines of what is worth that.

use super::measured::{Meter, Taken};
use super::trials::{Outcome, Trial, Tried, Verdict};
use crate::campaign::Campaign;
use crate::campaign::trace::Traces;
use crate::measure::CaseKey;
use crate::model::{Case, Check, DeviceInfo, Failure, Limits, Point, Status};
use crate::shader::Alteration;
use crate::subject::{FixedKernel, KernelSpec, LOCAL_SIZE_AXES, UserKernel};
use crate::worker::AlteredCase;
use crate::worker::questions::trace::Feasible;

/// What is measured.
pub struct Subject {
    pub key: CaseKey,
    pub case: Case,
    /// The kernel of the user's; nothing where it is a case of the catalogue.
    pub kernel: Option<FixedKernel>,
}

/// A trial, and the cases that are measured for it.
struct Planned {
    trial: Trial,
    cases: Vec<(CaseKey, Case)>,
}

/// Other sizes of a kernel's workgroups that are worth a try; none where as many workgroups as now would do other work then.
///
/// # Errors
/// Where the shader can't be read.
pub fn local_sizes(kernel: &mut UserKernel, device: &DeviceInfo, point: &Point) -> Result<Vec<Point>, Failure> {
    if kernel.subject().groups.is_some() {
        return Ok(Vec::new());
    }
    let written = kernel.local_size()?;
    let now = std::array::from_fn(|at| {
        let given = point.get(LOCAL_SIZE_AXES[at]).map(|_| point.u32(LOCAL_SIZE_AXES[at]));
        given.or(written[at])
    });
    let point_of = |sizes: Sizes| {
        let given = LOCAL_SIZE_AXES.iter().zip(sizes).filter_map(|(axis, size)| Some(((*axis).into(), size?.into())));
        let others = point.without(&LOCAL_SIZE_AXES);
        Point::new(others.iter().map(|(name, value)| (name.to_owned().into(), value.clone())).chain(given))
    };
    Ok(other_sizes(now, device.subgroup.size, &device.limits).into_iter().map(point_of).collect())
}

/// A size of workgroups, where the kernel has extent.
type Sizes = [Option<u32>; 3];

const MOST_SIZES: usize = 4;

/// Sizes next to this one that fill subgroups of so many lanes.
fn other_sizes(now: Sizes, lanes: u32, limits: &Limits) -> Vec<Sizes> {
    let invocations = |sizes: &Sizes| sizes.iter().flatten().product::<u32>();
    let with = |at: usize, value: u32| {
        let mut sizes = now;
        sizes[at] = Some(value);
        sizes
    };
    let mut all: Vec<Sizes> = Vec::new();
    for (at, value) in now.iter().enumerate().filter_map(|(at, value)| Some((at, (*value)?))) {
        let is_line = invocations(&now) == value;
        let even = value.next_multiple_of(lanes);
        let values = if is_line { vec![even, even * 2, even / 2, even * 4] } else { vec![value * 2, value / 2] };
        all.extend(values.into_iter().map(|value| with(at, value)));
    }
    let fits = |sizes: &Sizes| {
        let are_within = sizes.iter().zip(limits.workgroup_size).all(|(size, most)| size.is_none_or(|size| size <= most));
        let count = invocations(sizes);
        are_within && *sizes != now && count % lanes == 0 && (lanes..=limits.workgroup_invocations).contains(&count)
    };
    all.retain(fits);
    all.truncate(MOST_SIZES);
    all
}

/// Measures the kernel, and what can be tried of it.
///
/// # Errors
/// Where it can't be measured. Why something else isn't stands with that.
pub fn measure(campaign: &mut Campaign, subject: &Subject, traces: &Traces) -> Result<(Taken, Vec<Tried>), Failure> {
    let is_cpu = campaign.targets.device(0).info.is_cpu();
    let mut altered: Vec<AlteredCase> = Vec::new();
    let mut plan = |all: &[(Alteration, Feasible)], trial: fn(&Alteration) -> Trial| {
        let possible = all.iter().filter(|_| !is_cpu).filter_map(|(alteration, answer)| match answer {
            Feasible::Yes => Some(alteration.clone()),
            Feasible::Except(kept) => Some(alteration.except(kept.clone())),
            Feasible::Nothing | Feasible::No(_) => None,
        });
        let plan = |alteration: Alteration| {
            let trial = trial(&alteration);
            let own = trial.cases(altered.len(), &subject.key);
            let cases = own.iter().map(|of| subject.altered(&of.name)).collect();
            altered.extend(own);
            Planned { trial, cases }
        };
        possible.map(plan).collect::<Vec<Planned>>()
    };
    let mut first = plan(&traces.alterations.whole, Trial::of);
    let mut lines = plan(&traces.alterations.lines, Trial::of_line);
    let sizes = traces.points.iter().filter(|(_, answer)| *answer == Feasible::Yes && !is_cpu);
    for (point, _) in sizes {
        if let Some(kernel) = &subject.kernel {
            let kernel = at(kernel, point);
            let case = kernel.describe(&mut kernel.on(&campaign.targets.device(0).info))?;
            let key = CaseKey { experiment: kernel.name(), point: point.clone(), ..subject.key.clone() };
            first.push(Planned { trial: Trial::LocalSize(point.clone()), cases: vec![(key, case)] });
            campaign.settings.kernels.push(kernel);
        }
    }
    let bar = campaign.voice.progress.bar("", 1).untimed();
    let campaign = &*campaign;
    let mut meter = Meter::new(campaign, altered)?;
    let own = (subject.key.clone(), subject.case.clone());
    let mut times = meter.times(&cases([own].into_iter(), &first), &bar)?.into_iter();
    let taken = times.next().unwrap_or_else(|| Err(Failure::new(Status::Error, "it wasn't measured")))?;
    let mut tried = outcomes(first, &taken, &mut times);
    lines.retain(|planned| is_worth_it(&planned.trial, &tried));
    if !lines.is_empty() {
        let mut times = meter.times(&cases(std::iter::empty(), &lines), &bar)?.into_iter();
        tried.extend(outcomes(lines, &taken, &mut times));
    }
    let refused = |all: &[(Alteration, Feasible)], trial: fn(&Alteration) -> Trial| {
        let refused = all.iter().filter_map(|(alteration, answer)| match answer {
            Feasible::No(why) => Some(Tried { trial: trial(alteration), outcome: Outcome::NotTried(why.clone()) }),
            Feasible::Yes | Feasible::Except(_) | Feasible::Nothing => None,
        });
        refused.collect::<Vec<Tried>>()
    };
    tried.extend(refused(&traces.alterations.whole, Trial::of));
    tried.extend(refused(&traces.alterations.lines, Trial::of_line));
    Ok((taken, tried))
}

/// Whether a line may cost more than all of its kind does: nothing is found where that costs next to nothing.
fn is_worth_it(of_line: &Trial, tried: &[Tried]) -> bool {
    let Trial::Line(of_line) = of_line else { return true };
    let is_whole = |trial: &Trial| matches!(trial, Trial::Relief(of) if of.relief == of_line.relief);
    let whole = tried.iter().find(|tried| is_whole(&tried.trial));
    whole.is_none_or(|whole| whole.verdict() != Some(Verdict::LetsGo))
}

fn cases(own: impl Iterator<Item = (CaseKey, Case)>, planned: &[Planned]) -> Vec<(CaseKey, Case)> {
    own.chain(planned.iter().flat_map(|planned| planned.cases.iter().cloned())).collect()
}

fn outcomes(planned: Vec<Planned>, taken: &Taken, times: &mut impl Iterator<Item = Result<Taken, Failure>>) -> Vec<Tried> {
    let of = |Planned { trial, cases }: Planned| {
        let own: Vec<Result<Taken, Failure>> = times.by_ref().take(cases.len()).collect();
        let outcome = trial.outcome(taken, &own);
        Tried { trial, outcome }
    };
    planned.into_iter().map(of).collect()
}

impl Subject {
    fn altered(&self, name: &str) -> (CaseKey, Case) {
        let case = Case { experiment: name.to_owned(), check: Check::Nothing("it was checked before"), ..self.case.clone() };
        (CaseKey { experiment: name.to_owned(), ..self.key.clone() }, case)
    }
}

/// The same kernel with other values on its axes.
fn at(kernel: &FixedKernel, point: &Point) -> FixedKernel {
    let spec = KernelSpec { name: format!("{}, {point}", kernel.spec.name), ..kernel.spec.clone() };
    FixedKernel { spec, point: point.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_sizes_fill_subgroups_and_fit_the_device() {
        let limits = DeviceInfo::mock().limits;
        let of = |now: [u32; 3]| {
            let now = now.map(|size| (size > 0).then_some(size));
            other_sizes(now, 32, &limits).into_iter().map(|sizes| sizes.map(Option::unwrap_or_default)).collect::<Vec<_>>()
        };
        assert_eq!(of([33, 0, 0]), [[64, 0, 0], [128, 0, 0], [32, 0, 0], [256, 0, 0]]);
        assert_eq!(of([256, 1, 1]), [[512, 1, 1], [128, 1, 1], [1024, 1, 1], [256, 2, 1]]);
        assert_eq!(of([32, 32, 0]), [[16, 32, 0], [32, 16, 0]]);
        assert_eq!(of([0, 0, 0]), [[0; 3]; 0]);
    }
}
