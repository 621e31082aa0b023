//! `algo/fixed_size`: what does one workgroup size lose, where a program could choose the best one for each size of its problem?

use std::collections::{BTreeMap, BTreeSet};

use super::adaptive;
use crate::experiments::common::ladder::ratio;
use crate::experiments::common::prelude::*;
use crate::experiments::{Derivation, FlaggedFigure};
use crate::model::{Cache, Figure, NoFigure};
use crate::units;

pub const DERIVATION: Derivation = Derivation {
    name: NAME,
    asked_by: ASKED_BY,
    sources: || [ASKED_BY, BINDS].into(),
    derive: |rows| {
        let of = |experiment: &str| rows.get(experiment).copied().unwrap_or_default();
        derive(of(ASKED_BY), of(BINDS))
    },
};

const NAME: &str = "algo/fixed_size";
const ASKED_BY: &str = "algo/adaptive";
const BINDS: &str = "dispatch/pipeline_bind";

/// Of each algorithm, the variants of its rows that hold for all sizes: what several rows of one name are told apart by.
const VARIANTS: [(&str, [&str; 3]); adaptive::Name::ALL.len()] = [
    ("transpose", ["transpose_worst", "transpose_mean", "transpose_changes"]),
    ("reduce", ["reduce_worst", "reduce_mean", "reduce_changes"]),
    ("blur", ["blur_worst", "blur_mean", "blur_changes"]),
    ("raytrace", ["raytrace_worst", "raytrace_mean", "raytrace_changes"]),
];

/// Width and height of a workgroup.
type GroupSize = (u64, u64);

/// A problem size, the best row there, that of the fixed shape, and how many times as long that takes.
type Loss<'r> = (u64, &'r Finished, &'r Finished, Figure);

/// Rows of an algorithm by problem size and shape.
type Sweep<'r> = BTreeMap<u64, BTreeMap<GroupSize, &'r Finished>>;

fn derive(rows: &[Finished], binds: &[Finished]) -> Vec<FlaggedFigure> {
    let sweeps = VARIANTS.into_iter().map(|(name, of_all)| (name, of_all, sweep(name, rows)));
    let sweeps: Vec<(&'static str, [&'static str; 3], Sweep)> = sweeps.filter(|(.., sweep)| !sweep.is_empty()).collect();
    let mut all: Vec<FlaggedFigure> = Vec::new();
    let mut pays = Vec::new();
    let cost = cost(binds);
    for (name, of_all, sweep) in &sweeps {
        let Some(fixed) = fixed(sweep).filter(|_| sweep.len() > 1) else {
            let reason = "it takes two shapes of workgroups or more, each at two sizes or more".to_owned();
            all.push((row(of_all[0], "worst_loss", Err(NoFigure::TooFew(reason)), String::new()), BTreeSet::new()));
            continue;
        };
        let losses = losses(sweep, fixed);
        pays.extend(cost.as_ref().ok().and_then(|cost| where_it_pays(name, cost.value, &losses)));
        all.extend(of_algorithm(name, *of_all, sweep, fixed, &losses));
    }
    if !sweeps.is_empty() {
        let pays = if pays.is_empty() { "at no size".to_owned() } else { format!("for {}", pays.join("; ")) };
        let note = format!("of binding another pipeline before a pass: choosing gains more {pays}");
        let of_binds = binds.iter().flat_map(|row| row.flags.clone()).collect();
        all.push((Derived { unit: "ns", ..row("", "choosing_cost", cost, note) }, of_binds));
    }
    all
}

fn row(variant: &'static str, metric: &'static str, figure: Result<Figure, NoFigure>, note: String) -> Derived {
    Derived { experiment: NAME, variant, point: Point::default(), metric, unit: "ratio", better: "lower", figure, note }
}

fn sweep<'r>(name: &str, rows: &'r [Finished]) -> Sweep<'r> {
    let mut sweep = Sweep::new();
    for row in rows.iter().filter(|row| row.variant == name && row.cache == Cache::Warm) {
        sweep.entry(row.point.integer("n")).or_default().insert(shape(row), row);
    }
    sweep
}

fn losses<'r>(sweep: &Sweep<'r>, fixed: GroupSize) -> Vec<Loss<'r>> {
    let loss = |(n, rows): (&u64, &BTreeMap<GroupSize, &'r Finished>)| {
        let (best, fixed) = (best(rows), rows[&fixed]);
        (*n, best, fixed, ratio(fixed, best))
    };
    sweep.iter().map(loss).collect()
}

/// What an algorithm loses by this shape at all sizes, and where the best one changes.
fn of_algorithm(
    name: &'static str,
    [worst_loss, mean_loss, all_changes]: [&'static str; 3],
    sweep: &Sweep,
    fixed: GroupSize,
    losses: &[Loss],
) -> Vec<FlaggedFigure> {
    let flags: BTreeSet<String> = sweep.values().flat_map(BTreeMap::values).flat_map(|row| row.flags.clone()).collect();
    let at_size = |(n, best, fixed, loss): &Loss| {
        let flags = best.flags.iter().chain(&fixed.flags).cloned().collect();
        let note = format!("best {}, fixed {}", timed(best), timed(fixed));
        (Derived { point: Point::new([("n".into(), (*n).into())]), ..row(name, "loss", Ok(*loss), note) }, flags)
    };
    let mut all: Vec<FlaggedFigure> = losses.iter().map(at_size).collect();
    let fixed = shown(fixed);
    if let Some((n, .., worst)) = losses.iter().max_by(|a, b| a.3.value.total_cmp(&b.3.value)) {
        let what = if worst.value > 1.0 { format!("loses most at n={n}") } else { "is the best at each".to_owned() };
        all.push((row(worst_loss, "worst_loss", Ok(*worst), format!("{fixed} at all sizes {what}")), flags.clone()));
    }
    let note = format!("{fixed} at all sizes, the best in the geometric mean");
    all.push((row(mean_loss, "mean_loss", Ok(mean(losses.iter().map(|loss| loss.3))), note), flags.clone()));
    let changes = changes(sweep);
    let listed: Vec<String> = changes.iter().map(|(n, shape)| format!("{} from n={n}", shown(*shape))).collect();
    #[expect(clippy::cast_precision_loss, reason = "sizes are few")]
    let count = Figure { value: (changes.len() - 1) as f64, interval: None };
    let note = format!("{}; a change is one whose intervals don't overlap", listed.join(", "));
    all.push((Derived { unit: "", better: "", ..row(all_changes, "changes", Ok(count), note) }, flags));
    all
}

/// At which sizes choosing gains more than it costs.
fn where_it_pays(name: &str, cost: f64, losses: &[Loss]) -> Option<String> {
    let pays = losses.iter().filter(|(_, best, fixed, _)| fixed.time - best.time > cost.max(0.0));
    let pays: Vec<String> = pays.map(|(n, ..)| n.to_string()).collect();
    (!pays.is_empty()).then(|| format!("{name} at n={}", pays.join(", ")))
}

/// The shape that loses least against the best one at each size, in the geometric mean: of those that were measured at all sizes.
fn fixed(sweep: &Sweep) -> Option<GroupSize> {
    let everywhere = |shape: &&GroupSize| sweep.values().all(|rows| rows.contains_key(*shape));
    let candidates: Vec<GroupSize> = sweep.values().next()?.keys().filter(everywhere).copied().collect();
    let loss = |shape: &GroupSize| sweep.values().map(|rows| (rows[shape].time / best(rows).time).ln()).sum::<f64>();
    (candidates.len() > 1).then(|| candidates.iter().copied().min_by(|a, b| loss(a).total_cmp(&loss(b))))?
}

/// The fastest of them. There is one at least.
fn best<'r>(rows: &BTreeMap<GroupSize, &'r Finished>) -> &'r Finished {
    let mut rows = rows.values().copied();
    let first = rows.next().unwrap_or_else(|| unreachable!("a size has rows"));
    rows.fold(first, |best, row| if row.time < best.time { row } else { best })
}

/// From which size on which shape is the best: another one where it is surely faster than the one before.
fn changes(sweep: &Sweep) -> Vec<(u64, GroupSize)> {
    let mut changes: Vec<(u64, GroupSize)> = Vec::new();
    for (n, rows) in sweep {
        let best = best(rows);
        let is_surely_faster = |other: &Finished| match (best.interval, other.interval) {
            (Some((_, high)), Some((low, _))) => high < low,
            _ => best.time < other.time,
        };
        let before = changes.last().and_then(|(_, shape)| rows.get(shape));
        if before.is_none_or(|before| is_surely_faster(before)) {
            changes.push((*n, shape(best)));
        }
    }
    changes
}

/// What binding another pipeline costs, ns, from the rows of the device's side.
fn cost(binds: &[Finished]) -> Result<Figure, NoFigure> {
    let of = |binds_of: &str| {
        binds.iter().find(|row| {
            row.cache == Cache::Warm && row.point.choice("binds") == binds_of && row.point.choice("side") == "device"
        })
    };
    let (Some(once), Some(alternate)) = (of("once"), of("alternate")) else {
        return Err(NoFigure::TooFew(format!("no rows of binds=once and binds=alternate: run {BINDS} as well")));
    };
    #[expect(clippy::cast_precision_loss, reason = "commands are few")]
    let commands = alternate.point.integer("commands") as f64;
    let ends = once.interval.zip(alternate.interval);
    Ok(Figure {
        value: (alternate.time - once.time) / commands,
        interval: ends.map(|(once, alternate)| ((alternate.0 - once.1) / commands, (alternate.1 - once.0) / commands)),
    })
}

fn mean(figures: impl Iterator<Item = Figure> + Clone) -> Figure {
    #[expect(clippy::cast_precision_loss, reason = "sizes are few")]
    let of = |values: Vec<f64>| (values.iter().map(|value| value.ln()).sum::<f64>() / values.len().max(1) as f64).exp();
    let ends: Option<Vec<(f64, f64)>> = figures.clone().map(|figure| figure.interval).collect();
    let interval =
        ends.map(|ends| (of(ends.iter().map(|ends| ends.0).collect()), of(ends.iter().map(|ends| ends.1).collect())));
    Figure { value: of(figures.map(|figure| figure.value).collect()), interval }
}

fn shape(row: &Finished) -> GroupSize {
    (row.point.integer("local_size_x"), row.point.integer("local_size_y"))
}

fn shown((x, y): GroupSize) -> String {
    if y == 1 { x.to_string() } else { format!("{x}x{y}") }
}

fn timed(row: &Finished) -> String {
    format!("{} ({})", shown(shape(row)), units::time(row.time, None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::testing::point;

    /// Two shapes at three sizes: the small one is the best first, then the large one, by far.
    fn rows() -> Vec<Finished> {
        let times = [(4, 256, 10.0), (8, 256, 12.0), (4, 1024, 30.0), (8, 1024, 29.9), (4, 4096, 100.0), (8, 4096, 50.0)];
        let row = |(size, n, time): (u64, u64, f64)| Finished {
            variant: "transpose".to_owned(),
            point: point(&format!("local_size_x={size} local_size_y={size} n={n}")),
            case_id: format!("c{size}{n}"),
            time,
            interval: Some((time - 0.5, time + 0.5)),
            flags: if n == 1024 { vec!["noisy".to_owned()] } else { Vec::new() },
            ..Finished::default()
        };
        times.map(row).into()
    }

    fn binds() -> Vec<Finished> {
        let row = |(binds, time): (&str, f64)| Finished {
            point: point(&format!("binds={binds} side=device commands=64")),
            time,
            interval: Some((time, time)),
            ..Finished::default()
        };
        [("once", 64.0), ("alternate", 256.0)].map(row).into()
    }

    fn figure(told: &[(Derived, BTreeSet<String>)], metric: &str, n: Option<u64>) -> (f64, String, BTreeSet<String>) {
        let is_it =
            |row: &&(Derived, BTreeSet<String>)| row.0.metric == metric && n.is_none_or(|n| row.0.point.integer("n") == n);
        let (row, flags) = told.iter().find(is_it).expect("it is told");
        (row.figure.as_ref().expect("a figure").value, row.note.clone(), flags.clone())
    }

    #[test]
    fn one_size_loses_where_another_is_better() {
        let told = derive(&rows(), &binds());
        let (loss, note, flags) = figure(&told, "loss", Some(256));
        assert_eq!((loss, note.as_str(), flags.len()), (1.2, "best 4x4 (10.0 ns), fixed 8x8 (12.0 ns)", 0));
        assert_eq!(figure(&told, "loss", Some(4096)).0, 1.0);
        assert_eq!(figure(&told, "worst_loss", None).0, 1.2);
        assert!((figure(&told, "mean_loss", None).0 - 1.2_f64.cbrt()).abs() < 1e-9);
        // At 1024 the intervals overlap.
        let (changes, note, flags) = figure(&told, "changes", None);
        assert!(changes == 1.0 && note.starts_with("4x4 from n=256, 8x8 from n=4096;"), "{note}");
        assert!(flags.contains("noisy"));
        // 3 ns are more than what is gained anywhere.
        let (cost, note, _) = figure(&told, "choosing_cost", None);
        assert!(cost == 3.0 && note.ends_with("more at no size"), "{cost} {note}");
    }

    #[test]
    fn what_is_lacking_is_said() {
        let (all, few) = (rows(), &rows()[..2]);
        let lacking = |told: &[(Derived, BTreeSet<String>)]| {
            told.iter().filter_map(|(row, _)| row.lacking().map(ToOwned::to_owned)).collect::<Vec<_>>()
        };
        assert!(lacking(&derive(few, &[]))[0].contains("two sizes"));
        assert!(lacking(&derive(&all, &[]))[0].contains("run dispatch/pipeline_bind as well"));
        assert!(derive(&[], &binds()).is_empty());
    }
}
