//! The pictures of an experiment's rows.

use std::collections::{BTreeMap, BTreeSet};

use super::Source;
use super::chart::{
    Bar, BarGroup, Bars, Better, Body, Chart, Curves, Datum, Expected, Grid, GridCell, Line, Mark, Scale, Ticks,
};
use super::conclusion::{Conclusion, Sense, conclusion};
use super::figures::{Figure, figure, is_doubted, tip};
use super::layout::{Layout, PlotKind, layout};
use super::sections::family;
use super::sweep::{Dimension, Key, Row, dimensions, grouped};
use crate::experiments::Experiment;
use crate::model::{AxisValue, Plot, Plotted, Point};
use crate::record::Record;
use crate::stats::Interval;
use crate::tuning::answer::Timing;
use crate::units::{rounded, scaled};

/// The most pictures of one experiment: more are noise, and a page that nobody can load.
pub const MOST_PICTURES: usize = 12;

/// From this ratio of the largest to the least number on, an axis is logarithmic.
const WIDE: f64 = 20.0;

/// A picture, and the sources whose rows it shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    pub chart: Chart,
    pub sources: BTreeSet<usize>,
    pub conclusion: Option<Conclusion>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pictures {
    pub shown: Vec<Picture>,
    /// How many more there would be.
    pub left_out: usize,
    /// How many have more names than a picture can show: only a table has them.
    pub too_large: usize,
}

impl Picture {
    /// Its title, with what its rows say.
    pub fn concluded(&self, title: &str) -> String {
        match &self.conclusion {
            Some(conclusion) => format!("{title}: {}", conclusion.text),
            None => title.to_owned(),
        }
    }

    /// Its title, with its source if it shows a single one.
    pub fn title(&self, sources: &[Source]) -> String {
        let title = &self.chart.title;
        let label = self.sources.first().and_then(|place| sources.get(*place)).map(|source| source.label.as_str());
        match label.filter(|label| self.sources.len() == 1 && !title.contains(label)) {
            Some(label) => format!("{title}, {label}"),
            None => title.clone(),
        }
    }
}

/// The pictures of rows of one experiment. `experiment` is nothing where this version doesn't know it; `derived` are the rows that follow
/// from its own. At most so many pictures.
pub fn pictures(rows: &[Row], experiment: Option<&Experiment>, derived: &[Row], most: usize) -> Pictures {
    let mut kinds = grouped(with_figures(rows), |row| figure(row.record).map(|figure| (figure.metric, figure.unit)));
    if let [(_, only)] = kinds.as_mut_slice() {
        // Those without a figure can be of no other.
        *only = rows.to_vec();
    }
    let mut pictures = Pictures::default();
    for (_, of_kind) in &kinds {
        let drawer = Drawer::new(of_kind, experiment, derived);
        let panels = drawer.panels();
        pictures.too_large += usize::from(drawer.layout.shape == PlotKind::TooMany);
        let room = most.saturating_sub(pictures.shown.len());
        pictures.left_out += panels.len().saturating_sub(room);
        pictures.shown.extend(panels.iter().take(room).filter_map(|panel| drawer.picture(panel)));
    }
    pictures
}

fn with_figures<'a, 'r>(rows: &'a [Row<'r>]) -> impl Iterator<Item = Row<'r>> + use<'a, 'r> {
    rows.iter().filter(|row| figure(row.record).is_some()).copied()
}

/// What pictures of rows with figures of one kind have in common.
struct Drawer<'r> {
    name: &'r str,
    rows: &'r [Row<'r>],
    derived: &'r [Row<'r>],
    plot: Option<Plot>,
    dimensions: Vec<Dimension>,
    layout: Layout,
}

impl<'r> Drawer<'r> {
    fn new(rows: &'r [Row<'r>], experiment: Option<&Experiment>, derived: &'r [Row<'r>]) -> Self {
        let plot = experiment.and_then(Experiment::plot);
        let x = plot.map(|plot| plot.x);
        let dimensions = dimensions(&with_figures(rows).collect::<Vec<_>>(), x);
        let layout = layout(&dimensions, x, experiment.is_some_and(|one| one.ladder.is_some()));
        let name = rows.first().map_or("", |row| &row.record.experiment);
        Self { name, rows, derived, plot, dimensions, layout }
    }

    fn keys(&self) -> Vec<Key> {
        self.dimensions.iter().map(|dimension| dimension.key.clone()).collect()
    }

    /// What a row has on some dimensions.
    fn at(&self, row: &Row, places: &[usize]) -> Vec<AxisValue> {
        places.iter().map(|place| self.dimensions[*place].key.of(row)).collect()
    }

    /// The rows of each picture, those with a figure first looked at for the order.
    fn panels(&self) -> Vec<Vec<Row<'r>>> {
        if matches!(self.layout.shape, PlotKind::Single | PlotKind::TooMany) {
            return Vec::new();
        }
        let (figures, others): (Vec<Row>, Vec<Row>) = self.rows.iter().copied().partition(|row| figure(row.record).is_some());
        let mut panels = grouped(figures, |row| self.at(row, &self.layout.panels));
        for row in others {
            let at = self.at(&row, &self.layout.panels);
            panels.iter_mut().filter(|(own, _)| *own == at).for_each(|(_, rows)| rows.push(row));
        }
        panels.into_iter().map(|(_, rows)| rows).collect()
    }

    fn picture(&self, rows: &[Row<'r>]) -> Option<Picture> {
        let mut sense = Sense::of(&rows.iter().find_map(|row| figure(row.record))?);
        let body = match &self.layout.shape {
            PlotKind::Single | PlotKind::TooMany => return None,
            PlotKind::Curves { x, series } => {
                let (curves, are_slow_downs) = self.curves(rows, *x, series);
                if are_slow_downs {
                    sense = Sense::TIME;
                }
                Body::Curves(curves)
            }
            PlotKind::Bars { names, series } => Body::Bars(self.bars(rows, *names, *series)),
            PlotKind::Grid { columns, rows: down } => Body::Grid(self.grid(rows, *columns, *down)),
        };
        let first = rows.first()?;
        let of = self.words(first, &self.layout.panels);
        let title = if of.is_empty() { self.name.to_owned() } else { format!("{}: {of}", self.name) };
        let sources = rows.iter().map(|row| row.source).collect();
        // What calibrates the instrument is nobody's work.
        let conclusion = conclusion(&body, sense).filter(|_| family(self.name) != "calibration");
        Some(Picture { chart: Chart { title, body }, sources, conclusion })
    }

    /// What a row has on some dimensions, in words.
    fn words(&self, row: &Row, places: &[usize]) -> String {
        let words = places.iter().map(|place| &self.dimensions[*place].key).map(|key| key.words(&key.of(row)));
        words.filter(|words| !words.is_empty()).collect::<Vec<_>>().join(", ")
    }

    /// The curves, and whether they are slow-downs.
    fn curves(&self, rows: &[Row<'r>], x: usize, series: &[usize]) -> (Curves, bool) {
        let of = &self.dimensions[x];
        let is_slow_down = self.plot.is_some_and(|plot| plot.of == Plotted::SlowDown && Key::Axis(plot.x.to_owned()) == of.key);
        let lines = grouped(with_figures(rows), |row| self.at(row, series)).into_iter();
        let mut lines: Vec<Vec<Row>> = lines.map(|(_, own)| own).collect();
        lines.iter_mut().for_each(|own| own.sort_by_key(|row| of.key.of(row)));
        let is_slow_down = is_slow_down && lines.iter().all(|own| slow_downs(own).is_some());
        let (unit, label) =
            if is_slow_down { (1.0, format!("time over that of the least {}", of.key.title())) } else { scale_of(rows) };
        let keys = self.keys();
        let drawn = lines
            .iter()
            .map(|own| Line { name: self.words(&own[0], series), points: points(own, &of.key, &keys, unit, is_slow_down) });
        let drawn: Vec<Line> = drawn.collect();
        let figures = drawn.iter().flat_map(|line| line.points.iter().map(|point| point.y));
        let y = Scale { label, is_log: is_wide(figures) && !is_slow_down, ticks: Ticks::Plain };
        let expected = if is_slow_down { self.expected(&drawn, &lines) } else { Vec::new() };
        let marks = self.marks(&drawn, &lines, &of.key);
        (Curves { x: axis_scale(of), y, marks, lines: drawn, expected }, is_slow_down)
    }

    /// What a model expects of the lines that it says something of. What it expects of several is drawn once.
    fn expected(&self, drawn: &[Line], lines: &[Vec<Row>]) -> Vec<Expected> {
        let Some(expectation) = self.plot.and_then(|plot| plot.expected) else { return Vec::new() };
        let mut all: Vec<(Expected, Vec<&str>)> = Vec::new();
        for (line, own) in drawn.iter().zip(lines) {
            let figures =
                |variant: &str| self.inferred(&own[0], expectation.experiment, variant).and_then(|record| record.value);
            let point = |row: &Row| {
                let (x, record) = (self.plot?.x, row.record);
                let axes = record.by_axis.iter().map(|(name, value)| (name.clone().into(), value.clone()));
                let of = (expectation.of)(&Point::new(axes), record.subgroup_size?, &figures)?;
                Some((number(record.by_axis.get(x)?)?, of))
            };
            let points: Vec<(f64, f64)> = own.iter().filter_map(point).collect();
            // Like the lines, over what it is at the first.
            let base = points.first().map_or(1.0, |(_, first)| *first);
            let points: Vec<(f64, f64)> = points.into_iter().map(|(x, y)| (x, y / base)).collect();
            match all.iter_mut().find(|(known, _)| known.points == points) {
                Some((_, of)) => of.push(&line.name),
                None if points.len() > 1 => {
                    all.push((Expected { name: expectation.name.to_owned(), points }, vec![&line.name]));
                }
                None => {}
            }
        }
        let is_one = all.len() < 2;
        let named = |(expected, of): (Expected, Vec<&str>)| {
            if is_one { expected } else { Expected { name: format!("{} ({})", expected.name, of.join("; ")), ..expected } }
        };
        all.into_iter().map(named).collect()
    }

    /// What follows from the sweep that a row is of: where both have an axis, they have the same value on it.
    fn inferred(&self, of: &Row, experiment: &str, variant: &str) -> Option<&'r Record> {
        let is_of_sweep = |row: &Row| {
            row.record.by_axis.iter().all(|(axis, value)| of.record.by_axis.get(axis).is_none_or(|own| own == value))
        };
        let is_it = |row: &&Row| {
            row.source == of.source && row.record.experiment == experiment && row.record.variant == variant && is_of_sweep(row)
        };
        self.derived.iter().find(is_it).map(|row| row.record)
    }

    /// The places on x that were derived for each line. What several lines share is marked once.
    fn marks(&self, lines: &[Line], of_lines: &[Vec<Row>], x: &Key) -> Vec<Mark> {
        let Some(marks) = self.plot.filter(|plot| Key::Axis(plot.x.to_owned()) == *x).and_then(|plot| plot.marks) else {
            return Vec::new();
        };
        let mut all: Vec<(Mark, Vec<usize>)> = Vec::new();
        for (line, own) in of_lines.iter().enumerate() {
            for (level, variant) in marks.variants.iter().enumerate() {
                let Some(record) = self.inferred(&own[0], marks.experiment, variant) else { continue };
                let Some(at) = record.value else { continue };
                let text = format!("level {}: {}", level + 1, crate::units::figure(at, record.value_ends(), "B"));
                match all.iter_mut().find(|(mark, _)| mark.text == text) {
                    Some((_, of)) => of.push(line),
                    None => all.push((Mark { at, text, line: None }, vec![line])),
                }
            }
        }
        let named = |(mark, of): (Mark, Vec<usize>)| match of.as_slice() {
            of if of.len() == lines.len() => mark,
            of => {
                let names: Vec<&str> = of.iter().map(|line| lines[*line].name.as_str()).collect();
                Mark { text: format!("{} ({})", mark.text, names.join("; ")), line: of.first().copied(), ..mark }
            }
        };
        all.into_iter().map(named).collect()
    }

    fn bars(&self, rows: &[Row], names: usize, series: Option<usize>) -> Bars {
        let (unit, label) = scale_of(rows);
        let of = &self.dimensions[names];
        let side: Vec<Option<&AxisValue>> = match series {
            Some(place) => self.dimensions[place].values.iter().map(Some).collect(),
            None => vec![None],
        };
        let keys = self.keys();
        let at = |row: &Row, place: usize| self.dimensions[place].key.of(row);
        let bar = |name: &AxisValue, value: Option<&AxisValue>| {
            let is_it =
                |row: &Row| at(row, names) == *name && value.is_none_or(|value| at(row, series.unwrap_or(names)) == *value);
            with_figures(rows).find(is_it).and_then(|row| bar(&row, &keys, unit))
        };
        let group = |name: &AxisValue| BarGroup {
            name: of.key.words(name),
            bars: side.iter().map(|value| bar(name, *value)).collect(),
        };
        let groups = of.values.iter().map(group).filter(|group| group.bars.iter().any(Option::is_some)).collect();
        let named = |value: &Option<&AxisValue>| match (value, series) {
            (Some(value), Some(place)) => self.dimensions[place].key.words(value),
            _ => String::new(),
        };
        let series = side.iter().map(named).collect();
        Bars { scale: Scale { label, is_log: false, ticks: Ticks::Plain }, series, groups }
    }

    fn grid(&self, rows: &[Row], across: usize, down: usize) -> Grid {
        // What no row of this picture has takes no room.
        let present = |of: &Dimension| {
            let own: BTreeSet<AxisValue> = with_figures(rows).map(|row| of.key.of(&row)).collect();
            of.values.iter().filter(|value| own.contains(value)).cloned().collect::<Vec<_>>()
        };
        let of = [across, down].map(|place| &self.dimensions[place]);
        grid(rows, of.map(|of| &of.key), of.map(present), &self.keys())
    }
}

/// A grid of these columns and lines: in each cell the fastest row, if any has a figure.
pub fn grid(rows: &[Row], [across, down]: [&Key; 2], [columns, lines]: [Vec<AxisValue>; 2], keys: &[Key]) -> Grid {
    let (unit, label) = scale_of(rows);
    let figures = || rows.iter().filter_map(|row| figure(row.record));
    let time = |row: &Row| figure(row.record).map(|_| row.record.time_ns.unwrap_or(f64::MAX)).unwrap_or(f64::INFINITY);
    let mut best = BTreeMap::new();
    for row in rows {
        let held = best.entry((down.of(row), across.of(row))).or_insert(row);
        if time(row) < time(held) {
            *held = row;
        }
    }
    let cell = |at: (AxisValue, AxisValue)| best.get(&at).map_or(GridCell::Empty, |row| grid_cell(row, keys, unit));
    let cells = lines.iter().map(|line| columns.iter().map(|column| cell((line.clone(), column.clone()))).collect()).collect();
    Grid {
        column_label: across.title(),
        columns: columns.iter().map(|value| across.value_words(value)).collect(),
        row_label: down.title(),
        rows: lines.iter().map(|value| down.value_words(value)).collect(),
        scale: Scale { label, is_log: is_wide(figures().map(|figure| figure.value)), ticks: Ticks::Plain },
        better: figures().next().map_or(Better::Neither, |figure| better(figure.better)),
        cells,
    }
}

/// The unit in which figures of one kind are told, as how many of their own it is, and what stands at their axis.
fn scale_of(rows: &[Row]) -> (f64, String) {
    let figures: Vec<Figure> = rows.iter().filter_map(|row| figure(row.record)).collect();
    let largest = figures.iter().map(|figure| figure.value.abs()).fold(0.0, f64::max);
    let Some(first) = figures.first() else { return (1.0, String::new()) };
    let (of, unit) = scaled(first.unit, largest);
    let metric = first.metric.replace('_', " ");
    let parts = [metric.as_str(), unit].into_iter().filter(|part| !part.is_empty() && *part != "ratio");
    (of, parts.collect::<Vec<_>>().join(", "))
}

pub fn better(word: &str) -> Better {
    match word {
        "higher" => Better::Higher,
        "lower" => Better::Lower,
        _ => Better::Neither,
    }
}

/// Whether numbers spread so much that small ones would vanish.
fn is_wide(numbers: impl Iterator<Item = f64>) -> bool {
    let (least, most) = numbers.fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), n| (least.min(n), most.max(n)));
    least > 0.0 && most >= WIDE * least
}

#[expect(clippy::cast_precision_loss, reason = "it becomes a place in a picture")]
fn number(value: &AxisValue) -> Option<f64> {
    match value {
        AxisValue::Integer(n) => Some(*n as f64),
        AxisValue::Choice(_) => None,
    }
}

fn axis_scale(of: &Dimension) -> Scale {
    let are_powers = of.values.iter().all(|value| matches!(value, AxisValue::Integer(n) if n.is_power_of_two()));
    let ticks = match (of.key.is_of_bytes(), are_powers) {
        (true, _) => Ticks::Bytes,
        (false, true) => Ticks::Binary,
        (false, false) => Ticks::Plain,
    };
    // What grows by steps is read off step by step; what grows by factors, by its factors.
    let numbers: Vec<f64> = of.values.iter().filter_map(number).collect();
    let mut steps: Vec<f64> = numbers.windows(2).map(|pair| pair[1] - pair[0]).collect();
    steps.sort_by(f64::total_cmp);
    let usual = steps.chunk_by(|one, other| one == other).map(<[f64]>::len).max().unwrap_or(0);
    let by_factors = is_wide(numbers.iter().copied()) && 2 * usual <= steps.len();
    let is_size = ticks != Ticks::Plain && numbers.iter().all(|number| *number > 0.0);
    let is_log = is_size || by_factors;
    Scale { label: of.key.title(), is_log, ticks }
}

fn points(rows: &[Row], x: &Key, keys: &[Key], unit: f64, is_slow_down: bool) -> Vec<Datum> {
    let slow_downs = if is_slow_down { slow_downs(rows) } else { None };
    let point = |(place, row): (usize, &Row)| {
        let figure = figure(row.record)?;
        let (y, interval) = match &slow_downs {
            Some(slow_downs) => slow_downs[place],
            None => (figure.value / unit, figure.interval.map(|(low, high)| (low / unit, high / unit))),
        };
        let tip = match &slow_downs {
            Some(_) => format!("{}\n{} times as long as the first", tip(row, keys), rounded(y, None)),
            None => tip(row, keys),
        };
        Some(Datum { x: number(&x.of(row))?, y, interval, is_doubted: is_doubted(row.record), tip })
    };
    rows.iter().enumerate().filter_map(point).collect()
}

/// How many times as long a row takes, and the ends of the interval.
type SlowDown = (f64, Option<(f64, f64)>);

/// How many times as long each row takes as the first, whose own ratio is 1 and nothing else.
fn slow_downs(rows: &[Row]) -> Option<Vec<SlowDown>> {
    let timing = |row: &Row| {
        let time = row.record.time_ns.filter(|time| *time > 0.0)?;
        let interval = row.record.ci_low_ns.zip(row.record.ci_high_ns);
        Some((
            Timing::precise(time, interval.map_or(Interval { low: time, high: time }, |(low, high)| Interval { low, high })),
            interval.is_some(),
        ))
    };
    let (base, has_base_interval) = timing(rows.first()?)?;
    let one = |(place, row): (usize, &Row)| {
        let (time, has_interval) = timing(row)?;
        let ratio = time.over(&base);
        Some((ratio.value, (place > 0 && has_base_interval && has_interval).then_some((ratio.low, ratio.high))))
    };
    rows.iter().enumerate().map(one).collect()
}

fn bar(row: &Row, keys: &[Key], unit: f64) -> Option<Bar> {
    let figure = figure(row.record)?;
    Some(Bar {
        value: figure.value / unit,
        interval: figure.interval.map(|(low, high)| (low / unit, high / unit)),
        text: crate::units::figure(figure.value, figure.interval, figure.unit),
        is_doubted: is_doubted(row.record),
        tip: tip(row, keys),
    })
}

fn grid_cell(row: &Row, keys: &[Key], unit: f64) -> GridCell {
    match figure(row.record) {
        None => GridCell::Without { text: row.record.status.replace('_', " "), tip: tip(row, keys) },
        Some(figure) => {
            let (value, interval) = (figure.value / unit, figure.interval.map(|(low, high)| (low / unit, high / unit)));
            let text = crate::units::figure(value, interval, "");
            GridCell::Value { value, interval, text, is_doubted: is_doubted(row.record), tip: tip(row, keys) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::find;

    /// A measured row of `experiment`, with a figure in GB/s.
    fn row(experiment: &str, axes: &[(&str, &str)], value: f64) -> Record {
        let value_of = |text: &str| text.parse().map_or_else(|_| AxisValue::Choice(text.to_owned().into()), AxisValue::Integer);
        Record {
            experiment: experiment.to_owned(),
            status: "ok".to_owned(),
            value: Some(value),
            value_ci_low: Some(0.9 * value),
            value_ci_high: Some(1.1 * value),
            time_ns: Some(1e3 / value),
            ci_low_ns: Some(0.9e3 / value),
            ci_high_ns: Some(1.1e3 / value),
            metric: "bandwidth".to_owned(),
            unit: "GB/s".to_owned(),
            better: "higher".to_owned(),
            by_axis: axes.iter().map(|(name, text)| ((*name).to_owned(), value_of(text))).collect(),
            ..Record::new()
        }
    }

    /// The rows of each source.
    fn rows<'r>(sides: &[&'r [Record]]) -> Vec<Row<'r>> {
        let of = |(source, records): (usize, &&'r [Record])| {
            records.iter().map(move |record| Row { source, label: ["one", "two"][source], record })
        };
        sides.iter().enumerate().flat_map(of).collect()
    }

    fn drawn(records: &[Record], derived: &[Record], most: usize) -> Pictures {
        let experiment = records.first().and_then(|record| find(&record.experiment));
        pictures(&rows(&[records]), experiment, &rows(&[derived]), most)
    }

    #[test]
    fn rows_without_a_figure_are_cells_that_say_so() {
        let mut rows: Vec<Record> = ["8", "16", "32"]
            .iter()
            .flat_map(|x| ["1", "2"].map(|y| row("workgroup/tile2d", &[("local_size_x", x), ("local_size_y", y)], 5.0)))
            .collect();
        rows[3] = Record {
            status: "skipped".to_owned(),
            value: None,
            time_ns: None,
            reason: "too large".to_owned(),
            ..rows[3].clone()
        };
        let pictures = drawn(&rows, &[], 9);
        let Body::Grid(grid) = &pictures.shown[0].chart.body else { panic!("{pictures:?}") };
        assert_eq!((grid.columns.join(" "), grid.rows.join(" ")), ("8 16 32".to_owned(), "1 2".to_owned()));
        assert!(
            matches!(&grid.cells[1][1], GridCell::Without { text, tip } if text == "skipped" && tip.ends_with("too large"))
        );
        assert!(matches!(&grid.cells[0][1], GridCell::Value { text, .. } if text == "5.0"));
    }

    #[test]
    fn conflicts_are_slow_downs_beside_what_the_banks_predict() {
        let strides = [("1", 32.0), ("2", 16.0), ("3", 32.0), ("32", 1.0)];
        let of = |(stride, value)| {
            let axes = [("stride", stride), ("pattern", "strided"), ("width", "1"), ("padding", "0"), ("local_size_x", "256")];
            Record { subgroup_size: Some(32), ..row("shared/bank_conflict", &axes, value) }
        };
        let banks = [("count", 32.0), ("width", 4.0)].map(|(variant, value)| Record {
            variant: variant.to_owned(),
            row_kind: "derived".to_owned(),
            ..row("shared/banks", &[], value)
        });
        let pictures = drawn(&strides.map(of), &banks, 9);
        let Body::Curves(curves) = &pictures.shown[0].chart.body else { panic!("{pictures:?}") };
        let y = |line: &Line| line.points.iter().map(|point| point.y).collect::<Vec<_>>();
        assert_eq!(y(&curves.lines[0]), [1.0, 2.0, 1.0, 32.0]);
        // Both times are known to a tenth: exp(hypot(ln 1.1, ln 1/0.9)) is 1.153.
        let ends = curves.lines[0]
            .points
            .iter()
            .map(|point| point.interval.map(|(low, high)| [low, high].map(|end| (1e2 * end).round())));
        assert_eq!(ends.take(2).collect::<Vec<_>>(), [None, Some([174.0, 231.0])]);
        assert_eq!(curves.expected[0].points, [(1.0, 1.0), (2.0, 2.0), (3.0, 1.0), (32.0, 32.0)]);
        // What isn't banks has no prediction, and what somebody else wrote is no panic.
        let odd = [("count", 33.0), ("width", f64::MAX)]
            .map(|(variant, value)| Record { variant: variant.to_owned(), ..row("shared/banks", &[], value) });
        assert!(
            matches!(&drawn(&strides.map(of), &odd, 9).shown[0].chart.body, Body::Curves(curves) if curves.expected.is_empty())
        );
        let other = strides.map(|(stride, value)| row("shared/bank_conflict", &[("stride", stride)], value));
        assert!(matches!(&drawn(&other, &banks, 9).shown[0].chart.body, Body::Curves(curves) if curves.expected.is_empty()));
    }

    /// Side by side, what both have is marked once, and what one has bears its name.
    #[test]
    fn levels_are_marked_for_each_device() {
        let sizes = ["1024", "2048", "4096", "8192", "65536"];
        let sweep = sizes.map(|size| row("cache/latency", &[("working_set_bytes", size), ("hops", "9")], 5.0));
        let level = |(place, value): (usize, &f64)| Record {
            variant: format!("capacity_{}", place + 1),
            row_kind: "derived".to_owned(),
            ..row("cache/levels", &[("hops", "9")], *value)
        };
        let marks = |levels: [&[f64]; 2]| {
            let levels = levels.map(|levels| levels.iter().enumerate().map(level).collect::<Vec<Record>>());
            let derived = rows(&[&levels[0], &levels[1]]);
            let pictures = pictures(&rows(&[&sweep, &sweep]), find("cache/latency"), &derived, 9);
            let Body::Curves(curves) = &pictures.shown[0].chart.body else { panic!("{pictures:?}") };
            assert_eq!((curves.x.ticks, curves.x.is_log), (Ticks::Bytes, true));
            curves.marks.iter().map(|mark| (mark.text.clone(), mark.line)).collect::<Vec<_>>()
        };
        assert_eq!(
            marks([&[4096.0, 32768.0], &[4096.0, 16384.0]]),
            [
                ("level 1: 4.0 KiB".to_owned(), None),
                ("level 2: 32 KiB (one)".to_owned(), Some(0)),
                ("level 2: 16 KiB (two)".to_owned(), Some(1)),
            ]
        );
        assert_eq!(marks([&[], &[8192.0]]), [("level 1: 8.0 KiB (two)".to_owned(), Some(1))]);
    }

    #[test]
    fn figures_of_several_kinds_are_pictures_of_their_own_and_what_has_no_room_is_counted() {
        let axes = |op: &'static str| vec![("op", op)];
        let mut rows: Vec<Record> = ["add", "mul", "max"].iter().map(|op| row("a/b", &axes(op), 2.0)).collect();
        rows.extend(["add", "mul"].iter().map(|op| Record {
            metric: "latency".to_owned(),
            unit: "ns".to_owned(),
            ..row("a/b", &axes(op), 9e9)
        }));
        let pictures = drawn(&rows, &[], 9);
        let labels = pictures.shown.iter().map(|picture| match &picture.chart.body {
            Body::Bars(bars) => (bars.scale.label.as_str(), bars.groups.len()),
            other => panic!("{other:?}"),
        });
        assert_eq!(labels.collect::<Vec<_>>(), [("bandwidth, GB/s", 3), ("latency, ms", 2)]);
        assert_eq!(drawn(&rows, &[], 1).left_out, 1);
        assert_eq!(drawn(&rows[..1], &[], 9), Pictures::default(), "one figure is said in words");
    }
}
