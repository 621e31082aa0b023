//! The checks can fail: every kernel is broken on purpose, run on every driver found, and found wrong.
//!
//! LANESCOPE_TEST_MUTANTS=peak/arith takes only those of the experiments whose names begin so, while one is written.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking and says where it ran, helpers included"
)]

use std::collections::{BTreeSet, HashMap};
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex};
use std::thread;

use lanescope::experiments::{CATALOGUE, Config, Experiment};
use lanescope::gpu::{Device, Instance, InstanceOptions, NO_DEVICE_ADVICE};
use lanescope::model::DeviceInfo;
use lanescope::plan::check_limits;
use lanescope::shader::{self, Compiler, Library};
use lanescope::validate::Verdict;

use crate::support::mutants::{At, Mutants, places, setting};

/// The compilers of all mutants, by their names: what one device's thread has compiled, the others needn't.
#[derive(Default)]
struct Compilers(Mutex<HashMap<String, Arc<Mutex<Compiler>>>>);

impl Compilers {
    fn of(&self, name: &str, library: impl FnOnce() -> Library) -> Arc<Mutex<Compiler>> {
        let mut known = self.0.lock().unwrap();
        let new = || Arc::new(Mutex::new(Compiler::new(library()).unwrap()));
        Arc::clone(known.entry(name.to_owned()).or_insert_with(new))
    }
}

/// Compiles, runs and checks one case as a run would, with the kernels of this library; nothing where the device can't run it.
fn verdict(device: &mut Device, compiler: &Mutex<Compiler>, experiment: &dyn Experiment, at: &At) -> Option<Verdict> {
    let info = device.info().clone();
    let setting = setting(&info);
    let built = experiment.build(&Config::new(&at.variant, &at.point, &setting)).ok()?;
    check_limits(&built.case, &info).ok()?;
    let prepared = shader::prepare(built.case.clone(), &mut compiler.lock().unwrap())
        .unwrap_or_else(|failure| panic!("{} {} {}: {}", experiment.name(), at.variant, at.point, failure.reason));
    let slot = device.load(&prepared).unwrap().slot;
    device.run_checked(slot).unwrap();
    let outputs: Vec<Vec<u8>> =
        prepared.case.check.outputs().iter().map(|&output| device.read(slot, output).unwrap()).collect();
    let verdict = built.check(&outputs);
    device.unload();
    Some(verdict)
}

/// Runs a test on every usable device, on all of them at once, without the validation layer: what the mutants do, they do within
/// their buffers.
fn on_each_device<R: Send>(test: impl Fn(&mut Device) -> R + Sync) -> Vec<R> {
    let instance = Instance::load(InstanceOptions { validation: false }).unwrap_or_else(|error| panic!("{error}"));
    let usable: Vec<_> = instance.devices().into_iter().filter(|device| device.unusable.is_none()).collect();
    assert!(!usable.is_empty(), "{NO_DEVICE_ADVICE}");
    crate::support::devices();
    let (instance, test) = (&instance, &test);
    let on = |info: &DeviceInfo| {
        eprintln!("on {} ({}, {})", info.name, info.driver.name, info.driver.info);
        test(&mut instance.open(info.index, None).unwrap_or_else(|error| panic!("{error}")))
    };
    thread::scope(|scope| {
        let all: Vec<_> = usable.iter().map(|info| scope.spawn(move || on(info))).collect();
        all.into_iter().map(|one| one.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

/// How the names of the experiments begin whose mutants are run.
fn selected() -> String {
    std::env::var("LANESCOPE_TEST_MUTANTS").unwrap_or_default()
}

/// Each mutant is found wrong wherever it should be, and the kernel itself is right there; each survivor is right.
#[test]
fn every_mutant_is_found_wrong_and_no_kernel_is() {
    let compilers = Compilers::default();
    let found = on_each_device(|device| {
        let mut ran: BTreeSet<(String, String)> = BTreeSet::new();
        let mut all: BTreeSet<(String, String)> = BTreeSet::new();
        let original = compilers.of("", Library::embedded);
        let mut faults = Vec::new();
        for experiment in CATALOGUE.iter().filter(|experiment| experiment.name().starts_with(&selected())) {
            let mutants = Mutants::read(*experiment);
            let mut known: BTreeSet<At> = BTreeSet::new();
            for mutant in &mutants.mutants {
                let mutated = compilers.of(&format!("{} {mutant:?}", experiment.name()), || mutant.library());
                let info = device.info().clone();
                for at in mutant.at.iter().flat_map(|line| places(*experiment, &setting(&info), line)) {
                    let key = (experiment.name().to_owned(), format!("{} {}", mutant.name, mutant.from));
                    if mutant.elsewhere.is_none() {
                        all.insert(key.clone());
                    }
                    let Some(found) = verdict(device, &mutated, *experiment, &at) else { continue };
                    ran.insert(key);
                    if (found == Ok(())) != mutant.survives.is_some() {
                        faults.push(format!("{found:?}: {}", mutant.describe(&at)));
                    }
                    if known.insert(at.clone()) && verdict(device, &original, *experiment, &at) != Some(Ok(())) {
                        faults.push(format!("the kernel itself: {} {} {}", experiment.name(), at.variant, at.point));
                    }
                }
            }
        }
        assert!(faults.is_empty(), "on {}: {faults:#?}", device.info().name);
        (ran, all)
    });
    let (ran, all): (Vec<BTreeSet<_>>, Vec<BTreeSet<_>>) = found.into_iter().unzip();
    let [ran, all] = [ran, all].map(|sets| sets.into_iter().flatten().collect::<BTreeSet<_>>());
    // A mutant that ran nowhere proves nothing.
    let nowhere: Vec<_> = all.difference(&ran).collect();
    assert!(nowhere.is_empty(), "on no device here: {nowhere:#?}");
}
