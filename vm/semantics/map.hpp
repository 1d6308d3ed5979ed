// What the map instructions mean.
//
// None of these collects: maps are built with p.heap, and the engine collects afterwards if that left
// fragments (Process::needs_gc).
#pragma once

#include "vm/process/outcome.hpp"
#include "vm/term/map.hpp"

namespace minivm::semantics {

// get_map_elements, has_map_fields: the value of key in a map, or the non-value. Most keys are atoms and
// most maps flat: then words are compared.
inline Term map_element(Term map, Term key) {
    MINIVM_ASSERT(is_map(map));
    if (MINIVM_LIKELY(is_immediate(key) && is_flat_map(map))) {
        const Term* object = boxed_ptr(map);
        const Term* keys = boxed_ptr(object[1]);
        const size_t n = header_arity(keys[0].raw);
        for (size_t i = 1; i <= n; i++) {
            if (keys[i] == key) {
                return object[1 + i];
            }
        }
        return kNonValue;
    }
    return map::get(map, key);
}

// The same for a key whose hash (map::key_hash) was computed when the code was loaded.
inline Term map_element_hashed(Term map, Term key, uint32_t hash) {
    return is_flat_map(map) ? map_element(map, key) : map::get_hashed(map, key, hash);
}

// put_map_assoc: pairs[0..2n) are key, value. Error {badmap, Src} if it is none.
inline Term put_map_assoc(Process& p, Term src, const Term* pairs, size_t n) {
    if (MINIVM_UNLIKELY(!is_map(src))) {
        return badmap(p, src);
    }
    return map::update_assoc(p.heap, src, pairs, n);
}

// put_map_exact: also error {badkey, Key} for the first key that is not there.
inline Term put_map_exact(Process& p, Term src, const Term* pairs, size_t n) {
    if (MINIVM_UNLIKELY(!is_map(src))) {
        return badmap(p, src);
    }
    Term missing = kNonValue;
    const Term result = map::update_exact(p.heap, src, pairs, n, &missing);
    return MINIVM_LIKELY(is_value(result)) ? result : badkey(p, missing);
}

}  // namespace minivm::semantics
