// minivm:scheduler_waits/0: what schedulers have waited for outside of their own sleep.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "vm/bif/bif.hpp"
#include "vm/sched/scheduler_thread.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/map.hpp"
#include "vm/util/lock.hpp"

namespace minivm {

namespace {

struct KernelCounts {
    uint64_t given_up = 0;      // voluntary context switches
    uint64_t taken_away = 0;    // involuntary ones
    uint64_t minor_faults = 0;
    uint64_t major_faults = 0;  // with reading from a disk
};

// Adds the kernel's counts for one of our threads; nothing where the kernel does not tell.
void add_kernel_counts(int thread, KernelCounts& sum) {
    char path[64];
    char line[512];
    std::snprintf(path, sizeof path, "/proc/self/task/%d/status", thread);
    if (std::FILE* file = std::fopen(path, "re")) {
        while (std::fgets(line, sizeof line, file) != nullptr) {
            unsigned long long n = 0;
            if (std::sscanf(line, "voluntary_ctxt_switches: %llu", &n) == 1) {
                sum.given_up += n;
            } else if (std::sscanf(line, "nonvoluntary_ctxt_switches: %llu", &n) == 1) {
                sum.taken_away += n;
            }
        }
        std::fclose(file);
    }
    std::snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    if (std::FILE* file = std::fopen(path, "re")) {
        const size_t size = std::fread(line, 1, sizeof line - 1, file);
        line[size] = 0;
        // After the name, which may hold anything: state and six numbers before the faults.
        const char* rest = std::strrchr(line, ')');
        unsigned long long minor = 0;
        unsigned long long major = 0;
        if (rest != nullptr &&
            std::sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %*u %llu %*u %llu", &minor, &major) == 2) {
            sum.minor_faults += minor;
            sum.major_faults += major;
        }
        std::fclose(file);
    }
}

// minivm:scheduler_waits() -> #{long, longest, short, preempted, locks => [{Name, Short, Long, Preempted}], sleeps,
// given_up, taken_away, minor_faults, major_faults}, sums over all schedulers since the start:
//   long: waits for a lock whose holder worked under it for longer than a scheduler tries again for it
//   longest: the longest such work, in nanoseconds, interrupts of its processor included
//   preempted: waits as long, for a holder that the kernel had taken off its processor
//   given_up - sleeps: whatever else made a thread wait in the kernel, long and preempted waits included
Term minivm_scheduler_waits_0(Process& p, const Term*) {
    KernelCounts kernel;
    uint64_t sleeps = 0;
    for (int i = 1; i <= vm::scheduler_count(); ++i) {
        const SchedulerThread& s = scheduler_at(i);
        // relaxed: numbers to show. The sleeps first, so that the kernel's count includes a switch for each.
        sleeps += s.sleeps.load(std::memory_order_relaxed);
        add_kernel_counts(s.thread_id.load(std::memory_order_relaxed), kernel);
    }
    uint64_t short_waits = 0;
    uint64_t long_waits = 0;
    uint64_t preempted = 0;
    uint64_t longest_ns = 0;
    Term locks = kNil;
    for (int i = kLockKinds - 1; i >= 0; --i) {
        const auto kind = static_cast<LockKind>(i);
        const lock_waits::Count count = lock_waits::count(kind);
        short_waits += count.short_waits;
        long_waits += count.long_waits;
        preempted += count.preempted;
        longest_ns = std::max(longest_ns, count.longest_ns);
        if (count.short_waits + count.long_waits + count.preempted != 0) {
            const Term entry = make_tuple(p.heap, atom_table::intern(lock_waits::name(kind)),
                                          make_unsigned(p.heap, count.short_waits),
                                          make_unsigned(p.heap, count.long_waits),
                                          make_unsigned(p.heap, count.preempted));
            locks = cons(p.heap, entry, locks);
        }
    }
    const struct {
        const char* key;
        Term value;
    } all[] = {{"long", make_unsigned(p.heap, long_waits)},
               {"longest", make_unsigned(p.heap, longest_ns)},
               {"short", make_unsigned(p.heap, short_waits)},
               {"preempted", make_unsigned(p.heap, preempted)},
               {"locks", locks},
               {"sleeps", make_unsigned(p.heap, sleeps)},
               {"given_up", make_unsigned(p.heap, kernel.given_up)},
               {"taken_away", make_unsigned(p.heap, kernel.taken_away)},
               {"minor_faults", make_unsigned(p.heap, kernel.minor_faults)},
               {"major_faults", make_unsigned(p.heap, kernel.major_faults)}};
    constexpr uint32_t kCount = sizeof all / sizeof *all;
    Term keys[kCount];
    Term values[kCount];
    for (uint32_t i = 0; i < kCount; ++i) {
        keys[i] = atom_table::intern(all[i].key);
        values[i] = all[i].value;
    }
    return map::from_pairs(p.heap, keys, values, kCount);
}

}  // namespace

MINIVM_BIF_TABLE(waits) = {
    {"minivm", "scheduler_waits", 0, minivm_scheduler_waits_0, kBifDirtyIo, nullptr},
};

}  // namespace minivm
