//! What arithmetic a dispatch does: a module that counts how often invocations come to each of its blocks.
//!
//! A block with arithmetic has a counter of the invocation's own, which goes up where the block begins. Where the entry point returns,
//! all go to a buffer, as numbers of two words.

mod operations;

use rspirv::binary::Assemble;
use rspirv::dr::{Block, Instruction};
use rspirv::spirv::{Op, Word};

use super::edit::{Editor, Missing, RewriteError, WordBuffer, ids, keep_entry};
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
    /// What an invocation does in each block that has a counter.
    blocks: Vec<Done>,
    /// Whether some arithmetic of cooperative matrices can't be told.
    pub is_partial: bool,
}

/// Words of a counter: the low one first.
const WORDS: usize = 2;

impl Counting {
    /// Rewrites a module for one entry point. Values of its specialization constants tell how large cooperative matrices are.
    pub fn of(original: &[u32], entry: &str, values: &SpecValues) -> Result<Self, RewriteError> {
        let mut module = load(original)?;
        let function = keep_entry(&mut module, entry)?;
        let work = Work::of(&module, values);
        let called = Mentions::of(&module).from([function]);
        let mut writer = Writer::new(Editor::new(module.clone())?);
        let mut functions = std::mem::take(&mut writer.edit.module.functions);
        for of in functions.iter_mut().filter(|of| of.def_id().is_some_and(|id| called.contains(&id))) {
            of.blocks.iter_mut().for_each(|block| writer.count(block, work.of_block(block)));
        }
        let entry = functions.iter_mut().find(|of| of.def_id() == Some(function));
        entry.ok_or(Missing("function of that entry point"))?.blocks.iter_mut().for_each(|block| writer.write_out(block));
        writer.edit.module.functions = functions;
        let blocks = writer.counters.into_iter().map(|(_, of)| of).collect();
        let words = writer.edit.finish().assemble();
        validate_rewritten(original, &words)?;
        Ok(Self { words, place: writer.place, blocks, is_partial: work.is_partial() })
    }

    /// How large the buffer must be.
    pub fn bytes(&self) -> u64 {
        4 * (WORDS * self.blocks.len().max(1)) as u64
    }

    /// What all invocations did, out of what a pass left in the buffer. Those of a subgroup, or of a workgroup, multiply matrices together.
    pub fn done(&self, counted: &[u8], subgroup_size: u32, local_size: u32) -> Operations {
        let counters = counted.chunks_exact(4 * WORDS).map(|bytes| bytes.try_into().map_or(0, u64::from_le_bytes));
        let mut all = Operations::new();
        for (block, times) in self.blocks.iter().zip(counters) {
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
    /// The variable of each counter, and what is done where it goes up.
    counters: Vec<(Word, Done)>,
}

impl Writer {
    fn new(mut edit: Editor) -> Self {
        let place = (0, edit.free_binding());
        let buffer = edit.word_buffer(place);
        Self { edit, place, buffer, counters: Vec::new() }
    }

    fn count(&mut self, block: &mut Block, done: Done) {
        if done.is_empty() {
            return;
        }
        let (counter, one) = (self.edit.own_variable(), self.edit.constant(1));
        // These come first in a block.
        let is_first = |of: &Instruction| matches!(of.class.opcode, Op::Phi | Op::Variable | Op::Line | Op::NoLine);
        let rest = block.instructions.iter().position(|of| !is_first(of)).unwrap_or(block.instructions.len());
        let mut code = Vec::new();
        let so_far = self.edit.emit(&mut code, Op::Load, self.edit.uint, &[counter]);
        let more = self.edit.emit(&mut code, Op::IAdd, self.edit.uint, &[so_far, one]);
        code.push(Instruction::new(Op::Store, None, None, ids(&[counter, more])));
        block.instructions.splice(rest..rest, code);
        self.counters.push((counter, done));
    }

    /// Adds the counters to the buffer, if the entry point returns here.
    fn write_out(&mut self, block: &mut Block) {
        if block.instructions.last().is_none_or(|last| last.class.opcode != Op::Return) {
            return;
        }
        let end = block.instructions.pop();
        let one = self.edit.constant(1);
        for (at, (counter, _)) in self.counters.iter().enumerate() {
            let code = &mut block.instructions;
            let count = self.edit.emit(code, Op::Load, self.edit.uint, &[*counter]);
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
            let counting = Counting::of(&module.words, "main", &values).unwrap();
            assert!(!counting.is_partial);
            let done = counting.done(&counted, 32, 64);
            assert_eq!(done, Operations::from([(Operation::MatrixMultiplyAdd { bits: 16 }, 3 * 16 * 4 * k)]));
        }
        let of_workgroup = compiled(text.replace("gl_ScopeSubgroup", "gl_ScopeWorkgroup"));
        let counting = Counting::of(&of_workgroup.words, "main", &SpecValues::new()).unwrap();
        let done = counting.done(&counted, 32, 48);
        assert_eq!(done, Operations::from([(Operation::MatrixMultiplyAdd { bits: 16 }, 2 * 16 * 4 * 8)]));
        let of_device = compiled(text.replace("gl_ScopeSubgroup", "gl_ScopeDevice"));
        assert!(Counting::of(&of_device.words, "main", &SpecValues::new()).unwrap().is_partial);
    }
}
