//! Kernels as applications run them: ranges of memory, push constants and specialization constants as bytes.

use std::fs;

use lanescope::record::Record;

use crate::support::{Folder, Ran, devices_in_turn, ran, rows_of};

/// Exit code of `tune` where a busy machine can't tell what is best.
const UNTOLD: i32 = 3;

const SCALE: &str = "#version 450
layout(local_size_x_id = 7) in;
layout(constant_id = 3) const float FACTOR = 1;
layout(push_constant) uniform P { uint count; float more; } p;
layout(binding = 0) readonly buffer X { float x[]; };
layout(set = 1, binding = 4) buffer Y { float y[]; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < p.count) y[i] = FACTOR * x[i] + p.more;
}
";

fn bytes(floats: impl Iterator<Item = f32>) -> Vec<u8> {
    floats.flat_map(f32::to_le_bytes).collect()
}

/// Memory of 768 floats: what is read lies in the first 512, and what is written begins at the 256th, so that the ranges overlap.
fn folder(expected: impl Fn(f32) -> f32) -> (Folder, String) {
    let folder = Folder::new();
    folder.write("scale.comp", SCALE);
    let before = |i: u16| if i < 256 { f32::from(i) } else { -1.0 };
    folder.write("before.bin", bytes((0..768).map(before)));
    let after = |i: u16| if (256..456).contains(&i) { expected(f32::from(i - 256)) } else { before(i) };
    folder.write("after.bin", bytes((0..768).map(after)));
    let manifest = "
        shader = 'scale.comp'
        groups = 'ceil_div(200, local_size_x)'
        memory = { heap = ':file=before.bin' }
        buffer = { '0:0' = '@heap[0, 2048]', '1:4' = '@heap[1024, 2048]' }
        push-bytes = 'c80000000000003fffffffff'
        constant-bytes = { 3 = '00004040', 7 = '40000000', 99 = '00' }
        reference = 'heap=after.bin'
        preset = 'quick'
        max-time = '10ms'
        no-lock = true
    ";
    let manifest = folder.write("kernel.toml", manifest);
    (folder, manifest)
}

fn tuned(folder: &Folder, manifest: &str, more: &[&str]) -> Ran {
    let rows = folder.at("rows.csv");
    ran(&[&["tune", "--manifest", manifest, "-o", &rows, "-a", "local_size_x=32,64"], more].concat())
}

#[test]
fn bindings_are_ranges_of_memory_and_constants_are_bytes() {
    let (folder, manifest) = folder(|x| 3.0 * x + 0.5);
    for device in devices_in_turn() {
        let said = tuned(&folder, &manifest, &["-d", &device.index]);
        assert!([Some(0), Some(UNTOLD)].contains(&said.code), "{said:?}");
        let rows = rows_of(&folder.path("rows.csv"));
        assert!(rows.len() == 2 && rows.iter().all(|row| row.status == "ok"), "{said:?}");
        fs::remove_file(folder.path("rows.csv")).unwrap();
    }
}

#[test]
fn what_memory_holds_afterwards_is_compared() {
    let (folder, manifest) = folder(|x| 3.0 * x + 0.25);
    let said = tuned(&folder, &manifest, &["-d", &devices_in_turn()[0].index]);
    assert!(said.code == Some(1) && said.err.contains("wrong_result"), "{said:?}");
}

#[test]
fn what_is_amiss_with_memory_is_said() {
    let (folder, manifest) = folder(|x| x);
    for (more, part) in [
        (&["--buffer", "0:0=@stack[0]"][..], "there is no memory `stack`"),
        (&["--buffer", "0:0=@heap[0,4096]"], "memory `heap` has 3072"),
        (&["--buffer", "0:0=@heap[3072]"], "has 0 bytes from byte 3072 on"),
        (&["--memory", "heap=uint"], "has no count"),
        (&["--memory", "heap=uint@other"], "doesn't lie in other memory"),
        (&["--push-bytes", "c8"], "has 8 bytes of push constants, and 1 are given"),
        (&["--push-bytes", "c"], "bytes in hex are needed"),
        (&["--constant-bytes", "3=00"], "constant 3 has 4 bytes, and was given 1"),
        (&["--constant-bytes", "x=00"], "ID=BYTES is needed"),
    ] {
        let said = tuned(&folder, &manifest, more);
        assert!(said.code == Some(2) && said.err.contains(part), "{more:?}: {said:?}");
    }
}

#[test]
fn a_kernel_that_a_device_can_not_run_is_skipped_and_the_run_says_why() {
    let (folder, manifest) = folder(|x| x);
    let text = fs::read_to_string(&manifest).unwrap();
    let other = folder.write("other.toml", format!("{text}\naxis = {{ subgroup_size = 2 }}"));
    let (said, rows) = measured(&folder, &[&other], &[]);
    assert!(rows.iter().all(|row| row.status == "skipped"), "{rows:?}");
    assert!(
        said.code == Some(0) && said.err.contains("all cases were skipped, the first because subgroup_size is 2"),
        "{said:?}"
    );
}

#[test]
fn a_manifest_is_inspected_with_its_constants() {
    let (folder, manifest) = folder(|x| x);
    let device = &devices_in_turn()[0].index;
    let said = ran(&["inspect", &manifest, "-d", device]);
    assert!(said.code == Some(0) && said.out.contains("workgroups of 64 x 1 x 1"), "{said:?}");
    let given = ran(&["inspect", &manifest, "--constant", "7=32"]);
    assert!(given.code == Some(0) && given.out.contains("workgroups of 32 x 1 x 1"), "{given:?}");
    let text = fs::read_to_string(&manifest).unwrap();
    let of_size = folder.write("size.toml", format!("{text}\naxis = {{ local_size_x = 32 }}"));
    let said = ran(&["inspect", &of_size]);
    assert!(said.code == Some(2) && said.err.contains("doesn't take the axis `local_size_x`"), "{said:?}");
}

/// Files that `capture` wrote are called after what they hold.
#[test]
fn contents_that_were_changed_are_refused() {
    let (folder, manifest) = folder(|x| 3.0 * x + 0.5);
    let before = fs::read(folder.path("before.bin")).unwrap();
    let name = format!("{}.bin", lanescope::digest::of_contents(&before));
    let text = fs::read_to_string(&manifest).unwrap().replace("before.bin", &name);
    let manifest = folder.write("kernel.toml", text);
    folder.write(&name, &before);
    let (said, rows) = measured(&folder, &[&manifest], &[]);
    assert!(said.code == Some(0) && rows.iter().all(|row| row.status == "ok"), "{said:?}");
    folder.write(&name, [&before[..12], &[before[12] ^ 1], &before[13..]].concat());
    let (said, rows) = measured(&folder, &[&manifest], &[]);
    assert!(rows.iter().all(|row| row.status == "error" && row.reason.contains("isn't what was captured")), "{rows:?}");
    assert_eq!(said.code, Some(1), "{said:?}");
}

/// Takes its buffers from a table, whose own address is pushed.
const BY_ADDRESS: &str = "#version 450
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 64) in;
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer In { float a[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) writeonly buffer Out { float b[]; };
layout(buffer_reference, std430) readonly buffer Table { In source; Out target; };
layout(push_constant) uniform P { uint count; Table table; } p;
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < p.count) p.table.target.b[i] = 2.0 * p.table.source.a[i];
}
";

fn by_address() -> (Folder, String) {
    let folder = Folder::new();
    folder.write("by_address.comp", BY_ADDRESS);
    folder.write("before.bin", bytes((0..256_u16).map(f32::from)));
    // The first 16 floats aren't written.
    let after = |i: u16| if (16..216).contains(&i) { 2.0 * f32::from(i) } else { 0.0 };
    folder.write("after.bin", bytes((0..256).map(after)));
    let manifest = "
        shader = 'by_address.comp'
        threads = 256
        push = { count = '200' }
        memory = { x = 'float:file=before.bin', y = 'float[256]:zero', t = 'uint[8]:zero' }
        address = { table = '@t[16]', 't@16' = '@x[64]', 't@24' = '@y[64]' }
        reference = 'y=after.bin'
        no-lock = true
    ";
    let manifest = folder.write("by_address.toml", manifest);
    (folder, manifest)
}

#[test]
fn buffers_are_reached_by_their_addresses() {
    let (folder, manifest) = by_address();
    let moved = fs::read_to_string(&manifest).unwrap().replace("'@x[64]'", "'@x[68]'");
    let moved = folder.write("moved.toml", moved);
    for device in devices_in_turn() {
        let (said, rows) = measured(&folder, &[&manifest], &["-d", &device.index]);
        if rows.iter().all(|row| row.status == "skipped" && row.reason.contains("buffer_device_address")) {
            continue;
        }
        assert!(said.code == Some(0) && rows.len() == 2, "{said:?}");
        assert!(rows.iter().all(|row| row.status == "ok" && row.checked == "true"), "{rows:?}");
        let (said, rows) = measured(&folder, &[&moved], &["-d", &device.index]);
        assert!(said.code == Some(1) && rows.iter().all(|row| row.status == "wrong_result"), "{said:?}");
        let traced = ran(&["trace", "--manifest", &manifest, "-d", &device.index, "--check"]);
        assert!(traced.code == Some(0) && traced.out.contains("no access out of bounds was found"), "{traced:?}");
    }
}

/// What it computes is right, and lies where it may not.
#[test]
fn a_kernel_that_leaves_memory_by_address_cannot_win() {
    let (folder, manifest) = by_address();
    let text = fs::read_to_string(&manifest).unwrap().replace("reference = 'y=after.bin'", "");
    let within = folder.write("within.toml", text.replace("'200'", "'240'"));
    let beyond = folder.write("beyond.toml", text.replace("'200'", "'250'"));
    for device in devices_in_turn() {
        let arguments = ["-d", &device.index];
        let said = ran(&[&["trace", "--manifest", &beyond, "--check"], &arguments[..]].concat());
        if said.err.contains("buffer_device_address") {
            continue;
        }
        let [read, written] = ["x", "y"].map(|name| format!("An access beyond the end, at byte 1024 of `{name}`:"));
        assert!(said.out.contains(&read) && said.out.contains(&written) && said.out.contains("  10 times\n"), "{said:?}");
        let tune = |manifest: &str| {
            let quick = ["tune", "--manifest", manifest, "-a", "local_size_x=64,128"];
            ran(&[&quick[..], &arguments].concat())
        };
        let said = tune(&beyond);
        assert!(said.code == Some(1) && said.err.contains("an access beyond the end, at byte 1024 of `"), "{said:?}");
        let said = tune(&within);
        assert!(said.err.contains("No race and no address beyond the kernel's memory was found in"), "{said:?}");
    }
}

/// Memory that a kernel may write, and doesn't, is no result that says nothing, where another one is.
#[test]
fn memory_that_stays_as_it_was_is_no_doubt() {
    let (folder, _) = by_address();
    let shader =
        folder.write("may_write.comp", BY_ADDRESS.replace("readonly buffer In", "buffer In").replace("writeonly ", ""));
    let memory = ["--memory", "x=float[n]:random", "--memory", "y=float[n]:zero", "--memory", "t=uint[8]:zero"];
    let table = ["--address", "table=@t", "--address", "t@0=@x", "--address", "t@8=@y"];
    let tune = ["tune", &shader, "-n", "256", "--push", "count=n", "--dry-run", "--no-lock"];
    let said = ran(&[&tune[..], &memory, &table].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    let silent = ["--address", "table=@t", "--address", "t@0=@y", "--address", "t@8=@y"];
    let said = ran(&[&tune[..], &memory, &silent].concat());
    assert!(said.code == Some(1) && said.err.contains("comparing shows nothing"), "{said:?}");
}

#[test]
fn what_is_amiss_with_addresses_is_said() {
    let (folder, manifest) = by_address();
    for (more, part) in [
        (&["--address", "table=@gone"][..], "there is no memory `gone`"),
        (&["--address", "table=@t[32]"], "leads to byte 32 of memory `t`, which has 32"),
        (&["--address", "count=@t"], "`count` holds no address; these do: table"),
        (&["--address", "t@28=@x"], "no address fits at `t@28`"),
        (&["--address", "t@6=@x"], "no address fits at `t@6`"),
        (&["--address", "table=float@t"], "PLACE=@MEMORY[OFFSET] is needed"),
        (&["--address", "@4=@t"], "the addresses at byte 4 and at byte 8 of one place overlap"),
        (&["--check", "z=none"], "no buffer or image `z`; it has t, x, y"),
        (&["--base-groups", "4294967295,0,0"], "and the last workgroup would be"),
    ] {
        let said = tuned(&folder, &manifest, more);
        assert!(said.code == Some(2) && said.err.contains(part), "{more:?}: {said:?}");
    }
    let said = ran(&["tune", &folder.at("by_address.comp"), "--push", "count=8"]);
    assert!(said.code == Some(2) && said.err.contains("--address table=@MEMORY says to which memory"), "{said:?}");
    // What a buffer holds that nobody fills is no address.
    let bound = BY_ADDRESS.replace("layout(push_constant) uniform P {", "layout(binding = 1) readonly buffer P {");
    let bound = folder
        .write("bound.comp", bound.replace("Table table; } p;", "Table tables[]; } p;").replace("p.table.", "p.tables[1]."));
    let memory = ["--memory", "x=float[n]", "--memory", "y=float[n]", "--memory", "t=uint[8]:zero"];
    let table = ["--address", "t@0=@x", "--address", "t@8=@y"];
    let said = ran(&[&["tune", &bound, "-n", "256", "--dry-run"], &memory[..], &table].concat());
    assert!(said.code == Some(2) && said.err.contains("`0:1@8` is the address of a buffer"), "{said:?}");
    let said = ran(&[&["tune", &bound, "-n", "256"], &memory[..], &table, &["--address", "tables[1]=@t"]].concat());
    assert!(said.code == Some(2) && said.err.contains("these do: 0:1@8"), "{said:?}");
    let pushed = ["--push-bytes", "c8000000000000001000000000000000"];
    let said = ran(&[&["tune", &folder.at("by_address.comp")], &pushed[..]].concat());
    assert!(said.code == Some(2) && said.err.contains("`table` is the address of a buffer"), "{said:?}");
}

fn measured(folder: &Folder, manifests: &[&str], more: &[&str]) -> (Ran, Vec<Record>) {
    let rows = folder.at("measured.csv");
    let _ = fs::remove_file(&rows);
    let arguments = [&["run"], manifests, &["--preset", "quick", "--max-time", "20ms", "-o", &rows], more].concat();
    let said = ran(&arguments);
    let rows = folder.path("measured.csv");
    (said, if rows.exists() { rows_of(&rows) } else { Vec::new() })
}

#[test]
fn a_kernel_is_measured_as_it_is_warm_and_cold() {
    let (folder, manifest) = folder(|x| 3.0 * x + 0.5);
    for device in devices_in_turn() {
        let (said, rows) = measured(&folder, &[&manifest], &["-d", &device.index]);
        assert_eq!((said.code, rows.len()), (Some(0), 2), "{said:?}");
        for (row, cache) in rows.iter().zip(["warm", "cold"]) {
            assert_eq!((row.experiment.as_str(), row.cache.as_str(), row.status.as_str()), ("kernel/scale", cache, "ok"));
            assert_eq!((row.checked.as_str(), row.local_size_x, row.groups_x), ("true", Some(64), Some(4)), "{row:?}");
        }
        assert_ne!(rows[0].case_id, rows[1].case_id);
        // What is there already isn't measured again, unless the kernel is another one.
        let file = folder.at("measured.csv");
        let resumed = |manifest: &str| {
            ran(&["run", manifest, "--preset", "quick", "--max-time", "20ms", "-d", &device.index, "--resume", &file])
        };
        let before: Vec<String> = rows.iter().map(|row| row.written_at.clone()).collect();
        let said = resumed(&manifest);
        let after: Vec<String> = rows_of(&folder.path("measured.csv")).iter().map(|row| row.written_at.clone()).collect();
        assert_eq!((said.code, &after), (Some(0), &before), "{said:?}");
        let text = fs::read_to_string(&manifest).unwrap().replace("heap = ':file", "heap = 'host uint:file");
        let other =
            folder.write("other.toml", text.replace("shader =", "name = 'scale'\n        queue = 'compute'\n        shader ="));
        let said = resumed(&other);
        assert!(said.code == Some(2) && said.err.contains("another plan"), "{said:?}");
        let (said, rows) = measured(&folder, &[&other], &["-d", &device.index]);
        assert!(said.code == Some(0) && rows.iter().all(|row| row.status == "ok"), "{said:?}");
        let (said, cold) = measured(&folder, &[&manifest], &["-d", &device.index, "--cold"]);
        assert_eq!((said.code, cold.len()), (Some(0), 1), "{said:?}");
        assert_eq!(cold[0].case_id, rows[1].case_id);
    }
    let (said, beside) =
        measured(&folder, &[&manifest, "dispatch/empty"], &["--axis", "groups=1", "--axis", "local_size_x=32"]);
    let experiments: Vec<&str> = beside.iter().map(|row| row.experiment.as_str()).collect();
    assert!(
        said.code == Some(0) && experiments.contains(&"dispatch/empty") && experiments.contains(&"kernel/scale"),
        "{said:?}"
    );
}

#[test]
fn a_kernel_that_computes_something_else_has_no_time() {
    let (folder, manifest) = folder(|x| 3.0 * x + 0.25);
    let (said, rows) = measured(&folder, &[&manifest], &[]);
    assert_eq!((said.code, rows.len()), (Some(1), 2), "{said:?}");
    assert!(rows.iter().all(|row| row.status == "wrong_result" && row.time_ns.is_none()), "{rows:?}");
    let unchecked = fs::read_to_string(&manifest).unwrap().replace("reference = 'heap=after.bin'", "");
    let unchecked = folder.write("unchecked.toml", unchecked);
    let (said, rows) = measured(&folder, &[&unchecked], &[]);
    assert!(said.code == Some(0) && rows.iter().all(|row| row.checked == "false" && row.status == "ok"), "{said:?}");
}

#[test]
fn what_is_amiss_with_a_kernel_is_said_before_anything_is_measured() {
    let (folder, manifest) = folder(|x| x);
    for (text, part) in [
        ("shader = 'no.comp'", "no.comp"),
        ("shader = 'scale.comp'\nbuffer = { '0:7' = '[4]' }", "no buffer `0:7`"),
        ("shader = 'scale.comp'\nbufer = {}", "there is no key `bufer`; did you mean buffer?"),
        ("shader = 'scale.comp'\npush-bytes = '00'", "has 8 bytes of push constants"),
    ] {
        let (said, rows) = measured(&folder, &[&folder.write("wrong.toml", text)], &[]);
        assert!(said.code == Some(2) && said.err.contains(part) && rows.is_empty(), "{text}: {said:?}");
    }
    let robust = fs::read_to_string(&manifest).unwrap();
    let robust = folder.write("robust.toml", format!("robust = true\nname = 'robust'\n{robust}"));
    let (said, _) = measured(&folder, &[&manifest, &robust], &[]);
    assert!(said.code == Some(2) && said.err.contains("don't both say `robust`"), "{said:?}");
    let (said, _) = measured(&folder, &[&manifest, &manifest], &[]);
    assert!(said.code == Some(2) && said.err.contains("is called kernel/scale as well"), "{said:?}");
    let (said, _) = measured(&folder, &[&folder.at("gone.toml")], &[]);
    assert!(said.code == Some(2) && said.err.contains("gone.toml"), "{said:?}");
}
