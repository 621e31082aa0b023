#!/usr/bin/env bash
# Runs the snippets of src/guide/plotting.md for pandas, DuckDB and gnuplot, and scripts/plot.py, over the rows of tests/data, and checks what they draw.
# Installs what is missing: gnuplot from the system, and Python's packages in a folder of their own beside other caches.
#
#   scripts/plotting.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib.sh

[ $# -eq 0 ] || die "scripts/plotting.sh takes no arguments"

modules_import() { "$1" -c 'import duckdb, matplotlib, pandas'; }

has_command python3 || install_packages python3
has_command gnuplot || case $(package_manager) in
  apt-get) install_packages gnuplot-nox ;;
  *) install_packages gnuplot ;;
esac

python=python3
if ! modules_import "$python" 2>/dev/null; then
  environment=$LANESCOPE_CACHE/plotting
  python=$environment/bin/python
  if ! modules_import "$python" 2>/dev/null; then
    say "installing pandas, matplotlib and duckdb into $environment"
    # Debian has this module in a package of its own.
    python3 -c 'import ensurepip' 2>/dev/null || [ "$(package_manager)" != apt-get ] || install_packages python3-venv
    quietly python3 -m venv --clear "$environment" || die "can't make $environment"
    quietly "$python" -m pip install duckdb matplotlib pandas || die "could not install duckdb, matplotlib and pandas"
    modules_import "$python"
  fi
fi

exec "$python" scripts/check_plotting.py
