//! Addresses of buffers in what a kernel was given: where they stand, and where they lead.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::ops::ControlFlow;

use super::contents::{Addressed, Snapshot, Wanted};
use super::modules::values;
use crate::model::Address;
use crate::shader::{Access, BlockInfo, BlockPlace, Capability, Led, Pointee, ScalarType, Seen, TypeLayout};

/// More push constants than any device has, in bytes.
const MOST_PUSHED: u64 = 1 << 16;

/// How near an address may be to a buffer that somebody counts from it, in bytes.
const NEAR: u64 = 1 << 32;

/// Push constants, or a region.
pub type Holder = Option<usize>;

/// The addresses of a snapshot, by where they stand.
#[derive(Debug, Default)]
pub struct Addresses {
    /// To which region each leads, and to which byte of it.
    pub led: BTreeMap<(Holder, u64), (usize, u64)>,
    /// What the kernel may have written.
    pub written: BTreeSet<usize>,
    /// Of regions that the kernel sees as numbers of one type, which.
    pub types: BTreeMap<usize, ScalarType>,
}

impl Addresses {
    /// Makes the addresses zero that stand in there: they mean nothing elsewhere.
    pub fn clear(&self, holder: Holder, bytes: &mut [u8]) {
        for at in self.standing_in(holder) {
            bytes.iter_mut().skip(at).take(Address::BYTES).for_each(|byte| *byte = 0);
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
            if block.place != BlockPlace::PushConstants {
                in_memory |= reflection.may_hold_addresses(&ty);
                continue;
            }
            // No device has more push constants.
            let end = block.layout.bytes.min(MOST_PUSHED);
            let _ = reflection.addresses_in(&ty, end, &mut |at, pointee| {
                pushed.push(at.to_string());
                given.insert(pointee);
                ControlFlow::Continue(())
            });
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

    /// The addresses that it found, in what `contents` says that regions held before and after.
    ///
    /// # Errors
    /// Why it can't be run elsewhere, in words.
    pub fn addresses(
        &self,
        snapshot: &Snapshot,
        contents: &mut dyn FnMut(usize, &str) -> Option<Vec<u8>>,
    ) -> Result<Addresses, String> {
        let mut new = Addresses::default();
        if !self.reaches_by_address() {
            return Ok(new);
        }
        let found = self.followed(snapshot, &mut |region| contents(region, "before"))?;
        let places = |led: &[Led<Holder>]| led.iter().map(|led| (led.place, led.to)).collect::<BTreeMap<_, _>>();
        let mut after = |region: usize| match snapshot.regions[region].has_after {
            true => contents(region, "after"),
            false => contents(region, "before"),
        };
        if self.module.reflection.writes_by_address() && places(&self.followed(snapshot, &mut after)?) != places(&found) {
            return Err("it writes addresses, which are others elsewhere".to_owned());
        }
        let (reflection, values) = (&self.module.reflection, values(&self.kernel.logged.constants));
        let mut types: BTreeMap<Option<Pointee>, ScalarType> = BTreeMap::new();
        for own in found {
            let (Some(region), byte) = own.to else { continue };
            new.led.insert(own.place, (region, byte));
            if reflection.access_by_address(own.pointee).is_some_and(|access| access != Access::ReadOnly) {
                new.written.insert(region);
            }
            let ty = *types.entry(own.pointee).or_insert_with(|| {
                let pointees = reflection.pointees(own.pointee, &values);
                let mut types = pointees.iter().map(of_one_type);
                let first = types.next().flatten();
                first.filter(|first| types.all(|ty| ty == Some(*first))).unwrap_or(ScalarType::U32)
            });
            // Memory is of whole numbers of its type.
            let fits = snapshot.regions[region].bytes % ty.bytes() == 0;
            let ty = if fits { ty } else { ScalarType::U32 };
            new.types.entry(region).and_modify(|known| *known = if *known == ty { ty } else { ScalarType::U32 }).or_insert(ty);
        }
        self.check_pushed(snapshot, &new)?;
        Ok(new)
    }

    fn followed(
        &self,
        snapshot: &Snapshot,
        contents: &mut dyn FnMut(usize) -> Option<Vec<u8>>,
    ) -> Result<Vec<Led<Holder>>, String> {
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
        reflection.follow(&values, given, &ends, &mut leads)
    }

    /// Whoever makes addresses of numbers may put them together from any words of the push constants, or go on from one that lies beside
    /// a buffer: such a number must not reach another device.
    fn check_pushed(&self, snapshot: &Snapshot, addresses: &Addresses) -> Result<(), String> {
        if !self.module.reflection.makes_addresses() {
            return Ok(());
        }
        let known: BTreeSet<usize> = addresses.standing_in(None).flat_map(|at| [at - at.min(4), at, at + 4]).collect();
        let words = snapshot.push.windows(8).enumerate().step_by(4).filter(|(at, _)| !known.contains(at));
        for (at, word) in words {
            let number = word.try_into().map_or(0, u64::from_le_bytes);
            let is_near = |of: &Addressed| {
                let (begin, end) = (of.start.saturating_sub(NEAR), of.start.saturating_add(of.bytes).saturating_add(NEAR));
                number > u64::from(u32::MAX) && (begin..end).contains(&number)
            };
            if snapshot.addressed.iter().any(is_near) {
                return Err(format!(
                    "the number in its push constants at byte {at} may be an address, and is that of no known buffer"
                ));
            }
        }
        Ok(())
    }
}

impl Snapshot {
    /// What a block is at first.
    fn seen(&self, block: &BlockInfo) -> Vec<Seen<Holder>> {
        let ty = || TypeLayout::Struct(block.layout.clone());
        let (BlockPlace::StorageBuffer { set, binding } | BlockPlace::UniformBuffer { set, binding }) = block.place else {
            return vec![Seen { memory: None, start: 0, end: self.push.len() as u64, ty: ty() }];
        };
        let own = self.bound.iter().filter(|bound| (bound.set, bound.binding) == (set, binding));
        let ranges = own.filter_map(|bound| bound.range.as_ref().ok());
        let seen = |(region, start, bytes): &(usize, u64, u64)| Seen {
            memory: Some(*region),
            start: *start,
            end: start.saturating_add(*bytes),
            ty: ty(),
        };
        ranges.map(seen).collect()
    }

    /// Where an address leads; nothing where that is no buffer. Of several that lie in the same memory, one that was copied.
    fn target(&self, address: u64) -> Option<Result<(usize, u64), String>> {
        let is_within = |of: &&Addressed| address.checked_sub(of.start).is_some_and(|byte| byte < of.bytes);
        let all = || self.addressed.iter().filter(is_within);
        let Addressed { start, range, .. } = all().find(|of| of.range.is_ok()).or_else(|| all().next())?;
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

#[cfg(test)]
mod tests {
    use super::super::contents::Region;
    use super::*;
    use crate::capture::Kernel;
    use crate::model::{MemoryKind, SpirvTarget};
    use crate::shader::{Compiler, Library};

    /// A list of nodes, which a kernel follows and goes on with; it makes addresses of numbers as well.
    const LIST: &str = "#version 450
        #extension GL_EXT_buffer_reference : require
        #extension GL_EXT_buffer_reference_uvec2 : require
        layout(local_size_x = 1) in;
        layout(buffer_reference) buffer Node;
        layout(buffer_reference, std430) buffer Node { uint value; Node next; };
        layout(buffer_reference, std430) buffer Sum { float sum; };
        layout(push_constant) uniform Push { Node first; uvec2 sum; uint low; uint high; };
        void main() { first.next.value = first.value; Sum(sum).sum = 1; }";

    /// Where the only buffer begins: it has 64 bytes, and lies behind 16 others of its region.
    const START: u64 = 0x7000_0000_0000;

    fn bytes(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// What is found of these push constants, in memory that holds these words before and after.
    fn found(push: &[u64], before: &[u64], after: &[u64]) -> Result<Addresses, String> {
        let mut compiler = Compiler::new(Library::embedded().with("list.comp", LIST.to_owned())).unwrap();
        let module = compiler.compile("list.comp", &[], SpirvTarget::Vulkan1_2).unwrap();
        let kernel = Kernel::default();
        let wanted = Wanted { kernel: &kernel, call: 0, module, share: None };
        let region = Region { bytes: 80, has_before: true, has_after: true, place: MemoryKind::DeviceLocal };
        let addressed = vec![Addressed { start: START, bytes: 64, range: Ok((0, 16, 64)) }];
        let snapshot = Snapshot { push: bytes(push), addressed, regions: vec![region], ..Snapshot::default() };
        wanted.addresses(&snapshot, &mut |_, when| {
            let words = if when == "before" { before } else { after };
            Some([vec![0; 16], bytes(words), vec![0; 64]].concat()[..80].to_vec())
        })
    }

    #[test]
    fn addresses_are_followed_from_push_constants_through_memory() {
        let list = [7, START + 16, 7, 0];
        let found = found(&[START, START + 32, 0], &list, &list).unwrap();
        let led: Vec<_> = found.led.iter().map(|(place, to)| (*place, *to)).collect();
        assert_eq!(led, [((None, 0), (0, 16)), ((None, 8), (0, 48)), ((Some(0), 24), (0, 32))]);
        assert_eq!(found.written, BTreeSet::from([0]));
        assert_eq!(found.types[&0], ScalarType::U32, "it is of several types");
        let mut memory = [vec![0; 16], bytes(&list)].concat();
        found.clear(Some(0), &mut memory);
        assert_eq!(memory, [vec![0; 16], bytes(&[7, 0, 7, 0])].concat());
    }

    #[test]
    fn null_pointers_and_numbers_lead_nowhere() {
        let found = found(&[0, 5, 0x0000_0003_0000_0001], &[], &[]).unwrap();
        assert!(found.led.is_empty());
    }

    #[test]
    fn addresses_that_would_lead_anywhere_are_refused() {
        let list = [7, 0, 7, 0];
        for (push, before, after, part) in [
            ([START + 64, 0, 0], list, list, "an address in its push constants, at byte 0, is that of no known buffer"),
            ([START, 0, 0], [7, 99, 0, 0], list, "an address in its memory, at byte 24, is that of no known buffer"),
            ([START, 0, 0], list, [7, START + 16, 7, 0], "it writes addresses"),
            ([START, START + 64, 0], list, list, "the number in its push constants at byte 8 may be an address"),
            ([START, 0, START], list, list, "the number in its push constants at byte 16 may be an address"),
        ] {
            let why = found(&push, &before, &after).unwrap_err();
            assert!(why.contains(part), "{why}");
        }
    }
}
