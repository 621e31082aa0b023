# Shared by the scripts beside it; meant to be sourced.
# shellcheck shell=bash

LANESCOPE_CACHE=${LANESCOPE_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/lanescope}
export PATH="$PATH:${CARGO_HOME:-${HOME:-/root}/.cargo}/bin"

say() { printf '==> %s\n' "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# Runs a command as root: directly, or through sudo where we are somebody else.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else die "this needs root, and there is no sudo: run as root: $*"
  fi
}

package_manager() {
  local manager
  for manager in apt-get dnf pacman; do
    if command -v "$manager" >/dev/null; then echo "$manager"; return; fi
  done
  echo none
}

# Whether a package is installed, by the package manager's own word.
installed() {
  case $(package_manager) in
    apt-get) dpkg-query -W -f='${Status}' "$1" 2>/dev/null | grep -q 'install ok installed' ;;
    dnf) rpm -q "$1" >/dev/null 2>&1 ;;
    pacman) pacman -Q "$1" >/dev/null 2>&1 ;;
    *) false ;;
  esac
}

# Refreshes apt's lists once per script run: a bare machine has none, and an old list names packages that are gone.
refresh_lists() {
  [ -z "${LISTS_FRESH:-}" ] || return 0
  [ "$(package_manager)" != apt-get ] || as_root apt-get -q update >&2
  LISTS_FRESH=1
}

# Installs those of the packages that are not installed yet, and says which.
install_packages() {
  local missing=() package
  for package; do installed "$package" || missing+=("$package"); done
  [ ${#missing[@]} -gt 0 ] || return 0
  say "installing: ${missing[*]}"
  case $(package_manager) in
    apt-get)
      refresh_lists
      as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install "${missing[@]}" >&2 ;;
    dnf) as_root dnf -q -y install "${missing[@]}" >&2 ;;
    pacman) as_root pacman -S --noconfirm --needed "${missing[@]}" >&2 ;;
    *) die "no apt-get, dnf or pacman here: install by hand what corresponds to: ${missing[*]}" ;;
  esac
}
