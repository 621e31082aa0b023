//! A kernel of the user's, configuration by configuration, as cases.

mod described;
mod reference;
mod subgroups;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use thiserror::Error;

use super::addresses;
use super::compare::Right;
use super::expression::Value;
use super::fill::{Fill, Unusual};
use super::members::AssumedMember;
use super::module::{self, UserModule};
use super::resources::{Bound, Filled, Output, Unfilled, World};
use super::sized::{Layout, Sized};
use super::spec::{KernelSpec, Reference};
use super::variables::Variables;
use super::written::Written;
use super::{members, names};
use crate::model::{
    AxisValue, Binding, Case, Check, Contents, Data, DeviceInfo, Failure, Headline, Kernel, MemoryKind, Point, Quirk, Repeat,
    Resource, ResourceKind, Status, Step, Work,
};
use crate::plan::{check_limits, uniform_limits};
use crate::shader::{
    BindingInfo, BindingKind, BlockInfo, BlockPlace, Needs, Noting, Prepared, ReflectError, ScalarType, SpecValues,
    SpecializeError, Specialized, specialize_kernel,
};
use crate::units::parse_number;

pub use described::Constant;

/// The size that subgroups are required to have.
pub const SUBGROUP_AXIS: &str = "subgroup_size";

pub const LOCAL_SIZE_AXES: [&str; 3] = ["local_size_x", "local_size_y", "local_size_z"];
/// How an axis begins that is a specialization constant; its name in the shader follows, or its id.
pub const CONSTANT_AXIS: &str = "spec_";
pub const MACRO_AXIS: &str = "def_";

/// What makes the inputs of a second trial other ones.
const OTHER_SEED: u64 = 0x5851_F42D_4C95_7F2D;

/// What the user has to mend.
pub(super) fn said(reason: String) -> Failure {
    Failure::new(Status::Error, reason)
}

/// What this configuration can't have.
pub(super) fn skipped(reason: String) -> Failure {
    Failure::new(Status::Skipped, reason)
}

pub struct UserKernel {
    subject: KernelSpec,
    device: DeviceInfo,
    sources: HashMap<Vec<(String, String)>, Arc<UserModule>>,
    /// What each resource was filled with last: sizes may follow axes, and all of them would be more than a host holds.
    fills: HashMap<String, (Sized, Data)>,
    /// What the outputs must be, in the order of the case's check.
    expected: Option<Vec<Right>>,
    /// What the first pass of cases never wrote, for what later ones leave: without bytes.
    first_passes: HashMap<Point, Vec<Written>>,
}

struct Made {
    case: Case,
    source: Arc<UserModule>,
    values: SpecValues,
    variables: Variables,
    blocks: Vec<BlockInfo>,
    outputs: Vec<Output>,
    unfilled: Vec<Unfilled>,
    /// Members of push constants and uniform blocks of which the user says nothing.
    unsaid: Vec<AssumedMember>,
}

impl UserKernel {
    pub fn new(subject: KernelSpec, device: DeviceInfo) -> Self {
        Self { subject, device, sources: HashMap::new(), fills: HashMap::new(), expected: None, first_passes: HashMap::new() }
    }

    /// The same shader with another problem: other inputs or another size. It is compiled in the same way.
    #[must_use]
    pub fn with_problem(&self, subject: KernelSpec) -> Self {
        let subject = KernelSpec { is_traced: self.subject.is_traced, ..subject };
        Self { sources: self.sources.clone(), ..Self::new(subject, self.device.clone()) }
    }

    /// Gives constants values that all configurations share, the shader as it is written among them.
    pub fn share(&mut self, constants: Vec<(String, String)>) {
        self.subject.constants = constants;
    }

    pub fn compare_with(&mut self, reference: Reference) {
        self.subject.reference = reference;
    }

    pub fn subject(&self) -> &KernelSpec {
        &self.subject
    }

    pub fn name(&self) -> String {
        format!("tune/{}", self.subject.name)
    }

    pub(super) fn source(&mut self, point: &Point) -> Result<Arc<UserModule>, Failure> {
        let mut macros = self.subject.macros.clone();
        for (name, value) in point.iter().filter_map(|(name, value)| Some((name.strip_prefix(MACRO_AXIS)?, value))) {
            macros.retain(|(known, _)| known != name);
            macros.push((name.to_owned(), value.to_string()));
        }
        macros.sort();
        if let Some(source) = self.sources.get(&macros) {
            return Ok(Arc::clone(source));
        }
        let source = Arc::new(UserModule::read(&self.subject, macros.clone())?);
        self.sources.insert(macros, Arc::clone(&source));
        Ok(source)
    }

    fn variables_of(&self, source: &UserModule, point: &Point, values: &SpecValues) -> Variables {
        let mut variables = Variables::new(self.subject.n);
        for (name, size) in LOCAL_SIZE_AXES.iter().zip(local_size(source, point)) {
            variables.add(name, Value::Integer(size.into()));
        }
        for constant in source.constants() {
            let bits = values.get(&constant.id).copied().unwrap_or(constant.default_bits);
            let shown = constant.ty.shown(bits);
            let value = match constant.ty {
                ScalarType::Bool => Value::Truth(bits != 0),
                ty if ty.is_float() => Value::Real(shown.parse().unwrap_or(f64::NAN)),
                _ => word_value(&shown),
            };
            let name = module::called(constant);
            variables.add(&name, value.clone());
            variables.add(&format!("{CONSTANT_AXIS}{name}"), value);
        }
        for (name, size) in source.size_names(local_size(source, point)) {
            variables.add(name, Value::Integer(size.into()));
        }
        self.add_known(&mut variables, point);
        variables
    }

    /// What expressions may use of a configuration even if it has no module.
    fn add_known(&self, variables: &mut Variables, point: &Point) {
        for (name, value) in point.iter() {
            let value = axis_value(value);
            let plain = name.strip_prefix(MACRO_AXIS).or_else(|| name.strip_prefix(CONSTANT_AXIS)).unwrap_or(name);
            variables.add(plain, value.clone());
            variables.add(name, value);
        }
        for (name, value) in &self.subject.macros {
            variables.add(name, word_value(value));
        }
    }

    /// The values of the constants that all configurations share, and of those that this one names.
    fn constants(&self, source: &UserModule, point: &Point) -> Result<SpecValues, Failure> {
        let shared = self.subject.constants.iter().map(|(name, value)| (name.as_str(), value.clone()));
        let named = point.iter().filter_map(|(name, value)| Some((name.strip_prefix(CONSTANT_AXIS)?, value.to_string())));
        let value_of = |(name, value): (&str, String)| {
            let constant = source.constant(name);
            let constant = constant.ok_or_else(|| said(format!("the shader has no specialization constant `{name}`")))?;
            Ok((constant.id, module::bits(constant, &value)?))
        };
        // Of two values of one constant the latter stays.
        shared.chain(named).map(value_of).collect()
    }

    /// The values of all constants of a configuration, sizes and lengths included, with what expressions may use.
    fn values(&self, source: &UserModule, point: &Point) -> Result<(SpecValues, Variables), Failure> {
        let mut values = self.constants(source, point)?;
        let variables = self.variables_of(source, point, &values);
        values.extend(source.size_values(local_size(source, point)));
        for ((array, texts), ids) in self.subject.lengths.iter().zip(&source.lengths) {
            for (text, id) in texts.iter().zip(ids) {
                let length = variables.integer(text, "--shared")?;
                if !(1..=i32::MAX as u64).contains(&length) {
                    return Err(skipped(format!("--shared: `{array}` can't have {length} elements")));
                }
                values.insert(*id, length);
            }
        }
        Ok((values, variables))
    }

    /// Compiles a configuration. It fails as `skipped` where the device's limits don't allow it, as `error` for what the user has to mend.
    pub fn prepare(&mut self, point: &Point) -> Result<Prepared, Failure> {
        let mut made = self.make(point)?;
        let kernels = vec![self.specialized(&made)?];
        for unfilled in std::mem::take(&mut made.unfilled) {
            made.case.resources[unfilled.resource].contents = Contents::Data(self.data(&unfilled, &made)?);
        }
        Ok(Prepared { case: made.case, kernels })
    }

    /// A configuration that notes how far it indexes its arrays, which is its case's only output. Nothing where it indexes none.
    pub fn noting(&mut self, point: &Point) -> Result<Option<(Prepared, Noting)>, Failure> {
        let refused = |reason: &str| Failure::new(Status::CompileError, reason);
        let Prepared { mut case, .. } = self.prepare(point)?;
        let source = self.source(point)?;
        // The invocations of a subgroup go on together while any of them does: in all they may come to the sum of what each does.
        let together = u64::from(self.device.subgroup.size.max(1));
        let most = self.loop_cap().and_then(|quirk| u32::try_from(quirk.most_iterations? / together).ok());
        let (noting, module) = source.noting(most, &|line| self.subject.accepts_line(line)).map_err(refused)?;
        if noting.is_idle() && noting.unfollowed == 0 {
            return Ok(None);
        }
        let notes = case.resources.len();
        case.resources.push(Resource {
            name: Cow::Borrowed("how far arrays are indexed"),
            kind: ResourceKind::Buffer { bytes: noting.bytes(), memory: MemoryKind::DeviceLocal },
            contents: Contents::Undefined,
        });
        case.reset.push(Step::Fill { resource: notes, word: 0 });
        case.check = Check::Twin(vec![notes]);
        let (set, binding) = noting.place;
        case.kernels[0].bindings.push(Binding::new(set, binding, notes));
        let entry = module.reflection.entry_points.first().ok_or_else(|| refused("the entry point is gone"))?;
        let (values, _) = self.values(&source, point)?;
        let specialized = specialize_kernel(module, entry, &case.kernels[0], values);
        let kernels = vec![specialized.map_err(|error| refused(&error.to_string()))?];
        Ok(Some((Prepared { case, kernels }, noting.clone())))
    }

    /// The driver's fault of ending loops silently, where it has that.
    pub fn loop_cap(&self) -> Option<&Quirk> {
        self.device.quirks.iter().filter(|quirk| quirk.most_iterations.is_some()).min_by_key(|quirk| quirk.most_iterations)
    }

    /// The case of a configuration that is measured elsewhere: buffers are left empty.
    pub fn describe(&mut self, point: &Point) -> Result<Case, Failure> {
        let made = self.make(point)?;
        self.specialized(&made).map(|_| made.case)
    }

    fn specialized(&self, Made { case, source, values, .. }: &Made) -> Result<Specialized, Failure> {
        check_limits(case, &self.device).map_err(|skip| skipped(too_large(&skip.reason, case)))?;
        let mut specialized = specialize_kernel(&source.module, source.entry(), &case.kernels[0], values.clone()).map_err(
            |error| match &error {
                SpecializeError::Reflect(error) => undescribed(error),
                _ => Failure::new(Status::CompileError, error.to_string()),
            },
        )?;
        // What functions do with a buffer or an image, which its declaration may not tell.
        for info in &mut specialized.bindings {
            let used = source.reflection().bindings.iter().find(|used| (used.set, used.binding) == (info.set, info.binding));
            info.access = used.map_or(info.access, |used| used.access);
        }
        for binding in &case.kernels[0].bindings {
            let is_it = |info: &&BindingInfo| (info.set, info.binding) == (binding.set, binding.binding);
            let is_uniform =
                specialized.bindings.iter().find(is_it).is_some_and(|info| info.kind == BindingKind::UniformBuffer);
            if let Some(resource) = case.resources.get(binding.resource).filter(|_| is_uniform) {
                uniform_limits(resource, &self.device).map_err(|skip| skipped(skip.reason))?;
            }
        }
        let limit = u64::from(self.device.limits.shared_bytes);
        if specialized.shared_bytes > limit {
            let needed = specialized.shared_bytes;
            return Err(skipped(format!("maxComputeSharedMemorySize is {limit}, the configuration needs {needed}")));
        }
        Ok(specialized)
    }

    fn make(&mut self, point: &Point) -> Result<Made, Failure> {
        let source = self.source(point)?;
        let local_size = local_size(&source, point);
        let required_subgroup_size = subgroups::required(point);
        if let Some(why) = self.subgroup_refusal(point, local_size) {
            return Err(skipped(why));
        }
        let (values, mut variables) = self.values(&source, point)?;
        if let Some(threads) = self.threads(&source, &variables)? {
            variables.threads = Some(threads);
        }
        let reflection = source.reflection();
        let infos = reflection.bindings_under(&values).map_err(|error| undescribed(&error))?;
        let blocks = reflection.blocks(&values).map_err(|error| undescribed(&error))?;
        if let Some(overlap) = blocks.iter().find_map(|block| block.layout.overlap(&block.name)) {
            let reason = format!(
                "{overlap}: offsets don't follow a specialization constant; leave out values that make the array longer, or make \
                 its length a macro (--define)"
            );
            return Err(Failure::new(Status::CompileError, reason));
        }
        names::check(&self.subject, &infos, &blocks)?;
        let (subject, directions) = (&self.subject, source.directions);
        let world = World { subject, blocks: &blocks, variables: &variables, directions, reflection, values: &values };
        // What functions do with a buffer, which those of the specialization don't tell.
        let bound = Bound::of(&infos, &reflection.bindings, &world)?;
        addresses::check(&world, &bound.addresses)?;
        if !bound.has_outputs && reflection.writes_by_address() {
            return Err(said(
                "the shader writes to buffers by their addresses: say them by --address PLACE=@MEMORY".to_owned(),
            ));
        }
        if !bound.has_outputs && !self.subject.is_traced {
            return Err(said("the shader writes no buffer and no image: there is nothing to compare".to_owned()));
        }
        let reset = bound.reset();
        let (by_members, filled) = Self::by_members(&self.subject, &blocks, &bound.unfilled, reflection.push_bytes.into());
        by_members.iter().try_for_each(members::MemberBlock::check_size)?;
        let said = self.said_members(&by_members);
        members::check(&by_members, &filled, &said)?;
        let mut pass = vec![Step::Bind { kernel: 0 }];
        if let Some(block) = by_members.iter().find(|block| block.place == BlockPlace::PushConstants) {
            pass.push(Step::Push { bytes: members::fill(block, &said, &variables)? });
        }
        pass.extend(self.pushed_bytes(reflection.push_bytes)?);
        let pushed = bound.addresses.pushed.iter();
        pass.extend(pushed.map(|(offset, address)| Step::PushAddress { offset: *offset, address: *address }));
        let unsaid = members::unsaid(&by_members, &said, &variables);
        // Nobody looks up values for what can't run.
        if let Some(lack) = Needs::check(&source.module, source.entry(), &self.device).lacking.first() {
            return Err(skipped(lack.to_string()));
        }
        members::check_said(&unsaid)?;
        let base = self.subject.base_groups;
        pass.extend((base != [0; 3]).then_some(Step::Base { groups: base }));
        let groups = self.groups(local_size, &variables)?;
        let ends = base.iter().zip(groups).map(|(base, count)| base.saturating_add(count));
        if let Some((end, limit)) = ends.zip(self.device.limits.workgroup_count).find(|(end, limit)| end > limit) {
            return Err(skipped(format!("maxComputeWorkGroupCount is {limit}, and the last workgroup would be {}", end - 1)));
        }
        pass.push(Step::Dispatch { groups });
        let work = |text: &Option<String>, what: &str| text.as_deref().map(|text| variables.integer(text, what)).transpose();
        let work = Work {
            bytes: work(&self.subject.bytes, "--bytes")?,
            flops: work(&self.subject.flops, "--flops")?,
            ..Work::default()
        };
        let headline = match work {
            Work { flops: Some(_), .. } => Headline::FLOPS,
            Work { bytes: Some(_), .. } => Headline::BANDWIDTH,
            _ => Headline::TIME,
        };
        let kernel = Kernel {
            source: Cow::Owned(self.subject.shader.to_string_lossy().into_owned()),
            macros: Vec::new(),
            target: self.subject.target,
            local_size,
            constants: Vec::new(),
            required_subgroup_size,
            full_subgroups: self.subject.full_subgroups,
            bindings: bound.bindings,
        };
        let repeat = if bound.reads_own && !self.subject.is_idempotent { Repeat::AfterReset } else { Repeat::Overwrites };
        let case = Case {
            kernels: vec![kernel],
            resources: bound.resources,
            addresses: bound.addresses.held,
            reset,
            pass,
            repeat,
            work,
            headline,
            check: match &bound.outputs[..] {
                [] => Check::Nothing("--check says that no output is to be compared"),
                outputs => Check::Twin(outputs.iter().map(|output| output.resource).collect()),
            },
            ..Case::new(&self.name(), point)
        };
        let Bound { outputs, unfilled, .. } = bound;
        Ok(Made { case, source, values, variables, blocks, outputs, unfilled, unsaid })
    }

    /// What is said of members. Numbers that are addresses need no value: they get that later.
    fn said_members(&self, blocks: &[members::MemberBlock<'_>]) -> Vec<(String, String)> {
        let places = self.subject.addresses.iter().map(|spec| &spec.place);
        let numbers = places.filter(|place| blocks.iter().any(|block| members::is_number(block, place)));
        let numbers = numbers.map(|place| (place.clone(), "0".to_owned()));
        self.subject.members.iter().cloned().chain(numbers).collect()
    }

    /// The push constants that are given as bytes: as many as the shader has.
    fn pushed_bytes(&self, needed: u32) -> Result<Option<Step>, Failure> {
        let Some(bytes) = self.subject.push_bytes.as_ref().filter(|_| needed > 0) else { return Ok(None) };
        match bytes.get(..needed as usize) {
            Some(own) => Ok(Some(Step::Push { bytes: own.to_vec() })),
            None => Err(said(format!(
                "--push-bytes: the shader has {needed} bytes of push constants, and {} are given",
                bytes.len()
            ))),
        }
    }

    fn subgroup_refusal(&self, point: &Point, local_size: [u32; 3]) -> Option<String> {
        subgroups::refusal(subgroups::required(point), self.subject.full_subgroups, local_size, &self.device.subgroup)
    }

    /// What is filled member by member, push constants and uniform blocks that no fill says more of; and the other uniform blocks.
    fn by_members<'a>(
        subject: &KernelSpec,
        blocks: &'a [BlockInfo],
        unfilled: &'a [Unfilled],
        push_bytes: u64,
    ) -> (Vec<members::MemberBlock<'a>>, Vec<members::MemberBlock<'a>>) {
        // A place that is declared several times is read through each of its blocks.
        let reads = |place| blocks.iter().filter(|block| block.place == place).flat_map(|block| block.reads.clone()).collect();
        let pushed = blocks.iter().find(|block| block.place == BlockPlace::PushConstants);
        let pushed = pushed.filter(|_| subject.push_bytes.is_none());
        let pushed = pushed.map(|block| members::MemberBlock {
            layout: &block.layout,
            name: &block.name,
            place: block.place,
            bytes: push_bytes,
            reads: reads(block.place),
        });
        let is_filled = |unfilled: &&Unfilled| unfilled.of.fill(subject, blocks).is_some();
        let (filled, open): (Vec<&Unfilled>, Vec<&Unfilled>) = unfilled.iter().partition(is_filled);
        let read = |block: members::MemberBlock<'a>| members::MemberBlock { reads: reads(block.place), ..block };
        let by_members = pushed.into_iter().chain(open.into_iter().filter_map(Self::uniforms).map(read)).collect();
        (by_members, filled.into_iter().filter_map(Self::uniforms).collect())
    }

    fn uniforms(unfilled: &Unfilled) -> Option<members::MemberBlock<'_>> {
        let Unfilled { of: Filled::Descriptor(info, _), sized, .. } = unfilled else { return None };
        match (&sized.layout, info.kind) {
            (Layout::MemberBlock(layout), BindingKind::UniformBuffer) => Some(members::MemberBlock {
                layout,
                name: &info.name,
                place: info.block_place()?,
                bytes: sized.bytes(),
                reads: Vec::new(),
            }),
            _ => None,
        }
    }

    /// What a resource holds at first: the members of a uniform block, or what the user fills it with.
    fn data(&mut self, unfilled: &Unfilled, made: &Made) -> Result<Data, Failure> {
        let Unfilled { of, sized, .. } = unfilled;
        let fill = of.fill(&self.subject, &made.blocks);
        if let (None, Some(block)) = (fill, Self::uniforms(unfilled)) {
            return Ok(Data::new(members::fill(&block, &self.subject.members, &made.variables)?));
        }
        if let Some((_, data)) = self.fills.get(&of.key()).filter(|(known, _)| known == sized) {
            return Ok(data.clone());
        }
        let place = of.place();
        let variation = self.subject.variation.filter(|of| fill.is_none() && of.only.is_none_or(|only| Some(only) == place));
        let unusual = variation.map(|of| Fill::Unusual(of.how));
        let is_other = variation.is_some_and(|of| of.how == Unusual::OtherSeed);
        let seed = if is_other { self.subject.seed ^ OTHER_SEED } else { self.subject.seed };
        let fill = unusual.as_ref().or(fill).unwrap_or(&Fill::Random);
        let data = Data::new(unfilled.bytes(fill, seed)?);
        self.fills.insert(of.key(), (sized.clone(), data.clone()));
        Ok(data)
    }

    /// The invocations that there are to be; nothing where workgroups are counted instead.
    fn threads(&self, source: &UserModule, variables: &Variables) -> Result<Option<[u64; 3]>, Failure> {
        let KernelSpec { n, threads, groups, .. } = &self.subject;
        match (groups, threads) {
            (Some(_), _) => Ok(None),
            (None, None) => Ok(Some(even_threads(*n, source.directions))),
            (None, Some(texts)) => {
                let mut threads = [1; 3];
                for (count, text) in threads.iter_mut().zip(texts) {
                    *count = variables.integer(text, "--threads")?;
                }
                Ok(Some(threads))
            }
        }
    }

    /// Workgroups: as many as are asked for, or as cover the invocations that are.
    fn groups(&self, local_size: [u32; 3], variables: &Variables) -> Result<[u32; 3], Failure> {
        let counts: Vec<u64> = match variables.threads {
            Some(threads) => threads.iter().zip(local_size).map(|(n, size)| n.div_ceil(u64::from(size.max(1)))).collect(),
            None => {
                let texts = self.subject.groups.iter().flatten();
                texts.map(|text| variables.integer(text, "--groups")).collect::<Result<_, _>>()?
            }
        };
        let mut groups = [1; 3];
        for (group, count) in groups.iter_mut().zip(counts) {
            if count == 0 {
                return Err(skipped("there would be no workgroup".to_owned()));
            }
            *group = u32::try_from(count).map_err(|_| {
                skipped(format!("there would be {count} workgroups in one direction: a dispatch takes fewer than 2^32"))
            })?;
        }
        Ok(groups)
    }

    /// What forbids a configuration: a restriction, or the device's limits to a workgroup's size and memory. Nothing where it is allowed.
    pub fn refusal<'r>(&mut self, point: &Point, restrictions: &'r [String]) -> Result<Option<Refusal<'r>>, Failure> {
        // A macro of this value may not compile, which is for its own row to say, unless it isn't to be tried anyway.
        let Ok(source) = self.source(point) else {
            let mut variables = Variables::new(self.subject.n);
            self.add_known(&mut variables, point);
            let broken = restrictions.iter().find(|text| !variables.truth(text, "--restrict").unwrap_or(true));
            return Ok(broken.map(|text| Refusal::Restricted(text)));
        };
        let size = local_size(&source, point);
        let limits = &self.device.limits;
        let (size_limit, most) = (limits.workgroup_size, limits.workgroup_invocations);
        if let Some(direction) = (0..3).find(|direction| size[*direction] > size_limit[*direction]) {
            return Ok(Some(Refusal::TooLarge { direction, size: size[direction], limit: size_limit[direction] }));
        }
        let invocations = size.iter().fold(1_u64, |product, size| product.saturating_mul(u64::from(*size)));
        if invocations > most.into() {
            return Ok(Some(Refusal::TooMany { invocations, limit: most }));
        }
        if !source.can_be(size) {
            return Ok(Some(Refusal::Coupled { size }));
        }
        if let Some(why) = self.subgroup_refusal(point, size) {
            return Ok(Some(Refusal::Subgroups(why)));
        }
        let (values, variables) = match self.values(&source, point) {
            // Its own row says so.
            Err(failure) if failure.status == Status::Skipped => return Ok(None),
            other => other?,
        };
        for restriction in restrictions {
            if !variables.truth(restriction, "--restrict")? {
                return Ok(Some(Refusal::Restricted(restriction)));
            }
        }
        let limit = self.device.limits.shared_bytes;
        Ok(match source.reflection().shared_bytes(&values) {
            Ok(bytes) if bytes <= limit.into() => None,
            Ok(bytes) => Some(Refusal::TooMuchShared { bytes, limit }),
            Err(error) => Some(Refusal::Undescribed(error)),
        })
    }
}

#[derive(Clone, Debug, PartialEq, Error)]
pub enum Refusal<'r> {
    #[error("--restrict '{0}' doesn't hold")]
    Restricted(&'r str),
    #[error("maxComputeWorkGroupSize[{direction}] is {limit}, and it has {size}")]
    TooLarge { direction: usize, size: u32, limit: u32 },
    #[error("maxComputeWorkGroupInvocations is {limit}, and it has {invocations}")]
    TooMany { invocations: u64, limit: u32 },
    #[error("one constant sets several of the workgroup's sizes, which can't be {} x {} x {}", size[0], size[1], size[2])]
    Coupled { size: [u32; 3] },
    #[error("{0}")]
    Subgroups(String),
    #[error("maxComputeSharedMemorySize is {limit}, and it needs {bytes}")]
    TooMuchShared { bytes: u64, limit: u32 },
    #[error(transparent)]
    Undescribed(#[from] ReflectError),
}

/// What can't be told of a module; of values that leave an array without elements there is no configuration.
fn undescribed(error: &ReflectError) -> Failure {
    match error {
        ReflectError::NoElements { .. } => skipped(error.to_string()),
        _ => Failure::new(Status::CompileError, error.to_string()),
    }
}

/// What a case has more of than a device, and, of memory, what takes the most.
fn too_large(reason: &str, case: &Case) -> String {
    let largest = case.resources.iter().max_by_key(|resource| resource.bytes());
    match largest.filter(|_| ["maxStorageBufferRange", "maxMemoryAllocationSize", "heap"].iter().any(|of| reason.contains(of)))
    {
        Some(largest) => {
            format!("{reason}; {} is the largest: -n, --threads, --buffer or --image make it smaller", largest.name)
        }
        None => reason.to_owned(),
    }
}

/// The workgroup size of a configuration: what it doesn't say is as the shader is written.
pub(super) fn local_size(source: &UserModule, point: &Point) -> [u32; 3] {
    let mut size = source.local_size;
    for (extent, axis) in size.iter_mut().zip(LOCAL_SIZE_AXES) {
        if let Some(AxisValue::Integer(value)) = point.get(axis) {
            *extent = u32::try_from(*value).unwrap_or(u32::MAX);
        }
    }
    size
}

/// Invocations where nothing is said of them: `n` in all, as many in each direction that the shader has.
pub(super) fn even_threads(n: u64, directions: [bool; 3]) -> [u64; 3] {
    let root = match directions.iter().filter(|has| **has).count() {
        0 => return [n, 1, 1],
        1 => n,
        2 => n.isqrt(),
        _ => (1..=u64::from(u32::MAX).isqrt() * 32)
            .take_while(|side| side.checked_pow(3).is_some_and(|cube| cube <= n))
            .last()
            .unwrap_or(1),
    };
    directions.map(|has| if has { root } else { 1 })
}

fn axis_value(value: &AxisValue) -> Value {
    match value {
        AxisValue::Integer(n) => Value::Integer((*n).into()),
        AxisValue::Choice(word) => word_value(word),
    }
}

/// A word as expressions see it: a number where it is one.
fn word_value(word: &str) -> Value {
    match (parse_number(word), word.parse::<i64>(), word.parse::<f64>()) {
        (Some(n), ..) => Value::Integer(n.into()),
        (_, Ok(whole), _) => Value::Integer(whole.into()),
        (_, _, Ok(real)) => Value::Real(real),
        _ => Value::Word(word.to_owned()),
    }
}
