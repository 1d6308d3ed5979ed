// A loaded native library, and the resource types that belong to it.
//
// Invariants
//   (1) A library stays mapped while the code of its module exists (current or old) and while
//       resource types have callbacks in it; a type lives as long as its objects.
//   (2) Only load and upgrade callbacks create and take over types, and only if they
//       succeed.
// Threads: under load_lock() unless noted.
#pragma once

#include "vm/nif/environment.hpp"
#include "vm/process/tracer_modules.hpp"

#include <array>
#include <atomic>
#include <mutex>

namespace minivm::nif {

// The functions of a library that make it a tracer (vm/process/tracer_modules.hpp); null where it has none.
struct TracerFunctions {
    static constexpr size_t kKinds = 9;  // of tracer::Kind
    std::array<Callable, kKinds> enabled_by_kind{};
    std::array<Callable, kKinds> trace_by_kind{};

    void take(const LibraryFunction& f);
    bool is_tracer() const { return enabled_by_kind[0] != nullptr && trace_by_kind[0] != nullptr; }
    Callable enabled(tracer::Kind kind) const { return one_of(enabled_by_kind, kind); }
    Callable trace(tracer::Kind kind) const { return one_of(trace_by_kind, kind); }

private:
    static Callable one_of(const std::array<Callable, kKinds>& by_kind, tracer::Kind kind) {
        const Callable own = by_kind[static_cast<size_t>(kind)];
        return own != nullptr ? own : by_kind[0];
    }
};

struct Library {
    void* handle = nullptr;       // null: the library is part of the VM
    Term module = kNonValue;
    Entry entry{};
    std::vector<LibraryFunction> functions;
    TracerFunctions tracer;
    void* priv_data = nullptr;
    bool loading = false;         // load or upgrade is being called
    std::atomic<size_t> refs{1};  // any thread: the module's code, types with callbacks, dirty and scheduled calls

    bool has_function(const char* name, unsigned arity) const;
    void retain();
    void release();  // the last release() lets deferred work close it
    bool give_up();  // true: that was the last reference, and the caller must close() it
    static void close(Library* l);
};

// The functions of a resource type that are called with its objects.
struct Callbacks {
    Destructor destructor = nullptr;
    StopCallback stop = nullptr;
    DownCallback down = nullptr;
    DynamicCall dynamic_call = nullptr;
    bool any() const {
        return destructor != nullptr || stop != nullptr || down != nullptr ||
               dynamic_call != nullptr;
    }
};

struct ResourceType {
    Term module;
    Term name;
    // Any thread reads these; a takeover changes them.
    std::atomic<Destructor> destructor{nullptr};
    std::atomic<StopCallback> stop{nullptr};
    std::atomic<DownCallback> down{nullptr};
    std::atomic<DynamicCall> dynamic_call{nullptr};
    std::atomic<Library*> owner{nullptr};
    std::atomic<size_t> refs{1};  // any thread: the table of types, and each object
    bool has_callbacks = false;

    void release();  // any thread
};

std::mutex& load_lock();

// ---- called by the API --------------------------------------------------------------------------

// enif_open_resource_type() and the like. Null: no load or upgrade callback runs, or the flags do not allow it.
ResourceType* open_type(Env* env, const char* name, const Callbacks& callbacks, ResourceFlags flags,
                        ResourceFlags* tried);
ResourceType* find_type(Term module, Term name);
// The same without load_lock(); the caller gets a reference.
ResourceType* find_type_any_thread(Term module, Term name);

// ---- inside load() ------------------------------------------------------------------------------

void commit_opened_types(Library& library);
void forget_opened_types();
void close_types_of(Library& library);

}  // namespace minivm::nif
