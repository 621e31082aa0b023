//! `lanescope tune` on every driver: shaders as users write them, what is right and what is wrong, and what is written where.

use std::collections::BTreeMap;
use std::fs;

use lanescope::model::{DeviceInfo, Point};
use lanescope::record::Record;
use lanescope::shader::{Reading, from_file};
use lanescope::subject::{KernelSpec, Reference, UserKernel};
use lanescope::tuning::{Quality, Query, Table};
use lanescope::validate::Outputs;
use serde_json::Value;

use crate::gpu::on_each_device;
use crate::judge::{subject, verdicts};
use crate::support::tunings::{CONSTANT, COPY, NAIVE, SCALE, UNTOLD, found, statuses, tuned};
use crate::support::{Folder, Found, devices, devices_in_turn, ran, rows, skip, software};

/// Transposes by tiles of SIDE: right for workgroups of SIDE x SIDE alone.
const TILED: &str = "#version 450
#ifndef SIDE
#define SIDE 8
#endif
layout(local_size_x = SIDE, local_size_y = SIDE) in;
layout(binding = 0) buffer From { float from[]; };
layout(binding = 1) buffer To { float to[]; };
layout(push_constant) uniform Size { uint width; uint height; };
shared float tile[SIDE][SIDE + 1];
void main() {
    uvec2 l = gl_LocalInvocationID.xy, corner = gl_WorkGroupID.xy * SIDE;
    uvec2 p = corner + l;
    tile[l.y][l.x] = from[p.y * width + p.x];
    barrier();
    p = corner.yx + l;
    to[p.y * height + p.x] = tile[l.x][l.y];
}
";

/// Sums whole numbers up, onto what the sum is before.
const SUM: &str = "#version 450
layout(local_size_x = 64) in;
layout(constant_id = 3) const uint ITEMS = 4;
layout(set = 0, binding = 0) readonly buffer In { uint data[]; };
layout(set = 1, binding = 2) buffer Total { uint total; };
shared uint part;
void main() {
    if (gl_LocalInvocationIndex == 0) part = 0;
    barrier();
    uint sum = 0;
    uint base = gl_WorkGroupID.x * gl_WorkGroupSize.x * ITEMS + gl_LocalInvocationID.x;
    for (uint k = 0; k < ITEMS; ++k) {
        uint i = base + k * gl_WorkGroupSize.x;
        if (i < data.length()) sum += data[i];
    }
    atomicAdd(part, sum);
    barrier();
    if (gl_LocalInvocationIndex == 0) atomicAdd(total, part);
}
";

fn each_device(mut check: impl FnMut(&Found)) {
    devices_in_turn().iter().for_each(&mut check);
}

const SQUARE: [&str; 6] = ["-n", "4096", "--push", "width=64", "--push", "height=64"];

#[test]
fn a_transpose_that_fits_every_workgroup_is_right_in_all_and_a_tiled_one_in_its_own() {
    let folder = Folder::new();
    let [naive, tiled] = [("naive.comp", NAIVE), ("tiled.comp", TILED)].map(|(name, text)| folder.write(name, text));
    each_device(|device| {
        let axes = ["-a", "local_size_x=4,8", "-a", "local_size_y=4,8,16"];
        let all = found(0, &[&[&naive, "-d", &device.index], &SQUARE[..], &axes].concat());
        assert_eq!((all.len(), all.iter().filter(|row| row.status == "ok").count()), (6, 6));
        for row in &all {
            // A row is of the size that it says, and covers the problem.
            let [x, y] = ["local_size_x", "local_size_y"].map(|axis| row.by_axis[axis].to_string().parse::<u64>().unwrap());
            assert_eq!((row.local_size_x, row.local_size_y), (Some(x), Some(y)));
            assert_eq!((row.groups_x, row.groups_y), (Some(64 / x), Some(64 / y)));
            assert_eq!(row.by_axis["n"].to_string(), "4096");
            assert_eq!(row.checked, "true");
        }
        let tiled = found(0, &[&[&tiled, "-d", &device.index], &SQUARE[..], &axes].concat());
        for (sizes, status) in statuses(&tiled, &["local_size_x", "local_size_y"]) {
            // More rows leave the tile, and more workgroups the buffers.
            assert_eq!(status, if sizes == ["8", "8"] { "ok" } else { "skipped" }, "{sizes:?}");
        }
    });
}

#[test]
fn what_a_pass_goes_on_from_is_restored_before_each() {
    let folder = Folder::new();
    let [sum, scale] = [("sum.comp", SUM), ("scale.comp", SCALE)].map(|(name, text)| folder.write(name, text));
    let groups = "ceil_div(n, local_size_x * ITEMS)";
    each_device(|device| {
        let sizes = ["-d", &device.index, "-n", "5000", "-a", "local_size_x=32,64"];
        let arguments =
            [&[sum.as_str()], &sizes[..], &["-a", "ITEMS=1,4", "--groups", groups, "-b", "total=:constant=7"]].concat();
        let all = [found(0, &arguments), found(0, &[&[scale.as_str()], &sizes[..]].concat())].concat();
        assert_eq!(all.len(), 6);
        for row in &all {
            assert_eq!((row.status.as_str(), row.batch, row.checked.as_str()), ("ok", Some(1), "true"), "{}", row.reason);
        }
        // Who says that it may follow itself is taken at their word, and found out as soon as it does.
        let less = ["-d", &device.index, "-n", "64", "-a", "local_size_x=32,64", "--idempotent"];
        let ran = tuned(&[&[scale.as_str()], &less[..]].concat());
        for row in rows(&ran.out) {
            let is_found_out = row.status == "wrong_result" && row.reason.contains("after a timed batch");
            // What is beaten was right after one pass, and leaves with that.
            let is_let_go = row.batch == Some(1) || row.stop == "beaten";
            assert!(is_found_out || is_let_go, "{}: {}", row.status, row.reason);
        }
    });
}

#[test]
fn macros_are_axes_as_they_are_written_and_the_last_definition_counts() {
    let folder = Folder::new();
    let [tiled, copy] = [("tiled.comp", TILED), ("copy.comp", COPY)].map(|(name, text)| folder.write(name, text));
    let square = "local_size_x == SIDE && local_size_y == SIDE";
    let macros = ["-a", "local_size_x=4,8", "-a", "local_size_y=4,8", "-D", "SIDE=4,8,0", "--restrict", square];
    let all = found(0, &[&[tiled.as_str(), "-d", "mock"], &SQUARE[..], &macros].concat());
    assert_eq!(all.len(), 2, "restrictions hold where a macro doesn't compile as well");
    assert!(all.iter().all(|row| row.status == "ok"));
    let compiled = &macros[..6];
    let all = found(0, &[&[tiled.as_str(), "-d", "mock"], &SQUARE[..], compiled].concat());
    for (sides, status) in statuses(&all, &["def_SIDE"]) {
        assert_eq!(status, if sides == ["0"] { "compile_error" } else { "ok" }, "{sides:?}");
    }
    each_device(|device| {
        // A call's commas are its own, and `2^1` is no power in GLSL: it is 3.
        let factors = ["-D", "FACTOR=7", "-D", "FACTOR=2,max(1,2),2^1", "-n", "256", "-a", "local_size_x=64"];
        let all = found(0, &[&[copy.as_str(), "-d", &device.index], &factors[..]].concat());
        let found = statuses(&all, &["def_FACTOR"]);
        let status = |factor: &str| found[&vec![factor.to_owned()]].as_str();
        assert_eq!(["2", "max(1,2)", "2^1"].map(status), ["ok", "ok", "wrong_result"]);
    });
}

#[test]
fn outputs_are_compared_with_a_configuration_a_shader_or_files() {
    let (folder, copy) = Folder::with("copy.comp", COPY);
    let other =
        COPY.replace("buffer X { float x[]", "buffer A { float a[]").replace("x[i]", "a[i]").replace("x.length", "a.length");
    let other = folder.write("other.comp", other.replace("float(FACTOR)", "1.5"));
    let bytes = |factor: f32| (0..256_u16).flat_map(|i| (factor * f32::from(i)).to_ne_bytes()).collect::<Vec<u8>>();
    let [twice, thrice] = [2.0, 3.0].map(|factor| folder.write(&format!("{factor}.bin"), bytes(factor)));
    let named = format!("y={twice}");
    each_device(|device| {
        let arguments = [copy.as_str(), "-d", &device.index, "-n", "256", "-a", "local_size_x=32,64", "-b", "x=:iota", "-D"];
        for (factors, reference, right) in [
            ("FACTOR=2,3", "FACTOR=3", &["3"][..]),
            ("FACTOR=2,3,1.5", "local_size_x=32", &["2"]),
            ("FACTOR=2,3,1.5", &other, &["1.5"]),
            ("FACTOR=2,3", &twice, &["2"]),
            ("FACTOR=2,3", &named, &["2"]),
            ("FACTOR=2,3", &thrice, &["3"]),
        ] {
            let all = found(0, &[&arguments[..], &[factors, "--reference", reference]].concat());
            for (factor, status) in statuses(&all, &["def_FACTOR"]) {
                let expected = if right.contains(&factor[0].as_str()) { "ok" } else { "wrong_result" };
                assert_eq!(status, expected, "{factor:?} beside {reference}");
            }
        }
        let near = ["FACTOR=2,2.1", "--relative-tolerance", "0.1"];
        // So wide a tolerance would let others' values pass as well, which is a doubt if a near one is the best.
        let near = rows(&tuned(&[&arguments[..], &near].concat()).out);
        assert!(near.len() == 4 && near.iter().all(|row| row.status == "ok"));
    });
}

#[test]
fn a_manifest_says_what_flags_say() {
    let folder = Folder::new();
    folder.write("copy.comp", COPY);
    fs::create_dir(folder.path("data")).unwrap();
    folder.write("data/x.bin", (0..64_u8).flat_map(|i| f32::from(i).to_ne_bytes()).collect::<Vec<u8>>());
    folder.write("y.bin", (0..64_u8).flat_map(|i| (3.0 * f32::from(i)).to_ne_bytes()).collect::<Vec<u8>>());
    let manifest = "
        shader = 'copy.comp'
        name = 'by_manifest'
        n = 64
        axis = { local_size_x = [16, 32, 64] }
        define = { FACTOR = [2, 3] }
        buffer = ['x=float[n]:file=data/x.bin', 'y=[n]:zero']
        restrict = 'local_size_x > 16'
        threads = 'n'
        bytes = '8 * n'
        reference = 'Y=y.bin'
        strategy = 'random'
        budget = 100
        seed = 5
        output = ['rows.csv', 'rows.jsonl']
        save-table = 'table.json'
        t4 = 't4.json'
        preset = 'quick'
        max_time = '10ms'
        no-lock = true
    ";
    let manifest = folder.write("kernel.toml", manifest);
    let device = &devices()[0].index;
    let ran = ran(&["tune", "--manifest", &manifest, "-d", device]);
    assert!([Some(0), Some(UNTOLD)].contains(&ran.code), "{}", ran.err);
    let rows = crate::support::rows_of(&folder.path("rows.csv"));
    assert_eq!(rows.len(), 4, "{}", ran.err);
    for row in &rows {
        assert_eq!((row.experiment.as_str(), row.seed, row.bytes_per_pass), ("tune/by_manifest", Some(5), Some(512)));
        assert_eq!(row.status == "ok", row.by_axis["def_FACTOR"].to_string() == "3", "{}", row.reason);
    }
    let lines = fs::read_to_string(folder.path("rows.jsonl")).unwrap();
    assert_eq!(lines.lines().count(), 4);
    // What a busy machine can't tell isn't kept.
    assert!(folder.path("t4.json").is_file() && folder.path("table.json").is_file() == (ran.code == Some(0)));
    // Flags that are typed win.
    let typed = ["--manifest", &manifest, "-d", device, "-D", "FACTOR=3", "-o", "-", "-a", "local_size_x=32"];
    let all = crate::support::rows(&crate::support::ran(&[&["tune", "--format", "csv"][..], &typed].concat()).out);
    assert_eq!(all.len(), 1);
    assert!(!all[0].axis_values.contains("def_"), "{}", all[0].axis_values);
}

#[test]
fn a_block_of_a_fixed_size_is_filled_from_a_file() {
    let glsl = "#version 450
        layout(local_size_x = 64) in;
        layout(binding = 0) readonly buffer A { uint first; float rest[3]; };
        layout(binding = 1) buffer Out { uint o[]; };
        void main() { uint i = gl_GlobalInvocationID.x; o[i] = first + uint(rest[i % 3u]); }";
    let (folder, shader) = Folder::with("fixed.comp", glsl);
    let own = [7, 1_f32.to_bits(), 2_f32.to_bits(), 3_f32.to_bits()].map(u32::to_ne_bytes).concat();
    let filled = format!("A=:file={}", folder.write("a.bin", own));
    let expected: Vec<u8> = (0..64_u32).flat_map(|i| (8 + i % 3).to_ne_bytes()).collect();
    let reference = format!("o={}", folder.write("o.bin", expected));
    let device = &devices()[0].index;
    let flags = ["-d", device, "-n", "64", "-b", &filled, "-a", "local_size_x=32", "--reference", &reference];
    let ran = tuned(&[&[shader.as_str()][..], &flags].concat()).says(0, &[]);
    assert_eq!(rows(&ran.out)[0].status, "ok", "{}", ran.err);
}

#[test]
fn rows_the_table_t4_and_the_answer_agree() {
    let (folder, copy) = Folder::with("copy.comp", COPY);
    let [table, t4] = ["table.json", "t4.json"].map(|name| folder.at(name));
    let device = &devices()[0];
    let mut expected = 0;
    for n in ["1024", "4096"] {
        let sizes = ["-n", n, "-a", "local_size_x=32,64", "-D", "FACTOR=2,3", "--bytes", "8 * n"];
        let files = ["--save-table", &table, "--t4", &t4];
        let ran = tuned(&[&[copy.as_str(), "-d", &device.index], &sizes[..], &files].concat()).says(0, &[]);
        let rows = rows(&ran.out);
        // What a busy machine can't tell isn't kept.
        let is_told = ran.err.contains("Best: ");
        assert_ne!(is_told, ran.err.contains("Can't tell on this machine"), "{}", ran.err);
        if !is_told {
            continue;
        }
        expected += 1;
        let known = Table::load(folder.path("table.json").as_path()).unwrap();
        assert_eq!(known.entries().len(), expected, "sizes accumulate");
        let entry = known.entries().find(|entry| entry.size["n"].to_string() == n).unwrap().clone();
        let is_best = |row: &&Record| entry.configuration.iter().all(|(axis, value)| row.by_axis.get(axis) == Some(value));
        let best = rows.iter().find(is_best).unwrap();
        assert_eq!((best.status.as_str(), best.time_ns), ("ok", Some(entry.time_ns)));
        let said = ran.err.lines().find_map(|line| line.strip_prefix("Best: ")).unwrap();
        assert!(entry.configuration.iter().all(|(axis, value)| said.contains(&format!("{axis}={value}"))), "{said}");

        let written: Value = serde_json::from_str(&fs::read_to_string(&t4).unwrap()).unwrap();
        let results = written["results"].as_array().unwrap();
        assert_eq!(results.len(), rows.len());
        for row in &rows {
            let is_it = |result: &&Value| {
                let configuration = result["configuration"].as_object().unwrap();
                configuration.iter().all(|(axis, value)| row.by_axis[axis].to_string() == value.to_string().trim_matches('"'))
            };
            let result = results.iter().find(is_it).unwrap();
            assert_eq!(result["invalidity"] == "correct", row.status == "ok", "{result}");
            let time = result["measurements"].as_array().unwrap().iter().find(|of| of["name"] == "time");
            let time = time.and_then(|time| time["value"].as_f64()).map(|time| time * 1e6);
            assert!(
                time.zip(row.time_ns).is_none_or(|(a, b)| (a - b).abs() <= 1e-9 * b) && time.is_some() == row.time_ns.is_some()
            );
        }
        let size = BTreeMap::from([("n".to_owned(), 4000)]);
        let query = Query { kernel: &entry.kernel.hash, device: &entry.device, driver: &entry.driver, size: &size };
        assert_eq!(known.find(&query).map(|found| found.quality), Some(Quality::NearestSize));
    }
}

#[test]
fn what_holds_no_result_may_differ_in_size_and_in_contents() {
    let folder = Folder::new();
    let parts = "#version 450
        layout(local_size_x = 64) in;
        layout(binding = 0) readonly buffer In { uint data[]; };
        layout(binding = 1) writeonly buffer Parts { uint parts[]; };
        layout(binding = 2) buffer Total { uint total; };
        shared uint sum;
        void main() {
            if (gl_LocalInvocationIndex == 0) sum = 0;
            barrier();
            atomicAdd(sum, data[gl_GlobalInvocationID.x]);
            barrier();
            if (gl_LocalInvocationIndex == 0) { parts[gl_WorkGroupID.x] = sum; atomicAdd(total, sum); }
        }";
    let parts = folder.write("parts.comp", parts);
    let each = ["-n", "4096", "-a", "local_size_x=32,64", "-b", "parts=[n / local_size_x]", "-b", "total=:zero"];
    each_device(|device| {
        let arguments = [&[parts.as_str(), "-d", &device.index], &each[..]].concat();
        for row in found(0, &arguments) {
            assert_eq!(row.status == "ok", row.local_size_x == Some(64), "{}", row.reason);
        }
        let all = found(0, &[&arguments[..], &["--ignore", "parts"]].concat());
        assert!(all.len() == 2 && all.iter().all(|row| row.status == "ok"));
        let sums = found(0, &[&arguments[..], &["--check", "parts=sum"]].concat());
        assert!(sums.len() == 2 && sums.iter().all(|row| row.status == "ok" && row.checked == "true"));
        let none = found(0, &[&arguments[..], &["--ignore", "parts", "--check", "Total=none"]].concat());
        for row in none {
            assert_eq!((row.status.as_str(), row.checked.as_str()), ("ok", "false"), "{}", row.reason);
            assert!(row.check_note.contains("--check"), "{}", row.check_note);
        }
    });
}

/// Invocations append to a list whose order is theirs: nobody knows it, and it has more room than it takes.
#[test]
fn lists_and_partial_sums_are_compared_as_the_user_says() {
    let folder = Folder::new();
    let list = "#version 450
        layout(local_size_x = 64) in;
        layout(binding = 0) readonly buffer In { uint data[]; };
        layout(binding = 1) buffer Count { uint count; };
        layout(binding = 2) writeonly buffer Out { uint kept[]; };
        void main() {
            uint i = gl_GlobalInvocationID.x;
            // The lane's number stands for what no order tells.
            if (data[i] % 4 == 0) kept[atomicAdd(count, 1)] = data[i] * 256 + i;
        }";
    let backwards = list.replace("kept[atomicAdd(count, 1)]", "kept[data.length() - 1 - atomicAdd(count, 1)]");
    let [list, backwards] = [("list.comp", list), ("back.comp", &backwards)].map(|(name, text)| folder.write(name, text));
    let each = ["-n", "4096", "-a", "local_size_x=32,64", "-b", "count=:zero", "-b", "kept=[n]", "--reference", &backwards];
    each_device(|device| {
        let arguments = [&[list.as_str(), "-d", &device.index], &each[..]].concat();
        let ran = tuned(&arguments).says(1, &[]);
        assert!(rows(&ran.out).iter().all(|row| row.status == "wrong_result" && row.reason.ends_with("--check Out=set")));
        assert!(ran.err.contains("of `Out` were never written by the reference"), "{}", ran.err);
        for how in ["kept=set", "kept=sum"] {
            let rows = found(0, &[&arguments[..], &["--check", how]].concat());
            assert!(rows.iter().all(|row| row.status == "ok" && row.checked == "true"), "{how}");
        }
        let other = list.replace("list.comp", "other.comp");
        let text = fs::read_to_string(&list).unwrap().replace("* 256 + i", "* 256 + i + 1");
        fs::write(&other, text).unwrap();
        let arguments = [&[other.as_str(), "-d", &device.index], &each[..]].concat();
        for how in ["kept=set", "kept=sum"] {
            let ran = tuned(&[&arguments[..], &["--check", how]].concat());
            assert!(rows(&ran.out).iter().all(|row| row.status == "wrong_result"), "{how}: {}", ran.err);
        }
    });
    tuned(&[&[list.as_str()], &each[..], &["--check", "kept=some"]].concat())
        .says(2, &["`some` is none of elements, sum, set, none"]);
    tuned(&[&[list.as_str()], &each[..], &["--check", "keep=set"]].concat())
        .says(2, &["the shader has no buffer or image `keep`"]);
}

/// The reference writes half; configurations that write more, and less.
#[test]
fn what_nobody_wrote_is_said_and_only_what_the_reference_wrote_must_be_written() {
    let folder = Folder::new();
    let half = |count: &str| {
        format!(
            "#version 450
            layout(local_size_x = 64) in;
            layout(binding = 0) writeonly buffer Out {{ float b[]; }};
            void main() {{ uint i = gl_GlobalInvocationID.x; if (i < {count}) b[i] = i; }}"
        )
    };
    let [reference, more, less, none] = [("half.comp", "128"), ("more.comp", "256"), ("less.comp", "100"), ("none.comp", "0")]
        .map(|(name, count)| folder.write(name, half(count)));
    each_device(|device| {
        let of = |shader: &str, reference: &str| {
            tuned(&[shader, "-d", &device.index, "-n", "512", "-a", "local_size_x=32,64", "--reference", reference])
        };
        let (same, wrote_more) = (of(&reference, &reference), of(&more, &reference));
        for ran in [&same, &wrote_more] {
            assert!(rows(&ran.out).iter().all(|row| row.status == "ok"), "{}", ran.err);
            let note = "note: elements 128 to 511 of `Out` were never written by the reference: nothing is compared there";
            assert!(ran.err.contains(note), "{}", ran.err);
        }
        let wrote_less = of(&less, &reference);
        for row in rows(&wrote_less.out) {
            let told = "Out[100] is never written, should be 100.0 (28 of 512 elements are wrong)";
            assert!(row.status == "wrong_result" && row.reason.contains(told), "{}", row.reason);
        }
        let nothing = of(&none, &none);
        assert!(nothing.err.contains("note: `Out` was never written by the reference"), "{}", nothing.err);
        for row in rows(&nothing.out) {
            assert_eq!((row.status.as_str(), row.checked.as_str()), ("ok", "false"), "{}", row.check_note);
        }
    });
}

#[test]
fn the_pattern_of_wrong_results_is_said_once() {
    let folder = Folder::new();
    let shader = COPY.replace("float(FACTOR)", "float(gl_WorkGroupSize.x)");
    let shader = folder.write("size.comp", shader);
    each_device(|device| {
        let ran = tuned(&[&shader, "-d", &device.index, "-n", "4096", "-a", "local_size_x=8,16,32,64,128"]).says(0, &[]);
        assert_eq!(ran.err.matches(": wrong_result: after one pass").count(), 3, "{}", ran.err);
        assert!(ran.err.contains("... and 1 more wrong_result: their rows say what"), "{}", ran.err);
        let told = "Wrong results: only the reference's own configuration is right: the code depends on it";
        assert_eq!(ran.err.matches(told).count(), 1, "{}", ran.err);
        assert!(ran.err.contains("1 of 5 configurations has a time."), "{}", ran.err);
    });
}

#[test]
fn an_open_workgroup_size_is_chosen_and_its_constant_is_an_axis() {
    let folder = Folder::new();
    let shader = COPY.replace(
        "layout(local_size_x = 64) in;",
        "layout(local_size_x_id = 0) in;
        layout(constant_id = 0) const uint WIDTH = 1;",
    );
    let shader = folder.write("open.comp", shader);
    each_device(|device| {
        let ran = tuned(&[&shader, "-d", &device.index, "-n", "4096", "-a", "WIDTH=16,64,128"]).says(0, &[]);
        let told = "has one invocation as it is written: results are compared with those of local_size_x=64 (--reference";
        assert!(ran.err.contains(told), "{}", ran.err);
        let mut widths: Vec<_> = rows(&ran.out).iter().map(|row| (row.status.clone(), row.local_size_x)).collect();
        widths.sort();
        assert_eq!(widths, [16, 64, 128].map(|width| ("ok".to_owned(), Some(width))), "{}", ran.err);
        // By its constant_id as well.
        let ran = tuned(&[&shader, "-d", &device.index, "-n", "4096", "-c", "0=128"]).says(0, &[]);
        assert_eq!(rows(&ran.out)[0].local_size_x, Some(128), "{}", ran.err);
    });
}

#[test]
fn a_reference_that_differs_from_itself_is_told() {
    let folder = Folder::new();
    let mut kernel = UserKernel::new(subject(&folder.write("copy.comp", COPY), &["-n", "4"]), DeviceInfo::mock());
    let bytes = |numbers: [f32; 4]| vec![numbers.map(f32::to_ne_bytes).concat()];
    let mut learned = |other| {
        let outputs = Outputs { bytes: bytes([1.0, 2.0, 3.0, 4.0]), poisoned: Some(bytes(other)) };
        kernel.learn(outputs).doubts
    };
    assert_eq!(learned([1.0, 2.0, 3.0, 4.000_001]), [""; 0], "as near as results must be");
    let told = learned([1.0, 2.0, 3.5, 4.0]);
    assert!(told.len() == 1 && told[0].contains("differ from one run to the next"), "{told:?}");
    assert!(told[0].contains("Y[2] is 3.5, should be 3.0 (1 of 4 elements are wrong)"), "{told:?}");
}

#[test]
fn a_size_of_the_shaders_own_constants_is_swept_where_it_can_be() {
    let folder = Folder::new();
    let shader = |sizes: &str| {
        format!(
            "#version 450
            layout({sizes}) in;
            layout(constant_id = 0) const uint WIDTH = 1;
            layout(binding = 0) buffer Out {{ float o[]; }};
            void main() {{ uvec2 p = gl_GlobalInvocationID.xy; if (max(p.x, p.y) < 64) o[p.y * 64 + p.x] = float(p.x); }}"
        )
    };
    let square = folder.write("square.comp", shader("local_size_x_id = 0, local_size_y_id = 0"));
    let own = folder.write("own.comp", shader("local_size_x_id = 0, local_size_y_id = 1"));
    let device = &devices()[0].index;
    let sizes = ["-d", device, "-n", "4096", "-a", "local_size_x=4,8"];
    let squares = found(0, &[&[square.as_str()], &sizes[..], &["-a", "local_size_y=4,8"]].concat());
    assert!(squares.len() == 2 && squares.iter().all(|row| row.status == "ok" && row.local_size_x == row.local_size_y));
    // A direction with a constant of its own is there, though its default is 1; WIDTH is the workgroup's.
    let all = found(0, &[&[own.as_str()], &sizes[..], &["--restrict", "WIDTH < 8 && local_size_y < 4"]].concat());
    let found = statuses(&all, &["local_size_x", "local_size_y"]);
    assert!(found.keys().eq([["4", "1"], ["4", "2"]].iter()) && all.iter().all(|row| row.status == "ok"), "{found:?}");
}

/// Sizes that the device doesn't have are left out; where subgroups are to be full, workgroups that leave lanes over are too.
#[test]
fn subgroups_are_as_large_as_an_axis_requires() {
    let (_folder, copy) = Folder::with("copy.comp", COPY);
    each_device(|device| {
        let given = [&copy, "-d", &device.index, "-n", "4096", "-a", "local_size_x=24,64", "-a", "subgroup_size=1..256:*2"];
        let sizes = |more: &[&str]| {
            let ran = tuned(&[&given[..], &["--validation"], more].concat());
            if ran.code == Some(2) {
                assert!(ran.err.contains("the device lets nobody choose"), "{}", ran.err);
                return Vec::new();
            }
            let all = rows(&ran.out);
            assert!(!all.is_empty() && all.iter().all(|row| row.status == "ok"), "{}", ran.err);
            all.iter().map(|row| (row.local_size_x.unwrap(), row.subgroup_size.unwrap())).collect()
        };
        let (any, full) = (sizes(&[]), sizes(&["--full-subgroups"]));
        let are_full: Vec<_> = any.iter().copied().filter(|(x, subgroup)| x % subgroup == 0).collect();
        assert_eq!(full, are_full, "of {any:?}");
    });
}

#[test]
fn one_of_several_entry_points_of_spirv_is_tuned() {
    let folder = Folder::new();
    // Both fill the buffer, in workgroups of 64: with the invocation's number and what is pushed, and with its double. What is pushed has no
    // name.
    let entry = |name: &str, by: u32| {
        let (read, added) = match by {
            1 => ("%m = OpAccessChain %member %push %c0\n%pushed = OpLoad %uint %m\n", "%pushed"),
            _ => ("", "%c0"),
        };
        format!(
            "%{name} = OpFunction %void None %function\n%{name}_begins = OpLabel\n%{name}_id = OpLoad %v3 %id\n\
             %{name}_i = OpCompositeExtract %uint %{name}_id 0\n%{name}_d = OpIMul %uint %{name}_i %c{by}\n\
             {read}%{name}_v = OpIAdd %uint %{name}_d {added}\n\
             %{name}_p = OpAccessChain %element %a %c0 %{name}_i\nOpStore %{name}_p %{name}_v\nOpReturn\nOpFunctionEnd\n"
        )
    };
    let text = format!(
        "OpCapability Shader\nOpMemoryModel Logical GLSL450\nOpEntryPoint GLCompute %once \"once\" %id\n\
         OpEntryPoint GLCompute %twice \"twice\" %id\nOpExecutionMode %once LocalSize 64 1 1\n\
         OpExecutionMode %twice LocalSize 64 1 1\nOpName %a \"a\"\nOpDecorate %id BuiltIn GlobalInvocationId\n\
         OpDecorate %array ArrayStride 4\nOpMemberDecorate %block 0 Offset 0\nOpDecorate %block Block\n\
         OpDecorate %a DescriptorSet 0\nOpDecorate %a Binding 0\nOpMemberDecorate %given 0 Offset 0\nOpDecorate %given Block\n\
         %void = OpTypeVoid\n%function = OpTypeFunction %void\n\
         %uint = OpTypeInt 32 0\n%v3 = OpTypeVector %uint 3\n%input = OpTypePointer Input %v3\n%id = OpVariable %input Input\n\
         %c0 = OpConstant %uint 0\n%c1 = OpConstant %uint 1\n%c2 = OpConstant %uint 2\n%array = OpTypeRuntimeArray %uint\n\
         %block = OpTypeStruct %array\n%buffer = OpTypePointer StorageBuffer %block\n\
         %element = OpTypePointer StorageBuffer %uint\n%a = OpVariable %buffer StorageBuffer\n\
         %given = OpTypeStruct %uint\n%to_given = OpTypePointer PushConstant %given\n\
         %member = OpTypePointer PushConstant %uint\n%push = OpVariable %to_given PushConstant\n{}{}",
        entry("once", 1),
        entry("twice", 2)
    );
    let binary = crate::support::spirv_tool("spirv-as", &["--target-env", "spv1.3", "-", "-o", "-"], text.as_bytes()).unwrap();
    let module = folder.write("several.spv", binary);
    let numbers = folder.write("twice.bin", (0..256_u32).flat_map(|i| (2 * i).to_ne_bytes()).collect::<Vec<u8>>());
    each_device(|device| {
        let arguments = [&module, "-d", &device.index, "-n", "256", "-a", "local_size_x=32,64,128", "--reference", &numbers];
        let right = found(0, &[&arguments[..], &["--entry", "twice"]].concat());
        assert!(!tuned(&[&arguments[..], &["--entry", "twice"]].concat()).err.contains("couldn't be looked at"));
        assert!(right.len() == 3 && right.iter().all(|row| row.status == "ok"));
        let once = [&arguments[..], &["--entry", "once"]].concat();
        tuned(&once).says(2, &["no value is given for `@0` (uint)", "add --push @0=VALUE"]);
        let wrong = found(1, &[&once[..], &["--push", "@0=0"]].concat());
        assert!(wrong.len() == 3 && wrong.iter().all(|row| row.status == "wrong_result"));
        tuned(&arguments).says(2, &["name one of once, twice by --entry"]);
    });
}

#[test]
fn spirv_that_is_not_valid_is_measured_where_its_user_insists() {
    let (folder, copy) = Folder::with("copy.comp", COPY);
    let mut words = from_file(copy.as_ref(), &Reading::default()).unwrap().words.clone();
    // Its buffers' storage class came with SPIR-V 1.3.
    words[1] = 0x0001_0000;
    let module = folder.write("old.spv", words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>());
    each_device(|device| {
        let arguments = [&module, "-d", &device.index, "-n", "1024", "-a", "local_size_x=32,64"];
        tuned(&arguments).says(2, &["not valid SPIR-V", "--no-validate takes it all the same"]);
        let arguments = [&arguments[..], &["--no-validate"]].concat();
        let measured = tuned(&arguments).says(0, &["not valid SPIR-V"]);
        assert!(!measured.err.contains("couldn't be looked at"), "{}", measured.err);
        let rows = found(0, &arguments);
        assert!(rows.len() == 2 && rows.iter().all(|row| row.status == "ok" && row.has_flag("invalid_spirv")));
        tuned(&[&arguments[..], &["--shared", "x=1"]].concat()).says(2, &["a module that isn't valid keeps the lengths"]);
    });
}

#[test]
fn a_missing_feature_is_no_configuration_that_is_measured() {
    let folder = Folder::new();
    let double = COPY.replace("float(FACTOR)", "2.0LF").replace("float", "double");
    let double = folder.write("double.comp", double);
    each_device(|device| {
        let ran = tuned(&[&double, "-d", &device.index, "-n", "256", "-a", "local_size_x=32,64"]);
        match device.driver.as_str() {
            "GOOGLE_SWIFTSHADER" => {
                assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{}", ran.err);
                assert!(ran.err.contains("lacks feature float64"), "{}", ran.err);
            }
            "MESA_LLVMPIPE" => assert_eq!(ran.code, Some(0), "{}", ran.err),
            _ => {}
        }
    });
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_search_keeps_its_rows_and_answers() {
    use crate::support::processes::Family;
    use rustix::process::Signal;

    let (folder, copy) = Folder::with("copy.comp", COPY);
    let rows = folder.path("rows.csv");
    let arguments = [&copy, "-d", &devices()[0].index, "-n", "4096", "-o", rows.to_str().unwrap(), "--strategy", "exhaustive"];
    // More than anybody waits for, in many blocks.
    let many =
        ["--no-lock", "--preset", "quick", "--max-time", "10ms", "-a", "local_size_x=1..256", "-D", "FACTOR=2,2.0,2.00,2.000"];
    let mut family = Family::start(&mut crate::support::lanescope(&[&["tune"], &arguments[..], &many].concat()));
    family.wait_until("the first rows are there", |_| fs::read_to_string(&rows).is_ok_and(|text| text.lines().count() > 4));
    family.signal(Signal::INT);
    let (signal, ran) = family.end();
    assert_eq!((signal, ran.code), (None, Some(130)), "{}", ran.err);
    assert!(ran.err.contains("interrupted"), "{}", ran.err);
    assert!(ran.err.contains("Can't tell on this machine") && ran.err.contains("The fastest so far takes"), "{}", ran.err);
    let kept = crate::support::rows_of(&rows);
    assert!(kept.len() >= 4 && kept.iter().all(|row| row.status == "ok"), "{} rows", kept.len());
}

/// Rows that are final when the search has ended, and not before: none is dropped by a race.
#[cfg(target_os = "linux")]
#[test]
fn a_killed_search_leaves_what_it_has_measured() {
    use crate::support::processes::Family;
    use rustix::process::Signal;

    let (folder, copy) = Folder::with("copy.comp", COPY);
    let [csv, jsonl] = ["rows.csv", "rows.jsonl"].map(|name| folder.path(name));
    let files = ["-o", csv.to_str().unwrap(), "-o", jsonl.to_str().unwrap()];
    let many = ["--no-race", "--strategy", "exhaustive", "-a", "local_size_x=1..256", "-D", "FACTOR=2,2.0,2.00,2.000"];
    let few = ["--no-lock", "--preset", "quick", "--max-time", "10ms", "-n", "4096", "-d", &devices()[0].index];
    let mut family = Family::start(&mut crate::support::lanescope(&[&["tune", &copy], &files[..], &many, &few].concat()));
    // Of the two it is written last.
    family.wait_until("a block is there", |_| fs::read_to_string(&jsonl).is_ok_and(|text| text.lines().count() >= 60));
    family.signal(Signal::KILL);
    let (signal, _) = family.end();
    assert_eq!(signal, Some(Signal::KILL.as_raw()));
    let kept = crate::support::rows_of(&csv);
    assert!(kept.len() >= 60 && kept.iter().all(|row| row.status == "ok" && row.stop != "beaten"), "{} rows", kept.len());
    let mut cases: Vec<&str> = kept.iter().map(|row| row.case_id.as_str()).collect();
    cases.sort_unstable();
    cases.dedup();
    assert_eq!(cases.len(), kept.len(), "each once");
    assert!(fs::read_to_string(&jsonl).unwrap().lines().count() >= 60);
}

#[cfg(unix)]
#[test]
fn a_reference_that_takes_its_process_down_is_named_and_nothing_is_written() {
    use crate::support::faults::Faults;

    let (folder, copy) = Folder::with("copy.comp", COPY);
    let (old, new) = (folder.path("old.csv"), folder.path("new.csv"));
    fs::write(&old, "rows of yesterday").unwrap();
    // As it is written it runs in 77 workgroups, and no other configuration does.
    let sizes = ["-n", "4928", "-a", "local_size_x=32,64,128"];
    let hasty = ["--no-lock", "--timeout", "1s", "--first-timeout", "3s", "-d", &devices()[0].index];
    let files = ["-o", old.to_str().unwrap(), "-o", new.to_str().unwrap()];
    for (fault, parts) in [
        ("abort:groups=77", ["crashed: its process died", "SIGABRT"]),
        ("hang:groups=77", ["timeout: no end within 4.0 s", "was killed (--first-timeout allows more)"]),
    ] {
        let faults = Faults::new(fault);
        let ran = crate::support::ended(
            faults.meet(&mut crate::support::lanescope(&[&["tune", &copy], &sizes[..], &hasty, &files].concat())),
        )
        .says(1, &[]);
        let words = ["the reference, which all results are compared with, can't be run", "--reference names another one"];
        assert!(words.iter().chain(&parts).all(|part| ran.err.contains(part)), "{}", ran.err);
        assert!(!ran.err.contains("times in a row"), "it is tried once: {}", ran.err);
        assert_eq!(fs::read_to_string(&old).unwrap(), "rows of yesterday");
        assert!(!new.exists());
    }
}

#[test]
fn a_time_that_may_be_spent_ends_the_first_block_too_and_keeps_its_rows() {
    let folder = Folder::new();
    // Ten thousand steps for each of a million invocations: far longer than anybody waits for on a processor.
    let slow = COPY.replace(
        "y[i] = float(FACTOR) * x[i];",
        "{ float s = x[i]; for (int k = 0; k < 10000; ++k) s = fma(s, 0.5, x[i]); y[i] = s; }",
    );
    let slow = folder.write("slow.comp", slow);
    let Some(software) = software() else { skip!("no driver here is software") };
    for device in software {
        let arguments = ["tune", &slow, "-d", &device.index, "-n", "2^16", "--no-lock", "--no-race", "--format", "csv"];
        let ran = ran(&[&arguments[..], &["--preset", "thorough", "--budget", "2s", "-q"]].concat())
            .says(UNTOLD, &["a longer --budget"]);
        let rows = rows(&ran.out);
        // Six rounds of all would take a minute and more. Counted in rounds, since a busy machine takes its time for each.
        let effort = ran.err.lines().last().unwrap();
        let all: u64 = effort.split(' ').nth(2).unwrap().parse().unwrap();
        let rounds: u64 = rows.iter().filter_map(|row| row.rounds).sum();
        assert!(all > 5 && !rows.is_empty() && rounds < 6 * all, "{rounds} rounds: {effort}");
        assert!(rows.iter().all(|row| row.status == "ok" && row.checked == "true"));
        // Quiet, it still says what was asked for.
        assert!(ran.err.starts_with("Can't tell on this machine"), "{}", ran.err);
    }
}

#[test]
fn members_of_structs_and_elements_of_arrays_have_values_of_their_own() {
    let folder = Folder::new();
    let shader = "#version 450
        layout(local_size_x = 64) in;
        struct Light { vec3 position; uint kind; };
        layout(binding = 0) buffer Y { float y[]; };
        layout(binding = 1, std140) uniform Scene { Light lights[2]; float weights[4]; };
        layout(push_constant) uniform P { Light light; uint count; } p;
        void main() {
            uint i = gl_GlobalInvocationID.x;
            float sum = p.light.position.y + 10 * lights[1].position.x + 100 * weights[3] + 1000 * float(p.light.kind);
            if (i < p.count) y[i] = sum;
        }";
    let shader = folder.write("lights.comp", shader);
    let expected = folder.write("y.bin", std::iter::repeat_n(3752_f32.to_ne_bytes(), 256).flatten().collect::<Vec<u8>>());
    let given = "p.light.kind=3 light.position=1,2,3 lights[0]=0 lights[1]=0 lights[1].position=n/256*5,4 weights[3]=7";
    let given: Vec<&str> = given.split(' ').flat_map(|text| ["--push", text]).collect();
    each_device(|device| {
        let sizes = ["-d", &device.index, "-n", "256", "-a", "local_size_x=32,64", "--reference", &expected];
        let all = found(0, &[&[shader.as_str()], &sizes[..], &given].concat());
        assert!(all.len() == 2 && all.iter().all(|row| row.status == "ok"), "{}", all[0].reason);
        let other = [&[shader.as_str()], &sizes[..], &given, &["--push", "weights[3]=7.5"]].concat();
        assert!(found(1, &other).iter().all(|row| row.status == "wrong_result"));
    });
    tuned(&[&shader, "-d", "mock", "--push", "lights[2].kind=1"]).says(2, &["leads beyond `lights`, which has 2 elements"]);
}

/// What all configurations share is the reference's as well.
#[test]
fn a_constant_of_one_value_has_it_in_the_reference() {
    let (_folder, scale) = Folder::with("scale.comp", CONSTANT);
    each_device(|device| {
        for given in [["-a", "FACTOR=3"], ["-c", "3=3"]] {
            let arguments = [&scale, "-d", &device.index, "-n", "4096", "-a", "local_size_x=32,64"];
            let rows = found(0, &[&arguments[..], &given].concat());
            let ended = statuses(&rows, &["spec_FACTOR", "local_size_x"]);
            assert!(ended.keys().eq(&[["3", "32"], ["3", "64"]]) && ended.values().all(|status| status == "ok"), "{ended:?}");
        }
    });
}

#[test]
fn a_constant_of_one_value_has_it_in_every_kind_of_reference() {
    let folder = Folder::new();
    let shader = |name: &str, from: &str, to: &str| folder.write(name, CONSTANT.replace(from, to));
    let scale = shader("scale.comp", "", "");
    let twice = shader("twice.comp", "FACTOR * x[i]", "FACTOR * (x[i] * 2)");
    let literal = shader("literal.comp", "layout(constant_id = 3) const uint FACTOR = 1", "const uint FACTOR = 3");
    let configuration = |axis: &'static str, value: u64| Reference::Configuration(Point::new([(axis.into(), value.into())]));
    on_each_device(|device| {
        for (reference, is_right) in [
            (Reference::Untouched, true),
            (configuration("local_size_x", 8), true),
            (configuration("spec_FACTOR", 2), false),
            (Reference::Shader(scale.clone().into()), true),
            (Reference::Shader(literal.clone().into()), true),
            (Reference::Shader(twice.clone().into()), false),
        ] {
            let subject = KernelSpec { reference: reference.clone(), ..subject(&scale, &["-n", "4096", "-c", "FACTOR=3"]) };
            let verdicts = verdicts(device, &subject, &[32, 64]);
            assert!(verdicts.iter().all(|verdict| (*verdict == Ok(())) == is_right), "{reference:?}: {verdicts:?}");
        }
    });
}

#[test]
fn a_dry_run_fails_where_the_first_configuration_does() {
    let group = "#version 450\nlayout(local_size_x = 64) in;\nlayout(binding = 0) buffer Y { uint y[]; };\n\
                 void main() { y[gl_GlobalInvocationID.x] = gl_WorkGroupID.x + 1; }\n";
    let (_folder, shader) = Folder::with("group.comp", group);
    for device in devices() {
        let dry = |more: &[&str]| {
            let flags =
                ["tune", &shader, "-n", "4096", "-a", "local_size_x=32,64", "--no-lock", "--dry-run", "-d", &device.index];
            ran(&[&flags[..], more].concat())
        };
        dry(&[]).says(0, &["local_size_x=64: it compiles, stays within its arrays, and computes what the reference computes"]);
        let wrong = dry(&["--reference", "local_size_x=32"]).says(1, &["local_size_x=64: wrong_result: after one pass: Y[32]"]);
        assert!(!wrong.err.contains("the search takes"), "{}", wrong.err);
        dry(&["-b", "Y=uint[100]"])
            .says(1, &["local_size_x=64: it accesses a buffer or an image out of bounds", "the search takes "]);
    }
}
