//! A figure over an axis of numbers.

use super::super::chart::{Curves, Datum, Line, Mark};
use super::axis::{Axis, BESIDE, Room, can_hold};
use super::canvas::{BELOW, Canvas, Frame, Layer, Paint, Plot, SMALL, Side, TEXT, Writing};
use super::legend::{self, Swatch};
use super::look::{Marker, Point, Stroke};
use super::palette::{Colour, MARK, SERIES};
use super::text;

const HEIGHT: f64 = 250.0;
/// The height of a line of marks' texts.
const MARK_LINE: f64 = 16.0;

/// Draws it from a height on, and says where it ends.
pub fn draw(canvas: &mut Canvas, curves: &Curves, top: f64) -> f64 {
    let lines: Vec<Line> = curves.lines.iter().map(|line| drawable(line, curves)).collect();
    let plot = axes(canvas, curves, &lines, top);
    marks(canvas, &plot, &curves.marks, top);
    expected(canvas, &plot, curves);
    for (index, line) in lines.iter().enumerate() {
        series(canvas, &plot, line, index);
    }
    let swatch = |index| {
        if index >= lines.len() {
            return Swatch::Line(MARK, Stroke::EXPECTED, None);
        }
        Swatch::Line(SERIES[index % SERIES.len()], Stroke::of_series(index), Some(Marker::of_series(index)))
    };
    let names = lines.iter().map(|line| &line.name).chain(curves.expected.iter().map(|expected| &expected.name));
    let is_flagged = lines.iter().flat_map(|line| &line.points).any(|datum| datum.is_doubted);
    legend::draw(canvas, &legend::entries(names, swatch, is_flagged), plot.frame.left, plot.frame.bottom() + BELOW + 4.0)
}

/// What of a line can be drawn.
fn drawable(line: &Line, curves: &Curves) -> Line {
    let points = line.points.iter().filter(|datum| can_hold(datum.x, curves.x.is_log) && can_hold(datum.y, curves.y.is_log));
    Line { name: line.name.clone(), points: points.cloned().collect() }
}

fn axes(canvas: &mut Canvas, curves: &Curves, lines: &[Line], top: f64) -> Plot {
    let data = || lines.iter().flat_map(|line| &line.points);
    let expected = || curves.expected.iter().flat_map(|expected| &expected.points);
    let is_log = curves.y.is_log;
    let ys = data().flat_map(|datum| [Some(datum.y), end(datum, false, is_log), end(datum, true, is_log)]).flatten();
    let y = Axis::around(&curves.y, ys.chain(expected().map(|point| point.1)), Room::Upright(HEIGHT));
    let left = y.widest(TEXT) + 36.0;
    let width = canvas.width - left - BESIDE;
    let xs = data().map(|datum| datum.x).chain(expected().map(|point| point.0));
    let xs = xs.chain(curves.marks.iter().map(|mark| mark.at));
    let x = Axis::around(&curves.x, xs, Room::Across(width, TEXT));
    // The marks' lines are known once their places are.
    let mark_lines = places(&curves.marks, |at| left + x.share(at) * width, left + width + BESIDE, curves.x.is_log);
    let above = mark_lines.iter().map(|(_, _, line)| (line + 1) as f64).fold(0.0, f64::max) * MARK_LINE + 6.0;
    let frame = Frame { left, top: top + above, width, height: HEIGHT };
    canvas.plot(frame, x, y, [&curves.x.label, &curves.y.label])
}

/// An end of an interval for the ends of the axis: one that is far off would leave the figures no room.
fn end(datum: &Datum, is_upper: bool, is_log: bool) -> Option<f64> {
    let (low, high) = datum.interval?;
    let end = if is_upper { high } else { low };
    let reach = |by: f64| if is_log { datum.y * by } else { datum.y + datum.y.abs() * (by - 1.0) };
    if !can_hold(end, is_log) {
        return None;
    }
    Some(if is_upper { end.min(reach(3.0)) } else { end.max(if is_log { reach(1.0 / 3.0) } else { -reach(3.0).abs() }) })
}

/// The text of each mark that has a place, where it begins and its line, counted from the plot upwards. A mark's rule ends below its own
/// text, so that texts are crossed by no rule where enough lines are free.
fn places(marks: &[Mark], place: impl Fn(f64) -> f64, right: f64, is_log: bool) -> Vec<(usize, f64, usize)> {
    let mut order: Vec<usize> = (0..marks.len()).filter(|mark| can_hold(marks[*mark].at, is_log)).collect();
    order.sort_by(|a, b| marks[*b].at.total_cmp(&marks[*a].at));
    let mut placed: Vec<(usize, f64, f64, usize)> = Vec::new();
    for mark in order {
        let rule = place(marks[mark].at);
        let width = text::width(&mark_text(&marks[mark]), SMALL);
        let start = (rule + 3.0).min(right - width);
        let is_free = |line: usize| {
            placed.iter().all(|(other, from, to, its)| {
                let overlaps = start < to + 6.0 && *from < start + width + 6.0;
                let its_rule = place(marks[*other].at);
                let is_crossed = *its > line && start < its_rule && its_rule < start + width;
                let crosses = line > *its && *from < rule && rule < *to;
                !(overlaps && *its == line || is_crossed || crosses)
            })
        };
        let line = (0..marks.len()).find(|line| is_free(*line)).unwrap_or(marks.len());
        placed.push((mark, start, start + width, line));
    }
    placed.into_iter().map(|(mark, from, _, line)| (mark, from, line)).collect()
}

fn mark_text(mark: &Mark) -> String {
    text::fit(&mark.text, 260.0, SMALL)
}

fn marks(canvas: &mut Canvas, plot: &Plot, all: &[Mark], top: f64) {
    let frame = plot.frame;
    for (mark, start, line) in places(all, |at| plot.x(at), frame.right() + BESIDE, plot.x.is_log) {
        let mark = &all[mark];
        let x = plot.x(mark.at);
        let y = frame.top - 6.0 - (line as f64 + 0.5) * MARK_LINE;
        let colour = mark.line.map_or(MARK, |line| SERIES[line % SERIES.len()]);
        canvas.line(&[(x, frame.bottom()), (x, (y + MARK_LINE / 2.0).max(top))], colour, Stroke::MARK);
        canvas.text(&mark_text(mark), (start, y.max(top + 5.0)), Writing::new(SMALL, Side::Start).coloured(MARK));
    }
}

fn expected(canvas: &mut Canvas, plot: &Plot, curves: &Curves) {
    for expected in &curves.expected {
        let points = expected.points.iter().filter(|(x, y)| can_hold(*x, curves.x.is_log) && can_hold(*y, curves.y.is_log));
        let path: Vec<Point> = points.map(|point| plot.at(*point)).collect();
        if path.len() > 1 {
            canvas.line(&path, MARK, Stroke::EXPECTED);
        }
    }
}

fn series(canvas: &mut Canvas, plot: &Plot, line: &Line, index: usize) {
    let colour = SERIES[index % SERIES.len()];
    let trusted: Vec<&Datum> = line.points.iter().filter(|datum| !datum.is_doubted).collect();
    let all: Vec<&Datum> = line.points.iter().collect();
    if trusted.len() < all.len() && canvas.can_hide() {
        for (layer, data) in [(Layer::Doubted, &all), (Layer::Trusted, &trusted)] {
            canvas.within(layer, |canvas| course(canvas, plot, data, index));
        }
    } else {
        course(canvas, plot, &all, index);
    }
    // Markers that touch each other tell nothing; those that a page can hide take no room from others.
    let mut last = f64::NEG_INFINITY;
    for datum in &line.points {
        let at = plot.at((datum.x, datum.y));
        let is_shown = datum.is_doubted || (at.0 - last).abs() >= 9.0;
        if is_shown {
            if !datum.is_doubted {
                last = at.0;
            }
            mark_datum(canvas, Marker::of_series(index), at, 3.0, colour, datum.is_doubted);
        }
        canvas.hit(at, if line.points.len() > 60 { 4.0 } else { 7.0 }, datum.is_doubted, &datum.tip);
    }
}

/// A line through data, above the band of their intervals.
fn course(canvas: &mut Canvas, plot: &Plot, data: &[&Datum], index: usize) {
    let colour = SERIES[index % SERIES.len()];
    band(canvas, plot, data, colour);
    let path: Vec<Point> = data.iter().map(|datum| plot.at((datum.x, datum.y))).collect();
    if path.len() > 1 {
        canvas.line(&path, colour, Stroke::of_series(index));
    }
}

/// The marker of a datum: hollow, and in the layer that can be hidden, where it is flagged.
pub fn mark_datum(canvas: &mut Canvas, shape: Marker, at: Point, r: f64, colour: Colour, is_doubted: bool) {
    let (r, paint) = if is_doubted { (r + 0.3, Paint::Hollow(colour)) } else { (r, Paint::Full(colour)) };
    canvas.within(Layer::of(is_doubted), |canvas| canvas.marker(shape, at, r, paint));
}

/// The band of intervals, in parts where some points have none; a point alone has a whisker.
fn band(canvas: &mut Canvas, plot: &Plot, data: &[&Datum], colour: Colour) {
    let ends = |datum: &Datum| datum.interval.filter(|(low, high)| !low.is_nan() && !high.is_nan());
    for part in data.chunk_by(|a, b| ends(a).is_some() == ends(b).is_some()) {
        let edges: Vec<(Point, Point)> = part
            .iter()
            .filter_map(|datum| ends(datum).map(|(low, high)| (plot.at((datum.x, low)), plot.at((datum.x, high)))))
            .collect();
        match edges.as_slice() {
            [] => {}
            [(low, high)] => canvas.line(&[*low, *high], colour, Stroke::THIN),
            _ => {
                let outline: Vec<Point> =
                    edges.iter().map(|edge| edge.1).chain(edges.iter().rev().map(|edge| edge.0)).collect();
                canvas.polygon(&outline, Paint::Faint(colour));
            }
        }
    }
}
