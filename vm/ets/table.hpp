// Tables: names, owners, access rights; and the registry of all tables.
//
// A tid is a magic reference to the Table, so one that is in use never dangles; a deleted table
// stays behind as an empty shell. find_name() reads one word per atom, without a lock: the table it
// finds is good until the next quiescent point, because the registry releases its own reference
// after thread progress only.
//
// Locks: Table::lock guards the members below it. A thread holds it for one short operation or a slice
// of a long one (a fun's references: for the whole table); no Erlang code runs inside. The registry's
// lock (names, owners, fixations) is taken inside a table's lock or alone, never the other way round.
//
// Invariants
//   (1) A table that is not deleted is in the registry, and its owner has not passed its exit hook.
//   (2) Deleted tables have no stores; nobody finds them by name.
#pragma once

#include "vm/ets/hash_store.hpp"
#include "vm/ets/tree_store.hpp"
#include "vm/process/process.hpp"

#include <atomic>
#include <memory>
#include <shared_mutex>
#include <vector>

namespace minivm::ets {

enum class Protection : uint8_t { public_, protected_, private_ };

struct Options {
    Type type = Type::set;
    Protection protection = Protection::protected_;
    bool named = false;
    bool compressed = false;
    bool read_concurrency = false;
    bool decentralized_counters = false;
    Term write_concurrency = kNonValue;  // true, false, auto, or a number of locks
    size_t keypos = 1;
    Term heir = kNonValue;  // a local pid, or the non-value: none
    Term heir_data = kNonValue;
};

// The objects, apart from the table so that they can be freed in slices after it is gone.
struct Stores {
    std::unique_ptr<HashStore> hash;  // one of the two
    std::unique_ptr<TreeStore> tree;
    bool free_some(size_t n) {
        return hash ? hash->free_some(n) : tree != nullptr && tree->free_some(n);
    }
};

struct Table final : MagicObject {
    Table(const Options& o, Term name, RefId id);
    ~Table() override;

    const RefId id;
    const Type type;
    const size_t keypos;
    const bool compressed;
    const bool read_concurrency;
    const bool decentralized_counters;
    const Term write_concurrency;

    std::shared_mutex lock;
    // -- guarded by `lock`
    bool deleted = false;
    bool named;
    Term name;
    Term owner = kNonValue;  // a local pid
    Protection protection;
    Term heir;
    Object* heir_data = nullptr;  // {Data}
    Stores stores;
    struct Fixation {
        Term pid;
        size_t count;
    };
    std::vector<Fixation> fixations;  // by safe_fixtable/2; the latest first
    int64_t fixed_since = 0;          // Erlang monotonic time of the first of them
    bool is_ordered() const { return type == Type::ordered_set; }
    Stores make_stores() const;
    size_t size() const { return stores.hash ? stores.hash->size() : stores.tree->size(); }
};

// What the caller is going to do. A private table lets only its owner do more than ask.
enum class Access : uint8_t { ask, read, write };
enum class Failure : uint8_t { none, type, id, access };

// Holds a table's lock: shared, or exclusive for writers.
class Locked {
public:
    Locked(Process& p, Term tab, Access access, bool exclusive) { open(p, tab, access, exclusive); }
    // For a table that the caller has found already; fails with `id` if it has been deleted.
    Locked(Process& p, Table& table, Access access, bool exclusive) {
        enter(p, &table, access, exclusive);
    }
    ~Locked() { release(); }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;

    Table* operator->() const { return table_; }
    Table& operator*() const { return *table_; }
    explicit operator bool() const { return failure_ == Failure::none; }
    Failure failure() const { return failure_; }
    void release();

private:
    void open(Process& p, Term tab, Access access, bool exclusive);
    void enter(Process& p, Table* t, Access access, bool exclusive);

    Table* table_ = nullptr;
    bool exclusive_ = false;
    Failure failure_ = Failure::none;
};

// Null: the name is taken. The caller gets no reference: the registry's lasts while p runs on.
Table* create(Process& p, const Options& o, Term name);
// Takes the table out of the registry; its stores are the caller's to free. Exclusively locked.
Stores destroy(Table& t);
// False: the name is taken. Exclusively locked.
bool rename(Table& t, Term name);
// Makes `pid` the owner, if it lives. Exclusively locked.
bool give_away(Table& t, Term pid);
// {'ETS-TRANSFER', Tab, From, Data} to the owner.
void send_transfer(Table& t, Term from, Term data);
void set_heir(Table& t, Term heir, Term data);
// safe_fixtable/2. Exclusively locked.
void fix(Process& p, Table& t);
void unfix(Process& p, Table& t);

// The table of that name right now, or null; good until the next quiescent point.
Table* find_name(Term name);
// A reference to each, in no particular order; the caller releases them.
std::vector<Table*> all();
size_t count();

// Words of memory that the table takes. The caller holds its lock, shared or exclusive.
size_t memory_words(const Table& t);
// Words that all tables take. The caller holds no table's lock.
size_t memory_words(Process& p);

// The table's identifier as the user sees it: name or reference.
Term tid(Heap& h, Table& t);
Term reference(Heap& h, Table& t);

}  // namespace minivm::ets
