//! `transfer/copy`: how fast do bytes get to the device, back, and from one place on it to another?

use crate::experiments::calibration::evict;
use crate::experiments::{Elements, Experiment, Setting, powers_of_two};
use crate::model::{
    Axis, AxisKind, Case, Check, Contents, Headline, Kernel, Measurand, MemoryKind, POISON, Point, Preset, Resource, Scalar,
    Sequence, Shape, Skip, Step, Traffic, Work,
};
use crate::validate::Expected;

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &Copy;

/// From where to where.
const DIRECTIONS: &[&str] = &["host_to_device", "device_to_host", "device_to_device"];

/// Who copies.
const MEANS: &[&str] = &["command", "shader", "mapped"];

/// Bytes of the elements that the shader copies.
const ELEMENT: u64 = 16;

/// The most that is read through a mapped pointer past the host's caches: some such windows let through 30 MB/s.
const MOST_UNCACHED_READ: u64 = 1 << 20;

/// Elements per invocation of the shader, a workgroup apart.
const UNROLL: u32 = 4;

const LOCAL_SIZE: u64 = 256;

struct Copy;

impl Experiment for Copy {
    fn name(&self) -> &'static str {
        "transfer/copy"
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
        let quick = setting.preset == Preset::Quick;
        let sizes: Vec<u64> = match setting.preset {
            Preset::Quick => vec![setting.by_class(1 << 20, 1 << 26)],
            Preset::Default => powers_of_two(1 << 12, setting.by_class(1 << 24, 1 << 28)).step_by(4).collect(),
            Preset::Thorough => powers_of_two(1 << 10, setting.by_class(1 << 26, 1 << 30)).collect(),
        };
        let means = if quick { &MEANS[..1] } else { MEANS };
        vec![
            Axis::new("direction", "from where to where", AxisKind::Choices(DIRECTIONS), DIRECTIONS.iter().copied()),
            Axis::new("by", "who copies", AxisKind::Choices(MEANS), means.iter().copied()).relative_to("command"),
            Axis::new("transfer_bytes", "bytes to copy", AxisKind::AtLeast(ELEMENT), sizes).of_work(),
        ]
    }

    fn case(&self, _: &str, point: &Point, setting: &Setting) -> Result<Case, Skip> {
        let (bytes, by) = (point.integer("transfer_bytes"), point.choice("by"));
        if bytes % ELEMENT != 0 {
            return Err(Skip::new(format!("transfer_bytes={bytes} is not a whole number of elements of {ELEMENT} bytes")));
        }
        let ends = ends(point.choice("direction"), by, setting)?;
        let contents = Contents::Sequence(Sequence::Words { seed: setting.seed });
        let [from, to] = ends.map(|end| end.shape(bytes));
        if by == "mapped" && point.choice("direction") == "device_to_host" && bytes > MOST_UNCACHED_READ && is_uncached(setting)
        {
            let reason = format!("reading more than {MOST_UNCACHED_READ} bytes past the host's caches may take minutes");
            return Err(Skip::new(reason));
        }
        let case = Case {
            resources: vec![Resource::new("source", from, contents), Resource::new("target", to, Contents::Undefined)],
            reset: vec![Step::Fill { resource: 1, word: POISON }],
            work: work(point.choice("direction"), bytes),
            headline: Headline::BANDWIDTH,
            check: Check::Twin(vec![1]),
            ..Case::new(self.name(), point)
        };
        match by {
            "mapped" => Ok(Case { measurand: Measurand::HostPass, pass: vec![Step::HostCopy { from: 0, to: 1 }], ..case }),
            "command" => Ok(swept(Case { pass: vec![Step::Copy { from: 0, to: 1 }], ..case }, setting)),
            _ => Ok(swept(by_shader(case, bytes, setting)?, setting)),
        }
    }

    fn expected<'a>(&self, case: &'a Case) -> Vec<Expected<'a>> {
        let source = case.resources[0].sequence();
        vec![Expected::words(case.point.integer("transfer_bytes") / 4, move |word| source.word(word))]
    }

    fn traffic(&self, case: &Case) -> Result<Vec<Traffic>, &'static str> {
        match (case.point.choice("by"), case.point.choice("direction")) {
            ("shader", "device_to_device") => Ok(vec![Traffic::of(case)]),
            ("shader", _) => Err("what crosses the bus counts once"),
            _ => Err("no kernel copies"),
        }
    }
}

/// One end of a copy.
#[derive(Clone, Copy)]
enum End {
    Memory(MemoryKind),
    /// Memory of the process.
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

fn ends(direction: &str, by: &str, setting: &Setting) -> Result<[End; 2], Skip> {
    let device = End::Memory(MemoryKind::DeviceLocal);
    let window = End::Memory(MemoryKind::DeviceHostVisible);
    // A device may have no memory that the host's caches hold.
    let cached = !setting.device.memory_types_for(MemoryKind::HostCached, u32::MAX).is_empty();
    let back = End::Memory(if cached { MemoryKind::HostCached } else { MemoryKind::HostVisible });
    match (by, direction) {
        ("mapped", "host_to_device") => Ok([End::Process, window]),
        ("mapped", "device_to_host") => Ok([window, End::Process]),
        ("mapped", _) => Err(Skip::new("through a mapped pointer nothing is copied within the device")),
        (_, "host_to_device") => Ok([End::Memory(MemoryKind::HostVisible), device]),
        (_, "device_to_host") => Ok([device, back]),
        _ => Ok([device, device]),
    }
}

/// Whether the host reads the device's memory past its caches.
fn is_uncached(setting: &Setting) -> bool {
    let windows = setting.device.memory_types_for(MemoryKind::DeviceHostVisible, u32::MAX);
    windows.first().is_some_and(|ty| !ty.host_cached)
}

fn work(direction: &str, bytes: u64) -> Work {
    let moved = if direction == "device_to_device" { bytes.checked_mul(2) } else { Some(bytes) };
    Work { bytes: moved, ..Work::default() }
}

/// The same with the caches of a GPU swept before each sample. Software devices copy in the host's caches, as programs do that
/// use them.
fn swept(mut case: Case, setting: &Setting) -> Case {
    if setting.device.is_cpu() {
        return case;
    }
    let words = evict::default_bytes(None, setting.device.local_heap_bytes()) / 8;
    let contents = Contents::Sequence(Sequence::Words { seed: !setting.seed });
    let from = case.resources.len();
    case.resources.push(Resource::words("ballast", words, contents));
    case.resources.push(Resource::words("ballast's copy", words, Contents::Undefined));
    case.prepare = vec![Step::Copy { from, to: from + 1 }];
    case
}

fn by_shader(case: Case, bytes: u64, setting: &Setting) -> Result<Case, Skip> {
    let limit_x = setting.device.limits.workgroup_count[0];
    let elements = Elements::dealt(bytes / ELEMENT, LOCAL_SIZE, UNROLL.into(), limit_x)?;
    let kernel = Kernel::new("transfer/copy.comp", [256, 1, 1], 2).constant("UNROLL", Scalar::U32(UNROLL));
    let count = u32::try_from(elements.count).unwrap_or(u32::MAX);
    let groups = elements.groups;
    let pass = vec![Step::Bind { kernel: 0 }, Step::push_words(&[count]), Step::Dispatch { groups }];
    Ok(Case { kernels: vec![kernel], pass, ..case })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::DeviceInfo;

    #[test]
    fn much_is_read_through_a_window_only_where_the_hosts_caches_hold_it() {
        let mut device = DeviceInfo::mock();
        let read = |device: &DeviceInfo, bytes: u64| {
            let setting = Setting { device, queue: None, preset: Preset::Default, seed: 1 };
            let values = [("direction", "device_to_host".into()), ("by", "mapped".into()), ("transfer_bytes", bytes.into())];
            let point = Point::new(values.map(|(name, value)| (name.into(), value)));
            EXPERIMENT.case("", &point, &setting).map(drop)
        };
        assert!(read(&device, MOST_UNCACHED_READ).is_ok());
        assert!(read(&device, 2 * MOST_UNCACHED_READ).unwrap_err().reason.contains("past the host's caches"));
        device.memory_types.iter_mut().for_each(|ty| ty.host_cached = true);
        assert!(read(&device, 2 * MOST_UNCACHED_READ).is_ok());
    }
}
