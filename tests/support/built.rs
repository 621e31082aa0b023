//! What cargo builds beside the tests.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::Ran;

/// A program or library of the workspace, as cargo builds it for the running test: `cargo test --test NAME` alone builds none.
pub fn built(target: &[&str], name: &str) -> PathBuf {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    cargo.arg("build").args(target).args(["--quiet", "--locked", "--offline", "--message-format=json"]);
    // As the running test was built: anything else would build the whole crate once more.
    cargo.args(["--profile", if cfg!(debug_assertions) { "test" } else { "release" }]);
    // Cargo set it from its configuration for this test; given from outside it would count as another, and all be built anew.
    let configured = Path::new(env!("CARGO_MANIFEST_DIR")).join(".shaderc");
    if std::env::var_os("SHADERC_LIB_DIR").is_some_and(|folder| Path::new(&folder) == configured) {
        cargo.env_remove("SHADERC_LIB_DIR");
    }
    let built: Ran = cargo.output().unwrap().into();
    assert_eq!(built.code, Some(0), "{}", built.err);
    let messages = built.out.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let mut found = messages.filter(|message| message["target"]["name"] == name && message["filenames"].is_array());
    let path = PathBuf::from(found.next().unwrap()["filenames"][0].as_str().unwrap());
    assert!(path.is_file(), "{}", path.display());
    path
}
