#!/usr/bin/env bash
# Installs what the tests need and this machine lacks, then checks format, lints (for Windows too), documentation and tests, on
# every Vulkan driver that scripts/drivers.sh provides. Arguments go to cargo test: scripts/test.sh --test cli
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

step "setting up" scripts/setup.sh --tests
use_rust
step "shaderc" scripts/shaderc.sh
environment=$(scripts/drivers.sh)
eval "$environment"
say "test drivers: $VK_DRIVER_FILES"

# Every file by name: cargo fmt doesn't see the modules that the registry of experiments declares.
mapfile -t sources < <(git ls-files '*.rs')
step "format" rustfmt --check "${sources[@]}"
step "lints" cargo clippy --locked --all-targets -- -D warnings
step "lints for Windows" windows
step "documentation" env RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps
say "tests"
# Last, and alone: what ends the output is cargo's own count.
exec cargo test --locked "$@"
