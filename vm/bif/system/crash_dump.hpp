// erl_crash.dump: what was there when the machine ended with a slogan, in OTP's format, which crashdump_viewer and the
// scripts of those who support systems read. The recording says what led there; this says what is left.
#pragma once

#include <string>

namespace minivm::crash_dump {

// Writes it as ERL_CRASH_DUMP, ERL_CRASH_DUMP_BYTES and ERL_CRASH_DUMP_SECONDS say, and tells so on standard error, as
// erl does. No scheduler runs: everything is this thread's.
void write(const std::string& slogan);

}  // namespace minivm::crash_dump
