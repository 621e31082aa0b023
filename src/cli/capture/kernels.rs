//! The second run: what the buffers of chosen kernels hold, as manifests.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use super::layer_files::{files, module_words, read};
use super::program::{self, Setting};
use super::store::{Store, Written, snapshots};
use crate::analysis::counted;
use crate::capture::{Kernel, Profile, Snapshot, Wanted, order};
use crate::cli::args::capture::{Capture, KernelChoice};
use crate::error::Error;
use crate::globs;
use crate::model::Shown;
use crate::output::Progress;
use crate::shader::Module;
use crate::units::Bytes;

/// The layer's files of the second run, which are gone in the end.
const TAKEN: &str = "taken";
/// What tells the layer which kernels.
const ORDER: &str = "order";

/// What became of the kernels that were chosen.
#[derive(Debug, Default)]
pub struct Taken {
    /// Manifests that were written.
    pub kernels: usize,
    /// Of those, how many left their buffers as they found them.
    pub unchanged: u64,
    /// Those of which something changed that they don't write.
    pub disturbed: Vec<String>,
    /// Bytes of the application's data that lie in the folder.
    pub bytes: u64,
    /// Kernels that can't be run elsewhere, and why.
    pub refused: Vec<(String, String)>,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// The kernels that are chosen, the longest first.
fn chosen<'p>(typed: &Capture, choice: &KernelChoice, profile: &'p Profile) -> Result<Vec<&'p Kernel>, Error> {
    let glob = match choice {
        KernelChoice::Named(text) => {
            let glob = globs::matcher(text, |glob| glob.case_insensitive(true));
            Some(glob.map_err(|why| Error::Usage(format!("--kernels: `{}`: {why}", globs::beginning(text))))?)
        }
        KernelChoice::Top(_) | KernelChoice::All => None,
    };
    let is_meant = |kernel: &&Kernel| {
        let is_named = glob.as_ref().is_none_or(|glob| glob.is_match(&kernel.name) || glob.is_match(kernel.label()));
        is_named && typed.groups.is_none_or(|groups| kernel.groups == Some(groups))
    };
    let most = if let KernelChoice::Top(most) = choice { *most } else { usize::MAX };
    // Of several devices each has its own.
    let of_devices = profile.devices.iter().flat_map(|device| device.kernels.iter().filter(is_meant).take(most));
    let mut seen = HashSet::new();
    // The layer can't tell dispatches apart whose groups the device reads.
    let own = |kernel: &Kernel| (kernel.label(), kernel.groups.filter(|_| !kernel.is_indirect));
    let chosen: Vec<&Kernel> = of_devices.filter(|kernel| seen.insert(own(kernel))).collect();
    if chosen.is_empty() {
        return Err(Error::Usage("--kernels: no captured kernel matches; kernels.csv lists them".to_owned()));
    }
    Ok(chosen)
}

/// The kernels with their modules, each for one dispatch or two; those without a module are refused.
fn wanted<'p>(
    typed: &Capture,
    profile: &Profile,
    chosen: Vec<&'p Kernel>,
    folder: &Path,
    taken: &mut Taken,
) -> Vec<Vec<Wanted<'p>>> {
    let mut all = Vec::new();
    for kernel in chosen {
        let words = module_words(&folder.join(format!("{}.spv", kernel.label())));
        let module = words.and_then(|words| Module::of_spirv(words, Some(&kernel.logged.entry)).ok());
        match module {
            Some(module) => {
                let module = Arc::new(module);
                // In the middle of those that are known to come. The first one stands in for it: a kernel that computes the same again
                // and again finds its results there, and what leaves them isn't seen to be right.
                let mut calls = typed.call.map_or(vec![kernel.recorded / 2, 0], |call| vec![call - 1]);
                calls.dedup();
                let share = profile.share(kernel);
                all.push(calls.into_iter().map(|call| Wanted { kernel, call, module: Arc::clone(&module), share }).collect());
            }
            None => taken.refused.push((kernel.label(), "its module isn't known, or can't be read".to_owned())),
        }
    }
    all
}

/// Runs the program with an order for the layer; gives what is to be said of its end.
fn run_again(typed: &Capture, order: &str, setting: &Setting, logs: &Path) -> anyhow::Result<Option<String>> {
    let file = logs.join(ORDER);
    File::create_new(&file)?.write_all(order.as_bytes())?;
    let ended = program::run(typed, &Setting { contents: Some(file), ..setting.clone() }, logs)?;
    Ok(program::end_in_words(ended.status, Path::new(&typed.command[0])))
}

/// Runs the program once more, and writes the manifests.
pub fn take(
    typed: &Capture,
    choice: &KernelChoice,
    profile: &Profile,
    setting: &Setting,
    progress: &Progress,
) -> anyhow::Result<Taken> {
    let folder = fs::canonicalize(&typed.output)?;
    let mut taken = Taken::default();
    let wanted = wanted(typed, profile, chosen(typed, choice, profile)?, &folder, &mut taken);
    // It is gone whatever happens: what the layer copies is in there, and modules with their sources.
    let logs = tempfile::Builder::new().prefix(TAKEN).tempdir_in(&folder)?;
    let logs = logs.path();
    progress.note("the program runs once more, for what its buffers hold");
    let text = order(wanted.iter().flatten(), typed.max_bytes);
    taken.notes.extend(run_again(typed, &text, setting, logs)?);
    let again = read(&files(logs)?, |_| None)?;
    taken.notes.extend(differing(profile, &again, &wanted));
    let snapshots = snapshots(logs)?;
    let mut store = Store::new(&folder)?;
    let mut first = 0;
    for calls in &wanted {
        let found = |(number, of)| {
            let (head, snapshot) = snapshots.iter().find(|(_, snapshot)| snapshot.wanted == number)?;
            Some((of, head.as_path(), snapshot))
        };
        let found: Vec<(&Wanted<'_>, &Path, &Snapshot)> = (first..).zip(calls).filter_map(found).collect();
        first += calls.len();
        match store.write_best(&found)? {
            Ok(Written { changes, disturbed }) => {
                taken.kernels += 1;
                taken.unchanged += u64::from(!changes);
                taken.disturbed.extend(disturbed);
            }
            Err(why) => taken.refused.push((calls[0].name(None), why)),
        }
    }
    taken.bytes = store.bytes();
    Ok(taken)
}

/// Kernels that the second run dispatched as often as the first one didn't.
fn differing(profile: &Profile, again: &Profile, wanted: &[Vec<Wanted<'_>>]) -> Option<String> {
    let calls = |of: &Profile, kernel: &Kernel| -> u64 {
        let all = of.devices.iter().flat_map(|device| &device.kernels);
        let is_it = |own: &&Kernel| own.hash == kernel.hash && (own.groups == kernel.groups || kernel.is_indirect);
        all.filter(is_it).map(|own| own.calls).sum()
    };
    let differs = |of: &&Vec<Wanted<'_>>| of.first().is_some_and(|of| calls(profile, of.kernel) != calls(again, of.kernel));
    let differ = wanted.iter().filter(differs).count();
    (differ > 0).then(|| {
        format!(
            "note: {} of {} ran more or less often in the second run than in the first: what was taken may be of other work",
            counted(differ as u64, "kernel"),
            wanted.len()
        )
    })
}

impl Taken {
    /// What stands first on the card.
    pub fn in_words(&self, folder: &Path) -> String {
        let kernels = counted(self.kernels as u64, "kernel");
        let bytes = Bytes(self.bytes);
        format!(
            "{} now holds {bytes} of what the application's buffers held, for {kernels}: mind whom you give it to.",
            folder.shown()
        )
    }
}
