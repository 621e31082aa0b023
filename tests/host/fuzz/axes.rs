//! What holds of any text that is taken for what a user asks for: numbers, values of axes, filters.

use lanescope::campaign::assembled::{CaseResult, Described};
use lanescope::experiments::Setting;
use lanescope::model::{Axis, AxisKind, DeviceInfo, Preset};
use lanescope::plan::{Plan, Planned, Request, parse_values};
use lanescope::record::Record;
use lanescope::units::parse_number;

use super::rows::check_rows;

/// No axis holds more values.
const MOST_VALUES: usize = 1 << 20;

/// Takes a text for each of them. Tells whether it is a request: a line with `=` in it is an axis, any other a filter.
pub fn check(text: &str) -> bool {
    if let Some(number) = parse_number(text) {
        assert_eq!(parse_number(&number.to_string()), Some(number));
    }
    for kind in [AxisKind::AtLeast(3), AxisKind::Numbers(&[1, 2, 4]), AxisKind::Choices(&["copy", "read"])] {
        check_values(&Axis::new("axis", "", kind, [1_u64]), text);
    }
    check_plan(text)
}

/// What is taken for values is taken for the same values when it is written out.
fn check_values(axis: &Axis, text: &str) {
    let Ok(values) = parse_values(axis, text) else { return };
    assert!((1..=MOST_VALUES).contains(&values.len()));
    assert!(values.iter().all(|value| axis.accepts(value)));
    // Text of a million numbers takes seconds where sanitizers watch.
    let first = &values[..values.len().min(1000)];
    let written: Vec<String> = first.iter().map(ToString::to_string).collect();
    assert_eq!(parse_values(axis, &written.join(",")).unwrap(), first);
}

/// The first and the last cases of a plan are its own, and make rows.
fn check_plan(text: &str) -> bool {
    let (axes, filters) = text.lines().map(str::to_owned).partition(|line| line.contains('='));
    let device = DeviceInfo::mock();
    let request = Request { filters, axes, ..Request::default() };
    let setting = Setting { queue: None, device: &device, preset: Preset::Default, seed: 1 };
    let plan = match Plan::new(&request, setting) {
        Ok(plan) => plan,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return false;
        }
    };
    let last = plan.count() - 1;
    let first = plan.get(0).unwrap();
    check_rows(&[row(&first, &device), row(&plan.get(last).unwrap(), &device)]);
    assert_eq!(first.case_id == plan.get(last).unwrap().case_id, last == 0);
    assert!(plan.count() == u64::MAX || plan.get(plan.count()).is_none(), "the count stops at the largest number");
    true
}

fn row(planned: &Planned, device: &DeviceInfo) -> Record {
    Record::assembled(&Record::new().on_device(device), &Described::planned(planned), device, CaseResult::Planned)
}
