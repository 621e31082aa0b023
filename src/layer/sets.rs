//! What descriptor sets bind: how many bytes of buffers.

use std::collections::HashMap;
use std::ffi::c_void;
use std::slice;

use ash::vk;

/// Of each descriptor that leads to a buffer, by binding and element, how many bytes of it.
pub(crate) type Bound = HashMap<(u32, u32), u64>;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffer {
    pub(crate) bytes: u64,
    pub(crate) usage: vk::BufferUsageFlags,
}

/// A device's buffers and sets.
#[derive(Debug, Default)]
pub(crate) struct Sets {
    pub(crate) buffers: HashMap<vk::Buffer, Buffer>,
    pub(crate) views: HashMap<vk::BufferView, u64>,
    pub(crate) templates: HashMap<vk::DescriptorUpdateTemplate, Vec<vk::DescriptorUpdateTemplateEntry>>,
    /// How many sets a layout has.
    pub(crate) layouts: HashMap<vk::PipelineLayout, usize>,
    sets: HashMap<vk::DescriptorSet, Bound>,
    pools: HashMap<vk::DescriptorPool, Vec<vk::DescriptorSet>>,
}

impl Sets {
    pub(crate) fn allocated(&mut self, pool: vk::DescriptorPool, sets: &[vk::DescriptorSet]) {
        self.pools.entry(pool).or_default().extend(sets);
        // A handle may be one that was used before.
        sets.iter().for_each(|set| drop(self.sets.insert(*set, Bound::new())));
    }

    pub(crate) fn freed(&mut self, pool: vk::DescriptorPool, sets: &[vk::DescriptorSet]) {
        sets.iter().for_each(|set| drop(self.sets.remove(set)));
        if let Some(own) = self.pools.get_mut(&pool) {
            own.retain(|set| !sets.contains(set));
        }
    }

    /// A pool was reset, or destroyed.
    pub(crate) fn emptied(&mut self, pool: vk::DescriptorPool) {
        for set in self.pools.remove(&pool).unwrap_or_default() {
            self.sets.remove(&set);
        }
    }

    /// Bytes that a set binds.
    pub(crate) fn bytes(&self, set: vk::DescriptorSet) -> u64 {
        self.sets.get(&set).map_or(0, |bound| bound.values().sum())
    }

    pub(crate) fn range(&self, buffer: vk::Buffer, offset: u64, range: u64) -> u64 {
        let rest = || self.buffers.get(&buffer).map_or(0, |buffer| buffer.bytes.saturating_sub(offset));
        if range == vk::WHOLE_SIZE { rest() } else { range }
    }

    /// Notes writes; those whose set is null are into `pushed`.
    ///
    /// # Safety
    /// The writes are ones that vkUpdateDescriptorSets takes.
    pub(crate) unsafe fn write(&mut self, writes: &[vk::WriteDescriptorSet<'_>], mut pushed: Option<&mut Bound>) {
        for write in writes {
            let count = write.descriptor_count as usize;
            let own =
                |bytes: Vec<u64>| (write.dst_array_element..).zip(bytes).map(|(at, bytes)| ((write.dst_binding, at), bytes));
            // SAFETY: the caller's promise: which of the arrays is there, the type says.
            let bytes: Vec<u64> = unsafe {
                if is_buffer(write.descriptor_type) {
                    let all = slice::from_raw_parts(write.p_buffer_info, count);
                    all.iter().map(|info| self.range(info.buffer, info.offset, info.range)).collect()
                } else if is_texels(write.descriptor_type) {
                    let all = slice::from_raw_parts(write.p_texel_buffer_view, count);
                    all.iter().map(|view| self.views.get(view).copied().unwrap_or(0)).collect()
                } else {
                    continue;
                }
            };
            match &mut pushed {
                Some(bound) => bound.extend(own(bytes)),
                None => self.sets.entry(write.dst_set).or_default().extend(own(bytes)),
            }
        }
    }

    pub(crate) fn copy(&mut self, copy: &vk::CopyDescriptorSet<'_>) {
        let Some(from) = self.sets.get(&copy.src_set) else { return };
        let at = |element: u32| from.get(&(copy.src_binding, copy.src_array_element + element)).copied();
        let copied: Vec<((u32, u32), u64)> = (0..copy.descriptor_count)
            .filter_map(|element| Some(((copy.dst_binding, copy.dst_array_element + element), at(element)?)))
            .collect();
        self.sets.entry(copy.dst_set).or_default().extend(copied);
    }

    /// Notes what a template writes, into a set, or into `pushed` where that is null.
    ///
    /// # Safety
    /// The data are ones that the template takes.
    pub(crate) unsafe fn write_by_template(
        &mut self,
        set: vk::DescriptorSet,
        template: vk::DescriptorUpdateTemplate,
        data: *const c_void,
        pushed: Option<&mut Bound>,
    ) {
        let mut written = Bound::new();
        for entry in self.templates.get(&template).into_iter().flatten() {
            for element in 0..entry.descriptor_count {
                // SAFETY: the caller's promise; data may lie at any address.
                let bytes = unsafe {
                    let at = data.cast::<u8>().add(entry.offset + element as usize * entry.stride);
                    if is_buffer(entry.descriptor_type) {
                        let info = at.cast::<vk::DescriptorBufferInfo>().read_unaligned();
                        self.range(info.buffer, info.offset, info.range)
                    } else if is_texels(entry.descriptor_type) {
                        self.views.get(&at.cast::<vk::BufferView>().read_unaligned()).copied().unwrap_or(0)
                    } else {
                        continue;
                    }
                };
                written.insert((entry.dst_binding, entry.dst_array_element + element), bytes);
            }
        }
        match pushed {
            Some(bound) => bound.extend(written),
            None => self.sets.entry(set).or_default().extend(written),
        }
    }
}

fn is_buffer(ty: vk::DescriptorType) -> bool {
    use vk::DescriptorType as Type;
    [Type::UNIFORM_BUFFER, Type::STORAGE_BUFFER, Type::UNIFORM_BUFFER_DYNAMIC, Type::STORAGE_BUFFER_DYNAMIC].contains(&ty)
}

fn is_texels(ty: vk::DescriptorType) -> bool {
    [vk::DescriptorType::UNIFORM_TEXEL_BUFFER, vk::DescriptorType::STORAGE_TEXEL_BUFFER].contains(&ty)
}
