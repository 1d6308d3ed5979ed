// Resources: types, objects, monitors.
#include "vm/nif/api.hpp"
#include "vm/nif/resource.hpp"
#include "vm/process/process_life.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/state.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/sched/services.hpp"
#include "vm/term/binary.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <new>

namespace minivm::nif {

namespace {

// Which resources watch which processes. A process that ends sets kExiting before its hook takes the
// lock, so the hook finds a monitor, or the monitor is not made.
struct Watch {
    Resource* resource;
    RefId id;
};
std::mutex g_watches_lock;
std::map<Word, std::vector<Watch>> g_watches;  // by pid
std::atomic<size_t> g_watched{0};              // processes in it

// A monitor: its reference, and the process it watches, which is the key in g_watches.
static_assert(sizeof(RefId) + sizeof(Word) <= sizeof(MonitorId));
MonitorId monitor_of(RefId id, Term pid) {
    MonitorId m{};
    std::memcpy(m.data, &id.low, sizeof id.low);
    std::memcpy(m.data + sizeof id.low, &id.high, sizeof id.high);
    std::memcpy(m.data + sizeof id.low + sizeof id.high, &pid.raw, sizeof pid.raw);
    return m;
}
Word watched_by(const MonitorId& m) {
    Word pid = 0;
    std::memcpy(&pid, m.data + sizeof(RefId{}.low) + sizeof(RefId{}.high), sizeof pid);
    return pid;
}
RefId ref_of(const MonitorId& m) {
    RefId id{};
    std::memcpy(&id.low, m.data, sizeof id.low);
    std::memcpy(&id.high, m.data + sizeof id.low, sizeof id.high);
    return id;
}

void erase_watches_locked(const std::map<Word, std::vector<Watch>>::iterator& at) {
    g_watches.erase(at);
    // relaxed: a count that is too high only makes process_ends() look.
    g_watched.fetch_sub(1, std::memory_order_relaxed);
}

// The last look at a resource that has no reference: see ~Resource.
void unwatch_locked(Resource& r, Term pid) {
    const auto at = std::find(r.watched.begin(), r.watched.end(), pid.raw);
    *at = r.watched.back();
    r.watched.pop_back();
    // release: whoever finds no monitor frees the memory without the lock.
    r.monitors.fetch_sub(1, std::memory_order_release);
}

void process_ends(Process& p) {
    // seq_cst: after kExiting; see enif_monitor_process().
    if (g_watched.load(std::memory_order_seq_cst) == 0) {
        return;
    }
    std::vector<Watch> told;
    {
        const std::lock_guard lock(g_watches_lock);
        const auto at = g_watches.find(p.id.raw);
        if (at == g_watches.end()) {
            return;
        }
        for (const Watch& w : at->second) {
            // Its last reference may be given up meanwhile. Until the count goes down, ~Resource waits for the lock:
            // the memory stays.
            Resource& r = *w.resource;
            if (r.try_retain()) {
                told.push_back(w);
            }
            unwatch_locked(r, p.id);
        }
        erase_watches_locked(at);
    }
    for (const Watch& w : told) {
        // acquire: pairs with commit_opened_types().
        const DownCallback down = w.resource->type->down.load(std::memory_order_acquire);
        if (down != nullptr) {
            Env env(w.resource->type->owner.load(std::memory_order_acquire));  // acquire: as above
            Pid pid{p.id.raw};
            MonitorId id = monitor_of(w.id, p.id);
            down(&env, w.resource->data(), &pid, &id);
        }
        w.resource->release();
    }
}

void forget_monitors_of(const Resource& r) {
    const std::lock_guard lock(g_watches_lock);
    for (const Word pid : r.watched) {
        const auto at = g_watches.find(pid);
        if (at == g_watches.end()) {
            continue;  // it watched the process twice
        }
        std::erase_if(at->second, [&](const Watch& w) { return w.resource == &r; });
        if (at->second.empty()) {
            erase_watches_locked(at);
        }
    }
}

Callbacks callbacks_of(const ResourceTypeInit& init, int members) {
    Callbacks c;
    c.destructor = members >= 1 ? init.destructor : nullptr;
    c.stop = members >= 2 ? init.stop : nullptr;
    c.down = members >= 3 ? init.down : nullptr;
    c.dynamic_call = members >= 4 ? init.dynamic_call : nullptr;
    return c;
}

}  // namespace

void init() {
    static std::once_flag once;
    std::call_once(once, [] { at_process_exit(process_ends); });
}

Term monitoring_resources(Heap& h, Term pid, Term tail) {
    const std::lock_guard lock(g_watches_lock);
    const auto at = g_watches.find(pid.raw);
    if (at == g_watches.end()) {
        return tail;
    }
    for (const Watch& w : at->second) {
        if (w.resource->try_retain()) {
            tail = cons(h, make_magic_ref(h, w.resource->id, w.resource), tail);
        }
    }
    return tail;
}

Resource::Resource(ResourceType* t, size_t bytes)
    : type(t), size(bytes), id(new_ref_id(this_scheduler())) {
    // relaxed: the library holds a reference to the type.
    t->refs.fetch_add(1, std::memory_order_relaxed);
}

Resource::~Resource() {
    // acquire: pairs with unwatch_locked(). No reference is left, so the count goes up no more; if it is not zero,
    // process_ends() may be looking at the resource under the lock, which this waits for.
    if (monitors.load(std::memory_order_acquire) != 0) {
        forget_monitors_of(*this);
    }
    // acquire: pairs with commit_opened_types().
    const Destructor destructor = type->destructor.load(std::memory_order_acquire);
    if (destructor != nullptr) {
        Env env(type->owner.load(std::memory_order_acquire));  // acquire: as above
        destructor(&env, data());
    }
    type->release();
}

// What the bytes of the bit string belong to; null: to itself. See RefBinary::refer_to().
static MagicObject* owner_of_bytes(Term bitstring) {
    const Term* const p = boxed_ptr(bitstring);
    if (header_kind(p->raw) == Kind::heap_bits) {
        return nullptr;
    }
    const Term* const storage = boxed_ptr(p[1]);
    if (header_kind(storage->raw) != Kind::bin_ref) {
        return nullptr;
    }
    auto* const b = reinterpret_cast<RefBinary*>(storage[1].raw);
    auto* const behind = reinterpret_cast<uint8_t*>(b + 1);
    MagicObject* owner = nullptr;
    if (b->data() != behind) {
        std::memcpy(&owner, behind, sizeof owner);
    }
    return owner;
}

Resource* resource_of(Term t) {
    return is_magic_ref(t)   ? dynamic_cast<Resource*>(magic_object(t))
           : is_bitstring(t) ? dynamic_cast<Resource*>(owner_of_bytes(t))
                             : nullptr;
}

extern "C" {

ResourceType* enif_open_resource_type(Env* env, const char*, const char* name,
                                      Destructor destructor, int flags, int* tried) {
    Callbacks c;
    c.destructor = destructor;
    return open_type(env, name, c, static_cast<ResourceFlags>(flags),
                     reinterpret_cast<ResourceFlags*>(tried));
}
ResourceType* enif_open_resource_type_x(Env* env, const char* name, const ResourceTypeInit* init,
                                        int flags, int* tried) {
    return open_type(env, name, callbacks_of(*init, 3), static_cast<ResourceFlags>(flags),
                     reinterpret_cast<ResourceFlags*>(tried));
}
ResourceType* enif_init_resource_type(Env* env, const char* name, const ResourceTypeInit* init,
                                      int flags, int* tried) {
    return open_type(env, name, callbacks_of(*init, init->members),
                     static_cast<ResourceFlags>(flags), reinterpret_cast<ResourceFlags*>(tried));
}

void* enif_alloc_resource(ResourceType* type, size_t size) {
    void* const memory = std::malloc(sizeof(Resource) + size);
    if (memory == nullptr) {
        return nullptr;
    }
    return (new (memory) Resource(type, size))->data();
}
void enif_release_resource(void* object) {
    resource_of(object)->release();
}
void enif_keep_resource(void* object) {
    resource_of(object)->retain();
}
size_t enif_sizeof_resource(void* object) {
    return resource_of(object)->size;
}

Word enif_make_resource(Env* env, void* object) {
    Resource* const r = resource_of(object);
    r->retain();
    return make_magic_ref(heap_of(env), r->id, r).raw;
}
// The binary keeps the resource, whose bytes stay where they are.
Word enif_make_resource_binary(Env* env, void* object, const void* data, size_t size) {
    RefBinary* const b = RefBinary::refer_to(data, size, resource_of(object));
    return wrap_ref_binary(heap_of(env), b, 8 * static_cast<uint64_t>(size)).raw;
}
int enif_get_resource(Env*, Word t, ResourceType* type, void** object) {
    Resource* const r = resource_of(term_of(t));
    if (r == nullptr || r->type != type) {
        return 0;
    }
    *object = r->data();
    return 1;
}

// 0: called. Otherwise there is no such type, or the term is none of its objects.
int enif_dynamic_resource_call(Env* env, Word module, Word name, Word term, void* data) {
    Resource* const r = resource_of(term_of(term));
    ResourceType* const type = find_type_any_thread(term_of(module), term_of(name));
    if (type == nullptr) {
        return 1;
    }
    // acquire: pairs with commit_opened_types().
    const DynamicCall call = type->dynamic_call.load(std::memory_order_acquire);
    const bool known = r != nullptr && r->type == type && call != nullptr;
    if (known) {
        call(env, r->data(), data);
    }
    type->release();
    return known ? 0 : 1;
}

// ---- monitors -----------------------------------------------------------------------------------

// 0: monitored. < 0: the type has no down callback. > 0: there is no such process.
int enif_monitor_process(Env*, void* object, const Pid* target, MonitorId* out) {
    Resource* const r = resource_of(object);
    // acquire: pairs with commit_opened_types().
    if (r->type->down.load(std::memory_order_acquire) == nullptr) {
        return -1;
    }
    const Term pid{target->id};
    const RefId id = new_ref_id(this_scheduler());
    const thread_progress::DelaySection section;
    const std::lock_guard lock(g_watches_lock);
    std::vector<Watch>& watches = g_watches[pid.raw];
    if (watches.empty()) {
        // seq_cst: before the look at the state below; a process that ends sets its state first and then reads
        // the count.
        g_watched.fetch_add(1, std::memory_order_seq_cst);
    }
    const Process* const p = is_local_pid(pid) ? process_table::lookup(pid) : nullptr;
    // seq_cst: as above.
    if (p == nullptr || (p->state.load(std::memory_order_seq_cst) & process_state::kExiting) != 0) {
        if (watches.empty()) {
            erase_watches_locked(g_watches.find(pid.raw));
        }
        return 1;
    }
    watches.push_back({r, id});
    r->watched.push_back(pid.raw);
    // relaxed: under the lock.
    r->monitors.fetch_add(1, std::memory_order_relaxed);
    if (out != nullptr) {
        *out = monitor_of(id, pid);
    }
    return 0;
}

int enif_demonitor_process(Env*, void* object, const MonitorId* monitor) {
    Resource* const r = resource_of(object);
    const RefId id = ref_of(*monitor);
    const std::lock_guard lock(g_watches_lock);
    const Term pid{watched_by(*monitor)};
    const auto at = g_watches.find(pid.raw);
    if (at == g_watches.end() ||
        std::erase_if(at->second, [&](const Watch& w) { return w.resource == r && w.id == id; }) == 0) {
        return 1;
    }
    unwatch_locked(*r, pid);
    if (at->second.empty()) {
        erase_watches_locked(at);
    }
    return 0;
}
int enif_compare_monitors(const MonitorId* a, const MonitorId* b) {
    return std::memcmp(a->data, b->data, sizeof a->data);
}
Word enif_make_monitor_term(Env* env, const MonitorId* monitor) {
    return put_ref(heap_of(env).alloc(kRefWords), ref_of(*monitor)).raw;
}

}  // extern "C"

}  // namespace minivm::nif
