//! The blocks of buffers and of push constants: how large they are, and where each member lies.
//!
//! Offsets and strides are the module's own: the GLSL compiler has worked out std140, std430 and scalar layouts by then.

use std::collections::HashMap;
use std::fmt;

use rspirv::spirv::Word;
use serde::Serialize;

use super::constants::Values;
use super::interface::Interface;
use super::types::{Member, POINTER_BYTES, TypeNode, Types};
use super::{ReflectError, ScalarType};

/// Types within types that are followed; SPIR-V's own limit for the nesting of structs.
const DEEPEST: u32 = 255;
/// Types that are described for one module. A struct of two structs of two structs and so on doubles with every line.
const MOST_TYPES: u32 = 1 << 16;

/// A buffer's or push constants' block: what the module says lies in that memory.
///
/// ```
/// use lanescope::model::SpirvTarget;
/// use lanescope::shader::{BlockPlace, Compiler, Library};
///
/// let source = "#version 460
///     struct Particle { vec3 position; float mass; };
///     layout(binding = 0) readonly buffer Particles { uint count; Particle particles[]; };
///     layout(binding = 1) writeonly buffer Masses { float masses[]; };
///     void main() { masses[0] = count > 0 ? particles[0].mass : 0; }";
/// let mut compiler = Compiler::new(Library::embedded().with("particles.comp", source))?;
/// let module = compiler.compile("particles.comp", &[], SpirvTarget::default())?;
///
/// let blocks = module.reflection.blocks(&[].into())?;
/// let particles = &blocks[0];
/// assert_eq!(particles.place, BlockPlace::StorageBuffer { set: 0, binding: 0 });
/// assert_eq!((particles.layout.bytes, particles.runtime_stride()), (16, Some(16)));
/// assert_eq!(particles.bytes_with(100), Some(16 + 100 * 16));
/// let members: Vec<_> = particles.layout.members.iter().map(|m| format!("{}: {} {}", m.offset, m.ty, m.name)).collect();
/// assert_eq!(members, ["0: uint count", "16: Particle[] particles"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BlockInfo {
    #[serde(flatten)]
    pub place: BlockPlace,
    /// The variable's name, or the block's where the variable has none; may be empty.
    pub name: String,
    pub layout: StructLayout,
}

/// Where a block is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum BlockPlace {
    /// A storage buffer, GLSL's `buffer`.
    StorageBuffer {
        set: u32,
        binding: u32,
    },
    /// A uniform buffer, GLSL's `uniform` block.
    UniformBuffer {
        set: u32,
        binding: u32,
    },
    PushConstants,
}

/// A struct with an explicit layout.
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
    /// Its name in the source; may be empty.
    pub name: String,
    /// Where it begins: bytes from the start of its struct.
    pub offset: u32,
    #[serde(rename = "type")]
    pub ty: TypeLayout,
}

/// A type with an explicit layout. It displays itself as GLSL writes it: `uint`, `mat3x2`, `Particle[4][]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TypeLayout {
    /// A number. A `bool` of GLSL is a `uint` in a block.
    Scalar {
        scalar: ScalarType,
    },
    /// A vector; its components follow each other without gaps.
    Vector {
        /// The type of a component.
        scalar: ScalarType,
        /// How many components it has.
        components: u32,
    },
    Matrix {
        /// The type of a component.
        scalar: ScalarType,
        /// How many columns it has.
        columns: u32,
        /// How many rows it has.
        rows: u32,
        /// Bytes from one column to the next, or from one row to the next where rows come first.
        stride: u32,
        /// Whether columns or rows come first.
        order: MatrixOrder,
    },
    /// An array of known length.
    Array {
        /// Elements, under the specialization that was asked for.
        length: u64,
        /// Bytes from one element to the next.
        stride: u32,
        element: Box<TypeLayout>,
    },
    /// An array whose length only the buffer's size says.
    RuntimeArray {
        /// Bytes from one element to the next.
        stride: u32,
        element: Box<TypeLayout>,
    },
    Struct(StructLayout),
    /// The address of a block (a GLSL buffer reference), 8 bytes. What it leads to isn't followed.
    Pointer {
        /// The name of the type that it leads to; may be empty.
        to: String,
    },
}

/// Which vectors of a matrix lie one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MatrixOrder {
    /// Its columns, as GLSL has it by default.
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

    /// Bytes of a buffer whose runtime array has so many elements; for a block of fixed size, its size. Nothing where the number
    /// exceeds 64 bits.
    pub fn bytes_with(&self, elements: u64) -> Option<u64> {
        let stride = self.runtime_stride().unwrap_or(0);
        elements.checked_mul(stride.into())?.checked_add(self.layout.bytes)
    }

    /// How many elements the runtime array has in a buffer of so many bytes; nothing for a block of fixed size.
    pub fn elements_in(&self, bytes: u64) -> Option<u64> {
        bytes.saturating_sub(self.layout.bytes).checked_div(self.runtime_stride()?.into())
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
            Self::Vector { scalar, components } => write!(f, "{}vec{components}", prefix(*scalar))?,
            Self::Matrix { scalar, columns, rows, .. } if columns == rows => write!(f, "{}mat{columns}", prefix(*scalar))?,
            Self::Matrix { scalar, columns, rows, .. } => write!(f, "{}mat{columns}x{rows}", prefix(*scalar))?,
            Self::Struct(StructLayout { type_name: name, .. }) => f.write_str(if name.is_empty() { "struct" } else { name })?,
            Self::Pointer { to } => f.write_str(if to.is_empty() { "pointer" } else { to })?,
            // The loop above has taken these off.
            Self::Array { .. } | Self::RuntimeArray { .. } => {}
        }
        f.write_str(&lengths)
    }
}

/// What GLSL puts before `vec` and `mat` for a component's type.
fn prefix(scalar: ScalarType) -> &'static str {
    match scalar {
        ScalarType::Bool => "b",
        ScalarType::U8 => "u8",
        ScalarType::I8 => "i8",
        ScalarType::U16 => "u16",
        ScalarType::I16 => "i16",
        ScalarType::U32 => "u",
        ScalarType::I32 => "i",
        ScalarType::U64 => "u64",
        ScalarType::I64 => "i64",
        ScalarType::F16 => "f16",
        ScalarType::F32 => "",
        ScalarType::F64 => "d",
        ScalarType::OtherFloat(_) => "small float ",
    }
}

/// The layouts of all blocks.
pub(super) fn describe(interface: &Interface, types: &Types, values: &Values) -> Result<Vec<BlockInfo>, ReflectError> {
    let mut describer = Describer { types, values, sizes: types.explicit(values), types_left: MOST_TYPES };
    let mut blocks = Vec::new();
    for (place, name, ty) in interface.blocks() {
        let Some(TypeLayout::Struct(layout)) = describer.layout(ty, None, DEEPEST) else {
            return Err(ReflectError::Size { name: name.to_owned() });
        };
        blocks.push(BlockInfo { place, name: name.to_owned(), layout });
    }
    Ok(blocks)
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
            TypeNode::Pointer { pointee, .. } => TypeLayout::Pointer { to: self.name(*pointee) },
            TypeNode::Image { .. } | TypeNode::Sampler | TypeNode::SampledImage { .. } | TypeNode::Opaque => return None,
        })
    }

    fn member(&mut self, member: &Member, levels: u32) -> Option<MemberLayout> {
        let order = if member.row_major { MatrixOrder::RowMajor } else { MatrixOrder::ColumnMajor };
        let matrix = member.matrix_stride.map(|stride| (stride, order));
        let ty = self.layout(member.ty, matrix, levels)?;
        Some(MemberLayout { name: member.name.clone(), offset: member.offset?, ty })
    }

    fn name(&self, ty: Word) -> String {
        match self.types.get(ty) {
            Some(TypeNode::Struct { name, .. }) => name.clone(),
            _ => String::new(),
        }
    }
}
