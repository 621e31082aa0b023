//! Pipeline statistics and code of the mock device: `--stats` and `--isa`.

use crate::support::{ran, run};

const SMALL: [&str; 5] = ["memory/stream", "-a", "n=1024", "-a", "local_size_x=64"];

#[test]
fn statistics_are_in_the_row_where_they_are_asked_for() {
    let (rows, said, code) = run(&[&SMALL[..], &["-d", "mock", "--stats"]].concat());
    assert_eq!(code, Some(0), "{said}");
    assert!(!rows.is_empty() && !said.contains("reports no pipeline statistics"), "{said}");
    for row in rows {
        assert_eq!((row.registers, row.spill_bytes, row.code_bytes), (Some(32), Some(0), Some(1024)));
        assert_eq!(row.statistics, r#"{"Registers":32,"Spilled bytes":0,"Code bytes":1024}"#);
    }
}

#[test]
fn code_is_in_a_file_for_each_case() {
    let folder = tempfile::tempdir().unwrap();
    let isa = folder.path().join("isa");
    let (rows, said, code) = run(&[&SMALL[..], &["-d", "mock", "--isa", isa.to_str().unwrap()]].concat());
    assert_eq!(code, Some(0), "{said}");
    assert!(rows.iter().all(|row| !row.statistics.is_empty()), "--isa includes --stats");
    let files = std::fs::read_dir(&isa).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = files.collect();
    names.sort();
    let digits = |uuid: &str| uuid.chars().take(8).collect::<String>();
    let mut expected: Vec<String> = (rows.iter())
        .map(|row| format!("memory-stream-{}-{}-{}.txt", row.case_id, digits(&row.device_uuid), digits(&row.driver_uuid)))
        .collect();
    expected.sort();
    assert_eq!(names, expected);
    assert!(std::fs::read_to_string(isa.join(&names[0])).unwrap().ends_with("\n\nnop\n"));
}

#[test]
fn a_folder_of_code_that_cannot_be_ends_the_run_before_it_begins() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let name = file.path().to_str().unwrap();
    ran(&[&["run"], &SMALL[..], &["-d", "mock", "--isa", name]].concat()).refuses(&[name]);
}

#[test]
fn nothing_is_told_unasked() {
    let (rows, said, code) = run(&[&SMALL[..], &["-d", "mock"]].concat());
    assert_eq!(code, Some(0), "{said}");
    for row in rows {
        assert_eq!((row.registers, row.spill_bytes, row.code_bytes, row.statistics.as_str()), (None, None, None, ""));
    }
}
