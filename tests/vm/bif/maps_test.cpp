#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "vm/bif/bif.hpp"
#include "vm/code/export.hpp"
#include "vm/process/gc.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/compare.hpp"
#include "vm/term/map.hpp"

namespace minivm {
extern std::vector<BifDef> maps_bif_defs;
}
using namespace minivm;

namespace {

const BifDef& bif(std::string_view module, std::string_view function, size_t arity) {
    for (const BifDef& def : maps_bif_defs) {
        if (module == def.module && function == def.function && arity == def.arity) {
            return def;
        }
    }
    FAIL("no such BIF");
    std::abort();
}

// A process that calls BIFs as an engine does: it follows traps, and collects when asked to.
struct Caller : Process {
    Caller() {
        bif_registry::init();  // functions go on under names that only it tells apart
        id = make_local_pid(9);
        heap_init(*this, 0);
        x = registers;
    }
    ~Caller() { heap_release(*this); }

    Term call(std::string_view module, std::string_view function, std::vector<Term> args) {
        const BifDef* def = &bif(module, function, args.size());
        std::copy(args.begin(), args.end(), registers);
        yields = 0;
        for (;;) {
            if (reductions <= 0) {
                reductions = slice;
            }
            collect_gc(*this, 0, registers, def->arity, false);
            const Term result = def->fn(*this, registers);
            if (is_value(result) || outcome == BifOutcome::exception) {
                raised_by = def;
                return result;
            }
            yields += outcome == BifOutcome::yield ? 1 : 0;
            def = trap_export->bif;  // not by name: it may be that of the function itself
        }
    }
    Term maps(std::string_view function, std::vector<Term> args) { return call("maps", function, args); }

    // True if the call raises {Tag, Value}, or the atom Tag, explained by the module.
    bool raises(Term result, Term tag, Term value, Term explained_by) {
        const Term expected = is_value(value) ? make_tuple(heap, tag, value) : tag;
        return !is_value(result) && outcome == BifOutcome::exception &&
               exception.cls == ExceptionClass::error && exact_equal(exception.reason, expected) &&
               map::get(exception.error_info, atoms::module) == explained_by;
    }

    Term registers[16] = {};
    int64_t slice = 4000;
    int yields = 0;
    const BifDef* raised_by = nullptr;
};

Term numbers(Heap& h, int64_t n) {
    Term list = kNil;
    for (int64_t i = n; i > 0; i--) {
        list = cons(h, make_small(i), list);
    }
    return list;
}

Term pairs(Heap& h, int64_t n) {
    Term list = kNil;
    for (int64_t i = n; i > 0; i--) {
        list = cons(h, make_tuple(h, make_small(i), make_small(2 * i)), list);
    }
    return list;
}

}  // namespace

TEST_CASE("map BIFs refuse what is no map with the reasons of OTP") {
    Caller p;
    const Term one = make_small(1);
    const Term stdlib = atoms::erl_stdlib_errors;
    const Term erts = atoms::erl_erts_errors;
    for (const char* function : {"find", "remove", "take"}) {
        CHECK(p.raises(p.maps(function, {atoms::ok, one}), atoms::badmap, one, stdlib));
    }
    for (const char* function : {"put", "update"}) {
        CHECK(p.raises(p.maps(function, {atoms::ok, one, one}), atoms::badmap, one, stdlib));
    }
    for (const char* function : {"keys", "values"}) {
        CHECK(p.raises(p.maps(function, {one}), atoms::badmap, one, stdlib));
    }
    CHECK(p.raises(p.maps("merge", {one, map::empty(p.heap)}), atoms::badmap, one, stdlib));
    CHECK(p.raises(p.maps("merge", {map::empty(p.heap), one}), atoms::badmap, one, stdlib));
    CHECK(p.raises(p.maps("update", {atoms::ok, one, map::empty(p.heap)}), atoms::badkey, atoms::ok,
                   stdlib));
    // The loader takes erlang:map_get/2 and is_map_key/2 where these two are called by name.
    CHECK(p.raises(p.maps("get", {atoms::ok, one}), atoms::badmap, one, stdlib));
    CHECK(p.raises(p.maps("get", {atoms::ok, map::empty(p.heap)}), atoms::badkey, atoms::ok, stdlib));
    CHECK(p.raises(p.maps("is_key", {atoms::ok, one}), atoms::badmap, one, stdlib));
    CHECK(p.raises(p.call("erlang", "map_size", {one}), atoms::badmap, one, erts));
    for (const char* function : {"from_list"}) {
        CHECK(p.raises(p.maps(function, {one}), atoms::badarg, kNonValue, stdlib));
        CHECK(p.raises(p.maps(function, {cons(p.heap, one, kNil)}), atoms::badarg, kNonValue, stdlib));
        CHECK(p.raises(p.maps(function, {cons(p.heap, make_tuple(p.heap, one, one), one)}),
                       atoms::badarg, kNonValue, stdlib));
    }
    CHECK(p.raises(p.maps("from_keys", {cons(p.heap, one, one), one}), atoms::badarg, kNonValue,
                   stdlib));
}

TEST_CASE("map BIFs on one pair") {
    Caller p;
    Term m = p.maps("put", {atoms::ok, make_small(1), map::empty(p.heap)});
    CHECK(p.maps("get", {atoms::ok, m}) == make_small(1));
    m = p.maps("put", {atoms::ok, make_small(1), map::empty(p.heap)});
    CHECK(p.maps("is_key", {atoms::ok, m}) == atoms::true_);
    m = p.maps("put", {atoms::ok, make_small(1), map::empty(p.heap)});
    CHECK(p.maps("is_key", {atoms::error, m}) == atoms::false_);
    m = p.maps("put", {atoms::ok, make_small(1), map::empty(p.heap)});
    const Term found = p.maps("find", {atoms::ok, m});
    CHECK(exact_equal(found, make_tuple(p.heap, atoms::ok, make_small(1))));
    CHECK(p.maps("find", {atoms::ok, map::empty(p.heap)}) == atoms::error);
    CHECK(p.maps("take", {atoms::ok, map::empty(p.heap)}) == atoms::error);
    m = p.maps("put", {atoms::ok, make_small(1), map::empty(p.heap)});
    const Term taken = p.maps("take", {atoms::ok, m});
    CHECK(tuple_element(taken, 0) == make_small(1));
    CHECK(map_size(tuple_element(taken, 1)) == 0);
    m = p.maps("put", {atoms::ok, make_small(1), map::empty(p.heap)});
    m = p.maps("update", {atoms::ok, make_small(2), m});
    CHECK(p.call("erlang", "map_get", {atoms::ok, m}) == make_small(2));
    m = p.maps("put", {atoms::ok, make_small(1), map::empty(p.heap)});
    m = p.maps("remove", {atoms::ok, m});
    CHECK(p.call("erlang", "map_size", {m}) == make_small(0));
}

TEST_CASE("large maps are built and merged in several slices") {
    Caller p;
    p.slice = 1000;
    Term m = p.maps("from_list", {pairs(p.heap, 30000)});
    CHECK(p.yields > 3);
    REQUIRE(map_size(m) == 30000);
    CHECK(map::is_well_formed(m));
    CHECK(map::get(m, make_small(777)) == make_small(1554));

    m = p.maps("from_keys", {numbers(p.heap, 20000), atoms::ok});
    CHECK(p.yields > 2);
    REQUIRE(map_size(m) == 20000);
    CHECK(map::get(m, make_small(20000)) == atoms::ok);

    Heap h;
    Term keys[2];
    for (int k = 0; k < 2; k++) {
        std::vector<Term> from;
        std::vector<Term> to;
        for (int64_t i = 0; i < 10000; i++) {
            from.push_back(make_small(i + 5000 * k));
            to.push_back(make_small(k));
        }
        keys[k] = map::from_pairs(h, from.data(), to.data(), from.size());
    }
    m = p.maps("merge", {copy_term(keys[0], p.heap, true), copy_term(keys[1], p.heap, true)});
    h.clear();
    CHECK(p.yields > 2);
    REQUIRE(map_size(m) == 15000);
    CHECK(map::is_well_formed(m));
    CHECK(map::get(m, make_small(4999)) == make_small(0));
    CHECK(map::get(m, make_small(5000)) == make_small(1));
}

TEST_CASE("keys, values and lists of a map have one order") {
    for (const int64_t n : {0, 1, 32, 33, 5000}) {
        Caller p;
        const Term m = p.maps("from_list", {pairs(p.heap, n)});
        Heap h;
        const Term kept = copy_term(m, h, true);
        const Term keys = copy_term(p.maps("keys", {copy_term(kept, p.heap, true)}), h, true);
        const Term values = copy_term(p.maps("values", {copy_term(kept, p.heap, true)}), h, true);
        std::vector<int64_t> from_keys;
        for (Term k = keys, v = values; is_cons(k); k = tail(k), v = tail(v)) {
            REQUIRE(small_value(head(v)) == 2 * small_value(head(k)));
            from_keys.push_back(small_value(head(k)));
        }
        CHECK(from_keys.size() == static_cast<size_t>(n));
        if (n <= 32) {
            CHECK(std::is_sorted(from_keys.begin(), from_keys.end()));
        }
        // maps:to_list/1 as the library does it. The list of a hash map is built back to front.
        Term list = p.call("erts_internal", "map_next", {make_small(0), copy_term(kept, p.heap, true),
                                                         kNil});
        while (is_cons(list) && is_integer(head(list))) {
            list = p.call("erts_internal", "map_next",
                          {head(list), head(tail(list)), tail(tail(list))});
        }
        std::set<int64_t> from_list;
        for (; is_cons(list); list = tail(list)) {
            from_list.insert(small_value(tuple_element(head(list), 0)));
        }
        CHECK(from_list == std::set<int64_t>(from_keys.begin(), from_keys.end()));
        // maps:iterator/1 and maps:next/1
        std::vector<int64_t> from_iterator;
        Term next = p.call("erts_internal", "map_next",
                           {make_small(0), copy_term(kept, p.heap, true), atoms::iterator});
        while (next != atoms::none) {
            if (is_cons(next)) {
                next = p.call("erts_internal", "map_next", {head(next), tail(next), atoms::iterator});
                continue;
            }
            REQUIRE(is_tuple_of(next, 3));
            REQUIRE(small_value(tuple_element(next, 1)) == 2 * small_value(tuple_element(next, 0)));
            from_iterator.push_back(small_value(tuple_element(next, 0)));
            next = tuple_element(next, 2);
        }
        // As on OTP, keys/1 and to_list/1 have an iterator's order backwards.
        // Those of a flat map have its own.
        if (is_hash_map(kept)) {
            std::reverse(from_iterator.begin(), from_iterator.end());
        }
        CHECK(from_iterator == from_keys);
    }
}

TEST_CASE("an iterator in a given order follows its keys") {
    Caller p;
    Term m = p.maps("from_list", {pairs(p.heap, 100)});
    Term order = kNil;
    for (int64_t i = 1; i <= 100; i++) {
        order = cons(p.heap, make_small(i), order);
    }
    Term next = p.call("erts_internal", "map_next", {order, m, atoms::iterator});
    int64_t expected = 100;
    while (next != atoms::none) {
        if (is_cons(next)) {
            next = p.call("erts_internal", "map_next", {head(next), tail(next), atoms::iterator});
            continue;
        }
        REQUIRE(tuple_element(next, 0) == make_small(expected--));
        next = tuple_element(next, 2);
    }
    CHECK(expected == 0);
}

TEST_CASE("map_next refuses positions that do not exist") {
    Caller p;
    const Term erts = atoms::erl_erts_errors;
    const auto next = [&](Term position, Term acc) {
        return p.call("erts_internal", "map_next", {position, p.maps("from_list", {pairs(p.heap, 40)}), acc});
    };
    CHECK(p.raises(next(make_small(-1), kNil), atoms::badarg, kNonValue, erts));
    CHECK(p.raises(next(atoms::ok, kNil), atoms::badarg, kNonValue, erts));
    CHECK(p.raises(next(kNil, atoms::iterator), atoms::badarg, kNonValue, erts));
    CHECK(p.raises(next(make_small(0), atoms::ok), atoms::badarg, kNonValue, erts));
    CHECK(p.raises(next(make_small(int64_t{1} << 50), kNil), atoms::badarg, kNonValue, erts));
    CHECK(p.raises(p.call("erts_internal", "map_next", {make_small(0), make_small(1), kNil}),
                   atoms::badarg, kNonValue, erts));
    CHECK(is_cons(p.call("erts_internal", "map_next",
                         {make_small(1), p.maps("from_list", {pairs(p.heap, 2)}), kNil})));
}
