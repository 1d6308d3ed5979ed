// Lists and tuples.
#include "vm/bif/bif.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/compare.hpp"
#include "vm/term/hash.hpp"

#include <algorithm>
#include <vector>

namespace minivm {
namespace {

// Elements that a loop may handle before it yields: about ten a reduction.
constexpr int64_t kElementsPerReduction = 10;
int64_t budget(const Process& p) {
    return std::max<int64_t>(p.reductions, 1) * kElementsPerReduction;
}
void charge(Process& p, int64_t elements) {
    consume(p, elements / kElementsPerReduction + 1);
}

// ---- reverse, append, subtract ------------------------------------------------------------------

constexpr size_t kMaxRoomWords = size_t{1} << 30;  // Process::gc_room_words has 32 bits

// A fragment makes a collection due, which would copy it: it is better to collect first and build the
// list in the heap. True: a collection is asked for. False: there is room, or the list is too long.
bool collects_for(Process& p, size_t words) {
    if (static_cast<size_t>(p.heap.end - p.heap.top) >= words + kReserveWords ||
        words > kMaxRoomWords) {
        return false;
    }
    p.force_gc = true;
    p.gc_room_words = static_cast<uint32_t>(words + kReserveWords);
    return true;
}

// A list that does not fit may go into a fragment if it is not longer.
constexpr int64_t kShortList = 32;

Term lists_reverse_2(Process& p, const Term* a) {
    Term list = a[0];
    Term acc = a[1];
    if (!is_list(list)) {
        return badarg(p);
    }
    const int64_t limit = budget(p);
    const auto room = (p.heap.end - p.heap.top - static_cast<int64_t>(kReserveWords)) /
                      static_cast<int64_t>(kConsWords);
    const int64_t until = std::min(limit, std::max(room, kShortList));
    int64_t n = 0;
    for (; n < until && is_cons(list); ++n) {
        acc = cons(p.heap, head(list), acc);
        list = tail(list);
    }
    charge(p, n);
    if (is_nil(list)) {
        return acc;
    }
    if (!is_cons(list)) {
        return badarg(p);
    }
    static const Export* self = bif_export("lists", "reverse", 2);
    if (n == limit) {
        return yield(p, self, {list, acc});
    }
    size_t left = 0;
    for (Term l = list; is_cons(l) && left < kMaxRoomWords / kConsWords; l = tail(l)) {
        ++left;
    }
    collects_for(p, left * kConsWords);
    return trap(p, self, {list, acc});
}

// Copies the n elements (at least one) of list before the cell `end`, in front of rest.
Term copy_part(Process& p, Term list, Term end, Term rest, int64_t n) {
    Term* cell = p.heap.alloc(static_cast<size_t>(n) * kConsWords);
    const Term result = make_cons(cell);
    for (; list != end; list = tail(list)) {
        cell[0] = head(list);
        cell[1] = make_cons(cell + kConsWords);
        cell += kConsWords;
    }
    cell[-1] = rest;
    return result;
}

// A long list is copied from its last part to its first, so that the copy can yield between parts and
// no cell changes after it was made: (the parts still to copy, last one first; where they end; the copy
// so far).
constexpr int64_t kAppendPart = 4096;
Term append_parts_3(Process& p, const Term* a) {
    Term parts = a[0];
    Term end = a[1];
    Term acc = a[2];
    const int64_t limit = budget(p);
    int64_t n = 0;
    while (is_cons(parts) && n < limit) {
        const Term part = head(parts);
        const int64_t length = is_nil(end) ? list_length(part) : kAppendPart;
        acc = copy_part(p, part, end, acc, length);
        end = part;
        parts = tail(parts);
        n += length;
    }
    charge(p, n);
    static const Export* self = bif_export("minivm", "append_parts", 3);
    return is_cons(parts) ? yield(p, self, {parts, end, acc}) : acc;
}

// may_collect: false the second time, when a transition between engines may have used up some of the room.
Term append(Process& p, const Term* a, bool may_collect) {
    const Term list = a[0];
    const Term rest = a[1];
    if (is_nil(list)) {
        return rest;
    }
    int64_t n = 0;
    std::vector<Term> later_parts;
    Term l = list;
    while (is_cons(l)) {
        l = tail(l);
        if (++n % kAppendPart == 0) {
            later_parts.push_back(l);
        }
    }
    if (!is_nil(l)) {
        return badarg(p);
    }
    const auto words = static_cast<size_t>(n) * kConsWords;
    static const Export* collected = bif_export("minivm", "append_collected", 2);
    if (n <= budget(p)) {
        if (may_collect && collects_for(p, words)) {
            return trap(p, collected, {list, rest});
        }
        charge(p, n);
        return copy_part(p, list, kNil, rest, n);
    }
    Term parts = cons(p.heap, list, kNil);
    for (const Term part : later_parts) {
        if (is_cons(part)) {
            parts = cons(p.heap, part, parts);
        }
    }
    collects_for(p, words);
    static const Export* slow = bif_export("minivm", "append_parts", 3);
    return trap(p, slow, {parts, kNil, rest});
}
Term erlang_append_2(Process& p, const Term* a) {
    return append(p, a, true);
}
Term append_collected_2(Process& p, const Term* a) {
    return append(p, a, false);
}

// How many of each term subtract takes away.
class Counts {
public:
    explicit Counts(size_t n) : slots_(std::bit_ceil(2 * n + 1)) {}
    void add(Term t) {
        Slot& s = find(t);
        s.term = t;
        ++s.count;
    }
    bool take(Term t) {
        // Must not store t in the slot: there may be more such terms than slots.
        Slot& s = find(t);
        if (s.count == 0) {
            return false;
        }
        --s.count;
        return true;
    }

private:
    struct Slot {
        Term term = kNonValue;
        uint32_t count = 0;
    };
    Slot& find(Term t) {
        const size_t mask = slots_.size() - 1;
        for (size_t i = internal_hash(t, 0) & mask;; i = (i + 1) & mask) {
            Slot& s = slots_[i];
            if (!is_value(s.term) || exact_equal(s.term, t)) {
                return s;
            }
        }
    }
    std::vector<Slot> slots_;
};

Term erlang_subtract_2(Process& p, const Term* a) {
    const int64_t n = list_length(a[0]);
    const int64_t m = list_length(a[1]);
    if (n < 0 || m < 0) {
        return badarg(p);
    }
    if (n == 0 || m == 0) {
        return a[0];
    }
    charge(p, n + m);
    std::vector<Term> kept;
    kept.reserve(static_cast<size_t>(n));
    Term l = a[0];
    int64_t left = m;
    if (m <= 8) {
        Term wanted[8];
        Term w = a[1];
        for (int64_t i = 0; i < m; ++i, w = tail(w)) {
            wanted[i] = head(w);
        }
        for (; is_cons(l) && left > 0; l = tail(l)) {
            int64_t i = 0;
            while (i < left && !exact_equal(wanted[i], head(l))) {
                ++i;
            }
            if (i == left) {
                kept.push_back(head(l));
            } else {
                wanted[i] = wanted[--left];
            }
        }
    } else {
        Counts counts(static_cast<size_t>(m));
        for (Term w = a[1]; is_cons(w); w = tail(w)) {
            counts.add(head(w));
        }
        for (; is_cons(l) && left > 0; l = tail(l)) {
            if (counts.take(head(l))) {
                --left;
            } else {
                kept.push_back(head(l));
            }
        }
    }
    return list_of(p.heap, kept, l);
}

// ---- searching ----------------------------------------------------------------------------------

Term lists_member_2(Process& p, const Term* a) {
    const Term wanted = a[0];
    Term l = a[1];
    const int64_t limit = budget(p);
    int64_t n = 0;
    for (; is_cons(l); l = tail(l)) {
        if (exact_equal(head(l), wanted)) {
            charge(p, n);
            return atoms::true_;
        }
        if (++n > limit) {
            charge(p, n);
            static const Export* self = bif_export("lists", "member", 2);
            return yield(p, self, {wanted, tail(l)});
        }
    }
    charge(p, n);
    return is_nil(l) ? atoms::false_ : badarg(p);
}

// lists:keyfind and its kin compare with ==.
template <typename Equal>
Term key_search(Process& p, const Term* a, const Export* self, Term* found, Equal equal) {
    Term l = a[2];
    const Word position = static_cast<Word>(small_value(a[1]));
    const int64_t limit = budget(p);
    int64_t n = 0;
    for (; is_cons(l); l = tail(l)) {
        const Term t = head(l);
        if (is_tuple(t) && tuple_arity(t) >= position && equal(tuple_element(t, position - 1))) {
            charge(p, n);
            *found = t;
            return atoms::true_;
        }
        if (++n > limit) {
            charge(p, n);
            return yield(p, self, {a[0], a[1], tail(l)});
        }
    }
    charge(p, n);
    return is_nil(l) ? atoms::false_ : badarg(p);
}
Term key_search(Process& p, const Term* a, const Export* self, Term* found) {
    *found = kNonValue;
    // Bignums are refused, and OTP's begin at smaller numbers.
    constexpr int64_t kOtpMaxSmall = (int64_t{1} << 59) - 1;
    if (!is_small(a[1]) || small_value(a[1]) < 1 || small_value(a[1]) > kOtpMaxSmall) {
        return badarg(p);
    }
    const Term key = a[0];
    // An atom, a local pid or [] equals only itself, a small integer also a float.
    if ((key.raw & kTagMask) == kTagImm) {
        return key_search(p, a, self, found, [key](Term element) { return element == key; });
    }
    if (is_small(key)) {
        return key_search(p, a, self, found, [key](Term element) {
            return element == key || (!is_small(element) && loose_equal(element, key));
        });
    }
    return key_search(p, a, self, found, [key](Term element) { return loose_equal(element, key); });
}
Term lists_keyfind_3(Process& p, const Term* a) {
    static const Export* self = bif_export("lists", "keyfind", 3);
    Term found;
    const Term r = key_search(p, a, self, &found);
    return is_value(found) ? found : r;
}
Term lists_keymember_3(Process& p, const Term* a) {
    static const Export* self = bif_export("lists", "keymember", 3);
    Term found;
    return key_search(p, a, self, &found);
}
Term lists_keysearch_3(Process& p, const Term* a) {
    static const Export* self = bif_export("lists", "keysearch", 3);
    Term found;
    const Term r = key_search(p, a, self, &found);
    return is_value(found) ? make_tuple(p.heap, atoms::value, found) : r;
}

Term erlang_length_1(Process& p, const Term* a) {
    const int64_t n = list_length(a[0]);
    if (n < 0) {
        return badarg(p);
    }
    charge(p, n);
    return make_small(n);
}
Term erlang_hd_1(Process& p, const Term* a) {
    return is_cons(a[0]) ? head(a[0]) : badarg(p);
}
Term erlang_tl_1(Process& p, const Term* a) {
    return is_cons(a[0]) ? tail(a[0]) : badarg(p);
}

// ---- tuples -------------------------------------------------------------------------------------

constexpr int64_t kMaxTupleArity = (1 << 24) - 1;  // as OTP

bool element_index(Term index, Term tuple, Word* out) {
    if (!is_small(index) || !is_tuple(tuple)) {
        return false;
    }
    *out = static_cast<Word>(small_value(index)) - 1;
    return *out < tuple_arity(tuple);
}
Term erlang_element_2(Process& p, const Term* a) {
    Word i;
    return element_index(a[0], a[1], &i) ? tuple_element(a[1], i) : badarg(p);
}
Term erlang_setelement_3(Process& p, const Term* a) {
    Word i;
    if (!element_index(a[0], a[1], &i)) {
        return badarg(p);
    }
    const size_t n = tuple_arity(a[1]);
    Term* t = p.heap.alloc(n + 1);
    std::copy_n(boxed_ptr(a[1]), n + 1, t);
    t[i + 1] = a[2];
    charge(p, static_cast<int64_t>(n / 4));
    return make_boxed(t);
}
Term erlang_tuple_size_1(Process& p, const Term* a) {
    return is_tuple(a[0]) ? make_small(static_cast<int64_t>(tuple_arity(a[0]))) : badarg(p);
}
Term erlang_size_1(Process& p, const Term* a) {
    if (is_tuple(a[0])) {
        return make_small(static_cast<int64_t>(tuple_arity(a[0])));
    }
    if (is_bitstring(a[0])) {
        return make_small(static_cast<int64_t>(bitstring_bits(a[0]) / 8));
    }
    return badarg(p);
}
// The empty tuple is a tuple object of one word.
Term* new_tuple(Process& p, size_t n) {
    Term* t = p.heap.alloc(n + 1);
    t[0] = Term{make_header(Kind::tuple, n)};
    return t;
}
Term erlang_tuple_to_list_1(Process& p, const Term* a) {
    if (!is_tuple(a[0])) {
        return badarg(p);
    }
    const size_t n = tuple_arity(a[0]);
    Term list = kNil;
    for (size_t i = n; i > 0; --i) {
        list = cons(p.heap, tuple_element(a[0], i - 1), list);
    }
    charge(p, static_cast<int64_t>(n));
    return list;
}
Term erlang_list_to_tuple_1(Process& p, const Term* a) {
    const int64_t n = list_length(a[0]);
    if (n < 0 || n > kMaxTupleArity) {
        return badarg(p);
    }
    Term* t = new_tuple(p, static_cast<size_t>(n));
    size_t i = 1;
    for (Term l = a[0]; is_cons(l); l = tail(l)) {
        t[i++] = head(l);
    }
    charge(p, n);
    return make_boxed(t);
}
Term erlang_make_tuple_2(Process& p, const Term* a) {
    if (!is_small(a[0]) || small_value(a[0]) < 0 || small_value(a[0]) > kMaxTupleArity) {
        return badarg(p);
    }
    const size_t n = static_cast<size_t>(small_value(a[0]));
    Term* t = new_tuple(p, n);
    std::fill_n(t + 1, n, a[1]);
    charge(p, static_cast<int64_t>(n));
    return make_boxed(t);
}
Term erlang_make_tuple_3(Process& p, const Term* a) {
    if (!is_small(a[0]) || small_value(a[0]) < 0 || small_value(a[0]) > kMaxTupleArity) {
        return badarg(p);
    }
    const size_t n = static_cast<size_t>(small_value(a[0]));
    Term* t = new_tuple(p, n);
    std::fill_n(t + 1, n, a[1]);
    Term l = a[2];
    for (; is_cons(l); l = tail(l)) {
        const Term e = head(l);
        if (!is_tuple_of(e, 2) || !is_small(tuple_element(e, 0)) ||
            small_value(tuple_element(e, 0)) < 1 ||
            static_cast<size_t>(small_value(tuple_element(e, 0))) > n) {
            return badarg(p);
        }
        t[small_value(tuple_element(e, 0))] = tuple_element(e, 1);
    }
    return is_nil(l) ? make_boxed(t) : badarg(p);
}
Term erlang_append_element_2(Process& p, const Term* a) {
    if (!is_tuple(a[0]) || tuple_arity(a[0]) >= static_cast<size_t>(kMaxTupleArity)) {
        return badarg(p);
    }
    const size_t n = tuple_arity(a[0]);
    Term* t = new_tuple(p, n + 1);
    std::copy_n(tuple_elements(a[0]), n, t + 1);
    t[n + 1] = a[1];
    return make_boxed(t);
}
Term erlang_insert_element_3(Process& p, const Term* a) {
    if (!is_small(a[0]) || !is_tuple(a[1])) {
        return badarg(p);
    }
    const size_t n = tuple_arity(a[1]);
    const Word i = static_cast<Word>(small_value(a[0])) - 1;
    if (i > n || n >= static_cast<size_t>(kMaxTupleArity)) {
        return badarg(p);
    }
    Term* t = new_tuple(p, n + 1);
    std::copy_n(tuple_elements(a[1]), i, t + 1);
    t[i + 1] = a[2];
    std::copy_n(tuple_elements(a[1]) + i, n - i, t + i + 2);
    return make_boxed(t);
}
Term erlang_delete_element_2(Process& p, const Term* a) {
    Word i;
    if (!element_index(a[0], a[1], &i)) {
        return badarg(p);
    }
    const size_t n = tuple_arity(a[1]);
    Term* t = new_tuple(p, n - 1);
    std::copy_n(tuple_elements(a[1]), i, t + 1);
    std::copy_n(tuple_elements(a[1]) + i + 1, n - i - 1, t + i + 1);
    return make_boxed(t);
}

}  // namespace

MINIVM_BIF_TABLE(lists) = {
    {"lists", "reverse", 2, lists_reverse_2, kBifPlain, nullptr},
    {"lists", "member", 2, lists_member_2, kBifPlain, nullptr},
    {"lists", "keyfind", 3, lists_keyfind_3, kBifPlain, nullptr},
    {"lists", "keymember", 3, lists_keymember_3, kBifPlain, nullptr},
    {"lists", "keysearch", 3, lists_keysearch_3, kBifPlain, nullptr},
    {"erlang", "++", 2, erlang_append_2, kBifPlain, nullptr},
    {"erlang", "append", 2, erlang_append_2, kBifPlain, nullptr},
    {"minivm", "append_collected", 2, append_collected_2, kBifHidden, nullptr},
    {"minivm", "append_parts", 3, append_parts_3, kBifHidden, nullptr},
    {"erlang", "--", 2, erlang_subtract_2, kBifPlain, nullptr},
    {"erlang", "subtract", 2, erlang_subtract_2, kBifPlain, nullptr},
    {"erlang", "length", 1, erlang_length_1, kBifGuard, nullptr},
    {"erlang", "hd", 1, erlang_hd_1, kBifGuard, nullptr},
    {"erlang", "tl", 1, erlang_tl_1, kBifGuard, nullptr},
    {"erlang", "element", 2, erlang_element_2, kBifGuard, nullptr},
    {"erlang", "setelement", 3, erlang_setelement_3, kBifPlain, nullptr},
    {"erlang", "tuple_size", 1, erlang_tuple_size_1, kBifGuard, nullptr},
    {"erlang", "size", 1, erlang_size_1, kBifGuard, nullptr},
    {"erlang", "tuple_to_list", 1, erlang_tuple_to_list_1, kBifPlain, nullptr},
    {"erlang", "list_to_tuple", 1, erlang_list_to_tuple_1, kBifPlain, nullptr},
    {"erlang", "make_tuple", 2, erlang_make_tuple_2, kBifPlain, nullptr},
    {"erlang", "make_tuple", 3, erlang_make_tuple_3, kBifPlain, nullptr},
    {"erlang", "append_element", 2, erlang_append_element_2, kBifPlain, nullptr},
    {"erlang", "insert_element", 3, erlang_insert_element_3, kBifPlain, nullptr},
    {"erlang", "delete_element", 2, erlang_delete_element_2, kBifPlain, nullptr},
};

}  // namespace minivm
