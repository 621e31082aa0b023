//! What `--version` says: the build script on repositories of its own, and the command.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Folder, succeeded};

fn build_script(folder: &Folder) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("build.rs");
    let program = folder.at("script");
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let mut command = Command::new(compiler);
    command.args(["--edition=2024", "-o", &program]).arg(script).env("CARGO_PKG_VERSION", "1.2.3");
    assert!(command.status().unwrap().success());
    program
}

/// Runs git without anybody's settings.
fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(folder).args(["-c", "user.name=a", "-c", "user.email=a@b.c"]).args(arguments);
    let output = command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null").output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// What the script tells cargo in a folder: the version, and the paths that it watches.
fn told(script: &str, folder: &Path) -> (String, Vec<String>) {
    let output = Command::new(script).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let values = |key: &str| text.lines().filter_map(|line| line.strip_prefix(key)).map(str::to_owned).collect::<Vec<_>>();
    (values("cargo:rustc-env=LANESCOPE_VERSION=").concat(), values("cargo:rerun-if-changed="))
}

/// A repository with one commit of a source, and that commit.
fn repository(folder: &Folder) -> (std::path::PathBuf, String) {
    let root = folder.path("tree");
    fs::create_dir_all(root.join("src")).unwrap();
    fs::write(root.join("src/main.rs"), "fn main() {}").unwrap();
    fs::write(root.join("README.md"), "").unwrap();
    git(&root, &["init", "--quiet"]);
    git(&root, &["add", "."]);
    git(&root, &["commit", "--quiet", "--message=one"]);
    let commit = git(&root, &["rev-parse", "--short=9", "HEAD"]);
    (root, commit)
}

#[test]
fn the_version_names_the_commit_and_changes_to_it() {
    let folder = Folder::new();
    let script = build_script(&folder);
    let (root, commit) = repository(&folder);
    let (version, watched) = told(&script, &root);
    assert_eq!(version, format!("1.2.3 (commit {commit})"));
    assert!(
        watched.iter().all(|path| root.join(path).exists()),
        "what is missing would be looked for in every build: {watched:?}"
    );
    let before = stamps(&root, &watched);
    fs::write(root.join("README.md"), "changed").unwrap();
    assert_eq!(told(&script, &root).0, version, "no source");
    fs::write(root.join("src/new.rs"), "").unwrap();
    assert_eq!(told(&script, &root).0, format!("1.2.3 (commit {commit}, with changes)"));
    fs::remove_file(root.join("src/new.rs")).unwrap();
    // Another commit, of a file that isn't watched.
    git(&root, &["commit", "--quiet", "--all", "--message=two"]);
    assert_ne!(stamps(&root, &watched), before, "cargo would not look again");
    assert_ne!(told(&script, &root).0, version);
}

/// What git writes of the paths that are watched, but for the sources.
fn stamps(root: &Path, watched: &[String]) -> Vec<String> {
    let of_git = watched.iter().filter(|path| path.contains(".git"));
    of_git.map(|path| fs::read_to_string(root.join(path)).unwrap()).collect()
}

#[test]
fn a_worktree_has_its_own_commit() {
    let folder = Folder::new();
    let script = build_script(&folder);
    let (root, first) = repository(&folder);
    let other = folder.path("other");
    git(&root, &["worktree", "add", "--quiet", "-b", "other", other.to_str().unwrap()]);
    git(&root, &["commit", "--quiet", "--allow-empty", "--message=two"]);
    let (version, watched) = told(&script, &other);
    assert_eq!(version, format!("1.2.3 (commit {first})"));
    assert_eq!(watched.iter().filter(|path| path.contains(".git")).count(), 3, "{watched:?}");
    let before = stamps(&other, &watched);
    git(&other, &["checkout", "--quiet", "--detach", "HEAD"]);
    assert_ne!(stamps(&other, &watched), before);
    assert_eq!(told(&script, &other).0, version, "no branch");
}

#[test]
fn without_a_repository_of_its_own_the_commit_is_left_out() {
    let folder = Folder::new();
    let script = build_script(&folder);
    let (root, _) = repository(&folder);
    let within = root.join("within");
    fs::create_dir(&within).unwrap();
    assert_eq!(told(&script, &within).0, "1.2.3", "that of somebody else");
    fs::write(within.join(".cargo_vcs_info.json"), "{\n \"git\": {\n  \"sha1\": \"0123456789abcdef\"\n },\n}").unwrap();
    assert_eq!(told(&script, &within).0, "1.2.3 (commit 012345678)", "a package knows where it comes from");
    // No git at all.
    let output = Command::new(&script).current_dir(&root).env("PATH", "").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.contains("cargo:rustc-env=LANESCOPE_VERSION=1.2.3\n"), "{text}");
}

#[test]
fn the_command_tells_its_version() {
    let (short, long) = (succeeded(&["-V"]).out, succeeded(&["--version"]).out);
    let version = format!("lanescope {}", env!("CARGO_PKG_VERSION"));
    assert!(short.starts_with(&version) && short.lines().count() == 1 && !short.contains("unknown"), "{short}");
    assert!(long.starts_with(short.trim_end()), "{long}");
    assert!(
        ["\nGLSL compiler: shaderc ", "\nSPIR-V parser: rspirv ", "\nrows: schema v"].iter().all(|part| long.contains(part)),
        "{long}"
    );
    let build = long.lines().last().unwrap();
    assert!(build.starts_with("build: profile debug, optimisation ") && build.contains(std::env::consts::ARCH), "{build}");
}
