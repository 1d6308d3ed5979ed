// Calling native functions, at once or as enif_schedule_nif() asks.
#include "vm/code/export.hpp"
#include "vm/nif/environment.hpp"
#include "vm/nif/library.hpp"
#include "vm/nif/scheduled.hpp"
#include "vm/process/exception.hpp"
#include "vm/sched/scheduler.hpp"

namespace minivm::nif {

namespace {

// x0: the call as a magic reference, x1: its arguments as a tuple.
const Export* continuation(uint8_t flags) {
    static const Export* const plain = bif_export("minivm", "call_nif", 2);
    static const Export* const cpu = bif_export("minivm", "call_nif_dirty_cpu", 2);
    static const Export* const io = bif_export("minivm", "call_nif_dirty_io", 2);
    return (flags & kBifDirtyCpu) != 0 ? cpu : (flags & kBifDirtyIo) != 0 ? io : plain;
}

Term go_on_with(Process& p, Env& env) {
    auto* const next = static_cast<Scheduled*>(env.scheduled);
    env.scheduled = nullptr;
    const size_t n = env.scheduled_args.size();
    Term* t = p.heap.alloc(n + 1);
    t[0] = Term{make_header(Kind::tuple, n)};
    for (size_t i = 0; i < n; ++i) {
        t[i + 1] = env.scheduled_args[i];
    }
    const Export* const to = continuation(next->function.flags);
    const Term ref = make_magic_ref(p.heap, new_ref_id(p), next);
    const Term args = make_boxed(t);
    return out_of_reductions(p) ? yield(p, to, {ref, args}) : trap(p, to, {ref, args});
}

Term run(Process& p, const Function& f, Callable code, const Term* args, uint32_t arity) {
    Env env(p, f.library);
    const Term result{code(&env, static_cast<int>(arity), reinterpret_cast<const Word*>(args))};
    if (env.exception) {
        if (env.scheduled != nullptr) {
            env.scheduled->release();
        }
        return error(p, env.reason);
    }
    if (env.scheduled != nullptr) {
        if (!is_value(result)) {
            return go_on_with(p, env);
        }
        env.scheduled->release();
    }
    // One that returns nothing has not said what it raises.
    return is_value(result) ? result : error(p, atoms::badarg);
}

}  // namespace

Term call(Process& p, const Function& f, const Term* args) {
    // acquire: pairs with replace_functions().
    return run(p, f, f.code.load(std::memory_order_acquire), args, f.arity);
}

Scheduled::Scheduled(Library* l, Term module, Term name, uint32_t arity, uint8_t flags, Callable c)
    : function(module, name, arity) {
    function.flags = static_cast<uint8_t>(kBifNative | flags);
    function.library = l;
    // relaxed: handed over with the call.
    function.code.store(c, std::memory_order_relaxed);
    l->retain();
}
Scheduled::~Scheduled() {
    function.library->release();
}

Term call_scheduled(Process& p, Term ref, Term args) {
    const auto* const s = static_cast<const Scheduled*>(magic_object(ref));
    const auto n = static_cast<uint32_t>(tuple_arity(args));
    std::vector<Term> copy(tuple_elements(args), tuple_elements(args) + n);
    const Term r =
        run(p, s->function, s->function.code.load(std::memory_order_relaxed),  // relaxed:
            copy.data(), n);  // its own process made it
    if (!is_value(r) && p.outcome == BifOutcome::exception) {
        set_bif_args(p, s->function, copy.data());
    }
    return r;
}

}  // namespace minivm::nif
