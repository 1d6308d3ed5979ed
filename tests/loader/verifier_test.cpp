#include "tests/loader/beam_builder.hpp"
#include "vm/term/heap.hpp"

#include <catch2/catch.hpp>

using namespace minivm;
using namespace minivm::test;
using Catch::Matchers::Contains;

namespace {

template <typename Body>
Loaded load_function(uint32_t arity, Body body) {
    register_bifs();
    BeamBuilder b("m_verify");
    b.function("f", arity, 1);
    body(b);
    return load(b);
}

// The text of the error, or "" if the module is fine.
template <typename Body>
std::string why_not(uint32_t arity, Body body) {
    const Loaded l = load_function(arity, body);
    return l.ok ? "" : l.error.text();
}

// What the loader makes of it.
template <typename Body>
std::string body_of(uint32_t arity, Body body) {
    const Loaded l = load_function(arity, body);
    return l.ok ? l.body() : l.error.text();
}

// One of two ways, with a frame of one or of two words and a catch in it, to label 4, which the
// caller adds with the handlers.
BeamBuilder& within_two_frames(BeamBuilder& b, uint32_t first_handler, uint32_t second_handler) {
    return b.op(52, {label(3), x(0)})
        .op(12, {u(1), u(1)})
        .op(104, {y(0), label(first_handler)})
        .op(57, {label(4), x(0)})
        .op(105, {y(0)})
        .op(18, {u(1)})
        .op(19)
        .op(1, {u(3)})
        .op(12, {u(2), u(1)})
        .op(172, {list({y(0)})})
        .op(104, {y(1), label(second_handler)})
        .op(57, {label(4), x(0)})
        .op(105, {y(1)})
        .op(18, {u(2)})
        .op(19);
}

}  // namespace

// The set of registers was read beyond its end: a damaged record_use, whose last call is such a one.
TEST_CASE("the arity of a call may ask for registers that nothing else names", "[loader]") {
    for (const uint32_t arity : {60u, 64u, 250u}) {
        CHECK_THAT(why_not(0, [&](BeamBuilder& b) { b.op(12, {u(0), u(0)}).op(112, {u(arity)}).op(18, {u(0)}).op(19); }),
                   Contains("may hold no term"));
        CHECK_THAT(why_not(0, [&](BeamBuilder& b) { b.op(12, {u(0), u(0)}).op(113, {u(arity), u(0)}); }),
                   Contains("may hold no term"));
    }
}

// What the first of two ways defines was taken for what both do: the function was refused for a mistake of the loader.
TEST_CASE("a function with repairs is judged when all ways to them are known", "[loader]") {
    const Loaded l = load_function(2, [](BeamBuilder& b) {
        b.op(12, {u(1), u(2)})
            .op(172, {list({y(0)})})
            .op(57, {label(3), x(0)})
            .op(64, {x(0), x(2)})
            .op(64, {x(0), x(3)})
            .op(64, {x(0), x(5)})
            .op(1, {u(4)})
            .op(175, {y(0)})  // may collect here: x2 gets a term, and x4 if x5 is there
            .op(18, {u(1)})
            .op(19)
            .op(1, {u(3)})
            .op(64, {x(0), x(3)})
            .op(61, {label(4)});
    });
    INFO(l.error.text());
    REQUIRE(l.ok);
}

TEST_CASE("registers must hold terms before they are read", "[loader]") {
    CHECK(why_not(1, [](BeamBuilder& b) { b.op(19); }).empty());
    CHECK_THAT(why_not(0, [](BeamBuilder& b) { b.op(19); }), Contains("x0 may hold no term"));
    CHECK_THAT(why_not(1,
                       [](BeamBuilder& b) {
                           b.op(64, {x(1), x(0)}).op(19);
                       }),
               Contains("x1 may hold no term"));
    // Defined on one way only.
    CHECK_THAT(why_not(1,
                       [](BeamBuilder& b) {
                           b.op(52, {label(3), x(0)})
                               .op(64, {nil(), x(1)})
                               .op(1, {u(3)})
                               .op(64, {x(1), x(0)})
                               .op(19);
                       }),
               Contains("x1 may hold no term"));
    // A call leaves x0 only.
    CHECK_THAT(why_not(2,
                       [](BeamBuilder& b) {
                           b.op(12, {u(0), u(2)})
                               .op(4, {u(2), label(2)})
                               .op(64, {x(1), x(0)})
                               .op(18, {u(0)})
                               .op(19);
                       }),
               Contains("x1 may hold no term"));
    CHECK_THAT(why_not(2,
                       [](BeamBuilder& b) {
                           b.op(16, {u(2), u(1)}).op(69, {x(0), x(1), x(0)}).op(19);
                       }),
               Contains("x1 may hold no term"));
    CHECK_THAT(why_not(1,
                       [](BeamBuilder& b) {
                           b.op(97, {x(0), fr(0)}).op(96, {fr(1), x(0)}).op(19);
                       }),
               Contains("float register 1"));
}

TEST_CASE("live counts must not exceed what is defined", "[loader]") {
    CHECK_THAT(why_not(1,
                       [](BeamBuilder& b) {
                           b.op(16, {u(2), u(2)}).op(19);
                       }),
               Contains("x1 is to be kept"));
}

TEST_CASE("frames are made and dropped in pairs", "[loader]") {
    CHECK_THAT(why_not(1,
                       [](BeamBuilder& b) {
                           b.op(12, {u(1), u(1)}).op(19);
                       }),
               Contains("the frame is still there"));
    CHECK_THAT(why_not(1, [](BeamBuilder& b) { b.op(18, {u(1)}).op(19); }), Contains("frame"));
    CHECK_THAT(why_not(1,
                       [](BeamBuilder& b) {
                           b.op(12, {u(1), u(1)}).op(18, {u(2)}).op(19);
                       }),
               Contains("drops a frame of 2 words, the frame has 1"));
    CHECK_THAT(why_not(1,
                       [](BeamBuilder& b) {
                           b.op(12, {u(0), u(1)}).op(12, {u(1), u(1)}).op(18, {u(1)}).op(19);
                       }),
               Contains("frame is still there"));
    CHECK_THAT(why_not(1,
                       [](BeamBuilder& b) {
                           b.op(12, {u(2), u(1)}).op(5, {u(1), label(2), u(1)});
                       }),
               Contains("drops a frame of 1 words"));
    CHECK_THAT(why_not(1,
                       [](BeamBuilder& b) {
                           b.op(4, {u(1), label(2)}).op(19);
                       }),
               Contains("a call needs a frame"));
    CHECK_THAT(why_not(1,
                       [](BeamBuilder& b) {
                           b.op(12, {u(1), u(1)}).op(64, {x(0), y(1)}).op(18, {u(1)}).op(19);
                       }),
               Contains("y1 in a frame of 1"));
    CHECK_THAT(why_not(1,
                       [](BeamBuilder& b) {
                           b.op(12, {u(2), u(1)})
                               .op(172, {list({y(0), y(1)})})
                               .op(136, {u(1), u(2)})
                               .op(18, {u(2)})
                               .op(19);
                       }),
               Contains("the frame has 2"));
    // One way with a frame, one without.
    CHECK_THAT(why_not(1,
                       [](BeamBuilder& b) {
                           b.op(52, {label(3), x(0)}).op(12, {u(0), u(1)}).op(1, {u(3)}).op(19);
                       }),
               !Contains("x0"));
}

TEST_CASE("y registers hold terms before others may look at the frame", "[loader]") {
    CHECK_THAT(why_not(1,
                       [](BeamBuilder& b) {
                           b.op(12, {u(1), u(1)}).op(4, {u(1), label(2)}).op(18, {u(1)}).op(19);
                       }),
               Contains("y0 holds no term"));
    CHECK_THAT(why_not(1,
                       [](BeamBuilder& b) {
                           b.op(12, {u(1), u(1)}).op(64, {y(0), x(0)}).op(18, {u(1)}).op(19);
                       }),
               Contains("y0 may hold no term"));
    const Loaded l = load_function(1, [](BeamBuilder& b) {
        b.op(12, {u(1), u(1)})
            .op(172, {list({y(0)})})
            .op(4, {u(1), label(2)})
            .op(18, {u(1)})
            .op(19);
    });
    CHECK(l.ok);
    CHECK(l.at_body(2).frame == 1);
    CHECK(l.at_body(4).frame == -1);
}

TEST_CASE("what is built must have been reserved", "[loader]") {
    CHECK_THAT(why_not(2,
                       [](BeamBuilder& b) {
                           b.op(69, {x(0), x(1), x(0)}).op(19);
                       }),
               Contains("it needs 2 heap words, 0 are reserved"));
    CHECK_THAT(
        why_not(
            2,
            [](BeamBuilder& b) {
                b.op(16, {u(2), u(2)}).op(69, {x(0), x(1), x(0)}).op(69, {x(0), x(1), x(0)}).op(19);
            }),
        Contains("it needs 2 heap words"));
    CHECK_THAT(why_not(1,
                       [](BeamBuilder& b) {
                           b.op(16, {u(2), u(1)}).op(164, {x(0), list({x(0), x(0)})}).op(19);
                       }),
               Contains("it needs 3 heap words, 2 are reserved"));
    // A collection in between voids the reservation.
    CHECK_THAT(why_not(2,
                       [](BeamBuilder& b) {
                           b.op(16, {u(2), u(2)})
                               .op(125,
                                   {label(0), u(2), b.import("erlang", "+", 2), x(0), x(1), x(0)})
                               .op(69, {x(0), x(1), x(0)})
                               .op(19);
                       }),
               Contains("it needs 2 heap words"));
    CHECK(why_not(1, [](BeamBuilder& b) {
              b.op(16, {alloc(2, 0, 1), u(1)})
                  .op(171, {b.fun("f", 1, 2, 1), x(1), list({x(0)})})
                  .op(64, {x(1), x(0)})
                  .op(19);
          }).empty());
}

TEST_CASE("reservations and registers survive what OTP does not collect in", "[loader]") {
    // recv_marker_reserve may collect here: the list cell is reserved again, y1 gets a term.
    const Loaded l = load_function(1, [](BeamBuilder& b) {
        b.op(13, {u(2), u(2), u(1)})
            .op(175, {y(0)})
            .op(69, {x(0), nil(), x(0)})
            .op(18, {u(2)})
            .op(19);
    });
    INFO(l.error.text());
    REQUIRE(l.ok);
    std::vector<Op> found;
    for (uint32_t n = 0; l.module.functions[0].entry + n < l.module.functions[0].end; ++n) {
        found.push_back(l.at_body(n).op);
    }
    CHECK(found == std::vector<Op>{Op::allocate_heap, Op::init_yregs, Op::recv_marker_reserve,
                                   Op::test_heap, Op::put_list, Op::deallocate, Op::return_});
    CHECK(l.module.operands_of(l.at_body(3))[0].value == 2);
    CHECK(l.at_body(3).live == 1);
}

TEST_CASE("catches are ended where they are active, and handlers see the frame", "[loader]") {
    const auto good = [](BeamBuilder& b) {
        b.op(12, {u(1), u(1)})
            .op(104, {y(0), label(3)})
            .op(4, {u(1), label(2)})
            .op(105, {y(0)})
            .op(18, {u(1)})
            .op(19)
            .op(1, {u(3)})
            .op(106, {y(0)})
            .op(64, {x(1), x(0)})
            .op(18, {u(1)})
            .op(19);
    };
    const Loaded l = load_function(1, good);
    INFO(l.error.text());
    REQUIRE(l.ok);
    CHECK(l.module.catch_count == 1);
    CHECK_THAT(why_not(1,
                       [](BeamBuilder& b) {
                           b.op(12, {u(1), u(1)})
                               .op(104, {y(0), label(3)})
                               .op(18, {u(1)})
                               .op(19)
                               .op(1, {u(3)})
                               .op(106, {y(0)})
                               .op(18, {u(1)})
                               .op(19);
                       }),
               Contains("a catch is active"));
    CHECK_THAT(why_not(1,
                       [](BeamBuilder& b) {
                           b.op(12, {u(1), u(1)})
                               .op(172, {list({y(0)})})
                               .op(105, {y(0)})
                               .op(18, {u(1)})
                               .op(19);
                       }),
               Contains("y0 marks no catch"));
    CHECK_THAT(why_not(1,
                       [](BeamBuilder& b) {
                           b.op(12, {u(1), u(1)})
                               .op(104, {y(0), label(3)})
                               .op(64, {y(0), x(0)})
                               .op(1, {u(3)})
                               .op(106, {y(0)})
                               .op(18, {u(1)})
                               .op(19);
                       }),
               Contains("y0 may hold no term"));
    CHECK_THAT(why_not(1,
                       [](BeamBuilder& b) {
                           b.op(12, {u(1), u(1)})
                               .op(104, {y(0), label(3)})
                               .op(64, {x(0), y(0)})
                               .op(1, {u(3)})
                               .op(106, {y(0)})
                               .op(18, {u(1)})
                               .op(19);
                       }),
               Contains("y0 marks a catch"));
    // Nothing is in x registers when a handler is reached.
    CHECK_THAT(why_not(1,
                       [](BeamBuilder& b) {
                           b.op(12, {u(1), u(1)})
                               .op(104, {y(0), label(3)})
                               .op(4, {u(1), label(2)})
                               .op(105, {y(0)})
                               .op(1, {u(3)})
                               .op(106, {y(0)})
                               .op(64, {x(3), x(0)})
                               .op(18, {u(1)})
                               .op(19);
                       }),
               Contains("x3"));
}

TEST_CASE("labels must be inside the function, calls must reach functions", "[loader]") {
    CHECK_THAT(why_not(1, [](BeamBuilder& b) { b.op(61, {label(9)}); }),
               Contains("nothing defines label 9"));
    CHECK_THAT(why_not(1,
                       [](BeamBuilder& b) {
                           b.op(6, {u(2), label(2)});
                       }),
               Contains("no function of that arity"));
    // Another label of the entry will do.
    CHECK(why_not(1, [](BeamBuilder& b) { b.op(1, {u(3)}).op(6, {u(1), label(3)}); }).empty());
    CHECK_THAT(why_not(1, [](BeamBuilder& b) { b.op(19).function("g", 1, 5).op(61, {label(2)}); }),
               Contains("another function holds label 2"));
    CHECK_THAT(why_not(1,
                       [](BeamBuilder& b) {
                           b.op(64, {nil(), x(0)});
                       }),
               Contains("the code after it would run"));
    CHECK_THAT(why_not(1, [](BeamBuilder& b) { b.op(1, {u(3)}).op(1, {u(3)}).op(19); }),
               Contains("defined twice"));
    CHECK_THAT(why_not(1, [](BeamBuilder& b) { b.op(1, {u(99)}).op(19); }),
               Contains("label 99 does not exist"));
}

TEST_CASE("a timeout in a register may be looked at again after waiting", "[loader]") {
    CHECK(why_not(1, [](BeamBuilder& b) {
              b.op(12, {u(0), u(1)})
                  .op(1, {u(3)})
                  .op(26, {label(3), x(0)})
                  .op(22)
                  .op(64, {nil(), x(0)})
                  .op(18, {u(0)})
                  .op(19);
          }).empty());
    // ... but not once a message has been taken, which ends the timer.
    CHECK_THAT(why_not(1,
                       [](BeamBuilder& b) {
                           b.op(12, {u(0), u(1)})
                               .op(1, {u(3)})
                               .op(23, {label(4), x(1)})
                               .op(21)
                               .op(61, {label(3)})
                               .op(1, {u(4)})
                               .op(26, {label(3), x(0)})
                               .op(22)
                               .op(64, {nil(), x(0)})
                               .op(18, {u(0)})
                               .op(19);
                       }),
               Contains("x0 may hold no term"));
}

TEST_CASE("frames of several sizes, catches in them, may share what only raises", "[loader]") {
    const auto two_frames = [](BeamBuilder& b) -> BeamBuilder& {
        return within_two_frames(b, 5, 6)
            .op(1, {u(5)})
            .op(106, {y(0)})
            .op(18, {u(1)})
            .op(19)
            .op(1, {u(6)})
            .op(106, {y(1)})
            .op(18, {u(2)})
            .op(19)
            .op(1, {u(4)});
    };
    CHECK(why_not(1, [&](BeamBuilder& b) { two_frames(b).op(73); }).empty());
    CHECK_THAT(why_not(1,
                       [&](BeamBuilder& b) {
                           two_frames(b).op(64, {nil(), x(0)}).op(73);
                       }),
               Contains("frames of several sizes"));
    // A register that marks a catch on one of the ways holds no term.
    CHECK_THAT(why_not(1, [&](BeamBuilder& b) { two_frames(b).op(72, {y(0)}); }),
               Contains("y0 may hold no term"));
}

TEST_CASE("what only raises may be shared by frames of several sizes and places within catches",
          "[loader]") {
    CHECK(why_not(1, [](BeamBuilder& b) {
              b.op(52, {label(3), x(0)})
                  .op(12, {u(2), u(1)})
                  .op(172, {list({y(0), y(1)})})
                  .op(104, {y(0), label(5)})
                  .op(104, {y(1), label(6)})
                  .op(57, {label(4), x(0)})
                  .op(105, {y(1)})
                  .op(57, {label(4), x(0)})
                  .op(105, {y(0)})
                  .op(57, {label(4), x(0)})
                  .op(18, {u(2)})
                  .op(19)
                  .op(1, {u(6)})
                  .op(106, {y(1)})
                  .op(57, {label(4), x(0)})
                  .op(105, {y(0)})
                  .op(18, {u(2)})
                  .op(19)
                  .op(1, {u(5)})
                  .op(106, {y(0)})
                  .op(18, {u(2)})
                  .op(19)
                  .op(1, {u(3)})
                  .op(12, {u(1), u(1)})
                  .op(172, {list({y(0)})})
                  .op(57, {label(4), x(0)})
                  .op(18, {u(1)})
                  .op(19)
                  .op(1, {u(4)})
                  .op(73);
          }).empty());
}

// Each exception there would reach the handler again. Following it took all of the C++ stack.
TEST_CASE("a handler that raises within its own catch is refused", "[loader]") {
    CHECK_THAT(why_not(1,
                       [](BeamBuilder& b) {
                           within_two_frames(b, 4, 4).op(1, {u(4)}).op(74, {b.atom("x")});
                       }),
               Contains("raises before it ends its catch"));
}

TEST_CASE("a test that cannot succeed does not make a tuple smaller", "[loader]") {
    CHECK(why_not(1, [](BeamBuilder& b) {
              b.op(57, {label(3), x(0)})
                  .op(58, {label(3), x(0), u(4)})
                  .op(58, {label(4), x(0), u(2)})
                  .op(1, {u(4)})
                  .op(66, {x(0), u(2), x(0)})
                  .op(19)
                  .op(1, {u(3)})
                  .op(19);
          }).empty());
}

TEST_CASE("what comes after a test that a constant cannot pass is not reached", "[loader]") {
    CHECK(why_not(0, [](BeamBuilder& b) {
              b.op(57, {label(3), integer(1)})
                  .op(58, {label(3), integer(1), u(2)})
                  .op(66, {integer(1), u(1), x(0)})
                  .op(1, {u(3)})
                  .op(64, {nil(), x(0)})
                  .op(19);
          }).empty());
    // Where another way leads there, it is reached, and raises.
    CHECK_THAT(body_of(1,
                       [](BeamBuilder& b) {
                           b.op(52, {label(3), x(0)})
                               .op(57, {label(4), integer(1)})
                               .op(1, {u(3)})
                               .op(66, {integer(1), u(1), x(0)})
                               .op(1, {u(4)})
                               .op(19);
                       }),
               Contains("expect_tuple"));
    // The same constant may pass other tests.
    CHECK_THAT(body_of(0,
                       [](BeamBuilder& b) {
                           b.op(45, {label(3), integer(1)})
                               .op(66, {integer(1), u(1), x(0)})
                               .op(1, {u(3)})
                               .op(64, {nil(), x(0)})
                               .op(19);
                       }),
               Contains("expect_tuple"));
}

TEST_CASE("operands that are not proven to be of the kind an instruction trusts are tested", "[loader]") {
    CHECK_THAT(body_of(1,
                       [](BeamBuilder& b) {
                           b.op(52, {label(3), x(0)}).op(162, {x(0), x(0)}).op(1, {u(3)}).op(19);
                       }),
               Contains("expect_cons x0"));
    const auto element_of_pair = [](uint32_t index) {
        return body_of(1, [index](BeamBuilder& b) {
            b.op(57, {label(3), x(0)})
                .op(58, {label(3), x(0), u(2)})
                .op(66, {x(0), u(index), x(0)})
                .op(1, {u(3)})
                .op(19);
        });
    };
    CHECK_THAT(element_of_pair(2), Contains("expect_tuple x0, 3"));
    CHECK_THAT(element_of_pair(1), !Contains("expect"));
    CHECK_THAT(body_of(1,
                       [](BeamBuilder& b) {
                           b.op(66, {b.atom("a"), u(1), x(0)}).op(19);
                       }),
               Contains("expect_tuple"));
    // One test for all elements that are taken one after the other.
    CHECK_THAT(body_of(1,
                       [](BeamBuilder& b) {
                           b.op(66, {x(0), u(1), x(1)}).op(66, {x(0), u(4), x(0)}).op(19);
                       }),
               Contains("expect_tuple x0, 5") && !Contains("expect_tuple x0, 2"));
    // What can fail fails to its own label.
    CHECK_THAT(body_of(1,
                       [](BeamBuilder& b) {
                           b.op(158, {label(1), x(0), list({b.atom("k"), x(0)})}).op(19);
                       }),
               Contains("is_map"));
    CHECK_THAT(body_of(1, [](BeamBuilder& b) { b.op(58, {label(1), x(0), u(2)}).op(19); }),
               Contains("is_tuple"));
    // What holds of a register holds of a copy: this code is not reached, as the compiler found.
    CHECK(why_not(1, [](BeamBuilder& b) {
              b.op(57, {label(3), x(0)})
                  .op(64, {x(0), x(1)})
                  .op(56, {label(3), x(0)})
                  .op(163, {x(1), x(0)})
                  .op(1, {u(3)})
                  .op(19);
          }).empty());
    CHECK(why_not(1, [](BeamBuilder& b) {
              b.op(159, {label(3), x(0), u(2), b.atom("a")})
                  .op(43, {label(3), x(0), integer(1)})
                  .op(66, {x(0), u(1), x(0)})
                  .op(1, {u(3)})
                  .op(19);
          }).empty());
    // A kind that is possible on one of two ways is possible.
    CHECK(why_not(1, [](BeamBuilder& b) {
              b.op(52, {label(3), x(0)})
                  .op(64, {x(0), x(1)})
                  .op(61, {label(4)})
                  .op(1, {u(3)})
                  .op(64, {x(0), x(1)})
                  .op(1, {u(4)})
                  .op(162, {x(1), x(0)})
                  .op(19);
          }).empty());
}

TEST_CASE("matching needs a context, and a context is no term", "[loader]") {
    CHECK_THAT(why_not(1,
                       [](BeamBuilder& b) {
                           b.op(121, {label(3), x(0), u(0)}).op(1, {u(3)}).op(19);
                       }),
               Contains("no match context"));
    const auto with_context = [](auto body) {
        return why_not(1, [&body](BeamBuilder& b) {
            b.op(166, {label(3), x(0), u(1), x(1)});
            body(b);
            b.op(1, {u(3)}).op(19);
        });
    };
    CHECK(with_context([](BeamBuilder& b) { b.op(121, {label(3), x(1), u(0)}); }).empty());
    CHECK(with_context([](BeamBuilder& b) {
              b.op(169, {x(0), x(1)}).op(165, {x(0), x(0), u(2)});
          }).empty());
    CHECK_THAT(with_context([](BeamBuilder& b) {
                   b.op(16, {u(2), u(2)}).op(69, {x(1), nil(), x(0)});
               }),
               Contains("must not be used as a term"));
    CHECK_THAT(with_context([](BeamBuilder& b) {
                   b.op(64, {x(1), x(0)}).op(19);
               }),
               Contains("x0 may be a match context"));
}

// As OTP 27 compiles clauses of bit strings.
TEST_CASE("where a bs_match has failed all registers are as before it", "[loader]") {
    const auto with = [](bool writes_before_failing) {
        BeamBuilder b("m_failed_match");
        b.function("f", 1, 1)
            .op(170, {label(4), u(1), x(0), x(1)})
            .op(167, {x(1), x(4), u(2)})
            .op(64, {x(0), x(5)})
            .op(182, {label(3), x(1),
                      list(writes_before_failing
                               ? std::vector<Arg>{b.atom("ensure_exactly"), u(24), b.atom("binary"),
                                                  u(2), nil(), u(8), u(1), x(1), b.atom("=:="),
                                                  nil(), u(8), u(7)}
                               : std::vector<Arg>{b.atom("ensure_exactly"), u(24), b.atom("binary"),
                                                  u(2), nil(), u(8), u(1), x(5), b.atom("get_tail"),
                                                  u(2), u(1), x(1)})})
            .op(64, {x(1), x(0)})
            .op(19)
            .op(1, {u(3)})
            // The context, which the commands overwrite, and x4 and x5, which are above their live
            // ones.
            .op(168, {x(1), x(4)})
            .op(64, {x(5), x(0)})
            .op(19)
            .op(1, {u(4)})
            .op(19);
        return load(b);
    };
    const Loaded good = with(false);
    INFO(good.error.text());
    CHECK(good.ok);
    CHECK_THAT(with(true).error.text(), Contains("follows the end of the context"));
}

TEST_CASE("the size of a match context may be asked for", "[loader]") {
    const auto with = [](const char* function) {
        BeamBuilder b("m_context_size");
        b.function("f", 1, 1)
            .op(170, {label(3), u(1), x(0), x(1)})
            .op(124, {label(0), u(2), b.import("erlang", function, 1), x(1), x(0)})
            .op(1, {u(3)})
            .op(19);
        return load(b);
    };
    CHECK(with("byte_size").ok);
    CHECK(with("bit_size").ok);
    CHECK_THAT(with("map_size").error.text(), Contains("a match context must not be used"));
}

TEST_CASE("messages and bit strings are finished only when they were begun", "[loader]") {
    CHECK_THAT(why_not(1, [](BeamBuilder& b) { b.op(21).op(19); }), Contains("no message"));
    CHECK_THAT(why_not(1, [](BeamBuilder& b) { b.op(1, {u(3)}).op(24, {label(3)}); }),
               Contains("no message"));
    CHECK_THAT(why_not(1,
                       [](BeamBuilder& b) {
                           b.op(89, {label(0), integer(8), u(1), u(0), x(0)}).op(19);
                       }),
               Contains("no bit string has been begun"));
}

// The kinds of y registers were read beyond their end: a damaged instr_switches, whose map element goes there.
TEST_CASE("an element of a map must not go to a register outside of the frame", "[loader]") {
    const auto into = [](uint32_t r) {
        return why_not(1, [&](BeamBuilder& b) {
            b.op(12, {u(2), u(1)})
                .op(172, {list({y(0), y(1)})})
                .op(158, {label(3), x(0), list({b.atom("k"), y(r)})})
                .op(1, {u(3)})
                .op(64, {b.atom("ok"), x(0)})
                .op(18, {u(2)})
                .op(19);
        });
    };
    CHECK(into(1) == "");
    CHECK_THAT(into(2), Contains("y2 in a frame of 2"));
    CHECK_THAT(into(500), Contains("y500 in a frame of 2"));
}
