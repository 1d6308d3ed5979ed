#include <catch2/catch.hpp>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "vm/process/process.hpp"
#include "vm/sched/run_queue.hpp"

namespace minivm {
namespace {

std::vector<std::unique_ptr<Process>> processes(size_t n) {
    std::vector<std::unique_ptr<Process>> all;
    for (size_t i = 0; i < n; ++i) {
        all.push_back(std::make_unique<Process>());
        all.back()->id = make_small(static_cast<int64_t>(i));
    }
    return all;
}

TEST_CASE("processes posted to a run queue come oldest first, behind those that are there") {
    const auto all = processes(5);
    RunQueue queue;
    queue.push(all[0].get());
    for (size_t i = 1; i < 4; ++i) {
        queue.post(all[i].get());
    }
    CHECK(queue.length() == 2);  // what was posted counts as one until somebody looks
    CHECK(queue.pop() == all[0].get());
    CHECK(queue.length() == 3);
    queue.push(all[4].get());
    for (size_t i = 1; i < 5; ++i) {
        CHECK(queue.pop() == all[i].get());
    }
    CHECK(queue.pop() == nullptr);
    CHECK(queue.length() == 0);
}

TEST_CASE("a posted process is found by who steals, raises, or picks at random") {
    const auto all = processes(2);
    RunQueue queue;
    RunQueue other;
    queue.post(all[0].get());
    CHECK(queue.steal(other, 1, 10) == all[0].get());
    CHECK(queue.length() == 0);
    queue.post(all[0].get());
    CHECK(queue.pop_random(5) == all[0].get());
    queue.push(all[0].get());
    queue.post(all[1].get());
    CHECK(queue.raise(*all[1], Priority::high));
    CHECK(queue.pop() == all[1].get());
    CHECK(queue.pop() == all[0].get());
}

TEST_CASE("who evens out the load takes the oldest of one priority, and none that is bound") {
    const auto all = processes(7);
    RunQueue queue;
    for (size_t i = 0; i < 7; ++i) {
        all[i]->priority = i % 2 == 0 ? Priority::low : Priority::normal;
        all[i]->bound_to = i == 2 ? 1 : 0;
        queue.push(all[i].get());
    }
    CHECK(queue.length_of(Priority::low) == 4);
    CHECK(queue.length_of(Priority::normal) == 3);
    CHECK(queue.take(Priority::high, 2) == nullptr);
    const Process* taken = queue.take(Priority::low, 2);
    CHECK(taken == all[0].get());
    CHECK(taken->next_in_queue == all[4].get());
    CHECK(all[4]->next_in_queue == nullptr);
    CHECK(queue.length() == 5);
    CHECK(queue.movable() == 4);
    CHECK(queue.length_of(Priority::low) == 2);
    queue.post(all[0].get());
    CHECK(queue.take(Priority::low, 100) == all[6].get());
    CHECK(all[6]->next_in_queue == all[0].get());
    CHECK(queue.length_of(Priority::low) == 1);
    for (const size_t i : {1u, 3u, 5u, 2u}) {
        CHECK(queue.pop() == all[i].get());
    }
    CHECK(queue.pop() == nullptr);
    CHECK(queue.length() == 0);
}

TEST_CASE("each process of low priority gets a turn for eight of each normal one") {
    const struct {
        size_t normal, low;
    } mixes[] = {{1, 1}, {4, 4}, {2, 40}, {100, 4}, {3, 1}};
    for (const auto& mix : mixes) {
        const auto all = processes(mix.normal + mix.low);
        std::vector<int> turns(all.size());
        RunQueue queue;
        for (size_t i = 0; i < all.size(); ++i) {
            all[i]->priority = i < mix.normal ? Priority::normal : Priority::low;
            queue.push(all[i].get());
        }
        for (size_t n = 0; n < 1000 * all.size(); ++n) {
            Process* const p = queue.pop();
            ++turns[static_cast<size_t>(small_value(p->id))];
            queue.push(p);
        }
        INFO(mix.normal << " normal, " << mix.low << " low");
        const int normal = turns[0];
        const int low = turns[mix.normal];
        CHECK(normal > low * 7);
        CHECK(normal < low * 9);
        for (size_t i = 0; i < all.size(); ++i) {
            CHECK(std::abs(turns[i] - (i < mix.normal ? normal : low)) <= 1);
        }
    }
}

// It would wait behind those that are more urgent than it is itself, which may be for ever.
TEST_CASE("a raised process that another scheduler takes is as urgent there") {
    const auto all = processes(4);
    for (const bool steals : {false, true}) {
        RunQueue queue;
        RunQueue other;
        all[0]->priority = Priority::high;
        other.push(all[0].get());
        queue.push(all[3].get());
        for (const size_t i : {1u, 2u}) {
            queue.push(all[i].get());
            REQUIRE(queue.raise(*all[i], Priority::max));
        }
        Process* const taken = steals ? queue.steal(other, 1, 10) : queue.take(Priority::max, 2);
        REQUIRE(taken == all[1].get());
        if (!steals) {
            other.push(all[1].get());
            CHECK(other.pop() == all[1].get());
            other.push(all[2].get());
        }
        CHECK(other.pop() == all[2].get());
        CHECK(other.pop() == all[0].get());
        CHECK(queue.pop() == all[3].get());
        all[1]->raised = all[2]->raised = false;
    }
}

// raise() looks into one queue after the other, and may find it in none.
TEST_CASE("a process that is to be raised while it is between two queues is raised where it arrives") {
    const auto all = processes(3);
    RunQueue queue;
    all[0]->priority = Priority::high;
    queue.push(all[0].get());
    all[1]->raise_wish = 1 + static_cast<uint8_t>(Priority::max);
    all[2]->raise_wish = 1 + static_cast<uint8_t>(Priority::low);
    queue.push(all[2].get());
    queue.post(all[1].get());
    CHECK(queue.pop() == all[1].get());
    CHECK(all[1]->raised);
    CHECK(all[1]->raise_wish == 0);
    CHECK(queue.pop() == all[0].get());
    CHECK(queue.pop() == all[2].get());
    CHECK_FALSE(all[2]->raised);
}

// A scheduler that reads length() 0 goes to sleep.
TEST_CASE("the length is not 0 while another thread moves what was posted") {
    constexpr size_t kMany = 300;
    constexpr int kRounds = 2000;
    const auto all = processes(kMany);
    RunQueue queue;
    RunQueue thief_queue;
    std::atomic<int> begun{0};
    std::atomic<int> done{0};
    std::thread thief([&] {
        for (int round = 1; round <= kRounds; ++round) {
            while (begun.load() != round) {
                std::this_thread::yield();
            }
            while (queue.steal(thief_queue, 1, 0) == nullptr) {
            }
            done.store(round);
        }
    });
    int zeros = 0;
    size_t popped = 0;
    for (int round = 1; round <= kRounds; ++round) {
        for (const auto& p : all) {
            queue.post(p.get());
        }
        begun.store(round);
        while (done.load() != round) {
            zeros += queue.length() == 0;
        }
        while (queue.pop() != nullptr) {
            ++popped;
        }
    }
    thief.join();
    CHECK(zeros == 0);
    CHECK(popped == (kMany - 1) * kRounds);
}

TEST_CASE("posted processes are each taken once") {
    constexpr size_t kPosters = 3;
    constexpr size_t kEach = 20000;
    const auto all = processes(kPosters * kEach);
    RunQueue queue;
    RunQueue thief_queue;
    std::vector<std::atomic<int>> taken(all.size());
    std::atomic<size_t> left{all.size()};
    const auto take = [&](Process* p) {
        // relaxed: each process is in one queue, so the count is right when all have ended.
        taken[static_cast<size_t>(small_value(p->id))].fetch_add(1, std::memory_order_relaxed);
        left.fetch_sub(1);
    };
    std::vector<std::thread> threads;
    for (size_t t = 0; t < kPosters; ++t) {
        threads.emplace_back([&, t] {
            for (size_t i = 0; i < kEach; ++i) {
                queue.post(all[t * kEach + i].get());
            }
        });
    }
    threads.emplace_back([&] {
        while (left.load() != 0) {
            for (Process* p = queue.steal(thief_queue, 1, 4); p != nullptr; p = thief_queue.pop()) {
                take(p);
            }
        }
    });
    while (left.load() != 0) {
        if (Process* p = queue.pop()) {
            take(p);
        }
    }
    for (std::thread& t : threads) {
        t.join();
    }
    CHECK(queue.length() == 0);
    size_t wrong = 0;
    for (const auto& n : taken) {
        wrong += n != 1;
    }
    CHECK(wrong == 0);
}

}  // namespace
}  // namespace minivm
