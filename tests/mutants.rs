//! The checks can fail: every kernel is broken on purpose, run on every driver found, and found wrong.
//!
//! `tests/mutants/FAMILY/NAME.toml` holds the mutants of the experiment FAMILY/NAME: each is a replacement in the embedded GLSL
//! that must apply exactly once, compiled and checked as a run would at all the points that it names. None writes out of bounds.
//! Those that no check can find say why they survive, and have to.
//!
//! LANESCOPE_TEST_MUTANTS=peak/arith takes only those of the experiments whose names begin so, while one is written.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking and says where it ran, helpers included"
)]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use lanescope::experiments::{self, CATALOGUE, Experiment, Setting};
use lanescope::gpu::{Device, Instance, InstanceOptions, NO_DEVICE_ADVICE};
use lanescope::model::{Axis, Check, DeviceInfo, Kernel, Point, Preset};
use lanescope::plan::{Plan, Request, check_limits, parse_values};
use lanescope::shader::{self, Compiler, Library};
use lanescope::validate::Verdict;
use serde::Deserialize;

/// The fewest mutants of each shader of an experiment.
const FEWEST: usize = 5;

/// A file of mutants.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    mutant: Vec<Mutant>,
}

/// A broken kernel.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mutant {
    /// What is broken.
    name: String,
    /// Below `glsl/`; the shader of the experiment's own name where it isn't said.
    kernel: Option<String>,
    from: String,
    to: String,
    /// Where it has to be found wrong: `axis=VALUES` and `variant=NAMES`, separated by blanks, as `run --axis` takes them, and of
    /// several values their product. An axis that isn't named has its first default.
    at: Vec<String>,
    /// Why no check can find it.
    survives: Option<String>,
    /// What it needs that no driver of the tests has: it may run nowhere here, and was found wrong on what this names.
    elsewhere: Option<String>,
}

/// All mutants of one experiment.
struct Mutants {
    experiment: &'static dyn Experiment,
    mutants: Vec<Mutant>,
}

impl Mutants {
    fn read(experiment: &'static dyn Experiment) -> Self {
        let path = folder().join(experiment.name()).with_extension("toml");
        let text = fs::read_to_string(&path).unwrap_or_default();
        let file = if text.is_empty() { Ok(File { mutant: Vec::new() }) } else { toml::from_str(&text) };
        Self { experiment, mutants: file.unwrap_or_else(|error| panic!("{}: {error}", path.display())).mutant }
    }

    fn describe(&self, mutant: &Mutant, at: &At) -> String {
        let Mutant { name, from, to, .. } = mutant;
        format!("{}: {name} ({from} -> {to}) at {} {}", self.kernel(mutant), at.variant, at.point)
    }

    fn kernel(&self, mutant: &Mutant) -> String {
        mutant.kernel.clone().unwrap_or_else(|| format!("{}.comp", self.experiment.name()))
    }

    /// The library with this mutant in place of the kernel.
    fn library(&self, mutant: &Mutant) -> Library {
        let library = Library::embedded();
        let path = self.kernel(mutant);
        let text = library.get(&path).unwrap_or_else(|| panic!("no {path}")).to_owned();
        assert_eq!(text.matches(&mutant.from).count(), 1, "{path}: `{}` must apply exactly once", mutant.from);
        let mutated = text.replacen(&mutant.from, &mutant.to, 1);
        assert_ne!(text, mutated, "{path}: {}", mutant.name);
        library.with(&path, mutated)
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mutants")
}

/// One case of an experiment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct At {
    variant: String,
    point: Point,
}

/// All cases that a line of a mutant's `at` stands for.
fn places(experiment: &dyn Experiment, setting: &Setting, line: &str) -> Vec<At> {
    let mut variants = vec![experiment.variants()[0].to_owned()];
    let mut axes = experiment.axes(setting);
    axes.iter_mut().for_each(|axis| axis.defaults.truncate(1));
    for pair in line.split_whitespace() {
        let (name, values) = pair.split_once('=').unwrap_or_else(|| panic!("{pair} is not NAME=VALUES"));
        if name == "variant" {
            variants = values.split(',').map(str::to_owned).collect();
            let unknown = variants.iter().find(|variant| !experiment.variants().contains(&variant.as_str()));
            assert_eq!(unknown, None, "{} has no such variant", experiment.name());
        } else {
            let axis = axes.iter_mut().find(|axis| axis.name == name);
            let axis = axis.unwrap_or_else(|| panic!("{} has no axis {name}", experiment.name()));
            axis.defaults = parse_values(axis, values).unwrap();
        }
    }
    let points = product(&axes);
    variants
        .iter()
        .flat_map(|variant| points.iter().map(|point| At { variant: variant.clone(), point: point.clone() }))
        .collect()
}

fn product(axes: &[Axis]) -> Vec<Point> {
    let mut points = vec![Vec::new()];
    for axis in axes {
        let with = |point: &Vec<_>, value: &_| [&point[..], &[(axis.name.clone(), Clone::clone(value))]].concat();
        points = points.iter().flat_map(|point| axis.defaults.iter().map(move |value| with(point, value))).collect();
    }
    points.into_iter().map(Point::new).collect()
}

/// Compiles, runs and checks one case as a run would, with the kernels of this library; nothing where the device can't run it.
fn verdict(device: &mut Device, compiler: &mut Compiler, experiment: &dyn Experiment, at: &At) -> Option<Verdict> {
    let info = device.info().clone();
    let setting = setting(&info);
    let case = experiment.case(&at.variant, &at.point, &setting).ok()?;
    check_limits(&case, &info).ok()?;
    let prepared = shader::prepare(case, compiler)
        .unwrap_or_else(|failure| panic!("{} {} {}: {}", experiment.name(), at.variant, at.point, failure.reason));
    let slot = device.load(&prepared).unwrap().slot;
    device.run_checked(slot).unwrap();
    let outputs: Vec<Vec<u8>> =
        prepared.case.check.outputs().iter().map(|&output| device.read(slot, output).unwrap()).collect();
    let verdict = experiment.check(&prepared.case, &outputs);
    device.unload();
    Some(verdict)
}

fn setting(info: &DeviceInfo) -> Setting<'_> {
    Setting { queue: None, device: info, preset: Preset::Quick, seed: 1 }
}

/// Runs a test on every usable device, on all of them at once, without the validation layer: what the mutants do, they do within
/// their buffers.
fn on_each_device<R: Send>(test: impl Fn(&mut Device) -> R + Sync) -> Vec<R> {
    let instance = Instance::load(InstanceOptions { validation: false }).unwrap_or_else(|error| panic!("{error}"));
    let usable: Vec<_> = instance.devices().into_iter().filter(|device| device.unusable.is_none()).collect();
    assert!(!usable.is_empty(), "{NO_DEVICE_ADVICE}");
    support::devices();
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
    let found = on_each_device(|device| {
        let mut ran: BTreeSet<(String, String)> = BTreeSet::new();
        let mut all: BTreeSet<(String, String)> = BTreeSet::new();
        let mut original = Compiler::new(Library::embedded()).unwrap();
        let mut faults = Vec::new();
        for experiment in CATALOGUE.iter().filter(|experiment| experiment.name().starts_with(&selected())) {
            let mutants = Mutants::read(*experiment);
            let mut known: BTreeSet<At> = BTreeSet::new();
            for mutant in &mutants.mutants {
                let mut mutated = Compiler::new(mutants.library(mutant)).unwrap();
                let info = device.info().clone();
                for at in mutant.at.iter().flat_map(|line| places(*experiment, &setting(&info), line)) {
                    let key = (experiment.name().to_owned(), format!("{} {}", mutant.name, mutant.from));
                    if mutant.elsewhere.is_none() {
                        all.insert(key.clone());
                    }
                    let Some(found) = verdict(device, &mut mutated, *experiment, &at) else { continue };
                    ran.insert(key);
                    if (found == Verdict::Right) != mutant.survives.is_some() {
                        faults.push(format!("{found:?}: {}", mutants.describe(mutant, &at)));
                    }
                    if known.insert(at.clone()) && verdict(device, &mut original, *experiment, &at) != Some(Verdict::Right) {
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

/// Every shader of an experiment that has a twin has mutants, in each variant that uses it.
#[test]
fn every_checked_kernel_has_mutants() {
    for device in support::device_classes() {
        let setting = setting(&device);
        let mut used: BTreeSet<(&str, &str, String)> = BTreeSet::new();
        for planned in Plan::new(&Request::default(), setting).unwrap().iter() {
            let Ok(case) = planned.case else { continue };
            if matches!(case.check, Check::Twin(_)) {
                let shader = |kernel: Kernel| (planned.experiment.name(), planned.variant, kernel.source.into_owned());
                used.extend(case.kernels.into_iter().map(shader));
            }
        }
        for (name, variant, shader) in used {
            let experiment = experiments::find(name).unwrap();
            let mutants = Mutants::read(experiment);
            let of_kernel = |m: &&Mutant| m.survives.is_none() && mutants.kernel(m) == shader;
            let of_variant = |line: &String| places(experiment, &setting, line).iter().any(|at| at.variant == variant);
            let own = mutants.mutants.iter().filter(of_kernel);
            assert!(own.clone().count() >= FEWEST, "{shader} has too few mutants");
            let of_variant = own.filter(|m| m.at.iter().any(of_variant)).count();
            assert!(of_variant > 0, "{name}:{variant} has no mutant of {shader}");
        }
    }
}

/// A file that no experiment reads would be forgotten mutants.
#[test]
fn every_file_belongs_to_an_experiment() {
    for family in fs::read_dir(folder()).unwrap() {
        for file in fs::read_dir(family.unwrap().path()).unwrap() {
            let path = file.unwrap().path().with_extension("");
            let name = path.strip_prefix(folder()).unwrap().to_str().unwrap().replace('\\', "/");
            assert!(experiments::find(&name).is_some_and(|experiment| !Mutants::read(experiment).mutants.is_empty()), "{name}");
        }
    }
}
