#!/usr/bin/env bash
# Makes FOLDER a state of apt of its own, which knows source packages: those of every suite that
# this machine takes packages from, and of each SUITE of the same archive that the archive has.
# With APT_CONFIG=FOLDER/apt.conf, `apt-get source` then finds them; the machine's own lists, cache
# and status are neither read nor touched. Needs no root.
#
#     tools/lib/apt_sources.sh FOLDER [SUITE...]
set -euo pipefail
# shellcheck source=tools/lib/apt_state.sh
source "$(dirname "$0")/apt_state.sh"
[ $# -gt 0 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2; }
mkdir -p "$1"
state=$(cd "$1" && pwd)
shift

# apt itself says which archives the machine's configuration names, in whichever form.
make_apt_state "$state"
apt-get update -q
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
signed=
[ ! -e $keyring ] || signed="[signed-by=$keyring] "
# shellcheck disable=SC1091
codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-stable}")
lines=() archive=
while read -r address suite component; do
    lines+=("deb-src ${signed}$address $suite $component")
    [ "$suite" != "$codename" ] || archive=$address
done < <(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' \
    'Created-By: Packages' 'Origin: Debian' | sort -u)
[ ${#lines[@]} -gt 0 ] || { printf 'apt names no archive of Debian\n' >&2; exit 1; }

printf '%s\n' "${lines[@]}" >"$state/sources.list"
make_apt_state "$state" "Dir::Etc::sourcelist \"$state/sources.list\";
Dir::Etc::sourceparts \"/dev/null\";"
apt-get update -q
# A suite that this archive does not have is left out.
for suite in "$@"; do
    [ -n "$archive" ] || break
    cp "$state/sources.list" "$state/sources.list.before"
    printf 'deb-src %s%s %s main\n' "$signed" "$archive" "$suite" >>"$state/sources.list"
    if ! apt-get update -q -o APT::Update::Error-Mode=any; then
        printf 'there is no suite %s\n' "$suite"
        mv "$state/sources.list.before" "$state/sources.list"
    fi
done
rm -f "$state/sources.list.before"
