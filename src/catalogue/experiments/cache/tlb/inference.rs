//! How many pages the translation of addresses reaches, from latencies by the number of pages, one line in each.
//!
//! The caches of data end at some number of lines as well. What they do, packed lines show: they need few translations. A step is one
//! of the translation if the packed lines have none there, and if the level behind it isn't one that they have, since lines that lie
//! far apart may leave a cache sooner than packed ones: of lines that are kept in pairs, say, only one of each is of use.

use crate::experiments::common::levels::{self, Estimate, Finding};
use crate::model::NoFigure;

pub(super) const MOST_STEPS: usize = levels::MOST_LEVELS;

/// A number of pages that the translation holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) pages: Estimate,
    /// What a load takes longer behind it, in ns, or why that isn't known.
    pub(super) miss: Result<Estimate, NoFigure>,
    /// What it rests on and how sure it is.
    pub(super) note: String,
}

/// Infers steps from latencies in ns by pages, and of as many packed lines.
pub(super) fn infer(curve: &[(u64, f64)], packed: Option<&[(u64, f64)]>) -> Result<Vec<Step>, NoFigure> {
    let Some(packed) = packed else {
        return Err(NoFigure::TooFew(
            "no step to be inferred: a sweep with page_bytes=64 is needed, to know the caches of data".to_owned(),
        ));
    };
    let finding = levels::infer(curve).map_err(|why| why.behind("no step seen: "))?;
    let of_data = match levels::infer(packed) {
        Ok(finding) => Some(finding),
        // Without a step, they are all in one cache; with too few sizes, nothing is known.
        Err(why @ NoFigure::TooFew(_)) => return Err(why.behind("of packed lines: ")),
        Err(_) => None,
    };
    let steps = steps(&finding);
    let (own, others): (Vec<Step>, Vec<Step>) =
        steps.into_iter().partition(|step| !is_of_data(step, &finding, of_data.as_ref()));
    if own.is_empty() {
        let pages: Vec<String> = others.iter().map(|step| format!("{:.0}", step.pages.value)).collect();
        return Err(format!(
            "no step seen: those at {} pages are of the caches of data, as packed lines show them",
            pages.join(", ")
        )
        .into());
    }
    Ok(own)
}

fn steps(finding: &Finding) -> Vec<Step> {
    let costs = || finding.levels.iter().map(|level| &level.cost).chain([&finding.beyond]);
    let pairs = finding.levels.iter().zip(costs().zip(costs().skip(1)));
    let step = |(level, (before, behind)): (&levels::Level, (&Cost, &Cost))| Step {
        pages: level.capacity,
        miss: before.clone().and_then(|before| Ok(difference(behind.clone()?, before))),
        note: finding.note.clone(),
    };
    pairs.map(step).collect()
}

type Cost = Result<Estimate, NoFigure>;

fn difference(behind: Estimate, before: Estimate) -> Estimate {
    Estimate { value: behind.value - before.value, low: behind.low - before.high, high: behind.high - before.low }
}

/// Whether packed lines have a step at as many lines, or a level that costs as much as the one behind.
fn is_of_data(step: &Step, finding: &Finding, packed: Option<&Finding>) -> bool {
    let Some(packed) = packed else { return false };
    let index = finding.levels.iter().position(|level| level.capacity == step.pages);
    let behind = index.map(|index| finding.levels.get(index + 1).map_or(&finding.beyond, |level| &level.cost));
    let levels = packed.levels.iter().skip(1).map(|level| &level.cost).chain([&packed.beyond]);
    let mut costs = levels.filter_map(|cost| cost.as_ref().ok());
    packed.levels.iter().any(|level| overlap(&level.capacity, &step.pages))
        || matches!(behind, Some(Ok(behind)) if costs.any(|cost| overlap(cost, behind)))
}

fn overlap(one: &Estimate, other: &Estimate) -> bool {
    one.low <= other.high && other.low <= one.high
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::sweep::Noise;

    fn curve(seed: u64, by: f64, law: impl Fn(f64) -> f64) -> Vec<(u64, f64)> {
        let mut noise = Noise::new(seed);
        #[expect(clippy::cast_precision_loss, reason = "pages are few")]
        (2..=16).map(|bits| (1_u64 << bits) - 1).map(|n| (n, law(n as f64) * (1.0 + by * noise.normal()))).collect()
    }

    /// A first cache of so many lines, and all others behind it.
    fn cache(lines: f64) -> impl Fn(f64) -> f64 {
        move |n| if n <= lines { 4.0 } else { 14.0 }
    }

    #[test]
    fn what_packed_lines_do_not_show_is_the_translation() {
        for (seed, by) in [(1, 0.0), (2, 0.01), (3, 0.03)] {
            let packed = curve(seed, by, cache(1024.0));
            let translated = |n: f64| cache(1024.0)(n) + if n <= 64.0 { 0.0 } else { 3.0 };
            let steps = infer(&curve(seed + 10, by, translated), Some(&packed)).unwrap();
            assert_eq!(steps.len(), 1, "noise {by}: {steps:?}");
            let (pages, miss) = (steps[0].pages, steps[0].miss.clone().unwrap());
            assert!((30.9..64.0).contains(&pages.low) && (126.9..127.1).contains(&pages.high), "{steps:?}");
            assert!((63.0..127.0).contains(&pages.value), "{steps:?}");
            assert!(miss.low <= 3.0 && 3.0 <= miss.high, "{steps:?}");
        }
    }

    /// Without a cache that ends, every step is one of the translation.
    #[test]
    fn two_steps_of_the_translation_are_two() {
        let packed = curve(1, 0.01, |_| 4.0);
        let law = |n: f64| 4.0 + if n <= 64.0 { 0.0 } else { 3.0 } + if n <= 2048.0 { 0.0 } else { 20.0 };
        assert_eq!(infer(&curve(2, 0.01, law), Some(&packed)).unwrap().len(), 2);
    }

    /// As an H100 does: of two lines that are kept together, only one is of use, but behind the cache both take the same.
    #[test]
    fn a_cache_that_holds_fewer_lines_is_no_translation() {
        let packed = curve(1, 0.01, cache(3300.0));
        let why = infer(&curve(2, 0.01, cache(800.0)), Some(&packed)).unwrap_err().to_string();
        assert!(why.contains("are of the caches of data"), "{why}");
    }

    #[test]
    fn nothing_is_told_of_what_nothing_is_known_of() {
        let (step, flat) = (curve(1, 0.0, cache(100.0)), curve(1, 0.0, |_| 4.0));
        assert!(infer(&step, None).unwrap_err().to_string().contains("page_bytes=64"));
        assert!(infer(&step, Some(&flat[..3])).unwrap_err().to_string().contains("of packed lines"));
        assert!(infer(&flat, Some(&flat)).unwrap_err().to_string().starts_with("no step seen"));
        assert!(infer(&flat[..3], Some(&flat)).unwrap_err().to_string().contains("at least 8 sizes"));
    }
}
