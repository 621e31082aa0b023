//! `lanescope explain`: what limits a kernel on a device.

mod explained;
mod page;
mod text;

use std::ffi::OsString;

use clap::Parser;

use super::args::explain::{AnswerFormat, Explain};
use super::overwriting::Files;
use super::recorded::{hardware, limits, orders, refused};
use super::stdout::{print, print_as_is};
use super::trace::source::annotated;
use super::tune::{self, Circumstances};
use crate::campaign::settings::Settings;
use crate::campaign::trace::passes::trace;
use crate::campaign::trace::rows::site_rows;
use crate::campaign::trace::{Order, Tries};
use crate::campaign::{Campaign, interrupt, lock};
use crate::error::{EXIT_INTERRUPTED, EXIT_OK, Error};
use crate::experiments::{self, Config, Setting};
use crate::explain::trials;
use crate::explain::tried::{self, Subject};
use crate::measure::CaseKey;
use crate::model::{DeviceInfo, Failure, Point, Preset, QueueChoice, Skip, Status};
use crate::output::{Page, json, write_whole};
use crate::subject::{FixedKernel, UserKernel};
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
    Files::default().reading("the rows", &typed.rows).writing("--output", &typed.output).check()?;
    let mut campaign = Campaign::new(Settings::from(&typed), None)?;
    let device = campaign.targets.device(0).info.clone();
    let limits = limits(&typed.rows, &device)?;
    let hardware = hardware(None, &typed.rows, &device, false)?;
    let orders = orders(&typed.case, &hardware, &device, false)?;
    let Some(order) = orders.into_iter().next() else { return Ok(EXIT_OK) };
    let points = local_sizes(&order, &device).map_err(refused)?;
    let order = Order { tries: Some(Tries { alterations: trials::alterations, limits: device.limits, points }), ..order };
    let Some(_locks) = lock::take_all(&campaign.settings, &campaign.targets, &campaign.voice)? else {
        return Ok(EXIT_INTERRUPTED);
    };
    let subject = subject(&order, &device, &mut campaign.settings).map_err(refused)?;
    let traces = trace(&campaign, &order, &campaign.voice.progress, None);
    let found = traces.and_then(|traces| Ok((tried::measure(&mut campaign, &subject, &traces)?, traces)));
    if interrupt::is_asked() {
        return Ok(EXIT_INTERRUPTED);
    }
    let ((taken, tried), traces) = found.map_err(refused)?;
    let explained = Explained::new(&device, &traces, (taken, tried), &order, &limits);
    show(&typed, &explained)?;
    if let Some(path) = &typed.output {
        let rows = site_rows(&traces, &order, &device);
        write_whole(path, &page::page(&explained, annotated(&rows, order.subject.as_ref())))?;
    }
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

/// Other sizes of workgroups that are worth a try.
fn local_sizes(order: &Order, device: &DeviceInfo) -> Result<Vec<Point>, Failure> {
    let Some(subject) = &order.subject else { return Ok(Vec::new()) };
    tried::local_sizes(&mut UserKernel::new(subject.clone(), device.clone()), device, &order.key.point)
}

/// The case as it is measured: what is traced and tried of it is the same module.
fn subject(order: &Order, device: &DeviceInfo, settings: &mut Settings) -> Result<Subject, Failure> {
    let skipped = |Skip { reason }: Skip| Failure::new(Status::Skipped, reason);
    let key = order.key.clone();
    let Some(subject) = &order.subject else {
        let setting = Setting { device, queue: settings.queue.of(device), preset: Preset::Quick, seed: settings.seed };
        let experiment = experiments::find(&key.experiment);
        let experiment = experiment.ok_or_else(|| Failure::new(Status::Error, "the catalogue has no such case"))?;
        let case = experiment.case(&Config::new(&key.variant, &key.point, &setting)).map_err(skipped)?;
        return Ok(Subject { key, case, kernel: None });
    };
    let kernel = FixedKernel { spec: subject.clone(), point: key.point.clone() };
    let case = kernel.describe(&mut kernel.on(device))?;
    let key = CaseKey { experiment: kernel.name(), ..key };
    settings.kernels = vec![kernel.clone()];
    Ok(Subject { key, case, kernel: Some(kernel) })
}

fn show(typed: &Explain, explained: &Explained) -> anyhow::Result<()> {
    match typed.format {
        AnswerFormat::Text => print(&text::text(explained, Page::stdout()))?,
        AnswerFormat::Markdown => print_as_is(&text::markdown(explained))?,
        AnswerFormat::Json => print_as_is(&json(&explained.answer())?)?,
    };
    Ok(())
}
