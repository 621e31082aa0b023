//! What users and systems do that nobody meant: the answer is an error in words, never a panic or a signal.

use crate::support::{Ran, ran, succeeded};

/// It ended by itself, and not by a panic.
fn is_calm(ran: &Ran) -> bool {
    ran.code.is_some_and(|code| code <= 2) && !ran.err.contains("panicked")
}

#[test]
fn globs_that_nest_without_end_are_refused() {
    for depth in [17, 126, 1000, 20_000] {
        let glob = "{a,".repeat(depth) + &"}".repeat(depth);
        for command in [&["list"][..], &["run", "-d", "mock", "--dry-run"]] {
            let ran = ran(&[command, &[glob.as_str()]].concat());
            assert!(ran.code == Some(2) && ran.err.contains("` is no valid "), "{depth} {command:?}: {}", ran.err);
            assert!(ran.err.len() < 300, "it shows the beginning alone");
        }
    }
    let gate = ["compare", "tests/data/lavapipe.csv", "tests/data/lavapipe.csv", "--fail-on"];
    let gate = ran(&[&gate[..], &[&format!("slower:5%:{}", "{a,".repeat(200))]].concat());
    assert!(gate.code == Some(2) && gate.err.contains("inside of each other"), "{}", gate.err);
    let mock = ran(&["run", "workgroup/linear", "-d", &format!("mock:wrong={}", "{a;".replace(';', ",").repeat(200))]);
    assert!(is_calm(&mock) && mock.code == Some(2), "{}", mock.err);
}

#[test]
fn times_that_no_clock_reaches_are_refused() {
    let small = ["run", "workgroup/linear", "-d", "mock", "--dry-run"];
    for flag in ["--timeout", "--first-timeout", "--max-time", "--wait"] {
        let ran = ran(&[&small[..], &[&format!("{flag}=18446744073709551615s")]].concat());
        assert!(ran.code == Some(2) && ran.err.contains("100 years"), "{flag}: {}", ran.err);
    }
    let long =
        ["run", "-q", "workgroup/linear", "-d", "mock", "-a=n=4096", "-a=local_size_x=64", "--format=csv", "--max-noise=0.5"];
    succeeded(&[&long[..], &["--timeout=36499days", "--first-timeout=36499days"]].concat());
}

#[cfg(unix)]
mod on_unix {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking, helpers included")]

    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::process::Command;

    use super::{Ran, is_calm};

    const BINARY: &str = env!("CARGO_BIN_EXE_lanescope");

    /// Runs it in a shell, behind a command such as `ulimit`.
    fn behind(before: &str, arguments: &str) -> Ran {
        let script = format!("{before} '{BINARY}' {arguments}");
        Command::new("sh").args(["-c", &script]).env("RUST_BACKTRACE", "0").output().unwrap().into()
    }

    #[test]
    fn a_file_that_may_grow_no_further_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rows.csv");
        let run = format!("run memory/stride -d mock --preset quick -q -o '{}'", file.display());
        let full = behind("ulimit -f 8; exec", &run);
        assert!(full.code == Some(1) && full.err.contains("can't write"), "{full:?}");
        // What was written before is there.
        assert!(std::fs::read_to_string(&file).unwrap().lines().count() > 1);
    }

    /// Root has as many as it likes: then another user has so few.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_system_without_threads_is_told_of() {
        let is_root = rustix::process::geteuid().is_root();
        let user = if is_root { "setpriv --reuid=65534 --clear-groups --" } else { "" };
        if behind(&format!("exec prlimit --nproc=4096 {user}"), "schema").code != Some(0) {
            println!("skipped: there is no prlimit, no setpriv, or no other user may run {BINARY}");
            return;
        }
        let run = "run workgroup/linear -d mock --preset quick -q --format csv --no-lock -a n=4096";
        let mut told = 0;
        for threads in 1..12 {
            let few = behind(&format!("exec prlimit --nproc={threads} {user}"), run);
            assert!(is_calm(&few), "{threads}: {few:?}");
            let is_told = few.err.starts_with("error: ") || few.out.contains(",crashed,") || few.out.contains(",not_run,");
            assert!(few.code == Some(0) || is_told, "{threads}: {few:?}");
            told += u32::from(is_told);
        }
        assert!(told > 0, "so few threads were enough");
    }

    /// Messages to workers are text: what isn't is our own fault, told at once, and no deadline of a device's.
    #[test]
    fn a_name_that_is_no_text_is_told_of_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().join(OsStr::from_bytes(b"\xFF"));
        let run = ["run", "algo/raytrace:bounded", "-d", "mock", "--preset=quick", "-q", "--format=csv", "--no-lock", "--dump"];
        let ran: Ran = Command::new(BINARY).args(run).arg(&name).output().unwrap().into();
        assert!(ran.code == Some(1) && ran.out.contains("invalid UTF-8"), "{ran:?}");
        assert!(!ran.out.contains(",timeout,") && ran.out.contains("can't be told what to do"), "{ran:?}");
    }
}
