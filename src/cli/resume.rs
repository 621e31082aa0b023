//! `--resume FILE`: what an earlier run left, as far as this one can keep it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::journal::Left;
use super::outputs;
use super::settings::{RunSettings, Settings};
use super::target::Targets;
use crate::analysis::Relations;
use crate::analysis::resumable::{Judge, check_columns, check_same_columns};
use crate::error::Error;
use crate::model::{DeviceInfo, Shown};
use crate::output::{self, Format, Outputs, Staged, Target};
use crate::plan::{Plan, Planned};
use crate::record::{Header, Reader, Record, Standing};
use crate::regular;

#[derive(Default)]
pub struct Kept {
    devices: Vec<DeviceKept>,
    /// The file that holds them, to be continued.
    file: Option<PathBuf>,
    is_anonymous: bool,
    /// As many as cases are measured in now.
    processes: u64,
    pub notes: Vec<String>,
}

#[derive(Default)]
struct DeviceKept {
    places: HashSet<u64>,
    relations: Relations,
}

impl Kept {
    pub fn nothing(devices: usize) -> Self {
        Self { devices: (0..devices).map(|_| DeviceKept::default()).collect(), ..Self::default() }
    }

    /// Keeps what the file of `--resume` holds, if it is there, and leaves it as a file of just that.
    /// Errors: what isn't a file of rows, or holds rows that don't belong to this run, with what differs.
    pub fn read(
        settings: &RunSettings,
        targets: &Targets,
        plans: &[Plan],
        templates: &[Record],
        header: &Header,
    ) -> anyhow::Result<Self> {
        let Settings { flags, are_staged, processes, .. } = &settings.common;
        let own = Self { is_anonymous: flags.anonymous, processes: *processes as u64, ..Self::nothing(plans.len()) };
        let mut kept = own;
        let Some(asked) = &flags.resume else { return Ok(kept) };
        // A part that isn't whole yet bears a temporary name.
        let work = if *are_staged { Staged::new(asked).path().to_owned() } else { asked.clone() };
        if has_twins(targets) {
            let message = "--resume can't distinguish the rows of a device that is paired with itself: measure anew";
            return Err(Error::Usage(message.to_owned()).into());
        }
        // A part is there only while a later run isn't whole.
        let Some(source) = [&work, asked].into_iter().find(|path| path.exists()) else {
            kept.notes.push(format!("{} is not there: measuring everything", asked.shown()));
            return Ok(kept);
        };
        match Reader::open(source) {
            Ok(rows) => {
                let mut judge = Judge::new(targets.devices().collect(), plans, templates, settings.is_paired)?;
                kept.take_over(rows, source, &work, &mut judge, header)?;
            }
            Err(error) if error.holds_no_rows() => kept.notes.push(format!("{error}: measuring everything")),
            Err(error) => return Err(Error::Usage(error.to_string()).into()),
        }
        Ok(kept)
    }

    /// Copies the rows that are kept into a file that then takes the old one's place: whenever this is interrupted, one is whole.
    fn take_over(
        &mut self,
        rows: Reader<std::fs::File>,
        source: &Path,
        work: &Path,
        judge: &mut Judge,
        header: &Header,
    ) -> anyhow::Result<()> {
        let staged = Staged::new(work);
        let copied = self.copy(rows, source, &staged, judge, header);
        if copied.is_err() {
            // What can't be removed bears a name that says what it is.
            let _ = staged.clone().discard();
        }
        copied?;
        staged.finish().with_context(|| format!("can't replace {}", work.shown()))?;
        self.file = Some(work.to_owned());
        Ok(())
    }

    fn copy(
        &mut self,
        mut rows: Reader<std::fs::File>,
        source: &Path,
        staged: &Staged,
        judge: &mut Judge,
        header: &Header,
    ) -> anyhow::Result<()> {
        check_columns(&rows, header).map_err(|why| Error::Usage(format!("{}: {why}", source.shown())))?;
        let mut outputs = output::open(&[(Target::File(staged.path().to_owned()), Format::Csv)], header)?;
        let (mut kept, mut again, mut dropped, mut in_fewer) = (0_u64, 0_u64, 0_u64, 0_u64);
        while let Some(row) = rows.next() {
            let row = row.map_err(|error| Error::Usage(error.to_string()))?;
            if row.is_derived() {
                continue;
            }
            let place = judge.place(&row, |device, place| self.devices[device].places.contains(&place));
            let place = place.map_err(|why| Error::Usage(format!("{}, line {}: {why}", source.shown(), rows.line())))?;
            match place {
                Some((device, planned)) => {
                    self.devices[device].keep(&planned, &row);
                    let mut row = row;
                    if self.is_anonymous {
                        row.host.clear();
                    }
                    row.name_base(&planned, judge.plan(device));
                    // Its file is the only one that these rows are for.
                    let _ = outputs.write(&row)?;
                    kept += 1;
                    // No row has more than it has rounds.
                    let due = self.processes.min(row.rounds.unwrap_or(0));
                    in_fewer += u64::from(row.processes.is_some_and(|processes| processes < due));
                }
                None => {
                    again += 1;
                    dropped += u64::from(Standing::from_row(&row) == Standing::Finished);
                }
            }
        }
        let _ = outputs.finish()?;
        let name = source.shown();
        if dropped > 0 {
            let beside = keep_beside(source)?;
            self.notes.push(format!("{name}: as it was, it is kept in {}", beside.shown()));
        }
        self.notes.extend(rows.cut().map(|cut| format!("{name}: {cut} and is dropped")));
        let reasons = "they failed, were stopped early, or their sources have changed";
        let again = if again > 0 { format!("; measured again, since {reasons}: {again}") } else { String::new() };
        self.notes.push(match (kept, again.is_empty()) {
            (0, true) => format!("{name}: no case was finished"),
            (1, _) => format!("{name}: 1 row is kept{again}"),
            _ => format!("{name}: {kept} rows are kept{again}"),
        });
        if in_fewer > 0 {
            let rows = if in_fewer == 1 { "1 of them was" } else { &format!("{in_fewer} of them were") };
            let processes = self.processes;
            let words = format!(
                "measured in fewer processes than {processes}, and stay as they are: name a new file to measure them so"
            );
            self.notes.push(format!("note: {rows} {words}"));
        }
        Ok(())
    }

    pub fn holds(&self, device: usize, planned: &Planned) -> bool {
        planned.index.is_some_and(|index| self.devices[device].places.contains(&index))
    }

    pub fn count(&self, device: usize) -> u64 {
        self.devices[device].places.len() as u64
    }

    pub fn is_anything(&self) -> bool {
        self.devices.iter().any(|device| !device.places.is_empty())
    }

    /// What the kept rows of a device say of others. Once.
    pub fn take_relations(&mut self, device: usize) -> Relations {
        std::mem::take(&mut self.devices[device].relations)
    }

    pub fn pass_on(&self, outputs: &mut Outputs) -> anyhow::Result<()> {
        if let Some(file) = self.file.as_deref().filter(|_| outputs.lacks_rows()) {
            for row in Reader::open(file)? {
                // Who stops reading now will show when the first new row is written.
                let _ = outputs.pass_on(&row?)?;
            }
        }
        Ok(())
    }
}

impl DeviceKept {
    fn keep(&mut self, planned: &Planned, row: &Record) {
        self.places.extend(planned.index);
        // What others will be held against; the row itself stays as it is.
        self.relations.judge(&planned.work, &mut row.clone());
        self.relations.keep(row, planned.base.as_ref().is_some_and(|base| base.case_id == planned.case_id));
    }
}

/// Looks at the file of a search that is to go on: what its journal doesn't know isn't overwritten. Gives what the user should know.
/// Errors: a file of rows that no journal of this search goes with.
pub fn check_search(file: &Path, template: &Record, header: &Header, left: Left) -> anyhow::Result<Option<String>> {
    let name = file.shown();
    if left == Left::ByOthers {
        let words =
            "is of a search with another shader or device, or with other flags: give what that was given, or name a new file";
        return Err(Error::Usage(format!("what is left beside {name} {words}")).into());
    }
    if !file.exists() && left == Left::Nothing {
        return Ok(Some(format!("{name} is not there: searching from the beginning")));
    }
    let rows = match Reader::open(file) {
        Ok(rows) => rows,
        Err(_) if !file.exists() => return Ok(None),
        Err(error) if error.holds_no_rows() => return Ok(None),
        Err(error) => return Err(Error::Usage(error.to_string()).into()),
    };
    let has_own_columns = check_same_columns(&rows, header).is_ok();
    // Without it, whose rows these are can't be told by them; their columns are this search's.
    let has_plans = header.names().any(|name| name == "plan_id");
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return Ok(None);
    }
    if left == Left::Nothing {
        let words = "has the rows of a search that came to its end: name a new file";
        return Err(Error::Usage(format!("{name} {words}")).into());
    }
    // What this search wrote, its journal has as well.
    if has_own_columns && rows.all(|row| row.is_ok_and(|row| !has_plans || row.plan_id == template.plan_id)) {
        return Ok(None);
    }
    let beside = keep_beside(file)?;
    Ok(Some(format!("{name} has more than this search wrote: as it was, it is kept in {}", beside.shown())))
}

/// Where the outputs of a run go, the file to be resumed among them; and those that bear temporary names.
/// Errors: a file whose ending tells no format, and one to be resumed that isn't CSV.
#[expect(clippy::type_complexity, reason = "a name for two lists would say no more")]
pub fn output_targets(settings: &Settings, kept: &Kept) -> Result<(Vec<(Target, Format)>, Vec<Staged>), Error> {
    let mut files = settings.flags.output.clone();
    let resumed = settings.flags.resume.as_ref();
    if let Some(file) = resumed {
        if Format::from_path(file)? != Format::Csv {
            return Err(Error::Usage(format!("only CSV can be resumed, not {}", file.shown())));
        }
    }
    files.retain(|file| !resumed.is_some_and(|resumed| output::is_same_file(file, resumed)));
    files.splice(0..0, resumed.cloned());
    let for_stdout = if outputs::is_terminal() { settings.on_terminal } else { Format::for_stdout(false) };
    let mut targets = outputs::targets(&files, settings.flags.format, for_stdout, true)?;
    if let (Some(_), Some((target, format))) = (resumed, targets.first_mut()) {
        *format = Format::Csv;
        if let (Target::File(path), true) = (&*target, kept.file.is_some()) {
            *target = Target::Continued(path.clone());
        }
    }
    Ok(if settings.are_staged { outputs::stage(targets) } else { (targets, Vec::new()) })
}

/// Copies a file to a name beside it that nothing bears.
fn keep_beside(file: &Path) -> anyhow::Result<PathBuf> {
    let copied = regular::open(file, regular::ROWS).and_then(|mut rows| output::copy_beside(&mut rows, file, ".bak"));
    copied.with_context(|| format!("can't copy {} to a name beside it", file.shown()))
}

fn has_twins(targets: &Targets) -> bool {
    let devices: Vec<&DeviceInfo> = targets.devices().collect();
    devices.iter().enumerate().any(|(i, device)| devices[..i].iter().any(|earlier| earlier.index == device.index))
}
