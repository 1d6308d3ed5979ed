// BIFs about ports. OTP's erlang.erl makes exceptions out of the atoms that they return.
#include "vm/bif/bif.hpp"
#include "vm/port/child.hpp"
#include "vm/port/port.hpp"
#include "vm/process/posix.hpp"
#include "vm/port/driver.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/registry.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/local_atoms.hpp"
#include "vm/term/this_node.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace minivm {

namespace {

LOCAL_ATOM(atom_spawn_executable, "spawn_executable")
LOCAL_ATOM(atom_spawn_driver, "spawn_driver")
LOCAL_ATOM(atom_fd, "fd")
LOCAL_ATOM(atom_packet, "packet")
LOCAL_ATOM(atom_stream, "stream")
LOCAL_ATOM(atom_arg0, "arg0")
LOCAL_ATOM(atom_cd, "cd")
LOCAL_ATOM(atom_use_stdio, "use_stdio")
LOCAL_ATOM(atom_nouse_stdio, "nouse_stdio")
LOCAL_ATOM(atom_stderr_to_stdout, "stderr_to_stdout")
LOCAL_ATOM(atom_overlapped_io, "overlapped_io")
LOCAL_ATOM(atom_hide, "hide")
LOCAL_ATOM(atom_parallelism, "parallelism")
LOCAL_ATOM(atom_busy_limits_port, "busy_limits_port")
LOCAL_ATOM(atom_busy_limits_msgq, "busy_limits_msgq")
LOCAL_ATOM(atom_disabled, "disabled")
LOCAL_ATOM(atom_force, "force")
LOCAL_ATOM(atom_os_pid, "os_pid")
LOCAL_ATOM(atom_queue_size, "queue_size")
LOCAL_ATOM(atom_locking, "locking")
LOCAL_ATOM(atom_port_level, "port_level")

// ---- opening ------------------------------------------------------------------------------------

// A name in the arguments of open_port/2: an atom, or a file name.
bool get_name(Term t, std::string* out) {
    if (is_atom(t)) {
        *out = atom_table::text(t);
        return true;
    }
    return get_file_name(t, out);
}

struct Settings {
    port::OpenOptions port;
    port::ChildOptions child;
    bool in = false;
    bool out = false;
    unsigned packet = 0;
    size_t line = 0;
    bool has_arguments = false;
    bool has_environment = false;
};

bool set_variable(std::vector<std::string>* environment, Term pair) {
    std::string name;
    if (!is_tuple_of(pair, 2) || !get_file_name(tuple_element(pair, 0), &name)) {
        return false;
    }
    if (name.empty() || name.find('=') != std::string::npos) {
        return false;
    }
    name += '=';
    const auto is_it = [&name](const std::string& v) { return v.starts_with(name); };
    environment->erase(std::remove_if(environment->begin(), environment->end(), is_it),
                       environment->end());
    if (tuple_element(pair, 1) == atoms::false_) {
        return true;
    }
    std::string value;
    if (is_atom(tuple_element(pair, 1)) || !get_file_name(tuple_element(pair, 1), &value)) {
        return false;
    }
    environment->push_back(name + value);
    return true;
}

bool parse_environment(Term list, Settings* s) {
    s->child.environment = environment_copy();
    s->has_environment = true;
    for (; is_cons(list); list = tail(list)) {
        if (!set_variable(&s->child.environment, head(list))) {
            return false;
        }
    }
    return is_nil(list);
}

bool parse_arguments(Term list, Settings* s) {
    s->child.arguments.resize(1);  // the first is arg0
    s->has_arguments = true;
    for (; is_cons(list); list = tail(list)) {
        if (!get_name(head(list), &s->child.arguments.emplace_back())) {
            return false;
        }
    }
    return is_nil(list);
}

// {Low, High} | disabled
bool parse_limits(Term t, size_t* low, size_t* high) {
    if (t == atom_disabled()) {
        *low = *high = 0;
        return true;
    }
    uint64_t numbers[2];
    if (!is_tuple_of(t, 2) || !get_uint64(tuple_element(t, 0), &numbers[0]) ||
        !get_uint64(tuple_element(t, 1), &numbers[1]) || numbers[0] == 0 || numbers[1] == 0 ||
        numbers[0] == ~uint64_t{0} || numbers[1] == ~uint64_t{0}) {
        return false;
    }
    *high = numbers[1];
    *low = std::min(numbers[0], numbers[1]);
    return true;
}

bool parse_pair(Term name, Term value, Settings* s) {
    if (name == atom_packet()) {
        if (value != make_small(1) && value != make_small(2) && value != make_small(4)) {
            return false;
        }
        s->packet = static_cast<unsigned>(small_value(value));
        return true;
    }
    if (name == atoms::line) {
        if (!is_small(value) || small_value(value) <= 0) {
            return false;
        }
        s->line = static_cast<size_t>(small_value(value));
        return true;
    }
    if (name == atoms::env) {
        return parse_environment(value, s);
    }
    if (name == atoms::args) {
        const std::string own =
            s->child.arguments.empty() ? std::string() : s->child.arguments.front();
        s->child.arguments.clear();
        const bool ok = parse_arguments(value, s);
        s->child.arguments.front() = own;
        return ok;
    }
    if (name == atom_arg0()) {
        s->has_arguments = true;
        s->child.arguments.resize(std::max<size_t>(s->child.arguments.size(), 1));
        return get_name(value, &s->child.arguments.front());
    }
    if (name == atom_cd()) {
        return get_name(value, &s->child.directory) && !s->child.directory.empty();
    }
    if (name == atom_parallelism()) {
        s->port.parallelism = value == atoms::true_;
        return is_bool(value);
    }
    if (name == atom_busy_limits_port()) {
        return parse_limits(value, &s->port.free_below, &s->port.busy_above);
    }
    if (name == atom_busy_limits_msgq()) {
        // No queue of messages stands in front of a port here: only checked.
        size_t low;
        size_t high;
        return parse_limits(value, &low, &high);
    }
    return false;
}

bool parse_flag(Term flag, Settings* s) {
    if (flag == atom_stream()) {
        s->packet = 0;
    } else if (flag == atom_use_stdio()) {
        s->child.standard_files = true;
    } else if (flag == atom_nouse_stdio()) {
        s->child.standard_files = false;
    } else if (flag == atom_stderr_to_stdout()) {
        s->child.errors_too = true;
    } else if (flag == atoms::line) {
        s->line = 512;
    } else if (flag == atoms::binary) {
        s->port.binary = true;
    } else if (flag == atoms::in) {
        s->in = true;
    } else if (flag == atoms::out) {
        s->out = true;
    } else if (flag == atoms::eof) {
        s->port.eof = true;
    } else if (flag == atoms::exit_status) {
        s->port.exit_status = true;
    } else if (flag != atom_hide() && flag != atom_overlapped_io()) {  // for Windows
        return false;
    }
    return true;
}

bool parse_settings(Term list, Settings* s) {
    for (; is_cons(list); list = tail(list)) {
        const Term o = head(list);
        if (!(is_tuple_of(o, 2) ? parse_pair(tuple_element(o, 0), tuple_element(o, 1), s)
                                : parse_flag(o, s))) {
            return false;
        }
    }
    if (!is_nil(list) || (s->line != 0 && s->packet != 0) ||
        (s->child.errors_too && !s->child.standard_files)) {
        return false;
    }
    if (!s->in && !s->out) {
        s->in = s->out = true;
    }
    if (s->packet != 0) {
        s->port.framing.use_packets(s->packet);
    } else if (s->line != 0) {
        s->port.framing.use_lines(s->line);
    }
    return true;
}

Term opened(Process& p, Settings& s) {
    const Term id = port::open(p, std::move(s.port));
    if (is_value(id)) {
        return id;
    }
    return errno == 0 ? atoms::system_limit : posix_error_atom(errno);
}

Term open_driver(Process& p, Settings& s, bool* is_driver) {
    s.port.driver = port::open_driver(s.port.name, is_driver);
    if (s.port.driver == nullptr) {
        return errno == 0 || !*is_driver ? atoms::badarg : posix_error_atom(errno);
    }
    s.port.from = s.port.driver->input_file();
    s.port.to = s.port.driver->output_file();
    s.port.own_files = s.port.from < 0 && s.port.to < 0;
    return opened(p, s);
}

Term open_program(Process& p, Settings& s, bool executable) {
    port::ChildOptions& child = s.child;
    if (executable) {
        // Tested now, so that open_port fails; what only exec finds becomes the program's exit status.
        if (access(s.port.name.c_str(), X_OK) != 0) {
            return posix_error_atom(errno);
        }
        child.file = s.port.name;
        if (child.arguments.empty()) {
            child.arguments.emplace_back();
        }
        if (child.arguments.front().empty()) {
            child.arguments.front() = s.port.name;
        }
    } else {
        bool is_driver;
        const Term driver_port = open_driver(p, s, &is_driver);
        if (is_driver) {
            return driver_port;
        }
        child.file = "/bin/sh";
        child.arguments = {"sh", "-c", "exec " + s.port.name};
    }
    if (!s.has_environment) {
        child.environment = environment_copy();
    }
    child.read = s.in;
    child.write = s.out;
    port::Child started;
    if (!port::start_child(child, &started)) {
        return posix_error_atom(errno);
    }
    s.port.from = started.from;
    s.port.to = started.to;
    s.port.pid = started.pid;
    s.port.start_error = started.start_error;
    return opened(p, s);
}

// open_port("name", ...): a file or device by its name.
Term open_file(Process& p, Settings& s) {
    const int flags = s.in && s.out ? O_RDWR | O_CREAT
                      : s.out       ? O_WRONLY | O_CREAT | O_TRUNC
                                    : O_RDONLY;
    const int fd = open(s.port.name.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0666);
    if (fd < 0) {
        return posix_error_atom(errno);
    }
    s.port.from = s.in ? fd : -1;
    s.port.to = s.out ? fd : -1;
    return opened(p, s);
}

Term minivm_open_port_dirty_2(Process& p, const Term* a) {
    Settings s;
    if (!is_list(a[1]) || !parse_settings(a[1], &s)) {
        return atoms::badopt;
    }
    if (is_atom(a[0]) || is_cons(a[0])) {
        if (s.has_arguments || s.port.exit_status || !get_name(a[0], &s.port.name)) {
            return atoms::badarg;
        }
        return open_file(p, s);
    }
    if (is_tuple_of(a[0], 3) && tuple_element(a[0], 0) == atom_fd()) {
        const Term from = tuple_element(a[0], 1);
        const Term to = tuple_element(a[0], 2);
        if (!is_small(from) || !is_small(to) || s.has_arguments || s.port.exit_status) {
            return atoms::badarg;
        }
        if ((s.in && !is_descriptor_of_program(small_value(from))) ||
            (s.out && !is_descriptor_of_program(small_value(to)))) {
            return atoms::einval;
        }
        s.port.name = std::to_string(small_value(from)) + "/" + std::to_string(small_value(to));
        s.port.from = s.in ? static_cast<int>(small_value(from)) : -1;
        s.port.to = s.out ? static_cast<int>(small_value(to)) : -1;
        s.port.own_files = false;
        return opened(p, s);
    }
    if (!is_tuple_of(a[0], 2)) {
        return atoms::badarg;
    }
    const Term kind = tuple_element(a[0], 0);
    const bool executable = kind == atom_spawn_executable();
    if ((kind != atoms::spawn && kind != atom_spawn_driver() && !executable) ||
        !get_name(tuple_element(a[0], 1), &s.port.name) || s.port.name.empty() ||
        (s.has_arguments && !executable)) {
        return atoms::badarg;
    }
    if (kind == atom_spawn_driver()) {
        bool is_driver;
        return open_driver(p, s, &is_driver);
    }
    return open_program(p, s, executable);
}

// Opens sockets at once; all that may wait for a disk or a new program is opened on a dirty scheduler.
Term erts_internal_open_port_2(Process& p, const Term* a) {
    std::string name;
    if (is_tuple_of(a[0], 2) && tuple_element(a[0], 0) == atom_spawn_driver() &&
        get_name(tuple_element(a[0], 1), &name) && (name == "tcp_inet" || name == "udp_inet")) {
        return minivm_open_port_dirty_2(p, a);
    }
    static const Export* dirty = bif_export("minivm", "open_port_dirty", 2);
    return trap(p, dirty, {a[0], a[1]});
}

// ---- using --------------------------------------------------------------------------------------

// The port of an identifier or a registered name; the non-value if it is none.
Term port_of(Term t) {
    if (is_atom(t)) {
        t = registry::whereis(t);
        if (!is_value(t)) {
            return kNonValue;
        }
    }
    return is_local_port(t) ? t : kNonValue;
}

// erts_internal:port_command(Port, Data, Options)
Term erts_internal_port_command_3(Process& p, const Term* a) {
    port::waited(p);
    bool nosuspend = false;
    bool force = false;
    Term list = a[2];
    for (; is_cons(list); list = tail(list)) {
        nosuspend = nosuspend || head(list) == atoms::nosuspend;
        force = force || head(list) == atom_force();
        if (head(list) != atoms::nosuspend && head(list) != atom_force()) {
            return atoms::badopt;
        }
    }
    if (!is_nil(list)) {
        return atoms::badopt;
    }
    const Term port = port_of(a[0]);
    if (!is_value(port) || !port::exists(port)) {
        return atoms::badarg;
    }
    if (force && !port::takes_force(port)) {
        return atom_table::intern("notsup");
    }
    std::string bytes;
    if (!iolist_to_bytes(a[1], &bytes)) {
        port::report_bad_value(port);
        return atoms::badarg;
    }
    consume(p, static_cast<int64_t>(bytes.size() / 1024));
    switch (port::command(port, &bytes, force, nosuspend ? kNonValue : p.id, p.id)) {
        case port::Sent::done:
            return atoms::true_;
        case port::Sent::no_port:
            return atoms::badarg;
        case port::Sent::busy:
            break;
    }
    if (nosuspend) {
        return atoms::false_;
    }
    static const Export* again = bif_export("erts_internal", "port_command", 3);
    return port::wait(p, port, again, {a[0], a[1], a[2]});
}

Term erts_internal_port_close_1(Process& p, const Term* a) {
    const Term port = port_of(a[0]);
    return is_value(port) && port::close(port, p.id) ? atoms::true_ : atoms::badarg;
}

Term erts_internal_port_connect_2(Process& p, const Term* a) {
    const Term port = port_of(a[0]);
    return is_value(port) && is_local_pid(a[1]) && process_table::lookup(a[1]) != nullptr &&
                   port::connect(port, a[1], p.id, port::ConnectBy::function)
               ? atoms::true_
               : atoms::badarg;
}

Term erts_internal_port_control_3(Process& p, const Term* a) {
    const Term port = port_of(a[0]);
    uint64_t command = 0;
    std::string bytes;
    std::string answer;
    bool as_binary = false;
    if (!is_value(port) || !get_uint64(a[1], &command) || command > UINT32_MAX || !iolist_to_bytes(a[2], &bytes) ||
        !port::control(p, port, static_cast<uint32_t>(command), bytes, &answer, &as_binary)) {
        return atoms::badarg;
    }
    consume(p, static_cast<int64_t>(1 + (bytes.size() + answer.size()) / 1024));
    return as_binary ? make_binary(p.heap, answer.data(), answer.size())
                     : make_string(p.heap, answer.data(), answer.size());
}
Term erts_internal_port_call_3(Process&, const Term*) {
    return atoms::badarg;
}

Term erlang_port_set_data_2(Process& p, const Term* a) {
    const Term port = port_of(a[0]);
    return is_value(port) && port::set_data(port, a[1]) ? atoms::true_ : badarg(p);
}

Term erlang_port_get_data_1(Process& p, const Term* a) {
    const Term port = port_of(a[0]);
    const Term data = is_value(port) ? port::get_data(port, p.heap) : kNonValue;
    return is_value(data) ? data : badarg(p);
}

// {Item, Value}; the non-value: no such item; []: the port has no name.
Term info_item(Process& p, Term port, const port::Info& info, Term item) {
    Heap& h = p.heap;
    Term value;
    if (item == atoms::registered_name) {
        value = registry::name_of_port(port);
        if (!is_value(value)) {
            return kNil;
        }
    } else if (item == atoms::name) {
        value = make_string_utf8(h, info.name.data(), info.name.size());
    } else if (item == atoms::links) {
        value = list_of(h, info.links);
    } else if (item == atoms::id) {
        value = make_small(static_cast<int64_t>(imm_data(port)));
    } else if (item == atoms::connected) {
        value = info.connected;
    } else if (item == atoms::input) {
        value = make_unsigned(h, info.input);
    } else if (item == atoms::output) {
        value = make_unsigned(h, info.output);
    } else if (item == atom_os_pid()) {
        value = info.pid > 0 ? make_small(info.pid) : atoms::undefined;
    } else if (item == atom_parallelism()) {
        value = make_bool(info.parallelism);
    } else if (item == atoms::monitors) {
        value = kNil;  // ports monitor nothing
    } else if (item == atoms::monitored_by) {
        value = list_of(h, info.monitored_by);
    } else if (item == atom_queue_size()) {
        value = make_unsigned(h, info.queued);
    } else if (item == atoms::memory) {
        value = make_unsigned(h, sizeof(port::Info) + info.queued);
    } else if (item == atom_locking()) {
        value = atom_port_level();
    } else {
        return kNonValue;
    }
    return make_tuple(h, item, value);
}

// Whether it is a port of an earlier creation of this node.
bool is_port_of_former_life(Term t) {
    return is_kind(t, Kind::ext_port) && boxed_ptr(t)[1] == this_node_name();
}

Term erts_internal_port_info_2(Process& p, const Term* a) {
    if (!is_atom(a[0]) && !is_local_port(a[0])) {
        return is_port_of_former_life(a[0]) ? atoms::undefined : atoms::badtype;
    }
    const Term port = port_of(a[0]);
    port::Info info;
    if (!is_value(port) || !port::info(port, &info)) {
        return atoms::undefined;
    }
    const Term item = info_item(p, port, info, a[1]);
    return is_value(item) ? item : atoms::badarg;
}

Term erts_internal_port_info_1(Process& p, const Term* a) {
    if (!is_atom(a[0]) && !is_local_port(a[0])) {
        return is_port_of_former_life(a[0]) ? atoms::undefined : atoms::badarg;
    }
    const Term port = port_of(a[0]);
    port::Info info;
    if (!is_value(port) || !port::info(port, &info)) {
        return atoms::undefined;
    }
    const Term shown[] = {atoms::registered_name, atoms::name,  atoms::links,  atoms::id,
                          atoms::connected,       atoms::input, atoms::output, atom_os_pid()};
    std::vector<Term> items;
    for (const Term name : shown) {
        const Term item = info_item(p, port, info, name);
        if (!is_nil(item)) {
            items.push_back(item);
        }
    }
    return list_of(p.heap, items);
}

Term erlang_ports_0(Process& p, const Term*) {
    return list_of(p.heap, port::all());
}

}  // namespace

MINIVM_BIF_TABLE(ports) = {
    {"erts_internal", "open_port", 2, erts_internal_open_port_2, kBifPlain, nullptr},
    {"minivm", "open_port_dirty", 2, minivm_open_port_dirty_2, kBifDirtyIo | kBifHidden, nullptr},
    {"erts_internal", "port_command", 3, erts_internal_port_command_3, kBifPlain, nullptr},
    {"erts_internal", "port_close", 1, erts_internal_port_close_1, kBifPlain, nullptr},
    {"erts_internal", "port_connect", 2, erts_internal_port_connect_2, kBifPlain, nullptr},
    {"erts_internal", "port_control", 3, erts_internal_port_control_3, kBifPlain, nullptr},
    {"erts_internal", "port_call", 3, erts_internal_port_call_3, kBifPlain, nullptr},
    {"erts_internal", "port_info", 1, erts_internal_port_info_1, kBifPlain, nullptr},
    {"erts_internal", "port_info", 2, erts_internal_port_info_2, kBifPlain, nullptr},
    {"erlang", "port_set_data", 2, erlang_port_set_data_2, kBifPlain, nullptr},
    {"erlang", "port_get_data", 1, erlang_port_get_data_1, kBifPlain, nullptr},
    {"erlang", "ports", 0, erlang_ports_0, kBifPlain, nullptr},
};

}  // namespace minivm
