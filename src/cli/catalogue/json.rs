//! The list of experiments, for programs.

use std::collections::BTreeMap;

use serde::Serialize;

use super::entry::{CatalogueEntry, Defaults, headlines, said};
use super::nominal::setting;
use crate::experiments::{DERIVATIONS, Derivation, derived_with};
use crate::model::{Axis, AxisKind, AxisValue, DeviceInfo, DeviceKind, Headline};
use crate::plan::Estimate;

/// All of it. Names of members stay what they are: the guide `run` lists them.
#[derive(Serialize)]
pub struct Catalogue {
    /// Whose defaults they are; empty where nobody's.
    device_name: String,
    device_kind: DeviceKind,
    experiments: Vec<OfExperiment>,
    derivations: Vec<OfDerivation>,
}

#[derive(Serialize)]
struct OfExperiment {
    experiment: &'static str,
    summary: &'static str,
    question: String,
    metrics: Vec<OfMetric>,
    variants: Vec<&'static str>,
    base_variant: Option<&'static str>,
    derives: Vec<&'static str>,
    cases: u64,
    least_seconds: f64,
    most_seconds: f64,
    axes: Vec<OfAxis>,
}

#[derive(Serialize)]
struct OfMetric {
    metric: &'static str,
    unit: &'static str,
    better: &'static str,
}

#[derive(Serialize)]
struct OfAxis {
    axis: String,
    meaning: String,
    #[serde(rename = "type")]
    ty: &'static str,
    takes: String,
    defaults: Vec<AxisValue>,
    /// Those of variants that have others.
    defaults_by_variant: BTreeMap<&'static str, Vec<AxisValue>>,
    relative_to: Option<AxisValue>,
}

#[derive(Serialize)]
struct OfDerivation {
    derivation: &'static str,
    summary: &'static str,
    question: String,
    comes_with: &'static str,
    sources: Vec<&'static str>,
}

impl Catalogue {
    pub fn new(entries: &[CatalogueEntry], device: &DeviceInfo) -> Self {
        let is_asked = |name: &str| entries.iter().any(|entry| entry.name() == name);
        let derivations = DERIVATIONS.iter().filter(|derivation| is_asked(derivation.asked_by));
        Self {
            device_name: device.name.clone(),
            device_kind: device.kind,
            experiments: entries.iter().map(|entry| of_experiment(entry, device)).collect(),
            derivations: derivations.map(of_derivation).collect(),
        }
    }
}

fn of_experiment(entry: &CatalogueEntry, device: &DeviceInfo) -> OfExperiment {
    let (name, experiment) = (entry.name(), entry.experiment);
    let sweep = entry.sweep(setting(device));
    let Estimate { cases, least, most } = Estimate::new(&sweep, device);
    let of_metric = |Headline { name, unit, better, .. }| OfMetric { metric: name, unit, better };
    OfExperiment {
        experiment: name,
        summary: entry.summary(),
        question: said(name).point("Question"),
        metrics: headlines(&sweep).into_iter().map(of_metric).collect(),
        variants: entry.variants.clone(),
        base_variant: experiment.base_variant,
        derives: derived_with(experiment),
        cases,
        least_seconds: least.as_secs_f64(),
        most_seconds: most.as_secs_f64(),
        axes: entry.axes().into_iter().map(|(axis, defaults)| of_axis(axis, &defaults)).collect(),
    }
}

fn of_axis(axis: &Axis, all: &[Defaults]) -> OfAxis {
    let by_variant =
        all.iter().skip(1).flat_map(|other| other.variants.iter().map(|variant| (*variant, other.values.to_vec())));
    OfAxis {
        axis: axis.name.to_string(),
        meaning: axis.description.to_string(),
        ty: if matches!(axis.kind, AxisKind::Choices(_)) { "text" } else { "integer" },
        takes: axis.takes(),
        defaults: all.first().map(|first| first.values.to_vec()).unwrap_or_default(),
        defaults_by_variant: by_variant.collect(),
        relative_to: axis.base.clone(),
    }
}

fn of_derivation(derivation: &Derivation) -> OfDerivation {
    let text = said(derivation.name);
    OfDerivation {
        derivation: derivation.name,
        summary: text.summary,
        question: text.point("Question"),
        comes_with: derivation.asked_by,
        sources: (derivation.sources)().into_iter().collect(),
    }
}
