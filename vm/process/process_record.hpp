// What records say about processes and signals between them.
// Threads: any.
#pragma once

#include "vm/process/process.hpp"
#include "vm/process/state.hpp"
#include "vm/record/record.hpp"

namespace minivm::records {

// The flow id of a signal: its sender and its number.
inline uint64_t flow(const Signal& s) {
    return s.flow == 0 ? 0 : subject_or_none(s.from) << 32 | s.flow;
}
inline bool is_sensitive(const Process& p) {
    // relaxed: a process that becomes sensitive hides later events, not what others have just sent.
    return (p.state.load(std::memory_order_relaxed) & process_state::kSensitive) != 0;
}

inline void uncaught(Process& p, Term cls, Term reason, Term trace) {
    uncaught(p.id, is_sensitive(p), cls, reason, trace);
}

}  // namespace minivm::records
