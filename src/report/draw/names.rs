//! The names of what stands one below the other: bars, ratios, lanes.

use super::axis::BESIDE;
use super::canvas::{Canvas, Side, TEXT, Writing};
use super::text;

/// The height of a line of a name that stands above what it names, and how many it may have.
const LINE: f64 = TEXT + 3.0;
const LINES: usize = 2;
/// The most of a picture's width that names beside it take, where the picture is small and where it is large.
const MOST: [f64; 2] = [0.45, 0.62];
const LARGE: f64 = 800.0;

/// Where the names of a picture stand: at the left, or where one is too long for that, each above what it names.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    /// Where names end, and what they name begins.
    pub left: f64,
    /// The lines of a name above what it names; none where names are at the left.
    lines: usize,
}

impl Names {
    pub fn new<'n>(canvas: &Canvas, names: impl Iterator<Item = &'n String> + Clone) -> Self {
        let left = text::widest(names.clone(), TEXT) + 12.0;
        if left <= canvas.width * MOST[usize::from(canvas.width > LARGE)] {
            return Self { left: left.max(24.0), lines: 0 };
        }
        let above = Self { left: BESIDE, lines: LINES };
        let lines = names.map(|name| above.above(canvas, name).len()).max().unwrap_or(1);
        Self { lines, ..above }
    }

    fn above(&self, canvas: &Canvas, name: &str) -> Vec<String> {
        text::lines(name, canvas.width - self.left - 10.0, TEXT, LINES)
    }

    /// The height of a name above what it names.
    pub fn height(&self) -> f64 {
        if self.lines > 0 { self.lines as f64 * LINE + 3.0 } else { 0.0 }
    }

    /// Draws a name; what it names is from a height on so high.
    pub fn draw(&self, canvas: &mut Canvas, name: &str, top: f64, height: f64) {
        if self.lines > 0 {
            let writing = Writing { has_seam: true, ..Writing::new(TEXT, Side::Start) };
            for (line, text) in self.above(canvas, name).iter().rev().enumerate() {
                canvas.text(text, (self.left + 5.0, top - (line as f64 + 0.5) * LINE - 1.0), writing);
            }
        } else {
            let name = text::fit(name, self.left - 8.0, TEXT);
            canvas.text(&name, (self.left - 8.0, top + height / 2.0), Writing::new(TEXT, Side::End));
        }
    }
}
