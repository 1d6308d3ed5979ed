#include "vm/code_change/code_change.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "recorder/recorder.hpp"
#include "vm/code/permission.hpp"
#include "vm/code_change/purge_steps.hpp"
#include "vm/instr/bif_def.hpp"
#include "vm/nif/nif.hpp"
#include "vm/process/literal_release.hpp"
#include "vm/process/process.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/state.hpp"
#include "vm/process/tracing.hpp"
#include "vm/progress/background.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/record/record.hpp"
#include "vm/util/lock.hpp"

namespace minivm::code_change {

std::atomic<uint32_t> g_system_requests_limit{kMaxSystemRequests};

namespace {

void finished(Operation* op) {
    op->done();
    op->release();
}

// A commit makes traced export entries undefined. Their breakpoints stay one thread progress longer, for processes
// that still use the former index.
bool g_entries_withdrawn = false;  // only for the holder of the permission

void stop_tracing_withdrawn(const ModuleInstance* former) {
    if (former != nullptr && tracing::g_hooks != nullptr) {
        g_entries_withdrawn |= tracing::g_hooks->withdrawn(*former);
    }
}
void release_permission() {
    if (!g_entries_withdrawn) {
        code_permission::release();
        return;
    }
    g_entries_withdrawn = false;
    thread_progress::later(
        [](void*) {
            tracing::g_hooks->forget_entries();
            code_permission::release();
        },
        nullptr);
}

void commit(Operation* op) {
    code_index::commit_staging();
    for (Term module : op->committed) {
        MINIVM_EVENT(code_commit, records::atom(module),
                     static_cast<uint64_t>(code_index::active()));
    }
    release_permission();
    finished(op);
}

// Makes the staged changes active when every scheduler has passed a barrier; then releases the permission
// and finishes the operation.
void commit_when_passed(Operation* op) {
    thread_progress::later([](void* data) { commit(static_cast<Operation*>(data)); }, op);
}

// ---- the purge under way ---------------------------------------------------------------------------

CountedMutex g_purge_lock{LockKind::purge};
Term g_purged_module = kNonValue;  // under the lock; the non-value: no purge under way
std::atomic<ModuleInstance*> g_purged{nullptr};  // written under the lock
std::vector<const FunEntry*> g_closed_funs;      // under the lock
std::vector<Term> g_waiting;  // under the lock: pids of processes that called one of the funs

void end_purge() {
    std::vector<Term> woken;
    {
        const std::lock_guard lock(g_purge_lock);
        g_purged_module = kNonValue;
        // release: as in prepare_purge().
        g_purged.store(nullptr, std::memory_order_release);
        g_closed_funs.clear();
        woken.swap(g_waiting);
    }
    for (Term pid : woken) {
        wake_up_pid(pid);
    }
}

// On a dirty scheduler: freeing a module of many functions takes milliseconds and returns memory to the kernel.
void release_instance(void* instance) {
    auto* gone = static_cast<ModuleInstance*>(instance);
    if (tracing::g_hooks != nullptr) {
        tracing::g_hooks->released(*gone);
    }
    staging::give_back_catches(*gone);
    literal_release::take(std::move(gone->lowered.literals));
    delete gone;
}

ModuleInstance* purged_instance() {
    // acquire: pairs with prepare_purge().
    return g_purged.load(std::memory_order_acquire);
}

// One of the two halves of a purge. Deletes itself, the first when the funs are closed, the second with the instance.
struct PurgeHalf : PurgeSteps<PurgeHalf> {
    explicit PurgeHalf(Operation* operation) : op(operation) {}
    void later(PurgeWait, thread_progress::Work f, void* data) { thread_progress::later(f, data); }
    void commit_closed() {
        code_index::commit_staging();
        code_permission::release();
    }
    void closed() {
        finished(op);
        delete this;
    }
    void commit_removed() {
        code_index::commit_staging();
        instance->is_removed = true;
        release_permission();
        end_purge();
        // No process has run the code for a while. The purger may expect that the library of native
        // functions is unloaded when the operation is done; a dirty scheduler does it, it may take long.
        // relaxed: the process that loaded the library ran this code and has left it.
        if (instance->library.load(std::memory_order_relaxed) == nullptr) {
            finished(op);
            gone();
            return;
        }
        dirty::run(
            [](void* half) {
                auto* self = static_cast<PurgeHalf*>(half);
                nif::unload(*self->instance);
                finished(self->op);
                self->gone();
            },
            this);
    }
    void free() {
        dirty::run(release_instance, instance);
        delete this;
    }

    Operation* const op;
    ModuleInstance* const instance = purged_instance();
};

}  // namespace

// ---- waiters -----------------------------------------------------------------------------------------

void ForProcess::done() {
    // release: the commit comes before it. Pairs with is_done().
    done_.store(true, std::memory_order_release);
    wake_up_pid(waiter);
}

struct ForThread::State {
    std::mutex lock;
    std::condition_variable passed;
    bool done = false;
};
ForThread::ForThread() : state_(new State) {}
ForThread::~ForThread() = default;
void ForThread::done() {
    const std::lock_guard lock(state_->lock);
    state_->done = true;
    state_->passed.notify_one();
}
void ForThread::wait() {
    std::unique_lock lock(state_->lock);
    state_->passed.wait(lock, [this] { return state_->done; });
}

// ---- loading and deleting ------------------------------------------------------------------------------

void finish(std::vector<std::unique_ptr<ModuleInstance>> modules, Operation* op) {
    using namespace std::chrono;
    const auto now = duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
    staging::begin();
    const auto generation = static_cast<uint64_t>(code_index::staging());
    for (auto& m : modules) {
        m->committed_ms = static_cast<uint64_t>(now);
        ModuleInstance* instance = m.release();
        const ModuleInstance* const former =
            module_table::current(instance->name(), code_index::active());
        if (instance->has_on_load()) {
            staging::add_pending(instance);
        } else {
            staging::add_module(instance);
        }
        if (tracing::g_hooks != nullptr) {
            tracing::g_hooks->staged(*instance);
        }
        stop_tracing_withdrawn(former);
        MINIVM_EVENT(code_stage, records::atom(instance->name()), generation);
        op->committed.push_back(instance->name());
    }
    commit_when_passed(op);
}

void accept(Term module, Operation* op) {
    staging::begin();
    staging::accept_pending(module);
    op->committed.push_back(module);
    stop_tracing_withdrawn(module_table::current(module, code_index::active()));
    commit_when_passed(op);
}

void delete_module(Term module, Operation* op) {
    staging::begin();
    staging::delete_module(module);
    stop_tracing_withdrawn(module_table::current(module, code_index::active()));
    MINIVM_EVENT(code_delete, records::atom(module));
    commit_when_passed(op);
}

// ---- purging --------------------------------------------------------------------------------------------

Prepared prepare_purge(Term module, Purge what, Operation* op) {
    const int ix = code_index::active();
    ModuleInstance* instance = what == Purge::old ? module_table::old(module, ix)
                                                  : module_table::on_load(module, ix);
    {
        std::unique_lock lock(g_purge_lock);
        if (is_value(g_purged_module) || instance == nullptr) {
            const Prepared outcome = is_value(g_purged_module) ? Prepared::busy : Prepared::nothing;
            lock.unlock();  // whoever waits for the permission is woken, on this thread
            code_permission::release();
            return outcome;
        }
        g_purged_module = module;
        // release: publishes the instance. Pairs with purged_instance().
        g_purged.store(instance, std::memory_order_release);
    }
    staging::begin();
    std::vector<const FunEntry*> closed;
    staging::close_funs(*instance, &closed);
    {
        // Before the commit, so that a process that finds a fun closed finds it in this list.
        const std::lock_guard lock(g_purge_lock);
        g_closed_funs = std::move(closed);
    }
    (new PurgeHalf(op))->close();
    return Prepared::started;
}

Term purged_module() {
    const std::lock_guard lock(g_purge_lock);
    return g_purged_module;
}

void abort_purge(Operation* op) {
    staging::begin();
    {
        const std::lock_guard lock(g_purge_lock);
        staging::reopen_funs(*purged_instance(), g_closed_funs);
    }
    thread_progress::later(
        [](void* data) {
            code_index::commit_staging();
            code_permission::release();
            end_purge();
            finished(static_cast<Operation*>(data));
        },
        op);
}

void complete_purge(Operation* op) {
    auto* half = new PurgeHalf(op);
    MINIVM_EVENT(code_purge, records::atom(half->instance->name()), uint64_t{process_table::count()});
    staging::begin();
    staging::remove_module(half->instance);
    stop_tracing_withdrawn(half->instance);  // one whose on_load function failed was never current
    half->remove();
}

const Export* pending_purge_lambda() {
    static const Export* const entry = export_table::get(
        atom_table::intern("erts_code_purger"), atom_table::intern("pending_purge_lambda"), 3);
    return entry;
}

bool wait_for_purge(const FunEntry* fe, Term pid) {
    const std::lock_guard lock(g_purge_lock);
    for (const FunEntry* closed : g_closed_funs) {
        if (closed == fe) {
            g_waiting.push_back(pid);
            return true;
        }
    }
    return false;
}

const ModuleInstance* checked_instance(Term module) {
    // Without the lock, because every process calls this. The instance is freed only after g_purged was cleared
    // and all schedulers have made progress since.
    const ModuleInstance* const purged = purged_instance();
    if (purged != nullptr && purged->name() == module) {
        return purged;
    }
    return module_table::old(module, code_index::active());
}

bool runs_in(const Process& p, const ModuleInstance& instance) {
    const Word begin = reinterpret_cast<Word>(instance.code->begin());
    const Word size = reinterpret_cast<Word>(instance.code->end()) - begin;
    if (reinterpret_cast<Word>(p.pc) - begin < size) {
        return true;
    }
    // Is it on its way into the on_load function?
    if (instance.on_load_entry != nullptr && p.pc == &instance.on_load_entry->stub[kStubCall]) {
        return true;
    }
    // Is it in one of the instance's native functions, entered by a tail call?
    if (p.dirty_bif != nullptr && p.dirty_bif->has_any(kBifNative)) {
        for (const LoweredFunction& f : instance.lowered.functions) {
            if (f.nif == p.dirty_bif) {
                return true;
            }
        }
    }
    for (const Term* w = p.heap.end; w < p.stack_base; ++w) {
        // A return address is that of the word after the call, hence end() if the call is the last instruction.
        if (is_header(w->raw) && w->raw - kTagHeader - begin - 1 < size) {
            return true;
        }
    }
    return false;
}

}  // namespace minivm::code_change
