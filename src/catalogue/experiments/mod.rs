//! The catalogue: what Lanescope can measure.
//!
//! An experiment is a room of its own: one file with its axes, its resources, its work and its CPU twin, one of the same name with its
//! explanation, and its shaders in the folder of the same name below `glsl/`. Adding one is these files, its module and its place in
//! the catalogue below.

mod common;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::LazyLock;

use crate::model::{Axis, Case, Derived, DeviceInfo, Finished, Plot, Point, Preset, Repeatability, Skip, Traffic};

pub use common::builder::{Built, CaseBuilder, Handle, KernelHandle, PassOutputs, Twin};
pub use common::config::Config;
pub use common::elements::Elements;
pub use common::grid::{
    MOST_SIZE, POWERS_TO_64, fold_groups, gcd, local_size_axis, narrow, number, powers_of_two, product, size_up_to, u32_of,
    usual_size, workgroups,
};
pub use common::issue::{issue_axes, issue_axis, issued, issuing, ordered};
pub use common::ladder::Ladder;
pub use common::lanes::{lanes, scramble, size_to_require};
pub use common::stepped::stepped;

/// What an experiment may depend on besides its point: pure data, known before anything is dispatched.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    pub device: &'a DeviceInfo,
    /// The queue family that work runs on, where it isn't the device's default.
    pub queue: Option<u32>,
    pub preset: Preset,
    pub seed: u64,
}

impl Setting<'_> {
    /// Whether the queue has timestamps that can be read as time.
    pub fn require_timestamps(&self) -> Result<(), Skip> {
        let family = match self.queue {
            Some(queue) => self.device.queues.iter().find(|family| family.index == queue),
            None => self.device.default_queue(),
        };
        let period = self.device.timestamp_period;
        if family.is_none_or(|family| family.timestamp_valid_bits == 0) {
            Err(Skip::new("timestampValidBits is 0: the queue has no timestamps"))
        } else if !(period.is_finite() && period > 0.0) {
            Err(Skip::new(format!("timestampPeriod is {period}: the device's timestamps can't be read as time")))
        } else {
            Ok(())
        }
    }

    /// A size that fits the device's class: software drivers are a thousand times slower.
    pub fn by_class<T>(&self, cpu: T, gpu: T) -> T {
        if self.device.is_cpu() { cpu } else { gpu }
    }

    /// What the overview measures, or the other presets.
    pub fn quick_or<T>(&self, quick: T, others: T) -> T {
        if self.preset == Preset::Quick { quick } else { others }
    }
}

pub type Axes = fn(&Setting) -> Vec<Axis>;
pub type BuildFn = fn(&Config) -> Result<Built, Skip>;

/// How an experiment makes its cases.
#[derive(Clone, Copy)]
pub enum Build {
    Of(BuildFn),
    /// That knows more than the configuration: a kernel that the user brings.
    Made(&'static (dyn Fn(&Config) -> Result<Built, Skip> + Send + Sync)),
}

/// One question to a device. Its file names what differs from [`Experiment::new`].
pub struct Experiment {
    pub name: &'static str,
    /// In the order of a ladder; one nameless variant unless it says otherwise.
    pub variants: &'static [&'static str],
    /// Where they are fewer than `variants`.
    pub quick_variants: &'static [&'static str],
    /// The one that others at the same point are compared with (columns `relative` and `relative_to`); of a ladder, its first.
    pub base_variant: Option<&'static str>,
    pub ladder: Option<Ladder>,
    /// The names, `family/name`, under which [`Experiment::derive`] reports; of a ladder, its own. Filters match them as well.
    pub derived: &'static [&'static str],
    pub derive: fn(&[Finished]) -> Vec<Derived>,
    /// The kind of peak, as `peak/summary` calls it, that its figures are of and can't well exceed: `peak/share` tells how near its best
    /// row comes. Nothing for one whose own rows tell peaks.
    pub peak_kind: Option<&'static str>,
    pub is_of_peak: fn(&str, &Point) -> bool,
    pub repeatability: fn(&Point) -> Repeatability,
    pub plot: Option<Plot>,
    /// What tells cases of two plans apart that have the same names: empty in the catalogue.
    pub fingerprint: &'static str,
    pub axes: Axes,
    /// Where variants differ in their default values.
    pub axes_of: Option<fn(&str, &Setting) -> Vec<Axis>>,
    pub build: Build,
    pub traffic: fn(&Case) -> Result<Vec<Traffic>, &'static str>,
}

impl Experiment {
    /// The one of this name, `family/name`, with the axes and the cases that these give.
    pub const fn new(name: &'static str, axes: Axes, build: BuildFn) -> Self {
        Self { axes, ..Self::made(name, Build::Of(build)) }
    }

    /// One without axes.
    pub const fn made(name: &'static str, build: Build) -> Self {
        Self {
            name,
            variants: &[""],
            quick_variants: &[],
            base_variant: None,
            ladder: None,
            derived: &[],
            derive: |_| Vec::new(),
            peak_kind: None,
            is_of_peak: |_, _| true,
            repeatability: |_| Repeatability::Core,
            plot: None,
            fingerprint: "",
            axes: |_| Vec::new(),
            axes_of: None,
            build,
            traffic: |case| Ok(case.work.bytes.map(|_| Traffic::usual(case)).into_iter().collect()),
        }
    }

    /// An experiment whose time is that of the device's memory.
    pub const fn of_memory(name: &'static str, axes: Axes, build: BuildFn) -> Self {
        Self { peak_kind: Some("global"), repeatability: |_| Repeatability::Memory, ..Self::new(name, axes, build) }
    }

    /// An experiment whose variants are the rungs of an algorithm: what the best of them gains over the first is reported.
    pub const fn of_ladder(ladder: Ladder, axes: Axes, build: BuildFn) -> Self {
        Self {
            ladder: Some(ladder),
            base_variant: Some(ladder.first),
            derived: &[Ladder::NAME],
            ..Self::new(ladder.experiment, axes, build)
        }
    }

    /// `family/name`, as filters match it and rows carry it.
    pub fn name(&self) -> &'static str {
        self.name
    }

    pub fn variants(&self) -> &'static [&'static str] {
        self.variants
    }

    /// The variants that the quick overview measures: all, unless they are too many for it. A filter that names variants has
    /// the ones that it names.
    pub fn quick_variants(&self) -> &'static [&'static str] {
        if self.quick_variants.is_empty() { self.variants } else { self.quick_variants }
    }

    /// Figures that follow from finished rows of this experiment, all of one device and driver. Pure; rows come in any order and
    /// any of the plan's may be missing.
    pub fn derive(&self, rows: &[Finished]) -> Vec<Derived> {
        let gains = self.ladder.map(|ladder| ladder.derive(rows)).unwrap_or_default();
        gains.into_iter().chain((self.derive)(rows)).collect()
    }

    /// Whether a row counts for `peak_kind`: all do, unless some are limited by other units of the device.
    pub fn is_of_peak(&self, variant: &str, point: &Point) -> bool {
        (self.is_of_peak)(variant, point)
    }

    /// How far the time of a case moves from run to run: comparison asks where one run can't show it.
    pub fn repeatability(&self, point: &Point) -> Repeatability {
        (self.repeatability)(point)
    }

    /// How its rows are best drawn, where that doesn't follow from their axes.
    pub fn plot(&self) -> Option<Plot> {
        self.plot
    }

    /// Its axes with the values that are measured by default.
    pub fn axes(&self, setting: &Setting) -> Vec<Axis> {
        (self.axes)(setting)
    }

    /// The same for one variant. Names, kinds and bases are those of [`Experiment::axes`].
    pub fn axes_of(&self, variant: &str, setting: &Setting) -> Vec<Axis> {
        self.axes_of.map_or_else(|| self.axes(setting), |axes_of| axes_of(variant, setting))
    }

    /// The case of a configuration and its CPU twin, or why the device can't run it. Pure: compiles nothing, touches no device,
    /// and computes no results: that is left to the twin, once it is asked. Limits that every case must keep (workgroup size,
    /// group counts, buffer ranges) are checked by the plan.
    /// Skipped: a limit or a feature that this experiment in particular needs and the device hasn't got.
    pub fn build(&self, config: &Config) -> Result<Built, Skip> {
        match self.build {
            Build::Of(build) => build(config),
            Build::Made(build) => build(config),
        }
    }

    pub fn case(&self, config: &Config) -> Result<Case, Skip> {
        self.build(config).map(|built| built.case)
    }

    /// How the bytes or items that one of its cases counts show in its kernels: in each of them, or in the one that does the work.
    /// Tests hold the count against the code with it. By default, where the case states bytes, they are all that its kernel reads
    /// from and writes to buffers, without a loop.
    ///
    /// # Errors
    /// Why they don't show in the code.
    pub fn traffic(&self, case: &Case) -> Result<Vec<Traffic>, &'static str> {
        (self.traffic)(case)
    }
}

/// A derived row, with the flags of the rows that it follows from.
pub type FlaggedFigure = (Derived, BTreeSet<String>);

pub struct Derivation {
    /// `family/name`, under which its figures are reported. Filters match it as the name of the experiment that asks for it.
    pub name: &'static str,
    /// The experiment that asks for it: figures are reported where this one was tried, whatever became of the others.
    pub asked_by: &'static str,
    /// The experiments from whose rows its figures follow.
    pub sources: fn() -> BTreeSet<&'static str>,
    /// Pure. The rows are the finished ones of its sources and of
    /// the experiment that asks, all of one device and driver, by the experiment's name; an experiment that has none isn't there.
    pub derive: fn(&BTreeMap<&str, &[Finished]>) -> Vec<FlaggedFigure>,
}

pub mod calibration {
    pub mod barrier;
    pub mod clock;
    pub mod core_clock;
    pub mod empty;
    pub mod evict;
    pub mod sentinel;
    pub mod timer;
}

pub mod workgroup {
    pub mod divergence;
    pub mod linear;
    pub mod occupancy;
    pub mod persistent;
    pub mod registers;
    pub mod saturation;
    pub mod tile2d;
    pub mod tile3d;
}

pub mod memory {
    pub mod dtype;
    pub mod gather;
    pub mod host_visible;
    pub mod layout;
    pub mod misaligned;
    pub mod residency;
    pub mod reuse;
    pub mod row_column;
    pub mod scatter;
    pub mod stream;
    pub mod stride;
}

pub mod load {
    pub mod filter;
    pub mod path;
    pub mod stream;
}

pub mod cache {
    pub mod bandwidth;
    pub mod latency;
    pub mod line;
    pub mod tlb;
}

pub mod transfer {
    pub mod copy;
}

pub mod shared {
    pub mod bandwidth;
    pub mod bank_conflict;
    pub mod capacity;
    pub mod latency;
    pub mod tile;
}

pub mod subgroup {
    pub mod aggregate;
    pub mod ops;
    pub mod uniform_load;
    pub mod versus_shared;
}

pub mod sync {
    pub mod atomic;
    pub mod barrier;
    pub mod false_sharing;
}

pub mod dispatch {
    pub mod descriptor_bind;
    pub mod empty;
    pub mod event;
    pub mod fence;
    pub mod indirect;
    pub mod pipeline_barrier;
    pub mod pipeline_bind;
    pub mod push_constant;
    pub mod submit;
    pub mod timeline;
    pub mod timestamp;
}

pub mod peak {
    pub mod arith;
    pub mod coopmat;
    pub mod coopmat_workgroup;
    pub mod dot;
    pub mod latency;
    pub mod roofline;
    pub mod share;
    pub mod summary;
}

pub mod algo {
    pub mod adaptive;
    pub mod argmax;
    pub mod blur;
    pub mod compact;
    pub mod conv2d;
    pub mod fixed_size;
    pub mod histogram;
    pub mod matmul;
    pub mod nbody;
    pub mod particles;
    pub mod raytrace;
    pub mod reduce;
    pub mod scan;
    pub mod sort;
    pub mod transpose;
}

/// The catalogue from the families' modules, and the texts that lie beside them.
macro_rules! catalogue {
    (
        experiments { $($family:ident: $($name:ident),+;)+ }
        derivations { $($home:ident: $($derivation:ident),+;)+ }
    ) => {
        /// Every experiment, in catalogue order.
        pub const CATALOGUE: &[&Experiment] = &[$($(&$family::$name::EXPERIMENT),+),+];

        /// Every derivation from several experiments, in the order in which they are told.
        pub const DERIVATIONS: &[Derivation] = &[$($($home::$derivation::DERIVATION),+),+];

        const TEXTS: &[&str] = &[
            $($(include_str!(concat!(stringify!($family), "/", stringify!($name), ".md")),)+)+
            $($(include_str!(concat!(stringify!($home), "/", stringify!($derivation), ".md")),)+)+
        ];
    };
}

catalogue! {
    experiments {
        calibration: timer, clock, core_clock, empty, barrier, sentinel, evict;
        workgroup: linear, tile2d, tile3d, saturation, occupancy, registers, divergence, persistent;
        memory: stream, stride, gather, scatter, layout, dtype, misaligned, row_column, reuse, host_visible, residency;
        load: path, stream, filter;
        cache: latency, bandwidth, line, tlb;
        transfer: copy;
        shared: bandwidth, latency, bank_conflict, tile, capacity;
        subgroup: ops, versus_shared, uniform_load, aggregate;
        sync: barrier, atomic, false_sharing;
        dispatch: empty, pipeline_barrier, event, timestamp, push_constant, descriptor_bind, pipeline_bind, indirect, submit, fence, timeline;
        peak: arith, latency, dot, roofline, coopmat, coopmat_workgroup;
        algo: transpose, reduce, argmax, scan, compact, histogram, sort, matmul, conv2d, particles, nbody, raytrace, blur, adaptive;
    }
    derivations {
        peak: summary, share;
        algo: fixed_size;
    }
}

/// What is said of an experiment or of a derivation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text {
    /// What it measures, in one line.
    pub summary: &'static str,
    /// What it asks, how to read its figures, and what was measured on which device: Markdown.
    pub body: &'static str,
}

impl Text {
    /// What one of its first points says, `Question`, `Unit` or `At a glance`, on one line; nothing where it has none.
    pub fn point(&self, name: &str) -> String {
        let begin = format!("- {name}: ");
        let after = self.body.find(&begin).map_or("", |place| &self.body[place + begin.len()..]);
        let end = ["\n- ", "\n\n"].iter().filter_map(|end| after.find(end)).min().unwrap_or(after.len());
        after[..end].split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// What is said of the experiment or the derivation of this name: its file begins with `# NAME: SUMMARY`.
pub fn text(name: &str) -> Option<Text> {
    let titled = TEXTS.iter().filter_map(|text| text.strip_prefix("# ")?.split_once('\n'));
    titled
        .filter_map(|(title, body)| Some((title.split_once(": ")?, body)))
        .find_map(|((titled, summary), body)| (titled == name).then_some(Text { summary, body: body.trim_matches('\n') }))
}

pub fn find(name: &str) -> Option<&'static Experiment> {
    static BY_NAME: LazyLock<HashMap<&str, &Experiment>> =
        LazyLock::new(|| CATALOGUE.iter().map(|experiment| (experiment.name(), *experiment)).collect());
    BY_NAME.get(name).copied()
}

/// The names under which figures are told wherever an experiment is tried: those that it derives itself, and the derivations that
/// it asks for.
pub fn derived_with(experiment: &Experiment) -> Vec<&str> {
    let asked = DERIVATIONS.iter().filter(|derivation| derivation.asked_by == experiment.name());
    experiment.derived.iter().copied().chain(asked.map(|derivation| derivation.name)).collect()
}

/// Whether figures are told under this name that follow from others.
pub fn is_derived_name(name: &str) -> bool {
    CATALOGUE.iter().any(|experiment| derived_with(experiment).contains(&name))
}

/// Whether figures are derived from the rows of the experiment of this name.
pub fn is_source(name: &str) -> bool {
    static SOURCES: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
        let own = CATALOGUE.iter().filter(|experiment| !experiment.derived.is_empty()).map(|experiment| experiment.name());
        let of_derivation = |derivation: &Derivation| (derivation.sources)().into_iter().chain([derivation.asked_by]);
        own.chain(DERIVATIONS.iter().flat_map(of_derivation)).collect()
    });
    SOURCES.contains(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_sorted_into_families() {
        let mut names: Vec<&str> = CATALOGUE.iter().map(|experiment| experiment.name()).collect();
        let mut unique = names.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), names.len());
        let derived: Vec<&str> = CATALOGUE.iter().flat_map(|experiment| derived_with(experiment)).collect();
        assert!(derived.iter().all(|name| find(name).is_none()), "a derivation bears an experiment's name");
        names.extend(derived);
        assert!(names.iter().all(|name| name.split('/').count() == 2));
    }

    #[test]
    fn the_points_of_a_text_are_told_apart() {
        let text = Text { summary: "", body: "- Question: What\n  does it cost?\n- Unit: ns.\n\n- Unit: not this\n" };
        assert_eq!(["Question", "Unit", "Time"].map(|name| text.point(name)), ["What does it cost?", "ns.", ""]);
    }

    #[test]
    fn derivations_are_asked_by_an_experiment_and_follow_from_some() {
        for derivation in DERIVATIONS {
            let sources = (derivation.sources)();
            assert!(sources.len() > 1 && find(derivation.asked_by).is_some(), "{}", derivation.name);
            assert!(sources.iter().all(|source| find(source).is_some() && is_source(source)), "{}", derivation.name);
            assert!(text(derivation.name).is_some());
        }
        assert!(is_source("peak/arith") && is_source("cache/line") && !is_source("calibration/sentinel"));
    }
}
