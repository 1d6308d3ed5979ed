#include "vm/process/process_table.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>

#include "vm/process/process.hpp"
#include "vm/record/record.hpp"

namespace minivm::process_table {

namespace {

// Mapped memory: places that were never used take no memory.
std::atomic<Process*>* g_places = nullptr;
uint64_t g_mask = 0;  // the number of places, a power of two, less one
alignas(64) std::atomic<uint64_t> g_next{0};
alignas(64) std::atomic<uint32_t> g_count{0};
// Places below this may be in use although g_next has been set back.
std::atomic<uint64_t> g_used{0};

// How many places a search must look at. relaxed: it may miss processes that are spawned meanwhile.
uint64_t used_places() {
    const uint64_t next = std::max(g_next.load(std::memory_order_relaxed),
                                   g_used.load(std::memory_order_relaxed));  // relaxed: see above
    return std::min<uint64_t>(next, limit());
}

}  // namespace

void init(uint32_t most) {
    g_mask = std::bit_ceil(std::clamp(most, kLeastLimit, kMostLimit)) - 1;
    void* memory = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    MINIVM_CHECK(memory != MAP_FAILED);
    g_places = static_cast<std::atomic<Process*>*>(memory);
    // relaxed: no other thread yet.
    g_next.store(0, std::memory_order_relaxed);
    g_used.store(0, std::memory_order_relaxed);  // relaxed: as above
    g_count.store(0, std::memory_order_relaxed);
}

uint32_t limit() { return static_cast<uint32_t>(g_mask + 1); }
size_t bytes() { return sizeof(std::atomic<Process*>) * limit(); }

void destroy() {
    munmap(static_cast<void*>(g_places), bytes());
    g_places = nullptr;
}

bool insert(Process& p) {
    // relaxed: a count; it bounds how many places are taken, so the search below ends.
    if (g_count.fetch_add(1, std::memory_order_relaxed) >= limit()) {
        // relaxed: as above.
        g_count.fetch_sub(1, std::memory_order_relaxed);
        return false;
    }
    // relaxed: only about right.
    records::note_use_rarely(records::Word::processes, g_count.load(std::memory_order_relaxed),
                             limit());
    for (;;) {
        // relaxed: only uniqueness is required.
        const uint64_t data = g_next.fetch_add(1, std::memory_order_relaxed);
        Process* expected = nullptr;
        p.id = make_local_pid(data);
        // release: a thread that finds p sees its pid and all other fields. Pairs with lookup().
        if (g_places[data & g_mask].compare_exchange_strong(
                expected, &p, std::memory_order_release, std::memory_order_relaxed)) {
            p.counted = true;
            return true;
        }
    }
}

void remove(Process& p) {
    // release: a new process in this place comes after this one. Pairs with the exchange in insert().
    g_places[imm_data(p.id) & g_mask].store(nullptr, std::memory_order_release);
    p.counted = false;
    // release: after the store above, so there is a free place for each number that insert() lets pass.
    g_count.fetch_sub(1, std::memory_order_release);
}

Process* lookup(Term pid) {
    // acquire: pairs with insert().
    Process* p = g_places[imm_data(pid) & g_mask].load(std::memory_order_acquire);
    return p != nullptr && p->id == pid ? p : nullptr;
}

Process* at_place(uint32_t place) {
    // acquire: pairs with insert().
    return g_places[place & g_mask].load(std::memory_order_acquire);
}

uint64_t next_number() {
    return g_next.load(std::memory_order_relaxed);  // relaxed: a number to show
}

void set_next_number(uint64_t number) {
    // relaxed (all): processes that are spawned meanwhile get numbers of the old or of the new range. g_used covers
    // the places used so far before g_next begins again.
    uint64_t used = g_used.load(std::memory_order_relaxed);
    const uint64_t next = g_next.load(std::memory_order_relaxed);
    while (used < next && !g_used.compare_exchange_weak(used, next, std::memory_order_relaxed)) {
    }
    g_next.store(number, std::memory_order_release);  // release: after g_used
}

uint32_t count() {
    // relaxed: a number to show.
    return g_count.load(std::memory_order_relaxed);
}

Process* next_at(uint32_t* place) {
    const uint64_t end = used_places();
    while (*place < end) {
        // acquire: pairs with insert().
        Process* p = g_places[(*place)++].load(std::memory_order_acquire);
        if (p != nullptr) {
            return p;
        }
    }
    *place = limit();
    return nullptr;
}

void for_each(void (*f)(Process&, void*), void* context) {
    const uint64_t end = used_places();
    for (uint64_t i = 0; i < end; ++i) {
        // acquire: pairs with insert().
        Process* p = g_places[i].load(std::memory_order_acquire);
        if (p != nullptr) {
            f(*p, context);
        }
    }
}

}  // namespace minivm::process_table
