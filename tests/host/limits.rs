//! Limits of devices that a user's own file tells.

use std::fs;

use crate::support::texts::{blocks, guide};
use crate::support::{Folder, Ran, measured, ran, succeeded};

/// A case that moves some 1000 GB/s through the mock device's workgroup memory.
const SHARED: [&str; 9] =
    ["shared/bank_conflict", "-a", "stride=1", "-a", "width=4", "-a", "groups=64", "-a", "iterations=4096"];

/// Whether its row is implausible under these limits, and why.
fn judged(entry: &str, more: &[&str]) -> (bool, String) {
    let (_folder, file) = Folder::with("limits.toml", format!("[[device]]\nnames = [\"mock\"]\n{entry}\n"));
    let usual = ["-d", "mock:noise=0.005", "--preset=default", "-q", "--limits", &file];
    let row = measured(&[&SHARED[..], &usual, more].concat()).remove(0);
    (row.quality_flags == "implausible", row.reason)
}

#[test]
fn only_a_limit_at_the_highest_clock_makes_a_row_implausible() {
    let highest = "clock = \"highest\"\nclock_mhz = 1000\n";
    for more in [&[][..], &["--no-isolate"]] {
        let (is_implausible, reason) = judged(&format!("{highest}published = {{ shared = 900 }}"), more);
        assert!(is_implausible && reason.contains("physically move (900 GB/s)"), "{more:?}: {reason}");
    }
    let derived = format!("{highest}units = 10\nper_clock = {{ shared = 90 }}");
    assert!(judged(&derived, &[]).0);
    assert!(!judged(&format!("{highest}published = {{ shared = 1100 }}"), &[]).0);
    assert!(!judged(&format!("{highest}nominal = [\"shared\"]\npublished = {{ shared = 900 }}"), &[]).0);
    assert!(!judged("clock = \"nominal\"\npublished = { shared = 900 }", &[]).0);
}

#[test]
fn a_file_comes_before_what_is_known_and_says_nothing_of_other_devices() {
    // The mock device has limits of its own.
    let folder = Folder::new();
    let low = ["-d", "mock:noise=0.005,peak=900", "--preset=default", "-q", "--limits"];
    for (name, is_implausible) in [("mock", false), ("another", true)] {
        let entry = format!("[[device]]\nnames = [\"{name}\"]\nclock = \"nominal\"\npublished = {{ memory = 1 }}\n");
        let file = folder.write("limits.toml", entry);
        let row = measured(&[&SHARED[..], &low, &[file.as_str()]].concat()).remove(0);
        assert_eq!(row.quality_flags == "implausible", is_implausible, "{name}: {}", row.reason);
    }
}

/// The file that the guide shows, as one of the mock device.
fn shown(folder: &Folder) -> String {
    let [example] = blocks(guide("drivers"), "toml")[..] else { panic!("one example") };
    assert!(example.contains("Radeon Example 9000 (RADV *)"), "{example}");
    folder.write("limits.toml", example.replace("Radeon Example 9000 (RADV *)", "m*k"))
}

#[test]
fn the_guides_example_gives_a_card_its_shares() {
    let folder = Folder::new();
    let (file, rows) = (shown(&folder), folder.path("rows.csv"));
    let rows = rows.to_str().unwrap();
    let stream = ["run", "memory/stream", "-a", "op=read", "--preset=quick", "-q", "-d", "mock", "--limits", &file];
    let Ran { out, .. } = succeeded(&[&stream[..], &["--format=card", "-o", "-", "-o", rows]].concat());
    assert!(out.contains(" % of nominal"), "{out}");
    let Ran { out, .. } = succeeded(&["card", rows, "--limits", &file]);
    assert!(out.contains(" % of nominal"), "{out}");
    let Ran { out, .. } = succeeded(&["card", rows]);
    assert!(out.contains("memory read") && !out.contains("nominal"), "{out}");
}

#[test]
fn a_bad_file_is_refused_before_anything_is_measured() {
    let folder = Folder::new();
    let entry = |fields: &str| format!("[[device]]\nnames = [\"mock\"]\n{fields}\n");
    for (text, parts) in [
        (entry("clock = \"nominal\"\nspeed = 3"), ["line 4", "unknown field `speed`, expected one of `part`"]),
        (entry("clock = \"nominal\"\npublished = { fp8 = 3 }"), ["line 4", "unknown variant `fp8`"]),
        (entry("clock = \"highest\"\npublished = { fp32 = 3 }"), ["line 1 (mock)", "needs `clock_mhz`"]),
        (entry("clock = \"nominal\"\npublished = { fp32 = -3 }"), ["line 1 (mock)", "must be a number above 0"]),
        (String::new(), ["no [[device]]", "needs one"]),
    ] {
        let file = folder.write("bad.toml", text);
        for command in [&["run", "memory/stream", "-d", "mock"][..], &["devices"], &["card", "none.csv"]] {
            let Ran { err, .. } = ran(&[command, &["--limits", &file]].concat()).refuses(&[]);
            assert!(err.contains("bad.toml: ") && parts.iter().all(|part| err.contains(part)), "{command:?}: {err}");
        }
    }
    let Ran { code, err, .. } = ran(&["run", "-d", "mock", "--limits", "/no/such/file.toml"]);
    // In the system's words: no such file, or no such path.
    let missing = if cfg!(windows) { "(os error 3)" } else { "(os error 2)" };
    assert!(code == Some(2) && err.contains("--limits /no/such/file.toml: ") && err.contains(missing), "{err}");
}

#[test]
fn limits_are_not_overwritten() {
    let folder = Folder::new();
    let file = shown(&folder);
    let before = fs::read_to_string(&file).unwrap();
    ran(&["run", "memory/stream", "-d", "mock", "--limits", &file, "-o", &file, "--format=csv"])
        .says(2, &["holds the limits: name another file for --output"]);
    let rows = folder.write("rows.csv", "");
    ran(&["card", &rows, "--limits", &file, "-o", &file]).says(2, &["holds the limits: name another file"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
}
