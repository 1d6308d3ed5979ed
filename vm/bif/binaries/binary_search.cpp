// binary:match, matches, split and compile_pattern.
//
// One pattern is searched for with memmem, several with an Aho-Corasick automaton. Both find the
// leftmost match, and of those that begin there the longest; the next search begins behind it.
#include "vm/bif/bif.hpp"
#include "vm/bif/stdlib_error.hpp"
#include "vm/process/continuation.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/local_atoms.hpp"
#include "vm/util/otp_release.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace minivm {

namespace {

LOCAL_ATOM(bm, "bm")
LOCAL_ATOM(ac, "ac")

constexpr int64_t kBytesPerReduction = 1000;

// ---- patterns ----------------------------------------------------------------------------------

// Immutable once made: any process may search with it.
struct Pattern : MagicObject {
    // A state of the automaton stands for the longest prefix of a pattern that ends here.
    struct State {
        uint32_t next[256] = {};
        uint32_t fail = 0;
        uint32_t depth = 0;    // length of the prefix
        uint32_t longest = 0;  // of the patterns that end here; 0: none does
    };

    std::string single;         // if there is but one
    std::vector<State> states;  // else; the first is the root

    bool is_single() const { return states.empty(); }

    void add(const Bytes& bytes) {
        uint32_t at = 0;
        for (size_t i = 0; i < bytes.size; i++) {
            uint32_t to = states[at].next[bytes.data[i]];
            if (to == 0) {
                to = static_cast<uint32_t>(states.size());
                states.emplace_back();
                states[to].depth = states[at].depth + 1;
                states[at].next[bytes.data[i]] = to;
            }
            at = to;
        }
        states[at].longest = states[at].depth;
    }

    // Turns the tree of prefixes into the automaton, breadth first.
    void finish() {
        std::vector<uint32_t> queue;
        for (const uint32_t child : states[0].next) {
            if (child != 0) {
                queue.push_back(child);
            }
        }
        for (size_t i = 0; i < queue.size(); i++) {
            const uint32_t at = queue[i];
            const uint32_t fail = states[at].fail;
            if (states[at].longest == 0) {
                states[at].longest = states[fail].longest;
            }
            for (unsigned byte = 0; byte < 256; byte++) {
                const uint32_t child = states[at].next[byte];
                if (child != 0 && states[child].depth == states[at].depth + 1) {
                    states[child].fail = states[fail].next[byte];
                    queue.push_back(child);
                } else {
                    states[at].next[byte] = states[fail].next[byte];
                }
            }
        }
    }
};

bool pattern_bytes(Term t, Bytes* out) {
    return get_bytes(t, out) && out->size != 0;
}

// A pattern of a non-empty binary or a list of such; null: it is none.
std::unique_ptr<Pattern> make_pattern(Process& p, Term t) {
    auto pattern = std::make_unique<Pattern>();
    Bytes bytes;
    if (!is_cons(t)) {
        if (!pattern_bytes(t, &bytes)) {
            return nullptr;
        }
        pattern->single.assign(reinterpret_cast<const char*>(bytes.data), bytes.size);
        return pattern;
    }
    size_t count = 0;
    size_t total = 0;
    Term rest = t;
    for (; is_cons(rest); rest = tail(rest), count++) {
        if (!pattern_bytes(head(rest), &bytes)) {
            return nullptr;
        }
        total += bytes.size;
    }
    if (!is_nil(rest)) {
        return nullptr;
    }
    if (count == 1) {
        pattern->single.assign(reinterpret_cast<const char*>(bytes.data), bytes.size);
        return pattern;
    }
    constexpr int64_t kStatesPerReduction = 20;
    consume(p, static_cast<int64_t>(total) / kStatesPerReduction);
    pattern->states.emplace_back();
    for (rest = t; is_cons(rest); rest = tail(rest)) {
        pattern_bytes(head(rest), &bytes);
        pattern->add(bytes);
    }
    pattern->finish();
    return pattern;
}

// The object of a compiled pattern {bm, Ref} or {ac, Ref}; null: it is none.
Pattern* compiled_pattern(Term t) {
    if (!is_tuple_of(t, 2) || !is_magic_ref(tuple_element(t, 1))) {
        return nullptr;
    }
    auto* pattern = dynamic_cast<Pattern*>(magic_object(tuple_element(t, 1)));
    if (pattern == nullptr || tuple_element(t, 0) != (pattern->is_single() ? bm() : ac())) {
        return nullptr;
    }
    return pattern;
}

Term binary_compile_pattern_1(Process& p, const Term* a) {
    std::unique_ptr<Pattern> pattern = make_pattern(p, a[0]);
    if (pattern == nullptr) {
        return stdlib_badarg(p);
    }
    const Term kind = pattern->is_single() ? bm() : ac();
    return make_tuple(p.heap, kind, hold_state(p, std::move(pattern)));
}

// ---- searching ---------------------------------------------------------------------------------

enum class Wanted : uint8_t { match, matches, split };

struct Match {
    uint64_t first;
    uint64_t size;
};

struct SearchState : MagicObject {
    ~SearchState() override {
        if (pattern != nullptr) {
            pattern->release();
        }
    }

    enum class Status : uint8_t { found, none, more };

    // The next match in [at, end).
    Status next(int64_t* budget, Match* out) {
        return pattern->is_single() ? next_single(budget, out) : next_of_many(budget, out);
    }

    Status next_single(int64_t* budget, Match* out) {
        const std::string& s = pattern->single;
        while (end - at >= s.size()) {
            if (*budget <= 0) {
                return Status::more;
            }
            // Matches that begin in the next `begins` bytes.
            const uint64_t begins =
                std::min(end - at - s.size() + 1, static_cast<uint64_t>(*budget));
            const void* hit = memmem(bytes.data() + at, begins + s.size() - 1, s.data(), s.size());
            if (hit != nullptr) {
                const uint64_t first =
                    static_cast<uint64_t>(static_cast<const uint8_t*>(hit) - bytes.data());
                *budget -= static_cast<int64_t>(first - at + 1);
                at = first + s.size();
                *out = {first, s.size()};
                return Status::found;
            }
            *budget -= static_cast<int64_t>(begins);
            at += begins;
        }
        return Status::none;
    }

    // How many bytes there are before the first one with which a pattern begins.
    uint64_t begins_nothing(const uint8_t* data, uint64_t size) const {
        const Pattern::State& root = pattern->states.front();
        uint64_t n = 0;
        while (n < size && root.next[data[n]] == 0) {
            ++n;
        }
        return n;
    }

    Status next_of_many(int64_t* budget, Match* out) {
        const Pattern::State* const states = pattern->states.data();
        const uint8_t* const data = bytes.data();
        uint64_t i = at;
        for (; i < end; i++) {
            if (*budget <= 0) {
                at = i;
                return Status::more;
            }
            if (state == 0 && !has_best) {
                const uint64_t passed =
                    begins_nothing(data + i, std::min(end - i, static_cast<uint64_t>(*budget)));
                i += passed;
                *budget -= static_cast<int64_t>(passed);
                if (i == end) {
                    break;
                }
            }
            --*budget;
            state = states[state].next[data[i]];
            const Pattern::State& s = states[state];
            // No match that is still possible begins before this state's prefix.
            if (has_best && i + 1 - s.depth > best.first) {
                break;
            }
            if (s.longest != 0) {
                const uint64_t first = i + 1 - s.longest;
                if (!has_best || first <= best.first) {
                    best = {first, s.longest};
                    has_best = true;
                }
            }
        }
        state = 0;
        if (!has_best) {
            at = end;
            return Status::none;
        }
        has_best = false;
        *out = best;
        at = best.first + best.size;
        return Status::found;
    }

    HeldBytes bytes;
    Pattern* pattern = nullptr;
    Wanted wanted = Wanted::match;
    bool global = false;    // split
    bool trim = false;      // split: no empty parts at the end
    bool trim_all = false;  // split: no empty parts
    uint64_t at = 0;        // where the search goes on
    uint64_t end = 0;
    // Several patterns: the automaton, and the best match so far.
    uint32_t state = 0;
    bool has_best = false;
    Match best{};
    std::vector<Match> matches;
};

Term match_tuple(Process& p, const Match& m) {
    return make_tuple(p.heap, make_unsigned(p.heap, m.first), make_unsigned(p.heap, m.size));
}

Term split_parts(Process& p, const SearchState& s, Term subject) {
    // From the end, so that the list needs no reversing.
    Term list = kNil;
    uint64_t end = s.bytes.size();
    const auto part = [&](uint64_t first) {
        if (first != end || (!s.trim_all && !(s.trim && is_nil(list)))) {
            list = cons(p.heap, sub_bitstring(p.heap, subject, 8 * first, 8 * (end - first)), list);
        }
    };
    for (size_t i = s.matches.size(); i != 0; i--) {
        const Match& m = s.matches[i - 1];
        part(m.first + m.size);
        end = m.first;
    }
    part(0);
    return list;
}

Term search_result(Process& p, const SearchState& s, Term subject) {
    switch (s.wanted) {
        case Wanted::match:
            return s.matches.empty() ? atoms::nomatch : match_tuple(p, s.matches[0]);
        case Wanted::matches: {
            Term list = kNil;
            for (size_t i = s.matches.size(); i != 0; i--) {
                list = cons(p.heap, match_tuple(p, s.matches[i - 1]), list);
            }
            return list;
        }
        case Wanted::split:
            return split_parts(p, s, subject);
    }
    return kNonValue;
}

Term search_slice(Process& p, SearchState& s, std::unique_ptr<SearchState> fresh, Term held,
                  Term subject) {
    const int64_t given = slice_budget(p, kBytesPerReduction);
    constexpr int64_t kMatchCost = 50;  // in bytes
    int64_t left = given;
    const bool all = s.wanted == Wanted::matches || (s.wanted == Wanted::split && s.global);
    Match m;
    SearchState::Status status;
    while ((status = s.next(&left, &m)) == SearchState::Status::found) {
        s.matches.push_back(m);
        if (!all) {
            break;
        }
        left -= kMatchCost;
    }
    charge_slice(p, given, left, kBytesPerReduction);
    if (status == SearchState::Status::more) {
        static const Export* to = bif_export("erlang", "binary_find_trap", 3);
        if (fresh != nullptr) {
            held = hold_state(p, std::move(fresh));
        }
        return yield(p, to, {held, subject, kNil});
    }
    return search_result(p, s, subject);
}
Term binary_find_trap_3(Process& p, const Term* a) {
    return search_slice(p, *held_state<SearchState>(a[0]), nullptr, a[0], a[1]);
}

// {scope, {Start, Length}}
bool scope_option(Term option, SearchState* s) {
    if (!is_tuple_of(option, 2) || tuple_element(option, 0) != atoms::scope) {
        return false;
    }
    const Term range = tuple_element(option, 1);
    int64_t first;
    int64_t n;
    if (!is_tuple_of(range, 2) || !get_int64(tuple_element(range, 0), &first) ||
        !get_int64(tuple_element(range, 1), &n) || !byte_range(s->bytes.size(), &first, &n)) {
        return false;
    }
    s->at = static_cast<uint64_t>(first);
    s->end = static_cast<uint64_t>(first + n);
    return true;
}

bool split_option(Term option, SearchState* s) {
    if (option == atoms::global) {
        s->global = true;
    } else if (option == atoms::trim) {
        s->trim = true;
    } else if (option == atoms::trim_all) {
        s->trim_all = true;
    } else {
        return false;
    }
    return true;
}

Term search(Process& p, Wanted wanted, Term subject, Term what, Term options) {
    auto s = std::make_unique<SearchState>();
    s->wanted = wanted;
    if (!is_binary(subject) || !s->bytes.hold(subject)) {
        return stdlib_badarg(p);
    }
    s->end = s->bytes.size();
    if (!is_list(options)) {
        return stdlib_badarg(p);
    }
    // As in OTP, the end of the list may be any term.
    for (; is_cons(options); options = tail(options)) {
        const Term option = head(options);
        if (!scope_option(option, s.get()) &&
            (wanted != Wanted::split || !split_option(option, s.get()))) {
            return stdlib_badarg(p);
        }
    }
    const bool is_nothing = s->end == 0;
    if (is_nothing && !by_release::at_least(27)) {
        return search_result(p, *s, subject);  // the pattern may be anything, as in OTP up to 26
    }
    if (Pattern* compiled = compiled_pattern(what)) {
        compiled->retain();
        s->pattern = compiled;
    } else {
        s->pattern = make_pattern(p, what).release();
        if (s->pattern == nullptr) {
            return stdlib_badarg(p);
        }
    }
    if (is_nothing) {
        return search_result(p, *s, subject);
    }
    SearchState& state = *s;
    return search_slice(p, state, std::move(s), kNonValue, subject);
}

Term binary_match_2(Process& p, const Term* a) {
    return search(p, Wanted::match, a[0], a[1], kNil);
}
Term binary_match_3(Process& p, const Term* a) {
    return search(p, Wanted::match, a[0], a[1], a[2]);
}
Term binary_matches_2(Process& p, const Term* a) {
    return search(p, Wanted::matches, a[0], a[1], kNil);
}
Term binary_matches_3(Process& p, const Term* a) {
    return search(p, Wanted::matches, a[0], a[1], a[2]);
}
Term binary_split_2(Process& p, const Term* a) {
    return search(p, Wanted::split, a[0], a[1], kNil);
}
Term binary_split_3(Process& p, const Term* a) {
    return search(p, Wanted::split, a[0], a[1], a[2]);
}

}  // namespace

MINIVM_BIF_TABLE(binary_search) = {
    {"binary", "compile_pattern", 1, binary_compile_pattern_1, kBifPlain, nullptr},
    {"binary", "match", 2, binary_match_2, kBifPlain, nullptr},
    {"binary", "match", 3, binary_match_3, kBifPlain, nullptr},
    {"binary", "matches", 2, binary_matches_2, kBifPlain, nullptr},
    {"binary", "matches", 3, binary_matches_3, kBifPlain, nullptr},
    {"binary", "split", 2, binary_split_2, kBifPlain, nullptr},
    {"binary", "split", 3, binary_split_3, kBifPlain, nullptr},
    // OTP's name: tracers and process_info/2 show it.
    {"erlang", "binary_find_trap", 3, binary_find_trap_3, kBifHidden, nullptr},
};

}  // namespace minivm
