//! Drivers that fail: a Vulkan layer plays each fault, on every driver, and no figure that can't be trusted may come out of it.
//! The layer itself is proven on the way: `tests/fault_layer/lib.rs` says what it promises.

// Signals, by which processes are seen to crash, are Unix's.
#![cfg(unix)]

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lanescope::gpu::{Device, Instance, InstanceOptions};
use lanescope::record::Record;
use lanescope::shader::{Compiler, Library, Prepared, prepare};
use lanescope::units::TickScale;

use crate::support::faults::Faults;
use crate::support::{Found, Ran, cases_of, devices_in_turn, ended, lanescope, rows};

/// Three cases, of which faults can hit the second alone: by its 40 workgroups, by its local size of 24.
const SWEEP: [&str; 5] = ["workgroup/linear", "-a", "local_size_x=8,24,40", "-a", "n=960"];
const HIT: usize = 1;

const SIGABRT: i32 = 6;

fn run_on(device: &Found, arguments: &[&str]) -> Command {
    lanescope(&[&["run", "-q", "--format=csv", "--preset=quick", "--max-time=20ms", "-d", &device.index], arguments].concat())
}

/// Runs the sweep with a fault, whatever that does to the worker processes.
fn swept(device: &Found, faults: &Faults) -> Vec<Record> {
    swept_in(1, device, faults)
}

fn swept_in(processes: u32, device: &Found, faults: &Faults) -> Vec<Record> {
    let processes = format!("--processes={processes}");
    let ran = ended(faults.meet(&mut run_on(device, &[&SWEEP[..], &[&processes]].concat())));
    let rows = rows(&ran.out);
    assert_eq!(rows.len(), 3, "{ran:?}");
    let has_failed = rows.iter().any(|row| row.status != "ok");
    let is_given_up = rows.iter().any(|row| row.status == "not_run");
    assert_eq!(ran.code, Some(if is_given_up { 75 } else { has_failed.into() }), "the exit code tells of failed rows: {ran:?}");
    // Whatever happens: a row has a figure, or it says why not.
    for row in &rows {
        assert_eq!(row.status == "ok", row.time_ns.is_some() && row.value.is_some(), "{}: {:?}", row.status, row.time_ns);
        assert!(row.status == "ok" || !row.reason.is_empty());
    }
    rows
}

/// The fault ends the second case so, with this in its reason, and the others in their usual way.
fn hits_alone(device: &Found, faults: &str, status: &str, reason: &str) {
    for (place, row) in swept(device, &Faults::new(faults)).iter().enumerate() {
        let expected = if place == HIT { status } else { "ok" };
        assert_eq!(row.status, expected, "{faults} on {}, row {place}: {}", device.driver, row.reason);
        assert!(place != HIT || row.reason.contains(reason), "{faults}: {}", row.reason);
    }
}

// ---- the layer ------------------------------------------------------------------------------------------------------------

#[test]
fn without_faults_the_layer_changes_nothing() {
    let plain = ended(&mut lanescope(&["devices", "--json"]));
    let layered = ended(Faults::none().meet(&mut lanescope(&["devices", "--json"])));
    assert_eq!((plain.code, plain.out), (layered.code, layered.out));
    for device in devices_in_turn() {
        let rows = swept(&device, &Faults::none());
        assert!(rows.iter().all(|row| row.status == "ok" && row.timer == "device"), "on {}", device.driver);
    }
}

#[test]
fn what_can_not_be_understood_ends_the_process() {
    for (faults, said) in [
        ("", "an unknown kind"),
        ("abbort", "an unknown kind"),
        ("abort,", "an unknown kind"),
        ("abort=3", "an unknown kind, or one with a wrong value"),
        ("timestamps", "an unknown kind, or one with a wrong value"),
        ("opcode=1", "two opcodes are needed"),
        ("timestamp_spans=-1", "a factor from 0"),
        ("timestamp_bits=65", "from 0 to 64"),
        ("timestamp_period=-1", "nanoseconds are needed"),
        ("timestamp_period=nan", "nanoseconds are needed"),
        ("abort:sumbit", "`sumbit` is neither a place nor a condition"),
        ("abort:submit=first", "`first` is no number"),
        ("abort:groups", "`groups` is neither"),
        ("abort:groups=-1", "`-1` is no number"),
        ("abort:submit:groups=1:groups=2", "`groups=2` is too much"),
        ("abort:groups=1:submit", "`submit` is too much"),
        ("abort:dispatch", "not at Dispatch"),
        ("device_lost:pipeline", "not at Pipeline"),
        ("timestamps=zero:submit", "not at Submit"),
        ("abort:constant=1", "isn't for Submit"),
        ("out_of_memory:groups=1", "isn't for Memory"),
        ("abort:submit:driver=x", "isn't for Submit"),
        ("device_lost,abort:instance:bytes=1", "`abort:instance:bytes=1`: the condition isn't for Instance"),
    ] {
        let output = Faults::new(faults).meet(&mut lanescope(&["run", "--no-isolate"])).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.signal(), Some(SIGABRT), "`{faults}`: {err}");
        assert!(err.contains("fault_layer: LANESCOPE_FAULT: `") && err.contains(said), "`{faults}`: {err}");
    }
}

#[test]
fn a_fault_comes_once_whatever_the_number_of_processes() {
    for device in devices_in_turn() {
        let faults = Faults::new("wrong:groups=40").once();
        let statuses = || swept_in(3, &device, &faults).iter().map(|row| row.status.clone()).collect::<Vec<_>>();
        assert!(!faults.has_come());
        assert_eq!(statuses(), ["ok", "wrong_result", "ok"]);
        assert!(faults.has_come());
        assert_eq!(statuses(), ["ok"; 3]);
    }
}

#[test]
fn a_fault_comes_at_the_calls_that_are_named() {
    for device in devices_in_turn() {
        for (faults, wrong) in [("wrong:dispatch=2:groups=40", "0 24 0 0"), ("wrong:dispatch=3+:groups=40", "0 0 24 24")] {
            let ran = child("child_that_counts", &device, &Faults::new(faults));
            assert!(ran.out.contains(&format!("missing: {wrong}\n")), "{ran:?}");
        }
    }
}

#[test]
#[ignore = "a part of a_fault_comes_at_the_calls_that_are_named"]
fn child_that_counts() {
    let mut device = opened(&Instance::load(InstanceOptions::default()).unwrap());
    let missing: Vec<String> = (0..4).map(|_| missing(&mut device, 960).to_string()).collect();
    println!("missing: {}", missing.join(" "));
}

/// Instances, devices and threads side by side.
#[test]
fn instances_and_devices_do_not_disturb_each_other() {
    for device in devices_in_turn() {
        let ran = child("child_that_opens_many", &device, &Faults::new("wrong:groups=40"));
        assert_eq!(ran.out.matches("thread ended").count(), 4, "{ran:?}");
    }
}

#[test]
#[ignore = "a part of instances_and_devices_do_not_disturb_each_other"]
fn child_that_opens_many() {
    let work = || {
        for _ in 0..3 {
            let instance = Instance::load(InstanceOptions::default()).unwrap();
            for device in &mut [opened(&instance), opened(&instance)] {
                assert_eq!((missing(device, 960), missing(device, 970)), (24, 0), "of 40 groups one is missing, of 41 none");
            }
        }
        println!("thread ended");
    };
    thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(work))));
}

/// The device that a child is told.
fn opened(instance: &Instance) -> Device {
    instance.open(std::env::var("LANESCOPE_TEST_DEVICE").unwrap().parse().unwrap(), None).unwrap()
}

/// How many elements of this case's result a pass leaves out.
fn missing(device: &mut Device, n: u32) -> usize {
    let case = linear(device, n);
    let slot = device.load(&case).unwrap().slot;
    device.run_reset(slot).unwrap();
    let poison = device.read(slot, 2).unwrap()[..4].to_vec();
    device.run_checked(slot).unwrap();
    device.read(slot, 2).unwrap().chunks_exact(4).filter(|word| *word == poison).count()
}

/// The case of 24 invocations per workgroup.
fn linear(device: &Device, n: u32) -> Prepared {
    let case = cases_of(device.info(), "workgroup/linear", &["local_size_x=24", &format!("n={n}")]).remove(0);
    prepare(case, &mut Compiler::new(Library::embedded()).unwrap()).unwrap()
}

/// Runs an ignored test of this file in a process of its own, on a device, where faults can be met.
fn child(name: &str, device: &Found, faults: &Faults) -> Ran {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([&format!("faults::{name}"), "--exact", "--ignored", "--nocapture"])
        .env("LANESCOPE_TEST_DEVICE", &device.index);
    // With one thread, a test's name would stand before its first line.
    command.env("RUST_TEST_THREADS", "2").stdin(Stdio::null());
    ended(faults.meet(&mut command)).says(0, &[])
}

// ---- crashes and hangs ----------------------------------------------------------------------------------------------------

/// Deadlines for drivers that hang: what these tests wait for.
const SOON: [&str; 2] = ["--timeout=1500ms", "--first-timeout=1500ms"];

#[test]
fn a_driver_that_crashes_costs_the_case_it_was_at() {
    for device in devices_in_turn() {
        for (faults, signal) in [
            ("abort:pipeline:constant=24", "SIGABRT"),
            ("abort:groups=40", "SIGABRT"),
            ("segfault:submit=4:groups=40", "SIGSEGV"),
        ] {
            hits_alone(&device, faults, "crashed", &format!("({signal})"));
        }
        // Where no case is at it, none is lost.
        for faults in ["abort:instance", "segfault:devices", "abort:open", "abort:submit=2"] {
            let faults = Faults::new(faults).once();
            let rows = swept(&device, &faults);
            let is_whole = rows.iter().all(|row| row.status == "ok" && row.driver_id == device.driver);
            assert!(faults.has_come() && is_whole, "{} on {}", faults.text(), device.driver);
        }
    }
}

#[test]
fn without_isolation_a_driver_that_crashes_ends_the_run() {
    for device in devices_in_turn() {
        let mut command = run_on(&device, &[&SWEEP[..], &["--no-isolate"]].concat());
        let output = Faults::new("abort:groups=40").meet(&mut command).output().unwrap();
        assert_eq!(output.status.signal(), Some(SIGABRT), "on {}", device.driver);
    }
}

#[test]
fn a_driver_that_fails_when_it_is_closed_takes_no_row_along() {
    for device in devices_in_turn() {
        for (faults, said) in [
            ("abort:close", "crashed"),
            ("segfault:close", "crashed"),
            ("hang:close", "no end within 1.5 s; its process was killed"),
        ] {
            // What crashes takes its time on a busy machine: only what hangs is waited for in vain.
            let deadlines: &[&str] = if faults.starts_with("hang") { &SOON } else { &[] };
            let run = ["run", "--format=csv", "--max-time=20ms", "-d", &device.index];
            let mut command = lanescope(&[&run[..], &SWEEP, deadlines].concat());
            let ran = ended(Faults::new(faults).meet(&mut command)).says(1, &["closing ", said]);
            let rows = rows(&ran.out);
            assert!(rows.len() == 3 && rows.iter().all(|row| row.status == "ok"), "{faults} on {}", device.driver);
        }
    }
}

#[test]
fn a_driver_that_hangs_costs_the_case_it_was_at() {
    for device in devices_in_turn() {
        // Far more of this is in tests/isolation.rs.
        let faults = Faults::new("hang:submit=4:groups=40");
        let hung = ended(faults.meet(&mut run_on(&device, &[&SWEEP[..], &SOON].concat())));
        let rows = rows(&hung.out);
        let statuses: Vec<&str> = rows.iter().map(|row| row.status.as_str()).collect();
        assert_eq!((hung.code, statuses), (Some(1), vec!["ok", "timeout", "ok"]), "on {}", device.driver);
        assert!(rows[HIT].reason.contains("its process was killed"), "{}", rows[HIT].reason);
        // Where no case is at it, none is lost.
        for faults in ["hang:devices", "hang:open"] {
            let faults = Faults::new(faults).once();
            let ran = ended(faults.meet(&mut run_on(&device, &[&SWEEP[..], &SOON].concat())));
            assert!(faults.has_come() && ran.code == Some(0), "{} on {}: {}", faults.text(), device.driver, ran.err);
        }
    }
}

/// What never ends is left by its time limit, nothing of it is destroyed, and nothing that follows is given a figure.
#[test]
fn work_that_never_ends_times_out() {
    for device in devices_in_turn() {
        let ran = child("child_that_waits", &device, &Faults::new("unfinished:groups=40"));
        assert!(ran.out.contains("timeout: ") && ran.out.contains("did not end within 0.2 s"), "{ran:?}");
        assert!(ran.out.contains("then: the device still hangs on earlier work"), "{ran:?}");
    }
}

#[test]
#[ignore = "a part of work_that_never_ends_times_out"]
fn child_that_waits() {
    let mut device = opened(&Instance::load(InstanceOptions::default()).unwrap());
    let case = linear(&device, 960);
    let slot = device.load(&case).unwrap().slot;
    device.set_timeout(Duration::from_millis(200));
    let error = device.run_checked(slot).unwrap_err();
    println!("{}: {error}", error.status());
    println!("then: {}", device.run_checked(slot).unwrap_err());
}

// ---- refusals and wrong results -------------------------------------------------------------------------------------------

#[test]
fn a_lost_device_has_no_figures() {
    for device in devices_in_turn() {
        // At its check, and while it is timed.
        for faults in ["device_lost:groups=40", "device_lost:submit=5:groups=40"] {
            let rows = swept(&device, &Faults::new(faults));
            assert_eq!(rows[HIT].status, "device_lost", "{faults} on {}", device.driver);
            assert!(rows[HIT].reason.contains("VK_ERROR_DEVICE_LOST"), "{}", rows[HIT].reason);
            assert!(rows.iter().all(|row| ["ok", "device_lost"].contains(&row.status.as_str())));
        }
        // From the start: nothing can be measured.
        for faults in ["device_lost", "device_lost:open"] {
            for row in swept(&device, &Faults::new(faults)) {
                assert_eq!(row.status, "not_run", "{faults}");
                let is_told = row.reason.starts_with("device_lost: ") && row.reason.contains("VK_ERROR_DEVICE_LOST");
                assert!(is_told && row.reason.contains("3 times in a row"), "{faults}: {}", row.reason);
            }
        }
    }
}

#[test]
fn memory_that_is_not_there_fails_the_cases_that_need_it() {
    // More than the staging buffers have.
    let arguments = ["workgroup/linear", "-a", "local_size_x=64", "-a", "n=1000,5000000,2000"];
    for device in devices_in_turn() {
        for faults in ["out_of_memory:bytes=20000000", "out_of_memory:buffer:bytes=20000000"] {
            let ran = ended(Faults::new(faults).meet(&mut run_on(&device, &arguments)));
            let rows = rows(&ran.out);
            let statuses: Vec<&str> = rows.iter().map(|row| row.status.as_str()).collect();
            assert_eq!(statuses, ["ok", "out_of_memory", "ok"], "{faults} on {}: {}", device.driver, ran.err);
            assert!(rows[1].time_ns.is_none() && rows[1].reason.contains("buffer"), "{}", rows[1].reason);
        }
        for row in swept(&device, &Faults::new("out_of_memory")) {
            let is_told = row.reason.starts_with("out_of_memory: ");
            assert!(row.status == "not_run" && is_told, "{}: {}", row.status, row.reason);
        }
    }
}

#[test]
fn a_pipeline_that_the_driver_refuses_fails_its_case() {
    for device in devices_in_turn() {
        let case = "local_size_x=24";
        hits_alone(
            &device,
            "pipeline_error:constant=24",
            "compile_error",
            "vkCreateComputePipelines failed with VK_ERROR_UNKNOWN",
        );
        hits_alone(&device, "pipeline_error:constant=24", "compile_error", case);
        hits_alone(&device, "invalid_shader:pipeline=1:constant=24", "compile_error", "VK_ERROR_INVALID_SHADER_NV");
    }
}

#[test]
fn a_wrong_result_has_no_figure() {
    for device in devices_in_turn() {
        hits_alone(&device, "wrong:groups=40", "wrong_result", "(24 of 960 elements are wrong)");
        // Right at its check, and wrong from then on.
        hits_alone(&device, "wrong:dispatch=2+:groups=40", "wrong_result", "after a timed batch");
    }
}

#[test]
fn a_drivers_log_does_not_mix_with_rows() {
    for device in devices_in_turn() {
        let faults = Faults::new("chatter:pipeline,chatter:submit=20");
        for (mode, least) in [("-v", 4), ("-q", 0)] {
            let mut command = lanescope(&["run", mode, "--format=csv", "--max-time=20ms", "-d", &device.index]);
            let ran = ended(faults.meet(command.args(SWEEP)));
            assert_eq!((ran.code, rows(&ran.out).len()), (Some(0), 3), "{}", ran.err);
            // A pipeline of each case, at the least, and one submission.
            let count = ran.err.matches("worker: fault_layer: WARNING: of two lines\n").count();
            assert!(count >= least && (least > 0 || ran.err.is_empty()), "{}", ran.err);
        }
    }
}

// ---- timestamps -----------------------------------------------------------------------------------------------------------

/// A pass of about a millisecond, far longer than a launch.
const LONG: [&str; 5] = ["calibration/sentinel", "-a", "groups=64", "-a", "steps=512"];

/// The row of [`LONG`], and what was said.
fn timed(device: &Found, faults: &Faults) -> (Record, String) {
    let mut command = lanescope(&["run", "--format=csv", "--max-time=50ms", "-d", &device.index]);
    let ran = ended(faults.meet(command.args(LONG))).says(0, &[]);
    (rows(&ran.out).remove(0), ran.err)
}

/// What devices tell of their timestamps: valid bits and period.
fn told(device: &Found, faults: &Faults) -> (u64, serde_json::Value) {
    let devices = ended(faults.meet(&mut lanescope(&["devices", "--json"])));
    let devices: serde_json::Value = serde_json::from_str(&devices.out).unwrap();
    let device = &devices[device.index.parse::<usize>().unwrap()];
    (device["queues"][0]["timestamp_valid_bits"].as_u64().unwrap(), device["timestamp_period"].clone())
}

#[test]
fn few_bits_wraps_and_fractional_periods_leave_times_right() {
    for device in devices_in_turn() {
        let (plain, _) = timed(&device, &Faults::none());
        let (bits, period) = told(&device, &Faults::none());
        for (faults, shown) in [
            ("timestamp_bits=36", (36, period.clone())),
            ("timestamps=wrap", (bits, period.clone())),
            ("timestamp_bits=36,timestamps=wrap", (36, period.clone())),
            ("timestamp_bits=28", (28, period.clone())),
            ("timestamp_period=0.0625", (bits, 0.0625.into())),
            ("timestamp_period=52.5", (bits, 52.5.into())),
        ] {
            let faults = Faults::new(faults);
            assert_eq!(told(&device, &faults), shown, "{}", faults.text());
            let (row, _) = timed(&device, &faults);
            assert_eq!(row.timer, "device", "{} on {}", faults.text(), device.driver);
            // The least, since whatever else runs on the machine only adds to a time; a wrong scale is further off.
            let ratio = row.time_min_ns.unwrap() / plain.time_min_ns.unwrap();
            assert!((0.1..10.0).contains(&ratio), "{} on {}: {ratio}", faults.text(), device.driver);
            assert!(!row.quality_flags.contains("implausible"), "{} on {}: {}", faults.text(), device.driver, row.reason);
        }
    }
}

#[test]
fn timestamps_that_are_none_give_way_to_the_hosts_clock() {
    for device in devices_in_turn() {
        for (faults, said) in [
            ("timestamps=zero", "the device's clock runs at 0.0000 times the host's"),
            ("timestamp_bits=20", "the device's timestamps wrap after 1.05 ms"),
            ("timestamp_period=0", "the queue has no usable timestamps"),
            ("timestamp_period=inf", "the queue has no usable timestamps"),
        ] {
            let (row, err) = timed(&device, &Faults::new(faults));
            assert_eq!((row.timer.as_str(), row.status.as_str()), ("host", "ok"), "{faults} on {}", device.driver);
            assert!(err.contains(said), "{faults} on {}: {err}", device.driver);
        }
    }
}

/// The specification lets what follows a timestamp begin before it is taken.
#[test]
fn a_pass_waits_for_the_timestamp_before_it() {
    for device in devices_in_turn() {
        let ran = child("child_that_times_a_pass", &device, &Faults::new("timestamps=late"));
        let share: f64 = ran.out.lines().find_map(|line| line.strip_prefix("share ")).unwrap().parse().unwrap();
        assert!(share > 0.1, "on {}: the pass was over before its start, {share}", device.driver);
    }
}

/// Tells how much of the host's time lies between the timestamps, at most: whatever else runs only lowers it.
#[test]
#[ignore = "a part of a_pass_waits_for_the_timestamp_before_it"]
fn child_that_times_a_pass() {
    let mut device = opened(&Instance::load(InstanceOptions::default()).unwrap());
    let case = cases_of(device.info(), LONG[0], &[LONG[2], LONG[4]]).remove(0);
    let case = prepare(case, &mut Compiler::new(Library::embedded()).unwrap()).unwrap();
    let slot = device.load(&case).unwrap().slot;
    let scale = TickScale { valid_bits: device.queue_family().timestamp_valid_bits, period: device.info().timestamp_period };
    let share = |_| {
        let submission = device.sample(slot, 1, 1).unwrap();
        let (start, end) = submission.samples[0];
        scale.between(start, end).to_duration().as_secs_f64() / submission.host.as_secs_f64()
    };
    println!("share {}", (0..20).map(share).fold(0.0, f64::max));
}

/// Rows about the device's timestamps themselves.
#[test]
fn what_timestamps_are_not_is_not_measured_cleanly() {
    for device in devices_in_turn() {
        let of_timer = |faults: &str| {
            let ran = ended(Faults::new(faults).meet(&mut run_on(&device, &["calibration/timer", "calibration/clock"])));
            rows(&ran.out)
        };
        for row in of_timer("timestamps=zero") {
            assert_eq!((row.status.as_str(), row.value), ("ok", Some(0.0)), "a clock that stands still has no rate");
            assert!(!row.quality_flags.is_empty(), "{} {} on {}", row.experiment, row.variant, device.driver);
        }
        for faults in ["timestamp_period=0", "timestamp_period=inf"] {
            let rows = of_timer(faults);
            assert!(rows.iter().all(|row| row.status == "skipped" && row.reason.contains("timestampPeriod is")), "{faults}");
        }
    }
}

/// A clock that jumps back and forth.
#[test]
fn timestamps_that_go_backwards_are_not_believed() {
    for device in devices_in_turn() {
        for faults in ["timestamps=backwards", "timestamps=backwards,timestamp_bits=36"] {
            let (row, _) = timed(&device, &Faults::new(faults));
            let is_doubted = row.timer == "host" || row.quality_flags.contains("implausible");
            assert!(is_doubted, "{faults} on {}: {:?} ns, flags {}", device.driver, row.time_ns, row.quality_flags);
        }
    }
}

/// Spans that are shorter or longer than what the host saw pass, from end to end of each submission: the rate of the clock is right.
#[test]
fn spans_that_the_hosts_clock_contradicts_are_not_believed() {
    let long = ["calibration/sentinel", "-a", "groups=256", "-a", "steps=8192", "--timeout=60s"];
    for device in devices_in_turn() {
        for (spans, said) in
            [("0.5", "after its end"), ("0", "after its end"), ("2", "for what the host saw end after"), ("1", "")]
        {
            let faults = Faults::new(&format!("timestamp_spans={spans}"));
            let mut command = lanescope(&["run", "--format=csv", "--max-time=50ms", "-d", &device.index]);
            let ran = ended(faults.meet(command.args(long))).says(0, &[]);
            let row = rows(&ran.out).remove(0);
            let is_doubted = row.quality_flags.contains("implausible");
            let told = format!("{spans} on {}: {:?} ns, {} {}", device.driver, row.time_ns, row.quality_flags, row.reason);
            // A sentinel whose spans vary may give the clock another rate as well.
            assert_eq!(row.timer == "host" || is_doubted, !said.is_empty(), "{told}");
            assert!(row.reason.contains(if is_doubted { said } else { "" }), "{told}");
        }
    }
}

/// A timestamp, and the host's time before and after it, in nanoseconds.
struct Stamp {
    ticks: u64,
    before: f64,
    after: f64,
}

#[test]
fn the_layer_shows_timestamps_as_asked_for() {
    for device in devices_in_turn() {
        let read = |faults: &str| {
            let ran = child("child_that_reads_timestamps", &device, &Faults::new(faults));
            let stamps: Vec<Stamp> = ran.out.lines().filter_map(stamp).collect();
            assert!(stamps.len() >= 80, "{ran:?}");
            stamps
        };
        let steps_back = |stamps: &[Stamp]| stamps.windows(2).filter(|pair| pair[1].ticks < pair[0].ticks).count();
        assert!(read("timestamps=zero").iter().all(|stamp| stamp.ticks == 0));
        assert!(read("timestamp_bits=30").iter().all(|stamp| stamp.ticks < 1 << 30));
        assert_eq!(steps_back(&read("timestamp_bits=36,timestamps=wrap")), 1);
        // Every fifth one is, and half of these are ends.
        assert!(steps_back(&read("timestamps=backwards")) >= 8);
        for period in [0.0625, 52.5] {
            let stamps = read(&format!("timestamp_period={period}"));
            let (first, last) = (&stamps[0], &stamps[stamps.len() - 1]);
            let elapsed = (last.ticks - first.ticks) as f64 * period;
            let possible = 0.99 * (last.before - first.after)..1.01 * (last.after - first.before);
            assert!(possible.contains(&elapsed), "{period} on {}: {elapsed} in {possible:?}", device.driver);
        }
    }
}

/// A line of the child below.
fn stamp(line: &str) -> Option<Stamp> {
    let [ticks, before, after] = line.strip_prefix("stamp ")?.split(' ').collect::<Vec<_>>()[..] else { return None };
    Some(Stamp { ticks: ticks.parse().unwrap(), before: before.parse().unwrap(), after: after.parse().unwrap() })
}

#[test]
#[ignore = "a part of the_layer_shows_timestamps_as_asked_for"]
fn child_that_reads_timestamps() {
    let mut device = opened(&Instance::load(InstanceOptions::default()).unwrap());
    let case = linear(&device, 970);
    let slot = device.load(&case).unwrap().slot;
    let started = Instant::now();
    let now = || started.elapsed().as_secs_f64() * 1e9;
    // The layer's clock wraps after 100 ms.
    for _ in 0..40 {
        let before = now();
        let submission = device.sample(slot, 0, 1).unwrap();
        let after = now();
        let (start, end) = submission.samples[0];
        println!("stamp {} {before} {after}\nstamp {} {before} {after}", start.0, end.0);
        thread::sleep(Duration::from_millis(5));
    }
}
