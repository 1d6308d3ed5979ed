#include "vm/ets/tree_store.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <map>
#include <random>
#include <thread>
#include <vector>

using namespace minivm;
using namespace minivm::ets;

namespace {

Object* object(Term key, int64_t value) {
    Term words[3];
    return object_new(put_tuple(words, key, make_small(value)));
}

// Height of the subtree, having looked at all that is kept about it.
int check(const Object* o, uint32_t* count) {
    if (o == nullptr) {
        *count = 0;
        return 0;
    }
    uint32_t left_count;
    uint32_t right_count;
    const int left = check(o->link[0], &left_count);
    const int right = check(o->link[1], &right_count);
    REQUIRE(std::abs(left - right) <= 1);
    REQUIRE(o->height == 1 + std::max(left, right));
    *count = 1 + left_count + right_count;
    REQUIRE(o->count == *count);
    return o->height;
}

const Object* root_of(const TreeStore& s) {
    // The root is the one whose subtree is the whole.
    const Object* root = nullptr;
    for (size_t i = 0; i < s.size(); i++) {
        const Object* o = s.nth(i);
        if (o->count == s.size()) {
            root = o;
        }
    }
    return root;
}

}  // namespace

TEST_CASE("a tree beside a map: balance, order, neighbours", "[ets]") {
    for (uint64_t seed : {1, 2, 3}) {
        TreeStore s(1);
        std::map<int64_t, int64_t> model;
        std::mt19937_64 random(seed + Catch::rngSeed());
        for (int round = 0; round < 6000; round++) {
            const int64_t key = static_cast<int64_t>(random() % 500);
            if (random() % 5 < (round % 2000 < 1000 ? 4u : 1u)) {
                s.insert(object(make_small(key), round));
                model[key] = round;
            } else {
                REQUIRE(s.erase_key(make_small(key)) == model.erase(key));
            }
            if (round % 100 == 0 && s.size() > 0) {
                uint32_t count;
                check(root_of(s), &count);
                REQUIRE(count == model.size());
            }
        }
        REQUIRE(s.size() == model.size());
        size_t n = 0;
        for (auto it = model.begin(); it != model.end(); ++it, ++n) {
            const Object* o = s.nth(n);
            REQUIRE(o->data[1] == make_small(it->first));
            REQUIRE(o->data[2] == make_small(it->second));
            const Object* next = s.next(o->data[1]);
            REQUIRE((next == nullptr) == (std::next(it) == model.end()));
            REQUIRE((next == nullptr || next == s.nth(n + 1)));
            const Object* before = s.previous(o->data[1]);
            REQUIRE(before == (n == 0 ? nullptr : s.nth(n - 1)));
        }
        CHECK(s.nth(n) == nullptr);
        CHECK(s.first() == s.nth(0));
        CHECK(s.last() == s.nth(n - 1));
        CHECK(s.next(make_small(-5)) == s.first());
        CHECK(s.previous(make_small(100000)) == s.last());
    }
}

TEST_CASE("steps in order go on from where the last one ended, whatever happens in between",
          "[ets]") {
    for (uint64_t seed : {1, 2, 3}) {
        TreeStore s(1);
        std::map<int64_t, int64_t> model;
        std::mt19937_64 random(seed + Catch::rngSeed());
        int64_t at = 0;
        for (int round = 0; round < 60000; round++) {
            const uint64_t choice = random() % 100;
            const auto key = static_cast<int64_t>(random() % 500);
            if (choice < 3) {
                s.insert(object(make_small(key), round));
                model[key] = round;
            } else if (choice < 5) {
                REQUIRE(s.erase_key(make_small(key)) == model.erase(key));
            } else if (choice < 6) {
                at = key;
            } else {
                // Mostly in one direction for a while.
                const bool forwards = (round / 50 % 2 == 0) == (choice < 90);
                const Object* o = forwards ? s.next(make_small(at)) : s.previous(make_small(at));
                auto it = forwards ? model.upper_bound(at) : model.lower_bound(at);
                const bool none = forwards ? it == model.end() : it == model.begin();
                REQUIRE((o == nullptr) == none);
                if (none) {
                    at = key;
                    continue;
                }
                it = forwards ? it : std::prev(it);
                REQUIRE(o->data[1] == make_small(it->first));
                REQUIRE(o->data[2] == make_small(it->second));
                at = it->first;
            }
        }
    }
}

TEST_CASE("several readers at once step through a tree", "[ets]") {
    TreeStore s(1);
    for (int64_t i = 0; i < 2000; i++) {
        s.insert(object(make_small(i), i));
    }
    std::atomic<int> wrong{0};
    std::vector<std::thread> readers;
    for (int r = 0; r < 3; r++) {
        readers.emplace_back([&, r] {
            for (int round = 0; round < 10; round++) {
                int64_t key = r == 0 ? -1 : 2000;
                const Object* o;
                while ((o = r == 0 ? s.next(make_small(key)) : s.previous(make_small(key))) !=
                       nullptr) {
                    key += r == 0 ? 1 : -1;
                    wrong += o->data[1] != make_small(key);
                }
                wrong += key != (r == 0 ? 1999 : 0);
            }
        });
    }
    for (std::thread& t : readers) {
        t.join();
    }
    CHECK(wrong == 0);
}

TEST_CASE("ascending and descending keys make no deep tree", "[ets]") {
    for (int sign : {1, -1}) {
        TreeStore s(1);
        for (int64_t i = 0; i < 4096; i++) {
            s.insert(object(make_small(sign * i), i));
        }
        CHECK(root_of(s)->height <= 18);
        for (int64_t i = 0; i < 4096; i += 2) {
            CHECK(s.erase_key(make_small(sign * i)) == 1);
        }
        uint32_t count;
        check(root_of(s), &count);
        CHECK(count == 2048);
    }
}

TEST_CASE("an integer and a float that compare equal are one key", "[ets]") {
    Heap h;
    TreeStore s(1);
    s.insert(object(make_small(1), 10));
    s.insert(object(make_float(h, 1.0), 20));
    CHECK(s.size() == 1);
    CHECK(is_float(s.find(make_small(1))->data[1]));
    CHECK(s.erase_key(make_small(1)) == 1);
    CHECK(s.first() == nullptr);
}

TEST_CASE("a tree is freed in steps", "[ets]") {
    TreeStore s(1);
    for (int64_t i = 0; i < 1000; i++) {
        s.insert(object(make_small((i * 7919) % 1000), i));
    }
    int steps = 1;
    while (s.free_some(100)) {
        steps++;
    }
    CHECK(steps == 10);
    CHECK(s.first() == nullptr);
}
