// BIFs that spawn processes.
#include "vm/bif/bif.hpp"
#include "vm/bif/processes/options.hpp"
#include "vm/bif/processes/requests.hpp"
#include "vm/code/export.hpp"
#include "vm/dist/peer.hpp"
#include "vm/process/nodes.hpp"
#include "vm/process/process_life.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/report.hpp"
#include "vm/process/seq_trace.hpp"
#include "vm/process/signal.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/term/local_atoms.hpp"
#include "vm/util/otp_release.hpp"

#include <algorithm>
#include <limits>

namespace minivm {

namespace {

LOCAL_ATOM(atom_error_only, "error_only")
LOCAL_ATOM(atom_success_only, "success_only")

enum class Reply : uint8_t { yes, no, error_only, success_only };

// What spawn_request takes beside the options of spawn_opt.
struct RequestOptions {
    Reply reply = Reply::yes;
    Term tag = atoms::spawn_reply;
};

struct AllOptions {
    SpawnOptions* spawn;
    RequestOptions* request;  // null: spawn_opt
};

template <typename T>
bool heap_words(Term value, T* out) {
    if (!is_small(value) || small_value(value) < 0) {
        return false;
    }
    *out = static_cast<T>(std::min<uint64_t>(static_cast<uint64_t>(small_value(value)), std::numeric_limits<T>::max()));
    return true;
}

bool take_reply(Term value, RequestOptions* request) {
    const std::pair<Term, Reply> replies[] = {{atoms::yes, Reply::yes},
                                              {atoms::no, Reply::no},
                                              {atom_error_only(), Reply::error_only},
                                              {atom_success_only(), Reply::success_only}};
    for (const auto& [name, reply] : replies) {
        if (value == name) {
            request->reply = reply;
            return true;
        }
    }
    return false;
}

bool take_max_heap(Term value, SpawnOptions* o) {
    MaxHeap max;
    o->has_max_heap = parse_max_heap(value, &max);
    o->max_heap_words = max.words;
    o->max_heap_kill = max.kill;
    o->max_heap_log = max.log;
    o->max_heap_shared = max.shared;
    return o->has_max_heap;
}

// {Name, Value}: `take` stores the value; false: it is no value of this option.
struct SpawnOption {
    Term name;
    unsigned since;  // OTP's release
    bool (*take)(Term value, const AllOptions& o);
};
constexpr SpawnOption kSpawnOptions[] = {
    {atoms::monitor, 0,
     [](Term v, const AllOptions& o) {
         o.spawn->monitor = true;
         return parse_monitor_options(v, &o.spawn->monitor_alias, &o.spawn->monitor_tag,
                                      &o.spawn->monitor_priority);
     }},
    {atoms::link, 28,
     [](Term v, const AllOptions& o) {
         o.spawn->link = true;
         return takes_priority_only(v, &o.spawn->link_priority);
     }},
    {atoms::priority, 0, [](Term v, const AllOptions& o) { return parse_priority(v, &o.spawn->priority); }},
    {atoms::message_queue_data, 0,
     [](Term v, const AllOptions& o) {
         o.spawn->message_queue_off_heap = v == atoms::off_heap;
         return v == atoms::off_heap || v == atoms::on_heap;
     }},
    {atoms::max_heap_size, 0, [](Term v, const AllOptions& o) { return take_max_heap(v, o.spawn); }},
    {atoms::async_dist, 26,
     [](Term v, const AllOptions& o) {
         o.spawn->async_dist = v == atoms::true_;
         return is_bool(v);
     }},
    {atoms::scheduler, 0,
     [](Term v, const AllOptions& o) {
         return small_in(v, 0, static_cast<uint32_t>(vm::scheduler_count()), &o.spawn->bound_to);
     }},
    {atoms::min_heap_size, 0, [](Term v, const AllOptions& o) { return heap_words(v, &o.spawn->min_heap_words); }},
    {atoms::min_bin_vheap_size, 0,
     [](Term v, const AllOptions& o) { return heap_words(v, &o.spawn->min_bin_vheap_words); }},
    {atoms::fullsweep_after, 0,
     [](Term v, const AllOptions& o) {
         if (!is_small(v) || small_value(v) < 0) {
             return false;
         }
         o.spawn->has_fullsweep_after = true;
         const auto n = static_cast<uint64_t>(small_value(v));
         o.spawn->fullsweep_after = std::min<uint64_t>(n, 0xFFFFFFFF) & 0xFFFF;  // OTP keeps 16 bits
         return true;
     }},
    {atoms::reply, 0,
     [](Term v, const AllOptions& o) { return o.request != nullptr && take_reply(v, o.request); }},
    {atoms::reply_tag, 0,
     [](Term v, const AllOptions& o) {
         if (o.request != nullptr) {
             o.request->tag = v;
         }
         return o.request != nullptr;
     }},
};

bool parse_spawn_option(Term option, SpawnOptions* out, RequestOptions* request) {
    if (option == atoms::link || option == atoms::monitor) {
        (option == atoms::link ? out->link : out->monitor) = true;
        return true;
    }
    if (!is_tuple_of(option, 2)) {
        return false;
    }
    for (const SpawnOption& known : kSpawnOptions) {
        if (known.name == tuple_element(option, 0)) {
            out->looks_at_vheap |= known.name == atoms::min_heap_size || known.name == atoms::priority ||
                                   known.name == atoms::fullsweep_after || known.name == atoms::max_heap_size ||
                                   known.name == atoms::scheduler;
            return by_release::at_least(known.since) && known.take(tuple_element(option, 1), {out, request});
        }
    }
    return false;
}

bool parse_spawn_options(Term list, SpawnOptions* out, RequestOptions* request);
// vm/dist, a floor below, calls parse_spawn_options() when other nodes ask for a spawn.
[[maybe_unused]] const bool kTellsDist =
    (dist::g_parse_spawn_options = [](Term list, SpawnOptions* out) { return parse_spawn_options(list, out, nullptr); },
     true);

// Whether the largest heap may be as large as the least one.
bool has_room(const SpawnOptions& o) {
    MaxHeap max = default_max_heap();
    if (o.has_max_heap) {
        max.words = o.max_heap_words;
    }
    return !is_below(max, least_heap_words(o.min_heap_words));
}

bool parse_spawn_options(Term list, SpawnOptions* out, RequestOptions* request) {
    for (; is_cons(list); list = tail(list)) {
        if (!parse_spawn_option(head(list), out, request)) {
            return false;
        }
    }
    return is_nil(list) && has_room(*out);
}

// The list is proper. All of it is read: the options of the reply may stand behind a wrong one.
bool parse_request_options(Term list, SpawnOptions* out, RequestOptions* request) {
    bool good = true;
    for (; is_cons(list); list = tail(list)) {
        good &= parse_spawn_option(head(list), out, request);
    }
    return good && has_room(*out);
}

// {Tag, Ref, error, Why}, unless the request wants no such reply.
void reply_to_request(Process& p, const RequestOptions& request, RefId ref, Term why) {
    if (request.reply == Reply::yes || request.reply == Reply::error_only) {
        Heap h;
        const Term tag = copy_term(request.tag, h, true);
        send_message_to_pid(p.id, make_tuple(h, tag, make_ref_term(h, ref), atoms::error, why));
    }
}

Term spawn_mfa(Process& p, const Term* a, SpawnOptions& o) {
    consume(p, 100);
    const int64_t arity = list_length(a[2]);
    if (arity <= kMaxArguments) {
        return spawn(&p, export_table::get(a[0], a[1], static_cast<uint32_t>(arity)), a[2], o);
    }
    // No function has so many arguments: the process fails as apply/3 does.
    static const Export* apply = export_table::get(atoms::erlang, atoms::apply, 3);
    Term cells[6];
    const Term args =
        put_cons(cells, a[0], put_cons(cells + 2, a[1], put_cons(cells + 4, a[2], kNil)));
    return spawn(&p, apply, args, o);
}

Term too_many_processes(Process& p) {
    report_text(p, ReportLevel::error, "Too many processes\n");
    return system_limit(p);
}

Term do_spawn(Process& p, const Term* a, SpawnOptions& o) {
    const Term pid = spawn_mfa(p, a, o);
    return is_value(pid) ? pid : too_many_processes(p);
}

Term erlang_spawn_3(Process& p, const Term* a) {
    if (!check_mfa(a)) {
        return badarg(p);
    }
    SpawnOptions o;
    return do_spawn(p, a, o);
}

Term erlang_spawn_link_3(Process& p, const Term* a) {
    if (!check_mfa(a)) {
        return badarg(p);
    }
    SpawnOptions o;
    o.link = true;
    Term cell[2];
    o.option_list = put_cons(cell, atoms::link, kNil);
    return do_spawn(p, a, o);
}

Term erlang_spawn_opt_4(Process& p, const Term* a) {
    SpawnOptions o;
    if (!check_mfa(a)) {
        return badarg(p);
    }
    if (!parse_spawn_options(a[3], &o, nullptr)) {
        return badarg_cause(p, atoms::badopt);
    }
    o.option_list = a[3];
    const Term pid = do_spawn(p, a, o);
    if (!is_value(pid) || !o.monitor) {
        return pid;
    }
    return make_tuple(p.heap, pid, make_ref_term(p.heap, o.monitor_ref));
}

Term erts_internal_spawn_request_4(Process& p, const Term* a) {
    SpawnOptions o;
    RequestOptions request;
    if (!check_mfa(a)) {
        return atoms::badarg;
    }
    if (list_length(a[3]) < 0) {
        return atoms::badopt;
    }
    if (!parse_request_options(a[3], &o, &request)) {
        const RefId bad = new_ref_id(p);
        reply_to_request(p, request, bad, atoms::badopt);
        return make_ref_term(p.heap, bad);
    }
    if (o.monitor && o.monitor_alias != 0) {
        o.monitor_ref = new_alias_id(p);
    } else {
        o.monitor_ref = new_ref_id(p);
    }
    const RefId ref = o.monitor_ref;
    // The reply must be in the queue before anything the child can cause.
    o.context = &request;
    o.option_list = a[3];
    o.reply_tag = request.tag;
    o.replies = true;
    o.before_start = [](Process* parent, Process& child, SpawnOptions& options, void* context) {
        const auto& r = *static_cast<RequestOptions*>(context);
        if (r.reply == Reply::yes || r.reply == Reply::success_only) {
            Heap h;
            const Term tag = copy_term(r.tag, h, true);
            const Term reply =
                make_tuple(h, tag, make_ref_term(h, options.monitor_ref), atoms::ok, child.id);
            send_message_to_pid(parent->id, reply, seq_trace::replying(child, *parent, reply));
        }
    };
    const Term pid = spawn_mfa(p, a, o);
    if (!is_value(pid)) {
        report_text(p, ReportLevel::error, "Too many processes\n");
        reply_to_request(p, request, ref, atoms::system_limit);
    }
    return make_ref_term(p.heap, ref);
}

// The options that the other node sees: monitors, links and replies with their own options stay on this one.
Term options_for_other_node(Heap& h, Term list) {
    std::vector<Term> kept;
    for (; is_cons(list); list = tail(list)) {
        const Term option = head(list);
        const Term name = is_tuple(option) ? tuple_element(option, 0) : option;
        if (name == atoms::link || name == atoms::monitor) {
            kept.push_back(name);
        } else if (name != atoms::reply && name != atoms::reply_tag) {
            kept.push_back(option);
        }
    }
    return list_of(h, kept);
}

// erts_internal:dist_spawn_request(Node, {M, F, A}, Options, spawn_request | spawn_opt)
Term erts_internal_dist_spawn_request_4(Process& p, const Term* a) {
    SpawnOptions o;
    RequestOptions request;
    if (!is_atom(a[0]) || !is_tuple_of(a[1], 3) || !check_mfa(tuple_elements(a[1])) ||
        list_length(a[2]) < 0) {
        return atoms::badarg;
    }
    const bool is_call = a[3] == atoms::spawn_opt;  // its caller waits for the reply, whatever the options say
    const bool parsed = parse_request_options(a[2], &o, &request);
    const bool has_alias = o.monitor && o.monitor_alias != 0;
    const RefId ref = parsed && has_alias ? new_alias_id(p) : new_ref_id(p);
    Term failure = parsed ? kNonValue : atoms::badopt;
    if (parsed) {
        dist::SpawnRequest wanted;
        wanted.link = o.link;
        wanted.link_priority = o.link_priority;
        wanted.monitor = o.monitor;
        wanted.monitor_tag = o.monitor_tag;
        wanted.monitor_alias = o.monitor_alias;
        wanted.monitor_priority = o.monitor_priority;
        wanted.replies_ok = is_call || request.reply == Reply::yes || request.reply == Reply::success_only;
        wanted.replies_error = is_call || request.reply == Reply::yes || request.reply == Reply::error_only;
        wanted.tag = is_call ? atoms::spawn_reply : request.tag;
        Heap h;
        failure = dist::spawn(p, ref, a[0], a[1], options_for_other_node(h, a[2]), wanted) ? kNonValue
                                                                                           : atoms::noconnection;
    }
    if (is_value(failure) && (is_call || request.reply == Reply::yes || request.reply == Reply::error_only)) {
        Heap h;
        const Term tag = is_call ? atoms::spawn_reply : copy_term(request.tag, h, true);
        send_message_to_pid(p.id, make_tuple(h, tag, make_ref_term(h, ref), atoms::error, failure));
    }
    const Term r = make_ref_term(p.heap, ref);
    return is_call ? make_tuple(p.heap, r, make_bool(o.monitor)) : r;
}

// A local spawn is never pending: only one on another node can be abandoned.
Term erlang_spawn_request_abandon_1(Process& p, const Term* a) {
    if (!is_reference(a[0])) {
        return badarg(p);
    }
    return make_bool(is_local_ref(a[0]) && dist::abandon(p, ref_id(a[0])));
}

Term erts_internal_spawn_system_process_3(Process& p, const Term* a) {
    if (!check_mfa(a)) {
        return badarg(p);
    }
    SpawnOptions o;
    o.system_process = true;
    return do_spawn(p, a, o);
}

Term erts_internal_is_system_process_1(Process& p, const Term* a) {
    if (is_former_pid(a[0])) {
        return atoms::false_;
    }
    if (!is_local_pid(a[0])) {
        return badarg(p);
    }
    // Set before the process starts, so any thread may read it.
    Process* q = process_table::lookup(a[0]);
    return make_bool(q != nullptr && q->system_process);
}

}  // namespace

MINIVM_BIF_TABLE(spawn) = {
    {"erlang", "spawn", 3, erlang_spawn_3, kBifPlain, nullptr},
    {"erlang", "spawn_link", 3, erlang_spawn_link_3, kBifPlain, nullptr},
    {"erlang", "spawn_opt", 4, erlang_spawn_opt_4, kBifPlain, nullptr},
    {"erts_internal", "spawn_request", 4, erts_internal_spawn_request_4, kBifPlain, nullptr},
    {"erts_internal", "dist_spawn_request", 4, erts_internal_dist_spawn_request_4, kBifPlain, nullptr},
    {"erlang", "spawn_request_abandon", 1, erlang_spawn_request_abandon_1, kBifPlain, nullptr},
    {"erts_internal", "spawn_system_process", 3, erts_internal_spawn_system_process_3, kBifPlain, nullptr},
    {"erts_internal", "is_system_process", 1, erts_internal_is_system_process_1, kBifPlain, nullptr},
};

}  // namespace minivm
