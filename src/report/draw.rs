//! Pictures as SVG: texts as text, colours by name, readable for colour-blind people and without colours.
//!
//! ```text
//! palette, look      colours; dashes and markers
//! text, axis         what stands at an axis
//! canvas, names, legend  what all kinds are drawn with
//! curves, bars, ...  a kind of picture each
//! ```
//!
//! Each datum has an element of class `hit` that tells its tip. What is flagged is drawn hollow within elements of class `doubted`, so
//! that a page can hide it, and what a curve is without it within elements of class `trusted`:
//! `.hide-doubted .doubted { display: none }`, `.hide-doubted .trusted { display: inline }`.

mod axis;
mod bars;
mod canvas;
mod curves;
mod grid;
mod legend;
mod look;
mod names;
pub mod palette;
mod ratios;
mod roofline;
#[cfg(test)]
mod testing;
mod text;
mod timeline;

use super::chart::{Body, Chart};
use canvas::{Canvas, Side, Writing};
use text::escaped;

const TITLE: f64 = 15.0;

/// The width of most pictures, in pixels: two of them stand side by side on a page.
const WIDTH: f64 = 540.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// Within a page that tells its title: transparent.
    Page,
    /// In a file of its own: on white, with its title.
    File,
}

/// A picture, as an element `svg` that is valid in a page and as a file.
pub fn svg(chart: &Chart, place: Medium) -> String {
    svg_of_width(chart, place, WIDTH)
}

/// The same, so many pixels wide.
pub fn svg_of_width(chart: &Chart, place: Medium, width: f64) -> String {
    let mut canvas = Canvas::new(place, width);
    let (top, ground) = match place {
        Medium::Page => (4.0, ""),
        Medium::File => (title(&mut canvas, &chart.title), "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"),
    };
    let bottom = match &chart.body {
        Body::Curves(curves) => curves::draw(&mut canvas, curves, top),
        Body::Bars(bars) => bars::draw(&mut canvas, bars, top),
        Body::Grid(grid) => grid::draw(&mut canvas, grid, top),
        Body::Ratios(ratios) => ratios::draw(&mut canvas, ratios, top),
        Body::Roofline(roofline) => roofline::draw(&mut canvas, roofline, top),
        Body::Timeline(timeline) => timeline::draw(&mut canvas, timeline, top),
    };
    let (title, height, drawn) = (escaped(&chart.title), bottom.ceil(), canvas.finish());
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
         aria-label=\"{title}\" font-family=\"sans-serif\">\n<title>{title}</title>\n{ground}{drawn}</svg>\n"
    )
}

/// Draws the title of a file, and says where it ends.
fn title(canvas: &mut Canvas, title: &str) -> f64 {
    let lines = text::lines(title, canvas.width - 20.0, TITLE * 1.05, 3);
    for (row, line) in lines.iter().enumerate() {
        let writing = Writing { is_bold: true, ..Writing::new(TITLE, Side::Start) };
        canvas.text(line, (10.0, 14.0 + row as f64 * 19.0), writing);
    }
    lines.len() as f64 * 19.0 + 12.0
}
