// Walks over a table, one key or slot at a time.
#include "vm/bif/bif.hpp"
#include "vm/bif/ets/ets_support.hpp"
#include "vm/term/compare.hpp"
#include "vm/term/map.hpp"

#include <ctime>

namespace minivm {

using namespace ets;

namespace {

// What a walk returns for the object it finds: the key, or {Key, Objects} (ets:first_lookup/1 and so on).
enum class Tell : uint8_t { key, objects };

Term key_or_end(Process& p, const Table& t, const Object* o, Tell tell) {
    if (o == nullptr) {
        return atoms::end_of_table;
    }
    const Term key = copy_out(p, o->key(t.keypos));
    if (tell == Tell::key) {
        return key;
    }
    const Term objects =
        list_of_key(p, t, o->key(t.keypos), [&](const Object* x) { return copy_out(p, x->tuple()); });
    return make_tuple(p.heap, key, objects);
}

// The first object that is not marked in chain i or a later one; null if i is none.
const Object* first_from(const HashStore& hash, size_t i) {
    for (; i != HashStore::kNoChain; i = hash.next_chain(i)) {
        for (const Object* o = hash.first_in_chain(i); o != nullptr; o = o->link[0]) {
            if (!o->deleted) {
                return o;
            }
        }
    }
    return nullptr;
}

Term end_key(Process& p, const Term* a, bool last, Tell tell) {
    Locked t(p, a[0], Access::read, false);
    if (!t) {
        return bad_table(p, t.failure());
    }
    if (t->stores.hash) {
        return key_or_end(p, *t, first_from(*t->stores.hash, 0), tell);
    }
    return key_or_end(p, *t, last ? t->stores.tree->last() : t->stores.tree->first(), tell);
}

Term ets_first_1(Process& p, const Term* a) {
    return end_key(p, a, false, Tell::key);
}

Term ets_last_1(Process& p, const Term* a) {
    return end_key(p, a, true, Tell::key);
}

Term ets_first_lookup_1(Process& p, const Term* a) {
    return end_key(p, a, false, Tell::objects);
}

Term ets_last_lookup_1(Process& p, const Term* a) {
    return end_key(p, a, true, Tell::objects);
}

Term neighbour_key(Process& p, const Term* a, bool back, Tell tell) {
    Locked t(p, a[0], Access::read, false);
    if (!t) {
        return bad_table(p, t.failure());
    }
    if (t->stores.tree) {
        if (a[1] == atoms::end_of_table) {
            return stdlib_badarg(p);  // OTP takes this for no key, even if the table has it
        }
        const TreeStore& tree = *t->stores.tree;
        return key_or_end(p, *t, back ? tree.previous(a[1]) : tree.next(a[1]), tell);
    }
    const HashStore& hash = *t->stores.hash;
    const Object* o = hash.find_any(a[1]);
    if (o == nullptr) {
        return stdlib_badarg(p);
    }
    const uint32_t value = o->hash;
    while (o != nullptr &&
           ((o->hash == value && exact_equal(o->key(t->keypos), a[1])) || o->deleted)) {
        o = o->link[0];
    }
    return key_or_end(p, *t, o != nullptr ? o : first_from(hash, hash.next_chain(hash.chain_of(value))), tell);
}

Term ets_next_2(Process& p, const Term* a) {
    return neighbour_key(p, a, false, Tell::key);
}

Term ets_prev_2(Process& p, const Term* a) {
    return neighbour_key(p, a, true, Tell::key);
}

Term ets_next_lookup_2(Process& p, const Term* a) {
    return neighbour_key(p, a, false, Tell::objects);
}

Term ets_prev_lookup_2(Process& p, const Term* a) {
    return neighbour_key(p, a, true, Tell::objects);
}

// As ets:first/1 and next/2, for OTP's own code: erl_erts_errors explains the errors.
Term of_erts(Process& p, Term result) {
    if (!is_value(result) && is_value(p.exception.error_info)) {
        p.exception.error_info = map::put(p.heap, p.exception.error_info, atoms::module, atoms::erl_erts_errors);
    }
    return result;
}
Term erts_internal_ets_raw_first_1(Process& p, const Term* a) {
    return of_erts(p, ets_first_1(p, a));
}
Term erts_internal_ets_raw_next_2(Process& p, const Term* a) {
    return of_erts(p, ets_next_2(p, a));
}

Term ets_slot_2(Process& p, const Term* a) {
    Locked t(p, a[0], Access::read, false);
    if (!t) {
        return bad_table(p, t.failure());
    }
    if (!is_small(a[1]) || small_value(a[1]) < 0) {
        return stdlib_badarg(p);
    }
    const size_t n = static_cast<size_t>(small_value(a[1]));
    const size_t slots = t->stores.hash ? t->stores.hash->chains() : t->stores.tree->size();
    if (n >= slots) {
        return n == slots ? atoms::end_of_table : stdlib_badarg(p);
    }
    Term list = kNil;
    if (t->stores.tree) {
        return cons(p.heap, copy_out(p, t->stores.tree->nth(n)->tuple()), list);
    }
    for (const Object* o = t->stores.hash->first_in_chain(n); o != nullptr; o = o->link[0]) {
        if (!o->deleted) {
            list = cons(p.heap, copy_out(p, o->tuple()), list);
        }
    }
    return list;
}

}  // namespace

MINIVM_BIF_TABLE(ets_iterate) = {
    {"ets", "first_lookup", 1, ets_first_lookup_1, kBifPlain, nullptr},
    {"ets", "last_lookup", 1, ets_last_lookup_1, kBifPlain, nullptr},
    {"ets", "next_lookup", 2, ets_next_lookup_2, kBifPlain, nullptr},
    {"ets", "prev_lookup", 2, ets_prev_lookup_2, kBifPlain, nullptr},
    {"ets", "first", 1, ets_first_1, kBifPlain, nullptr},
    {"ets", "last", 1, ets_last_1, kBifPlain, nullptr},
    {"ets", "next", 2, ets_next_2, kBifPlain, nullptr},
    {"ets", "prev", 2, ets_prev_2, kBifPlain, nullptr},
    {"erts_internal", "ets_raw_first", 1, erts_internal_ets_raw_first_1, kBifPlain, nullptr},
    {"erts_internal", "ets_raw_next", 2, erts_internal_ets_raw_next_2, kBifPlain, nullptr},
    {"ets", "slot", 2, ets_slot_2, kBifPlain, nullptr},
};

}  // namespace minivm
