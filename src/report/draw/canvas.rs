//! What pictures are drawn on: elements of SVG, each above those before it.

use std::fmt::{Display, Formatter, Result};

use super::Medium;
use super::axis::Axis;
use super::look::{Marker, Point, Stroke};
use super::palette::{Colour, GRID, INK, PAPER};
use super::text::{escaped, fit, one_line};

/// The size of most texts: that of a page's tables.
pub const TEXT: f64 = 13.5;
/// The size of texts in cells and legends.
pub const SMALL: f64 = 12.5;
/// The room below a plot for the numbers of its axis and what it is.
pub const BELOW: f64 = 44.0;

/// What is shown or hidden together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    Plain,
    /// What belongs to flagged data.
    Doubted,
    /// What a page shows in its stead while it hides flagged data.
    Trusted,
}

impl Layer {
    pub fn of(is_doubted: bool) -> Self {
        if is_doubted { Self::Doubted } else { Self::Plain }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    Full(Colour),
    /// So that what is below shows.
    Faint(Colour),
    /// Paper, within a line of this colour.
    Hollow(Colour),
}

impl Display for Paint {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Full(colour) => write!(f, "fill=\"{colour}\""),
            Self::Faint(colour) => write!(f, "fill=\"{colour}\" fill-opacity=\"0.2\""),
            Self::Hollow(colour) => write!(f, "fill=\"{PAPER}\" stroke=\"{colour}\" stroke-width=\"1.4\""),
        }
    }
}

/// Which side of a text its place is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Start,
    /// The text's middle is there.
    Middle,
    End,
}

/// How a text is written. Its place is at half of its height.
#[derive(Clone, Copy, Debug)]
pub struct Writing {
    pub size: f64,
    pub colour: Colour,
    pub side: Side,
    /// How far it is turned around its place, clockwise.
    pub degrees: f64,
    pub is_bold: bool,
    /// Whether paper keeps it apart from the lines below it.
    pub has_seam: bool,
}

impl Writing {
    /// Level, not bold, in ink.
    pub fn new(size: f64, side: Side) -> Self {
        Self { size, colour: INK, side, degrees: 0.0, is_bold: false, has_seam: false }
    }

    pub fn coloured(self, colour: Colour) -> Self {
        Self { colour, ..self }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

impl Frame {
    pub fn right(&self) -> f64 {
        self.left + self.width
    }

    pub fn bottom(&self) -> f64 {
        self.top + self.height
    }

    pub fn middle(&self) -> Point {
        (self.left + self.width / 2.0, self.top + self.height / 2.0)
    }
}

impl Display for Frame {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let [left, top, width, height] = [self.left, self.top, self.width, self.height].map(tenths);
        write!(f, "x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\"")
    }
}

/// Two axes and what lies between them.
pub struct Plot {
    pub frame: Frame,
    pub x: Axis,
    pub y: Axis,
}

impl Plot {
    pub fn at(&self, (x, y): (f64, f64)) -> Point {
        (self.x(x), self.y(y))
    }

    pub fn x(&self, x: f64) -> f64 {
        self.frame.left + self.x.share(x) * self.frame.width
    }

    fn y(&self, y: f64) -> f64 {
        self.frame.bottom() - self.y.share(y) * self.frame.height
    }
}

pub struct Canvas {
    elements: String,
    /// Above all: what tells its tip.
    hits: String,
    place: Medium,
    /// In pixels.
    pub width: f64,
}

impl Canvas {
    pub fn new(place: Medium, width: f64) -> Self {
        Self { elements: String::new(), hits: String::new(), place, width }
    }

    pub fn finish(self) -> String {
        // Once for all of them: a page has tens of thousands.
        format!("{}<g fill=\"transparent\">\n{}</g>\n", self.elements, self.hits)
    }

    /// The axes of a plot, with lines at their numbers, and what they are.
    pub fn plot(&mut self, frame: Frame, x: Axis, y: Axis, [across, upright]: [&str; 2]) -> Plot {
        let (left, right, bottom) = (frame.left, frame.right(), frame.bottom());
        let plot = Plot { frame, x, y };
        for (x, _) in &plot.x.ticks {
            let x = plot.x(*x);
            self.line(&[(x, frame.top), (x, bottom)], GRID, Stroke::THIN);
        }
        for (y, text) in &plot.y.ticks {
            let y = plot.y(*y);
            self.line(&[(left, y), (right, y)], GRID, Stroke::THIN);
            self.line(&[(left - 4.0, y), (left, y)], INK, Stroke::THIN);
            self.text(text, (left - 8.0, y), Writing::new(TEXT, Side::End));
        }
        self.numbers(frame, &plot.x, TEXT);
        self.line(&[(left, frame.top), (left, bottom), (right, bottom)], INK, Stroke::THIN);
        let writing = Writing::new(TEXT, Side::Middle);
        let (middle, half) = frame.middle();
        self.text(&fit(across, frame.width, TEXT), (middle, bottom + 36.0), writing);
        self.text(&fit(upright, frame.height, TEXT), (10.5, half), Writing { degrees: -90.0, ..writing });
        plot
    }

    /// The numbers of an axis below a frame.
    pub fn numbers(&mut self, frame: Frame, axis: &Axis, size: f64) {
        for (at, text) in &axis.ticks {
            let (x, y) = (frame.left + axis.share(*at) * frame.width, frame.bottom());
            self.line(&[(x, y), (x, y + 4.0)], INK, Stroke::THIN);
            self.text(text, (x, y + size + 2.5), Writing::new(size, Side::Middle));
        }
    }

    pub fn line(&mut self, path: &[Point], colour: Colour, Stroke { width, dashes }: Stroke) {
        let dashes = if dashes.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dashes}\"") };
        let stroke = format!("stroke=\"{colour}\" stroke-width=\"{width}\"{dashes}");
        self.elements += &format!("<polyline points=\"{}\" fill=\"none\" {stroke}/>\n", points(path));
    }

    pub fn polygon(&mut self, corners: &[Point], paint: Paint) {
        self.elements += &format!("<polygon points=\"{}\" {paint}/>\n", points(corners));
    }

    /// A triangle that fills the upper right corner of something.
    pub fn corner(&mut self, (x, y): Point, side: f64, colour: Colour) {
        self.polygon(&[(x - side, y), (x, y), (x, y + side)], Paint::Full(colour));
    }

    pub fn rectangle(&mut self, frame: Frame, paint: Paint) {
        self.elements += &format!("<rect {frame} {paint}/>\n");
    }

    pub fn marker(&mut self, shape: Marker, at: Point, r: f64, paint: Paint) {
        if shape == Marker::Circle {
            self.elements += &format!("<circle {} {paint}/>\n", disc(at, r));
        } else {
            self.polygon(&shape.corners(at, r), paint);
        }
    }

    /// A text in one line.
    pub fn text(&mut self, text: &str, at: Point, writing: Writing) {
        let Writing { size, colour, side, degrees, is_bold, has_seam } = writing;
        let (text, [x, y]) = (escaped(&one_line(text)), [at.0, at.1].map(tenths));
        if text.is_empty() {
            return;
        }
        let mut more = match side {
            Side::Start => String::new(),
            Side::Middle => " text-anchor=\"middle\"".to_owned(),
            Side::End => " text-anchor=\"end\"".to_owned(),
        };
        if degrees != 0.0 {
            more += &format!(" transform=\"rotate({} {x} {y})\"", tenths(degrees));
        }
        if is_bold {
            more += " font-weight=\"bold\"";
        }
        if has_seam {
            more += &format!(" stroke=\"{PAPER}\" stroke-width=\"3\" stroke-linejoin=\"round\" paint-order=\"stroke\"");
        }
        self.elements +=
            &format!("<text x=\"{x}\" y=\"{y}\" dy=\"0.5ex\" font-size=\"{size}\" fill=\"{colour}\"{more}>{text}</text>\n");
    }

    /// Draws what is shown or hidden together.
    pub fn within(&mut self, layer: Layer, draw: impl FnOnce(&mut Self)) {
        let (begin, end) = match layer {
            Layer::Plain => ("", ""),
            Layer::Doubted => ("<g class=\"doubted\">\n", "</g>\n"),
            Layer::Trusted => ("<g class=\"trusted\" display=\"none\">\n", "</g>\n"),
        };
        self.elements += begin;
        draw(self);
        self.elements += end;
    }

    /// Whether flagged data can be hidden where this is shown.
    pub fn can_hide(&self) -> bool {
        self.place == Medium::Page
    }

    /// A place that tells its tip.
    pub fn hit(&mut self, at: Point, r: f64, is_doubted: bool, tip: &str) {
        self.tell("circle", &disc(at, r), is_doubted, tip);
    }

    /// A rectangle that tells its tip.
    pub fn hit_rectangle(&mut self, frame: Frame, is_doubted: bool, tip: &str) {
        self.tell("rect", &frame.to_string(), is_doubted, tip);
    }

    fn tell(&mut self, tag: &str, place: &str, is_doubted: bool, tip: &str) {
        let (class, tip) = (if is_doubted { "hit doubted" } else { "hit" }, escaped(tip));
        self.hits += &format!("<{tag} class=\"{class}\" {place}><title>{tip}</title></{tag}>\n");
    }
}

fn disc((x, y): Point, r: f64) -> String {
    format!("cx=\"{}\" cy=\"{}\" r=\"{}\"", tenths(x), tenths(y), tenths(r))
}

fn points(path: &[Point]) -> String {
    path.iter().map(|(x, y)| format!("{},{}", tenths(*x), tenths(*y))).collect::<Vec<_>>().join(" ")
}

/// As fine as eyes are. Minus zero is zero.
fn tenths(pixels: f64) -> f64 {
    (pixels * 10.0).round() / 10.0 + 0.0
}
