// persistent_term: terms that everybody reads without copying.
//
// The table is immutable: a change makes a new one and publishes it by one store; readers that hold the
// old one are waited for by thread progress before it is freed. Values are literals, so processes share
// them. The area of a value that was replaced or erased stays, because heaps may refer to it
// (docs/differences_with_beam.md).
#include <atomic>
#include <memory>
#include <mutex>

#include "vm/bif/bif.hpp"
#include "vm/process/literal_release.hpp"
#include "vm/sched/thread_progress.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/compare.hpp"
#include "vm/term/hash.hpp"
#include "vm/term/map.hpp"
#include "vm/util/lock.hpp"

namespace minivm {
namespace {

struct Entry {
    Term key = kNonValue;
    Term value = kNonValue;
    LiteralArea* area = nullptr;
};

struct Table {
    explicit Table(size_t slots) : mask(slots - 1), entries(new Entry[slots]) {}
    size_t mask;
    size_t count = 0;
    std::unique_ptr<Entry[]> entries;

    // The slot of key, or the free slot where it would go.
    Entry& slot(Term key) const {
        for (size_t i = internal_hash(key, 0) & mask;; i = (i + 1) & mask) {
            Entry& e = entries[i];
            if (!is_value(e.key) || exact_equal(e.key, key)) {
                return e;
            }
        }
    }
};

std::atomic<Table*> g_table{nullptr};
CountedMutex g_change{LockKind::persistent_terms};  // one change at a time
size_t g_words = 0;

const Table* table() {
    // acquire: the table was complete before it was published. Pairs with publish().
    return g_table.load(std::memory_order_acquire);
}

// A copy of `from` without `without` (may be the non-value), with room for one more.
std::unique_ptr<Table> copy_table(const Table* from, Term without) {
    const size_t count = from != nullptr ? from->count : 0;
    auto t = std::make_unique<Table>(std::bit_ceil(2 * (count + 2)));
    if (from != nullptr) {
        for (size_t i = 0; i <= from->mask; ++i) {
            const Entry& e = from->entries[i];
            if (is_value(e.key) && !(is_value(without) && exact_equal(e.key, without))) {
                t->slot(e.key) = e;
                ++t->count;
            }
        }
    }
    return t;
}

void publish(std::unique_ptr<Table> t) {
    // acq_rel: publishes the new table's contents. Pairs with table().
    Table* old = g_table.exchange(t.release(), std::memory_order_acq_rel);
    if (old != nullptr) {
        thread_progress::later([](void* data) { delete static_cast<Table*>(data); }, old);
    }
}

Term find(Term key) {
    const Table* t = table();
    return t != nullptr ? t->slot(key).value : kNonValue;
}

// The entry is in no table any more that somebody could begin to read.
void give_up(LiteralArea* area) {
    g_words -= area->words;
    literal_release::take(std::unique_ptr<LiteralArea>(area));
}

Term persistent_term_put_2(Process&, const Term* a) {
    std::lock_guard lock(g_change);
    const Table* now = table();
    LiteralArea* before = nullptr;
    if (now != nullptr) {
        const Entry& e = now->slot(a[0]);
        if (is_value(e.key) && exact_equal(e.value, a[1])) {
            return atoms::ok;
        }
        before = e.area;
    }
    Term roots[2] = {a[0], a[1]};
    std::unique_ptr<LiteralArea> area = LiteralArea::create(roots, 2);
    std::unique_ptr<Table> t = copy_table(now, a[0]);
    g_words += area->words;
    t->slot(roots[0]) = {roots[0], roots[1], area.release()};
    ++t->count;
    publish(std::move(t));
    if (before != nullptr) {
        give_up(before);
    }
    return atoms::ok;
}
Term persistent_term_get_1(Process& p, const Term* a) {
    const Term value = find(a[0]);
    return is_value(value) ? value : badarg(p);
}
Term persistent_term_get_2(Process&, const Term* a) {
    const Term value = find(a[0]);
    return is_value(value) ? value : a[1];
}
Term persistent_term_get_0(Process& p, const Term*) {
    const Table* t = table();
    Term list = kNil;
    if (t != nullptr) {
        for (size_t i = 0; i <= t->mask; ++i) {
            const Entry& e = t->entries[i];
            if (is_value(e.key)) {
                list = cons(p.heap, make_tuple(p.heap, e.key, e.value), list);
            }
        }
    }
    return list;
}
Term persistent_term_erase_1(Process&, const Term* a) {
    std::lock_guard lock(g_change);
    const Table* now = table();
    if (now == nullptr || !is_value(now->slot(a[0]).key)) {
        return atoms::false_;
    }
    LiteralArea* before = now->slot(a[0]).area;
    publish(copy_table(now, a[0]));
    give_up(before);
    return atoms::true_;
}
Term persistent_term_info_0(Process& p, const Term*) {
    std::lock_guard lock(g_change);
    const Table* t = table();
    Term keys[2] = {atom_table::intern("count"), atoms::memory};
    Term values[2] = {make_small(t != nullptr ? static_cast<int64_t>(t->count) : 0),
                      make_small(static_cast<int64_t>(g_words * sizeof(Word)))};
    return map::from_pairs(p.heap, keys, values, 2);
}

}  // namespace

MINIVM_BIF_TABLE(persistent_term) = {
    {"persistent_term", "put", 2, persistent_term_put_2, kBifPlain, nullptr},
    {"persistent_term", "get", 0, persistent_term_get_0, kBifPlain, nullptr},
    {"persistent_term", "get", 1, persistent_term_get_1, kBifPlain, nullptr},
    {"persistent_term", "get", 2, persistent_term_get_2, kBifPlain, nullptr},
    {"persistent_term", "erase", 1, persistent_term_erase_1, kBifPlain, nullptr},
    {"persistent_term", "info", 0, persistent_term_info_0, kBifPlain, nullptr},
};

}  // namespace minivm
