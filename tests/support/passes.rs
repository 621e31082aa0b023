//! Whether a pass depends on what another one left.

use lanescope::model::{Case, Contents, Kernel, Repeat, Step};
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
            for at in here.map(|at| at.resource) {
                let resource = &case.resources[at];
                let is_given = matches!(resource.contents, Contents::Sequence(_) | Contents::Data(_));
                let is_undeclared = kernel.macros.iter().any(|(name, _)| name == "UNQUALIFIED");
                let may_write = !is_given || is_undeclared || readies(case, kernel, at);
                assert!(may_write || info.access == Access::ReadOnly, "{name}: {} is written", resource.name);
            }
        }
    }
}

/// Whether a kernel runs in the reset alone, and this is what it may put addresses into, which only the device knows.
pub fn readies(case: &Case, kernel: &Kernel, resource: usize) -> bool {
    let binds = |step: &Step| match step {
        Step::Bind { kernel: bound } | Step::BindPipeline { kernel: bound } => case.kernels[*bound] == *kernel,
        _ => false,
    };
    let is_of_reset = case.reset.iter().any(binds) && !case.prepare.iter().chain(&case.pass).any(binds);
    is_of_reset && case.addressed().any(|addressed| addressed == resource)
}
