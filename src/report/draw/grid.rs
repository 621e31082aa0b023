//! A figure over two axes.

use super::super::chart::{Better, Grid, GridCell};
use super::axis::{Axis, Room, can_hold, ends};
use super::canvas::{Canvas, Frame, Layer, Paint, SMALL, Side, TEXT, WIDTH, Writing};
use super::legend::{self, Swatch};
use super::look::Stroke;
use super::palette::{Colour, FAINT, PAPER, VOID, heat, on};
use super::text;

/// The most room for column names that run upwards.
const TURNED: f64 = 120.0;

/// Where cells are, and how large.
struct Cells {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

impl Cells {
    fn frame(&self, row: usize, column: usize) -> Frame {
        let (width, height) = (self.width, self.height);
        Frame { left: self.left + column as f64 * width, top: self.top + row as f64 * height, width, height }
    }
}

/// Draws it from a height on, and says where it ends.
pub fn draw(canvas: &mut Canvas, grid: &Grid, top: f64) -> f64 {
    let cells = layout(canvas, grid, top);
    let colours = Colours::of(grid);
    let size = cell_text(grid, &cells);
    for (row, values) in grid.cells.iter().enumerate() {
        for (column, cell) in values.iter().enumerate() {
            draw_cell(canvas, cell, cells.frame(row, column), &colours, size);
        }
    }
    let bottom = cells.top + cells.height * row_count(grid) as f64 + 10.0;
    let bottom = colours.bar(canvas, grid, cells.left.min(WIDTH - 330.0), bottom);
    legend::draw(canvas, &entries(grid), cells.left.min(WIDTH - 330.0), bottom)
}

fn column_count(grid: &Grid) -> usize {
    grid.cells.iter().map(Vec::len).max().unwrap_or(0).max(grid.columns.len())
}

fn row_count(grid: &Grid) -> usize {
    grid.cells.len().max(grid.rows.len())
}

/// Draws the names, and says where the cells are.
fn layout(canvas: &mut Canvas, grid: &Grid, top: f64) -> Cells {
    let names = grid.rows.iter().map(|name| text::width(&text::one_line(name), TEXT)).fold(0.0, f64::max);
    let left = (names.max(text::width(&text::one_line(&grid.row_label), TEXT)) + 12.0).clamp(24.0, WIDTH * 0.4).ceil();
    let width = ((WIDTH - left - 10.0) / column_count(grid).max(1) as f64).min(110.0);
    // Between cells at parts of a pixel the ground shines through.
    let width = if width >= 4.0 { width.floor() } else { width };
    let height = match row_count(grid) {
        0..=16 => 24.0,
        17..=32 => 16.0,
        33..=60 => 12.0,
        _ => 10.0,
    };
    let label = text::fit(&grid.column_label, WIDTH - left - 10.0, TEXT);
    canvas.text(&label, (left, top + 8.0), Writing::new(TEXT, Side::Start).coloured(FAINT));
    let top = if label.is_empty() { top } else { top + 18.0 };
    let head = columns(canvas, grid, left, width, top);
    let row_label = text::fit(&grid.row_label, left - 8.0, TEXT);
    canvas.text(&row_label, (left - 6.0, top + head - 8.0), Writing::new(TEXT, Side::End).coloured(FAINT));
    let cells = Cells { left, top: top + head, width, height };
    let every = (1..).find(|every| *every as f64 * height >= TEXT).unwrap_or(1);
    for (row, name) in grid.rows.iter().enumerate().step_by(every) {
        let name = text::fit(name, left - 8.0, TEXT);
        canvas.text(&name, (left - 6.0, cells.frame(row, 0).middle().1), Writing::new(TEXT, Side::End));
    }
    cells
}

/// Draws the columns' names above a height that it tells: side by side, or those of numbers thinned, or turned.
fn columns(canvas: &mut Canvas, grid: &Grid, left: f64, width: f64, top: f64) -> f64 {
    let widest = grid.columns.iter().map(|name| text::width(&text::one_line(name), SMALL)).fold(0.0, f64::max);
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
fn cell_text(grid: &Grid, cells: &Cells) -> Option<f64> {
    let texts: Vec<&str> = grid
        .cells
        .iter()
        .flatten()
        .filter_map(|cell| match cell {
            GridCell::Value { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    [SMALL, 9.0, 8.0].into_iter().find(|size| {
        let fitting = texts.iter().filter(|text| has_room(text, *size, cells.width, cells.height)).count();
        fitting * 10 >= texts.len() * 9
    })
}

fn has_room(text: &str, size: f64, width: f64, height: f64) -> bool {
    text::width(text, size) + 4.0 <= width && size + 2.0 <= height
}

fn draw_cell(canvas: &mut Canvas, cell: &GridCell, frame: Frame, colours: &Colours, size: Option<f64>) {
    match cell {
        GridCell::Empty => {}
        GridCell::Without { text, tip } => without(canvas, text, frame, false, tip),
        GridCell::Value { value, text, is_doubted, tip } => {
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
    if !word.is_empty() && has_room(word, 9.0, frame.width, frame.height) {
        canvas.text(word, frame.middle(), Writing::new(9.0, Side::Middle).coloured(FAINT));
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
        let values = grid.cells.iter().flatten().filter_map(|cell| match cell {
            GridCell::Value { value, .. } => Some(*value),
            _ => None,
        });
        let is_log = grid.scale.is_log;
        Self { ends: ends(values, is_log), is_log, is_reversed: grid.better == Better::Lower }
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
        let label = format!("{}{better}", text::fit(&grid.scale.label, WIDTH - left - 130.0, TEXT));
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

fn entries(grid: &Grid) -> Vec<(Swatch, String)> {
    let is_flagged = grid.cells.iter().flatten().any(|cell| matches!(cell, GridCell::Value { is_doubted: true, .. }));
    if is_flagged { vec![(Swatch::Corner, "flagged".to_owned())] } else { Vec::new() }
}
