// printf with terms.
#include "vm/nif/api.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/format.hpp"
#include "vm/term/map.hpp"

#include <cstring>

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

constexpr int kMaxDepth = 10000;

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

void append_bits(std::string* out, Term t) {
    const BitView v = bit_view(t);
    const uint64_t bytes = v.size / 8;
    bool text = v.size % 8 == 0 && bytes > 0;
    for (uint64_t i = 0; text && i < bytes; ++i) {
        const uint64_t c = load_bits(v.bytes, v.offset + 8 * i, 8);
        text = c >= 32 && c <= 126;
    }
    *out += text ? "<<\"" : "<<";
    for (uint64_t i = 0; i < bytes; ++i) {
        const uint64_t c = load_bits(v.bytes, v.offset + 8 * i, 8);
        if (text) {
            append_char(out, static_cast<char>(c));
        } else {
            *out += (i > 0 ? "," : "") + std::to_string(c);
        }
    }
    if (const unsigned rest = v.size % 8; rest != 0) {
        *out += (bytes > 0 ? "," : "") +
                std::to_string(load_bits(v.bytes, v.offset + 8 * bytes, rest)) + ':' +
                std::to_string(rest);
    }
    *out += text ? "\">>" : ">>";
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

void append_term(std::string* out, Term t, int depth) {
    if (depth > kMaxDepth) {
        *out += "...";
    } else if (is_atom(t)) {
        append_atom_text(out, t);
    } else if (is_float(t)) {
        char text[64];
        std::snprintf(text, sizeof text, "%e", float_value(t));
        *out += text;
    } else if (is_cons(t)) {
        const bool text = is_text(t);
        *out += text ? '"' : '[';
        for (Term rest = t;;) {
            if (text) {
                append_char(out, static_cast<char>(small_value(head(rest))));
            } else {
                append_term(out, head(rest), depth + 1);
            }
            rest = tail(rest);
            if (!is_cons(rest)) {
                if (!is_nil(rest)) {
                    *out += '|';
                    append_term(out, rest, depth + 1);
                }
                break;
            }
            if (!text) {
                *out += ',';
            }
        }
        *out += text ? '"' : ']';
    } else if (is_tuple(t)) {
        *out += '{';
        for (size_t i = 0; i < tuple_arity(t); ++i) {
            *out += i > 0 ? "," : "";
            append_term(out, tuple_element(t, i), depth + 1);
        }
        *out += '}';
    } else if (is_map(t)) {
        *out += "#{";
        map::Iterator pairs(t);
        Term key;
        Term value;
        for (bool first = true; pairs.next(&key, &value); first = false) {
            *out += first ? "" : ",";
            append_term(out, key, depth + 1);
            *out += "=>";
            append_term(out, value, depth + 1);
        }
        *out += '}';
    } else if (is_bitstring(t)) {
        append_bits(out, t);
    } else if (!is_value(t)) {
        *out += "<the non-value>";
    } else {
        *out += format_term(t);
    }
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
    std::string out;
    append_term(&out, t, 0);
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
