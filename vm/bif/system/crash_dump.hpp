// erl_crash.dump: what was there when the machine ended with a slogan, in OTP's format, which crashdump_viewer and the
// scripts of those who support systems read. The recording says what led there; this says what is left.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "vm/term/term.hpp"

namespace minivm::crash_dump {

// Writes it as ERL_CRASH_DUMP, ERL_CRASH_DUMP_BYTES and ERL_CRASH_DUMP_SECONDS say, and tells so on standard error, as
// erl does. No scheduler runs: everything is this thread's.
void write(const std::string& slogan);

// The parts that the menu behind ^C shows. As above, or while all processes stand still.
enum class Part : uint8_t { processes, ports, memory, modules, tables, distribution };
void write_part(FILE* out, Part part);
// The youngest first.
std::vector<Term> processes_by_age();
void write_process_of(FILE* out, Term pid);

}  // namespace minivm::crash_dump
