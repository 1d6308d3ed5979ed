// Running a compiled match specification.
#include "vm/match_spec/match_spec.hpp"
#include "vm/term/compare.hpp"
#include "vm/term/map.hpp"

#include <algorithm>
#include <typeinfo>

namespace minivm::match_spec {

const Program* program_of(Term t) {
    if (!is_magic_ref(t)) {
        return nullptr;
    }
    const MagicObject* object = magic_object(t);
    return typeid(*object) == typeid(Program) ? static_cast<const Program*>(object) : nullptr;
}

Runner::Runner(Process& p, const Program& program, bool copy, TraceContext* context)
    : p_(p),
      program_(program),
      copy_(copy),
      context_(context),
      slots_(own_slots_),
      slot_terms_(own_words_) {
    const size_t words = size_t{program.slot_count_} + program.variable_count_ + program.stack_size_;
    if (words > kOwnWords) {
        more_words_.reset(new Term[words]);
        slot_terms_ = more_words_.get();
    }
    if (program.slot_count_ > kOwnSlots) {
        more_slots_.reset(new const Term*[program.slot_count_]);
        slots_ = more_slots_.get();
    }
    variables_ = slot_terms_ + program.slot_count_;
    stack_ = variables_ + program.variable_count_;
}

Term Runner::run(Term object) {
    object_ = object;
    const Clause* clause = find_clause();
    return clause != nullptr ? run_body(*clause) : kNonValue;
}

Term Runner::run(const Term* arguments, uint32_t count) {
    const Clause* clause = find(arguments, count);
    return clause != nullptr ? run_body(*clause) : kNonValue;
}

const Clause* Runner::find(const Term* arguments, uint32_t count) {
    object_ = kNonValue;
    arguments_ = arguments;
    argument_count_ = count;
    return find_clause();
}

Term Runner::object() {
    if (!is_value(object_)) {
        object_ = kNil;
        for (uint32_t i = argument_count_; i > 0; i--) {
            object_ = cons(p_.heap, arguments_[i - 1], object_);
        }
    }
    return object_;
}

Term Runner::run_body(const Clause& clause) {
    return evaluate(clause, program_.code_.data() + clause.action, false);
}

const Clause* Runner::find_clause() {
    const Instr* code = program_.code_.data();
    for (const Clause& clause : program_.clauses_) {
        if (!test(code + clause.test)) {
            continue;
        }
        if (code[clause.guards].op != Op::done) {
            // Takes back what the guards have built if all of it lies in the heap's block.
            Heap& h = p_.heap;
            Term* const top = h.top;
            const Fragment* const fragments = h.fragments;
            const size_t fragment_words = h.fragment_words;
            Term* const off_heap = h.off_heap;
            const Term object = object_;
            const Term verdict = evaluate(clause, code + clause.guards, true);
            if (h.fragments == fragments && h.fragment_words == fragment_words &&
                h.off_heap == off_heap) {
                h.top = top;
                object_ = object;  // a list of arguments that the guards have built is gone, too
            }
            if (!is_value(verdict)) {
                continue;
            }
        }
        return &clause;
    }
    return nullptr;
}

bool Runner::test(const Instr* i) {
    for (;; i++) {
        switch (i->op) {
            case Op::whole:
                slot_terms_[0] = object();
                slots_[0] = slot_terms_;
                break;
            case Op::arguments:
            case Op::first_arguments:
                if (argument_count_ < i->count || (argument_count_ > i->count && i->op == Op::arguments)) {
                    return false;
                }
                slots_[i->to] = arguments_;
                break;
            case Op::tuple: {
                const Term t = slots_[i->slot][i->index];
                if (!is_tuple_of(t, i->count)) {
                    return false;
                }
                slots_[i->to] = tuple_elements(t);
                break;
            }
            case Op::list: {
                const Term t = slots_[i->slot][i->index];
                if (!is_cons(t)) {
                    return false;
                }
                slots_[i->to] = cons_ptr(t);
                break;
            }
            case Op::map: {
                const Term t = slots_[i->slot][i->index];
                if (!is_map(t)) {
                    return false;
                }
                slot_terms_[i->to] = t;
                break;
            }
            case Op::map_value: {
                const Term t = map::get(slot_terms_[i->slot], i->term);
                if (!is_value(t)) {
                    return false;
                }
                slot_terms_[i->to] = t;
                slots_[i->to] = slot_terms_ + i->to;
                break;
            }
            case Op::equal_word:
                if (slots_[i->slot][i->index] != i->term) {
                    return false;
                }
                break;
            case Op::equal:
                if (!exact_equal(slots_[i->slot][i->index], i->term)) {
                    return false;
                }
                break;
            case Op::bind:
                variables_[i->to] = slots_[i->slot][i->index];
                break;
            case Op::same:
                if (!exact_equal(slots_[i->slot][i->index], variables_[i->to])) {
                    return false;
                }
                break;
            default:
                return true;
        }
    }
}

// A term of the object or the program, copied to the process's heap.
Term Runner::value(Term t) const {
    return is_pointer(t) ? copy_term(t, p_.heap, true) : t;
}

Term Runner::evaluate(const Clause& clause, const Instr* i, bool in_guard) {
    const bool copy = copy_ && !in_guard;
    const Instr* const base = program_.code_.data();
    Term* sp = stack_;  // the next free place
    for (;; i++) {
        switch (i->op) {
            case Op::push:
                *sp++ = i->term;
                break;
            case Op::push_copy:
                *sp++ = copy ? value(i->term) : i->term;
                break;
            case Op::push_variable:
                *sp++ = copy ? value(variables_[i->to]) : variables_[i->to];
                break;
            case Op::push_object:
                *sp++ = copy ? value(object()) : object();
                break;
            case Op::push_bound: {
                Term list = kNil;
                for (size_t n = clause.bound.size(); n > 0; n--) {
                    const Term t = variables_[clause.bound[n - 1]];
                    list = cons(p_.heap, copy ? value(t) : t, list);
                }
                *sp++ = list;
                break;
            }
            case Op::call:
            case Op::act: {
                sp -= i->count;
                std::reverse(sp, sp + i->count);
                const Term result = i->op == Op::call ? i->bif->fn(p_, sp) : i->act(p_, sp, context_);
                if (!is_value(result)) {
                    p_.exception = Exception{};
                    p_.outcome = BifOutcome::exception;
                    if (in_guard) {
                        return kNonValue;
                    }
                }
                *sp++ = is_value(result) ? result : atoms::EXIT;
                break;
            }
            case Op::make_tuple: {
                sp -= i->count;
                Term* t = p_.heap.alloc(1 + i->count);
                t[0] = Term{make_header(Kind::tuple, i->count)};
                for (uint32_t n = 0; n < i->count; n++) {
                    t[n + 1] = sp[i->count - 1 - n];
                }
                *sp++ = make_boxed(t);
                break;
            }
            case Op::make_cons:
                sp--;
                sp[-1] = cons(p_.heap, sp[-1], sp[0]);
                break;
            case Op::make_map: {
                sp -= 2 * static_cast<size_t>(i->count);
                // Keys first, in the order of the map; of pairs with equal keys the later one wins.
                std::reverse(sp, sp + 2 * static_cast<size_t>(i->count));
                *sp = map::from_pairs(p_.heap, sp, sp + i->count, i->count);
                sp++;
                break;
            }
            case Op::and_:
            case Op::or_: {
                sp -= i->count;
                const Term decisive = make_bool(i->op == Op::or_);
                Term result = make_bool(i->op == Op::and_);
                for (uint32_t n = i->count; n-- > 0;) {
                    if (!is_bool(sp[n])) {
                        result = atoms::EXIT;
                        break;
                    }
                    if (sp[n] == decisive) {
                        result = decisive;
                    }
                }
                if (in_guard && !is_bool(result)) {
                    return kNonValue;
                }
                *sp++ = result;
                break;
            }
            case Op::and_also:
            case Op::or_else:
                if (!is_bool(sp[-1])) {
                    if (in_guard) {
                        return kNonValue;
                    }
                    sp[-1] = atoms::EXIT;
                    i = base + i->to - 1;
                } else if (sp[-1] == make_bool(i->op == Op::or_else)) {
                    i = base + i->to - 1;
                } else {
                    sp--;
                }
                break;
            case Op::require:
                if (*--sp != atoms::true_) {
                    return kNonValue;
                }
                break;
            case Op::drop:
                sp--;
                break;
            default:
                return in_guard ? atoms::true_ : sp[-1];
        }
    }
}

}  // namespace minivm::match_spec
