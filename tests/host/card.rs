//! The card of files of rows: what devices are, from rows alone.

use std::fs;

use crate::support::{Folder, Ran, data, ran, succeeded};

fn card(files: &[&str]) -> Ran {
    ran(&[&["card"], files].concat())
}

#[test]
fn an_h100s_overview_is_a_card_of_25_lines_at_most() {
    let Ran { code, out, err, .. } = card(&[&data("nvidia-h100-overview-1.csv")]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(out.lines().count() <= 25, "{out}");
    for told in ["fp32", "92 % of its limit", "32 banks of 4 B", "subgroup size 32", "1980 MHz", "166 measured, 160 checked"] {
        assert!(out.contains(told), "no {told} in {out}");
    }
    assert!(out.contains("rows: ") && out.matches("next: lanescope ").count() == 2, "{out}");
}

#[test]
fn devices_have_columns_and_rows_of_schema_1_are_read() {
    let Ran { code, out, .. } = card(&[&data("nvidia-h100-overview-1.csv"), &data("v1/lavapipe.csv")]);
    let head = out.lines().next().unwrap();
    assert!(code == Some(0) && head.contains("NVIDIA H100 80GB HBM3") && head.contains("llvmpipe"), "{out}");
}

#[test]
fn what_is_measured_twice_is_told() {
    card(&[&data("nvidia-h100-overview-1.csv"), &data("nvidia-h100-overview-2.csv")])
        .says(0, &["cases with more than one result; those that come first are shown"]);
}

#[test]
fn what_is_missing_is_told() {
    let folder = Folder::new();
    let text = fs::read_to_string(data("nvidia-h100-overview-1.csv")).unwrap();
    let part: Vec<&str> = text.lines().take(60).collect();
    // The last line is torn.
    let torn = format!("{}\n{}", part.join("\n"), &text.lines().nth(60).unwrap()[..40]);
    let Ran { err, out, .. } = card(&[&folder.write("part.csv", torn)]).says(0, &[]);
    assert!(
        err.contains("the last row was cut") && err.contains("108 cases of 167") && out.contains("59 measured"),
        "{err}{out}"
    );
}

/// The file that the card goes to is no file of rows.
#[test]
fn rows_are_never_overwritten_by_their_card() {
    let (folder, file) = Folder::with("rows.csv", fs::read_to_string(data("nvidia-h100-overview-1.csv")).unwrap());
    let before = fs::read_to_string(&file).unwrap();
    ran(&["card", &file, "-o", &file]).says(2, &["name another file"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    let shown = succeeded(&["card", &file, "-o", "-"]).out;
    let other = folder.path("card.txt");
    assert_eq!(succeeded(&["card", &file, "-o", other.to_str().unwrap()]).out, "");
    assert_eq!(fs::read_to_string(other).unwrap(), shown);
}

#[test]
fn a_file_without_what_a_card_needs_is_refused_by_name() {
    let folder = Folder::new();
    let file = folder.at("few.csv");
    succeeded(&["run", "-q", "calibration/empty", "-d", "mock", "--columns", "value,unit", "-o", &file]);
    card(&[&file]).says(2, &["`checked`", "there is no card without"]);
}
