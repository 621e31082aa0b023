#!/usr/bin/env bash
# From a fresh clone to a first measurement: installs what is missing, builds, measures, and shows the table.
# Arguments go to lanescope run: scripts/quickstart.sh --device 1
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib.sh

scripts/setup.sh --run
use_rust
scripts/shaderc.sh
say "building lanescope"
cargo build --release --locked
lanescope=${CARGO_TARGET_DIR:-./target}/release/lanescope

# A driver file is no device: containers often carry a GPU's driver file without the libraries behind it.
devices=0
"$lanescope" devices >/dev/null 2>&1 || devices=$?
if [ "$devices" -eq 2 ] && [ -z "${VK_DRIVER_FILES:-${VK_ICD_FILENAMES:-}}" ] && ! lavapipe_file >/dev/null; then
  say "the Vulkan drivers of this machine find no device: adding lavapipe, which runs on the processor"
  scripts/setup.sh --lavapipe
fi

# On a terminal the command shows the table beside the file by itself.
table=()
[ -t 1 ] || table=(-o - --format table)
say "measuring the quick overview (about a minute): lanescope run --preset quick -o lanescope.csv"
status=0
"$lanescope" run --preset quick -o lanescope.csv ${table[@]+"${table[@]}"} "$@" || status=$?

[ ! -f lanescope.csv ] || say "the results, one row per configuration: $PWD/lanescope.csv"
say "next: $lanescope list                what can be measured
    $lanescope devices             what it can be measured on
    $lanescope run --help          how to choose, sweep and sharpen"
exit "$status"
