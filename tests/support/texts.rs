//! What a reader is given: README and the guides.

use std::fs;
use std::path::Path;

use lanescope::guide::{GUIDES, find};

pub fn readme() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap()
}

pub fn guide(topic: &str) -> &'static str {
    find(topic).unwrap_or_else(|| panic!("there is no guide {topic}")).text
}

/// All of them by name, README first.
pub fn texts() -> Vec<(&'static str, String)> {
    let guides = GUIDES.iter().map(|guide| (guide.topic, guide.text.to_owned()));
    [("README", readme())].into_iter().chain(guides).collect()
}

/// What stands in the blocks of a language.
pub fn blocks<'t>(text: &'t str, language: &str) -> Vec<&'t str> {
    let begin = format!("```{language}\n");
    text.split(&begin).skip(1).map(|block| block.split("```").next().unwrap()).collect()
}
