//! What `capture` sees of programs.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::LazyLock;

use crate::support::built::built;
use crate::support::faults::Faults;
use crate::support::{Folder, Ran, devices_in_turn, ended, lanescope};

static LAYER: LazyLock<PathBuf> = LazyLock::new(|| built(&["--package", "lanescope-layer"], "lanescope_layer"));
static DISPATCHES: LazyLock<PathBuf> = LazyLock::new(|| built(&["--example", "dispatches"], "dispatches"));

fn captured(flags: &[&str], folder: &str, program: &[&str]) -> Ran {
    let arguments = [&["capture", "-o", folder], flags, &["--"], program].concat();
    ended(lanescope(&arguments).env("LANESCOPE_LAYER", LAYER.as_os_str()))
}

type Row = BTreeMap<String, String>;

fn rows(folder: &Folder, name: &str) -> Vec<Row> {
    let mut reader = csv::Reader::from_path(folder.path(name).join("kernels.csv")).unwrap();
    reader.deserialize().map(Result::unwrap).collect()
}

/// The groups of dispatches beside a suspended rendering.
const SUSPENDED: &str = "16x1x1";

/// The groups of the kernel that computes from one range into another.
const RANGES: &str = "17x1x1";
const ADDRESSES: &str = "18x1x1";
const BASE: &str = "6x1x1";

/// A part of a device's name, by which the program finds it.
fn name(driver: &str) -> &str {
    match driver {
        "MESA_LLVMPIPE" => "llvmpipe",
        "GOOGLE_SWIFTSHADER" => "SwiftShader",
        _ => "",
    }
}

/// What a program said that it dispatched: calls by groups.
fn told(said: &str) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for (groups, calls) in said.lines().filter_map(|line| line.split_once(' ')) {
        *all.entry(format!("{groups}x1x1")).or_default() += calls.parse::<u64>().unwrap();
    }
    all.retain(|_, calls| *calls > 0);
    all
}

#[test]
fn every_dispatch_is_counted_and_timed_whatever_way_it_comes() {
    let folder = Folder::new();
    let program = DISPATCHES.to_str().unwrap();
    for device in devices_in_turn() {
        let ways = "many secondary simultaneous indirect base push threads queues unwaited masked submit2 suspended ranges devices child";
        let ways: Vec<&str> = ways.split(' ').collect();
        let said = captured(&[], &folder.at(&device.index), &[&[program, name(&device.driver)], &ways[..]].concat());
        assert_eq!(said.code, Some(0), "{said:?}");
        let rows = rows(&folder, &device.index);
        let mut found = BTreeMap::new();
        for row in &rows {
            // One of two: nothing may come between a suspended rendering and its other half.
            let timed = if row["groups"] == SUSPENDED { "4" } else { &row["calls"] };
            assert_eq!((&row["status"][..], &row["samples"][..]), ("ok", timed), "{row:?}");
            assert!(row["variant"].starts_with("dispatches.comp-k") && row["local_size_x"] == "1", "{row:?}");
            assert_eq!(row["bound_bytes"], if row["groups"] == RANGES { "2048" } else { "4096" }, "{row:?}");
            *found.entry(row["groups"].clone()).or_default() += row["calls"].parse::<u64>().unwrap();
        }
        assert_eq!(found, told(&said.out), "{said:?}");
        assert!(found["2x1x1"] == 40_000 && said.err.contains("10x1x1"), "{said:?}");
    }
}

#[test]
fn a_program_keeps_its_output_and_its_exit_code() {
    let folder = Folder::new();
    let said = captured(&[], &folder.at("none"), &["sh", "-c", "echo out; exit 7"]);
    assert!(said.code == Some(2) && said.out == "out\n" && said.err.contains("used no Vulkan"), "{said:?}");
    assert!(!folder.path("none").exists());
    let said = captured(&[], &folder.at("none"), &[DISPATCHES.to_str().unwrap(), "no such device"]);
    assert!(said.code == Some(2) && said.err.contains("made a Vulkan instance, but no device"), "{said:?}");
    let said = captured(&[], &folder.at("none"), &["/no/such/program"]);
    assert!(said.code == Some(2) && said.err.contains("can't start") && !folder.path("none").exists(), "{said:?}");
    let program = format!("{} {} many; exit 7", DISPATCHES.display(), "''");
    let said = captured(&["-q"], &folder.at("seven"), &["sh", "-c", &program]);
    assert!(said.code == Some(7) && said.out == "2 10000\n" && said.err.is_empty(), "{said:?}");
    let again = captured(&[], &folder.at("seven"), &["true"]);
    assert!(again.code == Some(2) && again.err.contains("it isn't empty"), "{again:?}");
}

#[test]
fn a_part_of_a_program_is_captured_and_then_it_ends() {
    let folder = Folder::new();
    let program = format!("{} '' many; exec sleep 100", DISPATCHES.display());
    let flags = ["--after", "1", "--submissions", "2", "--then-stop"];
    let said = captured(&flags, &folder.at("part"), &["sh", "-c", &program]);
    // SIGTERM ended it.
    assert_eq!(said.code, Some(143), "{said:?}");
    assert_eq!(rows(&folder, "part")[0]["calls"], "2000");
    let said = captured(&["--then-stop"], &folder.at("all"), &["true"]);
    assert!(said.code == Some(2) && said.err.contains("--submissions"), "{said:?}");
}

#[cfg(unix)]
#[test]
fn a_signal_is_passed_on_and_what_was_captured_is_kept() {
    use std::io::{BufRead, BufReader};

    use rustix::process::{Pid, Signal, kill_process};
    let folder = Folder::new();
    let program = format!("{} '' unwaited; exec sleep 100", DISPATCHES.display());
    let mut command = lanescope(&["capture", "-q", "-o", &folder.at("kept"), "--", "sh", "-c", &program]);
    let mut child = command.env("LANESCOPE_LAYER", LAYER.as_os_str()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "10 20\n");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert_eq!(rows(&folder, "kept")[0]["calls"], "20");
}

/// The manifests in a folder, and what `tune` says of each without measuring.
fn tried(folder: &Folder, name: &str, device: &str) -> Vec<(String, Ran)> {
    let all = std::fs::read_dir(folder.path(name)).unwrap().map(|entry| entry.unwrap().path());
    let mut manifests: Vec<String> = all
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .map(|path| path.to_str().unwrap().to_owned())
        .collect();
    manifests.sort();
    let tried = |manifest: String| {
        let said = crate::support::ran(&["tune", "--manifest", &manifest, "-d", device, "--dry-run", "--no-lock"]);
        (manifest, said)
    };
    manifests.into_iter().map(tried).collect()
}

#[test]
fn kernels_are_taken_out_with_what_their_buffers_held() {
    let folder = Folder::new();
    for device in devices_in_turn() {
        let ways = "many secondary simultaneous indirect base push threads queues unwaited masked submit2 ranges addresses";
        let ways: Vec<&str> = ways.split(' ').collect();
        // A name with what shells and TOML would stumble over.
        let name = format!("kernels' of {}", device.index);
        let program = [&[DISPATCHES.to_str().unwrap(), crate::capture::name(&device.driver)], &ways[..]].concat();
        let said = captured(&["--kernels", "all"], &folder.at(&name), &program);
        assert!(said.code == Some(0) && said.err.contains("of what the application's buffers held"), "{said:?}");
        let kernels = rows(&folder, &name);
        let tried = tried(&folder, &name, &device.index);
        assert_eq!(tried.len(), kernels.len(), "{said:?}");
        for (manifest, said) in &tried {
            assert!(said.code == Some(0) && said.err.contains("computes what the files hold"), "{manifest}: {said:?}");
        }
        // Whoever gets the folder learns nothing of this machine.
        assert!(kernels.iter().all(|row| row["host"].is_empty()), "{kernels:?}");
        let module = std::fs::read_dir(folder.path(&name)).unwrap().map(|entry| entry.unwrap().path());
        for module in module.filter(|path| path.extension().is_some_and(|end| end == "spv")) {
            assert!(!String::from_utf8_lossy(&std::fs::read(&module).unwrap()).contains("dispatches.comp"), "{module:?}");
        }
        let (base, _) = tried.iter().find(|(manifest, _)| manifest.contains(&format!("-{BASE}"))).unwrap();
        assert!(std::fs::read_to_string(base).unwrap().contains("base-groups = [1, 0, 0]\n"), "{base}");
        // The second dispatch reads what the first one wrote, of which neither is where the program ended.
        let (ranges, _) = tried.iter().find(|(manifest, _)| manifest.contains(RANGES)).unwrap();
        let text = std::fs::read_to_string(ranges).unwrap();
        assert!(text.contains(r#""0:0" = "@m0[0, 1024]""#) && text.contains(r#""0:1" = "@m0[256, 1024]""#), "{text}");
        assert!(text.contains(r#"push-bytes = "00000000"#) && text.contains(r#""m0" = "uint[320]:file="#), "{text}");
        // Of four buffers with an address three have to do with this one, and none of their addresses is in the folder.
        let Some((addresses, _)) = tried.iter().find(|(manifest, _)| manifest.contains(ADDRESSES)) else { continue };
        let text = std::fs::read_to_string(addresses).unwrap();
        assert!(text.contains(&format!(r#"push-bytes = "07{}""#, "0".repeat(46))), "{text}");
        assert!(text.contains(r#""@8" = "@m"#) && text.matches(":file=").count() == 3, "{text}");
        let moved = text.replace("[64]\"", "[68]\"");
        assert_ne!(text, moved);
        std::fs::write(addresses, moved).unwrap();
        let wrong = crate::support::ran(&["tune", "--manifest", addresses, "-d", &device.index, "--dry-run", "--no-lock"]);
        assert!(wrong.code == Some(1) && !wrong.err.contains("computes what the files hold"), "{wrong:?}");
    }
}

#[test]
fn what_a_kernel_left_is_what_it_is_compared_with() {
    let folder = Folder::new();
    let device = &devices_in_turn()[0].index;
    let program = [DISPATCHES.to_str().unwrap(), "", "ranges"];
    let said = captured(&["--kernels", "top:1", "--call", "2", "--keep-source"], &folder.at("kept"), &program);
    assert_eq!(said.code, Some(0), "{said:?}");
    let [(manifest, said)] = &tried(&folder, "kept", device)[..] else { panic!() };
    assert_eq!(said.code, Some(0), "{said:?}");
    let text = std::fs::read_to_string(manifest).unwrap();
    std::fs::write(manifest, text.replace(r#"push-bytes = "0000000003"#, r#"push-bytes = "0000000005"#)).unwrap();
    let [(_, said)] = &tried(&folder, "kept", device)[..] else { panic!() };
    assert!(said.code == Some(1) && !said.err.contains("computes what the files hold"), "{said:?}");
    let nothing = captured(&["--kernels", "no such kernel"], &folder.at("none"), &program);
    assert!(nothing.code == Some(2) && nothing.err.contains("no captured kernel matches"), "{nothing:?}");
    let never = captured(&["--kernels", "all", "--call", "99"], &folder.at("never"), &program);
    assert!(never.code == Some(0) && never.err.contains("Not taken: dispatches.comp-k"), "{never:?}");
    let little = captured(&["--kernels", "all", "--max-bytes", "64"], &folder.at("little"), &program);
    let [(manifest, said)] = &tried(&folder, "little", device)[..] else { panic!("{little:?}") };
    let text = std::fs::read_to_string(manifest).unwrap();
    assert!(text.contains("uint[320]:random") && text.contains(r#""0:1" = "none""#) && said.code == Some(0), "{text} {said:?}");
}

/// What the layer wrote is there when nobody is left to make rows of it.
#[cfg(unix)]
#[test]
fn a_capture_that_was_killed_is_finished_later() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::Stdio;

    let folder = Folder::new();
    let program = format!("{} '' unwaited; exec cat", DISPATCHES.display());
    let mut command = lanescope(&["capture", "-o", &folder.at("killed"), "--", "sh", "-c", &program]);
    command.env("LANESCOPE_LAYER", LAYER.as_os_str()).stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    lines.read_line(&mut String::new()).unwrap();
    child.kill().unwrap();
    let input = child.stdin.take();
    child.wait().unwrap();
    drop(input);
    // Until the program has ended as well.
    lines.read_to_string(&mut String::new()).unwrap();
    let finish = |name: &str| crate::support::ran(&["capture", "--finish", "-o", &folder.at(name)]);
    let said = finish("killed");
    assert!(said.code == Some(0) && said.err.contains("20 dispatches") && said.err.contains("each alone"), "{said:?}");
    assert_eq!(rows(&folder, "killed")[0]["calls"], "20");
    let again = finish("killed");
    assert!(again.code == Some(2) && again.err.contains("written already"), "{again:?}");
    let nothing = finish("nothing");
    assert!(nothing.code == Some(2) && nothing.err.contains("nothing was captured there"), "{nothing:?}");
}

/// No software driver tells of registers, lacks timestamps, or has Vulkan 1.0 alone.
#[test]
fn drivers_of_other_kinds_are_captured_as_well() {
    let folder = Folder::new();
    let said = |name: &str, faults: &str, program: &[&str]| {
        let (faults, output) = (Faults::new(faults), folder.at(name));
        let mut command = lanescope(&[&["capture", "-o", &output, "--"], program].concat());
        faults.meet(&mut command).env("LANESCOPE_LAYER", LAYER.as_os_str());
        command.env_remove("VK_LAYER_PATH").env("VK_ADD_LAYER_PATH", faults.folder());
        ended(&mut command)
    };
    for device in devices_in_turn() {
        let name = |of: &str| format!("{}-{of}", device.index);
        let program = [DISPATCHES.to_str().unwrap(), crate::capture::name(&device.driver), "many"];
        let told = said(&name("registers"), "registers=24", &program);
        assert_eq!(told.code, Some(0), "{told:?}");
        let row = &rows(&folder, &name("registers"))[0];
        let told = [("statistics", r#""Register Count":24"#), ("samples", "10000")];
        assert!(told.iter().all(|(column, text)| row[*column].contains(text)), "{row:?}");
        // That extension needs another one, which Vulkan 1.0 hasn't: the layer must not enable it.
        let old = said(&name("old"), "registers=24", &[&program[..], &["old"]].concat());
        assert_eq!(old.code, Some(0), "{old:?}");
        let row = &rows(&folder, &name("old"))[0];
        let told = [&row["statistics"], &row["samples"], &row["driver_id"]];
        assert_eq!(told, ["", "10000", &device.driver], "{row:?}");
        let counted = said(&name("counted"), "timestamp_bits=0", &program);
        assert!(counted.code == Some(0) && counted.err.contains("none of them timed"), "{counted:?}");
        let row = &rows(&folder, &name("counted"))[0];
        assert_eq!((&row["status"][..], &row["calls"][..]), ("skipped", "10000"), "{row:?}");
    }
}

#[test]
fn one_driver_is_compared_with_another_kernel_by_kernel() {
    let folder = Folder::new();
    let program = [DISPATCHES.to_str().unwrap(), "", "many", "unwaited"];
    for name in ["base", "new"] {
        assert_eq!(captured(&["-q"], &folder.at(name), &program).code, Some(0));
    }
    let [base, new] = ["base", "new"].map(|name| folder.path(name).join("kernels.csv").to_str().unwrap().to_owned());
    let said = crate::support::ran(&["compare", &base, &new]);
    assert!(said.code == Some(0) && said.out.contains("2 cases"), "{said:?}");
    assert!(said.out.contains("both sides have the same kernels"), "{said:?}");
    let page = folder.path("page.html");
    let said = crate::support::ran(&["report", &new, "-o", page.to_str().unwrap()]);
    let page = std::fs::read_to_string(page).unwrap();
    let has = |words: &str| page.contains(words);
    assert!(said.code == Some(0) && has("Where the time of its dispatches goes") && has("What ran when"), "{said:?}");
}

/// Whatever the layer adds is as Vulkan has it; and the validation layer, which is below it, sees all of it.
#[test]
fn a_validation_layer_has_no_more_to_say_than_without_capturing() {
    const VARIABLE: (&str, &str) = ("VK_INSTANCE_LAYERS", "VK_LAYER_KHRONOS_validation");
    let folder = Folder::new();
    for device in devices_in_turn() {
        let program = [DISPATCHES.to_str().unwrap(), name(&device.driver)];
        let said = |folder: &str, flags: &[&str], ways: &[&str]| {
            let arguments = [&["capture", "-o", folder], flags, &["--"], &program[..], ways].concat();
            ended(lanescope(&arguments).env("LANESCOPE_LAYER", LAYER.as_os_str()).env(VARIABLE.0, VARIABLE.1))
        };
        let wrong = said(&folder.at(&format!("{}-wrong", device.index)), &[], &["wrong"]);
        assert!(wrong.code == Some(0) && wrong.out.contains("VUID-vkCmdFillBuffer"), "{wrong:?}");
        let ways: Vec<&str> =
            "many simultaneous indirect base push threads queues unwaited masked submit2 suspended ranges addresses"
                .split(' ')
                .collect();
        // In the second run, buffers are copied.
        let right = said(&folder.at(&device.index), &["--kernels", "all"], &ways);
        assert!(right.code == Some(0) && !right.out.contains("VUID") && !right.err.contains("VUID"), "{right:?}");
    }
}

#[test]
fn what_capturing_costs_is_measured() {
    let folder = Folder::new();
    let said = captured(&["--measure-cost"], &folder.at("cost"), &[DISPATCHES.to_str().unwrap(), "", "base"]);
    assert!(said.code == Some(0) && said.out == "6 1\n6 1\n" && said.err.contains("without capturing"), "{said:?}");
}
