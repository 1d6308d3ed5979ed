#include "vm/fault/fault.hpp"

#define UNW_LOCAL_ONLY
#include "recorder/recorder.hpp"
#include "vm/code/engine.hpp"
#include "vm/code/export.hpp"
#include "vm/code/module_table.hpp"
#include "vm/instr/bif_def.hpp"
#include "vm/process/state.hpp"
#include "vm/process/terminal.hpp"
#include "vm/record/record.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/term/atom_table.hpp"

#include <libunwind.h>

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <new>
#include <string_view>

namespace minivm::fault {

bool g_may_provoke = false;

namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
constexpr size_t kAlternateStackBytes = 96 * 1024;  // libunwind takes some 20 KiB
constexpr int kMaxCppFrames = 64;
constexpr int kMaxErlangFrames = 48;
constexpr unsigned kPatienceSeconds = 5;  // for a handler that hangs

bool g_installed = false;
bool g_print = true;
struct sigaction g_previous[NSIG];
// The thread whose fault is being reported; 0: none.
std::atomic<pid_t> g_owner{0};
// Where the owner goes on if writing the report faults; no other thread uses it.
sigjmp_buf g_next_part;
const char* volatile g_why = nullptr;  // end_vm()'s
volatile sig_atomic_t g_in_part = 0;

// The thread's own stack, to recognise an overflow.
thread_local char* t_stack_low = nullptr;
thread_local size_t t_guard_bytes = 0;

struct AlternateStack {
    void* memory = nullptr;
    ~AlternateStack() {
        if (memory != nullptr) {
            stack_t off{};
            off.ss_flags = SS_DISABLE;
            sigaltstack(&off, nullptr);
            munmap(memory, kAlternateStackBytes);
        }
    }
};
thread_local AlternateStack t_alternate;

pid_t thread_id() {
    return static_cast<pid_t>(syscall(SYS_gettid));
}

// ---- writing, without stdio ---------------------------------------------------------------------

void emit(std::string_view text) {
    recorder::append_crash_report(text);
    while (g_print && !text.empty()) {
        const ssize_t n = write(STDERR_FILENO, text.data(), text.size());
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            break;
        }
        text.remove_prefix(static_cast<size_t>(n));
    }
}

// Writes one line at a time, so that the lines before the next fault survive it.
class Line {
public:
    ~Line() {
        text_[used_++] = '\n';
        emit({text_, used_});
    }
    Line() = default;
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;

    Line& operator<<(std::string_view s) {
        for (const char c : s) {
            if (used_ + 1 < sizeof text_) {
                text_[used_++] = c == '\n' ? ' ' : c;
            }
        }
        return *this;
    }
    Line& number(uint64_t value, unsigned base = 10, unsigned width = 0) {
        char digits[24];
        size_t at = sizeof digits;
        do {
            digits[--at] = "0123456789abcdef"[value % base];
            value /= base;
        } while (value != 0);
        while (sizeof digits - at < width && at > 0) {
            digits[--at] = '0';
        }
        return *this << std::string_view(digits + at, sizeof digits - at);
    }
    Line& hex(uint64_t value) { return (*this << "0x").number(value, 16); }
    Line& function(Term m, Term f, uint32_t arity) {
        return (*this << atom_table::text(m) << ":" << atom_table::text(f) << "/").number(arity);
    }
    Line& pid(Term pid) {
        return ((*this << "<0.").number(pid_number(pid)) << ".").number(pid_serial(pid)) << ">";
    }

private:
    char text_[512];
    size_t used_ = 0;
};

const char* signal_name(int signal) {
    switch (signal) {
        case SIGSEGV:
            return "SIGSEGV, bad memory access";
        case SIGBUS:
            return "SIGBUS, memory that is not there";
        case SIGFPE:
            return "SIGFPE, arithmetic";
        case SIGILL:
            return "SIGILL, no instruction";
        case SIGTRAP:  // what freed code memory is filled with on x86-64
            return "SIGTRAP, native code that is not there";
        case SIGABRT:
            return "SIGABRT, abort()";
        default:
            return "?";
    }
}

// ---- the machine --------------------------------------------------------------------------------

struct NamedRegister {
    const char* name;
    uint64_t value;
};
constexpr int kMaxRegisters = 34;

#if defined(__x86_64__)
Registers read_registers(const ucontext_t& uc, NamedRegister* all, int* count) {
    static constexpr struct {
        const char* name;
        int index;
    } kNames[] = {{"rip", REG_RIP}, {"rsp", REG_RSP}, {"rbp", REG_RBP}, {"rax", REG_RAX},
                  {"rbx", REG_RBX}, {"rcx", REG_RCX}, {"rdx", REG_RDX}, {"rsi", REG_RSI},
                  {"rdi", REG_RDI}, {"r8", REG_R8},   {"r9", REG_R9},   {"r10", REG_R10},
                  {"r11", REG_R11}, {"r12", REG_R12}, {"r13", REG_R13}, {"r14", REG_R14},
                  {"r15", REG_R15}, {"efl", REG_EFL}};
    const auto& g = uc.uc_mcontext.gregs;
    for (const auto& n : kNames) {
        all[(*count)++] = {n.name, static_cast<uint64_t>(g[n.index])};
    }
    Registers r;
    r.pc = static_cast<uint64_t>(g[REG_RIP]);
    r.sp = static_cast<uint64_t>(g[REG_RSP]);
    r.erlang_stack = r.sp;
    const int arguments[] = {REG_RDI, REG_RSI, REG_RDX, REG_RCX, REG_R8, REG_R9};
    for (int i = 0; i < 6; ++i) {
        r.argument[i] = static_cast<uint64_t>(g[arguments[i]]);
    }
    return r;
}
#elif defined(__aarch64__)
Registers read_registers(const ucontext_t& uc, NamedRegister* all, int* count) {
    static constexpr const char* kNames[] = {"x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",
                                             "x8",  "x9",  "x10", "x11", "x12", "x13", "x14", "x15",
                                             "x16", "x17", "x18", "x19", "x20", "x21", "x22", "x23",
                                             "x24", "x25", "x26", "x27", "x28", "fp",  "lr"};
    const auto& m = uc.uc_mcontext;
    all[(*count)++] = {"pc", m.pc};
    all[(*count)++] = {"sp", m.sp};
    for (int i = 0; i < 31; ++i) {
        all[(*count)++] = {kNames[i], m.regs[i]};
    }
    Registers r;
    r.pc = m.pc;
    r.sp = m.sp;
    r.erlang_stack = m.regs[20];
    for (int i = 0; i < 6; ++i) {
        r.argument[i] = m.regs[i];
    }
    return r;
}
#endif

// ---- the parts of the report --------------------------------------------------------------------

struct Fault {
    int signal = 0;
    const siginfo_t* info = nullptr;
    ucontext_t* context = nullptr;
    Registers registers;
    NamedRegister all[kMaxRegisters];
    int register_count = 0;
    timespec begun{};
};

bool has_address(int signal) {
    return signal != SIGABRT && signal != SIGTRAP;
}

void write_what(const Fault& f) {
    const auto address = reinterpret_cast<uint64_t>(f.info->si_addr);
    {
        Line line;
        if (g_why != nullptr) {
            line << "minivm has failed: " << g_why;
        } else {
            (line << "minivm has failed: signal ").number(static_cast<uint64_t>(f.signal))
                << " (" << signal_name(f.signal) << ")";
        }
        if (f.info->si_code <= 0 && f.signal != SIGABRT) {
            (line << ", sent by process ").number(static_cast<uint64_t>(f.info->si_pid));
        } else if (has_address(f.signal)) {
            (line << " at address ").hex(address);
        }
        (line << ", pc ").hex(f.registers.pc) << ", sp ";
        line.hex(f.registers.sp);
    }
    char name[32] = {};
    pthread_getname_np(pthread_self(), name, sizeof name);
    {
        Line line;
        (line << "thread ").number(static_cast<uint64_t>(thread_id())) << " " << name;
        const Scheduler* s = this_scheduler();
        if (s != nullptr && s->number != 0) {
            (line << ", scheduler ").number(static_cast<uint64_t>(s->number));
        } else if (s != nullptr) {
            line << ", a dirty scheduler";
        }
    }
    // A frame may be larger than the guard, so addresses up to two guards and 64 KiB below the stack count as well.
    const auto low = reinterpret_cast<uint64_t>(t_stack_low);
    if (t_stack_low != nullptr && address < low + 4096 &&
        address + 2 * t_guard_bytes + 65536 > low) {
        Line() << "the C++ stack of this thread has overflowed";
    }
}

void write_registers(const Fault& f) {
    for (int i = 0; i < f.register_count; i += 4) {
        Line line;
        for (int j = i; j < i + 4 && j < f.register_count; ++j) {
            (line << "  " << f.all[j].name << " ").number(f.all[j].value, 16, 16);
        }
    }
}

uint64_t ns_since(const timespec& begun) {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>((now.tv_sec - begun.tv_sec) * 1'000'000'000 + now.tv_nsec -
                                 begun.tv_nsec);
}

// Calls visit(cursor, number, pc) for each C++ frame. False: the unwinder cannot begin.
template <typename Visit>
bool each_cpp_frame(const Fault& f, Visit visit) {
    unw_cursor_t cursor;
    if (unw_init_local2(&cursor, reinterpret_cast<unw_context_t*>(f.context),
                        UNW_INIT_SIGNAL_FRAME) != 0) {
        return false;
    }
    uint64_t previous_sp = 0;
    for (int i = 0; i < kMaxCppFrames; ++i) {
        unw_word_t pc = 0;
        unw_word_t sp = 0;
        if (unw_get_reg(&cursor, UNW_REG_IP, &pc) != 0 ||
            unw_get_reg(&cursor, UNW_REG_SP, &sp) != 0 || pc == 0) {
            break;
        }
        visit(&cursor, i, uint64_t{pc});
        if (unw_step(&cursor) <= 0 || (sp == previous_sp && i > 1)) {
            break;
        }
        previous_sp = sp;
    }
    return true;
}

// How long after the fault the frames were in the recording. Only the owner of the report uses it.
uint64_t g_recorded_ns = 0;

void record_cpp_frame(unw_cursor_t*, int number, uint64_t pc) {
    MINIVM_EVENT(fault_frame, number, pc);
}
// Runs before anything is written: looking up names takes a hundred times as long.
void record_cpp_frames(const Fault& f) {
    each_cpp_frame(f, record_cpp_frame);
    g_recorded_ns = ns_since(f.begun);
}

void write_cpp_frames(const Fault& f) {
    Line() << "C++ frames:";
    const bool begun = each_cpp_frame(f, [](unw_cursor_t* cursor, int i, uint64_t pc) {
        Line line;
        ((line << "  ").number(static_cast<uint64_t>(i)) << " ").hex(pc);
        char name[300];
        unw_word_t offset = 0;
        if (unw_get_proc_name(cursor, name, sizeof name, &offset) == 0) {
            (line << " " << name << "+").hex(offset);
            return;
        }
        FunctionInfo where{};
        if (module_table::lookup(reinterpret_cast<const void*>(pc), code_index::active(), i != 0,
                                 &where)) {
            (line << " ").function(where.module, where.function, where.arity) << " (native)";
        }
    });
    if (!begun) {
        Line() << "  the unwinder cannot begin here";
    }
}

void write_erlang_frame(const void* address, bool is_return_address, int code_ix, int level,
                        bool* found) {
    FunctionInfo where{};
    *found = module_table::lookup(address, code_ix, is_return_address, &where);
    if (!*found) {
        return;
    }
    Line line;
    ((line << "  ").number(static_cast<uint64_t>(level)) << " ")
        .function(where.module, where.function, where.arity);
    if (where.line != 0 && is_atom(where.file)) {
        (line << " (" << atom_table::text(where.file) << ", line ").number(where.line) << ")";
    }
}

void write_process(const Fault& f) {
    const Scheduler* s = this_scheduler();
    const Process* p = s != nullptr ? s->process : nullptr;
    if (p == nullptr) {
        Line() << "no process was running on this thread";
        return;
    }
    {
        Line line;
        (line << "process ").pid(p->id);
        if (is_atom(p->registered_name)) {
            line << " " << atom_table::text(p->registered_name);
        }
        if (p->initial_call != nullptr) {
            (line << ", began in ")
                .function(p->initial_call->module, p->initial_call->function,
                          p->initial_call->arity);
        }
        (line << ", ").number(p->mailbox.length) << " messages, ";
        line.number(static_cast<uint64_t>(p->stack_base - p->heap_start)) << " words, ";
        line.number(p->reductions_done) << " reductions before this slice";
    }
    if (p->dirty_bif != nullptr && s->number == 0) {
        ((Line() << "  runs " << p->dirty_bif->module << ":" << p->dirty_bif->function << "/")
             .number(p->dirty_bif->arity));
    }
    // From the engine's own registers if the fault is in its code, else as the engine saved it before it called
    // C++.
    ErlangState state{p->pc, p->heap.end};
    for (const Engine* engine : {g_engines.bytecode, g_engines.native}) {
        if (engine != nullptr && engine->state_at_fault(*p, f.registers, &state)) {
            break;
        }
    }
    Line() << "Erlang frames:";
    const int code_ix = s->code_ix;
    int level = 0;
    bool found = false;
    if (state.pc != nullptr) {
        write_erlang_frame(state.pc, false, code_ix, level, &found);
        level += found ? 1 : 0;
    }
    if (state.stack < p->heap_start || state.stack > p->stack_base) {
        Line() << "  its stack pointer is wrong";
        return;
    }
    for (const Term* w = state.stack; w < p->stack_base && level < kMaxErlangFrames; ++w) {
        if (is_header(w->raw)) {
            write_erlang_frame(reinterpret_cast<const void*>(w->raw - kTagHeader), true, code_ix,
                               level, &found);
            level += found ? 1 : 0;
        }
    }
    if (level == kMaxErlangFrames) {
        Line() << "  ...";
    }
}

void write_end(const Fault& f) {
    {
        Line line;
        (line << "recorded in ").number(g_recorded_ns / 1000) << " us";
        (line << ", written in ").number(ns_since(f.begun) / 1000) << " us";
    }
    const std::string& path = recorder::file_path();
    if (!path.empty()) {
        Line() << "what happened before: minivm dump --crash " << path;
    }
}

// ---- the handler --------------------------------------------------------------------------------

void give_up(int signal, const siginfo_t* info) {
    if (g_why != nullptr) {
        _exit(1);
    }
    sigaction(signal, &g_previous[signal], nullptr);
    // When we return, an instruction that faulted does so again, in its own place, which a core file should show. A
    // signal that was sent must be sent again, and so must a trap, whose instruction is already done.
    if (info->si_code <= 0 || !has_address(signal)) {
        ::raise(signal);
    }
}

// Lets SIGALRM end a handler that hangs. A timer sends it to this thread: alarm()'s would go to the thread that waits
// for signals, which may be set to ignore it, or be this one. Uses system calls only, since a lock of the library may
// be what hangs. Returns the timer, or -1: there is none, and alarm() does it after all.
int be_patient(pid_t self) {
    std::signal(SIGALRM, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
    struct sigevent event {};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGALRM;
    event._sigev_un._tid = self;
    int timer = -1;
    const itimerspec after{{}, {kPatienceSeconds, 0}};
    if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer) != 0 ||
        syscall(SYS_timer_settime, timer, 0, &after, nullptr) != 0) {
        alarm(kPatienceSeconds);
        return -1;
    }
    return timer;
}

void on_fault(int signal, siginfo_t* info, void* context) {
    const int saved_errno = errno;
    const pid_t self = thread_id();
    pid_t owner = 0;
    // acq_rel: makes one thread the owner of the report and orders nothing else. Its partner is the same
    // exchange on other threads.
    if (!g_owner.compare_exchange_strong(owner, self, std::memory_order_acq_rel)) {
        if (owner == self) {
            if (g_in_part != 0) {
                siglongjmp(g_next_part, 1);
            }
            give_up(signal, info);
            return;
        }
        // Another thread writes its report, and then ends the program.
        sleep(kPatienceSeconds + 1);
        give_up(signal, info);
        return;
    }
    const int patience = be_patient(self);
    static Fault f;  // large; there is one
    clock_gettime(CLOCK_MONOTONIC, &f.begun);
    f.signal = signal;
    f.info = info;
    f.context = static_cast<ucontext_t*>(context);
    f.registers = read_registers(*f.context, f.all, &f.register_count);
    terminal::restore_at_fault();
    (void)recorder::begin_crash(signal);
    MINIVM_EVENT(fault_signal, signal,
                 has_address(signal) ? reinterpret_cast<uint64_t>(info->si_addr) : 0,
                 f.registers.pc, f.registers.sp);
    static constexpr void (*kParts[])(const Fault&) = {
        record_cpp_frames, write_what, write_process, write_cpp_frames, write_registers, write_end};
    static size_t i;  // static: siglongjmp() must find it as it was
    for (i = 0; i < std::size(kParts); ++i) {
        if (sigsetjmp(g_next_part, 1) == 0) {
            g_in_part = 1;
            kParts[i](f);
        } else {
            emit("  (a fault while this was written)\n");
        }
        g_in_part = 0;
    }
    recorder::end_crash();
    if (patience >= 0) {
        syscall(SYS_timer_delete, patience);
    } else {
        alarm(0);
    }
    errno = saved_errno;
    give_up(signal, info);
}

}  // namespace

// Nobody catches what the library throws when memory is out: the VM ends as for any other lack of memory, which is no
// failure of the VM. The stack has not been unwound, so the report shows who wanted the memory.
[[noreturn]] static void on_terminate() {
    try {
        if (std::current_exception() != nullptr) {
            throw;
        }
    } catch (const std::bad_alloc&) {
        end_vm("sys_alloc: Cannot allocate memory (std::bad_alloc).");
    } catch (const std::exception& e) {
        std::fprintf(stderr, "uncaught C++ exception: %s\n", e.what());
    }
    std::abort();
}

void install(bool print) {
    std::set_terminate(on_terminate);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    (void)print;  // the sanitizer's own report says more
    (void)on_fault;
#else
    g_print = print;
    g_installed = true;
    prepare_thread();
    for (const int signal : kSignals) {
        struct sigaction action {};
        action.sa_sigaction = on_fault;
        // NODEFER: a fault in the handler calls the handler again, which gives up that part of the report.
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        sigaction(signal, &action, &g_previous[signal]);
    }
#endif
}

void warm_up() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    unw_context_t context;
    unw_cursor_t cursor;
    if (unw_getcontext(&context) == 0 && unw_init_local(&cursor, &context) == 0) {
        char name[200];
        unw_word_t offset;
        while (unw_step(&cursor) > 0) {
            (void)unw_get_proc_name(&cursor, name, sizeof name, &offset);
        }
    }
#endif
}

bool is_installed() {
    return g_installed;
}

void prepare_thread() {
    if (!g_installed || t_alternate.memory != nullptr) {
        return;
    }
    void* memory = mmap(nullptr, kAlternateStackBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        return;  // an overflow would then end the process without a report
    }
    t_alternate.memory = memory;
    stack_t stack{};
    stack.ss_sp = memory;
    stack.ss_size = kAlternateStackBytes;
    sigaltstack(&stack, nullptr);
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        void* low = nullptr;
        size_t size = 0;
        pthread_attr_getstack(&attributes, &low, &size);
        pthread_attr_getguardsize(&attributes, &t_guard_bytes);
        t_stack_low = static_cast<char*>(low);
        pthread_attr_destroy(&attributes);
    }
}

// ---- provoking ----------------------------------------------------------------------------------

namespace {

MINIVM_NOINLINE void write_nowhere() {
    volatile uintptr_t where = 0x10;  // volatile: the compiler must not see through it
    *reinterpret_cast<volatile int*>(where) = 1;
}

MINIVM_NOINLINE uint64_t overflow_stack(uint64_t n) {
    volatile char frame[1024];
    frame[n % sizeof frame] = static_cast<char>(n);
    return n == UINT64_MAX ? 0 : overflow_stack(n + 1) + static_cast<uint64_t>(frame[0]);
}

}  // namespace

void end_vm(const char* why) {
    std::fprintf(stderr, "%s\n", why);
    if (!is_installed()) {
        _exit(1);
    }
    g_why = why;
    std::abort();
}

bool provoke(const char* how) {
    const std::string_view what(how);
    if (what == "segv") {
        write_nowhere();
    } else if (what == "abort") {
        std::abort();
    } else if (what == "stack") {
        volatile uint64_t n = 0;  // volatile: or the recursion would be folded
        n = overflow_stack(n);
    } else if (what == "fpe") {
        ::raise(SIGFPE);
    } else if (what == "ill") {
        __builtin_trap();
    } else if (what == "bus") {
        ::raise(SIGBUS);
    } else if (what == "trap") {
        ::raise(SIGTRAP);
    } else {
        return false;
    }
    return true;
}

}  // namespace minivm::fault

namespace minivm {

[[noreturn]] void out_of_memory(WantedFor what, size_t bytes) {
    MINIVM_EVENT(out_of_memory, bytes);
    struct Words {
        const char* allocator;
        const char* type;
    };
    static constexpr Words kWords[] = {  // in the order of WantedFor
        {"eheap_alloc", "heap"}, {"eheap_alloc", "heap_frag"}, {"binary_alloc", "binary"}, {"literal_alloc", "literal"}};
    const auto& [allocator, type] = kWords[static_cast<unsigned>(what)];
    char why[120];
    std::snprintf(why, sizeof why, "%s: Cannot allocate %zu bytes of memory (of type \"%s\").", allocator, bytes, type);
    fault::end_vm(why);
}

}  // namespace minivm
