//! `lanescope run`: the pipeline from plan to rows.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::args::run::Run;
use super::cases::Cases;
use super::device_run::{DeviceRun, Pairing};
use super::journal::{Journal, Journals};
use super::overwriting::Files;
use super::resume::{Kept, output_targets};
use super::settings::{RunSettings, Settings};
use super::sink::{Beside, Sink};
use super::target::Targets;
use super::template::{device_row, in_common, run_row};
use super::turns::Turns;
use super::voice::Voice;
use super::{interrupt, lanes, limits, lock, merge, outputs};
use crate::analysis::resumable::lacking;
use crate::error::{EXIT_INTERRUPTED, Error};
use crate::experiments::Setting;
use crate::model::{DeviceInfo, Shown};
use crate::output::{self, CodeFolder, Format, PictureFolder, Samples, Staged};
use crate::plan::{Plan, Planned, Request, tell_what_others_do};
use crate::record::{Described, Fate, Header, Record};
use crate::regular;
use crate::units::Bytes;
use crate::worker::check_evictor;

pub fn run(arguments: Run) -> anyhow::Result<u8> {
    let cases = arguments.cases.as_deref().map(Cases::read).transpose()?;
    let settings = RunSettings::new(arguments, cases.as_ref().is_some_and(Cases::are_rows))?;
    let flags = &settings.common.flags;
    check_files(&settings)?;
    let limits = limits::read(&settings.limits)?;
    // From here on there is something to end. What is read until then may be a stream that nobody writes to.
    interrupt::listen()?;
    let voice = Voice::new(settings.common.mode());
    let mut targets = Targets::resolve(&settings.common, &voice)?;
    limits.iter().for_each(|own| targets.limit(own));
    let plans = plans(&settings, &targets, cases.as_ref())?;
    voice.progress.notes(plans.first().map(Plan::left_out).unwrap_or_default());
    // Where they are the plan, it has no others.
    let cases = cases.filter(|_| !settings.is_of_rows);
    cases.as_ref().map_or(Ok(()), |cases| cases.check(&plans))?;
    let header = Header::new(plans.iter().flat_map(Plan::axis_names)).choosing(&flags.columns)?;
    let lacking = lacking(&header);
    if !lacking.is_empty() && !settings.is_dry {
        let words = "note: what is interrupted can't be resumed: --columns leaves out";
        voice.progress.note(&format!("{words} {}", lacking.join(", ")));
    }
    check_writable(&settings)?;
    let Some(_locks) = lock::take_all(&settings.common, &targets, &voice)? else { return Ok(EXIT_INTERRUPTED) };
    let templates = templates(&settings.common, &targets, &plans);
    let mut journals = Journals::claim(flags.row_files())?;
    let common: Vec<_> = templates.iter().map(in_common).collect();
    flags.resume.as_ref().map_or(Ok(()), |_| journals.check_left(&common))?;
    let mut kept = Kept::read(&settings, &targets, &plans, &templates, &header)?;
    voice.progress.notes(&kept.notes);
    let (output_targets, staged) = output_targets(&settings.common, &kept)?;
    if !settings.is_dry {
        journals.begin(&common, flags.resume.is_some());
    }
    voice.progress.notes(&journals.notes);
    let mut beside = beside(&settings)?;
    let mut outputs = output::Reserved::new(&output_targets)?.beside(limits.as_ref()).begin(&header)?;
    kept.pass_on(&mut outputs)?;
    beside.samples.iter_mut().try_for_each(|samples| samples.begin(kept.is_anything()))?;
    let sink = Sink::new(outputs, beside, voice, targets.are_mock(), settings.is_dry);
    let progress = sink.voice.progress.clone();
    let shared = Shared {
        settings: &settings,
        listed: cases.as_ref(),
        targets: &targets,
        plans: &plans,
        templates: &templates,
        sink: &sink,
        journals: &journals,
    };
    let measured = shared.run_devices(&mut kept);
    progress.notes(journals.journal().and_then(Journal::failure));
    // Whatever ended the run, the rows so far are written whole.
    let code = sink.finish();
    let code = measured.and(code)?;
    if interrupt::is_asked() {
        if lacking.is_empty() {
            journals.hint().into_iter().for_each(|hint| progress.note(&hint));
        }
        return Ok(EXIT_INTERRUPTED);
    }
    outputs::finish(staged)?;
    if let (Some(file), true, None) = (&flags.resume, kept.is_anything(), settings.shard) {
        // In the plan's order, and rows that were kept compared with bases that are new.
        merge::renew(file, &flags.columns, flags.anonymous)?;
    }
    journals.finish();
    let is_overview = settings.common.on_terminal == Format::Card && !outputs::is_terminal();
    let is_csv = |file: &&Path| Format::from_path(file).is_ok_and(|format| format == Format::Csv);
    if let Some(file) = flags.row_files().find(is_csv).filter(|_| is_overview) {
        progress.note(&format!("the card of these rows: lanescope card {}", file.shown()));
    }
    Ok(code)
}

fn beside(settings: &RunSettings) -> Result<Beside, Error> {
    let unseen = settings.common.dump.clone();
    unseen.as_deref().map(PictureFolder::create).transpose()?;
    let code = settings.isa.as_deref().map(CodeFolder::create).transpose()?;
    let samples = settings.samples.as_deref().map(Samples::open).transpose()?;
    Ok(Beside { samples, code, unseen })
}

/// Nothing is written over what says what is measured, nor over what else is written.
fn check_files(settings: &RunSettings) -> Result<(), Error> {
    let RunSettings { samples, cases, common, .. } = settings;
    let read = Files::default().reading("the cases", cases).reading("the limits", &settings.limits.limits);
    read.writing_rows(&common.flags).writing("--samples", samples).check()
}

/// Whoever waits for a device isn't to hear afterwards that nothing could be kept.
fn check_writable(settings: &RunSettings) -> Result<(), Error> {
    let flags = &settings.common.flags;
    let (rows, _) = output_targets(&settings.common, &Kept::nothing(1))?;
    // What is resumed comes first, and a copy takes its place.
    output::check(&rows[usize::from(flags.resume.is_some())..])?;
    if let Some(path) = &flags.resume {
        Staged::new(path).check().map_err(Error::unwritable(path))?;
    }
    Journals::check(flags.row_files())?;
    if let Some(path) = &settings.samples {
        regular::check_output(path).map_err(Error::unwritable(path))?;
    }
    for folder in settings.isa.iter().chain(&settings.common.dump) {
        regular::check_made_folder(folder).map_err(Error::unwritable(folder))?;
    }
    Ok(())
}

fn plans<'t>(settings: &RunSettings, targets: &'t Targets, cases: Option<&Cases>) -> anyhow::Result<Vec<Plan<'t>>> {
    let Settings { flags, preset, .. } = &settings.common;
    let request = Request { filters: settings.filters.clone(), axes: settings.axes.clone(), cache: settings.common.cache() };
    let setting = |device| Setting { device, queue: flags.queue, preset: *preset, seed: flags.seed };
    let plan = |device| match cases {
        Some(cases) if settings.is_of_rows => cases.plan(request.cache, setting(device)),
        _ => Plan::new(&request, setting(device)),
    };
    let mut plans = targets.devices().map(plan).collect::<Result<Vec<_>, _>>()?;
    plans.iter().try_for_each(|plan| check_count(settings, plan))?;
    // Those of rows are the same already.
    if !settings.is_of_rows {
        tell_what_others_do(&mut plans);
    }
    for device in targets.devices() {
        settings.common.evict_bytes(device).map_or(Ok(()), |bytes| check_evictor(device, bytes))?;
    }
    if settings.is_paired {
        check_pairs(&plans)?;
    }
    Ok(plans)
}

/// What a row of a plan takes as CSV, in bytes: about as much as those of the catalogue.
const PLANNED_ROW: u64 = 550;

/// Of values on several axes, all combinations are cases: a slip of the finger makes more than anybody could measure, or a disk hold.
fn check_count(settings: &RunSettings, plan: &Plan) -> Result<(), Error> {
    let cases = plan.count();
    if cases <= settings.max_cases {
        return Ok(());
    }
    // Counts end where numbers do.
    let more = if cases == u64::MAX { "more than " } else { "" };
    let what = match settings.is_dry {
        true => format!(", whose rows take {more}{},", Bytes(cases.saturating_mul(PLANNED_ROW))),
        false => String::new(),
    };
    Err(Error::Usage(format!(
        "the plan has {more}{cases} cases{what} and --max-cases allows {}: name fewer values (--axis), or allow more",
        settings.max_cases
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

struct Shared<'r> {
    settings: &'r RunSettings,
    listed: Option<&'r Cases>,
    targets: &'r Targets,
    plans: &'r [Plan<'r>],
    templates: &'r [Record],
    sink: &'r Sink,
    journals: &'r Journals,
}

impl Shared<'_> {
    fn run_devices(&self, kept: &mut Kept) -> anyhow::Result<()> {
        let Self { settings, listed, targets, plans, templates, sink, journals } = *self;
        let relations: Vec<_> = (0..plans.len()).map(|index| Mutex::new(kept.take_relations(index))).collect();
        let kept = &*kept;
        let measure = |index: usize, turns: Turns| {
            if sink.is_closed() || interrupt::is_asked() {
                return Ok(());
            }
            let (place, plan) = (targets.device(index), &plans[index]);
            let name = if plans.len() > 1 { place.info.name.as_str() } else { "" };
            // About so many: telling exactly would take making them all.
            let cases = listed.map_or(plan.count(), Cases::count);
            let cases = settings.shard.map_or(cases, |shard| cases / shard.count());
            let cases = cases.saturating_sub(kept.count(index));
            let is_wanted = |planned: &Planned| {
                settings.shard.is_none_or(|shard| shard.holds(&planned.case_id))
                    && listed.is_none_or(|listed| listed.holds(&planned.case_id))
                    && !kept.holds(index, planned)
            };
            let bar = sink.voice.progress.bar(name, cases);
            let share = DeviceRun {
                settings,
                targets,
                place,
                plan,
                pairing: pairing(settings.is_paired, targets, plans, index),
                template: &templates[index],
                sink,
                listed: listed.map(Cases::count),
                journal: journals.journal().map(|journal| (journal, index)),
                bar,
                relations: std::mem::take(&mut *relations[index].lock().unwrap_or_else(PoisonError::into_inner)),
                is_wanted: &is_wanted,
                turns,
            };
            if settings.is_dry { dry_run(&share) } else { share.run() }?;
            // Those of a case are in its row; these came when the device was closed.
            for message in targets.messages() {
                sink.voice.fault(&format!("validation: {message}"));
            }
            Ok(())
        };
        lanes::run(targets.devices(), settings.jobs, settings.waiting, measure)
    }
}

fn pairing<'r>(is_paired: bool, targets: &'r Targets, plans: &'r [Plan], index: usize) -> Pairing<'r> {
    match (is_paired, plans.len(), index) {
        (false, ..) => Pairing::None,
        (true, 1, _) => Pairing::Bases,
        // The first device is what the others are paired with.
        (true, _, 0) => Pairing::None,
        (true, ..) => Pairing::Device(targets.device(0), &plans[0]),
    }
}

/// For each device a row with all that is the same in its rows. They are of one run.
fn templates(settings: &Settings, targets: &Targets, plans: &[Plan]) -> Vec<Record> {
    let run = run_row(settings, targets);
    let of_plan = |(device, plan): (&DeviceInfo, &Plan)| Record {
        plan_id: plan.id().to_owned(),
        plan_cases: Some(plan.count()),
        ..device_row(run.clone(), settings, targets, device)
    };
    targets.devices().zip(plans).map(of_plan).collect()
}

fn dry_run(share: &DeviceRun) -> anyhow::Result<()> {
    let mut runnable = 0;
    for planned in share.plan.iter().filter(share.is_wanted) {
        runnable += u64::from(planned.case.is_ok());
        let of = Described::planned(&planned);
        share.sink.write(Record::assembled(share.template, &of, &share.place.info, Fate::Planned))?;
        share.bar.advance(1);
        if share.sink.is_closed() || interrupt::is_asked() {
            return Ok(());
        }
    }
    let (name, estimate) = (&share.place.info.name, share.estimate(runnable));
    share.sink.voice.progress.note(&format!("{name}: measuring these takes {estimate}, about"));
    Ok(())
}
