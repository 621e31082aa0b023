//! `transfer/copy`: how fast do bytes get to the device, back, and from one place on it to another?

use crate::experiments::calibration::evict;
use crate::experiments::{Built, CaseBuilder, Config, Elements, Experiment, Handle, Setting, powers_of_two};
use crate::model::{
    Axis, AxisKind, Case, Contents, DeviceInfo, Headline, Kernel, Measurand, MemoryKind, POISON, Preset, Repeatability,
    Resource, Scalar, Sequence, Shape, Skip, Step, Traffic, Work,
};
use crate::validate::Expected;

pub const EXPERIMENT: Experiment =
    Experiment { repeatability: |_| Repeatability::Memory, traffic, ..Experiment::new("transfer/copy", axes, build) };

const DIRECTIONS: &[&str] = &["host_to_device", "device_to_host", "device_to_device"];

/// Who copies. `shader` stores each element before it loads the next one, as `shader_loads_first` doesn't.
const MEANS: &[&str] = &["command", "shader_loads_first", "mapped", "shader"];

/// Bytes of the elements that the shader copies.
const ELEMENT: u64 = 16;

/// The most that is read through a mapped pointer past the host's caches: some such windows let through 30 MB/s.
const MOST_UNCACHED_READ: u64 = 1 << 20;

/// Elements per invocation of the shader, a workgroup apart.
const UNROLL: u32 = 4;

const LOCAL_SIZE: u64 = 256;

fn axes(setting: &Setting) -> Vec<Axis> {
    let sizes: Vec<u64> = match setting.preset {
        Preset::Quick => vec![setting.by_class(1 << 20, 1 << 26)],
        Preset::Default => powers_of_two(1 << 12, setting.by_class(1 << 24, 1 << 28)).step_by(4).collect(),
        Preset::Thorough => powers_of_two(1 << 10, setting.by_class(1 << 26, 1 << 30)).collect(),
    };
    let means = match setting.preset {
        Preset::Quick => &MEANS[..1],
        Preset::Default => &MEANS[..3],
        Preset::Thorough => MEANS,
    };
    vec![
        Axis::new("direction", "from where to where", AxisKind::Choices(DIRECTIONS), DIRECTIONS.iter().copied()),
        Axis::new("by", "who copies", AxisKind::Choices(MEANS), means.iter().copied()).relative_to("command"),
        Axis::new("transfer_bytes", "bytes to copy", AxisKind::AtLeast(ELEMENT), sizes).of_work(),
    ]
}

fn build<'a>(config: &Config<'a>) -> Result<Built<'a>, Skip> {
    let bytes = config.integer("transfer_bytes");
    let [direction, by] = ["direction", "by"].map(|axis| config.choice(axis));
    if bytes % ELEMENT != 0 {
        return Err(Skip::new(format!("transfer_bytes={bytes} is not a whole number of elements of {ELEMENT} bytes")));
    }
    let [from, to] = ends(direction, by, config.device())?.map(|end| end.shape(bytes));
    if by == "mapped" && direction == "device_to_host" && bytes > MOST_UNCACHED_READ && is_uncached(config.device()) {
        let reason = format!("reading more than {MOST_UNCACHED_READ} bytes past the host's caches may take minutes");
        return Err(Skip::new(reason));
    }
    let words = Sequence::Words { seed: config.seed() };
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let source = case.add(Resource::new("source", from, Contents::Sequence(words)));
    let target = Resource::new("target", to, Contents::Undefined);
    let target = case.output_in(target, POISON, Expected::words(bytes / 4, move |word| words.word(word)));
    match by {
        "mapped" => {
            case.step(Step::HostCopy { from: source.index(), to: target.index() });
            case = case.measurand(Measurand::HostPass);
        }
        "command" => copy(&mut case, source, target),
        _ => {
            let elements = Elements::dealt(bytes / ELEMENT, LOCAL_SIZE, UNROLL.into(), config.most_groups())?;
            let kernel = Kernel::new("transfer/copy.comp", [256, 1, 1])
                .constant("UNROLL", Scalar::U32(UNROLL))
                .constant("LOADS_FIRST", Scalar::Bool(by == "shader_loads_first"));
            let count = u32::try_from(elements.count).unwrap_or(u32::MAX);
            case.run(kernel, &[source, target], elements.groups, &[count]);
        }
    }
    // Software devices copy in the host's caches, as programs do that use them.
    if by != "mapped" && !config.device().is_cpu() {
        sweep(&mut case, config);
    }
    Ok(case.build(work(direction, bytes), Headline::BANDWIDTH))
}

fn traffic(case: &Case) -> Result<Vec<Traffic>, &'static str> {
    match (case.point.choice("by"), case.point.choice("direction")) {
        ("shader" | "shader_loads_first", "device_to_device") => Ok(vec![Traffic::usual(case)]),
        ("shader" | "shader_loads_first", _) => Err("what crosses the bus counts once"),
        _ => Err("no kernel copies"),
    }
}

#[derive(Clone, Copy)]
enum End {
    Memory(MemoryKind),
    Process,
}

impl End {
    fn shape(self, bytes: u64) -> Shape {
        match self {
            Self::Memory(memory) => Shape::Buffer { bytes, memory },
            Self::Process => Shape::HostMemory { bytes },
        }
    }
}

fn ends(direction: &str, by: &str, device: &DeviceInfo) -> Result<[End; 2], Skip> {
    let local = End::Memory(MemoryKind::DeviceLocal);
    let window = End::Memory(MemoryKind::DeviceHostVisible);
    // A device may have no memory that the host's caches hold.
    let cached = !device.memory_types_for(MemoryKind::HostCached, u32::MAX).is_empty();
    let back = End::Memory(if cached { MemoryKind::HostCached } else { MemoryKind::HostVisible });
    match (by, direction) {
        ("mapped", "host_to_device") => Ok([End::Process, window]),
        ("mapped", "device_to_host") => Ok([window, End::Process]),
        ("mapped", _) => Err(Skip::new("through a mapped pointer nothing is copied within the device")),
        (_, "host_to_device") => Ok([End::Memory(MemoryKind::HostVisible), local]),
        (_, "device_to_host") => Ok([local, back]),
        _ => Ok([local, local]),
    }
}

/// Whether the host reads the device's memory past its caches.
fn is_uncached(device: &DeviceInfo) -> bool {
    let windows = device.memory_types_for(MemoryKind::DeviceHostVisible, u32::MAX);
    windows.first().is_some_and(|ty| !ty.host_cached)
}

fn work(direction: &str, bytes: u64) -> Work {
    let ways = if direction == "device_to_device" { 2 } else { 1 };
    Work { bytes: Some(bytes * ways), ..Work::default() }
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
    use crate::model::Point;

    #[test]
    fn much_is_read_through_a_window_only_where_the_hosts_caches_hold_it() {
        let mut device = DeviceInfo::mock();
        let read = |device: &DeviceInfo, bytes: u64| {
            let setting = Setting { device, queue: None, preset: Preset::Default, seed: 1 };
            let values = [("direction", "device_to_host".into()), ("by", "mapped".into()), ("transfer_bytes", bytes.into())];
            let point = Point::new(values.map(|(name, value)| (name.into(), value)));
            EXPERIMENT.case(&Config::new("", &point, &setting)).map(drop)
        };
        assert!(read(&device, MOST_UNCACHED_READ).is_ok());
        assert!(read(&device, 2 * MOST_UNCACHED_READ).unwrap_err().reason.contains("past the host's caches"));
        device.memory_types.iter_mut().for_each(|ty| ty.host_cached = true);
        assert!(read(&device, 2 * MOST_UNCACHED_READ).is_ok());
    }
}
