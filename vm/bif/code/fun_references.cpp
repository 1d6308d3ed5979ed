// erlang:fun_info(Fun, refc).
//
// Up to release 26, OTP counts the references to the code of a fun: one from its module, and one from each fun term.
// minivm does not count, so that making a fun costs three words and nothing else; fun_info/2 searches for them. Each
// process searches its own heap and messages when the request reaches it, as it does for process_info/2, and a dirty
// scheduler searches the tables meanwhile. A process on a dirty scheduler may stay there for any time, and is left
// out; so are messages that timers hold.
//
// The search finds a fun by its first two words, its header and its entry, wherever they follow each other: garbage
// that is not yet collected counts, as it does on OTP.
#include "vm/bif/code/fun_references.hpp"

#include <mutex>
#include <shared_mutex>
#include <utility>

#include "vm/bif/system/persistent_term.hpp"
#include "vm/ets/table.hpp"
#include "vm/process/continuation.hpp"
#include "vm/process/dirty_hold.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/signal.hpp"
#include "vm/process/state.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/util/otp_release.hpp"

namespace minivm {
namespace {

// One search. Each part of it calls done() once; the last call wakes the asker.
struct FunSearch : MagicObject {
    const FunEntry* entry = nullptr;
    Term asker = kNonValue;
    std::atomic<uint64_t> found{1};  // the module's
    std::atomic<uint64_t> waited_for{1};  // processes that have been asked, and the search of the tables

    void done(uint64_t found_here) {
        // relaxed: the asker reads it after it has seen waited_for at 0.
        found.fetch_add(found_here, std::memory_order_relaxed);
        // acq_rel: pairs with the load in erlang_fun_info_continue_2().
        if (waited_for.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            wake_up_pid(asker);
        }
    }
};

uint64_t count_funs(const Term* begin, const Term* end, const FunEntry* entry) {
    uint64_t n = 0;
    for (const Term* t = begin; end - t > 1; ++t) {
        n += t[1].raw == reinterpret_cast<Word>(entry) && is_header(t->raw) && header_kind(t->raw) == Kind::fun;
    }
    return n;
}

uint64_t count_funs(Fragment* chain, const FunEntry* entry) {
    uint64_t n = 0;
    for (; chain != nullptr; chain = chain->next) {
        n += count_funs(chain->words(), chain->words() + chain->used_words, entry);
    }
    return n;
}

uint64_t count_funs_of(const Process& p, const FunEntry* entry) {
    uint64_t n = count_funs(p.heap_start, p.heap.top, entry) + count_funs(p.old_start, p.old_top, entry) +
                 count_funs(p.heap.fragments, entry) + count_funs(p.heap.received, entry);
    for (const Signal* m = p.mailbox.first; m != nullptr; m = m->next) {
        n += count_funs(m->fragments, entry);
    }
    return n;
}

FunSearch* search_of(const ControlSignal& request) {
    return held_state<FunSearch>(request.term);
}

void ask(Process& p, Term search, Term pid) {
    Process* const q = process_table::lookup(pid);
    if (q == nullptr || static_cast<bool>(dirty::Hold(*q))) {
        return;
    }
    FunSearch* const state = held_state<FunSearch>(search);
    // relaxed: it is not 0 before the search of the tables is done, which begins after the last request.
    state->waited_for.fetch_add(1, std::memory_order_relaxed);
    ControlSignal* const s = new_signal(SignalKind::rpc, p.id);
    const RefId ref = new_ref_id(p);
    s->ref = ref;
    s->run = [](Process& target, ControlSignal& request) {
        search_of(request)->done(count_funs_of(target, search_of(request)->entry));
    };
    s->gone = [](ControlSignal& request) { search_of(request)->done(0); };
    Heap h;
    s->term = copy_term(search, h, true);
    take_fragments(*s, h);
    send_signal(pid, s);
    // The process may have gone to a dirty scheduler without seeing the request.
    const dirty::Hold hold(*q);
    if (hold && hold.withdraw(p.id, ref)) {
        state->done(0);
    }
}

// (Search, Fun): searches the tables and the persistent terms. The fun is an argument so that its code stays.
Term minivm_search_tables_for_fun_2(Process& p, const Term* a) {
    FunSearch* const state = held_state<FunSearch>(a[0]);
    const FunEntry* const entry = state->entry;
    uint64_t n = 0;
    for (ets::Table* const table : ets::all()) {
        if (!table->compressed) {  // there OTP stores the bytes of a fun, and no reference
            const std::shared_lock lock(table->lock);
            const ets::Stores& stores = table->stores;
            const auto count = [&n, entry](const ets::Object* o) {
                n += count_funs(o->data, o->data + o->words, entry);
            };
            for (size_t i = 0; stores.hash && i < stores.hash->chains(); ++i) {
                for (const ets::Object* o = stores.hash->first_in_chain(i); o != nullptr; o = o->link[0]) {
                    count(o);
                }
            }
            if (stores.tree) {
                for (const ets::Object* o = stores.tree->first(); o != nullptr;
                     o = stores.tree->next(o->key(table->keypos))) {
                    count(o);
                }
            }
        }
        table->release();
    }
    std::pair<uint64_t*, const FunEntry*> context{&n, entry};
    persistent_term::for_each_area(
        [](const Term* begin, const Term* end, void* c) {
            const auto& [sum, wanted] = *static_cast<decltype(context)*>(c);
            *sum += count_funs(begin, end, wanted);
        },
        &context);
    state->done(n);
    static const Export* const await = bif_export("erlang", "fun_info", 2);
    return trap(p, await, {a[0], a[1]});
}

// The hidden erlang:fun_info/2: (Search, Fun).
Term erlang_fun_info_continue_2(Process& p, const Term* a) {
    const FunSearch* const state = held_state<FunSearch>(a[0]);
    // acquire: pairs with done().
    if (state->waited_for.load(std::memory_order_acquire) != 0) {
        static const Export* const self = bif_export("erlang", "fun_info", 2);
        return trap_wait(p, self, {a[0], a[1]});
    }
    // relaxed: the acquire above orders it after all done().
    return make_tuple(p.heap, atom_table::intern("refc"),
                      make_unsigned(p.heap, state->found.load(std::memory_order_relaxed)));
}

}  // namespace

Term fun_reference_count(Process& p, Term fun) {
    if (!by_release::counts_funs()) {
        return make_tuple(p.heap, atom_table::intern("refc"), make_small(1));
    }
    auto state = std::make_unique<FunSearch>();
    state->entry = fun_entry(fun);
    state->asker = p.id;
    // relaxed: no other thread has the search yet.
    state->found.fetch_add(count_funs_of(p, state->entry), std::memory_order_relaxed);
    const Term search = hold_state(p, std::move(state));
    struct Context {
        Process& p;
        Term search;
    } context{p, search};
    process_table::for_each(
        [](Process& q, void* c) {
            const Context& with = *static_cast<Context*>(c);
            if (&q != &with.p) {
                ask(with.p, with.search, q.id);
            }
        },
        &context);
    static const Export* const tables = bif_export("minivm", "search_tables_for_fun", 2);
    return trap(p, tables, {search, fun});
}

MINIVM_BIF_TABLE(fun_references) = {
    {"minivm", "search_tables_for_fun", 2, minivm_search_tables_for_fun_2, kBifDirtyCpu | kBifHidden, nullptr},
    {"erlang", "fun_info", 2, erlang_fun_info_continue_2, kBifHidden, nullptr},
};

}  // namespace minivm
