#include "vm/process/gc.hpp"

#include <catch2/catch.hpp>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/support/rounds.hpp"
#include "tests/support/shadow_term.hpp"
#include "vm/process/mailbox.hpp"
#include "vm/process/signal.hpp"

using namespace minivm;
using test_support::CountedMagic;
using test_support::Shadow;
using test_support::ShadowMaker;

namespace {

constexpr Word kReturnAddress = 0x7F0012345674;  // tagged 100
static_assert((kReturnAddress & kTagMask) == kTagHeader);

struct TestProcess : Process {
    explicit TestProcess(size_t min_words = 0) {
        id = make_local_pid(17);
        heap_init(*this, min_words);
    }
    ~TestProcess() { heap_release(*this); }
    void push(Term t) {
        ensure_gc(*this, 1, nullptr, 0);
        *--heap.end = t;
    }
    size_t free_words() const { return static_cast<size_t>(heap.end - heap.top); }
    bool in_block(Term t) const { return any_ptr(t) >= heap_start && any_ptr(t) < heap.top; }
    bool in_old(Term t) const { return any_ptr(t) >= old_start && any_ptr(t) < old_top; }
};

// A process with random terms in x registers, on the stack, as its group leader and in its mailbox, and
// what these terms must look like.
class Mutator {
  public:
    explicit Mutator(uint64_t seed) : random_(seed + Catch::rngSeed()), maker_(p_.heap, random_) {
        p_.group_leader = kNil;
        for (size_t i = 0; i < kRegisters; i++) {
            x_[i] = kNil;
            shadows_[i] = Shadow();
        }
    }
    ~Mutator() {
        for (Signal* s = p_.mailbox.first; s != nullptr;) {
            Signal* next = s->next;
            release_off_heap(s->off_heap);
            fragment_free_chain(s->fragments);
            delete s;
            s = next;
        }
    }

    void step() {
        switch (random_() % 16) {
        case 0:
        case 1:
        case 2:
        case 3:
        case 4: {  // a new term
            const size_t i = random_() % kRegisters;
            sync();
            shadows_[i] = maker_.make(static_cast<int>(random_() % 5), &shadows_);
            if (shadows_[i].shape->weight > 3000) {
                shadows_[i] = Shadow();
            }
            x_[i] = shadows_[i].term;
            break;
        }
        case 5: {  // forget
            const size_t i = random_() % kRegisters;
            x_[i] = kNil;
            shadows_[i] = Shadow();
            break;
        }
        case 6: {  // move between registers
            const size_t i = random_() % kRegisters;
            const size_t j = random_() % kRegisters;
            x_[i] = x_[j];
            shadows_[i] = shadows_[j];
            break;
        }
        case 7:
        case 8:  // a frame
            if (stack_.size() < 200) {
                collect_for(4, false);
                *--p_.heap.end = Term{kReturnAddress};
                for (int n = 0; n < 3; n++) {
                    const size_t i = random_() % kRegisters;
                    *--p_.heap.end = n == 2 ? make_catch(5) : x_[i];
                    stack_.push_back(n == 2 ? Shadow{make_catch(5), nullptr} : shadows_[i]);
                }
            }
            break;
        case 9:
            if (!stack_.empty()) {
                p_.heap.end += 4;
                stack_.resize(stack_.size() - 3);
            }
            break;
        case 10: {
            const size_t i = random_() % kRegisters;
            p_.group_leader = x_[i];
            group_leader_ = shadows_[i];
            break;
        }
        case 11: receive_or_send(); break;
        case 12: collect_for(random_() % 4 == 0 ? random_() % 5000 : random_() % 50, true); break;
        default: collect_for(random_() % 50, false); break;
        }
    }

    void check() {
        for (size_t i = 0; i < kRegisters; i++) {
            REQUIRE(shadows_[i].matches(x_[i]));
        }
        const Term* s = p_.stack_base;
        for (size_t i = 0; i < stack_.size(); i++) {
            if (i % 3 == 0) {
                REQUIRE((--s)->raw == kReturnAddress);
            }
            --s;
            if (i % 3 == 2) {
                REQUIRE(*s == make_catch(5));
            } else {
                REQUIRE(stack_[i].matches(*s));
            }
        }
        REQUIRE(s == p_.heap.end);
        REQUIRE(group_leader_.matches(p_.group_leader));
        size_t i = 0;
        for (Signal* m = p_.mailbox.first; m != nullptr; m = m->next) {
            REQUIRE(messages_[i++].matches(m->term));
        }
        REQUIRE(i == messages_.size());
    }

    TestProcess p_;

  private:
    static constexpr size_t kRegisters = 12;

    // The terms of the shadows as they are now, since objects may have moved.
    void sync() {
        for (size_t i = 0; i < kRegisters; i++) {
            shadows_[i].term = x_[i];
        }
    }

    void collect_for(size_t words, bool full) {
        collect_gc(p_, words, x_, kRegisters, full);
        REQUIRE(p_.free_words() >= words + kReserveWords);
        REQUIRE(p_.heap.fragments == nullptr);
        REQUIRE(p_.heap.received == nullptr);
        verify_heap(p_);
        collections_++;
    }

    void receive_or_send() {
        if (messages_.size() < 5) {
            const size_t i = random_() % kRegisters;
            Heap h;
            Signal* m = new Signal;
            m->term = copy_term(x_[i], h, true);
            take_fragments(*m, h);
            *p_.mailbox.last = m;
            p_.mailbox.last = &m->next;
            p_.mailbox.length++;
            messages_.push_back(shadows_[i]);
            return;
        }
        Signal* m = p_.mailbox.first;
        // Look at it; x registers refer into it; a collection may come before it is taken.
        const size_t i = random_() % kRegisters;
        x_[i] = m->term;
        shadows_[i] = messages_.front();
        p_.in_receive_examine = true;
        if (random_() % 2 == 0) {
            collect_for(random_() % 10, false);
            REQUIRE(m->on_heap);
        }
        p_.in_receive_examine = false;
        if (m->on_heap) {
            p_.mailbox.on_heap_count--;
        }
        const auto attach = random_() % 2 == 0 ? attach_fragments : attach_received;
        attach(p_.heap, m->fragments, m->off_heap, m->off_heap_bytes);
        p_.mailbox.first = m->next;
        if (m->next == nullptr) {
            p_.mailbox.last = &p_.mailbox.first;
        }
        p_.mailbox.length--;
        messages_.erase(messages_.begin());
        delete m;
    }

    std::mt19937_64 random_;
    ShadowMaker maker_;
    Term x_[kRegisters];
    std::vector<Shadow> shadows_ = std::vector<Shadow>(kRegisters);
    std::vector<Shadow> stack_;
    std::vector<Shadow> messages_;
    Shadow group_leader_;
    size_t collections_ = 0;
};

Term list_of(Heap& h, int64_t n) {
    Term list = kNil;
    for (int64_t i = n; i > 0; i--) {
        list = cons(h, make_small(i), list);
    }
    return list;
}

bool is_list_of(Term list, int64_t n) {
    for (int64_t i = 1; i <= n; i++, list = tail(list)) {
        if (!is_cons(list) || head(list) != make_small(i)) {
            return false;
        }
    }
    return is_nil(list);
}

}  // namespace

TEST_CASE("random graphs survive minor and major collections", "[one_thread]") {
    const uint64_t first = Catch::rngSeed();
    for (uint64_t seed = first; seed < first + test::rounds(20, 4); seed++) {
        CAPTURE(seed);
        {
            Mutator mutator(seed);
            for (int i = 0; i < 400; i++) {
                mutator.step();
                if (i % 5 == 0) {
                    mutator.check();
                }
            }
            mutator.check();
        }
        REQUIRE(CountedMagic::alive == 0);
    }
}

TEST_CASE("an object that survives two collections is promoted and stays where it is") {
    TestProcess p;
    Term x[1] = {list_of(p.heap, 10)};
    CHECK_FALSE(collect_gc(p, 0, x, 1, false).major);
    CHECK(p.in_block(x[0]));
    CHECK(p.high_water == p.heap.top);
    CHECK_FALSE(collect_gc(p, 0, x, 1, false).major);
    CHECK(p.in_old(x[0]));
    CHECK(p.heap.top == p.heap_start);
    const Term promoted = x[0];
    for (int i = 0; i < 10; i++) {
        list_of(p.heap, 20);
        CHECK_FALSE(collect_gc(p, 0, x, 1, false).major);
        CHECK(x[0] == promoted);
    }
    CHECK(is_list_of(x[0], 10));
    CHECK(p.gc_minor_since_full == 12);
    CHECK(collect_gc(p, 0, x, 1, true).major);
    CHECK(p.in_block(x[0]));
    CHECK(p.old_start == nullptr);
    CHECK(p.gc_minor_since_full == 0);
    CHECK(is_list_of(x[0], 10));
}

TEST_CASE("the number of minor collections between major ones is bounded by fullsweep_after") {
    TestProcess p;
    p.fullsweep_after = 3;
    std::vector<bool> major;
    for (int i = 0; i < 8; i++) {
        major.push_back(collect_gc(p, 0, nullptr, 0, false).major);
    }
    CHECK(major == std::vector<bool>{false, false, false, true, false, false, false, true});
}

TEST_CASE("garbage is collected and reported") {
    TestProcess p;
    Term x[1] = {list_of(p.heap, 1000)};
    list_of(p.heap, 5000);
    CHECK(p.needs_gc());
    const GcResult result = collect_gc(p, 100, x, 1, false);
    CHECK(result.before_words == 12000);
    CHECK(result.after_words == 2000);
    CHECK_FALSE(p.needs_gc());
    x[0] = kNil;
    CHECK(collect_gc(p, 0, x, 1, true).after_words == 0);
}

namespace {

// A message [1, ..., n] in a fragment, at the end of the queue.
void queue_list(Process& p, int64_t n) {
    Heap h;
    auto* m = new Signal;
    Heap source;
    m->term = copy_term(list_of(source, n), h, true);
    source.clear();
    take_fragments(*m, h);
    *p.mailbox.last = m;
    p.mailbox.last = &m->next;
    p.mailbox.length++;
}

}  // namespace

// Each message that was not moved into the block was the reason for a collection of its own, which has
// the whole stack for roots: large ones, and those behind a long queue.
TEST_CASE("who receives large messages collects when they are more than what is free in the block") {
    TestProcess p(30000);
    int64_t received = 0;
    Term x[1] = {kNil};
    size_t words = 0;
    while (!p.needs_gc()) {
        queue_list(p, 1000 + received);
        REQUIRE(mailbox_peek(p) != kNonValue);
        x[0] = cons(p.heap, mailbox_peek(p), x[0]);
        mailbox_remove(p);
        verify_heap(p);
        words += 2 * static_cast<size_t>(1000 + received++);
    }
    CHECK(received > 10);
    CHECK(words > p.free_words());
    collect_gc(p, 0, x, 1, false);
    CHECK_FALSE(p.needs_gc());
    for (int64_t i = received; i-- > 0;) {
        CHECK(is_list_of(head(x[0]), 1000 + i));
        x[0] = tail(x[0]);
    }
}

// Half a million messages in the heap were as many roots of each collection.
TEST_CASE("who examines a long queue leaves it outside the heap but for the first few") {
    TestProcess p(30000);
    for (int i = 0; i < 1000; i++) {
        queue_list(p, 3);
    }
    queue_list(p, 7);
    for (int round = 0; round < 3; round++) {
        while (is_value(mailbox_peek(p)) && !is_list_of(mailbox_peek(p), 7)) {
            mailbox_next(p);
        }
        CHECK(p.mailbox.on_heap_count < 100);
        Signal* m = p.mailbox.first;
        for (uint32_t i = 0; i < p.mailbox.on_heap_count; i++, m = m->next) {
            CHECK(m->on_heap);
        }
        p.mailbox.save = &p.mailbox.first;
    }
    while (p.mailbox.first != nullptr) {
        CHECK(is_list_of(mailbox_peek(p), p.mailbox.length == 1 ? 7 : 3));
        mailbox_remove(p);
        ensure_gc(p, 0, nullptr, 0);
    }
    CHECK(p.mailbox.on_heap_count == 0);
}

TEST_CASE("what is shared stays shared") {
    TestProcess p;
    const Term shared = make_tuple(p.heap, atoms::ok, make_small(1));
    Term x[2] = {make_tuple(p.heap, shared, cons(p.heap, shared, kNil)), shared};
    for (int i = 0; i < 4; i++) {
        collect_gc(p, 0, x, 2, i == 3);
        CHECK(tuple_element(x[0], 0) == x[1]);
        CHECK(head(tuple_element(x[0], 1)) == x[1]);
    }
}

TEST_CASE("literals are left alone") {
    Heap h;
    Term root = make_tuple(h, atoms::ok, list_of(h, 3));
    auto area = LiteralArea::create(&root, 1);
    h.clear();
    TestProcess p;
    Term x[2] = {root, cons(p.heap, root, kNil)};
    p.heap.alloc(1000)[0] = Term{make_header(Kind::heap_bits, 999)};
    for (int i = 0; i < 4; i++) {
        collect_gc(p, 0, x, 2, i % 2 == 1);
        CHECK(x[0] == root);
        CHECK(head(x[1]) == root);
    }
    CHECK(is_list_of(tuple_element(root, 1), 3));
}

TEST_CASE("the block grows with what lives in it and shrinks after a major collection") {
    TestProcess p;
    CHECK(p.block_words() == 233);
    Term x[1] = {kNil};
    for (int i = 0; i < 100000; i++) {
        ensure_gc(p, 2, x, 1);
        x[0] = cons(p.heap, make_small(i), x[0]);
    }
    CHECK(heap_capacity_words(p) >= 200000);
    CHECK(heap_capacity_words(p) < 2000000);
    x[0] = tail(x[0]);
    size_t length = 0;
    for (Term rest = x[0]; is_cons(rest); rest = tail(rest)) {
        length++;
    }
    CHECK(length == 99999);
    x[0] = kNil;
    collect_gc(p, 0, x, 1, true);
    CHECK(p.block_words() == 233);
    CHECK(heap_capacity_words(p) == 233);
}

TEST_CASE("a process that only makes garbage keeps a small block") {
    TestProcess p;
    Term x[1] = {kNil};
    for (int i = 0; i < 300000; i++) {
        ensure_gc(p, 2, x, 1);
        x[0] = cons(p.heap, make_small(i), kNil);
    }
    CHECK(heap_capacity_words(p) <= 4185 + 10000);
}

TEST_CASE("the stack moves with the block and grows it") {
    TestProcess p;
    for (int i = 0; i < 20000; i++) {
        p.push(Term{kReturnAddress});
        const Term pair = cons(p.heap, make_small(i), kNil);
        ensure_gc(p, 1, nullptr, 0);
        *--p.heap.end = i % 7 == 0 ? kNil : make_small(i);
        static_cast<void>(pair);
    }
    for (int i = 19999; i >= 0; i--) {
        REQUIRE(*p.heap.end++ == (i % 7 == 0 ? kNil : make_small(i)));
        REQUIRE((p.heap.end++)->raw == kReturnAddress);
    }
    CHECK(p.heap.end == p.stack_base);
    collect_gc(p, 0, nullptr, 0, true);
    CHECK(p.block_words() == 233);
}

TEST_CASE("shrinking leaves no room but the reserve") {
    TestProcess p;
    Term x[1] = {list_of(p.heap, 5)};
    shrink_gc(p, x, 1);
    CHECK(p.block_words() == 10 + kReserveWords);
    CHECK(p.free_words() == kReserveWords);
    CHECK(is_list_of(x[0], 5));
    collect_gc(p, 50, x, 1, false);
    CHECK(p.free_words() >= 50 + kReserveWords);
    CHECK(is_list_of(x[0], 5));
}

TEST_CASE("all other roots of a process are updated") {
    TestProcess p;
    Term* saved = new Term[2]{list_of(p.heap, 1), list_of(p.heap, 2)};
    p.saved_x = saved;
    p.live_x = 2;
    p.group_leader = list_of(p.heap, 4);
    p.exception.reason = list_of(p.heap, 5);
    p.exception.trace = list_of(p.heap, 6);
    p.exception.args = list_of(p.heap, 7);
    p.exception.error_info = list_of(p.heap, 8);
    for (int i = 0; i < 6; i++) {
        const GcResult result = collect_gc(p, 0, nullptr, 0, i % 3 == 2);
        CHECK(result.after_words == 66);
        CHECK(is_list_of(saved[0], 1));
        CHECK(is_list_of(saved[1], 2));
        CHECK(is_list_of(p.group_leader, 4));
        CHECK(is_list_of(p.exception.reason, 5));
        CHECK(is_list_of(p.exception.trace, 6));
        CHECK(is_list_of(p.exception.args, 7));
        CHECK(is_list_of(p.exception.error_info, 8));
    }
    Term x[1] = {kNil};
    p.x = x;  // it runs: saved_x means nothing
    CHECK(collect_gc(p, 0, x, 1, true).after_words == 66 - 6);
    delete[] saved;
}

TEST_CASE("off-heap objects that are not reached are released, promoted ones by a major collection") {
    TestProcess p;
    const std::string bytes(1000, 'z');
    RefBinary* storage[2];
    Term x[2];
    for (int i = 0; i < 2; i++) {
        x[i] = make_binary(p.heap, bytes.data(), bytes.size());
        storage[i] = reinterpret_cast<RefBinary*>(boxed_ptr(boxed_ptr(x[i])[1])[1].raw);
        storage[i]->retain();
    }
    CHECK(p.heap.off_heap_bytes == 2000);
    collect_gc(p, 0, x, 1, false);
    CHECK(storage[1]->refs.load() == 1);
    CHECK(storage[0]->refs.load() == 2);
    CHECK(p.heap.off_heap_bytes == 1000);
    collect_gc(p, 0, x, 1, false);
    CHECK(p.heap.off_heap_bytes == 0);
    CHECK(p.heap.off_heap == nullptr);
    CHECK(p.old_off_heap_bytes == 1000);
    x[0] = kNil;
    collect_gc(p, 0, x, 1, false);
    CHECK(storage[0]->refs.load() == 2);
    collect_gc(p, 0, x, 1, true);
    CHECK(storage[0]->refs.load() == 1);
    CHECK(p.old_off_heap == nullptr);
    CHECK(p.old_off_heap_bytes == 0);
    storage[0]->release();
    storage[1]->release();
}

TEST_CASE("off-heap memory asks for a collection") {
    TestProcess p(2000);
    const std::string bytes(10000, 'z');
    int made = 0;
    while (!p.needs_gc()) {
        make_binary(p.heap, bytes.data(), bytes.size());
        REQUIRE(++made < 100);
    }
    CHECK(p.heap.fragments == nullptr);
    CHECK(made > 30);
    collect_gc(p, 0, nullptr, 0, false);
    CHECK_FALSE(p.needs_gc());
    // What lives does not ask for one again and again.
    Term x[1] = {kNil};
    for (int i = 0; i < 200; i++) {
        ensure_gc(p, 20, x, 1);
        x[0] = cons(p.heap, make_binary(p.heap, bytes.data(), bytes.size()), x[0]);
    }
    collect_gc(p, 0, x, 1, true);
    CHECK(p.heap.off_heap_bytes == 2000000);
    CHECK_FALSE(p.needs_gc());
}

TEST_CASE("old off-heap memory makes the next collection a major one") {
    TestProcess p;
    const std::string bytes(500000, 'z');
    Term x[1] = {make_binary(p.heap, bytes.data(), bytes.size())};
    CHECK_FALSE(collect_gc(p, 0, x, 1, false).major);
    CHECK_FALSE(collect_gc(p, 0, x, 1, false).major);
    CHECK(p.old_off_heap_bytes == 500000);
    CHECK(collect_gc(p, 0, x, 1, false).major);
    for (int i = 0; i < 4; i++) {
        CHECK_FALSE(collect_gc(p, 0, x, 1, false).major);
    }
}

TEST_CASE("heap sizes are those of OTP") {
    CHECK(next_heap_size(0) == 12);
    CHECK(next_heap_size(13) == 38);
    CHECK(next_heap_size(233) == 233);
    CHECK(next_heap_size(234) == 376);
    CHECK(next_heap_size(1000) == 1598);
    CHECK(next_heap_size(833026) == 833026);
    CHECK(next_heap_size(833027) == 999631);
    CHECK(next_heap_size(999632) == 1199557);
    CHECK(next_heap_size(2000000) == 2072833);
}
