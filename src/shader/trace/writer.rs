//! The new module: what it records at each access.

use std::collections::{HashMap, HashSet};

use rspirv::dr::{Block, Function, Instruction, Module, Operand};
use rspirv::spirv::{Decoration, LoopControl, MemoryAccess, Op, StorageClass, Word};

use super::calls::Calls;
use super::layout::Layouts;
use super::loops::Loops;
use super::marks::{Marking, Marks};
use super::pointers::{Beside, Followed, Name, RootIs, Shadow, is_recorded};
use super::polls::Waiting;
use super::recorder::{ENDED, Poll, RETURNED_EARLY, Recorder};
use super::unforeseen::foreseen;
use super::uniform::varying;
use super::{
    AccessKind, AtomicOp, Foreseen, Merging, Root, Site, Space, Sync, Target, TraceError, TraceOptions, Traced, Unfollowed,
    assembled, mattering,
};
use crate::shader::edit::{Editor, Missing, ids};
use crate::shader::lines::Lines;
use crate::shader::loader::id;
use crate::shader::reflect::SpecValues;
use crate::shader::reflect::types::TypeNode;

/// A site's number takes the upper half of a word.
const MOST_SITES: usize = 0xffff;

pub(super) struct Writer {
    pub(super) edit: Editor,
    pub(super) layouts: Layouts,
    lines: Lines,
    pub(super) shadows: HashMap<Word, Shadow>,
    /// Words beside pointers that come later in their function, as phis already name them.
    pub(super) reserved: HashMap<Word, Beside>,
    /// The results of the function that haven't been come to.
    pub(super) results_left: HashSet<Word>,
    pub(super) roots: Vec<Root>,
    sites: Vec<Site>,
    calls: Calls,
    has_leaders: bool,
    has_values: bool,
    /// The results that some instruction takes.
    taken: HashSet<Word>,
    /// Values that lanes may not have in common.
    varying: HashSet<Word>,
    /// What compilers know of pointers to parts of shared memory.
    foreseen: HashMap<Word, Foreseen>,
    /// The results that matter, and which components of them, where values are recorded.
    matters: HashMap<Word, u32>,
    /// The function's pointers that lead to buffers, and whether what they lead to is declared coherent or volatile.
    awaited: HashMap<Word, bool>,
    /// The sites that record, by their indexes; nothing where all do.
    recording: Option<HashSet<usize>>,
    recorder: Option<Recorder>,
    /// Which bits sites set, where they don't record.
    marks: Option<Marks>,
    /// What sites that may poll did last, by the results of their instructions.
    polls: HashMap<Word, Poll>,
}

/// What is in doubt of one access of an array in shared memory is so of all: they may be one.
fn agree(sites: &mut [Site]) {
    let key = |site: &Site| match site.target {
        Target::Root { root, .. } if matches!(site.kind, AccessKind::Load | AccessKind::Store) => Some((root, site.kind)),
        _ => None,
    };
    let mut all: HashMap<(usize, AccessKind), Foreseen> = HashMap::new();
    for site in sites.iter() {
        let Some(key) = key(site) else { continue };
        let known = all.entry(key).or_insert(site.foreseen);
        let Foreseen { alignment, loops } = site.foreseen;
        *known = Foreseen { alignment: known.alignment.max(alignment), loops: known.loops & loops };
    }
    for site in sites {
        site.foreseen = key(site).and_then(|key| all.get(&key)).copied().unwrap_or_default();
    }
}

/// What is to be recorded of an access.
struct Access {
    matters: u32,
    is_coherent: bool,
    kind: AccessKind,
    name: String,
    target: Target,
    /// Where it leads.
    words: Vec<Word>,
    sync: Option<Sync>,
    atomic: Option<AtomicOp>,
    merging: Merging,
    foreseen: Foreseen,
    values: Vec<Word>,
}

impl Access {
    fn new(kind: AccessKind, name: String, target: Target, words: Vec<Word>) -> Self {
        Self {
            matters: u32::MAX,
            is_coherent: true,
            kind,
            name,
            target,
            words,
            sync: None,
            atomic: None,
            merging: Merging::default(),
            foreseen: Foreseen::default(),
            values: Vec::new(),
        }
    }
}

/// What stands around an instruction.
struct Surroundings<'a> {
    function: Word,
    /// The iterations of the loops around it, the outermost first.
    counters: &'a [Word],
    /// How many of the function's calls that lead to accesses came before.
    calls: &'a mut usize,
}

impl Writer {
    pub(super) fn new(module: Module, constants: &SpecValues, options: &TraceOptions) -> Result<Self, TraceError> {
        let (layouts, lines) = (Layouts::of(&module, constants), Lines::of(&module));
        let code = module.functions.iter().flat_map(|function| &function.blocks).flat_map(|block| &block.instructions);
        let taken = code.flat_map(|of| of.operands.iter().filter_map(id)).collect();
        let (varying, foreseen) =
            (varying(&module), if options.foresees { foreseen(&module, constants) } else { HashMap::new() });
        let matters = if options.values { mattering(&module) } else { HashMap::new() };
        let mut new = Self {
            edit: Editor::new(module)?,
            layouts,
            lines,
            shadows: HashMap::new(),
            reserved: HashMap::new(),
            results_left: HashSet::new(),
            roots: Vec::new(),
            sites: Vec::new(),
            calls: Calls::default(),
            has_leaders: options.leaders,
            has_values: options.values,
            taken,
            varying,
            foreseen,
            matters,
            awaited: HashMap::new(),
            recording: options.sites.map(|sites| sites.iter().copied().collect()),
            recorder: None,
            marks: None,
            polls: HashMap::new(),
        };
        new.note_variables();
        Ok(new)
    }

    /// The same, whose sites set bits instead of recording.
    pub(super) fn marking(self, marks: Marks) -> Self {
        Self { marks: Some(marks), ..self }
    }

    pub(super) fn instrument(&mut self, entry: Word) -> Result<(), TraceError> {
        let mut reached = self.reached(entry);
        let (mut functions, mut others): (Vec<(Function, Loops)>, Vec<Function>) = (Vec::new(), Vec::new());
        for function in std::mem::take(&mut self.edit.module.functions) {
            match function.def_id().and_then(|id| reached.remove(&id)) {
                Some(loops) => functions.push((function, loops)),
                None => others.push(function),
            }
        }
        self.calls = Calls::of(entry, &functions, |instruction| self.is_site(instruction))?;
        let deepest = self.calls.tree.deepest;
        let mut recorder = Recorder::new(&mut self.edit, self.has_leaders, deepest);
        functions.iter_mut().for_each(|(function, _)| self.extend_parameters(function));
        for (function, loops) in &mut functions {
            self.instrument_function(function, loops, &mut recorder)?;
        }
        // Those that aren't reached, or are another entry point's, may call the same functions.
        let calls = others.iter_mut().flat_map(Function::all_inst_iter_mut);
        calls.filter(|instruction| instruction.class.opcode == Op::FunctionCall).for_each(|call| self.extend_arguments(call));
        self.recorder = Some(recorder);
        self.edit.module.functions = functions.into_iter().map(|(function, _)| function).chain(others).collect();
        Ok(())
    }

    pub(super) fn finish(mut self, entry: Word) -> Result<Traced, TraceError> {
        let mut recorder = self.recorder.take().ok_or(Missing("function of that entry point"))?;
        let begin = recorder.write_begin(&mut self.edit);
        let end = self.has_values.then(|| recorder.write_end(&mut self.edit));
        let place = recorder.place;
        let functions = &mut self.edit.module.functions;
        let entry = functions.iter().position(|function| function.def_id() == Some(entry));
        let entry = entry.ok_or(Missing("function of that entry point"))?;
        let ends = ends_of(functions, entry);
        let void = self.edit.find_type(Op::TypeVoid, &[]);
        let mut call = Vec::new();
        self.edit.emit(&mut call, Op::FunctionCall, void, &[begin]);
        let functions = &mut self.edit.module.functions;
        if let Some(block) = functions[entry].blocks.first_mut() {
            let is_variable = |instruction: &Instruction| instruction.class.opcode == Op::Variable;
            let at = block.instructions.iter().rposition(is_variable).map_or(0, |last| last + 1);
            block.instructions.splice(at..at, call);
        }
        functions.extend(recorder.into_functions());
        if let Some(end) = end {
            self.call_at_returns(ends, end, void);
        }
        let words = assembled(&self.edit.finish());
        let Self { mut sites, roots, calls, has_leaders, .. } = self;
        agree(&mut sites);
        Ok(Traced { words, place, sites, roots, calls: calls.tree, has_leaders })
    }

    pub(super) fn finish_marking(mut self) -> Result<Marking, TraceError> {
        let recorder = self.recorder.take().ok_or(Missing("function of that entry point"))?;
        Ok(Marking { words: assembled(&self.edit.finish()), place: recorder.place })
    }

    /// Has a function call that of [`Recorder::write_end`] wherever it returns.
    fn call_at_returns(&mut self, function: usize, end: Word, void: Word) {
        let (ended, early) = (self.edit.constant(ENDED), self.edit.constant(ENDED | RETURNED_EARLY));
        let mut blocks = std::mem::take(&mut self.edit.module.functions[function].blocks);
        let mut how = ended;
        for block in blocks.iter_mut().rev().filter(|block| returns(block)) {
            let last = block.instructions.pop();
            self.edit.emit(&mut block.instructions, Op::FunctionCall, void, &[end, how]);
            block.instructions.extend(last);
            how = early;
        }
        self.edit.module.functions[function].blocks = blocks;
    }

    /// The functions that control flow comes to from an entry point, with what it comes to in each.
    fn reached(&self, entry: Word) -> HashMap<Word, Loops> {
        let (mut all, mut open) = (HashMap::new(), vec![entry]);
        while let Some(own) = open.pop() {
            let function = self.edit.module.functions.iter().find(|function| function.def_id() == Some(own));
            let Some(function) = function.filter(|_| !all.contains_key(&own)) else { continue };
            let loops = self.layouts.loops(function);
            let is_reached = |block: &&Block| {
                let label = block.label.as_ref().and_then(|label| label.result_id);
                label.is_some_and(|label| loops.around(label).is_some())
            };
            let instructions = function.blocks.iter().filter(is_reached).flat_map(|block| &block.instructions);
            let calls = instructions.filter(|instruction| instruction.class.opcode == Op::FunctionCall);
            open.extend(calls.filter_map(|call| call.operands.first().and_then(id)));
            all.insert(own, loops);
        }
        all
    }

    /// Where each site stands: the label of its block, and the place among that block's instructions.
    pub(super) fn site_places(&self, entry: Word) -> Vec<(Word, usize)> {
        let reached = self.reached(entry);
        let mut all = Vec::new();
        for function in &self.edit.module.functions {
            let Some(loops) = function.def_id().and_then(|id| reached.get(&id)) else { continue };
            for block in &function.blocks {
                let label = block.label.as_ref().and_then(|label| label.result_id).unwrap_or_default();
                if loops.around(label).is_some() {
                    let sites = (0..).zip(&block.instructions).map(|(at, of)| (at, self.accesses_of(of).len()));
                    all.extend(sites.flat_map(|(at, count)| vec![(label, at); count]));
                }
            }
        }
        all
    }

    // ---- what is recorded -------------------------------------------------------------------------------------------------

    fn is_site(&self, instruction: &Instruction) -> bool {
        use Op::{ControlBarrier, CopyMemory, CopyMemorySized, Load, MemoryBarrier, Store};
        let leads_to_memory =
            |at: usize| instruction.operands.get(at).and_then(id).and_then(|of| self.class_of(of)).is_some_and(is_recorded);
        match instruction.class.opcode {
            Load | Store => leads_to_memory(0),
            CopyMemory | CopyMemorySized => leads_to_memory(0) || leads_to_memory(1),
            ControlBarrier => true,
            MemoryBarrier => self.has_values,
            _ if is_atomic(instruction) => leads_to_memory(0),
            _ => unfollowed(instruction).is_some(),
        }
    }

    /// Whether the other lanes, or other workgroups, are expected to change what a load reads.
    fn is_awaited(&self, load: &Instruction) -> bool {
        let pointer = load.operands.first().and_then(id);
        has_access(load, MemoryAccess::VOLATILE | MemoryAccess::NON_PRIVATE_POINTER)
            || pointer.is_some_and(|pointer| self.awaited.get(&pointer) == Some(&true))
    }

    /// Whether others see what is done there once it is ordered. In Vulkan's memory model instructions say so, in that of GLSL variables.
    fn is_coherent(&self, access: &Instruction, pointer: Word) -> bool {
        if self.edit.is_vulkan_model() {
            return has_access(access, MemoryAccess::NON_PRIVATE_POINTER);
        }
        has_access(access, MemoryAccess::VOLATILE) || self.awaited.get(&pointer) != Some(&false)
    }

    /// The pointers of a function that come from variables through access chains, and whether what they lead to is declared coherent or
    /// volatile.
    fn awaited(&self, function: &Function) -> HashMap<Word, bool> {
        let is_so = |has: &dyn Fn(Decoration) -> bool| has(Decoration::Coherent) || has(Decoration::Volatile);
        let names = &self.edit.names;
        let globals = self.edit.module.types_global_values.iter();
        let variables = globals.filter(|of| of.class.opcode == Op::Variable).filter_map(|of| of.result_id);
        let mut awaited: HashMap<Word, bool> =
            variables.map(|variable| (variable, is_so(&|of| names.has(variable, of)))).collect();
        for instruction in function.all_inst_iter() {
            let (Some(result), Some(base)) = (instruction.result_id, instruction.operands.first().and_then(id)) else {
                continue;
            };
            if !matches!(instruction.class.opcode, Op::AccessChain | Op::InBoundsAccessChain) {
                continue;
            }
            let mut ty = self.edit.type_of.get(&base).and_then(|ty| self.edit.pointee(*ty)).map(|(_, ty)| ty);
            let Some(mut is_awaited) = awaited.get(&base).copied() else { continue };
            for index in instruction.operands[1..].iter().filter_map(id) {
                let Some(id_of_type) = ty else { break };
                ty = match self.layouts.node(id_of_type) {
                    Some(TypeNode::Struct { members, .. }) => {
                        let member = self.edit.literal(index).unwrap_or(u32::MAX);
                        is_awaited |= is_so(&|of| names.member_has(id_of_type, member, of));
                        members.get(member as usize).map(|member| member.ty)
                    }
                    Some(
                        TypeNode::Array { element, .. }
                        | TypeNode::RuntimeArray { element, .. }
                        | TypeNode::Vector { component: element, .. }
                        | TypeNode::Matrix { column: element, .. },
                    ) => Some(*element),
                    _ => None,
                };
            }
            awaited.insert(result, is_awaited);
        }
        awaited
    }

    /// The instructions in each of a function's loops that read a word, and may do so until somebody changes it.
    fn pollers(&self, function: &Function, loops: &Loops) -> HashMap<usize, Vec<Word>> {
        let waiting = Waiting::of(function, loops);
        let mut pollers: HashMap<usize, Vec<Word>> = HashMap::new();
        for block in &function.blocks {
            let around = block.label.as_ref().and_then(|label| loops.around(label.result_id?));
            let Some(innermost) = around.and_then(<[usize]>::last) else { continue };
            for instruction in block.instructions.iter().filter(|instruction| self.is_site(instruction)) {
                let Some(result) = instruction.result_id.filter(|result| self.is_word(*result)) else { continue };
                let is_load = instruction.class.opcode == Op::Load;
                let may_change = is_atomic(instruction) || (is_load && self.is_awaited(instruction));
                if may_change && waiting.ends(*innermost, result) {
                    pollers.entry(*innermost).or_default().push(result);
                }
            }
        }
        pollers
    }

    fn is_word(&self, value: Word) -> bool {
        let ty = self.edit.type_of.get(&value).and_then(|ty| self.edit.types.get(ty));
        ty.is_some_and(|ty| {
            matches!(ty.class.opcode, Op::TypeInt | Op::TypeFloat) && ty.operands.first() == Some(&Operand::LiteralBit32(32))
        })
    }

    // ---- functions --------------------------------------------------------------------------------------------------------

    fn instrument_function(
        &mut self,
        function: &mut Function,
        loops: &Loops,
        recorder: &mut Recorder,
    ) -> Result<(), TraceError> {
        let Some(own) = function.def_id() else { return Ok(()) };
        self.awaited = self.awaited(function);
        let pollers = self.pollers(function, loops);
        let counters = self.count_loops(function, loops, &pollers);
        self.results_left = function.all_inst_iter().filter_map(|instruction| instruction.result_id).collect();
        let mut calls = 0;
        // Blocks stand after those that dominate them: what a pointer is made of comes before it.
        for block in &mut function.blocks {
            self.lines.begin_block();
            let label = block.label.as_ref().and_then(|label| label.result_id).unwrap_or_default();
            let Some(around) = loops.around(label) else {
                self.follow_block(block);
                continue;
            };
            let counters: Vec<Word> = around.iter().filter_map(|at| counters.get(at).copied()).collect();
            let around = Surroundings { function: own, counters: &counters, calls: &mut calls };
            self.instrument_block(block, around, recorder)?;
        }
        Ok(())
    }

    /// Gives the loops that are around accesses a counter each, in their headers.
    fn count_loops(
        &mut self,
        function: &mut Function,
        loops: &Loops,
        pollers: &HashMap<usize, Vec<Word>>,
    ) -> HashMap<usize, Word> {
        let mut counted: Vec<usize> = Vec::new();
        for block in &function.blocks {
            let Some(around) = block.label.as_ref().and_then(|label| loops.around(label.result_id?)) else { continue };
            let leads_on = |instruction: &Instruction| {
                let callee = instruction.operands.first().and_then(id);
                instruction.class.opcode == Op::FunctionCall && callee.is_some_and(|callee| self.calls.matter.contains(&callee))
            };
            if block.instructions.iter().any(|instruction| self.is_site(instruction) || leads_on(instruction)) {
                counted.extend(around);
            }
        }
        counted.sort_unstable();
        counted.dedup();
        let mut counters = HashMap::new();
        for at in counted {
            let header = &loops.all[at];
            let is_it = |block: &&mut Block| block.label.as_ref().and_then(|label| label.result_id) == Some(header.header);
            let Some(block) = function.blocks.iter_mut().find(is_it) else { continue };
            let (counter, next, uint) = (self.edit.take_id(), self.edit.take_id(), self.edit.uint);
            let before =
                header.before.iter().flat_map(|(label, is_inside)| [if *is_inside { next } else { self.edit.zero }, *label]);
            let phi = Instruction::new(Op::Phi, Some(uint), Some(counter), ids(&before.collect::<Vec<_>>()));
            let is_phi = |instruction: &Instruction| matches!(instruction.class.opcode, Op::Phi | Op::Line | Op::NoLine);
            let rest = block.instructions.iter().position(|instruction| !is_phi(instruction)).unwrap_or(0);
            let one = self.edit.constant(1);
            let mut code = vec![Instruction::new(Op::IAdd, Some(uint), Some(next), ids(&[counter, one]))];
            // Where the loop begins anew, nothing was polled.
            if let Some(polling) = pollers.get(&at) {
                let is_first = self.edit.emit(&mut code, Op::IEqual, self.edit.bool, &[counter, self.edit.zero]);
                for result in polling {
                    let poll = Recorder::new_poll(&mut self.edit);
                    let last = self.edit.emit(&mut code, Op::Load, uint, &[poll.last]);
                    let kept = self.edit.emit(&mut code, Op::Select, uint, &[is_first, self.edit.zero, last]);
                    code.push(Instruction::new(Op::Store, None, None, ids(&[poll.last, kept])));
                    self.polls.insert(*result, poll);
                }
            }
            block.instructions.splice(rest..rest, code);
            block.instructions.insert(0, phi);
            forbid_unrolling(block);
            counters.insert(at, counter);
        }
        counters
    }

    /// A block that control flow never comes to records nothing, but names what functions take and phis choose from.
    fn follow_block(&mut self, block: &mut Block) {
        let mut code = Vec::with_capacity(block.instructions.len());
        for mut instruction in std::mem::take(&mut block.instructions) {
            if instruction.class.opcode == Op::FunctionCall {
                self.extend_arguments(&mut instruction);
            }
            code.push(instruction.clone());
            self.follow(&instruction, &mut code);
        }
        block.instructions = code;
    }

    fn instrument_block(
        &mut self,
        block: &mut Block,
        mut around: Surroundings,
        recorder: &mut Recorder,
    ) -> Result<(), TraceError> {
        let mut code = Vec::with_capacity(2 * block.instructions.len());
        // Phis come first, those that stand beside others among them.
        let is_phi = |instruction: &Instruction| instruction.class.opcode == Op::Phi;
        let rest = block.instructions.iter().rposition(is_phi).map_or(0, |last| last + 1);
        let after = block.instructions.split_off(rest);
        for instruction in std::mem::take(&mut block.instructions) {
            self.lines.note(&instruction);
            code.push(instruction.clone());
            self.follow(&instruction, &mut code);
        }
        for instruction in after {
            self.lines.note(&instruction);
            match instruction.class.opcode {
                Op::FunctionCall => self.call(instruction, &mut around, recorder, &mut code),
                _ if is_atomic(&instruction) && instruction.result_id.is_some() => {
                    code.push(instruction.clone());
                    self.record(&instruction, &around, recorder, &mut code)?;
                }
                _ => {
                    let result = instruction.result_id;
                    let polls = result.is_some_and(|result| self.polls.contains_key(&result));
                    if !polls {
                        self.record(&instruction, &around, recorder, &mut code)?;
                    }
                    // Records say where it leads; it goes on within memory that nothing else guards.
                    let mut kept = instruction.clone();
                    self.edit.keep_within(&mut kept, &mut code);
                    code.push(kept);
                    if polls {
                        self.record(&instruction, &around, recorder, &mut code)?;
                    }
                    self.follow(&instruction, &mut code);
                }
            }
        }
        block.instructions = code;
        Ok(())
    }

    fn call(&mut self, mut call: Instruction, around: &mut Surroundings, recorder: &Recorder, code: &mut Vec<Instruction>) {
        self.extend_arguments(&mut call);
        let callee = call.operands.first().and_then(id);
        if !callee.is_some_and(|callee| self.calls.matter.contains(&callee)) {
            code.push(call);
            return;
        }
        let has_paths = self.calls.tree.has_paths;
        let mut offset = None;
        if let Some(site) = self.calls.call(around.function, *around.calls) {
            site.line = self.lines.now();
            offset = Some(site.offset).filter(|_| has_paths);
        }
        *around.calls += 1;
        let after = recorder.enter(&mut self.edit, offset, around.counters, code);
        code.push(call);
        code.extend(after);
    }

    /// What is recorded of an instruction, and by which pointers: of a copy what it reads and what it writes.
    fn accesses_of(&self, instruction: &Instruction) -> Vec<(AccessKind, Option<Word>)> {
        if !self.is_site(instruction) {
            return Vec::new();
        }
        let pointer = |at: usize| instruction.operands.get(at).and_then(id);
        match instruction.class.opcode {
            Op::Load => vec![(AccessKind::Load, pointer(0))],
            Op::Store => vec![(AccessKind::Store, pointer(0))],
            Op::CopyMemory | Op::CopyMemorySized => {
                let both = [(AccessKind::Load, pointer(1)), (AccessKind::Store, pointer(0))];
                let is_memory = |pointer: &Option<Word>| pointer.and_then(|of| self.class_of(of)).is_some_and(is_recorded);
                both.into_iter().filter(|(_, pointer)| is_memory(pointer)).collect()
            }
            Op::ControlBarrier => vec![(AccessKind::Barrier, None)],
            Op::MemoryBarrier => vec![(AccessKind::Fence, None)],
            _ if is_atomic(instruction) => vec![(AccessKind::Atomic, pointer(0))],
            _ => unfollowed(instruction).map(|(kind, _)| (kind, None)).into_iter().collect(),
        }
    }

    /// Records an instruction, if it accesses memory or is a barrier.
    fn record(
        &mut self,
        instruction: &Instruction,
        around: &Surroundings,
        recorder: &mut Recorder,
        code: &mut Vec<Instruction>,
    ) -> Result<(), TraceError> {
        let poll = instruction.result_id.and_then(|result| Some((result, *self.polls.get(&result)?)));
        for (kind, pointer) in self.accesses_of(instruction) {
            let shadow = match (pointer, unfollowed(instruction)) {
                (_, Some((_, why))) => Some(Shadow::Unfollowed(why)),
                (pointer, None) => pointer.and_then(|pointer| self.shadow(pointer)),
            };
            let (name, target, words) = match shadow {
                None => (String::new(), Target::Nothing, Vec::new()),
                Some(Shadow::Unfollowed(why)) => (String::new(), Target::Unfollowed(why), Vec::new()),
                Some(shadow) => self.target(pointer.unwrap_or_default(), &shadow, code),
            };
            if kind != AccessKind::Load && matches!(target, Target::Unfollowed(_)) {
                self.note_unseen(instruction, pointer);
            }
            let mut access = Access::new(kind, name, target, words);
            access.sync = Sync::of(instruction, |of| self.layouts.values().integer(of));
            access.matters = match instruction.result_id {
                // What other atomic operations read is in what they leave as well.
                Some(result) if !is_atomic(instruction) || instruction.class.opcode == Op::AtomicExchange => {
                    self.mattering_bytes(result)
                }
                _ => u32::MAX,
            };
            access.is_coherent = is_atomic(instruction) || pointer.is_none_or(|pointer| self.is_coherent(instruction, pointer));
            access.atomic = is_atomic(instruction).then(|| AtomicOp::of(instruction));
            access.merging = access.atomic.map(|atomic| self.merging(instruction, atomic)).unwrap_or_default();
            access.foreseen = pointer.and_then(|of| self.foreseen.get(&of)).copied().unwrap_or_default();
            if self.has_values && !access.words.is_empty() {
                access.values = self.values_of(instruction, access.atomic, code);
            }
            self.record_access(access, poll, (around, recorder, code))?;
        }
        Ok(())
    }

    fn merging(&self, instruction: &Instruction, atomic: AtomicOp) -> Merging {
        let is_taken = instruction.result_id.is_some_and(|result| self.taken.contains(&result));
        let mut operands = instruction.operands.iter().filter_map(id);
        let is_one_place = operands.next().is_some_and(|place| !self.varying.contains(&place));
        let is_swap = matches!(atomic, AtomicOp::Exchange | AtomicOp::CompareExchange);
        match is_one_place && !is_swap {
            true if operands.all(|amount| !self.varying.contains(&amount)) => Merging::Once,
            false if is_taken => Merging::Separate,
            _ => Merging::Summed,
        }
    }

    /// Notes that shared memory may be written where nobody sees it: what is read there isn't known to be unwritten.
    fn note_unseen(&mut self, instruction: &Instruction, pointer: Option<Word>) {
        let Some(pointer) = pointer.or_else(|| instruction.operands.first().and_then(id)) else { return };
        if self.class_of(pointer) != Some(StorageClass::Workgroup) {
            return;
        }
        let known = match self.shadow(pointer) {
            Some(Shadow::Followed(Followed { root: RootIs::Known(root), .. })) => Some(root),
            _ => None,
        };
        let roots = self.roots.iter_mut().enumerate();
        let meant = roots.filter(|(at, root)| root.space == Space::Shared && known.is_none_or(|known| known == *at));
        meant.for_each(|(_, root)| root.has_initial = true);
    }

    /// Which bytes of what is loaded matter, a bit each.
    fn mattering_bytes(&self, result: Word) -> u32 {
        let Some(components) = self.matters.get(&result) else { return 0 };
        let ty = self.edit.type_of.get(&result);
        let component = ty.and_then(|ty| match self.layouts.node(*ty) {
            Some(TypeNode::Vector { component, .. }) => self.layouts.size(*component),
            _ => None,
        });
        let Some(bytes) = component.and_then(|bytes| u32::try_from(bytes).ok()).filter(|bytes| *bytes <= 8) else {
            return u32::MAX;
        };
        let of = |component: u32| ((1_u64 << bytes) - 1).checked_shl(component * bytes).unwrap_or(0);
        let all = (0..32).filter(|component| components >> component & 1 == 1).fold(0, |all, component| all | of(component));
        u32::try_from(all & u64::from(u32::MAX)).unwrap_or(u32::MAX)
    }

    /// What an access leads to: its name, what records hold of it, and their words.
    fn target(&mut self, pointer: Word, shadow: &Shadow, code: &mut Vec<Instruction>) -> (String, Target, Vec<Word>) {
        let called = |name: &Name, root: Option<usize>| {
            let path = self.edit.path_name(name.variable, name.ty, &name.path);
            if path.starts_with(|c: char| c.is_alphabetic() || c == '_') { path } else { self.place_name(root) + &path }
        };
        let pieces = || (String::new(), Target::Unfollowed(Unfollowed::Pieces), Vec::new());
        match shadow {
            Shadow::Unfollowed(why) => (String::new(), Target::Unfollowed(*why), Vec::new()),
            Shadow::Address(place, name) => {
                let Some(runs) = self.layouts.runs(*place) else { return pieces() };
                let name = called(name, None);
                let pair = self.edit.find_type(Op::TypeVector, &[Operand::IdRef(self.edit.uint), Operand::LiteralBit32(2)]);
                let address = self.edit.emit(code, Op::Bitcast, pair, &[pointer]);
                let words = [1, 0].map(|half| self.edit.component(address, self.edit.uint, half, code));
                (name, Target::Address { runs }, words.to_vec())
            }
            Shadow::Followed(followed) => {
                let Some(runs) = self.layouts.runs(followed.place) else { return pieces() };
                let known = if let RootIs::Known(root) = followed.root { Some(root) } else { None };
                let name = called(&followed.name, known);
                let (element, offset) = (followed.element, followed.offset);
                match followed.root {
                    RootIs::Known(root) => {
                        let words = element.into_iter().chain([offset]).collect();
                        (name, Target::Root { root, is_array: element.is_some(), runs }, words)
                    }
                    RootIs::Chosen(root) => {
                        let words = vec![root, element.unwrap_or(self.edit.zero), offset];
                        (name, Target::Chosen { runs }, words)
                    }
                }
            }
        }
    }

    /// What stands for a variable without a name.
    fn place_name(&self, root: Option<usize>) -> String {
        match root.and_then(|root| self.roots.get(root)).map(|root| root.space) {
            Some(Space::Storage { set, binding } | Space::Uniform { set, binding }) => format!("{set}:{binding}"),
            Some(Space::PushConstants) => "(push constants)".to_owned(),
            Some(Space::Shared) => "(shared memory)".to_owned(),
            Some(Space::Address) | None => "(pointer)".to_owned(),
        }
    }

    fn record_access(
        &mut self,
        Access { matters, is_coherent, kind, name, target, words, sync, atomic, merging, foreseen, values }: Access,
        poll: Option<(Word, Poll)>,
        (around, recorder, code): (&Surroundings, &mut Recorder, &mut Vec<Instruction>),
    ) -> Result<(), TraceError> {
        if self.sites.len() >= MOST_SITES {
            return Err(TraceError::Sites);
        }
        let poll = poll.filter(|_| !words.is_empty());
        let line = self.lines.now();
        let number = self.sites.len();
        let is_recorded = self.recording.as_ref().is_none_or(|sites| sites.contains(&number));
        let (loops, polls) = (around.counters.len(), poll.is_some());
        self.sites.push(Site {
            kind,
            name,
            line,
            target,
            loops,
            polls,
            sync,
            atomic,
            merging,
            foreseen,
            matters,
            is_coherent,
            values: values.len(),
        });
        if !is_recorded {
            return Ok(());
        }
        if let Some(marks) = &self.marks {
            if let [offset] = words[..] {
                marks.write(&mut self.edit, &recorder.buffer, (kind, &self.sites[number].target), offset, code);
            }
            return Ok(());
        }
        let number = u32::try_from(number + 1).unwrap_or(u32::MAX);
        let mut all = Vec::new();
        if self.calls.tree.has_paths {
            all.push(self.edit.emit(code, Op::Load, self.edit.uint, &[recorder.path]));
        }
        all.extend(around.counters);
        all.extend(values);
        let compared = words.len() + 1;
        all.extend(words);
        if let Some((result, _)) = poll {
            all.push(self.as_word(result, code));
        }
        recorder.record(&mut self.edit, number, &all, poll.map(|(_, poll)| (poll, compared)), code);
        Ok(())
    }

    fn as_word(&mut self, value: Word, code: &mut Vec<Instruction>) -> Word {
        match self.edit.type_of.get(&value) {
            Some(ty) if *ty == self.edit.uint => value,
            _ => self.edit.emit(code, Op::Bitcast, self.edit.uint, &[value]),
        }
    }
}

/// Each turn would have records of its own to compile, and compilers take long for each.
fn forbid_unrolling(header: &mut Block) {
    let operands = header.instructions.iter_mut().flat_map(|instruction| &mut instruction.operands);
    for operand in operands {
        // Other bits have numbers behind them, which don't go with this one.
        if matches!(operand, Operand::LoopControl(LoopControl::NONE | LoopControl::UNROLL)) {
            *operand = Operand::LoopControl(LoopControl::DONT_UNROLL);
        }
    }
}

/// The function at whose returns a shader ends: its entry point's, or one that is all that this calls, as compilers of other languages
/// write it.
fn ends_of(functions: &[Function], entry: usize) -> usize {
    let is_call = |of: &&Instruction| of.class.opcode == Op::FunctionCall;
    let callee = |of: &Function| -> Option<usize> {
        let [block] = &of.blocks[..] else { return None };
        let [call] = block.instructions.iter().filter(is_call).collect::<Vec<_>>()[..] else { return None };
        let callee = call.operands.first().and_then(id);
        functions.iter().position(|function| function.def_id() == callee)
    };
    let mut ends = entry;
    while let Some(callee) = callee(&functions[ends]) {
        ends = callee;
    }
    ends
}

fn returns(block: &Block) -> bool {
    block.instructions.last().is_some_and(|last| matches!(last.class.opcode, Op::Return | Op::ReturnValue))
}

fn has_access(instruction: &Instruction, any: MemoryAccess) -> bool {
    let mut operands = instruction.operands.iter();
    operands.any(|operand| matches!(operand, Operand::MemoryAccess(access) if access.intersects(any)))
}

pub(super) fn is_atomic(instruction: &Instruction) -> bool {
    instruction.class.opname.starts_with("Atomic")
}

/// What an instruction does with memory that isn't followed.
fn unfollowed(instruction: &Instruction) -> Option<(AccessKind, Unfollowed)> {
    use Op::{CooperativeMatrixLoadKHR, CooperativeMatrixStoreKHR, ImageRead, ImageSparseRead, ImageWrite};
    let is_sampling = || {
        let name = instruction.class.opname;
        let is_read = ["ImageSample", "ImageFetch", "ImageGather", "ImageDrefGather", "ImageSparse"];
        is_read.iter().any(|prefix| name.starts_with(prefix)) && name != "ImageSparseTexelsResident"
    };
    Some(match instruction.class.opcode {
        ImageRead | ImageSparseRead => (AccessKind::Load, Unfollowed::Image),
        ImageWrite => (AccessKind::Store, Unfollowed::Image),
        CooperativeMatrixLoadKHR => (AccessKind::Load, Unfollowed::CooperativeMatrix),
        CooperativeMatrixStoreKHR => (AccessKind::Store, Unfollowed::CooperativeMatrix),
        _ if is_sampling() => (AccessKind::Load, Unfollowed::Image),
        _ => return None,
    })
}
