//! What a search found, for people.

use super::lines::paragraph;
use super::page::Page;
use super::text_table::{Cell, Column, Need, TextTable};
use super::tone::Tone;
use crate::model::{Point, Status};
use crate::stats::Ratio;
use crate::tuning::answer::{Answer, AxisEffect, Behind, Beside, Failed, Flatness, Loss, Placed, Timing};
use crate::tuning::ending::{Obstacle, Outcome};
use crate::units::{figure, figure_and_noise, percent, percent_off, ratio, ratio_between, time};

/// About how closely a search's few rounds tell a ratio.
const ROUGHLY: f64 = 0.005;

pub fn answer_text(answer: &Answer, page: Page) -> String {
    let mut text = match answer.outcome {
        Outcome::ThisOne => this_one(answer, page),
        Outcome::Alike => alike(answer, page),
        Outcome::CantTell(obstacle) => cant_tell(answer, obstacle, page),
    };
    text += &cut(answer, page);
    // What is beside the best needs one.
    if answer.is_told() {
        text += &effects(answer, page);
    }
    text += &format!("\n{}", paragraph(&flat(&answer.flatness, answer.is_told()), page));
    let failed = |(status, failed): (&&str, &Failed)| {
        // Of what failed otherwise, the reason stood where it failed.
        let reason = failed.reason.lines().next().filter(|_| *status == Status::Skipped.as_str());
        let reason = reason.map_or_else(String::new, |reason| format!(" ({}: {reason})", named(&failed.first)));
        format!("{} {}{reason}", failed.count, status.replace('_', " "))
    };
    let failed: Vec<String> = answer.failures.iter().map(failed).collect();
    if !failed.is_empty() {
        text += &paragraph(&format!("Without a time: {}.", failed.join(", ")), page);
    }
    text
}

/// What it begins with, in a line; and which others are tied, in another sentence.
pub fn answer_in_sentences(answer: &Answer) -> String {
    let sentence = |line: &str| if line.ends_with(['.', ':']) { line.to_owned() } else { format!("{line}.") };
    let text = answer_text(answer, Page { width: u16::MAX, ..Page::FILE });
    let mut all: Vec<String> = text.lines().take_while(|line| !line.is_empty()).map(sentence).collect();
    let tied: Vec<String> =
        answer.tied.iter().map(|placed| format!("{} ({})", named(&placed.point), ratio_between(placed.ratio))).collect();
    if !tied.is_empty() {
        let (shown, more) = tied.split_at(tied.len().min(MOST_TIED));
        let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
        all.push(format!("These may be as fast (time over the fastest's): {}{more}.", shown.join("; ")));
    }
    all.join(" ")
}

/// Configurations that a sentence names.
const MOST_TIED: usize = 6;

fn this_one(answer: &Answer, page: Page) -> String {
    let mut text = paragraph(&format!("Best: {}", named(&answer.best.point)), page) + &figures(answer, page);
    let behind = answer.behind.as_ref().filter(|behind| behind.over > 1.0);
    let nearer = behind.filter(|behind| answer.next.as_ref().is_none_or(|next| behind.over < next.ratio.value));
    let next = match (nearer, &answer.next) {
        (Some(Behind { nearest, over, .. }), _) => Some(format!(
            "The next one took about {} times as long in the search: {}",
            ratio(*over, Some(ROUGHLY)),
            named(nearest)
        )),
        (None, Some(next)) => {
            Some(format!("The next one takes {} times as long: {}", ratio_between(next.ratio), named(&next.point)))
        }
        (None, None) => None,
    };
    text += &next.map_or_else(String::new, |words| paragraph(&words, page));
    if answer.flatness.measured == 1 && answer.flatness.configurations > 1 {
        text += &paragraph("No other configuration has a time.", page);
    } else if answer.cut == 0 && answer.flatness.measured > 1 {
        text += &paragraph(&format!("No other is tied with it: {}.", why_none_is_tied(answer)), page);
    }
    text
}

/// What shows that others are slower: common rounds with the best, or only the search's few.
fn why_none_is_tied(answer: &Answer) -> String {
    let Some(Behind { count, .. }) = answer.behind else { return "each was shown to be slower".to_owned() };
    let beside = answer.flatness.measured.saturating_sub(1 + count);
    let searched = format!("{count} {} slower in the search", if count == 1 { "was" } else { "were" });
    match beside {
        0 => format!("{searched}, and none was near enough to measure again"),
        1 => format!("1 was measured alternately with it and is slower, {searched}"),
        _ => format!("{beside} were measured alternately with it and are slower, {searched}"),
    }
}

fn alike(answer: &Answer, page: Page) -> String {
    let is_default = answer.default.as_ref().is_some_and(|default| default.is_at(&answer.best.point));
    let why = if is_default { "is the default" } else { "is the simplest to use" };
    let mut text = paragraph(&format!("Best: {}", named(&answer.best.point)), page);
    text += &figures(answer, page);
    let count = answer.tied.len() + 1;
    let words = format!("These {count} are tied, each within 3 % of the fastest; the one above {why}:");
    text += &format!("\n{}{}", paragraph(&words, page), tied_table(answer).fitted(page));
    text
}

fn cant_tell(answer: &Answer, obstacle: Obstacle, page: Page) -> String {
    let (why, advice) = match obstacle {
        Obstacle::TooFewRounds => (
            "the search ended before those that may be the fastest were measured alternately in six rounds",
            "Give it more time: a longer --budget, or none.",
        ),
        Obstacle::Contended => (
            "other processes took more than a tenth of the device's time",
            "Try again when the machine is quiet: end other programs, or wait for them.",
        ),
        Obstacle::Throttled => ("its clocks fell while it was measured", "Try again when it is cool, or fix its clocks."),
        Obstacle::TooRough => (
            "times vary too much from round to round",
            "Give each configuration more time (--max-time), or try again when the machine is quiet.",
        ),
    };
    let best = &answer.best;
    let fastest = format!("The fastest so far takes {}, which isn't certain: {}", taken(&best.timing), named(&best.point));
    let mut text = [format!("Can't tell on this machine which one is best: {why}."), fastest, advice.to_owned()]
        .map(|words| Tone::Doubtful.paragraph(&words, page))
        .concat();
    if !answer.tied.is_empty() {
        let words = format!("These {} may be the fastest, as far as is known:", answer.tied.len() + 1);
        text += &format!("\n{}{}", paragraph(&words, page), tied_table(answer).fitted(page));
    }
    text
}

/// What the best takes, and what that gains.
fn figures(answer: &Answer, page: Page) -> String {
    let takes = paragraph(&format!("It takes {}.", taken(&answer.best.timing)), page);
    takes + &answer.default.as_ref().map_or_else(String::new, |default| paragraph(&gain(default, &answer.best), page))
}

/// What wasn't measured beside the best though the search found it near.
fn cut(answer: &Answer, page: Page) -> String {
    let (others, were) = if answer.cut == 1 { ("other", "was") } else { ("others", "were") };
    let words =
        format!("{} {others} may be as fast, but {were} slower in the search, and {were} not measured again.", answer.cut);
    if answer.cut == 0 { String::new() } else { paragraph(&words, page) }
}

/// A point in its own order.
fn named(point: &Point) -> String {
    let values: Vec<String> = point.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
    if values.is_empty() { "the only configuration".to_owned() } else { values.join(", ") }
}

/// A time, and half its interval over it, or its ends; a single sample has none.
fn taken(timing: &Timing) -> String {
    let Timing { time: ns, low, high, .. } = *timing;
    if low < high && high.is_finite() {
        figure_and_noise(ns, Some((low, high)), "ns")
    } else {
        format!("about {}", time(ns, None))
    }
}

fn half(low: f64, high: f64) -> f64 {
    (high - low) / 2.0
}

fn gain(default: &Beside, best: &Placed) -> String {
    match (default.gain, default.timing) {
        _ if default.is_at(&best.point) => "It is the default.".to_owned(),
        (Some(gain), Some(timing)) => format!(
            "It is {} times as fast as the default, which takes {}: {}",
            ratio_between(gain),
            taken(&timing),
            named(&default.point)
        ),
        _ => format!(
            "The default has no time: {}: {}",
            named(&default.point),
            default.failure.as_deref().unwrap_or("it wasn't measured")
        ),
    }
}

/// What the best would bring an application that spends this share of its kernels' time here; nothing where it brings nothing that is sure.
pub fn bearing(answer: &Answer, share: f64) -> Option<String> {
    let default = answer.default.as_ref().filter(|_| answer.is_told())?;
    let gain = default.gain.filter(|gain| gain.low > 1.0 && !default.is_at(&answer.best.point))?;
    let [saved, least, most] = [gain.value, gain.low, gain.high].map(|gain| percent(share * (1.0 - 1.0 / gain)));
    Some(format!(
        "The application spends {} of its kernels' time here. Of all its kernels' time it would save {saved} [{least}, {most}], if \
         the kernel runs there as it does here.",
        percent(share)
    ))
}

/// Those that weren't shown to be slower, the fastest first.
fn tied_table(answer: &Answer) -> TextTable {
    let mut all: Vec<&Placed> = [&answer.best].into_iter().chain(&answer.tied).collect();
    all.sort_by(|one, other| one.timing.time.total_cmp(&other.timing.time));
    let axes: Vec<&str> = answer.best.point.iter().map(|(axis, _)| axis).collect();
    let value = |placed: &Placed, axis: &str| placed.point.get(axis).map_or_else(String::new, ToString::to_string);
    let columns = axes.iter().map(|axis| Column::of_values(*axis, Need::Central, all.iter().map(|placed| value(placed, axis))));
    let figures = [Column::numbers("time", Need::Useful), Column::numbers("time / fastest's", Need::Key)];
    let mut table = TextTable::new(columns.chain(figures));
    for placed in all {
        let Timing { time: ns, low, high, .. } = placed.timing;
        let is_fastest = placed.ratio == Ratio::ONE;
        let over = if is_fastest { "1".to_owned() } else { ratio_between(placed.ratio) };
        let figures = [figure(ns, Some((low, high)), "ns"), over];
        table.row(axes.iter().map(|axis| value(placed, axis)).chain(figures));
    }
    table
}

/// What each axis matters, where a best configuration is known.
pub fn effects_text(answer: &Answer, page: Page) -> String {
    if answer.is_told() { effects(answer, page).trim_start().to_owned() } else { String::new() }
}

/// What each axis matters; one that has a single value matters nothing.
fn effects(answer: &Answer, page: Page) -> String {
    let axes: Vec<&AxisEffect> = answer.axes.iter().filter(|effect| effect.others > 0).collect();
    let mut text = String::new();
    if !axes.is_empty() {
        text += &format!("\nWhat each axis matters:\n{}", effects_table(&axes).fitted(page));
    }
    if let Some(together) = answer.together {
        let words = format!("{} of the variance is what axes do together, and noise.", percent(together));
        text += &paragraph(&words, page);
    }
    text
}

fn effects_table(axes: &[&AxisEffect]) -> TextTable {
    let best = |effect: &AxisEffect| effect.best.as_ref().map_or_else(String::new, ToString::to_string);
    let mut table = TextTable::new([
        Column::words("axis", Need::Key),
        Column::of_values("best", Need::Key, axes.iter().map(|effect| best(effect))),
        Column::numbers("variance", Need::Useful),
        Column::numbers("least loss", Need::Central),
        Column::numbers("most", Need::Useful),
        Column::numbers("measured", Need::Spare),
    ])
    .whole_in("a wider terminal has them");
    for effect in axes {
        let AxisEffect { axis, share, others, measured, least, most, .. } = effect;
        table.row([
            Cell::from(axis.as_str()),
            best(effect).into(),
            share.map_or_else(String::new, percent).into(),
            least.as_ref().map_or_else(String::new, loss).into(),
            most.as_ref().filter(|_| *measured > 1).map_or_else(String::new, loss).into(),
            format!("{measured} of {others}").into(),
        ]);
    }
    table
}

fn loss(loss: &Loss) -> String {
    let Ratio { value, low, high } = loss.ratio;
    let half = half(low, high);
    let lost = if value < 2.0 { percent_off(value, half) } else { format!("{} x", ratio(value, Some(half))) };
    format!("{lost} at {}", loss.value)
}

#[expect(clippy::cast_precision_loss, reason = "there are never 2^53 configurations")]
fn flat(flatness: &Flatness, has_best: bool) -> String {
    let Flatness { measured, configurations, within_5_percent, within_10_percent } = *flatness;
    if measured < 2 {
        return format!("{measured} of {configurations} configurations has a time.");
    }
    if !has_best {
        return format!("{measured} of {configurations} configurations have a time.");
    }
    let share = |count: usize| percent(count as f64 / measured as f64);
    format!(
        "{measured} of {configurations} configurations have a time: {within_5_percent} ({}) within 5 % of the best, \
         {within_10_percent} ({}) within 10 %.",
        share(within_5_percent),
        share(within_10_percent)
    )
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::model::Failure;
    use crate::output::legible;
    use crate::tuning::answer::{Finale, Trial};
    use crate::tuning::ending::Figure;
    use crate::tuning::space::{Dimension, Space};

    fn page(width: u16) -> Page {
        Page { width, ..Page::FILE }
    }

    fn timing(time: f64, noise: f64) -> Timing {
        Timing { time, low: time * (1.0 - noise), high: time * (1.0 + noise), is_precise: true }
    }

    fn rough(time: f64, noise: f64) -> Timing {
        Timing { is_precise: false, ..timing(time, noise) }
    }

    fn at(x: u64, order: &'static str) -> Point {
        Point::new([("local_size_x".into(), x.into()), ("order".into(), order.into())])
    }

    fn space() -> Space {
        let axes = [
            Dimension::new("local_size_x", [32_u64, 64, 128, 256]),
            Dimension { name: "order".into(), values: vec!["row".into(), "column".into()] },
        ];
        Space::new(axes, |_| Ok::<_, Infallible>(true)).unwrap()
    }

    fn told(space: &Space, trials: &[Trial], default: Option<&Point>) -> Option<Answer> {
        let figures: Vec<Figure> = trials.iter().filter_map(Figure::from_interval).collect();
        Answer::new(space, trials, Finale { figures: &figures, cut: 0, nearest: None }, default)
    }

    fn answered(trials: &[(u64, &'static str, Result<Timing, Status>)]) -> Answer {
        let trial = |(x, order, outcome): &(u64, &'static str, Result<Timing, Status>)| Trial {
            point: at(*x, order),
            outcome: outcome.map_err(|status| Failure::new(status, "it did")),
        };
        let trials: Vec<Trial> = trials.iter().map(trial).collect();
        told(&space(), &trials, Some(&at(32, "row"))).unwrap()
    }

    fn an_answer() -> Answer {
        answered(&[
            (32, "row", Ok(timing(123_456.0, 0.004))),
            (64, "row", Ok(timing(101_000.0, 0.004))),
            (128, "row", Ok(timing(101_200.0, 0.004))),
            (32, "column", Ok(rough(250_000.0, 0.05))),
            (64, "column", Err(Status::WrongResult)),
            (256, "row", Ok(rough(254_000.0, 0.05))),
            (256, "column", Ok(rough(291_000.0, 0.05))),
            (128, "column", Ok(rough(104_000.0, 0.05))),
        ])
    }

    #[test]
    fn an_answer_reads_at_a_glance() {
        insta::assert_snapshot!(answer_text(&an_answer(), page(120)), @"
        Best: local_size_x=64, order=row
        It takes 101.0 us ± 0.4 %.
        It is 1.222 [1.215, 1.229] times as fast as the default, which takes 123.5 us ± 0.4 %: local_size_x=32, order=row

        These 2 are tied, each within 3 % of the fastest; the one above is the simplest to use:
         local_size_x   order       time       time / fastest's
        ────────────────────────────────────────────────────────
                   64   row     101.0 us                      1
                  128   row     101.2 us   1.002 [0.996, 1.008]

        What each axis matters:
         axis           best   variance      least loss           most   measured
        ──────────────────────────────────────────────────────────────────────────
         local_size_x   64                +0.2 % at 128   2.5 x at 256     3 of 3
         order          row                                                0 of 1

        7 of 8 configurations have a time: 3 (42.9 %) within 5 % of the best, 3 (42.9 %) within 10 %.
        Without a time: 1 wrong result.
        ");
    }

    #[test]
    fn what_it_would_bring_an_application_follows_from_its_share() {
        // 1 - 1/1.222 of a half.
        let words = bearing(&an_answer(), 0.5).unwrap();
        assert!(
            words.contains("50.0 % of its kernels' time") && words.contains("it would save 9.1 % [8.9 %, 9.3 %]"),
            "{words}"
        );
        let slower = answered(&[(32, "row", Ok(timing(100.0, 0.004))), (64, "row", Ok(timing(120.0, 0.004)))]);
        let rough = answered(&[(32, "row", Ok(timing(120.0, 3.0))), (64, "row", Ok(timing(90.0, 3.3)))]);
        assert_eq!([slower, rough].map(|answer| bearing(&answer, 0.5)), [None, None]);
    }

    #[test]
    fn an_answer_is_never_wider_than_its_page() {
        for width in 40..=130 {
            let text = answer_text(&an_answer(), page(width));
            assert!(text.lines().all(|line| line.chars().count() <= usize::from(width)), "{width}\n{text}");
        }
    }

    #[test]
    fn what_this_machine_can_not_tell_is_said_with_what_would_help() {
        let rough_ones = answered(&[(32, "row", Ok(timing(120.0, 3.0))), (64, "row", Ok(timing(90.0, 3.3)))]);
        insta::assert_snapshot!(answer_text(&rough_ones, page(120)), @"
        Can't tell on this machine which one is best: times vary too much from round to round.
        The fastest so far takes up to 387 ns, which isn't certain: local_size_x=64, order=row
        Give each configuration more time (--max-time), or try again when the machine is quiet.

        These 2 may be the fastest, as far as is known:
         local_size_x   order           time   time / fastest's
        ────────────────────────────────────────────────────────
                   64   row     up to 387 ns                  1
                   32   row     up to 480 ns       1.3 [0, inf]

        2 of 8 configurations have a time.
        ");
        let coloured_page = Page { is_coloured: true, ..page(120) };
        let coloured = legible(&answer_text(&rough_ones, coloured_page), coloured_page);
        assert!(coloured.starts_with("\u{1b}[33mCan't tell on this machine"), "{coloured}");
        let cut_short = answered(&[(32, "row", Ok(rough(120.0, 0.1)))]);
        let text = |outcome| answer_text(&Answer { outcome, ..cut_short.clone() }, page(200));
        assert!(text(cut_short.outcome).contains("the search ended before") && text(cut_short.outcome).contains("--budget"));
        let said = |obstacle| text(Outcome::CantTell(obstacle));
        assert!(said(Obstacle::Contended).contains("other processes") && said(Obstacle::Throttled).contains("clocks fell"));
        for obstacle in [Obstacle::Contended, Obstacle::Throttled, Obstacle::TooFewRounds, Obstacle::TooRough] {
            let text = said(obstacle);
            assert!(!text.contains("Best") && !text.contains("tied with it"), "{text}");
        }
        let unbounded = Timing { high: f64::INFINITY, ..rough(120.0, 0.1) };
        let text = answer_text(&answered(&[(32, "row", Ok(unbounded))]), page(120));
        assert!(text.contains("The fastest so far takes about 120 ns, which isn't certain"), "{text}");
    }

    #[test]
    fn what_was_cut_is_said_and_nothing_is_called_the_only_one_then() {
        let answer = Answer { tied: Vec::new(), outcome: Outcome::ThisOne, cut: 3, ..an_answer() };
        let text = answer_text(&answer, page(120));
        assert!(
            text.contains("3 others may be as fast, but were slower in the search, and were not measured again."),
            "{text}"
        );
        assert!(!text.contains("No other is tied"), "{text}");
    }

    /// 192 and 224 were timed in the search alone, the nearer one 1.4 % slower than the best; the default was measured beside that.
    #[test]
    fn what_the_search_alone_saw_is_not_called_shown() {
        let text = |nearest: f64| {
            let times = [(32, "row", timing(19.6e6, 0.02)), (64, "row", timing(10.53e6, 0.004))];
            let seen = [(128, "row", rough(nearest * 10.53e6, 0.01)), (256, "row", rough(11.6e6, 0.01))];
            let trials: Vec<_> = times.into_iter().chain(seen).map(|(x, order, timing)| (x, order, Ok(timing))).collect();
            answer_text(&answered(&trials), page(200))
        };
        let near = text(1.014);
        assert!(
            near.contains("The next one took about 1.014 times as long in the search: local_size_x=128, order=row\n"),
            "{near}"
        );
        assert!(
            near.contains(
                "No other is tied with it: 1 was measured alternately with it and is slower, 2 were slower in the search.\n"
            ),
            "{near}"
        );
        // The device is slower now than it was then.
        let then = text(0.99);
        assert!(then.contains("The next one takes 1.86"), "{then}");
        let alone =
            Answer { next: None, ..answered(&[(64, "row", Ok(timing(10.0, 0.01))), (128, "row", Ok(rough(11.0, 0.1)))]) };
        let alone = answer_text(&alone, page(200));
        assert!(
            alone
                .contains("No other is tied with it: 1 was slower in the search, and none was near enough to measure again.\n"),
            "{alone}"
        );
    }

    #[test]
    fn an_axis_of_one_value_is_not_enlarged_upon() {
        let axes = [Dimension::new("x", [1_u64, 2]), Dimension::new("y", [1_u64])];
        let space = Space::new(axes, |_| Ok::<_, Infallible>(true)).unwrap();
        let at = |x: u64| Point::new([("x".into(), x.into()), ("y".into(), 1_u64.into())]);
        let failed = Err(Failure::new(Status::WrongResult, "it did"));
        let trials = [Trial { point: at(1), outcome: Ok(timing(100.0, 0.01)) }, Trial { point: at(2), outcome: failed }];
        let text = answer_text(&told(&space, &trials, None).unwrap(), page(120));
        assert!(text.contains("1 of 2 configurations has a time.\nWithout a time: 1 wrong result."), "{text}");
        assert!(text.contains("0 of 1\n") && !text.contains("0 of 0") && !text.contains("100 %"), "{text}");
    }

    #[test]
    fn a_shader_without_axes_has_an_answer() {
        let space = Space::new([], |_| Ok::<_, Infallible>(true)).unwrap();
        let point = Point::new([]);
        let trials = [Trial { point: point.clone(), outcome: Ok(timing(5000.0, 0.01)) }];
        insta::assert_snapshot!(answer_text(&told(&space, &trials, Some(&point)).unwrap(), page(80)), @"
        Best: the only configuration
        It takes 5.00 us ± 1.0 %.
        It is the default.

        1 of 1 configurations has a time.
        ");
    }
}
