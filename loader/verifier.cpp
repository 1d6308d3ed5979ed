// The verifier: abstract execution of each function over its control flow, until nothing changes.
//
// The state at an instruction tells which registers hold terms, the size of the frame, which y
// registers mark a catch, and how many heap words are reserved. Where ways meet, the state is what
// holds on all of them. Frame and live registers are recorded on the way: what the last pass over a
// block finds is what holds. A function that needs repairs or whose types look wrong gets one more
// pass after the fixpoint, which records the repairs and judges the types.
//
// Repairs. The compiler knows instructions that cannot collect in OTP but may here (bif1 to bif3
// without Live, the float move, ...). There it leaves registers undefined that a collection would
// look at, and heap reservations standing that a collection would void. The loader puts what is
// missing before such an instruction: `move [] to x`, `init_yregs`, `test_heap`. Where a collection
// was to be expected, the same is an error of the file. A function with repairs is verified again with them in
// it, and then is accepted as it is or not at all.
//
// Types. An instruction may take its operand for a cons cell, a tuple of so many elements, a float or a
// map because the compiler knows that it is one. Tests, and what an instruction makes, prove it here
// too; the hints of the file prove nothing, nor does what a function gets or returns. Where nothing
// proves it, a test is put before the instruction that raises {badmatch, Value} (expect_cons and the
// like), or goes where the instruction itself would fail to. Code behind a test that cannot hold is
// never reached, and is not checked; an end stands there in its place, since engines compile all they are
// given.
//
// Match contexts are no terms, and change as they are used. Only local functions are given them: which
// arguments may be contexts is found for the whole module, a function being verified again when a call
// shows one more. Whatever may be a context must not become part of a term or reach anyone else.
//
// The compiler also knows, from types that the file does not have, guard functions that cannot fail, and
// reads their result on the failure side as well. For a register that is read so the loader puts
// `move [] to x` before each such function (registers_of_failures_).
#include "loader/verifier.hpp"

#include "loader/endless_loops.hpp"

#include "vm/code/export.hpp"
#include "vm/instr/bif_def.hpp"
#include "vm/instr/facts.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/semantics/binary.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/compare.hpp"

#include <algorithm>
#include <bit>
#include <cstdarg>
#include <cstdio>

namespace minivm::loader {

namespace {

using Code = LoadError::Code;
using Kind = Operand::Kind;

// A set of register numbers. Those that a function's operands name are below a bound known beforehand; the arity of a
// call may ask for higher ones, which are never members.
class RegisterSet {
public:
    void resize(size_t registers) { words_.assign((registers + 63) / 64, 0); }
    bool has(uint32_t r) const { return r / 64 < words_.size() && (words_[r / 64] >> (r % 64) & 1) != 0; }
    void add(uint32_t r) { words_[r / 64] |= Word{1} << (r % 64); }
    void clear() { std::fill(words_.begin(), words_.end(), 0); }
    // Removes all registers from `first` on.
    void keep_below(uint32_t first) {
        for (size_t w = 0; w < words_.size(); ++w) {
            const size_t base = w * 64;
            if (base >= first) {
                words_[w] = 0;
            } else if (first - base < 64) {
                words_[w] &= (Word{1} << (first - base)) - 1;
            }
        }
    }
    // One past the highest member.
    uint32_t bound() const {
        for (size_t w = words_.size(); w-- > 0;) {
            if (words_[w] != 0) {
                return static_cast<uint32_t>(w * 64 + 64 -
                                             static_cast<size_t>(std::countl_zero(words_[w])));
            }
        }
        return 0;
    }
    bool intersect(const RegisterSet& other) {
        bool changed = false;
        for (size_t w = 0; w < words_.size(); ++w) {
            const Word both = words_[w] & other.words_[w];
            changed |= both != words_[w];
            words_[w] = both;
        }
        return changed;
    }

private:
    std::vector<Word> words_;
};

// What a y register holds: nothing, a term, a term that may be part of the message under examination, which is not the
// process's own before it is removed, or a catch mark (kMark + the handler's instruction).
constexpr uint32_t kUndefined = 0, kTerm = 1, kPartOfMessage = 2, kMark = 3;

// The compiler's types have no bit for a native record, which no other test finds.
constexpr uint16_t kNativeRecord = TypeInfo::any + 1;

// What is known of a register's value: the kinds it can be of, as TypeInfo has them (bs_matchable
// being a match context), and of a tuple how many elements it has at least.
struct Type {
    uint16_t bits = (TypeInfo::any & ~TypeInfo::bs_matchable) | kNativeRecord;  // any term
    uint32_t arity = 0;  // only if bits is tuple
    friend bool operator==(const Type&, const Type&) = default;
};
constexpr Type type(unsigned bits, size_t arity = 0) {
    return {static_cast<uint16_t>(bits), static_cast<uint32_t>(arity)};
}
constexpr uint16_t kContext = TypeInfo::bs_matchable;

constexpr int kNoFrame = -1;
// Frames of several sizes reach this point: only what raises an exception can follow.
constexpr int kAnyFrame = -2;

struct State {
    int frame = kNoFrame;
    uint32_t reserved = 0;  // heap words that may be written without a check
    uint32_t lapsed = 0;    // words reserved before an instruction that may collect, though not in OTP
    RegisterSet x, floats;
    // x, and what was in x when the process began to wait: wait_timeout is begun again by each
    // message that does not match, but looks at its operand only if its timer is not running.
    RegisterSet x_waiting;
    std::vector<uint32_t> y;
    std::vector<Type> x_types, y_types;  // of those that hold terms
    // Registers with the same number hold the same value; 0 tells nothing. The compiler tests one
    // of them and then takes apart another.
    std::vector<uint32_t> x_values, y_values;
    uint32_t fresh_tuple = 0;  // the value that setelement/3 has made, nothing having been built since
    // All ways here are an exception's, which the next instruction takes; each brings an exception or a value in x0.
    bool caught = false, is_answered = false;
    bool message = false;   // loop_rec has a message under examination
    bool building = false;  // a bit string is begun, for bs_put_*

    // Nothing is known, and there is no frame.
    void begin(size_t x_count, size_t float_count) {
        frame = kNoFrame;
        reserved = lapsed = fresh_tuple = 0;
        caught = is_answered = message = building = false;
        x.resize(x_count);
        x_waiting.resize(x_count);
        floats.resize(float_count);
        y.clear();
        y_types.clear();
        y_values.clear();
        x_types.assign(x_count, Type{});
        x_values.assign(x_count, 0);
    }
};

// What has to be put before an instruction.
struct Repair {
    uint32_t at = 0;
    std::vector<uint32_t> x, y;
    uint32_t test_heap_words = 0;
    uint16_t live = 0;
    // A test of what the instruction expects: its name and operands.
    bool tests = false;
    Op test = Op::is_tuple;
    std::vector<Operand> tested;
    // Nothing goes on behind it, or instead of it if it is a jump: an exception, with a frame of so many words.
    bool ends = false;
    int16_t frame_at_end = 0;
};

class Verifier {
public:
    Verifier(UnverifiedModule& unverified, ErrorSink& error)
        : unverified_(unverified),
          m_(*unverified.module),
          error_(error),
          state_at_(m_.code.size(), kNoState),
          reached_(m_.code.size(), false),
          contexts_of_(m_.functions.size()),
          again_(m_.functions.size(), false) {}

    bool run() {
        EndlessLoops loops(m_);
        for (const LoweredFunction& f : m_.functions) {
            if (!verify_function(f)) {
                return false;
            }
            if (const uint32_t at = loops.find(f); at != kNoLabel) {
                at_ = at;
                return bad("code that comes back here without a call or a wait could not be stopped");
            }
        }
        // Each time a function has one more argument that may be a context, so this ends.
        for (auto next = std::find(again_.begin(), again_.end(), true); next != again_.end();
             next = std::find(again_.begin(), again_.end(), true)) {
            const LoweredFunction& f = m_.functions[static_cast<size_t>(next - again_.begin())];
            *next = false;
            std::erase_if(repairs_, [&f](const Repair& r) { return r.at >= f.info && r.at < f.end; });
            if (!verify_function(f)) {
                return false;
            }
        }
        std::sort(repairs_.begin(), repairs_.end(),
                  [](const Repair& a, const Repair& b) { return a.at < b.at; });
        return true;
    }
    const std::vector<Repair>& repairs() const { return repairs_; }

    // Puts an end in place of each instruction of f that no way reaches.
    void end_unreached(const LoweredFunction& f) {
        for (uint32_t at = f.entry; at < f.end; ++at) {
            if (!reached_[at]) {
                Instr& i = m_.code[at];
                i.op = Op::if_end;
                i.operand_count = 0;
                i.frame = kNoFrame;
            }
        }
    }

    // Runs over these functions again when their repairs are in the code, and accepts them as they are or not at all.
    bool accept(const std::vector<uint32_t>& functions) {
        state_at_.assign(m_.code.size(), kNoState);
        reached_.assign(m_.code.size(), false);
        accepts_ = true;
        return std::all_of(functions.begin(), functions.end(),
                           [this](uint32_t f) { return verify_function(m_.functions[f]); });
    }

private:
    static constexpr uint32_t kNoState = 0xFFFFFFFF;
    // A gigabyte of states, far above what compilers write.
    static constexpr size_t kMaxStateRegisters = size_t{1} << 26;
    static constexpr uint32_t kNoRegister = 0xFFFFFFFF;

    [[gnu::format(printf, 2, 3)]] bool bad(const char* format, ...) {
        char text[256];
        va_list arguments;
        va_start(arguments, format);
        std::vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        const Instr& i = m_.code[at_];
        const LoweredFunction& f = m_.functions[i.function];
        const std::string_view name = atom_table::text(f.name);
        return error_.fail(
            Code::bad_code, "Code", unverified_.notes[at_].offset, "function %.*s/%u, %s: %s",
            static_cast<int>(name.size()), name.data(), f.arity,
            generic_info(static_cast<uint8_t>(unverified_.notes[at_].generic))->name, text);
    }

    bool verify_function(const LoweredFunction& f) {
        registers_of_failures_.clear();
        do {
            begin_again_ = false;
            if (verify_function_once(f)) {
                return true;
            }
        } while (begin_again_);
        return false;
    }

    bool verify_function_once(const LoweredFunction& f) {
        size_t x_count = f.arity, float_count = 0;
        for (uint32_t at = f.info; at < f.end; ++at) {
            const Instr& i = m_.code[at];
            for (uint32_t n = 0; n < i.operand_count; ++n) {
                const Operand& o = m_.operands_of(i)[n];
                if (o.kind == Kind::x) {
                    x_count = std::max<size_t>(x_count, o.index + 1);
                } else if (o.kind == Kind::fr) {
                    float_count = std::max<size_t>(float_count, o.index + 1);
                }
            }
            if (unverified_.notes[at].live != kLiveUnknown) {
                x_count = std::max<size_t>(x_count, unverified_.notes[at].live);
            }
        }
        at_ = f.entry;
        if (f.entry >= f.end) {
            at_ = f.info;
            return bad("the function has no body");
        }
        if ((instr_info(m_.code[f.end - 1].op).effects & ENDS) == 0) {
            at_ = f.end - 1;
            return bad("the function has no end: the code after it would run");
        }
        // Each block has a state with all registers.
        const auto blocks = static_cast<size_t>(std::count_if(m_.code.begin() + f.info, m_.code.begin() + f.end,
                                                              [](const Instr& i) { return i.block_start; }));
        if (blocks * (x_count + float_count) > kMaxStateRegisters) {
            return bad("the function is too large: %zu labels and %zu registers", blocks, x_count + float_count);
        }
        states_used_ = 0;
        work_.clear();
        to_repair_.clear();
        recording_ = false;
        std::fill(state_at_.begin() + f.info, state_at_.begin() + f.end, kNoState);
        s_.begin(std::max<size_t>(x_count, 4), float_count);  // 4: x0..x2 of exceptions and sends
        for (uint32_t r = 0; r < f.arity; ++r) {
            s_.x.add(r);
            s_.x_waiting.add(r);
        }
        for (const uint32_t r : contexts_of_[static_cast<size_t>(&f - m_.functions.data())]) {
            s_.x_types[r].bits |= kContext;
        }
        function_ = &f;
        m_.code[f.entry].block_start = true;
        if (!flow_to(f.entry, s_)) {
            return false;
        }
        while (!work_.empty()) {
            if (!run_block(take_work())) {
                return false;
            }
        }
        m_.code[f.info].live = static_cast<uint16_t>(f.arity);
        recording_ = true;
        std::sort(to_repair_.begin(), to_repair_.end());
        to_repair_.erase(std::unique(to_repair_.begin(), to_repair_.end()), to_repair_.end());
        for (const uint32_t at : to_repair_) {
            if (!run_block(at)) {
                return false;
            }
        }
        return !needs_more_ || bad("its repairs do not mend it, which is a mistake of the loader");
    }

    bool shared_by_other_marks(const State& old, const State& s, uint32_t target) const {
        return old.frame != kAnyFrame && old.y != s.y && (has_marks(old) || has_marks(s)) &&
               !undefined_y(old) && !undefined_y(s) && only_raises(m_.code[target].op);
    }
    // Merges `s` into the state at the block that begins at `target`.
    bool flow_to(uint32_t target, const State& s) {
        if (recording_) {
            return true;
        }
        const bool is_answered = s.caught || s.x.has(0);
        uint32_t& slot = state_at_[target];
        if (slot == kNoState) {
            slot = states_used_++;
            // States of earlier functions are reused, with their memory.
            if (slot < states_.size()) {
                states_[slot] = s;
            } else {
                states_.push_back(s);
            }
            states_[slot].is_answered = is_answered;
            add_work(target);
            return true;
        }
        const uint32_t number = slot;  // the handlers below may move states_
        bool changed = false;
        // What only raises may be shared by places within different handlers, too.
        const bool other_marks = shared_by_other_marks(states_[number], s, target);
        if (states_[number].frame != s.frame || other_marks) {
            const State old = states_[number];
            const bool first = old.frame != kAnyFrame;
            if (undefined_y(s) || (first && undefined_y(old))) {
                return bad("the frame has %d words here but %d on another way to instruction %u",
                           s.frame, old.frame, target);
            }
            // Each way has its own handler, if any, which is reached from here.
            if (has_marks(s) || (first && has_marks(old))) {
                if (!only_raises(m_.code[target].op)) {
                    return bad("frames of several sizes reach instruction %u", target);
                }
                if (!flow_to_handler(s) || (first && !flow_to_handler(old))) {
                    return false;
                }
            }
            states_[number].frame = kAnyFrame;
            changed = first;
        }
        State& old = states_[number];
        if (s.y.size() < old.y.size()) {
            old.y.resize(s.y.size());
            old.y_types.resize(s.y.size());
            old.y_values.resize(s.y.size());
            changed = true;
        }
        const bool is_mixed = old.message != s.message;
        if (is_mixed) {
            changed |= forget_message_parts(old);
        }
        changed |= old.x.intersect(s.x);
        changed |= old.x_waiting.intersect(s.x_waiting);
        changed |= old.floats.intersect(s.floats);
        changed |= widen_all(old.x_types, s.x_types);
        changed |= widen_all(old.y_types, s.y_types);
        changed |= keep_equal(old.x_values, s.x_values);
        changed |= keep_equal(old.y_values, s.y_values);
        changed |= (old.message && !s.message) || (old.building && !s.building);
        changed |= (old.caught && !s.caught) || (old.is_answered && !is_answered);
        old.message &= s.message;
        old.building &= s.building;
        old.caught &= s.caught;
        old.is_answered &= is_answered;
        for (size_t r = 0; r < old.y.size(); ++r) {
            const bool are_terms = is_term(old.y[r]) && is_term(s.y[r]) && !is_mixed;
            const uint32_t both = old.y[r] == s.y[r] ? s.y[r] : are_terms ? kPartOfMessage : kUndefined;
            changed |= old.y[r] != both;
            old.y[r] = both;
        }
        if (old.fresh_tuple != s.fresh_tuple && old.fresh_tuple != 0) {
            old.fresh_tuple = 0;
            changed = true;
        }
        changed |= lower(old.reserved, s.reserved);
        changed |= lower(old.lapsed, s.lapsed);
        if (changed) {
            add_work(target);
        }
        return true;
    }
    void add_work(uint32_t block) {
        work_.push_back(block);
        std::push_heap(work_.begin(), work_.end(), std::greater<>());
    }
    uint32_t take_work() {
        const uint32_t block = work_.front();
        do {
            std::pop_heap(work_.begin(), work_.end(), std::greater<>());
            work_.pop_back();
        } while (!work_.empty() && work_.front() == block);
        return block;
    }
    static bool is_term(uint32_t y) { return y == kTerm || y == kPartOfMessage; }
    // Ways meet of which some have a message under examination: what holds parts of it must not be used.
    static bool forget_message_parts(State& s) {
        bool changed = s.x.bound() != 0;
        forget_x(s);
        for (uint32_t& y : s.y) {
            changed |= y == kPartOfMessage;
            y = y == kPartOfMessage ? kUndefined : y;
        }
        return changed;
    }
    static bool widen_all(std::vector<Type>& old, const std::vector<Type>& other) {
        bool changed = false;
        for (size_t r = 0; r < std::min(old.size(), other.size()); ++r) {
            Type both = type(old[r].bits | other[r].bits);
            if (both.bits == TypeInfo::tuple) {
                both.arity = std::min(old[r].arity, other[r].arity);
            }
            changed |= both != old[r];
            old[r] = both;
        }
        return changed;
    }
    static bool only_raises(Op op) {
        return op == Op::if_end || op == Op::badmatch || op == Op::case_end ||
               op == Op::try_case_end || op == Op::badrecord;
    }
    static bool keep_equal(std::vector<uint32_t>& old, const std::vector<uint32_t>& other) {
        bool changed = false;
        for (size_t r = 0; r < std::min(old.size(), other.size()); ++r) {
            if (old[r] != other[r] && old[r] != 0) {
                old[r] = 0;
                changed = true;
            }
        }
        return changed;
    }
    static bool lower(uint32_t& value, uint32_t limit) {
        if (value <= limit) {
            return false;
        }
        value = limit;
        return true;
    }

    bool run_block(uint32_t at) {
        block_ = at;
        s_ = states_[state_at_[at]];
        for (const uint32_t first = at;; ++at) {
            if (at != first && m_.code[at].block_start) {
                at_ = at - 1;
                return m_.code[at].op == Op::try_case ? repair_end() : flow_to(at, s_);
            }
            at_ = at;
            if (!step()) {
                return false;
            }
            if ((instr_info(m_.code[at].op).effects & ENDS) != 0 || never_holds_) {
                return true;
            }
        }
    }

    // ---- registers ----------------------------------------------------------------------------

    bool use_x(uint32_t r) {
        return s_.x.has(r) || (!begins_again_with(r) && bad("x%u may hold no term", r));
    }
    // Notes r as one more register of failures, if that can help; the function is then verified again.
    bool begins_again_with(uint32_t r) {
        if (recording_ || is_register_of_failures(r)) {
            return false;
        }
        for (uint32_t at = function_->info; at < function_->end && !begin_again_; ++at) {
            const Instr& i = m_.code[at];
            const Operand* o = m_.operands_of(i);
            const char* letters = instr_info(i.op).operands;
            if (letters[0] != 'f' || o[0].index == kNoLabel) {
                continue;
            }
            for (uint32_t n = 1; letters[n] != 0 && letters[n] != 'L'; ++n) {
                begin_again_ |= letters[n] == 'd' && o[n].kind == Kind::x && o[n].index == r;
            }
        }
        if (begin_again_) {
            registers_of_failures_.push_back(r);
        }
        return begin_again_;
    }
    bool is_register_of_failures(uint32_t r) const {
        return std::find(registers_of_failures_.begin(), registers_of_failures_.end(), r) !=
               registers_of_failures_.end();
    }
    // The x register that a guard function writes, if it is read after a failure too and is no term
    // yet; else kNoRegister.
    uint32_t result_after_failure(const Instr& i, const Operand* o) const {
        const char* letters = instr_info(i.op).operands;
        if (letters[0] != 'f' || o[0].index == kNoLabel) {
            return kNoRegister;
        }
        for (uint32_t n = 1; letters[n] != 0 && letters[n] != 'L'; ++n) {
            // When it is repaired, it holds a term already.
            if (letters[n] == 'd' && o[n].kind == Kind::x && (accepts_ || !s_.x.has(o[n].index)) &&
                is_register_of_failures(o[n].index)) {
                return o[n].index;
            }
        }
        return kNoRegister;
    }
    bool use_x_below(uint32_t count) {
        for (uint32_t r = 0; r < count; ++r) {
            if (!use_x(r)) {
                return false;
            }
        }
        return true;
    }
    bool in_frame(uint32_t r) {
        if (s_.frame == kNoFrame) {
            return bad("y%u without a frame", r);
        }
        return r < s_.y.size() || bad("y%u in a frame of %zu", r, s_.y.size());
    }
    bool use(const Operand& o) {
        switch (o.kind) {
            case Kind::x:
                return use_x(o.index);
            case Kind::y:
                return in_frame(o.index) &&
                       (is_term(s_.y[o.index]) || bad("y%u may hold no term", o.index));
            case Kind::fr:
                return s_.floats.has(o.index) || bad("float register %u may be empty", o.index);
            default:
                return true;
        }
    }
    bool define(const Operand& o) {
        switch (o.kind) {
            case Kind::x:
                define_x(o.index);
                s_.x_types[o.index] = Type{};
                s_.x_values[o.index] = 0;
                return true;
            case Kind::y:
                if (!in_frame(o.index)) {
                    return false;
                }
                if (s_.y[o.index] >= kMark) {
                    return bad("y%u marks a catch", o.index);
                }
                s_.y[o.index] = s_.message ? kPartOfMessage : kTerm;
                s_.y_types[o.index] = Type{};
                s_.y_values[o.index] = 0;
                return true;
            case Kind::fr:
                s_.floats.add(o.index);
                return true;
            default:
                return true;
        }
    }
    Type type_of(const Operand& o) const {
        switch (o.kind) {
            case Kind::x:
                return s_.x_types[o.index];
            case Kind::y:
                return s_.y_types[o.index];
            case Kind::constant:
                return type_of_constant(o.term);
            default:
                return Type{};
        }
    }
    static Type type_of_constant(Term t) {
        if (is_tuple(t)) {
            return type(TypeInfo::tuple, tuple_arity(t));
        }
        const struct {
            bool holds;
            uint16_t bits;
        } kinds[] = {{is_atom(t), TypeInfo::atom},
                     {is_integer(t), TypeInfo::integer},
                     {is_nil(t), TypeInfo::nil},
                     {is_cons(t), TypeInfo::cons},
                     {is_float(t), TypeInfo::float_},
                     {is_map(t), TypeInfo::map},
                     {is_bitstring(t), TypeInfo::bitstring},
                     {is_fun(t), TypeInfo::fun}};
        for (const auto& k : kinds) {
            if (k.holds) {
                return type(k.bits);
            }
        }
        return Type{};
    }
    void set_type(const Operand& o, Type t) {
        if (t.bits == 0) {
            return;  // nothing can be of no kind: this point is not reached
        }
        if (o.kind == Kind::x) {
            s_.x_types[o.index] = t;
        } else if (o.kind == Kind::y) {
            s_.y_types[o.index] = t;
        }
    }
    // Also sets the type of each register that holds the same value as o.
    void believe(const Operand& o, Type t) {
        set_type(o, t);
        const uint32_t value = o.is_register() ? *value_of(o) : 0;
        if (value == 0) {
            return;
        }
        for (uint32_t r = 0; r < s_.x_values.size(); ++r) {
            if (s_.x_values[r] == value) {
                set_type(Operand::of(Kind::x, r), t);
            }
        }
        for (uint32_t r = 0; r < s_.y_values.size(); ++r) {
            if (s_.y_values[r] == value) {
                set_type(Operand::of(Kind::y, r), t);
            }
        }
    }
    void believe_also(const Operand& o, Type t) {
        const Type known = type_of(o);
        // The known type holds as well. No tuple has two sizes, so no process comes here, but code
        // behind this point may rely on the larger size.
        if (known.bits == TypeInfo::tuple && t.bits == TypeInfo::tuple) {
            t.arity = std::max(t.arity, known.arity);
        }
        if ((known.bits & t.bits) == 0) {
            never_holds_ = true;
        } else {
            believe(o, t);
        }
    }
    uint32_t* value_of(const Operand& o) {
        return o.kind == Kind::x ? &s_.x_values[o.index] : &s_.y_values[o.index];
    }
    // The number of the value in register o. A value without one gets that of this instruction;
    // registers that still have this number from an earlier visit lose it.
    uint32_t numbered_value(const Operand& o) {
        uint32_t* value = value_of(o);
        if (*value == 0) {
            const uint32_t fresh = at_ + 1;
            std::replace(s_.x_values.begin(), s_.x_values.end(), fresh, 0U);
            std::replace(s_.y_values.begin(), s_.y_values.end(), fresh, 0U);
            *value = fresh;
        }
        return *value;
    }
    static Type narrowed(Type t, uint16_t bits) {
        const uint16_t both = t.bits & bits;
        return type(both, both == TypeInfo::tuple && t.bits == TypeInfo::tuple ? t.arity : 0);
    }
    void define_x(uint32_t r) {
        s_.x.add(r);
        s_.x_waiting.add(r);
    }
    static void forget_x(State& s) {
        s.x.clear();
        s.x_waiting.clear();
    }
    void only_x0(bool message = false) {
        forget_x(s_);
        std::fill(s_.x_types.begin(), s_.x_types.end(), Type{});
        std::fill(s_.x_values.begin(), s_.x_values.end(), 0U);
        define_x(0);
        s_.building = s_.caught = s_.is_answered = false;
        s_.message = message;
        s_.floats.clear();
        s_.reserved = s_.lapsed = s_.fresh_tuple = 0;
    }
    static bool has_marks(const State& s) {
        return std::any_of(s.y.begin(), s.y.end(), [](uint32_t v) { return v >= kMark; });
    }
    static bool undefined_y(const State& s) {
        return std::any_of(s.y.begin(), s.y.end(), [](uint32_t v) { return v == kUndefined; });
    }

    // ---- operands by their letters --------------------------------------------------------------

    // Of float registers, the last one is the result.
    static bool writes_operand(Op op, const char* letters, uint32_t n) {
        return letters[n] == 'd' ||
               (letters[n] == 'l' && letters[n + 1] == 0 && op != Op::fmove_from);
    }
    static bool reads_operand(Op op, const char* letters, uint32_t n) {
        return letters[n] == 's' || op == Op::swap || op == Op::bs_context_to_binary ||
               (letters[n] == 'l' && !writes_operand(op, letters, n));
    }
    // Calls use(o) or define(o) for each register an instruction reads or writes.
    template <typename Use, typename Define>
    bool for_each_operand(const Instr& i, Use use, Define define) {
        const Operand* o = m_.operands_of(i);
        const char* letters = instr_info(i.op).operands;
        uint32_t n = 0;
        for (; letters[n] != 0 && letters[n] != 'L'; ++n) {
            if (reads_operand(i.op, letters, n) && !use(o[n])) {
                return false;
            }
        }
        if (letters[n] == 'L' && !list_operands(i, n, use, define)) {
            return false;
        }
        for (uint32_t k = 0; k < n; ++k) {
            if (writes_operand(i.op, letters, k) && !define(o[k])) {
                return false;
            }
        }
        return true;
    }

    template <typename Use, typename Define>
    bool list_operands(const Instr& i, uint32_t n, Use use, Define define) {
        const Operand* o = m_.operands_of(i);
        switch (i.op) {
            case Op::init_yregs:
                for (; n < i.operand_count; ++n) {
                    if (!define(o[n])) {
                        return false;
                    }
                }
                return true;
            case Op::get_map_elements:
            case Op::get_record_elements: {
                for (uint32_t k = n; k < i.operand_count; k += 2) {
                    if (!use(o[k])) {
                        return false;
                    }
                }
                for (uint32_t k = n; k < i.operand_count; k += 2) {
                    if (!define(o[k + 1])) {
                        return false;
                    }
                }
                return true;
            }
            case Op::bs_match:
                for (; n < i.operand_count; ++n) {
                    if (o[n].is_register() && !define(o[n])) {
                        return false;
                    }
                }
                return true;
            case Op::select_val:
            case Op::select_tuple_arity:
                return true;
            default:
                for (; n < i.operand_count; ++n) {
                    if (o[n].is_register() && !use(o[n])) {
                        return false;
                    }
                }
                return true;
        }
    }

    // ---- what collects, raises or reserves ------------------------------------------------------

    // Every y register must be a term where other code, or a handler, can look at the frame.
    bool demand_frame_defined() {
        for (uint32_t r = 0; r < s_.y.size(); ++r) {
            if (s_.y[r] == kUndefined) {
                return bad("y%u holds no term, and others may look at the frame", r);
            }
        }
        return true;
    }

    // True if the caller is to write its repair down. Before the fixpoint this only notes the block.
    bool writes_repairs() {
        // Before the fixpoint a register counts as defined that is so on the ways known until then.
        needs_more_ |= accepts_ && recording_;
        if (!recording_ && (to_repair_.empty() || to_repair_.back() != block_)) {
            to_repair_.push_back(block_);
        }
        return recording_;
    }
    Repair& repair() {
        if (repairs_.empty() || repairs_.back().at != at_) {
            repairs_.emplace_back();
            repairs_.back().at = at_;
        }
        return repairs_.back();
    }
    // A handler follows a call of which the compiler knows that it does not return, or a jump leads there.
    bool repair_end() {
        if (undefined_y(s_)) {
            return bad("a handler follows, and the frame is not defined");
        }
        if (writes_repairs()) {
            repair().ends = true;
            repair().frame_at_end = static_cast<int16_t>(std::max(s_.frame, kNoFrame));
        }
        return flow_to_handler(s_);
    }
    void hold_nil(uint32_t y) {
        s_.y[y] = kTerm;
        s_.y_types[y] = type(TypeInfo::nil);
        s_.y_values[y] = 0;
    }
    void repair_y() {
        for (uint32_t r = 0; r < s_.y.size(); ++r) {
            if (s_.y[r] == kUndefined) {
                hold_nil(r);
                if (writes_repairs()) {
                    repair().y.push_back(r);
                }
            }
        }
    }
    // Makes x0..x[live-1] terms, so that they can be looked at.
    void repair_x(uint32_t live) {
        for (uint32_t r = 0; r < live; ++r) {
            if (!s_.x.has(r)) {
                repair_one_x(r);
            }
        }
    }
    void repair_one_x(uint32_t r) {
        define_x(r);
        s_.x_types[r] = type(TypeInfo::nil);
        s_.x_values[r] = 0;
        if (writes_repairs()) {
            repair().x.push_back(r);
        }
    }

    // Instructions that collect without having been told the live registers.
    void collect_unannounced(const Instr&) {
        const uint32_t live = s_.x.bound();
        repair_x(live);
        repair_y();
        set_live(live);
        s_.lapsed += s_.reserved;
        s_.reserved = 0;
    }

    // Instructions with a Live operand. The operands themselves may be above it; they are kept too,
    // since the instruction is begun again after a collection.
    bool collect_announced(const Instr& i, uint32_t live, uint32_t after_failure) {
        if (!demand_frame_defined()) {
            return false;
        }
        for (uint32_t r = 0; r < live; ++r) {
            if (!s_.x.has(r)) {
                return !begins_again_with(r) && bad("x%u is to be kept but may hold no term", r);
            }
        }
        uint32_t kept = live;
        for_each_operand(
            i,
            [&kept](const Operand& o) {
                if (o.kind == Kind::x) {
                    kept = std::max(kept, o.index + 1);
                }
                return true;
            },
            [](const Operand&) { return true; });
        if (after_failure != kNoRegister) {
            kept = std::max(kept, after_failure + 1);
        }
        repair_x(kept);
        set_live(i.op == Op::bs_match ? keep_match_results(i, kept) : kept);
        s_.x.keep_below(live);
        s_.x_waiting.keep_below(live);
        if (after_failure != kNoRegister) {
            define_x(after_failure);
        }
        s_.reserved = s_.lapsed = 0;
        return true;
    }

    // bs_match has many results, and its live registers are those at its end: before a collection
    // then, the ones below its highest result must be terms, its own results apart.
    uint32_t keep_match_results(const Instr& i, uint32_t kept) {
        RegisterSet results = s_.x;
        const uint32_t sources = kept;
        list_operands(
            i, 2, [](const Operand&) { return true; },
            [&](const Operand& o) {
                if (o.kind == Kind::x) {
                    results.add(o.index);
                    kept = std::max(kept, o.index + 1);
                }
                return true;
            });
        for (uint32_t r = sources; r < kept; ++r) {
            if (!results.has(r)) {
                repair_one_x(r);
            }
        }
        return kept;
    }

    // A bs_match that fails has not collected: all registers are there, whatever its commands say
    // is live. What commands before the last one that can fail have written is of any kind.
    bool flow_from_failed_match(const Instr& i, const Operand* o) {
        State now = s_;
        State failed = s_;
        uint64_t ensured = 0;  // bits that are known to follow
        for (uint32_t n = 2; n < i.operand_count; n += semantics::kBsCommandWords[o[n].value]) {
            uint64_t bits = 0;
            const Operand* dst = nullptr;
            switch (static_cast<semantics::BsMatchCommand>(o[n].value)) {
                case semantics::kBsEnsureAtLeast:
                case semantics::kBsEnsureExactly:
                    failed = now;
                    ensured = o[n + 1].value;
                    break;
                case semantics::kBsInteger:
                case semantics::kBsBinary:
                    bits = o[n + 3].value * o[n + 4].value;
                    dst = &o[n + 5];
                    break;
                case semantics::kBsGetTail:
                    dst = &o[n + 3];
                    break;
                case semantics::kBsEqual:
                    failed = now;
                    bits = o[n + 2].value;
                    break;
                case semantics::kBsSkip:
                    bits = o[n + 1].value;
                    break;
            }
            if (bits > ensured) {
                failed = now;
            }
            ensured -= std::min(ensured, bits);
            if (dst != nullptr && dst->kind == Kind::x) {
                now.x_types[dst->index] = Type{};
                now.x_values[dst->index] = 0;
            } else if (dst != nullptr && dst->index < now.y_types.size()) {
                now.y_types[dst->index] = Type{};
                now.y_values[dst->index] = 0;
            }
        }
        return flow_to(o[0].index, failed);
    }

    void set_live(uint32_t live) { m_.code[at_].live = static_cast<uint16_t>(live); }

    // Takes heap words that must have been reserved.
    bool take(uint32_t words) {
        if (s_.reserved < words) {
            if (s_.reserved + s_.lapsed < words) {
                return bad("it needs %u heap words, %u are reserved", words, s_.reserved);
            }
            const uint32_t live = s_.x.bound();
            repair_x(live);
            repair_y();
            s_.reserved += s_.lapsed;
            s_.lapsed = 0;
            if (writes_repairs()) {
                repair().test_heap_words = s_.reserved;
                repair().live = static_cast<uint16_t>(live);
            }
        }
        s_.reserved -= words;
        return true;
    }
    // Instructions that check for themselves but for which the compiler has reserved words.
    void take_or_collect(const Instr& i, uint32_t words) {
        if (s_.reserved >= words) {
            collect_unannounced_keeping_reserve();
            s_.reserved -= words;
        } else {
            collect_unannounced(i);
            s_.lapsed -= std::min(s_.lapsed, words);
        }
    }
    void collect_unannounced_keeping_reserve() {
        const uint32_t live = s_.x.bound();
        repair_x(live);
        repair_y();
        set_live(live);
    }

    static bool may_raise(const Instr& i, const Operand* o) {
        const InstrInfo& info = instr_info(i.op);
        return (info.effects & FAILS) != 0 && (info.operands[0] != 'f' || o[0].index == kNoLabel);
    }

    // An exception here reaches the innermost handler that is active, with nothing in x registers.
    // That is the first mark from the top of the stack, y0 on.
    bool flow_to_handler(const State& s) {
        const auto mark =
            std::find_if(s.y.begin(), s.y.end(), [](uint32_t v) { return v >= kMark; });
        if (recording_ || mark == s.y.end()) {
            return true;
        }
        if (only_raises(m_.code[*mark - kMark].op)) {
            return bad("the handler at instruction %u raises before it ends its catch",
                       *mark - kMark);
        }
        State h = s;
        forget_x(h);
        h.floats.clear();
        h.reserved = h.lapsed = h.fresh_tuple = 0;
        h.message = h.building = false;
        std::replace(h.y.begin(), h.y.end(), kPartOfMessage, kTerm);  // unwind() makes the message the process's own
        h.caught = true;
        return flow_to(*mark - kMark, h);
    }

    // ---- one instruction ------------------------------------------------------------------------

    bool step() {
        const Instr& i = m_.code[at_];
        const Operand* o = m_.operands_of(i);
        const InstrInfo& info = instr_info(i.op);
        const InstrNote& note = unverified_.notes[at_];
        reached_[at_] = true;
        never_holds_ = false;
        if (i.op != Op::try_case && i.op != Op::catch_end) {
            s_.caught = s_.is_answered = false;
        }
        m_.code[at_].frame = static_cast<int16_t>(std::max(s_.frame, kNoFrame));
        if (!for_each_operand(
                i,
                [this, &i](const Operand& a) {
                    return (i.op == Op::wait_timeout && a.kind == Kind::x &&
                            s_.x_waiting.has(a.index)) ||
                           use(a);
                },
                [](const Operand&) { return true; })) {
            return false;
        }
        // Ways not seen yet can only add kinds: what is bad now stays so.
        if (!demand_terms(i, o) || !demand_types(i, o)) {
            return false;
        }
        const bool raises = may_raise(i, o) || (info.effects & CALLS) != 0;
        if (s_.message && ((info.effects & CALLS) != 0 || leaves_message(i.op)) && !shows_message(i.op)) {
            return bad("a message is under examination");
        }
        if (raises) {
            // What leaves the function has dropped its frame; else handlers and collections see it.
            if ((info.effects & CALLS) != 0 && (info.effects & ENDS) == 0) {
                if (!demand_frame_defined()) {
                    return false;
                }
            } else if (s_.frame != kAnyFrame) {
                repair_y();
            }
            if (s_.frame != kAnyFrame && !flow_to_handler(s_)) {
                return false;
            }
        }
        const uint32_t after_failure = result_after_failure(i, o);
        if (after_failure != kNoRegister && !s_.x.has(after_failure)) {
            repair_one_x(after_failure);
        }
        if (i.op == Op::bs_match && o[0].index != kNoLabel && !flow_from_failed_match(i, o)) {
            return false;
        }
        if ((info.effects & COLLECTS) != 0) {
            s_.building = false;
        }
        if ((info.effects & COLLECTS) != 0 && note.live != kLiveUnknown && i.op != Op::call_bif) {
            if (!collect_announced(i, note.live, after_failure)) {
                return false;
            }
        }
        if (!step_special(i, o, note)) {
            return false;
        }
        if (i.op == Op::jump && m_.code[o[0].index].op == Op::try_case) {
            return repair_end();
        }
        if ((info.effects & ENDS) != 0 && i.op != Op::select_val &&
            i.op != Op::select_tuple_arity) {
            return branch(i, o);
        }
        const Type result = result_type(i, o);
        const Type swapped = i.op == Op::swap ? type_of(o[1]) : Type{};
        const bool moves = i.op == Op::move || i.op == Op::swap;
        const uint32_t moved = moves && o[0].is_register() ? numbered_value(o[0]) : 0;
        const uint32_t other = i.op == Op::swap ? *value_of(o[1]) : 0;
        if (!instr_facts(i.op).keeps_tuple) {
            s_.fresh_tuple = 0;
        }
        return branch(i, o) &&
               for_each_operand(
                   i, [](const Operand&) { return true; },
                   [this](const Operand& a) { return define(a); }) &&
               after_definitions(i, o, result, swapped) &&
               (!moves || after_move(i, o, moved, other));
    }

    // OTP's prim_eval:receive/2, written as instructions, asks a fun whether the message matches.
    bool shows_message(Op op) const {
        static const Term prim_eval = atom_table::intern("prim_eval");
        return op == Op::call_fun && m_.name == prim_eval;
    }
    // Gives the message under examination to a caller, or goes to another one without having ended its examination.
    static bool leaves_message(Op op) {
        return op == Op::return_ || op == Op::loop_rec || op == Op::wait || op == Op::wait_timeout ||
               op == Op::timeout || op == Op::recv_marker_use;
    }

    // ---- types ----------------------------------------------------------------------------------

    // Makes sure that o is what the instruction takes it for.
    bool expect(const Operand& o, Type wanted, Op test, std::initializer_list<Operand> tested) {
        const Type known = type_of(o);
        if ((known.bits & ~wanted.bits) == 0 &&
            (wanted.bits != TypeInfo::tuple || known.arity >= wanted.arity)) {
            return true;
        }
        // The test would raise an exception whose reason is the operand.
        if ((instr_info(test).effects & BRANCHES) == 0 && !demand_term(o)) {
            return false;
        }
        if (writes_repairs()) {
            Repair& r = repair();
            r.tests = true;
            r.test = test;
            r.tested = tested;
        }
        if ((instr_info(test).effects & BRANCHES) != 0) {
            if (!flow_to(tested.begin()->index, s_)) {
                return false;
            }
        } else {
            repair_y();
            if (!flow_to_handler(s_)) {
                return false;
            }
        }
        believe(o, wanted);
        return true;
    }
    bool expect_cons(const Operand& o) {
        return expect(o, type(TypeInfo::cons), Op::expect_cons, {o});
    }
    bool expect_tuple(const Operand& o, uint64_t arity) {
        return expect(o, type(TypeInfo::tuple, arity), Op::expect_tuple,
                      {o, Operand::unsigned_of(arity)});
    }
    // One test for the elements that are taken from here on.
    uint64_t elements_taken(const Instr& i) const {
        const Operand* o = m_.operands_of(i);
        uint64_t arity = 0;
        for (const Instr* next = &i; next->op == Op::get_tuple_element; ++next) {
            const Operand* taken = m_.operands_of(*next);
            if ((next != &i && next->block_start) || !is_same(taken[0], o[0])) {
                break;
            }
            arity = std::max(arity, taken[1].value + 1);
            if (is_same(taken[2], o[0])) {
                break;
            }
        }
        return arity;
    }
    static bool is_same(const Operand& a, const Operand& b) {
        return a.is_register() && a.kind == b.kind && a.index == b.index;
    }

    // Instructions that take an operand for some kind of term without a test of their own.
    bool demand_types(const Instr& i, const Operand* o) {
        const InstrFacts& facts = instr_facts(i.op);
        if (i.op == Op::update_record) {
            return expect_tuple(o[2], o[1].value);
        }
        if (i.op == Op::set_tuple_element) {
            return demand_fresh_tuple(o) && expect_tuple(o[1], o[2].value + 1);
        }
        if (facts.demanded == InstrFacts::kNone) {
            return true;
        }
        const Operand& taken = o[facts.demanded];
        const bool branches = (instr_info(i.op).effects & BRANCHES) != 0;
        switch (facts.demands) {
            case kContext:
                return demand_context(taken);
            case TypeInfo::cons:
                return expect_cons(taken);
            case TypeInfo::float_:
                return expect(taken, type(TypeInfo::float_), Op::expect_float, {taken});
            case TypeInfo::map:
                return expect(taken, type(TypeInfo::map), Op::is_map, {o[0], taken});
            default:
                return branches ? expect(taken, type(TypeInfo::tuple), Op::is_tuple, {o[0], taken})
                                : expect_tuple(taken, elements_taken(i));
        }
    }
    bool demand_fresh_tuple(const Operand* o) {
        if (!o[1].is_register() || s_.fresh_tuple == 0 || *value_of(o[1]) != s_.fresh_tuple) {
            return bad("the tuple has not just been made by setelement/3");
        }
        return !o[0].is_register() || *value_of(o[0]) != s_.fresh_tuple || bad("the tuple would hold itself");
    }

    // Nobody but local functions may get a match context, and no term may hold one.
    bool demand_terms(const Instr& i, const Operand* o) {
        if (i.op == Op::swap) {
            return true;
        }
        if (!instr_facts(i.op).passes_contexts && !demand_terms_below(x_read(i, o))) {
            return false;
        }
        const Operand* allowed = context_operand(i, o);
        return for_each_operand(
            i,
            [this, allowed](const Operand& a) {
                return (allowed != nullptr && is_same(a, *allowed)) || demand_term(a);
            },
            [](const Operand&) { return true; });
    }
    // The operand that may be a context: the instruction uses it as one, tests for some kind of term or moves
    // it. Null: none.
    static const Operand* context_operand(const Instr& i, const Operand* o) {
        switch (i.op) {
            case Op::bif1:
                return asks_for_bits_left(*o[1].bif) ? &o[2] : nullptr;
            case Op::is_eq_exact:
            case Op::is_ne_exact:
                // Compared as words.
                return o[2].kind == Kind::constant && is_equal_by_word(o[2].term) ? &o[1] : nullptr;
            case Op::select_val:
                for (uint32_t n = 2; n < i.operand_count; n += 2) {
                    if (!is_equal_by_word(o[n].term)) {
                        return nullptr;
                    }
                }
                return &o[0];
            default: {
                const uint8_t operand = instr_facts(i.op).context;
                return operand != InstrFacts::kNone ? &o[operand] : nullptr;
            }
        }
    }
    bool may_be_context(const Operand& o) const {
        return o.is_register() && (type_of(o).bits & kContext) != 0;
    }
    bool demand_term(const Operand& o) {
        return !may_be_context(o) || bad("a match context must not be used as a term");
    }
    // A local call: its function may get contexts.
    void give_contexts(const Operand& callee, uint64_t arity) {
        const uint32_t function = m_.code[callee.index].function;
        std::vector<uint32_t>& known = contexts_of_[function];
        for (uint32_t r = 0; r < arity; ++r) {
            if (s_.x.has(r) && (s_.x_types[r].bits & kContext) != 0 &&
                std::find(known.begin(), known.end(), r) == known.end()) {
                known.push_back(r);
                again_[function] = true;
            }
        }
    }
    static bool asks_for_bits_left(const BifDef& bif) {
        const std::string_view name = bif.function;
        return name == "byte_size" || name == "bit_size";
    }
    bool demand_terms_below(uint32_t count) {
        for (uint32_t r = 0; r < count; ++r) {
            if (s_.x.has(r) && (s_.x_types[r].bits & kContext) != 0) {
                return bad("x%u may be a match context, not a term", r);
            }
        }
        return true;
    }
    bool demand_context(const Operand& o) {
        return type_of(o).bits == kContext || bad("its operand is no match context");
    }

    Type result_type(const Instr& i, const Operand* o) {
        switch (i.op) {
            case Op::move:
            case Op::swap:
                return type_of(o[0]);
            case Op::put_tuple2:
                return type(TypeInfo::tuple, i.operand_count - 1u);
            case Op::update_record:
                return type(TypeInfo::tuple, o[1].value);
            default: {
                const uint16_t kind = instr_facts(i.op).result;
                return kind != 0 ? type(kind) : Type{};
            }
        }
    }

    // The success side of a test, after its failure side has gone its way.
    void believe_success(const Instr& i, const Operand* o) {
        switch (i.op) {
            case Op::test_arity:
            case Op::is_tagged_tuple:
                believe_also(o[1], type(TypeInfo::tuple, o[2].value));
                break;
            case Op::expect_cons:
                believe_also(o[0], type(TypeInfo::cons));
                break;
            case Op::expect_tuple:
                believe_also(o[0], type(TypeInfo::tuple, o[1].value));
                break;
            case Op::expect_float:
                believe_also(o[0], type(TypeInfo::float_));
                break;
            case Op::is_eq_exact:
                if (o[2].kind == Kind::constant) {
                    believe_also(o[1], type_of_constant(o[2].term));
                } else if (o[1].kind == Kind::constant) {
                    believe_also(o[2], type_of_constant(o[1].term));
                }
                break;
            default:
                break;
        }
    }

    bool branch(const Instr& i, const Operand* o) {
        const char* letters = instr_info(i.op).operands;
        if (i.op == Op::call || i.op == Op::call_only || i.op == Op::call_last ||
            i.op == Op::catch_ || i.op == Op::try_ || i.op == Op::bs_match) {
            return true;
        }
        const InstrFacts& facts = instr_facts(i.op);
        const bool is_test = facts.proves != 0;
        const Type before = is_test ? type_of(o[1]) : Type{};
        if (is_test && facts.proves_exactly) {
            set_type(o[1], narrowed(before, static_cast<uint16_t>(~facts.proves)));
        }
        if (i.op == Op::bs_start_match && o[0].index != kNoLabel) {
            return after_no_match(o);
        }
        if (i.op == Op::get_map_elements || i.op == Op::get_record_elements) {
            return after_missing_key(i, o);
        }
        for (uint32_t n = 0; letters[n] != 0 && letters[n] != 'L'; ++n) {
            if (letters[n] == 'f' && o[n].index != kNoLabel && !flow_to(o[n].index, s_)) {
                return false;
            }
        }
        if (is_test) {
            set_type(o[1], before);
            believe(o[1], narrowed(before, facts.proves));
            never_holds_ = (before.bits & facts.proves) == 0;
        }
        if (i.op == Op::select_val || i.op == Op::select_tuple_arity) {
            const std::vector<Type> x_types = s_.x_types;
            const std::vector<Type> y_types = s_.y_types;
            for (uint32_t n = 2; n < i.operand_count; n += 2) {
                s_.x_types = x_types;
                s_.y_types = y_types;
                believe_also(o[0], i.op == Op::select_val ? type_of_constant(o[n].term)
                                                          : type(TypeInfo::tuple, o[n].value));
                if (!flow_to(o[n + 1].index, s_)) {
                    return false;
                }
            }
        }
        believe_success(i, o);
        return true;
    }

    // Where bs_start_match fails, its operand is neither a context nor a bit string.
    bool after_no_match(const Operand* o) {
        const State now = s_;
        believe(o[1], narrowed(type_of(o[1]),
                               static_cast<uint16_t>(~(kContext | TypeInfo::bitstring))));
        const bool ok = flow_to(o[0].index, s_);
        s_ = now;
        return ok;
    }
    // Values of the keys before the one that is missing have been written.
    bool after_missing_key(const Instr& i, const Operand* o) {
        const State now = s_;
        for (uint32_t n = 3; n < i.operand_count; n += 2) {
            // define() demands on the other side that the register is in the frame.
            if (o[n].kind == Kind::x || o[n].index < s_.y.size()) {
                set_type(o[n], type(Type{}.bits | (type_of(o[n]).bits & kContext)));
                *value_of(o[n]) = 0;
            }
        }
        const bool ok = flow_to(o[0].index, s_);
        s_ = now;
        return ok;
    }

    bool demand_frame(uint64_t words) {
        if (s_.frame < 0 || static_cast<uint64_t>(s_.frame) != words) {
            return bad("it drops a frame of %llu words, the frame has %d",
                       static_cast<unsigned long long>(words), s_.frame);
        }
        return !has_marks(s_) || bad("a catch is active");
    }
    bool demand_any_frame() { return s_.frame >= 0 || bad("a call needs a frame"); }
    bool demand_no_frame() { return s_.frame == kNoFrame || bad("the frame is still there"); }
    bool demand_mark(uint32_t y) {
        return in_frame(y) && (s_.y[y] >= kMark || bad("y%u marks no catch", y));
    }
    void drop_frame() {
        s_.frame = kNoFrame;
        s_.y.clear();
        s_.y_types.clear();
        s_.y_values.clear();
    }
    void set_frame(uint64_t words) {
        s_.frame = static_cast<int>(words);
        s_.y.assign(words, kUndefined);
        s_.y_types.assign(words, Type{});
        s_.y_values.assign(words, 0);
    }

    // How many of the lowest x registers it reads.
    uint32_t x_read(const Instr& i, const Operand* o) const {
        const InstrFacts& facts = instr_facts(i.op);
        switch (facts.reads) {
            case InstrFacts::Reads::nothing:
                return 0;
            case InstrFacts::Reads::count:
                return facts.read;
            case InstrFacts::Reads::operand:
                return static_cast<uint32_t>(o[facts.read].value) + facts.read_more;
            case InstrFacts::Reads::arity:
                break;
        }
        return i.operand_count == 0                  ? function_->arity
               : o[i.operand_count - 1].kind == Kind::bif ? o[i.operand_count - 1].bif->arity
               : o[0].kind == Kind::export_          ? o[0].exp->arity
                                                     : function_->arity;
    }
    bool demand_frame_of(const InstrFacts& facts, const Operand* o) {
        switch (facts.frame) {
            case InstrFacts::Frame::any:
                return true;
            case InstrFacts::Frame::needed:
                return demand_any_frame();
            case InstrFacts::Frame::absent:
                return demand_no_frame();
            case InstrFacts::Frame::dropped:
                break;
        }
        return demand_frame(o[facts.frame_operand].value);
    }

    // What the table says of frame, registers and heap; then what is true of one instruction only.
    bool step_special(const Instr& i, const Operand* o, const InstrNote& note) {
        const InstrFacts& facts = instr_facts(i.op);
        const uint16_t effects = instr_info(i.op).effects;
        const uint32_t read = x_read(i, o);
        if (facts.passes_contexts && o[0].kind == Kind::label) {
            give_contexts(o[0], read);
        }
        if (!demand_frame_of(facts, o) || !use_x_below(read) || (facts.shows_frame && !demand_frame_defined())) {
            return false;
        }
        if (facts.builds && !s_.building) {
            return bad("no bit string has been begun");
        }
        if (facts.frame == InstrFacts::Frame::dropped && (effects & ENDS) == 0) {
            drop_frame();
        }
        if (facts.reads != InstrFacts::Reads::nothing && (effects & COLLECTS) != 0) {
            set_live(read);
        }
        switch (facts.heap) {
            case InstrFacts::Heap::keeps:
                break;
            case InstrFacts::Heap::reserves:
                s_.reserved = note.heap_words;
                break;
            case InstrFacts::Heap::voids:
                s_.lapsed = note.heap_words;
                break;
            case InstrFacts::Heap::ends:
                s_.reserved = s_.lapsed = 0;
                break;
        }
        if (facts.leaves_x0) {
            only_x0(shows_message(i.op) && s_.message);
        }
        // It may collect though the compiler has not announced it.
        const bool collects_unannounced = (effects & COLLECTS) != 0 && note.live == kLiveUnknown &&
                                          facts.reads == InstrFacts::Reads::nothing &&
                                          facts.heap == InstrFacts::Heap::keeps;
        return step_alone(i, o, collects_unannounced);
    }

    bool step_alone(const Instr& i, const Operand* o, bool collects_unannounced) {
        switch (i.op) {
            case Op::allocate:
            case Op::allocate_heap:
                set_frame(o[0].value);
                return true;
            case Op::trim:
                if (!demand_frame(o[0].value + o[1].value)) {
                    return false;
                }
                s_.frame = static_cast<int>(o[1].value);
                s_.y.erase(s_.y.begin(), s_.y.begin() + static_cast<ptrdiff_t>(o[0].value));
                s_.y_types.erase(s_.y_types.begin(),
                                 s_.y_types.begin() + static_cast<ptrdiff_t>(o[0].value));
                s_.y_values.erase(s_.y_values.begin(),
                                  s_.y_values.begin() + static_cast<ptrdiff_t>(o[0].value));
                return true;
            case Op::put_list:
                return take(kConsWords);
            case Op::put_tuple2:
                return take(i.operand_count);  // the header in place of the destination
            case Op::make_fun:
                return take(static_cast<uint32_t>(kFunFixedWords) + i.operand_count - 2);
            case Op::update_record:
                take_or_collect(i, static_cast<uint32_t>(o[1].value) + 1);
                return true;
            case Op::new_flat_map:
                take_or_collect(i, i.operand_count);  // two words in place of keys and destination
                return true;
            case Op::fmove_from:
                take_or_collect(i, kBoxedFloatWords);
                return true;
            case Op::get_record_field:  // the reason of its failure takes words, even if it goes to a label
                s_.lapsed += s_.reserved;
                s_.reserved = 0;
                return true;
            case Op::catch_:
            case Op::try_:
                return begin_catch(o);
            case Op::catch_end:
            case Op::try_end:
            case Op::try_case:
                return end_catch(i, o);
            case Op::loop_rec_end:
            case Op::wait:
            case Op::wait_timeout:
                return leave_message(i);
            case Op::remove_message:
                if (!s_.message) {
                    return bad("no message is under examination");
                }
                s_.x_waiting = s_.x;
                s_.message = false;
                std::replace(s_.y.begin(), s_.y.end(), kPartOfMessage, kTerm);
                return true;
            default:
                if (collects_unannounced) {
                    collect_unannounced(i);
                }
                return true;
        }
    }
    bool begin_catch(const Operand* o) {
        if (!in_frame(o[0].index)) {
            return false;
        }
        if (s_.y[o[0].index] >= kMark) {
            return bad("y%u marks a catch already", o[0].index);
        }
        s_.y[o[0].index] = kMark + o[1].index;
        repair_y();
        return flow_to_handler(s_);
    }
    bool end_catch(const Instr& i, const Operand* o) {
        if (!demand_mark(o[0].index)) {
            return false;
        }
        if (i.op == Op::catch_end && !s_.is_answered && !s_.x.has(0)) {
            return bad("there is neither a value in x0 nor an exception");
        }
        if (i.op == Op::try_case && !s_.caught) {
            return bad("it is reached without an exception");
        }
        hold_nil(o[0].index);
        if (i.op == Op::catch_end) {
            define_x(0);
            collect_unannounced(i);
        }
        if (i.op != Op::try_end) {
            only_x0();
        }
        if (i.op == Op::try_case) {
            define_x(1);
            define_x(2);
        }
        return true;
    }
    bool leave_message(const Instr& i) {
        if (i.op == Op::loop_rec_end && !s_.message) {
            return bad("no message is under examination");
        }
        if (std::find(s_.y.begin(), s_.y.end(), kPartOfMessage) != s_.y.end()) {
            return bad("a part of a message that is left in the queue is in the frame");
        }
        s_.x.clear();
        s_.floats.clear();
        s_.reserved = s_.lapsed = 0;
        s_.message = s_.building = false;
        return true;
    }

    bool after_definitions(const Instr& i, const Operand* o, Type result, Type swapped) {
        const char* letters = instr_info(i.op).operands;
        for (uint32_t n = 0; letters[n] != 0 && letters[n] != 'L'; ++n) {
            if (letters[n] == 'd') {
                set_type(o[n], result);
            }
        }
        if (i.op == Op::swap) {
            set_type(o[0], swapped);
        }
        if (i.op == Op::call_bif && makes_tuple(*o[1].bif)) {
            const Operand x0 = Operand::of(Kind::x, 0);
            set_type(x0, type(TypeInfo::tuple));
            s_.fresh_tuple = numbered_value(x0);
        }
        if (i.op == Op::init_yregs) {
            std::for_each(o, o + i.operand_count, [this](const Operand& y) { hold_nil(y.index); });
        }
        if (i.op == Op::loop_rec) {
            s_.message = true;
            if (o[1].kind == Kind::y) {
                s_.y[o[1].index] = kPartOfMessage;
            }
        }
        s_.building |= instr_facts(i.op).begins_bits;
        if (i.op == Op::wait_timeout || i.op == Op::timeout) {
            forget_x(s_);
        }
        return true;
    }

    static bool makes_tuple(const BifDef& bif) {
        return bif.arity == 3 && std::string_view(bif.function) == "setelement" &&
               std::string_view(bif.module) == "erlang";
    }
    bool after_move(const Instr& i, const Operand* o, uint32_t moved, uint32_t other) {
        *value_of(o[1]) = moved;
        if (i.op == Op::move && o[1].kind == Kind::y &&
            (o[0].kind == Kind::constant || (o[0].kind == Kind::y && s_.y[o[0].index] == kTerm))) {
            s_.y[o[1].index] = kTerm;
        }
        if (i.op == Op::swap) {
            *value_of(o[0]) = other;
        }
        return true;
    }

    UnverifiedModule& unverified_;
    LoweredModule& m_;
    ErrorSink& error_;
    const LoweredFunction* function_ = nullptr;
    std::vector<uint32_t> state_at_;  // by instruction: index into states_
    std::vector<bool> reached_;       // by instruction
    std::vector<State> states_;       // of the function, as far as they are used
    uint32_t states_used_ = 0;
    std::vector<uint32_t> work_;                   // block starts whose state has changed
    State s_;                                      // at the instruction being looked at
    uint32_t at_ = 0;                              // the index of that instruction
    std::vector<uint32_t> registers_of_failures_;  // of the function
    std::vector<std::vector<uint32_t>> contexts_of_;  // by function: arguments that may be contexts
    std::vector<bool> again_;  // by function: to be verified again, with more such arguments
    bool never_holds_ = false;  // code behind the instruction at_ is never reached
    bool begin_again_ = false;                     // with one more register of failures
    bool recording_ = false;                       // the fixpoint is reached: write repairs down
    bool accepts_ = false;     // the repairs are in the code, and there must be no more
    bool needs_more_ = false;  // but there are
    uint32_t block_ = 0;               // where the present block begins
    std::vector<uint32_t> to_repair_;  // blocks with repairs to write down then
    std::vector<Repair> repairs_;      // in the order of instructions
};

// Puts the repairs into the code; instruction indexes change everywhere.
void apply_repairs(const std::vector<Repair>& repairs, UnverifiedModule& unverified) {
    if (repairs.empty()) {
        return;
    }
    LoweredModule& m = *unverified.module;
    std::vector<uint32_t> moved_to(m.code.size() + 1);
    size_t inserted = 0;
    for (const Repair& r : repairs) {
        inserted += r.x.size() + (r.y.empty() ? 0 : 1) + (r.tests ? 1 : 0) + (r.test_heap_words != 0 ? 1 : 0) +
                    (r.ends ? 1 : 0);
    }
    std::vector<Instr> code;
    std::vector<InstrNote> notes;
    code.reserve(m.code.size() + inserted);
    notes.reserve(m.code.size() + inserted);
    size_t next = 0;
    const auto insert = [&](const Instr& before, Op op, const std::vector<Operand>& operands) {
        Instr i = before;
        i.op = op;
        i.first_operand = static_cast<uint32_t>(m.operands.size());
        i.operand_count = static_cast<uint32_t>(operands.size());
        i.live = 0;
        i.block_start = false;
        m.operands.insert(m.operands.end(), operands.begin(), operands.end());
        code.push_back(i);
        InstrNote note = unverified.notes[&before - m.code.data()];
        note.live = kLiveUnknown;
        note.heap_words = 0;
        notes.push_back(note);
    };
    for (uint32_t at = 0; at < m.code.size(); ++at) {
        moved_to[at] = static_cast<uint32_t>(code.size());
        Instr& i = m.code[at];
        if (next < repairs.size() && repairs[next].at == at) {
            const Repair& r = repairs[next++];
            for (const uint32_t x : r.x) {
                insert(i, Op::move, {Operand::constant_of(kNil), Operand::of(Kind::x, x)});
            }
            if (!r.y.empty()) {
                insert(i, Op::init_yregs, {});
                for (const uint32_t y : r.y) {
                    m.operands.push_back(Operand::of(Kind::y, y));
                }
                code.back().operand_count = static_cast<uint32_t>(r.y.size());
            }
            if (r.tests) {
                insert(i, r.test, r.tested);
            }
            if (r.test_heap_words != 0) {
                insert(i, Op::test_heap, {Operand::unsigned_of(r.test_heap_words)});
                code.back().live = notes.back().live = r.live;
                notes.back().heap_words = r.test_heap_words;
            }
            const bool starts_block = i.block_start;
            i.block_start = false;
            if (i.op != Op::jump || !r.ends) {
                code.push_back(i);
                notes.push_back(unverified.notes[at]);
            }
            if (r.ends) {
                insert(i, Op::if_end, {});
                code.back().frame = r.frame_at_end;
            }
            code[moved_to[at]].block_start = starts_block;
            continue;
        }
        code.push_back(i);
        notes.push_back(unverified.notes[at]);
    }
    moved_to[m.code.size()] = static_cast<uint32_t>(code.size());
    m.code = std::move(code);
    unverified.notes = std::move(notes);
    for (Operand& o : m.operands) {
        if (o.kind == Kind::label && o.index != kNoLabel) {
            o.index = moved_to[o.index];
        }
    }
    for (LoweredFunction& f : m.functions) {
        f.info = moved_to[f.info];
        f.entry = moved_to[f.entry];
        f.end = moved_to[f.end];
    }
    for (LoweredExport& e : m.exports) {
        e.entry = moved_to[e.entry];
    }
    for (LoweredLambda& l : m.lambdas) {
        l.entry = moved_to[l.entry];
    }
    if (m.on_load != kNoLabel) {
        m.on_load = moved_to[m.on_load];
    }
}

}  // namespace

bool verify(UnverifiedModule& unverified, ErrorSink& error) {
    Verifier verifier(unverified, error);
    if (!verifier.run()) {
        return false;
    }
    std::vector<uint32_t> repaired;  // functions, in order
    for (const Repair& r : verifier.repairs()) {
        const uint32_t function = unverified.module->code[r.at].function;
        if (repaired.empty() || repaired.back() != function) {
            repaired.push_back(function);
        }
    }
    const std::vector<LoweredFunction>& functions = unverified.module->functions;
    for (const LoweredFunction& f : functions) {
        verifier.end_unreached(f);
    }
    apply_repairs(verifier.repairs(), unverified);
    if (!verifier.accept(repaired)) {
        return false;
    }
    for (const uint32_t f : repaired) {
        verifier.end_unreached(functions[f]);
    }
    return true;
}

}  // namespace minivm::loader
