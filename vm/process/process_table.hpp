// All processes by pid.
//
// The number of a pid (<0.Number.Serial>) counts up; its low bits are the place in the table, so a
// place is used again only with another number. Process structs are freed after thread progress, so a
// pointer from lookup() is valid until the caller's next quiescent point, or the end of its delay
// section, even if the process ends meanwhile.
//
// Threads: schedulers, or others inside a delay section, unless noted.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vm/term/term.hpp"

namespace minivm {

struct Process;

namespace process_table {

constexpr uint32_t kLeastLimit = 1024;
constexpr uint32_t kMostLimit = 1 << 20;  // a place in an alias's reference has no more bits

// Once, before any process. How many there can be: the next power of two, within the limits above.
void init(uint32_t limit);
uint32_t limit();
void destroy();  // when no thread uses it any more; the table is empty

// Gives p its pid and makes it visible. False: there are limit() processes.
bool insert(Process& p);
void remove(Process& p);
// Null: no such process (any more). May still find a process that is exiting.
Process* lookup(Term pid);
// The process that is in this place (the low bits of a pid's number) now, or null.
Process* at_place(uint32_t place);
uint32_t count();
size_t bytes();  // of the table itself
// The number of the next pid, unless its place is taken. Setting it back is for tests: pids are used again then.
uint64_t next_number();
void set_next_number(uint64_t number);
// The next process at or after *place; *place is then the place after it. Null: there is none, and *place is
// limit(). May miss processes that are spawned meanwhile.
Process* next_at(uint32_t* place);
// Calls f(process, context) for every process, in no particular order; may miss those that begin or end
// meanwhile.
void for_each(void (*f)(Process&, void*), void* context);

}  // namespace process_table
}  // namespace minivm
