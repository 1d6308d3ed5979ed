// Every .beam file of the installed OTP and Elixir loads, and its checksum is the one that OTP
// calculates.
#include "tests/loader/beam_builder.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

using namespace minivm;
using namespace minivm::test;
namespace fs = std::filesystem;

// What a command prints.
static std::string output_of(const std::string& command) {
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

static std::string erl(const std::string& expression) {
    return output_of("erl -noinput -boot no_dot_erlang -eval '" + expression + ", halt().' 2>&1");
}

static Bytes read_file(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return Bytes(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

static std::vector<fs::path> installed_beams() {
    std::vector<fs::path> roots = {erl("io:put_chars(code:root_dir())")};
    // Elixir's own folder is beside its start script, which may be a link.
    const std::string elixir = output_of("readlink -f \"$(command -v elixir)\" 2>/dev/null");
    if (!elixir.empty()) {
        roots.push_back(fs::path(elixir.substr(0, elixir.find('\n'))).parent_path().parent_path());
    }
    std::vector<fs::path> beams;
    for (const fs::path& root : roots) {
        REQUIRE(fs::is_directory(root));
        for (const auto& e : fs::recursive_directory_iterator(root)) {
            if (e.path().extension() == ".beam") {
                beams.push_back(e.path());
            }
        }
    }
    std::sort(beams.begin(), beams.end());
    return beams;
}

static std::string hex(const uint8_t (&digest)[16]) {
    std::string s;
    char two[3];
    for (const uint8_t byte : digest) {
        std::snprintf(two, sizeof two, "%02x", byte);
        s += two;
    }
    return s;
}

TEST_CASE("all installed .beam files load", "[loader][.real]") {
    register_bifs();
    const std::vector<fs::path> beams = installed_beams();
    REQUIRE(beams.size() > 1000);
    size_t failures = 0, instructions = 0;
    const auto start = std::chrono::steady_clock::now();
    for (const fs::path& path : beams) {
        const Loaded l = load(read_file(path));
        instructions += l.module.code.size();
        if (!l.ok) {
            ++failures;
            UNSCOPED_INFO(path.string() + ": " + l.error.text());
        }
    }
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now() - start);
    std::printf("%zu .beam files, %zu instructions, %zu refused, %lld ms\n", beams.size(),
                instructions, failures, static_cast<long long>(ms.count()));
    CHECK(failures == 0);
}

TEST_CASE("module checksums are those of OTP", "[loader][.real]") {
    register_bifs();
    const std::string listed =
        erl("[begin {ok, {M, D}} = beam_lib:md5(F), io:format(\"~ts ~s~n\", [F, "
            "binary:encode_hex(D)]) end "
            "|| F <- filelib:wildcard(filename:join(code:lib_dir(stdlib), \"ebin/*.beam\"))]");
    size_t compared = 0;
    for (size_t at = 0; at < listed.size();) {
        const size_t end = listed.find('\n', at);
        const std::string row = listed.substr(at, end - at);
        at = end == std::string::npos ? listed.size() : end + 1;
        const size_t space = row.rfind(' ');
        if (space == std::string::npos) {
            continue;
        }
        std::string digest = row.substr(space + 1);
        std::transform(digest.begin(), digest.end(), digest.begin(), ::tolower);
        const Loaded l = load(read_file(row.substr(0, space)));
        INFO(row << ": " << l.error.text());
        REQUIRE(l.ok);
        CHECK(hex(l.module.md5) == digest);
        ++compared;
    }
    CHECK(compared > 50);
}
