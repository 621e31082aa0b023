//! Rebuilds when a shader is added, tells which commit is built, and says what would make a first build fast.

use std::path::Path;
use std::process::Command;

/// What the command is made of: a change to any of it that no commit has is told.
const SOURCES: [&str; 5] = ["src", "glsl", "build.rs", "Cargo.toml", "Cargo.lock"];

fn main() {
    // The shaders are embedded by a macro, which sees changed files but not new ones. Where sources change, the crate is built again
    // anyhow, and whether a commit has them may have changed as well.
    SOURCES.iter().for_each(|source| rerun_if_changed(source));
    rerun_if_changed(".shaderc");
    println!("cargo:rerun-if-env-changed=SHADERC_LIB_DIR");
    let commit = commit().or_else(packaged_commit).map(|commit| format!(" ({commit})")).unwrap_or_default();
    println!("cargo:rustc-env=LANESCOPE_VERSION={}{commit}", env!("CARGO_PKG_VERSION"));
    println!("cargo:rustc-env=LANESCOPE_BUILD={}", build());
    warn_without_shaderc();
}

/// A missing path would make cargo rerun this, and rebuild the crate, every time.
fn rerun_if_changed(path: &str) {
    if Path::new(path).exists() {
        println!("cargo:rerun-if-changed={path}");
    }
}

/// The commit that is checked out, and whether the sources differ from it. Nothing where there is no git, or no repository of this
/// folder's own: one around it, as of an unpacked package, has other commits.
fn commit() -> Option<String> {
    let is_own = git(&["rev-parse", "--show-prefix"])?.is_empty();
    if !is_own {
        return None;
    }
    let hash = git(&["rev-parse", "HEAD"])?;
    watch_head();
    let changed = git(&[&["--no-optional-locks", "status", "--porcelain", "--"][..], &SOURCES].concat())?;
    Some(format!("commit {}{}", short(&hash)?, if changed.is_empty() { "" } else { ", with changes" }))
}

/// Reruns this when another commit is checked out: git writes one of these files then. In a worktree they lie elsewhere, as git knows.
fn watch_head() {
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    for name in ["HEAD", "logs/HEAD"].into_iter().chain(branch.as_deref()) {
        git(&["rev-parse", "--git-path", name]).iter().for_each(|path| rerun_if_changed(path));
    }
}

/// The commit that cargo notes in a package.
fn packaged_commit() -> Option<String> {
    let noted = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let hash = noted.split_once("\"sha1\"")?.1.split('"').nth(1)?;
    let changed = if noted.contains("\"dirty\": true") { ", with changes" } else { "" };
    Some(format!("commit {}{changed}", short(hash)?))
}

/// As long in every clone, unlike git's own short form: two builds of one commit are the same bytes.
fn short(hash: &str) -> Option<&str> {
    hash.get(..9)
}

/// Cargo's profile, which cargo tells by a folder's name alone, and what it is built for.
fn build() -> String {
    let variable = |name| std::env::var(name).unwrap_or_default();
    let output = variable("OUT_DIR");
    let profile = output.rsplit(['/', '\\']).skip_while(|folder| *folder != "build").nth(1).unwrap_or_default();
    format!("profile {profile}, optimisation {}, for {}", variable("OPT_LEVEL"), variable("TARGET"))
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

fn warn_without_shaderc() {
    let prebuilt = std::env::var_os("SHADERC_LIB_DIR").is_some_and(|folder| Path::new(&folder).is_dir());
    if !prebuilt {
        println!(
            "cargo:warning=shaderc is built from source, once for every cargo profile (10 to 30 minutes); \
             scripts/shaderc.sh builds it once for all, in about 4"
        );
    }
}
