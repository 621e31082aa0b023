//! `lanescope explain`: what limits a kernel on a device.

mod explained;
mod text;

use std::ffi::OsString;

use clap::Parser;

use super::args::explain::{AnswerFormat, Explain};
use super::overwriting::Files;
use super::recorded::{hardware, limits, orders, refused};
use super::stdout::{print, print_as_is};
use super::tune::{self, Circumstances};
use crate::campaign::settings::Settings;
use crate::campaign::trace::passes::trace;
use crate::campaign::trace::{Order, Traces};
use crate::campaign::{Campaign, interrupt, lock};
use crate::error::{EXIT_INTERRUPTED, EXIT_OK, Error};
use crate::experiments::{self, Config, Setting};
use crate::explain::measured::{Taken, measure};
use crate::explain::reliefs::{self, Outcome, Tried};
use crate::measure::CaseKey;
use crate::model::{Case, DeviceInfo, Failure, Preset, QueueChoice, Skip, Status};
use crate::output::{Page, json};
use crate::shader::Relief;
use crate::subject::{FixedKernel, KernelSpec};
use crate::worker::questions::trace::Relievable;
use explained::Explained;

/// The command line once more, for flags of which a manifest has a part.
#[derive(Parser)]
#[command(name = "lanescope explain", args_override_self = true)]
struct Whole {
    #[command(flatten)]
    explain: Explain,
}

pub fn explain(typed: Explain, words: impl Iterator<Item = OsString>) -> anyhow::Result<u8> {
    let typed = with_manifest(typed, words)?;
    typed.case.colours.choose();
    Files::default().reading("the rows", &typed.rows).check()?;
    let mut campaign = Campaign::new(Settings::from(&typed), None)?;
    let device = campaign.targets.device(0).info.clone();
    let limits = limits(&typed.rows, &device)?;
    let hardware = hardware(None, &typed.rows, &device, false)?;
    let orders = orders(&typed.case, &hardware, &device, false)?;
    let Some(order) = orders.into_iter().next() else { return Ok(EXIT_OK) };
    let order = Order { is_explained: true, ..order };
    let Some(_locks) = lock::take_all(&campaign.settings, &campaign.targets, &campaign.voice)? else {
        return Ok(EXIT_INTERRUPTED);
    };
    let (key, case) = timed(&order, &device, &mut campaign.settings).map_err(refused)?;
    let found = traced_and_measured(&campaign, &order, &key, &case);
    if interrupt::is_asked() {
        return Ok(EXIT_INTERRUPTED);
    }
    let (traces, taken, tried) = found.map_err(refused)?;
    let explained = Explained { tried, ..Explained::new(&device, &traces, taken, &hardware, &limits) };
    show(&typed, &explained)?;
    explained.judged(typed.fail_on)
}

/// Flags with what their manifest says, the queue and robust access among that; the command line's own win.
fn with_manifest(typed: Explain, words: impl Iterator<Item = OsString>) -> Result<Explain, Error> {
    let Some(path) = &typed.case.described.manifest else { return Ok(typed) };
    let has_shader = typed.case.described.shader.is_some();
    let mut all = tune::with_kernel::<Whole>(path, has_shader, words)?.explain;
    let own = if has_shader { Circumstances::default() } else { tune::kernel_of(path, all.case.seed)?.1 };
    if all.case.queue == QueueChoice::Usual {
        all.case.queue = own.queue;
    }
    all.robust |= own.is_robust;
    Ok(all)
}

/// The case as it is measured.
fn timed(order: &Order, device: &DeviceInfo, settings: &mut Settings) -> Result<(CaseKey, Case), Failure> {
    let skipped = |Skip { reason }: Skip| Failure::new(Status::Skipped, reason);
    let key = order.key.clone();
    let Some(subject) = &order.subject else {
        let setting = Setting { device, queue: settings.queue.of(device), preset: Preset::Quick, seed: settings.seed };
        let experiment = experiments::find(&key.experiment);
        let experiment = experiment.ok_or_else(|| Failure::new(Status::Error, "the catalogue has no such case"))?;
        let case = experiment.case(&Config::new(&key.variant, &key.point, &setting)).map_err(skipped)?;
        return Ok((key, case));
    };
    let kernel = FixedKernel { spec: KernelSpec { is_traced: false, ..subject.clone() }, point: key.point.clone() };
    let case = kernel.describe(&mut kernel.on(device))?;
    let key = CaseKey { experiment: kernel.name(), ..key };
    settings.kernels = vec![kernel];
    Ok((key, case))
}

fn traced_and_measured(
    campaign: &Campaign,
    order: &Order,
    key: &CaseKey,
    case: &Case,
) -> Result<(Traces, Taken, Vec<Tried>), Failure> {
    let progress = &campaign.voice.progress;
    let traces = trace(campaign, order, progress, None)?;
    let is_cpu = campaign.targets.device(0).info.is_cpu();
    let possible = traces.reliefs.iter().filter(|(_, answer)| *answer == Relievable::Yes && !is_cpu);
    let possible: Vec<Relief> = possible.map(|(relief, _)| *relief).collect();
    let bar = progress.bar("", 1 + 2 * possible.len() as u64).untimed();
    let mut times = measure(campaign, key, case, reliefs::cases(key, &possible), &bar)?.into_iter();
    let taken = times.next().unwrap_or_else(|| Err(Failure::new(Status::Error, "it wasn't measured")))?;
    let mut tried = Vec::new();
    for relief in possible {
        let (Some(placebo), Some(relieved)) = (times.next(), times.next()) else { break };
        tried.push(Tried { relief, outcome: reliefs::outcome(&taken, &placebo, &relieved) });
    }
    for (relief, answer) in &traces.reliefs {
        if let Relievable::No(why) = answer {
            tried.push(Tried { relief: *relief, outcome: Outcome::NotTried(why.clone()) });
        }
    }
    Ok((traces, taken, tried))
}

fn show(typed: &Explain, explained: &Explained) -> anyhow::Result<()> {
    match typed.format {
        AnswerFormat::Text => print(&text::text(explained, Page::stdout()))?,
        AnswerFormat::Markdown => print_as_is(&text::markdown(explained))?,
        AnswerFormat::Json => print_as_is(&json(&explained.answer())?)?,
    };
    Ok(())
}
