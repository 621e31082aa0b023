//! `lanescope run`: the pipeline from plan to rows.

use std::path::Path;

use super::args::run::Run;
use super::limits;
use super::overwriting::Files;
use super::settings::{RunSettings, is_manifest};
use super::tune::{self, Circumstances};
use crate::campaign::kernels::experiment;
use crate::campaign::plan_judge::{DeviceKept, PlanJudge};
use crate::campaign::plan_run::PlanRun;
use crate::campaign::settings::{RowFiles, Settings};
use crate::campaign::sink::Beside;
use crate::campaign::{Campaign, Claim, Continued, interrupt};
use crate::error::{EXIT_INTERRUPTED, Error};
use crate::experiments::Setting;
use crate::model::{DeviceInfo, QueueChoice, Shown};
use crate::output::{self, CodeFolder, Format, Samples};
use crate::plan::{Cases, Plan, Request, tell_what_others_do};
use crate::record::{Header, Record};
use crate::regular;
use crate::subject::FixedKernel;
use crate::units::Bytes;
use crate::worker::check_evictor;

pub fn run(typed: Run) -> anyhow::Result<u8> {
    let cases = typed.cases.as_deref().map(Cases::read).transpose()?;
    let mut settings = RunSettings::new(&typed, cases.as_ref().is_some_and(Cases::are_rows))?;
    check_files(&typed, &settings.common.files)?;
    let of_kernels = kernels(&typed, settings.common.seed)?;
    let Circumstances { queue, is_robust } = of_kernels.circumstances;
    if settings.common.queue == QueueChoice::Usual {
        settings.common.queue = queue;
    }
    settings.common.is_robust |= is_robust;
    if is_robust && typed.filters.iter().any(|filter| !is_manifest(filter)) && !typed.measuring.robust {
        let words = "measure kernels whose manifests say `robust` in a run of their own, or give --robust";
        return Err(Error::Usage(words.to_owned()).into());
    }
    settings.common.kernels = of_kernels.kernels;
    let limits = limits::read(&typed.limits)?;
    let campaign = Campaign::new(settings.common.clone(), limits.as_ref())?;
    let plans = plans(&typed, &settings, &campaign, cases.as_ref())?;
    if let Some(cases) = cases.filter(|_| !settings.is_of_rows) {
        cases.check(&plans)?;
        settings.selection.listed = Some(cases.ids());
    }
    let header = Header::new(plans.iter().flat_map(Plan::axis_names)).choosing(&settings.common.files.columns)?;
    check_beside(&typed)?;
    let Some(claim) = campaign.claim(header, templates(&campaign, &plans))? else { return Ok(EXIT_INTERRUPTED) };
    let (kept, continued) = kept(&claim, &plans, settings.selection.is_paired)?;
    let ledger = claim.begin(continued, beside(typed)?, limits.as_ref())?;
    let measured = PlanRun { selection: &settings.selection, plans: &plans, ledger: &ledger }.run(kept);
    let code = ledger.finish(measured.map(|()| !interrupt::is_asked()))?;
    if interrupt::is_asked() {
        return Ok(EXIT_INTERRUPTED);
    }
    name_card(&campaign);
    Ok(code)
}

/// What an earlier run left of the plans' cases.
fn kept(claim: &Claim, plans: &[Plan], is_paired: bool) -> anyhow::Result<(Vec<DeviceKept>, Option<Continued>)> {
    let mut kept = PlanJudge::new(claim, plans, is_paired)?;
    let continued = claim.earlier(&mut kept)?;
    Ok((kept.devices(), continued))
}

/// Says how to see the card of the rows once more.
fn name_card(Campaign { settings, voice, .. }: &Campaign) {
    let is_overview = settings.files.on_terminal == Format::Card && !output::is_terminal();
    let is_csv = |file: &&Path| Format::from_path(file).is_ok_and(|format| format == Format::Csv);
    if let Some(file) = settings.files.paths().find(is_csv).filter(|_| is_overview) {
        voice.progress.note(&format!("the card of these rows: lanescope card {}", file.shown()));
    }
}

fn beside(Run { dump, isa, samples, .. }: Run) -> Result<Beside, Error> {
    dump.iter().try_for_each(|folder| regular::folder(folder).map_err(Error::unwritable(folder)))?;
    let code = isa.as_deref().map(CodeFolder::create).transpose()?;
    let samples = samples.as_deref().map(Samples::open).transpose()?;
    Ok(Beside { samples, code, unseen: dump })
}

/// Nothing is written over what says what is measured, nor over what else is written.
fn check_files(typed: &Run, rows: &RowFiles) -> Result<(), Error> {
    let read = Files::default().reading("the cases", &typed.cases).reading("the limits", &typed.limits.limits);
    read.writing_rows(rows).writing("--samples", &typed.samples).check()
}

/// Whoever waits for a device isn't to hear afterwards that nothing could be kept.
fn check_beside(Run { dump, isa, samples, .. }: &Run) -> Result<(), Error> {
    samples.iter().try_for_each(|path| regular::check_output(path).map_err(Error::unwritable(path)))?;
    let mut folders = isa.iter().chain(dump);
    folders.try_for_each(|folder| regular::check_made_folder(folder).map_err(Error::unwritable(folder)))
}

fn plans<'c>(
    typed: &Run,
    settings: &RunSettings,
    campaign: &'c Campaign,
    cases: Option<&Cases>,
) -> anyhow::Result<Vec<Plan<'c>>> {
    let Settings { queue, preset, seed, .. } = settings.common;
    let queue = |device: &DeviceInfo| queue.of(device);
    let request = Request {
        filters: settings.selection.filters.clone(),
        kernels: settings.common.kernels.iter().cloned().map(experiment).collect(),
        axes: typed.axis.clone(),
        cache: settings.common.cache(),
    };
    let setting = |device| Setting { device, queue: queue(device), preset, seed };
    let plan = |device| match cases {
        Some(cases) if settings.is_of_rows => cases.plan(request.cache, setting(device)),
        _ if settings.is_of_model => Plan::of_model(setting(device)),
        _ => Plan::new(&request, setting(device)),
    };
    let devices = || campaign.targets.devices();
    let mut plans = devices().map(plan).collect::<Result<Vec<_>, _>>()?;
    plans.iter().try_for_each(|plan| check_count(typed, plan))?;
    // Those of rows are the same already.
    if !settings.is_of_rows {
        tell_what_others_do(&mut plans);
    }
    for device in devices() {
        settings.common.evict_bytes(device).map_or(Ok(()), |bytes| check_evictor(device, bytes))?;
    }
    if settings.selection.is_paired {
        check_pairs(&plans)?;
    }
    campaign.voice.progress.notes(plans.first().map(Plan::left_out).unwrap_or_default());
    Ok(plans)
}

#[derive(Default)]
struct Kernels {
    kernels: Vec<FixedKernel>,
    circumstances: Circumstances,
}

/// The kernels whose manifests are named.
fn kernels(typed: &Run, seed: u64) -> Result<Kernels, Error> {
    let (mut all, mut circumstances) = (Vec::<FixedKernel>::new(), Circumstances::default());
    for path in typed.filters.iter().filter(|filter| is_manifest(filter)) {
        let (kernel, own) = tune::kernel_of(Path::new(path), seed)?;
        // What can't run here is a skipped row; what its user has to mend isn't.
        kernel.possible().map_err(|failure| Error::Usage(format!("{path}: {}", failure.reason)))?;
        if all.iter().any(|other| other.name() == kernel.name()) {
            return Err(Error::Usage(format!("{path}: another kernel is called {} as well", kernel.name())));
        }
        if !all.is_empty() && own.queue != circumstances.queue && typed.measuring.queue == QueueChoice::Usual {
            let words = "is for another queue than the kernels before it: measure those that say `queue` in a run of their own, or give --queue";
            return Err(Error::Usage(format!("{path} {words}")));
        }
        if !all.is_empty() && own.is_robust != circumstances.is_robust && !typed.measuring.robust {
            let words = "and the kernels before it don't both say `robust`: measure those that do in a run of their own, or give --robust";
            return Err(Error::Usage(format!("{path} {words}")));
        }
        circumstances = own;
        all.push(kernel);
    }
    Ok(Kernels { kernels: all, circumstances })
}

/// What a row of a plan takes as CSV, in bytes: about as much as those of the catalogue.
const PLANNED_ROW: u64 = 550;

/// Of values on several axes, all combinations are cases: a slip of the finger makes more than anybody could measure, or a disk hold.
fn check_count(typed: &Run, plan: &Plan) -> Result<(), Error> {
    let cases = plan.count();
    if cases <= typed.max_cases {
        return Ok(());
    }
    // Counts end where numbers do.
    let more = if cases == u64::MAX { "more than " } else { "" };
    let what = match typed.dry_run {
        true => format!(", whose rows take {more}{},", Bytes(cases.saturating_mul(PLANNED_ROW))),
        false => String::new(),
    };
    Err(Error::Usage(format!(
        "the plan has {more}{cases} cases{what} and --max-cases allows {}: name fewer values (--axis), or allow more",
        typed.max_cases
    )))
}

/// With one device there must be something to pair.
fn check_pairs(plans: &[Plan]) -> Result<(), Error> {
    if plans.len() > 1 || plans.iter().any(Plan::has_bases) {
        return Ok(());
    }
    let message = "nothing to pair: none of the selected experiments compares its cases with one of them; \
                   name two devices, or one device twice";
    Err(Error::Usage(message.to_owned()))
}

/// For each device a row with all that is the same in its rows.
fn templates(campaign: &Campaign, plans: &[Plan]) -> Vec<Record> {
    let of_plan = |(template, plan): (Record, &Plan)| Record {
        plan_id: plan.id().to_owned(),
        plan_cases: Some(plan.count()),
        ..template
    };
    campaign.templates().into_iter().zip(plans).map(of_plan).collect()
}
