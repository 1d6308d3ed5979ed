# shellcheck shell=bash
# A state of apt of one's own: the machine's lists, cache and status are neither read nor touched. No root.
#
#     source tools/lib/apt_state.sh
#     make_apt_state FOLDER [LINES OF CONFIGURATION]
#
# makes it, FOLDER being an absolute path, and sets APT_CONFIG for the commands of apt that follow. Called
# again it keeps what has been fetched and takes the other lines.
make_apt_state() {
    mkdir -p "$1"/{lists,archives}/partial
    : >"$1/status"
    cat >"$1/apt.conf" <<END
APT::Sandbox::User "$(id -un)";
APT::Get::List-Cleanup "false";
Acquire::Languages "none";
Dir::State "$1";
Dir::State::lists "$1/lists";
Dir::State::status "$1/status";
Dir::Cache "$1";
Dir::Cache::archives "$1/archives";
${2:-}
END
    export APT_CONFIG=$1/apt.conf
}
