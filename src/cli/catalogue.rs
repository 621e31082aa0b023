//! `lanescope list` and `lanescope describe`: the catalogue, without touching a driver.

use std::fmt::Write;

use super::args::{Describe, List};
use super::prose::{rendered, wrapped};
use super::stdout::print;
use crate::experiments::{self, CATALOGUE, DERIVATIONS, Derivation, Experiment, Setting, Text, derived_with};
use crate::model::{Axis, AxisKind, DeviceInfo, DeviceKind, Preset};
use crate::plan;

/// More values or variants than this are shown by both ends.
const SHOWN_VALUES: usize = 12;

/// The longest line of a description, in characters.
const WIDTH: usize = 100;

/// What stands before the description of an axis.
const INDENT: &str = "      ";

/// Prints the experiments that match.
pub fn list(arguments: &List) -> anyhow::Result<u8> {
    let device = nominal_device();
    let filters: Vec<String> = arguments.filter.iter().cloned().collect();
    let mut text = String::new();
    for selection in plan::select(&filters, &setting(&device))? {
        let name = selection.experiment.name();
        writeln!(text, "{name:24} {}", said(name).summary)?;
        let variants: Vec<&str> = selection.variants.into_iter().filter(|variant| !variant.is_empty()).collect();
        if !variants.is_empty() {
            writeln!(text, "    variants: {}", shortened(&variants, "variants"))?;
        }
        let derived = derived_with(selection.experiment);
        if !derived.is_empty() {
            writeln!(text, "    derives: {}", derived.join(", "))?;
        }
        for axis in &selection.axes {
            writeln!(text, "    {} = {}", axis.name, defaults(axis))?;
        }
    }
    text.push_str("\nValues are the defaults for a discrete GPU; `lanescope run --dry-run` shows those for your device.\n");
    print(&text)
}

/// Prints what there is to know about one experiment, about a derivation, or about what derives figures under a name.
pub fn describe(arguments: &Describe) -> anyhow::Result<u8> {
    let text = described(&arguments.name)?;
    if text.is_empty() {
        return Err(plan::unknown_experiment(&arguments.name).into());
    }
    print(&text)
}

/// What there is to say under a name; nothing where nothing has it.
fn described(name: &str) -> Result<String, std::fmt::Error> {
    let derivations = DERIVATIONS.iter().filter(|derivation| derivation.name() == name).map(|one| Ok(derivation(*one)));
    let is_it = |experiment: &&&dyn Experiment| experiment.name() == name || experiment.derived().contains(&name);
    let experiments = CATALOGUE.iter().filter(is_it).map(|one| description(*one));
    Ok(derivations.chain(experiments).collect::<Result<Vec<_>, _>>()?.join("\n"))
}

fn derivation(derivation: &dyn Derivation) -> String {
    let Text { summary, body } = said(derivation.name());
    let sources = Vec::from_iter(derivation.sources()).join(", ");
    let drawn = wrapped(&format!("Derived from rows of: {sources}"), WIDTH);
    format!("{}: {summary}\n\n{}\n\n{drawn}\n", derivation.name(), rendered(body, WIDTH))
}

fn description(experiment: &dyn Experiment) -> Result<String, std::fmt::Error> {
    let device = nominal_device();
    let Text { summary, body } = said(experiment.name());
    let mut text = format!("{}: {summary}\n\n{}\n", experiment.name(), rendered(body, WIDTH));
    let variants: Vec<&str> = experiment.variants().iter().copied().filter(|variant| !variant.is_empty()).collect();
    if !variants.is_empty() {
        writeln!(text, "\n{}", wrapped(&format!("Variants: {}", variants.join(", ")), WIDTH))?;
    }
    let derived = derived_with(experiment);
    if !derived.is_empty() {
        writeln!(text, "\nDerived rows: {}", derived.join(", "))?;
    }
    let axes = experiment.axes(&setting(&device));
    if !axes.is_empty() {
        text.push_str("\nAxes (with the defaults for a discrete GPU):\n");
    }
    for axis in &axes {
        let values = wrapped(&format!("{} = {}", axis.name, defaults(axis)), WIDTH - INDENT.len());
        writeln!(text, "  {}", values.replace('\n', &format!("\n{INDENT}")))?;
        let described = wrapped(&format!("{}; {}", axis.description, range(axis)), WIDTH - INDENT.len());
        described.lines().try_for_each(|line| writeln!(text, "{INDENT}{line}"))?;
    }
    Ok(text)
}

fn said(name: &str) -> Text {
    experiments::text(name).unwrap_or(Text { summary: "", body: "" })
}

fn range(axis: &Axis) -> String {
    let takes = axis.takes();
    if matches!(axis.kind, AxisKind::AtLeast(_)) { takes } else { format!("one of {takes}") }
}

fn defaults(axis: &Axis) -> String {
    let values: Vec<String> = axis.defaults.iter().map(ToString::to_string).collect();
    shortened(&values.iter().map(String::as_str).collect::<Vec<_>>(), "values")
}

fn shortened(words: &[&str], what: &str) -> String {
    match words.len() {
        0..=SHOWN_VALUES => words.join(", "),
        count => format!("{}, ..., {} ({count} {what})", words[..4].join(", "), words[count - 1]),
    }
}

/// What defaults are shown for: no driver is asked, so that the catalogue is there without one.
fn nominal_device() -> DeviceInfo {
    DeviceInfo { kind: DeviceKind::Discrete, ..DeviceInfo::mock() }
}

fn setting(device: &DeviceInfo) -> Setting<'_> {
    Setting { queue: None, device, preset: Preset::Default, seed: 1 }
}

#[cfg(test)]
mod tests {
    use pulldown_cmark::{Event, Parser, Tag};

    use super::*;

    #[test]
    fn every_experiment_says_what_it_asks_and_how_to_read_it() {
        let derivations = DERIVATIONS.iter().map(|derivation| derivation.name());
        for name in CATALOGUE.iter().map(|experiment| experiment.name()).chain(derivations) {
            let Text { summary, body } = experiments::text(name).unwrap();
            let begins = ["- Question: ", "\n- Unit: ", "\n- At a glance: ", "\n## How to read it\n"];
            let places: Vec<Option<usize>> = begins.iter().map(|begin| body.find(begin)).collect();
            assert!(!summary.is_empty() && places[0] == Some(0) && places.is_sorted(), "{name}: {places:?}");
            // Markup that nobody meant, such as two stars, would eat characters.
            let is_meant = |event: Event| !matches!(event, Event::Start(Tag::Emphasis | Tag::HtmlBlock) | Event::InlineHtml(_));
            assert!(Parser::new(body).all(is_meant), "{name}");
            assert!(described(name).unwrap().lines().all(|line| line.chars().count() <= WIDTH), "{name}");
        }
    }
}
