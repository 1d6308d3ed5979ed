// Every .beam file of the installed OTP and Elixir loads, and its checksum is the one that OTP
// calculates.
#include "tests/loader/beam_builder.hpp"
#include "tests/support/installed_beams.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>

using namespace minivm;
using namespace minivm::test;

static std::string erl(const std::string& expression) {
    return output_of("erl -noinput -boot no_dot_erlang -eval '" + expression + ", halt().' 2>&1");
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
    const std::vector<std::string> beams = installed_beams();
    REQUIRE(beams.size() > 1000);
    size_t failures = 0, instructions = 0;
    const auto start = std::chrono::steady_clock::now();
    for (const std::string& path : beams) {
        const Loaded l = load(read_installed(path));
        instructions += l.module.code.size();
        if (!l.ok) {
            ++failures;
            UNSCOPED_INFO(path + ": " + l.error.text());
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
        const Loaded l = load(read_installed(row.substr(0, space)));
        INFO(row << ": " << l.error.text());
        REQUIRE(l.ok);
        CHECK(hex(l.module.md5) == digest);
        ++compared;
    }
    CHECK(compared > 50);
}
