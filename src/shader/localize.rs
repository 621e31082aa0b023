//! Makes an entry point's literal workgroup size specializable, in SPIR-V; [`specializable`] says what follows the new size.
//!
//! A shader that says `layout(local_size_x = 64) in` has that size for good. Its module is rewritten here to have a
//! specialization constant in each direction, with the old size as its default, so that one module serves every size.
//!
//! rspirv could write the module that [`load`](super::load) reads, but not as it was: lines between blocks move, and what stands
//! out of its section is sorted. So instructions are copied as they are, and only those that have to be are replaced or added. The
//! size is a constant decorated as `WorkgroupSize`, which every Vulkan driver takes, never the execution mode `LocalSizeId`,
//! which needs `maintenance4`. That constant counts for all entry points of a module: the others are left out of the result.

use std::collections::{HashMap, HashSet};

use rspirv::spirv::{BuiltIn, Decoration, ExecutionMode, ExecutionModel, Op, Word};
use thiserror::Error;

use super::reflect::{EntryPoint, Extent, ReflectError, Reflection};
use super::words::{
    BOUND, HEADER_WORDS, ModuleSection, instruction, instructions, opcode, take_id, unused_spec_id, with_places,
};
use crate::error::{nearest, suggestion};

const DIRECTIONS: [&str; 3] = ["x", "y", "z"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalSizeIds {
    /// The `constant_id` in x, y and z. A shader may have one for several directions.
    pub ids: [u32; 3],
    /// The sizes that the constants have by default: those that the shader was written with.
    pub defaults: [u32; 3],
    /// Whether the direction was literal, and its constant is new.
    pub added: [bool; 3],
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LocalizeError {
    #[error(transparent)]
    Reflect(#[from] ReflectError),
    #[error("no compute entry point `{name}`{}", suggestion(.nearest))]
    UnknownEntry { name: String, nearest: Vec<String> },
    /// The size is an expression of specialization constants, which other code may share.
    #[error("the workgroup size of `{entry}` in {direction} is an expression of specialization constants: set those instead")]
    Derived { entry: String, direction: &'static str },
    #[error("the module has no {0} left")]
    Exhausted(&'static str),
    /// The declaration is one that no compiler makes.
    #[error("the workgroup size of `{entry}` is declared in a way that can't be changed: {reason}")]
    Declaration { entry: String, reason: &'static str },
}

/// Makes the workgroup size of a compute entry point specializable in every direction. Directions that are so already keep their
/// `constant_id`; the others get ones above all that the module uses. A module that needs no change is returned as it is. The result
/// has no other entry points, and needs nothing that a Vulkan 1.1 driver doesn't have, unless the module itself does.
///
/// The device's own variables follow the new size (`gl_LocalInvocationID` and the like), and whatever uses the constant that is
/// decorated as `WorkgroupSize`: `gl_WorkGroupSize` as a whole, or indexed by a variable, and constants made of it.
///
/// Numbers that are equal to the size by the author's intention can't follow (`shared float tile[16][16]`, `i / 64`), nor can what the
/// GLSL compiler folds to plain numbers: `gl_WorkGroupSize.x` alone, arithmetic on it, and array lengths; and for Vulkan 1.3
/// `gl_WorkGroupSize` as a whole, which it doesn't decorate there. The other way round, a `uvec3` that happens to equal the size may be
/// the very constant that is decorated, and follows unasked. Whoever changes the size has to check results. Where the GLSL is at hand,
/// [`with_local_size_ids`](super::with_local_size_ids) has every use of `gl_WorkGroupSize` follow.
pub fn specializable(words: &[u32], entry: &str) -> Result<(Vec<u32>, LocalSizeIds), LocalizeError> {
    let reflection = Reflection::parse(words)?;
    let point = find(&reflection, entry)?;
    let chosen = LocalSizeIds::of(point, words)?;
    let declared = Declarations::of(words);
    if chosen.added == [false; 3] && !point.needs_local_size_id && declared.has_usual_size() {
        return Ok((words.to_vec(), chosen));
    }
    let rewritten = Rewriting::new(&declared, point, &chosen, words[BOUND])?.apply(words);
    confirm(&rewritten, entry, &chosen)?;
    Ok((rewritten, chosen))
}

fn find<'a>(reflection: &'a Reflection, entry: &str) -> Result<&'a EntryPoint, LocalizeError> {
    reflection.entry_points.iter().find(|point| point.name == entry).ok_or_else(|| LocalizeError::UnknownEntry {
        name: entry.to_owned(),
        nearest: nearest(entry, reflection.entry_points.iter().map(|point| point.name.as_str())),
    })
}

/// Holds the result against what was asked for: an invalid module may use the ids that are new, or declare things twice.
fn confirm(words: &[u32], entry: &str, chosen: &LocalSizeIds) -> Result<(), LocalizeError> {
    let reflection = Reflection::parse(words)?;
    let expected: Vec<Extent> = chosen
        .ids
        .iter()
        .zip(chosen.defaults)
        .map(|(constant_id, default)| Extent::Specialized { constant_id: *constant_id, default })
        .collect();
    let point = find(&reflection, entry)?;
    if point.local_size[..] == expected[..] && !point.needs_local_size_id {
        return Ok(());
    }
    Err(LocalizeError::Declaration { entry: entry.to_owned(), reason: "the module is invalid" })
}

impl LocalSizeIds {
    fn of(point: &EntryPoint, words: &[u32]) -> Result<Self, LocalizeError> {
        let mut next = unused_spec_id(words);
        let mut chosen = Self { ids: [0; 3], defaults: [0; 3], added: [false; 3] };
        for (i, extent) in point.local_size.into_iter().enumerate() {
            chosen.defaults[i] = extent.default_value();
            chosen.ids[i] = match extent {
                Extent::Specialized { constant_id, .. } => constant_id,
                Extent::Derived { .. } => {
                    return Err(LocalizeError::Derived { entry: point.name.clone(), direction: DIRECTIONS[i] });
                }
                Extent::Literal(_) => {
                    chosen.added[i] = true;
                    let id = next.ok_or(LocalizeError::Exhausted("constant_id"))?;
                    next = id.checked_add(1);
                    id
                }
            };
        }
        Ok(chosen)
    }
}

#[derive(Default)]
struct Declarations {
    /// Types of whole numbers of 32 bits, and whether they are signed, in their order.
    integers: Vec<(Word, bool)>,
    /// The types of three, by the type of each.
    triples: HashMap<Word, Word>,
    constants: HashMap<Word, Word>,
    /// The ids decorated as `WorkgroupSize`.
    decorated: HashSet<Word>,
    /// The first of them that is a composite, with its type and its parts.
    size: Option<(Word, Word, Vec<Word>)>,
}

impl Declarations {
    fn of(words: &[u32]) -> Self {
        let mut found = Self::default();
        for instruction in instructions(words) {
            match (opcode(instruction), instruction) {
                (Some(Op::TypeInt), [_, id, 32, signed]) => found.integers.push((*id, *signed == 1)),
                (Some(Op::TypeVector), [_, id, component, 3]) => drop(found.triples.entry(*component).or_insert(*id)),
                (Some(Op::Constant | Op::SpecConstant | Op::SpecConstantOp), [_, ty, id, ..]) => {
                    _ = found.constants.insert(*id, *ty)
                }
                (Some(Op::Decorate), [_, id, decoration, builtin])
                    if (*decoration, *builtin) == (Decoration::BuiltIn as u32, BuiltIn::WorkgroupSize as u32) =>
                {
                    found.decorated.insert(*id);
                }
                (Some(Op::ConstantComposite | Op::SpecConstantComposite), [_, ty, id, parts @ ..])
                    if found.size.is_none() && found.decorated.contains(id) =>
                {
                    found.size = Some((*id, *ty, parts.to_vec()));
                }
                _ => {}
            }
        }
        found
    }

    fn is_unsigned(&self, ty: Word) -> bool {
        self.integers.contains(&(ty, false))
    }

    /// Whether the size is as drivers expect it, if it is a constant: a `uvec3`. Some compilers make it of signed numbers.
    fn has_usual_size(&self) -> bool {
        let is_usual = |ty: &Word| self.triples.iter().any(|(part, triple)| triple == ty && self.is_unsigned(*part));
        self.size.as_ref().is_none_or(|(_, ty, _)| is_usual(ty))
    }

    /// The type of a constant, where it is a whole number of 32 bits.
    fn integer_of(&self, constant: Word) -> Option<Word> {
        let ty = *self.constants.get(&constant)?;
        self.integers.iter().any(|(id, _)| *id == ty).then_some(ty)
    }
}

#[derive(Default)]
struct Rewriting {
    function: Word,
    /// Its size as the execution mode has to say it.
    defaults: [u32; 3],
    /// The size's constant that is there, and its new parts.
    size: Option<(Word, [Word; 3])>,
    /// Whether that is no longer the one that is decorated.
    is_replaced: bool,
    decorations: Vec<u32>,
    /// Types and constants to add, before the size's constant, or else before the functions.
    constants: Vec<u32>,
    /// Those to add before the functions.
    late_constants: Vec<u32>,
    /// The type of unsigned numbers, where the module had none.
    unsigned: Option<Word>,
    bound: u32,
}

impl Rewriting {
    fn new(declared: &Declarations, point: &EntryPoint, chosen: &LocalSizeIds, bound: u32) -> Result<Self, LocalizeError> {
        let mut new = Self { function: point.function, defaults: chosen.defaults, bound, ..Self::default() };
        match (&declared.size, point.local_size_ids) {
            (Some((size, _, parts)), Some(ids)) if parts[..] == ids => {
                let parts = new.parts(point, chosen, ids, |part| declared.integer_of(part))?;
                new.size = Some((*size, parts));
                if !declared.has_usual_size() {
                    new.is_replaced = true;
                    let signed =
                        ids.iter().find_map(|id| declared.integer_of(*id)).ok_or_else(|| strange(point, NOT_INTEGERS))?;
                    new.add_triple(declared, parts.map(|part| (part, signed)))?;
                }
            }
            // A group of decorations, or a constant that is no composite.
            (Some(_), _) => return Err(strange(point, "more than one constant is its built-in variable")),
            (None, _) if !declared.decorated.is_empty() => {
                return Err(strange(point, "its built-in variable is no composite constant"));
            }
            (None, Some(_)) if !point.needs_local_size_id => {
                return Err(strange(point, "its built-in variable is one by a group of decorations"));
            }
            (None, ids) => new.add_size(declared, point, chosen, ids)?,
        }
        Ok(new)
    }

    /// Adds the size as a constant: none of the module's own is decorated.
    fn add_size(
        &mut self,
        declared: &Declarations,
        point: &EntryPoint,
        chosen: &LocalSizeIds,
        ids: Option<[Word; 3]>,
    ) -> Result<(), LocalizeError> {
        let unsigned = self.unsigned(declared)?;
        let parts = self.parts(point, chosen, ids.unwrap_or_default(), |_| Some(unsigned))?;
        let mut typed = parts.map(|part| (part, unsigned));
        for (i, id) in ids.into_iter().flatten().enumerate() {
            let ty = declared.integer_of(id).ok_or_else(|| strange(point, NOT_INTEGERS))?;
            if !chosen.added[i] {
                typed[i].1 = ty;
            }
        }
        self.add_triple(declared, typed)
    }

    /// Adds the size as drivers expect it: a `uvec3`, whatever the types of its parts.
    fn add_triple(&mut self, declared: &Declarations, parts: [(Word, Word); 3]) -> Result<(), LocalizeError> {
        let unsigned = self.unsigned(declared)?;
        let mut converted = [0; 3];
        for (converted, (part, ty)) in converted.iter_mut().zip(parts) {
            *converted = if ty == unsigned || declared.is_unsigned(ty) { part } else { self.converted(part, unsigned)? };
        }
        let triple = match declared.triples.get(&unsigned) {
            Some(triple) => *triple,
            None => {
                let triple = self.take_id()?;
                self.late_constants.extend(instruction(Op::TypeVector, &[triple, unsigned, 3]));
                triple
            }
        };
        let size = self.take_id()?;
        self.decorate(size, Decoration::BuiltIn, BuiltIn::WorkgroupSize as u32);
        let [x, y, z] = converted;
        self.late_constants.extend(instruction(Op::SpecConstantComposite, &[triple, size, x, y, z]));
        Ok(())
    }

    /// A signed constant as an unsigned one. A shader may have no bit cast of constants, but a sum of any signs.
    fn converted(&mut self, part: Word, unsigned: Word) -> Result<Word, LocalizeError> {
        let [zero, converted] = [self.take_id()?, self.take_id()?];
        self.late_constants.extend(instruction(Op::Constant, &[unsigned, zero, 0]));
        self.late_constants.extend(instruction(Op::SpecConstantOp, &[unsigned, converted, Op::IAdd as u32, part, zero]));
        Ok(converted)
    }

    /// The constants of the directions: those that are there, and new ones for literal directions.
    fn parts(
        &mut self,
        point: &EntryPoint,
        chosen: &LocalSizeIds,
        mut parts: [Word; 3],
        type_of: impl Fn(Word) -> Option<Word>,
    ) -> Result<[Word; 3], LocalizeError> {
        for (i, part) in parts.iter_mut().enumerate().filter(|(i, _)| chosen.added[*i]) {
            let ty = type_of(*part).ok_or_else(|| strange(point, NOT_INTEGERS))?;
            *part = self.take_id()?;
            self.decorate(*part, Decoration::SpecId, chosen.ids[i]);
            self.constants.extend(instruction(Op::SpecConstant, &[ty, *part, chosen.defaults[i]]));
        }
        Ok(parts)
    }

    /// The type of unsigned numbers, which is added where there is none.
    fn unsigned(&mut self, declared: &Declarations) -> Result<Word, LocalizeError> {
        let found = declared.integers.iter().find(|(_, is_signed)| !is_signed).map(|(id, _)| *id).or(self.unsigned);
        if let Some(found) = found {
            return Ok(found);
        }
        let id = self.take_id()?;
        self.unsigned = Some(id);
        self.constants.extend(instruction(Op::TypeInt, &[id, 32, 0]));
        Ok(id)
    }

    fn decorate(&mut self, id: Word, decoration: Decoration, argument: u32) {
        self.decorations.extend(instruction(Op::Decorate, &[id, decoration as u32, argument]));
    }

    fn take_id(&mut self) -> Result<Word, LocalizeError> {
        take_id(&mut self.bound).ok_or(LocalizeError::Exhausted("id"))
    }

    fn apply(&self, words: &[u32]) -> Vec<u32> {
        let mut out = words[..HEADER_WORDS].to_vec();
        out[BOUND] = self.bound;
        let (mut decorations, mut constants) = (Some(&self.decorations), Some(&self.constants));
        let mut late_constants = Some(&self.late_constants);
        // Constants that depend on specialization constants now.
        let mut specialized = HashSet::new();
        for (place, instruction) in with_places(words) {
            if place >= ModuleSection::Types {
                out.extend(decorations.take().into_iter().flatten());
            }
            if place == ModuleSection::Functions || self.is_size(instruction) {
                out.extend(constants.take().into_iter().flatten());
            }
            if place == ModuleSection::Functions {
                out.extend(late_constants.take().into_iter().flatten());
            }
            self.copy(instruction, &mut specialized, &mut out);
        }
        out.extend(decorations.into_iter().chain(constants).chain(late_constants).flatten());
        out
    }

    fn is_size(&self, instruction: &[u32]) -> bool {
        let is_composite = matches!(opcode(instruction), Some(Op::ConstantComposite | Op::SpecConstantComposite));
        self.size.is_some_and(|(size, _)| is_composite && instruction.get(2) == Some(&size))
    }

    fn copy(&self, old: &[u32], specialized: &mut HashSet<Word>, out: &mut Vec<u32>) {
        match (opcode(old), old) {
            (Some(Op::EntryPoint), [_, model, function, ..])
                if (*model, *function) != (ExecutionModel::GLCompute as u32, self.function) => {}
            (Some(Op::ExecutionMode | Op::ExecutionModeId), [_, function, ..]) if *function != self.function => {}
            (Some(Op::ExecutionModeId), [_, function, mode, ..]) if *mode == ExecutionMode::LocalSizeId as u32 => {
                let [x, y, z] = self.defaults;
                out.extend(instruction(Op::ExecutionMode, &[*function, ExecutionMode::LocalSize as u32, x, y, z]));
            }
            (Some(Op::Decorate), [_, id, decoration, builtin])
                if self.is_replaced
                    && self.size.is_some_and(|(size, _)| size == *id)
                    && (*decoration, *builtin) == (Decoration::BuiltIn as u32, BuiltIn::WorkgroupSize as u32) => {}
            (Some(Op::ConstantComposite | Op::SpecConstantComposite), [_, ty, id, parts @ ..]) => {
                let own = self.size.as_ref().filter(|(size, _)| size == id);
                let parts = own.map_or(parts, |(_, parts)| &parts[..]);
                if own.is_some() || parts.iter().any(|part| specialized.contains(part)) {
                    specialized.insert(*id);
                    out.push((old[0] & 0xffff_0000) | Op::SpecConstantComposite as u32);
                    out.extend([*ty, *id].iter().chain(parts));
                } else {
                    out.extend(old);
                }
            }
            _ => out.extend(old),
        }
    }
}

const NOT_INTEGERS: &str = "it is not made of whole numbers of 32 bits";

fn strange(point: &EntryPoint, reason: &'static str) -> LocalizeError {
    LocalizeError::Declaration { entry: point.name.clone(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shader::words::{MOST_IDS, module};

    /// An entry point of function 1 and of a name of up to three letters.
    fn entry(name: &[u8; 4]) -> [u32; 4] {
        [Op::EntryPoint as u32, ExecutionModel::GLCompute as u32, 1, u32::from_le_bytes(*name)]
    }

    const UINT: [u32; 4] = [Op::TypeInt as u32, 10, 32, 0];
    const LONG: [u32; 4] = [Op::TypeInt as u32, 11, 64, 0];
    const TRIPLE: [u32; 4] = [Op::TypeVector as u32, 12, 10, 3];
    const FOUR: [u32; 4] = [Op::Constant as u32, 10, 20, 4];
    const SIZE: [u32; 6] = [Op::ConstantComposite as u32, 12, 21, 20, 20, 20];
    const DECORATED: [u32; 4] = [Op::Decorate as u32, 21, Decoration::BuiltIn as u32, BuiltIn::WorkgroupSize as u32];
    const MODE: [u32; 6] = [Op::ExecutionMode as u32, 1, ExecutionMode::LocalSize as u32, 2, 3, 4];

    fn new_ids(added: [bool; 3], ids: [u32; 3], defaults: [u32; 3]) -> LocalSizeIds {
        LocalSizeIds { ids, defaults, added }
    }

    #[test]
    fn a_literal_mode_gets_a_constant_beside_it() {
        let main = entry(b"a\0\0\0");
        let (words, ids) = specializable(&module(&[&main, &MODE]), "a").unwrap();
        assert_eq!(ids, new_ids([true; 3], [0, 1, 2], [2, 3, 4]));
        let kinds: Vec<String> = instructions(&words).filter_map(opcode).map(|op| format!("{op:?}")).collect();
        let expected = "EntryPoint ExecutionMode Decorate Decorate Decorate Decorate TypeInt SpecConstant SpecConstant SpecConstant \
                        TypeVector SpecConstantComposite";
        assert_eq!(kinds.join(" "), expected);
        assert_eq!(words[BOUND], 106);
        let again = specializable(&words, "a").unwrap();
        assert_eq!(again, (words, new_ids([false; 3], [0, 1, 2], [2, 3, 4])));
    }

    #[test]
    fn types_that_are_there_are_used_and_ids_follow_those_in_use() {
        let main = entry(b"a\0\0\0");
        let spec_id = [Op::Decorate as u32, 30, Decoration::SpecId as u32, 41];
        let spec = [Op::SpecConstant as u32, 10, 30, 9];
        let (words, ids) = specializable(&module(&[&main, &MODE, &spec_id, &LONG, &UINT, &TRIPLE, &spec]), "a").unwrap();
        assert_eq!(ids.ids, [42, 43, 44]);
        assert_eq!(words[BOUND], 104, "three constants and the composite");
        let full = [Op::Decorate as u32, 30, Decoration::SpecId as u32, u32::MAX - 1];
        let refused = specializable(&module(&[&main, &MODE, &full, &UINT, &spec]), "a");
        assert_eq!(refused, Err(LocalizeError::Exhausted("constant_id")));
    }

    #[test]
    fn what_is_made_of_the_size_depends_on_it() {
        let main = entry(b"a\0\0\0");
        let array = [Op::ConstantComposite as u32, 13, 22, 21, 21];
        let other = [Op::ConstantComposite as u32, 12, 23, 20, 20, 20];
        let whole = module(&[&main, &MODE, &DECORATED, &UINT, &TRIPLE, &FOUR, &SIZE, &array, &other]);
        let (words, ids) = specializable(&whole, "a").unwrap();
        assert_eq!(ids.defaults, [4; 3], "the constant wins over the mode");
        let made = |id| instructions(&words).find(|words| words.get(2) == Some(&id)).and_then(opcode);
        assert_eq!(
            [21, 22, 23].map(made),
            [Op::SpecConstantComposite, Op::SpecConstantComposite, Op::ConstantComposite].map(Some)
        );
        assert!(
            instructions(&words)
                .any(|words| words[1..] == SIZE[1..3].iter().copied().chain([100, 101, 102]).collect::<Vec<_>>())
        );
    }

    #[test]
    fn the_mode_with_ids_becomes_one_that_every_driver_takes() {
        let main = entry(b"a\0\0\0");
        let mode = [Op::ExecutionModeId as u32, 1, ExecutionMode::LocalSizeId as u32, 20, 30, 20];
        let spec_id = [Op::Decorate as u32, 30, Decoration::SpecId as u32, 0];
        let spec = [Op::SpecConstant as u32, 10, 30, 9];
        let (words, ids) = specializable(&module(&[&main, &mode, &spec_id, &UINT, &FOUR, &spec]), "a").unwrap();
        assert_eq!(ids, new_ids([true, false, true], [1, 0, 2], [4, 9, 4]));
        assert!(instructions(&words).all(|words| opcode(words) != Some(Op::ExecutionModeId)));
        let long = [Op::Constant as u32, 11, 20, 4, 0];
        let refused = specializable(&module(&[&main, &mode, &spec_id, &UINT, &LONG, &long, &spec]), "a");
        assert!(matches!(refused, Err(LocalizeError::Declaration { reason: NOT_INTEGERS, .. })), "{refused:?}");
    }

    /// The type and the parts of the constant that is decorated as the size.
    fn size_of(words: &[u32]) -> (u32, Vec<u32>) {
        let decorated: Vec<u32> =
            instructions(words).filter(|words| words[2..] == DECORATED[2..]).map(|words| words[1]).collect();
        let composite = |words: &&[u32]| opcode(words) == Some(Op::SpecConstantComposite) && words.get(2) == decorated.last();
        let found = instructions(words).find(composite).unwrap();
        assert_eq!(decorated.len(), 1);
        (found[1], found[3..].to_vec())
    }

    #[test]
    fn a_size_of_any_whole_numbers_becomes_one_of_unsigned_ones() {
        const INT: [u32; 4] = [Op::TypeInt as u32, 14, 32, 1];
        let main = entry(b"a\0\0\0");
        let mode = [Op::ExecutionModeId as u32, 1, ExecutionMode::LocalSizeId as u32, 30, 20, 20];
        let spec_id = [Op::Decorate as u32, 30, Decoration::SpecId as u32, 0];
        let (signed, four) = ([Op::SpecConstant as u32, 14, 30, 9], [Op::Constant as u32, 14, 20, 4]);
        // With literals of either kind, and with no unsigned number in the module.
        let mixed = module(&[&main, &mode, &spec_id, &UINT, &INT, &FOUR, &signed]);
        let alone = module(&[&main, &mode, &spec_id, &INT, &four, &signed]);
        // A compiler's own constant.
        let triple = [Op::TypeVector as u32, 15, 14, 3];
        let size = [Op::SpecConstantComposite as u32, 15, 21, 30, 20, 20];
        let own = module(&[&main, &MODE, &spec_id, &DECORATED, &INT, &four, &signed, &triple, &size, &UINT]);
        for words in [mixed, alone, own] {
            let (words, ids) = specializable(&words, "a").unwrap();
            assert_eq!(ids, new_ids([false, true, true], [0, 1, 2], [9, 4, 4]));
            let (ty, parts) = size_of(&words);
            let made = |id: u32| instructions(&words).find(|words| words.get(2) == Some(&id)).unwrap();
            let component = instructions(&words).find(|words| words.get(1) == Some(&ty)).unwrap()[2];
            let unsigned = instructions(&words).find(|words| words.get(1) == Some(&component)).unwrap();
            assert_eq!(unsigned[2..], [32, 0]);
            assert!(parts.iter().all(|part| made(*part)[1] == component), "{words:?}");
            assert_eq!(made(parts[0])[3..5], [Op::IAdd as u32, 30]);
            assert_eq!(specializable(&words, "a").unwrap(), (words, new_ids([false; 3], [0, 1, 2], [9, 4, 4])));
        }
    }

    #[test]
    fn strange_declarations_are_refused() {
        let main = entry(b"a\0\0\0");
        let null = [Op::ConstantNull as u32, 12, 21];
        let refused = specializable(&module(&[&main, &MODE, &DECORATED, &UINT, &TRIPLE, &null]), "a").unwrap_err();
        assert!(refused.to_string().contains("no composite"), "{refused}");
        let mut full = module(&[&main, &MODE, &UINT]);
        full[BOUND] = MOST_IDS;
        assert_eq!(specializable(&full, "a"), Err(LocalizeError::Exhausted("id")));
        // The id that comes next is in use, whatever the header says.
        full[BOUND] = 10;
        assert!(specializable(&full, "a").is_err());
        let derived = [Op::SpecConstantOp as u32, 10, 22, Op::IAdd as u32, 20, 20];
        let size = [Op::ConstantComposite as u32, 12, 21, 20, 22, 20];
        let refused = specializable(&module(&[&main, &MODE, &DECORATED, &UINT, &TRIPLE, &FOUR, &derived, &size]), "a");
        assert_eq!(refused, Err(LocalizeError::Derived { entry: "a".to_owned(), direction: "y" }));
    }
}
