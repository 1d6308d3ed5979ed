// erlang:system_monitor/0,1,2.
#include "vm/process/system_monitor.hpp"

#include "vm/bif/bif.hpp"
#include "vm/process/process_table.hpp"

namespace minivm {
namespace {

Term set_monitor(Process& p, Term pid, Term list) {
    system_monitor::Settings s;
    if (pid != atoms::undefined && !is_nil(list)) {
        s.pid = pid;
        if (!is_local_pid(pid) || process_table::lookup(pid) == nullptr) {
            return badarg(p);
        }
        for (; is_cons(list); list = tail(list)) {
            if (!system_monitor::change(head(list), &s)) {
                return badarg(p);
            }
        }
        if (!is_nil(list)) {
            return badarg(p);
        }
    }
    const Term old = system_monitor::monitor_of(p.heap, system_monitor::settings(0));
    system_monitor::set(0, s);
    return old;
}

Term erlang_system_monitor_0(Process& p, const Term*) {
    return system_monitor::monitor_of(p.heap, system_monitor::settings(0));
}
Term erlang_system_monitor_1(Process& p, const Term* a) {
    if (a[0] == atoms::undefined) {
        return set_monitor(p, a[0], kNil);
    }
    return is_tuple_of(a[0], 2) ? set_monitor(p, tuple_element(a[0], 0), tuple_element(a[0], 1))
                                : badarg(p);
}
Term erlang_system_monitor_2(Process& p, const Term* a) {
    return set_monitor(p, a[0], a[1]);
}

}  // namespace

MINIVM_BIF_TABLE(system_monitor) = {
    {"erlang", "system_monitor", 0, erlang_system_monitor_0, kBifPlain, nullptr},
    {"erlang", "system_monitor", 1, erlang_system_monitor_1, kBifPlain, nullptr},
    {"erlang", "system_monitor", 2, erlang_system_monitor_2, kBifPlain, nullptr},
};

}  // namespace minivm
