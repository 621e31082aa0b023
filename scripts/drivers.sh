#!/usr/bin/env bash
# Gets the Vulkan drivers that the tests run on, and prints the environment that names them:
#
#   eval "$(scripts/drivers.sh)" && cargo test
#
# lavapipe is the system's. SwiftShader comes out of Debian's chromium-common package, into the cache; nothing of
# Chromium is installed, and a later run needs no network. They are joined by the drivers that VK_DRIVER_FILES names, or
# else, on a machine with a GPU, by the GPU's own.
#
# The same package has the Khronos mock driver, which runs nothing: no test measures on it by accident, since only
# LANESCOPE_MOCK_ICD names its file.
#
# LANESCOPE_TEST_DRIVERS is the promise: a test fails where one of these is absent. Set it beforehand to narrow it
# (LANESCOPE_TEST_DRIVERS=lavapipe scripts/test.sh).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib.sh
# eval "$(...)" succeeds whatever happened in it; this way it does not.
trap 'status=$?; [ "$status" -eq 0 ] || echo false' EXIT

drivers=$LANESCOPE_CACHE/drivers
swiftshader=$drivers/swiftshader/vk_swiftshader_icd.json
mock=$drivers/mock/mock_icd.json

# Debian's package is whole; other distributions' packages of that name are stubs or absent.
package_is_to_be_had() {
  { [ -f "$swiftshader" ] && [ -f "$mock" ]; } || { [ "$(system_id)" = debian ] && [ "$(uname -m)" = x86_64 ]; }
}

system_id() { sed -n 's/^ID="\{0,1\}\([a-z]*\)"\{0,1\}$/\1/p' /etc/os-release 2>/dev/null; }

default_drivers() {
  if package_is_to_be_had; then
    echo lavapipe,swiftshader,mock
  else
    say "test drivers: lavapipe alone; SwiftShader and the mock driver are packaged for Debian on x86-64 only"
    echo lavapipe
  fi
}

# SwiftShader and the mock driver, each into a folder of its own.
fetch_package() {
  local work package advice='to test without its drivers, set LANESCOPE_TEST_DRIVERS=lavapipe'
  say "fetching SwiftShader and the mock driver (a package of 30 MB) into $drivers"
  has_command apt-get || die "they are fetched with Debian's apt-get, which is not here; $advice"
  mkdir -p "$drivers"
  work=$(mktemp -d "$drivers/fetching.XXXXXX")
  # shellcheck disable=SC2064 # the folder of now is meant
  trap "status=\$?; rm -rf '$work'; [ \$status -eq 0 ] || echo false" EXIT
  (cd "$work" && { download 2>/dev/null || { refresh_lists && quietly download; }; }) \
    || die "could not fetch the package chromium-common; $advice"
  package=$(echo "$work"/chromium-common_*.deb)
  mkdir "$work/out"
  dpkg-deb --fsys-tarfile "$package" | tar -x -C "$work/out" --strip-components=4 --wildcards \
    ./usr/lib/chromium/libvk_swiftshader.so ./usr/lib/chromium/vk_swiftshader_icd.json ./usr/lib/chromium/libVkICD_mock_icd.so \
    || die "$(basename "$package") lacks SwiftShader or the mock driver; $advice"
  mkdir "$work/mock"
  mv "$work/out/libVkICD_mock_icd.so" "$work/mock"
  # The package has no file for the loader.
  printf '{"file_format_version": "1.0.0", "ICD": {"library_path": "./libVkICD_mock_icd.so", "api_version": "1.3.0"}}\n' \
    >"$work/mock/${mock##*/}"
  place "$work/out" "$swiftshader"
  place "$work/mock" "$mock"
}

# Renamed when whole, and kept if it was there before, or another run was faster.
place() { mv -T "$1" "${2%/*}" 2>/dev/null || [ -f "$2" ]; }

# As the user himself: apt's own download user may not write here.
download() { apt-get -q -o APT::Sandbox::User="$(id -un)" download chromium-common >&2; }

# What is tested on beside the promised drivers: the caller's own choice, or else a GPU's drivers, on a machine with a GPU
# (without one they only slow the loader down).
other_files() {
  local chosen=${VK_DRIVER_FILES:-${VK_ICD_FILENAMES:-}}
  if [ -n "$chosen" ]; then
    tr : '\n' <<<"$chosen"
  elif compgen -G '/dev/dri/renderD*' >/dev/null || compgen -G '/dev/nvidia[0-9]*' >/dev/null; then
    driver_files '*.json' || true
  fi
}

promised=${LANESCOPE_TEST_DRIVERS:-$(default_drivers)}
files=()
for driver in ${promised//,/ }; do
  case $driver in
    lavapipe)
      files+=("$(lavapipe_file)") || die "lavapipe is not installed: scripts/setup.sh --tests installs it" ;;
    swiftshader)
      [ -f "$swiftshader" ] || fetch_package
      files+=("$swiftshader") ;;
    mock)
      [ -f "$mock" ] || fetch_package
      printf 'export LANESCOPE_MOCK_ICD=%q\n' "$mock" ;;
    *) die "LANESCOPE_TEST_DRIVERS names $driver: known are lavapipe, swiftshader and mock" ;;
  esac
done
joined=$({ printf '%s\n' "${files[@]}"; other_files; } | awk '!seen[$0]++' | paste -s -d :)
# Loaders before 1.3.207 know only the second name.
printf 'export VK_DRIVER_FILES=%q\nexport VK_ICD_FILENAMES=%q\nexport LANESCOPE_TEST_DRIVERS=%q\n' "$joined" "$joined" "$promised"
