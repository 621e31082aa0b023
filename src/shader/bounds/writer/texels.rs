//! Texels: each coordinate against the image's size.

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{Capability, Dim, ImageOperands, Op, Word};

use super::{Dimension, Key, Writer};
use crate::shader::loader::id;

/// How many faces a cube has: they count as layers in coordinates, but not in sizes.
const FACES: u32 = 6;

/// What the coordinates of an image are.
struct Coordinates {
    /// What each counts; nothing of a texel buffer.
    dimensions: Vec<Option<Dimension>>,
    is_cube: bool,
    is_layered: bool,
    /// Whether each level has a size of its own.
    has_levels: bool,
}

impl Writer<'_> {
    /// Notes the coordinates that lie beyond an image, if an instruction reads or writes a texel.
    pub(super) fn note_texels(&mut self, instruction: &Instruction, code: &mut Vec<Instruction>) {
        let is_read = match instruction.class.opcode {
            Op::ImageRead | Op::ImageFetch | Op::ImageSparseRead | Op::ImageSparseFetch => true,
            // Atomic operations take such a pointer.
            Op::ImageWrite | Op::ImageTexelPointer => false,
            _ => return,
        };
        let [Some(image), Some(coordinate)] = [0, 1].map(|at| instruction.operands.get(at).and_then(id)) else { return };
        let Some(ty) = self.edit.type_of.get(&image).copied() else { return };
        let behind = self.edit.pointee(ty).map(|(_, ty)| ty);
        let Some(coordinates) = self.coordinates(behind.unwrap_or(ty)) else { return };
        let Some(place) = self.places.get(&image).cloned() else {
            self.unfollowed += 1;
            return;
        };
        let image = behind.map_or(image, |ty| self.edit.emit(code, Op::Load, ty, &[image]));
        let size = self.size(image, &coordinates, instruction, code);
        let offset =
            [ImageOperands::CONST_OFFSET, ImageOperands::OFFSET].into_iter().find_map(|which| operand(instruction, which));
        for (at, dimension) in (0..).zip(coordinates.dimensions) {
            let faces = coordinates.is_cube && dimension == Some(Dimension::Layer);
            let end = match self.part(size, at, code) {
                Some(cubes) if faces => {
                    let faces = self.edit.constant(FACES);
                    self.edit.emit(code, Op::IMul, self.edit.uint, &[cubes, faces])
                }
                Some(end) => end,
                None => self.edit.constant(FACES),
            };
            let Some(own) = self.part(coordinate, at, code) else { continue };
            let key = Key { variable: place.variable, path: place.path.clone(), dimension, site: self.site(is_read) };
            let (Some(array), Some(mut index)) = (self.array(key), self.edit.as_uint(own, code)) else { continue };
            let offset = offset.and_then(|offset| self.part(offset, at, code)).and_then(|part| self.edit.as_uint(part, code));
            self.arrays[array].told.is_signed &= self.is_signed(own) || offset.is_some();
            if let Some(offset) = offset {
                index = self.edit.emit(code, Op::IAdd, self.edit.uint, &[index, offset]);
            }
            let is_beyond = self.edit.emit(code, Op::UGreaterThanEqual, self.edit.bool, &[index, end]);
            let (largest, length) = (self.arrays[array].largest, self.arrays[array].length);
            for (variable, value) in [(Some(largest), index), (length, end)] {
                let Some(variable) = variable else { continue };
                let value = self.edit.emit(code, Op::Select, self.edit.uint, &[is_beyond, value, self.edit.zero]);
                self.keep_largest(variable, value, code);
            }
        }
    }

    /// Nothing of what has no size, as the data of a subpass.
    fn coordinates(&self, image: Word) -> Option<Coordinates> {
        let ty = self.edit.types.get(&image).filter(|ty| ty.class.opcode == Op::TypeImage)?;
        let [
            _,
            Operand::Dim(dim),
            _,
            Operand::LiteralBit32(layered),
            Operand::LiteralBit32(samples),
            Operand::LiteralBit32(sampled),
            ..,
        ] = ty.operands[..]
        else {
            return None;
        };
        let (is_cube, is_layered) = (dim == Dim::DimCube, layered == 1);
        let directions = match dim {
            Dim::Dim1D => 1,
            Dim::Dim2D | Dim::DimRect | Dim::DimCube => 2,
            Dim::Dim3D => 3,
            Dim::DimBuffer => 0,
            _ => return None,
        };
        let mut dimensions: Vec<_> =
            [Dimension::X, Dimension::Y, Dimension::Z].into_iter().take(directions).map(Some).collect();
        if directions == 0 {
            dimensions.push(None);
        } else if is_layered || is_cube {
            dimensions.push(Some(Dimension::Layer));
        }
        let has_levels = sampled == 1 && samples == 0 && !matches!(dim, Dim::DimBuffer | Dim::DimRect);
        Some(Coordinates { dimensions, is_cube, is_layered, has_levels })
    }

    fn size(&mut self, image: Word, of: &Coordinates, instruction: &Instruction, code: &mut Vec<Instruction>) -> Word {
        self.edit.require(Capability::ImageQuery);
        let lacks_faces = of.is_cube && !of.is_layered;
        let components = of.dimensions.len() - usize::from(lacks_faces);
        let ty = match u32::try_from(components) {
            Ok(1) | Err(_) => self.edit.uint,
            Ok(components) => {
                let operands = [Operand::IdRef(self.edit.uint), Operand::LiteralBit32(components)];
                self.edit.find_type(Op::TypeVector, &operands)
            }
        };
        if !of.has_levels {
            return self.edit.emit(code, Op::ImageQuerySize, ty, &[image]);
        }
        let level = operand(instruction, ImageOperands::LOD).unwrap_or(self.edit.zero);
        self.edit.emit(code, Op::ImageQuerySizeLod, ty, &[image, level])
    }

    /// A component of a vector; of a number the first is itself.
    fn part(&mut self, whole: Word, at: u32, code: &mut Vec<Instruction>) -> Option<Word> {
        let ty = self.edit.types.get(self.edit.type_of.get(&whole)?)?;
        match (ty.class.opcode, &ty.operands[..]) {
            (Op::TypeVector, [of, Operand::LiteralBit32(count)]) if at < *count => {
                let of = id(of)?;
                Some(self.edit.component(whole, of, at, code))
            }
            (Op::TypeVector, _) => None,
            _ => (at == 0).then_some(whole),
        }
    }
}

/// An operand of those that follow a mask, in the order of its bits. Gradients are two.
fn operand(instruction: &Instruction, which: ImageOperands) -> Option<Word> {
    let (mask, first) = instruction.operands.iter().zip(1..).find_map(|(operand, next)| match operand {
        Operand::ImageOperands(mask) => Some((*mask, next)),
        _ => None,
    })?;
    let before = ImageOperands::from_bits_truncate(mask.bits() & (which.bits() - 1));
    let gradients = usize::from(before.contains(ImageOperands::GRAD));
    let at = first + before.bits().count_ones() as usize + gradients;
    mask.contains(which).then(|| instruction.operands.get(at).and_then(id))?
}
