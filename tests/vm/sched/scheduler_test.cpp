#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <thread>

#include "tests/vm/support/fake_engine.hpp"
#include "vm/process/engine_calls.hpp"
#include "vm/process/mailbox.hpp"
#include "vm/process/process_life.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/signal.hpp"
#include "vm/process/state.hpp"
#include "vm/process/timer_wheel.hpp"
#include "vm/sched/pause.hpp"

namespace minivm {
namespace {

using test::Body;
using test::exit_normally;
using test::Machine;
using test::start;

struct Setting {
    int schedulers;
    uint64_t seed;
};
const Setting kSettings[] = {{1, 0}, {1, 7}, {2, 0}, {4, 0}, {4, 12345}, {3, 99}};

TEST_CASE("processes that yield all get to their end") {
    for (const Setting setting : kSettings) {
        CAPTURE(setting.schedulers, setting.seed);
        constexpr int kProcesses = 200;
        std::atomic<int> left{kProcesses};
        std::atomic<int> slices{0};
        Machine m(setting.schedulers, setting.seed);
        for (int i = 0; i < kProcesses; ++i) {
            start(nullptr, [&left, &slices, n = 0](Process& p) mutable {
                slices.fetch_add(1);
                if (++n < 20) {
                    return Stop::yielded;
                }
                if (left.fetch_sub(1) == 1) {
                    vm::halt(3, false);
                }
                return exit_normally(p);
            });
        }
        CHECK(m.wait() == 3);
        CHECK(left == 0);
        CHECK(slices == kProcesses * 20);
    }
}

TEST_CASE("a spawn storm: every process runs once and the table is empty at the end") {
    for (const Setting setting : kSettings) {
        CAPTURE(setting.schedulers, setting.seed);
        constexpr int kRoots = 8;
        constexpr int kChildren = 500;
        std::atomic<int> left{kRoots * kChildren + kRoots};
        Machine m(setting.schedulers, setting.seed);
        auto done = [&left](Process& p) {
            if (left.fetch_sub(1) == 1) {
                vm::halt(0, false);
            }
            return exit_normally(p);
        };
        for (int r = 0; r < kRoots; ++r) {
            start(nullptr, [done, n = 0](Process& p) mutable {
                for (int i = 0; i < 50; ++i) {
                    start(&p, done);
                    ++n;
                }
                return n < kChildren ? Stop::yielded : done(p);
            });
        }
        m.wait();
        CHECK(left == 0);
    }
}

// The first library that opens a type of resource asks for the ends of processes while they run. For ThreadSanitizer.
TEST_CASE("who asks for the ends of processes may do so while some end: a data race on the list") {
    constexpr int kProcesses = 400;
    static std::atomic<int> left;
    static std::atomic<uint64_t> asked;  // whose end the hook counts, as this test is the only one that halts
    left = kProcesses;
    asked = 0;
    static const auto one_less = [] {
        if (left.fetch_sub(1) == 1) {
            vm::halt(0, false);
        }
    };
    Machine m(4, 0);
    for (int i = 0; i < kProcesses; ++i) {
        start(nullptr, [i](Process& p) {
            if (i != kProcesses / 2) {
                one_less();
                return exit_normally(p);
            }
            asked = p.id.raw;
            at_process_exit([](Process& ended) {
                if (ended.id.raw == asked.load()) {
                    asked = 0;
                    one_less();
                }
            });
            return exit_normally(p);
        });
    }
    m.wait();
    CHECK(left == 0);
}

TEST_CASE("no process runs between pause and go_on, and all do afterwards") {
    for (const Setting setting : kSettings) {
        CAPTURE(setting.schedulers, setting.seed);
        std::atomic<int> slices{0};
        std::atomic<bool> ends{false};
        std::atomic<int> left{8};
        Machine m(setting.schedulers, setting.seed);
        for (int i = 0; i < 8; ++i) {
            start(nullptr, [&](Process& p) {
                slices.fetch_add(1);
                if (!ends) {
                    return Stop::yielded;
                }
                if (left.fetch_sub(1) == 1) {
                    vm::halt(0, false);
                }
                return exit_normally(p);
            });
        }
        for (int round = 0; round < 20; ++round) {
            REQUIRE(vm::pause(10000));
            const int then = slices;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            CHECK(slices == then);
            vm::go_on();
            while (slices == then) {
                std::this_thread::yield();
            }
        }
        ends = true;
        m.wait();
        CHECK(left == 0);
    }
}

// Each of `senders` sends numbered messages to all receivers; each receiver checks that every sender's
// numbers come in order.
void send_storm(Setting setting, int senders, int receivers, int messages) {
    CAPTURE(setting.schedulers, setting.seed);
    std::atomic<int> left{receivers};
    std::atomic<int> wrong{0};
    Machine m(setting.schedulers, setting.seed);
    std::vector<Term> pids;
    for (int r = 0; r < receivers; ++r) {
        auto last = std::make_shared<std::vector<int64_t>>(senders, -1);
        pids.push_back(start(nullptr, [&, last, got = 0](Process& p) mutable {
            for (;;) {
                const Term t = mailbox_peek(p);
                if (!is_value(t)) {
                    return Stop::waiting;
                }
                const auto sender = static_cast<size_t>(small_value(tuple_element(t, 0)));
                const int64_t n = small_value(tuple_element(t, 1));
                if (n != (*last)[sender] + 1) {
                    wrong.fetch_add(1);
                }
                (*last)[sender] = n;
                mailbox_remove(p);
                if (++got == senders * messages) {
                    if (left.fetch_sub(1) == 1) {
                        vm::halt(0, false);
                    }
                    return exit_normally(p);
                }
                if (got % 100 == 0) {
                    return Stop::yielded;
                }
            }
        }));
    }
    for (int s = 0; s < senders; ++s) {
        start(nullptr, [&, s, n = 0](Process& p) mutable {
            for (int burst = 0; burst < 25; ++burst) {
                for (const Term to : pids) {
                    const Term t = make_tuple(p.heap, make_small(s), make_small(n));
                    send_message(p, to, t);
                }
                if (++n == messages) {
                    return exit_normally(p);
                }
            }
            p.heap.clear();
            return Stop::yielded;
        });
    }
    m.wait();
    CHECK(wrong == 0);
    CHECK(left == 0);
}

TEST_CASE("a send storm: messages of one sender arrive in order, none is lost") {
    for (const Setting setting : kSettings) {
        send_storm(setting, 6, 3, 300);
    }
}

TEST_CASE("ping-pong: no wake-up is lost") {
    for (const Setting setting : kSettings) {
        CAPTURE(setting.schedulers, setting.seed);
        constexpr int kPairs = 8;
        constexpr int kRounds = 400;
        std::atomic<int> left{kPairs};
        Machine m(setting.schedulers, setting.seed);
        for (int i = 0; i < kPairs; ++i) {
            // The message is the sender's pid; the answer goes there.
            const Term echo = start(nullptr, [](Process& p) {
                while (true) {
                    const Term from = mailbox_peek(p);
                    if (!is_value(from)) {
                        return Stop::waiting;
                    }
                    mailbox_remove(p);
                    send_message(p, from, atoms::ok);
                }
            });
            start(nullptr, [&left, echo, n = 0, waiting = false](Process& p) mutable {
                if (waiting) {
                    if (!is_value(mailbox_peek(p))) {
                        return Stop::waiting;
                    }
                    mailbox_remove(p);
                }
                if (n++ == kRounds) {
                    if (left.fetch_sub(1) == 1) {
                        vm::halt(0, false);
                    }
                    return exit_normally(p);
                }
                waiting = true;
                send_message(p, echo, p.id);
                return Stop::waiting;
            });
        }
        m.wait();
        CHECK(left == 0);
    }
}

TEST_CASE("a receive timeout fires once, and not before its time") {
    for (const Setting setting : kSettings) {
        CAPTURE(setting.schedulers, setting.seed);
        constexpr int kProcesses = 20;
        std::atomic<int> left{kProcesses};
        std::atomic<int> early{0};
        Machine m(setting.schedulers, setting.seed);
        for (int i = 0; i < kProcesses; ++i) {
            const uint64_t ms = static_cast<uint64_t>(i % 5) * 3 + 1;
            start(nullptr, [&, ms, due = uint64_t{0}](Process& p) mutable {
                if (due == 0) {
                    due = monotonic_ns() + ms * 1000000;
                    set_receive_timeout(p, ms);
                    return Stop::waiting;
                }
                if (!take_timed_out(p)) {
                    return Stop::waiting;
                }
                if (monotonic_ns() < due || take_timed_out(p)) {
                    early.fetch_add(1);
                }
                mailbox_timeout(p);
                if (left.fetch_sub(1) == 1) {
                    vm::halt(0, false);
                }
                return exit_normally(p);
            });
        }
        m.wait();
        CHECK(left == 0);
        CHECK(early == 0);
    }
}

TEST_CASE("timeouts that are cancelled by a message never come later") {
    for (const Setting setting : kSettings) {
        CAPTURE(setting.schedulers, setting.seed);
        constexpr int kRounds = 300;
        std::atomic<int> stale{0};
        std::atomic<int> left{2};
        Machine m(setting.schedulers, setting.seed);
        for (int pair = 0; pair < 2; ++pair) {
            const Term receiver = start(nullptr, [&, n = 0](Process& p) mutable {
                for (;;) {
                    if (is_value(mailbox_peek(p))) {
                        mailbox_remove(p);
                        // The timer is cancelled: it must not count for the next receive.
                        p.was_waiting = true;
                        if (take_timed_out(p)) {
                            stale.fetch_add(1);
                        }
                        if (++n == kRounds) {
                            if (left.fetch_sub(1) == 1) {
                                vm::halt(0, false);
                            }
                            return exit_normally(p);
                        }
                        continue;
                    }
                    if (has_receive_timeout(p)) {
                        if (take_timed_out(p)) {
                            mailbox_timeout(p);
                        } else {
                            return Stop::waiting;
                        }
                    }
                    set_receive_timeout(p, 1);
                    return Stop::waiting;
                }
            });
            start(nullptr, [receiver, n = 0](Process& p) mutable {
                if (has_receive_timeout(p)) {
                    if (!take_timed_out(p)) {
                        return Stop::waiting;
                    }
                    mailbox_timeout(p);
                }
                send_message(p, receiver, make_small(n));
                if (++n == kRounds) {
                    return exit_normally(p);
                }
                if (n % 3 == 0) {
                    set_receive_timeout(p, 1);
                    return Stop::waiting;
                }
                return Stop::yielded;
            });
        }
        m.wait();
        CHECK(stale == 0);
    }
}

TEST_CASE("priorities: max before normal, low gets its turn") {
    Machine m(1);
    std::atomic<int> order{0};
    std::atomic<int> low_at{-1};
    std::atomic<int> left{0};
    start(nullptr, [&](Process& p) {
        constexpr int kNormal = 40;
        left = kNormal + 1;
        for (int i = 0; i <= kNormal; ++i) {
            auto pid = start(&p, [&, i](Process& self) {
                const int at = order.fetch_add(1);
                if (i == 0) {
                    if (self.priority != Priority::low) {
                        self.priority = Priority::low;
                        order.fetch_sub(1);
                        return Stop::yielded;
                    }
                    low_at = at;
                }
                if (left.fetch_sub(1) == 1) {
                    vm::halt(0, false);
                }
                return exit_normally(self);
            });
            (void)pid;
        }
        return exit_normally(p);
    });
    m.wait();
    // Its turn is due when eight times as many have ended as are left, which is before all of the 40 have.
    CHECK(low_at > 30);
    CHECK(low_at < 40);
}

TEST_CASE("pids are not used again soon and lookup refuses old ones") {
    Machine m(1);
    std::atomic<bool> ok{true};
    start(nullptr, [&, seen = std::set<Word>{}, n = 0](Process& p) mutable {
        const Term child = start(&p, [](Process& self) { return exit_normally(self); });
        ok = ok && seen.insert(child.raw).second;
        if (++n == 3000) {
            for (const Word raw : seen) {
                if (raw != child.raw && process_table::lookup(Term{raw}) != nullptr) {
                    ok = false;
                }
            }
            vm::halt(0, false);
            return exit_normally(p);
        }
        return Stop::yielded;
    });
    m.wait();
    CHECK(ok);
}

}  // namespace
}  // namespace minivm
