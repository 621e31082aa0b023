//! What differs between two sides beside their figures.

use super::sides::{Run, Side};

/// The columns that identify a run, with what they are about.
const COLUMNS: [(&str, About); 20] = [
    ("device_name", About::Device),
    ("device_uuid", About::Device),
    ("driver_name", About::Driver),
    ("driver_info", About::Driver),
    ("driver_version", About::Driver),
    ("api_version", About::Driver),
    ("host", About::Host),
    ("os", About::Host),
    ("cpu_name", About::Host),
    ("cpu_threads", About::Host),
    ("loader_version", About::Host),
    ("tool_version", About::Tool),
    ("glsl_compiler", About::Tool),
    ("environment", About::Circumstances),
    ("layers", About::Circumstances),
    ("queue_family", About::Circumstances),
    ("robustness", About::Circumstances),
    ("seed", About::Circumstances),
    ("plan_id", About::Plan),
    ("validation", About::Validation),
];

/// Their names.
pub const IDENTITY: [&str; COLUMNS.len()] = names();

const fn names() -> [&'static str; COLUMNS.len()] {
    let mut names = [""; COLUMNS.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = COLUMNS[i].0;
        i += 1;
    }
    names
}

/// What a difference is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum About {
    /// The device.
    Device,
    /// Its driver.
    Driver,
    /// The machine, and the Vulkan loader on it.
    Host,
    /// Lanescope and its GLSL compiler.
    Tool,
    /// Variables, layers, queues: what the run was started with.
    Circumstances,
    /// Which cases were planned, by preset, filters and axes.
    Plan,
    /// The validation layer, which slows everything down.
    Validation,
}

impl About {
    /// As people are told.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Driver => "driver",
            Self::Host => "host",
            Self::Tool => "tool",
            Self::Circumstances => "circumstances",
            Self::Plan => "plan",
            Self::Validation => "validation",
        }
    }

    /// Whether it can move a figure: a plan only decides which cases there are.
    fn moves_figures(self) -> bool {
        self != Self::Plan
    }
}

/// A column in which the sides differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What it is about.
    pub about: About,
    /// The column.
    pub column: &'static str,
    /// Its values on the base, and on the other side.
    pub values: [String; 2],
}

/// What differs between two sides, in the order of the columns. Files whose devices are told apart by rows have several values each.
pub fn differences(base: &Side, new: &Side) -> Vec<Difference> {
    let values = |runs: &[Run], column: usize| {
        let mut values: Vec<&str> = runs.iter().map(|run| run.identity[column].as_ref()).collect();
        values.sort_unstable();
        values.dedup();
        values.join(", ")
    };
    let differs = |(place, (column, about)): (usize, &(&'static str, About))| {
        let values = [base, new].map(|side| values(&side.runs, place));
        // Left out by --columns or --anonymous, or unknown to an older version: nothing is known to differ.
        (values[0] != values[1] && values.iter().all(|value| !value.is_empty())).then_some(Difference {
            about: *about,
            column,
            values,
        })
    };
    COLUMNS.iter().enumerate().filter_map(differs).collect()
}

/// Says that more than one thing differs, where that is so: then figures don't tell which of them moved them. A device of another kind
/// brings its own driver, and another host its own variables.
pub fn warning(differences: &[Difference]) -> Option<String> {
    let mut abouts: Vec<About> =
        differences.iter().map(|difference| difference.about).filter(|about| about.moves_figures()).collect();
    abouts.dedup();
    let [others @ .., last] = abouts.as_slice() else { return None };
    (!others.is_empty()).then(|| {
        let others = others.iter().map(|about| about.as_str()).collect::<Vec<_>>().join(", ");
        format!("{others} and {} differ: the figures don't tell which of them moved a case", last.as_str())
    })
}
