//! The functions that a module records with, and the buffer that they write to.

use std::collections::BTreeMap;

use rspirv::dr::{Function, Instruction, Operand};
use rspirv::spirv::{
    BuiltIn, Capability, Decoration, FunctionControl, LoopControl, Op, Scope, SelectionControl, StorageClass, Word,
};

use crate::shader::edit::{Editor, WordBuffer, ids, labelled};
use crate::shader::loader::id;

/// Words of the buffer, by their places. Behind the last come the workgroups that are recorded, by their linear numbers in ascending
/// order; at the places that the buffer names, a word for each of their invocations (its subgroup in the upper half, its lane in the
/// lower), and for each that is recorded as many words for its records. Those end with a 0, or where there is no room for more.
pub mod header {
    /// Words of records that each invocation may have.
    pub const PER_INVOCATION: u32 = 0;
    /// Workgroups that are recorded.
    pub const GROUPS: u32 = 1;
    /// Workgroups of the dispatch in x and in y.
    pub const GRID: [u32; 2] = [2, 3];
    pub const INVOCATIONS_PER_GROUP: u32 = 4;
    /// Where the words of invocations begin, and where the records do.
    pub const INVOCATIONS: u32 = 5;
    pub const RECORDS: u32 = 6;
    /// Where words begin that nobody reads.
    pub const UNREAD: u32 = 7;
    pub const WORDS: u32 = 8;
}

/// What an invocation finds in the place of its word: this, and the number of its room, from 1; 0 for none.
pub const UNBEGUN: u32 = 1 << 31;

/// What is added to that word where an invocation ends, and where that isn't the last return of its function.
pub const ENDED: u32 = 1 << 30;
pub const RETURNED_EARLY: u32 = 1 << 29;

const SPIRV_1_3: u32 = 0x0001_0300;

pub(super) struct Recorder {
    pub(super) buffer: WordBuffer,
    pub(super) place: (u32, u32),
    /// Where the invocation's next record goes, and where its room ends: the same of one that isn't recorded, and 0 in a workgroup that
    /// isn't.
    next: Word,
    end: Word,
    /// Where its word is that says which lane it is.
    own: Word,
    /// Where words go that nobody reads.
    unread: Word,
    pub(super) path: Word,
    pub(super) outer: Option<OuterLoops>,
    lane: Word,
    pub(super) has_leaders: bool,
    void: Word,
    subgroup_scope: Word,
    functions: BTreeMap<Signature, Word>,
    code: Vec<Function>,
}

/// The iterations of the loops around the calls that led here.
pub(super) struct OuterLoops {
    /// How many there are.
    pub(super) count: Word,
    iterations: Word,
}

/// What sets functions apart that write records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Signature {
    words: usize,
    /// The variable of the site, where it polls; and how many of its last words must be the same in a record that counts on.
    poll: Option<Poll>,
    compared: usize,
}

/// Where the last record of a site that polls ends; 0 is nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Poll {
    pub(super) last: Word,
}

impl Recorder {
    pub(super) fn new(edit: &mut Editor, has_leaders: bool, deepest: usize) -> Self {
        // Subgroups came with SPIR-V 1.3, which every driver with Vulkan 1.1 takes; nothing of older versions is gone in it.
        if let Some(header) = edit.module.header.as_mut().filter(|header| header.version < SPIRV_1_3) {
            header.version = SPIRV_1_3;
        }
        edit.require(Capability::GroupNonUniform);
        if has_leaders {
            edit.require(Capability::GroupNonUniformBallot);
        }
        let place = (0, edit.free_binding());
        let buffer = edit.word_buffer(place);
        let outer = (deepest > 0).then(|| OuterLoops { count: edit.own_variable(), iterations: edit.own_array(deepest) });
        Self {
            buffer,
            place,
            next: edit.own_variable(),
            end: edit.own_variable(),
            own: edit.own_variable(),
            unread: edit.own_variable(),
            path: edit.own_variable(),
            outer,
            lane: edit.built_in(BuiltIn::SubgroupLocalInvocationId, 1),
            has_leaders,
            void: edit.find_type(Op::TypeVoid, &[]),
            subgroup_scope: edit.constant(Scope::Subgroup as u32),
            functions: BTreeMap::new(),
            code: Vec::new(),
        }
    }

    pub(super) fn new_poll(edit: &mut Editor) -> Poll {
        Poll { last: edit.own_variable() }
    }

    pub(super) fn into_functions(self) -> Vec<Function> {
        self.code
    }

    /// Calls what writes a record: the site's number, and words of its own. With a poll, the last of these say where it leads and what
    /// was read, and a record with the same words counts on.
    pub(super) fn record(
        &mut self,
        edit: &mut Editor,
        site: u32,
        words: &[Word],
        poll: Option<(Poll, usize)>,
        code: &mut Vec<Instruction>,
    ) {
        let site = edit.constant(site << 16);
        let leader = if self.has_leaders {
            let lane = edit.load_built_in(self.lane, code);
            let result = edit.take_id();
            let operands = vec![Operand::IdScope(self.subgroup_scope), Operand::IdRef(lane)];
            code.push(Instruction::new(Op::GroupNonUniformBroadcastFirst, Some(edit.uint), Some(result), operands));
            result
        } else {
            edit.zero
        };
        let (poll, compared) = poll.unzip();
        let signature = Signature { words: words.len(), poll, compared: compared.unwrap_or(0) };
        let function = match self.functions.get(&signature) {
            Some(known) => *known,
            None => {
                let new = self.write_function(edit, signature);
                self.functions.insert(signature, new);
                new
            }
        };
        edit.emit(code, Op::FunctionCall, self.void, &[&[function, site, leader], words].concat());
    }

    fn word(&self, edit: &mut Editor, at: Word, code: &mut Vec<Instruction>) -> Word {
        edit.emit(code, Op::AccessChain, self.buffer.to_word, &[self.buffer.variable, edit.zero, at])
    }

    fn load_word(&self, edit: &mut Editor, at: Word, code: &mut Vec<Instruction>) -> Word {
        let place = self.word(edit, at, code);
        edit.emit(code, Op::Load, edit.uint, &[place])
    }

    fn load_header(&self, edit: &mut Editor, at: u32, code: &mut Vec<Instruction>) -> Word {
        let at = edit.constant(at);
        self.load_word(edit, at, code)
    }

    fn store_word(&self, edit: &mut Editor, at: Word, value: Word, code: &mut Vec<Instruction>) {
        let place = self.word(edit, at, code);
        store(place, value, code);
    }

    fn function(&mut self, edit: &mut Editor, parameters: usize) -> (Word, Vec<Word>, Function) {
        let uints = vec![Operand::IdRef(edit.uint); parameters];
        let ty = edit.find_type(Op::TypeFunction, &[vec![Operand::IdRef(self.void)], uints].concat());
        let id = edit.take_id();
        let mut function = Function::new();
        let operands = vec![Operand::FunctionControl(FunctionControl::DONT_INLINE), Operand::IdRef(ty)];
        function.def = Some(Instruction::new(Op::Function, Some(self.void), Some(id), operands));
        let own: Vec<Word> = (0..parameters).map(|_| edit.take_id()).collect();
        function.parameters =
            own.iter().map(|own| Instruction::new(Op::FunctionParameter, Some(edit.uint), Some(*own), Vec::new())).collect();
        function.end = Some(Instruction::new(Op::FunctionEnd, None, None, Vec::new()));
        (id, own, function)
    }

    /// The function that an entry point begins with: it looks whether its workgroup is one of those that are recorded.
    pub(super) fn write_begin(&mut self, edit: &mut Editor) -> Word {
        let (function, _, mut body) = self.function(edit, 0);
        let [start, header, search, next, looked, write, end] = std::array::from_fn(|_| edit.take_id());
        let (one, uint) = (edit.constant(1), edit.uint);

        let mut code = Vec::new();
        let group = edit.built_in(BuiltIn::WorkgroupId, 3);
        let [x, y, z] = edit.load_built_in_vector(group, &mut code);
        let [width, height] = header::GRID.map(|at| self.load_header(edit, at, &mut code));
        let planes = edit.emit(&mut code, Op::IMul, uint, &[z, height]);
        let rows = edit.emit(&mut code, Op::IAdd, uint, &[planes, y]);
        let before = edit.emit(&mut code, Op::IMul, uint, &[rows, width]);
        let linear = edit.emit(&mut code, Op::IAdd, uint, &[before, x]);
        let count = self.load_header(edit, header::GROUPS, &mut code);
        branch(header, &mut code);
        body.blocks.push(labelled(start, code));

        // A binary search: the first that isn't less.
        let mut code = Vec::new();
        let [low, high, lower, higher] = std::array::from_fn(|_| edit.take_id());
        let phi = |result, first, then| Instruction::new(Op::Phi, Some(uint), Some(result), ids(&[first, start, then, next]));
        code.push(phi(low, edit.zero, lower));
        code.push(phi(high, count, higher));
        let is_open = edit.emit(&mut code, Op::ULessThan, edit.bool, &[low, high]);
        loop_merge(looked, next, &mut code);
        branch_if(is_open, search, looked, &mut code);
        body.blocks.push(labelled(header, code));

        let mut code = Vec::new();
        let sum = edit.emit(&mut code, Op::IAdd, uint, &[low, high]);
        let middle = edit.emit(&mut code, Op::ShiftRightLogical, uint, &[sum, one]);
        let groups = edit.constant(header::WORDS);
        let at = edit.emit(&mut code, Op::IAdd, uint, &[groups, middle]);
        let value = self.load_word(edit, at, &mut code);
        let is_less = edit.emit(&mut code, Op::ULessThan, edit.bool, &[value, linear]);
        let after = edit.emit(&mut code, Op::IAdd, uint, &[middle, one]);
        code.push(Instruction::new(Op::Select, Some(uint), Some(lower), ids(&[is_less, after, low])));
        code.push(Instruction::new(Op::Select, Some(uint), Some(higher), ids(&[is_less, high, middle])));
        branch(next, &mut code);
        body.blocks.push(labelled(search, code));
        let mut code = Vec::new();
        branch(header, &mut code);
        body.blocks.push(labelled(next, code));

        let mut code = Vec::new();
        let at = edit.emit(&mut code, Op::IAdd, uint, &[groups, low]);
        // Behind the last one there are other words: whether there is one is asked as well.
        let value = self.load_word(edit, at, &mut code);
        let is_it = edit.emit(&mut code, Op::IEqual, edit.bool, &[value, linear]);
        let is_there = edit.emit(&mut code, Op::ULessThan, edit.bool, &[low, count]);
        let is_recorded = edit.emit(&mut code, Op::LogicalAnd, edit.bool, &[is_it, is_there]);
        let own = edit.built_in(BuiltIn::LocalInvocationIndex, 1);
        let own = edit.load_built_in(own, &mut code);
        let subgroup = edit.built_in(BuiltIn::SubgroupId, 1);
        let subgroup = edit.load_built_in(subgroup, &mut code);
        let lane = edit.load_built_in(self.lane, &mut code);
        let in_group = self.load_header(edit, header::INVOCATIONS_PER_GROUP, &mut code);
        let before = edit.emit(&mut code, Op::IMul, uint, &[low, in_group]);
        let place = edit.emit(&mut code, Op::IAdd, uint, &[before, own]);
        let first = self.load_header(edit, header::INVOCATIONS, &mut code);
        let at = edit.emit(&mut code, Op::IAdd, uint, &[first, place]);
        let found = self.load_word(edit, at, &mut code);
        let before_rooms = edit.constant(UNBEGUN + 1);
        let has_room = edit.emit(&mut code, Op::UGreaterThanEqual, edit.bool, &[found, before_rooms]);
        let is_own = edit.emit(&mut code, Op::LogicalAnd, edit.bool, &[is_recorded, has_room]);
        let number = edit.emit(&mut code, Op::ISub, uint, &[found, before_rooms]);
        let room = self.load_header(edit, header::PER_INVOCATION, &mut code);
        let records = self.load_header(edit, header::RECORDS, &mut code);
        let before = edit.emit(&mut code, Op::IMul, uint, &[number, room]);
        let from = edit.emit(&mut code, Op::IAdd, uint, &[records, before]);
        let to = edit.emit(&mut code, Op::IAdd, uint, &[from, room]);
        for (variable, at) in [(self.next, from), (self.end, to)] {
            let at = edit.emit(&mut code, Op::Select, uint, &[is_own, at, records]);
            let at = edit.emit(&mut code, Op::Select, uint, &[is_recorded, at, edit.zero]);
            store(variable, at, &mut code);
        }
        let unread = self.load_header(edit, header::UNREAD, &mut code);
        store(self.unread, unread, &mut code);
        selection_merge(end, &mut code);
        branch_if(is_recorded, write, end, &mut code);
        body.blocks.push(labelled(looked, code));

        let mut code = Vec::new();
        let sixteen = edit.constant(16);
        let upper = edit.emit(&mut code, Op::ShiftLeftLogical, uint, &[subgroup, sixteen]);
        let both = edit.emit(&mut code, Op::BitwiseOr, uint, &[upper, lane]);
        self.store_word(edit, at, both, &mut code);
        store(self.own, at, &mut code);
        branch(end, &mut code);
        body.blocks.push(labelled(write, code));
        body.blocks.push(labelled(end, vec![Instruction::new(Op::Return, None, None, Vec::new())]));
        self.code.push(body);
        function
    }

    /// The function that an entry point ends with, given what to add to the invocation's word: an invocation that never comes to it waits
    /// for ever, or was given up.
    pub(super) fn write_end(&mut self, edit: &mut Editor) -> Word {
        let (function, parameters, mut body) = self.function(edit, 1);
        let [start, write, end] = std::array::from_fn(|_| edit.take_id());
        let mut code = Vec::new();
        let room_end = edit.emit(&mut code, Op::Load, edit.uint, &[self.end]);
        let is_group = edit.emit(&mut code, Op::INotEqual, edit.bool, &[room_end, edit.zero]);
        selection_merge(end, &mut code);
        branch_if(is_group, write, end, &mut code);
        body.blocks.push(labelled(start, code));
        let mut code = Vec::new();
        let at = edit.emit(&mut code, Op::Load, edit.uint, &[self.own]);
        let lane = self.load_word(edit, at, &mut code);
        let word = edit.emit(&mut code, Op::BitwiseOr, edit.uint, &[lane, parameters[0]]);
        self.store_word(edit, at, word, &mut code);
        branch(end, &mut code);
        body.blocks.push(labelled(write, code));
        body.blocks.push(labelled(end, vec![Instruction::new(Op::Return, None, None, Vec::new())]));
        self.code.push(body);
        function
    }

    /// The function that writes a record. It branches only by what all of a workgroup have in common: a driver may hang at a barrier
    /// behind a branch that some lanes took. What isn't recorded is written where nobody reads.
    fn write_function(&mut self, edit: &mut Editor, signature: Signature) -> Word {
        let (function, parameters, mut body) = self.function(edit, 2 + signature.words);
        let [start, write, end] = std::array::from_fn(|_| edit.take_id());
        let (uint, bool) = (edit.uint, edit.bool);
        let mut code = Vec::new();
        let room_end = edit.emit(&mut code, Op::Load, uint, &[self.end]);
        let is_group = edit.emit(&mut code, Op::INotEqual, bool, &[room_end, edit.zero]);
        selection_merge(end, &mut code);
        branch_if(is_group, write, end, &mut code);
        body.blocks.push(labelled(start, code));

        let mut code = Vec::new();
        let next = edit.emit(&mut code, Op::Load, uint, &[self.next]);
        let outer = self.outer.as_ref().map(|outer| (edit.emit(&mut code, Op::Load, uint, &[outer.count]), outer.iterations));
        // The site and the leader are one word.
        let own_words = parameters.len() - 1 + usize::from(signature.poll.is_some());
        let mut length = edit.constant(u32::try_from(own_words).unwrap_or(u32::MAX));
        if let Some((count, _)) = outer {
            length = edit.emit(&mut code, Op::IAdd, uint, &[length, count]);
        }
        let after = edit.emit(&mut code, Op::IAdd, uint, &[next, length]);
        let fits = edit.emit(&mut code, Op::ULessThanEqual, bool, &[after, room_end]);
        // Where one finds no room, none that follows does.
        let mut new_next = edit.emit(&mut code, Op::Select, uint, &[fits, after, room_end]);
        let unread = edit.emit(&mut code, Op::Load, uint, &[self.unread]);
        let mut at = edit.emit(&mut code, Op::Select, uint, &[fits, next, unread]);
        let repeated = signature.poll.map(|poll| {
            let (last, is_same) = self.is_repeated(edit, poll, next, &parameters[2..], signature.compared, &mut code);
            at = edit.emit(&mut code, Op::Select, uint, &[is_same, unread, at]);
            new_next = edit.emit(&mut code, Op::Select, uint, &[is_same, next, new_next]);
            (poll, last, is_same)
        });
        store(self.next, new_next, &mut code);
        let head = edit.emit(&mut code, Op::BitwiseOr, uint, &[parameters[0], parameters[1]]);
        self.store_word(edit, at, head, &mut code);
        let mut words = parameters[2..].iter().copied();
        let (mut last, mut label, one) = (at, write, edit.constant(1));
        if let Some((count, iterations)) = outer {
            // The chain of calls comes first: it tells how many iterations follow.
            if let Some(path) = words.next() {
                last = edit.emit(&mut code, Op::IAdd, uint, &[last, one]);
                self.store_word(edit, last, path, &mut code);
            }
            let rest = edit.take_id();
            last = self.copy_iterations(edit, (write, code), last, count, iterations, rest, &mut body);
            (label, code) = (rest, Vec::new());
        }
        for word in words {
            last = edit.emit(&mut code, Op::IAdd, uint, &[last, one]);
            self.store_word(edit, last, word, &mut code);
        }
        if let Some((poll, before, is_same)) = repeated {
            // The record's last word is how often in a row it was so.
            let own = edit.emit(&mut code, Op::IAdd, uint, &[last, one]);
            let count = self.load_word(edit, before, &mut code);
            let more = edit.emit(&mut code, Op::IAdd, uint, &[count, one]);
            let count = edit.emit(&mut code, Op::Select, uint, &[is_same, more, one]);
            let at = edit.emit(&mut code, Op::Select, uint, &[is_same, before, own]);
            self.store_word(edit, at, count, &mut code);
            let kept = edit.emit(&mut code, Op::Select, uint, &[fits, own, edit.zero]);
            let kept = edit.emit(&mut code, Op::Select, uint, &[is_same, before, kept]);
            store(poll.last, kept, &mut code);
        }
        branch(end, &mut code);
        body.blocks.push(labelled(label, code));
        body.blocks.push(labelled(end, vec![Instruction::new(Op::Return, None, None, Vec::new())]));
        self.code.push(body);
        function
    }

    /// Where the last record of a site that polls ends; and whether it says the same, and nothing else was recorded since then.
    fn is_repeated(
        &self,
        edit: &mut Editor,
        poll: Poll,
        next: Word,
        words: &[Word],
        compared: usize,
        code: &mut Vec<Instruction>,
    ) -> (Word, Word) {
        let last = edit.emit(code, Op::Load, edit.uint, &[poll.last]);
        let one = edit.constant(1);
        let after = edit.emit(code, Op::IAdd, edit.uint, &[last, one]);
        let mut is_same = edit.emit(code, Op::IEqual, edit.bool, &[after, next]);
        for (back, now) in (1..).zip(words.iter().rev().take(compared)) {
            let back = edit.constant(back);
            let at = edit.emit(code, Op::ISub, edit.uint, &[last, back]);
            let before = self.load_word(edit, at, code);
            let is_equal = edit.emit(code, Op::IEqual, edit.bool, &[before, *now]);
            is_same = edit.emit(code, Op::LogicalAnd, edit.bool, &[is_same, is_equal]);
        }
        (last, is_same)
    }

    /// The loop that writes the iterations of outer loops behind a word, and where the last of them is.
    #[expect(clippy::too_many_arguments, reason = "what blocks need that are written one after the other")]
    fn copy_iterations(
        &self,
        edit: &mut Editor,
        (label, mut code): (Word, Vec<Instruction>),
        before: Word,
        count: Word,
        iterations: Word,
        end: Word,
        body: &mut Function,
    ) -> Word {
        let [header, copy, next, at, after] = std::array::from_fn(|_| edit.take_id());
        let (uint, one) = (edit.uint, edit.constant(1));
        branch(header, &mut code);
        body.blocks.push(labelled(label, code));
        let mut code = vec![Instruction::new(Op::Phi, Some(uint), Some(at), ids(&[edit.zero, label, after, next]))];
        let is_left = edit.emit(&mut code, Op::ULessThan, edit.bool, &[at, count]);
        let last = edit.emit(&mut code, Op::IAdd, uint, &[before, at]);
        loop_merge(end, next, &mut code);
        branch_if(is_left, copy, end, &mut code);
        body.blocks.push(labelled(header, code));
        let mut code = Vec::new();
        let to_own = edit.pointer(StorageClass::Private, uint);
        let from = edit.emit(&mut code, Op::AccessChain, to_own, &[iterations, at]);
        let iteration = edit.emit(&mut code, Op::Load, uint, &[from]);
        let to = edit.emit(&mut code, Op::IAdd, uint, &[last, one]);
        self.store_word(edit, to, iteration, &mut code);
        code.push(Instruction::new(Op::IAdd, Some(uint), Some(after), ids(&[at, one])));
        branch(next, &mut code);
        body.blocks.push(labelled(copy, code));
        let mut code = Vec::new();
        branch(header, &mut code);
        body.blocks.push(labelled(next, code));
        last
    }

    /// What precedes a call: the numbers of the chain and the loops around it, in the variables of those; and what follows it.
    pub(super) fn enter(
        &self,
        edit: &mut Editor,
        offset: Option<u32>,
        counters: &[Word],
        code: &mut Vec<Instruction>,
    ) -> Vec<Instruction> {
        let mut after = Vec::new();
        if let Some(offset) = offset {
            let own = edit.emit(code, Op::Load, edit.uint, &[self.path]);
            let offset = edit.constant(offset);
            let through = edit.emit(code, Op::IAdd, edit.uint, &[own, offset]);
            store(self.path, through, code);
            store(self.path, own, &mut after);
        }
        if let Some(outer) = self.outer.as_ref().filter(|_| !counters.is_empty()) {
            let own = edit.emit(code, Op::Load, edit.uint, &[outer.count]);
            let (mut at, one) = (own, edit.constant(1));
            let to_own = edit.pointer(StorageClass::Private, edit.uint);
            for counter in counters {
                let place = edit.emit(code, Op::AccessChain, to_own, &[outer.iterations, at]);
                store(place, *counter, code);
                at = edit.emit(code, Op::IAdd, edit.uint, &[at, one]);
            }
            store(outer.count, at, code);
            store(outer.count, own, &mut after);
        }
        after
    }
}

impl Editor {
    /// An array of words of the invocation's own.
    fn own_array(&mut self, length: usize) -> Word {
        let length = self.constant(u32::try_from(length).unwrap_or(u32::MAX));
        let array = self.find_type(Op::TypeArray, &ids(&[self.uint, length]));
        let pointer = self.pointer(StorageClass::Private, array);
        let variable = self.declare(Op::Variable, Some(pointer), vec![Operand::StorageClass(StorageClass::Private)]);
        self.list(variable);
        variable
    }

    /// The variable of a built-in input, which a module may have only once.
    pub(in crate::shader) fn built_in(&mut self, which: BuiltIn, components: u32) -> Word {
        let is_it = |instruction: &&Instruction| {
            instruction.class.opcode == Op::Variable
                && instruction.operands.first() == Some(&Operand::StorageClass(StorageClass::Input))
                && instruction.result_id.is_some_and(|id| self.names.argument(id, Decoration::BuiltIn) == Some(which as u32))
        };
        let known = self.built_ins.get(&(which as u32)).copied();
        let known =
            known.or_else(|| self.module.types_global_values.iter().find(is_it).and_then(|variable| variable.result_id));
        let variable = known.unwrap_or_else(|| {
            let ty = match components {
                1 => self.uint,
                _ => self.find_type(Op::TypeVector, &[Operand::IdRef(self.uint), Operand::LiteralBit32(components)]),
            };
            let pointer = self.pointer(StorageClass::Input, ty);
            let variable = self.declare(Op::Variable, Some(pointer), vec![Operand::StorageClass(StorageClass::Input)]);
            self.decorate(variable, Decoration::BuiltIn, None);
            if let Some(decoration) = self.module.annotations.last_mut() {
                decoration.operands.push(Operand::BuiltIn(which));
            }
            variable
        });
        self.built_ins.insert(which as u32, variable);
        let listed = &mut self.module.entry_points[0].operands;
        if !listed.contains(&Operand::IdRef(variable)) {
            listed.push(Operand::IdRef(variable));
        }
        variable
    }

    fn load_input(&mut self, variable: Word, code: &mut Vec<Instruction>) -> Word {
        let ty = self.type_of.get(&variable).and_then(|pointer| self.pointee(*pointer)).map_or(self.uint, |(_, ty)| ty);
        self.emit(code, Op::Load, ty, &[variable])
    }

    pub(in crate::shader) fn load_built_in(&mut self, variable: Word, code: &mut Vec<Instruction>) -> Word {
        let value = self.load_input(variable, code);
        self.as_uint(value, code).unwrap_or(value)
    }

    fn load_built_in_vector(&mut self, variable: Word, code: &mut Vec<Instruction>) -> [Word; 3] {
        let vector = self.load_input(variable, code);
        let ty = self.type_of.get(&vector).and_then(|ty| self.types.get(ty)).and_then(|ty| id(ty.operands.first()?));
        std::array::from_fn(|i| {
            let component = self.component(vector, ty.unwrap_or(self.uint), u32::try_from(i).unwrap_or(0), code);
            self.as_uint(component, code).unwrap_or(component)
        })
    }
}

fn store(place: Word, value: Word, code: &mut Vec<Instruction>) {
    code.push(Instruction::new(Op::Store, None, None, ids(&[place, value])));
}

fn branch(to: Word, code: &mut Vec<Instruction>) {
    code.push(Instruction::new(Op::Branch, None, None, ids(&[to])));
}

fn branch_if(condition: Word, yes: Word, no: Word, code: &mut Vec<Instruction>) {
    code.push(Instruction::new(Op::BranchConditional, None, None, ids(&[condition, yes, no])));
}

fn selection_merge(after: Word, code: &mut Vec<Instruction>) {
    let operands = vec![Operand::IdRef(after), Operand::SelectionControl(SelectionControl::NONE)];
    code.push(Instruction::new(Op::SelectionMerge, None, None, operands));
}

fn loop_merge(after: Word, next: Word, code: &mut Vec<Instruction>) {
    let operands = vec![Operand::IdRef(after), Operand::IdRef(next), Operand::LoopControl(LoopControl::NONE)];
    code.push(Instruction::new(Op::LoopMerge, None, None, operands));
}
