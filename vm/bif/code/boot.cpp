// What the modules of a bare boot (tools/boot) need of the VM: standard input and output, code files.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <mutex>

#include "vm/bif/bif.hpp"
#include "vm/code/loading.hpp"
#include "vm/process/posix.hpp"
#include "vm/process/continuation.hpp"
#include "vm/sched/halt.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/format.hpp"
#include "vm/util/otp_release.hpp"
#include "vm/util/utf8.hpp"

namespace minivm {
namespace {

// Writes all of it, waiting as long as it takes. 0 or errno.
int write_all(int fd, const uint8_t* data, size_t n) {
    const vm::OutputWait wait;
    while (n > 0) {
        const ssize_t written = write(fd, data, n);
        if (written < 0) {
            if (errno == EINTR) {
                continue;
            }
            if (errno == EAGAIN) {
                pollfd p{fd, POLLOUT, 0};
                poll(&p, 1, -1);
                continue;
            }
            return errno;
        }
        data += written;
        n -= static_cast<size_t>(written);
    }
    return 0;
}

Term written(Process& p, int e) {
    return e == 0 ? atoms::ok : posix_error(p, e);
}

Term write_now(Process& p, int fd, Term binary) {
    Bytes bytes;
    if (!get_bytes(binary, &bytes)) {
        return badarg(p);
    }
    return written(p, write_all(fd, bytes.data, bytes.size));
}

// A pipe that polls writable takes PIPE_BUF bytes without blocking, a file always does; everything else
// goes to a dirty scheduler.
Term minivm_write_stdout_1(Process& p, const Term* a) {
    Bytes bytes;
    if (!get_bytes(a[0], &bytes)) {
        return badarg(p);
    }
    pollfd ready{STDOUT_FILENO, POLLOUT, 0};
    if (bytes.size <= PIPE_BUF && poll(&ready, 1, 0) == 1) {
        return written(p, write_all(STDOUT_FILENO, bytes.data, bytes.size));
    }
    static const Export* dirty = bif_export("minivm", "write_stdout_dirty", 1);
    return trap(p, dirty, {a[0]});
}
Term minivm_write_stdout_dirty_1(Process& p, const Term* a) {
    return write_now(p, STDOUT_FILENO, a[0]);
}
Term minivm_write_stderr_1(Process& p, const Term* a) { return write_now(p, STDERR_FILENO, a[0]); }

// -> binary | eof | {error, Reason}; blocks.
Term minivm_read_stdin_0(Process& p, const Term*) {
    uint8_t buffer[65536];
    ssize_t n;
    do {
        n = read(STDIN_FILENO, buffer, sizeof(buffer));
        if (n < 0 && errno == EAGAIN) {
            pollfd wait{STDIN_FILENO, POLLIN, 0};
            poll(&wait, 1, -1);
            errno = EINTR;
        }
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        return posix_error(p, errno);
    }
    return n == 0 ? atoms::eof : make_binary(p.heap, buffer, static_cast<size_t>(n));
}

// A string as UTF-8. False: it is none.
bool get_text(Term t, std::string* out) {
    out->clear();
    for (; is_cons(t); t = tail(t)) {
        if (!is_small(head(t)) || small_value(head(t)) < 0 || small_value(head(t)) > 0x10FFFF ||
            small_value(head(t)) >> 11 == 0xD800 >> 11) {
            return false;
        }
        append_utf8(static_cast<uint32_t>(small_value(head(t))), out);
    }
    return is_nil(t);
}

Term minivm_find_file_1(Process& p, const Term* a) {
    if (!is_atom(a[0]) || g_module_source == nullptr) {
        return badarg(p);
    }
    const std::string path = g_module_source->find(atom_table::text(a[0]));
    return path.empty() ? atoms::false_ : make_string_utf8(p.heap, path.data(), path.size());
}
Term minivm_otp_root_0(Process& p, const Term*) {
    const std::string root = g_module_source != nullptr ? g_module_source->otp_root() : "";
    return make_string_utf8(p.heap, root.data(), root.size());
}

// minivm:read_file(Path) -> {ok, Binary} | {error, Reason}
Term minivm_read_file_1(Process& p, const Term* a) {
    std::string path;
    if (!get_file_name(a[0], &path)) {
        return badarg(p);
    }
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return posix_error(p, errno);
    }
    ByteSink sink;
    ssize_t n = 0;
    do {
        uint8_t buffer[16384];
        n = read(fd, buffer, sizeof(buffer));
        if (n > 0) {
            std::memcpy(sink.room(static_cast<size_t>(n)), buffer, static_cast<size_t>(n));
        }
    } while (n > 0 || (n < 0 && errno == EINTR));
    const int error = errno;
    close(fd);
    return n < 0 ? posix_error(p, error) : make_tuple(p.heap, atoms::ok, sink.take(p.heap));
}

Term minivm_code_path_0(Process& p, const Term*) {
    Term list = kNil;
    if (g_module_source != nullptr) {
        const std::vector<std::string> all = g_module_source->directories();
        for (size_t i = all.size(); i > 0; --i) {
            list = cons(p.heap, file_name_term(p.heap, all[i - 1]), list);
        }
    }
    return list;
}

// minivm:set_code_path([Dir]) -> true | {error, bad_directory}
Term minivm_set_code_path_1(Process& p, const Term* a) {
    std::vector<std::string> all;
    Term t = a[0];
    for (; is_cons(t); t = tail(t)) {
        if (!get_file_name(head(t), &all.emplace_back())) {
            return badarg(p);
        }
    }
    if (!is_nil(t) || g_module_source == nullptr) {
        return badarg(p);
    }
    return g_module_source->set_directories(std::move(all))
               ? atoms::true_
               : make_tuple(p.heap, atoms::error, atom_table::intern("bad_directory"));
}

// ---- display ------------------------------------------------------------------------------------------
// Output goes past the I/O servers, with a carriage return before each line feed, as OTP's runtime system prints.

std::string with_returns(std::string_view text) {
    std::string out;
    for (const char c : text) {
        out += c == '\n' ? "\r" : "";
        out += c;
    }
    return out;
}

// Held while a process displays, so that texts of several processes do not mix within a line.
std::mutex g_display_lock;

// Writes at once where that cannot block, as write_stdout/1, so that the text is out before the process does anything
// else. `text` has its returns. False: it is long, or the file is not ready, or another process displays.
bool display_now(int fd, const std::string& text) {
    const std::unique_lock lock(g_display_lock, std::try_to_lock);
    pollfd ready{fd, POLLOUT, 0};
    if (!lock.owns_lock() || text.size() > PIPE_BUF || poll(&ready, 1, 0) != 1) {
        return false;
    }
    write_all(fd, reinterpret_cast<const uint8_t*>(text.data()), text.size());
    return true;
}
void display_whole(int fd, const std::string& text) {
    const std::lock_guard lock(g_display_lock);
    write_all(fd, reinterpret_cast<const uint8_t*>(text.data()), text.size());
}

Term erlang_display_1(Process& p, const Term* a) {
    constexpr size_t kShort = PIPE_BUF;  // a longer one is written piece by piece, and may block
    const std::string text = display_term(a[0], kShort);
    if (text.size() < kShort && display_now(STDOUT_FILENO, with_returns(text + "\n"))) {
        return atoms::true_;
    }
    static const Export* dirty = bif_export("minivm", "display_dirty", 1);
    return trap(p, dirty, {a[0]});
}
Term minivm_display_dirty_1(Process&, const Term* a) {
    const std::lock_guard lock(g_display_lock);
    const auto write = [](const std::string& text) {
        const std::string out = with_returns(text);
        write_all(STDOUT_FILENO, reinterpret_cast<const uint8_t*>(out.data()), out.size());
    };
    display_term(a[0], write);
    write("\n");
    return atoms::true_;
}
// Writes `text` to the file, now or on a dirty scheduler.
Term display_or_trap(Process& p, int fd, const std::string& text) {
    if (display_now(fd, text)) {
        return atoms::true_;
    }
    static const Export* dirty = bif_export("minivm", "display_bytes_dirty", 2);
    return trap(p, dirty, {make_small(fd), make_binary(p.heap, text.data(), text.size())});
}
Term minivm_display_bytes_dirty_2(Process&, const Term* a) {
    Bytes bytes;
    get_bytes(a[1], &bytes);
    display_whole(static_cast<int>(small_value(a[0])), std::string(reinterpret_cast<const char*>(bytes.data), bytes.size));
    return atoms::true_;
}
// What display_string shows: a string, from OTP 26 on also the bytes of a binary.
bool get_displayed(Term t, std::string* out) {
    Bytes bytes;
    if (by_release::at_least(26) && get_bytes(t, &bytes)) {
        out->assign(reinterpret_cast<const char*>(bytes.data), bytes.size);
        return true;
    }
    return get_text(t, out);
}
// To standard error; from OTP 26 on without carriage returns, as display_string/2.
Term erlang_display_string_1(Process& p, const Term* a) {
    std::string text;
    if (!get_displayed(a[0], &text)) {
        return badarg(p);
    }
    return display_or_trap(p, STDERR_FILENO, by_release::at_least(26) ? text : with_returns(text));
}
Term erlang_display_string_2(Process& p, const Term* a) {
    std::string text;
    const bool is_stdout = a[0] == atom_table::intern("stdout");
    if ((!is_stdout && a[0] != atom_table::intern("stderr")) || !get_displayed(a[1], &text)) {
        return badarg(p);
    }
    return display_or_trap(p, is_stdout ? STDOUT_FILENO : STDERR_FILENO, text);
}
constexpr size_t kDisplayedPerReduction = 64;  // bytes

// (Term, Limit): the text of at most Limit elements; undefined: all of it.
Term erts_internal_term_to_string_2(Process& p, const Term* a) {
    const bool is_limited = is_small(a[1]) && small_value(a[1]) > 1 && small_value(a[1]) < INT_MAX;
    if (!is_limited && a[1] != atoms::undefined) {
        return badarg(p);
    }
    const std::string text = display_elements(a[0], is_limited ? small_value(a[1]) : INT_MAX);
    consume(p, static_cast<int64_t>(text.size() / kDisplayedPerReduction));
    return make_string(p.heap, text.data(), text.size());
}
Term erlang_display_nl_0(Process& p, const Term*) {
    return display_or_trap(p, STDERR_FILENO, "\r\n");
}
// Displays its argument and answers the text, as bytes.
Term erts_debug_display_1(Process& p, const Term* a) {
    constexpr size_t kMaxBytes = size_t{1} << 24;  // the answer takes 16 times that
    const std::string text = display_term(a[0], kMaxBytes) + "\n";
    display_whole(STDOUT_FILENO, with_returns(text));
    return make_string(p.heap, text.data(), text.size());
}

}  // namespace

MINIVM_BIF_TABLE(boot) = {
    {"minivm", "write_stdout", 1, minivm_write_stdout_1, kBifPlain, nullptr},
    {"minivm", "write_stdout_dirty", 1, minivm_write_stdout_dirty_1, kBifDirtyIo | kBifHidden, nullptr},
    {"minivm", "write_stderr", 1, minivm_write_stderr_1, kBifDirtyIo, nullptr},
    {"minivm", "read_stdin", 0, minivm_read_stdin_0, kBifDirtyIo, nullptr},
    {"minivm", "find_file", 1, minivm_find_file_1, kBifDirtyIo, nullptr},
    {"minivm", "read_file", 1, minivm_read_file_1, kBifDirtyIo, nullptr},
    {"minivm", "code_path", 0, minivm_code_path_0, kBifPlain, nullptr},
    {"minivm", "set_code_path", 1, minivm_set_code_path_1, kBifDirtyIo, nullptr},
    {"minivm", "otp_root", 0, minivm_otp_root_0, kBifPlain, nullptr},
    {"erlang", "display", 1, erlang_display_1, kBifPlain, nullptr},
    {"minivm", "display_dirty", 1, minivm_display_dirty_1, kBifDirtyIo | kBifHidden, nullptr},
    {"minivm", "display_bytes_dirty", 2, minivm_display_bytes_dirty_2, kBifDirtyIo | kBifHidden, nullptr},
    {"erlang", "display_string", 2, erlang_display_string_2, kBifPlain, nullptr},
    {"erts_internal", "term_to_string", 2, erts_internal_term_to_string_2, kBifPlain, nullptr},
    {"erlang", "display_string", 1, erlang_display_string_1, kBifPlain, nullptr},
    {"erlang", "display_nl", 0, erlang_display_nl_0, kBifPlain, nullptr},
    {"erts_debug", "display", 1, erts_debug_display_1, kBifDirtyIo, nullptr},
};

}  // namespace minivm
