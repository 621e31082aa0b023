//! What a search found: said, and kept in files.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::Context;

use crate::campaign::TOOL_VERSION;
use crate::campaign::search::rows::Trial;
use crate::campaign::search::run::SearchRun;
use crate::campaign::settings::RowFiles;
use crate::campaign::voice::Voice;
use crate::cli::args::tune::Tune;
use crate::cli::chosen::save;
use crate::cli::overwriting::Files;
use crate::error::{EXIT_CANT_TELL, EXIT_FAILED, EXIT_OK, Error};
use crate::model::{AxisValue, Failure, Metric, Point, Shown, Status};
use crate::output::{Page, Staged, Tone, answer_in_sentences, answer_text, bearing, json, paragraph};
use crate::platform::now;
use crate::subject::{KernelSpec, Reference};
use crate::tuning::answer::{self, Answer, Finale};
use crate::tuning::{
    DeviceId, Diagnosis, DriverId, KernelId, T4Measurement, T4Result, T4Session, T4Times, T4Validity, TableEntry, diagnose,
    read_table, t4,
};

pub struct Found {
    /// Nothing where no configuration has a time.
    best: Option<Best>,
    diagnosis: Option<Diagnosis>,
    /// Whether what the best computes isn't by chance, as far as was seen.
    is_believed: bool,
    /// What speaks against believing any result.
    doubts: Vec<String>,
    has_race: bool,
}

struct Best {
    answer: Answer,
    effort: String,
    entry: TableEntry,
    leaves: bool,
    /// What else was tried with it.
    tried: Vec<String>,
}

impl Found {
    /// What follows from a search that came to its end, which keeps the answer in its rows.
    pub fn new(run: &mut SearchRun, arguments: &Tune) -> Self {
        let trials: Vec<answer::Trial> = run.trials.values().map(trial).collect();
        let reference = &run.kernel.subject().reference;
        let best = Best::new(run, &trials);
        let diagnosis = diagnose(&trials, reference, run.search.written_point().as_ref(), run.checks.is_steady());
        // A reference that nobody named, and that nothing else agrees with, is none to believe.
        let is_chosen = arguments.reference.is_none() && *reference != Reference::Untouched;
        let is_doubted = diagnosis.as_ref().is_some_and(|of| of.doubts_reference || (is_chosen && of.only_reference));
        let doubts: Vec<String> = run.silent.iter().chain(&run.checks.doubts).cloned().collect();
        let is_right = best.as_ref().is_some_and(|best| !best.leaves);
        let found = Self {
            best,
            diagnosis,
            is_believed: is_right && !is_doubted && doubts.is_empty(),
            doubts,
            has_race: run.checks.has_race(),
        };
        found.keep(run);
        found
    }

    /// Writes the answer, and what is said beside it, into the row of the fastest configuration, as sentences.
    fn keep(&self, run: &mut SearchRun) {
        let Some(best) = &self.best else { return };
        let wrong = self.wrong_results();
        let beside = best.beside().chain(self.doubted()).map(|(_, words)| words);
        let notes = wrong.into_iter().chain(beside).collect::<Vec<_>>().join(" ");
        run.keep_answer(&best.answer.best.point, &answer_in_sentences(&best.answer), &notes);
    }

    fn wrong_results(&self) -> Option<String> {
        // What changes from one run to the next depends on nothing.
        let Diagnosis { words, .. } = self.diagnosis.as_ref().filter(|_| !self.has_race)?;
        Some(format!("Wrong results: {words}."))
    }

    fn doubted(&self) -> impl Iterator<Item = (Tone, String)> {
        self.doubts.iter().map(|doubt| (Tone::Bad, format!("Doubt: {doubt}.")))
    }

    /// Says it, and adds the best configuration to the table that is asked for. The exit code tells whether there is an answer that
    /// may be believed.
    pub fn tell(self, arguments: &Tune, voice: &Voice) -> anyhow::Result<u8> {
        if let Some(words) = self.wrong_results() {
            voice.progress.answer(&format!("\n{words}"));
        }
        let Some(best) = &self.best else { return Ok(EXIT_FAILED) };
        let page = Page::stderr();
        let mut text = answer_text(&best.answer, page);
        let bearing = arguments.share.and_then(|share| bearing(&best.answer, share));
        text += &bearing.map_or_else(String::new, |words| paragraph(&words, page));
        text += &best.beside().chain(self.doubted()).map(|(tone, words)| tone.paragraph(&words, page)).collect::<String>();
        text += &paragraph(&best.effort, page);
        voice.progress.note("");
        text.lines().for_each(|line| voice.progress.toned_answer(line));
        // What nobody may believe isn't kept for others.
        let is_told = best.answer.is_told();
        if let Some(path) = arguments.save_table.as_ref().filter(|_| self.is_believed && is_told) {
            save(vec![best.entry.clone()], path)?;
        }
        Ok(match (self.is_believed, is_told) {
            (false, _) => EXIT_FAILED,
            (true, false) => EXIT_CANT_TELL,
            (true, true) => EXIT_OK,
        })
    }
}

impl Best {
    /// What is said of it beside its figures.
    fn beside(&self) -> impl Iterator<Item = (Tone, String)> {
        const LEAVES: &str = "Correct it before you take it: it accesses a buffer or an image out of bounds, and what it computes there is undefined.";
        let leaves = self.leaves.then(|| (Tone::Bad, LEAVES.to_owned()));
        leaves.into_iter().chain(self.tried.iter().map(|words| (Tone::Plain, words.clone())))
    }

    fn new(run: &SearchRun, trials: &[answer::Trial]) -> Option<Self> {
        let figures = run.figures();
        let finale = Finale { figures: &figures, cut: run.cut, nearest: run.nearest_behind.clone() };
        let answer = Answer::new(&run.search.space, trials, finale, run.search.written_point().as_ref())?;
        let (time, samples) = run.spent();
        let (tried, all, seconds) = (trials.len(), run.search.space.len(), time.as_secs_f64());
        let effort = format!("{tried} of {all} configurations tried, {samples} samples, {seconds:.1} s");
        let device = run.search.device();
        let entry = TableEntry {
            kernel: KernelId { name: run.kernel.subject().name.clone(), hash: run.hash.clone() },
            device: DeviceId::from(device),
            driver: DriverId::from(&device.driver),
            size: run.kernel.size(),
            configuration: values(&answer.best.point),
            time_ns: answer.best.timing.time,
            ci_low_ns: answer.best.timing.low,
            ci_high_ns: answer.best.timing.high,
            when: now(),
            tool_version: TOOL_VERSION.to_owned(),
        };
        let leaves = run.trials.values().any(|trial| trial.point == answer.best.point && trial.leaves);
        let mut tried = run.checks.said(&answer.best.point);
        let of_races = run.races.said(&answer.best.point);
        if of_races.is_none() && !run.kernel.subject().addresses.is_empty() {
            tried.push("Whether what it accesses by address stays within memory wasn't looked at.".to_owned());
        }
        tried.extend(of_races);
        Some(Self { answer, effort, entry, leaves, tried })
    }
}

/// Files that are written when all is measured must be writable before, and none is written over what is read, or twice.
/// Errors: a table that is none, a folder that isn't there, and a file that is named for two things.
pub fn check_files(arguments: &Tune, rows: &RowFiles, subject: &KernelSpec) -> Result<(), Error> {
    let read = subject.files().map_err(|error| Error::Usage(error.to_string()))?;
    let files = read.into_iter().fold(Files::default(), |files, (what, file)| files.reading(what, [file]));
    let written = files.reading("the manifest", &arguments.described.manifest).writing_rows(rows);
    written.writing("--t4", &arguments.t4).writing("--save-table", &arguments.save_table).check()?;
    if let Some(path) = arguments.save_table.as_deref().filter(|path| path.exists()) {
        read_table(path).map_err(|error| Error::Usage(error.to_string()))?;
    }
    for path in arguments.save_table.iter().chain(&arguments.t4) {
        Staged::new(path).check().map_err(Error::unwritable(path))?;
    }
    Ok(())
}

fn trial(trial: &Trial) -> answer::Trial {
    let failed = || Failure::new(Status::Error, "it wasn't measured");
    let outcome = match (&trial.measured, &trial.failure) {
        (Some(measured), _) => Ok(measured.timing),
        (None, failure) => Err(failure.clone().unwrap_or_else(failed)),
    };
    answer::Trial { point: trial.point.clone(), outcome }
}

fn values(point: &Point) -> BTreeMap<String, AxisValue> {
    point.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect()
}

pub fn write_t4(run: &SearchRun, path: &Path) -> anyhow::Result<()> {
    let device = run.search.device();
    let (spent, _) = run.spent();
    let session = T4Session {
        device: device.name.clone(),
        driver: device.driver.label().to_owned(),
        tool_version: TOOL_VERSION.to_owned(),
        began: now().checked_sub(spent).unwrap_or(SystemTime::UNIX_EPOCH),
        objective: "time".to_owned(),
    };
    let results: Vec<T4Result> = run.trials.values().filter_map(result).collect();
    // All is measured: it is no error of usage any more.
    let written = Staged::new(path).write(json(&t4(&session, &results))?.as_bytes());
    written.with_context(|| format!("can't write {}", path.shown()))
}

fn result(trial: &Trial) -> Option<T4Result> {
    let status = trial.failure.as_ref().map_or(Status::Ok, |failure| failure.status);
    let measured = trial.measured.as_ref();
    let measurement =
        |name: &str, value: f64, unit: &str| T4Measurement { name: name.to_owned(), value, unit: unit.to_owned() };
    let mut measurements: Vec<T4Measurement> =
        measured.map(|of| measurement("time", of.time() / 1e6, "ms")).into_iter().collect();
    if let (Some(of), Some(case)) = (measured, &trial.case) {
        let headline = case.headline;
        let amount = match headline.metric {
            Metric::Bandwidth => case.work.bytes,
            Metric::Flops => case.work.flops,
            _ => None,
        };
        #[expect(clippy::cast_precision_loss, reason = "rates have few digits")]
        measurements.extend(amount.map(|amount| measurement(headline.name, amount as f64 / of.time(), headline.unit)));
    }
    Some(T4Result {
        when: trial.when,
        configuration: values(&trial.point),
        validity: T4Validity::from_status(status)?,
        times: T4Times {
            compilation: measured.map_or(Duration::ZERO, |of| of.pipeline_time),
            runtimes_ns: measured.map(|of| of.medians.clone()).unwrap_or_default(),
            benchmark: measured.map_or(Duration::ZERO, |of| of.spent),
            ..T4Times::default()
        },
        measurements,
    })
}
