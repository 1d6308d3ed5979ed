// A folder whose `erl` is OTP's with minivm in place of its emulator, so that scripts that start `erl` run here.
//
//   DIR/bin            erl, and links to erlc, escript and what else of OTP's programs starts it: for PATH
//   DIR/erts/bin       what OTP's `erlexec` looks for: links to OTP's own, and beam.smp, which is minivm
//
// A release that brings its own ERTS finds its emulator in itself, whatever PATH is: there minivm is put beside it,
//
//   DIR/erts-V/bin/beam.minivm    for `erl -emu_flavor minivm`
#pragma once

#include <string>
#include <vector>

namespace minivm::tools {

// Makes the folder or brings it up to date. False: *error says why not.
bool install(const std::string& folder, std::string* error);
// `minivm install DIR` (a folder as above, or a release), `minivm env` and `minivm erl ARGUMENT...`. They return the
// exit status. The last two use a folder of the user's own, and erl_command() does not return if all is well.
int install_command(const std::string& folder);
int env_command();
int erl_command(const std::vector<std::string>& arguments);

}  // namespace minivm::tools
