//! A figure over two axes.

use super::super::chart::{Better, Grid, GridCell};
use super::axis::{Axis, Room, can_hold, ends};
use super::canvas::{Canvas, Frame, Layer, Paint, SMALL, Side, TEXT, Writing};
use super::legend::{self, Swatch};
use super::look::Stroke;
use super::palette::{Colour, FAINT, PAPER, VOID, heat, on};
use super::text;

/// The most room for column names that run upwards.
const TURNED: f64 = 120.0;

/// Draws it from a height on, and says where it ends.
pub fn draw(canvas: &mut Canvas, grid: &Grid, top: f64) -> f64 {
    let first = layout(canvas, grid, top);
    let colours = Colours::of(grid);
    let size = cell_text(grid, first);
    for (row, values) in grid.cells.iter().enumerate() {
        for (column, cell) in values.iter().enumerate() {
            let (left, top) = (first.left + column as f64 * first.width, first.top + row as f64 * first.height);
            draw_cell(canvas, cell, Frame { left, top, ..first }, &colours, size);
        }
    }
    let left = first.left.min(canvas.width - 330.0);
    let bottom = colours.bar(canvas, grid, left, first.top + first.height * row_count(grid) as f64 + 10.0);
    let flagged = values(grid).any(|(_, _, is_doubted)| is_doubted).then(|| (Swatch::Corner, "flagged".to_owned()));
    legend::draw(canvas, flagged.as_slice(), left, bottom)
}

/// The values of cells, in numbers and words, and whether they are flagged.
fn values(grid: &Grid) -> impl Iterator<Item = (f64, &str, bool)> {
    grid.cells.iter().flatten().filter_map(|cell| match cell {
        GridCell::Value { value, text, is_doubted, .. } => Some((*value, text.as_str(), *is_doubted)),
        _ => None,
    })
}

fn row_count(grid: &Grid) -> usize {
    grid.cells.len().max(grid.rows.len())
}

/// Draws the names, and says where the first cell is.
fn layout(canvas: &mut Canvas, grid: &Grid, top: f64) -> Frame {
    let names = text::widest(grid.rows.iter().chain([&grid.row_label]), TEXT);
    let left = (names + 12.0).clamp(24.0, canvas.width * 0.4).ceil();
    let columns_shown = grid.cells.iter().map(Vec::len).max().unwrap_or(0).max(grid.columns.len());
    let width = ((canvas.width - left - 10.0) / columns_shown.max(1) as f64).min(110.0);
    // Between cells at parts of a pixel the ground shines through.
    let width = if width >= 4.0 { width.floor() } else { width };
    let height = match row_count(grid) {
        0..=16 => 26.0,
        17..=32 => 18.0,
        33..=60 => 14.0,
        _ => 12.0,
    };
    let label = text::fit(&grid.column_label, canvas.width - left - 10.0, TEXT);
    canvas.text(&label, (left, top + 8.0), Writing::new(TEXT, Side::Start).coloured(FAINT));
    let top = if label.is_empty() { top } else { top + 18.0 };
    let head = columns(canvas, grid, left, width, top);
    let row_label = text::fit(&grid.row_label, left - 8.0, TEXT);
    canvas.text(&row_label, (left - 6.0, top + head - 8.0), Writing::new(TEXT, Side::End).coloured(FAINT));
    let first = Frame { left, top: top + head, width, height };
    let every = (1..).find(|every| *every as f64 * height >= TEXT).unwrap_or(1);
    for (row, name) in grid.rows.iter().enumerate().step_by(every) {
        let name = text::fit(name, left - 8.0, TEXT);
        canvas.text(&name, (left - 6.0, first.top + (row as f64 + 0.5) * height), Writing::new(TEXT, Side::End));
    }
    first
}

/// Draws the columns' names above a height that it tells: side by side, or those of numbers thinned, or turned.
fn columns(canvas: &mut Canvas, grid: &Grid, left: f64, width: f64, top: f64) -> f64 {
    let widest = text::widest(&grid.columns, SMALL);
    let are_numbers = grid.columns.iter().all(|name| name.starts_with(|c: char| c.is_ascii_digit()) && name.len() < 10);
    let middle = |column: usize| left + (column as f64 + 0.5) * width;
    let is_level = widest + 6.0 <= width || are_numbers;
    let needed = if is_level { widest + 6.0 } else { SMALL + 2.0 };
    let every = (1..1000).find(|every| f64::from(*every) * width >= needed).unwrap_or(1000);
    let height = if is_level { 16.0 } else { widest.min(TURNED) + 10.0 };
    let (side, degrees) = if is_level { (Side::Middle, 0.0) } else { (Side::Start, -90.0) };
    let writing = Writing { degrees, ..Writing::new(SMALL, side) };
    for (column, name) in grid.columns.iter().enumerate().step_by(usize::try_from(every).unwrap_or(1)) {
        let y = if is_level { top + 8.0 } else { top + height - 6.0 };
        canvas.text(&text::fit(name, TURNED, SMALL), (middle(column), y), writing);
    }
    height
}

/// The size of the texts in cells, if most of them have room.
fn cell_text(grid: &Grid, cell: Frame) -> Option<f64> {
    [SMALL, 11.0, 10.0].into_iter().find(|size| {
        let fitting = values(grid).filter(|(_, text, _)| has_room(text, *size, cell.width, cell.height)).count();
        fitting * 10 >= values(grid).count() * 9
    })
}

fn has_room(text: &str, size: f64, width: f64, height: f64) -> bool {
    text::width(text, size) + 4.0 <= width && size + 2.0 <= height
}

fn draw_cell(canvas: &mut Canvas, cell: &GridCell, frame: Frame, colours: &Colours, size: Option<f64>) {
    match cell {
        GridCell::Empty => {}
        GridCell::Without { text, tip } => without(canvas, text, frame, false, tip),
        GridCell::Value { value, text, is_doubted, tip, .. } => {
            let Some(colour) = colours.of_value(*value) else { return without(canvas, text, frame, *is_doubted, tip) };
            let size = size.filter(|size| has_room(text, *size, frame.width, frame.height));
            let writing = size.map(|size| Writing::new(size, Side::Middle).coloured(on(colour)));
            canvas.within(Layer::of(*is_doubted), |canvas| {
                canvas.rectangle(frame, Paint::Full(colour));
                if *is_doubted {
                    canvas.corner((frame.right(), frame.top), frame.width.min(frame.height) * 0.4, PAPER);
                }
                if let Some(writing) = writing {
                    canvas.text(text, frame.middle(), writing);
                }
            });
            canvas.hit_rectangle(frame, *is_doubted, tip);
        }
    }
}

/// A cell without a figure: the word where it fits, else a diagonal.
fn without(canvas: &mut Canvas, word: &str, frame: Frame, is_doubted: bool, tip: &str) {
    canvas.rectangle(frame, Paint::Full(VOID));
    if !word.is_empty() && has_room(word, 10.5, frame.width, frame.height) {
        canvas.text(word, frame.middle(), Writing::new(10.5, Side::Middle).coloured(FAINT));
    } else {
        canvas.line(&[(frame.left, frame.bottom()), (frame.right(), frame.top)], FAINT, Stroke::whole(0.6));
    }
    canvas.hit_rectangle(frame, is_doubted, tip);
}

/// What colour a value has: light is better, or higher where neither is.
struct Colours {
    ends: Option<(f64, f64)>,
    is_log: bool,
    is_reversed: bool,
}

impl Colours {
    fn of(grid: &Grid) -> Self {
        let is_log = grid.scale.is_log;
        Self { ends: ends(values(grid).map(|(value, ..)| value), is_log), is_log, is_reversed: grid.better == Better::Lower }
    }

    fn of_value(&self, value: f64) -> Option<Colour> {
        let (low, high) = self.ends.filter(|_| can_hold(value, self.is_log))?;
        let share = if self.is_log { (value.ln() - low.ln()) / (high.ln() - low.ln()) } else { (value - low) / (high - low) };
        // Where all are the same, all are as good as the best one.
        Some(if low == high { heat(1.0) } else { heat(if self.is_reversed { 1.0 - share } else { share }) })
    }

    /// Draws what the colours mean, and says where it ends.
    fn bar(&self, canvas: &mut Canvas, grid: &Grid, left: f64, top: f64) -> f64 {
        let Some((low, high)) = self.ends else { return top };
        let better = match grid.better {
            Better::Higher => " (higher is better)",
            Better::Lower => " (lower is better)",
            Better::Neither => "",
        };
        let label = format!("{}{better}", text::fit(&grid.scale.label, canvas.width - left - 150.0, TEXT));
        canvas.text(&label, (left, top + 8.0), Writing::new(TEXT, Side::Start));
        let (width, height, y) = (300.0, 10.0, top + 18.0);
        if low == high {
            return y;
        }
        let axis = Axis::new(&grid.scale, low, high, Room::Across(width, SMALL));
        let (strips, whole) = (50, Frame { left, top: y, width, height });
        for strip in 0..strips {
            let share = f64::from(strip) / f64::from(strips - 1);
            let colour = heat(if self.is_reversed { 1.0 - share } else { share });
            let width = width / f64::from(strips);
            canvas.rectangle(Frame { left: left + width * f64::from(strip), width, ..whole }, Paint::Full(colour));
        }
        canvas.numbers(whole, &axis, SMALL);
        y + height + 20.0
    }
}
