//! `lanescope trace`: every access of a shader, and what it costs the memory system.

mod checked;
mod page;
pub mod source;
pub mod text;
pub mod verdict;

use std::ffi::OsString;
use std::io::{BufWriter, Write};
use std::path::Path;

use clap::Parser;
use serde::Serialize;

use super::args::trace::{Allowed, Trace};
use super::overwriting::Files;
use super::recorded::{hardware, orders, refused};
use super::stdout::{print, print_as_is};
use super::tune;
use crate::campaign::settings::Settings;
use crate::campaign::trace::findings::faults;
use crate::campaign::trace::passes::trace as recorded;
use crate::campaign::trace::rows::site_rows;
use crate::campaign::trace::{AccessRows, DispatchTrace, Order, Traces};
use crate::campaign::{Campaign, interrupt, lock};
use crate::error::{EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, Error};
use crate::output::trace::Rows;
use crate::output::{Page, open_file, write_whole};
use crate::staged::Staged;
use crate::trace::check::Class;
use verdict::FailOn;

/// The command line once more, for flags of which a manifest has a part.
#[derive(Parser)]
#[command(name = "lanescope trace", args_override_self = true)]
struct Whole {
    #[command(flatten)]
    trace: Trace,
}

pub fn trace(typed: Trace, words: impl Iterator<Item = OsString>) -> anyhow::Result<u8> {
    let typed = match &typed.case.described.manifest {
        Some(path) => tune::with_kernel::<Whole>(path, typed.case.described.shader.is_some(), words)?.trace,
        None => typed,
    };
    typed.case.colours.choose();
    check_bounds(&typed)?;
    let campaign = Campaign::new(Settings::from(&typed.case), None)?;
    let device = &campaign.targets.device(0).info;
    let hardware = hardware(typed.model.as_deref(), &typed.rows, device, true)?;
    let orders = orders(&typed.case, &hardware, device, typed.check)?;
    let Some(order) = orders.first() else { return Ok(EXIT_OK) };
    check_files(&typed, order)?;
    if !typed.rows.is_empty() && !order.hardware.is_measured() {
        campaign.voice.progress.note("note: the rows tell no size of sectors or banks, as where steps don't stand out");
    }
    let Some(_locks) = lock::take_all(&campaign.settings, &campaign.targets, &campaign.voice)? else {
        return Ok(EXIT_INTERRUPTED);
    };
    if typed.check {
        return check(&typed, &campaign, &orders);
    }
    let traces = match recorded_to(&campaign, order, typed.records.as_deref()) {
        Err(_) if interrupt::is_asked() => return Ok(EXIT_INTERRUPTED),
        traces => traces?,
    };
    let rows = site_rows(&traces, order, device);
    let mut text = text::text(&traces, order, device, Page::stdout());
    if typed.source {
        text += &source::annotated(&rows, order.subject.as_ref());
    }
    let faults: Result<Vec<Vec<String>>, Error> = typed.fail_on.iter().map(|bound| bound.faults(&rows)).collect();
    if let Some(path) = &typed.page {
        write_whole(path, &page::costs(&traces, &rows, order, device))?;
    }
    let output = || as_csv(&rows);
    show(&typed, &output, &text, faults.as_ref().map(|faults| faults.concat()).unwrap_or_default())?;
    let is_well = faults?.concat().is_empty() && traces.dispatches.iter().all(is_known);
    Ok(if is_well { EXIT_OK } else { EXIT_FAILED })
}

/// Whether it is as it was without recording, and there is a workgroup of which something is known.
fn is_known(dispatch: &DispatchTrace) -> bool {
    dispatch.wrong.is_none() && dispatch.known() > 0
}

/// Shows what `--check` finds in each of them.
fn check(typed: &Trace, campaign: &Campaign, orders: &[Order]) -> anyhow::Result<u8> {
    let device = &campaign.targets.device(0).info;
    let allows_same_value = typed.allow.contains(&Allowed::SameValue);
    let classes: Vec<Class> = typed.fail_on.iter().filter_map(|bound| bound.classes(allows_same_value)).flatten().collect();
    let (mut rows, mut texts, mut failed, mut is_well) = (Vec::new(), Vec::new(), Vec::new(), true);
    for order in orders {
        let traces = match recorded_to(campaign, order, None) {
            Err(_) if interrupt::is_asked() => return Ok(EXIT_INTERRUPTED),
            Err(error) if orders.len() > 1 => {
                is_well = false;
                texts.push(format!("{}: {error:#}\n", order.key.experiment));
                continue;
            }
            traces => traces?,
        };
        rows.extend(checked::rows(&traces, order, device));
        texts.push(checked::text(&traces, order, device, Page::stdout()));
        failed.extend(faults(&traces.dispatches, |cause, _| classes.contains(&cause.class)));
        failed.extend(checked::beyond(&traces, order).into_iter().filter(|_| classes.contains(&Class::Bounds)));
        is_well &= traces.dispatches.iter().all(is_known);
    }
    if let Some(path) = &typed.page {
        let of = orders.first().map(|order| order.key.experiment.as_str()).unwrap_or_default();
        let subject = orders.first().and_then(|order| order.subject.as_ref());
        write_whole(path, &page::findings_of_check(&rows, &texts, subject, of, device))?;
    }
    is_well &= failed.is_empty();
    show(typed, &|| as_csv(&rows), &texts.join("\n"), failed)?;
    Ok(if is_well { EXIT_OK } else { EXIT_FAILED })
}

/// Writes the rows, and shows what is to be shown. What a bound can't judge is shown all the same.
fn show(typed: &Trace, rows: &dyn Fn() -> std::io::Result<Vec<u8>>, text: &str, faults: Vec<String>) -> anyhow::Result<()> {
    if typed.output.as_deref().is_some_and(is_stdout) {
        print_as_is(&String::from_utf8(rows()?)?)?;
        anyhow::ensure!(faults.is_empty(), "{}", faults.join("; "));
        return Ok(());
    }
    if let Some(path) = &typed.output {
        Staged::new(path).write(&rows()?).map_err(Error::unwritable(path))?;
    }
    let failed: String = faults.iter().map(|fault| format!("Failed: {fault}\n")).collect();
    let space = if failed.is_empty() { "" } else { "\n" };
    print(&format!("{text}{space}{failed}")).map(drop)
}

/// Records, with a row for each access in a file where one is named: it is there once all are.
fn recorded_to(campaign: &Campaign, order: &Order, accesses: Option<&Path>) -> anyhow::Result<Traces> {
    let run = |rows: Option<&mut AccessRows>| recorded(campaign, order, &campaign.voice.progress, rows).map_err(refused);
    let Some(path) = accesses else { return run(None) };
    Staged::new(path).fill(|to| {
        let (file, _) = open_file(to).map_err(Error::unwritable(path))?;
        let mut rows: AccessRows = Rows::new(Box::new(BufWriter::new(file)));
        let traces = run(Some(&mut rows))?;
        rows.finish().and_then(|mut out| out.flush()).map_err(Error::unwritable(path))?;
        Ok(traces)
    })
}

fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

fn as_csv(all: &[impl Serialize]) -> std::io::Result<Vec<u8>> {
    let mut rows = Rows::new(Vec::new());
    all.iter().try_for_each(|row| rows.write(row))?;
    rows.finish()
}

/// Bounds of costs are of traces without `--check`, and the others of those with it.
fn check_bounds(typed: &Trace) -> Result<(), Error> {
    let is_other = |bound: &&FailOn| bound.classes(true).is_some() != typed.check;
    match typed.fail_on.iter().find(is_other) {
        None => Ok(()),
        Some(bound) if typed.check => {
            Err(Error::Usage(format!("--fail-on {}: --check looks for no costs; leave out one of the two", bound.text())))
        }
        Some(bound) => {
            Err(Error::Usage(format!("--fail-on {}: only --check looks for that: say --check as well", bound.text())))
        }
    }
}

/// What is written is apart from what is read, and can be.
fn check_files(typed: &Trace, order: &Order) -> Result<(), Error> {
    let mut files = Files::default().reading("the manifest", &typed.case.described.manifest);
    files = files.reading("the rows", &typed.rows).reading("the model", &typed.model);
    for (what, path) in order.subject.iter().flat_map(|subject| subject.files().unwrap_or_default()) {
        files = files.reading(what, [path]);
    }
    for (flag, path) in [("--records", &typed.records), ("--page", &typed.page)] {
        if path.as_deref().is_some_and(is_stdout) {
            return Err(Error::Usage(format!("{flag}: name a file, standard output has the answer")));
        }
    }
    let output = typed.output.as_ref().filter(|path| !is_stdout(path));
    if typed.source && output.is_none() && typed.output.is_some() {
        return Err(Error::Usage("--source: standard output has the rows of -o -; name a file for them".to_owned()));
    }
    files.writing("--output", output).writing("--records", &typed.records).writing("--page", &typed.page).check()?;
    output
        .into_iter()
        .chain(&typed.records)
        .chain(&typed.page)
        .try_for_each(|path| Staged::new(path).check().map_err(Error::unwritable(path)))
}
