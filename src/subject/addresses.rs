//! Addresses of buffers that a kernel finds in push constants and in memory: which resources they lead to, and what it does there.

use std::collections::BTreeMap;

use super::kernel::said;
use super::members::{self, MemberBlock};
use super::resources::{Bound, World};
use super::spec::{AddressSpec, KernelSpec};
use crate::model::{Address, Failure, HeldAddress, ResourceKind};
use crate::shader::{Access, BlockInfo, BlockPlace, Capability, Led, Pointee, Reflection, ScalarType, Seen, TypeLayout};

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
        let followed = followed(world, bound, &leads)?;
        let mut new = Self::default();
        for (place, address) in leads {
            let own: Vec<&Led<Holder>> = followed.iter().filter(|led| led.place == place).collect();
            // What no type says is an address may be taken for any.
            let access = match own.is_empty() {
                true => Some(Access::ReadWrite),
                false => own.iter().filter_map(|led| world.reflection.access_by_address(led.pointee)).reduce(both),
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

fn both(one: Access, other: Access) -> Access {
    if one == other { one } else { Access::ReadWrite }
}

/// All addresses that the kernel may come to, as far as types tell.
fn followed(world: &World<'_>, bound: &Bound, leads: &BTreeMap<(Holder, u64), Address>) -> Result<Vec<Led<Holder>>, Failure> {
    let seen = |block: &BlockInfo| {
        let places = match block.place {
            BlockPlace::PushConstants => vec![(None, 0)],
            BlockPlace::StorageBuffer { set, binding } | BlockPlace::UniformBuffer { set, binding } => {
                bound.places(set, binding).map(|(resource, start)| (Some(resource), start)).collect()
            }
        };
        let of = |(memory, start)| Seen { memory, start, ty: TypeLayout::Struct(block.layout.clone()) };
        places.into_iter().map(of).collect::<Vec<_>>()
    };
    let ends = |memory: Holder| memory.map_or(u64::from(world.reflection.push_bytes), |resource| bound.bytes(resource));
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
    for block in world.blocks {
        let members = MemberBlock {
            layout: &block.layout,
            name: &block.name,
            place: block.place,
            bytes: block.layout.bytes,
            reads: Vec::new(),
        };
        let by_byte = || at_byte.filter(|(of, _)| members.is_called(of)).map(|(_, at)| at);
        let Some(at) = members::address_in(&members, text).or_else(by_byte) else { continue };
        return match block.place {
            BlockPlace::PushConstants => Ok((None, at)),
            BlockPlace::StorageBuffer { set, binding } | BlockPlace::UniformBuffer { set, binding } => {
                let (resource, start) = bound.places(set, binding).next().unwrap_or_default();
                Ok((Some(resource), start + at))
            }
        };
    }
    let all: Vec<String> = world.blocks.iter().flat_map(pointers).collect();
    let known = if all.is_empty() { String::new() } else { format!("; these members do: {}", all.join(", ")) };
    Err(said(format!("`{text}` holds no address{known}")))
}

/// Whether what has this type may be an address: a number of 64 bits, or a pair of words, is for the shader to make one of.
pub(super) fn may_be(ty: &TypeLayout) -> bool {
    match ty {
        TypeLayout::Pointer { .. } => true,
        TypeLayout::Scalar { scalar } => matches!(scalar, ScalarType::U64 | ScalarType::I64),
        TypeLayout::Vector { scalar, components } => (*scalar, *components) == (ScalarType::U32, 2),
        _ => false,
    }
}

/// How members of a block are called that are addresses.
fn pointers(block: &BlockInfo) -> Vec<String> {
    let is_one = |ty: &TypeLayout| matches!(ty, TypeLayout::Pointer { .. });
    let members = block.layout.members.iter().filter(|member| is_one(&member.ty));
    let place = |at: u32| match block.place {
        BlockPlace::PushConstants => format!("@{at}"),
        BlockPlace::StorageBuffer { set, binding } | BlockPlace::UniformBuffer { set, binding } => {
            format!("{set}:{binding}@{at}")
        }
    };
    members.map(|member| if member.name.is_empty() { place(member.offset) } else { member.name.clone() }).collect()
}

/// Whether all addresses are said that a kernel finds in push constants, and some of what it makes of numbers: others may be null.
pub(super) fn check(
    subject: &KernelSpec,
    reflection: &Reflection,
    addresses: &Addresses,
    blocks: &[BlockInfo],
) -> Result<(), Failure> {
    let how = |place: &str| {
        format!("--address {place}=@MEMORY says to which memory, and --memory MEMORY=TYPE[COUNT]:FILL what that holds")
    };
    let pushed = blocks.iter().filter(|block| block.place == BlockPlace::PushConstants);
    let mut missing = pushed.flat_map(|block| {
        let members = block.layout.members.iter().zip(std::iter::repeat(block));
        members.filter(|(member, _)| matches!(member.ty, TypeLayout::Pointer { .. }))
    });
    let is_missing = |at: u32| match &subject.push_bytes {
        // A null pointer is one that the kernel doesn't follow.
        Some(bytes) => bytes.iter().skip(at as usize).take(8).any(|byte| *byte != 0),
        None => true,
    };
    if let Some((member, _)) =
        missing.find(|(member, _)| !addresses.pushed.contains_key(&member.offset) && is_missing(member.offset))
    {
        let place = if member.name.is_empty() { format!("@{}", member.offset) } else { member.name.clone() };
        return Err(said(format!("`{place}` is the address of a buffer: {}", how(&place))));
    }
    let is_said = !addresses.pushed.is_empty() || !addresses.held.is_empty();
    if !is_said && reflection.capabilities.contains(&Capability::PhysicalStorageBufferAddresses) {
        let all: Vec<String> = blocks.iter().flat_map(pointers).collect();
        let place = all.first().map_or("PLACE", String::as_str);
        return Err(said(format!("the shader reaches buffers by their addresses: {}", how(place))));
    }
    Ok(())
}

impl Bound {
    /// The resources at a binding, or the buffers that they are ranges of, and from which byte on.
    fn places(&self, set: u32, binding: u32) -> impl Iterator<Item = (usize, u64)> {
        let own = self.bindings.iter().filter(move |own| (own.set, own.binding) == (set, binding));
        own.map(|own| self.resources[own.resource].kind.whole(own.resource))
    }

    fn bytes(&self, resource: usize) -> u64 {
        match self.resources[resource].kind {
            ResourceKind::Buffer { bytes, .. } => bytes,
            _ => 0,
        }
    }
}
