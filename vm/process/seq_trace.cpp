#include "vm/process/seq_trace.hpp"

#include "vm/code/export.hpp"
#include "vm/process/clock.hpp"
#include "vm/process/extra.hpp"
#include "vm/process/process_life.hpp"
#include "vm/process/process_record.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/scheduling.hpp"
#include "vm/process/signal.hpp"
#include "vm/process/tracer_modules.hpp"
#include "vm/process/tracing.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/term/compare.hpp"
#include "vm/term/local_atoms.hpp"

namespace minivm::seq_trace {
namespace {

LOCAL_ATOM(atom_print, "print")
LOCAL_ATOM(atom_sequential_trace_token, "sequential_trace_token")
LOCAL_ATOM(atom_serial, "serial")
LOCAL_ATOM(atom_spawn_init, "spawn_init")

std::atomic<uint32_t> g_generation{1};
// Null: there is none. Replaced as a whole; the former one is freed after thread progress.
std::atomic<const tracing::Tracer*> g_tracer{nullptr};

uint32_t flag_of(Term name) {
    const std::string_view text = atom_table::text(name);
    constexpr struct {
        const char* name;
        Flag flag;
    } kFlags[] = {{"send", kSend},
                  {"receive", kReceive},
                  {"print", kPrint},
                  {"timestamp", kTimestamp},
                  {"strict_monotonic_timestamp", kStrictMonotonicTimestamp},
                  {"monotonic_timestamp", kMonotonicTimestamp}};
    for (const auto& f : kFlags) {
        if (text == f.name) {
            return f.flag;
        }
    }
    return 0;
}

bool counts(const Token& t) {
    // relaxed: a concurrent reset may come before or after.
    return t.generation == g_generation.load(std::memory_order_relaxed);
}

// p's counters; after a reset they begin at 0 again.
SeqCounters& counters_of(Process& p) {
    SeqCounters& c = extra_of(p).seq;
    // relaxed: as in counts().
    const uint32_t now = g_generation.load(std::memory_order_relaxed);
    if (c.generation != now) {
        c.generation = now;
        c.clock = 0;
        c.lastcnt = 0;
    }
    return c;
}

void put_token(Process& p, Token* t) {
    SeqCounters& c = counters_of(p);
    if (c.token != nullptr) {
        release(c.token);
    }
    c.token = t;
    if (has_token(p) != (t != nullptr)) {
        watchers::set(p.watchers, watchers::kToken, t != nullptr);
    }
}

Token* copy_of(const Token& t) {
    auto* copy = new Token;
    copy->flags = t.flags;
    copy->generation = t.generation;
    copy->serial = t.serial;
    copy->lastcnt = t.lastcnt;
    copy->from = t.from;
    copy->label = copy_term(t.label, copy->heap, false);
    return copy;
}

// p's token, to change it: one that no other process or message has. Makes one if there is none.
Token& own_token(Process& p) {
    SeqCounters& c = counters_of(p);
    if (c.token == nullptr || !counts(*c.token)) {
        auto* t = new Token;
        t->generation = c.generation;
        t->from = p.id;
        t->lastcnt = c.lastcnt;
        put_token(p, t);
        // acquire: pairs with release(). All holders of the other references have read for the last time.
    } else if (c.token->refs.load(std::memory_order_acquire) != 1) {
        put_token(p, copy_of(*c.token));
    }
    return *c.token;
}

void free_later(const tracing::Tracer* t) {
    if (t != nullptr) {
        thread_progress::later([](void* d) { delete static_cast<tracing::Tracer*>(d); },
                               const_cast<tracing::Tracer*>(t));
    }
}

// Null: there is none, or it has gone. In a delay section, at whose end the pointer becomes invalid.
const tracing::Tracer* living_tracer() {
    // acquire: the tracer is complete. Pairs with set_system_tracer().
    const tracing::Tracer* t = g_tracer.load(std::memory_order_acquire);
    if (t == nullptr || !t->is_module()) {
        return t != nullptr && tracing::tracer_exists(t->term()) ? t : nullptr;
    }
    if (nif::tracer::is_active(*t, atoms::undefined)) {
        return t;
    }
    // relaxed: we do not read through the old value, unless the exchange succeeds and we free it.
    if (g_tracer.compare_exchange_strong(t, nullptr, std::memory_order_relaxed)) {
        free_later(t);
    }
    return nullptr;
}

// Whether the tracer wants events of p. In a delay section.
bool wants(const tracing::Tracer& t, const Process& p) {
    return t.is_module() ? nif::tracer::ask(t, nif::tracer::Kind::general, atoms::seq_trace,
                                            p.id) == nif::tracer::Answer::trace
                         : !t.is(p.id);
}

// p sends something with its token: counts it. False: not counted.
bool count_up(Process& p) {
    const thread_progress::DelaySection section;
    // relaxed: only whether there is a tracer.
    if (g_tracer.load(std::memory_order_relaxed) != nullptr) {
        const tracing::Tracer* const tracer = living_tracer();
        if (tracer == nullptr || !wants(*tracer, p)) {
            return false;  // p is the tracer itself, or the tracer has gone
        }
    }
    Token& t = own_token(p);
    SeqCounters& c = counters_of(p);
    t.from = p.id;
    t.serial = ++c.clock;
    t.lastcnt = c.lastcnt;
    return true;
}

// The token's flags for time stamps as flags of tracing.
uint32_t trace_flags(uint32_t token_flags) {
    return ((token_flags & kTimestamp) != 0 ? uint32_t{tracing::kTimestamp} : 0) |
           ((token_flags & kStrictMonotonicTimestamp) != 0
                ? uint32_t{tracing::kStrictMonotonicTimestamp}
                : 0) |
           ((token_flags & kMonotonicTimestamp) != 0 ? uint32_t{tracing::kMonotonicTimestamp} : 0);
}

void tell(const Token& t, Flag type, Term to, Term message, const Process& p) {
    if ((t.flags & type) == 0 || records::is_sensitive(p)) {
        return;
    }
    const thread_progress::DelaySection section;
    const tracing::Tracer* const tracer = living_tracer();
    if (tracer == nullptr || !wants(*tracer, p)) {
        return;
    }
    const Term tag = type == kSend ? atoms::send : type == kReceive ? atoms::receive : atom_print();
    Heap h;
    const Term counts = make_tuple(h, make_small(t.lastcnt), make_small(t.serial));
    const Term what = make_tuple(h, tag, counts, t.from, to, message);
    if (tracer->is_module()) {
        const nif::tracer::Event event{.tag = atoms::seq_trace, .what = what};
        nif::tracer::tell(*tracer, event, nullptr, t.label, trace_flags(t.flags));
    } else if ((t.flags & (kTimestamp | kStrictMonotonicTimestamp | kMonotonicTimestamp)) == 0) {
        tracing::tell_tracer(tracer->term(), make_tuple(h, atoms::seq_trace, t.label, what));
    } else {
        Term time;
        if ((t.flags & kTimestamp) != 0) {
            time = clock::now(h);
        } else {
            time = make_integer(h, clock::monotonic_ns());
            if ((t.flags & kStrictMonotonicTimestamp) != 0) {
                time = make_tuple(h, time, clock::unique_integer(h, true, false));
            }
        }
        tracing::tell_tracer(tracer->term(), make_tuple(h, atoms::seq_trace, t.label, what, time));
    }
}

Token* share(Token* t) {
    // relaxed: the caller has a reference.
    t->refs.fetch_add(1, std::memory_order_relaxed);
    return t;
}

}  // namespace

void release(Token* t) {
    // acq_rel: the last release frees the token after all others have read it.
    if (t->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        delete t;
    }
}

const Token* token_of(const Process& p) {
    if (!has_token(p) || p.extra == nullptr || p.extra->seq.token == nullptr) {
        return nullptr;
    }
    const Token* t = p.extra->seq.token;
    return counts(*t) ? t : nullptr;
}

Term token_term(const Process& p, Heap& h) {
    const Token* t = token_of(p);
    if (t == nullptr) {
        return kNil;
    }
    const Term label = copy_term(t->label, h, false);
    return make_tuple(h, make_small(t->flags), label, make_small(t->serial), t->from,
                      make_small(t->lastcnt));
}

Term set(Process& p, Term component, Term value, Heap& h) {
    if (!is_atom(component)) {
        return kNonValue;
    }
    const uint32_t flag = flag_of(component);
    if (flag != 0 && is_bool(value)) {
        Token& t = own_token(p);
        const bool was = (t.flags & flag) != 0;
        t.flags = value == atoms::true_ ? t.flags | flag : t.flags & ~flag;
        return make_bool(was);
    }
    if (component == atoms::label) {
        // A new token, because the former label is in the former token's heap.
        const Term old =
            token_of(p) != nullptr ? copy_term(token_of(p)->label, h, false) : make_small(0);
        Token& was = own_token(p);
        auto* t = new Token;
        t->flags = was.flags;
        t->generation = was.generation;
        t->serial = was.serial;
        t->lastcnt = was.lastcnt;
        t->from = was.from;
        t->label = copy_term(value, t->heap, false);
        put_token(p, t);
        return old;
    }
    if (component == atom_serial()) {
        if (!is_tuple_of(value, 2) || !is_small(tuple_element(value, 0)) ||
            !is_small(tuple_element(value, 1))) {
            return kNonValue;
        }
        Token& t = own_token(p);
        const Term old = make_tuple(h, make_small(t.lastcnt), make_small(t.serial));
        SeqCounters& c = counters_of(p);
        t.lastcnt = c.lastcnt = small_value(tuple_element(value, 0));
        t.serial = c.clock = small_value(tuple_element(value, 1));
        return old;
    }
    if (component == atom_sequential_trace_token() && is_nil(value)) {
        const Term old = token_term(p, h);
        if (has_token(p)) {
            put_token(p, nullptr);
        }
        return old;
    }
    return kNonValue;
}

Term get(const Process& p, Term component, Heap& h) {
    if (!is_atom(component)) {
        return kNonValue;
    }
    const Token* t = token_of(p);
    const uint32_t flag = flag_of(component);
    if (flag != 0) {
        return make_tuple(h, component, make_bool(t != nullptr && (t->flags & flag) != 0));
    }
    if (component == atoms::spawn && t == nullptr) {
        return make_tuple(h, component, atoms::false_);
    }
    if (component != atoms::label && component != atom_serial()) {
        return kNonValue;
    }
    if (t == nullptr) {
        return kNil;
    }
    return make_tuple(h, component,
                      component == atoms::label
                          ? copy_term(t->label, h, false)
                          : make_tuple(h, make_small(t->lastcnt), make_small(t->serial)));
}

bool print(Process& p, Term label, Term message) {
    const Token* t = token_of(p);
    if (t == nullptr || (is_value(label) && !exact_equal(label, t->label))) {
        return false;
    }
    count_up(p);
    tell(*token_of(p), kPrint, kNil, message, p);
    return true;
}

Token* sending(Process& p, Term to, Term message) {
    if (token_of(p) == nullptr) {
        return nullptr;
    }
    count_up(p);
    tell(*p.extra->seq.token, kSend, to, message, p);
    return share(p.extra->seq.token);
}

Token* sending_exit(Process& p, Term from, Term to, Term reason) {
    if (!has_token(p) || token_of(p) == nullptr) {
        return nullptr;
    }
    count_up(p);
    // As in OTP, a receiver that is sensitive hides it too.
    const Process* receiver = process_table::lookup(to);
    if (receiver != nullptr && !records::is_sensitive(*receiver)) {
        Heap h;
        tell(*p.extra->seq.token, kSend, to, make_tuple(h, atoms::EXIT, from, reason), p);
    }
    return share(p.extra->seq.token);
}

Token* replying(Process& child, const Process& parent, Term reply) {
    if (token_of(child) == nullptr) {
        return nullptr;
    }
    tell(*child.extra->seq.token, kSend, parent.id, reply, parent);
    return share(child.extra->seq.token);
}

void attach(Signal& s, Token* t) {
    if (t != nullptr) {
        s.has_token = true;
        static_cast<ControlSignal&>(s).token = t;
    }
}

void received(Process& p, const Signal& s) {
    Token* t = s.has_token ? static_cast<const ControlSignal&>(s).token : nullptr;
    if (t == nullptr || !counts(*t)) {
        if (s.from_process && has_token(p)) {
            put_token(p, nullptr);
        }
        return;
    }
    put_token(p, share(t));
    SeqCounters& c = counters_of(p);
    c.lastcnt = t->serial;
    if (c.clock < t->serial) {
        c.clock = t->serial;
    }
    tell(*t, kReceive, p.id, s.term, p);
}

void spawning(Process& parent, Process& child, const Export& entry, Term args,
              const SpawnOptions& o) {
    if (token_of(parent) == nullptr) {
        return;
    }
    Heap h;
    count_up(parent);
    Token* t = parent.extra->seq.token;
    const RefId id = o.monitor_ref == RefId{} ? new_ref_id(parent) : o.monitor_ref;
    const Term ref = put_ref(h.alloc(kRefWords), id);
    Term function;
    if (o.replies) {  // the call that OTP's own code makes
        args = cons(h, make_tuple(h, entry.module, entry.function, args), kNil);
        function = make_tuple(h, atoms::erts_internal, atom_spawn_init(), make_small(1));
    } else {
        function = make_tuple(h, entry.module, entry.function, make_small(entry.arity));
    }
    const Term request = make_tuple(h, atoms::spawn_request, ref, parent.id, child.group_leader,
                                    function, o.option_list, o.reply_tag, args);
    tell(*t, kSend, child.id, request, parent);
    tell(*t, kReceive, child.id, request, parent);
    put_token(child, copy_of(*t));
    SeqCounters& c = counters_of(child);
    c.clock = c.lastcnt = t->serial;
    count_up(child);
    if (!o.replies) {
        const Term reply = make_tuple(h, o.reply_tag, ref, atoms::ok, child.id);
        const Token& of_child = *child.extra->seq.token;
        tell(of_child, kSend, parent.id, reply, parent);
        SeqCounters& own = counters_of(parent);
        own.clock = own.lastcnt = of_child.serial;
        tell(of_child, kReceive, parent.id, reply, parent);
    }
}

Term system_tracer(Heap& h) {
    const thread_progress::DelaySection section;
    const tracing::Tracer* const t = living_tracer();
    return t != nullptr ? copy_term(t->term(), h, false) : atoms::false_;
}

bool set_system_tracer(Term tracer, Heap& h, Term* old) {
    std::unique_ptr<tracing::Tracer> t;
    if (tracer != atoms::false_) {
        const bool is_module = is_tuple_of(tracer, 2) && is_atom(tuple_element(tracer, 0));
        if (!is_module && !tracing::tracer_exists(tracer)) {
            return false;
        }
        t = std::make_unique<tracing::Tracer>(tracer);
        if (is_module && !(nif::tracer::is_tracer(t->module()) &&
                           nif::tracer::is_active(*t, atoms::undefined))) {
            return false;
        }
    }
    {
        const thread_progress::DelaySection section;
        // acquire: as in living_tracer().
        const tracing::Tracer* const former = g_tracer.load(std::memory_order_acquire);
        *old = former != nullptr ? copy_term(former->term(), h, false) : atoms::false_;
    }
    // release: the tracer is complete. Pairs with living_tracer(). acquire: we free the former one.
    free_later(g_tracer.exchange(t.release(), std::memory_order_acq_rel));
    return true;
}

void reset_all() {
    // relaxed: a token that a process takes from a message at this moment may be valid or not.
    g_generation.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace minivm::seq_trace
