// Every operation of the machine interface against its meaning in C++, on the machine that the
// tests run on: x86-64 and, under an emulator, aarch64 are held to the same meaning.
#include "jit/code_info.hpp"
#include "jit/code_memory.hpp"
#include "jit/layout.hpp"
#include "jit/macro_assembler.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace minivm::jit {
namespace {

using Values = std::array<uint64_t, kMachineXRegisters>;

const uint64_t kEdges[] = {0,
                           1,
                           2,
                           7,
                           8,
                           127,
                           128,
                           255,
                           4095,
                           4096,
                           0xFFF000,
                           0xFFF001,
                           0x7FFFFFFF,
                           0x80000000,
                           0xFFFFFFFF,
                           0x100000000,
                           0x123456789ABCDEF0,
                           0x5555555555555555,
                           0x7FFFFFFFFFFFFFFF,
                           0x8000000000000000,
                           0x8000000000000001,
                           0xFFFFFFFF00000000,
                           0xFFFFFFFF7FFFFFFF,
                           0xFFFFFFFF80000000,
                           0xFFFFFFFFFFFFF000,
                           0xFFFFFFFFFFFFFF80,
                           0xFFFFFFFFFFFFFFF8,
                           0xFFFFFFFFFFFFFFFE,
                           0xFFFFFFFFFFFFFFFF};

int64_t as_signed(uint64_t v) {
    return static_cast<int64_t>(v);
}

struct Condition {
    Cond cond;
    const char* name;
    bool (*holds)(uint64_t, uint64_t);
};
const Condition kConditions[] = {
    {Cond::equal, "equal", [](uint64_t a, uint64_t b) { return a == b; }},
    {Cond::not_equal, "not_equal", [](uint64_t a, uint64_t b) { return a != b; }},
    {Cond::less, "less", [](uint64_t a, uint64_t b) { return as_signed(a) < as_signed(b); }},
    {Cond::less_equal, "less_equal",
     [](uint64_t a, uint64_t b) { return as_signed(a) <= as_signed(b); }},
    {Cond::greater, "greater", [](uint64_t a, uint64_t b) { return as_signed(a) > as_signed(b); }},
    {Cond::greater_equal, "greater_equal",
     [](uint64_t a, uint64_t b) { return as_signed(a) >= as_signed(b); }},
    {Cond::below, "below", [](uint64_t a, uint64_t b) { return a < b; }},
    {Cond::below_equal, "below_equal", [](uint64_t a, uint64_t b) { return a <= b; }},
    {Cond::above, "above", [](uint64_t a, uint64_t b) { return a > b; }},
    {Cond::above_equal, "above_equal", [](uint64_t a, uint64_t b) { return a >= b; }},
};

// What native code sees: a scheduler, a process with a heap and an Erlang stack.
struct World {
    static constexpr size_t kWords = 4096;
    alignas(Scheduler) std::byte scheduler[sizeof(Scheduler)] = {};
    alignas(Process) std::byte process[sizeof(Process)] = {};
    std::vector<uint64_t> heap = std::vector<uint64_t>(kWords);

    uint64_t& scheduler_word(int32_t offset) { return word(scheduler, offset); }
    uint64_t& process_word(int32_t offset) { return word(process, offset); }
    uint64_t stack_base() const { return reinterpret_cast<uint64_t>(heap.data() + kWords); }

    World() {
        process_word(kHeapTop) = reinterpret_cast<uint64_t>(heap.data());
        process_word(kHeapEnd) = stack_base();
        process_word(kReductions) = 100;
    }

private:
    static uint64_t& word(std::byte* at, int32_t offset) {
        return *reinterpret_cast<uint64_t*>(at + offset);
    }
};

CodeMemory& memory() {
    static const std::unique_ptr<CodeMemory> memory = [] {
        auto made = CodeMemory::create({});
        if (!made.ok()) {
            FAIL(made.error());
        }
        return std::move(made).value();
    }();
    return *memory;
}

// Code made by `body`, which may leave at its end or jump to leave(). It starts with x0..x5 loaded.
class Native {
public:
    template <typename Body>
    explicit Native(Body body) : assembler_(new_assembler(kHostMachine)) {
        MacroAssembler& a = *assembler_;
        a.emit_enter();
        leave_ = a.new_label();
        a.bind(leave_);
        a.emit_leave();
        a.align(16);
        const Label start = a.new_label();
        a.bind(start);
        body(a, *this);
        a.jump(leave_);
        a.align(16);
        block_ = memory().allocate(a.size(), 64);
        REQUIRE(block_);
        CodeMemory::Writer w = memory().open(block_);
        a.copy_to(w.data(), base());
        start_ = a.offset_of(start);
    }
    Native(const Native&) = delete;
    Native& operator=(const Native&) = delete;
    ~Native() { memory().release(block_); }

    Label leave() const { return leave_; }
    uint64_t base() const { return reinterpret_cast<uint64_t>(block_.address); }
    const void* at(Label l) const { return block_.address + assembler_->offset_of(l); }

    Values operator()(World& w, const Values& in) const { return enter(w, base() + start_, in); }
    Values operator()(const Values& in) const {
        World w;
        const Values out = (*this)(w, in);
        CHECK(w.process_word(kHeapEnd) == w.stack_base());
        return out;
    }
    Values enter(World& w, uint64_t target, const Values& in) const {
        for (int i = 0; i < kMachineXRegisters; ++i) {
            w.scheduler_word(8 * i) = in[static_cast<size_t>(i)];
        }
        using Enter = void (*)(void*, void*, uint64_t);
        reinterpret_cast<Enter>(base())(w.scheduler, w.process, target);
        Values out;
        for (int i = 0; i < kMachineXRegisters; ++i) {
            out[static_cast<size_t>(i)] = w.scheduler_word(8 * i);
        }
        return out;
    }

private:
    std::unique_ptr<MacroAssembler> assembler_;
    CodeBlock block_;
    Label leave_;
    uint64_t start_ = 0;
};

uint64_t address_of(const void* p) {
    return reinterpret_cast<uint64_t>(p);
}
// 1 or 0 at [x5 + 8 * n], by the flags.
void store_condition(MacroAssembler& a, Cond c, int n) {
    const Label yes = a.new_label();
    const Label done = a.new_label();
    a.branch(c, yes);
    a.store_imm({Reg::x5, 8 * n}, 0);
    a.jump(done);
    a.bind(yes);
    a.store_imm({Reg::x5, 8 * n}, 1);
    a.bind(done);
}

void check_conditions(const std::vector<uint64_t>& got, uint64_t a, uint64_t b) {
    for (size_t k = 0; k < std::size(kConditions); ++k) {
        if ((got[k] == 1) != kConditions[k].holds(a, b)) {
            INFO(kConditions[k].name << " of " << a << " and " << b);
            CHECK(got[k] == (kConditions[k].holds(a, b) ? 1u : 0u));
        }
    }
}
void store_conditions(MacroAssembler& a, void (*compare)(MacroAssembler&, uint64_t),
                      uint64_t with) {
    for (size_t k = 0; k < std::size(kConditions); ++k) {
        compare(a, with);
        store_condition(a, kConditions[k].cond, static_cast<int>(k));
    }
}

TEST_CASE("each role has a register of its own, and constants of all shapes fill it", "[jit]") {
    const Reg roles[] = {Reg::x0, Reg::x1, Reg::x2, Reg::x3,   Reg::x4,  Reg::t0,
                         Reg::t1, Reg::t2, Reg::t3, Reg::heap, Reg::reds};
    const Native native([&](MacroAssembler& a, Native&) {
        uint64_t n = 1;
        for (const Reg r : roles) {
            a.move_imm(r, n++);
        }
        int at = 0;
        for (const Reg r : roles) {
            a.store({Reg::x5, 8 * at++}, r);
        }
    });
    std::vector<uint64_t> got(std::size(roles));
    native({0, 0, 0, 0, 0, address_of(got.data())});
    for (size_t k = 0; k < got.size(); ++k) {
        CHECK(got[k] == k + 1);
    }

    std::vector<uint64_t> constants(std::begin(kEdges), std::end(kEdges));
    for (unsigned from = 0; from < 64; ++from) {
        for (unsigned bits = 1; bits < 64; bits += 3) {
            constants.push_back(std::rotl((uint64_t{1} << bits) - 1, static_cast<int>(from)));
        }
        constants.push_back(uint64_t{0x1234} << from);
        constants.push_back(~(uint64_t{0x1234} << from));
    }
    for (const uint64_t element : {0x1, 0x2, 0x3, 0x55, 0xF0, 0x7F, 0x80FF, 0xFFFE}) {
        constants.push_back(element * 0x0001000100010001);
        constants.push_back(element * 0x0000000100000001);
    }
    const Native shapes([&](MacroAssembler& a, Native&) {
        int at = 0;
        for (const uint64_t c : constants) {
            a.move_imm(Reg::x0, c);
            a.move(Reg::t3, Reg::x0);
            a.store({Reg::x5, at}, Reg::t3);
            a.store_imm({Reg::x5, at + 8}, c);
            at += 16;
        }
    });
    got.assign(2 * constants.size(), 0);
    shapes({0, 0, 0, 0, 0, address_of(got.data())});
    for (size_t k = 0; k < constants.size(); ++k) {
        INFO(std::hex << constants[k]);
        REQUIRE(got[2 * k] == constants[k]);
        REQUIRE(got[2 * k + 1] == constants[k]);
    }
}

TEST_CASE("moves, constants, loads and addresses leave the flags alone", "[jit]") {
    const Native native([](MacroAssembler& a, Native&) {
        const Label here = a.new_label();
        a.bind(here);
        a.compare(Reg::x0, Reg::x1);
        a.move_imm(Reg::t0, 0);
        a.move_imm(Reg::t0, 0x123456789ABCDEF0);
        a.move(Reg::t1, Reg::t0);
        a.load(Reg::t1, {Reg::sched, 0});
        a.store({Reg::sched, kScratchX}, Reg::t1);
        a.store_imm({Reg::sched, kScratchX}, 0x123456789ABCDEF0);
        a.lea(Reg::t1, {Reg::x5, -123456});
        a.load_label(Reg::t2, here);
        a.move_if(Cond::less, Reg::x3, Reg::x2);
        store_condition(a, Cond::less, 0);
    });
    uint64_t less = 2;
    CHECK(native({1, 2, 3, 4, 0, address_of(&less)})[3] == 3);
    CHECK(less == 1);
    CHECK(native({2, 2, 3, 4, 0, address_of(&less)})[3] == 4);
    CHECK(less == 0);
}

TEST_CASE("add, sub and negate tell of signed overflow; the bit operations", "[jit]") {
    const Native native([](MacroAssembler& a, Native&) {
        a.move(Reg::t0, Reg::x0);
        a.add(Reg::t0, Reg::x1);
        store_condition(a, Cond::overflow, 1);
        a.store({Reg::x5, 0}, Reg::t0);
        a.move(Reg::t0, Reg::x0);
        a.sub(Reg::t0, Reg::x1);
        store_condition(a, Cond::overflow, 3);
        a.store({Reg::x5, 16}, Reg::t0);
        a.move(Reg::t0, Reg::x0);
        a.negate_reg(Reg::t0);
        store_condition(a, Cond::no_overflow, 5);
        a.store({Reg::x5, 32}, Reg::t0);
        a.move(Reg::t0, Reg::x0);
        a.and_(Reg::t0, Reg::x1);
        a.store({Reg::x5, 48}, Reg::t0);
        a.move(Reg::t0, Reg::x0);
        a.or_(Reg::t0, Reg::x1);
        a.store({Reg::x5, 56}, Reg::t0);
        a.move(Reg::t0, Reg::x0);
        a.xor_(Reg::t0, Reg::x1);
        a.store({Reg::x5, 64}, Reg::t0);
        a.store({Reg::x5, 72}, Reg::x1);
        a.move(Reg::t0, Reg::x0);
        a.sub_mem(Reg::t0, {Reg::x5, 72});
        a.store({Reg::x5, 80}, Reg::t0);
    });
    for (const uint64_t x : kEdges) {
        for (const uint64_t y : kEdges) {
            uint64_t got[11];
            native({x, y, 0, 0, 0, address_of(got)});
            REQUIRE(got[10] == x - y);
            int64_t ignored;
            const uint64_t overflows = __builtin_add_overflow(as_signed(x), as_signed(y), &ignored);
            const uint64_t sub_overflows =
                __builtin_sub_overflow(as_signed(x), as_signed(y), &ignored);
            const uint64_t least = x == uint64_t{1} << 63;
            const uint64_t expected[9] = {x + y,     overflows, x - y, sub_overflows, 0 - x,
                                          1 - least, x & y,     x | y, x ^ y};
            INFO(std::hex << x << " and " << y);
            for (size_t k = 0; k < 9; ++k) {
                INFO("result " << k);
                REQUIRE(got[k] == expected[k]);
            }
        }
    }
}

TEST_CASE("operations with a constant", "[jit]") {
    for (const uint64_t c : kEdges) {
        const Native native([c](MacroAssembler& a, Native&) {
            a.move(Reg::t0, Reg::x0);
            a.add_imm(Reg::t0, as_signed(c));
            store_condition(a, Cond::overflow, 1);
            a.store({Reg::x5, 0}, Reg::t0);
            a.move(Reg::t0, Reg::x0);
            a.sub_imm(Reg::t0, as_signed(c));
            store_condition(a, Cond::overflow, 3);
            a.store({Reg::x5, 16}, Reg::t0);
            a.move(Reg::t0, Reg::x0);
            a.and_imm(Reg::t0, c);
            a.store({Reg::x5, 32}, Reg::t0);
            a.move(Reg::t0, Reg::x0);
            a.or_imm(Reg::t0, c);
            a.store({Reg::x5, 40}, Reg::t0);
            a.move(Reg::t0, Reg::x0);
            a.xor_imm(Reg::t0, c);
            a.store({Reg::x5, 48}, Reg::t0);
            a.test_imm(Reg::x0, static_cast<uint32_t>(c));
            store_condition(a, Cond::equal, 7);
        });
        for (const uint64_t x : kEdges) {
            uint64_t got[8];
            native({x, 0, 0, 0, 0, address_of(got)});
            int64_t ignored;
            const uint64_t overflows = __builtin_add_overflow(as_signed(x), as_signed(c), &ignored);
            const uint64_t sub_overflows =
                __builtin_sub_overflow(as_signed(x), as_signed(c), &ignored);
            const uint64_t no_bit = (x & c & 0xFFFFFFFF) == 0;
            const uint64_t expected[8] = {x + c, overflows, x - c, sub_overflows,
                                          x & c, x | c,     x ^ c, no_bit};
            INFO(std::hex << x << " and constant " << c);
            for (size_t k = 0; k < 8; ++k) {
                INFO("result " << k);
                REQUIRE(got[k] == expected[k]);
            }
        }
    }
}

TEST_CASE("shifts and rotations by every count", "[jit]") {
    const Native by_register([](MacroAssembler& a, Native&) {
        a.move(Reg::t2, Reg::x1);
        a.move(Reg::t0, Reg::x0);
        a.shift_left_by(Reg::t0, Reg::t2);
        a.store({Reg::x5, 0}, Reg::t0);
        a.move(Reg::t0, Reg::x0);
        a.shift_right_signed_by(Reg::t0, Reg::t2);
        a.store({Reg::x5, 8}, Reg::t0);
        a.move(Reg::t0, Reg::x0);
        a.shift_right_by(Reg::t0, Reg::t2);
        a.store({Reg::x5, 16}, Reg::t0);
    });
    for (unsigned n = 0; n < 64; ++n) {
        const Native native([n](MacroAssembler& a, Native&) {
            a.move(Reg::t0, Reg::x0);
            a.shift_left(Reg::t0, n);
            a.store({Reg::x5, 0}, Reg::t0);
            a.move(Reg::t0, Reg::x0);
            a.shift_right(Reg::t0, n);
            a.store({Reg::x5, 8}, Reg::t0);
            a.move(Reg::t0, Reg::x0);
            a.shift_right_signed(Reg::t0, n);
            a.store({Reg::x5, 16}, Reg::t0);
            a.move(Reg::t0, Reg::x0);
            a.rotate_left(Reg::t0, n);
            a.store({Reg::x5, 24}, Reg::t0);
        });
        for (const uint64_t x : kEdges) {
            INFO(std::hex << x << " by " << std::dec << n);
            uint64_t got[4];
            native({x, 0, 0, 0, 0, address_of(got)});
            REQUIRE(got[0] == x << n);
            REQUIRE(got[1] == x >> n);
            REQUIRE(as_signed(got[2]) == as_signed(x) >> n);
            REQUIRE(got[3] == std::rotl(x, static_cast<int>(n)));
            by_register({x, n, 0, 0, 0, address_of(got)});
            REQUIRE(got[0] == x << n);
            REQUIRE(as_signed(got[1]) == as_signed(x) >> n);
            REQUIRE(got[2] == x >> n);
        }
    }
}

TEST_CASE("multiply goes to its label when the product does not fit", "[jit]") {
    const Native native([](MacroAssembler& a, Native&) {
        const Label overflow = a.new_label();
        const Label done = a.new_label();
        a.move(Reg::t0, Reg::x0);
        a.multiply(Reg::t0, Reg::x1, overflow);
        a.move(Reg::x2, Reg::t0);
        a.move_imm(Reg::x3, 0);
        a.jump_near(done);
        a.bind(overflow);
        a.move_imm(Reg::x3, 1);
        a.bind(done);
    });
    const Native square([](MacroAssembler& a, Native&) {
        const Label overflow = a.new_label();
        a.multiply(Reg::x0, Reg::x0, overflow);
        a.move_imm(Reg::x3, 0);
        a.bind(overflow);
    });
    for (const uint64_t x : kEdges) {
        for (const uint64_t y : kEdges) {
            INFO(std::hex << x << " times " << y);
            int64_t product;
            const uint64_t overflows = __builtin_mul_overflow(as_signed(x), as_signed(y), &product);
            const Values got = native({x, y, 0, 9, 0, 0});
            REQUIRE(got[3] == overflows);
            if (overflows == 0) {
                REQUIRE(as_signed(got[2]) == product);
            }
        }
        int64_t product;
        const uint64_t overflows = __builtin_mul_overflow(as_signed(x), as_signed(x), &product);
        const Values got = square({x, 0, 0, 1, 0, 0});
        REQUIRE(got[3] == overflows);
        if (overflows == 0) {
            REQUIRE(as_signed(got[0]) == product);
        }
    }
}

TEST_CASE("divide truncates and gives the remainder too", "[jit]") {
    const Native native([](MacroAssembler& a, Native&) {
        a.move(Reg::t0, Reg::x0);
        a.divide(Reg::x1);
        a.move(Reg::x2, Reg::t0);
        a.move(Reg::x3, Reg::t1);
        a.move(Reg::t0, Reg::x0);
        a.move(Reg::t3, Reg::x1);
        a.divide(Reg::t3);
        a.move(Reg::x4, Reg::t0);
    });
    for (const uint64_t x : kEdges) {
        for (const uint64_t y : kEdges) {
            if (y == 0 || (as_signed(y) == -1 && x == uint64_t{1} << 63)) {
                continue;
            }
            INFO(std::hex << x << " by " << y);
            const Values got = native({x, y, 0, 0, 0, 0});
            REQUIRE(as_signed(got[2]) == as_signed(x) / as_signed(y));
            REQUIRE(as_signed(got[3]) == as_signed(x) % as_signed(y));
            REQUIRE(got[4] == got[2]);
        }
    }
}

TEST_CASE("byte_swap gives a number without the bits above", "[jit]") {
    const Native native([](MacroAssembler& a, Native&) {
        a.byte_swap(Reg::x0, 16);
        a.byte_swap(Reg::x1, 32);
        a.byte_swap(Reg::x2, 64);
        a.move(Reg::t0, Reg::x3);
        a.byte_swap(Reg::t0, 32);
        a.move(Reg::x3, Reg::t0);
    });
    const uint64_t v = 0x0102030485868788;
    const Values got = native({v, v, v, v, 0, 0});
    CHECK(got[0] == 0x8887);
    CHECK(got[1] == 0x88878685);
    CHECK(got[2] == 0x8887868504030201);
    CHECK(got[3] == 0x88878685);
}

TEST_CASE("the negation of a condition holds where it does not", "[jit]") {
    for (const Condition& c : kConditions) {
        for (const Condition& other : kConditions) {
            if (other.cond == negate(c.cond)) {
                for (const uint64_t x : kEdges) {
                    for (const uint64_t y : kEdges) {
                        REQUIRE(c.holds(x, y) != other.holds(x, y));
                    }
                }
            }
        }
    }
    CHECK(negate(Cond::overflow) == Cond::no_overflow);
}

TEST_CASE("every condition after compare and compare_mem", "[jit]") {
    const Native registers([](MacroAssembler& a, Native&) {
        store_conditions(
            a, [](MacroAssembler& b, uint64_t) { b.compare(Reg::x0, Reg::x1); }, 0);
    });
    const Native mem([](MacroAssembler& a, Native&) {
        store_conditions(
            a,
            [](MacroAssembler& b, uint64_t) {
                b.compare_mem(Reg::x0, {Reg::sched, 8});
            },
            0);
    });
    std::vector<uint64_t> got(std::size(kConditions));
    for (const uint64_t x : kEdges) {
        for (const uint64_t y : kEdges) {
            registers({x, y, 0, 0, 0, address_of(got.data())});
            check_conditions(got, x, y);
            mem({x, y, 0, 0, 0, address_of(got.data())});
            check_conditions(got, x, y);
        }
    }
}

TEST_CASE("every condition after a comparison with a constant", "[jit]") {
    std::vector<uint64_t> got(std::size(kConditions));
    for (const uint64_t c : kEdges) {
        const Native registers([c](MacroAssembler& a, Native&) {
            store_conditions(
                a, [](MacroAssembler& b, uint64_t v) { b.compare_imm(Reg::x0, as_signed(v)); }, c);
        });
        const Native mem([c](MacroAssembler& a, Native&) {
            store_conditions(
                a,
                [](MacroAssembler& b, uint64_t v) {
                    b.compare_mem_imm({Reg::sched, 0}, as_signed(v));
                },
                c);
        });
        for (const uint64_t x : kEdges) {
            registers({x, 0, 0, 0, 0, address_of(got.data())});
            check_conditions(got, x, c);
            mem({x, 0, 0, 0, 0, address_of(got.data())});
            check_conditions(got, x, c);
        }
    }
}

TEST_CASE("comparisons of 32 bits and of a byte look at no other bits", "[jit]") {
    for (const uint32_t c : {0u, 1u, 127u, 128u, 255u, 4096u, 0x7FFFFFFFu, 0x80000000u, ~0u}) {
        const Native native([c](MacroAssembler& a, Native&) {
            int n = 0;
            for (const Cond cond : {Cond::equal, Cond::below, Cond::above}) {
                a.compare_u32_imm({Reg::x0, 4}, c);
                store_condition(a, cond, n++);
                a.compare_u8_imm({Reg::x0, 3}, static_cast<uint8_t>(c));
                store_condition(a, cond, n++);
            }
        });
        for (const uint64_t x : kEdges) {
            const uint32_t words[2] = {static_cast<uint32_t>(x) ^ 0x00FFFFFF,
                                       static_cast<uint32_t>(x)};
            const uint32_t byte = words[0] >> 24;
            const uint32_t low = c & 0xFF;
            uint64_t got[6];
            native({address_of(words), 0, 0, 0, 0, address_of(got)});
            INFO(std::hex << x << " and " << c);
            REQUIRE(got[0] == (words[1] == c));
            REQUIRE(got[1] == (byte == low));
            REQUIRE(got[2] == (words[1] < c));
            REQUIRE(got[3] == (byte < low));
            REQUIRE(got[4] == (words[1] > c));
            REQUIRE(got[5] == (byte > low));
        }
    }
}

TEST_CASE("narrow loads by index keep nothing of the register they replace", "[jit]") {
    const Native native([](MacroAssembler& a, Native&) {
        int32_t to = 0;
        for (const unsigned bits : {8u, 16u, 32u}) {
            a.move_imm(Reg::t0, ~uint64_t{0});
            a.load_bits(Reg::t0, Reg::x0, Reg::x1, bits);
            a.store({Reg::x5, to}, Reg::t0);
            a.move(Reg::t1, Reg::x1);
            a.load_bits(Reg::t1, Reg::x0, Reg::t1, bits);
            a.store({Reg::x5, to + 8}, Reg::t1);
            to += 16;
        }
    });
    const uint8_t bytes[] = {1, 2, 3, 0x84, 0x95, 0xA6, 0xB7, 0xC8};
    uint64_t got[6];
    native({address_of(bytes), 3, 0, 0, 0, address_of(got)});
    CHECK(got[0] == 0x84);
    CHECK(got[2] == 0x9584);
    CHECK(got[4] == 0xB7A69584);
    CHECK((got[1] == got[0] && got[3] == got[2] && got[5] == got[4]));
}

TEST_CASE("loads, stores and addresses at offsets of all sizes", "[jit]") {
    const int32_t offsets[] = {0,     8,      -8,      1,        -1,     248,      255,
                               256,   -256,   -257,    -264,     4088,   4095,     4096,
                               16380, 16384,  -4096,   32760,    32761,  32768,    -32768,
                               65536, 131080, 1048568, -1048576, 0xFFF8, -0xFFF000};
    constexpr size_t kHalf = size_t{1} << 24;
    std::vector<uint8_t> space(2 * kHalf + 64);
    uint8_t* const middle = space.data() + kHalf;
    for (const int32_t offset : offsets) {
        INFO("offset " << offset);
        const Native native([offset](MacroAssembler& a, Native&) {
            a.load(Reg::t0, {Reg::x0, offset});
            a.store({Reg::x5, 0}, Reg::t0);
            a.load_u32(Reg::t0, {Reg::x0, offset});
            a.store({Reg::x5, 8}, Reg::t0);
            a.load_u8(Reg::t0, {Reg::x0, offset});
            a.store({Reg::x5, 16}, Reg::t0);
            a.load_indexed(Reg::t0, Reg::x0, Reg::x1, offset);
            a.store({Reg::x5, 24}, Reg::t0);
            a.load_scaled(Reg::t0, Reg::x0, Reg::x2, offset);
            a.store({Reg::x5, 32}, Reg::t0);
            a.lea(Reg::t0, {Reg::x0, offset});
            a.store({Reg::x5, 40}, Reg::t0);
            a.load_float(FReg::f1, {Reg::x0, offset});
            a.move_from_float(Reg::t0, FReg::f1);
            a.store({Reg::x5, 48}, Reg::t0);
            // The register of the result may be one of those it is computed from.
            a.move(Reg::t0, Reg::x0);
            a.load_indexed(Reg::t0, Reg::t0, Reg::x1, offset);
            a.store({Reg::x5, 56}, Reg::t0);
            a.move(Reg::t1, Reg::x2);
            a.load_scaled(Reg::t1, Reg::x0, Reg::t1, offset);
            a.store({Reg::x5, 64}, Reg::t1);
            a.move(Reg::t0, Reg::x0);
            a.lea(Reg::t0, {Reg::t0, offset});
            a.store({Reg::x5, 72}, Reg::t0);

            a.store({Reg::x3, offset}, Reg::x4);
            a.store_imm({Reg::x3, offset + 8}, 0x1122334455667788);
            a.store_imm({Reg::x3, offset + 16}, 0);
            a.move_to_float(FReg::f2, Reg::x4);
            a.store_float({Reg::x3, offset + 24}, FReg::f2);
            a.store({Reg::x3, offset + 32}, Reg::x4);
            a.store_u8_imm({Reg::x3, offset + 32}, 0);
            a.store_u8_imm({Reg::x3, offset + 34}, 0xFE);
        });
        for (unsigned k = 0; k < 48; ++k) {
            middle[offset + static_cast<int>(k)] = static_cast<uint8_t>(0x81 + 7 * k);
        }
        const auto at = [&](size_t byte) {
            uint64_t v;
            std::memcpy(&v, middle + offset + byte, 8);
            return v;
        };
        const uint64_t first = at(0);
        const uint64_t indexed = at(5);
        const uint64_t scaled = at(16);
        uint64_t got[10];
        // What is stored goes 64 bytes below what is loaded.
        native({address_of(middle), 5, 2, address_of(middle - 64), 0xA1A2A3A4A5A6A7A8,
                address_of(got)});
        CHECK(got[0] == first);
        CHECK(got[1] == (first & 0xFFFFFFFF));
        CHECK(got[2] == (first & 0xFF));
        CHECK(got[3] == indexed);
        CHECK(got[4] == scaled);
        CHECK(got[5] == address_of(middle) + static_cast<uint64_t>(int64_t{offset}));
        CHECK(got[6] == first);
        CHECK(got[7] == indexed);
        CHECK(got[8] == scaled);
        CHECK(got[9] == got[5]);
        uint64_t stored[5];
        std::memcpy(stored, middle - 64 + offset, sizeof stored);
        CHECK(stored[0] == 0xA1A2A3A4A5A6A7A8);
        CHECK(stored[1] == 0x1122334455667788);
        CHECK(stored[2] == 0);
        CHECK(stored[3] == 0xA1A2A3A4A5A6A7A8);
        CHECK(stored[4] == 0xA1A2A3A4A5FEA700);
    }
}

TEST_CASE("the scheduler's and the process's fields are at offsets that instructions reach",
          "[jit]") {
    const Native native([](MacroAssembler& a, Native&) {
        a.load_u32(Reg::x0, {Reg::sched, kCodeIx});
        a.load(Reg::x1, {Reg::sched, kScratchX});
        a.load(Reg::x2, {Reg::proc, kProcessId});
        a.load(Reg::x3, {Reg::sched, kSchedF + 8 * (kMaxFloatRegisters - 1)});
    });
    World w;
    w.scheduler_word(kScratchX) = 12;
    w.scheduler_word(kSchedF + 8 * (kMaxFloatRegisters - 1)) = 14;
    std::memcpy(w.scheduler + kCodeIx, "\x0B\0\0\0", 4);
    w.process_word(kProcessId) = 13;
    const Values got = native(w, {0, 0, 0, 0, 0, 0});
    CHECK(got[0] == 11);
    CHECK(got[1] == 12);
    CHECK(got[2] == 13);
    CHECK(got[3] == 14);
}

TEST_CASE("test_table_bit takes the index modulo 32", "[jit]") {
    for (const uint32_t table : {0u, 1u, 0x80000000u, 0x12345678u, ~0u}) {
        const Native native([table](MacroAssembler& a, Native&) {
            a.test_table_bit(table, Reg::x0, Reg::t1);
            store_condition(a, Cond::not_equal, 0);
            a.test_table_bit(table, Reg::x0, Reg::t3);
            store_condition(a, Cond::equal, 1);
        });
        for (uint64_t index = 0; index < 64; ++index) {
            for (const uint64_t above : {uint64_t{0}, uint64_t{0xFFFFFFFFFFFFFF40}}) {
                uint64_t got[2];
                native({index | above, 0, 0, 0, 0, address_of(got)});
                const uint64_t bit = table >> (index & 31) & 1;
                REQUIRE(got[0] == bit);
                REQUIRE(got[1] == 1 - bit);
            }
        }
    }
}

// So many that labels at both ends are too far for the short forms of branches.
void fill(MacroAssembler& a, unsigned bytes) {
    for (const uint32_t from = a.offset(); a.offset() - from < bytes;) {
        a.add_imm(Reg::x3, 1);
    }
}

TEST_CASE("branches reach labels some megabytes away, both ways", "[jit]") {
    constexpr unsigned kFar = 3 << 20;
    const Native native([](MacroAssembler& a, Native& n) {
        const Label forward = a.new_label();
        const Label back = a.new_label();
        const Label overflow = a.new_label();
        const Label skipped = a.new_label();
        a.compare_imm(Reg::x0, 1);
        a.branch(Cond::equal, forward);
        a.branch(Cond::above, skipped);
        a.move_imm(Reg::t0, uint64_t{1} << 62);
        a.multiply(Reg::t0, Reg::x4, overflow);
        a.move_imm(Reg::x1, 100);
        a.jump(n.leave());
        a.bind(back);
        a.move_imm(Reg::x1, 300);
        a.jump(n.leave());
        fill(a, kFar);
        a.bind(skipped);
        a.move_imm(Reg::x1, 400);
        a.jump(n.leave());
        a.bind(overflow);
        a.move_imm(Reg::x1, 500);
        a.jump(n.leave());
        a.bind(forward);
        a.compare_imm(Reg::x2, 7);
        a.branch(Cond::equal, back);
        a.move_imm(Reg::x1, 200);
    });
    CHECK(native({0, 0, 0, 0, 1, 0})[1] == 100);
    CHECK(native({0, 0, 0, 0, 2, 0})[1] == 500);
    CHECK(native({1, 0, 0, 0, 0, 0})[1] == 200);
    CHECK(native({1, 0, 7, 0, 0, 0})[1] == 300);
    CHECK(native({2, 0, 0, 0, 0, 0})[1] == 400);
    CHECK(native({2, 0, 0, 0, 0, 0})[3] == 0);
}

TEST_CASE("code that falls through megabytes of code does all of it", "[jit]") {
    uint64_t expected = 0;
    const Native native([&](MacroAssembler& a, Native&) {
        const Label other = a.new_label();
        const Label done = a.new_label();
        for (int part = 0; part < 8; ++part) {
            a.compare_imm(Reg::x0, part);
            a.branch(Cond::equal, other);
            const uint32_t from = a.offset();
            while (a.offset() - from < 400000) {
                a.add_imm(Reg::x3, 1);
                ++expected;
            }
        }
        a.jump(done);
        a.bind(other);
        a.move_imm(Reg::x1, 1);
        a.bind(done);
    });
    const Values got = native({100, 0, 0, 0, 0, 0});
    CHECK(got[3] == expected);
    CHECK(got[1] == 0);
    for (uint64_t part = 0; part < 8; ++part) {
        CHECK(native({part, 0, 0, 0, 0, 0})[1] == 1);
    }
}

TEST_CASE("each of many slow paths behind a large function is reached from its own place",
          "[jit]") {
    // The densest that there is: nothing but comparisons and branches.
    constexpr uint64_t kPaths = 150000;
    const Native native([](MacroAssembler& a, Native& n) {
        std::vector<Label> paths;
        for (uint64_t k = 0; k < kPaths; ++k) {
            paths.push_back(a.new_label());
            a.compare_imm(Reg::x0, static_cast<int64_t>(k));
            a.branch(Cond::equal, paths.back());
        }
        a.move_imm(Reg::x1, 1);
        a.jump(n.leave());
        for (uint64_t k = 0; k < kPaths; ++k) {
            a.bind(paths[k]);
            a.move_imm(Reg::x1, 3 * k);
            a.jump(n.leave());
        }
    });
    for (uint64_t k = 0; k < kPaths; k += 997) {
        REQUIRE(native({k, 0, 0, 0, 0, 0})[1] == 3 * k);
    }
    CHECK(native({kPaths - 1, 0, 0, 0, 0, 0})[1] == 3 * (kPaths - 1));
    CHECK(native({kPaths, 0, 0, 0, 0, 0})[1] == 1);
}

TEST_CASE("labels, words and addresses among the code", "[jit]") {
    for (const unsigned distance : {0u, 5000u, 2u << 20}) {
        Label data;
        const Native native([&](MacroAssembler& a, Native& n) {
            data = a.new_label();
            const Label table = a.new_label();
            const Label first = a.new_label();
            const Label second = a.new_label();
            a.load_word_at(Reg::x1, data);
            a.load_label(Reg::x2, data);
            a.load_label(Reg::t0, table);
            a.load_scaled(Reg::t0, Reg::t0, Reg::x0, 0);
            a.jump_reg(Reg::t0);
            fill(a, distance);
            a.bind(first);
            a.move_imm(Reg::x4, 1);
            a.jump(n.leave());
            a.bind(second);
            a.move_imm(Reg::x4, 2);
            a.load_label(Reg::t1, n.leave());  // one that is bound already, and before
            a.jump_reg(Reg::t1);
            a.align(8);
            a.bind(data);
            a.embed_word(0xFEDCBA9876543210);
            a.bind(table);
            a.embed_address(first);
            a.embed_address(second);
        });
        Values got = native({0, 0, 0, 0, 0, 0});
        CHECK(got[1] == 0xFEDCBA9876543210);
        CHECK(got[2] == address_of(native.at(data)));
        CHECK(got[4] == 1);
        got = native({1, 0, 0, 0, 0, 0});
        CHECK(got[4] == 2);
    }
}

TEST_CASE("calls leave a return address that looks like a header, and return behind it", "[jit]") {
    Label function;
    Label inner;
    const Native native([&](MacroAssembler& a, Native& n) {
        function = a.new_label();
        inner = a.new_label();
        // From addresses of both parities.
        a.call(function);
        a.call(function);
        a.move(Reg::x1, Reg::x1);
        a.add_imm(Reg::x1, 1);
        a.call(function);
        a.load_label(Reg::t3, function);
        a.call_reg(Reg::t3);
        a.add_imm(Reg::x1, 1);
        a.call_reg(Reg::t3);
        a.load_label(Reg::x2, function);
        a.call_reg(Reg::x2);
        a.jump(n.leave());

        // x0 := x0 + 1; ors the return address's tag into x3, which tells of one that is not 4; the
        // call within leaves a deeper one.
        a.function_entry(function, nullptr);
        a.load(Reg::t0, {Reg::stack, 0});
        a.and_imm(Reg::t0, 7);
        a.or_(Reg::x3, Reg::t0);
        a.call(inner);
        a.add_imm(Reg::x0, 1);
        a.ret();

        a.function_entry(inner, nullptr);
        a.load(Reg::t0, {Reg::stack, 0});
        a.and_imm(Reg::t0, 7);
        a.or_(Reg::x3, Reg::t0);
        a.ret();
    });
    const Values got = native({0, 0, 0, 0, 0, 0});
    CHECK(got[0] == 6);
    CHECK(got[1] == 2);
    CHECK(got[3] == 4);
}

TEST_CASE("a function is entered with the return address on the stack behind its entry", "[jit]") {
    Label function;
    Label back;
    std::unique_ptr<MacroAssembler> host = new_assembler(kHostMachine);
    const Native native([&](MacroAssembler& a, Native& n) {
        function = a.new_label();
        back = a.new_label();
        a.function_entry(function, nullptr);
        a.add_imm(Reg::x0, 10);
        a.ret();
        a.align_return_address();
        a.bind(back);
        a.add_imm(Reg::x0, 100);
        a.jump(n.leave());
    });
    World w;
    w.heap.back() = address_of(native.at(back));
    CHECK(w.heap.back() % 8 == 4);
    w.process_word(kHeapEnd) -= 8;
    const Values got =
        native.enter(w, address_of(native.at(function)) + host->entry_skip(), {1, 0, 0, 0, 0, 0});
    CHECK(got[0] == 111);
    CHECK(w.process_word(kHeapEnd) == w.stack_base());
}

TEST_CASE("tail calls by label, register and address return to the first caller", "[jit]") {
    Label other_function;
    const Native other([&](MacroAssembler& a, Native& n) {
        a.jump(n.leave());
        other_function = a.new_label();
        a.function_entry(other_function, nullptr);
        a.add_imm(Reg::x0, 1000);
        a.ret();
    });
    const Native native([&](MacroAssembler& a, Native& n) {
        const Label by_label = a.new_label();
        const Label by_register = a.new_label();
        const Label by_address = a.new_label();
        a.call(by_label);
        a.call_address(other.at(other_function));
        a.add_imm(Reg::x1, 1);
        a.call_address(other.at(other_function));
        a.jump(n.leave());
        a.function_entry(by_label, nullptr);
        a.sub_imm(Reg::stack, 16);
        a.store({Reg::stack, 0}, Reg::x0);
        a.add_imm(Reg::stack, 16);
        a.tail_call(by_register);
        a.function_entry(by_register, nullptr);
        a.add_imm(Reg::x0, 10);
        a.load_label(Reg::t3, by_address);
        a.tail_call_reg(Reg::t3);
        a.function_entry(by_address, nullptr);
        a.add_imm(Reg::x0, 100);
        a.tail_call_address(other.at(other_function));
    });
    const Values got = native({1, 0, 0, 0, 0, 0});
    CHECK(got[0] == 3111);
    CHECK(got[1] == 1);
}

TEST_CASE("a function that calls itself keeps its frames on the Erlang stack", "[jit]") {
    const Native native([](MacroAssembler& a, Native& n) {
        const Label sum = a.new_label();
        const Label zero = a.new_label();
        a.call(sum);
        a.jump(n.leave());
        // x0 := x0 + (x0 - 1) + ... + 0
        a.function_entry(sum, nullptr);
        a.compare_imm(Reg::x0, 0);
        a.branch_near(Cond::equal, zero);
        a.sub_imm(Reg::stack, 8);
        a.store({Reg::stack, 0}, Reg::x0);
        a.sub_imm(Reg::x0, 1);
        a.call(sum);
        a.load(Reg::t0, {Reg::stack, 0});
        a.add(Reg::x0, Reg::t0);
        a.add_imm(Reg::stack, 8);
        a.bind(zero);
        a.ret();
    });
    CHECK(native({0, 0, 0, 0, 0, 0})[0] == 0);
    CHECK(native({1000, 0, 0, 0, 0, 0})[0] == 500500);
}

TEST_CASE("count_reduction goes to its label with the last one", "[jit]") {
    const Native native([](MacroAssembler& a, Native& n) {
        const Label loop = a.new_label();
        a.bind(loop);
        a.add_imm(Reg::x0, 1);
        a.count_reduction(n.leave());
        a.jump(loop);
    });
    World w;
    for (const uint64_t reductions : {uint64_t{1}, uint64_t{2}, uint64_t{4000}, uint64_t{0},
                                      static_cast<uint64_t>(int64_t{-5})}) {
        w.process_word(kReductions) = reductions;
        const Values got = native(w, {0, 0, 0, 0, 0, 0});
        CHECK(got[0] == (as_signed(reductions) <= 0 ? 1 : reductions));
        CHECK(as_signed(w.process_word(kReductions)) ==
              (as_signed(reductions) <= 0 ? as_signed(reductions) - 1 : 0));
    }
}

// ---- the runtime --------------------------------------------------------------------------------

World* g_world = nullptr;
std::vector<uint64_t> g_seen;

uint64_t runtime_function(void* scheduler, uint64_t a, uint64_t b, uint64_t c) {
    World& w = *g_world;
    // Vector instructions of the compiler want the C++ stack aligned.
    alignas(16) volatile char local[16] = {};
    g_seen = {address_of(scheduler),
              a,
              b,
              c,
              w.process_word(kHeapTop),
              w.process_word(kReductions),
              w.process_word(kHeapEnd),
              address_of(const_cast<char*>(local)) % 16};
    w.process_word(kHeapTop) += 80;
    w.process_word(kReductions) = 55;
    w.process_word(kHeapEnd) -= 160;
    return 0xABCDEF0123456789;
}

TEST_CASE("call_runtime hands over heap, reductions and stack, and takes them back", "[jit]") {
    const Native native([](MacroAssembler& a, Native&) {
        a.add_imm(Reg::heap, 16);
        a.sub_imm(Reg::stack, 24);
        a.move_imm(Reg::reds, 77);
        a.move_imm(Reg::t0, 1);
        a.move_imm(Reg::t1, 2);
        a.move_imm(Reg::t2, 3);
        a.call_runtime(reinterpret_cast<const void*>(runtime_function));
        a.move(Reg::x0, Reg::t0);
        a.move(Reg::x1, Reg::heap);
        a.move(Reg::x2, Reg::reds);
        a.move(Reg::x3, Reg::stack);
        a.move(Reg::x4, Reg::sched);
        a.move(Reg::x5, Reg::proc);
    });
    World w;
    g_world = &w;
    const uint64_t heap = w.process_word(kHeapTop);
    const Values got = native(w, {0, 0, 0, 0, 0, 0});
    REQUIRE(g_seen.size() == 8);
    CHECK(g_seen == std::vector<uint64_t>{address_of(w.scheduler), 1, 2, 3, heap + 16, 77,
                                          w.stack_base() - 24, 0});
    CHECK(got[0] == 0xABCDEF0123456789);
    CHECK(got[1] == heap + 96);
    CHECK(got[2] == 55);
    CHECK(got[3] == w.stack_base() - 184);
    CHECK(got[4] == address_of(w.scheduler));
    CHECK(got[5] == address_of(w.process));
}

uint64_t leaf_function(uint64_t a, uint64_t b) {
    alignas(16) volatile char local[16] = {};
    volatile double sum = static_cast<double>(a);
    for (int k = 0; k < 8; ++k) {
        sum = sum + 1;
    }
    return static_cast<uint64_t>(sum) * 1000 + b + address_of(const_cast<char*>(local)) % 16;
}

TEST_CASE("call_leaf keeps the x registers and the rest of the state", "[jit]") {
    const Native native([](MacroAssembler& a, Native&) {
        a.sub_imm(Reg::stack, 16);
        a.store({Reg::stack, 0}, Reg::x0);
        a.add_imm(Reg::heap, 8);
        a.sub_imm(Reg::reds, 3);
        for (int k = 0; k < 3; ++k) {
            a.move_imm(Reg::t0, 10);
            a.move_imm(Reg::t1, 5);
            a.call_leaf(reinterpret_cast<const void*>(leaf_function));
            a.store({Reg::sched, kScratchX}, Reg::t0);
        }
        a.load(Reg::t0, {Reg::stack, 0});
        a.store({Reg::sched, kScratchX + 8}, Reg::t0);
        a.add_imm(Reg::stack, 16);
    });
    World w;
    const uint64_t heap = w.process_word(kHeapTop);
    const Values in = {11, 12, 13, 14, 15, 16};
    CHECK(native(w, in) == in);
    CHECK(w.scheduler_word(kScratchX) == 18005);
    CHECK(w.scheduler_word(kScratchX + 8) == 11);
    CHECK(w.process_word(kHeapTop) == heap + 8);
    CHECK(w.process_word(kReductions) == 97);
    CHECK(w.process_word(kHeapEnd) == w.stack_base());
}

TEST_CASE("call_heap_leaf hands over the heap, takes it back and keeps the x registers", "[jit]") {
    const Native native([](MacroAssembler& a, Native&) {
        a.sub_imm(Reg::stack, 8);
        a.store({Reg::stack, 0}, Reg::x0);
        a.add_imm(Reg::heap, 8);
        a.move_imm(Reg::t0, 10);
        a.move_imm(Reg::t1, 5);
        a.move_imm(Reg::t2, 3);
        a.call_heap_leaf(reinterpret_cast<const void*>(
            +[](std::byte* process, uint64_t x, uint64_t y, uint64_t z) {
                uint64_t top;
                uint64_t end;
                std::memcpy(&top, process + kHeapTop, 8);
                std::memcpy(&end, process + kHeapEnd, 8);
                top += 24;
                std::memcpy(process + kHeapTop, &top, 8);
                return x * 10000 + y * 100 + z + *reinterpret_cast<uint64_t*>(end);
            }));
        a.store({Reg::sched, kScratchX}, Reg::t0);
        a.store({Reg::heap, 0}, Reg::t0);
        a.load(Reg::t0, {Reg::stack, 0});
        a.store({Reg::sched, kScratchX + 8}, Reg::t0);
        a.add_imm(Reg::stack, 8);
    });
    World w;
    const uint64_t heap = w.process_word(kHeapTop);
    const Values in = {11, 12, 13, 14, 15, 16};
    CHECK(native(w, in) == in);
    CHECK(w.scheduler_word(kScratchX) == 100514);
    CHECK(w.scheduler_word(kScratchX + 8) == 11);
    CHECK(w.process_word(kHeapTop) == heap + 32);
    CHECK(w.process_word(kHeapEnd) == w.stack_base());
}

TEST_CASE("a fragment is called, calls C++ and returns to where it was called", "[jit]") {
    Label fragment;
    const Native shared([&](MacroAssembler& a, Native& n) {
        a.jump(n.leave());
        fragment = a.new_label();
        a.align(16);
        a.bind(fragment);
        a.fragment_entry();
        a.call_runtime(reinterpret_cast<const void*>(
            +[](void*, uint64_t x, uint64_t y, uint64_t) { return x * y; }));
        a.ret();
    });
    const Native native([&](MacroAssembler& a, Native&) {
        a.move_imm(Reg::t0, 6);
        a.move_imm(Reg::t1, 7);
        a.call_address(shared.at(fragment));
        a.move(Reg::x0, Reg::t0);
        a.jump_address(shared.at(shared.leave()));
    });
    World w;
    CHECK(native(w, {0, 0, 0, 0, 0, 0})[0] == 42);
    CHECK(w.process_word(kHeapEnd) == w.stack_base());
}

// ---- floats -------------------------------------------------------------------------------------

TEST_CASE("operations on floats", "[jit]") {
    const Native native([](MacroAssembler& a, Native&) {
        const auto result = [&](int n, void (MacroAssembler::*op)(FReg, FReg)) {
            a.move_to_float(FReg::f0, Reg::x0);
            a.move_to_float(FReg::f2, Reg::x1);
            (a.*op)(FReg::f0, FReg::f2);
            a.store_float({Reg::x5, 8 * n}, FReg::f0);
        };
        result(0, &MacroAssembler::float_add);
        result(1, &MacroAssembler::float_sub);
        result(2, &MacroAssembler::float_mul);
        result(3, &MacroAssembler::float_div);
        a.load_float(FReg::f1, {Reg::sched, 0});
        a.float_negate(FReg::f1);
        a.move_from_float(Reg::t0, FReg::f1);
        a.store({Reg::x5, 32}, Reg::t0);
        int n = 5;
        for (const Cond c : {Cond::equal, Cond::not_equal, Cond::below, Cond::below_equal,
                             Cond::above, Cond::above_equal}) {
            a.move_to_float(FReg::f0, Reg::x0);
            a.move_to_float(FReg::f1, Reg::x1);
            a.float_compare(FReg::f0, FReg::f1);
            store_condition(a, c, n++);
        }
    });
    const double numbers[] = {0.0,    -0.0,   1.0,     -1.0,   0.1,
                              1.5e10, -3.7e5, 1.0e300, 5e-324, std::numeric_limits<double>::max()};
    for (const double x : numbers) {
        for (const double y : numbers) {
            INFO(x << " and " << y);
            uint64_t got[11];
            native(
                {std::bit_cast<uint64_t>(x), std::bit_cast<uint64_t>(y), 0, 0, 0, address_of(got)});
            REQUIRE(got[0] == std::bit_cast<uint64_t>(x + y));
            REQUIRE(got[1] == std::bit_cast<uint64_t>(x - y));
            REQUIRE(got[2] == std::bit_cast<uint64_t>(x * y));
            if (x != 0 || y != 0) {
                REQUIRE(got[3] == std::bit_cast<uint64_t>(x / y));
            } else {
                REQUIRE(std::isnan(std::bit_cast<double>(got[3])));
            }
            REQUIRE(got[4] == std::bit_cast<uint64_t>(-x));
            REQUIRE(got[5] == (x == y));
            REQUIRE(got[6] == (x != y));
            REQUIRE(got[7] == (x < y));
            REQUIRE(got[8] == (x <= y));
            REQUIRE(got[9] == (x > y));
            REQUIRE(got[10] == (x >= y));
        }
    }
}

TEST_CASE("numbers that are not finite are told apart, in every register that is kept", "[jit]") {
    const Native native([](MacroAssembler& a, Native&) {
        for (uint32_t n = 0; n < kKeptFloats; ++n) {
            const FReg r = kept_float(n);
            const Label other = a.new_label();
            const Label done = a.new_label();
            a.move_to_float(FReg::f0, Reg::x0);
            a.float_move(r, FReg::f0);
            a.branch_unless_finite(r, FReg::f1, other);
            a.store_float({Reg::x5, static_cast<int32_t>(16 * n)}, r);
            a.store_imm({Reg::x5, static_cast<int32_t>(16 * n + 8)}, 1);
            a.jump(done);
            a.bind(other);
            a.store_float({Reg::x5, static_cast<int32_t>(16 * n)}, r);
            a.store_imm({Reg::x5, static_cast<int32_t>(16 * n + 8)}, 0);
            a.bind(done);
        }
    });
    constexpr double infinity = std::numeric_limits<double>::infinity();
    for (const double x : {0.0, -0.0, 1.5, -1.0e300, 5e-324, std::numeric_limits<double>::max(),
                           -std::numeric_limits<double>::max(), infinity, -infinity,
                           std::numeric_limits<double>::quiet_NaN()}) {
        INFO(x);
        uint64_t got[2 * kKeptFloats];
        native({std::bit_cast<uint64_t>(x), 0, 0, 0, 0, address_of(got)});
        for (uint32_t n = 0; n < kKeptFloats; ++n) {
            REQUIRE(got[2 * n] == std::bit_cast<uint64_t>(x));
            REQUIRE(got[2 * n + 1] == (std::isfinite(x) ? 1u : 0u));
        }
    }
}

TEST_CASE("integers become floats, rounded to even", "[jit]") {
    const Native native([](MacroAssembler& a, Native&) {
        a.float_from_int(FReg::f2, Reg::x0);
        a.move_from_float(Reg::x1, FReg::f2);
    });
    for (const uint64_t x : kEdges) {
        CHECK(native({x, 0, 0, 0, 0, 0})[1] ==
              std::bit_cast<uint64_t>(static_cast<double>(as_signed(x))));
    }
    for (const int64_t x :
         {(int64_t{1} << 53) + 1, (int64_t{1} << 53) + 3, -(int64_t{1} << 53) - 1}) {
        CHECK(native({static_cast<uint64_t>(x), 0, 0, 0, 0, 0})[1] ==
              std::bit_cast<uint64_t>(static_cast<double>(x)));
    }
}

}  // namespace
}  // namespace minivm::jit
