//! The numbers in a buffer, one by one.

use std::cmp::Ordering;
use std::fmt;

use rayon::prelude::*;

use crate::shader::{MatrixOrder, MemberLayout, ScalarType, StructLayout, TypeLayout};

#[cfg(test)]
fn for_each(layout: &StructLayout, bytes: u64, visit: &mut dyn FnMut(u64, ScalarType)) {
    parts(layout, bytes).iter().for_each(|part| part.for_each(&mut |at, scalar, _| visit(at, scalar)));
}

/// Calls for each number of a block in a buffer, as [`Part::for_each`], on all processors: with its own bytes, its type, and how many
/// numbers are before it. Elements of arrays don't overlap: such blocks are refused.
pub(super) fn fill(layout: &StructLayout, buffer: &mut [u8], write: &(impl Fn(&mut [u8], ScalarType, u64) + Sync)) {
    let parts = parts(layout, buffer.len() as u64);
    // Writes what a part has; the bytes are those from `base` on. Gives how many numbers there are up to its end.
    let filled = |part: &Part, bytes: &mut [u8], base: u64, before: u64| {
        let mut index = before;
        part.for_each(&mut |at, scalar, _| {
            let start = usize::try_from(at - base).unwrap_or(usize::MAX);
            write(&mut bytes[start..][..usize::try_from(scalar.bytes()).unwrap_or(usize::MAX)], scalar, index);
            index += 1;
        });
        index
    };
    let Some((head, arrays)) = parts.split_first() else { return };
    let before = filled(head, buffer, 0, 0);
    let Some(Array { element, at: first, stride, .. }) = arrays.first().and_then(|part| part.array) else { return };
    let mut numbers = 0;
    of_type(element, first, buffer.len() as u64, 0, &mut |_, _, _| numbers += 1);
    let (start, length) = (usize::try_from(first), usize::try_from(ELEMENTS * u64::from(stride)));
    let (Ok(start), Ok(length)) = (start, length) else { return };
    let chunks = buffer[start..].par_chunks_mut(length).zip(arrays).enumerate();
    chunks.for_each(|(i, (bytes, part))| {
        let base = first + (i * length) as u64;
        filled(part, bytes, base, before + i as u64 * ELEMENTS * numbers);
    });
}

/// What a buffer's array consists of, one by one: that at its end, with a length or without. What stands before it is one.
pub(super) fn elements(layout: &StructLayout, bytes: u64) -> Vec<Part<'_>> {
    let Some((last, head)) = layout.members.split_last() else { return parts(layout, bytes) };
    let at = u64::from(last.offset);
    let (length, stride, element) = match &last.ty {
        TypeLayout::RuntimeArray { stride, element } => (fitting(at, *stride, bytes), *stride, element),
        TypeLayout::Array { length, stride, element } => (*length, *stride, element),
        _ => return parts(layout, bytes),
    };
    let part = |members, array| Part { members, array, end: bytes };
    let column = columns(head);
    let array = |at| Array { element: element.as_ref(), at, stride, count: 1, column };
    let each = offsets(at, stride, length).map(|place| part(&[], Some(array(place))));
    std::iter::once(part(head, None)).chain(each).collect()
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    /// A whole number of up to 64 bits, and what isn't known to be anything else: its bits.
    Whole(i64),
    Real(f64),
}

impl Number {
    pub(super) fn of(scalar: ScalarType, bytes: &[u8]) -> Self {
        real(scalar, bytes).map_or_else(|| Self::Whole(whole(scalar, bytes)), Self::Real)
    }

    /// An order in which all numbers have their place.
    pub(super) fn order(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Whole(one), Self::Whole(other)) => one.cmp(&other),
            (Self::Real(one), Self::Real(other)) => one.total_cmp(&other),
            (Self::Whole(_), Self::Real(_)) => Ordering::Less,
            (Self::Real(_), Self::Whole(_)) => Ordering::Greater,
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(whole) => write!(f, "{whole}"),
            Self::Real(real) => write!(f, "{real:?}"),
        }
    }
}

/// A float's value; nothing for whole numbers, and for floats of 8 bits, whose encoding isn't known.
fn real(scalar: ScalarType, bytes: &[u8]) -> Option<f64> {
    Some(match scalar {
        ScalarType::F64 => f64::from_ne_bytes(bytes.try_into().ok()?),
        ScalarType::F32 => f32::from_ne_bytes(bytes.try_into().ok()?).into(),
        ScalarType::F16 => half::f16::from_ne_bytes(bytes.try_into().ok()?).to_f64(),
        ScalarType::OtherFloat(2) => half::bf16::from_ne_bytes(bytes.try_into().ok()?).to_f64(),
        _ => return None,
    })
}

/// A whole number's value; of 64 bits without a sign, and of what isn't known to be a number, the bits.
fn whole(scalar: ScalarType, bytes: &[u8]) -> i64 {
    let wide = i64::from_ne_bytes(wide(bytes).to_ne_bytes());
    let above = 64 - 8 * bytes.len().clamp(1, 8);
    if scalar.is_signed() { wide << above >> above } else { wide }
}

/// Up to eight bytes as a number.
pub(super) fn wide(bytes: &[u8]) -> u64 {
    let mut wide = [0; 8];
    let length = bytes.len().min(8);
    wide[..length].copy_from_slice(&bytes[..length]);
    u64::from_le_bytes(wide)
}

/// Elements of a runtime array in a part.
const ELEMENTS: u64 = 1 << 16;

/// A stretch of a buffer: all but the runtime array at its end, or some elements of that.
pub(super) struct Part<'l> {
    members: &'l [MemberLayout],
    array: Option<Array<'l>>,
    end: u64,
}

/// Elements of the runtime array.
#[derive(Clone, Copy)]
struct Array<'l> {
    element: &'l TypeLayout,
    /// Where the first one is.
    at: u64,
    stride: u32,
    count: u64,
    /// The column of an element's first number.
    column: u32,
}

/// The parts of a buffer, in its order; each can be looked at by itself.
pub(super) fn parts(layout: &StructLayout, bytes: u64) -> Vec<Part<'_>> {
    let part = |members, array| Part { members, array, end: bytes };
    match layout.members.split_last() {
        Some((MemberLayout { offset, ty: TypeLayout::RuntimeArray { stride, element }, .. }, head)) => {
            let (at, width) = (u64::from(*offset), u64::from(*stride));
            let length = fitting(at, *stride, bytes);
            let starts = (0..length.div_ceil(ELEMENTS)).map(|i| i * ELEMENTS);
            let column = columns(head);
            let arrays = starts.map(|first| Array {
                element: element.as_ref(),
                at: at + first * width,
                stride: *stride,
                count: ELEMENTS.min(length - first),
                column,
            });
            std::iter::once(part(head, None)).chain(arrays.map(|array| part(&[], Some(array)))).collect()
        }
        _ => vec![part(&layout.members[..], None)],
    }
}

impl Part<'_> {
    /// Calls for each number: its offset, its type, and its column. A runtime array ends with the buffer, with its last whole element;
    /// padding and addresses are left out. Numbers of one column are the same member or component, of all elements of arrays.
    pub(super) fn for_each(&self, visit: &mut dyn FnMut(u64, ScalarType, u32)) {
        let mut column = 0;
        for member in self.members {
            of_type(&member.ty, member.offset.into(), self.end, column, visit);
            column += leaves(&member.ty);
        }
        if let Some(Array { element, at, stride, count, column }) = self.array {
            for place in offsets(at, stride, count) {
                of_type(element, place, self.end, column, visit);
            }
        }
    }

    /// Where it begins, and how many bytes an element of it takes; of what isn't the runtime array, about that.
    pub(super) fn grain(&self) -> (u64, u64) {
        let head = || (0, 4 * u64::from(columns(self.members).max(1)));
        self.array.map_or_else(head, |array| (array.at, array.stride.max(1).into()))
    }
}

/// How many columns the numbers of a block have.
pub(super) fn columns(members: &[MemberLayout]) -> u32 {
    members.iter().map(|member| leaves(&member.ty)).sum()
}

fn leaves(ty: &TypeLayout) -> u32 {
    match ty {
        TypeLayout::Scalar { .. } => 1,
        TypeLayout::Vector { components, .. } => *components,
        TypeLayout::Matrix { columns, rows, .. } => columns * rows,
        TypeLayout::Array { element, .. } | TypeLayout::RuntimeArray { element, .. } => leaves(element),
        TypeLayout::Struct(layout) => columns(&layout.members),
        TypeLayout::Pointer { .. } => 0,
    }
}

/// As [`Part::for_each`], of a value of this type that begins here, the first number being of this column.
pub(super) fn of_type(ty: &TypeLayout, at: u64, end: u64, column: u32, visit: &mut dyn FnMut(u64, ScalarType, u32)) {
    match ty {
        TypeLayout::Scalar { scalar } => one(*scalar, at, end, column, visit),
        TypeLayout::Vector { scalar, components } => vector((*scalar, *components), at, end, column, visit),
        TypeLayout::Matrix { scalar, columns, rows, stride, order } => {
            let (vectors, length) = match order {
                MatrixOrder::ColumnMajor => (*columns, *rows),
                MatrixOrder::RowMajor => (*rows, *columns),
            };
            for (place, i) in offsets(at, *stride, vectors.into()).zip(0..) {
                vector((*scalar, length), place, end, column + i * length, visit);
            }
        }
        TypeLayout::Array { length, stride, element } => {
            for place in offsets(at, *stride, *length).take_while(|place| *place < end) {
                of_type(element, place, end, column, visit);
            }
        }
        TypeLayout::RuntimeArray { stride, element } => {
            for place in offsets(at, *stride, fitting(at, *stride, end)) {
                of_type(element, place, end, column, visit);
            }
        }
        TypeLayout::Struct(layout) => {
            let mut column = column;
            for member in &layout.members {
                of_type(&member.ty, at.saturating_add(member.offset.into()), end, column, visit);
                column += leaves(&member.ty);
            }
        }
        TypeLayout::Pointer { .. } => {}
    }
}

/// How many elements a runtime array has that begins here.
fn fitting(at: u64, stride: u32, end: u64) -> u64 {
    end.saturating_sub(at).checked_div(stride.into()).unwrap_or(0)
}

fn offsets(at: u64, stride: u32, count: u64) -> impl Iterator<Item = u64> {
    (0..count).map(move |i| at.saturating_add(i.saturating_mul(stride.into())))
}

fn vector(
    (scalar, components): (ScalarType, u32),
    at: u64,
    end: u64,
    column: u32,
    visit: &mut dyn FnMut(u64, ScalarType, u32),
) {
    for i in 0..components {
        one(scalar, at.saturating_add(u64::from(i) * scalar.bytes()), end, column + i, visit);
    }
}

fn one(scalar: ScalarType, at: u64, end: u64, column: u32, visit: &mut dyn FnMut(u64, ScalarType, u32)) {
    if at.checked_add(scalar.bytes()).is_some_and(|after| after <= end) {
        visit(at, scalar, column);
    }
}

/// A block that is nothing but numbers of one type, up to the buffer's end.
pub(super) fn plain(scalar: ScalarType) -> StructLayout {
    let stride = u32::try_from(scalar.bytes()).unwrap_or(u32::MAX);
    let ty = TypeLayout::RuntimeArray { stride, element: Box::new(TypeLayout::Scalar { scalar }) };
    StructLayout { type_name: String::new(), bytes: 0, members: vec![MemberLayout { name: String::new(), offset: 0, ty }] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visited(layout: &StructLayout, bytes: u64) -> Vec<(u64, ScalarType)> {
        let mut all = Vec::new();
        for_each(layout, bytes, &mut |at, scalar| all.push((at, scalar)));
        all
    }

    #[test]
    fn every_number_is_met_once_and_padding_never() {
        use ScalarType::{F32, U32};
        let member = |offset, ty| MemberLayout { name: String::new(), offset, ty };
        let particle = StructLayout {
            type_name: "Particle".into(),
            bytes: 16,
            members: vec![
                member(0, TypeLayout::Vector { scalar: F32, components: 3 }),
                member(12, TypeLayout::Scalar { scalar: U32 }),
            ],
        };
        let matrix = TypeLayout::Matrix { scalar: F32, columns: 2, rows: 3, stride: 16, order: MatrixOrder::ColumnMajor };
        let block = StructLayout {
            type_name: "MemberBlock".into(),
            bytes: 48,
            members: vec![
                member(0, TypeLayout::Scalar { scalar: U32 }),
                member(16, matrix),
                member(48, TypeLayout::RuntimeArray { stride: 16, element: Box::new(TypeLayout::Struct(particle)) }),
            ],
        };
        let head = [0, 16, 20, 24, 32, 36, 40];
        let places: Vec<u64> = visited(&block, 48 + 16 + 15).into_iter().map(|(at, _)| at).collect();
        assert_eq!(places, [&head[..], &[48, 52, 56, 60]].concat());
        assert_eq!(visited(&block, 48 + 16).last(), Some(&(60, U32)));
        assert_eq!(visited(&plain(F32), 11), [(0, F32), (4, F32)]);
    }

    #[test]
    fn a_buffer_is_filled_in_its_order_on_all_processors() {
        let member = |offset, ty| MemberLayout { name: String::new(), offset, ty };
        let pair = || Box::new(TypeLayout::Vector { scalar: ScalarType::U32, components: 2 });
        for stride in [8, 12] {
            let members = vec![
                member(0, TypeLayout::Scalar { scalar: ScalarType::U32 }),
                member(8, TypeLayout::RuntimeArray { stride, element: pair() }),
            ];
            let layout = StructLayout { type_name: String::new(), bytes: 8, members };
            let bytes = 8 + (2 * ELEMENTS + 7) * u64::from(stride) + 3;
            let (mut expected, mut filled) =
                (vec![0xff; usize::try_from(bytes).unwrap()], vec![0xff; usize::try_from(bytes).unwrap()]);
            let mut index = 0_u32;
            for_each(&layout, bytes, &mut |at, _| {
                expected[usize::try_from(at).unwrap()..][..4].copy_from_slice(&index.to_ne_bytes());
                index += 1;
            });
            fill(&layout, &mut filled, &|bytes, _, index| bytes.copy_from_slice(&u32::try_from(index).unwrap().to_ne_bytes()));
            assert!(filled == expected, "stride {stride}");
        }
    }
}
