// The module ets: tables and single objects. Match specifications are in ets_select.cpp.
#include "vm/bif/bif.hpp"
#include "vm/bif/ets/ets_support.hpp"
#include "vm/process/continuation.hpp"
#include "vm/process/kernel_start.hpp"
#include "vm/process/signal.hpp"
#include "vm/process/state.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/term/bignum.hpp"
#include "vm/term/compare.hpp"
#include "vm/term/local_atoms.hpp"
#include "vm/util/otp_release.hpp"

#include <algorithm>
#include <bit>
#include <ctime>

namespace minivm {

using namespace ets;

namespace {

LOCAL_ATOM(already_exists, "already_exists")
LOCAL_ATOM(position_cause, "position")
LOCAL_ATOM(owner_atom, "owner")
LOCAL_ATOM(bag_atom, "bag")
LOCAL_ATOM(set_atom, "set")
LOCAL_ATOM(compressed_atom, "compressed")
LOCAL_ATOM(protection_atom, "protection")
LOCAL_ATOM(id_atom, "id")
LOCAL_ATOM(fixed_locks, "debug_hash_fixed_number_of_locks")

// Objects handled for each reduction when they are freed or linked.
constexpr int64_t kFreedPerReduction = 8;

Term type_atom(Type t) {
    switch (t) {
        case Type::set:
            return set_atom();
        case Type::ordered_set:
            return atoms::ordered_set;
        case Type::bag:
            return bag_atom();
        case Type::duplicate_bag:
            break;
    }
    return atoms::duplicate_bag;
}
Term protection_value(Protection x) {
    return x == Protection::public_      ? atoms::public_
           : x == Protection::protected_ ? atoms::protected_
                                         : atoms::private_;
}
bool get_protection(Term t, Protection* out) {
    if (t == atoms::public_ || t == atoms::protected_ || t == atoms::private_) {
        *out = t == atoms::public_      ? Protection::public_
               : t == atoms::protected_ ? Protection::protected_
                                        : Protection::private_;
        return true;
    }
    return false;
}

// ---- creation and destruction -------------------------------------------------------------------

// {heir, Pid}: it is not told.
bool is_silent_heir(Term value) { return by_release::at_least(28) && is_local_pid(value); }

// {debug_hash_fixed_number_of_locks, N}
bool is_number_of_locks(Term value) {
    constexpr int64_t kMostLocks = 32768;
    return is_tuple_of(value, 2) && tuple_element(value, 0) == fixed_locks() &&
           is_small(tuple_element(value, 1)) && small_value(tuple_element(value, 1)) > 0 &&
           small_value(tuple_element(value, 1)) <= kMostLocks;
}

bool get_option(Term t, Options* o) {
    if (t == set_atom()) {
        o->type = Type::set;
    } else if (t == atoms::ordered_set) {
        o->type = Type::ordered_set;
    } else if (t == bag_atom()) {
        o->type = Type::bag;
    } else if (t == atoms::duplicate_bag) {
        o->type = Type::duplicate_bag;
    } else if (t == atoms::named_table) {
        o->named = true;
    } else if (t == compressed_atom()) {
        o->compressed = true;
    } else if (get_protection(t, &o->protection)) {
    } else if (is_tuple_of(t, 2)) {
        const Term name = tuple_element(t, 0);
        const Term value = tuple_element(t, 1);
        if (name == atoms::keypos) {
            if (!is_small(value) || small_value(value) < 1) {
                return false;
            }
            o->keypos = static_cast<size_t>(small_value(value));
        } else if (name == atoms::heir && value == atoms::none) {
            o->heir = kNonValue;
        } else if (name == atoms::heir && is_silent_heir(value)) {
            o->heir = value;
            o->heir_data = kNonValue;
        } else if (name == atoms::write_concurrency && (is_bool(value) || value == atoms::auto_)) {
            o->write_concurrency = value;
        } else if (name == atoms::write_concurrency && is_number_of_locks(value)) {
            // What info/2 tells; a table has one lock here.
            constexpr uint64_t kFewestLocks = 64;
            const auto n = static_cast<uint64_t>(small_value(tuple_element(value, 1)));
            o->write_concurrency =
                make_small(static_cast<int64_t>(std::max(kFewestLocks, std::bit_floor(n))));
        } else if (name == atoms::read_concurrency && is_bool(value)) {
            o->read_concurrency = value == atoms::true_;
        } else if (name == atoms::decentralized_counters && is_bool(value)) {
            o->decentralized_counters = value == atoms::true_;
        } else {
            return false;
        }
    } else if (is_tuple_of(t, 3) && tuple_element(t, 0) == atoms::heir &&
               is_local_pid(tuple_element(t, 1))) {
        o->heir = tuple_element(t, 1);
        o->heir_data = tuple_element(t, 2);
    } else {
        return false;
    }
    return true;
}

Term ets_new_2(Process& p, const Term* a) {
    if (!is_atom(a[0])) {
        return stdlib_badarg(p);
    }
    Options o;
    o.write_concurrency = atoms::false_;
    Term list = a[1];
    bool counters_chosen = false;
    for (; is_cons(list); list = tail(list)) {
        if (!get_option(head(list), &o)) {
            return stdlib_badarg(p);
        }
        counters_chosen |= is_tuple_of(head(list), 2) &&
                           tuple_element(head(list), 0) == atoms::decentralized_counters;
    }
    if (!is_nil(list)) {
        return stdlib_badarg(p);
    }
    if (o.type == Type::ordered_set && is_small(o.write_concurrency)) {
        return stdlib_badarg(p);
    }
    if (o.protection == Protection::private_ || vm::scheduler_count() == 1) {
        o.write_concurrency = atoms::false_;  // there is nobody else
    }
    if (o.write_concurrency == atoms::false_) {
        o.decentralized_counters = false;
    } else if (!counters_chosen) {
        o.decentralized_counters =
            o.type == Type::ordered_set || o.write_concurrency != atoms::true_;
    }
    Table* t = create(p, o, a[0]);
    if (t == nullptr) {
        return badarg_because(p, already_exists());
    }
    return o.named ? a[0] : reference(p.heap, *t);
}

// Stores that are being freed.
struct FreeJob final : MagicObject {
    Stores stores;
    Term result;  // an immediate
};

// What a function goes on with has the name that OTP's has: tracers and process_info/2 show it.

Term free_stores(Process& p, FreeJob& job) {
    const int64_t budget = slice_budget(p, kFreedPerReduction);
    if (!job.stores.free_some(static_cast<size_t>(budget))) {
        consume(p, 1);
        return job.result;
    }
    consume(p, budget / kFreedPerReduction);
    return kNonValue;
}
Term go_on_freeing(Process& p, Term held) {
    return yield(p, bif_export("ets", "delete_trap", 1), {held});
}
Term go_on_clearing(Process& p, Term held) {
    return yield(p, bif_export("ets", "internal_delete_all", 2), {held, atoms::undefined});
}
// `go_on` with what remains after a slice.
using GoOn = Term (*)(Process&, Term held);
template <GoOn go_on>
Term ets_free_continue(Process& p, const Term* a) {
    const Term result = free_stores(p, *held_state<FreeJob>(a[0]));
    return is_value(result) ? result : go_on(p, a[0]);
}
Term free_and_return(Process& p, Stores stores, Term result, GoOn go_on) {
    auto job = std::make_unique<FreeJob>();
    job->stores = std::move(stores);
    job->result = result;
    // Small tables go at once.
    const Term done = free_stores(p, *job);
    return is_value(done) ? done : go_on(p, hold_state(p, std::move(job)));
}

Term ets_delete_1(Process& p, const Term* a) {
    Locked t(p, a[0], Access::write, true);
    if (!t) {
        return bad_table(p, t.failure());
    }
    Stores stores = destroy(*t);
    t.release();
    return free_and_return(p, std::move(stores), atoms::true_, go_on_freeing);
}

Term ets_internal_delete_all_2(Process& p, const Term* a) {
    Locked t(p, a[0], Access::write, true);
    if (!t) {
        return bad_table(p, t.failure());
    }
    const size_t n = t->size();
    const Term result = make_small(static_cast<int64_t>(n));
    if (t->stores.hash && t->stores.hash->is_fixed()) {
        t->stores.hash->mark_all();
        consume(p, static_cast<int64_t>(n) / kFreedPerReduction);
        return result;
    }
    Stores old = std::move(t->stores);
    t->stores = t->make_stores();
    t.release();
    return free_and_return(p, std::move(old), result, go_on_clearing);
}

Term ets_rename_2(Process& p, const Term* a) {
    Locked t(p, a[0], Access::write, true);
    if (!t) {
        return bad_table(p, t.failure());
    }
    if (!is_atom(a[1]) || !rename(*t, a[1])) {
        return stdlib_badarg(p);
    }
    return tid(p.heap, *t);
}

Term ets_give_away_3(Process& p, const Term* a) {
    Locked t(p, a[0], Access::write, true);
    if (!t) {
        return bad_table(p, t.failure());
    }
    if (!is_local_pid(a[1])) {
        return stdlib_badarg(p);
    }
    if (t->owner != p.id) {
        return badarg_because(p, atoms::not_owner);
    }
    if (a[1] == p.id) {
        return badarg_because(p, owner_atom());
    }
    if (!give_away(*t, a[1])) {
        return stdlib_badarg(p);
    }
    send_transfer(*t, p.id, a[2]);
    return atoms::true_;
}

Term ets_setopts_2(Process& p, const Term* a) {
    Locked t(p, a[0], Access::write, true);
    if (!t) {
        return bad_table(p, t.failure());
    }
    Term heir_option = kNonValue;
    Term protection_option = kNonValue;
    Protection protection = t->protection;
    Term list = a[1];
    for (bool more = !is_nil(list); more;) {
        const Term option = is_cons(list) ? head(list) : list;
        const bool heir = (is_tuple_of(option, 2) && tuple_element(option, 0) == atoms::heir &&
                           (tuple_element(option, 1) == atoms::none || is_silent_heir(tuple_element(option, 1)))) ||
                          (is_tuple_of(option, 3) && tuple_element(option, 0) == atoms::heir &&
                           is_local_pid(tuple_element(option, 1)));
        if (heir && !is_value(heir_option)) {
            heir_option = option;
        } else if (is_tuple_of(option, 2) && tuple_element(option, 0) == protection_atom() &&
                   get_protection(tuple_element(option, 1), &protection) &&
                   !is_value(protection_option)) {
            protection_option = option;
        } else {
            return stdlib_badarg(p);
        }
        list = is_cons(list) ? tail(list) : kNil;
        more = is_cons(list);
        if (!more && !is_nil(list)) {
            return stdlib_badarg(p);
        }
    }
    if (t->owner != p.id) {
        return stdlib_badarg(p);
    }
    t->protection = protection;
    if (is_value(heir_option)) {
        if (tuple_element(heir_option, 1) == atoms::none) {
            set_heir(*t, kNonValue, kNonValue);
        } else if (tuple_arity(heir_option) == 2) {
            set_heir(*t, tuple_element(heir_option, 1), kNonValue);
        } else {
            set_heir(*t, tuple_element(heir_option, 1), tuple_element(heir_option, 2));
        }
    }
    return atoms::true_;
}

Term ets_safe_fixtable_2(Process& p, const Term* a) {
    Locked t(p, a[0], Access::read, true);
    if (!t) {
        return bad_table(p, t.failure());
    }
    if (!is_bool(a[1])) {
        return stdlib_badarg(p);
    }
    if (a[1] == atoms::true_) {
        fix(p, *t);
    } else {
        unfix(p, *t);
    }
    return atoms::true_;
}

Term ets_whereis_1(Process& p, const Term* a) {
    if (!is_atom(a[0])) {
        return stdlib_badarg(p);
    }
    Locked t(p, a[0], Access::ask, false);
    return t ? reference(p.heap, *t) : atoms::undefined;
}

// Every scheduler answers in OTP; here the first answer has all.
Term ets_internal_request_all_0(Process& p, const Term*) {
    const Term ref = put_ref(p.heap.alloc(kRefWords), new_ref_id(p));
    std::vector<Table*> tables = all();
    Heap scratch;
    Term list = kNil;
    for (Table* t : tables) {
        Locked locked(p, *t, Access::ask, false);
        if (locked) {
            list = cons(scratch, tid(scratch, *t), list);
        }
    }
    for (int i = 0; i < vm::scheduler_count(); i++) {
        send_message_to_pid(p.id, make_tuple(scratch, ref, i == 0 ? list : kNil));
    }
    scratch.clear();
    for (Table* t : tables) {
        t->release();
    }
    consume(p, static_cast<int64_t>(tables.size() / 8));
    return ref;
}

// ---- inserting ----------------------------------------------------------------------------------

bool is_object(const Table& t, Term tuple) {
    return is_tuple(tuple) && tuple_arity(tuple) >= t.keypos;
}

Object* find(const Table& t, Term key) {
    return t.stores.hash ? t.stores.hash->find(key) : t.stores.tree->find(key);
}
void insert(Table& t, Object* o) {
    if (t.stores.hash) {
        t.stores.hash->insert(o);
    } else {
        t.stores.tree->insert(o);
    }
}

// The objects of a list, being copied; they go into the table together.
struct InsertJob final : MagicObject {
    Table* table = nullptr;
    std::vector<Object*> objects;
    ~InsertJob() override {
        for (Object* o : objects) {
            object_free(o);
        }
        table->release();
    }
};

// The hidden ets:insert/2 or insert_new/2: ({Job, rest of the list, arguments}, is it insert_new)
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
    if (t->type == Type::bag) {
        // As in OTP: of the objects of one key, the last in the list counts as the oldest.
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
    for (; is_cons(list); list = tail(list)) {
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

// ---- looking up ---------------------------------------------------------------------------------

// All objects of the key, oldest first; of each what pick(object) gives.
template <typename Pick>
Term list_of_key(Process& p, const Table& t, Term key, Pick pick) {
    Term list = kNil;
    size_t words = 0;
    const HashStore* hash = t.stores.hash.get();
    for (const Object* o = find(t, key); o != nullptr; o = hash ? hash->next_of_key(o) : nullptr) {
        list = cons(p.heap, pick(o), list);
        words += object_words(o);
    }
    consume(p, copying_cost(words));
    return list;
}

// A read of a table that could not be opened: one that OTP's kernel makes is waited for.
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
        return bad_table(p, t.failure());
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

// ---- deleting -----------------------------------------------------------------------------------

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

// ---- changing elements --------------------------------------------------------------------------

// An object of a set or ordered_set with some elements changed, as a tuple.
class Draft {
public:
    Draft(Term tuple) : words_(boxed_ptr(tuple), boxed_ptr(tuple) + 1 + tuple_arity(tuple)) {}
    size_t arity() const { return words_.size() - 1; }
    Term& element(size_t position) { return words_[position]; }
    Term tuple() const { return make_boxed(words_.data()); }

private:
    std::vector<Term> words_;
};

bool has_single_keys(const Table& t) {
    return t.type == Type::set || t.is_ordered();
}

// Puts the draft where `old` is, or in the table if that is null.
void store(Table& t, Object* old, Draft& draft) {
    if (old != nullptr) {
        // Immediates that become others are written in place.
        bool in_place = true;
        for (size_t i = 1; i <= draft.arity() && in_place; i++) {
            in_place = draft.element(i) == old->data[i] ||
                       (is_immediate(draft.element(i)) && is_immediate(old->data[i]));
        }
        if (in_place) {
            for (size_t i = 1; i <= draft.arity(); i++) {
                old->data[i] = draft.element(i);
            }
            return;
        }
    }
    Object* o = object_new(draft.tuple());
    if (old == nullptr) {
        insert(t, o);
    } else if (t.stores.hash) {
        t.stores.hash->replace(old, o);
    } else {
        t.stores.tree->replace(old, o);
    }
}

// One operation of update_counter: the new value, or the non-value after an error.
Term update_one(Process& p, const Table& t, Draft& draft, Term op) {
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
    if (small_value(where) < 1 || static_cast<size_t>(small_value(where)) > draft.arity()) {
        return badarg_because(p, position_cause());
    }
    const size_t position = static_cast<size_t>(small_value(where));
    if (position == t.keypos) {
        return badarg_because(p, atoms::keypos);
    }
    Term& element = draft.element(position);
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
    Draft draft(old != nullptr ? old->tuple() : otherwise);
    if (old == nullptr) {
        if (draft.arity() < t->keypos) {
            // OTP's hash tables know nothing to say about an empty tuple.
            return t->stores.hash && draft.arity() == 0 ? stdlib_badarg(p)
                                                        : badarg_because(p, position_cause());
        }
        draft.element(t->keypos) = a[1];
    }
    Term result;
    if (is_list(ops)) {
        std::vector<Term> values;
        Term list = ops;
        for (; is_cons(list); list = tail(list)) {
            const Term value =
                is_tuple(head(list)) ? update_one(p, *t, draft, head(list)) : stdlib_badarg(p);
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
        result = update_one(p, *t, draft, ops);
        if (!is_value(result)) {
            return kNonValue;
        }
    }
    store(*t, old, draft);
    return result;
}
Term ets_update_counter_3(Process& p, const Term* a) {
    return update_counter(p, a, kNonValue);
}
Term ets_update_counter_4(Process& p, const Term* a) {
    return update_counter(p, a, a[3]);
}

// With `otherwise` (a tuple) a new object is made of it where there is none.
Term update_element(Process& p, const Term* a, Term otherwise) {
    Locked t(p, a[0], Access::write, true);
    if (!t) {
        return bad_table(p, t.failure());
    }
    if (!has_single_keys(*t)) {
        return stdlib_badarg(p);
    }
    if (is_value(otherwise) && !is_tuple(otherwise)) {
        return badarg_because(p, atom_table::intern("default"));
    }
    Object* old = find(*t, a[1]);
    if (old == nullptr && !is_value(otherwise)) {
        return atoms::false_;
    }
    const Term changes = is_tuple(a[2]) ? cons(p.heap, a[2], kNil) : a[2];
    Term list = changes;
    // The shape of all comes before the positions.
    for (; is_cons(list); list = tail(list)) {
        if (!is_tuple_of(head(list), 2)) {
            return stdlib_badarg(p);
        }
    }
    if (!is_nil(list)) {
        return stdlib_badarg(p);
    }
    Draft draft(old != nullptr ? old->tuple() : otherwise);
    if (old == nullptr) {
        if (draft.arity() < t->keypos) {
            return badarg_because(p, position_cause());
        }
        draft.element(t->keypos) = a[1];
    }
    for (list = changes; is_cons(list); list = tail(list)) {
        const Term where = tuple_element(head(list), 0);
        if (!is_small(where) || small_value(where) < 1 ||
            static_cast<size_t>(small_value(where)) > draft.arity()) {
            return stdlib_badarg(p);
        }
        const size_t position = static_cast<size_t>(small_value(where));
        if (position == t->keypos) {
            return badarg_because(p, atoms::keypos);
        }
        draft.element(position) = tuple_element(head(list), 1);
    }
    store(*t, old, draft);
    return atoms::true_;
}
Term ets_update_element_3(Process& p, const Term* a) {
    return update_element(p, a, kNonValue);
}
Term ets_update_element_4(Process& p, const Term* a) {
    return update_element(p, a, a[3]);
}

// ---- iterating ----------------------------------------------------------------------------------

// What is told of the object that was found: its key, or {Key, Objects} (ets:first_lookup/1 and so on).
enum class Tell : uint8_t { key, objects };
Term key_or_end(Process& p, const Table& t, const Object* o, Tell tell) {
    if (o == nullptr) {
        return atoms::end_of_table;
    }
    const Term key = copy_out(p, o->key(t.keypos));
    if (tell == Tell::key) {
        return key;
    }
    const Term objects =
        list_of_key(p, t, o->key(t.keypos), [&](const Object* x) { return copy_out(p, x->tuple()); });
    return make_tuple(p.heap, key, objects);
}

// The first object that is not marked in chain i or a later one.
const Object* first_from(const HashStore& hash, size_t i) {
    for (; i < hash.chains(); i++) {
        for (const Object* o = hash.first_in_chain(i); o != nullptr; o = o->link[0]) {
            if (!o->deleted) {
                return o;
            }
        }
    }
    return nullptr;
}

Term end_key(Process& p, const Term* a, bool last, Tell tell) {
    Locked t(p, a[0], Access::read, false);
    if (!t) {
        return bad_table(p, t.failure());
    }
    if (t->stores.hash) {
        return key_or_end(p, *t, first_from(*t->stores.hash, 0), tell);
    }
    return key_or_end(p, *t, last ? t->stores.tree->last() : t->stores.tree->first(), tell);
}
Term ets_first_1(Process& p, const Term* a) {
    return end_key(p, a, false, Tell::key);
}
Term ets_last_1(Process& p, const Term* a) {
    return end_key(p, a, true, Tell::key);
}
Term ets_first_lookup_1(Process& p, const Term* a) {
    return end_key(p, a, false, Tell::objects);
}
Term ets_last_lookup_1(Process& p, const Term* a) {
    return end_key(p, a, true, Tell::objects);
}

Term neighbour_key(Process& p, const Term* a, bool back, Tell tell) {
    Locked t(p, a[0], Access::read, false);
    if (!t) {
        return bad_table(p, t.failure());
    }
    if (t->stores.tree) {
        if (a[1] == atoms::end_of_table) {
            return stdlib_badarg(p);  // what came behind the last key: no key to OTP, even if there is such a one
        }
        const TreeStore& tree = *t->stores.tree;
        return key_or_end(p, *t, back ? tree.previous(a[1]) : tree.next(a[1]), tell);
    }
    const HashStore& hash = *t->stores.hash;
    const Object* o = hash.find_any(a[1]);
    if (o == nullptr) {
        return stdlib_badarg(p);
    }
    const uint32_t value = o->hash;
    while (o != nullptr &&
           ((o->hash == value && exact_equal(o->key(t->keypos), a[1])) || o->deleted)) {
        o = o->link[0];
    }
    return key_or_end(p, *t, o != nullptr ? o : first_from(hash, hash.chain_of(value) + 1), tell);
}
Term ets_next_2(Process& p, const Term* a) {
    return neighbour_key(p, a, false, Tell::key);
}
Term ets_prev_2(Process& p, const Term* a) {
    return neighbour_key(p, a, true, Tell::key);
}
Term ets_next_lookup_2(Process& p, const Term* a) {
    return neighbour_key(p, a, false, Tell::objects);
}
Term ets_prev_lookup_2(Process& p, const Term* a) {
    return neighbour_key(p, a, true, Tell::objects);
}

Term ets_slot_2(Process& p, const Term* a) {
    Locked t(p, a[0], Access::read, false);
    if (!t) {
        return bad_table(p, t.failure());
    }
    if (!is_small(a[1]) || small_value(a[1]) < 0) {
        return stdlib_badarg(p);
    }
    const size_t n = static_cast<size_t>(small_value(a[1]));
    const size_t slots = t->stores.hash ? t->stores.hash->chains() : t->stores.tree->size();
    if (n >= slots) {
        return n == slots ? atoms::end_of_table : stdlib_badarg(p);
    }
    Term list = kNil;
    if (t->stores.tree) {
        return cons(p.heap, copy_out(p, t->stores.tree->nth(n)->tuple()), list);
    }
    for (const Object* o = t->stores.hash->first_in_chain(n); o != nullptr; o = o->link[0]) {
        if (!o->deleted) {
            list = cons(p.heap, copy_out(p, o->tuple()), list);
        }
    }
    return list;
}

// ---- info ---------------------------------------------------------------------------------------

Term safe_fixed(Process& p, const Table& t, bool monotonic) {
    if (t.fixations.empty()) {
        return atoms::false_;
    }
    Term list = kNil;
    for (size_t i = t.fixations.size(); i-- > 0;) {
        list = cons(p.heap,
                    make_tuple(p.heap, t.fixations[i].pid,
                               make_small(static_cast<int64_t>(t.fixations[i].count))),
                    list);
    }
    if (monotonic) {
        return make_tuple(p.heap, make_integer(p.heap, t.fixed_since), list);
    }
    static const BifDef* offset =
        bif_registry::find(atoms::erlang, atom_table::intern("time_offset"), 0);
    int64_t offset_ns = 0;
    get_int64(offset->fn(p, nullptr), &offset_ns);
    const int64_t us = (t.fixed_since + offset_ns) / 1000;
    const Term when = make_tuple(p.heap, make_small(us / 1000000000000),
                                 make_small(us / 1000000 % 1000000), make_small(us % 1000000));
    return make_tuple(p.heap, when, list);
}

// [{Address, Bytes, References}] of the reference-counted binaries in the table.
Term binaries_of(Process& p, const Table& t) {
    Term list = kNil;
    const auto add = [&](const Object* o) {
        for (Term* x = o->off_heap; x != nullptr; x = *off_heap_next(x)) {
            if (header_kind(x->raw) == Kind::bin_ref) {
                const auto* b = reinterpret_cast<const RefBinary*>(x[1].raw);
                // relaxed: a figure.
                const size_t refs = b->refs.load(std::memory_order_relaxed);
                list = cons(
                    p.heap,
                    make_tuple(p.heap, make_unsigned(p.heap, x[1].raw),
                               make_unsigned(p.heap, b->size_bytes), make_unsigned(p.heap, refs)),
                    list);
            }
        }
    };
    if (t.stores.tree) {
        for (size_t i = 0; i < t.stores.tree->size(); i++) {
            add(t.stores.tree->nth(i));
        }
        return list;
    }
    for (size_t i = 0; i < t.stores.hash->chains(); i++) {
        for (const Object* o = t.stores.hash->first_in_chain(i); o != nullptr; o = o->link[0]) {
            add(o);  // even if it is deleted, and the table fixed: it still holds them
        }
    }
    return list;
}

// Length of the chains: {chains, average, deviation, expected deviation, shortest, longest, kept
// fixed}.
Term chain_statistics(Process& p, const Table& t) {
    if (t.stores.tree) {
        return atoms::false_;
    }
    const HashStore& hash = *t.stores.hash;
    const double chains = static_cast<double>(hash.chains());
    double squares = 0;
    size_t shortest = ~size_t{0};
    size_t longest = 0;
    for (size_t i = 0; i < hash.chains(); i++) {
        size_t n = 0;
        for (const Object* o = hash.first_in_chain(i); o != nullptr; o = o->link[0]) {
            n++;
        }
        squares += static_cast<double>(n) * static_cast<double>(n);
        shortest = std::min(shortest, n);
        longest = std::max(longest, n);
    }
    const double items = static_cast<double>(hash.size() + hash.kept());
    const double average = items / chains;
    const double deviation = __builtin_sqrt((squares - average * items) / chains);
    const double expected = __builtin_sqrt(average * (1 - 1 / chains));
    return make_tuple(p.heap, make_small(static_cast<int64_t>(hash.chains())),
                      make_float(p.heap, average), make_float(p.heap, deviation),
                      make_float(p.heap, expected), make_small(static_cast<int64_t>(shortest)),
                      make_small(static_cast<int64_t>(longest)),
                      make_small(static_cast<int64_t>(hash.kept())), make_small(1));
}

// The items of info/1, in OTP's order.
Term info_item(Process& p, Table& t, Term item) {
    if (item == id_atom()) {
        return reference(p.heap, t);
    }
    if (item == atoms::decentralized_counters) {
        return make_bool(t.decentralized_counters);
    }
    if (item == atoms::read_concurrency) {
        return make_bool(t.read_concurrency);
    }
    if (item == atoms::write_concurrency) {
        return is_small(t.write_concurrency) ? make_tuple(p.heap, fixed_locks(), t.write_concurrency)
                                             : t.write_concurrency;
    }
    if (item == compressed_atom()) {
        return make_bool(t.compressed);
    }
    if (item == atoms::memory) {
        return make_unsigned(p.heap, memory_words(t));
    }
    if (item == owner_atom()) {
        return t.owner;
    }
    if (item == atoms::heir) {
        return is_value(t.heir) ? t.heir : atoms::none;
    }
    if (item == atoms::name) {
        return t.name;
    }
    if (item == atoms::size) {
        return make_unsigned(p.heap, t.size());
    }
    if (item == atoms::node) {
        return bif_registry::find(atoms::erlang, atoms::node, 0)->fn(p, nullptr);
    }
    if (item == atoms::named_table) {
        return make_bool(t.named);
    }
    if (item == atoms::type) {
        return type_atom(t.type);
    }
    if (item == atoms::keypos) {
        return make_small(static_cast<int64_t>(t.keypos));
    }
    if (item == protection_atom()) {
        return protection_value(t.protection);
    }
    return kNonValue;
}

Term ets_info_1(Process& p, const Term* a) {
    Locked t(p, a[0], Access::ask, false);
    if (!t) {
        return t.failure() == Failure::id ? atoms::undefined : bad_table(p, t.failure());
    }
    const Term items[] = {id_atom(),
                          atoms::decentralized_counters,
                          atoms::read_concurrency,
                          atoms::write_concurrency,
                          compressed_atom(),
                          atoms::memory,
                          owner_atom(),
                          atoms::heir,
                          atoms::name,
                          atoms::size,
                          atoms::node,
                          atoms::named_table,
                          atoms::type,
                          atoms::keypos,
                          protection_atom()};
    Term list = kNil;
    for (size_t i = std::size(items); i-- > 0;) {
        list = cons(p.heap, make_tuple(p.heap, items[i], info_item(p, *t, items[i])), list);
    }
    return list;
}

Term ets_info_2(Process& p, const Term* a) {
    static const Term fixed = atom_table::intern("fixed");
    static const Term safe = atom_table::intern("safe_fixed");
    static const Term monotonic = atom_table::intern("safe_fixed_monotonic_time");
    static const Term stats = atom_table::intern("stats");
    Locked t(p, a[0], Access::ask, false);
    if (!t) {
        return t.failure() == Failure::id ? atoms::undefined : bad_table(p, t.failure());
    }
    Term value = info_item(p, *t, a[1]);
    if (a[1] == fixed) {
        value = make_bool(!t->fixations.empty());
    } else if (a[1] == safe || a[1] == monotonic) {
        value = safe_fixed(p, *t, a[1] == monotonic);
    } else if (a[1] == stats) {
        value = chain_statistics(p, *t);
    } else if (a[1] == atoms::binary) {
        value = binaries_of(p, *t);
    }
    return is_value(value) ? value : stdlib_badarg(p);
}

}  // namespace

MINIVM_BIF_TABLE(ets) = {
    {"ets", "new", 2, ets_new_2, kBifPlain, nullptr},
    {"ets", "delete", 1, ets_delete_1, kBifPlain, nullptr},
    {"ets", "delete_trap", 1, ets_free_continue<go_on_freeing>, kBifHidden, nullptr},
    {"ets", "internal_delete_all", 2, ets_internal_delete_all_2, kBifPlain, nullptr},
    {"ets", "internal_delete_all", 2, ets_free_continue<go_on_clearing>, kBifHidden, nullptr},
    {"ets", "rename", 2, ets_rename_2, kBifPlain, nullptr},
    {"ets", "give_away", 3, ets_give_away_3, kBifPlain, nullptr},
    {"ets", "setopts", 2, ets_setopts_2, kBifPlain, nullptr},
    {"ets", "safe_fixtable", 2, ets_safe_fixtable_2, kBifPlain, nullptr},
    {"ets", "whereis", 1, ets_whereis_1, kBifPlain, nullptr},
    {"ets", "internal_request_all", 0, ets_internal_request_all_0, kBifPlain, nullptr},
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
    {"ets", "first_lookup", 1, ets_first_lookup_1, kBifPlain, nullptr},
    {"ets", "last_lookup", 1, ets_last_lookup_1, kBifPlain, nullptr},
    {"ets", "next_lookup", 2, ets_next_lookup_2, kBifPlain, nullptr},
    {"ets", "prev_lookup", 2, ets_prev_lookup_2, kBifPlain, nullptr},
    {"ets", "first", 1, ets_first_1, kBifPlain, nullptr},
    {"ets", "last", 1, ets_last_1, kBifPlain, nullptr},
    {"ets", "next", 2, ets_next_2, kBifPlain, nullptr},
    {"ets", "prev", 2, ets_prev_2, kBifPlain, nullptr},
    {"ets", "slot", 2, ets_slot_2, kBifPlain, nullptr},
    {"ets", "info", 1, ets_info_1, kBifPlain, nullptr},
    {"ets", "info", 2, ets_info_2, kBifPlain, nullptr},
};

}  // namespace minivm
