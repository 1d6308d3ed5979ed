// Functions of erts_debug for tests and debugging tools: running on dirty schedulers, instructions, the
// shape of maps.
#include "vm/bif/bif.hpp"
#include "vm/bif/system/system_areas.hpp"
#include "vm/instr/lowered.hpp"
#include "vm/process/signal.hpp"
#include "vm/process/state.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/local_atoms.hpp"
#include "vm/util/otp_release.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

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

// Fails with a reason that functions of the VM have; badarg for any other.
Term fail_as_asked(Process& p, Term reason) {
    for (const char* known : {"undef", "badarith", "system_limit", "noproc"}) {
        if (reason == atom_table::intern(known)) {
            return error(p, reason);
        }
    }
    return badarg(p);
}

// erts_debug:dirty_cpu(What, Argument) and the like. `again`: the function itself, for `reschedule`.
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
        // Until a signal ends the process, and then still for a while.
        // relaxed: the bit is seen sooner or later.
        while ((p.state.load(std::memory_order_relaxed) & process_state::kExiting) == 0 && !vm::is_halting()) {
            sleep_ms(1);
        }
        for (int ms = 0; ms < 1000 && !vm::is_halting(); ++ms) {
            sleep_ms(1);
        }
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
        return fail_as_asked(p, a[2]);  // as an error of dirty/3 itself
    }
    if (a[0] == atom_dirty_cpu()) {
        return trap(p, cpu, {a[1], a[2]});
    }
    if (a[0] == atom_dirty_io()) {
        return trap(p, io, {a[1], a[2]});
    }
    return a[0] == atoms::normal ? on_this_scheduler(p, a + 1) : badarg(p);
}

// There are no instructions of OTP's interpreter to show, as in an OTP with its JIT.
Term erts_debug_disassemble_1(Process&, const Term*) {
    return atoms::false_;
}

// The names of all lowered instructions, as strings.
Term erts_debug_instructions_0(Process& p, const Term*) {
    Term list = kNil;
    for (size_t i = static_cast<size_t>(Op::kCount); i > 0; --i) {
        const std::string_view name = instr_info(static_cast<Op>(i - 1)).name;
        list = cons(p.heap, make_string(p.heap, name.data(), name.size()), list);
    }
    return list;
}

// Locks are not counted, as in an OTP that is not built for it.
Term lcnt_error(Process&, const Term*) { return atoms::error; }
Term lcnt_badarg(Process& p, const Term*) { return badarg(p); }

// {Allocator, Scheduler, Width, Start, Flags, Ref} -> the number of messages that follow: none, for any allocator.
Term gather_from_allocator(Process& p, const Term* a) {
    if (!is_tuple_of(a[0], 6)) {
        return badarg(p);
    }
    const Term name = tuple_element(a[0], 0);
    const Term scheduler = tuple_element(a[0], 1);
    if (!is_atom(name) || !is_value(allocator_info(p.heap, name, true)) || !is_small(scheduler) ||
        small_value(scheduler) < 0 || small_value(scheduler) > vm::scheduler_count()) {
        return badarg(p);
    }
    return make_small(0);
}

// How the nodes of a large map are used: [{depth, N}, {arrays, N, []}, {collisions, N, BySize},
// {bitmaps, N, BySize}, {leafs, N, ByLevel}]. The form is OTP's; the numbers are of our trie, whose nodes
// have up to 32 children: nodes with more than 16 count as 16.
Term erts_debug_map_info_1(Process& p, const Term* a) {
    if (!is_map(a[0])) {
        return error(p, make_tuple(p.heap, atoms::badmap, a[0]));
    }
    if (kind_of(a[0]) != Kind::hash_map) {
        return badarg(p);
    }
    constexpr size_t kSizes = 16;
    constexpr size_t kLevels = 18;
    int64_t nodes_of_size[kSizes] = {};
    int64_t collisions_of_size[kSizes] = {};
    int64_t leafs_of_level[kLevels] = {};
    int64_t nodes = 0;
    int64_t collisions = 0;
    int64_t leafs = 0;
    size_t depth = 0;
    std::vector<std::pair<Term, size_t>> open{{boxed_ptr(a[0])[2], 0}};
    while (!open.empty()) {
        const auto [t, level] = open.back();
        open.pop_back();
        if (is_cons(t)) {
            ++leafs;
            ++leafs_of_level[level];
            continue;
        }
        depth = std::max(depth, level + 1);
        const Term* node = boxed_ptr(t);
        const size_t words = header_arity(node->raw);
        if (kind_of(t) == Kind::map_collision) {
            const size_t pairs = words / 2;
            ++collisions;
            ++collisions_of_size[std::min(pairs, kSizes) - 1];
            leafs += static_cast<int64_t>(pairs);
            leafs_of_level[level + 1] += static_cast<int64_t>(pairs);
            continue;
        }
        ++nodes;
        ++nodes_of_size[std::min(words - 1, kSizes) - 1];
        for (size_t i = 2; i <= words; ++i) {
            open.emplace_back(node[i], level + 1);
        }
    }
    Heap& h = p.heap;
    const auto tuple = [&h](const int64_t* numbers, size_t n) {
        Term* t = h.alloc(n + 1);
        t[0] = Term{make_header(Kind::tuple, n)};
        for (size_t i = 0; i < n; ++i) {
            t[i + 1] = make_small(numbers[i]);
        }
        return make_boxed(t);
    };
    const auto name = [](const char* text) { return atom_table::intern(text); };
    Term list = cons(h, make_tuple(h, name("leafs"), make_small(leafs), tuple(leafs_of_level, kLevels)), kNil);
    list = cons(h, make_tuple(h, name("bitmaps"), make_small(nodes), tuple(nodes_of_size, kSizes)), list);
    if (by_release::at_least(26)) {
        const Term of_size = tuple(collisions_of_size, kSizes);
        list = cons(h, make_tuple(h, name("collisions"), make_small(collisions), of_size), list);
    }
    list = cons(h, make_tuple(h, name("arrays"), make_small(0), kNil), list);
    return cons(h, make_tuple(h, name("depth"), make_small(static_cast<int64_t>(depth))), list);
}

}  // namespace

MINIVM_BIF_TABLE(debug) = {
    {"erts_debug", "lcnt_clear", 0, lcnt_error, kBifPlain, nullptr},
    {"erts_debug", "lcnt_collect", 0, lcnt_error, kBifPlain, nullptr},
    {"erts_debug", "lcnt_control", 1, lcnt_badarg, kBifPlain, nullptr},
    {"erts_debug", "lcnt_control", 2, lcnt_badarg, kBifPlain, nullptr},
    {"erts_internal", "gather_alloc_histograms", 1, gather_from_allocator, kBifPlain, nullptr},
    {"erts_internal", "gather_carrier_info", 1, gather_from_allocator, kBifPlain, nullptr},
    {"erts_debug", "map_info", 1, erts_debug_map_info_1, kBifPlain, nullptr},
    {"erts_debug", "disassemble", 1, erts_debug_disassemble_1, kBifPlain, nullptr},
    {"erts_debug", "instructions", 0, erts_debug_instructions_0, kBifPlain, nullptr},
    {"erts_debug", "dirty_cpu", 2, erts_debug_dirty_cpu_2, kBifDirtyCpu | kBifLeavable, nullptr},
    {"erts_debug", "dirty_io", 2, erts_debug_dirty_io_2, kBifDirtyIo | kBifLeavable, nullptr},
    {"erts_debug", "dirty", 3, erts_debug_dirty_3, kBifPlain, nullptr},
    {"minivm", "dirty_normal", 2, on_this_scheduler, kBifHidden, nullptr},
};

}  // namespace minivm
