// The surroundings: system_info, memory, the environment, dates, system flags.
#include "vm/bif/bif.hpp"
#include "vm/bif/processes/options.hpp"
#include "vm/bif/system/system_areas.hpp"
#include "vm/bif/system/system_constants.hpp"
#include "vm/bif/system/topology.hpp"
#include "vm/code_change/code_change.hpp"
#include "vm/code/engine.hpp"
#include "vm/code/loading.hpp"
#include "vm/ets/table.hpp"
#include "vm/nif/nif.hpp"
#include "vm/port/port.hpp"
#include "vm/process/node_life.hpp"
#include "vm/process/nodes.hpp"
#include "vm/process/posix.hpp"
#include "vm/process/clock.hpp"
#include "vm/process/exception.hpp"
#include "vm/process/os_signals.hpp"
#include "vm/process/process_life.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/report.hpp"
#include "vm/process/seq_trace.hpp"
#include "vm/process/signal.hpp"
#include "vm/process/tracing.hpp"
#include "vm/sched/online.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/local_atoms.hpp"
#include "vm/term/map.hpp"
#include "vm/util/environment.hpp"
#include "vm/util/otp_release.hpp"
#include "vm/util/utf8.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace minivm {
namespace {

Term text_term(Process& p, std::string_view s) {
    return make_string_utf8(p.heap, s.data(), s.size());
}

// ---- system_info ----------------------------------------------------------------------------------------

// The processors that the first thread may run on, which programs like taskset change.
int available_processors() {
    cpu_set_t set;
    return sched_getaffinity(getpid(), sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                              : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
}
// What available_processors() returned last.
std::atomic<int> g_processors{available_processors()};

Term time_source(Heap& h, clockid_t id, const char* name, bool is_monotonic) {
    timespec now{};
    timespec step{};
    clock_gettime(id, &now);
    clock_getres(id, &step);
    constexpr int64_t kSecond = 1000000000;
    const int64_t step_ns = step.tv_sec * kSecond + step.tv_nsec;
    Term list = cons(h,
                     make_tuple(h, atom_table::intern("time"),
                                make_integer(h, now.tv_sec * kSecond + now.tv_nsec)),
                     kNil);
    list = cons(h, make_tuple(h, atom_table::intern("parallel"), atom_table::intern("yes")), list);
    if (is_monotonic) {
        list =
            cons(h, make_tuple(h, atom_table::intern("extended"), atom_table::intern("no")), list);
    }
    list = cons(h,
                make_tuple(h, atom_table::intern("resolution"),
                           make_integer(h, kSecond / std::max<int64_t>(step_ns, 1))),
                list);
    list = cons(h, make_tuple(h, atom_table::intern("clock_id"), atom_table::intern(name)), list);
    return cons(h, make_tuple(h, atoms::function, atom_table::intern("clock_gettime")), list);
}

// The command line of the program.
Term emu_args(Heap& h) {
    std::vector<std::string> words;
    if (FILE* f = std::fopen("/proc/self/cmdline", "re")) {
        char* word = nullptr;
        size_t room = 0;
        for (ssize_t n = 0; (n = getdelim(&word, &room, 0, f)) > 0;) {
            words.emplace_back(word, static_cast<size_t>(n) - (word[n - 1] == 0 ? 1 : 0));
        }
        std::free(word);
        std::fclose(f);
    }
    Term list = kNil;
    for (size_t i = words.size(); i > 0; --i) {
        list = cons(h, make_string_utf8(h, words[i - 1].data(), words[i - 1].size()), list);
    }
    return list;
}

Term blockers(Heap& h, bool normal) {
    Term list = kNil;
    for (const Term pid : online::blockers(normal)) {
        list = cons(h, pid, list);
    }
    return list;
}

Term all_schedulers_state(Process& p) {
    Heap& h = p.heap;
    const auto state = [&](const char* kind, int all, int on, int active) {
        return make_tuple(h, atom_table::intern(kind), make_small(all), make_small(on), make_small(active));
    };
    const int io = vm::dirty_io_count();
    const int cpu = online::dirty_cpu();
    const Term dirty = cons(h, state("dirty_cpu", vm::dirty_cpu_count(), cpu, cpu),
                            cons(h, state("dirty_io", io, io, io), kNil));
    return cons(h, state("normal", vm::scheduler_count(), online::schedulers(), online::active()), dirty);
}

Term scheduler_bindings(Process& p) {
    const auto n = static_cast<size_t>(vm::scheduler_count());
    Term* t = p.heap.alloc(1 + n);
    t[0] = Term{make_header(Kind::tuple, n)};
    std::fill_n(t + 1, n, atom_table::intern("unbound"));
    return make_boxed(t);
}

Term os_version(Process& p) {
    utsname u;
    int v[3] = {0, 0, 0};
    if (uname(&u) == 0) {
        std::sscanf(u.release, "%d.%d.%d", &v[0], &v[1], &v[2]);
    }
    return make_tuple(p.heap, make_small(v[0]), make_small(v[1]), make_small(v[2]));
}

Term update_cpu_info(Process&) {
    const int now = available_processors();
    // relaxed: a number to show.
    return atom_table::intern(g_processors.exchange(now, std::memory_order_relaxed) == now ? "unchanged" : "changed");
}

Term garbage_collection_settings(Process& p) {
    Heap& h = p.heap;
    // relaxed: settings.
    constexpr auto kRelaxed = std::memory_order_relaxed;
    const auto& defaults = g_spawn_defaults;
    const std::pair<Term, uint64_t> settings[] = {
        {atoms::fullsweep_after, defaults.fullsweep_after.load(kRelaxed)},
        {atoms::min_heap_size, defaults.min_heap_words.load(kRelaxed)},
        {atoms::min_bin_vheap_size, defaults.min_bin_vheap_words.load(kRelaxed)},
        {atoms::max_heap_size, defaults.max_heap_words.load(kRelaxed)}};
    Term list = kNil;
    for (const auto& [name, value] : settings) {
        list = cons(h, make_tuple(h, name, make_unsigned(h, value)), list);
    }
    return list;
}

Term max_heap_setting(Process& p) {
    const MaxHeap max = default_max_heap();
    return max_heap_term(p.heap, max.words, max.kill, max.log, max.shared);
}

Term heap_sizes(Process& p) {
    std::vector<size_t> sizes;
    // Beyond the collector's table sizes grow by 20 %, up to one that no process ever reaches.
    size_t n = next_heap_size(1);
    while (n < size_t{1} << 52) {
        sizes.push_back(n);
        const size_t next = next_heap_size(n + 1);
        n = next == n + 1 && n > 1000 ? n + n / 5 : next;
    }
    Term list = kNil;
    for (size_t i = sizes.size(); i > 0; --i) {
        list = cons(p.heap, make_unsigned(p.heap, sizes[i - 1]), list);
    }
    return list;
}

Term ethread_info(Process& p) {
    Heap& h = p.heap;
    const auto entry = [&](const char* name, const char* value) {
        return make_tuple(h, text_term(p, name), text_term(p, value), kNil);
    };
    static_assert(std::atomic<uint64_t>::is_always_lock_free);
    return cons(h, entry("Thread library", "pthread"),
                cons(h, entry("32-bit native atomics", "yes"),
                     cons(h, entry("64-bit native atomics", "yes"), kNil)));
}

template <class T>
Term setting(Process& p, Term name, const std::atomic<T>& value) {
    // relaxed: a setting.
    return make_tuple(p.heap, name, make_small(static_cast<int64_t>(value.load(std::memory_order_relaxed))));
}

#ifdef __aarch64__
constexpr const char* kArchitecture = "aarch64-unknown-linux-gnu";
#else
constexpr const char* kArchitecture = "x86_64-pc-linux-gnu";
#endif

// erlang:system_info(Name)
struct InfoItem {
    const char* name;
    Term (*value)(Process& p);
};
Term async_dist_default(Process& p) {
    // relaxed: a setting of the start.
    return by_release::at_least(26) ? make_bool(g_spawn_defaults.async_dist.load(std::memory_order_relaxed)) : badarg(p);
}

constexpr InfoItem kInfoItems[] = {
    {"all_schedulers_state", all_schedulers_state},
    {"async_dist", async_dist_default},
    {"atom_count", [](Process&) { return make_small(atom_table::count()); }},
    {"atom_limit", [](Process&) { return make_small(atom_table::limit()); }},
    {"beam_jump_table", [](Process&) { return atoms::true_; }},
    {"build_type", [](Process&) { return atoms::opt; }},
    {"check_io", [](Process&) { return kNil; }},
    {"compat_rel", [](Process&) { return make_small(otp_release().number); }},
    {"context_reductions", [](Process&) { return make_small(kSliceReductions); }},
    {"cpu_quota", [](Process&) { return atom_table::intern("unknown"); }},
    {"creation", [](Process&) { return make_small(this_node().creation); }},
    {"dirty_cpu_schedulers", [](Process&) { return make_small(vm::dirty_cpu_count()); }},
    {"dirty_cpu_schedulers_online", [](Process&) { return make_small(online::dirty_cpu()); }},
    {"dirty_io_schedulers", [](Process&) { return make_small(vm::dirty_io_count()); }},
    {"dist",
     [](Process& p) {
         const std::string name = "=node:'" + std::string(atom_table::text(this_node_name())) + "'\n";
         const std::string text = node_life::is_alive() ? name : name + "=no_distribution\n";
         return make_binary(p.heap, text.data(), text.size());
     }},
    {"dist_buf_busy_limit",
     [](Process& p) {
         // relaxed: a number to show.
         return make_unsigned(p.heap, dist::g_busy_limit.load(std::memory_order_relaxed));
     }},
    {"dist_ctrl", [](Process& p) { return dist::controllers(p.heap); }},
    {"emu_args", [](Process& p) { return emu_args(p.heap); }},
    {"emu_flavor", [](Process&) { return vm::default_engine() == g_engines.bytecode ? atoms::emu : atoms::jit; }},
    {"emu_type", [](Process&) { return atoms::opt; }},
    {"end_time", [](Process& p) { return make_integer(p.heap, INT64_MAX); }},
    {"ethread_info", ethread_info},
    {"ets_count", [](Process&) { return make_small(static_cast<int64_t>(ets::count())); }},
    {"fullsweep_after",
     [](Process& p) { return setting(p, atoms::fullsweep_after, g_spawn_defaults.fullsweep_after); }},
    {"garbage_collection", garbage_collection_settings},
    {"heap_sizes", heap_sizes},
    {"logical_processors", [](Process&) { return make_small(sysconf(_SC_NPROCESSORS_CONF)); }},
    {"logical_processors_available",
     [](Process&) {
         // relaxed: a number to show.
         return make_small(g_processors.load(std::memory_order_relaxed));
     }},
    {"logical_processors_online", [](Process&) { return make_small(sysconf(_SC_NPROCESSORS_ONLN)); }},
    {"machine", [](Process& p) { return text_term(p, "BEAM"); }},
    {"max_heap_size", max_heap_setting},
    {"min_bin_vheap_size",
     [](Process& p) { return setting(p, atoms::min_bin_vheap_size, g_spawn_defaults.min_bin_vheap_words); }},
    {"min_heap_size", [](Process& p) { return setting(p, atoms::min_heap_size, g_spawn_defaults.min_heap_words); }},
    {"multi_scheduling", [](Process&) { return atom_table::intern(online::state()); }},
    {"multi_scheduling_blockers", [](Process& p) { return blockers(p.heap, false); }},
    {"normal_multi_scheduling_blockers", [](Process& p) { return blockers(p.heap, true); }},
    {"os_monotonic_time_source",
     [](Process& p) { return time_source(p.heap, CLOCK_MONOTONIC, "CLOCK_MONOTONIC", true); }},
    {"os_system_time_source",
     [](Process& p) { return time_source(p.heap, CLOCK_REALTIME, "CLOCK_REALTIME", false); }},
    {"os_type", [](Process& p) { return make_tuple(p.heap, atoms::unix_, atoms::linux_); }},
    {"os_version", os_version},
    {"outstanding_system_requests_limit",
     [](Process&) {
         // relaxed: a setting, which the code purger reads.
         return make_small(code_change::g_system_requests_limit.load(std::memory_order_relaxed));
     }},
    {"port_count", [](Process&) { return make_small(port::count()); }},
    {"process_count", [](Process&) { return make_small(static_cast<int64_t>(process_table::count())); }},
    {"run_queues", [](Process&) { return make_small(vm::scheduler_count()); }},
    {"scheduler_bind_type", [](Process&) { return atom_table::intern("unbound"); }},
    {"scheduler_bindings", scheduler_bindings},
    {"scheduler_id", [](Process& p) { return make_small(p.scheduler != nullptr ? p.scheduler->number : 1); }},
    {"schedulers", [](Process&) { return make_small(vm::scheduler_count()); }},
    {"schedulers_active", [](Process&) { return make_small(online::active()); }},
    {"schedulers_online", [](Process&) { return make_small(online::schedulers()); }},
    {"schedulers_state",
     [](Process& p) {
         return make_tuple(p.heap, make_small(vm::scheduler_count()), make_small(online::schedulers()),
                           make_small(online::active()));
     }},
    {"schedulers_total", [](Process&) { return make_small(vm::scheduler_count()); }},
    {"sequential_tracer",
     [](Process& p) {
         return make_tuple(p.heap, atom_table::intern("sequential_tracer"), seq_trace::system_tracer(p.heap));
     }},
    {"snifs", [](Process& p) { return bif_registry::all(p.heap); }},
    {"start_time", [](Process& p) { return make_integer(p.heap, clock::kBegin); }},
    {"system_architecture", [](Process& p) { return text_term(p, kArchitecture); }},
    {"system_logger", [](Process&) { return system_logger(); }},
    {"taints", [](Process& p) { return nif::tainted_modules(p.heap); }},
    {"trace_control_word",
     [](Process&) {
         // relaxed: a setting.
         return make_small(tracing::g_control_word.load(std::memory_order_relaxed));
     }},
    {"update_cpu_info", update_cpu_info},
};

Term system_info_atom(Process& p, Term item) {
    static const auto items = [] {
        std::unordered_map<Word, Term (*)(Process&)> map;
        for (const InfoItem& i : kInfoItems) {
            map.emplace(atom_table::intern(i.name).raw, i.value);
        }
        return map;
    }();
    const std::string_view text = atom_table::text(item);
    if (const Term said = told_constant(text); is_value(said)) {
        return said;
    }
    if (const auto found = items.find(item.raw); found != items.end()) {
        return found->second(p);
    }
    const Term areas = system_areas(p, text);
    return is_value(areas) ? areas : system_constant(p.heap, text);
}

// {memory_internal, Ref, [Allocator]}: a message {Ref, Scheduler, [{Allocator, false}]} for each scheduler: OTP's
// allocators do not exist here.
Term memory_internal(Process& p, Term ref, Term allocators) {
    if (!is_reference(ref) || list_length(allocators) < 0) {
        return kNonValue;
    }
    const Term none = allocator_info(p.heap, allocators, true);
    if (!is_value(none)) {
        return kNonValue;
    }
    for (int n = 1; n <= vm::scheduler_count(); ++n) {
        send_message_to_pid(p.id, make_tuple(p.heap, ref, make_small(n), none));
    }
    return atoms::true_;
}

Term detected_cpu_topology(Process& p) {
    static const Export* const format =
        export_table::get(atoms::erlang, atom_table::intern("format_cpu_topology"), 1);
    return trap(p, format, {cpu_topology::detected(p.heap)});
}

Term erlang_system_info_1(Process& p, const Term* a) {
    if (a[0] == atom_table::intern("procs")) {  // each process tells of itself; OTP's code server does not know the module
        static const Export* const load = bif_export("minivm", "load_and_apply", 3);
        return trap(p, load, {atom_table::intern("minivm_processes"), atom_table::intern("text"), kNil});
    }
    Term r = kNonValue;
    if (a[0] == atom_table::intern("cpu_topology")) {
        return detected_cpu_topology(p);
    }
    if (is_atom(a[0])) {
        r = system_info_atom(p, a[0]);
    } else if (is_tuple(a[0]) && tuple_arity(a[0]) == 2 &&
               tuple_element(a[0], 0) == atoms::wordsize &&
               (tuple_element(a[0], 1) == atom_table::intern("internal") ||
                tuple_element(a[0], 1) == atoms::external)) {
        r = make_small(8);
    }
    if (is_tuple_of(a[0], 2) && tuple_element(a[0], 0) == atom_table::intern("cpu_topology")) {
        const Term which = tuple_element(a[0], 1);
        if (which == atom_table::intern("defined")) {
            r = atoms::undefined;  // nobody can define one
        } else if (which == atom_table::intern("detected") || which == atom_table::intern("used")) {
            return detected_cpu_topology(p);
        }
    }
    if (is_tuple_of(a[0], 3) && tuple_element(a[0], 0) == atom_table::intern("memory_internal")) {
        r = memory_internal(p, tuple_element(a[0], 1), tuple_element(a[0], 2));
    }
    if (is_tuple(a[0]) && tuple_arity(a[0]) == 2 &&
        (tuple_element(a[0], 0) == atom_table::intern("allocator") ||
         tuple_element(a[0], 0) == atom_table::intern("allocator_sizes"))) {
        r = allocator_info(p.heap, tuple_element(a[0], 1), tuple_element(a[0], 0) == atom_table::intern("allocator_sizes"));
    }
    return is_value(r) ? r : badarg(p);
}

// ---- environment --------------------------------------------------------------------------------------------

// The characters of a string as UTF-8; the list may be deep, as those of file names. False: no string, or
// with a NUL.
bool get_string(Term t, std::string* out) {
    out->clear();
    std::vector<Term> behind;  // the tails of the lists that are open
    for (;;) {
        if (is_cons(t)) {
            const Term c = head(t);
            if (is_list(c)) {
                behind.push_back(tail(t));
                t = c;
                continue;
            }
            if (!is_small(c) || small_value(c) < 1 || small_value(c) > 0x10FFFF ||
                (small_value(c) >= 0xD800 && small_value(c) <= 0xDFFF)) {
                return false;
            }
            append_utf8(static_cast<uint32_t>(small_value(c)), out);
            t = tail(t);
        } else if (!is_nil(t)) {
            return false;
        } else if (behind.empty()) {
            return true;
        } else {
            t = behind.back();
            behind.pop_back();
        }
    }
}

bool get_variable_name(Term t, std::string* out) {
    return get_string(t, out) && out->find('=') == std::string::npos;
}

// The characters of part of the environment; if it is no UTF-8, its bytes.
Term environment_text(Process& p, std::string_view text, Term tail = kNil) {
    const auto* const bytes = reinterpret_cast<const uint8_t*>(text.data());
    uint32_t c;
    bool more;
    for (size_t i = 0; i < text.size();) {
        const unsigned length = utf8_decode(bytes + i, text.size() - i, &c, &more);
        if (length == 0) {
            return make_string(p.heap, text.data(), text.size(), tail);
        }
        i += length;
    }
    return make_string_utf8(p.heap, text.data(), text.size(), tail);
}

// OTP's environment can hold a variable without a name, the operating system's cannot.
// Under environment_lock().
std::optional<std::string> g_nameless_variable;

std::optional<std::string> value_of_variable(const std::string& name) {
    if (!name.empty()) {
        return environment_variable(name);
    }
    const std::lock_guard lock(environment_lock());
    return g_nameless_variable;
}

Term os_get_env_var_1(Process& p, const Term* a) {
    std::string name;
    if (!get_variable_name(a[0], &name)) {
        return badarg(p);
    }
    const auto value = value_of_variable(name);
    return value ? environment_text(p, *value) : atoms::false_;
}
Term os_set_env_var_2(Process& p, const Term* a) {
    std::string name;
    std::string value;
    if (!get_variable_name(a[0], &name) || !get_string(a[1], &value)) {
        return badarg(p);
    }
    const std::lock_guard lock(environment_lock());
    if (name.empty()) {
        g_nameless_variable = value;
    } else {
        setenv(name.c_str(), value.c_str(), 1);
    }
    return atoms::true_;
}
Term os_unset_env_var_1(Process& p, const Term* a) {
    std::string name;
    if (!get_variable_name(a[0], &name)) {
        return badarg(p);
    }
    const std::lock_guard lock(environment_lock());
    if (name.empty()) {
        g_nameless_variable.reset();
    } else {
        unsetenv(name.c_str());
    }
    return atoms::true_;
}
std::vector<std::string> entries_locked() {
    std::vector<std::string> all;
    for (char** e = environ; *e != nullptr; ++e) {
        all.emplace_back(*e);
    }
    return all;
}
}  // namespace

std::vector<std::string> environment_copy() {
    const std::lock_guard lock(environment_lock());
    std::vector<std::string> all = entries_locked();
    if (g_nameless_variable) {
        all.push_back("=" + *g_nameless_variable);
    }
    return all;
}

namespace {

Term os_getenv_1(Process& p, const Term* a) { return os_get_env_var_1(p, a); }
Term environment_list(Process& p, bool pairs) {
    std::vector<std::string> entries;
    std::optional<std::string> nameless;
    {
        const std::lock_guard lock(environment_lock());
        entries = entries_locked();
        nameless = g_nameless_variable;
    }
    Term list = kNil;
    const auto add = [&](std::string_view name, std::string_view value) {
        const Term v = environment_text(p, value);
        const Term item = pairs ? make_tuple(p.heap, environment_text(p, name), v)
                                : environment_text(p, name, cons(p.heap, make_small('='), v));
        list = cons(p.heap, item, list);
    };
    for (const std::string_view entry : entries) {
        const size_t at = entry.find('=', 1);
        if (at == entry.npos) {
            list = cons(p.heap, environment_text(p, entry), list);
        } else {
            add(entry.substr(0, at), entry.substr(at + 1));
        }
    }
    if (nameless) {
        add("", *nameless);
    }
    return list;
}
Term os_list_env_vars_0(Process& p, const Term*) { return environment_list(p, true); }
Term os_env_0(Process& p, const Term*) { return environment_list(p, true); }
Term os_getenv_0(Process& p, const Term*) {
    return environment_list(p, false);
}
LOCAL_ATOM(atom_handle, "handle")

Term os_set_signal_2(Process& p, const Term* a) {
    os_signals::Action action;
    if (a[1] == atoms::default_) {
        action = os_signals::Action::by_default;
    } else if (a[1] == atoms::ignore) {
        action = os_signals::Action::ignore;
    } else if (a[1] == atom_handle()) {
        action = os_signals::Action::handle;
    } else {
        badarg(p);
        Term keys[2] = {atoms::cause, atoms::module};
        Term values[2] = {atoms::badopt, atoms::erl_kernel_errors};
        p.exception.error_info = map::from_pairs(p.heap, keys, values, 2);
        return kNonValue;
    }
    return is_atom(a[0]) && os_signals::set_action(a[0], action) ? atoms::ok : badarg(p);
}

Term os_getpid_0(Process& p, const Term*) { return text_term(p, std::to_string(getpid())); }

// ---- dates ------------------------------------------------------------------------------------------------

Term date_term(Process& p, const std::tm& t) {
    return make_tuple(p.heap, make_small(t.tm_year + 1900), make_small(t.tm_mon + 1),
                      make_small(t.tm_mday));
}
Term time_term(Process& p, const std::tm& t) {
    return make_tuple(p.heap, make_small(t.tm_hour), make_small(t.tm_min), make_small(t.tm_sec));
}
Term date_time(Process& p, const std::tm& t) {
    const Term d = date_term(p, t);
    return make_tuple(p.heap, d, time_term(p, t));
}
std::tm now_local() {
    const std::time_t now = std::time(nullptr);
    std::tm t{};
    localtime_r(&now, &t);
    return t;
}
Term erlang_date_0(Process& p, const Term*) { return date_term(p, now_local()); }
Term erlang_time_0(Process& p, const Term*) { return time_term(p, now_local()); }
Term erlang_localtime_0(Process& p, const Term*) { return date_time(p, now_local()); }
Term erlang_universaltime_0(Process& p, const Term*) {
    const std::time_t now = std::time(nullptr);
    std::tm t{};
    gmtime_r(&now, &t);
    return date_time(p, t);
}

bool leap(int64_t y) { return (y % 4 == 0 && y % 100 != 0) || y % 400 == 0; }

bool get_date_time(Term t, std::tm* out) {
    if (!is_tuple_of(t, 2) || !is_tuple_of(tuple_element(t, 0), 3) ||
        !is_tuple_of(tuple_element(t, 1), 3)) {
        return false;
    }
    int64_t v[6];
    for (size_t i = 0; i < 6; ++i) {
        const Term e = tuple_element(tuple_element(t, i / 3), i % 3);
        if (!is_small(e)) {
            return false;
        }
        v[i] = small_value(e);
    }
    static constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    // The first year of OTP's calendar.
    if (v[0] < 1600 || v[0] >= INT32_MAX || v[1] < 1 || v[1] > 12 || v[2] < 1 ||
        v[2] > kDays[v[1] - 1] + (v[1] == 2 && leap(v[0])) || v[3] < 0 || v[3] > 23 || v[4] < 0 ||
        v[4] > 59 || v[5] < 0 || v[5] > 59) {
        return false;
    }
    *out = std::tm{};
    out->tm_year = static_cast<int>(v[0] - 1900);
    out->tm_mon = static_cast<int>(v[1] - 1);
    out->tm_mday = static_cast<int>(v[2]);
    out->tm_hour = static_cast<int>(v[3]);
    out->tm_min = static_cast<int>(v[4]);
    out->tm_sec = static_cast<int>(v[5]);
    out->tm_isdst = -1;
    return true;
}
// OTP converts no local time before this year.
constexpr int kFirstLocalYear = 1902;

Term erlang_universaltime_to_localtime_1(Process& p, const Term* a) {
    std::tm t;
    if (!get_date_time(a[0], &t) || t.tm_year + 1900 < kFirstLocalYear) {
        return badarg(p);
    }
    const std::time_t seconds = timegm(&t);
    std::tm local{};
    localtime_r(&seconds, &local);
    return date_time(p, local);
}
Term erlang_localtime_to_universaltime_2(Process& p, const Term* a) {
    std::tm t;
    if (!get_date_time(a[0], &t) || t.tm_year + 1900 < kFirstLocalYear ||
        (a[1] != atoms::true_ && a[1] != atoms::false_ && a[1] != atoms::undefined)) {
        return badarg(p);
    }
    t.tm_isdst = a[1] == atoms::true_ ? 1 : a[1] == atoms::false_ ? 0 : -1;
    const std::time_t seconds = std::mktime(&t);
    std::tm utc{};
    gmtime_r(&seconds, &utc);
    return date_time(p, utc);
}
Term erlang_localtime_to_universaltime_1(Process& p, const Term* a) {
    const Term args[2] = {a[0], atoms::undefined};
    return erlang_localtime_to_universaltime_2(p, args);
}
Term erlang_posixtime_to_universaltime_1(Process& p, const Term* a) {
    int64_t seconds;
    if (!get_int64(a[0], &seconds)) {
        return badarg(p);
    }
    // As OTP calculates: its years reach further than C's, and its division truncates before year 0 too.
    constexpr int64_t kDay = 86400;
    int64_t days = seconds / kDay;
    int64_t second = seconds % kDay;
    if (second < 0) {
        --days;
        second += kDay;
    }
    days += 719468;  // from March 1st of year 0 to 1970
    int64_t year = (10000 * days + 14780) / 3652425;
    const auto day_of = [days](int64_t y) { return days - (365 * y + y / 4 - y / 100 + y / 400); };
    if (day_of(year) < 0) {
        --year;
    }
    const int64_t day = day_of(year);
    const int64_t month = (100 * day + 52) / 3060;  // since March
    Heap& h = p.heap;
    const Term date = make_tuple(h, make_small(year + (month + 2) / 12), make_small((month + 2) % 12 + 1),
                                 make_small(day - (month * 306 + 5) / 10 + 1));
    const Term time =
        make_tuple(h, make_small(second / 3600), make_small(second / 60 % 60), make_small(second % 60));
    return make_tuple(h, date, time);
}
Term erlang_universaltime_to_posixtime_1(Process& p, const Term* a) {
    std::tm t;
    return get_date_time(a[0], &t) ? make_integer(p.heap, timegm(&t)) : badarg(p);
}


}  // namespace

MINIVM_BIF_TABLE(system) = {
    {"erlang", "system_info", 1, erlang_system_info_1, kBifPlain, nullptr},
    {"os", "get_env_var", 1, os_get_env_var_1, kBifPlain, nullptr},
    {"os", "set_env_var", 2, os_set_env_var_2, kBifPlain, nullptr},
    {"os", "unset_env_var", 1, os_unset_env_var_1, kBifPlain, nullptr},
    {"os", "getenv", 1, os_getenv_1, kBifPlain, nullptr},
    {"os", "putenv", 2, os_set_env_var_2, kBifPlain, nullptr},
    {"os", "unsetenv", 1, os_unset_env_var_1, kBifPlain, nullptr},
    {"os", "list_env_vars", 0, os_list_env_vars_0, kBifPlain, nullptr},
    {"os", "env", 0, os_env_0, kBifPlain, nullptr},
    {"os", "getenv", 0, os_getenv_0, kBifPlain, nullptr},
    {"os", "set_signal", 2, os_set_signal_2, kBifPlain, nullptr},
    {"os", "getpid", 0, os_getpid_0, kBifPlain, nullptr},
    {"erlang", "date", 0, erlang_date_0, kBifPlain, nullptr},
    {"erlang", "time", 0, erlang_time_0, kBifPlain, nullptr},
    {"erlang", "localtime", 0, erlang_localtime_0, kBifPlain, nullptr},
    {"erlang", "universaltime", 0, erlang_universaltime_0, kBifPlain, nullptr},
    {"erlang", "universaltime_to_localtime", 1, erlang_universaltime_to_localtime_1, kBifPlain, nullptr},
    {"erlang", "localtime_to_universaltime", 1, erlang_localtime_to_universaltime_1, kBifPlain, nullptr},
    {"erlang", "localtime_to_universaltime", 2, erlang_localtime_to_universaltime_2, kBifPlain, nullptr},
    {"erlang", "posixtime_to_universaltime", 1, erlang_posixtime_to_universaltime_1, kBifPlain, nullptr},
    {"erlang", "universaltime_to_posixtime", 1, erlang_universaltime_to_posixtime_1, kBifPlain, nullptr},
};

}  // namespace minivm
