//! What users and systems do that nobody meant: the answer is an error in words, never a panic or a signal.

use crate::support::{Ran, ran, succeeded, typed};

fn is_calm(ran: &Ran) -> bool {
    ran.code.is_some_and(|code| code <= 2) && !ran.err.contains("panicked")
}

#[test]
fn globs_that_nest_without_end_are_refused() {
    for depth in [17, 126, 1000, 20_000] {
        let glob = "{a,".repeat(depth) + &"}".repeat(depth);
        for command in [&["list"][..], &["run", "-d", "mock", "--dry-run"]] {
            let ran = ran(&[command, &[glob.as_str()]].concat()).says(2, &["` is no valid "]);
            assert!(ran.err.len() < 300, "it shows the beginning alone");
        }
    }
    let gate = ["compare", "tests/data/lavapipe.csv", "tests/data/lavapipe.csv", "--fail-on"];
    ran(&[&gate[..], &[&format!("slower:5%:{}", "{a,".repeat(200))]].concat()).says(2, &["inside of each other"]);
    let mock = ran(&["run", "workgroup/linear", "-d", &format!("mock:wrong={}", "{a;".replace(';', ",").repeat(200))]);
    assert!(is_calm(&mock) && mock.code == Some(2), "{}", mock.err);
}

#[test]
fn times_that_no_clock_reaches_are_refused() {
    let small = ["run", "workgroup/linear", "-d", "mock", "--dry-run"];
    for flag in ["--timeout", "--first-timeout", "--max-time", "--wait"] {
        ran(&[&small[..], &[&format!("{flag}=18446744073709551615s")]].concat()).says(2, &["100 years"]);
    }
    let long =
        ["run", "-q", "workgroup/linear", "-d", "mock", "-a=n=4096", "-a=local_size_x=64", "--format=csv", "--max-noise=0.5"];
    succeeded(&[&long[..], &["--timeout=36499days", "--first-timeout=36499days"]].concat());
}

/// All combinations of a few axes may be more cases than there are bytes on a disk.
#[test]
fn a_plan_without_end_is_refused_before_anything_is_written() {
    let folder = crate::support::Folder::new();
    let file = folder.path("rows.csv");
    let rows = format!("-o={}", file.display());
    let axes = ["-a=n=1..10000", "-a=local_size_x=1..10000"];
    let run = [&["run", "workgroup/linear", "-d", "mock", "-q", &rows][..], &axes].concat();
    ran(&[&run[..], &["--dry-run"]].concat())
        .says(2, &["the plan has 100000000 cases, whose rows take 51.2 GiB, and --max-cases allows 1000000"]);
    ran(&run).says(2, &["the plan has 100000000 cases and --max-cases allows 1000000"]);
    assert!(!file.exists());
    let few = ["run", "workgroup/linear", "-d", "mock", "--dry-run", "--format=csv", "-a=n=4096", "-a=local_size_x=32,64,128"];
    ran(&[&few[..], &["--max-cases=2"]].concat()).says(2, &["has 3 cases"]);
    succeeded(&[&few[..], &["--max-cases=3"]].concat());
}

/// A slip in a command line costs nothing that was there before.
#[test]
fn nothing_is_written_over_what_is_read() {
    const SHADER: &str = "#version 460\n#extension GL_GOOGLE_include_directive : require\n#include \"part.csv\"\nlayout(local_size_x = 64) in;\n\
                          layout(binding = 0) readonly buffer A { float a[]; };\nlayout(binding = 1) buffer B { float b[]; };\n\
                          void main() { b[gl_GlobalInvocationID.x] = a[gl_GlobalInvocationID.x]; }\n";
    let folder = crate::support::Folder::new();
    let write = |name: &str, text: &str| folder.write(name, text);
    let (shader, part, before) =
        (write("a.csv", SHADER), write("part.csv", "// A part.\n"), write("before.csv", "// Before.\n"));
    let (data, expected) = (write("data.csv", &"1234".repeat(1024)), write("expected.csv", &"1234".repeat(1024)));
    let manifest = write("manifest.csv", &format!("shader = {shader:?}\nn = 1024\n"));
    let fill = format!("--buffer=A=:file={data}");
    let reference = format!("--reference=B={expected}");
    let search = typed("tune -d mock -n 1024 -a=local_size_x=64 --preset=quick -q --no-lock --manifest");
    let search = [&search[..], &[&manifest, "--preamble", &before, &fill, &reference]].concat();
    for (file, what) in [
        (&shader, "the shader"),
        (&part, "what the shader includes"),
        (&before, "the preamble"),
        (&data, "data"),
        (&expected, "the reference"),
        (&manifest, "the manifest"),
    ] {
        let text = std::fs::read_to_string(file).unwrap();
        for flag in ["-o", "--t4", "--save-table"] {
            ran(&[&search[..], &[flag, file]].concat()).says(2, &[&format!("holds {what}: name another file")]);
            assert_eq!(std::fs::read_to_string(file).unwrap(), text);
        }
    }
    let new = folder.at("new.csv");
    for flags in [["-o", "--t4"], ["--t4", "--save-table"], ["--resume", "--t4"]] {
        ran(&[&search[..], &[flags[0], &new, flags[1], &new]].concat()).says(2, &["is given twice, by --"]);
    }
    assert!(!folder.path("new.csv").exists());
    let small = ["run", "workgroup/linear", "-d", "mock", "-a=n=4096", "-a=local_size_x=64", "--preset=quick", "-q"];
    let cases = write("cases.csv", &succeeded(&[&small[..], &["--format=csv"]].concat()).out);
    let limits = write("limits.toml", "[[device]]\nnames = [\"none\"]\nunits = 1\nclock = \"nominal\"\nclock_mhz = 1\n");
    for (flag, file, what) in [("--cases", &cases, "the cases"), ("--limits", &limits, "the limits")] {
        ran(&[&small[..], &[flag, file, "--samples", file]].concat()).says(2, &[&format!("holds {what}: name another file")]);
    }
    ran(&["merge", &cases, "--save-table", &cases]).says(2, &["holds the rows"]);
}

/// JSON, in which processes speak, has no number for these.
#[test]
fn a_buffer_may_be_filled_with_what_is_no_number() {
    let folder = tempfile::tempdir().unwrap();
    let copy = shader(&folder, "\nb[i] = 0;");
    for value in ["nan", "-inf", "1e999", "1.5"] {
        let fill = format!("--buffer=0=:constant={value}");
        succeeded(&["tune", &copy, "-d", "mock", "-n", "64", "-a=local_size_x=64", "--preset=quick", "-q", "--no-lock", &fill]);
    }
}

#[cfg(unix)]
mod on_unix {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use super::{Ran, is_calm};
    use crate::support::{ended, skip};

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
        behind("ulimit -f 8; exec", &run).says(1, &["can't write"]);
        // What was written before is there.
        assert!(std::fs::read_to_string(&file).unwrap().lines().count() > 1);
    }

    #[test]
    fn what_has_no_room_for_all_of_it_leaves_nothing() {
        let rows = format!("'{}/tests/data/nvidia-h100-overview-6.csv'", env!("CARGO_MANIFEST_DIR"));
        for arguments in ["report ROWS -o page.html", "report ROWS --figures .", "merge --partial ROWS -o merged.csv"] {
            let folder = tempfile::tempdir().unwrap();
            let there = format!("cd '{}'; ulimit -f 4; exec", folder.path().display());
            behind(&there, &arguments.replace("ROWS", &rows)).says(1, &["can't write"]);
            let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap()).collect();
            assert!(
                left.iter().all(|file| file.path().extension().is_some_and(|ending| ending == "svg")),
                "{arguments}: {left:?}"
            );
            let is_whole =
                |file: &std::fs::DirEntry| std::fs::read_to_string(file.path()).unwrap().trim_end().ends_with("</svg>");
            assert!(left.iter().all(is_whole), "{arguments}: {left:?}");
        }
    }

    /// Why the exit code isn't 0 is said in any case.
    #[cfg(target_os = "linux")]
    #[test]
    fn what_fails_beside_the_rows_is_said_quiet_or_not() {
        let folder = tempfile::tempdir().unwrap();
        let samples = folder.path().join("samples.csv");
        let run = "run workgroup/linear -d mock --preset quick -q --format csv -a n=4096 --no-lock --samples";
        let full =
            behind("ulimit -f 4; exec", &format!("{run} '{}'", samples.display())).says(1, &["no more samples are written"]);
        assert!(full.out.contains(",ok,"), "{full:?}");
    }

    /// Root has as many as it likes: then another user has so few.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_system_without_threads_is_told_of() {
        let is_root = rustix::process::geteuid().is_root();
        // One whose processes nobody else starts: other tests' would count, and come and go.
        let user = if is_root { "setpriv --reuid=65533 --clear-groups --" } else { "" };
        if behind(&format!("exec prlimit --nproc=4096 {user}"), "schema").code != Some(0) {
            skip!("there is no prlimit, no setpriv, or no other user may run {BINARY}");
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

    const SHADER: &str = "#version 460\n#extension GL_GOOGLE_include_directive : require\n#include \"size.glsl\"\n\
                          layout(local_size_x = SIZE) in;\nlayout(binding = 0) buffer A { uint a[]; };\n\
                          layout(binding = 1) readonly buffer B { uint b[]; };\n\
                          void main() { a[gl_GlobalInvocationID.x] = b[gl_GlobalInvocationID.x]; }\n";

    fn lanescope(arguments: &[&OsStr]) -> Ran {
        Command::new(BINARY).args(arguments).output().unwrap().into()
    }

    /// A folder whose name is no text, in a folder that goes when the test ends, and a second one that reads the same.
    fn nameless() -> (tempfile::TempDir, [PathBuf; 2]) {
        let folder = tempfile::tempdir().unwrap();
        let both = [&b"\xFF"[..], b"\xFE"].map(|name| folder.path().join(OsStr::from_bytes(name)));
        both.iter().for_each(|path| std::fs::create_dir(path).unwrap());
        (folder, both)
    }

    /// Each path that a search takes: each one alone has a name that is no text, and then all of them.
    #[test]
    fn a_search_takes_paths_that_are_no_text() {
        let (folder, [odd, other]) = nameless();
        let write = |place: &Path, name: &[u8], text: &[u8]| {
            let path = place.join(OsStr::from_bytes(name));
            std::fs::write(&path, text).unwrap();
            path
        };
        let plain = folder.path();
        for place in [plain, &odd] {
            write(place, b"size.glsl", b"#define SIZE 64\n");
            write(place, b"before.glsl", b"#define MEANT 1\n");
            write(place, b"held.bin", &[0; 4096]);
            write(place, b"one.comp", SHADER.as_bytes());
        }
        // A folder that reads the same has another file of this name.
        write(&other, b"size.glsl", b"#error of another folder\n");
        let without = write(&other, b"without\xC3.comp", SHADER.as_bytes());
        let tune = |shader: &Path, include: Option<&Path>, preamble: &Path, fill: &Path, reference: &Path| {
            let mut command = Command::new(BINARY);
            command.args(["tune", "-d", "mock", "-n", "1024", "-a", "local_size_x=32,64", "-q", "--format=csv", "--no-lock"]);
            command.arg(shader).arg("--preamble").arg(preamble).arg("--reference").arg(reference);
            if let Some(folder) = include {
                command.arg("-I").arg(folder);
            }
            let mut buffer = OsStr::new("b=uint[n]:file=").to_owned();
            buffer.push(fill);
            command.arg("--buffer").arg(buffer);
            let ran: Ran = command.output().unwrap().into();
            assert!(ran.code == Some(0) && ran.out.matches(",ok,").count() == 2, "{command:?}: {ran:?}");
        };
        let file = |place: &Path, name: &str| place.join(name);
        for odd_one in 0..5 {
            let place = |one| if one == odd_one { odd.as_path() } else { plain };
            let (shader, preamble) = (file(place(0), "one.comp"), file(place(1), "before.glsl"));
            let (fill, reference) = (file(place(2), "held.bin"), file(place(3), "one.comp"));
            tune(&shader, Some(place(4)), &preamble, &fill, &reference);
        }
        let (preamble, fill) = (file(&odd, "before.glsl"), file(&odd, "held.bin"));
        tune(&file(&odd, "one.comp"), None, &preamble, &fill, &file(&odd, "one.comp"));
        // The reference is a file of bytes.
        tune(&file(&odd, "one.comp"), None, &preamble, &fill, &fill);
        // An include that lies beside its file counts before one in a folder.
        let beside = [OsStr::new("inspect"), without.as_os_str(), OsStr::new("-I"), odd.as_os_str()];
        lanescope(&beside).says(2, &["'#error' : of another folder"]);
        std::fs::remove_file(file(&other, "size.glsl")).unwrap();
        assert_eq!(lanescope(&beside).code, Some(0));
        lanescope(&beside[..2]).says(2, &["without\u{FFFD}.comp"]);
    }

    #[test]
    fn a_manifest_may_lie_where_its_path_is_no_text() {
        let (_folder, [odd, _]) = nameless();
        std::fs::write(odd.join("one.comp"), SHADER.replace("#include \"size.glsl\"", "#define SIZE 64")).unwrap();
        std::fs::write(odd.join("held.bin"), [0; 4096]).unwrap();
        let manifest = odd.join("one.toml");
        let text = "shader = \"one.comp\"\nn = 1024\naxis = { local_size_x = [32, 64] }\nreference = \"one.comp\"\n\
                    output = \"rows.csv\"\nbuffer = [\"b=uint[n]:file=held.bin\"]\n";
        std::fs::write(&manifest, text).unwrap();
        let flags = ["tune", "-d", "mock", "-q", "--no-lock", "--manifest"].map(OsStr::new);
        lanescope(&[&flags[..], &[manifest.as_os_str()]].concat()).says(0, &[]);
        assert_eq!(std::fs::read_to_string(odd.join("rows.csv")).unwrap().matches(",ok,").count(), 2);
    }

    #[test]
    fn pictures_go_to_a_folder_whose_name_is_no_text() {
        let (_folder, [odd, _]) = nameless();
        let dump = odd.join("new");
        let run = ["run", "algo/raytrace:bounded", "-d", "mock", "--preset=quick", "-q", "--format=csv", "--no-lock", "--dump"];
        let ran = lanescope(&[&run.map(OsStr::new)[..], &[dump.as_os_str()]].concat());
        assert!(ran.code == Some(0) && ran.out.contains(",ok,"), "{ran:?}");
        assert!(std::fs::read_dir(&dump).unwrap().count() > 0);
    }

    /// The loader answers all of these with the same error, waits for a pipe for ever, and takes what is no JSON for a lack of memory.
    #[test]
    fn what_is_no_driver_is_told_of() {
        if lanescope(&[OsStr::new("devices")]).err.contains("can't load the Vulkan loader") {
            skip!("there is no Vulkan loader");
        }
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let naming = |library: &str| format!("{{\"ICD\":{{\"library_path\":\"{library}\",\"api_version\":\"1.3.0\"}}}}");
        write("library.so", "a text");
        let pipe = folder.path().join("pipe.json");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
        let device = folder.path().join("zero.json");
        std::os::unix::fs::symlink("/dev/zero", &device).unwrap();
        let plain = folder.path().join("none");
        std::fs::create_dir(&plain).unwrap();
        for (path, part) in [
            (write("text.json", "a text"), "text.json: it is no JSON"),
            (write("empty.json", ""), "empty.json: it is no JSON"),
            (write("no_library.json", &naming("./library.so")), "library.so, which is no library"),
            (write("nothing.json", &naming("./gone.so")), "gone.so, which can't be read"),
            (write("c.json", &naming("libc.so.6")), "c.json, none of which is a Vulkan driver"),
            (write("huge.json", &" ".repeat(2 << 20)), "huge.json: it has 2 MiB"),
            ("/etc/passwd".into(), "/etc/passwd: it is no JSON"),
            ("/dev/zero".into(), "/dev/zero: it is a device"),
            (device, "zero.json: it is a device"),
            (pipe, "pipe.json: it is a pipe"),
            (plain, "it tried no file"),
            (folder.path().join("missing.json"), "missing.json: it can't be read"),
        ] {
            for arguments in
                [&["devices"][..], &["run", "calibration/empty", "--no-lock"], &["run", "calibration/empty", "--no-isolate"]]
            {
                let begin = std::time::Instant::now();
                let mut command = Command::new(BINARY);
                let ran = ended(command.args(arguments).env("VK_DRIVER_FILES", &path)).says(2, &[part, "VK_DRIVER_FILES"]);
                assert!(!ran.err.contains("smaller sizes") || !ran.err.starts_with("error: vk"), "{path:?}: {ran:?}");
                assert!(begin.elapsed() < std::time::Duration::from_secs(20), "{path:?}");
            }
        }
    }
}

const HEAD: &str = "#version 460\nlayout(local_size_x = 64) in;\nlayout(binding = 0) buffer B { uint b[]; };\n";

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
        ran(command).says(2, &["compiling it takes more than 256 MiB of stack"]);
    }
}

/// Found by changing modules by chance: one byte of the memory for each of the block, twice, before the device's limits were looked at.
#[test]
fn blocks_of_gigabytes_are_not_filled_member_by_member() {
    let folder = tempfile::tempdir().unwrap();
    for block in
        ["layout(binding = 1) uniform Big { vec4 x[1 << 27]; };", "layout(push_constant) uniform Big { vec4 x[1 << 27]; };"]
    {
        let path = folder.path().join("big.comp");
        std::fs::write(
            &path,
            format!("{HEAD}{block}\nvoid main() {{ b[gl_GlobalInvocationID.x] = uint(x[b.length()].x); }}\n"),
        )
        .unwrap();
        ran(&["tune", path.to_str().unwrap(), "-d", "mock", "-n", "64", "-q", "--no-lock", "--format=csv"])
            .says(2, &["`Big`", ": 2 GiB, of which at most 1 MiB can be filled member by member"]);
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
