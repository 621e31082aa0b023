//! Kernels that are relieved of a cost: with the placebo of that they compute what they did before.

use std::collections::{BTreeMap, BTreeSet};

use lanescope::experiments::CATALOGUE;
use lanescope::gpu::{Device, DeviceOptions};
use lanescope::model::{Preset, Repeat, ResourceKind, Status};
use lanescope::plan::{Plan, Request, check_limits};
use lanescope::shader::{self, Compiler, Library, Prepared, Relief, ReliefError};

use super::forms::{FORMS, Form, Source, compiled, prepared};
use crate::gpu::messages_with;
use crate::support::form::sample;
use crate::support::{little_work, setting};

/// What a pass leaves in the first buffers. Nothing where the device can't run it.
fn left(device: &mut Device, prepared: &Prepared, buffers: usize) -> Option<Vec<Vec<u8>>> {
    let name = format!("{} {}", prepared.case.experiment, prepared.case.point);
    let loaded = match device.load(prepared) {
        Err(error) if error.status() == Status::Skipped => return None,
        loaded => loaded.unwrap_or_else(|error| panic!("{name}: {error}")),
    };
    device.run_checked(loaded.slot).unwrap_or_else(|error| panic!("{name}: {error}"));
    let is_buffer = |at: &usize| matches!(prepared.case.resources[*at].kind, ResourceKind::Buffer { .. });
    let read = (0..buffers).filter(is_buffer).map(|at| device.read(loaded.slot, at).unwrap()).collect();
    device.unload();
    Some(read)
}

#[test]
fn the_placebo_of_a_form_of_access_computes_the_same() {
    let options = DeviceOptions { is_robust: true, ..DeviceOptions::default() };
    let messages = messages_with(options, |device| {
        let (info, mut relieved) = (device.info().clone(), BTreeMap::<Relief, usize>::new());
        // One reads shared memory that nobody wrote: it leaves something else each time.
        let is_told = |form: &&Form| form.name != "shared memory" && form.needs.iter().all(|feature| info.has(*feature));
        for form in FORMS.iter().filter(is_told) {
            let original = prepared(form, compiled(&form.source, false, false));
            let buffers = original.case.resources.len();
            let Some(before) = left(device, &original, buffers) else { continue };
            for relief in Relief::ALL {
                let Ok(placebo) = original.relieved(relief, true) else { continue };
                assert_eq!(left(device, &placebo, buffers).as_ref(), Some(&before), "{}: {relief:?}", form.name);
                left(device, &original.relieved(relief, false).unwrap(), buffers).unwrap();
                *relieved.entry(relief).or_default() += 1;
            }
        }
        assert!(relieved.len() == Relief::ALL.len() && relieved.values().sum::<usize>() > 10, "{relieved:?}");
    });
    assert_eq!(messages, [""; 0]);
}

/// Whole algorithms, many of which branch and access by what they read, and are refused.
#[test]
fn the_placebo_of_a_case_of_the_catalogue_computes_the_same() {
    let messages = messages_with(DeviceOptions::default(), |device| {
        let info = device.info().clone();
        let mut compiler = Compiler::new(Library::embedded()).unwrap();
        let names: Vec<&str> = sample(CATALOGUE.iter(), 12, 24).map(|experiment| experiment.name()).collect();
        let request = Request { axes: little_work(), ..Request::default() };
        let (mut seen, mut relieved, mut refused) = (BTreeSet::new(), 0, 0);
        for planned in Plan::new(&request, setting(&info, Preset::Quick)).unwrap().iter() {
            let name = planned.experiment.name();
            let Some(case) = planned.case.ok().filter(|case| check_limits(case, &info).is_ok()) else { continue };
            // Of those that go on from what the last pass left, outputs differ all the same.
            if !names.contains(&name) || case.repeat != Repeat::Overwrites || !seen.insert((name, planned.variant)) {
                continue;
            }
            let original = shader::prepare(case, &mut compiler).unwrap();
            let outputs: Vec<usize> = original.case.check.outputs().to_vec();
            for relief in Relief::ALL {
                let placebo = match original.relieved(relief, true) {
                    Ok(placebo) => placebo,
                    Err(error) => {
                        assert!(!matches!(error, ReliefError::Rewrite(_)), "{name} {relief:?}: {error}");
                        refused += 1;
                        continue;
                    }
                };
                let [before, after] = [&original, &placebo].map(|prepared| {
                    let all = left(device, prepared, original.case.resources.len())?;
                    Some(outputs.iter().filter_map(|output| all.get(*output).cloned()).collect::<Vec<_>>())
                });
                assert_eq!(before, after, "{name} {} {relief:?}", planned.variant);
                relieved += 1;
            }
        }
        assert!(relieved > 5 && refused > 2, "{relieved} relieved, {refused} refused");
    });
    assert_eq!(messages, [""; 0]);
}

/// A kernel's body, and why it can't be relieved of loads, of stores and of conflicts; nothing where it can.
const KERNELS: &[(&str, [Option<ReliefError>; 3])] = &[
    ("o[i] = a[i];", [None, None, Some(ReliefError::Nothing)]),
    // By what it reads, it branches, stores elsewhere, or only reads elsewhere.
    ("if (a[i] > 5u) o[i] = 1u;", [Some(ReliefError::Flow), None, Some(ReliefError::Nothing)]),
    ("o[a[i] % 8u] = 5u;", [Some(ReliefError::Address), None, Some(ReliefError::Nothing)]),
    ("o[i] = a[a[i] % 8u];", [None, None, Some(ReliefError::Nothing)]),
    // In an array of the invocation's own.
    (
        "uint v[4]; for (uint k = 0u; k < 4u; k++) v[k] = k; o[i] = v[a[i] % 4u];",
        [Some(ReliefError::Address), None, Some(ReliefError::Nothing)],
    ),
    // Parts of elements lie apart, whoever accesses them.
    ("s[l].y = a[i]; barrier(); o[i] = s[7u - l].y;", [None, None, Some(ReliefError::Partial)]),
    // The inner index of an array of arrays is held by nothing.
    ("o[i] = p[i % 4u].v[a[i] % 4u];", [Some(ReliefError::Address), None, Some(ReliefError::Nothing)]),
    (
        "uint x = a[i]; for (uint k = 0u; k < x % 4u; k++) o[i] += k;",
        [Some(ReliefError::Flow), None, Some(ReliefError::Nothing)],
    ),
    // What it stores decides where it goes on.
    ("o[i] = i; if (o[i] > 3u) o[i] = 7u;", [Some(ReliefError::Flow), Some(ReliefError::Flow), Some(ReliefError::Nothing)]),
    ("t[l] = a[i]; barrier(); o[i] = t[7u - l];", [None, None, None]),
    ("t[l] = a[i]; barrier(); o[i] = t[7u - l] > 3u ? 1u : 2u;", [None, None, None]),
    ("t[l] = a[i] % 8u; barrier(); o[i] = t[t[l]];", [Some(ReliefError::Address), None, Some(ReliefError::Address)]),
    ("t[l] = a[i]; barrier(); if (t[0] > 3u) o[i] = 1u;", [Some(ReliefError::Flow), None, Some(ReliefError::Flow)]),
];

#[test]
fn what_branches_or_leads_elsewhere_by_what_it_reads_is_not_relieved() {
    let messages = messages_with(DeviceOptions::default(), |device| {
        for (body, expected) in KERNELS {
            let text = format!(
                "struct P {{ uint v[4]; }}; layout(binding = 0) buffer A {{ uint a[]; }}; layout(binding = 1) buffer O {{ uint o[]; }};
                 layout(binding = 2) buffer Q {{ P p[]; }}; shared uint t[8]; shared uvec4 s[8];
                 void main() {{ uint i = gl_GlobalInvocationID.x; uint l = gl_LocalInvocationIndex; {body} }}"
            );
            let form = Form {
                name: body,
                source: Source::Glsl(""),
                // What holds an index that is read has to be larger than the window.
                buffers: &[4096, 4096, 4096],
                needs: &[],
                push: &[],
                twin: |_| {},
            };
            let original = prepared(&form, compiled(&Source::Written(text), false, false));
            let before = left(device, &original, 2).unwrap();
            for (relief, expected) in Relief::ALL.into_iter().zip(expected) {
                let found = original.relieved(relief, true);
                assert_eq!(found.as_ref().err(), expected.as_ref(), "{body} {relief:?}");
                let Ok(placebo) = found else { continue };
                assert_eq!(left(device, &placebo, 2).unwrap(), before, "{body} {relief:?}");
                // Nothing is stored where that is what a kernel is relieved of.
                let after = left(device, &original.relieved(relief, false).unwrap(), 2).unwrap();
                if relief == Relief::Stores && !body.starts_with("if") {
                    assert_ne!(after[1], before[1], "{body}");
                }
            }
        }
    });
    assert_eq!(messages, [""; 0]);
}
