//! The members of push constants and uniform blocks: by which names a user reaches them, and what they hold.

use std::borrow::Cow;
use std::ops::Range;

use super::expression::listed;
use super::fill::{self, Number};
use super::kernel::{even_threads, said, skipped};
use super::scalars;
use super::variables::Variables;
use crate::error::{nearest, suggestion};
use crate::model::Failure;
use crate::shader::{BlockPlace, MatrixOrder, MemberLayout, ScalarType, StructLayout, TypeLayout};
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
pub(super) struct Block<'l> {
    pub(super) layout: &'l StructLayout,
    /// May be empty.
    pub(super) name: &'l str,
    pub(super) place: BlockPlace,
    pub(super) bytes: u64,
    /// The bytes that the shader reads: no others need a value.
    pub(super) reads: Vec<Range<u64>>,
}

impl Block<'_> {
    /// How a user says what begins at a byte of it, named or not: names aren't meaning, and builds strip them.
    fn by_offset(&self, at: u64) -> String {
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

    fn is_called(&self, text: &str) -> bool {
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

struct Place<'l> {
    at: u64,
    /// A type of the block's, or a part of a vector or a matrix, which has none of its own there.
    ty: Cow<'l, TypeLayout>,
}

#[derive(Debug, PartialEq)]
enum Lost {
    Unknown,
    Beyond {
        array: String,
        length: u64,
    },
    /// Several members of one struct have the name; where in the block they begin.
    Shared(Vec<u64>),
    NothingAt(u64),
}

// ---- names ----------------------------------------------------------------------------------------------------------------

/// The numbers of a block that a name means: `width`, `light.position`, `lights[2].color`, any of these behind the block's own name
/// and a dot; or `@16`, what begins at that byte, behind the block's name or place where it isn't push constants.
fn find<'l>(block: &Block<'l>, name: &str) -> Result<Place<'l>, Lost> {
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
fn in_members(layout: &StructLayout, at: u64, wanted: u64) -> Option<Place<'_>> {
    let begin = |member: &MemberLayout| at.saturating_add(member.offset.into());
    layout.members.iter().find_map(|member| at_offset(Cow::Borrowed(&member.ty), begin(member), wanted))
}

fn at_offset(ty: Cow<TypeLayout>, at: u64, wanted: u64) -> Option<Place> {
    let into = wanted.checked_sub(at)?;
    if let Cow::Borrowed(TypeLayout::Struct(layout)) = ty {
        return in_members(layout, at, wanted);
    }
    if into == 0 && !has_struct(&ty) {
        return Some(Place { at, ty });
    }
    let (length, stride, element) = elements(ty)?;
    let index = into.checked_div(stride).filter(|index| *index < length)?;
    at_offset(element, at.saturating_add(index.saturating_mul(stride)), wanted)
}

fn in_struct<'l>(layout: &'l StructLayout, at: u64, path: &str, before: &str) -> Result<Place<'l>, Lost> {
    let end = path.find(['.', '[']).unwrap_or(path.len());
    let (name, rest) = path.split_at(end);
    let named: Vec<&MemberLayout> = layout.members.iter().filter(|member| member.name == name && !name.is_empty()).collect();
    let begin = |member: &MemberLayout| at.saturating_add(member.offset.into());
    match named[..] {
        [] => Err(Lost::Unknown),
        [member] => in_type(Cow::Borrowed(&member.ty), begin(member), rest, &format!("{before}{name}")),
        _ => Err(Lost::Shared(named.into_iter().map(begin).collect())),
    }
}

fn in_type<'l>(ty: Cow<'l, TypeLayout>, at: u64, rest: &str, before: &str) -> Result<Place<'l>, Lost> {
    if rest.is_empty() {
        return Ok(Place { at, ty });
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

/// How all members of a block are said, of arrays of structs those of the first element.
fn names(block: &Block, blocks: &[Block]) -> Vec<String> {
    let first = |leaf: &Leaf| !leaf.path.split('[').skip(1).any(|index| !index.starts_with("0]"));
    leaves(block.layout, block.bytes).iter().filter(|leaf| first(leaf)).map(|leaf| said_as(leaf, block, blocks)).collect()
}

/// By its name where that means it and nothing else, else by its offset: compilers leave names out, or give two members one.
fn said_as(leaf: &Leaf, block: &Block, blocks: &[Block]) -> String {
    let means = |block: &Block| find(block, &leaf.path).is_ok_and(|place| place.at == leaf.at && *place.ty == *leaf.ty);
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

/// Whether each name that a value is given for means something in one of the blocks, and in no other. What is of a block that is filled
/// as a whole is of no use there, but isn't wrong: a manifest may say it.
pub(super) fn check(blocks: &[Block], filled: &[Block], given: &[(String, String)]) -> Result<(), Failure> {
    let is_idle = |name: &str| {
        let means = |block: &Block| find(block, name).is_ok();
        filled.iter().any(means) && !blocks.iter().any(means)
    };
    given.iter().filter(|(name, _)| !is_idle(name)).try_for_each(|(name, _)| check_name(blocks, name))
}

fn check_name(blocks: &[Block], name: &str) -> Result<(), Failure> {
    if blocks.is_empty() {
        return Err(said(format!("`{name}` is given a value, but the shader has neither push constants nor uniform blocks")));
    }
    let found: Vec<(&Block, Result<Place, Lost>)> = blocks.iter().map(|block| (block, find(block, name))).collect();
    let mut meant: Vec<(&Block, u64)> = Vec::new();
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
pub(super) fn fill(block: &Block, given: &[(String, String)], variables: &Variables) -> Result<Vec<u8>, Failure> {
    let mut filling = Filling::new(block.bytes, variables);
    let found: Vec<(&str, &str, Place)> =
        given.iter().filter_map(|(name, text)| Some((&name[..], &text[..], find(block, name).ok()?))).collect();
    for (i, (name, text, place)) in found.iter().enumerate() {
        // The last one wins: the command line's stand behind the manifest's. What was said before of a part, or of the whole, holds for
        // the rest.
        let is_same = |(_, _, later): &(&str, &str, Place)| later.at == place.at && later.ty == place.ty;
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
pub struct Unsaid {
    /// How `--push` says it: its name, or where it begins.
    pub name: String,
    pub ty: String,
    /// What it is then: one value of all its numbers, or one of each. Nothing where that can't be told.
    pub assumed: Option<String>,
    numbers: usize,
}

impl Unsaid {
    fn flag(&self) -> String {
        format!("--push {}={}", self.name, vec!["VALUE"; self.numbers.min(4)].join(","))
    }
}

/// The largest block whose members have values one by one, in bytes: larger ones hold data, and no parameters.
const LARGEST: u64 = 1 << 20;

pub(super) fn unsaid(blocks: &[Block], given: &[(String, String)], variables: &Variables) -> Vec<Unsaid> {
    blocks.iter().flat_map(|block| unsaid_in(block, blocks, given, variables)).collect()
}

fn unsaid_in(block: &Block, blocks: &[Block], given: &[(String, String)], variables: &Variables) -> Vec<Unsaid> {
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
        Some(Unsaid { ty: leaf.ty.to_string(), assumed, numbers: open.len(), name: said_as(&leaf, block, blocks) })
    };
    leaves(block.layout, block.bytes).into_iter().filter_map(of_leaf).collect()
}

/// Members that are named one by one where values are missing; an array of structs may have thousands.
const MOST_NAMED: usize = 12;

pub(super) fn check_said(unsaid: &[Unsaid]) -> Result<(), Failure> {
    let open: Vec<&Unsaid> = unsaid.iter().filter(|member| member.assumed.is_none()).collect();
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
    let is_by_offset = |member: &&&Unsaid| member.name.contains('@');
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
    fn assign(&mut self, name: &str, text: &str, place: &Place) -> Result<(), Failure> {
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
mod tests {
    use super::*;

    fn member(name: &str, offset: u32, ty: TypeLayout) -> MemberLayout {
        MemberLayout { name: name.into(), offset, ty }
    }

    /// As std140 has it: `struct Light { vec3 position; uint kind; }; uint width; Light light; Light lights[2]; float weights[4];
    /// mat2 turn;`
    fn block() -> StructLayout {
        use ScalarType::{F32, U32};
        let light = StructLayout {
            type_name: "Light".into(),
            bytes: 16,
            members: vec![
                member("position", 0, TypeLayout::Vector { scalar: F32, components: 3 }),
                member("kind", 12, TypeLayout::Scalar { scalar: U32 }),
            ],
        };
        let light = TypeLayout::Struct(light);
        let array = |length, element| TypeLayout::Array { length, stride: 16, element: Box::new(element) };
        let turn = TypeLayout::Matrix { scalar: F32, columns: 2, rows: 2, stride: 16, order: MatrixOrder::ColumnMajor };
        let members = vec![
            member("width", 0, TypeLayout::Scalar { scalar: U32 }),
            member("light", 16, light.clone()),
            member("lights", 32, array(2, light)),
            member("weights", 64, array(4, TypeLayout::Scalar { scalar: F32 })),
            member("turn", 128, turn),
        ];
        StructLayout { type_name: "Scene".into(), bytes: 160, members }
    }

    fn pushed<'l>(layout: &'l StructLayout, name: &'l str) -> Block<'l> {
        Block {
            layout,
            name,
            place: BlockPlace::PushConstants,
            bytes: layout.bytes,
            reads: std::iter::once(0..u64::MAX).collect(),
        }
    }

    /// `--threads` tells what a vector of that name is, be it of whole numbers or not.
    #[test]
    fn an_extent_is_what_the_invocations_cover() {
        use ScalarType::{F32, U32};
        let vector = |name: &str, offset, scalar, components| member(name, offset, TypeLayout::Vector { scalar, components });
        let members = vec![vector("image_size", 0, U32, 2), vector("iResolution", 16, F32, 3), vector("cell_size", 32, F32, 2)];
        let layout = StructLayout { type_name: "P".into(), bytes: 40, members };
        let told =
            |variables: &Variables| unsaid(&[pushed(&layout, "")], &[], variables).into_iter().map(|member| member.assumed);
        let assumed = |values: [Option<&str>; 3]| values.map(|value| value.map(str::to_owned));
        let mut variables = Variables::new(64);
        assert!(told(&variables).eq(assumed([None, Some("1"), Some("1")])));
        variables.threads = Some([32, 8, 1]);
        assert!(told(&variables).eq(assumed([Some("32,8"), Some("32,8,1"), Some("1")])));
        let bytes = fill(&pushed(&layout, ""), &[], &variables).unwrap();
        assert_eq!((whole(&bytes, 0), whole(&bytes, 4), float(&bytes, 16), float(&bytes, 24)), (32, 8, 32.0, 1.0));
        // As images of so many texels are.
        variables.threads = Some([64, 1, 1]);
        assert!(told(&variables).eq(assumed([Some("8"), Some("8,8,1"), Some("1")])));
    }

    /// The same of one number a direction, where the invocations have extent there.
    #[test]
    fn a_side_is_what_the_invocations_cover_in_its_direction() {
        let names = ["width", "image_height", "num_rows", "COLS", "depth", "widths", "stride"];
        let members =
            names.into_iter().zip(0..).map(|(name, i)| member(name, 4 * i, TypeLayout::Scalar { scalar: ScalarType::I32 }));
        let layout = StructLayout { type_name: "P".into(), bytes: 28, members: members.collect() };
        let mut variables = Variables::new(64);
        let mut told = |threads: Option<[u64; 3]>| {
            variables.threads = threads;
            let all = unsaid(&[pushed(&layout, "")], &[], &variables).into_iter();
            all.map(|member| member.assumed.unwrap_or_default()).collect::<Vec<_>>()
        };
        assert_eq!(told(None), [""; 7]);
        assert_eq!(told(Some([32, 8, 1])), ["32", "8", "8", "32", "", "", ""]);
        assert_eq!(told(Some([32, 8, 2])), ["32", "8", "8", "32", "2", "", ""]);
        assert_eq!(told(Some([64, 1, 1])), ["8", "8", "8", "8", "", "", ""]);
        assert_eq!(told(Some([32, 1, 1])), [""; 7], "how many rows there are, no invocation tells");
    }

    fn filled(given: &[(&str, &str)]) -> Result<Vec<u8>, String> {
        let whole = ["width", "light.kind", "lights[0].kind", "lights[1].kind"].map(|name| (name, "9"));
        let given: Vec<(String, String)> =
            whole.iter().chain(given).map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        let layout = block();
        check(&[pushed(&layout, "scene")], &[], &given).map_err(|failure| failure.reason)?;
        fill(&pushed(&layout, "scene"), &given, &Variables::new(64)).map_err(|failure| failure.reason)
    }

    fn float(bytes: &[u8], at: usize) -> f32 {
        f32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
    }

    fn whole(bytes: &[u8], at: usize) -> u32 {
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
    }

    #[test]
    fn a_path_leads_to_its_numbers_and_to_no_others() {
        let plain = filled(&[]).unwrap();
        assert_eq!((whole(&plain, 0), whole(&plain, 28), float(&plain, 16), float(&plain, 64)), (9, 9, 1.0, 1.0));
        for (name, text, at, expected) in [
            ("light.position", "2,3,4", &[16, 20, 24][..], &[2.0, 3.0, 4.0][..]),
            ("scene.light.position", "5", &[16, 20, 24], &[5.0, 5.0, 5.0]),
            ("light.position[1]", "n / 2", &[20], &[32.0]),
            ("lights[1].position", "6,7", &[48, 52, 56], &[6.0, 7.0, 7.0]),
            ("weights[3]", "8", &[112], &[8.0]),
            ("weights", "8,9", &[64, 80, 96, 112], &[8.0, 9.0, 9.0, 9.0]),
            ("turn[1]", "2,3", &[144, 148], &[2.0, 3.0]),
            ("turn[1][0]", "2", &[144], &[2.0]),
        ] {
            let bytes = filled(&[(name, text)]).unwrap();
            let mut expected_bytes = plain.clone();
            for (at, value) in at.iter().zip(expected) {
                expected_bytes[*at..at + 4].copy_from_slice(&f32::to_le_bytes(*value));
            }
            assert_eq!(bytes, expected_bytes, "{name}={text}");
        }
        // A struct as a whole is its numbers, one after the other; a part that is said later holds there.
        let bytes = filled(&[("lights[0]", "1,2,3,4"), ("lights[0].position[2]", "7")]).unwrap();
        assert_eq!([32, 36, 40].map(|at| float(&bytes, at)), [1.0, 2.0, 7.0]);
        assert_eq!((whole(&bytes, 44), whole(&bytes, 60)), (4, 9));
        // Of the same place the last counts, under whichever name; what it replaces needn't even be right.
        let bytes = filled(&[("scene.width", "none"), ("width", "3")]).unwrap();
        assert_eq!(whole(&bytes, 0), 3);
    }

    #[test]
    fn what_leads_nowhere_is_told_with_what_is_near() {
        for (name, parts) in [
            ("light.positon", &["no push constant or uniform is called `light.positon`", "did you mean light.position"][..]),
            ("widht", &["did you mean width", "there are width, light.position, light.kind, lights[0].position"]),
            ("scene.wieghts", &["did you mean weights"]),
            ("weights[4]", &["`weights[4]` leads beyond `weights`, which has 4 elements"]),
            ("lights[2].kind", &["beyond `lights`, which has 2"]),
            ("turn[0][2]", &["beyond `turn[0]`, which has 2"]),
            ("width[0]", &["is called `width[0]`"]),
            ("weights[x]", &["is called `weights[x]`"]),
            ("weights[1", &["is called"]),
            ("light.", &["is called"]),
            ("[0]", &["is called"]),
        ] {
            let error = filled(&[(name, "1")]).unwrap_err();
            assert!(parts.iter().all(|part| error.contains(part)), "{name}: {error}");
        }
        assert!(filled(&[("light.position", "1,2,3,4")]).unwrap_err().contains("more values"));
    }

    /// Compilers and build systems leave names out, in structs and arrays as well.
    #[test]
    fn what_has_no_name_is_said_by_where_it_begins() {
        let without_names = |mut layout: StructLayout| {
            fn strip(ty: &mut TypeLayout) {
                match ty {
                    TypeLayout::Struct(layout) => layout.members.iter_mut().for_each(|member| {
                        member.name.clear();
                        strip(&mut member.ty);
                    }),
                    TypeLayout::Array { element, .. } => strip(element),
                    _ => {}
                }
            }
            layout.members.iter_mut().for_each(|member| {
                member.name.clear();
                strip(&mut member.ty);
            });
            layout
        };
        let layout = without_names(block());
        let uniform = Block { place: BlockPlace::UniformBuffer { set: 2, binding: 1 }, ..pushed(&layout, "") };
        let blocks = [pushed(&layout, ""), uniform];
        let variables = Variables::new(64);
        let open = unsaid(&blocks, &[], &variables);
        let names: Vec<&str> = open.iter().map(|member| member.name.as_str()).collect();
        assert_eq!(names[..5], ["@0", "@16", "@28", "@32", "@44"]);
        assert_eq!(names[8..10], ["@128", "2:1@0"]);
        let error = check_said(&open).unwrap_err().reason;
        assert!(error.contains("`@28` (uint)") && error.contains("--push @28=VALUE --push @44=VALUE"), "{error}");
        assert!(error.contains("--push 2:1@0=VALUE"), "{error}");
        // What the error says to write is taken, and goes where the name would.
        let given: Vec<(String, String)> = (open.iter().filter(|member| member.assumed.is_none()))
            .map(|member| (member.name.clone(), if member.name == "2:1@28" { "7" } else { "9" }.to_owned()))
            .collect();
        check(&blocks, &[], &given).unwrap();
        assert_eq!(check_said(&unsaid(&blocks, &given, &variables)), Ok(()));
        assert_eq!(fill(&blocks[0], &given, &variables).unwrap(), filled(&[]).unwrap());
        assert_eq!(whole(&fill(&blocks[1], &given, &variables).unwrap(), 28), 7);
        for (offset, name) in [
            ("@16", "light.position"),
            ("@20", "light.position[1]"),
            ("@16[1]", "light.position[1]"),
            ("@48", "lights[1].position"),
            ("@64", "weights"),
            ("@64[3]", "weights[3]"),
            ("@112", "weights[3]"),
            ("@144", "turn[1]"),
            ("scene@60", "lights[1].kind"),
        ] {
            assert_eq!(filled(&[(offset, "5")]), filled(&[(name, "5")]), "{offset}");
        }
        assert!(filled(&[("@18", "5")]).unwrap_err().contains("nothing begins at byte 18 of the push constants `scene`"));
        assert!(filled(&[("0:1@16", "5")]).unwrap_err().contains("is called `0:1@16`"));
    }

    /// A value must not go to two places, nor to the first of them.
    #[test]
    fn a_name_of_several_members_is_refused_with_all_of_them() {
        let layout = block();
        let uniform = Block { place: BlockPlace::UniformBuffer { set: 0, binding: 3 }, ..pushed(&layout, "view") };
        let blocks = [pushed(&layout, "scene"), uniform];
        let of = |name: &str| check(&blocks, &[], &[(name.to_owned(), "1".to_owned())]).map_err(|failure| failure.reason);
        insta::assert_snapshot!(of("width").unwrap_err(), @"`width` is the name of several members; say which one is meant: 0:3@0 in the uniform block `view` at 0:3, @0 in the push constants `scene`");
        for name in ["view.width", "scene.width", "@0", "0:3@0", "3@0", "view@0", "3.width"] {
            assert_eq!(of(name), Ok(()), "{name}");
        }
        assert!(unsaid(&blocks, &[], &Variables::new(1)).iter().all(|member| member.name.contains('@')));
        // A block that is filled as a whole has no members to give values to.
        assert_eq!(check(&blocks[..1], &blocks[1..], &[("width".to_owned(), "1".to_owned())]), Ok(()));
        let word = || TypeLayout::Scalar { scalar: ScalarType::U32 };
        let twice =
            StructLayout { type_name: String::new(), bytes: 8, members: vec![member("a", 0, word()), member("a", 4, word())] };
        let error = check(&[pushed(&twice, "")], &[], &[("a".to_owned(), "1".to_owned())]).unwrap_err().reason;
        assert!(error.contains("@0 in the push constants, @4 in"), "{error}");
    }

    #[test]
    fn all_that_is_not_said_is_told_at_once() {
        let of = |given: &[(&str, &str)]| {
            let given: Vec<(String, String)> = given.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect();
            unsaid(&[pushed(&block(), "scene")], &given, &Variables::new(1))
        };
        let told = |given: &[(&str, &str)]| check_said(&of(given)).map_err(|failure| failure.reason);
        insta::assert_snapshot!(told(&[("lights", "1")]).unwrap_err(), @"no value is given for `width` (uint), `light.kind` (uint), and which one is meant can't be told; add --push width=VALUE --push light.kind=VALUE");
        let kinds = [("width", "1"), ("scene.light.kind", "1"), ("lights[0].kind", "n"), ("lights[1]", "2")];
        assert_eq!(told(&kinds), Ok(()));
        let assumed: Vec<String> = (of(&kinds).iter())
            .map(|member| format!("{} {} {:?} {}", member.ty, member.name, member.assumed, member.numbers))
            .collect();
        assert_eq!(
            assumed,
            [
                "vec3 light.position Some(\"1\") 3",
                "vec3 lights[0].position Some(\"1\") 3",
                "float[4] weights Some(\"1\") 4",
                "mat2 turn Some(\"1\") 4"
            ]
        );
    }
}
