//! Where the addresses of buffers may stand in memory, and what functions do with what they lead to.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rspirv::dr::{Function, Module};
use rspirv::spirv::{Op, StorageClass, Word};

use super::blocks::{self, TypeLayout};
use super::types::{TypeNode, Types};
use super::{Access, Reflection, ScalarType, SpecValues};
use crate::shader::loader::id;

/// What lies at an address, as the shader sees it: the type of the module's that its pointers lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pointee(pub(super) Word);

/// What functions do at addresses, by what they take to lie there.
#[derive(Clone, Debug, Default)]
pub(super) struct ByAddress {
    uses: BTreeMap<Word, Use>,
    /// What is taken to lie at addresses that are made of numbers.
    of_numbers: BTreeSet<Word>,
    /// Whether pointers become numbers, or pointers to something else: they may be any of the above, then.
    are_cast: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Use {
    reads: bool,
    writes: bool,
}

impl Use {
    const BOTH: Self = Self { reads: true, writes: true };
    const READS: Self = Self { reads: true, writes: false };
    const WRITES: Self = Self { reads: false, writes: true };

    fn add(&mut self, other: Self) {
        *self = Self { reads: self.reads || other.reads, writes: self.writes || other.writes };
    }
}

impl ByAddress {
    pub(super) fn of(module: &Module, types: &Types) -> Self {
        let mut new = Self::default();
        // What each pointer leads to, and what the one leads to that it was made from by indexes.
        let mut pointers: HashMap<Word, (Word, Word)> = HashMap::new();
        // A pointer into something that goes on as one to a part of it: what is done there is done to the whole.
        let mut parts: BTreeSet<(Word, Word)> = BTreeSet::new();
        for instruction in module.functions.iter().flat_map(Function::all_inst_iter) {
            let led = |place: usize| pointers.get(&instruction.operands.get(place).and_then(id)?).copied();
            let opcode = instruction.class.opcode;
            let is_index = matches!(
                opcode,
                Op::AccessChain | Op::InBoundsAccessChain | Op::PtrAccessChain | Op::InBoundsPtrAccessChain | Op::CopyObject
            );
            for (place, used) in uses(opcode) {
                if let Some((_, whole)) = led(*place) {
                    new.uses.entry(whole).or_default().add(*used);
                }
            }
            let is_accessed = |place: usize| uses(opcode).iter().any(|(at, _)| *at == place);
            if !is_index {
                let passed = (0..instruction.operands.len()).filter(|place| !is_accessed(*place)).filter_map(led);
                parts.extend(passed.filter(|(own, whole)| own != whole));
            }
            let own = instruction.result_type.and_then(|ty| leads_to(ty, types));
            if matches!(opcode, Op::ConvertPtrToU) || (opcode == Op::Bitcast && led(0).is_some()) {
                new.are_cast = true;
            }
            if let (Some(own), Some(result)) = (own, instruction.result_id) {
                if matches!(opcode, Op::ConvertUToPtr | Op::Bitcast) {
                    new.of_numbers.insert(own);
                }
                let whole = led(0).filter(|_| is_index).map_or(own, |(_, whole)| whole);
                pointers.insert(result, (own, whole));
            }
        }
        new.spread(&parts);
        new
    }

    /// Adds what is done to parts to what they are parts of, until that changes nothing.
    fn spread(&mut self, parts: &BTreeSet<(Word, Word)>) {
        loop {
            let before = self.uses.clone();
            for (part, whole) in parts {
                let used = self.uses.get(part).copied().unwrap_or_default();
                self.uses.entry(*whole).or_default().add(used);
            }
            if self.uses == before {
                return;
            }
        }
    }

    /// What may be taken to lie there.
    fn possible(&self, pointee: Option<Pointee>) -> BTreeSet<Word> {
        let of_numbers = || self.of_numbers.iter().copied();
        match pointee {
            Some(Pointee(own)) if self.are_cast => of_numbers().chain([own]).collect(),
            Some(Pointee(own)) => BTreeSet::from([own]),
            None => of_numbers().collect(),
        }
    }
}

/// What a pointer type leads to, if its pointers are addresses.
fn leads_to(ty: Word, types: &Types) -> Option<Word> {
    match types.get(ty)? {
        TypeNode::Pointer { class: StorageClass::PhysicalStorageBuffer, pointee } => Some(*pointee),
        _ => None,
    }
}

/// The operands through which an instruction reads or writes memory.
fn uses(opcode: Op) -> &'static [(usize, Use)] {
    match opcode {
        Op::Load | Op::AtomicLoad | Op::CooperativeMatrixLoadKHR | Op::CooperativeMatrixLoadNV => &[(0, Use::READS)],
        Op::Store | Op::AtomicStore | Op::CooperativeMatrixStoreKHR | Op::CooperativeMatrixStoreNV => &[(0, Use::WRITES)],
        Op::CopyMemory | Op::CopyMemorySized => &[(0, Use::WRITES), (1, Use::READS)],
        Op::AtomicExchange
        | Op::AtomicCompareExchange
        | Op::AtomicCompareExchangeWeak
        | Op::AtomicIIncrement
        | Op::AtomicIDecrement
        | Op::AtomicIAdd
        | Op::AtomicISub
        | Op::AtomicSMin
        | Op::AtomicUMin
        | Op::AtomicSMax
        | Op::AtomicUMax
        | Op::AtomicAnd
        | Op::AtomicOr
        | Op::AtomicXor
        | Op::AtomicFAddEXT
        | Op::AtomicFMinEXT
        | Op::AtomicFMaxEXT => &[(0, Use::BOTH)],
        _ => &[],
    }
}

impl Reflection {
    /// Calls for each place in memory of this type where an address may stand, up to the byte `end`: with what lies there, or with
    /// nothing of a number, which only may be one.
    pub fn addresses_in(&self, ty: &TypeLayout, end: u64, visit: &mut dyn FnMut(u64, Option<Pointee>)) {
        let has_numbers = !self.by_address.of_numbers.is_empty();
        if self.may_hold(ty, has_numbers) {
            self.visit(ty, 0, end, has_numbers, visit);
        }
    }

    /// Whether addresses may stand in memory of this type.
    pub fn may_hold_addresses(&self, ty: &TypeLayout) -> bool {
        self.may_hold(ty, !self.by_address.of_numbers.is_empty())
    }

    fn may_hold(&self, ty: &TypeLayout, has_numbers: bool) -> bool {
        match ty {
            TypeLayout::Pointer { .. } => true,
            TypeLayout::Scalar { scalar } => has_numbers && matches!(scalar, ScalarType::U64 | ScalarType::I64),
            // GLSL makes addresses of pairs of words, too.
            TypeLayout::Vector { scalar, components } => has_numbers && (*scalar, *components) == (ScalarType::U32, 2),
            TypeLayout::Array { element, .. } | TypeLayout::RuntimeArray { element, .. } => self.may_hold(element, has_numbers),
            TypeLayout::Struct(layout) => layout.members.iter().any(|member| self.may_hold(&member.ty, has_numbers)),
            TypeLayout::Matrix { .. } => false,
        }
    }

    fn visit(&self, ty: &TypeLayout, at: u64, end: u64, has_numbers: bool, visit: &mut dyn FnMut(u64, Option<Pointee>)) {
        let (stride, length, element) = match ty {
            TypeLayout::Struct(layout) => {
                for member in layout.members.iter().filter(|member| self.may_hold(&member.ty, has_numbers)) {
                    self.visit(&member.ty, at.saturating_add(member.offset.into()), end, has_numbers, visit);
                }
                return;
            }
            TypeLayout::Array { stride, length, element } => (*stride, *length, element),
            TypeLayout::RuntimeArray { stride, element } => (*stride, u64::MAX, element),
            TypeLayout::Pointer { pointee, .. } => return visit_one(at, end, Some(*pointee), visit),
            _ => return visit_one(at, end, None, visit),
        };
        let places = (0..length).map(|index| at.saturating_add(index.saturating_mul(stride.max(1).into())));
        for place in places.take_while(|place| *place < end) {
            self.visit(element, place, end, has_numbers, visit);
        }
    }

    /// How what may lie at an address is laid out.
    pub fn pointees(&self, pointee: Option<Pointee>, values: &SpecValues) -> Vec<TypeLayout> {
        let evaluated = self.constants.evaluate(&self.types, values);
        self.by_address.possible(pointee).into_iter().filter_map(|ty| blocks::layout_of(ty, &self.types, &evaluated)).collect()
    }

    pub fn writes_by_address(&self) -> bool {
        self.by_address.uses.values().any(|used| used.writes)
    }

    /// What functions do with what lies at an address; nothing where they don't go there.
    pub fn access_by_address(&self, pointee: Option<Pointee>) -> Option<Access> {
        let mut used = Use::default();
        let all = self.by_address.possible(pointee);
        all.iter().filter_map(|ty| self.by_address.uses.get(ty)).for_each(|own| used.add(*own));
        match used {
            Use { reads: true, writes: true } => Some(Access::ReadWrite),
            Use { reads: true, writes: false } => Some(Access::ReadOnly),
            Use { reads: false, writes: true } => Some(Access::WriteOnly),
            Use { reads: false, writes: false } => None,
        }
    }
}

/// Memory that a kernel takes for this type, from the byte `start` on.
#[derive(Clone, Debug)]
pub struct Seen<M> {
    pub memory: M,
    pub start: u64,
    pub ty: TypeLayout,
}

/// An address, where it stands and where it leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Led<M> {
    pub place: (M, u64),
    pub pointee: Option<Pointee>,
    pub to: (M, u64),
}

/// Where the address at a place leads, if anywhere.
pub type Leads<'l, M> = dyn FnMut((M, u64), Option<Pointee>) -> Result<Option<(M, u64)>, String> + 'l;

/// Places that are looked at: a list of nodes that lead to each other may go on for long.
const MOST_FOLLOWED: usize = 1 << 20;

impl Reflection {
    /// The addresses that can be reached from what a kernel is given. `ends` says how many bytes memory has.
    ///
    /// # Errors
    /// What `leads` fails with, or that there are too many.
    pub fn follow<M: Copy + Ord>(
        &self,
        values: &SpecValues,
        given: Vec<Seen<M>>,
        ends: &dyn Fn(M) -> u64,
        leads: &mut Leads<'_, M>,
    ) -> Result<Vec<Led<M>>, String> {
        let (mut open, mut found, mut looked_at) = (given, Vec::new(), 0);
        let mut known: BTreeSet<(M, u64, Option<Pointee>)> = BTreeSet::new();
        let mut layouts: BTreeMap<Option<Pointee>, Vec<TypeLayout>> = BTreeMap::new();
        while let Some(Seen { memory, start, ty }) = open.pop() {
            let mut places = Vec::new();
            let bytes = ends(memory).saturating_sub(start);
            self.addresses_in(&ty, bytes, &mut |at, pointee| places.push((start + at, pointee)));
            looked_at += places.len();
            if looked_at > MOST_FOLLOWED {
                return Err(format!("it may follow more than {MOST_FOLLOWED} addresses"));
            }
            for (at, pointee) in places {
                let Some(to) = leads((memory, at), pointee)? else { continue };
                found.push(Led { place: (memory, at), pointee, to });
                if known.insert((to.0, to.1, pointee)) {
                    let layouts = layouts.entry(pointee).or_insert_with(|| self.pointees(pointee, values));
                    open.extend(layouts.iter().map(|ty| Seen { memory: to.0, start: to.1, ty: ty.clone() }));
                }
            }
        }
        Ok(found)
    }
}

fn visit_one(at: u64, end: u64, pointee: Option<Pointee>, visit: &mut dyn FnMut(u64, Option<Pointee>)) {
    if at.checked_add(8).is_some_and(|behind| behind <= end) {
        visit(at, pointee);
    }
}
