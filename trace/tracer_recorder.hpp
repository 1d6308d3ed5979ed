// The tracer flight_recorder: events become records of the thread on which they happen, in its ring for
// calls. No message, no lock, no allocation. The process is the record's subject. Threads: the
// traced process's own.
#pragma once

#include "trace/breakpoint.hpp"

#include <span>

namespace minivm::trace::to_recorder {

// How many arguments a record holds, if each takes one word; it leaves out the rest of more or larger ones.
inline constexpr unsigned kMostArguments = 16;

// The word for the function also holds the session's number (records::in_session()).
// extra: what a match specification adds, or the non-value. framed: the return will be recorded.
void call(const Breakpoint& b, uint32_t session, const Term* x, bool arity_only, Term extra,
          bool framed);
void return_from(uint32_t session, Term module, Term function, uint32_t arity, Term value);
void exception_from(uint32_t session, Term module, Term function, uint32_t arity, Term cls,
                    Term reason);
// An exception has passed a call whose exceptions are not traced.
void unwound(uint32_t session, Term module, Term function, uint32_t arity);
void frames_full(Term process, uint64_t record_id, uint32_t frames);
// Anything else.
void event(uint32_t session, Term tag, std::span<const Term> terms);

}  // namespace minivm::trace::to_recorder
