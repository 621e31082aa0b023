//! `lanescope doctor` on simulated devices: faults that are planted are found, and nothing else.

use serde_json::Value;

use crate::support::form::{Form, form};
use crate::support::{Ran, lanescope, skip};

/// The names of findings, and the report.
fn examined(device: &str, more: &[&str]) -> (Vec<String>, Value) {
    let arguments = [&["doctor", "-d", device, "--json", "-q"], more].concat();
    let ran: Ran = lanescope(&arguments).output().unwrap().into();
    let report: Value = serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    let findings = report["findings"].as_array().unwrap();
    let names: Vec<String> = findings.iter().map(|finding| finding["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ran.code, Some(i32::from(!names.is_empty())), "{ran:?}");
    (names, report)
}

#[test]
fn a_device_without_faults_has_no_finding() {
    for device in ["mock", "mock:can=*Int64*,noise=0.02", "mock:core_mhz=1500", "mock:spread=0.01,process=0.002"] {
        let (names, report) = examined(device, &[]);
        assert_eq!(names, [""; 0], "{device}: {report:#}");
        assert_eq!(report["is_quick"], false);
    }
}

#[test]
fn planted_faults_are_found_and_named() {
    for (device, expected) in [
        ("mock:drift=0.02", "clock-falls"),
        ("mock:clock=1.3", "timer-wrong"),
        ("mock:wrong=sync/barrier", "wrong-results"),
        ("mock:lost=workgroup/linear", "cases-fail"),
        ("mock:memory=shared/*", "cases-fail"),
        ("mock:process=0.2", "unsteady"),
        ("mock:others=0.3", "busy-neighbour"),
        ("mock:can=shaderIntegerDotProduct,slow=peak/dot", "feature-slow"),
        ("mock:can=*Int64*,slow=sync/atomic *op=add;*", "feature-slow"),
    ] {
        let (names, report) = examined(device, &[]);
        assert_eq!(names, [expected], "{device}: {report:#}");
    }
}

/// What a GPU is given takes a processor long to check.
#[test]
fn memory_that_spills_is_found() {
    if form() != Form::Full {
        skip!("only in the full form");
    }
    let (names, report) = examined("mock:kind=discrete,spill=2147483648", &[]);
    // On a busy machine the largest of the small cases takes longer than its deadline: nothing was optimized here.
    let is_late = |finding: &Value| finding["evidence"].as_str().is_some_and(|evidence| evidence.contains(": timeout: "));
    let findings: Vec<&Value> = report["findings"].as_array().unwrap().iter().filter(|finding| !is_late(finding)).collect();
    assert!(findings.len() == 1 && findings[0]["name"] == "memory-spills", "{names:?}: {report:#}");
    assert!(findings[0]["what"].as_str().unwrap().starts_with("With 6 GiB in use, reading memory takes 6."), "{report:#}");
}

#[test]
fn nothing_is_measured_in_a_quick_look() {
    let (names, report) = examined("mock:wrong=*", &["--quick"]);
    assert_eq!((names, &report["is_quick"]), (Vec::new(), &Value::Bool(true)));
    assert!(report["facts"].as_array().unwrap().iter().all(|fact| fact["about"] != "results"), "{report:#}");
}

#[test]
fn a_report_is_a_screen() {
    let ran: Ran = lanescope(&["doctor", "-d", "mock:drift=0.02", "-d", "mock", "-q"]).output().unwrap().into();
    assert!(ran.code == Some(1) && ran.out.starts_with("1 finding. "), "{ran:?}");
    assert!(
        ran.out.contains("\n1. ") && ran.out.contains("   To do: ") && ran.out.contains("```text\nlanescope v"),
        "{}",
        ran.out
    );
    assert!(ran.out.lines().count() <= 60 && ran.out.lines().all(|line| line.chars().count() <= 80), "{}", ran.out);
    assert_eq!(ran.err, "");
}

#[test]
fn a_run_with_doubtful_rows_names_the_doctor() {
    let run = |device: &str| -> String {
        let arguments = ["run", "memory/stream", "-d", device, "--max-time=20ms", "--format=csv", "-a", "width=1,2,4"];
        let ran: Ran = lanescope(&arguments).output().unwrap().into();
        ran.err
    };
    let said = run("mock:spread=0.3");
    assert!(said.contains("rows bear a flag of the machine's: `lanescope doctor -d mock:spread=0.3` finds out"), "{said}");
    assert!(!run("mock").contains("lanescope doctor"));
}
