//! The configurations that a search has tried, and their rows: those of an earlier search among them.

use std::collections::BTreeMap;
use std::time::SystemTime;

use super::figures::Measurement;
use super::spec::{SIZE, Search, usage};
use crate::campaign::assembled::{CaseResult, Described};
use crate::campaign::earlier::{Judge, Verdict};
use crate::campaign::resumable::{check_identity, check_sound, check_version};
use crate::error::Error;
use crate::measure::Outcome;
use crate::model::{AxisValue, Cache, Case, Failure, Flag, Point, Quirk, Status, Stop};
use crate::plan::case_id;
use crate::platform::now;
use crate::record::{Completeness, Record, quirk_flag};
use crate::subject::{Doubt, UserKernel};

pub struct Trial {
    pub point: Point,
    pub row: Option<Record>,
    pub measured: Option<Measurement>,
    pub failure: Option<Failure>,
    pub when: SystemTime,
    /// Where the device's limits allow it.
    pub case: Option<Case>,
    /// Whether it leaves buffers, as the reference does.
    pub leaves: bool,
    /// A fault of the driver's that it comes to.
    pub quirk: Option<Quirk>,
    /// Whether its row is an earlier search's.
    pub is_earlier: bool,
    /// Whether it was measured beside those that may be the best, after the search: an answer follows from nothing else.
    pub is_finalist: bool,
}

impl Trial {
    pub fn new(point: Point, case: Option<Case>) -> Self {
        Self {
            point,
            row: None,
            measured: None,
            failure: None,
            when: now(),
            case,
            leaves: false,
            quirk: None,
            is_earlier: false,
            is_finalist: false,
        }
    }

    pub fn cost(&self) -> Option<f64> {
        self.measured.as_ref().map(Measurement::time)
    }

    fn has_stopped(&self, stop: Stop) -> bool {
        self.measured.as_ref().is_some_and(|measured| measured.stop == stop)
    }

    /// Whether it has an interval.
    pub fn is_precise(&self) -> bool {
        self.measured.as_ref().is_some_and(|measured| !measured.stop.is_early())
    }

    /// Whether its row is one of an earlier search that says more than this outcome would: that stays, whatever this search makes of it.
    pub fn keeps_row(&self, outcome: &Outcome) -> bool {
        self.is_earlier
            && match &outcome.result {
                Ok(measured) => self.is_precise() && measured.stop.is_early(),
                Err(failure) => failure.status != Status::WrongResult,
            }
    }

    /// What it took, if that may be the least.
    pub fn rival_cost(&self) -> Option<f64> {
        self.cost().filter(|_| !self.has_stopped(Stop::Beaten))
    }
}

/// Makes the rows of configurations.
pub struct TrialRows<'s> {
    pub search: &'s Search<'s>,
    /// A row with all that is the same in all of them.
    template: Record,
    name: String,
    problem: String,
    /// Whether the shader was taken though it isn't valid SPIR-V.
    is_invalid: bool,
    doubts: Vec<Doubt>,
    loop_cap: Option<Quirk>,
}

impl<'s> TrialRows<'s> {
    pub fn new(search: &'s Search<'s>, kernel: &mut UserKernel, template: Record) -> Result<Self, Error> {
        Ok(Self {
            search,
            template,
            name: kernel.name(),
            problem: kernel.problem(),
            is_invalid: kernel.is_invalid().map_err(|failure| usage(&failure))?,
            doubts: kernel.doubts().map_err(|failure| usage(&failure))?,
            loop_cap: kernel.loop_cap().cloned(),
        })
    }

    pub fn experiment(&self) -> &str {
        &self.name
    }

    /// A row says what size its time is for.
    fn with_size(&self, point: &Point) -> Point {
        let size = (SIZE.into(), AxisValue::from(self.search.subject.n));
        Point::new(point.iter().map(|(name, value)| (name.to_owned().into(), value.clone())).chain([size]))
    }

    pub fn case_id(&self, point: &Point) -> String {
        case_id(&self.name, &self.problem, &[], &self.with_size(point), Cache::Warm)
    }

    /// The row of a configuration, as far as anything came of it.
    pub fn row(&self, configuration: usize, trial: &Trial, case: Result<&Case, &Failure>, fate: CaseResult) -> Record {
        let point = &self.with_size(&trial.point);
        let seen = trial.quirk.iter().map(quirk_flag).chain(trial.leaves.then(|| Flag::OutOfBounds.to_string()));
        let invalid = self.is_invalid.then(|| Flag::InvalidSpirv.to_string());
        let doubted = self.doubts.iter().rev().map(|doubt| quirk_flag(&doubt.quirk));
        let described = Described {
            experiment: &self.name,
            variant: "",
            point,
            cache: Cache::Warm,
            case_id: &self.case_id(&trial.point),
            index: Some(configuration as u64),
            case: case.map_err(Clone::clone),
            flags: seen.chain(invalid).chain(doubted).collect(),
            pair_base: None,
            unpaired: None,
        };
        let is_default = self.search.written_point().map(|written| written == trial.point);
        Record { is_default, ..Record::assembled(&self.template, &described, self.search.device(), fate) }
    }
}

/// What an earlier search has tried, as its rows say.
pub struct Earlier<'r> {
    rows: &'r TrialRows<'r>,
    kernel: &'r mut UserKernel,
    pub trials: BTreeMap<usize, Trial>,
}

impl<'r> Earlier<'r> {
    pub fn new(rows: &'r TrialRows<'r>, kernel: &'r mut UserKernel) -> Self {
        Self { rows, kernel, trials: BTreeMap::new() }
    }

    /// The configuration that a row is of.
    /// Errors: why it is none of this search's.
    fn place(&self, row: &Record) -> Result<usize, String> {
        let TrialRows { search, template, .. } = self.rows;
        check_version(row)?;
        if row.device_uuid != template.device_uuid {
            let Record { device_name, device_uuid, .. } = row;
            return Err(format!("it holds rows of {device_name} ({device_uuid}), which this search doesn't measure on"));
        }
        check_identity(row, template)?;
        let configuration = row.plan_index.and_then(|index| usize::try_from(index).ok());
        let configuration = configuration.filter(|configuration| *configuration < search.space.len());
        let is_own = |configuration: &usize| self.rows.case_id(&search.space.point(*configuration)) == row.case_id;
        let found = configuration.filter(|_| row.plan_id == template.plan_id).filter(is_own);
        found.ok_or_else(|| ANOTHER.to_owned())
    }
}

/// Why a row is none of a search's.
const ANOTHER: &str = "it is of a search with another shader, over other configurations or with another problem: give what that was \
                       given, or name a new file";

impl Judge for Earlier<'_> {
    fn judge(&mut self, row: Record) -> Result<Verdict, String> {
        let configuration = self.place(&row)?;
        let point = self.rows.search.space.point(configuration);
        // Macros that are axes make several modules of one shader.
        if !row.spirv_hash.is_empty() && self.kernel.spirv_hash(&point).is_ok_and(|hash| hash != row.spirv_hash) {
            return Err(ANOTHER.to_owned());
        }
        let case = self.kernel.describe(&point);
        let trial = Trial::new(point, case.as_ref().ok().cloned());
        check_sound(&row, &self.rows.row(configuration, &trial, case.as_ref(), CaseResult::Planned))?;
        let measured = Measurement::from_row(&row);
        // One look is no measurement where each is to be measured to its end.
        let is_short = !self.rows.search.is_race && measured.as_ref().is_some_and(|measured| measured.stop.is_early());
        if Completeness::from_row(&row) != Completeness::Finished || is_short {
            let has_another = self.trials.contains_key(&configuration);
            return Ok(if has_another { Verdict::Dropped(row) } else { Verdict::Again(row) });
        }
        let status = Status::named(&row.status).filter(|status| *status != Status::Ok);
        let is_timed = status.is_none();
        let trial = Trial {
            measured: measured.filter(|_| is_timed),
            failure: status.map(|status| Failure::new(status, row.reason.clone())),
            when: humantime::parse_rfc3339(&row.written_at).unwrap_or(trial.when),
            leaves: is_timed && row.has_flag(Flag::OutOfBounds.name()),
            quirk: self.rows.loop_cap.clone().filter(|quirk| row.has_flag(&quirk_flag(quirk))),
            row: Some(row.clone()),
            is_earlier: true,
            ..trial
        };
        self.trials.insert(configuration, trial);
        Ok(Verdict::Taken(row))
    }
}
