//! The configurations that a search may choose from.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;

use thiserror::Error;

use crate::model::{AxisValue, Point};

/// The most combinations that are looked at. Each costs a call of the predicate, about a microsecond.
pub const MOST_COMBINATIONS: u32 = 1 << 24;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimension {
    pub name: Cow<'static, str>,
    /// Its values, each once: numbers from the least to the greatest, words as they were given.
    pub values: Vec<AxisValue>,
}

impl Dimension {
    pub fn new<V: Into<AxisValue>>(name: impl Into<Cow<'static, str>>, values: impl IntoIterator<Item = V>) -> Self {
        let mut kept: Vec<AxisValue> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        kept.extend(values.into_iter().map(Into::into).filter(|value| seen.insert(value.clone())));
        if all_numbers(&kept) {
            kept.sort();
        }
        Self { name: name.into(), values: kept }
    }

    /// How many values it has: no more than a space has combinations.
    #[expect(clippy::cast_possible_truncation, reason = "a space was refused where there are more")]
    fn count(&self) -> u32 {
        self.values.len() as u32
    }

    pub fn is_ordered(&self) -> bool {
        all_numbers(&self.values)
    }
}

fn all_numbers(values: &[AxisValue]) -> bool {
    values.iter().all(|value| matches!(value, AxisValue::Integer(_)))
}

#[derive(Debug, Error)]
pub enum SpaceError<E> {
    #[error("axis `{0}` has no values")]
    NoValues(String),
    #[error("axis `{0}` comes twice")]
    Twice(String),
    #[error("the axes have {count} combinations, more than {most} are not looked at: give some of them fewer values")]
    TooLarge { count: String, most: u32 },
    #[error("none of the {0} combinations of the axes is allowed: loosen a restriction, or give more values")]
    Empty(usize),
    #[error(transparent)]
    Restriction(E),
}

/// The configurations that are allowed, numbered from zero without a gap: combinations of the axes' values, the last axis varying
/// fastest. A configuration takes four bytes, so that few of many combinations are few bytes.
#[derive(Clone, Debug)]
pub struct Space {
    axes: Vec<Dimension>,
    places: Vec<HashMap<AxisValue, usize>>,
    /// The combinations that are allowed, ascending; a combination is a number whose digits are places in the axes' values.
    allowed: Vec<u32>,
}

impl Space {
    pub fn new<E>(
        axes: impl IntoIterator<Item = Dimension>,
        is_allowed: impl FnMut(&Point) -> Result<bool, E>,
    ) -> Result<Self, SpaceError<E>> {
        let axes: Vec<Dimension> = axes.into_iter().collect();
        for (i, axis) in axes.iter().enumerate() {
            if axis.values.is_empty() {
                return Err(SpaceError::NoValues(axis.name.to_string()));
            }
            if axes[..i].iter().any(|earlier| earlier.name == axis.name) {
                return Err(SpaceError::Twice(axis.name.to_string()));
            }
        }
        let combinations = combinations(&axes, MOST_COMBINATIONS)?;
        let allowed = allowed(&axes, combinations, is_allowed).map_err(SpaceError::Restriction)?;
        if allowed.is_empty() {
            return Err(SpaceError::Empty(combinations as usize));
        }
        Ok(Self { places: places(&axes), axes, allowed })
    }

    /// The configurations that were tried, whatever a search might have tried besides. A point that lacks an axis of another is left out.
    pub fn of<'p>(points: impl IntoIterator<Item = &'p Point> + Clone) -> Result<Self, SpaceError<Infallible>> {
        let mut values: BTreeMap<&str, Vec<AxisValue>> = BTreeMap::new();
        for (axis, value) in points.clone().into_iter().flat_map(Point::iter) {
            values.entry(axis).or_default().push(value.clone());
        }
        let axes: Vec<Dimension> = values.into_iter().map(|(axis, values)| Dimension::new(axis.to_owned(), values)).collect();
        let combinations = combinations(&axes, u32::MAX)?;
        let mut space = Self { places: places(&axes), axes, allowed: Vec::new() };
        space.allowed = points.into_iter().filter_map(|point| space.combination(point)).collect();
        space.allowed.sort_unstable();
        space.allowed.dedup();
        if space.allowed.is_empty() {
            return Err(SpaceError::Empty(combinations as usize));
        }
        Ok(space)
    }

    pub fn axes(&self) -> &[Dimension] {
        &self.axes
    }

    /// How many configurations there are; one at least.
    pub fn len(&self) -> usize {
        self.allowed.len()
    }

    /// No space is empty: there would be nothing to search.
    pub fn is_empty(&self) -> bool {
        false
    }

    pub fn point(&self, configuration: usize) -> Point {
        let values = self.axes.iter().zip(self.places(configuration));
        Point::new(values.map(|(axis, place)| (axis.name.clone(), axis.values[place].clone())))
    }

    /// The configuration that has these values, if that is allowed. Whatever else the point has is passed over.
    pub fn find(&self, point: &Point) -> Option<usize> {
        self.allowed.binary_search(&self.combination(point)?).ok()
    }

    /// The number of a point's combination, whether it is allowed or not.
    fn combination(&self, point: &Point) -> Option<u32> {
        let place = |(axis, places): (&Dimension, &HashMap<AxisValue, usize>)| places.get(point.get(&axis.name)?).copied();
        let places: Option<Vec<usize>> = self.axes.iter().zip(&self.places).map(place).collect();
        self.numbered(&places?)
    }

    /// The configurations that differ from one in one axis: by the next value below or above that is allowed where the axis has
    /// numbers, by any value where it has words.
    pub fn adjacent(&self, configuration: usize) -> Vec<usize> {
        let places = self.places(configuration);
        let mut found = Vec::new();
        for (i, axis) in self.axes.iter().enumerate() {
            let mut allowed = |place: usize| self.changed(&places, i, place);
            if axis.is_ordered() {
                found.extend((0..places[i]).rev().find_map(&mut allowed));
                found.extend((places[i] + 1..axis.values.len()).find_map(&mut allowed));
            } else {
                found.extend((0..axis.values.len()).filter(|place| *place != places[i]).filter_map(allowed));
            }
        }
        found
    }

    /// The configurations that differ from one in one axis, by any value: many paths by adjacent values are cut where few
    /// combinations are allowed.
    pub fn neighbours(&self, configuration: usize) -> Vec<usize> {
        let combination = self.allowed[configuration];
        let (mut found, mut unit) = (Vec::new(), 1);
        for axis in self.axes.iter().rev() {
            // Searches do this all the time: only one digit of the number changes.
            let place = combination / unit % axis.count();
            let others = (0..axis.count()).filter(|other| *other != place);
            found.extend(
                others.filter_map(|other| self.allowed.binary_search(&(combination - place * unit + other * unit)).ok()),
            );
            unit *= axis.count();
        }
        found
    }

    pub(super) fn places(&self, configuration: usize) -> Vec<usize> {
        let mut rest = self.allowed[configuration] as usize;
        let mut places = vec![0; self.axes.len()];
        for (place, axis) in places.iter_mut().zip(&self.axes).rev() {
            (rest, *place) = (rest / axis.values.len(), rest % axis.values.len());
        }
        places
    }

    pub(super) fn at(&self, places: &[usize]) -> Option<usize> {
        self.allowed.binary_search(&self.numbered(places)?).ok()
    }

    fn numbered(&self, places: &[usize]) -> Option<u32> {
        let combination = places.iter().zip(&self.axes).fold(0, |sum, (place, axis)| sum * axis.values.len() + place);
        u32::try_from(combination).ok()
    }

    fn changed(&self, places: &[usize], axis: usize, place: usize) -> Option<usize> {
        let mut places = places.to_vec();
        places[axis] = place;
        self.at(&places)
    }
}

fn places(axes: &[Dimension]) -> Vec<HashMap<AxisValue, usize>> {
    axes.iter().map(|axis| axis.values.iter().cloned().zip(0..).collect()).collect()
}

fn combinations<E>(axes: &[Dimension], most: u32) -> Result<u32, SpaceError<E>> {
    let product = axes.iter().try_fold(1_u128, |product, axis| product.checked_mul(axis.values.len() as u128));
    let fitting = product.and_then(|product| u32::try_from(product).ok()).filter(|product| *product <= most);
    let count = || product.map_or_else(|| "countless".to_owned(), |product| product.to_string());
    fitting.ok_or_else(|| SpaceError::TooLarge { count: count(), most })
}

/// The combinations that the predicate allows. One point goes through them all, since most steps change but its last value.
fn allowed<E>(
    axes: &[Dimension],
    combinations: u32,
    mut is_allowed: impl FnMut(&Point) -> Result<bool, E>,
) -> Result<Vec<u32>, E> {
    let mut point = Point::new(axes.iter().map(|axis| (axis.name.clone(), axis.values[0].clone())));
    let mut places = vec![0; axes.len()];
    let mut allowed = Vec::new();
    for combination in 0..combinations {
        if is_allowed(&point)? {
            allowed.push(combination);
        }
        for ((i, place), axis) in places.iter_mut().enumerate().zip(axes).rev() {
            *place = (*place + 1) % axis.values.len();
            point.set(i, axis.values[*place].clone());
            if *place > 0 {
                break;
            }
        }
    }
    Ok(allowed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn space(axes: &[(&'static str, &[u64])], is_allowed: impl Fn(&Point) -> bool) -> Space {
        let axes = axes.iter().map(|(name, values)| Dimension::new(*name, values.iter().copied()));
        Space::new(axes, |point| Ok::<_, Infallible>(is_allowed(point))).unwrap()
    }

    fn shown(space: &Space, configurations: Vec<usize>) -> Vec<String> {
        configurations.into_iter().map(|configuration| space.point(configuration).to_string()).collect()
    }

    #[test]
    fn configurations_are_numbered_without_a_gap() {
        let space = space(&[("x", &[1, 2, 4]), ("y", &[4, 1, 1])], |point| point.integer("x") * point.integer("y") < 10);
        assert_eq!(shown(&space, (0..space.len()).collect()), ["x=1;y=1", "x=1;y=4", "x=2;y=1", "x=2;y=4", "x=4;y=1"]);
    }

    #[test]
    fn a_neighbour_differs_in_one_axis_and_is_allowed() {
        let x: Vec<u64> = (1..=6).collect();
        let axes = [Dimension::new("x", x), Dimension { name: "op".into(), values: ["a", "b", "c"].map(Into::into).to_vec() }];
        let space = Space::new(axes, |point| Ok::<_, Infallible>(point.integer("x") != 4)).unwrap();
        let at = |x: u64, op: &'static str| space.find(&Point::new([("x".into(), x.into()), ("op".into(), op.into())]));
        let from = at(3, "b").unwrap();
        assert_eq!(shown(&space, space.adjacent(from)), ["op=b;x=2", "op=b;x=5", "op=a;x=3", "op=c;x=3"]);
        assert_eq!(space.neighbours(from).len(), 4 + 2);
        assert_eq!(at(4, "b"), None);
    }

    #[test]
    fn a_million_combinations_of_which_few_are_allowed_take_little() {
        let tens: Vec<u64> = (0..10).collect();
        let names = ["a", "b", "c", "d", "e", "f"];
        let axes = names.map(|name| (name, tens.as_slice()));
        let space = space(&axes, |point| names.iter().map(|name| point.integer(name)).sum::<u64>() <= 2);
        // Six axes share a sum of at most two in (8 over 2) ways.
        assert_eq!((space.len(), space.allowed.capacity() < 100), (28, true));
    }

    #[test]
    fn what_was_tried_is_a_space_whatever_there_was_besides() {
        let point =
            |axes: &[(&'static str, u64)]| Point::new(axes.iter().map(|(name, value)| ((*name).into(), (*value).into())));
        // 3^16 combinations are more than a search looks at, and three of them were tried.
        let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"];
        let all = |value: u64| point(&names.map(|name| (name, value)));
        let space = Space::of(&[all(4), all(1), all(4), all(2), point(&[("a", 1)])]).unwrap();
        assert_eq!((space.len(), space.axes().len()), (3, 16));
        assert_eq!([all(1), all(2), all(4)].map(|point| space.find(&point)), [Some(0), Some(1), Some(2)]);
        assert_eq!(space.find(&point(&[("a", 1)])), None);
        let countless: Vec<Point> = (0..50).map(all).collect();
        assert!(matches!(Space::of(&countless), Err(SpaceError::TooLarge { most: u32::MAX, .. })));
        assert!(matches!(Space::of(&[]), Err(SpaceError::Empty(_))));
    }

    #[test]
    fn what_is_no_space_is_said() {
        let build = |axes: Vec<Dimension>, answer: Result<bool, String>| {
            Space::new(axes, |_| answer.clone()).map(|space| space.len()).map_err(|error| error.to_string())
        };
        let axis = |name: &'static str, count: u64| Dimension::new(name, 0..count);
        insta::assert_snapshot!(build(vec![axis("x", 3), axis("x", 2)], Ok(true)).unwrap_err(), @"axis `x` comes twice");
        insta::assert_snapshot!(build(vec![axis("x", 0)], Ok(true)).unwrap_err(), @"axis `x` has no values");
        insta::assert_snapshot!(build(vec![axis("x", 3), axis("y", 4)], Ok(false)).unwrap_err(), @"none of the 12 combinations of the axes is allowed: loosen a restriction, or give more values");
        insta::assert_snapshot!(build(vec![axis("x", 1 << 13), axis("y", 1 << 12)], Ok(true)).unwrap_err(), @"the axes have 33554432 combinations, more than 16777216 are not looked at: give some of them fewer values");
        assert_eq!(build(vec![axis("x", 3)], Err("y is no axis".to_owned())).unwrap_err(), "y is no axis");
        assert_eq!(build(Vec::new(), Ok(true)), Ok(1), "a shader without axes has its one configuration");
        let many = ["a", "b", "c", "d", "e", "f", "g", "h"].map(|name| axis(name, 1 << 17));
        assert!(build(many.to_vec(), Ok(true)).unwrap_err().contains("countless combinations"));
    }

    proptest! {
        #![proptest_config(crate::properties::config())]

        #[test]
        fn every_configuration_is_found_where_it_stands(sizes in prop::collection::vec(1_u64..5, 0..5), modulus in 1_u64..4) {
            let names = ["a", "b", "c", "d", "e"];
            let axes = sizes.iter().zip(names).map(|(size, name)| Dimension::new(name, 0..*size));
            let sum = |point: &Point| point.iter().map(|(name, _)| point.integer(name)).sum::<u64>();
            let space = Space::new(axes, |point| Ok::<_, Infallible>(sum(point) % modulus == 0)).unwrap();
            for configuration in 0..space.len() {
                let point = space.point(configuration);
                prop_assert_eq!(sum(&point) % modulus, 0);
                prop_assert_eq!(space.find(&point), Some(configuration));
                for neighbour in space.neighbours(configuration) {
                    let differing = space.places(neighbour).iter().zip(space.places(configuration)).filter(|(a, b)| **a != *b).count();
                    prop_assert_eq!(differing, 1);
                    prop_assert!(space.neighbours(neighbour).contains(&configuration));
                }
            }
        }
    }
}
