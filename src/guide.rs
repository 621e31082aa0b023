//! The guides: texts by topic, which the program carries with it.

/// A guide of its own file.
#[derive(Clone, Copy, Debug)]
pub struct Guide {
    /// What a reader asks for.
    pub topic: &'static str,
    /// Markdown: a title, a sentence that says what it is for, and what there is to say.
    pub text: &'static str,
}

macro_rules! guides {
    ($($topic:literal),+) => {
        &[$(Guide { topic: $topic, text: include_str!(concat!("guide/", $topic, ".md")) }),+]
    };
}

/// All of them, in the order in which a newcomer may want them.
pub const GUIDES: &[Guide] = guides![
    "run",
    "tune",
    "inspect",
    "trace",
    "check",
    "explain",
    "capture",
    "compare",
    "fleet",
    "page",
    "trust",
    "columns",
    "plotting",
    "drivers",
    "method",
    "windows",
    "contributing",
    "glossary"
];

impl Guide {
    /// The sentence below the title.
    pub fn summary(&self) -> String {
        let paragraph = self.text.split("\n\n").nth(1).unwrap_or_default();
        paragraph.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

pub fn find(topic: &str) -> Option<Guide> {
    GUIDES.iter().copied().find(|guide| guide.topic == topic)
}
