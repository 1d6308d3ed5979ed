#include "vm/term/atom_table.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <thread>
#include <vector>

namespace {

using namespace minivm;

TEST_CASE("the atoms of atoms.def have their constants as indices") {
    CHECK(atom_table::text(atoms::ok) == "ok");
    CHECK(atom_table::text(atoms::true_) == "true");
    CHECK(atom_table::text(atoms::empty) == "");
    CHECK(atom_table::intern("ok") == atoms::ok);
    CHECK(atom_table::find("=:=") == atoms::op_eqeq);
    CHECK(atom_table::count() >= atoms::kPredefinedCount);
    for (uint32_t i = 0; i < atoms::kPredefinedCount; ++i) {
        // Fails if two lines of atoms.def have one text.
        CHECK(atom_table::find(atom_table::text(make_atom(i))) == make_atom(i));
    }
}

TEST_CASE("an atom is found after it was made and not before") {
    CHECK(!is_value(atom_table::find("atom_table_test_new")));
    const Term made = atom_table::intern("atom_table_test_new");
    CHECK(atom_table::find("atom_table_test_new") == made);
    CHECK(atom_table::intern("atom_table_test_new") == made);
    CHECK(atom_table::text(made) == "atom_table_test_new");
    CHECK(!is_value(atom_table::find(std::string(2000, 'a'))));
}

TEST_CASE("a Latin-1 text and the same in UTF-8 are one atom") {
    CHECK(atom_table::intern_latin1("caf\xE9") == atom_table::intern("caf\xC3\xA9"));
    const std::string longest(kMaxAtomChars, '\xFF');
    CHECK(atom_table::text(atom_table::intern_latin1(longest)).size() == 2 * kMaxAtomChars);
}

TEST_CASE("malformed UTF-8 and too long texts are no atoms") {
    CHECK(atom_table::is_valid(""));
    CHECK(atom_table::is_valid("a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"));
    CHECK(atom_table::is_valid(std::string(255, 'a')));
    CHECK(!atom_table::is_valid(std::string(256, 'a')));
    CHECK(atom_table::is_valid("\xF4\x8F\xBF\xBF"));
    for (const char* bad : {"\x80", "\xC3", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80",
                            "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80", "\xFF",
                            "a\xE2\x82", "\xC3\x41"}) {
        CAPTURE(bad);
        CHECK(!atom_table::is_valid(bad));
    }
}

TEST_CASE("atoms order by their text") {
    const auto compare = [](const char* a, const char* b) {
        return atom_table::compare(atom_table::intern(a), atom_table::intern(b));
    };
    CHECK(compare("a", "b") < 0);
    CHECK(compare("b", "a") > 0);
    CHECK(compare("a", "ab") < 0);
    CHECK(compare("", "a") < 0);
    CHECK(compare("same", "same") == 0);
    CHECK(compare("Z", "a") < 0);
    CHECK(compare("z", "\xC3\xA9") < 0);
    CHECK(compare("\xEF\xBF\xBD", "\xF0\x9F\x98\x80") < 0);
}

TEST_CASE("threads that intern the same texts get the same atoms") {
    constexpr int kThreads = 4;
    constexpr int kAtoms = 20'000;  // the table grows several times
    std::vector<std::vector<Term>> made(kThreads, std::vector<Term>(kAtoms));
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([t, &made] {
            for (int k = 0; k < kAtoms; ++k) {
                const int i = (k + t * 1237) % kAtoms;
                made[t][i] = atom_table::intern("concurrent_" + std::to_string(i));
            }
        });
    }
    for (std::thread& t : threads) {
        t.join();
    }
    for (int i = 0; i < kAtoms; ++i) {
        REQUIRE(atom_table::text(made[0][i]) == "concurrent_" + std::to_string(i));
        for (int t = 1; t < kThreads; ++t) {
            REQUIRE(made[t][i] == made[0][i]);
        }
    }
}

}  // namespace
