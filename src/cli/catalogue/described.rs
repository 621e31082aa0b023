//! What there is to know about one experiment or derivation, for people.

use super::entry::{CatalogueEntry, entries, headlines, said};
use super::nominal::{gpu, processor, setting};
use super::words::{defaults, hanging, whose};
use crate::error::Error;
use crate::experiments::{CATALOGUE, DERIVATIONS, Derivation, Experiment, Text, derived_with};
use crate::model::{Axis, AxisKind, DeviceInfo, Headline};
use crate::output::prose::{rendered, wrapped};
use crate::plan::Estimate;

const INDENT: &str = "      ";

/// What there is to say under a name, which may be that of what is derived; nothing where nothing has it.
pub fn described(name: &str, width: usize) -> Result<String, Error> {
    let derivations = DERIVATIONS.iter().filter(|derivation| derivation.name == name).map(|one| Ok(derivation(one, width)));
    let is_it = |experiment: &&&Experiment| experiment.name() == name || experiment.derived.contains(&name);
    let experiments = CATALOGUE.iter().filter(is_it).map(|one| description(one, width));
    Ok(derivations.chain(experiments).collect::<Result<Vec<_>, _>>()?.join("\n"))
}

fn derivation(derivation: &Derivation, width: usize) -> String {
    let text = said(derivation.name);
    let sources = Vec::from_iter((derivation.sources)()).join(", ");
    let unit = text.point("Unit");
    let answer = unit.split([';', '.']).next().unwrap_or_default();
    let time = format!("none of its own: it follows from rows of other experiments, and comes with {}", derivation.asked_by);
    let drawn = wrapped(&format!("Derived from rows of: {sources}"), width);
    format!("{}\n{}\n\n{drawn}\n", opening(derivation.name, answer, &time, width), body(&text, width))
}

fn description(experiment: &'static Experiment, width: usize) -> Result<String, Error> {
    let device = gpu();
    let entries = entries(&[experiment.name().to_owned()], &setting(&device))?;
    Ok(entries.iter().map(|entry| page(entry, &device, width)).collect())
}

fn page(entry: &CatalogueEntry, device: &DeviceInfo, width: usize) -> String {
    let mut page = opening(entry.name(), &answer(entry, device), &time(entry), width);
    page.push_str(&format!("\n{}\n", body(&said(entry.name()), width)));
    let lists = [("Variants", entry.variants.clone()), ("Derived rows", derived_with(entry.experiment))];
    for (title, names) in lists.into_iter().filter(|(_, names)| !names.is_empty()) {
        page.push_str(&format!("\n{}\n", wrapped(&format!("{title}: {}", names.join(", ")), width)));
    }
    page + &axes(entry, device, width)
}

/// The three lines that everybody reads: the question, what answers it, and how long that takes.
fn opening(name: &str, answer: &str, time: &str, width: usize) -> String {
    let question = said(name).point("Question");
    let lines = [format!("{name}: {question}"), format!("Answer: {answer}"), format!("Time: {time}")];
    lines.map(|line| hanging(&line, width, 2) + "\n").concat()
}

/// Its text without the question, which the page begins with.
fn body(text: &Text, width: usize) -> String {
    let behind = text.body.find("\n- ").map_or(text.body, |place| &text.body[place + 1..]);
    rendered(behind, width)
}

fn answer(entry: &CatalogueEntry, device: &DeviceInfo) -> String {
    let all = headlines(&entry.sweep(setting(device)));
    let unit =
        |headline: &Headline| if headline.unit == "ratio" { "as a ratio".to_owned() } else { format!("in {}", headline.unit) };
    let figures: Vec<String> = all.iter().map(|headline| format!("{} {}", headline.name, unit(headline))).collect();
    let better = match all.first().map_or("", |headline| headline.better) {
        "" => "neither higher nor lower is better".to_owned(),
        better => format!("{better} is better"),
    };
    format!("{}; {better}", figures.join(" or "))
}

fn time(entry: &CatalogueEntry) -> String {
    let of = |device: DeviceInfo| Estimate::new(&entry.sweep(setting(&device)), &device);
    let (gpu, processor) = (of(gpu()), of(processor()));
    let cases =
        if gpu.cases == processor.cases { gpu.cases.to_string() } else { format!("{} and {}", gpu.cases, processor.cases) };
    let plural = if cases == "1" { "" } else { "s" };
    format!("{gpu} on a GPU, {processor} on a processor (estimate{plural} for {cases} case{plural})")
}

fn axes(entry: &CatalogueEntry, device: &DeviceInfo, width: usize) -> String {
    let axes = entry.axes();
    if axes.is_empty() {
        return String::new();
    }
    let title = wrapped(&format!("Axes, with the defaults of {}:", whose(device)), width);
    let axes = axes.iter().flat_map(|(axis, values)| axis_lines(axis, &defaults(values), width));
    std::iter::once(format!("\n{title}\n")).chain(axes).collect()
}

fn axis_lines(axis: &Axis, defaults: &str, width: usize) -> Vec<String> {
    let width = width - INDENT.len();
    let values = hanging(&format!("{} = {defaults}", axis.name), width, INDENT.len() - 2);
    let values = values.lines().map(|line| format!("  {line}\n")).collect::<Vec<_>>();
    let described = wrapped(&format!("{}; {}", axis.description, range(axis)), width);
    values.into_iter().chain(described.lines().map(|line| format!("{INDENT}{line}\n"))).collect()
}

fn range(axis: &Axis) -> String {
    let takes = axis.takes();
    if matches!(axis.kind, AxisKind::AtLeast(_)) { takes } else { format!("one of {takes}") }
}
