//! Faults that `--check` finds: shaders in pairs that differ in a line, and kernels of the catalogue without one of their barriers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use lanescope::experiments::CATALOGUE;
use lanescope::gpu::{Device, DeviceOptions};
use lanescope::model::{Case, DeviceInfo, DeviceKind, MemoryKind, Point, Preset, ResourceKind, Status};
use lanescope::plan::{Plan, Request, check_limits};
use lanescope::shader::{
    self, Compiler, Dispatch, Library, Module, Prepared, Recorded, Recording, Space, TraceOptions, Traced,
};
use lanescope::subject::{BufferSpec, KernelSpec, UserKernel};
use lanescope::trace::check::{Class, Findings, Workgroup, orders};
use rspirv::spirv::Op;

use super::{CAPACITY, ran};
use crate::gpu::messages_with;
use crate::support::form::{Form, form, sample};
use crate::support::{little_work, setting};

/// Instructions that a pass records: drivers compile long for more.
const MOST: usize = 24;
/// Workgroups of a dispatch that are looked at.
const GROUPS: u32 = 4;

/// What is found in some workgroups of a dispatch; nothing where the device can't run it, or records find no room.
fn found(device: &mut Device, prepared: &Prepared, dispatch: Dispatch) -> Option<Findings> {
    let options = TraceOptions { leaders: true, values: true, sites: Some(&[]), foresees: false };
    let traced = prepared.traced(dispatch, &options).unwrap_or_else(|error| panic!("{}: {error}", prepared.case.experiment));
    let (ordering, others): (Vec<usize>, Vec<usize>) = (0..traced.sites.len()).partition(|site| orders(&traced, *site));
    let mut windows: Vec<BTreeSet<usize>> =
        others.chunks(MOST).map(|some| some.iter().chain(&ordering).copied().collect()).collect();
    if windows.is_empty() {
        windows.push(ordering.into_iter().collect());
    }
    let count: u32 = dispatch.groups.iter().product();
    let groups: Vec<u32> = (0..count.min(GROUPS - 1)).chain((count >= GROUPS).then_some(count - 1)).collect();
    let invocations = prepared.kernels[dispatch.kernel].local_size.iter().product();
    let mut all: Vec<(Traced, Vec<u32>)> = Vec::new();
    for sites in windows {
        let sites: Vec<usize> = sites.into_iter().collect();
        let traced = prepared.traced(dispatch, &TraceOptions { sites: Some(&sites), ..options }).unwrap();
        let recording = Recording {
            memory: MemoryKind::DeviceLocal,
            groups: &groups,
            grid: dispatch.groups,
            invocations_per_group: invocations,
            capacity: 4 * CAPACITY,
            invocations: None,
        };
        let (with, resource) = prepared.recording(dispatch, &traced, &recording).unwrap();
        let left = ran(device, &with, Some((resource, recording.beginning())))?.pop()?;
        let words = recording.compacted(&left, &traced, &[]);
        // A large device has more work in a workgroup than there is room for.
        if traced.recorded(&words).is_cut() {
            return None;
        }
        all.push((traced, words));
    }
    let passes: Vec<Recorded> = all.iter().map(|(traced, words)| traced.recorded(words)).collect();
    let ends = |root: usize, element: u32| match traced.roots.get(root)?.space {
        Space::Storage { set, binding } | Space::Uniform { set, binding } => {
            let bindings = &prepared.case.kernels[dispatch.sets()].bindings;
            let of = bindings.iter().find(|of| (of.set, of.binding, of.element) == (set, binding, element))?;
            match prepared.case.resources[of.resource].kind {
                ResourceKind::Buffer { bytes, .. } => Some(bytes),
                _ => None,
            }
        }
        Space::PushConstants | Space::Shared | Space::Address => None,
    };
    let mut findings = Findings::default();
    for (place, number) in (0..).zip(&groups) {
        findings.add(&Workgroup { passes: &passes, place, number: *number, invocations }, &ends);
    }
    findings.settle();
    Some(findings)
}

fn classes(findings: &Findings) -> BTreeSet<&'static str> {
    findings.all.keys().map(|cause| cause.class.name()).collect()
}

// ---- pairs --------------------------------------------------------------------------------------------------------------------

/// A pair's file, and what its first line says of what is found where FAULT is 1. With 0, nothing is.
struct Pair {
    path: PathBuf,
    expected: BTreeSet<String>,
    /// Whether it depends on who comes first.
    is_sure: bool,
}

fn pairs() -> Vec<Pair> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/check");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let of = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let line = text.lines().next().and_then(|line| line.strip_prefix("// expects: ")).map(str::to_owned);
        let line = line.unwrap_or_else(|| panic!("{}", path.display()));
        let classes = line.split([' ', ',']).take_while(|word| Class::ALL.iter().any(|class| class.name() == *word));
        let expected: BTreeSet<String> = classes.map(str::to_owned).collect();
        assert!(!expected.is_empty(), "{}: {line}", path.display());
        Pair { path, expected, is_sure: !line.contains("perhaps") }
    };
    files.into_iter().map(of).collect()
}

fn kernel(shader: &std::path::Path, fault: u32, device: &DeviceInfo) -> UserKernel {
    let subject = KernelSpec {
        name: shader.file_stem().unwrap().to_string_lossy().into_owned(),
        shader: shader.to_owned().into(),
        macros: vec![("FAULT".to_owned(), fault.to_string())],
        n: 256,
        buffers: vec![BufferSpec::parse("B=uint[512]:zero").unwrap()],
        is_traced: true,
        ..KernelSpec::default()
    };
    UserKernel::new(subject, device.clone())
}

#[test]
fn of_pairs_the_faulty_one_is_found_and_the_other_one_clean() {
    let options = DeviceOptions { is_robust: true, ..DeviceOptions::default() };
    let messages = messages_with(options, |device| {
        let info = device.info().clone();
        let mut cannot = BTreeSet::new();
        let mut wrong = Vec::new();
        let all = pairs();
        for Pair { path, expected, is_sure } in sample(&all, 12, 12) {
            // A GPU may wait for ever at a barrier that not all come to.
            let may_hang =
                info.kind != DeviceKind::Cpu && ["barrier", "left-out", "exited"].iter().any(|class| expected.contains(*class));
            for fault in if may_hang { 0..1 } else { 0..2 } {
                let name = format!("{} {fault}", path.file_stem().unwrap().to_string_lossy());
                let prepared = match kernel(path, fault, &info).prepare(&Point::default()) {
                    Err(failure) if failure.status == Status::Skipped => {
                        cannot.insert(name);
                        continue;
                    }
                    prepared => prepared.unwrap_or_else(|failure| panic!("{name}: {failure:?}")),
                };
                let Some(findings) = found(device, &prepared, prepared.dispatches()[0]) else {
                    cannot.insert(name);
                    continue;
                };
                let right = if fault == 1 { expected.clone() } else { BTreeSet::new() };
                let own: BTreeSet<String> = classes(&findings).into_iter().map(str::to_owned).collect();
                let is_right = own == right || (own.is_empty() && !is_sure);
                if !is_right || findings.unsteady > 0 {
                    wrong.push(format!("{name}: found {own:?}, right is {right:?}: {:?}", findings.all));
                }
            }
        }
        eprintln!("{} pairs on {}, which can't run {cannot:?}", all.len(), info.name);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(all.len() >= 60 && cannot.len() < 8, "{cannot:?}");
    });
    // Messages of the layer are of shaders that are wrong on purpose.
    drop(messages);
}

// ---- the catalogue --------------------------------------------------------------------------------------------------------------

/// A module without one of its barriers; nothing where it has no more.
fn without_barrier(words: &[u32], number: usize) -> Option<Vec<u32>> {
    let (mut at, mut left, mut kept) = (5, number, words.get(..5)?.to_vec());
    let mut is_found = false;
    while at < words.len() {
        let length = (words[at] >> 16) as usize;
        let is_barrier = words[at] & 0xffff == Op::ControlBarrier as u32;
        let is_it = is_barrier && left == 0 && !is_found;
        if is_it {
            is_found = true;
        } else {
            kept.extend(&words[at..at + length]);
        }
        left -= usize::from(is_barrier && left > 0);
        at += length;
    }
    is_found.then_some(kept)
}

#[test]
fn algorithms_are_clean_and_without_a_barrier_they_arent() {
    let options = DeviceOptions { is_robust: true, ..DeviceOptions::default() };
    let messages = messages_with(options, |device| {
        let info = device.info().clone();
        let mut compiler = Compiler::new(Library::embedded()).unwrap();
        let request = Request { axes: little_work(), ..Request::default() };
        let plan = Plan::new(&request, setting(&info, Preset::Quick)).unwrap();
        let algorithms = CATALOGUE.iter().map(|experiment| experiment.name()).filter(|name| name.starts_with("algo/"));
        let names: BTreeSet<&str> = sample(algorithms, 9, 12).collect();
        // Of each shader, how many barriers it has, and how many of them are missed.
        let mut shaders: BTreeMap<String, [usize; 2]> = BTreeMap::new();
        let mut unclean = Vec::new();
        for planned in plan.iter() {
            let is_meant = |case: &Case| names.contains(planned.experiment.name()) && check_limits(case, &info).is_ok();
            let Some(case) = planned.case.ok().filter(is_meant) else { continue };
            let prepared = shader::prepare(case, &mut compiler).unwrap();
            for dispatch in prepared.dispatches() {
                let source = prepared.case.kernels[dispatch.kernel].source.clone().into_owned();
                if shaders.contains_key(&source) {
                    continue;
                }
                let Some(clean) = found(device, &prepared, dispatch) else { continue };
                let counts = shaders.entry(source.clone()).or_default();
                if !clean.all.is_empty() {
                    unclean.push(format!("{source}: {:?}", clean.all));
                }
                let words = &prepared.kernels[dispatch.kernel].module.words;
                // Each is compiled anew.
                let most = if form() == Form::Full { usize::MAX } else { 1 };
                for number in 0..most {
                    let Some(without) = without_barrier(words, number) else { break };
                    let mut faulty = prepared.clone();
                    let kernel = &mut faulty.kernels[dispatch.kernel];
                    kernel.module = Arc::new(Module::of_spirv(without, Some(&kernel.entry)).unwrap());
                    let Some(findings) = found(device, &faulty, dispatch) else { break };
                    counts[0] += 1;
                    counts[1] += usize::from(findings.all.is_empty());
                }
            }
        }
        eprintln!("{}: barriers, and those that none misses: {shaders:#?}", info.name);
        assert!(unclean.is_empty(), "{}", unclean.join("\n"));
        let with_barriers = shaders.values().filter(|counts| counts[0] > 0);
        let unseen: Vec<_> = shaders.iter().filter(|(_, counts)| counts[0] > 0 && counts[1] == counts[0]).collect();
        let least = if names.len() > 8 { 12 } else { 1 };
        assert!(with_barriers.count() >= least && unseen.is_empty(), "{unseen:?}");
    });
    drop(messages);
}
