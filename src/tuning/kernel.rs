//! A kernel of the user's, configuration by configuration, as cases.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use super::buffers;
use super::compare::compare;
use super::doubts::{Doubt, doubts};
use super::expression::Value;
use super::fill::Fill;
use super::images::ImageSpec;
use super::members;
use super::module::{self, Source};
use super::names;
use super::resources::{Bound, Output, Unfilled, World};
use super::samplers::SamplerSpec;
use super::sized::{Layout, Sized};
use super::subject::{BufferSpec, Reference, Subject};
use super::variables::Variables;
use crate::model::{
    AxisValue, Binding, Case, Check, Contents, Data, DeviceInfo, Failure, Headline, Kernel as ModelKernel, MemoryKind, Point,
    Repeat, Resource, Shape, Status, Step, Work,
};
use crate::plan::{check_limits, parse_number};
use crate::shader::{
    BindingKind, BlockInfo, BlockPlace, Lack, Needs, Noting, Prepared, ScalarType, SpecValues, Specialized, specialize_kernel,
};
use crate::validate::{Mismatch, Position, Verdict};

/// The axes of the workgroup size.
pub const LOCAL_SIZE_AXES: [&str; 3] = ["local_size_x", "local_size_y", "local_size_z"];
/// How an axis begins that is a specialization constant; its name in the shader follows, or its id.
pub const CONSTANT_AXIS: &str = "spec_";
/// How an axis begins that is a macro.
pub const MACRO_AXIS: &str = "def_";

/// What the user has to mend.
pub(super) fn said(reason: String) -> Failure {
    Failure::new(Status::Error, reason)
}

/// What this configuration can't have.
pub(super) fn skipped(reason: String) -> Failure {
    Failure::new(Status::Skipped, reason)
}

/// A subject on a device.
pub struct Kernel {
    subject: Subject,
    device: DeviceInfo,
    /// By their macros.
    sources: HashMap<Vec<(String, String)>, Arc<Source>>,
    /// What each binding was filled with last: sizes may follow axes, and all of them would be more than a host holds.
    fills: HashMap<(u32, u32, u32), (Sized, Data)>,
    /// What the outputs must be, in the order of the case's check.
    expected: Option<Vec<Vec<u8>>>,
}

/// A configuration's case, and what it is made from.
struct Made {
    case: Case,
    source: Arc<Source>,
    values: SpecValues,
    variables: Variables,
    blocks: Vec<BlockInfo>,
    /// Of each output, in the order of the case's check.
    outputs: Vec<Output>,
    unfilled: Vec<Unfilled>,
}

impl Kernel {
    /// A subject on a device. Nothing is read yet.
    pub fn new(subject: Subject, device: DeviceInfo) -> Self {
        Self { subject, device, sources: HashMap::new(), fills: HashMap::new(), expected: None }
    }

    /// What is tuned.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    /// The name of its rows' experiment.
    pub fn name(&self) -> String {
        format!("tune/{}", self.subject.name)
    }

    /// The shader under a configuration's macros.
    ///
    /// # Errors
    /// `compile_error` where it doesn't compile or can't be described.
    pub(super) fn source(&mut self, point: &Point) -> Result<Arc<Source>, Failure> {
        let mut macros = self.subject.macros.clone();
        for (name, value) in point.iter().filter_map(|(name, value)| Some((name.strip_prefix(MACRO_AXIS)?, value))) {
            macros.retain(|(known, _)| known != name);
            macros.push((name.to_owned(), value.to_string()));
        }
        macros.sort();
        if let Some(source) = self.sources.get(&macros) {
            return Ok(Arc::clone(source));
        }
        let source = Arc::new(Source::read(&self.subject, macros.clone())?);
        self.sources.insert(macros, Arc::clone(&source));
        Ok(source)
    }

    /// The names that expressions may use under a configuration.
    fn variables_of(&self, source: &Source, point: &Point, values: &SpecValues) -> Variables {
        let mut variables = Variables::new(self.subject.n);
        for (name, size) in LOCAL_SIZE_AXES.iter().zip(local_size(source, point)) {
            variables.add(name, Value::from(u64::from(size)));
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
            variables.add(name, Value::from(u64::from(size)));
        }
        self.add_known(&mut variables, point);
        variables
    }

    /// What expressions may use of a configuration that has no module.
    fn known_of(&self, point: &Point) -> Variables {
        let mut variables = Variables::new(self.subject.n);
        self.add_known(&mut variables, point);
        variables
    }

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

    /// The values of the constants that a configuration names.
    fn constants(&self, source: &Source, point: &Point) -> Result<SpecValues, Failure> {
        let named = point.iter().filter_map(|(name, value)| Some((name.strip_prefix(CONSTANT_AXIS)?, value)));
        let value_of = |(name, value): (&str, &AxisValue)| {
            let constant = source.constant(name);
            let constant = constant.ok_or_else(|| said(format!("the shader has no specialization constant `{name}`")))?;
            Ok((constant.id, module::bits(constant, &value.to_string())?))
        };
        named.map(value_of).collect()
    }

    /// Compiles a configuration.
    ///
    /// # Errors
    /// `skipped` where the device's limits don't allow it, `compile_error` where it doesn't compile, `error` for what the user has
    /// to mend.
    pub fn prepare(&mut self, point: &Point) -> Result<Prepared, Failure> {
        let mut made = self.make(point)?;
        let kernels = vec![self.specialized(&made)?];
        for unfilled in std::mem::take(&mut made.unfilled) {
            made.case.resources[unfilled.resource].contents = Contents::Data(self.data(&unfilled, &made)?);
        }
        Ok(Prepared { case: made.case, kernels })
    }

    /// A configuration as it is prepared, but for its results: it notes how far it indexes its buffers. Nothing where it indexes none.
    /// The case's only output is what it notes.
    ///
    /// # Errors
    /// As [`Kernel::prepare`], and where the module can't be made to note anything.
    pub fn noting(&mut self, point: &Point) -> Result<Option<(Prepared, Noting)>, Failure> {
        let made = self.make(point)?;
        let (source, values) = (Arc::clone(&made.source), made.values.clone());
        let mut prepared = self.prepare(point)?;
        let refused = |reason: String| Failure::new(Status::CompileError, reason);
        let noting = Noting::of(&source.module.words, &source.entry().name).map_err(|error| refused(error.to_string()))?;
        let mut case = prepared.case;
        let notes = case.resources.len();
        case.resources.push(Resource {
            name: Cow::Borrowed("how far arrays are indexed"),
            shape: Shape::Buffer { bytes: noting.bytes(), memory: MemoryKind::DeviceLocal },
            contents: Contents::Undefined,
        });
        case.reset.push(Step::Fill { resource: notes, word: 0 });
        case.check = Check::Twin(vec![notes]);
        let (set, binding) = noting.place;
        case.kernels[0].bindings.push(Binding::new(set, binding, notes));
        let module = source.with_words(noting.words.clone()).map_err(refused)?;
        let entry = module.reflection.entry_points.first().ok_or_else(|| refused("the entry point is gone".to_owned()))?;
        let specialized = specialize_kernel(&module, entry, &case.kernels[0], values);
        prepared.kernels = vec![specialized.map_err(|error| refused(error.to_string()))?];
        Ok((!noting.arrays.is_empty() || noting.unfollowed > 0).then_some((Prepared { case, ..prepared }, noting)))
    }

    /// The case of a configuration that is measured elsewhere: buffers are left empty.
    ///
    /// # Errors
    /// As [`Kernel::prepare`], but for what buffers are filled with.
    pub fn describe(&mut self, point: &Point) -> Result<Case, Failure> {
        let made = self.make(point)?;
        self.specialized(&made).map(|_| made.case)
    }

    fn specialized(&self, Made { case, source, values, .. }: &Made) -> Result<Specialized, Failure> {
        let needs = Needs::of(&source.module, source.entry(), &self.device);
        if let Some(Lack { need, missing }) = needs.lacking.first() {
            return Err(skipped(format!("the device lacks {missing}, which the shader needs for {need}")));
        }
        check_limits(case, &self.device).map_err(|skip| skipped(skip.reason))?;
        let mut specialized = specialize_kernel(&source.module, source.entry(), &case.kernels[0], values.clone())
            .map_err(|error| Failure::new(Status::CompileError, error.to_string()))?;
        // What functions do with a buffer or an image, which its declaration may not tell.
        for info in &mut specialized.bindings {
            let used = source.reflection().bindings.iter().find(|used| (used.set, used.binding) == (info.set, info.binding));
            info.access = used.map_or(info.access, |used| used.access);
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
        let mut values = self.constants(&source, point)?;
        let variables = self.variables_of(&source, point, &values);
        values.extend(source.size_values(local_size));
        let reflection = source.reflection();
        let described = |error: crate::shader::ReflectError| Failure::new(Status::CompileError, error.to_string());
        let infos = reflection.bindings_under(&values).map_err(described)?;
        let blocks = reflection.blocks(&values).map_err(described)?;
        buffers::check_numbers(&blocks)?;
        names::check(&self.subject, &infos, &blocks)?;
        let world = World { subject: &self.subject, blocks: &blocks, variables: &variables, directions: source.directions };
        // What functions do with a buffer, which those of the specialization don't tell.
        let bound = Bound::of(&infos, &reflection.bindings, &world)?;
        if bound.outputs.is_empty() {
            return Err(said("the shader writes no buffer and no image: there is nothing to compare".to_owned()));
        }
        let reset = bound.reset();
        let mut pass = vec![Step::Bind { kernel: 0 }];
        if let Some(block) = blocks.iter().find(|block| block.place == BlockPlace::PushConstants) {
            let bytes =
                members::fill(&block.layout, &block.name, reflection.push_bytes.into(), &self.subject.members, &variables)?;
            pass.push(Step::Push { bytes });
        }
        pass.push(Step::Dispatch { groups: self.groups(&source, local_size, &variables)? });
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
        let kernel = ModelKernel {
            source: Cow::Owned(self.subject.shader.to_string_lossy().into_owned()),
            macros: Vec::new(),
            target: self.subject.target,
            local_size,
            constants: Vec::new(),
            required_subgroup_size: None,
            bindings: bound.bindings,
        };
        let repeat = if bound.reads_own && !self.subject.is_idempotent { Repeat::AfterReset } else { Repeat::Overwrites };
        let case = Case {
            kernels: vec![kernel],
            resources: bound.resources,
            reset,
            pass,
            repeat,
            work,
            headline,
            check: Check::Twin(bound.outputs.iter().map(|output| output.resource).collect()),
            ..Case::new(&self.name(), point)
        };
        let Bound { outputs, unfilled, .. } = bound;
        Ok(Made { case, source, values, variables, blocks, outputs, unfilled })
    }

    /// What a resource holds at first: the members of a uniform block, or what the user fills it with.
    fn data(&mut self, unfilled: &Unfilled, made: &Made) -> Result<Data, Failure> {
        let Unfilled { info, element, sized, .. } = unfilled;
        let fill = unfilled.fill(&self.subject, &made.blocks);
        if let (None, BindingKind::UniformBuffer, Layout::Block(layout)) = (fill, info.kind, &sized.layout) {
            let name = buffers::called(info);
            let bytes = members::fill(layout, &name, sized.bytes(), &self.subject.members, &made.variables)?;
            return Ok(Data::new(bytes));
        }
        let place = (info.set, info.binding, *element);
        if let Some((_, data)) = self.fills.get(&place).filter(|(known, _)| known == sized) {
            return Ok(data.clone());
        }
        let data = Data::new(unfilled.bytes(fill.unwrap_or(&Fill::Random), self.subject.seed)?);
        self.fills.insert(place, (sized.clone(), data.clone()));
        Ok(data)
    }

    /// Workgroups: as many as are asked for, or as cover the invocations that are.
    fn groups(&self, source: &Source, local_size: [u32; 3], variables: &Variables) -> Result<[u32; 3], Failure> {
        let number = |text: &String, what: &str| variables.integer(text, what);
        let counts = if let Some(groups) = &self.subject.groups {
            groups.iter().map(|text| number(text, "--groups")).collect::<Result<Vec<_>, _>>()?
        } else {
            let threads = match &self.subject.threads {
                Some(threads) => threads.iter().map(|text| number(text, "--threads")).collect::<Result<Vec<_>, _>>()?,
                None => even_threads(self.subject.n, source.directions).to_vec(),
            };
            threads.iter().zip(local_size).map(|(threads, size)| threads.div_ceil(u64::from(size.max(1)))).collect()
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

    // ---- results ----------------------------------------------------------------------------------------------------------

    /// The case whose outputs all others are compared with; nothing where files hold them.
    ///
    /// # Errors
    /// As [`Kernel::prepare`]; for a shader that is the reference, what is wrong with that.
    pub fn reference(&mut self) -> Result<Option<Prepared>, Failure> {
        match self.subject.reference.clone() {
            Reference::Untouched => self.prepare(&Point::default()).map(Some),
            Reference::Configuration(point) => self.prepare(&point).map(Some),
            Reference::Shader(shader) => self.other(shader).map(Some),
            Reference::Files(files) => {
                let made = self.make(&Point::default())?;
                self.expected = Some(expected_in(&files, &made)?);
                Ok(None)
            }
        }
    }

    /// Another shader that is the reference, as it is written; it must write the same buffers.
    fn other(&mut self, shader: PathBuf) -> Result<Prepared, Failure> {
        let own = self.make(&Point::default())?;
        let infos = &own.source.reflection().bindings;
        // What the user says of buffers holds for their bindings, whatever this shader calls them.
        let placed = |place: &String| {
            let placed = |place: &str| {
                let info = infos.iter().find(|info| buffers::is_meant(place, info, &own.blocks))?;
                Some(format!("{}:{}", info.set, info.binding))
            };
            let of_array = |(base, element): (&str, Option<u32>)| Some(format!("{}[{}]", placed(base)?, element?));
            placed(place).or_else(|| of_array(names::without_element(place))).unwrap_or_else(|| place.clone())
        };
        let Subject { buffers, images, samplers, .. } = &self.subject;
        let buffers = buffers.iter().map(|spec| BufferSpec { place: placed(&spec.place), ..spec.clone() });
        let images = images.iter().map(|spec| ImageSpec { place: placed(&spec.place), ..spec.clone() });
        let samplers = samplers.iter().map(|spec| SamplerSpec { place: placed(&spec.place), ..spec.clone() });
        let is_spirv = shader.extension().is_some_and(|ending| ending == "spv");
        let subject = Subject {
            buffers: buffers.collect(),
            images: images.collect(),
            samplers: samplers.collect(),
            ignored: self.subject.ignored.iter().map(placed).collect(),
            macros: if is_spirv { Vec::new() } else { self.subject.macros.clone() },
            include_folders: if is_spirv { Vec::new() } else { self.subject.include_folders.clone() },
            // Its entry point has a name of its own, unless it has several.
            entry: None,
            reference: Reference::Untouched,
            shader,
            ..self.subject.clone()
        };
        let mut other = Self::new(subject, self.device.clone());
        let failed = |failure: Failure| Failure::new(failure.status, format!("the reference: {}", failure.reason));
        let made = other.make(&Point::default()).map_err(failed)?;
        let shape = |made: &Made| made.outputs.iter().map(|output| (output.place, output.sized.shape)).collect::<Vec<_>>();
        if shape(&own) != shape(&made) {
            return Err(said(format!(
                "the reference has another shape: it writes {}, and the shader {}",
                written(&made),
                written(&own)
            )));
        }
        other.prepare(&Point::default()).map_err(failed)
    }

    /// Takes what the reference's outputs held.
    pub fn learn(&mut self, outputs: Vec<Vec<u8>>) {
        self.expected = Some(outputs);
    }

    /// Compares the outputs of a configuration with the reference's.
    pub fn check(&mut self, case: &Case, outputs: &[Vec<u8>]) -> Verdict {
        let wrong = |output: &str, got: String, expected: &str| {
            let (output, expected) = (output.to_owned(), expected.to_owned());
            Verdict::Wrong(Mismatch { output, at: Position::Element(0), got, expected, wrong: 1, total: 1 })
        };
        let Some(expected) = &self.expected else { return wrong("the reference", "missing".to_owned(), "there") };
        if expected.iter().eq(outputs) {
            return Verdict::Right;
        }
        if expected.len() != outputs.len() {
            return wrong(
                "the outputs",
                format!("{} buffers", outputs.len()),
                &format!("{} as the reference has", expected.len()),
            );
        }
        let expected = expected.clone();
        let made = match self.make(&case.point) {
            Ok(made) => made,
            Err(failure) => return wrong("the case", failure.reason, "as it was"),
        };
        let pairs = made.outputs.iter().zip(outputs.iter().zip(&expected));
        let mut found = pairs
            .filter_map(|(output, both)| compare(&output.name, &output.sized.layout, [both.0, both.1], self.subject.tolerance));
        found.next().map_or(Verdict::Right, Verdict::Wrong)
    }
}

/// What a case writes, in words.
fn written(made: &Made) -> String {
    let one = |Output { name, place: (set, binding, _), sized, .. }: &Output| {
        format!("{name} ({set}:{binding}, {})", sized.described())
    };
    made.outputs.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The bytes of files that hold what outputs must be.
fn expected_in(files: &[(String, PathBuf)], made: &Made) -> Result<Vec<Vec<u8>>, Failure> {
    let names = || made.outputs.iter().map(|output| output.name.as_str()).collect::<Vec<_>>().join(", ");
    let infos = &made.source.reflection().bindings;
    let is_it = |place: &str, output: &Output| {
        let (set, binding, element) = output.place;
        let info = infos.iter().find(|info| (info.set, info.binding) == (set, binding));
        let is_meant = info.is_some_and(|info| buffers::is_meant_at(place, info, element, &made.blocks));
        is_meant || (place.is_empty() && made.outputs.len() == 1)
    };
    let of_output = |output: &Output| {
        let name = &output.name;
        let file = files.iter().find(|(place, _)| is_it(place, output)).ok_or_else(|| {
            said(format!("no reference file for `{name}`: name one for each of {}, as in NAME=FILE", names()))
        })?;
        let bytes = fs::read(&file.1).map_err(|error| said(format!("can't read {}: {error}", file.1.display())))?;
        let needed = output.sized.bytes();
        if bytes.len() as u64 == needed {
            return Ok(bytes);
        }
        Err(said(format!("{} has {} bytes, `{name}` has {needed}", file.1.display(), bytes.len())))
    };
    let is_output = |place: &str| place.is_empty() || made.outputs.iter().any(|output| is_it(place, output));
    if let Some((place, _)) = files.iter().find(|(place, _)| !is_output(place)) {
        return Err(said(format!(
            "there is a reference file for `{place}`, which the shader doesn't write; it writes {}",
            names()
        )));
    }
    made.outputs.iter().map(of_output).collect()
}

/// The workgroup size of a configuration: what it doesn't say is as the shader is written.
pub(super) fn local_size(source: &Source, point: &Point) -> [u32; 3] {
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
        AxisValue::Integer(n) => Value::from(*n),
        AxisValue::Choice(word) => word_value(word),
    }
}

/// A word as expressions see it: a number where it is one.
fn word_value(word: &str) -> Value {
    match (parse_number(word), word.parse::<i64>(), word.parse::<f64>()) {
        (Some(n), ..) => Value::from(n),
        (_, Ok(whole), _) => Value::Integer(whole.into()),
        (_, _, Ok(real)) => Value::Real(real),
        _ => Value::Word(word.to_owned()),
    }
}

/// A specialization constant that may be an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    /// Its name, or its id where it has none.
    pub name: String,
    /// Its type.
    pub ty: ScalarType,
    /// Its default, in words.
    pub default: String,
    /// Whether it is a whole number, whose values axes hold as numbers.
    pub is_count: bool,
}

impl Constant {
    /// Whether it can take a value in words.
    pub fn accepts(&self, value: &str) -> bool {
        self.ty.parse(value).is_some()
    }

    /// The same value as its default is shown: `1.0` and `1` are one.
    pub fn shown(&self, value: &str) -> String {
        let shown = self.ty.parse(value).map(|bits| self.ty.shown(bits));
        // Bits that are shown as such are no value that an axis could be given.
        shown.filter(|shown| self.ty.parse(shown) == self.ty.parse(value)).unwrap_or_else(|| value.to_owned())
    }
}

impl Kernel {
    /// Its constants, but for those that are the workgroup size.
    ///
    /// # Errors
    /// As [`Kernel::prepare`] of the shader as it is written.
    pub fn candidates(&mut self) -> Result<Vec<Constant>, Failure> {
        let source = self.source(&Point::default())?;
        let constants = source.constants().map(|constant| Constant {
            name: module::called(constant),
            ty: constant.ty,
            default: constant.ty.shown(constant.default_bits),
            is_count: module::is_count(constant.ty),
        });
        Ok(constants.collect())
    }

    /// The constant of this name or id.
    ///
    /// # Errors
    /// As [`Kernel::candidates`], and where there is none.
    pub fn constant(&mut self, name: &str) -> Result<Constant, Failure> {
        let source = self.source(&Point::default())?;
        let called = source.constant(name).map(module::called);
        let all = self.candidates()?;
        let found = all.iter().find(|constant| Some(&constant.name) == called.as_ref()).cloned();
        found.ok_or_else(|| {
            let names: Vec<&str> =
                LOCAL_SIZE_AXES.into_iter().chain(all.iter().map(|constant| constant.name.as_str())).collect();
            said(format!("there is no axis `{name}`: the shader has {} (macros come by --define)", names.join(", ")))
        })
    }

    /// What tells the shader as it is written from others: the hash of its sources, or of its SPIR-V.
    ///
    /// # Errors
    /// As [`Kernel::candidates`].
    pub fn hash(&mut self) -> Result<String, Failure> {
        let source = self.source(&Point::default())?;
        let module = &source.module;
        Ok(if module.source_hash.is_empty() { module.spirv_hash.clone() } else { module.source_hash.clone() })
    }

    /// The problem's size: `n`, and the members of push constants and uniform blocks that are whole numbers whatever the
    /// configuration.
    pub fn size(&self) -> BTreeMap<String, u64> {
        let variables = Variables::new(self.subject.n);
        let whole = |(name, text): &(String, String)| Some((name.clone(), variables.integer(text, name).ok()?));
        let members = self.subject.members.iter().filter_map(whole);
        members.chain([("n".to_owned(), self.subject.n)]).collect()
    }

    /// What the user says of the problem, beside its size: two configurations alike that solve different ones are no same case.
    pub fn problem(&self) -> String {
        let Subject { buffers, images, samplers, members, threads, groups, is_idempotent, .. } = &self.subject;
        let buffers: Vec<String> = buffers.iter().map(ToString::to_string).collect();
        let images = images.iter().map(|spec| format!(" {spec}"));
        let further: String = images.chain(samplers.iter().map(|spec| format!(" {spec}"))).collect();
        format!("{buffers:?} {members:?} {threads:?} {groups:?} {is_idempotent}{further}")
    }

    /// Known faults of the device's driver that can show in the shader as it is written.
    ///
    /// # Errors
    /// As [`Kernel::candidates`].
    pub fn doubts(&mut self) -> Result<Vec<Doubt>, Failure> {
        let source = self.source(&Point::default())?;
        Ok(doubts(source.reflection(), source.entry(), &self.device))
    }

    /// What doesn't follow where the workgroup size is changed.
    ///
    /// # Errors
    /// As [`Kernel::candidates`].
    pub fn note(&mut self) -> Result<Option<String>, Failure> {
        Ok(self.source(&Point::default())?.note.clone())
    }

    /// The workgroup size that the shader is written with, where it has extent or may have.
    ///
    /// # Errors
    /// As [`Kernel::candidates`].
    pub fn local_size(&mut self) -> Result<[Option<u32>; 3], Failure> {
        let source = self.source(&Point::default())?;
        Ok(std::array::from_fn(|i| source.directions[i].then_some(source.local_size[i])))
    }

    /// The shader as it is written, in the words of some axes.
    ///
    /// # Errors
    /// As [`Kernel::candidates`].
    pub fn written(&mut self, axes: &[&str]) -> Result<Point, Failure> {
        let source = self.source(&Point::default())?;
        let constants = self.candidates()?;
        let value = |axis: &str| {
            if let Some(direction) = LOCAL_SIZE_AXES.iter().position(|name| *name == axis) {
                return Some(AxisValue::from(source.local_size[direction]));
            }
            let text = match axis.strip_prefix(MACRO_AXIS) {
                Some(name) => self.subject.macros.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone()),
                None => {
                    let name = axis.strip_prefix(CONSTANT_AXIS)?;
                    constants.iter().find(|constant| constant.name == name).map(|constant| constant.default.clone())
                }
            }?;
            let number = parse_number(&text).filter(|number| number.to_string() == text);
            Some(number.map_or_else(|| AxisValue::Choice(text.into()), AxisValue::Integer))
        };
        Ok(Point::new(axes.iter().filter_map(|axis| Some(((*axis).to_owned().into(), value(axis)?)))))
    }

    /// Whether a configuration keeps restrictions, and the device's limits to a workgroup's size and memory.
    ///
    /// # Errors
    /// A restriction that can't be evaluated.
    pub fn allows(&mut self, point: &Point, restrictions: &[String]) -> Result<bool, Failure> {
        // A macro of this value may not compile, which is for its own row to say, unless it isn't to be tried anyway.
        let Ok(source) = self.source(point) else {
            let variables = self.known_of(point);
            return Ok(restrictions.iter().all(|text| variables.truth(text, "--restrict").unwrap_or(true)));
        };
        let size = local_size(&source, point);
        let limits = &self.device.limits;
        let invocations = size.iter().fold(1_u64, |product, size| product.saturating_mul(u64::from(*size)));
        let fits = size.iter().zip(limits.workgroup_size).all(|(size, limit)| *size <= limit);
        if !fits || invocations > limits.workgroup_invocations.into() || !source.can_be(size) {
            return Ok(false);
        }
        let mut values = self.constants(&source, point)?;
        let variables = self.variables_of(&source, point, &values);
        for restriction in restrictions {
            if !variables.truth(restriction, "--restrict")? {
                return Ok(false);
            }
        }
        values.extend(source.size_values(size));
        let shared = source.reflection().shared_bytes(&values);
        Ok(shared.is_ok_and(|bytes| bytes <= self.device.limits.shared_bytes.into()))
    }
}
