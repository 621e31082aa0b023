//! The cases that measuring itself needs, taken from the catalogue.

use anyhow::{Context, anyhow};

use super::host::last_level_cache;
use crate::error::Error;
use crate::experiments::calibration::evict;
use crate::experiments::{self, Setting};
use crate::measure::ToolCases;
use crate::model::{Axis, AxisValue, Case, DeviceInfo, DeviceKind, Point, Preset};
use crate::plan::check_limits;
use crate::shader::{self, Compiler};

/// Compiles them for a device. `evict_bytes` asks for cold mode.
///
/// # Errors
/// Where the device can't run one of them.
pub fn tool_cases(
    compiler: &mut Compiler,
    device: &DeviceInfo,
    seed: u64,
    evict_bytes: Option<u64>,
) -> anyhow::Result<ToolCases> {
    let setting = Setting { queue: None, device, preset: Preset::Default, seed };
    let mut tool = |name: &str, value: Option<u64>| {
        let case = tool(&setting, name, value)?;
        shader::prepare(case, compiler).map_err(|failure| anyhow!("{name}: {}", failure.reason))
    };
    Ok(ToolCases {
        empty: tool("calibration/empty", None)?,
        sentinel: tool("calibration/sentinel", None)?,
        evictor: evict_bytes.map(|bytes| tool("calibration/evict", Some(bytes))).transpose()?,
    })
}

/// Whether a device can evict with so many bytes.
///
/// # Errors
/// The limit that is in the way, which is the user's to mend.
pub fn check_evictor(device: &DeviceInfo, bytes: u64) -> Result<(), Error> {
    let setting = Setting { queue: None, device, preset: Preset::Default, seed: 0 };
    let tool = tool(&setting, "calibration/evict", Some(bytes));
    tool.map(drop).map_err(|error| Error::Usage(format!("can't evict {bytes} bytes: {error:#}")))
}

/// How much cold mode evicts with: what the user asks for, else what the device needs.
pub fn evict_bytes(asked: Option<u64>, device: &DeviceInfo) -> u64 {
    // A processor's caches are the host's; those of a GPU nothing tells.
    let cache = (device.kind == DeviceKind::Cpu).then(last_level_cache).flatten();
    asked.unwrap_or_else(|| evict::default_bytes(cache, device.local_heap_bytes()))
}

/// A case of the catalogue at its defaults, or with this value on its only axis.
fn tool(setting: &Setting, name: &str, value: Option<u64>) -> anyhow::Result<Case> {
    let experiment = experiments::find(name).with_context(|| format!("{name} is not in the catalogue"))?;
    let value_on = |axis: &Axis| value.map(AxisValue::from).or_else(|| axis.defaults.first().cloned());
    let axes = experiment.axes(setting);
    let point = Point::new(axes.iter().filter_map(|axis| Some((axis.name.clone(), value_on(axis)?))));
    experiment
        .case("", &point, setting)
        .and_then(|case| check_limits(&case, setting.device).map(|()| case))
        .map_err(|skip| anyhow!("{name}: {}", skip.reason))
}
