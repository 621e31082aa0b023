//! What all rows of a run have in common, and those of a device.

use super::begin::Campaign;
use super::host::{describe_host, describe_mock_host};
use super::resumable::identity;
use crate::model::DeviceInfo;
use crate::record::Record;
use crate::shader::glsl_compiler;

/// As rows and tuning tables have it.
pub const TOOL_VERSION: &str = concat!("v", env!("CARGO_PKG_VERSION"));

impl Campaign {
    /// Of each device a row with all that is the same in its rows, but for their plan. They are of one run.
    pub fn templates(&self) -> Vec<Record> {
        let Self { settings, targets, .. } = self;
        let mut run = Record {
            tool_version: TOOL_VERSION.to_owned(),
            glsl_compiler: glsl_compiler(),
            layers: targets.layers(),
            validation: Some(settings.is_validated),
            robustness: Some(settings.is_robust),
            seed: Some(settings.seed),
            ..Record::new()
        };
        let describe = if targets.are_mock() { describe_mock_host } else { describe_host };
        describe(&mut run);
        if settings.files.is_anonymous {
            run.host.clear();
        }
        let queue =
            |device: &DeviceInfo| settings.queue.of(device).or_else(|| device.default_queue().map(|family| family.index));
        let of_device =
            |device: &DeviceInfo| Record { queue_family: queue(device).map(u64::from), ..run.clone().on_device(device) };
        targets.devices().map(of_device).collect()
    }
}

/// What the rows of a device have in common as far as visits of another run count for them.
pub fn in_common(template: &Record) -> Vec<(&'static str, String)> {
    let own = [("tool_version", template.tool_version.clone()), ("plan_id", template.plan_id.clone())];
    own.into_iter().chain(identity(template)).collect()
}
