// Calls of native functions, at once or later, as enif_schedule_nif() asks.
#include "vm/code/export.hpp"
#include "vm/nif/environment.hpp"
#include "vm/nif/library.hpp"
#include "vm/nif/scheduled.hpp"
#include "vm/process/continuation.hpp"
#include "vm/process/exception.hpp"
#include "vm/process/outcome.hpp"
#include "vm/sched/scheduler.hpp"

namespace minivm::nif {

namespace {

// The BIF that makes a scheduled call. x0: the call as a magic reference, x1: its arguments as a tuple, x2: the
// list of the arguments of the call from Erlang that led to it.
const Export* continuation(uint8_t flags) {
    static const Export* const plain = bif_export("minivm", "call_nif", 3);
    static const Export* const cpu = bif_export("minivm", "call_nif_dirty_cpu", 3);
    static const Export* const io = bif_export("minivm", "call_nif_dirty_io", 3);
    return (flags & kBifDirtyCpu) != 0 ? cpu : (flags & kBifDirtyIo) != 0 ? io : plain;
}

Term go_on_with(Process& p, Env& env, Term origin_args) {
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
    return out_of_reductions(p) ? yield(p, to, {ref, args, origin_args})
                                : trap(p, to, {ref, args, origin_args});
}

// origin_args: of the call from Erlang that led to this one; the non-value if this is that call.
Term run(Process& p, const Function& f, const Term* args, uint32_t arity, Term origin_args) {
    Env env(p, f.library);
    env.function = &f;
    // acquire: pairs with replace_functions().
    const Callable code = f.code.load(std::memory_order_acquire);
    const bool of_vm = f.library->handle == nullptr;
    std::vector<Word> words;
    const Word answer = code(&env, static_cast<int>(arity), of_vm ? reinterpret_cast<const Word*>(args) : words_of(args, arity, &words));
    const Term result = of_vm ? Term{answer} : term_of(answer);
    if (env.exception) {
        if (env.scheduled != nullptr) {
            env.scheduled->release();
        }
        return error(p, env.reason);
    }
    if (env.scheduled != nullptr) {
        if (!is_value(result)) {
            if (!is_value(origin_args)) {
                origin_args = kNil;
                for (uint32_t i = arity; i > 0; --i) {
                    origin_args = cons(p.heap, args[i - 1], origin_args);
                }
            }
            return go_on_with(p, env, origin_args);
        }
        env.scheduled->release();
    }
    // A function that returns no term has not said what it raises.
    return is_value(result) ? result : error(p, atoms::badarg);
}

}  // namespace

Term call(Process& p, const Function& f, const Term* args) {
    return run(p, f, args, f.arity, kNonValue);
}

Scheduled::Scheduled(const Function& origin, uint8_t flags, Callable c)
    : function(origin.exp->module, origin.exp->function, origin.arity) {
    function.flags = static_cast<uint8_t>(kBifNative | flags);
    function.library = origin.library;
    // relaxed: the thread that makes the call gets it with the process.
    function.code.store(c, std::memory_order_relaxed);
    function.library->retain();
}
Scheduled::~Scheduled() {
    function.library->release();
}

Term call_scheduled(Process& p, Term ref, Term args, Term origin_args) {
    const Function& f = held_state<const Scheduled>(ref)->function;
    const auto n = static_cast<uint32_t>(tuple_arity(args));
    const std::vector<Term> copy(tuple_elements(args), tuple_elements(args) + n);
    const Term r = run(p, f, copy.data(), n, origin_args);
    if (!is_value(r) && p.outcome == BifOutcome::exception) {
        // The trace shows the call from Erlang.
        p.exception.bif = &f;
        p.exception.args = origin_args;
    }
    return r;
}

}  // namespace minivm::nif

namespace minivm {

void see_native(const BifDef& function) {
    // acquire: native code has read the pointer without; the flags were written before it.
    static_cast<const nif::Function&>(function).code.load(std::memory_order_acquire);
}

Term call_native(Process& p, const BifDef& function, Term* x) {
    return nif::call(p, static_cast<const nif::Function&>(function), x);
}

}  // namespace minivm
