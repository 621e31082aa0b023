//! What is searched: over which configurations, and how far.

use std::ops::RangeInclusive;
use std::time::Duration;

use anyhow::anyhow;
use sha2::{Digest, Sha256};

use crate::campaign::begin::Campaign;
use crate::digest::label;
use crate::error::Error;
use crate::gpu::compile_threads;
use crate::measure::{Opener, Options, Pool, Rule, Session};
use crate::model::{DeviceInfo, Failure, Point, Stage};
use crate::record::{Header, Record};
use crate::subject::{KernelSpec, Reference, UserKernel};
use crate::tuning::search::{Budget, Strategy};
use crate::tuning::space::Space;
use crate::units::Nanos;
use crate::worker::questions::Respondent;
use crate::worker::questions::bounds::OpenBounds;
use crate::worker::{FoundDevice, Identity, Opening};

/// The column of the problem's size, which is no axis: all configurations have the same.
pub const SIZE: &str = "n";

/// The time that all configurations share with the preset quick, and what each has of it.
const QUICK_TIME: Duration = Duration::from_secs(45);
const QUICK_EACH: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_millis(500);

pub struct Search<'c> {
    pub campaign: &'c Campaign,
    pub subject: KernelSpec,
    pub space: Space,
    pub strategy: Strategy,
    pub budget: Budget,
    /// Whether those that are slower for certain are measured less than the others.
    pub is_race: bool,
    /// Whether what fails at another size alone can't win either.
    pub counts_sizes: bool,
    /// Whether what may win is looked at for races.
    pub checks_races: bool,
    /// The shader as it is written, where that is a configuration.
    pub written: Option<usize>,
}

impl<'c> Search<'c> {
    pub fn place(&self) -> &'c FoundDevice {
        self.campaign.targets.device(0)
    }

    pub fn device(&self) -> &'c DeviceInfo {
        &self.place().info
    }

    /// The configuration that is the shader as it is written, if that is one of the space.
    pub fn written_point(&self) -> Option<Point> {
        self.written.map(|written| self.space.point(written))
    }

    /// The configuration to look at where files are the reference: the shader as it is written, unless that isn't allowed.
    pub fn instead_of_files(&self) -> Point {
        self.written.map_or_else(|| self.space.point(0), |_| Point::default())
    }

    /// How many configurations are tried at most.
    pub fn most_tried(&self) -> usize {
        match self.budget {
            Budget::Count(count) => count.min(self.space.len()),
            Budget::Time(_) => self.space.len(),
        }
    }

    /// How long a configuration may be timed.
    pub fn max_time(&self) -> Duration {
        let share = QUICK_TIME / u32::try_from(self.most_tried().max(1)).unwrap_or(u32::MAX);
        self.campaign.settings.max_time(share.clamp(*QUICK_EACH.start(), *QUICK_EACH.end()))
    }

    pub fn header(&self) -> Result<Header, Error> {
        let axes = self.space.axes().iter().map(|axis| axis.name.to_string());
        Header::new(axes.chain([SIZE.to_owned()])).choosing(&self.campaign.settings.files.columns)
    }

    /// A row with all that is the same in the search's rows.
    pub fn template(&self, kernel: &mut UserKernel) -> Result<Record, Error> {
        let Self { campaign, space, .. } = self;
        // Two searches of one shader over the same configurations have the same plan, wherever its file lies.
        let mut plan = Sha256::new_with_prefix(kernel.name());
        space.axes().iter().for_each(|axis| plan.update(format!("\n{}={:?}", axis.name, axis.values)));
        let KernelSpec { n, checks, tolerance, reference, .. } = kernel.subject();
        let right = match reference {
            Reference::Configuration(point) => format!("{point} {tolerance:?} {checks:?}"),
            Reference::Untouched | Reference::Shader(_) | Reference::Files(_) => format!("{tolerance:?} {checks:?}"),
        };
        plan.update(format!("\n{} seed={} n={n} {} {right}", space.len(), campaign.settings.seed, kernel.problem()));
        plan.update(kernel.spirv_hash(&Point::default()).map_err(|failure| usage(&failure))?);
        let template = campaign.templates().into_iter().next().unwrap_or_default();
        Ok(Record { plan_id: label('p', plan), plan_cases: Some(space.len() as u64), ..template })
    }

    /// Opens the device, and learns what results must be. `sentinel`: its time in an earlier run of the search, that clocks relate to.
    /// Errors: why no configuration can be measured.
    pub fn session(&self, sentinel: Option<Nanos>) -> anyhow::Result<Session<'_>> {
        let options = Options {
            max_noise: self.campaign.settings.max_noise,
            max_time: self.max_time(),
            seed: self.campaign.settings.seed,
            rule: if self.is_race { Rule::Race } else { Rule::Each },
        };
        let pool = Pool::new(self.campaign.settings.processes, self.opener(sentinel)).map_err(unopened)?;
        Ok(Session::new(pool, options).keeping_few_rounds())
    }

    /// Opens the device, in a process of its own where they are apart, for passes that aren't timed.
    pub fn respondent(&self, is_robust: bool, compile_threads: usize) -> Result<Respondent<'c>, Failure> {
        let Campaign { targets, settings, .. } = self.campaign;
        let place = self.place();
        let mut respondent = targets.respondent(place)?;
        respondent.ask(OpenBounds {
            device: Identity::at_place(&place.info, place.index),
            queue: settings.queue.of(&place.info),
            is_robust,
            deadline: settings.submission_deadline(),
            compile_threads,
            // What leaves an array is found by its line.
            subject: KernelSpec { is_traced: true, ..self.subject.clone() },
        })?;
        Ok(respondent)
    }

    pub fn opener(&self, sentinel: Option<Nanos>) -> Opener<'_> {
        let opening = Opening {
            sentinel,
            compile_threads: compile_threads(self.device()),
            subject: Some(Box::new(self.subject.clone())),
            ..self.campaign.settings.opening(self.place(), self.max_time())
        };
        self.campaign.opener(self.place(), opening)
    }
}

/// Why no configuration can be measured.
pub fn unopened(Failure { status, stage, reason, .. }: Failure) -> anyhow::Error {
    match stage {
        Some(Stage::Reference) => anyhow!(
            "the reference, which all results are compared with, can't be run: {status}: {reason}; --reference names another one"
        ),
        _ => anyhow!("the device can't be measured on: {status}: {reason}"),
    }
}

pub fn usage(failure: &Failure) -> Error {
    Error::Usage(failure.reason.clone())
}
