// BIFs that make, hand over, fix and delete tables of ets. Match specifications are in ets_select.cpp.
#include "vm/bif/bif.hpp"
#include "vm/bif/ets/ets_support.hpp"
#include "vm/process/continuation.hpp"
#include "vm/process/signal.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/term/local_atoms.hpp"
#include "vm/util/otp_release.hpp"

#include <algorithm>
#include <bit>
#include <ctime>

namespace minivm {

using namespace ets;

namespace {

LOCAL_ATOM(already_exists, "already_exists")

bool get_protection(Term t, Protection* out) {
    if (t == atoms::public_ || t == atoms::protected_ || t == atoms::private_) {
        *out = t == atoms::public_      ? Protection::public_
               : t == atoms::protected_ ? Protection::protected_
                                        : Protection::private_;
        return true;
    }
    return false;
}

// {heir, Pid}: the heir gets no message.
bool is_silent_heir(Term value) { return by_release::at_least(28) && is_local_pid(value); }

// {debug_hash_fixed_number_of_locks, N}
bool is_number_of_locks(Term value) {
    constexpr int64_t kMostLocks = 32768;
    return is_tuple_of(value, 2) && tuple_element(value, 0) == atoms::debug_hash_fixed_number_of_locks &&
           is_small(tuple_element(value, 1)) && small_value(tuple_element(value, 1)) > 0 &&
           small_value(tuple_element(value, 1)) <= kMostLocks;
}

bool get_option(Term t, Options* o) {
    if (t == atoms::set) {
        o->type = Type::set;
    } else if (t == atoms::ordered_set) {
        o->type = Type::ordered_set;
    } else if (t == atoms::bag) {
        o->type = Type::bag;
    } else if (t == atoms::duplicate_bag) {
        o->type = Type::duplicate_bag;
    } else if (t == atoms::named_table) {
        o->named = true;
    } else if (t == atoms::compressed) {
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
            // For info/2 and the order of the chains; a table has one lock here.
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
        o.write_concurrency = atoms::false_;  // nobody writes at the same time
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

// Continuations have the names that they have in OTP: tracers and process_info/2 show them.

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

// Continues with what remains after a slice.
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
    // Frees small tables at once.
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
        return badarg_because(p, atoms::owner);
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
        } else if (is_tuple_of(option, 2) && tuple_element(option, 0) == atoms::protection &&
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

// In OTP every scheduler answers with its tables; here the first answer has all of them.
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
    for (Table* t : tables) {
        t->release();
    }
    consume(p, static_cast<int64_t>(tables.size() / 8));
    return ref;
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
};

}  // namespace minivm
