#include "vm/bif/system/system_constants.hpp"

#include <string>
#include <vector>

#include "vm/bif/bif.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/bignum.hpp"
#include "vm/util/otp_release.hpp"

namespace minivm {
namespace {

struct NamedAtom {
    std::string_view item;
    std::string_view value;
};
struct NamedNumber {
    std::string_view item;
    int64_t value;
};

constexpr NamedAtom kAtoms[] = {
    {"break_ignored", "false"},
    {"constant_pool_support", "true"},
    {"debug_compiled", "false"},
    {"dynamic_trace", "none"},
    {"dynamic_trace_probes", "false"},
    {"eager_check_io", "true"},
    {"endian", "little"},
    {"ets_always_compress", "false"},
    {"ets_realloc_moves", "false"},
    {"heap_type", "private"},
    {"hipe_architecture", "undefined"},
    {"io_thread", "false"},
    {"kernel_poll", "true"},
    {"literal_test", "range"},
    {"lock_checking", "false"},
    {"lock_counting", "false"},
    {"message_queue_data", "on_heap"},
    {"modified_timing_level", "undefined"},
    {"port_parallelism", "false"},
    {"port_tasks", "true"},
    {"smp_support", "true"},
    {"threads", "true"},
    {"threads_enabled", "true"},
    {"time_correction", "true"},
    {"tolerant_timeofday", "enabled"},
};

constexpr NamedNumber kNumbers[] = {
    {"delayed_node_table_gc", 60},
    {"ets_limit", 8192},
    {"port_limit", 65536},
    {"ethread_used_tse", 0},
    {"process_limit", 1048576},
    {"thread_pool_size", 1},
    {"wordsize", 8},
};

Term text_term(Heap& h, std::string_view s) { return make_string_utf8(h, s.data(), s.size()); }

}  // namespace

Term system_constant(Heap& h, std::string_view item) {
    for (const NamedAtom& named : kAtoms) {
        if (named.item == item) {
            return atom_table::intern(named.value);
        }
    }
    for (const NamedNumber& named : kNumbers) {
        if (named.item == item) {
            return make_small(named.value);
        }
    }
    const OtpRelease& release = otp_release();
    if (item == "otp_release") {
        return text_term(h, std::to_string(release.number));
    }
    if (item == "version") {
        return text_term(h, release.erts_version);
    }
    if (item == "compat_rel") {
        return make_small(release.number);
    }
    if (item == "system_version") {
        return text_term(h, "Erlang/OTP " + std::to_string(release.number) + " [minivm] [64-bit] [smp:" +
                                std::to_string(vm::scheduler_count()) + "]\n");
    }
    if (item == "nif_version") {
        return text_term(h, "2." + std::to_string(by_release::nif_minor_version()));
    }
    if (item == "driver_version") {
        return text_term(h, "3.3");
    }
    if (item == "max_integer" && by_release::at_least(27)) {
        const std::vector<uint64_t> limbs(by_release::max_big_limbs(), ~uint64_t{0});
        return bignum::from_limbs(h, false, limbs.data(), limbs.size());
    }
    if (item == "halt_flush_timeout" && by_release::at_least(27)) {
        return atom_table::intern("infinity");
    }
    // The clock never jumps here; from OTP 26 on programs are told to expect that it may.
    if (item == "time_warp_mode") {
        return atom_table::intern(by_release::at_least(26) ? "multi_time_warp" : "no_time_warp");
    }
    if (item == "time_offset") {
        return atom_table::intern(by_release::at_least(26) ? "volatile" : "final");
    }
    if (item == "c_compiler_used") {
        const Term version = make_tuple(h, make_small(__GNUC__), make_small(__GNUC_MINOR__),
                                        make_small(__GNUC_PATCHLEVEL__));
        return make_tuple(h, atom_table::intern("gnuc"), version);
    }
    if (item == "compile_info") {  // the compiler's own flags are not kept
        const Term config = make_tuple(h, atom_table::intern("config_h"), kNil);
        const Term c_flags = make_tuple(h, atom_table::intern("cflags"), kNil);
        const Term flags = make_tuple(h, atom_table::intern("ldflags"), kNil);
        return cons(h, flags, cons(h, c_flags, cons(h, config, kNil)));
    }
    if (item == "reader_groups_map") {
        Term list = kNil;
        for (int n = vm::scheduler_count(); n > 0; --n) {
            list = cons(h, make_tuple(h, make_small(n - 1), make_small(n)), list);
        }
        return list;
    }
    return kNonValue;
}

}  // namespace minivm
