// From the term of a match specification to code.
#include "vm/instr/bif_def.hpp"
#include "vm/match_spec/match_spec.hpp"
#include "vm/term/arguments.hpp"
#include "vm/term/compare.hpp"
#include "vm/term/format.hpp"
#include "vm/term/local_atoms.hpp"
#include "vm/term/map.hpp"
#include "vm/util/otp_release.hpp"

#include <algorithm>
#include <cstring>
#include <map>

namespace minivm::match_spec {

namespace {

LOCAL_ATOM(and_then, "andthen")

// Bytes of a problem's text; the rest is cut off.
constexpr size_t kLongestProblem = 99;

// Constants of up to this many words are compared as a whole; larger ones are opened, so that
// looking for variables in them costs no more than their size.
constexpr int kConstantWords = 64;

struct GuardFunction {
    const char* name;
    uint8_t arity;
    uint8_t since = 0;  // the release that took it into specifications
};
constexpr GuardFunction kGuardFunctions[] = {
    {"*", 2},          {"+", 1},           {"+", 2},
    {"-", 1},          {"-", 2},           {"/", 2},
    {"/=", 2},         {"<", 2},           {"=/=", 2},
    {"=:=", 2},        {"=<", 2},          {"==", 2},
    {">", 2},          {">=", 2},          {"abs", 1},
    {"band", 2},       {"binary_part", 2}, {"binary_part", 3},
    {"bit_size", 1},   {"bnot", 1},        {"bor", 2},
    {"bsl", 2},        {"bsr", 2},         {"bxor", 2},
    {"byte_size", 1},  {"div", 2},         {"element", 2},
    {"float", 1},      {"hd", 1},          {"is_atom", 1},
    {"is_binary", 1},  {"is_float", 1},    {"is_function", 1},
    {"is_integer", 1}, {"is_list", 1},     {"is_map", 1},
    {"is_map_key", 2}, {"is_number", 1},   {"is_pid", 1},
    {"is_port", 1},    {"is_record", 3},   {"is_reference", 1},
    {"is_tuple", 1},   {"length", 1},      {"map_get", 2},
    {"map_size", 1},   {"node", 0},        {"node", 1},
    {"not", 1},        {"rem", 2},         {"round", 1},
    {"self", 0},       {"size", 1},        {"tl", 1},
    {"trunc", 1},      {"xor", 2},

    {"ceil", 1, 26},        {"floor", 1, 26},      {"is_bitstring", 1, 26}, {"is_boolean", 1, 26},
    {"is_function", 2, 26}, {"max", 2, 26},        {"min", 2, 26},          {"tuple_size", 1, 26},
    {"is_integer", 3, 29},
};

// Forms that only mean something in a trace.
constexpr const char* kTraceForms[] = {
    "caller",  "caller_line",  "current_stacktrace", "disable_trace", "display",
    "message", "enable_trace", "exception_trace",    "get_seq_token", "is_seq_trace",
    "silent",  "process_dump", "return_trace",       "set_seq_token", "trace",
};

const BifDef* guard_function(Term name, size_t arity) {
    const std::string_view text = atom_table::text(name);
    for (const GuardFunction& f : kGuardFunctions) {
        if (f.arity == arity && text == f.name && by_release::at_least(f.since)) {
            return bif_registry::find(atoms::erlang, name, f.arity);
        }
    }
    return nullptr;
}

// andthen is an older name of andalso.
bool is_and_also(Term name) {
    return name == atoms::andalso || name == and_then();
}

bool is_trace_form(Term name) {
    const std::string_view text = atom_table::text(name);
    return std::any_of(std::begin(kTraceForms), std::end(kTraceForms),
                       [&](const char* f) { return text == f; });
}

// Whether the term contains a wildcard, or a map or a float zero if these count: 1 yes, 0 no, -1 not
// known after `budget` words.
int find_wildcard(Term t, int64_t budget, bool maps_count, bool zeros_count = false) {
    std::vector<Term> rest{t};
    while (!rest.empty()) {
        t = rest.back();
        rest.pop_back();
        if (budget-- <= 0) {
            return -1;
        }
        if (is_wildcard(t) || (maps_count && is_map(t)) || (zeros_count && is_zero_float(t))) {
            return 1;
        }
        if (is_cons(t)) {
            rest.push_back(tail(t));
            rest.push_back(head(t));
        } else if (is_tuple(t)) {
            budget -= static_cast<int64_t>(tuple_arity(t));
            if (budget <= 0) {
                return -1;
            }
            rest.insert(rest.end(), tuple_elements(t), tuple_elements(t) + tuple_arity(t));
        } else if (is_map(t)) {
            budget -= 2 * static_cast<int64_t>(map_size(t));
            if (budget <= 0) {
                return -1;
            }
            map::Iterator it(t);
            for (Term key, val; it.next(&key, &val);) {
                rest.push_back(key);
                rest.push_back(val);
            }
        }
    }
    return 0;
}

// A name as the runtime system prints it: quoted if its characters ask for it, but not for being a
// reserved word.
std::string name_text(Term name) {
    const std::string_view text = atom_table::text(name);
    const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '@';
    });
    return !text.empty() && text[0] >= 'a' && text[0] <= 'z' && plain ? std::string(text)
                                                                      : display_term(name);
}

}  // namespace

int64_t variable_number(Term t) {
    if (!is_atom(t)) {
        return -1;
    }
    const std::string_view text = atom_table::text(t);
    if (text.size() < 2 || text[0] != '$' || (text[1] == '0' && text.size() > 2)) {
        return -1;
    }
    // OTP lets an int overflow: '$4294967297' is '$1', '$2147483648' is none.
    uint32_t n = 0;
    for (char c : text.substr(1)) {
        if (c < '0' || c > '9') {
            return -1;
        }
        n = n * 10 + static_cast<uint32_t>(c - '0');
    }
    return static_cast<int32_t>(n);
}

bool is_wildcard(Term t) {
    return t == atoms::underscore || variable_number(t) >= 0;
}

bool is_exact(Term pattern) {
    return find_wildcard(pattern, INT64_MAX, by_release::maps_in_keys_match_larger_ones()) == 0;
}
bool matches_only_itself(Term pattern) {
    return find_wildcard(pattern, INT64_MAX, true) == 0;
}

int relation(Term key, Term pattern) {
    std::vector<std::pair<Term, Term>> rest{{key, pattern}};
    while (!rest.empty()) {
        const auto [k, t] = rest.back();
        rest.pop_back();
        if (is_wildcard(t) || (is_map(t) && is_map(k) && !is_exact(t))) {
            // The terms that match lie on both sides of the key from here on.
            return 0;
        }
        if (is_cons(t) && is_cons(k)) {
            rest.emplace_back(tail(k), tail(t));
            rest.emplace_back(head(k), head(t));
        } else if (is_tuple(t) && is_tuple(k) && tuple_arity(t) == tuple_arity(k)) {
            for (size_t i = tuple_arity(t); i-- > 0;) {
                rest.emplace_back(tuple_element(k, i), tuple_element(t, i));
            }
        } else {
            // Types or sizes differ, or there are no parts.
            const int c = compare_terms(k, t);
            if (c != 0) {
                return c;
            }
        }
    }
    return 0;
}

class Compiler {
public:
    Compiler(Program& program, std::vector<std::string>* problems, Dialect dialect)
        : program_(program), problems_(problems), dialect_(dialect) {}

    bool compile(Term spec) {
        spec = copy_term(spec, program_.constants_, false);
        if (is_nil(spec) && problems_ == nullptr) {
            return true;
        }
        if (!is_cons(spec)) {
            return refuse("Match programs are not in a list.");
        }
        if (list_length(spec) < 0) {
            return refuse("Match programs are not in a proper list.");
        }
        for (Term rest = spec; is_cons(rest); rest = tail(rest)) {
            if (!is_tuple_of(head(rest), 3)) {
                return refuse("Match program part is not a tuple of arity 3.");
            }
            const Term pattern = tuple_element(head(rest), 0);
            if (is_for_traces(dialect_) && is_cons(pattern) && list_length(pattern) < 0 &&
                !is_prefix(pattern)) {
                return refuse("Match expression part " + display_term(pattern) +
                              " is not a proper list.");
            }
        }
        for (; is_cons(spec); spec = tail(spec)) {
            if (!compile_clause(tuple_elements(head(spec)))) {
                return false;
            }
        }
        return !failed_;
    }

private:
    // [First, ... | '_']: calls with at least so many arguments.
    static bool is_prefix(Term head) {
        Term t = head;
        while (is_cons(t)) {
            t = tail(t);
        }
        return is_cons(head) && t == atoms::underscore && by_release::spec_heads_may_be_prefixes();
    }
    struct Task {
        enum Kind : uint8_t { expression, emit, jump_target } kind;
        Term term;
        Instr instr;
    };

    bool refuse(std::string text) {
        note(std::move(text));
        return false;
    }
    // For an expression: goes on if the caller asks for problems, to find all of the clause.
    bool refuse_part(std::string text) {
        note(std::move(text));
        constant_term(kNil);
        return problems_ != nullptr;
    }
    void note(std::string text) {
        failed_ = true;
        if (problems_ != nullptr) {
            text.resize(std::min(text.size(), kLongestProblem));
            problems_->push_back(std::move(text));
        }
    }

    // The same for a list of expressions.
    bool refuse_list(std::string text) {
        note(std::move(text));
        return problems_ != nullptr;
    }

    Instr& add(Op op) {
        program_.code_.emplace_back(op);
        return program_.code_.back();
    }

    bool compile_clause(const Term* parts) {
        numbers_.clear();
        Clause clause;
        clause.pattern = parts[0];
        clause.body = parts[2];
        clause.test = program_.code_.size();
        if (!compile_pattern(parts[0])) {
            return false;
        }
        add(Op::done);
        for (const auto& [number, variable] : numbers_) {
            clause.bound.push_back(variable);
        }
        program_.variable_count_ =
            std::max(program_.variable_count_, static_cast<uint32_t>(numbers_.size()));

        clause.guards = program_.code_.size();
        in_guard_ = true;
        Term guards = parts[1];
        if (!is_list(guards) && !refuse_list("Match expression is not a list.")) {
            return false;
        }
        for (bool listed = is_list(guards); listed && !is_nil(guards); guards = tail(guards)) {
            if (!is_cons(guards)) {
                if (!refuse_list("Match expression is not a proper list.")) {
                    return false;
                }
                break;
            }
            if (!compile_expression(head(guards))) {
                return false;
            }
            add(Op::require);
        }
        add(Op::done);

        clause.action = program_.code_.size();
        in_guard_ = false;
        Term body = parts[2];
        if (is_nil(body) && is_for_traces(dialect_)) {
            constant_term(atoms::true_);
        } else if (!is_cons(body)) {
            return refuse(is_for_traces(dialect_) ? "Match expression is not a list."
                                                  : "Body clause does not return anything.");
        }
        for (; is_cons(body); body = tail(body)) {
            if (!compile_expression(head(body))) {
                return false;
            }
            if (is_cons(tail(body))) {
                add(Op::drop);
            }
        }
        if (!is_nil(body)) {
            return refuse("Match expression is not a proper list.");
        }
        add(Op::done);
        program_.clauses_.push_back(std::move(clause));
        return !failed_;
    }

    // ---- patterns -------------------------------------------------------------------------------

    struct Place {
        Term pattern;
        uint32_t slot;
        uint32_t index;
    };

    Instr& look(Op op, const Place& at) {
        Instr& i = add(op);
        i.slot = at.slot;
        i.index = at.index;
        return i;
    }
    uint32_t new_slot() {
        const uint32_t slot = next_slot_++;
        program_.slot_count_ = std::max(program_.slot_count_, next_slot_);
        return slot;
    }

    bool compile_pattern(Term root) {
        next_slot_ = 1;  // slot 0: the object itself
        std::vector<Place> todo;
        const bool of_trace = is_for_traces(dialect_);
        if (of_trace && (is_list(root) || is_tuple(root))) {
            // Matches arguments where they are. A tuple of patterns means the same as a list.
            const uint32_t slot = new_slot();
            Instr& open = add(is_prefix(root) ? Op::first_arguments : Op::arguments);
            open.to = slot;
            if (is_tuple(root)) {
                for (uint32_t n = 0; n < tuple_arity(root); n++) {
                    todo.push_back({tuple_element(root, n), slot, n});
                }
            }
            for (uint32_t n = 0; is_cons(root); n++, root = tail(root)) {
                todo.push_back({head(root), slot, n});
            }
            open.count = static_cast<uint32_t>(todo.size());
            std::reverse(todo.begin(), todo.end());
        } else if (root != atoms::underscore) {
            if (of_trace && variable_number(root) < 0 && !is_map(root)) {
                return refuse("Match head is invalid in this context.");
            }
            add(Op::whole);
            todo.push_back({root, 0, 0});
        }
        while (!todo.empty()) {
            const Place at = todo.back();
            todo.pop_back();
            if (!compile_place(at, todo)) {
                return false;
            }
        }
        // Problems with the keys of the map have been reported first.
        return !of_trace || !is_map(root) || refuse("Match head is invalid in this context.");
    }

    bool compile_place(const Place& at, std::vector<Place>& todo) {
        const Term t = at.pattern;
        if (t == atoms::underscore) {
            return true;
        }
        const int64_t number = variable_number(t);
        if (number >= 0) {
            const auto [it, fresh] =
                numbers_.emplace(number, static_cast<uint32_t>(numbers_.size()));
            look(fresh ? Op::bind : Op::same, at).to = it->second;
            return true;
        }
        if (is_immediate(t)) {
            look(Op::equal_word, at).term = t;
            return true;
        }
        // In a head 0.0 and -0.0 differ in every release, so a term with a zero is opened.
        if (!(is_cons(t) || is_tuple(t) || is_map(t)) ||
            find_wildcard(t, kConstantWords, true, true) == 0) {
            look(Op::equal, at).term = t;
            return true;
        }
        const uint32_t slot = new_slot();
        if (is_map(t)) {
            return compile_map(t, at, slot, todo);
        }
        const uint32_t count = is_cons(t) ? 2 : static_cast<uint32_t>(tuple_arity(t));
        Instr& open = look(is_cons(t) ? Op::list : Op::tuple, at);
        open.to = slot;
        open.count = count;
        const Term* elements = is_cons(t) ? cons_ptr(t) : tuple_elements(t);
        // Immediates are cheap to look at and come first; the others wait, the first on top.
        for (uint32_t i = 0; i < count; i++) {
            if (is_immediate(elements[i]) && !compile_place({elements[i], slot, i}, todo)) {
                return false;
            }
        }
        for (uint32_t i = count; i-- > 0;) {
            if (!is_immediate(elements[i])) {
                todo.push_back({elements[i], slot, i});
            }
        }
        return true;
    }

    bool compile_map(Term pattern, const Place& at, uint32_t slot, std::vector<Place>& todo) {
        look(Op::map, at).to = slot;
        map::Iterator it(pattern);
        for (Term key, value; it.next(&key, &value);) {
            // A key that contains wildcards is a key like any other.
            if (is_wildcard(key)) {
                return refuse(key == atoms::underscore ? "Underscore found in map key."
                                                       : "Variable found in map key.");
            }
            const uint32_t place = new_slot();
            Instr& get = add(Op::map_value);
            get.slot = slot;
            get.to = place;
            get.term = key;
            todo.push_back({value, place, 0});
        }
        return true;
    }

    // ---- expressions ----------------------------------------------------------------------------

    // Turns nested terms into postfix code; a stack of tasks takes the place of recursion.
    bool compile_expression(Term expression) {
        depth_ = 0;
        tasks_.clear();
        later(expression);
        while (!tasks_.empty()) {
            const Task task = tasks_.back();
            tasks_.pop_back();
            switch (task.kind) {
                case Task::expression:
                    if (!compile_part(task.term)) {
                        return false;
                    }
                    break;
                case Task::emit:
                    emit(task.instr);
                    break;
                case Task::jump_target:
                    // The jumps of this form that have not been aimed yet end here.
                    while (!jumps_.empty() && jumps_.back() != kNoJump) {
                        program_.code_[jumps_.back()].to =
                            static_cast<uint32_t>(program_.code_.size());
                        jumps_.pop_back();
                    }
                    jumps_.pop_back();
                    break;
            }
        }
        return true;
    }

    void later(Term expression) {
        tasks_.push_back(Task{Task::expression, expression, Instr(Op::done)});
    }
    void emit_later(Op op, size_t count = 0) {
        Instr i(op);
        i.count = static_cast<uint32_t>(count);
        emit_later(i);
    }
    void emit_later(const Instr& i) { tasks_.push_back(Task{Task::emit, kNonValue, i}); }
    // Keeps account of how deep the stack gets.
    void emit(const Instr& i) {
        switch (i.op) {
            case Op::push:
            case Op::push_copy:
            case Op::push_variable:
            case Op::push_object:
            case Op::push_bound:
                depth_++;
                break;
            case Op::make_map:
                depth_ -= 2 * static_cast<int64_t>(i.count) - 1;
                break;
            case Op::make_cons:
            case Op::and_also:
            case Op::or_else:
                depth_--;
                break;
            default:
                depth_ -= static_cast<int64_t>(i.count) - 1;
                break;
        }
        program_.stack_size_ = std::max(program_.stack_size_, static_cast<uint32_t>(depth_ + 1));
        if (i.op == Op::and_also || i.op == Op::or_else) {
            jumps_.push_back(program_.code_.size());
        }
        program_.code_.push_back(i);
    }
    void push_term(Op op, Term t) {
        Instr i(op);
        i.term = t;
        emit(i);
    }

    void constant_term(Term t) { push_term(is_immediate(t) ? Op::push : Op::push_copy, t); }

    bool compile_part(Term t) {
        if (is_cons(t)) {
            emit_later(Op::make_cons);
            later(tail(t));
            later(head(t));
            return true;
        }
        if (is_tuple(t)) {
            return compile_form(t);
        }
        if (is_map(t)) {
            return compile_map_expression(t);
        }
        if (!is_atom(t)) {
            constant_term(t);
            return true;
        }
        if (t == atoms::whole_object) {
            emit(Instr(Op::push_object));
            return true;
        }
        if (t == atoms::all_bound) {
            emit(Instr(Op::push_bound));
            return true;
        }
        const int64_t number = variable_number(t);
        if (number < 0) {
            constant_term(t);
            return true;
        }
        const auto it = numbers_.find(number);
        if (it == numbers_.end()) {
            return refuse_part("Variable $" + std::to_string(number) + " is unbound.");
        }
        Instr i(Op::push_variable);
        i.to = it->second;
        emit(i);
        return true;
    }

    bool compile_map_expression(Term t) {
        // The values are pushed first.
        emit_later(Op::make_map, map_size(t));
        std::vector<Term> values;
        map::Iterator it(t);
        for (Term key, value; it.next(&key, &value);) {
            later(key);
            values.push_back(value);
        }
        for (const Term value : values) {
            later(value);
        }
        return true;
    }

    bool compile_form(Term t) {
        const size_t arity = tuple_arity(t);
        const Term* parts = tuple_elements(t);
        if (arity == 1 && is_tuple(parts[0])) {
            const Term tuple = parts[0];
            emit_later(Op::make_tuple, tuple_arity(tuple));
            for (size_t i = 0; i < tuple_arity(tuple); i++) {
                later(tuple_element(tuple, i));
            }
            return true;
        }
        if (arity == 0 || !is_atom(parts[0]) || variable_number(parts[0]) >= 0) {
            return refuse_part(
                display_term(t) +
                " is neither a function call, nor a tuple (tuples are written {{ ... }}).");
        }
        const Term name = parts[0];
        if (name == atoms::constant) {
            if (arity != 2) {
                return refuse_part("Special form 'const' called with more than one argument in " +
                                   display_term(t) + ".");
            }
            constant_term(parts[1]);
            return true;
        }
        const bool strict = name == atoms::and_ || name == atoms::or_;
        const bool lazy = is_and_also(name) || name == atoms::orelse;
        if (strict || lazy) {
            return compile_boolean(t, strict);
        }
        Instr call(Op::call);
        call.count = static_cast<uint32_t>(arity - 1);
        if (const BifDef* bif = guard_function(name, arity - 1)) {
            call.bif = bif;
        } else {
            std::string problem;
            call.op = Op::act;
            call.act = trace_function(t, &problem);
            if (call.act == nullptr) {
                return refuse_part(std::move(problem));
            }
        }
        emit_later(call);
        for (size_t i = 1; i < arity; i++) {
            later(parts[i]);
        }
        return true;
    }

    // For what is no guard function. Null: it may not be called here, *problem says why.
    TraceFunction trace_function(Term form, std::string* problem) const {
        const Term name = tuple_element(form, 0);
        const size_t arity = tuple_arity(form) - 1;
        const std::string text = name_text(name);
        if (name == atoms::self) {
            *problem = "Special form 'self' called with arguments in " + display_term(form) + ".";
            return nullptr;
        }
        if (!is_for_traces(dialect_) && is_trace_form(name)) {
            *problem = "Special form '" + text + "' used in wrong dialect.";
            return nullptr;
        }
        if (g_trace_functions != nullptr) {
            const TraceFunctions::Found found = g_trace_functions->find(form, dialect_, in_guard_);
            if (found.function != nullptr || !found.problem.empty()) {
                *problem = found.problem;
                return found.function;
            }
        }
        *problem = "Function " + text + "/" + std::to_string(arity) + " does_not_exist.";
        return nullptr;
    }

    bool compile_boolean(Term t, bool strict) {
        const size_t arity = tuple_arity(t);
        const Term* parts = tuple_elements(t);
        if (arity == 1) {
            return refuse_part("Special form '" + std::string(atom_table::text(parts[0])) +
                               "' called without arguments in {" + name_text(parts[0]) + "}.");
        }
        if (strict) {
            emit_later(parts[0] == atoms::and_ ? Op::and_ : Op::or_, arity - 1);
        } else {
            jumps_.push_back(kNoJump);
            tasks_.push_back(Task{Task::jump_target, kNonValue, Instr(Op::done)});
        }
        for (size_t i = 1; strict && i < arity; i++) {
            later(parts[i]);
        }
        for (size_t i = arity; !strict && i-- > 1;) {
            if (i + 1 < arity) {
                emit_later(is_and_also(parts[0]) ? Op::and_also : Op::or_else);
            }
            later(parts[i]);
        }
        return true;
    }

    // Between the jumps of nested forms.
    static constexpr size_t kNoJump = ~size_t{0};

    Program& program_;
    std::vector<std::string>* problems_;
    std::map<int64_t, uint32_t> numbers_;  // of '$N' -> variable
    std::vector<Task> tasks_;
    std::vector<size_t> jumps_;
    uint32_t next_slot_ = 1;
    int64_t depth_ = 0;
    const Dialect dialect_;
    bool in_guard_ = false;
    bool failed_ = false;
};

const TraceFunctions* g_trace_functions = nullptr;

std::unique_ptr<Program> Program::compile(Term spec, std::vector<std::string>* problems,
                                          Dialect dialect) {
    std::unique_ptr<Program> program(new Program);
    Compiler compiler(*program, problems, dialect);
    if (!compiler.compile(spec)) {
        return nullptr;
    }
    return program;
}

Term problems_term(Heap& h, const std::vector<std::string>& problems) {
    Term list = kNil;
    for (size_t i = problems.size(); i-- > 0;) {
        const Term text = make_string_utf8(h, problems[i].data(), problems[i].size());
        list = cons(h, make_tuple(h, atoms::error, text), list);
    }
    return make_tuple(h, atoms::error, list);
}

}  // namespace minivm::match_spec
