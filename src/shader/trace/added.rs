//! Barriers that a shader may lack: where one can stand, and the module with it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use rspirv::binary::Assemble;
use rspirv::dr::{Block, Function, Instruction, Module, Operand};
use rspirv::grammar::reflect::is_block_terminator;
use rspirv::spirv::{MemorySemantics, Op, Scope, Word};
use serde::{Deserialize, Serialize};

use super::loops::Loops;
use super::writer::Writer;
use super::{TraceError, TraceOptions};
use crate::shader::edit::{Editor, keep_entry};
use crate::shader::lines::{Lines, SourceLine};
use crate::shader::loader::{id, load};
use crate::shader::reflect::SpecValues;
use crate::shader::reflect::constants::{Constants, Values};
use crate::shader::reflect::flow::End;
use crate::shader::reflect::reach::Mentions;
use crate::shader::reflect::types::Types;
use crate::shader::validator::validate;

/// A barrier that is added, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AddedBarrier {
    /// The block, by its label, and the place among its instructions.
    block: Word,
    at: usize,
    /// Whether the workgroup waits there; otherwise it orders memory alone.
    pub waits: bool,
    /// Whether it orders buffers as well, and not only shared memory.
    pub buffers: bool,
    pub side: Side,
    pub line: Option<SourceLine>,
}

/// On which side of its line a barrier stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    Before,
    After,
    /// Behind the `if` or the loop that begins there.
    AfterBlock,
}

impl AddedBarrier {
    /// One there at which nobody waits, and which orders memory alone.
    pub fn without_waiting(&self) -> Self {
        Self { waits: false, ..self.clone() }
    }

    /// As a shader would have it, and where: `barrier() before line 12`.
    pub fn words(&self, shader: &str) -> String {
        let what = match (self.waits, self.buffers) {
            (true, false) => "barrier()",
            (true, true) => "memoryBarrierBuffer() and barrier()",
            (false, true) => "memoryBarrierBuffer()",
            (false, false) => "memoryBarrierShared()",
        };
        let side = match self.side {
            Side::Before => "before",
            Side::After => "after",
            Side::AfterBlock => "after the block that begins in",
        };
        let line = self.line.as_ref().map_or_else(|| "the access".to_owned(), |line| format!("line {}", line.place(shader)));
        format!("{what} {side} {line}")
    }
}

/// Calls that lead to an access and are looked at.
const MOST_CALLS: usize = 8;

/// A part of a function that control flow enters by one block and leaves by another: an `if`, a switch or a loop.
struct Construct {
    header: Word,
    merge: Word,
    is_loop: bool,
    blocks: HashSet<Word>,
}

struct Flow<'f> {
    function: &'f Function,
    by_label: HashMap<Word, &'f Block>,
    targets: HashMap<Word, Vec<Word>>,
    /// Of each block that ends another construct than the one that it is in, that construct's header.
    ends: HashMap<Word, Word>,
}

fn label(block: &Block) -> Option<Word> {
    block.label.as_ref()?.result_id
}

fn is_merge(instruction: &Instruction) -> bool {
    matches!(instruction.class.opcode, Op::SelectionMerge | Op::LoopMerge)
}

impl<'f> Flow<'f> {
    fn of(function: &'f Function) -> Self {
        let (types, constants) = (Types::default(), Constants::default());
        let blocks = || function.blocks.iter().filter_map(|block| Some((label(block)?, block)));
        let targets = |block| End::of(block, &types, &constants).targets(&Values::default());
        let ends = blocks().flat_map(|(label, block)| {
            let merges = block.instructions.iter().filter(|instruction| is_merge(instruction));
            merges.flat_map(|merge| merge.operands.iter().filter_map(id)).map(move |end| (end, label))
        });
        Self {
            function,
            by_label: blocks().collect(),
            targets: blocks().map(|(label, block)| (label, targets(block))).collect(),
            ends: ends.collect(),
        }
    }

    /// Those around a block, the innermost first.
    fn around(&self, block: Word) -> Vec<Construct> {
        let construct = |of: &Block| {
            let (header, merge) = (label(of)?, of.instructions.iter().find(|instruction| is_merge(instruction))?);
            let is_loop = merge.class.opcode == Op::LoopMerge;
            let merge = merge.operands.first().and_then(id)?;
            let blocks = self.within(header, merge, is_loop);
            blocks.contains(&block).then_some(Construct { header, merge, is_loop, blocks })
        };
        let mut all: Vec<Construct> = self.function.blocks.iter().filter_map(construct).collect();
        all.sort_by_key(|construct| construct.blocks.len());
        all
    }

    /// The blocks between a construct's header and its end. The header is in a loop, and decides before a selection.
    fn within(&self, header: Word, merge: Word, is_loop: bool) -> HashSet<Word> {
        let (mut seen, mut open) = (HashSet::from([header]), vec![header]);
        while let Some(block) = open.pop() {
            for target in self.targets.get(&block).into_iter().flatten() {
                // What ends another construct around this one is outside of it.
                let is_outside = *target == merge || self.ends.get(target).is_some_and(|of| !seen.contains(of));
                if !is_outside && seen.insert(*target) {
                    open.push(*target);
                }
            }
        }
        if !is_loop {
            seen.remove(&header);
        }
        seen
    }
}

/// A module's sites, and what stands around them.
struct Sites<'m> {
    module: &'m Module,
    lines: Lines,
    all: Vec<(Word, usize)>,
}

impl Sites<'_> {
    fn function_of(&self, block: Word) -> Option<&Function> {
        self.module.functions.iter().find(|function| function.blocks.iter().any(|of| label(of) == Some(block)))
    }

    /// An instruction, and before it the calls that lead to it, those of the entry point first.
    fn with_calls(&self, site: (Word, usize)) -> Vec<(Word, usize)> {
        let (mut all, mut at) = (vec![site], 0);
        while let Some((block, _)) = all.get(at).copied().filter(|_| all.len() < MOST_CALLS) {
            let function = self.function_of(block).and_then(Function::def_id);
            all.extend(function.into_iter().flat_map(|function| self.calls_of(function)));
            at += 1;
        }
        all.reverse();
        all
    }

    fn calls_of(&self, function: Word) -> Vec<(Word, usize)> {
        let is_it =
            |of: &Instruction| of.class.opcode == Op::FunctionCall && of.operands.first().and_then(id) == Some(function);
        let blocks = self.module.functions.iter().flat_map(|function| &function.blocks);
        let calls = |of: &Block| -> Vec<(Word, usize)> {
            let places = (0..).zip(&of.instructions).filter(|(_, instruction)| is_it(instruction));
            label(of).map(|label| places.map(|(at, _)| (label, at)).collect()).unwrap_or_default()
        };
        blocks.flat_map(calls).collect()
    }

    fn lines_of(&mut self, block: &Block) -> Vec<Option<SourceLine>> {
        self.lines.begin_block();
        let line = |instruction| {
            self.lines.note(instruction);
            self.lines.now()
        };
        block.instructions.iter().map(line).collect()
    }

    /// Where the statement begins and ends that an instruction belongs to: what is of its line, and in its block.
    fn statement(&mut self, block: &Block, at: usize) -> (usize, usize, Option<SourceLine>) {
        let lines = self.lines_of(block);
        let line = lines.get(at).cloned().flatten();
        let is_first = |of: &Instruction| matches!(of.class.opcode, Op::Phi | Op::Variable);
        let first = block.instructions.iter().rposition(is_first).map_or(0, |last| last + 1);
        let is_end = |of: &Instruction| is_merge(of) || is_block_terminator(of.class.opcode);
        let end = block.instructions.iter().position(is_end).unwrap_or(block.instructions.len());
        let is_of = |place: &usize| line.is_some() && lines[*place] == line;
        let (mut start, mut after) = (at.max(first).min(end), (at + 1).max(first).min(end));
        let results: HashMap<Word, usize> =
            (0..).zip(&block.instructions).filter_map(|(place, of)| Some((of.result_id?, place))).collect();
        let uses = |place: usize| block.instructions[place].operands.iter().filter_map(id);
        loop {
            // What a statement computes goes into what it stores, though its lines may be several.
            let own =
                (start..after).flat_map(uses).filter_map(|used| results.get(&used).copied()).filter(|of| *of >= first).min();
            let goes_into =
                |place: &usize| uses(*place).any(|used| results.get(&used).is_some_and(|of| (start..after).contains(of)));
            let last = (after..end).rev().find(goes_into);
            let from = (first..start).rev().take_while(is_of).last().into_iter().chain(own).fold(start, usize::min);
            let to = (after..end).take_while(is_of).last().into_iter().chain(last).fold(after, |to, last| to.max(last + 1));
            if (from, to) == (start, after) {
                break;
            }
            (start, after) = (from, to);
        }
        (start.min(end), after, line)
    }

    fn place(&mut self, block: Word, at: usize, side: Side) -> Option<AddedBarrier> {
        let of = self.function_of(block)?.blocks.iter().find(|of| label(of) == Some(block))?.clone();
        let (start, after, line) = self.statement(&of, at);
        // Of a statement of several lines the first one, or the last one.
        let lines = self.lines_of(&of);
        let is_near = |of: &&SourceLine| line.as_ref().is_some_and(|line| line.file == of.file);
        let lines = lines[start..after].iter().flatten().filter(is_near);
        let line = if side == Side::Before { lines.min() } else { lines.max() }.cloned().or(line);
        let at = if side == Side::Before { start } else { after };
        Some(AddedBarrier { block, at, waits: true, buffers: false, side, line })
    }

    /// The places before and behind each construct around a block, the innermost first.
    fn around(&mut self, block: Word) -> Vec<[Option<AddedBarrier>; 2]> {
        let Some(function) = self.function_of(block).cloned() else { return Vec::new() };
        let (flow, loops) = (Flow::of(&function), Loops::of(&function));
        let mut all = Vec::new();
        for construct in flow.around(block) {
            // A loop is entered from one block.
            let before = match loops.all.iter().find(|of| of.header == construct.header).filter(|_| construct.is_loop) {
                Some(of) => of.before.iter().find(|(_, is_inside)| !is_inside).map(|(label, _)| *label),
                None => Some(construct.header),
            };
            let branch = |of: &&Block| of.instructions.iter().position(is_merge).or(of.instructions.len().checked_sub(1));
            let end = before.and_then(|label| flow.by_label.get(&label)).and_then(branch);
            let before = before.zip(end).and_then(|(label, at)| self.place(label, at, Side::Before));
            // Behind one that a loop follows at once there is no place outside of that loop.
            let is_header = loops.all.iter().any(|of| of.header == construct.merge);
            let behind = flow.by_label.get(&construct.merge).filter(|_| !is_header);
            let behind = behind.map(|merge| self.statement(merge, 0).0);
            let begins = flow.by_label.get(&construct.header).map(|header| self.lines_of(header));
            let line = before.as_ref().and_then(|before| before.line.clone());
            let line = line.or_else(|| begins.into_iter().flatten().flatten().next());
            let added =
                |at| AddedBarrier { block: construct.merge, at, waits: true, buffers: false, side: Side::AfterBlock, line };
            all.push([before, behind.map(added)]);
        }
        all
    }
}

/// What a barrier may order: two instructions, by their indexes, and whether they access buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unordered {
    pub sites: [usize; 2],
    pub buffers: bool,
}

/// Places for a barrier between two instructions: next to them, and around what they are in.
pub(super) fn places(
    words: &[u32],
    entry: &str,
    constants: &SpecValues,
    options: &TraceOptions,
    Unordered { sites: [first, second], buffers }: Unordered,
) -> Result<Vec<AddedBarrier>, TraceError> {
    let mut module = load(words)?;
    // Other entry points may call the same functions.
    let function = keep_entry(&mut module, entry)?;
    let own = Mentions::of(&module).from([function]);
    module.functions.retain(|function| function.def_id().is_some_and(|id| own.contains(&id)));
    let all = site_places(&module, entry, constants, options)?;
    let (Some(first), Some(second)) = (all.get(first).copied(), all.get(second).copied()) else { return Ok(Vec::new()) };
    let mut sites = Sites { module: &module, lines: Lines::of(&module), all };
    let [first, second] = [first, second].map(|site| sites.with_calls(site));
    let next_to = [(&second, Side::Before), (&first, Side::After), (&first, Side::Before), (&second, Side::After)];
    let next_to = next_to.into_iter().flat_map(|(of, side)| of.iter().map(move |place| (*place, side)));
    let mut found: Vec<AddedBarrier> = next_to.filter_map(|((block, at), side)| sites.place(block, at, side)).collect();
    let mut around = |of: &[(Word, usize)]| -> Vec<_> { of.iter().flat_map(|(block, _)| sites.around(*block)).collect() };
    let (of_first, of_second) = (around(&first), around(&second));
    for level in 0..of_first.len().max(of_second.len()) {
        let at = |of: &[[Option<AddedBarrier>; 2]], side: usize| of.get(level).and_then(|both| both[side].clone());
        found.extend([at(&of_first, 1), at(&of_second, 0), at(&of_first, 0), at(&of_second, 1)].into_iter().flatten());
    }
    // Two between which no access is are one.
    let mut known = BTreeSet::new();
    let key = |of: &AddedBarrier| (of.block, sites.all.iter().filter(|(block, at)| *block == of.block && *at < of.at).count());
    found.retain(|of| known.insert(key(of)));
    found.iter_mut().for_each(|of| of.buffers = buffers);
    Ok(found)
}

fn site_places(
    module: &Module,
    entry: &str,
    constants: &SpecValues,
    options: &TraceOptions,
) -> Result<Vec<(Word, usize)>, TraceError> {
    let mut own = module.clone();
    let function = keep_entry(&mut own, entry)?;
    Ok(Writer::new(own, constants, options)?.site_places(function))
}

/// The module with more barriers, and the indexes of these among its sites; nothing of one that control flow never comes to.
pub(super) fn with_barriers(
    words: &[u32],
    entry: &str,
    constants: &SpecValues,
    options: &TraceOptions,
    barriers: &[AddedBarrier],
) -> Result<(Vec<u32>, Vec<Option<usize>>), TraceError> {
    let mut edit = Editor::new(load(words)?)?;
    let is_vulkan = edit.is_vulkan_model();
    let workgroup = edit.constant(Scope::Workgroup as u32);
    let mut by_block: BTreeMap<Word, Vec<(usize, usize, Instruction)>> = BTreeMap::new();
    for (number, barrier) in barriers.iter().enumerate() {
        let mut semantics = MemorySemantics::ACQUIRE_RELEASE | MemorySemantics::WORKGROUP_MEMORY;
        semantics.set(MemorySemantics::UNIFORM_MEMORY, barrier.buffers);
        semantics.set(MemorySemantics::MAKE_AVAILABLE | MemorySemantics::MAKE_VISIBLE, is_vulkan);
        let semantics = edit.constant(semantics.bits());
        let (scope, semantics) = (Operand::IdScope(workgroup), Operand::IdMemorySemantics(semantics));
        let (op, operands) = match barrier.waits {
            true => (Op::ControlBarrier, vec![scope.clone(), scope, semantics]),
            false => (Op::MemoryBarrier, vec![scope, semantics]),
        };
        let instruction = Instruction::new(op, None, None, operands);
        by_block.entry(barrier.block).or_default().push((barrier.at, number, instruction));
    }
    let mut places = vec![(0, 0); barriers.len()];
    for block in edit.module.functions.iter_mut().flat_map(|function| &mut function.blocks) {
        let Some(mut added) = label(block).and_then(|label| by_block.remove(&label)) else { continue };
        added.sort_by_key(|(at, number, _)| (*at, *number));
        for (before, (at, number, instruction)) in added.into_iter().enumerate() {
            let at = (at + before).min(block.instructions.len());
            block.instructions.insert(at, instruction);
            places[number] = (label(block).unwrap_or_default(), at);
        }
    }
    let module = edit.finish();
    let all = site_places(&module, entry, constants, options)?;
    let indexes = places.iter().map(|place| all.iter().position(|site| site == place)).collect();
    let new = module.assemble();
    match validate(&new) {
        Err(invalid) if validate(words).is_ok() => Err(invalid.into()),
        _ => Ok((new, indexes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::SpirvTarget;
    use crate::shader::trace::{AccessKind, Traced};
    use crate::shader::{Compiler, Library};

    const OPTIONS: TraceOptions = TraceOptions { leaders: false, values: true, sites: None, foresees: false };

    fn compiled(source: &str) -> Vec<u32> {
        let library = Library::embedded().with("a.comp", source.to_owned());
        let macros = [("FAULT".to_owned(), "1".to_owned())];
        let module = Compiler::new(library).unwrap().with_lines().compile("a.comp", &macros, SpirvTarget::default());
        module.unwrap().words.clone()
    }

    fn none() -> SpecValues {
        std::iter::empty().collect()
    }

    #[test]
    fn sites_are_found_where_they_are_recorded() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/check");
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let words = compiled(&std::fs::read_to_string(&path).unwrap());
            let traced = Traced::of(&words, "main", &none(), &OPTIONS).unwrap();
            let module = load(&words).unwrap();
            let places = site_places(&module, "main", &none(), &OPTIONS).unwrap();
            assert_eq!(places.len(), traced.sites.len(), "{}", path.display());
            let mut sites = Sites { module: &module, lines: Lines::of(&module), all: places };
            for ((block, at), site) in sites.all.clone().into_iter().zip(&traced.sites) {
                let place = sites.place(block, at, Side::Before).unwrap();
                assert_eq!(place.line, site.line, "{}", path.display());
            }
        }
    }

    const LOOP: &str = "#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer A { float a[]; };
shared float tile[64];
void main() {
    uint i = gl_LocalInvocationIndex;
    for (uint s = 32u; s > 0u; s >>= 1) {
        if (i < s) {
            if (a[i] > 0.0) {
                tile[i] += tile[i + s];
            }
        }
    }
    a[i] = tile[0];
}
";

    #[test]
    fn barriers_go_next_to_statements_and_around_what_they_are_in() {
        let words = compiled(LOOP);
        let traced = Traced::of(&words, "main", &none(), &OPTIONS).unwrap();
        let of = |kind: AccessKind, name: &str| {
            let is_it = |site: &super::super::Site| site.kind == kind && site.name == name;
            traced.sites.iter().position(is_it).unwrap()
        };
        let sites = [of(AccessKind::Load, "tile[]"), of(AccessKind::Store, "tile[]")];
        let found = places(&words, "main", &none(), &OPTIONS, Unordered { sites, buffers: false }).unwrap();
        let all: Vec<String> = found.iter().map(|place| place.words("a.comp")).collect();
        let next_to = ["before line 10", "after line 10"];
        let around = ["after the block that begins in line 9", "before line 9", "after the block that begins in line 8"];
        let outermost = ["before line 8", "after the block that begins in line 7", "before line 7"];
        let right = [&next_to[..], &around, &outermost].concat();
        assert_eq!(all, right.iter().map(|words| format!("barrier() {words}")).collect::<Vec<_>>());
        let added: Vec<AddedBarrier> = found.iter().map(AddedBarrier::without_waiting).chain(found.iter().cloned()).collect();
        let (with, sites) = with_barriers(&words, "main", &none(), &OPTIONS, &added).unwrap();
        let traced = Traced::of(&with, "main", &none(), &OPTIONS).unwrap();
        let kinds: Vec<AccessKind> = sites.iter().map(|site| traced.sites[site.unwrap()].kind).collect();
        assert_eq!(kinds, [[AccessKind::Fence; 8], [AccessKind::Barrier; 8]].concat());
    }

    #[test]
    fn no_barrier_goes_into_a_statement() {
        let words = compiled(
            "#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer A { float a[]; };
shared float tile[64];
void main() {
    uint i = gl_LocalInvocationIndex;
    tile[i] =
        tile[i] +
        tile[(i + 1) % 64];
    a[i] = tile[i];
}
",
        );
        let traced = Traced::of(&words, "main", &none(), &OPTIONS).unwrap();
        let of = |kind| traced.sites.iter().position(|site| site.kind == kind && site.name == "tile[]").unwrap();
        let sites = [of(AccessKind::Load), of(AccessKind::Store)];
        let found = places(&words, "main", &none(), &OPTIONS, Unordered { sites, buffers: false }).unwrap();
        let all: Vec<String> = found.iter().map(|place| place.words("a.comp")).collect();
        assert_eq!(all, ["barrier() before line 7", "barrier() after line 9"]);
    }
}
