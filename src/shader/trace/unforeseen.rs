//! What compilers know of where accesses of shared memory lead: by that they make several of them one.

use std::collections::HashMap;

use rspirv::binary::Assemble;
use rspirv::dr::{Function, Instruction, Module, Operand};
use rspirv::spirv::{Op, StorageClass, Word};

use super::layout::{Layouts, Place, Stride};
use super::loops::Loops;
use super::{Foreseen, WIDEST};
use crate::shader::inlined::inlined;
use crate::shader::loader::{id, load};
use crate::shader::reflect::SpecValues;

/// Values that are looked at for one access.
const MOST: u32 = 4096;

/// What divides more than this divides as much.
const EVENEST: u64 = 1 << 16;

/// Of pointers to parts of shared memory, what compilers know of each: nothing of those that it can't be told of.
pub(super) fn foreseen(module: &Module, constants: &SpecValues) -> HashMap<Word, Foreseen> {
    let is_shared = |of: &Instruction| of.operands.first() == Some(&Operand::StorageClass(StorageClass::Workgroup));
    let inlined = module.types_global_values.iter().any(is_shared).then(|| inlined(&module.assemble())).flatten();
    let Some(module) = inlined.and_then(|words| load(&words).ok()) else { return HashMap::new() };
    let layouts = Layouts::of(&module, constants);
    let globals: HashMap<Word, &Instruction> =
        module.types_global_values.iter().filter_map(|of| Some((of.result_id?, of))).collect();
    let mut all = HashMap::new();
    for function in &module.functions {
        let mut indexes = Indexes::of(globals.clone(), function, &layouts);
        for block in &function.blocks {
            let label = block.label.as_ref().and_then(|label| label.result_id).unwrap_or_default();
            let chains = block.instructions.iter().filter(|of| is_chain(of.class.opcode));
            all.extend(chains.filter_map(|of| Some((of.result_id?, indexes.foreseen(of, label)?))));
        }
    }
    all
}

fn is_chain(opcode: Op) -> bool {
    matches!(opcode, Op::AccessChain | Op::InBoundsAccessChain)
}

/// What compilers know of a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Number {
    /// A power of two that divides it.
    divisor: u64,
    /// The innermost loop that changes it to what no compiler foresees: how deep it is, and its place.
    moved: Option<(usize, usize)>,
    /// The innermost loop that changes it by what is known.
    stepped: Option<(usize, usize)>,
    /// Whether a part of it comes from memory, or is an invocation's own.
    is_unknown: bool,
    /// Whether it is from the iteration before, and whether what isn't known was added to that.
    is_carried: bool,
    is_advanced: bool,
}

impl Number {
    const UNKNOWN: Self =
        Self { divisor: 1, moved: None, stepped: None, is_unknown: true, is_carried: false, is_advanced: false };

    fn constant(value: u64) -> Self {
        Self { divisor: 1 << value.trailing_zeros().min(EVENEST.trailing_zeros()), ..Self::default() }
    }

    /// What is made of both.
    fn with(self, other: Self, divisor: u64) -> Self {
        Self {
            divisor: divisor.min(EVENEST),
            moved: self.moved.max(other.moved),
            stepped: self.stepped.max(other.stepped),
            is_unknown: self.is_unknown || other.is_unknown,
            is_carried: self.is_carried || other.is_carried,
            is_advanced: self.is_advanced || other.is_advanced,
        }
    }

    /// What is added up of both, or hangs on each of their bits in another way.
    fn added(self, other: Self, divisor: u64) -> Self {
        let is_advanced = self.is_carried && other.is_unknown || other.is_carried && self.is_unknown;
        let with = self.with(other, divisor);
        Self { is_advanced: with.is_advanced || is_advanced, ..with }
    }

    /// One of both.
    fn either(self, other: Self) -> Self {
        Self {
            moved: self.moved.min(other.moved),
            is_advanced: self.is_advanced && other.is_advanced,
            ..self.with(other, self.divisor.min(other.divisor))
        }
    }
}

struct Indexes<'m> {
    layouts: &'m Layouts,
    definitions: HashMap<Word, &'m Instruction>,
    /// Of each result, its block.
    blocks: HashMap<Word, Word>,
    loops: Loops,
    /// The value from the iteration before, while what it becomes is looked at.
    carried: Option<(Word, Number)>,
    left: u32,
}

impl<'m> Indexes<'m> {
    fn of(mut definitions: HashMap<Word, &'m Instruction>, function: &'m Function, layouts: &'m Layouts) -> Self {
        let mut blocks = HashMap::new();
        for block in &function.blocks {
            let label = block.label.as_ref().and_then(|label| label.result_id).unwrap_or_default();
            for of in &block.instructions {
                definitions.extend(of.result_id.map(|result| (result, of)));
                blocks.extend(of.result_id.map(|result| (result, label)));
            }
        }
        Self { layouts, definitions, blocks, loops: layouts.loops(function), carried: None, left: 0 }
    }

    /// Nothing where any number may be known: then whatever a compiler can do counts.
    fn foreseen(&mut self, chain: &'m Instruction, block: Word) -> Option<Foreseen> {
        self.left = MOST;
        let (class, place) = self.root(chain)?;
        if class != StorageClass::Workgroup {
            return None;
        }
        let at = self.chained(chain, place)?;
        let around = self.loops.around(block)?;
        let loops = match at.moved {
            // Nothing of what a loop before has moved.
            Some((_, of)) => 1 + around.iter().position(|known| *known == of)?,
            None => 0,
        };
        Some(Foreseen { alignment: at.divisor.min(WIDEST), loops })
    }

    /// What a pointer starts from: the class of that variable, and its type.
    fn root(&self, chain: &Instruction) -> Option<(StorageClass, Place)> {
        let mut of = chain;
        while is_chain(of.class.opcode) {
            of = self.definitions.get(&id(of.operands.first()?)?)?;
        }
        let Some(Operand::StorageClass(class)) = of.operands.first().filter(|_| of.class.opcode == Op::Variable) else {
            return None;
        };
        let pointer = self.definitions.get(&of.result_type?)?;
        Some((*class, Place::of(id(pointer.operands.get(1)?)?)))
    }

    /// Where a chain leads, in bytes, whatever constants are added.
    fn chained(&mut self, chain: &'m Instruction, root: Place) -> Option<Number> {
        let (mut place, mut all) = (root, Number::constant(0));
        for index in self.indexes(chain) {
            let constant = self.layouts.values().integer(index);
            let (stride, inner) = self.layouts.step(place, constant)?;
            if let (Stride::Element(bytes), None) = (stride, constant) {
                let number = self.number(index)?;
                let divisor = number.divisor.saturating_mul(Number::constant(bytes).divisor);
                all = all.with(number, all.divisor.min(divisor));
            }
            place = inner;
        }
        Some(all)
    }

    /// The indexes of a chain of chains, from the outermost value on; none of a variable.
    fn indexes(&self, mut of: &'m Instruction) -> Vec<Word> {
        let mut all = Vec::new();
        while is_chain(of.class.opcode) {
            all.splice(0..0, of.operands[1..].iter().filter_map(id));
            let Some(base) = of.operands.first().and_then(id).and_then(|base| self.definitions.get(&base)) else { break };
            of = base;
        }
        all
    }

    fn number(&mut self, value: Word) -> Option<Number> {
        self.left = self.left.checked_sub(1)?;
        if let Some(constant) = self.layouts.values().integer(value) {
            return Some(Number::constant(constant));
        }
        if let Some((_, number)) = self.carried.filter(|(carried, _)| *carried == value) {
            return Some(number);
        }
        let of = *self.definitions.get(&value)?;
        let operand = |at: usize| of.operands.get(at).and_then(id);
        let constant = |of: &Self, at: usize| operand(at).and_then(|value| of.layouts.values().integer(value));
        let first = operand(0)?;
        match of.class.opcode {
            Op::Bitcast | Op::UConvert | Op::SConvert | Op::CopyObject => self.number(first),
            // That a remainder is taken off makes it even.
            Op::ISub if operand(1).is_some_and(|value| self.is_remainder(value)) => None,
            Op::IAdd | Op::ISub | Op::BitwiseXor => {
                let second = operand(1)?;
                let (one, other) = (self.number(first)?, self.number(second)?);
                // How far neighbours are apart hangs on no constant.
                let divisor = match [first, second].map(|value| self.layouts.values().integer(value).is_some()) {
                    [true, false] => other.divisor,
                    [false, true] => one.divisor,
                    _ => one.divisor.min(other.divisor),
                };
                Some(one.added(other, divisor))
            }
            Op::IMul => {
                let (one, other) = (self.number(first)?, self.number(operand(1)?)?);
                Some(one.added(other, one.divisor.saturating_mul(other.divisor)))
            }
            Op::ShiftLeftLogical => {
                let (one, by) = (self.number(first)?, constant(self, 1)?);
                Some(Number { divisor: (one.divisor << by.min(16)).min(EVENEST), ..one })
            }
            Op::BitwiseAnd => {
                let (one, other) = (self.number(first)?, self.number(operand(1)?)?);
                Some(one.with(other, one.divisor.max(other.divisor)))
            }
            Op::BitwiseOr | Op::UMod | Op::SMod | Op::SRem => {
                let (one, other) = (self.number(first)?, self.number(operand(1)?)?);
                Some(one.with(other, one.divisor.min(other.divisor)))
            }
            Op::UDiv | Op::ShiftRightLogical | Op::ShiftRightArithmetic => {
                let (one, other) = (self.number(first)?, self.number(operand(1)?)?);
                Some(one.with(other, 1))
            }
            Op::Select => {
                let (one, other) = (self.number(operand(1)?)?, self.number(operand(2)?)?);
                Some(one.either(other))
            }
            Op::CompositeExtract => {
                let whole = *self.definitions.get(&first).filter(|whole| whole.class.opcode == Op::Load)?;
                self.loaded(whole)
            }
            Op::Load => self.loaded(of),
            Op::Phi => self.phi(of, value),
            _ => None,
        }
    }

    fn is_remainder(&self, value: Word) -> bool {
        let of = self.definitions.get(&value).map(|of| of.class.opcode);
        matches!(of, Some(Op::UMod | Op::SMod | Op::SRem | Op::BitwiseAnd))
    }

    /// What memory holds: where a loop loads from other places, no compiler knows whether that is the same.
    fn loaded(&mut self, load: &Instruction) -> Option<Number> {
        use StorageClass::{Input, PushConstant, StorageBuffer, Uniform, Workgroup};
        let pointer = *self.definitions.get(&id(load.operands.first()?)?)?;
        let (class, _) = self.root(pointer)?;
        if !matches!(class, Input | PushConstant | StorageBuffer | Uniform | Workgroup) {
            return None;
        }
        let indexes = self.indexes(pointer);
        let all = indexes.into_iter().try_fold(Number::UNKNOWN, |all, index| Some(all.with(self.number(index)?, 1)))?;
        Some(Number { moved: all.moved.max(all.stepped), ..all })
    }

    fn phi(&mut self, of: &Instruction, value: Word) -> Option<Number> {
        let block = *self.blocks.get(&value)?;
        let Some(place) = self.loops.all.iter().position(|of| of.header == block) else {
            // Constants may rule out where some of them come from.
            let is_reached = |of: &&[Operand]| id(&of[1]).is_some_and(|from| self.loops.around(from).is_some());
            let from: Vec<Word> = of.operands.chunks_exact(2).filter(is_reached).map(|of| id(&of[0])).collect::<Option<_>>()?;
            let all = from.into_iter().map(|value| self.number(value)).collect::<Option<Vec<Number>>>()?;
            return all.into_iter().reduce(Number::either);
        };
        let depth = self.loops.around(block)?.len();
        let from = |is_inside: bool| {
            let known = &self.loops.all[place].before;
            let from = |of: &&[Operand]| id(&of[1]).is_some_and(|from| known.contains(&(from, is_inside)));
            of.operands.chunks_exact(2).filter(from).filter_map(|of| id(&of[0])).collect::<Vec<Word>>()
        };
        let ([before], [after]) = (&from(false)[..], &from(true)[..]) else { return None };
        let before = self.number(*before)?;
        let own = Number { is_carried: true, ..before };
        let outer = self.carried.replace((value, own));
        let after = self.number(*after);
        self.carried = outer;
        let (after, here) = (after?, Some((depth, place)));
        match after.is_advanced {
            true => {
                // With that, a loop around it goes on as well.
                let (is_carried, is_advanced) = (before.is_carried, before.is_carried);
                let divisor = before.divisor.min(after.divisor);
                Some(Number { divisor, moved: here, is_carried, is_advanced, ..Number::UNKNOWN })
            }
            false if after.is_carried => Some(Number { stepped: before.stepped.max(here), ..before }),
            // It may be anything that the iteration before had.
            false => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::model::SpirvTarget;
    use crate::shader::reflect::SpecValues;
    use crate::shader::{AccessKind, Compiler, Foreseen, Library, Site, TraceOptions, Traced};

    const OPTIONS: TraceOptions = TraceOptions { leaders: false, values: false, sites: None, foresees: true };

    /// The alignment and the loops of the first load of `tile`.
    fn foreseen(body: &str) -> (u64, usize) {
        let text = format!(
            "#version 450\nlayout(local_size_x = 64) in;\nlayout(constant_id = 0) const uint C = 16;\n\
             layout(binding = 0) buffer M {{ uint mem[]; }};\nlayout(push_constant) uniform P {{ uint n, m; }};\n\
             shared uint tile[1024];\nshared uint square[32][C];\n\
             uint place(uint lane) {{\nswitch (C) {{ case 16: return lane; case 3: return findLSB(lane); default: return 5u; }}\n}}\n\
             void main() {{\nuint i = gl_LocalInvocationID.x, r = 0u, s = m;\n{body}\nmem[i] = r;\n}}\n"
        );
        let library = Library::embedded().with("a.comp", text);
        let module = Compiler::new(library).unwrap().compile("a.comp", &[], SpirvTarget::Vulkan1_3).unwrap();
        let traced = Traced::of(&module.words, "main", &SpecValues::new(), &OPTIONS).unwrap();
        let of_tile =
            |of: &&Site| of.kind == AccessKind::Load && (of.name.starts_with("tile") || of.name.starts_with("square"));
        let Foreseen { alignment, loops } = traced.sites.iter().find(of_tile).unwrap().foreseen;
        (alignment, loops)
    }

    #[test]
    fn a_step_that_is_known_only_to_the_device_is_told_from_others() {
        for (body, is) in [
            // Where the loop is unrolled, compilers know each address.
            ("for (uint k = 0u; k < 32u; ++k) r += tile[k];", (16, 0)),
            ("for (uint k = 0u; k < n; k += 2u) r += tile[4u * i + k];", (16, 0)),
            ("for (uint k = 0u; k < n; ++k) r += tile[(k * 5u + 1u) & 7u];", (16, 0)),
            ("for (uint k = 0u; k < n; ++k) { r += tile[i]; r ^= r << 1; }", (4, 0)),
            ("for (uint k = 0u; k < n; ++k) r += square[i][k];", (16, 0)),
            ("for (uint k = 0u; k < n; ++k) r += square[k][i];", (4, 0)),
            ("for (uint k = i; k < n; k += 64u) r += tile[k];", (4, 0)),
            // The bank conflicts of the catalogue.
            ("for (uint k = 0u; k < n; ++k) { r = 3u * r + tile[32u * i + s]; s = (s + m) & 7u; }", (4, 1)),
            ("for (uint k = 0u; k < n; ++k) { r = 3u * r + tile[32u * i + 4u * s]; s = (s + m) & 7u; }", (16, 1)),
            ("for (uint k = 0u; k < n; ++k) { for (uint j = 0u; j < m; ++j) r = 3u * r + tile[s + j]; s += n; }", (4, 1)),
            ("for (uint k = 0u; k < n; ++k) for (uint j = 0u; j < m; ++j) { r = 3u * r + tile[s]; s += n; }", (4, 2)),
            ("for (uint k = 0u; k < n; ++k) { r = 3u * r + tile[place(i) + s]; s = (s + m) & 7u; }", (4, 1)),
            // What is loaded, nobody foresees.
            ("for (uint k = 0u; k < n; ++k) r += tile[mem[k]];", (4, 1)),
            ("for (uint k = 0u; k < n; ++k) r += tile[4u * mem[k]];", (16, 1)),
            ("for (uint k = 0u; k < n; ++k) { s = mem[s]; r += tile[s]; }", (4, 1)),
            // It may stay as it is.
            ("for (uint k = 0u; k < n; ++k) { r = 3u * r + tile[s]; s = max(s, n); }", (16, 0)),
            ("for (uint k = 0u; k < n; ++k) { r = 3u * r + tile[s]; s = s & n; }", (4, 0)),
            ("r += tile[i - i % 4u];", (16, 0)),
            ("r += tile[(i >> 2) << 2];", (16, 0)),
        ] {
            assert_eq!(foreseen(body), is, "{body}");
        }
    }
}
