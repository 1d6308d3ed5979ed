#include "loader/emulator_modules.hpp"

#include <catch2/catch.hpp>

#include <string>

using namespace minivm::loader;

static std::string beam_file(const std::string& chunks) {
    const size_t size = 4 + chunks.size();
    return std::string("FOR1") + char(size >> 24) + char(size >> 16) + char(size >> 8) + char(size) + "BEAM" + chunks;
}

// Where each begins, and how long it is.
static std::vector<std::pair<size_t, size_t>> found_in(const std::string& text) {
    std::vector<std::pair<size_t, size_t>> found;
    const auto* bytes = reinterpret_cast<const uint8_t*>(text.data());
    for (const auto& file : beam_files_in({bytes, text.size()})) {
        found.emplace_back(file.data() - bytes, file.size());
    }
    return found;
}

TEST_CASE("the modules in an emulator are found, wherever they are and whatever is between them", "[loader]") {
    const std::string one = beam_file("AtU8....");
    const std::string two = beam_file("Code" + std::string(70000, 'x'));
    CHECK(found_in("").empty());
    CHECK(found_in("FOR1").empty());
    CHECK(found_in(one) == std::vector<std::pair<size_t, size_t>>{{0, one.size()}});
    CHECK(found_in("ELF" + one + "FOR1 is no file" + two + one) ==
          std::vector<std::pair<size_t, size_t>>{{3, one.size()}, {3 + one.size() + 15, two.size()}, {18 + one.size() + two.size(), one.size()}});
    // What is within one belongs to it.
    const std::string nested = beam_file(one);
    CHECK(found_in(nested) == std::vector<std::pair<size_t, size_t>>{{0, nested.size()}});
}

TEST_CASE("a module in an emulator that claims more than there is is none", "[loader]") {
    const std::string one = beam_file("AtU8....");
    for (size_t length = 0; length < one.size(); ++length) {
        CHECK(found_in(one.substr(0, length)).empty());
    }
    CHECK(found_in(std::string("FOR1\xff\xff\xff\xff") + "BEAM" + one) ==
          std::vector<std::pair<size_t, size_t>>{{12, one.size()}});
}
