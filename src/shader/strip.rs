//! What a module says of where it comes from, which isn't for everybody.

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::Op;

use super::LoadError;
use super::loader::load;

/// The same code without its source, the paths of that, its lines, and instructions that mean nothing to it. Names stay.
///
/// # Errors
/// Where it can't be read.
pub fn without_source(words: &[u32]) -> Result<Vec<u32>, LoadError> {
    use rspirv::binary::Assemble;
    let mut module = load(words)?;
    let is_nonsemantic = |import: &Instruction| matches!(import.operands.first(), Some(Operand::LiteralString(name)) if name.starts_with("NonSemantic.") || name.starts_with("OpenCL.DebugInfo"));
    let sets: Vec<u32> =
        module.ext_inst_imports.iter().filter(|import| is_nonsemantic(import)).filter_map(|import| import.result_id).collect();
    let is_meaningless = |instruction: &Instruction| {
        let set = instruction.operands.first().and_then(Operand::id_ref_any);
        let is_line = matches!(instruction.class.opcode, Op::Line | Op::NoLine);
        is_line || (instruction.class.opcode == Op::ExtInst && set.is_some_and(|set| sets.contains(&set)))
    };
    module.ext_inst_imports.retain(|import| !is_nonsemantic(import));
    module.types_global_values.retain(|instruction| !is_meaningless(instruction));
    for block in module.functions.iter_mut().flat_map(|function| &mut function.blocks) {
        block.instructions.retain(|instruction| !is_meaningless(instruction));
    }
    // Strings are of sources, and of the instructions that are gone.
    module.debug_string_source.clear();
    module.debug_module_processed.clear();
    Ok(module.assemble())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SpirvTarget;
    use crate::shader::{Compiler, Library, validate};

    #[test]
    fn a_module_loses_its_source_and_nothing_else() {
        let text = "#version 450\nlayout(local_size_x = 8) in;\nlayout(binding = 0) buffer O { uint o[]; };\n\
            void main() { uint secret_local = gl_GlobalInvocationID.x * 3u; o[gl_GlobalInvocationID.x] = secret_local; }\n";
        let library = Library::embedded().with("secret/place.comp", text);
        let module = Compiler::new(library).unwrap().with_lines().compile("secret/place.comp", &[], SpirvTarget::default());
        let module = module.unwrap();
        let has = |words: &[u32], text: &[u8]| {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            bytes.windows(text.len()).any(|window| window == text)
        };
        assert!(has(&module.words, b"place.comp"));
        let stripped = without_source(&module.words).unwrap();
        assert!(!has(&stripped, b"place.comp") && !has(&stripped, b"gl_GlobalInvocationID.x * 3u"));
        assert!(stripped.len() < module.words.len() && validate(&stripped).is_ok());
        assert_eq!(without_source(&stripped).unwrap(), stripped);
    }
}
