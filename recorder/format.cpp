#include "recorder/format.hpp"

#include "recorder/recorder.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdio>
#include <cstring>

namespace minivm::recorder {

namespace {

// No integer and no double has more digits.
constexpr size_t kMostDigits = 40;

// 00, 01, ... 99.
constexpr auto kTwoDigits = [] {
    std::array<char, 200> digits{};
    for (unsigned i = 0; i < 100; i++) {
        digits[2 * i] = static_cast<char>('0' + i / 10);
        digits[2 * i + 1] = static_cast<char>('0' + i % 10);
    }
    return digits;
}();

template <class Number, class... Base>
void append_number(Text& out, Number value, Base... base) {
    char* const to = out.room(kMostDigits);
    out.advance(static_cast<size_t>(std::to_chars(to, to + kMostDigits, value, base...).ptr - to));
}

}  // namespace

void append_unsigned(Text& out, uint64_t value) {
    if (value < 10) {
        out += static_cast<char>('0' + value);
    } else {
        append_number(out, value);
    }
}

void append_signed(Text& out, int64_t value) {
    append_number(out, value);
}

void append_hex(Text& out, uint64_t value) {
    append_number(out, value, 16);
}

void append_seconds(Text& out, int64_t ns) {
    uint64_t magnitude = static_cast<uint64_t>(ns);
    if (ns < 0) {
        out += '-';
        magnitude = 0 - magnitude;
    }
    append_unsigned(out, magnitude / 1'000'000'000);
    char* const fraction = out.room(10);
    fraction[0] = '.';
    auto rest = static_cast<uint32_t>(magnitude % 1'000'000'000);  // 32 bits divide faster
    fraction[9] = static_cast<char>('0' + rest % 10);
    rest /= 10;
    for (int i = 7; i >= 1; i -= 2) {
        std::memcpy(fraction + i, kTwoDigits.data() + rest % 100 * 2, 2);
        rest /= 100;
    }
    out.advance(10);
}

void append_duration(Text& out, uint64_t ns) {
    struct Unit {
        uint64_t ns;
        const char* name;
    };
    constexpr Unit kUnits[] = {{1'000'000'000, " s"}, {1'000'000, " ms"}, {1'000, " us"}};
    for (const Unit& unit : kUnits) {
        if (ns >= unit.ns) {
            // Three decimals, cut and not rounded.
            append_unsigned(out, ns / unit.ns);
            const uint64_t thousandths = ns % unit.ns * 1000 / unit.ns;
            if (thousandths != 0) {
                char digits[4] = {'.', static_cast<char>('0' + thousandths / 100),
                                  static_cast<char>('0' + thousandths / 10 % 10),
                                  static_cast<char>('0' + thousandths % 10)};
                out.append(digits, 4);
            }
            out += unit.name;
            return;
        }
    }
    append_unsigned(out, ns);
    out += " ns";
}

namespace {

// Length of the well-formed UTF-8 character at the front; 0 if there is none.
unsigned utf8_length(std::string_view text) {
    const auto byte = [&text](size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80) {
        return 1;
    }
    const unsigned length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < length) {
        return 0;
    }
    for (unsigned i = 1; i < length; i++) {
        if ((byte(i) & 0xc0) != 0x80) {
            return 0;
        }
    }
    // Overlong forms, surrogates, beyond U+10FFFF.
    if ((lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xed && byte(1) > 0x9f) ||
        (lead == 0xf0 && byte(1) < 0x90) || (lead == 0xf4 && byte(1) > 0x8f)) {
        return 0;
    }
    return length;
}

constexpr char kHexDigits[] = "0123456789abcdef";

// Whether all of it may be written as it stands, as nearly all text may: no control characters,
// nothing above ASCII and, where `quoted`, nothing that ends a string. Eight bytes at a time.
template <bool quoted>
bool is_plain(std::string_view text) {
    constexpr uint64_t kOnes = 0x0101010101010101u;
    constexpr uint64_t kHigh = kOnes << 7;
    const auto has_zero = [](uint64_t word) { return (word - kOnes) & ~word; };
    uint64_t bad = 0;
    const auto look = [&](uint64_t word) {
        // Below 0x20, 0x7f, and above: the high bit of that byte, or of one above it that is bad
        // too.
        bad |= (word - kOnes * 0x20) | word | (word + kOnes);
        if constexpr (quoted) {
            bad |= has_zero(word ^ (kOnes * '"')) | has_zero(word ^ (kOnes * '\\'));
        }
    };
    size_t at = 0;
    for (; at + 8 <= text.size(); at += 8) {
        uint64_t word;
        std::memcpy(&word, text.data() + at, 8);
        look(word);
    }
    if (at < text.size()) {
        uint64_t word = kOnes * ' ';
        for (size_t i = 0; at + i < text.size(); i++) {
            word = (word << 8) | static_cast<unsigned char>(text[at + i]);
        }
        look(word);
    }
    return (bad & kHigh) == 0;
}

}  // namespace

void append_json_string(Text& out, std::string_view text) {
    out += '"';
    if (is_plain<true>(text)) {
        out += text;
        out += '"';
        return;
    }
    while (!text.empty()) {
        const auto c = static_cast<unsigned char>(text[0]);
        if (c == '"' || c == '\\') {
            out += '\\';
            out += text[0];
            text.remove_prefix(1);
        } else if (c < 0x20 || c == 0x7f) {
            out += "\\u00";
            out += kHexDigits[c >> 4];
            out += kHexDigits[c & 15];
            text.remove_prefix(1);
        } else if (const unsigned length = utf8_length(text); length != 0) {
            out += text.substr(0, length);
            text.remove_prefix(length);
        } else {
            out += "\\ufffd";
            text.remove_prefix(1);
        }
    }
    out += '"';
}

void append_printable(Text& out, std::string_view text) {
    if (is_plain<false>(text)) {
        out += text;
        return;
    }
    while (!text.empty()) {
        const auto c = static_cast<unsigned char>(text[0]);
        const unsigned length = utf8_length(text);
        if (c < 0x20 || c == 0x7f || length == 0) {
            out += "\\x";
            out += kHexDigits[c >> 4];
            out += kHexDigits[c & 15];
            text.remove_prefix(1);
        } else {
            out += text.substr(0, length);
            text.remove_prefix(length);
        }
    }
}

Formatter::Formatter(const Snapshot& snapshot) : snapshot_(snapshot) {
    const auto& events = snapshot.dictionary().events();
    compiled_.resize(events.empty() ? 0 : size_t{events.rbegin()->first} + 1);
    const std::string_view format = snapshot.header().subject_format;
    const size_t at = format.find("%u");
    subject_prefix_ = at == format.npos ? "#" : format.substr(0, at);
    const std::string_view rest = at == format.npos ? "" : format.substr(at + 2);
    const size_t second = rest.find("%u");
    subject_has_two_ = second != rest.npos;
    subject_middle_ = subject_has_two_ ? rest.substr(0, second) : "";
    subject_suffix_ = subject_has_two_ ? rest.substr(second + 2) : rest;
}

unsigned Formatter::usable_arguments(const Record& record, const EventSchema& schema) {
    return std::min(record.arguments(), static_cast<unsigned>(schema.kinds.size()));
}

std::string_view Formatter::text_argument(const Record& record, unsigned i) const {
    const uint64_t word = record.argument(i);
    const unsigned payload_bytes = (record.slots() * kWordsPerSlot - kHeadWords) * 8;
    const unsigned offset = text_offset(word);
    const unsigned length = text_length(word);
    if (offset > payload_bytes || length > payload_bytes - offset) {
        // A thread without rings of its own keeps five words of a record.
        if ((record.flags() & kFlagTruncated) != 0) {
            return {};
        }
        return "(damaged text)";
    }
    return {reinterpret_cast<const char*>(record.words + kHeadWords) + offset, length};
}

void Formatter::append_subject(Text& out, uint64_t subject) const {
    if (subject == 0 && subject_has_two_) {
        out += "nobody";
        return;
    }
    if (const std::string* name = snapshot_.dictionary().subject(subject)) {
        append_printable(out, *name);
        return;
    }
    append_plain_subject(out, subject);
}

void Formatter::append_plain_subject(Text& out, uint64_t subject) const {
    append_printable(out, subject_prefix_);
    constexpr uint64_t kLow = (uint64_t{1} << 28) - 1;
    subject = subject_has_two_ && subject == kSubjectZero ? 0 : subject;
    append_unsigned(out, subject_has_two_ ? subject & kLow : subject);
    if (subject_has_two_) {
        append_printable(out, subject_middle_);
        append_unsigned(out, subject >> 28);
    }
    append_printable(out, subject_suffix_);
}

void Formatter::append_argument(Text& out, const Record& record, char kind, unsigned i) const {
    const uint64_t word = record.argument(i);
    const auto named = [&](const std::string* name, const char* what) {
        if (name != nullptr) {
            append_printable(out, *name);
        } else {
            out += what;
            append_unsigned(out, word);
        }
    };
    const Dictionary& dictionary = snapshot_.dictionary();
    switch (kind) {
        case 'i':
            append_signed(out, static_cast<int64_t>(word));
            return;
        case 'x':
        case 'w':
            out += "0x";
            append_hex(out, word);
            return;
        case 'f':
            append_number(out, std::bit_cast<double>(word));
            return;
        case 'n':
            append_duration(out, word);
            return;
        case 'p':
            append_subject(out, word);
            return;
        case 'a':
            named(dictionary.atom(word), "atom ");
            return;
        case 'm':
            named(dictionary.function(word), "function ");
            return;
        case 'k': {
            // Without the arity: arguments follow.
            const std::string* name = dictionary.function(word);
            if (name == nullptr) {
                named(name, "function ");
                return;
            }
            append_printable(out, std::string_view(*name).substr(0, name->rfind('/')));
            return;
        }
        case 'g':
            append_arguments(out, text_argument(record, i));
            return;
        case 's':
            named(dictionary.string(word), "string ");
            return;
        case 't':
            append_printable(out, text_argument(record, i));
            if ((record.flags() & kFlagTruncated) != 0) {
                out += "...";
            }
            return;
        case 'v':
            append_value(out, text_argument(record, i));
            return;
        case 'e':
            append_event_text(out, text_argument(record, i));
            return;
        default:
            append_unsigned(out, word);
            return;
    }
}

const Formatter::Compiled& Formatter::compiled(uint16_t event, const EventSchema& schema) {
    Compiled& result = compiled_[event];
    if (result.ready) {
        return result;
    }
    Text shown(kCategoryNames[static_cast<unsigned>(schema.category)]);
    shown += ' ';
    append_printable(shown, schema.name);
    result.event = shown.view();
    const std::string_view format = schema.format;
    size_t at = 0;
    size_t argument = 0;
    for (;;) {
        const Conversion conversion = next_conversion(format, at);
        Segment segment;
        for (size_t i = at; i < conversion.begin; i++) {
            segment.literal += format[i];
            i += format[i] == '%' ? 1 : 0;  // "%%"
        }
        const bool usable = conversion.letter != 0 && conversion.letter != '?' &&
                            argument < schema.kinds.size() &&
                            conversion_fits(conversion.letter, schema.kinds[argument]);
        if (!usable) {
            if (conversion.letter != 0) {
                segment.literal += format.substr(conversion.begin);
            }
            result.segments.push_back(std::move(segment));
            break;
        }
        segment.letter = conversion.letter;
        const std::string_view flags =
            format.substr(conversion.begin + 1, conversion.end - conversion.begin - 2);
        segment.hex = flags == "#" && conversion.letter == 'x';
        // snprintf() writes the others.
        const bool is_simple =
            segment.hex ||
            (flags.empty() &&
             std::string_view("udixps").find(conversion.letter) != std::string_view::npos);
        if (!is_simple) {
            // Width and precision are ours to bound: a file must not make us print gigabytes.
            std::string spec = "%";
            size_t digits = 0;
            for (const char c : flags) {
                const bool is_digit = c >= '0' && c <= '9';
                digits = is_digit ? digits + 1 : 0;
                if ((is_digit && digits <= 3) || c == '-' || c == '+' || c == ' ' || c == '#' ||
                    c == '.') {
                    spec += c;
                }
            }
            const bool is_text = conversion.letter == 's';
            const bool is_float =
                std::string_view("fFeEgGaA").find(conversion.letter) != std::string_view::npos;
            segment.spec = spec + (is_text || is_float || conversion.letter == 'c' ? "" : "l") +
                           (conversion.letter == 'p' ? 'x' : conversion.letter);
        }
        result.segments.push_back(std::move(segment));
        at = conversion.end;
        argument++;
    }
    result.ready = true;
    return result;
}

void Formatter::append_message(Text& out, const Record& record) {
    const EventSchema* event = schema(record);
    if (event == nullptr) {
        out += "event ";
        append_unsigned(out, record.event());
        for (unsigned i = 0; i < record.arguments(); i++) {
            out += i == 0 ? ": 0x" : ", 0x";
            append_hex(out, record.argument(i));
        }
        return;
    }
    const unsigned count = usable_arguments(record, *event);
    unsigned i = 0;
    for (const Segment& segment : compiled(record.event(), *event).segments) {
        out += segment.literal;
        if (segment.letter == 0) {
            break;
        }
        if (i >= count) {
            out += "(cut)";  // a thread without rings of its own keeps five words of a record
            continue;
        }
        const char kind = event->kinds[i];
        const uint64_t word = record.argument(i);
        if (!segment.spec.empty()) {
            char buffer[1100];
            int length = 0;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            if (segment.letter == 's') {
                scratch_.clear();
                append_argument(scratch_, record, kind, i);
                length = std::snprintf(buffer, sizeof buffer, segment.spec.c_str(),
                                       std::string(scratch_.view()).c_str());
            } else if (kind == 'f') {
                length = std::snprintf(buffer, sizeof buffer, segment.spec.c_str(),
                                       std::bit_cast<double>(word));
            } else if (segment.letter == 'c') {
                length = std::snprintf(buffer, sizeof buffer, segment.spec.c_str(),
                                       static_cast<int>(word & 0x7f));
            } else {
                length = std::snprintf(buffer, sizeof buffer, segment.spec.c_str(), word);
            }
#pragma GCC diagnostic pop
            out.append(buffer, std::min<size_t>(length < 0 ? 0 : static_cast<size_t>(length),
                                                sizeof buffer - 1));
        } else {
            switch (segment.letter) {
                case 'u':
                    append_unsigned(out, word);
                    break;
                case 'd':
                case 'i':
                    append_signed(out, static_cast<int64_t>(word));
                    break;
                case 'x':
                    if (segment.hex && word != 0) {
                        out += "0x";
                    }
                    append_hex(out, word);
                    break;
                case 'p':
                    out += "0x";
                    append_hex(out, word);
                    break;
                default:  // s
                    append_argument(out, record, kind, i);
                    break;
            }
        }
        i++;
    }
}

void Formatter::append_event(Text& out, const Record& record) {
    if (const EventSchema* event = schema(record)) {
        out += compiled(record.event(), *event).event;
        return;
    }
    out += category(record);
    out += ' ';
    append_printable(out, event_name(record));
}

void append_place(Text& out, const Place& place) {
    append_printable(out, place.file);
    out += ':';
    append_unsigned(out, place.line);
    out += " in ";
    append_printable(out, place.function);
}

void Formatter::append_place(Text& out, const Record& record) const {
    const EventSchema* event = schema(record);
    if (event == nullptr) {
        return;
    }
    bool first = true;
    for (const Place& place : event->places) {
        if (place.number == record.place()) {
            out += first ? "" : " or ";
            first = false;
            recorder::append_place(out, place);
        }
    }
}

const char* Formatter::category(const Record& record) const {
    const EventSchema* event = schema(record);
    return event == nullptr ? "unknown" : kCategoryNames[static_cast<unsigned>(event->category)];
}

std::string_view Formatter::event_name(const Record& record) {
    const EventSchema* event = schema(record);
    if (event != nullptr) {
        return event->name;
    }
    unknown_name_ = "event_" + std::to_string(record.event());
    return unknown_name_;
}

}  // namespace minivm::recorder
