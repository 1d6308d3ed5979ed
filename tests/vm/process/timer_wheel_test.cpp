#include <catch2/catch.hpp>

#include <map>
#include <memory>
#include <random>
#include <vector>

#include "vm/process/timers.hpp"

namespace minivm {
namespace {

// A process whose receive timer is all that is used of it; kTimedOut tells that it has fired.
struct Sleeper {
    std::unique_ptr<Process> process = std::make_unique<Process>();
    Sleeper() {
        process->receive_timer.is_receive = true;
        // As if it were in a queue: it is only marked.
        process->state.store(2);
    }
    bool fired() {
        const bool yes = (process->state.load() & 128) != 0;
        process->state.store(2);
        return yes;
    }
};

TEST_CASE("every timer fires in the first step that reaches its time, whatever the steps", "[one_thread]") {
    for (const uint64_t seed : {1u, 2u, 3u, 4u}) {
        CAPTURE(seed);
        std::mt19937_64 random(seed + Catch::rngSeed());
        uint64_t now = 1000 + random() % (uint64_t{1} << 40);
        TimerWheel wheel(now);
        std::vector<Sleeper> sleepers(200);
        std::map<size_t, uint64_t> due;
        for (int step = 0; step < 3000; ++step) {
            const size_t i = random() % sleepers.size();
            TimerNode* node = &sleepers[i].process->receive_timer;
            if (due.count(i) == 0) {
                // Distances of all sizes: within a ring, at its end, over several rings.
                const uint64_t distance = 1 + random() % (uint64_t{1} << (random() % 35));
                due[i] = now + distance;
                wheel.set(node, now + distance);
            } else if (random() % 3 == 0) {
                REQUIRE(wheel.cancel(node));
                REQUIRE_FALSE(wheel.cancel(node));
                due.erase(i);
            }
            if (random() % 2 == 0) {
                now += random() % (uint64_t{1} << (random() % 30));
                uint64_t next = ~uint64_t{0};
                for (const auto& [k, t] : due) {
                    next = std::min(next, t);
                }
                REQUIRE(wheel.next_due_ms() <= next);
                const unsigned fired = wheel.advance(now);
                unsigned expected = 0;
                for (size_t k = 0; k < sleepers.size(); ++k) {
                    const auto it = due.find(k);
                    const bool should = it != due.end() && it->second <= now;
                    REQUIRE(sleepers[k].fired() == should);
                    if (should) {
                        expected++;
                        due.erase(it);
                    }
                }
                REQUIRE(fired == expected);
            }
        }
        wheel.take_all();
    }
}

TEST_CASE("timers exactly at the borders of the rings") {
    for (const uint64_t start : {uint64_t{0}, uint64_t{0xFF}, uint64_t{0xFFFF}, uint64_t{0xFFFFFFFF},
                                 uint64_t{0x1FFFFFFFE}}) {
        for (const uint64_t distance :
             {uint64_t{1}, uint64_t{255}, uint64_t{256}, uint64_t{257}, uint64_t{65535},
              uint64_t{65536}, uint64_t{0xFFFFFFFF}, uint64_t{0x100000000}, uint64_t{0x300000001}}) {
            CAPTURE(start, distance);
            TimerWheel wheel(start);
            Sleeper s;
            wheel.set(&s.process->receive_timer, start + distance);
            wheel.advance(start + distance - 1);
            REQUIRE_FALSE(s.fired());
            wheel.advance(start + distance);
            REQUIRE(s.fired());
        }
    }
}

}  // namespace
}  // namespace minivm
