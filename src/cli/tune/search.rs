//! The search that was asked for.

use super::subject;
use crate::campaign::Campaign;
use crate::campaign::search::{Search, usage};
use crate::cli::args::tune::Tune;
use crate::error::Error;
use crate::model::{DeviceInfo, Point};
use crate::subject::{KernelSpec, Reference, UserKernel};
use crate::tuning::search::{Budget, Strategy};
use crate::tuning::space::{Space, SpaceError};

/// The largest space that is searched whole unless the user says otherwise.
const SMALL: usize = 512;

/// The search for the fastest configuration of a shader on the campaign's device, with its kernel, which knows what its results are
/// compared with.
/// Errors: whatever the user has to mend, before anything is measured.
pub fn search<'c>(typed: &Tune, subject: KernelSpec, campaign: &'c Campaign) -> Result<(Search<'c>, UserKernel), Error> {
    let device = &campaign.targets.device(0).info;
    let mut kernel = UserKernel::new(subject.clone(), device.clone());
    if let Some(text) = &typed.reference {
        let reference = subject::reference(text, &mut kernel)?;
        kernel = UserKernel::new(KernelSpec { reference, ..subject }, device.clone());
    }
    let space = space(typed, &mut kernel, device)?;
    if let Some((point, note)) = subject::instead_of_written(&mut kernel, &space) {
        campaign.voice.progress.note(&note);
        kernel.compare_with(Reference::Configuration(point));
    }
    kernel.reference().map_err(|failure| usage(&failure))?;
    let strategy = strategy(typed, &space);
    let axes: Vec<&str> = space.axes().iter().map(|axis| axis.name.as_ref()).collect();
    let search = Search {
        campaign,
        subject: kernel.subject().clone(),
        strategy,
        budget: typed.budget.unwrap_or(Budget::usual(strategy, space.len())),
        is_race: !typed.no_race,
        counts_sizes: typed.any_size,
        checks_races: !typed.no_check,
        written: kernel.written(&axes).ok().and_then(|point| space.find(&point)),
        space,
    };
    Ok((search, kernel))
}

fn space(typed: &Tune, kernel: &mut UserKernel, device: &DeviceInfo) -> Result<Space, Error> {
    let axes = subject::axes(typed, kernel, device)?;
    kernel.share(subject::shared(&axes));
    // A restriction that can't be evaluated ends all, and not with the first configuration that happens to ask for it.
    let mut first = None;
    let allows = |point: &Point| {
        let refusal = kernel.refusal(point, &typed.restrict).map_err(|failure| usage(&failure))?;
        let is_allowed = refusal.is_none();
        if let Some(refusal) = refusal {
            first.get_or_insert_with(|| (point.clone(), refusal));
        }
        Ok(is_allowed)
    };
    Space::new(axes, allows).map_err(|error| match (error, first) {
        (SpaceError::Restriction(error), _) => error,
        (SpaceError::Empty(1), Some((point, why))) => Error::Usage(format!("{point} can't be: {why}")),
        (SpaceError::Empty(count), Some((point, why))) => {
            Error::Usage(format!("none of the axes' {count} combinations can be. {point}, for one: {why}"))
        }
        (other, _) => Error::Usage(other.to_string()),
    })
}

fn strategy(typed: &Tune, space: &Space) -> Strategy {
    let usual = match typed.budget {
        _ if space.len() > SMALL => Strategy::HillClimbing,
        // In their order, it would be spent on the smallest workgroups.
        Some(Budget::Time(_)) => Strategy::Random,
        Some(Budget::Count(count)) if count < space.len() => Strategy::Random,
        _ => Strategy::Exhaustive,
    };
    typed.strategy.unwrap_or(usual)
}
