//! A case: everything that one measured configuration consists of, as data.
//!
//! The gpu stage executes cases and knows nothing of experiments; experiments describe cases and never touch a device.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::image::{Dimension, ImageRole, Sampling};
use super::{Contents, DeviceInfo, Footprint, Format, MemoryKind, Point, Sequence};

/// The most cases in a block, which are measured beside each other: more would spread one case's rounds over minutes, with other clocks at
/// each end.
pub const BLOCK_CASES: usize = 64;

/// One configuration of one experiment, ready to be compiled and measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The experiment's name, such as `memory/stream`.
    pub experiment: String,
    /// The variant's name; empty where the experiment has only one.
    pub variant: String,
    pub point: Point,
    pub measurand: Measurand,
    /// The kernels that steps bind, by index.
    pub kernels: Vec<Kernel>,
    /// The resources that kernels bind and steps touch, by index.
    pub resources: Vec<Resource>,
    /// What resources hold of each other's addresses, whatever their contents say there.
    pub addresses: Vec<HeldAddress>,
    /// Run before each checked pass: brings everything that the pass writes to a known state that is not the result.
    pub reset: Vec<Step>,
    /// Run before each sample, outside its timestamps, and before a checked pass: brings caches into the state that is to be
    /// measured. It writes nothing that the pass reads; what it does write is checked as the pass's outputs are. A sample is one
    /// pass then: what follows would find the caches as the pass left them.
    pub prepare: Vec<Step>,
    /// What is timed, `batch` times between two timestamps.
    pub pass: Vec<Step>,
    pub repeat: Repeat,
    pub work: Work,
    pub headline: Headline,
    pub check: Check,
    pub pictures: Vec<Picture>,
    /// The part of the device whose physical limit no pass can beat; `None` where none is known.
    pub bound: Option<Bound>,
    /// What caches hold when a sample begins.
    pub cache: Cache,
    /// Loop iterations of one invocation, all its loops summed up, where an axis can make them many: some drivers end loops
    /// silently (see [`Quirk::most_iterations`](super::Quirk::most_iterations)).
    pub iterations: u64,
    /// Whether no other case may lie in the device's memory beside it, not even in another process: it is about how much there is, and
    /// may have more than what cases share.
    pub is_alone: bool,
}

/// An output that people can look at, row by row from the top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picture {
    /// The output, by its index among the resources. Those that [`Check::outputs`] doesn't read back are never seen.
    pub resource: usize,
    pub width: u32,
    pub height: u32,
    pub texels: Texels,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Texels {
    /// Red, green and blue, a byte each, and a byte that isn't shown.
    Rgba8,
    /// The first `f32` of so many: the smallest of the picture is black, the largest one white.
    Floats { of: u32 },
}

/// How a pass may follow itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// It overwrites its outputs whole, from inputs that nobody writes: any number of passes leave what one leaves.
    Overwrites,
    /// It reads what it has written itself: it goes on from where the last one stopped, and counts the passes, so that its check
    /// tells by that what they must leave; or it leaves what it reads as it found it, so that all passes leave the same.
    Resumes,
    /// It may not. It is measured with a batch of one, and its reset runs before every sample, outside the timestamps.
    AfterReset,
}

words! {
    /// A part of the device that the useful bytes of a pass must all go through, or that must do its operations.
    #[derive(PartialOrd, Ord)]
    pub enum Bound, as_str {
        /// The device's memory, reading and writing together: the pass touches far more than any cache holds.
        Memory = "memory",
        /// Workgroup memory, of all processors together.
        Shared = "shared",
        /// The units that multiply and add `f16` outside of matrices, packed ones if there are.
        Float16 = "fp16",
        /// The units that multiply and add `f32`.
        Float32 = "fp32",
        /// The units that multiply and add `f64` outside of matrices.
        Float64 = "fp64",
        /// The units that multiply and add whole numbers of 32 bits.
        Int32 = "int32",
        /// The units that multiply dense matrices of `f16`.
        MatrixF16 = "matrix_fp16",
        /// The same of `bf16`.
        MatrixBf16 = "matrix_bf16",
        /// The same of `f32` that is rounded to 19 bits, which no kernel here measures: Vulkan has no such type.
        MatrixTf32 = "matrix_tf32",
        /// The same of bytes.
        MatrixI8 = "matrix_int8",
        /// The same of floats of 8 bits, which no kernel here measures.
        MatrixF8 = "matrix_fp8",
    }
}

impl Bound {
    pub fn unit(self) -> &'static str {
        match self {
            Self::Memory | Self::Shared => "GB/s",
            Self::Int32 | Self::MatrixI8 => "Gop/s",
            _ => "GFLOP/s",
        }
    }
}

/// The word that outputs hold before a checked pass: a kernel that writes nothing can't pass for one that wrote the result.
/// As a float it is a NaN, which no twin produces.
pub const POISON: u32 = 0xFFDE_AD01;

/// Another one, of which every byte is another: what holds either after a pass over it was never written.
pub const OTHER_POISON: u32 = 0x7FA1_5E02;

impl Case {
    pub fn new(experiment: &str, point: &Point) -> Self {
        Self {
            experiment: experiment.to_owned(),
            variant: String::new(),
            point: point.clone(),
            measurand: Measurand::Pass,
            kernels: Vec::new(),
            resources: Vec::new(),
            addresses: Vec::new(),
            reset: Vec::new(),
            prepare: Vec::new(),
            pass: Vec::new(),
            repeat: Repeat::Overwrites,
            work: Work::default(),
            headline: Headline::TIME,
            check: Check::Nothing("nothing is computed"),
            pictures: Vec::new(),
            bound: None,
            cache: Cache::Warm,
            iterations: 0,
            is_alone: false,
        }
    }

    /// What all of its resources take.
    pub fn footprint(&self, device: &DeviceInfo) -> Footprint {
        self.resources.iter().map(|resource| resource.footprint(device)).sum()
    }

    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.reset.iter().chain(&self.prepare).chain(&self.pass)
    }

    /// The resource itself, or the buffer that it is a range of.
    pub fn whole(&self, resource: usize) -> usize {
        self.resources.get(resource).map_or(resource, |own| own.kind.whole(resource).0)
    }

    /// The bytes of a resource at which addresses stand that it was given, or that its reset copies there.
    pub fn addresses_in(&self, resource: usize) -> Vec<u64> {
        let Some(own) = self.resources.get(resource).filter(|_| !self.addresses.is_empty()) else { return Vec::new() };
        let (whole, start) = own.kind.whole(resource);
        let is_copied = |from: usize| {
            self.reset.iter().any(|step| matches!(step, Step::Copy { from: own, to } if (*own, *to) == (from, whole)))
        };
        let held = self.addresses.iter().filter(|held| held.holder == whole || is_copied(held.holder));
        held.filter_map(|held| held.at.checked_sub(start)).filter(|at| *at < own.bytes()).collect()
    }

    /// Whether a dispatch begins at another workgroup than 0.
    pub fn has_base(&self) -> bool {
        self.steps().any(|step| matches!(step, Step::Base { .. }))
    }

    /// The resources, by their indexes, that kernels reach by their addresses.
    pub fn addressed(&self) -> impl Iterator<Item = usize> {
        self.all_addresses().map(|address| address.resource)
    }

    /// All addresses that steps push, and that resources hold.
    pub fn all_addresses(&self) -> impl Iterator<Item = Address> {
        let pushed = self.steps().filter_map(|step| match step {
            Step::PushAddress { address, .. } => Some(*address),
            _ => None,
        });
        pushed.chain(self.addresses.iter().map(|held| held.address))
    }

    /// The images, by their indexes, that kernels may sample as `how` says: those at one descriptor with such a sampler, and where one
    /// stands alone, all that do so as well.
    pub fn sampled<'c>(&'c self, how: impl Fn(Sampling) -> bool + Copy + 'c) -> impl Iterator<Item = usize> + 'c {
        let kind = move |resource: usize| self.resources.get(resource).map(|resource| resource.kind);
        let is_so = move |resource| matches!(kind(resource), Some(ResourceKind::Sampler(sampling)) if how(sampling));
        self.kernels.iter().flat_map(move |kernel| {
            let alone = kernel.bindings.iter().any(|binding| is_so(binding.resource));
            let is_sampled = move |binding: &&Binding| binding.sampler.map_or(alone, is_so);
            let images = kernel.bindings.iter().filter(is_sampled).map(|binding| binding.resource);
            images.filter(move |image| matches!(kind(*image), Some(ResourceKind::Image { role, .. }) if role.is_sampled()))
        })
    }

    /// What a pass dispatches: kernels, by their indexes, and their grids; all zero where their numbers come from a buffer.
    pub fn dispatches(&self) -> impl Iterator<Item = (usize, [u32; 3])> {
        let mut bound = 0;
        self.pass.iter().filter_map(move |step| match *step {
            Step::Bind { kernel } | Step::BindPipeline { kernel } => {
                bound = kernel;
                None
            }
            Step::Dispatch { groups } => Some((bound, groups)),
            Step::DispatchIndirect { .. } => Some((bound, [0; 3])),
            _ => None,
        })
    }

    /// The one of a pass's dispatches that has the most invocations, of several the first.
    pub fn largest_dispatch(&self) -> Option<(&Kernel, [u32; 3])> {
        let product = |sizes: [u32; 3]| sizes.iter().fold(1_u64, |product, &size| product.saturating_mul(size.into()));
        let invocations = |kernel: &Kernel, groups| product(groups).saturating_mul(product(kernel.local_size));
        let dispatches = self.dispatches().filter_map(|(kernel, groups)| Some((self.kernels.get(kernel)?, groups)));
        dispatches.fold(None, |largest, (kernel, groups)| match largest {
            Some((other, more)) if invocations(other, more) >= invocations(kernel, groups) => largest,
            _ => Some((kernel, groups)),
        })
    }

    /// The kernels that a pass dispatches, by their indexes, each once: those before it and beside it aren't timed.
    pub fn timed_kernels(&self) -> Vec<usize> {
        let mut kernels: Vec<usize> = Vec::new();
        for (kernel, _) in self.dispatches() {
            if !kernels.contains(&kernel) {
                kernels.push(kernel);
            }
        }
        kernels
    }

    /// Workgroups of the largest dispatch; all zero where the pass dispatches nothing, or takes their numbers from a buffer.
    pub fn groups(&self) -> [u32; 3] {
        self.largest_dispatch().map(|(_, groups)| groups).unwrap_or_default()
    }
}

words! {
    /// What the caches hold when a sample begins.
    #[derive(Default, Hash)]
    pub enum Cache, as_str {
        /// What the passes before left there.
        #[default]
        Warm = "warm",
        /// Nothing of the case: they were evicted before the sample, which is of one pass. Compares only with warm rows of batch 1.
        Cold = "cold",
    }
}

/// What the time of a case is the time of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measurand {
    /// The case's pass, by the device's timestamps.
    Pass,
    /// The case's pass, which the host does by itself, by the host's clock.
    HostPass,
    /// What the host spends on giving the case's pass to the device, by its own clock.
    HostCost(HostCost),
    /// The step in which the device's timestamps were seen to count.
    TimerStep,
    /// The time between two timestamps with nothing in between: the least that a sample can show.
    TimerFloor,
    /// The device clock's rate over the host clock's.
    ClockRate,
    /// The core's clock, by the device's own counters.
    CoreClock,
}

impl Measurand {
    /// Whether it is the case's pass, and not the timer itself.
    pub fn is_pass(self) -> bool {
        matches!(self, Self::Pass | Self::HostPass | Self::HostCost(_))
    }

    /// Whether the host's clock times it, whatever timestamps the device has.
    pub fn is_by_host(self) -> bool {
        matches!(self, Self::HostPass | Self::HostCost(_))
    }
}

/// What the host does to give work to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostCost {
    /// Recording the pass into a command buffer.
    Record,
    /// vkQueueSubmit of a command buffer that holds the pass, the device having nothing else to do.
    Submit,
    /// That, and waiting until the pass is done.
    RoundTrip(Wait),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Polling vkGetFenceStatus.
    FencePolled,
    Fence,
    /// Polling vkGetSemaphoreCounterValue.
    TimelinePolled,
    Timeline,
    QueueIdle,
}

/// The SPIR-V version and environment a kernel is compiled for.
///
/// The lowest is the default: a Vulkan 1.3 target turns specialized local sizes into `LocalSizeId`, which needs a feature
/// (maintenance4); the 1.1 form is taken by every driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SpirvTarget {
    /// SPIR-V 1.3, Vulkan 1.1.
    #[default]
    Vulkan1_1,
    /// SPIR-V 1.5, Vulkan 1.2.
    Vulkan1_2,
    /// SPIR-V 1.6, Vulkan 1.3.
    Vulkan1_3,
}

/// One compute kernel: a module and how it is specialized.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kernel {
    /// The shader's path below `glsl/`, such as `memory/stream.comp`.
    pub source: Cow<'static, str>,
    /// Preprocessor definitions: only for what must change the module (types, resource kinds, capabilities).
    pub macros: Vec<(String, String)>,
    pub target: SpirvTarget,
    /// Workgroup size, written to the specialization ids that the shader declares for it.
    pub local_size: [u32; 3],
    /// Values of further specialization constants, by their GLSL names.
    pub constants: Vec<(String, Scalar)>,
    /// The subgroup size that the driver is required to use, where it lets one choose.
    pub required_subgroup_size: Option<u32>,
    /// Whether the driver has to fill all subgroups: the workgroup's first direction is a multiple of their size.
    pub full_subgroups: bool,
    pub bindings: Vec<Binding>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    pub set: u32,
    pub binding: u32,
    /// Which one of an array of descriptors it is; 0 where there is only one.
    pub element: u32,
    pub resource: usize,
    /// The sampler of a combined image and sampler, by its index.
    pub sampler: Option<usize>,
}

/// Where a byte of a buffer lies for the device: 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    pub resource: usize,
    pub byte: u64,
}

impl Address {
    pub const BYTES: usize = 8;
}

/// An address that a buffer holds, from its byte `at` on, a multiple of four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldAddress {
    pub holder: usize,
    pub at: u64,
    pub address: Address,
}

impl Binding {
    /// A resource that stands at its descriptor alone.
    pub fn new(set: u32, binding: u32, resource: usize) -> Self {
        Self { set, binding, element: 0, resource, sampler: None }
    }
}

/// The value of a specialization constant, of the type that the shader declares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    Bool(bool),
    U32(u32),
    I32(i32),
    F32(f32),
    U64(u64),
    I64(i64),
    F64(f64),
}

/// Something that kernels and steps work on. Equal ones of different cases may share memory, unless kernels can write such an input.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Resource {
    /// Its name in captures and validation messages; unique within the case.
    pub name: Cow<'static, str>,
    pub kind: ResourceKind,
    pub contents: Contents,
}

/// What a resource is, and how large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResourceKind {
    /// A buffer, which kernels bind as a storage buffer or as a uniform one. Its size is a multiple of four.
    Buffer { bytes: u64, memory: MemoryKind },
    /// A device-local buffer whose elements kernels use as a uniform texel buffer, or as a storage one.
    Texels { format: Format, count: u32, role: ImageRole },
    /// A device-local image with one level, optimally tiled, that extends to 1 in directions that it doesn't have.
    Image { format: Format, dimension: Dimension, extent: [u32; 3], role: ImageRole },
    /// How kernels sample images.
    Sampler(Sampling),
    /// So many bytes of a buffer that stands before it in the case, from this one on: several may overlap. Steps name the buffer.
    Range { of: usize, offset: u64, bytes: u64 },
    /// Plain memory of the process, which only steps of the host touch: a multiple of four bytes.
    HostMemory { bytes: u64 },
}

impl ResourceKind {
    /// What a resource lies in, by its index, and from which byte of that on: itself, unless it is a range.
    pub fn whole(self, own: usize) -> (usize, u64) {
        match self {
            Self::Range { of, offset, .. } => (of, offset),
            _ => (own, 0),
        }
    }
}

impl Resource {
    /// A device-local buffer of 32-bit words. A size beyond 64 bits saturates: no device has that much, so the plan skips it.
    pub fn words(name: &'static str, words: u64, contents: Contents) -> Self {
        Self::words_in(MemoryKind::DeviceLocal, name, words, contents)
    }

    /// The same in memory of some kind.
    pub fn words_in(memory: MemoryKind, name: &'static str, words: u64, contents: Contents) -> Self {
        Self::new(name, ResourceKind::Buffer { bytes: words.saturating_mul(4), memory }, contents)
    }

    pub fn new(name: &'static str, kind: ResourceKind, contents: Contents) -> Self {
        Self { name: Cow::Borrowed(name), kind, contents }
    }

    /// The sequence that it is filled with.
    ///
    /// # Panics
    /// Where it is filled with none: a twin asks only for its experiment's inputs.
    pub fn sequence(&self) -> Sequence {
        match self.contents {
            Contents::Sequence(sequence) => sequence,
            Contents::Undefined | Contents::Data(_) => panic!("`{}` holds no sequence", self.name),
        }
    }

    pub fn bytes(&self) -> u64 {
        match self.kind {
            ResourceKind::Buffer { bytes, .. } | ResourceKind::Range { bytes, .. } | ResourceKind::HostMemory { bytes } => {
                bytes
            }
            ResourceKind::Texels { format, count, .. } => u64::from(format.bytes()) * u64::from(count),
            ResourceKind::Image { format, extent, .. } => {
                extent.iter().fold(u64::from(format.bytes()), |bytes, side| bytes.saturating_mul((*side).into()))
            }
            ResourceKind::Sampler(_) => 0,
        }
    }

    /// What it takes of a device's memory and of the host's, but for what an image is padded by.
    pub fn footprint(&self, device: &DeviceInfo) -> Footprint {
        let is_hosts = match self.kind {
            ResourceKind::HostMemory { .. } => true,
            ResourceKind::Buffer { memory: MemoryKind::HostVisible | MemoryKind::HostCached, .. } => true,
            ResourceKind::Range { .. } => return Footprint::default(),
            ResourceKind::Buffer { .. }
            | ResourceKind::Texels { .. }
            | ResourceKind::Image { .. }
            | ResourceKind::Sampler(_) => false,
        };
        let bytes = self.bytes();
        if is_hosts && !device.shares_memory() {
            Footprint { device: 0, host: bytes }
        } else {
            Footprint { device: bytes, host: 0 }
        }
    }
}

impl Kernel {
    pub fn new(source: &'static str, local_size: [u32; 3]) -> Self {
        Self { source: Cow::Borrowed(source), local_size, ..Self::default() }
    }

    #[must_use]
    pub fn constant(mut self, name: &str, value: Scalar) -> Self {
        self.constants.push((name.to_owned(), value));
        self
    }

    #[must_use]
    pub fn define(mut self, name: &str, value: impl ToString) -> Self {
        self.macros.push((name.to_owned(), value.to_string()));
        self
    }
}

/// One step of a pass or of a reset program. Kernels, resources, events and queries are told by their places in the case.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Bind a kernel's pipeline and its descriptor sets.
    Bind { kernel: usize },
    /// Set the push constants of the bound kernel, from offset 0: a multiple of four bytes.
    Push { bytes: Vec<u8> },
    /// Set two words of the push constants of the bound kernel, from this byte on, to an address, its lower half first. The offset is
    /// a multiple of four, and all words are set before. Other cases don't share such a buffer, since what kernels do through addresses
    /// shows at no descriptor.
    PushAddress { offset: u32, address: Address },
    /// Let the next dispatch begin at this workgroup, in x, y and z, in the place of 0: it isn't an indirect one.
    Base { groups: [u32; 3] },
    /// Dispatch the bound kernel with so many workgroups in x, y and z.
    Dispatch { groups: [u32; 3] },
    /// Bind a kernel's pipeline alone; the descriptor sets that are bound stay so. They must be of the same layout.
    BindPipeline { kernel: usize },
    /// Bind a kernel's descriptor sets alone.
    BindDescriptors { kernel: usize },
    /// Dispatch the bound kernel with the workgroups that the first three words of a buffer tell.
    DispatchIndirect { resource: usize },
    /// What a driver may make of a dependency between two dispatches.
    Dependency(Dependency),
    /// Set an event once earlier dispatches are done. A case has as many events as its steps name, and as many queries.
    SetEvent { event: u32 },
    /// Wait for an event; what was written before it was set is visible to later dispatches.
    WaitEvent { event: u32 },
    /// Let an event be set again.
    ResetEvent { event: u32 },
    /// Write a timestamp that nobody reads, each once between two resets.
    Timestamp { query: u32, stage: TimestampStage },
    /// Reset all queries of the case.
    ResetTimestamps,
    /// Fill a buffer with one word. In a pass of the host's, the host does it.
    Fill { resource: usize, word: u32 },
    /// Copy the whole of a buffer to another one of the same size, or to an image of as many bytes.
    Copy { from: usize, to: usize },
    /// Let the host copy between its memory and a buffer that it sees. Such passes have no others, and the host times them.
    HostCopy { from: usize, to: usize },
    /// Make all writes so far, by shaders and by transfers, visible to all that follows.
    Barrier,
}

impl Step {
    pub fn push_words(words: &[u32]) -> Self {
        let mut bytes = Vec::with_capacity(4 * words.len());
        words.iter().for_each(|word| bytes.extend_from_slice(&word.to_ne_bytes()));
        Self::Push { bytes }
    }
}

/// A pipeline barrier between dispatches, from the weakest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dependency {
    /// Compute waits for compute; nothing is made visible.
    Execution,
    /// Compute waits for compute, and sees what it wrote (a global memory barrier).
    Memory,
    /// The same for one buffer (a buffer memory barrier).
    Buffer { resource: usize },
    /// Everything waits for everything, and sees all that was written.
    Full,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampStage {
    /// Nothing.
    Top,
    /// All that was begun before it.
    Bottom,
}

/// What one pass does; `None` where the figure has no meaning for the case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Useful bytes moved; a copy counts both directions, over-fetch doesn't count.
    pub bytes: Option<u64>,
    /// Floating-point operations; a fused multiply-add counts two.
    pub flops: Option<u64>,
    pub ops: Option<u64>,
    pub items: Option<u64>,
}

/// What a headline figure is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    Time,
    TimePerItem,
    Bandwidth,
    Flops,
    Ops,
    Items,
    /// The rate of a clock.
    ClockRate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headline {
    pub metric: Metric,
    /// Its name in the column `metric`.
    pub name: &'static str,
    /// Its unit in the column `unit`.
    pub unit: &'static str,
    /// Which value is the better one: `higher`, `lower`, or empty where neither is.
    pub better: &'static str,
}

impl Headline {
    pub const TIME: Self = Self { metric: Metric::Time, name: "time", unit: "ns", better: "lower" };
    /// Time per dependent access or operation in nanoseconds; they are the items.
    pub const LATENCY: Self = Self { metric: Metric::TimePerItem, name: "latency", unit: "ns", better: "lower" };
    /// Time per operation in nanoseconds, with all that run at once; operations are the items.
    pub const COST: Self = Self { metric: Metric::TimePerItem, name: "cost", unit: "ns", better: "lower" };
    pub const BANDWIDTH: Self = Self { metric: Metric::Bandwidth, name: "bandwidth", unit: "GB/s", better: "higher" };
    pub const FLOPS: Self = Self { metric: Metric::Flops, name: "flops", unit: "GFLOP/s", better: "higher" };
    pub const OPS: Self = Self { metric: Metric::Ops, name: "ops", unit: "Gop/s", better: "higher" };
    pub const ITEMS: Self = Self { metric: Metric::Items, name: "items", unit: "Gitems/s", better: "higher" };
    pub const CORE_CLOCK: Self = Self { metric: Metric::ClockRate, name: "core_clock", unit: "MHz", better: "" };
    /// Device clock over host clock; one is right, neither direction is better than the other.
    pub const CLOCK_RATE: Self = Self { metric: Metric::ClockRate, name: "clock_rate", unit: "ratio", better: "" };
}

/// How the results of a case are checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// Every element of these resources (by index) is read back and compared with the CPU twin.
    Twin(Vec<usize>),
    /// These resources are read back, and hold what must be true of them, in words: where a twin would take far longer.
    Invariant(Vec<usize>, &'static str),
    /// Nothing is there to check, for this reason.
    Nothing(&'static str),
}

impl Check {
    pub fn outputs(&self) -> &[usize] {
        match self {
            Self::Twin(resources) | Self::Invariant(resources, _) => resources,
            Self::Nothing(_) => &[],
        }
    }
}

/// Why a device can't run a configuration: it becomes a skipped row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip {
    /// The limit or feature that is missing, with its value and the value asked for.
    pub reason: String,
}

impl Skip {
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }
}
