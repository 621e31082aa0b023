//! Mutants: kernels that are broken on purpose.
//!
//! `tests/mutants/FAMILY/NAME.toml` holds those of the experiment FAMILY/NAME: each is a replacement in the embedded GLSL that must
//! apply exactly once, compiled and checked as a run would at all the points that it names. Those that
//! no check can find say why they survive, and have to.

use std::fs;
use std::path::{Path, PathBuf};

use lanescope::experiments::{Experiment, Setting};
use lanescope::model::{Axis, Point};
use lanescope::plan::parse_values;
use lanescope::shader::Library;
use serde::Deserialize;

/// A file of mutants. Where they have to be found wrong: `axis=VALUES` and `variant=NAMES`, separated by blanks, as `run --axis` takes
/// them, and of several values their product. What a mutant says of that goes before what its group says, and that before what the
/// file says. An axis that nobody names has its first default.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    at: String,
    group: Vec<Group>,
}

/// Mutants that have something in common.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    /// Below `glsl/`; the shader of the experiment's own name where it isn't said.
    kernel: Option<String>,
    #[serde(default = "nowhere_else")]
    at: Vec<String>,
    /// What they need that no driver of the tests has.
    elsewhere: Option<String>,
    mutants: Vec<Written>,
}

/// A broken kernel, as its file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    from: String,
    to: String,
    #[serde(default = "nowhere_else")]
    at: Vec<String>,
    survives: Option<String>,
    elsewhere: Option<String>,
}

/// One line that adds nothing.
fn nowhere_else() -> Vec<String> {
    vec![String::new()]
}

#[derive(Clone, Debug)]
pub struct Mutant {
    pub name: String,
    /// Below `glsl/`.
    pub kernel: String,
    pub from: String,
    pub to: String,
    /// Where it has to be found wrong, a line for each product of values.
    pub at: Vec<String>,
    /// Why no check can find it.
    pub survives: Option<String>,
    /// What it needs that no driver of the tests has: it may run nowhere here, and was found wrong on what this names.
    pub elsewhere: Option<String>,
}

impl File {
    fn mutants(self, own_kernel: &str) -> Vec<Mutant> {
        let of_file = self.at;
        let of_group = |group: Group| {
            let kernel = group.kernel.unwrap_or_else(|| own_kernel.to_owned());
            let lines: Vec<String> = group.at.iter().map(|line| joined(&of_file, line)).collect();
            let mutant = move |Written { name, from, to, at, survives, elsewhere }: Written| Mutant {
                name,
                kernel: kernel.clone(),
                from,
                to,
                at: lines.iter().flat_map(|line| at.iter().map(|own| joined(line, own))).collect(),
                survives,
                elsewhere: elsewhere.or_else(|| group.elsewhere.clone()),
            };
            group.mutants.into_iter().map(mutant).collect::<Vec<_>>()
        };
        self.group.into_iter().flat_map(of_group).collect()
    }
}

impl Mutant {
    pub fn describe(&self, at: &At) -> String {
        let Mutant { name, kernel, from, to, .. } = self;
        format!("{kernel}: {name} ({from} -> {to}) at {} {}", at.variant, at.point)
    }

    /// The library with this mutant in place of the kernel.
    pub fn library(&self) -> Library {
        let library = Library::embedded();
        let path = &self.kernel;
        let text = library.get(path).unwrap_or_else(|| panic!("no {path}")).to_owned();
        assert_eq!(text.matches(&self.from).count(), 1, "{path}: `{}` must apply exactly once", self.from);
        let mutated = text.replacen(&self.from, &self.to, 1);
        assert_ne!(text, mutated, "{path}: {}", self.name);
        library.with(path, mutated)
    }
}

/// The mutants of a file, of which there may be none.
pub fn read(text: &str, own_kernel: &str) -> Result<Vec<Mutant>, toml::de::Error> {
    if text.is_empty() { Ok(Vec::new()) } else { toml::from_str::<File>(text).map(|file| file.mutants(own_kernel)) }
}

/// A line with another one that goes before it.
fn joined(line: &str, own: &str) -> String {
    let name = |pair: &str| pair.split_once('=').map_or_else(|| pair.to_owned(), |(name, _)| name.to_owned());
    let is_said = |pair: &&str| own.split_whitespace().any(|own| name(own) == name(pair));
    line.split_whitespace().filter(|pair| !is_said(pair)).chain(own.split_whitespace()).collect::<Vec<_>>().join(" ")
}

pub struct Mutants {
    pub experiment: &'static Experiment,
    pub mutants: Vec<Mutant>,
}

impl Mutants {
    pub fn read(experiment: &'static Experiment) -> Self {
        let path = folder().join(experiment.name()).with_extension("toml");
        let text = fs::read_to_string(&path).unwrap_or_default();
        let mutants = read(&text, &format!("{}.comp", experiment.name()));
        Self { experiment, mutants: mutants.unwrap_or_else(|error| panic!("{}: {error}", path.display())) }
    }
}

pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mutants")
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct At {
    pub variant: String,
    pub point: Point,
}

/// All cases that a line of a mutant's `at` stands for.
pub fn places(experiment: &Experiment, setting: &Setting, line: &str) -> Vec<At> {
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
