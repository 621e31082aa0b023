//! What a configuration's kernel binds, with what brings it to a known state before each checked pass.

use std::borrow::Cow;

use super::buffers::{self, called, is_meant_at};
use super::compare::Comparison;
use super::fill::Fill;
use super::images;
use super::kernel::{said, skipped};
use super::samplers;
use super::sized::{Layout, Sized};
use super::spec::KernelSpec;
use super::variables::Variables;
use crate::model::{Binding, Contents, Failure, POISON, Resource, ResourceKind, Step};
use crate::shader::{Access, BindingInfo, BindingKind, BlockInfo};

/// Descriptors of a case: more would only be what somebody wrote down to see what happens.
const MOST: u64 = 4096;

pub(super) struct World<'w> {
    pub(super) subject: &'w KernelSpec,
    pub(super) blocks: &'w [BlockInfo],
    pub(super) variables: &'w Variables,
    pub(super) directions: [bool; 3],
}

#[derive(Default)]
pub(super) struct Bound {
    pub(super) resources: Vec<Resource>,
    pub(super) bindings: Vec<Binding>,
    pub(super) outputs: Vec<Output>,
    pub(super) unfilled: Vec<Unfilled>,
    pub(super) has_outputs: bool,
    pub(super) reads_own: bool,
    fills: Vec<Step>,
    copies: Vec<Step>,
}

pub(super) struct Output {
    pub(super) resource: usize,
    pub(super) name: String,
    /// Its set and binding, and which one it is there.
    pub(super) place: (u32, u32, u32),
    pub(super) comparison: Comparison,
    pub(super) sized: Sized,
}

/// A resource that is yet to be filled: as large cases as anybody can write down are looked at before they take memory.
pub(super) struct Unfilled {
    pub(super) resource: usize,
    pub(super) info: BindingInfo,
    pub(super) element: u32,
    pub(super) sized: Sized,
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
        Ok(bound)
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
        let (sized, fill) = sized(info, element, world)?;
        let resource = self.resource(info, element, "", sized.kind);
        self.bind(info, element, resource, sampler);
        if access == Access::ReadOnly {
            self.unfilled.push(Unfilled { resource, info: info.clone(), element, sized });
            return Ok(());
        }
        self.reads_own |= access == Access::ReadWrite;
        let check = world.subject.checks.iter().rfind(|(place, _)| is_meant_at(place, info, element, world.blocks));
        let comparison = check.map_or(Comparison::Elements, |(_, how)| *how);
        self.has_outputs = true;
        if comparison != Comparison::None {
            let (name, place) = (element_name(info, element), (info.set, info.binding, element));
            self.outputs.push(Output { resource, name, place, comparison, sized: sized.clone() });
        }
        let word = match (fill, access) {
            // What nobody reads, and the user doesn't ask for, is to be no result.
            (None, Access::WriteOnly) => Some(POISON),
            (Some(Fill::Zero), _) => Some(0),
            _ => None,
        };
        match word {
            Some(word) if sized.is_buffer() => self.fills.push(Step::Fill { resource, word }),
            word => {
                let before = self.resource(info, element, ", before", sized.beside());
                match word {
                    Some(word) => self.fills.push(Step::Fill { resource: before, word }),
                    None => self.unfilled.push(Unfilled { resource: before, info: info.clone(), element, sized }),
                }
                self.copies.push(Step::Copy { from: before, to: resource });
            }
        }
        Ok(())
    }

    fn resource(&mut self, info: &BindingInfo, element: u32, what: &str, kind: ResourceKind) -> usize {
        let name = format!("{} ({}:{}){what}", element_name(info, element), info.set, info.binding);
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

fn sized<'w>(info: &BindingInfo, element: u32, world: &World<'w>) -> Result<(Sized, Option<&'w Fill>), Failure> {
    let KernelSpec { buffers, images, .. } = world.subject;
    // The last one wins: the command line's stand behind the manifest's.
    let buffer = buffers.iter().rfind(|spec| is_meant_at(&spec.place, info, element, world.blocks));
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

impl Unfilled {
    pub(super) fn fill<'s>(&self, subject: &'s KernelSpec, blocks: &[BlockInfo]) -> Option<&'s Fill> {
        let is_meant = |place: &str| is_meant_at(place, &self.info, self.element, blocks);
        match self.sized.kind {
            ResourceKind::Image { .. } => subject.images.iter().rfind(|spec| is_meant(&spec.place))?.fill.as_ref(),
            _ => subject.buffers.iter().rfind(|spec| is_meant(&spec.place))?.fill.as_ref(),
        }
    }

    pub(super) fn bytes(&self, fill: &Fill, seed: u64) -> Result<Vec<u8>, Failure> {
        let Self { info, element, sized, .. } = self;
        let place = u64::from(info.binding).wrapping_mul(0x9E37_79B9) ^ u64::from(*element).wrapping_mul(0xC2B2_AE3D_27D4_EB4F);
        let seed = seed ^ (u64::from(info.set) << 32) ^ place;
        let (what, filled) = match &sized.layout {
            Layout::MemberBlock(layout) => ("buffer", fill.bytes(layout, sized.bytes(), sized.elements, seed)),
            Layout::Texels(texels) if sized.is_buffer() => ("texel buffer", texels.filled(fill, seed)),
            Layout::Texels(texels) => ("image", texels.filled(fill, seed)),
        };
        filled.map_err(|skip| said(format!("{what} `{}`: {}", element_name(info, *element), skip.reason)))
    }
}
