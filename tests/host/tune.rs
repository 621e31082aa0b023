//! `lanescope tune` on the mock device: what is tried, what its rows say, and what is refused before anything runs.

use crate::support::tunings::{CONSTANT, COPY, NAIVE, SCALE, UNTOLD, found, statuses, tuned};
use crate::support::{Folder, ran, rows};

#[test]
fn a_budget_is_kept_to() {
    let (_folder, copy) = Folder::with("copy.comp", COPY);
    for (strategy, count) in [("exhaustive", "3"), ("random", "5"), ("hill-climbing", "6")] {
        let all = found(0, &[&copy, "-d", "mock", "-n", "4096", "--strategy", strategy, "--budget", count]);
        assert_eq!(all.len().to_string(), count, "{strategy}");
        let distinct: std::collections::BTreeSet<&String> = all.iter().map(|row| &row.case_id).collect();
        assert_eq!(distinct.len(), all.len(), "{strategy}");
    }
}

#[test]
fn members_that_are_not_read_need_no_value() {
    let pushed = COPY.replace("void main() {", "layout(push_constant) uniform P { uint pass_; uint stride; };\nvoid main() {");
    let tries = |body: &str| {
        let (_folder, shader) = Folder::with("pushed.comp", pushed.replace("void main() {", &format!("void main() {{ {body}")));
        tuned(&[&shader, "-d", "mock", "-n", "4096", "-a", "local_size_x=32"])
    };
    tries("if (stride == 7) return;").says(2, &["no value is given for `stride` (uint), and"]);
    tries("").says(0, &[]);
}

#[test]
fn one_configuration_of_several_is_no_answer() {
    let (_folder, copy) = Folder::with("copy.comp", COPY);
    let arguments = [copy.as_str(), "-d", "mock", "-n", "4096", "--budget", "1"];
    tuned(&[&arguments[..], &["-a", "local_size_x=32,64"]].concat()).says(UNTOLD, &["a longer --budget"]);
    found(0, &[&arguments[..], &["-a", "local_size_x=32"]].concat());
}

#[test]
fn a_macro_may_have_parameters() {
    let (_folder, copy) = Folder::with("copy.comp", COPY);
    let macros = ["-D", "larger(a, b)=max(a, b)", "-D", "FACTOR=larger(2, 1)"];
    let rows = found(0, &[&[&copy, "-d", "mock", "-n", "4096", "-a", "local_size_x=32"], &macros[..]].concat());
    assert_eq!(rows.len(), 1);
}

#[test]
fn two_problems_are_two_cases() {
    let (_folder, naive) = Folder::with("naive.comp", NAIVE);
    let base = [naive.as_str(), "-d", "mock", "-a", "local_size_x=8", "-a", "local_size_y=8", "--push", "height=64"];
    let id = |more: &[&str]| found(0, &[&base[..], more].concat()).remove(0).case_id;
    let first = id(&["-n", "4096", "--push", "width=64"]);
    assert_eq!(id(&["-n", "4096", "--push", "width=64"]), first);
    assert_ne!(id(&["-n", "8192", "--push", "width=64"]), first);
    assert_ne!(id(&["-n", "4096", "--push", "width=32"]), first);
}

#[test]
fn what_can_not_be_is_said_before_anything_runs() {
    let folder = Folder::new();
    let shader = |name: &str, text: &str| folder.write(name, text);
    let sources = [("copy.comp", COPY), ("naive.comp", NAIVE), ("scale.comp", SCALE), ("constant.comp", CONSTANT)];
    let pushed = shader(
        "pushed.comp",
        "#version 450\nlayout(local_size_x = 64) in;\nlayout(push_constant) uniform P { float v[65]; };\n\
         layout(binding = 0) buffer Y { float y[]; };\nvoid main() { y[gl_GlobalInvocationID.x] = v[64]; }\n",
    );
    let [copy, naive, scale, constant] = sources.map(|(n, text)| shader(n, text));
    let broken = shader("broken.comp", "#version 450\nlayout(local_size_x = 64) in;\nvoid main() {\n    nothing();\n}\n");
    let address = shader(
        "address.comp",
        "#version 460\n#extension GL_EXT_buffer_reference : require\nlayout(local_size_x = 64) in;\n\
         layout(buffer_reference) buffer R { uint v[]; };\nlayout(binding = 0) buffer Y { uint y[]; };\n\
         layout(push_constant) uniform P { R far; };\nvoid main() { y[0] = far.v[0]; }\n",
    );
    let invalid = invalid_spirv(&folder, &copy);
    let [spirv, small, table] = [("cut.spv", &[3, 2, 0x23, 7, 0, 0][..]), ("small.bin", &[0; 100]), ("table.json", b"{}")]
        .map(|(name, bytes)| folder.write(name, bytes));
    let number = shader(
        "number.comp",
        "#version 460\n#extension GL_EXT_buffer_reference : require\n#extension GL_EXT_buffer_reference_uvec2 : require\n\
         layout(local_size_x = 64) in;\nlayout(buffer_reference) buffer R { uint v[]; };\n\
         layout(binding = 0) buffer Y { uint y[]; };\nlayout(push_constant) uniform P { uvec2 far; };\n\
         void main() { y[0] = R(far).v[0]; }\n",
    );
    let nowhere = folder.at("none/table.json");
    let filled = format!("x=[n]:file={small}");
    for (arguments, part) in [
        (&[broken.as_str()][..], "broken.comp:4"),
        (&[&spirv], "cut off"),
        (&[&invalid], "not valid SPIR-V, instruction "),
        (&["nowhere.comp"], "can't read nowhere.comp"),
        (&[&address], "`far` is the address of a buffer"),
        (&[&number], "the shader reaches buffers by their addresses: --address"),
        (&[&copy, "-b", "z=:zero"], "no buffer `z`; it has X, Y"),
        (&[&copy, "-b", "x=flaot"], "`flaot` is no type of buffer `X`"),
        (&[&copy, "-b", "x=[n *]"], "n *\n     ^"),
        (&[&copy, "-b", "x=[0]"], "no elements"),
        (&[&copy, "-b", &filled], "has 100 bytes"),
        (&[&copy, "-b", "x=:ones"], "is no fill"),
        (&[&copy, "-n", "2^40"], "workgroups in one direction"),
        (&[&copy, "-n", "2^40", "--groups", "1"], "Y (0:1) is the largest: -n, --threads, --buffer or --image make it smaller"),
        (&[&copy, "--groups", "2^33"], "8589934592 workgroups"),
        (&[&copy, "--groups", "0"], "no workgroup"),
        (&[&copy, "--threads", "n,n,n,n"], "more than three directions"),
        (&[&copy, "-a", "TILE=4"], "no axis `TILE`"),
        (&[&constant, "-c", "FACTOR"], "NAME=VALUE is needed"),
        (&[&constant, "-c", "FACTOR=2,3"], "one value is needed; --axis tries several"),
        (&[&constant, "-c", "FACTOR=-2"], "axis `FACTOR` is uint, and can't be `-2`"),
        (&[&constant, "-c", "local_size_x=8"], "the workgroup size is an axis"),
        (&[&constant, "-c", "3=2", "-a", "FACTOR=2,3"], "`FACTOR` is given by --constant and by --axis"),
        (&[&copy, "-a", "local_size_x=0"], "from 1"),
        (&[&copy, "--restrict", "local_size_x >"], "local_size_x >\n                ^"),
        (&[&copy, "--restrict", "TILE > 3"], "`TILE` has no value"),
        (
            &[&copy, "--restrict", "local_size_x > 9999"],
            "combinations can be. local_size_x=1, for one: --restrict 'local_size_x > 9999' doesn't hold",
        ),
        (
            &[&copy, "-a", "local_size_x=4096"],
            "local_size_x=4096 can't be: maxComputeWorkGroupSize[0] is 1024, and it has 4096",
        ),
        (
            &[&copy, "-a", "local_size_x=8", "-a", "local_size_x=16"],
            "twice: give all its values at once, as in local_size_x=8,16",
        ),
        (&[&copy, "-D", "f(1)=2"], "defines no macro"),
        (&[&pushed], "maxPushConstantsSize is 256, and the shader has 260 bytes of push constants"),
        (&[&copy, "--push", "width=3"], "neither push constants nor uniform blocks"),
        (
            &[&naive, "--push", "height=64", "--groups", "64,64"],
            "no value is given for `width` (uint), and which one is meant can't be told; add --push width=VALUE",
        ),
        (
            &[&naive, "--groups", "64,64"],
            "`width` (uint), `height` (uint), and which one is meant can't be told; add --push width=VALUE --push height=VALUE",
        ),
        (&[&naive, "--push", "depth=3"], "no push constant or uniform is called `depth`; there are width, height"),
        (&[&naive, "--push", "width=min(1, 2),3"], "more values"),
        (&[&copy, "-D", "1X"], "defines no macro"),
        (&[&copy, "-D", "FACTOR=1;2,3"], "can't be an axis"),
        (&[&copy, "--entry", "other"], "no compute entry point `other`"),
        (&[&copy, "--reference", "nowhere.bin"], "there is no file"),
        (&[&copy, "--reference", &small], "has 100 bytes"),
        (&[&copy, "--reference", &format!("x={small},y={small}")], "which the shader doesn't write"),
        (&[&copy, "--reference", "local_size_x=4096"], "maxComputeWorkGroup"),
        (
            &[&copy, "--reference", &scale],
            "another shape: it writes Y (0:0, 4194304 bytes), and the shader Y (0:1, 4194304 bytes)",
        ),
        (&[&copy, "--save-table", &table], "no tuning table"),
        (&[&copy, "--save-table", &nowhere], "can't write"),
        (&[&copy, "--t4", &nowhere], "can't write"),
        (&[&copy, "--budget", "0"], "nothing could be measured"),
    ] {
        tuned(&[arguments, &["-d", "mock"]].concat()).refuses(&[part]);
    }
}

/// SPIR-V of a shader in which the operands of an addition are of two types.
fn invalid_spirv(folder: &Folder, shader: &str) -> String {
    let words = lanescope::shader::from_file(shader.as_ref(), &lanescope::shader::Reading::default()).unwrap().words.clone();
    let multiplication = words.iter().position(|word| word & 0xffff == 133).unwrap();
    let mut words = words;
    words[multiplication + 3] = words[multiplication + 1];
    folder.write("invalid.spv", words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>())
}

#[test]
fn rows_say_which_results_were_compared_after_one_pass_alone() {
    let (_folder, copy) = Folder::with("copy.comp", COPY);
    let sizes = ["-d", "mock", "-n", "4096", "-a", "local_size_x=1..256:*2"];
    for strategy in ["exhaustive", "hill-climbing"] {
        let all = found(0, &[&[copy.as_str(), "--strategy", strategy], &sizes[..]].concat());
        for row in all {
            let is_early = matches!(row.stop.as_str(), "beaten" | "glanced");
            assert_eq!((row.checked.as_str(), row.check_note.contains("after one pass")), ("true", is_early), "{}", row.stop);
        }
    }
}

#[test]
fn a_driver_that_takes_several_reductions_for_one_is_named() {
    let folder = Folder::new();
    let shader = |reductions: &str| {
        format!(
            "#version 450
            #extension GL_KHR_shader_subgroup_arithmetic : require
            layout(local_size_x = 64) in;
            layout(binding = 0) buffer Y {{ uint y[]; }};
            void main() {{ uint z = 0; for (uint i = 0; i < 9; ++i) z += {reductions}; y[gl_GlobalInvocationID.x] = z; }}"
        )
    };
    let one = folder.write("one.comp", shader("subgroupAdd(i)"));
    let two = folder.write("two.comp", shader("subgroupAdd(i) + subgroupMax(i + z)"));
    for (shader, device, is_doubted) in
        [(&one, "mock:reductions=1", false), (&two, "mock:reductions=1", true), (&two, "mock:reductions=2", false)]
    {
        let ran = tuned(&[shader, "-d", device, "-n", "256", "-a", "local_size_x=32,64"]).says(0, &[]);
        let warning = ran.err.lines().find(|line| line.starts_with("warning: known driver fault mock-reductions"));
        assert_eq!(warning.is_some_and(|line| line.contains("has 2 in one loop")), is_doubted, "{}", ran.err);
        assert!(rows(&ran.out).iter().all(|row| row.quality_flags.contains("quirk:mock-reductions") == is_doubted));
    }
}

/// Offsets don't follow a specialization constant: the SPIR-V would be invalid, and drivers say nothing.
#[test]
fn a_constant_that_lays_an_array_over_what_follows_is_told() {
    let folder = Folder::new();
    let shader = "#version 450
        layout(local_size_x = 64) in;
        layout(constant_id = 5) const uint PARTS = 4;
        layout(binding = 0) buffer Data { float parts[PARTS]; float scale; float y[]; };
        void main() { uint i = gl_GlobalInvocationID.x; if (i < y.length()) y[i] = scale * parts[i % PARTS]; }";
    let shader = folder.write("shader.comp", shader);
    let all = found(0, &[&shader, "-d", "mock", "-n", "4096", "-a", "local_size_x=64", "-a", "PARTS=2,4,8"]);
    let found = statuses(&all, &["spec_PARTS"]);
    let found: Vec<&str> = ["2", "4", "8"].iter().map(|parts| found[&vec![(*parts).to_owned()]].as_str()).collect();
    assert_eq!(found, ["ok", "ok", "compile_error"]);
    let told = all.iter().any(|row| row.reason.contains("`Data.parts` ends at byte 32, and `Data.scale` begins at 16"));
    assert!(told, "{:?}", all.iter().map(|row| &row.reason).collect::<Vec<_>>());
    // Where nothing else is left, the reference is the first to tell.
    tuned(&[&shader, "-d", "mock", "-n", "4096", "--reference", "PARTS=8"]).says(2, &["`Data.parts` ends at byte 32"]);
}

#[test]
fn a_dry_run_says_what_would_be_searched_and_how_long_that_takes() {
    let (folder, copy) = Folder::with("copy.comp", COPY);
    let tune = ["tune", &copy, "-n", "4096", "--dry-run", "--no-lock"];
    let dry = |more: &[&str]| ran(&[&tune[..], &["-d", "mock", "-a", "local_size_x=32,64,128"], more].concat());
    let whole = dry(&[]).says(0, &["tune/copy: 3 configurations (local_size_x x3), exhaustive"]);
    assert_eq!(whole.out, "", "no rows");
    let told =
        ["local_size_x=64: it compiles", "computes what the reference", "the search takes ", "an estimate", "for each of 3;"];
    assert!(told.iter().all(|part| whole.err.contains(part)), "{}", whole.err);
    // It is what was asked for.
    assert_eq!(dry(&["-q"]).says(0, &["3 configurations", "the search takes "]).out, "");
    dry(&["--budget", "2"]).says(0, &["random, 2 of them", "for each of 2;"]);
    dry(&["--preset", "quick"]).says(0, &["up to 500ms of timing for each of 3;"]);
    let many = ["--preset", "quick", "-d", "mock", "-a", "local_size_x=1..192:+1"];
    ran(&[&tune[..], &many].concat()).says(0, &["up to 234ms of timing for each of 192;"]);
    let file = folder.at("rows.csv");
    for flag in ["--output", "--resume", "--save-table", "--t4"] {
        dry(&[flag, &file]).says(2, &["--dry-run", flag, "cannot be used with"]);
    }
    assert!(!folder.path("rows.csv").exists());
}

/// A member that is called n is n, and nobody needs to hear that.
#[test]
fn what_goes_without_saying_is_said_to_those_who_ask() {
    let members = |name: &str| {
        format!(
            "#version 450\nlayout(local_size_x = 64) in;\nlayout(push_constant) uniform P {{ uint {name}; }};\n\
             layout(binding = 0) buffer Y {{ uint y[]; }};\n\
             void main() {{ if (gl_GlobalInvocationID.x < {name}) y[gl_GlobalInvocationID.x] = 1; }}\n"
        )
    };
    let folder = Folder::new();
    let [plain, other] = [("n", "plain.comp"), ("count", "other.comp")].map(|(name, file)| folder.write(file, members(name)));
    let said = |shader: &str, more: &[&str]| {
        tuned(&[&[shader, "-d", "mock", "-n", "4096", "-a", "local_size_x=32,64"], more].concat()).says(0, &[]).err
    };
    assert!(!said(&plain, &[]).contains("assumed"));
    assert!(said(&plain, &["-v"]).contains("assumed: n (uint) = n; --push NAME=VALUE says otherwise"));
    assert!(said(&other, &[]).contains("assumed: count (uint) = n; --push NAME=VALUE says otherwise"));
}

/// What the mock writes is one value, which is as it should be here.
const SILENT: &str = "--accept=constant:Y";

#[test]
fn a_direction_of_the_invocations_that_the_workgroup_lacks_is_told() {
    let (_folder, row) = Folder::with("row.comp", NAIVE.replace("16, local_size_y = 4", "64, local_size_y = 1"));
    let arguments = [row.as_str(), "-d", "mock", "-n", "2048", "--threads", "64,32", "-a", "local_size_x=32,64"];
    let told = tuned(&arguments).err;
    assert!(
        told.contains("note: local_size_y stays 1, as the shader says, though --threads has 32 in that direction"),
        "{told}"
    );
    assert!(told.contains("assumed: width (uint) = 64, height (uint) = 32;"), "{told}");
    let swept = tuned(&[&arguments[..], &["-a", "local_size_y=1,2"]].concat()).err;
    assert!(!swept.contains("stays 1"), "{swept}");
    let flat = ["-d", "mock", "-n", "2048", "--push", "width=64", "--push", "height=32", "-a", "local_size_x=32,64"];
    let flat = |more: &[&str]| tuned(&[&[row.as_str()], &flat[..], more].concat()).err;
    let said = "note: the shader uses the y of gl_GlobalInvocationID or gl_WorkGroupID, which is 0 in a single row";
    assert!(flat(&[]).contains(said) && !flat(&["--groups", "1,32"]).contains(said));
}

#[test]
fn what_a_noisy_device_can_not_tell_is_neither_said_nor_saved() {
    let (folder, copy) = Folder::with("copy.comp", COPY);
    for (device, code, is_told) in [("mock:noise=0.01", 0, true), ("mock:noise=0.9,spread=0.9", 3, false)] {
        let table = folder.at(&format!("{code}.json"));
        for sizes in ["local_size_x=32", "local_size_x=8,16,32,64"] {
            let ran = tuned(&[&copy, "-d", device, "-n", "4096", "-a", sizes, "--save-table", &table, SILENT]).says(code, &[]);
            assert_eq!(
                (ran.err.contains("Best: "), ran.err.contains("Can't tell on this machine")),
                (is_told, !is_told),
                "{}",
                ran.err
            );
            assert!(is_told || !ran.err.contains("tied"), "{}", ran.err);
        }
        assert_eq!(folder.path(&format!("{code}.json")).exists(), is_told);
    }
}

#[test]
fn only_those_within_reach_are_measured_to_the_end_and_no_row_was_beaten_by_a_slower_one() {
    let (_folder, copy) = Folder::with("copy.comp", COPY);
    let all = found(0, &[&copy, "-d", "mock", "-n", "4096", "-a", "local_size_x=1..40", SILENT]);
    let (early, whole): (Vec<_>, Vec<_>) = all.iter().partition(|row| matches!(row.stop.as_str(), "beaten" | "glanced"));
    assert!(whole.len() <= 16 && early.len() >= 24, "{} and {}", whole.len(), early.len());
    assert!(whole.iter().all(|row| row.rounds >= Some(6)) && early.iter().all(|row| row.rounds <= Some(3)));
    let best = whole.iter().filter_map(|row| row.time_ns).fold(f64::INFINITY, f64::min);
    assert!(early.iter().all(|row| row.stop != "beaten" || row.time_ns > Some(best)));
}
