// Every operation on every pair of the numbers in number_table.txt, which OTP computed
// (make_number_table.erl).
#include "vm/bif/bif.hpp"
#include "vm/term/bignum.hpp"
#include "vm/term/compare.hpp"
#include "vm/term/map.hpp"

#include <catch2/catch.hpp>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace minivm {
extern std::vector<BifDef> operators_bif_defs;
extern std::vector<BifDef> numbers_bif_defs;
extern std::vector<BifDef> checksums_bif_defs;
}

namespace {

using namespace minivm;

BifFn bif(const std::string& function, uint8_t arity) {
    for (const auto* table : {&operators_bif_defs, &numbers_bif_defs, &checksums_bif_defs}) {
        for (const BifDef& d : *table) {
            if (d.module == std::string("erlang") && d.function == function && d.arity == arity) {
                return d.fn;
            }
        }
    }
    FAIL("no erlang:" << function << "/" << int(arity));
    return nullptr;
}

Term parse_number(Heap& h, const std::string& text) {
    if (text[0] == 'f') {
        return make_float(h, std::bit_cast<double>(std::stoull(text.substr(1), nullptr, 16)));
    }
    const Term t = bignum::parse(h, text, 36);
    REQUIRE(is_value(t));
    return t;
}

// As make_number_table.erl writes it.
std::string show(const Process& p, Term t) {
    if (!is_value(t)) {
        CHECK(p.exception.cls == ExceptionClass::error);
        return p.exception.reason == atoms::badarith
                   ? "!"
                   : "!" + std::string(atom_table::text(p.exception.reason));
    }
    if (is_integer(t)) {
        return bignum::to_string(t, 36);
    }
    if (is_float(t)) {
        char text[32];
        std::snprintf(text, sizeof(text), "f%016llX",
                      static_cast<unsigned long long>(std::bit_cast<Word>(float_value(t))));
        return text;
    }
    if (is_bool(t)) {
        return t == atoms::true_ ? "^" : "_";
    }
    std::string text = "t";
    for (; is_cons(t); t = tail(t)) {
        text += static_cast<char>(small_value(head(t)));
    }
    return text;
}

TEST_CASE("arithmetic gives what OTP gives for all pairs of the number table", "[one_thread]") {
    std::ifstream file(MINIVM_SOURCE_DIR "/tests/vm/term/number_table.txt");
    REQUIRE(file);
    Process numbers_owner;
    std::vector<Term> numbers;
    std::vector<Term> shifts;
    size_t compared = 0;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string kind;
        std::string op;
        words >> kind >> op;
        if (kind == "number" || kind == "shift") {
            (kind == "number" ? numbers : shifts).push_back(parse_number(numbers_owner.heap, op));
            continue;
        }
        Process p;
        p.reductions = 1'000'000;
        size_t index = 0;
        if (kind != "unary") {
            words >> index;
        }
        const std::vector<Term>& others = kind == "shifted" ? shifts : numbers;
        std::string wrong;
        for (const Term other : others) {
            std::string expected;
            REQUIRE(words >> expected);
            Term result;
            if (kind == "unary") {
                result = bif(op, 1)(p, &other);
            } else if (op == "map_order") {
                Term keys[] = {numbers[index], other};
                Term zero = make_small(0);
                const Term a = map::from_pairs(p.heap, &keys[0], &zero, 1);
                const Term b = map::from_pairs(p.heap, &keys[1], &zero, 1);
                result = make_bool(compare_terms(a, b) < 0);
            } else {
                const Term args[] = {numbers[index], other};
                result = bif(op, 2)(p, args);
            }
            if (const std::string got = show(p, result); got != expected) {
                wrong += "\n  " + show(p, other) + " gives " + got + ", expected " + expected;
            }
            ++compared;
        }
        INFO(kind << " " << op << (kind == "unary" ? "" : " " + show(p, numbers[index])));
        CHECK(wrong == "");
        p.heap.clear();
    }
    CHECK(compared > 90'000);
    numbers_owner.heap.clear();
}

}  // namespace
