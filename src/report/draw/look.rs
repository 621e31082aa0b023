//! What tells series apart besides their colours: dashes and the shapes of markers.

/// A place, in pixels from the upper left corner.
pub type Point = (f64, f64);

/// How a line is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stroke {
    /// In pixels.
    pub width: f64,
    /// The lengths of dashes and gaps, as SVG has them; nothing where the line is whole.
    pub dashes: &'static str,
}

impl Stroke {
    pub const THIN: Self = Self::whole(1.0);
    /// A thin line at a place that is marked.
    pub const MARK: Self = Self { width: 1.0, dashes: "5 3" };
    /// The interval of what is flagged.
    pub const BROKEN: Self = Self { width: 1.3, dashes: "3 2" };
    pub const EXPECTED: Self = Self { width: 2.0, dashes: "1.5 3.5" };

    pub const fn whole(width: f64) -> Self {
        Self { width, dashes: "" }
    }

    pub fn of_series(index: usize) -> Self {
        const DASHES: [&str; 8] = ["", "7 3", "2 2", "10 2.5 2 2.5", "4 4", "14 3", "7 2 2 2 2 2", "2 4.5"];
        Self { width: 1.8, dashes: DASHES[index % 8] }
    }
}

/// The shape of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    Circle,
    Square,
    /// A triangle that points up.
    Up,
    /// A square on its corner.
    Diamond,
    /// A triangle that points down.
    Down,
    Times,
    Plus,
    /// A star of four points.
    Star,
}

impl Marker {
    /// That of a series: those after the eighth have the colours of the first ones, with other shapes.
    pub fn of_series(index: usize) -> Self {
        const ALL: [Marker; 8] = [
            Marker::Circle,
            Marker::Square,
            Marker::Up,
            Marker::Diamond,
            Marker::Down,
            Marker::Plus,
            Marker::Star,
            Marker::Times,
        ];
        ALL[(index + index / 8) % 8]
    }

    /// Its corners around a place; a disc has none.
    pub fn corners(self, (x, y): Point, r: f64) -> Vec<Point> {
        let triangle = |up: f64| vec![(0.0, -1.2 * up), (1.1, 0.8 * up), (-1.1, 0.8 * up)];
        let corners = match self {
            Self::Circle => Vec::new(),
            Self::Up => triangle(1.0),
            Self::Down => triangle(-1.0),
            Self::Square => four_times(&[(0.9, -0.9)]),
            Self::Diamond => four_times(&[(0.0, -1.3)]),
            Self::Plus => four_times(&[(-0.4, -1.3), (0.4, -1.3), (0.4, -0.4)]),
            Self::Times => four_times(&[(0.0, -0.5), (0.7, -1.2), (1.2, -0.7)]),
            Self::Star => four_times(&[(0.0, -1.6), (0.45, -0.45)]),
        };
        corners.into_iter().map(|(dx, dy)| (x + dx * r, y + dy * r)).collect()
    }
}

/// A quarter of a shape, and what it is turned by 90°, 180° and 270°.
fn four_times(quarter: &[Point]) -> Vec<Point> {
    let turns: [fn(&Point) -> Point; 4] = [|(x, y)| (*x, *y), |(x, y)| (-y, *x), |(x, y)| (-x, -y), |(x, y)| (*y, -x)];
    turns.into_iter().flat_map(|turned| quarter.iter().map(turned)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn series_differ_without_colours() {
        let dashes: BTreeSet<&str> = (0..8).map(|series| Stroke::of_series(series).dashes).collect();
        assert_eq!(dashes.len(), 8);
        let shapes = |series: std::ops::Range<usize>| series.map(|i| format!("{:?}", Marker::of_series(i))).collect::<Vec<_>>();
        assert_eq!(BTreeSet::from_iter(shapes(0..8)).len(), 8);
        // Colours and dashes begin anew after the eighth.
        assert!(shapes(0..8).iter().zip(&shapes(8..16)).all(|(first, second)| first != second));
    }
}
