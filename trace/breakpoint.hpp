// Generic breakpoints: which functions do something when they are called, and what.
//
// A breakpoint has two halves, one of which is active (tracing::g_active_half). A change writes the
// others, and one store makes all of them active. The whole sequence, by the holder of the code
// modification permission, with thread progress (->) between:
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
    // What all calls get: the first clause matches, and its body asks for these. Negative: it has
    // to be run.
    int8_t frames_always = -1;
    ~Spec() { heap.clear(); }
};
using SpecPtr = std::shared_ptr<const Spec>;

// What a breakpoint does.
struct Action {
    // Small things side by side: a change goes through thousands of these.
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
    // What meta traces and counters have beside that. It never changes: both halves share it.
    struct Others {
        SpecPtr meta_spec;
        tracing::Tracer meta_tracer;
        // A call of this function found it to be no more, or its module has removed it: it is not asked again, nor
        // shown. As in OTP another function of the same pattern does not know that before it is called.
        std::shared_ptr<std::atomic<bool>> meta_tracer_gone;
        std::shared_ptr<CallCount> counted;
        CallTablePtr times;
        CallTablePtr words;
    };
    const Others& others() const { return others_ != nullptr ? *others_ : kNoOthers; }
    // Others are put in their place: a copy that `change` changes, with the flags that go with it.
    template <typename F>
    void change_others(F change) {
        auto copy = std::make_shared<Others>(others());
        change(*copy);
        others_ = meta || count || time || memory ? std::move(copy) : nullptr;
    }
    bool none() const { return !call && !meta && !count && !time && !memory && !debug; }
    // What a hit looks at: summed up by seal() when the rest is as it is to be.
    // kSessions...: what sessions do that are not session 0, in the latter's Action.
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
    // In processes whose calls are traced.
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

// What it does for a session other than 0.
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
    // The next four: holder of the permission.
    bool armed = false;
    bool touched = false;     // by the change under way
    bool published = false;   // in the table that hits look at
    bool everywhere = false;  // counted in g_everywhere
    bool acts[2] = {};        // of either half: it does something; known since seal()
    uint32_t arity = 0;
    uint32_t index = 0;  // code: of the function
    Term module, function;
    ModuleInstance* instance = nullptr;  // code
    Engine::Armed at{};                  // code; the key of the others is the entry or the BIF
    Export* entry = nullptr;
    BifDef* bif = nullptr;
    void* block = nullptr;   // that its memory is of
    uint64_t record_id = 0;  // how records name the function
    uint64_t serial = 0;     // no other one has it, or had
    Action half[2];          // of session 0
    SessionActions sessions[2];
    const void* key() const;
    // The half is as the active one.
    void make_alike(int which);
    // Sums up what the half does, and drops what does nothing.
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
// What it does for a session, or null.
const Action* active_of(const Breakpoint& b, uint32_t session);

// The breakpoint of a key that a hit has, or null. Any thread that makes progress, or in a delay
// section. A key that armed code came with is always found.
inline Breakpoint* find(const void* key) {
    // acquire: pairs with Changing::publish().
    const tracing::ArmedTable* t = tracing::g_armed.load(std::memory_order_acquire);
    return t != nullptr ? static_cast<Breakpoint*>(t->find(key)) : nullptr;
}
// The same for the holder of the permission, on any thread: those of the change under way as well.
Breakpoint* find_own(const void* key);

// For who goes through many functions: the table's lock is taken once for some dozens of calls of
// the two above and below instead of for each. Not across thread progress.
class BatchLock {
public:
    // to_come: how many breakpoints there will be more, at most; 0: that has been said before.
    explicit BatchLock(size_t to_come);
    BatchLock(const BatchLock&) = delete;
    BatchLock& operator=(const BatchLock&) = delete;
    ~BatchLock();
    // Lets others have the lock now and then. Before each function.
    void step();

private:
    uint32_t steps_ = 0;
};
// Whether any export entry has one; any code or BIF.
bool any_entries();
bool any_code();

// Holder of the permission. The change is to be applied with apply(); until then only halves that
// are not active are different.
class Change {
public:
    // For a session, whose tracer that is.
    explicit Change(uint32_t session = 0, tracing::Tracer tracer = {})
        : session_(session), tracer_(std::move(tracer)) {}
    // The function's breakpoint, made if there is none; its action for the session is to be changed
    // before the next one is asked for.
    Action& of_code(ModuleInstance& m, uint32_t function);
    Action& of_entry(Export& e);
    Action& of_bif(BifDef& bif);
    // Of one that there is (find_own()).
    Action& of(Breakpoint& b) { return touch(b); }
    // Nothing is done for the session any more.
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

// A version of a module that nobody runs yet: its breakpoints are armed at once. Then
// publish_staged() makes them visible to hits, before the commit. Holder of the permission.
void arm_staged(ModuleInstance& m, uint32_t function, const Action& action,
                const SessionActions& sessions);
void arm_staged(Export& e, const Action& action, const SessionActions& sessions);
void publish_staged();
// Entries of functions that this version exported, and that lead nowhere with what has been staged:
// their breakpoints are disarmed with it. True: there were any. Holder of the permission.
bool disarm_withdrawn(const ModuleInstance& m);
// When everybody has passed since the commit of that: they are freed. Holder of the permission.
void forget_disarmed();
// Nobody can run its code any more.
void forget_instance(const ModuleInstance& m);

}  // namespace minivm::trace
