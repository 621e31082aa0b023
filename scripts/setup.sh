#!/usr/bin/env bash
# Installs what a build of Lanescope needs and this machine lacks, with the system's own package manager:
# Rust, a C++ toolchain for shaderc, and the Vulkan loader. What is there already, from wherever, is left alone.
#
#   scripts/setup.sh            what a build needs
#   scripts/setup.sh --run      and a Vulkan driver where the machine has none: lavapipe, which runs on the processor
#   scripts/setup.sh --lavapipe and lavapipe in any case
#   scripts/setup.sh --tests    and lavapipe, and the other things that scripts/test.sh needs
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib.sh

purpose=${1:---build}
case $purpose in --build | --run | --lavapipe | --tests) ;; *) die "unknown option $purpose: --run, --lavapipe or --tests" ;; esac

packages=() # missing ones, in this system's names
probes=()   # that must hold once they are installed

# need PROBE APT DNF PACMAN: the package's name with each package manager, wanted where the probe fails.
need() {
  local package
  # shellcheck disable=SC2086 # a probe is a command with its arguments
  if $1 >/dev/null 2>&1; then return; fi
  case $(package_manager) in dnf) package=$3 ;; pacman) package=$4 ;; *) package=$2 ;; esac
  packages+=("$package")
  probes+=("$1")
}

has_certificates() { [ -e /etc/ssl/certs/ca-certificates.crt ] || [ -e /etc/pki/tls/certs/ca-bundle.crt ]; }
# ldconfig is not in an ordinary user's PATH on Debian.
has_loader() { PATH=$PATH:/sbin:/usr/sbin ldconfig -p | grep 'libvulkan\.so\.1'; }
has_driver() { [ -n "${VK_DRIVER_FILES:-${VK_ICD_FILENAMES:-}}" ] || driver_files '*.json'; }
has_validation() { [ -n "${VK_LAYER_PATH:-}" ] || compgen -G '/usr/*share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json' \
  || compgen -G '/usr/local/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json'; }

has_browser() { has_command chromium || has_command chromium-browser || has_command google-chrome || has_command chrome; }

build_packages() {
  need 'has_command cc' gcc gcc gcc
  need 'has_command c++' g++ gcc-c++ gcc
  need 'has_command cmake' cmake cmake cmake
  need 'has_command ninja' ninja-build ninja-build ninja
  need 'has_command git' git git-core git
  need 'has_command python3' python3 python3 python
  need has_certificates ca-certificates ca-certificates ca-certificates
  need has_loader libvulkan1 vulkan-loader vulkan-icd-loader
}

test_packages() {
  need lavapipe_file mesa-vulkan-drivers mesa-vulkan-drivers vulkan-swrast
  need has_validation vulkan-validationlayers vulkan-validation-layers vulkan-validation-layers
  need 'has_command spirv-val' spirv-tools spirv-tools spirv-tools
  need 'has_command spirv-cross' spirv-cross spirv-cross spirv-cross
  # Ubuntu has it as a snap alone, which no container takes: tests of pages in a browser say there that they are skipped.
  if ! has_browser && [ "$(package_manager)" = apt-get ]; then refresh_lists; fi
  if [ "$(package_manager)" != apt-get ] || [ -n "$(apt_candidate chromium)" ]; then
    need has_browser chromium chromium chromium
  fi
}

# The suffix of apt's Rust packages that are new enough: none (rustc, cargo), -web (Debian's stable releases build their
# browsers with these), or a version (rustc-1.85 and the like, in Ubuntu's releases).
apt_rust_suffix() {
  local suffix
  while read -r suffix; do
    if dpkg --compare-versions "$(apt_candidate "rustc$suffix")" ge "$MINIMUM_RUST" && [ -n "$(apt_candidate "cargo$suffix")" ]; then
      echo "$suffix"
      return
    fi
  done < <(printf '%s\n' '' -web; apt-cache pkgnames rustc- | sed -n 's/^rustc\(-[0-9.]*\)$/\1/p' | sort --version-sort --reverse)
  return 1
}

rust_packages() {
  local suffix
  use_rust && return
  if has_command rustup; then return; fi # it gets its own, below
  case $(package_manager) in
    apt-get)
      refresh_lists
      if suffix=$(apt_rust_suffix); then
        packages+=("rustc$suffix" "cargo$suffix")
        [ "$purpose" != --tests ] || packages+=("rustfmt$suffix" "rust$suffix-clippy")
      elif apt-cache show rustup >/dev/null 2>&1; then
        packages+=(rustup)
      fi ;;
    dnf) packages+=(rust cargo) ;;
    pacman) packages+=(rust) ;;
    *) packages+=("rust $MINIMUM_RUST or newer") ;;
  esac
}

rust_by_rustup() {
  if use_rust || ! has_command rustup; then return; fi
  say "installing: Rust's stable toolchain, through rustup (your default toolchain stays as it is)"
  rustup toolchain install stable --profile minimal >&2
}

lint_tools() {
  if cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1; then return; fi
  if has_command rustup && rustup which rustc >/dev/null 2>&1; then
    say "installing: rustfmt and clippy, through rustup"
    rustup component add rustfmt clippy >&2
    return
  fi
  local suffix
  case $(package_manager) in
    apt-get)
      suffix=$(installed_rust_suffix) || die "cargo fmt and cargo clippy are missing: install them where your Rust comes from"
      install_packages "rustfmt$suffix" "rust$suffix-clippy" ;;
    dnf) install_packages rustfmt clippy ;;
    *) die "cargo fmt and cargo clippy are missing: install them where your Rust comes from" ;;
  esac
}

build_packages
case $purpose in
  --run) need has_driver mesa-vulkan-drivers mesa-vulkan-drivers vulkan-swrast ;;
  --lavapipe) need lavapipe_file mesa-vulkan-drivers mesa-vulkan-drivers vulkan-swrast ;;
  --tests) test_packages ;;
esac
rust_packages
install_packages ${packages[@]+"${packages[@]}"}
for probe in ${probes[@]+"${probes[@]}"}; do
  $probe >/dev/null 2>&1 || die "installed, but this still fails: $probe"
done

rust_by_rustup
use_rust || die "Rust $MINIMUM_RUST or newer is needed; here is $(rustc --version 2>/dev/null || echo none), and the system's packages offer nothing newer.
  Install it with rustup (see rust-lang.org, \"Install\"), open a new terminal, and run this again."
[ "$purpose" != --tests ] || lint_tools
