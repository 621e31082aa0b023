use std::collections::BTreeMap;

use super::*;
use crate::analysis::compare::{
    About, BetweenRuns, CaseKind, ClockSource, CodeChange, Compared, Difference, SideClocks, Total, Verdict,
};
use crate::model::{Repeatability, Status};
use crate::output::Page;
use crate::stats::Ratio;

fn ratio(value: f64, half: f64) -> Ratio {
    Ratio { value, low: value * (1.0 - half), high: value * (1.0 + half) }
}

fn case(name: &str, axes: &str, verdict: Verdict, times: Option<f64>) -> Compared {
    let (experiment, variant) = name.split_once(':').unwrap_or((name, ""));
    let kind = CaseKind { experiment: experiment.into(), variant: variant.into(), cache: "warm".into(), ..CaseKind::default() };
    Compared {
        kind: kind.into(),
        case_id: format!("c{:016x}", crate::digest::hash64(&format!("{name} {axes}"))).into(),
        axes: axes.into(),
        verdict,
        ratio: times.map(|times| ratio(times, 0.003)),
        figures: [Some(3089.3), times.map(|times| 3089.3 * times)],
        unit: "GB/s".into(),
        flags: "".into(),
        reason: String::new(),
        left: None,
        failures: Box::default(),
        is_undecided: false,
        device: "".into(),
        key: "".into(),
    }
}

/// Of every verdict one, some of several.
fn cases() -> Vec<Compared> {
    let broken = Compared {
        reason: "wrong_result: c[131071] is 8552, should be 34208 (1 of 131072 elements are wrong)".to_owned(),
        failures: [Status::WrongResult].into(),
        ..case("sync/atomic:used", "local_size_x=256;memory=global", Verdict::Broken, None)
    };
    let coded = Compared {
        reason: "its code changed".to_owned(),
        flags: "noisy;launch_bound".into(),
        ..case("memory/stream", "n=268435456;op=copy;width=1", Verdict::Slower, Some(0.9312))
    };
    let unclear = |axes: &str, reason: &str| Compared {
        reason: reason.to_owned(),
        ..case("sync/false_sharing", axes, Verdict::Unclear, Some(1.02))
    };
    let placed = "it depends on where its buffers lie: it takes 6 processes a side, as `run --preset study` has";
    let same = (0..30).map(|i| case("workgroup/linear", &format!("local_size_x={}", 32 + i), Verdict::Same, Some(1.0002)));
    let faster = (0..9).map(|i| {
        let axes = format!("n=268435456;pattern=shuffled_{}", 1 << i);
        case("memory/gather", &axes, Verdict::Faster, Some(1.02 + f64::from(i) * 0.01))
    });
    let mut cases = vec![
        case("memory/stream", "n=268435456;op=read;width=1", Verdict::Slower, Some(0.97)),
        coded,
        broken,
        Compared { reason: "it has no row".to_owned(), ..case("shared/banks", "", Verdict::Missing, None) },
        unclear("line=64", placed),
        unclear("line=128", placed),
        unclear("line=256", placed),
        case("dispatch/empty", "", Verdict::Unclear, Some(0.98)),
        Compared { reason: "the shader is another one".to_owned(), ..case("algo/scan", "", Verdict::Changed, Some(1.3)) },
    ];
    cases.extend(faster);
    cases.extend(same);
    cases
}

fn total(family: Option<&str>, cases: usize, ratio: Ratio, verdict: Verdict) -> Total {
    Total { family: family.map(str::to_owned), cases, of: cases, ratio, verdict, is_borrowed: false }
}

fn comparison() -> Comparison {
    let borrowed = |class: Repeatability| (class, BetweenRuns::borrowed(class, 1));
    let differs =
        |about, column, base: &str, new: &str| Difference { about, column, values: [base.to_owned(), new.to_owned()] };
    Comparison {
        names: ["before".to_owned(), "after".to_owned()],
        cases: cases(),
        derived: vec![
            Compared {
                unit: "ratio".into(),
                figures: [Some(0.9), Some(0.8)],
                ..case("peak/share", "", Verdict::Slower, Some(0.889))
            },
            case("peak/summary:global", "", Verdict::Same, Some(1.0)),
        ],
        neither: 2,
        totals: vec![
            total(Some("memory"), 11, ratio(1.0431, 0.002), Verdict::Faster),
            total(Some("workgroup"), 30, ratio(1.0002, 0.002), Verdict::Same),
            total(None, 41, ratio(1.0123, 0.002), Verdict::Faster),
        ],
        clock: Some(SideClocks { source: ClockSource::Counters, medians: [1979.9, 1994.8], is_taken_out: true }),
        without_clock: 1,
        softening: None,
        processes: 3,
        code: vec![
            CodeChange { column: "registers", helped: 3, hurt: 12, unchanged: 26, totals: [1680, 1744] },
            CodeChange { column: "spill_bytes", helped: 0, hurt: 0, unchanged: 41, totals: [0, 0] },
        ],
        application: None,
        differences: vec![
            differs(About::Driver, "driver_info", "580.159.04", "590.44.01"),
            differs(About::Driver, "driver_version", "2434646272", "2476720192"),
            differs(About::Plan, "plan_id", "p0", "p1"),
        ],
        warnings: vec!["driver and tool differ: the figures don't tell which of them moved a case".to_owned()],
        between_runs: BTreeMap::from([
            (
                Repeatability::Memory,
                BetweenRuns { deviation: 0.000_98, measured: Some(42.0), ..BetweenRuns::borrowed(Repeatability::Memory, 1) },
            ),
            borrowed(Repeatability::Core),
            borrowed(Repeatability::Launch),
        ]),
        margin: 0.01,
    }
}

fn text(comparison: &Comparison, style: Style) -> String {
    let failure = "--fail-on slower:3%: 1 case memory/stream n=268435456;op=copy;width=1: 0.931 [0.928, 0.934] times as fast";
    let failures = [failure.to_owned()];
    comparison_text(
        &Report { comparisons: std::slice::from_ref(comparison), failures: &failures, unjudged: &[], is_whole: false },
        style,
    )
}

fn page(width: u16) -> Style {
    Style::Text(Page { width, ..Page::FILE })
}

#[test]
fn flags_that_most_cases_have_stand_below_them_in_any_width() {
    let mut comparison = comparison();
    comparison.cases.iter_mut().for_each(|case| case.flags = "noisy".into());
    let count = |width| text(&comparison, page(width)).matches("flags of these 14 cases: noisy in 14").count();
    assert_eq!([60, 80, 160].map(count), [1; 3]);
    assert!(!text(&self::comparison(), page(80)).contains("flags of these"));
}

#[test]
fn what_disturbed_most_cases_is_said_with_what_to_do() {
    let with = |flags: &str| {
        let mut comparison = comparison();
        comparison.cases.iter_mut().for_each(|case| case.flags = flags.into());
        text(&comparison, page(160))
    };
    // Rows are noisy because other programs ran.
    assert!(with("contended;noisy").contains(" cases are contended: measure again on an idle machine."));
    assert!(with("noisy").contains(" cases are noisy: measure again, for longer or on an idle machine."));
    assert!(!text(&comparison(), page(160)).contains("measure again"));
}

#[test]
fn an_answer_reads_at_a_glance() {
    insta::assert_snapshot!(text(&comparison(), page(120)), @"
    after compared with before
    Faster in all: 1.012 [1.010, 1.014] times as fast.
    48 cases: 1 broken, 1 missing, 2 slower, 9 faster, 1 changed, 4 unclear, 30 the same; derived: 1 slower, 1 the same; 2
    without a figure on either side
    Slower most: memory/stream op=copy, 0.931 [0.928, 0.934] times as fast.
    Faster most: memory/gather pattern=shuffled_256, 1.100 [1.097, 1.103] times as fast.
    Broken: sync/atomic used: wrong_result: c[131071] is 8552, should be 34208 (1 of 131072 elements are wrong).
    Clocks: the core ran at 1980 MHz, then at 1995 MHz (medians). Its steps are taken out: ratios and verdicts are about
    what is left.

    Beside the figures, these differ:
     column        before       after
    ──────────────────────────────────────
     driver_info   580.159.04   590.44.01
    Warning: driver and tool differ: the figures don't tell which of them moved a case.

    Families, by geometric mean:
     family      as a whole          times as fast   broken   slower   faster   unclear   other   same
    ───────────────────────────────────────────────────────────────────────────────────────────────────
     algo                                                                                     1
     dispatch                                                                         1
     memory      faster       1.043 [1.041, 1.045]                 2        9
     shared                                                                                   1
     sync                                                 1                           3
     workgroup   same         1.000 [0.998, 1.002]                                                  30

    Cases, by effect:
     case                               verdict          times as fast   before → after     why
    ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
     sync/atomic used                   broken                           3089 GB/s →        wrong_result: c[131071] is
                                                                                            8552, should be 34208 (1 of
                                                                                            131072 elements are wrong)
     shared/banks                       missing                          3089 GB/s →        it has no row
     memory/gather                      faster    1.100 [1.097, 1.103]   3089 → 3400 GB/s
     pattern=shuffled_256
     memory/gather                      faster    1.090 [1.087, 1.093]   3089 → 3370 GB/s
     pattern=shuffled_128
     memory/gather                      faster    1.080 [1.077, 1.083]   3089 → 3340 GB/s
     pattern=shuffled_64
     memory/stream op=copy              slower    0.931 [0.928, 0.934]   3089 → 2877 GB/s   its code changed
     memory/gather                      faster    1.070 [1.067, 1.073]   3089 → 3306 GB/s
     pattern=shuffled_32
     memory/gather                      faster    1.060 [1.057, 1.063]   3089 → 3275 GB/s
     pattern=shuffled_16
     memory/gather pattern=shuffled_8   faster    1.050 [1.047, 1.053]   3089 → 3244 GB/s
     memory/stream op=read              slower    0.970 [0.967, 0.973]   3089 → 2997 GB/s
     algo/scan                          changed   1.300 [1.296, 1.304]   3089 → 4020 GB/s   the shader is another one
     dispatch/empty                     unclear   0.980 [0.977, 0.983]   3089 → 3028 GB/s
     sync/false_sharing line=64         unclear   1.020 [1.017, 1.023]   3089 → 3151 GB/s
     sync/false_sharing line=128        unclear   1.020 [1.017, 1.023]   3089 → 3151 GB/s
     no room for: flags; a wider terminal or -o FILE.csv has them
     unclear, 3: it depends on where its buffers lie: it takes 6 processes a side, as `run --preset study` has
     and more (3 faster, 1 unclear): --all or -o FILE.csv has them

    What follows from them:
     case         verdict          times as fast   before → after
    ──────────────────────────────────────────────────────────────
     peak/share   slower    0.889 [0.886, 0.892]   0.900 → 0.800

    What the driver's compiler made (helped has less of it):
                 helped   hurt   unchanged   total
    ──────────────────────────────────────────────────────────────
     registers        3     12          26   1680 → 1744 (+3.8 %)

    Same: a change is within 1 %. On average, 1 % of the cases called slower or faster may be neither. From run to run,
    figures moved by 0.1 % (memory, 42 degrees of freedom). From run to run, figures are taken to move by 0.1 % (core), 1 %
    (launch); several runs of each side would show it. In 1 of 48 cases, the core's clock wasn't measured beside all rows:
    there, a step of it (0.75 % on an H100) counts as a change.

    Failed:
      --fail-on slower:3%: 1 case memory/stream n=268435456;op=copy;width=1: 0.931 [0.928, 0.934] times as fast
    ");
}

/// What failed first, then what a reviewer wants at a glance; what is long is folded.
#[test]
fn an_answer_is_fit_for_a_pull_request() {
    let mut few = comparison();
    few.cases.truncate(2);
    (few.clock, few.without_clock, few.between_runs) = (None, 0, BTreeMap::new());
    insta::assert_snapshot!(text(&few, Style::Markdown), @"
    **Failed:**

    - --fail-on slower:3%: 1 case memory/stream n=268435456;op=copy;width=1: 0.931 [0.928, 0.934] times as fast

    ### after compared with before

    **Faster in all: 1.012 [1.010, 1.014] times as fast; no single case is sure.**

    2 cases: 2 slower; derived: 1 slower, 1 the same; 2 without a figure on either side

    Slower most: memory/stream op=copy, 0.931 [0.928, 0.934] times as fast.

    **Beside the figures, these differ:**

    | column      | before     | after     |
    |-------------|------------|-----------|
    | driver_info | 580.159.04 | 590.44.01 |

    Warning: driver and tool differ: the figures don't tell which of them moved a case.

    **Cases, by effect:**

    | case                  | verdict |        times as fast | before → after   | flags              | why              |
    |-----------------------|---------|---------------------:|------------------|--------------------|------------------|
    | memory/stream op=copy | slower  | 0.931 [0.928, 0.934] | 3089 → 2877 GB/s | noisy launch_bound | its code changed |
    | memory/stream op=read | slower  | 0.970 [0.967, 0.973] | 3089 → 2997 GB/s |                    |                  |

    **What follows from them:**

    | case       | verdict |        times as fast | before → after |
    |------------|---------|---------------------:|----------------|
    | peak/share | slower  | 0.889 [0.886, 0.892] | 0.900 → 0.800  |

    **What the driver's compiler made (helped has less of it):**

    |           | helped | hurt | unchanged | total                |
    |-----------|-------:|-----:|----------:|----------------------|
    | registers |      3 |   12 |        26 | 1680 → 1744 (+3.8 %) |

    Same: a change is within 1 %. On average, 1 % of the cases called slower or faster may be neither.
    ");
    let folded = "\n\n<details><summary>Cases, by effect</summary>\n\n| case ";
    let whole = text(&comparison(), Style::Markdown);
    assert!(whole.contains(folded) && whole.matches("</details>\n\n").count() == 1, "{whole}");
}

#[test]
fn nothing_is_wider_than_its_page() {
    for width in 40..=130 {
        let text = text(&comparison(), page(width));
        assert!(text.lines().all(|line| line.chars().count() <= usize::from(width)), "{width}\n{text}");
    }
}

/// Several sides have a heading each.
#[test]
fn all_shows_what_is_the_same_and_every_other_case() {
    let comparisons = [comparison(), Comparison { names: ["before".to_owned(), "third".to_owned()], ..comparison() }];
    let [few, all] = [false, true].map(|is_whole| {
        comparison_text(&Report { comparisons: &comparisons, failures: &[], unjudged: &[], is_whole }, page(120))
    });
    assert!(few.starts_with("after compared with before\n") && few.contains("\n\nthird compared with before\n"), "{few}");
    assert!(few.matches(" same ").count() < 6 && !few.contains("Failed"));
    assert!(all.matches(" same ").count() >= 60 && !all.contains("and more"), "{all}");
}

#[test]
fn colours_say_what_is_worse() {
    let coloured = text(&comparison(), Style::Text(Page { width: 120, is_coloured: true }));
    assert!(coloured.contains("\u{1b}[31mslower\u{1b}[0m") && coloured.contains("\u{1b}[31mBroken: "), "{coloured}");
}

/// What is written is what was compared, to the last digit.
#[test]
fn cells_read_back() {
    let mut comparison = comparison();
    comparison.cases[0].reason = "a, \"b\" and\n=1+1".to_owned();
    let csv = comparison_csv(std::slice::from_ref(&comparison)).unwrap();
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    assert_eq!(
        reader.headers().unwrap().iter().take(13).collect::<Vec<_>>().join(", "),
        "experiment, variant, case_id, axes, verdict, ratio, ratio_ci_low, ratio_ci_high, base, new, unit, flags, reason"
    );
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let jsonl = comparison_jsonl(std::slice::from_ref(&comparison)).unwrap();
    let objects: Vec<serde_json::Value> = jsonl.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let all: Vec<&Compared> = comparison.cases.iter().chain(&comparison.derived).collect();
    let totals = comparison.totals.len();
    let lines = all.len() + totals;
    assert!(rows.len() == lines && objects.len() == lines && csv.lines().count() == lines + 1);
    for ((row, object), case) in rows.iter().zip(&objects).zip(all) {
        let ratio = case.ratio.map(|ratio| ratio.value);
        assert_eq!((row[5].parse().ok(), object["ratio"].as_f64()), (ratio, ratio));
        assert_eq!((row[9].parse().ok(), object["new"].as_f64()), (case.figures[1], case.figures[1]));
        assert_eq!((&row[4], object["verdict"].as_str().unwrap()), (case.verdict.as_str(), case.verdict.as_str()));
        assert_eq!((&row[0], &row[3], &row[14]), (&*case.kind.experiment, &*case.axes, "after"));
    }
    assert_eq!((&rows[0][12], &rows[lines - totals - 1][13]), ("a, \"b\" and =1+1", "derived"));
    let whole = rows.last().unwrap();
    assert_eq!((&whole[0], &whole[4], &whole[13]), ("total", "faster", "total"));
    assert_eq!(whole[5].parse(), Ok(comparison.totals[2].ratio.value));
}
