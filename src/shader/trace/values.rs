//! What is stored, as words of a record.

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{Op, Word};

use super::AtomicOp;
use super::writer::Writer;
use crate::shader::loader::id;

/// The most words of a value: a vector of four.
const MOST: usize = 4;

impl Writer {
    /// What a store stores; of an atomic operation what was there, and the values that went in. Nothing where it has another size, as
    /// structs have.
    pub(super) fn values_of(
        &mut self,
        instruction: &Instruction,
        atomic: Option<AtomicOp>,
        code: &mut Vec<Instruction>,
    ) -> Vec<Word> {
        let operand = |at: usize| instruction.operands.get(at).and_then(id);
        let values: Vec<Word> = match (instruction.class.opcode, atomic) {
            (Op::Store, _) => operand(1).into_iter().collect(),
            (_, Some(atomic)) => {
                let last = instruction.operands.len();
                instruction.result_id.into_iter().chain((atomic.values()..last).filter_map(operand)).collect()
            }
            _ => return Vec::new(),
        };
        let mut words = Vec::new();
        for value in values {
            match self.words_of_value(value, code) {
                Some(own) => words.extend(own),
                None => return Vec::new(),
            }
        }
        words
    }

    fn words_of_value(&mut self, value: Word, code: &mut Vec<Instruction>) -> Option<Vec<Word>> {
        let ty = *self.edit.type_of.get(&value)?;
        let of = self.edit.types.get(&ty)?.clone();
        let literal = |at: usize| match of.operands.get(at)? {
            Operand::LiteralBit32(value) => Some(*value),
            _ => None,
        };
        let uint = self.edit.uint;
        Some(match of.class.opcode {
            Op::TypeInt | Op::TypeFloat => match literal(0)? {
                32 if ty == uint => vec![value],
                32 => vec![self.edit.emit(code, Op::Bitcast, uint, &[value])],
                64 => {
                    let pair = self.edit.find_type(Op::TypeVector, &[Operand::IdRef(uint), Operand::LiteralBit32(2)]);
                    let halves = self.edit.emit(code, Op::Bitcast, pair, &[value]);
                    vec![self.edit.component(halves, uint, 0, code), self.edit.component(halves, uint, 1, code)]
                }
                _ if of.class.opcode == Op::TypeInt => vec![self.edit.emit(code, Op::UConvert, uint, &[value])],
                _ => return None,
            },
            Op::TypeVector => {
                let (mut component, count) = (id(of.operands.first()?)?, literal(1)?);
                let mut whole = value;
                // Modules that can store small numbers needn't be able to take them out of vectors.
                let of_component = self.edit.types.get(&component)?;
                let is_small = matches!(of_component.operands.first(), Some(Operand::LiteralBit32(8 | 16)));
                if is_small && of_component.class.opcode != Op::TypeInt {
                    return None;
                }
                if is_small {
                    component = uint;
                    let vector = self.edit.find_type(Op::TypeVector, &[Operand::IdRef(uint), Operand::LiteralBit32(count)]);
                    whole = self.edit.emit(code, Op::UConvert, vector, &[value]);
                }
                let mut words = Vec::new();
                for at in 0..count {
                    let part = self.edit.component(whole, component, at, code);
                    words.extend(self.words_of_value(part, code)?);
                }
                if words.len() > MOST {
                    return None;
                }
                words
            }
            _ => return None,
        })
    }
}
