//! `lanescope tune`: the fastest configuration of a user's own shader.

mod bounds;
mod dry;
mod examined;
mod figures;
mod found;
mod manifest;
mod race;
mod subject;
mod trials;

use std::ffi::OsString;

use anyhow::anyhow;
use sha2::{Digest, Sha256};

use super::args::tune::{Budget, Tune};
use super::journal::{Journal, Journals};
use super::resume::Kept;
use super::settings::Settings;
use super::sink::{Beside, Sink};
use super::target::Targets;
use super::template::{device_row, in_common, run_row};
use super::voice::Voice;
use super::{interrupt, lock, resume};
use crate::digest::label;
use crate::error::{EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, Error};
use crate::model::{DeviceInfo, Failure, Point};
use crate::output;
use crate::record::{Header, Record};
use crate::shader::size_macros;
use crate::subject::{CONSTANT_AXIS, LOCAL_SIZE_AXES, Reference, Subject, UserKernel};
use crate::tuning::search::Strategy;
use crate::tuning::space::{Space, SpaceError};
use bounds::Looker;
use dry::DryRun;
use found::Found;
use race::{Race, SIZE};

/// The largest space that is searched whole unless the user says otherwise.
const SMALL: usize = 512;

const MOST_TOLD: u64 = 3;

pub fn tune(arguments: Tune, typed: impl Iterator<Item = OsString>) -> anyhow::Result<u8> {
    // It may be a stream that nobody writes to: until it is read, there is nothing to end.
    let arguments = manifest::with_manifest(arguments, typed)?;
    interrupt::listen()?;
    arguments.measuring.colours.choose();
    let settings = Settings::from(&arguments);
    let flags = &settings.flags;
    let voice = Voice::new(settings.mode());
    let subject = subject::subject(&arguments)?;
    let targets = Targets::resolve(&settings, &voice)?;
    let (mut kernel, space) = kernel_and_space(&arguments, subject, &targets.device(0).info, &voice)?;
    let subject = kernel.subject().clone();
    found::check_files(&arguments, &subject)?;
    let strategy = strategy(&arguments, &space);
    let budget = arguments.budget.unwrap_or(Budget::usual(strategy, space.len()));
    let tried = race::most_tried(budget, &space);
    let axes: Vec<&str> = space.axes().iter().map(|axis| axis.name.as_ref()).collect();
    let written = kernel.written(&axes).ok().and_then(|point| space.find(&point));
    if arguments.dry_run {
        introduce(&arguments, &voice, &mut kernel, &space)?;
        let Some(_locks) = lock::take_all(&settings, &targets, &voice)? else { return Ok(EXIT_INTERRUPTED) };
        let (arguments, settings, targets, space, voice) = (&arguments, &settings, &targets, &space, &voice);
        let max_time = race::max_time(settings, tried);
        let is_well = DryRun { arguments, settings, targets, space, budget, max_time, voice }.run(&mut kernel, written)?;
        return Ok(if is_well { EXIT_OK } else { EXIT_FAILED });
    }
    let header = Header::new(space.axes().iter().map(|axis| axis.name.to_string()).chain([SIZE.to_owned()]));
    let header = header.choosing(&flags.columns)?;
    let (output_targets, _) = resume::output_targets(&settings, &Kept::nothing(1))?;
    output::check(&output_targets)?;
    Journals::check(flags.row_files())?;
    let Some(_locks) = lock::take_all(&settings, &targets, &voice)? else { return Ok(EXIT_INTERRUPTED) };
    let mut journals = Journals::claim(flags.row_files())?;
    let template = template(&settings, &targets, &kernel, &space);
    let hash = kernel.hash().map_err(|failure| usage(&failure))?;
    let common = [alike((&arguments, &settings), &template, &subject, &hash)?];
    let note = flags.resume.as_deref().map(|file| resume::check_search(file, &template, &header, journals.left(&common)));
    voice.progress.notes(note.transpose()?.flatten());
    let reserved = output::Reserved::new(&output_targets)?;
    introduce(&arguments, &voice, &mut kernel, &space)?;
    let looker = Looker::new(&settings, &targets, &mut kernel, &subject, bounds::instead_of_files(&space, written), &voice)?;
    // Whoever asked to stop while the shader was looked at doesn't wait for a device to be opened.
    if interrupt::is_asked() {
        return Ok(EXIT_INTERRUPTED);
    }
    // Where this fails, what an earlier search wrote is still there.
    let session =
        race::session(&arguments, &settings, &targets, &subject, tried).map_err(|error| match looker.reference_leaves() {
            false => error,
            true => anyhow!("{error}; the shader indexes beyond its buffers, which may be why: mend that, or try --robust"),
        })?;
    journals.begin(&common, flags.resume.is_some());
    voice.progress.notes(&journals.notes);
    let outputs = reserved.begin(&header)?;
    let sink = Sink::new(outputs, Beside::default(), voice.clone(), targets.are_mock(), false).telling_few(MOST_TOLD);
    let mut race = Race::new(
        (&arguments, &settings),
        &targets,
        kernel,
        (&space, strategy),
        looker,
        &template,
        (&sink, journals.journal()),
    );
    let raced = race.run(session);
    let found = Found::from_race(&race, &arguments);
    let kept = arguments.t4.as_deref().map(|path| found::write_t4(&race, path)).transpose();
    // Whatever ended the search, the rows so far are written whole.
    drop(race);
    let finished = sink.finish();
    voice.progress.notes(journals.journal().and_then(Journal::failure));
    let is_whole = raced.and_then(|is_whole| finished.map(|_| is_whole)).and_then(|is_whole| kept.map(|_| is_whole))?;
    if is_whole {
        journals.finish();
    } else {
        journals.hint().into_iter().for_each(|hint| voice.progress.note(&hint));
    }
    let code = found.tell(&arguments, &voice)?;
    Ok(match interrupt::is_asked() {
        true => EXIT_INTERRUPTED,
        false if voice.has_faults() => EXIT_FAILED,
        false => code,
    })
}

/// The kernel with what its results are compared with, and the configurations that may be.
fn kernel_and_space(
    arguments: &Tune,
    mut subject: Subject,
    device: &DeviceInfo,
    voice: &Voice,
) -> Result<(UserKernel, Space), Error> {
    let mut kernel = UserKernel::new(subject.clone(), device.clone());
    if let Some(text) = &arguments.reference {
        subject.reference = subject::reference(text, &mut kernel)?;
        kernel = UserKernel::new(subject, device.clone());
    }
    let space = space(arguments, &mut kernel, device)?;
    if let Some((point, note)) = subject::instead_of_written(&mut kernel, &space) {
        voice.progress.note(&note);
        kernel.compare_with(Reference::Configuration(point));
    }
    // Whatever the user has to mend shows here, before anything is measured.
    kernel.reference().map_err(|failure| usage(&failure))?;
    Ok((kernel, space))
}

fn usage(failure: &Failure) -> Error {
    Error::Usage(failure.reason.clone())
}

fn space(arguments: &Tune, kernel: &mut UserKernel, device: &DeviceInfo) -> Result<Space, Error> {
    let axes = subject::axes(arguments, kernel, device)?;
    kernel.share(subject::shared(&axes));
    // A restriction that can't be evaluated ends all, and not with the first configuration that happens to ask for it.
    let mut first = None;
    let allows = |point: &Point| {
        let refusal = kernel.refusal(point, &arguments.restrict).map_err(|failure| usage(&failure))?;
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

fn strategy(arguments: &Tune, space: &Space) -> Strategy {
    let usual = match arguments.budget {
        _ if space.len() > SMALL => Strategy::HillClimbing,
        // In their order, it would be spent on the smallest workgroups.
        Some(Budget::Time(_)) => Strategy::Random,
        Some(Budget::Count(count)) if count < space.len() => Strategy::Random,
        _ => Strategy::Exhaustive,
    };
    arguments.strategy.unwrap_or(usual)
}

/// Says what is searched, and what could be.
fn introduce(arguments: &Tune, voice: &Voice, kernel: &mut UserKernel, space: &Space) -> Result<(), Error> {
    let held: Vec<String> = kernel
        .candidates()
        .map_err(|failure| usage(&failure))?
        .iter()
        .filter(|constant| !space.axes().iter().any(|axis| axis.name.strip_prefix(CONSTANT_AXIS) == Some(&constant.name)))
        .map(|constant| format!("{} ({} = {})", constant.name, constant.ty, constant.default))
        .collect();
    let axes: Vec<String> = space.axes().iter().map(|axis| format!("{} x{}", axis.name, axis.values.len())).collect();
    let strategy = strategy(arguments, space);
    let budget = match arguments.budget.unwrap_or(Budget::usual(strategy, space.len())) {
        Budget::Count(count) if count < space.len() => format!(", {count} of them"),
        Budget::Count(_) => String::new(),
        Budget::Time(time) => format!(", for {}", humantime::format_duration(time)),
    };
    let (name, count, axes) = (kernel.name(), space.len(), axes.join(", "));
    let said = format!("{name}: {count} configurations ({axes}), {}{budget}", strategy.as_str());
    // Of a dry run it is a part of the answer.
    if arguments.dry_run {
        voice.progress.answer(&said);
    } else {
        voice.progress.note(&said);
    }
    voice.progress.notes(kernel.note().map_err(|failure| usage(&failure))?);
    for (axis, name) in LOCAL_SIZE_AXES.iter().zip(size_macros(&kernel.subject().shader)) {
        let (Some(name), true) = (name, space.axes().iter().any(|own| own.name == *axis && own.values.len() > 1)) else {
            continue;
        };
        voice.progress.note(&format!(
            "note: {axis} is the shader's macro {name}, and where else that is used, it keeps its value: -D {name}=32,64,128 changes \
             both"
        ));
    }
    voice.progress.notes(one_rows(kernel, space).map_err(|failure| usage(&failure))?);
    for doubt in kernel.doubts().map_err(|failure| usage(&failure))? {
        voice.progress.note(&format!("warning: {}", doubt.words()));
    }
    // Where the shader as it is written can't be, its configurations say what they lack.
    let members = kernel.assumed().unwrap_or_default();
    let told = |is_plain: bool| {
        let assumed = members.iter().filter_map(|member| Some((member, member.assumed.as_ref()?)));
        // Whoever calls one `n` means n.
        let meant = assumed.filter(|(member, assumed)| (member.name == **assumed) == is_plain);
        let each: Vec<String> = meant.map(|(member, assumed)| format!("{} ({}) = {assumed}", member.name, member.ty)).collect();
        (!each.is_empty()).then(|| format!("assumed: {}; --push NAME=VALUE says otherwise", each.join(", ")))
    };
    told(false).into_iter().for_each(|words| voice.progress.note(&words));
    told(true).into_iter().for_each(|words| voice.progress.detail(&words));
    if !held.is_empty() {
        voice.progress.note(&format!("held at their defaults: {}; --axis NAME=VALUES tunes them", held.join(", ")));
    }
    Ok(())
}

/// Directions that the invocations or the shader's code have and the workgroup, as it is written, doesn't: a literal 1 may be a choice,
/// or the shader's need.
fn one_rows(kernel: &mut UserKernel, space: &Space) -> Result<Vec<String>, Failure> {
    let (written, used) = (kernel.local_size()?, kernel.used_directions()?);
    let is_swept = |axis: &str| space.axes().iter().any(|own| own.name == axis);
    let Subject { threads, groups, .. } = kernel.subject();
    let note = |(i, axis): (usize, &&str)| match (threads, groups) {
        _ if written[i].is_some() || is_swept(axis) => None,
        (Some(threads), _) if threads[i].trim() != "1" => Some(format!(
            "{axis} stays 1, as the shader says, though --threads has {} in that direction: --axis {axis}=1,2,4,8 tries other \
             sizes",
            threads[i].trim()
        )),
        (None, None) if used[i] => {
            let (direction, flag) = [("x", "X"), ("y", "X,Y"), ("z", "X,Y,Z")][i];
            Some(format!(
                "the shader uses the {direction} of gl_GlobalInvocationID or gl_WorkGroupID, which is 0 in a single row of invocations: \
                 --threads {flag} gives more"
            ))
        }
        _ => None,
    };
    Ok(LOCAL_SIZE_AXES.iter().enumerate().filter_map(note).collect())
}

/// What two searches have in common that may go on from one another: the same shader and problem, on the same device, and as precise.
fn alike(
    (arguments, settings): (&Tune, &Settings),
    template: &Record,
    subject: &Subject,
    hash: &str,
) -> anyhow::Result<Vec<(&'static str, String)>> {
    let subject = label('s', Sha256::new_with_prefix(serde_json::to_vec(subject)?));
    let precision = format!("{:?} {} {:?}", settings.max_noise(), arguments.no_race, settings.flags.max_time);
    let own = [("shader", hash.to_owned()), ("subject", subject), ("precision", precision)];
    Ok(in_common(template).into_iter().chain(own).collect())
}

fn template(settings: &Settings, targets: &Targets, kernel: &UserKernel, space: &Space) -> Record {
    let device = &targets.device(0).info;
    // Two runs over the same configurations have the same plan.
    let mut plan = Sha256::new_with_prefix(kernel.name());
    space.axes().iter().for_each(|axis| plan.update(format!("\n{}={:?}", axis.name, axis.values)));
    plan.update(format!("\n{} seed={} n={} {}", space.len(), settings.flags.seed, kernel.subject().n, kernel.problem()));
    Record {
        plan_id: label('p', plan),
        plan_cases: Some(space.len() as u64),
        ..device_row(run_row(settings, targets), settings, targets, device)
    }
}
