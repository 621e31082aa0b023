//! Whether a pass depends on what another one left.

use std::collections::BTreeMap;

use lanescope::model::{Contents, Repeat, Step};
use lanescope::shader::{Access, Prepared};

/// The names of what a pass both writes and reads, and reads first: there it finds what the last pass left. What a fill or a copy
/// writes first is written whole; what a kernel writes first without reading it is so as well, or the poison in it would be seen.
pub fn carried_over(prepared: &Prepared) -> Vec<String> {
    let case = &prepared.case;
    let (mut is_first_a_read, mut is_written) = (BTreeMap::new(), BTreeMap::new());
    let mut touch = |resource: usize, access: Access| {
        is_first_a_read.entry(resource).or_insert(access != Access::WriteOnly);
        *is_written.entry(resource).or_insert(false) |= access != Access::ReadOnly;
    };
    let (mut kernel, mut bound) = (0, 0);
    for step in &case.pass {
        match *step {
            Step::Bind { kernel: new } => (kernel, bound) = (new, new),
            Step::BindPipeline { kernel: new } => kernel = new,
            Step::BindDescriptors { kernel: new } => bound = new,
            Step::Fill { resource, .. } => touch(resource, Access::WriteOnly),
            Step::Copy { from, to } | Step::HostCopy { from, to } => {
                touch(from, Access::ReadOnly);
                touch(to, Access::WriteOnly);
            }
            Step::Dispatch { .. } | Step::DispatchIndirect { .. } => {
                if let Step::DispatchIndirect { resource } = *step {
                    touch(resource, Access::ReadOnly);
                }
                // One that the kernel reads and writes through two bindings is read first.
                let mut bindings: Vec<_> = case.kernels[bound].bindings.iter().collect();
                let access = |set, binding| {
                    let infos = &prepared.kernels[kernel].bindings;
                    infos.iter().find(|info| (info.set, info.binding) == (set, binding)).map(|info| info.access)
                };
                bindings.sort_by_key(|at| access(at.set, at.binding) == Some(Access::WriteOnly));
                for at in bindings {
                    if let Some(access) = access(at.set, at.binding) {
                        touch(at.resource, access);
                    }
                }
            }
            _ => {}
        }
    }
    let is_carried = |resource: &usize| is_first_a_read[resource] && is_written[resource];
    let names = is_written.keys().filter(|resource| is_carried(resource)).map(|&resource| &case.resources[resource]);
    names.map(|resource| resource.name.to_string()).collect()
}

/// Demands that a pass may follow itself as its case says, and that nothing writes what passes are given.
pub fn check_repeat(prepared: &Prepared, name: &str) {
    let case = &prepared.case;
    let carried = carried_over(prepared);
    assert!(
        case.repeat != Repeat::Overwrites || carried.is_empty(),
        "{name}: a pass finds what the last one left in {carried:?}"
    );
    for (kernel, specialized) in case.kernels.iter().zip(&prepared.kernels) {
        for info in &specialized.bindings {
            let here = kernel.bindings.iter().filter(|at| (at.set, at.binding) == (info.set, info.binding));
            for resource in here.map(|at| &case.resources[at.resource]) {
                let is_given = matches!(resource.contents, Contents::Sequence(_) | Contents::Data(_));
                assert!(!is_given || info.access == Access::ReadOnly, "{name}: {} is written", resource.name);
            }
        }
    }
}
