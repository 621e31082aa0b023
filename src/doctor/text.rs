//! A report as text: for a terminal, and as Markdown for an issue.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{Fact, Finding, Harm, Report};
use crate::output::prose::wrapped;

/// The longest line.
const WIDTH: usize = 80;
/// Lines of the block of facts, its fences included.
const MOST_LINES: usize = 40;
/// What a fact may take.
const FACT_LINES: usize = 4;
/// What a sentence of a finding may take, and what marks around a line's first word take.
const PART_LINES: usize = 5;
const ROOM_FOR_MARKS: usize = 2;
/// Where facts begin behind what they are about.
const INDENT: usize = 12;

/// The findings, and the facts as a block of code.
pub fn report_text(report: &Report) -> String {
    let mut text = format!("{}\n", wrapped(&verdict(report), WIDTH));
    for (number, finding) in (1..).zip(&report.findings) {
        text += &format!("\n{}\n", told(number, finding));
    }
    if !report.findings.is_empty() {
        text += "\nYou can look up each of them by its name: lanescope guide trust\n";
    }
    text + &format!("\n```text\n{}\n```\n", facts(report).join("\n"))
}

fn verdict(report: &Report) -> String {
    let count = report.findings.len();
    let has_none = report.findings.iter().any(|finding| finding.harm == Harm::NoDevice);
    let more = if report.is_quick { " Nothing was measured: leave out --quick to try the device." } else { "" };
    let is_missing = report.findings.iter().all(|finding| finding.harm == Harm::Missing);
    match count {
        0 => format!("Nothing found.{more}"),
        1 if has_none => "1 finding: nothing can be measured.".to_owned(),
        _ if has_none => format!("{count} findings: nothing can be measured."),
        1 if is_missing => format!("1 finding: something is missing, and nothing is wrong with what is there.{more}"),
        _ if is_missing => format!("{count} findings: something is missing, and nothing is wrong with what is there.{more}"),
        1 => format!("1 finding. Solve it before you trust figures from this machine.{more}"),
        _ => format!("{count} findings. Solve them before you trust figures from this machine.{more}"),
    }
}

fn told(number: usize, Finding { name, device, what, evidence, advice, .. }: &Finding) -> String {
    let mark = format!("{number}. ");
    let device = device.as_ref().map(|device| format!(" (device {device})")).unwrap_or_default();
    let parts = [format!("{name}{device}: {what}"), evidence.clone(), format!("To do: {advice}")];
    let lines = parts
        .iter()
        .filter(|part| !part.is_empty())
        .flat_map(|part| fitted(&plain(part), WIDTH - mark.len() - ROOM_FOR_MARKS, PART_LINES))
        .map(|line| without_block(&line));
    let before = |i: usize| if i == 0 { mark.clone() } else { " ".repeat(mark.len()) };
    lines.enumerate().map(|(i, line)| before(i) + &line).collect::<Vec<_>>().join("\n")
}

/// Words in which Markdown finds nothing of its own: those with its marks stand as code.
fn plain(words: &str) -> String {
    let is_marked = |word: &str| {
        word.contains(['*', '<', '[', ']', '|', '~', '\\', '&', '#'])
            || word.starts_with('_')
            || word.ends_with('_')
            || word.contains("__")
    };
    let word = |word: &str| if is_marked(word) { format!("`{}`", word.replace('`', "'")) } else { word.replace('`', "'") };
    words.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// A line that doesn't begin a list, a quotation or a heading.
fn without_block(line: &str) -> String {
    let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
    let is_number = |word: &str| !word.is_empty() && word.chars().all(|letter| letter.is_ascii_digit());
    let begins = matches!(first, "-" | "+" | ">" | "=" | "---") || first.strip_suffix(['.', ')']).is_some_and(is_number);
    if begins { format!("`{first}` {rest}") } else { line.to_owned() }
}

/// Words in at most so many lines of at most this width.
fn fitted(words: &str, width: usize, most: usize) -> Vec<String> {
    let cut = |line: &str, room: usize| match line.width() {
        length if length <= room => line.to_owned(),
        _ => {
            let mut taken = 0;
            let fits = |letter: &char| {
                taken += letter.width().unwrap_or(0);
                taken <= room - 3
            };
            line.chars().take_while(fits).collect::<String>() + "..."
        }
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
            ..Finding::default()
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
        for what in ["*a* ".repeat(60), "\u{9a45}\u{52d5} ".repeat(80), format!("{} 1. a - b > c", "x".repeat(66))] {
            let mut report = Report::default();
            report.add(vec![Fact::new("others", what.clone())], vec![finding(&what)]);
            let text = report_text(&report);
            assert!(text.lines().all(|line| line.width() <= WIDTH), "{text}");
            let list = text.split("```").next().unwrap();
            let is_block = |line: &str| ["1. a -", "- b"].iter().any(|begin| line.trim_start().starts_with(begin));
            assert!(!list.lines().any(is_block), "{text}");
        }
    }

    #[test]
    fn the_verdict_counts() {
        let mut report = Report { is_quick: true, ..Report::default() };
        assert!(report_text(&report).starts_with("Nothing found. Nothing was measured: leave out --quick"));
        report.is_quick = false;
        report.add(Vec::new(), vec![finding("A.")]);
        assert!(report_text(&report).starts_with("1 finding: something is missing, and nothing is wrong"));
        report.add(Vec::new(), vec![Finding { harm: Harm::NoDevice, ..finding("Worse.") }]);
        report.findings[1].device = Some("1 (one)".to_owned());
        let text = report_text(&report);
        assert!(text.starts_with("2 findings: nothing can be measured.") && !text.contains("--quick"), "{text}");
        assert!(text.contains("1. a: Worse.\n") && text.contains("2. a (device 1 (one)): A.\n"), "{text}");
    }
}
