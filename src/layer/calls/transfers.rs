//! Work beside dispatches, which is passed on: the next dispatch has to wait for it before its time begins.

use std::ffi::{CStr, c_void};
use std::mem;

use ash::vk;
use lanescope_chain::Function;

use super::commands::disturbed;
use super::device;

macro_rules! passed_on {
    ($($name:literal, $function:ident $(, $argument:ident: $ty:ty)*;)*) => { $(
        pub(super) unsafe extern "system" fn $function(commands: vk::CommandBuffer $(, $argument: $ty)*) {
            const NAME: &CStr = $name;
            type Next = unsafe extern "system" fn(vk::CommandBuffer $(, $ty)*);
            // SAFETY: as this function is called; the layer below has one of this name and type.
            unsafe {
                let Some(device) = device(commands) else { return };
                disturbed(&device, commands);
                if let Some(next) = device.function(NAME) {
                    mem::transmute::<Function, Next>(next)(commands $(, $argument)*);
                }
            }
        }
    )* };
}

passed_on! {
    c"vkCmdCopyBuffer", copy_buffer, from: vk::Buffer, to: vk::Buffer, count: u32, regions: *const vk::BufferCopy;
    c"vkCmdCopyBuffer2", copy_buffer2, info: *const vk::CopyBufferInfo2<'_>;
    c"vkCmdCopyBuffer2KHR", copy_buffer2_khr, info: *const vk::CopyBufferInfo2<'_>;
    c"vkCmdCopyImage", copy_image, from: vk::Image, from_layout: vk::ImageLayout, to: vk::Image, to_layout: vk::ImageLayout, count: u32, regions: *const vk::ImageCopy;
    c"vkCmdCopyImage2", copy_image2, info: *const vk::CopyImageInfo2<'_>;
    c"vkCmdCopyImage2KHR", copy_image2_khr, info: *const vk::CopyImageInfo2<'_>;
    c"vkCmdCopyBufferToImage", copy_to_image, from: vk::Buffer, to: vk::Image, layout: vk::ImageLayout, count: u32, regions: *const vk::BufferImageCopy;
    c"vkCmdCopyBufferToImage2", copy_to_image2, info: *const vk::CopyBufferToImageInfo2<'_>;
    c"vkCmdCopyBufferToImage2KHR", copy_to_image2_khr, info: *const vk::CopyBufferToImageInfo2<'_>;
    c"vkCmdCopyImageToBuffer", copy_from_image, from: vk::Image, layout: vk::ImageLayout, to: vk::Buffer, count: u32, regions: *const vk::BufferImageCopy;
    c"vkCmdCopyImageToBuffer2", copy_from_image2, info: *const vk::CopyImageToBufferInfo2<'_>;
    c"vkCmdCopyImageToBuffer2KHR", copy_from_image2_khr, info: *const vk::CopyImageToBufferInfo2<'_>;
    c"vkCmdBlitImage", blit_image, from: vk::Image, from_layout: vk::ImageLayout, to: vk::Image, to_layout: vk::ImageLayout, count: u32, regions: *const vk::ImageBlit, filter: vk::Filter;
    c"vkCmdBlitImage2", blit_image2, info: *const vk::BlitImageInfo2<'_>;
    c"vkCmdBlitImage2KHR", blit_image2_khr, info: *const vk::BlitImageInfo2<'_>;
    c"vkCmdResolveImage", resolve_image, from: vk::Image, from_layout: vk::ImageLayout, to: vk::Image, to_layout: vk::ImageLayout, count: u32, regions: *const vk::ImageResolve;
    c"vkCmdResolveImage2", resolve_image2, info: *const vk::ResolveImageInfo2<'_>;
    c"vkCmdResolveImage2KHR", resolve_image2_khr, info: *const vk::ResolveImageInfo2<'_>;
    c"vkCmdClearColorImage", clear_colour, image: vk::Image, layout: vk::ImageLayout, colour: *const vk::ClearColorValue, count: u32, ranges: *const vk::ImageSubresourceRange;
    c"vkCmdClearDepthStencilImage", clear_depth, image: vk::Image, layout: vk::ImageLayout, depth: *const vk::ClearDepthStencilValue, count: u32, ranges: *const vk::ImageSubresourceRange;
    c"vkCmdFillBuffer", fill_buffer, buffer: vk::Buffer, offset: vk::DeviceSize, size: vk::DeviceSize, data: u32;
    c"vkCmdUpdateBuffer", update_buffer, buffer: vk::Buffer, offset: vk::DeviceSize, size: vk::DeviceSize, data: *const c_void;
    c"vkCmdCopyQueryPoolResults", copy_results, pool: vk::QueryPool, first: u32, count: u32, to: vk::Buffer, offset: vk::DeviceSize, stride: vk::DeviceSize, flags: vk::QueryResultFlags;
    c"vkCmdBuildAccelerationStructuresKHR", build_structures, count: u32, infos: *const vk::AccelerationStructureBuildGeometryInfoKHR<'_>, ranges: *const *const vk::AccelerationStructureBuildRangeInfoKHR;
    c"vkCmdBuildAccelerationStructuresIndirectKHR", build_structures_indirect, count: u32, infos: *const vk::AccelerationStructureBuildGeometryInfoKHR<'_>, from: *const vk::DeviceAddress, strides: *const u32, counts: *const *const u32;
    c"vkCmdCopyAccelerationStructureKHR", copy_structure, info: *const vk::CopyAccelerationStructureInfoKHR<'_>;
    c"vkCmdCopyMemoryIndirectNV", copy_memory_indirect, from: vk::DeviceAddress, count: u32, stride: u32;
    c"vkCmdDecompressMemoryNV", decompress_memory, count: u32, regions: *const vk::DecompressMemoryRegionNV;
}
