//! What else is tried of configurations that seem right, and of wrong ones: other inputs, and the same once more.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::bounds::{Checker, Pass};
use super::{Host, Question, QuestionState};
use crate::gpu::CaseHandle;
use crate::measure::{Dispatcher, Vulkan};
use crate::model::{
    Binding, Case, Check, Contents, Data, Failure, Kernel, MemoryKind, Point, Resource, ResourceKind, SpirvTarget, Status, Step,
};
use crate::shader::{Compiler, Library, Overrun, Prepared, specialize};
use crate::subject::{KernelSpec, UserKernel};
use crate::validate::Outputs;

/// How often a pass runs at least, however long that takes.
const FEWEST: u32 = 5;

/// The same pass once more, and again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Repeat {
    pub pass: Pass,
    /// How often it runs in all, unless that takes longer than `most`.
    pub times: u32,
    pub most: Duration,
}

/// What came of that.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Repeated {
    /// How often it ran.
    pub runs: u32,
    /// In how many of these its outputs weren't bit by bit those of the first.
    pub changed: u32,
    /// Its outcome changed by more than is allowed, or between right and wrong: how, in words.
    pub race: Option<String>,
    pub is_wrong: bool,
    /// It is right, or within a few times the tolerance.
    pub is_near: bool,
    /// Kinds of errors that comparing its outputs wouldn't have found, in words.
    pub undetected: Vec<String>,
}

/// Configurations with other inputs, or of another size, beside the reference with the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Vary {
    /// The kernel with what differs.
    pub subject: KernelSpec,
    /// The most important first: those are left out that don't fit the time.
    pub points: Vec<Point>,
    pub most: Duration,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Varied {
    /// Nothing differs from the usual inputs.
    Same,
    /// The reference isn't fit for it: why, in words.
    Dropped(String),
    /// Of each configuration that was tried, why it isn't right; nothing where it is.
    Tried(Vec<Option<Wrong>>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wrong {
    /// Its results, in words.
    Result(String),
    /// It leaves an array, which the reference doesn't do.
    Leaves(Overrun),
}

/// Which inputs that the user doesn't fill the reference's results don't depend on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FindIdle {
    pub most: Duration,
}

impl Question for Repeat {
    type Answer = Repeated;

    fn answer(self, _: &Host, kept: &mut QuestionState) -> Result<Repeated, Failure> {
        kept.checker()?.repeat(&self)
    }

    #[cfg(test)]
    fn example() -> (Self, Repeated) {
        let race = Some("run 3: it changes".to_owned());
        let repeated =
            Repeated { runs: 3, changed: 2, race, is_wrong: true, is_near: true, undetected: vec!["a zero".to_owned()] };
        (Self { pass: Pass::Reference, times: 300, most: Duration::from_millis(1500) }, repeated)
    }
}

impl Question for Vary {
    type Answer = Varied;

    fn answer(self, _: &Host, kept: &mut QuestionState) -> Result<Varied, Failure> {
        kept.checker()?.vary(self)
    }

    #[cfg(test)]
    fn example() -> (Self, Varied) {
        let point = Point::new([("local_size_x".into(), 4_u64.into())]);
        let tried = vec![None, Some(Wrong::Result("out[0] is 1".to_owned()))];
        (Self { subject: KernelSpec::default(), points: vec![point], most: Duration::from_secs(1) }, Varied::Tried(tried))
    }
}

impl Question for FindIdle {
    type Answer = Vec<String>;

    fn answer(self, _: &Host, kept: &mut QuestionState) -> Result<Vec<String>, Failure> {
        kept.checker()?.find_idle(self.most)
    }

    #[cfg(test)]
    fn example() -> (Self, Vec<String>) {
        (Self { most: Duration::from_secs(1) }, vec!["data".to_owned()])
    }
}

/// What a pass left, of a reset with the other poison and of the usual one.
fn outputs(device: &mut Vulkan, case: &Case, slot: CaseHandle) -> Result<Outputs, Failure> {
    device.run_poisoned(slot)?;
    let poisoned = Some(read(device, case, slot)?);
    device.run_checked(slot)?;
    Ok(Outputs { bytes: read(device, case, slot)?, poisoned })
}

fn read(device: &mut Vulkan, case: &Case, slot: CaseHandle) -> Result<Vec<Vec<u8>>, Failure> {
    case.check.outputs().iter().map(|&output| device.read(slot, output)).collect()
}

impl Checker {
    /// Loads a case in the place of the last one.
    fn load(&mut self, prepared: &Prepared) -> Result<Option<CaseHandle>, Failure> {
        let Some((device, _)) = &mut self.device else { return Ok(None) };
        if let Some(last) = self.last.take() {
            device.release(last);
        }
        self.last = Some(device.load(prepared)?.slot);
        Ok(self.last)
    }

    /// What a prepared case leaves; nothing on a simulated device.
    fn run(&mut self, prepared: &Prepared) -> Result<Option<Outputs>, Failure> {
        let Some(slot) = self.load(prepared)? else { return Ok(None) };
        let Some((device, _)) = &mut self.device else { return Ok(None) };
        outputs(device, &prepared.case, slot).map(Some)
    }

    /// Runs the reference, so that the kernel knows what is right.
    fn learn(&mut self) -> Result<(), Failure> {
        if self.has_learned {
            return Ok(());
        }
        if let Some(reference) = self.kernel.reference()? {
            if let Some(outputs) = self.run(&reference)? {
                self.kernel.learn(outputs);
            }
        }
        self.has_learned = true;
        Ok(())
    }

    fn repeat(&mut self, Repeat { pass, times, most }: &Repeat) -> Result<Repeated, Failure> {
        self.learn()?;
        let prepared = match pass {
            Pass::Reference => self.kernel.reference()?,
            Pass::Configuration(point) => Some(self.kernel.prepare(point)?),
        };
        // Files that are the reference don't change.
        let Some(prepared) = prepared else { return Ok(Repeated::default()) };
        let Some(first) = self.run(&prepared)? else { return Ok(Repeated::default()) };
        let case = &prepared.case;
        let verdict = self.kernel.check(case, first.clone());
        let is_near = verdict.is_ok() || self.kernel.check_again(case, first.bytes.clone()).is_ok();
        let undetected = if verdict.is_ok() { self.kernel.undetected(case, &first.bytes) } else { Vec::new() };
        let mut repeated = Repeated { runs: 1, is_wrong: verdict.is_err(), is_near, undetected, ..Repeated::default() };
        let watched = watched(&prepared, &first.bytes)?;
        let slot = self.load(watched.as_ref().unwrap_or(&prepared))?;
        let began = Instant::now();
        while let (Some(slot), Some((device, _))) = (slot, &mut self.device) {
            if repeated.runs >= *times || (began.elapsed() >= *most && repeated.runs >= FEWEST.min(*times)) {
                break;
            }
            device.run_checked(slot)?;
            repeated.runs += 1;
            // Reading all takes longer than the pass, by far.
            if let Some(watched) = &watched {
                let counter = watched.case.resources.len() - 1;
                if device.read(slot, counter)?.iter().all(|byte| *byte == 0) {
                    continue;
                }
            }
            let bytes = read(device, case, slot)?;
            if bytes == first.bytes {
                continue;
            }
            repeated.changed += 1;
            let now = self.kernel.check_again(case, bytes.clone());
            let apart = match (&verdict, now) {
                (Ok(_), now) => now.err().map(|mismatch| mismatch.to_string()),
                (Err(_), now) if now.is_ok() && !is_near => Some("it is right then".to_owned()),
                (Err(_), _) => self.kernel.apart(case, &first.bytes, bytes).err().map(|mismatch| mismatch.to_string()),
            };
            if let Some(words) = apart {
                repeated.race = Some(format!("run {}: {words}", repeated.runs));
                break;
            }
        }
        Ok(repeated)
    }

    /// How far a configuration of a kernel leaves its arrays.
    fn overrun(&mut self, kernel: &mut UserKernel, pass: &Pass) -> Result<Option<Overrun>, Failure> {
        let noted = match pass {
            Pass::Reference => kernel.noting_reference()?,
            Pass::Configuration(point) => kernel.noting(point)?,
        };
        let Some((prepared, noting)) = noted else { return Ok(None) };
        let outputs = prepared.case.check.outputs().first().copied();
        let (Some(slot), Some(notes)) = (self.load(&prepared)?, outputs) else { return Ok(None) };
        let Some((device, _)) = &mut self.device else { return Ok(None) };
        device.run_checked(slot)?;
        Ok(noting.overruns(&device.read(slot, notes)?).into_iter().next())
    }

    fn vary(&mut self, Vary { subject, points, most }: Vary) -> Result<Varied, Failure> {
        let began = Instant::now();
        let is_size = subject.n != self.kernel.subject().n;
        let mut kernel = self.kernel.with_problem(subject);
        let dropped = |why: &str| Ok(Varied::Dropped(why.to_owned()));
        let usual = self.kernel.reference()?;
        // Sizes and files may not go together with what differs.
        let reference = match kernel.reference() {
            Ok(reference) => reference,
            Err(failure) => return Ok(Varied::Dropped(failure.reason)),
        };
        let (Some(usual), Some(reference)) = (usual, reference) else { return dropped("files hold what is right") };
        if usual.case.resources == reference.case.resources && usual.case.pass == reference.case.pass {
            return Ok(Varied::Same);
        }
        if self.overrun(&mut kernel, &Pass::Reference)?.is_some() {
            return dropped("the reference accesses an array out of bounds there");
        }
        let Some(outputs) = self.run(&reference)? else { return Ok(Varied::Same) };
        let again = outputs.bytes.clone();
        kernel.learn(outputs);
        if !kernel.is_finite() {
            return dropped("the reference isn't finite");
        }
        if let (Some((device, _)), Some(slot)) = (&mut self.device, self.last) {
            device.run_checked(slot)?;
            let bytes = read(device, &reference.case, slot)?;
            if bytes != again && kernel.check(&reference.case, Outputs { bytes, poisoned: None }).is_err() {
                return dropped("the reference's results differ from one run to the next");
            }
        }
        let mut tried = Vec::new();
        for point in points {
            if !tried.is_empty() && began.elapsed() > most {
                break;
            }
            tried.push(self.try_varied(&mut kernel, point, is_size)?);
        }
        Ok(Varied::Tried(tried))
    }

    fn try_varied(&mut self, kernel: &mut UserKernel, point: Point, is_size: bool) -> Result<Option<Wrong>, Failure> {
        let prepared = match kernel.prepare(&point) {
            Ok(prepared) => prepared,
            // It can't be of that size.
            Err(failure) if failure.status == Status::Skipped => return Ok(None),
            Err(failure) => return Err(failure),
        };
        // Other inputs show by the results; a write beyond the end, which robust access leaves out, doesn't.
        if is_size {
            if let Some(overrun) = self.overrun(kernel, &Pass::Configuration(point))? {
                return Ok(Some(Wrong::Leaves(overrun)));
            }
        }
        let Some(outputs) = self.run(&prepared)? else { return Ok(None) };
        Ok(kernel.check(&prepared.case, outputs).err().map(|mismatch| Wrong::Result(mismatch.to_string())))
    }

    /// Whether the reference's results are the same with other inputs. Where nothing is compared, nobody can tell.
    fn is_indifferent(&mut self, subject: KernelSpec) -> Result<bool, Failure> {
        let mut kernel = self.kernel.with_problem(subject);
        let Some(prepared) = kernel.reference()?.filter(|prepared| !prepared.case.check.outputs().is_empty()) else {
            return Ok(false);
        };
        let Some(outputs) = self.run(&prepared)? else { return Ok(false) };
        Ok(self.kernel.check(&prepared.case, outputs).is_ok())
    }

    fn find_idle(&mut self, most: Duration) -> Result<Vec<String>, Failure> {
        self.learn()?;
        let began = Instant::now();
        let mut idle = Vec::new();
        for (name, varied) in self.kernel.varying_each()? {
            if began.elapsed() >= most {
                break;
            }
            let mut is_idle = true;
            for subject in varied {
                is_idle = is_idle && self.is_indifferent(subject)?;
            }
            idle.extend(is_idle.then_some(name));
        }
        Ok(idle)
    }
}

/// Invocations in a workgroup of the comparison, and the most workgroups: each then compares several words.
const COMPARING: u32 = 256;
const MOST_GROUPS: u32 = 4096;

/// A case that counts how many words of its outputs aren't these, in its last resource. Nothing where an output is no plain buffer.
fn watched(prepared: &Prepared, first: &[Vec<u8>]) -> Result<Option<Prepared>, Failure> {
    let mut watched = prepared.clone();
    let outputs = prepared.case.check.outputs().to_vec();
    let case = &mut watched.case;
    let buffer = |name: String, bytes: u64, contents| Resource {
        name: Cow::Owned(name),
        kind: ResourceKind::Buffer { bytes, memory: MemoryKind::DeviceLocal },
        contents,
    };
    let counter = case.resources.len() + outputs.len();
    let mut comparisons = Vec::new();
    for (output, known) in outputs.iter().zip(first) {
        let (ResourceKind::Buffer { bytes, memory: MemoryKind::DeviceLocal } | ResourceKind::Range { bytes, .. }) =
            case.resources[*output].kind
        else {
            return Ok(None);
        };
        if bytes % 4 != 0 {
            return Ok(None);
        }
        let Ok(words) = u32::try_from(bytes / 4) else { return Ok(None) };
        let name = format!("{}, known", case.resources[*output].name);
        case.resources.push(buffer(name, bytes, Contents::Data(Data::new(known.clone()))));
        comparisons.push((words, [*output, case.resources.len() - 1, counter]));
    }
    case.resources.push(buffer("changed words".to_owned(), 4, Contents::Undefined));
    case.reset.push(Step::Fill { resource: counter, word: 0 });
    case.check = Check::Twin(vec![counter]);
    let refused = |words: String| Failure::new(Status::Error, words);
    let mut compiler = Compiler::new(Library::embedded()).map_err(|error| refused(error.to_string()))?;
    for (words, resources) in comparisons {
        let bindings = resources.into_iter().zip(0..).map(|(resource, binding)| Binding::new(0, binding, resource));
        let kernel = Kernel {
            source: Cow::Borrowed("calibration/changed.comp"),
            macros: Vec::new(),
            target: SpirvTarget::default(),
            local_size: [COMPARING, 1, 1],
            constants: Vec::new(),
            required_subgroup_size: None,
            full_subgroups: false,
            bindings: bindings.collect(),
        };
        let module =
            compiler.compile(&kernel.source, &kernel.macros, kernel.target).map_err(|error| refused(error.to_string()))?;
        watched.kernels.push(specialize(&module, &kernel).map_err(|error| refused(error.to_string()))?);
        case.kernels.push(kernel);
        let groups = [words.div_ceil(COMPARING).clamp(1, MOST_GROUPS), 1, 1];
        let kernel = case.kernels.len() - 1;
        let push = Step::Push { bytes: words.to_ne_bytes().to_vec() };
        case.pass.extend([Step::Barrier, Step::Bind { kernel }, push, Step::Dispatch { groups }]);
    }
    Ok(Some(watched))
}
