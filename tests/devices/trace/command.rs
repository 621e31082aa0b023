//! `lanescope trace`, as typed.

use std::collections::BTreeMap;

use crate::support::{Folder, Ran, devices, devices_in_turn, ran, skip};

const TILED: &str = "#version 450
layout(local_size_x = 32, local_size_y = 8) in;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) writeonly buffer B { float b[]; };
layout(push_constant) uniform P { uint width; };
layout(constant_id = 7) const uint TILE = 32;
shared float tile[TILE][32];
void main() {
    uvec2 to = gl_WorkGroupID.xy * 32 + gl_LocalInvocationID.xy;
    for (uint j = 0; j < 32; j += 8) tile[gl_LocalInvocationID.y + j][gl_LocalInvocationID.x] = a[(to.y + j) * width + to.x];
    barrier();
    to = gl_WorkGroupID.yx * 32 + gl_LocalInvocationID.xy;
    for (uint j = 0; j < 32; j += 8) {
        b[(to.y + j) * width + to.x] = tile[gl_LocalInvocationID.x][gl_LocalInvocationID.y + j];
    }
}
";

const KINDS: &str = "#version 450
layout(local_size_x = 32) in;
struct Three { float x, y, z; };
layout(binding = 0) readonly buffer A { Three three[]; };
layout(binding = 1) readonly buffer V { vec4 quads[]; };
layout(binding = 2) writeonly buffer B { vec4 b[]; };
void main() { uint i = gl_GlobalInvocationID.x; b[i] = quads[i] + three[i].x; }
";

const NAIVE: &str = "#version 450
layout(local_size_x = 32, local_size_y = 8) in;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) writeonly buffer B { float b[]; };
void main() { uvec2 at = gl_GlobalInvocationID.xy; b[at.x * 256 + at.y] = a[at.y * 256 + at.x]; }
";

const BEYOND: &str = "#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer A { float a[]; };
shared float line[64];
void main() {
    line[gl_LocalInvocationID.x + 1] = a[gl_GlobalInvocationID.x + 2];
    barrier();
    a[gl_GlobalInvocationID.x] = line[gl_LocalInvocationID.x];
}
";

const ENDLESS: &str = "#version 450
layout(local_size_x = 64) in;
layout(binding = 0) coherent buffer A { uint a[]; };
void main() { while (a[0] != 77u) atomicAdd(a[1], 1u); }
";

type Row = BTreeMap<String, String>;

fn rows(file: &str) -> Vec<Row> {
    csv::Reader::from_path(file).unwrap().deserialize().map(|row| row.unwrap()).collect()
}

/// The row of an access, by its kind and its name.
fn row<'r>(rows: &'r [Row], kind: &str, name: &str) -> &'r Row {
    rows.iter()
        .find(|row| row["kind"] == kind && row["name"] == name)
        .unwrap_or_else(|| panic!("no {kind} of {name}: {rows:?}"))
}

fn traced(shader: &str, device: &str, more: &[&str]) -> Ran {
    ran(&[&["trace", shader, "-d", device, "--no-lock", "-q", "--lanes", "32"], more].concat())
}

#[test]
fn what_a_shader_wastes_is_said_with_its_remedy() {
    for device in devices_in_turn() {
        let (folder, shader) = Folder::with("tiled.comp", TILED);
        let (file, accesses) = (folder.at("trace.csv"), folder.at("accesses.csv"));
        let flags = ["-n", "65536", "--groups", "8,8", "--push", "width=256"];
        let page = folder.at("trace.html");
        let files = ["-o", &file, "--records", &accesses, "--source", "--page", &page];
        let ran = traced(&shader, &device.index, &[&flags[..], &files, &["--fail-on", "conflict:2:tile"]].concat());
        assert_eq!(ran.code, Some(1), "{}", ran.err);
        assert!(ran.out.ends_with("\nFailed: line 14, load tile[][]: degree 32, at least 2\n"), "{}", ran.out);
        assert!(ran.out.contains("as `tile[32][33]` the degree falls from 32 to 1 (recorded once more)"), "{}", ran.out);
        assert!(ran.out.contains("\nThe dispatch computes "), "{}", ran.out);
        let line = ran.out.lines().find(|line| line.contains("   14 |")).unwrap();
        assert!(line.contains("degree 32") || line.contains("100 % of sectors"), "{line}");
        let rows = rows(&file);
        let load = row(&rows, "load", "tile[][]");
        let told = ["line", "space", "requests", "accesses", "degree", "remedy", "remedy_degree", "remedy_bytes", "recorded"];
        assert_eq!(
            told.map(|column| load[column].as_str()),
            ["14", "shared", "128", "4096", "32.0", "tile[32][33]", "1.0", "128", "4"]
        );
        assert_eq!(["dispatch_fma_f32", "dispatch_special"].map(|column| load[column].as_str()), ["0", "0"]);
        assert!(load["dispatch_integer"].parse::<u64>().unwrap() >= 65536, "{load:?}");
        let store = row(&rows, "store", "b[]");
        assert_eq!(["efficiency", "pattern", "sectors"].map(|column| store[column].as_str()), ["1.0", "linear", "512"]);
        assert_eq!(store["same_outputs"], "true");
        let all = self::rows(&accesses);
        let counts = |kind: &str| all.iter().filter(|row| row["kind"] == kind).count();
        // Four workgroups of 256, each invocation with four turns, of which each reads the width.
        assert_eq!((counts("load"), counts("store"), counts("barrier")), (16 * 1024, 8 * 1024, 1024));
        assert!(all.iter().filter(|row| row["name"] == "b[]").all(|row| row["epoch"] == "1" && row["iterations"].len() == 1));
        let page = std::fs::read_to_string(page).unwrap();
        let said =
            "load tile[][], line 14: bank conflicts make its requests take 32 times as many wavefronts. As `tile[32][33]`: 1.";
        assert!(
            page.contains(said) && page.contains("Banks of shared memory: the words that the worst request wants of each"),
            "{page}"
        );
        // All of one bank, and the line of the source.
        assert!(page.contains(": 32 words") && page.contains("<b>load   degree 32"), "{page}");
        // What it says is right.
        let (_padded, shader) = Folder::with("padded.comp", TILED.replace("[TILE][32]", "[TILE][33]"));
        let with = traced(&shader, &device.index, &[&flags[..], &["--fail-on", "conflict:2"]].concat());
        assert!(with.code == Some(0) && !with.out.contains("Remedy"), "{} {}", with.out, with.err);
    }
}

#[test]
fn sectors_are_counted_as_the_source_says() {
    for device in devices_in_turn() {
        let (folder, shader) = Folder::with("kinds.comp", KINDS);
        let file = folder.at("trace.csv");
        let ran = traced(&shader, &device.index, &["-n", "1024", "--workgroups", "all", "-o", &file]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let rows = rows(&file);
        let of = |kind, name| ["sectors", "fewest_sectors", "requests"].map(|column| row(&rows, kind, name)[column].clone());
        assert_eq!(of("load", "quads[]"), ["512", "512", "32"]);
        assert_eq!(of("store", "b[]"), ["512", "512", "32"]);
        assert_eq!(of("load", "three[].x"), ["384", "128", "32"], "three times as many");
        let (folder, shader) = Folder::with("naive.comp", NAIVE);
        let file = folder.at("trace.csv");
        let flags = ["-n", "65536", "--threads", "256,256", "-o", &file, "--fail-on", "efficiency:50%"];
        let ran = traced(&shader, &device.index, &flags);
        assert_eq!((ran.code, ran.err.as_str()), (Some(1), ""));
        assert!(ran.out.ends_with("\nFailed: line 5, store b[]: efficiency 12.5 %, below 50.0 %\n"), "{}", ran.out);
        let store = self::rows(&file).into_iter().find(|row| row["kind"] == "store").unwrap();
        let told = ["sectors", "fewest_sectors", "requests", "stride"].map(|column| store[column].clone());
        assert_eq!(told, ["1024", "128", "32", "256.0"]);
    }
}

#[test]
fn accesses_that_differ_from_pass_to_pass_are_said_to() {
    let text = "the accesses differ from pass to pass";
    let device = &devices_in_turn()[0];
    let (_folder, shader) = Folder::with("naive.comp", NAIVE);
    let same = traced(&shader, &device.index, &["-n", "65536", "--threads", "256,256"]);
    assert!(same.code == Some(0) && !same.out.contains(text), "{}", same.out);
    // Workgroups take places in a list as they come, which two processors don't do in one order.
    let appended = "#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer Count { uint count; };
layout(binding = 1) buffer List { uint list[]; };
void main() {
    uint at = atomicAdd(count, 1u);
    list[(at * 2654435761u ^ gl_WorkGroupID.x) % list.length()] = at;
}
";
    let (_other, shader) = Folder::with("appended.comp", appended);
    let flags = ["-n", "65536", "-b", "count=uint[1]:zero", "-b", "list=uint[65536]:zero", "--workgroups", "all"];
    let any = (0..3).any(|_| traced(&shader, &device.index, &flags).out.contains(text));
    assert!(any, "three traces of a list that workgroups append to agreed");
}

#[test]
fn a_manifest_of_tune_describes_the_shader() {
    let device = &devices_in_turn()[0];
    let (folder, _) = Folder::with("naive.comp", NAIVE);
    let manifest = folder.at("naive.toml");
    let text = "shader = \"naive.comp\"\nn = 65536\nthreads = [256, 256]\nbudget = 200\noutput = \"rows.csv\"\n\
                axis = { local_size_y = [8, 16], local_size_x = 32 }\n";
    std::fs::write(&manifest, text).unwrap();
    let common = ["trace", "--manifest", &manifest, "-d", &device.index, "--no-lock", "-q"];
    let traced = |more: &[&str]| ran(&[&common[..], more].concat());
    let all = traced(&[]);
    assert!(all.code == Some(0) && all.out.contains("8 x 32 workgroups of 32 x 8"), "{} {}", all.out, all.err);
    assert!(traced(&["--threads", "128,128"]).out.contains("4 x 16 workgroups of 32 x 8"));
    assert!(!folder.path("rows.csv").exists());
    std::fs::write(&manifest, format!("{text}tile = 3\n")).unwrap();
    let refused = traced(&[]);
    assert!(refused.code == Some(2) && refused.err.contains("there is no key `tile`"), "{}", refused.err);
}

#[test]
fn what_lies_beyond_an_end_is_said_and_not_followed() {
    for device in devices_in_turn() {
        let (folder, shader) = Folder::with("beyond.comp", BEYOND);
        let file = folder.at("trace.csv");
        let ran = traced(&shader, &device.index, &["-n", "256", "--workgroups", "all", "-o", &file]);
        assert!(ran.out.contains("accesses end beyond their buffer or variable"), "{}", ran.out);
        let rows = rows(&file);
        assert_eq!(row(&rows, "store", "line[]")["out_of_bounds"], "4");
        assert_eq!(row(&rows, "load", "a[]")["out_of_bounds"], "2");
        assert_eq!(row(&rows, "load", "line[]")["out_of_bounds"], "0");
    }
}

#[test]
fn a_check_names_lines_and_ends_by_what_it_must_not_find() {
    let shader = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/check/barrier_missing.comp");
    let folder = Folder::new();
    let (file, page) = (folder.at("findings.csv"), folder.at("findings.html"));
    for device in devices_in_turn() {
        let checked = |fault: &str, more: &[&str]| {
            let flags = ["-n", "256", "-b", "B=uint[512]:zero", "-D", fault];
            ran(&[&["trace", shader, "-d", &device.index, "--no-lock"], &flags[..], more].concat())
        };
        let said = checked("FAULT=1", &["--check", "--fail-on", "race", "-o", &file, "--page", &page]);
        assert!(said.code == Some(1) && said.out.contains("Failed: invocations race on `s["), "{said:?}");
        let rows = rows(&file);
        let race = &rows[0];
        assert_eq!((race["class"].as_str(), race["first_line"].as_str(), race["second_line"].as_str()), ("race", "9", "13"));
        let text = std::fs::read_to_string(&page).unwrap();
        assert!(text.contains("1 found: race 1.") && text.contains("<b>race, line 13"), "{text}");
        let said = checked("FAULT=1", &["--check", "--fail-on", "bounds"]);
        assert!(said.code == Some(0) && said.out.contains("Race on `s["), "{said:?}");
        let said = checked("FAULT=0", &["--check", "--fail-on", "any"]);
        assert!(said.code == Some(0) && said.out.contains("In 4 of 4 workgroups, no race"), "{said:?}");
        for (flags, words) in
            [(vec!["--fail-on", "race"], "say --check as well"), (vec!["--check", "--fail-on", "conflict:2"], "leave out")]
        {
            let said = checked("FAULT=1", &flags);
            assert!(said.code == Some(2) && said.err.contains(words), "{said:?}");
        }
    }
}

/// Half of the invocations return before barriers, and the others race behind them.
const RETURNING: &str = "#version 450
layout(local_size_x = 16) in;
layout(binding = 0) buffer A { uint a[]; };
shared uint last;
void main() {
    uint i = gl_LocalInvocationIndex;
    if (i >= 8) { return; }
    for (int k = 0; k < 4; k++) { a[i] = k; barrier(); }
    last = i;
    barrier();
    a[i] = last;
}
";

#[test]
fn where_a_device_leaves_invocations_waiting_nothing_is_called_clean() {
    let (_folder, shader) = Folder::with("returning.comp", RETURNING);
    for device in devices_in_turn() {
        let said = ran(&["trace", &shader, "-n", "16", "--check", "--fail-on", "race", "-d", &device.index, "--no-lock"]);
        let out = said.out.replace('\n', " ");
        let is_waiting =
            out.contains("1 workgroup couldn't be checked to the end: the device left invocations waiting at line 8");
        assert!(said.code == Some(1) && (is_waiting || out.contains("Race on `last`")), "{said:?}");
    }
}

/// Index 4 of the first array is in the second one, and only the last workgroup comes there; and texels beyond an image.
const BEYOND_IN_ALL: &str = "#version 450
layout(local_size_x = 16) in;
layout(binding = 0) buffer A { uint a[]; };
layout(binding = 1, r32ui) uniform readonly uimage2D im;
struct Two { uint first[4]; uint second[4]; };
shared Two two;
void main() {
    uint i = gl_GlobalInvocationID.x;
    two.first[i == 100 ? 4 : i & 3] = 1;
    a[i] = imageLoad(im, ivec2(i, 0)).x;
}
";

#[test]
fn bounds_are_looked_at_in_all_workgroups_and_in_images() {
    let (folder, shader) = Folder::with("beyond.comp", BEYOND_IN_ALL);
    let file = folder.at("findings.csv");
    for device in devices_in_turn() {
        let checked = |width: &str| {
            let image = format!("im=r32ui[{width},2]:zero");
            let flags = ["-n", "160", "--image", &image, "--check", "--fail-on", "bounds", "-o", &file];
            ran(&[&["trace", &shader, "-d", &device.index, "--no-lock"], &flags[..]].concat())
        };
        let said = checked("160");
        assert!(said.code == Some(1) && said.out.contains("4 elements, and is indexed up to 4 (line 9)"), "{said:?}");
        assert!(!said.out.contains("texels") && !said.out.contains("no access out of bounds"), "{said:?}");
        let rows = rows(&file);
        let beyond: Vec<_> = rows.iter().filter(|row| row["class"] == "bounds").collect();
        let [row] = &beyond[..] else { panic!("{rows:?}") };
        assert_eq!([&row["first_line"], &row["workgroup"]], ["9", ""]);
        let said = checked("64");
        assert!(said.out.contains("is 64 texels wide, and is accessed at x = 159 (line 10)"), "{said:?}");
    }
}

/// Only workgroup 77 comes to the race, none to another line, and the constant rules out a third.
const SELDOM: &str = "#version 450
layout(local_size_x = 64) in;
layout(constant_id = 0) const bool HAS_MORE = false;
layout(binding = 0) buffer A { uint a[]; };
shared uint tile[64];
void main() {
    uint i = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x;
    if (gl_WorkGroupID.x == 77) {
        tile[i] = g;
        a[g] = tile[63 - i];
    }
    if (a[g] == 0xfffffff0u) {
        a[g] = 0;
    }
    if (HAS_MORE) {
        a[g] += 1;
    }
}
";

#[test]
fn workgroups_that_come_to_other_code_are_looked_for() {
    let (_folder, shader) = Folder::with("seldom.comp", SELDOM);
    for device in devices_in_turn() {
        let checked = |more: &[&str]| {
            let flags = ["trace", &shader, "-n", "12800", "-b", "A=uint[n]:zero", "--check", "-d", &device.index, "--no-lock"];
            ran(&[&flags[..], more].concat()).out.replace('\n', " ")
        };
        let said = checked(&[]);
        assert!(said.contains("Checked 5 of 200 workgroups") && said.contains("Race on `tile["), "{said}");
        assert!(said.contains("None of them came to 1 of 5 instructions (line 13)."), "{said}");
        let said = checked(&["--workgroups", "0,1"]);
        assert!(said.contains("came to 4 of 5 instructions (lines 9, 10, 13)."), "{said}");
    }
}

/// One invocation never comes to the barrier at which the others wait.
const WAITING: &str = "#version 450
layout(local_size_x = 16) in;
layout(binding = 0) buffer A { uint a[]; };
void main() {
    uint i = gl_LocalInvocationIndex;
    if (i == 5) {
        while (atomicAdd(a[16], 1) < 0xfffffff0u) { a[17] += 1; }
    }
    barrier();
    a[i] = i;
}
";

#[test]
fn of_what_hangs_is_said_where_invocations_were() {
    let (_folder, shader) = Folder::with("waiting.comp", WAITING);
    // Drivers that end loops, or run one invocation after the other, may have others wait.
    let Some(device) = devices().into_iter().find(|device| device.driver == "GOOGLE_SWIFTSHADER") else {
        skip!("no SwiftShader here");
    };
    let flags = ["-n", "16", "-b", "A=uint[18]:zero", "--timeout", "2s", "-d", &device.index, "--no-lock"];
    let said = ran(&[&["trace", &shader, "--check"], &flags[..]].concat());
    assert!(said.code == Some(1) && said.err.contains("were last at the barrier in line 9"), "{said:?}");
}

/// A sum in a loop, whose barrier is missing. With `BUFFER` it is in a buffer that `barrier()` doesn't order; with `APART` its invocations
/// are in two arms of a branch, and no barrier would do.
const UNORDERED: &str = "#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer A { uint a[]; };
shared uint tile[64];
void main() {
    uint i = gl_LocalInvocationIndex;
#if defined(BUFFER)
    a[i] = i;
    barrier();
    tile[i] = a[63 - i];
#elif defined(APART)
    tile[i] = i;
    barrier();
    if (i < 32) {
        tile[i] = i + 1;
    } else {
        a[i] = tile[i - 32];
    }
#else
    tile[i] = a[i];
    barrier();
    for (uint s = 32; s > 0; s >>= 1) {
        if (i < s) {
            tile[i] += tile[i + s];
        }
    }
#endif
    a[64 + i] = tile[i];
}
";

#[test]
fn a_barrier_is_named_once_the_shader_ran_with_it() {
    let (folder, shader) = Folder::with("unordered.comp", UNORDERED);
    let file = folder.at("findings.csv");
    for device in devices_in_turn() {
        for (define, words, remedy) in [
            (
                "NONE",
                "Add barrier() after the block that begins in line 23:",
                "barrier() after the block that begins in line 23",
            ),
            ("BUFFER", "Add memoryBarrierBuffer() before line 9:", "memoryBarrierBuffer() before line 9"),
            ("APART", "Race on `tile[0]`: nothing orders", ""),
        ] {
            let flags = ["-n", "128", "--groups", "1", "--check", "-D", define, "-o", &file, "-d", &device.index, "--no-lock"];
            let said = ran(&[&["trace", &shader][..], &flags].concat());
            assert!(said.code == Some(0) && said.out.contains(words), "{define}: {said:?}");
            assert_eq!(rows(&file)[0]["remedy"], remedy, "{define}");
        }
    }
}

#[test]
fn what_cannot_be_traced_is_refused_in_words() {
    let device = &devices_in_turn()[0];
    let (folder, shader) = Folder::with("naive.comp", NAIVE);
    let file = folder.at("trace.csv");
    std::fs::write(&file, "mine").unwrap();
    let rows_of_another = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/nvidia-h100-overview-1.csv");
    for (flags, code, words) in [
        (vec!["--entry", "other"], 1, "other"),
        (vec!["--fail-on", "conflict:2:nobody"], 2, "no access was recorded of `nobody`"),
        (vec!["--fail-on", "conflict:2:b"], 2, "`b` is none, or wasn't followed"),
        (vec!["-o", "-", "--source"], 2, "name a file for them"),
        (vec!["--workgroups", "0,700"], 1, "there is no workgroup 700"),
        (vec!["-o", &shader], 2, "holds the shader"),
        (vec!["-o", "/nowhere/trace.csv"], 2, "its folder isn't there"),
        (vec!["--records", &file, "-o", &file], 2, "given twice"),
        (vec!["--records", "-"], 2, "name a file"),
        (vec!["--model", &shader], 2, "not a model of hardware"),
        (vec!["--rows", rows_of_another], 2, "there are no rows of cache/granules or shared/banks"),
    ] {
        let ran = traced(&shader, &device.index, &[&["-n", "65536", "--threads", "256,256"], &flags[..]].concat());
        assert!(ran.code == Some(code) && ran.err.contains(words), "{flags:?}: {:?} {}", ran.code, ran.err);
    }
    let wide = include_str!("../../../src/trace/hardware/assumed.toml").replace("sector_bytes = 32", "sector_bytes = 64");
    let model = folder.at("wide.toml");
    std::fs::write(&model, wide).unwrap();
    let wide = traced(&shader, &device.index, &["-n", "65536", "--threads", "256,256", "--model", &model]);
    assert!(wide.code == Some(0) && wide.out.contains("sectors of 64 bytes") && wide.out.contains("6.2 %"), "{}", wide.out);
    let rows = traced(&shader, &device.index, &["-n", "65536", "--threads", "256,256", "-o", "-"]);
    assert!(
        rows.code == Some(0) && rows.out.starts_with("schema,device_name,") && rows.out.lines().count() == 3,
        "{}",
        rows.out
    );
    let own = rows.out.lines().nth(1).unwrap().strip_prefix("t1.1,").unwrap();
    let name = &own[..own.find(",/").or(own.find(",naive")).unwrap()];
    let rows_of_this = folder.at("rows.csv");
    let of_another = std::fs::read_to_string(rows_of_another).unwrap();
    std::fs::write(&rows_of_this, of_another.replace("NVIDIA H100 80GB HBM3", name)).unwrap();
    let measured = traced(&shader, &device.index, &["-n", "65536", "--threads", "256,256", "--rows", &rows_of_this]);
    assert!(measured.code == Some(0) && measured.out.contains(", measured`"), "{} {}", measured.out, measured.err);
    let failed =
        traced(&shader, &device.index, &["-n", "65536", "--threads", "256,256", "-o", "-", "--fail-on", "efficiency:50%"]);
    assert!(failed.code == Some(1) && failed.err.contains("store b[]: efficiency 12.5 %"), "{}", failed.err);
    let ran = ran(&["trace", "memory/stride", "--push", "n=3", "-d", &device.index, "--no-lock"]);
    assert!(ran.code == Some(2) && ran.err.contains("--push describes a shader of yours"), "{}", ran.err);
    let (_endless, shader) = Folder::with("endless.comp", ENDLESS);
    // Drivers may end loops; a thousand workgroups take longer than any of them has here.
    let ran = traced(&shader, &device.index, &["-n", "65536", "-o", &file, "--timeout", "2s"]);
    assert!(ran.code == Some(1) && ran.err.contains("timeout"), "{:?} {}", ran.code, ran.err);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
}

/// A loop of 20000 turns in each of 1024 invocations: more than a pass has room for, so that there are several.
#[cfg(unix)]
const LONG: &str = "#version 450
layout(local_size_x = 256) in;
layout(binding = 0) buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
void main() {
    uint i = gl_GlobalInvocationID.x, sum = 0;
    for (uint k = 0; k < 20000; k++) { sum += a[(i + k) & 63]; }
    b[i] = sum;
}
";

#[cfg(unix)]
#[test]
fn an_interrupt_ends_it_after_the_pass_and_leaves_no_file() {
    use std::process::Stdio;

    use rustix::process::{Pid, Signal, kill_process};
    let device = &devices_in_turn()[0];
    let (folder, shader) = Folder::with("long.comp", LONG);
    let records = folder.at("records.csv");
    let arguments = ["trace", &shader, "-n", "4096", "-d", &device.index, "--no-lock", "--workgroups", "all"];
    let mut command = crate::support::lanescope(&[&arguments[..], &["--records", &records]].concat());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let has_begun = || std::fs::read_dir(folder.path("")).unwrap().count() > 1;
    while !has_begun() && child.try_wait().unwrap().is_none() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(!std::path::Path::new(&records).exists() && !std::path::Path::new(&format!("{records}.part")).exists());
}
