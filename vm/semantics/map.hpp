// What the map instructions mean.
//
// None of these collects: maps are built with p.heap, and the engine collects afterwards if that left
// fragments (Process::needs_gc).
#pragma once

#include "vm/process/outcome.hpp"
#include "vm/term/compare.hpp"
#include "vm/term/map.hpp"

namespace minivm::semantics {

// Values of keys in a map. Immediates in a flat map are found by word, and the next one mostly lies
// behind the last (loader/lower.cpp sorts them).
struct MapFields {
    Term map;
    Word at = 0;  // in a flat map
    Term fetch(Term key) {
        if (!is_equal_by_word(key) || !is_flat_map(map)) {
            return map::get(map, key);
        }
        const Term* p = boxed_ptr(map);
        const Word n = header_arity(p->raw) - 1;
        const Term* keys = tuple_elements(p[1]);
        const Word first = at;
        while (at < n) {
            if (keys[at++] == key) {
                return p[1 + at];
            }
        }
        for (at = 0; at < first;) {
            if (keys[at++] == key) {
                return p[1 + at];
            }
        }
        return kNonValue;
    }
};

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
