//! Figures side by side.

use super::super::chart::{Bar, Bars};
use super::axis::{Axis, BESIDE, Room, can_hold};
use super::canvas::{BELOW, Canvas, Frame, Layer, Paint, Plot, SMALL, Side, TEXT, Writing};
use super::legend::{self, Swatch};
use super::look::Stroke;
use super::names::Names;
use super::palette::{Colour, INK, PAPER, SERIES};
use super::text;

/// Draws it from a height on, and says where it ends.
pub fn draw(canvas: &mut Canvas, bars: &Bars, top: f64) -> f64 {
    let count = bars.groups.iter().map(|group| group.bars.len()).max().unwrap_or(0).max(1) as f64;
    let (thick, gap) = if count > 1.0 { (15.0, 10.0) } else { (18.0, 8.0) };
    let names = Names::new(canvas, bars.groups.iter().map(|group| &group.name));
    let pitch = names.height() + thick * count + gap;
    let plot = axes(canvas, bars, names.left, pitch, top);
    for (row, group) in bars.groups.iter().enumerate() {
        let upper = plot.frame.top + row as f64 * pitch + names.height() + gap / 2.0;
        names.draw(canvas, &group.name, upper, thick * count);
        for (series, bar) in group.bars.iter().enumerate() {
            if let Some(bar) = bar {
                draw_bar(canvas, &plot, bar, series, upper + series as f64 * thick, thick);
            }
        }
    }
    // The line from which bars begin, above them.
    let zero = plot.x(0.0);
    canvas.line(&[(zero, plot.frame.top), (zero, plot.frame.bottom())], INK, Stroke::THIN);
    let entries = legend::entries(bars.series.iter(), Swatch::Bar, all(bars).any(|bar| bar.is_doubted));
    legend::draw(canvas, &entries, 10.0, plot.frame.bottom() + BELOW + 4.0)
}

fn all(bars: &Bars) -> impl Iterator<Item = &Bar> {
    bars.groups.iter().flat_map(|group| group.bars.iter().flatten())
}

fn axes(canvas: &mut Canvas, bars: &Bars, left: f64, pitch: f64, top: f64) -> Plot {
    let words = all(bars).map(|bar| text::width(&shown(bar), SMALL)).fold(0.0, f64::max);
    let width = canvas.width - left - (words + 14.0).max(BESIDE);
    let values = all(bars).flat_map(|bar| {
        let (low, high) = bar.interval.unwrap_or((bar.value, bar.value));
        // An end that is far off would leave the bars no room.
        let reach = bar.value.abs() * 3.0;
        [bar.value, low.max(-reach), high.min(reach)]
    });
    let x = Axis::from_zero(&bars.scale, values, Room::Across(width, TEXT));
    let frame = Frame { left, top: top + 4.0, width, height: pitch * bars.groups.len().max(1) as f64 };
    canvas.plot(frame, x, Axis::bare(), [&bars.scale.label, ""])
}

fn shown(bar: &Bar) -> String {
    text::fit(&bar.text, 140.0, SMALL)
}

fn draw_bar(canvas: &mut Canvas, plot: &Plot, bar: &Bar, series: usize, top: f64, thick: f64) {
    if !can_hold(bar.value, false) {
        let at = (plot.x(0.0) + 4.0, top + thick / 2.0);
        canvas.text(&shown(bar), at, Writing::new(SMALL, Side::Start));
        let frame = Frame { left: at.0, top, width: text::width(&shown(bar), SMALL).max(8.0), height: thick };
        canvas.hit_rectangle(frame, bar.is_doubted, &bar.tip);
        return;
    }
    let (zero, end) = (plot.x(0.0), plot.x(bar.value));
    let frame = Frame { left: zero.min(end), top: top + 1.0, width: (end - zero).abs(), height: thick - 2.0 };
    let whisker = bar.interval.filter(|(low, high)| !low.is_nan() && !high.is_nan());
    let whisker = whisker.map(|(low, high)| (plot.x(low), plot.x(high)));
    let y = top + thick / 2.0;
    let behind = (whisker.map_or(end, |(_, high)| high.max(end)).max(zero) + 5.0, y);
    canvas.within(Layer::of(bar.is_doubted), |canvas| {
        if bar.is_doubted {
            canvas.rectangle(frame, Paint::Hollow(SERIES[series % SERIES.len()]));
        } else {
            fill(canvas, frame, series);
        }
        whiskers(canvas, whisker, y, INK, Stroke::THIN);
        canvas.text(&shown(bar), behind, Writing::new(SMALL, Side::Start));
    });
    let whole = Frame { left: frame.left, top, width: frame.width.max(behind.0 - frame.left).max(8.0), height: thick };
    canvas.hit_rectangle(whole, bar.is_doubted, &bar.tip);
}

/// The filled bar of a series: those after the first bear a pattern, for who sees no colours.
pub fn fill(canvas: &mut Canvas, frame: Frame, series: usize) {
    canvas.rectangle(frame, Paint::Full(SERIES[series % SERIES.len()]));
    let steps = |step: f64| (1..).map(move |i| f64::from(i) * step).take_while(|x| *x < frame.width);
    let zigzag = |step: f64| {
        let ends = [frame.bottom(), frame.top];
        steps(step).zip(ends.into_iter().cycle()).map(|(x, y)| (frame.left + x, y)).collect::<Vec<_>>()
    };
    let path = match series % 4 {
        1 => zigzag(6.0),
        2 => vec![(frame.left, frame.middle().1), (frame.right(), frame.middle().1)],
        3 => zigzag(3.0),
        _ => return,
    };
    if path.len() > 1 {
        canvas.line(&path, PAPER, Stroke::THIN);
    }
}

/// The lines of an interval on a row.
pub fn whiskers(canvas: &mut Canvas, ends: Option<(f64, f64)>, y: f64, colour: Colour, stroke: Stroke) {
    // Less than a pixel is no interval that one could see.
    let Some((low, high)) = ends.filter(|(low, high)| high - low >= 1.0) else { return };
    for path in [[(low, y), (high, y)], [(low, y - 3.0), (low, y + 3.0)], [(high, y - 3.0), (high, y + 3.0)]] {
        canvas.line(&path, colour, stroke);
    }
}
