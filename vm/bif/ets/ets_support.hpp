// What the BIFs of ets have in common: errors as OTP gives them.
#pragma once

#include "vm/bif/bif.hpp"
#include "vm/bif/stdlib_error.hpp"
#include "vm/ets/table.hpp"

namespace minivm::ets {

// Objects handled for each reduction when they are freed or linked.
constexpr int64_t kFreedPerReduction = 8;

// badarg that erl_stdlib_errors explains by `cause`.
inline Term badarg_because(Process& p, Term cause) {
    error(p, atoms::badarg);
    Term keys[2] = {atoms::cause, atoms::module};
    Term values[2] = {cause, atoms::erl_stdlib_errors};
    p.exception.error_info = map::from_pairs(p.heap, keys, values, 2);
    return kNonValue;
}
inline Term bad_table(Process& p, Failure f) {
    static const Term id = atom_table::intern("id");
    return badarg_because(p, f == Failure::type ? atoms::type
                             : f == Failure::id ? id
                                                : atoms::access);
}
// Copies an object or a part of it out of the table.
inline Term copy_out(Process& p, Term t) {
    return is_pointer(t) ? copy_term(t, p.heap, true) : t;
}
// Reductions that copying that many words costs.
inline int64_t copying_cost(size_t words) {
    return static_cast<int64_t>(words / 32);
}

inline Object* find(const Table& t, Term key) {
    return t.stores.hash ? t.stores.hash->find(key) : t.stores.tree->find(key);
}
// The list of pick(object) for all objects of the key, the oldest first.
template <typename Pick>
Term list_of_key(Process& p, const Table& t, Term key, Pick pick) {
    Term list = kNil;
    size_t words = 0;
    const HashStore* hash = t.stores.hash.get();
    for (const Object* o = find(t, key); o != nullptr; o = hash ? hash->next_of_key(o) : nullptr) {
        list = cons(p.heap, pick(o), list);
        words += object_words(o);
    }
    consume(p, copying_cost(words));
    return list;
}

}  // namespace minivm::ets
