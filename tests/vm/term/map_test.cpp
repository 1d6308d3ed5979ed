#include "vm/term/map.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "vm/term/atom_table.hpp"
#include "vm/term/compare.hpp"

using namespace minivm;

namespace {

struct ExactOrder {
    bool operator()(Term a, Term b) const { return compare_terms_exact(a, b) < 0; }
};
using Model = std::map<Term, Term, ExactOrder>;

struct MaskGuard {
#ifdef MINIVM_DEBUG
    explicit MaskGuard(uint32_t mask) { map::g_hash_mask_for_tests = mask; }
    ~MaskGuard() { map::g_hash_mask_for_tests = ~uint32_t{0}; }
#else
    explicit MaskGuard(uint32_t) {}
#endif
};

bool agrees(Term m, const Model& model) {
    if (!map::is_well_formed(m) || map_size(m) != model.size() ||
        is_flat_map(m) != (model.size() <= kMaxFlatMap)) {
        return false;
    }
    for (const auto& [key, value] : model) {
        if (map::get(m, key) != value) {
            return false;
        }
    }
    std::vector<Term> seen;
    map::Iterator it(m);
    for (Term key, value; it.next(&key, &value);) {
        const auto found = model.find(key);
        if (found == model.end() || found->second != value) {
            return false;
        }
        seen.push_back(key);
    }
    std::sort(seen.begin(), seen.end(), ExactOrder());
    return seen.size() == model.size() &&
           std::adjacent_find(seen.begin(), seen.end(), [](Term a, Term b) {
               return compare_terms_exact(a, b) == 0;
           }) == seen.end();
}

// Keys of several kinds, from a small set, so that operations hit; equal keys are not one object.
class Keys {
  public:
    Keys(Heap& h, std::mt19937_64& random, int64_t range) : h_(h), random_(random), range_(range) {}
    Term key() {
        const int64_t i = static_cast<int64_t>(random_() % static_cast<uint64_t>(range_));
        switch (i % 6) {
        case 0: return make_small(i);
        case 1: return make_atom(static_cast<uint32_t>(i) % atoms::kPredefinedCount);
        case 2: return make_tuple(h_, make_small(i), kNil);
        case 3: return make_float(h_, static_cast<double>(i - 3));  // equals a small under ==
        case 4: {
            const std::string text = "key" + std::to_string(i);
            return make_binary(h_, text.data(), text.size());
        }
        default: return cons(h_, make_small(i), kNil);
        }
    }
    Term value() { return make_small(static_cast<int64_t>(random_() % 4)); }

  private:
    Heap& h_;
    std::mt19937_64& random_;
    int64_t range_;
};

// One random operation on the map and on the model.
void step(Heap& h, std::mt19937_64& random, Keys& keys, Term& m, Model& model) {
    const Term key = keys.key();
    const Term value = keys.value();
    switch (random() % 12) {
    case 0:
    case 1:
    case 2:
    case 3: {
        const auto found = model.find(key);
        const bool same = found != model.end() && found->second == value;
        const Term result = map::put(h, m, key, value);
        REQUIRE((!same || result == m));
        m = result;
        model[key] = value;
        break;
    }
    case 4:
    case 5:
    case 6: {
        const Term result = map::remove(h, m, key);
        REQUIRE((result == m) == (model.count(key) == 0));
        m = result;
        model.erase(key);
        break;
    }
    case 7: {
        const Term result = map::update(h, m, key, value);
        REQUIRE(is_value(result) == (model.count(key) != 0));
        if (is_value(result)) {
            m = result;
            model[key] = value;
        }
        break;
    }
    case 8: {
        std::vector<Term> pairs;
        for (size_t n = 1 + random() % 20; n > 0; n--) {
            pairs.push_back(keys.key());
            pairs.push_back(keys.value());
            model[pairs[pairs.size() - 2]] = pairs.back();
        }
        m = map::update_assoc(h, m, pairs.data(), pairs.size() / 2);
        break;
    }
    case 9: {
        std::vector<Term> pairs;
        Term first_missing = kNonValue;
        for (size_t n = 1 + random() % 4; n > 0; n--) {
            pairs.push_back(keys.key());
            pairs.push_back(keys.value());
            const Term key_of_pair = pairs[pairs.size() - 2];
            if (model.count(key_of_pair) == 0 &&
                (!is_value(first_missing) || compare_terms_exact(key_of_pair, first_missing) < 0)) {
                first_missing = key_of_pair;  // in term order
            }
        }
        Term missing = kNonValue;
        const Term result = map::update_exact(h, m, pairs.data(), pairs.size() / 2, &missing);
        REQUIRE(missing == first_missing);
        REQUIRE(is_value(result) == !is_value(missing));
        if (is_value(result)) {
            m = result;
            for (size_t i = 0; i < pairs.size(); i += 2) {
                model[pairs[i]] = pairs[i + 1];
            }
        }
        break;
    }
    case 10: {
        std::vector<Term> more_keys;
        std::vector<Term> more_values;
        for (size_t n = random() % 60; n > 0; n--) {
            more_keys.push_back(keys.key());
            more_values.push_back(keys.value());
        }
        Model other;
        for (size_t i = 0; i < more_keys.size(); i++) {
            other[more_keys[i]] = more_values[i];
        }
        const Term b = map::from_pairs(h, more_keys.data(), more_values.data(), more_keys.size());
        REQUIRE(agrees(b, other));
        if (random() % 2 == 0) {
            m = map::merge(h, m, b);
            for (const auto& [k, v] : other) {
                model[k] = v;
            }
        } else {
            m = map::merge(h, b, m);
            model.insert(other.begin(), other.end());
        }
        break;
    }
    default: {
        const auto found = model.find(key);
        REQUIRE(map::get(m, key) == (found != model.end() ? found->second : kNonValue));
        break;
    }
    }
}

void compare_with_model(uint64_t seed, int64_t range, int steps) {
    CAPTURE(seed, range);
    std::mt19937_64 random(seed + Catch::rngSeed());
    Heap h;
    Keys keys(h, random, range);
    Term m = map::empty(h);
    Model model;
    for (int i = 0; i < steps; i++) {
        step(h, random, keys, m, model);
        if (i % 4 == 0 || model.size() <= kMaxFlatMap + 2) {
            REQUIRE(agrees(m, model));
        }
    }
    // The same pairs, put in another order, give the same shape.
    Term again = map::empty(h);
    std::vector<std::pair<Term, Term>> pairs(model.begin(), model.end());
    std::shuffle(pairs.begin(), pairs.end(), random);
    for (const auto& [key, value] : pairs) {
        again = map::put(h, again, key, value);
    }
    REQUIRE(agrees(again, model));
    CHECK(size_of_term(again, true) == size_of_term(m, true));
    CHECK(exact_equal(again, m));
}

}  // namespace

TEST_CASE("maps agree with a model around the change from flat to hash") {
    for (uint64_t seed = 1; seed <= 6; seed++) {
        compare_with_model(seed, 70, 400);
    }
}

TEST_CASE("maps agree with a model when small and when large") {
    compare_with_model(11, 12, 300);
    compare_with_model(12, 400, 600);
    compare_with_model(13, 5000, 400);
}

#ifdef MINIVM_DEBUG
TEST_CASE("maps agree with a model when hashes collide") {
    for (const uint32_t mask : {0u, 1u, 0x80000000u, 0xF8000000u, 0x3u, 0xC0000000u}) {
        CAPTURE(mask);
        const MaskGuard guard(mask);
        compare_with_model(mask + 21, 80, 250);
    }
}
#endif

TEST_CASE("a map of 33 pairs becomes flat when one is removed") {
    Heap h;
    std::vector<Term> keys;
    std::vector<Term> values;
    for (int i = 0; i < 33; i++) {
        keys.push_back(make_small((i * 7) % 33));
        values.push_back(make_small(i));
    }
    const Term large = map::from_pairs(h, keys.data(), values.data(), 33);
    CHECK(is_hash_map(large));
    const Term small = map::remove(h, large, make_small(5));
    REQUIRE(is_flat_map(small));
    CHECK(map::is_well_formed(small));
    CHECK(is_hash_map(map::put(h, small, make_small(100), kNil)));
    CHECK(map::remove(h, small, make_small(5)) == small);
}

TEST_CASE("the keys of a flat map are sorted, integers before floats") {
    Heap h;
    Term keys[5] = {make_float(h, 1.0), make_small(2), atoms::ok, make_float(h, -1.0), make_small(1)};
    Term values[5] = {make_small(0), make_small(1), make_small(2), make_small(3), make_small(4)};
    const Term m = map::from_pairs(h, keys, values, 5);
    const Term* sorted = tuple_elements(boxed_ptr(m)[1]);
    CHECK(sorted[0] == make_small(1));
    CHECK(sorted[1] == make_small(2));
    CHECK(sorted[2] == make_float(h, -1.0));
    CHECK(sorted[3] == make_float(h, 1.0));
    CHECK(sorted[4] == atoms::ok);
    CHECK(map::get(m, make_small(1)) == make_small(4));
    CHECK(map::get(m, make_float(h, 1.0)) == make_small(0));
    CHECK(map::get(m, make_float(h, 2.0)) == kNonValue);
}

TEST_CASE("the last of equal keys wins") {
    Heap h;
    for (const size_t n : {10u, 1000u}) {
        std::vector<Term> keys;
        std::vector<Term> values;
        for (size_t i = 0; i < n; i++) {
            keys.push_back(make_tuple(h, make_small(static_cast<int64_t>(i % (n / 5)))));
            values.push_back(make_small(static_cast<int64_t>(i)));
        }
        const Term m = map::from_pairs(h, keys.data(), values.data(), n);
        CHECK(map_size(m) == n / 5);
        CHECK(map::is_well_formed(m));
        CHECK(map::get(m, make_tuple(h, make_small(1))) == make_small(static_cast<int64_t>(n - n / 5 + 1)));
    }
}

TEST_CASE("an update shares the keys of a flat map") {
    Heap h;
    Term keys[2] = {atoms::ok, atoms::error};
    Term values[2] = {make_small(1), make_small(2)};
    const Term m = map::from_pairs(h, keys, values, 2);
    const Term changed = map::put(h, m, atoms::ok, make_small(3));
    CHECK(boxed_ptr(changed)[1] == boxed_ptr(m)[1]);
    CHECK(map::get(m, atoms::ok) == make_small(1));
    CHECK(map::get(changed, atoms::ok) == make_small(3));
    CHECK(map::merge(h, m, changed) == changed);
}

TEST_CASE("an iteration goes on from any of its positions") {
    for (const uint32_t mask : {~0u, 0x80000000u, 0u}) {
        const MaskGuard guard(mask);
        Heap h;
        for (const int64_t n : {0, 1, 32, 33, 100, 3000}) {
            if (mask != ~0u && n > 100) {
                continue;
            }
            std::vector<Term> keys;
            std::vector<Term> values;
            for (int64_t i = 0; i < n; i++) {
                keys.push_back(make_small(i * i));
                values.push_back(make_small(i));
            }
            const Term m = map::from_pairs(h, keys.data(), values.data(), keys.size());
            std::vector<Term> expected;
            map::Iterator whole(m);
            for (Term key, value; whole.next(&key, &value);) {
                expected.push_back(key);
            }
            REQUIRE(expected.size() == static_cast<size_t>(n));
            map::Iterator::Position position{0, 0};
            for (size_t i = 0; i < expected.size(); i++) {
                map::Iterator it(m);
                REQUIRE(it.seek(position));
                Term key;
                Term value;
                REQUIRE(it.next(&key, &value));
                REQUIRE(key == expected[i]);
                REQUIRE(it.position(&position) == (i + 1 < expected.size()));
            }
            map::Iterator it(m);
            CHECK_FALSE(it.seek({~Word{0}, ~Word{0}}));
        }
    }
}

TEST_CASE("merging in parts gives what merging at once gives") {
    std::mt19937_64 random(4 + Catch::rngSeed());
    Heap h;
    for (int round = 0; round < 20; round++) {
        Keys keys(h, random, 4000);
        Term m[2];
        Model model;
        for (Term& t : m) {
            t = map::empty(h);
            for (int i = 0; i < 300; i++) {
                const Term key = keys.key();
                const Term value = keys.value();
                t = map::put(h, t, key, value);
                model[key] = value;
            }
        }
        // The model holds the later value of each key that was put; b's puts came last.
        size_t common = 0;
        Term parts[map::kMergeParts];
        for (unsigned i = 0; i < map::kMergeParts; i++) {
            parts[i] = map::merge_part(h, m[0], m[1], i, &common);
        }
        const Term merged = map::merge_finish(h, m[0], m[1], parts, common);
        REQUIRE(agrees(merged, model));
        REQUIRE(exact_equal(merged, map::merge(h, m[0], m[1])));
    }
}
