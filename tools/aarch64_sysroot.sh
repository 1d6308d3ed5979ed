#!/usr/bin/env bash
# Unpacks the libraries of the aarch64 build out of Debian's arm64 packages into
# build/aarch64-sysroot. The machine itself is not touched: apt works on lists, cache and a status
# file of its own, with the package sources this machine already has. Needs no root.
#
#     tools/aarch64_sysroot.sh [--force]
set -euo pipefail
# shellcheck source=tools/lib/common.sh
source "$(dirname "$0")/lib/common.sh"
# shellcheck source=tools/lib/apt_state.sh
source "$root/tools/lib/apt_state.sh"

# Static libraries and headers only: programs are linked statically, so no shared library is needed
# to run them. libc, libstdc++ and libgcc come with the cross compiler.
packages=(libasmjit-dev libgmp-dev zlib1g-dev libunwind-dev liblzma-dev libpcre2-dev libedit-dev
    libncurses-dev libbsd-dev libmd-dev libfmt-dev libspdlog-dev libcli11-dev catch2)

sysroot=$root/build/aarch64-sysroot
stamp=$sysroot/.packages
[ "${1:-}" = --force ] && rm -f "$stamp"
if [ "$(cat "$stamp" 2>/dev/null || true)" = "${packages[*]}" ]; then
    printf 'build/aarch64-sysroot is complete\n'
    exit 0
fi
command -v apt-get >/dev/null || die "apt-get is needed to fetch arm64 packages"

state=$root/build/aarch64-apt
rm -rf "$sysroot" "$state"
mkdir -p "$sysroot"
make_apt_state "$state" 'APT::Architecture "arm64";
APT::Architectures { "arm64"; };'

apt-get update -q
(cd "$state/archives" && apt-get download -q "${packages[@]}")
for package in "$state"/archives/*.deb; do
    dpkg-deb -x "$package" "$sysroot"
done

# A link to a shared library that is not unpacked would only mislead the linker, as would one to an
# absolute place outside of the sysroot.
find "$sysroot" -xtype l -delete
printf '%s' "${packages[*]}" >"$stamp"
rm -rf "$state"
printf 'unpacked %d packages into build/aarch64-sysroot\n' "${#packages[@]}"
