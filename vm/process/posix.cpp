#include "vm/process/posix.hpp"

#include "vm/term/atom_table.hpp"
#include "vm/term/binary.hpp"
#include "vm/util/utf8.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace minivm {
namespace {

struct ErrorName {
    int number;
    const char* text;
};
constexpr ErrorName kErrorNames[] = {
    {E2BIG, "e2big"},
    {EACCES, "eacces"},
    {EADDRINUSE, "eaddrinuse"},
    {EADDRNOTAVAIL, "eaddrnotavail"},
    {EADV, "eadv"},
    {EAFNOSUPPORT, "eafnosupport"},
    {EAGAIN, "eagain"},
    {EALREADY, "ealready"},
    {EBADE, "ebade"},
    {EBADF, "ebadf"},
    {EBADFD, "ebadfd"},
    {EBADMSG, "ebadmsg"},
    {EBADR, "ebadr"},
    {EBADRQC, "ebadrqc"},
    {EBADSLT, "ebadslt"},
    {EBFONT, "ebfont"},
    {EBUSY, "ebusy"},
    {ECANCELED, "ecanceled"},
    {ECHILD, "echild"},
    {ECHRNG, "echrng"},
    {ECOMM, "ecomm"},
    {ECONNABORTED, "econnaborted"},
    {ECONNREFUSED, "econnrefused"},
    {ECONNRESET, "econnreset"},
    {EDEADLK, "edeadlk"},
    {EDESTADDRREQ, "edestaddrreq"},
    {EDOM, "edom"},
    {EDOTDOT, "edotdot"},
    {EDQUOT, "edquot"},
    {EEXIST, "eexist"},
    {EFAULT, "efault"},
    {EFBIG, "efbig"},
    {EHOSTDOWN, "ehostdown"},
    {EHOSTUNREACH, "ehostunreach"},
    {EIDRM, "eidrm"},
    {EILSEQ, "eilseq"},
    {EINPROGRESS, "einprogress"},
    {EINTR, "eintr"},
    {EINVAL, "einval"},
    {EIO, "eio"},
    {EISCONN, "eisconn"},
    {EISDIR, "eisdir"},
    {EISNAM, "eisnam"},
    {EL2HLT, "el2hlt"},
    {EL2NSYNC, "el2nsync"},
    {EL3HLT, "el3hlt"},
    {EL3RST, "el3rst"},
    {ELIBACC, "elibacc"},
    {ELIBBAD, "elibbad"},
    {ELIBEXEC, "elibexec"},
    {ELIBMAX, "elibmax"},
    {ELIBSCN, "elibscn"},
    {ELNRNG, "elnrng"},
    {ELOOP, "eloop"},
    {EMFILE, "emfile"},
    {EMLINK, "emlink"},
    {EMSGSIZE, "emsgsize"},
    {EMULTIHOP, "emultihop"},
    {ENAMETOOLONG, "enametoolong"},
    {ENAVAIL, "enavail"},
    {ENETDOWN, "enetdown"},
    {ENETRESET, "enetreset"},
    {ENETUNREACH, "enetunreach"},
    {ENFILE, "enfile"},
    {ENOANO, "enoano"},
    {ENOBUFS, "enobufs"},
    {ENOCSI, "enocsi"},
    {ENODATA, "enodata"},
    {ENODEV, "enodev"},
    {ENOENT, "enoent"},
    {ENOEXEC, "enoexec"},
    {ENOLCK, "enolck"},
    {ENOLINK, "enolink"},
    {ENOMEM, "enomem"},
    {ENOMSG, "enomsg"},
    {ENONET, "enonet"},
    {ENOPKG, "enopkg"},
    {ENOPROTOOPT, "enoprotoopt"},
    {ENOSPC, "enospc"},
    {ENOSR, "enosr"},
    {ENOSTR, "enostr"},
    {ENOSYS, "enosys"},
    {ENOTBLK, "enotblk"},
    {ENOTCONN, "enotconn"},
    {ENOTDIR, "enotdir"},
    {ENOTEMPTY, "enotempty"},
    {ENOTNAM, "enotnam"},
    {ENOTSOCK, "enotsock"},
    {ENOTSUP, "enotsup"},
    {ENOTTY, "enotty"},
    {ENOTUNIQ, "enotuniq"},
    {ENXIO, "enxio"},
    {EOVERFLOW, "eoverflow"},
    {EPERM, "eperm"},
    {EPFNOSUPPORT, "epfnosupport"},
    {EPIPE, "epipe"},
    {EPROTO, "eproto"},
    {EPROTONOSUPPORT, "eprotonosupport"},
    {EPROTOTYPE, "eprototype"},
    {ERANGE, "erange"},
    {EREMCHG, "eremchg"},
    {EREMOTE, "eremote"},
    {EREMOTEIO, "eremoteio"},
    {EROFS, "erofs"},
    {ESHUTDOWN, "eshutdown"},
    {ESOCKTNOSUPPORT, "esocktnosupport"},
    {ESPIPE, "espipe"},
    {ESRCH, "esrch"},
    {ESRMNT, "esrmnt"},
    {ESTALE, "estale"},
    {ETIME, "etime"},
    {ETIMEDOUT, "etimedout"},
    {ETOOMANYREFS, "etoomanyrefs"},
    {ETXTBSY, "etxtbsy"},
    {EUCLEAN, "euclean"},
    {EUNATCH, "eunatch"},
    {EUSERS, "eusers"},
    {EXDEV, "exdev"},
    {EXFULL, "exfull"},
};

}  // namespace

const char* posix_error_name(int error_number) {
    for (const ErrorName& e : kErrorNames) {
        if (e.number == error_number) {
            return e.text;
        }
    }
    return "unknown";
}

Term posix_error_atom(int error_number) {
    return atom_table::intern(posix_error_name(error_number));
}

bool is_descriptor_of_program(int64_t descriptor) {
    if (descriptor < 0 || descriptor > INT_MAX) {
        return false;
    }
    const int flags = fcntl(static_cast<int>(descriptor), F_GETFD);
    return flags >= 0 && (flags & FD_CLOEXEC) == 0;
}

namespace {

struct HeldSockets {
    struct Holders {
        unsigned number = 0;
        bool owned = false;  // by one who has let go of it
    };
    std::mutex lock;
    std::unordered_map<int, Holders> holders;
};
HeldSockets& held_sockets() {
    static HeldSockets held;
    return held;
}

}  // namespace

void hold_socket(int descriptor) {
    HeldSockets& held = held_sockets();
    const std::lock_guard lock(held.lock);
    ++held.holders[descriptor].number;
}
bool let_go_of_socket(int descriptor, bool owned) {
    HeldSockets& held = held_sockets();
    const std::lock_guard lock(held.lock);
    const auto it = held.holders.find(descriptor);
    if (it == held.holders.end()) {
        return false;
    }
    it->second.owned |= owned;
    if (--it->second.number != 0) {
        return false;
    }
    const bool closes = it->second.owned;
    held.holders.erase(it);
    return closes;
}
bool is_held_socket(int64_t descriptor) {
    HeldSockets& held = held_sockets();
    const std::lock_guard lock(held.lock);
    return descriptor >= 0 && descriptor <= INT_MAX && held.holders.count(static_cast<int>(descriptor)) != 0;
}

int socket_in_namespace(const std::string& file, int family, int type, int protocol) {
    const int here = ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    const int there = here < 0 ? -1 : ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    int fd = -1;
    int why = here < 0 || there < 0 || setns(there, CLONE_NEWNET) != 0 ? errno : 0;
    if (why == 0) {
        fd = ::socket(family, type, protocol);
        why = errno;
        int back;
        do {
            back = setns(here, CLONE_NEWNET);
        } while (back != 0 && errno == EINTR);
        if (back != 0 && fd >= 0) {
            why = errno;
            ::close(fd);
            fd = -1;
        }
    }
    for (const int opened : {here, there}) {
        if (opened >= 0) {
            ::close(opened);
        }
    }
    errno = why;
    return fd;
}

Term posix_error(Process& p, int error_number) {
    return make_tuple(p.heap, atoms::error, posix_error_atom(error_number));
}

bool get_file_name(Term name, std::string* out) {
    out->clear();
    if (is_bitstring(name)) {
        Bytes bytes;
        if (!get_bytes(name, &bytes)) {
            return false;
        }
        out->assign(reinterpret_cast<const char*>(bytes.data), bytes.size);
    } else {
        std::vector<Term> rest;  // tails of the lists that the present one is in
        Term t = name;
        if (!is_list(t)) {
            return false;
        }
        for (;;) {
            if (is_cons(t)) {
                rest.push_back(tail(t));
                t = head(t);
                continue;
            }
            if (is_small(t) && small_value(t) >= 0 && small_value(t) <= 0x10FFFF &&
                (small_value(t) < 0xD800 || small_value(t) > 0xDFFF)) {
                append_utf8(static_cast<uint32_t>(small_value(t)), out);
            } else if (!is_nil(t)) {
                return false;
            }
            if (rest.empty()) {
                break;
            }
            t = rest.back();
            rest.pop_back();
            if (!is_list(t)) {
                return false;
            }
        }
    }
    return out->find('\0') == std::string::npos;
}

Term file_name_term(Heap& h, const std::string& bytes) {
    const auto* s = reinterpret_cast<const uint8_t*>(bytes.data());
    const size_t n = bytes.size();
    std::vector<uint32_t> chars;
    chars.reserve(n);
    for (size_t i = 0; i < n;) {
        const uint8_t b = s[i];
        const int more = b < 0x80 ? 0 : b >= 0xC2 && b < 0xE0 ? 1 : b >= 0xE0 && b < 0xF0 ? 2
                                    : b >= 0xF0 && b < 0xF5  ? 3
                                                             : -1;
        if (more < 0 || i + static_cast<size_t>(more) >= n) {
            return make_binary(h, s, n);
        }
        uint32_t c = more == 0 ? b : b & (0x3Fu >> more);
        for (int k = 1; k <= more; ++k) {
            const uint8_t next = s[i + static_cast<size_t>(k)];
            if ((next & 0xC0) != 0x80) {
                return make_binary(h, s, n);
            }
            c = c << 6 | (next & 0x3F);
        }
        const bool overlong = (more == 2 && c < 0x800) || (more == 3 && c < 0x10000);
        if (overlong || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) {
            return make_binary(h, s, n);
        }
        chars.push_back(c);
        i += static_cast<size_t>(more) + 1;
    }
    Term list = kNil;
    Term* cells = h.alloc(kConsWords * chars.size());
    for (size_t i = chars.size(); i > 0; --i, cells += kConsWords) {
        list = put_cons(cells, make_small(chars[i - 1]), list);
    }
    return list;
}

}  // namespace minivm
