#!/usr/bin/env bash
# Installs what the tests need and this machine lacks, then checks format, lints, documentation and tests.
#
#   scripts/test.sh             what continuous integration runs: tests on every Vulkan driver that scripts/drivers.sh provides
#   scripts/test.sh --quick     format, lints, and the tests that need no driver, thinned out: for every commit
#   scripts/test.sh --full      lints for Windows too, and every test at full length: daily, and before a release
#   scripts/test.sh --record    one of these, alone on the machine, and what it took goes into tests/times.csv
#   scripts/test.sh ARGUMENTS   the checks of continuous integration, but of the tests what cargo test runs with these arguments
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib.sh

form=short
record=()
while :; do
  case ${1:-} in
    --quick | --full) form=${1#--} ;;
    --record) record=(--record) ;;
    *) break ;;
  esac
  shift
done
[ $# -eq 0 ] || [ "$form${record[*]-}" = short ] || die "--quick, --full and --record run all tests of theirs: leave out $*"

# What each step took: seconds by the clock, of the program and of the system, and the step's name.
steps=$(mktemp)
trap 'rm -f "$steps"' EXIT

step() {
  local name=$1 start=$SECONDS
  shift
  say "$name"
  TIMEFORMAT="%R %U %S $name"
  # What is said goes where it went before, and only what `time` says into the file.
  { time "$@" 2>&3 || die "$name: failed after $((SECONDS - start)) s: $*" 2>&3; } 3>&2 2>>"$steps"
  say "$name: $((SECONDS - start)) s"
}

# A machine that can't have the other system's standard library says so, and goes on.
windows() {
  local status=0
  scripts/windows.sh || status=$?
  [ "$status" -ne 77 ] || { say "skipped: lints for Windows (above is why)"; return; }
  return "$status"
}

# The fuzz targets are a package of their own.
format() { cargo fmt --all --check && cargo fmt --check --manifest-path fuzz/Cargo.toml; }

# Builds unit tests, and other tests of these targets (Cargo.toml says why in two profiles). A step doesn't end by itself where one of
# its commands fails.
build_tests() {
  local build=(cargo test --locked --no-run --message-format=json-render-diagnostics)
  "${build[@]}" --profile dev --lib >"$messages" && "${build[@]}" "$@" >>"$messages"
}

# Programs of others, captured; with what the tests were built with, so that nothing is built a second time.
clients() {
  cargo build --locked --profile test --package lanescope-layer && LANESCOPE=${CARGO_TARGET_DIR:-target}/debug/lanescope scripts/clients.sh
}

# What ends the output is the count of the tests.
run_tests() {
  say "tests"
  scripts/run_tests.py --form "$form" --steps "$steps" ${record[@]+"${record[@]}"} "$@" <"$messages"
}

# Where nothing is built a second time, keeping what that would need is in vain.
[ -z "${CI:-}" ] || export CARGO_INCREMENTAL=0
export LANESCOPE_TEST_FORM=$form
messages=${CARGO_TARGET_DIR:-target}/tests.json
step "setting up" scripts/setup.sh --tests
use_rust
step "shaderc" scripts/shaderc.sh
step "format" format
step "lints" cargo clippy --locked --all-targets -- -D warnings

if [ "$form" = quick ]; then
  # A test that needs a driver after all fails.
  export VK_DRIVER_FILES=/no/driver.json VK_ICD_FILENAMES=/no/driver.json
  step "building tests" build_tests --test host
  run_tests
  exit
fi

environment=$(scripts/drivers.sh)
eval "$environment"
say "test drivers: $VK_DRIVER_FILES"
[ "$form" != full ] || step "lints for Windows" windows
step "documentation" env RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps
if [ $# -gt 0 ]; then
  say "tests"
  cargo test --locked "$@"
  exit
fi
step "building tests" build_tests --examples --test '*'
step "clients" clients
run_tests --doc
