// The calls in number_bif_table.txt, which OTP made (make_number_bif_table.erl).
#include "vm/bif/bif.hpp"
#include "vm/code/export.hpp"
#include "vm/external/external_term.hpp"
#include "vm/term/bignum.hpp"
#include "vm/term/compare.hpp"
#include "vm/term/format.hpp"
#include "vm/term/hash.hpp"

#include <catch2/catch.hpp>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>

namespace minivm {
extern std::vector<BifDef> operators_bif_defs;
extern std::vector<BifDef> numbers_bif_defs;
extern std::vector<BifDef> atoms_bif_defs;
extern std::vector<BifDef> checksums_bif_defs;
}

namespace {

using namespace minivm;

const BifDef* find_bif(std::string_view module, std::string_view function, size_t arity) {
    for (const auto* table : {&operators_bif_defs, &numbers_bif_defs, &atoms_bif_defs, &checksums_bif_defs}) {
        for (const BifDef& d : *table) {
            if (d.module == module && d.function == function && d.arity == arity) {
                return &d;
            }
        }
    }
    return nullptr;
}

// A process that can call the functions of the table, and takes over what they trap to.
struct Caller : Process {
    Caller() { x = registers; }
    ~Caller() { heap.clear(); }

    Term call(std::string_view module, std::string_view function, const std::vector<Term>& args) {
        const BifDef* d = find_bif(module, function, args.size());
        INFO(module << ":" << function << "/" << args.size());
        REQUIRE(d != nullptr);
        CHECK((d->flags & kBifHidden) == 0);
        reductions = 4000;
        outcome = BifOutcome::exception;
        exception = Exception{};
        Term result = d->fn(*this, args.data());
        if (!is_value(result) && outcome == BifOutcome::trap) {
            ++traps;
            const Export* to = trap_export;
            d = find_bif(atom_table::text(to->module), atom_table::text(to->function), to->arity);
            REQUIRE(d != nullptr);
            CHECK(d->flags == (kBifHidden | kBifDirtyCpu | kBifLeavable));
            outcome = BifOutcome::exception;
            result = d->fn(*this, x);
        }
        if (!is_value(result)) {
            CHECK(outcome == BifOutcome::exception);
            CHECK(exception.cls == ExceptionClass::error);
        }
        return result;
    }

    Term registers[8];
    int traps = 0;
};

Term decode(Heap& h, const std::string& hex) {
    std::string bytes;
    bytes.reserve(hex.size() / 2);
    const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'A' + 10; };
    for (size_t i = 0; i + 1 < hex.size(); i += 2) {
        bytes += static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1]));
    }
    size_t used = 0;
    const Term t = external::decode(h, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(),
                                    {}, &used);
    REQUIRE(is_value(t));
    return t;
}

// libm's last bits depend on its version.
bool same_result(std::string_view module, Term a, Term b) {
    if (module == "math" && is_float(a) && is_float(b)) {
        const double x = float_value(a);
        const double y = float_value(b);
        return std::fabs(x - y) <= std::fabs(y) * 4e-16;
    }
    return exact_equal(a, b);
}

TEST_CASE("the functions on numbers, atoms and checksums do what OTP's do") {
    std::ifstream file(MINIVM_SOURCE_DIR "/tests/vm/bif/number_bif_table.txt");
    REQUIRE(file);
    size_t calls = 0;
    for (std::string line; std::getline(file, line); ++calls) {
        std::istringstream words(line);
        std::string module;
        std::string function;
        std::string args_hex;
        std::string kind;
        std::string expected;
        words >> module >> function >> args_hex >> kind >> expected;
        Caller p;
        const Term list = decode(p.heap, args_hex);
        std::vector<Term> args;
        for (Term t = list; is_cons(t); t = tail(t)) {
            args.push_back(head(t));
        }
        const Term result = p.call(module, function, args);
        const std::string call = module + ":" + function + " " + format_term(list, 300);
        if (kind == "error") {
            const std::string got =
                is_value(result) ? format_term(result, 300)
                                 : "error " + std::string(atom_table::text(p.exception.reason));
            if (got != "error " + expected) {
                FAIL_CHECK(call << " gives " << got << ", expected error " << expected);
            }
            continue;
        }
        const Term wanted = decode(p.heap, expected);
        if (!is_value(result) || !same_result(module, result, wanted)) {
            FAIL_CHECK(call << " gives "
                            << (is_value(result) ? format_term(result, 300)
                                                 : format_term(p.exception.reason))
                            << ", expected " << format_term(wanted, 300));
        }
    }
    CHECK(calls > 2000);
}

TEST_CASE("an MD5 of parts is that of the whole, and a context can be used again") {
    Caller p;
    const Term abc = make_string(p.heap, "abc", 3);
    const Term start = p.call("erlang", "md5_init", {});
    const Term a = p.call("erlang", "md5_update", {start, make_string(p.heap, "a", 1)});
    const Term b = p.call("erlang", "md5_update", {a, make_string(p.heap, "bc", 2)});
    CHECK(exact_equal(p.call("erlang", "md5_final", {b}), p.call("erlang", "md5", {abc})));
    CHECK(exact_equal(p.call("erlang", "md5_final", {b}), p.call("erlang", "md5", {abc})));
    CHECK(exact_equal(p.call("erlang", "md5_final", {start}), p.call("erlang", "md5", {kNil})));
}

TEST_CASE("long conversions leave the scheduler and give the same") {
    Caller p;
    const Term integer =
        bignum::sub(p.heap, bignum::shift_left(p.heap, make_small(12345), 300'000), make_small(1));
    for (const int base : {2, 10, 36}) {
        for (const char* type : {"list", "binary"}) {
            const std::string from = std::string("integer_to_") + type;
            const std::string to = std::string(type) + "_to_integer";
            p.traps = 0;
            const Term text = p.call("erlang", from, {integer, make_small(base)});
            REQUIRE(is_value(text));
            CHECK(exact_equal(p.call("erlang", to, {text, make_small(base)}), integer));
            CHECK(p.traps == 2);
        }
    }
    p.traps = 0;
    const Term text = p.call("erlang", "integer_to_list", {integer});
    const Term with_rest = p.call("string", "list_to_integer", {text});
    REQUIRE(is_tuple_of(with_rest, 2));
    CHECK(exact_equal(tuple_element(with_rest, 0), integer));
    CHECK(is_nil(tuple_element(with_rest, 1)));
    CHECK(p.traps == 2);
}

TEST_CASE("checksums of much data leave the scheduler and are those of the parts") {
    Caller p;
    std::string data(600'000, 0);
    for (size_t i = 0; i < data.size(); ++i) {
        data[i] = static_cast<char>(i * i >> 5);
    }
    const Term whole = make_binary(p.heap, data.data(), data.size());
    constexpr size_t kFirst = 123'457;
    const Term first = make_binary(p.heap, data.data(), kFirst);
    const Term second = make_binary(p.heap, data.data() + kFirst, data.size() - kFirst);
    for (const char* name : {"crc32", "adler32"}) {
        p.traps = 0;
        const Term expected = p.call("erlang", name, {whole});
        CHECK(p.traps == 1);
        const Term sum = p.call("erlang", name, {first});
        CHECK(p.call("erlang", name, {sum, second}) == expected);
        const Term other = p.call("erlang", name, {second});
        CHECK(p.call("erlang", std::string(name) + "_combine",
                     {sum, other, make_small(static_cast<int64_t>(data.size() - kFirst))}) ==
              expected);
    }
    p.traps = 0;
    const Term expected = p.call("erlang", "md5", {whole});
    Term context = p.call("erlang", "md5_init", {});
    context = p.call("erlang", "md5_update", {context, whole});
    CHECK(p.traps == 2);
    CHECK(exact_equal(p.call("erlang", "md5_final", {context}), expected));
}

TEST_CASE("hashes of large terms leave the scheduler and give the same") {
    Caller p;
    std::vector<Term> large;
    for (const int stride : {1, 1000}) {  // a string, and integers that are no bytes
        Term list = kNil;
        for (int i = 0; i < 500'000; ++i) {
            list = cons(p.heap, make_small(i % 256 * stride), list);
        }
        large.push_back(list);
    }
    const std::string bytes(3'000'000, 'x');
    large.push_back(make_binary(p.heap, bytes.data(), bytes.size()));
    for (const Term t : large) {
        for (const Term whole : {t, make_tuple(p.heap, atoms::ok, t)}) {
            p.traps = 0;
            CHECK(p.call("erlang", "phash2", {whole}) == make_small(phash2(whole) % (1 << 27)));
            CHECK(p.call("erlang", "phash", {whole, make_small(1000)}) ==
                  make_small(phash(whole) % 1000 + 1));
            CHECK(p.traps == 2);
        }
    }
    p.traps = 0;
    CHECK(is_small(p.call("erlang", "phash2", {make_string(p.heap, "small", 5)})));
    CHECK(p.traps == 0);
}

TEST_CASE("text of an integer beyond the limit is a system_limit of the function that was called", "[one_thread]") {
    Caller p;
    // Of OTP 25: 2^19 - 1 words, which is 8,388,592 digits; what has about as many is told by reading them.
    for (const size_t size : {size_t{8'388'593}, size_t{8'400'000}}) {
        const std::string digits(size, 'f');
        const Term text = make_binary(p.heap, digits.data(), digits.size());
        p.traps = 0;
        CHECK(!is_value(p.call("erlang", "binary_to_integer", {text, make_small(16)})));
        CHECK(p.exception.reason == atoms::system_limit);
        CHECK(p.traps == (size == 8'400'000 ? 0 : 1));
    }
    const std::string zeros(8'400'000, '0');
    CHECK(p.call("erlang", "binary_to_integer", {make_binary(p.heap, zeros.data(), zeros.size()), make_small(16)}) == make_small(0));
}

}  // namespace
