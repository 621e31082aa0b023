#!/usr/bin/env bash
# Fuzzes what reads other people's input: SPIR-V, CSV files of rows, axes and filters. It ends with the first finding of a target,
# and says how to run that input again. A finding becomes a test beside the code that it was found in.
#
#   scripts/fuzz.sh                 every target, a minute each
#   scripts/fuzz.sh spirv 600       one target, so many seconds
#   scripts/fuzz.sh spirv FILE      one input again
#
# cargo-fuzz, the corpora and the findings lie in the cache. With a nightly toolchain the address sanitizer watches and large
# allocations are findings; without, memory as a whole is limited and Rust's own checks remain.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib.sh

targets=()
for file in fuzz/fuzz_targets/*.rs; do
  file=${file##*/}
  targets+=("${file%.rs}")
done
cargo_fuzz=$LANESCOPE_CACHE/cargo-fuzz
corpora=$LANESCOPE_CACHE/fuzz/corpus
findings=$LANESCOPE_CACHE/fuzz/findings
# Inputs are small: what takes this much of either is a finding.
limits=(-timeout=10 -rss_limit_mb=512 -malloc_limit_mb=256 -max_len=16384 -len_control=10)
# Freed memory that the sanitizer holds back would count against the limit.
export ASAN_OPTIONS=quarantine_size_mb=16

use_tools() {
  export PATH=$cargo_fuzz/bin:$PATH
  if ! has_command cargo-fuzz; then
    say "installing: cargo-fuzz (into $cargo_fuzz)"
    quietly cargo install --locked cargo-fuzz --root "$cargo_fuzz" || die "could not install cargo-fuzz"
  fi
  sanitizer=none
  if rust_is_rustups && rustup toolchain list | grep '^nightly' >/dev/null; then
    export RUSTUP_TOOLCHAIN=nightly
    sanitizer=address
  fi
  say "sanitizer: $sanitizer"
}

# The fuzzers' versions of all crates are the program's own; nothing else is locked.
build() {
  [ fuzz/Cargo.lock -nt Cargo.lock ] || cp Cargo.lock fuzz/Cargo.lock
  cargo fuzz build --sanitizer "$sanitizer" "$1" || die "the target $1 does not build"
}

runner() { echo "fuzz/target/$(rustc -vV | sed -n 's/^host: //p')/release/$1"; }

fuzz() { # TARGET SECONDS
  local target=$1 found=$findings/$1 words=()
  mkdir -p "$corpora/$target" "$found"
  [ ! -f "$seeds/$target.dict" ] || words=("-dict=$seeds/$target.dict")
  say "$target: fuzzing for $2 s"
  if "$(runner "$target")" "${limits[@]}" ${words[@]+"${words[@]}"} -max_total_time="$2" -print_final_stats=1 -artifact_prefix="$found/" \
    "$corpora/$target" "$seeds/$target" >"$found/log" 2>&1; then
    grep -E '^stat::(number_of_executed_units|average_exec_per_sec|peak_rss_mb)' "$found/log" >&2
    return
  fi
  grep -E 'panicked|ERROR|SUMMARY|Test unit written' "$found/log" >&2 || tail -n 40 "$found/log" >&2
  die "$target: a finding; the whole log is $found/log. To run it again: scripts/fuzz.sh $target $(find "$found" -name '*-*' -newer "$seeds" -print -quit)"
}

scripts/setup.sh
use_rust
scripts/shaderc.sh
seeds=$(mktemp -d)
trap 'rm -rf "$seeds"' EXIT
if [ $# -gt 0 ]; then
  case " ${targets[*]} " in *" $1 "*) targets=("$1") ;; *) die "unknown target $1: ${targets[*]}" ;; esac
fi
if [ -f "${2:-}" ]; then
  use_tools
  build "$1"
  exec "$(runner "$1")" "${limits[@]}" "$2"
fi
say "writing the inputs to begin with"
LANESCOPE_CORPUS=$seeds quietly cargo test --locked --test host fuzz::what_fuzzing_begins_with_is_taken || die "could not write the inputs to begin with"
use_tools
for target in "${targets[@]}"; do
  build "$target"
  fuzz "$target" "${2:-60}"
done
say "no finding"
