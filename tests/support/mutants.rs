//! Mutants: kernels that are broken on purpose.
//!
//! `tests/mutants/FAMILY/NAME.toml` holds those of the experiment FAMILY/NAME: each is a replacement in the embedded GLSL that must
//! apply exactly once, compiled and checked as a run would at all the points that it names. None writes out of bounds. Those that
//! no check can find say why they survive, and have to.

use std::fs;
use std::path::{Path, PathBuf};

use lanescope::experiments::{Experiment, Setting};
use lanescope::model::{Axis, DeviceInfo, Point, Preset};
use lanescope::plan::parse_values;
use lanescope::shader::Library;
use serde::Deserialize;

/// A file of mutants.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    pub mutant: Vec<Mutant>,
}

/// A broken kernel.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mutant {
    /// What is broken.
    pub name: String,
    /// Below `glsl/`; the shader of the experiment's own name where it isn't said.
    pub kernel: Option<String>,
    pub from: String,
    pub to: String,
    /// Where it has to be found wrong: `axis=VALUES` and `variant=NAMES`, separated by blanks, as `run --axis` takes them, and of
    /// several values their product. An axis that isn't named has its first default.
    pub at: Vec<String>,
    /// Why no check can find it.
    pub survives: Option<String>,
    /// What it needs that no driver of the tests has: it may run nowhere here, and was found wrong on what this names.
    pub elsewhere: Option<String>,
}

/// All mutants of one experiment.
pub struct Mutants {
    pub experiment: &'static dyn Experiment,
    pub mutants: Vec<Mutant>,
}

impl Mutants {
    pub fn read(experiment: &'static dyn Experiment) -> Self {
        let path = folder().join(experiment.name()).with_extension("toml");
        let text = fs::read_to_string(&path).unwrap_or_default();
        let file = if text.is_empty() { Ok(File { mutant: Vec::new() }) } else { toml::from_str(&text) };
        Self { experiment, mutants: file.unwrap_or_else(|error| panic!("{}: {error}", path.display())).mutant }
    }

    pub fn describe(&self, mutant: &Mutant, at: &At) -> String {
        let Mutant { name, from, to, .. } = mutant;
        format!("{}: {name} ({from} -> {to}) at {} {}", self.kernel(mutant), at.variant, at.point)
    }

    pub fn kernel(&self, mutant: &Mutant) -> String {
        mutant.kernel.clone().unwrap_or_else(|| format!("{}.comp", self.experiment.name()))
    }

    /// The library with this mutant in place of the kernel.
    pub fn library(&self, mutant: &Mutant) -> Library {
        let library = Library::embedded();
        let path = self.kernel(mutant);
        let text = library.get(&path).unwrap_or_else(|| panic!("no {path}")).to_owned();
        assert_eq!(text.matches(&mutant.from).count(), 1, "{path}: `{}` must apply exactly once", mutant.from);
        let mutated = text.replacen(&mutant.from, &mutant.to, 1);
        assert_ne!(text, mutated, "{path}: {}", mutant.name);
        library.with(&path, mutated)
    }
}

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mutants")
}

/// One case of an experiment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct At {
    pub variant: String,
    pub point: Point,
}

/// All cases that a line of a mutant's `at` stands for.
pub fn places(experiment: &dyn Experiment, setting: &Setting, line: &str) -> Vec<At> {
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

pub fn product(axes: &[Axis]) -> Vec<Point> {
    let mut points = vec![Vec::new()];
    for axis in axes {
        let with = |point: &Vec<_>, value: &_| [&point[..], &[(axis.name.clone(), Clone::clone(value))]].concat();
        points = points.iter().flat_map(|point| axis.defaults.iter().map(move |value| with(point, value))).collect();
    }
    points.into_iter().map(Point::new).collect()
}

/// What experiments look at on this device.
pub fn setting(info: &DeviceInfo) -> Setting<'_> {
    Setting { queue: None, device: info, preset: Preset::Quick, seed: 1 }
}
