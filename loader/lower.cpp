// Generic instructions to lowered ones, one pass over the bytes in order.
//
// Nothing here looks at control flow: that every operand is of the right kind and every index in
// range is checked as it is read; what depends on the way an instruction is reached is the
// verifier's.
#include "loader/byte_reader.hpp"
#include "loader/compact_term.hpp"
#include "loader/unverified_module.hpp"
#include "vm/code/export.hpp"
#include "vm/instr/bif_def.hpp"
#include "vm/nif/nif.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/semantics/binary.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/compare.hpp"
#include "vm/term/map.hpp"
#include "vm/term/native_record.hpp"

#include <algorithm>
#include <bit>
#include <cstdarg>
#include <cstdio>
#include <unordered_map>

namespace minivm::loader {

namespace {

using Code = LoadError::Code;
using Kind = Operand::Kind;

constexpr uint32_t kMaxTupleArity = (1 << 24) - 1;
constexpr uint64_t kMaxHeapWords = 1 << 24;
constexpr uint64_t kMaxBitSize = uint64_t{1} << 44;  // the largest size in a command of bs_match, beyond any bit string
constexpr uint64_t kMaxUnit = 256;

// Bit string flags as the bs_* instructions have them.
constexpr uint64_t kFlagLittle = 2, kFlagSigned = 4, kFlagNative = 16;
constexpr uint64_t native_resolved(uint64_t flags) {
    if ((flags & kFlagNative) != 0 && std::endian::native == std::endian::little) {
        flags |= kFlagLittle;
    }
    return flags & (kFlagLittle | kFlagSigned);
}

// Codes of bs_match commands and bs_create_bin segments, see instructions.def.
struct NamedCode {
    Term name;
    unsigned code;
};
constexpr unsigned kNoCode = 0xFF;
using Segment = BinSegment::Type;
constexpr unsigned code(Segment type) { return static_cast<unsigned>(type); }
struct GuardOp {
    Term name;
    unsigned arity;
    Op op;
};

// Atoms with a meaning in instructions.
struct Names {
    Term erlang = intern("erlang"), get = intern("get"), plus = intern("+");
    Term little = intern("little"), is_signed = intern("signed"), native = intern("native");
    Term no_fail = intern("no_fail"), resume = intern("resume");
    NamedCode match_commands[7] = {{intern("ensure_at_least"), semantics::kBsEnsureAtLeast},
                                   {intern("ensure_exactly"), semantics::kBsEnsureExactly},
                                   {intern("integer"), semantics::kBsInteger},
                                   {intern("binary"), semantics::kBsBinary},
                                   {intern("get_tail"), semantics::kBsGetTail},
                                   {intern("=:="), semantics::kBsEqual},
                                   {intern("skip"), semantics::kBsSkip}};
    NamedCode segment_types[9] = {
        {intern("integer"), code(Segment::integer)}, {intern("float"), code(Segment::float_)},
        {intern("binary"), code(Segment::binary)},   {intern("utf8"), code(Segment::utf8)},
        {intern("utf16"), code(Segment::utf16)},     {intern("utf32"), code(Segment::utf32)},
        {intern("append"), code(Segment::append)},   {intern("private_append"), code(Segment::private_append)},
        {intern("string"), code(Segment::string)}};
    GuardOp guard_ops[17] = {{plus, 2, Op::add},
                             {intern("-"), 2, Op::sub},
                             {intern("*"), 2, Op::mul},
                             {intern("div"), 2, Op::int_div},
                             {intern("rem"), 2, Op::rem},
                             {intern("band"), 2, Op::band},
                             {intern("bor"), 2, Op::bor},
                             {intern("bxor"), 2, Op::bxor},
                             {intern("bsl"), 2, Op::bsl},
                             {intern("bsr"), 2, Op::bsr},
                             {intern("bnot"), 1, Op::bnot},
                             {intern("-"), 1, Op::neg},
                             {intern("self"), 0, Op::self},
                             {intern("hd"), 1, Op::hd},
                             {intern("tl"), 1, Op::tl},
                             {intern("element"), 2, Op::element},
                             {intern("tuple_size"), 1, Op::tuple_size}};
    // BIFs that the compiler knows to raise always.
    struct ExitBif {
        Term name;
        unsigned arity;
    };
    // raise/3 is none of them: it returns badarg if its arguments are bad.
    ExitBif exit_bifs[5] = {{intern("error"), 1},
                            {intern("error"), 2},
                            {intern("error"), 3},
                            {intern("exit"), 1},
                            {intern("throw"), 1}};
    struct ControlBif {
        Term module, function;
        unsigned arity;
    };
    ControlBif control_bifs[32] = {
#define CONTROL_BIF(m, f, a) {intern(m), intern(f), a},
#include "loader/control_bifs.def"
#undef CONTROL_BIF
    };

    static Term intern(std::string_view text) {
        return atom_table::intern(text);
    }
    template <size_t N>
    static unsigned code_of(const NamedCode (&table)[N], Term name, unsigned none) {
        for (const NamedCode& row : table) {
            if (row.name == name) {
                return row.code;
            }
        }
        return none;
    }
};
const Names& names() {
    static const Names instance;
    return instance;
}

bool is_control_bif(const BeamFile::Import& i) {
    for (const auto& c : names().control_bifs) {
        if (c.function == i.function && c.module == i.module && c.arity == i.arity) {
            return true;
        }
    }
    return false;
}

bool is_apply(const BeamFile::Import& i) {
    static const Term apply = atom_table::intern("apply");
    return i.function == apply && i.module == atoms::erlang && (i.arity == 2 || i.arity == 3);
}

// Behind a list of more items than this, bytecode does not reach the constants.
constexpr size_t kFarItems = 4000;

bool never_returns(const BeamFile::Import& i) {
    for (const auto& e : names().exit_bifs) {
        if (e.name == i.function && e.arity == i.arity) {
            return i.module == names().erlang;
        }
    }
    return false;
}

class Lowerer {
public:
    Lowerer(UnverifiedModule& unverified, BeamFile& file, ErrorSink& error)
        : unverified_(unverified),
          file_(file),
          m_(*unverified.module),
          error_(error),
          in_(file.code.data, file.code.size),
          label_at_(file.label_count, kNoLabel),
          may_load_nifs_(imports_load_nif(file)) {}

    bool run() {
        reserve();
        do {
            if (!next()) {
                return false;
            }
        } while (!ended_);
        return finish_module();
    }

private:
    // All of stdlib and kernel but a few small modules fit in that. Room that is not used is never
    // touched, and growing by doubling would touch, and have the kernel clear, twice as much.
    void reserve() {
        m_.code.reserve(file_.code.size / 4);
        m_.operands.reserve(file_.code.size / 2);
        unverified_.notes.reserve(file_.code.size / 4);
    }

    // ---- reading ------------------------------------------------------------------------------

    [[gnu::format(printf, 3, 4)]] bool bad(Code code, const char* format, ...) {
        char text[300];
        va_list arguments;
        va_start(arguments, format);
        std::vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        return error_.fail(code, "Code", file_.code_offset + offset_, "instruction %u (%s): %s",
                           instr_number_, info_ == nullptr ? "?" : info_->name, text);
    }
    bool bad_arg(size_t i, const char* expected) {
        return bad(Code::bad_operand, "argument %zu is no %s", i + 1, expected);
    }

    bool next() {
        offset_ = in_.offset();
        ++instr_number_;
        info_ = nullptr;
        uint8_t opcode;
        if (!in_.u8(&opcode)) {
            return error_.fail(Code::truncated, "Code", file_.code_offset + offset_,
                               "the code ends without int_code_end");
        }
        info_ = generic_info(opcode);
        if (info_ == nullptr) {
            return error_.fail(Code::bad_opcode, "Code", file_.code_offset + offset_,
                               "instruction %u has the unknown opcode %u", instr_number_, opcode);
        }
        op_ = static_cast<GenericOp>(opcode);
        if (info_->lowering == Lowering::obsolete) {
            return bad(Code::unsupported,
                       "no release from OTP 25 on writes it: compile the module "
                       "again");
        }
        items_.clear();
        live_ = kLiveUnknown;
        heap_words_ = 0;
        count_ = 0;
        for (const char* letter = info_->arguments; *letter != 0; ++letter) {
            if (!read_arg(*letter)) {
                return false;
            }
            ++count_;
        }
        if (skipping_body_ && op_ != GenericOp::op_label && op_ != GenericOp::op_func_info &&
            op_ != GenericOp::op_int_code_end && op_ != GenericOp::op_line) {
            return true;
        }
        if (items_.size() > kFarItems && !bring_constants_near()) {
            return false;
        }
        switch (info_->lowering) {
            case Lowering::table:
                return lower_by_table() && note_what_lines_depend_on();
            case Lowering::special:
                return lower_special();
            default:
                return true;
        }
    }

    // Bytecode has the constants of an instruction behind its list and reaches only so far: behind
    // a long list a constant source is taken from a register, which no compiler uses.
    bool bring_constants_near() {
        for (size_t i = 0; i < count_; ++i) {
            if (info_->arguments[i] == 's' && args_[i].kind == Kind::constant) {
                if (!in_function()) {
                    return false;
                }
                const Operand far = args_[i];
                args_[i] = Operand::of(Kind::x, kMaxXRegisters - 1);
                emit(Op::move, far, args_[i]);
                labels_here_.clear();
            }
        }
        return true;
    }

    bool read_number(CompactNumber* n) {
        switch (read_compact(in_, n)) {
            case CompactResult::ok:
                return true;
            case CompactResult::truncated:
                return bad(Code::truncated, "cut off");
            default:
                if ((op_ == GenericOp::op_bs_test_tail2 || op_ == GenericOp::op_bs_match) &&
                    n->tag == CompactTag::u && n->bytes != nullptr) {
                    n->value = INT64_MAX;  // see check_letter
                    return true;
                }
                return bad(Code::bad_operand, "a number is too large");
        }
    }
    bool read_u(uint64_t* out, uint64_t limit, const char* what) {
        CompactNumber n;
        if (!read_number(&n)) {
            return false;
        }
        if (n.tag != CompactTag::u || static_cast<uint64_t>(n.value) >= limit) {
            return bad(Code::bad_operand, "no valid %s", what);
        }
        *out = static_cast<uint64_t>(n.value);
        return true;
    }

    bool read_register(const CompactNumber& n, Operand* out) {
        if (n.value >= kMaxXRegisters) {
            return bad(Code::bad_operand, "register %lld is over %d",
                       static_cast<long long>(n.value), kMaxXRegisters - 1);
        }
        *out =
            Operand::of(n.tag == CompactTag::x ? Kind::x : Kind::y, static_cast<uint32_t>(n.value));
        return true;
    }

    Operand boxed_constant(Term t) {
        Operand o = Operand::constant_of(t);
        if (!is_immediate(t)) {
            unverified_.roots.push_back(t);
            o.index = static_cast<uint32_t>(unverified_.roots.size());
        }
        return o;
    }

    Operand integer_constant(const CompactNumber& n) {
        return boxed_constant(integer_term(file_.heap, n));
    }

    // One argument of any kind but a list.
    bool read_scalar(Operand* out) {
        CompactNumber n;
        if (!read_number(&n)) {
            return false;
        }
        switch (n.tag) {
            case CompactTag::u:
                *out = Operand::unsigned_of(static_cast<uint64_t>(n.value));
                return true;
            case CompactTag::i:
                *out = integer_constant(n);
                return is_value(out->term) || bad(Code::bad_operand, "an integer is too large");
            case CompactTag::a:
                if (static_cast<size_t>(n.value) >= file_.atoms.size()) {
                    return bad(Code::bad_operand, "atom %lld does not exist (there are %zu)",
                               static_cast<long long>(n.value), file_.atoms.size() - 1);
                }
                *out = Operand::constant_of(file_.atoms[n.value]);
                return true;
            case CompactTag::x:
            case CompactTag::y:
                return read_register(n, out);
            case CompactTag::f:
                if (static_cast<uint64_t>(n.value) >= file_.label_count && n.value != 0) {
                    return bad(Code::bad_operand, "label %lld does not exist (they are below %u)",
                               static_cast<long long>(n.value), file_.label_count);
                }
                *out = Operand::of(Kind::label,
                                   n.value == 0 ? kNoLabel : static_cast<uint32_t>(n.value));
                return true;
            case CompactTag::h:
                return bad(Code::bad_operand, "characters are no operands any more");
            case CompactTag::z:
                return read_extended(n.value, out);
        }
        return false;
    }

    bool read_extended(int64_t kind, Operand* out) {
        uint64_t v = 0;
        switch (kind) {
            case 1:
                return bad(Code::bad_operand, "a list where none belongs");
            case 2:
                if (!read_u(&v, kMaxFloatRegisters, "float register")) {
                    return false;
                }
                *out = Operand::of(Kind::fr, static_cast<uint32_t>(v));
                return true;
            case 3:
                return read_allocation_list(out);
            case 4: {
                if (!read_u(&v, file_.literals.size(), "literal number")) {
                    return false;
                }
                *out = Operand::constant_of(file_.literals[v]);
                if (!is_immediate(file_.literals[v])) {
                    out->index = static_cast<uint32_t>(v + 1);  // the literals are the first roots
                }
                return true;
            }
            case 5: {
                CompactNumber n;
                if (!read_number(&n)) {
                    return false;
                }
                if (n.tag != CompactTag::x && n.tag != CompactTag::y) {
                    return bad(Code::bad_operand, "a type on what is no register");
                }
                const size_t limit = file_.has_types ? file_.types.size() : size_t{1} << 31;
                if (!read_register(n, out) || !read_u(&v, limit, "type number")) {
                    return false;
                }
                if (file_.has_types && v < 0xFFFF && says_something(file_.types[v])) {
                    out->type_index = static_cast<uint16_t>(v + 1);
                }
                return true;
            }
            default:
                return bad(Code::bad_operand, "an operand of the unknown kind %lld",
                           static_cast<long long>(kind));
        }
    }

    static bool says_something(const TypeInfo& t) {
        return t.bits != TypeInfo::any || t.has_lower || t.has_upper || t.unit > 1;
    }

    // The file counts words, floats and funs apart, because their sizes are the VM's.
    bool read_allocation_list(Operand* out) {
        uint64_t count = 0, kind = 0, number = 0, words = 0;
        if (!read_u(&count, 4, "allocation list length")) {
            return false;
        }
        for (uint64_t i = 0; i < count; ++i) {
            if (!read_u(&kind, 3, "allocation kind") ||
                !read_u(&number, kMaxHeapWords, "allocation count")) {
                return false;
            }
            static constexpr size_t kWordsOf[] = {1, kBoxedFloatWords, kFunFixedWords};
            words += number * kWordsOf[kind];
        }
        *out = Operand::unsigned_of(words);
        return true;
    }

    bool read_list() {
        CompactNumber n;
        uint64_t count = 0;
        if (!read_number(&n)) {
            return false;
        }
        if (n.tag != CompactTag::z || n.value != 1) {
            return bad_arg(count_, "list");
        }
        // Each item takes a byte at least, and a tuple has no more elements.
        if (!read_u(&count, std::min<uint64_t>(in_.left() + 1, kMaxTupleArity), "list length")) {
            return false;
        }
        for (uint64_t i = 0; i < count; ++i) {
            Operand item;
            if (!read_scalar(&item)) {
                return false;
            }
            items_.push_back(item);
        }
        return true;
    }

    bool read_arg(char letter) {
        Operand& a = args_[count_];
        a = Operand{};
        if (letter == 'L') {
            return read_list();
        }
        return read_scalar(&a) && check_letter(letter, a);
    }

    // Checks an argument against its letter and turns it into the operand that is wanted.
    bool check_letter(char letter, Operand& a) {
        switch (letter) {
            case 's':
                return a.is_register() || a.kind == Kind::constant || bad_arg(count_, "source");
            case 'n':
                if (a.kind == Kind::unsigned_) {
                    if (!fits_small_u(a.value)) {
                        return bad_arg(count_, "small integer");
                    }
                    a = Operand::constant_of(make_small(static_cast<int64_t>(a.value)));
                }
                return a.is_register() || a.kind == Kind::constant || bad_arg(count_, "source");
            case 'd':
                return a.is_register() || bad_arg(count_, "register");
            case 'y':
                return a.kind == Kind::y || bad_arg(count_, "y register");
            case 'u':
                // bs_test_tail2 has the N of <<_:N>>, of any size; no bit string has as many as INT64_MAX bits.
                if (op_ == GenericOp::op_bs_test_tail2 &&
                    (a.kind == Kind::unsigned_ || (a.kind == Kind::constant && is_big(a.term)))) {
                    a = Operand::unsigned_of(a.kind == Kind::constant ? INT64_MAX : a.value);
                    return true;
                }
                return (a.kind == Kind::unsigned_ && a.value <= UINT32_MAX) ||
                       bad_arg(count_, "number");
            case 'l':
                return a.kind == Kind::fr || bad_arg(count_, "float register");
            case 'f':
                return a.kind == Kind::label || bad_arg(count_, "label");
            case 'j':
                return (a.kind == Kind::label && a.index != kNoLabel) || bad_arg(count_, "label");
            case 'V':
                if (a.kind != Kind::unsigned_ || a.value > kMaxXRegisters) {
                    return bad_arg(count_, "count of live registers");
                }
                live_ = static_cast<uint16_t>(a.value);
                return true;
            case 'W':
                return (a.kind == Kind::unsigned_ && a.value < kMaxHeapWords) ||
                       bad_arg(count_, "count of heap words");
            case 'g':
                return flags_of(&a) || bad_arg(count_, "set of bit string flags");
            case 'a':
                return (a.kind == Kind::constant && is_atom(a.term)) || bad_arg(count_, "atom");
            case 't':
                if (a.kind != Kind::unsigned_ || a.value > file_.strings.size()) {
                    return bad_arg(count_, "offset into the string table");
                }
                a = Operand::of(Kind::string, static_cast<uint32_t>(a.value));
                return true;
            case 'i':
                return (a.kind == Kind::unsigned_ && a.value < file_.imports.size()) ||
                       bad_arg(count_, "import number");
            case 'm':
                if (a.kind != Kind::unsigned_ || a.value >= file_.lambdas.size()) {
                    return bad_arg(count_, "fun number");
                }
                a = Operand::of(Kind::fun, static_cast<uint32_t>(a.value));
                return true;
            default:
                return true;
        }
    }

    // Flags come as a number, as nil, or as a list of atoms and {anno, _}. The result is a
    // constant.
    static bool flags_of(Operand* a) {
        uint64_t flags = 0;
        if (a->kind == Kind::unsigned_) {
            flags = a->value;
        } else if (a->kind == Kind::constant && is_list(a->term)) {
            Term t = a->term;
            for (; is_cons(t); t = tail(t)) {
                const Term flag = head(t);
                flags |= flag == names().little      ? kFlagLittle
                         : flag == names().is_signed ? kFlagSigned
                         : flag == names().native    ? kFlagNative
                                                     : 0;
            }
            if (!is_nil(t)) {
                return false;
            }
        } else {
            return false;
        }
        *a = Operand::constant_of(make_small(static_cast<int64_t>(native_resolved(flags))));
        return true;
    }

    // ---- emitting -----------------------------------------------------------------------------

    void emit(Op op) {
        drop_jump_to_here(op);
        Instr i{};
        i.op = op;
        i.first_operand = static_cast<uint32_t>(m_.operands.size());
        i.function = static_cast<uint32_t>(m_.functions.size() - 1);
        i.line = line_;
        i.frame = -1;
        m_.code.push_back(i);
        unverified_.notes.push_back(
            {static_cast<uint32_t>(file_.code_offset + offset_), op_, live_, heap_words_});
    }
    void add(Operand o) {
        m_.operands.push_back(o);
        ++m_.code.back().operand_count;
    }
    template <typename... Operands>
    void emit(Op op, const Operands&... operands) {
        emit(op);
        (add(operands), ...);
    }
    void add_items(const std::vector<Operand>& items) {
        for (const Operand& o : items) {
            add(o);
        }
    }
    void pop() {
        m_.operands.resize(m_.code.back().first_operand);
        m_.code.pop_back();
        unverified_.notes.pop_back();
    }

    // Removes a jump to the instruction that is about to follow it, and moves the labels between to its place.
    void drop_jump_to_here(Op next) {
        const auto here = static_cast<uint32_t>(m_.code.size());
        if (m_.code.empty() || m_.code.back().op != Op::jump || labels_here_.empty() ||
            next == Op::func_info || next == Op::trap_end) {
            return;
        }
        const uint32_t target = m_.operands[m_.code.back().first_operand].index;
        if (label_at_[target] != here ||
            std::find(labels_here_.begin(), labels_here_.end(), target) == labels_here_.end()) {
            return;
        }
        pop();
        for (const uint32_t label : labels_here_) {
            label_at_[label] = here - 1;
        }
        LoweredFunction& f = m_.functions.back();
        if (f.entry == here) {
            f.entry = here - 1;
        }
    }

    bool lower_by_table() {
        if (op_ == GenericOp::op_func_info) {
            return begin_function();
        }
        if (!in_function()) {
            return false;
        }
        if (op_ == GenericOp::op_return && fuse_fun_tail_call()) {
            return true;
        }
        if (!check_ranges()) {
            return false;
        }
        if (op_ == GenericOp::op_test_heap || op_ == GenericOp::op_allocate_heap) {
            heap_words_ =
                static_cast<uint32_t>(args_[op_ == GenericOp::op_test_heap ? 0 : 1].value);
        }
        emit(info_->op);
        for (const char* digit = info_->order; *digit != 0; ++digit) {
            add(args_[*digit - '0']);
        }
        labels_here_.clear();
        return true;
    }

    bool in_function() {
        if (m_.functions.empty()) {
            return bad(Code::bad_code, "before the first func_info");
        }
        if (m_.functions.back().entry == kNoLabel) {
            return bad(Code::bad_code, "func_info must be followed by the entry label");
        }
        return true;
    }

    // Numbers whose range the letters do not tell.
    bool check_ranges() {
        const auto at_most = [this](size_t i, uint64_t limit, const char* what) {
            return args_[i].value <= limit || bad(Code::bad_operand, "%s %llu is over %llu", what,
                                                  static_cast<unsigned long long>(args_[i].value),
                                                  static_cast<unsigned long long>(limit));
        };
        switch (op_) {
            case GenericOp::op_call:
            case GenericOp::op_call_last:
            case GenericOp::op_call_only:
            case GenericOp::op_apply:
            case GenericOp::op_apply_last:
                return at_most(0, kMaxArity, "arity");
            case GenericOp::op_test_arity:
            case GenericOp::op_is_tagged_tuple:
                return at_most(2, kMaxTupleArity, "tuple arity");
            case GenericOp::op_get_tuple_element:
                return at_most(1, kMaxTupleArity - 1, "element");
            case GenericOp::op_set_tuple_element:
                return at_most(2, kMaxTupleArity - 1, "element");
            case GenericOp::op_allocate:
            case GenericOp::op_allocate_heap:
            case GenericOp::op_trim:
                return at_most(0, kMaxXRegisters, "frame size");
            case GenericOp::op_bs_match_string:
                return (args_[2].value + 7) / 8 <= file_.strings.size() - args_[3].index ||
                       bad(Code::bad_operand, "the string ends outside the string table");
            case GenericOp::op_bs_put_string:
                return args_[0].value <= file_.strings.size() - args_[1].index ||
                       bad(Code::bad_operand, "the string ends outside the string table");
            case GenericOp::op_bs_get_integer2:
            case GenericOp::op_bs_get_float2:
                return at_most(4, kMaxUnit, "unit");
            case GenericOp::op_bs_get_binary2:
                return at_most(4, kMaxUnit, "unit") && mark_whole_rest(3);
            case GenericOp::op_bs_skip_bits2:
                return at_most(3, kMaxUnit, "unit") && mark_whole_rest(2);
            case GenericOp::op_bs_put_integer:
            case GenericOp::op_bs_put_float:
            case GenericOp::op_bs_put_binary:
            case GenericOp::op_bs_private_append:
                return at_most(2, kMaxUnit, "unit");
            case GenericOp::op_bs_add:
                return at_most(3, kMaxUnit, "unit");
            case GenericOp::op_bs_test_unit:
                return (args_[2].value != 0 && at_most(2, kMaxUnit, "unit")) ||
                       bad(Code::bad_operand, "no valid unit");
            default:
                return true;
        }
    }

    // call_fun, deallocate, return: a tail call, unless one can jump between them.
    bool fuse_fun_tail_call() {
        const size_t n = m_.code.size();
        if (n < 2 || m_.code[n - 1].op != Op::deallocate || m_.code[n - 2].op != Op::call_fun ||
            last_label_ + 1 >= n || !labels_here_.empty()) {
            return false;
        }
        const Operand frame = m_.operands_of(m_.code[n - 1])[0];
        const Operand arity = m_.operands_of(m_.code[n - 2])[0];
        const Operand fun = m_.operands_of(m_.code[n - 2])[1];
        const InstrNote note = unverified_.notes[n - 2];
        const uint32_t line = m_.code[n - 2].line;
        pop();
        pop();
        emit(Op::i_apply_fun_last, arity, fun, frame);
        m_.code.back().line = line;
        unverified_.notes.back() = note;
        return true;
    }

    // ---- instructions with code of their own ----------------------------------------------------

    bool lower_special() {
        switch (op_) {
            case GenericOp::op_label:
                return define_label();
            case GenericOp::op_line:
                return set_line();
            case GenericOp::op_int_code_end:
                return end_code();
            default:
                break;
        }
        if (!in_function()) {
            return false;
        }
        const bool ok = lower_in_function();
        labels_here_.clear();
        return ok;
    }

    bool lower_in_function() {
        switch (op_) {
            case GenericOp::op_on_load:
                if (m_.functions.back().arity != 0 || m_.on_load != kNoLabel) {
                    return bad(Code::bad_code, "one function without arguments can be it");
                }
                m_.on_load = m_.functions.back().entry;
                emit(Op::on_load);
                return true;
            case GenericOp::op_nif_start:
                // It may come after other instructions; only the function it is in counts.
                if (m_.functions.back().nif != nullptr) {
                    m_.functions.back().nif->declared = true;
                    m_.declares_nifs = true;
                }
                return true;
            case GenericOp::op_get_record_elements:
                return lower_get_elements(Op::get_record_elements);
            case GenericOp::op_put_record:
                return lower_put_record();
            case GenericOp::op_is_record_accessible:
                return lower_is_record_accessible();
            case GenericOp::op_get_record_field:
                return lower_get_record_field();
            case GenericOp::op_call_ext:
            case GenericOp::op_call_ext_only:
            case GenericOp::op_call_ext_last:
                return lower_call_ext();
            case GenericOp::op_bif0:
                return lower_bif(nullptr, 0, nullptr, 1);
            case GenericOp::op_bif1:
                return lower_bif(&args_[0], 1, &args_[2], 3);
            case GenericOp::op_bif2:
                return lower_bif(&args_[0], 1, &args_[2], 4);
            case GenericOp::op_bif3:
                return lower_bif(&args_[0], 1, &args_[2], 5);
            case GenericOp::op_gc_bif1:
                return lower_bif(&args_[0], 2, &args_[3], 4);
            case GenericOp::op_gc_bif2:
                return lower_bif(&args_[0], 2, &args_[3], 5);
            case GenericOp::op_gc_bif3:
                return lower_bif(&args_[0], 2, &args_[3], 6);
            case GenericOp::op_allocate_zero:
            case GenericOp::op_allocate_heap_zero:
                return lower_allocate_zero();
            case GenericOp::op_select_val:
            case GenericOp::op_select_tuple_arity:
                return lower_select();
            case GenericOp::op_call_fun:
                return lower_call_fun();
            case GenericOp::op_call_fun2:
                return lower_call_fun2();
            case GenericOp::op_fmove:
                return lower_fmove();
            case GenericOp::op_make_fun2:
                return lower_make_fun2();
            case GenericOp::op_make_fun3:
                return lower_make_fun3();
            case GenericOp::op_bs_init2:
                return lower_bs_init(8);
            case GenericOp::op_bs_init_bits:
                return lower_bs_init(1);
            case GenericOp::op_bs_append:
                return lower_bs_append();
            case GenericOp::op_bs_start_match4:
                return lower_bs_start_match4();
            case GenericOp::op_bs_create_bin:
                return lower_bs_create_bin();
            case GenericOp::op_bs_match:
                return lower_bs_match();
            case GenericOp::op_put_map_assoc:
                return lower_put_map(Op::put_map_assoc);
            case GenericOp::op_put_map_exact:
                return lower_put_map(Op::put_map_exact);
            case GenericOp::op_has_map_fields:
                return lower_has_map_fields();
            case GenericOp::op_get_map_elements:
                return lower_get_elements(Op::get_map_elements);
            case GenericOp::op_put_tuple2:
                return lower_put_tuple2();
            case GenericOp::op_init_yregs:
                return lower_init_yregs();
            case GenericOp::op_update_record:
                return lower_update_record();
            default:
                return bad(Code::unsupported, "not implemented");
        }
    }

    bool define_label() {
        const uint64_t label = args_[0].value;
        if (label == 0 || label >= file_.label_count) {
            return bad(Code::bad_operand, "label %llu does not exist (they are below %u)",
                       static_cast<unsigned long long>(label), file_.label_count);
        }
        if (label_at_[label] != kNoLabel) {
            return bad(Code::bad_code, "label %llu is defined twice",
                       static_cast<unsigned long long>(label));
        }
        const auto here = static_cast<uint32_t>(m_.code.size());
        label_at_[label] = here;
        last_label_ = here;
        labels_here_.push_back(static_cast<uint32_t>(label));
        if (!m_.functions.empty() && m_.functions.back().entry == kNoLabel) {
            LoweredFunction& f = m_.functions.back();
            f.entry = here;
            if (f.native != nullptr) {
                emit_native_body(f);
            } else if (may_load_nifs_) {
                emit_nif_start(f);
            }
        }
        return true;
    }

    // The line of the instructions up to the next `line`; the engine notes it with their addresses.
    bool set_line() {
        const uint64_t n = args_[0].value;
        if (!file_.has_lines) {
            return true;
        }
        if (n > file_.lines.size()) {
            return bad(Code::bad_operand, "line %llu does not exist (there are %zu)",
                       static_cast<unsigned long long>(n), file_.lines.size());
        }
        line_before_ = line_;
        line_set_by_ = instr_number_;
        line_follows_move_ = x0_moved_by_ + 1 == instr_number_;
        line_ = static_cast<uint32_t>(n);
        return true;
    }

    bool note_what_lines_depend_on() {
        if (op_ == GenericOp::op_call_last || op_ == GenericOp::op_call_only) {
            forget_line_of_tail_call();
        } else if (op_ == GenericOp::op_move) {
            if (is_moved_with_one_before()) {
                moved_by_ = 0;
                return true;
            }
            moved_by_ = instr_number_;
            moved_from_ = args_[0];
            moved_to_ = args_[1];
            if (args_[1].kind == Kind::x && args_[1].index == 0) {
                x0_moved_by_ = instr_number_;
            }
        }
        return true;
    }

    // OTP's loader makes one instruction of two moves between neighbours, which then is no move to
    // x0.
    bool is_moved_with_one_before() const {
        const auto next_to = [](const Operand& a, const Operand& b) {
            return a.is_register() && a.kind == b.kind &&
                   (a.index + 1 == b.index || b.index + 1 == a.index);
        };
        return moved_by_ != 0 && moved_by_ + 1 == instr_number_ && next_to(moved_from_, args_[0]) &&
               next_to(moved_to_, args_[1]);
    }

    // No return address needs the line of a tail call, and OTP's loader drops it where the call follows
    // a move to x0: code behind it without a line of its own has the line before that.
    void forget_line_of_tail_call() {
        if (line_follows_move_ && line_set_by_ + 1 == instr_number_) {
            line_ = line_before_;
        }
    }

    bool begin_function() {
        if (!m_.functions.empty()) {
            if (m_.functions.back().entry == kNoLabel) {
                return bad(Code::bad_code, "the function before it has no entry label");
            }
            m_.functions.back().end = static_cast<uint32_t>(m_.code.size());
        }
        if (labels_here_.empty()) {
            return bad(Code::bad_code, "no label before it");
        }
        if (args_[0].term != m_.name) {
            return bad(Code::bad_code, "it names another module");
        }
        if (args_[2].value > kMaxArity) {
            return bad(Code::bad_operand, "arity %llu is over %u",
                       static_cast<unsigned long long>(args_[2].value), kMaxArity);
        }
        LoweredFunction f{};
        f.name = args_[1].term;
        f.arity = static_cast<uint32_t>(args_[2].value);
        f.info = static_cast<uint32_t>(m_.code.size());
        f.entry = kNoLabel;
        f.native = bif_registry::find(m_.name, f.name, f.arity);
        m_.functions.push_back(f);
        skipping_body_ = false;
        emit(Op::func_info, args_[0], args_[1], args_[2]);
        labels_here_.clear();
        return true;
    }

    // The VM implements this function: its body, usually a call of nif_error, is not wanted.
    void emit_native_body(const LoweredFunction& f) {
        Operand entry, bif;
        entry.kind = Kind::export_;
        entry.exp = export_table::get(m_.name, f.name, f.arity);
        bif.kind = Kind::bif;
        bif.bif = f.native;
        emit(Op::bif_body, entry, bif);
        skipping_body_ = true;
    }

    // In a module that loads a library: it may replace the functions that are declared so, or all if none is.
    void emit_nif_start(LoweredFunction& f) {
        m_.nifs.emplace_back(new nif::Function(m_.name, f.name, f.arity));
        f.nif = m_.nifs.back().get();
        Operand function;
        function.kind = Kind::bif;
        function.bif = f.nif;
        emit(Op::nif_start, function);
    }
    static bool imports_load_nif(const BeamFile& file) {
        for (const BeamFile::Import& i : file.imports) {
            if (i.module == atoms::erlang && i.function == atoms::load_nif && i.arity == 2) {
                return true;
            }
        }
        return false;
    }

    bool end_code() {
        if (m_.functions.empty() || m_.functions.back().entry == kNoLabel) {
            return bad(Code::bad_code, "the code has no complete function");
        }
        m_.functions.back().end = static_cast<uint32_t>(m_.code.size());
        line_ = kNoLine;
        emit(Op::trap_end);
        ended_ = true;
        return true;
    }

    Operand export_of(const BeamFile::Import& import) {
        Operand o;
        o.kind = Kind::export_;
        // OTP has instructions for apply/2,3 and does not trace these calls, so they go through another entry.
        o.exp = is_apply(import) ? const_cast<Export*>(bif_export(
                                      "erlang", "apply", static_cast<uint8_t>(import.arity)))
                                 : export_table::get(import.module, import.function, import.arity);
        return o;
    }

    // A call that raises and is no tail call. What follows, up to a label, is never reached, and compilers do not
    // keep the frame's size right there: before OTP 23 they let functions and blocks end with the call, and those of
    // OTP 25 may leave a frame behind it that has been trimmed.
    void end_after_error(const BeamFile::Import& import) {
        if (never_returns(import)) {
            emit(Op::trap_end);
        }
    }

    bool lower_call_ext() {
        const BeamFile::Import& import = file_.imports[args_[1].value];
        if (args_[0].value != import.arity) {
            return bad(Code::bad_operand, "arity %llu, but the import has %u",
                       static_cast<unsigned long long>(args_[0].value), import.arity);
        }
        const Operand entry = export_of(import);
        // apply/3 decides by its target whether a frame stays; see keeps_caller().
        const bool applies =
            op_ != GenericOp::op_call_ext && is_apply(import) && import.arity == 3;
        const BifDef* def = is_control_bif(import) && !applies
                                ? nullptr
                                : bif_registry::find(import.module, import.function, import.arity);
        if (def != nullptr) {
            Operand bif;
            bif.kind = Kind::bif;
            bif.bif = def;
            live_ = static_cast<uint16_t>(import.arity);
            emit(Op::call_bif, entry, bif);
            live_ = kLiveUnknown;
            labels_here_.clear();
            if (op_ == GenericOp::op_call_ext) {
                end_after_error(import);
                return true;
            }
            if (never_returns(import)) {
                // The compiler does not keep the frame size of such a call right.
                emit(Op::trap_end);
                return true;
            }
            if (op_ == GenericOp::op_call_ext_last) {
                emit(Op::deallocate, args_[2]);
            }
            emit(Op::return_);
        } else if (op_ == GenericOp::op_call_ext) {
            emit(Op::call_ext, entry);
            labels_here_.clear();
            end_after_error(import);
        } else {
            if (op_ == GenericOp::op_call_ext_only) {
                emit(Op::call_ext_only, entry);
            } else {
                emit(Op::call_ext_last, entry, args_[2]);
            }
            forget_line_of_tail_call();
        }
        return true;
    }

    // fail: null for bif0. import_at: index of the import argument; dst_at: of the destination.
    bool lower_bif(const Operand* fail, size_t import_at, const Operand* sources, size_t dst_at) {
        static const Operand kRaise = Operand::of(Kind::label, kNoLabel);
        const BeamFile::Import& import = file_.imports[args_[import_at].value];
        const size_t arity = sources == nullptr ? 0 : dst_at - import_at - 1;
        const Operand& dst = args_[dst_at];
        fail = fail == nullptr ? &kRaise : fail;
        if (import.arity != arity) {
            return bad(Code::bad_operand, "a BIF of %u arguments", import.arity);
        }
        if (import.module == names().erlang) {
            // OTP's loader makes +X an addition too: 0.0 of -0.0, and '+'/2 in the trace of an error.
            if (import.function == names().plus && arity == 1) {
                emit(Op::add, *fail, sources[0], Operand::constant_of(make_small(0)));
                add(dst);
                return true;
            }
            for (const GuardOp& g : names().guard_ops) {
                if (g.name == import.function && g.arity == arity) {
                    emit(g.op);
                    if (g.op != Op::self) {
                        add(*fail);
                    }
                    for (size_t i = 0; i < arity; ++i) {
                        add(sources[i]);
                    }
                    add(dst);
                    return true;
                }
            }
        }
        const BifDef* def = bif_registry::find_guard(import.module, import.function, import.arity);
        // get/1 is no guard, but the compiler knows that it neither fails nor builds anything.
        const bool allowed =
            def != nullptr &&
            (def->has_any(kBifGuard) ||
             (import.function == names().get && arity == 1 && import.module == names().erlang));
        if (!allowed) {
            const std::string_view m = atom_table::text(import.module);
            const std::string_view f = atom_table::text(import.function);
            return bad(Code::bad_code, "guard BIF %.*s:%.*s/%u is not %s",
                       static_cast<int>(m.size()), m.data(), static_cast<int>(f.size()), f.data(),
                       import.arity, def == nullptr ? "known" : "allowed in guards");
        }
        static constexpr Op kBifOps[] = {Op::bif0, Op::bif1, Op::bif2, Op::bif3};
        Operand bif;
        bif.kind = Kind::bif;
        bif.bif = def;
        emit(kBifOps[arity], *fail, bif);
        for (size_t i = 0; i < arity; ++i) {
            add(sources[i]);
        }
        add(dst);
        return true;
    }

    bool lower_allocate_zero() {
        const uint64_t size = args_[0].value;
        if (size > kMaxXRegisters) {
            return bad(Code::bad_operand, "a frame of %llu y registers",
                       static_cast<unsigned long long>(size));
        }
        if (op_ == GenericOp::op_allocate_zero) {
            emit(Op::allocate, args_[0]);
        } else {
            heap_words_ = static_cast<uint32_t>(args_[1].value);
            emit(Op::allocate_heap, args_[0], args_[1]);
            heap_words_ = 0;
        }
        labels_here_.clear();
        if (size != 0) {
            emit(Op::init_yregs);
            for (uint32_t i = 0; i < size; ++i) {
                add(Operand::of(Kind::y, i));
            }
        }
        return true;
    }

    bool lower_select() {
        const bool by_arity = op_ == GenericOp::op_select_tuple_arity;
        if (items_.size() % 2 != 0) {
            return bad(Code::bad_operand, "%zu items in the list, expected pairs", items_.size());
        }
        for (size_t i = 0; i < items_.size(); i += 2) {
            const Kind wanted = by_arity ? Kind::unsigned_ : Kind::constant;
            if (items_[i].kind != wanted || items_[i + 1].kind != Kind::label ||
                items_[i + 1].index == kNoLabel) {
                return bad(Code::bad_operand, "list item %zu is no (%s, label) pair", i,
                           by_arity ? "arity" : "constant");
            }
        }
        emit(by_arity ? Op::select_tuple_arity : Op::select_val, args_[0], args_[1]);
        add_items(items_);
        return true;
    }

    bool lower_call_fun() {
        if (args_[0].value > kMaxArity) {
            return bad(Code::bad_operand, "arity %llu is over %u",
                       static_cast<unsigned long long>(args_[0].value), kMaxArity);
        }
        emit(Op::call_fun, args_[0], Operand::of(Kind::x, static_cast<uint32_t>(args_[0].value)));
        return true;
    }

    // The tag says that the fun is known to fit, or which one it is; call_fun checks anyway.
    bool lower_call_fun2() {
        if (args_[1].value > kMaxArity) {
            return bad(Code::bad_operand, "arity %llu is over %u",
                       static_cast<unsigned long long>(args_[1].value), kMaxArity);
        }
        emit(Op::call_fun, args_[1], args_[2]);
        return true;
    }

    bool lower_fmove() {
        const Operand& src = args_[0];
        const Operand& dst = args_[1];
        if (src.kind == Kind::fr && dst.is_register()) {
            emit(Op::fmove_from, src, dst);
        } else if ((src.is_register() || src.kind == Kind::constant) && dst.kind == Kind::fr) {
            emit(Op::fmove_to, src, dst);
        } else {
            return bad(Code::bad_operand, "neither into nor out of a float register");
        }
        return true;
    }

    bool lower_make_fun2() {
        const uint32_t num_free = file_.lambdas[args_[0].index].num_free;
        live_ = static_cast<uint16_t>(num_free);
        heap_words_ = static_cast<uint32_t>(kFunFixedWords) + num_free;
        emit(Op::test_heap, Operand::unsigned_of(heap_words_));
        live_ = kLiveUnknown;
        heap_words_ = 0;
        labels_here_.clear();
        emit(Op::make_fun, args_[0], Operand::of(Kind::x, 0));
        for (uint32_t i = 0; i < num_free; ++i) {
            add(Operand::of(Kind::x, i));
        }
        return true;
    }

    bool items_are_sources() {
        for (size_t i = 0; i < items_.size(); ++i) {
            if (!items_[i].is_register() && items_[i].kind != Kind::constant) {
                return bad(Code::bad_operand, "list item %zu is no source", i);
            }
        }
        return true;
    }

    bool lower_make_fun3() {
        const uint32_t num_free = file_.lambdas[args_[0].index].num_free;
        if (items_.size() != num_free) {
            return bad(Code::bad_operand, "%zu free variables, the fun has %u", items_.size(),
                       num_free);
        }
        if (!items_are_sources()) {
            return false;
        }
        emit(Op::make_fun, args_[0], args_[1]);
        add_items(items_);
        return true;
    }

    // A size that is the atom `all` in the file means all that is left; in a register it does not.
    bool mark_whole_rest(size_t size) {
        if (args_[size].kind == Kind::constant && args_[size].term == atoms::all) {
            args_[size + 1].value |= semantics::kBsWholeRest;
        }
        return true;
    }

    bool lower_bs_init(uint64_t unit) {
        heap_words_ = static_cast<uint32_t>(std::min<uint64_t>(args_[2].value, kMaxHeapWords));
        emit(Op::bs_init, args_[0], args_[1], Operand::unsigned_of(unit), args_[4], args_[5]);
        return true;
    }

    bool lower_bs_append() {
        if (args_[4].value == 0 || args_[4].value > kMaxUnit) {
            return bad(Code::bad_operand, "no valid unit");
        }
        heap_words_ = static_cast<uint32_t>(std::min<uint64_t>(args_[2].value, kMaxHeapWords));
        emit(Op::bs_append, args_[0], args_[1], args_[5], args_[4], args_[6], args_[7]);
        return true;
    }

    bool lower_bs_start_match4() {
        Operand fail = args_[0];
        if (fail.kind == Kind::constant &&
            (fail.term == names().no_fail || fail.term == names().resume)) {
            fail = Operand::of(Kind::label, kNoLabel);
        }
        if (fail.kind != Kind::label) {
            return bad_arg(0, "label, no_fail or resume");
        }
        emit(Op::bs_start_match, fail, args_[2], args_[3]);
        return true;
    }

    bool lower_bs_create_bin() {
        constexpr size_t kFields = 6;
        if (items_.size() % kFields != 0) {
            return bad(Code::bad_operand, "%zu items in the list, expected six a segment",
                       items_.size());
        }
        for (size_t i = 0; i < items_.size(); i += kFields) {
            Operand* s = &items_[i];
            const unsigned type = s[0].kind == Kind::constant
                                      ? Names::code_of(names().segment_types, s[0].term, kNoCode)
                                      : kNoCode;
            const auto wrong = [&](const char* what) {
                return bad(Code::bad_operand, "segment %zu has no valid %s", i / kFields + 1, what);
            };
            if (type == kNoCode ||
                ((type == code(Segment::append) || type == code(Segment::private_append)) && i != 0)) {
                return wrong("type");
            }
            if (s[1].kind != Kind::unsigned_ || s[1].value > UINT32_MAX) {
                return wrong("number");
            }
            if (s[2].kind != Kind::unsigned_ || s[2].value > kMaxUnit) {
                return wrong("unit");
            }
            if (!flags_of(&s[3])) {
                return wrong("flags");
            }
            if (s[5].kind == Kind::unsigned_ && fits_small_u(s[5].value)) {
                s[5] = Operand::constant_of(make_small(static_cast<int64_t>(s[5].value)));
            }
            if (!s[5].is_register() && s[5].kind != Kind::constant) {
                return wrong("size");
            }
            if (type == code(Segment::string)) {
                if (s[4].kind != Kind::unsigned_ || !is_small(s[5].term) ||
                    s[5].kind != Kind::constant || small_value(s[5].term) < 0 ||
                    s[4].value > file_.strings.size() ||
                    static_cast<uint64_t>(small_value(s[5].term)) >
                        file_.strings.size() - s[4].value) {
                    return wrong("string");
                }
                s[4] = Operand::of(Kind::string, static_cast<uint32_t>(s[4].value));
            } else if (!s[4].is_register() && s[4].kind != Kind::constant) {
                return wrong("source");
            }
            s[0] = Operand::unsigned_of(type);
            s[3] = Operand::unsigned_of(static_cast<uint64_t>(small_value(s[3].term)));
        }
        heap_words_ = static_cast<uint32_t>(args_[1].value);
        emit(Op::bs_create_bin, args_[0], args_[1], args_[3], args_[4]);
        add_items(items_);
        return true;
    }

    bool lower_bs_match() {
        // What follows each command's name: u number, V live, g flags, d register, - ignored.
        static constexpr const char* kShapes[] = {"uu", "u", "Vguud", "Vguud", "Vud", "-uv", "u"};
        std::vector<Operand> out;
        const auto is_context = [this](const Operand& o) {
            return o.is_register() && o.kind == args_[1].kind && o.index == args_[1].index;
        };
        bool can_fail = false;
        uint64_t ensured = 0;  // bits that are known to follow
        size_t i = 0;
        while (i < items_.size()) {
            const size_t first = i;
            if (!out.empty() && is_context(out.back())) {
                return bad(Code::bad_operand, "list item %zu follows the end of the context", first);
            }
            const unsigned command =
                items_[i].kind == Kind::constant
                    ? Names::code_of(names().match_commands, items_[i].term, kNoCode)
                    : kNoCode;
            const auto wrong = [&] {
                return bad(Code::bad_operand, "list item %zu is no valid matching command", first);
            };
            if (command == kNoCode) {
                return wrong();
            }
            ++i;
            const char* shape = kShapes[command];
            const size_t at = out.size() + 1;
            out.push_back(Operand::unsigned_of(command));
            for (; *shape != 0; ++shape, ++i) {
                if (i >= items_.size()) {
                    return wrong();
                }
                Operand& o = items_[i];
                switch (*shape) {
                    case 'V':
                        if (o.kind != Kind::unsigned_ || o.value > kMaxXRegisters) {
                            return wrong();
                        }
                        if (live_ == kLiveUnknown) {
                            live_ = static_cast<uint16_t>(o.value);
                        }
                        break;
                    case 'u':
                        if (o.kind != Kind::unsigned_) {
                            return wrong();
                        }
                        // A larger size counts as this one.
                        o.value = std::min<uint64_t>(o.value, kMaxBitSize);
                        break;
                    case 'v':
                        if (o.kind == Kind::constant && is_small(o.term) &&
                            small_value(o.term) >= 0) {
                            o = Operand::unsigned_of(static_cast<uint64_t>(small_value(o.term)));
                        }
                        if (o.kind != Kind::unsigned_) {
                            return wrong();
                        }
                        break;
                    case 'g':
                        if (!flags_of(&o)) {
                            return wrong();
                        }
                        o = Operand::unsigned_of(static_cast<uint64_t>(small_value(o.term)));
                        break;
                    case 'd':
                        if (!o.is_register()) {
                            return wrong();
                        }
                        break;
                    default:
                        o = Operand::unsigned_of(0);
                        break;
                }
                out.push_back(o);
            }
            const bool sized = command == semantics::kBsInteger || command == semantics::kBsBinary;
            if (sized && out[at + 3].value != 0) {
                out[at + 2].value =
                    std::min<uint64_t>(out[at + 2].value, kMaxBitSize / out[at + 3].value);
            }
            if ((sized && (out[at + 3].value == 0 || out[at + 3].value > kMaxUnit)) ||
                (command == semantics::kBsEnsureAtLeast &&
                 (out[at + 1].value == 0 || out[at + 1].value > kMaxUnit)) ||
                (command == semantics::kBsGetTail && (out[at + 1].value == 0 || out[at + 1].value > kMaxUnit)) ||
                (command == semantics::kBsEqual && out[at + 1].value > 64)) {
                return wrong();
            }
            const uint64_t bits = sized                            ? out[at + 2].value * out[at + 3].value
                                  : command == semantics::kBsEqual ? out[at + 1].value
                                  : command == semantics::kBsSkip  ? out[at].value
                                                                   : 0;
            const bool ensures = command == semantics::kBsEnsureAtLeast || command == semantics::kBsEnsureExactly;
            can_fail |= ensures || command == semantics::kBsEqual || bits > ensured;
            ensured = ensures ? out[at].value : ensured - std::min(ensured, bits);
        }
        if (can_fail && args_[0].index == kNoLabel) {
            return bad(Code::bad_operand, "a command can fail but there is no label");
        }
        emit(Op::bs_match, args_[0], args_[1]);
        add_items(out);
        return true;
    }

    bool lower_put_map(Op op) {
        if (items_.empty() || items_.size() % 2 != 0) {
            return bad(Code::bad_operand, "%zu items in the list, expected pairs", items_.size());
        }
        if (!items_are_sources()) {
            return false;
        }
        if (op == Op::put_map_assoc && lower_new_flat_map()) {
            return true;
        }
        emit(op, args_[0], args_[1], args_[2]);
        add_items(items_);
        return true;
    }

    // A new small map whose keys are constants: they are sorted now, and all maps that the instruction
    // makes share the tuple of keys.
    bool lower_new_flat_map() {
        const size_t n = items_.size() / 2;
        const bool is_new = args_[1].kind == Kind::constant && is_flat_map(args_[1].term) &&
                            map_size(args_[1].term) == 0;
        if (!is_new || n > kMaxFlatMap) {
            return false;
        }
        Term keys[kMaxFlatMap];
        Term places[kMaxFlatMap];
        for (size_t i = 0; i < n; ++i) {
            if (items_[2 * i].kind != Kind::constant) {
                return false;
            }
            keys[i] = items_[2 * i].term;
            places[i] = make_small(static_cast<int64_t>(i));
        }
        const Term* made = boxed_ptr(map::from_pairs(file_.heap, keys, places, n));
        const size_t size = header_arity(made->raw) - 1;
        std::vector<Operand> values;
        for (size_t i = 0; i < size; ++i) {
            values.push_back(items_[2 * static_cast<size_t>(small_value(made[2 + i])) + 1]);
        }
        emit(Op::new_flat_map, boxed_constant(made[1]), args_[2]);
        add_items(values);
        return true;
    }

    // Sorts immediate keys as in a flat map, so that one pass through it finds them all; not if a
    // register is written twice, or is the map's. step: items for each key.
    void sort_map_keys(size_t step) {
        std::vector<size_t> order;
        for (size_t i = 0; i < items_.size(); i += step) {
            if (items_[i].kind != Kind::constant || !is_immediate(items_[i].term)) {
                return;
            }
            order.push_back(i);
            const auto is_target = [&](const Operand& o) {
                return o.kind == items_[i + 1].kind && o.index == items_[i + 1].index;
            };
            if (step == 2 && (is_target(args_[1]) ||
                              std::any_of(order.begin(), order.end() - 1, [&](size_t other) {
                                  return is_target(items_[other + 1]);
                              }))) {
                return;
            }
        }
        std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
            return compare_flat_keys(items_[a].term, items_[b].term) < 0;
        });
        auto sorted = decltype(items_)();
        for (const size_t i : order) {
            sorted.insert(sorted.end(), items_.begin() + static_cast<std::ptrdiff_t>(i),
                          items_.begin() + static_cast<std::ptrdiff_t>(i + step));
        }
        items_ = std::move(sorted);
    }

    bool lower_has_map_fields() {
        if (!items_are_sources()) {
            return false;
        }
        sort_map_keys(1);
        emit(Op::has_map_fields, args_[0], args_[1]);
        add_items(items_);
        return true;
    }

    bool lower_get_elements(Op op) {
        if (items_.size() % 2 != 0) {
            return bad(Code::bad_operand, "%zu items in the list, expected pairs", items_.size());
        }
        for (size_t i = 0; i < items_.size(); i += 2) {
            if ((!items_[i].is_register() && items_[i].kind != Kind::constant) ||
                !items_[i + 1].is_register()) {
                return bad(Code::bad_operand, "list item %zu is no (key, register) pair", i);
            }
        }
        if (op == Op::get_map_elements) {
            sort_map_keys(2);
        }
        emit(op, args_[0], args_[1]);
        add_items(items_);
        return true;
    }

    static bool is_atom_constant(const Operand& o) {
        return o.kind == Kind::constant && is_atom(o.term);
    }
    // {Module, Name}
    static bool is_record_id(const Operand& o) {
        return o.kind == Kind::constant && is_tuple_of(o.term, 2) &&
               is_atom(tuple_element(o.term, 0)) && is_atom(tuple_element(o.term, 1));
    }

    // put_record Fail Id Src Dst Live Updates: a new record where Src is nil.
    bool lower_put_record() {
        if (items_.size() % 2 != 0) {
            return bad(Code::bad_operand, "%zu items in the list, expected pairs", items_.size());
        }
        if (!items_are_sources()) {
            return false;
        }
        if (args_[2].is_register()) {
            emit(Op::update_native_record, args_[0], args_[2], args_[3]);
            add_items(items_);
            return true;
        }
        if (args_[2].kind != Kind::constant || !is_nil(args_[2].term)) {
            return bad(Code::bad_operand, "what is updated is no register");
        }
        Operand what = args_[1];
        if (is_atom_constant(what)) {
            const Term found = own_record(what.term);
            if (!is_value(found)) {
                return bad(Code::bad_operand, "the module does not define this record");
            }
            what = boxed_constant(found);
        } else if (!is_record_id(what)) {
            return bad(Code::bad_operand, "no name of a record");
        }
        emit(Op::new_native_record, args_[0], what, args_[3]);
        add_items(items_);
        return true;
    }

    // [Definition | Defaults] of a record that this module defines, or the non-value.
    Term own_record(Term name) {
        if (records_.empty()) {
            for (Term rest = file_.records; is_cons(rest); rest = tail(rest)) {
                const Term name_of_it = tuple_element(head(head(rest)), native_record::kName);
                records_.emplace(name_of_it.raw, head(rest));  // of two with a name the first
            }
        }
        const auto found = records_.find(name.raw);
        return found != records_.end() ? found->second : kNonValue;
    }

    // The scope `external` asks for an exported record, others for one that is exported or our own.
    bool lower_is_record_accessible() {
        const bool external = args_[2].term == atoms::external;
        emit(Op::is_record_accessible, args_[0], args_[1],
             Operand::constant_of(external ? Term{kNil} : m_.name));
        return true;
    }

    bool lower_get_record_field() {
        if (!is_atom_constant(args_[2]) && !is_record_id(args_[2])) {
            return bad(Code::bad_operand, "no name of a record");
        }
        emit(Op::get_record_field, args_[0], args_[1], args_[2], args_[3], args_[4]);
        return true;
    }

    bool lower_put_tuple2() {
        if (!items_are_sources()) {
            return false;
        }
        emit(Op::put_tuple2, args_[0]);
        add_items(items_);
        return true;
    }

    bool lower_init_yregs() {
        for (size_t i = 0; i < items_.size(); ++i) {
            if (items_[i].kind != Kind::y) {
                return bad(Code::bad_operand, "list item %zu is no y register", i);
            }
        }
        emit(Op::init_yregs);
        add_items(items_);
        return true;
    }

    bool lower_update_record() {
        const uint64_t size = args_[1].value;
        if (size > kMaxTupleArity) {
            return bad(Code::bad_operand, "tuple arity %llu is over %u",
                       static_cast<unsigned long long>(size), kMaxTupleArity);
        }
        if (items_.empty() || items_.size() % 2 != 0) {
            return bad(Code::bad_operand, "%zu items in the list, expected pairs", items_.size());
        }
        for (size_t i = 0; i < items_.size(); i += 2) {
            if (items_[i].kind != Kind::unsigned_ || items_[i].value == 0 ||
                items_[i].value > size ||
                (!items_[i + 1].is_register() && items_[i + 1].kind != Kind::constant)) {
                return bad(Code::bad_operand, "list item %zu is no (index, source) pair", i);
            }
        }
        emit(Op::update_record, args_[0], args_[1], args_[2], args_[3]);
        add_items(items_);
        return true;
    }

    // ---- the end --------------------------------------------------------------------------------

    bool bad_instr(size_t index, Code code, const char* what, uint32_t number) {
        return error_.fail(code, "Code", unverified_.notes[index].offset, "%s: %s %u",
                           generic_info(static_cast<uint8_t>(unverified_.notes[index].generic))->name,
                           what, number);
    }

    bool finish_module() {
        if (m_.functions.size() != file_.function_count) {
            return error_.fail(Code::bad_code, "Code", 16, "%zu functions, the header promises %u",
                               m_.functions.size(), file_.function_count);
        }
        for (uint32_t label = 0; label < label_at_.size(); ++label) {
            if (label_at_[label] != kNoLabel && label_at_[label] < m_.code.size()) {
                m_.code[label_at_[label]].block_start = true;
            }
        }
        bool begins = true;
        for (Instr& i : m_.code) {
            i.block_start |= begins;
            begins = (instr_info(i.op).effects & ENDS) != 0;
        }
        return resolve_labels() && fill_tables();
    }

    bool is_entry(uint32_t instr) const {
        return instr < m_.code.size() && m_.functions[m_.code[instr].function].entry == instr;
    }

    bool resolve_labels() {
        for (size_t index = 0; index < m_.code.size(); ++index) {
            const Instr& i = m_.code[index];
            const LoweredFunction& f = m_.functions[i.function];
            const bool is_call = i.op == Op::call || i.op == Op::call_only || i.op == Op::call_last;
            for (uint32_t n = 0; n < i.operand_count; ++n) {
                Operand& o = m_.operands[i.first_operand + n];
                if (o.kind != Kind::label || o.index == kNoLabel) {
                    continue;
                }
                const uint32_t label = o.index;
                o.index = label_at_[label];
                if (o.index == kNoLabel) {
                    return bad_instr(index, Code::bad_code, "nothing defines label", label);
                }
                if (is_call) {
                    if (!is_entry(o.index) || m_.functions[m_.code[o.index].function].arity !=
                                                  m_.operands_of(i)[1].value) {
                        return bad_instr(index, Code::bad_code,
                                         "no function of that arity begins at label", label);
                    }
                } else if (o.index < f.info || o.index >= f.end) {
                    return bad_instr(index, Code::bad_code, "another function holds label", label);
                }
            }
        }
        return true;
    }

    bool fill_tables() {
        for (size_t i = 0; i < file_.exports.size(); ++i) {
            const BeamFile::ExportEntry& e = file_.exports[i];
            const uint32_t entry = label_at_[e.label];
            if (!is_entry(entry) || !matches(entry, e.function, e.arity)) {
                return error_.fail(Code::bad_chunk, "ExpT", 4 + 12 * i,
                                   "export %zu: no such function begins at label %u", i, e.label);
            }
            m_.functions[m_.code[entry].function].exported = true;
            m_.exports.push_back({e.function, e.arity, entry});
        }
        for (size_t i = 0; i < file_.lambdas.size(); ++i) {
            const BeamFile::Lambda& l = file_.lambdas[i];
            const uint32_t entry = label_at_[l.label];
            if (!is_entry(entry) || !matches(entry, l.function, l.arity)) {
                return error_.fail(Code::bad_chunk, "FunT", 4 + 24 * i,
                                   "fun %zu: no such function begins at label %u", i, l.label);
            }
            m_.lambdas.push_back({l.function, l.arity, entry, l.index, l.num_free, l.old_uniq});
        }
        for (const BeamFile::Import& i : file_.imports) {
            m_.imports.push_back(export_table::get(i.module, i.function, i.arity));
        }
        return true;
    }
    bool matches(uint32_t entry, Term name, uint32_t arity) const {
        const LoweredFunction& f = m_.functions[m_.code[entry].function];
        return f.name == name && f.arity == arity;
    }

    UnverifiedModule& unverified_;
    BeamFile& file_;
    LoweredModule& m_;
    ErrorSink& error_;
    ByteReader in_;
    std::vector<uint32_t> label_at_;     // instruction index of each label
    std::vector<uint32_t> labels_here_;  // labels since the last instruction
    size_t last_label_ = 0;              // instruction index of the last label
    uint32_t line_ = kNoLine;
    // What line_ was, and the number of the instruction that set it.
    uint32_t line_before_ = kNoLine;
    uint32_t line_set_by_ = 0;
    uint32_t moved_by_ = 0;  // the number of the last move that may become one with the next
    Operand moved_from_, moved_to_;
    uint32_t x0_moved_by_ = 0;  // the number of the last instruction that moved something there
    bool line_follows_move_ = false;
    bool ended_ = false;
    bool skipping_body_ = false;
    const bool may_load_nifs_;

    // The generic instruction being lowered.
    const GenericInfo* info_ = nullptr;
    GenericOp op_ = GenericOp::none;
    size_t offset_ = 0;
    uint32_t instr_number_ = 0;
    std::unordered_map<Word, Term> records_;  // [Definition | Defaults] by name, once own_record() was asked
    Operand args_[kMaxGenericArguments];
    size_t count_ = 0;
    std::vector<Operand> items_;
    uint16_t live_ = kLiveUnknown;
    uint32_t heap_words_ = 0;
};

}  // namespace

bool lower_code(UnverifiedModule& unverified, BeamFile& file, ErrorSink& error) {
    unverified.roots = file.literals;
    return Lowerer(unverified, file, error).run();
}

}  // namespace minivm::loader
