//! `memory/residency` on the mock device: memory that spills is found, each size lies there alone, and what has no room is skipped.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::Duration;

use lanescope::gpu::{CaseHandle, Loaded, Samples, Submission};
use lanescope::measure::{
    CaseKey, CaseSource, Compared, Dispatcher, LocalBench, LocalOptions, Mock, MockOptions, Options, Pool, ProcessorTime, Rule,
    Session, SourcedCase, Task, ToolCases,
};
use lanescope::model::{Budget, Case, DeviceInfo, DeviceKind, Failure, Footprint, Preset, Status};
use lanescope::plan::{Plan, Request};
use lanescope::record::Record;
use lanescope::shader::{Compiler, Library, Prepared, prepare};
use lanescope::units::TickScale;

use crate::support::{cases_of, measured, setting};

const GIB: u64 = 1 << 30;

/// The rows of these sizes, in GiB, on a mock whose memory holds so many bytes: those of the sizes, and the derived ones.
fn on_mock(spill: u64, gibs: &[u64], more: &[&str]) -> [Vec<Record>; 2] {
    let device = format!("mock:kind=discrete,noise=0,spill={spill}");
    let sizes = gibs.iter().map(|gib| (gib * GIB).to_string()).collect::<Vec<_>>().join(",");
    let sizes = format!("working_set_bytes={sizes}");
    let rows = measured(&[&["-q", "memory/residency", "-d", &device, "-a", &sizes], more].concat());
    let (measured, derived) = rows.into_iter().partition(|row| row.row_kind == "measured");
    [measured, derived]
}

#[test]
#[expect(clippy::cast_precision_loss, reason = "few bytes")]
fn a_planted_spill_is_found_with_its_size() {
    let [sizes, derived] = on_mock(3 * GIB / 2, &[1, 2], &[]);
    assert!(sizes.iter().all(|row| row.status == "ok" && row.checked == "true"), "{sizes:?}");
    let told: Vec<_> = derived.iter().map(|row| (row.experiment.as_str(), row.variant.as_str(), row.unit.as_str())).collect();
    assert_eq!(told, [("memory/spill", "full_speed", "B"), ("memory/spill", "cliff", "B"), ("memory/spill", "slowdown", "x")]);
    let values: Vec<f64> = derived.iter().filter_map(|row| row.value).collect();
    assert_eq!(values[..2], [1, 2].map(|gib| (gib * GIB) as f64));
    // A quarter of two GiB, and what the sums take, at a tenth of the speed.
    assert!((3.2..3.4).contains(&values[2]), "{values:?}");
}

#[test]
#[expect(clippy::cast_precision_loss, reason = "few bytes")]
fn without_a_spill_there_is_no_cliff() {
    let [_, derived] = on_mock(0, &[1, 2], &[]);
    let told: Vec<_> = derived.iter().map(|row| (row.variant.as_str(), row.value)).collect();
    assert_eq!(told, [("full_speed", Some((2 * GIB) as f64)), ("cliff", None)]);
    assert!(derived[1].status == "skipped" && derived[1].reason.starts_with("no cliff seen"), "{}", derived[1].reason);
}

/// Whatever else the block has, and where several processes share the work.
#[test]
fn sizes_are_measured_beside_others_of_the_run_and_by_several_processes() {
    let [sizes, _] = on_mock(0, &[1], &["calibration/sentinel", "--preset=quick", "--processes=3"]);
    assert!(sizes.iter().any(|row| row.experiment == "calibration/sentinel"));
    for row in sizes.iter().filter(|row| row.experiment == "memory/residency") {
        assert_eq!((row.status.as_str(), row.processes), ("ok", Some(3)), "{}", row.reason);
    }
}

#[test]
fn what_is_free_decides_when_cases_are_planned() {
    let mut device = DeviceInfo { kind: DeviceKind::Discrete, ..DeviceInfo::mock() };
    device.heaps[0].budget = Some(Budget { bytes: 15 * GIB, free: 10 * GIB });
    let request = Request { filters: vec!["memory/residency".to_owned()], ..Request::default() };
    let plan = Plan::new(&request, setting(&device, Preset::Quick)).unwrap();
    let reasons: Vec<String> =
        plan.iter().map(|planned| planned.case.err().map(|skip| skip.reason).unwrap_or_default()).collect();
    assert_eq!(reasons.len(), 2);
    assert_eq!(reasons[0], "");
    for reason in &reasons[1..] {
        let expected = "nine tenths of the 10737418240 bytes that the heap's budget leaves are 9663676416, the case needs";
        assert!(reason.starts_with(expected), "{reason}");
    }
    // The budget is no part of what a plan is known by.
    let idle = DeviceInfo { kind: DeviceKind::Discrete, ..DeviceInfo::mock() };
    assert_eq!(plan.id(), Plan::new(&request, setting(&idle, Preset::Quick)).unwrap().id());
}

/// One of several mocks that share a memory.
struct Sharing {
    mock: Mock,
    /// What this one holds, and what all do.
    own: u64,
    all: Rc<Cell<u64>>,
    /// The most that there was beside a case that is to be alone.
    beside: Rc<Cell<u64>>,
}

impl Sharing {
    fn hold(&mut self, own: u64) {
        self.all.set(self.all.get() - self.own + own);
        self.own = own;
    }
}

impl Dispatcher for Sharing {
    fn info(&self) -> &DeviceInfo {
        self.mock.info()
    }

    fn tick_scale(&self) -> Option<TickScale> {
        self.mock.tick_scale()
    }

    fn now(&self) -> Duration {
        self.mock.now()
    }

    fn processor_time(&self) -> Option<ProcessorTime> {
        None
    }

    fn memory_budget(&self) -> Footprint {
        self.mock.memory_budget()
    }

    fn free_memory(&self) -> Option<u64> {
        Some(self.mock.info().local_heap_bytes() - self.all.get())
    }

    fn footprint(&self, prepared: &Prepared) -> Footprint {
        self.mock.footprint(prepared)
    }

    fn load(&mut self, prepared: &Prepared) -> Result<Loaded, Failure> {
        if prepared.case.is_alone {
            self.beside.set(self.beside.get().max(self.all.get()));
        }
        self.hold(self.own + prepared.case.footprint(self.mock.info()).device);
        self.mock.load(prepared)
    }

    fn run_reset(&mut self, slot: CaseHandle) -> Result<(), Failure> {
        self.mock.run_reset(slot)
    }

    fn run_checked(&mut self, slot: CaseHandle) -> Result<Duration, Failure> {
        self.mock.run_checked(slot)
    }

    fn read(&mut self, _: CaseHandle, _: usize) -> Result<Vec<u8>, Failure> {
        Ok(vec![0])
    }

    fn sample_between(&mut self, wanted: Samples) -> Result<Submission, Failure> {
        self.mock.sample_between(wanted)
    }

    fn unload(&mut self) {
        self.hold(0);
        self.mock.unload();
    }
}

struct Right(Rc<Vec<Prepared>>);

impl CaseSource for Right {
    fn prepare(&mut self, key: &CaseKey) -> Result<SourcedCase, Failure> {
        let found = self.0.iter().find(|prepared| CaseKey::from_case(&prepared.case) == *key);
        let prepared = found.cloned().ok_or_else(|| Failure::new(Status::Error, "there is no such case"))?;
        Ok(SourcedCase::new(prepared, |_, _| Ok(Ok(Compared::default()))))
    }
}

/// What came of sizes in GiB on three benches that share 16 GiB, and the most that lay beside one.
fn shared(gibs: &str, begin: u64) -> (Vec<Result<(), Failure>>, u64) {
    let options = MockOptions { kind: DeviceKind::Discrete, ..MockOptions::default() };
    let info = options.device_info(0);
    let mut compiler = Compiler::new(Library::embedded()).unwrap();
    let mut prepared = |filter: &str, axes: &[&str]| -> Vec<Prepared> {
        let prepared = |case: Case| prepare(case, &mut compiler).unwrap();
        cases_of(&info, filter, axes).into_iter().map(prepared).collect()
    };
    let [empty, sentinel] = ["calibration/empty", "calibration/sentinel"].map(|name| prepared(name, &[]).remove(0));
    let tools = ToolCases { empty, sentinel, core_clock: None, evictor: None, sweep: None };
    let sizes: Vec<String> = gibs.split(',').map(|gib| (gib.parse::<u64>().unwrap() * GIB).to_string()).collect();
    let sizes = format!("working_set_bytes={}", sizes.join(","));
    let mut cases = prepared("memory/reuse", &["reuse=1"]);
    cases.extend(prepared("memory/residency", &[&sizes]));
    let cases = Rc::new(cases);
    let (all, beside) = (Rc::new(Cell::new(begin)), Rc::<Cell<u64>>::default());
    let (source, seen) = (Rc::clone(&cases), Rc::clone(&beside));
    let max_time = Duration::from_millis(50);
    let opener = move |_: Option<&_>| {
        let mock = Mock::new(options.clone(), 1, Box::new(|_| Vec::new()));
        let sharing = Sharing { mock, own: 0, all: Rc::clone(&all), beside: Rc::clone(&seen) };
        let options = LocalOptions { warm_up: Duration::ZERO, max_time, timer: None, sentinel: None, is_cold: false };
        let bench = LocalBench::new(Box::new(sharing), tools.clone(), Box::new(Right(Rc::clone(&source))), options).unwrap();
        Ok(Box::new(bench) as Box<_>)
    };
    let pool = Pool::new(3, Box::new(opener)).unwrap();
    let mut session = Session::new(pool, Options { rule: Rule::Each, max_noise: 0.05, max_time, seed: 1 });
    let task = |prepared: &Prepared| CaseKey::from_case(&prepared.case);
    let tasks: Vec<Task> = cases.iter().map(|p| Task { key: task(p), case: &p.case, base: None }).collect();
    let outcomes = session.measure(&tasks, &mut |_| ControlFlow::Continue(()));
    let of_residency = tasks.iter().zip(outcomes).filter(|(task, _)| task.case.is_alone);
    (of_residency.map(|(_, outcome)| outcome.unwrap().result.map(drop)).collect(), beside.get())
}

#[test]
fn only_one_process_has_its_buffers_at_a_time() {
    let (outcomes, beside) = shared("2,12,14", 0);
    assert!(outcomes.len() == 3 && outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    assert!(beside < GIB / 4, "{beside} bytes lay beside one");
}

/// When it was planned, there was room.
#[test]
fn what_another_program_has_taken_since_is_looked_at_before_buffers_are_made() {
    let (outcomes, _) = shared("2,12", 8 * GIB);
    assert_eq!(outcomes[0], Ok(()));
    let failure = outcomes[1].as_ref().unwrap_err();
    assert_eq!(failure.status, Status::Skipped);
    assert!(failure.reason.starts_with("nine tenths of the ") && failure.reason.contains("bytes that the heap's budget"));
}
