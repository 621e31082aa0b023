//! A plan of cases that rows name, whichever filters, axes and preset they came from.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use super::{Plan, Selection, case_id};
use crate::experiments::{CATALOGUE, Setting, derived_with, find};
use crate::model::{Axis, AxisKind, AxisValue, Cache, Point};

/// How experiments are called whose kernel is the user's.
const TUNED: &str = "tune/";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    pub case_id: String,
    pub experiment: String,
    pub variant: String,
    /// Its values on all axes, as `name=value;name=value`.
    pub axis_values: String,
}

/// Why a row's case can't be planned, in words that say what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlisted {
    pub place: usize,
    pub why: String,
}

impl<'a> Plan<'a> {
    /// A plan of exactly these cases, in the catalogue's order and not theirs: equal sets make equal plans, and what others are
    /// compared with comes before them. What the device can't run is skipped, as in any plan.
    /// Errors: the rows that name no case of this catalogue under their id.
    pub fn of_cases(listed: &[Listed], cache: Cache, setting: Setting<'a>) -> Result<Self, Vec<Unlisted>> {
        let (mut selections, mut unlisted, mut seen) = (BTreeMap::new(), Vec::new(), HashSet::new());
        for (place, case) in listed.iter().enumerate() {
            match case.resolve(cache, &setting) {
                Ok(_) if !seen.insert(&case.case_id) => {}
                Ok(selection) => drop(selections.insert(order(&selection), selection)),
                Err(why) => unlisted.push(Unlisted { place, why }),
            }
        }
        if !unlisted.is_empty() {
            return Err(unlisted);
        }
        Ok(Self::of_selections(selections.into_values().collect(), cache, setting))
    }
}

impl Listed {
    /// The case as a selection of one variant and one value on each axis.
    fn resolve(&self, cache: Cache, setting: &Setting) -> Result<Selection, String> {
        let name = &self.experiment;
        let experiment = find(name).ok_or_else(|| self.no_experiment())?;
        let other = || self.of_another_catalogue("");
        let variant = *experiment.variants().iter().find(|variant| **variant == self.variant).ok_or_else(other)?;
        let mut axes = experiment.axes_of(variant, setting);
        let mut values = self.values()?;
        for axis in &mut axes {
            let text = values.remove(axis.name.as_ref());
            let value = match text {
                Some(text) => value_of(axis, text),
                // The axis may be younger than the row.
                None => axis.neutral.clone(),
            };
            axis.defaults = vec![value.ok_or_else(other)?];
        }
        if !values.is_empty() {
            return Err(other());
        }
        let point = Point::new(axes.iter().map(|axis| (axis.name.clone(), axis.defaults[0].clone())));
        let id = |cache| case_id(name, variant, &axes, &point, cache);
        match &self.case_id {
            own if *own == id(cache) => Ok(Selection { experiment, variants: vec![variant], axes, cache }),
            own if *own == id(Cache::Cold) => Err("was measured cold: give --cold, or list warm rows alone".to_owned()),
            own if *own == id(Cache::Warm) => Err("was measured warm: leave out --cold, or list cold rows alone".to_owned()),
            _ => Err(self.of_another_catalogue(&format!(" (its case_id would be {})", id(cache)))),
        }
    }

    fn values(&self) -> Result<BTreeMap<&str, &str>, String> {
        let pairs = self.axis_values.split(';').map(str::trim).filter(|pair| !pair.is_empty());
        let mut values = BTreeMap::new();
        for pair in pairs {
            let (name, value) =
                pair.split_once('=').ok_or_else(|| format!("has `{pair}` in axis_values, which is no NAME=VALUE"))?;
            if values.insert(name, value).is_some() {
                return Err(format!("has `{name}` twice in axis_values"));
            }
        }
        Ok(values)
    }

    fn no_experiment(&self) -> String {
        let name = &self.experiment;
        if name.starts_with(TUNED) {
            return "is a configuration of a shader of yours, which the catalogue doesn't have: take it out, or measure it with \
                    `lanescope tune`"
                .to_owned();
        }
        if CATALOGUE.iter().any(|experiment| derived_with(experiment).contains(&name.as_str())) {
            return "follows from other rows, and isn't measured itself: take it out".to_owned();
        }
        format!(
            "is of an experiment that this lanescope doesn't have, `{name}`: take it out, or use the one that wrote it (tool_version)"
        )
    }

    fn of_another_catalogue(&self, more: &str) -> String {
        format!(
            "is no case of this lanescope's {}{more}: the experiment changed since it was written, or the row did; take it out, or use \
             the lanescope that wrote it (tool_version)",
            self.experiment
        )
    }
}

/// A value as rows have it; nothing where the axis has none of that kind. Whether the axis takes it shows when the case is made.
fn value_of(axis: &Axis, text: &str) -> Option<AxisValue> {
    match axis.kind {
        AxisKind::AtLeast(_) | AxisKind::Numbers(_) => text.parse().ok().map(AxisValue::Integer),
        AxisKind::Choices(words) => words.iter().find(|word| **word == text).map(|word| AxisValue::from(*word)),
    }
}

/// Where a value stands among an axis's: what others are compared with comes first, then words in the axis's order, and numbers.
type Rank = (bool, usize, u64);

/// Where a case stands in a plan: by the catalogue, the variant and the values on its axes.
fn order(selection: &Selection) -> (usize, Reverse<bool>, usize, Vec<Rank>) {
    let Selection { experiment, variants, axes, .. } = selection;
    let home = CATALOGUE.iter().position(|other| other.name() == experiment.name()).unwrap_or(CATALOGUE.len());
    let variant = variants.first().copied().unwrap_or_default();
    let place = experiment.variants().iter().position(|other| *other == variant).unwrap_or_default();
    let rank = |axis: &Axis| {
        let value = axis.defaults.first();
        let is_other = value != axis.base.as_ref();
        match (&axis.kind, value) {
            (AxisKind::Choices(words), Some(AxisValue::Choice(word))) => {
                (is_other, words.iter().position(|other| other == word).unwrap_or(words.len()), 0)
            }
            (_, Some(AxisValue::Integer(n))) => (is_other, 0, *n),
            _ => (is_other, 0, 0),
        }
    };
    (home, Reverse(experiment.base_variant == Some(variant)), place, axes.iter().map(rank).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{DeviceInfo, Preset};
    use crate::plan::Request;

    fn setting(device: &DeviceInfo, preset: Preset) -> Setting<'_> {
        Setting { queue: None, device, preset, seed: 1 }
    }

    fn listed(plan: &Plan) -> Vec<Listed> {
        let row = |case: super::super::Planned| Listed {
            case_id: case.case_id,
            experiment: case.experiment.name().to_owned(),
            variant: case.variant.to_owned(),
            axis_values: case.point.to_string(),
        };
        plan.iter().map(row).collect()
    }

    /// Whatever preset cases came from, and in whichever order.
    #[test]
    fn every_case_of_the_catalogue_is_found_again() {
        let device = DeviceInfo::mock();
        let all = Plan::new(&Request::default(), setting(&device, Preset::Quick)).unwrap();
        let mut rows = listed(&all);
        rows.reverse();
        rows.extend(rows.clone());
        let again = Plan::of_cases(&rows, Cache::Warm, setting(&device, Preset::Default)).unwrap();
        assert_eq!(again.count(), all.count());
        let ids = |plan: &Plan| -> HashSet<String> { plan.iter().map(|case| case.case_id).collect() };
        assert_eq!(ids(&again), ids(&all));
        for (index, case) in again.iter().enumerate() {
            let one = again.get(index as u64).unwrap();
            assert_eq!((one.case_id, one.index), (case.case_id, Some(index as u64)));
        }
        // What a case is compared with comes before it, if it is one of them.
        let mut before = HashSet::new();
        for case in again.iter() {
            let base = case.base.as_ref();
            assert!(base.is_none_or(|base| base.case_id == case.case_id
                || before.contains(&base.case_id)
                || !again.holds(base, case.experiment.name())));
            before.insert(case.case_id);
        }
        rows.truncate(rows.len() / 2);
        rows.rotate_left(7);
        let rotated = Plan::of_cases(&rows, Cache::Warm, setting(&device, Preset::Thorough)).unwrap();
        assert_eq!(rotated.id(), again.id(), "the same cases are the same plan");
        rows.pop();
        assert_ne!(Plan::of_cases(&rows, Cache::Warm, setting(&device, Preset::Default)).unwrap().id(), again.id());
    }

    #[test]
    fn what_a_row_names_that_is_no_case_is_told() {
        let device = DeviceInfo::mock();
        let request = Request { filters: vec!["memory/stream".to_owned()], ..Request::default() };
        let row = listed(&Plan::new(&request, setting(&device, Preset::Quick)).unwrap()).remove(0);
        let why = |row: &Listed, cache: Cache| {
            let refused = Plan::of_cases(std::slice::from_ref(row), cache, setting(&device, Preset::Default));
            refused.err().map(|mut unlisted| unlisted.remove(0).why).unwrap_or_default()
        };
        let changed = |change: &dyn Fn(&mut Listed)| {
            let mut row = row.clone();
            change(&mut row);
            why(&row, Cache::Warm)
        };
        assert_eq!(why(&row, Cache::Warm), "");
        assert!(why(&row, Cache::Cold).contains("leave out --cold"));
        let cold = Request { cache: Cache::Cold, ..request };
        let cold = listed(&Plan::new(&cold, setting(&device, Preset::Quick)).unwrap()).remove(0);
        assert!(why(&cold, Cache::Warm).contains("give --cold"));
        assert!(changed(&|row| row.experiment = "tune/blur".to_owned()).contains("`lanescope tune`"));
        assert!(changed(&|row| row.experiment = "shared/banks".to_owned()).contains("follows from other rows"));
        assert!(changed(&|row| row.experiment = "memory/steam".to_owned()).contains("doesn't have, `memory/steam`"));
        let other = "the experiment changed since it was written";
        assert!(changed(&|row| row.variant = "x".to_owned()).contains(other));
        assert!(changed(&|row| row.axis_values = "n=4".to_owned()).contains(other));
        assert!(changed(&|row| row.axis_values.push_str(";x=4")).contains(other));
        assert!(changed(&|row| row.case_id = "c0123456789abcdef".to_owned()).contains(&format!("would be {}", row.case_id)));
        assert!(changed(&|row| row.axis_values.push_str(";x")).contains("`x` in axis_values"));
        assert!(changed(&|row| row.axis_values.push_str(&row.axis_values.clone().replace("op=", ";op="))).contains("twice"));
        for wrong in ["n=-1", "n=", "n=1..8"] {
            let axes = row.axis_values.split(';').map(|pair| if pair.starts_with("n=") { wrong } else { pair });
            let axes = axes.collect::<Vec<_>>().join(";");
            assert!(changed(&|row| row.axis_values.clone_from(&axes)).contains(other), "{wrong}");
        }
    }

    /// Rows of a larger device are skipped on a smaller one, and say why.
    #[test]
    fn what_the_device_can_not_run_is_skipped() {
        let (large, mut small) = (DeviceInfo::mock(), DeviceInfo::mock());
        (small.limits.workgroup_size, small.limits.workgroup_invocations) = ([256, 256, 64], 256);
        let request = Request { filters: vec!["workgroup/linear".to_owned()], ..Request::default() };
        let rows = listed(&Plan::new(&request, setting(&large, Preset::Default)).unwrap());
        let on_small = Plan::of_cases(&rows, Cache::Warm, setting(&small, Preset::Default)).unwrap();
        let skipped: Vec<String> = on_small.iter().filter_map(|case| Some(case.case.err()?.reason)).collect();
        assert!(!skipped.is_empty() && skipped.len() < rows.len());
        assert!(skipped.iter().all(|reason| reason.contains("maxComputeWorkGroup")), "{skipped:?}");
    }
}
