//! The members of push constants and uniform blocks: by which names a user reaches them, and what they hold.

mod places;

use std::ops::Range;

use self::places::{Lost, MemberRef, find};
use super::expression::listed;
use super::fill::{self, Number};
use super::kernel::{even_threads, said, skipped};
use super::scalars;
use super::variables::Variables;
use crate::error::{nearest, suggestion};
use crate::model::Failure;
use crate::shader::{BlockPlace, MemberLayout, Reflection, ScalarType, StructLayout, TypeLayout};
use crate::units::Bytes;

/// How shaders call the number of what they work on.
const COUNTS: [&str; 10] = ["n", "count", "length", "len", "size", "total", "num", "elements", "num_elements", "element_count"];

/// How shaders call a vector that is an extent, in lower case and without underscores, and what may stand before: `image_size`.
const EXTENTS: [&str; 6] = ["size", "resolution", "dimensions", "dims", "dim", "extent"];
const BEFORE_EXTENTS: [&str; 9] = ["", "u", "i", "image", "texture", "input", "output", "grid", "screen"];

/// How they call a whole number that is the extent in x, in y, or in z.
const SIDES: [&[&str]; 3] = [&["width", "columns", "cols"], &["height", "rows"], &["depth"]];
const BEFORE_SIDES: [&str; 2] = ["n", "num"];

/// Push constants, or a uniform block: what has members.
pub(super) struct MemberBlock<'l> {
    pub(super) layout: &'l StructLayout,
    /// May be empty.
    pub(super) name: &'l str,
    pub(super) place: BlockPlace,
    pub(super) bytes: u64,
    /// The bytes that the shader reads: no others need a value.
    pub(super) reads: Vec<Range<u64>>,
}

impl MemberBlock<'_> {
    /// How a user says what begins at a byte of it, named or not: names aren't meaning, and builds strip them.
    pub(super) fn by_offset(&self, at: u64) -> String {
        match self.place {
            BlockPlace::PushConstants => format!("@{at}"),
            BlockPlace::UniformBuffer { set, binding } | BlockPlace::StorageBuffer { set, binding } => {
                format!("{set}:{binding}@{at}")
            }
        }
    }

    pub(super) fn check_size(&self) -> Result<(), Failure> {
        if self.bytes <= LARGEST {
            return Ok(());
        }
        let (block, has, most) = (self.told(), Bytes(self.bytes), Bytes(LARGEST));
        let whole = match self.place {
            BlockPlace::PushConstants => String::new(),
            BlockPlace::UniformBuffer { set, binding } | BlockPlace::StorageBuffer { set, binding } => {
                format!("; --buffer {set}:{binding}=:zero fills it as a whole")
            }
        };
        Err(said(format!("{block}: {has}, of which at most {most} can be filled member by member{whole}")))
    }

    pub(super) fn is_called(&self, text: &str) -> bool {
        let is_place = match self.place {
            BlockPlace::PushConstants => text.is_empty(),
            BlockPlace::UniformBuffer { set, binding } | BlockPlace::StorageBuffer { set, binding } => {
                text.split_once(':').is_some_and(|(s, b)| (s.parse(), b.parse()) == (Ok(set), Ok(binding)))
                    || (set == 0 && text.parse() == Ok(binding))
            }
        };
        is_place || (text == self.name && !text.is_empty())
    }

    /// How it is called in a sentence.
    fn told(&self) -> String {
        let name = if self.name.is_empty() { String::new() } else { format!(" `{}`", self.name) };
        match self.place {
            BlockPlace::PushConstants => format!("the push constants{name}"),
            BlockPlace::UniformBuffer { set, binding } | BlockPlace::StorageBuffer { set, binding } => {
                format!("the uniform block{name} at {set}:{binding}")
            }
        }
    }
}

/// How all members of a block are said, of arrays of structs those of the first element.
fn names(block: &MemberBlock, blocks: &[MemberBlock]) -> Vec<String> {
    let first = |leaf: &Leaf| !leaf.path.split('[').skip(1).any(|index| !index.starts_with("0]"));
    leaves(block.layout, block.bytes).iter().filter(|leaf| first(leaf)).map(|leaf| said_as(leaf, block, blocks)).collect()
}

/// By its name where that means it and nothing else, else by its offset: compilers leave names out, or give two members one.
fn said_as(leaf: &Leaf, block: &MemberBlock, blocks: &[MemberBlock]) -> String {
    let means = |block: &MemberBlock| find(block, &leaf.path).is_ok_and(|place| place.at == leaf.at && *place.ty == *leaf.ty);
    let others = blocks.iter().filter(|other| other.place != block.place);
    let is_plain = !leaf.path.contains(['=', '@']) && leaf.path.trim() == leaf.path;
    if is_plain && means(block) && others.map(|other| find(other, &leaf.path)).all(|found| matches!(found, Err(Lost::Unknown)))
    {
        leaf.path.clone()
    } else {
        block.by_offset(leaf.at)
    }
}

fn has_struct(ty: &TypeLayout) -> bool {
    match ty {
        TypeLayout::Struct(_) => true,
        TypeLayout::Array { element, .. } => has_struct(element),
        _ => false,
    }
}

/// The byte of a block at which a name means something that may be an address.
pub(super) fn address_in(block: &MemberBlock, name: &str, reflection: &Reflection) -> Option<u64> {
    let is_one =
        |ty: &TypeLayout| !matches!(ty, TypeLayout::Struct(_) | TypeLayout::Array { .. } | TypeLayout::RuntimeArray { .. });
    let found = find(block, name).ok()?;
    (is_one(&found.ty) && reflection.may_hold_addresses(&found.ty)).then_some(found.at)
}

/// Whether a name means numbers of a block.
pub(super) fn is_number(block: &MemberBlock, name: &str) -> bool {
    find(block, name).is_ok_and(|place| !matches!(*place.ty, TypeLayout::Pointer { .. }))
}

/// Whether each name that a value is given for means something in one of the blocks, and in no other. What is of a block that is filled
/// as a whole is of no use there, but isn't wrong: a manifest may say it.
pub(super) fn check(blocks: &[MemberBlock], filled: &[MemberBlock], given: &[(String, String)]) -> Result<(), Failure> {
    let is_idle = |name: &str| {
        let means = |block: &MemberBlock| find(block, name).is_ok();
        filled.iter().any(means) && !blocks.iter().any(means)
    };
    given.iter().filter(|(name, _)| !is_idle(name)).try_for_each(|(name, _)| check_name(blocks, name))
}

fn check_name(blocks: &[MemberBlock], name: &str) -> Result<(), Failure> {
    if blocks.is_empty() {
        return Err(said(format!("`{name}` is given a value, but the shader has neither push constants nor uniform blocks")));
    }
    let found: Vec<(&MemberBlock, Result<MemberRef, Lost>)> = blocks.iter().map(|block| (block, find(block, name))).collect();
    let mut meant: Vec<(&MemberBlock, u64)> = Vec::new();
    for (block, found) in &found {
        match found {
            Ok(place) => meant.push((block, place.at)),
            Err(Lost::Shared(begins)) => meant.extend(begins.iter().map(|at| (*block, *at))),
            Err(_) => {}
        }
    }
    // One buffer may be declared several times, and its members mean the same.
    meant.sort_by_key(|(block, at)| (block.by_offset(*at), *at));
    meant.dedup_by_key(|(block, at)| block.by_offset(*at));
    match meant[..] {
        [] => {}
        [_] => return Ok(()),
        _ => {
            let places: Vec<String> =
                meant.iter().map(|(block, at)| format!("{} in {}", block.by_offset(*at), block.told())).collect();
            return Err(said(format!(
                "`{name}` is the name of several members; say which one is meant: {}",
                places.join(", ")
            )));
        }
    }
    if let Some(Lost::Beyond { array, length }) =
        found.iter().find_map(|(_, found)| found.as_ref().err().filter(|lost| matches!(lost, Lost::Beyond { .. })))
    {
        return Err(said(format!("`{name}` leads beyond `{array}`, which has {length} elements")));
    }
    if let Some((block, Err(Lost::NothingAt(at)))) = found.iter().find(|(_, found)| matches!(found, Err(Lost::NothingAt(_)))) {
        let begins: Vec<String> = leaves(block.layout, block.bytes).iter().map(|leaf| leaf.at.to_string()).collect();
        let some = begins[..begins.len().min(MOST_NAMED)].join(", ");
        return Err(said(format!("`{name}`: nothing begins at byte {at} of {}; its members begin at {some}", block.told())));
    }
    let known: Vec<String> = blocks.iter().flat_map(|block| names(block, blocks)).collect();
    // An index that is there has to match none.
    let plain = blocks.iter().find_map(|block| name.strip_prefix(block.name)?.strip_prefix('.')).unwrap_or(name);
    let near = suggestion(&nearest(plain, known.iter().map(String::as_str)));
    Err(said(format!("no push constant or uniform is called `{name}`; there are {}{near}", known.join(", "))))
}

// ---- values ---------------------------------------------------------------------------------------------------------------

/// The bytes of a block whose members are given by name: where nothing is said counts are `n`, vectors called size or alike the
/// invocations that there are to be, and floats 1.
pub(super) fn fill(block: &MemberBlock, given: &[(String, String)], variables: &Variables) -> Result<Vec<u8>, Failure> {
    let mut filling = Filling::new(block.bytes, variables);
    let found: Vec<(&str, &str, MemberRef)> =
        given.iter().filter_map(|(name, text)| Some((&name[..], &text[..], find(block, name).ok()?))).collect();
    for (i, (name, text, place)) in found.iter().enumerate() {
        // The last one wins: the command line's stand behind the manifest's. What was said before of a part, or of the whole, holds for
        // the rest.
        let is_same = |(_, _, later): &(&str, &str, MemberRef)| later.at == place.at && later.ty == place.ty;
        if !found[i + 1..].iter().any(is_same) {
            filling.assign(name, text, place)?;
        }
    }
    for leaf in leaves(block.layout, block.bytes) {
        for number in filling.open(&leaf) {
            // What can't be told is for [`check_said`] to say.
            if let Some(text) = number.default(&leaf, variables) {
                filling.set(number.at, number.scalar, Some(&text), &leaf.path)?;
            }
        }
    }
    Ok(filling.filled)
}

/// A member of which the user says nothing, or not all.
#[derive(Clone, Debug, PartialEq)]
pub struct AssumedMember {
    /// How `--push` says it: its name, or where it begins.
    pub name: String,
    pub ty: String,
    /// What it is then: one value of all its numbers, or one of each. Nothing where that can't be told.
    pub assumed: Option<String>,
    numbers: usize,
}

impl AssumedMember {
    fn flag(&self) -> String {
        format!("--push {}={}", self.name, vec!["VALUE"; self.numbers.min(4)].join(","))
    }
}

/// The largest block whose members have values one by one, in bytes: larger ones hold data, and no parameters.
const LARGEST: u64 = 1 << 20;

pub(super) fn unsaid(blocks: &[MemberBlock], given: &[(String, String)], variables: &Variables) -> Vec<AssumedMember> {
    blocks.iter().flat_map(|block| unsaid_in(block, blocks, given, variables)).collect()
}

fn unsaid_in(
    block: &MemberBlock,
    blocks: &[MemberBlock],
    given: &[(String, String)],
    variables: &Variables,
) -> Vec<AssumedMember> {
    let mut filling = Filling::new(block.bytes, variables);
    for place in given.iter().filter_map(|(name, _)| find(block, name).ok()) {
        filling.numbers(&place.ty, place.at).into_iter().for_each(|(at, _)| filling.mark(at));
    }
    let of_leaf = |leaf: Leaf| {
        let open = filling.open(&leaf);
        let is_read = |number: &Open| {
            let (begin, end) = (number.at, number.at.saturating_add(number.scalar.bytes()));
            block.reads.iter().any(|read| read.start < end && begin < read.end)
        };
        open.iter().find(|number| is_read(number))?;
        let values: Option<Vec<String>> = open.iter().map(|number| number.default(&leaf, variables)).collect();
        let assumed = values.map(|mut values| {
            let is_one = values.iter().all(|value| *value == values[0]);
            values.truncate(if is_one { 1 } else { values.len() });
            values.join(",")
        });
        Some(AssumedMember { ty: leaf.ty.to_string(), assumed, numbers: open.len(), name: said_as(&leaf, block, blocks) })
    };
    leaves(block.layout, block.bytes).into_iter().filter_map(of_leaf).collect()
}

/// Members that are named one by one where values are missing; an array of structs may have thousands.
const MOST_NAMED: usize = 12;

pub(super) fn check_said(unsaid: &[AssumedMember]) -> Result<(), Failure> {
    let open: Vec<&AssumedMember> = unsaid.iter().filter(|member| member.assumed.is_none()).collect();
    if open.is_empty() {
        return Ok(());
    }
    let named = &open[..open.len().min(MOST_NAMED)];
    let names: Vec<String> = named.iter().map(|member| format!("`{}` ({})", member.name, member.ty)).collect();
    let flags: Vec<String> = named.iter().map(|member| member.flag()).collect();
    let more = match open.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let is_by_offset = |member: &&&AssumedMember| member.name.contains('@');
    let offsets = named.iter().find(is_by_offset).and_then(|member| member.name.rsplit_once('@'));
    let how = offsets.map_or_else(String::new, |(_, at)| format!(" (@{at}: at byte {at} of its block)"));
    Err(said(format!(
        "no value is given for {}{more}{how}, and which one is meant can't be told; add {}",
        names.join(", "),
        flags.join(" ")
    )))
}

struct Leaf<'l> {
    own: &'l str,
    path: String,
    ty: &'l TypeLayout,
    at: u64,
}

fn leaves(layout: &StructLayout, bytes: u64) -> Vec<Leaf<'_>> {
    let mut all = Vec::new();
    add_members(layout, "", 0, bytes, &mut all);
    all
}

fn add_members<'l>(layout: &'l StructLayout, before: &str, at: u64, bytes: u64, all: &mut Vec<Leaf<'l>>) {
    for MemberLayout { name, offset, ty } in &layout.members {
        let leaf = Leaf { own: name, path: format!("{before}{name}"), ty, at: at.saturating_add((*offset).into()) };
        add_leaves(leaf, bytes, all);
    }
}

fn add_leaves<'l>(leaf: Leaf<'l>, bytes: u64, all: &mut Vec<Leaf<'l>>) {
    match leaf.ty {
        // As if its members were the block's, where it has no name.
        TypeLayout::Struct(layout) if leaf.own.is_empty() && !leaf.path.ends_with(']') => {
            add_members(layout, &leaf.path, leaf.at, bytes, all);
        }
        TypeLayout::Struct(layout) => add_members(layout, &format!("{}.", leaf.path), leaf.at, bytes, all),
        TypeLayout::Array { length, stride, element } if has_struct(element) => {
            let places = (0..*length).map(|index| (index, leaf.at.saturating_add(index.saturating_mul((*stride).into()))));
            places.take_while(|(_, at)| *at < bytes).for_each(|(index, at)| {
                add_leaves(Leaf { own: leaf.own, path: format!("{}[{index}]", leaf.path), ty: element, at }, bytes, all);
            });
        }
        _ => all.push(leaf),
    }
}

struct Filling<'v> {
    filled: Vec<u8>,
    /// Of each byte, whether a number begins there that has a value.
    is_set: Vec<bool>,
    variables: &'v Variables,
}

impl<'v> Filling<'v> {
    fn new(bytes: u64, variables: &'v Variables) -> Self {
        let size = usize::try_from(bytes).unwrap_or(usize::MAX);
        Self { filled: vec![0; size], is_set: vec![false; size], variables }
    }

    /// The values of what a name means; the last one is that of all numbers that follow.
    fn assign(&mut self, name: &str, text: &str, place: &MemberRef) -> Result<(), Failure> {
        let mut values = listed(text).into_iter();
        let mut last = None;
        for (at, scalar) in self.numbers(&place.ty, place.at) {
            last = values.next().or(last);
            self.set(at, scalar, last, name)?;
        }
        match values.next() {
            Some(_) => Err(said(format!("`{name}` is {}: it is given more values than that has", place.ty))),
            None => Ok(()),
        }
    }

    /// The numbers of a leaf that have no value yet.
    fn open(&self, leaf: &Leaf) -> Vec<Open> {
        let numbers = self.numbers(leaf.ty, leaf.at).into_iter().enumerate();
        let numbers = numbers.map(|(index, (at, scalar))| Open { index, at, scalar });
        numbers.filter(|number| usize::try_from(number.at).is_ok_and(|at| !self.is_set[at])).collect()
    }

    fn mark(&mut self, at: u64) {
        if let Some(is_set) = usize::try_from(at).ok().and_then(|at| self.is_set.get_mut(at)) {
            *is_set = true;
        }
    }

    fn numbers(&self, ty: &TypeLayout, at: u64) -> Vec<(u64, ScalarType)> {
        let mut all = Vec::new();
        scalars::of_type(ty, at, self.filled.len() as u64, 0, &mut |at, scalar, _| all.push((at, scalar)));
        all
    }

    fn set(&mut self, at: u64, scalar: ScalarType, text: Option<&str>, name: &str) -> Result<(), Failure> {
        let what = &format!("`{name}`");
        let text = text.ok_or_else(|| said(format!("{what} has no value")))?;
        let number = if scalar.is_float() {
            Number::Real(self.variables.number(text, what)?)
        } else {
            let whole = self.variables.whole(text, what)?;
            let bits = scalar.parse(&whole.to_string());
            Number::Whole(bits.ok_or_else(|| skipped(format!("{what} is {scalar}, and can't be {whole}")))?)
        };
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        fill::write(&mut self.filled[at..], scalar, number);
        self.mark(at as u64);
        Ok(())
    }
}

struct Open {
    index: usize,
    at: u64,
    scalar: ScalarType,
}

impl Open {
    /// What it is where nothing is said. A whole number that is known to be neither a count nor an extent has no default: a width that
    /// is `n` would send the shader far beyond its buffers.
    fn default(&self, leaf: &Leaf, variables: &Variables) -> Option<String> {
        if let Some(extent) = variables.threads.and_then(|threads| self.extent(leaf, threads, variables.n)) {
            return Some(extent.to_string());
        }
        let is_count = COUNTS.contains(&leaf.own);
        if self.scalar.is_float() { Some("1".to_owned()) } else { is_count.then(|| "n".to_owned()) }
    }

    /// What it is of the invocations that there are to be, by its name. A shader of one direction goes over pictures as well, which have
    /// as many texels in each of theirs.
    fn extent(&self, leaf: &Leaf, threads: [u64; 3], n: u64) -> Option<u64> {
        let name = leaf.own.to_lowercase().replace('_', "");
        let is_flat = threads == [n, 1, 1];
        let spread = if is_flat { even_threads(n, [true, true, false]) } else { threads };
        match leaf.ty {
            TypeLayout::Vector { components: 2..=3, .. } => {
                let is_extent = |before: &str| name.strip_prefix(before).is_some_and(|rest| EXTENTS.contains(&rest));
                BEFORE_EXTENTS.into_iter().any(is_extent).then(|| spread[self.index])
            }
            TypeLayout::Scalar { scalar } if !scalar.is_float() && *scalar != ScalarType::Bool => {
                let before = || BEFORE_EXTENTS.into_iter().chain(BEFORE_SIDES);
                let is_side = |sides: &&[&str]| {
                    before().any(|before| name.strip_prefix(before).is_some_and(|rest| sides.contains(&rest)))
                };
                let side = SIDES.iter().position(is_side)?;
                // In a direction without extent, or where there is one alone, invocations say nothing of how large it is.
                let has_sides = spread.iter().filter(|count| **count > 1).count() > 1;
                Some(spread[side]).filter(|count| has_sides && *count > 1)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
