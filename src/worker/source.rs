//! The catalogue's cases, made and compiled where they are measured.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use super::host::AlteredCase;
use super::pictures::PictureFolder;
use crate::error::Error;
use crate::experiments::{self, Built, Config, Setting, calibration::evict};
use crate::measure::{CaseKey, CaseSource, Checked, Compared, SourcedCase, ToolCases};
use crate::model::{Axis, AxisValue, Cache, Case, Check, DeviceInfo, DeviceKind, Failure, Point, Preset, Skip, Status};
use crate::plan::{case_id, check_limits};
use crate::shader::{self, Compiler, Library, Prepared};
use crate::subject::{FixedKernel, UserKernel};
use crate::validate::{Learned, Outputs};

/// What evicts caches, and what sweeps memory.
const EVICT: &str = "calibration/evict";

const CORE_CLOCK: &str = "calibration/core_clock";

pub(super) struct Catalogue {
    pub(super) device: DeviceInfo,
    pub(super) queue: Option<u32>,
    pub(super) preset: Preset,
    pub(super) seed: u64,
    pub(super) compiler: Compiler,
    /// Where pictures go.
    pub(super) pictures: Option<PictureFolder>,
    /// Kernels beside the catalogue, by what rows call them.
    pub(super) kernels: HashMap<String, FixedSource>,
    pub(super) altered: Vec<AlteredCase>,
}

impl Catalogue {
    pub(super) fn new(device: &DeviceInfo, queue: Option<u32>, preset: Preset, seed: u64) -> Result<Self, Failure> {
        let compiler = Compiler::new(Library::embedded()).map_err(|error| Failure::new(Status::Error, error.to_string()))?;
        Ok(Self {
            device: device.clone(),
            queue,
            preset,
            seed,
            compiler,
            pictures: None,
            kernels: HashMap::new(),
            altered: Vec::new(),
        })
    }

    /// The same, whose modules say which line an instruction is from.
    pub(super) fn with_lines(self) -> Self {
        Self { compiler: self.compiler.with_lines(), ..self }
    }

    fn setting(&self) -> Setting<'_> {
        Setting { device: &self.device, queue: self.queue, preset: self.preset, seed: self.seed }
    }

    /// The cases that measuring itself needs. `evict_bytes` asks for cold mode.
    pub(super) fn tools(&mut self, evict_bytes: Option<u64>) -> Result<ToolCases, Failure> {
        // A processor's memory is the host's as well: what others do there is told by its own flag.
        let swept = (self.device.kind != DeviceKind::Cpu).then(|| evict::watched_bytes(self.device.local_heap_bytes()));
        let has_counters = tool(&self.setting(), CORE_CLOCK, &[]).is_ok();
        let mut prepare = |name: &str, values: &[(&str, AxisValue)]| {
            let setting = Setting { preset: Preset::Default, queue: None, ..self.setting() };
            let case = tool(&setting, name, values).map_err(|skip| Failure::new(Status::Error, skip.reason));
            let prepared = case.and_then(|case| shader::prepare(case, &mut self.compiler));
            prepared.map_err(|failure| Failure::new(failure.status, format!("{name}: {}", failure.reason)))
        };
        Ok(ToolCases {
            empty: prepare("calibration/empty", &[])?,
            sentinel: prepare("calibration/sentinel", &[])?,
            core_clock: has_counters.then(|| prepare(CORE_CLOCK, &[])).transpose()?,
            evictor: evict_bytes.map(|bytes| prepare(EVICT, &[("evict_bytes", bytes.into())])).transpose()?,
            sweep: swept
                .map(|bytes| prepare(EVICT, &[("evict_bytes", bytes.into()), ("sweep", "alone".into())]))
                .transpose()?,
        })
    }
}

impl CaseSource for Catalogue {
    fn prepare(&mut self, key: &CaseKey) -> Result<SourcedCase, Failure> {
        if let Some(AlteredCase { name, base, alteration }) = self.altered.iter().find(|of| of.name == key.experiment).cloned()
        {
            let base = self.prepare(&base)?;
            let prepared = base.prepared().altered(&alteration);
            let prepared = prepared.map_err(|error| Failure::new(Status::Error, error.to_string()))?;
            let case = Case { experiment: name, check: Check::Nothing("it was checked before"), ..prepared.case };
            return Ok(SourcedCase::new(Prepared { case, ..prepared }, |_: &Case, _: Outputs| Ok(Ok(Compared::default()))));
        }
        if let Some(kernel) = self.kernels.get(&key.experiment) {
            return kernel.sourced(key.cache);
        }
        let skipped = |Skip { reason }: Skip| Failure::new(Status::Skipped, reason);
        let experiment = experiments::find(&key.experiment)
            .ok_or_else(|| Failure::new(Status::Error, format!("the catalogue has no `{}`", key.experiment)))?;
        let built = experiment.build(&Config::new(&key.variant, &key.point, &self.setting()));
        let Built { case, twin } = built.map_err(skipped)?;
        let case = Case { cache: key.cache, ..case };
        check_limits(&case, &self.device).map_err(skipped)?;
        let prepared = shader::prepare(case, &mut self.compiler)?;
        shared_memory_limit(&prepared, &self.device).map_err(skipped)?;
        let pictures = self.pictures.as_ref().map(|folder| {
            let axes = experiment.axes_of(&key.variant, &self.setting());
            (folder.clone(), case_id(&key.experiment, &key.variant, &axes, &key.point, key.cache))
        });
        let judge = move |case: &Case, Outputs { bytes, .. }: Outputs| {
            // Right or wrong.
            if let Some((folder, case_id)) = &pictures {
                folder.show(case, case_id, &bytes).map_err(|error| Failure::new(Status::Error, error.to_string()))?;
            }
            Ok(twin.judge(case, &bytes).map(|remark| Compared { remark, error: None }))
        };
        Ok(SourcedCase::new(prepared, judge))
    }
}

/// A kernel of the user's, as it is.
pub(super) struct FixedSource {
    kernel: FixedKernel,
    own: Rc<RefCell<UserKernel>>,
}

impl FixedSource {
    pub(super) fn new(kernel: FixedKernel, device: &DeviceInfo) -> Self {
        let own = Rc::new(RefCell::new(kernel.on(device)));
        Self { kernel, own }
    }

    fn sourced(&self, cache: Cache) -> Result<SourcedCase, Failure> {
        let Prepared { case, kernels } = self.kernel.prepare(&mut self.own.borrow_mut())?;
        let prepared = Prepared { case: Case { cache, ..case }, kernels };
        Ok(SourcedCase::new(prepared, judged_by(&self.own)))
    }
}

/// Holds outputs against what a kernel must compute.
fn judged_by(kernel: &Rc<RefCell<UserKernel>>) -> impl Fn(&Case, Outputs) -> Result<Checked, Failure> + use<> {
    let kernel = Rc::clone(kernel);
    move |case: &Case, outputs: Outputs| {
        let judged = kernel.borrow_mut().check(case, outputs);
        Ok(judged.map(|error| Compared { remark: None, error: Some(error) }))
    }
}

/// A kernel of the user's: what it learned of the reference, it tells of all its cases.
pub(super) struct Tuned(Rc<RefCell<UserKernel>>);

impl Tuned {
    pub(super) fn new(kernel: UserKernel) -> Self {
        Self(Rc::new(RefCell::new(kernel)))
    }
}

impl CaseSource for Tuned {
    fn prepare(&mut self, key: &CaseKey) -> Result<SourcedCase, Failure> {
        let prepared = self.0.borrow_mut().prepare(&key.point)?;
        Ok(SourcedCase::new(prepared, judged_by(&self.0)))
    }

    fn tells_unwritten(&self) -> bool {
        true
    }

    fn reference(&mut self) -> Result<Option<Prepared>, Failure> {
        self.0.borrow_mut().reference()
    }

    fn learn(&mut self, outputs: Outputs) -> Learned {
        self.0.borrow_mut().learn(outputs)
    }
}

/// Errors: the limit that is in the way, which is the user's to mend.
pub fn check_evictor(device: &DeviceInfo, bytes: u64) -> Result<(), Error> {
    let setting = Setting { queue: None, device, preset: Preset::Default, seed: 0 };
    let tool = tool(&setting, EVICT, &[("evict_bytes", bytes.into())]);
    tool.map(drop).map_err(|skip| Error::Usage(format!("can't evict {bytes} bytes: {}", skip.reason)))
}

/// A case of the catalogue at its defaults, or with these values on these axes.
fn tool(setting: &Setting, name: &str, values: &[(&str, AxisValue)]) -> Result<Case, Skip> {
    let experiment = experiments::find(name).ok_or_else(|| Skip::new(format!("{name} is not in the catalogue")))?;
    let axes = experiment.axes(setting);
    let value_on = |axis: &Axis| {
        let chosen = values.iter().find(|(name, _)| *name == axis.name).map(|(_, value)| value);
        Some((axis.name.clone(), chosen.or_else(|| axis.defaults.first())?.clone()))
    };
    let point = Point::new(axes.iter().filter_map(value_on));
    let case = experiment.case(&Config::new("", &point, setting))?;
    check_limits(&case, setting.device)?;
    Ok(case)
}

fn shared_memory_limit(prepared: &Prepared, device: &DeviceInfo) -> Result<(), Skip> {
    let limit = u64::from(device.limits.shared_bytes);
    match prepared.kernels.iter().map(|kernel| kernel.shared_bytes).max() {
        Some(bytes) if bytes > limit => {
            Err(Skip::new(format!("maxComputeSharedMemorySize is {limit}, the case needs {bytes}")))
        }
        _ => Ok(()),
    }
}
