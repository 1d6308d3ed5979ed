#include <catch2/catch.hpp>

#include <atomic>
#include <memory>
#include <random>
#include <vector>

#include "tests/vm/support/fake_engine.hpp"
#include "vm/process/engine_calls.hpp"
#include "vm/process/mailbox.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/registry.hpp"
#include "vm/process/signal.hpp"
#include "vm/process/timers.hpp"

namespace minivm {
namespace {

using test::exit_normally;
using test::exit_with;
using test::Machine;
using test::start;

struct Setting {
    int schedulers;
    uint64_t seed;
};
const Setting kSettings[] = {{1, 0}, {1, 7}, {2, 0}, {4, 0}, {4, 4711}};

// Waits for one message in `body`; the non-value: Stop::waiting is to be returned.
Term next_message(Process& p) { return mailbox_peek(p); }

TEST_CASE("a monitor of a process that races with its end gives exactly one DOWN") {
    for (const Setting setting : kSettings) {
        CAPTURE(setting.schedulers, setting.seed);
        constexpr int kWatchers = 20;
        constexpr int kRounds = 30;
        std::atomic<int> left{kWatchers};
        std::atomic<int> wrong{0};
        Machine m(setting.schedulers, setting.seed);
        for (int w = 0; w < kWatchers; ++w) {
            start(nullptr, [&, round = 0, ref = RefId{}, target = kNonValue](Process& p) mutable {
                if (ref != RefId{}) {
                    const Term t = next_message(p);
                    if (!is_value(t)) {
                        return Stop::waiting;
                    }
                    const bool right = is_tuple_of(t, 5) && tuple_element(t, 0) == atoms::DOWN &&
                                       ref_id(tuple_element(t, 1)) == ref &&
                                       tuple_element(t, 3) == target &&
                                       (tuple_element(t, 4) == atoms::normal ||
                                        tuple_element(t, 4) == atoms::noproc);
                    wrong += right ? 0 : 1;
                    mailbox_remove(p);
                    wrong += p.mailbox.length == 0 && p.extra->monitors.empty() ? 0 : 1;
                    if (++round == kRounds) {
                        if (left.fetch_sub(1) == 1) {
                            vm::halt(0, false);
                        }
                        return exit_normally(p);
                    }
                }
                target = start(&p, [](Process& child) { return exit_normally(child); });
                ref = new_ref_id(p);
                monitor_process(p, ref, target, kNonValue, kNonValue);
                return Stop::waiting;
            });
        }
        m.wait();
        CHECK(left == 0);
        CHECK(wrong == 0);
    }
}

TEST_CASE("the end of one takes a whole ring of linked processes with it") {
    for (const Setting setting : kSettings) {
        CAPTURE(setting.schedulers, setting.seed);
        constexpr int kProcesses = 300;
        std::atomic<int> ended{0};
        std::atomic<int> all_linked{0};
        Machine m(setting.schedulers, setting.seed);
        auto pids = std::make_shared<std::vector<Term>>();
        start(nullptr, [&, pids, waiting = false](Process& p) mutable {
            if (waiting) {
                // Everybody is monitored by this process.
                for (;;) {
                    const Term t = next_message(p);
                    if (!is_value(t)) {
                        return Stop::waiting;
                    }
                    if (is_tuple_of(t, 5) && tuple_element(t, 4) == atoms::killed) {
                        ended++;
                    } else if (is_tuple_of(t, 5)) {
                        // Others get the reason of the one that was killed through their links.
                        ended += 1000000;
                    }
                    mailbox_remove(p);
                    if (ended == kProcesses) {
                        vm::halt(0, false);
                        return exit_normally(p);
                    }
                }
            }
            if (pids->empty()) {
                for (int i = 0; i < kProcesses; ++i) {
                    pids->push_back(start(
                        &p,
                        [pids, &all_linked, i](Process& self) {
                            // A message says that all are there to be linked with.
                            if (is_value(mailbox_peek(self))) {
                                mailbox_remove(self);
                                link_process(self, (*pids)[static_cast<size_t>(i + 1) % pids->size()]);
                                all_linked++;
                            }
                            return Stop::waiting;
                        },
                        false, true));
                }
                for (const Term pid : *pids) {
                    send_message(p, pid, atoms::ok);
                }
                return Stop::yielded;
            }
            if (all_linked < kProcesses) {
                return Stop::yielded;
            }
            waiting = true;
            send_exit(p.id, pids->front(), atoms::kill, false);
            return Stop::waiting;
        });
        m.wait();
        CHECK(ended == kProcesses);
    }
}

TEST_CASE("an unlink counts at once, even when the exit signal is already on its way") {
    for (const Setting setting : kSettings) {
        CAPTURE(setting.schedulers, setting.seed);
        constexpr int kProcesses = 40;
        constexpr int kRounds = 30;
        std::atomic<int> left{kProcesses};
        std::atomic<int> wrong{0};
        Machine m(setting.schedulers, setting.seed);
        for (int i = 0; i < kProcesses; ++i) {
            start(nullptr, [&, round = 0](Process& p) mutable {
                p.trap_exit = true;
                const Term child = start(
                    &p, [](Process& self) { return exit_with(self, atoms::kill); }, true, false);
                unlink_process(p, child);
                // What came before the unlink is a message; nothing may come after it.
                handle_signals(p);
                const uint32_t before = p.mailbox.length;
                (void)before;
                if (++round < kRounds) {
                    return Stop::yielded;
                }
                wrong += p.mailbox.length == 0 ? 0 : 1;
                if (left.fetch_sub(1) == 1) {
                    vm::halt(0, false);
                }
                return exit_normally(p);
            });
        }
        m.wait();
        CHECK(wrong == 0);
    }
}

TEST_CASE("exit signals: normal is ignored, kill cannot be trapped, others become messages") {
    Machine m(2);
    std::atomic<int> step{0};
    std::atomic<bool> traps{false};
    std::vector<Term> reasons;
    start(nullptr, [&, stage = 0, target = kNonValue](Process& p) mutable {
        p.trap_exit = true;
        if (stage == 0) {
            stage = 1;
            target = start(
                &p,
                [&](Process& self) {
                    self.trap_exit = true;
                    traps = true;
                    const Term t = mailbox_peek(self);
                    if (!is_value(t)) {
                        return Stop::waiting;
                    }
                    // {'EXIT', From, badarg} has become a message.
                    const bool right = is_tuple_of(t, 3) && tuple_element(t, 0) == atoms::EXIT &&
                                       tuple_element(t, 2) == atoms::badarg;
                    step += right ? 1 : 100;
                    mailbox_remove(self);
                    return Stop::waiting;
                },
                true, false);
            return Stop::yielded;
        }
        if (!traps) {
            return Stop::yielded;
        }
        if (stage == 1) {
            stage = 2;
            send_exit(p.id, target, atoms::badarg, false);
            send_exit(p.id, target, atoms::kill, false);
        }
        const Term t = mailbox_peek(p);
        if (!is_value(t)) {
            return Stop::waiting;
        }
        reasons.push_back(tuple_element(t, 2));
        mailbox_remove(p);
        vm::halt(0, false);
        return exit_normally(p);
    });
    m.wait();
    REQUIRE(reasons.size() == 1);
    CHECK(reasons[0] == atoms::killed);
    CHECK(step <= 1);  // it may be killed before it looks at the message
}

TEST_CASE("registered names: a name belongs to one process at a time and goes with it") {
    for (const Setting setting : kSettings) {
        CAPTURE(setting.schedulers, setting.seed);
        constexpr int kProcesses = 60;
        std::atomic<int> left{kProcesses};
        std::atomic<int> holders{0};
        std::atomic<int> wrong{0};
        Machine m(setting.schedulers, setting.seed);
        for (int i = 0; i < kProcesses; ++i) {
            start(nullptr, [&, has = false](Process& p) mutable {
                if (!has) {
                    has = registry::register_name(atoms::logical_processors, p.id) ==
                          registry::Registered::yes;
                    if (has && holders.fetch_add(1) != 0) {
                        wrong++;
                    }
                    return Stop::yielded;
                }
                wrong += registry::whereis(atoms::logical_processors) == p.id ? 0 : 1;
                holders--;
                if (left.fetch_sub(1) == 1) {
                    vm::halt(0, false);
                }
                return exit_normally(p);
            });
        }
        m.wait();
        CHECK(left == 0);
        CHECK(wrong == 0);
    }
}

TEST_CASE("an alias stops with unalias, and a reply alias after one message") {
    Machine m(2);
    std::vector<Term> got;
    start(nullptr, [&, stage = 0, open = RefId{}, once = RefId{}](Process& p) mutable {
        if (stage == 0) {
            stage = 1;
            open = new_alias_id(p);
            once = new_alias_id(p);
            extra_of(p).aliases[open].kind = AliasKind::explicit_unalias;
            extra_of(p).aliases[once].kind = AliasKind::reply;
            const Term me = p.id;
            start(&p, [open, once, me](Process& self) {
                const Term a = put_ref(self.heap.alloc(kRefWords), open);
                const Term b = put_ref(self.heap.alloc(kRefWords), once);
                send_message(self, a, make_small(1));
                send_message(self, b, make_small(2));
                send_message(self, b, make_small(3));
                send_message(self, a, make_small(4));
                send_message(self, me, make_small(5));
                return exit_normally(self);
            });
            return Stop::waiting;
        }
        for (;;) {
            const Term t = mailbox_peek(p);
            if (!is_value(t)) {
                return Stop::waiting;
            }
            got.push_back(t);
            mailbox_remove(p);
            if (t == make_small(5)) {
                remove_alias(p, open);
                const Term a = put_ref(p.heap.alloc(kRefWords), open);
                send_message(p, a, make_small(6));
                handle_signals(p);
                if (p.mailbox.length != 0) {
                    got.push_back(make_small(6));
                }
                vm::halt(0, false);
                return exit_normally(p);
            }
        }
    });
    m.wait();
    const std::vector<Term> expected = {make_small(1), make_small(2), make_small(4), make_small(5)};
    CHECK(got == expected);
}

// The queue as it should be, and receives on the real one: of any message, of one that is there, of one that comes
// while others are looked at, with a marker in front of it or not.
class PriorityQueue {
public:
    PriorityQueue(Process& p, uint32_t seed) : p_(p), random_(seed), alias_(new_alias_id(p)) {
        extra_of(p).aliases[alias_] = Alias{AliasKind::explicit_unalias, true};
    }

    bool holds() {
        for (int step = 0; step < 300; ++step) {
            const uint32_t what = random_() % 5;
            const bool right = what < 2    ? (send(), true)
                               : what == 2 ? receives_first()
                               : what == 3 ? receives_one_that_is_there()
                                           : receives_one_to_come();
            if (!right || !is_in_order()) {
                return false;
            }
        }
        return true;
    }

private:
    bool one_in(uint32_t n) { return random_() % n == 0; }
    void send_as(int64_t n, bool priority) {
        if (priority) {
            send_priority_message(&p_, put_ref(p_.heap.alloc(kRefWords), alias_), make_small(n));
        } else {
            send_message(p_, p_.id, make_small(n));
        }
        handle_signals(p_);
        (priority ? first_ : rest_).push_back(n);
    }
    int64_t send() {
        send_as(++last_, one_in(3));
        return last_;
    }
    void forget(int64_t n) {
        std::erase(first_, n);
        std::erase(rest_, n);
    }
    std::vector<int64_t> all() const {
        std::vector<int64_t> both = first_;
        both.insert(both.end(), rest_.begin(), rest_.end());
        return both;
    }
    bool is_in_order() const {
        const std::vector<int64_t> wanted = all();
        size_t i = 0;
        for (const Signal* m = p_.mailbox.first; m != nullptr; m = m->next, ++i) {
            if (i == wanted.size() || m->term != make_small(wanted[i])) {
                return false;
            }
        }
        return i == wanted.size() && p_.mailbox.length == i;
    }
    bool receives_first() {
        const Term t = mailbox_peek(p_);
        if (!is_value(t)) {
            mailbox_timeout(p_);
            return first_.empty() && rest_.empty();
        }
        const bool right = t == make_small(all().front());
        mailbox_remove(p_);
        forget(all().front());
        return right;
    }
    static constexpr size_t kIsThere = ~size_t{0};
    static constexpr size_t kMostAtOnce = 40;
    // comes: the message is sent when so many others have been looked at.
    bool receives(int64_t n, size_t comes) {
        for (size_t looked = 0;; ++looked) {
            if (looked == comes) {
                send_as(n, one_in(2));
            } else if (one_in(8) && all().size() < kMostAtOnce) {
                send();
            }
            const Term t = mailbox_peek(p_);
            if (t == make_small(n)) {
                mailbox_remove(p_);
                forget(n);
                return true;
            }
            if (is_value(t)) {
                mailbox_next(p_);
            } else if (looked > comes || comes == kIsThere) {
                return false;  // it was passed by
            }
        }
    }
    bool receives_one_that_is_there() {
        const std::vector<int64_t> there = all();
        return there.empty() || receives(there[random_() % there.size()], kIsThere);
    }
    bool receives_one_to_come() {
        if (one_in(2)) {
            const Term marker = recv_marker_reserve(p_);
            const Term ref = put_ref(p_.heap.alloc(kRefWords), new_ref_id(p_));
            recv_marker_bind(p_, marker, ref);
            send();
            recv_marker_use(p_, ref);
            const bool right = receives(++last_, random_() % (2 + all().size()));
            recv_marker_clear(p_, ref);
            return right;
        }
        return receives(++last_, random_() % (2 + all().size()));
    }

    Process& p_;
    std::mt19937 random_;
    RefId alias_;
    int64_t last_ = 0;
    std::vector<int64_t> first_, rest_;
};

TEST_CASE("priority messages stand in front of all others, and no receive passes one by") {
    for (uint32_t seed = 0; seed < 40; ++seed) {
        CAPTURE(seed);
        Machine m(1);
        bool right = false;
        start(nullptr, [&](Process& p) {
            right = PriorityQueue(p, seed).holds();
            vm::halt(0, false);
            return exit_normally(p);
        });
        m.wait();
        CHECK(right);
    }
}

TEST_CASE("a receive marker lets a receive skip older messages, and survives their removal") {
    Machine m(1);
    bool right = true;
    start(nullptr, [&](Process& p) {
        const auto send_self = [&p](int64_t n) {
            send_message(p, p.id, make_small(n));
            handle_signals(p);
        };
        send_self(1);
        send_self(2);
        const Term marker = recv_marker_reserve(p);
        const Term ref = put_ref(p.heap.alloc(kRefWords), new_ref_id(p));
        recv_marker_bind(p, marker, ref);
        send_self(3);
        recv_marker_use(p, ref);
        right = right && mailbox_peek(p) == make_small(3);
        mailbox_timeout(p);
        // The message before the marker goes: the marker must not point into it.
        right = right && mailbox_peek(p) == make_small(1);
        mailbox_next(p);
        right = right && mailbox_peek(p) == make_small(2);
        mailbox_remove(p);
        recv_marker_use(p, ref);
        right = right && mailbox_peek(p) == make_small(3);
        mailbox_remove(p);
        recv_marker_use(p, ref);
        right = right && !is_value(mailbox_peek(p));
        send_self(4);
        right = right && mailbox_peek(p) == make_small(4);
        recv_marker_clear(p, ref);
        recv_marker_use(p, ref);
        mailbox_timeout(p);
        right = right && mailbox_peek(p) == make_small(1);
        // More markers than there are places: the oldest go.
        for (int i = 0; i < 3 * kReceiveMarkers; ++i) {
            const Term r = put_ref(p.heap.alloc(kRefWords), new_ref_id(p));
            recv_marker_bind(p, recv_marker_reserve(p), r);
        }
        right = right && p.extra->marker_count == kReceiveMarkers;
        vm::halt(0, false);
        return exit_normally(p);
    });
    m.wait();
    CHECK(right);
}

TEST_CASE("timers to a process and to a name: fired, cancelled and read") {
    for (const Setting setting : kSettings) {
        CAPTURE(setting.schedulers, setting.seed);
        Machine m(setting.schedulers, setting.seed);
        std::vector<int64_t> order;
        std::atomic<int> wrong{0};
        start(nullptr, [&, stage = 0](Process& p) mutable {
            if (stage == 0) {
                stage = 1;
                registry::register_name(atoms::low, p.id);
                const uint64_t now = monotonic_ms();
                timers::start(p, now + 30, p.id, make_small(3), false);
                timers::start(p, now + 10, atoms::low, make_small(1), false);
                timers::start(p, now + 20, p.id, make_small(2), true);
                // Of the same millisecond: the one set first fires first.
                timers::start(p, now + 30, p.id, make_small(4), false);
                const RefId far = timers::start(p, now + 100000, p.id, make_small(9), false);
                const int64_t left = timers::read(far);
                wrong += left > 99000 && left <= 100000 ? 0 : 1;
                wrong += timers::cancel(far) >= 99000 ? 0 : 1;
                wrong += timers::cancel(far) == -1 && timers::read(far) == -1 ? 0 : 1;
                wrong += timers::cancel(new_ref_id(p)) == -1 ? 0 : 1;
                return Stop::waiting;
            }
            for (;;) {
                const Term t = mailbox_peek(p);
                if (!is_value(t)) {
                    return Stop::waiting;
                }
                if (is_tuple_of(t, 3)) {
                    wrong += tuple_element(t, 0) == atoms::timeout ? 0 : 1;
                    order.push_back(small_value(tuple_element(t, 2)));
                } else {
                    order.push_back(small_value(t));
                }
                mailbox_remove(p);
                if (order.size() == 4) {
                    vm::halt(0, false);
                    return exit_normally(p);
                }
            }
        });
        m.wait();
        CHECK(order == std::vector<int64_t>{1, 2, 3, 4});
        CHECK(wrong == 0);
    }
}

TEST_CASE("messages to processes that end meanwhile are dropped, not lost track of") {
    for (const Setting setting : kSettings) {
        CAPTURE(setting.schedulers, setting.seed);
        constexpr int kSenders = 6;
        constexpr int kRounds = 60;
        std::atomic<int> left{kSenders};
        Machine m(setting.schedulers, setting.seed);
        for (int i = 0; i < kSenders; ++i) {
            start(nullptr, [&, round = 0](Process& p) mutable {
                for (int n = 0; n < 10; ++n) {
                    const Term victim = start(&p, [k = 0](Process& self) mutable {
                        mailbox_peek(self);
                        return ++k < 2 ? Stop::yielded : exit_normally(self);
                    });
                    for (int64_t k = 0; k < 5; ++k) {
                        send_message(p, victim, make_tuple(p.heap, make_small(k), p.id));
                    }
                    send_exit(p.id, victim, atoms::kill, false);
                }
                p.heap.clear();
                if (++round < kRounds) {
                    return Stop::yielded;
                }
                if (left.fetch_sub(1) == 1) {
                    vm::halt(0, false);
                }
                return exit_normally(p);
            });
        }
        m.wait();
        CHECK(left == 0);
    }
}

}  // namespace
}  // namespace minivm
