//! The list of experiments, for people.

use std::fmt;

use super::entry::CatalogueEntry;
use super::nominal::is_nominal;
use super::words::{defaults, hanging, shortened, whose};
use crate::experiments::derived_with;
use crate::model::DeviceInfo;
use crate::output::prose::wrapped;

/// So many experiments are shown with their variants and axes unless the user asks for more: about a screen.
const DETAILED: usize = 8;

const INDENT: &str = "    ";

pub struct Listing<'l> {
    pub entries: &'l [CatalogueEntry],
    pub device: &'l DeviceInfo,
    /// Whether variants and axes are shown of however many there are.
    pub is_detailed: bool,
    pub width: usize,
}

impl fmt::Display for Listing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_detailed = self.is_detailed || self.entries.len() <= DETAILED;
        let names = self.entries.iter().map(|entry| entry.name().len()).max().unwrap_or(0);
        for entry in self.entries {
            self.title(f, entry, names)?;
            if is_detailed {
                self.detail(f, entry)?;
            }
        }
        writeln!(f, "\n{}", wrapped(&self.advice(is_detailed), self.width))
    }
}

impl Listing<'_> {
    /// The name, and the summary beside it, below itself where it is long.
    fn title(&self, f: &mut fmt::Formatter<'_>, entry: &CatalogueEntry, names: usize) -> fmt::Result {
        let column = names + 2;
        let summary = wrapped(entry.summary(), self.width.saturating_sub(column));
        let summary = summary.replace('\n', &format!("\n{:column$}", ""));
        writeln!(f, "{:column$}{summary}", entry.name())
    }

    fn detail(&self, f: &mut fmt::Formatter<'_>, entry: &CatalogueEntry) -> fmt::Result {
        if !entry.variants.is_empty() {
            self.line(f, &format!("variants: {}", shortened(&entry.variants, "variants")))?;
        }
        let derived = derived_with(entry.experiment);
        if !derived.is_empty() {
            self.line(f, &format!("derives: {}", derived.join(", ")))?;
        }
        entry.axes().iter().try_for_each(|(axis, values)| self.line(f, &format!("{} = {}", axis.name, defaults(values))))
    }

    fn line(&self, f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
        let lines = hanging(text, self.width - INDENT.len(), INDENT.len() / 2);
        lines.lines().try_for_each(|line| writeln!(f, "{INDENT}{line}"))
    }

    fn advice(&self, is_detailed: bool) -> String {
        let first = match (is_detailed, is_nominal(self.device)) {
            (false, _) => "`lanescope list WORD` finds experiments, -v shows the variants and axes of all.".to_owned(),
            (true, true) => {
                format!("Values are the defaults of {}; -d shows those of a device, as in `-d 0`.", whose(self.device))
            }
            (true, false) => format!("Values are the defaults of {}.", whose(self.device)),
        };
        first + " `lanescope describe NAME` explains one."
    }
}
