// What the VM's records say: processes, atoms, functions and terms in the recorder's words.
//
// The recorder knows ids; the first mention of a thing here puts its name into the recorder's dictionary,
// without a lock and without allocation. A term is copied: its first words, some levels deep
// (recorder/value.hpp), never a pointer. Terms of processes that are `sensitive` are not copied, and none are
// while terms are off.
// Threads: any. The caller must own the terms that are copied.
#pragma once

#include <atomic>
#include <cstdint>

#include "recorder/recorder.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/function_name.hpp"
#include "vm/term/term.hpp"
#include "vm/util/recorded_words.hpp"

namespace minivm::records {

// Call it after recorder::init(): this recording gets all names anew. terms: whether terms are copied at
// all.
void start(bool terms);
extern std::atomic<bool> g_terms;
// relaxed: a setting.
inline bool terms_are_on() { return g_terms.load(std::memory_order_relaxed); }

// The subject of a record: as much of a pid as its header has room for.
inline uint32_t subject(Term pid) {
    const auto data = static_cast<uint32_t>(imm_data(pid));
    return data != 0 ? data : recorder::kSubjectZero;
}
// 0 for a term that is no local pid.
inline uint64_t subject_or_none(Term t) { return is_local_pid(t) ? subject(t) : 0; }
uint64_t atom(Term atom);
uint64_t function(Term module, Term function, uint32_t arity);
inline uint64_t function(const Export& e) {
    const FunctionName name = name_of(&e);
    return function(name.module, name.function, name.arity);
}
// The id of a function that function() has defined before. Atom indexes have 20 bits; the id fits a value's 60
// bits of payload.
inline uint64_t function_id(Term module, Term function, uint32_t arity) {
    return uint64_t{atom_index(module)} << 28 | uint64_t{atom_index(function)} << 8 | (arity & 0xFF);
}
// The id in the records of a trace session: with the session's number (0 for erlang:trace/3), or as much of
// it as there is room for.
constexpr uint64_t kSessionMask = (uint64_t{1} << (64 - recorder::kFunctionBits)) - 1;
inline uint64_t in_session(uint64_t function, uint32_t session) {
    return function | uint64_t{session} << recorder::kFunctionBits;
}
// The id of a text that recurs, such as an Erlang format.
uint64_t string(std::string_view text);

// A copy of a term for record(); lives as long as the object.
template <unsigned kWords>
class TermCopy;
void copy_term_words(recorder::ValueWriter& to, Term t, unsigned depth);
void hide_term(recorder::ValueWriter& to);

template <unsigned kWords>
class TermCopy {
  public:
    TermCopy(Term t, bool hidden) : writer_(words_, kWords) {
        if (hidden || !terms_are_on()) {
            hide_term(writer_);
        } else {
            copy_term_words(writer_, t, 0);
        }
    }
    TermCopy(const TermCopy&) = delete;
    TermCopy& operator=(const TermCopy&) = delete;
    recorder::Value get() const { return writer_.get(); }

  private:
    uint64_t words_[kWords];
    recorder::ValueWriter writer_;
};

// An exception that nobody caught: class, reason and the frames of the trace, a raw trace or the list
// that a program sees.
void uncaught(Term pid, bool sensitive, Term cls, Term reason, Term trace);

}  // namespace minivm::records
