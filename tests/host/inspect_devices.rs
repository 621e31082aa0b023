//! `lanescope inspect -d` on the mock device.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use crate::support::inspected::{SHADER, json_of};
use crate::support::{Folder, ended, lanescope, ran};

#[test]
fn statistics_of_several_devices_stand_side_by_side() {
    let (_folder, shader) = Folder::with("shader.comp", SHADER);
    let ran = ran(&["inspect", &shader, "-d", "mock", "-d", "mock", "-c", "0=16"]).says(0, &[]);
    let (_, devices) = ran.out.split_once("\ndevice 0: ").unwrap();
    insta::assert_snapshot!(format!("device 0: {devices}"));
    // A shader without a device is described as before.
    let alone = crate::support::ran(&["inspect", &shader, "-c", "0=16"]).out;
    assert!(ran.out.starts_with(&alone) && !alone.contains("device"), "{alone}");
}

#[test]
fn what_a_device_tells_is_there_for_programs() {
    let (folder, shader) = Folder::with("shader.comp", SHADER);
    let isa = folder.path("isa");
    let parts = json_of(&[&shader, "-d", "mock", "-c", "0=16", "--isa", isa.to_str().unwrap()], 0);
    let [part] = &parts[..] else { panic!("{parts:?}") };
    assert_eq!((&part["name"], &part["status"], &part["lacking"]), (&"mock".into(), &"ok".into(), &json!([])));
    assert_eq!(
        part["executables"],
        json!([{"name": "mock", "subgroup_size": 32, "statistics": {"Registers": 32, "Spilled bytes": 0, "Code bytes": 1024}}])
    );
    let figures = ["registers", "spill_bytes", "shared_bytes", "code_bytes"].map(|name| part[name].as_u64());
    assert_eq!(figures, [Some(32), Some(0), Some(8192), Some(1024)]);
    // 512 bytes for each invocation in x, 48 KiB in all.
    let shared = json!({"limit": "maxComputeSharedMemorySize", "allowed": 49_152, "needed": 65_536});
    assert_eq!(part["workgroup"]["reach"][0], json!({"largest": 64, "next": shared}));
    let code = PathBuf::from(part["isa"].as_str().unwrap());
    assert_eq!(code.parent(), Some(isa.as_path()));
    let text = fs::read_to_string(&code).unwrap();
    assert!(text.contains(" main 0 WIDTH=16\n# mock, mock 1\n") && text.ends_with("\nnop\n"), "{text}");
    // Other constants, another file.
    json_of(&[&shader, "-d", "mock", "-c", "0=32", "--isa", isa.to_str().unwrap()], 0);
    assert_eq!(fs::read_dir(&isa).unwrap().count(), 2);
}

#[test]
fn what_can_not_be_asked_is_refused() {
    let (folder, shader) = Folder::with("shader.comp", SHADER);
    let file = folder.at("shader.comp");
    for (arguments, words) in [
        (&["-d", "mock", "-d", "all"][..], "mock devices are used without others"),
        (&["-d", "mock:wrung=1"], "wrung"),
        (&["-d", "mock", "--isa", &file], "can't write"),
        (&["--isa", "x"], "--device"),
        (&["-d", "mock", "--timeout", "0s"], "longer than 0"),
    ] {
        ran(&[&["inspect", &shader], arguments].concat()).refuses(&[words]);
    }
    let nowhere = folder.path("none.json");
    let mut command = lanescope(&["inspect", &shader, "-d", "all"]);
    ended(command.env("VK_DRIVER_FILES", &nowhere).env("VK_ICD_FILENAMES", &nowhere)).refuses(&["VK_DRIVER_FILES"]);
}
