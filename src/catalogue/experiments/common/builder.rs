//! Cases and their twins, put together part by part.

use super::config::Config;
use crate::model::{
    Address, Binding, Bound, Case, Check, Contents, Dependency, Headline, Kernel, Measurand, POISON, Picture, Repeat, Resource,
    Sequence, Step, Texels, Work,
};
use crate::validate::{Expected, Output, Remarked, Verdict};

/// A resource of the case that is being built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(usize);

impl Handle {
    pub fn index(self) -> usize {
        self.0
    }
}

/// A kernel of the case that is being built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelHandle(usize);

impl KernelHandle {
    pub fn index(self) -> usize {
        self.0
    }
}

/// A case, and what tells whether its results are right.
pub struct Built {
    pub case: Case,
    pub twin: Twin,
}

/// A check of its own, of what a pass left in the outputs.
type OwnCheck = Box<dyn Fn(&PassOutputs) -> Remarked>;

/// What each output must hold after a pass, and how that is compared where it isn't element by element.
#[derive(Default)]
pub struct Twin {
    expected: Vec<Expected>,
    check: Option<OwnCheck>,
}

#[derive(Clone, Copy, Debug)]
pub struct PassOutputs<'o> {
    case: &'o Case,
    bytes: &'o [Vec<u8>],
}

impl<'o> PassOutputs<'o> {
    /// All of them, in the order of the case's check.
    fn outputs(&self) -> impl Iterator<Item = (usize, Output<'o>)> + use<'o> {
        let Self { case, bytes } = *self;
        let output = |(&index, bytes): (&usize, &'o Vec<u8>)| (index, Output { name: &case.resources[index].name, bytes });
        case.check.outputs().iter().zip(bytes).map(output)
    }

    /// What they left in one of them; nothing in what is no output.
    pub fn of(&self, output: Handle) -> Output<'o> {
        let of_handle = self.outputs().find(|(index, _)| *index == output.0);
        of_handle.map_or(Output { name: "", bytes: &[] }, |(_, output)| output)
    }

    /// Compares all of them, in the order of the case's check, with what they must hold.
    pub fn compare(&self, expected: &[Expected]) -> Verdict {
        self.outputs().zip(expected).try_for_each(|((_, output), expected)| output.compare(expected))
    }
}

impl Built {
    /// What each output must hold after one pass, in the order of the case's check.
    pub fn expected(&self) -> &[Expected] {
        &self.twin.expected
    }

    /// Compares what a pass left in the outputs, in the order of the case's check, with what it must leave.
    ///
    /// # Panics
    /// Where there are more outputs or fewer: what is left over would pass unseen.
    pub fn check(&self, outputs: &[Vec<u8>]) -> Verdict {
        self.twin.judge(&self.case, outputs).map(drop)
    }
}

impl Twin {
    /// As [`Built::check`], of the case whose twin it is; with what there is to say of outputs that are right: how the pass went, where they
    /// tell it.
    pub fn judge(&self, case: &Case, outputs: &[Vec<u8>]) -> Remarked {
        let indexes = case.check.outputs();
        assert!(
            outputs.len() == indexes.len() && !outputs.is_empty(),
            "{}: {} outputs, of which {} were read",
            case.experiment,
            indexes.len(),
            outputs.len()
        );
        let left = PassOutputs { case, bytes: outputs };
        self.check.as_ref().map_or_else(|| left.compare(&self.expected).map(|()| None), |check| check(&left))
    }
}

/// Puts a case and its twin together. Resources and kernels get handles; steps go to the pass, in the order in which they are
/// told.
///
/// What a pass writes is filled before each checked pass: outputs and scratch memory with a poison that no twin expects, so that
/// what a pass doesn't write is seen.
pub struct CaseBuilder {
    case: Case,
    twin: Twin,
    outputs: Vec<usize>,
    invariant: Option<&'static str>,
    /// The kernel that is bound at the end of the pass so far.
    bound: Option<KernelHandle>,
}

impl CaseBuilder {
    pub fn new(experiment: &str, config: &Config) -> Self {
        let case = Case { variant: config.variant.to_owned(), ..Case::new(experiment, config.point) };
        Self { case, twin: Twin::default(), outputs: Vec::new(), invariant: None, bound: None }
    }

    // ---- resources ----

    /// A buffer of so many words that kernels read.
    pub fn input(&mut self, name: &'static str, words: u64, sequence: Sequence) -> Handle {
        self.add(Resource::words(name, words, Contents::Sequence(sequence)))
    }

    /// A buffer of words that a pass leaves results in: as many as the twin expects.
    pub fn output(&mut self, name: &'static str, expected: Expected) -> Handle {
        self.output_from(POISON, name, expected)
    }

    /// The same, which holds this word before a checked pass: for what passes go on from, or leave alone.
    pub fn output_from(&mut self, word: u32, name: &'static str, expected: Expected) -> Handle {
        let resource = Resource::words(name, expected.elements(), Contents::Undefined);
        self.output_in(resource, word, expected)
    }

    /// The same in any resource.
    pub fn output_in(&mut self, resource: Resource, word: u32, expected: Expected) -> Handle {
        let handle = self.add(resource);
        self.case.reset.push(Step::Fill { resource: handle.0, word });
        self.outputs.push(handle.0);
        self.twin.expected.push(expected);
        handle
    }

    /// The same in a storage image, whose texels are whole words: it is filled by a copy of a buffer, since images can't be filled with
    /// words.
    pub fn output_image(&mut self, image: Resource, expected: Expected) -> Handle {
        let poison = self.add(Resource::words("poison", image.bytes() / 4, Contents::Undefined));
        let handle = self.add(image);
        self.case.reset.extend([
            Step::Fill { resource: poison.0, word: POISON },
            Step::Barrier,
            Step::Copy { from: poison.0, to: handle.0 },
        ]);
        self.outputs.push(handle.0);
        self.twin.expected.push(expected);
        handle
    }

    /// A buffer of so many words that one kernel of a pass writes and a later one reads.
    pub fn scratch(&mut self, name: &'static str, words: u64) -> Handle {
        let handle = self.add(Resource::words(name, words, Contents::Undefined));
        self.case.reset.push(Step::Fill { resource: handle.0, word: POISON });
        handle
    }

    /// Any resource that passes only read.
    pub fn add(&mut self, resource: Resource) -> Handle {
        self.case.resources.push(resource);
        Handle(self.case.resources.len() - 1)
    }

    // ---- kernels ----

    /// A kernel with these resources at bindings 0, 1, ... of descriptor set 0.
    pub fn kernel(&mut self, kernel: Kernel, resources: &[Handle]) -> KernelHandle {
        let bindings = (0..).zip(resources).map(|(binding, resource)| Binding::new(0, binding, resource.0)).collect();
        self.bound_kernel(Kernel { bindings, ..kernel })
    }

    /// A kernel that says itself what stands at which descriptor.
    pub fn bound_kernel(&mut self, kernel: Kernel) -> KernelHandle {
        self.case.kernels.push(kernel);
        KernelHandle(self.case.kernels.len() - 1)
    }

    // ---- steps ----

    /// Dispatches a kernel that stands at this place alone: [`Self::kernel`] and [`Self::dispatch`] in one.
    pub fn run(&mut self, kernel: Kernel, resources: &[Handle], groups: [u32; 3], push: &[u32]) {
        let kernel = self.kernel(kernel, resources);
        self.dispatch(kernel, groups, push);
    }

    /// Dispatches a kernel over a grid, with these push constants.
    pub fn dispatch(&mut self, kernel: KernelHandle, groups: [u32; 3], push: &[u32]) {
        self.bind(kernel);
        self.push(push);
        self.step(Step::Dispatch { groups });
    }

    /// The same over a grid that the first three words of a buffer tell.
    pub fn dispatch_indirect(&mut self, kernel: KernelHandle, groups: Handle, push: &[u32]) {
        self.bind(kernel);
        self.push(push);
        self.step(Step::DispatchIndirect { resource: groups.0 });
    }

    pub fn bind(&mut self, kernel: KernelHandle) {
        if self.bound.replace(kernel) != Some(kernel) {
            self.step(Step::Bind { kernel: kernel.0 });
        }
    }

    /// Binds a kernel's pipeline alone, where its descriptors are bound already as another kernel's.
    pub fn bind_pipeline(&mut self, kernel: KernelHandle) {
        self.bound = Some(kernel);
        self.step(Step::BindPipeline { kernel: kernel.0 });
    }

    /// Binds a kernel's descriptors alone, where its pipeline is bound already as another kernel's.
    pub fn bind_descriptors(&mut self, kernel: KernelHandle) {
        self.bound = Some(kernel);
        self.step(Step::BindDescriptors { kernel: kernel.0 });
    }

    pub fn push(&mut self, words: &[u32]) {
        if !words.is_empty() {
            self.step(Step::push_words(words));
        }
    }

    /// Sets two words of the push constants, from this byte on, to where a buffer begins (see [`Step::PushAddress`]): after they are
    /// set to anything.
    pub fn push_address(&mut self, offset: u32, resource: Handle) {
        self.step(Step::PushAddress { offset, address: Address { resource: resource.0, byte: 0 } });
    }

    /// Fills a buffer with a word. A barrier has to follow before a kernel uses it.
    pub fn fill(&mut self, resource: Handle, word: u32) {
        self.step(Step::Fill { resource: resource.0, word });
    }

    /// Makes all that was written visible to what follows.
    pub fn barrier(&mut self) {
        self.step(Step::Barrier);
    }

    /// Lets later dispatches wait for earlier ones, and see what they wrote, which costs less than a barrier of all stages.
    pub fn depend(&mut self) {
        self.step(Step::Dependency(Dependency::Memory));
    }

    pub fn step(&mut self, step: Step) {
        self.case.pass.push(step);
    }

    /// A step of the program that runs before each checked pass, after the outputs are filled.
    pub fn reset_step(&mut self, step: Step) {
        self.case.reset.push(step);
    }

    /// Runs before each checked pass what is told here, never timed: after the outputs that were declared so far are filled, which
    /// it may write to. What a timed kernel leaves of other data is checked there, for one.
    pub fn reset(&mut self, tell: impl FnOnce(&mut Self)) {
        let mut steps = self.apart(tell);
        self.case.reset.push(Step::Barrier);
        self.case.reset.append(&mut steps);
    }

    /// Runs before each sample what is told here, outside the timestamps (see [`Case::prepare`]).
    pub fn prepare(&mut self, tell: impl FnOnce(&mut Self)) {
        let mut steps = self.apart(tell);
        self.case.prepare.append(&mut steps);
    }

    /// The steps that are told here, which are none of the pass.
    fn apart(&mut self, tell: impl FnOnce(&mut Self)) -> Vec<Step> {
        let pass = std::mem::take(&mut self.case.pass);
        let bound = self.bound.take();
        tell(self);
        self.bound = bound;
        std::mem::replace(&mut self.case.pass, pass)
    }

    // ---- what else there is to say ----

    /// An output is a picture of so many pixels.
    pub fn shows(&mut self, output: Handle, [width, height]: [u32; 2], texels: Texels) {
        self.case.pictures.push(Picture { resource: output.0, width, height, texels });
    }

    /// Compares the outputs in a way of its own, where passes may leave more than one right result.
    #[must_use]
    pub fn checked_by(self, check: impl Fn(&PassOutputs) -> Verdict + 'static) -> Self {
        self.remarked_by(move |left| check(left).map(|()| None))
    }

    /// The same, and says of right outputs how the pass went, where they tell it: rows have it in `check_note`.
    #[must_use]
    pub fn remarked_by(mut self, check: impl Fn(&PassOutputs) -> Remarked + 'static) -> Self {
        self.twin.check = Some(Box::new(check));
        self
    }

    /// Checks what must be true of the outputs in place of every element: rows say `checked=invariant`, and in these words what that is.
    /// For results that a twin would take far longer to compute than the device.
    #[must_use]
    pub fn holds(mut self, what: &'static str, check: impl Fn(&PassOutputs) -> Verdict + 'static) -> Self {
        self.invariant = Some(what);
        self.checked_by(check)
    }

    #[must_use]
    pub fn unchecked(mut self, why: &'static str) -> Self {
        self.case.check = Check::Nothing(why);
        self
    }

    /// How the pass may follow itself, unless it overwrites its outputs whole.
    #[must_use]
    pub fn repeat(mut self, repeat: Repeat) -> Self {
        self.case.repeat = repeat;
        self
    }

    /// What is timed, unless it is the pass, by the device's timestamps.
    #[must_use]
    pub fn measurand(mut self, measurand: Measurand) -> Self {
        self.case.measurand = measurand;
        self
    }

    /// The part of the device whose physical limit no pass can beat.
    #[must_use]
    pub fn bound(mut self, bound: Option<Bound>) -> Self {
        self.case.bound = bound;
        self
    }

    /// Lets no other case lie in the device's memory beside this one.
    #[must_use]
    pub fn alone(mut self) -> Self {
        self.case.is_alone = true;
        self
    }

    /// Loop iterations of one invocation, where an axis can make them many.
    #[must_use]
    pub fn iterations(mut self, iterations: u64) -> Self {
        self.case.iterations = iterations;
        self
    }

    /// The case and its twin, with what a pass does and the figure that the row leads with.
    pub fn build(self, work: Work, headline: Headline) -> Built {
        let Self { case, twin, outputs, invariant, .. } = self;
        let check = match invariant {
            _ if outputs.is_empty() => case.check.clone(),
            Some(what) => Check::Invariant(outputs, what),
            None => Check::Twin(outputs),
        };
        Built { case: Case { work, headline, check, ..case }, twin }
    }
}
