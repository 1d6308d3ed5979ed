// persistent_term: terms that everybody reads without copying.
//
// Readers take no lock. Writers, one at a time, change the table in place; a larger copy replaces a table that
// grows, which is freed after thread progress. Values are literals, so processes share them; a replaced or
// erased one is freed when no process refers to it any more (vm/process/literal_release.hpp).
//
// An entry belongs to one key as long as its table lives: no other key takes the entry of an erased one. So a
// reader that has found its key reads a value of that key, the present one or one that was there when the
// reader began, and neither key nor value is freed before the reader has made progress.
//     reader: table (acquire), key (acquire), value (acquire)
//     insert: value, then key (release): a reader that sees the key sees the value
//     update: key, an equal one, then value (release, both): any mixture is right
//     erase:  key (release); the value stays for readers that have seen the key
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "vm/bif/system/persistent_term.hpp"
#include "vm/bif/bif.hpp"
#include "vm/process/literal_release.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/compare.hpp"
#include "vm/term/hash.hpp"
#include "vm/term/map.hpp"
#include "vm/util/lock.hpp"

namespace minivm {
namespace {

constexpr Term kErased{kImmCatch};  // no term of a program

struct Entry {
    std::atomic<Term> key{kNonValue};  // the non-value: free
    std::atomic<Term> value{kNonValue};
    LiteralArea* area = nullptr;  // only writers use it
};

struct Table {
    explicit Table(size_t slots) : mask(slots - 1), entries(new Entry[slots]) {}
    const size_t mask;
    size_t used = 0;   // entries that are not free; only writers use it
    size_t count = 0;  // of these, the ones that are not erased
    const std::unique_ptr<Entry[]> entries;

    // The entry of the key; null if there is none.
    Entry* find(Term key) const {
        for (size_t i = internal_hash(key, 0) & mask;; i = (i + 1) & mask) {
            // acquire: pairs with the releases of the key in insert() and in what replaces or erases it.
            const Term k = entries[i].key.load(std::memory_order_acquire);
            if (!is_value(k)) {
                return nullptr;
            }
            if (exact_equal(k, key)) {
                return &entries[i];
            }
        }
    }
    // The table has no such key, and is not full.
    void insert(Term key, Term value, LiteralArea* area) {
        size_t i = internal_hash(key, 0) & mask;
        // relaxed: only writers change it.
        while (is_value(entries[i].key.load(std::memory_order_relaxed))) {
            i = (i + 1) & mask;
        }
        entries[i].area = area;
        // relaxed: the key's release publishes it.
        entries[i].value.store(value, std::memory_order_relaxed);
        entries[i].key.store(key, std::memory_order_release);  // release: with find()
        ++used;
        ++count;
    }
};

std::atomic<Table*> g_table{nullptr};
CountedMutex g_change{LockKind::persistent_terms};  // one change at a time
size_t g_words = 0;

const Table* table() {
    // acquire: the table was complete before it was published. Pairs with publish().
    return g_table.load(std::memory_order_acquire);
}

// A copy with room for as many terms again.
std::unique_ptr<Table> copy_table(const Table* from) {
    const size_t count = from != nullptr ? from->count : 0;
    auto t = std::make_unique<Table>(std::bit_ceil(4 * (count + 1)));
    for (size_t i = 0; from != nullptr && i <= from->mask; ++i) {
        const Entry& e = from->entries[i];
        // relaxed, both: only writers change it.
        const Term key = e.key.load(std::memory_order_relaxed);
        if (is_value(key) && key != kErased) {
            t->insert(key, e.value.load(std::memory_order_relaxed), e.area);
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
    const Entry* e = t != nullptr ? t->find(key) : nullptr;
    // acquire: pairs with the release of put().
    return e != nullptr ? e->value.load(std::memory_order_acquire) : kNonValue;
}

// A reader that begins now does not find the area.
void give_up(LiteralArea* area) {
    g_words -= area->words;
    literal_release::take(std::unique_ptr<LiteralArea>(area));
}

// `only_new`: badarg if the key has another value.
Term put(Process& p, const Term* a, bool only_new) {
    // Comparing and copying may take long: others may change the table meanwhile.
    const Term seen = find(a[0]);
    if (is_value(seen) && exact_equal(seen, a[1])) {
        return atoms::ok;
    }
    if (is_value(seen) && only_new) {
        return badarg(p);
    }
    Term roots[2] = {a[0], a[1]};
    const HeapRange ranges[] = {{p.heap_start, p.heap.top}, {p.old_start, p.old_top}};
    std::unique_ptr<LiteralArea> area = LiteralArea::create_shared(roots, 2, ranges);
    std::lock_guard lock(g_change);
    // relaxed: only writers change it.
    Table* now = g_table.load(std::memory_order_relaxed);
    Entry* const e = now != nullptr ? now->find(a[0]) : nullptr;
    // relaxed: as above. What p has seen is not freed before p yields, so nothing else has its address.
    const Term there = e != nullptr ? e->value.load(std::memory_order_relaxed) : kNonValue;
    if (is_value(there) && there != seen) {
        if (exact_equal(there, a[1])) {
            return atoms::ok;
        }
        if (only_new) {
            return badarg(p);
        }
    }
    g_words += area->words;
    if (e != nullptr) {
        e->key.store(roots[0], std::memory_order_release);    // release: with Table::find()
        e->value.store(roots[1], std::memory_order_release);  // release: with find()
        give_up(std::exchange(e->area, area.release()));
        return atoms::ok;
    }
    if (now == nullptr || 2 * (now->used + 1) > now->mask + 1) {
        std::unique_ptr<Table> larger = copy_table(now);
        now = larger.get();
        publish(std::move(larger));
    }
    now->insert(roots[0], roots[1], area.release());
    return atoms::ok;
}
Term persistent_term_put_2(Process& p, const Term* a) { return put(p, a, false); }
Term persistent_term_put_new_2(Process& p, const Term* a) { return put(p, a, true); }
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
    int64_t count = 0;
    for (size_t i = 0; t != nullptr && i <= t->mask; ++i) {
        // acquire, both: as in find().
        const Term key = t->entries[i].key.load(std::memory_order_acquire);
        if (is_value(key) && key != kErased) {
            const Term value = t->entries[i].value.load(std::memory_order_acquire);
            list = cons(p.heap, make_tuple(p.heap, key, value), list);
            ++count;
        }
    }
    consume(p, count + count / 3);  // as OTP does
    return list;
}
Term persistent_term_erase_1(Process&, const Term* a) {
    std::lock_guard lock(g_change);
    // relaxed: only writers change it.
    Table* const now = g_table.load(std::memory_order_relaxed);
    Entry* const e = now != nullptr ? now->find(a[0]) : nullptr;
    if (e == nullptr) {
        return atoms::false_;
    }
    e->key.store(kErased, std::memory_order_release);  // release: as in put()
    --now->count;
    give_up(std::exchange(e->area, nullptr));
    return atoms::true_;
}
// For init:restart/0.
Term erts_internal_erase_persistent_terms_0(Process&, const Term*) {
    std::lock_guard lock(g_change);
    // relaxed: only writers change it.
    Table* const now = g_table.load(std::memory_order_relaxed);
    for (size_t i = 0; now != nullptr && i <= now->mask; ++i) {
        Entry& e = now->entries[i];
        if (e.area != nullptr) {
            e.key.store(kErased, std::memory_order_release);  // release: as in put()
            --now->count;
            give_up(std::exchange(e.area, nullptr));
        }
    }
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

namespace persistent_term {

void for_each_area(void (*f)(const Term* begin, const Term* end, void* context), void* context) {
    std::lock_guard lock(g_change);
    // relaxed, here and below: only writers change it, and this thread has their lock.
    const Table* const t = g_table.load(std::memory_order_relaxed);
    for (size_t i = 0; t != nullptr && i <= t->mask; ++i) {
        const Entry& e = t->entries[i];
        const Term key = e.key.load(std::memory_order_relaxed);  // relaxed: as above
        if (is_value(key) && key != kErased) {
            f(e.area->start, e.area->start + e.area->words, context);
        }
    }
}

}  // namespace persistent_term

MINIVM_BIF_TABLE(persistent_term) = {
    {"persistent_term", "put", 2, persistent_term_put_2, kBifPlain, nullptr},
    {"persistent_term", "put_new", 2, persistent_term_put_new_2, kBifPlain, nullptr},
    {"persistent_term", "get", 0, persistent_term_get_0, kBifPlain, nullptr},
    {"persistent_term", "get", 1, persistent_term_get_1, kBifPlain, nullptr},
    {"persistent_term", "get", 2, persistent_term_get_2, kBifPlain, nullptr},
    {"persistent_term", "erase", 1, persistent_term_erase_1, kBifPlain, nullptr},
    {"erts_internal", "erase_persistent_terms", 0, erts_internal_erase_persistent_terms_0, kBifPlain, nullptr},
    {"persistent_term", "info", 0, persistent_term_info_0, kBifPlain, nullptr},
};

}  // namespace minivm
