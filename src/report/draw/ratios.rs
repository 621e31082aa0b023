//! Ratios with their intervals.

use super::super::chart::{RatioItem, Ratios, Scale, Ticks, Verdict};
use super::axis::{Axis, Room, can_hold};
use super::bars::whiskers;
use super::canvas::{BELOW, Canvas, Frame, Layer, Paint, Plot, SMALL, Side, TEXT, Writing};
use super::legend::{self, Swatch};
use super::look::{Marker, Stroke};
use super::names::Names;
use super::palette::{BAD, Colour, GOOD, INK, MARGIN, SAME, UNCLEAR};
use super::text;
use crate::stats::Ratio;

const ROW: f64 = 21.0;
/// The room for the numbers on the right.
const NUMBERS: f64 = 54.0;

/// Draws it from a height on, and says where it ends.
pub fn draw(canvas: &mut Canvas, ratios: &Ratios, top: f64) -> f64 {
    let names = Names::new(canvas, ratios.items.iter().map(|item| &item.name));
    let pitch = names.height() + ROW;
    let plot = axes(canvas, ratios, names.left, pitch, top);
    for (row, item) in ratios.items.iter().enumerate() {
        let upper = plot.frame.top + row as f64 * pitch + names.height();
        names.draw(canvas, &item.name, upper, ROW);
        draw_item(canvas, &plot, item, upper + ROW / 2.0);
    }
    legend::draw(canvas, &entries(ratios), 10.0, plot.frame.bottom() + BELOW + 4.0)
}

fn axes(canvas: &mut Canvas, ratios: &Ratios, left: f64, pitch: f64, top: f64) -> Plot {
    let width = canvas.width - left - NUMBERS - 8.0;
    let margin = if ratios.margin.is_finite() { ratios.margin.clamp(0.0, 10.0) } else { 0.0 };
    // An interval that is far wider than its ratio would leave the others no room.
    let reach = ratios.items.iter().filter(|item| can_hold(item.ratio.value, true)).flat_map(|item| {
        let Ratio { value, low, high } = item.ratio;
        [value, low.max(value / 2.0), high.min(value * 2.0)]
    });
    let (low, high) = (1.0 / (1.0 + margin), 1.0 + margin);
    // A hair's breadth of the axis is a difference of 2 % at least: noise isn't blown up to a landscape.
    let values = reach.chain([low / 1.01, high * 1.01]);
    let room = Room::Across(width, TEXT);
    let scale = Scale { label: ratios.label.clone(), is_log: true, ticks: Ticks::Plain };
    let x = Axis::around(&scale, values, room).with_best(ticks(), room);
    let x = if x.ticks.len() < 2 { Axis::new(&scale, x.low, x.high, room) } else { x };
    let frame = Frame { left, top: top + 4.0, width, height: pitch * ratios.items.len().max(1) as f64 };
    let [from, to] = [low, high].map(|end| left + x.share(end) * width);
    canvas.rectangle(Frame { left: from, width: to - from, ..frame }, Paint::Full(MARGIN));
    let plot = canvas.plot(frame, x, Axis::bare(), [&ratios.label, ""]);
    let one = plot.x(1.0);
    canvas.line(&[(one, frame.top), (one, frame.bottom())], INK, Stroke::THIN);
    plot
}

/// Numbers around 1, from near to far.
fn ticks() -> Vec<Vec<(f64, String)>> {
    const SETS: [&[f64]; 7] = [
        &[0.96, 0.97, 0.98, 0.99, 1.0, 1.01, 1.02, 1.03, 1.04],
        &[0.9, 0.92, 0.94, 0.96, 0.98, 1.0, 1.02, 1.04, 1.06, 1.08, 1.1],
        &[0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.15, 1.2, 1.25],
        &[0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 1.75, 2.0],
        &[0.1, 0.2, 0.33, 0.5, 0.8, 1.0, 1.25, 2.0, 3.0, 5.0, 10.0],
        &[0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0],
        &[0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0],
    ];
    SETS.iter().map(|set| set.iter().map(|at| (*at, text::plain(*at))).collect()).collect()
}

/// The colour of a verdict, and its marker.
fn look(verdict: Verdict) -> (Colour, Marker, Paint) {
    match verdict {
        Verdict::Faster => (GOOD, Marker::Up, Paint::Full(GOOD)),
        Verdict::Slower => (BAD, Marker::Down, Paint::Full(BAD)),
        Verdict::Same => (SAME, Marker::Circle, Paint::Full(SAME)),
        Verdict::Unclear => (UNCLEAR, Marker::Circle, Paint::Hollow(UNCLEAR)),
    }
}

fn draw_item(canvas: &mut Canvas, plot: &Plot, item: &RatioItem, y: f64) {
    let Ratio { value, low, high } = item.ratio;
    let can_be = can_hold(value, true);
    let at = (plot.x(if can_be { value } else { 1.0 }), y);
    canvas.hit(at, 8.0, item.is_doubted, &item.tip);
    if !can_be {
        return;
    }
    let (colour, shape, paint) = look(item.verdict);
    let ends = (!low.is_nan() && !high.is_nan()).then(|| (plot.x(low), plot.x(high)));
    let (paint, stroke) =
        if item.is_doubted { (Paint::Hollow(colour), Stroke::BROKEN) } else { (paint, Stroke::whole(Stroke::BROKEN.width)) };
    canvas.within(Layer::of(item.is_doubted), |canvas| {
        whiskers(canvas, ends, y, colour, stroke);
        canvas.marker(shape, at, 4.0, paint);
        canvas.text(&number_text(value), (canvas.width - 4.0, y), Writing::new(SMALL, Side::End));
    });
}

fn number_text(value: f64) -> String {
    if (0.001..1000.0).contains(&value) { format!("{value:.3}") } else { text::plain(value) }
}

fn entries(ratios: &Ratios) -> Vec<(Swatch, String)> {
    let all =
        [(Verdict::Faster, "faster"), (Verdict::Slower, "slower"), (Verdict::Same, "the same"), (Verdict::Unclear, "unclear")];
    let present = all.into_iter().filter(|(verdict, _)| ratios.items.iter().any(|item| item.verdict == *verdict));
    let entry = |(verdict, name): (Verdict, &str)| {
        let (_, shape, paint) = look(verdict);
        (Swatch::Marker(paint, shape), name.to_owned())
    };
    let mut entries: Vec<_> = present.map(entry).collect();
    if ratios.margin > 0.0 && ratios.margin.is_finite() {
        entries.push((Swatch::Band(MARGIN), format!("within {} %", text::plain(ratios.margin * 100.0))));
    }
    if ratios.items.iter().any(|item| item.is_doubted) {
        entries.push((Swatch::Broken, "flagged".to_owned()));
    }
    entries
}
