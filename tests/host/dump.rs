//! `run --dump`: pictures of what cases leave behind.

use std::fs;
use std::io::Cursor;
use std::path::Path;
use std::sync::LazyLock;

use crate::support::{Ran, ran, typed};

/// A picture of 32 x 32 pixels, in workgroups of one shape.
static SCENE: LazyLock<Vec<&str>> = LazyLock::new(|| {
    typed(
        "run algo/raytrace:bounded --axis=image_size=32 --axis=local_size_x=8 --axis=local_size_y=8 --axis=rays=coherent --max-time=1ms --format=csv",
    )
});

#[test]
fn a_picture_is_a_file_of_its_case() {
    let folder = tempfile::tempdir().unwrap();
    let dump = folder.path().join("of/pictures");
    let dump = dump.to_str().unwrap();
    // What a file shows, and its width and height.
    let shown = |file: &Path| {
        let mut reader = png::Decoder::new(Cursor::new(fs::read(file).unwrap())).read_info().unwrap();
        let mut texels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut texels).unwrap();
        (texels, [info.width, info.height])
    };
    let mut shots = Vec::new();
    for isolation in [&[][..], &["--no-isolate"], &["--processes=2"]] {
        let Ran { code, out, err, .. } = ran(&[&SCENE[..], &["-d", "mock", "--dump", dump], isolation].concat());
        assert!(code == Some(0) && !err.contains("makes a picture"), "{err}");
        let files: Vec<_> = fs::read_dir(dump).unwrap().map(|file| file.unwrap().path()).collect();
        let [file] = &files[..] else { panic!("{files:?}") };
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        let id = out.split(',').find(|cell| name.contains(&format!("-{cell}-")) && cell.len() == 17);
        assert!(name.starts_with("algo-raytrace-bounded-c") && name.ends_with("-picture.png") && id.is_some(), "{name}");
        shots.push(shown(file));
        fs::remove_file(file).unwrap();
    }
    assert!(shots.iter().all(|shot| *shot == shots[0] && shot.1 == [32, 32]));
    let (texels, _) = &shots[0];
    let colours: std::collections::BTreeSet<&[u8]> = texels.chunks(3).collect();
    assert!(colours.len() > 50, "many shades: {}", colours.len());
}

/// What is wrong is what one wants to see.
#[test]
fn a_wrong_picture_is_written_too() {
    let folder = tempfile::tempdir().unwrap();
    let dump = folder.path().to_str().unwrap();
    let Ran { code, out, .. } = ran(&[&SCENE[..], &["-d", "mock:wrong=algo/raytrace", "--dump", dump]].concat());
    assert!(code == Some(1) && out.contains(",wrong_result,"), "{out}");
    assert_eq!(fs::read_dir(dump).unwrap().count(), 1);
}

#[test]
fn it_is_said_where_there_is_no_picture_and_where_none_can_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let dump = folder.path().join("none");
    let linear = ["run", "workgroup/linear", "--axis=local_size_x=64", "--axis=n=64", "--max-time=1ms", "--format=csv"];
    ran(&[&linear[..], &["-d", "mock", "--dump", dump.to_str().unwrap()]].concat())
        .says(0, &["none of the measured cases makes a picture"]);
    let file = folder.path().join("file");
    fs::write(&file, "kept").unwrap();
    let Ran { code, out, err, .. } = ran(&[&SCENE[..], &["-d", "mock", "--dump", file.to_str().unwrap()]].concat());
    assert!(code != Some(0) && out.is_empty() && err.contains("can't write"), "{err}");
    assert_eq!(fs::read_to_string(file).unwrap(), "kept");
    ran(&[&SCENE[..], &["-d", "mock", "--dump", dump.to_str().unwrap(), "--dry-run"]].concat()).says(2, &["--dry-run"]);
}
