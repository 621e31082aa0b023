//! What the user names must be there, and be what it is named as.

use super::buffers::{called, is_meant};
use super::kernel::said;
use super::spec::KernelSpec;
use crate::model::Failure;
use crate::shader::{BindingInfo, BindingKind, BlockInfo};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flag {
    Buffer,
    Image,
    Sampler,
}

impl Flag {
    fn takes(self, kind: BindingKind) -> bool {
        match kind {
            BindingKind::StorageBuffer
            | BindingKind::UniformBuffer
            | BindingKind::UniformTexelBuffer
            | BindingKind::StorageTexelBuffer => self == Self::Buffer,
            BindingKind::SampledImage | BindingKind::StorageImage => self == Self::Image,
            BindingKind::CombinedImageSampler => self != Self::Buffer,
            BindingKind::Sampler => self == Self::Sampler,
            BindingKind::Other => false,
        }
    }

    fn what(self) -> &'static str {
        match self {
            Self::Buffer => "buffer",
            Self::Image => "image",
            Self::Sampler => "sampler",
        }
    }

    fn of(kind: BindingKind) -> Option<Self> {
        [Self::Buffer, Self::Image, Self::Sampler].into_iter().find(|flag| flag.takes(kind))
    }
}

/// A place without the number of one of an array.
pub(super) fn without_element(place: &str) -> (&str, Option<u32>) {
    let split = place.strip_suffix(']').and_then(|rest| rest.rsplit_once('['));
    split.and_then(|(base, element)| Some((base, Some(element.trim().parse().ok()?)))).unwrap_or((place, None))
}

fn is_of(place: &str, info: &BindingInfo, blocks: &[BlockInfo]) -> bool {
    let (base, element) = without_element(place);
    is_meant(place, info, blocks) || (element.is_some_and(|element| element < info.count) && is_meant(base, info, blocks))
}

pub(super) fn check(subject: &KernelSpec, infos: &[BindingInfo], blocks: &[BlockInfo]) -> Result<(), Failure> {
    let buffers = subject.buffers.iter().map(|spec| (Flag::Buffer, spec.place.as_str()));
    let images = subject.images.iter().map(|spec| (Flag::Image, spec.place.as_str()));
    let samplers = subject.samplers.iter().map(|spec| (Flag::Sampler, spec.place.as_str()));
    buffers.chain(images).chain(samplers).try_for_each(|(flag, place)| check_place(flag, place, infos, blocks))?;
    let is_there = |place: &&String| {
        let is_memory = subject.memories.iter().any(|memory| memory.place == **place);
        is_memory || infos.iter().any(|info| is_of(place, info, blocks))
    };
    if let Some(place) = subject
        .checks
        .iter()
        .map(|(place, _)| place)
        .chain(subject.accepted.iter().map(|(_, place)| place))
        .find(|place| !is_there(place))
    {
        let memories = subject.memories.iter().map(|memory| memory.place.clone());
        let names = infos.iter().map(called).chain(memories).collect::<Vec<_>>().join(", ");
        return Err(said(format!(
            "--check, --ignore and --accept: the shader has no buffer or image `{place}`; it has {names}"
        )));
    }
    Ok(())
}

fn names<'i>(infos: impl Iterator<Item = &'i BindingInfo>) -> String {
    infos.map(called).collect::<Vec<_>>().join(", ")
}

fn check_place(flag: Flag, place: &str, infos: &[BindingInfo], blocks: &[BlockInfo]) -> Result<(), Failure> {
    let meant = || infos.iter().filter(|info| is_of(place, info, blocks));
    if meant().any(|info| flag.takes(info.kind)) {
        return Ok(());
    }
    let what = flag.what();
    if let Some((other, info)) = meant().find_map(|info| Some((Flag::of(info.kind)?, info))) {
        let article = if other == Flag::Image { "an" } else { "a" };
        let (other, name) = (other.what(), called(info));
        return Err(said(format!("`{name}` is {article} {other}, and no {what}: --{other} describes it")));
    }
    let those = names(infos.iter().filter(|info| flag.takes(info.kind)));
    let those = if those.is_empty() { "none".to_owned() } else { those };
    Err(said(format!("the shader has no {what} `{place}`; it has {those}")))
}
