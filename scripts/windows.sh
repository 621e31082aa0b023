#!/usr/bin/env bash
# Windows (x86_64-pc-windows-gnu), from Linux.
#
#   scripts/windows.sh             checks and lints all targets; nothing is linked and no C++ is built
#   scripts/windows.sh --build     builds lanescope.exe, which needs system libraries alone (scripts/package.sh packs it)
#   scripts/windows.sh --test      builds its tests and runs under Wine what is known to hold there
#   scripts/windows.sh --test PART runs the tests whose part bears this in its name, such as host/merge or devices/cli (on lavapipe)
#
# All need the standard library of that target, and get it where the Rust comes from: rustup, or the distribution's packages.
# Debian 12 packages its sources only; they are built along, which takes the flag for unstable features.
# --build and --test install MinGW, and build the GLSL compiler with it once (10 to 20 minutes); --test installs Wine and Xvfb.
#
# Exit code 77: there is no such standard library to be had here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib.sh

purpose=${1:---lint}
case $purpose in --lint | --build | --test) ;; *) die "unknown option $purpose: --build or --test" ;; esac
[ $# -le 1 ] || [ "$purpose" = --test ] || die "$purpose stands alone"
# Others need programs of Linux, such as the SPIR-V tools, or take hours under Wine.
held=(src/lib.rs src/catalogue/lib.rs host/{card,carried,cases,cli,compare,data,dump,golden,inspect.rs,isolation,limits,merge,pairs,report,session,tables,terminal,tune,windows} devices/rows)
part=${2:-$(IFS=,; echo "${held[*]}")}

target=x86_64-pc-windows-gnu
options=(--locked --target "$target" --target-dir target/windows)

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

# Where there are only its sources, cargo builds these parts of the library along.
build_along() { # PARTS
  has_library && return
  can_build_library || die "installed, but $(sysroot) still has neither the library for $target nor its sources"
  options+=("-Zbuild-std=$1")
  export RUSTC_BOOTSTRAP=1
}

# ---- lints ------------------------------------------------------------------------------------------------------------------

lint() {
  local lints=(-D warnings)
  # Both crates build C++ in build scripts, for which these stand in. The names are never linked.
  options+=(--all-targets
    --config "target.$target.shaderc.rustc-link-lib=['shaderc_combined']"
    --config "target.$target.cplusplus.rustc-link-lib=['stdc++']")
  build_along std,panic_unwind,test
  # Beside a library that is built along, clippy 1.85 doesn't see that an initializer is const.
  has_library || lints+=(-A clippy::missing-const-for-thread-local)
  exec cargo clippy "${options[@]}" -- "${lints[@]}"
}

# ---- the exe ----------------------------------------------------------------------------------------------------------------

compiler=x86_64-w64-mingw32-g++-posix

# need COMMAND PACKAGE...: the packages of apt that have the command.
need() {
  has_command "$1" && return
  [ "$(package_manager)" = apt-get ] || die "$1 is missing: install MinGW (with POSIX threads), Wine and Xvfb by hand"
  packages+=("${@:2}")
}

# Links the GLSL compiler and what C++ brings along into the exe, instead of libraries that Windows doesn't have.
link() { # PARTS of the standard library
  local shaderc libraries
  build_along "$1"
  packages=()
  need "$compiler" g++-mingw-w64-x86-64-posix
  install_packages ${packages[@]+"${packages[@]}"}
  shaderc=$(scripts/shaderc.sh --target "$target")
  libraries=$(dirname "$("$compiler" -print-file-name=libstdc++.a)")
  options+=(--config "target.$target.linker='$compiler'"
    --config "target.$target.shaderc.rustc-link-search=['$shaderc']"
    --config "target.$target.shaderc.rustc-link-lib=['static=shaderc_combined']"
    --config "target.$target.cplusplus.rustc-link-search=['$libraries']"
    --config "target.$target.cplusplus.rustc-link-lib=['static=stdc++']")
}

# The libraries that Windows has, of those that a program may need. The Vulkan loader isn't among them: it is looked for when it is needed.
SYSTEM_LIBRARIES='advapi32 bcrypt bcryptprimitives kernel32 msvcrt ntdll ole32 oleaut32 pdh powrprof psapi shell32 user32 userenv ws2_32'

imports() { x86_64-w64-mingw32-objdump -p "$1" | sed -n 's/^\s*DLL Name: //p' | tr '[:upper:]' '[:lower:]' | sort -u; }

build() {
  local exe=target/windows/$target/dist/lanescope.exe library foreign=()
  # Without the time of the build.
  RUSTFLAGS="$(path_flags) -Clink-arg=-Wl,--no-insert-timestamp" cargo build "${options[@]}" --profile dist
  # What tells lines would be two thirds of the exe; the functions' names stay in it.
  x86_64-w64-mingw32-strip --strip-debug "$exe"
  for library in $(imports "$exe"); do
    case $library in
      api-ms-win-*) ;;
      *) grep -qw -- "${library%.dll}" <<<"$SYSTEM_LIBRARIES" || foreign+=("$library") ;;
    esac
  done
  [ ${#foreign[@]} -eq 0 ] || die "$exe needs libraries that Windows doesn't have: ${foreign[*]}"
  say "it imports: $(imports "$exe" | paste -s -d ' ')"
  say "$exe: $(($(stat -c %s "$exe") / 1000000)) MB"
}

# ---- tests ------------------------------------------------------------------------------------------------------------------

# A Windows of nobody's, which goes again. Wine before 9 lacks a library of one function, which Rust's standard library needs.
make_windows() {
  local work system
  packages=()
  need wine wine wine64
  need xvfb-run xvfb xauth
  install_packages ${packages[@]+"${packages[@]}"}
  work=$(mktemp -d)
  export WINEPREFIX=$work/prefix WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml=d'
  # shellcheck disable=SC2064 # the folder of now is meant
  trap "wineserver --kill >/dev/null 2>&1 || true; rm -rf '$work'" EXIT
  say "making a Windows for the tests: $(wine --version)"
  quietly xvfb-run -a wineboot --init
  system=$WINEPREFIX/drive_c/windows/system32
  if [ ! -e "$system/bcryptprimitives.dll" ]; then
    cat >"$work/random.c" <<'END'
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG length);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE buffer, SIZE_T length) { return SystemFunction036(buffer, (ULONG)length); }
END
    "$compiler" -x c -shared -o "$system/bcryptprimitives.dll" "$work/random.c" -x none -ladvapi32
  fi
}

run_tests() {
  local messages=target/windows/tests.json
  mkdir -p target/windows
  # In two profiles, as scripts/test.sh does.
  cargo test "${options[@]}" --no-run --message-format=json-render-diagnostics --profile dev --lib >"$messages"
  cargo test "${options[@]}" --no-run --message-format=json-render-diagnostics --test host --test devices >>"$messages"
  make_windows
  VK_DRIVER_FILES=$(lavapipe_file) || die "lavapipe is not installed: scripts/setup.sh --tests installs it"
  export VK_DRIVER_FILES VK_ICD_FILENAMES=$VK_DRIVER_FILES LANESCOPE_TEST_DRIVERS=lavapipe
  say "tests under Wine"
  xvfb-run -a scripts/run_tests.py --through wine --only "$part" <"$messages"
}

scripts/setup.sh --tests
use_rust
has_library || get_library
case $purpose in
  --lint) lint ;;
  --build) link std,panic_unwind; build ;;
  --test) link std,panic_unwind,test; run_tests ;;
esac
