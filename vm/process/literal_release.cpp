#include "vm/process/literal_release.hpp"

#include <mutex>
#include <vector>

#include "vm/heap/literal_move.hpp"
#include "vm/process/extra.hpp"
#include "vm/process/gc.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/signal.hpp"
#include "vm/progress/background.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/util/lock.hpp"

namespace minivm::literal_release {
namespace {

// Processes asked at a time: the asking thread is a scheduler between two processes.
constexpr uint32_t kAskedAtOnce = 512;

CountedMutex g_lock{LockKind::literal_release};
std::vector<std::unique_ptr<LiteralArea>> g_queued;   // under the lock
std::vector<std::unique_ptr<LiteralArea>> g_round;    // of the round under way; under the lock
bool g_under_way = false;                             // under the lock
std::atomic<uint64_t> g_taken{0};
std::atomic<uint64_t> g_freed{0};
// Processes that have not answered, plus one while ask() has not asked all.
std::atomic<uint64_t> g_open{0};
uint32_t g_keepers = 0;                               // keep() without give_up(); under the lock
bool g_waits_for_keepers = false;                     // all processes have answered; under the lock
uint32_t g_next_place = 0;                            // only for ask()

void begin_round(void*);

// 5: no term refers to the areas, and no thread looks at their marks.
void free_areas(void*) {
    std::vector<std::unique_ptr<LiteralArea>> dead;
    bool again = false;
    {
        const std::lock_guard lock(g_lock);
        dead.swap(g_round);
        again = !g_queued.empty();
        g_under_way = again;
    }
    for (auto& area : dead) {
        mark_literals(*area, false);
    }
    const size_t freed = dead.size();
    dead.clear();
    // relaxed: a number to show.
    g_freed.fetch_add(freed, std::memory_order_relaxed);
    if (again) {
        begin_round(nullptr);
    }
}

// 4: a process that was ending when it answered, or was not found any more, has sent its exit reason by now.
void stop_copying(void*) {
    set_literals_released(false);
    // On a dirty scheduler, because freeing returns memory to the kernel.
    thread_progress::later([](void*) { dirty::run(free_areas, nullptr); }, nullptr);
}

void answered() {
    // acq_rel: the last answer comes after everything that all processes did with the literals.
    if (g_open.fetch_sub(1, std::memory_order_acq_rel) != 1) {
        return;
    }
    {
        // keep() comes before its process leaves the process table, so before the last answer: we see it here.
        const std::lock_guard lock(g_lock);
        g_waits_for_keepers = g_keepers != 0;
        if (g_waits_for_keepers) {
            return;
        }
    }
    thread_progress::later(stop_copying, nullptr);
}

bool is_released(const Signal& message) {
    return is_released(message.term) || any_released(message.fragments);
}

// Whether p refers to released literals: looks at every word as if it were a term.
bool refers_to_released(Process& p) {
    if (any_released(p, roots_of(p, p.saved_x, p.live_x))) {
        return true;
    }
    for (const Signal* m = p.mailbox.first; m != nullptr; m = m->next) {
        if (is_released(*m)) {
            return true;
        }
    }
    return false;
}

void move_here(Process& p, ControlSignal&) {
    if (refers_to_released(p)) {
        // Takes the message under examination into the heap as well.
        collect_gc(p, 0, p.saved_x, p.live_x, true);
        LiteralMover(p).move(roots_of(p, p.saved_x, p.live_x));
        for (Signal* m = p.mailbox.first; m != nullptr; m = m->next) {
            if (!m->on_heap && is_released(*m)) {
                replace_message_term(*m);
            }
        }
        // The moved terms stay in fragments until the next collection, but must count against a heap limit.
        if (p.extra != nullptr && p.extra->max_heap_words != 0) {
            collect_gc(p, 0, p.saved_x, p.live_x, false);
        }
    }
    answered();
}

// 3, some processes at a time.
void ask(void*) {
    // This may run in sleep(), so it reads the table in a delay section.
    thread_progress::DelaySection section;
    for (uint32_t i = 0; i < kAskedAtOnce && g_next_place < process_table::limit(); ++i) {
        Process* p = process_table::next_at(&g_next_place);
        if (p == nullptr) {
            break;
        }
        // relaxed: our own one in the count keeps it from reaching zero.
        g_open.fetch_add(1, std::memory_order_relaxed);
        ControlSignal* s = new_signal(SignalKind::rpc, p->id);
        s->between_slices = true;
        s->run = move_here;
        s->gone = [](ControlSignal&) { answered(); };
        if (!push_signal(*p, s)) {
            refuse_signal(p->id, s);
        }
    }
    if (g_next_place < process_table::limit()) {
        thread_progress::later(ask, nullptr);
    } else {
        answered();
    }
}

// 1 and 2.
void begin_round(void*) {
    {
        const std::lock_guard lock(g_lock);
        g_round.swap(g_queued);
        for (auto& area : g_round) {
            mark_literals(*area, true);
        }
    }
    set_literals_released(true);
    g_next_place = 0;
    // relaxed: thread progress comes before another thread looks at it.
    g_open.store(1, std::memory_order_relaxed);
    thread_progress::later(ask, nullptr);
}

}  // namespace

void keep() {
    const std::lock_guard lock(g_lock);
    ++g_keepers;
}
void give_up() {
    bool is_last = false;
    {
        const std::lock_guard lock(g_lock);
        --g_keepers;
        is_last = g_keepers == 0 && g_waits_for_keepers;
        g_waits_for_keepers = g_waits_for_keepers && !is_last;
    }
    if (is_last) {
        thread_progress::later(stop_copying, nullptr);
    }
}

bool is_request(const ControlSignal& s) { return s.run == move_here; }

void take(std::unique_ptr<LiteralArea> area) {
    if (area == nullptr) {
        return;
    }
    // relaxed: a number to show.
    g_taken.fetch_add(1, std::memory_order_relaxed);
    if (area->words == 0) {
        // relaxed: as above.
        g_freed.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    {
        const std::lock_guard lock(g_lock);
        g_queued.push_back(std::move(area));
        if (g_under_way) {
            return;
        }
        g_under_way = true;
    }
    begin_round(nullptr);
}

Counts counts() {
    // relaxed: numbers to show. Freed first, so that it is never more than taken.
    const uint64_t freed = g_freed.load(std::memory_order_relaxed);
    return {g_taken.load(std::memory_order_relaxed), freed};
}

void finish_all() {
    set_literals_released(false);
    const std::lock_guard lock(g_lock);
    for (auto* list : {&g_round, &g_queued}) {
        for (auto& area : *list) {
            mark_literals(*area, false);
        }
        // relaxed: a number to show.
        g_freed.fetch_add(list->size(), std::memory_order_relaxed);
        list->clear();
    }
    g_under_way = false;
    g_keepers = 0;  // left processes whose function never began, because the dirty schedulers had stopped
    g_waits_for_keepers = false;
}

}  // namespace minivm::literal_release
