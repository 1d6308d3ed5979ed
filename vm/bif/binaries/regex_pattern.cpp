#include "vm/bif/binaries/regex_pattern.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include "vm/util/otp_release.hpp"

namespace minivm::regex {
namespace {

constexpr uint32_t kMaxNesting = 798;      // of parentheses, as PCRE 8's workspace allows
constexpr uint32_t kNewMaxNesting = 1179;  // as OTP's PCRE2 takes
constexpr size_t kMagicBytes = 4;
constexpr char kMagic[kMagicBytes + 1] = "mvr1";
constexpr size_t kKeyHeader = kMagicBytes + 6;
constexpr uint32_t kCompileOptions =
    PCRE2_UTF | PCRE2_ANCHORED | PCRE2_CASELESS | PCRE2_DOLLAR_ENDONLY | PCRE2_DOTALL | PCRE2_EXTENDED |
    PCRE2_FIRSTLINE | PCRE2_MULTILINE | PCRE2_NO_AUTO_CAPTURE | PCRE2_DUPNAMES | PCRE2_UNGREEDY |
    PCRE2_NO_START_OPTIMIZE | PCRE2_UCP | PCRE2_NEVER_UTF;

// ---- character tables ----------------------------------------------------------------------------------

// Latin-1: OTP's patterns know the letters above 127 without the option unicode.
const uint8_t* latin1_tables() {
    static const uint8_t* const tables = [] {
        uint8_t* t = const_cast<uint8_t*>(pcre2_maketables(nullptr));
        // Layout (pcre2api, "Locale support"): lower case, other case, bit maps of classes, types.
        uint8_t* lower = t;
        uint8_t* flip = t + 256;
        uint8_t* classes = t + 512;
        uint8_t* types = t + 512 + 320;
        enum Class { kUpper = 96, kLower = 128, kWord = 160, kGraph = 192, kPrint = 224,
                     kPunct = 256, kControl = 288 };
        auto add = [classes](Class c, int ch) {
            classes[c + ch / 8] = static_cast<uint8_t>(classes[c + ch / 8] | 1u << (ch % 8));
        };
        for (int c = 128; c < 160; ++c) {
            add(kControl, c);
        }
        for (int c = 160; c < 256; ++c) {
            const bool sign = c == 0xD7 || c == 0xF7;
            const bool upper = c >= 0xC0 && c <= 0xDE && !sign;
            const bool lower_case = (c >= 0xDF && !sign) || c == 0xAA || c == 0xB5 || c == 0xBA;
            add(kGraph, c);
            add(kPrint, c);
            if (upper || lower_case) {
                add(kWord, c);
                add(upper ? kUpper : kLower, c);
                types[c] = types[static_cast<size_t>(upper ? 'G' : 'g')];
            } else {
                add(kPunct, c);
            }
            if (upper) {
                lower[c] = flip[c] = static_cast<uint8_t>(c + 32);
                flip[c + 32] = static_cast<uint8_t>(c);
            }
        }
        return t;
    }();
    return tables;
}

// ---- patterns --------------------------------------------------------------------------------------------

// Texts of PCRE 8 that differ from PCRE2's.
const char* old_text(int error) {
    switch (error) {
        case PCRE2_ERROR_ESCAPE_INVALID_IN_CLASS:
            return "invalid escape sequence in character class";
        case PCRE2_ERROR_QUANTIFIER_INVALID:
            return "nothing to repeat";
        case PCRE2_ERROR_MISSING_CLOSING_PARENTHESIS:
            return "missing )";
        case PCRE2_ERROR_MISSING_COMMENT_CLOSING:
            return "missing ) after comment";
        case PCRE2_ERROR_UNMATCHED_CLOSING_PARENTHESIS:
            return "unmatched parentheses";
        case PCRE2_ERROR_MISSING_CONDITION_CLOSING:
            return "malformed number or name after (?(";
        case PCRE2_ERROR_TOO_MANY_CONDITION_BRANCHES:
            return "conditional group contains more than two branches";
        case PCRE2_ERROR_PARENTHESES_NEST_TOO_DEEP:
            return "regular expression is too complicated";
        case PCRE2_ERROR_CODE_POINT_TOO_BIG:
            return "character value in \\x{} or \\o{} is too large";
        case PCRE2_ERROR_UNSUPPORTED_ESCAPE_SEQUENCE:
            return "PCRE does not support \\L, \\l, \\N{name}, \\U, or \\u";
        case PCRE2_ERROR_CALLOUT_NUMBER_TOO_BIG:
            return "number after (?C is > 255";
        case PCRE2_ERROR_MISSING_CALLOUT_CLOSING:
            return "closing ) for (?C expected";
        case PCRE2_ERROR_MISSING_NAME_TERMINATOR:
            return "syntax error in subpattern name (missing terminator)";
        case PCRE2_ERROR_DUPLICATE_SUBPATTERN_NAME:
            return "two named subpatterns have the same name";
        case PCRE2_ERROR_INVALID_SUBPATTERN_NAME:
            return "group name must start with a non-digit";
        case PCRE2_ERROR_MALFORMED_UNICODE_PROPERTY:
            return "malformed \\P or \\p sequence";
        case PCRE2_ERROR_UNKNOWN_UNICODE_PROPERTY:
            return "unknown property name after \\P or \\p";
        case PCRE2_ERROR_SUBPATTERN_NAME_TOO_LONG:
            return "subpattern name is too long (maximum 32 characters)";
        case PCRE2_ERROR_DEFINE_TOO_MANY_BRANCHES:
            return "DEFINE group contains more than one branch";
        case PCRE2_ERROR_BACKSLASH_G_SYNTAX:
            return "a numbered reference must not be zero";
        case PCRE2_ERROR_PARENS_QUERY_R_MISSING_CLOSING:
            return "(?R or (?[+-]digits must be followed by )";
        case PCRE2_ERROR_SUBPATTERN_NUMBER_TOO_BIG:
            return "number is too big";
        case PCRE2_ERROR_BACKSLASH_C_SYNTAX:
            return "\\c must be followed by an ASCII character";
        case PCRE2_ERROR_UNICODE_DISALLOWED_CODE_POINT:
            return "disallowed Unicode code point (>= 0xd800 && <= 0xdfff)";
        case PCRE2_ERROR_UTF_IS_DISABLED:
            return "setting UTF is disabled by the application";
        case PCRE2_ERROR_VERB_UNKNOWN:
            return "(*VERB) not recognized or malformed";
        default:
            return nullptr;
    }
}

// Where the group that opens at `open` is closed, or the end of the source.
size_t closing_parenthesis(std::string_view source, size_t open) {
    size_t depth = 0;
    bool in_class = false;
    for (size_t i = open; i < source.size(); ++i) {
        const char c = source[i];
        if (c == '\\') {
            ++i;
        } else if (in_class) {
            in_class = c != ']';
        } else if (c == '[') {
            in_class = true;
        } else if (c == '(') {
            ++depth;
        } else if (c == ')' && --depth == 0) {
            return i;
        }
    }
    return source.size();
}

bool is_word(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// Sets the offset of an error that PCRE 8 reported elsewhere, and the text of one that depends on the place.
void as_old_error(int code, std::string_view source, CompileError* e) {
    size_t& at = e->offset;
    switch (code) {
        case PCRE2_ERROR_CLASS_INVALID_RANGE:
        case PCRE2_ERROR_DUPLICATE_SUBPATTERN_NAME:
        case PCRE2_ERROR_BACKSLASH_K_SYNTAX:
        case PCRE2_ERROR_UNSUPPORTED_ESCAPE_SEQUENCE:
        case PCRE2_ERROR_BACKSLASH_N_IN_CLASS:
            at -= at > 0;
            break;
        case PCRE2_ERROR_UNKNOWN_UNICODE_PROPERTY:
            at -= at > 0 && source[at - 1] == '}';
            break;
        case PCRE2_ERROR_BAD_SUBPATTERN_REFERENCE:  // behind the number or name; \1 at the end of all
            if (at > 0 && source[at - 1] == '\\') {
                at = source.size();
                break;
            }
            if (at < source.size() && source[at] == '(') {
                at = std::min(source.find(')', at), source.size() - 1) + 1;
                break;
            }
            while (at < source.size() && is_word(source[at])) {
                ++at;
            }
            break;
        case PCRE2_ERROR_LOOKBEHIND_NOT_FIXED_LENGTH:
            at = closing_parenthesis(source, at);
            break;
        case PCRE2_ERROR_DEFINE_TOO_MANY_BRANCHES: {
            const size_t open = source.rfind("(?(", at);
            at = open == source.npos ? at : closing_parenthesis(source, open);
            break;
        }
        case PCRE2_ERROR_UTF_IS_DISABLED:
            at = 0;
            break;
        case PCRE2_ERROR_BAD_RELATIVE_REFERENCE:
            e->text = "digit expected after (?+";
            ++at;
            break;
        case PCRE2_ERROR_CONDITION_ASSERTION_EXPECTED:
            ++at;
            break;
        case PCRE2_ERROR_VERB_UNKNOWN: {
            const size_t open = source.rfind("(*", at);
            const char next = open != source.npos && open + 2 < source.size() ? source[open + 2] : 0;
            if (open != source.npos && next != ':' && !(next >= 'A' && next <= 'Z')) {
                e->text = "nothing to repeat";
                at = open + 1;
            }
            break;
        }
        case PCRE2_ERROR_SUBPATTERN_NAME_EXPECTED:
            if (at == source.size()) {
                e->text = "syntax error in subpattern name (missing terminator)";
            } else if (at >= 3 && source.substr(at - 3, 3) == "(?<") {
                e->text = "unrecognized character after (?<";
            }
            break;
        case PCRE2_ERROR_MISSING_CLOSING_PARENTHESIS: {
            // The source ends in the middle of "(?..."
            const size_t open = source.rfind("(?");
            const std::string_view rest = open == source.npos ? "" : source.substr(open + 2);
            if (rest == "P") {
                e->text = "unrecognized character after (?P";
            } else if (open != source.npos && rest.find_first_not_of("imsxJU-") == rest.npos) {
                e->text = "unrecognized character after (? or (?-";
            }
            break;
        }
        default:
            break;
    }
}

// A source in PCRE2's spelling, and the edits that lead back to offsets in the original.
struct ModernSource {
    explicit ModernSource(const std::string& source) : text(source) {
        // Of the items a pattern may begin with, (*UTF8) is (*UTF) now.
        for (size_t at = 0; text.compare(at, 2, "(*") == 0;) {
            if (text.compare(at, 7, "(*UTF8)") == 0) {
                erase(at + 5);
                utf = true;
            }
            const size_t end = text.find(')', at);
            if (end == std::string::npos) {
                break;
            }
            at = end + 1;
        }
    }
    void erase(size_t at) {
        text.erase(at, 1);
        edits.push_back({at, 1});
    }
    // To PCRE 8 a letter that means nothing behind a backslash is that letter. False: there is none at
    // the place of the error.
    bool without_backslash(size_t at) {
        // In a class the error is reported before the letter, elsewhere behind it.
        for (size_t back : {size_t{1}, size_t{2}}) {
            if (at >= back && at <= text.size() && text[at - back] == '\\' &&
                edits.size() < kMaxEdits) {
                erase(at - back);
                return true;
            }
        }
        return false;
    }
    // To PCRE 8 \8 and \9 stand for the digits if there is no such group. False: neither is at the place of
    // the error.
    bool with_plain_digit(size_t at) {
        return at > 0 && at < text.size() && (text[at] == '8' || text[at] == '9') &&
               text[at - 1] == '\\' && without_backslash(at);
    }
    // To PCRE 8 a hyphen behind a class like \d stands for itself. False: there is none at the place of
    // the error.
    bool with_plain_hyphen(size_t at) {
        if (at >= text.size() || text[at] != '-' || edits.size() >= kMaxEdits) {
            return false;
        }
        text.insert(at, 1, '\\');
        edits.push_back({at, -1});
        return true;
    }
    // Respells what PCRE2 took for an error there. False: to PCRE 8 it was one as well.
    bool without_error(int code, size_t at) {
        switch (code) {
            case PCRE2_ERROR_CLASS_INVALID_RANGE:
                return with_plain_hyphen(at);
            case PCRE2_ERROR_BAD_SUBPATTERN_REFERENCE:
                return with_plain_digit(at);
            case PCRE2_ERROR_UNKNOWN_ESCAPE:
            case PCRE2_ERROR_ESCAPE_INVALID_IN_CLASS:
                return without_backslash(at);
            default:
                return false;
        }
    }
    size_t old_offset(size_t offset) const {
        for (size_t i = edits.size(); i > 0; --i) {
            if (offset > edits[i - 1].at) {
                offset += static_cast<size_t>(edits[i - 1].change);
            }
        }
        return offset;
    }

    struct Edit {
        size_t at;
        int change;  // 1: a character was there, -1: one was put there
    };
    static constexpr size_t kMaxEdits = 64;  // each costs a compilation
    std::string text;
    std::vector<Edit> edits;
    bool utf = false;  // the source asks for it itself
};

struct CompileContext {
    explicit CompileContext(const PatternKey& key) : context(pcre2_compile_context_create(nullptr)) {
        pcre2_set_newline(context, key.newline);
        pcre2_set_bsr(context, key.bsr);
    }
    ~CompileContext() { pcre2_compile_context_free(context); }
    pcre2_compile_context* const context;
};

void take_text(int code, CompileError* error) {
    pcre2_get_error_message(code, reinterpret_cast<PCRE2_UCHAR*>(error->buffer), sizeof(error->buffer));
    error->text = error->buffer;
}

// As OTP does it from 28 on.
std::shared_ptr<Regex> compile_as_is(const PatternKey& key, CompileError* error) {
    const CompileContext context(key);
    pcre2_set_parens_nest_limit(context.context, kNewMaxNesting);
    int code = 0;
    pcre2_code* const compiled =
        pcre2_compile(reinterpret_cast<PCRE2_SPTR>(key.source.data()), key.source.size(), key.options,
                      &code, &error->offset, context.context);
    if (compiled == nullptr && code == PCRE2_ERROR_PARENTHESES_NEST_TOO_DEEP) {
        error->text = "regular expression is too complicated";
        error->offset = 0;
        return nullptr;
    }
    if (compiled == nullptr) {
        take_text(code, error);
        return nullptr;
    }
    return std::make_shared<Regex>(compiled);
}

// Takes what PCRE 8 took, with its errors.
std::shared_ptr<Regex> compile_as_old(const PatternKey& key, CompileError* error) {
    const CompileContext context(key);
    pcre2_set_character_tables(context.context, latin1_tables());
    pcre2_set_parens_nest_limit(context.context, kMaxNesting);
    pcre2_set_compile_extra_options(context.context, PCRE2_EXTRA_ALLOW_LOOKAROUND_BSK);
    ModernSource source(key.source);
    // In PCRE2 10.42, the set of bytes that may begin a match lacks the letters above 127 of \w unless
    // PCRE2_UCP is given.
    uint32_t options = key.options;
    const bool utf = source.utf || (options & PCRE2_UTF);
    if (utf && !(options & PCRE2_UCP) && source.text.find("\\w") != std::string::npos) {
        options |= PCRE2_NO_START_OPTIMIZE;
    }
    int code = 0;
    PCRE2_SIZE offset = 0;
    pcre2_code* compiled;
    do {
        compiled = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(source.text.data()), source.text.size(),
                                 options, &code, &offset, context.context);
    } while (compiled == nullptr && source.without_error(code, offset));
    if (compiled != nullptr) {
        return std::make_shared<Regex>(compiled);
    }
    error->offset = source.old_offset(offset);
    if (code < 0) {
        error->text = "invalid UTF-8 string";
    } else if ((error->text = old_text(code)) == nullptr) {
        take_text(code, error);
    }
    as_old_error(code, key.source, error);
    return nullptr;
}

}  // namespace

std::string PatternKey::text() const {
    std::string s(kMagic, kMagicBytes);
    for (int i = 0; i < 4; ++i) {
        s.push_back(static_cast<char>(options >> (8 * i)));
    }
    s.push_back(static_cast<char>(newline));
    s.push_back(static_cast<char>(bsr));
    return s + source;
}

bool PatternKey::parse(const uint8_t* bytes, size_t n) {
    if (n < kKeyHeader || std::memcmp(bytes, kMagic, kMagicBytes) != 0) {
        return false;
    }
    options = 0;
    for (unsigned i = 0; i < 4; ++i) {
        options |= static_cast<uint32_t>(bytes[kMagicBytes + i]) << (8 * i);
    }
    newline = bytes[kMagicBytes + 4];
    bsr = bytes[kMagicBytes + 5];
    source.assign(reinterpret_cast<const char*>(bytes + kKeyHeader), n - kKeyHeader);
    return (options & ~kCompileOptions) == 0 && newline >= PCRE2_NEWLINE_CR &&
           newline <= PCRE2_NEWLINE_NUL && (bsr == PCRE2_BSR_UNICODE || bsr == PCRE2_BSR_ANYCRLF);
}

std::shared_ptr<Regex> get_pattern(const PatternKey& key, CompileError* error) {
    struct Slot {
        std::string key;
        std::shared_ptr<Regex> pattern;
    };
    constexpr size_t kSlots = 64;
    constexpr size_t kMaxKept = 4096;  // longer sources are compiled each time
    thread_local std::array<Slot, kSlots> slots;
    const std::string text = key.text();
    Slot& slot = slots[std::hash<std::string_view>()(text) % kSlots];
    if (slot.pattern != nullptr && slot.key == text) {
        return slot.pattern;
    }
    std::shared_ptr<Regex> pattern =
        by_release::re_is_pcre2() ? compile_as_is(key, error) : compile_as_old(key, error);
    if (pattern != nullptr && text.size() <= kMaxKept) {
        slot = {text, pattern};
    }
    return pattern;
}

}  // namespace minivm::regex
