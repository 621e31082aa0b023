//! Which feature structures a driver understands, and which features get enabled.
//!
//! Each feature has a structure of its own here, never the collective ones of Vulkan 1.2 and 1.3: so a 1.1 driver with extensions
//! and a 1.3 driver are asked in the same way.

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::ptr;

use ash::{ext, khr, vk};

use crate::model::{Feature, PipelineDetail};

use super::younger::{CooperativeMatrix2Features, ShaderBfloat16Features};

/// What decides whether a structure may be used on a device.
pub(super) struct Support {
    /// The device's Vulkan version, or the instance's where that is lower.
    pub(super) version: u32,
    pub(super) extensions: Vec<vk::ExtensionProperties>,
    /// The version that the active validation layer was made for; it objects to structures that it doesn't know.
    pub(super) layer: Option<u32>,
}

impl Support {
    pub(super) fn has(&self, extension: &CStr) -> bool {
        self.extensions.iter().any(|properties| properties.extension_name_as_c_str() == Ok(extension))
    }

    /// Whether something is there: part of this Vulkan version, or by the extension.
    pub(super) fn offers(&self, core: u32, extension: &CStr) -> bool {
        self.version >= core || self.has(extension)
    }

    fn known_since(&self, since: u32) -> bool {
        self.layer.is_none_or(|layer| layer >= since)
    }
}

const V1_1: u32 = vk::API_VERSION_1_1;
const V1_2: u32 = vk::API_VERSION_1_2;
const V1_3: u32 = vk::API_VERSION_1_3;
/// Not part of any Vulkan version yet.
const NEVER: u32 = u32::MAX;
/// Known to every layer that can check synchronization.
const ALWAYS: u32 = 0;

/// Declares the chain: a field per structure, with the Vulkan version that it became part of, the extension that it came from,
/// and the version of Vulkan's headers that first had it.
macro_rules! feature_chain {
    ($($field:ident: $structure:ty, $core:expr, $extension:expr, $since:expr;)*) => {
        /// The feature structures of one device; a field is empty where the device doesn't understand the structure.
        #[derive(Default)]
        pub(super) struct FeatureChain {
            $($field: Option<$structure>,)*
        }

        impl FeatureChain {
            /// An empty structure for each that the device understands.
            fn understood(support: &Support) -> Self {
                Self { $($field: (support.offers($core, $extension) && support.known_since($since)).then(<$structure>::default),)* }
            }

            /// Hangs all structures onto `root`.
            pub(super) fn link<'a>(&'a mut self, root: vk::PhysicalDeviceFeatures2<'a>) -> vk::PhysicalDeviceFeatures2<'a> {
                $(
                    let root = match &mut self.$field {
                        Some(structure) => {
                            // From an earlier chain, and stale.
                            structure.p_next = ptr::null_mut();
                            root.push_next(structure)
                        }
                        None => root,
                    };
                )*
                root
            }

            /// The extensions that a device must be created with to use these structures.
            pub(super) fn extensions(&self, support: &Support) -> Vec<&'static CStr> {
                let needed = [$((self.$field.is_some() && support.version < $core).then_some($extension),)*];
                needed.into_iter().flatten().collect()
            }
        }
    };
}

feature_chain! {
    storage16: vk::PhysicalDevice16BitStorageFeatures<'static>, V1_1, khr::_16bit_storage::NAME, ALWAYS;
    variable_pointers: vk::PhysicalDeviceVariablePointersFeatures<'static>, V1_1, khr::variable_pointers::NAME, ALWAYS;
    storage8: vk::PhysicalDevice8BitStorageFeatures<'static>, V1_2, khr::_8bit_storage::NAME, ALWAYS;
    float16_int8: vk::PhysicalDeviceShaderFloat16Int8Features<'static>, V1_2, khr::shader_float16_int8::NAME, ALWAYS;
    subgroup_types: vk::PhysicalDeviceShaderSubgroupExtendedTypesFeatures<'static>,
        V1_2, khr::shader_subgroup_extended_types::NAME, ALWAYS;
    memory_model: vk::PhysicalDeviceVulkanMemoryModelFeatures<'static>, V1_2, khr::vulkan_memory_model::NAME, ALWAYS;
    atomic64: vk::PhysicalDeviceShaderAtomicInt64Features<'static>, V1_2, khr::shader_atomic_int64::NAME, ALWAYS;
    timeline: vk::PhysicalDeviceTimelineSemaphoreFeatures<'static>, V1_2, khr::timeline_semaphore::NAME, ALWAYS;
    subgroup_size: vk::PhysicalDeviceSubgroupSizeControlFeatures<'static>, V1_3, ext::subgroup_size_control::NAME, ALWAYS;
    synchronization2: vk::PhysicalDeviceSynchronization2Features<'static>, V1_3, khr::synchronization2::NAME, ALWAYS;
    maintenance4: vk::PhysicalDeviceMaintenance4Features<'static>, V1_3, khr::maintenance4::NAME, ALWAYS;
    integer_dot: vk::PhysicalDeviceShaderIntegerDotProductFeatures<'static>,
        V1_3, khr::shader_integer_dot_product::NAME, ALWAYS;
    uniform_layout: vk::PhysicalDeviceUniformBufferStandardLayoutFeatures<'static>,
        V1_2, khr::uniform_buffer_standard_layout::NAME, ALWAYS;
    scalar_layout: vk::PhysicalDeviceScalarBlockLayoutFeatures<'static>, V1_2, ext::scalar_block_layout::NAME, ALWAYS;
    buffer_address: vk::PhysicalDeviceBufferDeviceAddressFeatures<'static>, V1_2, khr::buffer_device_address::NAME, ALWAYS;
    workgroup_layout: vk::PhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR<'static>,
        NEVER, khr::workgroup_memory_explicit_layout::NAME, ALWAYS;
    clock: vk::PhysicalDeviceShaderClockFeaturesKHR<'static>, NEVER, khr::shader_clock::NAME, ALWAYS;
    atomic_float: vk::PhysicalDeviceShaderAtomicFloatFeaturesEXT<'static>, NEVER, ext::shader_atomic_float::NAME, ALWAYS;
    // Its extension must be enabled wherever it is listed.
    portability: vk::PhysicalDevicePortabilitySubsetFeaturesKHR<'static>, NEVER, khr::portability_subset::NAME, ALWAYS;
    executables: vk::PhysicalDevicePipelineExecutablePropertiesFeaturesKHR<'static>,
        NEVER, khr::pipeline_executable_properties::NAME, ALWAYS;
    rotate: vk::PhysicalDeviceShaderSubgroupRotateFeaturesKHR<'static>,
        NEVER, khr::shader_subgroup_rotate::NAME, vk::make_api_version(0, 1, 3, 277);
    matrix: vk::PhysicalDeviceCooperativeMatrixFeaturesKHR<'static>,
        NEVER, khr::cooperative_matrix::NAME, vk::make_api_version(0, 1, 3, 255);
    matrix2: CooperativeMatrix2Features, NEVER, c"VK_NV_cooperative_matrix2", vk::make_api_version(0, 1, 3, 300);
    bfloat16: ShaderBfloat16Features, NEVER, c"VK_KHR_shader_bfloat16", vk::make_api_version(0, 1, 4, 312);
}

/// Every optional feature that Lanescope knows, as the device has it.
pub(super) struct Features {
    core: vk::PhysicalDeviceFeatures,
    chain: FeatureChain,
}

fn on(flag: vk::Bool32) -> bool {
    flag != vk::FALSE
}

impl Features {
    /// Asks the device. It must be of Vulkan 1.1 or newer.
    pub(super) fn query(instance: &ash::Instance, physical: vk::PhysicalDevice, support: &Support) -> Self {
        let mut chain = FeatureChain::understood(support);
        let mut root = chain.link(vk::PhysicalDeviceFeatures2::default());
        // SAFETY: the device belongs to this instance and is of Vulkan 1.1; all structures live and are ones that it understands.
        unsafe { instance.get_physical_device_features2(physical, &mut root) };
        let core = root.features;
        Self { core, chain }
    }

    /// As the model names them. `VK_KHR_calibrated_timestamps` and its like have no structure and come from the extensions.
    pub(super) fn list(&self, support: &Support) -> BTreeSet<Feature> {
        let (core, chain) = (&self.core, &self.chain);
        let calibrated = support.has(ext::calibrated_timestamps::NAME) || support.has(khr::calibrated_timestamps::NAME);
        let has_layout = chain.workgroup_layout.is_some_and(|s| {
            on(s.workgroup_memory_explicit_layout) && on(s.workgroup_memory_explicit_layout_scalar_block_layout)
        });
        let all = [
            (Feature::Float16, chain.float16_int8.is_some_and(|s| on(s.shader_float16))),
            (Feature::Float64, on(core.shader_float64)),
            (Feature::Int8, chain.float16_int8.is_some_and(|s| on(s.shader_int8))),
            (Feature::Int16, on(core.shader_int16)),
            (Feature::Int64, on(core.shader_int64)),
            (Feature::Storage8, chain.storage8.is_some_and(|s| on(s.storage_buffer8_bit_access))),
            (
                Feature::VariablePointersStorageBuffer,
                chain.variable_pointers.is_some_and(|s| on(s.variable_pointers_storage_buffer)),
            ),
            (Feature::VariablePointers, chain.variable_pointers.is_some_and(|s| on(s.variable_pointers))),
            (Feature::Storage16, chain.storage16.is_some_and(|s| on(s.storage_buffer16_bit_access))),
            (Feature::StorageImageExtendedFormats, on(core.shader_storage_image_extended_formats)),
            (Feature::StorageImageReadWithoutFormat, on(core.shader_storage_image_read_without_format)),
            (Feature::StorageImageWriteWithoutFormat, on(core.shader_storage_image_write_without_format)),
            (Feature::ImageGatherExtended, on(core.shader_image_gather_extended)),
            (Feature::ImageCubeArray, on(core.image_cube_array)),
            (Feature::UniformBufferArrayDynamicIndexing, on(core.shader_uniform_buffer_array_dynamic_indexing)),
            (Feature::SampledImageArrayDynamicIndexing, on(core.shader_sampled_image_array_dynamic_indexing)),
            (Feature::StorageBufferArrayDynamicIndexing, on(core.shader_storage_buffer_array_dynamic_indexing)),
            (Feature::StorageImageArrayDynamicIndexing, on(core.shader_storage_image_array_dynamic_indexing)),
            (Feature::SubgroupClock, chain.clock.is_some_and(|s| on(s.shader_subgroup_clock))),
            (Feature::DeviceClock, chain.clock.is_some_and(|s| on(s.shader_device_clock))),
            (Feature::SubgroupExtendedTypes, chain.subgroup_types.is_some_and(|s| on(s.shader_subgroup_extended_types))),
            (Feature::BufferInt64Atomics, chain.atomic64.is_some_and(|s| on(s.shader_buffer_int64_atomics))),
            (Feature::SharedInt64Atomics, chain.atomic64.is_some_and(|s| on(s.shader_shared_int64_atomics))),
            (Feature::BufferFloat32AtomicAdd, chain.atomic_float.is_some_and(|s| on(s.shader_buffer_float32_atomic_add))),
            (Feature::SharedFloat32AtomicAdd, chain.atomic_float.is_some_and(|s| on(s.shader_shared_float32_atomic_add))),
            (Feature::BufferFloat64AtomicAdd, chain.atomic_float.is_some_and(|s| on(s.shader_buffer_float64_atomic_add))),
            (Feature::SharedFloat64AtomicAdd, chain.atomic_float.is_some_and(|s| on(s.shader_shared_float64_atomic_add))),
            (Feature::MemoryModel, chain.memory_model.is_some_and(|s| on(s.vulkan_memory_model))),
            (Feature::MemoryModelDeviceScope, chain.memory_model.is_some_and(|s| on(s.vulkan_memory_model_device_scope))),
            (Feature::CooperativeMatrix, chain.matrix.is_some_and(|s| on(s.cooperative_matrix))),
            (Feature::CooperativeMatrixWorkgroupScope, chain.matrix2.is_some_and(|s| on(s.workgroup_scope))),
            (Feature::CooperativeMatrixFlexibleDimensions, chain.matrix2.is_some_and(|s| on(s.flexible_dimensions))),
            (Feature::CooperativeMatrixTensorAddressing, chain.matrix2.is_some_and(|s| on(s.tensor_addressing))),
            (Feature::IntegerDotProduct, chain.integer_dot.is_some_and(|s| on(s.shader_integer_dot_product))),
            (Feature::BFloat16, chain.bfloat16.is_some_and(|s| on(s.bfloat16_type))),
            (Feature::BFloat16CooperativeMatrix, chain.bfloat16.is_some_and(|s| on(s.bfloat16_cooperative_matrix))),
            (Feature::PipelineExecutableProperties, chain.executables.is_some_and(|s| on(s.pipeline_executable_info))),
            (Feature::CalibratedTimestamps, calibrated),
            (Feature::RobustBufferAccess, on(core.robust_buffer_access)),
            (Feature::UniformBufferStandardLayout, chain.uniform_layout.is_some_and(|s| on(s.uniform_buffer_standard_layout))),
            (Feature::ScalarBlockLayout, chain.scalar_layout.is_some_and(|s| on(s.scalar_block_layout))),
            (Feature::WorkgroupMemoryExplicitLayout, has_layout),
            (Feature::Synchronization2, chain.synchronization2.is_some_and(|s| on(s.synchronization2))),
            (Feature::Maintenance4, chain.maintenance4.is_some_and(|s| on(s.maintenance4))),
            (Feature::TimelineSemaphore, chain.timeline.is_some_and(|s| on(s.timeline_semaphore))),
            (Feature::BufferDeviceAddress, chain.buffer_address.is_some_and(|s| on(s.buffer_device_address))),
            (Feature::Events, chain.portability.is_none_or(|s| on(s.events))),
        ];
        all.into_iter().filter_map(|(feature, there)| there.then_some(feature)).collect()
    }

    /// `subgroupSizeControl` and `computeFullSubgroups`
    pub(super) fn subgroup_size_control(&self) -> (bool, bool) {
        self.chain.subgroup_size.map_or((false, false), |s| (on(s.subgroup_size_control), on(s.compute_full_subgroups)))
    }

    /// `shaderSubgroupRotate` and `shaderSubgroupRotateClustered`
    pub(super) fn subgroup_rotate(&self) -> (bool, bool) {
        self.chain.rotate.map_or((false, false), |s| (on(s.shader_subgroup_rotate), on(s.shader_subgroup_rotate_clustered)))
    }

    /// What gets enabled, of what there is: everything that lets a shader use more types and operations; nothing that may change
    /// how fast the others run (robust access checks bounds: only where that is asked for) and nothing that is about graphics. What
    /// asks about pipelines only where anything is asked.
    pub(super) fn into_enabled(self, detail: PipelineDetail, is_robust: bool) -> (vk::PhysicalDeviceFeatures, FeatureChain) {
        let core = vk::PhysicalDeviceFeatures {
            shader_float64: self.core.shader_float64,
            shader_int64: self.core.shader_int64,
            shader_int16: self.core.shader_int16,
            shader_storage_image_extended_formats: self.core.shader_storage_image_extended_formats,
            robust_buffer_access: vk::Bool32::from(is_robust) & self.core.robust_buffer_access,
            shader_storage_image_read_without_format: self.core.shader_storage_image_read_without_format,
            shader_storage_image_write_without_format: self.core.shader_storage_image_write_without_format,
            shader_image_gather_extended: self.core.shader_image_gather_extended,
            image_cube_array: self.core.image_cube_array,
            shader_uniform_buffer_array_dynamic_indexing: self.core.shader_uniform_buffer_array_dynamic_indexing,
            shader_sampled_image_array_dynamic_indexing: self.core.shader_sampled_image_array_dynamic_indexing,
            shader_storage_buffer_array_dynamic_indexing: self.core.shader_storage_buffer_array_dynamic_indexing,
            shader_storage_image_array_dynamic_indexing: self.core.shader_storage_image_array_dynamic_indexing,
            ..Default::default()
        };
        let mut chain = self.chain;
        if detail == PipelineDetail::None {
            chain.executables = None;
        }
        if let Some(storage) = &mut chain.storage16 {
            storage.storage_input_output16 = vk::FALSE;
        }
        if let Some(address) = &mut chain.buffer_address {
            address.buffer_device_address_capture_replay = vk::FALSE;
            address.buffer_device_address_multi_device = vk::FALSE;
        }
        if let Some(subset) = &mut chain.portability {
            *subset = vk::PhysicalDevicePortabilitySubsetFeaturesKHR::default().events(on(subset.events));
        }
        if let Some(matrix) = &mut chain.matrix {
            matrix.cooperative_matrix_robust_buffer_access = vk::FALSE;
        }
        if let Some(atomics) = &mut chain.atomic_float {
            atomics.sparse_image_float32_atomics = vk::FALSE;
            atomics.sparse_image_float32_atomic_add = vk::FALSE;
        }
        (core, chain)
    }
}
