//! What compilers know of where accesses of shared memory lead: by that they make several of them one.
//!
//! Where anything is in doubt, a compiler is taken to know it: the bound that follows from this is then lower.

use std::collections::{HashMap, HashSet};

use rspirv::binary::Assemble;
use rspirv::dr::{Function, Instruction, Module, Operand};
use rspirv::spirv::{BuiltIn, Decoration, Op, StorageClass, Word};

use super::layout::{Layouts, Place, Stride};
use super::loops::Loops;
use super::{Foreseen, WIDEST};
use crate::shader::inlined::inlined;
use crate::shader::loader::{id, load};
use crate::shader::reflect::SpecValues;

/// Values that are looked at for one access, and how many deep.
const MOST: u32 = 4096;
const DEEPEST: usize = 128;

/// A module that is larger with its functions inlined isn't looked at.
const LARGEST: u64 = 1 << 18;

/// Ids above this are so near to the most that a module has, that the library may run out of them.
const LAST_ID: Word = 1 << 20;

/// What divides more than this divides as much.
const EVENEST: u64 = 1 << 16;

/// Of pointers to parts of shared memory, what compilers know of each: nothing of those that it can't be told of.
pub(super) fn foreseen(module: &Module, constants: &SpecValues) -> HashMap<Word, Foreseen> {
    let is_shared = |of: &Instruction| of.operands.first() == Some(&Operand::StorageClass(StorageClass::Workgroup));
    let bound = module.header.as_ref().map_or(Word::MAX, |header| header.bound);
    let is_meant = module.types_global_values.iter().any(is_shared) && bound < LAST_ID && inlined_size(module) < LARGEST;
    let inlined = is_meant.then(|| inlined(&module.assemble())).flatten();
    let Some(module) = inlined.and_then(|words| load(&words).ok()) else { return HashMap::new() };
    let layouts = Layouts::of(&module, constants);
    let own_inputs = own_inputs(&module);
    let mut all = HashMap::new();
    for function in &module.functions {
        let mut indexes = Indexes::of(&module, function, &layouts, &own_inputs);
        for block in &function.blocks {
            let label = block.label.as_ref().and_then(|label| label.result_id).unwrap_or_default();
            // What the library makes has other ids.
            let is_own = |of: &&Instruction| is_chain(of.class.opcode) && of.result_id.is_some_and(|result| result < bound);
            let chains = block.instructions.iter().filter(is_own);
            all.extend(chains.filter_map(|of| Some((of.result_id?, indexes.foreseen(of, label)?))));
        }
    }
    all
}

/// About how many instructions all functions have once they are inlined.
fn inlined_size(module: &Module) -> u64 {
    fn of(function: Word, module: &Module, known: &mut HashMap<Word, u64>, depth: usize) -> u64 {
        if let Some(size) = known.get(&function) {
            return *size;
        }
        if depth > DEEPEST {
            return LARGEST;
        }
        // One that calls itself isn't valid.
        known.insert(function, LARGEST);
        let found = module.functions.iter().find(|of| of.def_id() == Some(function));
        let code = found.into_iter().flat_map(|of| &of.blocks).flat_map(|block| &block.instructions);
        let size = code.fold(0_u64, |size, one| {
            let callee = one.operands.first().and_then(id).filter(|_| one.class.opcode == Op::FunctionCall);
            size.saturating_add(1 + callee.map_or(0, |callee| of(callee, module, known, depth + 1)))
        });
        known.insert(function, size);
        size
    }
    let mut known = HashMap::new();
    let entries = module.entry_points.iter().filter_map(|of| of.operands.get(1).and_then(id));
    entries.fold(0, |size, entry| size.saturating_add(of(entry, module, &mut known, 0)))
}

/// The inputs that compilers know no more of than that each invocation or workgroup has its own.
fn own_inputs(module: &Module) -> HashSet<Word> {
    use BuiltIn::{
        GlobalInvocationId, LocalInvocationId, LocalInvocationIndex, NumWorkgroups, SubgroupLocalInvocationId, WorkgroupId,
    };
    let unknown =
        [GlobalInvocationId, LocalInvocationId, LocalInvocationIndex, NumWorkgroups, SubgroupLocalInvocationId, WorkgroupId];
    let built_in = |of: &Instruction| match of.operands[..] {
        [Operand::IdRef(variable), Operand::Decoration(Decoration::BuiltIn), Operand::BuiltIn(own)] => {
            Some(variable).filter(|_| unknown.contains(&own))
        }
        _ => None,
    };
    module.annotations.iter().filter_map(built_in).collect()
}

fn is_chain(opcode: Op) -> bool {
    matches!(opcode, Op::AccessChain | Op::InBoundsAccessChain)
}

/// What compilers know of a number. Sets are of bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Number {
    /// A power of two that divides what isn't known of it; [`EVENEST`] where all is known.
    divisor: u64,
    /// Whether a part of it comes from memory, or is an invocation's own.
    is_unknown: bool,
    /// The loops that change it to what no compiler foresees, and those that change it by what it knows or by equal steps.
    moved: u64,
    stepped: u64,
    /// The values from the iteration before that it is made of, and those to which something was added that isn't known.
    carried: u64,
    advanced: u64,
}

impl Number {
    const KNOWN: Self = Self { divisor: EVENEST, is_unknown: false, moved: 0, stepped: 0, carried: 0, advanced: 0 };
    const UNKNOWN: Self = Self { divisor: 1, is_unknown: true, ..Self::KNOWN };

    /// What is made of both. Of known parts, neighbours have the same.
    fn with(self, other: Self, divisor: u64) -> Self {
        let divisor = match [self.is_unknown, other.is_unknown] {
            [true, true] => divisor,
            [true, false] => self.divisor,
            [false, true] => other.divisor,
            [false, false] => EVENEST,
        };
        Self { divisor: divisor.clamp(1, EVENEST), ..self.parts(other) }
    }

    fn parts(self, other: Self) -> Self {
        Self {
            divisor: 1,
            is_unknown: self.is_unknown || other.is_unknown,
            moved: self.moved | other.moved,
            stepped: self.stepped | other.stepped,
            carried: self.carried | other.carried,
            advanced: self.advanced | other.advanced,
        }
    }

    /// The sum of both. Of two that go on by steps, one may come back to what it was.
    fn added(self, other: Self) -> Self {
        let on = |own: Self, other: Self| if other.is_unknown { own.carried } else { 0 };
        let advanced = on(self, other) | on(other, self);
        let with = self.with(other, self.divisor.min(other.divisor));
        let stepped = if self.stepped != 0 && other.stepped != 0 { 0 } else { with.stepped };
        Self { advanced: with.advanced | advanced, stepped, ..with }
    }

    /// The product of both, of which one may be known to be a factor.
    fn times(self, other: Self, factors: [Option<u64>; 2]) -> Self {
        let divisor = match factors {
            [Some(0), _] | [_, Some(0)] => return Self::KNOWN,
            [Some(factor), _] => other.divisor.saturating_mul(evenness(factor)),
            [_, Some(factor)] => self.divisor.saturating_mul(evenness(factor)),
            _ => self.divisor.saturating_mul(other.divisor),
        };
        let added = self.added(other);
        Self { divisor: if added.is_unknown { divisor.min(EVENEST) } else { EVENEST }, ..added }
    }

    /// One of both.
    fn either(self, other: Self) -> Self {
        Self {
            moved: self.moved & other.moved,
            stepped: self.stepped & other.stepped,
            advanced: self.advanced & other.advanced,
            ..self.with(other, self.divisor.min(other.divisor))
        }
    }

    /// What comes back after some steps.
    fn coming_back(self) -> Self {
        Self { stepped: 0, ..self }
    }
}

/// The largest power of two that divides a number.
fn evenness(number: u64) -> u64 {
    1 << number.trailing_zeros().min(EVENEST.trailing_zeros())
}

struct Indexes<'m> {
    layouts: &'m Layouts,
    own_inputs: &'m HashSet<Word>,
    definitions: HashMap<Word, &'m Instruction>,
    /// Of each result, its block.
    blocks: HashMap<Word, Word>,
    /// From which block to which one control flow goes.
    edges: HashSet<(Word, Word)>,
    loops: Loops,
    /// What values of loops become for the next iteration.
    next: HashSet<Word>,
    /// The values from the iteration before, while what they become is looked at.
    carried: Vec<(Word, Number)>,
    left: u32,
    depth: usize,
}

impl<'m> Indexes<'m> {
    fn of(module: &'m Module, function: &'m Function, layouts: &'m Layouts, own_inputs: &'m HashSet<Word>) -> Self {
        let globals = module.types_global_values.iter().filter_map(|of| Some((of.result_id?, of)));
        let mut new = Self {
            layouts,
            own_inputs,
            definitions: globals.collect(),
            blocks: HashMap::new(),
            edges: layouts.edges(function),
            loops: layouts.loops(function),
            next: HashSet::new(),
            carried: Vec::new(),
            left: 0,
            depth: 0,
        };
        for block in &function.blocks {
            let label = block.label.as_ref().and_then(|label| label.result_id).unwrap_or_default();
            let header = new.loops.all.iter().find(|of| of.header == label);
            let inside = header.into_iter().flat_map(|of| &of.before).filter(|(_, is_inside)| *is_inside);
            let from: HashSet<Word> = inside.map(|(from, _)| *from).collect();
            for of in &block.instructions {
                new.definitions.extend(of.result_id.map(|result| (result, of)));
                new.blocks.extend(of.result_id.map(|result| (result, label)));
                let values = of.operands.chunks_exact(2).filter(|of| id(&of[1]).is_some_and(|block| from.contains(&block)));
                if of.class.opcode == Op::Phi {
                    new.next.extend(values.filter_map(|of| id(&of[0])));
                }
            }
        }
        new
    }

    /// Nothing where any number may be known: then whatever a compiler can do counts.
    fn foreseen(&mut self, chain: &Instruction, block: Word) -> Option<Foreseen> {
        self.left = MOST;
        self.carried.clear();
        self.depth = 0;
        let (_, class, place) = self.root(chain)?;
        if class != StorageClass::Workgroup {
            return None;
        }
        let at = self.chained(chain, place)?;
        let around = self.loops.around(block)?;
        // Nothing of what a loop before has moved.
        let is_around = |of: usize| around.iter().position(|known| *known == of);
        let loops = bits(at.moved).map(|of| Some(1_u32 << is_around(of).filter(|depth| *depth < 32)?));
        let loops = loops.collect::<Option<Vec<u32>>>()?.into_iter().fold(0, |all, one| all | one);
        Some(Foreseen { alignment: at.divisor.min(WIDEST), loops })
    }

    /// What a pointer starts from: a variable, its class, and what it holds.
    fn root(&self, chain: &Instruction) -> Option<(Word, StorageClass, Place)> {
        let mut of = chain;
        while is_chain(of.class.opcode) {
            of = self.definitions.get(&id(of.operands.first()?)?)?;
        }
        let Some(Operand::StorageClass(class)) = of.operands.first().filter(|_| of.class.opcode == Op::Variable) else {
            return None;
        };
        let pointer = self.definitions.get(&of.result_type?)?;
        Some((of.result_id?, *class, Place::of(id(pointer.operands.get(1)?)?)))
    }

    /// Where a chain leads, in bytes.
    fn chained(&mut self, chain: &Instruction, root: Place) -> Option<Number> {
        let (mut place, mut all) = (root, Number::KNOWN);
        for index in self.indexes(chain)? {
            let constant = self.layouts.values().integer(index);
            let (stride, inner) = self.layouts.step(place, constant)?;
            if let (Stride::Element(bytes), None) = (stride, constant) {
                let number = self.number(index)?.times(Number::KNOWN, [None, Some(bytes)]);
                all = all.with(number, all.divisor.min(number.divisor));
            }
            place = inner;
        }
        Some(all)
    }

    /// The indexes of a chain of chains, from the outermost value on; none of a variable.
    fn indexes(&mut self, chain: &Instruction) -> Option<Vec<Word>> {
        let mut chains = vec![chain];
        while let Some(base) = chains.last().and_then(|of| self.definitions.get(&id(of.operands.first()?)?)) {
            self.left = self.left.checked_sub(1)?;
            if !is_chain(base.class.opcode) {
                break;
            }
            chains.push(base);
        }
        let is_index = chains.iter().rev().filter(|of| is_chain(of.class.opcode));
        Some(is_index.flat_map(|of| of.operands[1..].iter().filter_map(id)).collect())
    }

    fn number(&mut self, value: Word) -> Option<Number> {
        if let Some((_, number)) = self.carried.iter().find(|(carried, _)| *carried == value) {
            return Some(*number);
        }
        // What the next iteration has, compilers may take from this one.
        if self.next.contains(&value) { None } else { self.made(value) }
    }

    fn made(&mut self, value: Word) -> Option<Number> {
        if self.layouts.values().integer(value).is_some() {
            return Some(Number::KNOWN);
        }
        self.left = self.left.checked_sub(1)?;
        self.depth += 1;
        let number = if self.depth <= DEEPEST { self.operated(value) } else { None };
        self.depth -= 1;
        number
    }

    fn operated(&mut self, value: Word) -> Option<Number> {
        let of = *self.definitions.get(&value)?;
        let operand = |at: usize| of.operands.get(at).and_then(id);
        let constants = [0, 1].map(|at| operand(at).and_then(|value| self.layouts.values().integer(value)));
        let first = operand(0)?;
        match of.class.opcode {
            Op::Bitcast | Op::UConvert | Op::SConvert | Op::CopyObject => self.number(first),
            Op::BitwiseAnd | Op::UMod | Op::SMod | Op::SRem => {
                let (one, other) = self.both(of)?;
                Some(match (of.class.opcode, constants) {
                    (Op::BitwiseAnd, [Some(0), _] | [_, Some(0)]) => Number::KNOWN,
                    (Op::BitwiseAnd, [Some(mask), _]) => {
                        Number { divisor: other.divisor.max(evenness(mask)), ..other }.coming_back()
                    }
                    (Op::BitwiseAnd, [_, Some(mask)]) => {
                        Number { divisor: one.divisor.max(evenness(mask)), ..one }.coming_back()
                    }
                    (Op::BitwiseAnd, _) => one.with(other, one.divisor.max(other.divisor)).coming_back(),
                    (_, [_, Some(0 | 1)]) => Number::KNOWN,
                    (_, [_, Some(by)]) => Number { divisor: one.divisor.min(evenness(by)), ..one }.coming_back(),
                    // It may be any of them in turn.
                    _ if !other.is_unknown => return None,
                    _ => one.with(other, 1).coming_back(),
                })
            }
            // That a remainder is taken off makes it even.
            Op::ISub if operand(1).is_some_and(|value| self.is_remainder(value)) => None,
            Op::IAdd | Op::ISub | Op::BitwiseXor => self.both(of).map(|(one, other)| one.added(other)),
            Op::BitwiseOr if constants != [None; 2] => self.both(of).map(|(one, other)| one.added(other)),
            Op::BitwiseOr => self.both(of).map(|(one, other)| one.with(other, one.divisor.min(other.divisor)).coming_back()),
            Op::IMul => self.both(of).map(|(one, other)| one.times(other, constants)),
            Op::ShiftLeftLogical => match constants[1] {
                Some(by) => Some(self.number(first)?.times(Number::KNOWN, [None, Some(1 << by.min(16))])),
                None => self.both(of).map(|(one, other)| one.with(other, one.divisor)),
            },
            Op::UDiv | Op::ShiftRightLogical | Op::ShiftRightArithmetic => {
                let by = match (of.class.opcode, constants[1]) {
                    (Op::UDiv, Some(by)) if !by.is_power_of_two() => EVENEST,
                    (Op::UDiv, Some(by)) => by,
                    (_, Some(by)) => 1 << by.min(16),
                    (_, None) => 0,
                };
                let (one, other) = self.both(of)?;
                // It may be any of them in turn.
                if by == 0 && !other.is_unknown {
                    return None;
                }
                let divisor = one.divisor.checked_div(by).unwrap_or(1).max(1);
                Some(
                    Number { divisor: if one.is_unknown || other.is_unknown { divisor } else { EVENEST }, ..one.parts(other) }
                        .coming_back(),
                )
            }
            Op::Select => match constants[0] {
                Some(is) => self.number(operand(if is == 0 { 2 } else { 1 })?),
                None => Some(self.number(operand(1)?)?.either(self.number(operand(2)?)?)),
            },
            Op::CompositeExtract => {
                let whole = *self.definitions.get(&first).filter(|whole| whole.class.opcode == Op::Load)?;
                self.loaded(whole)
            }
            Op::Load => self.loaded(of),
            Op::Phi => self.phi(of, value),
            _ => None,
        }
    }

    fn both(&mut self, of: &Instruction) -> Option<(Number, Number)> {
        let [first, second] = &of.operands[..] else { return None };
        Some((self.number(id(first)?)?, self.number(id(second)?)?))
    }

    fn is_remainder(&self, value: Word) -> bool {
        let of = self.definitions.get(&value).map(|of| of.class.opcode);
        matches!(of, Some(Op::UMod | Op::SMod | Op::SRem | Op::BitwiseAnd))
    }

    /// What memory holds: where a loop loads from other places, no compiler knows whether that is the same.
    fn loaded(&mut self, load: &Instruction) -> Option<Number> {
        use StorageClass::{Input, PushConstant, StorageBuffer, Uniform, Workgroup};
        let pointer = *self.definitions.get(&id(load.operands.first()?)?)?;
        let (variable, class, _) = self.root(pointer)?;
        let is_own = class == Input && self.own_inputs.contains(&variable);
        if !is_own && !matches!(class, PushConstant | StorageBuffer | Uniform | Workgroup) {
            return None;
        }
        let indexes = self.indexes(pointer)?;
        let all = indexes.into_iter().try_fold(Number::UNKNOWN, |all, index| Some(all.parts(self.number(index)?)))?;
        Some(Number { moved: all.moved | all.stepped, stepped: 0, ..all })
    }

    fn phi(&mut self, of: &Instruction, value: Word) -> Option<Number> {
        let block = *self.blocks.get(&value)?;
        let Some(place) = self.loops.all.iter().position(|of| of.header == block) else {
            // Constants may rule out where some of them come from.
            let is_reached = |of: &&[Operand]| {
                id(&of[1]).is_some_and(|from| self.loops.around(from).is_some() && self.edges.contains(&(from, block)))
            };
            let from: Vec<Word> = of.operands.chunks_exact(2).filter(is_reached).map(|of| id(&of[0])).collect::<Option<_>>()?;
            let all = from.into_iter().map(|value| self.number(value)).collect::<Option<Vec<Number>>>()?;
            return all.into_iter().reduce(Number::either);
        };
        let from = |is_inside: bool| {
            let known = &self.loops.all[place].before;
            let from = |of: &&[Operand]| id(&of[1]).is_some_and(|from| known.contains(&(from, is_inside)));
            of.operands.chunks_exact(2).filter(from).filter_map(|of| id(&of[0])).collect::<Vec<Word>>()
        };
        let ([before], [after]) = (&from(false)[..], &from(true)[..]) else { return None };
        let (before, here) = (self.number(*before)?, 1_u64.checked_shl(u32::try_from(place).ok()?)?);
        let own = 1_u64.checked_shl(u32::try_from(self.carried.len()).ok()?)?;
        self.carried.push((value, Number { carried: before.carried | own, ..before }));
        let made = self.made(*after);
        self.carried.pop();
        let made = made?;
        if made.carried & own == 0 {
            // It may be anything that the iteration before had.
            return None;
        }
        let others = Number { carried: made.carried & !own, advanced: made.advanced & !own, ..before.either(made) };
        let (moved, stepped) = (before.moved | made.moved, before.stepped | made.stepped);
        let is_step = self.is_step(*after, value) && made.moved & here == 0;
        Some(match made.advanced & own != 0 && !is_step {
            // With that, a loop around it goes on as well.
            true => {
                Number { moved: moved | here, stepped: before.stepped, is_unknown: true, advanced: others.carried, ..others }
            }
            false => Number { moved, stepped: stepped | here, ..others },
        })
    }

    /// Whether a value is another one and something.
    fn is_step(&self, made: Word, from: Word) -> bool {
        let of = self.definitions.get(&made);
        of.is_some_and(|of| {
            let values: Vec<Word> = of.operands.iter().filter_map(id).collect();
            of.class.opcode == Op::IAdd && values.contains(&from)
                || of.class.opcode == Op::ISub && values.first() == Some(&from)
        })
    }
}

fn bits(of: u64) -> impl Iterator<Item = usize> {
    (0..64).filter(move |bit| of >> bit & 1 == 1)
}

#[cfg(test)]
mod tests {
    use crate::model::SpirvTarget;
    use crate::shader::reflect::SpecValues;
    use crate::shader::{AccessKind, Compiler, Foreseen, Library, Site, TraceOptions, Traced};

    const OPTIONS: TraceOptions = TraceOptions { leaders: false, values: false, sites: None, foresees: true };

    /// The alignment and the loops of the first load of `tile`.
    fn foreseen(body: &str) -> (u64, u32) {
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
            ("for (uint k = 3u; k > 0u; --k) r = max(r, tile[4u * i + k]);", (16, 0)),
            ("for (uint k = 0u; k < n; ++k) r += tile[(k * 5u + 1u) & 7u];", (16, 0)),
            ("for (uint d = 1u; d < 64u; d *= 2u) { r += tile[d * (2u * i + 1u) - 1u]; barrier(); }", (16, 0)),
            ("for (uint d = 1u; d < 64u; d *= 4u) { r += tile[(i / d) * d * 4u + i % d]; barrier(); }", (16, 0)),
            ("for (uint k = 0u; k < n; ++k) { r += tile[i]; r ^= r << 1; }", (4, 0)),
            ("for (uint k = 0u; k < n; ++k) r += square[i][k];", (16, 0)),
            ("for (uint k = 0u; k < n; ++k) r += square[k][i];", (4, 0)),
            ("for (uint k = i; k < n; k += 64u) r += tile[k];", (4, 0)),
            // The bank conflicts of the catalogue.
            ("for (uint k = 0u; k < n; ++k) { r = 3u * r + tile[32u * i + s]; s = (s + m) & 7u; }", (4, 1)),
            ("for (uint k = 0u; k < n; ++k) { r = 3u * r + tile[32u * i + 4u * s]; s = (s + m) & 7u; }", (16, 1)),
            (
                "for (uint k = 0u; k < n; ++k) { for (uint j = 0u; j < m; ++j) r = 3u * r + tile[s + j]; s = (s + n) & 63u; }",
                (4, 1),
            ),
            (
                "for (uint k = 0u; k < n; ++k) for (uint j = 0u; j < m; ++j) { r = 3u * r + tile[s]; s = (s + n) & 7u; }",
                (16, 0),
            ),
            (
                "for (uint k = 0u; k < n; ++k) { s = m; for (uint j = 0u; j < 8u; ++j) { r = 3u * r + tile[s]; s = (s + n) & 7u; } }",
                (4, 2),
            ),
            ("for (uint k = 0u; k < n; ++k) { r = 3u * r + tile[place(i) + s]; s = (s + m) & 7u; }", (4, 1)),
            // By equal steps, one iteration may have what another had.
            ("for (uint k = 0u; k < n; ++k) { r = 3u * r + tile[s] - tile[s + m]; s += m; }", (4, 0)),
            (
                "for (uint k = 0u; k < n; ++k) { uint next = (s + m) & 7u; r = 3u * r + tile[s] - tile[next]; s = next; }",
                (16, 0),
            ),
            // What is loaded, nobody foresees: in the loop that loads it from another place.
            ("for (uint k = 0u; k < n; ++k) r += tile[mem[k]];", (4, 1)),
            ("for (uint k = 0u; k < n; ++k) r += tile[4u * mem[k]];", (16, 1)),
            ("for (uint k = 0u; k < 4u; ++k) for (uint j = 0u; j < 8u; ++j) r += (k + 1u) * tile[mem[j]];", (4, 2)),
            ("for (uint k = 0u; k < n; ++k) r += tile[mem[k & 1u]];", (4, 0)),
            ("for (uint k = 0u; k < n; ++k) for (uint j = 0u; j < n; ++j) r += tile[mem[j + k]];", (4, 0)),
            ("for (uint k = 0u; k < n; ++k) { s = mem[s]; r += tile[s]; }", (16, 0)),
            // It may stay as it is.
            ("for (uint k = 0u; k < n; ++k) { r = 3u * r + tile[s]; s = max(s, n); }", (16, 0)),
            ("for (uint k = 0u; k < n; ++k) { r = 3u * r + tile[s]; s = s & n; }", (4, 0)),
            // Two that make each other.
            ("uint t = n; for (uint k = 0u; k < n; ++k) { r += tile[s & 63u]; s += t; t += s; }", (16, 0)),
            // Constants, and what is even.
            ("uint p = i; if (C == 16u) p = 4u * i; r += tile[p];", (16, 0)),
            ("r += tile[C == 16u ? 4u * i : i];", (16, 0)),
            ("r += tile[4u * i | 1u];", (16, 0)),
            ("r += tile[8u * i / 2u];", (16, 0)),
            ("r += tile[i - i % 4u];", (16, 0)),
            ("r += tile[(i >> 2) << 2];", (16, 0)),
            ("r += tile[4u * (i % 16u)];", (16, 0)),
            // One that is in doubt has all others be.
            ("r = tile[i]; r += tile[min(i, n)];", (16, 0)),
        ] {
            assert_eq!(foreseen(body), is, "{body}");
        }
    }
}
