//! Members that specialization lays over each other.

use std::fmt;

use super::{MatrixOrder, MemberLayout, StructLayout, TypeLayout};

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

impl StructLayout {
    /// The first two members, of this struct or of one in it, that overlap; `name` is what the struct is called.
    pub fn overlap(&self, name: &str) -> Option<Overlap> {
        let mut members: Vec<&MemberLayout> = self.members.iter().collect();
        members.sort_by_key(|member| member.offset);
        let called = |member: &MemberLayout| {
            let parts = [name, &member.name].into_iter().filter(|part| !part.is_empty());
            parts.collect::<Vec<_>>().join(".")
        };
        let pairs = members.iter().zip(members.iter().skip(1));
        let reaching = |(member, next): (&&MemberLayout, &&MemberLayout)| {
            let end = u64::from(member.offset).saturating_add(member.ty.extent());
            let next = (format!("`{}`", called(next)), u64::from(next.offset));
            (end > next.1).then(|| Overlap { member: called(member), end, next })
        };
        // What is too long within a member makes that too long.
        let mut inner = members.iter().filter_map(|member| member.ty.overlap(&called(member)));
        inner.next().or_else(|| pairs.filter_map(reaching).next())
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

    fn overlap(&self, name: &str) -> Option<Overlap> {
        match self {
            Self::Array { stride, element, .. } | Self::RuntimeArray { stride, element } => {
                let name = format!("{name}[]");
                let has_next = !matches!(self, Self::Array { length: 0 | 1, .. });
                let reaching = has_next && element.extent() > (*stride).into();
                let overlap = || Overlap {
                    member: name.clone(),
                    end: element.extent(),
                    next: ("its next element".to_owned(), (*stride).into()),
                };
                element.overlap(&name).or_else(|| reaching.then(overlap))
            }
            Self::Struct(layout) => layout.overlap(name),
            Self::Scalar { .. } | Self::Vector { .. } | Self::Matrix { .. } | Self::Pointer { .. } => None,
        }
    }
}
