#include "trace/counters.hpp"

#include "recorder/clock.hpp"
#include "recorder/recorder.hpp"
#include "vm/process/tracing.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/sched/scheduler.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace minivm::trace {
namespace {

uint32_t part_count() {
    return static_cast<uint32_t>(vm::scheduler_count()) + 1;
}
// This thread's part; 0 is the part of all threads that are no schedulers.
uint32_t own_part() {
    const Scheduler* on = this_scheduler();
    const auto number = on != nullptr ? static_cast<uint32_t>(on->number) : 0;
    return number < part_count() ? number : 0;
}

}  // namespace

// ---- calls --------------------------------------------------------------------------------------

CallCount::CallCount() : count_(part_count()), cells_(new tracing::CallCell[count_]) {}

uint64_t CallCount::sum() const {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count_; ++i) {
        // relaxed: a number to show.
        sum += cells_[i].calls.load(std::memory_order_relaxed);
    }
    return sum;
}

// ---- tables -------------------------------------------------------------------------------------

// Open addressing; one thread adds.
struct CallTable::Slots {
    struct Slot {
        std::atomic<uint64_t> pid{0};  // the raw term; 0: free
        std::atomic<uint64_t> calls{0};
        std::atomic<uint64_t> amount{0};
    };
    explicit Slots(size_t size) : mask(size - 1), slots(new Slot[size]) {}
    size_t mask;
    size_t used = 0;
    std::unique_ptr<Slot[]> slots;

    Slot& find(uint64_t pid) {
        for (size_t i = pid * 0x9E3779B97F4A7C15u >> 32;; ++i) {
            Slot& s = slots[i & mask];
            // relaxed: this thread alone writes it.
            const uint64_t there = s.pid.load(std::memory_order_relaxed);
            if (there == pid || there == 0) {
                return s;
            }
        }
    }
};

namespace {

std::mutex g_pool_lock;
std::vector<CallTable*> g_pool;  // free ones
std::mutex g_strangers_lock;     // for writing the parts of threads that are no schedulers

// relaxed: one thread writes a counter, others show it.
void add_to(std::atomic<uint64_t>& n, uint64_t more) {
    n.store(n.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);  // relaxed: above
}

}  // namespace

CallTable::CallTable() : parts_(new Part[part_count()]) {}

std::shared_ptr<CallTable> CallTable::make() {
    CallTable* t = nullptr;
    {
        const std::lock_guard lock(g_pool_lock);
        if (!g_pool.empty()) {
            t = g_pool.back();
            g_pool.pop_back();
        }
    }
    return {t != nullptr ? t : new CallTable, give_back};
}

void CallTable::give_back(CallTable* table) {
    thread_progress::later(
        [](void* d) {
            auto* t = static_cast<CallTable*>(d);
            t->clear();
            const std::lock_guard lock(g_pool_lock);
            g_pool.push_back(t);
        },
        table);
}

void CallTable::clear() {
    // relaxed: see generation().
    generation_.store(generation() + 1, std::memory_order_relaxed);
    for (uint32_t i = 0; i < part_count(); ++i) {
        // relaxed: nobody uses it.
        delete parts_[i].slots.exchange(nullptr, std::memory_order_relaxed);
    }
}

void CallTable::add(Term pid, uint64_t calls, uint64_t amount) {
    const uint32_t number = own_part();
    std::unique_lock lock(g_strangers_lock, std::defer_lock);
    if (number == 0) {
        lock.lock();
    }
    Part& part = parts_[number];
    Slots* outgrown = nullptr;
    // relaxed: only this thread writes it, or for part 0 the holder of the lock.
    Slots* all = part.slots.load(std::memory_order_relaxed);
    if (all == nullptr || 2 * (all->used + 1) > all->mask + 1) {
        auto* larger = new Slots(all == nullptr ? 4 : 2 * (all->mask + 1));
        if (all != nullptr) {
            for (size_t i = 0; i <= all->mask; ++i) {
                Slots::Slot& from = all->slots[i];
                // relaxed: this thread has written it, and publishes it by the store below.
                const uint64_t key = from.pid.load(std::memory_order_relaxed);
                if (key != 0) {
                    Slots::Slot& to = larger->find(key);
                    add_to(to.pid, key);
                    // relaxed: as above.
                    add_to(to.calls, from.calls.load(std::memory_order_relaxed));
                    // relaxed: as above.
                    add_to(to.amount, from.amount.load(std::memory_order_relaxed));
                }
            }
            larger->used = all->used;
        }
        // release: the counters in it are complete. Pairs with rows().
        part.slots.store(larger, std::memory_order_release);
        outgrown = std::exchange(all, larger);
    }
    Slots::Slot& slot = all->find(pid.raw);
    // relaxed: this thread alone writes it.
    if (slot.pid.load(std::memory_order_relaxed) == 0) {
        ++all->used;
        slot.pid.store(pid.raw, std::memory_order_relaxed);  // relaxed: counters are 0 until now
    }
    if (calls != 0) {
        add_to(slot.calls, calls);
    }
    if (amount != 0) {
        add_to(slot.amount, amount);
    }
    if (outgrown != nullptr) {
        // Without the lock: later() may run deferred work, which may count.
        if (lock.owns_lock()) {
            lock.unlock();
        }
        thread_progress::later([](void* d) { delete static_cast<Slots*>(d); }, outgrown);
    }
}

std::vector<CallTable::Row> CallTable::rows() const {
    const thread_progress::DelaySection section;
    std::vector<Row> rows;
    for (uint32_t n = 0; n < part_count(); ++n) {
        // acquire: pairs with add().
        const Slots* all = parts_[n].slots.load(std::memory_order_acquire);
        for (size_t i = 0; all != nullptr && i <= all->mask; ++i) {
            const Slots::Slot& s = all->slots[i];
            // relaxed: numbers to show.
            const uint64_t pid = s.pid.load(std::memory_order_relaxed);
            if (pid != 0) {
                rows.push_back({Term{pid},
                                s.calls.load(std::memory_order_relaxed),     // relaxed: same
                                s.amount.load(std::memory_order_relaxed)});  // relaxed: same
            }
        }
    }
    std::sort(rows.begin(), rows.end(),
              [](const Row& a, const Row& b) { return a.pid.raw < b.pid.raw; });
    std::vector<Row> sums;
    for (const Row& r : rows) {
        if (!sums.empty() && sums.back().pid == r.pid) {
            sums.back().calls += r.calls;
            sums.back().amount += r.amount;
        } else {
            sums.push_back(r);
        }
    }
    return sums;
}

// ---- the clock of a process ---------------------------------------------------------------------

namespace {

struct TableRef {
    CallTable* table = nullptr;
    uint32_t generation = 0;
    void add(Term pid, uint64_t calls, uint64_t amount) const {
        if (table != nullptr && table->generation() == generation) {
            table->add(pid, calls, amount);
        }
    }
};
struct Running {
    TableRef time, memory;
};

// The clock of one session.
struct Clock {
    uint32_t session = 0;
    Running running;
    uint64_t time_since = 0;     // ticks
    uint64_t words_since = 0;    // of words_made()
    uint64_t words_gone = 0;     // what collections and later growth make up for, modulo 2^64
    std::vector<Running> outer;  // what runs again when the functions of the frames return
    bool runs() const {
        return !outer.empty() || running.time.table != nullptr || running.memory.table != nullptr;
    }
};

struct OwnLocal final : tracing::Local {
    Clock own;                    // of session 0
    std::vector<Clock> sessions;  // of the others that have counted here
    UnfinishedCall unfinished_call;
    uint64_t repeated = 0;  // the breakpoint of unfinished_call, if that is a BIF that traps to itself; else 0
    bool full = false;      // add_frame() has failed; see remove_frames()

    template <typename F>
    void for_each(F f) {
        f(own);
        for (Clock& c : sessions) {
            f(c);
        }
    }
    Clock* find(uint32_t session) {
        if (session == 0) {
            return &own;
        }
        for (Clock& c : sessions) {
            if (c.session == session) {
                return &c;
            }
        }
        return nullptr;
    }
    bool runs() const {
        return own.runs() ||
               std::any_of(sessions.begin(), sessions.end(), [](const Clock& c) { return c.runs(); });
    }
};

void set_clocked(Process& p, bool on) {
    if (tracing::is_clocked(p) != on) {
        watchers::set(p.watchers, watchers::kClocked, on);
    }
}

OwnLocal& local(Process& p) {
    if (p.trace_local == nullptr) {
        p.trace_local = new OwnLocal;
    }
    return static_cast<OwnLocal&>(*p.trace_local);
}

// Whether the recording uses a processor's counter as its clock; then ticks are of that counter.
bool has_counter() {
    static const bool yes =
        recorder::is_active() && recorder::best_clock() != recorder::ClockKind::monotonic_ns;
    return yes;
}
uint64_t ticks() {
    return has_counter() ? recorder::read_counter() : recorder::monotonic_ns();
}

uint64_t young_words(const Process& p) {
    return static_cast<uint64_t>(p.heap.top - p.heap_start) + p.heap.fragment_words +
           p.heap.received_words;
}
uint64_t words_made(const Process& p, const Clock& l) {
    return l.words_gone + young_words(p);
}

// Adds what p has used since the last call of this to the running function.
void settle(Process& p, Clock& l, bool time_starts) {
    if (l.running.time.table != nullptr) {
        const uint64_t now = ticks();
        // Counters of two processors may differ.
        l.running.time.add(p.id, 0, now > l.time_since ? now - l.time_since : 0);
        l.time_since = now;
    } else if (time_starts) {
        l.time_since = ticks();
    }
    if (l.running.memory.table != nullptr) {
        const uint64_t words = words_made(p, l);
        l.running.memory.add(p.id, 0, words - l.words_since);
        l.words_since = words;
    }
}

}  // namespace

void clock_called(Process& p, uint32_t session, CallTable* time, CallTable* memory,
                  bool leaves_frame) {
    OwnLocal& l = local(p);
    Clock* c = l.find(session);
    if (c == nullptr) {
        std::erase_if(l.sessions, [](const Clock& other) { return !other.runs(); });
        c = &l.sessions.emplace_back();
        c->session = session;
    }
    settle(p, *c, time != nullptr);
    if (leaves_frame) {
        c->outer.push_back(c->running);
    }
    set_clocked(p, true);
    if (time != nullptr) {
        c->running.time = {time, time->generation()};
        time->add(p.id, 1, 0);
    }
    if (memory != nullptr) {
        c->running.memory = {memory, memory->generation()};
        c->words_since = words_made(p, *c);
        memory->add(p.id, 1, 0);
    }
}

void clock_left(Process& p, uint32_t session) {
    OwnLocal& l = local(p);
    Clock* c = l.find(session);
    if (c == nullptr || c->outer.empty()) {
        return;
    }
    settle(p, *c, false);
    const bool had_memory = c->running.memory.table != nullptr;
    c->running = c->outer.back();
    c->outer.pop_back();
    if (c->running.memory.table != nullptr && !had_memory) {
        c->words_since = words_made(p, *c);
    }
    set_clocked(p, l.runs());
}

void clock_scheduled(Process& p, bool in) {
    local(p).for_each([&](Clock& c) {
        if (c.running.time.table == nullptr) {
            return;
        }
        const uint64_t now = ticks();
        if (!in) {
            c.running.time.add(p.id, 0, now > c.time_since ? now - c.time_since : 0);
        }
        c.time_since = now;
    });
}

void clock_collecting(Process& p, bool start) {
    local(p).for_each([&](Clock& c) { c.words_gone += start ? young_words(p) : -young_words(p); });
}

void clock_dropped(Process& p) {
    OwnLocal& l = local(p);
    l.for_each([&](Clock& c) {
        settle(p, c, false);
        c.outer.clear();
        c.running = {};
    });
    l.sessions.clear();
    set_clocked(p, false);
    l.frames = 0;
    l.full = false;
}

void set_unfinished(Process& p, UnfinishedCall call) {
    OwnLocal& l = local(p);
    l.unfinished_call = std::move(call);
    l.unfinished = true;
}
UnfinishedCall take_unfinished(Process& p) {
    OwnLocal& l = local(p);
    l.unfinished = false;
    return std::move(l.unfinished_call);
}

void set_repeated(Process& p, uint64_t breakpoint, UnfinishedCall call) {
    OwnLocal& l = local(p);
    l.unfinished_call = std::move(call);
    l.repeated = breakpoint;
}
bool take_repeated(Process& p, uint64_t breakpoint, UnfinishedCall* out) {
    if (p.trace_local == nullptr) {
        return false;
    }
    // The pattern of a call with another breakpoint was cleared meanwhile.
    OwnLocal& l = local(p);
    const bool same = l.repeated == breakpoint;
    l.repeated = 0;
    if (same) {
        *out = std::move(l.unfinished_call);
    }
    return same;
}

bool add_frame(Process& p, bool* once) {
    OwnLocal& l = local(p);
    // relaxed: a setting.
    if (l.frames >= tracing::g_max_frames.load(std::memory_order_relaxed)) {
        *once = !l.full;
        l.full = true;
        return false;
    }
    ++l.frames;
    return true;
}

bool has_room_for_frame(const Process& p) {
    // relaxed: a setting.
    return p.trace_local == nullptr ||
           p.trace_local->frames < tracing::g_max_frames.load(std::memory_order_relaxed);
}

void remove_frames(Process& p, uint32_t count) {
    OwnLocal& l = local(p);
    l.frames -= std::min(l.frames, count);
    // The warning comes again only after half of the frames have gone.
    // relaxed: a setting.
    l.full = l.full && l.frames > tracing::g_max_frames.load(std::memory_order_relaxed) / 2;
}

void forget_local(Process& p) {
    set_clocked(p, false);  // the clocks are in trace_local
    delete p.trace_local;
    p.trace_local = nullptr;
}

double ticks_per_second() {
    return has_counter() ? recorder::ticks_per_second() : 1e9;
}

}  // namespace minivm::trace
