//! Arithmetic on f64 that nobody asked for: no memory that others see holds any, and yet values pass through it, as a literal without
//! `f` may have them do.

use std::collections::{HashMap, HashSet};

use rspirv::binary::Assemble;
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::{GlslStd450Op, Op, StorageClass, Word};

use super::edit::keep_entry;
use super::lines::{Lines, SourceLine};
use super::loader::{id, load};
use super::validator::validate_rewritten;

const DOUBLE: Operand = Operand::LiteralBit32(64);
const SINGLE: Operand = Operand::LiteralBit32(32);

/// The types of a module that are f64, or vectors and matrices of it; the first is f64 itself.
struct Doubles(Vec<Word>);

impl Doubles {
    fn of(module: &Module) -> Option<Self> {
        let globals = &module.types_global_values;
        let is_double = |of: &&Instruction| of.class.opcode == Op::TypeFloat && of.operands.first() == Some(&DOUBLE);
        let mut found = vec![globals.iter().find(is_double)?.result_id?];
        for of in globals.iter().filter(|of| matches!(of.class.opcode, Op::TypeVector | Op::TypeMatrix)) {
            if of.operands.first().and_then(id).is_some_and(|part| found.contains(&part)) {
                found.extend(of.result_id);
            }
        }
        Some(Self(found))
    }

    /// Those of a module where nothing asks for them, and nothing takes their bits.
    fn stray(module: &Module) -> Option<Self> {
        Self::of(module).filter(|doubles| !doubles.are_meant(module) && !takes_bits(module, doubles))
    }

    fn has(&self, ty: Word) -> bool {
        self.0.contains(&ty)
    }

    /// Whether others than the invocation see one.
    fn are_meant(&self, module: &Module) -> bool {
        let globals = &module.types_global_values;
        let parts: HashMap<Word, Vec<Word>> = globals
            .iter()
            .filter(|of| matches!(of.class.opcode, Op::TypeStruct | Op::TypeArray | Op::TypeRuntimeArray))
            .filter_map(|of| Some((of.result_id?, of.operands.iter().filter_map(id).collect())))
            .collect();
        let mut open: Vec<Word> = globals.iter().filter(|of| of.class.opcode == Op::TypePointer).filter_map(pointee).collect();
        let mut seen = HashSet::new();
        while let Some(ty) = open.pop() {
            if self.has(ty) {
                return true;
            }
            if seen.insert(ty) {
                open.extend(parts.get(&ty).into_iter().flatten());
            }
        }
        false
    }
}

/// What a pointer leads to that isn't the invocation's own.
fn pointee(pointer: &Instruction) -> Option<Word> {
    use StorageClass::{Function, Private};
    match pointer.operands[..] {
        [Operand::StorageClass(class), Operand::IdRef(to)] if !matches!(class, Function | Private) => Some(to),
        _ => None,
    }
}

/// The lines that compute in f64 in a module where nothing asks for that.
pub fn stray_doubles(words: &[u32], entry: &str) -> Vec<SourceLine> {
    let Ok(mut module) = load(words) else { return Vec::new() };
    if keep_entry(&mut module, entry).is_err() {
        return Vec::new();
    }
    let Some(doubles) = Doubles::stray(&module) else { return Vec::new() };
    let (mut lines, mut found) = (Lines::of(&module), Vec::new());
    for block in module.functions.iter().flat_map(|function| &function.blocks) {
        lines.begin_block();
        for of in &block.instructions {
            lines.note(of);
            if of.result_type.is_some_and(|ty| doubles.has(ty)) {
                found.extend(lines.now());
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

/// The results that are f64 in a module where nothing asks for that, after its other entry points are gone.
pub(super) fn stray_results(module: &Module) -> HashSet<Word> {
    let Some(doubles) = Doubles::stray(module) else { return HashSet::new() };
    let is_double = |of: &&Instruction| of.result_type.is_some_and(|ty| doubles.has(ty));
    module.all_inst_iter().filter(is_double).filter_map(|of| of.result_id).collect()
}

/// The module with f32 in the place of f64; nothing where something asks for f64, or takes its bits.
pub fn narrowed(words: &[u32], entry: &str) -> Option<Vec<u32>> {
    let mut module = load(words).ok()?;
    keep_entry(&mut module, entry).ok()?;
    let doubles = Doubles::stray(&module)?;
    let replaced = replace_types(&mut module, &doubles);
    let replace = |word: &mut Word| *word = replaced.get(word).copied().unwrap_or(*word);
    for of in module.all_inst_iter_mut() {
        of.result_type.iter_mut().for_each(replace);
        of.operands.iter_mut().for_each(|operand| {
            if let Operand::IdRef(word) = operand {
                replace(word);
            }
        });
        if let (Op::Constant, [Operand::LiteralBit64(bits)]) = (of.class.opcode, &of.operands[..]) {
            let is_double = of.result_type.is_some_and(|ty| Some(&ty) == replaced.get(&doubles.0[0]));
            #[expect(clippy::cast_possible_truncation, reason = "what it is about")]
            let single = (f64::from_bits(*bits) as f32).to_bits();
            if is_double {
                of.operands = vec![Operand::LiteralBit32(single)];
            }
        }
    }
    // A conversion to the type that a value has is none.
    let types: HashMap<Word, Word> = module.all_inst_iter().filter_map(|of| Some((of.result_id?, of.result_type?))).collect();
    for of in module.all_inst_iter_mut().filter(|of| of.class.opcode == Op::FConvert) {
        let from = of.operands.first().and_then(id).and_then(|value| types.get(&value)).copied();
        if from == of.result_type {
            *of = Instruction::new(Op::CopyObject, of.result_type, of.result_id, of.operands.clone());
        }
    }
    let narrow = module.assemble();
    validate_rewritten(words, &narrow).ok()?;
    Some(narrow)
}

/// Whether it makes or takes an f64 otherwise than by arithmetic, or is given one.
fn takes_bits(module: &Module, doubles: &Doubles) -> bool {
    let all = || module.all_inst_iter();
    let types: HashMap<Word, Word> = all().filter_map(|of| Some((of.result_id?, of.result_type?))).collect();
    let is_double = |value: &Word| types.get(value).is_some_and(|ty| doubles.has(*ty));
    all().any(|of| {
        let touches = of.result_type.is_some_and(|ty| doubles.has(ty))
            || of.operands.iter().filter_map(id).any(|value| is_double(&value));
        let packs =
            |number: u32| [GlslStd450Op::PackDouble2x32, GlslStd450Op::UnpackDouble2x32].iter().any(|op| *op as u32 == number);
        match of.class.opcode {
            Op::Bitcast | Op::SpecConstant | Op::SpecConstantOp => touches,
            Op::ExtInst => {
                matches!(of.operands.get(1), Some(Operand::LiteralExtInstInteger(number)) if packs(*number)) && touches
            }
            _ => false,
        }
    })
}

/// Declares each type of f32 once, ahead of all that is made of it. Gives what stands for the types of f64.
fn replace_types(module: &mut Module, doubles: &Doubles) -> HashMap<Word, Word> {
    let is_float = |of: &Instruction| of.class.opcode == Op::TypeFloat;
    let (mut floats, mut rest): (Vec<_>, Vec<_>) =
        std::mem::take(&mut module.types_global_values).into_iter().partition(is_float);
    let mut replaced: HashMap<Word, Word> = HashMap::new();
    let single = floats.iter().find(|of| of.operands[..] == [SINGLE]).and_then(|of| of.result_id);
    match single {
        Some(single) => {
            floats.retain(|of| of.result_id != Some(doubles.0[0]));
            replaced.insert(doubles.0[0], single);
        }
        None => {
            floats.iter_mut().filter(|of| of.result_id == Some(doubles.0[0])).for_each(|of| of.operands = vec![SINGLE]);
            replaced.insert(doubles.0[0], doubles.0[0]);
        }
    }
    // Vectors, and then matrices: each of them once.
    for op in [Op::TypeVector, Op::TypeMatrix] {
        let is_own = |of: &Instruction| {
            let part = of.operands.first().and_then(id);
            of.class.opcode == op
                && part.is_some_and(|part| doubles.has(part) || floats.iter().any(|of| of.result_id == Some(part)))
        };
        let (own, others): (Vec<_>, Vec<_>) = rest.into_iter().partition(is_own);
        rest = others;
        for mut of in own {
            if let Some(Operand::IdRef(part)) = of.operands.first_mut() {
                *part = replaced.get(part).copied().unwrap_or(*part);
            }
            let known = floats.iter().find(|known| known.class.opcode == op && known.operands == of.operands);
            match known.and_then(|known| known.result_id).zip(of.result_id) {
                Some((known, own)) => drop(replaced.insert(own, known)),
                None => floats.push(of),
            }
        }
    }
    module.types_global_values = floats.into_iter().chain(rest).collect();
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SpirvTarget;
    use crate::shader::{Compiler, Library};

    fn compiled(body: &str) -> Vec<u32> {
        let of_doubles = if body.contains("d[i]") { "layout(binding = 1) buffer D { double d[]; };" } else { "" };
        let text = format!(
            "#version 450\nlayout(local_size_x = 64) in;\nlayout(binding = 0) buffer A {{ float a[]; }};\n\
             {of_doubles}\nvoid main() {{\nuint i = gl_LocalInvocationIndex;\n{body}\n}}\n"
        );
        let mut compiler = Compiler::new(Library::embedded().with("a.comp", text)).unwrap().with_lines();
        compiler.compile("a.comp", &[], SpirvTarget::Vulkan1_3).unwrap().words.clone()
    }

    fn lines(body: &str) -> Vec<u32> {
        stray_doubles(&compiled(body), "main").into_iter().map(|line| line.line).collect()
    }

    #[test]
    fn doubles_that_nothing_asks_for_are_found_and_narrowed() {
        let body = "dvec3 v = dvec3(a[i]);\nv = v * 0.5lf + sqrt(v.yzx);\nmat2 m = mat2(a[i]);\na[i] = float(v.x + dot(v, v)) + m[0][1];";
        assert_eq!(lines(body), [7, 8, 10]);
        let narrow = narrowed(&compiled(body), "main").unwrap();
        let module = load(&narrow).unwrap();
        assert!(Doubles::of(&module).is_none());
        // Types are declared once.
        let floats = module.types_global_values.iter().filter(|of| of.class.opcode == Op::TypeFloat);
        assert_eq!(floats.count(), 1);
    }

    #[test]
    fn doubles_that_are_asked_for_stay() {
        for body in ["d[i] = d[i] * 0.5lf;", "a[i] = float(packDouble2x32(uvec2(i, 7u)));", "a[i] *= 0.5;"] {
            assert!(narrowed(&compiled(body), "main").is_none(), "{body}");
        }
        assert_eq!(lines("d[i] = a[i] * 0.5lf;"), [0; 0]);
        assert_eq!(lines("a[i] *= 0.5;"), [0; 0]);
    }
}
