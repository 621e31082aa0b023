//! What was captured of an application: where its time goes, and what ran when in one submission.

use super::chart::{Bar, BarGroup, Bars, Body, Chart, Lane, Scale, Span, Ticks, Timeline};
use super::charts::{Picture, Pictures};
use super::figures::{is_doubted, tip_of};
use super::sweep::{Row, grouped};
use crate::capture::EXPERIMENT;
use crate::record::Record;
use crate::units::{figure, percent, scaled};

/// Kernels of a picture; the others are one more.
const MOST: usize = 24;

pub fn is_captured(experiment: &str) -> bool {
    experiment == EXPERIMENT
}

/// The pictures of an application's kernels, for each source.
pub fn pictures(rows: &[Row]) -> Pictures {
    let of_sources = grouped(rows.iter().copied(), |row| row.source);
    let pictures = |(source, rows): &(usize, Vec<Row>)| {
        let chart = |title: &str, body| Chart { title: title.to_owned(), body };
        let shares = shares(rows).map(|bars| chart("Where the time of its dispatches goes", Body::Bars(bars)));
        let timeline = timeline(rows).map(|body| chart("What ran when in one submission", Body::Timeline(body)));
        let picture = |chart| Picture { chart, sources: [*source].into(), conclusion: None };
        shares.into_iter().chain(timeline).map(picture).collect::<Vec<_>>()
    };
    Pictures { shown: of_sources.iter().flat_map(pictures).collect(), ..Pictures::default() }
}

fn name(record: &Record) -> String {
    let groups = record.by_axis.get("groups").map_or_else(String::new, |groups| format!(" {groups}"));
    format!("{}{groups}", record.variant)
}

fn tip(record: &Record, more: String) -> String {
    let calls = record.calls.map_or_else(String::new, |calls| format!("calls: {calls}"));
    let median = record.time_ns.map_or_else(String::new, |time| format!("median: {}", figure(time, record.time_ends(), "ns")));
    tip_of([name(record), more, calls, median, record.quality_flags.replace(';', ", ")])
}

/// Shares of the time, the largest first; nothing where nothing was timed.
fn shares(rows: &[Row]) -> Option<Bars> {
    let mut timed: Vec<(&Record, f64)> = rows.iter().filter_map(|row| Some((row.record, row.record.share?))).collect();
    timed.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let rest: f64 = timed.iter().skip(MOST).map(|(_, share)| share).sum();
    let bar = |name: String, share: f64, is_doubted: bool, tip: String| {
        let bar = Bar { value: 100.0 * share, interval: None, text: percent(share), is_doubted, tip };
        BarGroup { name, bars: vec![Some(bar)] }
    };
    let of = |(record, share): &(&Record, f64)| bar(name(record), *share, is_doubted(record), tip(record, percent(*share)));
    let mut groups: Vec<BarGroup> = timed.iter().take(MOST).map(of).collect();
    if timed.len() > MOST {
        let others = format!("{} others", timed.len() - MOST);
        groups.push(bar(others.clone(), rest, false, tip_of([others, percent(rest)])));
    }
    let scale = Scale { label: "share of the time of all dispatches, %".to_owned(), is_log: false, ticks: Ticks::Plain };
    (!groups.is_empty()).then(|| Bars { scale, series: vec![String::new()], groups })
}

/// The spans of one row: from when to when, in nanoseconds.
fn spans(record: &Record) -> Vec<(f64, f64)> {
    let span = |text: &str| {
        let (start, time) = text.split_once(':')?;
        let (start, time): (f64, f64) = (start.parse().ok()?, time.parse().ok()?);
        Some((start, start + time))
    };
    record.timeline_ns.split(';').filter_map(span).collect()
}

/// Kernels in the order in which they first ran; nothing where nothing was timed.
fn timeline(rows: &[Row]) -> Option<Timeline> {
    let mut all: Vec<(&Record, Vec<(f64, f64)>)> = rows.iter().map(|row| (row.record, spans(row.record))).collect();
    all.retain(|(_, spans)| !spans.is_empty());
    let first = |spans: &[(f64, f64)]| spans.iter().map(|(start, _)| *start).fold(f64::INFINITY, f64::min);
    let time = |spans: &[(f64, f64)]| spans.iter().map(|(start, end)| end - start).sum::<f64>();
    // Those with the most time are kept.
    all.sort_by(|(_, one), (_, other)| time(other).total_cmp(&time(one)));
    let others = all.split_off(all.len().min(MOST));
    all.sort_by(|(_, one), (_, other)| first(one).total_cmp(&first(other)));
    let last = all.iter().chain(&others).flat_map(|(_, spans)| spans).map(|(_, end)| *end).fold(0.0, f64::max);
    let (scale, unit) = scaled("ns", last);
    let span = |record: &Record, (start, end): &(f64, f64)| {
        let words = format!("{} from {} on", figure(end - start, None, "ns"), figure(*start, None, "ns"));
        Span { start: start / scale, end: end / scale, is_doubted: is_doubted(record), tip: tip(record, words) }
    };
    let lane = |(record, spans): &(&Record, Vec<(f64, f64)>)| Lane {
        name: name(record),
        spans: spans.iter().map(|own| span(record, own)).collect(),
    };
    let mut lanes: Vec<Lane> = all.iter().map(lane).collect();
    if !others.is_empty() {
        let spans = others.iter().flat_map(|(record, spans)| spans.iter().map(|own| span(record, own))).collect();
        lanes.push(Lane { name: format!("{} others", others.len()), spans });
    }
    let label = format!("time from the submission's first dispatch on, {unit}");
    let x = Scale { label, is_log: false, ticks: Ticks::Plain };
    (!lanes.is_empty()).then_some(Timeline { x, lanes })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{AxisValue, Point};

    fn record(variant: &str, share: f64, timeline: &str) -> Record {
        let record = Record {
            experiment: EXPERIMENT.to_owned(),
            variant: variant.to_owned(),
            status: "ok".to_owned(),
            share: Some(share),
            calls: Some(3),
            time_ns: Some(1000.0),
            timeline_ns: timeline.to_owned(),
            ..Record::new()
        };
        record.at(&Point::new([("groups".into(), AxisValue::Choice("4x1x1".into()))]))
    }

    fn of(records: &[Record]) -> Vec<Chart> {
        let rows: Vec<Row> = records.iter().map(|record| Row { source: 0, label: "A GPU", record }).collect();
        pictures(&rows).shown.into_iter().map(|picture| picture.chart).collect()
    }

    #[test]
    fn shares_are_bars_and_a_submission_is_a_timeline_in_its_order() {
        let charts = of(&[record("late", 0.25, "5000:20000"), record("early", 0.75, "0:4000;30000:1000")]);
        let [Chart { body: Body::Bars(bars), .. }, Chart { body: Body::Timeline(timeline), .. }] = &charts[..] else {
            panic!("{charts:?}")
        };
        let shares: Vec<_> =
            bars.groups.iter().map(|group| (group.name.as_str(), group.bars[0].as_ref().unwrap().value)).collect();
        assert_eq!(shares, [("early 4x1x1", 75.0), ("late 4x1x1", 25.0)]);
        let spans: Vec<_> =
            timeline.lanes.iter().map(|lane| (lane.name.as_str(), lane.spans.len(), lane.spans[0].end)).collect();
        assert_eq!(spans, [("early 4x1x1", 2, 4.0), ("late 4x1x1", 1, 25.0)]);
    }

    #[test]
    fn many_kernels_are_put_together_and_what_was_not_timed_has_no_picture() {
        let many: Vec<Record> = (0..30).map(|at| record(&format!("k{at:02}"), 1.0 / 30.0, "1:2")).collect();
        let charts = of(&many);
        let Body::Bars(bars) = &charts[0].body else { panic!("{charts:?}") };
        assert!(bars.groups.len() == MOST + 1 && bars.groups[MOST].name == "6 others");
        assert!(of(&[Record { share: None, ..record("a", 0.0, "") }]).is_empty());
    }
}
