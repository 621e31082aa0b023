//! `lanescope tune` says where a shader indexes beyond its arrays, and nothing where it doesn't. What only some configurations do
//! excludes them, and so does what ruins the driver's memory.

#[cfg(unix)]
use std::io::{BufRead, BufReader};
#[cfg(unix)]
use std::process::Stdio;

use lanescope::model::{AxisValue, Point};
use lanescope::record::Record;
use lanescope::worker::questions::bounds::{Bounds, CheckBounds, OpenBounds, Pass};
use lanescope::worker::questions::{QuestionState, Respondent};
use lanescope::worker::{Host, Identity, Platform};
#[cfg(unix)]
use rustix::process::{Pid, Signal, kill_process};

use crate::judge::subject;
use crate::support::tunings::SHORT;
use crate::support::{Folder, Ran, devices_in_turn, ran, rows, skip, software, tunings};
#[cfg(unix)]
use crate::support::{faults::Faults, lanescope};

const SHADER: &str = "#version 450
layout(local_size_x = 64) in;
layout(constant_id = 5) const uint PARTS = 4;
struct Light { float weights[PARTS]; vec4 colour; };
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) writeonly buffer Y { float y[]; };
layout(binding = 2) readonly buffer L { uint head; Light lights[]; } data;
layout(push_constant) uniform P { int ahead; uint part; };
void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i < 1024u) y[i] = x[int(i) + ahead] + data.lights[i / 64u].weights[part];
}
";

/// Over two workgroup sizes.
const FEW: [&str; 5] = ["-n=1024", "-a", "local_size_x=32,64", "-b", "data=[16]"];

/// Tunes it; gives the rows, and what was said.
fn tuned(folder: &Folder, arguments: &[&str]) -> (Vec<Record>, String) {
    let shader = folder.write("shader.comp", SHADER);
    let Ran { out, err, .. } = tunings::tuned(&[&[shader.as_str()], &FEW[..], arguments].concat());
    (rows(&out), err)
}

#[test]
fn passes_that_are_compiled_ahead_note_what_others_do() {
    const LITERAL: &str = "#version 450
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint FACTOR = 2;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) writeonly buffer B { float b[]; };
shared float s[64];
void main() {
    s[gl_LocalInvocationIndex] = a[gl_GlobalInvocationID.x];
    barrier();
    b[gl_GlobalInvocationID.x * FACTOR] = s[gl_LocalInvocationIndex];
}
";
    let (_folder, shader) = Folder::with("literal.comp", LITERAL);
    let host = Host::load(&Platform::Vulkan { validation: true, driver: None }).unwrap_or_else(|error| panic!("{error}"));
    let point = |(size, factor): (u64, u64)| {
        Point::new([("local_size_x".into(), AxisValue::from(size)), ("spec_FACTOR".into(), AxisValue::from(factor))])
    };
    let points = [(16, 1), (64, 1), (128, 1), (16, 2), (256, 2), (32, 1), (64, 3)].map(point);
    let passes: Vec<Pass> = std::iter::once(Pass::Reference).chain(points.into_iter().map(Pass::Configuration)).collect();
    for device in host.hello().devices.iter().filter(|device| device.unusable.is_none()) {
        let noted = |compile_threads| -> Vec<Bounds> {
            let opening = OpenBounds {
                is_robust: true,
                device: Identity::at_place(device, device.index),
                queue: None,
                deadline: None,
                compile_threads,
                subject: subject(&shader, &["-n", "4096"]),
            };
            let mut checker = Respondent::Here(&host, QuestionState::default());
            checker.ask(opening).unwrap_or_else(|failure| panic!("{}", failure.reason));
            // Some of what is announced never comes.
            let next = |i: usize| if i % 3 == 2 { &passes[..2] } else { &passes[i + 1..] };
            let noted = |(i, pass): (usize, &Pass)| {
                let question = CheckBounds { pass: pass.clone(), next: next(i).to_vec() };
                checker.ask(question).unwrap_or_else(|failure| panic!("{}", failure.reason))
            };
            passes.iter().enumerate().map(noted).collect()
        };
        let (alone, ahead) = (noted(0), noted(2));
        assert_eq!(alone, ahead, "{}", device.name);
        let counts: Vec<usize> = ahead.iter().map(|bounds| bounds.overruns.len()).collect();
        assert_eq!(counts, [1, 0, 0, 1, 1, 2, 0, 1], "{}: {ahead:?}", device.name);
    }
    assert_eq!(host.messages(), Vec::<String>::new());
}

fn is_flagged(rows: &[Record]) -> bool {
    let flagged = rows.iter().filter(|row| row.quality_flags.split(';').any(|flag| flag == "out_of_bounds")).count();
    assert!(rows.len() == 2 && (flagged == 0 || flagged == rows.len()), "{flagged} of {} rows", rows.len());
    flagged > 0
}

#[test]
fn what_lies_beyond_a_buffer_or_an_array_is_told_with_its_size() {
    let folder = Folder::new();
    for device in devices_in_turn() {
        let of = |arguments: &[&str]| tuned(&folder, &[&["-d", &device.index], arguments].concat());
        let push = |ahead: &'static str, part: &'static str| ["--push", ahead, "--push", part];

        let (within, said) = of(&push("ahead=0", "part=3"));
        assert!(!is_flagged(&within) && !said.contains("warning"), "{said}");
        assert!(within.iter().all(|row| row.status == "ok" && row.robustness == Some(false)), "{said}");

        let (beyond, said) = of(&push("ahead=3", "part=0"));
        assert!(is_flagged(&beyond));
        assert!(said.contains("warning: `x` (set 0, binding 0) has 1024 elements, and is indexed up to 1026"), "{said}");
        assert!(said.contains("give it 1027 elements") && !said.contains("`data"), "{said}");
        let (enough, said) = of(&[&push("ahead=3", "part=0")[..], &["-b", "X=[n + 3]"]].concat());
        assert!(!is_flagged(&enough) && !said.contains("warning"), "{said}");

        let (before, said) = of(&push("ahead=-3", "part=0"));
        assert!(
            is_flagged(&before) && said.contains("`x` (set 0, binding 0) has 1024 elements, and is indexed from -1 (line 11):"),
            "{said}"
        );

        // Within the buffer, but beyond the array, whose length is a constant of the shader's.
        let (part, said) = of(&push("ahead=0", "part=5"));
        assert!(is_flagged(&part));
        assert!(said.contains("`data.lights[].weights` (set 0, binding 2) has 4 elements, and is indexed up to 5"), "{said}");
        let shorter = ["-a", "PARTS=2", "--reference", "PARTS=2"];
        let (two, said) = of(&[&push("ahead=0", "part=3")[..], &shorter].concat());
        assert!(is_flagged(&two) && said.contains("has 2 elements, and is indexed up to 3"), "{said}");
        let (two, said) = of(&[&push("ahead=0", "part=1")[..], &shorter].concat());
        assert!(!is_flagged(&two) && !said.contains("warning"), "{said}");

        let (few, said) = of(&[&push("ahead=0", "part=0")[..], &["-b", "data=[15]"]].concat());
        assert!(is_flagged(&few));
        assert!(said.contains("`data.lights` (set 0, binding 2) has 15 elements, and is indexed up to 15"), "{said}");
    }
}

/// What lies beyond push constants is nobody's, and no robust access guards it.
#[test]
fn push_constants_beyond_their_arrays_are_told_as_a_uniform_blocks_are() {
    const SHADER: &str = "#version 450
        layout(local_size_x = 4) in;
        struct Part { uint skip; uint parts[2]; };
        layout(push_constant) uniform P { uint t[4]; Part of[2]; uint far; uint count; };
        layout(binding = 0) buffer B { uint b[]; };
        void main() {
            uint i = gl_GlobalInvocationID.x;
            uint part = of[1].parts[gl_LocalInvocationID.x / 4 + far];
            if (i < count) b[i] = t[gl_LocalInvocationID.x % 4] + part;
        }";
    let (_folder, shader) = Folder::with("push.comp", SHADER);
    let values = ["t[0]", "t[1]", "t[2]", "t[3]", "of[0].skip", "of[0].parts[0]", "of[0].parts[1]", "of[1].skip"];
    let values = values.into_iter().chain(["of[1].parts[0]", "of[1].parts[1]"]).map(|name| format!("--push={name}=7"));
    let values: Vec<String> = values.collect();
    for device in devices_in_turn() {
        let of = |far: &str| {
            let far = format!("--push=far={far}");
            let sizes = "local_size_x=4,8,16";
            let arguments = ["-n=1024", "-d", &device.index, "-a", sizes, "--accept=constant:B", &far];
            let mut all = [&["tune", shader.as_str()], &SHORT[..], &arguments].concat();
            all.extend(values.iter().map(String::as_str));
            let ran = tunings::on_any_machine(ran(&all));
            let mut rows = rows(&ran.out);
            rows.sort_by_key(|row| row.local_size_x);
            (rows, ran)
        };
        let (rows, ran) = of("0");
        let statuses: Vec<&str> = rows.iter().map(|row| row.status.as_str()).collect();
        assert_eq!((statuses, ran.code), (vec!["ok", "ok", "skipped"], Some(0)), "{}", ran.err);
        let told =
            "`of[].parts` (push constants) has 2 elements, and is indexed up to 3 (line 8), which the reference doesn't do";
        assert_eq!((rows[2].reason.as_str(), rows[2].quality_flags.as_str()), (told, "out_of_bounds"), "{}", ran.err);
        assert!(rows.iter().take(2).all(|row| !row.quality_flags.contains("out_of_bounds")), "{}", ran.err);
        // Where the reference leaves them, all do. A driver that went there so far would be gone.
        for (far, told) in [("2", "is indexed up to 2 (line 8):"), ("4000000000", "is indexed up to 4000000000 (line 8):")] {
            let (rows, ran) = of(far);
            assert!(ran.err.contains(&format!("`of[].parts` (push constants) has 2 elements, and {told}")), "{}", ran.err);
            assert!(ran.err.contains("its index is wrong, or -n, --threads, --groups or --push are"), "{}", ran.err);
            assert!(!ran.err.contains("couldn't be looked at"), "{}", ran.err);
            assert!(rows.iter().all(|row| row.status != "ok" || row.quality_flags.contains("out_of_bounds")), "{}", ran.err);
        }
    }
}

/// Each invocation has a place in shared memory, and one of its own.
const LITERAL: &str = "#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) writeonly buffer Y { float y[]; };
layout(push_constant) uniform P { uint at; };
shared float tile[64];
void add(inout float own[4], float value) { own[at] += value; }
void main() {
    uint i = gl_GlobalInvocationID.x, l = gl_LocalInvocationID.x;
    float own[4];
    for (uint k = 0; k < 4; k++) own[k] = k;
    tile[l] = x[i];
    barrier();
    add(own, tile[l]);
    y[i] = own[at];
}
";

/// Tunes it, whatever comes of that.
fn tuned_literal(folder: &Folder, arguments: &[&str]) -> (Vec<Record>, Ran) {
    let shader = folder.write("literal.comp", LITERAL);
    let ran = ran(&[&["tune", shader.as_str(), "-n=1024"], &SHORT[..], arguments].concat());
    let rows = if ran.out.is_empty() { Vec::new() } else { rows(&ran.out) };
    (rows, tunings::on_any_machine(ran))
}

#[test]
fn configurations_that_leave_shared_memory_are_skipped() {
    let folder = Folder::new();
    for device in devices_in_turn() {
        let (rows, ran) = tuned_literal(&folder, &["-d", &device.index, "-a", "local_size_x=16,64,128,256", "--push", "at=3"]);
        assert_eq!((rows.len(), ran.code), (4, Some(0)), "{}", ran.err);
        for row in &rows {
            let is_within = row.by_axis["local_size_x"] <= AxisValue::from(64_u64);
            let (status, flagged) = if is_within { ("ok", false) } else { ("skipped", true) };
            assert_eq!((row.status.as_str(), row.quality_flags.contains("out_of_bounds")), (status, flagged), "{}", ran.err);
        }
        let last = rows.iter().find(|row| row.by_axis["local_size_x"] == AxisValue::from(256_u64)).unwrap();
        assert_eq!(last.reason, "`tile` (shared memory) has 64 elements, and is indexed up to 255 (lines 12 and 14)");
        assert!(ran.err.contains("as a number: --shared tile=local_size_x lets it follow"), "{}", ran.err);
        // One word for all of them.
        assert_eq!(ran.err.matches("warning: ").count(), 1, "{}", ran.err);
        assert!(ran.err.contains("local_size_x=128: `tile`") || ran.err.contains("local_size_x=256: `tile`"), "{}", ran.err);
    }
}

#[test]
fn an_array_in_shared_memory_follows_the_size_where_the_user_says_so() {
    let folder = Folder::new();
    for device in devices_in_turn() {
        let of = |length: &str| {
            let axes = ["-a", "local_size_x=16,64,128", "--push", "at=3", "--shared", length];
            tuned_literal(&folder, &[&["-d", &device.index][..], &axes].concat())
        };
        let (rows, ran) = of("tile=local_size_x");
        assert_eq!((rows.len(), ran.code), (3, Some(0)), "{}", ran.err);
        assert!(rows.iter().all(|row| row.status == "ok" && !row.quality_flags.contains("out_of_bounds")), "{}", ran.err);
        let mut bytes: Vec<_> = rows.iter().map(|row| row.shared_bytes).collect();
        bytes.sort();
        assert_eq!(bytes, [16, 64, 128].map(|size| Some(4 * size)));
        // What is too short for every size is too short for the reference.
        let (rows, ran) = of("tile=local_size_x / 2");
        assert_eq!((rows.len(), ran.code), (0, Some(1)), "{}", ran.err);
        assert!(ran.err.contains("`tile` (shared memory) has 32 elements"), "{}", ran.err);
        let (_, ran) = of("tiles=local_size_x");
        assert!(ran.code == Some(2) && ran.err.contains("--shared: there is no array `tiles`"), "{}", ran.err);
    }
}

#[test]
fn a_reference_that_leaves_memory_of_its_own_is_none() {
    let folder = Folder::new();
    for device in devices_in_turn() {
        let (rows, ran) = tuned_literal(&folder, &["-d", &device.index, "-a", "local_size_x=16,64", "--push", "at=4"]);
        assert_eq!((rows.len(), ran.code), (0, Some(1)), "{}", ran.err);
        let told = "`own` (a variable of each invocation) has 4 elements, and is indexed up to 4";
        assert!(ran.err.contains("the reference accesses an array out of bounds") && ran.err.contains(told), "{}", ran.err);
    }
}

/// The outermost invocations read beyond the shared array, and never use what they read: as stencils do.
const HALO: &str = "#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) writeonly buffer Y { float y[]; };
shared float row[64];
void main() {
    int l = int(gl_LocalInvocationIndex), g = int(gl_WorkGroupID.x) * 62 + l - 1;
    row[l] = g >= 0 && g < x.length() ? x[g] : 0.0;
    barrier();
    float sum = row[l - 1] + row[l] + row[l + 1];
    if (l > 0 && l < 63 && g < y.length()) y[g] = sum;
}
";

#[test]
fn reads_that_nothing_uses_are_accepted_by_their_line() {
    let (_folder, shader) = Folder::with("halo.comp", HALO);
    for device in devices_in_turn() {
        let of = |more: &[&str]| {
            let arguments = ["-n=4096", "-d", &device.index, "-a", "local_size_x=64"];
            let ran = ran(&[&["tune", shader.as_str()], &SHORT[..], &arguments, more].concat());
            tunings::on_any_machine(ran)
        };
        let refused = of(&[]);
        let told = "`row` (shared memory) has 64 elements, and is indexed from -1 (line 10); correct the shader";
        assert!(refused.code == Some(1) && refused.err.contains(told), "{}", refused.err);
        assert!(refused.err.contains("accept that line (--accept 10)"), "{}", refused.err);
        let accepted = of(&["--accept", "halo.comp:10"]);
        assert!(accepted.code == Some(0) && !accepted.err.contains("out of bounds"), "{}", accepted.err);
        let rows = rows(&accepted.out);
        assert!(rows.iter().all(|row| row.status == "ok" && !row.quality_flags.contains("out_of_bounds")));
    }
}

#[test]
fn writes_are_not_accepted_and_lines_that_stay_within_are_told() {
    let folder = Folder::new();
    for device in devices_in_turn() {
        let accepted = ["--accept", "12", "--accept", "14", "--accept", "9"];
        let arguments = ["-d", &device.index, "-a", "local_size_x=64,128", "--push", "at=3"];
        let (rows, ran) = tuned_literal(&folder, &[&arguments[..], &accepted].concat());
        let skipped: Vec<&str> = rows.iter().filter(|row| row.status == "skipped").map(|row| row.reason.as_str()).collect();
        assert_eq!(skipped, ["`tile` (shared memory) has 64 elements, and is indexed up to 127 (line 12)"], "{}", ran.err);
        assert!(ran.err.contains("note: --accept 9: no read at line 9 is out of bounds"), "{}", ran.err);
        assert!(!ran.err.contains("--accept 14"), "{}", ran.err);
    }
}

/// Where the workgroup is larger than the picture is wide, or the user says so, it reads beyond that.
const PICTURE: &str = "#version 450
layout(local_size_x = 64) in;
layout(binding = 0, r32ui) uniform readonly uimage2D im;
layout(binding = 1, r32ui) uniform writeonly uimageBuffer to;
layout(push_constant) uniform P { int ahead; };
void main() {
    int g = int(gl_GlobalInvocationID.x);
    int x = (g & 63) + (ahead == 0 && gl_WorkGroupSize.x > 64 ? 64 : ahead);
    uint texel = imageLoad(im, ivec2(x, 5)).x;
    imageStore(to, g, uvec4(texel));
}
";

#[test]
fn texels_beyond_an_image_count_as_elements_beyond_a_buffer_do() {
    let (_folder, shader) = Folder::with("picture.comp", PICTURE);
    for device in devices_in_turn() {
        let of = |more: &[&str]| {
            let arguments = ["-n=4096", "--image=im=r32ui[64,64]:random", "-a", "local_size_x=32,64,128", "-d", &device.index];
            let ran = tunings::tuned(&[&[shader.as_str()], &arguments[..], more].concat());
            let mut rows = rows(&ran.out);
            rows.sort_by_key(|row| row.local_size_x);
            (rows, ran)
        };
        let flags =
            |rows: &[Record]| -> Vec<bool> { rows.iter().map(|row| row.quality_flags.contains("out_of_bounds")).collect() };
        let (rows, ran) = of(&["--push=ahead=0"]);
        assert_eq!(flags(&rows), [false, false, true], "{}", ran.err);
        let told =
            "`im` (set 0, binding 0) is 64 texels wide, and is accessed at x = 127 (line 9), which the reference doesn't do";
        assert_eq!((rows[2].status.as_str(), rows[2].reason.as_str()), ("skipped", told), "{}", ran.err);
        // Each configuration does what the reference does: what all have is a doubt, unless it is accepted.
        let beyond = ["--push=ahead=-1", "--buffer=to=r32ui[4000]"];
        let (rows, ran) = of(&beyond);
        assert!(flags(&rows).iter().all(|flag| *flag) && rows.iter().all(|row| row.status == "ok"), "{}", ran.err);
        assert!(ran.err.contains("is accessed at x = -1 (line 9): results are undefined there"), "{}", ran.err);
        assert!(
            ran.err.contains("`to` (set 0, binding 1) has 4000 elements, and is indexed up to 4095 (line 10)"),
            "{}",
            ran.err
        );
        let (rows, ran) = of(&["--push=ahead=-1", "--accept=9"]);
        assert_eq!((flags(&rows), ran.err.contains("is accessed at")), (vec![false; 3], false), "{}", ran.err);
    }
}

/// The reference, of 64 invocations, has no invocation beyond the end.
#[test]
fn configurations_that_leave_a_buffer_are_skipped_unless_the_reference_does() {
    let folder = Folder::new();
    for device in devices_in_turn() {
        let of = |n: &str| tuned_literal(&folder, &["-d", &device.index, n, "-a", "local_size_x=32,48,64", "--push", "at=0"]);
        let (rows, ran) = of("-n=1024");
        let reason = |row: &Record| (row.by_axis["local_size_x"].to_string(), row.status.clone(), row.reason.clone());
        let mut found: Vec<_> = rows.iter().map(reason).collect();
        found.sort();
        assert_eq!([&found[0].1, &found[1].1, &found[2].1], ["ok", "skipped", "ok"], "{}", ran.err);
        assert!(found[1].0 == "48" && found[1].2.contains("has 1024 elements"), "{found:?}");
        assert!(found[1].2.ends_with("is indexed up to 1055 (line 12), which the reference doesn't do"), "{found:?}");

        let (rows, ran) = of("-n=1000");
        // Nobody is to take an answer for good that a look contradicts.
        assert!(ran.code == Some(1) && ran.err.contains("Correct it before you take it"), "{}", ran.err);
        assert!(rows.iter().all(|row| row.status == "ok" && row.quality_flags.contains("out_of_bounds")), "{}", ran.err);
        assert!(
            ran.err.contains("has 1000 elements, and is indexed up to 1023 (line 12): results are undefined there"),
            "{}",
            ran.err
        );
    }
}

/// A loop that is too long for the driver that ends it silently, and one that comes nowhere near.
#[test]
fn loops_that_a_driver_ends_silently_are_flagged() {
    let folder = Folder::new();
    let shader = "#version 450
        layout(local_size_x = 32) in;
        layout(binding = 0) readonly buffer X { uint x[]; };
        layout(binding = 1) writeonly buffer Y { uint y[]; };
        layout(push_constant) uniform P { uint most; };
        void main() {
            uint i = gl_GlobalInvocationID.x, count = 0;
            while (count < most) { for (uint k = 0; k < 10 && count < most; k++) count += 1 + x[i] % 2 * 0; }
            y[i] = count;
        }";
    let shader = folder.write("loops.comp", shader);
    let Some(software) = software() else { skip!("no driver here is software") };
    for device in software {
        for most in ["most=5000", "most=70000"] {
            let arguments = ["-n=32", "-d", &device.index, "-a", "local_size_x=16,32", "--push", most];
            let ran = ran(&[&["tune", shader.as_str()], &SHORT[..], &arguments].concat());
            let comes_to_it = device.driver == "MESA_LLVMPIPE" && most == "most=70000";
            for row in rows(&ran.out) {
                let is_flagged = row.quality_flags.split(';').any(|flag| flag == "quirk:llvmpipe-loop-cap");
                assert_eq!((row.status.as_str(), is_flagged), ("ok", comes_to_it), "{most} on {}: {}", device.driver, ran.err);
            }
            let warnings = ran.err.matches("warning: known driver fault llvmpipe-loop-cap").count();
            assert_eq!(warnings, usize::from(comes_to_it), "{}", ran.err);
        }
    }
}

/// Arguments of [`tuned`] that leave no buffer, with deadlines for drivers that hang.
#[cfg(unix)]
const SOON: [&str; 6] = ["--push", "ahead=0", "--push", "part=0", "--timeout=1500ms", "--first-timeout=1500ms"];

/// Its first submission is that of the pass.
#[cfg(unix)]
#[test]
fn a_driver_that_fails_in_the_pass_costs_no_row() {
    let (_folder, shader) = Folder::with("shader.comp", SHADER);
    for device in devices_in_turn() {
        for (faults, told) in [
            ("abort:submit=1", "crashed: its process died"),
            ("hang:submit=1", "timeout: no end within 3.0 s; its process was killed (--first-timeout allows more)"),
        ] {
            let faults = Faults::new(faults).once();
            let mut command = lanescope(&[&["tune", &shader, "-d", &device.index], &SHORT[..], &FEW, &SOON].concat());
            let ran = Ran::from(faults.meet(&mut command).output().unwrap());
            let note = format!("note: whether the reference indexes beyond its arrays couldn't be looked at: {told}");
            assert!(faults.has_come() && ran.err.contains(&note), "{}", ran.err);
            let rows = rows(&ran.out);
            assert!(!is_flagged(&rows) && rows.iter().all(|row| row.status == "ok"), "{}", ran.err);
        }
    }
}

#[cfg(unix)]
#[test]
fn who_stops_it_during_the_pass_waits_for_nothing_else() {
    let (_folder, shader) = Folder::with("shader.comp", SHADER);
    for device in devices_in_turn() {
        let faults = Faults::new("hang:open");
        let mut command = lanescope(&[&["tune", &shader, "-d", &device.index], &SHORT[..], &FEW, &SOON].concat());
        let mut child = faults.meet(&mut command).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        lines.find(|line| line.contains("2 configurations")).unwrap();
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        let said = lines.collect::<Vec<_>>().join("\n");
        assert!(said.contains("couldn't be looked at") && !said.contains("given up"), "{said}");
        assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
    }
}

#[test]
fn robust_access_is_a_matter_of_rows() {
    let folder = Folder::new();
    for device in devices_in_turn() {
        let arguments = ["-d", &device.index, "--push", "ahead=2000", "--push", "part=0", "--robust"];
        let (rows, said) = tuned(&folder, &arguments);
        assert!(is_flagged(&rows) && said.contains("indexed up to 3023"), "{said}");
        assert!(rows.iter().all(|row| row.robustness == Some(true)), "{said}");
    }
}

/// As compilers of HLSL write `t != 0 ? g[t - 1] : 0`: what is read beyond the array is thrown away. Unless it isn't.
#[test]
fn a_load_that_is_not_chosen_does_not_count() {
    let shader = |condition: &str, first: &str, other: &str| {
        format!(
            "#version 450\nlayout(local_size_x = 64) in;\nlayout(binding = 0) buffer Data {{ uint data[]; }};\nshared uint g[64];\n\
             void main() {{\n    uint t = gl_LocalInvocationID.x, i = gl_GlobalInvocationID.x;\n    g[t] = data[i];\n    barrier();\n\
             data[i] = g[t] + mix({first}, {other}, {condition});\n}}\n"
        )
    };
    let before = "g[t - 1u]";
    let discarded = [shader("t != 0u", "0u", before), shader("t == 0u", before, "0u")];
    let chosen = [shader("t != 1u", "0u", before), shader("t == 1u", before, "0u")];
    for (shaders, is_within) in [(discarded, true), (chosen, false)] {
        for shader in shaders {
            let (_folder, shader) = Folder::with("scan.comp", shader);
            for device in devices_in_turn() {
                let ran = tunings::tuned(&[&shader, "-d", &device.index, "-n", "4096", "-a", "local_size_x=64"]);
                assert_eq!(!ran.err.contains("`g` (shared memory) has 64 elements"), is_within, "{}", ran.err);
            }
        }
    }
}
