//! Pictures as SVG: texts as text, colours by name, readable for colour-blind people and without colours.
//!
//! ```text
//! palette, look      colours; dashes and markers
//! text, axis         what stands at an axis
//! canvas, legend     what all kinds are drawn with
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
pub mod palette;
mod ratios;
mod roofline;
#[cfg(test)]
mod testing;
mod text;

use super::chart::{Body, Chart};
use canvas::{Canvas, Side, WIDTH, Writing};
use text::escaped;

/// What a legend says of hollow markers and bars.
const FLAGGED: &str = "flagged (hollow)";
/// The size of a title in a picture.
const TITLE: f64 = 13.0;

/// Where a picture is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Within a page that tells its title: transparent.
    Page,
    /// In a file of its own: on white, with its title.
    File,
}

/// A picture, as an element `svg` that is valid in a page and as a file.
pub fn svg(chart: &Chart, place: Place) -> String {
    let mut written = String::new();
    let mut canvas = Canvas::new(&mut written, place);
    let top = match place {
        Place::Page => 4.0,
        Place::File => title(&mut canvas, &chart.title),
    };
    let bottom = match &chart.body {
        Body::Curves(curves) => curves::draw(&mut canvas, curves, top),
        Body::Bars(bars) => bars::draw(&mut canvas, bars, top),
        Body::Grid(grid) => grid::draw(&mut canvas, grid, top),
        Body::Ratios(ratios) => ratios::draw(&mut canvas, ratios, top),
        Body::Roofline(roofline) => roofline::draw(&mut canvas, roofline, top),
    };
    let drawn = canvas.finish();
    match &drawn.error {
        None => whole(&chart.title, place, bottom, &(canvas::refined(&written) + &drawn.above)),
        Some(error) => whole(&chart.title, place, 40.0, &in_words(error)),
    }
}

/// Draws the title of a file, and says where it ends.
fn title(canvas: &mut Canvas<'_>, title: &str) -> f64 {
    let lines = text::lines(title, WIDTH - 20.0, TITLE * 1.05, 3);
    for (row, line) in lines.iter().enumerate() {
        let writing = Writing { is_bold: true, ..Writing::new(TITLE, Side::Start) };
        canvas.text(line, (10.0, 14.0 + row as f64 * 17.0), writing);
    }
    lines.len() as f64 * 17.0 + 12.0
}

/// The element around what is drawn.
fn whole(title: &str, place: Place, height: f64, inner: &str) -> String {
    let height = height.ceil();
    let title = escaped(title);
    let ground = match place {
        Place::Page => "",
        Place::File => "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
    };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\" \
         aria-label=\"{title}\" font-family=\"sans-serif\">\n<title>{title}</title>\n{ground}{inner}</svg>\n"
    )
}

/// What a picture says that couldn't be drawn.
fn in_words(error: &str) -> String {
    let ink = palette::hex(palette::INK);
    format!(
        "<text x=\"10\" y=\"24\" font-size=\"12\" fill=\"{ink}\">This picture could not be drawn: {}</text>\n",
        escaped(error)
    )
}
