//! In which order an invocation loads and stores its elements, and how it sees where they end: `glsl/include/issue.glsl` has the other
//! half.

use super::config::Config;
use crate::experiments::Setting;
use crate::model::{Axis, AxisKind, Case, Kernel, Preset, Scalar, Traffic};

/// The values of the axis `issue`, the neutral one first.
const ISSUES: &[&str] = &["interleaved", "loads_first"];
/// The values of the axis `bounds`, the neutral one first.
const BOUNDS: &[&str] = &["element", "tile"];

/// The axes `issue` and `bounds`, of kernels that load and store several elements an invocation. What is as if they weren't there is
/// interleaved and checks each element. The quick overview has what is fastest on most devices alone.
pub fn issue_axes(setting: &Setting) -> [Axis; 2] {
    let bounds = if setting.preset == Preset::Thorough { BOUNDS } else { &BOUNDS[..1] };
    let description = "what a kernel checks for whether it is there: each element, or a workgroup's tile first";
    [issue(setting.preset != Preset::Quick), axis("bounds", description, BOUNDS, bounds)]
}

/// The axis `issue` alone, where the order isn't what an experiment is about: what is fastest on most devices, unless the preset is
/// thorough.
pub fn issue_axis(setting: &Setting) -> Axis {
    issue(setting.preset == Preset::Thorough)
}

fn issue(has_both: bool) -> Axis {
    let issues = if has_both { ISSUES } else { &ISSUES[1..] };
    axis("issue", "whether an invocation loads all of its elements before it stores the first", ISSUES, issues)
}

/// An axis whose first word is neutral.
fn axis(name: &'static str, description: &'static str, words: &'static [&'static str], values: &[&'static str]) -> Axis {
    let axis = Axis::new(name, description, AxisKind::Choices(words), values.iter().copied());
    Axis { neutral: Some(words[0].into()), ..axis }
}

/// How the loads and stores of such a kernel show in its code: twice, where a tile that is all there has a way of its own. What an
/// invocation of it moves beside its elements is `rest` bytes.
pub fn issued(case: &Case, rest: u64) -> Traffic {
    let usual = Traffic::usual(case);
    let is_twice = case.point.choice("bounds") == "tile";
    let moved = usual.total.checked_div(usual.invocations).unwrap_or(0);
    Traffic { uncounted: if is_twice { moved - rest } else { 0 }, ..usual }
}

/// The kernel with what both axes say.
pub fn issuing(kernel: Kernel, config: &Config) -> Kernel {
    ordered(kernel, config).constant("BY_TILE", Scalar::Bool(config.choice("bounds") == "tile"))
}

/// The kernel with what the axis `issue` says.
pub fn ordered(kernel: Kernel, config: &Config) -> Kernel {
    kernel.constant("LOADS_FIRST", Scalar::Bool(config.choice("issue") == "loads_first"))
}
