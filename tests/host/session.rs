//! A session on devices that fail in the middle: nothing that can't be trusted comes out as a figure.

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::Duration;

use crate::support::{cases_of, setting};
use lanescope::experiments::{Config, find};
use lanescope::gpu::{CaseHandle, Loaded, Samples, Submission};
use lanescope::measure::{
    CaseKey, CaseSource, Compared, Dispatcher, Earlier, Event, LocalBench, LocalOptions, Measured, Mock, MockOptions, Options,
    Pool, ProcessorTime, Rule, Session, SourcedCase, Task, ToolCases, VisitMade,
};
use lanescope::model::{Case, DeviceInfo, Failure, Flag, Footprint, Preset, Status, Stop};
use lanescope::shader::{Compiler, Library, Prepared, prepare};
use lanescope::units::{TickScale, Ticks};
use lanescope::validate::Expected;

struct Flaky {
    mock: Mock,
    /// Slots given out since the last unload, and what they are.
    loaded: Vec<(CaseHandle, String)>,
    /// An experiment whose samples fail from the given one on, counted over the whole run.
    fails: Option<(&'static str, usize)>,
    sampled: usize,
    /// By how much the timestamps of `workgroup/linear` show more time than there was.
    stretch: f64,
    /// What each sample of `dispatch/submit` takes beyond what is timed of it, and what all of them took so far.
    untimed: Duration,
    late: Duration,
    /// Cases that fit at one time, besides the two that the session itself needs.
    fits: usize,
    /// How long the device has nothing to do while a case is compiled, and whether its clock halves meanwhile.
    nap: Rc<Cell<Duration>>,
    falls: bool,
    /// How long it has to work until its clock has risen.
    to_rise: Duration,
    /// How long the sentinel has run since a case was loaded, and how long before one was sampled first.
    sentinel: Duration,
    warmed: Option<Duration>,
}

impl Flaky {
    fn new(fails: Option<(&'static str, usize)>, fits: usize) -> Self {
        let mock = Mock::new(MockOptions::default(), 1, Box::new(oracle));
        Self {
            mock,
            loaded: Vec::new(),
            fails,
            sampled: 0,
            stretch: 1.0,
            untimed: Duration::ZERO,
            late: Duration::ZERO,
            fits,
            nap: Rc::default(),
            falls: false,
            to_rise: Duration::ZERO,
            sentinel: Duration::ZERO,
            warmed: None,
        }
    }
}

impl Flaky {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "simulated times are small"
    )]
    fn stretched(start: Ticks, end: Ticks, stretch: f64) -> Ticks {
        Ticks(start.0 + ((end.0 - start.0) as f64 * stretch) as u64)
    }
}

fn oracle(case: &Case) -> Vec<Vec<u8>> {
    let experiment = find(&case.experiment).expect("it is in the catalogue");
    let device = DeviceInfo::mock();
    let setting = setting(&device, Preset::Quick);
    let built = experiment.build(&Config::new(&case.variant, &case.point, &setting)).expect("it was built before");
    built.expected().iter().map(Expected::bytes).collect()
}

/// Of a borrowed one: what it saw is looked at afterwards.
impl Dispatcher for &mut Flaky {
    fn info(&self) -> &DeviceInfo {
        self.mock.info()
    }

    fn tick_scale(&self) -> Option<TickScale> {
        self.mock.tick_scale()
    }

    fn now(&self) -> Duration {
        self.mock.now() + self.late
    }

    fn processor_time(&self) -> Option<ProcessorTime> {
        self.mock.processor_time()
    }

    fn memory_budget(&self) -> Footprint {
        self.mock.memory_budget()
    }

    fn footprint(&self, prepared: &Prepared) -> Footprint {
        self.mock.footprint(prepared)
    }

    fn load(&mut self, prepared: &Prepared) -> Result<Loaded, Failure> {
        if self.loaded.len() >= self.fits + 2 {
            return Err(Failure::new(Status::OutOfMemory, "full"));
        }
        let loaded = self.mock.load(prepared)?;
        self.loaded.push((loaded.slot, prepared.case.experiment.clone()));
        if !prepared.case.experiment.starts_with("calibration/") {
            self.late += self.nap.get();
            self.to_rise = if self.falls { WARM_UP / 2 } else { Duration::ZERO };
            (self.sentinel, self.warmed) = (Duration::ZERO, None);
        }
        Ok(loaded)
    }

    fn run_reset(&mut self, slot: CaseHandle) -> Result<(), Failure> {
        self.mock.run_reset(slot)
    }

    fn run_checked(&mut self, slot: CaseHandle) -> Result<Duration, Failure> {
        self.mock.run_checked(slot)
    }

    fn read(&mut self, slot: CaseHandle, resource: usize) -> Result<Vec<u8>, Failure> {
        self.mock.read(slot, resource)
    }

    fn sample(&mut self, slot: CaseHandle, batch: u32, samples: u32) -> Result<Submission, Failure> {
        let is = |name: &str| self.loaded.iter().any(|(loaded, experiment)| *loaded == slot && experiment == name);
        if let Some((_, from)) = self.fails.filter(|(name, _)| is(name) && batch > 0) {
            self.sampled += 1;
            if self.sampled >= from {
                return Err(Failure::new(Status::DeviceLost, "lost in between"));
            }
        }
        let before = self.now();
        let mut submission = self.mock.sample(slot, batch, samples)?;
        let took = self.now().saturating_sub(before);
        let stretch = if self.to_rise > Duration::ZERO { 2.0 } else { 1.0 };
        self.to_rise = self.to_rise.saturating_sub(took);
        if is(SENTINEL) {
            self.sentinel += took;
            submission.samples.iter_mut().for_each(|(start, end)| *end = Flaky::stretched(*start, *end, stretch));
        }
        if is("dispatch/submit") {
            self.late += self.untimed * samples;
        }
        if is(LINEAR.0) {
            self.warmed = self.warmed.or(Some(self.sentinel));
            submission.samples.iter_mut().for_each(|(start, end)| *end = Flaky::stretched(*start, *end, self.stretch));
        }
        Ok(submission)
    }

    fn sample_between(&mut self, wanted: Samples) -> Result<Submission, Failure> {
        let Samples { evictor, slot, batch, samples, then } = wanted;
        let mut submission = match evictor {
            Some(_) => self.mock.sample_between(Samples { then: None, ..wanted })?,
            None => self.sample(slot, batch, samples)?,
        };
        if let Some(then) = then {
            submission.after = self.sample(then, 1, 1)?.samples.first().copied();
        }
        Ok(submission)
    }

    fn unload(&mut self) {
        self.loaded.clear();
        self.mock.unload();
    }
}

fn outcomes(device: &mut Flaky, filter: &str, axes: &[&str]) -> Vec<Outcome> {
    outcomes_by(&[Rule::Each], device, filter, axes)
}

/// The same of the last of several blocks in one session, a block for each rule. The device has naps in the first one alone.
fn outcomes_by(rules: &[Rule], device: &mut Flaky, filter: &str, axes: &[&str]) -> Vec<Outcome> {
    let (tools, prepared) = prepared(device, filter, axes);
    measure(rules, device, &tools, &prepared)
}

/// The compiled cases of a request, and the instrument's own.
fn prepared(device: &Flaky, filter: &str, axes: &[&str]) -> (ToolCases, Vec<Prepared>) {
    let info = device.mock.info().clone();
    let mut compiler = Compiler::new(Library::embedded()).expect("the compiler starts");
    let mut cases = |filter: &str, axes: &[&str]| -> Vec<Prepared> {
        let case = |case: Case| prepare(case, &mut compiler).expect("it compiles");
        cases_of(&info, filter, axes).into_iter().map(case).collect()
    };
    let [empty, sentinel] = ["calibration/empty", SENTINEL].map(|name| cases(name, &[]).remove(0));
    let tools = ToolCases { empty, sentinel, core_clock: None, evictor: None, sweep: None };
    (tools, cases(filter, axes))
}

fn measure(rules: &[Rule], device: &mut Flaky, tools: &ToolCases, prepared: &[Prepared]) -> Vec<Outcome> {
    let nap = Rc::clone(&device.nap);
    let mut session = session(rules[0], device, tools, prepared);
    let task = |prepared: &'_ Prepared| CaseKey::from_case(&prepared.case);
    let tasks: Vec<Task> = prepared.iter().map(|p| Task { key: task(p), case: &p.case, base: None }).collect();
    let mut outcomes = session.measure(&tasks, &mut |_| ControlFlow::Continue(()));
    for rule in &rules[1..] {
        nap.set(Duration::ZERO);
        session.set_rule(*rule);
        outcomes = session.measure(&tasks, &mut |_| ControlFlow::Continue(()));
    }
    let failure = session.given_up().cloned();
    let result = |outcome: Option<lanescope::measure::Outcome>| match (outcome, &failure) {
        (Some(outcome), _) => outcome.result,
        (None, Some(failure)) => Err(failure.clone()),
        (None, None) => panic!("a case was left out"),
    };
    outcomes.into_iter().map(result).collect()
}

fn session<'d>(rule: Rule, device: &'d mut Flaky, tools: &ToolCases, prepared: &'d [Prepared]) -> Session<'d> {
    let options = LocalOptions { warm_up: WARM_UP, max_time: MAX_TIME, timer: None, sentinel: None, is_cold: false };
    let bench = LocalBench::new(Box::new(device), tools.clone(), Box::new(Right(prepared)), options);
    let pool = Pool::single(bench.expect("the mock can be calibrated"));
    Session::new(pool, Options { rule, max_noise: 0.05, max_time: MAX_TIME, seed: 1 })
}

type Outcome = Result<Measured, Failure>;

/// Cases that are compiled already, and whose results are right.
struct Right<'p>(&'p [Prepared]);

impl CaseSource for Right<'_> {
    fn prepare(&mut self, key: &CaseKey) -> Result<SourcedCase, Failure> {
        let found = self.0.iter().find(|prepared| CaseKey::from_case(&prepared.case) == *key);
        let prepared = found.cloned().ok_or_else(|| Failure::new(Status::Error, "there is no such case"))?;
        Ok(SourcedCase::new(prepared, |_, _| Ok(Ok(Compared::default()))))
    }
}

const MAX_TIME: Duration = Duration::from_millis(50);

/// How long clocks take to rise.
const WARM_UP: Duration = Duration::from_millis(30);

const SENTINEL: &str = "calibration/sentinel";

const LINEAR: (&str, &[&str]) = ("workgroup/linear", &["n=4096", "local_size_x=32,64,128,256,512"]);

#[test]
fn a_sound_device_measures_every_case() {
    let outcomes = outcomes(&mut Flaky::new(None, 100), LINEAR.0, LINEAR.1);
    assert!(outcomes.len() == 5 && outcomes.iter().all(|outcome| outcome.as_ref().is_ok_and(|m| m.overhead.is_some())));
}

/// What is broken off after some visits goes on in another process: each counts, unless the module is another one by then.
#[test]
fn what_was_visited_goes_on_in_a_later_session() {
    let mut device = Flaky::new(None, 100);
    let (tools, prepared) = prepared(&device, LINEAR.0, LINEAR.1);
    let tasks: Vec<Task> =
        prepared.iter().map(|p| Task { key: CaseKey::from_case(&p.case), case: &p.case, base: None }).collect();
    let mut earlier: HashMap<CaseKey, Earlier> = HashMap::new();
    let mut visits = 0;
    let mut first = session(Rule::Each, &mut device, &tools, &prepared).keeping_few_rounds();
    let broken_off = first.measure(&tasks, &mut |event| {
        if let Event::Visited(VisitMade { key, spirv_hash, sizes, before, process, sentinel, visited }) = event {
            let (spirv_hash, visit) = (spirv_hash.to_owned(), (process, visited.clone()));
            let new = || Earlier { spirv_hash, sizes, sentinel, visits: Vec::new() };
            let of = earlier.entry(key.clone()).or_insert_with(new);
            assert_eq!(before, of.visits.len());
            of.visits.push(visit);
            visits += 1;
        }
        // Two rounds, and three cases of the third.
        if visits < 13 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    drop(first);
    let stops = broken_off.into_iter().map(|outcome| outcome.expect("each was visited").result.expect("it is right").stop);
    assert!(stops.eq([Stop::BrokenOff; 5]));

    let mut other = earlier.clone();
    other.values_mut().for_each(|earlier| earlier.spirv_hash = "v0".to_owned());
    // One that began while the device was half as fast.
    let mut slow = earlier.clone();
    slow.values_mut().for_each(|earlier| earlier.sentinel.0 *= 2.0);
    for (recalled, counts) in [(&earlier, true), (&other, false), (&slow, true)] {
        let mut device = Flaky::new(None, 100);
        let mut second = session(Rule::Each, &mut device, &tools, &prepared);
        second.number_processes_behind(1);
        recalled.iter().for_each(|(key, earlier)| second.recall(key.clone(), earlier.clone()));
        let outcomes = second.measure(&tasks, &mut |_| ControlFlow::Continue(()));
        for (task, outcome) in tasks.iter().zip(outcomes) {
            let Measured { rounds, batch, overhead, clock_ratio, .. } =
                outcome.expect("it is measured").result.expect("it is right");
            let before = if counts { &earlier[&task.key].visits[..] } else { &[] };
            assert_eq!(rounds.processes.iter().filter(|process| **process == 1).count(), before.len());
            assert!(
                rounds.processes[before.len()..].iter().all(|process| *process == 2) && rounds.processes.len() > before.len()
            );
            assert!(before.iter().zip(&rounds.samples).all(|((_, visited), samples)| visited.visit.samples == *samples));
            assert!(overhead.is_some() && (!counts || batch == earlier[&task.key].sizes.0.batch));
            // Three of six were at half the clock that this session relates to.
            let is_slow = before.len() == 3 && std::ptr::eq(recalled, &slow);
            let expected = if is_slow { 0.7..0.8 } else { 0.95..1.05 };
            assert!(clock_ratio.is_some_and(|ratio| expected.contains(&ratio)), "{clock_ratio:?}");
        }
    }
}

/// A device whose timestamps show more time than the host saw pass, which no clock within 1 % of the other can.
#[test]
fn more_time_than_the_host_saw_is_implausible() {
    let mut device = Flaky { stretch: 1.0, ..Flaky::new(None, 100) };
    let sound = outcomes(&mut device, LINEAR.0, LINEAR.1);
    assert!(sound.iter().all(|outcome| outcome.as_ref().is_ok_and(|m| m.implausible.is_none())));
    let mut device = Flaky { stretch: 50.0, ..Flaky::new(None, 100) };
    for outcome in outcomes(&mut device, LINEAR.0, LINEAR.1) {
        let measured = outcome.expect("it is measured all the same");
        assert!(measured.flags.contains(&Flag::Implausible), "{:?}", measured.flags);
        assert!(measured.implausible.expect("it says why").contains("for what the host saw end after"));
    }
}

/// A device whose timestamps stand still once it is calibrated.
#[test]
fn a_time_of_nothing_is_implausible() {
    let mut device = Flaky { stretch: 0.0, ..Flaky::new(None, 100) };
    for outcome in outcomes(&mut device, LINEAR.0, LINEAR.1) {
        let measured = outcome.expect("it is measured all the same");
        assert!(measured.flags.contains(&Flag::Implausible), "{:?}", measured.flags);
        assert!(measured.implausible.expect("it says why").contains("two timestamps back to back"));
    }
}

/// The empty pass is what `launch_bound` is judged by: without it no figure may stand.
#[test]
fn a_failure_between_the_visits_fails_the_cases() {
    for from in [1, 7, 30] {
        let outcomes = outcomes(&mut Flaky::new(Some(("calibration/empty", from)), 100), LINEAR.0, LINEAR.1);
        assert_eq!(outcomes.len(), 5);
        // No case is to blame, and without another device none can go on.
        let lost = |outcome: &Outcome| outcome.as_ref().is_err_and(|failure| failure.is_untried);
        assert!(outcomes.iter().all(lost), "from the {from}th sample of an empty pass on: {outcomes:?}");
    }
}

#[test]
fn cases_that_do_not_fit_at_one_time_are_measured_one_after_the_other() {
    let outcomes = outcomes(&mut Flaky::new(None, 2), LINEAR.0, LINEAR.1);
    assert!(outcomes.len() == 5 && outcomes.iter().all(Result::is_ok));
}

#[test]
fn a_case_that_fits_never_is_out_of_memory() {
    let outcomes = outcomes(&mut Flaky::new(None, 0), LINEAR.0, LINEAR.1);
    let full = |outcome: &Outcome| outcome.as_ref().is_err_and(|failure| failure.status == Status::OutOfMemory);
    assert!(outcomes.len() == 5 && outcomes.iter().all(full));
}

/// Submitting takes microseconds, and what was submitted may take long: that is of the case's time as well.
#[test]
fn what_is_not_timed_takes_of_a_cases_time() {
    let mut device = Flaky { untimed: Duration::from_millis(1), ..Flaky::new(None, 100) };
    let outcomes = outcomes(&mut device, "dispatch/submit", &[]);
    assert!(outcomes.len() == 1 && outcomes[0].is_ok());
    assert!(device.late < MAX_TIME, "{:?}", device.late);
}

/// Where a search goes by one look at each case, a device whose clock has not fallen is not worked for half a second before each of
/// them; a figure that may stand is never had so, nor from a device that was spared before.
#[test]
fn a_glance_spares_a_warm_up_while_the_clock_is_up() {
    let warmed = |rules: &[Rule], nap, falls| {
        let nap = Rc::new(Cell::new(Duration::from_millis(nap)));
        let mut device = Flaky { nap, falls, ..Flaky::new(None, 100) };
        let outcomes = outcomes_by(rules, &mut device, LINEAR.0, &["n=4096", "local_size_x=64"]);
        let flags = &outcomes[0].as_ref().expect("it is measured").flags;
        assert!(!flags.contains(&Flag::Drift) && !flags.contains(&Flag::Throttled), "{rules:?}: {flags:?}");
        device.warmed.expect("it was sampled") >= WARM_UP
    };
    assert!(!warmed(&[Rule::Glance], 100, false));
    assert!(warmed(&[Rule::Glance], 100, true));
    for rule in [Rule::Each, Rule::Race] {
        assert!(warmed(&[rule], 100, false) && warmed(&[rule], 100, true), "{rule:?}");
        assert!(!warmed(&[rule], 0, false), "{rule:?}");
        // It was never idle since the glance, which found it fast enough; nor was it before the second of two others.
        assert!(warmed(&[Rule::Glance, rule], 100, false), "{rule:?}");
        assert!(!warmed(&[rule, rule], 100, false), "{rule:?}");
        assert!(!warmed(&[Rule::Glance, Rule::Glance, rule], 0, false), "{rule:?}");
    }
}
