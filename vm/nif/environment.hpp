// Environments: where a library's terms live and how long.
//
//   of a call         terms go to the heap of the process that made it; allocation there never
//                     collects, so nothing moves before the library has returned
//   of a callback     no process; terms live until it returns. That of a tracer may know the
//                     process that it is called in, but does not use its heap
//   enif_alloc_env()  no process; terms live until it is cleared, freed or sent
//
// Threads: one at a time; that of a call only the thread that runs it.
#pragma once

#include "vm/nif/nif.hpp"
#include "vm/process/process.hpp"
#include "vm/process/signal.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace minivm::nif {

// What an environment frees when its terms end.
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
    const Function* function = nullptr;  // of a call
    Heap own_heap;
    bool exception = false;
    Term reason = kNonValue;
    std::vector<std::unique_ptr<Temporary>> temporaries;
    MagicObject* scheduled = nullptr;
    std::vector<Term> scheduled_args;
};

// A message of what was built in an environment without a process, without a copy; clears it.
Signal* message_from(Env& env, Term t);

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
// The arguments of a call as words of its library, which has to take them before *kept goes: most calls have no zero, and theirs
// stay where they are.
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
