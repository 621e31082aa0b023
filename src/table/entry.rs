//! What a table knows about one case.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{AxisValue, Uuid, time};

/// What identifies a device, as `VkPhysicalDeviceProperties` and `VkPhysicalDeviceIDProperties` have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceId {
    /// Its name.
    pub name: String,
    /// The vendor's id.
    pub vendor_id: u32,
    /// The id of the model among the vendor's.
    pub device_id: u32,
    /// What tells it from others of its model.
    pub uuid: Uuid,
}

/// What identifies a driver, as `VkPhysicalDeviceDriverProperties` has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriverId {
    /// `VkDriverId` as the specification names it, such as `MESA_RADV`.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its own description of its build.
    pub info: String,
}

/// What identifies a kernel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelId {
    /// What it is called, such as its file's name.
    pub name: String,
    /// What changes with its code, such as a hash of its source.
    pub hash: String,
}

/// The best configuration for a kernel on a device with a driver, at a problem size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableEntry {
    /// The kernel.
    pub kernel: KernelId,
    /// The device.
    pub device: DeviceId,
    /// Its driver.
    pub driver: DriverId,
    /// The problem size by name: `n`, or `width` and `height`.
    pub size: BTreeMap<String, u64>,
    /// The value of each axis.
    pub configuration: BTreeMap<String, AxisValue>,
    /// Time of a pass in nanoseconds.
    #[serde(serialize_with = "finite")]
    pub time_ns: f64,
    /// Lower end of its confidence interval.
    #[serde(serialize_with = "finite")]
    pub ci_low_ns: f64,
    /// Upper end of its confidence interval.
    #[serde(serialize_with = "finite")]
    pub ci_high_ns: f64,
    /// When it was measured; files have it to the second.
    #[serde(serialize_with = "rfc3339", deserialize_with = "from_rfc3339")]
    pub when: SystemTime,
    /// The version of the program that measured it.
    pub tool_version: String,
}

/// Of what a table has only one entry. A device's name is what its driver calls it, and left out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    kernel: KernelId,
    device: (u32, u32, Uuid),
    driver: DriverId,
    size: BTreeMap<String, u64>,
}

impl TableEntry {
    pub(super) fn key(&self) -> Key {
        Key {
            kernel: self.kernel.clone(),
            device: (self.device.vendor_id, self.device.device_id, self.device.uuid),
            driver: self.driver.clone(),
            size: self.size.clone(),
        }
    }
}

/// JSON has no other numbers, and writing none of them in silence would make a table that can't be read.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands references")]
fn finite<S: Serializer>(time: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if time.is_finite() { serializer.serialize_f64(*time) } else { Err(S::Error::custom("a time is no finite number")) }
}

fn rfc3339<S: Serializer>(when: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    let text = time::text(*when).ok_or_else(|| S::Error::custom("a point in time is before 1970 or after 9999"))?;
    serializer.serialize_str(&text)
}

fn from_rfc3339<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SystemTime, D::Error> {
    let text = String::deserialize(deserializer)?;
    time::parse(&text).ok_or_else(|| D::Error::custom(format!("`{text}` is no point in time such as 1970-01-01T00:00:01Z")))
}
