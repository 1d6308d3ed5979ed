// erlang:system_profile/0,2.
#include "vm/process/system_profile.hpp"

#include "vm/bif/bif.hpp"
#include "vm/process/tracing.hpp"

namespace minivm {
namespace {

// In the reverse of the order in which system_profile/0 lists them.
struct ProfileOption {
    Term name;
    uint32_t event;
    uint32_t timestamp;
};
constexpr ProfileOption kProfileOptions[] = {
    {atoms::runnable_ports, system_profile::kRunnablePorts, 0},
    {atoms::runnable_procs, system_profile::kRunnableProcs, 0},
    {atoms::scheduler, system_profile::kScheduler, 0},
    {atoms::exclusive, system_profile::kExclusive, 0},
    {atoms::timestamp, 0, tracing::kTimestamp},
    {atoms::monotonic_timestamp, 0, tracing::kMonotonicTimestamp},
    {atoms::strict_monotonic_timestamp, 0, tracing::kStrictMonotonicTimestamp},
};

bool parse_option(Term t, system_profile::Settings* s) {
    for (const ProfileOption& o : kProfileOptions) {
        if (t == o.name) {
            s->events |= o.event;
            s->timestamp = o.timestamp != 0 ? o.timestamp : s->timestamp;
            return true;
        }
    }
    return false;
}

Term profile_term(Heap& h) {
    const system_profile::Settings s = system_profile::settings();
    if (!is_value(s.profiler)) {
        return atoms::undefined;
    }
    Term list = kNil;
    for (const ProfileOption& o : kProfileOptions) {
        if ((s.events & o.event) != 0) {
            list = cons(h, o.name, list);
        }
    }
    return make_tuple(h, s.profiler, list);
}

Term erlang_system_profile_0(Process& p, const Term*) {
    return profile_term(p.heap);
}

Term erlang_system_profile_2(Process& p, const Term* a) {
    system_profile::Settings s;
    if (a[0] != atoms::undefined && !is_nil(a[1])) {
        s.profiler = a[0];
        s.timestamp = tracing::kTimestamp;
        if (!is_local_pid(s.profiler) || !tracing::tracer_exists(s.profiler)) {
            return badarg(p);
        }
        Term list = a[1];
        for (; is_cons(list); list = tail(list)) {
            if (!parse_option(head(list), &s)) {
                return badarg(p);
            }
        }
        if (!is_nil(list)) {
            return badarg(p);
        }
    }
    const Term old = profile_term(p.heap);
    system_profile::set(s);
    return old;
}

}  // namespace

MINIVM_BIF_TABLE(system_profile) = {
    {"erlang", "system_profile", 0, erlang_system_profile_0, kBifPlain, nullptr},
    {"erlang", "system_profile", 2, erlang_system_profile_2, kBifPlain, nullptr},
};

}  // namespace minivm
