//! Source lines, as `OpLine` tells them or the non-semantic debug information.

use std::collections::HashMap;
use std::path::Path;

use rspirv::dr::{Block, Instruction, Module, Operand};
use rspirv::spirv::{Op, Word};
use serde::{Deserialize, Serialize};

use crate::shader::loader::id;

/// A line of a source file; the file's name may be empty.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SourceLine {
    pub file: String,
    pub line: u32,
}

impl SourceLine {
    /// As people find it: of the shader's own file the number, of others `common.glsl:12`.
    pub fn place(&self, shader: &str) -> String {
        let name = |path: &str| Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        match name(&self.file) {
            other if !other.is_empty() && other != name(shader) => format!("{other}:{}", self.line),
            _ => self.line.to_string(),
        }
    }
}

/// Instructions of `NonSemantic.Shader.DebugInfo.100`.
const DEBUG_SOURCE: u32 = 35;
const DEBUG_LINE: u32 = 103;
const DEBUG_NO_LINE: u32 = 104;

pub(super) struct Lines {
    strings: HashMap<Word, String>,
    /// The instruction sets of debug information.
    sets: Vec<Word>,
    /// Of each source, the string that names its file.
    sources: HashMap<Word, Word>,
    words: HashMap<Word, u32>,
    now: Option<SourceLine>,
}

impl Lines {
    pub(super) fn of(module: &Module) -> Self {
        let strings = module.debug_string_source.iter().filter_map(|instruction| {
            match (instruction.class.opcode, instruction.result_id, &instruction.operands[..]) {
                (Op::String, Some(id), [Operand::LiteralString(text)]) => Some((id, text.clone())),
                _ => None,
            }
        });
        let is_debug = |name: &str| name.starts_with("NonSemantic.Shader.DebugInfo");
        let imports = module
            .ext_inst_imports
            .iter()
            .filter(|import| matches!(&import.operands[..], [Operand::LiteralString(name)] if is_debug(name)));
        let words = module.types_global_values.iter().filter_map(|instruction| {
            match (instruction.class.opcode, instruction.result_id, &instruction.operands[..]) {
                (Op::Constant, Some(id), [Operand::LiteralBit32(word)]) => Some((id, *word)),
                _ => None,
            }
        });
        let mut new = Self {
            strings: strings.collect(),
            sets: imports.filter_map(|import| import.result_id).collect(),
            sources: HashMap::new(),
            words: words.collect(),
            now: None,
        };
        for instruction in &module.types_global_values {
            if let (Some((DEBUG_SOURCE, [file, ..])), Some(source)) = (new.debug(instruction), instruction.result_id) {
                let file = id(file);
                new.sources.extend(file.map(|file| (source, file)));
            }
        }
        new
    }

    /// An instruction of debug information, by its number, and its operands.
    fn debug<'i>(&self, instruction: &'i Instruction) -> Option<(u32, &'i [Operand])> {
        match (instruction.class.opcode, &instruction.operands[..]) {
            (Op::ExtInst, [Operand::IdRef(set), Operand::LiteralExtInstInteger(number), operands @ ..])
                if self.sets.contains(set) =>
            {
                Some((*number, operands))
            }
            _ => None,
        }
    }

    /// The line of a block's first instruction that has one.
    pub(super) fn first(&mut self, block: &Block) -> Option<SourceLine> {
        self.begin_block();
        block.instructions.iter().find_map(|instruction| {
            self.note(instruction);
            self.now()
        })
    }

    /// A block begins without a line.
    pub(super) fn begin_block(&mut self) {
        self.now = None;
    }

    pub(super) fn note(&mut self, instruction: &Instruction) {
        match (instruction.class.opcode, &instruction.operands[..]) {
            (Op::Line, [Operand::IdRef(file), Operand::LiteralBit32(line), ..]) => self.now = self.line(*file, *line),
            (Op::NoLine, _) => self.now = None,
            (Op::ExtInst, _) => match self.debug(instruction) {
                Some((DEBUG_LINE, [source, line, ..])) => {
                    let file = id(source).and_then(|source| self.sources.get(&source)).copied();
                    let line = id(line).and_then(|line| self.words.get(&line)).copied();
                    self.now = line.and_then(|line| self.line(file.unwrap_or_default(), line));
                }
                Some((DEBUG_NO_LINE, _)) => self.now = None,
                _ => {}
            },
            _ => {}
        }
    }

    fn line(&self, file: Word, line: u32) -> Option<SourceLine> {
        let file = self.strings.get(&file).cloned().unwrap_or_default();
        (line > 0).then_some(SourceLine { file, line })
    }

    pub(super) fn now(&self) -> Option<SourceLine> {
        self.now.clone()
    }
}
