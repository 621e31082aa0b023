//! Known answers about the instrument itself, on a real device. A benchmark and not a test: a busy machine may miss them.
//!
//! `cargo bench --bench known_answers [-- DEVICE_INDEX [SECTION...] [FAMILY/NAME...]]` prints a line for each answer, and fails if
//! more are missed than chance explains. Names of experiments, or `FAMILY/`, restrict the section `doubling`. Sections:
//!
//! - `submissions`: k samples in one submission show the same time as k submissions of one sample each. Neither the timestamps nor
//!   the queries add up, and a sample does not begin while the one before it still runs.
//! - `doubling`: of each kernel, the time grows as its work does: (T(4n) - T(2n)) / (T(2n) - T(n)) is 2 where the work is
//!   proportional to n. No compiler has folded a loop, and no cost that isn't constant hides in a pass.
//! - `clock`: reading the core clock before a sample doesn't change the sample's time, and takes less than a millisecond.
//! - `pairs`: a case measured alternately with itself: the ratio's 95 % interval holds 1 in at least 90 of 100 tries.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints what it found")]

use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use lanescope::experiments::{CATALOGUE, Config, Experiment, Setting};
use lanescope::gpu::{CaseHandle, Instance, InstanceOptions};
use lanescope::measure::{
    CaseKey, CaseSource, Compared, Dispatcher, LocalBench, LocalOptions, Measured, Options, PairBase, Pool, Rule, Session,
    SourcedCase, Task, ToolCases, Vulkan,
};
use lanescope::model::{Axis, AxisKind, AxisValue, Case, DeviceInfo, Failure, Measurand, Point, Preset, Repeat, Work};
use lanescope::plan::{Plan, Request, check_limits};
use lanescope::shader::{self, Compiler, Library, Prepared};
use lanescope::stats::{self, Interval};

/// How far a ratio may be from its known answer.
const TOLERANCE: f64 = 0.02;
/// Samples per round, of either form.
const SAMPLES: u32 = 8;
/// Rounds: alternating, so that drift touches all sides alike.
const ROUNDS: usize = 31;
/// The share of kernels that may miss: what 95 % intervals miss by chance, and as much again.
const MISSES: f64 = 0.1;
/// How far any one kernel may be from its answer, and how wide its interval: a loop that a compiler folded is out by more, and an
/// interval that holds anything answers nothing.
const GROSS: f64 = 0.2;
/// Kernels whose time isn't in proportion to their work: variant, a value on an axis, and why. They are printed, and no more.
const BESIDE: &[(&str, &str, &str)] = &[
    (
        "load/path:ubo",
        "pattern=uniform",
        "it may miss a cache that is smaller than the buffer, and subgroups that keep step save each other misses",
    ),
    (
        "sync/atomic:combinable",
        "contention=distinct",
        "nobody waits for these, they pile up before the memory, and their pace changes from run to run (such rows say noisy)",
    ),
    (
        "sync/false_sharing:",
        "neighbours=workgroups",
        "which workgroup has a line next is chance, and so is the pace (such rows say noisy)",
    ),
];
/// Readings of the core clock, and what one takes at most: a visit takes several milliseconds.
const READINGS: usize = 301;
const MOST_MICROSECONDS: f64 = 1000.0;
/// Tries of equal against equal, and how many must hold 1.
const TRIES: usize = 100;
const HOLDING: usize = 90;

fn main() -> ExitCode {
    // cargo bench adds `--bench` to what the user types.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    match known_answers(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn known_answers(arguments: &[String]) -> anyhow::Result<bool> {
    let index = arguments.iter().find_map(|argument| argument.parse().ok()).unwrap_or(0);
    let words = arguments.iter().filter(|argument| argument.parse::<usize>().is_err());
    let (names, sections): (Vec<&String>, Vec<&String>) = words.partition(|word| word.contains('/'));
    let wants = |section: &str| sections.is_empty() || sections.iter().any(|asked| *asked == section);
    let instance = Instance::load(InstanceOptions { validation: false })?;
    let open = || anyhow::Ok(Vulkan::new(instance.open(index, None)?));
    let mut device = open()?;
    let mut bench = Bench { info: device.info().clone(), compiler: Compiler::new(Library::embedded())? };
    println!("{} ({})", bench.info.name, bench.info.driver.info);
    let mut all = true;
    if wants("submissions") {
        all &= submissions(&mut bench, &mut device)?;
    }
    if wants("doubling") {
        let is_asked = |name: &str| names.is_empty() || names.iter().any(|asked| name.starts_with(asked.as_str()));
        all &= doubling(&mut bench, &mut device, is_asked)?;
    }
    if wants("clock") {
        all &= clock(&mut bench, &mut device)?;
    }
    if wants("pairs") {
        drop(device);
        all &= pairs(&mut bench, open)?;
    }
    Ok(all)
}

/// The catalogue's cases for one device.
struct Bench {
    info: DeviceInfo,
    compiler: Compiler,
}

impl Bench {
    fn setting(&self) -> Setting<'_> {
        Setting { queue: None, device: &self.info, preset: Preset::Quick, seed: 1 }
    }

    /// The first case of a request.
    fn case(&mut self, filter: &str, axes: &[&str]) -> anyhow::Result<Prepared> {
        let axes = axes.iter().map(ToString::to_string).collect();
        let request = Request { filters: vec![filter.to_owned()], axes, ..Request::default() };
        let planned = Plan::new(&request, self.setting())?.get(0).context("the plan is empty")?;
        let case = planned.case.map_err(|skip| anyhow!(skip.reason))?;
        shader::prepare(case, &mut self.compiler).map_err(failed)
    }

    /// A copy that is far beyond every cache, and arithmetic.
    fn two_kinds(&mut self) -> anyhow::Result<[(&'static str, Prepared); 2]> {
        let n = self.setting().by_class("n=2^18", "n=2^24");
        Ok([
            ("memory/stream copy", self.case("memory/stream", &[n, "op=copy", "width=4"])?),
            ("calibration/sentinel", self.case("calibration/sentinel", &[])?),
        ])
    }
}

fn failed(failure: Failure) -> anyhow::Error {
    anyhow!("{}: {}", failure.status, failure.reason)
}

fn load(device: &mut dyn Dispatcher, prepared: &Prepared) -> anyhow::Result<CaseHandle> {
    let slot = device.load(prepared).map_err(failed)?.slot;
    device.run_checked(slot).map_err(failed)?;
    Ok(slot)
}

/// Clocks take up to 450 ms to rise.
fn warm_up(device: &mut dyn Dispatcher, slot: CaseHandle, time: Duration) -> anyhow::Result<()> {
    let until = device.now() + time;
    while device.now() < until {
        device.sample(slot, 1, 1).map_err(failed)?;
    }
    Ok(())
}

/// Times of samples of so many passes each, one before them discarded.
fn times(device: &mut dyn Dispatcher, slot: CaseHandle, batch: u32, samples: u32) -> anyhow::Result<Vec<f64>> {
    let scale = device.tick_scale().context("the queue has no timestamps")?;
    let submission = device.sample(slot, batch, samples + 1).map_err(failed)?;
    Ok(submission.samples.iter().skip(1).map(|(start, end)| scale.between(*start, *end).0).collect())
}

// ---- k samples in one submission, and k submissions -----------------------------------------------------------------------

fn submissions(bench: &mut Bench, device: &mut Vulkan) -> anyhow::Result<bool> {
    let mut all = true;
    for (name, prepared) in bench.two_kinds()? {
        let slot = load(device, &prepared)?;
        warm_up(device, slot, Duration::from_millis(600))?;
        let mut ratios = Vec::new();
        for _ in 0..ROUNDS {
            let together = times(device, slot, 16, SAMPLES)?;
            let mut apart = Vec::new();
            for _ in 0..SAMPLES {
                apart.extend(times(device, slot, 16, 1)?);
            }
            ratios.push(stats::median(&together) / stats::median(&apart));
        }
        device.unload();
        all &= report(&format!("{name}: one submission of {SAMPLES} samples over {SAMPLES} of one"), &ratios, 1.0);
    }
    Ok(all)
}

// ---- T(4n), T(2n), T(n) -----------------------------------------------------------------------------------------------------

/// A kernel of the catalogue at three amounts of work.
struct Doubling {
    name: String,
    cases: [Prepared; 3],
    /// (W(4n) - W(2n)) / (W(2n) - W(n)), W being the work that the cases state.
    answer: f64,
}

fn doubling(bench: &mut Bench, device: &mut Vulkan, is_asked: impl Fn(&str) -> bool) -> anyhow::Result<bool> {
    let (mut kernels, mut missed, mut none_is_gross) = (0.0, 0.0, true);
    for experiment in CATALOGUE.iter().filter(|experiment| is_asked(experiment.name())) {
        for point in kernels_of(experiment, &bench.setting()) {
            let Some(doubling) = Doubling::new(bench, experiment, &point)? else { continue };
            let ratios = doubling.ratios(device)?;
            device.unload();
            if let Some(why) = set_aside(&doubling.name) {
                println!("{}: {:.4}, set aside: {why}", doubling.name, stats::median(&ratios));
                continue;
            }
            kernels += 1.0;
            if !report(&format!("{}: (T(4n) - T(2n)) / (T(2n) - T(n))", doubling.name), &ratios, doubling.answer) {
                missed += 1.0;
            }
            none_is_gross &= (stats::median(&ratios) / doubling.answer - 1.0).abs() <= GROSS;
        }
    }
    let gross = if none_is_gross { "none" } else { "one or more" };
    println!("doubling: {missed} of {kernels} kernels missed, {gross} by more than {:.0} %", 100.0 * GROSS);
    Ok(missed <= MISSES * kernels && none_is_gross)
}

/// Why the kernel of this name has no known answer, where it has none.
fn set_aside(name: &str) -> Option<&'static str> {
    let (variant, point) = name.split_once(' ')?;
    let is_it = |(of, value, _): &&(&str, &str, _)| *of == variant && point.split(';').any(|own| own == *value);
    BESIDE.iter().find(is_it).map(|(_, _, why)| *why)
}

/// Each variant of an experiment at each combination of words and of the few numbers that make another kernel; of what is swept
/// freely, what others are compared with, or the middle value.
fn kernels_of(experiment: &Experiment, setting: &Setting) -> Vec<(&'static str, Point)> {
    let experiment = CATALOGUE.iter().find(|known| known.name() == experiment.name());
    let Some(experiment) = experiment else { return Vec::new() };
    let mut points: Vec<Vec<(_, AxisValue)>> = vec![Vec::new()];
    for axis in experiment.axes(setting) {
        let values = match axis.kind {
            AxisKind::Choices(_) | AxisKind::Numbers(_) if !axis.is_work => axis.defaults.clone(),
            _ => vec![middle(&axis)],
        };
        let with = |point: &Vec<_>, value: &AxisValue| [&point[..], &[(axis.name.clone(), value.clone())]].concat();
        points = points.iter().flat_map(|point| values.iter().map(move |value| with(point, value))).collect();
    }
    let points: Vec<Point> = points.into_iter().map(Point::new).collect();
    experiment.variants().iter().flat_map(|variant| points.iter().map(move |point| (*variant, point.clone()))).collect()
}

/// What is doubled: the axis along which the kernel's loops get longer, of several the innermost loop's, and whether there is one.
/// Where there is none, any along which there is more work, although more workgroups may take no longer as long as the device has
/// room for them, and a larger array may leave a cache.
fn axis_to_double(experiment: &Experiment, (variant, point): (&str, &Point), setting: &Setting) -> Option<(Axis, bool)> {
    let iterations = |axis: &Axis, n: u64| {
        let point = point.with(&axis.name, &AxisValue::from(n));
        experiment.case(&Config::new(variant, &point, setting)).map_or(0, |case| case.iterations)
    };
    let lengthens_loops = |axis: &&Axis| {
        let most = point.integer(&axis.name);
        iterations(axis, most / 2) < iterations(axis, most)
    };
    let axes: Vec<Axis> = experiment.axes(setting).into_iter().filter(|axis| axis.is_work).collect();
    let of_loops = axes.iter().rfind(lengthens_loops);
    Some((of_loops.or(axes.first())?.clone(), of_loops.is_some()))
}

/// What others are compared with, or the middle value.
fn middle(axis: &Axis) -> AxisValue {
    axis.base.clone().unwrap_or_else(|| axis.defaults[axis.defaults.len() / 2].clone())
}

impl Doubling {
    /// `None` where the experiment has no axis of work, or the device can't run it.
    fn new(bench: &mut Bench, experiment: &Experiment, (variant, point): &(&str, Point)) -> anyhow::Result<Option<Self>> {
        let setting = bench.setting();
        let Some((axis, is_loop)) = axis_to_double(experiment, (variant, point), &setting) else { return Ok(None) };
        // The default preset's size: a quarter of a quick one may lie in a cache that the whole doesn't fit.
        let axes = experiment.axes(&Setting { preset: Preset::Default, ..setting });
        let sized = axes.into_iter().find(|sized| sized.name == axis.name).as_ref().map(middle);
        let most = point.with(&axis.name, &sized.context("an axis of work has sizes")?).integer(&axis.name);
        let case_of = |n: u64| experiment.case(&Config::new(variant, &point.with(&axis.name, &AxisValue::from(n)), &setting));
        let work_of = |n: u64| case_of(n).map_or(0.0, |case| amount(&case.work));
        // What a pass begins with is over after a short while: longer loops tell more than shorter ones, as far as results stay exact.
        let most = if is_loop && case_of(4 * most).is_ok() { 4 * most } else { most };
        // Twice the edge of a square is four times the work: there the steps are smaller, so that work doubles.
        let steps = if work_of(most) > 3.0 * work_of(most / 2) {
            [most / 2, most * 181 / 256, most]
        } else {
            [most / 4, most / 2, most]
        };
        let mut cases = Vec::new();
        for n in steps {
            let Ok(case) = case_of(n) else { return Ok(None) };
            // What the host's clock times has no samples of the device's.
            if check_limits(&case, &bench.info).is_err() || case.measurand != Measurand::Pass {
                return Ok(None);
            }
            cases.push(case);
        }
        let [one, two, four] = [0, 1, 2].map(|i| amount(&cases[i].work));
        // A case that states no work, such as empty dispatches, has no known answer.
        if one <= 0.0 || two <= one {
            return Ok(None);
        }
        let name = format!("{}:{variant} {point}", experiment.name());
        let mut prepare = |case: Case| shader::prepare(case, &mut bench.compiler).map_err(failed);
        let cases = cases.into_iter().map(&mut prepare).collect::<anyhow::Result<Vec<_>>>()?;
        let cases = cases.try_into().ok().context("three amounts of work")?;
        Ok(Some(Self { name, cases, answer: (four - two) / (two - one) }))
    }

    fn ratios(&self, device: &mut Vulkan) -> anyhow::Result<Vec<f64>> {
        let mut slots = Vec::new();
        for case in &self.cases {
            slots.push(load(device, case)?);
        }
        warm_up(device, slots[2], Duration::from_millis(300))?;
        // One batch for all, long enough for the shortest.
        let single = stats::median(&times(device, slots[0], 1, 3)?);
        let case = &self.cases[0].case;
        let may_batch = case.repeat != Repeat::AfterReset && case.prepare.is_empty();
        let sizes = if may_batch { &[1, 2, 4, 8, 16, 32, 64][..] } else { &[1] };
        let enough = sizes.iter().copied().find(|batch| f64::from(*batch) * single > 200e3);
        let batch = enough.or(sizes.last().copied()).unwrap_or(1);
        let mut ratios = Vec::new();
        for _ in 0..ROUNDS {
            let mut at = |i: usize| anyhow::Ok(stats::median(&times(device, slots[i], batch, 3)?));
            let (one, two, four) = (at(0)?, at(1)?, at(2)?);
            ratios.push((four - two) / (two - one));
        }
        Ok(ratios)
    }
}

/// The work of a pass, in whatever unit it is stated: only its ratios count.
#[expect(clippy::cast_precision_loss, reason = "ratios of work have few digits")]
fn amount(work: &Work) -> f64 {
    work.ops.or(work.bytes).or(work.items).or(work.flops).unwrap_or(0) as f64
}

// ---- the core clock ---------------------------------------------------------------------------------------------------------

fn clock(bench: &mut Bench, device: &mut Vulkan) -> anyhow::Result<bool> {
    let slot = load(device, &bench.case("calibration/sentinel", &[])?)?;
    warm_up(device, slot, Duration::from_millis(600))?;
    let (mut ratios, mut clocks, mut spent) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..READINGS {
        let without = stats::median(&times(device, slot, 1, SAMPLES)?);
        let started = Instant::now();
        clocks.extend(device.core_clock_mhz());
        spent.push(started.elapsed().as_secs_f64() * 1e6);
        ratios.push(stats::median(&times(device, slot, 1, SAMPLES)?) / without);
    }
    device.unload();
    if clocks.is_empty() {
        println!("clock: nothing tells the core clock");
        return Ok(true);
    }
    let [mhz, us] = [&clocks, &spent].map(|figures| stats::summary(figures));
    println!("clock: {} readings of {} to {} MHz", clocks.len(), mhz.min, mhz.max);
    let is_short = us.p95 < MOST_MICROSECONDS;
    let verdict = if is_short { "as known" } else { "MISSED" };
    println!(
        "clock: a reading takes {:.1} us, 95 % of them at most {:.1} us, the longest {:.1} us: {verdict}",
        us.mean, us.p95, us.max
    );
    Ok(report("clock: a sample after a reading over one without", &ratios, 1.0) && is_short)
}

/// One case over and over, whose results aren't looked at here.
struct Always(Prepared);

impl CaseSource for Always {
    fn prepare(&mut self, _: &CaseKey) -> Result<SourcedCase, Failure> {
        Ok(SourcedCase::new(self.0.clone(), |_, _| Ok(Ok(Compared::default()))))
    }
}

// ---- equal against equal ----------------------------------------------------------------------------------------------------

fn pairs(bench: &mut Bench, open: impl Fn() -> anyhow::Result<Vulkan>) -> anyhow::Result<bool> {
    let tools = ToolCases {
        empty: bench.case("calibration/empty", &[])?,
        sentinel: bench.case("calibration/sentinel", &[])?,
        core_clock: None,
        evictor: None,
        sweep: None,
    };
    let mut all = true;
    for (name, case) in bench.two_kinds()? {
        let warm_up = Duration::from_millis(bench.setting().by_class(50, 450));
        let max_time = Duration::from_millis(500);
        let source = Always(case.clone());
        let options = LocalOptions { warm_up, max_time, timer: None, sentinel: None, is_cold: false };
        let local = LocalBench::new(Box::new(open()?), tools.clone(), Box::new(source), options).map_err(failed)?;
        let mut session = Session::new(Pool::single(local), Options { rule: Rule::Each, max_noise: 0.01, max_time, seed: 1 });
        let key = CaseKey::from_case(&case.case);
        let task = Task { key: key.clone(), case: &case.case, base: Some(PairBase::Here(key)) };
        let tasks = vec![task; TRIES / 10];
        let mut measured = Vec::new();
        for _ in 0..TRIES / tasks.len() {
            let outcomes = session.measure(&tasks, &mut |_| ControlFlow::Continue(()));
            let results = outcomes.into_iter().flatten().map(|outcome| outcome.result);
            measured.extend(results.collect::<Result<Vec<Measured>, _>>().map_err(failed)?);
        }
        drop(session);
        let intervals: Vec<Interval> = measured.iter().filter_map(|m| m.pair.as_ref()?.interval()).collect();
        let holding = intervals.iter().filter(|interval| interval.low <= 1.0 && 1.0 <= interval.high).count();
        let half_widths: Vec<f64> = intervals.iter().map(|interval| (interval.high - interval.low) / 2.0).collect();
        let half_width = stats::median(&half_widths);
        let ratios: Vec<f64> = measured.iter().filter_map(|m| Some(m.pair.as_ref()?.value())).collect();
        let holds = holding >= HOLDING && half_width <= TOLERANCE;
        let verdict = if holds { "as known" } else { "MISSED" };
        println!(
            "{name} against itself: {holding} of {} intervals hold 1, median half-width {:.2} %, median ratio {:.4}: {verdict}",
            intervals.len(),
            100.0 * half_width,
            stats::median(&ratios)
        );
        all &= holds;
    }
    Ok(all)
}

/// Prints the median ratio with its interval; whether it is near the answer or its interval holds it.
fn report(what: &str, ratios: &[f64], answer: f64) -> bool {
    let ratio = stats::median(ratios);
    let Some(interval) = stats::median_interval(ratios) else { return false };
    let near = (ratio / answer - 1.0).abs() <= TOLERANCE;
    let is_narrow = (interval.high - interval.low) / 2.0 <= GROSS * answer;
    let holds = is_narrow && interval.low <= answer && answer <= interval.high;
    let verdict = if near || holds { "as known" } else { "MISSED" };
    println!("{what}: {ratio:.4} [{:.4}, {:.4}], should be {answer:.4}: {verdict}", interval.low, interval.high);
    near || holds
}
