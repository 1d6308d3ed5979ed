// See format.hpp.
#include "vm/term/format.hpp"

#include "vm/term/atom_table.hpp"
#include "vm/term/bignum.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/function_name.hpp"
#include "vm/term/map.hpp"
#include "vm/term/native_record.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace minivm {
namespace {

constexpr size_t kMaxDepth = 64;

// Decodes the code point at text[*i] of well-formed UTF-8 and moves *i behind it.
uint32_t next_code_point(std::string_view text, size_t* i) {
    const auto c = static_cast<uint8_t>(text[(*i)++]);
    if (c < 0x80) {
        return c;
    }
    const int more = c >= 0xF0 ? 3 : c >= 0xE0 ? 2 : 1;
    uint32_t code = c & (0x3Fu >> more);
    for (int k = 0; k < more; ++k) {
        code = (code << 6) | (static_cast<uint8_t>(text[(*i)++]) & 0x3Fu);
    }
    return code;
}

bool is_lower_letter(uint32_t c) {
    return (c >= 'a' && c <= 'z') || (c >= 0xDF && c <= 0xFF && c != 0xF7);
}

bool is_name_char(uint32_t c) {
    return is_lower_letter(c) || (c >= 'A' && c <= 'Z') || (c >= 0xC0 && c <= 0xDE && c != 0xD7) ||
           (c >= '0' && c <= '9') || c == '_' || c == '@';
}

bool is_reserved_word(std::string_view text) {
    static constexpr std::string_view kWords[] = {
        "after", "and",  "andalso", "band",   "begin",   "bnot", "bor", "bsl",  "bsr",
        "bxor",  "case", "catch",   "cond",   "div",     "end",  "fun", "if",   "let",
        "not",   "of",   "or",      "orelse", "receive", "rem",  "try", "when", "xor"};
    return std::find(std::begin(kWords), std::end(kWords), text) != std::end(kWords);
}

bool needs_quotes(std::string_view text) {
    if (text.empty() || is_reserved_word(text)) {
        return true;
    }
    size_t i = 0;
    if (!is_lower_letter(next_code_point(text, &i))) {
        return true;
    }
    while (i < text.size()) {
        if (!is_name_char(next_code_point(text, &i))) {
            return true;
        }
    }
    return false;
}

// The letter that stands for c behind a backslash in quotes, or 0.
char escape_letter(uint32_t c) {
    switch (c) {
        case '\n':
            return 'n';
        case '\t':
            return 't';
        case '\r':
            return 'r';
        case '\v':
            return 'v';
        case '\b':
            return 'b';
        case '\f':
            return 'f';
        case 0x1B:
            return 'e';
        case 0x7F:
            return 'd';
        case '\\':
            return '\\';
        case '\'':
            return '\'';
        default:
            return 0;
    }
}

void append_octal(std::string* out, uint32_t c) {
    *out += '\\';
    for (const unsigned shift : {6u, 3u, 0u}) {
        *out += static_cast<char>('0' + ((c >> shift) & 7));
    }
}

// As OTP's runtime system itself prints an atom: reserved words are not quoted, `@` is, and of control
// characters fewer have a letter than in ~p.
void append_atom_displayed(std::string* out, Term atom) {
    const std::string_view text = atom_table::text(atom);
    size_t i = 0;
    bool plain = !text.empty() && is_lower_letter(next_code_point(text, &i));
    while (plain && i < text.size()) {
        const uint32_t c = next_code_point(text, &i);
        plain = is_name_char(c) && c != '@';
    }
    if (plain) {
        *out += text;
        return;
    }
    *out += '\'';
    for (i = 0; i < text.size();) {
        const size_t start = i;
        const uint32_t c = next_code_point(text, &i);
        if (const char letter = escape_letter(c); letter != 0 && letter != 'e' && letter != 'd') {
            *out += '\\';
            *out += letter;
        } else if (c < 0x20 || (c >= 0x80 && c < 0xA0)) {
            append_octal(out, c);
        } else {
            *out += text.substr(start, i - start);
        }
    }
    *out += '\'';
}

// Writes terms without recursion: frames_ holds the terms that have begun and not ended.
class TermWriter {
public:
    // Beyond `limit` bytes or `max_depth` levels "..." stands for the rest. displayed: as display_term().
    // With `flush` the text goes there in parts, and `limit` does not count. elements: see display_elements(), which
    // adds the dots.
    TermWriter(std::string* out, size_t limit, size_t max_depth, bool displayed,
               void (*flush)(const std::string&) = nullptr, int64_t elements = INT64_MAX)
        : out_(*out), limit_(limit), max_depth_(max_depth), displayed_(displayed), flush_(flush),
          elements_left_(elements) {}

    void write(Term root) {
        begin(root);
        while (!frames_.empty() && !full_) {
            go_on();
            if (flush_ != nullptr && out_.size() >= kFlushBytes) {
                flush_(out_);
                out_.clear();
            }
        }
    }
    int64_t elements_left() const { return elements_left_; }

private:
    static constexpr size_t kFlushBytes = 65536;

    struct Frame {
        enum class Kind : uint8_t { list, tuple, map, record };
        Kind kind;
        Term rest;         // list: what follows the element that was begun last; tuple, record: itself
        size_t index = 0;  // elements or pairs begun so far
    };

    bool is_full() {
        if (!full_ && flush_ == nullptr && out_.size() > limit_) {
            out_ += "...";
            full_ = true;
        }
        return full_;
    }
    // False: there were enough.
    bool take_element() {
        full_ = full_ || elements_left_-- <= 0;
        return !full_;
    }

    // Writes a term that has no parts; of another one writes the beginning and pushes a frame.
    void begin(Term t) {
        if (is_full() || !take_element()) {
            return;
        }
        if (frames_.size() > max_depth_) {
            out_ += "...";
            return;
        }
        if (is_cons(t)) {
            if (displayed_ && is_text(t)) {
                write_text(t);
            } else {
                out_ += '[';
                frames_.push_back({Frame::Kind::list, t});
            }
        } else if (is_nil(t)) {
            out_ += "[]";
        } else if (is_integer(t)) {
            out_ += bignum::to_string(t, 10);
        } else if (is_float(t)) {
            if (displayed_) {
                out_ += float_scientific(float_value(t), 6);
            } else {
                out_ += ShortFloat(float_value(t)).text();
            }
        } else if (is_atom(t)) {
            write_atom(t);
        } else if (is_pid(t)) {
            out_ += format_pid(t);
        } else if (is_reference(t)) {
            out_ += format_ref(t);
        } else if (is_local_port(t)) {
            out_ += "#Port<0." + std::to_string(imm_data(t)) + ">";
        } else if (is_boxed(t)) {
            begin_boxed(t);
        } else {
            out_ += is_catch(t) ? "#Catch" : "#NonValue";
        }
    }

    // The next part of the innermost term, or its end.
    void go_on() {
        const size_t top = frames_.size() - 1;  // begin() may move the frames
        Frame& frame = frames_[top];
        const size_t index = frame.index++;
        switch (frame.kind) {
            case Frame::Kind::list: {
                const Term t = frame.rest;
                if (is_cons(t)) {
                    frame.rest = tail(t);
                    out_ += index > 0 ? "," : "";
                    begin(head(t));
                } else if (!is_nil(t)) {
                    frame.rest = kNil;
                    out_ += '|';
                    begin(t);
                } else {
                    end("]");
                }
                break;
            }
            case Frame::Kind::tuple:
                if (index < tuple_arity(frame.rest)) {
                    out_ += index > 0 ? "," : "";
                    begin(tuple_element(frame.rest, index));
                } else {
                    end("}");
                }
                break;
            case Frame::Kind::record: {
                // As in a map, field = value.
                if (index >= 2 * native_record::field_count(frame.rest)) {
                    end("}");
                } else if (index % 2 == 0) {
                    const Term field = native_record::fields(frame.rest)[index / 2];
                    out_ += index > 0 ? "," : "";
                    begin(field);
                } else {
                    const Term value = native_record::values(frame.rest)[index / 2];
                    out_ += displayed_ ? "=" : " = ";
                    begin(value);
                }
                break;
            }
            case Frame::Kind::map: {
                // A key is followed by its value; that is in `rest` in between.
                if (index % 2 == 1) {
                    out_ += displayed_ ? "=>" : " => ";
                    begin(frame.rest);
                    break;
                }
                Term key;
                if (maps_.back().next(&key, &frame.rest)) {
                    out_ += index > 0 ? "," : "";
                    begin(key);
                } else {
                    maps_.pop_back();
                    end("}");
                }
                break;
            }
        }
    }

    void end(const char* bracket) {
        frames_.pop_back();
        out_ += bracket;
    }

    // Counts the elements, and goes on when there were enough.
    void write_whole_atom(Term atom) {
        if (displayed_) {
            append_atom_displayed(&out_, atom);
        } else {
            append_atom(&out_, atom, true);
        }
        elements_left_ -= static_cast<int64_t>(atom_table::text(atom).size());
    }
    void write_atom(Term atom) {
        write_whole_atom(atom);
        full_ = full_ || elements_left_ <= 0;
    }

    // Only characters of Latin-1 that OTP prints, tab, line feed and carriage return.
    static bool is_text(Term t) {
        for (; is_cons(t); t = tail(t)) {
            const Term c = head(t);
            if (!is_small(c) || small_value(c) < 0 || small_value(c) > 255) {
                return false;
            }
            const int64_t code = small_value(c);
            if (code < ' ' ? code != '\t' && code != '\n' && code != '\r' : code >= 0x7F && code < 0xA0) {
                return false;
            }
        }
        return is_nil(t);
    }
    void write_text(Term t) {
        out_ += '"';
        for (; is_cons(t) && !is_full() && take_element(); t = tail(t)) {
            const auto c = static_cast<char>(small_value(head(t)));
            if (c == '\n') {
                out_ += "\\n";
            } else {
                out_ += c == '"' ? "\\" : "";
                out_ += c;  // one byte, whatever the locale: so does OTP
            }
        }
        out_ += elements_left_ >= 0 ? "\"" : "";
    }

    void begin_boxed(Term t) {
        switch (kind_of(t)) {
            case Kind::tuple:
                out_ += '{';
                frames_.push_back({Frame::Kind::tuple, t});
                break;
            case Kind::record:
                out_ += '#';
                write_atom(native_record::module(t));
                if (full_) {
                    return;
                }
                out_ += ':';
                write_atom(native_record::name(t));
                if (full_) {
                    return;
                }
                out_ += '{';
                frames_.push_back({Frame::Kind::record, t});
                break;
            case Kind::flat_map:
            case Kind::hash_map:
                out_ += "#{";
                maps_.emplace_back(t);
                frames_.push_back({Frame::Kind::map, kNil});
                break;
            case Kind::heap_bits:
            case Kind::sub_bits:
                write_bits(bit_view(t));
                break;
            case Kind::fun: {
                const LambdaName e = name_of(fun_entry(t));
                out_ += "#Fun<";
                if (displayed_) {
                    out_ += atom_table::text(e.module);
                } else {
                    write_atom(e.module);
                }
                out_ += "." + std::to_string(e.index) + "." + std::to_string(e.old_uniq) + ">";
                break;
            }
            case Kind::export_fun: {
                const FunctionName e = name_of(export_fun_entry(t));
                out_ += "fun ";
                write_whole_atom(e.module);
                out_ += ':';
                write_whole_atom(e.function);
                out_ += "/" + std::to_string(e.arity);
                break;
            }
            case Kind::ext_port:
                out_ += "#Port<" + std::to_string(atom_index(boxed_ptr(t)[1])) + "." +
                        std::to_string(boxed_ptr(t)[2].raw) + ">";
                break;
            case Kind::match_context:
                out_ += "#MatchContext";
                break;
            default:
                out_ += "#Internal";
                break;
        }
    }

    // Printable ASCII, and not empty.
    static bool is_text(const BitView& v) {
        bool text = v.size > 0 && v.size % 8 == 0;
        for (uint64_t i = 0; text && i < v.size / 8; ++i) {
            uint8_t byte = 0;
            copy_bits(v.bytes, v.offset + i * 8, &byte, 0, 8);
            text = byte >= ' ' && byte < 0x7F;
        }
        return text;
    }

    void write_bits(const BitView& v) {
        out_ += "<<";
        const uint64_t bytes = (v.size + 7) / 8;
        if (displayed_ && is_text(v)) {
            out_ += '"';
            for (uint64_t i = 0; i < bytes && !is_full(); ++i) {
                uint8_t byte = 0;
                copy_bits(v.bytes, v.offset + i * 8, &byte, 0, 8);
                out_ += byte == '"' ? "\\" : "";
                out_ += static_cast<char>(byte);
                if (!take_element()) {
                    return;
                }
            }
            out_ += "\">>";
            return;
        }
        for (uint64_t i = 0; i < bytes && !is_full(); ++i) {
            const uint64_t n = v.size - i * 8 < 8 ? v.size - i * 8 : 8;
            uint8_t byte = 0;
            copy_bits(v.bytes, v.offset + i * 8, &byte, 8 - n, n);
            out_ += i > 0 ? "," : "";
            out_ += std::to_string(byte);
            if (n < 8) {
                out_ += ":" + std::to_string(n);
            } else if (!take_element()) {
                return;
            }
        }
        out_ += ">>";
    }

    std::string& out_;
    size_t limit_;
    size_t max_depth_;
    bool displayed_;
    void (*flush_)(const std::string&);
    int64_t elements_left_;
    bool full_ = false;
    std::vector<Frame> frames_;
    std::vector<map::Iterator> maps_;  // of the frames that are maps
};

// Digits and decimal exponent of the shortest text that reads back: 0.d1d2d3... * 10^exponent.
struct ShortDigits {
    char digits[24];
    int count = 0;
    int exponent = 0;

    explicit ShortDigits(double magnitude) {
        char text[40];
        const auto end =
            std::to_chars(text, text + sizeof(text), magnitude, std::chars_format::scientific).ptr;
        const char* p = text;
        for (; p != end && *p != 'e'; ++p) {
            if (*p != '.') {
                digits[count++] = *p;
            }
        }
        std::from_chars(p + (p[1] == '+' ? 2 : 1), end, exponent);
        ++exponent;
        while (count > 1 && digits[count - 1] == '0') {
            --count;
        }
    }
};

// Without trailing zeros; one stays behind the point.
void remove_trailing_zeros(std::string* text) {
    text->erase(text->find_last_not_of('0') + 1);
    if (!text->empty() && text->back() == '.') {
        *text += '0';
    }
}

}  // namespace

std::string format_term(Term t, size_t limit) {
    std::string out;
    TermWriter(&out, limit, kMaxDepth, false).write(t);
    return out;
}

std::string display_term(Term t, size_t limit) {
    std::string out;
    TermWriter(&out, limit, SIZE_MAX, true).write(t);
    return out;
}

void display_term(Term t, void (*flush)(const std::string& text)) {
    std::string out;
    TermWriter(&out, SIZE_MAX, SIZE_MAX, true, flush).write(t);
    flush(out);
}

std::string display_elements(Term t, int64_t elements) {
    std::string out;
    TermWriter writer(&out, SIZE_MAX, SIZE_MAX, true, nullptr, elements);
    writer.write(t);
    return writer.elements_left() <= 0 ? out + "... " : out;
}

void append_atom(std::string* out, Term atom, bool quote) {
    const std::string_view text = atom_table::text(atom);
    if (!quote || !needs_quotes(text)) {
        *out += text;
        return;
    }
    *out += '\'';
    for (size_t i = 0; i < text.size();) {
        const size_t start = i;
        const uint32_t c = next_code_point(text, &i);
        if (const char letter = escape_letter(c); letter != 0) {
            *out += '\\';
            *out += letter;
        } else if (c < 0x20 || (c >= 0x80 && c < 0xA0)) {
            append_octal(out, c);
        } else {
            *out += text.substr(start, i - start);
        }
    }
    *out += '\'';
}

ShortFloat::ShortFloat(double d) {
    char* out = text_;
    const auto put = [&out](const char* from, int n) { out = std::copy_n(from, n, out); };
    const auto zeros = [&out](int n) { out = std::fill_n(out, n, '0'); };
    if (std::signbit(d)) {
        *out++ = '-';
    }
    const double magnitude = std::fabs(d);
    if (magnitude == 0) {
        put("0.0", 3);
        size_ = static_cast<size_t>(out - text_);
        return;
    }
    const ShortDigits s(magnitude);
    const int fixed_size = s.exponent <= 0         ? 2 - s.exponent + s.count
                           : s.exponent >= s.count ? s.exponent + 2
                                                   : s.count + 1;
    char power[8];
    const auto power_size =
        static_cast<int>(std::to_chars(power, power + sizeof(power), s.exponent - 1).ptr - power);
    const int scientific_size = 2 + std::max(s.count - 1, 1) + 1 + power_size;
    // From 2^53 on not every integer is a float: digits before the point would promise too much.
    if (magnitude >= 0x1p53 || scientific_size < fixed_size) {
        *out++ = s.digits[0];
        *out++ = '.';
        if (s.count == 1) {
            *out++ = '0';
        }
        put(s.digits + 1, s.count - 1);
        *out++ = 'e';
        put(power, power_size);
    } else if (s.exponent <= 0) {
        put("0.", 2);
        zeros(-s.exponent);
        put(s.digits, s.count);
    } else if (s.exponent >= s.count) {
        put(s.digits, s.count);
        zeros(s.exponent - s.count);
        put(".0", 2);
    } else {
        put(s.digits, s.exponent);
        *out++ = '.';
        put(s.digits + s.exponent, s.count - s.exponent);
    }
    size_ = static_cast<size_t>(out - text_);
    MINIVM_ASSERT(size_ <= sizeof(text_));
}

std::string float_scientific(double d, int decimals) {
    char text[400];
    const int n = std::snprintf(text, sizeof(text), "%.*e", decimals, d);
    MINIVM_CHECK(n > 0 && static_cast<size_t>(n) < sizeof(text));
    return {text, static_cast<size_t>(n)};
}

bool float_decimals(double d, int decimals, bool compact, std::string* out) {
    // The longest text OTP has room for.
    constexpr int kMaxLength = 255;
    constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                                  1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};
    const double magnitude = std::fabs(d);
    if (magnitude > 0x1p53 || decimals >= static_cast<int>(std::size(kPowers))) {
        char text[kMaxLength + 1];
        const int n = std::snprintf(text, sizeof(text), "%.*f", decimals, d);
        if (n > kMaxLength) {
            return false;
        }
        out->assign(text, static_cast<size_t>(n));
    } else {
        // Whole part and fraction are rounded apart, half away from zero, as OTP does: the result
        // may differ in the last digit from that of the exact value of d.
        double whole = std::floor(magnitude);
        std::string fraction;
        if (decimals == 0) {
            whole = std::round(magnitude);
        } else {
            const double power = kPowers[decimals];
            double scaled = std::round((magnitude - whole) * power);
            if (scaled >= power) {
                whole += 1;
                scaled = 0;
            }
            fraction = std::to_string(static_cast<uint64_t>(scaled));
            fraction.insert(0, static_cast<size_t>(decimals) - fraction.size(), '0');
            fraction.insert(0, 1, '.');
        }
        *out =
            (std::signbit(d) ? "-" : "") + std::to_string(static_cast<uint64_t>(whole)) + fraction;
    }
    if (compact && decimals > 0) {
        remove_trailing_zeros(out);
    }
    return true;
}

bool parse_float(std::string_view text, double* out) {
    size_t i = 0;
    const auto digits = [&] {
        const size_t start = i;
        while (i < text.size() && text[i] >= '0' && text[i] <= '9') {
            ++i;
        }
        return i > start;
    };
    const auto sign = [&] {
        if (i < text.size() && (text[i] == '+' || text[i] == '-')) {
            ++i;
        }
    };
    sign();
    if (!digits() || i >= text.size() || text[i] != '.') {
        return false;
    }
    ++i;
    if (!digits()) {
        return false;
    }
    if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
        ++i;
        sign();
        if (!digits()) {
            return false;
        }
    }
    if (i != text.size()) {
        return false;
    }
    const char* first = text.data() + (text[0] == '+' ? 1 : 0);
    const char* last = text.data() + text.size();
    if (std::from_chars(first, last, *out).ec == std::errc{}) {
        return std::isfinite(*out);
    }
    // Out of range: too small becomes zero, too large is no float.
    *out = std::strtod(std::string(text).c_str(), nullptr);
    return std::isfinite(*out);
}

std::string format_pid(Term pid) {
    if (is_local_pid(pid)) {
        return "<0." + std::to_string(pid_number(pid)) + "." + std::to_string(pid_serial(pid)) +
               ">";
    }
    const Term* p = boxed_ptr(pid);
    return "<" + std::to_string(atom_index(p[1])) + "." + std::to_string(p[2].raw) + "." +
           std::to_string(p[3].raw) + ">";
}

std::string format_ref(Term ref) {
    uint64_t node = 0;
    size_t count = 3;
    uint32_t local[3];
    const uint32_t* words = local;
    if (is_local_ref(ref)) {
        const RefId id = ref_id(ref);
        local[0] = static_cast<uint32_t>(id.low);
        local[1] = static_cast<uint32_t>(id.low >> 32);
        local[2] = id.high;
    } else {
        const Term* p = boxed_ptr(ref);
        node = atom_index(p[1]);
        count = p[3].raw;
        words = reinterpret_cast<const uint32_t*>(p + 4);
    }
    std::string out = "#Ref<" + std::to_string(node);
    for (size_t i = count; i-- > 0;) {
        out += "." + std::to_string(words[i]);
    }
    return out + ">";
}

}  // namespace minivm
