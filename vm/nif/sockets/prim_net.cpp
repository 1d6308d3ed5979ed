// The natives of prim_net: names and addresses of hosts, services and interfaces (module net).
#include "vm/nif/sockets/library.hpp"
#include "vm/nif/sockets/values.hpp"

#include "vm/nif/built_in.hpp"
#include "vm/process/posix.hpp"
#include "vm/term/binary.hpp"
#include "vm/util/otp_release.hpp"

#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

namespace minivm::nif::sockets {

namespace {

Term text(Env* env, const char* s) { return make_string(heap_of(env), s, std::strlen(s)); }

Word info_of_net(Env* env, int, const Word*) {
    return make_map(env, {{"debug", atoms::false_}, {"netns", atoms::true_}}).raw;
}

// The only command is `debug`, which prints nothing here.
Word command_of_net(Env* env, int, const Word* a) {
    const Term name = field(Term{a[0]}, "command");
    const Term data = field(Term{a[0]}, "data");
    bool flag = false;
    if (!is_value(name) || !is_value(data)) {
        return raise_badarg(env);
    }
    if (name != atom("debug")) {
        return raise_invalid(env, make_tuple(heap_of(env), atom("command"), name));
    }
    return get_boolean(data, &flag) ? atoms::ok.raw : raise_invalid(env, make_tuple(heap_of(env), atom("data"), data));
}

Word host_name(Env* env, int, const Word*) {
    char name[HOST_NAME_MAX + 1] = {};
    return gethostname(name, sizeof name - 1) == 0 ? ok(env, text(env, name)) : errno_error(env, errno);
}

// ---- resolving --------------------------------------------------------------------------------------------------

Word resolver_error(Env* env, int why) {
    static constexpr Named kWhys[] = {{"eaddrfamily", EAI_ADDRFAMILY}, {"eagain", EAI_AGAIN},     {"ebadflags", EAI_BADFLAGS},
                                      {"efail", EAI_FAIL},             {"efamily", EAI_FAMILY},   {"emem", EAI_MEMORY},
                                      {"enodata", EAI_NODATA},         {"enoname", EAI_NONAME},   {"eservice", EAI_SERVICE},
                                      {"esocktype", EAI_SOCKTYPE},     {"eoverflow", EAI_OVERFLOW}};
    if (why == EAI_SYSTEM) {
        return errno_error(env, errno);
    }
    for (const Named& n : kWhys) {
        if (n.number == why) {
            return error(env, n.name);
        }
    }
    return error(env, "einval");
}

bool get_name_flags(Term t, int* out) {
    static constexpr Named kFlags[] = {{"namereqd", NI_NAMEREQD},       {"dgram", NI_DGRAM},
                                       {"nofqdn", NI_NOFQDN},           {"numerichost", NI_NUMERICHOST},
                                       {"numericserv", NI_NUMERICSERV}, {"idn", NI_IDN}};
    if (t == atoms::undefined) {
        return true;
    }
    for (; is_cons(t); t = tail(t)) {
        const auto* const n = std::find_if(std::begin(kFlags), std::end(kFlags),
                                           [&](const Named& f) { return atom(f.name) == head(t); });
        if (n == std::end(kFlags)) {
            return false;
        }
        *out |= n->number;
    }
    return is_nil(t);
}

Word name_info(Env* env, int, const Word* a) {
    SocketAddress address;
    int flags = 0;
    if (!get_address(Term{a[0]}, &address)) {
        return error(env, "einval");
    }
    if (!get_name_flags(Term{a[1]}, &flags)) {
        return raise_badarg(env);
    }
    char host[NI_MAXHOST];
    char service[NI_MAXSERV];
    if (const int why = getnameinfo(address.get(), address.size, host, sizeof host, service, sizeof service, flags);
        why != 0) {
        return resolver_error(env, why);
    }
    return ok(env, make_map(env, {{"host", text(env, host)}, {"service", text(env, service)}}));
}

// A list of bytes, or undefined (*name is null). False: t is neither.
bool get_name(Term t, std::string* out, const char** name) {
    if (t == atoms::undefined) {
        *name = nullptr;
        return true;
    }
    *name = get_string(t, out) ? out->c_str() : nullptr;
    return *name != nullptr;
}

Word address_info(Env* env, int, const Word* a) {
    std::string host_text;
    std::string service_text;
    const char* host = nullptr;
    const char* service = nullptr;
    if (!get_name(Term{a[0]}, &host_text, &host) || !get_name(Term{a[1]}, &service_text, &service) ||
        (host == nullptr && service == nullptr)) {
        return raise_badarg(env);
    }
    addrinfo* all = nullptr;
    if (const int why = getaddrinfo(host, service, nullptr, &all); why != 0) {
        return resolver_error(env, why);
    }
    std::vector<Term> found;
    for (const addrinfo* i = all; i != nullptr; i = i->ai_next) {
        found.push_back(make_map(
            env, {{"family", family_term(env, i->ai_family)},
                  {otp_release().number >= 26 ? "socktype" : "type", i->ai_socktype == 0 ? atom("any") : type_term(env, i->ai_socktype)},
                  {"protocol", make_small(i->ai_protocol)},
                  {"addr", address_term(env, i->ai_addr, i->ai_addrlen)}}));
    }
    freeaddrinfo(all);
    Term list = kNil;
    for (auto t = found.rbegin(); t != found.rend(); ++t) {
        list = cons(heap_of(env), *t, list);
    }
    return ok(env, list);
}

// ---- services ---------------------------------------------------------------------------------------------------

// The protocol's name; null for any. False: t is no name.
bool get_protocol(Term t, std::string* out, const char** name) {
    if (!get_string(t, out) || out->empty()) {
        return false;
    }
    *name = *out == "any" ? nullptr : out->c_str();
    return true;
}

Word service_by_name(Env* env, int, const Word* a) {
    std::string name;
    std::string protocol_text;
    const char* protocol = nullptr;
    servent entry{};
    servent* found = nullptr;
    char room[4096];
    if (!get_string(Term{a[0]}, &name) || name.empty() || !get_protocol(Term{a[1]}, &protocol_text, &protocol) ||
        getservbyname_r(name.c_str(), protocol, &entry, room, sizeof room, &found) != 0 || found == nullptr) {
        return error(env, "einval");
    }
    return ok(env, make_small(ntohs(static_cast<uint16_t>(found->s_port))));
}

Word service_by_port(Env* env, int, const Word* a) {
    std::string protocol_text;
    const char* protocol = nullptr;
    int port = 0;
    servent entry{};
    servent* found = nullptr;
    char room[4096];
    if (!get_int(Term{a[0]}, &port) || !get_protocol(Term{a[1]}, &protocol_text, &protocol) ||
        getservbyport_r(htons(static_cast<uint16_t>(port)), protocol, &entry, room, sizeof room, &found) != 0 ||
        found == nullptr) {
        return error(env, "einval");
    }
    return ok(env, text(env, found->s_name));
}

// ---- interfaces -------------------------------------------------------------------------------------------------

// The flags in ifa_flags; other bits have no name here.
Term interface_flags_term(Env* env, unsigned flags) {
    static constexpr const char* kTold[] = {"up",      "broadcast", "debug",  "loopback", "pointopoint", "notrailers", "running",
                                            "noarp",   "promisc",   "master", "slave",    "multicast",   "portsel",    "automedia",
                                            "dynamic"};
    std::vector<Named> names;
    int known = 0;
    for (const char* name : kTold) {
        for (const Named& n : interface_flags()) {
            if (std::strcmp(n.name, name) == 0) {
                names.push_back(n);
                known |= n.number;
            }
        }
    }
    return flags_term(env, names, static_cast<int>(flags) & known);
}

Term interface_term(Env* env, const ifaddrs& i) {
    Heap& h = heap_of(env);
    Term map = make_map(env, {{"name", text(env, i.ifa_name)}, {"flags", interface_flags_term(env, i.ifa_flags)}});
    const auto add = [&](const char* key, const sockaddr* address) {
        if (address != nullptr) {
            map = map::put(h, map, atom(key), address_term(env, address, 0));
        }
    };
    add("addr", i.ifa_addr);
    add("netmask", i.ifa_netmask);
    if (i.ifa_dstaddr != nullptr && (i.ifa_flags & IFF_POINTOPOINT) != 0) {
        add("dstaddr", i.ifa_dstaddr);
    } else if (i.ifa_broadaddr != nullptr && (i.ifa_flags & IFF_BROADCAST) != 0) {
        add("broadaddr", i.ifa_broadaddr);
    }
    return map;
}

Word all_interfaces(Env* env) {
    ifaddrs* all = nullptr;
    if (getifaddrs(&all) != 0) {
        return errno_error(env, errno);
    }
    std::vector<Term> found;
    for (const ifaddrs* i = all; i != nullptr; i = i->ifa_next) {
        found.push_back(interface_term(env, *i));
    }
    freeifaddrs(all);
    Term list = kNil;
    for (auto t = found.rbegin(); t != found.rend(); ++t) {
        list = cons(heap_of(env), *t, list);
    }
    return ok(env, list);
}

// Dirty: the thread is in the other network namespace meanwhile, and reading it may take long.
Word interface_addresses(Env* env, int, const Word* a) {
    const Term options{a[0]};
    std::string name;
    if (!is_map(options)) {
        return raise_badarg(env);
    }
    const Term netns = field(options, "netns");
    if (!is_value(netns)) {
        return all_interfaces(env);
    }
    if (!get_string(netns, &name)) {
        return raise_badarg(env);
    }
    const int here = ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    const int there = here < 0 ? -1 : ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
    Word result = 0;
    if (here < 0 || there < 0 || setns(there, CLONE_NEWNET) != 0) {
        result = errno_error(env, errno);
    } else {
        result = all_interfaces(env);
        if (setns(here, CLONE_NEWNET) != 0) {
            result = errno_error(env, errno);
        }
    }
    for (const int fd : {here, there}) {
        if (fd >= 0) {
            ::close(fd);
        }
    }
    return result;
}

Word interface_index(Env* env, int, const Word* a) {
    std::string name;
    if (!get_string(Term{a[0]}, &name) || name.empty() || name.size() > IF_NAMESIZE) {
        return error(env, "einval");
    }
    const unsigned index = if_nametoindex(name.c_str());
    return index != 0 ? ok(env, make_small(index)) : errno_error(env, errno);
}

Word interface_name(Env* env, int, const Word* a) {
    unsigned index = 0;
    char name[IF_NAMESIZE + 1] = {};
    if (!get_unsigned(Term{a[0]}, &index)) {
        return raise_badarg(env);
    }
    return if_indextoname(index, name) != nullptr ? ok(env, text(env, name)) : errno_error(env, errno);
}

Word interface_names(Env* env, int, const Word*) {
    struct if_nameindex* const all = if_nameindex();
    if (all == nullptr) {
        return errno_error(env, errno);
    }
    Heap& h = heap_of(env);
    std::vector<Term> found;
    for (const auto* i = all; i->if_index != 0 && i->if_name != nullptr; ++i) {
        found.push_back(make_tuple(h, make_small(i->if_index), text(env, i->if_name)));
    }
    if_freenameindex(all);
    Term list = kNil;
    for (auto t = found.rbegin(); t != found.rend(); ++t) {
        list = cons(h, *t, list);
    }
    return ok(env, list);
}

Word of_windows(Env* env, int, const Word*) {
    return not_supported(env);
}

int load_net(Env*, void**, Word) { return 0; }
int upgrade_net(Env*, void**, void**, Word) { return 0; }

// Resolving asks servers and may take seconds: dirty, though erl runs it on its schedulers.
LibraryFunction g_net_functions[] = {
    {"nif_info", 0, info_of_net, 0},
    {"nif_command", 1, command_of_net, 0},
    {"nif_gethostname", 0, host_name, 0},
    {"nif_getnameinfo", 2, name_info, kDirtyIo},
    {"nif_getaddrinfo", 3, address_info, kDirtyIo},
    {"nif_getifaddrs", 1, interface_addresses, kDirtyIo},
    {"nif_get_adapters_addresses", 1, of_windows, 0},
    {"nif_get_if_entry", 1, of_windows, 0},
    {"nif_get_interface_info", 1, of_windows, 0},
    {"nif_get_ip_address_table", 1, of_windows, 0},
    {"nif_getservbyname", 2, service_by_name, kDirtyIo},
    {"nif_getservbyport", 2, service_by_port, kDirtyIo},
    {"nif_if_name2index", 1, interface_index, 0},
    {"nif_if_index2name", 1, interface_name, 0},
    {"nif_if_names", 0, interface_names, 0},
};

}  // namespace

const Entry& prim_net_entry() {
    static const Entry entry = entry_of("prim_net", g_net_functions, load_net, upgrade_net);
    return entry;
}

}  // namespace minivm::nif::sockets
