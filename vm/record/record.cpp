#include "vm/record/record.hpp"

#include "vm/term/atom_table.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/format.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <string>
#include <utility>

namespace minivm::records {

std::atomic<bool> g_terms{true};

namespace {

using recorder::ValueTag;
using recorder::ValueWriter;

constexpr unsigned kMaxDepth = 6;
constexpr unsigned kMaxString = 120;  // characters of a string or bytes of a binary
constexpr unsigned kMaxElements = 64;

// One bit an atom: the dictionary has its text. The pages cost nothing until they are used. Atoms with higher
// indexes, which exist only if +t asks for more, are numbers in a recording.
constexpr size_t kNamedAtoms = atom_table::kDefaultLimit;
std::atomic<uint64_t> g_atoms[kNamedAtoms / 64];

// The other ids that are in the dictionary, by open addressing. Should the table fill up, ids that find no place
// are defined again each time, until the dictionary is full.
constexpr unsigned kKnownSize = 1 << 14;
std::atomic<uint64_t> g_known[kKnownSize];
bool g_started = false;  // there has been a recording

// True if the id was not known before.
bool learn(uint64_t id) {
    const uint64_t key = id | uint64_t{1} << 63;
    uint64_t at = (key * 0x9e3779b97f4a7c15u) >> 50;
    for (unsigned i = 0; i < 32; ++i) {
        std::atomic<uint64_t>& place = g_known[(at + i) % kKnownSize];
        // relaxed: only the id itself counts. Another thread may define it a moment after we use it; a
        // reader at that moment shows the number.
        uint64_t seen = place.load(std::memory_order_relaxed);
        if (seen == key) {
            return false;
        }
        // relaxed: as above.
        if (seen == 0 && place.compare_exchange_strong(seen, key, std::memory_order_relaxed)) {
            return true;
        }
        if (seen == key) {
            return false;
        }
    }
    return true;
}

constexpr uint64_t kNamedString = uint64_t{1} << 62;  // tells these ids from the fixed words

uint64_t hash_text(std::string_view text) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char c : text) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    }
    return hash;
}

bool put_list(ValueWriter& to, Term list, unsigned depth);

// Puts a list as text. False: its first kMaxString elements are not all printable, or its tail is improper.
bool put_string(ValueWriter& to, Term list) {
    char text[kMaxString];
    unsigned n = 0;
    for (; is_cons(list) && n < kMaxString; list = tail(list)) {
        const Term c = head(list);
        if (!is_small(c) || small_value(c) > 126 ||
            (small_value(c) < 32 && small_value(c) != '\n' && small_value(c) != '\t')) {
            return false;
        }
        text[n++] = static_cast<char>(small_value(c));
    }
    if (is_cons(list) ? n < kMaxString : !is_nil(list)) {
        return false;
    }
    to.text({text, n}, true, is_cons(list));
    return true;
}

void put_big(ValueWriter& to, Term t) {
    if (big_limbs(t) > 4) {
        // All digits would take long.
        const std::string text = "(integer of " + std::to_string(big_limbs(t) * 64) + " bits)";
        to.text(text, false, false);
        return;
    }
    to.text(format_term(t, 100), false, false);
}

void put_bits(ValueWriter& to, Term t) {
    const BitView view = bit_view(t);
    const auto shown = static_cast<unsigned>(std::min<uint64_t>((view.size + 7) / 8, kMaxString));
    if (view.byte_aligned()) {
        to.bytes(view.first_byte(), view.size, shown);
        return;
    }
    uint8_t bytes[kMaxString] = {};
    copy_bits(view.bytes, view.offset, bytes, 0, std::min<uint64_t>(view.size, shown * 8));
    // The copy has no more than `shown` bytes.
    to.bytes(bytes, view.size, shown);
}

void put_boxed(ValueWriter& to, Term t, unsigned depth) {
    switch (kind_of(t)) {
        case Kind::tuple: {
            const size_t n = tuple_arity(t);
            if (!to.put(ValueTag::tuple, n)) {
                return;
            }
            for (size_t i = 0; i < n && !to.is_full(); ++i) {
                if (depth >= kMaxDepth || i >= kMaxElements) {
                    to.put(ValueTag::more);
                    return;
                }
                copy_term_words(to, tuple_element(t, i), depth + 1);
            }
            return;
        }
        case Kind::pos_big:
        case Kind::neg_big:
            put_big(to, t);
            return;
        case Kind::float64:
            to.float64(boxed_float_value(t));
            return;
        case Kind::heap_bits:
        case Kind::sub_bits:
            put_bits(to, t);
            return;
        case Kind::ref:
        case Kind::magic_ref: {
            const RefId id = ref_id(t);
            to.reference(id.low, id.high);
            return;
        }
        case Kind::fun: {
            const LambdaName fun = name_of(fun_entry(t));
            to.put(ValueTag::function,
                   function(fun.module, is_value(fun.function) ? fun.function : atoms::fun, fun.arity));
            return;
        }
        case Kind::export_fun:
            to.put(ValueTag::function, function(*export_fun_entry(t)));
            return;
        case Kind::flat_map: {
            const size_t n = map_size(t);
            const Term* words = boxed_ptr(t);
            if (!to.put(ValueTag::map, n)) {
                return;
            }
            for (size_t i = 0; i < n && !to.is_full(); ++i) {
                if (depth >= kMaxDepth || i >= kMaxElements) {
                    to.put(ValueTag::more);
                    return;
                }
                copy_term_words(to, tuple_element(words[1], i), depth + 1);
                copy_term_words(to, words[2 + i], depth + 1);
            }
            return;
        }
        case Kind::hash_map: {
            const std::string text = "#{... " + std::to_string(map_size(t)) + " pairs}";
            to.text(text, false, false);
            return;
        }
        default:
            to.text(format_term(t, 60), false, false);  // a pid, port or reference of another node, a native record
            return;
    }
}

bool put_list(ValueWriter& to, Term list, unsigned depth) {
    if (!to.put(ValueTag::list)) {
        return false;
    }
    for (unsigned n = 0; is_cons(list); list = tail(list), ++n) {
        if (depth >= kMaxDepth || n >= kMaxElements) {
            return to.put(ValueTag::more);
        }
        copy_term_words(to, head(list), depth + 1);
        if (to.is_full()) {
            return false;
        }
    }
    if (is_nil(list)) {
        return to.put(ValueTag::list_end);
    }
    to.put(ValueTag::list_tail);
    copy_term_words(to, list, depth + 1);
    return true;
}

void record_frame(uint32_t process, uint32_t level, Term m, Term f, uint32_t arity, uint32_t line,
                  uint64_t file) {
    if (line == 0) {
        MINIVM_EVENT(uncaught_in_vm, process, level, function(m, f, arity));
    } else {
        MINIVM_EVENT(uncaught_frame, process, level, function(m, f, arity), line, file);
    }
}

constexpr uint32_t kMaxFrames = 40;

// An entry {M, F, ArityOrArgs, [{file, F}, {line, L}]} of a trace as a program sees it. False: not of that form.
bool record_entry(uint32_t process, uint32_t level, Term entry) {
    if (!is_tuple_of(entry, 4) || !is_atom(tuple_element(entry, 0)) ||
        !is_atom(tuple_element(entry, 1))) {
        return false;
    }
    const Term a = tuple_element(entry, 2);
    uint32_t arity = 0;
    if (is_small(a)) {
        arity = static_cast<uint32_t>(small_value(a)) & 0xFF;
    } else {
        for (Term rest = a; is_cons(rest) && arity < 255; rest = tail(rest)) {
            ++arity;
        }
    }
    uint32_t line = 0;
    char file[200];
    size_t length = 0;
    for (Term rest = tuple_element(entry, 3); is_cons(rest); rest = tail(rest)) {
        const Term pair = head(rest);
        if (!is_tuple_of(pair, 2)) {
            continue;
        }
        const Term value = tuple_element(pair, 1);
        if (tuple_element(pair, 0) == atoms::line && is_small(value)) {
            line = static_cast<uint32_t>(small_value(value));
        } else if (tuple_element(pair, 0) == atoms::file) {
            for (Term c = value; is_cons(c) && is_small(head(c)) && length < sizeof file;
                 c = tail(c)) {
                file[length++] = static_cast<char>(small_value(head(c)));
            }
        }
    }
    Term file_atom = length == 0 ? kNonValue : atom_table::find({file, length});
    record_frame(process, level, tuple_element(entry, 0), tuple_element(entry, 1), arity, line,
                 is_value(file_atom) ? atom(file_atom) : atom(atoms::undefined));
    return true;
}

}  // namespace

void start(bool terms) {
    // relaxed: a setting.
    g_terms.store(terms, std::memory_order_relaxed);
    // An earlier recording knew names. The first recording finds the tables empty, and touches none of their
    // pages.
    if (std::exchange(g_started, true)) {
        for (auto& word : g_known) {
            word.store(0, std::memory_order_relaxed);  // relaxed: as in learn()
        }
        for (size_t i = 0; i <= atom_table::count() / 64 && i < kNamedAtoms / 64; ++i) {
            g_atoms[i].store(0, std::memory_order_relaxed);  // relaxed: as in atom()
        }
    }
    define_words();
}

uint64_t atom(Term t) {
    const uint32_t index = atom_index(t);
    if (MINIVM_UNLIKELY(index >= kNamedAtoms)) {
        return index;
    }
    std::atomic<uint64_t>& word = g_atoms[index / 64];
    const uint64_t bit = uint64_t{1} << (index % 64);
    // relaxed: see learn().
    if (MINIVM_UNLIKELY((word.load(std::memory_order_relaxed) & bit) == 0) &&
        recorder::is_active()) {
        // relaxed: as above.
        if ((word.fetch_or(bit, std::memory_order_relaxed) & bit) == 0) {
            recorder::define_atom(index, atom_table::text(t));
        }
    }
    return index;
}

uint64_t function(Term m, Term f, uint32_t arity) {
    const uint64_t id = function_id(m, f, arity);
    if (recorder::is_active() && learn(id)) {
        recorder::define_function(id, atom_table::text(m), atom_table::text(f), arity);
    }
    return id;
}

uint64_t string(std::string_view text) {
    const uint64_t id = (hash_text(text) >> 4) | kNamedString;
    if (recorder::is_active() && learn(id)) {
        recorder::define_string(id, text);
    }
    return id;
}

void hide_term(ValueWriter& to) {
    to.put(ValueTag::hidden);
}

void copy_term_words(ValueWriter& to, Term t, unsigned depth) {
    if (is_small(t)) {
        const int64_t value = small_value(t);
        if (MINIVM_LIKELY(recorder::fits_value_integer(value))) {
            to.integer(value);
        } else {
            to.text(std::to_string(value), false, false);
        }
    } else if (is_atom(t)) {
        to.put(ValueTag::atom, atom(t));
    } else if (is_local_pid(t)) {
        to.put(ValueTag::subject, subject(t));
    } else if (is_nil(t)) {
        to.put(ValueTag::nil);
    } else if (is_cons(t)) {
        if (!put_string(to, t)) {
            put_list(to, t, depth);
        }
    } else if (is_boxed(t)) {
        put_boxed(to, t, depth);
    } else if (is_imm_float(t)) {
        to.float64(imm_float_value(t));
    } else if (is_local_port(t)) {
        to.text(format_term(t, 60), false, false);
    } else {
        to.put(ValueTag::hidden);  // no term of a program
    }
}

void uncaught(Term pid, bool sensitive, Term cls, Term reason, Term trace) {
    if (!recorder::enabled(recorder::Category::process)) {
        return;
    }
    const uint32_t process = subject(pid);
    const TermCopy<22> copy(reason, sensitive);
    constexpr unsigned kUsualSlots = 20;  // with a few frames
    const recorder::Batch batch(recorder::EventId::uncaught, kUsualSlots);
    MINIVM_EVENT(uncaught, process, atom(is_atom(cls) ? cls : atoms::error), copy.get());
    uint32_t level = 0;
    if (is_tuple(trace) && tuple_arity(trace) >= 2) {  // raw, see exception.hpp
        const Term* t = tuple_elements(trace);
        const size_t n = tuple_arity(trace);
        if (is_cons(t[1])) {
            trace = t[1];
        } else {
            if (is_tuple(t[1]) && record_entry(process, level, t[1])) {
                ++level;
            }
            for (size_t i = 2; i + 4 <= n && level < kMaxFrames; i += 4) {
                const int64_t packed = small_value(t[i + 2]);
                record_frame(process, level++, t[i], t[i + 1], static_cast<uint32_t>(packed & 0xFF),
                             static_cast<uint32_t>(packed >> 8),
                             atom(is_atom(t[i + 3]) ? t[i + 3] : atoms::undefined));
            }
            return;
        }
    }
    for (Term rest = trace; is_cons(rest) && level < kMaxFrames; rest = tail(rest)) {
        if (record_entry(process, level, head(rest))) {
            ++level;
        }
    }
}

}  // namespace minivm::records
