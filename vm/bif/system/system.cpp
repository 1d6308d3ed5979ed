// The surroundings: system_info, memory, the environment, dates, system flags.
#include "vm/bif/bif.hpp"
#include "vm/bif/processes/options.hpp"
#include "vm/bif/system/system_areas.hpp"
#include "vm/bif/system/system_constants.hpp"
#include "vm/code_change/code_change.hpp"
#include "vm/code/engine.hpp"
#include "vm/code/loading.hpp"
#include "vm/ets/table.hpp"
#include "vm/nif/nif.hpp"
#include "vm/port/port.hpp"
#include "vm/port/posix.hpp"
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
#include <string>

namespace minivm {
namespace {

Term text_term(Process& p, std::string_view s) {
    return make_string_utf8(p.heap, s.data(), s.size());
}

// ---- system_info ----------------------------------------------------------------------------------------

// Those that the first thread may run on: what programs like taskset change.
int available_processors() {
    cpu_set_t set;
    return sched_getaffinity(getpid(), sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                              : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
}
// As it was found to be when it was looked at last.
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

// What the program was started with.
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

Term system_info_atom(Process& p, Term item) {
    Heap& h = p.heap;
    const std::string_view text = atom_table::text(item);
    const auto is = [text](std::string_view name) { return text == name; };
    if (is("scheduler_id")) {  // asked for often
        return make_small(p.scheduler != nullptr ? p.scheduler->number : 1);
    }
    if (item == atoms::schedulers) {
        return make_small(vm::scheduler_count());
    }
    if (is("sequential_tracer")) {
        const Term tracer = seq_trace::system_tracer(h);
        return make_tuple(h, item, tracer);
    }
    if (is("trace_control_word")) {
        // relaxed: a setting.
        return make_small(tracing::g_control_word.load(std::memory_order_relaxed));
    }
    if (item == atoms::schedulers_online) {
        return make_small(online::schedulers());
    }
    if (is("schedulers_state")) {
        return make_tuple(h, make_small(vm::scheduler_count()), make_small(online::schedulers()),
                          make_small(online::active()));
    }
    if (is("schedulers_active")) {
        return make_small(online::active());
    }
    if (is("schedulers_total") || is("run_queues")) {
        return make_small(vm::scheduler_count());
    }
    if (is("all_schedulers_state")) {
        const auto state = [&](const char* kind, int all, int on, int active) {
            return make_tuple(h, atom_table::intern(kind), make_small(all), make_small(on),
                              make_small(active));
        };
        const int io = vm::dirty_io_count();
        const int cpu = online::dirty_cpu();
        const Term dirty = cons(h, state("dirty_cpu", vm::dirty_cpu_count(), cpu, cpu),
                                cons(h, state("dirty_io", io, io, io), kNil));
        return cons(h, state("normal", vm::scheduler_count(), online::schedulers(), online::active()),
                    dirty);
    }
    if (is("scheduler_bindings")) {
        const auto n = static_cast<size_t>(vm::scheduler_count());
        Term* t = h.alloc(1 + n);
        t[0] = Term{make_header(Kind::tuple, n)};
        std::fill_n(t + 1, n, atom_table::intern("unbound"));
        return make_boxed(t);
    }
    if (is("scheduler_bind_type")) {
        return atom_table::intern("unbound");
    }
    if (is("cpu_topology")) {
        return atoms::undefined;  // it is not looked for
    }
    if (is("cpu_quota")) {
        return atom_table::intern("unknown");
    }
    if (item == atoms::dirty_cpu_schedulers) {
        return make_small(vm::dirty_cpu_count());
    }
    if (is("dirty_cpu_schedulers_online")) {
        return make_small(online::dirty_cpu());
    }
    if (is("multi_scheduling_blockers") || is("normal_multi_scheduling_blockers")) {
        Term list = kNil;
        for (const Term pid : online::blockers(is("normal_multi_scheduling_blockers"))) {
            list = cons(h, pid, list);
        }
        return list;
    }
    if (item == atoms::dirty_io_schedulers) {
        return make_small(vm::dirty_io_count());
    }
    if (item == atoms::logical_processors) {
        return make_small(sysconf(_SC_NPROCESSORS_CONF));
    }
    if (item == atoms::logical_processors_online) {
        return make_small(sysconf(_SC_NPROCESSORS_ONLN));
    }
    if (item == atoms::logical_processors_available) {
        // relaxed: a number to show.
        return make_small(g_processors.load(std::memory_order_relaxed));
    }
    if (is("update_cpu_info")) {
        const int now = available_processors();
        // relaxed: as above.
        return atom_table::intern(
            g_processors.exchange(now, std::memory_order_relaxed) == now ? "unchanged" : "changed");
    }
    if (item == atoms::emu_flavor) {
        return vm::default_engine() == g_engines.bytecode ? atoms::emu : atoms::jit;
    }
    if (item == atoms::emu_type || is("build_type")) {
        return atoms::opt;
    }
    if (is("compat_rel")) {
        return make_small(otp_release().number);
    }
    if (is("taints")) {
        return nif::tainted_modules(p.heap);
    }
    if (is("machine")) {
        return text_term(p, "BEAM");
    }
    if (is("system_architecture")) {
#ifdef __aarch64__
        return text_term(p, "aarch64-unknown-linux-gnu");
#else
        return text_term(p, "x86_64-pc-linux-gnu");
#endif
    }
    if (item == atoms::process_count) {
        return make_small(static_cast<int64_t>(process_table::count()));
    }
    if (item == atoms::atom_count) {
        return make_small(atom_table::count());
    }
    if (item == atoms::atom_limit) {
        return make_small(atom_table::limit());
    }
    if (item == atoms::port_count) {
        return make_small(port::count());
    }
    if (item == atoms::os_type) {
        return make_tuple(h, atoms::unix_, atoms::linux_);
    }
    if (is("os_version")) {
        utsname u;
        int v[3] = {0, 0, 0};
        if (uname(&u) == 0) {
            std::sscanf(u.release, "%d.%d.%d", &v[0], &v[1], &v[2]);
        }
        return make_tuple(h, make_small(v[0]), make_small(v[1]), make_small(v[2]));
    }
    if (is("check_io") || is("dist_ctrl")) {
        return kNil;
    }
    if (is("elib_malloc")) {
        return atoms::false_;
    }
    if (is("multi_scheduling")) {
        return atom_table::intern(online::state());
    }
    if (is("backtrace_depth")) {
        return make_small(g_backtrace_depth);
    }
    if (is("creation")) {
        return make_small(0);
    }
    if (is("end_time")) {
        return make_integer(h, INT64_MAX);
    }
    if (is("start_time")) {
        return make_integer(h, clock::kBegin);
    }
    if (is("dist")) {
        constexpr std::string_view kText = "=node:'nonode@nohost'\n=no_distribution\n";
        return make_binary(h, kText.data(), kText.size());
    }
    if (item == atoms::garbage_collection) {
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
    if (is("os_monotonic_time_source")) {
        return time_source(h, CLOCK_MONOTONIC, "CLOCK_MONOTONIC", true);
    }
    if (is("os_system_time_source")) {
        return time_source(h, CLOCK_REALTIME, "CLOCK_REALTIME", false);
    }
    if (is("emu_args")) {
        return emu_args(h);
    }
    if (item == atoms::min_heap_size) {
        return make_tuple(h, item, make_small(g_spawn_defaults.min_heap_words.load()));
    }
    if (item == atoms::fullsweep_after) {
        return make_tuple(h, item, make_small(g_spawn_defaults.fullsweep_after.load()));
    }
    if (item == atoms::min_bin_vheap_size) {
        return make_tuple(h, item, make_small(g_spawn_defaults.min_bin_vheap_words.load()));
    }
    if (item == atoms::max_heap_size) {
        // relaxed: settings.
        constexpr auto kRelaxed = std::memory_order_relaxed;
        return max_heap_term(h, g_spawn_defaults.max_heap_words.load(kRelaxed),
                             g_spawn_defaults.max_heap_kill.load(kRelaxed),
                             g_spawn_defaults.max_heap_log.load(kRelaxed), false);
    }
    if (is("heap_sizes")) {
        std::vector<size_t> sizes;
        // Behind the collector's table it is steps of 20 %, up to what no process will ever reach.
        size_t n = next_heap_size(1);
        while (n < size_t{1} << 52) {
            sizes.push_back(n);
            const size_t next = next_heap_size(n + 1);
            n = next == n + 1 && n > 1000 ? n + n / 5 : next;
        }
        Term list = kNil;
        for (size_t i = sizes.size(); i > 0; --i) {
            list = cons(h, make_unsigned(h, sizes[i - 1]), list);
        }
        return list;
    }
    if (is("ethread_info")) {
        const auto entry = [&](const char* name, const char* value) {
            return make_tuple(h, text_term(p, name), text_term(p, value), kNil);
        };
        static_assert(std::atomic<uint64_t>::is_always_lock_free);
        return cons(h, entry("Thread library", "pthread"),
                    cons(h, entry("32-bit native atomics", "yes"),
                         cons(h, entry("64-bit native atomics", "yes"), kNil)));
    }
    if (is("beam_jump_table")) {
        return atoms::true_;
    }
    if (is("ets_count")) {
        return make_small(static_cast<int64_t>(ets::count()));
    }
    if (is("system_logger")) {
        return system_logger();
    }
    if (is("context_reductions")) {
        return make_small(kSliceReductions);
    }
    if (is("snifs")) {
        return bif_registry::all(h);
    }
    if (is("outstanding_system_requests_limit")) {
        // relaxed: a setting, which the code purger reads.
        return make_small(code_change::g_system_requests_limit.load(std::memory_order_relaxed));
    }
    const Term areas = system_areas(p, text);
    return is_value(areas) ? areas : system_constant(h, text);
}

// OTP's allocators do not exist here, which is what `false` says of one. The non-value: no allocator.
Term allocator_info(Process& p, Term which) {
    const auto is_allocator = [](Term t) {
        for (const char* name :
             {"sys_alloc", "temp_alloc", "sl_alloc", "std_alloc", "ll_alloc", "eheap_alloc",
              "ets_alloc", "fix_alloc", "literal_alloc", "binary_alloc", "driver_alloc"}) {
            if (t == atom_table::intern(name)) {
                return true;
            }
        }
        return false;
    };
    if (is_atom(which)) {
        return is_allocator(which) ? atoms::false_ : kNonValue;
    }
    std::vector<Term> names;
    for (; is_cons(which); which = tail(which)) {
        if (!is_allocator(head(which))) {
            return kNonValue;
        }
        names.push_back(head(which));
    }
    if (!is_nil(which)) {
        return kNonValue;
    }
    Term list = kNil;
    for (size_t i = names.size(); i > 0; --i) {
        list = cons(p.heap, make_tuple(p.heap, names[i - 1], atoms::false_), list);
    }
    return list;
}

// {memory_internal, Ref, [Allocator]}: a message {Ref, Thread, [{Allocator, false}]} from each thread with allocators
// of its own. Those of OTP exist nowhere here.
Term memory_internal(Process& p, Term ref, Term allocators) {
    if (!is_reference(ref) || list_length(allocators) < 0) {
        return kNonValue;
    }
    const Term none = allocator_info(p, allocators);
    if (!is_value(none)) {
        return kNonValue;
    }
    for (int n = 1; n <= vm::scheduler_count(); ++n) {
        send_message_to_pid(p.id, make_tuple(p.heap, ref, make_small(n), none));
    }
    return atoms::true_;
}

Term erlang_system_info_1(Process& p, const Term* a) {
    if (a[0] == atom_table::intern("procs")) {  // each tells of itself
        static const Export* const procs = export_table::get(atom_table::intern("minivm_processes"),
                                                             atom_table::intern("text"), 0);
        return trap(p, procs, {});
    }
    Term r = kNonValue;
    if (is_atom(a[0])) {
        r = system_info_atom(p, a[0]);
    } else if (is_tuple(a[0]) && tuple_arity(a[0]) == 2 &&
               tuple_element(a[0], 0) == atoms::wordsize &&
               (tuple_element(a[0], 1) == atom_table::intern("internal") ||
                tuple_element(a[0], 1) == atoms::external)) {
        r = make_small(8);
    }
    if (is_tuple_of(a[0], 2) && tuple_element(a[0], 0) == atom_table::intern("cpu_topology") &&
        (tuple_element(a[0], 1) == atom_table::intern("defined") ||
         tuple_element(a[0], 1) == atom_table::intern("detected") ||
         tuple_element(a[0], 1) == atom_table::intern("used"))) {
        r = atoms::undefined;
    }
    if (is_tuple_of(a[0], 3) && tuple_element(a[0], 0) == atom_table::intern("memory_internal")) {
        r = memory_internal(p, tuple_element(a[0], 1), tuple_element(a[0], 2));
    }
    if (is_tuple(a[0]) && tuple_arity(a[0]) == 2 &&
        (tuple_element(a[0], 0) == atom_table::intern("allocator") ||
         tuple_element(a[0], 0) == atom_table::intern("allocator_sizes"))) {
        r = allocator_info(p, tuple_element(a[0], 1));
    }
    return is_value(r) ? r : badarg(p);
}

// ---- environment --------------------------------------------------------------------------------------------

std::mutex g_environment_lock;

// Characters of a string as UTF-8; false if it is no string or has a NUL.
bool get_string(Term t, std::string* out) {
    Bytes bytes;
    if (is_binary(t) && get_bytes(t, &bytes)) {
        out->assign(reinterpret_cast<const char*>(bytes.data), bytes.size);
        return out->find('\0') == std::string::npos;
    }
    out->clear();
    for (; is_cons(t); t = tail(t)) {
        const Term c = head(t);
        if (!is_small(c) || small_value(c) < 1 || small_value(c) > 0x10FFFF) {
            return false;
        }
        append_utf8(static_cast<uint32_t>(small_value(c)), out);
    }
    return is_nil(t);
}

bool get_variable_name(Term t, std::string* out) {
    return get_string(t, out) && !out->empty() && out->find('=') == std::string::npos;
}

Term os_get_env_var_1(Process& p, const Term* a) {
    std::string name;
    if (!get_string(a[0], &name)) {
        return badarg(p);
    }
    std::lock_guard lock(g_environment_lock);
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? atoms::false_ : text_term(p, value);
}
Term os_set_env_var_2(Process& p, const Term* a) {
    std::string name;
    std::string value;
    if (!get_variable_name(a[0], &name) || !get_string(a[1], &value)) {
        return badarg(p);
    }
    std::lock_guard lock(g_environment_lock);
    setenv(name.c_str(), value.c_str(), 1);
    return atoms::true_;
}
Term os_unset_env_var_1(Process& p, const Term* a) {
    std::string name;
    if (!get_variable_name(a[0], &name)) {
        return badarg(p);
    }
    std::lock_guard lock(g_environment_lock);
    unsetenv(name.c_str());
    return atoms::true_;
}
}  // namespace

std::vector<std::string> environment_copy() {
    std::lock_guard lock(g_environment_lock);
    std::vector<std::string> all;
    for (char** e = environ; *e != nullptr; ++e) {
        all.emplace_back(*e);
    }
    return all;
}

namespace {

Term os_getenv_1(Process& p, const Term* a) { return os_get_env_var_1(p, a); }
Term environment_list(Process& p, bool pairs) {
    std::lock_guard lock(g_environment_lock);
    Term list = kNil;
    for (char** e = environ; *e != nullptr; ++e) {
        const std::string_view entry(*e);
        const size_t at = entry.find('=', 1);
        if (!pairs || at == entry.npos) {
            list = cons(p.heap, text_term(p, entry), list);
        } else {
            const Term name = text_term(p, entry.substr(0, at));
            const Term value = text_term(p, entry.substr(at + 1));
            list = cons(p.heap, make_tuple(p.heap, name, value), list);
        }
    }
    return list;
}
Term os_list_env_vars_0(Process& p, const Term*) { return environment_list(p, true); }
Term os_env_0(Process& p, const Term*) { return environment_list(p, true); }
Term os_getenv_0(Process& p, const Term*) {
    return environment_list(p, false);
}
LOCAL_ATOM(atom_ignore, "ignore")
LOCAL_ATOM(atom_handle, "handle")

Term os_set_signal_2(Process& p, const Term* a) {
    os_signals::Action action;
    if (a[1] == atoms::default_) {
        action = os_signals::Action::by_default;
    } else if (a[1] == atom_ignore()) {
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
// OTP knows no local time before.
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
    const std::time_t s = seconds;
    std::tm t{};
    return gmtime_r(&s, &t) != nullptr ? date_time(p, t) : badarg(p);
}
Term erlang_universaltime_to_posixtime_1(Process& p, const Term* a) {
    std::tm t;
    return get_date_time(a[0], &t) ? make_integer(p.heap, timegm(&t)) : badarg(p);
}

Term erlang_get_cookie_0(Process&, const Term*) {
    return atom_table::intern("nocookie");
}
Term erlang_is_alive_0(Process&, const Term*) { return atoms::false_; }

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
    {"erlang", "get_cookie", 0, erlang_get_cookie_0, kBifPlain, nullptr},
    {"erlang", "is_alive", 0, erlang_is_alive_0, kBifPlain, nullptr},
};

}  // namespace minivm
