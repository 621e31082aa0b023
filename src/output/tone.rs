//! What colours mean. They are few, and say nothing that words don't say as well.

use anstyle::{AnsiColor, Style};

use super::page::Page;

/// How something is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// As anything else.
    #[default]
    Plain,
    /// It failed: red.
    Bad,
    /// It is to be doubted: yellow.
    Doubtful,
    /// It matters less than what is around it: dim.
    Quiet,
}

const TONES: [Tone; 3] = [Tone::Bad, Tone::Doubtful, Tone::Quiet];

/// Where a tone begins, in the order of [`TONES`], and where it ends: characters without a width, so that what is aligned with them
/// stays aligned. Nobody writes them but mathematicians, between a function and its argument.
const BEGINS: [char; 3] = ['\u{2061}', '\u{2062}', '\u{2063}'];
const ENDS: char = '\u{2064}';

impl Tone {
    /// A text in this tone.
    pub fn painted(self, text: &str, page: Page) -> String {
        inked(self.marked(text, page))
    }

    /// A text with this tone marked by characters that have no width, where the page shows colours.
    pub(super) fn marked(self, text: &str, page: Page) -> String {
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

/// A text whose marks are what a terminal understands.
pub(super) fn inked(marked: String) -> String {
    if !marked.contains(ENDS) {
        return marked;
    }
    let ended = marked.replace(ENDS, &Style::new().bold().render_reset().to_string());
    let begins = TONES.iter().zip(BEGINS);
    begins.fold(ended, |text, (tone, begins)| text.replace(begins, &tone.style().render().to_string()))
}

/// A text of others without what a terminal would obey, and without marks.
pub(super) fn harmless(text: &str) -> String {
    let is_mark = |c: char| c == ENDS || BEGINS.contains(&c);
    let shown = text.chars().filter(|c| !is_mark(*c));
    shown.map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::*;

    #[test]
    fn a_tone_is_shown_where_colours_are() {
        let page = |is_coloured| Page { width: 80, is_coloured };
        let painted = [Tone::Plain, Tone::Bad, Tone::Doubtful, Tone::Quiet].map(|tone| tone.painted("a", page(true)));
        assert_eq!(painted, ["a", "\u{1b}[31ma\u{1b}[0m", "\u{1b}[33ma\u{1b}[0m", "\u{1b}[2ma\u{1b}[0m"]);
        assert_eq!(Tone::Bad.painted("a", page(false)), "a");
        assert_eq!(Tone::Bad.painted("", page(true)), "");
    }

    #[test]
    fn marks_have_no_width_and_come_from_nobody_else() {
        assert_eq!(Tone::Bad.marked("abc", Page { width: 80, is_coloured: true }).width(), 3);
        assert_eq!(harmless("a\u{1b}[31mb\u{2061}c\td"), "a [31mbc d");
    }
}
