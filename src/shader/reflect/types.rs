//! Types, and the bytes that values of them occupy.

use std::collections::HashMap;

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{Decoration, Dim, ImageFormat, Op, StorageClass, Word};

use super::ScalarType;
use super::constants::Values;
use super::index::Index;
use crate::shader::loader::id;

/// A type as the module declares it, as far as sizes and descriptors depend on it. Names may be empty; what is opaque has no size (an
/// acceleration structure, a cooperative matrix).
#[derive(Clone, Debug, PartialEq)]
pub(in crate::shader) enum TypeNode {
    Scalar(ScalarType),
    Vector { component: Word, count: u32 },
    Matrix { column: Word, count: u32 },
    Array { element: Word, length: Word, stride: Option<u32> },
    RuntimeArray { element: Word, stride: Option<u32> },
    Struct { name: String, members: Vec<Member>, block: bool },
    Pointer { class: StorageClass, pointee: Word },
    Image { component: Word, dim: Dim, depth: bool, arrayed: bool, multisampled: bool, sampled: u32, format: ImageFormat },
    Sampler,
    SampledImage { image: Word },
    Opaque,
}

#[derive(Clone, Debug, PartialEq)]
pub(in crate::shader) struct Member {
    pub(in crate::shader) name: String,
    pub(in crate::shader) ty: Word,
    pub(in crate::shader) offset: Option<u32>,
    pub(in crate::shader) matrix_stride: Option<u32>,
    pub(in crate::shader) row_major: bool,
}

#[derive(Clone, Copy, Debug)]
pub(in crate::shader) struct Components {
    pub(in crate::shader) component: ScalarType,
    pub(in crate::shader) components: Option<usize>,
}

/// The types of a module in the order of their declarations, in which each depends only on those before it.
#[derive(Clone, Debug, Default)]
pub(in crate::shader) struct Types {
    in_order: Vec<(Word, TypeNode)>,
    by_id: HashMap<Word, usize>,
}

impl Types {
    /// Notes a type; does nothing for other instructions.
    pub(in crate::shader) fn note(&mut self, instruction: &Instruction, index: &Index) {
        let Some(result) = instruction.result_id.filter(|_| instruction.class.opcode.is_type()) else { return };
        let node = node(instruction, result, index).unwrap_or(TypeNode::Opaque);
        self.by_id.insert(result, self.in_order.len());
        self.in_order.push((result, node));
    }

    pub(in crate::shader) fn get(&self, id: Word) -> Option<&TypeNode> {
        self.in_order.get(*self.by_id.get(&id)?).map(|(_, node)| node)
    }

    pub(in crate::shader) fn scalar(&self, id: Word) -> Option<ScalarType> {
        match self.get(id)? {
            TypeNode::Scalar(scalar) => Some(*scalar),
            _ => None,
        }
    }

    pub(in crate::shader) fn shape(&self, id: Word) -> Option<Components> {
        match self.get(id)? {
            TypeNode::Scalar(component) => Some(Components { component: *component, components: None }),
            // Vectors have at most 16 components; a module that says more is invalid.
            TypeNode::Vector { component, count } if *count <= 16 => {
                Some(Components { component: self.scalar(*component)?, components: Some(*count as usize) })
            }
            _ => None,
        }
    }

    /// The size and alignment in bytes that values of each type take in a standard storage buffer layout (std430), with `bool`
    /// as 32 bits: what the specification counts against `maxComputeSharedMemorySize`. Types without a size are left out.
    pub(in crate::shader) fn std430(&self, values: &Values) -> HashMap<Word, Layout> {
        let pointer = Layout { size: POINTER_BYTES, align: POINTER_BYTES };
        let mut layouts: HashMap<Word, Layout> = self.pointers().map(|id| (id, pointer)).collect();
        for (id, node) in &self.in_order {
            if let Some(layout) = implicit(node, &layouts, values) {
                layouts.insert(*id, layout);
            }
        }
        layouts
    }

    /// The size in bytes that values of each type take with the module's own offsets and strides, except of matrices, whose
    /// layout is their member's. A runtime array counts no element. Types without a size are left out.
    pub(in crate::shader) fn explicit(&self, values: &Values) -> HashMap<Word, u64> {
        let mut sizes: HashMap<Word, u64> = self.pointers().map(|id| (id, POINTER_BYTES)).collect();
        for (id, node) in &self.in_order {
            let size = match node {
                TypeNode::Scalar(scalar) => Some(scalar.bytes()),
                TypeNode::Vector { component, count } => times(sizes.get(component).copied(), Some((*count).into())),
                TypeNode::Array { length, stride, .. } => times(stride.map(u64::from), values.length(*length)),
                TypeNode::RuntimeArray { .. } => Some(0),
                TypeNode::Struct { members, .. } => self.explicit_struct(members, &sizes),
                _ => None,
            };
            if let Some(size) = size {
                sizes.insert(*id, size);
            }
        }
        sizes
    }

    /// The pointer types. Their size is known before anything else's: a struct may point to itself, through a pointer type that
    /// is declared after it.
    fn pointers(&self) -> impl Iterator<Item = Word> + '_ {
        self.in_order.iter().filter(|(_, node)| matches!(node, TypeNode::Pointer { .. })).map(|(id, _)| *id)
    }

    fn explicit_struct(&self, members: &[Member], sizes: &HashMap<Word, u64>) -> Option<u64> {
        let end = |member: &Member| -> Option<u64> {
            let size = match (self.get(member.ty)?, member.matrix_stride) {
                (TypeNode::Matrix { column, count }, Some(stride)) => {
                    let TypeNode::Vector { count: rows, .. } = self.get(*column)? else { return None };
                    let vectors = if member.row_major { *rows } else { *count };
                    u64::from(stride).checked_mul(vectors.into())?
                }
                _ => *sizes.get(&member.ty)?,
            };
            u64::from(member.offset?).checked_add(size)
        };
        members.iter().try_fold(0, |largest: u64, member| Some(largest.max(end(member)?)))
    }
}

/// Bytes of a physical pointer (a GLSL buffer reference).
pub(in crate::shader) const POINTER_BYTES: u64 = 8;

/// Size and alignment in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::shader) struct Layout {
    pub(in crate::shader) size: u64,
    pub(in crate::shader) align: u64,
}

impl Layout {
    /// The offset behind a value of this layout that follows `end` bytes.
    pub(in crate::shader) fn after(self, end: u64) -> Option<u64> {
        end.checked_next_multiple_of(self.align)?.checked_add(self.size)
    }

    fn repeated(self, count: u64) -> Option<Self> {
        let stride = self.size.checked_next_multiple_of(self.align)?;
        Some(Self { size: stride.checked_mul(count)?, align: self.align })
    }
}

fn implicit(node: &TypeNode, layouts: &HashMap<Word, Layout>, values: &Values) -> Option<Layout> {
    match node {
        // Vulkan counts a bool in Workgroup memory as 32 bits, which `bytes` does.
        TypeNode::Scalar(scalar) => Some(Layout { size: scalar.bytes(), align: scalar.bytes() }),
        TypeNode::Vector { component, count } => {
            let component = layouts.get(component)?;
            let align = component.align.checked_mul(u64::from(*count).checked_next_power_of_two()?)?;
            Some(Layout { size: component.size.checked_mul((*count).into())?, align })
        }
        TypeNode::Matrix { column, count } => layouts.get(column)?.repeated((*count).into()),
        TypeNode::Array { element, length, .. } => layouts.get(element)?.repeated(values.length(*length)?),
        TypeNode::Struct { members, .. } => {
            let mut whole = Layout { size: 0, align: 1 };
            for member in members {
                let layout = layouts.get(&member.ty)?;
                whole = Layout { size: layout.after(whole.size)?, align: whole.align.max(layout.align) };
            }
            Some(Layout { size: whole.size.checked_next_multiple_of(whole.align)?, ..whole })
        }
        _ => None,
    }
}

fn times(size: Option<u64>, count: Option<u64>) -> Option<u64> {
    size?.checked_mul(count?)
}

fn node(instruction: &Instruction, result: Word, index: &Index) -> Option<TypeNode> {
    use Operand::{Dim, IdRef, LiteralBit32, StorageClass};
    Some(match (instruction.class.opcode, &instruction.operands[..]) {
        (Op::TypeBool, _) => TypeNode::Scalar(ScalarType::Bool),
        (Op::TypeInt, [LiteralBit32(bits), LiteralBit32(signed)]) => TypeNode::Scalar(ScalarType::int(*bits, *signed == 1)?),
        (Op::TypeFloat, [LiteralBit32(bits), encoding @ ..]) => {
            TypeNode::Scalar(ScalarType::float(*bits, !encoding.is_empty())?)
        }
        (Op::TypeVector, [IdRef(component), LiteralBit32(count)]) => TypeNode::Vector { component: *component, count: *count },
        (Op::TypeMatrix, [IdRef(column), LiteralBit32(count)]) => TypeNode::Matrix { column: *column, count: *count },
        (Op::TypeArray, [IdRef(element), IdRef(length)]) => {
            let stride = index.argument(result, Decoration::ArrayStride);
            TypeNode::Array { element: *element, length: *length, stride }
        }
        (Op::TypeRuntimeArray, [IdRef(element)]) => {
            TypeNode::RuntimeArray { element: *element, stride: index.argument(result, Decoration::ArrayStride) }
        }
        (Op::TypeStruct, members) => TypeNode::Struct {
            name: index.name(result).to_owned(),
            members: (0..).zip(members.iter().filter_map(id)).map(|(i, ty)| member(result, i, ty, index)).collect(),
            block: index.has(result, Decoration::Block),
        },
        (Op::TypePointer, [StorageClass(class), IdRef(pointee)]) => TypeNode::Pointer { class: *class, pointee: *pointee },
        (
            Op::TypeImage,
            [
                IdRef(component),
                Dim(dim),
                LiteralBit32(depth),
                LiteralBit32(arrayed),
                LiteralBit32(multisampled),
                LiteralBit32(sampled),
                Operand::ImageFormat(format),
                ..,
            ],
        ) => TypeNode::Image {
            component: *component,
            dim: *dim,
            depth: *depth == 1,
            arrayed: *arrayed != 0,
            multisampled: *multisampled != 0,
            sampled: *sampled,
            format: *format,
        },
        (Op::TypeSampler, _) => TypeNode::Sampler,
        (Op::TypeSampledImage, [IdRef(image)]) => TypeNode::SampledImage { image: *image },
        _ => TypeNode::Opaque,
    })
}

fn member(whole: Word, i: u32, ty: Word, index: &Index) -> Member {
    Member {
        name: index.member_name(whole, i).to_owned(),
        ty,
        offset: index.member_argument(whole, i, Decoration::Offset),
        matrix_stride: index.member_argument(whole, i, Decoration::MatrixStride),
        row_major: index.member_has(whole, i, Decoration::RowMajor),
    }
}
