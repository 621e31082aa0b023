//! A page of words, pictures and listings, in the style of the page of rows. It has no script.

use maud::{DOCTYPE, PreEscaped, html};

use super::super::chart::Chart;
use super::{STYLE, parts, prose, style_of, themed};
use crate::output::in_a_line;

/// What a page shows, from top to bottom.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Markdown, in which strangers named things.
    Prose(String),
    Picture(Chart),
    /// Sentences that say it in short, each with what it is about.
    Findings(Vec<(&'static str, String)>),
    /// Lines as they are.
    Text(String),
    /// The same, to be folded away under a title.
    Listing {
        title: String,
        text: String,
        is_open: bool,
    },
}

/// A page with a title, and what stands below it.
pub fn document(title: &str, below: &str, parts: &[Part]) -> String {
    let style = format!("{STYLE}{}", themed());
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head { (style_of(&in_a_line(title), &style, None)) }
            body.plain {
                header.top {
                    h1 { (in_a_line(title)) }
                    p.files { (in_a_line(below)) }
                }
                main {
                    @for part in parts { (shown(part)) }
                }
                footer { p { "Made by lanescope " (env!("CARGO_PKG_VERSION")) "." } }
            }
        }
    };
    markup.into_string()
}

/// Whether something is said of a line of a listing.
fn is_marked(line: &str) -> bool {
    line.starts_with(char::is_alphanumeric) && line.contains(" | ")
}

fn shown(part: &Part) -> PreEscaped<String> {
    match part {
        Part::Prose(markdown) => html! { section { div.prose { (PreEscaped(prose::unlinked(markdown))) } } },
        Part::Picture(chart) => parts::picture(chart),
        Part::Findings(findings) if findings.is_empty() => html! {},
        Part::Findings(findings) => html! {
            section #findings {
                h2 { "In short" }
                dl { @for (about, text) in findings { dt { (about) } dd { (in_a_line(text)) } } }
            }
        },
        Part::Text(text) => html! { pre { (parts::lines(text)) } },
        Part::Listing { title, text, is_open } => html! {
            details open[*is_open] {
                summary { (in_a_line(title)) }
                // What is said of a line stands in front of it.
                pre { @for line in parts::lines(text).lines() { @if is_marked(line) { b { (line) } } @else { (line) } "\n" } }
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_strangers_wrote_stays_text() {
        let parts = [
            Part::Prose("| a |\n|---|\n| `<b>` |\n".to_owned()),
            Part::Listing { title: "a <i>".to_owned(), text: "if (a < b) </pre><script>".to_owned(), is_open: true },
            Part::Findings(vec![("Memory", "<img src=x>".to_owned())]),
        ];
        let page = document("<h2>", "on \u{202e} a device", &parts);
        assert!(page.contains("if (a &lt; b) &lt;/pre&gt;&lt;script&gt;") && page.contains("<h1>&lt;h2&gt;</h1>"), "{page}");
        assert!(page.contains("default-src 'none'; style-src") && !page.contains("<script"), "{page}");
        assert!(page.contains("<dd>&lt;img src=x&gt;</dd>"), "{page}");
        assert!(!page.contains('\u{202e}'), "{page}");
    }
}
