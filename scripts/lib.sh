# Shared by the scripts beside it; meant to be sourced from the root of the checkout.
# shellcheck shell=bash

HOME=${HOME:-/root}
LANESCOPE_CACHE=${LANESCOPE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lanescope}
MINIMUM_RUST=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
CARGO_BIN=${CARGO_HOME:-$HOME/.cargo}/bin

say() { printf '==> %s\n' "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

has_command() { command -v "$1" >/dev/null 2>&1; }

package_manager() {
  local manager
  for manager in apt-get dnf pacman; do
    if has_command "$manager"; then echo "$manager"; return; fi
  done
  echo none
}

can_be_root() { [ "$(id -u)" -eq 0 ] || has_command sudo; }

# Runs a command as root: directly, or through sudo where we are somebody else.
as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi; }

# Keeps a command's many words to itself, unless it fails.
quietly() {
  local log status=0
  log=$(mktemp)
  "$@" >"$log" 2>&1 || status=$?
  [ "$status" -eq 0 ] || tail -n 40 "$log" >&2
  rm -f "$log"
  return "$status"
}

# Refreshes apt's lists once per script run: a bare machine has none, and an old list names packages that are gone.
refresh_lists() {
  [ -z "${LISTS_FRESH:-}" ] && [ "$(package_manager)" = apt-get ] && can_be_root || return 0
  say "refreshing apt's package lists"
  # One broken list of many need not be the one that counts: what is really missing fails by name, below.
  quietly as_root apt-get -qq update || say "apt-get update failed (above); going on with the lists that are there"
  LISTS_FRESH=1
}

install_packages() {
  local install
  [ $# -gt 0 ] || return 0
  case $(package_manager) in
    apt-get) install=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=300 --no-install-recommends install) ;;
    dnf) install=(dnf -q -y install) ;;
    pacman) install=(pacman -S --noconfirm --needed) ;;
    *) die "no apt-get, dnf or pacman here: install by hand what corresponds to: $*" ;;
  esac
  can_be_root || die "missing, and installing needs root or sudo: $*"
  refresh_lists
  say "installing: $*"
  quietly as_root "${install[@]}" "$@" || die "could not install: $*"
}

# The version of a package that apt would install; empty where there is none.
apt_candidate() { LC_ALL=C apt-cache policy "$1" | sed -n 's/^  Candidate: \([^(].*\)/\1/p'; }

# The suffix of the installed rustc package, by which its companions are named.
installed_rust_suffix() {
  dpkg-query -S "$(readlink -f "$(command -v rustc)")" 2>/dev/null | sed -n 's/^rustc\([^:]*\):.*/\1/p' | grep -x -- '.*'
}

# Whether the rustc and cargo that stand first in PATH are new enough.
rust_is_new_enough() {
  local tool version
  for tool in rustc cargo; do
    version=$("$tool" --version 2>/dev/null | cut -d' ' -f2) || return 1
    printf '%s\n' "$MINIMUM_RUST" "${version:-0}" | sort --check=quiet --version-sort || return 1
  done
}

# Puts a Rust that is new enough first in PATH, wherever it is, and leaves the user's own choice alone if it will do.
use_rust() {
  local path=$PATH folder
  rust_is_new_enough && return
  # rustup's usual folder, which a shell that was open during its installation lacks; Ubuntu's versioned packages.
  while read -r folder; do
    PATH=$folder:$path
    rust_is_new_enough && return
  done < <(echo "$CARGO_BIN"; compgen -G '/usr/lib/rust-*/bin' | sort --version-sort --reverse)
  PATH=$path:$CARGO_BIN
  if has_command rustup && rustup toolchain list 2>/dev/null | grep '^stable' >/dev/null; then
    export RUSTUP_TOOLCHAIN=stable
    rust_is_new_enough && return
    unset RUSTUP_TOOLCHAIN
  fi
  return 1
}

# Whether rustup provides the rustc that stands first in PATH.
rust_is_rustups() { [ "$(rustup which rustc 2>/dev/null)" -ef "$(rustc --print sysroot)/bin/rustc" ]; }

# Where the Vulkan loader looks for drivers when nobody tells it otherwise.
driver_folders() {
  local base
  for base in "${XDG_CONFIG_HOME:-$HOME/.config}" /etc/xdg /usr/local/etc /etc \
    "${XDG_DATA_HOME:-$HOME/.local/share}" /usr/local/share /usr/share; do
    echo "$base/vulkan/icd.d"
  done
}

# The driver files of the loader's folders whose names match a pattern, one a line; fails where there is none.
driver_files() {
  local folder found=1
  while read -r folder; do
    compgen -G "$folder/$1" && found=0
  done < <(driver_folders)
  return "$found"
}

# lavapipe's driver file: distributions name it with and without the architecture.
lavapipe_file() {
  { driver_files "lvp_icd.$(uname -m).json" || driver_files 'lvp_icd.json' || driver_files 'lvp_icd*.json'; } | head -n 1 | grep .
}

# ---- what people download -------------------------------------------------------------------------------------------------------

# The glibc that programs for download ask for: that of Debian 10, Ubuntu 20.04 has a newer one.
OLDEST_GLIBC=2.28

# The flags by which paths of this machine stay out of what rustc makes.
path_flags() { echo "--remap-path-prefix=$PWD=lanescope --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo"; }

# The folder of zig and cargo-zigbuild, as scripts/packaging/tools.txt pins them.
packaging_tools() {
  local folder
  folder=$LANESCOPE_CACHE/packaging-$(sha256sum scripts/packaging/tools.txt | cut -c1-8)
  if [ ! -e "$folder/whole" ]; then
    say "installing $(grep -v '^#' scripts/packaging/tools.txt | paste -s -d ' ') into $folder"
    rm -rf "$folder"
    quietly python3 -m venv "$folder" || die "python3 can't make a virtual environment (above): install python3-venv"
    quietly "$folder/bin/pip" install --disable-pip-version-check -r scripts/packaging/tools.txt || die "pip failed (above)"
    touch "$folder/whole"
  fi
  echo "$folder"
}

# The python by which cargo-zigbuild calls zig. The C++ libraries that zig compiles where it links note the folder in which it
# runs, and zig keeps them: so it links in one folder, and keeps them apart.
linking_python() {
  local tools file
  tools=$(packaging_tools)
  file=$tools/bin/linking-python
  cat >"$file" <<END
#!/bin/sh
case " \$* " in *" -c "*) ;; *) cd / && export ZIG_GLOBAL_CACHE_DIR="$tools/linked" ;; esac
exec "$tools/bin/python" "\$@"
END
  chmod +x "$file"
  echo "$file"
}

# The folder of cc, c++, ar and ranlib for an architecture's Linux.
zig_compilers() { # ARCHITECTURE
  local tools folder tool
  tools=$(packaging_tools)
  folder=$tools/$1-$OLDEST_GLIBC
  mkdir -p "$folder"
  for tool in cc c++; do
    printf '#!/bin/sh\nexec "%s" -m ziglang %s -target %s-linux-gnu.%s "$@"\n' "$tools/bin/python" "$tool" "$1" "$OLDEST_GLIBC" >"$folder/$tool"
  done
  for tool in ar ranlib; do
    printf '#!/bin/sh\nexec "%s" -m ziglang %s "$@"\n' "$tools/bin/python" "$tool" >"$folder/$tool"
  done
  chmod +x "$folder"/*
  echo "$folder"
}
