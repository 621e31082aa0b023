//! Whether a pass depends on what another one left.

use lanescope::model::{Contents, Repeat};
use lanescope::shader::{Access, Prepared};

/// The names of the resources in which a pass finds what the last one left.
pub fn carried_over(prepared: &Prepared) -> Vec<&str> {
    prepared.carried_over().into_iter().map(|resource| &*prepared.case.resources[resource].name).collect()
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
