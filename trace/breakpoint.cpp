#include "trace/breakpoint.hpp"
#include "trace/breakpoint_steps.hpp"

#include "vm/code/code_index.hpp"
#include "vm/code/loading.hpp"
#include "vm/code/permission.hpp"
#include "vm/instr/bif_def.hpp"
#include "vm/process/tracing.hpp"
#include "vm/progress/background.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/record/record.hpp"
#include "vm/sched/scheduler_thread.hpp"
#include "vm/util/lock.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>

namespace minivm::trace {

using tracing::ArmedTable;
using tracing::g_active_half;

namespace {

struct Table : ArmedTable {
    size_t size = 8;
    size_t count = 0;
    std::shared_ptr<Slot[]> memory;
    Table* next_dead = nullptr;

    // Has room for `wanted` breakpoints or more.
    explicit Table(size_t wanted) {
        while (size < 2 * wanted) {
            size *= 2;
        }
        memory.reset(new Slot[size]);
        slots = memory.get();
        byte_mask = (size - 1) * sizeof(Slot);
    }
    bool has_room(size_t more) const { return 2 * (count + more) <= size; }
    void add(Breakpoint* b) {
        const void* key = b->key();
        size_t i = hash(key);
        while (at(i).key != nullptr) {
            i += sizeof(Slot);
        }
        at(i) = {key, b};
        ++count;
    }
    template <typename F>
    void for_each(F f) const {
        for (size_t i = 0; i < size; ++i) {
            if (slots[i].place != nullptr) {
                f(static_cast<Breakpoint*>(slots[i].place));
            }
        }
    }
};

// Guards g_all, all breakpoints for those who change them, and the variables below it. Hits use the table that was
// published last (g_armed), whose slots never change: the next change gets slots of its own.
CountedMutex g_breakpoints_lock{LockKind::breakpoints};
thread_local bool t_has_lock = false;  // by a BatchLock
// Holds the lock, unless a BatchLock of this thread does.
class Locked {
public:
    Locked() : lock_(g_breakpoints_lock, std::defer_lock) {
        if (!t_has_lock) {
            lock_.lock();
        }
    }

private:
    std::unique_lock<CountedMutex> lock_;
};
Table g_all{0};
bool g_is_published = false;  // g_all's slots are those that hits look at
size_t g_entries = 0;         // how many of g_all are on export entries

// Memory of some breakpoints: those of a module come together and go together.
struct Block {
    static constexpr uint32_t kRoom = 16;
    uint32_t used = 0;              // under g_breakpoints_lock
    std::atomic<uint32_t> live{1};  // breakpoints, and one for g_block
    alignas(Breakpoint) std::byte memory[kRoom * sizeof(Breakpoint)];
};
Block* g_block = nullptr;    // the newest one; under g_breakpoints_lock
uint64_t g_last_serial = 0;  // under g_breakpoints_lock

void drop_block(Block* block) {
    // acq_rel: what other threads did with their breakpoints in the block comes before the delete.
    if (block->live.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        delete block;
    }
}
Breakpoint* new_breakpoint_locked() {
    if (g_block == nullptr || g_block->used == Block::kRoom) {
        if (g_block != nullptr) {
            drop_block(g_block);
        }
        g_block = new Block;
    }
    auto* b = new (g_block->memory + g_block->used * sizeof(Breakpoint)) Breakpoint;
    ++g_block->used;
    // relaxed: g_block's own reference keeps the count above 0.
    g_block->live.fetch_add(1, std::memory_order_relaxed);
    b->block = g_block;
    b->serial = ++g_last_serial;
    return b;
}
// Deferred work.
void free_breakpoints(void* vector) {
    const std::unique_ptr<std::vector<Breakpoint*>> dead(
        static_cast<std::vector<Breakpoint*>*>(vector));
    for (Breakpoint* b : *dead) {
        auto* const block = static_cast<Block*>(b->block);
        b->~Breakpoint();
        drop_block(block);
    }
}
void free_table(void* table) {
    delete static_cast<Table*>(table);
}

// Small tables that nobody reads any more. The thread that makes the next change frees them: a scheduler would wait
// for the thread that allocated them (malloc's locks).
std::atomic<Table*> g_dead_tables{nullptr};  // the newest first
// Deferred work.
void leave_table(void* table) {
    auto* const t = static_cast<Table*>(table);
    // relaxed: the compare-exchange decides.
    t->next_dead = g_dead_tables.load(std::memory_order_relaxed);
    // release: pairs with free_dead_tables(). relaxed: a failed exchange is tried again.
    while (!g_dead_tables.compare_exchange_weak(t->next_dead, t, std::memory_order_release,
                                                std::memory_order_relaxed)) {
    }
}
void free_dead_tables() {
    // acquire: pairs with leave_table(). Takes the whole stack, so there is no ABA problem.
    for (Table* t = g_dead_tables.exchange(nullptr, std::memory_order_acquire); t != nullptr;) {
        Table* const next = t->next_dead;
        free_table(t);
        t = next;
    }
}

constexpr size_t kFew = 4;

// Runs kWork(data) after thread progress, on a dirty scheduler if it is about more than a few breakpoints: where
// there is no room for a writable view of all code, system calls about memory may wait for those of other threads,
// and a thread that frees another one's memory waits for that thread (malloc's locks).
template <void (*kWork)(void*)>
void after_progress(void* data, size_t breakpoints) {
    if (breakpoints <= kFew) {
        thread_progress::later(kWork, data);
        return;
    }
    thread_progress::later(
        [](void* d) {
            if (this_scheduler_thread() != nullptr) {
                dirty::run(kWork, d);
            } else {
                kWork(d);
            }
        },
        data);
}

// Holds the lock while the table is changed. Defers the freeing of the old table and breakpoints after it has released
// the lock: later() may run the next step of another change, which takes the lock as well.
class Changing {
public:
    Changing() = default;
    Changing(const Changing&) = delete;
    Changing& operator=(const Changing&) = delete;
    ~Changing() {
        lock_.unlock();
        free_dead_tables();
        if (table_ != nullptr) {
            // By its slots: a table of few breakpoints may be the last owner of many slots.
            const size_t room = table_->size / 2;
            if (room <= kFew) {
                thread_progress::later(leave_table, table_);
            } else {
                after_progress<free_table>(table_, room);
            }
        }
        if (breakpoints_ != nullptr) {
            const size_t count = breakpoints_->size();
            after_progress<free_breakpoints>(breakpoints_.release(), count);
        }
    }
    void publish() {
        MINIVM_ASSERT(table_ == nullptr);
        auto* t = new Table(g_all);
        g_is_published = true;
        // release: what the slots point to is complete. Pairs with find().
        const ArmedTable* old = tracing::g_armed.exchange(t, std::memory_order_acq_rel);
        table_ = const_cast<Table*>(static_cast<const Table*>(old));
    }
    // Takes `gone` out of the table, those for which stays() is false, and publishes the rest.
    template <typename F>
    void remove(std::unique_ptr<std::vector<Breakpoint*>> gone, F stays) {
        if (gone->empty()) {
            return;
        }
        for (const Breakpoint* b : *gone) {
            g_entries -= b->kind == Breakpoint::Kind::entry ? 1 : 0;
        }
        const size_t left = g_all.count - gone->size();
        Table rest(left + left / 2);
        if (left != 0) {
            g_all.for_each([&](Breakpoint* b) {
                if (stays(*b)) {
                    rest.add(b);
                }
            });
        }
        g_all = std::move(rest);
        publish();
        breakpoints_ = std::move(gone);
    }

private:
    std::unique_lock<CountedMutex> lock_{g_breakpoints_lock};
    Table* table_ = nullptr;
    std::unique_ptr<std::vector<Breakpoint*>> breakpoints_;
};

// Gives g_all slots of its own, with room for so many breakpoints in all.
void enlarge_locked(size_t wanted) {
    Table larger(wanted);
    g_all.for_each([&](Breakpoint* b) { larger.add(b); });
    g_all = std::move(larger);
    g_is_published = false;
}
void add_locked(Breakpoint* b) {
    if (!g_all.has_room(1)) {
        enlarge_locked(2 * g_all.count + 2);
    } else if (g_is_published) {
        enlarge_locked(g_all.count + 1);
    }
    g_all.add(b);
}

template <typename F>
std::unique_ptr<std::vector<Breakpoint*>> find_all_locked(F is_wanted) {
    auto found = std::make_unique<std::vector<Breakpoint*>>();
    g_all.for_each([&](Breakpoint* b) {
        if (is_wanted(*b)) {
            found->push_back(b);
        }
    });
    return found;
}
bool is_armed(const Breakpoint& b) {
    return b.armed;
}

void flag_bif(BifDef& bif, bool on) {
    // relaxed: a call at the same time may or may not be traced.
    if (on) {
        __atomic_fetch_or(&bif.flags, kBifTraced, __ATOMIC_RELAXED);
    } else {
        __atomic_fetch_and(&bif.flags, static_cast<uint8_t>(~kBifTraced), __ATOMIC_RELAXED);
    }
}

// Arms or disarms breakpoints of code and BIFs; some may be in the wanted state already. Calls an engine
// once, with the functions of a module side by side and modules in the order of their addresses: it can
// write places that lie close together at once.
void arm_all(const std::vector<Breakpoint*>& list, bool on) {
    struct OfModule {
        const void* where;
        size_t first, end;
    };
    std::vector<OfModule> modules[2];  // of bytecode, of native code
    for (size_t i = 0; i < list.size();) {
        Breakpoint& first = *list[i];
        const size_t begin = i;
        if (first.kind == Breakpoint::Kind::bif) {
            flag_bif(*first.bif, on);
            first.armed = on;
            ++i;
            continue;
        }
        while (i < list.size() && list[i]->instance == first.instance) {
            list[i++]->armed = on;
        }
        modules[first.native ? 1 : 0].push_back({first.at.key, begin, i});
    }
    std::vector<Engine::Armed> places;
    for (const bool native : {false, true}) {
        std::vector<OfModule>& of_engine = modules[native ? 1 : 0];
        std::sort(of_engine.begin(), of_engine.end(),
                  [](const OfModule& a, const OfModule& b) { return a.where < b.where; });
        places.clear();
        for (const OfModule& m : of_engine) {
            for (size_t i = m.first; i < m.end; ++i) {
                places.push_back(list[i]->at);
            }
        }
        if (places.empty()) {
            continue;
        }
        Engine& engine = *list[of_engine.front().first]->instance->engine;
        if (on) {
            engine.arm(places.data(), places.size());
        } else {
            engine.disarm(places.data(), places.size());
        }
    }
}

void publish_code(bool native) {
    Engine* e = native ? g_engines.native : g_engines.bytecode;
    if (e != nullptr) {
        e->publish();
    }
}

int other_half() {
    // relaxed: only the permission holder, who calls this, switches halves.
    return 1 - g_active_half.load(std::memory_order_relaxed);
}

// Counts in g_everywhere the breakpoints that act in all processes. Set `on` before the half that does so
// becomes active, off after the last one that did has ceased to be.
void note_everywhere(Breakpoint& b, bool on) {
    if (b.everywhere != on) {
        b.everywhere = on;
        // relaxed: a reader that sees it too early looks at the half and finds nothing; thread progress
        // follows before the switch.
        tracing::g_everywhere.fetch_add(on ? 1 : -1, std::memory_order_relaxed);
    }
}

// The breakpoint of a key, made by `make` if there is none.
template <typename F>
Breakpoint& find_or_make(const void* key, F make) {
    const Locked lock;
    auto* b = static_cast<Breakpoint*>(g_all.find(key));
    if (b == nullptr) {
        b = new_breakpoint_locked();
        make(*b);
        b->record_id = records::function(b->module, b->function, b->arity);
        add_locked(b);
        g_entries += b->kind == Breakpoint::Kind::entry ? 1 : 0;
    }
    return *b;
}

Breakpoint& breakpoint_of(ModuleInstance& m, uint32_t function) {
    const Engine::Armed at = m.engine->place_of_breakpoint(m, function);
    return find_or_make(at.key, [&](Breakpoint& b) {
        const LoweredFunction& f = m.lowered.functions[function];
        b.kind = Breakpoint::Kind::code;
        b.module = m.name();
        b.function = f.name;
        b.arity = f.arity;
        b.instance = &m;
        b.index = function;
        b.at = at;
        b.saved = at.saved;
        b.native = m.code->is_native();
    });
}
Breakpoint& breakpoint_of(Export& e) {
    return find_or_make(&e, [&](Breakpoint& b) {
        b.kind = Breakpoint::Kind::entry;
        b.module = e.module;
        b.function = e.function;
        b.arity = e.arity;
        b.entry = &e;
    });
}
Breakpoint& breakpoint_of(BifDef& bif) {
    return find_or_make(&bif, [&](Breakpoint& b) {
        b.kind = Breakpoint::Kind::bif;
        b.module = bif.exp->module;
        b.function = bif.exp->function;
        b.arity = bif.exp->arity;
        b.bif = &bif;
    });
}

}  // namespace

// ---- breakpoints --------------------------------------------------------------------------------

const Action::Others Action::kNoOthers;

const void* Breakpoint::key() const {
    switch (kind) {
        case Kind::code:
            return at.key;
        case Kind::entry:
            return entry;
        case Kind::bif:
            break;
    }
    return bif;
}

void Breakpoint::seal(int which) {
    SessionActions& all = sessions[which];
    std::erase_if(all, [](const SessionAction& s) { return s.action.none(); });
    Action& own = half[which];
    own.seal();
    for (SessionAction& s : all) {
        s.action.seal();
        if ((s.action.does & Action::kForTraced) != 0) {
            own.does |= Action::kSessionsTraced;
        }
        if (s.action.everywhere()) {
            own.does |= Action::kSessionsAll;
        }
    }
    acts[which] = !own.none() || !all.empty();
    // Engines look at the breakpoint of an entry only in processes that are traced.
    MINIVM_ASSERT(kind != Kind::entry || !own.everywhere());
    const Action& only = own.none() && all.size() == 1 ? all.front().action : own;
    cells[which] = only.does == Action::kCounts ? only.others().counted->cells() : nullptr;
}

void Breakpoint::make_alike(int which) {
    half[which] = half[1 - which];
    sessions[which] = sessions[1 - which];
    cells[which] = cells[1 - which];
    acts[which] = acts[1 - which];
}

const Action* active_of(const Breakpoint& b, uint32_t session) {
    if (session == 0) {
        return &active(b);
    }
    for (const SessionAction& s : active_sessions(b)) {
        if (s.session == session) {
            return &s.action;
        }
    }
    return nullptr;
}

bool any_entries() {
    const Locked lock;
    return g_entries != 0;
}
bool any_code() {
    const Locked lock;
    return g_entries != g_all.count;
}

Breakpoint* find_own(const void* key) {
    const Locked lock;
    return static_cast<Breakpoint*>(g_all.find(key));
}

BatchLock::BatchLock(size_t to_come) {
    g_breakpoints_lock.lock();
    t_has_lock = true;
    if (to_come != 0 && (g_is_published || !g_all.has_room(to_come))) {
        enlarge_locked(g_all.count + to_come);
    }
}
BatchLock::~BatchLock() {
    t_has_lock = false;
    g_breakpoints_lock.unlock();
}
void BatchLock::step() {
    constexpr uint32_t kStepsAtOnce = 32;
    if (++steps_ % kStepsAtOnce == 0) {
        g_breakpoints_lock.unlock();
        g_breakpoints_lock.lock();
    }
}

// ---- changes ------------------------------------------------------------------------------------

Action& Change::touch(Breakpoint& b) {
    if (!b.touched) {
        b.touched = true;
        touched_.push_back(&b);
    }
    if (session_ == 0) {
        return b.half[other_half()];
    }
    SessionActions& all = b.sessions[other_half()];
    auto at = all.begin();
    while (at != all.end() && at->session < session_) {
        ++at;
    }
    if (at == all.end() || at->session != session_) {
        at = all.insert(at, SessionAction{session_, tracer_, {}});
    }
    return at->action;
}
void Change::remove_all() {
    std::vector<Breakpoint*> list;
    {
        const std::lock_guard lock(g_breakpoints_lock);
        g_all.for_each([&](Breakpoint* b) {
            // Those of removed code may be freed at any time, without the permission.
            const bool is_gone = b->instance != nullptr && b->instance->is_removed;
            if (!is_gone && active_of(*b, session_) != nullptr) {
                list.push_back(b);
            }
        });
    }
    // Those of a module side by side, as arm_all() wants them.
    std::sort(list.begin(), list.end(), [](const Breakpoint* a, const Breakpoint* b) {
        return a->instance != b->instance ? a->instance < b->instance : a->index < b->index;
    });
    for (Breakpoint* b : list) {
        touch(*b) = Action{};
    }
}
Action& Change::of_code(ModuleInstance& m, uint32_t function) {
    return touch(breakpoint_of(m, function));
}
Action& Change::of_entry(Export& e) {
    return touch(breakpoint_of(e));
}
Action& Change::of_bif(BifDef& bif) {
    return touch(breakpoint_of(bif));
}

// A change on its way through thread progress.
struct Change::Running : ChangeSteps<Change::Running> {
    Running(std::vector<Breakpoint*> all, code_change::Operation* of, bool has_entries)
        : touched(std::move(all)), op(of), any_entries(has_entries) {}

    std::vector<Breakpoint*> touched;
    code_change::Operation* op;
    const bool any_entries;  // among those touched
    void (*step)(void*) = nullptr;

    // Whether to arm b, as the staged half acts, or to disarm it, as the active half does not.
    static bool is_to_be(bool armed, const Breakpoint& b) {
        return b.armed != armed && b.acts[armed ? other_half() : 1 - other_half()] == armed;
    }

    // ---- for ChangeSteps

    void later(ChangeWait /*wait*/, void (*f)(void*), void* /*data: this*/) {
        step = f;
        after_progress<run_step>(this, touched.size());
    }
    static void run_step(void* running) {
        auto* const r = static_cast<Running*>(running);
        r->step(static_cast<ChangeSteps*>(r));
    }
    bool stage_entries(bool on) {
        const auto wanted = [&](const Breakpoint* b) {
            return b->kind == Breakpoint::Kind::entry && is_to_be(on, *b);
        };
        if (!any_entries || std::none_of(touched.begin(), touched.end(), wanted)) {
            return false;
        }
        staging::begin();
        for (Breakpoint* b : touched) {
            if (wanted(b)) {
                staging::trace_export(b->entry, on);
                b->armed = on;
            }
        }
        return true;
    }
    bool arm(bool on) {
        std::vector<Breakpoint*> list;
        for (Breakpoint* b : touched) {
            if (b->kind != Breakpoint::Kind::entry && is_to_be(on, *b)) {
                list.push_back(b);
            }
        }
        if (list.empty()) {
            return false;
        }
        arm_all(list, on);
        for (const bool native : {false, true}) {
            if (std::any_of(list.begin(), list.end(), [&](const Breakpoint* b) {
                    return b->kind == Breakpoint::Kind::code && b->native == native;
                })) {
                publish_code(native);
            }
        }
        return true;
    }
    void commit_entries() { code_index::commit_staging(); }
    void switch_halves() {
        // release: for readers that learn of it through memory.
        g_active_half.store(other_half(), std::memory_order_release);
    }
    void finish() {
        auto gone = std::make_unique<std::vector<Breakpoint*>>();
        for (Breakpoint* b : touched) {
            b->touched = false;
            note_everywhere(*b, active(*b).everywhere());
            if (b->armed) {
                b->make_alike(other_half());
            } else {
                gone->push_back(b);
            }
        }
        if (!gone->empty()) {
            // Only breakpoints that this change touched can be disarmed.
            Changing().remove(std::move(gone), is_armed);
        }
        code_permission::release();
        op->done();
        op->release();
        delete this;
    }
};

void Change::apply(code_change::Operation* op) {
    bool any_new = false;
    bool any_entries = false;
    for (Breakpoint* b : touched_) {
        any_new |= !b->published;
        any_entries |= b->kind == Breakpoint::Kind::entry;
        b->published = true;
        b->seal(other_half());
        if (b->half[other_half()].everywhere()) {
            note_everywhere(*b, true);
        }
    }
    auto* r = new Running(std::move(touched_), op, any_entries);
    if (any_new) {
        Changing().publish();
    }
    r->begin();
}

// ---- new code -----------------------------------------------------------------------------------

namespace {

void set_both(Breakpoint& b, const Action& action, const SessionActions& sessions) {
    for (const int half : {0, 1}) {
        b.half[half] = action;
        b.sessions[half] = sessions;
        b.seal(half);
    }
    b.published = true;
    note_everywhere(b, b.half[0].everywhere());
}

}  // namespace

void arm_staged(ModuleInstance& m, uint32_t function, const Action& action,
                const SessionActions& sessions) {
    Breakpoint& b = breakpoint_of(m, function);
    set_both(b, action, sessions);
    arm_all({&b}, true);
}

void arm_staged(Export& e, const Action& action, const SessionActions& sessions) {
    Breakpoint& b = breakpoint_of(e);
    if (b.armed) {
        return;  // since the former version: the entry has stayed
    }
    set_both(b, action, sessions);
    staging::trace_export(&e, true);
    b.armed = true;
}

bool exports(const ModuleInstance& m, Term function, uint32_t arity) {
    return std::any_of(
        m.lowered.exports.begin(), m.lowered.exports.end(),
        [&](const LoweredExport& x) { return x.function == function && x.arity == arity; });
}

void publish_staged() {
    Changing().publish();
    publish_code(false);
    publish_code(true);
}

bool disarm_withdrawn(const ModuleInstance& m) {
    if (!any_entries()) {
        return false;
    }
    const int ix = code_index::staging();
    const ModuleInstance* const versions[] = {module_table::current(m.name(), ix),
                                              module_table::on_load(m.name(), ix)};
    bool any = false;
    for (const LoweredExport& x : m.lowered.exports) {
        Export* const e = x.callable;
        Breakpoint* const b = find_own(e);
        const bool stays = std::any_of(
            std::begin(versions), std::end(versions), [&](const ModuleInstance* version) {
                return version != nullptr && exports(*version, x.function, x.arity);
            });
        if (b == nullptr || !b->armed || stays) {
            continue;
        }
        staging::trace_export(e, false);
        b->armed = false;
        note_everywhere(*b, false);
        any = true;
    }
    return any;
}

void forget_disarmed() {
    Changing changing;
    changing.remove(find_all_locked([](const Breakpoint& b) { return !b.armed; }), is_armed);
}

void forget_instance(const ModuleInstance& m) {
    const auto is_its = [&m](const Breakpoint& b) {
        return b.kind == Breakpoint::Kind::code && b.instance == &m;
    };
    Changing changing;
    auto gone = find_all_locked(is_its);
    for (Breakpoint* b : *gone) {
        note_everywhere(*b, false);
    }
    changing.remove(std::move(gone), [&](const Breakpoint& b) { return !is_its(b); });
}

}  // namespace minivm::trace
