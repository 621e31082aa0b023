//! The colours of pictures. Each one has one meaning and a value of its own, so that a page's stylesheet can give it another value on a dark
//! ground: `svg [fill="#1F1F1F"] { fill: var(--ink) }`.

use std::fmt::{Display, Formatter, Result};

/// A colour, `0xRRGGBB`, written as it stands in the SVG.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour(u32);

impl Display for Colour {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "#{:06X}", self.0)
    }
}

pub const INK: Colour = Colour(0x1F1F1F);
pub const FAINT: Colour = Colour(0x6E6E6E);
/// Lines at the numbers of an axis.
pub const GRID: Colour = Colour(0xE0E0E0);
/// What is below a picture: the inside of hollow markers, the seam around names on lines.
pub const PAPER: Colour = Colour(0xFEFEFE);
/// Places that are marked, and what a model expects.
pub const MARK: Colour = Colour(0x4A4A4A);
/// The margin within which a ratio counts as no change.
pub const MARGIN: Colour = Colour(0xE6ECF0);
/// A cell without a figure.
pub const VOID: Colour = Colour(0xE9E9E9);
/// Series, in the order in which they are taken: told apart by colour-blind people, and as greys for the most part.
pub const SERIES: [Colour; 8] = [
    Colour(0x0072B2),
    Colour(0xD55E00),
    Colour(0x009E73),
    Colour(0xCC79A7),
    Colour(0x332288),
    Colour(0xE69F00),
    Colour(0x882255),
    Colour(0x56B4E9),
];
pub const GOOD: Colour = Colour(0x1A6FA8);
pub const BAD: Colour = Colour(0xC24A12);
pub const SAME: Colour = Colour(0x5C5C5C);
pub const UNCLEAR: Colour = Colour(0x848484);
/// What roofs are drawn with.
pub const ROOF: Colour = Colour(0x2B2B2B);
/// Text on a dark cell. It stays as it is in every theme, as cells do.
pub const ON_DARK: Colour = Colour(0xFFFFFF);
/// Text on a light cell. It stays as it is in every theme.
pub const ON_LIGHT: Colour = Colour(0x000000);

/// All that a theme may replace, by name.
pub const THEMED: [(&str, Colour); 20] = [
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

/// Points of viridis (Nathaniel Smith and Stéfan van der Walt, CC0), whose lightness grows evenly.
const VIRIDIS: [Colour; 9] = [
    Colour(0x440154),
    Colour(0x472C7A),
    Colour(0x3B518B),
    Colour(0x2C718E),
    Colour(0x21908D),
    Colour(0x27AD81),
    Colour(0x5CC863),
    Colour(0xAADC32),
    Colour(0xFDE725),
];

/// The colour of a cell, for a share between 0, dark, and 1, light. It is never one that a theme replaces.
pub fn heat(share: f64) -> Colour {
    let place = share.clamp(0.0, 1.0) * 8.0;
    let step = (0..7).find(|step| place <= (step + 1) as f64).unwrap_or(7);
    let [from, to] = [VIRIDIS[step], VIRIDIS[step + 1]].map(channels);
    let part = |channel: usize| {
        let (from, to) = (f64::from(from[channel]), f64::from(to[channel]));
        byte(from + (to - from) * (place - step as f64))
    };
    let colour = Colour(u32::from_be_bytes([0, part(0), part(1), part(2)]));
    let is_taken = THEMED.iter().any(|(_, other)| *other == colour);
    if is_taken { Colour(colour.0 ^ 1) } else { colour }
}

fn channels(colour: Colour) -> [u8; 3] {
    let [_, red, green, blue] = colour.0.to_be_bytes();
    [red, green, blue]
}

/// What a text is written with on a cell of this colour.
pub fn on(colour: Colour) -> Colour {
    if luminance(colour) < 0.18 { ON_DARK } else { ON_LIGHT }
}

/// Relative luminance, as WCAG 2 defines it.
fn luminance(colour: Colour) -> f64 {
    let [red, green, blue] = channels(colour).map(|channel| {
        let share = f64::from(channel) / 255.0;
        if share <= 0.040_45 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * red + 0.7152 * green + 0.0722 * blue
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
        let all = THEMED.iter().map(|(_, colour)| *colour).chain([ON_DARK, ON_LIGHT]);
        assert_eq!(all.map(|colour| colour.to_string()).collect::<BTreeSet<_>>().len(), THEMED.len() + 2);
        assert_eq!([INK, ON_LIGHT].map(|colour| colour.to_string()), ["#1F1F1F", "#000000"]);
    }

    #[test]
    fn cells_get_lighter_and_are_never_themed() {
        let colours: Vec<Colour> = (0..=1000).map(|i| heat(f64::from(i) / 1000.0)).collect();
        assert!(colours.iter().all(|colour| THEMED.iter().all(|(_, themed)| themed != colour)));
        // A channel is a whole number, so that neighbours differ by a hair in either direction.
        assert!(colours.iter().zip(&colours[20..]).all(|(dark, light)| luminance(*dark) < luminance(*light)));
        assert_eq!((on(colours[0]), on(colours[1000])), (ON_DARK, ON_LIGHT));
    }
}
