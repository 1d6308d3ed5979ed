#include "vm/instr/facts.hpp"

#include "vm/instr/bif_def.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/format.hpp"
#include "vm/term/function_name.hpp"
#include "vm/term/heap.hpp"

#include <iterator>

namespace minivm {

constinit const InstrInfo kInstrInfo[] = {
#define INSTR(name, operands, effects, facts, meaning) {#name, operands, effects, meaning},
#include "vm/instr/instructions.def"
#undef INSTR
};

// Within the words' namespace, as `map` and `port` have other meanings outside.
namespace facts {
namespace {
constexpr InstrFacts kOf[] = {
#define INSTR(name, operands, effects, facts, meaning) facts,
#include "vm/instr/instructions.def"
#undef INSTR
};
}  // namespace
}  // namespace facts

const InstrFacts& instr_facts(Op op) { return facts::kOf[static_cast<size_t>(op)]; }

namespace {

std::string mfa_text(Term module, Term function, uint32_t arity) {
    return format_term(module) + ":" + format_term(function) + "/" + std::to_string(arity);
}

std::string operand_text(const LoweredModule& m, const Operand& o) {
    switch (o.kind) {
        case Operand::Kind::none:
            return "none";
        case Operand::Kind::x:
            return "x" + std::to_string(o.index);
        case Operand::Kind::y:
            return "y" + std::to_string(o.index);
        case Operand::Kind::fr:
            return "f" + std::to_string(o.index);
        case Operand::Kind::constant:
            return "`" + format_term(o.term) + "`";
        case Operand::Kind::label:
            return o.index == kNoLabel ? "-" : "@" + std::to_string(o.index);
        case Operand::Kind::unsigned_:
            return std::to_string(o.value);
        case Operand::Kind::export_: {
            const FunctionName name = name_of(o.exp);
            return mfa_text(name.module, name.function, name.arity);
        }
        case Operand::Kind::bif:
            return std::string("bif ") + o.bif->module + ":" + o.bif->function + "/" +
                   std::to_string(o.bif->arity);
        case Operand::Kind::fun: {
            if (o.index >= m.lambdas.size()) {
                return "fun " + std::to_string(o.index);
            }
            const LoweredLambda& l = m.lambdas[o.index];
            return "fun " + format_term(l.function) + "/" + std::to_string(l.arity);
        }
        case Operand::Kind::string:
            return "string+" + std::to_string(o.index);
    }
    return "?";
}

std::string type_text(const TypeInfo& t) {
    static constexpr const char* kNames[] = {"atom", "bitstring", "bs_matchable", "cons", "float",
                                             "fun",  "integer",   "map",          "nil",  "pid",
                                             "port", "reference", "tuple"};
    std::string s;
    if (t.bits == TypeInfo::any) {
        s = "any";
    }
    for (size_t i = 0; i < std::size(kNames) && t.bits != TypeInfo::any; ++i) {
        if ((t.bits >> i & 1) != 0) {
            s += (s.empty() ? "" : "|") + std::string(kNames[i]);
        }
    }
    if (t.has_lower || t.has_upper) {
        s += " " + (t.has_lower ? std::to_string(t.lower) : std::string()) + ".." +
             (t.has_upper ? std::to_string(t.upper) : std::string());
    }
    if (t.unit > 1) {
        s += " unit " + std::to_string(t.unit);
    }
    return s;
}

}  // namespace

LoweredModule::LoweredModule() : name(kNonValue) {}
LoweredModule::~LoweredModule() = default;
LoweredModule::LoweredModule(LoweredModule&&) noexcept = default;
LoweredModule& LoweredModule::operator=(LoweredModule&&) noexcept = default;

std::string format_instr(const LoweredModule& m, const Instr& i) {
    std::string s = instr_info(i.op).name;
    const Operand* o = m.operands_of(i);
    for (uint32_t n = 0; n < i.operand_count; ++n) {
        s += n == 0 ? " " : ", ";
        s += operand_text(m, o[n]);
        if (o[n].type_index != 0 && o[n].type_index <= m.types.size()) {
            s += "::" + type_text(m.types[o[n].type_index - 1]);
        }
    }
    return s;
}

}  // namespace minivm
