//! The rows of a set in order, and what they say of each other, as one run would have said it.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use super::super::relations::Relations;
use super::{DeviceRows, Row, RowSet};
use crate::experiments::{self, Experiment, Setting};
use crate::model::{Axis, AxisValue, Cache, DeviceInfo, Point, Preset};
use crate::plan::{Amount, amounts};
use crate::record::Record;

impl RowSet {
    /// Gives every row in order, its relations renewed, and after those of a device what follows from them. The taker says `false` where
    /// it wants no more. A row that was given is no longer kept: whoever takes them all has them once.
    pub fn each_renewed<E>(mut self, take: &mut dyn FnMut(Record) -> Result<bool, E>) -> Result<(), E> {
        let mut experiments = Experiments::default();
        let in_order = self.in_order();
        let groups: Vec<usize> = self.rows.iter().map(|row| row.group).collect();
        let blocks: Vec<usize> = groups.iter().map(|group| self.groups[*group].block).collect();
        for of_block in in_order.chunk_by(|one, two| blocks[*one] == blocks[*two]) {
            let block = blocks[of_block[0]];
            let mut caches: BTreeMap<String, Drawn> = BTreeMap::new();
            for of_group in of_block.chunk_by(|one, two| groups[*one] == groups[*two]) {
                // Only rows on equal terms make each other implausible.
                let mut judged = Relations::default();
                for row in of_group {
                    let mut record = std::mem::take(&mut self.rows[*row].packed).record();
                    judged.judge(&experiments.work(&record), &mut record);
                    let drawn = caches.entry(record.cache.clone()).or_default();
                    drawn.keep(&self.rows[*row], &record, &experiments.source(&record));
                    compare(&self, block, &drawn.relations, &mut record);
                    if !take(record)? {
                        return Ok(());
                    }
                }
            }
            for (cache, drawn) in caches {
                for record in drawn.derive(&cache, &self.blocks[block]) {
                    if !take(record)? {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }
}

/// Compares a row with the base that it names. Where it isn't known yet how that one ends, as in a shard, it stays named.
fn compare(rows: &RowSet, block: usize, relations: &Relations, record: &mut Record) {
    let base = std::mem::take(&mut record.relative_to);
    record.relative = None;
    let is_pending = rows.find(block, &base).is_none_or(|row| !row.completeness.is_tried());
    if is_pending {
        record.relative_to = base;
    } else {
        relations.compare(&base, record);
    }
}

#[derive(Default)]
struct Drawn {
    relations: Relations,
    /// What all of its rows share, with the latest timestamp.
    common: Option<Record>,
    /// Whether any case was tried: from a plan alone nothing follows.
    is_tried: bool,
}

impl Drawn {
    fn keep(&mut self, row: &Row, record: &Record, source: &Record) {
        match &mut self.common {
            Some(common) => {
                // As text: RFC 3339 in UTC sorts by time.
                let latest = std::mem::take(&mut common.written_at).max(record.written_at.clone());
                common.keep_common(record);
                common.written_at = latest;
            }
            None => self.common = Some(record.of_run()),
        }
        if row.completeness.is_tried() {
            self.relations.keep(source, true);
            self.is_tried = true;
        }
    }

    /// Derived rows tell of their run what all rows that they may follow from agree on, and nothing where those don't: they
    /// are of no one run then, and maybe of no one host. Their timestamp is the latest there is.
    fn derive(self, cache: &str, block: &DeviceRows) -> Vec<Record> {
        let Some(mut common) = self.common.filter(|_| self.is_tried) else { return Vec::new() };
        if let Some(timestamp) = block.derived.get(cache).filter(|timestamp| **timestamp > common.written_at) {
            timestamp.clone_into(&mut common.written_at);
        }
        let cache = if cache == Cache::Cold.as_str() { Cache::Cold } else { Cache::Warm };
        let row = |(derived, flags)| Record::derived(&common, &derived, &flags, cache);
        self.relations.derive().filter(|(derived, _)| derived.lacking().is_none()).map(row).collect()
    }
}

/// The experiments that rows are of, with their axes: names and meanings, which no device changes.
#[derive(Default)]
struct Experiments {
    known: HashMap<String, Option<Known>>,
}

type Known = (&'static Experiment, Vec<Axis>);

impl Experiments {
    /// A row's experiment. Nothing where it is of another version.
    fn of(&mut self, record: &Record) -> Option<&Known> {
        let known = self.known.entry(record.experiment.clone()).or_insert_with(|| {
            let device = DeviceInfo::mock();
            let setting = Setting { device: &device, queue: None, preset: Preset::Default, seed: 1 };
            let experiment = experiments::find(&record.experiment)?;
            Some((experiment, experiment.axes(&setting)))
        });
        known.as_ref()
    }

    fn work(&mut self, record: &Record) -> Vec<Amount> {
        let Some((experiment, axes)) = self.of(record) else { return Vec::new() };
        let is_number = |axis: &Axis| matches!(record.by_axis.get(axis.name.as_ref()), Some(AxisValue::Integer(_)));
        let axes: Vec<Axis> = axes.iter().filter(|axis| axis.is_monotone && is_number(axis)).cloned().collect();
        let point = Point::new(record.by_axis.iter().map(|(name, value)| (name.clone().into(), value.clone())));
        amounts(experiment, &axes, &record.variant, &point)
    }

    /// A row as figures may be drawn from it: with the neutral value on axes that the experiment didn't have yet. One that lacks others,
    /// or lies where no case does, is another version's: it gives up its experiment's name, and nothing is drawn from it.
    fn source<'r>(&mut self, record: &'r Record) -> Cow<'r, Record> {
        let axes = match self.of(record) {
            Some((experiment, axes)) if experiments::is_source(experiment.name()) => axes.as_slice(),
            _ => &[],
        };
        let mut source = Cow::Borrowed(record);
        for axis in axes {
            let own = record.by_axis.get(axis.name.as_ref());
            match own.or(axis.neutral.as_ref()).filter(|value| axis.accepts(value)) {
                Some(_) if own.is_some() => {}
                Some(value) => drop(source.to_mut().by_axis.insert(axis.name.to_string(), value.clone())),
                None => source.to_mut().experiment.clear(),
            }
        }
        source
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(axes: &[(&'static str, AxisValue)]) -> Record {
        let mut record = Record { experiment: "shared/bank_conflict".to_owned(), ..Record::new() };
        record = record.at(&Point::new(axes.iter().map(|(name, value)| ((*name).into(), value.clone()))));
        record
    }

    fn whole() -> Vec<(&'static str, AxisValue)> {
        let numbers = ["groups", "iterations", "local_size_x", "stride", "width"].map(|name| (name, 1_u64.into()));
        [&numbers[..], &[("padding", 0_u64.into()), ("pattern", "strided".into())]].concat()
    }

    #[test]
    fn rows_of_another_version_are_no_source_and_no_work() {
        let mut experiments = Experiments::default();
        let axes = whole();
        assert_eq!(*experiments.source(&row(&axes)), row(&axes));
        assert_eq!(experiments.work(&row(&axes)).len(), 2);
        for place in 0..axes.len() {
            let others = [&axes[..place], &axes[place + 1..]].concat();
            assert_eq!(experiments.source(&row(&others)).experiment, "", "without {}", axes[place].0);
            let unknown = [&others[..], &[(axes[place].0, "novel".into())]].concat();
            assert_eq!(experiments.source(&row(&unknown)).experiment, "", "{}", axes[place].0);
            let work = usize::from(axes[place].0 != "groups") + usize::from(axes[place].0 != "iterations");
            assert_eq!([others, unknown].map(|axes| experiments.work(&row(&axes)).len()), [work; 2], "{}", axes[place].0);
        }
        let unknown = Record { experiment: "novel/experiment".to_owned(), ..row(&axes) };
        assert_eq!((experiments.source(&unknown).into_owned(), experiments.work(&unknown)), (unknown.clone(), vec![]));
    }
}
