//! What users and systems do that nobody meant: the answer is an error in words, never a panic or a signal.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, helpers included")]

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

    /// Macros that double each other.
    #[cfg(target_os = "linux")]
    #[test]
    fn shaders_that_need_all_memory_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let macros: String = (1..30).map(|i| format!("#define S{i} S{0} S{0}\n", i - 1)).collect();
        let path = super::shader(&folder, &format!("\n#define S0 b[i] += 1;\n{macros}S29"));
        // With less than it would have, so that it takes less time.
        let ran = behind("ulimit -Hv 1000000; exec", &format!("inspect '{path}'"));
        let is_told = ran.err.contains("memory") && ran.err.contains("compiling it");
        assert!(ran.code == Some(2) && is_told, "{ran:?}");
    }

    /// The process that compiles ends with the one that asked, whatever it is at.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_compiler_ends_with_its_user() {
        use crate::support::processes::Family;
        let folder = tempfile::tempdir().unwrap();
        let structs: String = (1..40).map(|i| format!("struct T{i} {{ T{0} a; T{0} b; }};\n", i - 1)).collect();
        let path = folder.path().join("nested.comp");
        let text = format!(
            "{}struct T0 {{ uint a; }};\n{structs}layout(binding = 1) buffer C {{ T39 t; }};\nvoid main() {{}}\n",
            super::HEAD
        );
        std::fs::write(&path, text).unwrap();
        let mut family = Family::start(Command::new(BINARY).arg("inspect").arg(&path));
        family.wait_until("it compiles", |family| !family.workers().is_empty());
        family.signal(rustix::process::Signal::KILL);
        let (signal, _) = family.end();
        assert_eq!(signal, Some(9));
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

const HEAD: &str = "#version 460\nlayout(local_size_x = 64) in;\nlayout(binding = 0) buffer B { uint b[]; };\n";

/// A shader with this body.
fn shader(folder: &tempfile::TempDir, body: &str) -> String {
    let path = folder.path().join("shader.comp");
    std::fs::write(&path, format!("{HEAD}void main() {{ uint i = gl_GlobalInvocationID.x; {body} }}\n")).unwrap();
    path.to_str().unwrap().to_owned()
}

fn sum(terms: usize) -> String {
    format!("b[i] = {};", vec!["i"; terms].join(" + "))
}

/// The compiler works on a large stack, in a process of its own.
#[test]
fn sums_of_many_terms_compile_or_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let long = shader(&folder, &sum(25_000));
    succeeded(&["inspect", &long]);
    let tune =
        ["tune", &long, "-d", "mock", "-n", "64", "-q", "--preset=quick", "--no-lock", "-alocal_size_x=64", "--format=csv"];
    succeeded(&tune);
    let endless = shader(&folder, &sum(1_500_000));
    for command in [&["inspect", &endless][..], &tune] {
        let ran = ran(command);
        assert!(ran.code == Some(2) && ran.err.contains("compiling it takes more than 256 MiB of stack"), "{ran:?}");
    }
}

#[test]
fn of_a_compilers_words_those_that_matter_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let many: String = (0..5000).map(|i| format!("b[0] = u{i};\n")).collect();
    for body in [many, format!("b[0] = {};", "x".repeat(100_000)), format!("\n#error {}\n", "y".repeat(1_000_000))] {
        let ran = ran(&["inspect", &shader(&folder, &body)]);
        assert!(ran.code == Some(2) && ran.err.contains("shader.comp:") && ran.err.len() < 8000, "{}", ran.err);
    }
}
