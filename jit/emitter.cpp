#include "jit/emitter.hpp"

#include "jit/default_ops.hpp"
#include "jit/jit.hpp"
#include "jit/layout.hpp"
#include "jit/listing.hpp"
#include "jit/runtime.hpp"
#include "jit/selection.hpp"
#include "vm/sched/scheduler.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace minivm::jit {

Emitter::Emitter(const LoweredModule& m, MacroAssembler& a, const Fragments& fragments,
                 NativeCode& code, bool fast)
    : m_(m), a_(a), fragments_(fragments), code_(code), fast_(m.functions.size(), fast) {
    labels_.resize(m.code.size() + 1);
    function_at_.resize(m.code.size() + 1);
    for (uint32_t f = 0; f < m.functions.size(); ++f) {
        entries_.push_back(a.new_label());
        function_at_[m.functions[f].entry] = f + 1;
    }
    catches_.resize(m.catch_count);
    // About 95 of 100 modules of stdlib and kernel fit in that; pages that are not used are never touched.
    a.reserve(m.code.size() * 24);
    cold_.reserve(m.code.size() / 4);
}

// ---- operands -----------------------------------------------------------------------------------

Mem Emitter::memory(const Operand& o) {
    const auto offset = static_cast<int32_t>(8 * o.index);
    return o.kind == Operand::Kind::y ? Mem{Reg::stack, offset} : Mem{Reg::sched, offset};
}

void Emitter::value_to(Reg d, const Operand& o) {
    if (o.kind == Operand::Kind::constant) {
        a_.move_imm(d, o.term.raw);
    } else if (in_machine(o)) {
        a_.move(d, machine_reg(o));
    } else {
        a_.load(d, memory(o));
    }
}

Reg Emitter::value(const Operand& o, Reg scratch) {
    if (in_machine(o)) {
        return machine_reg(o);
    }
    value_to(scratch, o);
    return scratch;
}

void Emitter::store_result(const Operand& o, Reg r) {
    if (in_machine(o)) {
        a_.move(machine_reg(o), r);
    } else {
        a_.store(memory(o), r);
    }
}

void Emitter::take_boxed(const Operand& to, Word words) {
    const Reg d = result(to, Reg::t0);
    a_.lea(d, {Reg::heap, static_cast<int32_t>(kTagBoxed)});
    store_result(to, d);
    a_.add_imm(Reg::heap, static_cast<int64_t>(8 * words));
}

void Emitter::set_constant(const Operand& to, Term constant) {
    if (in_machine(to)) {
        a_.move_imm(machine_reg(to), constant.raw);
    } else {
        a_.store_imm(memory(to), constant.raw);
    }
}

void Emitter::move(const Operand& from, const Operand& to) {
    if (from.kind == Operand::Kind::constant) {
        set_constant(to, from.term);
    } else if (in_machine(to)) {
        value_to(machine_reg(to), from);
    } else {
        a_.store(memory(to), value(from, Reg::t0));
    }
}

void Emitter::store_operand(Mem to, const Operand& o, Reg scratch) {
    if (o.kind == Operand::Kind::constant) {
        a_.store_imm(to, o.term.raw);
    } else {
        a_.store(to, value(o, scratch));
    }
}

Label Emitter::label_of(uint32_t instr) {
    Label& l = labels_[instr];
    if (!l.is_valid()) {
        l = a_.new_label();
    }
    return l;
}

bool Emitter::next_is(Op op, size_t ahead) const {
    const size_t n = n_ + ahead;
    if (n >= m_.code.size() || m_.code[n].op != op) {
        return false;
    }
    for (size_t k = n_ + 1; k <= n; ++k) {
        if (m_.code[k].block_start) {
            return false;
        }
    }
    return true;
}

// ---- pieces -------------------------------------------------------------------------------------

void Emitter::locate() {
    if (code_.wants_frames) {
        // And the return address above them.
        const auto words = static_cast<uint32_t>(frame_words() + 1);
        code_.frames.push_back({a_.offset(), words * static_cast<uint32_t>(sizeof(Word))});
    }
    auto& l = code_.locations;
    if (l.empty() || l.back().function != i_->function || l.back().line != i_->line) {
        l.push_back({a_.offset(), i_->function, i_->line});
    }
}

void Emitter::select(const Selection& selection) {
    for (uint32_t f = 0; f < m_.functions.size(); ++f) {
        fast_[f] = fast_[f] && selection.has_function(m_, f);
    }
}

void Emitter::list_to(Listing& listing) {
    listing_ = &listing;
    a_.list_to(listing);
}

void Emitter::list() {
    if (listing_ != nullptr) {
        listing_->group(i_->function);
        listing_->remark(std::to_string(n_) + "  " + format_instr(m_, *i_));
    }
}

static bool returns_a_value(Op op) {
    return op == Op::call || op == Op::call_ext || op == Op::call_fun || op == Op::apply ||
           op == Op::call_bif || op == Op::send;
}

// With --check-native: emits a call that checks what must hold between instructions
// (runtime_check_state).
void Emitter::check_state(Word live) {
    if (!checks_emitted()) {
        return;
    }
    a_.move_imm(Reg::t0, live);
    a_.move_imm(Reg::t1, frame_words());
    fragment(fragments_.check_state);
}

void Emitter::function_entry(uint32_t function) {
    const LoweredFunction& f = m_.functions[function];
    const Label exhausted = a_.new_label();
    const Label body = a_.new_label();
    a_.function_entry(entries_[function], fragments_.breakpoint);
    if (code_.wants_frames && a_.frame_pointers()) {
        code_.frames.back().cfa_offset_bytes = sizeof(Word);
        a_.enter_frame();
        code_.frames.push_back({a_.offset(), 2 * sizeof(Word)});
    } else {
        a_.enter_frame();
    }
    a_.count_reduction(exhausted);
    a_.bind(body);
    check_state(f.arity | kCheckEntry);
    cold([this, exhausted, body, arity = f.arity] {
        a_.bind(exhausted);
        a_.move_imm(Reg::t0, arity);
        fragment(fragments_.yield);
        a_.jump(body);
    });
}

// Operands by value, in the order of the letters; the list, if any, comes last.
Word* Emitter::new_record() {
    const char* letters = instr_info(i_->op).operands;
    const Operand* o = operands();
    Word* const record = code_.new_words(sizeof(OpRecord) / sizeof(Word) + i_->operand_count);
    auto* r = new (record) OpRecord;
    r->fn = default_op(i_->op);
    MINIVM_ASSERT(r->fn != nullptr);
    r->live = i_->live;
    r->list_count = 0;
    r->list_at = 0;
    r->has_label = 0;
    r->collects = (instr_info(i_->op).effects & COLLECTS) != 0;
    const char* letter = letters;
    for (uint32_t n = 0; n < i_->operand_count; ++n) {
        if (*letter == 'L' && r->list_count == 0) {
            r->list_at = n;
            r->list_count = i_->operand_count - n;
        }
        Word& w = r->operands[n];
        switch (o[n].kind) {
            case Operand::Kind::x:
                w = Word{o[n].index} * 8 << 8 | kTagHeader;
                break;
            case Operand::Kind::y:
                w = (Word{o[n].index} * 8 | 1) << 8 | kTagHeader;
                break;
            case Operand::Kind::fr:
                w = o[n].index;
                break;
            case Operand::Kind::constant:
                w = o[n].term.raw;
                break;
            case Operand::Kind::label:
                w = 0;
                r->has_label |= *letter == 'f' && o[n].index != kNoLabel;
                break;
            case Operand::Kind::unsigned_:
                w = o[n].value;
                break;
            case Operand::Kind::export_:
                w = reinterpret_cast<Word>(o[n].exp);
                break;
            case Operand::Kind::bif:
                w = reinterpret_cast<Word>(o[n].bif);
                break;
            case Operand::Kind::string:
                w = reinterpret_cast<Word>(m_.strings.data() + o[n].index);
                break;
            case Operand::Kind::fun:
            case Operand::Kind::none:
                w = 0;
                break;
        }
        if (*letter != 'L') {
            ++letter;
        }
    }
    return record;
}

void Emitter::default_operation(const Word* record) {
    a_.move_imm(Reg::t0, reinterpret_cast<Word>(record));
    fragment(fragments_.default_op);
    const char* letters = instr_info(i_->op).operands;
    const Operand* o = operands();
    const bool has_label = letters[0] == 'f' && o[0].index != kNoLabel;
    if (has_label && i_->op != Op::loop_rec_end && i_->op != Op::wait_timeout) {
        a_.compare_imm(Reg::t0, 0);
        a_.branch(Cond::not_equal, label_of(o[0].index));
    }
}

void Emitter::slow_path(Label entry, Label back) {
    cold([this, entry, back, floats = floats_kept_] {
        a_.bind(entry);
        default_operation();
        reload_floats(floats);
        a_.jump(back);
    });
}

// Makes room for words on heap and stack, and for the reserve.
void Emitter::reserve(Word stack_words, Word heap_words) {
    const Word words = stack_words + heap_words;
    const Label slow = a_.new_label();
    const Label back = a_.new_label();
    if (vm::g_options.stress_gc) {
        a_.jump(slow);
    } else {
        a_.lea(Reg::t0, {Reg::heap, static_cast<int32_t>((words + kReserveWords) * sizeof(Term))});
        a_.compare(Reg::t0, Reg::stack);
        a_.branch(Cond::above, slow);
    }
    a_.bind(back);
    cold([this, slow, back, words, live = i_->live, floats = floats_kept_] {
        a_.bind(slow);
        a_.move_imm(Reg::t0, words);
        a_.move_imm(Reg::t1, live);
        fragment(fragments_.collect);
        reload_floats(floats);
        a_.jump(back);
    });
}

// t3 := the native code of the export entry in t0.
void Emitter::load_export_target() {
    a_.load_u32(Reg::t2, {Reg::sched, kCodeIx});
    a_.load_scaled(Reg::t3, Reg::t0, Reg::t2, kExportNative);
}

void Emitter::call_export(const Export* e) {
    a_.move_imm(Reg::t0, reinterpret_cast<Word>(e));
    load_export_target();
}

// y registers, and with frame pointers the word above them.
Word Emitter::frame_words() const {
    return static_cast<Word>(std::max<int>(i_->frame, 0) + (a_.frame_pointers() ? 1 : 0));
}

// If the instructions behind this one return at once, 1 + the words of the frame that they drop before that;
// else 0.
Word Emitter::tail_code() const {
    const Word above_y = a_.frame_pointers() ? 1 : 0;
    if (next_is(Op::return_)) {
        return 1 + above_y;
    }
    if (next_is(Op::deallocate) && next_is(Op::return_, 2)) {
        return 1 + above_y + m_.operands_of(m_.code[n_ + 1])[0].value;
    }
    return 0;
}

void Emitter::add_one_too_many() {
    const Operand& sum = operands()[3];
    value_to(Reg::t0, sum);
    a_.add_imm(Reg::t0, static_cast<int64_t>(make_small(1).raw - make_small(0).raw));
    store_result(sum, Reg::t0);
}

struct Emitter::How {
    enum class When : uint8_t { fast, around, flow };
    enum class Floats : uint8_t { lose, keep };
    bool (Emitter::*emit)() = nullptr;
    When when = When::fast;
    Floats floats = Floats::lose;
};

const Emitter::How& Emitter::how(Op op) {
    static constexpr auto kTable = [] {
        std::array<How, static_cast<size_t>(Op::kCount)> t{};
#define EMIT(name, emitter, when, floats) \
    t[static_cast<size_t>(Op::name)] = {&Emitter::emit_##emitter, How::When::when, How::Floats::floats};
#include "jit/emitted.def"
#undef EMIT
        return t;
    }();
    return kTable[static_cast<size_t>(op)];
}

void Emitter::instruction() {
    const How& h = how(i_->op);
    const bool wanted = h.emit != nullptr && (h.when != How::When::fast || fast_[i_->function]);
    if (wanted && (this->*h.emit)()) {
        if (i_->function == mistaken_function_ && i_->op == Op::add) {
            add_one_too_many();
        }
        if (returns_a_value(i_->op)) {
            check_state(1);
        }
        if (h.floats == How::Floats::lose) {
            floats_kept_ = 0;
        }
        return;
    }
    floats_kept_ = 0;
    default_operation();
    if (i_->op == Op::loop_rec_end) {
        a_.jump(label_of(operands()[0].index));
    }
    if (uses_ != nullptr) {
        (*uses_)[static_cast<size_t>(i_->op)].defaults++;
    }
}

// ---- the module ---------------------------------------------------------------------------------

void Emitter::run() {
    for (n_ = 0; n_ < m_.code.size(); ++n_) {
        i_ = &m_.code[n_];
        list();
        locate();
        if (function_at_[n_] != 0) {
            function_entry(function_at_[n_] - 1);
        }
        if (i_->block_start || labels_[n_].is_valid()) {
            a_.bind(label_of(n_));
            floats_kept_ = 0;
        }
        const uint32_t begin = a_.offset();
        instruction();
        if (uses_ != nullptr) {
            OpUse& use = (*uses_)[static_cast<size_t>(i_->op)];
            use.count++;
            use.bytes += a_.offset() - begin;
        }
    }
    // A call of a fun enters here, with the fun in t0: loads its free variables behind the arguments.
    for (const LoweredLambda& l : m_.lambdas) {
        a_.align(8);
        funs_.push_back(a_.new_label());
        a_.bind(funs_.back());
        const uint32_t function = function_at_[l.entry] - 1;
        if (listing_ != nullptr) {
            listing_->group(function);
            listing_->remark("entry of the fun");
        }
        code_.locations.push_back({a_.offset(), function, 0});
        if (code_.wants_frames) {
            code_.frames.push_back({a_.offset(), sizeof(Word)});
        }
        const uint32_t first = l.arity - l.num_free;
        for (uint32_t k = 0; k < l.num_free; ++k) {
            const auto offset =
                static_cast<int32_t>(8 * (kFunFixedWords + k)) - static_cast<int32_t>(kTagBoxed);
            const Operand x = Operand::of(Operand::Kind::x, first + k);
            const Reg r = result(x, Reg::t1);
            a_.load(r, {Reg::t0, offset});
            if (!in_machine(x)) {
                a_.store(memory(x), r);
            }
        }
        a_.jump(entries_[function]);
    }
    for (size_t k = 0; k < cold_.size(); ++k) {  // cold code may have cold code
        Cold c = cold_[k];
        i_ = c.instr;
        n_ = c.index;
        list();
        locate();
        const uint32_t begin = a_.offset();
        c.emit(c.data);
        if (uses_ != nullptr) {
            (*uses_)[static_cast<size_t>(i_->op)].bytes += a_.offset() - begin;
        }
    }
    if (listing_ != nullptr) {
        listing_->group(Listing::kNoGroup);
    }
    a_.align(8);
    for (const Data& d : data_) {
        a_.bind(d.label);
        a_.embed_word(0);
    }
    for (const Table& t : tables_) {
        a_.bind(t.label);
        for (const Label l : t.targets) {
            a_.embed_address(l);
        }
    }
}

// Adds the frames of the code during which C++ has the scheduler's stack.
void Emitter::add_scheduler_stack_frames() {
    std::vector<NativeFrame> merged;
    size_t next = 0;
    for (const CodeSpan& span : a_.on_scheduler_stack()) {
        for (; next < code_.frames.size() && code_.frames[next].offset <= span.begin; ++next) {
            merged.push_back(code_.frames[next]);
        }
        const NativeFrame before = merged.back();
        merged.push_back({span.begin, before.cfa_offset_bytes, true});
        merged.push_back({span.end, before.cfa_offset_bytes});
    }
    merged.insert(merged.end(), code_.frames.begin() + static_cast<std::ptrdiff_t>(next),
                  code_.frames.end());
    code_.frames = std::move(merged);
}

void Emitter::place() {
    if (code_.wants_frames) {
        add_scheduler_stack_frames();
    }
    for (uint32_t f = 0; f < m_.functions.size(); ++f) {
        code_.entries.push_back(a_.offset_of(entries_[f]));
        code_.function_starts.push_back(m_.functions[f].entry);
    }
    for (const Label l : funs_) {
        code_.funs.push_back(a_.offset_of(l));
    }
    for (const Label l : catches_) {
        code_.catch_handlers.push_back(a_.offset_of(l));
    }
    for (const Data& d : data_) {
        code_.fixups.push_back({d.kind, d.index, a_.offset_of(d.label)});
    }
}

}  // namespace minivm::jit
