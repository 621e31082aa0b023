//! What all rows of a run have in common, and those of a device.

use super::host::{describe_host, describe_mock_host};
use super::resumable::identity;
use super::settings::Settings;
use super::targets::Targets;
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
    if settings.files.is_anonymous {
        run.host.clear();
    }
    run
}

/// The same with what a device's rows have in common.
pub fn device_row(run: Record, settings: &Settings, targets: &Targets, device: &DeviceInfo) -> Record {
    Record {
        layers: targets.layers(),
        queue_family: settings.queue.or_else(|| device.default_queue().map(|family| family.index)).map(u64::from),
        validation: Some(settings.is_validated),
        robustness: Some(settings.is_robust),
        seed: Some(settings.seed),
        ..run.on_device(device)
    }
}

/// What the rows of a device have in common as far as visits of another run count for them.
pub fn in_common(template: &Record) -> Vec<(&'static str, String)> {
    let own = [("tool_version", template.tool_version.clone()), ("plan_id", template.plan_id.clone())];
    own.into_iter().chain(identity(template)).collect()
}
