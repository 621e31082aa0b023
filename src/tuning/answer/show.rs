//! The answer for people.

use std::fmt;

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table};

use super::{Answer, AxisEffect, Beside, Flatness, Loss, Placed, Ratio, Timing};
use crate::model::Point;
use crate::units::Nanos;

/// No borders, a rule below the titles, as the tables of rows have them.
const RULE_ONLY: &str = "     ──            ";

/// The most tied configurations that are listed.
const LISTED: usize = 10;

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { best, tied, undecided, default, axes, together, flatness, failures } = self;
        if !self.is_told() {
            return writeln!(
                f,
                "No best: the fastest so far takes {}, which is no answer: {}\nGive it more time (--budget, --max-time), or an idle \
                 machine.",
                time(&best.timing),
                named(&best.point)
            );
        }
        writeln!(f, "Best: {}", named(&best.point))?;
        let roughly = if best.timing.is_precise { "" } else { " None was measured to the full precision." };
        writeln!(f, "It takes {}.{roughly}", time(&best.timing))?;
        if self.is_rough() {
            writeln!(f, "That is too rough to rely on: give it more time (--max-time), or an idle machine.")?;
        }
        if let Some(default) = default {
            writeln!(f, "{}", gain(default, best))?;
        }
        match tied.len() {
            0 => writeln!(f, "No other is tied with it.")?,
            count => {
                write!(f, "\n{count} {} tied with it: their times can't be told apart.\n{}", are(count), tied_table(self))?
            }
        }
        if *undecided > 0 {
            writeln!(f, "{undecided} {} measured too roughly to be told from it.", were(*undecided))?;
        }
        // An axis of one value matters nothing.
        let axes: Vec<&AxisEffect> = axes.iter().filter(|effect| effect.others > 0).collect();
        if !axes.is_empty() {
            write!(f, "\nWhat each axis matters:\n{}", effects(&axes))?;
        }
        if let Some(together) = together {
            writeln!(f, "{} of the variance is what axes do together, and noise.", percent(*together))?;
        }
        writeln!(f, "\n{}", flat(flatness))?;
        let failed: Vec<String> =
            failures.iter().map(|(status, count)| format!("{count} {}", status.replace('_', " "))).collect();
        if !failed.is_empty() {
            writeln!(f, "Without a time: {}.", failed.join(", "))?;
        }
        Ok(())
    }
}

/// A point in its own order.
fn named(point: &Point) -> String {
    let values: Vec<String> = point.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
    if values.is_empty() { "the only configuration".to_owned() } else { values.join(", ") }
}

/// A time, and half its interval over it; a single sample has none.
fn time(timing: &Timing) -> String {
    if timing.low >= timing.high {
        return format!("about {}", Nanos(timing.time));
    }
    format!("{} ± {}", Nanos(timing.time), percent((timing.high - timing.low) / 2.0 / timing.time))
}

fn gain(default: &Beside, best: &Placed) -> String {
    match (default.gain, default.timing) {
        _ if super::same_values(&default.point, &best.point) => "It is the default.".to_owned(),
        (Some(Ratio { value, low, high }), Some(timing)) => format!(
            "It is {value:.3} [{low:.3}, {high:.3}] times as fast as the default, which takes {}: {}",
            time(&timing),
            named(&default.point)
        ),
        _ => format!(
            "The default has no time: {}: {}",
            named(&default.point),
            default.failure.as_deref().unwrap_or("it wasn't measured")
        ),
    }
}

fn are(count: usize) -> &'static str {
    if count == 1 { "other is" } else { "others are" }
}

fn were(count: usize) -> &'static str {
    if count == 1 { "configuration was" } else { "configurations were" }
}

fn tied_table(answer: &Answer) -> String {
    let axes: Vec<&str> = answer.best.point.iter().map(|(axis, _)| axis).collect();
    let titles = axes.iter().copied().chain(["time", "time / best's"]).map(str::to_owned).collect();
    let row = |placed: &Placed| {
        let values = axes.iter().map(|axis| placed.point.get(axis).map_or_else(String::new, ToString::to_string));
        let Ratio { value, low, high } = placed.ratio;
        values.chain([Nanos(placed.timing.time).to_string(), format!("{value:.4} [{low:.4}, {high:.4}]")]).collect()
    };
    let mut text = table(titles, answer.tied.iter().take(LISTED).map(row).collect());
    if answer.tied.len() > LISTED {
        text += &format!("and {} more\n", answer.tied.len() - LISTED);
    }
    text
}

fn effects(axes: &[&AxisEffect]) -> String {
    let titles = ["axis", "best", "variance", "least loss", "most", "measured"].map(str::to_owned).to_vec();
    let row = |effect: &&AxisEffect| {
        let AxisEffect { axis, best, share, others, measured, failed, least, most } = effect;
        let failed = if *failed == 0 { String::new() } else { format!(", {failed} failed") };
        vec![
            axis.clone(),
            best.as_ref().map_or_else(String::new, ToString::to_string),
            share.map_or_else(String::new, percent),
            least.as_ref().map_or_else(String::new, loss),
            most.as_ref().filter(|_| *measured > 1).map_or_else(String::new, loss),
            format!("{measured} of {others}{failed}"),
        ]
    };
    table(titles, axes.iter().map(row).collect())
}

fn loss(loss: &Loss) -> String {
    let percent = (loss.ratio.value - 1.0) * 100.0;
    if percent < 100.0 {
        format!("{percent:+.1} % at {}", loss.value)
    } else {
        format!("{:.2} x at {}", loss.ratio.value, loss.value)
    }
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

fn percent(share: f64) -> String {
    if share > 0.0 && share < 0.0005 { "<0.1 %".to_owned() } else { format!("{:.1} %", share * 100.0) }
}

/// Columns aligned by spaces: what begins with a digit or a sign in every row to the right.
fn table(titles: Vec<String>, rows: Vec<Vec<String>>) -> String {
    let is_number = |cell: &String| cell.is_empty() || cell.starts_with(|c: char| c.is_ascii_digit() || "+-<".contains(c));
    let numeric: Vec<bool> = (0..titles.len()).map(|column| rows.iter().all(|row| is_number(&row[column]))).collect();
    let mut table = Table::new();
    table.load_preset(RULE_ONLY).set_content_arrangement(ContentArrangement::Disabled).set_header(titles);
    rows.into_iter().for_each(|row| {
        table.add_row(row);
    });
    for (column, numeric) in table.column_iter_mut().zip(numeric) {
        let alignment = if numeric { CellAlignment::Right } else { CellAlignment::Left };
        column.set_constraint(ColumnConstraint::ContentWidth).set_cell_alignment(alignment);
    }
    table.lines().fold(String::new(), |text, line| text + line.trim_end() + "\n")
}
