//! What names the series of a picture, below it, so that it hides no data.

use plotters::style::RGBColor;

use super::bars::fill;
use super::canvas::{Canvas, Frame, Layer, SMALL, Side, WIDTH, Writing};
use super::look::{Dash, Point, Shape};
use super::palette::{INK, PAPER, SAME, heat};
use super::text;

/// What stands before a name.
#[derive(Clone, Copy, Debug)]
pub enum Swatch {
    /// A line with its marker.
    Line(RGBColor, Dash, Option<Shape>),
    /// A bar of a series.
    Bar(usize),
    Marker(RGBColor, Shape),
    Hollow(RGBColor, Shape),
    Band(RGBColor),
    /// What is flagged, and can be hidden: hollow.
    Flagged,
    /// What is flagged in a grid: with a corner.
    Corner,
    /// What is flagged beside what is hollow by itself: with a broken line.
    Broken,
}

/// The height of a line of it.
const LINE: f64 = 17.0;
/// The room of what stands before a name.
const SWATCH: f64 = 30.0;

/// Draws it from a height on, and says where it ends.
pub fn draw(canvas: &mut Canvas<'_>, entries: &[(Swatch, String)], left: f64, top: f64) -> f64 {
    if entries.is_empty() {
        return top;
    }
    let names: Vec<String> = entries.iter().map(|(_, name)| text::fit(name, 250.0, SMALL)).collect();
    let (mut x, mut y) = (left, top + LINE / 2.0);
    for ((swatch, _), name) in entries.iter().zip(&names) {
        let room = SWATCH + text::width(name, SMALL) + 14.0;
        if x > left && x + room > WIDTH {
            (x, y) = (left, y + LINE);
        }
        entry(canvas, *swatch, name, x, y);
        x += room;
    }
    y + LINE / 2.0 + 4.0
}

fn entry(canvas: &mut Canvas<'_>, swatch: Swatch, name: &str, x: f64, y: f64) {
    let (from, to, middle) = ((x, y), (x + 24.0, y), (x + 12.0, y));
    match swatch {
        Swatch::Line(colour, dash, shape) => {
            canvas.dashed(&[from, to], colour, dash);
            if let Some(shape) = shape {
                canvas.marker(shape, middle, 3.5, colour);
            }
        }
        Swatch::Bar(series) => fill(canvas, Frame { left: x + 4.0, top: y - 5.0, width: 20.0, height: 10.0 }, series),
        Swatch::Marker(colour, shape) => canvas.marker(shape, middle, 4.0, colour),
        Swatch::Hollow(colour, shape) => canvas.hollow(shape, middle, 4.0, colour),
        Swatch::Band(colour) => canvas.rectangle(Frame { left: x + 4.0, top: y - 5.0, width: 20.0, height: 10.0 }, colour),
        Swatch::Flagged | Swatch::Corner | Swatch::Broken => {
            canvas.begin(Layer::Doubted);
            flagged(canvas, swatch, middle);
            canvas.own_text(name, (x + SWATCH, y), Writing::new(SMALL, Side::Start));
            canvas.end();
            return;
        }
    }
    canvas.text(name, (x + SWATCH, y), Writing::new(SMALL, Side::Start).coloured(INK));
}

/// The sample of what is flagged.
fn flagged(canvas: &mut Canvas<'_>, swatch: Swatch, (x, y): Point) {
    match swatch {
        Swatch::Corner => {
            canvas.own_rectangle(Frame { left: x - 6.0, top: y - 6.0, width: 12.0, height: 12.0 }, heat(0.3), None);
            canvas.own_triangle((x + 6.0, y - 6.0), 5.0, PAPER);
        }
        Swatch::Broken => {
            canvas.own_line(&[(x - 11.0, y), (x + 11.0, y)], SAME, 1.3, Some("3 2"));
            canvas.hollow(Shape::Circle, (x, y), 4.0, SAME);
        }
        _ => canvas.hollow(Shape::Circle, (x, y), 4.0, SAME),
    }
}
