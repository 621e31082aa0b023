//! `lanescope run`: the pipeline from plan to rows.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use super::args::Run;
use super::cases::Cases;
use super::device_run::{DeviceRun, Pairing, evict_bytes};
use super::host::{describe_host, describe_mock_host};
use super::journal::{Journal, Journals};
use super::lock::Lock;
use super::resume::{Kept, identity, output_targets};
use super::sink::{Beside, Sink};
use super::target::Targets;
use super::voice::Voice;
use super::{interrupt, lanes, merge, outputs};
use crate::error::{EXIT_INTERRUPTED, Error};
use crate::experiments::Setting;
use crate::model::{Cache, DeviceInfo};
use crate::output::{self, CodeFolder, Samples};
use crate::plan::{Plan, Planned, Request, tell_what_others_do};
use crate::record::{Header, Record};
use crate::shader::glsl_compiler;
use crate::worker::check_evictor;

/// Runs experiments on devices and writes rows.
pub fn run(arguments: &Run) -> anyhow::Result<u8> {
    interrupt::listen()?;
    check_samples(arguments)?;
    let voice = Voice::new(arguments.mode());
    let targets = Targets::resolve(arguments, &voice)?;
    let plans = plans(arguments, &targets)?;
    for left_out in plans.first().map(Plan::left_out).unwrap_or_default() {
        voice.progress.note(&format!("note: {left_out}"));
    }
    let cases = arguments.cases.as_deref().map(Cases::read).transpose()?;
    cases.as_ref().map_or(Ok(()), |cases| cases.check(&plans))?;
    let header = Header::new(plans.iter().flat_map(Plan::axis_names));
    let _locks = locks(arguments, &targets)?;
    let templates = templates(arguments, &targets, &plans);
    let mut journals = Journals::claim(arguments.resume.iter().chain(&arguments.output).map(PathBuf::as_path))?;
    let mut kept = Kept::read(arguments, &targets, &plans, &templates, &header)?;
    kept.notes.iter().for_each(|note| voice.progress.note(&format!("note: {note}")));
    let (output_targets, staged) = output_targets(arguments, &kept)?;
    if !arguments.dry_run {
        journals.begin(&templates.iter().map(in_common).collect::<Vec<_>>(), arguments.resume.is_some());
    }
    journals.notes.iter().for_each(|note| voice.progress.note(&format!("note: {note}")));
    let code = arguments.isa.as_deref().map(CodeFolder::create).transpose()?;
    let mut samples = arguments.samples.as_deref().map(Samples::open).transpose()?;
    let mut outputs = output::open(&output_targets, &header)?;
    kept.pass_on(&mut outputs)?;
    samples.iter_mut().try_for_each(|samples| samples.begin(kept.is_anything()))?;
    let sink = Sink::new(outputs, Beside { samples, code }, arguments, voice, targets.are_mock());
    let progress = sink.voice.progress.clone();
    let shared = Shared {
        arguments,
        listed: cases.as_ref(),
        targets: &targets,
        plans: &plans,
        templates: &templates,
        sink: &sink,
        journals: &journals,
    };
    let measured = shared.run_devices(&mut kept);
    if let Some(failure) = journals.journal().and_then(Journal::failure) {
        sink.voice.progress.note(&format!("note: {failure}"));
    }
    // Whatever ended the run, the rows so far are written whole.
    let code = sink.finish();
    let code = measured.and(code)?;
    if interrupt::is_asked() {
        journals.hint().into_iter().for_each(|hint| progress.note(&hint));
        return Ok(EXIT_INTERRUPTED);
    }
    outputs::finish(staged)?;
    if let (Some(file), true, None) = (&arguments.resume, kept.is_anything(), arguments.shard) {
        // In the plan's order, and rows that were kept compared with bases that are new.
        merge::renew(file)?;
    }
    journals.finish();
    Ok(code)
}

/// What the rows of a device have in common as far as visits of another run count for them.
pub(super) fn in_common(template: &Record) -> Vec<(&'static str, String)> {
    let own = [("tool_version", template.tool_version.clone()), ("plan_id", template.plan_id.clone())];
    own.into_iter().chain(identity(template)).collect()
}

/// Samples need a file of their own.
fn check_samples(arguments: &Run) -> Result<(), Error> {
    let Some(samples) = &arguments.samples else { return Ok(()) };
    let taken = arguments.output.iter().chain(&arguments.resume).find(|file| output::is_same_file(file, samples));
    taken.map_or(Ok(()), |taken| Err(Error::Usage(format!("rows go to {}: --samples needs another file", taken.display()))))
}

fn plans<'t>(arguments: &Run, targets: &'t Targets) -> anyhow::Result<Vec<Plan<'t>>> {
    let cache = if arguments.cold { Cache::Cold } else { Cache::Warm };
    let request = Request { filters: arguments.filters.clone(), axes: arguments.axis.clone(), cache };
    let setting = |device| Setting { device, queue: arguments.queue, preset: arguments.preset(), seed: arguments.seed };
    let mut plans = targets.devices().map(|device| Plan::new(&request, setting(device))).collect::<Result<Vec<_>, _>>()?;
    tell_what_others_do(&mut plans);
    if arguments.cold {
        targets.devices().try_for_each(|device| check_evictor(device, evict_bytes(arguments, device)))?;
    }
    if arguments.paired {
        check_pairs(&plans)?;
    }
    Ok(plans)
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

/// Keeps other runs off the devices. Software devices share the processor, and with it one lock.
pub(super) fn locks(arguments: &Run, targets: &Targets) -> Result<Vec<Lock>, Error> {
    if arguments.no_lock || arguments.dry_run || targets.are_mock() {
        return Ok(Vec::new());
    }
    let mut locks: Vec<Lock> = Vec::new();
    for device in targets.devices() {
        if !locks.iter().any(|lock| lock.is_of(device)) {
            locks.push(Lock::take(device)?);
        }
    }
    Ok(locks)
}

/// What the devices of a run share.
struct Shared<'r> {
    arguments: &'r Run,
    /// The cases that are measured, where that isn't all.
    listed: Option<&'r Cases>,
    targets: &'r Targets,
    plans: &'r [Plan<'r>],
    templates: &'r [Record],
    sink: &'r Sink,
    journals: &'r Journals,
}

impl Shared<'_> {
    fn run_devices(&self, kept: &mut Kept) -> anyhow::Result<()> {
        let Self { arguments, listed, targets, plans, templates, sink, journals } = *self;
        let relations: Vec<_> = (0..plans.len()).map(|index| Mutex::new(kept.take_relations(index))).collect();
        let kept = &*kept;
        let measure = |index: usize| {
            if sink.is_closed() || interrupt::is_asked() {
                return Ok(());
            }
            let (place, plan) = (targets.device(index), &plans[index]);
            let name = if plans.len() > 1 { place.info.name.as_str() } else { "" };
            // About so many: telling exactly would take making them all.
            let cases = listed.map_or(plan.len(), Cases::count);
            let cases = arguments.shard.map_or(cases, |shard| cases / shard.count());
            let cases = cases.saturating_sub(kept.count(index));
            let is_wanted = |planned: &Planned| {
                arguments.shard.is_none_or(|shard| shard.holds(&planned.case_id))
                    && listed.is_none_or(|listed| listed.holds(&planned.case_id))
                    && !kept.holds(index, planned)
            };
            let bar = sink.voice.progress.bar(name, cases);
            let share = DeviceRun {
                arguments,
                targets,
                place,
                plan,
                pairing: pairing(arguments, targets, plans, index),
                template: &templates[index],
                sink,
                listed: listed.map(Cases::count),
                journal: journals.journal().map(|journal| (journal, index)),
                bar,
                relations: std::mem::take(&mut *relations[index].lock().unwrap_or_else(PoisonError::into_inner)),
                is_wanted: &is_wanted,
            };
            if arguments.dry_run { dry_run(&share) } else { share.run() }?;
            // Those of a case are in its row; these came when the device was closed.
            for message in targets.messages() {
                sink.voice.fault(&format!("validation: {message}"));
            }
            Ok(())
        };
        lanes::run(targets.devices(), jobs(arguments), measure)
    }
}

/// How many devices are measured on at a time. In one process, and in pairs, one after the other.
fn jobs(arguments: &Run) -> usize {
    let asked = arguments.jobs.map_or(usize::MAX, |jobs| jobs as usize);
    if arguments.no_isolate || arguments.paired || arguments.dry_run { 1 } else { asked }
}

fn pairing<'r>(arguments: &Run, targets: &'r Targets, plans: &'r [Plan], index: usize) -> Pairing<'r> {
    match (arguments.paired, plans.len(), index) {
        (false, ..) => Pairing::None,
        (true, 1, _) => Pairing::Bases,
        // The first device is what the others are paired with.
        (true, _, 0) => Pairing::None,
        (true, ..) => Pairing::Device(targets.device(0), &plans[0]),
    }
}

/// For each device a row with all that is the same in its rows. They are of one run.
fn templates(arguments: &Run, targets: &Targets, plans: &[Plan]) -> Vec<Record> {
    let run = run_row(targets);
    let of_plan = |(device, plan): (&DeviceInfo, &Plan)| Record {
        plan_id: plan.id().to_owned(),
        plan_cases: Some(plan.len()),
        ..device_row(run.clone(), arguments, targets, device)
    };
    targets.devices().zip(plans).map(of_plan).collect()
}

/// A row with all that is the same in a run's rows.
pub(super) fn run_row(targets: &Targets) -> Record {
    let mut run = Record {
        tool_version: concat!("v", env!("CARGO_PKG_VERSION")).to_owned(),
        glsl_compiler: glsl_compiler(),
        ..Record::new()
    };
    if targets.are_mock() {
        describe_mock_host(&mut run);
    } else {
        describe_host(&mut run);
    }
    run
}

/// The same with what a device's rows have in common.
pub(super) fn device_row(mut row: Record, arguments: &Run, targets: &Targets, device: &DeviceInfo) -> Record {
    row.describe_device(device);
    row.layers = targets.layers();
    row.queue_family = arguments.queue.or_else(|| device.default_queue().map(|family| family.index)).map(u64::from);
    row.validation = Some(arguments.validation);
    row.robustness = Some(arguments.robust);
    row.seed = Some(arguments.seed);
    row
}

fn dry_run(share: &DeviceRun) -> anyhow::Result<()> {
    for planned in share.plan.iter().filter(share.is_wanted) {
        let mut row = share.template.clone();
        row.describe_case(&planned, &share.place.info);
        share.sink.write(row)?;
        share.bar.advance(1);
        if share.sink.is_closed() || interrupt::is_asked() {
            break;
        }
    }
    Ok(())
}
