#include "trace/session.hpp"

#include "vm/instr/bif_def.hpp"
#include "vm/process/process_life.hpp"
#include "vm/process/scheduling.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/local_atoms.hpp"

#include <mutex>

namespace minivm::trace {
namespace {

LOCAL_ATOM(atom_legacy_session, "legacy")

using List = std::vector<Session*>;

Session& legacy() {
    static Session session(0, atom_legacy_session(), Tracer());
    return session;
}

std::mutex g_sessions_lock;
std::vector<SessionPtr> g_sessions;  // guarded by the lock; without session 0
uint32_t g_next_number = 1;          // likewise
// The sessions for find_session(): replaced as a whole.
std::atomic<const List*> g_live{nullptr};
std::mutex g_events_lock;  // held while a session's EventPatterns are replaced

// Returns the former list for forget(), to be called without the lock: later() may run deferred work, which may
// look up a session.
const List* publish_locked() {
    auto* live = new List;
    for (const SessionPtr& s : g_sessions) {
        live->push_back(s.get());
    }
    // release: the sessions in it are complete. Pairs with find_session().
    return g_live.exchange(live, std::memory_order_acq_rel);
}
void forget(const List* old) {
    if (old != nullptr) {
        thread_progress::later([](void* d) { delete static_cast<List*>(d); },
                               const_cast<List*>(old));
    }
}

// Deferred work. A process destroys the session, as that has to wait.
void destroy_by_process(void* d) {
    static const Export* const destroy = bif_export("erts_internal", "trace_session_destroy", 1);
    const std::unique_ptr<uint32_t> number(static_cast<uint32_t*>(d));
    const SessionPtr s = session_of(*number);
    if (s == nullptr) {
        return;
    }
    Heap h;
    const Term args = cons(h, weak_handle(h, *s), kNil);
    SpawnOptions options;
    spawn(nullptr, destroy, args, options);
}

struct Handle final : MagicObject {
    explicit Handle(uint32_t number_) : number(number_) {}
    ~Handle() override {
        // Deferred: a collection may run this.
        destroy_later(number);
    }
    const uint32_t number;
};

}  // namespace

void destroy_later(uint32_t number) {
    thread_progress::later(destroy_by_process, new uint32_t(number));
}

Session::~Session() {
    // relaxed: no other thread has the session any more.
    delete events.load(std::memory_order_relaxed);
}

SessionPtr create_session(Term name, const Tracer& tracer) {
    SessionPtr s;
    const List* old = nullptr;
    {
        const std::lock_guard lock(g_sessions_lock);
        s = std::make_shared<Session>(g_next_number++, name, tracer);
        g_sessions.push_back(s);
        old = publish_locked();
    }
    forget(old);
    return s;
}

SessionPtr session_of(uint32_t number) {
    if (number == 0) {
        return {&legacy(), [](Session*) {}};
    }
    const std::lock_guard lock(g_sessions_lock);
    for (const SessionPtr& s : g_sessions) {
        if (s->number == number) {
            return s;
        }
    }
    return nullptr;
}

std::vector<SessionPtr> all_sessions() {
    std::vector<SessionPtr> all;
    {
        const std::lock_guard lock(g_sessions_lock);
        all = g_sessions;
    }
    all.push_back(session_of(0));
    return all;
}

const Session* find_session(uint32_t number) {
    if (number == 0) {
        return &legacy();
    }
    // acquire: pairs with publish_locked().
    const List* live = g_live.load(std::memory_order_acquire);
    if (live != nullptr) {
        for (const Session* s : *live) {
            if (s->number == number) {
                return s;
            }
        }
    }
    return nullptr;
}

bool end_session(uint32_t number) {
    SessionPtr* last = nullptr;
    const List* old = nullptr;
    {
        const std::lock_guard lock(g_sessions_lock);
        for (auto at = g_sessions.begin(); at != g_sessions.end(); ++at) {
            if ((*at)->number == number) {
                last = new SessionPtr(std::move(*at));
                g_sessions.erase(at);
                old = publish_locked();
                break;
            }
        }
    }
    if (last == nullptr) {
        return false;
    }
    forget(old);
    // Threads that found it before may use it until then.
    thread_progress::later([](void* d) { delete static_cast<SessionPtr*>(d); }, last);
    return true;
}

// ---- patterns for messages ----------------------------------------------------------------------

EventPatterns event_patterns(const Session& s) {
    const thread_progress::DelaySection section;
    // acquire: pairs with change_event_patterns().
    const EventPatterns* e = s.events.load(std::memory_order_acquire);
    return e != nullptr ? *e : EventPatterns{};
}

void change_event_patterns(Session& s, const std::function<void(EventPatterns&)>& change) {
    const EventPatterns* old = nullptr;
    {
        const std::lock_guard lock(g_events_lock);
        // relaxed: the lock orders it, under which alone patterns are replaced.
        old = s.events.load(std::memory_order_relaxed);
        auto* const now = old != nullptr ? new EventPatterns(*old) : new EventPatterns;
        change(*now);
        // release: the new patterns are complete. Pairs with event_patterns() and the hooks.
        s.events.store(now, std::memory_order_release);
    }
    // Readers may use the former ones until thread progress.
    if (old != nullptr) {
        thread_progress::later([](void* d) { delete static_cast<EventPatterns*>(d); },
                               const_cast<EventPatterns*>(old));
    }
}

// ---- handles ------------------------------------------------------------------------------------

Term weak_handle(Heap& h, const Session& s) {
    return make_tuple(h, s.name,
                      s.number == 0 ? atoms::default_ : make_small(int64_t{s.number} - 1));
}

Term make_handle(Process& p, const Session& s) {
    const Term ref = make_magic_ref(p.heap, new_ref_id(p), new Handle(s.number));
    return make_tuple(p.heap, ref, weak_handle(p.heap, s));
}

SessionPtr session_of_handle(Term handle) {
    if (!is_tuple_of(handle, 2)) {
        return nullptr;
    }
    const Term first = tuple_element(handle, 0);
    const Term second = tuple_element(handle, 1);
    uint32_t number = 0;
    if (is_magic_ref(first)) {
        const auto* h = dynamic_cast<const Handle*>(magic_object(first));
        number = h != nullptr ? h->number : 0;
    } else if (is_atom(first) && is_small(second) && small_value(second) >= 0 &&
               small_value(second) < UINT32_MAX) {
        number = static_cast<uint32_t>(small_value(second)) + 1;
    }
    const SessionPtr s = number != 0 ? session_of(number) : nullptr;
    return s != nullptr && (is_magic_ref(first) || s->name == first) ? s : nullptr;
}

}  // namespace minivm::trace
