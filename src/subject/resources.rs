//! What a configuration's kernel binds, with what brings it to a known state before each checked pass.

use std::borrow::Cow;

use super::addresses::Addresses;
use super::buffers::{self, called, is_meant_at};
use super::compare::Comparison;
use super::fill::Fill;
use super::images;
use super::kernel::{said, skipped};
use super::memories::Memory;
use super::samplers;
use super::sized::{Layout, Sized};
use super::spec::{BufferSpec, KernelSpec, Within};
use super::variables::Variables;
use crate::model::{Binding, Contents, Failure, POISON, Resource, ResourceKind, Step};
use crate::shader::{Access, BindingInfo, BindingKind, BlockInfo, Reflection, SpecValues};

/// What the resource of a memory is called, in front of the memory's own name.
pub const MEMORY_PREFIX: &str = "memory ";

/// Descriptors of a case: more would only be what somebody wrote down to see what happens.
const MOST: u64 = 4096;

pub(super) struct World<'w> {
    pub(super) subject: &'w KernelSpec,
    pub(super) blocks: &'w [BlockInfo],
    pub(super) variables: &'w Variables,
    pub(super) directions: [bool; 3],
    pub(super) reflection: &'w Reflection,
    pub(super) values: &'w SpecValues,
}

#[derive(Default)]
pub(super) struct Bound {
    pub(super) resources: Vec<Resource>,
    pub(super) bindings: Vec<Binding>,
    pub(super) outputs: Vec<Output>,
    pub(super) unfilled: Vec<Unfilled>,
    pub(super) has_outputs: bool,
    pub(super) reads_own: bool,
    pub(super) addresses: Addresses,
    memories: Vec<Memory>,
    fills: Vec<Step>,
    copies: Vec<Step>,
}

pub(super) struct Output {
    pub(super) resource: usize,
    pub(super) name: String,
    /// Its set and binding, and which one it is there; nothing of memory that is reached by its address.
    pub(super) place: Option<(u32, u32, u32)>,
    pub(super) comparison: Comparison,
    pub(super) sized: Sized,
    /// The memory that it lies in, from which byte of that on, and how many that has.
    pub(super) within: Option<(String, u64, u64)>,
}

/// A resource that is yet to be filled: as large cases as anybody can write down are looked at before they take memory.
pub(super) struct Unfilled {
    pub(super) resource: usize,
    pub(super) of: Filled,
    pub(super) sized: Sized,
}

/// What is filled.
#[derive(Clone)]
pub(super) enum Filled {
    /// The resource of one descriptor.
    Descriptor(BindingInfo, u32),
    /// Memory of this name.
    Memory(String),
}

impl Output {
    /// The bytes of the memory that it lies in.
    pub(super) fn part(&self) -> Option<std::ops::Range<usize>> {
        let (_, start, _) = self.within.as_ref()?;
        Some(usize::try_from(*start).ok()?..usize::try_from(start + self.sized.bytes()).ok()?)
    }
}

impl Bound {
    /// The resources of bindings, of which `used` says what functions do with them.
    pub(super) fn of(infos: &[BindingInfo], used: &[BindingInfo], world: &World<'_>) -> Result<Self, Failure> {
        let mut bound = Self::default();
        let count: u64 = infos.iter().map(|info| u64::from(info.count)).sum();
        if count > MOST {
            return Err(skipped(format!("the shader has {count} descriptors: at most {MOST} are supported so far")));
        }
        for (info, used) in infos.iter().zip(used) {
            if info.count == 0 {
                let what = "is an array of descriptors without a length: that isn't supported so far";
                return Err(said(format!("binding `{}` {what}", called(info))));
            }
            for element in 0..info.count {
                bound.add((info, element), used.access, infos, world)?;
            }
        }
        bound.add_addresses(world)?;
        Ok(bound)
    }

    /// The resource of memory, and how many bytes that has.
    pub(super) fn memory(&mut self, name: &str, world: &World<'_>) -> Result<(usize, u64), Failure> {
        let place = self.memory_place(name, world)?;
        let Memory { resource, sized, .. } = &self.memories[place];
        Ok((*resource, sized.bytes()))
    }

    /// Whether the user says what a resource of buffers or memory holds, so that addresses in it are what they say, or null.
    pub(super) fn is_filled(&self, resource: usize, world: &World<'_>) -> bool {
        let is_known = |fill: Option<&Fill>| matches!(fill, Some(Fill::File(_) | Fill::Zero));
        let memory = self.memories.iter().find(|memory| memory.resource == resource);
        if let Some(memory) = memory {
            return is_known(Filled::Memory(memory.name.clone()).fill(world.subject, world.blocks));
        }
        let unfilled = self.unfilled.iter().find(|unfilled| unfilled.resource == resource);
        unfilled.is_none_or(|unfilled| is_known(unfilled.of.fill(world.subject, world.blocks)))
    }

    fn memory_place(&mut self, name: &str, world: &World<'_>) -> Result<usize, Failure> {
        if let Some(place) = self.memories.iter().position(|memory| memory.name == name) {
            return Ok(place);
        }
        let memory = Memory::of(name, self.resources.len(), world)?;
        self.push(format!("{MEMORY_PREFIX}{}", memory.name), memory.sized.kind);
        self.memories.push(memory);
        Ok(self.memories.len() - 1)
    }

    /// What is reached by addresses, and all memory, whose uses are known then.
    fn add_addresses(&mut self, world: &World<'_>) -> Result<(), Failure> {
        let mut addresses = Addresses::of(world, self)?;
        for (resource, access) in &addresses.accesses {
            self.add_by_address(*resource, *access, world);
        }
        for memory in std::mem::take(&mut self.memories) {
            let holds_addresses = addresses.held.iter().any(|held| held.holder == memory.resource);
            self.add_memory(memory, holds_addresses, world);
        }
        for held in &mut addresses.held {
            let is_filled = |step: &Step| matches!(step, Step::Fill { resource, .. } if *resource == held.holder);
            if self.fills.iter().any(is_filled) {
                let name = &self.resources[held.holder].name;
                return Err(said(format!("{name} can't hold addresses and be filled with one word: --memory is needed")));
            }
            let before = self.copies.iter().find_map(|step| match step {
                Step::Copy { from, to } if *to == held.holder => Some(*from),
                _ => None,
            });
            held.holder = before.unwrap_or(held.holder);
        }
        self.addresses = addresses;
        Ok(())
    }

    fn add_by_address(&mut self, resource: usize, access: Access, world: &World<'_>) {
        let Some(memory) = self.memories.iter_mut().find(|memory| memory.resource == resource) else { return };
        let (sized, name, whole) = (memory.sized.clone(), memory.name.clone(), 0..memory.sized.bytes());
        if access != Access::WriteOnly {
            memory.reads.push(whole.clone());
        }
        if access != Access::ReadOnly {
            memory.writes.push(whole.clone());
            let within = Some((name.clone(), 0, whole.end));
            self.has_outputs = true;
            let check = world.subject.checks.iter().rfind(|(place, _)| *place == name);
            let comparison = check.map_or(Comparison::Elements, |(_, how)| *how);
            if comparison != Comparison::None {
                self.outputs.push(Output { resource, name, place: None, comparison, sized, within });
            }
        }
    }

    /// A range of memory. What that holds is said once all of them are known.
    fn add_within(
        &mut self,
        (info, element): (&BindingInfo, u32),
        access: Access,
        within: &Within,
        world: &World<'_>,
    ) -> Result<(), Failure> {
        let name = element_name(info, element);
        let place = self.memory_place(&within.memory, world)?;
        let (of, range) = (self.memories[place].resource, self.memories[place].range(within, &name, world.variables)?);
        let spec = buffer_spec(info, element, world);
        let sized = buffers::sized_within(info, world.blocks, spec, of, range.clone())?;
        let resource = self.resource(info, element, "", sized.kind);
        self.bind(info, element, resource, None);
        let memory = &mut self.memories[place];
        if access != Access::WriteOnly {
            memory.reads.push(range.clone());
        }
        if access != Access::ReadOnly {
            memory.writes.push(range.clone());
            let within = Some((within.memory.clone(), range.start, memory.sized.bytes()));
            self.add_output((info, element), resource, sized, within, world);
        }
        Ok(())
    }

    fn add_memory(&mut self, memory: Memory, holds_addresses: bool, world: &World<'_>) {
        self.reads_own |= memory.reads_own();
        let Memory { name, resource, sized, reads, writes } = memory;
        let of = Filled::Memory(name);
        if writes.is_empty() {
            self.unfilled.push(Unfilled { resource, of, sized });
            return;
        }
        let fill = of.fill(world.subject, world.blocks);
        if holds_addresses {
            self.restore_by_copy(resource, None, of, sized);
        } else {
            self.restore(resource, of, sized, fill, reads.is_empty());
        }
    }

    fn add_output(
        &mut self,
        (info, element): (&BindingInfo, u32),
        resource: usize,
        sized: Sized,
        within: Option<(String, u64, u64)>,
        world: &World<'_>,
    ) {
        let check = world.subject.checks.iter().rfind(|(place, _)| is_meant_at(place, info, element, world.blocks));
        let comparison = check.map_or(Comparison::Elements, |(_, how)| *how);
        self.has_outputs = true;
        if comparison != Comparison::None {
            let (name, place) = (element_name(info, element), Some((info.set, info.binding, element)));
            self.outputs.push(Output { resource, name, place, comparison, sized, within });
        }
    }

    /// Brings what a pass writes to what it holds before.
    fn restore(&mut self, resource: usize, of: Filled, sized: Sized, fill: Option<&Fill>, is_written_alone: bool) {
        let word = match fill {
            // What nobody reads, and the user doesn't ask for, is to be no result.
            None if is_written_alone => Some(POISON),
            Some(Fill::Zero) => Some(0),
            _ => None,
        };
        match word {
            Some(word) if sized.is_buffer() => self.fills.push(Step::Fill { resource, word }),
            word => self.restore_by_copy(resource, word, of, sized),
        }
    }

    fn restore_by_copy(&mut self, resource: usize, word: Option<u32>, of: Filled, sized: Sized) {
        let before = self.push(format!("{}, before", self.resources[resource].name), sized.beside());
        match word {
            Some(word) => self.fills.push(Step::Fill { resource: before, word }),
            None => self.unfilled.push(Unfilled { resource: before, of, sized }),
        }
        self.copies.push(Step::Copy { from: before, to: resource });
    }

    fn add(
        &mut self,
        (info, element): (&BindingInfo, u32),
        access: Access,
        infos: &[BindingInfo],
        world: &World<'_>,
    ) -> Result<(), Failure> {
        let sampler = match info.kind {
            BindingKind::Sampler | BindingKind::CombinedImageSampler => {
                let specs = &world.subject.samplers;
                let spec = specs.iter().rfind(|spec| is_meant_at(&spec.place, info, element, world.blocks));
                let kind = ResourceKind::Sampler(samplers::sampling(info, spec, infos)?);
                let what = if info.kind == BindingKind::Sampler { "" } else { ", sampler" };
                Some(self.resource(info, element, what, kind))
            }
            _ => None,
        };
        if info.kind == BindingKind::Sampler {
            self.bind(info, element, sampler.unwrap_or_default(), None);
            return Ok(());
        }
        if let Some(within) = buffer_spec(info, element, world).and_then(|spec| spec.within.as_ref()) {
            return self.add_within((info, element), access, within, world);
        }
        let (sized, fill) = sized(info, element, world)?;
        let resource = self.resource(info, element, "", sized.kind);
        self.bind(info, element, resource, sampler);
        let of = Filled::Descriptor(info.clone(), element);
        if access == Access::ReadOnly {
            self.unfilled.push(Unfilled { resource, of, sized });
            return Ok(());
        }
        self.reads_own |= access == Access::ReadWrite;
        self.add_output((info, element), resource, sized.clone(), None, world);
        self.restore(resource, of, sized, fill, access == Access::WriteOnly);
        Ok(())
    }

    fn resource(&mut self, info: &BindingInfo, element: u32, what: &str, kind: ResourceKind) -> usize {
        self.push(format!("{} ({}:{}){what}", element_name(info, element), info.set, info.binding), kind)
    }

    fn push(&mut self, name: String, kind: ResourceKind) -> usize {
        self.resources.push(Resource { name: Cow::Owned(name), kind, contents: Contents::Undefined });
        self.resources.len() - 1
    }

    fn bind(&mut self, info: &BindingInfo, element: u32, resource: usize, sampler: Option<usize>) {
        self.bindings.push(Binding { set: info.set, binding: info.binding, element, resource, sampler });
    }

    pub(super) fn reset(&self) -> Vec<Step> {
        let copied = |step: &Step| match step {
            Step::Fill { resource, .. } => {
                self.copies.iter().any(|copy| matches!(copy, Step::Copy { from, .. } if from == resource))
            }
            _ => false,
        };
        // What is copied has to be there.
        let barrier = self.fills.iter().any(copied).then_some(Step::Barrier);
        self.fills.iter().cloned().chain(barrier).chain(self.copies.iter().cloned()).collect()
    }
}

pub(super) fn element_name(info: &BindingInfo, element: u32) -> String {
    if info.count == 1 { called(info) } else { format!("{}[{element}]", called(info)) }
}

/// What the user says of a buffer. The last one wins: the command line's stand behind the manifest's.
fn buffer_spec<'w>(info: &BindingInfo, element: u32, world: &World<'w>) -> Option<&'w BufferSpec> {
    world.subject.buffers.iter().rfind(|spec| is_meant_at(&spec.place, info, element, world.blocks))
}

fn sized<'w>(info: &BindingInfo, element: u32, world: &World<'w>) -> Result<(Sized, Option<&'w Fill>), Failure> {
    let images = &world.subject.images;
    let buffer = buffer_spec(info, element, world);
    let image = images.iter().rfind(|spec| is_meant_at(&spec.place, info, element, world.blocks));
    match info.kind {
        BindingKind::StorageBuffer | BindingKind::UniformBuffer => {
            let sized = buffers::sized(info, world.blocks, buffer, world.variables)?;
            Ok((sized, buffer.and_then(|spec| spec.fill.as_ref())))
        }
        BindingKind::UniformTexelBuffer | BindingKind::StorageTexelBuffer => {
            Ok((images::sized_buffer(info, buffer, world)?, buffer.and_then(|spec| spec.fill.as_ref())))
        }
        BindingKind::SampledImage | BindingKind::StorageImage | BindingKind::CombinedImageSampler => {
            Ok((images::sized(info, image, world)?, image.and_then(|spec| spec.fill.as_ref())))
        }
        BindingKind::Sampler | BindingKind::Other => {
            let what = "is of a kind of descriptor that Lanescope doesn't know";
            Err(said(format!("binding `{}` {what}", called(info))))
        }
    }
}

impl Filled {
    /// What the user says of it.
    pub(super) fn fill<'s>(&self, subject: &'s KernelSpec, blocks: &[BlockInfo]) -> Option<&'s Fill> {
        let KernelSpec { buffers, images, memories, .. } = subject;
        match self {
            Self::Memory(name) => memories.iter().rfind(|spec| spec.place == *name)?.fill.as_ref(),
            Self::Descriptor(info, element) => {
                let is_meant = |place: &str| is_meant_at(place, info, *element, blocks);
                match info.kind {
                    BindingKind::SampledImage | BindingKind::StorageImage | BindingKind::CombinedImageSampler => {
                        images.iter().rfind(|spec| is_meant(&spec.place))?.fill.as_ref()
                    }
                    _ => buffers.iter().rfind(|spec| is_meant(&spec.place))?.fill.as_ref(),
                }
            }
        }
    }

    /// Its set and binding, and which one it is there.
    pub(super) fn place(&self) -> Option<(u32, u32, u32)> {
        match self {
            Self::Descriptor(info, element) => Some((info.set, info.binding, *element)),
            Self::Memory(_) => None,
        }
    }

    /// What no two of a kernel have in common.
    pub(super) fn key(&self) -> String {
        match self {
            Self::Descriptor(info, element) => format!("{}:{}[{element}]", info.set, info.binding),
            Self::Memory(name) => format!("@{name}"),
        }
    }

    fn called(&self) -> String {
        match self {
            Self::Descriptor(info, element) => element_name(info, *element),
            Self::Memory(name) => name.clone(),
        }
    }

    /// The seed of its random contents.
    fn seed(&self, seed: u64) -> u64 {
        match self {
            Self::Descriptor(info, element) => {
                let place =
                    u64::from(info.binding).wrapping_mul(0x9E37_79B9) ^ u64::from(*element).wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
                seed ^ (u64::from(info.set) << 32) ^ place
            }
            Self::Memory(name) => name.bytes().fold(seed, |seed, byte| seed.rotate_left(8) ^ u64::from(byte)),
        }
    }
}

impl Unfilled {
    pub(super) fn bytes(&self, fill: &Fill, seed: u64) -> Result<Vec<u8>, Failure> {
        let Self { of, sized, .. } = self;
        let seed = of.seed(seed);
        let (what, filled) = match &sized.layout {
            Layout::MemberBlock(layout) => ("buffer", fill.bytes(layout, sized.bytes(), sized.elements, seed)),
            Layout::Texels(texels) if sized.is_buffer() => ("texel buffer", texels.filled(fill, seed)),
            Layout::Texels(texels) => ("image", texels.filled(fill, seed)),
        };
        let what = if matches!(of, Filled::Memory(_)) { "memory" } else { what };
        filled.map_err(|skip| said(format!("{what} `{}`: {}", of.called(), skip.reason)))
    }
}
