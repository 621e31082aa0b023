//! What all rows of a run have in common, and those of a device.

use super::host::{describe_host, describe_mock_host};
use super::settings::Settings;
use super::target::Targets;
use crate::analysis::resumable::identity;
use crate::model::DeviceInfo;
use crate::record::Record;
use crate::shader::glsl_compiler;

/// A row with all that is the same in a run's rows.
pub fn run_row(settings: &Settings, targets: &Targets) -> Record {
    let mut run = Record {
        tool_version: concat!("v", env!("CARGO_PKG_VERSION")).to_owned(),
        glsl_compiler: glsl_compiler(),
        ..Record::new()
    };
    if targets.are_mock() {
        describe_mock_host(&mut run);
    } else {
        describe_host(&mut run);
    }
    if settings.flags.anonymous {
        run.host.clear();
    }
    run
}

/// The same with what a device's rows have in common.
pub fn device_row(mut row: Record, settings: &Settings, targets: &Targets, device: &DeviceInfo) -> Record {
    row.describe_device(device);
    row.layers = targets.layers();
    row.queue_family = settings.flags.queue.or_else(|| device.default_queue().map(|family| family.index)).map(u64::from);
    row.validation = Some(settings.flags.validation);
    row.robustness = Some(settings.flags.robust);
    row.seed = Some(settings.flags.seed);
    row
}

/// What the rows of a device have in common as far as visits of another run count for them.
pub fn in_common(template: &Record) -> Vec<(&'static str, String)> {
    let own = [("tool_version", template.tool_version.clone()), ("plan_id", template.plan_id.clone())];
    own.into_iter().chain(identity(template)).collect()
}
