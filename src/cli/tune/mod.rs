//! `lanescope tune`: the fastest configuration of a user's own shader.

mod found;
mod manifest;
mod search;
mod subject;

use std::ffi::OsString;

use anyhow::anyhow;

use super::args::tune::Tune;
use crate::campaign::search::Search;
use crate::campaign::search::bounds::BoundsChecker;
use crate::campaign::search::dry::DryRun;
use crate::campaign::search::rows::{Earlier, TrialRows};
use crate::campaign::search::run::SearchRun;
use crate::campaign::settings::Settings;
use crate::campaign::sink::Beside;
use crate::campaign::{Campaign, interrupt};
use crate::error::{EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK};
use crate::measure::Session;
use crate::units::Nanos;
use found::Found;
pub use manifest::{Circumstances, kernel_of, with_kernel};
pub use subject::point;

pub fn tune(typed: Tune, words: impl Iterator<Item = OsString>) -> anyhow::Result<u8> {
    let typed = manifest::with_manifest(typed, words)?;
    typed.measuring.colours.choose();
    let subject = subject::subject(&typed)?;
    let campaign = Campaign::new(Settings::from(&typed), None)?;
    let (search, mut kernel) = search::search(&typed, subject, &campaign)?;
    found::check_files(&typed, &campaign.settings.files, &search.subject)?;
    if campaign.settings.is_dry {
        let Some(is_well) = DryRun { search: &search }.run(&mut kernel)? else { return Ok(EXIT_INTERRUPTED) };
        return Ok(if is_well { EXIT_OK } else { EXIT_FAILED });
    }
    let template = search.template(&mut kernel)?;
    let Some(claim) = campaign.claim(search.header()?, vec![template])? else { return Ok(EXIT_INTERRUPTED) };
    let rows = TrialRows::new(&search, &mut kernel, claim.templates[0].clone())?;
    let mut earlier = Earlier::new(&rows, &mut kernel);
    let continued = claim.earlier(&mut earlier)?;
    let earlier = earlier.trials;
    search.introduce(&mut kernel)?;
    let checker = BoundsChecker::new(&search, &mut kernel)?;
    // Whoever asked to stop while the shader was looked at doesn't wait for a device to be opened.
    if interrupt::is_asked() {
        return Ok(EXIT_INTERRUPTED);
    }
    // Where this fails, what an earlier search wrote is still there.
    let sentinel = continued.as_ref().and_then(|continued| continued.sentinels.of(&search.place().info));
    let session = opened(&search, &checker, sentinel)?;
    let ledger = claim.begin(continued, Beside::default(), None)?;
    let mut run = SearchRun::new(&search, kernel, checker, &ledger, rows);
    let raced = run.run(session, earlier);
    let found = Found::new(&mut run, &typed);
    let kept = typed.t4.as_deref().map(|path| found::write_t4(&run, path)).transpose();
    drop(run);
    ledger.finish(raced.and_then(|is_whole| kept.map(|_| is_whole)))?;
    let code = found.tell(&typed, &campaign.voice)?;
    Ok(match interrupt::is_asked() {
        true => EXIT_INTERRUPTED,
        false if campaign.voice.has_faults() => EXIT_FAILED,
        false => code,
    })
}

fn opened<'s>(search: &'s Search, checker: &BoundsChecker, sentinel: Option<Nanos>) -> anyhow::Result<Session<'s>> {
    search.session(sentinel).map_err(|error| match checker.reference_leaves() {
        false => error,
        true => anyhow!("{error}; the shader indexes beyond its buffers, which may be why: mend that, or try --robust"),
    })
}
