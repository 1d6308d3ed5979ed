// Inserting, looking up, deleting and changing objects of a table.
#include "vm/bif/bif.hpp"
#include "vm/bif/ets/ets_support.hpp"
#include "vm/process/continuation.hpp"
#include "vm/process/kernel_start.hpp"
#include "vm/process/signal.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/term/bignum.hpp"
#include "vm/term/compare.hpp"
#include "vm/term/local_atoms.hpp"
#include "vm/util/otp_release.hpp"

#include <algorithm>
#include <ctime>

namespace minivm {

using namespace ets;

namespace {

LOCAL_ATOM(position_cause, "position")

// OTP copies a longer list before it inserts any of it (8 objects for each reduction of a whole slice).
constexpr int64_t kInsertedAtOnce = 8 * 4000;

// ---- inserting -----------------------------------------------------------------------------------------

bool is_object(const Table& t, Term tuple) {
    return is_tuple(tuple) && tuple_arity(tuple) >= t.keypos;
}

void insert(Table& t, Object* o) {
    if (t.stores.hash) {
        t.stores.hash->insert(o);
    } else {
        t.stores.tree->insert(o);
    }
}

// Copies of the objects of a list, which go into the table together.
struct InsertJob final : MagicObject {
    Table* table = nullptr;
    std::vector<Object*> objects;
    bool goes_backwards = false;
    ~InsertJob() override {
        for (Object* o : objects) {
            object_free(o);
        }
        table->release();
    }
};

// The hidden ets:insert/2 or insert_new/2: ({Job, rest of the list, arguments}, whether it is insert_new)
Term ets_insert_continue_2(Process& p, const Term* a) {
    const Term held = tuple_element(a[0], 0);
    Term list = tuple_element(a[0], 1);
    const Term arguments = tuple_element(a[0], 2);
    const bool only_new = a[1] == atoms::true_;
    const char* const name = only_new ? "insert_new" : "insert";
    InsertJob& job = *held_state<InsertJob>(held);
    const int64_t budget = slice_budget(p, 1);
    int64_t left = budget;
    for (; is_cons(list) && left > 0; list = tail(list)) {
        Object* o = object_new(head(list));
        job.objects.push_back(o);
        left -= 1 + copying_cost(o->words);
    }
    consume(p, budget - left);
    if (is_cons(list)) {
        const Term state = make_tuple(p.heap, held, list, arguments);
        return yield(p, bif_export("ets", name, 2), {state, a[1]});
    }
    Locked t(p, *job.table, Access::write, true);
    if (!t) {
        bad_table(p, t.failure());
        p.exception.bif =
            bif_registry::find(atom_table::intern("ets"), atom_table::intern(name), 2);
        p.exception.args = arguments;
        return kNonValue;
    }
    if (only_new) {
        for (const Object* o : job.objects) {
            if (find(*t, o->key(t->keypos)) != nullptr) {
                return atoms::false_;
            }
        }
    }
    if (job.goes_backwards && !by_release::lists_go_in_from_their_beginning()) {
        // Of the objects of one key, the last in the list counts as the oldest.
        std::reverse(job.objects.begin(), job.objects.end());
    }
    for (Object* o : job.objects) {
        insert(*t, o);
    }
    consume(p, static_cast<int64_t>(job.objects.size()) / kFreedPerReduction);
    job.objects.clear();
    return atoms::true_;
}

Term insert_objects(Process& p, const Term* a, bool only_new) {
    Locked t(p, a[0], Access::write, true);
    if (!t) {
        return bad_table(p, t.failure());
    }
    if (is_tuple(a[1])) {
        if (!is_object(*t, a[1])) {
            return stdlib_badarg(p);
        }
        if (only_new && find(*t, tuple_element(a[1], t->keypos - 1)) != nullptr) {
            return atoms::false_;
        }
        Object* o = object_new(a[1]);
        consume(p, copying_cost(o->words));
        insert(*t, o);
        return atoms::true_;
    }
    Term list = a[1];
    int64_t count = 0;
    for (; is_cons(list); list = tail(list), count++) {
        if (!is_object(*t, head(list))) {
            return stdlib_badarg(p);
        }
    }
    if (!is_nil(list)) {
        return stdlib_badarg(p);
    }
    if (is_nil(a[1])) {
        return atoms::true_;
    }
    auto job = std::make_unique<InsertJob>();
    job->table = &*t;
    // OTP inserts the last copy first then.
    job->goes_backwards = t->type == Type::bag || count > kInsertedAtOnce;
    t->retain();
    t.release();
    // The arguments lie in registers that a yield overwrites.
    const Term arguments = cons(p.heap, a[0], cons(p.heap, a[1], kNil));
    const Term objects = a[1];
    const Term held = hold_state(p, std::move(job));
    const Term state[2] = {make_tuple(p.heap, held, objects, arguments), make_bool(only_new)};
    return ets_insert_continue_2(p, state);
}

Term ets_insert_2(Process& p, const Term* a) {
    return insert_objects(p, a, false);
}

Term ets_insert_new_2(Process& p, const Term* a) {
    return insert_objects(p, a, true);
}

// ---- looking up ----------------------------------------------------------------------------------------

// For a read of a table that could not be opened: waits for the table if OTP's kernel is to make it.
Term bad_read(Process& p, const Locked& t, const char* function, const Term* a, size_t arity) {
    if (t.failure() != Failure::id || !is_atom(a[0]) || !kernel_start::must_wait(p.id, a[0])) {
        return bad_table(p, t.failure());
    }
    Term args = kNil;
    for (size_t i = arity; i > 0; --i) {
        args = cons(p.heap, a[i - 1], args);
    }
    static const Export* on_demand =
        export_table::get(atom_table::intern("minivm_kernel"), atom_table::intern("ets"), 2);
    return trap(p, on_demand, {atom_table::intern(function), args});
}

Term ets_lookup_2(Process& p, const Term* a) {
    Locked t(p, a[0], Access::read, false);
    if (!t) {
        return bad_read(p, t, "lookup", a, 2);
    }
    return list_of_key(p, *t, a[1], [&](const Object* o) { return copy_out(p, o->tuple()); });
}

Term ets_member_2(Process& p, const Term* a) {
    Locked t(p, a[0], Access::read, false);
    return t ? make_bool(find(*t, a[1]) != nullptr) : bad_read(p, t, "member", a, 2);
}

Term lookup_element(Process& p, const Term* a, Term otherwise) {
    Locked t(p, a[0], Access::read, false);
    if (!t) {
        return bad_read(p, t, "lookup_element", a, is_value(otherwise) ? 4 : 3);
    }
    if (!is_small(a[2]) || small_value(a[2]) < 1) {
        return stdlib_badarg(p);
    }
    const size_t position = static_cast<size_t>(small_value(a[2]));
    const Object* o = find(*t, a[1]);
    if (o == nullptr) {
        return is_value(otherwise) ? otherwise : badarg_because(p, atoms::badkey);
    }
    const HashStore* hash = t->stores.hash.get();
    for (const Object* x = o; x != nullptr; x = hash ? hash->next_of_key(x) : nullptr) {
        if (tuple_arity(x->tuple()) < position) {
            return stdlib_badarg(p);
        }
    }
    if (t->type == Type::set || t->is_ordered()) {
        return copy_out(p, tuple_element(o->tuple(), position - 1));
    }
    return list_of_key(p, *t, a[1], [&](const Object* x) {
        return copy_out(p, tuple_element(x->tuple(), position - 1));
    });
}

Term ets_lookup_element_3(Process& p, const Term* a) {
    return lookup_element(p, a, kNonValue);
}

Term ets_lookup_element_4(Process& p, const Term* a) {
    return lookup_element(p, a, a[3]);
}

// ---- deleting ------------------------------------------------------------------------------------------

size_t erase_key(Table& t, Term key) {
    return t.stores.hash ? t.stores.hash->erase_key(key) : t.stores.tree->erase_key(key);
}

Term ets_delete_2(Process& p, const Term* a) {
    Locked t(p, a[0], Access::write, true);
    if (!t) {
        return bad_table(p, t.failure());
    }
    erase_key(*t, a[1]);
    return atoms::true_;
}

Term ets_take_2(Process& p, const Term* a) {
    Locked t(p, a[0], Access::write, true);
    if (!t) {
        return bad_table(p, t.failure());
    }
    const Term list =
        list_of_key(p, *t, a[1], [&](const Object* o) { return copy_out(p, o->tuple()); });
    erase_key(*t, a[1]);
    return list;
}

Term ets_delete_object_2(Process& p, const Term* a) {
    Locked t(p, a[0], Access::write, true);
    if (!t) {
        return bad_table(p, t.failure());
    }
    if (!is_object(*t, a[1])) {
        return stdlib_badarg(p);
    }
    if (t->stores.hash) {
        t->stores.hash->erase_equal(a[1]);
    } else {
        const Term key = tuple_element(a[1], t->keypos - 1);
        const Object* o = t->stores.tree->find(key);
        if (o != nullptr && exact_equal(o->tuple(), a[1])) {
            t->stores.tree->erase_key(key);
        }
    }
    return atoms::true_;
}

// ---- changing elements ---------------------------------------------------------------------------------

// An object of a set or ordered_set with some elements changed, as a tuple.
class ChangedObject {
public:
    ChangedObject(Term tuple) : words_(boxed_ptr(tuple), boxed_ptr(tuple) + 1 + tuple_arity(tuple)) {}
    size_t arity() const { return words_.size() - 1; }
    Term& element(size_t position) { return words_[position]; }
    Term tuple() const { return make_boxed(words_.data()); }

private:
    std::vector<Term> words_;
};

bool has_single_keys(const Table& t) {
    return t.type == Type::set || t.is_ordered();
}

// Puts it where `old` is, or in the table if that is null.
void store(Table& t, Object* old, ChangedObject& changed) {
    if (old != nullptr) {
        // Writes in place if only immediates change, and to immediates.
        bool in_place = true;
        for (size_t i = 1; i <= changed.arity() && in_place; i++) {
            in_place = changed.element(i) == old->data[i] ||
                       (is_immediate(changed.element(i)) && is_immediate(old->data[i]));
        }
        if (in_place) {
            for (size_t i = 1; i <= changed.arity(); i++) {
                old->data[i] = changed.element(i);
            }
            return;
        }
    }
    Object* o = object_new(changed.tuple());
    if (old == nullptr) {
        insert(t, o);
    } else if (t.stores.hash) {
        t.stores.hash->replace(old, o);
    } else {
        t.stores.tree->replace(old, o);
    }
}

// One operation of update_counter: the new value, or the non-value after an error.
Term update_one(Process& p, const Table& t, ChangedObject& changed, Term op) {
    const bool plain = is_integer(op);
    if (!plain && !is_tuple_of(op, 2) && !is_tuple_of(op, 4)) {
        return stdlib_badarg(p);
    }
    const Term where =
        plain ? make_small(static_cast<int64_t>(t.keypos + 1)) : tuple_element(op, 0);
    const Term by = plain ? op : tuple_element(op, 1);
    const bool bounded = is_tuple_of(op, 4);
    if (!is_small(where) || !is_integer(by) ||
        (bounded && (!is_integer(tuple_element(op, 2)) || !is_integer(tuple_element(op, 3))))) {
        return stdlib_badarg(p);
    }
    if (small_value(where) < 1 || static_cast<size_t>(small_value(where)) > changed.arity()) {
        return badarg_because(p, position_cause());
    }
    const size_t position = static_cast<size_t>(small_value(where));
    if (position == t.keypos) {
        return badarg_because(p, atoms::keypos);
    }
    Term& element = changed.element(position);
    if (!is_integer(element)) {
        return stdlib_badarg(p);
    }
    Term sum = bignum::add(p.heap, element, by);
    if (!is_value(sum)) {
        return stdlib_system_limit(p);
    }
    if (bounded) {
        const bool down = compare_terms(by, make_small(0)) < 0;
        const int c = compare_terms(sum, tuple_element(op, 2));
        if (down ? c < 0 : c > 0) {
            sum = tuple_element(op, 3);
        }
    }
    element = sum;
    return sum;
}

// The usual update, of a small integer that stays one: in place. The non-value: it is another case.
Term update_small(const Table& t, Object* o, Term op) {
    const bool pair = is_tuple_of(op, 2);
    const Term by = pair ? tuple_element(op, 1) : op;
    const Term where = pair ? tuple_element(op, 0) : make_small(static_cast<int64_t>(t.keypos + 1));
    if (!both_small(by, where) || small_value(where) < 1 ||
        static_cast<size_t>(small_value(where)) > tuple_arity(o->tuple()) ||
        static_cast<size_t>(small_value(where)) == t.keypos) {
        return kNonValue;
    }
    Term& element = o->data[small_value(where)];
    if (!is_small(element) || !fits_small(small_value(element) + small_value(by))) {
        return kNonValue;
    }
    element = make_small(small_value(element) + small_value(by));
    return element;
}

Term update_counter(Process& p, const Term* a, Term otherwise) {
    Locked t(p, a[0], Access::write, true);
    if (!t) {
        return bad_table(p, t.failure());
    }
    if (is_value(otherwise) && by_release::checks_default_objects() && !is_object(*t, otherwise)) {
        return badarg_because(p, atoms::default_);
    }
    if (!has_single_keys(*t)) {
        return badarg_because(p, atoms::table_type);
    }
    if (is_value(otherwise) && !is_tuple(otherwise)) {
        return stdlib_badarg(p);
    }
    const Term ops = a[2];
    Object* old = find(*t, a[1]);
    if (old == nullptr && !is_value(otherwise)) {
        return badarg_because(p, atoms::badkey);
    }
    if (old != nullptr) {
        const Term value = update_small(*t, old, ops);
        if (is_value(value)) {
            return value;
        }
    }
    ChangedObject changed(old != nullptr ? old->tuple() : otherwise);
    if (old == nullptr) {
        if (changed.arity() < t->keypos) {
            // OTP's hash tables give no cause for an empty tuple.
            return t->stores.hash && changed.arity() == 0 ? stdlib_badarg(p)
                                                        : badarg_because(p, position_cause());
        }
        changed.element(t->keypos) = a[1];
    }
    Term result;
    if (is_list(ops)) {
        std::vector<Term> values;
        Term list = ops;
        for (; is_cons(list); list = tail(list)) {
            const Term value =
                is_tuple(head(list)) ? update_one(p, *t, changed, head(list)) : stdlib_badarg(p);
            if (!is_value(value)) {
                return kNonValue;
            }
            values.push_back(value);
        }
        if (!is_nil(list)) {
            return stdlib_badarg(p);
        }
        result = kNil;
        for (size_t i = values.size(); i-- > 0;) {
            result = cons(p.heap, values[i], result);
        }
    } else {
        result = update_one(p, *t, changed, ops);
        if (!is_value(result)) {
            return kNonValue;
        }
    }
    store(*t, old, changed);
    return result;
}

Term ets_update_counter_3(Process& p, const Term* a) {
    return update_counter(p, a, kNonValue);
}

Term ets_update_counter_4(Process& p, const Term* a) {
    return update_counter(p, a, a[3]);
}

// Up to OTP 28 the shapes of all changes are checked before any position, later one change after the other.
bool has_bad_shape(Term changes) {
    for (; is_cons(changes); changes = tail(changes)) {
        if (!is_tuple_of(head(changes), 2)) {
            return true;
        }
    }
    return !is_nil(changes);
}

// Without an object of the key, makes one of `otherwise`, a tuple, if it is a value.
Term update_element(Process& p, const Term* a, Term otherwise) {
    Locked t(p, a[0], Access::write, true);
    if (!t) {
        return bad_table(p, t.failure());
    }
    const bool checks_default = by_release::checks_default_objects();
    if (is_value(otherwise) && checks_default && !is_object(*t, otherwise)) {
        return badarg_because(p, atoms::default_);
    }
    if (!has_single_keys(*t)) {
        return stdlib_badarg(p);
    }
    if (is_value(otherwise) && !is_tuple(otherwise)) {
        return badarg_because(p, atoms::default_);
    }
    Object* old = find(*t, a[1]);
    if (old == nullptr && !is_value(otherwise)) {
        return atoms::false_;
    }
    const Term changes = is_tuple(a[2]) ? cons(p.heap, a[2], kNil) : a[2];
    if (!checks_default && has_bad_shape(changes)) {
        return stdlib_badarg(p);
    }
    ChangedObject changed(old != nullptr ? old->tuple() : otherwise);
    if (old == nullptr) {
        if (changed.arity() < t->keypos) {
            return badarg_because(p, position_cause());
        }
        changed.element(t->keypos) = a[1];
    }
    Term list = changes;
    for (; is_cons(list); list = tail(list)) {
        if (!is_tuple_of(head(list), 2)) {
            return stdlib_badarg(p);
        }
        const Term where = tuple_element(head(list), 0);
        if (!is_small(where)) {
            return stdlib_badarg(p);
        }
        if (small_value(where) < 1 || static_cast<size_t>(small_value(where)) > changed.arity()) {
            return checks_default ? badarg_because(p, position_cause()) : stdlib_badarg(p);
        }
        const size_t position = static_cast<size_t>(small_value(where));
        if (position == t->keypos) {
            return badarg_because(p, atoms::keypos);
        }
        changed.element(position) = tuple_element(head(list), 1);
    }
    if (!is_nil(list)) {
        return stdlib_badarg(p);
    }
    store(*t, old, changed);
    return atoms::true_;
}

Term ets_update_element_3(Process& p, const Term* a) {
    return update_element(p, a, kNonValue);
}

Term ets_update_element_4(Process& p, const Term* a) {
    return update_element(p, a, a[3]);
}

}  // namespace

MINIVM_BIF_TABLE(ets_objects) = {
    {"ets", "insert", 2, ets_insert_2, kBifPlain, nullptr},
    {"ets", "insert_new", 2, ets_insert_new_2, kBifPlain, nullptr},
    {"ets", "insert", 2, ets_insert_continue_2, kBifHidden, nullptr},
    {"ets", "insert_new", 2, ets_insert_continue_2, kBifHidden, nullptr},
    {"ets", "lookup", 2, ets_lookup_2, kBifPlain, nullptr},
    {"ets", "member", 2, ets_member_2, kBifPlain, nullptr},
    {"ets", "lookup_element", 3, ets_lookup_element_3, kBifPlain, nullptr},
    {"ets", "lookup_element", 4, ets_lookup_element_4, kBifPlain, nullptr},
    {"ets", "delete", 2, ets_delete_2, kBifPlain, nullptr},
    {"ets", "take", 2, ets_take_2, kBifPlain, nullptr},
    {"ets", "delete_object", 2, ets_delete_object_2, kBifPlain, nullptr},
    {"ets", "update_counter", 3, ets_update_counter_3, kBifPlain, nullptr},
    {"ets", "update_counter", 4, ets_update_counter_4, kBifPlain, nullptr},
    {"ets", "update_element", 3, ets_update_element_3, kBifPlain, nullptr},
    {"ets", "update_element", 4, ets_update_element_4, kBifPlain, nullptr},
};

}  // namespace minivm
