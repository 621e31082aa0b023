//! What the pattern of wrong results suggests, said once instead of configuration by configuration.

use std::collections::{BTreeMap, BTreeSet};

use super::answer::{Trial, same_values};
use crate::model::{AxisValue, Failure, Point, Status};
use crate::subject::{LOCAL_SIZE_AXES, Reference};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    pub words: String,
    /// Whether the reference itself can't be believed: then no answer can.
    pub doubts_reference: bool,
    pub only_reference: bool,
}

/// A rule that fits by chance in fewer cases is one.
const SURE: f64 = 0.01;

/// Looks at which results are right and which are wrong. `written` is the shader as it is written; nothing where no result is wrong.
/// `is_steady` is whether those that were run again were wrong each time.
pub fn diagnose(trials: &[Trial], reference: &Reference, written: Option<&Point>, is_steady: bool) -> Option<Diagnosis> {
    let failed = trials.iter().filter_map(|trial| Some((&trial.point, trial.outcome.as_ref().err()?)));
    let wrong: Vec<(&Point, &Failure)> = failed.filter(|(_, failure)| failure.status == Status::WrongResult).collect();
    let right: Vec<&Point> = trials.iter().filter(|trial| trial.outcome.is_ok()).map(|trial| &trial.point).collect();
    let own = match reference {
        Reference::Untouched => written.cloned(),
        Reference::Configuration(point) => Some(completed(point, written)),
        Reference::Shader(_) | Reference::Files(_) => None,
    };
    let own = own.as_ref();
    let count = wrong.len();
    let first = wrong.first()?;
    let own_failure = own.and_then(|own| wrong.iter().find(|(point, _)| same_values(point, own)));
    let told = |words: String| Some(Diagnosis { words, doubts_reference: false, only_reference: false });
    if let Some((_, Failure { reason, .. })) = own_failure {
        let words = format!(
            "the reference's own configuration can't be believed: {reason}. Where invocations race, or read what nothing wrote, results come \
             by chance"
        );
        return Some(Diagnosis { words, doubts_reference: true, only_reference: false });
    }
    let alike = wrong.iter().all(|(_, failure)| failure.reason == first.1.reason);
    if right.is_empty() && count > 1 {
        let words = match (alike, own) {
            (true, _) => format!(
                "all {count} results differ from the reference in the same way: suspect the reference, or what -n, --push, --buffer \
                 and --threads say of the problem"
            ),
            (false, None) => format!(
                "none of the {count} results is the reference's, and not all differ in the same way: the reference may solve another \
                 problem, or the code depends on its configuration"
            ),
            (false, Some(_)) => {
                format!("all {count} results are wrong, each in its own way: the code depends on its configuration")
            }
        };
        return told(words);
    }
    if count == 1 {
        return None;
    }
    let only_own = matches!((&right[..], own), ([right], Some(own)) if same_values(right, own));
    if only_own {
        let way = if alike { " (all others agree with each other)" } else { "" };
        if wrong.iter().all(|(_, failure)| failure.reason.contains("times the tolerance")) {
            let words = format!(
                "only the reference's own configuration is right{way}, and all others are near it: sums in another order may differ so, \
                 and the reference's needn't be the best; their rows say which --relative-tolerance accepts them"
            );
            return Some(Diagnosis { words, doubts_reference: false, only_reference: true });
        }
        let words = format!(
            "only the reference's own configuration is right{way}: the code depends on it, as where it has its workgroup size as a \
             number, or its invocations race"
        );
        return Some(Diagnosis { words, doubts_reference: false, only_reference: true });
    }
    let points: Vec<&Point> = wrong.iter().map(|(point, _)| *point).collect();
    match rule(&points, &right) {
        Some((rule, chance)) if chance < SURE => told(format!("{}: the code depends on it", rule.words)),
        Some((rule, chance)) => told(format!(
            "{}; among so few configurations, chance fits such a rule in {:.0} % of cases",
            rule.words,
            (100.0 * chance).ceil()
        )),
        None if is_steady => told(format!(
            "{count} results are wrong each time that they are computed, and no rule was found for which ones: the code depends on its \
             configuration"
        )),
        None => None,
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    words: String,
    /// Whether it is all values from one on; else it names each.
    is_limit: bool,
}

/// What tells wrong results from right ones, and in which share of all ways to choose as many wrong ones some rule of that kind, or of a
/// simpler one, would do so: with one axis there is a list of values for any choice.
fn rule(wrong: &[&Point], right: &[&Point]) -> Option<(Rule, f64)> {
    let by_size = by_size(wrong, right);
    let is_limit = by_size.as_ref().is_some_and(|rule| rule.is_limit);
    let rule = if is_limit { by_size } else { by_axis(wrong, right).or(by_size) }?;
    let all: Vec<&Point> = wrong.iter().chain(right).copied().collect();
    let axes: BTreeSet<&str> = all.iter().flat_map(|point| point.iter()).map(|(axis, _)| axis).collect();
    let mut keyed: Vec<Vec<AxisValue>> =
        axes.iter().map(|axis| all.iter().filter_map(|point| point.get(axis)).cloned().collect()).collect();
    keyed.push(all.iter().map(|point| AxisValue::from(size(point))).collect());
    keyed.retain(|values| values.len() == all.len());
    let mut limits: BTreeSet<Vec<usize>> = BTreeSet::new();
    let mut lists = 0.0;
    for values in &keyed {
        let distinct: BTreeSet<&AxisValue> = values.iter().collect();
        for end in distinct {
            let beyond = |is_it: &dyn Fn(&AxisValue) -> bool| (0..all.len()).filter(|i| is_it(&values[*i])).collect::<Vec<_>>();
            limits.extend([beyond(&|value| value > end), beyond(&|value| value < end)]);
        }
        lists += ways_to_list(values, wrong.len());
    }
    let limits = limits.iter().filter(|chosen| chosen.len() == wrong.len()).count();
    #[expect(clippy::cast_precision_loss, reason = "configurations are few")]
    let rules = limits as f64 + if rule.is_limit { 0.0 } else { lists };
    Some((rule, (rules / ways_to_choose(all.len(), wrong.len())).min(1.0)))
}

/// In how many ways a list of values can hold for so many of all.
fn ways_to_list(values: &[AxisValue], wanted: usize) -> f64 {
    let mut counts: BTreeMap<&AxisValue, usize> = BTreeMap::new();
    values.iter().for_each(|value| *counts.entry(value).or_default() += 1);
    let mut ways = vec![0.0; wanted + 1];
    ways[0] = 1.0;
    for count in counts.into_values().filter(|count| *count <= wanted) {
        for sum in (count..=wanted).rev() {
            ways[sum] += ways[sum - count];
        }
    }
    ways[wanted]
}

#[expect(clippy::cast_precision_loss, reason = "configurations are few")]
fn ways_to_choose(all: usize, wanted: usize) -> f64 {
    (0..wanted).fold(1.0, |ways, i| ways * (all - i) as f64 / (i + 1) as f64)
}

/// A configuration with what it doesn't name as it is written.
fn completed(point: &Point, written: Option<&Point>) -> Point {
    let Some(written) = written else { return point.clone() };
    let value = |(axis, value): (&str, &AxisValue)| (axis.to_owned().into(), point.get(axis).unwrap_or(value).clone());
    Point::new(written.iter().map(value))
}

/// Whether some values of one axis are wrong whatever the others, and all other values are right.
fn by_axis(wrong: &[&Point], right: &[&Point]) -> Option<Rule> {
    let axes: BTreeSet<&str> = wrong.iter().flat_map(|point| point.iter()).map(|(axis, _)| axis).collect();
    axes.into_iter().find_map(|axis| {
        let values =
            |points: &[&Point]| points.iter().filter_map(|point| point.get(axis)).cloned().collect::<BTreeSet<AxisValue>>();
        let (bad, good) = (values(wrong), values(right));
        let is_told = !good.is_empty() && bad.is_disjoint(&good);
        let is_limit = bad.first() > good.last() || bad.last() < good.first();
        is_told.then(|| {
            let bad: Vec<String> = bad.iter().map(ToString::to_string).collect();
            Rule { words: format!("all results with {axis} {} are wrong, and all others right", bad.join(", ")), is_limit }
        })
    })
}

/// How many invocations a workgroup has.
fn size(point: &Point) -> u64 {
    let extent = |axis: &str| match point.get(axis) {
        Some(AxisValue::Integer(extent)) => *extent,
        _ => 1,
    };
    LOCAL_SIZE_AXES.iter().map(|axis| extent(axis)).fold(1_u64, u64::saturating_mul)
}

/// As [`by_axis`], of the size of workgroups.
fn by_size(wrong: &[&Point], right: &[&Point]) -> Option<Rule> {
    let mut outcomes: BTreeMap<u64, BTreeSet<bool>> = BTreeMap::new();
    for (point, is_right) in wrong.iter().map(|point| (point, false)).chain(right.iter().map(|point| (point, true))) {
        outcomes.entry(size(point)).or_default().insert(is_right);
    }
    let is_clear = outcomes.len() > 1 && outcomes.values().all(|outcomes| outcomes.len() == 1);
    let of = |is_right: bool| {
        let sizes = outcomes.iter().filter(|(_, outcome)| outcome.contains(&is_right)).map(|(size, _)| *size);
        sizes.collect::<Vec<u64>>()
    };
    let (bad, good) = (of(false), of(true));
    let (which, is_limit) = match (bad.first(), bad.last(), good.first(), good.last()) {
        (Some(least), _, _, Some(most)) if least > most => (format!("more than {most}"), true),
        (_, Some(most), Some(least), _) if most < least => (format!("fewer than {least}"), true),
        _ => (bad.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "), false),
    };
    let words = format!("all results of {which} invocations in a workgroup are wrong, and all others right");
    is_clear.then_some(Rule { words, is_limit })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuning::answer::Timing;

    const TIMING: Timing = Timing { time: 1.0, low: 0.9, high: 1.1, is_precise: true };

    fn at(x: u64, tile: u64) -> Point {
        Point::new([("local_size_x".into(), x.into()), ("spec_TILE".into(), tile.into())])
    }

    fn diagnosed(trials: &[(u64, u64, Option<&str>)], reference: &Reference) -> Option<Diagnosis> {
        let trial = |(x, tile, wrong): &(u64, u64, Option<&str>)| {
            let outcome = wrong.map_or(Ok(TIMING), |reason| Err(Failure::new(Status::WrongResult, reason)));
            Trial { point: at(*x, *tile), outcome }
        };
        let trials: Vec<Trial> = trials.iter().map(trial).collect();
        diagnose(&trials, reference, Some(&at(64, 1)), false)
    }

    fn words(trials: &[(u64, u64, Option<&str>)]) -> String {
        diagnosed(trials, &Reference::Untouched).map_or_else(String::new, |diagnosis| diagnosis.words)
    }

    #[test]
    fn nothing_is_said_where_nothing_follows() {
        assert_eq!(words(&[(64, 1, None), (32, 1, None)]), "");
        assert_eq!(words(&[(64, 1, None), (32, 1, None), (16, 1, Some("a"))]), "", "its row says it");
        let mixed = [(64, 1, None), (64, 2, Some("a")), (32, 1, Some("b")), (32, 2, None)];
        assert_eq!(words(&mixed), "");
    }

    #[test]
    fn each_pattern_has_its_words() {
        assert!(words(&[(64, 1, None), (32, 1, Some("a")), (16, 1, Some("b"))]).starts_with("only the reference's own"));
        let tiles = [(64, 1, None), (32, 1, None), (64, 2, Some("a")), (32, 2, Some("b"))];
        assert!(words(&tiles).starts_with("all results with spec_TILE 2 are wrong, and all others right"));
        let sizes = [(64, 1, None), (32, 1, None), (128, 1, Some("a")), (256, 1, Some("b"))];
        assert!(words(&sizes).starts_with("all results of more than 64 invocations in a workgroup"));
        let some = [(64, 1, None), (32, 1, Some("a")), (128, 1, None), (256, 1, Some("b"))];
        assert!(words(&some).starts_with("all results with local_size_x 32, 256 are wrong"), "{}", words(&some));
        let itself = diagnosed(&[(64, 1, Some("a")), (32, 1, None), (16, 1, None)], &Reference::Untouched).unwrap();
        assert!(itself.doubts_reference && itself.words.contains("can't be believed: a. Where invocations race"));
    }

    /// What the reference doesn't name is as it is written: another tile isn't the reference's own configuration.
    #[test]
    fn a_reference_that_names_some_axes_has_the_others_as_they_are_written() {
        let part = Reference::Configuration(Point::new([("local_size_x".into(), 64_u64.into())]));
        let tiles = [(64, 1, None), (32, 1, None), (64, 2, Some("a")), (32, 2, Some("b"))];
        let told = diagnosed(&tiles, &part).unwrap();
        assert!(!told.doubts_reference && told.words.starts_with("all results with spec_TILE 2"), "{}", told.words);
        assert!(diagnosed(&[(64, 1, Some("a")), (32, 1, None)], &part).unwrap().doubts_reference);
    }

    #[test]
    fn a_reference_that_all_contradict_is_suspected() {
        let file = Reference::Files(Vec::new());
        let alike = diagnosed(&[(64, 1, Some("a")), (32, 1, Some("a"))], &file).unwrap();
        assert!(alike.words.starts_with("all 2 results differ from the reference in the same way"), "{}", alike.words);
        let apart = diagnosed(&[(64, 1, Some("a")), (32, 1, Some("b"))], &file).unwrap();
        assert!(apart.words.starts_with("none of the 2 results"), "{}", apart.words);
    }

    #[test]
    fn sizes_of_several_directions_are_told_by_their_invocations() {
        let flat = |x: u64, y: u64| Point::new([("local_size_x".into(), x.into()), ("local_size_y".into(), y.into())]);
        let (wrong, right) = ([flat(16, 8), flat(8, 16)], [flat(8, 8), flat(16, 4), flat(4, 8), flat(8, 4)]);
        let told = by_size(&wrong.iter().collect::<Vec<_>>(), &right.iter().collect::<Vec<_>>()).unwrap();
        let words = "all results of more than 64 invocations in a workgroup are wrong, and all others right";
        assert_eq!(told, Rule { words: words.to_owned(), is_limit: true });
    }

    #[test]
    fn a_rule_that_chance_fits_is_none() {
        let one_axis = |wrong: &[u64], all: u64| {
            let trials: Vec<(u64, u64, Option<&str>)> =
                (1..=all).map(|x| (x, 1, wrong.contains(&x).then_some(if x % 2 == 0 { "a" } else { "b" }))).collect();
            words(&trials)
        };
        assert!(one_axis(&[14, 15, 16], 16).ends_with("the code depends on it"), "2 of 560 choices are at an end");
        assert!(one_axis(&[6, 7, 8], 8).ends_with("chance fits such a rule in 4 % of cases"), "2 of 56");
        assert!(one_axis(&[3, 9, 12], 16).ends_with("in 100 % of cases"), "any choice is a list of one axis' values");
        let tiles: Vec<(u64, u64, Option<&str>)> =
            (1..=8).flat_map(|x| [1, 2, 4, 8].map(|tile| (x, tile, (tile == 4).then_some("a")))).collect();
        assert!(words(&tiles).ends_with("the code depends on it"), "{}", words(&tiles));
        let steady = |is_steady| {
            let trials = [(1, 1, None), (1, 2, Some("a")), (2, 1, Some("b")), (2, 2, None)].map(|(x, tile, wrong)| Trial {
                point: at(x, tile),
                outcome: wrong.map_or(Ok(TIMING), |reason| Err(Failure::new(Status::WrongResult, reason))),
            });
            diagnose(&trials, &Reference::Untouched, Some(&at(64, 1)), is_steady).map(|of| of.words)
        };
        assert!(steady(true).is_some_and(|words| words.starts_with("2 results are wrong each time")));
        assert_eq!(steady(false), None);
    }
}
