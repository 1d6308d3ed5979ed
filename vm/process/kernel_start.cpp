#include "vm/process/kernel_start.hpp"

#include <algorithm>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "vm/term/atom_table.hpp"

namespace minivm::kernel_start {

std::atomic<State> g_state{State::none};

namespace {

std::mutex g_mutex;
std::unordered_set<Word> g_members;  // raw pids of the processes that are part of the start

bool is_kernel_name(Term name) {
    static const std::vector<Term> names = [] {
        std::vector<Term> all;
        for (const char* n :
             {"application_controller", "kernel_sup", "kernel_safe_sup", "kernel_refc",
              "logger_sup", "erl_prim_loader", "erl_signal_server", "file_server_2",
              "global_name_server", "global_group", "inet_db", "rex", "net_sup",
              // its tables
              "ac_tab", "global_names", "global_names_ext", "global_pid_names", "global_pid_ids",
              "global_locks", "inet_hosts_byname", "inet_hosts_byaddr", "inet_hosts_file_byname",
              "inet_hosts_file_byaddr", "inet_cache", "inet_sockets"}) {
            all.push_back(atom_table::intern(n));
        }
        return all;
    }();
    return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

void make_available() {
    // release: publishes nothing; like the other stores.
    g_state.store(State::available, std::memory_order_release);
}

void begin(Term starter) {
    std::lock_guard lock(g_mutex);
    g_members = {starter.raw};
    // release: pairs with inherit() and must_wait().
    g_state.store(State::starting, std::memory_order_release);
}

void end() {
    std::lock_guard lock(g_mutex);
    g_members.clear();
    // release: a process that sees it finds the names registered. Pairs with must_wait().
    g_state.store(State::up, std::memory_order_release);
}

bool must_wait(Term pid, Term name) {
    // acquire: pairs with the stores above.
    const State state = g_state.load(std::memory_order_acquire);
    if (state == State::none || state == State::up || !is_kernel_name(name)) {
        return false;
    }
    std::lock_guard lock(g_mutex);
    return state == State::available || g_members.count(pid.raw) == 0;
}

void inherit_slow(Term parent, Term child) {
    std::lock_guard lock(g_mutex);
    if (g_members.count(parent.raw) != 0) {
        g_members.insert(child.raw);
    }
}

}  // namespace minivm::kernel_start
