// Maps.
#pragma once

#include "vm/semantics/map.hpp"
#include "vm/semantics/operation.hpp"

namespace minivm::semantics {

MEANING(new_flat_map) {
    const Word n = a.list_count();
    if (static_cast<Word>(a.p.heap.end - a.p.heap.top) < n + 2 + kReserveWords) {
        collect(a, a.live(), n + 2);
    }
    Term* t = a.p.heap.top;
    t[0] = Term{make_header(Kind::flat_map, n + 1)};
    t[1] = Term{RAW(0)};
    for (Word i = 0; i < n; ++i) {
        t[i + 2] = a.registers().value(a.list()[i]);
    }
    a.p.heap.top += n + 2;
    return set<1>(a, make_boxed(t));
}
template <typename A>
Next put_map(const A& a, bool exact) {
    ListValues pairs(a);
    const Word n = a.list_count() / 2;
    const Term r = exact ? put_map_exact(a.p, ARG(1), pairs.data(), n)
                         : put_map_assoc(a.p, ARG(1), pairs.data(), n);
    return is_value(r) ? result<2>(a, r) : fail(a);
}
MEANING(put_map_assoc) { return put_map(a, false); }
MEANING(put_map_exact) { return put_map(a, true); }
MEANING(has_map_fields) {
    MapFields map{ARG(1)};
    for (Word i = 0; i < a.list_count(); ++i) {
        if (!is_value(map.fetch(a.registers().value(a.list()[i])))) {
            return Next::branch;
        }
    }
    return Next::go_on;
}
MEANING(get_map_elements) {
    MapFields map{ARG(1)};
    return fetch_all(a, [&map](Term key) { return map.fetch(key); });
}

}  // namespace minivm::semantics
