//! `transfer/copy`: how fast do bytes get to the device, back, and from one place on it to another?

use crate::experiments::calibration::evict;
use crate::experiments::common::prelude::*;
use crate::model::{Contents, DeviceInfo, Measurand, MemoryKind, POISON, Resource, ResourceKind, Step};

pub const EXPERIMENT: Experiment =
    Experiment { repeatability: |_| Repeatability::Memory, traffic, ..Experiment::new("transfer/copy", axes, build) };

choices! {
    enum Direction {
        HostToDevice = "host_to_device",
        DeviceToHost = "device_to_host",
        DeviceToDevice = "device_to_device",
    }
}

choices! {
    /// Who copies.
    enum Means {
        Command = "command",
        ShaderLoadsFirst = "shader_loads_first",
        Mapped = "mapped",
        /// Stores each element before it loads the next one.
        Shader = "shader",
    }
}

/// Bytes of the elements that the shader copies.
const ELEMENT: u64 = 16;

/// The most that is read through a mapped pointer past the host's caches: some such windows let through 30 MB/s.
const MOST_UNCACHED_READ: u64 = 1 << 20;

/// Elements per invocation of the shader, a workgroup apart.
const UNROLL: u32 = 4;

const LOCAL_SIZE: u64 = 256;

fn axes(setting: &Setting) -> Vec<Axis> {
    let (means, sizes): (_, Vec<u64>) = match setting.preset {
        Preset::Quick => (&Means::ALL[..1], vec![setting.by_class(1 << 20, 1 << 26)]),
        Preset::Default => {
            let sizes = powers_of_two(1 << 12, setting.by_class(1 << 24, 1 << 28)).step_by(4);
            (&Means::ALL[..3], sizes.collect())
        }
        Preset::Thorough => (Means::ALL, powers_of_two(1 << 10, setting.by_class(1 << 26, 1 << 30)).collect()),
    };
    vec![
        Direction::axis("direction", "from where to where", Direction::ALL),
        Means::axis("by", "who copies", means).relative_to(Means::Command.word()),
        Axis::new("transfer_bytes", "bytes to copy", AxisKind::AtLeast(ELEMENT), sizes).of_work(),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let (device, bytes) = (config.device(), config.integer("transfer_bytes"));
    let (direction, by) = (Direction::of(config.choice("direction")), Means::of(config.choice("by")));
    if bytes % ELEMENT != 0 {
        return Err(Skip::new(format!("transfer_bytes={bytes} is not a whole number of elements of {ELEMENT} bytes")));
    }
    let [from, to] = ends(direction, by, bytes, device)?;
    let is_read = by == Means::Mapped && direction == Direction::DeviceToHost;
    if is_read && bytes > MOST_UNCACHED_READ && is_uncached(device) {
        let reason = format!("reading more than {MOST_UNCACHED_READ} bytes past the host's caches may take minutes");
        return Err(Skip::new(reason));
    }
    let words = Sequence::Words { seed: config.seed() };
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let source = case.add(Resource::new("source", from, Contents::Sequence(words)));
    let target = Resource::new("target", to, Contents::Undefined);
    let target = case.output_in(target, POISON, Expected::words(bytes / 4, move |word| words.word(word)));
    match by {
        Means::Mapped => {
            case.step(Step::HostCopy { from: source.index(), to: target.index() });
            case = case.measurand(Measurand::HostPass);
        }
        Means::Command => copy(&mut case, source, target),
        Means::Shader | Means::ShaderLoadsFirst => {
            let elements = Elements::dealt(bytes / ELEMENT, LOCAL_SIZE, UNROLL.into(), config.most_groups())?;
            let kernel = Kernel::new("transfer/copy.comp", [256, 1, 1])
                .constant("UNROLL", Scalar::U32(UNROLL))
                .constant("LOADS_FIRST", Scalar::Bool(by == Means::ShaderLoadsFirst));
            case.run(kernel, &[source, target], elements.groups, &[elements.pushed()]);
        }
    }
    // Software devices copy in the host's caches, as programs do that use them.
    if by != Means::Mapped && !device.is_cpu() {
        sweep(&mut case, config);
    }
    let ways = if direction == Direction::DeviceToDevice { 2 } else { 1 };
    Ok(case.build(Work { bytes: Some(bytes * ways), ..Work::default() }, Headline::BANDWIDTH))
}

fn traffic(case: &Case) -> Result<Vec<Traffic>, &'static str> {
    match (Means::of(case.point.choice("by")), Direction::of(case.point.choice("direction"))) {
        (Means::Command | Means::Mapped, _) => Err("no kernel copies"),
        (Means::Shader | Means::ShaderLoadsFirst, Direction::DeviceToDevice) => Ok(vec![Traffic::usual(case)]),
        (Means::Shader | Means::ShaderLoadsFirst, _) => Err("what crosses the bus counts once"),
    }
}

/// What bytes are copied from, and to.
fn ends(direction: Direction, by: Means, bytes: u64, device: &DeviceInfo) -> Result<[ResourceKind; 2], Skip> {
    let memory = |memory| ResourceKind::Buffer { bytes, memory };
    let (local, process) = (memory(MemoryKind::DeviceLocal), ResourceKind::HostMemory { bytes });
    let window = memory(MemoryKind::DeviceHostVisible);
    // A device may have no memory that the host's caches hold.
    let cached = !device.memory_types_for(MemoryKind::HostCached, u32::MAX).is_empty();
    let back = memory(if cached { MemoryKind::HostCached } else { MemoryKind::HostVisible });
    match (by == Means::Mapped, direction) {
        (true, Direction::HostToDevice) => Ok([process, window]),
        (true, Direction::DeviceToHost) => Ok([window, process]),
        (true, Direction::DeviceToDevice) => Err(Skip::new("through a mapped pointer nothing is copied within the device")),
        (false, Direction::HostToDevice) => Ok([memory(MemoryKind::HostVisible), local]),
        (false, Direction::DeviceToHost) => Ok([local, back]),
        (false, Direction::DeviceToDevice) => Ok([local, local]),
    }
}

/// Whether the host reads the device's memory past its caches.
fn is_uncached(device: &DeviceInfo) -> bool {
    let windows = device.memory_types_for(MemoryKind::DeviceHostVisible, u32::MAX);
    windows.first().is_some_and(|ty| !ty.host_cached)
}

fn copy(case: &mut CaseBuilder, from: Handle, to: Handle) {
    case.step(Step::Copy { from: from.index(), to: to.index() });
}

/// Sweeps the caches of a GPU before each sample.
fn sweep(case: &mut CaseBuilder, config: &Config) {
    let words = evict::default_bytes(None, config.device().local_heap_bytes()) / 8;
    let ballast = case.input("ballast", words, Sequence::Words { seed: !config.seed() });
    let copied = case.add(Resource::words("ballast's copy", words, Contents::Undefined));
    case.prepare(|case| copy(case, ballast, copied));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::testing::{quick, reason};

    #[test]
    fn much_is_read_through_a_window_only_where_the_hosts_caches_hold_it() {
        let mut device = DeviceInfo::mock();
        let read = |device: &DeviceInfo, bytes: u64| {
            let told = format!("direction=device_to_host by=mapped transfer_bytes={bytes}");
            reason(&EXPERIMENT, "", quick(device), &told)
        };
        assert_eq!(read(&device, MOST_UNCACHED_READ), "");
        assert!(read(&device, 2 * MOST_UNCACHED_READ).contains("past the host's caches"));
        device.memory_types.iter_mut().for_each(|ty| ty.host_cached = true);
        assert_eq!(read(&device, 2 * MOST_UNCACHED_READ), "");
    }
}
