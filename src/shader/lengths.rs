//! Makes literal lengths of arrays in shared memory specializable, in SPIR-V.
//!
//! `shared float tile[16][17]` in a workgroup of 16 x 16 has its size by the author's intention only: under another size it is too
//! small, or too large. Its module is rewritten here to have a specialization constant for each length, with the old length as its
//! default. What code does with the length as a number (`i < 16`, `tile.length()`) stays as it is.

use std::collections::HashMap;

use rspirv::dr::{self, Operand};
use rspirv::spirv::{Decoration, Op, StorageClass, Word};
use thiserror::Error;

use super::words::{BOUND, HEADER_WORDS, ModuleSection, instruction, opcode, take_id, unused_spec_id, with_places};
use super::{LoadError, load, validate};
use crate::error::{nearest, suggestion};

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LengthsError {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("there is no array `{name}` in shared memory{}", suggestion(.nearest))]
    Unknown { name: String, nearest: Vec<String> },
    #[error("`{name}` has fewer dimensions ({has}) than you give lengths ({given})")]
    Dimensions { name: String, has: usize, given: usize },
    #[error("the length of `{name}` is no plain number: give the constants that it is made of other values")]
    Derived { name: String },
    #[error("`{name}` can't have another length: the shader copies or passes it as a whole")]
    Whole { name: String },
    #[error("a module that isn't valid keeps the lengths of its arrays")]
    Invalid,
    #[error("the module has no {0} left")]
    Exhausted(&'static str),
}

/// Makes the lengths of arrays in shared memory specializable: each by its name with how many of its dimensions, the outermost first.
/// Gives the module and the `constant_id`s of the lengths, in the same order. Without arrays the module is returned as it is.
pub fn with_lengths(words: &[u32], arrays: &[(&str, usize)]) -> Result<(Vec<u32>, Vec<Vec<u32>>), LengthsError> {
    if !arrays.is_empty() && validate(words).is_err() {
        return Err(LengthsError::Invalid);
    }
    let (mut words, mut all) = (words.to_vec(), Vec::new());
    for (name, dimensions) in arrays {
        let module = load(&words)?;
        let lengths = Lengths::new(&Declared::of(&module), name, *dimensions, None, &words)?;
        words = lengths.apply(&words);
        validate(&words).map_err(|_| LengthsError::Whole { name: (*name).to_owned() })?;
        all.push(lengths.spec_ids);
    }
    Ok((words, all))
}

/// The module with an array in shared memory that has these lengths, the outermost first, whatever it says of them.
pub fn with_numbers(words: &[u32], name: &str, numbers: &[u32]) -> Result<Vec<u32>, LengthsError> {
    let module = load(words)?;
    let words = Lengths::new(&Declared::of(&module), name, numbers.len(), Some(numbers), words)?.apply(words);
    validate(&words).map_err(|_| LengthsError::Whole { name: name.to_owned() })?;
    Ok(words)
}

#[derive(Default)]
struct Declared<'m> {
    variables: HashMap<&'m str, &'m dr::Instruction>,
    pointees: HashMap<Word, Word>,
    arrays: HashMap<Word, (Word, Word)>,
    /// The type and the value of plain numbers of 32 bits.
    numbers: HashMap<Word, (Word, u32)>,
    /// The types of those that are specialized.
    specialized: HashMap<Word, Word>,
}

impl<'m> Declared<'m> {
    fn of(module: &'m dr::Module) -> Self {
        let mut new = Self::default();
        let mut shared = HashMap::new();
        for instruction in &module.types_global_values {
            let Some(id) = instruction.result_id else { continue };
            match (instruction.class.opcode, &instruction.operands[..]) {
                (Op::TypePointer, [_, Operand::IdRef(pointee)]) => drop(new.pointees.insert(id, *pointee)),
                (Op::TypeArray, [Operand::IdRef(element), Operand::IdRef(length)]) => {
                    new.arrays.insert(id, (*element, *length));
                }
                (Op::Constant, [Operand::LiteralBit32(value)]) => {
                    new.numbers.extend(instruction.result_type.map(|ty| (id, (ty, *value))));
                }
                (Op::SpecConstant | Op::SpecConstantOp, _) => {
                    new.specialized.extend(instruction.result_type.map(|ty| (id, ty)));
                }
                (Op::Variable, [Operand::StorageClass(StorageClass::Workgroup), ..]) => drop(shared.insert(id, instruction)),
                _ => {}
            }
        }
        for name in &module.debug_names {
            if let (Op::Name, [Operand::IdRef(id), Operand::LiteralString(name)]) = (name.class.opcode, &name.operands[..]) {
                new.variables.extend(shared.get(id).map(|variable| (name.as_str(), *variable)));
            }
        }
        new
    }
}

#[derive(Default)]
struct Lengths {
    variable: Word,
    /// The `constant_id`s, the outermost length's first.
    spec_ids: Vec<u32>,
    decorations: Vec<u32>,
    /// The constants and types that stand before the variable, the last of which is its new type.
    types: Vec<u32>,
    pointer: Word,
    bound: u32,
}

impl Lengths {
    /// With default values that are given, or those that the module says.
    fn new(
        declared: &Declared,
        name: &str,
        dimensions: usize,
        given: Option<&[u32]>,
        words: &[u32],
    ) -> Result<Self, LengthsError> {
        let variable = declared.variables.get(name).ok_or_else(|| LengthsError::Unknown {
            name: name.to_owned(),
            nearest: nearest(name, declared.variables.keys().copied()),
        })?;
        let (id, old_type) = (variable.result_id.unwrap_or_default(), variable.result_type.unwrap_or_default());
        // From the outermost array to its element.
        let arrays = |ty: &Word| declared.arrays.get(ty).copied();
        let outermost = declared.pointees.get(&old_type).copied().unwrap_or_default();
        let levels: Vec<(Word, Word)> =
            std::iter::successors(arrays(&outermost), |(element, _)| arrays(element)).take(dimensions).collect();
        if levels.is_empty() {
            return Err(LengthsError::Unknown { name: name.to_owned(), nearest: Vec::new() });
        }
        let Some((element, _)) = levels.last().filter(|_| levels.len() == dimensions) else {
            return Err(LengthsError::Dimensions { name: name.to_owned(), has: levels.len(), given: dimensions });
        };
        let derived = || LengthsError::Derived { name: name.to_owned() };
        let numbers: Vec<(Word, u32)> = (levels.iter())
            .enumerate()
            .map(|(i, (_, length))| match given {
                None => declared.numbers.get(length).copied(),
                Some(given) => {
                    let ty = declared.numbers.get(length).map(|(ty, _)| *ty);
                    ty.or_else(|| declared.specialized.get(length).copied()).zip(given.get(i).copied())
                }
            })
            .map(|number| number.ok_or_else(derived))
            .collect::<Result<_, _>>()?;
        let mut new = Self { variable: id, bound: words[BOUND], ..Self::default() };
        let first = unused_spec_id(words).ok_or(LengthsError::Exhausted("constant_id"))?;
        new.spec_ids = (first..).take(dimensions).collect();
        if new.spec_ids.len() < dimensions {
            return Err(LengthsError::Exhausted("constant_id"));
        }
        let mut ty = *element;
        for (i, (number_type, length)) in numbers.into_iter().enumerate().rev() {
            let (constant, array) = (new.take_id()?, new.take_id()?);
            new.decorations.extend(instruction(Op::Decorate, &[constant, Decoration::SpecId as u32, new.spec_ids[i]]));
            new.types.extend(instruction(Op::SpecConstant, &[number_type, constant, length]));
            new.types.extend(instruction(Op::TypeArray, &[array, ty, constant]));
            ty = array;
        }
        new.pointer = new.take_id()?;
        new.types.extend(instruction(Op::TypePointer, &[new.pointer, StorageClass::Workgroup as u32, ty]));
        Ok(new)
    }

    fn take_id(&mut self) -> Result<Word, LengthsError> {
        take_id(&mut self.bound).ok_or(LengthsError::Exhausted("id"))
    }

    fn apply(&self, words: &[u32]) -> Vec<u32> {
        let mut out = words[..HEADER_WORDS].to_vec();
        out[BOUND] = self.bound;
        let mut decorations = Some(&self.decorations);
        for (place, old) in with_places(words) {
            if place >= ModuleSection::Types {
                out.extend(decorations.take().into_iter().flatten());
            }
            match (opcode(old), old) {
                (Some(Op::Variable), [first, _, id, rest @ ..]) if *id == self.variable => {
                    out.extend(&self.types);
                    out.extend([*first, self.pointer, *id]);
                    out.extend(rest);
                }
                _ => out.extend(old),
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SpirvTarget;
    use crate::shader::{Compiler, Library, Reflection, SpecValues};

    const SHADER: &str = "#version 450
layout(local_size_x = 16, local_size_y = 16) in;
layout(binding = 0) buffer B { float b[]; };
shared float tile[16][17];
shared uint line[16];
shared uint total;
shared float copied[4];
void main() {
    uint x = gl_LocalInvocationID.x;
    tile[gl_LocalInvocationID.y][x] = b[x];
    line[x] = x;
    total = 1;
    float all[4] = copied;
    barrier();
    b[x] = tile[x][gl_LocalInvocationID.y] + float(line[15 - x] + total) + all[x % 4];
}
";

    fn compiled() -> Vec<u32> {
        let library = Library::empty(Vec::new()).with("a.comp", SHADER);
        let module = Compiler::new(library).unwrap().compile("a.comp", &[], SpirvTarget::Vulkan1_1).unwrap();
        module.words.clone()
    }

    #[test]
    fn lengths_take_the_values_that_they_are_given() {
        let (words, ids) = with_lengths(&compiled(), &[("tile", 2), ("line", 1)]).unwrap();
        assert_eq!(ids, [vec![0, 1], vec![2]]);
        let reflection = Reflection::of_entry(&words, "main").unwrap();
        let shared = |values: &[(u32, u64)]| reflection.shared_bytes(&values.iter().copied().collect::<SpecValues>()).unwrap();
        let others = 4 + 16;
        assert_eq!(shared(&[]), 16 * 17 * 4 + 16 * 4 + others, "as it is written");
        assert_eq!(shared(&[(0, 8), (1, 33), (2, 5)]), 8 * 33 * 4 + 5 * 4 + others);
        assert_eq!(with_lengths(&words, &[]).unwrap(), (words, vec![]));
    }

    #[test]
    fn only_some_dimensions_may_change() {
        let (words, ids) = with_lengths(&compiled(), &[("tile", 1)]).unwrap();
        let bytes = Reflection::of_entry(&words, "main").unwrap().shared_bytes(&SpecValues::from([(ids[0][0], 2)])).unwrap();
        assert_eq!(bytes, 2 * 17 * 4 + 16 * 4 + 4 + 16);
    }

    #[test]
    fn what_has_no_length_to_change_is_refused() {
        let words = compiled();
        let refused = |name, dimensions| with_lengths(&words, &[(name, dimensions)]).unwrap_err().to_string();
        assert!(
            refused("tiles", 1).contains("no array `tiles`") && refused("tiles", 1).contains("tile"),
            "{}",
            refused("tiles", 1)
        );
        assert_eq!(refused("tile", 3), "`tile` has fewer dimensions (2) than you give lengths (3)");
        assert_eq!(refused("total", 1), "there is no array `total` in shared memory");
        assert!(refused("copied", 1).contains("as a whole"), "{}", refused("copied", 1));
        let (again, _) = with_lengths(&words, &[("line", 1)]).unwrap();
        assert!(matches!(with_lengths(&again, &[("line", 1)]), Err(LengthsError::Derived { .. })));
    }
}
