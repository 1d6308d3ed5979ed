// What the VM asks of tracing, which lives above it (trace/): where something happens that may be
// traced, it calls these hooks.
//
// A process that is traced has a State, which is immutable: whoever changes the flags puts others
// in its place. So any thread may begin or end the tracing of a process without asking it. Threads:
// the hooks run on the process's own scheduler, or on the thread that makes or ends it.
#pragma once

#include "vm/process/state.hpp"
#include "vm/process/watchers.hpp"

#include <memory>

namespace minivm {

struct ModuleInstance;
struct Signal;
struct SpawnOptions;

namespace tracing {

enum Flag : uint32_t {
    kSend = 1u << 0,
    kReceive = 1u << 1,
    kCall = 1u << 2,
    kProcs = 1u << 3,
    kPorts = 1u << 4,
    kRunning = 1u << 5,
    kRunningProcs = 1u << 6,
    kRunningPorts = 1u << 7,
    kExiting = 1u << 8,
    kGarbageCollection = 1u << 9,
    kReturnTo = 1u << 10,
    kArity = 1u << 11,
    kSilent = 1u << 12,
    kSetOnSpawn = 1u << 13,
    kSetOnFirstSpawn = 1u << 14,
    kSetOnLink = 1u << 15,
    kSetOnFirstLink = 1u << 16,
    kTimestamp = 1u << 17,
    kMonotonicTimestamp = 1u << 18,
    kStrictMonotonicTimestamp = 1u << 19,
    kSchedulerId = 1u << 20,
    kAllTimestamps = kTimestamp | kMonotonicTimestamp | kStrictMonotonicTimestamp,
};

// The flag `cpu_timestamp`, of all or nobody: what kTimestamp gives is the processor time of the VM.
inline std::atomic<bool> g_cpu_timestamps{false};

// Who is told: a local pid or port, the atom flight_recorder, {Module, State} for a module whose native
// functions are called (vm/process/tracer_modules.hpp), or [] for nobody.
//
// That tuple is in no process: copies of a Tracer share it, and the last one frees it. So it is good on
// any thread for as long as what has the Tracer is.
class Tracer {
public:
    Tracer() = default;
    // A tuple is copied, literals as well: the code that they are of may be purged.
    explicit Tracer(Term t);
    static Tracer of_module(Term module, Term state);
    // Of a term that lives longer than this.
    static Tracer borrowed(Term t) {
        Tracer tracer;
        tracer.term_ = t;
        return tracer;
    }
    Term term() const { return term_; }
    bool is_module() const { return is_boxed(term_); }
    Term module() const { return tuple_element(term_, 0); }
    Term state() const { return tuple_element(term_, 1); }
    bool is(Term pid) const { return term_ == pid; }
    // One is a copy of the other, or both are the same identifier.
    bool is_copy_of(const Tracer& other) const { return term_ == other.term_; }
    // The same by what it says.
    bool operator==(const Tracer& other) const;

private:
    struct Kept;
    Term term_ = kNil;
    // Null if the term is borrowed from who has its Kept, or immediate.
    std::shared_ptr<Kept> kept_;
};

// What one session traces of a process; those of a process are a list.
struct State {
    uint32_t flags = 0;
    Tracer tracer;
    uint32_t session = 0;
    uint32_t all = flags;         // of this session and those that follow
    const State* next = nullptr;  // by session
};

// A port as what is traced; the port has it, and nobody looks at it behind forget().
struct TracedPort {
    explicit TracedPort(Term port) : id(port) {}
    const Term id;
    std::atomic<const State*> trace{nullptr};
    bool ended = false;  // trace/'s, under its lock
};

// Where the processor goes on when a function returns whose call left a frame on the stack:
//   this address, module, function, arity | flags << 8, whose it is
// (a meta trace's tracer as a term of the process, [] for the tracer of the process, and for session N of
// trace/ N and, for its meta traces, -N)
// It belongs to the engine that runs, as every return address. Set by the engines at start-up.
struct ReturnWords {
    Word bytecode = 0;
    Word native = 0;
};
extern ReturnWords g_return_words;
constexpr int kFrameWords = 5;  // with the address
// ...Below: the same session's frame under it, to which the same return comes, has it.
enum FrameFlag : int64_t {
    kFrameReturn = 1,
    kFrameException = 2,
    kFrameReturnTo = 4,
    kFrameClock = 8,
    kFrameReturnToBelow = 16,
    kFrameClockBelow = 32
};
inline bool is_return_word(Term w) {
    return w.raw == g_return_words.bytecode || w.raw == g_return_words.native;
}

// What tracing keeps in a process that has trace frames; its owner's.
struct Local {
    virtual ~Local() = default;
    uint32_t frames = 0;  // on its stack
    bool unfinished = false;  // a traced BIF has not returned but trapped, raised, or goes to a dirty scheduler
};
// As many frames may be on one stack; a call beyond leaves none.
constexpr uint32_t kMostFrames = uint32_t{1} << 30;
extern std::atomic<uint32_t> g_max_frames;

// ---- what engines look at where a breakpoint is hit ---------------------------------------------

// Calls counted by one scheduler, or (the first) by everybody else.
struct alignas(64) CallCell {
    std::atomic<uint64_t> calls{0};
};

// What they see of a breakpoint: trace/breakpoint.hpp has the rest.
struct ArmedPlace {
    Word saved = 0;  // by Engine::arm()
    // Of either half: the cells where calls are counted, if that is all that it does; else null.
    CallCell* cells[2] = {};
};

// Breakpoints by key. Open addressing, never full. The one that engines look at never changes.
struct ArmedTable {
    struct Slot {
        const void* key = nullptr;
        ArmedPlace* place = nullptr;
    };
    size_t byte_mask = 0;  // of offsets of slots
    Slot* slots = nullptr;

    // Native code has the same. Keys are places of code, or structures: the low three bits differ
    // in no two of a kind.
    static size_t hash(const void* key) {
        const auto k = reinterpret_cast<uint64_t>(key);
        return (k << kHashLeft) ^ (k >> kHashRight);
    }
    static constexpr unsigned kHashLeft = 1;
    static constexpr unsigned kHashRight = 8;
    Slot& at(size_t offset) const {
        return *reinterpret_cast<Slot*>(reinterpret_cast<char*>(slots) + (offset & byte_mask));
    }
    ArmedPlace* find(const void* key) const {
        for (size_t i = hash(key);; i += sizeof(Slot)) {
            const Slot& s = at(i);
            if (s.key == key || s.key == nullptr) {
                return s.place;
            }
        }
    }
};
static_assert(sizeof(ArmedTable::Slot) == 16 && sizeof(CallCell) == 64);
extern std::atomic<const ArmedTable*> g_armed;
// Which half of all breakpoints is active.
extern std::atomic<int> g_active_half;

// The breakpoint of a key. The key comes from armed code, so the table contains it. On a thread that makes progress.
inline ArmedPlace& armed_place(const void* key) {
    // acquire: what the table leads to is complete. Pairs with its publication.
    return *g_armed.load(std::memory_order_acquire)->find(key);
}
// By the scheduler of that number; 0: any other thread.
inline void count_call(CallCell* cells, int scheduler) {
    std::atomic<uint64_t>& calls = cells[static_cast<uint32_t>(scheduler)].calls;
    if (MINIVM_UNLIKELY(scheduler == 0)) {
        // relaxed: a number to show.
        calls.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    // relaxed: nobody else writes it.
    calls.store(calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}
// True: the call is counted, and nothing else is to be done.
inline bool only_counts(const ArmedPlace& b, int scheduler) {
    // relaxed: the halves were written before every scheduler passed a quiescent point.
    CallCell* cells = b.cells[g_active_half.load(std::memory_order_relaxed)];
    if (cells == nullptr) {
        return false;
    }
    count_call(cells, scheduler);
    return true;
}

struct Hooks {
    virtual ~Hooks() = default;
    // A breakpoint has been hit, x are the arguments, and the stack is as the function finds it.
    // Collects if it needs room. False: what is called goes on elsewhere, by the process's outcome: a trap, or an
    // exception.
    virtual bool breakpoint(Process& p, const ArmedPlace& b, Term* x) = 0;
    // A traced process calls through an export entry that is traced; native: to an address of native
    // code it will return.
    virtual void export_call(Process& p, const Export* e, Term* x, bool native) = 0;
    // The call of a BIF that is traced: calls it.
    virtual Term bif_call(Process& p, const BifDef& bif, Term* x) = 0;
    // Where Local::unfinished is set. The BIF traps to a function of `live` arguments x, and the stack is
    // as that will find it; native: the engine that goes on. Collects if it needs room.
    virtual void bif_traps(Process& p, Term* x, uint32_t live, bool native) = 0;
    // It has returned r from a dirty scheduler.
    virtual void bif_returned(Process& p, Term r) = 0;
    // A function has returned to a frame, whose words after the address are at p.heap.end: takes
    // them off. x[0] is the value.
    virtual void returned(Process& p, Term* x) = 0;
    // An exception passes frames: looks at the words in [from, to). If Local::unfinished is set, the
    // BIF has raised it. `caught_by`: an address in the function that catches it, or null.
    virtual void unwound(Process& p, const Term* from, const Term* to, const void* caught_by,
                         Term cls, Term reason) = 0;
    // process_flag(save_calls, N) with N > 0, by p for whomever: arms what the calls are saved by, and counts one who
    // saves them. False: *answer is a wait, behind which the function is called again with these arguments. True: it
    // is the answer, or a wait for it.
    virtual bool begin_saving(Process& p, Term function, std::initializer_list<Term> args, Term* answer) = 0;
    // On p's scheduler. n > 0: behind begin_saving().
    virtual void set_saving(Process& p, uint32_t n) = 0;
    // One who was counted saves no more, or never came to.
    virtual void end_saving() = 0;
    // erlang:match_spec_test(Arguments, Spec, trace).
    virtual Term test_spec(Process& p, const Term* a) = 0;
    // A new version of a module has been staged.
    virtual void staged(ModuleInstance& instance) = 0;
    // What has been staged takes functions of this version from their export entries: those that lead
    // nowhere then are not traced any more. True: there were any, and forget_entries() is to be called
    // when everybody has passed since the commit. All by the holder of the permission.
    virtual bool withdrawn(const ModuleInstance& instance) = 0;
    virtual void forget_entries() = 0;
    // The memory of one goes: nobody can run it any more.
    virtual void released(ModuleInstance& instance) = 0;

    // The rest is about processes that are traced, or may be by what they inherit.
    virtual void sent(Process& p, Term to, Term message, bool to_existing) = 0;
    // from: a pid or none; the non-value for a timeout.
    virtual void received(Process& p, Term from, Term message) = 0;
    // It takes one out of its queue.
    virtual void took_message(Process& p) = 0;
    virtual void spawning(Process& parent, Process& child, const Export* e, Term args,
                          const SpawnOptions& options) = 0;
    virtual void exited(Process& p, Term reason) = 0;
    virtual void forget(Process& p) = 0;
    // {trace, Pid, Tag, What} to whom the flag `procs` asks for it; on any thread.
    virtual void procs(Process& p, Term tag, Term what) = 0;
    // Of ports. Who calls these for one does so one after the other, holding its lock, so that events are told
    // in their order.
    // It is new: gets the flags of ports to come.
    virtual void port_opened(TracedPort& port, Term owner, Term name) = 0;
    // To whom the flag asks for it; extra: the non-value if there is no more.
    virtual void port_event(TracedPort& port, Flag flag, Term tag, Term what, Term extra) = 0;
    virtual void forget(TracedPort& port) = 0;
    // Whatever it is traced for when it comes in: who has no tracer any more is not.
    virtual void scheduled(Process& p, bool in) = 0;
    // The last event of a process with the flag `exiting`. An end is one step here, so a process neither leaves it
    // unfinished nor comes back to it.
    virtual void ended(Process& p) = 0;
    virtual void collecting(Process& p, bool major, bool start) = 0;
    // The stack goes away as a whole: hibernation.
    virtual void dropped_stack(Process& p) = 0;
};
// A process whose end has not begun, or a port.
bool tracer_exists(Term tracer);
// False: there is none any more. The message is copied.
bool tell_tracer(Term tracer, Term message);

// erlang:system_flag(trace_control_word, N)
extern std::atomic<uint32_t> g_control_word;
// Null: nothing is ever traced. Set before any process begins.
extern Hooks* g_hooks;
// How many breakpoints have something to do in processes that are not traced: 0 lets those pass.
// Native code reads it.
extern std::atomic<int32_t> g_everywhere;

// Of a Process or a TracedPort.
template <typename T>
const State* state_of(const T& p) {
    // acquire: the state was written before it was put there. Pairs with trace/tracer.cpp.
    return p.trace.load(std::memory_order_acquire);
}
template <typename T>
const State* state_of(const T& p, uint32_t session) {
    const State* s = state_of(p);
    while (s != nullptr && s->session != session) {
        s = s->next;
    }
    return s;
}
inline bool has_unfinished_bif(const Process& p) {
    return MINIVM_UNLIKELY(p.trace_local != nullptr) && p.trace_local->unfinished;
}
inline bool is_clocked(const Process& p) {
    return watchers::any(p, watchers::kClocked);
}
// Nothing is told of a process while it is sensitive; its flags stay.
inline bool is_traced(const Process& p, uint32_t flags) {
    const State* s = state_of(p);
    // relaxed: who becomes sensitive (process_flag(), on its own scheduler) hides what comes after.
    return MINIVM_UNLIKELY(s != nullptr) && (s->all & flags) != 0 &&
           (p.state.load(std::memory_order_relaxed) & process_state::kSensitive) == 0;
}

inline bool is_traced(const TracedPort& port, uint32_t flags) {
    const State* s = state_of(port);
    return MINIVM_UNLIKELY(s != nullptr) && (s->all & flags) != 0;
}

}  // namespace tracing
}  // namespace minivm
