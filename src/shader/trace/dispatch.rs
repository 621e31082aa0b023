//! A case of which one dispatch records what it accesses.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::added::{AddedBarrier, Unordered, places, with_barriers};
use super::marks::{Marking, Marks};
use super::{Recording, TraceError, TraceOptions, Traced};
use crate::model::{Binding, Contents, MemoryKind, Resource, ResourceKind, Step};
use crate::shader::lengths::{LengthsError, with_numbers};
use crate::shader::reflect::{ReflectError, SpecValues};
use crate::shader::{Counting, Module, Prepared, RewriteError, Specialized};

/// A dispatch of a case's pass, and the kernel that it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dispatch {
    /// The place among the pass's steps.
    step: usize,
    pub kernel: usize,
    /// The kernel whose descriptor sets are bound.
    sets: usize,
    /// All zero where a buffer says how many there are.
    pub groups: [u32; 3],
}

/// An array in shared memory with the lengths that it is to have, the outermost first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Padding {
    pub name: String,
    pub lengths: Vec<u32>,
}

/// What of a kernel is to be otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    Padding(Padding),
    Barriers(Vec<AddedBarrier>),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DispatchError {
    #[error(transparent)]
    Trace(#[from] TraceError),
    #[error(transparent)]
    Reflect(#[from] ReflectError),
    #[error(transparent)]
    Lengths(#[from] LengthsError),
    #[error(transparent)]
    Rewrite(#[from] RewriteError),
}

impl Dispatch {
    /// The kernel whose descriptor sets are bound.
    pub fn sets(&self) -> usize {
        self.sets
    }
}

impl Prepared {
    /// The dispatches of the pass, in their order.
    pub fn dispatches(&self) -> Vec<Dispatch> {
        let (mut kernel, mut sets, mut found) = (0, 0, Vec::new());
        for (step, what) in self.case.pass.iter().enumerate() {
            match *what {
                Step::Bind { kernel: bound } => (kernel, sets) = (bound, bound),
                Step::BindPipeline { kernel: bound } => kernel = bound,
                Step::BindDescriptors { kernel: bound } => sets = bound,
                Step::Dispatch { groups } => found.push(Dispatch { step, kernel, sets, groups }),
                Step::DispatchIndirect { .. } => found.push(Dispatch { step, kernel, sets, groups: [0; 3] }),
                _ => {}
            }
        }
        found
    }

    /// The kernel of a dispatch, made to record.
    pub fn traced(&self, dispatch: Dispatch, options: &TraceOptions) -> Result<Traced, TraceError> {
        if self.case.has_base() {
            return Err(TraceError::Base);
        }
        let kernel = &self.kernels[dispatch.kernel];
        Traced::of(&kernel.module.words, &kernel.entry, &kernel.values(), options)
    }

    /// Where barriers may stand that order two instructions of a dispatch, those next to them first.
    pub fn barrier_places(
        &self,
        dispatch: Dispatch,
        options: &TraceOptions,
        what: Unordered,
    ) -> Result<Vec<AddedBarrier>, TraceError> {
        let kernel = &self.kernels[dispatch.kernel];
        places(&kernel.module.words, &kernel.entry, &kernel.values(), options, what)
    }

    /// The same case with more barriers in a dispatch, and their indexes among its sites; nothing of one that control flow never comes to.
    pub fn with_barriers(
        &self,
        dispatch: Dispatch,
        options: &TraceOptions,
        barriers: &[AddedBarrier],
    ) -> Result<(Self, Vec<Option<usize>>), DispatchError> {
        let kernel = &self.kernels[dispatch.kernel];
        let (words, sites) = with_barriers(&kernel.module.words, &kernel.entry, &kernel.values(), options, barriers)?;
        Ok((self.with_words(dispatch, words)?, sites))
    }

    /// The same case, in whose dispatch an array in shared memory has other lengths.
    pub fn padded(&self, dispatch: Dispatch, Padding { name, lengths }: &Padding) -> Result<Self, DispatchError> {
        let words = with_numbers(&self.kernels[dispatch.kernel].module.words, name, lengths)?;
        self.with_words(dispatch, words)
    }

    pub(in crate::shader) fn with_words(&self, dispatch: Dispatch, words: Vec<u32>) -> Result<Self, DispatchError> {
        let mut new = self.clone();
        let kernel = &mut new.kernels[dispatch.kernel];
        let module = Module::of_spirv(words, Some(&kernel.entry))?;
        kernel.shared_bytes = module.reflection.shared_bytes(&kernel.values())?;
        kernel.module = Arc::new(module);
        Ok(new)
    }

    /// The same case, in which that dispatch records. Also the resource that it records in: before a pass it must begin with what
    /// [`Recording::beginning`] says, and afterwards its bytes are what [`Traced::recorded`] reads.
    pub fn recording(
        &self,
        dispatch: Dispatch,
        traced: &Traced,
        recording: &Recording,
    ) -> Result<(Self, usize), DispatchError> {
        let buffer = Resource {
            name: Cow::Borrowed("records of accesses"),
            kind: ResourceKind::Buffer { bytes: recording.bytes(), memory: recording.memory },
            contents: Contents::Undefined,
        };
        self.writing(dispatch, traced.words.clone(), traced.place, buffer)
    }

    /// The same case, in which that dispatch counts. Also the resource that it counts in: before a pass it must be zero, and afterwards
    /// its bytes are what [`Counting::done`] reads.
    pub fn counting(&self, dispatch: Dispatch, can_elect: bool) -> Result<(Self, usize, Counting), DispatchError> {
        let kernel = &self.kernels[dispatch.kernel];
        let counting = Counting::of(&kernel.module.words, &kernel.entry, &kernel.values(), can_elect)?;
        let buffer = Resource {
            name: Cow::Borrowed("counts of blocks"),
            kind: ResourceKind::Buffer { bytes: counting.bytes(), memory: MemoryKind::DeviceLocal },
            contents: Contents::Undefined,
        };
        let (prepared, resource) = self.writing(dispatch, counting.words.clone(), counting.place, buffer)?;
        Ok((prepared, resource, counting))
    }

    /// The same case, in whose dispatch these sites mark what they touch. Also the resource that they do so in: before a pass it must be
    /// zero, and afterwards its bytes are what [`Marks::touched`] reads.
    pub fn marking(&self, dispatch: Dispatch, marks: &Marks, sites: &[usize]) -> Result<(Self, usize), DispatchError> {
        let kernel = &self.kernels[dispatch.kernel];
        let marking = Marking::of(&kernel.module.words, &kernel.entry, &kernel.values(), marks, sites)?;
        let buffer = Resource {
            name: Cow::Borrowed("marks of sectors"),
            kind: ResourceKind::Buffer { bytes: marks.bytes(), memory: MemoryKind::DeviceLocal },
            contents: Contents::Undefined,
        };
        self.writing(dispatch, marking.words, marking.place, buffer)
    }

    /// The same case, in whose dispatch a module writes to one more buffer, which stands behind the case's resources.
    fn writing(
        &self,
        dispatch: Dispatch,
        words: Vec<u32>,
        (set, binding): (u32, u32),
        buffer: Resource,
    ) -> Result<(Self, usize), DispatchError> {
        let Self { mut case, mut kernels } = self.clone();
        let resource = case.resources.len();
        case.resources.push(buffer);
        let original = &self.kernels[dispatch.kernel];
        let module = Module::of_spirv(words, Some(&original.entry))?;
        let info = module.reflection.bindings.iter().find(|info| (info.set, info.binding) == (set, binding)).cloned();
        let mut kernel = case.kernels[dispatch.kernel].clone();
        kernel.bindings.clone_from(&case.kernels[dispatch.sets].bindings);
        kernel.bindings.push(Binding::new(set, binding, resource));
        let bindings = original.bindings.iter().cloned().chain(info).collect();
        kernels.push(Specialized { module: Arc::new(module), bindings, ..original.clone() });
        let own = case.kernels.len();
        case.kernels.push(kernel);
        let Dispatch { step, kernel, sets, .. } = dispatch;
        // What was pushed for one layout isn't there for another.
        let is_push = |step: &&Step| matches!(step, Step::Push { .. } | Step::PushAddress { .. });
        let bound =
            self.case.pass[..step].iter().rposition(|step| matches!(step, Step::Bind { .. } | Step::BindPipeline { .. }));
        let pushes: Vec<Step> = self.case.pass[bound.unwrap_or(0)..step].iter().filter(is_push).cloned().collect();
        let before = [Step::Bind { kernel: own }].into_iter().chain(pushes.clone());
        let other = (kernel != sets).then_some(Step::BindPipeline { kernel });
        let after = [Step::Bind { kernel: sets }].into_iter().chain(other).chain(pushes);
        let dispatch = self.case.pass[step].clone();
        let is_last = !self.case.pass[step + 1..]
            .iter()
            .any(|step| matches!(step, Step::Dispatch { .. } | Step::DispatchIndirect { .. }));
        let steps: Vec<Step> = match is_last {
            true => before.chain([dispatch]).collect(),
            false => before.chain([dispatch]).chain(after).collect(),
        };
        case.pass.splice(step..=step, steps);
        Ok((Self { case, kernels }, resource))
    }
}

impl Specialized {
    /// What its specialization constants are given, by their ids.
    pub(in crate::shader) fn values(&self) -> SpecValues {
        let bits = |entry: &super::super::SpecializationEntry| {
            let (from, size) = (entry.offset as usize, entry.size as usize);
            let mut bits = [0; 8];
            let bytes = self.data.get(from..from + size)?;
            bits.get_mut(..size)?.copy_from_slice(bytes);
            Some((entry.id, u64::from_le_bytes(bits)))
        };
        self.entries.iter().filter_map(bits).collect()
    }
}
