//! Kernels that are relieved of a cost: with the placebo of that they compute what they did before.

use std::collections::{BTreeMap, BTreeSet};

use lanescope::experiments::CATALOGUE;
use lanescope::gpu::{Device, DeviceOptions};
use lanescope::model::{Preset, Repeat, ResourceKind, Status};
use lanescope::plan::{Plan, Request, check_limits};
use lanescope::shader::{self, Alteration, Compiler, Library, Prepared, Relief, ReliefAt, ReliefError, SourceLine};

use super::forms::{FORMS, Form, Source, compiled, prepared};
use crate::gpu::messages_with;
use crate::support::form::sample;
use crate::support::{little_work, setting};

fn relieving(of: Relief, is_placebo: bool) -> Alteration {
    Alteration::Relieved { of: of.into(), is_placebo }
}

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
                let Ok(placebo) = original.altered(&relieving(relief, true)) else { continue };
                assert_eq!(left(device, &placebo, buffers).as_ref(), Some(&before), "{}: {relief:?}", form.name);
                left(device, &original.altered(&relieving(relief, false)).unwrap(), buffers).unwrap();
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
                let placebo = match original.altered(&relieving(relief, true)) {
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
    // A place that is written down is near already.
    ("if (a[0] > 5u) o[i] = a[i];", [None, None, Some(ReliefError::Nothing)]),
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
    // Behind its header, this buffer has less than the window.
    ("o[i] = tail[a[i] % 8u];", [Some(ReliefError::Address), None, Some(ReliefError::Nothing)]),
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

/// The same of atomic operations and of barriers.
const WAITING: &[(&str, [Option<ReliefError>; 2])] = &[
    ("atomicAdd(o[i % 3u], a[i]);", [None, Some(ReliefError::Nothing)]),
    ("uint was = atomicAdd(o[0], 1u); o[1u + i] = was * 0u;", [None, Some(ReliefError::Nothing)]),
    ("uint was = atomicAdd(o[0], 1u); o[1u + was % 8u] = 3u;", [Some(ReliefError::Address), Some(ReliefError::Nothing)]),
    ("if (atomicMax(o[0], i) > 2u) o[1] = 3u;", [Some(ReliefError::Flow), Some(ReliefError::Nothing)]),
    (
        "for (uint k = 0u; k < 4u; k++) { t[l] = a[i] + k; barrier(); o[i] += t[7u - l]; barrier(); }",
        [Some(ReliefError::Nothing), None],
    ),
    ("t[l] = l; barrier(); o[t[7u - l]] = i;", [Some(ReliefError::Nothing), Some(ReliefError::Address)]),
];

fn of_body(body: &str) -> Prepared {
    let text = format!(
        "struct P {{ uint v[4]; }}; layout(binding = 0) buffer A {{ uint a[]; }}; layout(binding = 1) buffer O {{ uint o[]; }};
         layout(binding = 2) buffer Q {{ P p[]; }}; layout(binding = 3) buffer H {{ uint head[4096]; uint tail[]; }}; shared uint t[8]; shared uvec4 s[8];
         void main() {{ uint i = gl_GlobalInvocationID.x; uint l = gl_LocalInvocationIndex; {body} }}"
    );
    let form = Form {
        name: "a kernel",
        source: Source::Glsl(""),
        // What holds an index that is read has to be larger than the window.
        buffers: &[8192, 8192, 8192, 5000],
        needs: &[],
        push: &[],
        twin: |_| {},
    };
    prepared(&form, compiled(&Source::Written(text), false, true))
}

#[test]
fn what_branches_or_leads_elsewhere_by_what_it_reads_is_not_relieved() {
    let first = [Relief::Loads, Relief::Stores, Relief::Conflicts];
    let kernels = KERNELS.iter().map(|(body, expected)| (*body, first.into_iter().zip(expected).collect::<Vec<_>>()));
    let others =
        WAITING.iter().map(|(body, expected)| (*body, [Relief::Atomics, Relief::Barriers].into_iter().zip(expected).collect()));
    let messages = messages_with(DeviceOptions::default(), |device| {
        for (body, expected) in kernels.clone().chain(others.clone()) {
            let original = of_body(body);
            let before = left(device, &original, 2).unwrap();
            for (relief, expected) in expected {
                let found = original.altered(&relieving(relief, true));
                assert_eq!(found.as_ref().err(), expected.as_ref(), "{body} {relief:?}");
                let Ok(placebo) = found else { continue };
                assert_eq!(left(device, &placebo, 2).unwrap(), before, "{body} {relief:?}");
                // Nothing is written where that is what a kernel is relieved of.
                let after = left(device, &original.altered(&relieving(relief, false)).unwrap(), 2).unwrap();
                if matches!(relief, Relief::Stores | Relief::Atomics) && !body.contains("if") && !body.contains("was") {
                    assert_ne!(after[1], before[1], "{body}");
                }
            }
        }
    });
    assert_eq!(messages, [""; 0]);
}

/// What one line writes, others go on writing where that line alone is relieved.
#[test]
fn a_line_is_relieved_by_itself() {
    let messages = messages_with(DeviceOptions::default(), |device| {
        let original = of_body("\n#line 20\no[i] = 5u;\n#line 21\no[i + 24u] = a[i];\n#line 22\no[a[i] % 4u + 128u] = 7u;\n");
        let lines = |line| Some(vec![SourceLine { file: "form.comp".to_owned(), line }]);
        let at = |relief, line| Alteration::Relieved { of: ReliefAt { relief, lines: lines(line) }, is_placebo: false };
        let before = left(device, &original, 2).unwrap();
        let after = left(device, &original.altered(&at(Relief::Stores, 20)).unwrap(), 2).unwrap();
        let (own, others) = (..24 * 4, 24 * 4..);
        assert_ne!(after[1][own], before[1][own], "line 20");
        assert_eq!(after[1][others.clone()], before[1][others], "line 20");
        // What is loaded at another line leads elsewhere.
        assert!(original.altered(&at(Relief::Loads, 21)).is_ok());
        assert_eq!(original.altered(&at(Relief::Loads, 22)).err(), Some(ReliefError::Address));
        assert_eq!(original.altered(&at(Relief::Loads, 20)).err(), Some(ReliefError::Nothing));
    });
    assert_eq!(messages, [""; 0]);
}

/// Others of its number find what a dispatch left.
#[test]
fn a_dispatch_that_goes_by_what_it_writes_has_no_copies() {
    let copies = |body: &str| of_body(body).altered(&Alteration::Copies(4)).err();
    assert_eq!(copies("o[i] = a[i];"), None);
    assert_eq!(copies("atomicAdd(o[i % 3u], 1u);"), None);
    assert_eq!(copies("o[1u + atomicAdd(o[0], 1u)] = 3u;"), Some(ReliefError::Address));
    assert_eq!(copies("if (o[i] < 3u) o[i] += 1u;"), Some(ReliefError::Flow));
}

/// What rounds to another number may lead beyond an end, or never end.
#[test]
fn a_double_that_decides_where_to_go_stays_one() {
    let narrowed = |body: &str| of_body(body).altered(&Alteration::Narrowed).err();
    assert_eq!(narrowed("o[i] = uint(double(a[i]) * 0.5lf);"), None);
    assert_eq!(narrowed("t[uint(double(i) / 3.0lf)] = 1u;"), Some(ReliefError::Address));
    assert_eq!(narrowed("double d = 1.0lf; while (d > 0.125lf) d *= double(a[i]); o[i] = uint(d);"), Some(ReliefError::Flow));
    assert_eq!(narrowed("o[i] = a[i];"), Some(ReliefError::Partial));
}
