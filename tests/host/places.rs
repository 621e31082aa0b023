//! Files that somebody else has put in place: each place that reads or writes one meets each kind of file (all of them in `scripts/test.sh --full`). Nothing hangs, nothing fills
//! the memory, nothing follows a link that it shouldn't, and what can't be used is refused in words.

#![cfg(unix)]

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use crate::support::form::sample;
use crate::support::{Ran, skip};

const BINARY: &str = env!("CARGO_BIN_EXE_lanescope");

/// Far longer than any of these commands takes, in seconds; and more memory than one needs, in KiB.
const DEADLINE: u32 = 60;
const MEMORY: u32 = 4 << 20;

const SHADER: &str = "#version 460\n#extension GL_GOOGLE_include_directive : require\nlayout(local_size_x = 64) in;\n\
                      layout(binding = 0) buffer A { float a[]; };\nlayout(binding = 1) buffer B { float b[]; };\n\
                      void main() { b[gl_GlobalInvocationID.x] = a[gl_GlobalInvocationID.x]; }\n";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Regular,
    Empty,
    Pipe,
    Folder,
    /// By a link, since only root makes devices.
    Zero,
    LinkToRegular,
    LinkToPipe,
    LinkToFolder,
    LinkToNothing,
    LoopOfLinks,
    /// A terabyte that takes no room.
    Huge,
    Unreadable,
    /// A right one that this user may read.
    OtherUsers,
    /// A right one of another user's that everybody may write to.
    PutThere,
    /// A right one that has another name as well.
    HardLink,
    Socket,
}

use Kind::{
    Empty, Folder, HardLink, Huge, LinkToFolder, LinkToNothing, LinkToPipe, LinkToRegular, LoopOfLinks, OtherUsers, Pipe,
    PutThere, Regular, Socket, Unreadable, Zero,
};

/// Those that each user can put there.
const KINDS: [Kind; 13] = [
    Regular,
    Empty,
    Pipe,
    Folder,
    Zero,
    LinkToRegular,
    LinkToPipe,
    LinkToFolder,
    LinkToNothing,
    LoopOfLinks,
    Huge,
    HardLink,
    Socket,
];

impl Kind {
    /// Puts it at a path; `text` is what a right file holds.
    fn put(self, path: &Path, text: &str) {
        let beside = path.with_file_name("beside");
        match self {
            Regular | OtherUsers => fs::write(path, text).unwrap(),
            Empty => drop(File::create(path).unwrap()),
            Pipe => pipe(path),
            Folder => fs::create_dir(path).unwrap(),
            Zero => symlink("/dev/zero", path).unwrap(),
            LinkToRegular => {
                fs::write(&beside, text).unwrap();
                symlink(beside, path).unwrap();
            }
            LinkToPipe => {
                pipe(&beside);
                symlink(beside, path).unwrap();
            }
            PutThere => {
                fs::write(path, text).unwrap();
                fs::set_permissions(path, Permissions::from_mode(0o666)).unwrap();
                chown(path, Some(SOMEBODY), None).unwrap();
            }
            HardLink => {
                fs::write(&beside, text).unwrap();
                fs::hard_link(beside, path).unwrap();
            }
            Socket => {
                // A socket's path must be short.
                let short = path.parent().unwrap().join("s");
                drop(UnixListener::bind(&short).unwrap());
                fs::rename(short, path).unwrap();
            }
            LinkToFolder => {
                fs::create_dir(&beside).unwrap();
                symlink(beside, path).unwrap();
            }
            LinkToNothing => symlink(beside, path).unwrap(),
            LoopOfLinks => symlink(path, path).unwrap(),
            Huge => File::create(path).unwrap().set_len(1 << 40).unwrap(),
            Unreadable => {
                fs::write(path, text).unwrap();
                fs::set_permissions(path, Permissions::from_mode(0o000)).unwrap();
            }
        }
    }
}

/// Another user yet, and whether a file can be made one of theirs.
const SOMEBODY: u32 = 65533;
static CAN_GIVE_AWAY: LazyLock<bool> =
    LazyLock::new(|| chown(tempfile::NamedTempFile::new().unwrap().path(), Some(SOMEBODY), None).is_ok());

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// Another user than root, who may read all; nothing where there is none, or the program can't be run by others.
static NOBODY: LazyLock<Option<&str>> = LazyLock::new(|| {
    let nobody = "setpriv --reuid=65534 --clear-groups --";
    if !rustix::process::geteuid().is_root() {
        return Some("");
    }
    let ran = Command::new("sh").args(["-c", &format!("exec {nobody} '{BINARY}' schema")]).stdout(Stdio::null()).status();
    ran.is_ok_and(|status| status.success()).then_some(nobody)
});

/// Runs it in a folder, with a deadline and little memory.
fn bounded(folder: &Path, user: &str, arguments: &str) -> Ran {
    let script = format!("ulimit -v {MEMORY}; exec timeout -s KILL {DEADLINE} {user} '{BINARY}' {arguments}");
    let mut command = Command::new("sh");
    command.args(["-c", &script]).current_dir(folder).stdin(Stdio::null()).env("RUST_BACKTRACE", "0");
    let ran: Ran = command.output().unwrap().into();
    assert!(ran.code.is_some_and(|code| code <= 2) && !ran.err.contains("panicked"), "{arguments}: {ran:?}");
    ran
}

#[derive(Clone, Copy, Debug)]
enum Outcome {
    /// It does what it is for.
    Works,
    /// The same, and what it writes is in the file that bears another name as well.
    WritesThrough,
    Refused(&'static str),
    Noted(&'static str),
    /// It depends on what the file is for; in any case it ends by itself.
    Ends,
}

use Outcome::{Ends, Noted, Refused, Works, WritesThrough};

struct Place {
    /// What is run; `FILE` stands for the path, `OTHER` for that of a right file.
    arguments: &'static str,
    file: &'static str,
    text: fn() -> String,
    rule: fn(Kind) -> Outcome,
}

const fn reads(arguments: &'static str, file: &'static str, text: fn() -> String, rule: fn(Kind) -> Outcome) -> Place {
    Place { arguments, file, text, rule }
}

/// A place where it doesn't matter what a right file holds.
const fn writes(arguments: &'static str, file: &'static str, rule: fn(Kind) -> Outcome) -> Place {
    Place { arguments, file, text: String::new, rule }
}

fn include() -> String {
    "#define UNUSED 1\n".to_owned()
}

fn rows() -> String {
    recorded("lavapipe")
}

fn recorded(name: &str) -> String {
    fs::read_to_string(crate::support::data(&format!("{name}.csv"))).unwrap()
}

/// What is read in whole or row by row.
fn read(kind: Kind) -> Outcome {
    match kind {
        Regular | LinkToRegular | OtherUsers | PutThere | HardLink => Works,
        Empty => Ends,
        Socket => Refused("it is a socket"),
        Pipe | LinkToPipe => Refused("it is a pipe"),
        Folder | LinkToFolder => Refused("it is a folder"),
        Zero => Refused("it is a device"),
        LinkToNothing => Refused("No such file or directory"),
        LoopOfLinks => Refused("Too many levels of symbolic links"),
        Huge => Refused("at most"),
        Unreadable => Refused("Permission denied"),
    }
}

fn read_or_empty(kind: Kind) -> Outcome {
    if kind == Empty { Works } else { read(kind) }
}

/// Rows have no end: a line has one.
fn read_rows(kind: Kind) -> Outcome {
    if kind == Huge { Refused("line 1 is longer than 16 MiB") } else { read(kind) }
}

/// An include may lie elsewhere where nothing that can be one is here.
fn included(kind: Kind) -> Outcome {
    match kind {
        Empty => Works,
        Folder | LinkToFolder | LinkToNothing => Refused("no `file.glsl` beside"),
        _ => read(kind),
    }
}

/// What isn't meant isn't looked at.
fn passed_over(_: Kind) -> Outcome {
    Works
}

/// A file of data has the size of its buffer.
fn data(kind: Kind) -> Outcome {
    if kind == Empty { Refused("has 0 bytes, the buffer 4096") } else { read(kind) }
}

/// A folder may bear the name of a value.
fn reference(kind: Kind) -> Outcome {
    match kind {
        Empty => Refused("has 0 bytes"),
        Folder => Refused("there is no axis `B`"),
        _ => read(kind),
    }
}

/// An earlier run's rows that aren't there are measured.
fn resumed(kind: Kind) -> Outcome {
    match kind {
        Empty => Works,
        LinkToRegular | LinkToNothing => WritesThrough,
        // Whether it is there can't be told, and then it can't be written.
        LoopOfLinks => Refused("file.csv"),
        _ => read_rows(kind),
    }
}

/// A table that isn't there is begun.
fn table(kind: Kind) -> Outcome {
    match kind {
        LinkToRegular | LinkToNothing => WritesThrough,
        Empty => Refused("is no tuning table"),
        _ => read(kind),
    }
}

/// What is written to, as the user named it.
fn written(kind: Kind) -> Outcome {
    match kind {
        Regular | Empty | Zero | Huge | PutThere => Works,
        LinkToRegular | LinkToNothing | HardLink => WritesThrough,
        Socket => Refused("it is a socket"),
        Pipe | LinkToPipe => Refused("it is a pipe that nobody reads"),
        Folder | LinkToFolder => Refused("Is a directory"),
        LoopOfLinks => Refused("Too many levels of symbolic links"),
        Unreadable | OtherUsers => Refused("Permission denied"),
    }
}

/// What is replaced as a whole once it is written.
fn replaced(kind: Kind) -> Outcome {
    match kind {
        Folder | LinkToFolder => Refused("irectory"),
        Unreadable | OtherUsers | HardLink => Works,
        // The link itself is replaced.
        LoopOfLinks => Ends,
        _ => written(kind),
    }
}

const TRAP: &str = "no regular file";

/// A file of this program's own, which is to be replaced whatever it holds.
fn own(kind: Kind) -> Outcome {
    match kind {
        Regular | Empty | Huge => Works,
        Unreadable | OtherUsers => Refused("Permission denied"),
        PutThere => Refused("it is another user's"),
        HardLink => Works,
        _ => Refused(TRAP),
    }
}

/// A file of this program's own that another takes the place of.
fn made_anew(kind: Kind) -> Outcome {
    match kind {
        Unreadable | OtherUsers | PutThere | HardLink => Works,
        _ => own(kind),
    }
}

/// What nothing is read of nor written to, whoever's it is.
fn lock(kind: Kind) -> Outcome {
    if matches!(kind, OtherUsers | PutThere | HardLink) { Works } else { own(kind) }
}

/// What only helps to go on later.
fn progress(kind: Kind) -> Outcome {
    match own(kind) {
        Refused(words) => Noted(words),
        other if kind == Empty => other,
        // It isn't this program's, and is left alone.
        _ => Refused("is no file of lanescope's"),
    }
}

/// A folder that is to be written into, and is made where there is none. A link that leads nowhere is no place for one.
fn folder(kind: Kind) -> Outcome {
    match kind {
        Folder | LinkToFolder => Works,
        _ => Refused("no folder has this name"),
    }
}

const PLACES: [Place; 39] = [
    reads("inspect FILE", "file.comp", || SHADER.to_owned(), read),
    reads("inspect OTHER.comp --preamble FILE", "file.glsl", include, read_or_empty),
    reads("inspect INCLUDING.comp", "file.glsl", include, included),
    reads("inspect COMMENTED.comp", "file.glsl", include, passed_over),
    reads("merge FILE -o out.csv", "file.csv", rows, read_rows),
    reads("card FILE", "file.csv", rows, read_rows),
    reads("report -q FILE -o out.html", "file.csv", rows, read_rows),
    reads("report -q FILE OTHER.csv --figures shots", "file.csv", rows, read_rows),
    writes("report OTHER.csv --figures FILE", "shots", folder),
    writes("report OTHER.csv --figures shots", "shots/memory-stream.svg", made_anew),
    reads("compare FILE OTHER.csv", "file.csv", rows, read_rows),
    reads("compare OTHER.csv FILE", "file.csv", rows, read_rows),
    reads("RUN -q --cases FILE", "file.txt", || CASE.clone(), read),
    reads(
        "RUN -q --limits FILE",
        "file.toml",
        || {
            "[[device]]\nnames = [\"none*\"]\nclock = \"nominal\"\nunits = 64\nclock_mhz = 2500\n[device.published]\nmemory = 960\n".to_owned()
        },
        read,
    ),
    writes("RUN -q -o FILE", "file.csv", written),
    writes("RUN -q --samples FILE", "file.csv", written),
    writes("RUN -q --isa FILE", "code", folder),
    writes("RUN -q --dump FILE", "shots", folder),
    writes("DUMP --no-lock --dump shots", "shots/PICTURE", made_anew),
    reads("RUN -q --resume FILE", "file.csv", || HEADER.clone(), resumed),
    reads("RUN --resume out.csv", "out.csv.progress", || "mine".to_owned(), progress),
    writes("RUN -q --resume OTHER2.csv", "OTHER2.csv.copy.part", own),
    writes("merge OTHER.csv -o FILE", "file.csv", replaced),
    writes("merge OTHER.csv -o out.csv", "out.csv.part", own),
    writes("card OTHER.csv -o out.txt", "out.txt.part", made_anew),
    writes("report OTHER.csv -o out.html", "out.html.part", made_anew),
    writes("report OTHER.csv -o FILE", "file.html", replaced),
    writes("compare -q ONE.csv TWO.csv --suspects FILE", "file.csv", replaced),
    writes("compare -q ONE.csv TWO.csv --suspects out.csv", "out.csv.part", made_anew),
    writes("compare OTHER.csv OTHER.csv -o out.csv", "out.csv.part", made_anew),
    reads("TUNE -q --manifest FILE", "file.toml", || "seed = 3\n".to_owned(), read_or_empty),
    reads("TUNE -q --buffer A=float[n]:file=FILE", "file.bin", || "1234".repeat(1024), data),
    reads("TUNE -q --reference B=FILE", "file.bin", || ZEROS.clone(), reference),
    reads("TUNE -q --save-table FILE", "file.json", || "{\"version\":1,\"entries\":[]}".to_owned(), table),
    writes("TUNE -q --save-table out.json", "out.json.lock", lock),
    writes("TUNE -q --save-table out.json", "out.json.part", made_anew),
    writes("TUNE -q --t4 FILE", "file.json", |kind| {
        if matches!(kind, Folder | LinkToFolder) { Refused("it is a folder") } else { replaced(kind) }
    }),
    writes("TUNE -q --t4 out.json", "out.json.part", made_anew),
    writes("man pages", "pages/lanescope-run.1", made_anew),
];

/// The one case that `RUN` measures.
static CASE: LazyLock<String> =
    LazyLock::new(|| crate::support::measured(&[&["-d", "mock"], &CASES_AXES[..]].concat())[0].case_id.clone());
const CASES_AXES: [&str; 3] = ["workgroup/linear", "-an=4096", "-alocal_size_x=64"];

/// The header line of its rows.
static HEADER: LazyLock<String> = LazyLock::new(|| {
    let out = crate::support::succeeded(&[&["run", "-d", "mock", "--format=csv"], &CASES_AXES[..]].concat()).out;
    out.lines().next().unwrap().to_owned() + "\n"
});

/// A run that makes a picture, and the name that its file has.
const DUMP: &str = "run algo/raytrace:bounded -d mock --preset quick -q --format csv --max-noise 0.5";
static PICTURE: LazyLock<String> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let arguments: Vec<&str> = DUMP.split(' ').chain(["--dump", folder.path().to_str().unwrap()]).collect();
    crate::support::succeeded(&arguments);
    fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().file_name().into_string().unwrap()
});

/// What the reference of `TUNE` is: a buffer as the mock leaves it.
static ZEROS: LazyLock<String> = LazyLock::new(|| "\0".repeat(4096));

/// Writes what commands need, and gives the command line for a file.
fn prepare(folder: &Path, place: &Place) -> (PathBuf, String) {
    fs::set_permissions(folder, Permissions::from_mode(0o777)).unwrap();
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    write("OTHER.comp", SHADER);
    write("OTHER.csv", &rows());
    write("OTHER2.csv", &HEADER);
    if place.arguments.contains("ONE.csv") {
        write("ONE.csv", &recorded("nvidia-h100-overview-1"));
        write("TWO.csv", &recorded("nvidia-h100-overview-2"));
    }
    write("INCLUDING.comp", &SHADER.replace("layout(local", "#include \"file.glsl\"\nlayout(local"));
    write(
        "COMMENTED.comp",
        &SHADER.replace("layout(local", "// #include \"file.glsl\"\n/*\n#include \"file.glsl\"\n*/\nlayout(local"),
    );
    let run = format!("run -d mock --no-lock {}", CASES_AXES.join(" "));
    let run = if place.arguments.contains("-o ") || place.arguments.contains("--resume") {
        run
    } else {
        format!("{run} --format csv")
    };
    let tune = "tune OTHER.comp -d mock -n 1024 --preset quick --no-lock --format csv -a local_size_x=64,128";
    let arguments =
        place.arguments.replace("FILE", place.file).replace("RUN", &run).replace("DUMP", DUMP).replace("TUNE", tune);
    let name = if place.file.contains("PICTURE") { place.file.replace("PICTURE", &PICTURE) } else { place.file.to_owned() };
    let path = folder.join(name);
    let parent = path.parent().unwrap();
    fs::create_dir_all(parent).unwrap();
    fs::set_permissions(parent, Permissions::from_mode(0o777)).unwrap();
    (path, arguments)
}

#[test]
fn every_place_meets_every_kind_of_file() {
    every_place_meets(&KINDS, "");
}

#[test]
fn every_place_meets_files_that_another_user_keeps() {
    let Some(nobody) = *NOBODY else { skip!("root reads all, and nobody else can run {BINARY}") };
    every_place_meets(&[Unreadable, OtherUsers], nobody);
}

#[test]
fn every_place_meets_files_that_another_user_put_there() {
    if !*CAN_GIVE_AWAY {
        skip!("this user can't give a file away");
    }
    every_place_meets(&[PutThere], "");
}

/// Runs each place's command, as this user, where its file is of each of these kinds.
fn every_place_meets(kinds: &[Kind], user: &str) {
    let mut wrong = Vec::new();
    // Three and the number of kinds have no divisor in common: each place meets some, and each kind is met at some places.
    for (place, &kind) in sample(PLACES.iter().flat_map(|place| kinds.iter().map(move |kind| (place, kind))), 3, 3) {
        let folder = tempfile::tempdir().unwrap();
        let (path, arguments) = prepare(folder.path(), place);
        kind.put(&path, &(place.text)());
        let ran = bounded(folder.path(), user, &arguments);
        let outcome = (place.rule)(kind);
        let all = || format!("{}{}", ran.err, ran.out);
        let beside = path.with_file_name("beside");
        let is_left = |is_left: bool| !beside.is_file() || (fs::read(&beside).unwrap() == (place.text)().as_bytes()) == is_left;
        let is_right = match outcome {
            WritesThrough => ran.code == Some(0) && is_left(false),
            _ if !is_left(true) => false,
            Works => ran.code == Some(0),
            Refused(words) => ran.code != Some(0) && all().contains(words),
            Noted(words) => ran.code == Some(0) && ran.err.contains(words),
            Ends => true,
        };
        if !is_right {
            wrong.push(format!("{arguments} ({kind:?}): {outcome:?}, but {:?}: {}", ran.code, ran.err.trim()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A command whose standard input is this; gives what came of it.
fn fed(arguments: &[&str], input: impl Into<Stdio>) -> Ran {
    let mut command = Command::new("sh");
    let script = format!("ulimit -v {MEMORY}; exec timeout -s KILL {DEADLINE} '{BINARY}' \"$@\"");
    command.args(["-c", &script, "sh"]).args(arguments).stdin(input).output().unwrap().into()
}

#[test]
fn what_is_read_once_may_be_a_stream_with_an_end() {
    let folder = tempfile::tempdir().unwrap();
    let [shader, csv] = [("a.comp", SHADER), ("a.csv", &rows())].map(|(name, text)| {
        fs::write(folder.path().join(name), text).unwrap();
        folder.path().join(name)
    });
    let through_cat = |arguments: &[&str], path: &Path| {
        let mut cat = Command::new("cat").arg(path).stdout(Stdio::piped()).spawn().unwrap();
        let ran = fed(arguments, cat.stdout.take().unwrap());
        cat.wait().unwrap();
        ran
    };
    let zero = || File::open("/dev/zero").unwrap();
    for (arguments, file, endless) in [
        (&["inspect", "/dev/stdin"][..], &shader, "more than 32 MiB"),
        (&["card", "/dev/stdin"], &csv, "longer than 16 MiB"),
        (&["compare", "/dev/stdin", csv.to_str().unwrap()], &csv, "longer than 16 MiB"),
        (&["compare", "-", csv.to_str().unwrap()], &csv, "longer than 16 MiB"),
    ] {
        through_cat(arguments, file).says(0, &[]);
        fed(arguments, zero()).says(2, &[endless]);
    }
    through_cat(&["tune", "/dev/stdin", "-d", "mock", "-n", "64"], &shader).says(2, &["a shader is read more than once"]);
}

/// The file that standard output goes to already isn't replaced: what is written by its name comes behind what was written before.
#[test]
fn the_file_of_standard_output_is_kept_where_its_name_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let [rows_file, out] = ["a.csv", "out"].map(|name| folder.path().join(name));
    fs::write(&rows_file, rows()).unwrap();
    fs::write(&out, "before\n").unwrap();
    let to = fs::OpenOptions::new().append(true).open(&out).unwrap();
    let rows_file = rows_file.to_str().unwrap();
    let ended = Command::new(BINARY).args(["report", rows_file, "-o", "/dev/stdout"]).stdout(to).status().unwrap();
    let text = fs::read_to_string(&out).unwrap();
    assert!(ended.success() && text.starts_with("before\n") && text.contains("</html>"), "{text}");
}

/// Until it is read, there is nothing to end.
#[test]
fn a_stream_that_nobody_writes_to_can_be_left() {
    use std::os::unix::process::ExitStatusExt;
    for arguments in
        [&["run", "-d", "mock", "--cases", "/dev/stdin"][..], &["tune", "a.comp", "-d", "mock", "--manifest", "/dev/stdin"]]
    {
        let mut child = Command::new(BINARY).args(arguments).stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let pid = rustix::process::Pid::from_child(&child);
        // It reads by then, or ends even sooner.
        std::thread::sleep(std::time::Duration::from_millis(500));
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let ended = (0..1000).find_map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            child.try_wait().unwrap()
        });
        let _ = child.kill();
        assert_eq!(ended.and_then(|status| status.signal()), Some(15), "{arguments:?}");
    }
}
