#include "trace/saved_calls.hpp"

#include "trace/pattern.hpp"
#include "trace/session.hpp"
#include "trace/tracer.hpp"
#include "vm/bif/code/code_operation.hpp"
#include "vm/code/permission.hpp"
#include "vm/process/extra.hpp"
#include "vm/progress/thread_progress.hpp"

#include <memory>
#include <mutex>
#include <vector>

namespace minivm::trace::saved_calls {
namespace {

constexpr uint32_t kFlags = tracing::kCall | tracing::kSend | tracing::kReceive;

std::mutex g_saved_calls_lock;
// Guarded by the lock. The session exists while there are savers: processes whose flags are set or will be.
SessionPtr g_session;
uint32_t g_savers = 0;

// The session, with one more saver. *is_new: the caller has to set its patterns.
SessionPtr hold(bool* is_new) {
    const std::lock_guard lock(g_saved_calls_lock);
    ++g_savers;
    *is_new = g_session == nullptr;
    if (*is_new) {
        g_session = create_session(atoms::save_calls, Tracer::borrowed(atoms::save_calls));
    }
    return g_session;
}

// Whether the last call that p saved is of erlang:send/2 or /3.
bool calls_send(const Process& p) {
    const SavedCalls* saved = p.extra != nullptr ? p.extra->saved_calls.get() : nullptr;
    if (saved == nullptr || saved->calls.empty()) {
        return false;
    }
    static const Term send = atom_table::intern("send");
    const SavedCalls::Call& last = saved->last();
    return last.module == atoms::erlang && last.function == send;
}

}  // namespace

bool begin(Process& p, Term function, std::initializer_list<Term> args, Term* answer) {
    // Also where the session exists already: its patterns are in place when their change has released the permission.
    Term wait = kNonValue;
    if (!has_code_permission(p, function, args, &wait)) {
        *answer = wait;
        return false;
    }
    bool is_new = false;
    const SessionPtr session = hold(&is_new);
    if (!is_new) {
        code_permission::release();
        return true;
    }
    Request r;
    r.which = {atoms::underscore, atoms::underscore, -1};
    r.global = true;
    session->patterns.on_load.change(r);
    Change change(session->number, session->tracer);
    apply_request(*session, r, &change);
    code_change::ForProcess* op = new_code_operation(p);
    change.apply(op);
    *answer = await_code_change(p, op, *answer);
    return true;
}

void set(Process& p, uint32_t n) {
    ProcessExtra* e = p.extra;
    const bool saved = e != nullptr && e->saved_calls != nullptr;
    if (n == 0 && !saved) {
        return;
    }
    uint32_t session = 0;
    {
        const std::lock_guard lock(g_saved_calls_lock);
        session = g_session->number;  // not null: p is a saver, or begin() has counted one for it
    }
    e = &extra_of(p);
    e->saved_calls = n != 0 ? std::make_unique<SavedCalls>(n) : nullptr;
    if (n == 0) {
        change_flags(p, session, kFlags, 0, nullptr);
    } else if (!saved) {
        const Tracer tracer = Tracer::borrowed(atoms::save_calls);
        change_flags(p, session, 0, kFlags, &tracer);
    }
    if (saved) {
        end();  // p saves no more, or begin() has counted it a second time
    }
}

void end() {
    SessionPtr over;
    {
        const std::lock_guard lock(g_saved_calls_lock);
        if (--g_savers == 0) {
            over = std::move(g_session);
            g_session = nullptr;
        }
    }
    if (over != nullptr) {
        destroy_later(over->number);
    }
}

void save(Process& p, Term module, Term function, uint32_t arity) {
    if (p.extra != nullptr && p.extra->saved_calls != nullptr) {
        p.extra->saved_calls->save({module, function, arity});
    }
}
void save(Process& p, Term what) {
    // In OTP the operator `!` is a call of this function.
    static const Term send = atom_table::intern("send");
    if (what == send && !calls_send(p)) {
        save(p, atoms::erlang, send, 2);
    }
    save(p, kNonValue, what, 0);
}

}  // namespace minivm::trace::saved_calls
