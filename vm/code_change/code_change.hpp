// Whole operations on code: finish a load, delete, purge. They stage, wait for thread progress, commit,
// and tell the process that asked; no thread waits.
//
// Each begins with the code modification permission, which the operation gives back when it has
// committed, whatever has become of the process by then.
// Threads: any thread that is no scheduler in a slice; BIFs run them on a dirty scheduler, for staging
// takes its time.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "vm/code/loading.hpp"
#include "vm/term/heap.hpp"

namespace minivm::code_change {

// An operation under way. done() is called when its effect is there, on any thread, once.
struct Operation : MagicObject {
    virtual void done() = 0;
    std::vector<Term> committed;  // modules that its commit makes current or pending
};

// For a process: it is woken when the operation is done.
struct ForProcess final : Operation {
    explicit ForProcess(Term pid) : waiter(pid) {}
    void done() override;
    bool is_done() const {
        // acquire: pairs with done(): who has seen it sees the commit.
        return done_.load(std::memory_order_acquire);
    }
    const Term waiter;

  private:
    std::atomic<bool> done_{false};
};

// For a thread that is no scheduler: wait() blocks until the operation is done.
struct ForThread final : Operation {
    ForThread();
    ~ForThread() override;
    void done() override;
    void wait();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

// All of these take over one reference of `op` if they return true (or are void), and hold the
// permission until the commit.

// Makes these modules current (or pending, those with an on_load function) together. None of them may
// have old code beside current, nor a pending version.
void finish(std::vector<std::unique_ptr<ModuleInstance>> modules, Operation* op);
// The pending version becomes current.
void accept(Term module, Operation* op);
// The current version becomes old.
void delete_module(Term module, Operation* op);

// ---- purging ----------------------------------------------------------------------------------------
// One purge at a time: prepare, look at all processes, then complete or abort.

enum class Purge : uint8_t { old, pending };
enum class Prepared : uint8_t {
    nothing,  // there is no such code; the permission has been given back
    started,
    busy      // another purge has begun and not ended; likewise
};
// Afterwards nobody gets into the old (or pending) code any more but by returning to it: calls of its
// funs wait for the end of the purge.
Prepared prepare_purge(Term module, Purge what, Operation* op);
// The module being purged, or the non-value. Any thread.
Term purged_module();
// Funs go on to the code. There must be a purge of `module`.
void abort_purge(Operation* op);
// The code goes away. No process may have a reference to it but by funs and literals.
void complete_purge(Operation* op);

// How many processes the code purger asks at a time (erlang:system_flag/2).
constexpr uint32_t kMaxSystemRequests = 134217727;
extern std::atomic<uint32_t> g_system_requests_limit;

// erts_code_purger:pending_purge_lambda/3, where who calls a fun of such code waits for the end.
const Export* pending_purge_lambda();
// True if a call of this fun has to wait for the end of a purge; pid is woken then. Any thread.
bool wait_for_purge(const FunEntry* fe, Term pid);
// The instance that a check of the processes is about: the one being purged, else the old one; null if
// there is none. On a managed thread, valid until its next quiescent point.
const ModuleInstance* checked_instance(Term module);
// True if p, which does not run or asks for itself, returns to or goes on in code of the instance.
bool runs_in(const Process& p, const ModuleInstance& instance);

}  // namespace minivm::code_change
