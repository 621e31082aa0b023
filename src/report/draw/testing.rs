//! Pictures of every kind, from small, large and hostile data.

use proptest::prelude::*;

use super::super::chart::{
    Bar, BarGroup, Bars, Better, Body, Chart, Curves, Datum, Expected, Grid, GridCell, Lane, Line, Mark, RatioItem, Ratios,
    Roof, Roofline, Scale, Span, Ticks, Timeline, Verdict,
};
use super::{Medium, svg};
use crate::stats::Ratio;

/// A text of a stranger's file: it ends a script, a stylesheet and a comment, turns the direction of reading, and is long.
const HOSTILE: &str = "<script>alert(1)</script></style>--> ${x} \"'&\u{202e}\u{1b}[31m\0\u{ffff}";

fn scale(label: &str, is_log: bool, ticks: Ticks) -> Scale {
    Scale { label: label.to_owned(), is_log, ticks }
}

fn chart(title: &str, body: Body) -> Chart {
    Chart { title: title.to_owned(), body }
}

/// A line of so many points, each fourth of which is flagged.
fn curves(count: usize) -> Curves {
    let point = |i: usize| Datum {
        x: 1024.0 * 2_f64.powf(i as f64 * 20.0 / count as f64),
        y: 30.0 + i as f64,
        interval: Some((29.0 + i as f64, 31.0 + i as f64)),
        is_doubted: i % 4 == 0,
        tip: i.to_string(),
    };
    Curves {
        x: scale("working set", true, Ticks::Bytes),
        y: scale("time for a load, ns", true, Ticks::Plain),
        lines: vec![Line { name: "a".to_owned(), points: (0..count).map(point).collect() }],
        marks: Vec::new(),
        expected: Vec::new(),
    }
}

/// Bars, some of which are flagged, and one of which has no figure.
fn bars(series: &[&str], groups: usize) -> Bars {
    let bar = |group: usize, series: usize| {
        let value = 2700.0 / (1.0 + group as f64 * 0.6 + series as f64 * 0.2);
        Bar {
            value,
            interval: Some((value * 0.95, value * 1.04)),
            text: format!("{value:.0} GB/s"),
            is_doubted: (group + series) % 4 == 2,
            tip: format!("{group} {series}"),
        }
    };
    let names = ["atomic", "tree", "tree_unrolled", "subgroup", "subgroup_two_stages", "persistent"];
    let group = |group: usize| BarGroup {
        name: names[group % names.len()].to_owned(),
        bars: (0..series.len()).map(|index| (group != 3 || index != 1).then(|| bar(group, index))).collect(),
    };
    Bars {
        scale: scale("bandwidth, GB/s", false, Ticks::Plain),
        series: series.iter().map(|name| (*name).to_owned()).collect(),
        groups: (0..groups).map(group).collect(),
    }
}

// ---- what every picture has to be ------------------------------------------------------------------------------------------

/// The data of a picture that has a place.
fn datum_count(chart: &Chart) -> usize {
    let of_lines = |lines: &[Line], are_log: (bool, bool)| {
        let can_be = |value: f64, is_log| super::axis::can_hold(value, is_log);
        lines.iter().flat_map(|line| &line.points).filter(|d| can_be(d.x, are_log.0) && can_be(d.y, are_log.1)).count()
    };
    match &chart.body {
        Body::Curves(curves) => of_lines(&curves.lines, (curves.x.is_log, curves.y.is_log)),
        Body::Bars(bars) => bars.groups.iter().flat_map(|group| group.bars.iter().flatten()).count(),
        Body::Grid(grid) => grid.cells.iter().flatten().filter(|cell| **cell != GridCell::Empty).count(),
        Body::Ratios(ratios) => ratios.items.len(),
        Body::Roofline(roofline) => of_lines(&roofline.kernels, (true, true)),
        Body::Timeline(timeline) => {
            timeline.lanes.iter().flat_map(|lane| &lane.spans).filter(|span| super::timeline::is_drawn(span)).count()
        }
    }
}

/// What is wrong with a picture.
fn faults(chart: &Chart, text: &str) -> Vec<String> {
    let document = match roxmltree::Document::parse(text) {
        Ok(document) => document,
        Err(error) => return vec![error.to_string()],
    };
    let mut faults = Vec::new();
    let hits = document.descendants().filter(|node| node.attribute("class").is_some_and(|class| class.starts_with("hit")));
    let (hits, data) = (hits.count(), datum_count(chart));
    if hits != data {
        faults.push(format!("{hits} hits for {data} data"));
    }
    let root = document.root_element();
    let view: Vec<f64> = root.attribute("viewBox").unwrap().split(' ').map(|number| number.parse().unwrap()).collect();
    for node in document.descendants().filter(roxmltree::Node::is_element) {
        let allowed = ["svg", "g", "title", "rect", "circle", "polyline", "polygon", "text"];
        if !allowed.contains(&node.tag_name().name()) {
            faults.push(format!("an element {}", node.tag_name().name()));
        }
        for (x, y) in places(node) {
            if !(-1.0..=view[2] + 1.0).contains(&x) || !(-1.0..=view[3] + 1.0).contains(&y) {
                faults.push(format!("{} at {x}, {y} is outside of {view:?}", node.tag_name().name()));
            }
        }
        faults.extend(cut(node, view[2]));
    }
    let is_number = |attribute: &roxmltree::Attribute| {
        attribute.name() == "aria-label" || !["NaN", "inf"].iter().any(|word| attribute.value().contains(word))
    };
    let odd = document.descendants().filter(|node| !node.attributes().all(|attribute| is_number(&attribute)));
    faults.extend(odd.map(|node| format!("{node:?} has no numbers")));
    faults
}

fn places(node: roxmltree::Node<'_, '_>) -> Vec<(f64, f64)> {
    let number = |name: &str| node.attribute(name).and_then(|number| number.parse::<f64>().ok());
    let pair = |x: &str, y: &str| number(x).zip(number(y));
    let corner = pair("x", "y").zip(pair("width", "height")).map(|((x, y), (width, height))| (x + width, y + height));
    let points = node.attribute("points").unwrap_or_default().split_whitespace().map(|point| {
        let (x, y) = point.split_once(',').unwrap();
        (x.parse::<f64>().unwrap(), y.parse::<f64>().unwrap())
    });
    [pair("x", "y"), pair("cx", "cy"), corner].into_iter().flatten().chain(points).collect()
}

/// A level text that goes beyond the left or right edge.
fn cut(node: roxmltree::Node<'_, '_>, right: f64) -> Option<String> {
    if node.tag_name().name() != "text" || node.attribute("transform").is_some() {
        return None;
    }
    let text = node.text().unwrap_or_default().trim();
    let size: f64 = node.attribute("font-size")?.parse().ok()?;
    let width = super::text::width(text, size);
    let x = node.attribute("x")?.parse::<f64>().ok()?;
    let start = match node.attribute("text-anchor") {
        Some("end") => x - width,
        Some(_) => x - width / 2.0,
        None => x,
    };
    (start < -1.0 || start + width > right + 1.0).then(|| format!("`{text}` lies at {start} to {}", start + width))
}

fn check(chart: &Chart) {
    for place in [Medium::Page, Medium::File] {
        let text = svg(chart, place);
        let faults = faults(chart, &text);
        assert!(faults.is_empty(), "{}: {:#?}\n{text}", chart.title, &faults[..faults.len().min(5)]);
    }
}

#[test]
fn usual_figures_are_pictures_that_hold_their_data() {
    check(&chart("Curves", Body::Curves(curves(80))));
    check(&chart("Groups", Body::Bars(bars(&["device A", "device B", "device C", "device D"], 5))));
}

#[test]
fn a_fault_is_found() {
    let chart = &chart("Bars", Body::Bars(bars(&[""], 8)));
    let text = svg(chart, Medium::Page);
    for (from, to, word) in [
        ("<title>", "<title><b>", "expected 'b' tag"),
        ("class=\"hit\"", "class=\"\"", "hits for"),
        ("height=\"18\"><title>", "height=\"9999\"><title>", "outside"),
        ("points=", "y=\"NaN\" points=", "no numbers"),
        ("fill=\"transparent\"", "fill=\"inf\"", "no numbers"),
        ("<g ", "<script/><g ", "an element script"),
        (">atomic<", ">atomic, whose name is longer than the room for names at the left of bars<", "lies at"),
    ] {
        assert!(text.contains(from), "{from}");
        let found = faults(chart, &text.replacen(from, to, 1));
        assert!(found.iter().any(|fault| fault.contains(word)), "{from}: {found:?}");
    }
}

#[test]
fn texts_of_strangers_stay_texts() {
    let mut bars = bars(&[HOSTILE], 1);
    bars.groups[0].name = format!("tree{HOSTILE}");
    for bar in bars.groups[0].bars.iter_mut().flatten() {
        (bar.text, bar.tip) = (format!("1{HOSTILE}"), format!("{HOSTILE}\nsecond line"));
    }
    let text = svg(&chart(HOSTILE, Body::Bars(bars)), Medium::File);
    let document = roxmltree::Document::parse(&text).unwrap();
    let is_shown = |c: &char| !c.is_control() && !matches!(c, '\u{202e}' | '\u{ffff}');
    let plain: String = HOSTILE.chars().filter(is_shown).collect();
    let all = |tag: &str| -> Vec<String> {
        let nodes = document.descendants().filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", tag)));
        nodes.map(|node| node.text().unwrap_or_default().trim().to_owned()).collect()
    };
    assert_eq!(all("title"), [plain.clone(), format!("{plain}\nsecond line")]);
    assert_eq!(document.root_element().attribute("aria-label"), Some(plain.as_str()));
    assert!(all("text").contains(&plain), "the title: {:?}", all("text"));
    // What is too long has lost its middle; a long name stands above what it names.
    assert!(all("text").iter().any(|text| text.starts_with("1<script>") && text.contains('…')), "{:?}", all("text"));
    assert!(all("text").contains(&format!("tree{plain}")), "{:?}", all("text"));
    assert!(!text.contains("<script") && !text.contains("</style"), "{text}");
}

#[test]
fn a_page_tells_the_title_itself() {
    let chart = chart("The title", Body::Bars(bars(&[""], 2)));
    let (page, file) = (svg(&chart, Medium::Page), svg(&chart, Medium::File));
    let is_drawn = |text: &str| text.contains(">The title</text>");
    assert!(!is_drawn(&page) && is_drawn(&file));
    assert!(!page.contains("fill=\"white\"") && file.contains("fill=\"white\""));
    assert!([page, file].iter().all(|text| text.contains("role=\"img\"") && text.contains("aria-label=\"The title\"")));
}

/// Hidden by its class, a flagged datum leaves nothing behind: there is as much as where it never was.
#[test]
fn what_is_flagged_can_be_hidden() {
    let visible = |text: &str| {
        let document = roxmltree::Document::parse(text).unwrap();
        let is_doubted =
            |node: &roxmltree::Node<'_, '_>| node.attribute("class").is_some_and(|class| class.contains("doubted"));
        let shapes =
            document.descendants().filter(|node| ["circle", "polygon", "rect", "text"].contains(&node.tag_name().name()));
        shapes.filter(|node| !node.ancestors().any(|above| is_doubted(&above))).count()
    };
    let count = |change: fn(Bar) -> Option<Bar>| {
        let mut bars = bars(&["a"], 8);
        bars.groups.iter_mut().flat_map(|group| &mut group.bars).for_each(|bar| *bar = bar.take().and_then(change));
        visible(&svg(&chart("", Body::Bars(bars)), Medium::Page))
    };
    let hidden = count(Some);
    assert_eq!(hidden, count(|bar| Some(bar).filter(|bar| !bar.is_doubted)));
    assert!(count(|bar| Some(Bar { is_doubted: false, ..bar })) > hidden);
}

/// While flagged data is hidden, a curve is what it would be without it: its line and its band pass by.
#[test]
fn a_curve_passes_by_what_is_hidden() {
    let points = |text: &str, hidden: &str| {
        let document = roxmltree::Document::parse(text).unwrap();
        let is_hidden = |node: &roxmltree::Node<'_, '_>| node.ancestors().any(|above| above.attribute("class") == Some(hidden));
        let lines = document.descendants().filter(|node| node.attribute("stroke-width") == Some("1.8") && !is_hidden(node));
        let counts = lines.map(|node| node.attribute("points").unwrap().split(' ').count());
        // A legend's lines have two.
        counts.filter(|count| *count > 2).collect::<Vec<_>>()
    };
    let drawn = |place| svg(&chart("", Body::Curves(curves(12))), place);
    // Each fourth point is flagged.
    assert_eq!(points(&drawn(Medium::Page), "trusted"), [12]);
    assert_eq!(points(&drawn(Medium::Page), "doubted"), [9]);
    assert_eq!(points(&drawn(Medium::File), ""), [12]);
    // What is left has its markers, however near those lay that are hidden.
    let mut near = curves(80);
    near.lines[0].points.iter_mut().enumerate().for_each(|(place, datum)| datum.is_doubted = place % 2 == 0);
    let mut alone = near.clone();
    alone.lines[0].points.retain(|datum| !datum.is_doubted);
    let markers = |curves: Curves| {
        let text = svg(&chart("", Body::Curves(curves)), Medium::Page);
        let is_marker = |line: &&str| line.starts_with("<circle cx") && line.contains("r=\"3\"");
        text.lines().filter(is_marker).count()
    };
    assert_eq!(markers(near), markers(alone));
}

// ---- by numbers and texts of any kind ---------------------------------------------------------------------------------------

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        -1e6..1e6_f64,
        (-9..16_i32).prop_map(|exponent| 10_f64.powi(exponent)),
        Just(0.0),
        Just(1.0),
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(f64::NEG_INFINITY),
    ]
}

fn words() -> impl Strategy<Value = String> {
    let own = ["", HOSTILE, "64", "1048576", "registers_and_vectors_of_four"].map(str::to_owned).to_vec();
    prop_oneof![prop::sample::select(own), "\\PC{0,30}", any::<String>(), Just("long ".repeat(60))]
}

fn some<S: Strategy>(of: S, most: usize) -> impl Strategy<Value = Vec<S::Value>> {
    prop::collection::vec(of, 0..most)
}

fn any_scale() -> impl Strategy<Value = Scale> {
    let ticks = prop::sample::select(vec![Ticks::Plain, Ticks::Binary, Ticks::Bytes]);
    (words(), any::<bool>(), ticks).prop_map(|(label, is_log, ticks)| Scale { label, is_log, ticks })
}

fn interval() -> impl Strategy<Value = Option<(f64, f64)>> {
    prop::option::of((number(), number()))
}

fn any_lines() -> impl Strategy<Value = Vec<Line>> {
    let datum = (number(), number(), interval(), any::<bool>(), words());
    let datum = datum.prop_map(|(x, y, interval, is_doubted, tip)| Datum { x, y, interval, is_doubted, tip });
    some((words(), some(datum, 6)).prop_map(|(name, points)| Line { name, points }), 10)
}

fn any_timeline() -> impl Strategy<Value = Body> {
    let span = (number(), number(), any::<bool>(), words());
    let span = span.prop_map(|(start, end, is_doubted, tip)| Span { start, end, is_doubted, tip });
    let lanes = some((words(), some(span, 6)).prop_map(|(name, spans)| Lane { name, spans }), 10);
    (any_scale(), lanes).prop_map(|(x, lanes)| Body::Timeline(Timeline { x, lanes }))
}

fn any_curves() -> impl Strategy<Value = Body> {
    let mark = (number(), words(), prop::option::of(0..12_usize)).prop_map(|(at, text, line)| Mark { at, text, line });
    let expected = (words(), some((number(), number()), 4)).prop_map(|(name, points)| Expected { name, points });
    (any_scale(), any_scale(), any_lines(), some(mark, 12), some(expected, 3))
        .prop_map(|(x, y, lines, marks, expected)| Body::Curves(Curves { x, y, lines, marks, expected }))
}

fn any_bars() -> impl Strategy<Value = Body> {
    let bar = (number(), interval(), words(), any::<bool>(), words())
        .prop_map(|(value, interval, text, is_doubted, tip)| Bar { value, interval, text, is_doubted, tip });
    let group = (words(), some(prop::option::of(bar), 5)).prop_map(|(name, bars)| BarGroup { name, bars });
    (any_scale(), some(words(), 5), some(group, 6))
        .prop_map(|(scale, series, groups)| Body::Bars(Bars { scale, series, groups }))
}

fn any_grid() -> impl Strategy<Value = Body> {
    let value = (number(), interval(), words(), any::<bool>(), words());
    let value =
        value.prop_map(|(value, interval, text, is_doubted, tip)| GridCell::Value { value, interval, text, is_doubted, tip });
    let without = (words(), words()).prop_map(|(text, tip)| GridCell::Without { text, tip });
    let cell = prop_oneof![Just(GridCell::Empty), without, value];
    let better = prop::sample::select(vec![Better::Higher, Better::Lower, Better::Neither]);
    (words(), some(words(), 70), words(), some(words(), 70), any_scale(), better, some(some(cell, 40), 8)).prop_map(
        |(column_label, columns, row_label, rows, scale, better, cells)| {
            Body::Grid(Grid { column_label, columns, row_label, rows, scale, better, cells })
        },
    )
}

fn any_ratios() -> impl Strategy<Value = Body> {
    let verdict = prop::sample::select(vec![Verdict::Faster, Verdict::Slower, Verdict::Same, Verdict::Unclear]);
    let item = (words(), number(), (number(), number()), verdict, any::<bool>(), words()).prop_map(
        |(name, value, (low, high), verdict, is_doubted, tip)| RatioItem {
            name,
            ratio: Ratio { value, low, high },
            verdict,
            is_doubted,
            tip,
        },
    );
    (words(), number(), some(item, 40)).prop_map(|(label, margin, items)| Body::Ratios(Ratios { label, margin, items }))
}

fn any_roofline() -> impl Strategy<Value = Body> {
    let roof = (words(), any::<bool>(), number()).prop_map(|(name, is_memory, rate)| Roof { name, is_memory, rate });
    (any_scale(), any_scale(), some(roof, 6), any_lines())
        .prop_map(|(x, y, roofs, kernels)| Body::Roofline(Roofline { x, y, roofs, kernels }))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(160) })]

    #[test]
    fn pictures_hold_whatever_comes(
        title in words(),
        body in prop_oneof![any_curves(), any_bars(), any_grid(), any_ratios(), any_roofline(), any_timeline()],
    ) {
        check(&Chart { title, body });
    }
}
