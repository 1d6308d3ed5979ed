// Structured values (recorder/value.hpp) as text, and Erlang-like formats applied to them.
//
// The words come from a file and may be anything: reading is bounded by their number, and depth by
// a constant.
#include "recorder/format.hpp"
#include "recorder/value.hpp"

#include <charconv>
#include <cmath>
#include <cstring>

namespace minivm::recorder {

namespace {

constexpr unsigned kMaxDepth = 32;

// Reads words; once they are used up everything is `more`.
class WordReader {
public:
    explicit WordReader(std::string_view bytes) : bytes_(bytes) {}
    bool is_at_end() const { return at_ + 8 > bytes_.size(); }
    uint64_t next() {
        if (is_at_end()) {
            return pack_value(ValueTag::more);
        }
        uint64_t word;
        std::memcpy(&word, bytes_.data() + at_, 8);
        at_ += 8;
        return word;
    }
    uint64_t peek() const {
        WordReader copy = *this;
        return copy.next();
    }
    std::string_view take(uint64_t count) {
        const size_t rest = bytes_.size() - at_;
        const std::string_view taken = bytes_.substr(at_, count < rest ? count : rest);
        at_ += rest < (count + 7) / 8 * 8 ? rest : (count + 7) / 8 * 8;
        return taken;
    }

private:
    std::string_view bytes_;
    size_t at_ = 0;
};

bool is_bare_atom(std::string_view text) {
    if (text.empty() || text[0] < 'a' || text[0] > 'z') {
        return false;
    }
    for (const char c : text) {
        const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_letter && !(c >= '0' && c <= '9') && c != '_' && c != '@') {
            return false;
        }
    }
    return true;
}

void append_escaped(Text& out, std::string_view text, char quote) {
    Text clean;
    append_printable(clean, text);
    for (const char c : clean.view()) {
        if (c == quote) {
            out += '\\';
        }
        out += c;
    }
}

void append_float(Text& out, double value) {
    char digits[40];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    const std::string_view text(digits, static_cast<size_t>(end - digits));
    out += text;
    if (std::isfinite(value) && text.find_first_of(".e") == text.npos) {
        out += ".0";
    }
}

class ValuePrinter {
public:
    ValuePrinter(Text& out, const Formatter& formatter, const Dictionary& dictionary)
        : out_(out), formatter_(formatter), dictionary_(dictionary) {}

    // plain: strings and atoms without quotes, as ~s shows them.
    void print(WordReader& words, unsigned depth, bool plain = false) {
        const uint64_t word = words.next();
        const uint64_t payload = value_payload(word);
        if (depth > kMaxDepth) {
            out_ += "...";
            return;
        }
        switch (value_tag(word)) {
            case ValueTag::integer:
                append_signed(out_, static_cast<int64_t>(word) >> kValueTagBits);
                return;
            case ValueTag::atom:
                atom(payload, plain);
                return;
            case ValueTag::subject:
                formatter_.append_plain_subject(out_, payload);
                return;
            case ValueTag::nil:
                out_ += "[]";
                return;
            case ValueTag::tuple:
                out_ += '{';
                elements(words, payload, depth);
                out_ += '}';
                return;
            case ValueTag::list:
                list(words, depth);
                return;
            case ValueTag::float64:
                append_float(out_, std::bit_cast<double>(words.next()));
                return;
            case ValueTag::bytes:
                bytes(words, payload, plain);
                return;
            case ValueTag::text:
                text(words, payload, plain);
                return;
            case ValueTag::reference: {
                const uint64_t low = words.next();
                const uint64_t high = words.next();
                out_ += "#Ref<0.";
                append_unsigned(out_, high);
                out_ += '.';
                append_unsigned(out_, low >> 32);
                out_ += '.';
                append_unsigned(out_, low & 0xffffffff);
                out_ += '>';
                return;
            }
            case ValueTag::map:
                map(words, payload, depth);
                return;
            case ValueTag::function: {
                const std::string* name = dictionary_.function(payload);
                out_ += "fun ";
                append_printable(out_, name != nullptr ? *name : "?");
                return;
            }
            case ValueTag::hidden:
                out_ += "(hidden)";
                return;
            case ValueTag::list_end:
            case ValueTag::list_tail:
            case ValueTag::more:
                out_ += "...";
                return;
        }
    }

private:
    static bool goes_on(const WordReader& words) {
        return value_tag(words.peek()) != ValueTag::more;
    }

    void atom(uint64_t id, bool plain) {
        const std::string* name = dictionary_.atom(id);
        if (name == nullptr) {
            out_ += "atom ";
            append_unsigned(out_, id);
        } else if (plain || is_bare_atom(*name)) {
            append_printable(out_, *name);
        } else {
            out_ += '\'';
            append_escaped(out_, *name, '\'');
            out_ += '\'';
        }
    }

    void elements(WordReader& words, uint64_t count, unsigned depth) {
        for (uint64_t i = 0; i < count; i++) {
            out_ += i == 0 ? "" : ",";
            if (!goes_on(words)) {
                words.next();
                out_ += "...";
                return;
            }
            print(words, depth + 1);
        }
    }

    void list(WordReader& words, unsigned depth) {
        out_ += '[';
        for (bool first = true;; first = false) {
            const ValueTag tag = value_tag(words.peek());
            if (tag == ValueTag::list_end) {
                words.next();
                break;
            }
            if (tag == ValueTag::list_tail) {
                words.next();
                out_ += '|';
                print(words, depth + 1);
                break;
            }
            out_ += first ? "" : ",";
            if (tag == ValueTag::more) {
                words.next();
                out_ += "...";
                break;
            }
            print(words, depth + 1);
        }
        out_ += ']';
    }

    void map(WordReader& words, uint64_t pairs, unsigned depth) {
        out_ += "#{";
        for (uint64_t i = 0; i < pairs; i++) {
            out_ += i == 0 ? "" : ",";
            if (!goes_on(words)) {
                words.next();
                out_ += "...";
                break;
            }
            print(words, depth + 1);
            out_ += "=>";
            print(words, depth + 1);
        }
        out_ += '}';
    }

    void text(WordReader& words, uint64_t payload, bool plain) {
        const std::string_view shown = words.take(payload & 0xff);
        const bool quoted = ((payload >> 8) & 1) != 0 && !plain;
        const bool cut = ((payload >> 8) & 2) != 0;
        if (quoted) {
            out_ += '"';
            append_escaped(out_, shown, '"');
            out_ += cut ? "\"..." : "\"";
        } else {
            append_printable(out_, shown);
            out_ += cut ? "..." : "";
        }
    }

    void bytes(WordReader& words, uint64_t payload, bool plain) {
        const std::string_view shown = words.take(payload & 0xff);
        const uint64_t bits = payload >> 8;
        bool readable = bits % 8 == 0 && !shown.empty();
        for (const char c : shown) {
            readable = readable && ((c >= 0x20 && c != 0x7f) || c == '\n' || c == '\t');
        }
        const bool cut = shown.size() < (bits + 7) / 8;
        if (plain && readable) {
            append_printable(out_, shown);
            out_ += cut ? "..." : "";
            return;
        }
        out_ += "<<";
        if (readable) {
            out_ += '"';
            append_escaped(out_, shown, '"');
            out_ += cut ? "\"..." : "\"";
        } else {
            for (size_t i = 0; i < shown.size(); i++) {
                out_ += i == 0 ? "" : ",";
                const auto byte = static_cast<unsigned char>(shown[i]);
                const unsigned last_bits = static_cast<unsigned>(bits % 8);
                const bool partial = !cut && last_bits != 0 && i + 1 == shown.size();
                append_unsigned(out_, partial ? byte >> (8 - last_bits) : byte);
                if (partial) {
                    out_ += ':';
                    append_unsigned(out_, last_bits);
                }
            }
            out_ += cut ? ",..." : "";
        }
        out_ += ">>";
        if (cut) {
            out_ += " (";
            append_unsigned(out_, bits / 8);
            out_ += " bytes)";
        }
    }

    Text& out_;
    const Formatter& formatter_;
    const Dictionary& dictionary_;
};

}  // namespace

void Formatter::append_value(Text& out, std::string_view bytes) const {
    WordReader words(bytes);
    ValuePrinter(out, *this, snapshot_.dictionary()).print(words, 0);
}

// A tuple of them, shown as in a call: (a,b).
void Formatter::append_arguments(Text& out, std::string_view bytes) const {
    const size_t begin = out.size();
    append_value(out, bytes);
    if (out.size() > begin + 1 && out[begin] == '{' && out.back() == '}') {
        out[begin] = '(';
        out.back() = ')';
    }
}

// The first word names a format with ~p, ~w, ~s and so on; then the list of its arguments.
void Formatter::append_event_text(Text& out, std::string_view bytes) const {
    if (bytes.size() < 8) {
        out += "(cut)";
        return;
    }
    WordReader words(bytes);
    const std::string* format = snapshot_.dictionary().string(words.next());
    ValuePrinter printer(out, *this, snapshot_.dictionary());
    if (format == nullptr) {
        out += "(format lost) ";
        printer.print(words, 0);
        return;
    }
    if (value_tag(words.peek()) == ValueTag::list) {
        words.next();
    }
    const std::string_view f = *format;
    for (size_t i = 0; i < f.size(); i++) {
        if (f[i] != '~') {
            size_t end = f.find('~', i);
            end = end == f.npos ? f.size() : end;
            append_printable(out, f.substr(i, end - i));
            i = end - 1;
            continue;
        }
        i++;
        // Width, precision, padding and modifiers change nothing here.
        while (i < f.size() && std::string_view("0123456789.*-tlkK").find(f[i]) != f.npos) {
            i++;
        }
        if (i >= f.size()) {
            break;
        }
        if (f[i] == '~') {
            out += '~';
        } else if (f[i] == 'n') {
            out += "\\n";
        } else {
            const ValueTag tag = value_tag(words.peek());
            if (tag == ValueTag::nil || tag == ValueTag::list_end || tag == ValueTag::more) {
                out += "...";  // there is no argument, or it did not fit
            } else {
                printer.print(words, 1, f[i] == 's');
            }
        }
    }
}

}  // namespace minivm::recorder
