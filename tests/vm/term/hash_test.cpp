#include "vm/term/hash.hpp"

#include "vm/term/atom_table.hpp"
#include "vm/term/bignum.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/compare.hpp"
#include "vm/term/map.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <unordered_set>

namespace {

using namespace minivm;

struct TestHeap : Heap {
    ~TestHeap() { clear(); }
};

TEST_CASE("equal terms of different shape have equal hashes") {
    TestHeap h;
    const std::string text =
        "a text of some length, longer than what lies on the heap: 0123456789ABCDEF";
    const Term binary = make_binary(h, text.data(), text.size());
    uint8_t* bytes = nullptr;
    const Term padded = new_bits(h, (text.size() + 1) * 8, &bytes);
    bytes[0] = 0;
    bytes[text.size()] = 0;
    copy_bits(reinterpret_cast<const uint8_t*>(text.data()), 0, bytes, 3, text.size() * 8);
    const Term shifted = sub_bitstring(h, padded, 3, text.size() * 8);
    REQUIRE(exact_equal(binary, shifted));
    CHECK(internal_hash(binary, 5) == internal_hash(shifted, 5));
    CHECK(phash2(binary) == phash2(shifted));
    CHECK(phash(binary) == phash(shifted));

    const Term ref = put_ref(h.alloc(kRefWords), {7, 9});
    struct Object : MagicObject {};
    const Term magic = make_magic_ref(h, {7, 9}, new Object);
    REQUIRE(exact_equal(ref, magic));
    CHECK(internal_hash(ref, 0) == internal_hash(magic, 0));

    // The same map built in two orders, small and large.
    for (const int size : {5, 500}) {
        Term up = map::empty(h);
        Term down = map::empty(h);
        for (int i = 0; i < size; ++i) {
            up = map::put(h, up, make_small(i), make_tuple(h, make_small(i * 3)));
            const int k = size - 1 - i;
            down = map::put(h, down, make_small(k), make_tuple(h, make_small(k * 3)));
        }
        REQUIRE(exact_equal(up, down));
        CHECK(internal_hash(up, 1) == internal_hash(down, 1));
        CHECK(phash2(up) == phash2(down));
        CHECK(compare_terms(up, down) == 0);
    }
}

TEST_CASE("the internal hash spreads, and its salt gives another hash") {
    TestHeap h;
    // Of n random 32-bit values about n^2 / 2^33 collide: 9 pairs for 280,000.
    std::unordered_set<uint32_t> seen;
    size_t collisions = 0;
    size_t low_bits[64] = {};
    const auto add = [&](Term t) {
        const uint32_t hash = internal_hash(t, 0);
        collisions += seen.insert(hash).second ? 0 : 1;
        ++low_bits[hash % 64];
    };
    for (int i = 0; i < 70'000; ++i) {
        add(make_small(i));
        add(make_float(h, i + 0.5));
        add(make_tuple(h, make_small(i % 265), make_small(i / 265)));
        add(cons(h, make_small(i), cons(h, make_small(-i), kNil)));
    }
    CHECK(collisions < 40);
    for (const size_t count : low_bits) {
        CHECK(count > 280'000 / 64 * 9 / 10);
        CHECK(count < 280'000 / 64 * 11 / 10);
    }
    size_t same = 0;
    for (int i = 0; i < 1000; ++i) {
        same += internal_hash(make_small(i), 0) % 16 == internal_hash(make_small(i), 1) % 16;
    }
    CHECK(same < 120);
}

TEST_CASE("terms that differ in structure only have different hashes") {
    TestHeap h;
    const Term one = make_small(1);
    const Term terms[] = {
        kNil,
        cons(h, kNil, kNil),
        cons(h, one, kNil),
        cons(h, one, one),
        make_tuple(h),
        make_tuple(h, one),
        make_tuple(h, make_tuple(h), one),
        make_tuple(h, make_tuple(h, one)),
        cons(h, cons(h, one, kNil), kNil),
        cons(h, one, cons(h, kNil, kNil)),
        map::empty(h),
        map::put(h, map::empty(h), one, kNil),
        map::put(h, map::empty(h), kNil, one),
        make_binary(h, "", 0),
        make_binary(h, "\0", 1),
        make_binary(h, "\0\0", 2),
        make_float(h, 0.0),
        make_float(h, 1e300),
        make_small(0),
        atoms::nil,
    };
    std::unordered_set<uint32_t> seen;
    for (const Term t : terms) {
        CHECK(seen.insert(internal_hash(t, 0)).second);
    }
}

TEST_CASE("terms a million levels deep are compared and hashed", "[one_thread]") {
    TestHeap h;
    Term a = make_small(1);
    Term b = make_small(1);
    Term c = make_small(2);
    for (int i = 0; i < 1'000'000; ++i) {
        if (i % 3 == 0) {
            a = make_tuple(h, a);
            b = make_tuple(h, b);
            c = make_tuple(h, c);
        } else if (i % 3 == 1) {
            a = cons(h, a, kNil);
            b = cons(h, b, kNil);
            c = cons(h, c, kNil);
        } else {
            a = map::put(h, map::empty(h), atoms::ok, a);
            b = map::put(h, map::empty(h), atoms::ok, b);
            c = map::put(h, map::empty(h), atoms::ok, c);
        }
    }
    CHECK(exact_equal(a, b));
    CHECK(!exact_equal(a, c));
    CHECK(compare_terms(a, b) == 0);
    CHECK(compare_terms(a, c) < 0);
    CHECK(compare_terms_exact(c, a) > 0);
    CHECK(phash2(a) == phash2(b));
    CHECK(phash(a) == phash(b));
    CHECK(internal_hash(a, 3) == internal_hash(b, 3));
    CHECK(internal_hash(a, 3) != internal_hash(c, 3));
}

}  // namespace
