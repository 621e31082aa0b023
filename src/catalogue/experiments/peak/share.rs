//! `peak/share`: how near other experiments come to the best that was measured.

use std::collections::{BTreeMap, BTreeSet};

use super::summary::{ASKED_BY, KINDS, Kind, Row, ends, of_largest, surest};
use crate::experiments::common::prelude::*;
use crate::experiments::{CATALOGUE, Derivation};
use crate::model::{Figure, NoFigure};

pub const DERIVATION: Derivation = Derivation { name: NAME, asked_by: ASKED_BY, sources, derive };

const NAME: &str = "peak/share";

fn sources() -> BTreeSet<&'static str> {
    let of_peaks = KINDS.iter().flat_map(|kind| kind.sources).copied();
    of_peaks.chain(compared().map(|(name, _)| name)).collect()
}

/// The experiments whose shares are reported, with the kind of peak that each is held against.
fn compared() -> impl Iterator<Item = (&'static str, &'static str)> {
    CATALOGUE.iter().filter_map(|experiment| Some((experiment.name(), experiment.peak_kind?)))
}

/// A row for each of these experiments that was measured, with the flags of the two rows that are compared.
fn derive(rows: &BTreeMap<&str, &[Finished]>) -> Vec<(Derived, BTreeSet<String>)> {
    let of = |(name, kind): (&'static str, &str)| {
        let kind = KINDS.iter().find(|own| own.name == kind)?;
        let experiment = CATALOGUE.iter().find(|experiment| experiment.name() == name)?;
        let all = rows.get(name).copied().unwrap_or_default().iter();
        let counted = all.filter(|row| experiment.is_of_peak(&row.variant, &row.point));
        let measured = of_largest(counted.map(|row| (name, row)).collect());
        surest(&measured).map(|best| share(kind, best, kind.best(rows), &measured))
    };
    compared().filter_map(of).collect()
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
        return (derived(Err(NoFigure::TooFew(reason)), String::new()), BTreeSet::new());
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
    use super::*;
    use crate::experiments::common::testing::point;

    fn row(variant: &str, n: u64, value: f64) -> Finished {
        Finished {
            variant: variant.to_owned(),
            point: point(&format!("n={n}")),
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
        let told = derive(&rows);
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
        let told = derive(&BTreeMap::from([("memory/stride", &stride[..])]));
        let [(derived, _)] = &told[..] else { panic!("{told:?}") };
        assert!(derived.figure.as_ref().unwrap_err().to_string().contains("`global`"));
        assert!(derive(&BTreeMap::new()).is_empty());
    }

    #[test]
    fn each_kind_is_one_of_the_summary() {
        assert!(compared().count() > 10);
        for (name, kind) in compared() {
            let kind = KINDS.iter().find(|other| other.name == kind).unwrap();
            assert!(!kind.sources.contains(&name), "{name}");
        }
    }
}
