//! What tests of derived figures set up.

use super::testing::point;
use crate::model::{Derived, DeviceInfo, DeviceKind, Finished};

/// The mock as a device of this kind.
pub fn device(kind: DeviceKind) -> DeviceInfo {
    DeviceInfo { kind, ..DeviceInfo::mock() }
}

/// A row at a point of these values alone, whose time is known to a percent.
pub fn row(told: &str, time: f64) -> Finished {
    Finished { point: point(told), time, interval: Some((0.99 * time, 1.01 * time)), ..Finished::default() }
}

/// Why a derived row has no figure.
pub fn untold(row: &Derived) -> String {
    row.figure.as_ref().unwrap_err().to_string()
}
