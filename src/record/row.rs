//! What a row says of itself, and rows that follow from others.

use std::collections::BTreeSet;
use std::mem;

use crate::model::{AxisValue, Cache, Derived, DeviceInfo, DeviceKind, Finished, Flag, Point, Quirk, Status};
use crate::plan::case_id;
use crate::record::Record;
use crate::units::Ends;

pub(crate) const MEASURED: &str = "measured";
const DERIVED: &str = "derived";

/// How the flag of a known driver fault begins.
const QUIRK: &str = "quirk:";

pub fn quirk_flag(quirk: &Quirk) -> String {
    format!("{QUIRK}{}", quirk.name)
}

/// An interval; where its ends aren't told, as much as the noise makes of the figure.
fn ends(figure: Option<f64>, ends: Option<Ends>, noise: Option<f64>) -> Option<Ends> {
    let of_noise = || {
        let half = (figure? * noise?).abs();
        Some((figure? - half, figure? + half))
    };
    ends.or_else(of_noise)
}

impl Record {
    /// It as a row of a device.
    #[must_use]
    pub fn on_device(self, device: &DeviceInfo) -> Self {
        Self {
            device_name: device.name.clone(),
            device_type: device.kind.as_str().to_owned(),
            vendor_id: Some(device.vendor_id.into()),
            device_id: Some(device.device_id.into()),
            device_uuid: device.device_uuid.to_string(),
            driver_uuid: device.driver.uuid.to_string(),
            driver_id: device.driver.id.clone(),
            driver_name: device.driver.name.clone(),
            driver_info: device.driver.info.clone(),
            driver_version: tagged(&device.driver.version),
            api_version: tagged(&device.driver.api_version),
            loader_version: tagged(&device.driver.loader_version),
            ..self
        }
    }

    /// Takes the figure of the case that it is compared with. Call it once the row is measured. Not in a pair: there the case was
    /// measured in alternation and its base alone, with other contents of the caches; the ratio compares what is alike.
    pub fn compare_with(&mut self, case_id: &str, value: f64) {
        if !self.pair_base.is_empty() {
            return;
        }
        let relative = self.value.map(|own| own / value).filter(|relative| relative.is_finite());
        self.relative = relative;
        self.relative_to = relative.map_or_else(String::new, |_| case_id.to_owned());
    }

    /// Experiment, variant and axes: what the case is called in messages.
    pub fn case_name(&self) -> String {
        let parts = [&self.experiment, &self.variant, &self.axis_values].map(String::as_str).into_iter();
        parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// The number on an axis; nothing where it has none there.
    pub fn integer(&self, axis: &str) -> Option<u64> {
        match self.by_axis.get(axis) {
            Some(AxisValue::Integer(number)) => Some(*number),
            _ => None,
        }
    }

    /// The word on an axis; empty where it has none there.
    pub fn choice(&self, axis: &str) -> &str {
        match self.by_axis.get(axis) {
            Some(AxisValue::Choice(word)) => word,
            _ => "",
        }
    }

    pub fn has_flag(&self, name: &str) -> bool {
        self.quality_flags.split(';').any(|flag| flag == name)
    }

    /// The interval of its time, ns.
    pub fn time_ends(&self) -> Option<Ends> {
        ends(self.time_ns, self.ci_low_ns.zip(self.ci_high_ns), self.noise)
    }

    /// The interval of its headline figure, in its unit.
    pub fn value_ends(&self) -> Option<Ends> {
        ends(self.value, self.value_ci_low.zip(self.value_ci_high), self.noise)
    }

    pub fn is_implausible(&self) -> bool {
        self.has_flag(Flag::Implausible.name())
    }

    /// Flags it as implausible, for this reason; the first one stays.
    pub fn doubt(&mut self, reason: &str) {
        if self.is_implausible() {
            return;
        }
        // Before the faults that the plan gave it.
        let (own, faults): (Vec<&str>, Vec<&str>) =
            self.quality_flags.split(';').filter(|flag| !flag.is_empty()).partition(|flag| !flag.starts_with(QUIRK));
        self.quality_flags = [&own[..], &[Flag::Implausible.name()], &faults[..]].concat().join(";");
        self.reason = joined([reason.to_owned(), mem::take(&mut self.reason)], "; ");
    }

    /// Whether a software driver measured on the host's processor.
    pub fn is_on_processor(&self) -> bool {
        self.device_type == DeviceKind::Cpu.as_str()
    }

    /// The processor that a software driver measured on, and its host; empty for a GPU, which has UUIDs of its own.
    pub fn processor(&self) -> [&str; 2] {
        if self.is_on_processor() { [&self.cpu_name, &self.host] } else { [""; 2] }
    }

    pub fn is_derived(&self) -> bool {
        self.row_kind == DERIVED
    }

    /// What derivation sees of it; nothing where it has no time, or one that can't be right.
    pub fn finished(&self) -> Option<Finished> {
        let (time, value) = (self.time_ns?, self.value?);
        let is_usable = self.row_kind == MEASURED && self.status == Status::Ok.as_str() && !self.is_implausible();
        is_usable.then(|| Finished {
            variant: self.variant.clone(),
            point: Point::new(self.by_axis.iter().map(|(name, value)| (name.clone().into(), value.clone()))),
            case_id: self.case_id.clone(),
            cache: if self.cache == Cache::Cold.as_str() { Cache::Cold } else { Cache::Warm },
            subgroup_size: self.subgroup_size,
            registers: self.registers,
            spill_bytes: self.spill_bytes,
            time,
            interval: self.ci_low_ns.zip(self.ci_high_ns),
            flags: self.quality_flags.split(';').filter(|flag| !flag.is_empty()).map(str::to_owned).collect(),
            value,
        })
    }

    /// The row of a derived figure, with what is to be said against the rows that it was drawn from.
    #[must_use]
    pub fn derived(template: &Self, derived: &Derived, flags: &BTreeSet<String>, cache: Cache) -> Self {
        let figure = derived.figure.as_ref();
        let (value_ci_low, value_ci_high) = figure.ok().and_then(|figure| figure.interval).unzip();
        let row = Self {
            row_kind: DERIVED.to_owned(),
            experiment: derived.experiment.to_owned(),
            variant: derived.variant.to_owned(),
            case_id: case_id(derived.experiment, derived.variant, &[], &derived.point, cache),
            cache: cache.as_str().to_owned(),
            metric: derived.metric.to_owned(),
            unit: derived.unit.to_owned(),
            better: derived.better.to_owned(),
            checked: "false".to_owned(),
            check_note: derived.note.clone(),
            quality_flags: in_order(flags),
            status: if figure.is_ok() { Status::Ok } else { Status::Skipped }.to_string(),
            reason: figure.err().map(ToString::to_string).unwrap_or_default(),
            value: figure.ok().map(|figure| figure.value),
            value_ci_low,
            value_ci_high,
            ..template.clone()
        };
        row.at(&derived.point)
    }
}

/// What there is of some texts.
pub(crate) fn joined(parts: impl IntoIterator<Item = String>, between: &str) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(between)
}

/// A version as rows have it: with a letter, so that no reader takes 1.3.230 for a date.
fn tagged(version: &str) -> String {
    if version.is_empty() { String::new() } else { format!("v{version}") }
}

/// As measured rows have them: known faults last.
fn in_order(flags: &BTreeSet<String>) -> String {
    let place = |flag: &&str| Flag::ALL.iter().position(|known| known.name() == *flag).unwrap_or(usize::MAX);
    let mut flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    flags.sort_by_key(place);
    flags.join(";")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_rows_have_flags_in_the_order_of_measured_ones() {
        let flags = ["contended", "drift", "noisy", "quirk:a", "quirk:b"].map(str::to_owned);
        assert_eq!(in_order(&flags.into()), "noisy;drift;contended;quirk:a;quirk:b");
    }
}
