//! `lanescope run`: the pipeline from plan to rows.

use std::io::IsTerminal;

use super::args::Run;
use super::device_run::{DeviceRun, Pairing};
use super::host::{describe_host, describe_mock_host};
use super::sink::Sink;
use super::target::Targets;
use super::tools::{check_evictor, evict_bytes};
use crate::error::Error;
use crate::experiments::Setting;
use crate::model::{Cache, DeviceInfo};
use crate::output::{self, Format, Target};
use crate::plan::{Plan, Request};
use crate::record::{Header, Record};
use crate::shader::glsl_compiler;

/// Runs experiments on devices and writes rows.
pub fn run(arguments: &Run) -> anyhow::Result<u8> {
    let targets = Targets::resolve(arguments)?;
    let cache = if arguments.cold { Cache::Cold } else { Cache::Warm };
    let request = Request { filters: arguments.filters.clone(), axes: arguments.axis.clone(), cache };
    let plans = targets
        .devices()
        .iter()
        .map(|device| {
            Plan::new(&request, Setting { device, queue: arguments.queue, preset: arguments.preset(), seed: arguments.seed })
        })
        .collect::<Result<Vec<_>, _>>()?;
    if arguments.cold {
        let mut devices = targets.devices().iter();
        devices.try_for_each(|device| check_evictor(device, evict_bytes(arguments.evict_bytes, device)))?;
    }
    if arguments.paired {
        check_pairs(&plans)?;
    }
    let header = Header::new(plans.iter().flat_map(Plan::axis_names));
    let outputs = output::open(&output_targets(arguments)?, &header)?;

    let cases = plans.iter().map(Plan::len).fold(0, u64::saturating_add);
    let mut sink = Sink::new(outputs, arguments, cases, targets.are_mock());
    let measured = run_devices(arguments, &targets, &plans, &mut sink);
    // Whatever ended the run, the rows so far are written whole.
    let code = sink.finish();
    measured.and(code)
}

fn run_devices(arguments: &Run, targets: &Targets, plans: &[Plan], sink: &mut Sink) -> anyhow::Result<()> {
    // One for all devices: their rows are of one run.
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
    for (device, plan) in targets.devices().iter().zip(plans) {
        let template = template(&run, arguments, targets, device, plan);
        if sink.closed {
            break;
        }
        if arguments.dry_run {
            dry_run(plan, device, &template, sink)?;
        } else {
            let pairing = match (arguments.paired, &plans[0]) {
                (false, _) => Pairing::None,
                (true, first) if std::ptr::eq(first, plan) && plans.len() > 1 => Pairing::None,
                (true, first) if plans.len() > 1 => Pairing::Device(&targets.devices()[0], first),
                (true, _) => Pairing::Bases,
            };
            DeviceRun { arguments, targets, device, plan, pairing, template, sink }.run()?;
        }
        // Those of a case are in its row; these came when the device was closed.
        for message in targets.messages() {
            sink.fault(&format!("validation: {message}"));
        }
    }
    Ok(())
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

/// Files as named; standard output where it is named, where no file is, and beside files for a person at a terminal.
fn output_targets(arguments: &Run) -> Result<Vec<(Target, Format)>, Error> {
    let is_terminal = std::io::stdout().is_terminal();
    let for_stdout = arguments.format.unwrap_or(Format::for_stdout(is_terminal));
    let mut targets = Vec::new();
    for path in &arguments.output {
        let target = Target::from_argument(path);
        let format = match (&target, arguments.format) {
            (Target::Stdout, _) => for_stdout,
            (Target::File(path), None) => Format::from_path(path)?,
            (Target::File(path), Some(format)) => Format::from_path(path).unwrap_or(format),
        };
        targets.push((target, format));
    }
    if targets.is_empty() || (is_terminal && targets.iter().all(|(target, _)| *target != Target::Stdout)) {
        targets.push((Target::Stdout, for_stdout));
    }
    Ok(targets)
}

/// A row with all that is the same for one device of a run.
fn template(run: &Record, arguments: &Run, targets: &Targets, device: &DeviceInfo, plan: &Plan) -> Record {
    let mut row = run.clone();
    row.describe_device(device);
    row.layers = targets.layers();
    row.queue_family = arguments.queue.or_else(|| device.default_queue().map(|family| family.index)).map(u64::from);
    row.validation = Some(arguments.validation);
    row.robustness = Some(false);
    row.seed = Some(arguments.seed);
    plan.id().clone_into(&mut row.plan_id);
    row.plan_cases = Some(plan.len());
    row
}

fn dry_run(plan: &Plan, device: &DeviceInfo, template: &Record, sink: &mut Sink) -> anyhow::Result<()> {
    for planned in plan.iter() {
        let mut row = template.clone();
        row.describe_case(&planned, device);
        sink.write(row)?;
        sink.progress.advance(1);
        if sink.closed {
            break;
        }
    }
    Ok(())
}
