//! What devices make of a shader: the workgroup sizes that they allow, what they lack, and what their compilers tell.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::constants::title;
use super::part::{DevicePart, ExecutableFacts};
use super::sizes;
use crate::campaign::targets::for_compiling;
use crate::campaign::voice::Voice;
use crate::cli::args::Inspect;
use crate::digest::label;
use crate::error::Error;
use crate::model::{DeviceInfo, Failure, FilePath, PipelineStatistics, Shown, Status};
use crate::output::{CodeFolder, Mode};
use crate::record::Figures;
use crate::shader::{BindingInfo, BindingKind, EntryPoint, Lack, Module, Needs, SpecValues, WorkgroupFit};
use crate::worker::questions::compile::{Compile, Subgroups};
use crate::worker::{Deadline, Deadlines, FoundDevice, Identity, Isolated, Listener};

/// Asks the devices that are named, each in a process of its own, about the entry point that is meant.
pub(super) fn ask(
    arguments: &Inspect,
    module: &Arc<Module>,
    values: &SpecValues,
    subgroups: Subgroups,
) -> anyhow::Result<Vec<DevicePart>> {
    let entry = only_entry(module)?;
    let voice = Voice::new(if arguments.verbose { Mode::Verbose } else { Mode::Normal });
    let first = Deadline { time: arguments.timeout, flag: Some("--timeout") };
    let deadlines = Deadlines { first, usual: Deadline::fixed(Duration::ZERO) };
    let places = for_compiling(&arguments.device, deadlines, &voice.listener())?;
    let folder = arguments.isa.as_deref().map(CodeFolder::create).transpose()?;
    let mut asking = Asking { arguments, module, entry, values, subgroups, deadlines, listener: voice.listener(), folder };
    places.iter().map(|place| Ok(asking.part(place)?)).collect()
}

fn only_entry(module: &Module) -> Result<&EntryPoint, Error> {
    match &module.reflection.entry_points[..] {
        [entry] => Ok(entry),
        several => {
            let names: Vec<&str> = several.iter().map(|entry| entry.name.as_str()).collect();
            Err(Error::Usage(format!("a device compiles one entry point: name one of {} by --entry", names.join(", "))))
        }
    }
}

struct Asking<'a> {
    arguments: &'a Inspect,
    module: &'a Module,
    entry: &'a EntryPoint,
    values: &'a SpecValues,
    subgroups: Subgroups,
    deadlines: Deadlines,
    listener: Arc<dyn Listener>,
    folder: Option<CodeFolder>,
}

impl Asking<'_> {
    fn part(&mut self, place: &FoundDevice) -> Result<DevicePart, Error> {
        let (device, reflection) = (&place.info, &self.module.reflection);
        let fit = WorkgroupFit::check(reflection, self.entry, self.values, &device.limits);
        let workgroup = fit.map_err(|error| Error::Usage(error.to_string()))?;
        let needs = Needs::check(self.module, self.entry, device);
        let told = match obstacle(self.module, &needs, &workgroup) {
            Some(reason) => Err(Failure::new(Status::Skipped, reason)),
            None => self.compile(place),
        };
        let (told, status, reason) = match told {
            Ok(told) => (told, Status::Ok, String::new()),
            Err(Failure { status, reason, .. }) => (None, status, reason),
        };
        let isa = self.write_code(device, told.as_ref())?;
        let executables = told.map(|told| told.executables);
        let Figures { registers, spill_bytes, code_bytes } =
            Figures::from_executables(&device.driver.id, executables.as_deref().unwrap_or_default());
        Ok(DevicePart {
            index: device.index,
            name: device.name.clone(),
            driver: device.driver.label().to_owned(),
            driver_id: device.driver.id.clone(),
            device_uuid: device.device_uuid,
            driver_uuid: device.driver.uuid,
            unusable: device.unusable.clone(),
            shared_bytes: workgroup.shared_bytes,
            needs,
            workgroup,
            status,
            reason,
            registers,
            spill_bytes,
            code_bytes,
            executables: executables.map(|all| all.iter().map(ExecutableFacts::of).collect()),
            isa: isa.map(FilePath::from),
            is_code_asked: self.folder.is_some(),
        })
    }

    /// The process ends with the answer: what a compiler did to it is nothing for others.
    fn compile(&self, place: &FoundDevice) -> Result<Option<PipelineStatistics>, Failure> {
        let question = Compile {
            device: Identity::at_place(&place.info, place.index),
            words: self.module.words.clone(),
            entry: self.entry.name.clone(),
            values: self.values.iter().map(|(id, bits)| (*id, *bits)).collect(),
            subgroups: self.subgroups,
            detail: self.arguments.detail(),
        };
        Isolated::start(&place.platform, self.deadlines, &self.listener)?.ask(question)
    }

    /// The file is named after the shader, the entry point and a digest of the module and its constants, so that no other overwrites it.
    fn write_code(&mut self, device: &DeviceInfo, told: Option<&PipelineStatistics>) -> Result<Option<PathBuf>, Error> {
        let (Some(folder), Some(told)) = (&mut self.folder, told) else { return Ok(None) };
        let shader = self.arguments.shader.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let constants = constants(self.module, self.values);
        let mut hash = Sha256::new();
        [&self.module.spirv_hash, &self.entry.name, &constants].iter().for_each(|part| hash.update(format!("{part}\n")));
        let name = format!("{shader}-{}-{}", self.entry.name, label('p', hash));
        let head = format!("{} {} {constants}", self.arguments.shader.shown(), self.entry.name);
        folder.write_pipeline(&name, head.trim_end(), device, told)
    }
}

/// The constants that are given, as `2 SCALE=0.5;3=1`.
fn constants(module: &Module, values: &SpecValues) -> String {
    let given = values.iter().filter_map(|(id, bits)| {
        // That of the workgroup size has a constant without a name besides.
        let of_id = || module.reflection.spec_constants.iter().filter(|constant| constant.id == *id);
        let constant = of_id().find(|constant| !constant.name.is_empty()).or_else(|| of_id().next())?;
        Some(format!("{}={}", title(constant), constant.ty.shown(*bits)))
    });
    given.collect::<Vec<_>>().join(";")
}

fn obstacle(module: &Module, needs: &Needs, workgroup: &WorkgroupFit) -> Option<String> {
    let unknown = module.reflection.bindings.iter().filter(|binding| binding.kind == BindingKind::Other).map(|binding| {
        let BindingInfo { set, binding, name, .. } = binding;
        format!("set {set}, binding {binding} ({name}) is of a kind of descriptor that Lanescope doesn't know")
    });
    let lacking = needs.lacking.iter().map(|Lack { need, missing, .. }| format!("{need} ({missing})"));
    let stops = workgroup.stopped_by.iter().map(sizes::stop);
    let all: Vec<String> = unknown.chain(lacking).chain(stops).collect();
    (!all.is_empty()).then(|| all.join("; "))
}
