//! What tells the rows of an experiment apart.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::model::AxisValue;
use crate::record::Record;
use crate::units::Bytes;

/// What stands where a row has no value on an axis.
const NONE: &str = "-";

/// From here on a number is hard to read digit by digit.
const LONG: u64 = 1 << 16;

/// A row, and the place of its source among all.
#[derive(Clone, Copy, Debug)]
pub struct Row<'r> {
    pub source: usize,
    pub label: &'r str,
    pub record: &'r Record,
}

/// What has the same key, in the order in which keys first come.
pub fn grouped<T, K: Ord + Clone>(items: impl IntoIterator<Item = T>, key: impl Fn(&T) -> K) -> Vec<(K, Vec<T>)> {
    let mut places = BTreeMap::new();
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    for item in items {
        let key = key(&item);
        let place = *places.entry(key.clone()).or_insert(groups.len());
        if place == groups.len() {
            groups.push((key, Vec::new()));
        }
        groups[place].1.push(item);
    }
    groups
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    Source,
    Variant,
    Cache,
    /// How many lanes a subgroup had.
    SubgroupSize,
    Axis(String),
}

impl Key {
    /// What a row has there.
    pub fn of(&self, row: &Row) -> AxisValue {
        let word = |text: &str| AxisValue::Choice(Cow::Owned(text.to_owned()));
        match self {
            Self::Source => word(row.label),
            Self::Variant => word(&row.record.variant),
            Self::Cache => word(&row.record.cache),
            Self::SubgroupSize => row.record.subgroup_size.map_or_else(|| word(NONE), AxisValue::Integer),
            Self::Axis(name) => row.record.by_axis.get(name).cloned().unwrap_or_else(|| word(NONE)),
        }
    }

    /// A value in a few letters, where it is clear what it is of: `copy`, `64 KiB`, `2^26`.
    pub fn value_words(&self, value: &AxisValue) -> String {
        match value {
            AxisValue::Integer(n) if self.is_of_bytes() => Bytes(*n).to_string(),
            AxisValue::Integer(n) if *n >= LONG && n.is_power_of_two() => format!("2^{}", n.ilog2()),
            value => value.to_string(),
        }
    }

    /// The same where it isn't: `op=copy`.
    pub fn words(&self, value: &AxisValue) -> String {
        let value = self.value_words(value);
        match self {
            Self::Axis(name) => format!("{name}={value}"),
            Self::Cache => format!("{value} caches"),
            Self::SubgroupSize => format!("subgroups of {value}"),
            Self::Source | Self::Variant => value,
        }
    }

    pub fn title(&self) -> String {
        match self {
            Self::Axis(name) => name.clone(),
            Self::Cache => "cache".to_owned(),
            Self::SubgroupSize => "subgroup size".to_owned(),
            Self::Variant => "variant".to_owned(),
            Self::Source => String::new(),
        }
    }

    pub fn is_of_bytes(&self) -> bool {
        matches!(self, Self::Axis(name) if name.ends_with("bytes"))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimension {
    pub key: Key,
    /// What rows have there: numbers from the least to the greatest, words in the order in which they come.
    pub values: Vec<AxisValue>,
}

impl Dimension {
    fn of(key: Key, rows: &[Row]) -> Self {
        let mut seen = BTreeSet::new();
        let values = rows.iter().map(|row| key.of(row)).filter(|value| seen.insert(value.clone())).collect();
        let mut dimension = Self { key, values };
        if dimension.is_of_numbers() {
            dimension.values.sort();
        }
        dimension
    }

    pub fn is_of_numbers(&self) -> bool {
        self.values.iter().all(|value| matches!(value, AxisValue::Integer(_)))
    }
}

/// What tells rows apart, each with more than one value. What follows from others is left out: where each variant has its own size, the
/// variant says it. `first` is the axis that matters most.
pub fn dimensions(rows: &[Row], first: Option<&str>) -> Vec<Dimension> {
    let mut axes: Vec<&String> = rows.iter().flat_map(|row| row.record.by_axis.keys()).collect();
    axes.sort();
    axes.dedup();
    let axes = axes.into_iter().map(|axis| Key::Axis(axis.clone()));
    let keys = [Key::Source, Key::Variant, Key::Cache, Key::SubgroupSize].into_iter().chain(axes);
    let mut all: Vec<Dimension> = keys.map(|key| Dimension::of(key, rows)).filter(|one| one.values.len() > 1).collect();
    // Of two that follow from each other, the first is kept: what people ask for comes before what was computed from it.
    let rank = |one: &Dimension| match &one.key {
        Key::Axis(name) if Some(name.as_str()) == first => (0, 0),
        Key::Axis(name) if name.starts_with("local_size") => (4, one.values.len()),
        Key::Axis(_) if one.is_of_numbers() => (5, one.values.len()),
        Key::Axis(_) => (3, one.values.len()),
        Key::Source => (1, 0),
        Key::Variant => (2, 0),
        Key::Cache => (2, 1),
        // What was asked for by an axis, or follows from the workgroup's size, is said by that.
        Key::SubgroupSize => (6, 0),
    };
    all.sort_by_key(rank);
    // A number for each row, which those have in common that agree in all dimensions so far.
    let (mut numbers, mut count) = (vec![0; rows.len()], 1);
    all.retain(|one| {
        let mut known: BTreeMap<(usize, AxisValue), usize> = BTreeMap::new();
        for (row, number) in rows.iter().zip(&mut numbers) {
            let next = known.len();
            *number = *known.entry((*number, one.key.of(row))).or_insert(next);
        }
        std::mem::replace(&mut count, known.len()) != known.len()
    });
    all
}
