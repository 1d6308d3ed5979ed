#include "vm/term/order_hash.hpp"

#include "vm/term/bignum.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/compare.hpp"
#include "vm/term/format.hpp"
#include "vm/term/map.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <unordered_set>
#include <vector>

namespace minivm {
namespace {

struct TestHeap : Heap {
    ~TestHeap() { clear(); }
};

// The hashes of that release, as long as it lives.
class Release {
public:
    explicit Release(int number) : before_(otp_release()) { set_otp_release({number, ""}); }
    ~Release() { set_otp_release(before_); }
    Release(const Release&) = delete;
    Release& operator=(const Release&) = delete;

private:
    OtpRelease before_;
};

Term bits(Heap& h, const std::string& bytes, uint64_t n) {
    uint8_t* to = nullptr;
    const Term t = new_bits(h, n, &to);
    copy_bits(reinterpret_cast<const uint8_t*>(bytes.data()), 0, to, 0, n);
    return t;
}
Term list(Heap& h, const std::vector<int>& values, Term rest = kNil) {
    for (size_t i = values.size(); i-- > 0;) {
        rest = cons(h, make_small(values[i]), rest);
    }
    return rest;
}
Term power_of_two(Heap& h, unsigned exponent, bool negative) {
    const size_t limbs = exponent / 64 + 1;
    Term* p = h.alloc(1 + limbs);
    p[0] = Term{make_header(negative ? Kind::neg_big : Kind::pos_big, limbs)};
    for (size_t i = 1; i <= limbs; i++) {
        p[i] = Term{0};
    }
    p[limbs] = Term{Word{1} << exponent % 64};
    return make_boxed(p);
}

}  // namespace

// What erts_debug:get_internal_state({internal_hash, Term}) says on `erl` of OTP 25 and 29.
TEST_CASE("the order's hash is that of OTP's emulator", "[term]") {
    TestHeap h;
    const Term two = make_small(2);
    const Term one = make_small(1);
    struct Known {
        Term term;
        uint64_t narrow;
        uint64_t wide;
    };
    const Known known[] = {
        {make_small(0), 3620831944u, 15677855740172624429u},
        {one, 2441450838u, 7938660269479274665u},
        {make_small(-1), 559702020u, 7256831767414464289u},
        {make_small(int64_t{1} << 59), 2160620466u, 10054563828903259082u},
        {make_small(-(int64_t{1} << 59) - 1), 1026718139u, 12317164193119007090u},
        {power_of_two(h, 64, false), 1670597026u, 1273177175058809839u},
        {power_of_two(h, 200, true), 3749904769u, 11298642668589575973u},
        {make_float(h, 1.5), 1817557079u, 5774261808650504887u},
        {kNil, 2464209347u, 16046243290777390298u},
        {list(h, {1}), 1762143407u, 6611683920833176718u},
        {list(h, {1, 2, 3, 4, 5}), 1903991905u, 15588831757706608295u},
        {list(h, {300}, one), 2012828626u, 16248753970075778345u},
        {cons(h, list(h, {1}), make_tuple(h, two)), 3593633912u, 6449853230897962583u},
        {make_tuple(h), 904478834u, 4510301282025278020u},
        {make_tuple(h, one, make_tuple(h, two)), 171866447u, 15167167310543595139u},
        {map::empty(h), 4050418618u, 9376759162891905861u},
        {map::put(h, map::put(h, map::empty(h), one, two), make_small(3), kNil), 4001401055u, 797761573937498633u},
        {bits(h, "", 0), 3580844982u, 10873612744977862784u},
        {bits(h, "hello", 40), 1242733221u, 17194215174573880276u},
        {bits(h, "a binary of twenty-seven by", 216), 1427635997u, 15992244441709130943u},
        {bits(h, "\x20", 3), 1195041062u, 2772974853977271676u},
        {bits(h, std::string("\x01\x02\x00\x18", 4), 29), 3476550616u, 14768373487477726554u},
        {list(h, {'a', ' ', 's', 't', 'r', 'i', 'n', 'g'}), 666241326u, 7446695523143463072u},
    };
    for (const Known& k : known) {
        INFO(format_term(k.term));
        {
            const Release otp(25);
            CHECK(order_hash(k.term) == k.narrow);
        }
        const Release otp(29);
        CHECK(order_hash(k.term) == k.wide);
    }
}

TEST_CASE("the order's hash is the same for bits wherever they begin, and for a million levels", "[term]") {
    TestHeap h;
    const std::string text = "a text of some length, longer than what lies on the heap: 0123456789ABCDEF";
    const Term whole = make_binary(h, text.data(), text.size());
    uint8_t* bytes = nullptr;
    const Term longer = new_bits(h, (text.size() + 1) * 8, &bytes);
    bytes[0] = 0;
    bytes[text.size()] = 0;
    copy_bits(reinterpret_cast<const uint8_t*>(text.data()), 0, bytes, 3, text.size() * 8);
    const Term shifted = sub_bitstring(h, longer, 3, text.size() * 8);
    REQUIRE(exact_equal(whole, shifted));
    Term deep[2] = {make_small(1), make_small(1)};
    for (Term& t : deep) {
        for (int i = 0; i < 1'000'000; ++i) {
            t = i % 3 == 0 ? make_tuple(h, t) : i % 3 == 1 ? cons(h, t, kNil) : map::put(h, map::empty(h), kNil, t);
        }
    }
    for (const int number : {25, 29}) {
        const Release otp(number);
        CHECK(order_hash(whole) == order_hash(shifted));
        CHECK(order_hash(deep[0]) == order_hash(deep[1]));
    }
    CHECK(order_hash_again(whole) == order_hash_again(shifted));
}

TEST_CASE("the low bits of the order's hash spread", "[term]") {
    TestHeap h;
    for (const int number : {25, 29}) {
        const Release otp(number);
        size_t low_bits[64] = {};
        for (int i = 0; i < 70'000; ++i) {
            for (const Term t : {make_small(i), make_float(h, i + 0.5), make_tuple(h, make_small(i % 265), make_small(i / 265)),
                                 list(h, {i, -i})}) {
                ++low_bits[order_hash(t) % 64];
            }
        }
        for (const size_t count : low_bits) {
            CHECK(count > 280'000 / 64 * 9 / 10);
            CHECK(count < 280'000 / 64 * 11 / 10);
        }
    }
}

}  // namespace minivm
