//! The entry that fits a case best.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::{AxisValue, DeviceId, DriverId, TableEntry};

/// What a configuration is wanted for.
#[derive(Clone, Copy, Debug)]
pub struct Query<'a> {
    /// The kernel's hash, or where any version of its code will do, its name.
    pub kernel: &'a str,
    /// The device that it is to run on.
    pub device: &'a DeviceId,
    /// The device's driver.
    pub driver: &'a DriverId,
    /// The problem size, by the names that the table has.
    pub size: &'a BTreeMap<String, u64>,
}

/// How well an entry fits, the best first. A device of the same model counts as the same. Among entries that fit equally well, the
/// nearest problem size wins, by the sum of squared differences of logarithms; then the very device; then the latest entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quality {
    /// The same device, driver and problem size.
    Exact,
    /// The same device and driver, and another problem size.
    NearestSize,
    /// The same device with another driver, or another version of it.
    SameDevice,
    /// Another device of the same vendor.
    SameVendor,
    /// Another vendor's device.
    Fallback,
}

/// What a table says about a case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Match<'a> {
    /// The value of each axis.
    pub configuration: &'a BTreeMap<String, AxisValue>,
    /// How well it fits.
    pub quality: Quality,
    /// The whole entry.
    pub entry: &'a TableEntry,
}

pub(super) fn best<'a>(entries: impl Iterator<Item = &'a TableEntry> + Clone, query: &Query<'_>) -> Option<Match<'a>> {
    let by_hash = |entry: &&TableEntry| entry.kernel.hash == query.kernel;
    let is_hash = entries.clone().any(|entry| by_hash(&entry));
    let of_kernel = entries.filter(|entry| if is_hash { by_hash(entry) } else { entry.kernel.name == query.kernel });
    // Of equals the first stays, in the table's own order.
    let entry = of_kernel.min_by(|a, b| {
        let [(a_quality, a_distance, a_rest), (b_quality, b_distance, b_rest)] = [a, b].map(|entry| rank(entry, query));
        a_quality.cmp(&b_quality).then(a_distance.total_cmp(&b_distance)).then(a_rest.cmp(&b_rest))
    })?;
    Some(Match { configuration: &entry.configuration, quality: quality(entry, query), entry })
}

/// What decides between entries, the smaller the better.
fn rank(entry: &TableEntry, query: &Query<'_>) -> (Quality, f64, impl Ord + use<>) {
    let is_other = entry.device.uuid != query.device.uuid;
    (quality(entry, query), distance(&entry.size, query.size), (is_other, Reverse(entry.when)))
}

fn quality(entry: &TableEntry, query: &Query<'_>) -> Quality {
    let (device, driver) = (&entry.device, &entry.driver);
    if device.vendor_id != query.device.vendor_id {
        return Quality::Fallback;
    }
    if device.device_id != query.device.device_id {
        return Quality::SameVendor;
    }
    // One driver calls a model by one name, and a part of a device by another; two drivers call the same device as they like.
    if driver != query.driver || device.name != query.device.name {
        return Quality::SameDevice;
    }
    if entry.size == *query.size { Quality::Exact } else { Quality::NearestSize }
}

/// How far two problem sizes lie apart. Those of different dimensions can't be compared, and are farthest.
#[expect(clippy::cast_precision_loss, reason = "sizes are compared by their magnitude")]
fn distance(one: &BTreeMap<String, u64>, other: &BTreeMap<String, u64>) -> f64 {
    if !one.keys().eq(other.keys()) {
        return f64::INFINITY;
    }
    let logarithm = |n: &u64| (*n.max(&1) as f64).ln();
    one.values().zip(other.values()).map(|(a, b)| (logarithm(a) - logarithm(b)).powi(2)).sum()
}
