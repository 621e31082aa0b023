#!/usr/bin/env bash
# Installs what the tests need and this machine lacks, then checks format, lints, documentation and tests.
#
#   scripts/test.sh             all of it: lints for Windows too, and tests on every Vulkan driver that scripts/drivers.sh provides
#   scripts/test.sh --quick     format, lints, and the tests that need no driver: for every commit
#   scripts/test.sh ARGUMENTS   all checks, but of the tests what cargo test runs with these: scripts/test.sh --test devices tune::
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib.sh

step() {
  local name=$1 start=$SECONDS
  shift
  say "$name"
  "$@" || die "$name: failed after $((SECONDS - start)) s: $*"
  say "$name: $((SECONDS - start)) s"
}

# A machine that can't have the other system's standard library says so, and goes on.
windows() {
  local status=0
  scripts/windows.sh || status=$?
  [ "$status" -ne 77 ] || { say "skipped: lints for Windows (above is why)"; return; }
  return "$status"
}

# Builds unit tests, and other tests of these targets (Cargo.toml says why in two profiles).
build_tests() {
  local build=(cargo test --locked --no-run --message-format=json-render-diagnostics)
  messages=${CARGO_TARGET_DIR:-target}/tests.json
  "${build[@]}" --profile dev --lib >"$messages"
  "${build[@]}" "$@" >>"$messages"
}

# Where nothing is built a second time, keeping what that would need is in vain.
[ -z "${CI:-}" ] || export CARGO_INCREMENTAL=0
step "setting up" scripts/setup.sh --tests
use_rust
step "shaderc" scripts/shaderc.sh

# The fuzz targets are a package of their own.
format() { cargo fmt --check && cargo fmt --check --manifest-path fuzz/Cargo.toml; }
step "format" format
step "lints" cargo clippy --locked --all-targets -- -D warnings

if [ "${1:-}" = --quick ]; then
  [ $# -eq 1 ] || die "--quick stands alone"
  # A test that needs a driver after all fails.
  export VK_DRIVER_FILES=/no/driver.json VK_ICD_FILENAMES=/no/driver.json
  step "building tests" build_tests --test host
  say "tests that need no driver"
  exec scripts/run_tests.py <"$messages"
fi

environment=$(scripts/drivers.sh)
eval "$environment"
say "test drivers: $VK_DRIVER_FILES"
step "lints for Windows" windows
step "documentation" env RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps
# Last, and alone: what ends the output is the count of the tests.
if [ $# -gt 0 ]; then
  say "tests"
  exec cargo test --locked "$@"
fi
step "building tests" build_tests --examples --test '*'
say "tests"
exec scripts/run_tests.py --doc <"$messages"
