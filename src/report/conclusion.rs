//! What the rows of a picture say, in a few words: where it becomes slower, and by how much.
//!
//! Nothing is said that rests on flagged data, nor of a difference that the intervals don't show.

use super::chart::{Bars, Better, Body, Curves, Datum, Grid, GridCell, Line, Ticks};
use super::charts::better;
use super::figures::Figure;
use crate::units::{Bytes, ratio};

/// So few points show no course.
const LEAST_POINTS: usize = 4;

/// A difference that is told, as a factor.
const VISIBLE: f64 = 1.05;

/// From this share of the best on, a curve is flat.
const FLAT: f64 = 1.05;

#[derive(Clone, Debug, PartialEq)]
pub struct Conclusion {
    pub text: String,
    /// How many times as good the better side is; 1 where nothing differs.
    pub factor: f64,
    /// Whether it is a place from which on everything is worse.
    pub is_step: bool,
}

/// Which values are the better ones, and whether these are times or rates: `slower` is said of them, and of no others.
#[derive(Clone, Copy, Debug)]
pub struct Sense {
    pub better: Better,
    pub is_speed: bool,
}

impl Sense {
    /// That of times, and of ratios of times.
    pub const TIME: Self = Self { better: Better::Lower, is_speed: true };

    pub fn of(figure: &Figure) -> Self {
        let better = better(figure.better);
        Self { better, is_speed: figure.unit == "ns" || figure.unit.ends_with("/s") }
    }

    /// What is less where it is better; nothing where neither is, or where a logarithm has no place.
    fn cost(self, value: f64) -> Option<f64> {
        let cost = match self.better {
            Better::Higher => value.recip(),
            Better::Lower => value,
            Better::Neither => return None,
        };
        (cost.is_finite() && cost > 0.0).then_some(cost)
    }

    fn worse(self) -> &'static str {
        match (self.is_speed, self.better) {
            (true, _) => "slower",
            (false, Better::Higher) => "lower",
            (false, _) => "higher",
        }
    }

    fn as_good(self) -> &'static str {
        match (self.is_speed, self.better) {
            (true, _) => "as fast as",
            (false, Better::Higher) => "as high as",
            (false, _) => "as low as",
        }
    }
}

pub fn conclusion(body: &Body, sense: Sense) -> Option<Conclusion> {
    match body {
        Body::Curves(curves) => of_curves(curves, sense),
        Body::Bars(bars) => of_bars(bars, sense),
        Body::Grid(grid) => of_grid(grid, sense),
        Body::Ratios(_) | Body::Roofline(_) | Body::Timeline(_) => None,
    }
}

fn times(factor: f64) -> String {
    format!("{} ×", ratio(factor, Some(factor / 50.0)))
}

/// How near to each other figures are, of which the best is so many times as good as the worst.
pub fn alike(factor: f64) -> String {
    format!("within {:.0} %", (100.0 * (factor - 1.0)).ceil().max(1.0))
}

/// A figure as a cost, and the ends of its interval.
#[derive(Clone, Copy, Debug)]
struct Cost {
    value: f64,
    low: f64,
    high: f64,
}

impl Cost {
    fn of(value: f64, interval: Option<(f64, f64)>, sense: Sense) -> Option<Self> {
        let cost = sense.cost(value)?;
        let ends = interval.and_then(|(low, high)| sense.cost(low).zip(sense.cost(high)));
        let (one, other) = ends.unwrap_or((cost, cost));
        Some(Self { value: cost, low: one.min(other), high: one.max(other) })
    }

    /// Whether it is worse by what is told, and by more than the intervals explain.
    fn is_worse_than(self, other: Self) -> bool {
        self.value > VISIBLE * other.value && self.low > other.high
    }
}

// ---- curves -------------------------------------------------------------------------------------------------------------------

/// The course of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Course {
    /// As good everywhere, up to this factor.
    Level(f64),
    /// From a place on all is worse than all before it, which is level: the place, and how many times as much it costs from there on
    /// at least.
    Step(f64, f64),
    /// From a place on it is as good as it becomes; and how many times as good as at the first.
    Rise(f64, f64),
    /// Neither: the best place, the worst, and what that costs over this.
    Between(f64, f64, f64),
}

fn of_curves(curves: &Curves, sense: Sense) -> Option<Conclusion> {
    let courses: Vec<(&Line, Course)> = curves.lines.iter().filter_map(|line| Some((line, course(line, sense)?))).collect();
    if courses.is_empty() || courses.len() < curves.lines.len() {
        return None;
    }
    let place = |at: f64| named(&curves.x.label, at, curves.x.ticks);
    if let [(_, Course::Step(first, _)), ..] = courses.as_slice() {
        let factors: Vec<f64> = courses
            .iter()
            .filter_map(|(_, course)| match course {
                Course::Step(at, factor) if at == first => Some(*factor),
                _ => None,
            })
            .collect();
        if factors.len() == courses.len() {
            let (least, most) = factors.iter().fold((f64::INFINITY, 0.0_f64), |(l, m), f| (l.min(*f), m.max(*f)));
            let range = if most > 1.1 * least {
                format!("{} to {}", ratio(least, Some(least / 50.0)), times(most))
            } else {
                times(most)
            };
            let text = format!("{range} {} from {} on", sense.worse(), place(*first));
            return Some(Conclusion { text, factor: most, is_step: true });
        }
    }
    let (line, course) = courses.iter().max_by(|(_, one), (_, other)| one.factor().total_cmp(&other.factor()))?;
    let name =
        if courses.len() > 1 && !matches!(course, Course::Level(_)) { format!("{}: ", line.name) } else { String::new() };
    let words = match course {
        Course::Level(factor) => format!("{} at every {}", alike(*factor), curves.x.label),
        Course::Step(at, factor) => format!("{} {} from {} on", times(*factor), sense.worse(), place(*at)),
        Course::Rise(at, factor) => {
            let first = line.points.first().map_or(0.0, |point| point.x);
            format!("level from {} on, {} {} at {}", place(*at), times(*factor), sense.as_good(), place(first))
        }
        Course::Between(best, worst, factor) => {
            format!("best at {}, {} {} at {}", place(*best), times(*factor), sense.as_good(), place(*worst))
        }
    };
    Some(Conclusion { text: name + &words, factor: course.factor(), is_step: matches!(course, Course::Step(..)) })
}

impl Course {
    fn factor(&self) -> f64 {
        match self {
            Self::Level(_) => 1.0,
            Self::Step(_, factor) | Self::Rise(_, factor) | Self::Between(_, _, factor) => *factor,
        }
    }
}

fn course(line: &Line, sense: Sense) -> Option<Course> {
    let cost = |datum: &Datum| Some((datum.x, Cost::of(datum.y, datum.interval, sense)?));
    let points: Vec<(f64, Cost)> = line.points.iter().filter_map(cost).collect();
    // What is flagged may be the best, or where a step is.
    if points.len() < LEAST_POINTS || line.points.iter().any(|datum| datum.is_doubted) {
        return None;
    }
    let by_cost = |one: &&(f64, Cost), other: &&(f64, Cost)| one.1.value.total_cmp(&other.1.value);
    let (best, worst) = (points.iter().min_by(by_cost)?, points.iter().max_by(by_cost)?);
    if !worst.1.is_worse_than(best.1) {
        return Some(Course::Level(worst.1.value / best.1.value));
    }
    let spread = |part: &[(f64, Cost)]| {
        part.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), (_, cost)| (low.min(cost.value), high.max(cost.value)))
    };
    // The clearest place at which what was level is left.
    let step = (2..points.len()).filter_map(|place| {
        let ((first, last), (after, _)) = (spread(&points[..place]), spread(&points[place..]));
        let (within, apart) = ((last / first).ln(), (after / last).ln());
        let is_sure = points[place].1.is_worse_than(points[place - 1].1);
        (is_sure && apart > VISIBLE.ln() && apart > 1.5 * within).then_some((place, apart))
    });
    if let Some((place, _)) = step.max_by(|one, other| one.1.total_cmp(&other.1)) {
        let middle = &points[..place];
        let level = middle.iter().map(|(_, cost)| cost.value.ln()).sum::<f64>() / middle.len() as f64;
        return Some(Course::Step(points[place].0, spread(&points[place..]).0 / level.exp()));
    }
    let from = points.iter().rposition(|(_, cost)| cost.value > FLAT * best.1.value).map_or(0, |place| place + 1);
    if from > 0 && from + 1 < points.len() && points[0].1.is_worse_than(best.1) {
        return Some(Course::Rise(points[from].0, points[0].1.value / best.1.value));
    }
    Some(Course::Between(best.0, worst.0, worst.1.value / best.1.value))
}

/// A place on an axis: `64 KiB`, `stride=32`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "places are whole numbers below 2^53")]
fn named(label: &str, at: f64, ticks: Ticks) -> String {
    if ticks == Ticks::Bytes {
        return Bytes(at as u64).to_string();
    }
    let number = at as u64;
    let text = if number >= 1 << 16 && number.is_power_of_two() { format!("2^{}", number.ilog2()) } else { at.to_string() };
    if label.is_empty() { text } else { format!("{label}={text}") }
}

// ---- bars and cells -----------------------------------------------------------------------------------------------------------

fn of_bars(bars: &Bars, sense: Sense) -> Option<Conclusion> {
    let bars = bars.groups.iter().flat_map(|group| {
        let named = group.bars.iter().zip(&bars.series).filter_map(|(bar, series)| Some((bar.as_ref()?, series)));
        named.filter_map(|(bar, series)| {
            let name = [group.name.as_str(), series].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
            Some(Named { name, cost: Cost::of(bar.value, bar.interval, sense)?, is_doubted: bar.is_doubted })
        })
    });
    of_named(bars.collect(), sense)
}

fn of_grid(grid: &Grid, sense: Sense) -> Option<Conclusion> {
    let of_row = |(row, cells): (usize, &Vec<GridCell>)| {
        let of_cell = |(column, cell): (usize, &GridCell)| match cell {
            GridCell::Value { value, interval, is_doubted, .. } => {
                let name = place(&[(&grid.column_label, grid.columns.get(column)?), (&grid.row_label, grid.rows.get(row)?)]);
                Some(Named { name, cost: Cost::of(*value, *interval, sense)?, is_doubted: *is_doubted })
            }
            _ => None,
        };
        cells.iter().enumerate().filter_map(of_cell).collect::<Vec<_>>()
    };
    of_named(grid.cells.iter().enumerate().flat_map(of_row).collect(), sense)
}

fn place(parts: &[(&String, &String)]) -> String {
    let words = |(label, name): &(&String, &String)| {
        let is_plain = label.is_empty() || *label == "variant" || name.contains('=');
        if is_plain { (*name).clone() } else { format!("{label}={name}") }
    };
    parts.iter().map(words).collect::<Vec<_>>().join(", ")
}

/// A figure with a name.
struct Named {
    name: String,
    cost: Cost,
    is_doubted: bool,
}

fn of_named(all: Vec<Named>, sense: Sense) -> Option<Conclusion> {
    let by_cost = |one: &&Named, other: &&Named| one.cost.value.total_cmp(&other.cost.value);
    let (best, worst) = (all.iter().min_by(by_cost)?, all.iter().max_by(by_cost)?);
    if all.len() < 2 || best.is_doubted || worst.is_doubted {
        return None;
    }
    let factor = worst.cost.value / best.cost.value;
    if !worst.cost.is_worse_than(best.cost) {
        return Some(Conclusion { text: format!("all {}", alike(factor)), factor: 1.0, is_step: false });
    }
    let text = format!("{} is {} {} {}", best.name, times(factor), sense.as_good(), worst.name);
    Some(Conclusion { text, factor, is_step: false })
}

#[cfg(test)]
mod tests {
    use super::super::chart::{Bar, BarGroup, Scale};
    use super::*;

    const TIME: Sense = Sense::TIME;
    const RATE: Sense = Sense { better: Better::Higher, is_speed: true };

    fn scale(label: &str, ticks: Ticks) -> Scale {
        Scale { label: label.to_owned(), is_log: true, ticks }
    }

    fn line(name: &str, ys: &[f64], flagged: &[usize]) -> Line {
        let point = |(place, y): (usize, &f64)| Datum {
            x: 1024.0 * 2_f64.powf(place as f64),
            y: *y,
            interval: Some((0.99 * y, 1.01 * y)),
            is_doubted: flagged.contains(&place),
            tip: String::new(),
        };
        Line { name: name.to_owned(), points: ys.iter().enumerate().map(point).collect() }
    }

    fn said(lines: Vec<Line>, sense: Sense) -> Option<String> {
        let (x, y) = (scale("working_set_bytes", Ticks::Bytes), scale("time, ns", Ticks::Plain));
        let curves = Curves { x, y, lines, marks: Vec::new(), expected: Vec::new() };
        conclusion(&Body::Curves(curves), sense).map(|conclusion| conclusion.text)
    }

    #[test]
    fn curves_say_from_where_on_they_are_worse() {
        let of = |ys: &[f64], sense| said(vec![line("", ys, &[])], sense).unwrap();
        assert_eq!(of(&[20.0, 20.2, 20.1, 30.0, 31.0, 30.5], TIME), "1.49 × slower from 8 KiB on");
        assert_eq!(of(&[20.0, 20.2, 20.1, 30.0, 100.0, 300.0], TIME), "4.50 × slower from 16 KiB on");
        assert_eq!(of(&[100.0, 200.0, 390.0, 400.0, 398.0], RATE), "level from 4 KiB on, 4.00 × as fast as at 1 KiB");
        assert_eq!(of(&[100.0, 200.0, 400.0, 800.0, 1600.0], RATE), "best at 16 KiB, 16.0 × as fast as at 1 KiB");
        assert_eq!(of(&[100.0, 101.0, 100.0, 99.0], RATE), "within 3 % at every working_set_bytes");
    }

    #[test]
    fn several_lines_have_one_step_or_one_of_them_stands_out() {
        let step = [20.0, 20.0, 20.0, 30.0, 30.0];
        let double = step.map(|y| if y > 20.0 { 2.0 * y } else { y });
        let both = vec![line("read", &step, &[]), line("copy", &double, &[])];
        assert_eq!(said(both, TIME).unwrap(), "1.50 to 3.00 × slower from 8 KiB on");
        let one = vec![line("read", &[20.0; 5], &[]), line("copy", &double, &[])];
        assert_eq!(said(one, TIME).unwrap(), "copy: 3.00 × slower from 8 KiB on");
    }

    #[test]
    fn what_is_flagged_or_neither_better_nor_worse_says_nothing() {
        let step = [20.0, 20.0, 20.0, 30.0, 30.0];
        assert_eq!(said(vec![line("", &step, &[3])], TIME), None);
        assert_eq!(said(vec![line("", &step, &[])], Sense { better: Better::Neither, is_speed: false }), None);
    }

    #[test]
    fn bars_say_which_is_best_where_intervals_show_it() {
        let of = |half: f64, flagged: f64| {
            let bar = |value: f64, half: f64| {
                let interval = Some((value - half, value + half));
                Some(Bar { value, interval, text: String::new(), is_doubted: value >= flagged, tip: String::new() })
            };
            let groups = [("tree", 10.0), ("atomic", 15.0)]
                .map(|(name, value)| BarGroup { name: name.to_owned(), bars: vec![bar(value, half)] });
            let bars = Bars { scale: scale("", Ticks::Plain), series: vec![String::new()], groups: groups.to_vec() };
            conclusion(&Body::Bars(bars), RATE).map(|conclusion| conclusion.text)
        };
        let none = f64::INFINITY;
        assert_eq!(of(0.1, none).as_deref(), Some("atomic is 1.50 × as fast as tree"));
        assert_eq!(of(3.0, none).as_deref(), Some("all within 50 %"));
        assert_eq!(of(0.1, 15.0), None, "the best one is flagged");
    }
}
