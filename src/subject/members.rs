//! The members of push constants and uniform blocks: by which names a user reaches them, and what they hold.

use std::borrow::Cow;

use super::expression::listed;
use super::fill::{self, Number};
use super::kernel::{even_threads, said, skipped};
use super::scalars;
use super::variables::Variables;
use crate::error::{nearest, suggestion};
use crate::model::Failure;
use crate::shader::{MatrixOrder, MemberLayout, ScalarType, StructLayout, TypeLayout};
use crate::units::Bytes;

/// How shaders call the number of what they work on.
const COUNTS: [&str; 10] = ["n", "count", "length", "len", "size", "total", "num", "elements", "num_elements", "element_count"];

/// How shaders call a vector that is an extent, in lower case and without underscores, and what may stand before: `image_size`.
const EXTENTS: [&str; 6] = ["size", "resolution", "dimensions", "dims", "dim", "extent"];
const BEFORE_EXTENTS: [&str; 9] = ["", "u", "i", "image", "texture", "input", "output", "grid", "screen"];

struct Place<'l> {
    at: u64,
    /// A type of the block's, or a part of a vector or a matrix, which has none of its own there.
    ty: Cow<'l, TypeLayout>,
}

#[derive(Debug, PartialEq)]
enum Lost {
    Unknown,
    Beyond { array: String, length: u64 },
}

// ---- names ----------------------------------------------------------------------------------------------------------------

/// The numbers of a block that a name means: `width`, `light.position`, `lights[2].color`, or any of these behind the block's own
/// name and a dot.
fn find<'l>(layout: &'l StructLayout, block: &str, name: &str) -> Result<Place<'l>, Lost> {
    let plain = || name.strip_prefix(block)?.strip_prefix('.').filter(|_| !block.is_empty());
    match (in_struct(layout, 0, name, ""), plain()) {
        (Err(Lost::Unknown), Some(plain)) => in_struct(layout, 0, plain, ""),
        (found, _) => found,
    }
}

fn in_struct<'l>(layout: &'l StructLayout, at: u64, path: &str, before: &str) -> Result<Place<'l>, Lost> {
    let end = path.find(['.', '[']).unwrap_or(path.len());
    let (name, rest) = path.split_at(end);
    let member = layout.members.iter().find(|member| member.name == name && !name.is_empty()).ok_or(Lost::Unknown)?;
    in_type(Cow::Borrowed(&member.ty), at.saturating_add(member.offset.into()), rest, &format!("{before}{name}"))
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

/// All names of a block but for indexes above 0: of structs those of their members.
fn names(layout: &StructLayout) -> Vec<String> {
    let of_member = |member: &MemberLayout| names_in(&member.ty, member.name.clone());
    layout.members.iter().flat_map(of_member).collect()
}

fn names_in(ty: &TypeLayout, name: String) -> Vec<String> {
    match ty {
        TypeLayout::Struct(layout) => names(layout).into_iter().map(|member| format!("{name}.{member}")).collect(),
        TypeLayout::Array { element, .. } if has_struct(element) => names_in(element, format!("{name}[0]")),
        _ => vec![name],
    }
}

fn has_struct(ty: &TypeLayout) -> bool {
    match ty {
        TypeLayout::Struct(_) => true,
        TypeLayout::Array { element, .. } => has_struct(element),
        _ => false,
    }
}

/// Whether each name that a value is given for means something in one of the blocks.
pub(super) fn check(blocks: &[(&str, &StructLayout)], given: &[(String, String)]) -> Result<(), Failure> {
    for (name, _) in given {
        let lost: Vec<Lost> = blocks.iter().filter_map(|(block, layout)| find(layout, block, name).err()).collect();
        if lost.len() < blocks.len() {
            continue;
        }
        if blocks.is_empty() {
            return Err(said(format!(
                "`{name}` is given a value, but the shader has neither push constants nor uniform blocks"
            )));
        }
        if let Some(Lost::Beyond { array, length }) = lost.iter().find(|lost| matches!(lost, Lost::Beyond { .. })) {
            return Err(said(format!("`{name}` leads beyond `{array}`, which has {length} elements")));
        }
        let known: Vec<String> = blocks.iter().flat_map(|(_, layout)| names(layout)).collect();
        // An index that is there has to match none.
        let plain = blocks.iter().find_map(|(block, _)| name.strip_prefix(block)?.strip_prefix('.')).unwrap_or(name);
        let near = suggestion(&nearest(plain, known.iter().map(String::as_str)));
        return Err(said(format!("no push constant or uniform is called `{name}`; there are {}{near}", known.join(", "))));
    }
    Ok(())
}

// ---- values ---------------------------------------------------------------------------------------------------------------

/// The bytes of a block whose members are given by name: where nothing is said counts are `n`, vectors called size or alike the
/// invocations that there are to be, and floats 1.
pub(super) fn fill(
    layout: &StructLayout,
    block: &str,
    bytes: u64,
    given: &[(String, String)],
    variables: &Variables,
) -> Result<Vec<u8>, Failure> {
    let mut filling = Filling::new(bytes, variables);
    let found: Vec<(&str, &str, Place)> =
        given.iter().filter_map(|(name, text)| Some((&name[..], &text[..], find(layout, block, name).ok()?))).collect();
    for (i, (name, text, place)) in found.iter().enumerate() {
        // The last one wins: the command line's stand behind the manifest's. What was said before of a part, or of the whole, holds for
        // the rest.
        let is_same = |(_, _, later): &(&str, &str, Place)| later.at == place.at && later.ty == place.ty;
        if !found[i + 1..].iter().any(is_same) {
            filling.assign(name, text, place)?;
        }
    }
    for leaf in leaves(layout, bytes) {
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

pub(super) fn check_size(block: &str, bytes: u64) -> Result<(), Failure> {
    if bytes <= LARGEST {
        return Ok(());
    }
    let (has, most) = (Bytes(bytes), Bytes(LARGEST));
    Err(said(format!(
        "`{block}` has {has}, and at most {most} can be filled member by member; --buffer {block}=:zero fills a uniform block as a whole"
    )))
}

pub(super) fn unsaid(
    layout: &StructLayout,
    block: &str,
    bytes: u64,
    given: &[(String, String)],
    variables: &Variables,
) -> Vec<Unsaid> {
    let mut filling = Filling::new(bytes, variables);
    for place in given.iter().filter_map(|(name, _)| find(layout, block, name).ok()) {
        filling.numbers(&place.ty, place.at).into_iter().for_each(|(at, _)| filling.mark(at));
    }
    let of_leaf = |leaf: Leaf| {
        let open = filling.open(&leaf);
        open.first()?;
        let values: Option<Vec<String>> = open.iter().map(|number| number.default(&leaf, variables)).collect();
        let assumed = values.map(|mut values| {
            let is_one = values.iter().all(|value| *value == values[0]);
            values.truncate(if is_one { 1 } else { values.len() });
            values.join(",")
        });
        Some(Unsaid { ty: leaf.ty.to_string(), assumed, numbers: open.len(), name: leaf.path })
    };
    leaves(layout, bytes).into_iter().filter_map(of_leaf).collect()
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
    Err(said(format!(
        "no value is given for {}{more}, and which one is meant can't be told; add {}",
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
    /// is `n` would send the shader far beyond its buffers, and nothing would tell.
    fn default(&self, leaf: &Leaf, variables: &Variables) -> Option<String> {
        if let (TypeLayout::Vector { components: 2..=3, .. }, Some(threads)) = (leaf.ty, variables.threads) {
            let name = leaf.own.to_lowercase().replace('_', "");
            let is_extent = |before: &str| name.strip_prefix(before).is_some_and(|rest| EXTENTS.contains(&rest));
            if BEFORE_EXTENTS.iter().any(|before| is_extent(before)) {
                // A shader of one direction goes over pictures as well, which have as many texels in each of theirs.
                let is_flat = threads == [variables.n, 1, 1];
                let spread = even_threads(variables.n, [true, true, false]);
                return Some(if is_flat { spread } else { threads }[self.index].to_string());
            }
        }
        let is_count = COUNTS.contains(&leaf.own);
        if self.scalar.is_float() { Some("1".to_owned()) } else { is_count.then(|| "n".to_owned()) }
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

    /// `--threads` tells what a vector of that name is, be it of whole numbers or not.
    #[test]
    fn an_extent_is_what_the_invocations_cover() {
        use ScalarType::{F32, U32};
        let vector = |name: &str, offset, scalar, components| member(name, offset, TypeLayout::Vector { scalar, components });
        let members = vec![vector("image_size", 0, U32, 2), vector("iResolution", 16, F32, 3), vector("cell_size", 32, F32, 2)];
        let layout = StructLayout { type_name: "P".into(), bytes: 40, members };
        let told = |variables: &Variables| unsaid(&layout, "", 40, &[], variables).into_iter().map(|member| member.assumed);
        let assumed = |values: [Option<&str>; 3]| values.map(|value| value.map(str::to_owned));
        let mut variables = Variables::new(64);
        assert!(told(&variables).eq(assumed([None, Some("1"), Some("1")])));
        variables.threads = Some([32, 8, 1]);
        assert!(told(&variables).eq(assumed([Some("32,8"), Some("32,8,1"), Some("1")])));
        let bytes = fill(&layout, "", 40, &[], &variables).unwrap();
        assert_eq!((whole(&bytes, 0), whole(&bytes, 4), float(&bytes, 16), float(&bytes, 24)), (32, 8, 32.0, 1.0));
        // As images of so many texels are.
        variables.threads = Some([64, 1, 1]);
        assert!(told(&variables).eq(assumed([Some("8"), Some("8,8,1"), Some("1")])));
    }

    fn filled(given: &[(&str, &str)]) -> Result<Vec<u8>, String> {
        let whole = ["width", "light.kind", "lights[0].kind", "lights[1].kind"].map(|name| (name, "9"));
        let given: Vec<(String, String)> =
            whole.iter().chain(given).map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        check(&[("scene", &block())], &given).map_err(|failure| failure.reason)?;
        fill(&block(), "scene", 160, &given, &Variables::new(64)).map_err(|failure| failure.reason)
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

    #[test]
    fn all_that_is_not_said_is_told_at_once() {
        let of = |given: &[(&str, &str)]| {
            let given: Vec<(String, String)> = given.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect();
            unsaid(&block(), "scene", 160, &given, &Variables::new(1))
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
