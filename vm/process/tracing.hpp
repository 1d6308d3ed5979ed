// The interface between the VM and tracing, which is in trace/ above it: where an event happens that may be
// traced, the VM calls these hooks.
//
// A traced process has a State, which is immutable: a change of the flags replaces it. So any thread may begin
// or end the tracing of a process without asking it. Threads: the hooks run on the process's own scheduler, or
// on the thread that makes or ends it.
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

// The flag `cpu_timestamp`, for all processes: kTimestamp then gives the processor time of the VM.
inline std::atomic<bool> g_cpu_timestamps{false};

// Gets the trace events: a local pid or port, the atom flight_recorder, {Module, State} for a module whose native
// functions are called (vm/process/tracer_modules.hpp), or [] for none.
//
// The tuple is in no process's heap: copies of a Tracer share it, and the last one frees it. So it is valid on
// any thread for as long as the owner of the Tracer exists.
class Tracer {
public:
    Tracer() = default;
    // Copies a tuple, with its literals, whose code may be purged.
    explicit Tracer(Term t);
    static Tracer of_module(Term module, Term state);
    // With a term that lives longer than the Tracer.
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
    // Whether the terms are equal.
    bool operator==(const Tracer& other) const;

private:
    Term term_ = kNil;
    // Owns the tuple. Null if the term is immediate, or borrowed.
    std::shared_ptr<Heap> kept_;
};

// How one session traces a process. A process has a list of them.
struct State {
    uint32_t flags = 0;
    Tracer tracer;
    uint32_t session = 0;
    uint32_t all = flags;         // flags of this session and those that follow
    const State* next = nullptr;  // of the next session
};

// A port as a tracee. The port owns it; no thread uses it after forget().
struct TracedPort {
    explicit TracedPort(Term port) : id(port) {}
    const Term id;
    std::atomic<const State*> trace{nullptr};
    bool ended = false;  // only for trace/, under its lock
};

// The return address of a trace frame, which a traced call leaves on the stack. The frame's words:
//   this address, module, function, arity | flags << 8, owner
// The owner is a meta trace's tracer as a term of the process, or [] for the tracer of the process; for session
// N of trace/ it is N, and -N for its meta traces.
// The address belongs to the running engine, like every return address. The engines set it at start-up.
struct ReturnWords {
    Word bytecode = 0;
    Word native = 0;
};
extern ReturnWords g_return_words;
constexpr int kFrameWords = 5;  // with the address
// ...Below: the same session's next frame below, which the same return reaches, has the flag.
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

// What tracing keeps in a process that has trace frames. Only the owner of the process uses it.
struct Local {
    virtual ~Local() = default;
    uint32_t frames = 0;  // on its stack
    bool unfinished = false;  // a traced BIF has not returned but trapped, raised, or goes to a dirty scheduler
};
// The most frames on one stack; a call beyond that leaves none. g_max_frames is at most kMostFrames.
constexpr uint32_t kMostFrames = uint32_t{1} << 30;
extern std::atomic<uint32_t> g_max_frames;

// ---- what engines read when a breakpoint is hit -------------------------------------------------

// Calls counted by one scheduler, or (the first cell) by all other threads.
struct alignas(64) CallCell {
    std::atomic<uint64_t> calls{0};
};

// The part of a breakpoint that engines see: trace/breakpoint.hpp has the rest.
struct ArmedPlace {
    Word saved = 0;  // Engine::Armed::saved
    // For each half: the cells that count calls, if counting is all that the half does; else null.
    CallCell* cells[2] = {};
};

// Breakpoints by key. Open addressing, never full. A table never changes while engines read it.
struct ArmedTable {
    struct Slot {
        const void* key = nullptr;
        ArmedPlace* place = nullptr;
    };
    size_t byte_mask = 0;  // of offsets of slots
    Slot* slots = nullptr;

    // Native code computes the same hash. Keys are addresses of code or of structures: the low three bits
    // are equal in all keys of a kind.
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
// Called on the scheduler of that number; 0: any other thread.
inline void count_call(CallCell* cells, int scheduler) {
    std::atomic<uint64_t>& calls = cells[static_cast<uint32_t>(scheduler)].calls;
    if (MINIVM_UNLIKELY(scheduler == 0)) {
        // relaxed: a number to show.
        calls.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    // relaxed: only this scheduler writes it.
    calls.store(calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}
// Counts the call and returns true if the breakpoint does nothing else.
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
    // Collects if it needs room. False: the process goes on elsewhere, by its outcome: a trap, or an exception.
    virtual bool breakpoint(Process& p, const ArmedPlace& b, Term* x) = 0;
    // A traced process calls through a traced export entry; native: the call will return to native code.
    virtual void export_call(Process& p, const Export* e, Term* x, bool native) = 0;
    // Calls a traced BIF and returns its result.
    virtual Term bif_call(Process& p, const BifDef& bif, Term* x) = 0;
    // Called if Local::unfinished is set: the BIF traps to a function of `live` arguments x, and the stack is
    // as that function will find it; native: the engine that goes on. Collects if it needs room.
    virtual void bif_traps(Process& p, Term* x, uint32_t live, bool native) = 0;
    // The traced BIF has returned r from a dirty scheduler.
    virtual void bif_returned(Process& p, Term r) = 0;
    // A function has returned to a trace frame, whose words after the address are at p.heap.end: removes
    // them. x[0] is the value.
    virtual void returned(Process& p, Term* x) = 0;
    // An exception passes frames: looks at the words in [from, to). If Local::unfinished is set, the traced
    // BIF has raised it. `caught_by`: an address in the function that catches it, or null.
    virtual void unwound(Process& p, const Term* from, const Term* to, const void* caught_by,
                         Term cls, Term reason) = 0;
    // process_flag(save_calls, N) with N > 0, by p for any process: arms the places that save calls, and counts one
    // more process that saves. False: *answer is a wait, after which `function` is called again with these
    // arguments. True: *answer is the result, or a wait for it.
    virtual bool begin_saving(Process& p, Term function, std::initializer_list<Term> args, Term* answer) = 0;
    // On p's scheduler. n > 0: after begin_saving().
    virtual void set_saving(Process& p, uint32_t n) = 0;
    // A process counted by begin_saving() saves no more, or has not begun.
    virtual void end_saving() = 0;
    // erlang:match_spec_test(Arguments, Spec, trace).
    virtual Term test_spec(Process& p, const Term* a) = 0;
    // A new version of a module has been staged.
    virtual void staged(ModuleInstance& instance) = 0;
    // The staged changes take export entries from this version: entries that become undefined are not traced any
    // more. True: there were any, and the caller calls forget_entries() after thread progress since the commit.
    // All by the holder of the permission.
    virtual bool withdrawn(const ModuleInstance& instance) = 0;
    virtual void forget_entries() = 0;
    // The instance is about to be freed: no process can run it any more.
    virtual void released(ModuleInstance& instance) = 0;

    // The rest is about processes that are traced, or may inherit tracing.
    virtual void sent(Process& p, Term to, Term message, bool to_existing) = 0;
    // from: a pid, or undefined; the non-value for a timeout.
    virtual void received(Process& p, Term from, Term message) = 0;
    // p takes a message out of its queue.
    virtual void took_message(Process& p) = 0;
    virtual void spawning(Process& parent, Process& child, const Export* e, Term args,
                          const SpawnOptions& options) = 0;
    virtual void exited(Process& p, Term reason) = 0;
    virtual void forget(Process& p) = 0;
    // {trace, Pid, Tag, What} to the tracers with the flag `procs`; on any thread.
    virtual void procs(Process& p, Term tag, Term what) = 0;
    // The next three are about ports. The caller holds the port's lock, so that events are reported in their order.
    // The port is new: it gets the flags for new ports.
    virtual void port_opened(TracedPort& port, Term owner, Term name) = 0;
    // To the tracers with the flag; extra: the non-value if there is none.
    virtual void port_event(TracedPort& port, Flag flag, Term tag, Term what, Term extra) = 0;
    virtual void forget(TracedPort& port) = 0;
    // p is scheduled in or out. Also ends traces whose tracer is gone.
    virtual void scheduled(Process& p, bool in) = 0;
    // The last event of a process with the flag `exiting`. An end is one step here, so a process is never scheduled
    // out and in during it.
    virtual void ended(Process& p) = 0;
    virtual void collecting(Process& p, bool major, bool start) = 0;
    // The whole stack is dropped: hibernation.
    virtual void dropped_stack(Process& p) = 0;
};
// True: the tracer is a process whose end has not begun, or an open port.
bool tracer_exists(Term tracer);
// False: the tracer is gone. Copies the message.
bool tell_tracer(Term tracer, Term message);

// erlang:system_flag(trace_control_word, N)
extern std::atomic<uint32_t> g_control_word;
// Null: nothing is ever traced. Set before any process begins.
extern Hooks* g_hooks;
// How many breakpoints also do something in processes that are not traced; 0: these processes skip breakpoints.
// Native code reads it.
extern std::atomic<int32_t> g_everywhere;

// The first State of a Process or a TracedPort, or null.
template <typename T>
const State* state_of(const T& p) {
    // acquire: the state was written before it was stored there. Pairs with trace/tracer.cpp.
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
// False while the process is sensitive; its flags stay.
inline bool is_traced(const Process& p, uint32_t flags) {
    const State* s = state_of(p);
    // relaxed: a process that becomes sensitive (process_flag(), on its own scheduler) hides later events.
    return MINIVM_UNLIKELY(s != nullptr) && (s->all & flags) != 0 &&
           (p.state.load(std::memory_order_relaxed) & process_state::kSensitive) == 0;
}

inline bool is_traced(const TracedPort& port, uint32_t flags) {
    const State* s = state_of(port);
    return MINIVM_UNLIKELY(s != nullptr) && (s->all & flags) != 0;
}

}  // namespace tracing
}  // namespace minivm
