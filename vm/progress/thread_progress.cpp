// The protocol with the machine's atomics, and the state of the calling thread.
#include "vm/progress/thread_progress.hpp"

#include "vm/progress/thread_progress_core.hpp"
#include "vm/util/atomics.hpp"
#include "vm/util/fatal.hpp"

namespace minivm::thread_progress {

namespace {

std::atomic<uint64_t> g_barriers{0};

struct Machine : Atomics {
    static void instruction_barrier() {
#if defined(__x86_64__)
        // An instruction that serialises, on all processors.
        uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
        asm volatile("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx) : : "memory");
#elif defined(__aarch64__)
        asm volatile("isb" : : : "memory");
#endif
        // relaxed: a number to show.
        g_barriers.fetch_add(1, std::memory_order_relaxed);
    }
};

}  // namespace

struct Participant : Slot<Machine> {};

namespace {

constinit Core<Machine, Participant, kMaxThreads> g_core;

thread_local Participant* t_self = nullptr;
thread_local bool t_awake = false;

// The slot of a thread's delay sections. When the thread ends, the next thread that joins can have it.
struct SectionSlot {
    Participant* participant = nullptr;
    ~SectionSlot() {
        if (participant != nullptr) {
            leave(participant);
        }
    }
};
thread_local SectionSlot t_section;

}  // namespace

Participant* join() { return g_core.join(); }

void leave(Participant* t) {
    if (t_self == t) {
        t_self = nullptr;
    }
    g_core.leave(t);
}

void wake(Participant* t) {
    t_self = t;
    t_awake = true;
    g_core.wake(t);
}

void sleep(Participant* t) {
    t_awake = false;
    g_core.sleep(t);
}

bool quiescent(Participant* t) { return g_core.quiescent(t); }

void later(Participant* t, Work f, void* data) {
    MINIVM_ASSERT(t_self == t && t_awake);
    g_core.later(t, f, data);
}

void later(Work f, void* data) {
    if (t_self != nullptr && t_awake) {
        later(t_self, f, data);
        return;
    }
    g_core.later(f, data);
}

DelaySection::DelaySection() : entered_(nullptr) {
    if (t_awake) {
        return;
    }
    if (t_section.participant == nullptr) {
        t_section.participant = join();
        if (t_section.participant == nullptr) {
            fault::end_vm("Too many threads use the VM: thread progress has no room for another one");
        }
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

void run_all() { g_core.run_all(); }

void want_instruction_barrier() { g_core.want_instruction_barrier(); }

uint64_t instruction_barriers() {
    // relaxed: a number to show.
    return g_barriers.load(std::memory_order_relaxed);
}

uint64_t epoch() { return g_core.epoch(); }

}  // namespace minivm::thread_progress
