// The module maps, and the functions of erlang and erts_internal on maps.
#include <algorithm>
#include <memory>

#include "vm/bif/bif.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/map.hpp"
#include "vm/util/otp_release.hpp"

namespace minivm {

namespace {

// Maps up to this size are built and merged at once; larger ones in pieces of about this size, and the
// process yields when its reductions are used up.
constexpr size_t kPieceSize = 4096;
// Pairs that maps:next/1 prepares at a time, as many as OTP does.
constexpr size_t kIteratorPairs = 32;
constexpr size_t kListPairs = 1000;

// The reductions that work on n pairs costs.
int64_t building_cost(size_t n) { return 1 + static_cast<int64_t>(n / 2); }
int64_t walking_cost(size_t n) { return 1 + static_cast<int64_t>(n / 16); }

// Functions of erlang and erts_internal have their errors explained by erl_erts_errors, those of maps
// by erl_stdlib_errors.
Term fail(Process& p, Term reason, Term explaining_module) {
    error(p, reason);
    Term key = atoms::module;
    p.exception.error_info = map::from_pairs(p.heap, &key, &explaining_module, 1);
    return kNonValue;
}
Term fail_badarg(Process& p) { return fail(p, atoms::badarg, atoms::erl_stdlib_errors); }
Term fail_badmap(Process& p, Term map) {
    return fail(p, make_tuple(p.heap, atoms::badmap, map), atoms::erl_stdlib_errors);
}
Term fail_badkey(Process& p, Term key) {
    return fail(p, make_tuple(p.heap, atoms::badkey, key), atoms::erl_stdlib_errors);
}
Term fail_badmap_erts(Process& p, Term map) {
    return fail(p, make_tuple(p.heap, atoms::badmap, map), atoms::erl_erts_errors);
}

// ---- erlang -------------------------------------------------------------------------------------------

Term erlang_map_get_2(Process& p, const Term* a) {
    if (!is_map(a[1])) {
        return fail_badmap_erts(p, a[1]);
    }
    const Term value = map::get(a[1], a[0]);
    if (!is_value(value)) {
        return fail(p, make_tuple(p.heap, atoms::badkey, a[0]), atoms::erl_erts_errors);
    }
    return value;
}

Term erlang_is_map_key_2(Process& p, const Term* a) {
    if (!is_map(a[1])) {
        return fail_badmap_erts(p, a[1]);
    }
    return make_bool(is_value(map::get(a[1], a[0])));
}

Term erlang_map_size_1(Process& p, const Term* a) {
    if (!is_map(a[0])) {
        return fail_badmap_erts(p, a[0]);
    }
    return make_small(static_cast<int64_t>(map_size(a[0])));
}

// ---- one pair -------------------------------------------------------------------------------------------

// For calls by name the loader puts erlang:map_get/2 and is_map_key/2 in the place of these two.
Term maps_get_2(Process& p, const Term* a) {
    if (!is_map(a[1])) {
        return fail_badmap(p, a[1]);
    }
    const Term value = map::get(a[1], a[0]);
    return is_value(value) ? value : fail_badkey(p, a[0]);
}

Term maps_is_key_2(Process& p, const Term* a) {
    return is_map(a[1]) ? make_bool(is_value(map::get(a[1], a[0]))) : fail_badmap(p, a[1]);
}

Term maps_find_2(Process& p, const Term* a) {
    if (!is_map(a[1])) {
        return fail_badmap(p, a[1]);
    }
    const Term value = map::get(a[1], a[0]);
    return is_value(value) ? make_tuple(p.heap, atoms::ok, value) : atoms::error;
}

Term maps_put_3(Process& p, const Term* a) {
    if (!is_map(a[2])) {
        return fail_badmap(p, a[2]);
    }
    return map::put(p.heap, a[2], a[0], a[1]);
}

Term maps_update_3(Process& p, const Term* a) {
    if (!is_map(a[2])) {
        return fail_badmap(p, a[2]);
    }
    const Term result = map::update(p.heap, a[2], a[0], a[1]);
    return is_value(result) ? result : fail_badkey(p, a[0]);
}

Term maps_remove_2(Process& p, const Term* a) {
    if (!is_map(a[1])) {
        return fail_badmap(p, a[1]);
    }
    return map::remove(p.heap, a[1], a[0]);
}

Term maps_take_2(Process& p, const Term* a) {
    if (!is_map(a[1])) {
        return fail_badmap(p, a[1]);
    }
    const Term value = map::get(a[1], a[0]);
    if (!is_value(value)) {
        return atoms::error;
    }
    return make_tuple(p.heap, value, map::remove(p.heap, a[1], a[0]));
}

// ---- positions in a map ---------------------------------------------------------------------------------

Term position_term(Heap& h, map::Iterator::Position position) {
    if (position.high == 0) {
        return make_unsigned(h, position.low);
    }
    Term* q = h.alloc(3);
    q[0] = Term{make_header(Kind::pos_big, 2)};
    q[1] = Term{position.low};
    q[2] = Term{position.high};
    return make_boxed(q);
}

bool get_position(Term t, map::Iterator::Position* out) {
    if (is_small(t) && small_value(t) >= 0) {
        *out = {static_cast<Word>(small_value(t)), 0};
        return true;
    }
    if (!is_kind(t, Kind::pos_big) || big_limbs(t) > 2) {
        return false;
    }
    *out = {big_digits(t)[0], big_limbs(t) == 2 ? big_digits(t)[1] : 0};
    return true;
}

// ---- whole maps -----------------------------------------------------------------------------------------

// The list of what `pick` gives for each pair, in the map's order.
template <typename Pick>
Term list_of_pairs(Process& p, Term map, Pick pick) {
    const size_t n = map_size(map);
    consume(p, walking_cost(n));
    if (n == 0) {
        return kNil;
    }
    Term* first = p.heap.alloc(n * kConsWords);
    Term* cell = first;
    map::Iterator it(map);
    for (Term key, value; it.next(&key, &value); cell += kConsWords) {
        put_cons(cell, pick(key, value), make_cons(cell + kConsWords));
    }
    cell[-1] = kNil;
    return make_cons(first);
}

// The continuations of these functions have the functions' own names, as on OTP: tracers and process_info/2
// show these. A name allows no more arguments than the function has, so the state goes into a tuple.

// Keys or values of a hash map, a piece at a time: {Map, Position, those so far}.
// In the order of maps:to_list/1.
Term list_slice(Process& p, Term state, bool values) {
    const Term map = tuple_element(state, 0);
    map::Iterator it(map, by_release::maps_are_listed_in_their_order());
    map::Iterator::Position position{};
    get_position(tuple_element(state, 1), &position);
    const bool found = it.seek(position);
    MINIVM_CHECK(found);
    Term list = tuple_element(state, 2);
    size_t n = 0;
    for (Term key, value; n < kPieceSize && it.next(&key, &value); n++) {
        list = cons(p.heap, values ? value : key, list);
    }
    consume(p, walking_cost(n));
    if (!it.position(&position)) {
        return list;
    }
    const Term next = position_term(p.heap, position);
    const Term rest = make_tuple(p.heap, map, next, list);
    const Export* const self = bif_export("maps", values ? "values" : "keys", 1);
    return out_of_reductions(p) ? yield(p, self, {rest}) : trap(p, self, {rest});
}
Term maps_keys_continue_1(Process& p, const Term* a) {
    return list_slice(p, a[0], false);
}
Term maps_values_continue_1(Process& p, const Term* a) {
    return list_slice(p, a[0], true);
}

template <typename Pick>
Term keys_or_values(Process& p, Term map, bool values, Pick pick) {
    if (!is_map(map)) {
        return fail_badmap(p, map);
    }
    if (is_flat_map(map)) {
        return list_of_pairs(p, map, pick);
    }
    return list_slice(p, make_tuple(p.heap, map, make_small(0), kNil), values);
}

Term maps_keys_1(Process& p, const Term* a) {
    return keys_or_values(p, a[0], false, [](Term key, Term) { return key; });
}

Term maps_values_1(Process& p, const Term* a) {
    return keys_or_values(p, a[0], true, [](Term, Term value) { return value; });
}

// Takes up to kPieceSize elements of the list, which has been checked: tuples {Key, Value}, or with a
// `value`, keys. Returns the map of them.
Term map_of_piece(Process& p, Term* list, Term value) {
    const auto scratch = std::make_unique_for_overwrite<Term[]>(2 * kPieceSize);
    Term* keys = scratch.get();
    Term* values = keys + kPieceSize;
    size_t n = 0;
    Term rest = *list;
    for (; n < kPieceSize && is_cons(rest); rest = tail(rest), n++) {
        const Term element = head(rest);
        keys[n] = is_value(value) ? element : tuple_element(element, 0);
        values[n] = is_value(value) ? value : tuple_element(element, 1);
    }
    *list = rest;
    consume(p, building_cost(n));
    return map::from_pairs(p.heap, keys, values, n);
}

// {rest of the list, map so far}
Term maps_from_list_continue_1(Process& p, const Term* a) {
    Term rest = tuple_element(a[0], 0);
    Term map = tuple_element(a[0], 1);
    while (!is_nil(rest)) {
        map = map::merge(p.heap, map, map_of_piece(p, &rest, kNonValue));
        if (out_of_reductions(p) && !is_nil(rest)) {
            const Term state = make_tuple(p.heap, rest, map);
            return yield(p, bif_export("maps", "from_list", 1), {state});
        }
    }
    return map;
}

Term maps_from_list_1(Process& p, const Term* a) {
    size_t n = 0;
    Term rest = a[0];
    for (; is_cons(rest); rest = tail(rest), n++) {
        if (!is_tuple_of(head(rest), 2)) {
            return fail_badarg(p);
        }
    }
    if (!is_nil(rest)) {
        return fail_badarg(p);
    }
    consume(p, walking_cost(n));
    const Term start = make_tuple(p.heap, a[0], map::empty(p.heap));
    return maps_from_list_continue_1(p, &start);
}

// ({rest of the keys, map so far}, Value)
Term maps_from_keys_continue_2(Process& p, const Term* a) {
    Term rest = tuple_element(a[0], 0);
    Term map = tuple_element(a[0], 1);
    const Term value = a[1];
    while (!is_nil(rest)) {
        map = map::merge(p.heap, map, map_of_piece(p, &rest, value));
        if (out_of_reductions(p) && !is_nil(rest)) {
            const Term state = make_tuple(p.heap, rest, map);
            return yield(p, bif_export("maps", "from_keys", 2), {state, value});
        }
    }
    return map;
}

Term maps_from_keys_2(Process& p, const Term* a) {
    const int64_t n = list_length(a[0]);
    if (n < 0) {
        return fail_badarg(p);
    }
    consume(p, walking_cost(static_cast<size_t>(n)));
    const Term start[2] = {make_tuple(p.heap, a[0], map::empty(p.heap)), a[1]};
    return maps_from_keys_continue_2(p, start);
}

// Merges two hash maps part by part: {from, into, keys of both, parts merged so far, newest first}.
Term maps_merge_trap_1(Process& p, const Term* a) {
    const Term from = tuple_element(a[0], 0);
    const Term into = tuple_element(a[0], 1);
    size_t common = static_cast<size_t>(small_value(tuple_element(a[0], 2)));
    Term done = tuple_element(a[0], 3);
    unsigned part = static_cast<unsigned>(list_length(done));
    const size_t part_size = (map_size(from) + map_size(into)) / map::kMergeParts;
    for (; part < map::kMergeParts; part++) {
        if (out_of_reductions(p)) {
            const Term state =
                make_tuple(p.heap, from, into, make_small(static_cast<int64_t>(common)), done);
            return yield(p, bif_export("maps", "merge_trap", 1), {state});
        }
        // No child: in the list nil stands for the non-value.
        const Term child = map::merge_part(p.heap, from, into, part, &common);
        done = cons(p.heap, is_value(child) ? child : kNil, done);
        consume(p, building_cost(part_size));
    }
    Term parts[map::kMergeParts];
    for (part = map::kMergeParts; part-- > 0; done = tail(done)) {
        parts[part] = is_nil(head(done)) ? kNonValue : head(done);
    }
    return map::merge_finish(p.heap, from, into, parts, common);
}

Term maps_merge_2(Process& p, const Term* a) {
    if (!is_map(a[0]) || !is_map(a[1])) {
        return fail_badmap(p, is_map(a[0]) ? a[1] : a[0]);
    }
    const size_t smaller = std::min(map_size(a[0]), map_size(a[1]));
    if (smaller <= kPieceSize) {
        consume(p, building_cost(smaller));
        return map::merge(p.heap, a[0], a[1]);
    }
    const Term start = make_tuple(p.heap, a[0], a[1], make_small(0), kNil);
    return maps_merge_trap_1(p, &start);
}

// ---- iterators --------------------------------------------------------------------------------------------

// {K1, V1, {K2, V2, ... Rest}}, from an array of key, value, key, ...
Term iterator_chain(Heap& h, const Term* pairs, size_t n, Term rest) {
    for (size_t i = n; i-- > 0;) {
        rest = make_tuple(h, pairs[2 * i], pairs[2 * i + 1], rest);
    }
    return rest;
}

// An iterator with an order of its own: [Keys | Map].
Term next_in_order(Process& p, Term keys, Term map) {
    Term pairs[2 * kIteratorPairs];
    size_t n = 0;
    for (; n < kIteratorPairs && is_cons(keys); n++, keys = tail(keys)) {
        pairs[2 * n] = head(keys);
        pairs[2 * n + 1] = map::get(map, head(keys));
        if (!is_value(pairs[2 * n + 1])) {
            return fail(p, atoms::badarg, atoms::erl_erts_errors);
        }
    }
    if (!is_list(keys)) {
        return fail(p, atoms::badarg, atoms::erl_erts_errors);
    }
    const Term rest = is_nil(keys) ? atoms::none : cons(p.heap, keys, map);
    return iterator_chain(p.heap, pairs, n, rest);
}

// map_next(Position, Map, iterator): {K, V, {K2, V2, ... none | [Position | Map]}}, or none.
// map_next(Position, Map, Acc): [{K, V}, ... | Acc], with Position, Map in front if there is more.
Term erts_internal_map_next_3(Process& p, const Term* a) {
    const Term map = a[1];
    const bool wants_iterator = a[2] == atoms::iterator;
    map::Iterator::Position position;
    if (!is_map(map) || (!wants_iterator && !is_list(a[2]))) {
        return fail(p, atoms::badarg, atoms::erl_erts_errors);
    }
    // From OTP 26 on an iterator with an order of its own may be empty.
    if ((is_cons(a[0]) || (is_nil(a[0]) && by_release::at_least(26))) && wants_iterator) {
        return next_in_order(p, a[0], map);
    }
    if (!get_position(a[0], &position)) {
        return fail(p, atoms::badarg, atoms::erl_erts_errors);
    }
    map::Iterator it(map, !wants_iterator && by_release::maps_are_listed_in_their_order());
    if (is_flat_map(map)) {
        // The whole map is returned, for any valid position.
        if (position.high != 0 || position.low > map_size(map)) {
            return fail(p, atoms::badarg, atoms::erl_erts_errors);
        }
        position = {0, 0};
    }
    if (!it.seek(position)) {
        return fail(p, atoms::badarg, atoms::erl_erts_errors);
    }
    if (wants_iterator) {
        static_assert(kMaxFlatMap <= kIteratorPairs);
        Term pairs[2 * kIteratorPairs];
        size_t n = 0;
        while (n < kIteratorPairs && it.next(&pairs[2 * n], &pairs[2 * n + 1])) {
            n++;
        }
        const Term rest = it.position(&position)
                              ? cons(p.heap, position_term(p.heap, position), map)
                              : atoms::none;
        return iterator_chain(p.heap, pairs, n, rest);
    }
    if (is_flat_map(map)) {
        const Term list =
            list_of_pairs(p, map, [&p](Term k, Term v) { return make_tuple(p.heap, k, v); });
        if (is_nil(list)) {
            return a[2];
        }
        cons_ptr(list)[2 * map_size(map) - 1] = a[2];
        return list;
    }
    Term key;
    Term value;
    Term list = a[2];
    for (size_t i = 0; i < kListPairs && it.next(&key, &value); i++) {
        list = cons(p.heap, make_tuple(p.heap, key, value), list);
    }
    consume(p, walking_cost(std::min(kListPairs, map_size(map))));
    if (!it.position(&position)) {
        return list;
    }
    return cons(p.heap, position_term(p.heap, position), cons(p.heap, map, list));
}

// ---- looking inside (erts_debug) ------------------------------------------------------------------------

Term erts_internal_map_to_tuple_keys_1(Process& p, const Term* a) {
    if (!is_map(a[0])) {
        return fail_badmap_erts(p, a[0]);
    }
    if (!is_flat_map(a[0])) {
        return fail(p, atoms::badarg, atoms::erl_erts_errors);
    }
    return boxed_ptr(a[0])[1];
}

// An inner node, which is no term, as a tuple of as many words: of the bit map and the children, or of keys
// and values in turn. A child that is a pair is [Key | Value] already. The levels of map.cpp bound the recursion.
Term tuple_of_node(Heap& h, Term node) {
    if (!is_boxed(node)) {
        return node;
    }
    const size_t n = header_arity(header_of(node));
    const bool is_inner = kind_of(node) == Kind::map_node;
    Term* tuple = h.alloc(1 + n);
    tuple[0] = Term{make_header(Kind::tuple, n)};
    for (size_t i = 1; i <= n; i++) {
        const Term word = boxed_ptr(node)[i];
        tuple[i] = !is_inner ? word
                   : i == 1  ? make_small(static_cast<int64_t>(word.raw))
                             : tuple_of_node(h, word);
    }
    return make_boxed(tuple);
}

// The root node, as tuples, in a list; erts_debug:size/1 adds up what is in it.
Term erts_internal_map_hashmap_children_1(Process& p, const Term* a) {
    if (!is_map(a[0])) {
        return fail_badmap_erts(p, a[0]);
    }
    if (is_flat_map(a[0])) {
        return fail(p, atoms::badarg, atoms::erl_erts_errors);
    }
    return cons(p.heap, tuple_of_node(p.heap, boxed_ptr(a[0])[2]), kNil);
}

}  // namespace

MINIVM_BIF_TABLE(maps) = {
    {"erlang", "map_get", 2, erlang_map_get_2, kBifGuard, nullptr},
    {"erlang", "is_map_key", 2, erlang_is_map_key_2, kBifGuard, nullptr},
    {"erlang", "map_size", 1, erlang_map_size_1, kBifGuard, nullptr},
    {"maps", "get", 2, maps_get_2, kBifPlain, nullptr},
    {"maps", "is_key", 2, maps_is_key_2, kBifPlain, nullptr},
    {"maps", "find", 2, maps_find_2, kBifPlain, nullptr},
    {"maps", "put", 3, maps_put_3, kBifPlain, nullptr},
    {"maps", "update", 3, maps_update_3, kBifPlain, nullptr},
    {"maps", "remove", 2, maps_remove_2, kBifPlain, nullptr},
    {"maps", "take", 2, maps_take_2, kBifPlain, nullptr},
    {"maps", "keys", 1, maps_keys_1, kBifPlain, nullptr},
    {"maps", "values", 1, maps_values_1, kBifPlain, nullptr},
    {"maps", "from_list", 1, maps_from_list_1, kBifPlain, nullptr},
    {"maps", "from_keys", 2, maps_from_keys_2, kBifPlain, nullptr},
    {"maps", "merge", 2, maps_merge_2, kBifPlain, nullptr},
    {"erts_internal", "map_next", 3, erts_internal_map_next_3, kBifPlain, nullptr},
    {"erts_internal", "map_to_tuple_keys", 1, erts_internal_map_to_tuple_keys_1, kBifPlain, nullptr},
    {"erts_internal", "map_hashmap_children", 1, erts_internal_map_hashmap_children_1, kBifDirtyCpu,
     nullptr},
    {"maps", "keys", 1, maps_keys_continue_1, kBifHidden, nullptr},
    {"maps", "values", 1, maps_values_continue_1, kBifHidden, nullptr},
    {"maps", "from_list", 1, maps_from_list_continue_1, kBifHidden, nullptr},
    {"maps", "from_keys", 2, maps_from_keys_continue_2, kBifHidden, nullptr},
    {"maps", "merge_trap", 1, maps_merge_trap_1, kBifHidden, nullptr},
};

}  // namespace minivm
