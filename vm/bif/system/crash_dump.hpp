// erl_crash.dump: the state of the VM when it ended with a slogan, in OTP's format, which crashdump_viewer and support
// scripts read. The recording tells what led there, the dump what is left.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "vm/term/term.hpp"

namespace minivm::crash_dump {

// Writes it as ERL_CRASH_DUMP, ERL_CRASH_DUMP_BYTES and ERL_CRASH_DUMP_SECONDS say, and reports that on standard error,
// as erl does. No scheduler runs: this thread owns everything.
void write(const std::string& slogan);

// The parts that the break menu (^C) shows. As above, or while no process runs.
enum class Part : uint8_t { processes, ports, memory, modules, tables, distribution };
void write_part(FILE* out, Part part);
// The youngest first.
std::vector<Term> processes_by_age();
void write_process_of(FILE* out, Term pid);

}  // namespace minivm::crash_dump
