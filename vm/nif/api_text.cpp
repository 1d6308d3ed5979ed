// printf with terms.
#include "vm/nif/api.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/format.hpp"
#include "vm/term/map.hpp"

#include <cstring>
#include <memory>
#include <vector>

namespace minivm::nif {

namespace {

// Appends the text that one conversion makes of its argument.
template <typename T>
void append_converted(std::string* out, const std::string& conversion, T argument) {
    char small[128];
    // The format is a single conversion, made from a checked one.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    const int n = std::snprintf(small, sizeof small, conversion.c_str(), argument);
    if (n < 0) {
        return;
    }
    if (static_cast<size_t>(n) < sizeof small) {
        out->append(small, static_cast<size_t>(n));
        return;
    }
    const size_t before = out->size();
    out->resize(before + static_cast<size_t>(n) + 1);
    std::snprintf(out->data() + before, static_cast<size_t>(n) + 1, conversion.c_str(), argument);
#pragma GCC diagnostic pop
    out->resize(before + static_cast<size_t>(n));
}

enum class Length { none, hh, h, l, ll, j, z, t, L };

Length read_length(const char** f) {
    const char c = **f;
    const bool twice = c != 0 && (*f)[1] == c;
    switch (c) {
        case 'h':
            *f += twice ? 2 : 1;
            return twice ? Length::hh : Length::h;
        case 'l':
            *f += twice ? 2 : 1;
            return twice ? Length::ll : Length::l;
        case 'b':  // OTP's own: bp is as wide as a pointer
            *f += (*f)[1] == 'p' ? 2 : 1;
            return Length::l;
        case 'j':
            ++*f;
            return Length::j;
        case 'z':
            ++*f;
            return Length::z;
        case 't':
            ++*f;
            return Length::t;
        case 'L':
            ++*f;
            return Length::L;
        default:
            return Length::none;
    }
}

// ---- %T -----------------------------------------------------------------------------------------
// Terms as OTP's emulator prints them in its own messages, which is not as io:format does.

bool is_text_char(Term c) {
    if (!is_small(c)) {
        return false;
    }
    const int64_t v = small_value(c);
    return (v >= 32 && v <= 126) || (v >= 160 && v <= 255) || v == '\n' || v == '\t' || v == '\r';
}

bool is_text(Term list) {
    for (; is_cons(list); list = tail(list)) {
        if (!is_text_char(head(list))) {
            return false;
        }
    }
    return is_nil(list);
}

void append_char(std::string* out, char c) {
    if (c == '"') {
        *out += "\\\"";
    } else if (c == '\n') {
        *out += "\\n";
    } else {
        *out += c;
    }
}

void append_atom_text(std::string* out, Term atom) {
    const std::string_view name = atom_table::text(atom);
    // Of other letters only those of Latin-1 are plain: at the start U+00DF to U+00FF but the division sign.
    bool plain = !name.empty() && ((name[0] >= 'a' && name[0] <= 'z') ||
                                   (name[0] == '\xC3' && name[1] >= '\x9F' && name[1] != '\xB7'));
    for (size_t i = 0; plain && i < name.size(); ++i) {
        const char c = name[i];
        if (c == '\xC3') {
            ++i;
            plain = name[i] != '\x97' && name[i] != '\xB7';
        } else {
            plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '_';
        }
    }
    if (plain) {
        *out += name;
        return;
    }
    *out += '\'';
    for (const char c : name) {
        switch (c) {
            case '\'':
            case '\\':
                *out += '\\';
                *out += c;
                break;
            case '\n':
                *out += "\\n";
                break;
            case '\t':
                *out += "\\t";
                break;
            case '\r':
                *out += "\\r";
                break;
            default:
                *out += c;
                break;
        }
    }
    *out += '\'';
}

// Terms may be deep, and the thread a library's own with a small stack: what is left to do is on a stack of its own.
class TermPrinter {
  public:
    // room: about how many elements and characters are written before "... "
    TermPrinter(std::string* out, int64_t room) : out_(*out), room_(room) {}
    void print(Term t);

  private:
    struct Task {
        enum { text, term, list, tuple, pairs } kind;
        const char* chars = nullptr;
        Term of = kNil;    // list: the cells that are left
        size_t next = 0;   // tuple: the element; pairs: how many were before
        std::unique_ptr<map::Iterator> left = nullptr;
    };

    void text(const char* chars) { tasks_.push_back({.kind = Task::text, .chars = chars}); }
    void term(Term t) { tasks_.push_back({.kind = Task::term, .of = t}); }
    void run(Task task);
    void term_now(Term t);
    // Takes room for one more. False: there is none.
    bool takes_one() {
        full_ = room_-- <= 0;
        return !full_;
    }
    void characters(Term list);
    void bits(Term t);

    std::string& out_;
    int64_t room_;
    bool full_ = false;
    std::vector<Task> tasks_;  // the next one last
};

void TermPrinter::print(Term t) {
    term(t);
    while (!tasks_.empty() && !full_) {
        Task task = std::move(tasks_.back());
        tasks_.pop_back();
        if (task.kind == Task::text) {
            out_ += task.chars;
        } else {
            run(std::move(task));
        }
    }
    if (room_ <= 0) {
        out_ += "... ";
    }
}

void TermPrinter::run(Task task) {
    switch (task.kind) {
        case Task::list: {
            const Term rest = tail(task.of);
            if (is_cons(rest)) {
                tasks_.push_back({.kind = Task::list, .of = rest});
                text(",");
            } else if (!is_nil(rest)) {
                term(rest);
                text("|");
            }
            term_now(head(task.of));
            break;
        }
        case Task::tuple: {
            const Term element = tuple_element(task.of, task.next++);
            if (task.next < tuple_arity(task.of)) {
                tasks_.push_back(std::move(task));
                text(",");
            }
            term_now(element);
            break;
        }
        case Task::pairs: {
            Term key;
            Term value;
            if (!task.left->next(&key, &value)) {
                break;
            }
            out_ += task.next++ > 0 ? "," : "";
            tasks_.push_back(std::move(task));
            term(value);
            text("=>");
            term_now(key);
            break;
        }
        default:
            term_now(task.of);
            break;
    }
}

void TermPrinter::term_now(Term t) {
    if (!takes_one()) {
        return;
    }
    if (!is_value(t)) {
        out_ += "<the non-value>";
    } else if (is_atom(t)) {
        append_atom_text(&out_, t);
        room_ -= static_cast<int64_t>(atom_table::text(t).size());
        full_ = room_ <= 0;
    } else if (is_float(t)) {
        char number[64];
        std::snprintf(number, sizeof number, "%e", float_value(t));
        out_ += number;
    } else if (is_cons(t) && is_text(t)) {
        characters(t);
    } else if (is_cons(t)) {
        out_ += '[';
        text("]");
        tasks_.push_back({.kind = Task::list, .of = t});
    } else if (is_tuple(t)) {
        out_ += '{';
        text("}");
        if (tuple_arity(t) > 0) {
            tasks_.push_back({.kind = Task::tuple, .of = t});
        }
    } else if (is_map(t)) {
        out_ += "#{";
        text("}");
        tasks_.push_back({.kind = Task::pairs, .left = std::make_unique<map::Iterator>(t)});
    } else if (is_bitstring(t)) {
        bits(t);
    } else {
        out_ += format_term(t);
    }
}

void TermPrinter::characters(Term list) {
    out_ += '"';
    for (; is_cons(list); list = tail(list)) {
        if (!takes_one()) {
            return;
        }
        append_char(&out_, static_cast<char>(small_value(head(list))));
    }
    out_ += '"';
}

void TermPrinter::bits(Term t) {
    const BitView v = bit_view(t);
    const uint64_t bytes = v.size / 8;
    bool plain = v.size % 8 == 0 && bytes > 0;
    for (uint64_t i = 0; plain && i < bytes; ++i) {
        const uint64_t c = load_bits(v.bytes, v.offset + 8 * i, 8);
        plain = c >= 32 && c <= 126;
    }
    out_ += plain ? "<<\"" : "<<";
    for (uint64_t i = 0; i < bytes; ++i) {
        const uint64_t c = load_bits(v.bytes, v.offset + 8 * i, 8);
        if (plain) {
            append_char(&out_, static_cast<char>(c));
        } else {
            out_ += (i > 0 ? "," : "") + std::to_string(c);
        }
        if (!takes_one()) {
            return;
        }
    }
    if (const unsigned rest = v.size % 8; rest != 0) {
        out_ += (bytes > 0 ? "," : "") + std::to_string(load_bits(v.bytes, v.offset + 8 * bytes, rest)) + ':' +
                std::to_string(rest);
    }
    out_ += plain ? "\">>" : ">>";
}

// The next argument, of that length. A pointer, since a va_list that was passed by value may not be used any more.
long long signed_argument(Length length, va_list* args) {
    switch (length) {
        case Length::ll:
            return va_arg(*args, long long);
        case Length::l:
        case Length::j:
        case Length::z:
        case Length::t:
            return va_arg(*args, long);
        case Length::hh:
            return static_cast<signed char>(va_arg(*args, int));
        case Length::h:
            return static_cast<short>(va_arg(*args, int));
        default:
            return va_arg(*args, int);
    }
}
unsigned long long unsigned_argument(Length length, va_list* args) {
    switch (length) {
        case Length::ll:
            return va_arg(*args, unsigned long long);
        case Length::l:
        case Length::j:
        case Length::z:
        case Length::t:
            return va_arg(*args, unsigned long);
        case Length::hh:
            return static_cast<unsigned char>(va_arg(*args, unsigned));
        case Length::h:
            return static_cast<unsigned short>(va_arg(*args, unsigned));
        default:
            return va_arg(*args, unsigned);
    }
}

}  // namespace

std::string text_of_term(Term t) {
    constexpr int64_t kRoom = 100000;  // as %T on OTP
    std::string out;
    TermPrinter(&out, kRoom).print(t);
    return out;
}

std::string format_text(const char* f, va_list arguments) {
    std::string out;
    va_list args;
    va_copy(args, arguments);
    while (*f != 0) {
        const char* const percent = std::strchr(f, '%');
        if (percent == nullptr) {
            out += f;
            break;
        }
        out.append(f, percent);
        f = percent + 1;
        std::string flags;
        while (*f != 0 && std::strchr("-+ #0'", *f) != nullptr) {
            flags += *f++;
        }
        const auto number = [&] {
            std::string n;
            if (*f == '*') {
                ++f;
                return std::to_string(va_arg(args, int));
            }
            while (*f >= '0' && *f <= '9') {
                n += *f++;
            }
            return n;
        };
        flags += number();
        if (*f == '.') {
            ++f;
            const std::string precision = number();
            if (precision.empty() || precision[0] != '-') {
                flags += '.' + precision;
            }
        }
        const Length length = read_length(&f);
        const char c = *f;
        if (c == 0) {
            break;
        }
        ++f;
        switch (c) {
            case '%':
                out += '%';
                break;
            case 'd':
            case 'i':
                append_converted(&out, '%' + flags + "lld", signed_argument(length, &args));
                break;
            case 'u':
            case 'o':
            case 'x':
            case 'X':
                append_converted(&out, '%' + flags + "ll" + c, unsigned_argument(length, &args));
                break;
            case 'f':
            case 'F':
            case 'e':
            case 'E':
            case 'g':
            case 'G':
            case 'a':
            case 'A':
                if (length == Length::L) {
                    append_converted(&out, '%' + flags + 'L' + c, va_arg(args, long double));
                } else {
                    append_converted(&out, '%' + flags + c, va_arg(args, double));
                }
                break;
            case 'c':
                append_converted(&out, '%' + flags + 'c', va_arg(args, int));
                break;
            case 's': {
                const char* const s = va_arg(args, const char*);
                append_converted(&out, '%' + flags + 's', s != nullptr ? s : "(null)");
                break;
            }
            case 'p':
                append_converted(&out, '%' + flags + 'p', va_arg(args, void*));
                break;
            case 'T':
                append_converted(&out, '%' + flags + 's',
                                 text_of_term(term_of(va_arg(args, Word))).c_str());
                break;
            case 'n':
                *va_arg(args, int*) = static_cast<int>(out.size());
                break;
            default:
                out += '%';
                out += c;
                break;
        }
    }
    va_end(args);
    return out;
}

extern "C" {

int enif_vsnprintf(char* buffer, size_t size, const char* format, va_list arguments) {
    const std::string text = format_text(format, arguments);
    if (size > 0) {
        const size_t n = text.size() < size ? text.size() : size - 1;
        std::memcpy(buffer, text.data(), n);
        buffer[n] = '\0';
    }
    return static_cast<int>(text.size());
}
int enif_snprintf(char* buffer, size_t size, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int n = enif_vsnprintf(buffer, size, format, arguments);
    va_end(arguments);
    return n;
}
int enif_vfprintf(FILE* file, const char* format, va_list arguments) {
    const std::string text = format_text(format, arguments);
    return std::fwrite(text.data(), 1, text.size(), file) == text.size()
               ? static_cast<int>(text.size())
               : -1;
}
int enif_fprintf(FILE* file, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int n = enif_vfprintf(file, format, arguments);
    va_end(arguments);
    return n;
}

}  // extern "C"

}  // namespace minivm::nif
