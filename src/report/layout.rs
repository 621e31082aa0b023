//! Which picture shows a sweep: chosen from what its rows differ in, not by hand.

use super::sweep::{Dimension, Key};

/// Lines, or bars side by side, that can be told apart.
pub const MOST_SERIES: usize = 8;

/// From so many numbers on, an axis is swept: fewer are a few cases side by side.
const SWEPT: usize = 4;

/// Of both axes of a heat map, the least numbers; and cells.
const LEAST_SIDE: usize = 2;
const LEAST_CELLS: usize = 6;

/// The most names, and bars of each, that are bars: more are a table.
const MOST_NAMES: usize = 12;
const MOST_BARS: usize = 3;

/// The most names, from top to bottom or from left to right, that a picture can show.
const MOST_LINES: usize = 80;

/// Sources whose bars can stand side by side. More have a line each.
const MOST_SOURCES: usize = 4;

/// What a picture looks like; dimensions by their places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlotKind {
    /// A single figure, which words say.
    Single,
    TooMany,
    Curves {
        x: usize,
        /// What the lines differ in.
        series: Vec<usize>,
    },
    Bars {
        /// What they are of, from top to bottom.
        names: usize,
        /// What stands side by side.
        series: Option<usize>,
    },
    /// A table with coloured cells.
    Grid {
        columns: usize,
        rows: usize,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    pub shape: PlotKind,
    pub panels: Vec<usize>,
}

/// Chooses how rows become pictures, from what they differ in. `x`: the axis that an experiment wants to see swept. `is_ladder`: whether
/// variants are steps that lead from one to the next.
pub fn layout(dimensions: &[Dimension], x: Option<&str>, is_ladder: bool) -> Layout {
    let shape = swept(dimensions, x)
        .or_else(|| heat_map(dimensions))
        .or_else(|| most_swept(dimensions))
        .unwrap_or_else(|| side_by_side(dimensions, is_ladder));
    let names = match &shape {
        PlotKind::Bars { names, .. } => dimensions[*names].values.len(),
        PlotKind::Grid { columns, rows } => dimensions[*columns].values.len().max(dimensions[*rows].values.len()),
        _ => 0,
    };
    let shape = if names > MOST_LINES { PlotKind::TooMany } else { shape };
    let shown = match &shape {
        PlotKind::Single | PlotKind::TooMany => Vec::new(),
        PlotKind::Curves { x, series } => [&[*x][..], series].concat(),
        PlotKind::Bars { names, series } => std::iter::once(*names).chain(*series).collect(),
        PlotKind::Grid { columns, rows } => vec![*columns, *rows],
    };
    Layout { shape, panels: (0..dimensions.len()).filter(|place| !shown.contains(place)).collect() }
}

fn axis(dimensions: &[Dimension], name: &str) -> Option<usize> {
    let is_it = |one: &Dimension| matches!(&one.key, Key::Axis(own) if own == name) && one.is_of_numbers();
    dimensions.iter().position(is_it)
}

fn swept(dimensions: &[Dimension], x: Option<&str>) -> Option<PlotKind> {
    let x = axis(dimensions, x?)?;
    (dimensions[x].values.len() > 2).then(|| curves(dimensions, x))
}

fn heat_map(dimensions: &[Dimension]) -> Option<PlotKind> {
    let (columns, rows) = (axis(dimensions, "local_size_x")?, axis(dimensions, "local_size_y")?);
    let [wide, high] = [columns, rows].map(|place| dimensions[place].values.len());
    (wide.min(high) >= LEAST_SIDE && wide * high >= LEAST_CELLS).then_some(PlotKind::Grid { columns, rows })
}

fn most_swept(dimensions: &[Dimension]) -> Option<PlotKind> {
    let swept = (0..dimensions.len()).filter(|place| {
        let one = &dimensions[*place];
        one.is_of_numbers() && one.values.len() >= SWEPT
    });
    // The first of those with the most values.
    let x = swept.max_by_key(|place| (dimensions[*place].values.len(), std::cmp::Reverse(*place)))?;
    Some(curves(dimensions, x))
}

/// Lines over an axis: as many of the other dimensions as can be told apart.
fn curves(dimensions: &[Dimension], x: usize) -> PlotKind {
    let mut lines = 1;
    let mut series = Vec::new();
    for place in (0..dimensions.len()).filter(|place| *place != x) {
        let count = dimensions[place].values.len();
        if lines * count <= MOST_SERIES {
            lines *= count;
            series.push(place);
        }
    }
    PlotKind::Curves { x, series }
}

/// Nothing is swept: names and words.
fn side_by_side(dimensions: &[Dimension], is_ladder: bool) -> PlotKind {
    let is = |place: &usize, key: &Key| dimensions[*place].key == *key;
    let count = |place: &usize| dimensions[*place].values.len();
    let source = (0..dimensions.len()).find(|place| is(place, &Key::Source) && count(place) <= MOST_SOURCES);
    let mut others: Vec<usize> = (0..dimensions.len()).filter(|place| Some(*place) != source).collect();
    others.sort_by_key(|place| std::cmp::Reverse((is_ladder && is(place, &Key::Variant), count(place))));
    match (others.as_slice(), source) {
        ([], None) if dimensions.is_empty() => PlotKind::Single,
        ([], _) => PlotKind::Bars { names: 0, series: None },
        ([names], series) => PlotKind::Bars { names: *names, series },
        ([names, ..], Some(series)) if is_ladder => PlotKind::Bars { names: *names, series: Some(series) },
        ([names, second, ..], None) if is_ladder || count(names) <= MOST_NAMES => match count(second) <= MOST_BARS {
            true => PlotKind::Bars { names: *names, series: Some(*second) },
            false => PlotKind::Grid { columns: *second, rows: *names },
        },
        ([rows, columns, ..], _) => PlotKind::Grid { columns: *columns, rows: *rows },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::AxisValue;

    fn numbers(name: &str, values: &[u64]) -> Dimension {
        Dimension { key: Key::Axis(name.to_owned()), values: values.iter().map(|value| AxisValue::Integer(*value)).collect() }
    }

    fn words(key: Key, count: usize) -> Dimension {
        let word = |i: usize| AxisValue::Choice(format!("w{i}").into());
        Dimension { key, values: (0..count).map(word).collect() }
    }

    fn op(count: usize) -> Dimension {
        words(Key::Axis("op".to_owned()), count)
    }

    #[test]
    fn the_picture_follows_from_the_axes() {
        let sizes = || numbers("local_size_x", &[8, 16, 32, 64]);
        let of = |dimensions: &[Dimension]| layout(dimensions, None, false);
        assert_eq!(of(&[]), Layout { shape: PlotKind::Single, panels: vec![] });
        assert_eq!(of(&[sizes()]).shape, PlotKind::Curves { x: 0, series: vec![] });
        let tile = of(&[words(Key::Variant, 3), sizes(), numbers("local_size_y", &[1, 2, 4])]);
        assert_eq!(tile, Layout { shape: PlotKind::Grid { columns: 1, rows: 2 }, panels: vec![0] });
        assert_eq!(of(&[op(81)]).shape, PlotKind::TooMany);
        assert_eq!(of(&[op(5)]).shape, PlotKind::Bars { names: 0, series: None });
        assert_eq!(of(&[op(5), numbers("n", &[1, 2])]).shape, PlotKind::Bars { names: 0, series: Some(1) });
        assert_eq!(of(&[words(Key::Variant, 11), op(55)]).shape, PlotKind::Grid { columns: 0, rows: 1 });
        assert_eq!(of(&[words(Key::Variant, 11), op(9)]).shape, PlotKind::Grid { columns: 1, rows: 0 });
    }

    #[test]
    fn lines_are_as_many_as_can_be_told_apart() {
        let sizes = numbers("n", &[1, 2, 3, 4, 5]);
        let of = |others: &[Dimension]| layout(&[others, std::slice::from_ref(&sizes)].concat(), None, false);
        let four = of(&[words(Key::Source, 2), op(4)]);
        assert_eq!(four, Layout { shape: PlotKind::Curves { x: 2, series: vec![0, 1] }, panels: vec![] });
        let many = of(&[words(Key::Source, 2), op(5)]);
        assert_eq!(many, Layout { shape: PlotKind::Curves { x: 2, series: vec![0] }, panels: vec![1] });
        let devices = of(&[words(Key::Source, 8), op(2)]);
        assert_eq!(devices, Layout { shape: PlotKind::Curves { x: 2, series: vec![0] }, panels: vec![1] });
        let crowd = of(&[words(Key::Source, 9)]);
        assert_eq!(crowd, Layout { shape: PlotKind::Curves { x: 1, series: vec![] }, panels: vec![0] });
    }

    #[test]
    fn an_experiment_may_say_what_is_swept() {
        let two = [numbers("stride", &[1, 2, 3]), numbers("n", &[1, 2, 3, 4])];
        assert_eq!(layout(&two, None, false).shape, PlotKind::Curves { x: 1, series: vec![0] });
        assert_eq!(layout(&two, Some("stride"), false).shape, PlotKind::Curves { x: 0, series: vec![1] });
        assert_eq!(layout(&two, Some("novel"), false).shape, PlotKind::Curves { x: 1, series: vec![0] });
    }

    #[test]
    fn a_ladder_is_bars_by_its_variants() {
        let variants = || words(Key::Variant, 6);
        assert_eq!(layout(&[variants(), op(7)], None, true).shape, PlotKind::Grid { columns: 1, rows: 0 });
        assert_eq!(layout(&[variants(), op(3)], None, true).shape, PlotKind::Bars { names: 0, series: Some(1) });
        let devices = layout(&[words(Key::Source, 8), op(2), words(Key::Axis("type".to_owned()), 2)], None, false);
        assert_eq!(devices, Layout { shape: PlotKind::Bars { names: 0, series: Some(1) }, panels: vec![2] });
        let two_devices = layout(&[words(Key::Source, 2), variants(), op(3)], None, true);
        assert_eq!(two_devices, Layout { shape: PlotKind::Bars { names: 1, series: Some(0) }, panels: vec![2] });
    }
}
