// Environments: where a library's terms live and how long.
//
//   of a call         terms go to the heap of the calling process; allocation there never
//                     collects, so nothing moves before the library has returned
//   of a callback     no process; terms live until the callback returns. A tracer's may know the
//                     process in which it is called, but does not use its heap
//   enif_alloc_env()  no process; terms live until it is cleared, freed or sent
//
// Threads: one at a time; an environment of a call, only the thread that runs the call.
#pragma once

#include "vm/nif/nif.hpp"
#include "vm/process/process.hpp"
#include "vm/process/seq_trace.hpp"
#include "vm/process/signal.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace minivm::nif {

// Memory that an environment frees together with its terms.
struct Temporary {
    virtual ~Temporary() = default;
};

// A call that enif_schedule_nif() asked for.
struct Scheduled;

struct Env {
    Env(Process& p, Library* l) : heap(&p.heap), process(&p), library(l) {}
    // Without a process.
    explicit Env(Library* l) : heap(&own_heap), library(l) {}
    ~Env() { clear(); }
    Env(const Env&) = delete;
    Env& operator=(const Env&) = delete;

    void clear() {
        temporaries.clear();
        own_heap.clear();
        exception = false;
    }

    Heap* heap;
    Process* process = nullptr;
    Library* library;
    const Function* function = nullptr;  // the one that is called; null in a callback
    Heap own_heap;
    bool exception = false;
    Term reason = kNonValue;
    std::vector<std::unique_ptr<Temporary>> temporaries;
    MagicObject* scheduled = nullptr;
    std::vector<Term> scheduled_args;
};

// Makes the terms of an environment without a process into a message, without a copy. The caller clears the
// environment, under no lock: that may run destructors. token: the message takes it over, if it is not null.
Signal* take_message(Env& env, Term t, seq_trace::Token* token = nullptr);

inline Heap& heap_of(Env* env) {
    return *env->heap;
}
inline Word raise(Env* env, Term reason) {
    env->exception = true;
    env->reason = reason;
    return kNonValue.raw;
}
inline Word raise_badarg(Env* env) {
    return raise(env, atoms::badarg);
}
// The arguments of a call as words for its library, valid as long as `args` and *kept: most calls have no zero among
// them, and then the words are the terms themselves.
inline const Word* words_of(const Term* args, size_t n, std::vector<Word>* kept) {
    for (size_t i = 0; i < n; ++i) {
        if (args[i] == make_small(0)) {
            kept->resize(n);
            std::transform(args, args + n, kept->begin(), word_of);
            return kept->data();
        }
    }
    return reinterpret_cast<const Word*>(args);
}

}  // namespace minivm::nif
