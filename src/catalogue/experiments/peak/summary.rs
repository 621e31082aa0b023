//! `peak/summary`: the best of each kind that was measured.

use std::collections::{BTreeMap, BTreeSet};

use crate::experiments::Derivation;
use crate::experiments::common::prelude::*;
use crate::model::{Figure, NoFigure};

pub const DERIVATION: Derivation = Derivation {
    name: NAME,
    asked_by: ASKED_BY,
    sources: || KINDS.iter().flat_map(|kind| kind.sources).copied().collect(),
    derive,
};

const NAME: &str = "peak/summary";

/// The experiment whose rows ask for it, and for the shares of the peaks.
pub(super) const ASKED_BY: &str = "peak/arith";

pub(super) struct Kind {
    pub(super) name: &'static str,
    pub(super) sources: &'static [&'static str],
    is_of: fn(&Finished) -> bool,
    metric: &'static str,
    unit: &'static str,
}

pub(super) const KINDS: &[Kind] = &[
    Kind { is_of: |row| is_fma(row, "f32"), ..Kind::flops("fp32") },
    Kind { is_of: |row| is_fma(row, "f16"), ..Kind::flops("fp16") },
    Kind { is_of: |row| is_fma(row, "f64"), ..Kind::flops("fp64") },
    Kind { is_of: |row| is_fma(row, "i32"), metric: "ops", unit: "Gop/s", ..Kind::flops("int") },
    Kind { sources: &["peak/dot"], is_of: |_| true, metric: "ops", unit: "Gop/s", ..Kind::flops("dot") },
    Kind { is_of: |row| row.variant.starts_with("f16_"), ..Kind::matrices("matrix_fp16") },
    Kind { is_of: |row| row.variant.starts_with("bf16_"), ..Kind::matrices("matrix_bf16") },
    Kind { is_of: |row| is_of_bytes(row), metric: "ops", unit: "Gop/s", ..Kind::matrices("matrix_int8") },
    Kind { sources: &["memory/stream"], ..Kind::bandwidth("global") },
    Kind {
        sources: &["shared/bandwidth", "shared/bank_conflict"],
        is_of: |row| !is_broadcast(row),
        ..Kind::bandwidth("shared")
    },
    Kind { sources: &["cache/bandwidth"], ..Kind::bandwidth("cache") },
];

impl Kind {
    const fn flops(name: &'static str) -> Self {
        Self { name, sources: &["peak/arith"], is_of: |_| true, metric: "flops", unit: "GFLOP/s" }
    }

    const fn matrices(name: &'static str) -> Self {
        Self { sources: &["peak/coopmat", "peak/coopmat_workgroup"], ..Self::flops(name) }
    }

    const fn bandwidth(name: &'static str) -> Self {
        Self { name, sources: &[], is_of: |_| true, metric: "bandwidth", unit: "GB/s" }
    }

    fn candidates<'a>(&self, rows: &BTreeMap<&str, &'a [Finished]>) -> Vec<Row<'a>> {
        let of_source = |source: &&'static str| {
            let all = rows.get(*source).copied().unwrap_or_default();
            of_largest(all.iter().filter(|row| (self.is_of)(row)).map(|row| (*source, row)).collect())
        };
        of_full_mantissas(self.sources.iter().flat_map(of_source).collect())
    }

    pub(super) fn best<'a>(&self, rows: &BTreeMap<&str, &'a [Finished]>) -> Option<Row<'a>> {
        surest(&self.candidates(rows))
    }
}

fn is_fma(row: &Finished, variant: &str) -> bool {
    row.variant == variant && row.point.choice("op") == "fma"
}

fn is_of_bytes(row: &Finished) -> bool {
    row.variant.starts_with("i8_") || row.variant.starts_with("u8_")
}

/// One access may serve all lanes of a broadcast: what they get is more than the memory gives.
fn is_broadcast(row: &Finished) -> bool {
    row.point.get("pattern").is_some() && row.point.choice("pattern") == "broadcast"
}

pub(super) type Row<'a> = (&'static str, &'a Finished);

/// A row for each kind, and with it the flags of the row that it was taken from.
fn derive(rows: &BTreeMap<&str, &[Finished]>) -> Vec<(Derived, BTreeSet<String>)> {
    KINDS.iter().map(|kind| told(kind, &kind.candidates(rows))).collect()
}

/// Where arrays differ in size, only the largest tell of memory: smaller ones may lie in caches.
pub(super) fn of_largest(rows: Vec<Row<'_>>) -> Vec<Row<'_>> {
    let size = |row: &Finished| row.point.get("n").map(|_| row.point.integer("n"));
    let largest = rows.iter().map(|(_, row)| size(row)).max().flatten();
    rows.into_iter().filter(|(_, row)| size(row) == largest).collect()
}

/// Small whole numbers save power, so that clocks stay up: where full mantissas were multiplied as well, only these tell.
fn of_full_mantissas(mut rows: Vec<Row<'_>>) -> Vec<Row<'_>> {
    let is_full = |row: &Finished| row.point.get("data").is_some() && row.point.choice("data") == "mantissas";
    if rows.iter().any(|(_, row)| is_full(row)) {
        rows.retain(|(_, row)| is_full(row));
    }
    rows
}

/// The row with the highest lower end of its interval: of figures that are alike, the highest would be the noisiest one's.
pub(super) fn surest<'a>(rows: &[Row<'a>]) -> Option<Row<'a>> {
    rows.iter().copied().max_by(|(_, one), (_, other)| ends(one).0.total_cmp(&ends(other).0))
}

fn told(kind: &Kind, rows: &[Row<'_>]) -> (Derived, BTreeSet<String>) {
    let derived = |figure, note| Derived {
        experiment: NAME,
        variant: kind.name,
        point: Point::default(),
        metric: kind.metric,
        unit: kind.unit,
        better: "higher",
        figure,
        note,
    };
    let Some((source, best)) = surest(rows) else {
        let why = NoFigure::TooFew(format!("no row of {} that tells it was measured", kind.sources.join(" or ")));
        return (derived(Err(why), String::new()), BTreeSet::new());
    };
    let variant = if best.variant.is_empty() { String::new() } else { format!(":{}", best.variant) };
    let of_how_many = if rows.len() == 1 { "the only row".to_owned() } else { format!("the best of {} rows", rows.len()) };
    let note = format!("{source}{variant} {} ({}), {of_how_many}", best.point, best.case_id);
    let figure = Figure { value: best.value, interval: best.interval.map(|_| ends(best)) };
    (derived(Ok(figure), note), best.flags.iter().cloned().collect())
}

pub(super) fn ends(row: &Finished) -> (f64, f64) {
    row.rate_ends(row.value * row.time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::testing::point;
    use crate::model::Cache;

    fn row(variant: &str, told: &str, value: f64, spread: f64) -> Finished {
        Finished {
            variant: variant.to_owned(),
            point: point(told),
            case_id: format!("c{value}"),
            cache: Cache::Warm,
            time: 100.0,
            interval: Some((100.0 / (1.0 + spread), 100.0 / (1.0 - spread))),
            flags: if spread > 0.1 { vec!["noisy".to_owned()] } else { Vec::new() },
            value,
            ..Finished::default()
        }
    }

    fn of_kind(rows: &BTreeMap<&str, &[Finished]>, kind: &str) -> (Derived, BTreeSet<String>) {
        derive(rows).into_iter().find(|(derived, _)| derived.variant == kind).unwrap()
    }

    #[test]
    fn the_best_is_the_surest() {
        let rows = [
            row("f32", "op=fma", 120.0, 0.3),
            row("f32", "op=fma", 100.0, 0.01),
            row("f32", "op=fma", 90.0, 0.001),
            row("f32", "op=add", 500.0, 0.0),
            row("f16", "op=fma", 200.0, 0.3),
        ];
        let rows = BTreeMap::from([("peak/arith", &rows[..])]);
        let (best, flags) = of_kind(&rows, "fp32");
        let figure = best.figure.unwrap();
        let (low, high) = figure.interval.unwrap();
        assert_eq!((figure.value, low.round(), high.round()), (100.0, 99.0, 101.0));
        assert!(
            best.note.contains("peak/arith:f32 op=fma (c100)") && best.note.ends_with("the best of 3 rows"),
            "{}",
            best.note
        );
        assert!(flags.is_empty(), "those of its row, and not of all: {flags:?}");
        assert_eq!(of_kind(&rows, "fp16").1, BTreeSet::from(["noisy".to_owned()]));
        assert!(of_kind(&rows, "fp64").0.figure.unwrap_err().to_string().contains("peak/arith"));
    }

    /// The interval of times of few processes that differ much may reach below nothing.
    #[test]
    fn a_rate_without_a_shortest_time_has_no_upper_end() {
        let mut noisy = row("f32", "op=fma", 100.0, 0.0);
        noisy.interval = Some((-50.0, 200.0));
        let (best, _) = of_kind(&BTreeMap::from([("peak/arith", &[noisy][..])]), "fp32");
        assert_eq!(best.figure, Ok(Figure { value: 100.0, interval: Some((50.0, f64::INFINITY)) }));
    }

    #[test]
    fn memory_is_told_by_the_largest_arrays() {
        let of = |n: u64, value| row("", &format!("n={n}"), value, 0.01);
        let rows = [of(1 << 10, 900.0), of(1 << 20, 100.0), of(1 << 20, 110.0)];
        let rows = BTreeMap::from([("memory/stream", &rows[..])]);
        assert_eq!(of_kind(&rows, "global").0.figure.unwrap().value, 110.0);
    }

    #[test]
    fn matrices_are_told_by_full_mantissas_where_there_are_any() {
        let of = |data, value| row("bf16_f32", &format!("data={data}"), value, 0.01);
        let kind = |rows: &[Finished]| {
            let (derived, _) = of_kind(&BTreeMap::from([("peak/coopmat", rows)]), "matrix_bf16");
            (derived.figure.unwrap().value, derived.note)
        };
        let (value, note) = kind(&[of("whole", 894.0), of("mantissas", 788.0), row("bf16_f32", "", 890.0, 0.01)]);
        assert_eq!(value, 788.0);
        assert!(note.contains("data=mantissas") && note.ends_with("the only row"), "{note}");
        assert_eq!(kind(&[row("bf16_f32", "", 890.0, 0.01)]).0, 890.0, "as rows of before have it");
    }

    #[test]
    fn what_is_not_measured_is_told_for_each_kind() {
        let none = derive(&BTreeMap::new());
        assert_eq!(none.len(), KINDS.len());
        assert!(none.iter().all(|(derived, flags)| derived.figure.is_err() && flags.is_empty()));
    }
}
