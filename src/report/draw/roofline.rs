//! What kernels reach beside what the device allows.

use super::super::chart::{Datum, Line, Roof, Roofline, Scale};
use super::axis::{Axis, BESIDE, Room, can_hold};
use super::canvas::{BELOW, Canvas, Frame, Plot, SMALL, Side, TEXT, Writing};
use super::curves::mark_datum;
use super::legend::{self, Swatch};
use super::look::{Marker, Point, Stroke};
use super::palette::{ROOF, SERIES};
use super::text;

const HEIGHT: f64 = 320.0;

/// A roof that can be drawn: from where to where on x, and y at both.
struct Edge<'a> {
    name: &'a str,
    from: Point,
    to: Point,
}

/// Draws it from a height on, and says where it ends.
pub fn draw(canvas: &mut Canvas, roofline: &Roofline, top: f64) -> f64 {
    let plot = axes(canvas, roofline, top);
    let edges = edges(roofline, &plot);
    for edge in &edges {
        canvas.line(&[plot.at(edge.from), plot.at(edge.to)], ROOF, Stroke::whole(1.6));
    }
    let points: Vec<Stretch> = drawable(roofline).map(|(_, datum)| plot.at((datum.x, datum.y))).map(|at| (at, at)).collect();
    let taken = names(canvas, &plot, &edges, &points);
    for (index, datum) in drawable(roofline) {
        let at = plot.at((datum.x, datum.y));
        mark_datum(canvas, Marker::of_series(index), at, 4.2, SERIES[index % SERIES.len()], datum.is_doubted);
        canvas.hit(at, 6.0, datum.is_doubted, &datum.tip);
    }
    kernel_names(canvas, &plot, roofline, taken);
    let flagged = drawable(roofline).any(|(_, datum)| datum.is_doubted);
    let entries = legend::entries(std::iter::empty(), |_| Swatch::Flagged, flagged);
    legend::draw(canvas, &entries, plot.frame.left, plot.frame.bottom() + BELOW + 4.0)
}

/// The points that have a place, and the series of each.
fn drawable(roofline: &Roofline) -> impl Iterator<Item = (usize, &Datum)> {
    let of_line = |(index, line)| -> Vec<(usize, &Datum)> {
        let line: &Line = line;
        line.points
            .iter()
            .filter(|datum| can_hold(datum.x, true) && can_hold(datum.y, true))
            .map(|datum| (index, datum))
            .collect()
    };
    roofline.kernels.iter().enumerate().flat_map(of_line)
}

/// The name of each series beside its highest point, where nothing else stands if there is such a place.
fn kernel_names(canvas: &mut Canvas, plot: &Plot, roofline: &Roofline, mut taken: Vec<Stretch>) {
    let points: Vec<Point> = drawable(roofline).map(|(_, datum)| plot.at((datum.x, datum.y))).collect();
    for (index, line) in roofline.kernels.iter().enumerate() {
        let own = drawable(roofline).filter(|(of, _)| *of == index).map(|(_, datum)| datum);
        let Some(highest) = own.max_by(|one, other| one.y.total_cmp(&other.y)) else { continue };
        let at = plot.at((highest.x, highest.y));
        let name = text::fit(&line.name, plot.frame.width * 0.5, SMALL);
        let width = text::width(&name, SMALL);
        let stretch = |left: f64, up: f64| ((at.0 + left, at.1 + up), (at.0 + left + width, at.1 + up));
        let sides = [9.0, -9.0 - width];
        let places = (0..7)
            .flat_map(|step| [f64::from(step) * 15.0, f64::from(step) * -15.0])
            .flat_map(|up| sides.map(|left| stretch(left, up)));
        let within = |place: &Stretch| {
            place.0.0 > plot.frame.left + 2.0
                && place.1.0 < canvas.width - 2.0
                && plot.frame.top + 8.0 < place.0.1
                && place.0.1 < plot.frame.bottom() - 8.0
        };
        let places: Vec<Stretch> = places.filter(within).collect();
        let is_free = |place: &&Stretch| {
            taken.iter().all(|other| apart(**place, *other) >= 14.0)
                && points.iter().all(|point| apart((*point, *point), **place) >= 8.0)
        };
        let Some(best) = places.iter().find(is_free).or(places.first()).copied() else { continue };
        taken.push(best);
        let writing = Writing { has_seam: true, ..Writing::new(SMALL, Side::Start) };
        canvas.text(&name, best.0, writing.coloured(SERIES[index % SERIES.len()]));
    }
}

fn rates(roofline: &Roofline, is_memory: bool) -> impl Iterator<Item = f64> + Clone {
    let of_kind = move |roof: &&Roof| roof.is_memory == is_memory && can_hold(roof.rate, true);
    roofline.roofs.iter().filter(of_kind).map(|roof| roof.rate)
}

fn axes(canvas: &mut Canvas, roofline: &Roofline, top: f64) -> Plot {
    let points = || roofline.kernels.iter().flat_map(|line: &Line| &line.points).map(|datum| (datum.x, datum.y));
    let (memory, compute) = (rates(roofline, true), rates(roofline, false));
    let ridges: Vec<f64> = compute.clone().flat_map(|flat| memory.clone().map(move |slope| flat / slope)).collect();
    let wide = |x: f64| [x / 4.0, x * 4.0];
    let xs: Vec<f64> =
        points().map(|point| point.0).chain(ridges.into_iter().flat_map(wide)).filter(|x| can_hold(*x, true)).collect();
    let leftmost = xs.iter().copied().reduce(f64::min).unwrap_or(1.0);
    // The best memory roof meets the left end within the picture.
    let lowest = memory.clone().reduce(f64::max).map(|rate| rate * leftmost);
    let highest = compute.clone().reduce(f64::max).map(|rate| rate * 1.5);
    let ys = points().map(|point| point.1).chain(compute).chain(lowest).chain(highest);
    let log = |scale: &Scale| Scale { is_log: true, ..scale.clone() };
    let y = Axis::around(&log(&roofline.y), ys, Room::Upright(HEIGHT));
    let left = y.widest(TEXT) + 36.0;
    let width = canvas.width - left - BESIDE;
    let x = Axis::around(&log(&roofline.x), xs, Room::Across(width, TEXT));
    let frame = Frame { left, top: top + 6.0, width, height: HEIGHT };
    canvas.plot(frame, x, y, [&roofline.x.label, &roofline.y.label])
}

/// The parts of the roofs that bound something and lie within the plot.
fn edges<'a>(roofline: &'a Roofline, plot: &Plot) -> Vec<Edge<'a>> {
    let flat = rates(roofline, false).reduce(f64::max).unwrap_or(f64::INFINITY);
    let slope = rates(roofline, true).reduce(f64::max).unwrap_or(f64::INFINITY);
    let edge = |roof: &'a Roof| -> Option<Edge<'a>> {
        let rate = Some(roof.rate).filter(|rate| can_hold(*rate, true))?;
        let (from, to) = if roof.is_memory {
            let (from, to) = (plot.x.low.max(plot.y.low / rate), plot.x.high.min(flat.min(plot.y.high) / rate));
            ((from, from * rate), (to, to * rate))
        } else {
            ((plot.x.low.max(rate / slope), rate), (plot.x.high, rate))
        };
        (from.0 < to.0).then_some(Edge { name: &roof.name, from, to })
    };
    roofline.roofs.iter().filter_map(edge).collect()
}

/// A name beside a line: from where to where.
type Stretch = (Point, Point);

/// The names of roofs along their lines: above them or below, and where other lines and names are far enough.
fn names(canvas: &mut Canvas, plot: &Plot, edges: &[Edge<'_>], points: &[Stretch]) -> Vec<Stretch> {
    let lines: Vec<Stretch> = edges.iter().map(|edge| (plot.at(edge.from), plot.at(edge.to))).collect();
    let mut taken: Vec<Stretch> = Vec::new();
    for (index, (edge, line)) in edges.iter().zip(&lines).enumerate() {
        let ((from, to), others) = (*line, [&lines[..index], &lines[index + 1..]].concat());
        let length = (to.0 - from.0).hypot(to.1 - from.1);
        let is_flat = (to.1 - from.1).abs() < 0.01 * length;
        let room = if is_flat { plot.frame.width * 0.7 } else { length - 24.0 };
        let name = text::fit(edge.name, room, SMALL);
        let places = places(*line, text::width(&name, SMALL));
        let is_free = |place: &&Stretch| taken.iter().all(|other| apart(**place, *other) >= 13.0);
        let is_clear = |place: &&Stretch| {
            others.iter().all(|other| apart(**place, *other) >= 7.0) && points.iter().all(|point| apart(*point, **place) >= 8.0)
        };
        let best = places.iter().filter(is_clear).find(is_free).or(places.iter().find(is_free)).or(places.first());
        let Some(best) = best.copied().filter(|_| !name.is_empty()) else { continue };
        taken.push(best);
        let degrees = (to.1 - from.1).atan2(to.0 - from.0).to_degrees();
        let writing = Writing { degrees, has_seam: true, ..Writing::new(SMALL, Side::Start) };
        canvas.text(&name, best.0, writing.coloured(ROOF));
    }
    taken
}

/// Where a name may stand along a line: from its outer end on, above it before below it.
fn places((from, to): Stretch, width: f64) -> Vec<Stretch> {
    let length = (to.0 - from.0).hypot(to.1 - from.1);
    let unit = ((to.0 - from.0) / length, (to.1 - from.1) / length);
    let is_flat = unit.1.abs() < 0.01;
    let starts = (0..30).map(|i| 14.0 + f64::from(i) * 15.0).take_while(|start| start + width + 4.0 <= length);
    // A name that is longer than its line begins before it.
    let starts: Vec<f64> = match is_flat && width + 18.0 > length {
        true => vec![length - width - 4.0],
        false => starts.map(|start| if is_flat { length - width - start } else { start }).collect(),
    };
    let on_side = |side: f64| {
        let at = move |along: f64| (from.0 + unit.0 * along + unit.1 * side, from.1 + unit.1 * along - unit.0 * side);
        starts.iter().map(move |start| (at(*start), at(start + width)))
    };
    on_side(8.0).chain(on_side(-8.0)).collect()
}

/// How far two stretches are apart, about: by the places along them.
fn apart(first: Stretch, second: Stretch) -> f64 {
    let along = |(from, to): Stretch, share: f64| (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share);
    let distance = |a: Point, b: Point| (a.0 - b.0).hypot(a.1 - b.1);
    let of_place = |place: Point| {
        let length = distance(second.0, second.1);
        let (dx, dy) = (second.1.0 - second.0.0, second.1.1 - second.0.1);
        let share = ((place.0 - second.0.0) * dx + (place.1 - second.0.1) * dy) / (length * length);
        distance(place, along(second, if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }))
    };
    (0..=40).map(|i| of_place(along(first, f64::from(i) / 40.0))).fold(f64::INFINITY, f64::min)
}
