//! The user's buffers: how large they are, and what they hold.

use std::ops::Range;

use super::fill::{Fill, is_compressed};
use super::names::without_element;
use super::sized::{Layout, Sized};
use super::spec::BufferSpec;
use super::{scalars, variables::Variables};
use crate::model::{Failure, FilePath, MemoryKind, ResourceKind, Shown};
use crate::regular::{self, DATA};
use crate::shader::{BindingInfo, BindingKind, BlockInfo, ScalarType};

use super::kernel::{said, skipped};

/// What a user may call a binding: by the names that the shader has for it, its members included, which a block without a name makes
/// global; or by its numbers.
pub(super) fn is_meant(place: &str, info: &BindingInfo, blocks: &[BlockInfo]) -> bool {
    let has_name = |block: &BlockInfo| block.name == place || block.layout.members.iter().any(|member| member.name == place);
    place == info.name
        || at(info, blocks).any(has_name)
        || (info.set == 0 && place.parse() == Ok(info.binding))
        || place
            .split_once(':')
            .is_some_and(|(set, binding)| (set.parse(), binding.parse()) == (Ok(info.set), Ok(info.binding)))
}

/// The same of one resource of a binding, which may have its number in brackets behind what all of them are called.
pub(super) fn is_meant_at(place: &str, info: &BindingInfo, element: u32, blocks: &[BlockInfo]) -> bool {
    let (base, asked) = without_element(place);
    is_meant(place, info, blocks) || (asked == Some(element) && is_meant(base, info, blocks))
}

/// How a binding is called in messages and rows.
pub(super) fn called(info: &BindingInfo) -> String {
    match (info.name.as_str(), info.set) {
        ("", 0) => info.binding.to_string(),
        ("", set) => format!("{set}:{}", info.binding),
        (name, _) => name.to_owned(),
    }
}

/// The blocks of a binding: several where the shader declares it several times, to see its bytes as other types.
fn at<'b>(info: &BindingInfo, blocks: &'b [BlockInfo]) -> impl Iterator<Item = &'b BlockInfo> + use<'b> {
    let place = info.block_place();
    blocks.iter().filter(move |block| Some(block.place) == place)
}

/// The block of a binding; of several the one that sees most of it.
fn block<'b>(info: &BindingInfo, blocks: &'b [BlockInfo]) -> Option<&'b BlockInfo> {
    at(info, blocks).max_by_key(|block| (block.runtime_stride(), block.layout.bytes))
}

pub(super) fn sized(
    info: &BindingInfo,
    blocks: &[BlockInfo],
    spec: Option<&BufferSpec>,
    variables: &Variables,
) -> Result<Sized, Failure> {
    let name = called(info);
    // As large as each of its declarations asks for.
    let least = at(info, blocks).map(|block| block.layout.bytes).max().unwrap_or(0);
    let block = block(info, blocks).ok_or_else(|| said(format!("binding `{name}` is no buffer")))?;
    let count = spec.and_then(|spec| spec.count.as_deref());
    let asked = count.map(|count| variables.integer(count, &format!("the count of buffer `{name}`"))).transpose()?;
    let held = spec.filter(|_| asked.is_none()).and_then(|spec| spec.fill.as_ref()?.file()).map(file_bytes).transpose()?;
    let elements = asked.or_else(|| held.map(|held| counted(held, block, spec))).unwrap_or(variables.n);
    let has_elements = block.runtime_stride().is_some() || spec.is_some_and(|spec| spec.ty.is_some());
    if elements == 0 && has_elements {
        return Err(skipped(format!("buffer `{name}` would have no elements")));
    }
    let too_large =
        || skipped(format!("buffer `{name}` would have {elements} elements: more bytes than there are numbers for"));
    match spec.and_then(|spec| spec.ty.as_deref()) {
        Some(ty) => {
            let (scalar, components) = element(ty).ok_or_else(|| no_type(ty, &name))?;
            let element = scalar.bytes() * components;
            let bytes = elements.checked_mul(element).ok_or_else(too_large)?.max(least);
            // A uniform block keeps its members: they are given by name.
            let is_block = info.kind == BindingKind::UniformBuffer && spec.is_some_and(|spec| spec.fill.is_none());
            let layout = if is_block { block.layout.clone() } else { scalars::plain(scalar) };
            Ok(Sized::buffer(layout, whole_words(bytes).ok_or_else(too_large)?, elements))
        }
        None if block.runtime_stride().is_none() => {
            if asked.is_some() {
                return Err(said(format!("buffer `{name}` has the size that the shader declares: it takes no count")));
            }
            let bytes = whole_words(block.layout.bytes).ok_or_else(too_large)?;
            Ok(Sized::buffer(block.layout.clone(), bytes, bytes / 4))
        }
        None => {
            let bytes = block.bytes_with(elements).map(|bytes| bytes.max(least)).and_then(whole_words).ok_or_else(too_large)?;
            Ok(Sized::buffer(block.layout.clone(), bytes, elements))
        }
    }
}

/// A range of memory, by the buffer of the case that this is.
pub(super) fn sized_within(
    info: &BindingInfo,
    blocks: &[BlockInfo],
    spec: Option<&BufferSpec>,
    of: usize,
    range: Range<u64>,
) -> Result<Sized, Failure> {
    let name = called(info);
    let block = block(info, blocks)
        .ok_or_else(|| said(format!("binding `{name}` is no buffer, which alone can be a range of memory")))?;
    let layout = match spec.and_then(|spec| spec.ty.as_deref()) {
        Some(ty) => scalars::plain(element(ty).ok_or_else(|| no_type(ty, &name))?.0),
        None => block.layout.clone(),
    };
    let bytes = range.end - range.start;
    let stride = block.runtime_stride().unwrap_or(4).max(1);
    let kind = ResourceKind::Range { of, offset: range.start, bytes };
    Ok(Sized { kind, layout: Layout::MemberBlock(layout), elements: bytes / u64::from(stride) })
}

/// Memory that several buffers lie in: its numbers are of one type, which is `uint` where nothing is said. It is the device's own, or the
/// host's where the type says so.
pub(super) fn sized_memory(spec: &BufferSpec, variables: &Variables) -> Result<Sized, Failure> {
    let (name, words) = (&spec.place, spec.ty.as_deref().unwrap_or("uint"));
    let (memory, ty) = match words.split_once(' ') {
        Some(("host", ty)) => (MemoryKind::HostVisible, ty.trim()),
        Some(("cached", ty)) => (MemoryKind::HostCached, ty.trim()),
        _ => (MemoryKind::DeviceLocal, words),
    };
    let (scalar, components) = element(ty).ok_or_else(|| no_type(ty, name))?;
    let width = scalar.bytes() * components;
    let elements = match (&spec.count, spec.fill.as_ref().and_then(Fill::file)) {
        (Some(count), _) => variables.integer(count, &format!("the count of memory `{name}`"))?,
        (None, Some(path)) => file_bytes(path)?.div_ceil(width),
        (None, None) => return Err(said(format!("memory `{name}` has no count: --memory {name}={ty}[COUNT] says it"))),
    };
    let bytes = elements.checked_mul(width).filter(|bytes| *bytes > 0).and_then(whole_words);
    let bytes = bytes.ok_or_else(|| skipped(format!("memory `{name}` can't have {elements} elements")))?;
    Ok(Sized { kind: ResourceKind::Buffer { bytes, memory }, ..Sized::buffer(scalars::plain(scalar), bytes, elements) })
}

fn no_type(ty: &str, name: &str) -> Failure {
    said(format!("`{ty}` is no type of buffer `{name}`: a GLSL scalar or vector is needed, such as float, uint or vec4"))
}

/// How many elements a file of so many bytes has for a buffer.
fn counted(bytes: u64, block: &BlockInfo, spec: Option<&BufferSpec>) -> u64 {
    match spec.and_then(|spec| element(spec.ty.as_deref()?)) {
        Some((scalar, components)) => bytes / (scalar.bytes() * components),
        None => {
            let stride = u64::from(block.runtime_stride().unwrap_or(4).max(1));
            bytes.saturating_sub(block.bytes_with(0).unwrap_or(0)) / stride
        }
    }
}

/// How large a file is that a buffer is filled with.
fn file_bytes(path: &FilePath) -> Result<u64, Failure> {
    if is_compressed(path) {
        return Err(said(format!("{} is compressed: say how many elements it has, as in uint[1024]", path.shown())));
    }
    let length = regular::open(path, DATA).and_then(|file| Ok(file.metadata()?.len()));
    length.map_err(|error| said(format!("can't read {}: {error}", path.shown())))
}

fn whole_words(bytes: u64) -> Option<u64> {
    bytes.max(4).checked_next_multiple_of(4)
}

/// A scalar or a vector by its GLSL name: its numbers' type, and how many it has.
fn element(name: &str) -> Option<(ScalarType, u64)> {
    if let Some(scalar) = ScalarType::NUMBERS.into_iter().find(|scalar| scalar.to_string() == name) {
        return Some((scalar, 1));
    }
    let (prefix, components) = name.split_once("vec")?;
    let scalar = ScalarType::NUMBERS.into_iter().find(|scalar| scalar.prefix() == prefix)?;
    let components = ["2", "3", "4"].into_iter().zip(2..).find(|(digit, _)| *digit == components)?;
    Some((scalar, components.1))
}
