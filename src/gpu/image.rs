//! Images and samplers, and the way of texels there and back.

use std::sync::Arc;

use ash::vk;

use crate::model::{Dimension, Edge, Format, ImageRole, Sampling};

use super::command::Recorder;
use super::error::{Context, Error};
use super::format;
use super::logical::Logical;
use super::memory::{Buffer, Memory};
use super::object::Owned;

/// An image with its view. Users first: they are dropped in this order.
pub(super) struct Image {
    pub(super) view: Owned<vk::ImageView>,
    raw: Owned<vk::Image>,
    role: ImageRole,
    dimension: Dimension,
    extent: [u32; 3],
    texel_bytes: u32,
    _memory: Memory,
}

/// A part of an image that lies in a staging buffer: whole slices, or rows of one. A slice is a layer, or one texel of the depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    slice: u32,
    slices: u32,
    row: u32,
    rows: u32,
    /// Where it begins among the image's bytes.
    pub(super) offset: u64,
    pub(super) length: u64,
}

/// Slices of so many rows in parts of at most so many bytes, in order.
fn parts(slices: u32, rows: u32, row_bytes: u64, most: u64) -> Vec<Part> {
    let slice_bytes = row_bytes * u64::from(rows);
    let fit = |bytes: u64| u32::try_from(most / bytes.max(1)).unwrap_or(u32::MAX);
    if slice_bytes <= most {
        let step = fit(slice_bytes).max(1) as usize;
        let part = |slice: u32| {
            let count = (slices - slice).min(u32::try_from(step).unwrap_or(u32::MAX));
            let (offset, length) = (u64::from(slice) * slice_bytes, u64::from(count) * slice_bytes);
            Part { slice, slices: count, row: 0, rows, offset, length }
        };
        return (0..slices).step_by(step).map(part).collect();
    }
    let step = fit(row_bytes).max(1);
    let of_slice = |slice: u32| {
        (0..rows).step_by(step as usize).map(move |row| {
            let count = (rows - row).min(step);
            let offset = u64::from(slice) * slice_bytes + u64::from(row) * row_bytes;
            Part { slice, slices: 1, row, rows: count, offset, length: u64::from(count) * row_bytes }
        })
    };
    (0..slices).flat_map(of_slice).collect()
}

impl Image {
    pub(super) fn new(
        logical: &Arc<Logical>,
        name: &str,
        format: Format,
        (dimension, extent): (Dimension, [u32; 3]),
        role: ImageRole,
    ) -> Result<Self, Error> {
        let mut usage = vk::ImageUsageFlags::TRANSFER_DST;
        if role.is_sampled() {
            usage |= vk::ImageUsageFlags::SAMPLED;
        }
        if role.is_storage() {
            usage |= vk::ImageUsageFlags::STORAGE | vk::ImageUsageFlags::TRANSFER_SRC;
        }
        let (ty, view_type) = types(dimension);
        let [width, height, depth] = dimension.layer_extent(extent);
        let layers = dimension.layers(extent);
        let flags = if dimension.is_cube() { vk::ImageCreateFlags::CUBE_COMPATIBLE } else { vk::ImageCreateFlags::empty() };
        let info = vk::ImageCreateInfo::default()
            .flags(flags)
            .image_type(ty)
            .format(format::raw(format))
            .extent(vk::Extent3D { width, height, depth })
            .mip_levels(1)
            .array_layers(layers)
            .samples(vk::SampleCountFlags::TYPE_1)
            .tiling(vk::ImageTiling::OPTIMAL)
            .usage(usage)
            .sharing_mode(vk::SharingMode::EXCLUSIVE);
        // SAFETY: the device lives; `check` found that the format can be used so, and the extent within the limits.
        let raw = unsafe { logical.raw.create_image(&info, None) }.on("vkCreateImage", || format!("image `{name}`"))?;
        let raw = Owned::new(logical, raw, name);
        let memory = Memory::of_image(logical, name, &raw)?;
        let info = vk::ImageViewCreateInfo::default()
            .image(raw.raw())
            .view_type(view_type)
            .format(format::raw(format))
            .subresource_range(whole(layers));
        // SAFETY: the image lives and has its memory; `check` saw that cubes have whole cubes' layers.
        let view = unsafe { logical.raw.create_image_view(&info, None) };
        let view = view.on("vkCreateImageView", || format!("image `{name}`"))?;
        let view = Owned::new(logical, view, name);
        Ok(Self { view, raw, role, dimension, extent, texel_bytes: format.bytes(), _memory: memory })
    }

    /// The layout in which kernels use it, and in which those that they write stay.
    pub(super) fn layout(&self) -> vk::ImageLayout {
        if self.is_storage() { vk::ImageLayout::GENERAL } else { vk::ImageLayout::SHADER_READ_ONLY_OPTIMAL }
    }

    /// Whether it can be read back, and copied to after it was filled.
    pub(super) fn is_storage(&self) -> bool {
        self.role.is_storage()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.extent.iter().fold(self.texel_bytes.into(), |bytes, side| bytes * u64::from(*side))
    }

    /// It in parts of at most so many bytes, unless a row has more.
    pub(super) fn parts(&self, most: u64) -> Vec<Part> {
        let [width, rows, depth] = self.dimension.layer_extent(self.extent);
        let slices = depth * self.dimension.layers(self.extent);
        parts(slices, rows, u64::from(self.texel_bytes) * u64::from(width), most)
    }

    fn whole(&self) -> Option<Part> {
        self.parts(u64::MAX).pop()
    }

    /// A part that lies at the begin of a buffer, packed.
    fn region(&self, part: Part) -> vk::BufferImageCopy {
        let signed = |place: u32| i32::try_from(place).unwrap_or(i32::MAX);
        let is_layered = self.dimension.is_layered();
        let (layer, layers, z, depth) =
            if is_layered { (part.slice, part.slices, 0, 1) } else { (0, 1, signed(part.slice), part.slices) };
        let layers = vk::ImageSubresourceLayers::default()
            .aspect_mask(vk::ImageAspectFlags::COLOR)
            .base_array_layer(layer)
            .layer_count(layers);
        vk::BufferImageCopy::default()
            .image_subresource(layers)
            .image_offset(vk::Offset3D { x: 0, y: signed(part.row), z })
            .image_extent(vk::Extent3D { width: self.extent[0], height: part.rows, depth })
    }
}

fn whole(layers: u32) -> vk::ImageSubresourceRange {
    vk::ImageSubresourceRange::default().aspect_mask(vk::ImageAspectFlags::COLOR).level_count(1).layer_count(layers)
}

fn types(dimension: Dimension) -> (vk::ImageType, vk::ImageViewType) {
    match dimension {
        Dimension::D1 => (vk::ImageType::TYPE_1D, vk::ImageViewType::TYPE_1D),
        Dimension::D1Array => (vk::ImageType::TYPE_1D, vk::ImageViewType::TYPE_1D_ARRAY),
        Dimension::D2 => (vk::ImageType::TYPE_2D, vk::ImageViewType::TYPE_2D),
        Dimension::D2Array => (vk::ImageType::TYPE_2D, vk::ImageViewType::TYPE_2D_ARRAY),
        Dimension::D3 => (vk::ImageType::TYPE_3D, vk::ImageViewType::TYPE_3D),
        Dimension::Cube => (vk::ImageType::TYPE_2D, vk::ImageViewType::CUBE),
        Dimension::CubeArray => (vk::ImageType::TYPE_2D, vk::ImageViewType::CUBE_ARRAY),
    }
}

pub(super) fn sampler(logical: &Arc<Logical>, name: &str, sampling: Sampling) -> Result<Owned<vk::Sampler>, Error> {
    let filter = if sampling.is_linear { vk::Filter::LINEAR } else { vk::Filter::NEAREST };
    let edge = match sampling.edge {
        Edge::Clamp => vk::SamplerAddressMode::CLAMP_TO_EDGE,
        Edge::Repeat => vk::SamplerAddressMode::REPEAT,
        Edge::Mirror => vk::SamplerAddressMode::MIRRORED_REPEAT,
    };
    let info = vk::SamplerCreateInfo::default()
        .mag_filter(filter)
        .min_filter(filter)
        .mipmap_mode(vk::SamplerMipmapMode::NEAREST)
        .address_mode_u(edge)
        .address_mode_v(edge)
        .address_mode_w(edge)
        .unnormalized_coordinates(sampling.is_unnormalized);
    // SAFETY: the device lives; `check` saw that unnormalized places are clamped, and a case has few samplers.
    let sampler = unsafe { logical.raw.create_sampler(&info, None) }.on("vkCreateSampler", || name.to_owned())?;
    Ok(Owned::new(logical, sampler, name))
}

impl Recorder<'_> {
    /// Brings an image that was just made into the layout in which it is filled.
    pub(super) fn begin_filling(&self, image: &Image) {
        self.transition(image, vk::ImageLayout::UNDEFINED, vk::ImageLayout::TRANSFER_DST_OPTIMAL);
    }

    /// Brings an image that was filled into the layout in which kernels use it.
    pub(super) fn end_filling(&self, image: &Image) {
        self.transition(image, vk::ImageLayout::TRANSFER_DST_OPTIMAL, image.layout());
    }

    /// Brings an image from one layout into another, after all that used it, and before all that will.
    fn transition(&self, image: &Image, old: vk::ImageLayout, new: vk::ImageLayout) {
        let all = vk::PipelineStageFlags::ALL_COMMANDS;
        let (before, after) = (vk::AccessFlags::MEMORY_WRITE, vk::AccessFlags::MEMORY_READ | vk::AccessFlags::MEMORY_WRITE);
        let barrier = vk::ImageMemoryBarrier::default()
            .src_access_mask(before)
            .dst_access_mask(after)
            .old_layout(old)
            .new_layout(new)
            .src_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
            .dst_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
            .image(image.raw.raw())
            .subresource_range(whole(image.dimension.layers(image.extent)));
        let flags = vk::DependencyFlags::empty();
        // SAFETY: recording; the image lives, has the usages of both layouts, and is in the old one or was just made.
        unsafe { self.logical.raw.cmd_pipeline_barrier(self.buffer, all, all, flags, &[], &[], &[barrier]) };
    }

    /// Copies a part, packed at the begin of a buffer, into an image in the layout for that.
    pub(super) fn copy_part_in(&self, source: &Buffer, target: &Image, part: Part) {
        debug_assert!(part.length <= source.bytes());
        let layout = vk::ImageLayout::TRANSFER_DST_OPTIMAL;
        let regions = [target.region(part)];
        // SAFETY: recording; both live and have the usages for it, the image is in the layout, and the part lies within both.
        unsafe {
            self.logical.raw.cmd_copy_buffer_to_image(self.buffer, source.raw(), target.raw.raw(), layout, &regions);
        }
    }

    /// Copies a part of an image that kernels write to the begin of a buffer.
    pub(super) fn copy_part_out(&self, source: &Image, target: &Buffer, part: Part) {
        debug_assert!(source.is_storage() && part.length <= target.bytes());
        let layout = vk::ImageLayout::TRANSFER_SRC_OPTIMAL;
        self.transition(source, source.layout(), layout);
        let regions = [source.region(part)];
        // SAFETY: recording; both live and have the usages for it, the image is in the layout, and the part lies within both.
        unsafe {
            self.logical.raw.cmd_copy_image_to_buffer(self.buffer, source.raw.raw(), layout, target.raw(), &regions);
        }
        self.transition(source, layout, source.layout());
    }

    pub(super) fn copy_whole_in(&self, source: &Buffer, target: &Image) {
        debug_assert!(target.is_storage() && target.bytes() <= source.bytes());
        let Some(whole) = target.whole() else { return };
        self.transition(target, target.layout(), vk::ImageLayout::TRANSFER_DST_OPTIMAL);
        self.copy_part_in(source, target, whole);
        self.end_filling(target);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_an_image_without_gap() {
        for (slices, rows, row_bytes, most) in
            [(1, 20, 36, 1 << 20), (5, 7, 33, 256), (3, 50, 100, 1000), (4, 1, 16, 64), (2, 3, 90, 64)]
        {
            let all = parts(slices, rows, row_bytes, most);
            assert!(all.windows(2).all(|pair| pair[0].offset + pair[0].length == pair[1].offset), "{all:?}");
            assert_eq!(all.iter().map(|part| part.length).sum::<u64>(), u64::from(slices) * u64::from(rows) * row_bytes);
            for part in &all {
                assert!(part.length <= most.max(row_bytes) && (part.slices == 1 || part.rows == rows), "{part:?}");
                assert_eq!(part.length, u64::from(part.slices) * u64::from(part.rows) * row_bytes);
                assert_eq!(part.offset, row_bytes * u64::from(part.slice * rows + part.row));
            }
        }
        assert_eq!(parts(7, 9, 3, u64::MAX).len(), 1);
    }
}
