// The native functions of OTP's module re, on PCRE2.
//
// A compiled pattern is {re_pattern, Captures, Unicode, UseCrlf, Binary} as in OTP. Binary is ours: the
// options and the source (PatternKey::text), so that it may be kept in files or sent anywhere; each
// scheduler keeps the code it compiled lately. regex_pattern.cpp makes PCRE2 take the patterns and give
// the errors of OTP's PCRE 8.
//
// A match first gets kQuickSteps steps on the scheduler of its process. One that needs more is begun
// again on a dirty scheduler: PCRE2 cannot be interrupted and resumed.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "vm/bif/bif.hpp"
#include "vm/bif/binaries/regex_pattern.hpp"
#include "vm/bif/stdlib_error.hpp"
#include "vm/process/continuation.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/local_atoms.hpp"
#include "vm/util/otp_release.hpp"

namespace minivm {

using regex::CompileError;
using regex::PatternKey;
using regex::Regex;

namespace {

LOCAL_ATOM(am_all_names, "all_names")
LOCAL_ATOM(am_match, "match")
LOCAL_ATOM(am_match_limit, "match_limit")
LOCAL_ATOM(am_match_limit_recursion, "match_limit_recursion")
LOCAL_ATOM(am_namelist, "namelist")
LOCAL_ATOM(am_re_exported_pattern, "re_exported_pattern")
LOCAL_ATOM(am_re_pattern, "re_pattern")
LOCAL_ATOM(am_capture, "capture")
LOCAL_ATOM(am_newline, "newline")

constexpr uint32_t kQuickSteps = 30000;       // about a millisecond
constexpr size_t kQuickBytes = 1 << 20;       // of a subject
constexpr uint32_t kDefaultLimit = 10000000;  // of match_limit, as PCRE's own

// ---- options ---------------------------------------------------------------------------------------------

struct Options {
    uint32_t compile = 0;
    uint32_t match = 0;
    uint8_t newline = 0;  // 0: not given
    uint8_t bsr = 0;
    bool compile_only = false;  // there is an option that only compile takes
    bool run_only = false;
    bool global = false;
    bool report_errors = false;
    bool exported = false;
    uint64_t offset = 0;
    uint32_t match_limit = kDefaultLimit;
    uint32_t depth_limit = 0;  // 0: PCRE2's own
    Term capture = kNonValue;  // the value of {capture, Value} and {capture, Value, Type}
    Term type = kNonValue;

    bool unicode() const { return compile & PCRE2_UTF; }
};

struct NamedOption {
    const char* name;
    uint32_t compile;
    uint32_t match;
};
constexpr NamedOption kNamedOptions[] = {
    {"unicode", PCRE2_UTF, 0},
    {"anchored", PCRE2_ANCHORED, PCRE2_ANCHORED},
    {"caseless", PCRE2_CASELESS, 0},
    {"dollar_endonly", PCRE2_DOLLAR_ENDONLY, 0},
    {"dotall", PCRE2_DOTALL, 0},
    {"extended", PCRE2_EXTENDED, 0},
    {"firstline", PCRE2_FIRSTLINE, 0},
    {"multiline", PCRE2_MULTILINE, 0},
    {"no_auto_capture", PCRE2_NO_AUTO_CAPTURE, 0},
    {"dupnames", PCRE2_DUPNAMES, 0},
    {"ungreedy", PCRE2_UNGREEDY, 0},
    {"no_start_optimize", PCRE2_NO_START_OPTIMIZE, 0},
    {"ucp", PCRE2_UCP, 0},
    {"never_utf", PCRE2_NEVER_UTF, 0},
    {"notbol", 0, PCRE2_NOTBOL},
    {"noteol", 0, PCRE2_NOTEOL},
    {"notempty", 0, PCRE2_NOTEMPTY},
    {"notempty_atstart", 0, PCRE2_NOTEMPTY_ATSTART},
};

bool parse_atom_option(std::string_view name, Options* o) {
    for (const NamedOption& n : kNamedOptions) {
        if (name == n.name) {
            o->compile |= n.compile;
            o->match |= n.match;
            o->compile_only |= n.match == 0;
            o->run_only |= n.compile == 0;
            return true;
        }
    }
    if (name == "bsr_anycrlf" || name == "bsr_unicode") {
        o->bsr = name == "bsr_unicode" ? PCRE2_BSR_UNICODE : PCRE2_BSR_ANYCRLF;
        return true;
    }
    if (name == "export" && by_release::re_is_pcre2()) {
        o->compile_only = true;
        o->exported = true;
        return true;
    }
    o->global |= name == "global";
    o->report_errors |= name == "report_errors";
    o->run_only = true;
    return name == "global" || name == "report_errors";
}

bool parse_newline(Term value, uint8_t* out) {
    if (!is_atom(value)) {
        return false;
    }
    const std::string_view name = atom_table::text(value);
    *out = name == "cr"        ? PCRE2_NEWLINE_CR
           : name == "lf"      ? PCRE2_NEWLINE_LF
           : name == "crlf"    ? PCRE2_NEWLINE_CRLF
           : name == "any"     ? PCRE2_NEWLINE_ANY
           : name == "anycrlf" ? PCRE2_NEWLINE_ANYCRLF
           : name == "nul" && by_release::re_is_pcre2() ? PCRE2_NEWLINE_NUL
                                                        : 0;
    return *out != 0;
}

bool parse_limit(Term value, uint32_t* out) {
    if (!is_small(value) || small_value(value) < 0) {
        return false;
    }
    *out = static_cast<uint32_t>(std::min<int64_t>(small_value(value), UINT32_MAX));
    return true;
}

bool parse_tuple_option(Term t, Options* o) {
    const size_t n = is_tuple(t) ? tuple_arity(t) : 0;
    if (n != 2 && n != 3) {
        return false;
    }
    const Term name = tuple_element(t, 0);
    const Term value = tuple_element(t, 1);
    if (name == am_capture()) {
        const Term type = n == 3 ? tuple_element(t, 2) : atoms::index;
        o->capture = value;
        o->type = type;
        o->run_only = true;
        return true;  // match_result() checks the values when there is a match
    }
    if (n != 2) {
        return false;
    }
    if (name == am_newline()) {
        return parse_newline(value, &o->newline);
    }
    o->run_only = true;
    if (name == atoms::offset) {
        if (!is_small(value) || small_value(value) < 0) {
            return false;
        }
        o->offset = static_cast<uint64_t>(small_value(value));
        return true;
    }
    return (name == am_match_limit() && parse_limit(value, &o->match_limit)) ||
           (name == am_match_limit_recursion() && parse_limit(value, &o->depth_limit));
}

// False: an option that does not exist.
bool parse_options(Term list, Options* o) {
    for (; is_cons(list); list = tail(list)) {
        const Term t = head(list);
        if (!(is_atom(t) ? parse_atom_option(atom_table::text(t), o) : parse_tuple_option(t, o))) {
            return false;
        }
    }
    return is_nil(list);
}

PatternKey make_key(const Options& o, std::string source) {
    if (!by_release::re_is_pcre2()) {
        // PCRE 8 got no length: a zero byte ends the pattern.
        source.resize(std::min(source.size(), source.find('\0')));
    }
    PatternKey key;
    key.options = o.compile;
    key.newline = o.newline != 0 ? o.newline : key.newline;
    key.bsr = o.bsr != 0 ? o.bsr : key.bsr;
    key.source = std::move(source);
    return key;
}

// ---- errors ----------------------------------------------------------------------------------------------

Term bad_option(Process& p) {
    error(p, atoms::badarg);
    Term keys[2] = {atoms::cause, atoms::module};
    Term values[2] = {atoms::badopt, atoms::erl_stdlib_errors};
    p.exception.error_info = map::from_pairs(p.heap, keys, values, 2);
    return kNonValue;
}

// {error, {Text, Offset}}
Term compile_error(Process& p, const CompileError& e) {
    const Term text = make_string(p.heap, e.text, std::strlen(e.text));
    const Term where = make_small(static_cast<int64_t>(e.offset));
    return make_tuple(p.heap, atoms::error, make_tuple(p.heap, text, where));
}

Term pattern_term(Process& p, const PatternKey& key, const Regex& pattern) {
    const std::string text = key.text();
    return make_tuple(p.heap, am_re_pattern(), make_small(pattern.captures()),
                      make_small(key.options & PCRE2_UTF ? 1 : 0),
                      make_small(pattern.uses_crlf() ? 1 : 0),
                      make_binary(p.heap, text.data(), text.size()));
}

constexpr std::string_view kExportTitle = "re-PCRE2";
constexpr size_t kExportHeader = kExportTitle.size() + 6;  // CRC of Encoded, version of its form, unicode
constexpr char kExportForm = 1;
// Encoded: kEncoded and PatternKey::text(). The form that PCRE2 writes is not read, for a forged one would be
// code: import compiles the source instead, as OTP does with what another PCRE2, or minivm, wrote.
constexpr std::string_view kEncoded{"MVRE\0\1\1\0", 8};

uint32_t encoded_crc(const void* bytes, size_t size) {
    return static_cast<uint32_t>(crc32_z(0, static_cast<const Bytef*>(bytes), size));
}

// {re_exported_pattern, Header, Source, Options, Encoded}, as in OTP.
Term exported_term(Process& p, const PatternKey& key, Term option_list) {
    std::string encoded(kEncoded);
    encoded += key.text();
    const uint32_t crc = encoded_crc(encoded.data(), encoded.size());
    std::string header(kExportTitle);
    for (int shift = 24; shift >= 0; shift -= 8) {
        header.push_back(static_cast<char>(crc >> shift));
    }
    header += {kExportForm, key.options & PCRE2_UTF ? '\1' : '\0'};
    const Term elements[] = {am_re_exported_pattern(), make_binary(p.heap, header.data(), header.size()),
                             make_binary(p.heap, key.source.data(), key.source.size()), option_list,
                             make_binary(p.heap, encoded.data(), encoded.size())};
    Term* tuple = p.heap.alloc(1 + std::size(elements));
    tuple[0] = Term{make_header(Kind::tuple, std::size(elements))};
    std::copy(std::begin(elements), std::end(elements), tuple + 1);
    return make_boxed(tuple);
}

// ---- compile ---------------------------------------------------------------------------------------------

// `importing`: ignores the option export.
Term compile(Process& p, Term source, Term option_list, bool importing) {
    Options o;
    if (!parse_options(option_list, &o) || o.run_only) {
        return bad_option(p);
    }
    if (o.unicode() && !(is_bitstring(source) && is_binary(source))) {
        static const Export* ucompile = bif_export("re", "ucompile", 2);
        return trap(p, ucompile, {source, option_list});
    }
    std::string text;
    if (!iolist_to_bytes(source, &text)) {
        return stdlib_badarg(p);
    }
    consume(p, static_cast<int64_t>(text.size() / 32));
    const PatternKey key = make_key(o, std::move(text));
    CompileError why;
    const std::shared_ptr<Regex> pattern = regex::get_pattern(key, &why);
    if (pattern == nullptr) {
        return compile_error(p, why);
    }
    return make_tuple(p.heap, atoms::ok,
                      o.exported && !importing ? exported_term(p, key, option_list)
                                               : pattern_term(p, key, *pattern));
}
Term re_compile_1(Process& p, const Term* a) { return compile(p, a[0], kNil, false); }
Term re_compile_2(Process& p, const Term* a) { return compile(p, a[0], a[1], false); }

// Reads the key if minivm encoded it. False: it is damaged.
bool read_encoded(const uint8_t* header, Term encoded, std::optional<PatternKey>* key) {
    std::string bytes;
    if (header[kExportHeader - 2] != kExportForm) {
        return true;
    }
    if (!is_binary(encoded) || !iolist_to_bytes(encoded, &bytes)) {
        return false;
    }
    uint32_t crc = 0;
    for (size_t i = kExportTitle.size(); i < kExportTitle.size() + 4; ++i) {
        crc = crc << 8 | header[i];
    }
    if (crc != encoded_crc(bytes.data(), bytes.size())) {
        return false;
    }
    if (bytes.starts_with(kEncoded)) {
        const auto* text = reinterpret_cast<const uint8_t*>(bytes.data() + kEncoded.size());
        return key->emplace().parse(text, bytes.size() - kEncoded.size());
    }
    return true;
}

Term re_import_1(Process& p, const Term* a) {
    std::string header;
    if (!is_tuple_of(a[0], 5) || tuple_element(a[0], 0) != am_re_exported_pattern() ||
        !is_binary(tuple_element(a[0], 1)) || !iolist_to_bytes(tuple_element(a[0], 1), &header) ||
        header.size() < kExportHeader || !header.starts_with(kExportTitle)) {
        return stdlib_badarg(p);
    }
    std::optional<PatternKey> key;
    if (!read_encoded(reinterpret_cast<const uint8_t*>(header.data()), tuple_element(a[0], 4), &key)) {
        return stdlib_badarg(p);
    }
    if (key.has_value()) {
        CompileError why;
        const std::shared_ptr<Regex> pattern = regex::get_pattern(*key, &why);
        return pattern != nullptr ? pattern_term(p, *key, *pattern) : stdlib_badarg(p);
    }
    if (!is_binary(tuple_element(a[0], 2))) {
        return stdlib_badarg(p);
    }
    const Term compiled = compile(p, tuple_element(a[0], 2), tuple_element(a[0], 3), true);
    if (!is_value(compiled)) {
        return kNonValue;
    }
    return tuple_element(compiled, 0) == atoms::ok ? tuple_element(compiled, 1) : stdlib_badarg(p);
}

// The key in a {re_pattern, ...} of ours.
bool get_compiled(Term t, PatternKey* key) {
    Bytes bytes;
    return is_tuple_of(t, 5) && tuple_element(t, 0) == am_re_pattern() &&
           is_small(tuple_element(t, 1)) && is_small(tuple_element(t, 2)) &&
           is_small(tuple_element(t, 3)) && is_bitstring(tuple_element(t, 4)) &&
           get_bytes(tuple_element(t, 4), &bytes) && key->parse(bytes.data, bytes.size);
}

// ---- captures --------------------------------------------------------------------------------------------

struct RegexMatch {
    const Regex& pattern;
    const PCRE2_SIZE* ranges;
    uint32_t count;   // of groups that ranges holds, the highest one that took part + 1
    Term subject;     // a binary that the results may share, or the non-value
    const uint8_t* bytes;
    Term type;
};

Term captured(Process& p, const RegexMatch& m, uint64_t group) {
    PCRE2_SIZE begin = PCRE2_UNSET;
    PCRE2_SIZE end = PCRE2_UNSET;
    if (group < m.count) {
        begin = m.ranges[2 * group];
        end = m.ranges[2 * group + 1];
    }
    const bool set = begin != PCRE2_UNSET;
    const size_t n = set && end > begin ? end - begin : 0;
    if (m.type == atoms::list) {
        return n == 0 ? kNil
                      : make_string(p.heap, reinterpret_cast<const char*>(m.bytes + begin), n);
    }
    if (m.type == atoms::binary) {
        if (is_value(m.subject) && set) {
            return sub_bitstring(p.heap, m.subject, 8 * uint64_t{begin}, 8 * uint64_t{n});
        }
        return make_binary(p.heap, set ? m.bytes + begin : nullptr, n);
    }
    return make_tuple(p.heap, make_small(set ? static_cast<int64_t>(begin) : -1),
                      make_small(static_cast<int64_t>(n)));
}

// The names of a pattern: entries of a fixed size, the group's number first, in the order of the names.
struct NameTable {
    explicit NameTable(const Regex& p)
        : count(p.info<uint32_t>(PCRE2_INFO_NAMECOUNT)),
          entry_size(p.info<uint32_t>(PCRE2_INFO_NAMEENTRYSIZE)),
          first(p.info<PCRE2_SPTR>(PCRE2_INFO_NAMETABLE)) {}
    uint32_t group(uint32_t i) const {
        const uint8_t* e = first + size_t{i} * entry_size;
        return static_cast<uint32_t>(e[0] << 8 | e[1]);
    }
    std::string_view name(uint32_t i) const {
        return reinterpret_cast<const char*>(first + size_t{i} * entry_size + 2);
    }
    const uint32_t count;
    const uint32_t entry_size;
    const PCRE2_SPTR first;
};

// The group of that name; of several, the first that took part in the match.
uint64_t named_group(const RegexMatch& m, const NameTable& names, std::string_view name) {
    for (uint32_t i = 0; i < names.count; ++i) {
        const uint32_t group = names.group(i);
        if (names.name(i) == name && group < m.count && m.ranges[2 * group] != PCRE2_UNSET) {
            return group;
        }
    }
    return UINT64_MAX;
}

// False: no value that {capture, Value} takes.
bool capture_list(Process& p, const RegexMatch& m, Term wanted, std::vector<Term>* out) {
    if (wanted == atoms::all || wanted == atoms::all_but_first || wanted == atoms::first) {
        const uint32_t begin = wanted == atoms::all_but_first ? 1 : 0;
        const uint32_t end = wanted == atoms::first ? 1 : m.count;
        for (uint32_t group = begin; group < end; ++group) {
            out->push_back(captured(p, m, group));
        }
        return true;
    }
    const NameTable names(m.pattern);
    if (wanted == am_all_names()) {
        for (uint32_t i = 0; i < names.count; ++i) {
            if (i == 0 || names.name(i) != names.name(i - 1)) {
                out->push_back(captured(p, m, named_group(m, names, names.name(i))));
            }
        }
        return true;
    }
    for (; is_cons(wanted); wanted = tail(wanted)) {
        const Term t = head(wanted);
        std::string name;
        if (is_small(t)) {
            out->push_back(captured(p, m, small_value(t) < 0 ? UINT64_MAX
                                                             : static_cast<uint64_t>(small_value(t))));
        } else if (is_atom(t)) {
            out->push_back(captured(p, m, named_group(m, names, atom_table::text(t))));
        } else if (iolist_to_bytes(t, &name)) {
            out->push_back(captured(p, m, named_group(m, names, name)));
        } else {
            return false;
        }
    }
    return is_nil(wanted);
}

Term match_result(Process& p, const RegexMatch& m, Term wanted) {
    if (wanted == atoms::none || is_nil(wanted)) {
        return am_match();
    }
    std::vector<Term> values;
    if (m.type != atoms::index && m.type != atoms::list && m.type != atoms::binary) {
        return stdlib_badarg(p);
    }
    if (!capture_list(p, m, is_value(wanted) ? wanted : atoms::all, &values)) {
        return stdlib_badarg(p);
    }
    if (values.empty()) {
        return am_match();
    }
    Term list = kNil;
    for (size_t i = values.size(); i > 0; --i) {
        list = cons(p.heap, values[i - 1], list);
    }
    return make_tuple(p.heap, am_match(), list);
}

// ---- run -------------------------------------------------------------------------------------------------

struct MatchMemory {
    explicit MatchMemory(const Regex& pattern)
        : data(pcre2_match_data_create_from_pattern(pattern.code, nullptr)),
          context(pcre2_match_context_create(nullptr)) {}
    ~MatchMemory() {
        pcre2_match_data_free(data);
        pcre2_match_context_free(context);
    }
    MatchMemory(const MatchMemory&) = delete;
    MatchMemory& operator=(const MatchMemory&) = delete;
    pcre2_match_data* const data;
    pcre2_match_context* const context;
};

// Matches with a compiled pattern. `checked`: the subject is well formed. *need_more: the quick try gave up.
Term run_pattern(Process& p, const Regex& pattern, Term subject, const Options& o, bool checked,
                 bool quick, bool* need_more) {
    *need_more = false;
    Bytes bytes{};
    std::string flat;
    const bool shared = is_bitstring(subject) && is_binary(subject);
    if (shared) {
        get_bytes(subject, &bytes);
    } else if (iolist_to_bytes(subject, &flat)) {
        bytes.data = reinterpret_cast<const uint8_t*>(flat.data());
        bytes.size = flat.size();
    } else {
        return stdlib_badarg(p);
    }
    if (o.offset > bytes.size) {
        return by_release::re_is_pcre2() ? stdlib_badarg(p) : stdlib_error(p, atoms::internal_error);
    }
    // PCRE2 checks that the whole subject is UTF-8, which takes time.
    if (quick && !checked && bytes.size - o.offset > kQuickBytes) {
        *need_more = true;
        return kNonValue;
    }
    consume(p, 4 + static_cast<int64_t>((bytes.size - o.offset) / 512));
    MatchMemory memory(pattern);
    const bool limited = quick && o.match_limit > kQuickSteps;
    pcre2_set_match_limit(memory.context, limited ? kQuickSteps : o.match_limit);
    if (o.depth_limit != 0) {
        pcre2_set_depth_limit(memory.context, o.depth_limit);
    }
    const uint32_t options = o.match | (checked ? uint32_t{PCRE2_NO_UTF_CHECK} : 0);
    const int rc = pcre2_match(pattern.code, bytes.data, bytes.size, o.offset, options, memory.data,
                               memory.context);
    if (rc == PCRE2_ERROR_MATCHLIMIT && limited) {
        *need_more = true;
        consume(p, p.reductions);
        return kNonValue;
    }
    if (rc > 0) {
        const RegexMatch m{pattern,
                      pcre2_get_ovector_pointer(memory.data),
                      static_cast<uint32_t>(rc),
                      shared ? subject : kNonValue,
                      bytes.data,
                      is_value(o.type) ? o.type : atoms::index};
        return match_result(p, m, o.capture);
    }
    switch (rc) {
        case PCRE2_ERROR_NOMATCH:
            return atoms::nomatch;
        case PCRE2_ERROR_MATCHLIMIT:
            return o.report_errors ? make_tuple(p.heap, atoms::error, am_match_limit()) : atoms::nomatch;
        case PCRE2_ERROR_DEPTHLIMIT:
        case PCRE2_ERROR_HEAPLIMIT:
            return o.report_errors ? make_tuple(p.heap, atoms::error, am_match_limit_recursion())
                                   : atoms::nomatch;
        case PCRE2_ERROR_NOMEMORY:
            return stdlib_system_limit(p);
        default:
            return stdlib_badarg(p);  // the subject is not UTF-8, or the offset is inside a character
    }
}

Term to_urun(Process& p, Term subject, Term re, Term options) {
    static const Export* urun = bif_export("re", "urun", 3);
    return trap(p, urun, {subject, re, options});
}
Term to_grun(Process& p, Term subject, Term re, Term options) {
    static const Export* grun = bif_export("re", "grun", 3);
    return trap(p, grun, {subject, re, options});
}

// run/2,3 and internal_run/4. `first` is false in the later rounds of a global match.
Term run(Process& p, Term subject, Term re, Term option_list, bool first, bool quick) {
    Options o;
    if (!parse_options(option_list, &o)) {
        return bad_option(p);
    }
    const bool binary_subject = is_bitstring(subject) && is_binary(subject);
    const bool binary_re = is_bitstring(re) && is_binary(re);
    // Erlang code of the module makes lists of characters.
    const bool needs_characters = !binary_subject || (o.type == atoms::list && !o.global);
    PatternKey key;
    std::shared_ptr<Regex> pattern;
    CompileError why;
    if (binary_re || is_list(re)) {
        if (o.unicode() && (!binary_re || needs_characters)) {
            return to_urun(p, subject, re, option_list);
        }
        std::string source;
        if (!iolist_to_bytes(re, &source)) {
            return stdlib_badarg(p);
        }
        key = make_key(o, std::move(source));
        pattern = regex::get_pattern(key, &why);
        if (pattern == nullptr) {
            if (!o.report_errors) {
                return stdlib_badarg(p);
            }
            const Term reason = tuple_element(compile_error(p, why), 1);
            return make_tuple(p.heap, atoms::error, make_tuple(p.heap, atoms::compile, reason));
        }
        if (o.global) {
            return to_grun(p, subject, pattern_term(p, key, *pattern),
                           make_tuple(p.heap, option_list, make_bool(o.compile_only), re));
        }
    } else {
        if (o.compile_only || !get_compiled(re, &key)) {
            return stdlib_badarg(p);
        }
        if ((key.options & PCRE2_UTF) && needs_characters) {
            return to_urun(p, subject, re, option_list);
        }
        if (o.global) {
            return to_grun(p, subject, re, make_tuple(p.heap, option_list, atoms::false_));
        }
        // PCRE2 takes newline options only when it compiles, so that OTP's run/3 with PCRE2 refuses others.
        const uint8_t newline = o.newline != 0 ? o.newline : key.newline;
        const uint8_t bsr = o.bsr != 0 ? o.bsr : key.bsr;
        if (by_release::re_is_pcre2() && (newline != key.newline || bsr != key.bsr)) {
            return stdlib_badarg(p);
        }
        key.newline = newline;
        key.bsr = bsr;
        pattern = regex::get_pattern(key, &why);
        if (pattern == nullptr) {
            return stdlib_badarg(p);
        }
    }
    bool need_more;
    const Term result = run_pattern(p, *pattern, subject, o, !first, quick, &need_more);
    if (need_more) {
        // The name that the continuation of a match has on OTP.
        static const Export* dirty = bif_export("erlang", "re_run_trap", 3);
        const Term options = cons(p.heap, make_bool(first), option_list);
        return trap(p, dirty, {subject, re, options});
    }
    return result;
}

Term re_run_2(Process& p, const Term* a) { return run(p, a[0], a[1], kNil, true, true); }
Term re_run_3(Process& p, const Term* a) { return run(p, a[0], a[1], a[2], true, true); }
Term re_internal_run_4(Process& p, const Term* a) {
    if (!is_bool(a[3])) {
        return stdlib_badarg(p);
    }
    return run(p, a[0], a[1], a[2], a[3] == atoms::true_, true);
}
// (Subject, Pattern, [FirstCall of internal_run/4 | Options])
Term erlang_re_run_trap_3(Process& p, const Term* a) {
    const Term options = tail(a[2]);
    const Term result = run(p, a[0], a[1], options, head(a[2]) == atoms::true_, false);
    if (!is_value(result) && p.outcome == BifOutcome::exception) {
        static const Export* as = bif_export("re", "run", 3);
        p.exception.bif = as->bif;
        p.exception.args = cons(p.heap, a[0], cons(p.heap, a[1], cons(p.heap, options, kNil)));
    }
    return result;
}

// ---- what is in a pattern --------------------------------------------------------------------------------

Term re_inspect_2(Process& p, const Term* a) {
    PatternKey key;
    CompileError why;
    if (a[1] != am_namelist() || !get_compiled(a[0], &key)) {
        return stdlib_badarg(p);
    }
    const std::shared_ptr<Regex> pattern = regex::get_pattern(key, &why);
    if (pattern == nullptr) {
        return stdlib_badarg(p);
    }
    const NameTable names(*pattern);
    Term list = kNil;
    for (uint32_t i = names.count; i > 0; --i) {
        const std::string_view name = names.name(i - 1);
        if (i == names.count || name != names.name(i)) {
            list = cons(p.heap, make_binary(p.heap, name.data(), name.size()), list);
        }
    }
    return make_tuple(p.heap, am_namelist(), list);
}

Term re_version_0(Process& p, const Term*) {
    char version[64];
    pcre2_config(PCRE2_CONFIG_VERSION, version);
    return make_binary(p.heap, version, std::strlen(version));
}

}  // namespace

MINIVM_BIF_TABLE(regex) = {
    {"re", "version", 0, re_version_0, kBifPlain, nullptr},
    {"re", "compile", 1, re_compile_1, kBifPlain, nullptr},
    {"re", "compile", 2, re_compile_2, kBifPlain, nullptr},
    {"re", "import", 1, re_import_1, kBifPlain, nullptr},
    {"re", "run", 2, re_run_2, kBifPlain, nullptr},
    {"re", "run", 3, re_run_3, kBifPlain, nullptr},
    {"re", "internal_run", 4, re_internal_run_4, kBifPlain, nullptr},
    {"erlang", "re_run_trap", 3, erlang_re_run_trap_3, kBifDirtyCpu | kBifHidden | kBifLeavable, nullptr},
    {"re", "inspect", 2, re_inspect_2, kBifPlain, nullptr},
};

}  // namespace minivm
