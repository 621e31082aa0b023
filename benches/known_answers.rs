//! Known answers about the instrument itself, on a real device. A benchmark and not a test: a busy machine may miss them.
//!
//! `cargo bench --bench known_answers [-- DEVICE_INDEX]` prints a line for each answer and fails if one is missed.
//!
//! - k samples in one submission show the same time as k submissions of one sample each: neither the timestamps nor the queries
//!   add up, and a sample does not begin while the one before it still runs.
//! - a batch of 2n passes takes twice the time of n passes, once the floor is taken off.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints what it found")]

use std::process::ExitCode;

use anyhow::{Context, anyhow};
use lanescope::experiments::Setting;
use lanescope::gpu::{Instance, InstanceOptions, Slot};
use lanescope::measure::{Dispatcher, Vulkan};
use lanescope::model::{Cache, Failure, Preset};
use lanescope::plan::{Plan, Request};
use lanescope::shader::{self, Compiler, Library};
use lanescope::stats;

/// How far a ratio may be from its known answer.
const TOLERANCE: f64 = 0.02;
/// Samples per round, of either form.
const SAMPLES: u32 = 8;
/// Rounds: alternating pairs, so that drift touches both sides alike.
const ROUNDS: usize = 31;

fn main() -> ExitCode {
    // cargo bench adds `--bench` to what the user types.
    let index = std::env::args().skip(1).find_map(|argument| argument.parse().ok()).unwrap_or(0);
    match known_answers(index) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn known_answers(index: usize) -> anyhow::Result<bool> {
    let instance = Instance::load(InstanceOptions { validation: false })?;
    let mut device = Vulkan::new(instance.open(index, None)?);
    let info = device.info().clone();
    println!("{} ({})", info.name, info.driver.info);
    let setting = Setting { queue: None, device: &info, preset: Preset::Quick, seed: 1 };
    let n = setting.by_class("2^18", "2^24");
    let mut all = true;
    for (filter, axes) in [
        ("memory/stream", vec![format!("n={n}"), "op=copy".to_owned(), "width=4".to_owned()]),
        ("calibration/sentinel", Vec::new()),
    ] {
        let plan = Plan::new(&Request { filters: vec![filter.to_owned()], axes, cache: Cache::Warm }, setting)?;
        let planned = plan.get(0).context("the plan is empty")?;
        let case = planned.case.map_err(|skip| anyhow!(skip.reason))?;
        let prepared = shader::prepare(case, &mut Compiler::new(Library::embedded())?).map_err(failed)?;
        let slot = device.load(&prepared).map_err(failed)?.slot;
        device.run_checked(slot).map_err(failed)?;
        warm_up(&mut device, slot)?;
        all &= report(
            &format!("{filter}: one submission of {SAMPLES} samples over {SAMPLES} of one"),
            &submissions(&mut device, slot)?,
            1.0,
        );
        all &=
            report(&format!("{filter}: (T(4n) - T(2n)) over (T(2n) - T(n)), n = 8 passes"), &batches(&mut device, slot)?, 2.0);
    }
    Ok(all)
}

fn failed(failure: Failure) -> anyhow::Error {
    anyhow!("{}: {}", failure.status, failure.reason)
}

/// Clocks take up to 450 ms to rise.
fn warm_up(device: &mut dyn Dispatcher, slot: Slot) -> anyhow::Result<()> {
    let until = device.now() + std::time::Duration::from_millis(600);
    while device.now() < until {
        device.sample(slot, 8, 8).map_err(failed)?;
    }
    Ok(())
}

fn times(device: &mut dyn Dispatcher, slot: Slot, batch: u32, samples: u32) -> anyhow::Result<Vec<f64>> {
    let scale = device.tick_scale().context("the queue has no timestamps")?;
    let submission = device.sample(slot, batch, samples).map_err(failed)?;
    Ok(submission.samples.iter().map(|(start, end)| scale.between(*start, *end).0).collect())
}

/// Of each round, the median of k samples in one submission over the median of k submissions of one sample.
fn submissions(device: &mut dyn Dispatcher, slot: Slot) -> anyhow::Result<Vec<f64>> {
    let batch = 16;
    let mut ratios = Vec::new();
    for _ in 0..ROUNDS {
        // The first sample of a round follows the idle time between rounds: both forms discard theirs.
        let together = times(device, slot, batch, SAMPLES + 1)?.split_off(1);
        times(device, slot, batch, 1)?;
        let mut apart = Vec::new();
        for _ in 0..SAMPLES {
            apart.extend(times(device, slot, batch, 1)?);
        }
        ratios.push(stats::median(&together) / stats::median(&apart));
    }
    Ok(ratios)
}

fn batches(device: &mut dyn Dispatcher, slot: Slot) -> anyhow::Result<Vec<f64>> {
    let mut ratios = Vec::new();
    for _ in 0..ROUNDS {
        let mut at = |batch| anyhow::Ok(stats::median(&times(device, slot, batch, SAMPLES + 1)?[1..]));
        let (one, two, four) = (at(8)?, at(16)?, at(32)?);
        ratios.push((four - two) / (two - one));
    }
    Ok(ratios)
}

/// Prints the median ratio with its interval; whether it is near the answer or its interval holds it.
fn report(what: &str, ratios: &[f64], answer: f64) -> bool {
    let ratio = stats::median(ratios);
    let Some(interval) = stats::median_interval(ratios) else { return false };
    let near = (ratio / answer - 1.0).abs() <= TOLERANCE;
    let holds = interval.low <= answer && answer <= interval.high;
    let verdict = if near || holds { "as known" } else { "MISSED" };
    println!("{what}: {ratio:.4} [{:.4}, {:.4}], should be {answer}: {verdict}", interval.low, interval.high);
    near || holds
}
