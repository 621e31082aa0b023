//! A session whose benches are lost, run out of memory or answer wrongly at chosen moments: no figure stands that was not measured
//! in enough rounds and checked, and nothing but what is to blame is lost.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::Duration;

use crate::support::cases_of;
use lanescope::measure::{
    Answer, Answering, Bench, CaseKey, Compared, Conditions, Instrument, Job, LAST_ROUND, Loaded, Loading, Loss, Options,
    Order, PairBase, Pool, Rule, Session, Sizes, Task, Timer, Visit, Visited, Watch,
};
use lanescope::model::{Case, DeviceInfo, Failure, Status};
use lanescope::units::{Nanos, TickScale};

/// What is to happen, by the number of the process and how often it was given such an order before; all processes count on.
#[derive(Clone, Default)]
struct Script(Rc<RefCell<Log>>);

#[derive(Default)]
struct Log {
    rounds: u32,
    processes: u32,
    samples: u32,
    lost_at_round: Option<u32>,
    /// Cases that fit at a time, by process; all of them where nothing is said.
    fitting: Vec<usize>,
    /// The process that is lost while it chooses sizes.
    lost_at_size: Option<u32>,
    /// Checks after a timed batch find a wrong result.
    is_wrong: bool,
    /// The bench is lost whenever the case of this workgroup size is checked.
    lost_at_check: Option<u32>,
    /// Visits, and the one at which the bench is lost, of all.
    visits: u32,
    lost_at_visit: Option<u32>,
    /// Processes that have loaded the case of this workgroup size are lost at the third visit after that, whoever is visited.
    poisonous: Option<u32>,
    /// A process dies as soon as it has loaded something and has nothing to do.
    dies_when_idle: bool,
    /// Benches compile ahead, and crash on the case at this index: at once where they do, else when they come to it.
    crashing: Option<u32>,
    /// The sample that fails, of all that are ordered one by one.
    failing_sample: Option<u32>,
}

/// A bench that measures nothing and answers as told.
struct Scripted {
    script: Script,
    process: u32,
    info: DeviceInfo,
    instrument: Instrument,
    /// By place, the workgroup sizes.
    loaded: Vec<u32>,
    /// Visits since the poisonous case was loaded.
    poisoned: Option<u32>,
}

impl Scripted {
    fn new(script: &Script, device: u8) -> Self {
        let mut log = script.0.borrow_mut();
        log.processes += 1;
        let scale = TickScale { valid_bits: 64, period: 1.0 };
        let (timer, floor, sentinel) = (Timer::Device(scale), Nanos(100.0), Nanos(1e4));
        let mut info = DeviceInfo::mock();
        info.device_uuid.0[0] = device;
        Self {
            script: script.clone(),
            process: log.processes,
            info,
            instrument: Instrument { timer, scale: Some(scale), floor, sentinel, core_readings: Vec::new(), note: None },
            loaded: Vec::new(),
            poisoned: None,
        }
    }

    fn lost() -> Result<(), Loss> {
        Err(Loss(Failure::new(Status::Crashed, "told to")))
    }

    /// As any bench: what was loaded on another one isn't there.
    fn loaded_at(&self, place: usize) -> Result<(), Failure> {
        if place < self.loaded.len() { Ok(()) } else { Err(Failure::new(Status::Error, "nothing is loaded there")) }
    }
}

const SIZES: Sizes = Sizes { batch: 1, samples: 2, shorts: 0, samples_at_once: 3, sample_time: Duration::from_micros(10) };
const FINE: Conditions = Conditions::UNTOLD;

fn wrong(is_wrong: bool) -> Result<(), Failure> {
    if is_wrong { Err(Failure::new(Status::WrongResult, "told to")) } else { Ok(()) }
}

impl Bench for Scripted {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn instrument(&self) -> &Instrument {
        &self.instrument
    }

    fn compiles_ahead(&self) -> bool {
        self.script.0.borrow().crashing.is_some()
    }

    fn is_alive(&mut self) -> bool {
        self.loaded.is_empty() || !self.script.0.borrow().dies_when_idle
    }

    fn carry_out(&mut self, order: Order, answer: &mut Answering) -> Result<(), Loss> {
        let log = &mut *self.script.0.borrow_mut();
        match order {
            Order::Load { jobs, is_ahead, .. } => {
                let _ = answer(Answer::Ready(Ok(())));
                let crashes = |job: &Job| log.crashing.is_some_and(|size| job.key.point.u32("local_size_x") == size);
                let crash = jobs.iter().position(crashes);
                if is_ahead && crash.is_some() {
                    return Self::lost();
                }
                let fits = log.fitting.get(self.process as usize - 1).copied().unwrap_or(usize::MAX);
                for (i, job) in jobs.iter().enumerate().take(fits.saturating_sub(self.loaded.len())) {
                    if crash == Some(i) {
                        return Self::lost();
                    }
                    let (pipeline_time, memory_types) = (Duration::from_millis(1), String::new());
                    let loaded = Loaded { pipeline_time, statistics: None, memory_types, unpaired: None, error: None };
                    let loading = Loading { place: self.loaded.len(), shader: None, result: Ok(loaded) };
                    let size = job.key.point.u32("local_size_x");
                    self.loaded.push(size);
                    if log.poisonous == Some(size) {
                        self.poisoned = Some(0);
                    }
                    let _ = answer(Answer::Loaded(Box::new(loading)));
                }
            }
            Order::Size { .. } if log.lost_at_size == Some(self.process) => return Self::lost(),
            Order::Size { calls, .. } => calls.iter().for_each(|call| {
                let _ = answer(Answer::Sized(self.loaded_at(call.place).map(|()| (SIZES, None))));
            }),
            Order::Visit { calls } => {
                assert!(!calls.is_empty(), "an order of nothing never ends");
                for call in calls {
                    log.visits += 1;
                    self.poisoned = self.poisoned.map(|visits| visits + 1);
                    if log.lost_at_visit == Some(log.visits) || self.poisoned == Some(3) {
                        return Self::lost();
                    }
                    // Each is far slower than the one before.
                    let time = 1e4 * (1 + call.place) as f64;
                    let samples = vec![time, time + 10.0];
                    let visit = Visit { ratios: vec![1.0, 1.001], samples, host_times: vec![1.1e4], ..Visit::default() };
                    let spent = Duration::from_millis(2);
                    let visited = self.loaded_at(call.place).map(|()| Visited { visit, conditions: FINE, spent });
                    let _ = answer(Answer::Visited(visited));
                }
            }
            Order::EndRound { batches, .. } => {
                log.rounds += 1;
                if log.lost_at_round == Some(log.rounds) {
                    return Self::lost();
                }
                let _ = answer(Answer::RoundEnded(Ok((vec![10.0; batches.len()], Duration::ZERO))));
            }
            Order::Check { places } => {
                for place in places {
                    if log.lost_at_check.is_some() && self.loaded.get(place).copied() == log.lost_at_check {
                        return Self::lost();
                    }
                    let _ = answer(Answer::Checked(
                        self.loaded_at(place).and_then(|()| wrong(log.is_wrong)).map(|()| Compared::default()),
                    ));
                }
            }
            Order::Unload => self.loaded.clear(),
            Order::BeginRound { .. } | Order::Anticipate { .. } => {}
            Order::Work { .. } => {
                let _ = answer(Answer::Ready(Ok(())));
            }
            Order::Watch { .. } => {
                let _ = answer(Answer::Watched(Ok(Watch::default())));
            }
            Order::Begin { .. } => {
                let _ = answer(Answer::Begun(Ok(())));
            }
            Order::Sample { .. } => {
                log.samples += 1;
                let fails = log.failing_sample == Some(log.samples);
                let sample = Visit { samples: vec![1e4], host_times: vec![1.1e4], ..Visit::default() };
                let _ = answer(Answer::Sampled(wrong(fails).map(|()| sample)));
            }
            Order::End => {
                let _ = answer(Answer::Ended(Ok((FINE, Duration::from_millis(2)))));
            }
        }
        Ok(())
    }
}

fn pool(script: &Script, device: u8) -> Pool<'static> {
    let script = script.clone();
    Pool::new(1, Box::new(move |_| Ok(Box::new(Scripted::new(&script, device))))).unwrap()
}

enum Pairing {
    None,
    /// The last one, on the same device.
    Here,
    /// The same one, on a device whose benches are told this.
    There(Log),
}

/// The workgroup sizes of the four cases.
fn sizes() -> Vec<u32> {
    cases().iter().map(|case| case.point.u32("local_size_x")).collect()
}

fn cases() -> Vec<Case> {
    cases_of(&DeviceInfo::mock(), "workgroup/linear", &[]).into_iter().take(4).collect()
}

/// What comes of four cases: rounds, or the status of the failure.
fn measured(log: Log, pairing: Pairing, max_time: u64) -> Vec<Result<usize, Status>> {
    measured_by(Rule::Each, log, pairing, max_time)
}

fn measured_by(rule: Rule, log: Log, pairing: Pairing, max_time: u64) -> Vec<Result<usize, Status>> {
    let ended = ended(rule, log, pairing, max_time);
    ended.into_iter().map(|ended| ended.map_err(|failure| failure.status)).collect()
}

/// What became of each case: its rounds, or its failure.
fn ended(rule: Rule, log: Log, pairing: Pairing, max_time: u64) -> Vec<Result<usize, Failure>> {
    let cases = cases();
    let options = Options { rule, max_noise: 1e-9, max_time: Duration::from_millis(max_time), seed: 1 };
    let script = |log| Script(Rc::new(RefCell::new(log)));
    let mut session = Session::new(pool(&script(log), 0), options);
    let base_of = |case: &Case| match pairing {
        Pairing::None => None,
        Pairing::Here => Some(PairBase::Here(CaseKey::from_case(&cases[3]))),
        Pairing::There(_) => Some(PairBase::There(CaseKey::from_case(case))),
    };
    let tasks: Vec<Task> = cases.iter().map(|case| Task { key: CaseKey::from_case(case), case, base: base_of(case) }).collect();
    if let Pairing::There(log) = pairing {
        session = session.with_base(Ok(pool(&script(log), 9)));
    }
    let outcomes = session.measure(&tasks, &mut |_| ControlFlow::Continue(()));
    let ended = outcomes.into_iter().map(|outcome| {
        let measured = outcome.expect("every case has an outcome").result?;
        assert!(measured.value().is_finite() && (measured.interval().is_some() || measured.stop.is_early()), "{measured:?}");
        Ok(measured.rounds.samples.len())
    });
    ended.collect()
}

#[test]
fn a_sound_bench_measures_everything() {
    assert!(measured(Log::default(), Pairing::None, 2000).iter().all(Result::is_ok));
    assert!(measured(Log::default(), Pairing::There(Log::default()), 2000).iter().all(Result::is_ok));
}

/// Whatever case a thread is compiling while a bench does something else.
#[test]
fn a_case_that_crashes_while_it_is_compiled_ahead_is_the_one_that_fails() {
    let ended = measured(Log::default(), Pairing::None, 2000);
    let sizes = sizes();
    assert_eq!(ended.len(), sizes.len());
    for (place, size) in sizes.into_iter().enumerate() {
        let ended = measured(Log { crashing: Some(size), ..Log::default() }, Pairing::None, 2000);
        for (i, ended) in ended.into_iter().enumerate() {
            assert_eq!(ended.err(), (i == place).then_some(Status::Crashed), "case {i} where case {place} crashes");
        }
    }
}

#[test]
fn nothing_stands_unchecked_whose_bench_was_lost_after_its_last_round() {
    for round in [None, Some(6), Some(9), Some(13), Some(19)] {
        let log = Log { lost_at_round: round, is_wrong: true, ..Log::default() };
        assert_eq!(measured(log, Pairing::None, 2000), [Err(Status::WrongResult); 4], "lost at round {round:?}");
        let log = Log { lost_at_round: round, ..Log::default() };
        assert!(measured(log, Pairing::None, 2000).iter().all(Result::is_ok), "and what is right isn't lost with it");
    }
}

/// In a race results are compared between the rounds: there as well, what was loaded on a bench that is gone is loaded anew first.
#[test]
fn a_race_goes_on_where_a_bench_was_lost_between_rounds() {
    for round in 1..=LAST_ROUND {
        let log = Log { lost_at_round: Some(round), ..Log::default() };
        let ended = measured_by(Rule::Race, log, Pairing::None, 2000);
        assert!(ended.iter().all(Result::is_ok), "lost at round {round}: {ended:?}");
    }
}

#[test]
fn a_case_that_takes_its_bench_down_while_it_is_checked_fails() {
    for (place, size) in sizes().into_iter().enumerate() {
        for pairing in [Pairing::None, Pairing::Here, Pairing::There(Log::default())] {
            let ended = measured(Log { lost_at_check: Some(size), ..Log::default() }, pairing, 2000);
            only_fails(&ended, place);
        }
    }
}

/// The case at this place has crashed, and the others have their figures.
fn only_fails(ended: &[Result<usize, Status>], place: usize) {
    for (i, ended) in ended.iter().enumerate() {
        let is_right = if i == place { *ended == Err(Status::Crashed) } else { ended.is_ok_and(|rounds| rounds >= 6) };
        assert!(is_right, "case {i} where case {place} crashes: {ended:?}");
    }
}

/// What corrupts a driver's memory may take the process down much later, while another case is measured.
#[test]
fn a_case_whose_process_dies_later_is_the_one_that_fails() {
    for (place, size) in sizes().into_iter().enumerate() {
        let poisoned = || Log { poisonous: Some(size), ..Log::default() };
        only_fails(&measured(poisoned(), Pairing::None, 2000), place);
        // What a race has beaten has its figure after the first round.
        let raced = measured_by(Rule::Race, poisoned(), Pairing::None, 2000);
        assert!(raced.iter().enumerate().all(|(i, ended)| ended.err() == (i == place).then_some(Status::Crashed)), "{raced:?}");
    }
}

#[test]
fn a_process_that_is_killed_from_outside_costs_nothing() {
    for visit in [1, 2, 5, 17, 24] {
        let ended = measured(Log { lost_at_visit: Some(visit), ..Log::default() }, Pairing::None, 2000);
        assert!(ended.iter().all(|rounds| rounds.is_ok_and(|rounds| rounds >= 6)), "visit {visit}: {ended:?}");
    }
}

#[test]
fn a_device_whose_processes_die_again_and_again_is_given_up() {
    let log = Log { dies_when_idle: true, ..Log::default() };
    let untried = |failure: Failure| (failure.is_untried, failure.status);
    let ended: Vec<_> = ended(Rule::Each, log, Pairing::None, 2000).into_iter().map(|ended| ended.map_err(untried)).collect();
    assert_eq!(ended, [Err((true, Status::Crashed)); 4]);
}

#[test]
fn what_lost_its_pair_is_measured_anew_in_enough_rounds() {
    // Two samples of either side of each of four cases in a round, and one before them that is discarded.
    for failing in [1, 13, 25, 61, 66] {
        let base = Log { failing_sample: Some(failing), ..Log::default() };
        for max_time in [12, 2000] {
            let ended = measured(Log::default(), Pairing::There(base_like(&base)), max_time);
            assert!(ended.iter().all(|rounds| rounds.is_ok_and(|rounds| rounds >= 6)), "sample {failing}: {ended:?}");
        }
    }
}

fn base_like(log: &Log) -> Log {
    Log { failing_sample: log.failing_sample, ..Log::default() }
}

#[test]
fn what_no_longer_fits_when_a_process_was_replaced_waits_for_another_block() {
    for fitting in [vec![4, 1], vec![4, 2, 3], vec![1], vec![3, 1, 1]] {
        let is_alone = fitting[0] == 1;
        let log = Log { lost_at_size: Some(1), fitting, ..Log::default() };
        let ended = measured(log, Pairing::None, 2000);
        // The one at which the process was lost is to blame only where it was alone there.
        assert_eq!(ended.iter().filter(|ended| ended.is_err()).count(), usize::from(is_alone), "{ended:?}");
        let log = Log { lost_at_round: Some(3), fitting: vec![4, 1], ..Log::default() };
        assert!(measured(log, Pairing::None, 2000).iter().all(Result::is_ok));
    }
}
