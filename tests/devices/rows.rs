//! What rows say of real drivers: flags, ratios and derived figures.

use crate::support::{devices, measured, ran, rows, skip, software};

/// The one driver with a fault that the catalogue can show: the row is wrong, and says by what fault.
#[test]
fn loops_that_a_driver_cuts_short_are_wrong_and_flagged() {
    for device in devices() {
        let arguments =
            ["calibration/sentinel", "--max-time=20ms", "-a", "groups=1", "-a", "steps=65535,65536", "-d", &device.index];
        let rows = rows(&ran(&[&["run", "-q", "--format=csv"], &arguments[..]].concat()).out);
        let said: Vec<_> =
            rows.iter().map(|row| (row.status.as_str(), row.quality_flags.contains("quirk:llvmpipe-loop-cap"))).collect();
        let is_faulty = rows[1].quality_flags.contains("quirk:");
        let expected = if is_faulty { [("ok", false), ("wrong_result", true)] } else { [("ok", false), ("ok", false)] };
        assert_eq!(said, expected, "on {}", device.driver);
    }
}

/// Software has no banks, and its rows must not invent any.
#[test]
fn no_banks_are_seen_where_there_are_none() {
    let Some(software) = software() else { skip!("no driver here is software") };
    for device in software {
        let rows = measured(&["-q", "--preset=quick", "shared/banks", "--max-time=100ms", "-d", &device.index]);
        let said: Vec<_> = rows.iter().filter(|row| row.row_kind == "derived").collect();
        assert_eq!(said.len(), 2, "on {}", device.driver);
        for (row, variant) in said.iter().zip(["count", "width"]) {
            assert_eq!((row.experiment.as_str(), row.variant.as_str()), ("shared/banks", variant));
            assert_eq!((row.status.as_str(), row.value, row.time_ns), ("skipped", None, None), "on {}", device.driver);
            assert!(row.reason.starts_with("no banks seen"), "on {}: {}", device.driver, row.reason);
            assert_eq!(
                (row.device_uuid.as_str(), row.run_id.as_str()),
                (rows[0].device_uuid.as_str(), rows[0].run_id.as_str())
            );
        }
        assert!(rows.iter().position(|row| row.row_kind == "derived") >= Some(9), "they come last");
    }
}

/// What shares the host's memory has none to spill from.
#[test]
fn memory_that_is_the_hosts_is_not_asked_where_it_ends() {
    let Some(software) = software() else { skip!("no driver here is software") };
    for device in software {
        let rows = measured(&["-q", "--preset=thorough", "memory/residency", "-d", &device.index]);
        assert_eq!(rows.len(), 14, "on {}", device.driver);
        for row in &rows {
            assert_eq!((row.status.as_str(), row.failed_stage.as_str()), ("skipped", "planning"), "on {}", device.driver);
            assert!(
                row.reason.starts_with("the device is of the kind cpu, the case needs a discrete one"),
                "on {}: {}",
                device.driver,
                row.reason
            );
        }
    }
}

#[test]
fn a_device_is_as_fast_as_itself() {
    for device in devices() {
        let twice = ["--paired", "--max-time=300ms", "-d", &device.index, "-d", &device.index];
        let case = ["-q", "workgroup/linear", "-a", "n=2^16", "-a", "local_size_x=64"];
        let rows = measured(&[&case[..], &twice].concat());
        assert_eq!(rows.len(), 2, "on {}", device.driver);
        // How near to 1 is for a benchmark to say; a machine that is busy may be far off.
        assert!(rows[1].ratio.is_some_and(|ratio| ratio > 0.0) && rows[1].rounds >= Some(6), "on {}", device.driver);
        assert_eq!(rows[1].checked, "true");
    }
}

/// Only where the system tells what the processors did.
#[cfg(any(target_os = "linux", windows))]
mod contention {
    use std::process::{Child, Command, Stdio};
    use std::thread;

    use lanescope::platform::processor_time;

    use crate::support::{measured, skip, software};

    /// Processes that do nothing but take the processor; they end with this value.
    struct Spinners(Vec<Child>);

    impl Spinners {
        /// Twice as many as there are processors.
        fn start() -> Self {
            let spinner = || {
                let mut command = Command::new(std::env::current_exe().unwrap());
                command
                    .args(["rows::contention::child_that_spins", "--exact", "--ignored"])
                    .stdout(Stdio::null())
                    .stderr(Stdio::null());
                command.spawn().unwrap()
            };
            let processors = thread::available_parallelism().map_or(1, std::num::NonZero::get);
            Self((0..2 * processors).map(|_| spinner()).collect())
        }
    }

    impl Drop for Spinners {
        fn drop(&mut self) {
            for child in &mut self.0 {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }

    #[test]
    #[ignore = "a part of others_that_take_the_processor_are_contended"]
    fn child_that_spins() {
        let started = std::time::Instant::now();
        while started.elapsed().as_secs() < 120 {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn others_that_take_the_processor_are_contended() {
        let Some(software) = software() else { skip!("no driver here is software") };
        // A kernel without scheduler statistics tells nothing, and then nothing may be said.
        let is_told = processor_time().is_some();
        let spinners = Spinners::start();
        for device in software {
            let rows = measured(&["-q", "workgroup/linear", "--max-time=1s", "-a", "local_size_x=64", "-d", &device.index]);
            let are_flagged = rows.iter().all(|row| row.quality_flags.contains("contended"));
            assert_eq!(are_flagged, is_told, "on {}: {}", device.driver, rows[0].quality_flags);
        }
        drop(spinners);
    }
}
