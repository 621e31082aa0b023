//! Members that specialization lays over each other.

use std::fmt;

use super::{MatrixOrder, MemberLayout, StructLayout, TypeLayout};

const ELEMENT: &str = "[]";

/// Two members, or two elements, of which one reaches into the other.
///
/// Offsets and strides are fixed where a module is compiled, lengths of arrays may be specialization constants: one that grows an array
/// within a block lays it over what follows, which SPIR-V forbids ("Shader Validation", explicit layouts) and no driver tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// Which one reaches too far, as in `lights[].weights`.
    pub member: String,
    /// Where it ends: bytes from the start of its struct, or of an array's element.
    pub end: u64,
    /// What it reaches into, and where that begins.
    pub next: (String, u64),
}

impl fmt::Display for Overlap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { member, end, next: (next, begin) } = self;
        write!(f, "`{member}` ends at byte {end}, and {next} begins at {begin}")
    }
}

/// What an [`Overlap`] is told from. Names may be long and many: they are put together only where there is something to tell.
struct MemberEnd<'l> {
    /// From the inside out: members' names, and `[]` for elements of arrays.
    path: Vec<&'l str>,
    end: u64,
    /// The member that it reaches into; otherwise that is the next element.
    next: Option<&'l str>,
    begin: u64,
}

impl<'l> MemberEnd<'l> {
    fn within(mut self, name: &'l str) -> Self {
        self.path.push(name);
        self
    }
}

impl StructLayout {
    /// The first two members, of this struct or of one in it, that overlap; `name` is what the struct is called.
    pub fn overlap(&self, name: &str) -> Option<Overlap> {
        let MemberEnd { path, end, next, begin } = self.reach()?;
        let called = |last: &str| {
            let mut called = name.to_owned();
            for part in path[1..].iter().rev().copied().chain([last]) {
                let dot = if called.is_empty() || part.is_empty() || part == ELEMENT { "" } else { "." };
                called = called + dot + part;
            }
            called
        };
        let next = next.map_or_else(|| "its next element".to_owned(), |next| format!("`{}`", called(next)));
        Some(Overlap { member: called(path[0]), end, next: (next, begin) })
    }

    fn reach(&self) -> Option<MemberEnd<'_>> {
        // What is too long within a member makes that too long: the inner one is the reason.
        let mut inner = self.members.iter().filter_map(|member| Some(member.ty.reach()?.within(&member.name)));
        inner.next().or_else(|| {
            let mut members: Vec<&MemberLayout> = self.members.iter().collect();
            members.sort_by_key(|member| member.offset);
            let mut pairs = members.iter().zip(members.iter().skip(1));
            pairs.find_map(|(member, next)| {
                let (end, begin) = (u64::from(member.offset).saturating_add(member.ty.extent()), u64::from(next.offset));
                (end > begin).then(|| MemberEnd { path: vec![&member.name], end, next: Some(&next.name), begin })
            })
        })
    }
}

impl TypeLayout {
    /// Bytes from the first that a value uses to the last: what a stride leaves behind the last of an array isn't among them.
    fn extent(&self) -> u64 {
        let last = |stride: u32, count: u64| u64::from(stride).saturating_mul(count.saturating_sub(1));
        match self {
            Self::Matrix { scalar, columns, rows, stride, order } => {
                let (vectors, numbers) = if *order == MatrixOrder::ColumnMajor { (columns, rows) } else { (rows, columns) };
                last(*stride, (*vectors).into()).saturating_add(scalar.bytes().saturating_mul((*numbers).into()))
            }
            Self::Array { length: 0, .. } | Self::RuntimeArray { .. } => 0,
            Self::Array { length, stride, element } => last(*stride, *length).saturating_add(element.extent()),
            Self::Struct(layout) => {
                let ends = layout.members.iter().map(|member| u64::from(member.offset).saturating_add(member.ty.extent()));
                ends.max().unwrap_or(0)
            }
            Self::Scalar { .. } | Self::Vector { .. } | Self::Pointer { .. } => self.bytes().unwrap_or(0),
        }
    }

    fn reach(&self) -> Option<MemberEnd<'_>> {
        match self {
            Self::Array { stride, element, .. } | Self::RuntimeArray { stride, element } => {
                let inner = element.reach().map(|reach| reach.within(ELEMENT));
                inner.or_else(|| {
                    let has_next = !matches!(self, Self::Array { length: 0 | 1, .. });
                    let (end, begin) = (element.extent(), u64::from(*stride));
                    (has_next && end > begin).then(|| MemberEnd { path: vec![ELEMENT], end, next: None, begin })
                })
            }
            Self::Struct(layout) => layout.reach(),
            Self::Scalar { .. } | Self::Vector { .. } | Self::Matrix { .. } | Self::Pointer { .. } => None,
        }
    }
}
