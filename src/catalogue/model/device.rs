//! What is known about a device before anything is dispatched on it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use lanescope_table::{DeviceId, DriverId, Uuid};
use serde::{Deserialize, Serialize};

use super::{Case, Format, FormatUse, MatrixProduct, MemoryType, PciAddress, Peaks, Published, real};

words! {
    /// What kind of device it is (`VkPhysicalDeviceType`).
    #[derive(Default, Hash)]
    pub enum DeviceKind, as_str {
        /// A GPU with memory of its own.
        Discrete = "discrete",
        /// A GPU that shares the host's memory.
        Integrated = "integrated",
        /// A GPU in a virtual machine.
        Virtual = "virtual",
        /// Software on the host's processor.
        Cpu = "cpu",
        #[default]
        Other = "other",
    }
}

/// A device of an installed driver: identity, limits and features, as plain data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeviceInfo {
    /// Its place in the enumeration, as `--device` takes it.
    pub index: usize,
    pub name: String,
    pub kind: DeviceKind,
    /// PCI vendor id, or a Khronos vendor id.
    pub vendor_id: u32,
    pub device_id: u32,
    pub device_uuid: Uuid,
    /// Where it sits on the PCI bus, if it does and its driver tells.
    #[serde(default)]
    pub pci_address: Option<PciAddress>,
    pub driver: DriverIdentity,
    pub limits: Limits,
    pub subgroup: Subgroup,
    /// Products of cooperative matrices that it lists.
    pub matrices: Vec<MatrixProduct>,
    /// Optional features that Lanescope knows how to use, where the device has them.
    pub features: BTreeSet<Feature>,
    pub queues: Vec<QueueFamily>,
    /// Nanoseconds per timestamp tick, as the driver states it.
    #[serde(with = "real")]
    pub timestamp_period: f64,
    pub heaps: Vec<Heap>,
    /// The memory types that can hold buffers.
    pub memory_types: Vec<MemoryType>,
    /// What the texel formats that Lanescope knows can be used for.
    pub formats: BTreeMap<Format, BTreeSet<FormatUse>>,
    pub quirks: Vec<Quirk>,
    /// What it can do at most, where that is published.
    pub peaks: Peaks,
    /// Why it can't be used; `None` for a usable device.
    pub unusable: Option<String>,
}

/// A known fault of a driver that changes what a measurement means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quirk {
    pub name: Cow<'static, str>,
    pub what: Cow<'static, str>,
    /// Where it is written down: the driver's source, or a thread about it.
    pub link: Cow<'static, str>,
    /// Loop iterations of one invocation beyond which it shows; `None` for a fault of another kind.
    pub most_iterations: Option<u64>,
    /// Subgroup reductions and scans in one loop beyond which it shows; `None` for a fault of another kind.
    #[serde(default)]
    pub most_reductions: Option<u64>,
}

impl Quirk {
    /// Whether the fault can show in a case.
    pub fn affects(&self, case: &Case) -> bool {
        self.most_iterations.is_some_and(|most| case.iterations > most)
    }
}

/// Identity of the driver, of the loader and of what stands between.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DriverIdentity {
    pub uuid: Uuid,
    /// `VkDriverId` as the specification names it, such as `MESA_LLVMPIPE`.
    pub id: String,
    pub name: String,
    /// The driver's own description of its build.
    pub info: String,
    /// The version, decoded as the vendor packs it.
    pub version: String,
    /// The device's Vulkan version, such as `1.3.230`.
    pub api_version: String,
    pub loader_version: String,
}

impl DriverIdentity {
    /// Its description; where it has none, its name, and where it has none either, its version.
    pub fn label(&self) -> &str {
        [&self.info, &self.name].into_iter().find(|text| !text.is_empty()).unwrap_or(&self.version)
    }
}

impl From<&DeviceInfo> for DeviceId {
    fn from(info: &DeviceInfo) -> Self {
        Self { name: info.name.clone(), vendor_id: info.vendor_id, device_id: info.device_id, uuid: info.device_uuid }
    }
}

impl From<&DriverIdentity> for DriverId {
    fn from(driver: &DriverIdentity) -> Self {
        Self { id: driver.id.clone(), name: driver.name.clone(), info: driver.info.clone() }
    }
}

/// Limits that plans depend on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// `maxComputeWorkGroupSize`
    pub workgroup_size: [u32; 3],
    /// `maxComputeWorkGroupInvocations`
    pub workgroup_invocations: u32,
    /// `maxComputeWorkGroupCount`
    pub workgroup_count: [u32; 3],
    /// `maxComputeSharedMemorySize`, bytes
    pub shared_bytes: u32,
    /// `maxStorageBufferRange`, bytes
    pub storage_buffer_range: u64,
    /// `maxUniformBufferRange`, bytes
    pub uniform_buffer_range: u64,
    /// `minStorageBufferOffsetAlignment`, bytes
    pub storage_buffer_alignment: u64,
    /// `minUniformBufferOffsetAlignment`, bytes
    pub uniform_buffer_alignment: u64,
    /// `maxTexelBufferElements`
    pub texel_buffer_elements: u32,
    /// `maxImageDimension2D`
    pub image_dimension: u32,
    /// `maxImageDimension1D`
    pub image_dimension_1d: u32,
    /// `maxImageDimension3D`
    pub image_dimension_3d: u32,
    /// `maxImageDimensionCube`
    pub image_dimension_cube: u32,
    /// `maxImageArrayLayers`
    pub image_layers: u32,
    /// Descriptors of each kind that a shader may have.
    pub descriptors: Descriptors,
    /// `maxPushConstantsSize`, bytes
    pub push_constant_bytes: u32,
    /// `maxBoundDescriptorSets`
    pub descriptor_sets: u32,
    /// `maxMemoryAllocationSize`, bytes
    pub allocation_bytes: u64,
}

/// How many descriptors a shader may have: those of a stage, which a compute shader has all to itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Descriptors {
    /// `maxPerStageDescriptorSamplers`
    pub samplers: u32,
    /// `maxPerStageDescriptorUniformBuffers`
    pub uniform_buffers: u32,
    /// `maxPerStageDescriptorStorageBuffers`
    pub storage_buffers: u32,
    /// `maxPerStageDescriptorSampledImages`; uniform texel buffers count as such
    pub sampled_images: u32,
    /// `maxPerStageDescriptorStorageImages`; storage texel buffers count as such
    pub storage_images: u32,
    /// `maxPerStageResources`: all of these but samplers
    pub all: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subgroup {
    /// The size that shaders see unless one is required.
    pub size: u32,
    /// The smallest size that can be required.
    pub min_size: u32,
    /// The largest size that can be required.
    pub max_size: u32,
    /// Subgroups that a workgroup may have where a size is required (`maxComputeWorkgroupSubgroups`); 0 where it can't be.
    pub max_workgroup_subgroups: u32,
    /// Whether a size can be required for compute shaders.
    pub size_control: bool,
    /// Whether compute shaders can be required to have full subgroups.
    pub full_subgroups: bool,
    /// Whether compute shaders may use subgroup operations at all.
    pub in_compute: bool,
    pub classes: BTreeSet<SubgroupClass>,
}

named! {
    /// A class of subgroup operations (`VkSubgroupFeatureFlagBits`).
    #[derive(PartialOrd, Ord, Hash)]
    #[serde(rename_all = "snake_case")]
    pub enum SubgroupClass, vulkan_name {
        Basic = "VK_SUBGROUP_FEATURE_BASIC_BIT",
        Vote = "VK_SUBGROUP_FEATURE_VOTE_BIT",
        Arithmetic = "VK_SUBGROUP_FEATURE_ARITHMETIC_BIT",
        Ballot = "VK_SUBGROUP_FEATURE_BALLOT_BIT",
        Shuffle = "VK_SUBGROUP_FEATURE_SHUFFLE_BIT",
        ShuffleRelative = "VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT",
        Clustered = "VK_SUBGROUP_FEATURE_CLUSTERED_BIT",
        Quad = "VK_SUBGROUP_FEATURE_QUAD_BIT",
        Rotate = "VK_SUBGROUP_FEATURE_ROTATE_BIT_KHR",
        RotateClustered = "VK_SUBGROUP_FEATURE_ROTATE_CLUSTERED_BIT_KHR",
    }
}

named! {
    /// An optional feature, with Vulkan's name of it: that of the structure's member, or of the extension where there is none.
    #[derive(PartialOrd, Ord, Hash)]
    #[serde(rename_all = "snake_case")]
    pub enum Feature, vulkan_name {
        Float16 = "shaderFloat16",
        Float64 = "shaderFloat64",
        Int8 = "shaderInt8",
        Int16 = "shaderInt16",
        Int64 = "shaderInt64",
        Storage8 = "storageBuffer8BitAccess",
        Storage16 = "storageBuffer16BitAccess",
        VariablePointersStorageBuffer = "variablePointersStorageBuffer",
        VariablePointers = "variablePointers",
        StorageImageExtendedFormats = "shaderStorageImageExtendedFormats",
        StorageImageReadWithoutFormat = "shaderStorageImageReadWithoutFormat",
        StorageImageWriteWithoutFormat = "shaderStorageImageWriteWithoutFormat",
        ImageGatherExtended = "shaderImageGatherExtended",
        ImageCubeArray = "imageCubeArray",
        UniformBufferArrayDynamicIndexing = "shaderUniformBufferArrayDynamicIndexing",
        SampledImageArrayDynamicIndexing = "shaderSampledImageArrayDynamicIndexing",
        StorageBufferArrayDynamicIndexing = "shaderStorageBufferArrayDynamicIndexing",
        StorageImageArrayDynamicIndexing = "shaderStorageImageArrayDynamicIndexing",
        SubgroupClock = "shaderSubgroupClock",
        DeviceClock = "shaderDeviceClock",
        SubgroupExtendedTypes = "shaderSubgroupExtendedTypes",
        BufferInt64Atomics = "shaderBufferInt64Atomics",
        SharedInt64Atomics = "shaderSharedInt64Atomics",
        BufferFloat32AtomicAdd = "shaderBufferFloat32AtomicAdd",
        SharedFloat32AtomicAdd = "shaderSharedFloat32AtomicAdd",
        BufferFloat64AtomicAdd = "shaderBufferFloat64AtomicAdd",
        SharedFloat64AtomicAdd = "shaderSharedFloat64AtomicAdd",
        MemoryModel = "vulkanMemoryModel",
        MemoryModelDeviceScope = "vulkanMemoryModelDeviceScope",
        CooperativeMatrix = "cooperativeMatrix",
        CooperativeMatrixWorkgroupScope = "cooperativeMatrixWorkgroupScope",
        CooperativeMatrixFlexibleDimensions = "cooperativeMatrixFlexibleDimensions",
        CooperativeMatrixTensorAddressing = "cooperativeMatrixTensorAddressing",
        IntegerDotProduct = "shaderIntegerDotProduct",
        #[serde(rename = "bfloat16")]
        BFloat16 = "shaderBFloat16Type",
        #[serde(rename = "bfloat16_cooperative_matrix")]
        BFloat16CooperativeMatrix = "shaderBFloat16CooperativeMatrix",
        PipelineExecutableProperties = "VK_KHR_pipeline_executable_properties",
        /// `VK_EXT_calibrated_timestamps` or its KHR form
        CalibratedTimestamps = "VK_EXT_calibrated_timestamps",
        RobustBufferAccess = "robustBufferAccess",
        UniformBufferStandardLayout = "uniformBufferStandardLayout",
        ScalarBlockLayout = "scalarBlockLayout",
        /// `workgroupMemoryExplicitLayout` and its form for scalar layouts
        WorkgroupMemoryExplicitLayout = "workgroupMemoryExplicitLayout",
        Synchronization2 = "synchronization2",
        Maintenance4 = "maintenance4",
        TimelineSemaphore = "timelineSemaphore",
        BufferDeviceAddress = "bufferDeviceAddress",
        /// Events: all devices have them but some of those with `VK_KHR_portability_subset`.
        Events = "events",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueFamily {
    /// Its index, as `--queue` takes it.
    pub index: u32,
    pub count: u32,
    pub compute: bool,
    pub graphics: bool,
    /// Whether it does transfers (compute and graphics queues always do).
    pub transfer: bool,
    /// Valid bits of its timestamps; 0 where it has none.
    pub timestamp_valid_bits: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heap {
    pub bytes: u64,
    pub device_local: bool,
    /// What the driver lets this process have of it; `None` where it states none. It changes from moment to moment.
    #[serde(default)]
    pub budget: Option<Budget>,
}

impl Heap {
    /// The greater, the sooner it holds what cases work on: the device's own before others, and the largest of those.
    pub fn rank(&self) -> (bool, u64) {
        (self.device_local, self.bytes)
    }
}

/// What a process may have of a heap, by the driver's word (`VK_EXT_memory_budget`) when it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// What the process may have in all.
    pub bytes: u64,
    /// What of that it hasn't taken yet.
    pub free: u64,
}

impl Budget {
    /// A heap of so many bytes that nobody has taken anything of.
    pub fn whole(bytes: u64) -> Self {
        Self { bytes, free: bytes }
    }
}

/// Which queue family work is to run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueChoice {
    /// See [`DeviceInfo::default_queue`].
    #[default]
    Usual,
    Family(u32),
    /// One that does no graphics: some devices give workgroups more shared memory there.
    Compute,
}

impl QueueChoice {
    /// The family's index; nothing for the usual one.
    pub fn of(self, device: &DeviceInfo) -> Option<u32> {
        match self {
            Self::Usual => None,
            Self::Family(index) => Some(index),
            Self::Compute => device.queues.iter().find(|family| family.compute && !family.graphics).map(|family| family.index),
        }
    }
}

impl FromStr for QueueChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "" => Ok(Self::Usual),
            "compute" => Ok(Self::Compute),
            index => index.parse().map(Self::Family).map_err(|_| "a queue family's index is needed, or `compute`".to_owned()),
        }
    }
}

impl DeviceInfo {
    /// Takes the limits that the user's own entries have of it, if they do.
    pub fn limit(&mut self, own: &Published) {
        if let Some(peaks) = own.of(Some(self.vendor_id), Some(self.device_id), &self.name) {
            self.peaks = peaks.clone();
        }
    }

    /// Whether both are the same hardware, as far as they tell: what runs on one takes time from the other. One device may have several
    /// drivers, not all of which tell where it sits.
    pub fn shares_hardware(&self, other: &Self) -> bool {
        let model = |device: &Self| (device.vendor_id, device.device_id);
        match (self.pci_address, other.pci_address) {
            _ if self.is_cpu() && other.is_cpu() => true,
            (Some(one), Some(two)) => one == two,
            _ if self.device_uuid == other.device_uuid => true,
            _ => model(self) == model(other) && self.driver.uuid != other.driver.uuid,
        }
    }

    /// The mock device, with limits that are common among GPUs. It computes nothing; its rows say `mock`.
    pub fn mock() -> Self {
        Self {
            name: "mock".to_owned(),
            kind: DeviceKind::Other,
            driver: DriverIdentity {
                id: "MOCK".to_owned(),
                name: "mock".to_owned(),
                info: "proves plumbing only".to_owned(),
                version: "1".to_owned(),
                api_version: "1.1.0".to_owned(),
                ..DriverIdentity::default()
            },
            limits: Limits {
                workgroup_size: [1024, 1024, 64],
                workgroup_invocations: 1024,
                workgroup_count: [u32::MAX >> 1, 65_535, 65_535],
                shared_bytes: 48 << 10,
                storage_buffer_range: u32::MAX.into(),
                uniform_buffer_range: 64 << 10,
                storage_buffer_alignment: 16,
                uniform_buffer_alignment: 64,
                texel_buffer_elements: 1 << 27,
                image_dimension: 16_384,
                image_dimension_1d: 16_384,
                image_dimension_3d: 2048,
                image_dimension_cube: 16_384,
                image_layers: 2048,
                descriptors: Descriptors {
                    samplers: 4000,
                    uniform_buffers: 15,
                    storage_buffers: 1 << 20,
                    sampled_images: 1 << 20,
                    storage_images: 1 << 20,
                    all: u32::MAX,
                },
                push_constant_bytes: 256,
                descriptor_sets: 8,
                allocation_bytes: 4 << 30,
            },
            features: BTreeSet::from([
                Feature::PipelineExecutableProperties,
                Feature::StorageImageExtendedFormats,
                Feature::Events,
            ]),
            subgroup: Subgroup { size: 32, min_size: 32, max_size: 32, in_compute: true, ..Subgroup::default() },
            queues: vec![QueueFamily {
                index: 0,
                count: 1,
                compute: true,
                graphics: true,
                transfer: true,
                timestamp_valid_bits: 64,
            }],
            timestamp_period: 1.0,
            heaps: [true, false]
                .map(|device_local| Heap { bytes: 16 << 30, device_local, budget: Some(Budget::whole(16 << 30)) })
                .into(),
            memory_types: vec![
                MemoryType { index: 0, heap: 0, device_local: true, host_visible: false, host_cached: false },
                MemoryType { index: 1, heap: 1, device_local: false, host_visible: true, host_cached: false },
                MemoryType { index: 2, heap: 1, device_local: false, host_visible: true, host_cached: true },
                MemoryType { index: 3, heap: 0, device_local: true, host_visible: true, host_cached: false },
            ],
            formats: Format::ALL.iter().map(|format| (*format, mock_uses(*format))).collect(),
            ..Self::default()
        }
    }

    pub fn supports(&self, format: Format, usage: FormatUse) -> bool {
        self.formats.get(&format).is_some_and(|uses| uses.contains(&usage))
    }

    pub fn has(&self, feature: Feature) -> bool {
        self.features.contains(&feature)
    }

    /// The queue family that work runs on unless the user names one: the first that does compute, one without graphics last,
    /// since the main family is what most applications use.
    pub fn default_queue(&self) -> Option<&QueueFamily> {
        let compute = || self.queues.iter().filter(|family| family.compute);
        compute().find(|family| family.graphics).or_else(|| compute().next())
    }

    /// Whether pipelines can be made for it, though perhaps nothing be run: its driver told of a queue family.
    pub fn can_compile(&self) -> bool {
        self.default_queue().is_some()
    }

    /// Whether sizes are chosen for a processor: software drivers, and devices that don't say what they are.
    pub fn is_cpu(&self) -> bool {
        matches!(self.kind, DeviceKind::Cpu | DeviceKind::Other)
    }

    /// The largest heap of the device's own, or the largest heap at all.
    pub fn local_heap(&self) -> Option<&Heap> {
        self.heaps.iter().max_by_key(|heap| heap.rank())
    }

    /// Its bytes.
    pub fn local_heap_bytes(&self) -> u64 {
        self.local_heap().map_or(0, |heap| heap.bytes)
    }
}

/// All, but that nobody filters whole numbers.
fn mock_uses(format: Format) -> BTreeSet<FormatUse> {
    let is_there = |usage: &FormatUse| *usage != FormatUse::SampledLinear || !format.numbers().is_whole();
    FormatUse::ALL.into_iter().filter(is_there).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_reads_back_as_it_was_told() {
        let pci_address = Some(PciAddress { bus: 0x65, ..PciAddress::default() });
        let info = DeviceInfo { timestamp_period: f64::INFINITY, pci_address, ..DeviceInfo::mock() };
        let told = serde_json::to_string(&info).unwrap();
        assert_eq!(serde_json::from_str::<DeviceInfo>(&told).unwrap(), info);
        let earlier = told.replace(r#""pci_address":"0000:65:00.0","#, "");
        assert_ne!(earlier, told);
        assert_eq!(serde_json::from_str::<DeviceInfo>(&earlier).unwrap(), DeviceInfo { pci_address: None, ..info });
    }

    #[test]
    fn heaps_of_before_there_were_budgets_are_read() {
        let heap = Heap { bytes: 8, device_local: true, budget: None };
        assert_eq!(serde_json::from_str::<Heap>(r#"{"bytes":8,"device_local":true}"#).unwrap(), heap);
    }
    #[test]
    fn devices_and_drivers_are_what_they_say() {
        let info = DeviceInfo { vendor_id: 0x10de, device_id: 3, device_uuid: Uuid([5; 16]), ..DeviceInfo::mock() };
        let device = DeviceId { name: "mock".into(), vendor_id: 0x10de, device_id: 3, uuid: Uuid([5; 16]) };
        assert_eq!(DeviceId::from(&info), device);
        let driver = DriverId { id: "MOCK".into(), name: "mock".into(), info: "proves plumbing only".into() };
        assert_eq!(DriverId::from(&DriverIdentity { version: "2".into(), ..info.driver }), driver);
    }
}
