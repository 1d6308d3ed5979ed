// Whole operations on code: finish a load, delete, purge. They stage, commit after thread progress and
// wake the process that asked; no thread waits.
//
// The caller holds the code modification permission; the operation releases it when it has committed,
// even if the process that asked is dead by then.
// Threads: any thread but a scheduler in a slice; BIFs run them on a dirty scheduler, because staging
// takes long.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "vm/code/loading.hpp"
#include "vm/term/heap.hpp"

namespace minivm::code_change {

// An operation under way. done() is called once, on any thread, when the operation has taken effect.
struct Operation : MagicObject {
    virtual void done() = 0;
    std::vector<Term> committed;  // modules that finish() makes current or pending
};

// For a process, which done() wakes.
struct ForProcess final : Operation {
    explicit ForProcess(Term pid) : waiter(pid) {}
    void done() override;
    bool is_done() const {
        // acquire: pairs with done(): a process that sees true sees the commit.
        return done_.load(std::memory_order_acquire);
    }
    const Term waiter;

  private:
    std::atomic<bool> done_{false};
};

// For a thread other than a scheduler: wait() blocks until the operation is done.
struct ForThread final : Operation {
    ForThread();
    ~ForThread() override;
    void done() override;
    void wait();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

// All of these take over one reference of `op` if they are void or return Prepared::started, and hold the
// permission until the commit.

// Makes these modules current (or pending, those with an on_load function) together. None of them may
// have both current and old code, nor a pending version.
void finish(std::vector<std::unique_ptr<ModuleInstance>> modules, Operation* op);
// The pending version becomes current.
void accept(Term module, Operation* op);
// The current version becomes old.
void delete_module(Term module, Operation* op);

// ---- purging ----------------------------------------------------------------------------------------
// One purge at a time: prepare, check all processes, then complete or abort.

enum class Purge : uint8_t { old, pending };
enum class Prepared : uint8_t {
    nothing,  // there is no such code; the permission has been released
    started,
    busy      // another purge is under way; the permission has been released
};
// When the operation is done, processes get into the old (or pending) code only by returning to it: calls
// of its funs wait for the end of the purge.
Prepared prepare_purge(Term module, Purge what, Operation* op);
// The module being purged, or the non-value. Any thread.
Term purged_module();
// Funs lead to the code again. A purge must be under way.
void abort_purge(Operation* op);
// Removes and frees the code. Processes may refer to it only by funs and literals. A purge must be under way.
void complete_purge(Operation* op);

// How many processes the code purger asks at a time (erlang:system_flag/2).
constexpr uint32_t kMaxSystemRequests = 134217727;
extern std::atomic<uint32_t> g_system_requests_limit;

// erts_code_purger:pending_purge_lambda/3: a process that calls a fun of such code waits there for the end.
const Export* pending_purge_lambda();
// True if a call of this fun has to wait for the end of a purge, which then wakes pid. Any thread.
bool wait_for_purge(const FunEntry* fe, Term pid);
// The instance that check_process_code is about: the one being purged, else the old one; null if
// there is none. On a managed thread, valid until its next quiescent point.
const ModuleInstance* checked_instance(Term module);
// True if p returns to code of the instance or continues in it. p is not running, or is the caller itself.
bool runs_in(const Process& p, const ModuleInstance& instance);

}  // namespace minivm::code_change
