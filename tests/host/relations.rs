//! What rows say of each other: figures relative to a base, and figures derived from several rows.

use std::collections::BTreeSet;

use lanescope::record::Record;

use crate::support::{Folder, measured, rows, rows_of, succeeded};

const TRANSPOSE: [&str; 7] = ["-q", "--preset=quick", "--max-time=20ms", "-a", "matrix_size=64", "-a", "local_size_x=8,16"];

fn transposed(filters: &[&str]) -> Vec<Record> {
    measured(&[filters, &TRANSPOSE, &["-a", "local_size_y=8", "-d", "mock"]].concat())
}

#[test]
fn variants_are_relative_to_the_first_of_the_ladder_at_the_same_point() {
    let rows = transposed(&["algo/transpose"]);
    let measured: Vec<&Record> = rows.iter().filter(|row| row.status == "ok" && row.row_kind == "measured").collect();
    assert!(measured.len() >= 8, "{}", measured.len());
    for row in measured {
        let base = rows.iter().find(|base| base.case_id == row.relative_to).unwrap();
        assert_eq!((base.variant.as_str(), &base.axis_values), ("naive", &row.axis_values));
        assert_eq!(row.relative, Some(row.value.unwrap() / base.value.unwrap()));
        assert_eq!(row.variant == "naive", row.relative_to == row.case_id);
    }
}

#[test]
fn a_ladder_tells_its_best_rung() {
    let rows = transposed(&["algo/transpose"]);
    let [gain] = &rows.iter().filter(|row| row.experiment == "algo/ladder").collect::<Vec<_>>()[..] else { panic!("not one") };
    let of = |is: &dyn Fn(&Record) -> bool| {
        let times = rows.iter().filter(|row| row.row_kind == "measured" && is(row)).filter_map(|row| row.time_ns);
        times.fold(f64::INFINITY, f64::min)
    };
    assert_eq!(gain.value, Some(of(&|row| row.variant == "naive") / of(&|_| true)));
    assert_eq!((gain.variant.as_str(), gain.axis_values.as_str()), ("algo/transpose", "matrix_size=64"));
    assert!(gain.check_note.contains("the best of "), "{}", gain.check_note);
}

/// What others are compared with comes first, so that it is finished when they are written.
#[test]
fn a_base_comes_first_whatever_order_was_asked_for() {
    let strides = |values: &str| {
        let stride = format!("stride={values}");
        measured(&["-q", "memory/stride", "--max-time=20ms", "-d", "mock", "-a", "n=2^14", "-a", &stride])
    };
    let of = |rows: &[Record]| rows.iter().map(|row| row.by_axis["stride"].to_string()).collect::<Vec<_>>();
    let rows = strides("4,2,1");
    assert_eq!(of(&rows)[..3], ["1", "4", "2"]);
    assert!(rows.iter().all(|row| row.relative.is_some()));
    // Without it there is nothing to compare with, and nothing is said.
    assert!(strides("4,2").iter().all(|row| row.relative.is_none() && row.relative_to.is_empty()));
}

/// Bases that were measured in an earlier block are still known.
#[test]
fn a_base_of_an_earlier_block_is_known() {
    let cases = ["-q", "memory/stride", "--max-time=20ms", "-d", "mock", "-a", "n=2^13", "-a", "op=read", "-a", "stride=1..70"];
    let rows = measured(&cases);
    assert_eq!(rows.len(), 70);
    assert!(rows.iter().all(|row| row.relative.is_some()));
}

#[test]
fn a_variant_alone_has_no_base() {
    let rows = transposed(&["algo/transpose:padded"]);
    assert!(rows.iter().all(|row| row.variant == "padded" && row.relative_to.is_empty()));
}

#[test]
fn variants_are_paired_with_their_base() {
    let rows = measured(&[&["algo/transpose", "--paired", "-a", "local_size_y=8", "-d", "mock"], &TRANSPOSE[..]].concat());
    for row in rows.iter().filter(|row| row.status == "ok" && row.row_kind == "measured") {
        assert_eq!(row.pair_base.is_empty(), row.variant == "naive", "{}", row.variant);
        let base = rows.iter().find(|base| base.variant == "naive" && base.axis_values == row.axis_values).unwrap();
        assert!(row.variant == "naive" || row.pair_base == base.case_id);
        // The base's own row was measured alone: what is compared is the ratio.
        assert!(row.variant == "naive" || row.relative.is_none());
        assert_eq!(row.ratio.is_some(), row.variant != "naive");
        assert!(row.ratio_ci_low <= row.ratio && row.ratio <= row.ratio_ci_high);
    }
}

// ---- derived rows ---------------------------------------------------------------------------------------------------------

fn derived(rows: &[Record]) -> Vec<&Record> {
    rows.iter().filter(|row| row.row_kind == "derived").collect()
}

/// A derived row is known by what it says, not by when it was said; and no other is known by the same.
#[test]
fn a_derived_row_has_an_id_of_its_own_and_the_same_in_every_run() {
    let ids = |of: &[&str], seed: &str| {
        let run = ["-q", "--preset=quick", "-d", "mock", "--max-time=20ms", "--seed", seed];
        let rows = measured(&[of, &run].concat());
        derived(&rows).iter().map(|row| row.case_id.clone()).collect::<Vec<_>>()
    };
    let runs: [&[&str]; 3] = [
        &["shared/*"],
        &["algo/adaptive:transpose", "dispatch/pipeline_bind", "-a", "n=2^12,2^14"],
        &["algo/transpose", "algo/blur"],
    ];
    for run in runs {
        let [one, two] = ["1", "2"].map(|seed| ids(run, seed));
        let distinct: BTreeSet<&String> = one.iter().collect();
        assert!(one.len() > 1 && distinct.len() == one.len() && one == two, "{run:?}: {one:?} {two:?}");
    }
}

/// Who asked for it learns what is lacking; the overview, which is too small for much, says nothing of it.
#[test]
fn what_too_few_rows_can_not_tell_is_no_row_but_a_note() {
    let run = |more: &[&str]| succeeded(&[&["run", "-d", "mock", "--preset=quick", "--max-time=5ms"], more].concat());
    let asked = run(&["shared/bank_conflict", "-a", "stride=1,2"]);
    assert!(derived(&rows(&asked.out)).is_empty());
    assert!(asked.err.contains("note: shared/banks count: no banks to be inferred: at least 8 strides"), "{}", asked.err);
    let overview = run(&["-a", "stride=1,2", "-a", "loads=16", "-a", "n=4096"]);
    assert!(derived(&rows(&overview.out)).iter().all(|row| row.experiment != "shared/banks"));
    assert!(!overview.err.contains("to be inferred"), "{}", overview.err);
}

#[test]
fn derived_names_are_names_like_others() {
    let listed = succeeded(&["list", "shared/banks"]).out;
    assert!(listed.contains("shared/bank_conflict") && listed.contains("derives: shared/banks"), "{listed}");
    assert!(succeeded(&["describe", "shared/banks"]).out.contains("Derived rows: shared/banks"));
}

/// Figures that are drawn from rows of several experiments are the same whether one run measured them or shards did, and come with the
/// experiment that tells them, not with those that it draws from.
#[test]
fn figures_are_drawn_from_rows_of_several_experiments() {
    const RUN: [&str; 9] = ["-q", "-d", "mock:noise=0", "--preset=quick", "--max-time=5ms", "-a", "n=65536", "-a", "groups=64"];
    let filters = ["peak/arith", "memory/stream"];
    let whole = measured(&[&filters[..], &RUN].concat());
    let told = |rows: &[Record]| {
        let of = |row: &&Record| {
            (row.variant.clone(), row.case_id.clone(), row.value, row.check_note.clone(), row.quality_flags.clone())
        };
        derived(rows).iter().filter(|row| row.experiment == "peak/summary").map(of).collect::<Vec<_>>()
    };
    let figures = told(&whole);
    let figure = |name: &str| figures.iter().find(|(variant, ..)| variant == name).unwrap();
    for (name, source) in [("fp32", "peak/arith:f32 "), ("int", "peak/arith:i32 "), ("global", "memory/stream ")] {
        let (_, _, value, note, _) = figure(name);
        let row = whole.iter().find(|row| note.contains(&format!("({})", row.case_id))).unwrap();
        assert!(note.starts_with(source) && *value == row.value && value.is_some(), "{name}: {note}");
    }
    // The mock has neither of them, and shared memory wasn't asked for.
    assert!(["fp64", "dot", "shared"].iter().all(|name| figures.iter().all(|(variant, ..)| variant != name)));

    let folder = Folder::new();
    let shards: Vec<String> = (1..=3)
        .map(|i| {
            let (shard, file) = (format!("--shard={i}/3"), folder.at(&format!("{i}.csv")));
            succeeded(&[&["run"], &filters[..], &RUN, &[&shard, "-o", &file]].concat());
            file
        })
        .collect();
    let merged = folder.path("merged.csv");
    let files: Vec<&str> = shards.iter().map(String::as_str).collect();
    succeeded(&[&["merge"], &files[..], &["-o", merged.to_str().unwrap()]].concat());
    // A shard's clock stands elsewhere when a case begins, and ticks are whole: times differ by a tick.
    let merged = told(&rows_of(&merged));
    assert_eq!(merged.len(), figures.len());
    for (one, other) in merged.iter().zip(&figures) {
        assert_eq!((&one.0, &one.1, &one.3, &one.4), (&other.0, &other.1, &other.3, &other.4));
        assert!(one.2.zip(other.2).map_or(one.2 == other.2, |(one, other)| (one / other - 1.0).abs() < 1e-3), "{one:?}");
    }
    assert!(told(&measured(&[&["memory/stream"], &RUN[..7]].concat())).is_empty());
}
