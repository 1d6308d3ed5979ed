// What is told to the logger about processes that are in trouble.
// Threads: on the process's scheduler.
#pragma once

#include "vm/process/process.hpp"

namespace minivm {

// A process that ends by an uncaught error.
void report_uncaught(Process& p);
// A process whose heaps have reached total_words, more than it may have.
void report_max_heap(Process& p, size_t total_words);

// So many trace frames wait on its stack that the function's call, and what follows, leaves none.
void report_trace_frames(Process& p, Term module, Term function, uint32_t arity, uint32_t frames);

// Where such reports go: a local pid, `logger` (whoever has that name) or `undefined` (nowhere). When
// the process is no more it is `logger` again.
Term system_logger();
Term set_system_logger(Term to);  // the one before

// What process_info(Pid, garbage_collection_info) shows.
Term garbage_collection_info(const Process& p, Heap& h);

}  // namespace minivm
