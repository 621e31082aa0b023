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
        // One reads shared memory that nobody wrote, and of the other two invocations write one word: who is last may be another one.
        let is_open = |form: &&Form| ["shared memory", "early returns and switches"].contains(&form.name);
        let is_told = |form: &&Form| !is_open(form) && form.needs.iter().all(|feature| info.has(*feature));
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
        // Loops that only compute are no form of access.
        assert!(relieved.len() + 1 == Relief::ALL.len() && relieved.values().sum::<usize>() > 10, "{relieved:?}");
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
    of_text("", body, false)
}

fn of_text(functions: &str, body: &str, is_optimized: bool) -> Prepared {
    let text = format!(
        "struct P {{ uint v[4]; }}; layout(binding = 0) buffer A {{ uint a[]; }}; layout(binding = 1) buffer O {{ uint o[]; }};
         layout(binding = 2) buffer Q {{ P p[]; }}; layout(binding = 3) buffer H {{ uint head[4096]; uint tail[]; }}; shared uint t[8]; shared uvec4 s[8];
         {functions} void main() {{ uint i = gl_GlobalInvocationID.x; uint l = gl_LocalInvocationIndex; {body} }}"
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
    prepared(&form, compiled(&Source::Written(text), is_optimized, true))
}

/// What an invocation leaves where loops do half of their iterations.
type Halved = Result<fn(u32) -> u32, ReliefError>;

/// A kernel's functions, its body, and what becomes of it with half of its loops.
const LOOPS: &[(&str, &str, Halved)] = &[
    ("", "uint x = 0u; for (uint k = 0u; k < 8u; k++) x += k * i; o[i] = x;", Ok(|i| 6 * i)),
    ("", "uint x = 0u; for (int k = -2; k < 6; k++) x += uint(k + 3) * i; o[i] = x;", Ok(|i| 15 * i)),
    ("", "uint x = 0u; for (int k = -8; k < -3; k++) x += i; o[i] = x;", Ok(|i| 5 * i)),
    ("", "uint x = 0u, k = 0u; do { x += i; k++; } while (k < 8u); o[i] = x;", Ok(|i| 4 * i)),
    ("", "uint x = 0u, k = 0u; for (;;) { if (k >= 8u) break; x += i; k++; } o[i] = x;", Ok(|i| 4 * i)),
    ("", "uint x = 0u, k = 0u; while (8u > k && x * i < 10000u) { x += i; k++; } o[i] = x;", Ok(|i| 4 * i)),
    ("", "uint x = 0u, k = 0u; while (!(k >= 8u || x * i > 10000u)) { x += i; k++; } o[i] = x;", Ok(|i| 4 * i)),
    // What counts is what it leaves.
    ("", "uint k = 0u; for (; k < 8u; k++) if (i * k > 1000u) break; o[i] = k;", Ok(|_| 4)),
    ("", "float x = 0.0; for (uint k = 0u; k < 8u; k++) { if (x > 1e9) break; x += float(i); } o[i] = uint(x);", Ok(|i| 4 * i)),
    ("", "uint k, x = 0u; for (k = 0u; k < 8u; k++) x += i; for (k = 0u; k < 8u; k++) x += 2u * i; o[i] = x;", Ok(|i| 12 * i)),
    // Of nested loops the outer one, but where that one accesses memory.
    ("", "uint x = 0u; for (uint j = 0u; j < 4u; j++) for (uint k = 0u; k < 8u; k++) x += i; o[i] = x;", Ok(|i| 16 * i)),
    ("", "for (uint j = 0u; j < 4u; j++) { uint x = 0u; for (uint k = 0u; k < 8u; k++) x += i; o[i] = x; }", Ok(|i| 4 * i)),
    ("uint f(uint x) { return x + 1u; }", "uint x = 0u; for (uint k = 0u; k < 8u; k++) x = f(x); o[i] = x * i;", Ok(|i| 4 * i)),
    (
        "uint f(uint x) { uint y = 0u; for (uint k = 0u; k < 4u; k++) y += x; return y; }",
        "uint x = 0u; for (uint k = 0u; k < 8u; k++) x += f(i); o[i] = x;",
        Ok(|i| 16 * i),
    ),
    (
        "uint f(uint x) { uint y = 0u; for (uint k = 0u; k < 8u; k++) { y += x; if (x > 1000u) return 7u; } return y; }",
        "o[i] = f(i);",
        Ok(|i| 4 * i),
    ),
    ("void f(inout uint x) { for (uint k = 0u; k < 8u; k++) x += 2u; }", "uint x = 0u; f(x); o[i] = x;", Ok(|_| 8)),
    ("uint y = 0u; void f() { y += 2u; }", "for (uint k = 0u; k < 8u; k++) f(); o[i] = y;", Ok(|_| 8)),
    // It accesses memory, waits, or returns.
    ("", "uint x = 0u; for (uint k = 0u; k < 8u; k++) x += a[i + k]; o[i] = x;", Err(ReliefError::Nothing)),
    (
        "uint f(uint k) { return a[k]; }",
        "uint x = 0u; for (uint k = 0u; k < 8u; k++) x += f(k); o[i] = x;",
        Err(ReliefError::Nothing),
    ),
    ("", "uint x = 0u; for (uint k = 0u; k < 8u; k++) { x += i; barrier(); } o[i] = x;", Err(ReliefError::Nothing)),
    ("", "uint x = 0u; for (uint k = 0u; k < 8u; k++) { x += i; if (x > 900u) return; } o[i] = x;", Err(ReliefError::Nothing)),
    // It goes on by what a loop leaves.
    ("", "uint x = 0u; for (uint k = 0u; k < 8u; k++) x += i; if (x > 7u) o[i] = x;", Err(ReliefError::Flow)),
    (
        "",
        "bool x = false; for (uint k = 0u; k < 8u; k++) if (i * k > 40u) { x = true; break; } if (x) o[i] = 1u;",
        Err(ReliefError::Flow),
    ),
    ("", "uint x = 0u; for (uint k = 0u; k < 8u; k++) x += i; o[x % 8u] = 1u;", Err(ReliefError::Address)),
    ("", "uint k = 0u; for (; k < 8u; k++) if (i * k > 1000u) break; o[k] = 1u;", Err(ReliefError::Address)),
    ("", "uint x = 0u; for (uint k = 0u; k < 8u; k++) x++; for (uint k = 0u; k < x; k++) o[i] += 1u;", Err(ReliefError::Flow)),
    ("uint y = 0u; void f() { y += 2u; }", "for (uint k = 0u; k < 8u; k++) f(); if (y > 3u) o[i] = y;", Err(ReliefError::Flow)),
    (
        "void f(inout uint x) { for (uint k = 0u; k < 8u; k++) x += 2u; }",
        "uint x = 0u; f(x); o[x] = x;",
        Err(ReliefError::Address),
    ),
    (
        "uint f(uint x) { for (uint k = 0u; k < 8u; k++) if (x * k > 40u) return k; return 9u; }",
        "o[f(i)] = i;",
        Err(ReliefError::Address),
    ),
];

#[test]
fn loops_that_only_compute_do_half_of_their_iterations() {
    let messages = messages_with(DeviceOptions::default(), |device| {
        let mut halved_ones = 0;
        for ((functions, body, expected), is_optimized) in LOOPS.iter().flat_map(|of| [(of, false), (of, true)]) {
            let original = of_text(functions, body, is_optimized);
            let name = format!("{functions} {body} {is_optimized}");
            let [placebo, relieved] = [true, false].map(|is_placebo| original.altered(&relieving(Relief::Loops, is_placebo)));
            // The optimizer knows no return within a loop: it ends it, and branches by how it was ended.
            let is_flow = |error: &Option<ReliefError>| is_optimized && *error == Some(ReliefError::Flow);
            let halved = match expected {
                Ok(halved) => halved,
                Err(expected) => {
                    let error = placebo.err();
                    assert!(error.as_ref() == Some(expected) || is_flow(&error), "{name}: {error:?}");
                    continue;
                }
            };
            if is_flow(&placebo.as_ref().err().cloned()) {
                continue;
            }
            halved_ones += 1;
            let before = left(device, &original, 2).unwrap();
            assert_eq!(left(device, &placebo.unwrap_or_else(|error| panic!("{name}: {error}")), 2).unwrap(), before, "{name}");
            let after = left(device, &relieved.unwrap(), 2).unwrap();
            let words = after[1].chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap()));
            let expected: Vec<u32> = (0..24).map(halved).collect();
            assert_eq!(words.take(24).collect::<Vec<_>>(), expected, "{name}");
        }
        let all = LOOPS.iter().filter(|(_, _, expected)| expected.is_ok()).count();
        assert!(halved_ones >= 2 * all - 1, "{halved_ones} of 2 * {all}");
    });
    assert_eq!(messages, [""; 0]);
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

/// Bodies of kernels that go by what they do at line 20, and by nothing else.
const DECIDED: [(&str, Relief); 4] = [
    ("\n#line 20\nif (a[i] > 5u)\n#line 21\no[i] = a[i + 24u] + a[i + 8u];\n", Relief::Loads),
    ("\n#line 20\nuint v = a[i];\n#line 21\no[i * 4u + v % 4u] = a[i + 24u];\n", Relief::Loads),
    ("\n#line 20\no[i] = 1u;\n#line 21\np[i % 4u].v[1] = 5u;\n#line 22\nif (o[i] > 3u) t[0] = 7u;\n", Relief::Stores),
    (
        "\n#line 20\nuint was = atomicAdd(o[0], 1u);\n#line 21\natomicAdd(a[1], 2u);\n#line 22\nif (was > 90u) o[2] = 7u;\n",
        Relief::Atomics,
    ),
];

#[test]
fn what_a_kernel_goes_by_stays() {
    let messages = messages_with(DeviceOptions::default(), |device| {
        for (body, relief) in DECIDED {
            let original = of_body(body);
            let kept = original.decisive(&relief.into()).unwrap();
            assert_eq!(kept.lines.iter().map(|line| line.line).collect::<Vec<u32>>(), [20], "{body}");
            let before = left(device, &original, 4).unwrap();
            let [placebo, relieved] = [true, false].map(|is_placebo| relieving(relief, is_placebo).except(kept.clone()));
            assert!(left(device, &original.altered(&placebo).unwrap(), 4).unwrap() == before, "{body}");
            let after = left(device, &original.altered(&relieved).unwrap(), 4).unwrap();
            assert!(after != before || relief == Relief::Loads, "{body}");
        }
        let all = of_body("if (a[i] > 5u) o[i] = 1u;");
        assert_eq!(all.decisive(&Relief::Loads.into()), Err(ReliefError::Flow));
    });
    assert_eq!(messages, [""; 0]);
}

/// Either way does a little arithmetic, and they meet again.
#[test]
fn a_branch_that_chooses_between_values_spoils_values_alone() {
    let of = |body: &str, is_optimized| of_text("", body, is_optimized).altered(&relieving(Relief::Loads, true)).err();
    let chooses = "uint x = a[i]; if (x > 5u) { x = x / 3u + i * 7u; } else if (x > 3u) { x = x * x % 5u; } ";
    for is_optimized in [false, true] {
        assert_eq!(of(&format!("{chooses} o[i] = x;"), is_optimized), None, "{is_optimized}");
        // What it chose decides another one, or where it stores.
        assert_eq!(of(&format!("{chooses} if (x > 1u) o[i] = x;"), is_optimized), Some(ReliefError::Flow), "{is_optimized}");
        assert_eq!(of(&format!("{chooses} o[x] = 1u;"), is_optimized), Some(ReliefError::Address), "{is_optimized}");
        // It does more than choose.
        for more in ["o[i + 8u] = 1u;", "t[l] = 1u;", "return;", "for (uint k = 0u; k < l; k++) x += k;", "barrier();"] {
            let body = format!("uint x = a[i]; if (x > 5u) {{ {more} }} o[i] = x + t[l];");
            assert_eq!(of(&body, is_optimized), Some(ReliefError::Flow), "{more} {is_optimized}");
        }
        let leaves = "uint x = 0u; for (uint k = 0u; k < l; k++) { if (a[i] > 5u) { x++; break; } x += 2u; } o[i] = x;";
        assert_eq!(of(leaves, is_optimized), Some(ReliefError::Flow), "{is_optimized}");
    }
}

/// What is stored has to be worked out all the same: whether it is stored hangs on it.
#[test]
fn whether_a_value_is_stored_hangs_on_it() {
    let never = "uint v = a[i] % 8u; if (i == 3u) v = 0x7FB391D5u; ";
    let messages = messages_with(DeviceOptions::default(), |device| {
        for (body, relief) in [("o[i] = v;", Relief::Stores), ("atomicExchange(o[i], v);", Relief::Atomics)] {
            let original = of_body(&format!("{never}{body}"));
            let all = left(device, &original, 2).unwrap();
            let relieved = left(device, &original.altered(&relieving(relief, false)).unwrap(), 2).unwrap();
            let is_left = |at: usize| all[1][4 * at..4 * at + 4] == relieved[1][4 * at..4 * at + 4];
            assert_eq!((0..24).filter(|at| is_left(*at)).collect::<Vec<usize>>(), [3], "{body}");
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
        let at = |relief: Relief, line| Alteration::Relieved {
            of: ReliefAt { lines: lines(line), ..relief.into() },
            is_placebo: false,
        };
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

#[test]
fn workgroups_with_more_shared_memory_compute_the_same() {
    const MORE: u32 = 4096;
    let messages = messages_with(DeviceOptions::default(), |device| {
        for (body, is_optimized) in KERNELS.iter().flat_map(|(body, _)| [(body, false), (body, true)]) {
            let original = of_text("", body, is_optimized);
            let crowded = original.altered(&Alteration::Crowded(MORE)).unwrap();
            assert_eq!(crowded.kernels[0].shared_bytes, original.kernels[0].shared_bytes + u64::from(MORE), "{body}");
            assert_eq!(left(device, &crowded, 2), left(device, &original, 2), "{body} {is_optimized}");
        }
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
