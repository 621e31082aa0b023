//! What tells the rows of an experiment apart.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::Source;
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
    /// The place of its source.
    pub source: usize,
    /// What its source is called.
    pub label: &'r str,
    pub record: &'r Record,
}

/// All rows of sources for which something holds.
pub fn rows_of<'s>(sources: &'s [Source], is_of: impl Fn(&Record) -> bool) -> Vec<Row<'s>> {
    let of_source = |(place, source): (usize, &'s Source)| {
        source.rows.iter().map(move |record| Row { source: place, label: &source.label, record })
    };
    sources.iter().enumerate().flat_map(of_source).filter(|row| is_of(row.record)).collect()
}

/// What can tell rows apart.
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

    /// What stands at an axis of a picture.
    pub fn title(&self) -> String {
        match self {
            Self::Axis(name) => name.clone(),
            Self::Cache => "cache".to_owned(),
            Self::SubgroupSize => "subgroup size".to_owned(),
            Self::Variant => "variant".to_owned(),
            Self::Source => String::new(),
        }
    }

    /// Whether its numbers are bytes.
    pub fn is_of_bytes(&self) -> bool {
        matches!(self, Self::Axis(name) if name.ends_with("bytes"))
    }
}

/// What some rows differ in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimension {
    pub key: Key,
    /// What rows have there: numbers from the least to the greatest, words in the order in which they come.
    pub values: Vec<AxisValue>,
}

impl Dimension {
    fn of(key: Key, rows: &[Row]) -> Self {
        let mut values: Vec<AxisValue> = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        values.extend(rows.iter().map(|row| key.of(row)).filter(|value| seen.insert(value.clone())));
        let mut dimension = Self { key, values };
        if dimension.is_of_numbers() {
            dimension.values.sort();
        }
        dimension
    }

    /// Whether it is one of numbers.
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
    let mut told = Told { of: vec![0; rows.len()], count: 1 };
    all.retain(|one| told.tell_apart(rows, &one.key));
    all
}

/// Which rows some dimensions tell apart.
struct Told {
    /// A number for each row, which those have in common that agree in all of them.
    of: Vec<usize>,
    /// How many numbers there are.
    count: usize,
}

impl Told {
    /// Tells rows apart by one thing more, and whether that tells any apart that weren't.
    fn tell_apart(&mut self, rows: &[Row], what: &Key) -> bool {
        let mut numbers: BTreeMap<(usize, AxisValue), usize> = BTreeMap::new();
        for (row, number) in rows.iter().zip(&mut self.of) {
            let next = numbers.len();
            *number = *numbers.entry((*number, what.of(row))).or_insert(next);
        }
        std::mem::replace(&mut self.count, numbers.len()) != numbers.len()
    }
}
