//! Where in a block a name leads.

use std::borrow::Cow;

use super::{MemberBlock, has_struct};
use crate::shader::{MatrixOrder, MemberLayout, StructLayout, TypeLayout};

pub(super) struct MemberRef<'l> {
    pub(super) at: u64,
    /// A type of the block's, or a part of a vector or a matrix, which has none of its own there.
    pub(super) ty: Cow<'l, TypeLayout>,
}

#[derive(Debug, PartialEq)]
pub(super) enum Lost {
    Unknown,
    Beyond {
        array: String,
        length: u64,
    },
    /// Several members of one struct have the name; where in the block they begin.
    Shared(Vec<u64>),
    NothingAt(u64),
}

/// The numbers of a block that a name means: `width`, `light.position`, `lights[2].color`, any of these behind the block's own name
/// and a dot; or `@16`, what begins at that byte, behind the block's name or place where it isn't push constants.
pub(super) fn find<'l>(block: &MemberBlock<'l>, name: &str) -> Result<MemberRef<'l>, Lost> {
    if let Some((offset, rest)) = name.split_once('@').filter(|(of, _)| block.is_called(of)).and_then(|(_, at)| offset(at)) {
        let place = in_members(block.layout, 0, offset).ok_or(Lost::NothingAt(offset))?;
        return in_type(place.ty, place.at, rest, &block.by_offset(offset));
    }
    let behind = |of: &str| name.strip_prefix(of)?.strip_prefix('.').filter(|_| !of.is_empty());
    let by_place = || name.split_once('.').filter(|(of, _)| block.is_called(of)).and_then(|(of, _)| behind(of));
    let plain = || behind(block.name).or_else(by_place);
    match (in_struct(block.layout, 0, name, ""), plain()) {
        (Err(Lost::Unknown), Some(plain)) => in_struct(block.layout, 0, plain, ""),
        (found, _) => found,
    }
}

/// The number that a text begins with, and what follows.
fn offset(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// What begins at a byte of a block: of structs and arrays of these what lies in them, else the largest that begins there.
fn in_members(layout: &StructLayout, at: u64, wanted: u64) -> Option<MemberRef<'_>> {
    let begin = |member: &MemberLayout| at.saturating_add(member.offset.into());
    layout.members.iter().find_map(|member| at_offset(Cow::Borrowed(&member.ty), begin(member), wanted))
}

fn at_offset(ty: Cow<TypeLayout>, at: u64, wanted: u64) -> Option<MemberRef> {
    let into = wanted.checked_sub(at)?;
    if let Cow::Borrowed(TypeLayout::Struct(layout)) = ty {
        return in_members(layout, at, wanted);
    }
    if into == 0 && !has_struct(&ty) {
        return Some(MemberRef { at, ty });
    }
    let (length, stride, element) = elements(ty)?;
    let index = into.checked_div(stride).filter(|index| *index < length)?;
    at_offset(element, at.saturating_add(index.saturating_mul(stride)), wanted)
}

fn in_struct<'l>(layout: &'l StructLayout, at: u64, path: &str, before: &str) -> Result<MemberRef<'l>, Lost> {
    let end = path.find(['.', '[']).unwrap_or(path.len());
    let (name, rest) = path.split_at(end);
    let named: Vec<&MemberLayout> = layout.members.iter().filter(|member| member.name == name && !name.is_empty()).collect();
    let begin = |member: &MemberLayout| at.saturating_add(member.offset.into());
    match named[..] {
        [] => in_nameless(layout, at, path, before),
        [member] => in_type(Cow::Borrowed(&member.ty), begin(member), rest, &format!("{before}{name}")),
        _ => Err(Lost::Shared(named.into_iter().map(begin).collect())),
    }
}

/// What a struct without a name of its own has, as the one that WGSL's compilers wrap around a block's: its members are the block's.
fn in_nameless<'l>(layout: &'l StructLayout, at: u64, path: &str, before: &str) -> Result<MemberRef<'l>, Lost> {
    let structs = layout.members.iter().filter(|member| member.name.is_empty()).filter_map(|member| match &member.ty {
        TypeLayout::Struct(inner) => Some((inner, at.saturating_add(member.offset.into()))),
        _ => None,
    });
    let mut found =
        structs.map(|(inner, at)| in_struct(inner, at, path, before)).filter(|found| !matches!(found, Err(Lost::Unknown)));
    match (found.next(), found.next()) {
        (Some(found), None) => found,
        _ => Err(Lost::Unknown),
    }
}

fn in_type<'l>(ty: Cow<'l, TypeLayout>, at: u64, rest: &str, before: &str) -> Result<MemberRef<'l>, Lost> {
    if rest.is_empty() {
        return Ok(MemberRef { at, ty });
    }
    if let (Some(path), Cow::Borrowed(TypeLayout::Struct(layout))) = (rest.strip_prefix('.'), &ty) {
        return in_struct(layout, at, path, &format!("{before}."));
    }
    let (index, after) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')).ok_or(Lost::Unknown)?;
    let index: u64 = index.trim().parse().map_err(|_| Lost::Unknown)?;
    let (length, stride, element) = elements(ty).ok_or(Lost::Unknown)?;
    if index >= length {
        return Err(Lost::Beyond { array: before.to_owned(), length });
    }
    in_type(element, at.saturating_add(index.saturating_mul(stride)), after, &format!("{before}[{index}]"))
}

/// What an index counts: how many there are, the bytes from one to the next, and what each is. The columns of a matrix whose rows
/// come first don't lie together, and have none.
fn elements(ty: Cow<TypeLayout>) -> Option<(u64, u64, Cow<TypeLayout>)> {
    if let Cow::Borrowed(TypeLayout::Array { length, stride, element }) = ty {
        return Some((*length, (*stride).into(), Cow::Borrowed(element)));
    }
    match *ty {
        TypeLayout::Matrix { scalar, columns, rows, stride, order: MatrixOrder::ColumnMajor } => {
            let column = TypeLayout::Vector { scalar, components: rows };
            Some((columns.into(), stride.into(), Cow::Owned(column)))
        }
        TypeLayout::Vector { scalar, components } => {
            Some((components.into(), scalar.bytes(), Cow::Owned(TypeLayout::Scalar { scalar })))
        }
        _ => None,
    }
}
