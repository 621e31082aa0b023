//! From what a user asks for to the list of cases: complete and countable before the first dispatch, held nowhere.

mod axes;
mod cases;
mod estimate;
mod limits;
mod listed;
mod machine;
mod shard;
mod values;

use std::collections::HashSet;

use sha2::{Digest, Sha256};

use crate::digest::label;
use crate::error::{Error, nearest};
use crate::experiments::{CATALOGUE, Config, Experiment, Setting, derived_with};
use crate::globs::{self, beginning};
use crate::model::{Axis, AxisValue, Cache, Case, Point, Preset, Skip};

pub use axes::tell_what_others_do;
pub use cases::Cases;
pub use estimate::{DEFAULT_PROCESSES, DEFAULT_TIME, Estimate, STUDY_PROCESSES};
pub use limits::{check_limits, check_room, uniform_limits};
use listed::{Listed, Unlisted};
pub use shard::Shard;
pub use values::parse_values;

#[derive(Clone, Default)]
pub struct Request {
    /// Globs over experiment names, or over `name:variant`; empty means all.
    pub filters: Vec<String>,
    /// Experiments beside the catalogue's: where there are some, no filters mean none of that.
    pub kernels: Vec<&'static Experiment>,
    pub axes: Vec<String>,
    pub cache: Cache,
}

/// All cases of a run, computable one by one.
pub struct Plan<'a> {
    setting: Setting<'a>,
    selections: Vec<Selection>,
    cache: Cache,
    id: String,
    left_out: Vec<String>,
}

/// One experiment's share of a plan, or that of those of its variants that have the same axes.
pub struct Selection {
    pub experiment: &'static Experiment,
    pub variants: Vec<&'static str>,
    /// Its axes, their defaults replaced by what the user asked for.
    pub axes: Vec<Axis>,
    pub cache: Cache,
}

pub struct Planned {
    /// Its place in the plan; `None` for one that was asked for by name.
    pub index: Option<u64>,
    pub experiment: &'static Experiment,
    pub variant: &'static str,
    pub point: Point,
    pub cache: Cache,
    /// Identifies the case among all runs: see [`case_id`].
    pub case_id: String,
    /// The case that this one is compared with, if the experiment names one; it may be the case itself, and it may be none of
    /// the plan's. If it is, it comes before this one.
    pub base: Option<Base>,
    /// How much work it is, along each axis where more takes more time.
    pub work: Vec<Amount>,
    pub case: Result<Case, Skip>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Amount {
    pub axis: String,
    pub amount: u64,
    /// A word for all cases that are alike in all else.
    pub alike: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    pub case_id: String,
    pub variant: &'static str,
    pub point: Point,
}

impl Planned {
    /// Whether others are compared with it, and it with itself.
    pub fn is_own_base(&self) -> bool {
        self.base.as_ref().is_some_and(|base| base.case_id == self.case_id)
    }
}

impl Selection {
    /// The number of its cases, saturating.
    fn count(&self) -> u64 {
        let values = self.axes.iter().map(|axis| axis.defaults.len() as u64);
        values.fold(self.variants.len() as u64, u64::saturating_mul)
    }

    /// The variant and the point that a case is compared with: its own, but for what the experiment compares.
    fn base(&self, variant: &'static str, point: &Point) -> Option<(&'static str, Point)> {
        let axes = || self.axes.iter().filter_map(|axis| Some((axis.name.as_ref(), axis.base.as_ref()?)));
        let base_variant = self.experiment.base_variant;
        (base_variant.is_some() || axes().next().is_some()).then(|| {
            let point = axes().fold(point.clone(), |point, (axis, base)| point.with(axis, base));
            (base_variant.unwrap_or(variant), point)
        })
    }

    fn bases_first(&mut self) {
        let base_variant = self.experiment.base_variant;
        self.variants.sort_by_key(|variant| Some(*variant) != base_variant);
        for axis in self.axes.iter_mut().filter(|axis| axis.base.is_some()) {
            axis.defaults.sort_by_key(|value| Some(value) != axis.base.as_ref());
        }
    }

    /// The variant and the point at an index; the last axis varies fastest, the variant slowest.
    fn at(&self, index: u64) -> (&'static str, Point) {
        let mut rest = index;
        let mut values: Vec<_> = self
            .axes
            .iter()
            .rev()
            .map(|axis| {
                let count = axis.defaults.len() as u64;
                let value = &axis.defaults[to_index(rest % count)];
                rest /= count;
                (axis.name.clone(), value.clone())
            })
            .collect();
        values.reverse();
        (self.variants[to_index(rest)], Point::new(values))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "an index into a list in memory fits")]
fn to_index(n: u64) -> usize {
    n as usize
}

impl<'a> Plan<'a> {
    /// Errors: unknown experiments, axes and values, with the nearest valid names.
    pub fn new(request: &Request, setting: Setting<'a>) -> Result<Self, Error> {
        let mut selections = match &request.filters[..] {
            [] if !request.kernels.is_empty() => Vec::new(),
            filters => select(filters, &setting)?,
        };
        // An application may find caches warm or cold.
        let caches: &[Cache] = if request.cache == Cache::Warm { &[Cache::Warm, Cache::Cold] } else { &[Cache::Cold] };
        for kernel in &request.kernels {
            let of = |cache: &Cache| {
                let own = with_equal_axes(kernel, kernel.variants(), &setting);
                own.into_iter().map(|selection| Selection { cache: *cache, ..selection }).collect::<Vec<_>>()
            };
            selections.extend(caches.iter().flat_map(of));
        }
        let (mut set, mut left_out) = (HashSet::new(), Vec::new());
        for text in &request.axes {
            let name = axes::set(&mut selections, text, &mut left_out)?;
            if !set.insert(name) {
                return Err(Error::Usage(format!("axis `{name}` is given twice: join its values by commas")));
            }
        }
        Ok(Self { left_out, ..Self::of_selections(selections, request.cache, setting) })
    }

    /// The default sweep of these variants of an experiment.
    pub fn of_variants(experiment: &'static Experiment, variants: &[&'static str], setting: Setting<'a>) -> Self {
        Self::of_selections(with_equal_axes(experiment, variants, &setting), Cache::default(), setting)
    }

    fn of_selections(mut selections: Vec<Selection>, cache: Cache, setting: Setting<'a>) -> Self {
        selections.iter_mut().for_each(Selection::bases_first);
        if cache == Cache::Cold {
            selections.iter_mut().for_each(|selection| selection.cache = cache);
        }
        let id = plan_id(&selections, cache, setting.seed);
        Self { setting, selections, cache, id, left_out: Vec::new() }
    }

    /// What filters name, but has none of the values that are asked for on an axis.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Identifies the list of cases: all shards of a run have the same.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The number of cases, those that will be skipped included.
    pub fn count(&self) -> u64 {
        self.selections.iter().map(Selection::count).fold(0, u64::saturating_add)
    }

    pub fn has_bases(&self) -> bool {
        let differs = |selection: &Selection| {
            let base_variant = selection.experiment.base_variant;
            let is_other =
                |axis: &Axis| axis.base.is_some() && axis.defaults.iter().any(|value| Some(value) != axis.base.as_ref());
            selection.variants.iter().any(|variant| base_variant.is_some_and(|base| base != *variant))
                || selection.axes.iter().any(is_other)
        };
        self.selections.iter().any(differs)
    }

    pub fn axis_names(&self) -> Vec<String> {
        let axes = self.selections.iter().flat_map(|selection| &selection.axes);
        let mut names: Vec<String> = axes.map(|axis| axis.name.to_string()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The case at an index below [`Plan::count`].
    pub fn get(&self, index: u64) -> Option<Planned> {
        let mut rest = index;
        for selection in &self.selections {
            if rest < selection.count() {
                let (variant, point) = selection.at(rest);
                return Some(Planned { index: Some(index), ..self.planned(selection, variant, point) });
            }
            rest -= selection.count();
        }
        None
    }

    /// All cases, in catalogue order, made as they are asked for.
    pub fn iter(&self) -> impl Iterator<Item = Planned> {
        // Not one by one by their indexes: a plan of listed cases has a selection for each.
        let all = self.selections.iter().flat_map(|selection| (0..selection.count()).map(move |place| (selection, place)));
        (0..).zip(all).map(|(index, (selection, place))| {
            let (variant, point) = selection.at(place);
            Planned { index: Some(index), ..self.planned(selection, variant, point) }
        })
    }

    /// The case of an experiment of the plan at any variant and point, whether it is one of the plan's or not.
    pub fn case_at(&self, experiment: &str, variant: &'static str, point: &Point, cache: Cache) -> Option<Planned> {
        // The variants of an experiment differ in the values of their axes at most.
        let is_it = |selection: &&Selection| selection.experiment.name() == experiment && selection.cache == cache;
        let selection = self.selections.iter().find(is_it)?;
        Some(self.planned(selection, variant, point.clone()))
    }

    pub fn holds(&self, base: &Base, experiment: &str) -> bool {
        self.selections.iter().filter(|selection| selection.experiment.name() == experiment).any(|selection| {
            let has = |axis: &Axis| base.point.get(&axis.name).is_some_and(|value| axis.defaults.contains(value));
            selection.variants.contains(&base.variant) && selection.axes.iter().all(has)
        })
    }

    fn planned(&self, selection: &Selection, variant: &'static str, point: Point) -> Planned {
        let experiment = selection.experiment;
        let case = takes_point(&selection.axes, &point).and_then(|()| {
            let case = experiment.case(&Config::new(variant, &point, &self.setting))?;
            check_limits(&case, self.setting.device)?;
            check_room(&case, self.setting.device)?;
            Ok(case)
        });
        let cache = selection.cache;
        let id = |variant: &str, point: &Point| case_id(experiment.name(), variant, &selection.axes, point, cache);
        let base = selection.base(variant, &point);
        let base = base.map(|(variant, point)| Base { case_id: id(variant, &point), variant, point });
        Planned {
            index: None,
            experiment,
            variant,
            cache,
            case_id: id(variant, &point),
            base,
            work: amounts(experiment, &selection.axes, variant, &point),
            point,
            case,
        }
    }
}

/// Whether each axis takes its value: a point may come from a row that somebody else wrote.
fn takes_point(axes: &[Axis], point: &Point) -> Result<(), Skip> {
    let value = |axis: &Axis| point.get(&axis.name).filter(|value| !axis.accepts(value)).cloned();
    match axes.iter().find_map(|axis| Some((axis, value(axis)?))) {
        Some((axis, value)) => Err(Skip::new(format!("{} is {value}: it takes {}", axis.name, axis.takes()))),
        None => Ok(()),
    }
}

/// How much work a case is along each axis where more takes more time.
pub fn amounts(experiment: &Experiment, axes: &[Axis], variant: &str, point: &Point) -> Vec<Amount> {
    let along = |axis: &Axis| {
        let alike = point.with(&axis.name, &AxisValue::from("any"));
        let alike = format!("{}:{variant} {alike}", experiment.name());
        Amount { axis: axis.name.to_string(), amount: point.integer(&axis.name), alike }
    };
    axes.iter().filter(|axis| axis.is_monotone).map(along).collect()
}

/// A hash over all that decides which cases a plan has, in which order, and on which data.
fn plan_id(selections: &[Selection], cache: Cache, seed: u64) -> String {
    let mut hash = Sha256::new_with_prefix(format!("cache={}\nseed={seed}\n", cache.as_str()));
    for Selection { experiment, variants, axes, cache: own } in selections {
        if *own != cache {
            hash.update(format!("cache={}\n", own.as_str()));
        }
        hash.update(format!("{}\n{}\n{}", experiment.name(), variants.join(","), experiment.fingerprint));
        for axis in axes {
            let values = axis.defaults.iter().map(ToString::to_string).collect::<Vec<_>>();
            hash.update(format!("{}={}\n", axis.name, values.join(",")));
        }
    }
    label('p', hash)
}

/// The experiments, and of them the variants, that match any of the filters. Where no filter names variants, the quick overview
/// has the few that the experiment chose for it.
/// Errors: a filter that matches nothing, or is no valid glob.
pub fn select(filters: &[String], setting: &Setting) -> Result<Vec<Selection>, Error> {
    let matchers = filters.iter().map(|filter| Filter::new(filter)).collect::<Result<Vec<_>, _>>()?;
    let mut selections = Vec::new();
    for experiment in CATALOGUE {
        let matches = |variant: &&&str| is_meant(experiment, variant, &matchers, setting.preset);
        let variants: Vec<&'static str> = experiment.variants().iter().filter(matches).copied().collect();
        selections.extend(with_equal_axes(experiment, &variants, setting));
    }
    Ok(selections)
}

/// The variants of an experiment, apart where they have different values on their axes.
fn with_equal_axes(experiment: &'static Experiment, variants: &[&'static str], setting: &Setting) -> Vec<Selection> {
    let mut selections: Vec<Selection> = Vec::new();
    for variant in variants {
        let axes = experiment.axes_of(variant, setting);
        match selections.iter_mut().find(|selection| selection.axes == axes) {
            Some(selection) => selection.variants.push(variant),
            None => selections.push(Selection { experiment, variants: vec![variant], axes, cache: Cache::Warm }),
        }
    }
    selections
}

fn is_meant(experiment: &Experiment, variant: &str, filters: &[Filter], preset: Preset) -> bool {
    let matching = || filters.iter().filter(|filter| filter.matches(experiment, variant));
    let is_named = matching().any(|filter| filter.of_variants);
    let is_shown = preset != Preset::Quick || experiment.quick_variants().contains(&variant);
    is_named || (is_shown && (filters.is_empty() || matching().next().is_some()))
}

/// A glob over `family/name`, or over `family/name:variant`.
struct Filter {
    glob: globset::GlobMatcher,
    of_variants: bool,
}

impl Filter {
    fn new(text: &str) -> Result<Self, Error> {
        // `shared/*` shall not match `shared/a/b`, should there ever be one.
        let glob = globs::matcher(text, |glob| glob.literal_separator(true))
            .map_err(|why| Error::Usage(format!("`{}` is no valid filter: {why}", beginning(text))))?;
        let filter = Self { glob, of_variants: text.contains(':') };
        let any = CATALOGUE.iter().any(|experiment| experiment.variants().iter().any(|v| filter.matches(experiment, v)));
        if any { Ok(filter) } else { Err(unknown_experiment(text)) }
    }

    fn matches(&self, experiment: &Experiment, variant: &str) -> bool {
        if self.of_variants {
            self.glob.is_match(format!("{}:{variant}", experiment.name()))
        } else {
            [vec![experiment.name()], derived_with(experiment)].concat().iter().any(|name| self.glob.is_match(name))
        }
    }
}

pub fn unknown_experiment(given: &str) -> Error {
    let nearest = near_experiments(given);
    if nearest.is_empty() {
        return Error::Usage(format!(
            "unknown experiment `{given}`: names are FAMILY/NAME, as `lanescope list` shows them; `lanescope list WORD` finds some"
        ));
    }
    Error::Unknown { what: "experiment", given: given.to_owned(), nearest }
}

/// What may be meant by a name that no experiment bears: a whole family, or names.
fn near_experiments(given: &str) -> Vec<String> {
    let family = |experiment: &&'static Experiment| experiment.name().split('/').next();
    let families = nearest(given.strip_suffix("/*").unwrap_or(given), CATALOGUE.iter().filter_map(family));
    if !families.is_empty() {
        return families.iter().map(|family| format!("{family}/*")).collect();
    }
    let mut names: Vec<String> = Vec::new();
    for experiment in CATALOGUE {
        names.push(experiment.name().to_owned());
        names.extend(derived_with(experiment).into_iter().map(str::to_owned));
        let variants = experiment.variants().iter().filter(|variant| given.contains(':') && !variant.is_empty());
        names.extend(variants.map(|variant| format!("{}:{variant}", experiment.name())));
    }
    nearest(given, names.iter().map(String::as_str))
}

/// Identifies a configuration across runs, devices and versions: a hash over experiment, variant, the axes that are not at
/// their neutral value, and what the caches hold.
pub fn case_id(experiment: &str, variant: &str, axes: &[Axis], point: &Point, cache: Cache) -> String {
    let neutral =
        |name: &str, value: &AxisValue| axes.iter().any(|axis| axis.name == name && axis.neutral.as_ref() == Some(value));
    let hashed = Point::new(
        point.iter().filter(|(name, value)| !neutral(name, value)).map(|(name, value)| (name.to_owned().into(), value.clone())),
    );
    label('c', Sha256::new_with_prefix(format!("{experiment}\n{variant}\n{hashed}\ncache={}", cache.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{AxisKind, DeviceInfo, Format, FormatUse, MOST_NUMBER};

    fn device() -> DeviceInfo {
        DeviceInfo::mock()
    }

    fn plan<'a>(device: &'a DeviceInfo, filters: &[&str], axes: &[&str]) -> Result<Plan<'a>, Error> {
        let owned = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
        let request = Request { filters: owned(filters), axes: owned(axes), ..Request::default() };
        Plan::new(&request, Setting { queue: None, device, preset: Preset::Default, seed: 1 })
    }

    #[test]
    fn a_plan_counts_what_it_yields_and_ids_are_unique() {
        let device = device();
        for preset in [Preset::Quick, Preset::Default, Preset::Thorough] {
            let plan = Plan::new(&Request::default(), Setting { queue: None, device: &device, preset, seed: 1 }).unwrap();
            let ids: HashSet<String> = plan.iter().map(|planned| planned.case_id).collect();
            assert_eq!(ids.len() as u64, plan.count());
        }
    }

    #[test]
    fn a_limit_becomes_a_skip_that_names_it() {
        let device = device();
        let plan = plan(&device, &["workgroup/linear"], &["local_size_x=2048", "n=1024"]).unwrap();
        let skip = plan.get(0).unwrap().case.unwrap_err();
        assert_eq!(skip.reason, "maxComputeWorkGroupSize[0] is 1024, the case needs 2048");
    }

    /// Only what kernels bind must lie within a binding's range.
    #[test]
    fn a_range_limits_what_is_bound() {
        let mut device = device();
        device.limits.storage_buffer_range = 128 << 20;
        let reason = |by: &str| {
            let plan = plan(&device, &["transfer/copy"], &["direction=host_to_device", "transfer_bytes=160Mi", by]).unwrap();
            plan.get(0).unwrap().case.err().map(|skip| skip.reason)
        };
        assert_eq!(reason("by=command"), None);
        assert_eq!(reason("by=mapped"), None);
        let range = "maxStorageBufferRange is 134217728, the case needs 167772160";
        assert_eq!(reason("by=shader").as_deref(), Some(range));
    }

    #[test]
    fn a_format_that_the_device_lacks_becomes_a_skip_that_names_it() {
        let mut device = DeviceInfo::mock();
        device.features.clear();
        device.formats.insert(Format::R32Float, [FormatUse::Sampled].into());
        let reason = |variant: &str| {
            let plan = plan(&device, &[&format!("load/path:{variant}")], &["pattern=random"]).unwrap();
            plan.get(0).unwrap().case.err().map(|skip| skip.reason)
        };
        let lacks = |what: &str| Some(format!("the format r32f can't be used for {what}"));
        assert_eq!(reason("texel_buffer_r32f"), lacks("a uniform texel buffer"));
        assert_eq!(reason("sampled_linear_r32f"), lacks("linear filtering"));
        assert_eq!(reason("storage_image_r32f"), lacks("a storage image"));
        let extended = "shaderStorageImageExtendedFormats is missing, which images of r8 need";
        assert_eq!(reason("storage_image_r8").as_deref(), Some(extended));
        for variant in ["sampled_fetch_r32f", "sampled_nearest_r32f", "storage_image_rgba8", "sampled_linear_r8"] {
            assert_eq!(reason(variant), None, "{variant}");
        }
    }

    /// Whatever axes are as large as they may be, no number wraps around; and where one of work is that had no reason to end sooner, no
    /// case comes of it.
    #[test]
    fn huge_numbers_are_skipped_not_wrapped() {
        let device = device();
        let setting = Setting { queue: None, device: &device, preset: Preset::Quick, seed: 1 };
        for experiment in CATALOGUE {
            let axes = experiment.axes(&setting);
            let numbers: Vec<&Axis> = axes.iter().filter(|axis| matches!(axis.kind, AxisKind::AtLeast(_))).collect();
            for (axis, huge) in numbers.iter().flat_map(|axis| ["18446744073709551608", "2^41"].map(|huge| (axis, huge))) {
                let refused = plan(&device, &[experiment.name()], &[&format!("{}={huge}", axis.name)]);
                assert!(refused.is_err_and(|error| error.to_string().contains(&axis.takes())), "{}", axis.name);
            }
            let pairs =
                numbers.iter().enumerate().flat_map(|(i, one)| numbers[i..].iter().map(move |other| vec![*one, *other]));
            for (axes, shift) in pairs.chain([numbers.clone()]).flat_map(|axes| [0, 1, 9].map(|shift| (axes.clone(), shift))) {
                let value = |axis: &Axis| (axis.most >> shift) / axis.multiple_of * axis.multiple_of;
                let set: std::collections::BTreeSet<String> =
                    axes.iter().map(|axis| format!("{}={}", axis.name, value(axis))).collect();
                let request = Request {
                    filters: vec![experiment.name().to_owned()],
                    axes: set.iter().cloned().collect(),
                    ..Request::default()
                };
                let plan = Plan::new(&request, setting).unwrap();
                let cases = plan.iter().filter(|planned| planned.case.is_ok()).count();
                let is_endless = axes.iter().any(|axis| axis.is_work && axis.most == MOST_NUMBER);
                assert!(cases == 0 || !is_endless || shift == 9, "{} {set:?}", experiment.name());
            }
        }
    }

    #[test]
    fn a_widened_plan_is_counted_not_held() {
        let device = device();
        let plan = plan(&device, &["memory/stream"], &["n=4..4000000:+4", "local_size_x=1..1024"]).unwrap();
        assert_eq!(plan.count(), 7 * 3 * 2 * 1_000_000 * 1024, "operations, widths, orders of issue, sizes");
        assert!(plan.get(plan.count() - 1).is_some());
        assert!(plan.get(plan.count()).is_none());
    }

    #[test]
    fn a_plan_knows_itself_and_what_it_holds() {
        let device = device();
        let id = |axes: &[&str]| plan(&device, &["memory/stride"], axes).unwrap().id().to_owned();
        assert_eq!(id(&["stride=1,2"]), id(&["stride=2,1"]), "the base comes first in either");
        assert_ne!(id(&["stride=1,2"]), id(&["stride=1,4"]));
        for (axis, held) in [("stride=1,2", true), ("stride=2,4", false)] {
            let plan = plan(&device, &["memory/stride"], &[axis]).unwrap();
            let last = plan.get(plan.count() - 1).unwrap();
            assert_eq!(last.index, Some(plan.count() - 1));
            assert_eq!(plan.holds(&last.base.unwrap(), "memory/stride"), held, "{axis}");
        }
    }

    #[test]
    fn unknown_names_are_refused_with_the_nearest() {
        let device = device();
        let error = |filters: &[&str], axes: &[&str]| plan(&device, filters, axes).err().unwrap().to_string();
        assert_eq!(error(&["memory/steam"], &[]), "unknown experiment `memory/steam`; did you mean memory/stream?");
        assert!(error(&["calibration/timer:flor"], &[]).contains("calibration/timer:floor"));
        assert_eq!(error(&["memory"], &[]), "unknown experiment `memory`; did you mean memory/*?");
        assert_eq!(error(&["memroy/*"], &[]), "unknown experiment `memroy/*`; did you mean memory/*?");
        assert!(!error(&["zzz"], &[]).contains("did you mean") && error(&["zzz"], &[]).contains("lanescope list"));
        assert!(error(&["memory/stream"], &["widht=1"]).contains("did you mean width?"));
        assert!(error(&["memory/stream"], &["width=3"]).contains("it takes 1, 2, 4"));
        assert!(error(&["memory/[stream"], &[]).contains("no valid filter"));
    }

    /// Variants may have fewer values than others by default, but never other axes; what a user asks for holds for all.
    #[test]
    fn variants_differ_in_the_values_of_their_axes_alone() {
        let device = device();
        for experiment in CATALOGUE {
            let setting = Setting { queue: None, device: &device, preset: Preset::Default, seed: 1 };
            let bare =
                |axes: Vec<Axis>| -> Vec<Axis> { axes.into_iter().map(|axis| Axis { defaults: Vec::new(), ..axis }).collect() };
            for variant in experiment.variants() {
                assert_eq!(
                    bare(experiment.axes_of(variant, &setting)),
                    bare(experiment.axes(&setting)),
                    "{}",
                    experiment.name()
                );
            }
        }
        let count = |axes: &[&str]| {
            let plan = plan(&device, &["subgroup/ops"], axes).unwrap();
            let of = |variant: &str| plan.iter().filter(|planned| planned.variant == variant).count();
            (of("u32"), of("f16"), plan.iter().count() as u64 == plan.count())
        };
        let (all, few, is_whole) = count(&[]);
        assert!(few > 0 && few < all && is_whole, "{few} of {all}");
        assert_eq!(count(&["op=min,mul", "local_size_x=64"]), (2, 2, true));
    }

    /// The quick overview has the variants that the experiment chose for it, and those that a filter names.
    #[test]
    fn quick_has_few_variants_unless_some_are_named() {
        let device = device();
        let variants = |preset, filters: &[&str]| {
            let filters: Vec<String> = filters.iter().map(ToString::to_string).collect();
            let selections = select(&filters, &Setting { queue: None, device: &device, preset, seed: 1 }).unwrap();
            selections.into_iter().find(|selection| selection.experiment.name() == "load/path").unwrap().variants
        };
        let experiment = crate::experiments::find("load/path").unwrap();
        let (all, few) = (experiment.variants(), experiment.quick_variants());
        assert!(few.len() < all.len() && few.iter().all(|variant| all.contains(variant)));
        let is_few = |found: Vec<&str>| found.len() == few.len() && found.iter().all(|variant| few.contains(variant));
        assert!(is_few(variants(Preset::Quick, &[])) && is_few(variants(Preset::Quick, &["load/*", "memory/stream"])));
        assert_eq!(variants(Preset::Default, &["load/path"]), all);
        assert_eq!(variants(Preset::Quick, &["load/path:*"]), all);
        assert_eq!(variants(Preset::Quick, &["load/path:ssbo_vec3"]), ["ssbo_vec3"]);
        assert!(variants(Preset::Quick, &["load/path", "load/path:ssbo_vec3"]).contains(&"ssbo_vec3"));
        for experiment in CATALOGUE {
            let (all, few) = (experiment.variants(), experiment.quick_variants());
            assert!(!few.is_empty() && few.iter().all(|variant| all.contains(variant)), "{}", experiment.name());
            assert!(experiment.base_variant.is_none_or(|base| few.contains(&base)), "{}: no base", experiment.name());
        }
    }

    #[test]
    fn a_neutral_value_keeps_the_id() {
        let point = |values: &[(&'static str, u64)]| Point::new(values.iter().map(|(name, n)| ((*name).into(), (*n).into())));
        let mut padding = Axis::new("padding", "", AxisKind::AtLeast(0), [0_u64]);
        padding.neutral = Some(0_u64.into());
        let axes = [Axis::new("n", "", AxisKind::AtLeast(1), [1_u64]), padding];
        let old = case_id("a/b", "", &axes[..1], &point(&[("n", 4)]), Cache::Warm);
        assert_eq!(case_id("a/b", "", &axes, &point(&[("n", 4), ("padding", 0)]), Cache::Warm), old);
        assert_ne!(case_id("a/b", "", &axes, &point(&[("n", 4), ("padding", 0)]), Cache::Cold), old);
        assert_ne!(case_id("a/b", "", &axes, &point(&[("n", 4), ("padding", 1)]), Cache::Warm), old);
        assert!(old.starts_with('c') && old.len() == 17);
    }
}
