#include "vm/match_spec/match_spec.hpp"

#include "vm/process/gc.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/compare.hpp"
#include "vm/term/format.hpp"
#include "vm/term/map.hpp"

#include <catch2/catch.hpp>

using namespace minivm;
using match_spec::Program;
using match_spec::Runner;

namespace {

struct Owner : Process {
    Owner() {
        bif_registry::init();
        id = make_local_pid(9);
        heap_init(*this, 0);
        reductions = 4000;
    }
    ~Owner() { heap_release(*this); }
};

Term atom(const char* text) {
    return atom_table::intern(text);
}
Term list(Heap& h, std::initializer_list<Term> terms) {
    Term result = kNil;
    for (size_t i = terms.size(); i-- > 0;) {
        result = cons(h, terms.begin()[i], result);
    }
    return result;
}
// [{pattern, guards, [body]}]
Term spec(Heap& h, Term pattern, std::initializer_list<Term> guards, Term body) {
    return list(h, {make_tuple(h, pattern, list(h, guards), list(h, {body}))});
}
std::string run(Process& p, Term spec, Term object) {
    const auto program = Program::compile(spec, nullptr);
    REQUIRE(program != nullptr);
    Runner runner(p, *program, true);
    const Term value = runner.run(object);
    return is_value(value) ? format_term(value) : "no match";
}
std::string first_problem(Term spec) {
    std::vector<std::string> problems;
    return Program::compile(spec, &problems) == nullptr ? problems.at(0) : "";
}

}  // namespace

TEST_CASE("patterns bind, compare and look into maps", "[match_spec]") {
    Owner p;
    Heap& h = p.heap;
    const Term v1 = atom("$1");
    const Term v2 = atom("$2");
    const Term object = make_tuple(h, make_small(1), list(h, {make_small(2), make_small(3)}));
    CHECK(run(p, spec(h, make_tuple(h, v2, v1), {}, atom("$$")), object) == "[[2,3],1]");
    CHECK(run(p, spec(h, make_tuple(h, v1, cons(h, v2, atom("_"))), {}, v2), object) == "2");
    CHECK(run(p, spec(h, make_tuple(h, v1, v1), {}, v1), object) == "no match");
    CHECK(run(p, spec(h, atoms::underscore, {}, atom("$_")), object) == "{1,[2,3]}");
    CHECK(run(p, spec(h, make_tuple(h, v1), {}, v1), object) == "no match");
    Term keys[2] = {atom("a"), atom("b")};
    Term values[2] = {make_small(7), kNil};
    const Term map = map::from_pairs(h, keys, values, 2);
    Term one_key[1] = {atom("a")};
    Term one_value[1] = {v1};
    const Term map_pattern = map::from_pairs(h, one_key, one_value, 1);
    CHECK(run(p, spec(h, make_tuple(h, map_pattern), {}, v1), make_tuple(h, map)) == "7");
    CHECK(run(p, spec(h, make_tuple(h, map_pattern), {}, v1), object) == "no match");
}

TEST_CASE("deep patterns and expressions take no C++ stack", "[match_spec][one_thread]") {
    Owner p;
    Heap& h = p.heap;
    Term pattern = atom("$1");
    Term object = make_small(42);
    Term body = atom("$1");
    for (int i = 0; i < 200000; i++) {
        pattern = i % 2 ? make_tuple(h, pattern) : cons(h, pattern, kNil);
        object = i % 2 ? make_tuple(h, object) : cons(h, object, kNil);
        body = i % 2 ? make_tuple(h, make_tuple(h, body)) : cons(h, body, kNil);
    }
    const auto program = Program::compile(spec(h, pattern, {}, body), nullptr);
    REQUIRE(program != nullptr);
    Runner runner(p, *program, true);
    CHECK(exact_equal(runner.run(object), object));
    CHECK(match_spec::relation(object, pattern) == 0);
}

TEST_CASE("a spec that does not match leaves nothing on the heap", "[match_spec]") {
    Owner p;
    Heap big;
    Heap& h = big;  // not the process's
    const Term sum = make_tuple(h, atom("+"), atom("$1"), make_unsigned(h, ~uint64_t{0}));
    const Term guard = make_tuple(h, atom("<"), sum, make_small(0));
    const auto program =
        Program::compile(spec(h, make_tuple(h, atom("$1")), {guard}, atom("$_")), nullptr);
    Runner runner(p, *program, true);
    const Term* top = p.heap.top;
    for (int i = 0; i < 1000; i++) {
        REQUIRE_FALSE(is_value(runner.run(make_tuple(h, make_small(i)))));
    }
    CHECK(p.heap.top == top);
    CHECK(p.heap.fragments == nullptr);
}

TEST_CASE("a program outlives the terms it was made from", "[match_spec]") {
    Owner p;
    Heap h;
    const std::string bytes(200, 'b');
    const Term binary = make_binary(h, bytes.data(), bytes.size());
    const auto program =
        Program::compile(spec(h, make_tuple(h, binary, atom("$1")), {}, binary), nullptr);
    const Term object = copy_term(make_tuple(h, binary, make_small(1)), p.heap, false);
    h.clear();
    Runner runner(p, *program, true);
    const Term value = runner.run(object);
    REQUIRE(is_value(value));
    CHECK(bitstring_bits(value) == 1600);
}

TEST_CASE("what is wrong is said", "[match_spec]") {
    Owner p;
    Heap& h = p.heap;
    CHECK(first_problem(atom("x")) == "Match programs are not in a list.");
    CHECK(first_problem(list(h, {atom("x")})) == "Match program part is not a tuple of arity 3.");
    CHECK(first_problem(spec(h, atom("_"), {}, atom("$3"))) == "Variable $3 is unbound.");
    CHECK(first_problem(spec(h, atom("_"), {make_tuple(h, atom("no"), kNil)}, kNil)) ==
          "Function no/1 does_not_exist.");
    CHECK(first_problem(spec(h, atom("_"), {make_tuple(h, atom("return_trace"))}, kNil)) ==
          "Special form 'return_trace' used in wrong dialect.");
}

TEST_CASE("where keys lie as to a pattern", "[match_spec]") {
    Owner p;
    Heap& h = p.heap;
    const auto key = [&](int64_t a, int64_t b) {
        return make_tuple(h, make_small(a), make_small(b));
    };
    const Term pattern = make_tuple(h, make_small(5), atom("_"));
    CHECK(match_spec::relation(key(4, 9), pattern) < 0);
    CHECK(match_spec::relation(key(5, 0), pattern) == 0);
    CHECK(match_spec::relation(key(6, 0), pattern) > 0);
    CHECK(match_spec::relation(make_small(1), pattern) < 0);
    CHECK(match_spec::relation(kNil, pattern) > 0);
    CHECK(match_spec::relation(make_tuple(h, make_small(9)), pattern) < 0);
    // After a wildcard nothing is known.
    CHECK(match_spec::relation(key(1, 1), make_tuple(h, atom("$1"), make_small(5))) == 0);
}
