//! What the catalogue says of one experiment: its variants, its axes with their values, its figures, and its text.

use std::cmp::Reverse;

use crate::error::Error;
use crate::experiments::{Experiment, Setting, Text, text};
use crate::model::{Axis, AxisValue, Headline};
use crate::plan::{Plan, Selection, select};

/// An experiment, or those of its variants that are meant.
pub struct CatalogueEntry {
    pub experiment: &'static Experiment,
    /// Its variants that are meant, in its own order, each once; none where it has but a nameless one.
    pub variants: Vec<&'static str>,
    /// The same, apart where their axes have other values by default.
    selections: Vec<Selection>,
}

pub struct Defaults<'e> {
    pub values: &'e [AxisValue],
    pub variants: Vec<&'static str>,
}

impl CatalogueEntry {
    pub fn name(&self) -> &'static str {
        self.experiment.name()
    }

    pub fn summary(&self) -> &'static str {
        said(self.name()).summary
    }

    /// Its axes, each with the values that its variants have by default: mostly all the same, else those of most variants first.
    pub fn axes(&self) -> Vec<(&Axis, Vec<Defaults<'_>>)> {
        let axes = self.selections.first().map(|selection| selection.axes.as_slice()).unwrap_or_default();
        axes.iter().map(|axis| (axis, self.defaults(&axis.name))).collect()
    }

    pub fn sweep<'d>(&self, setting: Setting<'d>) -> Plan<'d> {
        let variants = if self.variants.is_empty() { self.experiment.variants() } else { &self.variants };
        Plan::of_variants(self.experiment, variants, setting)
    }

    fn defaults(&self, name: &str) -> Vec<Defaults<'_>> {
        let mut all: Vec<Defaults> = Vec::new();
        for selection in &self.selections {
            let Some(axis) = selection.axes.iter().find(|axis| axis.name == name) else { continue };
            match all.iter_mut().find(|known| known.values == axis.defaults) {
                Some(known) => known.variants.extend(&selection.variants),
                None => all.push(Defaults { values: &axis.defaults, variants: selection.variants.clone() }),
            }
        }
        all.sort_by_key(|defaults| Reverse(defaults.variants.len()));
        all
    }

    fn order_variants(&mut self) {
        let is_meant = |variant: &&&str| self.selections.iter().any(|selection| selection.variants.contains(*variant));
        let meant = self.experiment.variants().iter().filter(is_meant).copied();
        self.variants = meant.filter(|variant| !variant.is_empty()).collect();
    }
}

/// What filters mean, each experiment once; all of the catalogue where there is none.
pub fn entries(filters: &[String], setting: &Setting) -> Result<Vec<CatalogueEntry>, Error> {
    let mut entries: Vec<CatalogueEntry> = Vec::new();
    for selection in select(filters, setting)? {
        let known = entries.iter().position(|entry| entry.name() == selection.experiment.name());
        let place = known.unwrap_or_else(|| {
            entries.push(CatalogueEntry { experiment: selection.experiment, variants: Vec::new(), selections: Vec::new() });
            entries.len() - 1
        });
        entries[place].selections.push(selection);
    }
    entries.iter_mut().for_each(CatalogueEntry::order_variants);
    Ok(entries)
}

pub fn said(name: &str) -> Text {
    text(name).unwrap_or(Text { summary: "", body: "" })
}

/// The figures that its rows lead with, each once, as far as the device can do it.
pub fn headlines(plan: &Plan) -> Vec<Headline> {
    let mut all = Vec::new();
    for headline in plan.iter().filter_map(|planned| Some(planned.case.ok()?.headline)) {
        if !all.contains(&headline) {
            all.push(headline);
        }
    }
    all
}
