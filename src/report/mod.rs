//! Rows as pictures and as a page.
//!
//! ```text
//! sweep      what tells the rows of an experiment apart
//! layout     which picture shows that: from the axes, not by hand
//! figures    what is told of a row
//! findings   what a page says first
//! chart      what a picture shows
//! charts     the pictures of an experiment's rows
//! conclusion what the rows of a picture say, in a few words
//! roofline   what kernels reach beside what the device allows
//! clocks     the core's clock over a run
//! survey     what is known of all rows from one look at each
//! tuned      what a search says of a shader
//! application  where an application's time goes, and what ran when
//! machine    what doctor found of the machine
//! ratios     what changed between sides
//! sections   all of that, experiment by experiment
//! draw       pictures as SVG
//! page       all of it as one HTML file
//! ```

mod application;
pub mod chart;
mod charts;
mod clocks;
mod conclusion;
pub mod draw;
mod figures;
mod findings;
mod layout;
pub mod machine;
mod page;
mod ratios;
mod roofline;
mod sections;
mod survey;
mod sweep;
mod tuned;

use crate::analysis::compare::Comparison;
use crate::model::Published;
use crate::record::Packed;

use draw::{Medium, svg};
use machine::Examined;
use sections::{Outline, Slugs};
use survey::Survey;

pub use page::{Part, document, page};

/// Rows of one device by one driver, from files that belong together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Source {
    /// What it is called where several stand side by side.
    pub label: String,
    /// Its rows: those that were measured in the order of their plan, and those that follow from them.
    pub rows: Vec<Packed>,
}

#[derive(Clone, Copy, Debug)]
pub struct Contents<'c> {
    pub sources: &'c [Source],
    pub files: &'c [String],
    /// What to know of them.
    pub notes: &'c [String],
    pub limits: Option<&'c Published>,
    /// What changed from the first side of them to the others, where that is asked for.
    pub comparisons: &'c [Comparison],
    /// Which machines deviate from the others of their kind, in Markdown, the answer first; empty where there are too few.
    pub machines: &'c str,
    /// What `doctor` found of the machine.
    pub examined: Option<&'c Examined>,
}

/// Every figure of the rows: a name of letters, digits and hyphens that no other has, and the figure as SVG.
pub fn drawn(contents: &Contents) -> Vec<(String, String)> {
    let sources = contents.sources;
    let survey = Survey::of(sources);
    let compared = contents.comparisons.iter().filter_map(|comparison| ratios::ratios(comparison, sources.len()));
    let mut pictures: Vec<charts::Picture> =
        compared.chain(survey.rooflines.iter().cloned()).chain(survey.clocks.clone()).collect();
    let outline = Outline::new(&survey);
    for name in outline.names() {
        outline.show(name, usize::MAX, |section| pictures.extend(section.shown().cloned()));
    }
    let mut slugs = Slugs::default();
    // A page says whose rows it shows; a file on its own has to.
    let figure = |picture: charts::Picture| {
        let name = slugs.of(&picture.chart.title);
        let chart = chart::Chart { title: picture.concluded(&picture.title(sources)), ..picture.chart };
        (name, svg(&chart, Medium::File))
    };
    pictures.into_iter().map(figure).collect()
}
