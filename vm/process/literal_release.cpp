#include "vm/process/literal_release.hpp"

#include <mutex>
#include <vector>

#include "vm/heap/literal_move.hpp"
#include "vm/process/extra.hpp"
#include "vm/process/gc.hpp"
#include "vm/process/literal_round.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/signal.hpp"
#include "vm/progress/background.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/util/atomics.hpp"

namespace minivm::literal_release {
namespace {

// Processes asked at a time: the asking thread is a scheduler between two processes.
constexpr uint32_t kAskedAtOnce = 512;

CountedMutex g_lock{LockKind::literal_release};
std::vector<std::unique_ptr<LiteralArea>> g_queued;  // under the lock
std::vector<std::unique_ptr<LiteralArea>> g_marked;  // of the round under way; under the lock
bool g_under_way = false;                            // under the lock
std::atomic<uint64_t> g_taken{0};
std::atomic<uint64_t> g_freed{0};

struct Round : LiteralRound<Atomics, Round> {
    void mark_and_begin();
    bool ask_some();
    void free_areas();
    void set_released(bool on) { set_literals_released(on); }
    void later(Wait, thread_progress::Work f, void* data) { thread_progress::later(f, data); }
    uint32_t next_place = 0;  // only for ask_some()
};
Round g_round;

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
    g_round.answered();
}

bool Round::ask_some() {
    // This may run in sleep(), so it reads the table in a delay section.
    thread_progress::DelaySection section;
    for (uint32_t i = 0; i < kAskedAtOnce && next_place < process_table::limit(); ++i) {
        Process* p = process_table::next_at(&next_place);
        if (p == nullptr) {
            break;
        }
        count_request();
        ControlSignal* s = new_signal(SignalKind::rpc, p->id);
        s->between_slices = true;
        s->run = move_here;
        s->gone = [](ControlSignal&) { g_round.answered(); };
        if (!push_signal(*p, s)) {
            refuse_signal(p->id, s);
        }
    }
    return next_place < process_table::limit();
}

// 5: no term refers to the areas, and no thread looks at their marks. On a dirty scheduler, because freeing returns memory to
// the kernel.
void free_marked(void*) {
    std::vector<std::unique_ptr<LiteralArea>> dead;
    bool again = false;
    {
        const std::lock_guard lock(g_lock);
        dead.swap(g_marked);
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
        g_round.mark_and_begin();
    }
}
void Round::free_areas() { dirty::run(free_marked, nullptr); }

void Round::mark_and_begin() {
    {
        const std::lock_guard lock(g_lock);
        g_marked.swap(g_queued);
        for (auto& area : g_marked) {
            mark_literals(*area, true);
        }
    }
    next_place = 0;
    begin();
}

}  // namespace

void keep() { g_round.keep(); }
void give_up() { g_round.give_up(); }

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
    g_round.mark_and_begin();
}

Counts counts() {
    // relaxed: numbers to show. Freed first, so that it is never more than taken.
    const uint64_t freed = g_freed.load(std::memory_order_relaxed);
    return {g_taken.load(std::memory_order_relaxed), freed};
}

void finish_all() {
    set_literals_released(false);
    g_round.forget_keepers();  // left by processes whose function never began, because the dirty schedulers had stopped
    const std::lock_guard lock(g_lock);
    for (auto* list : {&g_marked, &g_queued}) {
        for (auto& area : *list) {
            mark_literals(*area, false);
        }
        // relaxed: a number to show.
        g_freed.fetch_add(list->size(), std::memory_order_relaxed);
        list->clear();
    }
    g_under_way = false;
}

}  // namespace minivm::literal_release
