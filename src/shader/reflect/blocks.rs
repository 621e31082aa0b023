//! The blocks of buffers and of push constants: how large they are, and where each member lies.
//!
//! Offsets and strides are the module's own: the GLSL compiler has worked out std140, std430 and scalar layouts by then.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use rspirv::spirv::Word;
use serde::Serialize;

use super::addresses::Pointee;
use super::constants::Values;
use super::interface::Interface;
use super::types::{Member, POINTER_BYTES, TypeNode, Types};
use super::{ReflectError, ScalarType, reads};

/// Types within types that are followed; SPIR-V's own limit for the nesting of structs.
const DEEPEST: u32 = 255;
/// Types that are described for one module. A struct of two structs of two structs and so on doubles with every line.
const MOST_TYPES: u32 = 1 << 16;

/// A buffer's or push constants' block: what the module says lies in that memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BlockInfo {
    #[serde(flatten)]
    pub place: BlockPlace,
    /// The variable's name, or the block's where the variable has none; may be empty.
    pub name: String,
    pub layout: StructLayout,
    /// The bytes that functions read, as far as that can be followed: no others need a value.
    #[serde(skip)]
    pub reads: Vec<Range<u64>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum BlockPlace {
    StorageBuffer { set: u32, binding: u32 },
    UniformBuffer { set: u32, binding: u32 },
    PushConstants,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StructLayout {
    /// The struct's name in the source; may be empty.
    pub type_name: String,
    /// Bytes up to the end of the last member, without padding behind it. A runtime array counts up to its first element.
    pub bytes: u64,
    /// Its members, in the order of their declarations. Only the last one of a block may be a runtime array.
    pub members: Vec<MemberLayout>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemberLayout {
    pub name: String,
    /// Where it begins: bytes from the start of its struct.
    pub offset: u32,
    #[serde(rename = "type")]
    pub ty: TypeLayout,
}

/// A type with an explicit layout. It displays itself as GLSL writes it: `uint`, `mat3x2`, `Particle[4][]`.
///
/// Strides are bytes from one element to the next, or from one of a matrix's vectors to the next in its order. An array's length is that
/// under the specialization that was asked for, a runtime array's only the buffer's size says. A pointer is the address of a block (a
/// GLSL buffer reference), 8 bytes; the name of the type that it leads to may be empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TypeLayout {
    Scalar {
        scalar: ScalarType,
    },
    Vector {
        scalar: ScalarType,
        components: u32,
    },
    Matrix {
        scalar: ScalarType,
        columns: u32,
        rows: u32,
        stride: u32,
        order: MatrixOrder,
    },
    Array {
        length: u64,
        stride: u32,
        element: Box<TypeLayout>,
    },
    RuntimeArray {
        stride: u32,
        element: Box<TypeLayout>,
    },
    Struct(StructLayout),
    Pointer {
        to: String,
        #[serde(skip)]
        pointee: Pointee,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MatrixOrder {
    ColumnMajor,
    RowMajor,
}

impl BlockInfo {
    /// Bytes from one element of the runtime array at its end to the next; nothing for a block of fixed size.
    pub fn runtime_stride(&self) -> Option<u32> {
        match self.layout.members.last()?.ty {
            TypeLayout::RuntimeArray { stride, .. } => Some(stride),
            _ => None,
        }
    }

    /// Bytes of a buffer whose runtime array has so many elements; of a block of fixed size, its size. Nothing beyond 64 bits.
    pub fn bytes_with(&self, elements: u64) -> Option<u64> {
        let stride = self.runtime_stride().unwrap_or(0);
        elements.checked_mul(stride.into())?.checked_add(self.layout.bytes)
    }
}

impl TypeLayout {
    /// Bytes that a value takes, without padding behind it; nothing for a runtime array.
    pub fn bytes(&self) -> Option<u64> {
        let times = |stride: u32, count: u64| u64::from(stride).saturating_mul(count);
        Some(match self {
            Self::Scalar { scalar } => scalar.bytes(),
            Self::Vector { scalar, components } => scalar.bytes().saturating_mul((*components).into()),
            Self::Matrix { columns, stride, order: MatrixOrder::ColumnMajor, .. } => times(*stride, (*columns).into()),
            Self::Matrix { rows, stride, order: MatrixOrder::RowMajor, .. } => times(*stride, (*rows).into()),
            Self::Array { length, stride, .. } => times(*stride, *length),
            Self::RuntimeArray { .. } => return None,
            Self::Struct(layout) => layout.bytes,
            Self::Pointer { .. } => POINTER_BYTES,
        })
    }
}

impl fmt::Display for TypeLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut element, mut lengths) = (self, String::new());
        loop {
            element = match element {
                Self::Array { length, element, .. } => {
                    lengths.push_str(&format!("[{length}]"));
                    element
                }
                Self::RuntimeArray { element, .. } => {
                    lengths.push_str("[]");
                    element
                }
                _ => break,
            };
        }
        if let Self::Matrix { order: MatrixOrder::RowMajor, .. } = element {
            f.write_str("row_major ")?;
        }
        match element {
            Self::Scalar { scalar } => write!(f, "{scalar}")?,
            Self::Vector { scalar, components } => write!(f, "{}vec{components}", scalar.prefix())?,
            Self::Matrix { scalar, columns, rows, .. } if columns == rows => write!(f, "{}mat{columns}", scalar.prefix())?,
            Self::Matrix { scalar, columns, rows, .. } => write!(f, "{}mat{columns}x{rows}", scalar.prefix())?,
            Self::Struct(StructLayout { type_name: name, .. }) => f.write_str(if name.is_empty() { "struct" } else { name })?,
            Self::Pointer { to, .. } => f.write_str(if to.is_empty() { "pointer" } else { to })?,
            // The loop above has taken these off.
            Self::Array { .. } | Self::RuntimeArray { .. } => {}
        }
        f.write_str(&lengths)
    }
}

pub(super) fn describe(interface: &Interface, types: &Types, values: &Values) -> Result<Vec<BlockInfo>, ReflectError> {
    let mut describer = Describer { types, values, sizes: types.explicit(values), types_left: MOST_TYPES };
    let mut blocks = Vec::new();
    for (place, name, ty, paths) in interface.blocks() {
        let Some(TypeLayout::Struct(layout)) = describer.layout(ty, None, DEEPEST) else {
            return Err(ReflectError::Size { name: name.to_owned() });
        };
        let reads = paths.iter().map(|path| reads::bytes(&layout, path)).collect();
        blocks.push(BlockInfo { place, name: name.to_owned(), layout, reads });
    }
    Ok(blocks)
}

/// A type's layout; nothing where it has none.
pub(super) fn layout_of(ty: Word, types: &Types, values: &Values) -> Option<TypeLayout> {
    Describer { types, values, sizes: types.explicit(values), types_left: MOST_TYPES }.layout(ty, None, DEEPEST)
}

struct Describer<'a> {
    types: &'a Types,
    values: &'a Values,
    sizes: HashMap<Word, u64>,
    types_left: u32,
}

/// How a struct's member lays out its matrix, or the matrices of its array.
type MatrixLayout = Option<(u32, MatrixOrder)>;

impl Describer<'_> {
    /// A type's layout; nothing where it has none, or where it nests deeper than `levels`.
    fn layout(&mut self, ty: Word, matrix: MatrixLayout, levels: u32) -> Option<TypeLayout> {
        let levels = levels.checked_sub(1)?;
        self.types_left = self.types_left.checked_sub(1)?;
        Some(match self.types.get(ty)? {
            TypeNode::Scalar(scalar) => TypeLayout::Scalar { scalar: *scalar },
            TypeNode::Vector { component, count } => {
                TypeLayout::Vector { scalar: self.types.scalar(*component)?, components: *count }
            }
            TypeNode::Matrix { column, count } => {
                let TypeNode::Vector { component, count: rows } = self.types.get(*column)? else { return None };
                let (stride, order) = matrix?;
                let scalar = self.types.scalar(*component)?;
                TypeLayout::Matrix { scalar, columns: *count, rows: *rows, stride, order }
            }
            TypeNode::Array { element, length, stride } => {
                let (length, stride) = (self.values.length(*length)?, (*stride)?);
                TypeLayout::Array { length, stride, element: Box::new(self.layout(*element, matrix, levels)?) }
            }
            TypeNode::RuntimeArray { element, stride } => {
                let stride = (*stride)?;
                TypeLayout::RuntimeArray { stride, element: Box::new(self.layout(*element, matrix, levels)?) }
            }
            TypeNode::Struct { name, members, .. } => {
                let bytes = *self.sizes.get(&ty)?;
                let members = members.iter().map(|member| self.member(member, levels)).collect::<Option<_>>()?;
                TypeLayout::Struct(StructLayout { type_name: name.clone(), bytes, members })
            }
            TypeNode::Pointer { pointee, .. } => TypeLayout::Pointer {
                pointee: Pointee(*pointee),
                to: match self.types.get(*pointee) {
                    Some(TypeNode::Struct { name, .. }) => name.clone(),
                    _ => String::new(),
                },
            },
            TypeNode::Image { .. } | TypeNode::Sampler | TypeNode::SampledImage { .. } | TypeNode::Opaque => return None,
        })
    }

    fn member(&mut self, member: &Member, levels: u32) -> Option<MemberLayout> {
        let order = if member.row_major { MatrixOrder::RowMajor } else { MatrixOrder::ColumnMajor };
        let matrix = member.matrix_stride.map(|stride| (stride, order));
        let ty = self.layout(member.ty, matrix, levels)?;
        Some(MemberLayout { name: member.name.clone(), offset: member.offset?, ty })
    }
}
