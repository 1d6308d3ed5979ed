#include "vm/progress/thread_progress.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <thread>
#include <vector>

namespace minivm {
namespace {

namespace tp = thread_progress;

TEST_CASE("deferred work waits for a thread that is awake, and runs when it sleeps") {
    tp::Participant* a = tp::join();
    tp::Participant* b = tp::join();
    REQUIRE(a != nullptr);
    std::atomic<int> ran{0};
    const auto count = [](void* data) { static_cast<std::atomic<int>*>(data)->fetch_add(1); };
    std::atomic<int> stage{0};
    std::thread other([&] {
        tp::wake(b);
        stage = 1;
        while (stage != 2) {
            std::this_thread::yield();
        }
        tp::sleep(b);
        stage = 3;
    });
    while (stage != 1) {
        std::this_thread::yield();
    }
    tp::wake(a);
    tp::later(a, count, &ran);
    for (int i = 0; i < 10; ++i) {
        tp::quiescent(a);
    }
    CHECK(ran == 0);  // b has not moved
    stage = 2;
    while (stage != 3) {
        std::this_thread::yield();
    }
    other.join();
    for (int i = 0; i < 5; ++i) {
        tp::quiescent(a);
    }
    CHECK(ran == 1);
    tp::later(a, count, &ran);
    tp::sleep(a);  // all sleep: the last one does the work
    CHECK(ran == 2);
    tp::later(count, &ran);  // from a thread that takes no part, while all sleep
    CHECK(ran == 3);
    tp::leave(a);
    tp::leave(b);
    tp::run_all();
}

// Readers look at what a shared pointer points to; a writer replaces it and frees the old one later.
// A reader that finds a freed one fails the test (and the sanitizers).
TEST_CASE("nothing is freed under a reader, managed or in a delay section") {
    struct Node {
        std::atomic<uint64_t> alive{0x600DF00D};
    };
    std::atomic<Node*> shared{new Node};
    std::atomic<bool> stop{false};
    std::atomic<int> wrong{0};
    std::atomic<int> freed{0};
    static std::atomic<int>* freed_count;
    freed_count = &freed;
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
        threads.emplace_back([&, i] {
            tp::Participant* t = tp::join();
            tp::wake(t);
            for (int n = 0; !stop; ++n) {
                if (shared.load(std::memory_order_acquire)->alive != 0x600DF00D) {
                    wrong++;
                }
                tp::quiescent(t);
                if (n % 64 == 63 + i) {
                    tp::sleep(t);
                    std::this_thread::yield();
                    tp::wake(t);
                }
            }
            tp::sleep(t);
            tp::leave(t);
        });
    }
    threads.emplace_back([&] {
        while (!stop) {
            tp::DelaySection section;
            if (shared.load(std::memory_order_acquire)->alive != 0x600DF00D) {
                wrong++;
            }
        }
    });
    tp::Participant* writer = tp::join();
    tp::wake(writer);
    constexpr int kRounds = 3000;
    for (int i = 0; i < kRounds; ++i) {
        Node* old = shared.exchange(new Node);
        tp::later(
            writer,
            [](void* data) {
                auto* node = static_cast<Node*>(data);
                node->alive = 0xDEAD;
                delete node;
                freed_count->fetch_add(1);
            },
            old);
        tp::quiescent(writer);
    }
    tp::sleep(writer);
    stop = true;
    for (std::thread& t : threads) {
        t.join();
    }
    tp::leave(writer);
    tp::run_all();
    CHECK(wrong == 0);
    CHECK(freed == kRounds);
    delete shared.load();
}

TEST_CASE("an instruction barrier is executed once by each thread, before deferred work runs") {
    tp::Participant* const t = tp::join();
    REQUIRE(t != nullptr);
    tp::wake(t);
    const auto pass = [t] {
        for (int n = 0; n < 4; ++n) {
            tp::quiescent(t);
        }
    };
    bool ran = false;
    const auto run = [](void* flag) { *static_cast<bool*>(flag) = true; };
    tp::later(t, run, &ran);
    const uint64_t before = tp::instruction_barriers();
    pass();
    REQUIRE(ran);
    CHECK(tp::instruction_barriers() == before);  // none is wanted

    tp::want_instruction_barrier();
    ran = false;
    uint64_t at_work = 0;
    struct Seen {
        bool* ran;
        uint64_t* barriers;
    } seen{&ran, &at_work};
    tp::later(
        t,
        [](void* data) {
            auto* s = static_cast<Seen*>(data);
            *s->ran = true;
            *s->barriers = tp::instruction_barriers();
        },
        &seen);
    pass();
    REQUIRE(ran);
    CHECK(at_work == before + 1);
    CHECK(tp::instruction_barriers() == before + 1);

    // One that sleeps passes it when it wakes.
    tp::sleep(t);
    tp::want_instruction_barrier();
    CHECK(tp::instruction_barriers() == before + 1);
    tp::wake(t);
    CHECK(tp::instruction_barriers() == before + 2);
    tp::sleep(t);
    tp::leave(t);
}

}  // namespace
}  // namespace minivm
