// Processes and ports, messages, time, time slices, scheduled calls.
#include "vm/instr/bif_def.hpp"
#include "vm/nif/api.hpp"
#include "vm/nif/library.hpp"
#include "vm/nif/scheduled.hpp"
#include "vm/process/clock.hpp"
#include "vm/process/dirty_hold.hpp"
#include "vm/process/outcome.hpp"
#include "vm/process/ports.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/registry.hpp"
#include "vm/process/signal.hpp"
#include "vm/process/state.hpp"
#include "vm/process/tracing.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/term/binary.hpp"

#include <ctime>

namespace minivm::nif {

namespace {

// Call it in a delay section. Null: there is no such process, or it is exiting.
Process* living(Term pid) {
    Process* const p = is_local_pid(pid) ? process_table::lookup(pid) : nullptr;
    // acquire: a thread that was told of the exit sees it.
    return p != nullptr && (p->state.load(std::memory_order_acquire) & process_state::kExiting) == 0
               ? p
               : nullptr;
}

bool is_unit(int unit) {
    return unit >= kSecond && unit <= kNanosecond;
}
int64_t per_second(int unit) {
    static constexpr int64_t kParts[] = {1, 1000, 1000000, 1000000000};
    return kParts[unit];
}

// floor(v * to / from), also for negative v.
int64_t converted(int64_t v, int64_t from, int64_t to) {
    const __int128 product = static_cast<__int128>(v) * to;
    __int128 quotient = product / from;
    if (product % from < 0) {
        --quotient;
    }
    return static_cast<int64_t>(quotient);
}

}  // namespace

Signal* take_message(Env& env, Term t, seq_trace::Token* token) {
    Signal* const s = token != nullptr ? new_signal(SignalKind::message, kNonValue) : new_message(kNil);
    seq_trace::attach(*s, token);
    s->term = t;
    if (!is_immediate(t)) {
        take_fragments(*s, env.own_heap);
        env.own_heap.fragment_words = 0;
        env.own_heap.off_heap_bytes = 0;
    }
    return s;
}

// The process that calls the function has been ended meanwhile (end_dirty_process()), so it must not send any more.
static bool is_left(const Env* env) {
    // relaxed: a message that is sent during the exit may arrive or not.
    return env != nullptr && env->function != nullptr &&
           (env->process->state.load(std::memory_order_relaxed) & process_state::kExiting) != 0;
}

extern "C" {

// ---- processes ----------------------------------------------------------------------------------

Pid* enif_self(Env* env, Pid* pid) {
    if (env->process == nullptr) {
        return nullptr;
    }
    pid->id = env->process->id.raw;
    return pid;
}
int enif_get_local_pid(Env*, Word t, Pid* pid) {
    if (!is_local_pid(term_of(t))) {
        return 0;
    }
    pid->id = t;
    return 1;
}
void enif_set_pid_undefined(Pid* pid) {
    pid->id = atoms::undefined.raw;
}
int enif_is_pid_undefined(const Pid* pid) {
    return pid->id == atoms::undefined.raw;
}

int enif_whereis_pid(Env*, Word name, Pid* pid) {
    const Term found = is_atom(term_of(name)) ? registry::whereis(term_of(name)) : kNonValue;
    if (!is_local_pid(found)) {
        return 0;
    }
    pid->id = found.raw;
    return 1;
}
int enif_is_process_alive(Env*, Pid* pid) {
    const thread_progress::DelaySection section;
    return living(Term{pid->id}) != nullptr;
}
int enif_is_current_process_alive(Env* env) {
    Process& p = *env->process;
    const dirty::Hold hold(p);  // on a dirty scheduler: a thread that ends the process takes its signals
    return !p.is_exiting() && !will_exit(p);
}
int enif_send(Env* env, const Pid* to, Env* message_env, Word message) {
    if (is_left(env)) {
        return 0;
    }
    const Term pid{to->id};
    const thread_progress::DelaySection section;
    Process* const receiver = living(pid);
    if (receiver == nullptr) {
        return 0;
    }
    // A message that a called function sends is an event; one of a callback, such as a tracer's, is none.
    if (env != nullptr && env->function != nullptr &&
        tracing::is_traced(*env->process, tracing::kSend)) {
        tracing::g_hooks->sent(*env->process, pid, term_of(message), true);
    }
    Signal* s = nullptr;
    if (message_env != nullptr && message_env->process == nullptr) {
        // As on OTP the token of sequential tracing goes with such a message only.
        const bool from_process = env != nullptr && env->function != nullptr;
        s = take_message(*message_env, term_of(message),
                         from_process && seq_trace::has_token(*env->process)
                             ? seq_trace::sending(*env->process, pid, term_of(message))
                             : nullptr);
        s->from_process = from_process;
        message_env->clear();
    } else {
        s = new_message(term_of(message));
    }
    if (env != nullptr && env->function != nullptr) {  // else it is not the process's work
        consume(*env->process, 1);
    }
    if (!push_message(*receiver, s)) {
        free_signal(s);
        return 0;
    }
    return 1;
}

// ---- ports --------------------------------------------------------------------------------------

int enif_get_local_port(Env*, Word t, Port* port) {
    if (!is_local_port(term_of(t))) {
        return 0;
    }
    port->id = t;
    return 1;
}
int enif_whereis_port(Env*, Word name, Port* port) {
    const Term found = is_atom(term_of(name)) ? registry::whereis(term_of(name)) : kNonValue;
    if (!is_local_port(found)) {
        return 0;
    }
    port->id = found.raw;
    return 1;
}
int enif_is_port_alive(Env*, Port* port) {
    return port::exists(Term{port->id});
}
int enif_port_command(Env* env, const Port* to, Env* message_env, Word message) {
    std::string bytes;
    if (is_left(env) || !port::exists(Term{to->id})) {
        return 0;
    }
    if (!iolist_to_bytes(term_of(message), &bytes)) {
        port::report_bad_value(Term{to->id});
        return 0;
    }
    const Term from = env != nullptr && env->process != nullptr ? env->process->id : kNonValue;
    const bool sent = port::command(Term{to->id}, &bytes, true, kNonValue, from) == port::Sent::done;
    if (sent && message_env != nullptr && message_env->process == nullptr) {
        message_env->clear();
    }
    return sent;
}

// ---- time ---------------------------------------------------------------------------------------

int64_t enif_monotonic_time(int unit) {
    return is_unit(unit) && this_scheduler() != nullptr
               ? converted(clock::monotonic_ns(), 1000000000, per_second(unit))
               : kTimeError;
}
int64_t enif_time_offset(int unit) {
    return is_unit(unit) && this_scheduler() != nullptr
               ? converted(clock::offset_ns(), 1000000000, per_second(unit))
               : kTimeError;
}
int64_t enif_convert_time_unit(int64_t v, int from, int to) {
    return is_unit(from) && is_unit(to) ? converted(v, per_second(from), per_second(to))
                                        : kTimeError;
}
Word enif_now_time(Env* env) {
    return clock::now(heap_of(env)).raw;
}
Word enif_cpu_time(Env* env) {
    return clock::cpu_time(heap_of(env)).raw;
}
Word enif_make_unique_integer(Env* env, int properties) {
    return word_of(clock::unique_integer(heap_of(env), (properties & kMonotonic) != 0,
                                         (properties & kPositive) != 0));
}

// ---- time slices --------------------------------------------------------------------------------

int enif_consume_timeslice(Env* env, int percent) {
    Process& p = *env->process;
    percent = percent < 1 ? 1 : percent > 100 ? 100 : percent;
    consume(p, kSliceReductions * percent / 100);
    return out_of_reductions(p);
}

Word enif_schedule_nif(Env* env, const char* name, int flags, Callable code, int argc,
                       const Word* argv) {
    constexpr int kMaxArguments = 255;
    const Term atom = argc < 0 || argc > kMaxArguments || env->function == nullptr ? kNonValue
                                                                                  : atom_table::intern_latin1(name);
    if (!is_value(atom) || (flags != 0 && flags != kDirtyCpu && flags != kDirtyIo)) {
        return swap_zero(raise_badarg(env));
    }
    if (env->scheduled != nullptr) {
        env->scheduled->release();
    }
    const auto where = static_cast<uint8_t>(flags == kDirtyCpu  ? kBifDirtyCpu
                                            : flags == kDirtyIo ? kBifDirtyIo
                                                                : kBifPlain);
    env->scheduled = new Scheduled(*env->function, where, code);
    env->scheduled_args.clear();
    for (int i = 0; i < argc; ++i) {
        env->scheduled_args.push_back(term_of(argv[i]));
    }
    return word_of(kNonValue);
}

}  // extern "C"

}  // namespace minivm::nif
