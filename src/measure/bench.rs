//! What cases are measured on: one device, owned by this process or by another one.
//!
//! A bench takes orders, and answers each item of an order as soon as that is done. The session that gives the orders decides
//! what is measured when, and on which bench; it never sees a device. The same orders and answers pass between processes, so
//! rows are the same wherever the device is owned.

use std::ops::ControlFlow;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Instrument;
use super::core_clock::CoreClock;
use super::rig::Conditions;
use super::visit::{Sizes, Visit};
use crate::digest;
use crate::model::{Cache, Case, CoreClocks, DeviceInfo, Failure, GpuState, PipelineStatistics, Point};
use crate::shader::{Module, Prepared};
use crate::validate::{Learned, Mismatch, Outputs};

/// Names a case for whoever can make it: pure data, which means the same in every process of this version.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CaseKey {
    pub experiment: String,
    pub variant: String,
    pub point: Point,
    #[serde(default)]
    pub cache: Cache,
}

impl CaseKey {
    pub fn from_case(case: &Case) -> Self {
        let Case { experiment, variant, point, cache, .. } = case;
        Self { experiment: experiment.clone(), variant: variant.clone(), point: point.clone(), cache: *cache }
    }
}

/// Compares outputs of a case, in the order of its check, with what they must hold. It fails where something else goes wrong, such as
/// writing pictures of them.
pub type OutputCheck = dyn Fn(&Case, Outputs) -> Result<Checked, Failure>;

/// What there is to say of results that are right, or why they are wrong.
pub type Checked = Result<Compared, Mismatch>;

/// A case that is ready to be loaded, and what knows what it must compute.
pub struct SourcedCase {
    pub(super) prepared: Prepared,
    pub(super) judge: Box<OutputCheck>,
}

impl SourcedCase {
    pub fn new(prepared: Prepared, judge: impl Fn(&Case, Outputs) -> Result<Checked, Failure> + 'static) -> Self {
        Self { prepared, judge: Box::new(judge) }
    }

    pub fn prepared(&self) -> &Prepared {
        &self.prepared
    }

    /// Holds what it left against what it must compute.
    pub fn judge(&self, outputs: Outputs) -> Result<Checked, Failure> {
        (self.judge)(&self.prepared.case, outputs)
    }
}

/// Where a bench gets its cases from.
pub trait CaseSource {
    /// Makes and compiles a case, or tells why it can't run or doesn't compile.
    fn prepare(&mut self, key: &CaseKey) -> Result<SourcedCase, Failure>;

    /// Whether it tells what a pass never wrote from what that computed, which takes another pass over another poison.
    fn tells_unwritten(&self) -> bool {
        false
    }

    /// The case whose outputs tell what those of all others must hold, where no twin does.
    fn reference(&mut self) -> Result<Option<Prepared>, Failure> {
        Ok(None)
    }

    /// Takes what the reference computed, in the order of its check; tells what that showed.
    fn learn(&mut self, _: Outputs) -> Learned {
        Learned::default()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    pub key: CaseKey,
    /// What it is measured alternately with on the same device.
    pub base: Option<CaseKey>,
    /// The sizes that another bench chose for it and for its base: all benches of a case take the same.
    pub sizes: Option<(Sizes, Option<Sizes>)>,
    /// Whether the results of the first pass are compared. Another bench may have done so; what is timed is in any case.
    pub is_checked: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Load cases beside those that are loaded, in this order, while they fit. Answers [`Answer::Ready`] once it can begin, then
    /// [`Answer::Loaded`] for each; what doesn't fit beside the others isn't answered.
    Load {
        jobs: Vec<Job>,
        /// Among how many benches the device's memory is shared; `None` where another one has seen to it that they fit.
        share: Option<u32>,
        /// Whether those that follow may be compiled meanwhile on other threads, where the bench does that.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_ahead: bool,
    },
    /// Have cases that are to be loaded later compiled on other threads, where the bench does that, and forget others. Answers nothing.
    Anticipate { keys: Vec<CaseKey> },
    /// Choose how the cases at these places are sampled. Answers [`Answer::Sized`] for each.
    Size {
        calls: Vec<Call>,
        /// Whether only the fastest counts: then what is far slower than others before it isn't looked at twice.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_race: bool,
    },
    /// Begin a round, the device being busy if it has worked for another bench until now: then its clocks are up. Answers nothing.
    BeginRound { is_busy: bool },
    /// Visit cases. Answers [`Answer::Visited`] for each.
    Visit { calls: Vec<Call> },
    /// End a round: measure an empty pass in these batch sizes, and keep the device busy until the round is long enough, unless
    /// the session sees to that. Answers [`Answer::RoundEnded`].
    EndRound { batches: Vec<u32>, stays_busy: bool },
    /// Keep the device busy. Answers [`Answer::Ready`].
    Work { time: Duration },
    /// Compare what the cases at these places leave behind after a timed batch. Answers [`Answer::Checked`] for each.
    Check { places: Vec<usize> },
    /// Free everything that was loaded. Answers nothing.
    Unload,
    /// Begin a visit whose samples are ordered one by one, perhaps once the device's clocks have come back. Answers [`Answer::Begun`].
    Begin { recovers: bool },
    /// Take one sample of the case at this place. Answers [`Answer::Sampled`].
    Sample { place: usize, expected: Duration },
    /// End the visit that was begun last. Answers [`Answer::Ended`].
    End,
    /// Let the device idle for a while, then keep it busy with the case at this place, whose sizes are chosen, and look at its clocks
    /// all the time. Answers [`Answer::Watched`].
    Watch { place: usize, rest: Duration, time: Duration },
}

/// Work on one case that is ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    pub place: usize,
    /// The time that it may still take, visits that have to be repeated included.
    pub left: Duration,
    /// How long it may take before there is reason to worry.
    pub expected: Duration,
    /// Whether to leave out the base of its pair.
    pub is_alone: bool,
    /// The most samples that a visit takes, where it may be shorter than its sizes say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_samples: Option<u32>,
    /// Whether one rough look is all that is wanted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_glance: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// What the bench itself needs is there.
    Ready(Result<(), Failure>),
    Loaded(Box<Loading>),
    Sized(Result<(Sizes, Option<Sizes>), Failure>),
    Visited(Result<Visited, Failure>),
    /// The medians of an empty pass, ns, in the order of the batch sizes, and how much a round still lacks.
    RoundEnded(Result<(Vec<f64>, Duration), Failure>),
    /// A case's results are right, with what there is to say of them, or why not.
    Checked(Result<Compared, Failure>),
    Begun(Result<(), Failure>),
    Sampled(Result<Visit, Failure>),
    /// A visit's conditions, and how long it took.
    Ended(Result<(Conditions, Duration), Failure>),
    Watched(Result<Watch, Failure>),
}

/// A device under a load that lasts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Watch {
    pub looks: Vec<Look>,
    /// What the vendor's interface told at its end, the device still being at work.
    pub state: GpuState,
}

impl Watch {
    /// The core's clock in each look, where the device's counters show it.
    pub fn core_clocks(&self) -> Vec<Option<CoreClocks>> {
        let mut clock = CoreClock::default();
        self.looks.iter().filter_map(|look| look.conditions.core).for_each(|readings| clock.learn_from(readings));
        self.looks.iter().map(|look| clock.clocks(look.conditions.core)).collect()
    }

    /// The same in MHz; where the counters don't show it, as the vendor's interface tells it. Looks without either are left out.
    pub fn megahertz(&self) -> Vec<f64> {
        let clocks = self.core_clocks().into_iter().zip(&self.looks);
        clocks.filter_map(|(core, look)| core.map(CoreClocks::mean).or(look.conditions.mhz)).collect()
    }
}

/// A moment of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// Since the load began.
    pub at: Duration,
    pub conditions: Conditions,
}

/// What there is to say of results that are right.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// How the pass went, where they tell it.
    pub remark: Option<String>,
    /// How far they are from the reference's, in units of what is allowed.
    pub error: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loading {
    pub place: usize,
    pub shader: Option<ShaderFacts>,
    pub result: Result<Loaded, Failure>,
}

/// What compiling a case tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShaderFacts {
    /// Hash of what the compiler read for its kernel; of several modules, of their hashes.
    pub source_hash: String,
    /// Hash of its kernel's SPIR-V; of several modules, of their hashes.
    pub spirv_hash: String,
    /// Workgroup memory of that kernel of a pass that has the most.
    pub shared_bytes: u64,
    /// GLSL to SPIR-V, all kernels together; nothing where times are simulated, as this one isn't.
    pub compile_time: Option<Duration>,
}

impl ShaderFacts {
    pub fn from_prepared(prepared: &Prepared, is_simulated: bool) -> Option<Self> {
        prepared.kernels.first()?;
        let compile_time = prepared.kernels.iter().map(|kernel| kernel.module.compile_time).sum();
        let timed = prepared.case.timed_kernels().into_iter().filter_map(|kernel| prepared.kernels.get(kernel));
        let hash =
            |of: fn(&Module) -> &String| digest::joint(prepared.kernels.iter().map(|kernel| of(&kernel.module).as_str()));
        Some(Self {
            source_hash: hash(|module| &module.source_hash),
            spirv_hash: hash(|module| &module.spirv_hash),
            shared_bytes: timed.map(|kernel| kernel.shared_bytes).max().unwrap_or(0),
            compile_time: (!is_simulated).then_some(compile_time),
        })
    }
}

/// What loading a case tells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loaded {
    /// Making pipelines, and the first dispatch, in which some drivers compile.
    pub pipeline_time: Duration,
    /// What the driver tells of each kernel's pipeline, in the case's order, where it was asked.
    pub statistics: Option<Vec<PipelineStatistics>>,
    /// Which memory types hold buffers whose kind of memory the case asks for, in words.
    pub memory_types: String,
    /// Why the base of its pair can't be measured, where it can't.
    pub unpaired: Option<Failure>,
    /// How far the results of its first pass are from the reference's, in units of what is allowed.
    #[serde(default)]
    pub error: Option<f64>,
}

/// A visit that was kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Visited {
    pub visit: Visit,
    pub conditions: Conditions,
    /// How long it took, with what it repeated.
    pub spent: Duration,
}

/// A bench that is gone: its process died or hung, or its device was lost. What was loaded on it is lost as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss(pub Failure);

/// Takes answers, and says whether to go on with the order.
pub type Answering<'a> = dyn FnMut(Answer) -> ControlFlow<()> + 'a;

/// A device to measure on, calibrated.
pub trait Bench {
    fn info(&self) -> &DeviceInfo;

    fn instrument(&self) -> &Instrument;

    /// What the reference showed that its cases are compared with, where there is one.
    fn learned(&self) -> &Learned {
        const NOTHING: &Learned = &Learned { notes: Vec::new(), doubts: Vec::new() };
        NOTHING
    }

    /// Whether it is still there, as far as can be told without asking it.
    fn is_alive(&mut self) -> bool {
        true
    }

    /// Whether cases may be compiled on other threads while it does something else: then what it was lost at needn't be to blame.
    fn compiles_ahead(&self) -> bool {
        false
    }

    /// Does what is ordered, answering item by item. Where the answers' taker doesn't want to go on, the items left are left out. Where
    /// the bench is lost, it is at the first item that wasn't answered.
    fn carry_out(&mut self, order: Order, answer: &mut Answering) -> Result<(), Loss>;
}

/// Gives an order to a bench that nobody else has. All answers, in their order.
pub fn answers_of(bench: &mut dyn Bench, order: Order) -> Result<Vec<Answer>, Failure> {
    let mut answers = Vec::new();
    let carried_out = bench.carry_out(order, &mut |answer| {
        answers.push(answer);
        ControlFlow::Continue(())
    });
    carried_out.map_err(|Loss(failure)| failure)?;
    Ok(answers)
}
