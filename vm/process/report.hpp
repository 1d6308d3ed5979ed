// What is told to the logger about processes that are in trouble.
// Threads: on the process's scheduler.
#pragma once

#include <string_view>

#include "vm/process/process.hpp"

namespace minivm {

// A process that ends by an uncaught error.
void report_uncaught(Process& p);
// A process whose heaps have reached total_words, more than it may have.
void report_max_heap(Process& p, size_t total_words);

// A sentence of the VM's own, with its line feed; the process asked for what it is about.
enum class ReportLevel : uint8_t { error, warning };
void report_text(Process& p, ReportLevel level, std::string_view text);

// The code of a module was found, and is not what can be loaded. As long as nobody is there who writes reports,
// to standard error. Any thread that runs p.
void report_load_failure(Process& p, Term module, std::string_view why);

// So many trace frames wait on its stack that the function's call, and what follows, leaves none.
void report_trace_frames(Process& p, Term module, Term function, uint32_t arity, uint32_t frames);

// Where such reports go: a local pid, `logger` (whoever has that name) or `undefined` (nowhere). When
// the process is no more it is `logger` again.
Term system_logger();
Term set_system_logger(Term to);  // the one before

// What process_info(Pid, garbage_collection_info) shows.
Term garbage_collection_info(const Process& p, Heap& h);

}  // namespace minivm
