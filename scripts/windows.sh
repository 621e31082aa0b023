#!/usr/bin/env bash
# Checks and lints all targets for Windows (x86_64-pc-windows-gnu), from Linux. Nothing is linked and no C++ is built.
# It needs the standard library of that target, and gets it where the Rust comes from: rustup, or the distribution's packages.
# Debian 12 packages its sources only; they are built along, which takes the flag for unstable features.
#
# Exit code 77: there is no such standard library to be had here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib.sh

target=x86_64-pc-windows-gnu
lints=(-D warnings)
# Both crates build C++ in build scripts, for which these stand in. The names are never linked.
options=(--locked --all-targets --target "$target" --target-dir target/windows
  --config "target.$target.shaderc.rustc-link-lib=['shaderc_combined']"
  --config "target.$target.cplusplus.rustc-link-lib=['stdc++']")

sysroot() { rustc --print sysroot; }
has_library() { [ -d "$(sysroot)/lib/rustlib/$target/lib" ]; }
# The sources, and the tool that rustc calls for libraries of Windows' own.
can_build_library() { [ -d "$(sysroot)/lib/rustlib/src/rust/library" ] && has_command x86_64-w64-mingw32-dlltool; }

none_here() {
  say "no standard library for $target is to be had here: $*"
  exit 77
}

# Whether apt would install this package in the version of the installed rustc package: the compiler takes no other.
apt_matches() { [ -n "$(apt_candidate "$1")" ] && [ "$(apt_candidate "$1")" = "$(installed_version "rustc$suffix")" ]; }
installed_version() { dpkg-query -W -f '${Version}' "$1" 2>/dev/null; }

# Debian's and Ubuntu's: the library where it is packaged, or else the sources.
install_from_apt() {
  local suffix
  suffix=$(installed_rust_suffix) || none_here "this rustc comes from no package"
  can_be_root || none_here "installing needs root or sudo"
  refresh_lists
  if apt_matches "libstd-rust$suffix-dev-windows"; then
    install_packages "libstd-rust$suffix-dev-windows"
  elif apt_matches "rust$suffix-src"; then
    install_packages "rust$suffix-src" binutils-mingw-w64-x86-64
  else
    none_here "no package of the same version as rustc$suffix"
  fi
}

get_library() {
  if rust_is_rustups; then
    say "installing: Rust's standard library for $target, through rustup"
    rustup target add "$target" >&2
  elif ! can_build_library; then
    has_command apt-get || none_here "the Rust of this machine is neither rustup's nor Debian's"
    install_from_apt
  fi
}

scripts/setup.sh --tests
use_rust
has_library || get_library
if ! has_library; then
  can_build_library || die "installed, but $(sysroot) still has neither the library for $target nor its sources"
  options+=("-Zbuild-std=std,panic_unwind,test")
  export RUSTC_BOOTSTRAP=1
  # Beside a library that is built along, clippy 1.85 doesn't see that an initializer is const.
  lints+=(-A clippy::missing-const-for-thread-local)
fi
exec cargo clippy "${options[@]}" -- "${lints[@]}"
