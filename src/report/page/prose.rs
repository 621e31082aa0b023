//! Markdown as HTML that can do nothing: no HTML of its own, no pictures, and links to the web alone.

use pulldown_cmark::{Alignment, Event, Options, Parser, Tag, TagEnd, html};

/// Renders Markdown. Whatever is HTML in it becomes text.
pub fn rendered(markdown: &str) -> String {
    linked(markdown, is_of_the_web)
}

/// The same of a text in which strangers named things: none of it is a link.
pub fn unlinked(markdown: &str) -> String {
    linked(markdown, |_| false)
}

fn linked(markdown: &str, may_link: fn(&str) -> bool) -> String {
    let mut links = Vec::new();
    let events = Parser::new_ext(markdown, Options::ENABLE_TABLES).filter_map(move |event| match event {
        Event::Html(text) => Some(folded(&text).unwrap_or(Event::Text(text))),
        Event::InlineHtml(text) => Some(Event::Text(text)),
        Event::Start(Tag::HtmlBlock | Tag::Image { .. }) | Event::End(TagEnd::HtmlBlock | TagEnd::Image) => None,
        Event::Start(Tag::Link { ref dest_url, .. }) => {
            links.push(may_link(dest_url));
            links.last().copied().unwrap_or_default().then_some(event)
        }
        Event::End(TagEnd::Link) => links.pop().unwrap_or_default().then_some(event),
        // Alignment would be a style of the element, which the page's policy forbids.
        Event::Start(Tag::Table(columns)) => Some(Event::Start(Tag::Table(vec![Alignment::None; columns.len()]))),
        // Headings of a text are below those of the page.
        Event::Start(Tag::Heading { .. }) => Some(Event::Start(Tag::Paragraph)),
        Event::End(TagEnd::Heading(_)) => Some(Event::End(TagEnd::Paragraph)),
        event => Some(event),
    });
    let mut text = String::new();
    html::push_html(&mut text, events);
    text
}

/// What reports fold away on purpose: `<details><summary>TEXT</summary>`, and its end.
fn folded(text: &str) -> Option<Event<'static>> {
    const END: &str = "</details>";
    if text.trim() == END {
        return Some(Event::Html(END.into()));
    }
    let summary = text.trim().strip_prefix("<details><summary>")?.strip_suffix("</summary>")?;
    let is_plain = !summary.contains(['<', '>', '&']);
    is_plain.then(|| Event::Html(format!("<details><summary>{summary}</summary>").into()))
}

fn is_of_the_web(link: &str) -> bool {
    ["https://", "http://"].iter().any(|scheme| link.starts_with(scheme))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_do_something_becomes_text() {
        let text = rendered("a <script>alert(1)</script> **b** [c](javascript:alert(1)) [d](https://example.org) ![e](f.png)");
        assert_eq!(
            text,
            "<p>a &lt;script&gt;alert(1)&lt;/script&gt; <strong>b</strong> c <a href=\"https://example.org\">d</a> e</p>\n"
        );
        assert_eq!(rendered("<style>\nb\n</style>\n"), "&lt;style&gt;\nb\n&lt;/style&gt;\n");
        assert_eq!(unlinked("[a](https://b.c) <https://d.e>"), "<p>a https://d.e</p>\n");
        let folded = "<details><summary>a b</summary>\n\nc\n\n</details>\n";
        assert_eq!(rendered(folded), "<details><summary>a b</summary>\n<p>c</p>\n</details>");
        assert!(rendered("<details><summary><b>a</b></summary>\n").starts_with("&lt;details&gt;"));
        let table = rendered("| a |\n|--:|\n| <b> |\n");
        assert!(table.matches("&lt;b&gt;").count() == 1 && !table.contains("style"), "{table}");
    }
}
