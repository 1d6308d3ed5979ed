// Reports to the system logger about processes.
// Threads: on the process's scheduler.
#pragma once

#include <string_view>

#include "vm/process/process.hpp"

namespace minivm {

// A process that ends by an uncaught error.
void report_uncaught(Process& p);
// A process whose heaps have reached total_words, more than it may have.
void report_max_heap(Process& p, size_t total_words);

// A text of the VM itself, ending in a line feed, about an operation of p.
enum class ReportLevel : uint8_t { error, warning };
void report_text(Process& p, ReportLevel level, std::string_view text);

// The code of a module was found but cannot be loaded. Goes to standard error as long as there is no logger.
// Any thread that runs p.
void report_load_failure(Process& p, Term module, std::string_view why);

// p has so many trace frames on its stack that this call of the function, and later calls, leave none.
void report_trace_frames(Process& p, Term module, Term function, uint32_t arity, uint32_t frames);

// Where these reports go: a local pid, `logger` (the process with that name) or `undefined` (nowhere). When
// the process has ended, it is `logger` again.
Term system_logger();
Term set_system_logger(Term to);  // returns the one before

// The value of process_info(Pid, garbage_collection_info).
Term garbage_collection_info(const Process& p, Heap& h);

}  // namespace minivm
