//! Which sectors dispatches mark, held against what they record.

use std::collections::BTreeSet;

use lanescope::gpu::{Device, DeviceOptions};
use lanescope::shader::{AccessKind, Marks, Prepared, Root, Space, Touched, Traced};

use super::forms::{FORMS, Form, GROUPS, LOCAL, Source, compiled, prepared, records};
use super::ran;
use crate::gpu::messages_with;

const SECTOR: u64 = 32;

const ALL: u64 = (GROUPS * LOCAL) as u64;

/// How large the buffer of a variable is: forms have a resource for each binding.
fn bytes_of(prepared: &Prepared, root: &Root) -> Option<u64> {
    let Space::Storage { binding, .. } = root.space else { return None };
    let bound = prepared.case.kernels[0].bindings.iter().find(|of| of.binding == binding)?;
    Some(prepared.case.resources[bound.resource].bytes())
}

/// What is marked of it. Nothing where the device can't run it.
fn marked(device: &mut Device, name: &str, prepared: &Prepared, traced: &Traced, marks: &Marks) -> Option<Touched> {
    let sites: Vec<usize> = (0..traced.sites.len()).filter(|site| marks.mark(&traced.sites[*site])).collect();
    let (marking, resource) =
        prepared.marking(prepared.dispatches()[0], marks, &sites).unwrap_or_else(|error| panic!("{name}: {error}"));
    let left = ran(device, &marking, Some((resource, Vec::new())))?.pop()?;
    Some(marks.touched(&left))
}

/// The same by what was recorded.
fn by_records(traced: &Traced, buffer: &[u32], marks: &Marks, prepared: &Prepared) -> Touched {
    let (mut loaded, mut stored) = (BTreeSet::new(), BTreeSet::new());
    for record in traced.recorded(buffer).records() {
        let site = &traced.sites[record.site];
        let (Some(root), Some(offset), true) = (record.root, record.offset, marks.mark(site)) else { continue };
        let Some(bytes) = bytes_of(prepared, &traced.roots[root]) else { continue };
        for run in site.target.runs() {
            let first = offset + run.offset;
            let sectors = first / SECTOR..=(first + run.bytes - 1) / SECTOR;
            let within = sectors.filter(|sector| sector * SECTOR < bytes).map(|sector| (root, sector));
            let within: Vec<(usize, u64)> = within.collect();
            if site.kind != AccessKind::Store {
                loaded.extend(within.clone());
            }
            if site.kind != AccessKind::Load {
                stored.extend(within);
            }
        }
    }
    let bytes = |all: BTreeSet<(usize, u64)>| SECTOR * all.len() as u64;
    Touched { loaded_bytes: bytes(loaded), stored_bytes: bytes(stored), is_partial: false }
}

#[test]
fn each_form_of_access_marks_what_it_touches() {
    let options = DeviceOptions { is_robust: true, ..DeviceOptions::default() };
    let messages = messages_with(options, |device| {
        let (mut compared, info) = (0, device.info().clone());
        for form in FORMS.iter().filter(|form| form.needs.iter().all(|feature| info.has(*feature))) {
            let prepared = prepared(form, compiled(&form.source, false, false));
            let Some((traced, buffer)) = records(device, form.name, &prepared) else { continue };
            let marks = Marks::of(&traced, SECTOR, |root| bytes_of(&prepared, root)).unwrap();
            let Some(marked) = marked(device, form.name, &prepared, &traced, &marks) else { continue };
            assert_eq!(marked, by_records(&traced, &buffer, &marks, &prepared), "{}", form.name);
            compared += usize::from(marked.loaded_bytes + marked.stored_bytes > 0);
        }
        assert!(compared * 2 > FORMS.len(), "{compared} of {}", FORMS.len());
    });
    assert_eq!(messages, [""; 0]);
}

/// A kernel's body, and the bytes that it loads and stores, each sector once.
const TOUCHING: &[(&str, u64, u64)] = &[
    ("o[i] = a[i];", 4 * ALL, 4 * ALL),
    ("o[i] = a[8u * i];", 32 * ALL, 4 * ALL),
    // All read the same, and every second one stores.
    ("if (i % 2u == 0u) o[16u * i] = a[5];", 32, 32 * ALL / 2),
    ("atomicAdd(o[0], a[i]);", 4 * ALL + 32, 32),
    // What lies beyond the buffer counts for none, and for no other one.
    ("o[i + 100000u] = a[i];", 4 * ALL, 0),
    ("for (uint k = 0u; k < 3u; k++) o[i] += a[k];", 32 + 4 * ALL, 4 * ALL),
];

#[test]
fn dispatches_mark_what_the_source_says() {
    let options = DeviceOptions { is_robust: true, ..DeviceOptions::default() };
    let messages = messages_with(options, |device| {
        for (body, loaded, stored) in TOUCHING {
            let text = format!(
                "layout(binding = 0) buffer A {{ uint a[]; }}; layout(binding = 1) buffer O {{ uint o[]; }};
                 void main() {{ uint i = gl_GlobalInvocationID.x; {body} }}"
            );
            let form = Form {
                name: body,
                source: Source::Glsl(""),
                buffers: &[8 * ALL, 16 * ALL],
                needs: &[],
                push: &[],
                twin: |_| {},
            };
            let prepared = prepared(&form, compiled(&Source::Written(text), false, false));
            let (traced, _) = records(device, body, &prepared).unwrap();
            let marks = Marks::of(&traced, SECTOR, |root| bytes_of(&prepared, root)).unwrap();
            let marked = marked(device, body, &prepared, &traced, &marks).unwrap();
            let expected = Touched { loaded_bytes: *loaded, stored_bytes: *stored, is_partial: false };
            assert_eq!(marked, expected, "{body}");
        }
    });
    assert_eq!(messages, [""; 0]);
}
