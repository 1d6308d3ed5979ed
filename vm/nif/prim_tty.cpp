// The module decides what to write and how to move; here is what it cannot do itself: the modes of the terminal, its
// size, its capabilities, and reading and writing of descriptors.
//
// The module has three forms, each of which declares its own natives (library.cpp leaves the others out). Those of OTP
// 26 and 27 set modes one by one, get SIGWINCH and SIGCONT through a pipe and ask termcap; that of OTP 28 names a kind
// of input and hears of signals from erl_signal_server; that of OTP 29 asks terminfo.
#include "vm/nif/prim_tty.hpp"

#include "vm/nif/built_in.hpp"
#include "vm/process/os_signals.hpp"
#include "vm/process/posix.hpp"
#include "vm/process/terminal.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/map.hpp"
#include "vm/util/environment.hpp"
#include "vm/util/otp_release.hpp"

#include <fcntl.h>
#include <langinfo.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cerrno>
#include <climits>
#include <clocale>
#include <cstring>
#include <cwchar>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

// From term.h, which cannot be included: it has macros with common names.
extern "C" {
struct term;
extern struct term* cur_term;
extern const char* const boolnames[];
extern const char* const boolcodes[];
extern const char* const boolfnames[];
extern const char* const numnames[];
extern const char* const numcodes[];
extern const char* const numfnames[];
extern const char* const strnames[];
extern const char* const strcodes[];
extern const char* const strfnames[];
int setupterm(const char* term, int descriptor, int* error);
int del_curterm(struct term* old);
int tgetent(char* unused, const char* terminal);
char* tgetstr(const char* name, char** buffer);
char* tgoto(const char* text, int column, int row);
int tgetnum(const char* name);
int tgetflag(const char* name);
char* tigetstr(const char* name);
char* tparm(const char* text, ...);
int tputs(const char* text, int lines, int (*put)(int));
}

namespace minivm::nif {

namespace {

ResourceType* g_type = nullptr;  // written while the library is loaded, before any of its functions is called

struct Terminal {
    int out = STDOUT_FILENO;
    int moded = STDOUT_FILENO;  // the descriptor whose modes are changed
    bool is_terminal = false;
    int signals = -1;           // the end of the pipe to read signals from
    std::mutex lock;            // of the modes and the processes: one that ends does so on another thread
    termios usual{};            // the modes before any change
    termios now{};
    Pid owner{kNonValue.raw};   // the process that set it up; when it ends, the modes are as usual again
    Pid reader{kNonValue.raw};  // the process that waits for input
};

Term atom(const char* name) { return atom_table::intern(name); }
Word ok(Env* env, Term value) { return make_tuple(heap_of(env), atoms::ok, value).raw; }
Word error(Env* env, Term reason) { return make_tuple(heap_of(env), atoms::error, reason).raw; }
// {error, {Function, Errno}}
Word system_error(Env* env, const char* function) {
    const Term why = posix_error_atom(errno);
    return error(env, make_tuple(heap_of(env), atom(function), why));
}

Terminal* terminal_of(Env* env, Word t) {
    void* object = nullptr;
    return enif_get_resource(env, t, g_type, &object) != 0 ? static_cast<Terminal*>(object) : nullptr;
}

std::optional<int> descriptor_of(Word name) {
    static const std::array<Term, 3> names = {atom("stdin"), atom("stdout"), atom("stderr")};
    for (int descriptor = 0; descriptor < 3; ++descriptor) {
        if (names[static_cast<size_t>(descriptor)].raw == name) {
            return descriptor;
        }
    }
    return std::nullopt;
}

// ---- streams and their modes ------------------------------------------------------------------------------------

Word is_a_terminal(Env* env, int, const Word* a) {
    static const Term ebadf = atom("ebadf");
    const auto descriptor = descriptor_of(a[0]);
    if (!descriptor.has_value()) {
        return raise_badarg(env);
    }
    if (isatty(*descriptor) != 0) {
        return atoms::true_.raw;
    }
    return (errno == EINVAL || errno == ENOTTY ? atoms::false_ : ebadf).raw;
}

Word create(Env* env, int arity, const Word* a) {
    const auto out = arity == 0 ? std::optional(STDOUT_FILENO) : descriptor_of(a[0]);
    if (!out.has_value() || *out == STDIN_FILENO) {
        return raise_badarg(env);
    }
    void* const memory = enif_alloc_resource(g_type, sizeof(Terminal));
    if (memory == nullptr) {
        return error(env, atom("enomem"));
    }
    auto* const t = new (memory) Terminal;
    t->out = t->moded = *out;
    t->is_terminal = tcgetattr(t->out, &t->usual) == 0;
    t->now = t->usual;
    const Term made{enif_make_resource(env, t)};
    enif_release_resource(t);
    return ok(env, made);
}

// Gives each key as it is typed, shows only what the program writes, and changes no newline.
void make_raw(termios* modes) {
    modes->c_iflag &= ~static_cast<tcflag_t>(ISTRIP | ICRNL);
    modes->c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    modes->c_oflag &= ~static_cast<tcflag_t>(OPOST);
    modes->c_cc[VMIN] = 1;
    modes->c_cc[VTIME] = 0;
}

// Makes the caller the owner: when it ends, ended() sets the usual modes. Under the lock.
Word owned(Env* env, Terminal* t) {
    t->owner.id = env->process->id.raw;
    enif_monitor_process(env, t, &t->owner, nullptr);
    return atoms::ok.raw;
}

// tty_init(Terminal, #{input := raw | cooked | disabled, _ => _})
Word set_up(Env* env, int, const Word* a) {
    static const Term input = atom("input");
    static const Term raw = atom("raw");
    Terminal* const t = terminal_of(env, a[0]);
    const Term options{a[1]};
    const Term wanted = t != nullptr && is_map(options) ? map::get(options, input) : kNonValue;
    if (!is_value(wanted)) {
        return raise_badarg(env);
    }
    const std::lock_guard lock(t->lock);
    if (!t->is_terminal) {
        return wanted == raw ? error(env, atom("enotsup")) : atoms::ok.raw;
    }
    if (wanted == raw || std::memcmp(&t->now, &t->usual, sizeof t->usual) != 0) {
        t->now = t->usual;
        if (wanted == raw) {
            make_raw(&t->now);
            terminal::will_change(t->out, t->usual);
        }
        if (!terminal::set_modes(t->out, t->now)) {
            return system_error(env, "tcsetattr");
        }
    }
    return owned(env, t);
}

void turn(tcflag_t* flags, tcflag_t which, Term wanted) {
    if (wanted == atoms::true_) {
        *flags |= which;
    } else if (wanted == atoms::false_) {
        *flags &= ~which;
    }
}
// tty_init(Terminal, stdout, #{canon => _, echo => _, sig => _}): true, false, or no change. tty_set/1 sets the modes.
Word set_up_in_parts(Env* env, int, const Word* a) {
    static const Term canon = atom("canon");
    static const Term echo = atom("echo");
    static const Term sig = atom("sig");
    Terminal* const t = terminal_of(env, a[0]);
    const auto descriptor = descriptor_of(a[1]);
    const Term options{a[2]};
    if (t == nullptr || !descriptor.has_value() || !is_map(options)) {
        return raise_badarg(env);
    }
    const std::lock_guard lock(t->lock);
    t->moded = STDIN_FILENO;
    t->is_terminal = tcgetattr(*descriptor, &t->usual) == 0;
    if (!t->is_terminal) {
        return system_error(env, "tcgetattr");
    }
    t->now = t->usual;
    t->now.c_iflag &= ~static_cast<tcflag_t>(ISTRIP);
    const Term by_line = map::get(options, canon);
    turn(&t->now.c_iflag, ICRNL, by_line);
    turn(&t->now.c_lflag, ICANON, by_line);
    turn(&t->now.c_oflag, OPOST, by_line);
    if (is_value(by_line) && by_line == atoms::false_) {
        t->now.c_cc[VMIN] = 1;
        t->now.c_cc[VTIME] = 0;
    }
    turn(&t->now.c_lflag, ECHO, map::get(options, echo));
    turn(&t->now.c_iflag, BRKINT | IGNPAR | ICRNL | IXON | IXANY, map::get(options, sig));
    turn(&t->now.c_lflag, ISIG | IEXTEN, map::get(options, sig));
    return atoms::ok.raw;
}
Word set_modes_now(Env* env, int, const Word* a) {
    Terminal* const t = terminal_of(env, a[0]);
    if (t == nullptr) {
        return raise_badarg(env);
    }
    const std::lock_guard lock(t->lock);
    if (t->is_terminal) {
        terminal::will_change(t->moded, t->usual);
        if (!terminal::set_modes(t->moded, t->now)) {
            return system_error(env, "tcsetattr");
        }
    }
    return owned(env, t);
}

void hear_no_signals(Env* env, Terminal* t) {
    if (t->signals >= 0) {
        os_signals::set_terminal_pipe(-1);
        enif_select(env, std::exchange(t->signals, -1), kSelectStop, t, nullptr, atoms::undefined.raw);
    }
}

// tty_select(Terminal, InputRef), or tty_select(Terminal, SignalRef, InputRef): the references in the messages.
Word select_input(Env* env, int arity, const Word* a) {
    Terminal* const t = terminal_of(env, a[0]);
    if (t == nullptr) {
        return raise_badarg(env);
    }
    const std::lock_guard lock(t->lock);
    if (arity == 3) {
        hear_no_signals(env, t);
        int ends[2];
        if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
            return system_error(env, "pipe");
        }
        t->signals = ends[0];
        os_signals::set_terminal_pipe(ends[1]);
        enif_select(env, t->signals, kSelectRead, t, nullptr, a[1]);
    }
    enif_select(env, STDIN_FILENO, kSelectRead, t, nullptr, a[arity - 1]);
    t->reader.id = env->process->id.raw;
    enif_monitor_process(env, t, &t->reader, nullptr);
    return atoms::ok.raw;
}

void ended(Env* env, void* object, Pid* who, MonitorId*) {
    auto* const t = static_cast<Terminal*>(object);
    const std::lock_guard lock(t->lock);
    if (who->id == t->owner.id && t->is_terminal) {
        terminal::set_modes(t->moded, t->usual);
        t->now = t->usual;
    }
    if (who->id == t->reader.id) {
        enif_select(env, STDIN_FILENO, kSelectStop, t, nullptr, atoms::undefined.raw);
        hear_no_signals(env, t);
    }
}
void stopped(Env*, void*, int descriptor, int) {
    if (descriptor != STDIN_FILENO) {
        close(descriptor);
    }
}

// tty_read_signal(Terminal, Reference): {ok, winch | cont}, and selects for the next one.
Word read_signal(Env* env, int, const Word* a) {
    static const Term winch = atom("winch");
    static const Term cont = atom("cont");
    static const Term empty = atom("empty");
    Terminal* const t = terminal_of(env, a[0]);
    if (t == nullptr) {
        return raise_badarg(env);
    }
    char byte = 0;
    ssize_t n;
    do {
        n = read(t->signals, &byte, 1);
    } while (n < 0 && errno == EINTR);
    if (n <= 0) {
        return n == 0 ? error(env, empty) : system_error(env, "read");
    }
    enif_select(env, t->signals, kSelectRead, t, nullptr, a[1]);
    return ok(env, byte == 'w' ? winch : cont);
}

Word window_size(Env* env, int, const Word* a) {
    const Terminal* const t = terminal_of(env, a[0]);
    if (t == nullptr) {
        return raise_badarg(env);
    }
    winsize size{};
    if ((ioctl(STDIN_FILENO, TIOCGWINSZ, &size) != 0 && ioctl(t->out, TIOCGWINSZ, &size) != 0) ||
        (size.ws_col == 0 && size.ws_row == 0)) {
        return error(env, atom("enotsup"));
    }
    const auto number = [](unsigned short n) { return make_small(n > 0 ? n : -1); };
    const Term columns = number(size.ws_col);
    return ok(env, make_tuple(heap_of(env), columns, number(size.ws_row)));
}

Word encoding(Env*, int, const Word*) { return atoms::utf8.raw; }

Word is_open(Env* env, int, const Word* a) {
    const auto descriptor = descriptor_of(a[1]);
    if (terminal_of(env, a[0]) == nullptr || !descriptor.has_value()) {
        return raise_badarg(env);
    }
    pollfd file{*descriptor, POLLHUP, 0};
    const int ready = poll(&file, 1, 0);
    if (ready < 0) {
        return system_error(env, "poll");
    }
    if (ready > 0 && (file.revents & POLLHUP) == 0) {
        return raise_badarg(env);
    }
    return make_bool(ready == 0).raw;
}

// ---- reading and writing: on a dirty scheduler, since a writer may wait for the terminal's reader -----------------

Word write_all(Env* env, int, const Word* a) {
    const Terminal* const t = terminal_of(env, a[0]);
    std::string bytes;
    if (t == nullptr || !iolist_to_bytes(Term{a[1]}, &bytes)) {
        return raise_badarg(env);
    }
    for (size_t done = 0; done < bytes.size();) {
        const ssize_t n = write(t->out, bytes.data() + done, bytes.size() - done);
        if (n >= 0) {
            done += static_cast<size_t>(n);
        } else if (errno == EAGAIN) {
            pollfd file{t->out, POLLOUT, 0};
            poll(&file, 1, -1);
        } else if (errno != EINTR) {
            return error(env, posix_error_atom(errno));
        }
    }
    return atoms::ok.raw;
}

// read_nif(Terminal, Reference[, Most]): the bytes there are, and {select, Terminal, Reference, ready_input} for more.
Word read_some(Env* env, int arity, const Word* a) {
    static const Term closed = atom("closed");
    constexpr int64_t kMostBytes = 1 << 20;
    constexpr int64_t kUsualBytes = 1024;
    Terminal* const t = terminal_of(env, a[0]);
    const Term most = arity == 2 ? make_small(kUsualBytes) : Term{a[2]};
    if (t == nullptr || !is_small(most) || small_value(most) < 0) {
        return raise_badarg(env);
    }
    std::string bytes(static_cast<size_t>(std::min(small_value(most), kMostBytes)), 0);
    ssize_t n = read(STDIN_FILENO, bytes.data(), bytes.size());
    if (n == 0) {
        return error(env, closed);
    }
    if (n < 0) {
        if (errno != EAGAIN && errno != EINTR) {
            return system_error(env, "read");
        }
        n = 0;
    }
    enif_select(env, STDIN_FILENO, kSelectRead, t, nullptr, a[1]);
    return ok(env, make_binary(heap_of(env), bytes.data(), static_cast<size_t>(n)));
}

// ---- characters --------------------------------------------------------------------------------------------------

Word set_locale(Env*, int, const Word*) {
    const char* const set = setlocale(LC_CTYPE, "");
    return make_bool(set != nullptr && std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0).raw;
}
// isprint(Byte)
Word is_printable(Env* env, int, const Word* a) {
    const Term c{a[0]};
    if (!is_small(c)) {
        return raise_badarg(env);
    }
    return make_bool(small_value(c) >= 0 && small_value(c) < 128 && std::isprint(static_cast<int>(small_value(c))) != 0).raw;
}
Word width_or_error(Env* env, int width) {
    static const Term not_printable = atom("not_printable");
    return width >= 0 ? make_small(width).raw : error(env, not_printable);
}
Word width_of_character(Env* env, int, const Word* a) {
    const Term c{a[0]};
    return is_small(c) ? width_or_error(env, wcwidth(static_cast<wchar_t>(small_value(c)))) : raise_badarg(env);
}
// wcswidth(Binary), a binary of wide characters
Word width_of_text(Env* env, int, const Word* a) {
    std::string bytes;
    if (!iolist_to_bytes(Term{a[0]}, &bytes)) {
        return raise_badarg(env);
    }
    std::wstring text(bytes.size() / sizeof(wchar_t), 0);
    std::memcpy(text.data(), bytes.data(), text.size() * sizeof(wchar_t));
    const int width = wcswidth(text.data(), text.size());
    return width >= 0 ? ok(env, make_small(width)) : width_or_error(env, width);
}
Word size_of_wide(Env*, int, const Word*) { return make_small(sizeof(wchar_t)).raw; }

// ---- terminfo, whose functions share one terminal description ----------------------------------------------------

std::mutex g_terminfo_lock;
struct term* g_terminal = nullptr;

// Finding a description reads variables of the environment.
template <typename F>
int find_description(F find) {
    const std::lock_guard lock(environment_lock());
    return find();
}

Word set_up_terminfo(Env* env, int, const Word*) {
    const std::lock_guard lock(g_terminfo_lock);
    int why = 0;
    if (find_description([&] { return setupterm(nullptr, -1, &why); }) < 0) {
        return system_error(env, "setupterm");
    }
    if (g_terminal != nullptr) {
        del_curterm(g_terminal);
    }
    g_terminal = cur_term;
    return atoms::ok.raw;
}

// The name of a capability, with or without a zero at its end.
std::optional<std::string> name_of(Word t) {
    std::string name;
    return iolist_to_bytes(Term{t}, &name) ? std::optional(name.substr(0, name.find('\0'))) : std::nullopt;
}

Word number_of(Env* env, int, const Word* a) {
    const auto name = name_of(a[0]);
    const std::lock_guard lock(g_terminfo_lock);
    return name.has_value() ? make_small(tgetnum(name->c_str())).raw : raise_badarg(env);
}
Word flag_of(Env* env, int, const Word* a) {
    const auto name = name_of(a[0]);
    const std::lock_guard lock(g_terminfo_lock);
    return name.has_value() ? make_bool(tgetflag(name->c_str()) != 0).raw : raise_badarg(env);
}
Word text_of(Env* env, int, const Word* a) {
    const auto name = name_of(a[0]);
    const std::lock_guard lock(g_terminfo_lock);
    const char* const text = name.has_value() ? tigetstr(name->c_str()) : nullptr;
    if (!name.has_value() || text == reinterpret_cast<char*>(-1)) {
        return raise_badarg(env);  // no capability has that name
    }
    return text == nullptr ? atoms::false_.raw : ok(env, make_binary(heap_of(env), text, std::strlen(text)));
}

std::string g_put;  // what tputs() writes, under the lock
int put_character(int c) {
    g_put.push_back(static_cast<char>(c));
    return c;
}
// tputs_nif(Capability, Numbers): the text to write.
Word filled_in(Env* env, int, const Word* a) {
    const auto text = name_of(a[0]);
    std::array<long, 9> numbers{};
    size_t count = 0;
    Term list{a[1]};
    for (; is_cons(list) && is_small(head(list)) && count < numbers.size(); list = tail(list)) {
        numbers[count++] = small_value(head(list));
    }
    if (!text.has_value() || !is_nil(list)) {
        return raise_badarg(env);
    }
    const std::lock_guard lock(g_terminfo_lock);
    const char* filled = text->c_str();
    if (count > 0) {
        filled = tparm(filled, numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5], numbers[6],
                       numbers[7], numbers[8]);
        if (filled == nullptr) {
            return system_error(env, "tparm");
        }
    }
    g_put.clear();
    tputs(filled, 1, put_character);
    return ok(env, make_binary(heap_of(env), g_put.data(), g_put.size()));
}

// ---- termcap --------------------------------------------------------------------------------------------------------

Word set_up_termcap(Env* env, int, const Word* a) {
    const auto name = name_of(a[0]);
    if (!name.has_value()) {
        return raise_badarg(env);
    }
    const std::lock_guard lock(g_terminfo_lock);
    const int found = find_description([&] { return tgetent(nullptr, name->c_str()); });
    return found > 0 ? atoms::ok.raw : system_error(env, "tgetent");
}
Word string_of(Env* env, int, const Word* a) {
    const auto name = name_of(a[0]);
    if (!name.has_value()) {
        return raise_badarg(env);
    }
    const std::lock_guard lock(g_terminfo_lock);
    char buffer[4096];
    char* free = buffer;
    const char* const text = tgetstr(name->c_str(), &free);
    return text == nullptr ? atoms::false_.raw : ok(env, make_binary(heap_of(env), text, std::strlen(text)));
}
// tgoto_nif(Capability[, Number[, Number]]): the text to write. OTP 26 takes a single number for the row.
Word moved_to(Env* env, int arity, const Word* a) {
    const auto text = name_of(a[0]);
    int numbers[2] = {0, 0};
    for (int i = 1; i < arity; ++i) {
        const Term n{a[i]};
        if (!is_small(n) || small_value(n) < INT_MIN || small_value(n) > INT_MAX) {
            return raise_badarg(env);
        }
        numbers[i - 1] = static_cast<int>(small_value(n));
    }
    if (!text.has_value()) {
        return raise_badarg(env);
    }
    if (arity == 2 && !by_release::at_least(27)) {
        std::swap(numbers[0], numbers[1]);
    }
    const std::lock_guard lock(g_terminfo_lock);
    const char* const filled = tgoto(text->c_str(), numbers[0], numbers[1]);
    if (filled == nullptr) {
        return system_error(env, "tgoto");
    }
    g_put.clear();
    tputs(filled, 1, put_character);
    return ok(env, make_binary(heap_of(env), g_put.data(), g_put.size()));
}

Term capabilities(Heap& h, const char* const* names, const char* const* codes, const char* const* full_names) {
    static const std::array<Term, 3> keys = {atom("name"), atom("code"), atom("full_name")};
    Term list = kNil;
    for (size_t i = 0; names[i] != nullptr && codes[i] != nullptr && full_names[i] != nullptr; ++i) {
        Term k[3];
        Term v[3];
        size_t n = 0;
        for (const char* text : {names[i], codes[i], full_names[i]}) {
            k[n] = keys[n];
            v[n++] = make_string(h, text, std::strlen(text));
        }
        list = cons(h, map::from_pairs(h, k, v, 3), list);
    }
    return list;
}
Word all_capabilities(Env* env, int, const Word*) {
    Heap& h = heap_of(env);
    Term keys[3] = {atom("bool"), atom("num"), atom("str")};
    Term values[3] = {capabilities(h, boolnames, boolcodes, boolfnames), capabilities(h, numnames, numcodes, numfnames),
                      capabilities(h, strnames, strcodes, strfnames)};
    return map::from_pairs(h, keys, values, 3).raw;
}

int open_library(Env* env, ResourceFlags flags) {
    const ResourceTypeInit callbacks = {nullptr, stopped, ended, 3, nullptr};
    g_type = enif_open_resource_type_x(env, "tty", &callbacks, flags, nullptr);
    return g_type != nullptr ? 0 : -1;
}
int load_library(Env* env, void**, Word) { return open_library(env, kCreate); }
int upgrade_library(Env* env, void**, void**, Word) { return open_library(env, kTakeover); }

LibraryFunction g_functions[] = {
    {"isatty", 1, is_a_terminal, 0},
    {"tty_create", 1, create, 0},
    {"tty_init", 2, set_up, 0},
    {"setlocale", 1, set_locale, 0},
    {"tty_is_open", 2, is_open, 0},
    {"tty_select", 2, select_input, 0},
    {"tty_window_size", 1, window_size, 0},
    {"tty_encoding", 1, encoding, 0},
    {"write_nif", 2, write_all, kDirtyIo},
    {"read_nif", 3, read_some, kDirtyIo},
    {"isprint", 1, is_printable, 0},
    {"wcwidth", 1, width_of_character, 0},
    {"wcswidth", 1, width_of_text, 0},
    {"sizeof_wchar", 0, size_of_wide, 0},
    {"setupterm_nif", 0, set_up_terminfo, 0},
    {"tigetnum_nif", 1, number_of, 0},
    {"tigetflag_nif", 1, flag_of, 0},
    {"tigetstr_nif", 1, text_of, 0},
    {"tinfo_nif", 0, all_capabilities, 0},
    {"tputs_nif", 2, filled_in, 0},
    // OTP 26 and 27
    {"tty_create", 0, create, 0},
    {"tty_init", 3, set_up_in_parts, 0},
    {"tty_set", 1, set_modes_now, 0},
    {"tty_select", 3, select_input, 0},
    {"tty_read_signal", 2, read_signal, 0},
    {"read_nif", 2, read_some, kDirtyIo},
    // OTP 26 to 28
    {"tgetent_nif", 1, set_up_termcap, 0},
    {"tgetnum_nif", 1, number_of, 0},
    {"tgetflag_nif", 1, flag_of, 0},
    {"tgetstr_nif", 1, string_of, 0},
    {"tgoto_nif", 1, moved_to, 0},
    {"tgoto_nif", 2, moved_to, 0},
    {"tgoto_nif", 3, moved_to, 0},
};

}  // namespace

const Entry& prim_tty_entry() {
    static const Entry entry = entry_of("prim_tty", g_functions, load_library, upgrade_library);
    return entry;
}

}  // namespace minivm::nif
