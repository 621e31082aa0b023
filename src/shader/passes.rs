//! What passes find of the ones before them.

use std::collections::{BTreeMap, BTreeSet};

use super::{Access, Prepared};
use crate::model::Step;

impl Prepared {
    /// The resources that a pass both reads and writes, and reads first, by their indexes: there it finds what the last pass left.
    ///
    /// What a fill or a copy writes first is written whole. What a kernel writes first, without reading it, counts as written whole
    /// too: the poison in it shows where it isn't.
    pub fn carried_over(&self) -> BTreeSet<usize> {
        let (mut is_read_first, mut written) = (BTreeMap::new(), BTreeSet::new());
        let mut touch = |resource: usize, access: Access| {
            let resource = self.case.whole(resource);
            is_read_first.entry(resource).or_insert(access != Access::WriteOnly);
            if access != Access::ReadOnly {
                written.insert(resource);
            }
        };
        // A pipeline and its descriptor sets, which can be bound apart from each other.
        let (mut pipeline, mut sets) = (0, 0);
        for step in &self.case.pass {
            match *step {
                Step::Bind { kernel } => (pipeline, sets) = (kernel, kernel),
                Step::BindPipeline { kernel } => pipeline = kernel,
                Step::BindDescriptors { kernel } => sets = kernel,
                Step::Fill { resource, .. } => touch(resource, Access::WriteOnly),
                Step::Copy { from, to } | Step::HostCopy { from, to } => {
                    touch(from, Access::ReadOnly);
                    touch(to, Access::WriteOnly);
                }
                Step::Dispatch { .. } => self.touched(pipeline, sets).into_iter().for_each(|(at, access)| touch(at, access)),
                Step::DispatchIndirect { resource } => {
                    touch(resource, Access::ReadOnly);
                    self.touched(pipeline, sets).into_iter().for_each(|(at, access)| touch(at, access));
                }
                _ => {}
            }
        }
        written.retain(|resource| is_read_first.get(resource) == Some(&true));
        written
    }

    /// What a dispatch of a kernel touches, with these descriptor sets: reads first, since one resource may stand at two descriptors.
    fn touched(&self, pipeline: usize, sets: usize) -> Vec<(usize, Access)> {
        let bound = self.case.kernels.get(sets).map(|kernel| kernel.bindings.as_slice()).unwrap_or_default();
        let infos = self.kernels.get(pipeline).map(|kernel| kernel.bindings.as_slice()).unwrap_or_default();
        let access =
            |set, binding| infos.iter().find(|info| (info.set, info.binding) == (set, binding)).map(|info| info.access);
        let touched = bound.iter().filter_map(|at| Some((at.resource, access(at.set, at.binding)?)));
        let (reads, writes): (Vec<_>, Vec<_>) = touched.partition(|(_, access)| *access != Access::WriteOnly);
        [reads, writes].concat()
    }
}
