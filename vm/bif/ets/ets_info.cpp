// ets:info/1,2 and what else OTP's code asks of tables.
#include "vm/bif/bif.hpp"
#include "vm/bif/ets/ets_support.hpp"
#include "vm/process/continuation.hpp"
#include "vm/process/signal.hpp"
#include "vm/term/bignum.hpp"
#include "vm/term/map.hpp"

#include <algorithm>
#include <ctime>

namespace minivm {

using namespace ets;

namespace {

Term type_atom(Type t) {
    switch (t) {
        case Type::set:
            return atoms::set;
        case Type::ordered_set:
            return atoms::ordered_set;
        case Type::bag:
            return atoms::bag;
        case Type::duplicate_bag:
            break;
    }
    return atoms::duplicate_bag;
}

Term protection_value(Protection x) {
    return x == Protection::public_      ? atoms::public_
           : x == Protection::protected_ ? atoms::protected_
                                         : atoms::private_;
}

Term safe_fixed(Process& p, const Table& t, bool monotonic) {
    if (t.fixations.empty()) {
        return atoms::false_;
    }
    Term list = kNil;
    for (size_t i = t.fixations.size(); i-- > 0;) {
        list = cons(p.heap,
                    make_tuple(p.heap, t.fixations[i].pid,
                               make_small(static_cast<int64_t>(t.fixations[i].count))),
                    list);
    }
    if (monotonic) {
        return make_tuple(p.heap, make_integer(p.heap, t.fixed_since), list);
    }
    static const BifDef* offset =
        bif_registry::find(atoms::erlang, atom_table::intern("time_offset"), 0);
    int64_t offset_ns = 0;
    get_int64(offset->fn(p, nullptr), &offset_ns);
    const int64_t us = (t.fixed_since + offset_ns) / 1000;
    const Term when = make_tuple(p.heap, make_small(us / 1000000000000),
                                 make_small(us / 1000000 % 1000000), make_small(us % 1000000));
    return make_tuple(p.heap, when, list);
}

constexpr int64_t kSeenPerReduction = 16;

// [{Address, Bytes, References}] of the reference-counted binaries in the table.
void add_binaries_of(Process& p, const Object* o, Term* list) {
    for (Term* x = o->off_heap; x != nullptr; x = *off_heap_next(x)) {
        if (header_kind(x->raw) == Kind::bin_ref) {
            const auto* b = reinterpret_cast<const RefBinary*>(x[1].raw);
            // relaxed: a figure.
            const size_t refs = b->refs.load(std::memory_order_relaxed);
            *list = cons(p.heap,
                         make_tuple(p.heap, make_unsigned(p.heap, x[1].raw),
                                    make_unsigned(p.heap, b->size_bytes), make_unsigned(p.heap, refs)),
                         *list);
        }
    }
}
Term binaries_of(Process& p, const Table& t) {
    Term list = kNil;
    const auto add = [&](const Object* o) { add_binaries_of(p, o, &list); };
    const size_t seen = t.stores.tree ? t.stores.tree->size() : t.stores.hash->chains() + t.stores.hash->size();
    consume(p, static_cast<int64_t>(seen) / kSeenPerReduction);
    if (t.stores.tree) {
        for (size_t i = 0; i < t.stores.tree->size(); i++) {
            add(t.stores.tree->nth(i));
        }
        return list;
    }
    for (size_t i = 0; i < t.stores.hash->chains(); i++) {
        for (const Object* o = t.stores.hash->first_in_chain(i); o != nullptr; o = o->link[0]) {
            add(o);  // also an object that is marked as deleted: it still holds its binaries
        }
    }
    return list;
}

// Length of the chains: {chains, average, deviation, expected deviation, shortest, longest, objects
// marked as deleted, locks}.
Term chain_statistics(Process& p, const Table& t) {
    if (t.stores.tree) {
        return atoms::false_;
    }
    const HashStore& hash = *t.stores.hash;
    const double chains = static_cast<double>(hash.chains());
    double squares = 0;
    size_t shortest = ~size_t{0};
    size_t longest = 0;
    for (size_t i = 0; i < hash.chains(); i++) {
        size_t n = 0;
        for (const Object* o = hash.first_in_chain(i); o != nullptr; o = o->link[0]) {
            n++;
        }
        squares += static_cast<double>(n) * static_cast<double>(n);
        shortest = std::min(shortest, n);
        longest = std::max(longest, n);
    }
    const double items = static_cast<double>(hash.size() + hash.kept());
    const double average = items / chains;
    const double deviation = __builtin_sqrt((squares - average * items) / chains);
    const double expected = __builtin_sqrt(average * (1 - 1 / chains));
    return make_tuple(p.heap, make_small(static_cast<int64_t>(hash.chains())),
                      make_float(p.heap, average), make_float(p.heap, deviation),
                      make_float(p.heap, expected), make_small(static_cast<int64_t>(shortest)),
                      make_small(static_cast<int64_t>(longest)),
                      make_small(static_cast<int64_t>(hash.kept())), make_small(1));
}

// The items of info/1, in OTP's order.
Term info_item(Process& p, Table& t, Term item) {
    if (item == atoms::id) {
        return reference(p.heap, t);
    }
    if (item == atoms::decentralized_counters) {
        return make_bool(t.decentralized_counters);
    }
    if (item == atoms::read_concurrency) {
        return make_bool(t.read_concurrency);
    }
    if (item == atoms::write_concurrency) {
        return is_small(t.write_concurrency) ? make_tuple(p.heap, atoms::debug_hash_fixed_number_of_locks, t.write_concurrency)
                                             : t.write_concurrency;
    }
    if (item == atoms::compressed) {
        return make_bool(t.compressed);
    }
    if (item == atoms::memory) {
        return make_unsigned(p.heap, memory_words(t));
    }
    if (item == atoms::owner) {
        return t.owner;
    }
    if (item == atoms::heir) {
        return is_value(t.heir) ? t.heir : atoms::none;
    }
    if (item == atoms::name) {
        return t.name;
    }
    if (item == atoms::size) {
        return make_unsigned(p.heap, t.size());
    }
    if (item == atoms::node) {
        return bif_registry::find(atoms::erlang, atoms::node, 0)->fn(p, nullptr);
    }
    if (item == atoms::named_table) {
        return make_bool(t.named);
    }
    if (item == atoms::type) {
        return type_atom(t.type);
    }
    if (item == atoms::keypos) {
        return make_small(static_cast<int64_t>(t.keypos));
    }
    if (item == atoms::protection) {
        return protection_value(t.protection);
    }
    return kNonValue;
}

Term ets_info_1(Process& p, const Term* a) {
    Locked t(p, a[0], Access::ask, false);
    if (!t) {
        return t.failure() == Failure::id ? atoms::undefined : bad_table(p, t.failure());
    }
    const Term items[] = {atoms::id,
                          atoms::decentralized_counters,
                          atoms::read_concurrency,
                          atoms::write_concurrency,
                          atoms::compressed,
                          atoms::memory,
                          atoms::owner,
                          atoms::heir,
                          atoms::name,
                          atoms::size,
                          atoms::node,
                          atoms::named_table,
                          atoms::type,
                          atoms::keypos,
                          atoms::protection};
    Term list = kNil;
    for (size_t i = std::size(items); i-- > 0;) {
        list = cons(p.heap, make_tuple(p.heap, items[i], info_item(p, *t, items[i])), list);
    }
    return list;
}

Term ets_info_2(Process& p, const Term* a) {
    static const Term fixed = atom_table::intern("fixed");
    static const Term safe = atom_table::intern("safe_fixed");
    static const Term monotonic = atom_table::intern("safe_fixed_monotonic_time");
    static const Term stats = atom_table::intern("stats");
    Locked t(p, a[0], Access::ask, false);
    if (!t) {
        return t.failure() == Failure::id ? atoms::undefined : bad_table(p, t.failure());
    }
    Term value = info_item(p, *t, a[1]);
    if (a[1] == fixed) {
        value = make_bool(!t->fixations.empty());
    } else if (a[1] == safe || a[1] == monotonic) {
        value = safe_fixed(p, *t, a[1] == monotonic);
    } else if (a[1] == stats) {
        value = chain_statistics(p, *t);
    } else if (a[1] == atoms::binary) {
        value = binaries_of(p, *t);
    }
    return is_value(value) ? value : stdlib_badarg(p);
}

// As info(Table, binary), for the objects of one key.
Term erts_internal_ets_lookup_binary_info_2(Process& p, const Term* a) {
    Locked t(p, a[0], Access::read, false);
    if (!t) {
        bad_table(p, t.failure());
        p.exception.error_info = map::put(p.heap, p.exception.error_info, atoms::module, atoms::erl_erts_errors);
        return kNonValue;
    }
    Term list = kNil;
    const HashStore* hash = t->stores.hash.get();
    for (const Object* o = find(*t, a[1]); o != nullptr; o = hash != nullptr ? hash->next_of_key(o) : nullptr) {
        add_binaries_of(p, o, &list);
    }
    return list;
}

// Whether the caller may read and write the private tables of other processes.
Term erts_internal_ets_super_user_1(Process& p, const Term* a) {
    if (!is_bool(a[0])) {
        return badarg(p);
    }
    if (a[0] == atoms::true_ || p.extra != nullptr) {
        extra_of(p).ets_super_user = a[0] == atoms::true_;
    }
    return atoms::ok;
}

}  // namespace

MINIVM_BIF_TABLE(ets_info) = {
    {"erts_internal", "ets_lookup_binary_info", 2, erts_internal_ets_lookup_binary_info_2, kBifPlain, nullptr},
    {"erts_internal", "ets_super_user", 1, erts_internal_ets_super_user_1, kBifPlain, nullptr},
    {"ets", "info", 1, ets_info_1, kBifPlain, nullptr},
    {"ets", "info", 2, ets_info_2, kBifPlain, nullptr},
};

}  // namespace minivm
