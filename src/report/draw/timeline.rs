//! What ran when.

use super::super::chart::{Span, Timeline};
use super::axis::{Axis, BESIDE, Room, can_hold};
use super::canvas::{BELOW, Canvas, Frame, Layer, Paint, TEXT};
use super::names::Names;
use super::palette::SERIES;

const ROW: f64 = 21.0;
const THICK: f64 = 14.0;

/// Draws it from a height on, and says where it ends.
pub fn draw(canvas: &mut Canvas, timeline: &Timeline, top: f64) -> f64 {
    let names = Names::new(canvas, timeline.lanes.iter().map(|lane| &lane.name));
    let (left, pitch) = (names.left, names.height() + ROW);
    let width = canvas.width - left - BESIDE;
    let ends = timeline.lanes.iter().flat_map(|lane| &lane.spans).map(|span| span.end);
    let x = Axis::from_zero(&timeline.x, ends, Room::Across(width, TEXT));
    let frame = Frame { left, top: top + 4.0, width, height: pitch * timeline.lanes.len().max(1) as f64 };
    let plot = canvas.plot(frame, x, Axis::bare(), [&timeline.x.label, ""]);
    for (row, lane) in timeline.lanes.iter().enumerate() {
        let upper = frame.top + row as f64 * pitch + names.height() + (ROW - THICK) / 2.0;
        names.draw(canvas, &lane.name, upper, THICK);
        for span in lane.spans.iter().filter(|span| is_drawn(span)) {
            let (from, to) = (plot.x(span.start), plot.x(span.end));
            // The shortest is seen as well.
            let own = Frame { left: from, top: upper, width: (to - from).max(1.0), height: THICK };
            let colour = SERIES[row % SERIES.len()];
            let paint = if span.is_doubted { Paint::Faint(colour) } else { Paint::Full(colour) };
            canvas.within(Layer::of(span.is_doubted), |canvas| canvas.rectangle(own, paint));
            canvas.hit_rectangle(Frame { width: own.width.max(3.0), ..own }, span.is_doubted, &span.tip);
        }
    }
    plot.frame.bottom() + BELOW
}

/// Whether a span has a place.
pub fn is_drawn(span: &Span) -> bool {
    can_hold(span.start, false) && can_hold(span.end, false)
}
