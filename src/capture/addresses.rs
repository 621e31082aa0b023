//! Addresses of buffers in what a kernel was given: where they stand, and where they lead.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::contents::{Addressed, Snapshot, Wanted};
use super::modules::values;
use crate::shader::{Access, BlockInfo, BlockPlace, Capability, Pointee, ScalarType, Seen, TypeLayout};

/// Push constants, or a region.
pub type Holder = Option<usize>;

/// The addresses of a snapshot, by where they stand.
#[derive(Debug, Default)]
pub struct Addresses {
    /// To which region each leads, and to which byte of it.
    pub led: BTreeMap<(Holder, u64), (usize, u64)>,
    pub reached: BTreeSet<usize>,
    /// What the kernel may have written.
    pub written: BTreeSet<usize>,
    /// Of regions that the kernel sees as numbers of one type, which.
    pub types: BTreeMap<usize, ScalarType>,
}

impl Addresses {
    /// Makes the addresses in a region zero, in what it held before and after; they mean nothing elsewhere. It fails where the kernel
    /// wrote another one.
    pub fn clear(&self, region: usize, both: &mut [Option<Vec<u8>>; 2]) -> bool {
        let address = |bytes: &Option<Vec<u8>>, at: usize| bytes.as_ref()?.get(at..)?.first_chunk::<8>().copied();
        let is_other = |at: usize| {
            let [before, after] = both.each_ref().map(|bytes| address(bytes, at));
            after.is_some() && before != after
        };
        if self.standing_in(Some(region)).any(is_other) {
            return false;
        }
        both.iter_mut().flatten().for_each(|bytes| self.clear_in(Some(region), bytes));
        true
    }

    /// Makes the addresses zero that stand in there.
    pub(super) fn clear_in(&self, holder: Holder, bytes: &mut [u8]) {
        for at in self.standing_in(holder) {
            bytes.iter_mut().skip(at).take(8).for_each(|byte| *byte = 0);
        }
    }

    fn standing_in(&self, holder: Holder) -> impl Iterator<Item = usize> + '_ {
        self.led.range((holder, 0)..=(holder, u64::MAX)).filter_map(|((_, at), _)| usize::try_from(*at).ok())
    }
}

impl Wanted<'_> {
    fn reaches_by_address(&self) -> bool {
        self.module.reflection.capabilities.contains(&Capability::PhysicalStorageBufferAddresses)
    }

    /// What the layer is told of them.
    pub(super) fn addresses_line(&self, blocks: &[BlockInfo]) -> String {
        let reflection = &self.module.reflection;
        if !self.reaches_by_address() {
            return String::new();
        }
        let (mut pushed, mut given, mut in_memory) = (Vec::new(), BTreeSet::new(), false);
        for block in blocks {
            let ty = TypeLayout::Struct(block.layout.clone());
            match block.place {
                BlockPlace::PushConstants => reflection.addresses_in(&ty, block.layout.bytes, &mut |at, pointee| {
                    pushed.push(at.to_string());
                    given.insert(pointee);
                }),
                _ => in_memory |= reflection.may_hold_addresses(&ty),
            }
        }
        let values = values(&self.kernel.logged.constants);
        let holds_more = |pointee: &Option<Pointee>| {
            reflection.pointees(*pointee, &values).iter().any(|ty| reflection.may_hold_addresses(ty))
        };
        let others = if in_memory || given.iter().any(holds_more) { "all" } else { "" };
        let access = if reflection.writes_by_address() { "w" } else { "" };
        let mut line = String::new();
        // Writing to a string can't fail.
        let _ = writeln!(line, "addresses\t{}\t{others}\t{access}", pushed.join(","));
        line
    }

    /// The addresses that it found, in what `contents` says that regions held.
    ///
    /// # Errors
    /// Why it can't be run elsewhere, in words.
    pub fn addresses(
        &self,
        snapshot: &Snapshot,
        contents: &mut dyn FnMut(usize) -> Option<Vec<u8>>,
    ) -> Result<Addresses, String> {
        let mut new = Addresses::default();
        if !self.reaches_by_address() {
            return Ok(new);
        }
        let (reflection, values) = (&self.module.reflection, values(&self.kernel.logged.constants));
        let blocks = reflection.blocks(&values).map_err(|error| error.to_string())?;
        let mut held: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
        let mut leads = |(holder, at): (Holder, u64), pointee: Option<Pointee>| {
            let bytes = match holder {
                None => &snapshot.push,
                Some(region) => held.entry(region).or_insert_with(|| contents(region).unwrap_or_default()),
            };
            let word = usize::try_from(at).ok().and_then(|at| bytes.get(at..)?.first_chunk().copied());
            let place = holder.map_or("push constants", |_| "memory");
            let address = match word {
                Some(word) => u64::from_le_bytes(word),
                None if holder.is_none() => 0,
                None => return Err("what its addresses lead to wasn't copied; --max-bytes may allow more".to_owned()),
            };
            match (snapshot.target(address), pointee) {
                (Some(target), _) => target.map(|(region, byte)| Some((Some(region), byte))),
                // A number, or a null pointer, which it doesn't follow.
                (None, None) => Ok(None),
                (None, Some(_)) if address == 0 => Ok(None),
                (None, Some(_)) => Err(format!("an address in its {place}, at byte {at}, is that of no known buffer")),
            }
        };
        let ends = |holder: Holder| match holder {
            None => u64::from(reflection.push_bytes),
            Some(region) => snapshot.regions[region].bytes,
        };
        let given = blocks.iter().flat_map(|block| snapshot.seen(block)).collect();
        let led = reflection.follow(&values, given, &ends, &mut leads)?;
        for own in led {
            let (Some(region), byte) = own.to else { continue };
            new.led.insert(own.place, (region, byte));
            new.reached.insert(region);
            if reflection.access_by_address(own.pointee).is_some_and(|access| access != Access::ReadOnly) {
                new.written.insert(region);
            }
            let pointees = reflection.pointees(own.pointee, &values);
            let mut types = pointees.iter().map(of_one_type);
            let first = types.next().flatten();
            let ty = first.filter(|first| types.all(|ty| ty == Some(*first))).unwrap_or(ScalarType::U32);
            new.types.entry(region).and_modify(|known| *known = if *known == ty { ty } else { ScalarType::U32 }).or_insert(ty);
        }
        Ok(new)
    }
}

impl Snapshot {
    /// What a block is at first.
    fn seen(&self, block: &BlockInfo) -> Vec<Seen<Holder>> {
        let ty = || TypeLayout::Struct(block.layout.clone());
        let (BlockPlace::StorageBuffer { set, binding } | BlockPlace::UniformBuffer { set, binding }) = block.place else {
            return vec![Seen { memory: None, start: 0, ty: ty() }];
        };
        let own = self.bound.iter().filter(|bound| (bound.set, bound.binding) == (set, binding));
        let ranges = own.filter_map(|bound| bound.range.as_ref().ok());
        ranges.map(|(region, start, _)| Seen { memory: Some(*region), start: *start, ty: ty() }).collect()
    }

    /// Where an address leads; nothing where that is no buffer.
    fn target(&self, address: u64) -> Option<Result<(usize, u64), String>> {
        let is_within = |of: &&Addressed| address.checked_sub(of.start).is_some_and(|byte| byte < of.bytes);
        let Addressed { start, range, .. } = self.addressed.iter().find(is_within)?;
        let within = range.as_ref().map(|(region, offset, _)| (*region, offset + (address - start)));
        Some(within.map_err(|why| format!("what its addresses lead to can't be taken: {why}")))
    }
}

/// The type of all numbers; nothing where there are several, or none.
fn of_one_type(ty: &TypeLayout) -> Option<ScalarType> {
    match ty {
        TypeLayout::Scalar { scalar } | TypeLayout::Vector { scalar, .. } | TypeLayout::Matrix { scalar, .. } => Some(*scalar),
        TypeLayout::Array { element, .. } | TypeLayout::RuntimeArray { element, .. } => of_one_type(element),
        TypeLayout::Struct(layout) => {
            let mut types = layout.members.iter().map(|member| of_one_type(&member.ty));
            let first = types.next()??;
            types.all(|ty| ty == Some(first)).then_some(first)
        }
        TypeLayout::Pointer { .. } => None,
    }
}
