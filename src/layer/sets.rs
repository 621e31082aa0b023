//! What descriptor sets bind.

use std::collections::{BTreeMap, HashMap};
use std::ffi::c_void;
use std::slice;
use std::sync::Arc;

use ash::vk;

use super::contents::MemoryPlace;

/// What stands at descriptors, by binding and element.
pub(crate) type Bound = BTreeMap<(u32, u32), Descriptor>;

/// What stands at a descriptor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Descriptor {
    pub(crate) ty: vk::DescriptorType,
    /// Null where it leads to no buffer, or to one through a view.
    pub(crate) buffer: vk::Buffer,
    /// Of that buffer, when it was written here.
    pub(crate) serial: u64,
    pub(crate) offset: u64,
    /// Bytes of a buffer, from there on.
    pub(crate) bytes: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffer {
    pub(crate) bytes: u64,
    pub(crate) usage: vk::BufferUsageFlags,
    /// No other buffer of the device has it.
    pub(crate) serial: u64,
    pub(crate) is_sparse: bool,
    /// The memory that it lies in, and from which byte of that on, once it is bound.
    pub(crate) memory: Option<(vk::DeviceMemory, u64)>,
    pub(crate) place: MemoryPlace,
    /// Where it begins for the device, once the application asked.
    pub(crate) address: Option<u64>,
}

/// What a set's layout says.
#[derive(Debug, Default)]
pub(crate) struct SetLayout {
    /// By binding: the type, and how many descriptors.
    bindings: BTreeMap<u32, (vk::DescriptorType, u32)>,
    /// Whether descriptors may change once a command buffer was recorded.
    pub(crate) is_updated_after_bind: bool,
}

/// A set.
#[derive(Debug, Default)]
pub(crate) struct Set {
    pub(crate) bound: Bound,
    pub(crate) layout: Arc<SetLayout>,
}

/// A device's buffers and sets.
#[derive(Debug, Default)]
pub(crate) struct Sets {
    pub(crate) buffers: HashMap<vk::Buffer, Buffer>,
    serials: u64,
    /// Of each memory that isn't freed, where it is.
    pub(crate) memories: HashMap<vk::DeviceMemory, MemoryPlace>,
    pub(crate) views: HashMap<vk::BufferView, u64>,
    pub(crate) templates: HashMap<vk::DescriptorUpdateTemplate, Vec<vk::DescriptorUpdateTemplateEntry>>,
    /// The sets of a layout.
    pub(crate) layouts: HashMap<vk::PipelineLayout, Vec<Arc<SetLayout>>>,
    pub(crate) set_layouts: HashMap<vk::DescriptorSetLayout, Arc<SetLayout>>,
    sets: HashMap<vk::DescriptorSet, Set>,
    pools: HashMap<vk::DescriptorPool, Vec<vk::DescriptorSet>>,
}

impl SetLayout {
    /// # Safety
    /// The structure is one that vkCreateDescriptorSetLayout takes.
    pub(crate) unsafe fn of(info: &vk::DescriptorSetLayoutCreateInfo<'_>) -> Self {
        let count = info.binding_count as usize;
        // SAFETY: the caller's promise.
        let all = if count == 0 { &[] } else { unsafe { slice::from_raw_parts(info.p_bindings, count) } };
        let is_updated_after_bind = info.flags.contains(vk::DescriptorSetLayoutCreateFlags::UPDATE_AFTER_BIND_POOL);
        let bindings = all.iter().map(|of| (of.binding, (of.descriptor_type, of.descriptor_count))).collect();
        Self { bindings, is_updated_after_bind }
    }

    /// So many descriptors from one on: behind a binding's last comes the first of the next one.
    fn places(&self, (binding, element): (u32, u32), count: u32) -> Vec<(u32, u32)> {
        let of = |binding: u32, count: u32| (0..count).map(move |element| (binding, element));
        let all = self.bindings.range(binding..).flat_map(|(binding, (_, count))| of(*binding, *count));
        let found: Vec<(u32, u32)> = all.skip(element as usize).take(count as usize).collect();
        // Of a layout that isn't known.
        let plain = || (element..).map(|element| (binding, element)).take(count as usize).collect();
        if found.len() == count as usize { found } else { plain() }
    }

    /// The descriptors to which dynamic offsets are added, in the order in which those come.
    fn dynamic(&self) -> impl Iterator<Item = (u32, u32)> {
        let is_dynamic =
            |ty| [vk::DescriptorType::UNIFORM_BUFFER_DYNAMIC, vk::DescriptorType::STORAGE_BUFFER_DYNAMIC].contains(&ty);
        let all = self.bindings.iter().filter(move |(_, (ty, _))| is_dynamic(*ty));
        all.flat_map(|(binding, (_, count))| (0..*count).map(|element| (*binding, element)))
    }
}

impl Set {
    /// What is bound, with as many of the dynamic offsets as it has.
    pub(crate) fn with_offsets(&self, offsets: &mut impl Iterator<Item = u32>) -> Bound {
        let mut bound = self.bound.clone();
        for place in self.layout.dynamic() {
            let offset = offsets.next().unwrap_or(0);
            if let Some(descriptor) = bound.get_mut(&place) {
                descriptor.offset += u64::from(offset);
            }
        }
        bound
    }
}

/// A set of a pipeline's layout that is pushed.
pub(crate) struct Pushed<'b> {
    pub(crate) layout: vk::PipelineLayout,
    pub(crate) set: u32,
    pub(crate) bound: &'b mut Bound,
}

impl Sets {
    fn pushed_layout(&self, layout: vk::PipelineLayout, set: u32) -> Arc<SetLayout> {
        self.layouts.get(&layout).and_then(|all| all.get(set as usize)).map(Arc::clone).unwrap_or_default()
    }

    fn layout_of(&self, set: vk::DescriptorSet) -> Arc<SetLayout> {
        self.sets.get(&set).map(|set| Arc::clone(&set.layout)).unwrap_or_default()
    }

    pub(crate) fn allocated(
        &mut self,
        pool: vk::DescriptorPool,
        sets: &[vk::DescriptorSet],
        layouts: &[vk::DescriptorSetLayout],
    ) {
        self.pools.entry(pool).or_default().extend(sets);
        for (set, layout) in sets.iter().zip(layouts) {
            let layout = self.set_layouts.get(layout).map(Arc::clone).unwrap_or_default();
            // A handle may be one that was used before.
            self.sets.insert(*set, Set { bound: Bound::new(), layout });
        }
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

    pub(crate) fn add_buffer(&mut self, buffer: vk::Buffer, info: &vk::BufferCreateInfo<'_>) {
        self.serials += 1;
        let is_sparse = info.flags.contains(vk::BufferCreateFlags::SPARSE_BINDING);
        let (bytes, usage, serial) = (info.size, info.usage, self.serials);
        let (memory, place, address) = (None, MemoryPlace::Device, None);
        self.buffers.insert(buffer, Buffer { bytes, usage, serial, is_sparse, memory, place, address });
    }

    pub(crate) fn bind_memory(&mut self, buffer: vk::Buffer, memory: vk::DeviceMemory, offset: u64) {
        let place = self.memories.get(&memory).copied().unwrap_or_default();
        if let Some(own) = self.buffers.get_mut(&buffer) {
            (own.memory, own.place) = (Some((memory, offset)), place);
        }
    }

    pub(crate) fn set(&self, set: vk::DescriptorSet) -> Option<&Set> {
        self.sets.get(&set)
    }

    /// Bytes that a set binds.
    pub(crate) fn bytes(&self, set: vk::DescriptorSet) -> u64 {
        self.sets.get(&set).map_or(0, |set| bytes(&set.bound))
    }

    pub(crate) fn range(&self, buffer: vk::Buffer, offset: u64, range: u64) -> u64 {
        let rest = || self.buffers.get(&buffer).map_or(0, |buffer| buffer.bytes.saturating_sub(offset));
        if range == vk::WHOLE_SIZE { rest() } else { range }
    }

    /// # Safety
    /// What is given is there, of which the type says what it is.
    unsafe fn descriptor(&self, ty: vk::DescriptorType, at: *const c_void) -> Descriptor {
        let other = Descriptor { ty, buffer: vk::Buffer::null(), serial: 0, offset: 0, bytes: 0 };
        // SAFETY: the caller's promise; data of templates may lie at any address.
        unsafe {
            if is_buffer(ty) {
                let vk::DescriptorBufferInfo { buffer, offset, range } = at.cast::<vk::DescriptorBufferInfo>().read_unaligned();
                let serial = self.buffers.get(&buffer).map_or(0, |buffer| buffer.serial);
                Descriptor { ty, buffer, serial, offset, bytes: self.range(buffer, offset, range) }
            } else if is_texels(ty) {
                let view = at.cast::<vk::BufferView>().read_unaligned();
                Descriptor { bytes: self.views.get(&view).copied().unwrap_or(0), ..other }
            } else {
                other
            }
        }
    }

    /// Notes writes, into their sets or into one that is pushed.
    ///
    /// # Safety
    /// The writes are ones that vkUpdateDescriptorSets takes.
    pub(crate) unsafe fn write(&mut self, writes: &[vk::WriteDescriptorSet<'_>], mut pushed: Option<Pushed<'_>>) {
        for write in writes {
            let layout = match &pushed {
                Some(pushed) => self.pushed_layout(pushed.layout, pushed.set),
                None => self.layout_of(write.dst_set),
            };
            let (ty, at) = (write.descriptor_type, write.dst_array_element);
            // What a block holds counts in bytes, and is in the chain.
            let count = if ty == vk::DescriptorType::INLINE_UNIFORM_BLOCK { 1 } else { write.descriptor_count };
            // SAFETY: the caller's promise: which of the arrays is there, the type says.
            let all = (0..count as usize).map(|i| unsafe {
                if is_buffer(ty) {
                    self.descriptor(ty, write.p_buffer_info.add(i).cast())
                } else if is_texels(ty) {
                    self.descriptor(ty, write.p_texel_buffer_view.add(i).cast())
                } else {
                    self.descriptor(ty, std::ptr::null())
                }
            });
            let written: Vec<_> = layout.places((write.dst_binding, at), count).into_iter().zip(all).collect();
            match &mut pushed {
                Some(pushed) => pushed.bound.extend(written),
                None => self.sets.entry(write.dst_set).or_default().bound.extend(written),
            }
        }
    }

    pub(crate) fn copy(&mut self, copy: &vk::CopyDescriptorSet<'_>) {
        let Some(from) = self.sets.get(&copy.src_set) else { return };
        let sources = from.layout.places((copy.src_binding, copy.src_array_element), copy.descriptor_count);
        let copied: Vec<Option<Descriptor>> = sources.iter().map(|place| from.bound.get(place).copied()).collect();
        let targets = self.layout_of(copy.dst_set).places((copy.dst_binding, copy.dst_array_element), copy.descriptor_count);
        let bound = &mut self.sets.entry(copy.dst_set).or_default().bound;
        for (place, descriptor) in targets.into_iter().zip(copied) {
            match descriptor {
                Some(descriptor) => drop(bound.insert(place, descriptor)),
                None => drop(bound.remove(&place)),
            }
        }
    }

    /// Notes what a template writes, into a set, or into one that is pushed.
    ///
    /// # Safety
    /// The data are ones that the template takes.
    pub(crate) unsafe fn write_by_template(
        &mut self,
        set: vk::DescriptorSet,
        template: vk::DescriptorUpdateTemplate,
        data: *const c_void,
        pushed: Option<Pushed<'_>>,
    ) {
        let layout = match &pushed {
            Some(pushed) => self.pushed_layout(pushed.layout, pushed.set),
            None => self.layout_of(set),
        };
        let mut written = Bound::new();
        for entry in self.templates.get(&template).into_iter().flatten() {
            let is_block = entry.descriptor_type == vk::DescriptorType::INLINE_UNIFORM_BLOCK;
            let count = if is_block { 1 } else { entry.descriptor_count };
            let places = layout.places((entry.dst_binding, entry.dst_array_element), count);
            for (element, place) in places.into_iter().enumerate() {
                // SAFETY: the caller's promise.
                let descriptor = unsafe {
                    let at = data.cast::<u8>().add(entry.offset + element * entry.stride);
                    self.descriptor(entry.descriptor_type, at.cast())
                };
                written.insert(place, descriptor);
            }
        }
        match pushed {
            Some(pushed) => pushed.bound.extend(written),
            None => self.sets.entry(set).or_default().bound.extend(written),
        }
    }
}

/// Bytes of all buffers.
pub(crate) fn bytes(bound: &Bound) -> u64 {
    bound.values().map(|descriptor| descriptor.bytes).sum()
}

pub(crate) fn is_buffer(ty: vk::DescriptorType) -> bool {
    use vk::DescriptorType as Type;
    [Type::UNIFORM_BUFFER, Type::STORAGE_BUFFER, Type::UNIFORM_BUFFER_DYNAMIC, Type::STORAGE_BUFFER_DYNAMIC].contains(&ty)
}

fn is_texels(ty: vk::DescriptorType) -> bool {
    [vk::DescriptorType::UNIFORM_TEXEL_BUFFER, vk::DescriptorType::STORAGE_TEXEL_BUFFER].contains(&ty)
}
