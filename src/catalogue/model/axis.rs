//! Axes, their values, and points of their product.

use std::borrow::Cow;
use std::fmt;

use lanescope_table::AxisValue;
use serde::{Deserialize, Serialize};

/// The largest number that an axis takes, unless it says another: no memory has so many words, and nobody waits for so many iterations.
/// A case's sizes may be a constant times one of these without a thought of 64 bits.
pub const MOST_NUMBER: u64 = 1 << 40;

/// Which values an axis can take at all; anything else is a usage error, not a skipped row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AxisKind {
    /// Every whole number from this one to [`Axis::most`]. What the device can't run becomes a skipped row.
    AtLeast(u64),
    Numbers(&'static [u64]),
    Choices(&'static [&'static str]),
}

/// A dimension along which an experiment is swept, and a column of its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The column's name. Never the name of a fixed column, except of those that mean the same (`local_size_x` and its kind).
    pub name: Cow<'static, str>,
    /// What it varies, with the unit of its numbers.
    pub description: Cow<'static, str>,
    pub kind: AxisKind,
    /// Of [`AxisKind::AtLeast`], the largest one: what the twin follows in a reasonable time, or the kernel can count.
    pub most: u64,
    /// Of [`AxisKind::AtLeast`], what each has to be a multiple of: a kernel does so many in an iteration of its loop.
    pub multiple_of: u64,
    /// The values that are measured when the user names none.
    pub defaults: Vec<AxisValue>,
    /// The value that stands for "as if the axis were not there": left out of the case id, so that old rows keep theirs.
    pub neutral: Option<AxisValue>,
    /// The value whose case others along this axis are compared with (columns `relative` and `relative_to`). It comes first among
    /// the values, so that the case is finished when others refer to it.
    pub base: Option<AxisValue>,
    /// Whether more along this axis, which is one of numbers, is more of the same work.
    pub is_work: bool,
    /// Whether time can't fall with more work along this axis, all else alike: who is faster with more is implausible. True of
    /// loops; not of the sizes of arrays, where powers of two may fall on the same cache sets or memory channels.
    pub is_monotone: bool,
}

impl Axis {
    pub fn new<V: Into<AxisValue>>(
        name: &'static str,
        description: &'static str,
        kind: AxisKind,
        defaults: impl IntoIterator<Item = V>,
    ) -> Self {
        Self {
            name: Cow::Borrowed(name),
            description: Cow::Borrowed(description),
            kind,
            most: MOST_NUMBER,
            multiple_of: 1,
            defaults: defaults.into_iter().map(Into::into).collect(),
            neutral: None,
            base: None,
            is_work: false,
            is_monotone: false,
        }
    }

    #[must_use]
    pub fn up_to(self, most: u64) -> Self {
        Self { most, ..self }
    }

    /// The same axis of multiples of this number, which the least is one of.
    #[must_use]
    pub fn multiple_of(self, multiple_of: u64) -> Self {
        Self { multiple_of, ..self }
    }

    #[must_use]
    pub fn relative_to(self, base: impl Into<AxisValue>) -> Self {
        Self { base: Some(base.into()), ..self }
    }

    /// The same axis of numbers, along which more is more of the same work.
    #[must_use]
    pub fn of_work(self) -> Self {
        Self { is_work: true, ..self }
    }

    /// The same axis of numbers, along which more is more of the same work, and takes more time.
    #[must_use]
    pub fn of_monotone_work(self) -> Self {
        Self { is_work: true, is_monotone: true, ..self }
    }

    /// What it takes, in words: `8, 16`, or `whole numbers from 1 to 64`.
    pub fn takes(&self) -> String {
        match &self.kind {
            AxisKind::AtLeast(least) => {
                let multiples = match self.multiple_of {
                    1 => "whole numbers".to_owned(),
                    of => format!("multiples of {of}"),
                };
                let most = match self.most {
                    MOST_NUMBER => "2^40".to_owned(),
                    u64::MAX => "2^64 - 1".to_owned(),
                    most => most.to_string(),
                };
                format!("{multiples} from {least} to {most}")
            }
            AxisKind::Numbers(numbers) => numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
            AxisKind::Choices(words) => words.join(", "),
        }
    }

    pub fn accepts(&self, value: &AxisValue) -> bool {
        match (&self.kind, value) {
            (AxisKind::AtLeast(least), AxisValue::Integer(n)) => (*least..=self.most).contains(n) && n % self.multiple_of == 0,
            (AxisKind::Numbers(numbers), AxisValue::Integer(n)) => numbers.contains(n),
            (AxisKind::Choices(words), AxisValue::Choice(word)) => words.contains(&word.as_ref()),
            _ => false,
        }
    }
}

/// One point of the product of an experiment's axes: a value for each, in the experiment's order.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Point(Vec<(Cow<'static, str>, AxisValue)>);

impl Point {
    pub fn new(values: impl IntoIterator<Item = (Cow<'static, str>, AxisValue)>) -> Self {
        Self(values.into_iter().collect())
    }

    /// The value of an axis, or nothing where the point has no such axis.
    pub fn get(&self, axis: &str) -> Option<&AxisValue> {
        self.0.iter().find(|(name, _)| name == axis).map(|(_, value)| value)
    }

    /// The number on an axis.
    ///
    /// # Panics
    /// Where the point has no such numeric axis: an experiment asks only for the axes that it declares.
    pub fn integer(&self, axis: &str) -> u64 {
        match self.get(axis) {
            Some(AxisValue::Integer(n)) => *n,
            other => panic!("axis `{axis}` is not a number here: {other:?}"),
        }
    }

    /// The number on an axis, at most `u32::MAX`: for what Vulkan limits in 32 bits (sizes of workgroups and grids), where
    /// anything larger is beyond the limit and stays beyond it. Other axes check their own bounds.
    pub fn u32(&self, axis: &str) -> u32 {
        u32::try_from(self.integer(axis)).unwrap_or(u32::MAX)
    }

    /// The choice on an axis, as [`Point::integer`] gives a number.
    pub fn choice(&self, axis: &str) -> &str {
        match self.get(axis) {
            Some(AxisValue::Choice(word)) => word,
            other => panic!("axis `{axis}` is not a choice here: {other:?}"),
        }
    }

    /// The same point with another value on an axis that it has.
    #[must_use]
    pub fn with(&self, axis: &str, value: &AxisValue) -> Self {
        let swap = |(name, old): &(Cow<'static, str>, AxisValue)| {
            (name.clone(), if name == axis { value.clone() } else { old.clone() })
        };
        Self(self.0.iter().map(swap).collect())
    }

    /// Changes the value at a place, in the experiment's order: for who goes through many points and keeps none.
    pub fn set(&mut self, place: usize, value: AxisValue) {
        self.0[place].1 = value;
    }

    /// What remains of the point without some axes: the same for all cases of a sweep along these.
    #[must_use]
    pub fn without(&self, axes: &[&str]) -> Self {
        Self(self.0.iter().filter(|(name, _)| !axes.contains(&name.as_ref())).cloned().collect())
    }

    /// Names and values, in the experiment's order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &AxisValue)> {
        self.0.iter().map(|(name, value)| (name.as_ref(), value))
    }
}

/// The canonical form `k=v;k=v`, sorted by name, as the column `axis_values` holds it.
impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sorted: Vec<_> = self.iter().collect();
        sorted.sort();
        for (i, (name, value)) in sorted.into_iter().enumerate() {
            write!(f, "{}{name}={value}", if i == 0 { "" } else { ";" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_prints_its_axes_sorted() {
        let point = Point::new([("n".into(), 4_u64.into()), ("a".into(), "copy".into())]);
        assert_eq!(point.to_string(), "a=copy;n=4");
    }

    #[test]
    fn an_axis_of_numbers_may_end_and_go_in_steps() {
        let axis = Axis::new("reads", "", AxisKind::AtLeast(8), [64_u64]).multiple_of(8).up_to(1024);
        let accepted = |n: u64| axis.accepts(&n.into());
        assert!([8, 64, 1024].into_iter().all(accepted) && ![0, 7, 9, 1032, u64::MAX].into_iter().any(accepted));
        assert_eq!(axis.takes(), "multiples of 8 from 8 to 1024");
        assert_eq!(Axis::new("n", "", AxisKind::AtLeast(1), [64_u64]).takes(), "whole numbers from 1 to 2^40");
    }

    #[test]
    fn an_axis_accepts_only_its_kind_of_value() {
        let axis = Axis::new("width", "words", AxisKind::Numbers(&[1, 2, 4]), [1_u64]);
        assert!(axis.accepts(&4_u64.into()));
        assert!(!axis.accepts(&3_u64.into()));
        assert!(!axis.accepts(&"copy".into()));
    }
}
