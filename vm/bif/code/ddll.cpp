// Linked-in drivers: erl_ddll. None can be loaded, for drivers are written against OTP's own VM. OTP's own that minivm
// implements are reported as linked in; all others are refused with a text for erl_ddll:format_error/1.
#include "vm/bif/bif.hpp"
#include "vm/process/signal.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/local_atoms.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <mutex>
#include <string>
#include <vector>

namespace minivm {

namespace {

LOCAL_ATOM(atom_already_loaded, "already_loaded")
LOCAL_ATOM(atom_awaiting_load, "awaiting_load")
LOCAL_ATOM(atom_awaiting_unload, "awaiting_unload")
LOCAL_ATOM(atom_driver, "driver")
LOCAL_ATOM(atom_driver_options, "driver_options")
LOCAL_ATOM(atom_inconsistent, "inconsistent")
LOCAL_ATOM(atom_kill_ports, "kill_ports")
LOCAL_ATOM(atom_linked_in_driver, "linked_in_driver")
LOCAL_ATOM(atom_loaded, "loaded")
LOCAL_ATOM(atom_not_loaded_by_this_process, "not_loaded_by_this_process")
LOCAL_ATOM(atom_not_pending, "not_pending")
LOCAL_ATOM(atom_open_error, "open_error")
LOCAL_ATOM(atom_pending_driver, "pending_driver")
LOCAL_ATOM(atom_pending_process, "pending_process")
LOCAL_ATOM(atom_permanent, "permanent")
LOCAL_ATOM(atom_reload, "reload")
LOCAL_ATOM(atom_UP, "UP")
LOCAL_ATOM(atom_unloaded, "unloaded")
LOCAL_ATOM(atom_unloaded_only, "unloaded_only")

// Drivers that open_port/2 finds by name (bif/ports/ports.cpp).
constexpr const char* kLinkedIn[] = {"ram_file_drv", "trace_file_drv", "trace_ip_drv"};

bool is_linked_in(const std::string& name) {
    return std::find(std::begin(kLinkedIn), std::end(kLinkedIn), name) != std::end(kLinkedIn);
}

// erl_ddll's errors have no error_info.
Term bare_badarg(Process& p) { return error(p, atoms::badarg); }

Term failed(Process& p, Term why) { return make_tuple(p.heap, atoms::error, why); }

// An atom or the characters of a string.
bool get_driver_name(Term t, std::string* out) {
    if (is_atom(t)) {
        *out = atom_table::text(t);
        return true;
    }
    return (is_cons(t) || is_nil(t)) && iolist_to_bytes(t, out);
}

// [kill_ports]
bool are_driver_options(Term list) {
    while (is_cons(list) && head(list) == atom_kill_ports()) {
        list = tail(list);
    }
    return is_nil(list);
}

bool is_pending(Term t) { return t == atoms::pending || t == atom_pending_driver(); }

// What try_load/3 takes.
bool parse_load_options(Term list, bool* reload) {
    for (; is_cons(list); list = tail(list)) {
        const Term o = head(list);
        if (!is_tuple_of(o, 2)) {
            return false;
        }
        const Term name = tuple_element(o, 0);
        const Term value = tuple_element(o, 1);
        *reload = *reload || name == atom_reload();
        if (!(name == atom_driver_options() && are_driver_options(value)) &&
            !((name == atom_reload() || name == atoms::monitor) && is_pending(value))) {
            return false;
        }
    }
    return is_nil(list);
}

// ---- texts of errors --------------------------------------------------------------------------------------------

// The texts of {open_error, N}, where N goes down from kFirstError. No text is there twice.
constexpr int64_t kFirstError = -10;
std::mutex g_lock;
std::vector<std::string>& g_texts = *new std::vector<std::string>;  // guarded by g_lock

int64_t number_of(const std::string& text) {
    const std::lock_guard lock(g_lock);
    const auto at = std::find(g_texts.begin(), g_texts.end(), text);
    const auto index = at - g_texts.begin();
    if (at == g_texts.end()) {
        g_texts.push_back(text);
    }
    return kFirstError - index;
}

// Why the driver in this file cannot be loaded.
std::string why_not(const std::string& path) {
    std::FILE* file = std::fopen(path.c_str(), "rbe");
    if (file == nullptr) {
        return std::string("cannot open shared object file: ") + std::strerror(errno);
    }
    char magic[4];
    const bool is_elf = std::fread(magic, 1, sizeof magic, file) == sizeof magic &&
                        std::memcmp(magic, "\177ELF", sizeof magic) == 0;
    std::fclose(file);
    return is_elf ? "minivm does not load linked-in drivers" : "invalid ELF header";
}

std::string text_of(Term what) {
    const struct {
        Term name;
        const char* text;
    } known[] = {
        {atom_inconsistent(),
         "Driver name and/or driver options are inconsistent with currently loaded driver"},
        {atom_linked_in_driver(), "Driver is statically linked and cannot be loaded/unloaded"},
        {atom_permanent(), "DDLL driver is permanent an cannot be unloaded/loaded"},
        {atoms::not_loaded, "DDLL driver is not loaded"},
        {atom_not_loaded_by_this_process(), "DDLL driver was not loaded by this process"},
        {atom_not_pending(), "DDLL load not pending for this driver name"},
        {atom_already_loaded(), "DDLL driver is already loaded successfully"},
        {atom_pending_process(),
         "Driver is loaded by others when attempting option {reload, pending_driver}"}};
    for (const auto& k : known) {
        if (k.name == what) {
            return k.text;
        }
    }
    return "";
}

// ---- the functions ----------------------------------------------------------------------------------------------

Term erl_ddll_try_load_3(Process& p, const Term* a) {
    std::string path;
    std::string name;
    bool reload = false;
    if (is_atom(a[0]) || !iolist_to_bytes(a[0], &path) || !get_driver_name(a[1], &name) ||
        !parse_load_options(a[2], &reload)) {
        return bare_badarg(p);
    }
    if (is_linked_in(name)) {
        return failed(p, atom_linked_in_driver());
    }
    if (reload) {
        return failed(p, atoms::not_loaded);
    }
    const int64_t number = number_of(why_not(path + "/" + name + ".so"));
    return failed(p, make_tuple(p.heap, atom_open_error(), make_small(number)));
}

Term erl_ddll_try_unload_2(Process& p, const Term* a) {
    std::string name;
    if (!get_driver_name(a[0], &name)) {
        return bare_badarg(p);
    }
    Term list = a[1];
    for (; is_cons(list); list = tail(list)) {
        const Term o = head(list);
        const bool monitors = is_tuple_of(o, 2) && tuple_element(o, 0) == atoms::monitor &&
                              is_pending(tuple_element(o, 1));
        if (o != atom_kill_ports() && !monitors) {
            return bare_badarg(p);
        }
    }
    if (!is_nil(list)) {
        return bare_badarg(p);
    }
    return failed(p, is_linked_in(name) ? atom_linked_in_driver() : atoms::not_loaded);
}

Term erl_ddll_loaded_drivers_0(Process& p, const Term*) {
    Term list = kNil;
    for (const char* name : kLinkedIn) {
        list = cons(p.heap, make_string_utf8(p.heap, name, std::strlen(name)), list);
    }
    return make_tuple(p.heap, atoms::ok, list);
}

Term erl_ddll_info_2(Process& p, const Term* a) {
    std::string name;
    if (!get_driver_name(a[0], &name) || !is_linked_in(name)) {
        return bare_badarg(p);
    }
    const Term of_loaded[] = {atoms::processes, atom_driver_options(), atoms::port_count,
                              atom_awaiting_load(), atom_awaiting_unload()};
    if (std::find(std::begin(of_loaded), std::end(of_loaded), a[1]) != std::end(of_loaded)) {
        return atom_linked_in_driver();
    }
    return a[1] == atom_linked_in_driver() ? atoms::true_
           : a[1] == atom_permanent()      ? atoms::false_
                                           : bare_badarg(p);
}

Term erl_ddll_format_error_int_1(Process& p, const Term* a) {
    std::string text = text_of(a[0]);
    if (is_tuple_of(a[0], 2) && tuple_element(a[0], 0) == atom_open_error() &&
        is_small(tuple_element(a[0], 1))) {
        const int64_t number = small_value(tuple_element(a[0], 1));
        const std::lock_guard lock(g_lock);
        const bool is_known = number <= kFirstError &&
                              static_cast<size_t>(kFirstError - number) < g_texts.size();
        text = is_known       ? g_texts[static_cast<size_t>(kFirstError - number)]
               : number == -1 ? "No driver init in dynamic library"
                              : "Unspecified error";
    }
    return text.empty() ? bare_badarg(p) : make_string_utf8(p.heap, text.data(), text.size());
}

// Sends {'UP' | 'DOWN', Ref, driver, Name, permanent | unloaded} at once: linked-in drivers stay, and no other will
// ever be loaded.
Term erl_ddll_monitor_2(Process& p, const Term* a) {
    std::string name;
    if (a[0] != atom_driver() || !is_tuple_of(a[1], 2) || !get_driver_name(tuple_element(a[1], 0), &name)) {
        return bare_badarg(p);
    }
    const Term what = tuple_element(a[1], 1);
    if (what != atom_loaded() && what != atom_unloaded() && what != atom_unloaded_only()) {
        return bare_badarg(p);
    }
    const RefId ref = new_ref_id(p);
    const bool is_up = is_linked_in(name);
    Heap h;
    send_message_to_pid(p.id, make_tuple(h, is_up ? atom_UP() : atoms::DOWN,
                                         put_ref(h.alloc(kRefWords), ref), atom_driver(),
                                         make_string_utf8(h, name.data(), name.size()),
                                         is_up ? atom_permanent() : atom_unloaded()));
    return put_ref(p.heap.alloc(kRefWords), ref);
}

Term erl_ddll_demonitor_1(Process& p, const Term* a) {
    return is_reference(a[0]) ? atoms::true_ : bare_badarg(p);
}

}  // namespace

MINIVM_BIF_TABLE(ddll) = {
    {"erl_ddll", "try_load", 3, erl_ddll_try_load_3, kBifPlain, nullptr},
    {"erl_ddll", "try_unload", 2, erl_ddll_try_unload_2, kBifPlain, nullptr},
    {"erl_ddll", "loaded_drivers", 0, erl_ddll_loaded_drivers_0, kBifPlain, nullptr},
    {"erl_ddll", "info", 2, erl_ddll_info_2, kBifPlain, nullptr},
    {"erl_ddll", "format_error_int", 1, erl_ddll_format_error_int_1, kBifPlain, nullptr},
    {"erl_ddll", "monitor", 2, erl_ddll_monitor_2, kBifPlain, nullptr},
    {"erl_ddll", "demonitor", 1, erl_ddll_demonitor_1, kBifPlain, nullptr},
};

}  // namespace minivm
