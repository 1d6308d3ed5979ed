#include "trace/breakpoint.hpp"

#include "vm/bif/bif.hpp"
#include "vm/code/code_index.hpp"
#include "vm/code/loading.hpp"
#include "vm/code/permission.hpp"
#include "vm/sched/thread_progress.hpp"

#include <algorithm>
#include <mutex>
#include <set>

namespace minivm::trace {

std::atomic<int> g_active_half{0};

namespace {

// Open addressing; immutable once published.
struct Table {
    struct Slot {
        const void* key = nullptr;
        Breakpoint* breakpoint = nullptr;
    };
    size_t mask;
    std::unique_ptr<Slot[]> slots;

    explicit Table(size_t count) {
        size_t size = 8;
        while (size < 2 * count) {
            size *= 2;
        }
        mask = size - 1;
        slots.reset(new Slot[size]);
    }
    static size_t hash(const void* key) {
        return reinterpret_cast<uint64_t>(key) * 0x9E3779B97F4A7C15u >> 24;
    }
    Breakpoint* find(const void* key) const {
        for (size_t i = hash(key);; ++i) {
            const Slot& s = slots[i & mask];
            if (s.key == key || s.key == nullptr) {
                return s.breakpoint;
            }
        }
    }
    void add(Breakpoint* b) {
        size_t i = hash(b->key());
        while (slots[i & mask].key != nullptr) {
            ++i;
        }
        slots[i & mask] = {b->key(), b};
    }
};

std::mutex g_lock;                       // guards the next, and who publishes a table
std::vector<Breakpoint*> g_breakpoints;  // all there are
std::atomic<const Table*> g_table{nullptr};

void free_table(const Table* t) {
    if (t != nullptr) {
        thread_progress::later([](void* d) { delete static_cast<Table*>(d); },
                               const_cast<Table*>(t));
    }
}

void publish_locked() {
    auto* t = new Table(g_breakpoints.size());
    for (Breakpoint* b : g_breakpoints) {
        t->add(b);
    }
    // release: what the slots point to is complete. Pairs with find().
    free_table(g_table.exchange(t, std::memory_order_acq_rel));
}

void remove_locked(const std::set<Breakpoint*>& gone) {
    g_breakpoints.erase(std::remove_if(g_breakpoints.begin(), g_breakpoints.end(),
                                       [&](Breakpoint* b) { return gone.count(b) != 0; }),
                        g_breakpoints.end());
    publish_locked();
}

void free_breakpoints(const std::set<Breakpoint*>& gone) {
    if (gone.empty()) {
        return;
    }
    auto* all = new std::set<Breakpoint*>(gone);
    thread_progress::later(
        [](void* d) {
            auto* dead = static_cast<std::set<Breakpoint*>*>(d);
            for (Breakpoint* b : *dead) {
                delete b;
            }
            delete dead;
        },
        all);
}

void arm(Breakpoint& b, bool on) {
    if (b.armed == on) {
        return;
    }
    b.armed = on;
    switch (b.kind) {
        case Breakpoint::Kind::code:
            if (on) {
                b.instance->engine->arm(*b.instance, b.index, b.at);
            } else {
                b.instance->engine->disarm(*b.instance, b.index, b.at);
            }
            break;
        case Breakpoint::Kind::entry:
            staging::trace_export(b.entry, on);
            break;
        case Breakpoint::Kind::bif:
            // relaxed: a call beside this may or may not be traced.
            if (on) {
                __atomic_fetch_or(&b.bif->flags, kBifTraced, __ATOMIC_RELAXED);
            } else {
                __atomic_fetch_and(&b.bif->flags, static_cast<uint8_t>(~kBifTraced),
                                   __ATOMIC_RELAXED);
            }
            break;
    }
}

void publish_code() {
    for (Engine* e : {g_engines.bytecode, g_engines.native}) {
        if (e != nullptr) {
            e->publish();
        }
    }
}

int other_half() {
    // relaxed: it is the holder of the permission who switches.
    return 1 - g_active_half.load(std::memory_order_relaxed);
}

}  // namespace

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

Breakpoint* find(const void* key) {
    // acquire: pairs with publish_locked().
    const Table* t = g_table.load(std::memory_order_acquire);
    return t != nullptr ? t->find(key) : nullptr;
}

// ---- changes ------------------------------------------------------------------------------------

Breakpoint& Change::touch(std::unique_ptr<Breakpoint> fresh, const void* key) {
    Breakpoint* b = find(key);
    if (b == nullptr) {
        for (Breakpoint* t : touched_) {
            if (t->key() == key) {
                return *t;
            }
        }
        b = fresh.release();
        const std::lock_guard lock(g_lock);
        g_breakpoints.push_back(b);
    }
    if (std::find(touched_.begin(), touched_.end(), b) == touched_.end()) {
        touched_.push_back(b);
    }
    return *b;
}

Action& Change::of_code(ModuleInstance& m, uint32_t function) {
    const LoweredFunction& f = m.lowered.functions[function];
    auto b = std::make_unique<Breakpoint>();
    b->kind = Breakpoint::Kind::code;
    b->module = m.name();
    b->function = f.name;
    b->arity = f.arity;
    b->instance = &m;
    b->index = function;
    b->at = m.engine->place_of_breakpoint(m, function);
    const void* key = b->at.key;
    return touch(std::move(b), key).half[other_half()];
}

Action& Change::of_entry(Export& e) {
    auto b = std::make_unique<Breakpoint>();
    b->kind = Breakpoint::Kind::entry;
    b->module = e.module;
    b->function = e.function;
    b->arity = e.arity;
    b->entry = &e;
    return touch(std::move(b), &e).half[other_half()];
}

Action& Change::of_bif(BifDef& bif) {
    auto b = std::make_unique<Breakpoint>();
    b->kind = Breakpoint::Kind::bif;
    b->module = bif.exp->module;
    b->function = bif.exp->function;
    b->arity = bif.exp->arity;
    b->bif = &bif;
    return touch(std::move(b), &bif).half[other_half()];
}

const Action* Change::current(const void* key) {
    const Breakpoint* b = find(key);
    return b != nullptr ? &active(*b) : nullptr;
}

const Action* Change::current_code(const ModuleInstance& m, uint32_t function) {
    return current(m.engine->place_of_breakpoint(m, function).key);
}

// A change on its way through thread progress.
struct Change::Running {
    std::vector<Breakpoint*> touched;
    code_change::Operation* op;
    bool staged_entries = false;

    template <void (*kStep)(Running&)>
    void next() {
        thread_progress::later([](void* d) { kStep(*static_cast<Running*>(d)); }, this);
    }

    bool stage_entries(bool on) {
        const auto wanted = [&](const Breakpoint* b) {
            return b->kind == Breakpoint::Kind::entry && b->armed != on &&
                   b->half[on ? other_half() : 1 - other_half()].none() != on;
        };
        if (std::none_of(touched.begin(), touched.end(), wanted)) {
            return false;
        }
        staging::begin();
        for (Breakpoint* b : touched) {
            if (wanted(b)) {
                arm(*b, on);
            }
        }
        return true;
    }

    // Everybody sees the table and the staged halves.
    static void arm_new(Running& r) {
        for (Breakpoint* b : r.touched) {
            if (b->kind != Breakpoint::Kind::entry && !b->half[other_half()].none()) {
                arm(*b, true);
            }
        }
        publish_code();
        r.staged_entries = r.stage_entries(true);
        r.next<switch_halves>();
    }
    // Everybody runs into what is armed, and does what the half says that was active: nothing yet.
    static void switch_halves(Running& r) {
        if (r.staged_entries) {
            code_index::commit_staging();
        }
        // release: for readers that learn of it through memory.
        g_active_half.store(other_half(), std::memory_order_release);
        r.next<disarm_gone>();
    }
    // Nobody acts by the former halves any more.
    static void disarm_gone(Running& r) {
        for (Breakpoint* b : r.touched) {
            if (b->kind != Breakpoint::Kind::entry && active(*b).none()) {
                arm(*b, false);
            }
        }
        publish_code();
        r.staged_entries = r.stage_entries(false);
        r.next<consolidate>();
    }
    // Nobody enters what is disarmed any more.
    static void consolidate(Running& r) {
        if (r.staged_entries) {
            code_index::commit_staging();
        }
        r.next<end>();
    }
    static void end(Running& r) {
        std::set<Breakpoint*> gone;
        for (Breakpoint* b : r.touched) {
            b->half[other_half()] = active(*b);
            if (!b->armed) {
                gone.insert(b);
            }
        }
        if (!gone.empty()) {
            const std::lock_guard lock(g_lock);
            remove_locked(gone);
        }
        free_breakpoints(gone);
        code_permission::release();
        r.op->done();
        r.op->release();
        delete &r;
    }
};

void Change::apply(code_change::Operation* op) {
    auto* r = new Running{std::move(touched_), op};
    {
        const std::lock_guard lock(g_lock);
        publish_locked();
    }
    r->next<Running::arm_new>();
}

// ---- new code -----------------------------------------------------------------------------------

void arm_staged(ModuleInstance& m, uint32_t function, const Action& action) {
    Change c;
    c.of_code(m, function);
    const std::lock_guard lock(g_lock);
    Breakpoint* b = g_breakpoints.back();
    b->half[0] = action;
    b->half[1] = action;
    arm(*b, true);
}

void arm_staged(Export& e, const Action& action) {
    if (find(&e) != nullptr) {
        return;  // it still is: the entry has stayed
    }
    Change c;
    c.of_entry(e);
    const std::lock_guard lock(g_lock);
    Breakpoint* b = g_breakpoints.back();
    b->half[0] = action;
    b->half[1] = action;
    arm(*b, true);
}

void publish_staged() {
    {
        const std::lock_guard lock(g_lock);
        publish_locked();
    }
    publish_code();
}

void forget_instance(const ModuleInstance& m) {
    std::set<Breakpoint*> gone;
    {
        const std::lock_guard lock(g_lock);
        for (Breakpoint* b : g_breakpoints) {
            if (b->kind == Breakpoint::Kind::code && b->instance == &m) {
                gone.insert(b);
            }
        }
        if (gone.empty()) {
            return;
        }
        remove_locked(gone);
    }
    free_breakpoints(gone);
}

}  // namespace minivm::trace
