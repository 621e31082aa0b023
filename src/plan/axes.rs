//! The values of axes: what a user asks for, and what one device can't do that another one beside it does.

use std::collections::BTreeMap;

use super::{Plan, Selection, parse_values, plan_id};
use crate::error::{Error, nearest};
use crate::model::{Axis, AxisValue, Point};

/// Replaces an axis's values in every selected experiment that has it, by those that it takes. What takes none is left out, and said.
/// Gives the axis's name.
/// Errors: an axis that none has, and a value that none takes.
pub(super) fn set<'t>(selections: &mut Vec<Selection>, text: &'t str, left_out: &mut Vec<String>) -> Result<&'t str, Error> {
    let Some((name, values)) = text.split_once('=') else {
        return Err(Error::Usage(format!("`{text}` is not NAME=VALUES, such as local_size_x=32..1024:*2")));
    };
    let name = name.trim();
    let axes = || selections.iter().flat_map(|selection| &selection.axes);
    let Some(first) = axes().find(|axis| axis.name == name) else { return Err(unknown(name, axes())) };
    // All of them, where nothing takes one of them: the error says what the first does take.
    for item in values.split(',') {
        let takes = |axis: &Axis| axis.name == name && parse_values(axis, item).is_ok();
        if !axes().any(takes) {
            parse_values(first, item)?;
        }
    }
    let (mut error, mut gone) = (None, BTreeMap::<&str, Vec<&str>>::new());
    selections.retain_mut(|selection| {
        let Some(axis) = selection.axes.iter_mut().find(|axis| axis.name == name) else { return true };
        let taken: Vec<&str> = values.split(',').filter(|item| parse_values(axis, item).is_ok()).collect();
        if taken.is_empty() {
            gone.entry(selection.experiment.name()).or_default().extend(&selection.variants);
            return false;
        }
        match parse_values(axis, &taken.join(",")) {
            Ok(values) => axis.defaults = values,
            Err(refused) => error = Some(refused),
        }
        true
    });
    for (experiment, variants) in gone {
        let is_all = selections.iter().all(|selection| selection.experiment.name() != experiment);
        let name = if is_all { experiment.to_owned() } else { format!("{experiment}:{}", variants.join(",")) };
        left_out.push(format!("{name} is left out: it takes no `{text}`"));
    }
    error.map_or(Ok(name), Err)
}

fn unknown<'a>(name: &str, axes: impl Iterator<Item = &'a Axis>) -> Error {
    let mut known: Vec<String> = axes.map(|axis| axis.name.to_string()).collect();
    known.sort_unstable();
    known.dedup();
    let nearest = nearest(name, known.iter().map(String::as_str));
    if nearest.is_empty() {
        let there = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        return Error::Usage(format!("unknown axis `{name}`: the selected experiments have {there}"));
    }
    Error::Unknown { what: "axis (of the selected experiments)", given: name.to_owned(), nearest }
}

/// Gives each plan the values that another one has on an axis and that its own device can do nothing of: there a row says which limit
/// forbids it, instead of none. Values that a device could do but doesn't by default, such as sizes for another one's memory, stay out.
pub fn tell_what_others_do(plans: &mut [Plan]) {
    for i in 0..plans.len() {
        let mut added = Vec::new();
        for (place, selection) in plans[i].selections.iter().enumerate() {
            for axis in &selection.axes {
                let others = plans.iter().enumerate().filter(|(other, _)| *other != i).map(|(_, plan)| plan);
                for value in others.flat_map(|other| other.values_of(selection, axis)) {
                    let is_known = axis.defaults.contains(value)
                        || added.iter().any(|(at, name, known)| (*at, name, known) == (place, &axis.name, value));
                    if !is_known && plans[i].can_do_nothing_of(selection, axis, value) {
                        added.push((place, axis.name.clone(), value.clone()));
                    }
                }
            }
        }
        let plan = &mut plans[i];
        for (place, name, value) in added {
            let axes = plan.selections[place].axes.iter_mut();
            axes.filter(|axis| axis.name == name).for_each(|axis| insert(&mut axis.defaults, value.clone()));
        }
        plan.selections.iter_mut().for_each(Selection::bases_first);
        plan.id = plan_id(&plan.selections, plan.cache, plan.setting.seed);
    }
}

/// Puts a value among others: in their order, where they have one.
fn insert(values: &mut Vec<AxisValue>, value: AxisValue) {
    let place = match &value {
        AxisValue::Integer(_) if values.is_sorted() => values.partition_point(|known| *known < value),
        _ => values.len(),
    };
    values.insert(place, value);
}

impl Plan<'_> {
    /// The values on the same axis of the same experiment.
    fn values_of<'p>(&'p self, of: &Selection, axis: &Axis) -> impl Iterator<Item = &'p AxisValue> {
        let is_same = |selection: &&Selection| {
            let has_variant = selection.variants.iter().any(|variant| of.variants.contains(variant));
            selection.experiment.name() == of.experiment.name() && has_variant
        };
        let selections = self.selections.iter().filter(is_same).collect::<Vec<_>>();
        let name = axis.name.clone();
        selections.into_iter().flat_map(move |selection| {
            selection.axes.iter().filter(|axis| axis.name == name).flat_map(|axis| &axis.defaults).collect::<Vec<_>>()
        })
    }

    /// Whether the device can do no case that has this value.
    fn can_do_nothing_of(&self, selection: &Selection, axis: &Axis, value: &AxisValue) -> bool {
        (0..selection.count()).all(|index| {
            let (variant, point): (_, Point) = selection.at(index);
            // Once for all that differ in this axis alone.
            point.get(&axis.name) != axis.defaults.first()
                || self.planned(selection, variant, point.with(&axis.name, value)).case.is_err()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::Setting;
    use crate::model::{DeviceInfo, Preset};
    use crate::plan::Request;

    fn plan<'d>(device: &'d DeviceInfo, filters: &[&str], axes: &[&str]) -> Result<Plan<'d>, Error> {
        let owned = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
        let request = Request { filters: owned(filters), axes: owned(axes), ..Request::default() };
        Plan::new(&request, Setting { queue: None, device, preset: Preset::Default, seed: 1 })
    }

    #[test]
    fn what_takes_none_of_the_values_is_left_out_and_named() {
        let device = DeviceInfo::mock();
        let filters = ["peak/arith", "memory/stream", "sync/barrier"];
        let planned = plan(&device, &filters, &["op=copy"]).unwrap();
        let left_out = ["peak/arith is left out: it takes no `op=copy`"];
        assert_eq!(planned.left_out(), left_out, "the third has no such axis");
        assert!(planned.iter().all(|case| case.experiment.name() != "peak/arith"));
        assert!(planned.iter().any(|case| case.experiment.name() == "sync/barrier"));
        // Each takes what it knows of them.
        let both = plan(&device, &filters, &["op=copy,fma"]).unwrap();
        assert!(both.left_out().is_empty());
        let ops = |name: &str| -> Vec<String> {
            let cases = both.iter().filter(|case| case.experiment.name() == name);
            let mut ops: Vec<String> = cases.filter_map(|case| Some(case.point.get("op")?.to_string())).collect();
            ops.dedup();
            ops
        };
        assert_eq!(ops("memory/stream"), ["copy"]);
        assert!(ops("peak/arith").iter().all(|op| op == "fma"));
        let refused = plan(&device, &filters, &["op=copy,fmb"]).err().unwrap().to_string();
        assert!(refused.contains("can't be `fmb`"), "{refused}");
        assert!(plan(&device, &filters, &["ops=copy"]).err().unwrap().to_string().contains("axis"));
    }

    #[test]
    fn what_only_another_device_can_do_is_skipped_on_this_one() {
        let (large, mut small) = (DeviceInfo::mock(), DeviceInfo::mock());
        (small.limits.workgroup_size, small.limits.workgroup_invocations) = ([256, 256, 64], 256);
        let both = || [&large, &small].map(|device| plan(device, &["workgroup/linear"], &["n=65536"]).unwrap());
        let ids = |plan: &Plan| plan.iter().map(|case| case.case_id).collect::<Vec<_>>();
        let apart = both();
        assert!(apart[1].count() < apart[0].count());
        let mut together = both();
        tell_what_others_do(&mut together);
        assert_eq!(ids(&together[0]), ids(&apart[0]), "the first can do all that the second can");
        assert_eq!(together[0].id(), apart[0].id());
        let expected: Vec<String> = together[0].iter().map(|case| case.point.to_string()).collect();
        assert_eq!(together[1].iter().map(|case| case.point.to_string()).collect::<Vec<_>>(), expected);
        for case in together[1].iter() {
            let is_beyond = case.point.integer("local_size_x") > 256;
            assert_eq!(
                case.case.as_ref().err().map(|skip| skip.reason.contains("maxComputeWorkGroup")),
                is_beyond.then_some(true)
            );
        }
    }

    /// Sizes that one device chooses for its memory are none of another's.
    #[test]
    fn what_a_device_could_do_stays_its_own_choice() {
        let (large, mut small) = (DeviceInfo::mock(), DeviceInfo::mock());
        small.heaps.iter_mut().for_each(|heap| heap.bytes /= 16);
        let mut plans = [&large, &small].map(|device| plan(device, &["memory/stream", "cache/latency"], &[]).unwrap());
        let before: Vec<Vec<String>> =
            plans.iter().map(|plan| plan.iter().filter(|case| case.case.is_ok()).map(|case| case.case_id).collect()).collect();
        tell_what_others_do(&mut plans);
        let after: Vec<Vec<String>> =
            plans.iter().map(|plan| plan.iter().filter(|case| case.case.is_ok()).map(|case| case.case_id).collect()).collect();
        assert_eq!(before, after);
    }
}
