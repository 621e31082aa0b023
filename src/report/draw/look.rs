//! What tells series apart besides their colours: dashes and the shapes of markers.

/// A place, in pixels from the upper left corner.
pub type Point = (f64, f64);

/// How a line is broken. plotters has no dashes but as one element for each: a width that stands for the pattern is replaced at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dash(usize);

impl Dash {
    /// A thin line at a place that is marked.
    pub const MARK: Self = Self(8);
    pub const EXPECTED: Self = Self(9);

    pub fn of_series(index: usize) -> Self {
        Self(index % 8)
    }

    /// Its width and its dashes, in tenths of a pixel.
    pub fn pattern(self) -> (u32, &'static [u32]) {
        DASHES[self.0]
    }

    /// The width that stands for it.
    pub fn key(self) -> u32 {
        Self::key_of(self.0)
    }

    /// The width that stands for a pattern: no line is a hundred pixels wide.
    pub fn key_of(pattern: usize) -> u32 {
        u32::try_from(1000 + pattern).unwrap_or(1000)
    }
}

/// Each pattern's width and dashes, in tenths of a pixel.
pub const DASHES: [(u32, &[u32]); 10] = [
    (18, &[]),
    (18, &[70, 30]),
    (18, &[20, 20]),
    (18, &[100, 25, 20, 25]),
    (18, &[40, 40]),
    (18, &[140, 30]),
    (18, &[70, 20, 20, 20, 20, 20]),
    (18, &[20, 45]),
    (10, &[50, 30]),
    (20, &[15, 35]),
];

/// The shape of a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
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

impl Shape {
    /// That of a series: those after the eighth have the colours of the first ones, with other shapes.
    pub fn of_series(index: usize) -> Self {
        const ALL: [Shape; 8] =
            [Shape::Circle, Shape::Square, Shape::Up, Shape::Diamond, Shape::Down, Shape::Plus, Shape::Star, Shape::Times];
        ALL[(index + index / 8) % 8]
    }

    /// Its corners around a place; a disc has none.
    pub fn corners(self, (x, y): Point, r: f64) -> Vec<Point> {
        let corners: &[Point] = match self {
            Self::Circle => &[],
            Self::Square => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
            Self::Up => &[(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)],
            Self::Down => &[(0.0, 1.2), (1.1, -0.8), (-1.1, -0.8)],
            Self::Diamond => &[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)],
            Self::Plus => &[
                (-0.4, -1.3),
                (0.4, -1.3),
                (0.4, -0.4),
                (1.3, -0.4),
                (1.3, 0.4),
                (0.4, 0.4),
                (0.4, 1.3),
                (-0.4, 1.3),
                (-0.4, 0.4),
                (-1.3, 0.4),
                (-1.3, -0.4),
                (-0.4, -0.4),
            ],
            Self::Times => &[
                (-1.2, -0.7),
                (-0.7, -1.2),
                (0.0, -0.5),
                (0.7, -1.2),
                (1.2, -0.7),
                (0.5, 0.0),
                (1.2, 0.7),
                (0.7, 1.2),
                (0.0, 0.5),
                (-0.7, 1.2),
                (-1.2, 0.7),
                (-0.5, 0.0),
            ],
            Self::Star => {
                &[(0.0, -1.6), (0.45, -0.45), (1.6, 0.0), (0.45, 0.45), (0.0, 1.6), (-0.45, 0.45), (-1.6, 0.0), (-0.45, -0.45)]
            }
        };
        corners.iter().map(|(dx, dy)| (x + dx * r, y + dy * r)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn series_differ_without_colours() {
        let dashes: BTreeSet<(u32, &[u32])> = (0..8).map(|series| DASHES[Dash::of_series(series).0]).collect();
        assert_eq!(dashes.len(), 8);
        let shapes = |series: std::ops::Range<usize>| series.map(|i| format!("{:?}", Shape::of_series(i))).collect::<Vec<_>>();
        assert_eq!(BTreeSet::from_iter(shapes(0..8)).len(), 8);
        // Colours and dashes begin anew after the eighth.
        assert!(shapes(0..8).iter().zip(&shapes(8..16)).all(|(first, second)| first != second));
    }
}
