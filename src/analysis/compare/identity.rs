//! What differs between two sides beside their figures.

use super::sides::{Run, Side};
use crate::model::DeviceKind;

/// What kind of device it is, and which.
const TYPE: &str = "device_type";
const UUID: &str = "device_uuid";

/// The columns that identify a run, with what they are about.
pub const IDENTITY: [(&str, About); 22] = [
    ("device_name", About::Device),
    (TYPE, About::Device),
    (UUID, About::Device),
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
    // Rows don't name their preset; this is what it decides beside the plan.
    ("processes", About::Circumstances),
    ("plan_id", About::Plan),
    ("validation", About::Validation),
];

/// Columns that are empty where there is nothing to tell: no variable is set, no layer is active.
const MAY_BE_EMPTY: [&str; 2] = ["environment", "layers"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum About {
    Device,
    Driver,
    /// The machine, and the Vulkan loader on it.
    Host,
    /// Lanescope and its GLSL compiler.
    Tool,
    /// Variables, layers, queues: what the run was started with.
    Circumstances,
    /// Which cases were planned, by preset, filters and axes.
    Plan,
    Validation,
}

impl About {
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub about: About,
    pub column: &'static str,
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
    // A processor's driver makes up its UUID: that of another version says no more than the version.
    let kind = IDENTITY.iter().position(|(column, _)| *column == TYPE);
    let are_processors =
        kind.is_some_and(|kind| [base, new].iter().all(|side| values(&side.runs, kind) == DeviceKind::Cpu.as_str()));
    let differs = |(place, (column, about)): (usize, &(&'static str, About))| {
        let values = [base, new].map(|side| values(&side.runs, place));
        // Left out by --columns or --anonymous, or unknown to an older version: nothing is known to differ.
        let is_known = MAY_BE_EMPTY.contains(column) || values.iter().all(|value| !value.is_empty());
        (values[0] != values[1] && is_known).then_some(Difference { about: *about, column, values })
    };
    let columns = IDENTITY.iter().enumerate().filter(|(_, (column, _))| *column != UUID || !are_processors);
    columns.filter_map(differs).collect()
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

#[cfg(test)]
mod tests {
    use super::super::Sides;
    use super::*;
    use crate::record::Record;

    fn side(change: impl Fn(&mut Record)) -> Vec<Record> {
        let mut row = Record {
            experiment: "memory/stream".to_owned(),
            case_id: "c1".to_owned(),
            status: "ok".to_owned(),
            run_id: "r1".to_owned(),
            device_name: "A".to_owned(),
            device_type: "discrete".to_owned(),
            device_uuid: "1".to_owned(),
            driver_info: "1.0".to_owned(),
            host: "here".to_owned(),
            value: Some(1.0),
            ..Record::new()
        };
        change(&mut row);
        vec![row]
    }

    fn differing(base: &[Record], new: &[Record]) -> Vec<Difference> {
        let sides = Sides::of_records([("base", base), ("new", new)]).unwrap();
        differences(&sides.sides[0], &sides.sides[1])
    }

    fn told(change: impl Fn(&mut Record)) -> (Vec<&'static str>, Option<String>) {
        let differences = differing(&side(|_| {}), &side(change));
        (differences.iter().map(|difference| difference.column).collect(), warning(&differences))
    }

    #[test]
    fn more_than_one_difference_is_warned_of() {
        assert_eq!(told(|row| row.driver_info = "2.0".to_owned()), (vec!["driver_info"], None));
        let (columns, warning) = told(|row| {
            row.driver_info = "2.0".to_owned();
            row.host = "there".to_owned();
            row.plan_id = "p2".to_owned();
        });
        assert_eq!(columns, ["driver_info", "host"], "no plan is told on the other side");
        assert!(warning.unwrap().starts_with("driver and host differ: "));
        assert_eq!(told(|row| row.host = String::new()), (vec![], None), "it was left out");
    }

    #[test]
    fn the_uuid_of_a_processor_is_its_drivers() {
        let other = |kind: &'static str| {
            let change = move |row: &mut Record| {
                row.device_type = kind.to_owned();
                row.device_uuid = "2".to_owned();
                row.driver_info = "2.0".to_owned();
            };
            differing(&side(move |row| row.device_type = kind.to_owned()), &side(change)).len()
        };
        assert_eq!((other("discrete"), other("cpu")), (2, 1));
    }
}
