#include "tests/loader/beam_builder.hpp"
#include "vm/bif/bif.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/heap.hpp"

#include <catch2/catch.hpp>
#include <zlib.h>

using namespace minivm;
using namespace minivm::test;
using Code = loader::LoadError::Code;
using Catch::Matchers::Contains;

void minivm::test::register_bifs() { bif_registry::init(); }

static BeamBuilder identity() {
    BeamBuilder b("m_identity");
    b.function("id", 1, 1).op(19);
    return b;
}

static Bytes gzip(const Bytes& plain) {
    Bytes out(plain.size() + 256);
    z_stream stream{};
    REQUIRE(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    stream.next_in = const_cast<Bytef*>(plain.data());
    stream.avail_in = static_cast<uInt>(plain.size());
    stream.next_out = out.data();
    stream.avail_out = static_cast<uInt>(out.size());
    REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
}

TEST_CASE("a file that is cut off anywhere is refused, and so is a gzipped one", "[loader]") {
    const Bytes whole = identity().build();
    REQUIRE(load(whole).ok);
    const Bytes zipped = gzip(whole);
    REQUIRE(load(zipped).ok);
    for (const Bytes& file : {whole, zipped}) {
        for (size_t n = 0; n < file.size(); ++n) {
            const Loaded l = load(Bytes(file.begin(), file.begin() + static_cast<ptrdiff_t>(n)));
            CHECK_FALSE(l.ok);
            CHECK_FALSE(l.error.what.empty());
        }
    }
}

TEST_CASE("what is no BEAM file is said to be none", "[loader]") {
    CHECK(load(Bytes{}).error.code == Code::not_beam);
    CHECK(load(Bytes{'h', 'e', 'l', 'l', 'o', ' ', 't', 'h', 'e', 'r', 'e'}).error.code ==
          Code::not_beam);
    Bytes other = identity().build();
    other[8] = 'W';
    CHECK(load(other).error.code == Code::not_beam);
}

TEST_CASE("a file without a chunk it needs is refused by the chunk's name", "[loader]") {
    for (const char* name : {"AtU8", "Code", "ImpT", "ExpT"}) {
        Bytes file = identity().build();
        for (size_t i = 0; i + 4 <= file.size(); ++i) {
            if (std::equal(name, name + 4, file.begin() + static_cast<ptrdiff_t>(i))) {
                file[i] = 'x';
            }
        }
        const Loaded l = load(file);
        CHECK(l.error.code == Code::bad_chunk);
        CHECK_THAT(l.error.text(), Contains(name));
    }
}

TEST_CASE("unknown chunks are skipped", "[loader]") {
    BeamBuilder b = identity();
    b.more_chunks = {{"Dbgi", {1, 2, 3}}, {"Docs", {}}, {"ExCk", {9}}};
    CHECK(load(b).ok);
}

TEST_CASE("atoms are read with both encodings of their lengths", "[loader]") {
    std::string long_atom;
    for (int i = 0; i < 200; ++i) {
        long_atom += "\xC3\xA5";  // 200 characters in 400 bytes: only OTP 28's lengths can say that
    }
    for (const bool long_lengths : {false, true}) {
        BeamBuilder b = identity();
        b.long_atoms = long_lengths;
        const Loaded l = load(b);
        REQUIRE(l.ok);
        CHECK(atom_table::text(l.module.name) == "m_identity");
        CHECK(atom_table::text(loader::module_name(b.build().data(), b.build().size())) ==
              "m_identity");
    }
    BeamBuilder b("m_long");
    b.long_atoms = true;
    b.function(long_atom, 0, 1).op(64, {nil(), x(0)}).op(19);
    const Loaded l = load(b);
    REQUIRE(l.ok);
    CHECK(atom_table::text(l.module.exports[0].function) == long_atom);
}

TEST_CASE("an atom that is no UTF-8 or too long is refused", "[loader]") {
    BeamBuilder bad("m\xFF");
    bad.function("f", 0, 1).op(64, {nil(), x(0)}).op(19);
    CHECK_THAT(load(bad).error.text(), Contains("AtU8") && Contains("UTF-8"));
    BeamBuilder large(std::string(256, 'a'));
    large.long_atoms = true;
    large.function("f", 0, 1).op(64, {nil(), x(0)}).op(19);
    CHECK_FALSE(load(large).ok);
}

TEST_CASE("literals are read compressed and plain", "[loader]") {
    // One literal: {ok, [1]}
    const Bytes plain = {0, 0, 0, 1, 0, 0, 0, 13, 131, 104, 2, 119, 2, 'o', 'k', 107, 0, 1, 1, 0};
    Bytes table(plain.begin(), plain.begin() + 4);
    const Bytes term = {131, 104, 2, 119, 2, 'o', 'k', 107, 0, 1, 1};
    put_u32(table, static_cast<uint32_t>(term.size()));
    table.insert(table.end(), term.begin(), term.end());
    for (const bool compressed : {false, true}) {
        BeamBuilder b("m_literal");
        if (compressed) {
            put_u32(b.literals, static_cast<uint32_t>(table.size()));
            Bytes packed(256);
            uLongf size = packed.size();
            REQUIRE(compress(packed.data(), &size, table.data(), table.size()) == Z_OK);
            b.literals.insert(b.literals.end(), packed.begin(),
                              packed.begin() + static_cast<ptrdiff_t>(size));
        } else {
            put_u32(b.literals, 0);
            b.literals.insert(b.literals.end(), table.begin(), table.end());
        }
        b.function("f", 0, 1).op(64, {literal(0), x(0)}).op(19);
        const Loaded l = load(b);
        REQUIRE(l.ok);
        const Operand& o = l.module.operands_of(l.at_body(0))[0];
        REQUIRE(is_tuple_of(o.term, 2));
        CHECK(is_literal(o.term));
        CHECK(tuple_element(o.term, 0) == atoms::ok);
        CHECK(head(tuple_element(o.term, 1)) == make_small(1));
    }
}

TEST_CASE("damaged literals and literal numbers out of range are refused", "[loader]") {
    BeamBuilder b("m_bad_literal");
    put_u32(b.literals, 0xFFFFFFFF);
    b.literals.push_back(1);
    b.function("f", 0, 1).op(64, {literal(0), x(0)}).op(19);
    CHECK(load(b).error.chunk == "LitT");
    b.literals.clear();
    CHECK_THAT(load(b).error.text(), Contains("literal number"));
}

// The Type chunk as each release writes it, for `integer in 1..10` and `binary, unit 8`.
static Bytes type_chunk(uint32_t version) {
    Bytes t;
    put_u32(t, version);
    put_u32(t, 3);
    const auto u16 = [&t](unsigned v) {
        t.push_back(static_cast<uint8_t>(v >> 8));
        t.push_back(static_cast<uint8_t>(v));
    };
    const auto u64 = [&t](uint64_t v) {
        put_u32(t, static_cast<uint32_t>(v >> 32));
        put_u32(t, static_cast<uint32_t>(v));
    };
    const bool contexts = version <= 2;
    const int kinds = version == 3 ? 12 : 13;
    const unsigned integer_bit = contexts ? 64 : 32;
    u16((1u << kinds) - 1);
    if (version == 1) {
        u64(0);
        u64(~0ull);
        u16(integer_bit);
        u64(1);
        u64(10);
        u16(2);
        u64(0);
        u64(~0ull);
    } else {
        u16(integer_bit | 3u << kinds);
        u64(1);
        u64(10);
        u16(2 | 4u << kinds);
        t.push_back(7);
    }
    return t;
}

TEST_CASE("types are read in the formats of OTP 25 to 29", "[loader]") {
    for (const uint32_t version : {1u, 2u, 3u, 4u}) {
        CAPTURE(version);
        BeamBuilder b("m_types");
        b.types = type_chunk(version);
        b.function("f", 2, 1)
            .op(64, {typed(x(0), 1), x(3)})
            .op(64, {typed(x(1), 2), x(4)})
            .op(64, {typed(x(1), 0), x(5)})
            .op(19);
        const Loaded l = load(b);
        REQUIRE(l.ok);
        const uint16_t first = l.module.operands_of(l.at_body(0))[0].type_index;
        const uint16_t second = l.module.operands_of(l.at_body(1))[0].type_index;
        REQUIRE(first == 2);
        REQUIRE(second == 3);
        CHECK(l.module.operands_of(l.at_body(2))[0].type_index == 0);  // any says nothing
        CHECK(l.module.types[1].bits == TypeInfo::integer);
        CHECK(l.module.types[1].has_lower);
        CHECK(l.module.types[1].lower == 1);
        CHECK(l.module.types[1].upper == 10);
        CHECK(l.module.types[2].bits == TypeInfo::bitstring);
        CHECK(l.module.types[2].unit == (version == 1 ? 0 : 8));
        CHECK_FALSE(l.module.types[0].has_lower);
    }
}

TEST_CASE("types of an unknown format are done without", "[loader]") {
    BeamBuilder b("m_types");
    b.types = type_chunk(2);
    b.types[3] = 99;
    b.function("f", 1, 1).op(64, {typed(x(0), 1), x(1)}).op(19);
    const Loaded l = load(b);
    REQUIRE(l.ok);
    CHECK(l.module.operands_of(l.at_body(0))[0].type_index == 0);
    b.types = type_chunk(2);
    b.types.resize(b.types.size() - 1);
    CHECK(load(b).error.chunk == "Type");
}

static Bytes line_chunk(uint32_t flags) {
    Bytes t;
    for (const uint32_t v : {0u, flags, 3u, 3u, 1u}) {
        put_u32(t, v);
    }
    for (const Bytes& piece : {compact(1, 7), compact(2, 1), compact(1, 3000), compact(1, 12),
                               Bytes{0, 5, 'a', '.', 'e', 'r', 'l'}}) {
        t.insert(t.end(), piece.begin(), piece.end());
    }
    return t;
}

TEST_CASE("line numbers stay with what follows them", "[loader]") {
    for (const uint32_t flags : {0u, 1u, 3u}) {
        BeamBuilder b("m_lines");
        b.lines = line_chunk(flags);
        b.function("f", 1, 1)
            .op(64, {x(0), x(1)})
            .op(153, {u(1)})
            .op(64, {x(0), x(1)})
            .op(153, {u(2)})
            .op(183, {u(3), u(1)})  // executable_line: only for counters
            .op(1, {u(3)})
            .op(19);
        const Loaded l = load(b);
        REQUIRE(l.ok);
        CHECK(l.at_body(0).line == kNoLine);
        CHECK(l.at_body(1).line == 1);
        CHECK(l.at_body(2).line == 2);
        REQUIRE(l.module.lines.size() == 3);
        CHECK(l.module.lines[0].line == 7);
        CHECK(l.module.lines[0].file == 0);
        CHECK(l.module.lines[1].line == 3000);
        CHECK(l.module.lines[1].file == 1);
        CHECK(l.module.files == std::vector<std::string>{"m_lines.erl", "a.erl"});
    }
    BeamBuilder b("m_lines");
    b.lines = line_chunk(0);
    b.function("f", 1, 1).op(153, {u(4)}).op(19);
    CHECK_THAT(load(b).error.text(), Contains("line 4 does not exist"));
}

TEST_CASE("a file of a later release says so", "[loader]") {
    BeamBuilder b = identity();
    b.max_opcode = 192;
    const Loaded l = load(b);
    CHECK(l.error.code == Code::too_new);
    CHECK_THAT(l.error.text(), Contains("later release"));
}

TEST_CASE("exports and funs must name functions that are there", "[loader]") {
    BeamBuilder b = identity();
    b.export_function("other", 1, 2);
    CHECK(load(b).error.chunk == "ExpT");
    BeamBuilder wrong_arity = identity();
    wrong_arity.fun("id", 2, 2, 0);
    CHECK(load(wrong_arity).error.chunk == "FunT");
    BeamBuilder no_label = identity();
    no_label.export_function("id", 1, 31);
    CHECK(load(no_label).error.chunk == "ExpT");
}
