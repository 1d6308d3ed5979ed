// See compare.hpp.
//
// One loop walks both terms at once. What is left to compare lies on a work list of ranges: two
// runs of terms of the same length, in memory that the terms own (tuple elements, tails of cons
// cells, values of maps). Only maps whose keys are not in term order (hash maps, and by release
// flat ones) need memory of their own. Sorting or looking up their keys is also the only place where
// the walk calls itself, once per level of such maps used as keys of such maps.
#include "vm/term/compare.hpp"

#include "vm/term/atom_table.hpp"
#include "vm/term/bignum.hpp"
#include "vm/term/binary.hpp"
#include "vm/term/function_name.hpp"
#include "vm/term/map.hpp"
#include "vm/term/map_trie.hpp"
#include "vm/term/native_record.hpp"
#include "vm/term/this_node.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

namespace minivm {
namespace {

// What is left to compare: a[0..n) with b[0..n).
struct Range {
    const Term* a;
    const Term* b;
    size_t n;
    bool exact;
};

class WorkList {
public:
    WorkList() = default;
    WorkList(const WorkList&) = delete;
    WorkList& operator=(const WorkList&) = delete;

    // Field by field: a Range put together elsewhere is copied with wide loads that have to wait
    // for the narrow stores before them.
    void push(const Term* a, const Term* b, size_t n, bool exact) {
        if (n == 0) {
            return;
        }
        if (MINIVM_LIKELY(depth_ < kInline)) {
            Range& r = inline_[depth_];
            r.a = a;
            r.b = b;
            r.n = n;
            r.exact = exact;
        } else {
            more_.push_back({a, b, n, exact});
        }
        ++depth_;
    }
    bool empty() const { return depth_ == 0; }
    // The next pair of terms that are not the same word, or the last pair; not empty.
    Range next() {
        Range& r = depth_ <= kInline ? inline_[depth_ - 1] : more_.back();
        while (r.n > 1 && *r.a == *r.b) {
            ++r.a;
            ++r.b;
            --r.n;
        }
        const Range first{r.a, r.b, 1, r.exact};
        ++r.a;
        ++r.b;
        if (--r.n == 0) {
            if (depth_ > kInline) {
                more_.pop_back();
            }
            --depth_;
        }
        return first;
    }
    // Memory that lives as long as the list.
    Term* scratch(size_t n) {
        scratch_.push_back(std::make_unique<Term[]>(n));
        return scratch_.back().get();
    }

private:
    static constexpr size_t kInline = 24;
    size_t depth_ = 0;
    Range inline_[kInline];
    std::vector<Range> more_;
    std::vector<std::unique_ptr<Term[]>> scratch_;
};

template <typename T>
int three_way(T a, T b) {
    return a < b ? -1 : a > b ? 1 : 0;
}

// The first of n places where the words differ, or n.
size_t first_difference(const Term* a, const Term* b, size_t n) {
    size_t i = 0;
    while (i < n && a[i] == b[i]) {
        ++i;
    }
    return i;
}

// Place of each type in the term order.
enum Rank : int {
    kRankNumber,
    kRankAtom,
    kRankReference,
    kRankFun,
    kRankPort,
    kRankPid,
    kRankTuple,
    kRankRecord,
    kRankMap,
    kRankNil,
    kRankList,
    kRankBits
};

Rank rank_of(Term t) {
    if (is_cons(t)) {
        return kRankList;
    }
    if (is_boxed(t)) {
        switch (kind_of(t)) {
            case Kind::tuple:
                return kRankTuple;
            case Kind::pos_big:
            case Kind::neg_big:
            case Kind::float64:
                return kRankNumber;
            case Kind::heap_bits:
            case Kind::sub_bits:
            case Kind::bin_ref:
            case Kind::match_context:
                return kRankBits;
            case Kind::fun:
            case Kind::export_fun:
                return kRankFun;
            case Kind::ref:
            case Kind::magic_ref:
            case Kind::ext_ref:
                return kRankReference;
            case Kind::ext_pid:
                return kRankPid;
            case Kind::ext_port:
                return kRankPort;
            case Kind::flat_map:
            case Kind::hash_map:
            case Kind::map_node:
            case Kind::map_collision:
                return kRankMap;
            case Kind::record:
                return kRankRecord;
        }
    }
    if (is_small(t) || is_imm_float(t)) {
        return kRankNumber;
    }
    if (is_atom(t)) {
        return kRankAtom;
    }
    if (is_nil(t)) {
        return kRankNil;
    }
    if (is_local_pid(t)) {
        return kRankPid;
    }
    MINIVM_CHECK(is_local_port(t));
    return kRankPort;
}

int compare_floats(double a, double b, bool exact) {
    if (a == b && exact && !by_release::zeros_are_equal()) {
        return three_way<int>(std::signbit(b),
                              std::signbit(a));  // only the zeros differ: -0.0 first
    }
    return three_way(a, b);
}

int compare_numbers(Term a, Term b, bool exact) {
    const bool float_a = is_float(a);
    const bool float_b = is_float(b);
    if (float_a && float_b) {
        return compare_floats(float_value(a), float_value(b), exact);
    }
    if (!float_a && !float_b) {
        return bignum::compare(a, b);
    }
    if (exact) {
        return float_a ? 1 : -1;  // in the order of map keys every integer comes before every float
    }
    return float_a ? -bignum::compare_with_double(b, float_value(a))
                   : bignum::compare_with_double(a, float_value(b));
}

int compare_nodes(Node a, Node b) {
    const int c = atom_table::compare(a.name, b.name);
    return c != 0 ? c : three_way(a.creation, b.creation);
}

int compare_pids(Term a, Term b) {
    struct Pid {
        uint64_t number;
        uint64_t serial;
        Node node;
        explicit Pid(Term t) {
            if (is_local_pid(t)) {
                number = pid_number(t);
                serial = pid_serial(t);
                node = this_node();
            } else {
                const Term* p = boxed_ptr(t);
                number = p[2].raw;
                serial = p[3].raw;
                node = {p[1], static_cast<uint32_t>(p[4].raw)};
            }
        }
    };
    const Pid x(a);
    const Pid y(b);
    if (const int c = three_way(x.serial, y.serial); c != 0) {
        return c;
    }
    const int c = three_way(x.number, y.number);
    return c != 0 ? c : compare_nodes(x.node, y.node);
}

int compare_ports(Term a, Term b) {
    const auto number = [](Term t) { return is_local_port(t) ? imm_data(t) : boxed_ptr(t)[2].raw; };
    const auto node = [](Term t) {
        return is_local_port(t) ? this_node() : Node{boxed_ptr(t)[1], static_cast<uint32_t>(boxed_ptr(t)[3].raw)};
    };
    const int c = compare_nodes(node(a), node(b));
    return c != 0 ? c : three_way(number(a), number(b));
}

// The 32-bit words of a reference, word 0 first; missing ones count as 0.
struct RefWords {
    Node node;
    size_t count;
    uint32_t local[3];
    const uint32_t* words;

    explicit RefWords(Term t) {
        if (is_local_ref(t)) {
            const RefId id = ref_id(t);
            node = this_node();
            count = 3;
            local[0] = static_cast<uint32_t>(id.low);
            local[1] = static_cast<uint32_t>(id.low >> 32);
            local[2] = id.high;
            words = local;
        } else {
            const Term* p = boxed_ptr(t);
            node = {p[1], static_cast<uint32_t>(p[2].raw)};
            count = p[3].raw;
            words = reinterpret_cast<const uint32_t*>(p + 4);
        }
    }
    uint32_t word(size_t i) const { return i < count ? words[i] : 0; }
};

int compare_refs(Term a, Term b) {
    const RefWords x(a);
    const RefWords y(b);
    if (const int c = compare_nodes(x.node, y.node); c != 0) {
        return c;
    }
    for (size_t i = std::max(x.count, y.count); i-- > 0;) {
        if (const int c = three_way(x.word(i), y.word(i)); c != 0) {
            return c;
        }
    }
    return 0;
}

int compare_exports(const Export* one, const Export* other) {
    if (one == other) {
        return 0;
    }
    const FunctionName a = name_of(one);
    const FunctionName b = name_of(other);
    if (const int c = atom_table::compare(a.module, b.module); c != 0) {
        return c;
    }
    const int c = atom_table::compare(a.function, b.function);
    return c != 0 ? c : three_way(a.arity, b.arity);
}

// All but the free variables.
int compare_fun_entries(const FunEntry* one, const FunEntry* other) {
    if (one == other) {
        return 0;
    }
    const LambdaName a = name_of(one);
    const LambdaName b = name_of(other);
    if (const int c = atom_table::compare(a.module, b.module); c != 0) {
        return c;
    }
    if (const int c = three_way(a.index, b.index); c != 0) {
        return c;
    }
    return three_way(a.old_uniq, b.old_uniq);
}

// Puts the pairs of a map at out: n keys in exact order, then their values.
void sorted_pairs(Term map, size_t n, Term* out) {
    struct Pair {
        Term key;
        Term value;
    };
    std::vector<Pair> pairs;
    pairs.reserve(n);
    map::Iterator it(map);
    for (Pair p; it.next(&p.key, &p.value);) {
        pairs.push_back(p);
    }
    MINIVM_CHECK(pairs.size() == n);
    std::sort(pairs.begin(), pairs.end(),
              [](const Pair& x, const Pair& y) { return compare_terms_exact(x.key, y.key) < 0; });
    for (size_t i = 0; i < n; ++i) {
        out[i] = pairs[i].key;
        out[n + i] = pairs[i].value;
    }
}

bool has_keys_in_term_order(Term flat) {
    const Term* const keys = tuple_elements(boxed_ptr(flat)[1]);
    for (size_t i = 1; i < map_size(flat); ++i) {
        if (is_atom(keys[i - 1]) && is_atom(keys[i]) && atom_table::compare(keys[i - 1], keys[i]) > 0) {
            return false;
        }
    }
    return true;
}

// Sizes have been found equal. Values come after all keys, so they go on the work list first.
void push_maps(WorkList& work, Term a, Term b, bool exact) {
    const size_t n = map_size(a);
    if (is_flat_map(a) && (!by_release::atom_keys_have_numbers() || (has_keys_in_term_order(a) && has_keys_in_term_order(b)))) {
        work.push(boxed_ptr(a) + 2, boxed_ptr(b) + 2, n, exact);
        const Term keys_a = boxed_ptr(a)[1];
        const Term keys_b = boxed_ptr(b)[1];
        if (keys_a != keys_b) {
            work.push(tuple_elements(keys_a), tuple_elements(keys_b), n, true);
        }
        return;
    }
    Term* pairs_a = work.scratch(2 * n);
    Term* pairs_b = work.scratch(2 * n);
    sorted_pairs(a, n, pairs_a);
    sorted_pairs(b, n, pairs_b);
    work.push(pairs_a + n, pairs_b + n, n, exact);
    work.push(pairs_a, pairs_b, n, true);
}

int compare_any(Term a, Term b, bool exact) {
    if (a == b) {
        return 0;
    }
    if (is_boxed(a) && is_boxed(b) && is_bitstring(a) && is_bitstring(b)) {  // keys, often
        return compare_bits(bit_view(a), bit_view(b));
    }
    WorkList work;
    for (;;) {
        while (a != b) {
            if (both_small(a, b)) {
                return small_value(a) < small_value(b) ? -1 : 1;
            }
            if (is_cons(a) && is_cons(b)) {
                // Elements that are the same word, the usual case in strings, need no work list.
                const Term x = head(a);
                const Term y = head(b);
                if (x == y) {
                    a = tail(a);
                    b = tail(b);
                    continue;
                }
                if (both_small(x, y)) {
                    return small_value(x) < small_value(y) ? -1 : 1;
                }
                work.push(cons_ptr(a) + 1, cons_ptr(b) + 1, 1, exact);
                a = x;
                b = y;
                continue;
            }
            if (is_imm_float(a) && is_imm_float(b)) {
                const int c = compare_floats(imm_float_value(a), imm_float_value(b), exact);
                if (c != 0) {
                    return c;
                }
                break;
            }
            Rank rank_a = kRankTuple;
            if (!is_tuple(a) || !is_tuple(b)) {
                rank_a = rank_of(a);
                const Rank rank_b = rank_of(b);
                if (rank_a != rank_b) {
                    return rank_a < rank_b ? -1 : 1;
                }
            }
            int c = 0;
            switch (rank_a) {
                case kRankNumber:
                    c = compare_numbers(a, b, exact);
                    break;
                case kRankAtom:
                    c = atom_table::compare(a, b);
                    break;
                case kRankReference:
                    c = compare_refs(a, b);
                    break;
                case kRankFun:
                    if (is_export_fun(a) || is_export_fun(b)) {
                        c = !is_export_fun(a) ? -1
                            : !is_export_fun(b)
                                ? 1
                                : compare_exports(export_fun_entry(a), export_fun_entry(b));
                    } else {
                        c = compare_fun_entries(fun_entry(a), fun_entry(b));
                        if (c == 0) {
                            c = three_way(fun_free_count(a), fun_free_count(b));
                        }
                        if (c == 0) {
                            work.push(fun_free_variables(a), fun_free_variables(b),
                                      fun_free_count(a), exact);
                        }
                    }
                    break;
                case kRankPort:
                    c = compare_ports(a, b);
                    break;
                case kRankPid:
                    c = compare_pids(a, b);
                    break;
                case kRankTuple:
                    c = three_way(tuple_arity(a), tuple_arity(b));
                    if (c == 0) {
                        const Term* x = tuple_elements(a);
                        const Term* y = tuple_elements(b);
                        const size_t n = tuple_arity(a);
                        const size_t i = first_difference(x, y, n);
                        if (i < n) {
                            if (both_small(x[i], y[i])) {
                                return small_value(x[i]) < small_value(y[i]) ? -1 : 1;
                            }
                            work.push(x + i + 1, y + i + 1, n - i - 1, exact);
                            a = x[i];
                            b = y[i];
                            continue;
                        }
                    }
                    break;
                case kRankRecord:
                    c = native_record::compare_definitions(a, b);
                    if (c == 0) {
                        work.push(native_record::values(a), native_record::values(b),
                                  native_record::field_count(a), exact);
                    }
                    break;
                case kRankMap:
                    c = three_way(map_size(a), map_size(b));
                    if (c == 0) {
                        push_maps(work, a, b, exact);
                    }
                    break;
                case kRankNil:
                    break;
                case kRankList:
                    MINIVM_CHECK(false);  // seen to above
                    break;
                case kRankBits:
                    c = compare_bits(bit_view(a), bit_view(b));
                    break;
            }
            if (c != 0) {
                return c < 0 ? -1 : 1;
            }
            break;  // equal as far as this term itself goes
        }
        if (work.empty()) {
            return 0;
        }
        const Range next = work.next();
        a = *next.a;
        b = *next.b;
        exact = next.exact;
    }
}

template <typename Word>
bool equal_at(const uint8_t* a, const uint8_t* b) {
    Word x;
    Word y;
    std::memcpy(&x, a, sizeof x);
    std::memcpy(&y, b, sizeof y);
    return x == y;
}
// Keys are short: words of them, of which the last two may overlap.
bool equal_bytes(const uint8_t* a, const uint8_t* b, size_t n) {
    constexpr size_t kShort = 64;
    if (n > kShort) {
        return std::memcmp(a, b, n) == 0;
    }
    if (n >= 8) {
        for (size_t i = 0; i + 8 < n; i += 8) {
            if (!equal_at<uint64_t>(a + i, b + i)) {
                return false;
            }
        }
        return equal_at<uint64_t>(a + n - 8, b + n - 8);
    }
    if (n >= 4) {
        return equal_at<uint32_t>(a, b) && equal_at<uint32_t>(a + n - 4, b + n - 4);
    }
    return n == 0 || (a[0] == b[0] && a[n / 2] == b[n / 2] && a[n - 1] == b[n - 1]);
}
bool equal_bits(Term a, Term b) {
    const BitView x = bit_view(a);
    const BitView y = bit_view(b);
    if (x.size != y.size) {
        return false;
    }
    if (MINIVM_LIKELY(((x.offset | y.offset | x.size) & 7) == 0)) {
        return equal_bytes(x.first_byte(), y.first_byte(), x.size / 8);
    }
    return compare_bits(x, y) == 0;
}

}  // namespace

bool exact_equal_slow(Term a, Term b) {
    if (is_boxed(a) && is_bitstring(a)) {
        return is_boxed(b) && is_bitstring(b) && equal_bits(a, b);
    }
    WorkList work;
    for (;;) {
        while (a != b) {
            if (!is_pointer(a) || !is_pointer(b)) {
                if (are_equal_zeros(a, b)) {
                    break;
                }
                return false;
            }
            if (is_cons(a)) {
                if (!is_cons(b)) {
                    return false;
                }
                const Term x = head(a);
                const Term y = head(b);
                if (x != y && !are_equal_zeros(x, y)) {
                    if (!is_pointer(x) || !is_pointer(y)) {
                        return false;
                    }
                    work.push(cons_ptr(a) + 1, cons_ptr(b) + 1, 1, true);
                    a = x;
                    b = y;
                } else {
                    a = tail(a);
                    b = tail(b);
                }
                continue;
            }
            if (!is_boxed(b)) {
                return false;
            }
            const Word header = header_of(a);
            const Kind kind = header_kind(header);
            switch (kind) {
                case Kind::tuple: {
                    if (header_of(b) != header) {
                        return false;
                    }
                    const Term* x = tuple_elements(a);
                    const Term* y = tuple_elements(b);
                    const size_t n = tuple_arity(a);
                    const size_t i = first_difference(x, y, n);
                    if (i == n) {
                        break;
                    }
                    a = x[i];
                    b = y[i];
                    if ((!is_pointer(a) || !is_pointer(b)) && !are_equal_zeros(a, b)) {
                        return false;
                    }
                    work.push(x + i + 1, y + i + 1, n - i - 1, true);
                    continue;
                }
                case Kind::pos_big:
                case Kind::neg_big:
                case Kind::float64:
                case Kind::ext_pid:
                case Kind::ext_port:
                case Kind::export_fun:
                    if (header_of(b) != header ||
                        !std::equal(boxed_ptr(a) + 1, boxed_ptr(a) + 1 + header_arity(header),
                                    boxed_ptr(b) + 1)) {
                        return false;
                    }
                    break;
                case Kind::heap_bits:
                case Kind::sub_bits:
                    if (!is_bitstring(b) || !equal_bits(a, b)) {
                        return false;
                    }
                    break;
                case Kind::ref:
                case Kind::magic_ref:
                    if (!is_local_ref(b) || ref_id(a) != ref_id(b)) {
                        return false;
                    }
                    break;
                case Kind::ext_ref:
                    if (kind_of(b) != Kind::ext_ref || compare_refs(a, b) != 0) {
                        return false;
                    }
                    break;
                case Kind::fun:
                    if (header_of(b) != header || fun_entry(a) != fun_entry(b)) {
                        return false;
                    }
                    work.push(fun_free_variables(a), fun_free_variables(b), fun_free_count(a),
                              true);
                    break;
                case Kind::record:
                    if (header_of(b) != header) {
                        return false;
                    }
                    work.push(boxed_ptr(a) + 1, boxed_ptr(b) + 1, header_arity(header), true);
                    break;
                case Kind::flat_map:
                    if (header_of(b) != header) {
                        return false;
                    }
                    work.push(boxed_ptr(a) + 2, boxed_ptr(b) + 2, map_size(a), true);
                    work.push(boxed_ptr(a) + 1, boxed_ptr(b) + 1, 1, true);
                    break;
                // Maps of the same keys are tries of the same shape, so no key is looked up.
                case Kind::hash_map:
                    if (header_of(b) != header || map_size(a) != map_size(b)) {
                        return false;
                    }
                    a = map::root_of(a);
                    b = map::root_of(b);
                    continue;
                case Kind::map_node:
                    if (header_of(b) != header || map::bitmap_of(boxed_ptr(a)) != map::bitmap_of(boxed_ptr(b))) {
                        return false;
                    }
                    work.push(boxed_ptr(a) + map::kNodeWords, boxed_ptr(b) + map::kNodeWords, map::children_of(boxed_ptr(a)),
                              true);
                    break;
                case Kind::map_collision: {  // in any order
                    if (header_of(b) != header) {
                        return false;
                    }
                    const Term* x = boxed_ptr(a) + 1;
                    const Term* y = boxed_ptr(b) + 1;
                    const size_t n = map::collision_pairs(boxed_ptr(a));
                    Term* values = work.scratch(2 * n);
                    for (size_t i = 0; i < n; ++i) {
                        size_t at = 0;
                        while (at < n && !exact_equal(x[2 * i], y[2 * at])) {
                            ++at;
                        }
                        if (at == n) {
                            return false;
                        }
                        values[i] = x[2 * i + 1];
                        values[n + i] = y[2 * at + 1];
                    }
                    work.push(values, values + n, n, true);
                    break;
                }
                case Kind::bin_ref:
                case Kind::match_context:
                    return false;  // no terms of their own
            }
            break;
        }
        if (work.empty()) {
            return true;
        }
        const Range next = work.next();
        a = *next.a;
        b = *next.b;
    }
}

int compare_terms(Term a, Term b) {
    return compare_any(a, b, false);
}

int compare_terms_exact(Term a, Term b) {
    return compare_any(a, b, true);
}

}  // namespace minivm
