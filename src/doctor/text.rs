//! A report as text: for a terminal, and as Markdown for an issue.

use super::{Fact, Finding, Harm, Report};
use crate::output::prose::wrapped;

/// The longest line.
const WIDTH: usize = 80;
/// Lines of the block of facts, its fences included.
const MOST_LINES: usize = 40;
/// What a fact may take.
const FACT_LINES: usize = 4;
/// What a sentence of a finding may take, and what marks around words take of a line: those of two words.
const PART_LINES: usize = 5;
const ROOM_FOR_MARKS: usize = 4;
/// Where facts begin behind what they are about.
const INDENT: usize = 12;

/// The findings, and the facts as a block of code.
pub fn report_text(report: &Report) -> String {
    let mut text = format!("{}\n", wrapped(&verdict(report), WIDTH));
    for (number, finding) in (1..).zip(&report.findings) {
        text += &format!("\n{}\n", told(number, finding));
    }
    text + &format!("\n```text\n{}\n```\n", facts(report).join("\n"))
}

fn verdict(report: &Report) -> String {
    let count = report.findings.len();
    let more = if report.is_quick { " Nothing was measured: leave out --quick to try the device." } else { "" };
    let is_missing = report.findings.iter().all(|finding| finding.harm == Harm::Missing);
    match count {
        0 => format!("Nothing found.{more}"),
        1 if is_missing => format!("1 finding: something is missing, and nothing is wrong with what is there.{more}"),
        _ if is_missing => format!("{count} findings: something is missing, and nothing is wrong with what is there.{more}"),
        1 => format!("1 finding. Don't trust figures from this machine before you settle it.{more}"),
        _ => format!("{count} findings. Don't trust figures from this machine before you settle them.{more}"),
    }
}

fn told(number: usize, Finding { what, evidence, advice, .. }: &Finding) -> String {
    let mark = format!("{number}. ");
    let parts = [what.clone(), evidence.clone(), format!("To do: {advice}")];
    let lines = parts
        .iter()
        .filter(|part| !part.is_empty())
        .flat_map(|part| plain(&fitted(part, WIDTH - mark.len() - ROOM_FOR_MARKS, PART_LINES)));
    let before = |i: usize| if i == 0 { mark.clone() } else { " ".repeat(mark.len()) };
    lines.enumerate().map(|(i, line)| before(i) + &line).collect::<Vec<_>>().join("\n")
}

/// Lines in which Markdown finds nothing of its own: words with its marks stand as code.
fn plain(lines: &[String]) -> Vec<String> {
    let is_marked = |word: &str| {
        word.contains(['*', '<', '[', ']', '|', '~', '\\', '&', '#'])
            || word.starts_with('_')
            || word.ends_with('_')
            || word.contains("__")
    };
    let word = |word: &str| if is_marked(word) { format!("`{}`", word.replace('`', "'")) } else { word.replace('`', "'") };
    lines.iter().map(|line| line.split(' ').map(word).collect::<Vec<_>>().join(" ")).collect()
}

/// Words in at most so many lines of at most this width.
fn fitted(words: &str, width: usize, most: usize) -> Vec<String> {
    let cut = |line: &str, room: usize| match line.chars().count() {
        length if length <= room => line.to_owned(),
        _ => line.chars().take(room - 3).collect::<String>() + "...",
    };
    let mut lines: Vec<String> = wrapped(words, width).lines().map(|line| cut(line, width)).collect();
    if lines.len() > most {
        lines.truncate(most);
        lines[most - 1] = cut(&lines[most - 1], width - 4) + " ...";
    }
    lines
}

fn facts(Report { tool_version, facts, .. }: &Report) -> Vec<String> {
    let mut lines = vec![format!("lanescope {tool_version}: doctor")];
    for Fact { about, is } in facts {
        let of_fact = fitted(&is.replace('`', "'"), WIDTH - INDENT, FACT_LINES);
        let name = |i: usize| if i == 0 { *about } else { "" };
        lines.extend(of_fact.iter().enumerate().map(|(i, line)| format!("{:INDENT$}{line}", name(i))));
    }
    let most = MOST_LINES - 2;
    if lines.len() > most {
        let more = lines.len() - (most - 1);
        lines.truncate(most - 1);
        lines.push(format!("and {more} lines more: see --json"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use pulldown_cmark::{Event, Parser, Tag};

    use super::*;

    fn finding(what: &str) -> Finding {
        let words = |words: &str| words.to_owned();
        Finding {
            name: "a",
            harm: Harm::Missing,
            what: words(what),
            evidence: words("It is *not* there."),
            advice: words("Mend <b>it</b>."),
        }
    }

    #[test]
    fn a_report_is_a_screen_of_plain_markdown() {
        let long = "a driver with a `name` of many words [x](y) and __double__ lines ".repeat(9);
        let facts = (0..50).map(|i| Fact::new("driver", if i == 3 { long.clone() } else { "/x".repeat(60) })).collect();
        let what = "The driver a_b_icd.json is _gone_ | lost, with a sentence so long that it takes several lines of the page.";
        let mut report = Report { tool_version: "v1".to_owned(), ..Report::default() };
        report.add(facts, vec![finding(what), finding("Another.")]);
        let text = report_text(&report);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let block = text.split("```").nth(1).unwrap();
        assert_eq!(block.trim_end().lines().count() + 1, MOST_LINES, "{text}");
        assert!(block.contains("lines more: see --json"), "{text}");
        let mut lists = 0;
        for event in Parser::new(&text) {
            match event {
                Event::Html(_)
                | Event::InlineHtml(_)
                | Event::Start(Tag::Emphasis | Tag::Strong | Tag::Link { .. } | Tag::Heading { .. }) => {
                    panic!("{event:?} of {text}")
                }
                Event::Start(Tag::Item) => lists += 1,
                _ => {}
            }
        }
        assert_eq!(lists, 2);
    }

    #[test]
    fn what_is_long_is_cut_and_what_terminals_obey_is_shown() {
        let mut report = Report::default();
        let long = format!("Set: {}\u{1b}[31m, {}.", "x".repeat(200), "words ".repeat(200));
        let others = (0..40).map(|i| format!("driver_{i:02}_icd.x86_64.json")).collect::<Vec<_>>().join(", ");
        report.add(vec![Fact::new("others", others)], vec![Finding { evidence: long, ..finding("[a] [b] [c] [d] ~e") }]);
        let text = report_text(&report);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH) && !text.contains('\u{1b}'), "{text}");
        assert!(text.lines().count() < 30 && text.contains(" ..."), "{text}");
    }

    #[test]
    fn the_verdict_counts() {
        let mut report = Report { is_quick: true, ..Report::default() };
        assert!(report_text(&report).starts_with("Nothing found. Nothing was measured: leave out --quick"));
        report.is_quick = false;
        report.add(Vec::new(), vec![finding("A.")]);
        assert!(report_text(&report).starts_with("1 finding: something is missing, and nothing is wrong"));
        report.add(Vec::new(), vec![Finding { harm: Harm::NoDevice, ..finding("Worse.") }]);
        assert!(report_text(&report).contains("1. Worse.\n") && report_text(&report).starts_with("2 findings."));
    }
}
