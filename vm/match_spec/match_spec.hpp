// Match specifications: [{Pattern, Guards, Body}, ...] compiled once to a small code.
//
// A clause is two pieces of code. The pattern's walks down the object: a slot is a pointer to the
// terms of an opened tuple or list cell, and each instruction looks at one of them. The guards' and
// body's is postfix, on a stack of terms. The program has its own copies of the constants, so it
// outlives the process that compiled it.
//
// A call that fails in a guard makes the clause not match; one that fails in a body has the value 'EXIT'.
// Threads: a compiled program is immutable; a Runner belongs to the thread that runs it.
#pragma once

#include "vm/instr/bif_def.hpp"
#include "vm/process/process.hpp"
#include "vm/term/heap.hpp"

#include <memory>
#include <string>
#include <vector>

namespace minivm::match_spec {

enum class Op : uint8_t {
    // -- pattern: looks at slots[slot][index]
    whole,       // the object, as slot 0
    arguments,   // an object of `count` arguments, as slot `to`
    first_arguments,  // as arguments, but there may be more
    tuple,       // opens a tuple of `count` elements as slot `to`
    list,        // opens a cell as slot `to`
    map,         // a map, to be looked into as slot `to`
    map_value,   // the value of key `term` in the map of `slot`, as slot `to`
    equal_word,  // is the immediate `term`
    equal,       // is =:= to `term`
    bind,        // becomes variable `to`
    same,        // is =:= to variable `to`
    // -- expressions
    push,       // the immediate `term`
    push_copy,  // the constant `term`
    push_variable,
    push_object,  // '$_'
    push_bound,   // '$$'
    // Their operands are pushed last to first, so that the first is on top.
    call,        // `bif` with `count` arguments
    act,         // `act`, the same way
    make_tuple,  // of `count` terms
    make_cons,   // but head below tail
    make_map,    // of `count` keys, with as many values below them
    and_,         // of `count` booleans
    or_,
    and_also,  // false: goes to `to`; true: drops it
    or_else,   // true: goes to `to`; false: drops it
    require,   // true, or the clause does not match
    drop,
    done
};

// What else a specification for traces may call, and the event that it is run for: trace/ defines both. The context
// is null where only guards are run: the functions that they may call do not look at it.
struct TraceContext;
using TraceFunction = Term (*)(Process& p, const Term* arguments, TraceContext* context);

struct Instr {
    Op op;
    uint32_t slot = 0;
    uint32_t index = 0;
    uint32_t to = 0;
    uint32_t count = 0;
    union {
        Term term;
        const BifDef* bif;
        TraceFunction act;
    };
    explicit Instr(Op o) : op(o), term(kNonValue) {}
};

struct Clause {
    Term pattern;  // the program's copy
    Term body;     // the list of expressions
    size_t test;   // where the pattern's code begins
    size_t guards;
    size_t action;                // the body's code
    std::vector<uint32_t> bound;  // variables by ascending number: '$$'
};

// What a specification matches: objects of a table, traced calls, messages that are traced when they are sent
// or received. All but the first match lists of terms and may call TraceFunctions, in guards only those
// without effects.
enum class Dialect : uint8_t { table, call, sent, received };
constexpr bool is_for_traces(Dialect d) {
    return d != Dialect::table;
}
struct TraceFunctions {
    struct Found {
        TraceFunction function = nullptr;
        std::string problem;  // why there is none, if the name is known
    };
    // form: {Name, Argument, ...}
    virtual Found find(Term form, Dialect dialect, bool in_guard) const = 0;
    virtual ~TraceFunctions() = default;
};
extern const TraceFunctions* g_trace_functions;

class Program final : public MagicObject {
public:
    // Null: `spec` is no specification; *problems says why, if problems is not null.
    static std::unique_ptr<Program> compile(Term spec, std::vector<std::string>* problems,
                                            Dialect dialect = Dialect::table);

    const std::vector<Clause>& clauses() const { return clauses_; }

private:
    friend class Compiler;
    friend class Runner;
    Program() = default;

    Heap constants_;
    std::vector<Instr> code_;
    std::vector<Clause> clauses_;
    uint32_t slot_count_ = 1;
    uint32_t variable_count_ = 0;
    uint32_t stack_size_ = 1;
};

// {error, [{error, Text}]}: what erlang:match_spec_test/3 returns for what is no specification.
Term problems_term(Heap& h, const std::vector<std::string>& problems);
// The program of a magic reference, or null.
const Program* program_of(Term t);
// True if the term is '_' or a variable '$N'.
bool is_wildcard(Term t);
// True if this pattern of a key is looked up as a key: it contains no wildcard, and from OTP 29 on no map,
// which matches larger ones.
bool is_exact(Term pattern);
// True if nothing but an equal term matches: no wildcard is in it, and no map.
bool matches_only_itself(Term pattern);
// N of '$N', written without zeros before it, or -1.
int64_t variable_number(Term t);
// Where a key lies in term order relative to all terms that match the pattern: < 0 below, > 0 above,
// 0: it may be among them.
int relation(Term key, Term pattern);

// Runs one program again and again.
class Runner {
public:
    // copy: results lie in p's heap. Otherwise a result may refer to the object and the program, and
    // is good only as long as both.
    Runner(Process& p, const Program& program, bool copy, TraceContext* context = nullptr);
    Runner(const Runner&) = delete;
    Runner& operator=(const Runner&) = delete;

    // The value of the first clause that matches, or the non-value.
    Term run(Term object);
    // The same for a trace: the object is a list of these terms, and is built only if a clause needs it.
    Term run(const Term* arguments, uint32_t count);
    // The first clause that matches, or null; does not run its body.
    const Clause* find(const Term* arguments, uint32_t count);

private:
    const Clause* find_clause();
    Term run_body(const Clause& clause);
    Term object();
    bool test(const Instr* code);
    Term evaluate(const Clause& clause, const Instr* code, bool in_guard);
    Term value(Term t) const;

    Process& p_;
    const Program& program_;
    const bool copy_;
    TraceContext* const context_;
    // Room for most programs; larger ones allocate theirs.
    static constexpr size_t kOwnWords = 48;
    static constexpr size_t kOwnSlots = 16;
    Term own_words_[kOwnWords];
    const Term* own_slots_[kOwnSlots];
    std::unique_ptr<Term[]> more_words_;
    std::unique_ptr<const Term*[]> more_slots_;
    const Term** slots_;
    Term* slot_terms_;  // then variables, then the stack
    Term* variables_;
    Term* stack_;
    Term object_ = kNonValue;  // the non-value: not built yet
    const Term* arguments_ = nullptr;
    uint32_t argument_count_ = 0;
};

}  // namespace minivm::match_spec
