//! Kernels of the catalogue that record what they access: they compute what they did before, and what they record holds together.

mod check;
mod command;
mod counts;
mod explain;
mod forms;
mod marks;
mod reliefs;
mod twins;

use std::collections::{BTreeMap, HashSet};

use lanescope::experiments::{CATALOGUE, Config};
use lanescope::gpu::{Device, DeviceOptions};
use lanescope::model::{MemoryKind, Preset, ResourceKind, Status};
use lanescope::plan::{Plan, Request, check_limits};
use lanescope::shader::{self, Compiler, Library, Prepared, Recording, Space, Target, TraceOptions};

use crate::gpu::messages_with;
use crate::support::form::sample;
use crate::support::{little_work, setting};

const CAPACITY: u32 = 1 << 22;
/// Points of each variant that are tried.
const POINTS: usize = 3;

/// Runs a case once, and reads its outputs, and behind them what the pass left of a buffer that began so.
fn ran(device: &mut Device, prepared: &Prepared, more: Option<(usize, Vec<u8>)>) -> Option<Vec<Vec<u8>>> {
    let name = format!("{} {} {}", prepared.case.experiment, prepared.case.variant, prepared.case.point);
    let loaded = match device.load(prepared) {
        Err(error) if error.status() == Status::Skipped => return None,
        loaded => loaded.unwrap_or_else(|error| panic!("{name}: {error}")),
    };
    if let Some((resource, bytes)) = &more {
        device.restart(loaded.slot, *resource, bytes).unwrap();
    }
    device.run_checked(loaded.slot).unwrap_or_else(|error| panic!("{name}: {error}"));
    let all = prepared.case.check.outputs().iter().copied().chain(more.map(|(resource, _)| resource));
    let read = all.map(|resource| device.read(loaded.slot, resource).unwrap()).collect();
    device.unload();
    Some(read)
}

#[test]
fn kernels_of_the_catalogue_compute_the_same_and_record_each_access_once() {
    let options = DeviceOptions { is_robust: true, ..DeviceOptions::default() };
    let messages = messages_with(options, |device| {
        let info = device.info().clone();
        let mut compiler = Compiler::new(Library::embedded()).unwrap();
        let names: Vec<String> = sample(CATALOGUE.iter(), 8, 12).map(|experiment| experiment.name().to_owned()).collect();
        let request = Request { axes: little_work(), ..Request::default() };
        let setting = setting(&info, Preset::Quick);
        let plan = Plan::new(&request, setting).unwrap();
        let mut experiments: BTreeMap<String, [usize; 4]> = BTreeMap::new();
        let mut tries: BTreeMap<(&str, String), usize> = BTreeMap::new();
        for planned in plan.iter() {
            let (experiment, variant, point) = (planned.experiment, planned.variant, planned.point.clone());
            let Some(case) = planned.case.ok().filter(|_| names.contains(&experiment.name().to_owned())) else { continue };
            if check_limits(&case, &info).is_err() {
                continue;
            }
            let tried: &mut usize = tries.entry((experiment.name(), variant.to_owned())).or_default();
            *tried += 1;
            if *tried > POINTS {
                continue;
            }
            let name = format!("{} {variant} {point}", experiment.name());
            let built = experiment.build(&Config::new(variant, &point, &setting)).unwrap();
            let prepared = shader::prepare(case, &mut compiler).unwrap();
            for dispatch in prepared.dispatches().into_iter().take(2) {
                let kernel = &prepared.kernels[dispatch.kernel];
                let count: u32 = dispatch.groups.iter().product();
                let all: Vec<u32> = (0..count.min(3))
                    .chain([count.saturating_sub(1)])
                    .collect::<std::collections::BTreeSet<_>>()
                    .into_iter()
                    .filter(|group| *group < count)
                    .collect();
                let recording = Recording {
                    memory: MemoryKind::DeviceLocal,
                    groups: &all,
                    grid: dispatch.groups,
                    invocations_per_group: kernel.local_size.iter().product(),
                    capacity: CAPACITY,
                    invocations: None,
                };
                let traced = prepared
                    .traced(dispatch, &TraceOptions { leaders: true, ..TraceOptions::default() })
                    .unwrap_or_else(|error| panic!("{name}: {error}"));
                let (recorded, resource) = prepared.recording(dispatch, &traced, &recording).unwrap();
                let Some(mut read) = ran(device, &recorded, Some((resource, recording.beginning()))) else { continue };
                let buffer = recording.compacted(&read.pop().unwrap(), &traced, &[]);
                if !read.is_empty() {
                    assert_eq!(built.check(&read), Ok(()), "{name}");
                }
                let recorded = traced.recorded(&buffer);
                let counts = experiments.entry(experiment.name().to_owned()).or_default();
                counts[0] += 1;
                counts[1] += usize::from(recorded.is_cut());
                let mut seen = HashSet::new();
                for record in recorded.records() {
                    counts[2] += 1;
                    let site = &traced.sites[record.site];
                    counts[3] += usize::from(matches!(site.target, Target::Unfollowed(_)));
                    let key = (record.site, record.group, record.invocation, record.chain, record.iterations.to_vec());
                    assert!(seen.insert(key), "{name}: {record:?} of {site:?} came twice");
                    assert!(recorded.lane(record.group, record.invocation).is_some(), "{name}: {record:?}");
                    if let (Some(root), Some(offset), Target::Root { runs, .. }) = (record.root, record.offset, &site.target) {
                        let end = offset + runs.iter().map(|run| run.offset + run.bytes).max().unwrap();
                        let at = match traced.roots[root].space {
                            Space::Storage { set, binding } | Space::Uniform { set, binding } => (set, binding),
                            _ => continue,
                        };
                        let bindings = &prepared.case.kernels[dispatch.sets()].bindings;
                        let binding =
                            bindings.iter().find(|of| (of.set, of.binding, of.element) == (at.0, at.1, record.element));
                        let binding = binding.unwrap_or_else(|| panic!("{name}: {record:?} of {site:?}"));
                        if let ResourceKind::Buffer { bytes, .. } = prepared.case.resources[binding.resource].kind {
                            assert!(end <= bytes, "{name}: {record:?} of {site:?} ends at {end} of {bytes}");
                        }
                    }
                }
            }
        }
        assert!(2 * experiments.len() > names.len(), "{experiments:?} of {names:?}");
    });
    assert_eq!(messages, [""; 0]);
}
