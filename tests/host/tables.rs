//! Tables and answers as they are shown: how wide they are on a terminal, and where they have colours.

use std::fs;
use std::process::Command;

use crate::support::{Folder, ended, lanescope, succeeded};

/// Rows that a mock device measures, among them skipped and flagged ones.
fn rows(folder: &Folder) -> String {
    let file = folder.at("rows.csv");
    let sizes = "local_size_x=32,64,128,256,512,2048";
    let run = ["run", "-q", "workgroup/linear", "-d", "mock:spread=0.03", "-a", sizes, "-a", "n=2^16,2^18"];
    succeeded(&[&run[..], &["--max-time=10ms", "--max-noise=0.1%", "-o", &file]].concat());
    file
}

/// The command, whatever is said of colours around the tests.
fn uncoloured(arguments: &[&str]) -> Command {
    let mut command = lanescope(arguments);
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI"] {
        command.env_remove(name);
    }
    command
}

/// What a merge of these rows shows with these variables.
fn merged(file: &str, arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let mut command = uncoloured(&[&["merge", "-q", file], arguments].concat());
    let ran = ended(command.envs(variables.iter().copied())).says(0, &[]);
    ran.out
}

fn is_coloured(text: &str) -> bool {
    text.contains('\u{1b}')
}

#[test]
fn colours_are_where_they_are_asked_for() {
    let folder = Folder::new();
    let file = rows(&folder);
    assert!(!is_coloured(&merged(&file, &["--format=table"], &[])), "a pipe");
    let coloured = merged(&file, &["--format=table", "--color", "always"], &[("NO_COLOR", "1")]);
    assert!(coloured.contains("\u{1b}[2mskipped:") && coloured.contains("\u{1b}[0m"), "{coloured}");
    let forced = [("CLICOLOR_FORCE", "1")];
    assert!(is_coloured(&merged(&file, &["--format=table"], &forced)));
    assert!(!is_coloured(&merged(&file, &["--format=table", "--color", "never"], &forced)));
    assert!(!is_coloured(&merged(&file, &["--format=table"], &[forced[0], ("NO_COLOR", "1")])));
    assert!(is_coloured(&merged(&file, &["--format=table"], &[forced[0], ("NO_COLOR", "")])), "it is set to nothing");
}

#[test]
fn files_and_what_is_for_programs_have_no_colours() {
    let folder = Folder::new();
    let file = rows(&folder);
    for format in ["csv", "jsonl", "markdown"] {
        assert!(!is_coloured(&merged(&file, &["--format", format, "--color", "always"], &[])), "{format}");
    }
    for name in ["new.csv", "new.jsonl", "new.md", "new.txt"] {
        let new = folder.path(name);
        merged(&file, &["--color", "always", "-o", new.to_str().unwrap()], &[]);
        assert!(!is_coloured(&fs::read_to_string(&new).unwrap()), "{name}");
    }
}

#[cfg(unix)]
mod on_a_terminal {
    use std::fs::{File, OpenOptions};
    use std::io::Read;

    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use rustix::termios::{Winsize, tcsetwinsize};

    use super::*;
    use crate::support::inspected::SHADER;

    /// What the command shows on a terminal of so many columns, and nothing but that.
    fn shown(columns: u16, arguments: &[&str], variables: &[(&str, &str)]) -> String {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).and_then(|()| unlockpt(&master)).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let terminal = OpenOptions::new().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        // It needn't know its rows.
        tcsetwinsize(&terminal, Winsize { ws_row: 0, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let mut command = uncoloured(arguments);
        command.env("TERM", "xterm").envs(variables.iter().copied());
        let mut child = command.stdout(terminal.try_clone().unwrap()).stderr(terminal).spawn().unwrap();
        // It has the terminal's other end, which this process has to let go of.
        drop(command);
        let mut bytes = Vec::new();
        // Where nobody writes any more, reading fails.
        let _ = File::from(master).read_to_end(&mut bytes);
        assert!(child.wait().unwrap().success());
        String::from_utf8(bytes).unwrap().replace('\r', "")
    }

    fn seen(text: &str) -> String {
        let mut parts = text.split('\u{1b}');
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |seen, part| seen + part.split_once('m').map_or(part, |(_, after)| after))
    }

    fn fits(text: &str, columns: usize) -> bool {
        seen(text).lines().all(|line| line.chars().count() <= columns)
    }

    #[test]
    fn rows_fit_the_terminal_in_colours() {
        let folder = Folder::new();
        let file = rows(&folder);
        for columns in [60, 80, 120] {
            let text = shown(columns, &["merge", "-q", &file], &[]);
            assert!(text.contains("\u{1b}[2mskipped:") && fits(&text, columns.into()), "{columns}: {text}");
        }
        let narrow = seen(&shown(40, &["merge", "-q", &file], &[]));
        assert!(narrow.contains("no room for: ") && fits(&narrow, 40), "{narrow}");
        assert!(!is_coloured(&shown(80, &["merge", "-q", &file], &[("NO_COLOR", "1")])));
        assert!(!is_coloured(&shown(80, &["merge", "-q", &file, "--color=never"], &[])));
        assert!(!is_coloured(&shown(80, &["merge", "-q", &file], &[("TERM", "dumb")])));
    }

    #[test]
    fn a_description_fits_the_terminal() {
        let (_folder, shader) = Folder::with("shader.comp", SHADER);
        for columns in [40, 80, 120] {
            let text = shown(columns, &["inspect", &shader, "-d", "mock", "-d", "mock"], &[]);
            assert!(text.contains("drivers' statistics") && fits(&text, columns.into()), "{columns}: {text}");
        }
    }

    /// But for what another compiler of GLSL changes.
    #[test]
    fn what_devices_make_of_it_reads_at_a_glance() {
        let (_folder, shader) = Folder::with("shader.comp", SHADER);
        for columns in [80, 120] {
            let text = shown(columns, &["inspect", &shader, "-c", "TILE=4", "-d", "mock"], &[("NO_COLOR", "1")]);
            let (_, devices) = text.split_once("\ndevice 0: ").unwrap();
            insta::assert_snapshot!(format!("devices_in_{columns}_columns"), devices);
        }
    }

    #[test]
    fn a_comparison_fits_the_terminal_in_colours() {
        let folder = Folder::new();
        let file = rows(&folder);
        let sides = ["compare", &file, "--by", "local_size_x"];
        for columns in [40, 80, 120] {
            let text = shown(columns, &sides, &[]);
            assert!(is_coloured(&text) && fits(&text, columns.into()), "{columns}: {text}");
        }
        assert!(!is_coloured(&shown(80, &[&sides[..], &["--color=never"]].concat(), &[])));
    }

    #[test]
    fn a_card_fits_the_terminal() {
        let folder = Folder::new();
        let file = rows(&folder);
        let text = shown(80, &["card", &file], &[]);
        assert!(text.contains("trust") && fits(text.split("\nrows: ").next().unwrap(), 80), "{text}");
    }
}
