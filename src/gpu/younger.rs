//! Structures of Vulkan's header that are younger than this version of ash.

use std::{ffi::c_void, ptr};

use ash::vk;

/// Declares structures with their numbers (`VkStructureType`) and members, which are all zero at first.
macro_rules! structures {
    ($($(#[$attribute:meta])* $name:ident = $number:literal { $($member:ident: $type:ty,)+ })+) => {
        $(
            $(#[$attribute])*
            #[repr(C)]
            #[derive(Clone, Copy)]
            pub(super) struct $name {
                s_type: vk::StructureType,
                pub(super) p_next: *mut c_void,
                $(pub(super) $member: $type,)+
            }

            impl Default for $name {
                fn default() -> Self {
                    let s_type = vk::StructureType::from_raw($number);
                    Self { s_type, p_next: ptr::null_mut(), $($member: <$type>::default(),)+ }
                }
            }
        )+
    };
}

structures! {
    /// `VkPhysicalDeviceShaderBfloat16FeaturesKHR`
    ShaderBfloat16Features = 1_000_141_000 {
        bfloat16_type: vk::Bool32,
        bfloat16_dot_product: vk::Bool32,
        bfloat16_cooperative_matrix: vk::Bool32,
    }

    /// `VkPhysicalDeviceCooperativeMatrix2FeaturesNV`
    CooperativeMatrix2Features = 1_000_593_000 {
        workgroup_scope: vk::Bool32,
        flexible_dimensions: vk::Bool32,
        reductions: vk::Bool32,
        conversions: vk::Bool32,
        per_element_operations: vk::Bool32,
        tensor_addressing: vk::Bool32,
        block_loads: vk::Bool32,
    }

    /// `VkCooperativeMatrixFlexibleDimensionsPropertiesNV`
    FlexibleDimensions = 1_000_593_001 {
        m_granularity: u32,
        n_granularity: u32,
        k_granularity: u32,
        a_type: vk::ComponentTypeKHR,
        b_type: vk::ComponentTypeKHR,
        c_type: vk::ComponentTypeKHR,
        result_type: vk::ComponentTypeKHR,
        saturating_accumulation: vk::Bool32,
        scope: vk::ScopeKHR,
        workgroup_invocations: u32,
    }
}

// SAFETY: the layout is that of Vulkan's header, and the specification lets it extend VkPhysicalDeviceFeatures2.
unsafe impl vk::ExtendsPhysicalDeviceFeatures2 for ShaderBfloat16Features {}
// SAFETY: as above.
unsafe impl vk::ExtendsPhysicalDeviceFeatures2 for CooperativeMatrix2Features {}
