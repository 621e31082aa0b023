#!/usr/bin/env bash
# Runs real programs on lavapipe, alone and under `lanescope capture`, and checks that each dispatch is seen and nothing
# changes. tests/clients/clients.csv lists them and their Python packages, which go into a folder below target/.
#
#   scripts/clients.sh            computeml (twice), wgpu and ncnn, whose packages are small
#   scripts/clients.sh NAME...    these
#   scripts/clients.sh --all      all, with some 700 MB of packages
#
# LANESCOPE names a binary to use as it is; without it the debug build is made and used.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib.sh

table=tests/clients/clients.csv
# packages_of CLIENT: what pip calls them.
packages_of() { awk -F, -v client="$1" '$1 == client { print $2 }' "$table"; }

flags=()
case ${1:-} in
  '') clients=(computeml computeml_again wgpu ncnn) ;;
  --all) flags=(--all); mapfile -t clients < <(tail -n +2 "$table" | cut -d, -f1) ;;
  *) clients=("$@") ;;
esac

# computeml is needed by the client with planted mistakes.
packages=(numpy==2.4.6 "$(packages_of computeml)")
for client in "${clients[@]}"; do
  read -r -a more < <(packages_of "$client") || die "there is no client $client in $table"
  packages+=("${more[@]}")
done

scripts/setup.sh --tests
target=${CARGO_TARGET_DIR:-./target}
if [ -z "${LANESCOPE:-}" ]; then
  use_rust
  scripts/shaderc.sh
  say "building lanescope and its layer"
  cargo build --locked
  LANESCOPE=$target/debug/lanescope
fi
[ -x "$LANESCOPE" ] || die "there is no program $LANESCOPE"
driver=$(lavapipe_file) || die "lavapipe is not installed"

environment=$target/clients/venv
python=$environment/bin/python
if ! "$python" -m pip --version >/dev/null 2>&1; then
  # Debian has this module in a package of its own.
  python3 -c 'import ensurepip' 2>/dev/null || [ "$(package_manager)" != apt-get ] || install_packages python3-venv
  quietly python3 -m venv --clear "$environment" || die "can't make $environment"
fi
mapfile -t packages < <(printf '%s\n' "${packages[@]}" | sort -u)
say "installing into $environment: ${packages[*]}"
quietly "$python" -m pip install --disable-pip-version-check "${packages[@]}" || die "could not install: ${packages[*]}"

exec python3 tests/clients/check.py "$LANESCOPE" "$python" "$driver" "${flags[@]}" "${clients[@]}"
