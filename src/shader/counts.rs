//! What arithmetic a dispatch does: a module that counts how often invocations come to each of its blocks.
//!
//! A block with arithmetic has a counter of the invocation's own, which goes up where the block begins; and another one, which only the
//! first of the lanes counts up that come together. Where the entry point returns, all go to a buffer, as numbers of two words.

mod operations;

use rspirv::binary::Assemble;
use rspirv::dr::{Block, Instruction, Operand};
use rspirv::spirv::{Capability, Op, Scope, Word};
use serde::{Deserialize, Serialize};

use super::edit::{Editor, Missing, RewriteError, WordBuffer, ids, keep_entry};
use super::lines::{Lines, SourceLine};
use super::loader::load;
use super::reflect::SpecValues;
use super::reflect::reach::Mentions;
use super::validator::validate_rewritten;
use operations::{Done, Work};

pub use operations::{Operation, Operations};

#[derive(Clone, Debug, PartialEq)]
pub struct Counting {
    /// The module; the entry point is its only one.
    pub words: Vec<u32>,
    /// The set and binding of the storage buffer that it counts in, which must be filled with zeros before it runs.
    pub place: (u32, u32),
    /// The blocks that have counters.
    blocks: Vec<Counted>,
    /// Whether the times that subgroups come to a block are counted as well.
    has_visits: bool,
    /// Whether some arithmetic of cooperative matrices can't be told.
    pub is_partial: bool,
}

/// Words of a counter: the low one first.
const WORDS: usize = 2;

/// A block, with what an invocation does there.
#[derive(Clone, Debug, PartialEq)]
struct Counted {
    done: Done,
    /// Of its first instruction that has one.
    line: Option<SourceLine>,
}

/// How a block was come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visited {
    pub line: Option<SourceLine>,
    /// What an invocation does there.
    pub operations: u64,
    /// By how many invocations, and by how many subgroups: lanes that come together are one visit.
    pub lanes: u64,
    pub visits: u64,
}

impl Counting {
    /// Rewrites a module for one entry point. Values of its specialization constants tell how large cooperative matrices are.
    /// `can_elect`: whether the device tells one lane of a subgroup from the others, so that visits can be counted.
    pub fn of(original: &[u32], entry: &str, values: &SpecValues, can_elect: bool) -> Result<Self, RewriteError> {
        let mut module = load(original)?;
        let function = keep_entry(&mut module, entry)?;
        let work = Work::of(&module, values);
        let called = Mentions::of(&module).from([function]);
        let (mut writer, mut lines) = (Writer::new(Editor::new(module.clone())?, can_elect), Lines::of(&module));
        let mut functions = std::mem::take(&mut writer.edit.module.functions);
        for of in functions.iter_mut().filter(|of| of.def_id().is_some_and(|id| called.contains(&id))) {
            let all = work.of_function(of);
            for (block, done) in of.blocks.iter_mut().zip(all) {
                let line = lines.first(block);
                writer.count(block, Counted { done, line });
            }
        }
        let entry = functions.iter_mut().find(|of| of.def_id() == Some(function));
        entry.ok_or(Missing("function of that entry point"))?.blocks.iter_mut().for_each(|block| writer.write_out(block));
        writer.edit.module.functions = functions;
        let has_visits = writer.subgroup.is_some();
        let blocks = writer.counters.into_iter().map(|counter| counter.of).collect();
        let words = writer.edit.finish().assemble();
        validate_rewritten(original, &words)?;
        Ok(Self { words, place: writer.place, blocks, has_visits, is_partial: work.is_partial() })
    }

    /// How large the buffer must be.
    pub fn bytes(&self) -> u64 {
        4 * (WORDS * self.numbers() * self.blocks.len().max(1)) as u64
    }

    /// Counters of a block.
    fn numbers(&self) -> usize {
        if self.has_visits { 2 } else { 1 }
    }

    fn read(counted: &[u8]) -> impl Iterator<Item = u64> {
        counted.chunks_exact(4 * WORDS).map(|bytes| bytes.try_into().map_or(0, u64::from_le_bytes))
    }

    /// How blocks were come to, out of what a pass left in the buffer; nothing where visits aren't counted.
    pub fn visited(&self, counted: &[u8]) -> Vec<Visited> {
        let numbers: Vec<u64> = Self::read(counted).collect();
        let of = |(Counted { done, line }, numbers): (&Counted, &[u64])| {
            let [lanes, visits] = *numbers else { return None };
            Some(Visited { line: line.clone(), operations: done.own.values().sum(), lanes, visits })
        };
        self.blocks.iter().zip(numbers.chunks(self.numbers())).filter_map(of).collect()
    }

    /// What all invocations did, out of what a pass left in the buffer. Those of a subgroup, or of a workgroup, multiply matrices together.
    pub fn done(&self, counted: &[u8], subgroup_size: u32, local_size: u32) -> Operations {
        let counters = Self::read(counted).step_by(self.numbers());
        let mut all = Operations::new();
        for (block, times) in self.blocks.iter().map(|block| &block.done).zip(counters) {
            for (of_block, sharers) in [(&block.own, 1), (&block.of_subgroup, subgroup_size), (&block.of_workgroup, local_size)]
            {
                for (operation, count) in of_block {
                    let so_far: &mut u64 = all.entry(*operation).or_default();
                    *so_far = so_far.saturating_add(count.saturating_mul(times) / u64::from(sharers.max(1)));
                }
            }
        }
        all.retain(|_, count| *count > 0);
        all
    }
}

struct Writer {
    edit: Editor,
    place: (u32, u32),
    buffer: WordBuffer,
    counters: Vec<Counter>,
    /// The scope of a subgroup, where visits are counted.
    subgroup: Option<Word>,
}

/// The variables of a block's counters, and the block.
struct Counter {
    lanes: Word,
    visits: Option<Word>,
    of: Counted,
}

impl Writer {
    fn new(mut edit: Editor, can_elect: bool) -> Self {
        let place = (0, edit.free_binding());
        let buffer = edit.word_buffer(place);
        // Older modules know no subgroups.
        let subgroup = (can_elect && edit.version() >= 0x0001_0300).then(|| edit.constant(Scope::Subgroup as u32));
        if subgroup.is_some() {
            edit.require(Capability::GroupNonUniform);
        }
        Self { edit, place, buffer, counters: Vec::new(), subgroup }
    }

    fn count(&mut self, block: &mut Block, of: Counted) {
        if of.done.is_empty() {
            return;
        }
        let (lanes, one) = (self.edit.own_variable(), self.edit.constant(1));
        // These come first in a block.
        let is_first = |of: &Instruction| matches!(of.class.opcode, Op::Phi | Op::Variable | Op::Line | Op::NoLine);
        let rest = block.instructions.iter().position(|of| !is_first(of)).unwrap_or(block.instructions.len());
        let mut code = Vec::new();
        self.add(lanes, one, &mut code);
        let visits = self.subgroup.map(|subgroup| {
            let is_first = self.edit.take_id();
            let scope = vec![Operand::IdScope(subgroup)];
            code.push(Instruction::new(Op::GroupNonUniformElect, Some(self.edit.bool), Some(is_first), scope));
            let visit = self.edit.emit(&mut code, Op::Select, self.edit.uint, &[is_first, one, self.edit.zero]);
            let visits = self.edit.own_variable();
            self.add(visits, visit, &mut code);
            visits
        });
        block.instructions.splice(rest..rest, code);
        self.counters.push(Counter { lanes, visits, of });
    }

    fn add(&mut self, counter: Word, more: Word, code: &mut Vec<Instruction>) {
        let so_far = self.edit.emit(code, Op::Load, self.edit.uint, &[counter]);
        let sum = self.edit.emit(code, Op::IAdd, self.edit.uint, &[so_far, more]);
        code.push(Instruction::new(Op::Store, None, None, ids(&[counter, sum])));
    }

    /// Adds the counters to the buffer, if the entry point returns here.
    fn write_out(&mut self, block: &mut Block) {
        if block.instructions.last().is_none_or(|last| last.class.opcode != Op::Return) {
            return;
        }
        let end = block.instructions.pop();
        let one = self.edit.constant(1);
        for (at, counter) in self.counters.iter().flat_map(|of| [Some(of.lanes), of.visits]).flatten().enumerate() {
            let code = &mut block.instructions;
            let count = self.edit.emit(code, Op::Load, self.edit.uint, &[counter]);
            let before = self.edit.change_word(Op::AtomicIAdd, &self.buffer, WORDS * at, count, code);
            let after = self.edit.emit(code, Op::IAdd, self.edit.uint, &[before, count]);
            let is_over = self.edit.emit(code, Op::ULessThan, self.edit.bool, &[after, before]);
            let carry = self.edit.emit(code, Op::Select, self.edit.uint, &[is_over, one, self.edit.zero]);
            self.edit.change_word(Op::AtomicIAdd, &self.buffer, WORDS * at + 1, carry, code);
        }
        block.instructions.extend(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SpirvTarget;
    use crate::shader::{Compiler, Library};

    /// No driver of the tests has cooperative matrices: what they multiply is read off the module.
    #[test]
    fn products_of_matrices_are_as_large_as_constants_make_them() {
        let text = "#version 450\n#extension GL_KHR_cooperative_matrix : require\n\
             #extension GL_KHR_memory_scope_semantics : require\n\
             #extension GL_EXT_shader_explicit_arithmetic_types : require\n\
             layout(local_size_x = 32) in;\nlayout(constant_id = 7) const uint K = 8;\n\
             layout(binding = 0) buffer A { float16_t a[]; };\nlayout(binding = 1) buffer O { float o[]; };\n\
             void main() {\n\
             coopmat<float16_t, gl_ScopeSubgroup, 16, K, gl_MatrixUseA> x;\n\
             coopmat<float16_t, gl_ScopeSubgroup, K, 4, gl_MatrixUseB> y;\n\
             coopMatLoad(x, a, 0, K, gl_CooperativeMatrixLayoutRowMajor);\n\
             coopMatLoad(y, a, 0, 4, gl_CooperativeMatrixLayoutRowMajor);\n\
             coopmat<float, gl_ScopeSubgroup, 16, 4, gl_MatrixUseAccumulator> z =\n\
             coopmat<float, gl_ScopeSubgroup, 16, 4, gl_MatrixUseAccumulator>(0.0);\n\
             z = coopMatMulAdd(x, y, z);\n\
             coopMatStore(z, o, 0, 4, gl_CooperativeMatrixLayoutRowMajor);\n}\n";
        let compiled = |text: String| {
            let library = Library::embedded().with("a.comp", text);
            Compiler::new(library).unwrap().compile("a.comp", &[], SpirvTarget::Vulkan1_3).unwrap()
        };
        let module = compiled(text.to_owned());
        // Three subgroups came there.
        let counted: Vec<u8> = (3_u64 * 32).to_le_bytes().to_vec();
        for (values, k) in [(SpecValues::new(), 8), (SpecValues::from([(7, 16)]), 16)] {
            let counting = Counting::of(&module.words, "main", &values, false).unwrap();
            assert!(!counting.is_partial);
            let done = counting.done(&counted, 32, 64);
            assert_eq!(done, Operations::from([(Operation::MatrixMultiplyAdd { bits: 16 }, 3 * 16 * 4 * k)]));
        }
        let of_workgroup = compiled(text.replace("gl_ScopeSubgroup", "gl_ScopeWorkgroup"));
        let counting = Counting::of(&of_workgroup.words, "main", &SpecValues::new(), false).unwrap();
        let done = counting.done(&counted, 32, 48);
        assert_eq!(done, Operations::from([(Operation::MatrixMultiplyAdd { bits: 16 }, 2 * 16 * 4 * 8)]));
        let of_device = compiled(text.replace("gl_ScopeSubgroup", "gl_ScopeDevice"));
        assert!(Counting::of(&of_device.words, "main", &SpecValues::new(), false).unwrap().is_partial);
    }
}
