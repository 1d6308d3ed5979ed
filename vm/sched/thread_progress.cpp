// Epochs, and the queues of deferred work.
//
// The protocol, with the accesses that order each other (all of them seq_cst, written so):
//
//   quiescent(t):  E := epoch                              (Q1)
//                  if E != t.published:
//                      t.published := E                    (Q2)
//                      full barrier                        (Q3)
//                      advance()
//   advance():     E := epoch                              (A1)
//                  if every t.published is E or kAsleep    (A2)
//                      epoch := E + 1 by compare-exchange  (A3)
//   later(f):      the caller has unlinked something; full barrier   (L1)
//                  tag := epoch                                      (L2)
//   f runs when epoch >= tag + 2.
//
// Claim: when f runs, every thread has passed a Q2/Q3 after L1, or was asleep after L1.
// Let the step from tag + 1 to tag + 2 be A3'. It read every t.published in A2' as tag + 1 or asleep.
//   * t published tag + 1: its Q1 read tag + 1, so in the single order of seq_cst operations Q1 comes
//     after the step to tag + 1, which comes after L2 (L2 still read tag). So Q2 and Q3 come after L1,
//     and what t reads after Q3 it reads after L1: it cannot find what was unlinked before L1.
//   * t was asleep at A2': when it wakes it stores t.published (W1), passes a full barrier (W2), then
//     reads. A2' precedes W1 and follows the step to tag + 1, hence L2 and L1; so its reads come after
//     L1 too.
// And what t read before: t's reads precede Q2 (or the store of kAsleep) by program order and release;
// A2' acquires it, A3' releases, and whoever runs f has acquired A3' through its load of the epoch. So
// freeing in f happens after those reads.
#include "vm/sched/thread_progress.hpp"

#include <deque>
#include <mutex>

#include "vm/util/assert.hpp"
#include "vm/util/lock.hpp"

namespace minivm::thread_progress {

namespace {

constexpr uint64_t kAsleep = ~uint64_t{0};
constexpr uint64_t kVacant = ~uint64_t{0} - 1;

struct Deferred {
    uint64_t tag;
    Work f;
    void* data;
};

}  // namespace

struct alignas(64) Participant {
    std::atomic<uint64_t> published{kVacant};  // the owner writes, advance() reads
    // -- the owner
    std::deque<Deferred> deferred;  // tags ascend
    uint32_t code_version = 0;      // the newest code that it has passed a barrier for
};

namespace {

Participant g_threads[kMaxThreads];
// Slots in use are below this.
std::atomic<int> g_used{0};
std::atomic<uint64_t> g_epoch{1};

// Counts changes of machine code that wait for instruction barriers.
std::atomic<uint32_t> g_code_version{0};
std::atomic<uint64_t> g_barriers{0};

CountedMutex g_mutex{LockKind::progress};  // guards joining, and g_common
std::deque<Deferred> g_common;   // work of threads that sleep or take no part; tags ascend
std::atomic<bool> g_common_any{false};

thread_local Participant* t_self = nullptr;
thread_local bool t_awake = false;

// Leaves the slot to the next thread that joins when its thread ends.
struct SectionSlot {
    Participant* participant = nullptr;
    ~SectionSlot() {
        if (participant != nullptr) {
            leave(participant);
        }
    }
};
thread_local SectionSlot t_section;

// What the processor has fetched and decoded ahead is dropped.
void instruction_barrier() {
#if defined(__x86_64__)
    // An instruction that serialises, on all processors.
    uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
    asm volatile("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx) : : "memory");
#elif defined(__aarch64__)
    asm volatile("isb" : : : "memory");
#endif
}

// Behind Q3 or W2: code that was changed before an L1 of an earlier epoch is run as it is now.
void see_code(Participant* t) {
    // relaxed: counted before that L1, so the fence that we have just passed orders it, as all else.
    const uint32_t version = g_code_version.load(std::memory_order_relaxed);
    if (MINIVM_UNLIKELY(version != t->code_version)) {
        t->code_version = version;
        instruction_barrier();
        // relaxed: a number to show.
        g_barriers.fetch_add(1, std::memory_order_relaxed);
    }
}

// True if the epoch moved on.
bool advance() {
    // seq_cst: A1 to A3 of the protocol above; partners are Q1, Q2, W1 and L2.
    uint64_t e = g_epoch.load(std::memory_order_seq_cst);
    const int used = g_used.load(std::memory_order_seq_cst);
    for (int i = 0; i < used; ++i) {
        // seq_cst: A2. Acquires the reads that the thread did before it published (Q2).
        const uint64_t p = g_threads[i].published.load(std::memory_order_seq_cst);
        if (p != e && p != kAsleep && p != kVacant) {
            return false;
        }
    }
    // seq_cst: A3; passes on what A2 acquired to whoever reads the new epoch. If it fails, another
    // thread has done the same step.
    g_epoch.compare_exchange_strong(e, e + 1, std::memory_order_seq_cst);
    return true;
}

void run_due(std::deque<Deferred>& queue) {
    while (!queue.empty()) {
        const Deferred d = queue.front();
        // seq_cst: acquires A3, hence everybody's reads before their publication.
        if (g_epoch.load(std::memory_order_seq_cst) < d.tag + 2) {
            return;
        }
        queue.pop_front();
        d.f(d.data);
    }
}

// Takes due work out of the common queue one by one, so that no lock is held while it runs. Where somebody
// else looks at the queue: on to other work, there will be another chance.
void run_common() {
    // acquire: pairs with the release of push_common(); a miss is made good by its own advance().
    while (g_common_any.load(std::memory_order_acquire)) {
        Deferred d;
        {
            const std::unique_lock lock(g_mutex, std::try_to_lock);
            if (!lock.owns_lock()) {
                return;
            }
            // seq_cst: as in run_due().
            if (g_common.empty() ||
                g_epoch.load(std::memory_order_seq_cst) < g_common.front().tag + 2) {
                return;
            }
            d = g_common.front();
            g_common.pop_front();
            // release: pairs with the load above; the queue itself is under the lock.
            g_common_any.store(!g_common.empty(), std::memory_order_release);
        }
        d.f(d.data);
    }
}

void push_common(Work f, void* data) {
    // seq_cst: L1, after what the caller unlinked; its partners are Q3 and W2.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    std::lock_guard lock(g_mutex);
    // seq_cst: L2. Read under the lock, so tags in the queue ascend.
    g_common.push_back({g_epoch.load(std::memory_order_seq_cst), f, data});
    // seq_cst: a thread that falls asleep stores kAsleep and then reads this; the thread that pushes
    // stores this and then reads kAsleep in advance(). One of the two sees the other.
    g_common_any.store(true, std::memory_order_seq_cst);
}

}  // namespace

Participant* join() {
    std::lock_guard lock(g_mutex);
    for (int i = 0; i < kMaxThreads; ++i) {
        Participant& t = g_threads[i];
        // relaxed: slots are taken and given back under the lock.
        if (t.published.load(std::memory_order_relaxed) == kVacant) {
            t.code_version = 0;  // another thread than before
            // seq_cst: asleep is what vacant is to advance(); no reader before wake().
            t.published.store(kAsleep, std::memory_order_seq_cst);
            // relaxed: written under the lock only.
            if (i >= g_used.load(std::memory_order_relaxed)) {
                // seq_cst: advance() must look at this slot before its thread can publish in it.
                g_used.store(i + 1, std::memory_order_seq_cst);
            }
            return &t;
        }
    }
    return nullptr;
}

void leave(Participant* t) {
    // relaxed: our own slot.
    MINIVM_CHECK(t->published.load(std::memory_order_relaxed) == kAsleep);
    while (!t->deferred.empty()) {
        push_common(t->deferred.front().f, t->deferred.front().data);
        t->deferred.pop_front();
    }
    if (t_self == t) {
        t_self = nullptr;
    }
    std::lock_guard lock(g_mutex);
    // seq_cst: as asleep for advance(); the next owner takes it under the lock.
    t->published.store(kVacant, std::memory_order_seq_cst);
}

void wake(Participant* t) {
    t_self = t;
    t_awake = true;
    // seq_cst: W1 and W2. The epoch may move on between load and store: then we publish an older value
    // and only delay the next step.
    t->published.store(g_epoch.load(std::memory_order_seq_cst), std::memory_order_seq_cst);
    // seq_cst: W2, before any read of shared structures.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    see_code(t);
}

void sleep(Participant* t) {
    // seq_cst: the reads before it are done (A2 acquires it); see also push_common().
    t->published.store(kAsleep, std::memory_order_seq_cst);
    t_awake = false;
    while (!t->deferred.empty()) {
        push_common(t->deferred.front().f, t->deferred.front().data);
        t->deferred.pop_front();
    }
    // If all others sleep nobody but us moves the epoch. Work may defer more work: until none is left.
    // seq_cst: see push_common().
    while (g_common_any.load(std::memory_order_seq_cst)) {
        if (!advance()) {
            return;  // somebody is awake and will come by here
        }
        run_common();
    }
}

bool quiescent(Participant* t) {
    // seq_cst: Q1.
    const uint64_t e = g_epoch.load(std::memory_order_seq_cst);
    bool moved = false;
    // relaxed: our own slot.
    if (e != t->published.load(std::memory_order_relaxed)) {
        // seq_cst: Q2; releases our reads to A2.
        t->published.store(e, std::memory_order_seq_cst);
        // seq_cst: Q3; what we read from here on we read after every L1 of an earlier epoch.
        std::atomic_thread_fence(std::memory_order_seq_cst);
        see_code(t);
        moved = true;
    }
    if (MINIVM_UNLIKELY(!t->deferred.empty())) {
        advance();
        run_due(t->deferred);
    }
    // relaxed: only whether to look; run_common() looks properly.
    if (MINIVM_UNLIKELY(g_common_any.load(std::memory_order_relaxed))) {
        advance();
        run_common();
    }
    return moved;
}

void later(Participant* t, Work f, void* data) {
    MINIVM_ASSERT(t_self == t && t_awake);
    // seq_cst: L1, after what the caller unlinked; its partners are Q3 and W2.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    // seq_cst: L2.
    t->deferred.push_back({g_epoch.load(std::memory_order_seq_cst), f, data});
}

void later(Work f, void* data) {
    if (t_self != nullptr && t_awake) {
        later(t_self, f, data);
        return;
    }
    push_common(f, data);
    // Everybody may be asleep by now.
    // seq_cst: see push_common().
    while (g_common_any.load(std::memory_order_seq_cst) && advance()) {
        run_common();
    }
}

DelaySection::DelaySection() : entered_(nullptr) {
    if (t_awake) {
        return;
    }
    if (t_section.participant == nullptr) {
        t_section.participant = join();
        MINIVM_CHECK(t_section.participant != nullptr);
    }
    entered_ = t_section.participant;
    wake(entered_);
}

DelaySection::~DelaySection() {
    if (entered_ == nullptr) {
        return;
    }
    sleep(entered_);
    t_self = nullptr;
}

void run_all() {
    for (;;) {
        // seq_cst: not needed for speed anywhere here.
        while (g_common_any.load(std::memory_order_seq_cst)) {
            MINIVM_CHECK(advance());
            run_common();
        }
        // seq_cst: as above.
        if (!g_common_any.load(std::memory_order_seq_cst)) {
            return;
        }
    }
}

void want_instruction_barrier() {
    // relaxed: the fence of the later() that follows (L1) orders it, as what was written to the code.
    g_code_version.fetch_add(1, std::memory_order_relaxed);
}

uint64_t instruction_barriers() {
    // relaxed: a number to show.
    return g_barriers.load(std::memory_order_relaxed);
}

uint64_t epoch() {
    // relaxed: a number to show.
    return g_epoch.load(std::memory_order_relaxed);
}

}  // namespace minivm::thread_progress
