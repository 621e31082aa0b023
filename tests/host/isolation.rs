//! Isolation on the mock device: what happens to the process that measures costs the case that it was at, and a device that can't be
//! used costs the others nothing. `tests/devices/isolation.rs` has drivers with faults.

use crate::support::form::sample;
use crate::support::{ended, lanescope_as_it_is, ran, rows, succeeded};

const SOME: [&str; 9] =
    ["run", "workgroup/linear", "memory/stream", "-a", "n=4096", "-a", "width=1", "--max-time=5ms", "--format=csv"];

#[test]
fn a_device_that_fails_three_cases_in_a_row_is_given_up_and_the_others_go_on() {
    let arguments = ["run", "workgroup/linear", "-a", "n=4096", "--max-time=5ms", "--format=csv"];
    for (fault, status) in [("crash", "crashed"), ("lost", "device_lost")] {
        let broken = format!("mock:{fault}=workgroup/*");
        for devices in [[broken.as_str(), "mock"], ["mock", &broken]] {
            let ran = ran(&[&arguments[..], &["-d", devices[0], "-d", devices[1]]].concat())
                .says(75, &["failed 3 times in a row", "11 measured"]);
            let rows = rows(&ran.out);
            let of = |index: usize| rows.iter().filter(move |row| row.device_uuid.ends_with(&index.to_string()));
            let place = devices.iter().position(|device| *device == broken).unwrap();
            assert_eq!((of(0).count(), of(1).count()), (11, 11));
            assert!(of(1 - place).all(|row| row.status == "ok"));
            let (tried, untried): (Vec<_>, Vec<_>) = of(place).partition(|row| row.status != "not_run");
            assert_eq!((tried.len(), untried.len()), (3, 8));
            assert!(tried.iter().all(|row| row.time_ns.is_none() && row.status == status), "{}", tried[0].status);
            assert!(
                untried.iter().all(|row| row.time_ns.is_none() && row.reason.starts_with(&format!("{status}: "))),
                "{}",
                untried[0].reason
            );
        }
    }
}

/// Rows are the same bytes wherever a device is owned.
#[test]
fn isolation_changes_no_row() {
    for more in
        [&["-d", "mock"][..], &["-d", "mock:noise=0.2,drift=0.1,bits=32", "--stats"], &["-d", "mock", "-d", "mock:bits=0"]]
    {
        // Devices side by side write as they come.
        let run = |how: &[&str]| {
            let out = succeeded(&[&SOME, more, how].concat()).out;
            assert!(rows(&out).len() > 11);
            let mut lines: Vec<String> = out.lines().map(str::to_owned).collect();
            lines.sort_unstable();
            lines
        };
        assert!(run(&["--no-isolate"]) == run(&["--processes=1"]), "{more:?}");
    }
    // Failures as well.
    for fault in ["wrong", "memory"] {
        let device = format!("mock:{fault}=workgroup/linear local_size_x=64*");
        let run = |how: &str| ran(&[&SOME[..], &["-d", &device, "-q", how]].concat());
        let (here, apart) = (run("--no-isolate"), run("--processes=1"));
        assert_eq!((here.code, apart.code), (Some(1), Some(1)), "{fault}");
        assert!(here.out == apart.out, "{fault}");
    }
}

#[test]
fn what_takes_a_process_down_costs_one_row_whatever_their_number() {
    // How a process ended that called abort().
    let aborted = if cfg!(windows) { "its process died: exit code: 0xc0000409" } else { "SIGABRT" };
    let ends = [("crash", "crashed", aborted), ("hang", "timeout", "its process was killed (--timeout allows more)")];
    for (processes, (fault, status, reason)) in sample(["1", "3"].into_iter().flat_map(|n| ends.map(|end| (n, end))), 1, 3) {
        let device = format!("mock:{fault}=workgroup/linear local_size_x=64*");
        let ran = ran(&[&SOME[..], &["-d", &device, "--timeout=500ms", "--processes", processes]].concat()).says(1, &[]);
        let (lost, others): (Vec<_>, Vec<_>) = rows(&ran.out).into_iter().partition(|row| row.status != "ok");
        assert_eq!(lost.iter().map(|row| row.axis_values.as_str()).collect::<Vec<_>>(), ["local_size_x=64;n=4096"]);
        assert!(lost[0].status == status && lost[0].reason.contains(reason), "{}: {}", lost[0].status, lost[0].reason);
        let asked = processes.parse().ok();
        assert!(others.len() > 10 && others.iter().all(|row| row.row_kind == "derived" || row.processes >= asked));
        assert!(ran.err.contains(&format!("workgroup/linear local_size_x=64;n=4096: {status}: ")), "{}", ran.err);
    }
}

#[test]
fn rounds_are_dealt_over_as_many_processes_as_asked() {
    let processes = |how: &[&str]| {
        let ran = ended(&mut lanescope_as_it_is(&[&SOME[..], &["-d", "mock", "--no-lock"], how].concat())).says(0, &[]);
        let rows = rows(&ran.out);
        let mut counts: Vec<u64> =
            rows.iter().filter(|row| row.row_kind == "measured").map(|row| row.processes.unwrap()).collect();
        counts.dedup();
        counts
    };
    assert_eq!(processes(&[]), [3], "the default of the preset default");
    assert_eq!(processes(&["--preset=quick"]), [1]);
    assert_eq!(processes(&["--processes=3", "--preset=quick"]), [3]);
    assert_eq!(processes(&["--processes=6"]), [6]);
    assert_eq!(processes(&["--no-isolate"]), [1]);
}
