//! Files that were right once and were changed by chance, and what the whole program makes of them: an answer or words, never a panic, a
//! signal or a hang. In the suite a few of each; `LANESCOPE_FUZZ_SECONDS=600 cargo test --test host mutated:: -- --nocapture` takes as long as
//! it says for each, and LANESCOPE_TEST_SEED begins elsewhere.

#![cfg(unix)]
#![expect(clippy::print_stdout, reason = "whoever lets them run for long wants to know how many there were")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use lanescope::shader::{Reading, from_file, validate};
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::fuzz::mutate;
use crate::support::form::sample;
use crate::support::processes::Family;
use crate::support::{Folder, Ran, succeeded, to_bytes, to_words, typed};

const BINARY: &str = env!("CARGO_BIN_EXE_lanescope");

/// What any of these commands takes at most, in seconds and in KiB.
const DEADLINE: u32 = 120;
const MEMORY: u32 = 6 << 20;

/// A command, and a file for it that is changed again and again.
struct Target<'t> {
    name: &'t str,
    folder: &'t Folder,
    /// The file's name, and what it holds where it is right: one of these.
    file: &'t str,
    right: &'t [Vec<u8>],
    arguments: &'t str,
    /// Other files, which each run begins with.
    beside: &'t [(&'t str, &'t [u8])],
    /// What a run leaves behind.
    left_behind: &'t [&'t str],
    /// How many such targets a test has: they share its time.
    sharing: u32,
}

impl Target<'_> {
    /// Runs it with each right file, which must do, and then with changed ones.
    fn try_out(&self, mut change: impl FnMut(&[u8], &mut ChaCha8Rng) -> Vec<u8>) {
        let seconds: Option<u32> = std::env::var("LANESCOPE_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
        let seed: u64 = std::env::var("LANESCOPE_TEST_SEED").map_or(1, |seed| seed.parse().unwrap());
        let name = self.name;
        let time = seconds.map(|seconds| Duration::from_secs(seconds.into()) / self.sharing);
        for right in self.right {
            let (ran, _) = self.run(right);
            assert_eq!(ran.code, Some(0), "{name}: {ran:?}");
        }
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let started = Instant::now();
        let changing = (0_u64..).map_while(|count| {
            let is_next = time.map_or(count < u64::from(8 / self.sharing), |time| started.elapsed() < time);
            is_next.then(|| change(self.right.choose(&mut random).unwrap(), &mut random))
        });
        self.try_each(changing);
    }

    fn try_each(&self, files: impl Iterator<Item = Vec<u8>>) {
        let name = self.name;
        let (mut count, mut accepted, mut slowest) = (0_u32, 0_u32, Duration::ZERO);
        for bytes in files {
            let (ran, took) = self.run(&bytes);
            let said = [&ran.err, &ran.out];
            if ran.code.is_none_or(|code| code > 3) || said.iter().any(|text| text.contains("panicked")) {
                let kept = std::env::temp_dir().join(format!("lanescope-{name}-finding"));
                fs::write(&kept, &bytes).unwrap();
                panic!("{name}, change {count} (kept as {}): {ran:?}", kept.display());
            }
            count += 1;
            accepted += u32::from(ran.code == Some(0));
            slowest = slowest.max(took);
        }
        println!("{name}: {count} changed files, {accepted} of them taken, none in more than {:.1} s", slowest.as_secs_f64());
    }

    fn run(&self, bytes: &[u8]) -> (Ran, Duration) {
        let Self { folder, file, arguments, .. } = self;
        self.beside.iter().for_each(|(name, bytes)| drop(folder.write(name, bytes)));
        folder.write(file, bytes);
        let script = format!("ulimit -v {MEMORY}; exec timeout -s KILL {DEADLINE} '{BINARY}' {arguments}");
        let mut command = Command::new("sh");
        command.args(["-c", &script]).current_dir(folder.path("")).stdin(Stdio::null()).env("RUST_BACKTRACE", "0");
        let began = Instant::now();
        let output = command.output().unwrap();
        let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        self.left_behind.iter().for_each(|name| drop(fs::remove_file(folder.path(name))));
        (Ran { code: output.status.code(), out, err, ..Ran::default() }, began.elapsed())
    }
}

/// What means something in one of these files or another.
static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let alone = r#"" ' = , : [ ] { } ( ) # \ /* */ // é 0 -1 1e308 nan 18446744073709551615 9999999999999999999999 4294967296 2^63 n
                   local_size_x file=/dev/zero buffer axis null true ok"#;
    let mut words = typed(alone);
    words.extend(["\n", "\0", "\u{1b}[31m", "#include \"part.glsl\"\n", "#include \"changed.comp\"\n", "#version 460\n"]);
    words.extend(["#define A A A\n", "#extension all : enable\n", "shader = ", "layout(local_size_x = 65536) in;\n"]);
    words.push("layout(local_size_x_id = 4294967295) in;\n");
    words
});

fn changed(text: &[u8], random: &mut ChaCha8Rng) -> Vec<u8> {
    let mut text = text.to_vec();
    for _ in 0..random.random_range(1..5) {
        let place = random.random_range(0..=text.len());
        let end = (place + random.random_range(0..40)).min(text.len());
        match random.random_range(0..7) {
            0 => drop(text.drain(place..end)),
            1 => {
                let copy = text[place..end].to_vec();
                let to = random.random_range(0..=text.len());
                text.splice(to..to, copy);
            }
            2 => drop(text.splice(place..place, WORDS.choose(random).unwrap().bytes())),
            3 if place < text.len() => text[place] = random.random(),
            4 => change_a_number(&mut text, random),
            5 => swap_lines(&mut text, random),
            _ => drop(text.splice(place..end, WORDS.choose(random).unwrap().bytes())),
        }
    }
    text
}

fn change_a_number(text: &mut Vec<u8>, random: &mut ChaCha8Rng) {
    let begins = |place: &usize| text[*place].is_ascii_digit() && (*place == 0 || !text[*place - 1].is_ascii_digit());
    let numbers: Vec<usize> = (0..text.len()).filter(begins).collect();
    let Some(start) = numbers.choose(random).copied() else { return };
    let end = (start..text.len()).find(|place| !text[*place].is_ascii_digit()).unwrap_or(text.len());
    let number =
        ["0", "1", "-1", "3", "2147483648", "4294967295", "18446744073709551615", "1e400", "0.1", ""].choose(random).unwrap();
    text.splice(start..end, number.bytes());
}

fn swap_lines(text: &mut Vec<u8>, random: &mut ChaCha8Rng) {
    let mut lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let (one, other) = (random.random_range(0..lines.len().max(1)), random.random_range(0..lines.len().max(1)));
    if !lines.is_empty() {
        lines.swap(one, other);
    }
    *text = lines.concat();
}

fn own(path: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

const SHADER: &str = "#version 460\n#extension GL_GOOGLE_include_directive : require\n#include \"part.glsl\"\n#ifndef SIZE\n#define SIZE 64\n\
                      #endif\nlayout(local_size_x = SIZE) in;\nlayout(constant_id = 3) const uint ITEMS = 2;\n/* #include \"none.glsl\" */\n\
                      layout(set = 0, binding = 0, std430) readonly buffer In { float a[]; };\n\
                      layout(set = 0, binding = 1) buffer Out { uint count; float b[]; };\n\
                      layout(push_constant) uniform Push { uint width; vec3 light; };\nshared float tile[SIZE];\n\
                      void main() {\n    uint i = gl_GlobalInvocationID.x;\n    tile[gl_LocalInvocationID.x] = SCALE * a[i % ITEMS];\n\
                          barrier();\n    for (uint k = 0; k < ITEMS; ++k) { b[i] += tile[k] + light.x + float(width); }\n}\n";

const TUNE: &str = "-d mock -n 64 --preset quick --budget 3s --no-lock -q --format csv";

/// One that stands alone.
fn target<'t>(name: &'t str, folder: &'t Folder, file: &'t str, right: &'t [Vec<u8>], arguments: &'t str) -> Target<'t> {
    Target { name, folder, file, right, arguments, beside: &[], left_behind: &[], sharing: 1 }
}

#[test]
fn changed_manifests() {
    let folder = Folder::new();
    let names = ["blur", "matmul", "reduce", "tiled", "transpose"];
    for name in names {
        folder.write(&format!("{name}.comp"), own(&format!("tests/tune/{name}.comp")));
    }
    let right = names.map(|name| own(&format!("tests/tune/{name}.toml")));
    target("manifest", &folder, "changed.toml", &right, &format!("tune --manifest changed.toml {TUNE}")).try_out(changed);
}

#[test]
fn changed_tables() {
    let folder = Folder::new();
    folder.write(
        "a.comp",
        "#version 460\nlayout(local_size_x = 64) in;\nlayout(binding = 0) buffer B { uint b[]; };\n\
         void main() { b[gl_GlobalInvocationID.x] = 1; }\n",
    );
    let table = folder.at("table.json");
    let shader = folder.at("a.comp");
    let flags = format!("{TUNE} -a local_size_x=32,64 --save-table");
    succeeded(&[&["tune", &shader][..], &flags.split(' ').collect::<Vec<_>>(), &[&table]].concat());
    let right = [fs::read(table).unwrap()];
    let arguments = format!("tune a.comp {flags} changed.json");
    target("table", &folder, "changed.json", &right, &arguments).try_out(changed);
}

/// Sets each number that some line of this kind has, in all lines at once, to what it can't be; and empties each list.
fn with_other_numbers(text: &[u8], kind: &str) -> Vec<Vec<u8>> {
    let lines: Vec<Value> = text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let mut places = BTreeMap::new();
    lines.iter().for_each(|line| leaves(line, String::new(), &mut places));
    places.retain(|place, _| place.starts_with(kind));
    let others = |value: &Value| match value {
        Value::Array(_) => vec![json!([])],
        Value::Number(number) if number.is_f64() => vec![json!(-1.0), json!(1e308)],
        _ => vec![json!(0), json!(u32::MAX), json!(10_u64.pow(18))],
    };
    let changed = |place: &str, other: &Value| {
        let mut lines = lines.clone();
        lines.iter_mut().filter_map(|line| line.pointer_mut(place)).for_each(|value| *value = other.clone());
        lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect()
    };
    places.iter().flat_map(|(place, value)| others(value).into_iter().map(move |other| changed(place, &other))).collect()
}

/// Where a value has numbers and lists; of a list, the first.
fn leaves(value: &Value, place: String, found: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| leaves(value, format!("{place}/{name}"), found)),
        Value::Array(all) => {
            all.first().into_iter().for_each(|value| leaves(value, format!("{place}/0"), found));
            found.insert(place, value.clone());
        }
        Value::Number(_) => drop(found.insert(place, value.clone())),
        _ => {}
    }
}

const RUN: &str = "run workgroup/linear memory/stride -d mock --preset quick -a n=4096 -q";

static ROWS: LazyLock<Vec<u8>> = LazyLock::new(|| succeeded(&typed(&format!("{RUN} --format csv"))).out.into_bytes());

/// Rows of a run or a search that was broken off once its journal had more lines of this kind than this, and the journal.
fn broken_off(folder: &Folder, arguments: &str, kind: &str, after: usize) -> [Vec<u8>; 2] {
    let begin = format!("{{\"{}\"", kind.trim_start_matches('/'));
    let is_it = |line: &&str| line.starts_with(&begin);
    let count = || fs::read_to_string(folder.path("rows.csv.progress")).map_or(0, |text| text.lines().filter(is_it).count());
    let mut command = Command::new(BINARY);
    command.args(arguments.split(' ')).args(["--resume", "rows.csv"]).current_dir(folder.path(""));
    let mut family = Family::start(&mut command);
    family.wait_until("it has visited", |_| count() > after);
    family.signal(Signal::KILL);
    family.end();
    ["rows.csv", "rows.csv.progress"].map(|name| fs::read(folder.path(name)).unwrap())
}

static BROKEN_OFF: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| broken_off(&Folder::new(), RUN, "/visit", 20));

#[test]
fn changed_rows_to_resume() {
    let folder = Folder::new();
    let (right, arguments) = ([ROWS.clone()], format!("{RUN} --resume changed.csv"));
    let left_behind = &["changed.csv.bak", "changed.csv.progress", "changed.csv.copy.part"];
    Target { left_behind, ..target("resume", &folder, "changed.csv", &right, &arguments) }.try_out(changed);
}

#[test]
fn changed_rows_to_show() {
    let folder = Folder::new();
    let (right, beside) = ([ROWS.clone()], [("base.csv", ROWS.as_slice())]);
    for arguments in
        ["report changed.csv -o page.html --figures figures", "report base=base.csv new=changed.csv --compare -o page.html"]
    {
        let target = target("report", &folder, "changed.csv", &right, arguments);
        Target { beside: &beside, left_behind: &["page.html"], sharing: 2, ..target }.try_out(changed);
    }
}

#[test]
fn changed_rows_to_compare_merge_and_sum_up() {
    let folder = Folder::new();
    let (right, beside) = ([ROWS.clone()], [("base.csv", ROWS.as_slice())]);
    for (name, arguments) in [
        ("compare", "compare base.csv changed.csv --force --all --suspects suspects.csv"),
        ("sides", "compare base=base.csv new=changed.csv --format jsonl --fail-on slower:3%"),
        ("merge", "merge changed.csv base.csv -o merged.csv"),
        ("card", "card changed.csv"),
    ] {
        let target = target(name, &folder, "changed.csv", &right, arguments);
        Target { beside: &beside, left_behind: &["suspects.csv", "merged.csv"], sharing: 4, ..target }.try_out(changed);
    }
}

#[test]
fn changed_cases_and_limits() {
    let folder = Folder::new();
    let limits = b"[[device]]\nnames = [\"mock*\"]\nclock = \"nominal\"\nunits = 64\nclock_mhz = 2500\n\n\
                   [device.published]\nmemory = 960\nfp32 = 40960\n"
        .to_vec();
    for (name, file, right, arguments) in [
        ("cases", "changed.csv", ROWS.clone(), "run --cases changed.csv -d mock --preset quick -q --format csv".to_owned()),
        ("limits", "changed.toml", limits, format!("{RUN} --format csv --limits changed.toml")),
    ] {
        let right = [right];
        let target = target(name, &folder, file, &right, &arguments);
        Target { sharing: 2, ..target }.try_out(changed);
    }
}

#[test]
fn changed_journals() {
    let folder = Folder::new();
    let [rows, journal] = &*BROKEN_OFF;
    let (right, arguments) = ([journal.clone()], format!("{RUN} --resume rows.csv"));
    let target = target("journal", &folder, "rows.csv.progress", &right, &arguments);
    Target { beside: &[("rows.csv", rows)], left_behind: &["rows.csv.bak"], ..target }.try_out(changed);
}

/// What a journal says is multiplied and counted on, also where it says what no run writes.
#[test]
fn journals_of_other_numbers() {
    const PAIRS: &str = "run algo/transpose --paired -d mock --preset quick -q";
    let search = "tune a.comp -d mock -n 64 --no-lock -q --strategy hill-climbing -a ITEMS=1,2,3,4,5,6,7,8 --push width=8 --push light=1,2,3";
    let [long, short] = ["290", "26"].map(|budget| format!("{search} --budget {budget}"));
    for (name, broken, arguments, kind, after) in
        [("run", RUN, RUN, "/visit", 20), ("pairs", PAIRS, PAIRS, "/visit", 10), ("search", &long, &short, "/visit", 4)]
    {
        let folder = Folder::new();
        folder.write("part.glsl", "#define SCALE 2.0\n");
        folder.write("a.comp", SHADER);
        let [rows, journal] = broken_off(&folder, broken, kind, after);
        let (right, arguments) = ([journal.clone()], format!("{arguments} --resume rows.csv"));
        let target = target(name, &folder, "rows.csv.progress", &right, &arguments);
        let target = Target { beside: &[("rows.csv", &rows)], left_behind: &["rows.csv.bak"], ..target };
        let changed = with_other_numbers(&journal, kind);
        assert!(changed.len() > 20, "{name}: {}", changed.len());
        target.try_each(sample(changed, 4, 4));
    }
}

#[test]
fn changed_glsl() {
    let folder = Folder::new();
    folder.write("part.glsl", "// A part.\n#define SCALE 2.0\n");
    folder.write("before.glsl", "#define BEFORE 1\n");
    let arguments = "inspect changed.comp --preamble before.glsl -D EXTRA=3";
    target("glsl", &folder, "changed.comp", &[SHADER.into()], arguments).try_out(changed);
}

#[test]
fn changed_preambles_and_includes() {
    let folder = Folder::new();
    folder.write("a.comp", SHADER);
    let part = b"// A part.\n#define SCALE 2.0\n#ifdef BEFORE\n#define OTHER 1\n#endif\n".to_vec();
    target("part", &folder, "part.glsl", &[part], "inspect a.comp --preamble part.glsl").try_out(changed);
}

/// Modules that are valid after all go deep into the tuner.
#[test]
fn changed_modules_that_are_valid() {
    let folder = Folder::new();
    folder.write("part.glsl", "#define SCALE 2.0\n");
    let square = "--threads 'round(sqrt(n)), round(sqrt(n))'";
    let file = |name: &str| own(&format!("tests/tune/{name}.comp"));
    let shaders = [
        ("all", SHADER.into(), "--push width=8 --push light=1,2,3 --threads n".to_owned()),
        ("blur", file("blur"), format!("{square} --push size=8,8")),
        ("reduce", file("reduce"), "--groups 'ceil_div(n, local_size_x * 4)' --buffer total=:zero".to_owned()),
        ("transpose", file("transpose"), format!("{square} --push width=8 --push height=8")),
    ];
    for (name, source, flags) in shaders {
        let path = folder.write(&format!("{name}.comp"), source);
        let right = from_file(Path::new(&path), &Reading::default()).unwrap();
        let arguments = format!("tune changed.spv {TUNE} {flags}");
        let right = [to_bytes(&right.words)];
        let target = Target { sharing: 4, ..target(name, &folder, "changed.spv", &right, &arguments) };
        target.try_out(|right, random| {
            loop {
                let mut words = to_words(right);
                (0..random.random_range(1..6)).for_each(|_| mutate::change(&mut words, usize::MAX, random));
                if validate(&words).is_ok() {
                    return to_bytes(&words);
                }
            }
        });
    }
}
