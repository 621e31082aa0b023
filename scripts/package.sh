#!/usr/bin/env bash
# Makes what people download, into target/packages: archives, a .deb for each Linux, a list of all licences, and checksums.
#
#   scripts/package.sh                  for x86_64-unknown-linux-gnu
#   scripts/package.sh TARGET...        for these: x86_64-unknown-linux-gnu, aarch64-unknown-linux-gnu, x86_64-pc-windows-gnu
#
# Linux' programs ask for glibc 2.28 and nothing else: zig links them, with its own C++ library inside. The same commit gives the
# same bytes in any folder, by the same Rust and with the same CARGO_HOME and LANESCOPE_CACHE. On Debian and Ubuntu, this installs
# what it needs. The first run takes about 40 minutes on two cores: it builds shaderc for each target, and what lists the licences.
# What it makes for Windows was tried under Wine.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib.sh

targets=("$@")
[ $# -gt 0 ] || targets=(x86_64-unknown-linux-gnu)
for target in "${targets[@]}"; do
  case $target in
    x86_64-unknown-linux-gnu | aarch64-unknown-linux-gnu | x86_64-pc-windows-gnu) ;;
    *) die "unknown target $target: the first lines of $0 name them" ;;
  esac
done

version=$(sed -n '0,/^version = /s/^version = "\(.*\)"$/\1/p' Cargo.toml)
# The commit's time: what is packed has no other, nor what a compiler notes.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)} || die "no commit here: set SOURCE_DATE_EPOCH"
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC
umask 022
packages=$PWD/target/packages

# need COMMAND PACKAGE: the package of apt that has the command.
missing=()
need() { has_command "$1" || missing+=("$2"); }

# ---- licences -----------------------------------------------------------------------------------------------------------------

ABOUT=0.9.3

# All crates and the C++ code in them, each with its licence; one that scripts/packaging/about.toml doesn't allow is an error.
list_licences() {
  local tools=$LANESCOPE_CACHE/cargo-about-$ABOUT
  if [ ! -x "$tools/bin/cargo-about" ]; then
    say "building cargo-about $ABOUT, which lists licences"
    quietly cargo install --quiet --locked --version "$ABOUT" --features cli --root "$tools" cargo-about || die "cargo-about did not build (above)"
  fi
  # It would look elsewhere for a licence that a crate lacks, and find another one on another day.
  quietly cargo fetch --locked || die "the crates can't be fetched (above)"
  "$tools/bin/cargo-about" generate --locked --offline --workspace --fail --config scripts/packaging/about.toml --output-file "$licences" \
    scripts/packaging/about.hbs || die "a licence isn't allowed, or isn't known (above): see scripts/packaging/about.toml"
}

# These, and whole those of what the compilers of a target add.
licences_of() { # TARGET
  local file files=()
  case $1 in
    *-linux-gnu) files=("$(packaging_tools)"/lib/python3*/site-packages/ziglang/lib/{libcxx,libcxxabi,libunwind}/LICENSE.TXT) ;;
    *-windows-gnu) files=(/usr/share/doc/{gcc-mingw-w64-base,mingw-w64-x86-64-dev}/copyright) ;;
  esac
  cat "$licences"
  for file in "${files[@]}"; do
    [ -s "$file" ] || die "no licence in $file"
    printf '## %s\n\n```text\n%s\n```\n\n' "$(basename "$(dirname "$file")")" "$(cat "$file")"
  done
}

# ---- programs of Linux --------------------------------------------------------------------------------------------------------

# The standard library of another processor's Linux, from where this Rust comes.
get_library() { # TARGET
  local suffix
  [ ! -d "$(rustc --print sysroot)/lib/rustlib/$1/lib" ] || return 0
  if rust_is_rustups; then
    say "installing: Rust's standard library for $1, through rustup"
    rustup target add "$1" >&2
    return
  fi
  suffix=$(installed_rust_suffix) || die "no standard library for $1: install it where your Rust comes from"
  as_root dpkg --add-architecture "$(debian_architecture "$1")"
  LISTS_FRESH=
  install_packages "libstd-rust$suffix-dev:$(debian_architecture "$1")"
}

debian_architecture() { case $1 in x86_64-*) echo amd64 ;; aarch64-*) echo arm64 ;; esac; }

# What a program or library of Linux needs: its libraries, then the newest glibc whose symbols it uses.
needed() { "$objcopy_prefix"objdump -p "$1" | sed -n 's/^ *NEEDED *//p' | sort | paste -s -d ' '; }
newest_glibc() { "$objcopy_prefix"objdump -T "$1" | sed -n 's/.*(\?GLIBC_\([0-9.]*\).*/\1/p' | sort --version-sort | tail -n 1; }

build_linux() { # TARGET
  local target=$1 tools python shaderc built file library newest
  get_library "$target"
  tools=$(packaging_tools)
  python=$(linking_python)
  shaderc=$(scripts/shaderc.sh --target "$target")
  RUSTFLAGS="$(path_flags) -Clink-arg=-Wl,--build-id=sha1" PATH=$tools/bin:$PATH CARGO_ZIGBUILD_PYTHON_PATH=$python \
    cargo zigbuild --locked --profile dist --target "$target.$OLDEST_GLIBC" --target-dir target/dist \
    --package lanescope --package lanescope-layer \
    --config "target.$target.shaderc.rustc-link-search=['$shaderc']" \
    --config "target.$target.shaderc.rustc-link-lib=['static=shaderc_combined']" \
    --config "target.$target.cplusplus.rustc-link-lib=['c++']" >&2
  built=target/dist/$target/dist
  for file in "$built/lanescope" "$built/liblanescope_layer.so"; do
    for library in $(needed "$file"); do
      case $library in
        libc.so.6 | libm.so.6 | libdl.so.2 | libpthread.so.0 | librt.so.1 | ld-linux-*.so.*) ;;
        *) die "$file needs $library, which not every Linux has" ;;
      esac
    done
    newest=$(newest_glibc "$file")
    printf '%s\n' "$newest" "$OLDEST_GLIBC" | sort --check=quiet --version-sort || die "$file needs glibc $newest: $OLDEST_GLIBC was asked for"
  done
}

# Whether the C library of another processor is installed as if it were this machine's own, rather than for building.
has_libc() { compgen -G "/lib/ld-linux-${1%%-*}.so.*" >/dev/null; }

# Runs the program that was built, by qemu where it is another processor's.
built_lanescope() { # TARGET ARGUMENTS
  local program=target/dist/$1/dist/lanescope run=()
  if [ "${1%%-*}" != "$(uname -m)" ]; then
    run=("qemu-${1%%-*}-static")
    # Not beside the other one: a loader of one and a library of the other wait for each other forever.
    has_libc "$1" || run+=(-L "/usr/${1%%-*}-linux-gnu")
  fi
  ${run[@]+"${run[@]}"} "$program" "${@:2}"
}

# Puts a file without what debuggers read where users get it, and that beside it where only debuggers look.
split_off() { # BUILT TREE DEBUG PATH
  install -D -m "$5" "$1" "$2/$4"
  mkdir -p "$(dirname "$3/$4")"
  "$objcopy_prefix"objcopy --only-keep-debug --compress-debug-sections=zlib "$1" "$3/$4.debug"
  chmod 644 "$3/$4.debug"
  "$objcopy_prefix"strip --strip-unneeded --remove-section=.comment "$2/$4"
  "$objcopy_prefix"objcopy --add-gnu-debuglink="$3/$4.debug" "$2/$4"
}

# The folders below /usr of one target, and what debuggers read of it.
tree_of_linux() { # TARGET TREE DEBUG
  local target=$1 tree=$2 debug=$3 built=target/dist/$1/dist page section
  split_off "$built/lanescope" "$tree" "$debug" bin/lanescope 755
  split_off "$built/liblanescope_layer.so" "$tree" "$debug" lib/lanescope/liblanescope_layer.so 644
  mkdir -p "$tree/share/bash-completion/completions" "$tree/share/zsh/vendor-completions" "$tree/share/fish/vendor_completions.d" "$tree/share/man"
  built_lanescope "$target" completions bash >"$tree/share/bash-completion/completions/lanescope"
  built_lanescope "$target" completions zsh >"$tree/share/zsh/vendor-completions/_lanescope"
  built_lanescope "$target" completions fish >"$tree/share/fish/vendor_completions.d/lanescope.fish"
  mkdir "$work/man"
  built_lanescope "$target" man "$work/man"
  for page in "$work/man"/*; do
    section=$tree/share/man/man${page##*.}
    install -D -m 644 -t "$section" "$page"
    gzip -9n "$section/$(basename "$page")"
  done
  rm -r "$work/man"
  documents "$tree/share/doc/lanescope" "$target"
}

documents() { # FOLDER TARGET
  mkdir -p "$1/guide"
  cp README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$1"
  licences_of "$2" >"$1/LICENSES-third-party.md"
  cp src/guide/*.md "$1/guide"
}

# ---- what is made of them -----------------------------------------------------------------------------------------------------

same_time() { find "$1" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +; }

archive() { # PARENT FOLDER NAME: a .tar.xz of that name, in which the folder is
  local file=$packages/$3.tar.xz
  same_time "$1/$2"
  tar -C "$1" --sort=name --format=gnu --owner=0 --group=0 --numeric-owner -cf - "$2" | xz -9 --threads=1 >"$file"
  say_size "$file"
}

say_size() { say "$1: $(($(stat -c %s "$1") / 1000)) kB"; }

# Debian's policy has documents, their names and their compression its own way.
deb() { # TARGET TREE
  local architecture root=$work/deb document file
  architecture=$(debian_architecture "$1")
  mkdir -p "$root/DEBIAN"
  cp -r "$2" "$root/usr"
  document=$root/usr/share/doc/lanescope
  rm "$document"/LICENSE-*
  gzip -9n "$document/LICENSES-third-party.md"
  gzip -9n <"$document/CHANGELOG.md" >"$document/changelog.gz"
  rm "$document/CHANGELOG.md"
  { cat scripts/packaging/copyright; sed 's/^$/./; s/^/ /' LICENSE-MIT; } >"$document/copyright"
  gzip -9n >"$document/changelog.Debian.gz" <<END
lanescope ($version-1) stable; urgency=medium

  * See changelog.gz.

 -- $MAINTAINER  $(date --rfc-email --date="@$SOURCE_DATE_EPOCH")
END
  cat >"$root/DEBIAN/control" <<END
Package: lanescope
Version: $version-1
Architecture: $architecture
Maintainer: $MAINTAINER
Installed-Size: $(du -k --apparent-size --summarize "$root/usr" | cut -f1)
Depends: libc6 (>= $OLDEST_GLIBC), libvulkan1
Recommends: mesa-vulkan-drivers | vulkan-icd
Section: utils
Priority: optional
$(cat scripts/packaging/description)
END
  (cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
  same_time "$root"
  file=$packages/lanescope_$version-1_$architecture.deb
  dpkg-deb --root-owner-group --threads-max=1 -Zxz --build "$root" "$file" >/dev/null
  say_size "$file"
}

# Who answers for the package: whoever makes it for others says so.
MAINTAINER=${LANESCOPE_MAINTAINER:-Lanescope developers <lanescope@example.org>}

package_linux() { # TARGET
  local name=lanescope-$version-$1
  objcopy_prefix=
  [ "${1%%-*}" = "$(uname -m)" ] || objcopy_prefix=${1%%-*}-linux-gnu-
  build_linux "$1"
  # Both archives have the same folder: the one is unpacked over the other.
  tree_of_linux "$1" "$work/tree/$name" "$work/debug/$name"
  deb "$1" "$work/tree/$name"
  archive "$work/tree" "$name" "$name"
  archive "$work/debug" "$name" "$name-debug"
}

package_windows() { # TARGET
  local name=lanescope-$version-$1
  scripts/windows.sh --build
  mkdir -p "$work/$name/scripts"
  cp "target/windows/$1/dist/lanescope.exe" "$work/$name"
  cp scripts/quickstart.ps1 "$work/$name/scripts"
  documents "$work/$name" "$1"
  same_time "$work/$name"
  rm -f "$packages/$name.zip"
  (cd "$work" && find "$name" -print | sort | zip -q -9 -X -@ "$packages/$name.zip")
  say_size "$packages/$name.zip"
}

# -------------------------------------------------------------------------------------------------------------------------------

scripts/setup.sh
use_rust
need xz xz-utils
need dpkg-deb dpkg
need objcopy binutils
need zip zip
python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
for target in "${targets[@]}"; do
  if [[ $target != *-linux-gnu || $target = "$(uname -m)"-* ]]; then continue; fi
  need "${target%%-*}-linux-gnu-objcopy" "binutils-${target%%-*}-linux-gnu"
  need "qemu-${target%%-*}-static" qemu-user-static
  has_libc "$target" || [ -e "/usr/${target%%-*}-linux-gnu/lib/libc.so.6" ] || missing+=("libc6-$(debian_architecture "$target")-cross")
done
install_packages ${missing[@]+"${missing[@]}"}

mkdir -p "$packages"
work=$(mktemp -d)
licences=$(mktemp)
trap 'rm -rf "$work" "$licences"' EXIT
list_licences
for target in "${targets[@]}"; do
  case $target in
    *-linux-gnu) package_linux "$target" ;;
    *-windows-gnu) package_windows "$target" ;;
  esac
  rm -rf "${work:?}"/*
done
(cd "$packages" && rm -f SHA256SUMS && sha256sum -- lanescope* >"$work/SHA256SUMS" && cp "$work/SHA256SUMS" .)
say "checksums: $packages/SHA256SUMS"
