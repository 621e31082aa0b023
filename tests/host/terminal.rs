//! What reaches a terminal: whatever names, paths, flags, rows and compilers hold, nothing of it that a terminal would obey.

use std::process::Command;

use lanescope::shader::{Reading, from_file};

use crate::support::inspected::SHADER;
use crate::support::tables::Table;
use crate::support::{Folder, Ran, lanescope, ran, typed};

/// A name that sets a window's title, turns all red by a control character of 8 bits, begins a line of its own, and turns the rest around.
const HOSTILE: &str = "\u{1b}]0;x\u{7}\u{9b}31m\r\nerror: \u{202e}\u{200b}\u{7f}\u{200f}\u{61c}\u{feff}";

/// What a terminal would obey, or nobody sees.
fn obeyed(text: &str) -> String {
    const UNSEEN: &str = "\u{202e}\u{200b}\u{200e}\u{200f}\u{61c}\u{feff}\u{2066}";
    let is_seen = |c: &char| matches!(c, '\n' | '\t') || !(c.is_control() || UNSEEN.contains(*c));
    text.chars().filter(|c| !is_seen(c)).collect()
}

/// What is said of something hostile, on both streams: nothing of it is obeyed, and it is told all the same.
fn check(ran: &Ran) {
    for text in [&ran.out, &ran.err] {
        assert_eq!(obeyed(text), "", "{ran:?}");
    }
    assert!([&ran.out, &ran.err].iter().any(|text| text.contains("\\u{202e}")), "{ran:?}");
}

/// The same, but for colours that are our own: whatever else escapes begin stands out.
fn without_colours(text: &str) -> String {
    ["0", "1", "2", "4", "31", "32", "33", "36", "1m\u{1b}[31", "1m\u{1b}[4"]
        .iter()
        .fold(text.to_owned(), |text, code| text.replace(&format!("\u{1b}[{code}m"), ""))
}

/// A module whose names are all hostile, in which nothing else differs.
fn with_hostile_names(words: &[u32]) -> Vec<u8> {
    const NAME: u32 = 5;
    const MEMBER_NAME: u32 = 6;
    let text: Vec<u8> = HOSTILE.bytes().chain([0; 4]).collect();
    let text: Vec<u32> = text.chunks_exact(4).map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap())).collect();
    let (mut made, mut rest) = (words[..5].to_vec(), &words[5..]);
    while let Some(first) = rest.first() {
        let (instruction, behind) = rest.split_at((first >> 16) as usize);
        rest = behind;
        let fixed = match first & 0xffff {
            NAME => 2,
            MEMBER_NAME => 3,
            _ => {
                made.extend(instruction);
                continue;
            }
        };
        let length = u32::try_from(fixed + text.len()).unwrap();
        made.push((length << 16) | (first & 0xffff));
        made.extend(&instruction[1..fixed]);
        made.extend(&text);
    }
    made.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn names_of_a_module_are_no_commands() {
    let (folder, source) = Folder::with("names.comp", SHADER);
    let module = from_file(source.as_ref(), &Reading::default()).unwrap();
    let hostile = folder.write("names.spv", with_hostile_names(&module.words));
    for arguments in [&["inspect"][..], &["inspect", "-d", "mock"], &["tune", "-d", "mock"], &["inspect", "--constant=9=1"]] {
        let plain = ran(&[arguments, &[&hostile]].concat());
        assert_eq!(obeyed(&plain.out), "", "{plain:?}");
        assert_eq!(obeyed(&plain.err), "", "{plain:?}");
        // A name stays in its line, however wide that is.
        assert!(!plain.out.lines().any(|line| line.starts_with("error: ")), "{plain:?}");
    }
    // What asks for a name that isn't there is told those that are.
    let flags = "--entry=x --buffer=x=:zero --constant=x=1 --push=x=1 --image=x=:zero --shared=x=1 --check=x=sum --axis=x=1,2";
    for flag in typed(flags) {
        let refused = ran(&["tune", "-d", "mock", &hostile, flag]);
        let errors = refused.err.lines().filter(|line| line.starts_with("error: ")).count();
        assert!(refused.code == Some(2) && errors == 1 && obeyed(&refused.err).is_empty(), "{flag}: {refused:?}");
    }
    check(&ran(&["inspect", &hostile]));
    let coloured = ran(&["inspect", "--color=always", "-d", "mock", &hostile]);
    assert_eq!(obeyed(&without_colours(&coloured.out)), "", "{coloured:?}");
    // For programs it is what it is, but for line ends.
    let text = ran(&["inspect", "--format=json", &hostile]).out;
    assert_eq!(obeyed(&text), "");
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(json.to_string().contains("\\u001b]0;x\\u0007"), "{json}");
}

#[test]
fn what_a_shader_says_of_itself_is_no_command() {
    let folder = Folder::new();
    let text = format!("#version 460\n#error {}\nvoid main() {{}}\n", HOSTILE.replace(['\r', '\n'], " "));
    let file = folder.write("error.comp", text);
    for command in ["inspect", "tune"] {
        let arguments: &[&str] = if command == "tune" { &["tune", "-d", "mock", &file] } else { &["inspect", &file] };
        let said = ran(arguments).says(2, &["#error"]);
        check(&said);
    }
}

#[test]
fn what_is_typed_is_no_command() {
    let (_folder, shader) = Folder::with("plain.comp", crate::support::tunings::COPY);
    let hostile = HOSTILE.replace('\n', "");
    let (flag, preset, device) = (format!("--{hostile}"), format!("--preset={hostile}"), format!("mock:{hostile}"));
    for arguments in [
        &[hostile.as_str()][..],
        &[&flag],
        &["run", "-d", "mock", &hostile],
        &["run", &preset],
        &["run", "-d", &device],
        &["run", "-d", "mock", "-a", &hostile],
        &["list", "--", &hostile],
        &["describe", &hostile],
        &["schema", &hostile],
        &["card", &hostile],
        &["report", &hostile, "-o", "-"],
        &["compare", &hostile, &hostile],
        &["merge", &hostile],
        &["inspect", &hostile],
        &["inspect", &shader, "--entry", &hostile],
        &["inspect", &shader, "-D", &hostile],
        &["tune", "-d", "mock", &hostile],
        &["tune", "-d", "mock", &shader, "--buffer", &hostile],
        &["tune", "-d", "mock", &shader, "--reference", &hostile],
        &["tune", "-d", "mock", &shader, "--manifest", &hostile],
        &[&typed("tune -d mock -n 256 -a local_size_x=32,64 --no-lock --format=table")[..], &[&shader, "--name", &hostile]]
            .concat(),
        &["run", "-d", "mock", "calibration/empty", "-o", &hostile],
    ] {
        let said = ran(arguments);
        assert!(said.code == Some(2) || arguments.contains(&"--name"), "{arguments:?}: {said:?}");
        check(&said);
    }
    // clap's colours are its own.
    let mut command = lanescope(&["run", &preset]);
    let said: Ran = command.env("CLICOLOR_FORCE", "1").output().unwrap().into();
    assert!(said.err.contains('\u{1b}') && said.code == Some(2), "{said:?}");
    assert_eq!(obeyed(&without_colours(&said.err)), "", "{said:?}");
    let help = ran(&["--help"]);
    assert!(help.code == Some(0) && help.out.contains("Usage: lanescope") && help.err.is_empty(), "{help:?}");
}

#[test]
fn what_files_of_rows_hold_is_no_command() {
    let folder = Folder::new();
    let mut table = Table::of(&std::fs::read_to_string("tests/data/lavapipe.csv").unwrap());
    table.rows.truncate(40);
    for name in ["experiment", "variant", "device_name", "driver_name", "driver_info", "reason", "quality_flags"] {
        for row in 0..table.rows.len() {
            let cell = format!("{}{HOSTILE}", table.get(&table.rows[row], name));
            table.set(row, name, &cell);
        }
    }
    // An axis as well.
    let axes = table.header.len() - 1;
    table.header = table.header.iter().take(axes).chain([HOSTILE]).collect();
    let file = folder.write("rows.csv", table.text());
    let named = format!("{}={file}", HOSTILE.replace('\n', ""));
    for arguments in [
        &["card", file.as_str()][..],
        &["merge", &file, "--format=table"],
        &["merge", &file, "--format=markdown"],
        &["merge", &file, &file, "--format=table"],
        &["report", &file, "-o", "-"],
        &["report", "--compare", &named, &file, "-o", "-"],
        &["compare", &file, &file, "--all", "--force"],
        &["compare", &named, &file],
        &["compare", &file, &file, "--by", "device_name"],
        &["compare", &file, &file, "--format=markdown", "--all"],
        &["run", "-d", "mock", "--cases", &file],
    ] {
        let said = ran(arguments);
        assert_eq!(obeyed(&said.out), "", "{arguments:?}: {said:?}");
        assert_eq!(obeyed(&said.err), "", "{arguments:?}: {said:?}");
        assert!(!said.out.lines().any(|line| line.starts_with("error: ")), "{arguments:?}");
    }
    check(&ran(&["card", &file]));
    let coloured: Ran = Command::new(env!("CARGO_BIN_EXE_lanescope"))
        .args(["merge", &file, "--format=table", "--color=always"])
        .output()
        .unwrap()
        .into();
    assert_eq!(obeyed(&without_colours(&coloured.out)), "", "{coloured:?}");
    // Rows are for programs, and stay as they are.
    assert!(ran(&["merge", &file, "--format=csv"]).out.contains("\u{202e}\u{200b}"));
}

/// A path stays in its line, whatever is wrong with the file. No name holds a line end on Windows.
#[cfg(unix)]
#[test]
fn a_path_cannot_begin_a_line_of_its_own() {
    let folder = Folder::new();
    let name = "a\nerror: all is lost.comp";
    let broken = folder.write(name, "#version 460\nvoid main() { x; }\n");
    let missing = folder.at("b\nerror: all is lost.csv");
    for arguments in
        [&["inspect", &broken][..], &["card", &missing], &["compare", &missing, &missing], &["tune", &missing, "-d", "mock"]]
    {
        let ran = ran(arguments).says(2, &["\\u{a}error"]);
        assert_eq!(ran.err.matches("\nerror").count(), 0, "{ran:?}");
    }
}
