//! Texel formats by Vulkan's names.

use ash::vk;

use crate::model::Format;

pub(super) fn raw(format: Format) -> vk::Format {
    match format {
        Format::R8Unorm => vk::Format::R8_UNORM,
        Format::Rg8Unorm => vk::Format::R8G8_UNORM,
        Format::Rgba8Unorm => vk::Format::R8G8B8A8_UNORM,
        Format::R16Unorm => vk::Format::R16_UNORM,
        Format::Rg16Unorm => vk::Format::R16G16_UNORM,
        Format::Rgba16Unorm => vk::Format::R16G16B16A16_UNORM,
        Format::R8Snorm => vk::Format::R8_SNORM,
        Format::Rg8Snorm => vk::Format::R8G8_SNORM,
        Format::Rgba8Snorm => vk::Format::R8G8B8A8_SNORM,
        Format::R16Snorm => vk::Format::R16_SNORM,
        Format::Rg16Snorm => vk::Format::R16G16_SNORM,
        Format::Rgba16Snorm => vk::Format::R16G16B16A16_SNORM,
        Format::R16Float => vk::Format::R16_SFLOAT,
        Format::Rg16Float => vk::Format::R16G16_SFLOAT,
        Format::Rgba16Float => vk::Format::R16G16B16A16_SFLOAT,
        Format::R32Float => vk::Format::R32_SFLOAT,
        Format::Rg32Float => vk::Format::R32G32_SFLOAT,
        Format::Rgba32Float => vk::Format::R32G32B32A32_SFLOAT,
        Format::R8Uint => vk::Format::R8_UINT,
        Format::Rg8Uint => vk::Format::R8G8_UINT,
        Format::Rgba8Uint => vk::Format::R8G8B8A8_UINT,
        Format::R16Uint => vk::Format::R16_UINT,
        Format::Rg16Uint => vk::Format::R16G16_UINT,
        Format::Rgba16Uint => vk::Format::R16G16B16A16_UINT,
        Format::R32Uint => vk::Format::R32_UINT,
        Format::Rg32Uint => vk::Format::R32G32_UINT,
        Format::Rgba32Uint => vk::Format::R32G32B32A32_UINT,
        Format::R8Sint => vk::Format::R8_SINT,
        Format::Rg8Sint => vk::Format::R8G8_SINT,
        Format::Rgba8Sint => vk::Format::R8G8B8A8_SINT,
        Format::R16Sint => vk::Format::R16_SINT,
        Format::Rg16Sint => vk::Format::R16G16_SINT,
        Format::Rgba16Sint => vk::Format::R16G16B16A16_SINT,
        Format::R32Sint => vk::Format::R32_SINT,
        Format::Rg32Sint => vk::Format::R32G32_SINT,
        Format::Rgba32Sint => vk::Format::R32G32B32A32_SINT,
        Format::Rgb10A2Unorm => vk::Format::A2B10G10R10_UNORM_PACK32,
        Format::Rgb10A2Uint => vk::Format::A2B10G10R10_UINT_PACK32,
        Format::Rg11B10Float => vk::Format::B10G11R11_UFLOAT_PACK32,
    }
}
