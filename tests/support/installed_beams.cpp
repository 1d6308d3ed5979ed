#include "tests/support/installed_beams.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace minivm::test {

namespace fs = std::filesystem;

std::string output_of(const std::string& command) {
    std::string text;
    std::FILE* pipe = popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::array<char, 4096> part;
    for (size_t n; (n = std::fread(part.data(), 1, part.size(), pipe)) > 0;) {
        text.append(part.data(), n);
    }
    pclose(pipe);
    return text;
}

std::vector<std::string> installed_beams() {
    std::vector<fs::path> roots = {output_of(
        "erl -noinput -boot no_dot_erlang -eval 'io:put_chars(code:root_dir()), halt().' 2>&1")};
    // Elixir's own folder is beside its start script, which may be a link.
    const std::string elixir = output_of("readlink -f \"$(command -v elixir)\" 2>/dev/null");
    if (!elixir.empty()) {
        roots.push_back(fs::path(elixir.substr(0, elixir.find('\n'))).parent_path().parent_path());
    }
    if (const char* other = std::getenv("MINIVM_BEAMS"); other != nullptr && *other != 0) {
        roots.emplace_back(other);
    }
    std::vector<std::string> beams;
    for (const fs::path& root : roots) {
        REQUIRE(fs::is_directory(root));
        for (const auto& e : fs::recursive_directory_iterator(root)) {
            if (e.path().extension() == ".beam") {
                beams.push_back(e.path().string());
            }
        }
    }
    std::sort(beams.begin(), beams.end());
    return beams;
}

std::vector<uint8_t> read_installed(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace minivm::test
