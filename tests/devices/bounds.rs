//! No kernel of the catalogue indexes beyond its arrays, those in shared memory and of an invocation included: each is made to note how far it does, and run on every driver, with
//! robust buffer access so that a driver would live through it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use lanescope::gpu::{Device, DeviceOptions};
use lanescope::model::{Binding, Case, Contents, Feature, MemoryKind, Preset, Resource, ResourceKind, Status, Step};
use lanescope::plan::{Plan, Request, check_limits};
use lanescope::shader::{self, BindingInfo, Compiler, Library, Module, NotedArray, Noting, Prepared, Specialized};

use crate::gpu::messages_with;
use crate::support::{little_work, setting};

/// Makes a kernel of a case note what it does; the case has one buffer more then. Nothing where it indexes no array.
fn noting(case: &mut Case, kernel: usize, specialized: &mut Specialized) -> Option<(usize, Noting)> {
    let noting = Noting::of_everything(&specialized.module.words, &specialized.entry).unwrap_or_else(|error| panic!("{error}"));
    if noting.arrays.is_empty() {
        return None;
    }
    let resource = case.resources.len();
    case.resources.push(Resource {
        name: Cow::Owned(format!("what kernel {kernel} notes")),
        kind: ResourceKind::Buffer { bytes: noting.bytes(), memory: MemoryKind::DeviceLocal },
        contents: Contents::Undefined,
    });
    case.reset.push(Step::Fill { resource, word: 0 });
    let (set, binding) = noting.place;
    case.kernels[kernel].bindings.push(Binding::new(set, binding, resource));
    let module = Module::of_spirv(noting.words.clone(), Some(&specialized.entry)).unwrap();
    let is_new = |info: &&BindingInfo| (info.set, info.binding) == noting.place;
    specialized.bindings.extend(module.reflection.bindings.iter().find(is_new).cloned());
    specialized.module = Arc::new(module);
    Some((resource, noting))
}

/// Runs a case whose kernels note what they do. Gives the arrays with their largest index and length; nothing where the device
/// can't run the case.
fn noted(device: &mut Device, mut prepared: Prepared) -> Option<Vec<(NotedArray, u32, u32)>> {
    let Prepared { case, kernels } = &mut prepared;
    let all: Vec<(usize, Noting)> = kernels.iter_mut().enumerate().filter_map(|(i, kernel)| noting(case, i, kernel)).collect();
    let loaded = match device.load(&prepared) {
        Err(error) if error.status() == Status::Skipped => return None,
        loaded => loaded.unwrap_or_else(|error| panic!("{}: {error}", prepared.case.experiment)),
    };
    device.run_checked(loaded.slot).unwrap_or_else(|error| panic!("{}: {error}", prepared.case.experiment));
    let mut found = Vec::new();
    for (resource, noting) in all {
        let bytes = device.read(loaded.slot, resource).unwrap();
        let name = format!("{} {} {}", prepared.case.experiment, prepared.case.variant, prepared.case.point);
        assert_eq!(noting.overruns(&bytes), [], "{name}");
        let words: Vec<u32> = bytes.chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap())).collect();
        found.extend(noting.arrays.into_iter().zip(words.chunks_exact(2)).map(|(array, pair)| (array, pair[0], pair[1])));
    }
    device.unload();
    Some(found)
}

#[test]
fn no_kernel_of_the_catalogue_leaves_its_arrays() {
    let options = DeviceOptions { is_robust: true, ..DeviceOptions::default() };
    let messages = messages_with(options, |device| {
        let info = device.info().clone();
        assert!(info.has(Feature::RobustBufferAccess), "{}", info.name);
        let mut compiler = Compiler::new(Library::embedded()).unwrap();
        let request = Request { axes: little_work(), ..Request::default() };
        let plan = Plan::new(&request, setting(&info, Preset::Quick)).unwrap();
        let mut experiments: BTreeMap<String, (usize, bool)> = BTreeMap::new();
        for case in plan.iter().filter_map(|planned| planned.case.ok()).filter(|case| check_limits(case, &info).is_ok()) {
            let name = case.experiment.clone();
            let Some(found) = noted(device, shader::prepare(case, &mut compiler).unwrap()) else { continue };
            let (arrays, reaches) = experiments.entry(name.to_string()).or_default();
            *arrays += found.len();
            // Where nothing came back, nothing was looked at.
            *reaches |= found.iter().any(|(_, index, length)| *length > 1 && *index > 0);
        }
        eprintln!("{}: {experiments:?}", info.name);
        let reached = experiments.values().filter(|(_, reaches)| *reaches).count();
        assert!(reached > 20, "only {reached} experiments of {} index anything", experiments.len());
    });
    assert_eq!(messages, [""; 0]);
}
