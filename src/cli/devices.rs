//! `lanescope devices`: what is there, and why something can't be used.

mod page;

use std::time::Duration;

use self::page::Page;
use super::args::Devices;
use super::limits;
use super::stdout::{print, print_as_is, width};
use crate::campaign::voice::Voice;
use crate::error::Error;
use crate::gpu::NO_DEVICE_ADVICE;
use crate::model::{DeviceInfo, Format, FormatUse, Heap, MatrixProduct, MemoryType, QueueFamily, Quirk};
use crate::output::{Mode, json};
use crate::units::{Bytes, rate};
use crate::worker::{Deadline, Deadlines, Platform, find};

/// How long drivers may take to tell what their devices are: those that aren't needed may take their time.
pub const DEADLINES: Deadlines =
    Deadlines { first: Deadline::fixed(Duration::from_secs(60)), usual: Deadline::fixed(Duration::from_secs(10)) };

/// Entries of one kind that are shown unless everything is asked for.
const MOST_ENTRIES: usize = 3;
/// Lines that features, and kinds of matrices, take unless everything is asked for: with all else a screen.
const FEATURE_LINES: usize = 6;
const MATRIX_LINES: usize = 3;
/// The same of what devices can do at most.
const PEAK_LINES: usize = 4;

pub fn devices(arguments: &Devices) -> anyhow::Result<u8> {
    let limits = limits::read(&arguments.limits)?;
    let voice = Voice::new(if arguments.verbose { Mode::Verbose } else { Mode::Normal });
    let platform = Platform::Vulkan { validation: false, driver: None };
    let mut found = find(&platform, DEADLINES, &voice.listener())?;
    if let Some(own) = &limits {
        found.devices.iter_mut().for_each(|place| place.info.limit(own));
    }
    let devices: Vec<&DeviceInfo> = found.devices.iter().map(|place| &place.info).collect();
    if devices.is_empty() {
        return Err(Error::NoDevice(NO_DEVICE_ADVICE.to_owned()).into());
    }
    if arguments.json {
        return print_as_is(&json(&devices)?);
    }
    print(&told(&found.loader_version, &devices, width(), arguments.verbose))
}

fn told(loader: &str, devices: &[&DeviceInfo], width: usize, is_whole: bool) -> String {
    let mut text = format!("Vulkan loader {loader}\n");
    let mut has_more = false;
    for device in devices {
        let (lines, has_left_out) = page(device, width, is_whole).finish();
        text += &format!("\n{}\n", lines.join("\n"));
        has_more |= has_left_out;
    }
    if has_more {
        text += "\n-v shows all of it.\n";
    }
    text
}

/// What is told of a device: first what it is and whether it can be used, then what it allows and has.
fn page(device: &DeviceInfo, width: usize, is_whole: bool) -> Page {
    let title = format!("{}: {} ({})", device.index, device.name, device.kind.as_str());
    let mut page = Page::new(&title, width, is_whole);
    if let Some(reason) = &device.unusable {
        page.add("UNUSABLE", reason);
    }
    let quirk = |quirk: &Quirk| ("quirk".to_owned(), format!("{}: {}", quirk.name, quirk.what));
    page.several(&device.quirks.iter().map(quirk).collect::<Vec<_>>(), MOST_ENTRIES);
    add_identity(&mut page, device);
    add_limits(&mut page, device);
    add_peaks(&mut page, device);
    add_parts(&mut page, device);
    page
}

fn add_identity(page: &mut Page, device: &DeviceInfo) {
    let driver = &device.driver;
    page.add("driver", &format!("{} {} ({}, {})", driver.name, driver.version, driver.label(), driver.id));
    page.add("Vulkan", &driver.api_version);
    page.add("ids", &format!("vendor {:#06x}, device {:#06x}", device.vendor_id, device.device_id));
    page.add("device UUID", &device.device_uuid.to_string());
    page.add("driver UUID", &driver.uuid.to_string());
    device.pci_address.into_iter().for_each(|address| page.add("PCI address", &address.to_string()));
}

fn add_limits(page: &mut Page, device: &DeviceInfo) {
    let DeviceInfo { limits, subgroup, .. } = device;
    let [x, y, z] = limits.workgroup_size;
    page.add("workgroup", &format!("at most {x} x {y} x {z}, {} invocations in all", limits.workgroup_invocations));
    let [x, y, z] = limits.workgroup_count;
    page.add("grid", &format!("at most {x} x {y} x {z} workgroups"));
    page.add("shared", &Bytes(limits.shared_bytes.into()).to_string());
    let (range, allocation) = (Bytes(limits.storage_buffer_range), Bytes(limits.allocation_bytes));
    page.add("buffers", &format!("storage range {range}, allocation {allocation}, {} sets", limits.descriptor_sets));
    let size = match (subgroup.size_control, subgroup.min_size, subgroup.max_size) {
        (true, min, max) if min < max => format!("{} (can be required: {min} to {max})", subgroup.size),
        _ => subgroup.size.to_string(),
    };
    page.add("subgroup", &format!("{size}; {}", names(&subgroup.classes).join(", ")));
}

/// What it can do at most, where that is known; behind it what it may exceed.
fn add_peaks(page: &mut Page, device: &DeviceInfo) {
    for (name, is_hard) in [("at most", true), ("nominal", false)] {
        let known = device.peaks.iter().filter(|(_, peak)| peak.is_hard == is_hard);
        let told: Vec<String> = known.map(|(bound, peak)| format!("{bound} {}", rate(peak.rate, None, bound.unit()))).collect();
        if !told.is_empty() {
            page.list(name, &told.iter().map(String::as_str).collect::<Vec<_>>(), PEAK_LINES);
        }
    }
}

fn add_parts(page: &mut Page, device: &DeviceInfo) {
    let features = names(&device.features);
    page.list("features", &features.iter().map(String::as_str).collect::<Vec<_>>(), FEATURE_LINES);
    let queue = |queue: &QueueFamily| (format!("queue {}", queue.index), described_queue(queue, device.timestamp_period));
    page.several(&device.queues.iter().map(queue).collect::<Vec<_>>(), MOST_ENTRIES);
    let heap = |(i, heap): (usize, &Heap)| {
        let budget = heap.budget.map(|budget| format!(", {} of a budget of {} free", Bytes(budget.free), Bytes(budget.bytes)));
        let place = if heap.device_local { ", device-local" } else { "" };
        (format!("heap {i}"), format!("{}{place}{}", Bytes(heap.bytes), budget.unwrap_or_default()))
    };
    page.several(&device.heaps.iter().enumerate().map(heap).collect::<Vec<_>>(), MOST_ENTRIES);
    let memory = |ty: &MemoryType| ("memory".to_owned(), ty.to_string());
    page.several(&device.memory_types.iter().map(memory).collect::<Vec<_>>(), MOST_ENTRIES);
    add_texels(page, device);
    add_matrices(page, device);
}

/// Which formats can be used in which way; unless everything is asked for, how many.
fn add_texels(page: &mut Page, device: &DeviceInfo) {
    let formats = |usage: FormatUse| -> Vec<&str> {
        device.formats.iter().filter(|(_, uses)| uses.contains(&usage)).map(|(format, _)| format.as_str()).collect()
    };
    if page.is_whole() {
        for usage in FormatUse::ALL {
            let formats = formats(usage);
            let listed = if formats.is_empty() { "none".to_owned() } else { formats.join(", ") };
            page.add("texels", &format!("as {}: {listed}", usage.as_str()));
        }
    } else {
        let counted = FormatUse::ALL.map(|usage| format!("{} as {}", formats(usage).len(), usage.as_str()));
        page.add("texels", &format!("of {} formats, {}", Format::ALL.len(), counted.join(", ")));
    }
}

/// Products of matrices; unless everything is asked for, only their kinds.
fn add_matrices(page: &mut Page, device: &DeviceInfo) {
    let all = matrices(&device.matrices);
    if page.is_whole() {
        all.iter().for_each(|(kinds, sizes)| page.add("matrices", &format!("{kinds}: {}", sizes.join(", "))));
    } else if !all.is_empty() {
        page.list("matrices", &all.iter().map(|(kinds, _)| kinds.as_str()).collect::<Vec<_>>(), MATRIX_LINES);
    }
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

/// Names as the JSON form has them.
fn names<'a, T: serde::Serialize + 'a>(items: impl IntoIterator<Item = &'a T>) -> Vec<String> {
    let name = |item| serde_json::to_value(item).ok().and_then(|value| value.as_str().map(str::to_owned));
    items.into_iter().filter_map(name).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Component, Feature, MatrixScope, PciAddress, Published, SubgroupClass};

    /// More of everything than any device has.
    fn large() -> DeviceInfo {
        let mut device = DeviceInfo::mock();
        let product = |m| MatrixProduct {
            m,
            n: 16,
            k: 16,
            a: Component::F16,
            b: Component::F16,
            c: Component::Unknown(i32::try_from(m).unwrap()),
            result: Component::F16,
            saturating: true,
            scope: MatrixScope::Workgroup,
            workgroup_invocations: Some(256),
        };
        device.features = Feature::ALL.iter().copied().collect();
        device.subgroup.classes = SubgroupClass::ALL.into();
        device.matrices = (0..60).map(product).collect();
        device.queues = vec![device.queues[0]; 9];
        device.heaps = vec![device.heaps[0]; 9];
        device.memory_types = vec![device.memory_types[2]; 20];
        let what = "a fault that takes many words to describe: ".repeat(9);
        device.quirks = vec![Quirk { name: "fault".into(), what: what.into(), ..quirk() }; 5];
        device.pci_address = Some(PciAddress::default());
        device.peaks = Published::built_in().of(None, None, "NVIDIA H200").cloned().unwrap();
        device.unusable = Some("it crashed, and its driver said why at length: ".repeat(9));
        device
    }

    fn quirk() -> Quirk {
        Quirk { name: "".into(), what: "".into(), link: "".into(), most_iterations: None, most_reductions: None }
    }

    #[test]
    fn a_device_fits_a_screen_unless_everything_is_asked_for() {
        let device = large();
        for width in [60, 80, 100] {
            let few = told("1.3", &[&device], width, false);
            let lines: Vec<&str> = few.lines().skip(2).collect();
            let of_device = lines.iter().take_while(|line| !line.is_empty()).count();
            assert!(of_device <= page::SCREEN && lines.iter().all(|line| line.chars().count() <= width), "{few}");
            assert!(few.ends_with("\n\n-v shows all of it.\n"), "{few}");
            let all = told("1.3", &[&device], width, true);
            assert!(names(&Feature::ALL).iter().all(|name| all.contains(name)), "{all}");
            assert!(
                all.contains("component type 59") && all.matches("    quirk ").count() == 5 && !all.contains("-v"),
                "{all}"
            );
        }
    }

    #[test]
    fn of_a_small_device_nothing_is_left_out() {
        let device = DeviceInfo { features: [Feature::Int64].into(), memory_types: Vec::new(), ..DeviceInfo::mock() };
        let text = told("1.3", &[&device], 80, false);
        assert!(
            text.contains("    features     int64\n") && text.contains("as a sampled image") && !text.contains("-v"),
            "{text}"
        );
    }
}
