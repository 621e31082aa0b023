//! The catalogue's cases, made and compiled where they are measured.

use crate::error::Error;
use crate::experiments::{self, Config, Setting};
use crate::measure::{CaseKey, CaseSource, ToolCases};
use crate::model::{Axis, AxisValue, Case, DeviceInfo, Failure, Point, Preset, Skip, Status};
use crate::plan::check_limits;
use crate::shader::{self, Compiler, Library, Prepared};
use crate::subject::UserKernel;
use crate::validate::{Learned, Outputs, Verdict};

/// Makes the catalogue's cases for a device.
pub(super) struct Catalogue {
    pub(super) device: DeviceInfo,
    pub(super) queue: Option<u32>,
    pub(super) preset: Preset,
    pub(super) seed: u64,
    pub(super) compiler: Compiler,
}

impl Catalogue {
    /// The catalogue for a device.
    ///
    /// # Errors
    /// Where the GLSL compiler can't start.
    pub(super) fn new(device: &DeviceInfo, queue: Option<u32>, preset: Preset, seed: u64) -> Result<Self, Failure> {
        let compiler = Compiler::new(Library::embedded()).map_err(|error| Failure::new(Status::Error, error.to_string()))?;
        Ok(Self { device: device.clone(), queue, preset, seed, compiler })
    }

    fn setting(&self) -> Setting<'_> {
        Setting { device: &self.device, queue: self.queue, preset: self.preset, seed: self.seed }
    }

    /// The cases that measuring itself needs. `evict_bytes` asks for cold mode.
    ///
    /// # Errors
    /// Where the device can't run one of them.
    pub(super) fn tools(&mut self, evict_bytes: Option<u64>) -> Result<ToolCases, Failure> {
        let mut prepare = |name: &str, value: Option<u64>| {
            let setting = Setting { preset: Preset::Default, queue: None, ..self.setting() };
            let case = tool(&setting, name, value).map_err(|skip| named(name, Failure::new(Status::Error, skip.reason)))?;
            shader::prepare(case, &mut self.compiler).map_err(|failure| named(name, failure))
        };
        Ok(ToolCases {
            empty: prepare("calibration/empty", None)?,
            sentinel: prepare("calibration/sentinel", None)?,
            evictor: evict_bytes.map(|bytes| prepare("calibration/evict", Some(bytes))).transpose()?,
        })
    }
}

impl CaseSource for Catalogue {
    fn prepare(&mut self, key: &CaseKey) -> Result<Prepared, Failure> {
        let skipped = |Skip { reason }: Skip| Failure::new(Status::Skipped, reason);
        let experiment = experiments::find(&key.experiment).ok_or_else(|| unknown(&key.experiment))?;
        let case = experiment.case(&Config::new(&key.variant, &key.point, &self.setting())).map_err(skipped)?;
        check_limits(&case, &self.device).map_err(skipped)?;
        let prepared = shader::prepare(case, &mut self.compiler)?;
        shared_memory_limit(&prepared, &self.device).map_err(skipped)?;
        Ok(prepared)
    }

    fn check(&mut self, case: &Case, outputs: Outputs) -> Result<Verdict, Failure> {
        let experiment = experiments::find(&case.experiment).ok_or_else(|| unknown(&case.experiment))?;
        let built = experiment.build(&Config::new(&case.variant, &case.point, &self.setting()));
        let built = built.map_err(|skip| Failure::new(Status::Error, skip.reason))?;
        Ok(built.check(&outputs.bytes))
    }
}

/// A kernel of the user's.
pub(super) struct Tuned(pub(super) UserKernel);

impl CaseSource for Tuned {
    fn prepare(&mut self, key: &CaseKey) -> Result<Prepared, Failure> {
        self.0.prepare(&key.point)
    }

    fn tells_unwritten(&self) -> bool {
        true
    }

    fn check(&mut self, case: &Case, outputs: Outputs) -> Result<Verdict, Failure> {
        Ok(self.0.check(case, outputs))
    }

    fn reference(&mut self) -> Result<Option<Prepared>, Failure> {
        self.0.reference()
    }

    fn learn(&mut self, outputs: Outputs) -> Learned {
        self.0.learn(outputs)
    }
}

fn unknown(experiment: &str) -> Failure {
    Failure::new(Status::Error, format!("the catalogue has no `{experiment}`"))
}

fn named(name: &str, failure: Failure) -> Failure {
    Failure::new(failure.status, format!("{name}: {}", failure.reason))
}

/// Whether a device can evict with so many bytes.
///
/// # Errors
/// The limit that is in the way, which is the user's to mend.
pub fn check_evictor(device: &DeviceInfo, bytes: u64) -> Result<(), Error> {
    let setting = Setting { queue: None, device, preset: Preset::Default, seed: 0 };
    let tool = tool(&setting, "calibration/evict", Some(bytes));
    tool.map(drop).map_err(|skip| Error::Usage(format!("can't evict {bytes} bytes: {}", skip.reason)))
}

/// A case of the catalogue at its defaults, or with this value on its first axis.
fn tool(setting: &Setting, name: &str, value: Option<u64>) -> Result<Case, Skip> {
    let experiment = experiments::find(name).ok_or_else(|| Skip::new(format!("{name} is not in the catalogue")))?;
    let axes = experiment.axes(setting);
    let mut values = vec![value.map(AxisValue::from)];
    values.resize(axes.len(), None);
    let value_on = |(axis, value): (&Axis, Option<AxisValue>)| {
        Some((axis.name.clone(), value.or_else(|| axis.defaults.first().cloned())?))
    };
    let point = Point::new(axes.iter().zip(values).filter_map(value_on));
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
