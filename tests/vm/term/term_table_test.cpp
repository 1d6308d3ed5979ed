// The order and the portable hashes of the terms in term_table.txt, which OTP computed
// (make_term_table.erl).
#include "vm/external/external_term.hpp"
#include "vm/term/compare.hpp"
#include "vm/term/format.hpp"
#include "vm/term/hash.hpp"

#include <catch2/catch.hpp>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace minivm;

struct TestHeap : Heap {
    ~TestHeap() { clear(); }
};

Term decode(Heap& h, const std::string& hex) {
    std::string bytes;
    for (size_t i = 0; i + 1 < hex.size(); i += 2) {
        bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    }
    size_t used = 0;
    const Term t = external::decode(h, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(),
                                    {}, &used);
    INFO(hex);
    REQUIRE(is_value(t));
    REQUIRE(used == bytes.size());
    return t;
}

std::ifstream open_table() {
    std::ifstream file(MINIVM_SOURCE_DIR "/tests/vm/term/term_table.txt");
    REQUIRE(file);
    return file;
}

char mark(Term a, Term b) {
    const int c = compare_terms(a, b);
    CHECK(loose_equal(a, b) == (c == 0));
    return exact_equal(a, b) ? 'e' : c < 0 ? '<' : c > 0 ? '>' : '=';
}

TEST_CASE("terms are ordered and equal as in OTP") {
    std::ifstream file = open_table();
    TestHeap h;
    // Two copies of each, so that equality is not that of addresses.
    std::vector<Term> terms;
    std::vector<Term> copies;
    std::vector<std::string> marks;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string kind;
        std::string hex;
        std::string row;
        words >> kind >> hex >> row;
        if (kind == "ordered") {
            terms.push_back(decode(h, hex));
            copies.push_back(decode(h, hex));
            marks.push_back(row);
        }
    }
    REQUIRE(terms.size() > 100);
    for (size_t i = 0; i < terms.size(); ++i) {
        REQUIRE(marks[i].size() == terms.size());
        for (size_t k = 0; k < terms.size(); ++k) {
            const char got = mark(terms[i], copies[k]);
            if (got != marks[i][k]) {
                FAIL_CHECK(format_term(terms[i]) << "  " << got << "  " << format_term(copies[k])
                                                 << ", expected " << marks[i][k]);
            }
            if (got == 'e') {
                CHECK(internal_hash(terms[i], 0) == internal_hash(copies[k], 0));
                CHECK(internal_hash(terms[i], 77) == internal_hash(copies[k], 77));
            }
            // The exact order is total: it tells apart what =:= does, and is antisymmetric.
            const int exact = compare_terms_exact(terms[i], copies[k]);
            CHECK((exact == 0) == (got == 'e'));
            CHECK(exact == -compare_terms_exact(copies[k], terms[i]));
        }
    }
}

TEST_CASE("phash2 and phash are those of OTP") {
    std::ifstream file = open_table();
    size_t hashed = 0;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string kind;
        std::string hex;
        uint32_t expected_phash2 = 0;
        uint32_t expected_phash = 0;
        words >> kind >> hex >> expected_phash2 >> expected_phash;
        if (kind != "hashed") {
            continue;
        }
        TestHeap h;
        const Term t = decode(h, hex);
        INFO(format_term(t, 300));
        CHECK(phash2(t) == expected_phash2);
        CHECK(phash(t) == expected_phash);
        ++hashed;
    }
    CHECK(hashed > 300);
}

}  // namespace
