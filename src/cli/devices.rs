//! `lanescope devices`: what is there, and why something can't be used.

use std::fmt::{self, Write};
use std::time::Duration;

use super::args::Devices;
use super::stdout::print;
use super::voice::Voice;
use crate::error::Error;
use crate::gpu::NO_DEVICE_ADVICE;
use crate::model::{DeviceInfo, FormatUse, MatrixProduct, QueueFamily};
use crate::output::Mode;
use crate::units::Bytes;
use crate::worker::{Deadlines, Platform, find};

/// How long drivers may take to tell what their devices are: those that aren't needed may take their time.
pub const DEADLINES: Deadlines = Deadlines { first: Duration::from_secs(60), usual: Duration::from_secs(10) };

/// Prints every device of every installed driver.
pub fn devices(arguments: &Devices) -> anyhow::Result<u8> {
    let voice = Voice::new(if arguments.verbose { Mode::Verbose } else { Mode::Normal });
    let platform = Platform::Vulkan { validation: false, driver: None };
    let found = find(&platform, DEADLINES, &voice.listener())?;
    let devices: Vec<&DeviceInfo> = found.devices.iter().map(|place| &place.info).collect();
    if devices.is_empty() {
        return Err(Error::NoDevice(NO_DEVICE_ADVICE.to_owned()).into());
    }
    if arguments.json {
        return print(&(serde_json::to_string_pretty(&devices)? + "\n"));
    }
    let mut text = format!("Vulkan loader {}\n", found.loader_version);
    devices.iter().try_for_each(|device| describe(&mut text, device))?;
    print(&text)
}

fn describe(text: &mut String, device: &DeviceInfo) -> fmt::Result {
    let DeviceInfo { driver, limits, subgroup, .. } = device;
    writeln!(text, "\n{}: {} ({})", device.index, device.name, device.kind.as_str())?;
    let mut line = |name: &str, value: String| writeln!(text, "    {name:12} {value}");
    if let Some(reason) = &device.unusable {
        line("UNUSABLE", reason.clone())?;
    }
    line("driver", format!("{} {} ({}, {})", driver.name, driver.version, driver.label(), driver.id))?;
    line("Vulkan", driver.api_version.clone())?;
    line("ids", format!("vendor {:#06x}, device {:#06x}", device.vendor_id, device.device_id))?;
    line("device UUID", device.device_uuid.to_string())?;
    line("driver UUID", driver.uuid.to_string())?;
    if let Some(address) = device.pci_address {
        line("PCI address", address.to_string())?;
    }
    let [x, y, z] = limits.workgroup_size;
    line("workgroup", format!("at most {x} x {y} x {z}, {} invocations in all", limits.workgroup_invocations))?;
    let [x, y, z] = limits.workgroup_count;
    line("grid", format!("at most {x} x {y} x {z} workgroups"))?;
    line("shared", Bytes(limits.shared_bytes.into()).to_string())?;
    let (range, allocation) = (Bytes(limits.storage_buffer_range), Bytes(limits.allocation_bytes));
    line("buffers", format!("storage range {range}, allocation {allocation}, {} sets", limits.descriptor_sets))?;
    let size = match (subgroup.size_control, subgroup.min_size, subgroup.max_size) {
        (true, min, max) if min < max => format!("{} (can be required: {min} to {max})", subgroup.size),
        _ => subgroup.size.to_string(),
    };
    line("subgroup", format!("{size}; {}", names(&subgroup.classes)))?;
    line("features", names(&device.features))?;
    for queue in &device.queues {
        line(&format!("queue {}", queue.index), described_queue(queue, device.timestamp_period))?;
    }
    for (i, heap) in device.heaps.iter().enumerate() {
        line(&format!("heap {i}"), format!("{}{}", Bytes(heap.bytes), if heap.device_local { ", device-local" } else { "" }))?;
    }
    for ty in &device.memory_types {
        line("memory", ty.to_string())?;
    }
    for usage in FormatUse::ALL {
        let formats = device.formats.iter().filter(|(_, uses)| uses.contains(&usage)).map(|(format, _)| format.as_str());
        let formats: Vec<&str> = formats.collect();
        line(
            "texels",
            format!("as {}: {}", usage.as_str(), if formats.is_empty() { "none".to_owned() } else { formats.join(", ") }),
        )?;
    }
    for (kinds, sizes) in matrices(&device.matrices) {
        line("matrices", format!("{kinds}: {}", sizes.join(", ")))?;
    }
    for quirk in &device.quirks {
        line("quirk", format!("{}: {}", quirk.name, quirk.what))?;
    }
    Ok(())
}

/// Products of matrices, those that differ in size alone on one line.
fn matrices(products: &[MatrixProduct]) -> Vec<(String, Vec<String>)> {
    let mut lines: Vec<(String, Vec<String>)> = Vec::new();
    for product in products {
        let told = product.to_string();
        let (size, kinds) = told.split_once(' ').unwrap_or((&told, ""));
        match lines.iter_mut().find(|(known, _)| known == kinds) {
            Some((_, sizes)) => sizes.push(size.to_owned()),
            None => lines.push((kinds.to_owned(), vec![size.to_owned()])),
        }
    }
    lines
}

/// Names as the JSON form has them, joined by commas.
fn names<'a, T: serde::Serialize + 'a>(items: impl IntoIterator<Item = &'a T>) -> String {
    let name = |item| serde_json::to_value(item).ok().and_then(|value| value.as_str().map(str::to_owned));
    let names: Vec<String> = items.into_iter().filter_map(name).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn described_queue(queue: &QueueFamily, period: f64) -> String {
    let kinds = [("compute", queue.compute), ("graphics", queue.graphics), ("transfer", queue.transfer)];
    let kinds: Vec<&str> = kinds.into_iter().filter(|(_, has)| *has).map(|(kind, _)| kind).collect();
    let timestamps = match queue.timestamp_valid_bits {
        0 => "no timestamps: timed by the host's clock".to_owned(),
        bits => format!("timestamps of {bits} bits, {period} ns each"),
    };
    format!("{} x {}; {timestamps}", queue.count, kinds.join("+"))
}
