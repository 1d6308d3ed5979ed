# Shared by the scripts in tools/: where things are, how progress is shown, what must be installed.
# Sourced by bash scripts that have set -euo pipefail; defines functions and these variables only:
#   root    the top of the repository, also the working directory
#   logs    where each step leaves its output
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
logs=build/logs
mkdir -p "$logs"
# Nothing here may wait for an answer.
exec </dev/null
export DEBIAN_FRONTEND=noninteractive

if [ -t 1 ] && [ "${CI:-}" != true ] && [ -z "${NO_COLOR:-}" ]; then
    green=$'\e[32m' red=$'\e[31m' yellow=$'\e[33m' bold=$'\e[1m' plain=$'\e[0m'
else
    green='' red='' yellow='' bold='' plain=''
fi

jobs=$(nproc 2>/dev/null || echo 2)

die() {
    printf '%s%s%s\n' "$red" "$*" "$plain" >&2
    exit 1
}

duration() {  # SECONDS -> "12 s" or "3 min 05 s"
    if [ "$1" -lt 60 ]; then
        printf '%d s' "$1"
    else
        printf '%d min %02d s' $(($1 / 60)) $(($1 % 60))
    fi
}

# quiet_step NAME COMMAND...: one line with the time; the output goes to build/logs/NAME.log, whose
# last 40 lines are shown when the command fails. Answers the command's status and leaves the log's
# name in $log.
quiet_step() {
    local name=$1 start=$SECONDS status=0
    shift
    log="$logs/$(printf '%s' "$name" | tr -c 'A-Za-z0-9_.\n-' '_').log"
    printf '%-46s ' "$name"
    { printf '$ %s\n' "$*"; "$@"; } >"$log" 2>&1 || status=$?
    if [ $status -eq 0 ]; then
        printf '%sok%s      %s\n' "$green" "$plain" "$(duration $((SECONDS - start)))"
    else
        printf '%sfailed%s  %s (status %d)\n' "$red" "$plain" "$(duration $((SECONDS - start)))" $status
        show_log
    fi
    return $status
}

show_log() {
    printf '  last lines of %s:\n' "$log"
    tail -n 40 "$log" | sed 's/^/  | /'
}

# What the build needs, as Debian 12 packages.
build_packages=(g++ cmake ninja-build ccache git python3 erlang-base
    libasmjit-dev libunwind-dev libgmp-dev zlib1g-dev libpcre2-dev libedit-dev libspdlog-dev
    libfmt-dev libcli11-dev catch2)

# What tools/check uses on top: all of OTP and Elixir as real input, native libraries and what they are
# compiled against, another reader of recordings, the cross build.
check_packages=(erlang erlang-dev erlang-jiffy elixir babeltrace2
    g++-aarch64-linux-gnu qemu-user)

# What single tests use; without it they count as skipped (tests/skip.list).
optional_packages=(gdb)

installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# need PACKAGE...: installs those that are missing, and only those.
need() {
    local missing=() package
    for package in "$@"; do
        installed "$package" || missing+=("$package")
    done
    if [ ${#missing[@]} -eq 0 ]; then
        return 0
    fi
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null || ! sudo -n true 2>/dev/null; then
            die "These packages are missing and need root to install:
  apt-get install --no-install-recommends ${missing[*]}
Run that as root (or give this user a password-less sudo), then run this command again."
        fi
        as_root=(sudo -n --preserve-env=DEBIAN_FRONTEND)
    fi
    command -v apt-get >/dev/null ||
        die "There is no apt-get here. Install what these Debian packages hold: ${missing[*]}"
    printf 'to install: %s\n' "${missing[*]}"
    quiet_step "apt-get update" "${as_root[@]}" apt-get update -q || return 1
    quiet_step "apt-get install" "${as_root[@]}" apt-get install -q -y --no-install-recommends \
        "${missing[@]}"
}

# configure_and_build PRESET [TARGET...]
configure_and_build() {
    local preset=$1
    shift
    cmake --preset "$preset" &&
        cmake --build --preset "$preset" --parallel "$jobs" ${1:+--target "$@"}
}
