// The data file is what OTP gives: see data/external_terms.erl.
#include "vm/external/external_term.hpp"

#include "vm/term/atom_table.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/compare.hpp"

#include <catch2/catch.hpp>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

using namespace minivm;

namespace {

struct TestHeap : Heap {
    ~TestHeap() { clear(); }
};

std::string from_hex(const std::string& hex) {
    std::string bytes;
    for (size_t i = 0; i + 1 < hex.size(); i += 2) {
        bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    }
    return bytes;
}

// Exactly as many bytes as there are, so that the sanitizer sees a read behind them.
Term decode(Heap& h, const std::string& bytes, bool safe, size_t* used) {
    std::vector<uint8_t> exact(bytes.begin(), bytes.end());
    exact.shrink_to_fit();
    return external::decode(h, exact.data(), exact.size(), {safe}, used);
}

std::string encode(Term t, const external::EncodeOptions& options) {
    std::string out;
    external::encode(t, options, &out);
    return out;
}

external::EncodeOptions minor(int version) {
    external::EncodeOptions options;
    options.minor_version = version;
    return options;
}

std::vector<std::vector<std::string>> data_lines(char kind) {
    std::ifstream in(MINIVM_SOURCE_DIR "/tests/vm/term/data/external_terms.txt");
    REQUIRE(in.good());
    std::vector<std::vector<std::string>> lines;
    for (std::string line; std::getline(in, line);) {
        if (line[0] == kind) {
            std::istringstream words(line.substr(1));
            lines.emplace_back();
            for (std::string word; words >> word;) {
                lines.back().push_back(word);
            }
        }
    }
    REQUIRE(!lines.empty());
    return lines;
}

}  // namespace

TEST_CASE("terms are written as OTP writes them, in all versions and compressed") {
    for (const auto& line : data_lines('T')) {
        TestHeap h;
        const std::string bytes = from_hex(line[0]);
        CAPTURE(line[0].substr(0, 200));
        size_t used = 0;
        const Term t = decode(h, bytes, false, &used);
        REQUIRE(is_value(t));
        CHECK(used == bytes.size());
        CHECK(encode(t, minor(1)) == bytes);
        CHECK(encode(t, minor(0)) == from_hex(line[1]));
        CHECK(encode(t, minor(2)) == from_hex(line[2]));
        external::EncodeOptions compressed = minor(1);
        compressed.compressed = true;
        CHECK(encode(t, compressed) == from_hex(line[3]));
        CHECK(external::encoded_size(t, minor(1)) == std::stoull(line[4]));
        CHECK(external::encoded_size(t, minor(0)) == std::stoull(line[5]));
        for (size_t column = 1; column <= 3; column++) {
            const Term again = decode(h, from_hex(line[column]), false, &used);
            REQUIRE(is_value(again));
            CHECK(exact_equal(t, again));
        }
    }
}

TEST_CASE("large maps are written in the order of their keys if that is asked for") {
    for (const auto& line : data_lines('D')) {
        TestHeap h;
        size_t used;
        const Term t = decode(h, from_hex(line[0]), false, &used);
        REQUIRE(is_value(t));
        external::EncodeOptions options = minor(1);
        options.deterministic = true;
        CHECK(encode(t, options) == from_hex(line[0]));
        const Term again = decode(h, encode(t, minor(1)), false, &used);
        REQUIRE(is_value(again));
        CHECK(exact_equal(t, again));
    }
}

TEST_CASE("odd bytes are read as OTP reads them") {
    for (const auto& line : data_lines('A')) {
        TestHeap h;
        CAPTURE(line[0]);
        size_t used = 0;
        const Term t = decode(h, from_hex(line[0]), false, &used);
        REQUIRE(is_value(t));
        CHECK(used == std::stoull(line[2]));
        CHECK(encode(t, minor(1)) == from_hex(line[1]));
    }
}

TEST_CASE("malformed bytes are refused as OTP refuses them") {
    for (const auto& line : data_lines('B')) {
        TestHeap h;
        const std::string hex = line.empty() ? "" : line[0];
        CAPTURE(hex);
        size_t used;
        CHECK(!is_value(decode(h, from_hex(hex), false, &used)));
    }
}

TEST_CASE("every proper prefix of a term is refused") {
    for (const auto& line : data_lines('T')) {
        const std::string bytes = from_hex(line[0]);
        if (bytes.size() > 2000) {
            continue;
        }
        for (size_t n = 0; n < bytes.size(); n++) {
            TestHeap h;
            size_t used;
            CHECK(!is_value(decode(h, bytes.substr(0, n), false, &used)));
        }
    }
}

TEST_CASE("safe decoding makes no atoms and no external funs") {
    for (const auto& line : data_lines('S')) {
        TestHeap h;
        size_t used;
        const std::string bytes = from_hex(line[0]);
        const uint32_t atoms_before = atom_table::count();
        CHECK(!is_value(decode(h, bytes, true, &used)));
        CHECK(atom_table::count() == atoms_before);
        CHECK(is_value(decode(h, bytes, false, &used)));
    }
    TestHeap h;
    size_t used;
    CHECK(decode(h, std::string("\x83w\x02ok", 5), true, &used) == atoms::ok);
    CHECK(decode(h,
                 std::string("\x83"
                             "d\x00\x02ok",
                             6),
                 true, &used) == atoms::ok);
}

TEST_CASE("a list of bytes is a string up to 65535 of them") {
    TestHeap h;
    for (const size_t n : {size_t{65535}, size_t{65536}}) {
        const std::string text(n, '\1');
        const Term t = make_string(h, text.data(), n);
        const std::string bytes = encode(t, minor(1));
        CHECK(bytes.size() == (n == 65535 ? 65539 : 131079));
        CHECK(external::encoded_size(t, minor(1)) == bytes.size());
        size_t used;
        CHECK(exact_equal(decode(h, bytes, false, &used), t));
    }
}

TEST_CASE("deeply nested terms need no C++ stack", "[one_thread]") {
    TestHeap h;
    for (const bool in_tail : {false, true}) {
        Term t = kNil;
        for (int i = 0; i < 1000000; i++) {
            t = in_tail ? cons(h, make_small(1000), make_tuple(h, t)) : make_tuple(h, t, kNil);
        }
        const std::string bytes = encode(t, minor(1));
        CHECK(external::encoded_size(t, minor(1)) == bytes.size());
        size_t used;
        const Term again = decode(h, bytes, false, &used);
        REQUIRE(is_value(again));
        CHECK(encode(again, minor(1)) == bytes);
    }
}

TEST_CASE("decoding in slices gives the same term") {
    for (const auto& line : data_lines('T')) {
        const std::string bytes = from_hex(line[3]);
        TestHeap h;
        external::Decoder decoder(h, {});
        REQUIRE(decoder.start(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
        external::Decoder::Status status;
        do {
            int64_t budget = 2;
            status = decoder.run(&budget);
        } while (status == external::Decoder::Status::more);
        REQUIRE(status == external::Decoder::Status::done);
        CHECK(encode(decoder.result(), minor(1)) == from_hex(line[0]));
    }
}

TEST_CASE("encoding in slices gives the same bytes, though the term moves in between") {
    auto lines = data_lines('T');
    for (const auto& line : data_lines('D')) {
        lines.push_back(line);
    }
    for (const auto& line : lines) {
        const std::string bytes = from_hex(line[0]);
        auto heap = std::make_unique<TestHeap>();
        size_t used;
        Term t = decode(*heap, bytes, false, &used);
        REQUIRE(is_value(t));
        external::EncodeOptions options = minor(1);
        options.deterministic = true;
        external::Encoder encoder(*heap, options, false);
        encoder.start(t);
        int64_t budget = 3;
        while (!encoder.run(&budget)) {
            const Term saved = encoder.save(*heap);
            auto moved = std::make_unique<TestHeap>();
            const Term copy = copy_term(saved, *moved, false);
            heap = std::move(moved);
            encoder.restore(*heap, copy);
            budget = 3;
        }
        const Term binary = encoder.take(*heap);
        Bytes result;
        REQUIRE(get_bytes(binary, &result));
        CHECK(std::string(reinterpret_cast<const char*>(result.data), result.size) == bytes);
    }
}
