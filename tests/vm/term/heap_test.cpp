#include "vm/term/heap.hpp"

#include <catch2/catch.hpp>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/rounds.hpp"
#include "tests/support/shadow_term.hpp"
#include "vm/term/binary.hpp"

using namespace minivm;
using test_support::Shadow;
using test_support::ShadowMaker;

namespace {

RefBinary* ref_binary_of(Term sub_bits) {
    return reinterpret_cast<RefBinary*>(boxed_ptr(boxed_ptr(sub_bits)[1])[1].raw);
}

size_t references(RefBinary* b) { return b->refs.load(); }

struct CountedObject final : MagicObject {
    explicit CountedObject(int* counter) : alive(counter) { ++*alive; }
    ~CountedObject() override { --*alive; }
    int* alive;
};

}  // namespace

TEST_CASE("a heap without a block allocates in fragments that grow") {
    Heap h;
    Term list = kNil;
    for (int i = 0; i < 100000; i++) {
        list = cons(h, make_small(i), list);
    }
    size_t fragments = 0;
    size_t used = 0;
    for (Fragment* f = h.fragments; f != nullptr; f = f->next) {
        fragments++;
        used += f->used_words;
        CHECK(f->used_words <= f->size_words);
    }
    CHECK(used == 200000);
    CHECK(h.fragment_words == used);
    CHECK(fragments < 30);
    for (int i = 99999; i >= 0; i--) {
        REQUIRE(head(list) == make_small(i));
        list = tail(list);
    }
    CHECK(is_nil(list));
    h.clear();
    CHECK(h.fragments == nullptr);
    CHECK(h.fragment_words == 0);
}

TEST_CASE("the single fragment of a copied message is as large as the message") {
    Heap from;
    const Term message = make_tuple(from, atoms::ok, make_string(from, "abc", 3));
    Heap to;
    const Term copy = copy_term(message, to, true);
    REQUIRE(to.fragments != nullptr);
    CHECK(to.fragments->next == nullptr);
    CHECK(to.fragments->size_words == 9);
    CHECK(to.fragments->used_words == 9);
    CHECK(is_tuple_of(copy, 2));
    from.clear();
}

TEST_CASE("an allocation in the block leaves the reserve free") {
    std::vector<Term> block(40 + kReserveWords);
    Heap h;
    h.top = block.data();
    h.end = block.data() + block.size();
    Term* p = h.alloc(39);
    CHECK(p == block.data());
    CHECK(h.alloc(2) != block.data() + 39);
    CHECK(h.fragments != nullptr);
    CHECK(h.alloc(1) == block.data() + 39);
}

TEST_CASE("trim gives back words of the block and of a fragment") {
    std::vector<Term> block(40 + kReserveWords);
    Heap h;
    h.top = block.data();
    h.end = block.data() + block.size();
    Term* p = h.alloc(10);
    h.trim(p, 10, 3);
    CHECK(h.top == block.data() + 3);
    p = h.alloc(100);
    h.trim(p, 100, 1);
    CHECK(h.fragment_words == 1);
    CHECK(h.fragments->used_words == 1);
}

TEST_CASE("integers at the edges of the small range") {
    Heap h;
    CHECK(make_integer(h, kSmallMax) == make_small(kSmallMax));
    CHECK(make_integer(h, kSmallMin) == make_small(kSmallMin));
    const Term above = make_integer(h, kSmallMax + 1);
    REQUIRE(is_kind(above, Kind::pos_big));
    CHECK(big_digits(above)[0] == Word{1} << 60);
    const Term below = make_integer(h, kSmallMin - 1);
    REQUIRE(is_kind(below, Kind::neg_big));
    CHECK(big_digits(below)[0] == (Word{1} << 60) + 1);
    const Term lowest = make_integer(h, INT64_MIN);
    REQUIRE(is_kind(lowest, Kind::neg_big));
    CHECK(big_digits(lowest)[0] == Word{1} << 63);
    const Term highest = make_unsigned(h, UINT64_MAX);
    REQUIRE(is_kind(highest, Kind::pos_big));
    CHECK(big_digits(highest)[0] == UINT64_MAX);
}

TEST_CASE("strings become lists of their code points") {
    Heap h;
    const Term latin1 = make_string(h, "a\xE5", 2, make_small(7));
    CHECK(head(latin1) == make_small('a'));
    CHECK(head(tail(latin1)) == make_small(0xE5));
    CHECK(tail(tail(latin1)) == make_small(7));
    const std::string text = "a\xC3\xA5\xE2\x82\xAC\xF0\x9F\x98\x80";
    const Term utf8 = make_string_utf8(h, text.data(), text.size());
    Term rest = utf8;
    for (const int code : {0x61, 0xE5, 0x20AC, 0x1F600}) {
        REQUIRE(is_cons(rest));
        CHECK(head(rest) == make_small(code));
        rest = tail(rest);
    }
    CHECK(is_nil(rest));
    CHECK(make_string(h, "", 0, atoms::ok) == atoms::ok);
    CHECK(make_string_utf8(h, "", 0) == kNil);
}

TEST_CASE("binaries over 64 bytes are counted and shared by copies") {
    Heap h;
    std::string bytes(64, 'x');
    const Term small = make_binary(h, bytes.data(), bytes.size());
    CHECK(kind_of(small) == Kind::heap_bits);
    CHECK(h.off_heap == nullptr);
    CHECK(bitstring_bits(make_binary(h, nullptr, 0)) == 0);
    bytes += 'y';
    const Term large = make_binary(h, bytes.data(), bytes.size());
    REQUIRE(kind_of(large) == Kind::sub_bits);
    CHECK(bitstring_bits(large) == 65 * 8);
    CHECK(h.off_heap_bytes == 65);
    RefBinary* storage = ref_binary_of(large);
    storage->retain();
    CHECK(references(storage) == 2);
    Heap to;
    const Term pair = copy_term(make_tuple(h, large, large), to, true);
    CHECK(references(storage) == 4);
    CHECK(ref_binary_of(tuple_element(pair, 1)) == storage);
    CHECK(to.off_heap_bytes == 130);
    h.clear();
    CHECK(references(storage) == 3);
    to.clear();
    CHECK(references(storage) == 1);
    storage->release();
}

TEST_CASE("a part of a binary is copied with the bits of the part only") {
    Heap h;
    std::string bytes(1000, '\0');
    for (size_t i = 0; i < bytes.size(); i++) {
        bytes[i] = static_cast<char>(i * 7);
    }
    const Term whole = make_binary(h, bytes.data(), bytes.size());
    const auto part_of = [&](Term orig, Word first, Word bits) {
        Term* p = h.alloc(4);
        p[0] = Term{make_header(Kind::sub_bits, 3)};
        p[1] = orig;
        p[2] = Term{first};
        p[3] = Term{bits};
        return make_boxed(p);
    };
    Heap to;
    const Term small = copy_term(part_of(boxed_ptr(whole)[1], 83, 75), to, true);
    REQUIRE(kind_of(small) == Kind::heap_bits);
    CHECK(bitstring_bits(small) == 75);
    CHECK(to.off_heap == nullptr);
    const BitView view = bit_view(small);
    for (uint64_t i = 0; i < 75; i++) {
        const bool original = (static_cast<uint8_t>(bytes[(83 + i) / 8]) >> (7 - (83 + i) % 8)) & 1;
        const bool copied = (view.bytes[(view.offset + i) / 8] >> (7 - (view.offset + i) % 8)) & 1;
        REQUIRE(original == copied);
    }
    const Term large = copy_term(part_of(boxed_ptr(whole)[1], 83, 800), to, true);
    REQUIRE(kind_of(large) == Kind::sub_bits);
    CHECK(ref_binary_of(large) == ref_binary_of(whole));
    CHECK(to.off_heap_bytes == 1000);
    const Term on_heap = make_binary(h, bytes.data(), 60);
    const Term of_heap_bits = copy_term(part_of(on_heap, 8, 8 * 50), to, true);
    REQUIRE(kind_of(of_heap_bits) == Kind::heap_bits);
    CHECK(memcmp(storage_bytes(of_heap_bits), bytes.data() + 1, 50) == 0);
    h.clear();
}

TEST_CASE("a magic object lives as long as a reference to it") {
    int alive = 0;
    Heap h;
    const Term ref = make_magic_ref(h, RefId{1, 2}, new CountedObject(&alive));
    Heap to;
    const Term copy = copy_term(ref, to, true);
    CHECK(magic_object(copy) == magic_object(ref));
    CHECK(ref_id(copy) == RefId{1, 2});
    h.clear();
    CHECK(alive == 1);
    to.clear();
    CHECK(alive == 0);
}

TEST_CASE("random terms are copied word for word", "[one_thread]") {
    std::mt19937_64 random(20261121 + Catch::rngSeed());
    for (int round = 0; round < test::rounds(300, 60); round++) {
        Heap h;
        ShadowMaker maker(h, random);
        const Shadow shadow = maker.make(6);
        Heap to;
        const size_t words = size_of_term(shadow.term, true);
        const Term copy = copy_term(shadow.term, to, true);
        CHECK(to.fragment_words == words);
        h.clear();
        REQUIRE(shadow.matches(copy));
    }
}

TEST_CASE("copying does not recurse in the depth of a term") {
    Heap h;
    Term deep = kNil;
    for (int i = 0; i < 1000000; i++) {
        deep = i % 3 == 0 ? make_tuple(h, make_small(i), deep)
             : i % 3 == 1 ? cons(h, deep, make_small(i))
                          : cons(h, make_small(i), deep);
    }
    Heap to;
    Term copy = copy_term(deep, to, true);
    h.clear();
    for (int i = 999999; i >= 0; i--) {
        const Term number = is_cons(copy) ? (i % 3 == 1 ? tail(copy) : head(copy))
                                          : tuple_element(copy, 0);
        REQUIRE(number == make_small(i));
        copy = is_cons(copy) ? (i % 3 == 1 ? head(copy) : tail(copy)) : tuple_element(copy, 1);
    }
    CHECK(copy == kNil);
}

TEST_CASE("literals lie in one range, are shared by messages and copied when told so") {
    Heap h;
    std::string bytes(100, 'b');
    Term roots[3] = {make_tuple(h, atoms::ok, make_string(h, "literal", 7)), make_small(1),
                     make_binary(h, bytes.data(), bytes.size())};
    CHECK_FALSE(is_literal(roots[0]));
    auto area = LiteralArea::create(roots, 3);
    h.clear();
    CHECK(is_literal(roots[0]));
    CHECK(is_literal(roots[2]));
    CHECK(roots[1] == make_small(1));
    CHECK(area->words == 3 + 14 + 7);
    CHECK(size_of_term(roots[0], true) == 0);
    CHECK(size_of_term(roots[0], false) == 17);
    const Term with_literal = cons(h, roots[0], cons(h, make_small(2), roots[2]));
    Heap to;
    const Term shared = copy_term(with_literal, to, true);
    CHECK(head(shared) == roots[0]);
    CHECK(tail(tail(shared)) == roots[2]);
    CHECK(to.fragment_words == 4);
    const Term copied = copy_term(with_literal, to, false);
    CHECK_FALSE(is_literal(head(copied)));
    RefBinary* storage = ref_binary_of(roots[2]);
    CHECK(references(storage) == 2);
    area.reset();
    CHECK(references(storage) == 1);
    CHECK(storage->data()[99] == 'b');
    CHECK(head(tuple_element(head(copied), 1)) == make_small('l'));
    h.clear();
}

TEST_CASE("freed literal areas are used again") {
    std::mt19937 random(5 + Catch::rngSeed());
    std::vector<std::unique_ptr<LiteralArea>> areas(50);
    std::vector<Term> roots(50);
    Word highest = 0;
    for (int i = 0; i < 5000; i++) {
        const size_t k = random() % areas.size();
        if (areas[k] != nullptr) {
            REQUIRE(head(roots[k]) == make_small(static_cast<int64_t>(k)));
        }
        areas[k].reset();
        Heap h;
        Term list = kNil;
        for (size_t n = random() % 3000; n > 0; n--) {
            list = cons(h, make_small(static_cast<int64_t>(n)), list);
        }
        roots[k] = cons(h, make_small(static_cast<int64_t>(k)), list);
        areas[k] = LiteralArea::create(&roots[k], 1);
        highest = std::max(highest, roots[k].raw);
    }
    // 50 areas of at most 48 KB each; without reuse this would be about 120 MB.
    CHECK(highest - g_literal_base < 10u << 20);
}

TEST_CASE("a message's fragment moves into the block if there is room") {
    std::mt19937_64 random(99 + Catch::rngSeed());
    for (int round = 0; round < 200; round++) {
        Heap from;
        ShadowMaker maker(from, random);
        const Shadow shadow = maker.make(4);
        Heap message;
        Term root = copy_term(shadow.term, message, true);
        from.clear();
        if (message.fragments == nullptr) {
            continue;
        }
        std::vector<Term> block(message.fragment_words + kReserveWords);
        Heap h;
        h.top = block.data();
        h.end = block.data() + block.size() - 1;
        CHECK_FALSE(absorb_fragment(h, message.fragments, message.off_heap, message.off_heap_bytes,
                                    &root));
        h.end++;
        REQUIRE(absorb_fragment(h, std::exchange(message.fragments, nullptr), std::exchange(message.off_heap, nullptr),
                                message.off_heap_bytes, &root));
        CHECK(h.off_heap_bytes == message.off_heap_bytes);
        CHECK(h.top == block.data() + block.size() - kReserveWords);
        REQUIRE(shadow.matches(root));
    }
}
