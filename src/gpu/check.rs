//! What a case must fulfil before Vulkan may see it. A plan keeps to the device's limits by itself, and an experiment describes
//! its cases rightly; here both are held to it, because Vulkan answers a broken rule with undefined behaviour.

use std::collections::HashSet;
use std::fmt::Display;

use crate::model::{
    Address, Case, Dependency, DeviceInfo, Dimension, Edge, FACES, Feature, Format, FormatUse, HeldAddress, ImageRole, Kernel,
    Limits, Measurand, Repeat, Resource, ResourceKind, Status, Step, Subgroup,
};
use crate::shader::{BindingKind, Prepared, Specialized};

use super::error::Error;
use super::host;

type Checked = Result<(), Error>;

/// Refuses a case that breaks a rule or a limit of the device.
pub(super) fn case(prepared: &Prepared, device: &DeviceInfo) -> Checked {
    let case = &prepared.case;
    let named = |error: Error| Error::new(error.status(), format!("{}: {error}", title(case)));
    check(prepared, device).map_err(named)
}

/// Refuses a kernel that no pipeline of the device can be made from.
pub(super) fn kernel(specialized: &Specialized, device: &DeviceInfo) -> Checked {
    let sets = device.limits.descriptor_sets;
    let beyond = specialized.bindings.iter().find(|info| info.set >= sets);
    beyond.map_or(Ok(()), |info| at_most("the number of descriptor sets", u64::from(info.set) + 1, sets.into()))?;
    made(specialized, device)
}

/// What any pipeline must fulfil.
fn made(specialized: &Specialized, device: &DeviceInfo) -> Checked {
    limits(specialized, &device.limits)?;
    specialization(specialized)?;
    subgroup_size(specialized, &device.subgroup)
}

pub(super) fn title(case: &Case) -> String {
    let variant = if case.variant.is_empty() { String::new() } else { format!(" {}", case.variant) };
    format!("{}{variant} [{}]", case.experiment, case.point)
}

fn check(prepared: &Prepared, device: &DeviceInfo) -> Checked {
    let case = &prepared.case;
    require(case.kernels.len() == prepared.kernels.len(), || "not every kernel was compiled".into())?;
    resources(&case.resources, device)?;
    sampling(case, device)?;
    for (kernel, specialized) in case.kernels.iter().zip(&prepared.kernels) {
        bindings(kernel, specialized, &case.resources, &device.limits)?;
        made(specialized, device)?;
    }
    if host::is_hosts(&case.pass) {
        require(case.measurand == Measurand::HostPass && case.prepare.is_empty(), || {
            "a pass of the host's is timed as another one".into()
        })?;
        return [&case.reset, &case.pass].into_iter().try_for_each(|program| host_steps(program, &case.resources));
    }
    require(case.measurand != Measurand::HostPass, || "a pass of the device's is timed as one of the host's".into())?;
    once_only(case)?;
    addressed(case, device)?;
    [&case.reset, &case.prepare, &case.pass].into_iter().try_for_each(|program| steps(program, prepared, &device.limits))
}

/// What can be done once between two resets: setting an event, writing a query.
fn once_only(case: &Case) -> Checked {
    let is_once = |step: &Step| matches!(step, Step::SetEvent { .. } | Step::Timestamp { .. });
    require(!case.pass.iter().any(is_once) || case.repeat == Repeat::AfterReset, || {
        "a pass sets events or writes timestamps, and isn't measured after its reset".into()
    })
}

/// What kernels reach by its address: buffers, where the device has such addresses. What holds some has room for them.
fn addressed(case: &Case, device: &DeviceInfo) -> Checked {
    let bytes = |index: usize| match case.resources.get(index).map(|resource| resource.kind) {
        Some(ResourceKind::Buffer { bytes, .. }) => bytes,
        _ => 0,
    };
    case.all_addresses().try_for_each(|Address { resource, byte }| {
        require(byte < bytes(resource), || {
            format!("an address is that of byte {byte} of resource {resource}, which is no buffer that has it")
        })?;
        require(device.has(Feature::BufferDeviceAddress), || "the case has an address, which needs bufferDeviceAddress".into())
    })?;
    case.addresses.iter().try_for_each(|HeldAddress { holder, at, .. }| {
        let has_room = at.checked_add(Address::BYTES as u64).is_some_and(|end| end <= bytes(*holder));
        require(has_room && at % 4 == 0, || format!("resource {holder} is to hold an address at byte {at}"))
    })
}

/// Steps that the host carries out, on what it can touch.
fn host_steps(steps: &[Step], resources: &[Resource]) -> Checked {
    let bytes = |index: usize| match resources.get(index).map(|resource| resource.kind) {
        Some(ResourceKind::HostMemory { bytes }) => Ok(bytes),
        Some(ResourceKind::Buffer { bytes, memory }) if memory.is_mapped() => Ok(bytes),
        _ => Err(Error::new(Status::Error, format!("a step of the host's names resource {index}, which it can't touch"))),
    };
    steps.iter().try_for_each(|step| match *step {
        Step::Fill { resource, .. } => bytes(resource).map(drop),
        Step::HostCopy { from, to } => {
            require(from != to && bytes(from)? == bytes(to)?, || "a copy between memory of different sizes".into())
        }
        _ => Err(Error::new(Status::Error, "a pass of the host's has a step for the device")),
    })
}

fn require(holds: bool, otherwise: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(Error::new(Status::Error, otherwise())) }
}

fn at_most<T: PartialOrd + Display>(what: &str, value: T, limit: T) -> Checked {
    require(value <= limit, || format!("{what} is {value}; the device allows {limit}"))
}

fn resources(resources: &[Resource], device: &DeviceInfo) -> Checked {
    let mut seen = HashSet::new();
    for (at, resource) in resources.iter().enumerate() {
        let (name, bytes) = (&resource.name, resource.bytes());
        require(seen.insert(resource), || format!("`{name}` is there twice: they would share one allocation"))?;
        match resource.kind {
            ResourceKind::Sampler(sampling) => {
                let fits = !sampling.is_unnormalized || sampling.edge == Edge::Clamp;
                require(fits, || format!("`{name}` takes places in texels, and doesn't clamp them"))?;
                continue;
            }
            ResourceKind::Range { of, offset, bytes } => {
                let whole = resources[..at].get(of).filter(|whole| matches!(whole.kind, ResourceKind::Buffer { .. }));
                let end = offset.checked_add(bytes);
                let fits = bytes > 0 && whole.is_some_and(|whole| end.is_some_and(|end| end <= whole.bytes()));
                require(fits, || format!("`{name}` isn't within a buffer that stands before it"))?;
                continue;
            }
            ResourceKind::Texels { .. } | ResourceKind::Image { .. } => {
                require(bytes > 0, || format!("`{name}` has no texels"))?
            }
            ResourceKind::Buffer { .. } | ResourceKind::HostMemory { .. } => {
                let fits = bytes > 0 && bytes % 4 == 0;
                require(fits, || format!("`{name}` has {bytes} bytes: not a multiple of four above zero"))?;
            }
        }
        at_most(&format!("the size of `{name}`"), bytes, device.limits.allocation_bytes)?;
        check_kind(name, resource.kind, device)?;
    }
    Ok(())
}

fn check_kind(name: &str, kind: ResourceKind, device: &DeviceInfo) -> Checked {
    match kind {
        ResourceKind::Texels { format, count, role } => {
            at_most(&format!("the elements of `{name}`"), count, device.limits.texel_buffer_elements)?;
            storage_format(name, format, role, device)?;
            role.of_texels().iter().try_for_each(|usage| supports(name, format, *usage, device))
        }
        ResourceKind::Image { format, dimension, extent, role } => {
            match dimension.beyond(extent, &device.limits) {
                Some((limit, most, asked)) => at_most(&format!("the extent of `{name}` ({limit})"), asked, most)?,
                None => image(name, dimension, extent, device)?,
            }
            storage_format(name, format, role, device)?;
            role.of_image().iter().try_for_each(|usage| supports(name, format, *usage, device))
        }
        ResourceKind::Buffer { .. }
        | ResourceKind::Range { .. }
        | ResourceKind::Sampler(_)
        | ResourceKind::HostMemory { .. } => Ok(()),
    }
}

fn supports(name: &str, format: Format, usage: FormatUse, device: &DeviceInfo) -> Checked {
    require(device.supports(format, usage), || format!("the format of `{name}` can't be used for {}", usage.as_str()))
}

fn storage_format(name: &str, format: Format, role: ImageRole, device: &DeviceInfo) -> Checked {
    let may = !role.is_storage() || !format.is_extended() || device.has(Feature::StorageImageExtendedFormats);
    require(may, || format!("the format of `{name}` needs shaderStorageImageExtendedFormats"))
}

/// What the limits don't say of an extent.
fn image(name: &str, dimension: Dimension, extent: [u32; 3], device: &DeviceInfo) -> Checked {
    let directions = dimension.directions().len();
    require(extent[directions..].iter().all(|side| *side == 1), || format!("`{name}` extends beyond its dimensions"))?;
    let layers = dimension.layers(extent);
    let are_cubes = extent[0] == extent[1] && if dimension == Dimension::Cube { layers == FACES } else { layers % FACES == 0 };
    require(!dimension.is_cube() || are_cubes, || format!("`{name}` doesn't consist of cubes"))?;
    let is_there = dimension.feature().is_none_or(|feature| device.has(feature));
    require(is_there, || format!("`{name}` needs imageCubeArray"))
}

/// What linear samplers mix must be of a format for that; and places in texels are for plain images alone.
fn sampling(case: &Case, device: &DeviceInfo) -> Checked {
    let kind = |resource: usize| case.resources.get(resource).map(|resource| (&resource.name, resource.kind));
    for (name, kind) in case.sampled(|sampling| sampling.is_linear).filter_map(kind) {
        if let ResourceKind::Image { format, .. } = kind {
            supports(name, format, FormatUse::SampledLinear, device)?;
        }
    }
    for (name, kind) in case.sampled(|sampling| sampling.is_unnormalized).filter_map(kind) {
        if let ResourceKind::Image { dimension, .. } = kind {
            let fits = matches!(dimension, Dimension::D1 | Dimension::D2);
            require(fits, || format!("`{name}` is neither 1D nor 2D, and may be sampled at places in texels"))?;
        }
    }
    Ok(())
}

fn bindings(kernel: &Kernel, specialized: &Specialized, resources: &[Resource], limits: &Limits) -> Checked {
    let mut seen = HashSet::new();
    for binding in &kernel.bindings {
        let (set, at) = (binding.set, binding.binding);
        let place = || format!("{} set {set} binding {at}", kernel.source);
        require(seen.insert((set, at, binding.element)), || format!("{} is bound twice", place()))?;
        require(set < limits.descriptor_sets, || format!("{}: the device has {} sets", place(), limits.descriptor_sets))?;
        let Some(resource) = resources.get(binding.resource) else {
            return Err(Error::new(Status::Error, format!("{}: there is no resource {}", place(), binding.resource)));
        };
        let is_sampler = |sampler: usize| matches!(resources.get(sampler).map(|of| of.kind), Some(ResourceKind::Sampler(_)));
        require(binding.sampler.is_none_or(is_sampler), || format!("{}: there is no such sampler", place()))?;
        let (offset, bytes) = match resource.kind {
            ResourceKind::Buffer { bytes, .. } => (0, bytes),
            ResourceKind::Range { offset, bytes, .. } => (offset, bytes),
            _ => continue,
        };
        let info = specialized.bindings.iter().find(|info| (info.set, info.binding) == (set, at));
        let (limit, alignment) = match info.map(|info| info.kind) {
            Some(BindingKind::UniformBuffer) => (limits.uniform_buffer_range, limits.uniform_buffer_alignment),
            _ => (limits.storage_buffer_range, limits.storage_buffer_alignment),
        };
        at_most(&format!("the range of {}", place()), bytes, limit)?;
        require(offset % alignment.max(1) == 0, || {
            format!("the range of {} begins at byte {offset}; the device needs a multiple of {alignment}", place())
        })?;
    }
    Ok(())
}

fn limits(kernel: &Specialized, limits: &Limits) -> Checked {
    for (axis, (size, limit)) in ["x", "y", "z"].iter().zip(kernel.local_size.iter().zip(&limits.workgroup_size)) {
        require(*size > 0, || format!("local_size_{axis} is zero"))?;
        at_most(&format!("local_size_{axis}"), size, limit)?;
    }
    at_most("the number of invocations", invocations(kernel), limits.workgroup_invocations.into())?;
    at_most("shared memory", kernel.shared_bytes, limits.shared_bytes.into())?;
    at_most("the size of the push constants", kernel.push_bytes, limits.push_constant_bytes)?;
    require(!kernel.module.words.is_empty(), || "a kernel has no code".into())
}

fn invocations(kernel: &Specialized) -> u64 {
    kernel.local_size.iter().map(|size| u64::from(*size)).fold(1, u64::saturating_mul)
}

fn specialization(kernel: &Specialized) -> Checked {
    let mut seen = HashSet::new();
    for entry in &kernel.entries {
        let end = entry.offset as usize + entry.size as usize;
        require(end <= kernel.data.len(), || format!("specialization constant {} lies outside its data", entry.id))?;
        require(seen.insert(entry.id), || format!("specialization constant {} is given twice", entry.id))?;
    }
    Ok(())
}

fn subgroup_size(kernel: &Specialized, subgroup: &Subgroup) -> Checked {
    if kernel.full_subgroups {
        let size = kernel.required_subgroup_size.unwrap_or(subgroup.size).max(1);
        require(subgroup.full_subgroups, || "full subgroups are required; the device can't promise them".to_owned())?;
        let x = kernel.local_size[0];
        require(x % size == 0, || {
            format!("full subgroups of {size} are required of workgroups of {x} in the first direction")
        })?;
    }
    let Some(size) = kernel.required_subgroup_size else { return Ok(()) };
    require(subgroup.size_control, || format!("a subgroup size of {size} is required; the device lets none be chosen"))?;
    let (min, max) = (subgroup.min_size, subgroup.max_size);
    let fits = size.is_power_of_two() && (min..=max).contains(&size);
    require(fits, || format!("a subgroup size of {size} is required; the device has powers of two from {min} to {max}"))?;
    let most = u64::from(size) * u64::from(subgroup.max_workgroup_subgroups);
    at_most(&format!("the number of invocations, with subgroups of {size}"), invocations(kernel), most)
}

fn steps(steps: &[Step], prepared: &Prepared, limits: &Limits) -> Checked {
    let mut bound: Option<&Specialized> = None;
    let mut set_events = HashSet::new();
    // Bytes of push constants that were set since the kernel was bound: what isn't set is undefined, bounds included.
    let (mut pushed, mut base) = (0, [0_u32; 3]);
    for step in steps {
        match step {
            Step::Bind { kernel } => {
                bound = prepared.kernels.get(*kernel);
                require(bound.is_some(), || format!("a step binds kernel {kernel}, which isn't there"))?;
                pushed = 0;
            }
            Step::BindPipeline { kernel } | Step::BindDescriptors { kernel } => {
                let named = prepared.kernels.get(*kernel);
                // Push constants and sets stay as they are where layouts are alike.
                let alike = named.zip(bound).is_some_and(|(kernel, bound)| are_alike(kernel, bound));
                require(alike, || format!("a step binds a part of kernel {kernel}, and none of its layout is bound whole"))?;
                if matches!(step, Step::BindPipeline { .. }) {
                    bound = named;
                }
            }
            Step::Push { bytes } => {
                push(bytes, bound)?;
                pushed = pushed.max(bytes.len());
            }
            Step::PushAddress { offset, .. } => {
                let end = (*offset as usize).saturating_add(Address::BYTES);
                require(bound.is_some() && offset % 4 == 0 && end <= pushed, || {
                    format!("an address for the push constants from byte {offset} on, of which {pushed} are set")
                })?;
            }
            Step::DispatchIndirect { resource } => {
                dispatch(bound, pushed)?;
                require(buffer_bytes(*resource, prepared).is_some_and(|bytes| bytes >= 12), || {
                    format!("a dispatch takes its workgroups from resource {resource}, which is no buffer of three words")
                })?;
            }
            Step::Dispatch { groups } => {
                dispatch(bound, pushed)?;
                let ends = groups.iter().zip(std::mem::take(&mut base)).map(|(count, base)| base.saturating_add(*count));
                for (axis, (end, limit)) in ["x", "y", "z"].iter().zip(ends.zip(&limits.workgroup_count)) {
                    at_most(&format!("the number of groups in {axis}"), &end, limit)?;
                }
            }
            Step::Base { groups } => base = *groups,
            Step::Fill { resource, .. } => {
                require(words(*resource, prepared).is_some_and(|(_, is_buffer)| is_buffer), || {
                    format!("a step fills resource {resource}, which isn't there or is no buffer")
                })?;
            }
            Step::Copy { from, to } => {
                let fits = match [*from, *to].map(|resource| words(resource, prepared)) {
                    [Some((from, true)), Some((to, _))] => from == to,
                    _ => false,
                };
                require(from != to && fits, || {
                    format!("a step copies resource {from} to {to}: two buffers of the same size are needed")
                })?;
            }
            Step::Dependency(Dependency::Buffer { resource }) => {
                require(buffer_bytes(*resource, prepared).is_some(), || {
                    format!("a barrier for {resource}, which is no buffer")
                })?;
            }
            Step::SetEvent { event } => {
                require(set_events.insert(*event), || format!("event {event} is set twice: it must be reset between"))?;
            }
            Step::WaitEvent { event } => {
                require(set_events.contains(event), || format!("a wait for event {event}, which nothing set"))?;
            }
            Step::Dependency(_) | Step::ResetEvent { .. } | Step::Timestamp { .. } | Step::ResetTimestamps => {}
            Step::HostCopy { .. } => return Err(Error::new(Status::Error, "a step of the host's among the device's")),
            Step::Barrier => {}
        }
    }
    Ok(())
}

fn dispatch(bound: Option<&Specialized>, pushed: usize) -> Checked {
    let needed = bound.map(|kernel| kernel.push_bytes as usize);
    require(needed.is_some(), || "a dispatch without a bound kernel".into())?;
    require(needed <= Some(pushed), || {
        format!("a dispatch with {pushed} bytes of push constants set, of {}", needed.unwrap_or_default())
    })
}

/// Whether two kernels have layouts that Vulkan calls identical: the same descriptors in all sets, the same push constants.
fn are_alike(one: &Specialized, other: &Specialized) -> bool {
    let slots = |kernel: &Specialized| -> Vec<_> {
        kernel.module.reflection.bindings.iter().map(|info| (info.set, info.binding, info.kind, info.count)).collect()
    };
    slots(one) == slots(other) && one.push_bytes == other.push_bytes
}

fn buffer_bytes(resource: usize, prepared: &Prepared) -> Option<u64> {
    match prepared.case.resources.get(resource)?.kind {
        ResourceKind::Buffer { bytes, .. } => Some(bytes),
        _ => None,
    }
}

/// How large a resource is that is copied to, in whole words, and whether it is a buffer, which is copied from and filled as well.
fn words(resource: usize, prepared: &Prepared) -> Option<(u64, bool)> {
    let resource = prepared.case.resources.get(resource)?;
    let is_buffer = match resource.kind {
        ResourceKind::Buffer { .. } => true,
        ResourceKind::Texels { role, .. } if role.is_storage() => true,
        ResourceKind::Image { role, .. } if role.is_storage() => false,
        _ => return None,
    };
    Some((resource.bytes().div_ceil(4), is_buffer))
}

fn push(bytes: &[u8], bound: Option<&Specialized>) -> Checked {
    let Some(kernel) = bound else {
        return Err(Error::new(Status::Error, "push constants without a bound kernel"));
    };
    let room = kernel.push_bytes.next_multiple_of(4) as usize;
    let fits = !bytes.is_empty() && bytes.len() % 4 == 0 && bytes.len() <= room;
    require(fits, || format!("{} bytes of push constants, where the kernel has {} bytes", bytes.len(), kernel.push_bytes))
}
