#!/usr/bin/env bash
# Builds libshaderc_combined.a once, from the sources that the pinned shaderc-sys crate carries, into a cache that every
# build profile and every clone on this machine shares, and links .shaderc in the checkout to it (.cargo/config.toml
# points SHADERC_LIB_DIR there).
#
# Why not leave it to the crate: its own build takes 27 minutes of processor time, once per cargo profile. This one leaves
# out what is never called and precompiles headers; it takes about 4 minutes on two cores and is paid once.
#
#   scripts/shaderc.sh                  this machine's library
#   scripts/shaderc.sh --target TRIPLE  that of another target, for size; prints its folder, and links nothing:
#     x86_64-pc-windows-gnu by MinGW, x86_64-unknown-linux-gnu and aarch64-unknown-linux-gnu by zig, with zig's C++ library
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib.sh
use_rust || die "Rust $MINIMUM_RUST or newer is needed: scripts/setup.sh installs it"

target=
if [ $# -gt 0 ]; then
  if [ "$1" != --target ] || [ $# -ne 2 ]; then die "unknown arguments $*: --target TRIPLE"; fi
  target=$2
fi

if [ -z "$target" ] && [ -n "${SHADERC_LIB_DIR:-}" ]; then
  say "shaderc: using SHADERC_LIB_DIR=$SHADERC_LIB_DIR, as you asked"
  exit 0
fi

version=$(sed -n '/^name = "shaderc-sys"$/{n;s/^version = "\(.*\)"$/\1/p;}' Cargo.lock)
[ -n "$version" ] || die "Cargo.lock names no shaderc-sys: is this a whole checkout?"
# -O1: shaderc's own speed hardly depends on the level, its build time does. What people download is optimised for size, leaves out
# what isn't called, and how to unwind its stack: shaderc throws nothing.
flags="-O1 -DNDEBUG"
case $target in
  '') ;;
  # MinGW unwinds by these tables, or else by functions that Rust doesn't have.
  *-windows-gnu) flags="-Oz -DNDEBUG -ffunction-sections -fdata-sections" ;;
  *) flags="-Oz -DNDEBUG -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables -fno-unwind-tables" ;;
esac
options=(-G Ninja -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS_RELEASE=$flags" "-DCMAKE_C_FLAGS_RELEASE=$flags"
  -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DSPIRV_SKIP_EXECUTABLES=ON -DSPIRV_WERROR=OFF
  -DENABLE_OPT=OFF -DSHADERC_SKIP_TESTS=ON -DSHADERC_SKIP_EXAMPLES=ON -DSHADERC_SKIP_COPYRIGHT_CHECK=ON)
architecture=${target:-$(uname -m)}
case $target in
  '') ;;
  # The variant whose standard library has threads.
  x86_64-pc-windows-gnu) options+=(-DCMAKE_SYSTEM_NAME=Windows -DCMAKE_SYSTEM_PROCESSOR=x86_64
    -DCMAKE_C_COMPILER=x86_64-w64-mingw32-gcc-posix -DCMAKE_CXX_COMPILER=x86_64-w64-mingw32-g++-posix) ;;
  *-unknown-linux-gnu) compilers=$(zig_compilers "${target%%-*}")
    options+=(-DCMAKE_SYSTEM_NAME=Linux "-DCMAKE_SYSTEM_PROCESSOR=${target%%-*}"
      "-DCMAKE_C_COMPILER=$compilers/cc" "-DCMAKE_CXX_COMPILER=$compilers/c++" "-DCMAKE_AR=$compilers/ar" "-DCMAKE_RANLIB=$compilers/ranlib") ;;
  *) die "unknown target $target" ;;
esac
# The recipe is part of the key, so that a changed recipe never links a stale library.
recipe=$({ printf '%s\n' "${options[@]}"; cat scripts/shaderc.cmake scripts/shaderc-optimizer.cpp; } | sha256sum | cut -c1-8)
folder="$LANESCOPE_CACHE/shaderc-$version-$architecture-$recipe"

compile() { # SOURCES WORK
  # No day of the build in it, and no folder of this machine's.
  export SOURCE_DATE_EPOCH=0 CXXFLAGS="-ffile-prefix-map=$1=shaderc -ffile-prefix-map=$2=build"
  export CFLAGS=$CXXFLAGS
  cmake -S "$1/build" -B "$2/build" "${options[@]}" \
    -DCMAKE_PROJECT_native-shaderc_INCLUDE="$PWD/scripts/shaderc.cmake" >"$2/log" 2>&1 || return
  NINJA_STATUS='[%f/%t] ' ninja -C "$2/build" libshaderc_combined.a 2>&1 | tee -a "$2/log" | show_progress
}

# Ninja's count, on one line of a terminal: minutes of silence look like a hang.
show_progress() {
  local line
  while read -r line; do
    [ ! -t 2 ] || printf '\r%-20s' "    ${line%% *}" >&2
  done
  [ ! -t 2 ] || printf '\r%20s\r' '' >&2
}

build() {
  local sources work
  say "shaderc $version: building the combined library once (about 4 minutes on two idle cores) into $folder"
  # One platform's packages: without the filter this downloads Windows' as well.
  sources=$(cargo metadata --locked --format-version 1 --filter-platform "$(rustc -vV | sed -n 's/^host: //p')" | python3 -c '
import json, os, sys
packages = json.load(sys.stdin)["packages"]
print(next(os.path.dirname(p["manifest_path"]) for p in packages if p["name"] == "shaderc-sys"))')
  rm -rf "$LANESCOPE_CACHE/shaderc-build-$architecture".* # a killed build's; whoever holds the lock is alone
  work=$(mktemp -d "$LANESCOPE_CACHE/shaderc-build-$architecture.XXXXXX")
  # shellcheck disable=SC2064 # the folder of now is meant
  trap "rm -rf '$work'" EXIT
  compile "$sources" "$work" || { tail -n 40 "$work/log" >&2; die "shaderc did not build (the end of its log is above)"; }
  mkdir "$work/out"
  cp "$work/build/shaderc/libshaderc/libshaderc_combined.a" "$work/out/"
  # Renamed when whole: an interrupted build never leaves half a library behind.
  mv -T "$work/out" "$folder"
}

mkdir -p "$LANESCOPE_CACHE"
exec 9>"$LANESCOPE_CACHE/shaderc-$architecture.lock"
flock 9 # two clones that build at once share one library
[ -f "$folder/libshaderc_combined.a" ] || build
if [ -n "$target" ]; then
  echo "$folder"
  exit 0
fi

if [ "$(readlink .shaderc 2>/dev/null || true)" != "$folder" ]; then
  ln -sfn "$folder" .shaderc
  # The crate's build script does not watch the folder: an earlier build may have fallen back to building from source.
  cargo clean --quiet -p shaderc-sys 2>/dev/null || true
  cargo clean --quiet --release -p shaderc-sys 2>/dev/null || true
fi
say "shaderc $version: $folder"
