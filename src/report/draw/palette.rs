//! The colours of pictures. Each one has one meaning and a value of its own, so that a page's stylesheet can give it another value on a dark
//! ground: `svg [fill="#1F1F1F"] { fill: var(--ink) }`. [`hex`] writes a colour as it stands in the SVG.

use plotters::style::RGBColor;

pub const INK: RGBColor = RGBColor(0x1F, 0x1F, 0x1F);
pub const FAINT: RGBColor = RGBColor(0x6E, 0x6E, 0x6E);
/// Lines at the numbers of an axis.
pub const GRID: RGBColor = RGBColor(0xE0, 0xE0, 0xE0);
/// What is below a picture: the inside of hollow markers, the seam around names on lines.
pub const PAPER: RGBColor = RGBColor(0xFE, 0xFE, 0xFE);
/// Places that are marked, and what a model expects.
pub const MARK: RGBColor = RGBColor(0x4A, 0x4A, 0x4A);
/// The margin within which a ratio counts as no change.
pub const MARGIN: RGBColor = RGBColor(0xE6, 0xEC, 0xF0);
/// A cell without a figure.
pub const VOID: RGBColor = RGBColor(0xE9, 0xE9, 0xE9);
/// Series, in the order in which they are taken: told apart by colour-blind people, and as greys for the most part.
pub const SERIES: [RGBColor; 8] = [
    RGBColor(0x00, 0x72, 0xB2),
    RGBColor(0xD5, 0x5E, 0x00),
    RGBColor(0x00, 0x9E, 0x73),
    RGBColor(0xCC, 0x79, 0xA7),
    RGBColor(0x33, 0x22, 0x88),
    RGBColor(0xE6, 0x9F, 0x00),
    RGBColor(0x88, 0x22, 0x55),
    RGBColor(0x56, 0xB4, 0xE9),
];
pub const GOOD: RGBColor = RGBColor(0x1A, 0x6F, 0xA8);
pub const BAD: RGBColor = RGBColor(0xC2, 0x4A, 0x12);
pub const SAME: RGBColor = RGBColor(0x5C, 0x5C, 0x5C);
pub const UNCLEAR: RGBColor = RGBColor(0x84, 0x84, 0x84);
/// What roofs are drawn with.
pub const ROOF: RGBColor = RGBColor(0x2B, 0x2B, 0x2B);
/// Text on a dark cell. It stays as it is in every theme, as cells do.
pub const ON_DARK: RGBColor = RGBColor(0xFF, 0xFF, 0xFF);
/// Text on a light cell. It stays as it is in every theme.
pub const ON_LIGHT: RGBColor = RGBColor(0x00, 0x00, 0x00);

/// All that a theme may replace, by name.
pub const THEMED: [(&str, RGBColor); 20] = [
    ("ink", INK),
    ("faint", FAINT),
    ("grid", GRID),
    ("paper", PAPER),
    ("mark", MARK),
    ("margin", MARGIN),
    ("void", VOID),
    ("series-1", SERIES[0]),
    ("series-2", SERIES[1]),
    ("series-3", SERIES[2]),
    ("series-4", SERIES[3]),
    ("series-5", SERIES[4]),
    ("series-6", SERIES[5]),
    ("series-7", SERIES[6]),
    ("series-8", SERIES[7]),
    ("good", GOOD),
    ("bad", BAD),
    ("same", SAME),
    ("unclear", UNCLEAR),
    ("roof", ROOF),
];

/// As it stands in the SVG: `#1F1F1F`.
pub fn hex(colour: RGBColor) -> String {
    format!("#{:02X}{:02X}{:02X}", colour.0, colour.1, colour.2)
}

/// Points of viridis (Nathaniel Smith and Stéfan van der Walt, CC0), whose lightness grows evenly.
const VIRIDIS: [[f64; 3]; 9] = [
    [68.0, 1.0, 84.0],
    [71.0, 44.0, 122.0],
    [59.0, 81.0, 139.0],
    [44.0, 113.0, 142.0],
    [33.0, 144.0, 141.0],
    [39.0, 173.0, 129.0],
    [92.0, 200.0, 99.0],
    [170.0, 220.0, 50.0],
    [253.0, 231.0, 37.0],
];

/// The colour of a cell, for a share between 0, dark, and 1, light. It is never one that a theme replaces.
pub fn heat(share: f64) -> RGBColor {
    let place = share.clamp(0.0, 1.0) * (VIRIDIS.len() - 1) as f64;
    let step = VIRIDIS.windows(2).enumerate().find(|(i, _)| place <= (i + 1) as f64);
    let Some((i, [from, to])) = step.and_then(|(i, pair)| Some((i, <&[_; 2]>::try_from(pair).ok()?))) else {
        return heat(0.0);
    };
    let part = |channel: usize| byte(from[channel] + (to[channel] - from[channel]) * (place - i as f64));
    let colour = RGBColor(part(0), part(1), part(2));
    let is_taken = THEMED.iter().any(|(_, other)| *other == colour);
    if is_taken { RGBColor(colour.0, colour.1, colour.2 ^ 1) } else { colour }
}

/// What a text is written with on a cell of this colour.
pub fn on(colour: RGBColor) -> RGBColor {
    if luminance(colour) < 0.18 { ON_DARK } else { ON_LIGHT }
}

/// Relative luminance, as WCAG 2 defines it.
fn luminance(RGBColor(red, green, blue): RGBColor) -> f64 {
    let linear = |channel: u8| {
        let share = f64::from(channel) / 255.0;
        if share <= 0.040_45 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rounded and within a byte")]
fn byte(value: f64) -> u8 {
    value.round().clamp(0.0, 255.0) as u8
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_colour_has_one_meaning() {
        let all: BTreeSet<String> = THEMED.iter().map(|(_, colour)| hex(*colour)).chain([ON_DARK, ON_LIGHT].map(hex)).collect();
        assert_eq!(all.len(), THEMED.len() + 2);
        assert_eq!(hex(INK), "#1F1F1F");
    }

    #[test]
    fn cells_get_lighter_and_are_never_themed() {
        let colours: Vec<RGBColor> = (0..=1000).map(|i| heat(f64::from(i) / 1000.0)).collect();
        assert!(colours.iter().all(|colour| THEMED.iter().all(|(_, themed)| themed != colour)));
        // A channel is a whole number, so that neighbours differ by a hair in either direction.
        assert!(colours.iter().zip(&colours[20..]).all(|(dark, light)| luminance(*dark) < luminance(*light)));
        assert_eq!((on(colours[0]), on(colours[1000])), (ON_DARK, ON_LIGHT));
        assert_eq!(heat(f64::NAN), heat(0.0));
    }
}
