#include <catch2/catch.hpp>

#include <atomic>
#include <thread>

#include "tests/vm/support/fake_engine.hpp"
#include "vm/dist/peer.hpp"
#include "vm/process/extra.hpp"
#include "vm/process/mailbox.hpp"
#include "vm/process/scheduling.hpp"
#include "vm/process/signal.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/external_ids.hpp"

namespace minivm::dist {
namespace {

using test::exit_normally;
using test::Machine;
using test::start;

Term foreign_pid(Heap& h, Term node, uint32_t number) {
    Term* object = h.alloc(5);
    object[0] = Term{make_header(Kind::ext_pid, 4)};
    object[1] = node;
    object[2] = Term{number};
    object[3] = Term{0};
    object[4] = Term{1};
    return make_boxed(object);
}

// Ends the connection there is, or begins one that nobody reads.
void cut_or_connect(Peer& p, Term controller) {
    uint32_t connection = 0;
    {
        const std::lock_guard lock(p.mutex);
        if (p.state == Peer::State::idle) {
            begin_pending(p);
            connected(p, controller, capabilities().all, 1);
            return;
        }
        connection = p.connection;
    }
    lost(p, connection, atoms::normal);
}

TEST_CASE("a monitor and a link that race with the loss of their connection are told of it exactly once") {
    for (const int schedulers : {1, 2, 4}) {
        CAPTURE(schedulers);
        constexpr int kProcesses = 12;
        constexpr int kRounds = 60;
        std::atomic<int> left{kProcesses};
        std::atomic<int> wrong{0};
        std::atomic<int> ties{0};
        Machine m(schedulers, 0);
        const Term node = atom_table::intern("tied@elsewhere");
        Peer& to = peer(node);
        for (int w = 0; w < kProcesses; ++w) {
            start(nullptr, [&, w, round = 0, waits_for = 0, ref = RefId{}](Process& p) mutable {
                p.trap_exit = true;
                for (;;) {
                    while (waits_for > 0) {
                        const Term t = mailbox_peek(p);
                        if (!is_value(t)) {
                            return Stop::waiting;
                        }
                        const bool is_down = is_tuple_of(t, 5) && tuple_element(t, 0) == atoms::DOWN;
                        const bool is_exit = is_tuple_of(t, 3) && tuple_element(t, 0) == atoms::EXIT;
                        const Term reason = is_down ? tuple_element(t, 4) : is_exit ? tuple_element(t, 2) : kNonValue;
                        const Term who = is_down ? tuple_element(t, 3) : is_exit ? tuple_element(t, 1) : kNonValue;
                        const bool is_right = reason == atoms::noconnection && is_kind(who, Kind::ext_pid) &&
                                              (!is_down || ref_id(tuple_element(t, 1)) == ref);
                        wrong += is_right ? 0 : 1;
                        mailbox_remove(p);
                        waits_for--;
                    }
                    const bool has_ties = p.extra != nullptr && !(p.extra->monitors.empty() && p.extra->links.empty());
                    wrong += p.mailbox.length == 0 && !has_ties ? 0 : 1;
                    if (round == kRounds) {
                        left--;
                        return exit_normally(p);
                    }
                    const Term pid = foreign_pid(p.heap, node, static_cast<uint32_t>(w % 3));
                    ref = new_ref_id(p);
                    if (const Term foreign = monitor(p, ref, pid); is_value(foreign)) {
                        Monitor set;
                        set.target = foreign;
                        extra_of(p).monitors.emplace(ref, set);
                        waits_for++;
                        ties++;
                    }
                    if (const Term foreign = link(p, pid); is_value(foreign)) {
                        extra_of(p).links[foreign.raw] = Link{};
                        waits_for++;
                        ties++;
                    }
                    if (waits_for == 0) {
                        return Stop::yielded;  // there was no connection
                    }
                    round++;
                }
            });
        }
        const Term controller = start(nullptr, [](Process&) { return Stop::waiting; });
        std::thread cutter([&] {
            while (left > 0) {
                cut_or_connect(to, controller);
                std::this_thread::yield();
            }
        });
        cutter.join();  // it sends: the machine stops behind it
        vm::halt(0, false);
        m.wait();
        CHECK(wrong == 0);
        CHECK(ties > 0);
        const std::lock_guard lock(to.mutex);
        CHECK((to.state != Peer::State::idle || (to.foreigns.empty() && to.monitors.empty() && to.ids.empty())));
    }
}

TEST_CASE("a handle is of one connection, and nobody makes one up") {
    Machine m(1, 0);
    Peer& p = peer(atom_table::intern("handled@elsewhere"));
    Heap h;
    Term first;
    {
        const std::lock_guard lock(p.mutex);
        begin_pending(p);
        first = handle_term(h, p);
    }
    CHECK(peer_of_handle(first) == &p);
    CHECK(peer_of_handle(kNil) == nullptr);
    CHECK(peer_of_handle(make_tuple(h, make_small(1), make_small(2))) == nullptr);
    CHECK(peer_of_handle(make_tuple(h, make_small(1 << 20), tuple_element(first, 1))) == nullptr);
    RefId other = ref_id(tuple_element(first, 1));
    other.high |= 0xFFFFF;
    CHECK(peer_of_handle(make_tuple(h, tuple_element(first, 0), put_ref(h.alloc(kRefWords), other))) == nullptr);
    CHECK(lost(p, p.connection, atoms::normal, Lost::pending));
    CHECK(peer_of_handle(first) == nullptr);
    {
        const std::lock_guard lock(p.mutex);
        begin_pending(p);
        connected(p, atoms::undefined, 0, 1);
    }
    CHECK(peer_of_handle(first) == nullptr);
    CHECK_FALSE(lost(p, p.connection, atoms::normal, Lost::pending));  // it has come about
    CHECK_FALSE(lost(p, p.connection - 1, atoms::normal));
    CHECK(lost(p, p.connection, atoms::normal));
    CHECK_FALSE(lost(p, p.connection, atoms::normal));
}

TEST_CASE("who takes part in no tie any more is forgotten, and comes back as somebody else") {
    Machine m(1, 0);
    Peer& p = peer(atom_table::intern("idle@elsewhere"));
    const std::lock_guard lock(p.mutex);
    Foreign& f = p.foreign({0, 7, 0, 1});
    const Term id = f.id;
    CHECK(is_foreign(id));
    CHECK(peer_of(id) == &p);
    CHECK(&p.foreign({0, 7, 0, 1}) == &f);
    CHECK(p.foreign({0, 7, 0, 2}).id != id);  // of another life of that node
    p.drop_if_idle(imm_data(p.foreign({0, 7, 0, 2}).id));
    f.monitors = 1;
    p.drop_if_idle(imm_data(id));
    CHECK(p.find({0, 7, 0, 1}) == &f);
    f.monitors = 0;
    p.drop_if_idle(imm_data(id));
    CHECK(p.find({0, 7, 0, 1}) == nullptr);
    CHECK(p.foreign({0, 7, 0, 1}).id != id);
    p.drop_if_idle(imm_data(p.foreign({0, 7, 0, 1}).id));
    CHECK(p.foreigns.empty());
}

Term foreign_ref(Heap& h, Term node, uint32_t number) {
    const uint32_t words[] = {number, 0, 0};
    return put_external_ref(h, {node, 1}, words);
}

void handle_terms(Channel& c, Term control) {
    const std::string packet = packet_of(control);
    CHECK(handle_packet(c, reinterpret_cast<const uint8_t*>(packet.data()), packet.size()));
}

TEST_CASE("a side that does not announce payloads of exits gets the reason in the control message") {
    for (const uint64_t flags : {uint64_t{0}, uint64_t{kExitPayload}}) {
        CAPTURE(flags);
        Machine m(1, 0);
        g_this_node = node_word({atom_table::intern("tested@here"), 2});  // else put() drops the answers
        Heap h;
        Peer& p = peer(atom_table::intern("plain@elsewhere"));
        std::shared_ptr<Channel> channel;
        {
            const std::lock_guard lock(p.mutex);
            begin_pending(p);
            connected(p, make_local_pid(1), flags, 1);  // a process: the packets stay until it asks for them
            channel = p.channel;
        }
        const Term from = foreign_pid(h, p.name, 7);
        const Term earlier = foreign_pid(h, this_node_name(), 8);  // of this node's creation 1
        const Term ref = foreign_ref(h, p.name, 9);
        const Term name = atom_table::intern("nobody_has_this_name");
        handle_terms(*channel, make_tuple(h, op(Op::link), from, earlier));
        handle_terms(*channel, make_tuple(h, op(Op::monitor_p), from, name, ref));
        std::vector<std::string> expected;
        expected.push_back(
            packet_with_reason(flags, h, Op::payload_exit, Op::exit, atoms::noproc, earlier, from));
        expected.push_back(packet_with_reason(flags, h, Op::payload_monitor_p_exit, Op::monitor_p_exit, atoms::noproc,
                                              name, from, ref));
        {
            const std::lock_guard lock(p.mutex);
            CHECK(std::vector<std::string>(p.out.begin(), p.out.end()) == expected);
        }
        CHECK(lost(p, channel->connection(), atoms::normal));
        h.clear();
        g_this_node = node_word(kNotAlive);
    }
}

TEST_CASE("a watch is found by its reference, and the other watches of that process stay") {
    Foreign f;
    const auto ref = [](uint32_t n) { return ForeignRef{{atoms::undefined, 1}, {n, 0, 0}}; };
    for (uint32_t n = 1; n <= 3; ++n) {
        f.watch(RefId{n, 0}, make_small(n), ref(n));
    }
    f.unwatch(f.watch_keys.at(ref(2)));
    CHECK(f.watches.size() == 2);
    CHECK_FALSE(f.watch_keys.contains(ref(2)));
    CHECK(f.watches.at(f.watch_keys.at(ref(3))).local == make_small(3));
    f.watch(RefId{4, 0}, make_small(4), ref(3));  // the other side uses a reference twice
    f.unwatch(RefId{3, 0});
    CHECK(f.watch_keys.at(ref(3)) == RefId{4, 0});
    f.unwatch(RefId{4, 0});
    f.unwatch(RefId{1, 0});
    CHECK(f.watch_keys.empty());
    CHECK(f.is_idle());
}

}  // namespace
}  // namespace minivm::dist
