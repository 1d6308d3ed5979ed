#include "loader/prepare.hpp"

#include <condition_variable>
#include <mutex>

#include "recorder/recorder.hpp"
#include "vm/code/loading.hpp"
#include "vm/process/process_table.hpp"
#include "vm/record/record.hpp"
#include "vm/sched/thread_progress.hpp"
#include "vm/term/atom_table.hpp"

namespace minivm::loader {
namespace {

// The code modification permission. Those who wait here are not schedulers.
std::mutex g_permission;

struct Progress {
    std::mutex lock;
    std::condition_variable passed;
    bool done = false;
};

// Returns when every scheduler has passed a quiescent point since the call.
void wait_for_thread_progress() {
    Progress progress;
    thread_progress::later(
        [](void* data) {
            auto* p = static_cast<Progress*>(data);
            std::lock_guard lock(p->lock);
            p->done = true;
            p->passed.notify_one();  // under the lock: the waiter owns the condition variable
        },
        &progress);
    std::unique_lock lock(progress.lock);
    progress.passed.wait(lock, [&] { return progress.done; });
}

// The staging generation becomes the active one.
void commit() {
    wait_for_thread_progress();
    code_index::commit_staging();
}

}  // namespace

std::unique_ptr<ModuleInstance> prepare(const uint8_t* bytes, size_t size, LoadError* error) {
    auto instance = std::make_unique<ModuleInstance>();
    if (!load(bytes, size, &instance->lowered, error)) {
        return nullptr;
    }
    instance->engine = &engine_for(instance->lowered);
    instance->code = instance->engine->compile(instance->lowered);
    // Engines have what they need; what is left serves stack traces and module_info.
    instance->lowered.operands = {};
    instance->lowered.code = {};
    recorder::record(recorder::EventId::code_prepare, records::atom(instance->name()),
                     size, instance->lowered.functions.size());
    return instance;
}

void finish(std::vector<std::unique_ptr<ModuleInstance>> modules) {
    std::lock_guard permission(g_permission);
    staging::begin();
    const auto generation = static_cast<uint64_t>(code_index::staging());
    std::vector<uint64_t> names;
    for (auto& m : modules) {
        names.push_back(atom_index(m->name()));
        staging::add_module(m.release());
        recorder::record(recorder::EventId::code_stage, names.back(), generation);
    }
    commit();
    for (uint64_t name : names) {
        recorder::record(recorder::EventId::code_commit, name, generation);
    }
}

ModuleSource::Removal delete_module(Term module) {
    std::lock_guard permission(g_permission);
    if (module_table::old(module, code_index::active()) != nullptr) {
        return ModuleSource::Removal::has_old;
    }
    if (module_table::current(module, code_index::active()) == nullptr) {
        return ModuleSource::Removal::not_loaded;
    }
    staging::begin();
    staging::delete_module(module);
    commit();
    recorder::record(recorder::EventId::code_delete, records::atom(module));
    return ModuleSource::Removal::done;
}

bool purge_module(Term module) {
    std::lock_guard permission(g_permission);
    if (module_table::old(module, code_index::active()) == nullptr) {
        return false;
    }
    staging::begin();
    staging::forget_old(module);
    commit();
    recorder::record(recorder::EventId::code_purge, records::atom(module),
                     uint64_t{process_table::count()});
    return true;
}

}  // namespace minivm::loader
