//! Addresses of buffers that a kernel finds in push constants and in memory: which resources they lead to, and what it does there.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use super::kernel::said;
use super::members::{self, MemberBlock};
use super::resources::{Bound, World};
use super::spec::AddressSpec;
use crate::model::{Address, Failure, HeldAddress, ResourceKind};
use crate::shader::{Access, BlockInfo, BlockPlace, Capability, Led, Pointee, Seen, TypeLayout};

/// Push constants, or a resource of the case by its index.
type Holder = Option<usize>;

/// Where all addresses stand, and where they lead.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    /// By the byte of the push constants.
    pub(super) pushed: BTreeMap<u32, Address>,
    pub(super) held: Vec<HeldAddress>,
    /// What kernels do with resources by addresses.
    pub(super) accesses: BTreeMap<usize, Access>,
}

impl Addresses {
    /// What is said of all of them. The memory that they lead to is among the bound resources from then on.
    pub(super) fn of(world: &World<'_>, bound: &mut Bound) -> Result<Self, Failure> {
        let mut leads: BTreeMap<(Holder, u64), Address> = BTreeMap::new();
        for spec in &world.subject.addresses {
            let (resource, bytes) = bound.memory(&spec.memory, world)?;
            let what = format!("where the address `{}` leads", spec.place);
            let byte = spec.offset.as_ref().map_or(Ok(0), |text| world.variables.integer(text, &what))?;
            if byte >= bytes {
                let AddressSpec { place, memory, .. } = spec;
                return Err(said(format!(
                    "the address `{place}` leads to byte {byte} of memory `{memory}`, which has {bytes}"
                )));
            }
            // The last one wins: the command line's stand behind the manifest's.
            leads.insert(place(&spec.place, world, bound)?, Address { resource, byte });
        }
        check_apart(&leads)?;
        check_blocks(world, bound, &leads)?;
        if leads.is_empty() {
            return Ok(Self::default());
        }
        let mut pointees: BTreeMap<(Holder, u64), BTreeSet<Option<Pointee>>> = BTreeMap::new();
        for led in followed(world, bound, &leads)? {
            pointees.entry(led.place).or_default().insert(led.pointee);
        }
        let mut new = Self::default();
        for (place, address) in leads {
            let access = match pointees.get(&place) {
                // What no type says is an address may be taken for any.
                None => Some(Access::ReadWrite),
                Some(all) => all.iter().filter_map(|pointee| world.reflection.access_by_address(*pointee)).reduce(both),
            };
            if let Some(access) = access {
                let known = new.accesses.get(&address.resource).copied();
                new.accesses.insert(address.resource, known.map_or(access, |known| both(known, access)));
            }
            match place {
                (None, at) => drop(new.pushed.insert(u32::try_from(at).unwrap_or(u32::MAX), address)),
                (Some(holder), at) => new.held.push(HeldAddress { holder, at, address }),
            }
        }
        Ok(new)
    }
}

/// Two addresses must not overlap: one of them would be torn.
fn check_apart(leads: &BTreeMap<(Holder, u64), Address>) -> Result<(), Failure> {
    let pairs = leads.keys().zip(leads.keys().skip(1));
    match pairs.into_iter().find(|((one, at), (other, next))| one == other && next - at < Address::BYTES as u64) {
        Some(((_, at), (_, next))) => Err(said(format!("the addresses at byte {at} and at byte {next} of one place overlap"))),
        None => Ok(()),
    }
}

/// What a buffer that the user doesn't fill holds is no address: of those that stand in one, some must be said.
fn check_blocks(world: &World<'_>, bound: &Bound, leads: &BTreeMap<(Holder, u64), Address>) -> Result<(), Failure> {
    for block in world.blocks {
        let (BlockPlace::StorageBuffer { set, binding } | BlockPlace::UniformBuffer { set, binding }) = block.place else {
            continue;
        };
        for (resource, start, end) in bound.places(set, binding) {
            let is_said = leads.range((Some(resource), 0)..=(Some(resource), u64::MAX)).next().is_some();
            if is_said || bound.is_filled(resource, world) {
                continue;
            }
            let mut first = None;
            let ty = TypeLayout::Struct(block.layout.clone());
            let _ = world.reflection.addresses_in(&ty, end - start, &mut |at, pointee| {
                first = pointee.map(|_| at);
                if first.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            if let Some(at) = first {
                let place = format!("{set}:{binding}@{at}");
                return Err(said(format!("`{place}` is the address of a buffer: {}", how(&place))));
            }
        }
    }
    Ok(())
}

fn how(place: &str) -> String {
    format!("--address {place}=@MEMORY says to which memory, and --memory MEMORY=TYPE[COUNT]:FILL what that holds")
}

fn both(one: Access, other: Access) -> Access {
    if one == other { one } else { Access::ReadWrite }
}

/// All addresses that the kernel may come to, as far as types tell.
fn followed(world: &World<'_>, bound: &Bound, leads: &BTreeMap<(Holder, u64), Address>) -> Result<Vec<Led<Holder>>, Failure> {
    let last = |memory: Holder| {
        leads.range((memory, 0)..=(memory, u64::MAX)).next_back().map(|((_, at), _)| at + Address::BYTES as u64)
    };
    let seen = |block: &BlockInfo| {
        let places = match block.place {
            BlockPlace::PushConstants => vec![(None, 0, block.layout.bytes)],
            BlockPlace::StorageBuffer { set, binding } | BlockPlace::UniformBuffer { set, binding } => {
                bound.places(set, binding).map(|(resource, start, end)| (Some(resource), start, end)).collect()
            }
        };
        // Behind the last one that is said there is none.
        let of = |(memory, start, end): (Holder, u64, u64)| {
            let end = end.min(last(memory)?);
            Some(Seen { memory, start, end, ty: TypeLayout::Struct(block.layout.clone()) })
        };
        places.into_iter().filter_map(of).collect::<Vec<_>>()
    };
    let ends = |memory: Holder| last(memory).unwrap_or(0);
    let mut leads_to = |place: (Holder, u64), _: Option<Pointee>| {
        Ok(leads.get(&place).map(|Address { resource, byte }| (Some(*resource), *byte)))
    };
    world.reflection.follow(world.values, world.blocks.iter().flat_map(seen).collect(), &ends, &mut leads_to).map_err(said)
}

/// Where a text says that an address stands.
fn place(text: &str, world: &World<'_>, bound: &mut Bound) -> Result<(Holder, u64), Failure> {
    let at_byte = text.rsplit_once('@').and_then(|(of, at)| Some((of, at.parse::<u64>().ok()?)));
    let is_memory = |name: &str| world.subject.memories.iter().any(|memory| memory.place == name);
    let (holder, at) = match at_byte {
        Some((name, at)) if is_memory(name) => (Some(bound.memory(name, world)?.0), at),
        _ => in_blocks(text, at_byte, world, bound)?,
    };
    let bytes = holder.map(|holder| bound.bytes(holder));
    let has_room = bytes.is_none_or(|bytes| at.checked_add(Address::BYTES as u64).is_some_and(|end| end <= bytes));
    if !has_room || at % 4 != 0 {
        return Err(said(format!("no address fits at `{text}`: it has 8 bytes, and begins at a multiple of 4")));
    }
    Ok((holder, at))
}

fn in_blocks(text: &str, at_byte: Option<(&str, u64)>, world: &World<'_>, bound: &Bound) -> Result<(Holder, u64), Failure> {
    let mut found: Vec<((Holder, u64), String)> = Vec::new();
    for block in world.blocks {
        let members = MemberBlock {
            layout: &block.layout,
            name: &block.name,
            place: block.place,
            bytes: block.layout.bytes,
            reads: Vec::new(),
        };
        let by_byte = || at_byte.filter(|(of, _)| members.is_called(of)).map(|(_, at)| at);
        let Some(at) = members::address_in(&members, text, world.reflection).or_else(by_byte) else { continue };
        let place = match block.place {
            BlockPlace::PushConstants => Some((None, at)),
            BlockPlace::StorageBuffer { set, binding } | BlockPlace::UniformBuffer { set, binding } => {
                bound.places(set, binding).next().map(|(resource, start, _)| (Some(resource), start + at))
            }
        };
        found.extend(place.map(|place| (place, members.by_offset(at))));
    }
    // One buffer may be declared several times, and its members mean the same.
    found.dedup_by_key(|(place, _)| *place);
    match &found[..] {
        [(place, _)] => Ok(*place),
        [] => {
            let all: Vec<String> = world.blocks.iter().flat_map(|block| pointers(world, block)).collect();
            let known = if all.is_empty() { String::new() } else { format!("; these do: {}", all.join(", ")) };
            Err(said(format!("`{text}` holds no address{known} (@8 is what begins at byte 8)")))
        }
        several => {
            let places: Vec<&str> = several.iter().map(|(_, place)| place.as_str()).collect();
            Err(said(format!("`{text}` is the name of several members; say which one is meant: {}", places.join(", "))))
        }
    }
}

/// How the first addresses in a block are said.
fn pointers(world: &World<'_>, block: &BlockInfo) -> Vec<String> {
    let mut all = Vec::new();
    let place = |at: u64| match block.place {
        BlockPlace::PushConstants => format!("@{at}"),
        BlockPlace::StorageBuffer { set, binding } | BlockPlace::UniformBuffer { set, binding } => {
            format!("{set}:{binding}@{at}")
        }
    };
    // A runtime array has one element at least.
    let end = block.layout.bytes.saturating_add(block.runtime_stride().unwrap_or(0).into());
    let ty = TypeLayout::Struct(block.layout.clone());
    let _ = world.reflection.addresses_in(&ty, end, &mut |at, pointee| {
        let named = block.layout.members.iter().find(|member| u64::from(member.offset) == at && !member.name.is_empty());
        let named = named.filter(|member| matches!(member.ty, TypeLayout::Pointer { .. })).map(|member| member.name.clone());
        all.extend(pointee.map(|_| named.unwrap_or_else(|| place(at))));
        if all.len() < MOST_NAMED { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    all
}

/// Addresses that a message names.
const MOST_NAMED: usize = 8;

/// Whether all addresses are said that a kernel finds in push constants. Those in memory may be null, and so may numbers.
pub(super) fn check(world: &World<'_>, addresses: &Addresses) -> Result<(), Failure> {
    let World { subject, blocks, reflection, .. } = world;
    // A null pointer is one that the kernel doesn't follow.
    let is_null = |at: u64| {
        let bytes = subject.push_bytes.as_ref();
        bytes.is_some_and(|bytes| {
            bytes.iter().skip(usize::try_from(at).unwrap_or(usize::MAX)).take(Address::BYTES).all(|byte| *byte == 0)
        })
    };
    let mut missing = None;
    for block in blocks.iter().filter(|block| block.place == BlockPlace::PushConstants) {
        let ty = TypeLayout::Struct(block.layout.clone());
        let _ = reflection.addresses_in(&ty, block.layout.bytes, &mut |at, pointee| {
            let is_said = u32::try_from(at).is_ok_and(|at| addresses.pushed.contains_key(&at));
            if pointee.is_none() || is_said || is_null(at) {
                return ControlFlow::Continue(());
            }
            let named = block.layout.members.iter().find(|member| u64::from(member.offset) == at && !member.name.is_empty());
            missing = Some(named.map_or_else(|| format!("@{at}"), |member| member.name.clone()));
            ControlFlow::Break(())
        });
    }
    if let Some(place) = missing {
        return Err(said(format!("`{place}` is the address of a buffer: {}", how(&place))));
    }
    let says_nothing = addresses.pushed.is_empty() && addresses.held.is_empty() && subject.memories.is_empty();
    if says_nothing && reflection.capabilities.contains(&Capability::PhysicalStorageBufferAddresses) {
        let all: Vec<String> = blocks.iter().flat_map(|block| pointers(world, block)).collect();
        let place = all.first().map_or("PLACE", String::as_str);
        return Err(said(format!("the shader reaches buffers by their addresses: {}", how(place))));
    }
    Ok(())
}

impl Bound {
    /// The resources at a binding, or the buffers that they are ranges of, from which byte on and up to which.
    fn places(&self, set: u32, binding: u32) -> impl Iterator<Item = (usize, u64, u64)> {
        let own = self.bindings.iter().filter(move |own| (own.set, own.binding) == (set, binding));
        own.map(|own| {
            let kind = self.resources[own.resource].kind;
            let (whole, start) = kind.whole(own.resource);
            match kind {
                ResourceKind::Range { bytes, .. } => (whole, start, start.saturating_add(bytes)),
                _ => (whole, start, self.bytes(whole)),
            }
        })
    }

    fn bytes(&self, resource: usize) -> u64 {
        match self.resources[resource].kind {
            ResourceKind::Buffer { bytes, .. } => bytes,
            _ => 0,
        }
    }
}
