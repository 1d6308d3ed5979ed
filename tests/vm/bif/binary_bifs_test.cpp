// The data file is what OTP gives: see data/binary_bifs.erl.
#include "vm/bif/bif.hpp"
#include "vm/code/export.hpp"
#include "vm/external/external_term.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/compare.hpp"
#include "vm/term/format.hpp"

#include <catch2/catch.hpp>

#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

using namespace minivm;

namespace {

// A process that runs one BIF, going on as often as it yields. Between two slices everything it
// holds is copied, as a collection would do.
struct Caller {
    Caller() : scheduler(std::make_unique<Scheduler>()), heap_owner(std::make_unique<Process>()) {
        bif_registry::init();
        prepare();
    }
    ~Caller() { heap_owner->heap.clear(); }

    void prepare() {
        Process& p = *heap_owner;
        p.scheduler = scheduler.get();
        p.x = scheduler->x;
        p.id = make_local_pid(100);
    }

    void move() {
        auto fresh = std::make_unique<Process>();
        const uint32_t arity = heap_owner->trap_export->arity;
        for (uint32_t i = 0; i < arity; i++) {
            scheduler->x[i] = copy_term(scheduler->x[i], fresh->heap, false);
        }
        fresh->trap_export = heap_owner->trap_export;
        heap_owner->heap.clear();
        heap_owner = std::move(fresh);
        prepare();
    }

    // The value, or the non-value and an exception in the process. `slices` counts them.
    Term call(const BifDef* bif, const std::vector<Term>& args, int64_t reductions) {
        std::copy(args.begin(), args.end(), scheduler->x);
        slices = 0;
        for (;;) {
            Process& p = *heap_owner;
            p.reductions = reductions;
            p.outcome = BifOutcome::exception;
            p.exception = Exception{};
            slices++;
            std::vector<Term> x(scheduler->x, scheduler->x + bif->arity);
            const Term r = bif->fn(p, x.data());
            if (is_value(r)) {
                return r;
            }
            if (p.outcome != BifOutcome::yield) {
                return kNonValue;
            }
            REQUIRE(p.reductions <= 0);
            REQUIRE(p.trap_export->bif != nullptr);
            bif = p.trap_export->bif;
            move();
        }
    }

    Heap& heap() { return heap_owner->heap; }

    std::unique_ptr<Scheduler> scheduler;
    std::unique_ptr<Process> heap_owner;
    int slices = 0;
};

Term decode_hex(Heap& h, const std::string& hex) {
    std::vector<uint8_t> bytes;
    for (size_t i = 0; i + 1 < hex.size(); i += 2) {
        bytes.push_back(static_cast<uint8_t>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    }
    size_t used;
    const Term t = external::decode(h, bytes.data(), bytes.size(), {}, &used);
    REQUIRE(is_value(t));
    return t;
}

const BifDef* bif_of(const std::string& module, const std::string& function, size_t arity) {
    const BifDef* bif = bif_registry::find(atom_table::intern(module), atom_table::intern(function),
                                           static_cast<uint32_t>(arity));
    REQUIRE(bif != nullptr);
    return bif;
}

std::vector<Term> elements(Term list) {
    std::vector<Term> v;
    for (; is_cons(list); list = tail(list)) {
        v.push_back(head(list));
    }
    return v;
}

int run_all(int64_t reductions) {
    std::ifstream in(MINIVM_SOURCE_DIR "/tests/vm/bif/data/binary_bifs.txt");
    REQUIRE(in.good());
    int sliced = 0;
    int calls = 0;
    std::string module;
    std::string function;
    std::string args_hex;
    std::string result_hex;
    while (in >> module >> function >> args_hex >> result_hex) {
        calls++;
        Caller caller;
        const std::vector<Term> args = elements(decode_hex(caller.heap(), args_hex));
        const BifDef* bif = bif_of(module, function, args.size());
        Caller other;  // keeps what is expected
        const Term expected = decode_hex(other.heap(), result_hex);
        const std::vector<Term> expected_args = elements(decode_hex(other.heap(), args_hex));
        if (module == "unicode" && args.size() == 2 && args[1] != atoms::utf8 &&
            args[1] != atoms::unicode && args[1] != atoms::latin1) {
            continue;
        }
        Term got = caller.call(bif, args, reductions);
        Process& p = *caller.heap_owner;
        if (is_value(got) && function.ends_with("iovec")) {
            // Nobody promises where the parts end.
            REQUIRE(tuple_element(expected, 0) == atoms::ok);
            std::string flat;
            std::string expected_flat;
            REQUIRE(iolist_to_bytes(got, &flat));
            REQUIRE(iolist_to_bytes(tuple_element(expected, 1), &expected_flat));
            CHECK(flat == expected_flat);
            continue;
        }
        if (is_value(got)) {
            got = make_tuple(p.heap, atoms::ok, got);
        } else {
            REQUIRE(p.exception.cls == ExceptionClass::error);
            if (caller.slices > 1) {
                CHECK(p.exception.bif == bif);
                REQUIRE(is_value(p.exception.args));
                const std::vector<Term> shown = elements(p.exception.args);
                REQUIRE(shown.size() == args.size());
                for (size_t i = 0; i < shown.size(); i++) {
                    CHECK(exact_equal(shown[i], expected_args[i]));
                }
            }
            got = make_tuple(p.heap, atoms::error, p.exception.reason, p.exception.error_info);
        }
        sliced += caller.slices > 1;
        if (!exact_equal(got, expected)) {
            FAIL(module << ":" << function << " " << args_hex.substr(0, 400) << "\n  "
                        << format_term(decode_hex(other.heap(), args_hex), 500) << "\n  gave "
                        << format_term(got, 500) << "\n  expected " << format_term(expected, 500));
        }
    }
    CHECK(calls > 2000);
    return sliced;
}

}  // namespace

TEST_CASE("BIFs on binaries, iolists and characters give what OTP gives") {
    CHECK(run_all(4000) == 0);
}

TEST_CASE("BIFs on binaries give the same in slices, while their terms move") {
    CHECK(run_all(1) > 40);
}

TEST_CASE("compiled patterns find what their sources find") {
    Caller caller;
    Heap& h = caller.heap();
    const BifDef* compile = bif_of("binary", "compile_pattern", 1);
    const BifDef* matches = bif_of("binary", "matches", 2);
    const Term subject = make_binary(h, "abcabcab", 8);
    const Term one = make_binary(h, "ca", 2);
    const Term two = cons(h, one, cons(h, make_binary(h, "ab", 2), kNil));
    for (const Term source : {one, two, cons(h, one, kNil)}) {
        const Term compiled = caller.call(compile, {source}, 4000);
        REQUIRE(is_tuple_of(compiled, 2));
        CHECK(atom_table::text(tuple_element(compiled, 0)) == (source == two ? "ac" : "bm"));
        const Term a = caller.call(matches, {subject, compiled}, 4000);
        const Term b = caller.call(matches, {subject, source}, 4000);
        CHECK(exact_equal(a, b));
        CHECK(is_cons(a));
        // The other kind of name, or another object, is no pattern.
        const Term swapped = make_tuple(h, atom_table::intern(source == two ? "bm" : "ac"),
                                        tuple_element(compiled, 1));
        CHECK(!is_value(caller.call(matches, {subject, swapped}, 4000)));
    }
    const Term plain = make_tuple(h, atom_table::intern("bm"), put_ref(h.alloc(kRefWords), {1, 2}));
    CHECK(!is_value(caller.call(matches, {subject, plain}, 4000)));
}

TEST_CASE("a long binary that is appended to while it is decoded keeps its bytes") {
    Caller caller;
    std::string bytes("\x83l\x00\x00\x27\x10", 6);
    for (int i = 0; i < 10000; i++) {
        bytes += std::string("b\x00\x00\x10\x00", 5);
    }
    bytes += "j";
    Heap& h = caller.heap();
    uint8_t* to;
    uint64_t at;
    const Term binary =
        append_bits(h, new_appendable(h, 10), 8 * static_cast<uint64_t>(bytes.size()), &to, &at);
    std::memcpy(to + at / 8, bytes.data(), bytes.size());
    const Term list = caller.call(bif_of("erlang", "binary_to_term", 1), {binary}, 1);
    CHECK(list_length(list) == 10000);
    CHECK(caller.slices > 100);
}
