#include "vm/port/port_state.hpp"

#include "recorder/recorder.hpp"
#include "vm/external/external_term.hpp"
#include "vm/process/posix.hpp"
#include "vm/process/outcome.hpp"
#include "vm/process/process_record.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/registry.hpp"
#include "vm/process/system_monitor.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/sched/services.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/local_atoms.hpp"
#include "vm/term/map.hpp"
#include "vm/util/activity.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <unordered_map>

namespace minivm::port {

namespace {

LOCAL_ATOM(atom_connect, "connect")
LOCAL_ATOM(atom_close, "close")

std::mutex g_mutex;
std::unordered_map<uint32_t, PortPtr> g_ports;
uint32_t g_next_number = 1;

PortPtr find_number(uint32_t number) {
    std::lock_guard lock(g_mutex);
    const auto it = g_ports.find(number);
    return it != g_ports.end() ? it->second : nullptr;
}

// ---- ending -------------------------------------------------------------------------------------

void close_own_files(OpenOptions& o) {
    if (o.own_files && o.from >= 0) {
        ::close(o.from);
    }
    if (o.own_files && o.to >= 0 && o.to != o.from) {
        ::close(o.to);
    }
    o.from = o.to = -1;
}

void close_files(Port& p) {
    stop_input(p);
    stop_output(p);
    close_own_files(p.options);
    if (p.options.driver != nullptr) {
        p.options.driver->close(p);
        p.options.driver.reset();
        poller::forget_due(p.number);
    }
    p.queue.clear();
    p.queued = p.queue_offset = 0;
    wake_waiting(p);  // a connection to another node sends while everybody learns of its end, and may get busy again
}

// Sends the end of the port to its links, monitors, sink and tracers, and unregisters its name. Called without the
// lock, once for a port, whose state is no longer open. closed_to: the process that gets {Port, closed}.
void tell_of_end(const PortPtr& port, Term reason, Term closed_to) {
    Port& p = *port;
    std::set<uint64_t> links;
    MonitorsBy monitored_by;
    Term left = kNonValue;
    std::shared_ptr<PacketSink> sink;
    {
        std::lock_guard lock(p.mutex);
        if (p.leaves_owner && p.links.erase(p.owner.raw) != 0) {
            left = p.owner;
        }
        links.swap(p.links);
        monitored_by.swap(p.monitored_by);
        sink.swap(p.sink);
        wake_waiting(p);
    }
    if (is_value(left)) {
        send_signal(left, new_signal(SignalKind::unlink, p.id));
    }
    if (sink != nullptr) {
        sink->ended(reason);
        sink->deliver();
    }
    // A reason that is not an atom may be the exit reason of a sensitive owner.
    MINIVM_EVENT(port_close, p.number, records::subject_or_none(p.owner),
                 records::TermCopy<20>(reason, !is_atom(reason)).get());
    const Term name = registry::forget_port(p.id);
    bool ended = false;
    {
        std::lock_guard lock(p.mutex);
        ended = p.state == Port::State::ended;  // else the port drains, and the table keeps it until end()
        if (is_value(name)) {
            trace_event(p, tracing::kPorts, atoms::unregister, name);
        }
        if (is_value(closed_to)) {
            trace_event(p, tracing::kSend, atoms::send, atoms::closed, closed_to);
        }
        if (tracing::g_hooks != nullptr) {
            tracing::g_hooks->forget(p.traced);
        }
    }
    if (ended) {
        std::lock_guard lock(g_mutex);
        g_ports.erase(p.number);
    }
    for (const uint64_t pid : links) {
        send_exit(p.id, Term{pid}, reason, true);
    }
    for (const auto* monitor : in_order_of_arrival(monitored_by)) {
        const MonitoredBy& m = monitor->second;
        send_down(p.id, m.watcher, monitor->first, m.name, reason);
    }
    if (is_value(closed_to)) {
        Heap h;
        tell(p, closed_to, h, atoms::closed);
    }
}

// Ends the port; only the first call has an effect. Without the lock. closed_to: see tell_of_end().
void end(const PortPtr& port, Term reason, Term closed_to = kNonValue) {
    Port& p = *port;
    bool told = false;
    {
        std::lock_guard lock(p.mutex);
        if (p.state == Port::State::ended) {
            return;
        }
        told = p.told;
        if (!told) {
            trace_event(p, tracing::kPorts, atoms::closed, reason);
        }
        p.state = Port::State::ended;
        if (p.options.driver == nullptr) {
            close_files(p);
        }
    }
    if (!told) {
        tell_of_end(port, reason, closed_to);
    } else {
        std::lock_guard lock(g_mutex);
        g_ports.erase(p.number);
    }
    // A driver's peer learns of the end after the local processes, as in OTP.
    std::lock_guard lock(p.mutex);
    if (p.options.driver != nullptr) {
        close_files(p);
    }
}

// Ends the port after it has written its queue, if the files are not its own (standard output is such a file) or it has
// a driver; everybody learns of the end of a driver's port before that. Other ports end at once.
void end_when_written(const PortPtr& port, Term reason, Term closed_to) {
    Port& p = *port;
    bool drains = false;
    {
        std::lock_guard lock(p.mutex);
        if (p.state == Port::State::draining) {
            return;
        }
        Driver* const driver = p.state == Port::State::open ? p.options.driver.get() : nullptr;
        if (driver != nullptr) {
            driver->closing(p);
            drains = driver->unsent() > 0;
        }
        if (drains) {
            trace_event(p, tracing::kPorts, atoms::closed, reason);
            p.state = Port::State::draining;
            p.told = true;
            p.end_reason = atoms::normal;
        } else if (p.state == Port::State::open && !p.options.own_files && p.queued > 0 && is_immediate(reason)) {
            p.state = Port::State::draining;
            p.end_reason = reason;
            stop_input(p);
            wake_waiting(p);
            return;
        }
    }
    if (drains) {
        tell_of_end(port, reason, closed_to);
    } else {
        end(port, reason, closed_to);
    }
}

}  // namespace

uint32_t g_limit = 65536;

PortPtr find(Term id) {
    std::lock_guard lock(g_mutex);
    const auto it = g_ports.find(static_cast<uint32_t>(imm_data(id)));
    return it != g_ports.end() && it->second->id == id ? it->second : nullptr;
}

// ---- opening ------------------------------------------------------------------------------------

static Term name_atom(const std::string& name) {
    const bool is_one = name.size() <= kMaxAtomChars && atom_table::is_valid(name);
    return atom_table::intern(is_one ? std::string_view(name) : std::string_view());
}

// Sends a link from the port. Safe under a port's lock: if the process is gone, the result is false, and the port gets
// no exit signal.
static bool send_link(Term pid, Term port) {
    const thread_progress::DelaySection section;
    Process* const to = process_table::lookup(pid);
    ControlSignal* const s = new_signal(SignalKind::link, port);
    if (to != nullptr && push_signal(*to, s)) {
        return true;
    }
    free_signal(s);
    return false;
}

// caller: the owner, or null. listener: the port whose lock the caller has, or null.
static Term open_port(Process* caller, Term owner, OpenOptions options, Port* listener) {
    PortPtr port;
    std::unique_lock<std::mutex> lock;  // from before the table contains the port until the port is open
    {
        std::lock_guard table_lock(g_mutex);
        if (g_ports.size() < g_limit) {
            port = std::make_shared<Port>(g_next_number);
            lock = std::unique_lock(port->mutex, std::try_to_lock);  // always succeeds: nobody knows the port yet
            port->options = std::move(options);
            port->owner = owner;
            port->links.insert(owner.raw);
            // A port's number has 28 bits, as a pid's has.
            do {
                g_next_number = (g_next_number + 1) & 0xFFFFFFF;
            } while (g_next_number == 0 || g_ports.count(g_next_number) != 0);
            g_ports.emplace(port->number, port);
        }
    }
    if (port == nullptr) {
        close_own_files(options);
        if (options.pid > 0) {
            poller::watch_child(options.pid, 0);
        }
        errno = 0;
        return kNonValue;
    }
    Port& p = *port;
    int error = 0;
    if (caller != nullptr) {
        extra_of(*caller).links[p.id.raw] = Link{};
    }
    if (p.options.start_error != 0) {
        p.child_has_ended = true;
        p.child_status = p.options.start_error << 8;
    }
    if (tracing::g_hooks != nullptr) {
        tracing::g_hooks->port_opened(p.traced, owner, name_atom(p.options.name));
    }
    if (p.options.from >= 0) {
        p.watching_input = poller::watch(p.options.from, p.number, Ready::input);
        error = p.watching_input ? 0 : errno;
    }
    if (p.options.driver != nullptr && error == 0) {
        error = p.options.driver->opened(p);
    }
    if (error != 0) {
        p.links.clear();
    }
    lock.unlock();
    const bool hidden = !records::terms_are_on() || (caller != nullptr && records::is_sensitive(*caller));
    MINIVM_EVENT(port_open, records::subject(owner), p.number,
                 std::string_view(hidden ? "(hidden)" : p.options.name));
    if (p.options.pid > 0) {
        poller::watch_child(p.options.pid, p.number);
    }
    if (error != 0 && caller != nullptr) {
        caller->extra->links.erase(p.id.raw);
    }
    if (error != 0 || (caller == nullptr && !send_link(owner, p.id))) {
        if (listener != nullptr) {
            listener->strays.push_back(port);
        } else {
            end(port, atoms::normal);
        }
    }
    errno = error;
    return error != 0 ? kNonValue : p.id;
}

Term open(Process& owner, OpenOptions options) { return open_port(&owner, owner.id, std::move(options), nullptr); }
Term open_accepted(Port& listener, Process* caller, Term owner, OpenOptions options) {
    return open_port(caller != nullptr && caller->id == owner ? caller : nullptr, owner, std::move(options), &listener);
}

bool exists(Term id) { return find(id) != nullptr; }

std::vector<Term> all() {
    std::lock_guard lock(g_mutex);
    std::vector<Term> ids;
    ids.reserve(g_ports.size());
    for (const auto& [number, port] : g_ports) {
        ids.push_back(port->id);
    }
    std::sort(ids.begin(), ids.end(), [](Term a, Term b) { return a.raw < b.raw; });
    return ids;
}

uint32_t count() {
    std::lock_guard lock(g_mutex);
    return static_cast<uint32_t>(g_ports.size());
}

// ---- what processes do --------------------------------------------------------------------------

// Sent::done and *reason is a value: the caller has to end the port with it, without the lock.
static Sent command_locked(const PortPtr& port, std::string* bytes, bool even_if_busy, Term wake,
                           Term from, Term* reason) {
    {
        std::lock_guard lock(port->mutex);
        if (port->state != Port::State::open) {
            return Sent::no_port;
        }
        if (port->busy && !even_if_busy) {
            if (is_value(wake) && (port->waiting.empty() || port->waiting.back() != wake)) {
                port->waiting.push_back(wake);
            }
            return Sent::busy;
        }
        const TracedTurn turn(*port, atoms::command);
        trace_command(*port, from, *bytes);
        *reason = output(*port, from, bytes);
    }
    return Sent::done;
}

Sent command(Term id, std::string* bytes, bool even_if_busy, Term wake, Term from) {
    const PortPtr port = find(id);
    if (port == nullptr) {
        return Sent::no_port;
    }
    Term reason = kNonValue;
    const Sent sent = command_locked(port, bytes, even_if_busy, wake, from, &reason);
    if (is_value(reason)) {
        end(port, reason);
    }
    return sent;
}

void report_bad_value(Term id) {
    static constexpr char kFormat[] = "Bad value on output port '~ts'~n~n";
    const PortPtr port = find(id);
    if (port == nullptr) {
        return;
    }
    Heap h;
    const std::string& name = port->options.name;
    const Term args = cons(h, make_string_utf8(h, name.data(), name.size()), kNil);
    const Term format = make_string(h, kFormat, sizeof(kFormat) - 1);
    deliver_message(atoms::logger,
                    make_tuple(h, atoms::log, atoms::error, format, args, map::empty(h)));
}

// False: no port.
template <typename Question>
static bool ask(Term id, Question question) {
    const PortPtr port = find(id);
    if (port == nullptr) {
        return false;
    }
    std::lock_guard lock(port->mutex);
    return question(*port);
}

bool is_busy(Term id) {
    return ask(id, [](const Port& p) { return p.busy; });
}

bool takes_force(Term id) {
    return ask(id, [](const Port& p) { return p.options.driver != nullptr && p.options.driver->takes_force(); });
}

bool divert(Term id, std::shared_ptr<PacketSink> sink, size_t busy_above) {
    const PortPtr port = find(id);
    if (port == nullptr) {
        return false;
    }
    std::lock_guard lock(port->mutex);
    Driver* const driver = port->options.driver.get();
    if (port->state != Port::State::open || driver == nullptr || port->sink != nullptr || !driver->divert(busy_above)) {
        return false;
    }
    port->sink = std::move(sink);
    return true;
}

void send_packets(Term id, std::deque<std::string>* packets) {
    const PortPtr port = find(id);
    if (port == nullptr) {
        return;
    }
    Term reason = kNonValue;
    {
        std::lock_guard lock(port->mutex);
        const std::shared_ptr<Driver> driver = port->options.driver;
        if (driver == nullptr) {  // not the state: an ended port sends until close_files() closes its socket
            return;
        }
        const TracedTurn turn(*port, atoms::command);
        reason = driver->send_packets(*port, packets);
    }
    if (is_value(reason)) {
        end(port, reason);
    }
}

void kill(Term id, Term reason) {
    if (const PortPtr port = find(id)) {
        end(port, reason);
    }
}

void wait_until_free(Term id, Term wake) {
    const PortPtr port = find(id);
    if (port != nullptr) {
        std::lock_guard lock(port->mutex);
        if (port->busy) {
            port->waiting.push_back(wake);
            return;
        }
    }
    wake_up_pid(wake);
}

bool trace(Term id, Term message) {
    std::string bytes;
    external::encode(message, external::EncodeOptions{}, &bytes);
    const PortPtr port = find(id);
    Term reason = kNonValue;
    if (port == nullptr ||
        command_locked(port, &bytes, true, kNonValue, kNonValue, &reason) != Sent::done) {
        return false;
    }
    if (is_value(reason)) {
        // Later: the caller may hold the lock of a traced port.
        struct Ending {
            PortPtr port;
            Term reason;
        };
        thread_progress::later(
            [](void* d) {
                const std::unique_ptr<Ending> ending(static_cast<Ending*>(d));
                end(ending->port, ending->reason);
            },
            new Ending{port, reason});
    }
    return true;
}

std::shared_ptr<tracing::TracedPort> traced(Term id) {
    const PortPtr port = find(id);
    return port != nullptr ? std::shared_ptr<tracing::TracedPort>(port, &port->traced) : nullptr;
}

void trace_name(Term id, Term tag, Term name) {
    if (const PortPtr port = find(id)) {
        std::lock_guard lock(port->mutex);
        trace_event(*port, tracing::kPorts, tag, name);
    }
}

// What a turn of a driver leaves to do without the lock.
struct AfterTurn {
    std::shared_ptr<PacketSink> sink;
    std::vector<PortPtr> strays;
    Term reason = kNonValue;  // a value: the port ends

    void take(Port& p) {
        sink = p.sink;
        strays.swap(p.strays);
    }
    void run(const PortPtr& port) const {
        if (sink != nullptr) {
            sink->deliver();
        }
        for (const PortPtr& stray : strays) {
            end(stray, atoms::normal);
        }
        if (is_value(reason)) {
            end(port, reason);
        }
    }
};

bool control(Process& p, Term id, uint32_t command, const std::string& bytes, std::string* answer, bool* as_binary) {
    const PortPtr port = find(id);
    if (port == nullptr) {
        return false;
    }
    AfterTurn after;
    bool done = false;
    {
        std::lock_guard lock(port->mutex);
        if (port->state != Port::State::open) {
            return false;
        }
        done = control_driver(*port, p, command, bytes, answer, &after.reason);
        *as_binary = done && port->options.driver != nullptr && port->options.driver->answers_binaries();
        after.take(*port);
    }
    after.run(port);
    return done;
}

Term wait(Process& p, Term id, const Export* again, std::initializer_list<Term> args) {
    if (system_monitor::wants(system_monitor::kBusyPort)) {
        system_monitor::suspended_by(p, id);
    }
    extra_of(p).waits_for_port = true;
    return trap_wait(p, again, args);
}

// Traces a request of `from` to close the port, or an exit signal that has the same effect.
static void trace_close(Port& p, Term from) {
    const std::lock_guard lock(p.mutex);
    if (p.state == Port::State::open) {
        trace_event(p, tracing::kRunningPorts, atoms::in, atom_close());
        trace_received(p, from, atom_close());
    }
}

bool close(Term id, Term from) {
    const PortPtr port = find(id);
    if (port == nullptr) {
        return false;
    }
    trace_close(*port, from);
    end_when_written(port, atoms::normal, kNonValue);
    return true;
}

bool connect(Term id, Term owner, Term from, ConnectBy how) {
    const PortPtr port = find(id);
    if (port == nullptr) {
        return false;
    }
    {
        std::lock_guard lock(port->mutex);
        Port& p = *port;
        if (p.state != Port::State::open) {
            return false;
        }
        const TracedTurn turn(p, atom_connect());
        if (how == ConnectBy::function && p.links.insert(owner.raw).second) {  // as in OTP
            if (!send_link(owner, id)) {
                p.links.erase(owner.raw);
                return false;
            }
            trace_event(p, tracing::kPorts, atoms::getting_linked, owner);
        }
        p.owner = owner;
        trace_received(p, from, atom_connect(), owner);
        if (tracing::is_traced(p.traced, tracing::kSend)) {
            Heap h;
            trace_event(p, tracing::kSend, atoms::send, make_tuple(h, id, atoms::connected), from);
        }
    }
    return true;
}

bool resume_input(Term id) {
    const PortPtr port = find(id);
    if (port == nullptr) {
        return false;
    }
    Port& p = *port;
    Term reason = kNonValue;
    {
        std::lock_guard lock(p.mutex);
        if (p.state != Port::State::open) {
            return false;
        }
        if (p.options.from >= 0 && !p.watching_input && !p.input_ended) {
            p.watching_input = poller::watch(p.options.from, p.number, Ready::input);
            reason = p.watching_input ? kNonValue : posix_error_atom(errno);
        }
    }
    if (is_value(reason)) {
        end(port, reason);
    }
    return true;
}

Sent message(Process* sender, Term id, Term message, bool even_if_busy) {
    const activity::While writes(activity::Activity::port);
    const Term from = sender != nullptr ? sender->id : kNonValue;
    const PortPtr port = find(id);
    if (port == nullptr) {
        return Sent::no_port;
    }
    Term owner;
    {
        std::lock_guard lock(port->mutex);
        owner = port->owner;
    }
    const Term what = is_tuple_of(message, 2) && tuple_element(message, 0) == owner
                          ? tuple_element(message, 1)
                          : kNonValue;
    if (is_value(what) && what == atom_close()) {
        trace_close(*port, is_value(from) ? from : owner);
        end_when_written(port, atoms::normal, owner);
        return Sent::done;
    }
    if (is_value(what) && is_tuple_of(what, 2)) {
        const Term argument = tuple_element(what, 1);
        if (tuple_element(what, 0) == atoms::command) {
            std::string bytes;
            if (iolist_to_bytes(argument, &bytes)) {
                return command(id, &bytes, sender == nullptr || even_if_busy, from,
                               is_value(from) ? from : owner);
            }
            report_bad_value(id);
        } else if (tuple_element(what, 0) == atom_connect() && is_local_pid(argument) &&
                   connect(id, argument, is_value(from) ? from : owner, ConnectBy::message)) {
            Heap h;
            tell(*port, owner, h, atoms::connected);
            return Sent::done;
        }
    }
    if (is_value(from)) {
        send_exit(id, from, atoms::badsig, false);
    }
    return Sent::done;
}

// ---- signals ------------------------------------------------------------------------------------

namespace {

// Whether the port ends because of this exit signal.
bool exit_counts(Port& p, const ControlSignal& s, Term reason) {
    std::lock_guard lock(p.mutex);
    if (s.linked && p.links.erase(s.from.raw) == 0) {
        return false;  // the link was removed meanwhile
    }
    // The normal exit of a linked process that is not the owner, such as a former owner, does not end the port.
    return !s.linked || reason != atoms::normal || s.from == p.owner;
}

}  // namespace

void signal(Term id, Signal* signal) {
    auto* s = static_cast<ControlSignal*>(signal);
    const PortPtr port = find(id);
    if (port == nullptr) {
        refuse_signal(id, s);
        return;
    }
    Port& p = *port;
    switch (s->kind) {
        case SignalKind::exit: {
            const Term reason = tuple_element(s->term, 2);
            if (exit_counts(p, *s, reason)) {
                trace_close(p, s->from);
                end_when_written(port, reason == atoms::kill ? atoms::killed : reason, kNonValue);
            }
            break;
        }
        case SignalKind::link:
        case SignalKind::monitor: {
            std::unique_lock lock(p.mutex);
            if (p.state != Port::State::open) {
                lock.unlock();
                refuse_signal(id, s);
                return;
            }
            if (s->kind == SignalKind::link) {
                if (p.links.insert(s->from.raw).second) {
                    trace_event(p, tracing::kPorts, atoms::getting_linked, s->from);
                }
            } else {
                p.monitored_by[s->ref] = MonitoredBy{s->from, s->name, ++p.monitors_seen};
            }
            break;
        }
        case SignalKind::unlink: {
            {
                std::lock_guard lock(p.mutex);
                if (p.links.erase(s->from.raw) != 0) {
                    trace_event(p, tracing::kPorts, atoms::getting_unlinked, s->from);
                }
            }
            ControlSignal* ack = new_signal(SignalKind::unlink_ack, id);
            ack->number = s->number;
            send_signal(s->from, ack);
            break;
        }
        case SignalKind::demonitor: {
            std::lock_guard lock(p.mutex);
            p.monitored_by.erase(s->ref);
            break;
        }
        default:
            break;
    }
    free_signal(s);
}

bool set_registered_name(Term id, Term name) {
    const PortPtr port = find(id);
    if (port == nullptr || is_value(port->registered_name)) {
        return false;
    }
    {
        // A port that is closed sets its state under its lock, then releases its name under the registry's lock.
        std::lock_guard lock(port->mutex);
        if (port->state != Port::State::open) {
            return false;
        }
    }
    port->registered_name = name;
    return true;
}

void clear_registered_name(Term id) {
    const PortPtr port = find(id);
    if (port != nullptr) {
        port->registered_name = kNonValue;
    }
}

Term registered_name(Term id) {
    const PortPtr port = find(id);
    return port != nullptr ? port->registered_name : kNonValue;
}

// ---- the poller ---------------------------------------------------------------------------------

void ready(uint32_t number, Ready what) {
    const PortPtr port = find_number(number);
    if (port == nullptr) {
        return;
    }
    Port& p = *port;
    Term reason = kNonValue;
    {
        std::lock_guard lock(p.mutex);
        // The poller reports an error or a hang-up for both directions.
        if (p.state == Port::State::ended || !(what == Ready::input ? p.watching_input : p.watching_output)) {
            return;
        }
        const TracedTurn turn(p, make_small(0));
        reason = what == Ready::input ? read_input(p) : write_queue(p);
        if (!is_value(reason) && p.state == Port::State::draining && p.queued == 0) {
            reason = p.end_reason;
        }
    }
    if (is_value(reason)) {
        end(port, reason);
    }
}

// Runs the driver, and ends the port if the driver gives a reason or a draining port is empty.
template <typename DriverTurn>
static void driver_turn(uint32_t number, DriverTurn turn_of) {
    const PortPtr port = find_number(number);
    if (port == nullptr) {
        return;
    }
    Port& p = *port;
    AfterTurn after;
    {
        std::lock_guard lock(p.mutex);
        const std::shared_ptr<Driver> driver = p.options.driver;
        if (p.state == Port::State::ended || driver == nullptr) {
            return;
        }
        const TracedTurn turn(p, make_small(0));
        after.reason = turn_of(*driver, p);
        if (!is_value(after.reason) && p.state == Port::State::draining && driver->unsent() == 0) {
            after.reason = p.end_reason;
        }
        after.take(p);
    }
    after.run(port);
}

void ready_socket(uint32_t number, uint32_t events) {
    driver_turn(number, [events](Driver& d, Port& p) { return d.ready(p, events); });
}

void timeout(uint32_t number) {
    driver_turn(number, [](Driver& d, Port& p) { return d.timeout(p); });
}

void child_ended(uint32_t number, int status) {
    const PortPtr port = find_number(number);
    if (port == nullptr) {
        return;
    }
    Port& p = *port;
    Term reason = kNonValue;
    {
        std::lock_guard lock(p.mutex);
        if (p.state != Port::State::open || p.child_has_ended) {
            return;
        }
        p.child_has_ended = true;
        p.child_status = status;
        if (p.input_ended && p.options.exit_status) {
            reason = input_finished(p);
        }
    }
    if (is_value(reason)) {
        end(port, reason);
    }
}

void flush_all() {
    std::vector<PortPtr> ports;
    {
        std::lock_guard lock(g_mutex);
        for (const auto& [number, port] : g_ports) {
            ports.push_back(port);
        }
    }
    for (const PortPtr& port : ports) {
        std::lock_guard lock(port->mutex);
        if (port->options.driver != nullptr) {
            port->options.driver->write_out(*port);
        }
        while (!port->options.own_files && port->queued > 0) {
            pollfd writable{port->options.to, POLLOUT, 0};
            poll(&writable, 1, -1);
            if (is_value(write_queue(*port))) {
                break;
            }
        }
    }
}

void destroy() {
    poller::stop();
    std::unordered_map<uint32_t, PortPtr> ports;
    {
        std::lock_guard lock(g_mutex);
        ports.swap(g_ports);
    }
    for (const auto& [number, port] : ports) {
        std::lock_guard lock(port->mutex);
        port->state = Port::State::ended;
        port->watching_input = port->watching_output = false;
        close_files(*port);
    }
}

}  // namespace minivm::port
