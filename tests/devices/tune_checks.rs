//! What `lanescope tune` tries beside measuring, before it believes a best: configurations that are wrong only there can't win.

use crate::support::tunings::{checked, tuned};
use crate::support::{Folder, Found, devices_in_turn, rows};

/// A shader whose workgroups of more than 64 invocations do something else than the others, with these buffers and this body.
fn shader(buffers: &str, body: &str) -> String {
    format!(
        "#version 450
        layout(local_size_x = 64) in;
        {buffers}
        void main() {{ uint i = gl_GlobalInvocationID.x; bool is_wide = gl_WorkGroupSize.x > 64; {body} }}"
    )
}

const FLOATS: &str =
    "layout(binding = 0) readonly buffer X { float x[]; }; layout(binding = 1) writeonly buffer Y { float y[]; };";

fn each_device(mut check: impl FnMut(&Found)) {
    devices_in_turn().iter().for_each(&mut check);
}

/// The statuses of 64 and 128 invocations, the exit code, and what was said.
fn ended(device: &Found, buffers: &str, body: &str, flags: &[&str]) -> ([String; 2], Option<i32>, String) {
    let folder = Folder::new();
    let file = folder.write("kernel.comp", shader(buffers, body));
    let size: &[&str] = if flags.contains(&"-n") { &[] } else { &["-n", "4096"] };
    let ran = checked(&[&[file.as_str(), "-d", &device.index, "-a", "local_size_x=64,128"], size, flags].concat());
    let all = rows(&ran.out);
    let status =
        |size: u64| all.iter().find(|row| row.local_size_x == Some(size)).map(|row| row.status.clone()).unwrap_or_default();
    ([status(64), status(128)], ran.code, ran.err)
}

#[test]
fn what_is_wrong_with_other_inputs_cannot_win() {
    let wholes = "layout(binding = 0) readonly buffer X { int x[]; }; layout(binding = 1) writeonly buffer Y { int y[]; };";
    let bodies = [
        (FLOATS, "y[i] = is_wide ? abs(x[i]) : x[i];", "wrong with floats of both signs"),
        (FLOATS, "y[i] = is_wide ? min(x[i], 1000.0) : x[i];", "wrong with large floats"),
        (FLOATS, "y[i] = x[i] != 0 || is_wide ? 1 + x[i] : 7;", "wrong with zeros"),
        (FLOATS, "y[i] = x[i] + (i % 3 != 0 && x[i] == x[i - 1] && is_wide ? 1 : 0);", "wrong with equal neighbours"),
        (
            FLOATS,
            "float most = is_wide ? 0 : x[i]; for (uint k = 0; k < 64; ++k) most = max(most, x[(i + k) & 4095]); y[i] = most;",
            "wrong with floats below zero",
        ),
        (wholes, "y[i] = is_wide ? abs(x[i]) : x[i];", "wrong with whole numbers of both signs"),
        (wholes, "y[i] = is_wide ? x[i] & 0xffff : x[i];", "wrong with large whole numbers"),
    ];
    each_device(|device| {
        for (buffers, body, why) in bodies {
            let (statuses, _, err) = ended(device, buffers, body, &[]);
            // What the narrow one beat never came so far.
            let is_found = statuses == ["ok", "wrong_result"] && err.contains(why);
            assert!(is_found || !err.contains("Best: local_size_x=128"), "{body}: {statuses:?} {err}");
        }
        // A fill that the user gives is as it is meant.
        let (statuses, ..) = ended(device, bodies[0].0, bodies[0].1, &["-b", "x=:random"]);
        assert_eq!(statuses, ["ok", "ok"]);
    });
}

/// Lanes of a subgroup run in step here, so that no result is wrong: only what they access shows that they race.
#[test]
fn what_races_cannot_win_even_where_it_is_right_each_time() {
    let buffers = format!("{FLOATS} shared float s[128];");
    let body = |barrier: &str| {
        let own = "uint own = gl_LocalInvocationID.x";
        format!("{own}; s[own] = x[i]; {barrier} y[i] = s[own ^ 1u];")
    };
    each_device(|device| {
        let (statuses, code, err) = ended(device, &buffers, &body(""), &[]);
        assert_eq!((statuses, code), (["wrong_result", "wrong_result"].map(str::to_owned), Some(1)), "{err}");
        assert!(err.contains("invocations race on `s[") && err.contains("reference's own configuration can't be"), "{err}");
        let (statuses, _, err) = ended(device, &buffers, &body(""), &["--no-check"]);
        assert!(statuses == ["ok", "ok"] && !err.contains("race was found"), "{statuses:?} {err}");
        // One that loses is no doubt about the others.
        let (statuses, code, err) = ended(device, &buffers, &body("if (!is_wide) barrier();"), &[]);
        let is_found = statuses[1] == "wrong_result" || !err.contains("Best: local_size_x=128");
        assert!(statuses[0] == "ok" && is_found && code != Some(1), "{statuses:?} {code:?} {err}");
        let (statuses, _, err) = ended(device, &buffers, &body("barrier();"), &[]);
        assert!(statuses == ["ok", "ok"] && err.contains("No race was found in 4 of "), "{statuses:?} {err}");
    });
}

/// The fastest is wrong with other inputs, and neither of the others was measured beside it: they are then.
#[test]
fn where_none_of_the_fastest_stands_the_next_ones_are_measured() {
    let slow = "uint count = gl_WorkGroupSize.x == 64 ? 2000 : 500; float sum = abs(x[i]);
        for (uint k = 0; k < count; k++) sum = fract(1.5 * sum); y[i] = sum < 0 ? 0 : x[i];";
    let body = format!("if (gl_WorkGroupSize.x == 256) {{ y[i] = abs(x[i]); return; }} {slow}");
    each_device(|device| {
        let folder = Folder::new();
        let file = folder.write("kernel.comp", shader(FLOATS, &body));
        let ran = tuned(&[&file, "-d", &device.index, "-n", "4096", "-a", "local_size_x=64,128,256"]);
        let (statuses, err) = (rows(&ran.out).iter().map(|row| row.status.clone()).collect::<Vec<_>>(), ran.err);
        let is_named =
            |line: &str| line.contains("local_size_x=128") && (line.contains("Best:") || line.contains("The fastest so far"));
        let is_dropped = err.contains("wrong with floats of both signs");
        assert!(statuses == ["ok", "ok", "wrong_result"] && is_dropped && err.lines().any(is_named), "{statuses:?} {err}");
    });
}

#[test]
fn what_is_wrong_at_another_size_wins_with_a_note_or_not_at_all() {
    let buffers = format!("{FLOATS} layout(push_constant) uniform P {{ uint n; }};");
    let body = "if (is_wide && gl_WorkGroupID.x >= n / gl_WorkGroupSize.x) return; if (i < n) y[i] = x[i];";
    each_device(|device| {
        let (statuses, _, err) = ended(device, &buffers, body, &[]);
        let is_noted = err.contains("is wrong at n = 4095") && err.contains("--any-size");
        assert!(statuses == ["ok", "ok"] && (is_noted || !err.contains("Best: local_size_x=128")), "{err}");
        let (_, _, err) = ended(device, &buffers, body, &["--any-size"]);
        assert!(!err.contains("Best: local_size_x=128"), "{err}");
    });
}

#[test]
fn a_reference_that_says_nothing_is_a_doubt_unless_it_is_accepted() {
    let silent = [
        ("y[i] = floor(x[i]);", "`Y` is 0.0 in all that the reference writes"),
        ("y[i] = uintBitsToFloat(0x7fc00000u + (i & 7u));", "`Y` is NaN in all that the reference writes"),
    ];
    each_device(|device| {
        for (body, words) in silent {
            let (_, code, err) = ended(device, FLOATS, body, &["--accept", "idle:X"]);
            assert!(code == Some(1) && err.contains(words), "{body}: {err}");
            let (_, code, err) = ended(device, FLOATS, body, &["--accept", "constant:Y", "--accept", "idle:X"]);
            assert!(code != Some(1) && !err.contains(words), "{body}: {err}");
        }
        let unchanged = "layout(binding = 0) buffer X { float x[]; };";
        let (_, code, err) = ended(device, unchanged, "if (x[i] > 2) x[i] = 2;", &[]);
        assert!(code == Some(1) && err.contains("leaves `X` as it was before the pass"), "{err}");
    });
}

#[test]
fn an_input_that_does_not_matter_is_a_doubt_unless_it_is_accepted() {
    let body = "y[i] = float(i) + (is_wide ? 0.0 : min(floor(x[i]), 1.0));";
    each_device(|device| {
        let (_, code, err) = ended(device, FLOATS, body, &[]);
        assert!(code == Some(1) && err.contains("no result depends on what `X` holds"), "{err}");
        let (_, code, err) = ended(device, FLOATS, body, &["--accept", "idle:X"]);
        assert!(code != Some(1), "{err}");
    });
}

#[test]
fn what_changes_from_run_to_run_is_a_race() {
    // The order in which invocations come is another one in each run.
    let buffers = "layout(binding = 0) buffer C { uint count; }; layout(binding = 1) writeonly buffer Y { uint y[]; };";
    let body = "y[i] = atomicAdd(count, 1);";
    each_device(|device| {
        // So many that the threads of a processor take turns, also where others have its cores.
        let (_, code, err) = ended(device, buffers, body, &["-b", "C=:zero", "-n", "4194304"]);
        assert!(code == Some(1) && err.contains("from one run to the next"), "{err}");
    });
}

#[test]
fn tiny_results_have_a_tiny_tolerance() {
    each_device(|device| {
        let (statuses, ..) = ended(device, FLOATS, "y[i] = is_wide ? 0 : 1e-9 * (1 + x[i]);", &[]);
        assert_eq!(statuses, ["ok", "wrong_result"]);
    });
}

#[test]
fn what_the_comparison_would_let_pass_is_a_doubt() {
    each_device(|device| {
        // Half of the results are far below the tolerance that the others need.
        let body = "float big = i % 2 == 0 ? 1.0 : 1e-5; y[i] = big * (1 + x[i]) * (is_wide ? 1.003 : 1);";
        let folder = Folder::new();
        let file = folder.write("kernel.comp", shader(FLOATS, body));
        let flags = ["-d", &device.index, "-n", "4096", "-a", "local_size_x=128", "--reference", "local_size_x=64"];
        let ran = tuned(&[&[file.as_str()], &flags[..], &["--relative-tolerance", "0.01"]].concat());
        assert_eq!(ran.code, Some(1), "{}", ran.err);
        assert!(ran.err.contains("a zero would pass in 50 % of `Y`"), "{}", ran.err);
    });
}
