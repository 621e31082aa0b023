//! `lanescope explain`, as typed, on drivers that run on the processor.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::support::form::sample;
use crate::support::{Folder, Ran, devices_in_turn, ran};

const SHADER: &str = "#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) writeonly buffer B { float b[]; };
shared float t[64];
void main() {
    uint i = gl_GlobalInvocationID.x, l = gl_LocalInvocationID.x;
    t[l] = a[i];
    barrier();
    b[i] = t[63 - l] * 2.0 + a[i / 64];
}
";

fn explained(shader: &str, device: &str, more: &[&str]) -> Ran {
    ran(&[&["explain", shader, "-d", device, "--no-lock", "-q", "-n", "16384"], more].concat())
}

#[test]
fn what_a_kernel_does_is_shown_without_a_bound_on_a_processor() {
    for device in devices_in_turn() {
        let (folder, shader) = Folder::with("a.comp", SHADER);
        let json = explained(&shader, &device.index, &["--format", "json"]);
        assert_eq!(json.code, Some(0), "{}", json.err);
        let answer: Value = serde_json::from_str(&json.out).unwrap();
        let amount = |resource: &str| {
            let found = answer["bounds"].as_array().unwrap().iter().find(|bound| bound["resource"] == resource);
            found.unwrap_or_else(|| panic!("no {resource}: {answer}"))["amount"].as_f64().unwrap()
        };
        assert_eq!(amount("memory"), 2.0 * 4.0 * 16384.0);
        assert_eq!(amount("multiply-adds of f32"), 16384.0);
        assert_eq!((amount("barriers of a workgroup"), amount("launch of workgroups")), (1.0, 256.0));
        // Both accesses of a subgroup are one wavefront each.
        assert_eq!(amount("shared memory"), 2.0 * 128.0 * 16384.0 / 32.0);
        assert!(answer["time_ns"].as_f64().unwrap() > 0.0 && answer["attained"].is_null(), "{answer}");
        // What would be measured on a GPU is looked at all the same.
        let reliefs = answer["reliefs"].as_array().unwrap();
        assert!(reliefs.iter().all(|relief| relief["not_tried"].is_null() == relief["gain"].is_number()), "{answer}");
        let text = explained(&shader, &device.index, &["--fail-on", "attained:50%"]);
        assert!(text.out.contains("On a processor") && !text.out.contains("least time"), "{}", text.out);
        assert!(text.code == Some(1) && text.err.contains("--rows"), "{:?} {}", text.code, text.err);
        let others = folder.write("rows.csv", b"schema,experiment,status\nv2.3,memory/stream,ok\n");
        let refused = explained(&shader, &device.index, &["--rows", &others]);
        assert!(refused.code == Some(2) && refused.err.contains("rows.csv"), "{:?} {}", refused.code, refused.err);
    }
}

/// A kernel with a fault, as `tests/explain/faults.toml` has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fault {
    kind: String,
    flags: Vec<String>,
    /// Flags that the twin has beside these.
    #[serde(default)]
    twin: Vec<String>,
    /// Whether only a measurement shows it.
    #[serde(default)]
    gpu: bool,
}

/// Nothing on a device without 64-bit floats, for a shader that has them.
fn found(name: &str, fault: &Fault, device: &str, is_mended: bool) -> Option<Vec<(String, Vec<String>)>> {
    let shader = format!("tests/explain/{name}.comp");
    let mut words = vec!["explain", &shader, "-d", device, "--no-lock", "-q", "--format", "json"];
    words.extend(fault.flags.iter().map(String::as_str));
    if is_mended {
        words.extend(["--define", "MENDED"]);
        words.extend(fault.twin.iter().map(String::as_str));
    }
    let ran = ran(&words);
    if ran.code == Some(1) && ran.err.contains("lacks feature float64") {
        return None;
    }
    assert_eq!(ran.code, Some(0), "{name}: {}", ran.err);
    let answer: Value = serde_json::from_str(&ran.out).unwrap();
    let lines =
        |finding: &Value| finding["lines"].as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned()).collect();
    let findings = answer["findings"].as_array().unwrap().iter();
    Some(findings.map(|finding| (finding["kind"].as_str().unwrap().to_owned(), lines(finding))).collect())
}

#[test]
fn a_fault_is_found_at_its_line_and_not_in_its_twin() {
    let text = std::fs::read_to_string("tests/explain/faults.toml").unwrap();
    let all: BTreeMap<String, Fault> = toml::from_str(&text).unwrap();
    for device in devices_in_turn() {
        for (name, fault) in sample(all.iter().filter(|(_, fault)| !fault.gpu), 5, 10) {
            let source = std::fs::read_to_string(format!("tests/explain/{name}.comp")).unwrap();
            let line = source.lines().position(|line| line.ends_with("// FAULT")).map(|at| (at + 1).to_string());
            let Some(own) = found(name, fault, &device.index, false) else {
                assert_eq!(name, "doubles");
                continue;
            };
            let is_it = |(kind, lines): &(String, Vec<String>)| {
                *kind == fault.kind && line.as_ref().is_none_or(|line| lines.contains(line))
            };
            assert!(own.iter().any(is_it), "{name}: {own:?}");
            let twins = found(name, fault, &device.index, true).unwrap();
            assert!(twins.iter().all(|(kind, _)| *kind != fault.kind), "{name}, mended: {twins:?}");
        }
    }
}
