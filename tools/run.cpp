#include "tools/run.hpp"

#include <pthread.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <clocale>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "interp/interp.hpp"
#include "jit/code_memory.hpp"
#include "jit/jit.hpp"
#include "jit/perf.hpp"
#include "loader/code_path.hpp"
#include "recorder/recorder.hpp"
#include "tools/embedded.hpp"
#include "tools/outside.hpp"
#include "tools/recording.hpp"
#include "tools/signals.hpp"
#include "trace/trace.hpp"
#include "vm/bif/bif.hpp"
#include "vm/code/code_index.hpp"
#include "vm/code/export.hpp"
#include "vm/code_change/code_change.hpp"
#include "vm/fault/fault.hpp"
#include "vm/port/port.hpp"
#include "vm/process/nodes.hpp"
#include "vm/process/terminal.hpp"
#include "vm/process/os_signals.hpp"
#include "vm/process/process_life.hpp"
#include "vm/process/tracing.hpp"
#include "vm/record/record.hpp"
#include "vm/bif/system/crash_dump.hpp"
#include "vm/sched/halt.hpp"
#include "vm/sched/online.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/util/otp_release.hpp"

namespace minivm {
namespace tools {
namespace {

// Sets g_engines as --engine says; false: it names no engine of this machine.
bool choose_engine(const std::string& name) {
    g_engines.bytecode = &interp::engine();
    g_engines.standard = g_engines.bytecode;
    if (name.empty() || name == "interp") {
        // Where there is no JIT for the machine, or the kernel refuses its memory, all is interpreted:
        // modules that ask for it as well.
        if (jit::available() && try_code_memory()) {
            g_engines.native = &jit::engine(true);
            if (name.empty()) {
                g_engines.standard = g_engines.native;
            }
        }
        return true;
    }
    const bool mixed = name.rfind("mixed:", 0) == 0;
    if (!mixed && name != "jit" && name != "jit-default") {
        return false;
    }
    if (mixed) {
        char* end = nullptr;
        g_engines.mix_seed = std::strtoull(name.c_str() + 6, &end, 10);
        if (name.size() == 6 || *end != 0) {
            return false;
        }
    }
    if (!jit::available()) {
        return false;
    }
    g_engines.native = &jit::engine(name != "jit-default");
    g_engines.standard = g_engines.native;
    g_engines.mixed = mixed;
    return true;
}

Term string_term(Heap& h, const std::string& s) { return make_string_utf8(h, s.data(), s.size()); }

Term string_list(Heap& h, const std::vector<std::string>& all) {
    Term list = kNil;
    for (size_t i = all.size(); i > 0; --i) {
        list = cons(h, string_term(h, all[i - 1]), list);
    }
    return list;
}

Term pair(Heap& h, Term key, Term value) { return make_tuple(h, key, value); }

bool locale_is_utf8() {
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        const char* value = std::getenv(name);
        if (value != nullptr && *value != 0) {
            const std::string_view v(value);
            return v.find("UTF-8") != v.npos || v.find("utf8") != v.npos || v.find("UTF8") != v.npos;
        }
    }
    return false;
}

// `erl -noshell` of OTP 25 and `escript` write Latin-1 whatever the locale is. Elixir, when it starts,
// goes by the locale, and so does a prompt.
bool writes_utf8(const RunOptions& o) {
    const bool is_elixir = o.program.substr(o.program.rfind('/') + 1).starts_with("Elixir.");
    return locale_is_utf8() && (o.is_repl || is_elixir || by_release::prints_by_locale());
}

// What `program` is to minivm_boot: a module by its name unless it can only be a file.
const char* kind_of(const std::string& program) {
    if (program.ends_with(".erl")) {
        return "source";
    }
    return program.find('/') != std::string::npos || program.ends_with(".beam") ? "file" : "module";
}

// The argument of minivm_boot:start/1.
Term boot_options(Heap& h, const RunOptions& o) {
    std::vector<Term> list;
    if (!o.loads.empty()) {
        list.push_back(pair(h, atom_table::intern("load"), string_list(h, o.loads)));
    }
    for (const RunOptions::Step& step : o.steps) {
        if (!step.is_call) {
            list.push_back(pair(h, atom_table::intern("eval"), string_term(h, step.words.front())));
            continue;
        }
        Term l = kNil;
        for (size_t i = step.words.size(); i > 0; --i) {
            l = cons(h, atom_table::intern(step.words[i - 1]), l);  // as erl -s: atoms throughout
        }
        list.push_back(pair(h, atom_table::intern("call"), l));
    }
    list.push_back(pair(h, atoms::args, string_list(h, o.arguments)));
    for (const auto& [flag, values] : o.flags) {
        list.push_back(pair(h, atom_table::intern("flag"),
                            pair(h, atom_table::intern(flag), string_list(h, values))));
    }
    list.push_back(pair(h, atom_table::intern("encoding"),
                        writes_utf8(o) ? atoms::unicode : atoms::latin1));
    if (!o.listen.empty()) {
        list.push_back(atom_table::intern("listen"));
    }
    if (!o.traces.empty()) {
        list.push_back(pair(h, atom_table::intern("trace"), string_list(h, o.traces)));
    }
    if (o.is_repl) {
        list.push_back(pair(h, atom_table::intern("repl"), string_list(h, o.repl_files)));
    }
    if (o.wait) {
        list.push_back(atoms::wait);
    }
    if (!o.program.empty()) {
        const char* const kind = kind_of(o.program);
        const Term name = std::string_view(kind) == "module" ? atom_table::intern(o.program)
                                                             : string_term(h, o.program);
        list.push_back(pair(h, atom_table::intern(kind), name));
    }
    Term options = kNil;
    for (size_t i = list.size(); i > 0; --i) {
        options = cons(h, list[i - 1], options);
    }
    return cons(h, options, kNil);
}

void apply_flags(const EmulatorFlags& flags, vm::Options* options) {
    // relaxed: no process is there yet.
    constexpr auto kRelaxed = std::memory_order_relaxed;
    if (flags.min_heap_words != 0) {
        g_spawn_defaults.min_heap_words.store(static_cast<uint32_t>(next_heap_size(flags.min_heap_words)), kRelaxed);
    }
    if (flags.dist_limit_kb != 0) {
        dist::g_busy_limit.store(flags.dist_limit_kb * 1024, kRelaxed);
    }
    if (flags.min_binary_heap_words != 0) {
        g_spawn_defaults.min_bin_vheap_words.store(next_heap_size(flags.min_binary_heap_words), kRelaxed);
    }
    g_spawn_defaults.max_heap_words.store(flags.max_heap_words, kRelaxed);
    g_spawn_defaults.max_heap_kill.store(flags.max_heap_kill, kRelaxed);
    g_spawn_defaults.max_heap_log.store(flags.max_heap_log, kRelaxed);
    g_spawn_defaults.max_heap_shared.store(flags.max_heap_shared, kRelaxed);
    g_spawn_defaults.message_queue_off_heap.store(flags.message_queue_off_heap, kRelaxed);
    g_spawn_defaults.async_dist.store(flags.async_dist, kRelaxed);
    const int schedulers = flags.schedulers > 0 ? flags.schedulers : static_cast<int>(std::thread::hardware_concurrency());
    code_change::g_system_requests_limit.store(
        flags.system_requests != 0 ? flags.system_requests : static_cast<uint32_t>(std::max(schedulers, 1)) * 2, kRelaxed);
    if (flags.ports != 0) {
        port::g_limit = std::bit_ceil(flags.ports);
    }
    options->dirty_cpu_schedulers = flags.dirty_cpu;
    if (flags.dirty_io != 0) {
        options->dirty_io_schedulers = flags.dirty_io;
    }
    options->halt_flush_ms = flags.halt_flush_ms;
    options->told = flags.told;
    options->prints_unicode = flags.prints_unicode;
    options->warning_map = atom_table::intern(flags.warning_map);
}

// OTP's emulator starts these itself: they purge code, and handle signals of processes that run on dirty schedulers.
bool start_system_processes() {
    constexpr std::pair<const char*, Priority> kProcesses[] = {{"erts_code_purger", Priority::high},
                                                               {"erts_literal_area_collector", Priority::high},
                                                               {"erts_dirty_process_signal_handler", Priority::normal},
                                                               {"erts_dirty_process_signal_handler", Priority::high},
                                                               {"erts_dirty_process_signal_handler", Priority::max},
                                                               {"erts_trace_cleaner", Priority::normal}};
    for (const auto& [module, priority] : kProcesses) {
        const Export* entry = export_table::get(atom_table::intern(module), atoms::start, 0);
        SpawnOptions options;
        options.system_process = true;
        options.priority = priority;
        if (export_table::is_loaded(entry, code_index::active()) &&
            !is_value(spawn(nullptr, entry, kNil, options))) {
            return false;
        }
    }
    return true;
}

// `minivm run`: minivm_boot is the first process.
bool start_bare(const RunOptions& options) {
    Heap heap;
    SpawnOptions spawn_options;
    spawn_options.system_process = true;  // without it the VM ends
    const Export* boot = export_table::get(atom_table::intern("minivm_boot"), atoms::start, 1);
    return is_value(spawn(nullptr, boot, boot_options(heap, options), spawn_options));
}

// In place of OTP's emulator: erl_init is the first process, with the module that boots (`init`) and the words for it,
// as binaries.
bool start_otp(const EmulatorFlags& flags) {
    Heap heap;
    Term words = kNil;
    for (auto word = flags.rest.rbegin(); word != flags.rest.rend(); ++word) {
        words = cons(heap, make_binary(heap, word->data(), word->size()), words);
    }
    const Term args = cons(heap, atom_table::intern(flags.boot_module), cons(heap, words, kNil));
    bool all = true;
    SpawnOptions spawn_options;
    spawn_options.system_process = true;
    // The system's processes start before it runs: theirs are the next pids, as on OTP.
    spawn_options.context = &all;
    spawn_options.before_start = [](Process*, Process&, SpawnOptions&, void* started) {
        *static_cast<bool*>(started) = start_system_processes();
    };
    const Export* boot = export_table::get(atom_table::intern("erl_init"), atoms::start, 2);
    const bool started = is_value(spawn(nullptr, boot, args, spawn_options));
    return started && all;
}

// False: *error says why not.
bool start_first_process(const RunOptions& options, loader::CodePath* path, std::string* error) {
    if (options.emulator.has_value() && !path->load_preloaded(error)) {
        return false;
    }
    *error = "the first process could not be made";
    return options.emulator.has_value() ? start_otp(*options.emulator) : start_bare(options);
}

// As erl's +JPperf: a map brings frame pointers, unless no_fp comes after it.
bool prepare_for_perf(std::string_view wanted, const std::string& directory) {
    PerfOptions perf;
    bool frame_pointers = false;
    for (size_t begin = 0, end = 0; begin <= wanted.size(); begin = end + 1) {
        end = std::min(wanted.find(',', begin), wanted.size());
        const std::string_view word = wanted.substr(begin, end - begin);
        if (word == "true") {
            perf.map = perf.dump = frame_pointers = true;
        } else if (word == "map") {
            perf.map = frame_pointers = true;
        } else if (word == "dump") {
            perf.dump = true;
        } else if (word == "fp" || word == "no_fp") {
            frame_pointers = word == "fp";
        } else if (word == "false") {
            perf = {};
            frame_pointers = false;
        } else {
            spdlog::error("--perf={}: '{}' is none of true, map, dump, fp, no_fp, false", wanted, word);
            return false;
        }
    }
    if (frame_pointers) {
        jit::keep_frame_pointers();
    }
    if (perf.map || perf.dump) {
        perf.directory = directory.empty() ? perf.directory : directory;
        if (const auto opened = jit::write_perf_files(perf); !opened.ok()) {
            spdlog::error("--perf: {}", opened.error());
            return false;
        }
    }
    return true;
}

// False: there is no such reread, or this build cannot leave it out.
bool leave_out_rereads(const std::vector<std::string>& names, uint32_t* bits) {
    for (const std::string& name : names) {
        const auto* const known = std::find(std::begin(code_index::kRereadNames),
                                            std::end(code_index::kRereadNames), name);
        if (known == std::end(code_index::kRereadNames)) {
            spdlog::error("--leave-out-rereads: there is no '{}'", name);
            return false;
        }
        *bits |= 1u << (known - std::begin(code_index::kRereadNames));
    }
#ifndef MINIVM_DEBUG
    if (*bits != 0) {
        spdlog::error("--leave-out-rereads: only builds with assertions can do that");
        return false;
    }
#endif
    return true;
}

// OTP's libraries start programs by their names (inet_gethost, for one): adds where `erl` has them to PATH.
void add_to_program_path(const std::string& root) {
    const char* old = std::getenv("PATH");
    std::string path = old != nullptr ? old : "";
    const auto has = [&path](const std::string& folder) {
        return (":" + path + ":").find(":" + folder + ":") != std::string::npos;
    };
    for (const std::string& folder :
         {root + "/bin", root + "/erts-" + otp_release().erts_version + "/bin"}) {
        if (!has(folder) && access(folder.c_str(), X_OK) == 0) {
            path = path.empty() ? folder : folder + ":" + path;
        }
    }
    setenv("PATH", path.c_str(), 1);
}

// Sets up where modules come from. False: *error says why there are none.
bool set_up_path(const RunOptions& options, loader::CodePath* path, std::string* error) {
    if (options.emulator.has_value()) {
        for (size_t i = 0; i < kEmbeddedModuleCount; ++i) {
            const EmbeddedModule& m = kEmbeddedModules[i];
            if (std::string_view(m.name) == "minivm_processes") {  // system_info/1 asks for it
                path->add_embedded(m.name, m.bytes, m.size, false);
            }
        }
        return path->add_preloaded(error);  // code_server finds the others, and erlexec has seen to PATH
    }
    for (const std::string& dir : options.path) {
        path->add_directory(dir);
    }
    path->add_directory(".");  // as in erl's code path
    for (size_t i = 0; i < kEmbeddedModuleCount; ++i) {
        const EmbeddedModule& m = kEmbeddedModules[i];
        // OTP has a module `trace` from 27 on, and before that programs may have one of their own.
        path->add_embedded(m.name, m.bytes, m.size, std::string_view(m.name) == "trace");
    }
    if (!path->add_otp(error)) {
        return false;
    }
    add_to_program_path(path->otp_root());
    return true;
}

}  // namespace

int run_command(const RunOptions& options) {
    const sigset_t signals = os_signals::blocked_set();
    pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    // A write to a file that may not grow (ulimit -f) fails, and the VM goes on, without a recording if need be.
    std::signal(SIGXFSZ, SIG_IGN);
    fault::install(options.dump_on != "never");
    watch_signals(signals, options.is_repl, options.emulator.has_value(),
                  options.emulator.has_value() ? options.emulator->on_break : Break::menu);

    vm::Options vm_options;
    vm_options.schedulers = options.schedulers;
    vm_options.stress_gc = options.stress_gc;
    vm_options.stress_reductions = options.stress_reductions;
    vm_options.stress_sched_seed = options.stress_sched_seed;
    if (!leave_out_rereads(options.left_out_rereads, &vm_options.left_out_rereads)) {
        return 2;
    }
    atom_table::set_limit(options.atoms);
    if (options.emulator.has_value()) {
        apply_flags(*options.emulator, &vm_options);
    }
    vm::g_options = vm_options;
    fault::g_may_provoke = options.debug_bifs;
    // relaxed: no thread of the VM is there yet.
    tracing::g_max_frames.store(options.trace_frames, std::memory_order_relaxed);

    const unsigned schedulers = options.schedulers > 0 ? static_cast<unsigned>(options.schedulers)
                                                       : std::thread::hardware_concurrency();
    std::string error;
    if (!options.listen.empty() && !outside::listen(options.listen, &error)) {
        spdlog::error("run: --listen {}", error);
        return 2;
    }

    jit::Options native;
    native.code_memory_bytes = options.code_memory_kib * 1024;
    native.only = options.jit_only;
    native.list = options.jit_list;
    native.mistake_in = options.jit_mistake;
    native.use_membarrier = options.code_barrier == "membarrier";
    if (const auto configured = jit::configure(native); !configured.ok()) {
        spdlog::error("run: {}", configured.error());
        return 1;
    }
    RecordingStart recording(options, std::max(schedulers, 1u));
    if (!options.perf.empty() && !prepare_for_perf(options.perf, options.perf_directory)) {
        return 1;
    }
    if (options.check_native) {
        jit::emit_checks();
    }
    if (options.gdb) {
        jit::show_code_to_gdb();
    }
    if (!choose_engine(options.engine)) {
        spdlog::error("--engine {}: not one of interp, jit, jit-default, mixed:SEED{}",
                      options.engine,
                      jit::available() ? "" : "; there is no JIT for this machine, only interp");
        return 1;
    }
    loader::CodePath path;
    if (!set_up_path(options, &path, &error)) {
        spdlog::error("{}", error);
        return 1;
    }
    bif_registry::init();  // which BIFs there are depends on the release of the libraries
    if (options.emulator.has_value()) {
        const uint32_t usual = by_release::at_least(27) ? 1048576 : 262144;
        vm_options.processes = options.emulator->processes != 0 ? options.emulator->processes : usual;
    }
    if (!recording.wait(&error)) {
        spdlog::error("run: {}", error);
        return 2;
    }
    records::start(options.record_terms);
    g_module_source = &path;
    trace::start();
    // A bare boot has its recording; a user who names a file wants a crash dump as well.
    if (options.emulator.has_value() || std::getenv("ERL_CRASH_DUMP") != nullptr) {
        vm::set_crash_dump(crash_dump::write);
    }
    if (!options.emulator.has_value()) {
        vm::set_last_words(export_table::get(atom_table::intern("minivm_boot"), atom_table::intern("last_words"), 0));
    }
    if (!vm::start(vm_options, g_engines.standard)) {
        spdlog::error("a scheduler thread could not be started: {}", std::strerror(errno));
        return 1;
    }
    if (options.schedulers_online > 0) {
        online::set_schedulers(options.schedulers_online);
    }
    if (options.emulator.has_value()) {
        online::set_dirty_cpu(options.emulator->dirty_cpu_online);
    }
    if (!start_first_process(options, &path, &error)) {
        spdlog::error("{}", error);
        return 1;
    }
    if (!outside::start(&error)) {
        spdlog::error("run: --listen {}", error);
        return 1;
    }
    const int status = vm::run_until_halt();
    terminal::restore();
    outside::stop();
    recording.finish();
    end_recording(options, status);
    std::fflush(nullptr);
    // The signal thread is still there: nothing of the VM is destroyed under it.
    _exit(status);
}

}  // namespace tools
}  // namespace minivm
