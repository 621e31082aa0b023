//! Where the addresses of buffers may stand in memory, and what functions do with what they lead to.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;

use rspirv::dr::{Function, Instruction, Module};
use rspirv::spirv::{Op, StorageClass, Word};

use super::blocks::{self, TypeLayout};
use super::types::{POINTER_BYTES as BYTES, TypeNode, Types};
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
    const NONE: Self = Self { reads: false, writes: false };
    const BOTH: Self = Self { reads: true, writes: true };
    const READS: Self = Self { reads: true, writes: false };
    const WRITES: Self = Self { reads: false, writes: true };

    fn add(&mut self, other: Self) {
        *self = Self { reads: self.reads || other.reads, writes: self.writes || other.writes };
    }
}

/// Of a pointer: what it leads to, and what the one leads to that it was made from by indexes.
type Traced = HashMap<Word, (Word, Word)>;

impl ByAddress {
    pub(super) fn of(module: &Module, types: &Types) -> Self {
        let all = || module.functions.iter().flat_map(Function::all_inst_iter);
        let mut pointers = Traced::new();
        all().for_each(|instruction| note(instruction, types, &mut pointers));
        let mut new = Self::default();
        // A pointer into something that goes on as one to a part of it: what is done there is done to the whole.
        let mut parts: BTreeSet<(Word, Word)> = BTreeSet::new();
        for instruction in all() {
            let opcode = instruction.class.opcode;
            let led = |place: usize| pointers.get(&instruction.operands.get(place).and_then(id)?).copied();
            for (place, (own, whole)) in (0..instruction.operands.len()).filter_map(|place| Some((place, led(place)?))) {
                match used(opcode, place) {
                    Some(used) => new.uses.entry(whole).or_default().add(used),
                    None if is_index(opcode) || own == whole => {}
                    None => drop(parts.insert((own, whole))),
                }
            }
            let is_made = instruction.result_type.and_then(|ty| leads_to(ty, types));
            match (opcode, is_made, led(0)) {
                (Op::ConvertUToPtr | Op::Bitcast, Some(made), from) => {
                    new.of_numbers.insert(made);
                    new.are_cast |= from.is_some();
                }
                (Op::ConvertPtrToU | Op::Bitcast, None, Some(_)) => new.are_cast = true,
                _ => {}
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

/// Notes an instruction's result, if it is an address.
fn note(instruction: &Instruction, types: &Types, pointers: &mut Traced) {
    let own = instruction.result_type.and_then(|ty| leads_to(ty, types));
    let (Some(own), Some(result)) = (own, instruction.result_id) else { return };
    let base = instruction.operands.first().and_then(id).and_then(|base| pointers.get(&base));
    let whole = base.filter(|_| is_index(instruction.class.opcode)).map_or(own, |(_, whole)| *whole);
    pointers.insert(result, (own, whole));
}

/// What a pointer type leads to, if its pointers are addresses.
fn leads_to(ty: Word, types: &Types) -> Option<Word> {
    match types.get(ty)? {
        TypeNode::Pointer { class: StorageClass::PhysicalStorageBuffer, pointee } => Some(*pointee),
        _ => None,
    }
}

/// Whether an instruction's result leads to a part of what its first operand leads to.
fn is_index(opcode: Op) -> bool {
    use Op::{AccessChain, CopyObject, InBoundsAccessChain, InBoundsPtrAccessChain, PtrAccessChain};
    matches!(opcode, AccessChain | InBoundsAccessChain | PtrAccessChain | InBoundsPtrAccessChain | CopyObject)
}

/// What an instruction does through an operand that is an address; nothing where that goes on as a value. What isn't known may do
/// anything.
fn used(opcode: Op, place: usize) -> Option<Use> {
    Some(match (opcode, place) {
        (Op::Load | Op::AtomicLoad | Op::CooperativeMatrixLoadKHR | Op::CooperativeMatrixLoadNV, 0) => Use::READS,
        (Op::Store | Op::AtomicStore | Op::CooperativeMatrixStoreKHR | Op::CooperativeMatrixStoreNV, 0) => Use::WRITES,
        (Op::CopyMemory | Op::CopyMemorySized, 0) => Use::WRITES,
        (Op::CopyMemory | Op::CopyMemorySized, 1) => Use::READS,
        (Op::PtrEqual | Op::PtrNotEqual | Op::PtrDiff | Op::ArrayLength, _) => Use::NONE,
        (Op::Store, 1)
        | (
            Op::FunctionCall
            | Op::Phi
            | Op::Select
            | Op::ReturnValue
            | Op::CompositeConstruct
            | Op::CompositeInsert
            | Op::ConvertPtrToU
            | Op::Bitcast,
            _,
        ) => return None,
        (opcode, _) if is_index(opcode) => return None,
        _ => Use::BOTH,
    })
}

/// Places in memory of a type at which addresses may stand, from a byte on: one, or so many times the same.
#[derive(Debug)]
enum Place {
    One(u64, Option<Pointee>),
    Many { at: u64, stride: u64, length: u64, of: Vec<Place> },
}

impl Place {
    fn visit(
        &self,
        from: u64,
        end: u64,
        steps: &mut u64,
        visit: &mut dyn FnMut(u64, Option<Pointee>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Some(left) = steps.checked_sub(1) else { return ControlFlow::Break(()) };
        *steps = left;
        match self {
            Self::One(at, pointee) => {
                let at = from.saturating_add(*at);
                let fits = at.checked_add(BYTES).is_some_and(|behind| behind <= end);
                if fits { visit(at, *pointee) } else { ControlFlow::Continue(()) }
            }
            Self::Many { at, stride, length, of } => {
                let begin = from.saturating_add(*at);
                let mut places = (0..*length).map(|index| begin.saturating_add(index.saturating_mul(*stride)));
                while let Some(place) = places.next().filter(|place| *place < end) {
                    of.iter().try_for_each(|own| own.visit(place, end, steps, visit))?;
                }
                ControlFlow::Continue(())
            }
        }
    }
}

impl Reflection {
    /// The places in memory of this type at which addresses may stand.
    fn places(&self, ty: &TypeLayout, at: u64) -> Vec<Place> {
        let has_numbers = !self.by_address.of_numbers.is_empty();
        let pairs = |count: u32, size: u64| (0..u64::from(count)).map(move |i| Place::One(at + i * size, None)).collect();
        let repeated = |stride: u32, length: u64, element: &TypeLayout| match self.places(element, 0) {
            none if none.is_empty() => none,
            of => vec![Place::Many { at, stride: stride.into(), length, of }],
        };
        match ty {
            TypeLayout::Pointer { pointee, .. } => vec![Place::One(at, Some(*pointee))],
            TypeLayout::Scalar { scalar: ScalarType::U64 | ScalarType::I64 } if has_numbers => pairs(1, BYTES),
            TypeLayout::Vector { scalar: ScalarType::U64 | ScalarType::I64, components } if has_numbers => {
                pairs(*components, BYTES)
            }
            // GLSL makes addresses of pairs of words, too: each two that lie beside each other.
            TypeLayout::Vector { scalar: ScalarType::U32 | ScalarType::I32, components } if has_numbers => {
                pairs(components.saturating_sub(1), 4)
            }
            TypeLayout::Array { stride, length, element } => repeated(*stride, *length, element),
            TypeLayout::RuntimeArray { stride, element } => repeated(*stride, u64::MAX, element),
            TypeLayout::Struct(layout) => {
                let members = layout.members.iter();
                members.flat_map(|member| self.places(&member.ty, at.saturating_add(member.offset.into()))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Calls for each place in memory of this type where an address may stand, up to the byte `end`, until that breaks: with what lies
    /// there, or with nothing of a number, which only may be one. It fails where there are more places than anybody could look at.
    pub fn addresses_in(
        &self,
        ty: &TypeLayout,
        end: u64,
        visit: &mut dyn FnMut(u64, Option<Pointee>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        visit_all(&self.places(ty, 0), 0, end, &mut { MOST_STEPS }, visit)
    }

    /// Whether addresses may stand in memory of this type.
    pub fn may_hold_addresses(&self, ty: &TypeLayout) -> bool {
        !self.places(ty, 0).is_empty()
    }

    /// Whether the shader makes addresses of numbers.
    pub fn makes_addresses(&self) -> bool {
        !self.by_address.of_numbers.is_empty()
    }

    /// How what may lie at an address is laid out.
    pub fn pointees(&self, pointee: Option<Pointee>, values: &SpecValues) -> Vec<TypeLayout> {
        let evaluated = self.constants.evaluate(&self.types, values);
        let possible = self.by_address.possible(pointee).into_iter();
        possible.filter_map(|ty| blocks::layout_of(ty, &self.types, &evaluated)).collect()
    }

    pub fn writes_by_address(&self) -> bool {
        self.by_address.uses.values().any(|used| used.writes)
    }

    /// What functions do with what lies at an address; nothing where they don't go there.
    pub fn access_by_address(&self, pointee: Option<Pointee>) -> Option<Access> {
        let mut used = Use::NONE;
        let all = self.by_address.possible(pointee);
        all.iter().filter_map(|ty| self.by_address.uses.get(ty)).for_each(|own| used.add(*own));
        match used {
            Use::BOTH => Some(Access::ReadWrite),
            Use::READS => Some(Access::ReadOnly),
            Use::WRITES => Some(Access::WriteOnly),
            Use::NONE => None,
        }
    }
}

fn visit_all(
    places: &[Place],
    start: u64,
    end: u64,
    steps: &mut u64,
    visit: &mut dyn FnMut(u64, Option<Pointee>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    places.iter().try_for_each(|place| place.visit(start, end, steps, visit))
}

/// Memory that a kernel takes for this type, from the byte `start` on and up to `end`.
#[derive(Clone, Debug)]
pub struct Seen<M> {
    pub memory: M,
    pub start: u64,
    pub end: u64,
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

/// Addresses that are followed: a list of nodes that lead to each other may go on for long.
const MOST_FOLLOWED: usize = 1 << 20;
/// Places that are looked at for them: as many numbers as memory of 2 GiB has.
const MOST_STEPS: u64 = 1 << 28;

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
        let given = given.into_iter().map(|seen| (seen.memory, seen.start, seen.end, Arc::new(self.places(&seen.ty, 0))));
        let (mut open, mut found): (Vec<_>, Vec<Led<M>>) = (given.collect(), Vec::new());
        let mut known: BTreeSet<(M, u64, Option<Pointee>)> = BTreeSet::new();
        let mut layouts: BTreeMap<Option<Pointee>, Vec<Arc<Vec<Place>>>> = BTreeMap::new();
        let (mut steps, mut failure) = (MOST_STEPS, None);
        while let Some((memory, start, end, places)) = open.pop() {
            let first = found.len();
            let mut visit = |at: u64, pointee: Option<Pointee>| {
                match leads((memory, at), pointee) {
                    Ok(to) => found.extend(to.map(|to| Led { place: (memory, at), pointee, to })),
                    Err(why) => failure = Some(why),
                }
                if failure.is_some() || found.len() > MOST_FOLLOWED {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            };
            if visit_all(&places, start, end, &mut steps, &mut visit).is_break() {
                return Err(failure.unwrap_or_else(|| "it may find addresses at too many places to follow them all".to_owned()));
            }
            for Led { pointee, to, .. } in &found[first..] {
                if known.insert((to.0, to.1, *pointee)) {
                    let of = |ty: &TypeLayout| Arc::new(self.places(ty, 0));
                    let layouts =
                        layouts.entry(*pointee).or_insert_with(|| self.pointees(*pointee, values).iter().map(of).collect());
                    open.extend(layouts.iter().map(|places| (to.0, to.1, ends(to.0), Arc::clone(places))));
                }
            }
        }
        Ok(found)
    }
}
