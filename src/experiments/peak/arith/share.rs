//! `peak/share`: how near other experiments come to the best that was measured.

use std::collections::{BTreeMap, BTreeSet};

use super::summary::{Kind, Row, ends, of_largest, surest};
use crate::model::{Derived, Figure, Finished, Point};

/// What the shares are reported under.
pub const NAME: &str = "peak/share";

/// What is compared with a kind of peak: experiments that lead with the same figure, and those whose rows the peak is taken from aren't
/// among them.
pub struct Compared {
    /// The kind.
    pub kind: &'static str,
    /// The experiments.
    pub experiments: &'static [&'static str],
}

/// All of them.
pub const COMPARED: &[Compared] = &[
    Compared {
        kind: "global",
        experiments: &[
            "workgroup/linear",
            "workgroup/tile2d",
            "workgroup/tile3d",
            "workgroup/occupancy",
            "memory/stride",
            "memory/misaligned",
            "memory/gather",
            "memory/scatter",
            "memory/row_column",
            "memory/layout",
            "memory/dtype",
            "algo/transpose",
        ],
    },
    Compared { kind: "shared", experiments: &["shared/tile", "shared/capacity"] },
    Compared { kind: "fp32", experiments: &["peak/roofline"] },
];

/// A row for each of these experiments that was measured, with the flags of the two rows that are compared.
pub fn derive(rows: &BTreeMap<&str, &[Finished]>, kinds: &[Kind]) -> Vec<(Derived, BTreeSet<String>)> {
    let of = |compared: &Compared| {
        let Some(kind) = kinds.iter().find(|kind| kind.name == compared.kind) else { return Vec::new() };
        let peak = kind.best(rows);
        let of_experiment = |name: &&'static str| {
            let all = rows.get(name).copied().unwrap_or_default();
            let measured = of_largest(all.iter().map(|row| (*name, row)).collect());
            surest(&measured).map(|best| share(kind, best, peak, &measured))
        };
        compared.experiments.iter().filter_map(of_experiment).collect::<Vec<_>>()
    };
    COMPARED.iter().flat_map(of).collect()
}

fn share(kind: &Kind, best: Row<'_>, peak: Option<Row<'_>>, all: &[Row<'_>]) -> (Derived, BTreeSet<String>) {
    let (experiment, row) = best;
    let derived = |figure, note| Derived {
        experiment: NAME,
        variant: experiment,
        point: Point::default(),
        metric: "share",
        unit: "ratio",
        better: "higher",
        figure,
        note,
    };
    let Some((source, peak)) = peak else {
        let sources = kind.sources.join(" or ");
        let reason = format!("no row tells the peak `{}`: run {sources} as well", kind.name);
        return (derived(Err(reason), String::new()), BTreeSet::new());
    };
    let ((low, high), (peak_low, peak_high)) = (ends(row), ends(peak));
    let figure = Figure {
        value: row.value / peak.value,
        interval: row.interval.and(peak.interval).map(|_| (low / peak_high, high / peak_low)),
    };
    let least = all.iter().map(|(_, row)| row.value).fold(f64::INFINITY, f64::min) / peak.value;
    let variant = |row: &Finished| if row.variant.is_empty() { String::new() } else { format!("{} ", row.variant) };
    let note = format!(
        "{}{} over {source} {}{}, the best of {} rows; the least has {:.3}",
        variant(row),
        row.point,
        variant(peak),
        peak.point,
        all.len(),
        least
    );
    (derived(Ok(figure), note), row.flags.iter().chain(&peak.flags).cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::super::summary;
    use super::*;

    fn row(variant: &str, n: u64, value: f64) -> Finished {
        Finished {
            variant: variant.to_owned(),
            point: Point::new([("n".into(), n.into())]),
            time: 100.0,
            interval: Some((99.0, 102.0)),
            flags: vec![format!("of{value}")],
            value,
            ..Finished::default()
        }
    }

    #[test]
    fn a_share_is_of_the_peak_of_its_kind() {
        let (stream, stride) = ([row("", 4, 3000.0)], [row("", 4, 600.0), row("", 4, 2700.0), row("", 1, 9000.0)]);
        let rows = BTreeMap::from([("memory/stream", &stream[..]), ("memory/stride", &stride[..])]);
        let told = derive(&rows, summary::KINDS);
        let [(derived, flags)] = &told[..] else { panic!("{told:?}") };
        let figure = derived.figure.as_ref().unwrap();
        assert_eq!((derived.experiment, derived.variant, figure.value), (NAME, "memory/stride", 0.9));
        let (low, high) = figure.interval.unwrap();
        assert!(low < 0.9 && high > 0.9 && low > 0.87 && high < 0.93, "{low} {high}");
        assert!(derived.note.ends_with("the best of 2 rows; the least has 0.200"), "{}", derived.note);
        assert_eq!(*flags, ["of2700", "of3000"].map(str::to_owned).into());
    }

    #[test]
    fn without_the_peak_there_is_no_share() {
        let stride = [row("", 4, 600.0)];
        let told = derive(&BTreeMap::from([("memory/stride", &stride[..])]), summary::KINDS);
        let [(derived, _)] = &told[..] else { panic!("{told:?}") };
        assert!(derived.figure.as_ref().unwrap_err().contains("`global`"));
        assert!(derive(&BTreeMap::new(), summary::KINDS).is_empty());
    }

    #[test]
    fn each_kind_is_one_of_the_summary() {
        for Compared { kind, experiments } in COMPARED {
            let kind = summary::KINDS.iter().find(|other| other.name == *kind).unwrap();
            assert!(experiments.iter().all(|name| crate::experiments::find(name).is_some() && !kind.sources.contains(name)));
        }
    }
}
