//! What names the series of a picture, below it, so that it hides no data.

use super::bars::fill;
use super::canvas::{Canvas, Frame, Layer, Paint, SMALL, Side, Writing};
use super::look::{Marker, Stroke};
use super::palette::{Colour, PAPER, SAME, heat};
use super::text;

/// What stands before a name.
#[derive(Clone, Copy, Debug)]
pub enum Swatch {
    /// A line with its marker.
    Line(Colour, Stroke, Option<Marker>),
    /// A bar of a series.
    Bar(usize),
    Marker(Paint, Marker),
    Band(Colour),
    /// What is flagged, and can be hidden: hollow.
    Flagged,
    /// What is flagged in a grid: with a corner.
    Corner,
    /// What is flagged beside what is hollow by itself: with a broken line.
    Broken,
}

/// The height of a line of it.
const LINE: f64 = 20.0;
/// The room of what stands before a name.
const SWATCH: f64 = 30.0;

/// The entries of named series, and of what is flagged among them.
pub fn entries<'n>(
    names: impl Iterator<Item = &'n String>,
    swatch: impl Fn(usize) -> Swatch,
    is_flagged: bool,
) -> Vec<(Swatch, String)> {
    let named = names.enumerate().filter(|(_, name)| !name.is_empty());
    let flagged = is_flagged.then(|| (Swatch::Flagged, "flagged (hollow)".to_owned()));
    named.map(|(index, name)| (swatch(index), name.clone())).chain(flagged).collect()
}

/// Draws it from a height on, and says where it ends.
pub fn draw(canvas: &mut Canvas, entries: &[(Swatch, String)], left: f64, top: f64) -> f64 {
    if entries.is_empty() {
        return top;
    }
    let (mut x, mut y) = (left, top + LINE / 2.0);
    for (swatch, name) in entries {
        let name = text::fit(name, canvas.width - left - SWATCH - 4.0, SMALL);
        let room = SWATCH + text::width(&name, SMALL) + 14.0;
        if x > left && x + room > canvas.width {
            (x, y) = (left, y + LINE);
        }
        entry(canvas, *swatch, &name, x, y);
        x += room;
    }
    y + LINE / 2.0 + 4.0
}

fn entry(canvas: &mut Canvas, swatch: Swatch, name: &str, x: f64, y: f64) {
    let middle = (x + 12.0, y);
    let frame = |width: f64| Frame { left: x + 14.0 - width / 2.0, top: y - 5.0, width, height: 10.0 };
    let is_doubted = matches!(swatch, Swatch::Flagged | Swatch::Corner | Swatch::Broken);
    canvas.within(Layer::of(is_doubted), |canvas| {
        match swatch {
            Swatch::Line(colour, stroke, shape) => {
                canvas.line(&[(x, y), (x + 24.0, y)], colour, stroke);
                if let Some(shape) = shape {
                    canvas.marker(shape, middle, 3.5, Paint::Full(colour));
                }
            }
            Swatch::Bar(series) => fill(canvas, frame(20.0), series),
            Swatch::Marker(paint, shape) => canvas.marker(shape, middle, 4.0, paint),
            Swatch::Band(colour) => canvas.rectangle(frame(20.0), Paint::Full(colour)),
            Swatch::Corner => {
                canvas.rectangle(frame(12.0), Paint::Full(heat(0.3)));
                canvas.corner((frame(12.0).right(), y - 5.0), 5.0, PAPER);
            }
            Swatch::Flagged => canvas.marker(Marker::Circle, middle, 4.0, Paint::Hollow(SAME)),
            Swatch::Broken => {
                canvas.line(&[(x + 1.0, y), (x + 23.0, y)], SAME, Stroke::BROKEN);
                canvas.marker(Marker::Circle, middle, 4.0, Paint::Hollow(SAME));
            }
        }
        canvas.text(name, (x + SWATCH, y), Writing::new(SMALL, Side::Start));
    });
}
