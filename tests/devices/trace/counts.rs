//! What arithmetic dispatches do, held against what the source says.

use std::collections::BTreeSet;

use lanescope::gpu::DeviceOptions;
use lanescope::model::{Feature, Preset};
use lanescope::plan::{Plan, Request, check_limits};
use lanescope::shader::{self, Compiler, Library, Operation, Operations};

use super::forms::{Form, GROUPS, LOCAL, Source, compiled, prepared};
use super::ran;
use crate::gpu::messages_with;
use crate::support::setting;

use Operation::{Integer, MultiplyAdd, OtherFloat, Special};

/// A kernel, and what all its invocations together do, by the source.
struct Counted {
    body: &'static str,
    needs: &'static [Feature],
    /// What is counted, but for whole numbers.
    done: &'static [(Operation, u64)],
}

const ALL: u64 = (GROUPS * LOCAL) as u64;
const ADD: Operation = MultiplyAdd { bits: 32 };
const SPECIAL: Operation = Special { bits: 32 };
const OTHER: Operation = OtherFloat { bits: 32 };

/// Before each body stand `x` and `y`, which nobody knows, and `i`, the invocation's number; what is in `r` is stored.
const COUNTED: &[Counted] = &[
    Counted { body: "for (uint k = 0u; k < 7u + p.n; k++) r = fma(r, x, y);", needs: &[], done: &[(ADD, 7 * ALL)] },
    Counted { body: "for (uint k = 0u; k < 7u + p.n; k++) r = r * x + y;", needs: &[], done: &[(ADD, 7 * ALL)] },
    Counted { body: "for (uint k = 0u; k < 7u + p.n; k++) r = y - r * x;", needs: &[], done: &[(ADD, 7 * ALL)] },
    Counted { body: "for (uint k = 0u; k < 7u + p.n; k++) r = y + -(r * x);", needs: &[], done: &[(ADD, 7 * ALL)] },
    // Nothing takes the product but additions: each takes it up.
    Counted { body: "float m = x * y; r = (m + x) * (m - y);", needs: &[], done: &[(ADD, 3 * ALL)] },
    // The product is wanted besides.
    Counted { body: "float m = x * y; r = m + x; q = m;", needs: &[], done: &[(ADD, 2 * ALL)] },
    Counted { body: "precise float m = x * y; precise float n = m + x; r = n;", needs: &[], done: &[(ADD, 2 * ALL)] },
    // Half of the invocations, and one in four of them more.
    Counted {
        body: "if (i % 2u == 0u) { r = sqrt(x); if (i % 8u == 0u) r = sin(r); }",
        needs: &[],
        done: &[(SPECIAL, ALL / 2 + ALL / 8)],
    },
    Counted { body: "r = pow(x, y) + exp(y);", needs: &[], done: &[(ADD, 2 * ALL), (SPECIAL, 3 * ALL)] },
    Counted {
        body: "for (uint k = 0u; k < 7u + p.n; k++) r += x / pow(r, y);",
        needs: &[],
        done: &[(ADD, 14 * ALL), (SPECIAL, 14 * ALL)],
    },
    Counted { body: "r = x / y;", needs: &[], done: &[(ADD, ALL), (SPECIAL, ALL)] },
    Counted { body: "r = max(min(x, y), 0.5);", needs: &[], done: &[(OTHER, 2 * ALL)] },
    Counted { body: "r = x < y ? x : 1.0;", needs: &[], done: &[(OTHER, ALL)] },
    Counted { body: "r = dot(vec4(x, y, 1.0, x), vec4(y, x, y, 2.0));", needs: &[], done: &[(ADD, 3 * ALL)] },
    Counted { body: "vec3 v = vec3(x, y, 1.0) * y; r = v.x; q = v.z;", needs: &[], done: &[(ADD, 2 * ALL)] },
    Counted {
        body: "mat3 m = mat3(x, y, x, y, x, y, x, x, y); vec3 v = m * vec3(y, x, x); r = v.x; q = v.y; s = v.z;",
        needs: &[],
        done: &[(ADD, 9 * ALL)],
    },
    // What nobody takes isn't done.
    Counted { body: "float dead = x * y + sqrt(x); dead += 1.0; r = x + y;", needs: &[], done: &[(ADD, ALL)] },
    // A function that is called twice, of which half of the invocations leave one early.
    Counted {
        body: "r = max(twice(x, i % 2u), twice(y, 0u));",
        needs: &[],
        done: &[(ADD, ALL + ALL / 2 + 2 * ALL), (OTHER, ALL)],
    },
    Counted { body: "if (i % 2u == 1u) { o[i] = x * y; return; } r = x + y;", needs: &[], done: &[(ADD, ALL)] },
    Counted {
        body: "double d = double(x); d = d * d + d; r = float(d);",
        needs: &[Feature::Float64],
        done: &[(MultiplyAdd { bits: 64 }, ALL), (OTHER, ALL), (OtherFloat { bits: 64 }, ALL)],
    },
];

fn form(counted: &Counted) -> String {
    format!(
        "layout(binding = 0) buffer A {{ uint a[]; }}; layout(binding = 1) buffer O {{ float o[]; }};
         layout(push_constant) uniform P {{ uint n; }} p;
         float twice(float v, uint leaves) {{ float w = v * v; if (leaves == 1u) return w; return w * 3.0; }}
         void main() {{
             uint i = gl_GlobalInvocationID.x;
             float x = uintBitsToFloat(a[2u * i]), y = uintBitsToFloat(a[2u * i + 1u]), r = 1.0, q = 0.0, s = 0.0;
             {}
             o[3u * i + p.n] = r; o[3u * i + 1u] = q; o[3u * i + 2u] = s;
         }}",
        counted.body
    )
}

#[test]
fn what_dispatches_compute_is_what_the_source_says() {
    let options = DeviceOptions { is_robust: true, ..DeviceOptions::default() };
    let messages = messages_with(options, |device| {
        let mut cannot = BTreeSet::new();
        for counted in COUNTED {
            if counted.needs.iter().any(|feature| !device.info().has(*feature)) {
                cannot.insert(counted.body);
                continue;
            }
            let text = form(counted);
            let form = Form {
                name: counted.body,
                source: Source::Glsl(""),
                buffers: &[2 * ALL, 3 * ALL],
                needs: counted.needs,
                push: &[0],
                twin: |_| {},
            };
            for is_optimized in [false, true] {
                let prepared = prepared(&form, compiled(&Source::Written(text.clone()), is_optimized, false));
                let dispatch = prepared.dispatches()[0];
                let (counting, resource, counts) = prepared.counting(dispatch, true).unwrap();
                // A counter that stands near the end of its first word goes on in the second one.
                let begun: Vec<u8> = (0..counts.bytes()).map(|byte| if byte % 8 < 4 { 0xff } else { 0 }).collect();
                let Some(left) = ran(device, &counting, Some((resource, Vec::new()))).and_then(|mut read| read.pop()) else {
                    cannot.insert(counted.body);
                    continue;
                };
                let over = ran(device, &counting, Some((resource, begun))).unwrap().pop().unwrap();
                let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
                for (plain, over) in left.chunks_exact(8).zip(over.chunks_exact(8)) {
                    assert_eq!(number(plain) + u64::from(u32::MAX), number(over), "{}", counted.body);
                }
                let mut done: Operations = counts.done(&left, device.info().subgroup.size, LOCAL);
                done.retain(|operation, _| !matches!(operation, Integer { .. }));
                let expected: Operations = counted.done.iter().copied().collect();
                assert_eq!(done, expected, "{}, optimized: {is_optimized}", counted.body);
            }
        }
        assert!(cannot.len() <= 1, "{cannot:?}");
    });
    assert_eq!(messages, [""; 0]);
}

/// Products of matrices claim two operations for each multiply-add, and have no others.
#[test]
fn what_cases_of_the_catalogue_compute_is_what_they_claim() {
    let messages = messages_with(DeviceOptions::default(), |device| {
        let info = device.info().clone();
        let mut compiler = Compiler::new(Library::embedded()).unwrap();
        let filters = vec!["algo/matmul".to_owned()];
        let axes = vec!["matrix_size=64".to_owned()];
        let plan = Plan::new(&Request { filters, axes, ..Request::default() }, setting(&info, Preset::Quick));
        let mut seen = BTreeSet::new();
        for planned in plan.unwrap().iter() {
            let Some(case) = planned.case.ok().filter(|case| check_limits(case, &info).is_ok()) else { continue };
            let claimed = case.work.flops.unwrap();
            if !seen.insert(planned.variant.to_owned()) {
                continue;
            }
            let prepared = shader::prepare(case, &mut compiler).unwrap();
            let (counting, resource, counts) = prepared.counting(prepared.dispatches()[0], false).unwrap();
            let local_size = prepared.kernels[0].local_size.iter().product();
            let left = ran(device, &counting, Some((resource, Vec::new()))).and_then(|mut read| read.pop());
            let done = left.map(|left| counts.done(&left, info.subgroup.size, local_size));
            assert_eq!(done.unwrap()[&ADD] * 2, claimed, "{}", planned.variant);
        }
        assert!(seen.len() >= 2, "{seen:?}");
    });
    assert_eq!(messages, [""; 0]);
}
