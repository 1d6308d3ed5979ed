// What tests and debugging tools ask of erts_debug: functions that run on dirty schedulers,
// instructions.
#include "vm/bif/bif.hpp"
#include "vm/instr/lowered.hpp"
#include "vm/process/signal.hpp"
#include "vm/process/state.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/local_atoms.hpp"

#include <chrono>
#include <thread>

namespace minivm {

namespace {

LOCAL_ATOM(atom_dirty_cpu, "dirty_cpu")
LOCAL_ATOM(atom_dirty_io, "dirty_io")
LOCAL_ATOM(atom_ready_wait6_done, "ready_wait6_done")
LOCAL_ATOM(atom_alive_waitexiting, "alive_waitexiting")
LOCAL_ATOM(atom_ready, "ready")
LOCAL_ATOM(atom_reschedule, "reschedule")
LOCAL_ATOM(atom_done, "done")
LOCAL_ATOM(atom_alive, "alive")

void sleep_ms(int64_t ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

void tell(Term pid, Term message) {
    send_message_to_pid(pid, message);
}

// The reasons that the functions of the VM have; with any other it is badarg.
Term fail_as_asked(Process& p, Term reason) {
    for (const char* known : {"undef", "badarith", "system_limit", "noproc"}) {
        if (reason == atom_table::intern(known)) {
            return error(p, reason);
        }
    }
    return badarg(p);
}

// erts_debug:dirty_cpu(What, Argument) and the like. What reschedules comes here again with `again`.
Term dirty(Process& p, Term kind, Term what, Term argument, const Export* again) {
    if (what == atoms::scheduler) {
        return kind;
    }
    if (what == atoms::error) {
        return fail_as_asked(p, argument);
    }
    if (what == atom_reschedule()) {
        int64_t times = 0;
        if (!get_int64(argument, &times)) {
            return badarg(p);
        }
        return times <= 0 ? atoms::ok : yield(p, again, {what, make_integer(p.heap, times - 1)});
    }
    if (what == atoms::copy) {
        constexpr int kCopies = 1000;
        Term list = kNil;
        for (int i = 0; i < kCopies; ++i) {
            list = cons(p.heap, copy_term(argument, p.heap, true), list);
        }
        return list;
    }
    if (what == atoms::wait) {
        int64_t ms = 0;
        if (!get_int64(argument, &ms) || ms < 0) {
            return badarg(p);
        }
        sleep_ms(ms);
        return atoms::ok;
    }
    if (what == atom_ready_wait6_done() && is_local_pid(argument)) {
        tell(argument, make_tuple(p.heap, atom_ready(), p.id));
        sleep_ms(6000);
        tell(argument, make_tuple(p.heap, atom_done(), p.id));
        return atoms::ok;
    }
    if (what == atom_alive_waitexiting() && is_local_pid(argument)) {
        tell(argument, make_tuple(p.heap, atom_alive(), p.id));
        // Until a signal ends us, and then still for a while.
        // relaxed: it comes to be seen.
        while ((p.state.load(std::memory_order_relaxed) & process_state::kExiting) == 0 && !vm::is_halting()) {
            sleep_ms(1);
        }
        sleep_ms(vm::is_halting() ? 0 : 1000);
        return atoms::ok;
    }
    return badarg(p);
}

Term erts_debug_dirty_cpu_2(Process& p, const Term* a) {
    static const Export* again = bif_export("erts_debug", "dirty_cpu", 2);
    return dirty(p, atom_dirty_cpu(), a[0], a[1], again);
}
Term erts_debug_dirty_io_2(Process& p, const Term* a) {
    static const Export* again = bif_export("erts_debug", "dirty_io", 2);
    return dirty(p, atom_dirty_io(), a[0], a[1], again);
}

Term on_this_scheduler(Process& p, const Term* a) {
    static const Export* again = bif_export("minivm", "dirty_normal", 2);
    return dirty(p, atoms::normal, a[0], a[1], again);
}

// erts_debug:dirty(Where, What, Argument): Where is dirty_cpu, dirty_io or normal.
Term erts_debug_dirty_3(Process& p, const Term* a) {
    static const Export* cpu = bif_export("erts_debug", "dirty_cpu", 2);
    static const Export* io = bif_export("erts_debug", "dirty_io", 2);
    if (a[1] == atoms::error && (a[0] == atom_dirty_cpu() || a[0] == atom_dirty_io())) {
        return fail_as_asked(p, a[2]);  // as the function that was called
    }
    if (a[0] == atom_dirty_cpu()) {
        return trap(p, cpu, {a[1], a[2]});
    }
    if (a[0] == atom_dirty_io()) {
        return trap(p, io, {a[1], a[2]});
    }
    return a[0] == atoms::normal ? on_this_scheduler(p, a + 1) : badarg(p);
}

// No instructions of OTP's interpreter are there to be shown, as in an OTP with its JIT.
Term erts_debug_disassemble_1(Process&, const Term*) {
    return atoms::false_;
}

// The names of the instructions that there are, as strings.
Term erts_debug_instructions_0(Process& p, const Term*) {
    Term list = kNil;
    for (size_t i = static_cast<size_t>(Op::kCount); i > 0; --i) {
        const std::string_view name = instr_info(static_cast<Op>(i - 1)).name;
        list = cons(p.heap, make_string(p.heap, name.data(), name.size()), list);
    }
    return list;
}

}  // namespace

MINIVM_BIF_TABLE(debug) = {
    {"erts_debug", "disassemble", 1, erts_debug_disassemble_1, kBifPlain, nullptr},
    {"erts_debug", "instructions", 0, erts_debug_instructions_0, kBifPlain, nullptr},
    {"erts_debug", "dirty_cpu", 2, erts_debug_dirty_cpu_2, kBifDirtyCpu | kBifLeavable, nullptr},
    {"erts_debug", "dirty_io", 2, erts_debug_dirty_io_2, kBifDirtyIo | kBifLeavable, nullptr},
    {"erts_debug", "dirty", 3, erts_debug_dirty_3, kBifPlain, nullptr},
    {"minivm", "dirty_normal", 2, on_this_scheduler, kBifHidden, nullptr},
};

}  // namespace minivm
