#include "vm/process/registry.hpp"

#include <sys/mman.h>

#include <atomic>
#include <mutex>
#include <unordered_map>

#include "vm/process/ports.hpp"
#include "vm/process/probe.hpp"
#include "vm/process/process.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/state.hpp"
#include "vm/record/record.hpp"
#include "vm/term/format.hpp"
#include "vm/util/lock.hpp"

namespace minivm::registry {

namespace {

size_t table_bytes() { return atom_table::limit() * sizeof(std::atomic<Word>); }

// By atom index: the raw word of the pid or port, 0: none. Mapped: pages that are never used take no memory.
std::atomic<Word>* g_pids = nullptr;
CountedMutex g_mutex{LockKind::registry};            // guards writing, and Process::registered_name
std::vector<Term> g_names;
std::unordered_map<Word, size_t> g_places;           // by the raw word of a name: where it is in g_names

std::atomic<Word>& place(Term name) { return g_pids[atom_index(name)]; }

}  // namespace

void init() {
    void* memory = mmap(nullptr, table_bytes(), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    MINIVM_CHECK(memory != MAP_FAILED);
    g_pids = static_cast<std::atomic<Word>*>(memory);
}

void destroy() {
    munmap(static_cast<void*>(g_pids), table_bytes());
    g_pids = nullptr;
    g_names.clear();
    g_places.clear();
}

Term whereis(Term name) {
    // acquire: a process that finds the name sees what was done before it was registered. Pairs with the
    // stores below.
    const Word raw = place(name).load(std::memory_order_acquire);
    return raw == 0 ? kNonValue : Term{raw};
}

Registered register_name(Term name, Term pid) {
    std::lock_guard lock(g_mutex);
    // relaxed: written under the lock.
    const bool taken = place(name).load(std::memory_order_relaxed) != 0;
    if (is_local_port(pid)) {
        if (!port::exists(pid)) {
            return Registered::no;
        }
        if (is_value(port::registered_name(pid))) {
            return Registered::has_name;
        }
        if (taken || !port::set_registered_name(pid, name)) {
            return Registered::no;
        }
    } else {
        Process* p = process_table::lookup(pid);
        // acquire: a process sets kExiting, then takes the lock to give up its name. If we do not see
        // kExiting here, forget() will find the name that we store.
        if (p == nullptr ||
            (p->state.load(std::memory_order_acquire) & process_state::kExiting) != 0) {
            return Registered::not_alive;
        }
        if (is_value(p->registered_name)) {
            return Registered::has_name;
        }
        if (taken) {
            return Registered::no;
        }
        p->registered_name = name;
    }
    g_places[name.raw] = g_names.size();
    g_names.push_back(name);
    if (is_local_pid(pid) && recorder::is_active()) {
        // From here on the recording shows the process with its name, in its earlier records as well.
        recorder::define_subject(records::subject(pid),
                                 std::string(atom_table::text(name)) + format_pid(pid));
        MINIVM_EVENT(register_name, records::subject(pid), records::atom(name));
    }
    // release: pairs with whereis().
    place(name).store(pid.raw, std::memory_order_release);
    return Registered::yes;
}

static void remove_locked(Term name) {
    // release: pairs with whereis().
    place(name).store(0, std::memory_order_release);
    // The last name takes its place.
    const size_t at = g_places.at(name.raw);
    g_names[at] = g_names.back();
    g_places[g_names[at].raw] = at;
    g_names.pop_back();
    g_places.erase(name.raw);
}

bool unregister_name(Term name) {
    std::lock_guard lock(g_mutex);
    // relaxed: written under the lock.
    const Word raw = place(name).load(std::memory_order_relaxed);
    if (raw == 0) {
        return false;
    }
    // A process or port with a name is in its table until forget() or forget_port() has taken the lock.
    if (is_local_port(Term{raw})) {
        port::clear_registered_name(Term{raw});
    } else {
        process_table::lookup(Term{raw})->registered_name = kNonValue;
        MINIVM_EVENT(unregister_name, records::subject(Term{raw}), records::atom(name));
    }
    remove_locked(name);
    return true;
}

void forget(Process& p) {
    Term name = kNonValue;
    {
        std::lock_guard lock(g_mutex);
        name = p.registered_name;
        if (is_value(name)) {
            remove_locked(name);
            p.registered_name = kNonValue;
        }
    }
    // Not under the lock, because a tracer that is a module may look up names.
    if (is_value(name)) {
        probe::procs(p, atoms::unregister, name);
    }
}

Term forget_port(Term port) {
    std::lock_guard lock(g_mutex);
    const Term name = port::registered_name(port);
    if (is_value(name)) {
        remove_locked(name);
        port::clear_registered_name(port);
    }
    return name;
}

Term name_of_port(Term port) {
    std::lock_guard lock(g_mutex);
    return port::registered_name(port);
}

Term name_of(Process& p) {
    std::lock_guard lock(g_mutex);
    return p.registered_name;
}

std::vector<Term> registered() {
    std::lock_guard lock(g_mutex);
    return g_names;
}

}  // namespace minivm::registry
