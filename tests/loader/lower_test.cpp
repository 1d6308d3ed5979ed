#include "tests/loader/beam_builder.hpp"
#include "vm/bif/bif.hpp"
#include "vm/code/export.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/bignum.hpp"
#include "vm/term/heap.hpp"

#include <catch2/catch.hpp>

using namespace minivm;
using namespace minivm::test;
using Code = loader::LoadError::Code;
using Catch::Matchers::Contains;

namespace {

// One function f/Arity (labels 1 and 2) with this body.
template <typename Body>
Loaded load_function(uint32_t arity, Body body) {
    register_bifs();
    BeamBuilder b("m_lower");
    b.function("f", arity, 1);
    body(b);
    return load(b);
}

std::vector<Op> ops(const Loaded& l) {
    std::vector<Op> out;
    const LoweredFunction& f = l.module.functions.at(0);
    for (uint32_t at = f.entry; at < f.end; ++at) {
        out.push_back(l.module.code[at].op);
    }
    return out;
}

const Operand* operands(const Loaded& l, uint32_t n) {
    return l.module.operands_of(l.at_body(n));
}

}  // namespace

TEST_CASE("guard BIFs with an instruction of their own become it", "[loader]") {
    const Loaded l = load_function(4, [](BeamBuilder& b) {
        b.op(125, {label(0), u(4), b.import("erlang", "+", 2), x(0), x(1), x(0)})
            .op(125, {label(3), u(4), b.import("erlang", "bsl", 2), x(0), integer(3), x(1)})
            .op(124, {label(0), u(4), b.import("erlang", "-", 1), x(0), x(0)})
            .op(9, {b.import("erlang", "self", 0), x(4)})
            .op(10, {label(3), b.import("erlang", "hd", 1), x(2), x(0)})
            .op(11, {label(3), b.import("erlang", "element", 2), integer(1), x(3), x(0)})
            .op(1, {u(3)})
            .op(19);
    });
    INFO(l.error.text());
    REQUIRE(l.ok);
    CHECK(ops(l) ==
          std::vector<Op>{Op::add, Op::bsl, Op::neg, Op::self, Op::hd, Op::element, Op::return_});
    CHECK(l.at_body(0).live == 4);
    CHECK(operands(l, 0)[0].index == kNoLabel);
    CHECK(operands(l, 1)[0].index == l.module.functions[0].entry + 6);
    CHECK(l.at_body(6).block_start);
}

TEST_CASE("a guard BIF that nobody knows is refused by name", "[loader]") {
    const Loaded l = load_function(1, [](BeamBuilder& b) {
        b.op(10, {label(0), b.import("erlang", "no_such_guard", 1), x(0), x(0)}).op(19);
    });
    CHECK(l.error.code == Code::bad_code);
    CHECK_THAT(l.error.text(), Contains("guard BIF erlang:no_such_guard/1 is not known"));
}

TEST_CASE("calls of BIFs are direct, other calls go through the export entry", "[loader]") {
    const Loaded l = load_function(1, [](BeamBuilder& b) {
        b.op(12, {u(0), u(1)})
            .op(7, {u(1), b.import("m_other", "g", 1)})
            .op(7, {u(2), b.import("erlang", "apply", 2)})
            .op(64, {x(0), x(1)});
        b.code.resize(b.code.size() - 3);
        b.op(8, {u(1), b.import("erlang", "error", 1),
                 u(7)});  // the compiler's frame sizes differ here
    });
    INFO(l.error.text());
    CHECK_FALSE(l.ok);  // x1 of the call of apply/2 holds nothing
    const Loaded good = load_function(1, [](BeamBuilder& b) {
        b.op(12, {u(0), u(1)})
            .op(7, {u(1), b.import("m_other", "g", 1)})
            .op(64, {nil(), x(1)})
            .op(7, {u(2), b.import("erlang", "apply", 2)})
            .op(8, {u(1), b.import("erlang", "error", 1), u(7)});
    });
    INFO(good.error.text());
    REQUIRE(good.ok);
    CHECK(ops(good) == std::vector<Op>{Op::allocate, Op::call_ext, Op::move, Op::call_ext,
                                       Op::call_bif, Op::trap_end});
    CHECK(operands(good, 1)[0].exp ==
          export_table::get(atom_table::intern("m_other"), atom_table::intern("g"), 1));
    CHECK(good.at_body(1).frame == 0);
    CHECK(good.at_body(0).frame == -1);
}

TEST_CASE("call_fun before deallocate and return is a tail call, unless jumped between",
          "[loader]") {
    const auto body = [](bool with_label) {
        return load_function(1, [with_label](BeamBuilder& b) {
            b.op(12, {u(0), u(1)}).op(64, {x(0), x(1)}).op(75, {u(1)});
            if (with_label) {
                b.op(1, {u(5)});
            }
            b.op(18, {u(0)}).op(19);
        });
    };
    CHECK(ops(body(false)) == std::vector<Op>{Op::allocate, Op::move, Op::i_apply_fun_last});
    CHECK(ops(body(true)) ==
          std::vector<Op>{Op::allocate, Op::move, Op::call_fun, Op::deallocate, Op::return_});
    const Loaded l = body(false);
    CHECK(operands(l, 2)[0].value == 1);
    CHECK(operands(l, 2)[1].kind == Operand::Kind::x);
    CHECK(operands(l, 2)[1].index == 1);
}

TEST_CASE("jumps to the next instruction go away", "[loader]") {
    const Loaded l = load_function(1, [](BeamBuilder& b) {
        b.op(52, {label(4), x(0)})
            .op(61, {label(5)})
            .op(1, {u(4)})
            .op(1, {u(5)})
            .op(61, {label(6)})
            .op(1, {u(6)})
            .op(19);
    });
    REQUIRE(l.ok);
    CHECK(ops(l) == std::vector<Op>{Op::is_nil, Op::return_});
    CHECK(operands(l, 0)[0].index == l.module.functions[0].entry + 1);
}

TEST_CASE("constants of all kinds", "[loader]") {
    const Loaded l = load_function(0, [](BeamBuilder& b) {
        b.op(64, {integer(-5), x(0)})
            .op(64, {integer(INT64_MAX), x(1)})
            .op(64, {Arg{{0xF9, 0x00, 0xFF, 0, 0, 0, 0, 0, 0, 0, 0}}, x(2)})  // -(2^64)
            .op(64, {nil(), x(3)})
            .op(64, {b.atom("an atom"), x(4)})
            .op(19);
    });
    REQUIRE(l.ok);
    CHECK(operands(l, 0)[0].term == make_small(-5));
    CHECK(bignum::to_string(operands(l, 1)[0].term, 10) == "9223372036854775807");
    CHECK(bignum::to_string(operands(l, 2)[0].term, 10) == "-18446744073709551616");
    CHECK(is_literal(operands(l, 2)[0].term));
    CHECK(is_nil(operands(l, 3)[0].term));
    CHECK(operands(l, 4)[0].term == atom_table::intern("an atom"));
}

TEST_CASE("bs_match of OTP 26 becomes codes with plain operands", "[loader]") {
    const Loaded l = load_function(1, [](BeamBuilder& b) {
        b.op(170, {label(3), u(1), x(0), x(1)})
            .op(182, {label(3), x(1),
                      list({b.atom("ensure_at_least"), u(24), u(8),            //
                            b.atom("integer"), u(2), nil(), u(8), u(1), x(2),  //
                            b.atom("=:="), nil(), u(8), u(65),                 //
                            b.atom("skip"), u(8),                              //
                            b.atom("get_tail"), u(3), u(8), x(3)})})
            .op(64, {x(3), x(0)})
            .op(1, {u(3)})
            .op(19);
    });
    INFO(l.error.text());
    REQUIRE(l.ok);
    const Instr& i = l.at_body(1);
    REQUIRE(i.op == Op::bs_match);
    std::vector<uint64_t> flat;
    for (uint32_t n = 2; n < i.operand_count; ++n) {
        const Operand& o = operands(l, 1)[n];
        flat.push_back(o.kind == Operand::Kind::x ? 1000 + o.index : o.value);
    }
    CHECK(flat ==
          std::vector<uint64_t>{0, 24, 8, 2, 2, 0, 8, 1, 1002, 5, 0, 8, 65, 6, 8, 4, 3, 8, 1003});
    CHECK(i.live == 4);  // at its end: x0, x1 and its two results
}

TEST_CASE("bs_match commands that are not well formed are refused", "[loader]") {
    const auto with = [](std::vector<Arg> (*commands)(BeamBuilder&)) {
        return load_function(1, [commands](BeamBuilder& b) {
            b.op(170, {label(3), u(1), x(0), x(1)})
                .op(182, {label(3), x(1), list(commands(b))})
                .op(1, {u(3)})
                .op(19);
        });
    };
    CHECK(with([](BeamBuilder& b) { return std::vector<Arg>{b.atom("skip"), u(8)}; }).ok);
    CHECK_FALSE(with([](BeamBuilder& b) { return std::vector<Arg>{b.atom("skip")}; }).ok);
    CHECK_FALSE(with([](BeamBuilder& b) { return std::vector<Arg>{b.atom("hop"), u(8)}; }).ok);
    CHECK_FALSE(with([](BeamBuilder& b) {
                    return std::vector<Arg>{b.atom("ensure_at_least"), u(8), u(0)};
                }).ok);
    CHECK_FALSE(with([](BeamBuilder& b) {
                    return std::vector<Arg>{b.atom("integer"), u(2), nil(), u(8), u(0), x(2)};
                }).ok);
    // More bits than there can be: the command fails when it is run.
    CHECK(with([](BeamBuilder& b) {
              return std::vector<Arg>{b.atom("integer"), u(2), nil(), u(1u << 31), u(255), x(2)};
          }).ok);
    CHECK(with([](BeamBuilder& b) {
              return std::vector<Arg>{b.atom("ensure_at_least"), u(uint64_t{1} << 40), u(1)};
          }).ok);
}

TEST_CASE("bs_create_bin segments", "[loader]") {
    const Loaded l = load_function(1, [](BeamBuilder& b) {
        b.strings = {'a', 'b', 'c'};
        put_u32(b.literals, 0);
        const Bytes flags = {131, 108, 0, 0, 0, 1, 119, 6, 's', 'i', 'g', 'n', 'e', 'd', 106};
        put_u32(b.literals, 1);
        put_u32(b.literals, static_cast<uint32_t>(flags.size()));
        b.literals.insert(b.literals.end(), flags.begin(), flags.end());
        b.op(177, {label(0), u(0), u(1), u(1), x(0),
                   list({b.atom("string"),  u(1), u(8), nil(),      u(1), integer(2),  //
                         b.atom("integer"), u(2), u(1), literal(0), x(0), integer(16),
                         b.atom("binary"),  u(3), u(8), nil(),      x(0), b.atom("all"),
                         b.atom("utf8"),    u(4), u(0), nil(),      x(0), b.atom("undefined")})})
            .op(19);
    });
    INFO(l.error.text());
    REQUIRE(l.ok);
    const Instr& i = l.at_body(0);
    REQUIRE(i.operand_count == 4 + 24);
    const Operand* o = operands(l, 0) + 4;
    CHECK(o[0].value == 8);
    CHECK(o[4].kind == Operand::Kind::string);
    CHECK(o[4].index == 1);
    CHECK(o[6].value == 0);
    CHECK(o[6 + 3].value == 4);  // signed
    CHECK(o[6 + 5].term == make_small(16));
    CHECK(o[12].value == 2);
    CHECK(o[12 + 5].term == atoms::all);
    CHECK(o[18].value == 3);
    const Loaded outside = load_function(1, [](BeamBuilder& b) {
        b.strings = {'a'};
        b.op(177, {label(0), u(0), u(1), u(1), x(0),
                   list({b.atom("string"), u(1), u(8), nil(), u(0), integer(2)})})
            .op(19);
    });
    CHECK_THAT(outside.error.text(), Contains("segment 1 has no valid string"));
}

TEST_CASE("update_record, bif3, debug_line: the instructions after OTP 25", "[loader]") {
    const Loaded l = load_function(1, [](BeamBuilder& b) {
        b.max_opcode = 185;
        b.op(184, {b.atom("entry"), u(0), u(1), u(1)})
            .op(16, {u(4), u(1)})
            .op(181, {b.atom("reuse"), u(3), x(0), x(1), list({u(2), b.atom("v"), u(3), x(0)})})
            .op(64, {x(1), x(0)})
            .op(19);
    });
    INFO(l.error.text());
    REQUIRE(l.ok);
    CHECK(ops(l) == std::vector<Op>{Op::test_heap, Op::expect_tuple, Op::update_record, Op::move, Op::return_});
    CHECK(operands(l, 2)[1].value == 3);
    const Loaded outside = load_function(1, [](BeamBuilder& b) {
        b.op(181, {b.atom("copy"), u(3), x(0), x(1), list({u(4), x(0)})}).op(19);
    });
    CHECK(outside.error.code == Code::bad_operand);
}

TEST_CASE("native records: the instructions of OTP 29", "[loader]") {
    const auto put = [](const std::function<void(BeamBuilder&)>& more) {
        return load_function(1, [&](BeamBuilder& b) {
            b.max_opcode = 191;
            more(b);
            b.op(19);
        });
    };
    const Loaded l = put([](BeamBuilder& b) {
        b.op(186, {label(1), x(0)})
            .op(187, {label(1), x(0), b.atom("m"), b.atom("r")})
            .op(190, {label(1), x(0), b.atom("external")})
            .op(190, {label(1), x(0), b.atom("auto_local")})
            .op(188, {label(1), x(0), list({b.atom("f"), x(1)})})
            .op(189, {label(0), b.atom("_"), x(0), x(1), u(1), list({b.atom("f"), x(0)})})
            .op(191, {label(0), x(0), b.atom("r"), b.atom("f"), x(0)});
    });
    INFO(l.error.text());
    REQUIRE(l.ok);
    CHECK(ops(l) == std::vector<Op>{Op::is_native_record, Op::is_native_record_of, Op::is_record_accessible,
                                    Op::is_record_accessible, Op::get_record_elements,
                                    Op::update_native_record, Op::get_record_field, Op::return_});
    CHECK(operands(l, 2)[2].term == kNil);
    CHECK(operands(l, 3)[2].term == l.module.name);

    const Loaded unknown = put([](BeamBuilder& b) {
        b.op(189, {label(0), b.atom("none"), nil(), x(0), u(1), list({b.atom("f"), x(0)})});
    });
    CHECK(unknown.error.code == Code::bad_operand);
    CHECK_THAT(unknown.error.text(), Contains("does not define this record"));
    const Loaded odd = put([](BeamBuilder& b) {
        b.op(189, {label(0), b.atom("_"), x(0), x(0), u(1), list({b.atom("f")})});
    });
    CHECK_THAT(odd.error.text(), Contains("expected pairs"));
    const Loaded nameless = put([](BeamBuilder& b) {
        b.op(191, {label(0), x(0), integer(1), b.atom("f"), x(0)});
    });
    CHECK_THAT(nameless.error.text(), Contains("no name of a record"));
}

TEST_CASE("instructions that OTP 25 has given up are refused by name", "[loader]") {
    const Loaded l = load_function(1, [](BeamBuilder& b) {
        b.op(116, {label(1), x(0), u(1), u(0), x(0)}).op(19);
    });
    CHECK(l.error.code == Code::unsupported);
    CHECK_THAT(l.error.text(), Contains("bs_start_match2"));
}

TEST_CASE("older instructions that OTP 25 still takes", "[loader]") {
    const Loaded l = load_function(2, [](BeamBuilder& b) {
        b.strings = {'x', 'y'};
        b.op(15, {u(2), u(2), u(2)})                             // allocate_heap_zero
            .op(69, {x(0), nil(), y(0)})                         // put_list
            .op(94)                                              // fclearerror
            .op(109, {label(0), u(4), u(0), u(2), u(16), x(2)})  // bs_init2, native
            .op(89, {label(0), integer(16), u(1), u(4), x(1)})   // bs_put_integer
            .op(92, {u(2), u(0)})                                // bs_put_string
            .op(103, {b.fun("f", 2, 2, 1)})                      // make_fun2
            .op(178, {b.atom("safe"), u(0), x(0)})               // call_fun2
            .op(18, {u(2)})
            .op(19);
    });
    INFO(l.error.text());
    REQUIRE(l.ok);
    CHECK(ops(l) == std::vector<Op>{Op::allocate_heap, Op::init_yregs, Op::put_list, Op::bs_init,
                                    Op::bs_put_integer, Op::bs_put_string, Op::test_heap,
                                    Op::make_fun, Op::i_apply_fun_last});
    CHECK(operands(l, 3)[1].term == make_small(4));
    CHECK(operands(l, 3)[2].value == 8);
    CHECK(operands(l, 3)[3].term == make_small(2));  // native is little here
    CHECK(operands(l, 6)[0].value == kFunFixedWords + 1);
}

TEST_CASE("a function that the VM implements gets its body replaced", "[loader]") {
    register_bifs();
    const BifDef* def = bif_registry::find(atoms::erlang, atom_table::intern("error"), 1);
    REQUIRE(def != nullptr);
    BeamBuilder b("erlang");
    b.function("error", 1, 1)
        .op(64, {b.atom("undef"), x(0)})
        .op(78, {u(1), b.import("erlang", "nif_error", 1)})
        .function("local", 1, 3)
        .op(6, {u(1), label(2)});
    const Loaded l = load(b);
    INFO(l.error.text());
    REQUIRE(l.ok);
    CHECK(l.module.functions[0].native == def);
    CHECK(l.module.functions[1].native == nullptr);
    CHECK(ops(l) == std::vector<Op>{Op::bif_body});
    CHECK(operands(l, 0)[1].bif == def);
    const Instr& call = l.module.code[l.module.functions[1].entry];
    CHECK(call.op == Op::call_only);
    CHECK(l.module.operands_of(call)[0].index == l.module.functions[0].entry);
}

TEST_CASE("select lists, on_load, funs and exports", "[loader]") {
    BeamBuilder b("m_tables");
    register_bifs();
    b.function("init", 0, 1).op(149).op(64, {b.atom("ok"), x(0)}).op(19);
    b.function("pick", 1, 3)
        .op(59, {x(0), label(5), list({b.atom("a"), label(5), integer(7), label(6)})})
        .op(1, {u(5)})
        .op(19)
        .op(1, {u(6)})
        .op(64, {nil(), x(0)})
        .op(19);
    b.fun("pick", 1, 4, 1);
    const Loaded l = load(b);
    INFO(l.error.text());
    REQUIRE(l.ok);
    CHECK(l.module.on_load == l.module.functions[0].entry);
    REQUIRE(l.module.exports.size() == 2);
    CHECK(l.module.exports[1].entry == l.module.functions[1].entry);
    CHECK(l.module.functions[1].exported);
    REQUIRE(l.module.lambdas.size() == 1);
    CHECK(l.module.lambdas[0].entry == l.module.functions[1].entry);
    CHECK(l.module.lambdas[0].num_free == 1);
    const Instr& select = l.module.code[l.module.functions[1].entry];
    REQUIRE(select.op == Op::select_val);
    CHECK(l.module.operands_of(select)[4].term == make_small(7));
    CHECK(l.module.operands_of(select)[5].index == l.module.functions[1].entry + 2);
}

// As compilers before OTP 23 wrote it for clauses that do not match once bits have been.
TEST_CASE("a call of error/2 that is no tail call ends a block and a function", "[loader]") {
    const Loaded l = load_function(2, [](BeamBuilder& b) {
        b.op(48, {label(3), x(0)})
            .op(64, {nil(), x(2)})
            .op(64, {b.atom("function_clause"), x(0)})
            .op(64, {nil(), x(1)})
            .op(7, {u(2), b.import("erlang", "error", 2)})
            .op(1, {u(3)})  // where x2 holds nothing: nobody comes from above
            .op(64, {nil(), x(1)})
            .op(7, {u(2), b.import("erlang", "error", 2)});
    });
    INFO(l.error.text());
    REQUIRE(l.ok);
    CHECK(l.at_body(5).op == Op::trap_end);
    CHECK(ops(l).back() == Op::trap_end);
    const Loaded other = load_function(2, [](BeamBuilder& b) {
        b.op(64, {nil(), x(1)}).op(7, {u(2), b.import("m_other", "error", 2)});
    });
    CHECK_THAT(other.error.text(), Contains("the function has no end"));
}

TEST_CASE("a select may have more pairs than 16 bits count", "[loader]") {
    std::vector<Arg> pairs;
    for (int64_t n = 0; n < 40000; ++n) {
        pairs.push_back(integer(n));
        pairs.push_back(label(3));
    }
    const Loaded l = load_function(1, [&](BeamBuilder& b) {
        b.op(59, {x(0), label(3), list(pairs)}).op(1, {u(3)}).op(19);
    });
    INFO(l.error.text());
    REQUIRE(l.ok);
    CHECK(l.at_body(0).operand_count == 2 + 80000);
}

TEST_CASE("errors name the chunk, the offset and the instruction", "[loader]") {
    const Loaded l = load_function(1, [](BeamBuilder& b) {
        b.op(158, {label(1), x(0), list({b.atom("k")})}).op(19);
    });
    CHECK(l.error.code == Code::bad_operand);
    CHECK_THAT(l.error.text(), Contains("Code chunk at offset 0x") &&
                                   Contains("(get_map_elements)") && Contains("expected pairs"));
}

TEST_CASE("a new map of constant keys has them sorted when it is loaded", "[loader]") {
    const auto make = [](const std::vector<Arg>& pairs) {
        return load_function(1, [&](BeamBuilder& b) {
            const std::vector<uint8_t> empty_map = {131, 116, 0, 0, 0, 0};
            put_u32(b.literals, 0);  // not compressed
            put_u32(b.literals, 1);
            put_u32(b.literals, static_cast<uint32_t>(empty_map.size()));
            b.literals.insert(b.literals.end(), empty_map.begin(), empty_map.end());
            b.op(154, {label(0), literal(0), x(0), u(1), list(pairs)}).op(19);
        });
    };
    const Loaded sorted =
        make({integer(3), x(0), integer(1), integer(10), integer(2), integer(20)});
    INFO(sorted.error.text());
    REQUIRE(sorted.ok);
    CHECK(ops(sorted) == std::vector<Op>{Op::new_flat_map, Op::return_});
    CHECK(sorted.at_body(0).operand_count == 5);
    const Operand* o = operands(sorted, 0);
    REQUIRE(is_tuple_of(o[0].term, 3));
    for (size_t i = 0; i < 3; ++i) {
        CHECK(tuple_element(o[0].term, i) == make_small(static_cast<int64_t>(i) + 1));
    }
    CHECK(o[2].term == make_small(10));
    CHECK(o[3].term == make_small(20));
    CHECK(o[4].kind == Operand::Kind::x);

    // Of equal keys the last one counts.
    const Loaded twice = make({integer(1), integer(10), integer(1), integer(11)});
    REQUIRE(twice.ok);
    CHECK(twice.at_body(0).operand_count == 3);
    CHECK(operands(twice, 0)[2].term == make_small(11));

    CHECK(ops(make({x(0), integer(10)})) == std::vector<Op>{Op::put_map_assoc, Op::return_});
    std::vector<Arg> many;
    for (int i = 0; i <= static_cast<int>(kMaxFlatMap); ++i) {
        many.insert(many.end(), {integer(i), x(0)});
    }
    CHECK(ops(make(many)) == std::vector<Op>{Op::put_map_assoc, Op::return_});
}
