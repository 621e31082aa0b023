//! Which products of cooperative matrices a device does.

use std::collections::BTreeSet;
use std::{mem, ptr};

use ash::vk;

use crate::model::{Component, Feature, MatrixProduct, MatrixScope};

use super::instance::InstanceInner;
use super::younger::FlexibleDimensions;

/// `vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV`
type GetFlexibleDimensions = unsafe extern "system" fn(vk::PhysicalDevice, *mut u32, *mut FlexibleDimensions) -> vk::Result;

/// All products that the device lists; those of flexible sizes last. None where it has no such feature, or fails to tell.
pub(super) fn products(inner: &InstanceInner, raw: vk::PhysicalDevice, features: &BTreeSet<Feature>) -> Vec<MatrixProduct> {
    let mut products = Vec::new();
    if features.contains(&Feature::CooperativeMatrix) {
        let functions = ash::khr::cooperative_matrix::Instance::new(&inner.entry, &inner.raw);
        // SAFETY: the device comes from this instance and has the extension.
        let listed = unsafe { functions.get_physical_device_cooperative_matrix_properties(raw) };
        products.extend(listed.unwrap_or_default().iter().map(fixed));
    }
    if features.contains(&Feature::CooperativeMatrixFlexibleDimensions) {
        products.extend(flexible(inner, raw).iter().map(multiples));
    }
    products
}

fn flexible(inner: &InstanceInner, physical: vk::PhysicalDevice) -> Vec<FlexibleDimensions> {
    const NAME: &std::ffi::CStr = c"vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV";
    // SAFETY: the instance lives, and the name ends with a zero.
    let Some(function) = (unsafe { inner.entry.get_instance_proc_addr(inner.raw.handle(), NAME.as_ptr()) }) else {
        return Vec::new();
    };
    // SAFETY: this is the function of that name, whose signature is the specification's.
    let function: GetFlexibleDimensions = unsafe { mem::transmute(function) };
    let mut count = 0;
    // SAFETY: without an array only the count is written; the device comes from this instance and has the extension.
    if unsafe { function(physical, &raw mut count, ptr::null_mut()) } != vk::Result::SUCCESS {
        return Vec::new();
    }
    let mut all = vec![FlexibleDimensions::default(); count as usize];
    // SAFETY: as above, and the array has room for `count` structures of the specification's layout, with their types set.
    if unsafe { function(physical, &raw mut count, all.as_mut_ptr()) } != vk::Result::SUCCESS {
        return Vec::new();
    }
    all.truncate(count as usize);
    all
}

fn fixed(listed: &vk::CooperativeMatrixPropertiesKHR<'_>) -> MatrixProduct {
    MatrixProduct {
        m: listed.m_size,
        n: listed.n_size,
        k: listed.k_size,
        a: component(listed.a_type),
        b: component(listed.b_type),
        c: component(listed.c_type),
        result: component(listed.result_type),
        saturating: listed.saturating_accumulation != vk::FALSE,
        scope: scope(listed.scope),
        workgroup_invocations: None,
    }
}

fn multiples(listed: &FlexibleDimensions) -> MatrixProduct {
    MatrixProduct {
        m: listed.m_granularity,
        n: listed.n_granularity,
        k: listed.k_granularity,
        a: component(listed.a_type),
        b: component(listed.b_type),
        c: component(listed.c_type),
        result: component(listed.result_type),
        saturating: listed.saturating_accumulation != vk::FALSE,
        scope: scope(listed.scope),
        workgroup_invocations: Some(listed.workgroup_invocations),
    }
}

fn scope(scope: vk::ScopeKHR) -> MatrixScope {
    match scope {
        vk::ScopeKHR::SUBGROUP => MatrixScope::Subgroup,
        vk::ScopeKHR::WORKGROUP => MatrixScope::Workgroup,
        other => MatrixScope::Unknown(other.as_raw()),
    }
}

fn component(ty: vk::ComponentTypeKHR) -> Component {
    match ty {
        vk::ComponentTypeKHR::FLOAT16 => Component::F16,
        vk::ComponentTypeKHR::FLOAT32 => Component::F32,
        vk::ComponentTypeKHR::FLOAT64 => Component::F64,
        vk::ComponentTypeKHR::SINT8 => Component::I8,
        vk::ComponentTypeKHR::SINT16 => Component::I16,
        vk::ComponentTypeKHR::SINT32 => Component::I32,
        vk::ComponentTypeKHR::SINT64 => Component::I64,
        vk::ComponentTypeKHR::UINT8 => Component::U8,
        vk::ComponentTypeKHR::UINT16 => Component::U16,
        vk::ComponentTypeKHR::UINT32 => Component::U32,
        vk::ComponentTypeKHR::UINT64 => Component::U64,
        other => younger(other.as_raw()),
    }
}

/// Types that are younger than this version of ash, by their numbers in Vulkan's header.
fn younger(number: i32) -> Component {
    match number {
        1_000_141_000 => Component::Bf16,
        1_000_491_002 => Component::F8E4m3,
        1_000_491_003 => Component::F8E5m2,
        other => Component::Unknown(other),
    }
}
