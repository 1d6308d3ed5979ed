// Scenarios, and what becomes of them with each mutant.
#pragma once

#include "tests/support/model/explorer.hpp"

#include <string>
#include <utility>
#include <vector>

namespace minivm::model {

template <typename W>
std::unique_ptr<World> make() {
    return std::make_unique<W>();
}

struct Scenario {
    const char* name;
    MakeWorld make;
    int max_preemptions = 2;  // as in Limits; for tests that run all the time
    bool strong = false;

    // `more` preemptions than usual; -1: any number.
    Limits limits(int more = 0) const {
        Limits limits;
        limits.max_preemptions = more < 0 ? -1 : max_preemptions + more;
        limits.strong = strong;
        return limits;
    }
};

// Each mutant of the file that `is_wanted`, with the first error that a scenario finds, or none.
template <size_t kCount, typename F>
std::vector<std::pair<Mutant, std::string>> run_mutants(const Scenario (&scenarios)[kCount],
                                                        std::string_view file, F is_wanted) {
    std::vector<std::pair<Mutant, std::string>> all;
    for (const Scenario& scenario : scenarios) {
        for (const Mutant& m : mutants_of(explore(scenario.make, scenario.limits()), file)) {
            if (!is_wanted(m)) {
                continue;
            }
            size_t at = 0;
            while (at < all.size() && !(all[at].first == m)) {
                ++at;
            }
            if (at == all.size()) {
                all.emplace_back(m, "");
            }
            if (all[at].second.empty()) {
                all[at].second = explore(scenario.make, scenario.limits(), m).error;
            }
        }
    }
    return all;
}

}  // namespace minivm::model
