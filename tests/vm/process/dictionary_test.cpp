#include "vm/process/dictionary.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <random>

namespace minivm {
namespace {

TEST_CASE("the dictionary agrees with a map, below and above the size that is indexed") {
    for (const uint64_t keys : {4u, 9u, 200u}) {
        CAPTURE(keys);
        std::mt19937_64 random(keys + Catch::rngSeed());
        Dictionary d;
        std::map<int64_t, int64_t> model;
        for (int step = 0; step < 20000; ++step) {
            const auto k = static_cast<int64_t>(random() % keys);
            const Term key = make_small(k);
            const auto it = model.find(k);
            const Term old = it == model.end() ? kNonValue : make_small(it->second);
            switch (random() % 4) {
                case 0:
                    REQUIRE(d.put(key, make_small(step)) == old);
                    model[k] = step;
                    break;
                case 1:
                    REQUIRE(d.erase(key) == old);
                    model.erase(k);
                    break;
                default:
                    REQUIRE(d.get(key) == old);
            }
            REQUIRE(d.pairs().size() == model.size());
            if (random() % 2000 == 0) {
                d.clear();
                model.clear();
            }
        }
    }
}

}  // namespace
}  // namespace minivm
