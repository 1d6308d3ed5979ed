// Maps, and guard functions.
#include "jit/emitter.hpp"
#include "jit/layout.hpp"
#include "jit/runtime.hpp"
#include "vm/instr/bif_def.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/compare.hpp"
#include "vm/term/map.hpp"

#include <algorithm>
#include <bit>
#include <string_view>

namespace minivm::jit {
namespace {

bool is_guard_bif(const BifDef& bif, std::string_view name) {
    // The loader replaces erlang:map_get/2 and is_map_key/2 by maps:get/2 and is_key/2.
    const std::string_view module = bif.module;
    return (module == "erlang" && bif.function == name) ||
           (module == "maps" &&
            ((name == "map_get" && bif.function == std::string_view("get")) ||
             (name == "is_map_key" && bif.function == std::string_view("is_key"))));
}

}  // namespace

void Emitter::map_value(const Operand& map, const Operand& key) {
    value_to(Reg::t1, map);
    value_to(Reg::t3, key);
    if (key.kind != Operand::Kind::constant) {
        a_.call_leaf_fragment(fragments_.map_get);
        return;
    }
    a_.move_imm(Reg::t2, map::key_hash(key.term));
    a_.call_leaf_fragment(is_equal_by_word(key.term) ? fragments_.map_get_immediate
                                                     : fragments_.map_get_constant);
}

// Whether the keys are constants that are found by their words, in the order that a flat map has, as the loader
// sorts them where it may (loader/lower.cpp); and no value overwrites the map.
bool Emitter::are_ascending_keys(uint32_t step) const {
    const Operand* o = operands();
    const uint32_t count = i_->operand_count;
    if (count < 2 + 2 * step) {
        return false;
    }
    for (uint32_t k = 2; k < count; k += step) {
        if (o[k].kind != Operand::Kind::constant || !is_equal_by_word(o[k].term) ||
            (k > 2 && compare_flat_keys(o[k - step].term, o[k].term) >= 0) ||
            (step == 2 && same_register(o[1], o[k + 1]))) {
            return false;
        }
    }
    return true;
}

// Looks up each key; stores its value, unless only the keys matter (a step of one).
void Emitter::fetch_keys(uint32_t step) {
    const Operand* o = operands();
    for (uint32_t k = 2; k < i_->operand_count; k += step) {
        map_value(o[1], o[k]);
        a_.compare_imm(Reg::t0, static_cast<int64_t>(kNonValue.raw));
        a_.branch(Cond::equal, label_of(o[0].index));
        if (step == 2) {
            store_result(o[k + 1], Reg::t0);
        }
    }
}

// Finds all keys in one pass over those of a flat map.
void Emitter::fetch_ascending_keys(uint32_t step) {
    constexpr auto boxed = static_cast<int32_t>(kTagBoxed);
    const Operand* o = operands();
    const Label none = label_of(o[0].index);
    const Label other = a_.new_label();
    const Label back = a_.new_label();
    value_to(Reg::t1, o[1]);
    a_.compare_u8_imm({Reg::t1, -boxed}, static_cast<uint8_t>(make_header(Kind::flat_map, 0)));
    a_.branch(Cond::not_equal, other);
    // t0: the next key; t2: behind the last; t1: the map.
    a_.load(Reg::t0, {Reg::t1, 8 - boxed});
    a_.load(Reg::t2, {Reg::t0, -boxed});
    a_.shift_right(Reg::t2, 8);
    a_.shift_left(Reg::t2, 3);
    a_.lea(Reg::t0, {Reg::t0, 8 - boxed});
    a_.add(Reg::t2, Reg::t0);
    for (uint32_t k = 2; k < i_->operand_count; k += step) {
        const Label next = a_.new_label();
        a_.move_imm(Reg::t3, o[k].term.raw);
        a_.bind(next);
        a_.compare(Reg::t0, Reg::t2);
        a_.branch(Cond::equal, none);
        a_.lea(Reg::t0, {Reg::t0, 8});
        a_.compare_mem(Reg::t3, {Reg::t0, -8});
        a_.branch_near(Cond::not_equal, next);
        if (step == 2) {
            // The values begin at the third word of the map, the keys at the second word of their
            // tuple.
            a_.load(Reg::t3, {Reg::t1, 8 - boxed});
            a_.negate_reg(Reg::t3);
            a_.add(Reg::t3, Reg::t0);
            a_.load_indexed(Reg::t3, Reg::t1, Reg::t3, 0);
            store_result(o[k + 1], Reg::t3);
        }
    }
    a_.bind(back);
    cold([this, other, back, step] {
        a_.bind(other);
        fetch_keys(step);
        a_.jump(back);
    });
}

bool Emitter::emit_map_fields() {
    const Operand* o = operands();
    const uint32_t step = i_->op == Op::get_map_elements ? 2 : 1;
    const uint32_t count = i_->operand_count;
    if (step == 2) {
        for (uint32_t k = 2; k + step < count; k += step) {
            if (same_register(o[1], o[k + 1])) {
                return false;  // the map is overwritten before the last fetch
            }
        }
    }
    if (are_ascending_keys(step)) {
        fetch_ascending_keys(step);
    } else {
        fetch_keys(step);
    }
    return true;
}

bool Emitter::emit_new_flat_map() {
    const Operand* o = operands();
    const uint32_t n = i_->operand_count - 2u;
    reserve(0, n + 2);
    a_.store_imm({Reg::heap, 0}, make_header(Kind::flat_map, n + 1));
    store_operand({Reg::heap, 8}, o[0], Reg::t0);
    for (uint32_t k = 0; k < n; ++k) {
        store_operand({Reg::heap, static_cast<int32_t>(8 * (k + 2))}, o[2 + k], Reg::t0);
    }
    take_boxed(o[1], n + 2);
    return true;
}

bool Emitter::emit_put_map() {
    const Operand* o = operands();
    const uint32_t n = i_->operand_count - 3u;
    // The pairs go behind the live registers, and behind those that the fragment stores from the
    // machine's.
    const uint32_t first = std::max<uint32_t>(i_->live, kMachineXRegisters);
    if (first + n > 1000) {
        return false;
    }
    const bool has_label = o[0].index != kNoLabel;
    for (uint32_t k = 0; k < n; ++k) {
        store_operand({Reg::sched, static_cast<int32_t>(8 * (first + k))}, o[3 + k],
                      Reg::t0);
    }
    MapUpdate update{};
    update.pairs = n / 2;
    update.first_x = first;
    update.live = i_->live;
    update.exact = i_->op == Op::put_map_exact;
    update.has_label = has_label;
    value_to(Reg::t0, o[1]);
    a_.move_imm(Reg::t1, std::bit_cast<Word>(update));
    fragment(fragments_.put_map);
    if (has_label) {
        a_.compare_imm(Reg::t0, 0);
        a_.branch(Cond::not_equal, label_of(o[0].index));
    }
    load_to(o[2], {Reg::sched, kScratchX});
    return true;
}

// A comparison whose result is a value. Operands: label, BIF, two terms, destination.
bool Emitter::compare_bif(const BifDef& bif) {
    struct Comparison {
        std::string_view name;
        Cond holds;  // for two small integers
        bool exact;
        bool equality;
    };
    static constexpr Comparison kAll[] = {
        {"=:=", Cond::equal, true, true},   {"=/=", Cond::not_equal, true, true},
        {"==", Cond::equal, false, true},   {"/=", Cond::not_equal, false, true},
        {"<", Cond::less, false, false},    {">=", Cond::greater_equal, false, false},
        {">", Cond::greater, false, false}, {"=<", Cond::less_equal, false, false},
    };
    const Comparison* c = nullptr;
    for (const Comparison& each : kAll) {
        if (is_guard_bif(bif, each.name)) {
            c = &each;
        }
    }
    if (c == nullptr) {
        return false;
    }
    const Operand* o = operands();
    const Label slow = a_.new_label();
    const Label back = a_.new_label();
    const Label done = a_.new_label();
    const bool if_equal = c->holds == Cond::equal;
    value_to(Reg::t0, o[2]);
    value_to(Reg::t1, o[3]);
    if (c->equality) {
        a_.move_imm(Reg::t3, make_bool(if_equal).raw);
        a_.compare(Reg::t0, Reg::t1);
        a_.branch_near(Cond::equal, done);
        a_.move_imm(Reg::t3, make_bool(!if_equal).raw);
        if (c->exact) {
            // Different words are different terms unless both are pointers, or zeros.
            static_assert(kTagCons == 1 && kTagBoxed == 2);
            to_if_zeros(Reg::t0, Reg::t1, slow);
            a_.lea(Reg::t2, {Reg::t0, -static_cast<int32_t>(kTagCons)});
            a_.test_imm(Reg::t2, 6);
            a_.branch_near(Cond::not_equal, done);
            a_.lea(Reg::t2, {Reg::t1, -static_cast<int32_t>(kTagCons)});
            a_.test_imm(Reg::t2, 6);
            a_.branch(Cond::equal, slow);
        } else {
            check_small(o[2], Reg::t0, o[3], Reg::t1, slow);
        }
        a_.bind(done);
    } else {
        check_small(o[2], Reg::t0, o[3], Reg::t1, slow);
        a_.move_imm(Reg::t3, atoms::true_.raw);
        a_.move_imm(Reg::t2, atoms::false_.raw);
        a_.compare(Reg::t0, Reg::t1);
        a_.move_if(negate(c->holds), Reg::t3, Reg::t2);
    }
    store_result(o[4], Reg::t3);
    a_.bind(back);
    cold([this, slow, back] {
        a_.bind(slow);
        call_guard_bif(2);
        a_.jump(back);
    });
    return true;
}

// Any guard function in C++; operands: label, BIF, arguments, destination.
void Emitter::call_guard_bif(uint32_t arity) {
    const Operand* o = operands();
    const bool has_label = o[0].index != kNoLabel;
    for (uint32_t k = 0; k < arity; ++k) {
        store_operand({Reg::sched, kScratchX + static_cast<int32_t>(8 * (k + 1))}, o[2 + k],
                      Reg::t0);
    }
    a_.move_imm(Reg::t0, reinterpret_cast<Word>(o[1].bif));
    const bool collects = (instr_info(i_->op).effects & COLLECTS) != 0;
    const uint32_t live = collects ? i_->live : kNoCollection;
    a_.move_imm(Reg::t1, Word{live} | (has_label ? Word{1} << 32 : 0));
    fragment(fragments_.guard_bif);
    if (has_label) {
        a_.compare_imm(Reg::t0, 0);
        a_.branch(Cond::not_equal, label_of(o[0].index));
    }
    load_to(o[2 + arity], {Reg::sched, kScratchX});
}

// t0 := the size of the map, or bits or bytes of the bit string, in `from`.
void Emitter::size_of(const Operand& from, const BifDef& bif, Label slow) {
    const Label other = a_.new_label();
    const Label done = a_.new_label();
    unbox(value(from, Reg::t0), slow);
    if (is_guard_bif(bif, "map_size")) {
        a_.compare_u8_imm({Reg::t1, 0}, static_cast<uint8_t>(make_header(Kind::flat_map, 0)));
        a_.branch_near(Cond::not_equal, other);
        // The header counts one word for each value, and one for the tuple of the keys.
        a_.load(Reg::t0, {Reg::t1, 0});
        a_.shift_right(Reg::t0, 8);
        a_.sub_imm(Reg::t0, 1);
        a_.jump_near(done);
        a_.bind(other);
        check_kinds({Kind::hash_map}, slow);
        a_.load(Reg::t0, {Reg::t1, 8});
        a_.bind(done);
        a_.shift_left(Reg::t0, 3);
        return;
    }
    a_.compare_u8_imm({Reg::t1, 0}, static_cast<uint8_t>(make_header(Kind::heap_bits, 0)));
    a_.branch_near(Cond::not_equal, other);
    a_.load(Reg::t0, {Reg::t1, 8});
    a_.jump_near(done);
    a_.bind(other);
    check_kinds({Kind::sub_bits}, slow);
    a_.load(Reg::t0, {Reg::t1, 24});
    a_.bind(done);
    if (is_guard_bif(bif, "bit_size")) {
        a_.shift_left(Reg::t0, 3);
    } else {
        // Bytes are bits / 8, and as a term eight times that.
        a_.add_imm(Reg::t0, 7);
        a_.and_imm(Reg::t0, ~kTagMask);
    }
}

// t0 := the value of `key` in the map in `map` or, unless `wants_value`, whether there is one.
void Emitter::look_up(const Operand& map, const Operand& key, bool wants_value, Label slow) {
    unbox(value(map, Reg::t0), slow);
    check_kinds({Kind::flat_map, Kind::hash_map}, slow);
    map_value(map, key);
    a_.compare_imm(Reg::t0, static_cast<int64_t>(kNonValue.raw));
    if (wants_value) {
        a_.branch(Cond::equal, slow);
    } else {
        a_.move_imm(Reg::t0, atoms::true_.raw);
        a_.move_imm(Reg::t1, atoms::false_.raw);
        a_.move_if(Cond::equal, Reg::t0, Reg::t1);
    }
}

// t0 := the other one of true and false.
void Emitter::negate_boolean(const Operand& from, Label slow) {
    const Label done = a_.new_label();
    const Reg r = value(from, Reg::t1);
    a_.move_imm(Reg::t0, atoms::false_.raw);
    a_.compare_imm(r, static_cast<int64_t>(atoms::true_.raw));
    a_.branch_near(Cond::equal, done);
    a_.compare_imm(r, static_cast<int64_t>(atoms::false_.raw));
    a_.branch(Cond::not_equal, slow);
    a_.move_imm(Reg::t0, atoms::true_.raw);
    a_.bind(done);
}

bool Emitter::emit_guard_bif() {
    const Operand* o = operands();
    const uint32_t arity = i_->operand_count - 3u;  // but label, function and destination
    const BifDef& bif = *o[1].bif;
    const auto named = [&](std::string_view name) { return is_guard_bif(bif, name); };
    if (arity == 2 && compare_bif(bif)) {
        return true;
    }
    if (arity == 1 && named("get")) {
        value_to(Reg::t1, o[2]);
        a_.move(Reg::t0, Reg::proc);
        a_.call_leaf(reinterpret_cast<const void*>(leaf_dictionary_value));
        store_result(o[3], Reg::t0);
        return true;
    }
    const Label slow = a_.new_label();
    const Label back = a_.new_label();
    if (arity == 1 && o[2].is_register() && (named("map_size") || named("byte_size") || named("bit_size"))) {
        size_of(o[2], bif, slow);
    } else if (arity == 2 && o[3].is_register() && (named("map_get") || named("is_map_key"))) {
        look_up(o[3], o[2], named("map_get"), slow);
    } else if (arity == 1 && o[2].is_register() && named("not")) {
        negate_boolean(o[2], slow);
    } else {
        call_guard_bif(arity);
        return true;
    }
    store_result(o[2 + arity], Reg::t0);
    a_.bind(back);
    cold([this, slow, back, arity] {
        a_.bind(slow);
        call_guard_bif(arity);
        a_.jump(back);
    });
    return true;
}

}  // namespace minivm::jit
