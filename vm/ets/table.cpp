#include "vm/ets/table.hpp"

#include "vm/instr/bif_def.hpp"
#include "vm/process/process_life.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/signal.hpp"
#include "vm/process/state.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/sched/services.hpp"
#include "vm/term/arguments.hpp"
#include "vm/term/local_atoms.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <mutex>
#include <typeinfo>
#include <unordered_map>

namespace minivm::ets {

namespace {

LOCAL_ATOM(ets_transfer, "ETS-TRANSFER")

size_t names_bytes() { return atom_table::limit() * sizeof(std::atomic<Table*>); }
// Objects freed at a time when a process has ended.
constexpr size_t kFreeSlice = 10000;

struct RefHash {
    size_t operator()(RefId id) const {
        return static_cast<size_t>((id.low ^ id.high) * 0x9E3779B97F4A7C15u);
    }
};

// The tables that one process owns or has fixed.
struct Holdings {
    std::vector<Table*> owned;
    std::vector<Table*> fixed;  // a reference each
};

// By atom index. Mapped: pages that are never used cost nothing.
std::atomic<Table*>* g_names = nullptr;

std::mutex g_mutex;  // guards the following, and writing g_names
std::unordered_map<RefId, Table*, RefHash> g_tables;
std::unordered_map<uint64_t, Holdings> g_holdings;  // by the raw word of the pid
// Entries of g_holdings for all pids that share a place, so that a process that has never seen a
// table need not take the lock when it ends.
constexpr size_t kPlaces = 1024;
std::atomic<uint32_t> g_holders[kPlaces];
std::atomic<uint32_t>& holders(Term pid) {
    return g_holders[imm_data(pid) % kPlaces];
}

std::atomic<Table*>& name_place(Term name) {
    return g_names[atom_index(name)];
}

Holdings& holdings_of(Term pid) {
    const auto [it, fresh] = g_holdings.try_emplace(pid.raw);
    if (fresh) {
        // seq_cst: see on_process_exit().
        holders(pid).fetch_add(1, std::memory_order_seq_cst);
    }
    return it->second;
}
void drop_if_empty(Term pid) {
    const auto it = g_holdings.find(pid.raw);
    if (it != g_holdings.end() && it->second.owned.empty() && it->second.fixed.empty()) {
        g_holdings.erase(it);
        // relaxed: a count that is one too large only costs a lookup.
        holders(pid).fetch_sub(1, std::memory_order_relaxed);
    }
}
bool remove_from(std::vector<Table*>& list, Table* t) {
    const auto it = std::find(list.begin(), list.end(), t);
    if (it == list.end()) {
        return false;
    }
    *it = list.back();
    list.pop_back();
    return true;
}

void release_table(void* data) {
    static_cast<Table*>(data)->release();
}

// Frees the stores of tables whose owner has ended, a slice at each quiescent point.
void free_stores(void* data) {
    std::unique_ptr<Stores> stores(static_cast<Stores*>(data));
    if (stores->free_some(kFreeSlice)) {
        thread_progress::later(free_stores, stores.release());
    }
}

void free_later(Stores stores) {
    free_stores(new Stores(std::move(stores)));
}

void owner_has_ended(Process& p, Table* t) {
    Locked table(p, *t, Access::ask, true);
    if (!table || t->owner != p.id) {
        return;
    }
    if (is_value(t->heir) && t->heir != p.id && give_away(*t, t->heir)) {
        if (t->heir_data != nullptr) {
            send_transfer(*t, p.id, tuple_element(t->heir_data->tuple(), 0));
        }
        return;
    }
    Stores stores = destroy(*t);
    table.release();
    free_later(std::move(stores));
}

void on_process_exit(Process& p) {
    // seq_cst: end_process() has set kExiting before this load. give_away() adds to the count first
    // and loads kExiting then, both under the lock; so either we see the count, or it sees kExiting.
    if (holders(p.id).load(std::memory_order_seq_cst) == 0) {
        return;
    }
    Holdings holdings;
    {
        std::lock_guard lock(g_mutex);
        const auto it = g_holdings.find(p.id.raw);
        if (it == g_holdings.end()) {
            return;
        }
        holdings = it->second;
        for (Table* t : holdings.owned) {
            t->retain();
        }
    }
    for (Table* t : holdings.fixed) {
        Locked table(p, *t, Access::ask, true);
        if (table) {
            const auto it = std::find_if(t->fixations.begin(), t->fixations.end(),
                                         [&](const auto& f) { return f.pid == p.id; });
            if (it != t->fixations.end()) {
                it->count = 1;
                unfix(p, *t);
            }
        }
    }
    for (Table* t : holdings.owned) {
        owner_has_ended(p, t);
        t->release();
    }
    std::lock_guard lock(g_mutex);
    const auto it = g_holdings.find(p.id.raw);
    if (it != g_holdings.end()) {
        for (Table* t : it->second.fixed) {
            t->release();
        }
        it->second.fixed.clear();
        drop_if_empty(p.id);
    }
}

}  // namespace

// ---- tables -------------------------------------------------------------------------------------

Table::Table(const Options& o, Term table_name, RefId table_id)
    : id(table_id),
      type(o.type),
      keypos(o.keypos),
      compressed(o.compressed),
      read_concurrency(o.read_concurrency),
      decentralized_counters(o.decentralized_counters),
      write_concurrency(o.write_concurrency),
      named(o.named),
      name(table_name),
      protection(o.protection),
      heir(kNonValue) {
    set_heir(*this, o.heir, o.heir_data);
    stores = make_stores();
}

Table::~Table() {
    if (heir_data != nullptr) {
        object_free(heir_data);
    }
}

// How many locks OTP's hash table would have.
static size_t locks_of_otp(Term write_concurrency) {
    constexpr size_t kLocks = 64;
    return is_small(write_concurrency)                 ? static_cast<size_t>(small_value(write_concurrency))
           : write_concurrency == atoms::true_ || write_concurrency == atoms::auto_ ? kLocks
                                                                                    : 1;
}

Stores Table::make_stores() const {
    Stores s;
    if (is_ordered()) {
        s.tree = std::make_unique<TreeStore>(keypos);
    } else {
        s.hash = std::make_unique<HashStore>(type, keypos, locks_of_otp(write_concurrency));
    }
    return s;
}

void Locked::open(Process& p, Term tab, Access access, bool exclusive) {
    Table* t = nullptr;
    if (is_atom(tab)) {
        t = find_name(tab);
        failure_ = Failure::id;
    } else if (is_magic_ref(tab)) {
        MagicObject* object = magic_object(tab);
        t = typeid(*object) == typeid(Table) ? static_cast<Table*>(object) : nullptr;
        failure_ = Failure::type;
    } else if (is_local_ref(tab)) {
        // A reference that was in the external format: the number only.
        std::lock_guard lock(g_mutex);
        const auto it = g_tables.find(ref_id(tab));
        t = it == g_tables.end() ? nullptr : it->second;
        failure_ = Failure::type;
    } else {
        failure_ = Failure::type;
    }
    if (t == nullptr) {
        return;
    }
    failure_ = Failure::none;
    enter(p, t, access, exclusive);
    if (failure_ == Failure::none && is_atom(tab) && (!t->named || t->name != tab)) {
        // Renamed since find_name().
        release();
        failure_ = Failure::id;
    }
}

void Locked::enter(Process& p, Table* t, Access access, bool exclusive) {
    exclusive_ = exclusive;
    if (exclusive) {
        t->lock.lock();
    } else {
        t->lock.lock_shared();
    }
    table_ = t;
    if (t->deleted) {
        failure_ = Failure::id;
    } else if (access != Access::ask && t->owner != p.id && !(p.extra != nullptr && p.extra->ets_super_user) &&
               (t->protection == Protection::private_ ||
                (t->protection == Protection::protected_ && access == Access::write))) {
        failure_ = Failure::access;
    }
    if (failure_ != Failure::none) {
        release();
    }
}

void Locked::release() {
    if (table_ == nullptr) {
        return;
    }
    if (exclusive_) {
        table_->lock.unlock();
    } else {
        table_->lock.unlock_shared();
    }
    table_ = nullptr;
}

void init() {
    void* memory = mmap(nullptr, names_bytes(), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    MINIVM_CHECK(memory != MAP_FAILED);
    g_names = static_cast<std::atomic<Table*>*>(memory);
    static bool hooked = false;
    if (!hooked) {
        at_process_exit(on_process_exit);
        hooked = true;
    }
}

void destroy_all() {
    for (const auto& [pid, holdings] : g_holdings) {
        for (Table* t : holdings.fixed) {
            t->release();
        }
    }
    g_holdings.clear();
    for (auto& n : g_holders) {
        // relaxed: no other thread runs any more.
        n.store(0, std::memory_order_relaxed);
    }
    // Objects may hold references to tables: frees the objects first, then the tables.
    for (const auto& [id, t] : g_tables) {
        t->stores = Stores();
    }
    for (const auto& [id, t] : g_tables) {
        t->release();
    }
    g_tables.clear();
    munmap(static_cast<void*>(g_names), names_bytes());
    g_names = nullptr;
}

Table* create(Process& p, const Options& o, Term name) {
    Table* t = new Table(o, name, new_ref_id(p));
    t->owner = p.id;
    std::lock_guard lock(g_mutex);
    if (o.named) {
        // relaxed: written under the lock.
        if (name_place(name).load(std::memory_order_relaxed) != nullptr) {
            t->release();
            return nullptr;
        }
        // release: a thread that finds the table sees it complete. Pairs with find_name().
        name_place(name).store(t, std::memory_order_release);
    }
    g_tables.emplace(t->id, t);
    holdings_of(p.id).owned.push_back(t);
    return t;
}

Stores destroy(Table& t) {
    t.deleted = true;
    {
        std::lock_guard lock(g_mutex);
        for (const Table::Fixation& f : t.fixations) {
            if (remove_from(holdings_of(f.pid).fixed, &t)) {
                thread_progress::later(release_table, &t);
            }
            drop_if_empty(f.pid);
        }
        t.fixations.clear();
        if (t.named) {
            // relaxed: a thread that still finds the table sees `deleted` under its lock.
            name_place(t.name).store(nullptr, std::memory_order_relaxed);
        }
        g_tables.erase(t.id);
        const auto it = g_holdings.find(t.owner.raw);
        if (it != g_holdings.end()) {
            remove_from(it->second.owned, &t);
            drop_if_empty(t.owner);
        }
    }
    // Other threads may have found the table by name and not retained it.
    thread_progress::later(release_table, &t);
    return std::move(t.stores);
}

bool rename(Table& t, Term name) {
    std::lock_guard lock(g_mutex);
    if (t.named) {
        // relaxed: written under the lock.
        if (name_place(name).load(std::memory_order_relaxed) != nullptr) {
            return false;
        }
        // relaxed: a thread that still finds the table by this name compares it under the table's lock.
        name_place(t.name).store(nullptr, std::memory_order_relaxed);
        // release: as in create().
        name_place(name).store(&t, std::memory_order_release);
    }
    t.name = name;
    return true;
}

bool give_away(Table& t, Term pid) {
    std::lock_guard lock(g_mutex);
    // Adds to the count before it loads kExiting: see on_process_exit().
    Holdings& to = holdings_of(pid);
    const Process* p = process_table::lookup(pid);
    // seq_cst: see on_process_exit().
    if (p == nullptr || (p->state.load(std::memory_order_seq_cst) & process_state::kExiting) != 0) {
        drop_if_empty(pid);
        return false;
    }
    to.owned.push_back(&t);
    const auto it = g_holdings.find(t.owner.raw);
    if (it != g_holdings.end()) {
        remove_from(it->second.owned, &t);
        drop_if_empty(t.owner);
    }
    t.owner = pid;
    return true;
}

void send_transfer(Table& t, Term from, Term data) {
    Heap scratch;
    const Term message = make_tuple(scratch, ets_transfer(), tid(scratch, t), from, data);
    send_message_to_pid(t.owner, message);
}

void set_heir(Table& t, Term heir, Term data) {
    if (t.heir_data != nullptr) {
        object_free(t.heir_data);
        t.heir_data = nullptr;
    }
    if (is_value(heir) && process_table::lookup(heir) == nullptr) {
        heir = kNonValue;  // it has ended
    }
    t.heir = heir;
    if (is_value(heir) && is_value(data)) {
        Term tuple[2];
        t.heir_data = object_new(put_tuple(tuple, data));
    }
}

void fix(Process& p, Table& t) {
    if (t.fixations.empty()) {
        static const BifDef* clock =
            bif_registry::find(atoms::erlang, atom_table::intern("monotonic_time"), 0);
        get_int64(clock->fn(p, nullptr), &t.fixed_since);
        if (t.stores.hash) {
            t.stores.hash->fix();
        }
    }
    for (Table::Fixation& f : t.fixations) {
        if (f.pid == p.id) {
            f.count++;
            return;
        }
    }
    t.fixations.insert(t.fixations.begin(), {p.id, 1});
    t.retain();
    std::lock_guard lock(g_mutex);
    holdings_of(p.id).fixed.push_back(&t);
}

void unfix(Process& p, Table& t) {
    for (auto it = t.fixations.begin(); it != t.fixations.end(); ++it) {
        if (it->pid != p.id) {
            continue;
        }
        if (--it->count != 0) {
            return;
        }
        t.fixations.erase(it);
        if (t.fixations.empty() && t.stores.hash) {
            t.stores.hash->unfix();
        }
        std::lock_guard lock(g_mutex);
        if (remove_from(holdings_of(p.id).fixed, &t)) {
            // Not the last reference: the registry has one, since the table is not deleted.
            thread_progress::later(release_table, &t);
        }
        drop_if_empty(p.id);
        return;
    }
}

Table* find_name(Term name) {
    // acquire: pairs with create().
    return name_place(name).load(std::memory_order_acquire);
}

size_t count() {
    std::lock_guard lock(g_mutex);
    return g_tables.size();
}

std::vector<Table*> all() {
    std::vector<Table*> tables;
    std::lock_guard lock(g_mutex);
    tables.reserve(g_tables.size());
    for (const auto& [id, t] : g_tables) {
        t->retain();
        tables.push_back(t);
    }
    return tables;
}

size_t memory_words(const Table& t) {
    constexpr size_t kTableWords = (sizeof(Table) + sizeof(HashStore)) / sizeof(Term);
    return kTableWords + (t.stores.hash ? t.stores.hash->words() : t.stores.tree->words());
}

size_t memory_words(Process& p) {
    size_t words = 0;
    for (Table* t : all()) {
        if (const Locked locked(p, *t, Access::ask, false); locked) {
            words += memory_words(*locked);
        }
        t->release();
    }
    return words;
}

Term reference(Heap& h, Table& t) {
    t.retain();
    return make_magic_ref(h, t.id, &t);
}
Term tid(Heap& h, Table& t) {
    return t.named ? t.name : reference(h, t);
}

}  // namespace minivm::ets
