// process_info/1,2, process_display/2.
//
// Another process answers by itself: the request is a signal, so it tells its state after all signals that
// the caller has sent it before. The caller looks at a process in a dirty function from outside.
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "vm/bif/bif.hpp"
#include "vm/bif/processes/backtrace.hpp"
#include "vm/bif/processes/options.hpp"
#include "vm/bif/processes/requests.hpp"
#include "vm/code_change/code_change.hpp"
#include "vm/code/export.hpp"
#include "vm/nif/nif.hpp"
#include "vm/process/dirty_hold.hpp"
#include "vm/process/exception.hpp"
#include "vm/process/literal_release.hpp"
#include "vm/process/process_life.hpp"
#include "vm/process/nodes.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/registry.hpp"
#include "vm/process/report.hpp"
#include "vm/process/seq_trace.hpp"
#include "vm/process/signal.hpp"
#include "vm/process/state.hpp"
#include "vm/process/tracing.hpp"
#include "vm/sched/online.hpp"
#include "vm/sched/scheduler_thread.hpp"
#include "vm/term/compare.hpp"
#include "vm/term/format.hpp"
#include "vm/term/local_atoms.hpp"
#include "vm/term/map.hpp"
#include "vm/term/this_node.hpp"
#include "vm/util/otp_release.hpp"

namespace minivm {

namespace {

LOCAL_ATOM(atom_backtrace, "backtrace")
LOCAL_ATOM(atom_bin_old_vheap_block_size, "bin_old_vheap_block_size")
LOCAL_ATOM(atom_bin_old_vheap_size, "bin_old_vheap_size")
LOCAL_ATOM(atom_bin_vheap_block_size, "bin_vheap_block_size")
LOCAL_ATOM(atom_bin_vheap_size, "bin_vheap_size")
LOCAL_ATOM(atom_minor_gcs, "minor_gcs")
LOCAL_ATOM(atom_process_label, "$process_label")

enum class Item : uint8_t {
    registered_name, current_function, initial_call, status, message_queue_len, messages, links,
    dictionary, trap_exit, error_handler, priority, group_leader, total_heap_size, heap_size,
    stack_size, reductions, garbage_collection, garbage_collection_info, suspending, memory,
    monitors, monitored_by, binary, catchlevel, backtrace, last_calls, current_location,
    current_stacktrace, min_heap_size, min_bin_vheap_size, max_heap_size, fullsweep_after,
    message_queue_data, parent, sequential_trace_token, magic_ref,
    async_dist, label, priority_messages,  // the youngest last
    count
};
constexpr int kItems = static_cast<int>(Item::count);

const Term* item_names() {
    static const Term names[kItems] = {
        atoms::registered_name, atoms::current_function, atoms::initial_call, atoms::status,
        atoms::message_queue_len, atoms::messages, atoms::links, atoms::dictionary,
        atoms::trap_exit, atoms::error_handler, atoms::priority, atoms::group_leader,
        atoms::total_heap_size, atoms::heap_size, atoms::stack_size, atoms::reductions,
        atoms::garbage_collection, atoms::garbage_collection_info, atoms::suspending,
        atoms::memory, atoms::monitors, atoms::monitored_by, atoms::binary, atoms::catchlevel,
        atom_backtrace(), atoms::last_calls, atoms::current_location, atoms::current_stacktrace,
        atoms::min_heap_size, atoms::min_bin_vheap_size, atoms::max_heap_size,
        atoms::fullsweep_after, atoms::message_queue_data, atoms::parent,
        atom_table::intern("sequential_trace_token"), atom_table::intern("magic_ref"), atoms::async_dist,
        atom_table::intern("label"), atom_table::intern("priority_messages")};
    return names;
}

// What process_info/1 shows, registered_name before it if there is one.
constexpr Item kDefaultItems[] = {
    Item::current_function, Item::initial_call, Item::status, Item::message_queue_len, Item::links,
    Item::dictionary, Item::trap_exit, Item::error_handler, Item::priority, Item::group_leader,
    Item::total_heap_size, Item::heap_size, Item::stack_size, Item::reductions,
    Item::garbage_collection, Item::suspending};

// {dictionary, Key}: the value of one key.
bool asks_for_key(Term name) {
    return by_release::at_least(26) && is_tuple_of(name, 2) && tuple_element(name, 0) == atoms::dictionary;
}

int first_release_of(Item item) {
    return item == Item::priority_messages ? 28
           : item == Item::label           ? 27
           : item == Item::async_dist      ? 26
                                           : 0;
}

bool find_item(Term name, Item* out) {
    if (asks_for_key(name)) {
        *out = Item::dictionary;
        return true;
    }
    const Term* names = item_names();
    for (int i = 0; i < kItems; ++i) {
        if (names[i] == name) {
            *out = static_cast<Item>(i);
            return by_release::at_least(first_release_of(*out));
        }
    }
    return false;
}

bool in_slice(const Process& p) { return reductions_left(p) != 0 || p.dirty_bif != nullptr; }

Term mfa(Heap& h, Term module, Term function, uint32_t arity) {
    return make_tuple(h, module, function, make_small(arity));
}

// The export entry that a process is about to enter; null: it is inside a function.
const Export* entry_ahead(const Process& p) {
    if (p.pc == nullptr || p.pc == &p.initial_call->stub[kStubCall]) {
        return p.initial_call;
    }
    if (p.trap_export != nullptr && p.pc == &p.trap_export->stub[kStubCall]) {
        return p.trap_export;
    }
    return nullptr;
}

// Whether it has called a fun of code that is being purged.
bool waits_for_purge(const Process& p) {
    static const Export* const own = bif_export("minivm", "apply_unloaded_fun", 3);
    const Export* const e = entry_ahead(p);
    return e != nullptr && (e == own || e == code_change::pending_purge_lambda());
}

// What another process sees of one that is in a dirty function, or about to enter one (dirty::Hold). The
// function may build terms meanwhile, so the viewer reads only what the heap held before. Signals that came
// since the process was last scheduled lie in its outer queue.
struct ForeignView {
    int code_ix;                          // of the process that asks
    std::vector<const Signal*> messages;  // in the outer queue, oldest first
    bool only_messages = true;            // no other signal there changes links and the like
};

Term stacktrace_of(Process& p, Heap& h, size_t limit, const ForeignView* view) {
    if (view != nullptr) {
        const Export& in = *p.dirty_bif->exp;
        const Term callers =
            limit > 1 ? current_stacktrace(p, h, p.pc, view->code_ix, limit - 1) : kNil;
        return cons(h, make_tuple(h, in.module, in.function, make_small(in.arity), kNil), callers);
    }
    const int ix = p.scheduler->code_ix;
    const Export* ahead = entry_ahead(p);
    Term list = kNil;
    if (ahead == nullptr) {
        return current_stacktrace(p, h, p.pc, ix, limit);
    }
    static const Export* back = bif_export("minivm", "return", 1);
    if (ahead == back) {  // the continuation of a yield is no function of the program
        return current_stacktrace(p, h, nullptr, ix, limit);
    }
    if (limit > 1) {
        list = current_stacktrace(p, h, nullptr, ix, limit - 1);
    }
    Term module = ahead->module;
    Term function = ahead->function;
    uint32_t arity = ahead->arity;
    if (p.outcome == BifOutcome::hibernate && p.pc != nullptr) {
        module = atoms::erlang;
        function = atoms::hibernate;
        arity = 3;
    }
    return cons(h, make_tuple(h, module, function, make_small(arity), kNil), list);
}

size_t block_words(const Process& p) { return static_cast<size_t>(p.stack_base - p.heap_start); }
// Without fragments from outside: they come and go in a dirty function.
size_t heap_words(const Process& p, const ForeignView* view) {
    return view == nullptr ? heap_capacity_words(p)
                              : block_words(p) + static_cast<size_t>(p.old_end - p.old_start);
}
// The reserve of a block that hibernation has cut to its live terms: it holds no terms, so it is not counted.
size_t hidden_words(const Process& p) {
    const bool is_cut = p.outcome == BifOutcome::hibernate && !p.in_engine &&
                        block_words(p) < p.min_heap_words && block_words(p) >= kReserveWords;
    return is_cut ? kReserveWords : 0;
}
size_t stack_words(const Process& p) { return static_cast<size_t>(p.stack_base - p.heap.end); }

size_t memory_bytes(const Process& p, const ForeignView* view) {
    size_t bytes = sizeof(Process) + heap_words(p, view) * sizeof(Term);
    if (p.extra != nullptr) {
        constexpr size_t kMapNode = 32;  // bytes of a std::map's node beside key and value
        bytes += sizeof(ProcessExtra) +
                 p.extra->links.size() * (kMapNode + sizeof(Term) + sizeof(Link)) +
                 p.extra->monitors.size() * (kMapNode + sizeof(RefId) + sizeof(Monitor)) +
                 p.extra->monitored_by.size() * (kMapNode + sizeof(RefId) + sizeof(MonitoredBy)) +
                 p.extra->dictionary.pairs().capacity() * sizeof(Dictionary::Pair);
    }
    for (const Signal* m = p.mailbox.first; m != nullptr; m = m->next) {
        bytes += sizeof(Signal);
        for (const Fragment* f = m->fragments; f != nullptr; f = f->next) {
            bytes += sizeof(Fragment) + f->size_words * sizeof(Term);
        }
    }
    if (p.saved_x != nullptr) {
        bytes += (p.saved_x[-1].raw + 1) * sizeof(Term);
    }
    return bytes;
}

Term max_heap_of(Heap& h, const Process& p) {
    const ProcessExtra* e = p.extra;
    return e == nullptr ? max_heap_term(h, 0, true, true, false)
                        : max_heap_term(h, e->max_heap_words, e->max_heap_kill, e->max_heap_log,
                                        e->max_heap_shared);
}

uint64_t vheap_words(const Process& p) {
    return p.extra == nullptr ? 46422 : p.extra->min_bin_vheap_words;
}

}  // namespace

Term garbage_collection_info(const Process& p, Heap& h) {
    const size_t old_block = static_cast<size_t>(p.old_end - p.old_start);
    const size_t bin_block = p.virtual_heap_bytes == ~size_t{0}
                                 ? vheap_words(p)
                                 : p.virtual_heap_bytes / sizeof(Term);
    const size_t old_bin_block = p.old_virtual_heap_bytes == 0
                                     ? vheap_words(p)
                                     : p.old_virtual_heap_bytes / sizeof(Term);
    const struct {
        Term name;
        size_t value;
    } entries[] = {
        {atoms::old_heap_block_size, old_block},
        {atoms::heap_block_size, block_words(p)},
        {atoms::mbuf_size, p.heap.fragment_words + p.heap.received_words},
        {atoms::recent_size, static_cast<size_t>(p.high_water - p.heap_start)},
        {atoms::stack_size, stack_words(p)},
        {atoms::old_heap_size, static_cast<size_t>(p.old_top - p.old_start)},
        {atoms::heap_size, static_cast<size_t>(p.heap.top - p.heap_start)},
        {atom_bin_vheap_size(), p.heap.off_heap_bytes / sizeof(Term)},
        {atom_bin_vheap_block_size(), bin_block},
        {atom_bin_old_vheap_size(), p.old_off_heap_bytes / sizeof(Term)},
        {atom_bin_old_vheap_block_size(), old_bin_block},
    };
    Term list = kNil;
    for (size_t i = sizeof entries / sizeof entries[0]; i > 0; --i) {
        const auto& entry = entries[i - 1];
        list = cons(h, make_tuple(h, entry.name, make_unsigned(h, entry.value)), list);
    }
    return list;
}

namespace {

void add_binaries(Heap& h, Term* off_heap, Term* list) {
    for (Term* o = off_heap; o != nullptr; o = *off_heap_next(o)) {
        if (header_kind(o->raw) != Kind::bin_ref) {
            continue;
        }
        auto* b = reinterpret_cast<RefBinary*>(o[1].raw);
        // relaxed: a number to show.
        const size_t refs = b->refs.load(std::memory_order_relaxed);
        *list = cons(h,
                     make_tuple(h, make_unsigned(h, reinterpret_cast<Word>(b)),
                                make_unsigned(h, b->size_bytes), make_unsigned(h, refs)),
                     *list);
    }
}

// [{Module, Function, Arity} | send | 'receive' | timeout], the oldest first.
Term saved_calls_of(Heap& h, const SavedCalls& saved) {
    Term list = kNil;
    const size_t n = saved.calls.size();
    for (size_t i = n; i-- > 0;) {
        const SavedCalls::Call& c = saved.calls[(saved.oldest + i) % n];
        list = cons(h,
                    is_value(c.module) ? make_tuple(h, c.module, c.function, make_small(c.arity)) : c.function,
                    list);
    }
    return list;
}

Term binaries_of(Heap& h, Process& p) {
    Term list = kNil;
    add_binaries(h, p.heap.off_heap, &list);
    add_binaries(h, p.old_off_heap, &list);
    for (Signal* m = p.mailbox.first; m != nullptr; m = m->next) {
        add_binaries(h, m->off_heap, &list);
    }
    return list;
}

// [{Address, Bytes, References}] of the native objects that its heap refers to.
Term magic_refs_of(Heap& h, Process& p) {
    Term list = kNil;
    for (Term* first : {p.heap.off_heap, p.old_off_heap}) {
        for (Term* o = first; o != nullptr; o = *off_heap_next(o)) {
            if (header_kind(o->raw) != Kind::magic_ref) {
                continue;
            }
            auto* object = reinterpret_cast<MagicObject*>(o[3].raw);
            // relaxed: a number to show.
            const size_t refs = object->refs.load(std::memory_order_relaxed);
            // The sizes of derived objects are not known here.
            list = cons(h,
                        make_tuple(h, make_unsigned(h, reinterpret_cast<Word>(object)),
                                   make_small(sizeof(MagicObject)), make_unsigned(h, refs)),
                        list);
        }
    }
    return list;
}

// One line a frame, newest first.
std::string backtrace_text(Process& p, const ForeignView* view) {
    char line[64];
    snprintf(line, sizeof line, "Program counter: 0x%016" PRIxPTR " (",
             reinterpret_cast<uintptr_t>(p.pc));
    std::string text = line;
    Heap h;
    bool first = true;
    for (Term list = stacktrace_of(p, h, 64, view); is_cons(list); list = tail(list)) {
        const Term* e = tuple_elements(head(list));
        if (!first) {
            text += "Return addr (";
        }
        append_atom(&text, e[0], true);
        text += ":";
        append_atom(&text, e[1], true);
        text += "/" + std::to_string(small_value(e[2]));
        text += ")\n";
        if (first) {
            text += "\n";
        }
        first = false;
    }
    if (first) {
        text += "unknown function)\n\n";
    }
    int y = 0;
    const Term* frame_pointer = p.frame_pointer;
    for (const Term* w = p.heap.end; w < p.stack_base; ++w) {
        if (w == frame_pointer) {
            frame_pointer = reinterpret_cast<const Term*>(w->raw);
        } else if (is_header(w->raw)) {
            y = 0;
            snprintf(line, sizeof line, "0x%016" PRIxPTR " Return addr 0x%016" PRIxPTR "\n",
                     reinterpret_cast<uintptr_t>(w), static_cast<uintptr_t>(w->raw & ~kTagMask));
            text += line;
        } else {
            text += "y(" + std::to_string(y++) + ")     ";
            text += is_catch(*w) ? "Catch" : format_term(*w, 256);
            text += "\n";
        }
    }
    return text;
}

// A term of p for a result in h: copied, unless h is p's heap.
Term share(Process& p, Heap& h, Term t) {
    return &h == &p.heap || !is_pointer(t) ? t : copy_term(t, h, true);
}

// The value of a key of the dictionary; undefined if there is none, or the process is sensitive.
Term value_of_key(Process& p, Term key, Heap& h) {
    if (p.extra != nullptr && !p.extra->sensitive) {
        for (const Dictionary::Pair& pair : p.extra->dictionary.pairs()) {
            if (exact_equal(pair.key, key)) {
                return share(p, h, pair.value);
            }
        }
    }
    return atoms::undefined;
}

bool takes_priority_messages(const Process& p) {
    const auto has_it = [](const auto& entry) { return entry.second.priority; };
    const ProcessExtra* e = p.extra;
    return e != nullptr && (std::any_of(e->aliases.begin(), e->aliases.end(), has_it) ||
                            std::any_of(e->monitors.begin(), e->monitors.end(), has_it) ||
                            std::any_of(e->links.begin(), e->links.end(), has_it));
}

// process_flag(sensitive, true)
bool hides_its_work(const Process& p) {
    return p.extra != nullptr && p.extra->sensitive;
}

Term current_function_of(Process& p, Heap& h, const ForeignView* view) {
    const Term trace = stacktrace_of(p, h, 1, view);
    if (!is_cons(trace)) {
        return atoms::undefined;
    }
    const Term* t = tuple_elements(head(trace));
    return make_tuple(h, t[0], t[1], t[2]);
}

Term status_of(Process& p, const ForeignView* view) {
    const ProcessExtra* e = p.extra;
    if (view != nullptr) {
        // relaxed: a state to show.
        const uint32_t state = p.state.load(std::memory_order_relaxed);
        return (state & process_state::kRunning) != 0 ? atoms::running : atoms::runnable;
    }
    if (p.suspended != 0 || (e != nullptr && e->waits_for_port)) {
        return atoms::suspended;
    }
    // relaxed: this thread owns p.
    if ((p.state.load(std::memory_order_relaxed) & process_state::kWaiting) != 0) {
        return waits_for_purge(p) ? atoms::suspended : atoms::waiting;
    }
    return in_slice(p) ? atoms::running : atoms::runnable;
}

Term messages_of(Process& p, Heap& h, const ForeignView* view) {
    std::vector<Term> all;
    for (const Signal* m = hides_its_work(p) ? nullptr : p.mailbox.first; m != nullptr; m = m->next) {
        all.push_back(m->term);
    }
    for (size_t i = 0; view != nullptr && !hides_its_work(p) && i < view->messages.size(); ++i) {
        all.push_back(view->messages[i]->term);
    }
    Term list = kNil;
    for (size_t i = all.size(); i > 0; --i) {
        const Term t = all[i - 1];
        list = cons(h, is_pointer(t) ? copy_term(t, h, true) : t, list);
    }
    return list;
}

Term links_of(Process& p, Heap& h) {
    const ProcessExtra* e = p.extra;
    Term list = kNil;
    if (e != nullptr) {
        for (auto it = e->links.rbegin(); it != e->links.rend(); ++it) {
            const Term other = it->second.unlinking == 0 ? dist::term_of(h, Term{it->first}) : kNonValue;
            if (is_value(other)) {  // else the connection is gone, and the exit signal on its way
                list = cons(h, other, list);
            }
        }
    }
    return list;
}

Term dictionary_of(Process& p, Heap& h) {
    const ProcessExtra* e = p.extra;
    Term list = kNil;
    if (e != nullptr && !hides_its_work(p)) {
        for (const Dictionary::Pair& pair : e->dictionary.pairs()) {
            const Term key = share(p, h, pair.key);
            list = cons(h, make_tuple(h, key, share(p, h, pair.value)), list);
        }
    }
    return list;
}

Term garbage_collection_of(Process& p, Heap& h) {
    const auto entry = [&h](Term name, Term value) { return make_tuple(h, name, value); };
    const Term last = entry(atom_minor_gcs(), make_small(p.gc_minor_since_full));
    Term list = cons(h, last, kNil);
    list = cons(h, entry(atoms::fullsweep_after, make_small(p.fullsweep_after)), list);
    list = cons(h, entry(atoms::min_heap_size, make_small(p.min_heap_words)), list);
    list = cons(h, entry(atoms::min_bin_vheap_size, make_unsigned(h, vheap_words(p))), list);
    return cons(h, entry(atoms::max_heap_size, max_heap_of(h, p)), list);
}

Term suspending_of(Process& p, Heap& h) {
    const ProcessExtra* e = p.extra;
    Term list = kNil;
    if (e != nullptr) {
        for (const auto& [pid, times] : e->suspending) {
            if (!has_ended(Term{pid})) {
                list = cons(h, make_tuple(h, Term{pid}, make_small(times), make_small(0)), list);
            }
        }
    }
    return list;
}

Term monitors_of(Process& p, Heap& h) {
    const ProcessExtra* e = p.extra;
    Term list = kNil;
    if (e != nullptr) {
        for (const auto& [ref, m] : e->monitors) {
            Term type = m.port ? atoms::port : atoms::process;
            Term object = m.target;
            if (m.time_offset) {
                type = atoms::time_offset;
                object = atoms::clock_service;
            } else if (is_value(m.name)) {
                object = make_tuple(h, m.name, this_node_name());
            } else {
                object = dist::term_of(h, object);
            }
            if (is_value(object)) {
                list = cons(h, make_tuple(h, type, object), list);
            }
        }
    }
    return list;
}

Term monitored_by_of(Process& p, Heap& h) {
    const ProcessExtra* e = p.extra;
    Term list = kNil;
    if (e != nullptr) {
        for (const auto& [ref, m] : e->monitored_by) {
            const Term watcher = dist::term_of(h, m.watcher);
            list = is_value(watcher) ? cons(h, watcher, list) : list;
        }
    }
    return nif::monitoring_resources(h, p.id, list);
}

Term catch_level_of(Process& p) {
    int64_t n = 0;
    for (const Term* w = p.heap.end; w < p.stack_base; ++w) {
        n += is_catch(*w) ? 1 : 0;
    }
    return make_small(n);
}

Term reductions_of(Process& p, Heap& h) {
    uint64_t n = p.reductions_done;
    const int64_t left = reductions_left(p);
    if (in_slice(p) && left < kSliceReductions) {
        n += static_cast<uint64_t>(kSliceReductions - left);
    }
    return make_unsigned(h, n);
}

Term item_value(Process& p, Item item, Heap& h, const ForeignView* view) {
    const ProcessExtra* e = p.extra;
    switch (item) {
        case Item::registered_name: {
            const Term name = registry::name_of(p);
            return is_value(name) ? name : kNil;
        }
        case Item::current_function:
            return current_function_of(p, h, view);
        case Item::current_location: {
            const Term trace = stacktrace_of(p, h, 1, view);
            return is_cons(trace) ? head(trace) : atoms::undefined;
        }
        case Item::current_stacktrace:
            return stacktrace_of(p, h, static_cast<size_t>(g_backtrace_depth), view);
        case Item::initial_call:
            return mfa(h, p.initial_call->module, p.initial_call->function, p.initial_call->arity);
        case Item::status:
            return status_of(p, view);
        case Item::message_queue_len:
            return make_small(p.mailbox.length + (view == nullptr ? 0 : view->messages.size()));
        case Item::messages:
            return messages_of(p, h, view);
        case Item::links:
            return links_of(p, h);
        case Item::dictionary:
            return dictionary_of(p, h);
        case Item::trap_exit:
            return make_bool(p.trap_exit);
        case Item::priority_messages:
            return make_bool(takes_priority_messages(p));
        case Item::label:
            return value_of_key(p, atom_process_label(), h);
        case Item::async_dist:
            return make_bool(e != nullptr && e->async_dist);
        case Item::error_handler:
            return e != nullptr && is_value(e->error_handler) ? e->error_handler
                                                              : atoms::error_handler;
        case Item::priority:
            return priority_atom(p.priority);
        case Item::group_leader:
            return share(p, h, p.group_leader);
        case Item::total_heap_size:
            return make_unsigned(h, heap_words(p, view) - hidden_words(p));
        case Item::heap_size:
            return make_unsigned(h, block_words(p) - hidden_words(p));
        case Item::stack_size:
            return make_unsigned(h, stack_words(p));
        case Item::reductions:
            return reductions_of(p, h);
        case Item::garbage_collection:
            return garbage_collection_of(p, h);
        case Item::garbage_collection_info:
            return garbage_collection_info(p, h);
        case Item::suspending:
            return suspending_of(p, h);
        case Item::memory:
            return make_unsigned(h, memory_bytes(p, view));
        case Item::monitors:
            return monitors_of(p, h);
        case Item::monitored_by:
            return monitored_by_of(p, h);
        case Item::binary:
            return binaries_of(h, p);
        case Item::magic_ref:
            return magic_refs_of(h, p);
        case Item::catchlevel:
            return catch_level_of(p);
        case Item::backtrace: {
            const std::string text = hides_its_work(p) ? std::string() : backtrace_text(p, view);
            return make_binary(h, text.data(), text.size());
        }
        case Item::last_calls:
            return e == nullptr || e->saved_calls == nullptr ? atoms::false_
                                                             : saved_calls_of(h, *e->saved_calls);
        case Item::min_heap_size:
            return make_small(p.min_heap_words);
        case Item::min_bin_vheap_size:
            return make_unsigned(h, vheap_words(p));
        case Item::max_heap_size:
            return max_heap_of(h, p);
        case Item::fullsweep_after:
            return make_small(p.fullsweep_after);
        case Item::message_queue_data:
            return p.message_queue_off_heap ? atoms::off_heap : atoms::on_heap;
        case Item::parent:
            return is_value(p.parent) ? p.parent : atoms::undefined;
        case Item::sequential_trace_token:
            return seq_trace::token_term(p, h);
        case Item::count:
            break;
    }
    return atoms::undefined;
}

Term item_tuple(Process& p, Item item, Heap& h, const ForeignView* view) {
    const Term value = item_value(p, item, h, view);
    return make_tuple(h, item_names()[static_cast<int>(item)], value);
}

Term key_tuple(Process& p, Term name, Heap& h) {
    const Term value = value_of_key(p, tuple_element(name, 1), h);
    return make_tuple(h, &h == &p.heap ? name : copy_term(name, h, true), value);
}

// The result for `what`: one item, a list of items, or the non-value for those of process_info/1. The
// items have been checked.
Term info_of(Process& p, Term what, Heap& h, const ForeignView* view = nullptr) {
    if (!is_value(what)) {
        Term list = kNil;
        for (size_t i = sizeof kDefaultItems / sizeof kDefaultItems[0]; i > 0; --i) {
            list = cons(h, item_tuple(p, kDefaultItems[i - 1], h, view), list);
        }
        return is_value(registry::name_of(p)) ? cons(h, item_tuple(p, Item::registered_name, h, view), list)
                                              : list;
    }
    Item item = Item::count;
    if (asks_for_key(what)) {
        return key_tuple(p, what, h);
    }
    if (is_atom(what)) {
        find_item(what, &item);
        if (item == Item::registered_name && !is_value(registry::name_of(p))) {
            return kNil;
        }
        return item_tuple(p, item, h, view);
    }
    std::vector<Term> items;
    for (; is_cons(what); what = tail(what)) {
        items.push_back(head(what));
    }
    Term list = kNil;
    for (size_t i = items.size(); i > 0; --i) {
        if (asks_for_key(items[i - 1])) {
            list = cons(h, key_tuple(p, items[i - 1], h), list);
        } else {
            find_item(items[i - 1], &item);
            list = cons(h, item_tuple(p, item, h, view), list);
        }
    }
    return list;
}

bool items_are_known(Term what) {
    Item item = Item::count;
    if (is_atom(what) || asks_for_key(what)) {
        return find_item(what, &item);
    }
    for (; is_cons(what); what = tail(what)) {
        if (!find_item(head(what), &item)) {
            return false;
        }
    }
    return is_nil(what);
}

// Whether an item of a process in a dirty function can be read from outside.
bool is_seen_from_outside(Item item, const ForeignView& view) {
    switch (item) {
        case Item::binary:  // these read lists that the function may add to
        case Item::magic_ref:
        case Item::garbage_collection_info:
            return false;
        case Item::message_queue_len:
        case Item::messages:
        case Item::links:
        case Item::priority_messages:
        case Item::monitors:
        case Item::monitored_by:
        case Item::group_leader:
        case Item::suspending:
        case Item::sequential_trace_token:
            return view.only_messages;
        default:
            return true;
    }
}
bool are_seen_from_outside(Term what, const ForeignView& view) {
    if (!is_value(what)) {
        return std::all_of(std::begin(kDefaultItems), std::end(kDefaultItems),
                           [&view](Item item) { return is_seen_from_outside(item, view); });
    }
    Item item = Item::count;
    if (is_atom(what) || asks_for_key(what)) {
        return find_item(what, &item) && is_seen_from_outside(item, view);
    }
    for (; is_cons(what); what = tail(what)) {
        if (!find_item(head(what), &item) || !is_seen_from_outside(item, view)) {
            return false;
        }
    }
    return true;
}

void answer_info(Process& target, ControlSignal& request) {
    Heap h;
    reply(request, info_of(target, request.term, h));
}

bool changes_nothing(const ControlSignal& request) {
    return request.run == nullptr || request.run == answer_info || literal_release::is_request(request);
}

// The owner of q takes no signals out of its queue meanwhile.
ForeignView view_of(const Process& q, int code_ix) {
    ForeignView view{code_ix, {}};
    // acquire: pairs with push_signal().
    for (const Signal* s = q.mailbox.outer.load(std::memory_order_acquire); s != nullptr; s = s->next) {
        if (s->kind == SignalKind::message) {
            view.messages.push_back(s);
        } else if (s->kind != SignalKind::rpc || !changes_nothing(*static_cast<const ControlSignal*>(s))) {
            view.only_messages = false;
        }
    }
    std::reverse(view.messages.begin(), view.messages.end());
    return view;
}

// Looks at a process in a dirty function, which may take as long as it likes: a pipe to which nobody writes. asked:
// null, or the request that was sent. The non-value: q must be asked, or has taken the request and answers it.
Term info_from_outside(Process& p, Process& q, Term what, const RefId* asked) {
    const dirty::Hold hold(q);
    if (!hold || changes_links_meanwhile(q)) {
        return kNonValue;
    }
    const auto may_answer = [&] { return asked == nullptr || hold.withdraw(p.id, *asked); };
    if (q.is_exiting() || will_exit(q)) {
        return may_answer() ? atoms::undefined : kNonValue;
    }
    hold.handle_relations();
    const ForeignView view = view_of(q, p.scheduler->code_ix);
    return are_seen_from_outside(what, view) && may_answer() ? info_of(q, what, p.heap, &view)
                                                                : kNonValue;
}

Term process_info(Process& p, Term pid, Term what) {
    if (is_former_pid(pid)) {
        return atoms::undefined;
    }
    if (!is_local_pid(pid) || (is_value(what) && !items_are_known(what))) {
        return badarg(p);
    }
    if (pid == p.id) {
        if (has_signals(p)) {
            handle_signals(p);
            if (p.exit_signal != nullptr) {
                p.outcome = BifOutcome::exited;
                return kNonValue;
            }
        }
        return info_of(p, what, p.heap);
    }
    Process* const q = process_table::lookup(pid);
    if (q == nullptr) {
        return atoms::undefined;
    }
    if (const Term seen = info_from_outside(p, *q, what, nullptr); is_value(seen)) {
        return seen;
    }
    const RefId ref = new_ref_id(p);
    ControlSignal* s = new_signal(SignalKind::rpc, p.id);
    s->ref = ref;
    s->run = answer_info;
    s->gone = [](ControlSignal& request) { reply(request, atoms::undefined); };
    if (is_value(what)) {
        Heap h;
        s->term = copy_term(what, h, true);
        take_fragments(*s, h);
    }
    send_signal(pid, s);
    if (const Term seen = info_from_outside(p, *q, what, &ref); is_value(seen)) {
        return seen;
    }
    static const Export* await_result = bif_export("erts_internal", "await_result", 1);
    return trap(p, await_result, {put_ref(p.heap.alloc(kRefWords), ref)});
}

Term erlang_process_info_1(Process& p, const Term* a) { return process_info(p, a[0], kNonValue); }
Term erlang_process_info_2(Process& p, const Term* a) { return process_info(p, a[0], a[1]); }

// ---- process_display ----------------------------------------------------------------------------------

void print_backtrace(Process& p) {
    const std::string text = backtrace_text(p, nullptr);
    fwrite(text.data(), 1, text.size(), stderr);
}

// erts_internal:process_display(Pid, backtrace) -> true | badarg | badopt | a reference, whose answer comes later
Term erts_internal_process_display_2(Process& p, const Term* a) {
    if (a[1] != atom_backtrace()) {
        return atoms::badopt;
    }
    if (!is_local_pid(a[0])) {
        return atoms::badarg;
    }
    if (a[0] == p.id) {
        print_backtrace(p);
        return atoms::true_;
    }
    if (process_table::lookup(a[0]) == nullptr) {
        return atoms::badarg;
    }
    ControlSignal* s = new_signal(SignalKind::rpc, p.id);
    const RefId ref = new_ref_id(p);
    s->ref = ref;
    s->run = [](Process& target, ControlSignal& request) {
        print_backtrace(target);
        reply(request, atoms::true_);
    };
    s->gone = [](ControlSignal& request) { reply(request, atoms::badarg); };
    send_signal(a[0], s);
    return put_ref(p.heap.alloc(kRefWords), ref);
}

}  // namespace

std::string process_backtrace(Process& p) { return backtrace_text(p, nullptr); }
Term process_item_left(Process& p, Term what, Heap& h) {
    const bool of_messages = what == atom_table::intern("messages") || what == atom_table::intern("message_queue_len");
    if (!of_messages) {
        return info_of(p, what, h);
    }
    const ForeignView view = view_of(p, p.scheduler->code_ix);
    return info_of(p, what, h, &view);
}

std::span<const Term> process_info_items() {
    size_t known = kItems;
    while (!by_release::at_least(first_release_of(static_cast<Item>(known - 1)))) {
        --known;
    }
    return {item_names(), known};
}

MINIVM_BIF_TABLE(process_info) = {
    {"erlang", "process_info", 1, erlang_process_info_1, kBifPlain, nullptr},
    {"erlang", "process_info", 2, erlang_process_info_2, kBifPlain, nullptr},
    {"erts_internal", "process_display", 2, erts_internal_process_display_2, kBifPlain, nullptr},
};

}  // namespace minivm
