// The flags of OTP's emulator: what `erl +S 4 +P 100000` hands to it.
//
// Flags that have a meaning here set a field of EmulatorFlags; the others set up what minivm does not have (thread
// pools, allocators, busy waiting) and are only checked. docs/erl.md lists them.
#pragma once

#include "tools/signals.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace minivm::tools {

struct EmulatorFlags {
    int schedulers = 0;         // 0: one a processor
    int schedulers_online = 0;  // 0: all of them
    int dirty_cpu = 0;          // not 0 after parsing, nor is the next
    int dirty_cpu_online = 0;
    int dirty_io = 0;           // 0: as usual; so are the next
    uint32_t atoms = 0;
    uint32_t processes = 0;     // most of them
    uint32_t ports = 0;
    Break on_break = Break::menu;  // +B
    int halt_flush_ms = -1;     // +zhft; -1: any time
    uint32_t system_requests = 0;
    bool message_queue_off_heap = false;
    bool async_dist = false;
    std::string perf;           // as --perf takes it
    std::string perf_directory;
    std::string boot_module = "init";
    bool prints_unicode = false;           // +pc unicode
    std::string warning_map = "warning";   // +W: error, warning or info
    uint64_t min_heap_words = 0;           // 0: as usual; so are the next
    uint64_t min_binary_heap_words = 0;
    uint64_t dist_limit_kb = 0;
    uint64_t max_heap_words = 0;
    bool max_heap_kill = true;
    bool max_heap_log = true;
    bool max_heap_shared = false;
    bool tells_version = false;            // +V: and nothing else
    // vm::Options::told: what system_info/1 says of flags without a meaning here.
    std::vector<std::pair<std::string, std::string>> told;
    std::vector<std::string> rest;         // behind "--", for init
    std::string error;                     // what is wrong, in the emulator's words, or empty
};
// argv[0] is the program; processors: of this machine.
EmulatorFlags parse_emulator_flags(const std::vector<std::string>& argv, int processors);
// All flags, a line each: the text that follows an error.
std::string emulator_usage(const std::string& program);

}  // namespace minivm::tools
