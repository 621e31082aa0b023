//! What a search found, for people.

use super::lines::paragraph;
use super::page::Page;
use super::text_table::{Cell, Column, Need, TextTable, remark};
use super::tone::Tone;
use crate::model::Point;
use crate::tuning::answer::{Answer, AxisEffect, Beside, Flatness, Loss, Placed, Ratio, Timing};
use crate::units::{percent, percent_off, ratio, ratio_between, time};

/// The most tied configurations that are listed.
const LISTED: usize = 10;

pub fn answer_text(answer: &Answer, page: Page) -> String {
    if !answer.is_told() {
        return no_answer(&answer.best, page);
    }
    let mut text = paragraph(&format!("Best: {}", named(&answer.best.point)), page);
    let roughly = if answer.best.timing.is_precise { "" } else { " None was measured to the full precision." };
    text += &paragraph(&format!("It takes {}.{roughly}", taken(&answer.best.timing)), page);
    if answer.is_rough() {
        let words = "That is too rough to rely on: give it more time (--max-time), or an idle machine.";
        text += &Tone::Doubtful.paragraph(words, page);
    }
    if let Some(default) = &answer.default {
        text += &paragraph(&gain(default, &answer.best), page);
    }
    text += &tied(answer, page);
    text += &effects(answer, page);
    text += &format!("\n{}", paragraph(&flat(&answer.flatness), page));
    let failed: Vec<String> =
        answer.failures.iter().map(|(status, count)| format!("{count} {}", status.replace('_', " "))).collect();
    if !failed.is_empty() {
        text += &paragraph(&format!("Without a time: {}.", failed.join(", ")), page);
    }
    text
}

fn no_answer(best: &Placed, page: Page) -> String {
    let (takes, point) = (taken(&best.timing), named(&best.point));
    let why = format!("No best: the fastest so far takes {takes}, which is no answer: {point}");
    let advice = "Give it more time (--budget, --max-time), or an idle machine.";
    [why.as_str(), advice].map(|words| Tone::Doubtful.paragraph(words, page)).concat()
}

/// A point in its own order.
fn named(point: &Point) -> String {
    let values: Vec<String> = point.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
    if values.is_empty() { "the only configuration".to_owned() } else { values.join(", ") }
}

/// A time, and half its interval over it; a single sample has none.
fn taken(timing: &Timing) -> String {
    let half = half(timing.low, timing.high);
    if half <= 0.0 || half.is_infinite() {
        return format!("about {}", time(timing.time, None));
    }
    format!("{} ± {}", time(timing.time, Some(half)), percent(half / timing.time))
}

fn half(low: f64, high: f64) -> f64 {
    (high - low) / 2.0
}

fn gain(default: &Beside, best: &Placed) -> String {
    match (default.gain, default.timing) {
        _ if default.is_at(&best.point) => "It is the default.".to_owned(),
        (Some(gain), Some(timing)) => format!(
            "It is {} times as fast as the default, which takes {}: {}",
            interval(&gain),
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

fn interval(of: &Ratio) -> String {
    ratio_between(of.value, of.low, of.high)
}

fn tied(answer: &Answer, page: Page) -> String {
    let count = answer.tied.len();
    let are = if count == 1 { "other is" } else { "others are" };
    let mut text = match count {
        0 => paragraph("No other is tied with it.", page),
        _ => format!("\n{}", paragraph(&format!("{count} {are} tied with it: their times can't be told apart."), page)),
    };
    if count > 0 {
        text += &tied_table(answer).fitted(page);
    }
    if count > LISTED {
        text += &remark(&format!("and {} more", count - LISTED), page);
    }
    if answer.undecided > 0 {
        let were = if answer.undecided == 1 { "configuration was" } else { "configurations were" };
        text += &paragraph(&format!("{} {were} measured too roughly to be told from it.", answer.undecided), page);
    }
    text
}

fn tied_table(answer: &Answer) -> TextTable {
    let tied = || answer.tied.iter().take(LISTED);
    let axes: Vec<&str> = answer.best.point.iter().map(|(axis, _)| axis).collect();
    let value = |placed: &Placed, axis: &str| placed.point.get(axis).map_or_else(String::new, ToString::to_string);
    let columns = axes.iter().map(|axis| Column::of_values(*axis, Need::Central, tied().map(|placed| value(placed, axis))));
    let figures = [Column::numbers("time", Need::Useful), Column::numbers("time / best's", Need::Key)];
    let mut table = TextTable::new(columns.chain(figures));
    for placed in tied() {
        let Timing { time: ns, low, high, .. } = placed.timing;
        let figures = [time(ns, Some(half(low, high))), interval(&placed.ratio)];
        table.row(axes.iter().map(|axis| value(placed, axis)).chain(figures));
    }
    table
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
        let AxisEffect { axis, share, others, measured, failed, least, most, .. } = effect;
        let failed = if *failed == 0 { String::new() } else { format!(", {failed} failed") };
        table.row([
            Cell::from(axis.as_str()),
            best(effect).into(),
            share.map_or_else(String::new, percent).into(),
            least.as_ref().map_or_else(String::new, loss).into(),
            most.as_ref().filter(|_| *measured > 1).map_or_else(String::new, loss).into(),
            format!("{measured} of {others}{failed}").into(),
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
fn flat(flatness: &Flatness) -> String {
    let Flatness { measured, configurations, within_5_percent, within_10_percent } = *flatness;
    if measured < 2 {
        return format!("{measured} of {configurations} configurations has a time.");
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
    use crate::model::{Failure, Status};
    use crate::output::legible;
    use crate::tuning::answer::Trial;
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

    fn answered(trials: &[(u64, &'static str, Result<Timing, Status>)]) -> Answer {
        let trial = |(x, order, outcome): &(u64, &'static str, Result<Timing, Status>)| Trial {
            point: at(*x, order),
            outcome: outcome.map_err(|status| Failure::new(status, "it did")),
        };
        let trials: Vec<Trial> = trials.iter().map(trial).collect();
        Answer::new(&space(), &trials, Some(&at(32, "row"))).unwrap()
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

        1 other is tied with it: their times can't be told apart.
         local_size_x   order       time          time / best's
        ────────────────────────────────────────────────────────
                  128   row     101.2 us   1.002 [0.996, 1.008]
        1 configuration was measured too roughly to be told from it.

        What each axis matters:
         axis           best   variance      least loss           most           measured
        ──────────────────────────────────────────────────────────────────────────────────
         local_size_x   64                +0.2 % at 128   2.5 x at 256             3 of 3
         order          row                                              0 of 1, 1 failed

        7 of 8 configurations have a time: 3 (42.9 %) within 5 % of the best, 3 (42.9 %) within 10 %.
        Without a time: 1 wrong result.
        ");
    }

    #[test]
    fn an_answer_is_never_wider_than_its_page() {
        for width in 40..=130 {
            let text = answer_text(&an_answer(), page(width));
            assert!(text.lines().all(|line| line.chars().count() <= usize::from(width)), "{width}\n{text}");
        }
    }

    #[test]
    fn what_is_too_rough_is_said_to_be() {
        let answer = answered(&[(32, "row", Ok(rough(120.0, 3.0))), (64, "row", Ok(rough(90.0, 3.3)))]);
        let text = answer_text(&answer, page(120));
        assert!(text.starts_with("No best: the fastest so far takes 90 ns ± 330 %, which is no answer: "), "{text}");
        let coloured_page = Page { is_coloured: true, ..page(120) };
        let coloured = legible(&answer_text(&answer, coloured_page), coloured_page);
        assert!(coloured.starts_with("\u{1b}[33mNo best: "), "{coloured}");
        let alone = answer_text(&answered(&[(32, "row", Ok(rough(120.0, 3.0)))]), page(120));
        assert!(alone.contains("too rough to rely on") && alone.contains("1 of 8 configurations has a time."), "{alone}");
        let unbounded = Timing { high: f64::INFINITY, ..rough(120.0, 0.1) };
        assert!(answer_text(&answered(&[(32, "row", Ok(unbounded))]), page(120)).contains("It takes about 120 ns."));
    }

    #[test]
    fn an_axis_of_one_value_is_not_enlarged_upon() {
        let axes = [Dimension::new("x", [1_u64, 2]), Dimension::new("y", [1_u64])];
        let space = Space::new(axes, |_| Ok::<_, Infallible>(true)).unwrap();
        let at = |x: u64| Point::new([("x".into(), x.into()), ("y".into(), 1_u64.into())]);
        let failed = Err(Failure::new(Status::WrongResult, "it did"));
        let trials = [Trial { point: at(1), outcome: Ok(timing(100.0, 0.01)) }, Trial { point: at(2), outcome: failed }];
        let text = answer_text(&Answer::new(&space, &trials, None).unwrap(), page(120));
        assert!(text.contains("1 of 2 configurations has a time.\nWithout a time: 1 wrong result."), "{text}");
        assert!(text.contains("0 of 1, 1 failed") && !text.contains("0 of 0") && !text.contains("100 %"), "{text}");
    }

    #[test]
    fn a_shader_without_axes_has_an_answer() {
        let space = Space::new([], |_| Ok::<_, Infallible>(true)).unwrap();
        let point = Point::new([]);
        let trials = [Trial { point: point.clone(), outcome: Ok(timing(5000.0, 0.01)) }];
        insta::assert_snapshot!(answer_text(&Answer::new(&space, &trials, Some(&point)).unwrap(), page(80)), @"
        Best: the only configuration
        It takes 5.00 us ± 1.0 %.
        It is the default.
        No other is tied with it.

        1 of 1 configurations has a time.
        ");
    }
}
