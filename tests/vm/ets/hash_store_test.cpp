#include "vm/ets/hash_store.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <random>
#include <set>

using namespace minivm;
using namespace minivm::ets;

namespace {

Object* object(int64_t key, int64_t value) {
    Term words[3];
    return object_new(put_tuple(words, make_small(key), make_small(value)));
}
Term small_tuple(Term* words, int64_t key, int64_t value) {
    return put_tuple(words, make_small(key), make_small(value));
}

// The objects met by walking all chains.
std::multiset<std::pair<int64_t, int64_t>> contents(const HashStore& s) {
    std::multiset<std::pair<int64_t, int64_t>> all;
    for (size_t i = 0; i < s.chains(); i++) {
        for (const Object* o = s.first_in_chain(i); o != nullptr; o = o->link[0]) {
            REQUIRE(s.chain_of(o->hash) == i);
            if (!o->deleted) {
                all.emplace(small_value(o->data[1]), small_value(o->data[2]));
            }
        }
    }
    return all;
}

std::vector<int64_t> values_of(const HashStore& s, int64_t key) {
    std::vector<int64_t> values;
    for (const Object* o = s.find(make_small(key)); o != nullptr; o = s.next_of_key(o)) {
        values.push_back(small_value(o->data[2]));
    }
    return values;
}

}  // namespace

TEST_CASE("a set beside a map, growing and shrinking", "[ets]") {
    HashStore s(Type::set, 1);
    std::map<int64_t, int64_t> model;
    std::mt19937_64 random(7 + Catch::rngSeed());
    size_t most = 0;
    // Keys pile up, then go.
    for (int round = 0; round < 50000; round++) {
        const int64_t key = static_cast<int64_t>(random() % 8000);
        const bool filling = round < 15000;
        if (random() % 8 < (filling ? 7u : 1u)) {
            s.insert(object(key, round));
            model[key] = round;
        } else {
            REQUIRE(s.erase_key(make_small(key)) == model.erase(key));
        }
        most = std::max(most, s.chains());
    }
    CHECK(most > 2048);
    CHECK(s.chains() < most);
    CHECK(s.size() == model.size());
    CHECK(contents(s) == std::multiset<std::pair<int64_t, int64_t>>(model.begin(), model.end()));
    for (const auto& [key, value] : model) {
        REQUIRE(values_of(s, key) == std::vector<int64_t>{value});
    }
    for (const auto& [key, value] : std::map<int64_t, int64_t>(model)) {
        s.erase_key(make_small(key));
    }
    CHECK(s.size() == 0);
    for (int i = 0; i < 10000; i++) {
        s.shrink();
    }
    // As OTP's, it keeps the chains that its second segment has room for. Nothing else is left.
    CHECK(s.chains() == 256 + 2048);
    CHECK(s.words() == 4096);
}

TEST_CASE("a bag keeps the objects of a key together, newest first, and no two that are equal",
          "[ets]") {
    HashStore s(Type::bag, 1);
    for (int64_t value : {3, 1, 2, 1, 3, 4}) {
        s.insert(object(5, value));
    }
    for (int64_t key = 0; key < 1000; key++) {
        s.insert(object(key + 10, 1));
    }
    s.insert(object(5, 9));
    CHECK(values_of(s, 5) == std::vector<int64_t>{9, 4, 2, 1, 3});
    Term words[3];
    CHECK(s.erase_equal(small_tuple(words, 5, 2)) == 1);
    CHECK(s.erase_equal(small_tuple(words, 5, 2)) == 0);
    CHECK(values_of(s, 5) == std::vector<int64_t>{9, 4, 1, 3});
    CHECK(s.erase_key(make_small(5)) == 4);
    CHECK(s.size() == 1000);
}

TEST_CASE("a duplicate_bag keeps equal objects", "[ets]") {
    HashStore s(Type::duplicate_bag, 1);
    for (int64_t value : {1, 2, 1}) {
        s.insert(object(5, value));
    }
    CHECK(values_of(s, 5) == std::vector<int64_t>{1, 2, 1});
    Term words[3];
    CHECK(s.erase_equal(small_tuple(words, 5, 1)) == 2);
    CHECK(values_of(s, 5) == std::vector<int64_t>{2});
}

TEST_CASE("while it is fixed chains stay as they are and deleted objects keep their place",
          "[ets]") {
    HashStore s(Type::set, 1);
    for (int64_t key = 0; key < 300; key++) {
        s.insert(object(key, 0));
    }
    const size_t chains = s.chains();
    s.fix();
    s.fix();
    for (int64_t key = 0; key < 300; key += 2) {
        CHECK(s.erase_key(make_small(key)) == 1);
        CHECK(s.erase_key(make_small(key)) == 0);
    }
    CHECK(s.size() == 150);
    CHECK(s.kept() == 150);
    CHECK(s.find(make_small(4)) == nullptr);
    CHECK(s.find_any(make_small(4)) != nullptr);
    // One that is marked comes back with new contents.
    s.insert(object(4, 44));
    CHECK(values_of(s, 4) == std::vector<int64_t>{44});
    CHECK(s.kept() == 149);
    for (int64_t key = 1000; key < 3000; key++) {
        s.insert(object(key, 0));
    }
    CHECK(s.chains() == chains);
    s.unfix();
    CHECK(s.kept() == 149);
    s.unfix();
    CHECK(s.kept() == 0);
    CHECK(s.find_any(make_small(6)) == nullptr);
    CHECK(s.size() == 2151);
    CHECK(contents(s).size() == 2151);
    // It grows with what comes next.
    CHECK(s.chains() == chains);
    s.insert(object(4, 44));
    CHECK(s.chains() == chains);
    s.insert(object(-1, 0));
    CHECK(s.chains() == chains + 5);
    CHECK(s.erase_key(make_small(-1)) == 1);
    s.fix();
    s.mark_all();
    CHECK(s.size() == 0);
    CHECK(s.kept() == 2151);
    s.unfix();
    CHECK(contents(s).empty());
}

TEST_CASE("an object is a copy of its own, binaries counted", "[ets]") {
    Heap h;
    std::string bytes(1000, 'x');
    const Term binary = make_binary(h, bytes.data(), bytes.size());
    Object* o = object_new(make_tuple(h, make_small(1), binary, make_string(h, "text", 4)));
    h.clear();
    REQUIRE(o->off_heap != nullptr);
    const auto* b = reinterpret_cast<const RefBinary*>(o->off_heap[1].raw);
    // relaxed: one thread.
    CHECK(b->refs.load(std::memory_order_relaxed) == 1);
    CHECK(is_cons(o->data[3]));
    CHECK(head(o->data[3]) == make_small('t'));
    object_free(o);
}

TEST_CASE("a store is freed in steps", "[ets]") {
    HashStore s(Type::duplicate_bag, 1);
    for (int64_t i = 0; i < 1000; i++) {
        s.insert(object(i % 100, i));
    }
    int steps = 1;
    while (s.free_some(100)) {
        steps++;
    }
    CHECK(steps == 10);
}
