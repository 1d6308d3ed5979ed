// Generic breakpoints: which functions have actions when they are called, and which actions.
//
// A breakpoint has two halves, one of which is active (tracing::g_active_half). A change writes the
// other halves, and one store makes all of them active. The holder of the code modification
// permission runs the whole sequence, with thread progress (->) between:
//   stage the halves, publish the table   -> arm what is new, stage export entries
//   -> commit these, switch the halves    -> disarm what is gone, stage its export entries
//   -> commit these, make both halves alike -> free what is gone, give the permission back
// docs/protocols/tracing.md has the reason of each wait.
#pragma once

#include "trace/counters.hpp"
#include "vm/code_change/code_change.hpp"
#include "vm/code/engine.hpp"
#include "vm/code/module_table.hpp"
#include "vm/match_spec/match_spec.hpp"

#include <memory>
#include <vector>

namespace minivm {
struct BifDef;
}

namespace minivm::trace {

// A match specification as it was given, and compiled. A null program matches everything.
struct Spec {
    std::unique_ptr<match_spec::Program> program;
    Heap heap;
    Term term = kNil;
    // For calls: the FrameFlags that each clause's body asks for. Empty: some body does more.
    std::vector<int8_t> frames;
    // The FrameFlags of every call: the first clause always matches, and its body asks for these only.
    // Negative: the specification has to be run.
    int8_t frames_always = -1;
};
using SpecPtr = std::shared_ptr<const Spec>;

// What a breakpoint does for one session.
struct Action {
    // Small members side by side: a change goes through thousands of Actions.
    bool call = false;
    bool global = false;  // of the call: only through the export entry
    bool meta = false;
    bool count = false, count_paused = false;
    bool time = false, time_paused = false;
    bool memory = false, memory_paused = false;
    bool debug = false;         // the error handler is called instead; session 0 only
    uint8_t does = 0;           // of Does
    int8_t always_frames = -1;  // as that of call_spec
    SpecPtr call_spec;
    // The members that only meta traces and counters need. Immutable, so both halves share them.
    struct Others {
        SpecPtr meta_spec;
        tracing::Tracer meta_tracer;
        // A call of this function found that the tracer has ended, or that its module has removed it: it is not
        // asked again, nor shown. As in OTP, another function of the pattern finds out when it is called itself.
        std::shared_ptr<std::atomic<bool>> meta_tracer_gone;
        std::shared_ptr<CallCount> counted;
        CallTablePtr times;
        CallTablePtr words;
    };
    const Others& others() const { return others_ != nullptr ? *others_ : kNoOthers; }
    // Replaces the Others by a copy that `change` changes, along with the flags that belong to them.
    template <typename F>
    void change_others(F change) {
        auto copy = std::make_shared<Others>(others());
        change(*copy);
        others_ = meta || count || time || memory ? std::move(copy) : nullptr;
    }
    bool none() const { return !call && !meta && !count && !time && !memory && !debug; }
    // What a hit looks at; seal() sums it up when the other members are final.
    // kSessions...: in the Action of session 0, what the other sessions do.
    enum Does : uint8_t {
        kCalls = 1,
        kMeta = 2,
        kCounts = 4,
        kClocks = 8,
        kSessionsTraced = 16,
        kSessionsAll = 32,
        kDebug = 64
    };
    static constexpr uint8_t kSessions = kSessionsTraced | kSessionsAll;
    // For processes whose calls are traced, and for all processes.
    static constexpr uint8_t kForTraced = kCalls | kClocks | kSessionsTraced;
    static constexpr uint8_t kForAll = kMeta | kCounts | kSessionsAll | kDebug;
    void seal() {
        always_frames = call_spec == nullptr ? int8_t{0} : call_spec->frames_always;
        const bool clocks = (time && !time_paused) || (memory && !memory_paused);
        does =
            static_cast<uint8_t>((call ? kCalls : 0) | (meta ? kMeta : 0) |
                                 (count && !count_paused ? kCounts : 0) | (clocks ? kClocks : 0) |
                                 (debug ? kDebug : 0));
    }
    bool everywhere() const { return (does & kForAll) != 0; }

private:
    static const Others kNoOthers;
    std::shared_ptr<const Others> others_;
};

// What a breakpoint does for a session other than 0.
struct SessionAction {
    uint32_t session;
    tracing::Tracer tracer;
    Action action;
};
using SessionActions = std::vector<SessionAction>;  // by session

struct Breakpoint : tracing::ArmedPlace {
    enum class Kind : uint8_t { code, entry, bif };
    Kind kind = Kind::code;
    bool native = false;  // code: of native code
    // The next four are the permission holder's.
    bool armed = false;
    bool touched = false;     // by the change under way
    bool published = false;   // in the table that hits look at
    bool everywhere = false;  // counted in g_everywhere
    bool acts[2] = {};        // whether each half does something; set by seal()
    uint32_t arity = 0;
    uint32_t index = 0;  // code: of the function
    Term module, function;
    ModuleInstance* instance = nullptr;  // code
    Engine::Armed at{};                  // code; the key of the others is the entry or the BIF
    Export* entry = nullptr;
    BifDef* bif = nullptr;
    void* block = nullptr;   // of memory, in which it lies
    uint64_t record_id = 0;  // the function's id in records
    uint64_t serial = 0;     // no other breakpoint has or had this number
    Action half[2];          // of session 0
    SessionActions sessions[2];
    const void* key() const;
    // Copies the other half into this one.
    void make_alike(int which);
    // Sums up what the half does, and drops sessions that do nothing.
    void seal(int which);
};

inline const Action& active(const Breakpoint& b) {
    // relaxed: the halves were written before every scheduler passed a quiescent point.
    return b.half[tracing::g_active_half.load(std::memory_order_relaxed)];
}

inline const SessionActions& active_sessions(const Breakpoint& b) {
    // relaxed: as above.
    return b.sessions[tracing::g_active_half.load(std::memory_order_relaxed)];
}
// What the breakpoint does for a session, or null.
const Action* active_of(const Breakpoint& b, uint32_t session);

// The breakpoint of a key, as hits find it, or null; never null for a key from armed code. Any thread
// that makes progress, or in a delay section.
inline Breakpoint* find(const void* key) {
    // acquire: pairs with Changing::publish().
    const tracing::ArmedTable* t = tracing::g_armed.load(std::memory_order_acquire);
    return t != nullptr ? static_cast<Breakpoint*>(t->find(key)) : nullptr;
}
// The same for the permission holder, on any thread: also finds breakpoints of the change under way.
Breakpoint* find_own(const void* key);

// For code that goes through many functions: holds the table's lock for some dozens of calls of
// find_own(), any_entries(), any_code() and Change's functions. Not across thread progress.
class BatchLock {
public:
    // to_come: makes room for so many more breakpoints; 0: an earlier BatchLock has done so.
    explicit BatchLock(size_t to_come);
    BatchLock(const BatchLock&) = delete;
    BatchLock& operator=(const BatchLock&) = delete;
    ~BatchLock();
    // Releases the lock now and then, for other threads. Call it before each function.
    void step();

private:
    uint32_t steps_ = 0;
};
// Whether any export entry has a breakpoint; whether any code or BIF has one.
bool any_entries();
bool any_code();

// A change of breakpoints, by the permission holder. It takes effect with apply(); until then only halves
// that are not active differ.
class Change {
public:
    // For a session with this tracer.
    explicit Change(uint32_t session = 0, tracing::Tracer tracer = {})
        : session_(session), tracer_(std::move(tracer)) {}
    // The session's action in the function's breakpoint, which is made if there is none. Change it before
    // you ask for the next one.
    Action& of_code(ModuleInstance& m, uint32_t function);
    Action& of_entry(Export& e);
    Action& of_bif(BifDef& bif);
    // The same of a breakpoint that exists (find_own()).
    Action& of(Breakpoint& b) { return touch(b); }
    // Clears all of the session's actions.
    void remove_all();
    // Takes over one reference of op.
    void apply(code_change::Operation* op);

private:
    struct Running;
    Action& touch(Breakpoint& b);
    const uint32_t session_;
    const tracing::Tracer tracer_;
    std::vector<Breakpoint*> touched_;
};

bool exports(const ModuleInstance& m, Term function, uint32_t arity);

// For a version of a module that nobody runs yet: arms the breakpoint at once. Then publish_staged()
// makes all of them visible to hits, before the commit. By the permission holder.
void arm_staged(ModuleInstance& m, uint32_t function, const Action& action,
                const SessionActions& sessions);
void arm_staged(Export& e, const Action& action, const SessionActions& sessions);
void publish_staged();
// Disarms, in the staged tables, the breakpoints of entries that this version exported and that lead
// nowhere there. True: there were any. By the permission holder.
bool disarm_withdrawn(const ModuleInstance& m);
// Frees them, after the commit and thread progress. By the permission holder.
void forget_disarmed();
// Frees the breakpoints of a version whose code nobody can run any more.
void forget_instance(const ModuleInstance& m);

}  // namespace minivm::trace
