#include "vm/bif/system/system_constants.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "vm/bif/bif.hpp"
#include "vm/port/port.hpp"
#include "vm/process/process_table.hpp"
#include "vm/sched/online.hpp"
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
};

constexpr NamedNumber kNumbers[] = {
    {"delayed_node_table_gc", 60},
    {"ets_limit", 8192},
    {"ethread_used_tse", 0},
    {"thread_pool_size", 1},
    {"wordsize", 8},
};

// What the emulator's flags said of the item; null: nothing.
const std::string* told(std::string_view item) {
    const auto& all = vm::g_options.told;
    const auto found = std::find_if(all.rbegin(), all.rend(), [&](const auto& t) { return t.first == item; });
    return found != all.rend() ? &found->second : nullptr;
}

// The clock never jumps here; from OTP 26 on programs are told to expect that it may.
std::string_view time_warp_mode() {
    const std::string* said = told("time_warp_mode");
    return said != nullptr ? std::string_view(*said) : by_release::at_least(26) ? "multi_time_warp" : "no_time_warp";
}

Term text_term(Heap& h, std::string_view s) { return make_string_utf8(h, s.data(), s.size()); }

}  // namespace

Term told_constant(std::string_view item) {
    const std::string* said = told(item);
    if (said == nullptr) {
        return kNonValue;
    }
    int64_t n = 0;
    const auto [end, error] = std::from_chars(said->data(), said->data() + said->size(), n);
    return error == std::errc() && end == said->data() + said->size() ? make_small(n) : atom_table::intern(*said);
}

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
        return text_term(h, "Erlang/OTP " + std::to_string(release.number) + " [erts-" + release.erts_version +
                                "] [minivm] [64-bit] [smp:" + std::to_string(vm::scheduler_count()) + ":" +
                                std::to_string(online::schedulers()) + "] [ds:" + std::to_string(vm::dirty_cpu_count()) +
                                ":" + std::to_string(online::dirty_cpu()) + ":" + std::to_string(vm::dirty_io_count()) +
                                "]\n");
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
        return vm::g_options.halt_flush_ms < 0 ? atoms::infinity : make_small(vm::g_options.halt_flush_ms);
    }
    if (item == "time_warp_mode") {
        return atom_table::intern(time_warp_mode());
    }
    if (item == "time_offset") {
        const std::string_view mode = time_warp_mode();
        return atom_table::intern(mode == "multi_time_warp"    ? "volatile"
                                  : mode == "single_time_warp" ? "preliminary"
                                                               : "final");
    }
    if (item == "tolerant_timeofday") {
        const std::string* correction = told("time_correction");
        const bool corrected = correction == nullptr || *correction == "true";
        return atom_table::intern(time_warp_mode() == "no_time_warp" && corrected ? "enabled" : "disabled");
    }
    if (item == "process_limit") {
        return make_small(process_table::limit());
    }
    if (item == "port_limit") {
        return make_small(port::g_limit);
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
