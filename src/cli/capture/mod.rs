//! `lanescope capture`: which kernels an application runs, how often, and what each takes.

mod card;
mod kernels;
mod layer;
mod layer_files;
mod program;
mod store;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use super::args::capture::Capture;
use super::devices::DEADLINES;
use crate::campaign::TOOL_VERSION;
use crate::campaign::host::describe_host;
use crate::campaign::voice::Voice;
use crate::capture::{LoggedDevice, OnDevice, Profile, rows};
use crate::error::Error;
use crate::model::{DeviceInfo, Shown};
use crate::output::{self, Format, Mode, Page, Progress, Target};
use crate::platform;
use crate::record::{Header, Record};
use crate::regular;
use crate::shader::without_source;
use crate::worker::{Platform, find};
use card::ROWS;
use kernels::Taken;
use layer_files::{MODULE, files, forget_modules, module_words, read};
use program::{Ended, Setting};

/// The layer's own word that a program made an instance, a file in their folder.
const INSTANCE: &str = "instance";

/// The folder of the layer's own files, within the output.
const LOGS: &str = "log";

pub fn capture(typed: &Capture) -> anyhow::Result<u8> {
    typed.colours.choose();
    let progress = Progress::new(if typed.quiet { Mode::Quiet } else { Mode::Normal });
    if typed.finish {
        return finish(typed, &progress);
    }
    let library = layer::library()?;
    let logs = made_folder(&typed.output)?;
    let program: PathBuf = typed.command.iter().take(1).collect();
    let known = known();
    let manifest = TempDir::new()?;
    let layer = layer::environment(&library, manifest.path(), &known.loader_version)?;
    let setting = Setting { layer, contents: None };
    let ended = program::run(typed, &setting, &logs).inspect_err(|_| forget(&typed.output, &logs))?;
    progress.notes(program::end_in_words(ended.status, &program));
    let files = files(&logs)?;
    if files.is_empty() {
        let has_instance = fs::remove_file(logs.join(INSTANCE)).is_ok();
        forget(&typed.output, &logs);
        return Err(nothing_seen(&ended, &program, has_instance).into());
    }
    let profile = written(typed, &logs, &files, &known)?;
    let alone = typed.measure_cost.then(|| program::alone(typed)).transpose()?;
    let taken = typed.kernels.as_ref().map(|choice| kernels::take(typed, choice, &profile, &setting, &progress)).transpose()?;
    if let Some(taken) = &taken {
        progress.notes(taken.notes.iter());
        // It has the application's words in it.
        fs::remove_dir_all(&logs)?;
    }
    show(typed, &progress, &profile, taken.as_ref(), Some((ended.took, alone)));
    Ok(platform::exit_code(ended.status))
}

/// Does what is left to do where nobody was there when the program ended.
fn finish(typed: &Capture, progress: &Progress) -> anyhow::Result<u8> {
    let folder = &typed.output;
    let refused = |why: &str| Error::Usage(format!("can't finish {}: {why}", folder.shown()));
    if folder.join(ROWS).exists() {
        return Err(refused("its rows were written already").into());
    }
    let logs = folder.join(LOGS);
    let files = files(&logs).unwrap_or_default();
    if files.is_empty() {
        return Err(refused("nothing was captured there").into());
    }
    let profile = written(typed, &logs, &files, &known())?;
    show(typed, progress, &profile, None, None);
    Ok(0)
}

/// What the layer wrote, once it is written as rows and modules.
fn written(typed: &Capture, logs: &Path, files: &[PathBuf], known: &Known) -> anyhow::Result<Profile> {
    let profile = read(files, |module| module_words(&logs.join(format!("{module}.spv"))))?;
    keep_modules(typed, logs, &profile)?;
    let mut rows = with_rows(&profile, known);
    if typed.kernels.is_some() {
        // Such a folder is made to be given away.
        rows.iter_mut().for_each(|row| row.host.clear());
    }
    write(&typed.output, &rows)?;
    forget_modules(logs)?;
    Ok(profile)
}

fn show(
    typed: &Capture,
    progress: &Progress,
    profile: &Profile,
    taken: Option<&Taken>,
    took: Option<(Duration, Option<Duration>)>,
) {
    if profile.dispatches == 0 {
        progress.note("note: the program used Vulkan, and dispatched nothing that was followed");
    }
    if !typed.quiet {
        progress.toned_answer(&card::card(profile, &typed.output, taken, took, Page::stderr()));
    }
}

/// The loader and the devices, as Lanescope sees them itself; nothing where it can't.
#[derive(Default)]
struct Known {
    loader_version: String,
    devices: Vec<DeviceInfo>,
}

/// Asks before the program runs, and keeps nothing open beside it.
fn known() -> Known {
    let voice = Voice::new(Mode::Quiet);
    match find(&Platform::Vulkan { validation: false, driver: None }, DEADLINES, &voice.listener()) {
        Ok(found) => {
            Known { loader_version: found.loader_version, devices: found.devices.into_iter().map(|place| place.info).collect() }
        }
        Err(_) => Known::default(),
    }
}

/// Takes the folders away that nothing was written to, so that they can be named again.
fn forget(folder: &Path, logs: &Path) {
    // One with something in it stays.
    let _ = fs::remove_dir(logs).and_then(|()| fs::remove_dir(folder));
}

/// The folder, and in it that of the layer's files, as an absolute path.
fn made_folder(folder: &Path) -> anyhow::Result<PathBuf> {
    let refused = |why: String| Error::Usage(format!("can't write to the folder {}: {why}", folder.shown()));
    fs::create_dir_all(folder).map_err(|error| refused(error.to_string()))?;
    let is_empty = fs::read_dir(folder).map_err(|error| refused(error.to_string()))?.next().is_none();
    if !is_empty {
        return Err(refused("it isn't empty; name another one".to_owned()).into());
    }
    let logs = fs::canonicalize(folder)?.join(LOGS);
    fs::create_dir(&logs).map_err(|error| refused(error.to_string()))?;
    Ok(logs)
}

/// Why nothing was captured: Vulkan came without the layer, or didn't come.
fn nothing_seen(ended: &Ended, program: &Path, has_instance: bool) -> Error {
    let program = program.shown();
    let words = if has_instance {
        format!("{program} made a Vulkan instance, but no device: nothing was captured")
    } else if ended.had_vulkan {
        format!(
            "{program} used Vulkan, but its loader didn't take the layer: nothing was captured. Unset VK_DRIVER_FILES and \
             VK_ICD_FILENAMES, if they are set: with them some programs load a driver without a loader. A program that runs with more \
             rights than its user takes no layers"
        )
    } else {
        format!("{program} used no Vulkan, as far as was seen: nothing was captured")
    };
    Error::Usage(words)
}

/// The rows of each device's kernels.
fn with_rows(profile: &Profile, known: &Known) -> Vec<Record> {
    let mut run = Record { tool_version: TOOL_VERSION.to_owned(), validation: Some(false), ..Record::new() };
    describe_host(&mut run);
    run.written_at = humantime::format_rfc3339_millis(platform::now()).to_string();
    let of = |own: &OnDevice| rows(own, &on_device(run.clone(), &own.device, &known.devices));
    profile.devices.iter().flat_map(of).collect()
}

/// A row with what is known of the device: as Lanescope sees it, or else only what the layer does.
fn on_device(row: Record, logged: &LoggedDevice, devices: &[DeviceInfo]) -> Record {
    let hex = |uuid: String| uuid.replace('-', "");
    let is_it = |device: &&DeviceInfo| {
        hex(device.device_uuid.to_string()) == logged.device_uuid && hex(device.driver.uuid.to_string()) == logged.driver_uuid
    };
    // An instance of Vulkan 1.0 tells no more than the name.
    let mut called_so = devices.iter().filter(|device| logged.device_uuid.is_empty() && device.name == logged.name);
    let only = called_so.next().filter(|_| called_so.next().is_none());
    match devices.iter().find(is_it).or(only) {
        Some(device) => row.on_device(device),
        None => Record {
            device_name: logged.name.clone(),
            device_uuid: logged.device_uuid.clone(),
            driver_uuid: logged.driver_uuid.clone(),
            ..row
        },
    }
}

fn write(folder: &Path, rows: &[Record]) -> anyhow::Result<()> {
    let axes = rows.iter().flat_map(|row| row.by_axis.keys().cloned());
    let targets = [(Target::from_argument(&folder.join(ROWS)), Format::Csv)];
    let mut outputs = output::open(&targets, &Header::new(axes))?;
    // A file's reader doesn't stop reading.
    for row in rows {
        let _ = outputs.write(row)?;
    }
    let _ = outputs.finish()?;
    Ok(())
}

/// Gives the modules their kernels' names, and takes out of them where they come from.
fn keep_modules(typed: &Capture, logs: &Path, profile: &Profile) -> anyhow::Result<()> {
    let folder = &typed.output;
    for kernel in profile.devices.iter().flat_map(|own| &own.kernels) {
        let (from, to) = (logs.join(format!("{}.spv", kernel.logged.module)), folder.join(format!("{}.spv", kernel.label())));
        if !kernel.logged.module.is_empty() && !to.exists() {
            let bytes = regular::read(&from, MODULE)?;
            let stripped = || {
                let words = without_source(&module_words(&from)?).ok()?;
                Some(words.iter().flat_map(|word| word.to_le_bytes()).collect())
            };
            // What can't be read may have anything in it.
            if let Some(kept) = if typed.keep_source { Some(bytes) } else { stripped() } {
                File::create_new(to)?.write_all(&kept)?;
            }
        }
    }
    Ok(())
}
