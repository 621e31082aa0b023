//! A case of a block, from loading to outcome.

use std::time::Duration;

use super::bench::{CaseKey, Compared, Job, Loading, ShaderFacts, Visited};
use super::block::Observing;
use super::core_clock;
use super::earlier::Earlier;
use super::flags::{self, Evidence, Pass, flags};
use super::local::REPEATS;
use super::pool::Pool;
use super::rig::Conditions;
use super::session::{Event, PairBase, Session, Task, VisitMade};
use super::stop::JUDGED_ROUNDS;
use super::visit::{Sizes, Visit};
use super::{Measured, RatioBounds, Rounds, SampleOverhead, Timer, timed_rounds};
use crate::model::{self, Case, CoreClocks, Failure, Measurand, PipelineStatistics, Stage, Status, Stop};
use crate::stats::{self, Timed};
use crate::units::Nanos;

const CLOCK_NOT_SHOWN: &str =
    "core clock or a clock of its own: what the device's counter counts didn't show, since the clock didn't move";

/// Where a case is loaded: in this process, and nowhere once that is lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoadedAt {
    process: u32,
    index: usize,
}

impl LoadedAt {
    /// What the bench that sits at a slot now calls it.
    fn at(self, pool: &Pool, slot: usize) -> Option<usize> {
        (pool.present(slot) == Some(self.process)).then_some(self.index)
    }
}

pub(super) struct BlockCase<'c> {
    pub(super) task: &'c Task<'c>,
    /// Where it is loaded, by the pool's slots; and its base, by those of the base's pool.
    places: Vec<Option<LoadedAt>>,
    base_places: Vec<Option<LoadedAt>>,
    pub(super) shader: Option<ShaderFacts>,
    pub(super) sizes: Option<(Sizes, Option<Sizes>)>,
    /// Why it isn't paired, though it should be.
    pub(super) unpaired: Option<Failure>,
    pub(super) pipeline_time: Duration,
    pub(super) statistics: Option<Vec<PipelineStatistics>>,
    pub(super) memory_types: String,
    pub(super) overhead: Option<Nanos>,
    /// What was kept of each round, and the process that made it.
    pub(super) visits: Vec<(u32, Visited)>,
    /// Of each visit, the session's round in which it was made; zero where that was in another session.
    numbers: Vec<u32>,
    pub(super) noise: Vec<f64>,
    pub(super) ended: Option<Result<Stop, Failure>>,
    /// Whether it has to wait for another block: it no longer fits beside the others.
    pub(super) is_deferred: bool,
    /// What its process was lost at while it was paired: it is tried alone, to tell which of the two is to blame.
    pub(super) suspected_at: Option<Stage>,
    /// By the pool's slots, whether it was timed there, and whether what it left behind was compared since.
    pub(super) timed: Vec<bool>,
    pub(super) checked: Vec<bool>,
    /// What there was to say of its results, the last time that they were compared.
    pub(super) remark: Option<String>,
    /// How far its results were from the reference's at most, in units of what is allowed.
    pub(super) error: Option<f64>,
    /// In a race: whether its results were right after a timed batch, so that it may beat others.
    pub(super) is_right: bool,
    /// What beat it, by its place in the block.
    pub(super) beaten_by: Option<usize>,
    /// Whether its end was told. One whose rival turns out to be wrong goes on, and ends twice.
    pub(super) is_told: bool,
    has_pipeline: bool,
    /// What an earlier run measured of it, until it is loaded.
    earlier: Option<Earlier>,
}

impl<'c> BlockCase<'c> {
    pub(super) fn new(task: &'c Task<'c>, slots: usize, earlier: Option<Earlier>) -> Self {
        Self {
            task,
            places: vec![None; slots],
            base_places: vec![None; slots],
            shader: None,
            sizes: earlier.as_ref().map(|earlier| earlier.sizes),
            unpaired: None,
            pipeline_time: Duration::ZERO,
            statistics: None,
            memory_types: String::new(),
            overhead: None,
            visits: Vec::new(),
            numbers: Vec::new(),
            noise: Vec::new(),
            ended: None,
            is_deferred: false,
            suspected_at: None,
            timed: vec![false; slots],
            checked: vec![false; slots],
            remark: None,
            error: None,
            is_right: false,
            beaten_by: None,
            is_told: false,
            has_pipeline: false,
            earlier,
        }
    }

    pub(super) fn case(&self) -> &'c Case {
        self.task.case
    }

    /// Whether it is about the device's work, and not about its timer or the host.
    pub(super) fn is_pass(&self) -> bool {
        self.case().measurand == Measurand::Pass
    }

    pub(super) fn is_active(&self) -> bool {
        self.ended.is_none() && !self.is_deferred
    }

    /// The base that is loaded with it on its own device.
    pub(super) fn base_here(&self) -> Option<&CaseKey> {
        match &self.task.base {
            Some(PairBase::Here(key)) if self.unpaired.is_none() => Some(key),
            _ => None,
        }
    }

    /// Whether its samples alternate with those of a base, as far as that can be measured.
    pub(super) fn is_paired(&self) -> bool {
        self.task.base.is_some() && self.unpaired.is_none()
    }

    pub(super) fn is_paired_across(&self) -> bool {
        self.is_paired() && matches!(self.task.base, Some(PairBase::There(_)))
    }

    pub(super) fn job(&self) -> Job {
        Job { key: self.task.key.clone(), base: self.base_here().cloned(), sizes: self.sizes, is_checked: !self.has_pipeline }
    }

    pub(super) fn base_job(&self) -> Option<Job> {
        let Some(PairBase::There(key)) = &self.task.base else { return None };
        let sizes = self.sizes.and_then(|(_, base)| base).map(|sizes| (sizes, None));
        Some(Job { key: key.clone(), base: None, is_checked: sizes.is_none(), sizes })
    }

    /// Its place on the bench that sits at a slot of its pool now, if it is loaded there.
    pub(super) fn place(&self, pool: &Pool, slot: usize) -> Option<usize> {
        self.places[slot]?.at(pool, slot)
    }

    /// The same of its base, which has a pool of its own.
    pub(super) fn base_place(&self, pool: &Pool, slot: usize) -> Option<usize> {
        self.base_places[slot]?.at(pool, slot)
    }

    /// Takes note that the bench at a slot was emptied.
    pub(super) fn unloaded(&mut self, slot: usize) {
        self.places[slot] = None;
    }

    pub(super) fn base_loaded(&mut self, slot: usize, process: u32, index: usize) {
        self.base_places[slot] = Some(LoadedAt { process, index });
    }

    pub(super) fn loaded(&mut self, slot: usize, process: u32, loading: Loading) {
        if self.shader.is_none() {
            self.shader = loading.shader;
        }
        match loading.result {
            Ok(loaded) => {
                self.take_up();
                self.take_compared(Compared { remark: None, error: loaded.error });
                self.places[slot] = Some(LoadedAt { process, index: loading.place });
                // Later processes may find the driver's own cache filled by the first.
                if !self.has_pipeline {
                    (self.pipeline_time, self.statistics, self.has_pipeline) = (loaded.pipeline_time, loaded.statistics, true);
                    self.memory_types = loaded.memory_types;
                }
                if let Some(failure) = loaded.unpaired.filter(|_| self.unpaired.is_none()) {
                    self.part_from_base(failure);
                }
            }
            Err(failure) => self.fail(failure),
        }
    }

    /// Takes what there is to say of its results.
    pub(super) fn take_compared(&mut self, Compared { remark, error }: Compared) {
        self.remark = remark.or(self.remark.take());
        self.error = self.error.into_iter().chain(error).reduce(f64::max);
    }

    /// Takes up what an earlier run measured, if it was of the same module; else it is sized anew.
    fn take_up(&mut self) {
        let Some(earlier) = self.earlier.take() else { return };
        if !earlier.is_of(self.shader.as_ref(), self.is_paired()) {
            self.sizes = None;
            return;
        }
        self.numbers = vec![0; earlier.visits.len()];
        self.visits = earlier.visits;
        // It was judged before, but for the last time: that comes after its next visit.
        while JUDGED_ROUNDS.get(self.noise.len() + 1).is_some_and(|next| self.visits.len() >= *next as usize) {
            let judged = JUDGED_ROUNDS[self.noise.len()] as usize;
            let noise = self.noise_of(&self.visits[..judged]);
            self.noise.push(noise);
        }
    }

    /// Tells of a visit that is about to be taken.
    pub(super) fn announce(&self, (process, sentinel): (u32, Nanos), visited: &Visited, observing: &mut Observing) {
        let Some(sizes) = self.sizes else { return };
        let spirv_hash = self.shader.as_ref().map_or("", |shader| shader.spirv_hash.as_str());
        let before = self.visits.len();
        observing.see(Event::Visited(VisitMade { key: &self.task.key, spirv_hash, sizes, before, process, sentinel, visited }));
    }

    pub(super) fn visited(&mut self, slot: usize, (process, round): (u32, u32), visited: Visited) {
        (self.timed[slot], self.checked[slot]) = (true, false);
        self.visits.push((process, visited));
        self.numbers.push(round);
    }

    /// Its rounds of this session.
    pub(super) fn timed_rounds(&self) -> Vec<Timed> {
        timed_rounds(&self.rounds(|visit| &visit.samples), &self.numbers)
    }

    /// Whether it did alone what it was lost at with its base.
    pub(super) fn is_cleared(&self, pool: &Pool) -> bool {
        self.is_active()
            && self.suspected_at.is_some_and(|stage| match stage {
                Stage::Sizing => self.sizes.is_some(),
                Stage::Timing | Stage::Checking => !self.visits.is_empty(),
                _ => (0..self.places.len()).any(|slot| self.place(pool, slot).is_some()),
            })
    }

    pub(super) fn fail(&mut self, failure: Failure) {
        self.ended = Some(Err(failure));
    }

    /// Goes on without the base of a pair, which failed though the case didn't.
    pub(super) fn part_from_base(&mut self, failure: Failure) {
        self.unpaired = Some(failure);
        // What was sampled in alternation doesn't go with what follows.
        self.visits.clear();
        self.numbers.clear();
        self.noise.clear();
        self.timed.fill(false);
    }

    fn kept(&self) -> impl Iterator<Item = &Visit> {
        self.visits.iter().map(|(_, visited)| &visited.visit)
    }

    /// What its visits took, with what they repeated.
    pub(super) fn spent(&self) -> Duration {
        self.visits.iter().map(|(_, visited)| visited.spent).sum()
    }

    pub(super) fn is_disturbed(&self) -> bool {
        flags::are_disturbed(&self.visits.iter().map(|(_, visited)| visited.conditions).collect::<Vec<_>>())
    }

    /// Whether it can't be right, by any of its visits.
    pub(super) fn implausible(&self) -> Option<&String> {
        self.kept().find_map(|visit| visit.implausible.as_ref())
    }

    /// Whether it was visited in as many rounds as the first look takes: fewer have no interval.
    pub(super) fn has_enough(&self) -> bool {
        self.visits.len() >= JUDGED_ROUNDS[0] as usize
    }

    /// Whether it is to be judged: it was visited in as many rounds as the next look takes.
    pub(super) fn is_due(&self) -> bool {
        let next = JUDGED_ROUNDS.get(self.noise.len());
        self.is_active() && next.is_some_and(|rounds| self.visits.len() >= *rounds as usize)
    }

    /// Whether what it left behind was compared wherever it was timed.
    pub(super) fn is_checked(&self) -> bool {
        self.case().check.outputs().is_empty()
            || self.timed.iter().zip(&self.checked).all(|(timed, checked)| !timed || *checked)
    }

    /// What choosing its sizes may take: a few passes, none of which was longer than making the pipeline and the first one, and then
    /// samples that are lengthened until they are long enough.
    pub(super) fn longest_sizing(&self) -> Duration {
        self.pipeline_time * 4 + Duration::from_secs(2)
    }

    /// What a visit may take, all its tries together.
    pub(super) fn longest_visit(&self) -> Duration {
        let visit = |sizes: Sizes| sizes.sample_time * (sizes.samples + 2);
        let both = self.sizes.map_or(Duration::ZERO, |(own, base)| visit(own) + base.map_or(Duration::ZERO, visit));
        both * (1 + REPEATS) * 2
    }

    pub(super) fn batch(&self) -> u32 {
        self.sizes.map_or(1, |(sizes, _)| sizes.batch)
    }

    /// What its samples carry beside its passes, by a timer with this floor. The timer's figures and the host's have none.
    pub(super) fn carried(&self, floor: Nanos) -> SampleOverhead {
        let all: Vec<f64> = self.kept().filter_map(|visit| visit.constant).collect();
        let taken_off = (!all.is_empty()).then(|| Nanos(stats::median(&all)));
        if self.is_pass() { SampleOverhead::new(taken_off, floor, self.batch()) } else { SampleOverhead::default() }
    }

    pub(super) fn rounds(&self, of: impl Fn(&Visit) -> &Vec<f64>) -> Rounds {
        rounds(&self.visits, of)
    }

    /// Noise of what the case is measured for: in a pair, of the ratio.
    pub(super) fn noise_now(&self) -> f64 {
        self.noise_of(&self.visits)
    }

    fn noise_of(&self, visits: &[(u32, Visited)]) -> f64 {
        match self.is_paired() {
            true => rounds(visits, |visit| &visit.ratios),
            false => rounds(visits, |visit| &visit.samples),
        }
        .noise()
    }
}

fn rounds(visits: &[(u32, Visited)], of: impl Fn(&Visit) -> &Vec<f64>) -> Rounds {
    let (processes, samples) = visits.iter().map(|(process, visited)| (*process, of(&visited.visit).clone())).unzip();
    Rounds { samples, processes }
}

impl Session<'_> {
    pub(super) fn measured(&self, entry: BlockCase, stop: Stop) -> Result<Measured, Failure> {
        let rounds = entry.rounds(|visit| &visit.samples);
        let case = entry.case();
        if case.measurand == Measurand::CoreClock && !self.pool.core_clock.is_shown() {
            return Err(Failure::new(Status::Skipped, CLOCK_NOT_SHOWN));
        }
        let does_work = case.work != model::Work::default();
        let time = rounds.value();
        let is_by_host = case.measurand.is_by_host();
        let overhead = entry.overhead.filter(|_| !is_by_host);
        let empty_pass = overhead.filter(|_| does_work).map(|Nanos(time)| time);
        let floor = if is_by_host { 0.0 } else { self.pool.instrument().floor.0 };
        let carried = entry.carried(Nanos(floor));
        let own = Pass { time, batch: entry.batch(), floor, empty_pass };
        let base = self.base_pass(&entry);
        let pair_reach = base.as_ref().map_or_else(RatioBounds::default, |pass| {
            // A base's samples are of the form that its batch asks for.
            let is_differenced = entry.sizes.and_then(|(_, base)| base).is_some_and(|sizes| sizes.shorts > 0);
            let base = SampleOverhead::new(is_differenced.then_some(Nanos(0.0)), Nanos(pass.floor), pass.batch);
            RatioBounds::new((carried, time), (base, pass.time), self.base_pool.is_none())
        });
        let passes: Vec<Pass> = entry.is_pass().then_some(own).into_iter().chain(base).collect();
        let conditions: Vec<Conditions> = entry.visits.iter().map(|(_, visited)| visited.conditions).collect();
        let base_conditions: Vec<Conditions> = entry.kept().filter_map(|visit| visit.base_conditions).collect();
        let subject = Evidence {
            noise: entry.noise_now(),
            // Of what left early no precision was asked.
            max_noise: if stop.is_early() { f64::INFINITY } else { self.options.max_noise },
            passes: &passes,
            conditions: if entry.is_pass() { [&conditions, &base_conditions] } else { [&[], &[]] },
        };
        let host_times: Vec<f64> = entry.kept().flat_map(|visit| &visit.host_times).copied().collect();
        let core_clocks = self.core_clocks(&entry);
        let beyond_limit = || self.beyond_limit(&entry, time);
        let implausible = entry.implausible().cloned().or_else(beyond_limit);
        let mut measured = Measured {
            is_compared: entry.is_right || entry.is_checked(),
            remark: entry.remark.clone(),
            error: entry.error,
            batch: entry.batch(),
            timer: self.timer_of(case.measurand)?,
            stop,
            duration: entry.spent(),
            overhead,
            carried,
            pair_reach,
            host_time: Nanos(if host_times.is_empty() { 0.0 } else { stats::median(&host_times) }),
            sentinel: self.pool.instrument().sentinel,
            clock_ratio: flags::clock_ratio(&conditions).filter(|_| !is_by_host),
            clock_mhz: flags::clock_mhz(&conditions).filter(|_| !is_by_host),
            core_clocks,
            memory_speed_ratio: flags::memory_speed_ratio(&conditions).filter(|_| !is_by_host),
            pipeline_time: entry.pipeline_time,
            pair: entry.is_paired().then(|| entry.rounds(|visit| &visit.ratios)),
            unpaired: entry.unpaired,
            flags: flags(&subject),
            implausible: None,
            statistics: entry.statistics,
            memory_types: entry.memory_types,
            numbers: entry.numbers,
            rounds,
        };
        implausible.into_iter().for_each(|reason| measured.doubt(reason));
        Ok(measured)
    }

    /// The core's clock around each visit, where it is shown.
    fn core_clocks(&self, entry: &BlockCase) -> Vec<Option<CoreClocks>> {
        entry.visits.iter().map(|(_, visited)| self.pool.core_clock.clocks(visited.conditions.core)).collect()
    }

    /// What is wrong with a time that a part of the device can't reach.
    pub(super) fn beyond_limit(&self, entry: &BlockCase, time: f64) -> Option<String> {
        let core_clock_mhz = core_clock::median(&self.core_clocks(entry));
        flags::beyond_limit(entry.case(), time, &self.pool.info().peaks, core_clock_mhz)
    }

    /// The base of a pair as a pass of its own, the launch being the own one's where both are on one device.
    fn base_pass(&self, entry: &BlockCase) -> Option<Pass> {
        let sizes = entry.sizes?.1.filter(|_| entry.is_paired())?;
        let instrument = self.base_pool.as_ref().unwrap_or(&self.pool).instrument();
        let time = entry.rounds(|visit| &visit.base).value();
        Some(Pass { time, batch: sizes.batch, floor: instrument.floor.0, empty_pass: None })
    }

    /// What a measurand is timed by: the device's timestamps themselves are read even where they are not believed.
    fn timer_of(&self, measurand: Measurand) -> Result<Timer, Failure> {
        let timer = self.pool.instrument().timer;
        match measurand {
            Measurand::Pass => return Ok(timer),
            Measurand::HostPass | Measurand::HostCost(_) => return Ok(Timer::Host),
            Measurand::TimerStep | Measurand::TimerFloor | Measurand::ClockRate | Measurand::CoreClock => {}
        }
        self.pool
            .instrument()
            .scale
            .map(Timer::Device)
            .ok_or_else(|| Failure::new(Status::Error, "the queue has no timestamps"))
    }
}
