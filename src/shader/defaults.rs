//! Specialization constants with other default values, as an application gave them.

use std::collections::HashMap;

use rspirv::spirv::{Decoration, Op, Word};
use thiserror::Error;

use super::words::{HEADER_WORDS, instructions, opcode};

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("specialization constant {id} has {needed} bytes, and was given {given}")]
pub struct WrongSize {
    id: u32,
    needed: usize,
    given: usize,
}

/// The same module, whose constants have these bytes by default, by their `constant_id`s: the workgroup's sizes as well. Those that
/// the module hasn't are passed over, as Vulkan does.
///
/// # Errors
/// Bytes that are no value of the constant's type.
pub fn with_defaults(words: &[u32], defaults: &[(u32, Vec<u8>)]) -> Result<Vec<u32>, WrongSize> {
    let mut ids: HashMap<Word, u32> = HashMap::new();
    let mut numbers: HashMap<Word, (u32, bool)> = HashMap::new();
    let mut new = words.get(..HEADER_WORDS).unwrap_or_default().to_vec();
    for instruction in instructions(words) {
        match (opcode(instruction), instruction) {
            (Some(Op::Decorate), [_, target, decoration, id]) if *decoration == Decoration::SpecId as u32 => {
                ids.insert(*target, *id);
            }
            (Some(Op::TypeInt), [_, ty, width, is_signed]) => drop(numbers.insert(*ty, (*width, *is_signed == 1))),
            (Some(Op::TypeFloat), [_, ty, width, ..]) => drop(numbers.insert(*ty, (*width, false))),
            _ => {}
        }
        let given = instruction.get(2).and_then(|result| ids.get(result)).and_then(|id| {
            let (_, bytes) = defaults.iter().rfind(|(given, _)| given == id)?;
            Some((*id, bytes))
        });
        match (opcode(instruction), given) {
            (Some(Op::SpecConstantTrue | Op::SpecConstantFalse), Some((id, bytes))) => {
                sized(id, bytes, 4)?;
                let op = if bytes.iter().any(|byte| *byte != 0) { Op::SpecConstantTrue } else { Op::SpecConstantFalse };
                new.push((instruction[0] & 0xffff_0000) | op as u32);
                new.extend(&instruction[1..]);
            }
            (Some(Op::SpecConstant), Some((id, bytes))) => {
                let (width, is_signed) = numbers.get(&instruction[1]).copied().unwrap_or_default();
                let literals = &instruction[3..];
                let narrow = usize::try_from(width / 8).unwrap_or_default();
                sized(id, bytes, if (1..4).contains(&narrow) { narrow } else { 4 * literals.len() })?;
                // What is narrower than a word is extended to one.
                let fill = if is_signed && bytes.last().is_some_and(|last| last >> 7 == 1) { 0xff } else { 0 };
                let bytes = bytes.iter().copied().chain(std::iter::repeat(fill)).take(4 * literals.len());
                let bytes: Vec<u8> = bytes.collect();
                new.extend(&instruction[..3]);
                new.extend(bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])));
            }
            _ => new.extend(instruction),
        }
    }
    Ok(new)
}

fn sized(id: u32, bytes: &[u8], needed: usize) -> Result<(), WrongSize> {
    let given = bytes.len();
    if given == needed { Ok(()) } else { Err(WrongSize { id, needed, given }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shader::{Compiler, Library, Module, Reflection, SpecValues};

    #[test]
    fn constants_have_other_values_and_the_workgroup_another_size() {
        let text = "#version 450\n#extension GL_EXT_shader_explicit_arithmetic_types : require\n\
            layout(local_size_x_id = 4) in;\nlayout(constant_id = 0) const bool A = false;\n\
            layout(constant_id = 1) const float B = 1;\nlayout(constant_id = 2) const int64_t C = 1;\n\
            layout(constant_id = 3) const int D = 1;\nlayout(binding = 0) buffer O { float o[]; };\n\
            void main() { o[D] = A ? B : float(C); }\n";
        let library = Library::embedded().with("a.comp", text);
        let module = Compiler::new(library).unwrap().compile("a.comp", &[], crate::model::SpirvTarget::default()).unwrap();
        let given = [
            (0, vec![1, 0, 0, 0]),
            (1, 2.5_f32.to_le_bytes().to_vec()),
            (2, (-7_i64).to_le_bytes().to_vec()),
            (3, vec![9, 0, 0, 0]),
            (4, vec![64, 0, 0, 0]),
            (77, vec![1]),
        ];
        let words = with_defaults(&module.words, &given).unwrap();
        let reflection = Reflection::parse(&words).unwrap();
        let values: Vec<(u32, u64)> =
            reflection.spec_constants.iter().map(|constant| (constant.id, constant.default_bits)).collect();
        let minus_seven = u64::from_le_bytes((-7_i64).to_le_bytes());
        assert_eq!(values, [(0, 1), (1, 2.5_f32.to_bits().into()), (2, minus_seven), (3, 9), (4, 64)]);
        assert_eq!(reflection.local_size(&reflection.entry_points[0], &SpecValues::new()).unwrap(), [64, 1, 1]);
        assert_eq!(with_defaults(&module.words, &[]).unwrap(), module.words);
        assert!(Module::of_spirv(words, None).is_ok());
        let wrong = with_defaults(&module.words, &[(3, vec![9])]).unwrap_err().to_string();
        assert_eq!(wrong, "specialization constant 3 has 4 bytes, and was given 1");
    }

    #[test]
    fn a_narrow_constant_keeps_its_sign() {
        let decorate = [Op::Decorate as u32, 1, Decoration::SpecId as u32, 5];
        let ty = [Op::TypeInt as u32, 2, 8, 1];
        let constant = [Op::SpecConstant as u32, 2, 1, 3];
        let words = crate::shader::words::module(&[&decorate, &ty, &constant]);
        assert_eq!(with_defaults(&words, &[(5, vec![0xfe])]).unwrap().last(), Some(&0xffff_fffe));
        assert_eq!(with_defaults(&words, &[(5, vec![0x7e])]).unwrap().last(), Some(&0x7e));
        let half = [Op::TypeFloat as u32, 2, 16];
        let words = crate::shader::words::module(&[&decorate, &half, &constant]);
        assert_eq!(with_defaults(&words, &[(5, vec![0x00, 0xbc])]).unwrap().last(), Some(&0xbc00));
    }
}
