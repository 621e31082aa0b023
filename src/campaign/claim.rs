//! A campaign's devices and files, which no other run has meanwhile, and what becomes of the files in the end.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use super::begin::Campaign;
use super::journal::{Journal, Journals};
use super::lock::{self, Lock};
use super::resumable::lacking;
use super::resumed_file::ResumedFile;
use super::settings::RowFiles;
use super::sink::{Beside, RowKey, Sink};
use super::template::in_common;
use super::{interrupt, merged};
use crate::error::{EXIT_RETRY, Error};
use crate::model::{DeviceInfo, Published, Shown};
use crate::output::{self, Format, RowTargets, Staged, Target};
use crate::record::{Header, Record};
use crate::units::Nanos;

/// Devices and files that are claimed, before anything is written to those.
pub struct Claim<'c> {
    pub campaign: &'c Campaign,
    pub header: Header,
    /// Of each device a row with all that is the same in its rows.
    pub templates: Vec<Record>,
    journals: Journals,
    _locks: Vec<Lock>,
}

impl Campaign {
    /// Claims devices and files for rows of these columns. Nothing where the user interrupted the wait for a device.
    /// Errors: an output that can't be written, a device or a file that another run has, and what lies beside the file to go on from
    /// and is of another run.
    pub fn claim(&self, header: Header, templates: Vec<Record>) -> anyhow::Result<Option<Claim<'_>>> {
        self.check_outputs()?;
        let Some(locks) = lock::take_all(&self.settings, &self.targets, &self.voice)? else { return Ok(None) };
        let journals = Journals::claim(self.settings.files.paths())?;
        let lacking = lacking(&header);
        if journals.journal().is_some() && !lacking.is_empty() && !self.settings.is_dry {
            let words = "note: what is interrupted can't be resumed: --columns leaves out";
            self.voice.progress.note(&format!("{words} {}", lacking.join(", ")));
        }
        let claim = Claim { campaign: self, header, templates, journals, _locks: locks };
        if self.settings.files.resume.is_some() {
            claim.journals.check_left(&claim.common())?;
        }
        Ok(Some(claim))
    }

    /// Whoever waits for a device isn't to hear afterwards that nothing could be kept.
    fn check_outputs(&self) -> Result<(), Error> {
        let files = &self.settings.files;
        let (targets, _) = targets(files, None)?;
        // What is resumed comes first, and a copy takes its place.
        output::check(&targets[usize::from(files.resume.is_some())..])?;
        if let Some(path) = &files.resume {
            Staged::new(path).check().map_err(Error::unwritable(path))?;
        }
        Journals::check(files.paths())
    }
}

impl<'c> Claim<'c> {
    fn common(&self) -> Vec<Vec<(&'static str, String)>> {
        self.templates.iter().map(in_common).collect()
    }

    /// Opens the files, below what an earlier run left there.
    /// Errors: one that can't be written; all are as they were then.
    pub fn begin(
        mut self,
        continued: Option<Continued>,
        mut beside: Beside,
        limits: Option<&Published>,
    ) -> anyhow::Result<Ledger<'c>> {
        let Campaign { settings, voice, .. } = self.campaign;
        let (files, staged) = targets(&settings.files, continued.as_ref())?;
        let reserved = output::Reserved::new(&files)?.beside(limits);
        if !settings.is_dry {
            let common = self.common();
            let has_row = continued.iter().flat_map(|continued| &continued.taken);
            self.journals.begin(&common, settings.files.resume.is_some(), has_row);
        }
        voice.progress.notes(&self.journals.notes);
        let mut outputs = reserved.begin(&self.header)?;
        continued.as_ref().map_or(Ok(()), |continued| continued.file.pass_on(&mut outputs))?;
        let Continued { file, earlier, sentinels, .. } = continued.unwrap_or_default();
        beside.samples.iter_mut().try_for_each(|samples| samples.begin(file.kept > 0))?;
        let sink = Sink::new(outputs, beside, earlier, self.campaign);
        Ok(Ledger { claim: self, sink, sentinels, file, staged })
    }
}

/// A file with the rows of an earlier run, which this one goes on from.
#[derive(Default)]
pub struct Continued {
    pub file: ResumedFile,
    /// The rows that may be superseded.
    pub earlier: BTreeMap<RowKey, Record>,
    /// The cases of those that count as measured.
    pub taken: Vec<String>,
    pub sentinels: Sentinels,
}

/// The sentinel's time that the rows of each device relate clocks to: the plan's first process measured it.
#[derive(Default)]
pub struct Sentinels(HashMap<[String; 2], Nanos>);

impl Sentinels {
    pub fn learn(&mut self, row: &Record) {
        if let Some(ns) = row.sentinel_ns.filter(|_| row.timer == "device") {
            self.0.entry([row.device_uuid.clone(), row.driver_uuid.clone()]).or_insert(Nanos(ns));
        }
    }

    pub fn of(&self, device: &DeviceInfo) -> Option<Nanos> {
        self.0.get(&[device.device_uuid.to_string(), device.driver.uuid.to_string()]).copied()
    }
}

/// Where rows go, and the visits of what has no row yet.
pub struct Ledger<'c> {
    pub claim: Claim<'c>,
    pub sink: Sink,
    pub sentinels: Sentinels,
    file: ResumedFile,
    staged: Vec<Staged>,
}

impl Ledger<'_> {
    pub fn journal(&self) -> Option<&Journal> {
        self.claim.journals.journal()
    }

    /// Whether there is no reason to measure on.
    pub fn is_over(&self) -> bool {
        self.sink.is_closed() || interrupt::is_asked()
    }

    /// Writes the rows so far whole, whatever ended the campaign, and gives the exit code. `measured`: whether it came to its end.
    pub fn finish(self, measured: anyhow::Result<bool>) -> anyhow::Result<u8> {
        let Self { claim, sink, file, staged, .. } = self;
        let Claim { campaign, header, journals, .. } = claim;
        let progress = &campaign.voice.progress;
        progress.notes(journals.journal().and_then(Journal::failure));
        let finished = sink.finish(measured.as_ref().is_ok_and(|is_whole| *is_whole)).and_then(|(code, retired)| {
            file.drop_superseded(&header, &retired)?;
            Ok(code)
        });
        let (is_whole, code) = (measured?, finished?);
        if !is_whole {
            progress.notes(journals.hint().filter(|_| lacking(&header).is_empty()));
            return Ok(code);
        }
        let is_part = !staged.is_empty();
        output::finish_staged(staged)?;
        let RowFiles { resume, columns, is_anonymous, .. } = &campaign.settings.files;
        if let Some(resumed) = resume.as_ref().filter(|_| file.kept > 0 && !is_part) {
            // In the plan's order, and rows that were kept compared with bases that are new.
            merged::renew(resumed, columns, *is_anonymous)?;
        }
        // A device that was given up is to be tried again, from the visits that there are.
        if code != EXIT_RETRY {
            journals.finish();
        }
        Ok(code)
    }
}

/// Where the outputs of a campaign go, the file to be resumed among them; and those that bear temporary names.
/// Errors: a file whose ending tells no format, and one to be resumed that isn't CSV.
fn targets(files: &RowFiles, continued: Option<&Continued>) -> Result<(RowTargets, Vec<Staged>), Error> {
    let resumed = files.resume.as_ref();
    if let Some(file) = resumed {
        if Format::from_path(file)? != Format::Csv {
            return Err(Error::Usage(format!("only CSV can be resumed, not {}", file.shown())));
        }
    }
    let is_resumed = |file: &Path| resumed.is_some_and(|resumed| output::is_same_file(file, resumed));
    let others = files.output.iter().filter(|file| !is_resumed(file));
    let all: Vec<_> = resumed.into_iter().chain(others).cloned().collect();
    let for_stdout = if output::is_terminal() { files.on_terminal } else { Format::for_stdout(false) };
    let mut targets = output::row_targets(&all, files.format, for_stdout, true)?;
    if let (Some(_), Some((target, format))) = (resumed, targets.first_mut()) {
        *format = Format::Csv;
        if let (Target::File(path), Some(_)) = (&*target, continued) {
            *target = Target::Continued(path.clone());
        }
    }
    Ok(if files.are_staged { output::stage(targets) } else { (targets, Vec::new()) })
}
