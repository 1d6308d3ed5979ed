#include "vm/process/tracer_modules.hpp"

#include "vm/code/code_index.hpp"
#include "vm/code/module_table.hpp"
#include "vm/nif/environment.hpp"
#include "vm/nif/library.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/term/local_atoms.hpp"
#include "vm/term/map.hpp"

#include <iterator>

namespace minivm::nif::tracer {
namespace {

using tracing::Tracer;

LOCAL_ATOM(atom_strict_monotonic, "strict_monotonic")

// Null: the module has no library that is a tracer. Call it in a delay section, which keeps the library.
const Library* library_of(Term module) {
    const ModuleInstance* const m = module_table::current(module, code_index::active());
    // acquire: the library is complete. Pairs with load().
    const Library* const l = m != nullptr ? m->library.load(std::memory_order_acquire) : nullptr;
    return l != nullptr && l->tracer.is_tracer() ? l : nullptr;
}

// The result, or the non-value if the function has raised an exception.
Term call(const Library& library, Callable code, Process* self, const Term* args, size_t count) {
    Env env(const_cast<Library*>(&library));
    env.process = self;
    std::vector<Word> words;
    const Word result = code(&env, static_cast<int>(count), words_of(args, count, &words));
    return env.exception ? kNonValue : term_of(result);
}

// *answer: what enabled/3, or the function for this kind, returns. False: the module has no tracer.
bool ask_module(const Tracer& tracer, Kind kind, Term tag, Term tracee, Term* answer) {
    const thread_progress::DelaySection section;
    const Library* const library = library_of(tracer.module());
    if (library == nullptr) {
        return false;
    }
    const Term args[] = {tag, tracer.state(), tracee};
    *answer = call(*library, library->tracer.enabled(kind), nullptr, args, std::size(args));
    return true;
}

Term options(Heap& h, const Event& event, uint32_t flags) {
    Term keys[4];
    Term values[4];
    size_t n = 0;
    const auto add = [&](Term key, Term value) {
        keys[n] = key;
        values[n++] = value;
    };
    if (is_value(event.extra)) {
        add(atoms::extra, event.extra);
    }
    if (is_value(event.result)) {
        add(atoms::match_spec_result, event.result);
    }
    if ((flags & tracing::kSchedulerId) != 0) {
        const Scheduler* const on = this_scheduler();
        add(atoms::scheduler_id, make_small(on != nullptr ? on->number : 0));
    }
    if ((flags & tracing::kAllTimestamps) != 0) {
        // relaxed: an event during the change has either kind.
        const bool cpu = tracing::g_cpu_timestamps.load(std::memory_order_relaxed);
        const Term now_kind = cpu ? atoms::cpu_timestamp : atoms::timestamp;
        add(atoms::timestamp, (flags & tracing::kTimestamp) != 0 ? now_kind
                              : (flags & tracing::kStrictMonotonicTimestamp) != 0
                                  ? atom_strict_monotonic()
                                  : atoms::monotonic);
    }
    return map::from_pairs(h, keys, values, n);
}

}  // namespace

bool is_tracer(Term module) {
    const thread_progress::DelaySection section;
    return library_of(module) != nullptr;
}

Answer ask(const Tracer& tracer, Kind kind, Term tag, Term tracee) {
    Term answer = kNonValue;
    if (!ask_module(tracer, kind, tag, tracee, &answer)) {
        return Answer::discard;
    }
    return answer == atoms::trace     ? Answer::trace
           : answer == atoms::discard ? Answer::discard
                                      : Answer::remove;
}

bool is_active(const Tracer& tracer, Term tracee) {
    Term answer = kNonValue;
    return ask_module(tracer, Kind::general, atoms::trace_status, tracee, &answer) &&
           answer != atoms::remove;
}

void tell(const Tracer& tracer, const Event& event, Process* self, Term tracee, uint32_t flags) {
    const thread_progress::DelaySection section;
    const Library* const library = library_of(tracer.module());
    if (library == nullptr) {
        return;
    }
    Heap h;
    const Term args[] = {event.tag, tracer.state(), tracee, event.what, options(h, event, flags)};
    call(*library, library->tracer.trace(event.kind), self, args, std::size(args));
}

}  // namespace minivm::nif::tracer
