#include "vm/bif/processes/options.hpp"

#include "vm/bif/bif.hpp"
#include "vm/process/process_life.hpp"
#include "vm/process/signal.hpp"
#include "vm/term/local_atoms.hpp"
#include "vm/term/map.hpp"
#include "vm/util/otp_release.hpp"

namespace minivm {

namespace {

LOCAL_ATOM(atom_include_shared, "include_shared_binaries")

bool parse_alias_kind(Term t, uint8_t* out) {
    if (t == atoms::explicit_unalias) {
        *out = static_cast<uint8_t>(AliasKind::explicit_unalias);
    } else if (t == atoms::demonitor) {
        *out = static_cast<uint8_t>(AliasKind::demonitor);
    } else if (t == atoms::reply_demonitor) {
        *out = static_cast<uint8_t>(AliasKind::reply_demonitor);
    } else {
        return false;
    }
    return true;
}

}  // namespace

bool parse_priority(Term t, Priority* out) {
    if (t == atoms::normal) {
        *out = Priority::normal;
    } else if (t == atoms::low) {
        *out = Priority::low;
    } else if (t == atoms::high) {
        *out = Priority::high;
    } else if (t == atoms::max) {
        *out = Priority::max;
    } else {
        return false;
    }
    return true;
}

Term priority_atom(Priority priority) {
    switch (priority) {
        case Priority::max:
            return atoms::max;
        case Priority::high:
            return atoms::high;
        case Priority::low:
            return atoms::low;
        case Priority::normal:
            break;
    }
    return atoms::normal;
}

MaxHeap default_max_heap() {
    // relaxed: settings of the machine; a process may see a change late.
    constexpr auto kRelaxed = std::memory_order_relaxed;
    const SpawnDefaults& d = g_spawn_defaults;
    return {d.max_heap_words.load(kRelaxed), d.max_heap_kill.load(kRelaxed), d.max_heap_log.load(kRelaxed),
            d.max_heap_shared.load(kRelaxed)};
}

bool parse_max_heap(Term t, MaxHeap* out) {
    *out = default_max_heap();
    const Term size = is_map(t) ? map::get(t, atoms::size) : t;
    if (!is_value(size) || !is_small(size) || small_value(size) < 0) {
        return false;
    }
    out->words = static_cast<uint64_t>(small_value(size));
    if (!is_map(t)) {
        return true;
    }
    const auto flag = [t](Term key, bool* value) {
        const Term v = map::get(t, key);
        if (!is_value(v)) {
            return true;
        }
        *value = v == atoms::true_;
        return is_bool(v);
    };
    return flag(atoms::kill, &out->kill) && flag(atoms::error_logger, &out->log) &&
           (!by_release::at_least(26) || flag(atom_include_shared(), &out->shared));
}

Term max_heap_term(Heap& h, uint64_t words, bool kill, bool log, bool shared) {
    Term keys[4] = {atoms::error_logger, atoms::kill, atoms::size, atom_include_shared()};
    Term values[4] = {make_bool(log), make_bool(kill), make_unsigned(h, words), make_bool(shared)};
    return map::from_pairs(h, keys, values, by_release::at_least(26) ? 4 : 3);
}

bool takes_priority_only(Term list, bool* priority) {
    for (; is_cons(list) && head(list) == atoms::priority; list = tail(list)) {
        *priority = true;
    }
    return is_nil(list);
}

bool parse_monitor_options(Term list, uint8_t* alias, Term* tag, bool* priority) {
    for (; is_cons(list); list = tail(list)) {
        const Term o = head(list);
        if (o == atoms::priority && by_release::at_least(28)) {
            *priority = true;
            continue;
        }
        if (!is_tuple_of(o, 2)) {
            return false;
        }
        if (tuple_element(o, 0) == atoms::tag) {
            *tag = tuple_element(o, 1);
        } else if (tuple_element(o, 0) != atoms::alias ||
                   !parse_alias_kind(tuple_element(o, 1), alias)) {
            return false;
        }
    }
    return is_nil(list);
}

bool check_mfa(const Term* a) {
    return is_atom(a[0]) && is_atom(a[1]) && list_length(a[2]) >= 0;
}

}  // namespace minivm
