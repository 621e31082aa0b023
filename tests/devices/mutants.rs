//! The checks can fail: every kernel is broken on purpose, run and found wrong. Each mutant is tried at one of its points, on one driver
//! that can run it; `scripts/test.sh --full` tries each at all of its points, on every driver.
//!
//! LANESCOPE_TEST_MUTANTS=peak/arith takes only those of the experiments whose names begin so, while one is written.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use lanescope::experiments::{Built, CATALOGUE, Config, Experiment};
use lanescope::gpu::{Device, DeviceOptions, Instance, InstanceOptions, NO_DEVICE_ADVICE};
use lanescope::model::{Budget, DeviceInfo, DeviceKind, Preset};
use lanescope::plan::check_limits;
use lanescope::shader::{self, Compiler, Library};
use lanescope::validate::Verdict;

use crate::support::form::{Form, form};
use crate::support::mutants::{At, Mutant, Mutants, places};
use crate::support::setting;

/// A device, which one at a time uses, and the kernels that are right.
struct Driver {
    info: DeviceInfo,
    device: Mutex<Device>,
    originals: Mutex<Compiler>,
    /// Where a kernel itself was tried already.
    known: Mutex<BTreeSet<(&'static str, At)>>,
}

impl Driver {
    /// Every usable device, without the validation layer, but with robust access: one that reads where to write beyond its input's end
    /// finds what others left there.
    fn all() -> Vec<Self> {
        let instance = Instance::load(InstanceOptions { validation: false }).unwrap_or_else(|error| panic!("{error}"));
        let robust = DeviceOptions { is_robust: true, ..DeviceOptions::default() };
        let usable = instance.devices().into_iter().filter(|info| info.unusable.is_none());
        let opened = usable.map(|info| Self {
            device: Mutex::new(instance.open_with(info.index, robust).unwrap_or_else(|error| panic!("{error}"))),
            originals: Mutex::new(Compiler::new(Library::embedded()).unwrap()),
            known: Mutex::default(),
            info,
        });
        let all: Vec<Self> = opened.collect();
        assert!(!all.is_empty(), "{NO_DEVICE_ADVICE}");
        crate::support::devices();
        all
    }

    /// Compiles, runs and checks one case as a run would, with the kernels of this compiler; nothing where the device can't run it.
    fn verdict(&self, compiler: &Mutex<Compiler>, experiment: &Experiment, at: &At) -> Option<Verdict> {
        let built = self.built(experiment, at)?;
        check_limits(&built.case, &self.info).ok()?;
        let prepared = shader::prepare(built.case.clone(), &mut compiler.lock().unwrap())
            .unwrap_or_else(|failure| panic!("{} {} {}: {}", experiment.name(), at.variant, at.point, failure.reason));
        let mut device = self.device.lock().unwrap();
        let slot = device.load(&prepared).unwrap().slot;
        device.run_checked(slot).unwrap();
        let outputs: Vec<Vec<u8>> =
            prepared.case.check.outputs().iter().map(|&output| device.read(slot, output).unwrap()).collect();
        device.unload();
        drop(device);
        Some(built.check(&outputs))
    }

    /// A case. What only devices with memory of their own are asked has kernels that run anywhere: it is built as for one of those.
    fn built(&self, experiment: &Experiment, at: &At) -> Option<Built> {
        let mut discrete = DeviceInfo { kind: DeviceKind::Discrete, ..self.info.clone() };
        discrete.heaps.iter_mut().for_each(|heap| heap.budget = Some(Budget::whole(heap.bytes)));
        let on = |info: &DeviceInfo| experiment.build(&Config::new(&at.variant, &at.point, &setting(info, Preset::Quick))).ok();
        // Others ask for one since they show what only such devices have, such as their clocks.
        let is_meant = experiment.name() == "memory/residency";
        on(&self.info).or_else(|| on(&discrete).filter(|_| is_meant))
    }

    /// Whether the kernel itself is right here, unless that was asked before.
    fn is_right(&self, experiment: &'static Experiment, at: &At) -> bool {
        let is_new = self.known.lock().unwrap().insert((experiment.name(), at.clone()));
        !is_new || self.verdict(&self.originals, experiment, at) == Some(Ok(()))
    }
}

/// All points of a mutant on all drivers; but for the full form, in an order that differs from mutant to mutant.
fn trials<'d>(drivers: &'d [Driver], experiment: &Experiment, mutant: &Mutant) -> Vec<(&'d Driver, At)> {
    let of_driver = |driver: &'d Driver| {
        let points = mutant.at.iter().flat_map(move |line| places(experiment, &setting(&driver.info, Preset::Quick), line));
        points.map(move |at| (driver, at))
    };
    let mut trials: Vec<_> = drivers.iter().flat_map(of_driver).collect();
    if form() < Form::Full {
        trials.sort_by_cached_key(|(driver, at)| hash(&(mutant.describe(at), &driver.info.driver.id)));
    }
    trials
}

fn hash(text: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// What is wrong with a mutant, or with the kernel where the mutant was tried.
fn faults(drivers: &[Driver], experiment: &'static Experiment, mutant: &Mutant) -> Vec<String> {
    let compiler = Mutex::new(Compiler::new(mutant.library()).unwrap());
    let ran = trials(drivers, experiment, mutant).into_iter().filter_map(|(driver, at)| {
        let verdict = driver.verdict(&compiler, experiment, &at)?;
        let is_as_it_should_be = (verdict == Ok(())) == mutant.survives.is_some();
        let fault = (!is_as_it_should_be).then(|| format!("{verdict:?}: {}", mutant.describe(&at)));
        let itself = (!driver.is_right(experiment, &at))
            .then(|| format!("the kernel itself: {} {} {}", experiment.name(), at.variant, at.point));
        let on = |fault| format!("on {}: {fault}", driver.info.name);
        Some([fault, itself].into_iter().flatten().map(on).collect::<Vec<_>>())
    });
    let ran: Vec<Vec<String>> = if form() == Form::Full { ran.collect() } else { ran.take(1).collect() };
    // A mutant that ran nowhere proves nothing.
    if ran.is_empty() && mutant.elsewhere.is_none() {
        return vec![format!("on no device here: {} {} {}", experiment.name(), mutant.name, mutant.from)];
    }
    ran.concat()
}

fn processors() -> usize {
    thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Each mutant is found wrong wherever it should be, and the kernel itself is right there; each survivor is right.
#[test]
fn every_mutant_is_found_wrong_and_no_kernel_is() {
    let selected = std::env::var("LANESCOPE_TEST_MUTANTS").unwrap_or_default();
    let experiments = CATALOGUE.iter().filter(|experiment| experiment.name().starts_with(&selected));
    let of = |experiment: &&'static Experiment| {
        let experiment = *experiment;
        Mutants::read(experiment).mutants.into_iter().map(move |mutant| (experiment, mutant))
    };
    let mutants: Vec<_> = experiments.flat_map(of).collect();
    assert!(!mutants.is_empty(), "no experiment's name begins with {selected}");
    let drivers = Driver::all();
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some((experiment, mutant)) = mutants.get(next.fetch_add(1, Ordering::Relaxed)) {
            let faults = faults(&drivers, experiment, mutant);
            found.lock().unwrap().extend(faults);
        }
    };
    // While one waits for a driver, another one compiles. No threads of rayon's: a device's own work uses those, and one that waits for
    // that work would take on a mutant meanwhile, and wait for the device that it has.
    thread::scope(|scope| (0..2 * processors()).for_each(|_| drop(scope.spawn(work))));
    let found = found.into_inner().unwrap();
    assert!(found.is_empty(), "{found:#?}");
}
