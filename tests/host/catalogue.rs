//! Every kernel of the catalogue, in every form that the default sweeps use: it compiles, the validator takes it, before and
//! after specialization, and what it declares is what its experiment says of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use lanescope::experiments::{CATALOGUE, Config, Setting};
use lanescope::model::{
    Axis, AxisKind, AxisValue, Case, Check, Contents, DeviceInfo, Feature, ImageRole, Kernel, MOST_NUMBER, POISON, Point,
    Preset, Repeat, Resource, ResourceKind, Scalar, Step, Subgroup, SubgroupClass,
};
use lanescope::plan::{Plan, Request, check_limits};
use lanescope::shader::{
    self, Access, BindingKind, BlockPlace, Capability, Compiler, Extent, InstructionCounts, InstructionKind, Library, Module,
    Prepared, Reflection, ScalarType, SpecValues, Specialized, TypeLayout,
};
use lanescope::validate::Output;
use rayon::prelude::*;

use crate::shaders::support::environment;
use crate::support::form::{Form, form, sample};
use crate::support::passes::{check_repeat, readies};
use crate::support::{
    device_classes, each_setting, every_feature, given, little_work, optimized, setting, spirv_tool, to_bytes, to_words,
};

/// All cases of the default sweeps, on every class of device and with every preset, that a device can run.
fn each_case(mut act: impl FnMut(Case)) {
    each_setting(|setting| {
        let plan = Plan::new(&Request::default(), setting).unwrap();
        sample(plan.iter(), 1, 4).filter_map(|planned| planned.case.ok()).for_each(&mut act);
    });
}

/// The compiler of all tests here: a module that one of them has compiled is there for the others.
static COMPILER: LazyLock<Mutex<Compiler>> = LazyLock::new(|| Mutex::new(Compiler::new(Library::embedded()).unwrap()));

fn compiled(kernel: &Kernel) -> Arc<Module> {
    // A test that failed while it had the compiler did it no harm.
    let mut compiler = COMPILER.lock().unwrap_or_else(PoisonError::into_inner);
    compiler.compile(&kernel.source, &kernel.macros, kernel.target).unwrap()
}

/// The cases with their kernels compiled: of those that differ only in sizes of grids and buffers, one.
static PREPARED: LazyLock<Vec<Prepared>> = LazyLock::new(|| {
    let mut compiler = COMPILER.lock().unwrap_or_else(PoisonError::into_inner);
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    each_case(|case| {
        let form = |kernel: &Kernel| Kernel { bindings: Vec::new(), ..kernel.clone() };
        let key = format!("{} {} {:?}", case.experiment, case.variant, case.kernels.iter().map(form).collect::<Vec<_>>());
        if seen.insert(key) {
            let name = format!("{} {}", case.experiment, case.point);
            found.push(shader::prepare(case, &mut compiler).unwrap_or_else(|failure| panic!("{name}: {}", failure.reason)));
        }
    });
    assert!(found.len() > 100, "only {} cases", found.len());
    found
});

#[test]
fn what_a_module_declares_is_what_its_experiment_says() {
    for prepared @ Prepared { case, kernels } in PREPARED.iter() {
        assert_eq!(kernels.len(), case.kernels.len());
        for (kernel, specialized) in case.kernels.iter().zip(kernels) {
            let name = format!("{} {} {:?}", case.experiment, case.point, kernel.macros);
            let reflection = &specialized.module.reflection;
            check_entry(reflection, &name);
            check_bindings(case, kernel, reflection, &name);
            check_formats(case, reflection, &name);
            check_blocks(case, kernel, reflection, specialized, &name);
            check_instructions(reflection, specialized, &name);
            check_constants(kernel, specialized, &name);
        }
        check_repeat(prepared, &format!("{} {}", case.experiment, case.point));
        check_pushes(case, kernels);
        check_poison(case);
    }
}

fn check_entry(reflection: &Reflection, name: &str) {
    let [entry] = &reflection.entry_points[..] else { panic!("{name}: {:?}", reflection.entry_points) };
    assert_eq!(entry.name, "main", "{name}");
    for (id, extent) in (0..).zip(entry.local_size) {
        assert!(matches!(extent, Extent::Specialized { constant_id, .. } if constant_id == id), "{name}: {extent:?}");
    }
    assert!(!entry.needs_local_size_id, "{name}: not every device takes LocalSizeId");
}

/// Every declared descriptor is bound, as what it is; inputs can't be written, and what can be written is checked.
fn check_bindings(case: &Case, kernel: &Kernel, reflection: &Reflection, name: &str) {
    let declared: Vec<(u32, u32)> = reflection.bindings.iter().map(|binding| (binding.set, binding.binding)).collect();
    let mut bound: Vec<(u32, u32)> = kernel.bindings.iter().map(|binding| (binding.set, binding.binding)).collect();
    bound.sort_unstable();
    assert_eq!(declared, bound, "{name}");
    for info in &reflection.bindings {
        let here = |binding: &&lanescope::model::Binding| (binding.set, binding.binding) == (info.set, info.binding);
        let resource = kernel.bindings.iter().find(here).unwrap().resource;
        let Resource { kind, contents, .. } = &case.resources[resource];
        assert!(info.count == 1 && kinds(*kind).contains(&info.kind), "{name}: {} is {:?}", info.name, info.kind);
        let is_output = case.check.outputs().contains(&resource);
        match (contents, kind) {
            (_, ResourceKind::Sampler { .. }) => {}
            (Contents::Sequence(_) | Contents::Data(_), _) => {
                // What this macro is for is to measure without the declaration.
                let is_undeclared = kernel.macros.iter().any(|(name, _)| name == "UNQUALIFIED");
                let may_write = readies(case, kernel, resource) || is_undeclared;
                assert!(info.access == Access::ReadOnly || may_write, "{name}: input {}", info.name);
            }
            // Of several kernels, one may read what another one left in scratch memory.
            (Contents::Undefined, _) => {
                let is_scratch = case.kernels.len() > 1 && !is_output;
                let is_written = info.access != Access::ReadOnly;
                assert!(is_scratch || is_output && is_written, "{name}: output {} is {:?}", info.name, info.access);
            }
        }
    }
}

/// As what a resource can be declared.
fn kinds(kind: ResourceKind) -> &'static [BindingKind] {
    match kind {
        ResourceKind::Buffer { .. } | ResourceKind::Range { .. } => &[BindingKind::StorageBuffer, BindingKind::UniformBuffer],
        ResourceKind::Texels { role: ImageRole::Sampled, .. } => &[BindingKind::UniformTexelBuffer],
        ResourceKind::Texels { role: ImageRole::Storage, .. } => &[BindingKind::StorageTexelBuffer],
        ResourceKind::Image { role: ImageRole::Sampled, .. } => &[BindingKind::SampledImage],
        ResourceKind::Image { role: ImageRole::Storage, .. } => &[BindingKind::StorageImage],
        ResourceKind::Texels { role: ImageRole::StorageAndSampled, .. } => {
            &[BindingKind::UniformTexelBuffer, BindingKind::StorageTexelBuffer]
        }
        ResourceKind::Image { role: ImageRole::StorageAndSampled, .. } => {
            &[BindingKind::SampledImage, BindingKind::StorageImage]
        }
        ResourceKind::Sampler { .. } => &[BindingKind::Sampler],
        ResourceKind::HostMemory { .. } => &[],
    }
}

/// The values that the pipeline is given.
fn all_given(specialized: &Specialized) -> SpecValues {
    specialized.entries.iter().filter_map(|entry| Some((entry.id, given(specialized, entry.id)?))).collect()
}

/// A kernel that declares a buffer to write to writes to one, the same of images, and it uses the classes of subgroup operations that its module
/// asks for, and no other.
fn check_instructions(reflection: &Reflection, specialized: &Specialized, name: &str) {
    let (entry, values) = (&reflection.entry_points[0], all_given(specialized));
    let mix = reflection.instruction_mix(entry, &values);
    let some = |kinds: [InstructionKind; 2]| kinds.iter().any(|kind| mix.total.get(*kind) > 0);
    let is_image = |kind| matches!(kind, BindingKind::StorageImage | BindingKind::StorageTexelBuffer);
    let mut writable = reflection.bindings.iter().filter(|info| info.access != Access::ReadOnly);
    let writes_images = writable.clone().any(|info| is_image(info.kind));
    let writes_buffers = writable.any(|info| !is_image(info.kind));
    assert_eq!(some([InstructionKind::GlobalStore, InstructionKind::Atomic]), writes_buffers, "{name}: {mix:?}");
    assert!(!writes_images || mix.total.get(InstructionKind::Image) > 0, "{name}: {mix:?}");
    let shared = some([InstructionKind::SharedLoad, InstructionKind::SharedStore]);
    assert!(specialized.shared_bytes > 0 || !shared, "{name}: {mix:?}");
    assert_eq!(mix.by_depth.iter().map(InstructionCounts::sum).sum::<u64>(), mix.total.sum(), "{name}");
    let declared = |capability: &Capability| {
        format!("{capability:?}").strip_prefix("GroupNonUniform").map(|class| class.trim_end_matches("KHR").to_owned())
    };
    let declared = reflection.capabilities.iter().filter_map(declared).filter(|class| !class.is_empty());
    let used = reflection.subgroup_classes(entry, &values).into_iter().filter(|class| *class != SubgroupClass::Basic);
    // Rotating within clusters has a class of its own, but no capability.
    let used: BTreeSet<String> = used.map(|class| format!("{class:?}").replace("RotateClustered", "Rotate")).collect();
    assert_eq!(used, declared.collect(), "{name}");
}

/// A module asks for more formats of storage images, and of storage texel buffers, only where its own has one of them.
fn check_formats(case: &Case, reflection: &Reflection, name: &str) {
    let is_extended = |resource: &Resource| match resource.kind {
        ResourceKind::Image { format, role, .. } | ResourceKind::Texels { format, role, .. } => {
            role.is_storage() && format.is_extended()
        }
        _ => false,
    };
    let declared = reflection.capabilities.contains(&Capability::StorageImageExtendedFormats);
    assert_eq!(declared, case.resources.iter().any(is_extended), "{name}");
}

/// Every buffer is nothing but an array, without gaps between its elements: a storage buffer one of any length, a uniform buffer
/// one as long as what is bound to it.
fn check_blocks(case: &Case, kernel: &Kernel, reflection: &Reflection, specialized: &Specialized, name: &str) {
    let blocks = reflection.blocks(&all_given(specialized)).unwrap();
    let (push, buffers): (Vec<_>, Vec<_>) = blocks.iter().partition(|block| block.place == BlockPlace::PushConstants);
    // A buffer may be declared twice, as words and as vectors.
    let mut places: Vec<BlockPlace> = buffers.iter().map(|block| block.place).collect();
    places.dedup();
    let bound = reflection.bindings.iter().filter_map(|info| {
        let (set, binding) = (info.set, info.binding);
        match info.kind {
            BindingKind::StorageBuffer => Some(BlockPlace::StorageBuffer { set, binding }),
            BindingKind::UniformBuffer => Some(BlockPlace::UniformBuffer { set, binding }),
            _ => None,
        }
    });
    assert_eq!(places, bound.collect::<Vec<_>>(), "{name}");
    for block in buffers {
        let [member] = &block.layout.members[..] else { panic!("{name}: {block:?}") };
        match (&member.ty, block.place) {
            (TypeLayout::RuntimeArray { stride, element }, BlockPlace::StorageBuffer { .. }) => {
                assert_eq!(aligned_bytes(element), Some((*stride).into()), "{name}: {member:?}");
                assert_eq!((block.layout.bytes, block.runtime_stride()), (0, Some(*stride)), "{name}");
            }
            (TypeLayout::Array { stride, element, .. }, BlockPlace::UniformBuffer { set, binding }) => {
                assert_eq!(element.bytes(), Some((*stride).into()), "{name}: {member:?}");
                let here = kernel.bindings.iter().find(|bound| (bound.set, bound.binding) == (set, binding)).unwrap();
                assert_eq!(block.layout.bytes, case.resources[here.resource].bytes(), "{name}");
            }
            _ => panic!("{name}: {block:?}"),
        }
    }
    let pushed = push.iter().map(|block| block.layout.bytes).max().unwrap_or(0);
    assert_eq!(pushed, u64::from(specialized.push_bytes), "{name}");
}

/// Bytes from one element of an array to the next one: std430 aligns vectors of three as those of four.
fn aligned_bytes(element: &TypeLayout) -> Option<u64> {
    match element {
        TypeLayout::Vector { components: 3, scalar } => Some(4 * scalar.bytes()),
        _ => element.bytes(),
    }
}

fn type_of(scalar: Scalar) -> ScalarType {
    match scalar {
        Scalar::Bool(_) => ScalarType::Bool,
        Scalar::U32(_) => ScalarType::U32,
        Scalar::I32(_) => ScalarType::I32,
        Scalar::F32(_) => ScalarType::F32,
        Scalar::U64(_) => ScalarType::U64,
        Scalar::I64(_) => ScalarType::I64,
        Scalar::F64(_) => ScalarType::F64,
    }
}

fn bits(scalar: Scalar) -> u64 {
    match scalar {
        Scalar::Bool(value) => value.into(),
        Scalar::U32(value) => value.into(),
        Scalar::I32(value) => u32::from_ne_bytes(value.to_ne_bytes()).into(),
        Scalar::F32(value) => value.to_bits().into(),
        Scalar::U64(value) => value,
        Scalar::I64(value) => u64::from_ne_bytes(value.to_ne_bytes()),
        Scalar::F64(value) => value.to_bits(),
    }
}

/// The constants that an experiment names exist, with its values' types, and the pipeline is given exactly these values.
fn check_constants(kernel: &Kernel, specialized: &Specialized, name: &str) {
    let constants = &specialized.module.reflection.spec_constants;
    for (constant, value) in &kernel.constants {
        let declared = constants.iter().find(|declared| declared.name == *constant);
        let declared = declared.unwrap_or_else(|| panic!("{name}: no constant {constant}"));
        assert_eq!(declared.ty, type_of(*value), "{name}: {constant}");
        assert_eq!(given(specialized, declared.id), Some(bits(*value)), "{name}: {constant}");
    }
    for (id, size) in (0..).zip(kernel.local_size) {
        assert_eq!(given(specialized, id), Some(size.into()), "{name}: local size {id}");
    }
    assert_eq!(specialized.entries.len(), kernel.constants.len() + 3, "{name}");
    assert_eq!(specialized.local_size, kernel.local_size, "{name}");
}

/// What is pushed is what the bound kernel declares.
fn check_pushes(case: &Case, kernels: &[Specialized]) {
    [&case.reset, &case.prepare, &case.pass].into_iter().for_each(|steps| check_pushes_of(steps, case, kernels));
}

fn check_pushes_of(steps: &[Step], case: &Case, kernels: &[Specialized]) {
    let mut bound = None;
    let mut pushed = 0;
    for step in steps {
        match step {
            Step::Bind { kernel } => (bound, pushed) = (Some(&kernels[*kernel]), 0),
            Step::BindPipeline { kernel } => bound = Some(&kernels[*kernel]),
            Step::Push { bytes } => pushed = pushed.max(bytes.len()),
            Step::Dispatch { .. } | Step::DispatchIndirect { .. } => {
                let declared = bound.unwrap().module.reflection.push_bytes;
                assert_eq!(pushed, declared as usize, "{} {}", case.experiment, case.point);
            }
            _ => {}
        }
    }
}

/// Before a checked pass every output is filled: with the poison where the pass overwrites it whole, else with what the pass
/// starts from. An image is, by a copy of a buffer that was filled before.
fn check_poison(case: &Case) {
    for output in case.check.outputs() {
        let copied = case.reset.iter().position(|step| matches!(step, Step::Copy { to, .. } if to == output));
        let (filled, before) = match copied.map(|at| (&case.reset[at], at)) {
            Some((Step::Copy { from, .. }, at)) => (from, at),
            _ => (output, case.reset.len()),
        };
        let fills = |step: &Step| match step {
            Step::Fill { resource, word } => resource == filled && (case.repeat != Repeat::Overwrites || *word == POISON),
            _ => false,
        };
        assert!(case.reset[..before].iter().any(fills), "{} {}: output {output} is not poisoned", case.experiment, case.point);
    }
}

/// The subgroup class that a capability stands for, but for the basic one, which all others imply.
fn subgroup_class(capability: Capability) -> Option<SubgroupClass> {
    Some(match capability {
        Capability::GroupNonUniformVote => SubgroupClass::Vote,
        Capability::GroupNonUniformArithmetic => SubgroupClass::Arithmetic,
        Capability::GroupNonUniformBallot => SubgroupClass::Ballot,
        Capability::GroupNonUniformShuffle => SubgroupClass::Shuffle,
        Capability::GroupNonUniformShuffleRelative => SubgroupClass::ShuffleRelative,
        Capability::GroupNonUniformClustered => SubgroupClass::Clustered,
        Capability::GroupNonUniformQuad => SubgroupClass::Quad,
        // Clustered rotation declares no other.
        Capability::GroupNonUniformRotateKHR => SubgroupClass::Rotate,
        _ => return None,
    })
}

#[test]
fn a_module_declares_no_subgroup_class_that_its_device_lacks() {
    let mut declared = BTreeSet::new();
    let whole = device_classes().remove(0);
    for class in whole.subgroup.classes.clone() {
        let subgroup = Subgroup { classes: [SubgroupClass::Basic, class].into(), ..whole.subgroup.clone() };
        let device = DeviceInfo { subgroup, ..whole.clone() };
        let setting = setting(&device, Preset::Default);
        let plan = Plan::new(&Request::default(), setting).unwrap();
        for kernel in plan.iter().filter_map(|planned| planned.case.ok()).flat_map(|case| case.kernels) {
            let module = compiled(&kernel);
            for own in module.reflection.capabilities.iter().filter_map(|capability| subgroup_class(*capability)) {
                let is_rotation = (own, class) == (SubgroupClass::Rotate, SubgroupClass::RotateClustered);
                assert!(own == class || is_rotation, "{kernel:?} declares {own:?}, where there is only {class:?}");
                declared.insert(class);
            }
        }
    }
    let all_but_basic = whole.subgroup.classes.iter().copied().filter(|class| *class != SubgroupClass::Basic);
    assert_eq!(declared, all_but_basic.collect());
}

/// Whatever numbers an axis takes, all alone or all of them at once, on every class of device.
#[test]
fn no_number_is_too_large_to_be_planned() {
    let large = [1 << 31, (1 << 32) - 8, (1 << 32) - 1, 1 << 32, MOST_NUMBER];
    for device in device_classes() {
        let setting = setting(&device, Preset::Default);
        for experiment in sample(CATALOGUE, 1, 3) {
            let axes = experiment.axes(&setting);
            let variants = if experiment.variants().is_empty() { &[""] } else { experiment.variants() };
            let firsts: Vec<usize> = (0..axes.iter().map(|axis| axis.defaults.len()).max().unwrap_or(1)).collect();
            for (variant, first) in variants.iter().flat_map(|variant| firsts.iter().map(move |first| (variant, first))) {
                let value = |axis: &Axis| axis.defaults[first % axis.defaults.len()].clone();
                let point = Point::new(axes.iter().map(|axis| (axis.name.clone(), value(axis))));
                let open: Vec<&str> = axes
                    .iter()
                    .filter(|axis| matches!(axis.kind, AxisKind::AtLeast(_)))
                    .map(|axis| axis.name.as_ref())
                    .collect();
                let alone = open.iter().map(|axis| vec![*axis]);
                // Where an axis ends before, its own end.
                let nearest = |name: &str, n: u64| {
                    let axis = axes.iter().find(|axis| axis.name == name).unwrap();
                    let most = n.min(axis.most);
                    AxisValue::from(most - most % axis.multiple_of)
                };
                for (names, n) in alone.chain([open.clone()]).flat_map(|axes| large.map(move |n| (axes.clone(), n))) {
                    let point = names.iter().fold(point.clone(), |point, axis| point.with(axis, &nearest(axis, n)));
                    assert!(
                        names
                            .iter()
                            .all(|name| axes.iter().all(|axis| axis.name != *name || axis.accepts(point.get(name).unwrap())))
                    );
                    let case = experiment.case(&Config::new(variant, &point, &setting));
                    let _ = case.and_then(|case| check_limits(&case, &device));
                }
            }
        }
    }
}

/// The capabilities that a device has by a feature; none for what is no matter of types.
fn capabilities_of(feature: Feature) -> &'static [Capability] {
    match feature {
        Feature::Float16 => &[Capability::Float16],
        Feature::Float64 => &[Capability::Float64],
        Feature::Int8 => &[Capability::Int8],
        Feature::Int16 => &[Capability::Int16],
        Feature::Int64 => &[Capability::Int64],
        Feature::IntegerDotProduct => &[Capability::DotProduct, Capability::DotProductInput4x8BitPacked],
        Feature::Storage8 => &[Capability::StorageBuffer8BitAccess],
        Feature::Storage16 => &[Capability::StorageBuffer16BitAccess],
        Feature::BufferInt64Atomics | Feature::SharedInt64Atomics => &[Capability::Int64Atomics],
        Feature::BufferFloat32AtomicAdd | Feature::SharedFloat32AtomicAdd => &[Capability::AtomicFloat32AddEXT],
        Feature::BufferFloat64AtomicAdd | Feature::SharedFloat64AtomicAdd => &[Capability::AtomicFloat64AddEXT],
        Feature::MemoryModel => &[Capability::VulkanMemoryModel],
        Feature::BufferDeviceAddress => &[Capability::PhysicalStorageBufferAddresses],
        Feature::MemoryModelDeviceScope => &[Capability::VulkanMemoryModelDeviceScope],
        _ => &[],
    }
}

/// The least that Vulkan allows: it may be too small for some sizes of an experiment that is about them, but not for any experiment.
#[test]
fn the_smallest_device_has_every_experiment() {
    let mut device = device_classes().remove(2);
    device.limits.workgroup_size = [128, 128, 64];
    device.limits.workgroup_invocations = 128;
    for preset in [Preset::Quick, Preset::Default] {
        let setting = setting(&device, preset);
        let plan = Plan::new(&Request::default(), setting).unwrap();
        let (mut fits, mut too_large) = (BTreeSet::new(), BTreeSet::new());
        for planned in plan.iter() {
            let is_too_large = planned.case.as_ref().is_err_and(|skip| skip.reason.contains("maxComputeWorkGroup"));
            let names = if is_too_large { &mut too_large } else { &mut fits };
            names.insert((planned.experiment.name(), planned.variant));
        }
        assert_eq!(too_large.difference(&fits).collect::<Vec<_>>(), Vec::<&(&str, &str)>::new(), "{preset:?}");
    }
}

/// Features that modules need together.
const TOGETHER: &[[Feature; 2]] = &[
    [Feature::SubgroupExtendedTypes, Feature::Float16],
    [Feature::SubgroupExtendedTypes, Feature::Int8],
    [Feature::SubgroupExtendedTypes, Feature::Int16],
    [Feature::SubgroupExtendedTypes, Feature::Int64],
    [Feature::BufferInt64Atomics, Feature::Int64],
    [Feature::SharedInt64Atomics, Feature::Int64],
    [Feature::BufferFloat64AtomicAdd, Feature::Float64],
    [Feature::SharedFloat64AtomicAdd, Feature::Float64],
    [Feature::MemoryModel, Feature::MemoryModelDeviceScope],
];

#[test]
fn a_module_declares_nothing_that_its_device_lacks() {
    let all: BTreeSet<&Capability> = every_feature().into_iter().flat_map(capabilities_of).collect();
    let mut declared = BTreeSet::new();
    let alone = every_feature().into_iter().map(|feature| vec![feature]);
    let sets = [Vec::new()].into_iter().chain(alone).chain(TOGETHER.iter().map(|pair| pair.to_vec()));
    for features in sample(sets, 1, 8) {
        let device = DeviceInfo { features: features.iter().copied().collect(), ..device_classes().remove(0) };
        let setting = setting(&device, Preset::Thorough);
        let allowed: Vec<&Capability> = features.iter().flat_map(|feature| capabilities_of(*feature)).collect();
        let plan = Plan::new(&Request::default(), setting).unwrap();
        let mut seen = BTreeSet::new();
        for kernel in plan.iter().filter_map(|planned| planned.case.ok()).flat_map(|case| case.kernels) {
            if !seen.insert((kernel.source.clone(), kernel.macros.clone())) {
                continue;
            }
            let module = compiled(&kernel);
            for capability in module.reflection.capabilities.iter().filter(|capability| all.contains(capability)) {
                assert!(allowed.contains(&capability), "{kernel:?} declares {capability:?}, where there is only {features:?}");
                declared.insert(*capability);
            }
        }
    }
    // What no module needs any more is no feature to know.
    assert!(form() == Form::Quick || declared == all.into_iter().copied().collect(), "{declared:?}");
}

/// Each module as it is, and with the constants of one of its forms. Which form goes round: a shader's modules are many, so that the
/// edges of its sweep are among them.
#[test]
fn every_module_is_valid_before_and_after_specialization() {
    let mut by_module: BTreeMap<&str, Vec<(&Kernel, &Specialized)>> = BTreeMap::new();
    for Prepared { case, kernels } in PREPARED.iter() {
        for (kernel, specialized) in case.kernels.iter().zip(kernels) {
            by_module.entry(&specialized.module.spirv_hash).or_default().push((kernel, specialized));
        }
    }
    let modules: Vec<Vec<(&Kernel, &Specialized)>> = by_module.into_values().collect();
    let sampled: Vec<_> = sample(modules.iter().enumerate(), 1, 6).collect();
    sampled.into_par_iter().for_each(|(number, forms)| {
        let edges = [0, forms.len() / 2, forms.len() - 1];
        let (kernel, specialized) = forms[edges[number % edges.len()]];
        shader::validate(&specialized.module.words).unwrap_or_else(|error| panic!("{kernel:?}: {error}"));
        let target = format!("--target-env={}", environment(kernel.target));
        // The distribution's validator, which is older than ours, looks at the result before it leaves the optimizer: one process does both.
        let frozen = optimized(specialized, &[&target, "--validate-after-all"]);
        shader::validate(&frozen).unwrap_or_else(|error| panic!("{kernel:?}: {error}"));
        let reflection = Reflection::parse(&frozen).unwrap();
        assert_eq!(reflection.spec_constants, [], "{kernel:?}");
        assert_eq!(reflection.entry_points[0].local_size, kernel.local_size.map(Extent::Literal), "{kernel:?}");
    });
}

#[test]
fn both_validators_refuse_what_is_wrong() {
    let kernel = PREPARED.iter().find_map(|prepared| prepared.kernels.first()).unwrap();
    let refused = |words: &[u32]| {
        let looked_on = ["--target-env=vulkan1.1", "--validate-after-all", "--freeze-spec-const", "-", "-o", "-"];
        shader::validate(words).is_err() && spirv_tool("spirv-opt", &looked_on, &to_bytes(words)).is_err()
    };
    let right = &kernel.module.words;
    assert!(!refused(right));
    let [mut short, mut other_kind] = [right.clone(), right.clone()];
    short.pop();
    let shader = (Capability::Shader as u32, Capability::Kernel as u32);
    let first = other_kind[5..].iter_mut().find(|word| **word == shader.0).unwrap();
    *first = shader.1;
    assert!(refused(&short) && refused(&other_kind));
}

#[test]
fn a_case_is_its_experiments_and_comes_out_the_same_each_time() {
    each_setting(|setting| {
        let plan = Plan::new(&Request::default(), setting).unwrap();
        for planned in sample(plan.iter(), 1, 4) {
            let Ok(case) = planned.case else { continue };
            let again = planned.experiment.case(&Config::new(planned.variant, &planned.point, &setting));
            assert_eq!(again.as_ref(), Ok(&case));
            assert_eq!((case.experiment.as_str(), case.variant.as_str()), (planned.experiment.name(), planned.variant));
            assert_eq!(case.point, planned.point);
            let names: BTreeSet<&str> = case.resources.iter().map(|resource| resource.name.as_ref()).collect();
            assert_eq!(names.len(), case.resources.len(), "{}: resources share a name", case.experiment);
        }
    });
}

#[test]
fn a_twin_is_whole_and_comes_out_the_same_each_time() {
    let cpu = &device_classes()[0];
    let setting = |seed| Setting { queue: None, device: cpu, preset: Preset::Quick, seed };
    // Smaller than by default, so that every variant and operation can be had in full.
    let axes = little_work();
    let [first, second] =
        [1, 2].map(|seed| Plan::new(&Request { axes: axes.clone(), ..Request::default() }, setting(seed)).unwrap());
    let mut checked = BTreeSet::new();
    for (planned, other) in sample(first.iter().zip(second.iter()), 1, 4) {
        let experiment = planned.experiment;
        let settings = [1, 2].map(setting);
        let [first, again] = [0, 0].map(|_| experiment.build(&Config::new(planned.variant, &planned.point, &settings[0])));
        let other = experiment.build(&Config::new(other.variant, &other.point, &settings[1]));
        let (Ok(first), Ok(again), Ok(other)) = (first, again, other) else { continue };
        let case = &first.case;
        let outputs: Vec<Vec<u8>> = first.expected().iter().map(|expected| expected.bytes()).collect();
        assert_eq!(outputs.len(), case.check.outputs().len(), "{}", case.experiment);
        for ((output, bytes), again) in case.check.outputs().iter().zip(&outputs).zip(again.expected()) {
            let name = format!("{} {}", case.experiment, case.point);
            assert_eq!(bytes.len() as u64, case.resources[*output].bytes(), "{name}");
            assert_eq!(Output { name: "again", bytes }.compare(again), Ok(()), "{name}");
            assert!(!to_words(bytes).contains(&POISON), "{name}: the poison is a possible result");
            checked.insert(case.experiment.clone());
        }
        let reads = case.resources.iter().any(|resource| matches!(resource.contents, Contents::Sequence(_)));
        if reads && case.point.get("op").is_none_or(|op| op.to_string() != "init") {
            let others: Vec<Vec<u8>> = other.expected().iter().map(|expected| expected.bytes()).collect();
            assert_ne!(outputs, others, "{} {}: other data, same results", case.experiment, case.point);
        }
    }
    let with_twin = |e: &&&lanescope::experiments::Experiment| {
        let setting = setting(1);
        e.variants().iter().any(|variant| {
            let point = crate::support::point(e, &setting, &[]);
            let case = e.case(&Config::new(variant, &point, &setting));
            matches!(case.map(|case| case.check), Ok(Check::Twin(_)))
        })
    };
    let all = CATALOGUE.iter().filter(with_twin).count();
    assert!(form() == Form::Quick || checked.len() == all, "{} of {all}", checked.len());
}

#[test]
fn resources_are_whole_words() {
    each_case(|case| {
        for resource in &case.resources {
            let is_sampler = matches!(resource.kind, ResourceKind::Sampler { .. });
            let is_whole = resource.bytes() > 0 && resource.bytes() % 4 == 0;
            assert!(is_sampler || is_whole, "{} {}: {}", case.experiment, case.point, resource.name);
        }
    });
}
