#include "loader/emulator_atoms.hpp"

#include <catch2/catch.hpp>
#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "vm/term/atom_table.hpp"
#include "vm/util/otp_release.hpp"

using namespace minivm;
using namespace minivm::loader;

namespace {

constexpr uint64_t kAddress = 0x400000;  // of the first byte of the file
constexpr uint64_t kWordsAt = 0x400, kTextsAt = 0x800, kDynamicAt = 0x300, kRelocationsAt = 0xC00, kSize = 0x1000;

// A program with the pointers to these texts in its writable segment, or in relocations of that.
std::vector<uint8_t> program(const std::vector<std::string>& texts, bool relocated) {
    std::vector<uint8_t> file(kSize);
    const auto put = [&](uint64_t at, const auto& what) { std::memcpy(file.data() + at, &what, sizeof what); };
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_phoff = sizeof header;
    header.e_phnum = relocated ? 3 : 2;
    put(0, header);
    Elf64_Phdr segments[3] = {};
    segments[0] = {PT_LOAD, PF_R, 0, kAddress, kAddress, kSize, kSize, 0x1000};
    segments[1] = {PT_LOAD, PF_R | PF_W, kWordsAt, 2 * kAddress, 2 * kAddress, 0x100, 0x100, 0x1000};
    segments[2] = {PT_DYNAMIC, PF_R, kDynamicAt, kAddress + kDynamicAt, kAddress + kDynamicAt, 3 * sizeof(Elf64_Dyn), 0, 8};
    put(sizeof header, segments);
    uint64_t text = kTextsAt;
    for (size_t i = 0; i < texts.size(); ++i) {
        std::memcpy(file.data() + text, texts[i].data(), texts[i].size());
        const uint64_t word = 24 + 8 * i;  // not at the segment's begin
        if (relocated) {
            const Elf64_Rela r{2 * kAddress + word, ELF64_R_INFO(0, R_X86_64_RELATIVE), static_cast<Elf64_Sxword>(kAddress + text)};
            put(kRelocationsAt + i * sizeof r, r);
        } else {
            put(kWordsAt + word, kAddress + text);
        }
        text += texts[i].size() + 1;
    }
    Elf64_Dyn dynamic[3] = {};
    dynamic[0] = {DT_RELA, {kAddress + kRelocationsAt}};
    dynamic[1] = {DT_RELASZ, {texts.size() * sizeof(Elf64_Rela)}};
    put(kDynamicAt, dynamic);
    return file;
}

const std::vector<std::string> kTexts = {"false", "true", "_", "nonode@nohost", "$end_of_table", "", "infinity"};

}  // namespace

TEST_CASE("the emulator's atoms are found as pointers and as relocations", "[loader]") {
    for (const bool relocated : {false, true}) {
        const std::vector<uint8_t> file = program(kTexts, relocated);
        const auto found = emulator_atoms(file);
        CHECK(std::vector<std::string>(found.begin(), found.end()) == kTexts);
    }
    CHECK(emulator_atoms({}).empty());
    CHECK(emulator_atoms(program({"false", "true", "_", "another@nohost", "x"}, true)).empty());
    CHECK(emulator_atoms(program({"false", "true", "_", "nonode@nohost", "\xFF"}, true)).empty());
}

TEST_CASE("an emulator that is cut off or damaged has no atoms, or some", "[loader]") {
    for (const bool relocated : {false, true}) {
        const std::vector<uint8_t> whole = program(kTexts, relocated);
        for (size_t length = 0; length < whole.size(); ++length) {
            const std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
            CHECK(emulator_atoms(cut).size() <= kTexts.size());
        }
        for (size_t at = 0; at < kDynamicAt + 0x80; ++at) {
            for (const uint8_t byte : {0x00, 0x7F, 0xFF}) {
                std::vector<uint8_t> damaged = whole;
                damaged[at] = byte;
                CHECK(emulator_atoms(damaged).size() <= 0x100 / 8);
            }
        }
    }
}

TEST_CASE("atoms that are numbered first come before all others, and keep their order", "[loader]") {
    // No other test's maps have the order of numbers: the release of the libraries here is older.
    REQUIRE(!by_release::atom_keys_have_numbers());
    const Term early = atom_table::intern("emulator_atoms_test_early");
    const Term b = atom_table::intern("emulator_atoms_test_b");
    const std::string_view first[] = {"emulator_atoms_test_z", "emulator_atoms_test_b", "emulator_atoms_test_z"};
    atom_table::number_first(first);
    const std::string_view second[] = {"emulator_atoms_test_early"};
    atom_table::number_first(second);  // only the first call counts
    const Term z = atom_table::intern("emulator_atoms_test_z");
    const Term late = atom_table::intern("emulator_atoms_test_a");
    CHECK(atom_table::compare_numbers(z, b) < 0);
    CHECK(atom_table::compare_numbers(b, z) > 0);
    CHECK(atom_table::compare_numbers(b, b) == 0);
    CHECK(atom_table::compare_numbers(b, atoms::ok) < 0);
    CHECK(atom_table::compare_numbers(atoms::ok, early) < 0);
    CHECK(atom_table::compare_numbers(early, late) < 0);
}
