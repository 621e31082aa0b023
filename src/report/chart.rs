//! What a picture shows, before it is drawn: numbers and words, no colours and no places.

use crate::stats::Ratio;

#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// What it is of, in a few words: variant, axes that have one value in it, device.
    pub title: String,
    pub body: Body,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// A figure over an axis of numbers, a line for each series.
    Curves(Curves),
    /// Figures side by side: a ladder of variants, or the values of an axis of words.
    Bars(Bars),
    /// A figure over two axes, as a table with coloured cells: a heat map where both are sizes, a matrix where they are words.
    Grid(Grid),
    /// Ratios with their intervals, one below the other.
    Ratios(Ratios),
    /// What kernels reach beside what the device allows.
    Roofline(Roofline),
    /// What ran when.
    Timeline(Timeline),
}

/// How the numbers of an axis are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ticks {
    /// As they are: `250`, `1.5`.
    Plain,
    /// By powers of two: `256`, `64 Ki`, `2^20`.
    Binary,
    /// Bytes: `256 B`, `64 KiB`.
    Bytes,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scale {
    /// What it is, with its unit: `bandwidth, GB/s`.
    pub label: String,
    /// Whether it is logarithmic. All numbers on it are above zero then.
    pub is_log: bool,
    pub ticks: Ticks,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Curves {
    pub x: Scale,
    pub y: Scale,
    pub lines: Vec<Line>,
    /// Places on x that are marked: levels of caches.
    pub marks: Vec<Mark>,
    /// What a model expects, drawn as steps or lines without markers: the slow-down by inferred banks.
    pub expected: Vec<Expected>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Its name in the legend; empty where there is one line.
    pub name: String,
    /// Its points, by x. Each is drawn with its interval, as a band along the line.
    pub points: Vec<Datum>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Datum {
    pub x: f64,
    pub y: f64,
    /// The ends of its 95 % interval, if it has one.
    pub interval: Option<(f64, f64)>,
    /// Whether its row bears a flag: its marker is hollow, and a page can hide it.
    pub is_doubted: bool,
    /// What is told of it where somebody points at it: lines of text.
    pub tip: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    pub at: f64,
    /// What is there: `L1, 256 KiB`.
    pub text: String,
    /// The line that it is of, whose colour it has; `None` where it is of all.
    pub line: Option<usize>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Bars {
    pub scale: Scale,
    /// What stands side by side in each group; one empty name where each group is one bar.
    pub series: Vec<String>,
    pub groups: Vec<BarGroup>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct BarGroup {
    pub name: String,
    /// A bar for each series; `None` where there is no figure.
    pub bars: Vec<Option<Bar>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    pub value: f64,
    pub interval: Option<(f64, f64)>,
    /// The figure in words, which stands at its end: `2.71 TB/s`.
    pub text: String,
    pub is_doubted: bool,
    pub tip: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// What the columns are: `local_size_x`; empty where it is plain.
    pub column_label: String,
    pub columns: Vec<String>,
    pub row_label: String,
    pub rows: Vec<String>,
    /// What the colour tells, with its unit.
    pub scale: Scale,
    /// Which values are the better ones: those have the colour that stands out.
    pub better: Better,
    /// By row, then by column.
    pub cells: Vec<Vec<GridCell>>,
}

/// Which of two values is the better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    Higher,
    Lower,
    Neither,
}

#[derive(Clone, Debug, PartialEq)]
pub enum GridCell {
    /// There is no row.
    Empty,
    /// There is a row without a figure: why, in a word or two, and at length.
    Without { text: String, tip: String },
    Value {
        value: f64,
        interval: Option<(f64, f64)>,
        /// In the cell, where there is room: `271`.
        text: String,
        is_doubted: bool,
        tip: String,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Ratios {
    /// What a ratio is: `times as fast as before`.
    pub label: String,
    /// A change within this share counts as none: a band around 1.
    pub margin: f64,
    pub items: Vec<RatioItem>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RatioItem {
    pub name: String,
    pub ratio: Ratio,
    pub verdict: Verdict,
    pub is_doubted: bool,
    pub tip: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Faster,
    Slower,
    Same,
    Unclear,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    pub x: Scale,
    pub lanes: Vec<Lane>,
}

/// What runs of one kind, in a row of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Lane {
    pub name: String,
    pub spans: Vec<Span>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    pub start: f64,
    pub end: f64,
    pub is_doubted: bool,
    pub tip: String,
}

/// Both axes are logarithmic.
#[derive(Clone, Debug, PartialEq)]
pub struct Roofline {
    /// Operations for each byte.
    pub x: Scale,
    /// Operations per second.
    pub y: Scale,
    pub roofs: Vec<Roof>,
    /// The kernels: experiments, each a series with its own marker.
    pub kernels: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Roof {
    /// With its figure: `memory, 3.0 TB/s`.
    pub name: String,
    /// Whether it bounds bytes per second, and is a slope; else operations per second, and is flat.
    pub is_memory: bool,
    /// In the unit of y, per unit of x where it is a slope.
    pub rate: f64,
}
