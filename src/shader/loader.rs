//! SPIR-V words to rspirv's [`dr::Module`].
//!
//! rspirv 0.13 has a loader, but it refuses modules that are valid: those with `OpExecutionModeId` (specialized local sizes for
//! Vulkan 1.3), with module-scope `OpExtInst` (non-semantic debug information), with an `OpSpecConstantOp` of a list of operands
//! (`gl_WorkGroupSize.xy` is a `VectorShuffle`), and with constants of 8-bit floats. Its parser also panics on some invalid ones:
//! where a string ends beyond the module, and on specialization operations that aren't expressions. So the words are checked
//! and those instructions decoded here, the parser does the rest, and a consumer of our own sorts the instructions.

use std::collections::{HashMap, HashSet};

use rspirv::binary::{self, Consumer, ParseAction, ParseState};
use rspirv::dr::{self, Operand};
use rspirv::grammar;
use rspirv::spirv::{self, Op, Word};
use thiserror::Error;

use super::words::HEADER_WORDS;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LoadError {
    #[error("not SPIR-V: no valid header")]
    Header,
    #[error("the SPIR-V instruction at word {0} has an impossible length")]
    Length(usize),
    /// The parser does not know an instruction or operand: the module is invalid, or newer than the parser.
    #[error("can't parse the SPIR-V: {0}")]
    Parse(String),
    #[error("the SPIR-V instruction Op{0} is out of place")]
    Misplaced(&'static str),
    #[error("the SPIR-V defines id {0} twice")]
    Twice(u32),
    #[error("the SPIR-V ends within a function")]
    Unfinished,
}

/// The version of the crate that parses SPIR-V; a test holds it to `Cargo.lock`.
const RSPIRV_VERSION: &str = "0.13.0+sdk-1.4.341.0";

pub fn spirv_parser() -> String {
    format!("rspirv {RSPIRV_VERSION}")
}

/// Loads a module. Whether it is valid beyond its layout is not checked.
pub fn load(words: &[u32]) -> Result<dr::Module, LoadError> {
    let (plain, decoded) = decode_exceptions(words)?;
    let mut sorter = Sorter { decoded, ..Sorter::default() };
    match binary::parse_words(&plain, &mut sorter) {
        Ok(()) => Ok(sorter.module),
        Err(ParseState::ConsumerError(error)) => Err(match error.downcast::<LoadError>() {
            Ok(error) => *error,
            Err(other) => LoadError::Parse(other.to_string()),
        }),
        Err(error) => Err(LoadError::Parse(error.to_string())),
    }
}

/// Replaces each instruction that rspirv's parser can't take by an `OpUndef` of the same type and id, so that the parser goes on
/// knowing the id's type. Returns the new words, and the replaced instructions by their place in the module.
fn decode_exceptions(words: &[u32]) -> Result<(Vec<u32>, HashMap<usize, dr::Instruction>), LoadError> {
    if words.len() < HEADER_WORDS || words[0] != spirv::MAGIC_NUMBER {
        return Err(LoadError::Header);
    }
    let mut plain = words[..HEADER_WORDS].to_vec();
    let mut decoded = HashMap::new();
    let mut bytes_as_floats = HashSet::new();
    let mut at = HEADER_WORDS;
    for index in 0.. {
        let Some(&first) = words.get(at) else { break };
        let length = (first >> 16) as usize;
        let instruction = words.get(at..at + length).filter(|_| length > 0).ok_or(LoadError::Length(at))?;
        match (Op::from_u32(first & 0xffff), instruction) {
            (Some(Op::TypeFloat), [_, id, 8, ..]) => {
                bytes_as_floats.insert(*id);
                plain.extend(instruction);
            }
            (Some(Op::SpecConstantOp), [_, ty, id, operation, operands @ ..]) => {
                let operands = spec_constant_operands(*operation, operands).ok_or(LoadError::Misplaced("SpecConstantOp"))?;
                decoded.insert(index, dr::Instruction::new(Op::SpecConstantOp, Some(*ty), Some(*id), operands));
                plain.extend([(3 << 16) | Op::Undef as u32, *ty, *id]);
            }
            (Some(op @ (Op::Constant | Op::SpecConstant)), [_, ty, id, value]) if bytes_as_floats.contains(ty) => {
                decoded.insert(index, dr::Instruction::new(op, Some(*ty), Some(*id), vec![Operand::LiteralBit32(*value)]));
                plain.extend([(3 << 16) | Op::Undef as u32, *ty, *id]);
            }
            _ => plain.extend(instruction),
        }
        at += length;
    }
    Ok((plain, decoded))
}

/// The operands of an `OpSpecConstantOp`; nothing where the operation can't be one.
fn spec_constant_operands(operation: u32, words: &[u32]) -> Option<Vec<Operand>> {
    let operation = Op::from_u32(operation)?;
    // The ids that come first; what follows them are literals.
    let ids = match operation {
        Op::CompositeExtract => 1,
        Op::CompositeInsert | Op::VectorShuffle => 2,
        _ => words.len(),
    };
    let operands = words.iter().enumerate().map(|(i, word)| match i < ids {
        true => Operand::IdRef(*word),
        false => Operand::LiteralBit32(*word),
    });
    Some(std::iter::once(Operand::LiteralSpecConstantOpInteger(operation)).chain(operands).collect())
}

#[derive(Default)]
struct Sorter {
    module: dr::Module,
    function: Option<dr::Function>,
    block: Option<dr::Block>,
    /// What stands between blocks (source lines, non-semantic instructions): it goes to the head of the next block.
    pending: Vec<dr::Instruction>,
    /// The ids of the results so far: what reads a module takes each for one thing.
    results: HashSet<Word>,
    /// The instructions for which the parser sees a stand-in, by index.
    decoded: HashMap<usize, dr::Instruction>,
    index: usize,
}

impl Consumer for Sorter {
    fn initialize(&mut self) -> ParseAction {
        ParseAction::Continue
    }

    fn finalize(&mut self) -> ParseAction {
        if self.function.is_some() {
            return ParseAction::Error(Box::new(LoadError::Unfinished));
        }
        // Non-semantic instructions that follow the last function are left out: they mean nothing to a device, and before the functions
        // that they name, where a module of rspirv's would have them, they aren't valid.
        self.pending.clear();
        ParseAction::Continue
    }

    fn consume_header(&mut self, header: dr::ModuleHeader) -> ParseAction {
        self.module.header = Some(header);
        ParseAction::Continue
    }

    fn consume_instruction(&mut self, instruction: dr::Instruction) -> ParseAction {
        let instruction = self.decoded.remove(&self.index).unwrap_or(instruction);
        self.index += 1;
        if let Some(id) = instruction.result_id.filter(|id| !self.results.insert(*id)) {
            return ParseAction::Error(Box::new(LoadError::Twice(id)));
        }
        let placed = if self.function.is_some() { self.in_function(instruction) } else { self.in_module(instruction) };
        match placed {
            Ok(()) => ParseAction::Continue,
            Err(error) => ParseAction::Error(Box::new(error)),
        }
    }
}

impl Sorter {
    fn in_module(&mut self, instruction: dr::Instruction) -> Result<(), LoadError> {
        let module = &mut self.module;
        let opcode = instruction.class.opcode;
        match opcode {
            Op::Capability => module.capabilities.push(instruction),
            Op::Extension => module.extensions.push(instruction),
            Op::ExtInstImport => module.ext_inst_imports.push(instruction),
            Op::MemoryModel => module.memory_model = Some(instruction),
            Op::EntryPoint => module.entry_points.push(instruction),
            Op::ExecutionMode | Op::ExecutionModeId => module.execution_modes.push(instruction),
            Op::String | Op::SourceExtension | Op::Source | Op::SourceContinued => module.debug_string_source.push(instruction),
            Op::Name | Op::MemberName => module.debug_names.push(instruction),
            Op::ModuleProcessed => module.debug_module_processed.push(instruction),
            Op::Function => self.function = Some(dr::Function { def: Some(instruction), ..dr::Function::default() }),
            Op::FunctionEnd | Op::FunctionParameter | Op::Label => return Err(LoadError::Misplaced(instruction.class.opname)),
            _ if opcode.is_annotation() => module.annotations.push(instruction),
            _ if grammar::reflect::is_block_terminator(opcode) => {
                return Err(LoadError::Misplaced(instruction.class.opname));
            }
            Op::Line | Op::NoLine | Op::ExtInst if !module.functions.is_empty() => self.pending.push(instruction),
            // Types, constants, variables, and whatever else extensions put at module scope.
            _ => module.types_global_values.push(instruction),
        }
        Ok(())
    }

    fn in_function(&mut self, instruction: dr::Instruction) -> Result<(), LoadError> {
        let opcode = instruction.class.opcode;
        let misplaced = LoadError::Misplaced(instruction.class.opname);
        let function = self.function.as_mut().ok_or(LoadError::Unfinished)?;
        match (&mut self.block, opcode) {
            (_, Op::Function) | (Some(_), Op::Label | Op::FunctionEnd | Op::FunctionParameter) => return Err(misplaced),
            (None, Op::FunctionParameter) => function.parameters.push(instruction),
            (None, Op::Label) => {
                let instructions = std::mem::take(&mut self.pending);
                self.block = Some(dr::Block { label: Some(instruction), instructions });
            }
            (None, Op::FunctionEnd) => {
                // A source line before the end of a function locates nothing.
                self.pending.clear();
                function.end = Some(instruction);
                self.module.functions.extend(self.function.take());
            }
            (None, Op::Line | Op::NoLine | Op::ExtInst) => self.pending.push(instruction),
            (None, _) => return Err(misplaced),
            (Some(block), _) => {
                block.instructions.push(instruction);
                if grammar::reflect::is_block_terminator(opcode) {
                    function.blocks.extend(self.block.take());
                }
            }
        }
        Ok(())
    }
}

/// The id in an operand that is one, of whatever role.
pub(super) fn id(operand: &Operand) -> Option<Word> {
    match operand {
        Operand::IdRef(id) | Operand::IdScope(id) | Operand::IdMemorySemantics(id) => Some(*id),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shader::words::module;

    #[test]
    fn the_parser_is_the_one_in_the_lock_file() {
        let lock = include_str!("../../Cargo.lock");
        assert!(lock.contains(&format!("name = \"rspirv\"\nversion = \"{RSPIRV_VERSION}\"")));
    }

    #[test]
    fn what_is_no_module_is_refused_by_name() {
        assert_eq!(load(&[]).unwrap_err(), LoadError::Header);
        assert_eq!(load(&[spirv::MAGIC_NUMBER.swap_bytes(), 0, 0, 0, 0]).unwrap_err(), LoadError::Header);
        assert_eq!(load(&[&module(&[])[..], &[0]].concat()).unwrap_err(), LoadError::Length(5));
        assert_eq!(load(&[&module(&[])[..], &[9 << 16]].concat()).unwrap_err(), LoadError::Length(5));
        assert!(matches!(load(&module(&[&[0xfff0]])), Err(LoadError::Parse(_))));
        assert_eq!(load(&module(&[&[Op::FunctionEnd as u32]])).unwrap_err(), LoadError::Misplaced("FunctionEnd"));
        assert_eq!(load(&module(&[&[Op::Function as u32, 1, 2, 0, 3]])).unwrap_err(), LoadError::Unfinished);
        assert_eq!(load(&module(&[&[Op::TypeVoid as u32, 1], &[Op::TypeBool as u32, 1]])).unwrap_err(), LoadError::Twice(1));
        // Its operand kinds make the parser of rspirv panic.
        assert!(load(&module(&[&[Op::SpecConstantOp as u32, 1, 2, Op::Switch as u32, 3]])).is_ok());
    }

    #[test]
    fn a_string_that_never_ends_is_an_error() {
        let words = module(&[&[Op::Name as u32, 1, 0x6161_6161]]);
        assert!(matches!(load(&words), Err(LoadError::Parse(_))));
        assert!(load(&words[..words.len() - 1]).is_err());
    }

    #[test]
    fn operations_with_lists_of_operands_are_whole() {
        let shuffle = [Op::SpecConstantOp as u32, 1, 2, Op::VectorShuffle as u32, 3, 3, 1, 0];
        let loaded = load(&module(&[&shuffle])).unwrap();
        let expected = [
            Operand::LiteralSpecConstantOpInteger(Op::VectorShuffle),
            Operand::IdRef(3),
            Operand::IdRef(3),
            Operand::LiteralBit32(1),
            Operand::LiteralBit32(0),
        ];
        assert_eq!(loaded.types_global_values[0].operands, expected);
    }

    #[test]
    fn a_switch_on_a_wide_specialization_operation_keeps_its_width() {
        let loaded = load(&module(&[
            &[Op::TypeInt as u32, 1, 64, 0],
            &[Op::SpecConstantOp as u32, 1, 2, Op::IAdd as u32, 3, 3],
            &[Op::Function as u32, 4, 5, 0, 6],
            &[Op::Label as u32, 7],
            &[Op::Switch as u32, 2, 8, 1, 2, 9],
            &[Op::FunctionEnd as u32],
        ]))
        .unwrap();
        let switch = &loaded.functions[0].blocks[0].instructions[0];
        assert_eq!(switch.operands[2], Operand::LiteralBit64(0x2_0000_0001));
    }

    #[test]
    fn lines_between_blocks_go_to_the_next_block() {
        let loaded = load(&module(&[
            &[Op::Line as u32, 1, 1, 1],
            &[Op::Function as u32, 4, 5, 0, 6],
            &[Op::Line as u32, 1, 2, 1],
            &[Op::Label as u32, 7],
            &[Op::Return as u32],
            &[Op::NoLine as u32],
            &[Op::FunctionEnd as u32],
            &[Op::ExtInst as u32, 1, 2, 3, 4],
        ]))
        .unwrap();
        let block: Vec<_> = loaded.functions[0].blocks[0].instructions.iter().map(|i| i.class.opcode).collect();
        assert_eq!(block, [Op::Line, Op::Return]);
        let global: Vec<_> = loaded.types_global_values.iter().map(|i| i.class.opcode).collect();
        assert_eq!(global, [Op::Line]);
    }
}
