//! What colours mean. They are few, and say nothing that words don't say as well.

use anstyle::{AnsiColor, Style};

use super::page::Page;
use crate::model::path_part;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    #[default]
    Plain,
    Bad,
    /// It is to be doubted: yellow.
    Doubtful,
    /// It matters less than what is around it: dim.
    Quiet,
}

const TONES: [Tone; 3] = [Tone::Bad, Tone::Doubtful, Tone::Quiet];

/// Where a tone begins, in the order of [`TONES`], and where it ends: characters without a width, so that what is aligned with them
/// stays aligned. Nobody writes them but mathematicians, between a function and its argument. Only [`legible`] makes colours of them.
const BEGINS: [char; 3] = ['\u{2061}', '\u{2062}', '\u{2063}'];
const ENDS: char = '\u{2064}';

impl Tone {
    /// A text with this tone marked by characters that have no width, where the page shows colours.
    pub fn marked(self, text: &str, page: Page) -> String {
        let begins = TONES.iter().position(|tone| *tone == self && page.is_coloured).map(|place| BEGINS[place]);
        begins.filter(|_| !text.is_empty()).map_or_else(|| text.to_owned(), |begins| format!("{begins}{text}{ENDS}"))
    }

    fn style(self) -> Style {
        match self {
            Self::Plain => Style::new(),
            Self::Bad => AnsiColor::Red.on_default(),
            Self::Doubtful => AnsiColor::Yellow.on_default(),
            Self::Quiet => Style::new().dimmed(),
        }
    }
}

/// A text as people get to see it, wherever that is: names, paths and what compilers say may hold whatever their authors liked, and
/// nothing of that is a command to a terminal. What a terminal would obey, and what can't be seen, is told as Rust writes it, such as
/// `\u{1b}`; what is no text of a path, as its bytes, such as `\xff`. Line feeds and tabs stay, and so do marks of tones, as colours:
/// where the page shows any, and each line at most to its own end.
pub fn legible(text: &str, page: Page) -> String {
    let (mut shown, mut is_toned) = (String::with_capacity(text.len()), false);
    let end = |shown: &mut String, is_toned: &mut bool| {
        if std::mem::take(is_toned) {
            shown.push_str(&Style::new().bold().render_reset().to_string());
        }
    };
    for c in text.chars() {
        match BEGINS.iter().position(|begins| *begins == c) {
            Some(place) if page.is_coloured => {
                shown.push_str(&TONES[place].style().render().to_string());
                is_toned = true;
            }
            Some(_) => {}
            None if c == ENDS => end(&mut shown, &mut is_toned),
            None if c == '\n' => {
                end(&mut shown, &mut is_toned);
                shown.push(c);
            }
            None if c == '\t' => shown.push(c),
            None => push_visible(&mut shown, c),
        }
    }
    end(&mut shown, &mut is_toned);
    shown
}

/// A text of others, in one line: without what [`legible`] would let through.
pub fn in_a_line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => shown.push(' '),
            c => push_visible(&mut shown, c),
        }
    }
    shown
}

/// The same, whose line feeds are meant.
pub(super) fn in_lines(text: &str) -> String {
    text.split('\n').map(in_a_line).collect::<Vec<_>>().join("\n")
}

fn push_visible(shown: &mut String, c: char) {
    match path_part(c) {
        Some(part) => shown.push_str(&format!("\\x{part:02x}")),
        None if is_unseen(c) => shown.extend(c.escape_default()),
        None => shown.push(c),
    }
}

/// Whether a terminal would obey it, or a reader not see it: control characters, what changes the direction of writing, what has no
/// width (marks of tones among them) and what separates lines elsewhere.
pub fn is_unseen(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{AD}' | '\u{61C}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
            | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}')
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::*;

    const fn page(is_coloured: bool) -> Page {
        Page { width: 80, is_coloured }
    }

    #[test]
    fn a_tone_is_shown_where_colours_are() {
        let tones = [Tone::Plain, Tone::Bad, Tone::Doubtful, Tone::Quiet];
        let shown = |page: Page| tones.map(|tone| legible(&tone.marked("a", page), page));
        assert_eq!(shown(page(true)), ["a", "\u{1b}[31ma\u{1b}[0m", "\u{1b}[33ma\u{1b}[0m", "\u{1b}[2ma\u{1b}[0m"]);
        assert_eq!(shown(page(false)), ["a"; 4]);
        assert_eq!(Tone::Bad.marked("", page(true)), "");
    }

    #[test]
    fn marks_have_no_width_and_come_from_nobody_else() {
        assert_eq!(Tone::Bad.marked("abc", page(true)).width(), 3);
        assert_eq!(in_a_line("a\u{1b}[31mb\u{2061}c\td\ne"), "a\\u{1b}[31mb\\u{2061}c d\\ne");
        assert_eq!(in_lines("a\rb\nc"), "a\\rb\nc");
    }

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        let hostile =
            "\0\u{7}\u{8}\r\u{b}\u{1b}]0;x\u{7}\u{7f}\u{85}\u{9b}31m\u{202e}\u{2066}\u{200b}\u{feff}\u{2028}\u{e0041}";
        for page in [page(true), page(false)] {
            let shown = legible(hostile, page);
            assert!(shown.chars().all(|c| !is_unseen(c)), "{shown:?}");
            assert!(shown.contains("\\u{1b}]0;x\\u{7}") && shown.contains("\\u{9b}31m\\u{202e}"), "{shown}");
            assert_eq!(legible("a\tb\n\u{e9}\u{4e2d}", page), "a\tb\n\u{e9}\u{4e2d}");
            assert_eq!(legible(&shown, page), shown);
        }
        // What a path has that is no text: a byte, or on Windows half of a character.
        assert_eq!(legible("a\u{10F0FF}", page(false)), if cfg!(windows) { "a\\xd8ff" } else { "a\\xff" });
    }

    #[test]
    fn a_mark_of_others_colours_its_line_at_most() {
        assert_eq!(legible("\u{2061}a\nb", page(true)), "\u{1b}[31ma\u{1b}[0m\nb");
        assert_eq!(legible("a\u{2064}\u{2064}b\u{2062}", page(true)), "ab\u{1b}[33m\u{1b}[0m");
        assert_eq!(legible("\u{2061}a\u{2064}", page(false)), "a");
    }
}
