//! What pictures are drawn on: plotters, and a layer of elements of our own above it for what plotters has no word for, which are tips, classes
//! and texts along a slope.

use std::fmt::{Display, Write as _};

use plotters::chart::ChartBuilder;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{Circle, EmptyElement, PathElement, Polygon, Rectangle, Text};
use plotters::prelude::SVGBackend;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color as _, FontTransform, IntoFont as _, IntoTextStyle as _, RGBColor, ShapeStyle, TextStyle};

use super::Place;
use super::axis::Axis;
use super::look::{DASHES, Dash, Point, Shape};
use super::palette::{GRID, INK, PAPER};
use super::text::{escaped, fit, one_line};

/// The width of every picture, in pixels.
pub const WIDTH: f64 = 640.0;
/// The size of most texts.
pub const TEXT: f64 = 11.0;
/// The size of texts in cells and legends.
pub const SMALL: f64 = 10.0;

/// plotters draws at whole numbers: tenths of a pixel, so that curves are smooth.
const FINE: f64 = 10.0;
/// Higher than any picture: the height is known once all is drawn.
const TALLEST: u32 = 1_000_000_000;

/// What is shown or hidden together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// What belongs to flagged data.
    Doubted,
    /// What a page shows in its stead while it hides flagged data.
    Trusted,
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
    pub colour: RGBColor,
    pub side: Side,
    /// Whether it runs upwards.
    pub is_turned: bool,
    pub is_bold: bool,
}

impl Writing {
    /// Upright, not bold, in ink.
    pub fn new(size: f64, side: Side) -> Self {
        Self { size, colour: INK, side, is_turned: false, is_bold: false }
    }

    pub fn coloured(self, colour: RGBColor) -> Self {
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

/// Two axes and what lies between them.
pub struct Plot {
    pub frame: Frame,
    pub x: Axis,
    pub y: Axis,
}

impl Plot {
    /// The place of a pair of values.
    pub fn at(&self, x: f64, y: f64) -> Point {
        (self.x(x), self.frame.bottom() - self.y.share(y) * self.frame.height)
    }

    /// The place of a value on x.
    pub fn x(&self, x: f64) -> f64 {
        self.frame.left + self.x.share(x) * self.frame.width
    }
}

/// What stands around a plot.
pub struct Around<'a> {
    /// What the axis across is.
    pub x: &'a str,
    /// What the axis upright is, turned, on the left of its numbers.
    pub y: &'a str,
    /// The room on the left for names and numbers.
    pub left: f64,
}

/// The room below a plot for the numbers of its axis and what it is.
pub const BELOW: f64 = 36.0;

/// A picture that is being drawn. plotters' errors are kept until it is finished.
pub struct Canvas<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
    above: String,
    /// Above all: what tells its tip.
    hits: String,
    place: Place,
    error: Option<String>,
}

/// A drawn picture: what plotters wrote, and what lies above it.
pub struct Drawn {
    /// Our elements.
    pub above: String,
    pub error: Option<String>,
}

impl<'a> Canvas<'a> {
    /// An empty one that writes to a text.
    pub fn new(text: &'a mut String, place: Place) -> Self {
        let size = (u32::try_from(fine(WIDTH)).unwrap_or_default(), TALLEST);
        let area = SVGBackend::with_string(text, size).into_drawing_area();
        Self { area, above: String::new(), hits: String::new(), place, error: None }
    }

    pub fn finish(mut self) -> Drawn {
        let result = self.area.present();
        self.keep(result);
        // Once for all of them: a page has tens of thousands.
        let hits = format!("<g fill=\"transparent\">\n{}</g>\n", self.hits);
        Drawn { above: self.above + &hits, error: self.error }
    }

    fn keep<T, E: Display>(&mut self, result: Result<T, E>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.error.get_or_insert_with(|| error.to_string());
                None
            }
        }
    }

    // ---- by plotters ------------------------------------------------------------------------------------------------------

    /// The axes of a plot, with lines at their numbers.
    pub fn plot(&mut self, frame: Frame, x: Axis, y: Axis, around: &Around<'_>) -> Plot {
        let result = self.axes(frame, &x, &y, around);
        self.keep(result);
        Plot { frame, x, y }
    }

    fn axes(&self, frame: Frame, x: &Axis, y: &Axis, around: &Around<'_>) -> Result<(), impl Display + use<>> {
        let corner = (fine(frame.left - around.left), fine(frame.top));
        let area = self.area.clone().shrink(corner, (fine(frame.width + around.left), fine(frame.height + BELOW)));
        let mut chart = ChartBuilder::on(&area)
            .x_label_area_size(fine(BELOW))
            .y_label_area_size(fine(around.left))
            .build_cartesian_2d(x.clone(), y.clone())?;
        let style = TextStyle::from(("sans-serif", font(TEXT)).into_font()).color(&INK);
        chart
            .configure_mesh()
            .x_label_formatter(&|value| x.label(*value))
            .y_label_formatter(&|value| y.label(*value))
            .x_desc(fit(around.x, frame.width, TEXT))
            .y_desc(fit(around.y, frame.height, TEXT))
            .label_style(style.clone())
            .axis_desc_style(style)
            .axis_style(line_style(INK, 1.0, 1.0))
            .bold_line_style(line_style(GRID, 1.0, 1.0))
            .light_line_style(GRID.mix(0.0))
            .set_all_tick_mark_size(fine(4.0))
            .draw()
    }

    pub fn line(&mut self, points: &[Point], colour: RGBColor, width: f64) {
        self.path(points, line_style(colour, width, 1.0));
    }

    /// A line through places with a pattern.
    pub fn dashed(&mut self, points: &[Point], colour: RGBColor, dash: Dash) {
        self.path(points, ShapeStyle { color: colour.mix(1.0), filled: false, stroke_width: dash.key() });
    }

    fn path(&mut self, points: &[Point], style: ShapeStyle) {
        let path = PathElement::new(points.iter().copied().map(pixel).collect::<Vec<_>>(), style);
        let result = self.area.draw(&path);
        self.keep(result);
    }

    pub fn polygon(&mut self, points: &[Point], colour: RGBColor, opacity: f64) {
        let polygon = Polygon::new(points.iter().copied().map(pixel).collect::<Vec<_>>(), colour.mix(opacity));
        let result = self.area.draw(&polygon);
        self.keep(result);
    }

    pub fn rectangle(&mut self, frame: Frame, colour: RGBColor) {
        let corners = [pixel((frame.left, frame.top)), pixel((frame.right(), frame.bottom()))];
        let result = self.area.draw(&Rectangle::new(corners, colour.filled()));
        self.keep(result);
    }

    pub fn marker(&mut self, shape: Shape, at: Point, r: f64, colour: RGBColor) {
        if shape == Shape::Circle {
            let circle = EmptyElement::at(pixel(at)) + Circle::new((0, 0), fine(r), colour.filled());
            let result = self.area.draw(&circle);
            self.keep(result);
        } else {
            self.polygon(&shape.corners(at, r), colour, 1.0);
        }
    }

    /// A text in one line.
    pub fn text(&mut self, text: &str, at: Point, writing: Writing) {
        let horizontal = match writing.side {
            Side::Start => HPos::Left,
            Side::Middle => HPos::Center,
            Side::End => HPos::Right,
        };
        let font = ("sans-serif", font(writing.size)).into_font();
        let font = if writing.is_bold { font.style(plotters::style::FontStyle::Bold) } else { font };
        let font = if writing.is_turned { font.transform(FontTransform::Rotate270) } else { font };
        let style = font.into_text_style(&self.area).color(&writing.colour).pos(Pos::new(horizontal, VPos::Center));
        let result = self.area.draw(&Text::new(one_line(text), pixel(at), style));
        self.keep(result);
    }

    // ---- our own layer ----------------------------------------------------------------------------------------------------

    /// Begins what is shown or hidden together, until [`Self::end`].
    pub fn begin(&mut self, layer: Layer) {
        self.above.push_str(match layer {
            Layer::Doubted => "<g class=\"doubted\">\n",
            Layer::Trusted => "<g class=\"trusted\" display=\"none\">\n",
        });
    }

    /// Ends what [`Self::begin`] began.
    pub fn end(&mut self) {
        self.above.push_str("</g>\n");
    }

    /// Whether flagged data can be hidden where this is shown.
    pub fn can_hide(&self) -> bool {
        self.place == Place::Page
    }

    /// A marker that is hollow.
    pub fn hollow(&mut self, shape: Shape, at: Point, r: f64, colour: RGBColor) {
        self.own_marker(shape, at, r, &format!("fill=\"{}\" stroke=\"{}\" stroke-width=\"1.4\"", hex(PAPER), hex(colour)));
    }

    /// A filled marker of our own.
    pub fn own_filled(&mut self, shape: Shape, at: Point, r: f64, colour: RGBColor) {
        self.own_marker(shape, at, r, &format!("fill=\"{}\"", hex(colour)));
    }

    fn own_marker(&mut self, shape: Shape, at: Point, r: f64, paint: &str) {
        if shape == Shape::Circle {
            add(&mut self.above, format_args!("<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"{r:.1}\" {paint}/>", at.0, at.1));
        } else {
            let points = points(&shape.corners(at, r));
            add(&mut self.above, format_args!("<polygon points=\"{points}\" {paint}/>"));
        }
    }

    /// A rectangle of our own, with these attributes for its paint.
    pub fn own_rectangle(&mut self, frame: Frame, fill: RGBColor, stroke: Option<RGBColor>) {
        let stroke = stroke.map(|colour| format!(" stroke=\"{}\" stroke-width=\"1.4\"", hex(colour))).unwrap_or_default();
        add(&mut self.above, format_args!("<rect {} fill=\"{}\"{stroke}/>", place(frame), hex(fill)));
    }

    /// A triangle of our own that fills the upper right corner of something.
    pub fn own_triangle(&mut self, (x, y): Point, side: f64, colour: RGBColor) {
        let points = points(&[(x - side, y), (x, y), (x, y + side)]);
        add(&mut self.above, format_args!("<polygon points=\"{points}\" fill=\"{}\"/>", hex(colour)));
    }

    /// A filled shape of our own.
    pub fn own_polygon(&mut self, corners: &[Point], colour: RGBColor, opacity: f64) {
        let points = points(corners);
        add(
            &mut self.above,
            format_args!("<polygon points=\"{points}\" fill=\"{}\" fill-opacity=\"{opacity}\"/>", hex(colour)),
        );
    }

    /// A line of our own with a pattern.
    pub fn own_dashed(&mut self, path: &[Point], colour: RGBColor, dash: Dash) {
        let (width, dashes) = dash.pattern();
        let dashes: Vec<String> = dashes.iter().map(|length| (f64::from(*length) / FINE).to_string()).collect();
        let dashes = (!dashes.is_empty()).then(|| dashes.join(" "));
        self.own_line(path, colour, f64::from(width) / FINE, dashes.as_deref());
    }

    /// A line of our own.
    pub fn own_line(&mut self, path: &[Point], colour: RGBColor, width: f64, dashes: Option<&str>) {
        let dashes = dashes.map(|dashes| format!(" stroke-dasharray=\"{dashes}\"")).unwrap_or_default();
        let points = points(path);
        add(
            &mut self.above,
            format_args!(
                "<polyline points=\"{points}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\"{dashes}/>",
                hex(colour)
            ),
        );
    }

    /// A text of our own.
    pub fn own_text(&mut self, text: &str, at: Point, writing: Writing) {
        self.own_text_with(text, at, writing, "");
    }

    /// A text along a slope, with a seam that keeps it apart from the lines below it.
    pub fn sloping_text(&mut self, text: &str, at: Point, writing: Writing, degrees: f64) {
        let seam = format!(
            " transform=\"rotate({degrees:.1} {:.1} {:.1})\" stroke=\"{}\" stroke-width=\"3\" stroke-linejoin=\"round\" paint-order=\"stroke\"",
            at.0,
            at.1,
            hex(PAPER)
        );
        self.own_text_with(text, at, writing, &seam);
    }

    fn own_text_with(&mut self, text: &str, at: Point, writing: Writing, attributes: &str) {
        let anchor = match writing.side {
            Side::Start => "start",
            Side::Middle => "middle",
            Side::End => "end",
        };
        add(
            &mut self.above,
            format_args!(
                "<text x=\"{:.1}\" y=\"{:.1}\" dy=\"0.5ex\" text-anchor=\"{anchor}\" font-size=\"{}\" fill=\"{}\"{attributes}>{}</text>",
                at.0,
                at.1,
                writing.size,
                hex(writing.colour),
                escaped(&one_line(text))
            ),
        );
    }

    /// A place that tells its tip.
    pub fn hit(&mut self, at: Point, r: f64, is_doubted: bool, tip: &str) {
        let (class, tip) = (hit_class(is_doubted), escaped(tip));
        add(
            &mut self.hits,
            format_args!(
                "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"{r}\"><title>{tip}</title></circle>",
                at.0, at.1
            ),
        );
    }

    /// A rectangle that tells its tip.
    pub fn hit_rectangle(&mut self, frame: Frame, is_doubted: bool, tip: &str) {
        let (class, tip, place) = (hit_class(is_doubted), escaped(tip), place(frame));
        add(&mut self.hits, format_args!("<rect class=\"{class}\" {place}><title>{tip}</title></rect>"));
    }
}

/// What plotters wrote, without what stands around it, with dashes, and without what is the same everywhere. Texts hold no quotes there:
/// plotters escapes them.
pub fn refined(written: &str) -> String {
    let inner = written.split_once('>').map_or("", |(_, rest)| rest);
    let inner = inner.rsplit_once("</svg>").map_or(inner, |(inner, _)| inner);
    let mut refined = inner
        .replace(" opacity=\"1\"", "")
        .replace(" font-family=\"sans-serif\"", "")
        .replace(" stroke=\"none\"", "")
        .replace(" stroke-width=\"1\"/>", "/>");
    for (index, (width, dashes)) in DASHES.iter().enumerate() {
        let dashes: Vec<String> = dashes.iter().map(u32::to_string).collect();
        let dashes = if dashes.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{}\"", dashes.join(" ")) };
        let key = format!("stroke-width=\"{}\"", Dash::key_of(index));
        refined = refined.replace(&key, &format!("stroke-width=\"{width}\"{dashes}"));
    }
    format!("<g transform=\"scale({})\">{refined}</g>\n", 1.0 / FINE)
}

fn hit_class(is_doubted: bool) -> &'static str {
    if is_doubted { "hit doubted" } else { "hit" }
}

fn place(frame: Frame) -> String {
    let Frame { left, top, width, height } = frame;
    format!("x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"")
}

fn points(path: &[Point]) -> String {
    path.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect::<Vec<_>>().join(" ")
}

fn add(layer: &mut String, element: std::fmt::Arguments<'_>) {
    // A text takes all that is written to it.
    let _ = writeln!(layer, "{element}");
}

fn hex(colour: RGBColor) -> String {
    super::palette::hex(colour)
}

fn line_style(colour: RGBColor, width: f64, opacity: f64) -> ShapeStyle {
    ShapeStyle { color: colour.mix(opacity), filled: false, stroke_width: u32::try_from(fine(width)).unwrap_or(10) }
}

/// plotters' SVG writes a font's size divided by this.
fn font(size: f64) -> f64 {
    size * FINE * 1.24
}

fn pixel((x, y): Point) -> (i32, i32) {
    (fine(x), fine(y))
}

#[expect(clippy::cast_possible_truncation, reason = "pictures are less than a million pixels wide and high")]
fn fine(pixels: f64) -> i32 {
    (pixels * FINE).round() as i32
}
