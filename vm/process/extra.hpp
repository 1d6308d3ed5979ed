// The state that only some processes have: links, monitors, aliases, dictionary, receive markers, rare flags.
//
// Terms in here are immediates, except in the dictionary and the monitors' tags, which visit_extra_roots()
// gives to the collector.
// Threads: the process's owner.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "vm/process/dictionary.hpp"
#include "vm/process/process.hpp"

namespace minivm {

struct RefLess {
    bool operator()(RefId a, RefId b) const {
        return a.low != b.low ? a.low < b.low : a.high < b.high;
    }
};

struct Link {
    // 0: linked. Else an unlink with this number is under way: exit signals over the link have no
    // effect, and the acknowledgement with this number removes the link.
    uint64_t unlinking = 0;
    bool priority = false;  // a trapped exit signal over it becomes a priority message
};

enum class AliasKind : uint8_t { none, explicit_unalias, demonitor, reply_demonitor, reply };
struct Alias {
    AliasKind kind = AliasKind::none;
    bool priority = false;  // takes priority messages
};

// A monitor this process has set.
struct Monitor {
    Term target = kNonValue;  // pid; the non-value if the name was not registered
    Term name = kNonValue;    // the registered name it was set by
    Term tag = kNonValue;     // the user's tag for the message, in the heap: a root
    bool time_offset = false; // of the VM's time offset
    bool port = false;        // of a port
    bool priority = false;    // its message is a priority message
};

// A monitor that another process has set on this one.
struct MonitoredBy {
    Term watcher;
    Term name;  // as in Monitor
    // Counts the monitors set on this process. The references are not in order: a process may move to another
    // scheduler between two monitors, and each scheduler counts by itself.
    uint64_t number = 0;
};
// In the order of arrival, in which the process sends DOWN signals when it ends.
using MonitorsBy = std::map<RefId, MonitoredBy, RefLess>;
std::vector<const MonitorsBy::value_type*> in_order_of_arrival(const MonitorsBy& monitors);

struct ReceiveMarker {
    int64_t id = 0;          // 0: vacant
    bool bound = false;
    RefId ref{};
    Signal** position = nullptr;  // the first message that may contain the reference is here or later
};
constexpr int kReceiveMarkers = 8;

namespace seq_trace {
struct Token;
}
namespace dist {
class Channel;
}
struct SeqCounters {
    seq_trace::Token* token = nullptr;  // owned; null: none
    uint32_t generation = 0;            // of the counters: see seq_trace.hpp
    int64_t clock = 0;
    int64_t lastcnt = 0;
};

// For process_flag(save_calls, N): the last N calls through export entries, and messages.
struct SavedCalls {
    struct Call {
        Term module = kNonValue;  // the non-value: no call; the atom `function` says what it was
        Term function = kNonValue;
        uint32_t arity = 0;
    };
    explicit SavedCalls(uint32_t most_) : most(most_) {}
    const uint32_t most;
    uint32_t oldest = 0;  // the next call replaces it, if all places are taken
    std::vector<Call> calls;
    void save(const Call& c) {
        if (calls.size() < most) {
            calls.push_back(c);
        } else {
            calls[oldest] = c;
            oldest = (oldest + 1) % most;
        }
    }
    // There must be one.
    const Call& last() const { return calls[(oldest + calls.size() - 1) % calls.size()]; }
};

struct ProcessExtra {
    std::map<uint64_t, Link> links;  // by the raw word of the pid
    std::map<RefId, Monitor, RefLess> monitors;
    MonitorsBy monitored_by;
    uint64_t monitors_seen = 0;  // the number of the last MonitoredBy
    std::map<RefId, Alias, RefLess> aliases;
    std::map<uint64_t, uint32_t> suspending;  // pids this process has suspended, how often

    Dictionary dictionary;

    ReceiveMarker markers[kReceiveMarkers];
    int marker_count = 0;
    int64_t next_marker_id = 1;

    uint64_t max_heap_words = 0;      // 0: no limit
    bool max_heap_kill = true;
    bool max_heap_log = true;
    bool max_heap_shared = false;
    bool max_heap_reached = false;    // a kill signal is on its way
    bool sensitive = false;
    bool waits_for_port = false;      // it waits for a busy port
    bool async_dist = false;
    bool watches_nodes = false;       // see node_life.hpp
    bool watches_peers = false;       // monitor_node/2 of another node: see nodes.hpp
    std::shared_ptr<dist::Channel> channel;  // if the process carries a connection to another node
    std::unique_ptr<SavedCalls> saved_calls;  // null: calls are not saved
    SeqCounters seq;
    Term error_handler = kNonValue;   // an atom; the non-value: error_handler
    uint64_t min_bin_vheap_words = 46422;
    bool ets_super_user = false;      // erts_internal:ets_super_user/1
};

// Calls visit(root, context) once for each root in Process::extra.
void visit_extra_roots(Process& p, void (*visit)(Term* root, void* context), void* context);

// get(Key): undefined if there is no such key. Owner only.
inline Term dictionary_value(const Process& p, Term key) {
    const Term value = p.extra == nullptr ? kNonValue : p.extra->dictionary.get(key);
    return is_value(value) ? value : atoms::undefined;
}
inline ProcessExtra& extra_of(Process& p) {
    if (MINIVM_UNLIKELY(p.extra == nullptr)) {
        p.extra = new ProcessExtra;
    }
    return *p.extra;
}

}  // namespace minivm
