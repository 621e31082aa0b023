//! `lanescope list` and `lanescope describe`: the catalogue, without touching a driver unless a device is named.

mod described;
mod entry;
mod find;
mod json;
mod listing;
mod nominal;
mod words;

use self::described::described;
use self::find::find;
use self::json::Catalogue;
use self::listing::Listing;
use super::args::{Describe, List};
use super::devices::DEADLINES;
use super::stdout::{print, print_as_is, width};
use crate::campaign::targets;
use crate::campaign::voice::Voice;
use crate::error::Error;
use crate::experiments::CATALOGUE;
use crate::output::{Mode, json};
use crate::plan;

pub fn list(arguments: &List) -> anyhow::Result<u8> {
    let voice = Voice::new(Mode::Normal);
    let asked = arguments.device.as_deref().map(|device| targets::info(device, DEADLINES, &voice.listener())).transpose()?;
    let device = asked.unwrap_or_else(nominal::gpu);
    let found = find(&arguments.words, &nominal::setting(&device))?;
    if arguments.json {
        return print_as_is(&json(&Catalogue::new(&found, &device))?);
    }
    let listing = Listing { entries: &found, device: &device, is_detailed: arguments.verbose, width: width() };
    print(&listing.to_string())
}

pub fn describe(arguments: &Describe) -> anyhow::Result<u8> {
    let text = described(&arguments.name, width())?;
    if text.is_empty() {
        return Err(unknown(&arguments.name).into());
    }
    print(&text)
}

/// A name that nothing has; families are known, but there is no text of them.
fn unknown(name: &str) -> Error {
    let family = name.strip_suffix("/*").unwrap_or(name);
    if CATALOGUE.iter().any(|experiment| experiment.name().split('/').next() == Some(family)) {
        return Error::Usage(format!(
            "`{family}` is a family: `lanescope list {family}` shows its experiments, of which to name one"
        ));
    }
    plan::unknown_experiment(name)
}

#[cfg(test)]
mod tests {
    use pulldown_cmark::{Event, Parser, Tag};

    use super::*;
    use crate::experiments::{DERIVATIONS, Text, text};

    #[test]
    fn every_experiment_says_what_it_asks_and_how_to_read_it() {
        let derivations = DERIVATIONS.iter().map(|derivation| derivation.name);
        for name in CATALOGUE.iter().map(|experiment| experiment.name()).chain(derivations) {
            let Text { summary, body } = text(name).unwrap();
            let begins = ["- Question: ", "\n- Unit: ", "\n- At a glance: ", "\n## How to read it\n"];
            let places: Vec<Option<usize>> = begins.iter().map(|begin| body.find(begin)).collect();
            assert!(!summary.is_empty() && places[0] == Some(0) && places.is_sorted(), "{name}: {places:?}");
            // Markup that nobody meant, such as two stars, would eat characters.
            let is_meant = |event: Event| !matches!(event, Event::Start(Tag::Emphasis | Tag::HtmlBlock) | Event::InlineHtml(_));
            assert!(Parser::new(body).all(is_meant), "{name}");
            for width in [60, 100] {
                assert!(described(name, width).unwrap().lines().all(|line| line.chars().count() <= width), "{name}");
            }
        }
    }
}
