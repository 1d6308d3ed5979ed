// The module ets: match specifications, and walks over tables with them.
//
// A walk is a job: it visits a slice of the table under its lock, then yields with what it has
// found so far. In a hash table its place is the number of a chain, so the table stays fixed
// meanwhile; in an ordered_set it is the last key. Keys that all patterns fix are looked up; in an
// ordered_set patterns that fix the beginning of the key bound the walk.
#include "vm/bif/bif.hpp"
#include "vm/bif/ets/ets_support.hpp"
#include "vm/match_spec/match_spec.hpp"
#include "vm/process/continuation.hpp"
#include "vm/process/tracing.hpp"
#include "vm/term/compare.hpp"
#include "vm/term/local_atoms.hpp"
#include "vm/term/term_stack.hpp"

#include <algorithm>
#include <mutex>
#include <unordered_set>

namespace minivm {

using namespace ets;
using match_spec::Program;
using match_spec::Runner;

namespace {

LOCAL_ATOM(table_atom, "table")

// Objects visited for each reduction.
constexpr int64_t kVisitedPerReduction = 4;

enum class Work : uint8_t { collect, count, erase, replace };

struct Walk final : MagicObject {
    Table* table = nullptr;
    const Program* program = nullptr;
    const BifDef* bif = nullptr;  // the function that was called
    Work work = Work::collect;
    bool reverse = false;  // select_reverse
    int64_t limit = 0;     // objects wanted at a time; 0: all
    // hash: this walk keeps the table fixed.
    bool fixed = false;
    bool continued = false;   // hash: ets:select/1 and so on
    bool started = false;     // ordered_set: `key` of the state is the last one visited
    bool keyed = false;       // hash: only `keys` are visited
    bool bounded = false;     // ordered_set: no pattern of `keys` matches every key
    bool impossible = false;  // no object can match
    size_t at = 0;            // next chain, or next of `chains`
    int64_t found = 0;
    std::vector<size_t> chains;  // hash, keyed
    std::vector<Term> keys;  // hash: exact keys; ordered_set: patterns of keys. Owned by the program.

    // Lets the table grow and shrink again.
    void unfix() {
        if (fixed) {
            std::unique_lock lock(table->lock);
            if (!table->deleted) {
                table->stores.hash->unfix();
            }
            fixed = false;
        }
    }
    ~Walk() override {
        if (table != nullptr) {
            unfix();
            table->release();
        }
        if (program != nullptr) {
            const_cast<Program*>(program)->release();
        }
    }
    bool forward() const { return limit != 0 ? !reverse : reverse; }
    // Of a hash table.
    bool is_over() const { return keyed ? at >= chains.size() : at == HashStore::kNoChain; }
};

// The state of a walk beside the job: terms of the process.
struct State {
    Term tab;    // as the caller named it
    Term found;  // list
    Term key;    // ordered_set: the last one visited
    Term args;   // of the call, for errors
};

// ---- what is to be visited ----------------------------------------------------------------------

void plan(Walk& w, const Table& t) {
    bool all_exact = true;
    for (const match_spec::Clause& c : w.program->clauses()) {
        if (match_spec::is_wildcard(c.pattern)) {
            w.keys.push_back(atoms::underscore);
            all_exact = false;
        } else if (is_tuple(c.pattern) && tuple_arity(c.pattern) >= t.keypos) {
            const Term key = tuple_element(c.pattern, t.keypos - 1);
            all_exact = all_exact && match_spec::is_exact(key);
            if (t.is_ordered() || !all_exact ||
                std::none_of(w.keys.begin(), w.keys.end(),
                             [&](Term k) { return exact_equal(k, key); })) {
                w.keys.push_back(key);
            }
        }
    }
    w.impossible = w.keys.empty();
    w.bounded =
        t.is_ordered() && std::none_of(w.keys.begin(), w.keys.end(), match_spec::is_wildcard);
    w.keyed = all_exact && !t.is_ordered();
}

// The object where a walk over an ordered_set begins or goes on, or null.
Object* tree_begin(const Walk& w, const TreeStore& tree, Term last_key) {
    if (w.started) {
        return w.forward() ? tree.next(last_key) : tree.previous(last_key);
    }
    const auto some = [&](Term key, int sign) {
        return std::any_of(w.keys.begin(), w.keys.end(), [&](Term pattern) {
            const int c = match_spec::relation(key, pattern);
            return c == 0 || (c < 0) == (sign < 0);
        });
    };
    // The first that is not below all patterns, or the last that is not above all of them.
    return w.forward() ? tree.first_where([&](Term k) { return some(k, 1); })
                       : tree.last_where([&](Term k) { return some(k, -1); });
}

// True if this key and those after it are beyond all patterns.
bool is_beyond(const Walk& w, Term key) {
    return w.bounded && std::all_of(w.keys.begin(), w.keys.end(), [&](Term pattern) {
               const int c = match_spec::relation(key, pattern);
               return w.forward() ? c > 0 : c < 0;
           });
}

// ---- visiting -----------------------------------------------------------------------------------

class Visitor {
public:
    Visitor(Process& p, Walk& w, Table& t, State& s)
        : p_(p), w_(w), t_(t), s_(s), runner_(p, *w.program, w.work == Work::collect) {}

    // Erasing frees the object if it matches.
    void visit(Object* o) {
        left_--;
        const Term value = runner_.run(o->tuple());
        if (!is_value(value)) {
            return;
        }
        switch (w_.work) {
            case Work::collect:
                s_.found = cons(p_.heap, value, s_.found);
                w_.found++;
                left_ -= copying_cost(object_words(o));
                break;
            case Work::count:
                w_.found += value == atoms::true_;
                break;
            case Work::erase:
                // An ordered_set: visit_chain() erases from hash tables.
                if (value == atoms::true_) {
                    w_.found++;
                    Term key = o->key(t_.keypos);
                    t_.stores.tree->erase_key(key);
                }
                break;
            case Work::replace:
                replace(o, value);
                break;
        }
    }
    bool tired() const { return left_ <= 0; }
    void charge() { charge_slice(p_, budget_, left_, kVisitedPerReduction); }

    void visit_chain(size_t i) {
        HashStore& hash = *t_.stores.hash;
        left_--;
        if (w_.work == Work::erase) {
            w_.found += static_cast<int64_t>(hash.erase_if(i, [&](const Object* o) {
                left_--;
                return runner_.run(o->tuple()) == atoms::true_;
            }));
            return;
        }
        for (Object* o = hash.first_in_chain(i); o != nullptr;) {
            Object* next = o->link[0];
            if (!o->deleted) {
                visit(o);
            }
            o = next;
        }
    }
private:
    void replace(Object* o, Term value) {
        // keeps_key() has accepted the body; the value is checked all the same.
        if (!is_tuple(value) || tuple_arity(value) < t_.keypos ||
            !exact_equal(tuple_element(value, t_.keypos - 1), o->key(t_.keypos))) {
            return;
        }
        Object* fresh = object_new(value);
        left_ -= copying_cost(fresh->words);
        if (t_.stores.hash) {
            t_.stores.hash->replace(o, fresh);
        } else {
            t_.stores.tree->replace(o, fresh);
        }
        w_.found++;
    }

    Process& p_;
    Walk& w_;
    Table& t_;
    State& s_;
    Runner runner_;
    const int64_t budget_ = slice_budget(p_, kVisitedPerReduction);
    int64_t left_ = budget_;
};

bool has_chunk(const Walk& w) {
    return w.limit != 0 && w.found >= w.limit;
}

// The chains of the keys, each once. A walk of several slices fixes the table, so they stay valid.
void find_chains_of_keys(Walk& w, const HashStore& hash) {
    std::unordered_set<size_t> seen;
    for (const Term key : w.keys) {
        const size_t chain = hash.chain_of(HashStore::hash_of(key));
        if (seen.insert(chain).second) {
            w.chains.push_back(chain);
        }
    }
}

// One slice. True: it is complete, or a chunk is.
bool visit_slice(Process& p, Walk& w, Table& t, State& s) {
    Visitor v(p, w, t, s);
    bool complete = true;
    if (t.stores.tree) {
        const TreeStore& tree = *t.stores.tree;
        Object* o = tree_begin(w, tree, s.key);
        Object* last = nullptr;
        while (o != nullptr && !is_beyond(w, o->key(t.keypos))) {
            if (v.tired()) {
                complete = false;
                break;
            }
            const Term key = o->key(t.keypos);
            Object* next = w.forward() ? tree.next(key) : tree.previous(key);
            last = o;
            const bool gone = w.work == Work::erase;
            if (gone) {
                // No key to go on from: it is erased with the object.
                s.key = kNil;
            }
            v.visit(o);
            o = next;
            if (has_chunk(w)) {
                break;
            }
        }
        if (has_chunk(w) || !complete) {
            // Where to go on: behind the last object visited. A walk that erases or replaces may have
            // freed that one, and goes on behind the object in front of the next one.
            const Object* mark = w.work == Work::collect || w.work == Work::count ? last : nullptr;
            if (mark != nullptr) {
                s.key = copy_out(p, mark->key(t.keypos));
                w.started = true;
            } else if (o != nullptr) {
                const Object* before =
                    w.forward() ? tree.previous(o->key(t.keypos)) : tree.next(o->key(t.keypos));
                w.started = before != nullptr;
                s.key = before != nullptr ? copy_out(p, before->key(t.keypos)) : kNil;
            }
        }
        v.charge();
        return complete;
    }
    if (w.keyed && w.chains.empty()) {
        find_chains_of_keys(w, *t.stores.hash);
    }
    // All keys are visited, whatever the limit, as on OTP.
    while (!w.is_over() && (w.keyed || !has_chunk(w))) {
        if (v.tired()) {
            complete = false;
            break;
        }
        if (w.keyed) {
            v.visit_chain(w.chains[w.at++]);
        } else {
            v.visit_chain(w.at);
            w.at = t.stores.hash->next_chain(w.at);
        }
    }
    if (!complete && !w.fixed) {
        t.stores.hash->fix();
        w.fixed = true;
    }
    if (w.work == Work::erase && !w.fixed) {
        t.stores.hash->shrink();
    }
    v.charge();
    return complete;
}

// ---- results ------------------------------------------------------------------------------------

Term reversed(Process& p, Term list) {
    Term result = kNil;
    for (; is_cons(list); list = tail(list)) {
        result = cons(p.heap, head(list), result);
    }
    return result;
}

Term program_ref(Process& p, const Program* program) {
    Program* shared = const_cast<Program*>(program);
    shared->retain();
    return make_magic_ref(p.heap, new_ref_id(p), shared);
}

// {Chunk, Continuation} of a hash table. A chain may give more results than the limit: the newest of them
// wait in the continuation. As on OTP, each chunk but the first reverses them.
Term hash_chunk(Process& p, const Walk& w, const State& s, bool at_end) {
    Term chunk = s.found;
    Term rest = kNil;
    const int64_t waiting = std::max<int64_t>(w.found - w.limit, 0);
    for (int64_t i = 0; i < waiting; i++, chunk = tail(chunk)) {
        rest = cons(p.heap, head(chunk), rest);
    }
    if (!w.continued) {
        rest = reversed(p, rest);
    }
    consume(p, w.found / 10);
    if (at_end && is_nil(rest)) {
        return is_nil(chunk) ? atoms::end_of_table : make_tuple(p.heap, chunk, atoms::end_of_table);
    }
    const Term place = make_small(at_end ? -1 : static_cast<int64_t>(w.at));
    // Not the name, which may be another table's when the walk goes on; ordered sets keep it, as on OTP.
    const Term continuation = make_tuple(p.heap, reference(p.heap, *w.table), place, make_small(w.limit),
                                         program_ref(p, w.program), rest, make_small(waiting));
    return make_tuple(p.heap, chunk, continuation);
}

Term tree_chunk(Process& p, const Walk& w, const State& s) {
    const Term list = reversed(p, s.found);
    consume(p, w.found / 10);
    if (w.found < w.limit) {
        return make_tuple(p.heap, list, atoms::end_of_table);
    }
    const Term continuation =
        make_tuple(p.heap, s.tab, s.key, kNil, make_small(w.limit), program_ref(p, w.program), kNil,
                   make_small(0), make_small(w.reverse ? 1 : 0));
    return make_tuple(p.heap, list, continuation);
}

Term fail(Process& p, const BifDef* bif, Term args) {
    p.exception.bif = bif;
    p.exception.args = args;
    return kNonValue;
}

// OTP's names: tracers and process_info/2 show them.
const char* continuation_name(Work work, bool ordered) {
    switch (work) {
        case Work::collect:
            return ordered ? "select" : "select_trap";
        case Work::count:
            return "count_trap";
        case Work::erase:
            return "select_delete_trap";
        case Work::replace:
            break;
    }
    return "replace_trap";
}

Term go_on(Process& p, std::unique_ptr<Walk> fresh, Term held, State s) {
    Walk& w = fresh != nullptr ? *fresh : *held_state<Walk>(held);
    const bool writes = w.work == Work::erase || w.work == Work::replace;
    bool complete = true;
    bool at_end = true;
    bool ordered;
    {
        Locked t(p, *w.table, writes ? Access::write : Access::read, writes);
        if (!t) {
            bad_table(p, t.failure());
            return fail(p, w.bif, s.args);
        }
        ordered = t->is_ordered();
        if (!ordered && !w.keyed && !w.is_over() && w.at >= t->stores.hash->chains()) {
            // The place is in no table of this size: it has shrunk, or the continuation is forged.
            stdlib_badarg(p);
            return fail(p, w.bif, s.args);
        }
        if (!w.impossible) {
            complete = visit_slice(p, w, *t, s);
            at_end = ordered || w.is_over();
        }
    }
    if (!complete) {
        const Term ref = fresh != nullptr ? hold_state(p, std::move(fresh)) : held;
        const Term state = make_tuple(p.heap, ref, s.tab, s.found, s.key, s.args);
        return yield(p, bif_export("ets", continuation_name(w.work, ordered), 1), {state});
    }
    // Now, not when the state is collected, which may be much later.
    w.unfix();
    if (w.work != Work::collect) {
        return make_small(w.found);
    }
    if (w.limit == 0) {
        return s.found;
    }
    if (w.found == 0) {
        return atoms::end_of_table;
    }
    return ordered ? tree_chunk(p, w, s) : hash_chunk(p, w, s, at_end);
}

Term ets_select_continue_1(Process& p, const Term* a) {
    const Term* const t = tuple_elements(a[0]);
    return go_on(p, nullptr, t[0], State{t[1], t[2], t[3], t[4]});
}

Term list_of(Process& p, const Term* a, int n) {
    Term list = kNil;
    while (n-- > 0) {
        list = cons(p.heap, a[n], list);
    }
    return list;
}

struct Request {
    const char* name;
    uint8_t arity;
    Work work = Work::collect;
    bool reverse = false;
};

// Does the body `made` give what the pattern `key` has matched, whatever that is? No recursion: a
// specification may be as deep as there is memory for.
bool makes_same(Term made, Term key) {
    TermStack rest;
    rest.push(made);
    rest.push(key);
    while (!rest.empty()) {
        key = rest.pop();
        made = rest.pop();
        if (match_spec::variable_number(key) >= 0) {
            if (made != key) {
                return false;
            }
        } else if (is_tuple_of(made, 2) && tuple_element(made, 0) == atoms::constant) {
            if (!match_spec::matches_only_itself(key) || !exact_equal(tuple_element(made, 1), key)) {
                return false;
            }
        } else if (is_tuple_of(made, 1) && is_tuple(tuple_element(made, 0))) {
            const Term parts = tuple_element(made, 0);
            if (!is_tuple(key) || tuple_arity(key) != tuple_arity(parts)) {
                return false;
            }
            for (size_t i = 0; i < tuple_arity(key); i++) {
                rest.push(tuple_element(parts, i));
                rest.push(tuple_element(key, i));
            }
        } else if (is_cons(made)) {
            if (!is_cons(key)) {
                return false;
            }
            rest.push(tail(made));
            rest.push(tail(key));
            rest.push(head(made));
            rest.push(head(key));
        } else if (is_tuple(made) || is_map(made) || is_map(key) || key == atoms::underscore ||
                   made == atoms::whole_object || made == atoms::all_bound || !exact_equal(made, key)) {
            return false;
        }
    }
    return true;
}

// Does the body of a clause of select_replace/2 keep the key?
bool keeps_key(const match_spec::Clause& c, size_t keypos) {
    if (!is_cons(c.body) || !is_nil(tail(c.body))) {
        return false;
    }
    const Term body = head(c.body);
    if (body == atoms::whole_object) {
        return true;
    }
    if (!is_tuple(c.pattern) || tuple_arity(c.pattern) < keypos) {
        return false;
    }
    const Term key = tuple_element(c.pattern, keypos - 1);
    if (is_tuple_of(body, 2) && tuple_element(body, 0) == atoms::constant) {
        const Term tuple = tuple_element(body, 1);
        return is_tuple(tuple) && tuple_arity(tuple) >= keypos && match_spec::matches_only_itself(key) &&
               exact_equal(tuple_element(tuple, keypos - 1), key);
    }
    if (!is_tuple_of(body, 1) || !is_tuple(tuple_element(body, 0)) ||
        tuple_arity(tuple_element(body, 0)) < keypos) {
        return false;
    }
    const Term made = tuple_element(tuple_element(body, 0), keypos - 1);
    if (makes_same(made, key)) {
        return true;
    }
    return is_tuple_of(made, 3) && tuple_element(made, 0) == atoms::element &&
           tuple_element(made, 1) == make_small(static_cast<int64_t>(keypos)) &&
           tuple_element(made, 2) == atoms::whole_object;
}

// Starts a walk: tab, specification, limit (the non-value: none).
Term start(Process& p, const Term* a, const Request& r, Term spec, Term limit) {
    const bool writes = r.work == Work::erase || r.work == Work::replace;
    auto w = std::make_unique<Walk>();
    {
        Locked t(p, a[0], writes ? Access::write : Access::read, false);
        if (!t) {
            return bad_table(p, t.failure());
        }
        if (r.work == Work::replace && t->type == Type::bag) {
            return badarg_because(p, atoms::table_type);
        }
        if (is_value(limit) && (!is_small(limit) || small_value(limit) < 1)) {
            return stdlib_badarg(p);
        }
        w->table = &*t;
        w->table->retain();
    }
    std::unique_ptr<Program> program = Program::compile(spec, nullptr);
    if (program == nullptr) {
        return stdlib_badarg(p);
    }
    if (r.work == Work::replace) {
        for (const match_spec::Clause& c : program->clauses()) {
            if (!keeps_key(c, w->table->keypos)) {
                return stdlib_badarg(p);
            }
        }
    }
    w->program = program.release();
    w->bif = bif_export("ets", r.name, r.arity)->bif;
    w->work = r.work;
    w->reverse = r.reverse;
    w->limit = is_value(limit) ? small_value(limit) : 0;
    plan(*w, *w->table);
    State s{a[0], kNil, kNil, list_of(p, a, r.arity)};
    return go_on(p, std::move(w), kNonValue, s);
}

// The specification for the pattern of match and match_object.
Term spec_of(Process& p, Term pattern, Term result) {
    return cons(p.heap, make_tuple(p.heap, pattern, kNil, cons(p.heap, result, kNil)), kNil);
}

Term ets_select_2(Process& p, const Term* a) {
    return start(p, a, {"select", 2}, a[1], kNonValue);
}
Term ets_select_3(Process& p, const Term* a) {
    return start(p, a, {"select", 3}, a[1], a[2]);
}
Term ets_select_reverse_2(Process& p, const Term* a) {
    return start(p, a, {"select_reverse", 2, Work::collect, true}, a[1], kNonValue);
}
Term ets_select_reverse_3(Process& p, const Term* a) {
    return start(p, a, {"select_reverse", 3, Work::collect, true}, a[1], a[2]);
}
Term ets_select_count_2(Process& p, const Term* a) {
    return start(p, a, {"select_count", 2, Work::count}, a[1], kNonValue);
}
Term ets_internal_select_delete_2(Process& p, const Term* a) {
    return start(p, a, {"internal_select_delete", 2, Work::erase}, a[1], kNonValue);
}
Term ets_select_replace_2(Process& p, const Term* a) {
    return start(p, a, {"select_replace", 2, Work::replace}, a[1], kNonValue);
}
Term ets_match_2(Process& p, const Term* a) {
    return start(p, a, {"match", 2}, spec_of(p, a[1], atoms::all_bound), kNonValue);
}
Term ets_match_3(Process& p, const Term* a) {
    return start(p, a, {"match", 3}, spec_of(p, a[1], atoms::all_bound), a[2]);
}
Term ets_match_object_2(Process& p, const Term* a) {
    return start(p, a, {"match_object", 2}, spec_of(p, a[1], atoms::whole_object), kNonValue);
}
Term ets_match_object_3(Process& p, const Term* a) {
    return start(p, a, {"match_object", 3}, spec_of(p, a[1], atoms::whole_object), a[2]);
}

// ---- continuations ------------------------------------------------------------------------------

Term continue_hash(Process& p, const Term* a, std::unique_ptr<Walk> w) {
    // {Tab, Place, Limit, Program, objects that wait, how many they are}
    const Term* c = tuple_elements(a[0]);
    const int64_t place = small_value(c[1]);
    w->continued = true;
    w->found = small_value(c[5]);
    w->at = place < 0 ? HashStore::kNoChain : static_cast<size_t>(place);
    Term rest = c[4];
    for (int64_t i = 0; i < w->found; i++, rest = tail(rest)) {
        if (!is_cons(rest)) {
            return stdlib_badarg(p);
        }
    }
    const State s{c[0], c[4], kNil, list_of(p, a, 1)};
    if (place < 0 || has_chunk(*w)) {
        return hash_chunk(p, *w, s, place < 0);
    }
    return go_on(p, std::move(w), kNonValue, s);
}

Term continue_walk(Process& p, const Term* a, const char* name) {
    const Term c = a[0];
    if (c == atoms::end_of_table) {
        return c;
    }
    if (!is_tuple(c) || tuple_arity(c) == 0) {
        return stdlib_badarg(p);
    }
    const Term* e = tuple_elements(c);
    Locked t(p, e[0], Access::read, false);
    if (!t) {
        return bad_table(p, t.failure());
    }
    const bool hash = is_tuple_of(c, 6);
    if (!hash && !is_tuple_of(c, 8)) {
        return stdlib_badarg(p);
    }
    const Term limit = e[hash ? 2 : 3];
    const Program* program = match_spec::program_of(e[hash ? 3 : 4]);
    if (program == nullptr || !is_small(limit) || small_value(limit) < 1 ||
        (hash ? !is_small(e[1]) || !is_list(e[4]) || !is_small(e[5]) || small_value(e[5]) < 0 : !is_small(e[7]))) {
        return stdlib_badarg(p);
    }
    if (t->is_ordered() == hash) {
        return stdlib_badarg(p);
    }
    auto w = std::make_unique<Walk>();
    w->table = &*t;
    w->table->retain();
    t.release();
    w->program = program;
    const_cast<Program*>(program)->retain();
    w->bif = bif_registry::find(atom_table::intern("ets"), atom_table::intern(name), 1);
    w->limit = small_value(limit);
    plan(*w, *w->table);
    if (hash) {
        return continue_hash(p, a, std::move(w));
    }
    w->reverse = e[7] != make_small(0);
    w->started = true;
    State s{e[0], kNil, e[1], list_of(p, a, 1)};
    return go_on(p, std::move(w), kNonValue, s);
}
Term ets_select_1(Process& p, const Term* a) {
    return continue_walk(p, a, "select");
}
Term ets_select_reverse_1(Process& p, const Term* a) {
    return continue_walk(p, a, "select_reverse");
}
Term ets_match_1(Process& p, const Term* a) {
    return continue_walk(p, a, "match");
}
Term ets_match_object_1(Process& p, const Term* a) {
    return continue_walk(p, a, "match_object");
}

// ---- match specifications without a table -------------------------------------------------------

Term ets_match_spec_compile_1(Process& p, const Term* a) {
    // Only walks over tables take an empty list.
    std::unique_ptr<Program> program = is_nil(a[0]) ? nullptr : Program::compile(a[0], nullptr);
    if (program == nullptr) {
        return stdlib_badarg(p);
    }
    return make_magic_ref(p.heap, new_ref_id(p), program.release());
}

Term ets_is_compiled_ms_1(Process&, const Term* a) {
    return make_bool(match_spec::program_of(a[0]) != nullptr);
}

Term ets_match_spec_run_r_3(Process& p, const Term* a) {
    const Program* program = match_spec::program_of(a[1]);
    if (program == nullptr) {
        return stdlib_badarg(p);
    }
    // Copies the results: constants in them belong to the program.
    Runner runner(p, *program, true);
    Term list = a[0];
    Term results = a[2];
    const int64_t budget = slice_budget(p, kVisitedPerReduction);
    int64_t left = budget;
    for (; is_cons(list) && left > 0; list = tail(list), left--) {
        const Term value = runner.run(head(list));
        if (is_value(value)) {
            results = cons(p.heap, value, results);
        }
    }
    charge_slice(p, budget, left, kVisitedPerReduction);
    if (is_cons(list)) {
        return yield(p, bif_export("ets", "match_spec_run_r", 3), {list, a[1], results});
    }
    return is_nil(list) ? results : stdlib_badarg(p);
}

// {ok, Result, Flags, Messages} or {error, [{error, Text}]}
Term erlang_match_spec_test_3(Process& p, const Term* a) {
    static const Term trace = atom_table::intern("trace");
    if (a[2] == trace && tracing::g_hooks != nullptr) {
        return tracing::g_hooks->test_spec(p, a);
    }
    if (a[2] != table_atom()) {
        return badarg(p);
    }
    std::vector<std::string> problems;
    const std::unique_ptr<Program> program = Program::compile(a[1], &problems);
    if (program == nullptr) {
        return match_spec::problems_term(p.heap, problems);
    }
    Runner runner(p, *program, true);
    const Term value = runner.run(a[0]);
    return make_tuple(p.heap, atoms::ok, is_value(value) ? value : atoms::false_, kNil, kNil);
}

}  // namespace

MINIVM_BIF_TABLE(ets_select) = {
    {"ets", "select", 1, ets_select_1, kBifPlain, nullptr},
    {"ets", "select", 2, ets_select_2, kBifPlain, nullptr},
    {"ets", "select", 3, ets_select_3, kBifPlain, nullptr},
    {"ets", "select_reverse", 1, ets_select_reverse_1, kBifPlain, nullptr},
    {"ets", "select_reverse", 2, ets_select_reverse_2, kBifPlain, nullptr},
    {"ets", "select_reverse", 3, ets_select_reverse_3, kBifPlain, nullptr},
    {"ets", "select_count", 2, ets_select_count_2, kBifPlain, nullptr},
    {"ets", "internal_select_delete", 2, ets_internal_select_delete_2, kBifPlain, nullptr},
    {"ets", "select_replace", 2, ets_select_replace_2, kBifPlain, nullptr},
    {"ets", "match", 1, ets_match_1, kBifPlain, nullptr},
    {"ets", "match", 2, ets_match_2, kBifPlain, nullptr},
    {"ets", "match", 3, ets_match_3, kBifPlain, nullptr},
    {"ets", "match_object", 1, ets_match_object_1, kBifPlain, nullptr},
    {"ets", "match_object", 2, ets_match_object_2, kBifPlain, nullptr},
    {"ets", "match_object", 3, ets_match_object_3, kBifPlain, nullptr},
    {"ets", "select", 1, ets_select_continue_1, kBifHidden, nullptr},
    {"ets", "select_trap", 1, ets_select_continue_1, kBifHidden, nullptr},
    {"ets", "count_trap", 1, ets_select_continue_1, kBifHidden, nullptr},
    {"ets", "select_delete_trap", 1, ets_select_continue_1, kBifHidden, nullptr},
    {"ets", "replace_trap", 1, ets_select_continue_1, kBifHidden, nullptr},
    {"ets", "match_spec_compile", 1, ets_match_spec_compile_1, kBifPlain, nullptr},
    {"ets", "is_compiled_ms", 1, ets_is_compiled_ms_1, kBifPlain, nullptr},
    {"ets", "match_spec_run_r", 3, ets_match_spec_run_r_3, kBifPlain, nullptr},
    {"erlang", "match_spec_test", 3, erlang_match_spec_test_3, kBifPlain, nullptr},
};

}  // namespace minivm
