//! What a search says of a shader: the answer, and the times over the two axes that matter most.

use std::collections::{BTreeMap, BTreeSet};

use super::chart::{Body, Chart};
use super::charts::{Picture, grid, pictures};
use super::conclusion::{Sense, conclusion};
use super::sweep::{Key, Row};
use crate::model::{AxisValue, Failure, Flag, Point, Status, Stop};
use crate::output::{Page, answer_in_sentences, answer_text, effects_text};
use crate::record::Record;
use crate::stats::Interval;
use crate::tuning::answer::{Answer, Finale, Timing, Trial};
use crate::tuning::ending::{Figure, Obstacle};
use crate::tuning::space::{Space, SpaceError};

const WIDTH: u16 = 110;

pub fn is_tuned(experiment: &str) -> bool {
    experiment.starts_with("tune/")
}

pub struct Tuned {
    /// What they have in common, where rows of the same source differ in it: `cold caches`. Else empty.
    pub of: String,
    /// The answer in sentences, or why there is none.
    pub in_short: String,
    /// Whether the search kept it, and it doesn't follow from the rows, as where the search was interrupted.
    pub is_kept: bool,
    /// The answer as a terminal shows it; of one that was kept, what each axis matters.
    pub answer: String,
    /// What else the search said, such as doubts.
    pub notes: String,
    /// The times over two axes, of the best configuration of each cell; nothing where there is one axis.
    pub picture: Option<Picture>,
}

/// What follows from rows of one source that were tuned: an answer for each variant and each state of the caches, and for each set of axes
/// that were given, as far as rows have times.
pub fn tuned<'r>(rows: &[Row<'r>]) -> Vec<(Row<'r>, Tuned)> {
    let rows: Vec<Row> = rows.iter().filter(|row| !row.record.is_derived()).copied().collect();
    let apart: Vec<Key> = [Key::Variant, Key::Cache].into_iter().filter(|key| values(&rows, key).len() > 1).collect();
    let axes = |row: &Row<'r>| row.record.by_axis.keys().map(String::as_str).collect::<Vec<&str>>();
    let mut searches: BTreeMap<(Vec<AxisValue>, Vec<&str>), Vec<Row>> = BTreeMap::new();
    for row in rows {
        searches.entry((apart.iter().map(|key| key.of(&row)).collect(), axes(&row))).or_default().push(row);
    }
    let are_of_one_kind = searches.keys().map(|(_, axes)| axes).collect::<BTreeSet<_>>().len() < 2;
    let tuned = |((values, axes), rows): ((Vec<AxisValue>, Vec<&str>), Vec<Row<'r>>)| {
        let of = apart.iter().zip(&values).map(|(key, value)| key.words(value)).filter(|words| !words.is_empty());
        let of_axes = (!are_of_one_kind).then(|| format!("by {}", axes.join(", ")));
        Some((*rows.first()?, search(&rows, of.chain(of_axes).collect::<Vec<_>>().join(", "))?))
    };
    searches.into_iter().filter_map(tuned).collect()
}

fn values(rows: &[Row], key: &Key) -> Vec<AxisValue> {
    rows.iter().map(|row| key.of(row)).collect::<BTreeSet<_>>().into_iter().collect()
}

/// What follows from the rows of one search; nothing where none has a time.
fn search(rows: &[Row], of: String) -> Option<Tuned> {
    let axes = varied(rows);
    let trials: Vec<Trial> = rows.iter().filter_map(|row| trial(row.record, &axes)).collect();
    let space = match Space::of(trials.iter().map(|trial| &trial.point)) {
        Ok(space) => space,
        Err(SpaceError::TooLarge { count, most }) => {
            let answer = format!(
                "There is no answer here: the values of these axes have {count} combinations, and more than {most} are not looked at. \
                 Rows of several searches get an answer each where each file has a name: one=FILE two=FILE.\n"
            );
            return Some(Tuned { of, in_short: answer.clone(), is_kept: false, answer, notes: String::new(), picture: None });
        }
        // Nothing was tried.
        Err(_) => return None,
    };
    let figures: Vec<Figure> = rows.iter().filter_map(|row| figure(row.record, &trial(row.record, &axes)?)).collect();
    let default = rows.iter().find(|row| row.record.is_default == Some(true));
    let default = default.and_then(|row| Some(trial(row.record, &axes)?.point));
    let answer = Answer::new(&space, &trials, Finale { figures: &figures, cut: 0, nearest: None }, default.as_ref())?;
    let page = Page { width: WIDTH, ..Page::FILE };
    let kept = rows.iter().map(|row| row.record).find(|record| !record.search_answer.is_empty());
    let (in_short, notes) = match kept {
        Some(record) => (record.search_answer.clone(), record.search_notes.clone()),
        None => (answer_in_sentences(&answer), String::new()),
    };
    let text = if kept.is_some() { effects_text(&answer, page) } else { answer_text(&answer, page) };
    let picture = picture(rows, &answer, &of).or_else(|| pictures(rows, None, &[], 1).shown.pop());
    Some(Tuned { in_short, is_kept: kept.is_some(), answer: text, notes, picture, of })
}

/// The axes that were searched: those with more than one value.
fn varied(rows: &[Row]) -> BTreeSet<String> {
    let mut values: BTreeMap<&String, BTreeSet<&AxisValue>> = BTreeMap::new();
    for (axis, value) in rows.iter().flat_map(|row| &row.record.by_axis) {
        values.entry(axis).or_default().insert(value);
    }
    values.into_iter().filter(|(_, values)| values.len() > 1).map(|(axis, _)| axis.clone()).collect()
}

fn trial(record: &Record, axes: &BTreeSet<String>) -> Option<Trial> {
    let searched = record.by_axis.iter().filter(|(name, _)| axes.contains(*name));
    let point = Point::new(searched.map(|(name, value)| (name.clone().into(), value.clone())));
    let outcome = match Status::named(&record.status)? {
        Status::Ok => {
            let time = record.time_ns?;
            let (low, high) = record.ci_low_ns.zip(record.ci_high_ns).unwrap_or((time, time));
            let is_rough = Stop::ALL.iter().any(|stop| stop.is_early() && stop.as_str() == record.stop);
            Ok(if is_rough { Timing::rough } else { Timing::precise }(time, Interval { low, high }))
        }
        Status::Skipped | Status::Planned | Status::NotRun => return None,
        status => Err(Failure::new(status, record.reason.clone())),
    };
    Some(Trial { point, outcome })
}

/// What a row tells of a configuration that was measured beside others; nothing of one that the search alone looked at.
fn figure(record: &Record, trial: &Trial) -> Option<Figure> {
    let figure = Figure::from_interval(trial)?;
    let disturbances = [(Flag::Contended, Obstacle::Contended), (Flag::Throttled, Obstacle::Throttled)];
    let seen = disturbances.into_iter().find(|(flag, _)| record.has_flag(&flag.to_string()));
    Some(Figure { disturbance: seen.map(|(_, obstacle)| obstacle), ..figure })
}

/// The axes of a picture: the workgroup's, where both were searched, else those that matter most.
fn axes(answer: &Answer) -> Option<[String; 2]> {
    let mut varied: Vec<_> = answer.axes.iter().filter(|axis| axis.others > 0).collect();
    let sizes = ["local_size_x", "local_size_y"];
    if sizes.iter().all(|size| varied.iter().any(|axis| axis.axis == *size)) {
        return Some(sizes.map(str::to_owned));
    }
    varied.sort_by(|one, other| other.share.unwrap_or(0.0).total_cmp(&one.share.unwrap_or(0.0)));
    match varied.as_slice() {
        [first, second, ..] => Some([first.axis.clone(), second.axis.clone()]),
        _ => None,
    }
}

fn picture(rows: &[Row], answer: &Answer, of: &str) -> Option<Picture> {
    let [columns, down] = axes(answer)?.map(Key::Axis);
    let first = rows.first()?;
    let keys: Vec<Key> = first.record.by_axis.keys().map(|axis| Key::Axis(axis.clone())).collect();
    let grid = grid(rows, [&columns, &down], [&columns, &down].map(|key| values(rows, key)), &keys);
    let of_others = if answer.axes.iter().filter(|axis| axis.others > 0).count() > 2 {
        ": in each cell the fastest of all values of the other axes"
    } else {
        ""
    };
    let of = if of.is_empty() { String::new() } else { format!(", {of}") };
    let sense = rows.iter().find_map(|row| super::figures::figure(row.record)).map(|figure| Sense::of(&figure));
    let body = Body::Grid(grid);
    let conclusion = conclusion(&body, sense?);
    let chart = Chart { title: format!("{}{of}{of_others}", first.record.experiment), body };
    Some(Picture { chart, sources: [first.source].into(), conclusion })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(axes: &[(&str, u64)], cache: &str, time: f64) -> Record {
        Record {
            experiment: "tune/shader.comp".to_owned(),
            status: "ok".to_owned(),
            cache: cache.to_owned(),
            time_ns: Some(time),
            ci_low_ns: Some(0.99 * time),
            ci_high_ns: Some(1.01 * time),
            by_axis: axes.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect(),
            ..Record::new()
        }
    }

    fn answers(records: &[Record]) -> Vec<(String, String)> {
        let rows: Vec<Row> = records.iter().map(|record| Row { source: 0, label: "one", record }).collect();
        tuned(&rows).into_iter().map(|(_, tuned)| (tuned.of, tuned.answer)).collect()
    }

    #[test]
    fn each_state_of_the_caches_has_its_answer() {
        let of = |cache| {
            move |x: u64| record(&[("local_size_x", x)], cache, if cache == "warm" { 1e3 / x as f64 } else { 1e3 * x as f64 })
        };
        let warm: Vec<Record> = [32, 64, 128].map(of("warm")).to_vec();
        let alone = answers(&warm);
        assert_eq!(alone.len(), 1);
        assert!(alone[0].0.is_empty() && alone[0].1.contains("local_size_x=128"), "{alone:?}");
        let both = answers(&[warm, [32, 64, 128].map(of("cold")).to_vec()].concat());
        let best = both.iter().map(|(of, answer)| (of.as_str(), answer.lines().next().unwrap_or_default()));
        let best: Vec<_> = best.collect();
        assert!(
            matches!(best.as_slice(), [("cold caches", cold), ("warm caches", warm)] if cold.contains("local_size_x=32") && warm.contains("local_size_x=128")),
            "{best:?}"
        );
    }

    #[test]
    fn axes_without_an_answer_say_why() {
        let names = ["a", "b", "c", "d", "e", "f", "g"];
        let all = |value: u64| record(&names.map(|name| (name, value)), "warm", 5.0 + value as f64);
        // 20^7 are more than searches look at, and fewer than nobody could number; 30^7 are more.
        assert!(answers(&(0..20).map(all).collect::<Vec<_>>())[0].1.contains("a=0"));
        let countless = answers(&(0..30).map(all).collect::<Vec<_>>());
        assert!(
            countless[0].1.starts_with("There is no answer here: the values of these axes have 21870000000 comb"),
            "{countless:?}"
        );
        // Searches over other axes are others.
        let other = [1, 2, 3].map(|tile| record(&[("tile", tile)], "warm", 9.0 - tile as f64));
        let more = [1, 2].map(|tile| record(&[("tile", tile), ("unroll", 4)], "warm", 3.0 + tile as f64));
        let both = answers(&[other.to_vec(), more.to_vec()].concat());
        let told: Vec<_> = both.iter().map(|(of, answer)| (of.as_str(), answer.lines().next().unwrap_or_default())).collect();
        assert!(
            matches!(told.as_slice(), [("by tile", three), ("by tile, unroll", two)] if three.contains("tile=3") && two.contains("tile=1")),
            "{told:?}"
        );
        let failed = Record { status: "failed".to_owned(), time_ns: None, ..record(&[("x", 1)], "warm", 1.0) };
        assert_eq!(answers(&[failed]), []);
    }
}
