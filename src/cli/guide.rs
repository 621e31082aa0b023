//! `lanescope guide`: the guides on a terminal, and as manual pages.

use std::cmp::Reverse;
use std::env;
use std::io::{self, IsTerminal, Write};
use std::process::{Command, Stdio};

use roff::{Roff, roman};

use super::args::Guide as Asked;
use super::stdout::{print, print_as_is, width};
use crate::error::{EXIT_OK, Error, nearest, suggestion};
use crate::guide::{GUIDES, Guide, find};
use crate::output::prose::{rendered, wrapped};

/// How many guides are named that have a word.
const MOST_HAVING: usize = 3;

/// The width of a manual page's text.
const MANUAL: usize = 72;

pub fn guide(Asked { topic, markdown }: &Asked) -> anyhow::Result<u8> {
    let Some(topic) = topic else { return print(&list()) };
    let guide = find(topic).ok_or_else(|| unknown(topic))?;
    match markdown {
        true => print_as_is(guide.text),
        false => paged(&format!("{}\n", rendered(guide.text, width()))),
    }
}

fn list() -> String {
    let longest = GUIDES.iter().map(|guide| guide.topic.len()).max().unwrap_or_default();
    let line = |guide: &Guide| {
        let said = wrapped(&guide.summary(), width().saturating_sub(longest + 4));
        let indented = said.replace('\n', &format!("\n{:1$}", "", longest + 4));
        format!("  {:longest$}  {indented}\n", guide.topic)
    };
    let guides: String = GUIDES.iter().map(line).collect();
    format!("Guides, each by `lanescope guide TOPIC`:\n\n{guides}")
}

/// With the guides that have the word, those that have it most often first.
fn unknown(topic: &str) -> Error {
    let topics = || GUIDES.iter().map(|guide| guide.topic);
    let near = suggestion(&nearest(topic, topics()));
    let word = topic.to_lowercase();
    let count = |guide: &&Guide| guide.text.to_lowercase().matches(&word).count();
    let mut having: Vec<&Guide> = GUIDES.iter().filter(|guide| count(guide) > 0).collect();
    having.sort_by_key(|guide| Reverse(count(guide)));
    let having: Vec<String> =
        having.iter().take(MOST_HAVING).map(|guide| format!("`lanescope guide {}`", guide.topic)).collect();
    let there = match having.is_empty() {
        true => format!("; there are {}", topics().collect::<Vec<_>>().join(", ")),
        false => format!("; the word is in {}", having.join(", ")),
    };
    Error::Usage(format!("there is no guide `{topic}`{near}{there}"))
}

/// Shows a text by the user's pager, where somebody reads it on a terminal that has one.
fn paged(text: &str) -> anyhow::Result<u8> {
    let asked = env::var("PAGER").unwrap_or_else(|_| "less".to_owned());
    let mut words = asked.split_whitespace();
    let Some(program) = words.next().filter(|_| io::stdout().is_terminal()) else { return print(text) };
    let mut pager = Command::new(program);
    if env::var_os("LESS").is_none() {
        // It ends by itself where the text fits the screen, and leaves it there.
        pager.env("LESS", "FRX");
    }
    // Ctrl-C is the pager's.
    let _ = ctrlc::set_handler(|| {});
    match pager.args(words).stdin(Stdio::piped()).spawn() {
        Ok(mut pager) => {
            // A reader who has seen enough closes it.
            let _ = pager.stdin.take().map(|mut input| input.write_all(text.as_bytes()));
            pager.wait()?;
            Ok(EXIT_OK)
        }
        Err(_) => print(text),
    }
}

/// The manual page of a guide, and its file's name.
pub fn manual(guide: &Guide) -> (String, String) {
    let name = format!("lanescope-{}", guide.topic);
    let mut page = Roff::new();
    page.control("TH", [name.as_str(), "7"]).control("SH", ["NAME"]).text([roman(format!("{name} - {}", guide.summary()))]);
    // Its sections as they are rendered: tables and commands keep their lines.
    let body = guide.text.split_once("\n\n").and_then(|(_, rest)| rest.split_once("\n\n")).map_or("", |(_, body)| body);
    // What stands before the first heading has none.
    for section in format!("DESCRIPTION\n{body}").split("## ").filter(|section| section.trim() != "DESCRIPTION") {
        let (title, text) = section.split_once('\n').unwrap_or((section, ""));
        page.control("SH", [title]).control("nf", []);
        page.text([roman(rendered(text, MANUAL))]).control("fi", []);
    }
    (format!("{name}.7"), page.render())
}
