// Lists, tuples, records, funs, maps.
#include "interp/handlers.hpp"
#include "vm/process/exception.hpp"
#include "vm/process/outcome.hpp"
#include "vm/semantics/native_record.hpp"
#include "vm/term/map.hpp"
#include "vm/util/scratch.hpp"

namespace minivm::interp {

template <Op kOp>
static void raise_unexpected(ARGS) {
    Process& p = *s->process;
    ENTER_RUNTIME(p);
    raise_tagged(p, atoms::badmatch, SRC(0));
    LEAVE_RUNTIME(p);
    TAIL(slow_raise);
}
#define EXPECT(name, condition)                             \
    template <K S>                                          \
    void name##_kind(ARGS) {                                \
        constexpr Op kOp = Op::name;                        \
        const Term t = src_at<kOp, 0, S>(pc, E, s);         \
        if (MINIVM_LIKELY(condition)) {                     \
            NEXT_OP_KINDS(S);                               \
        }                                                   \
        TAIL(raise_unexpected<kOp>);                        \
    }                                                       \
    void h_##name(ARGS) { TAIL(name##_kind<K::S>); }
EXPECT(expect_cons, is_cons(t))
EXPECT(expect_tuple, is_tuple(t) && tuple_arity(t) >= WORD(1))
EXPECT(expect_float, is_float(t))

template <K S, K H, K T>
void get_list_kinds(ARGS) {
    constexpr Op kOp = Op::get_list;
    const Term* cell = cons_ptr(src_at<kOp, 0, S>(pc, E, s));
    const Term hd = cell[0];
    const Term tl = cell[1];
    *dst_at<kOp, 1, H>(pc, E, s) = hd;
    *dst_at<kOp, 2, T>(pc, E, s) = tl;
    NEXT_OP_KINDS(S);
}
void h_get_list(ARGS) { TAIL((get_list_kinds<K::S, K::S, K::S>)); }

template <K S, K D>
void get_hd_kinds(ARGS) {
    constexpr Op kOp = Op::get_hd;
    *dst_at<kOp, 1, D>(pc, E, s) = head(src_at<kOp, 0, S>(pc, E, s));
    NEXT_OP_KINDS(S);
}
void h_get_hd(ARGS) { TAIL((get_hd_kinds<K::S, K::S>)); }
template <K S, K D>
void get_tl_kinds(ARGS) {
    constexpr Op kOp = Op::get_tl;
    *dst_at<kOp, 1, D>(pc, E, s) = tail(src_at<kOp, 0, S>(pc, E, s));
    NEXT_OP_KINDS(S);
}
void h_get_tl(ARGS) { TAIL((get_tl_kinds<K::S, K::S>)); }

template <K H, K T, K D>
void put_list_kinds(ARGS) {
    constexpr Op kOp = Op::put_list;
    const Term cell = put_cons(htop, source<kOp, 0, H, 0>(pc, E, s),
                               source<kOp, 1, T, (H == K::C)>(pc, E, s));
    htop += kConsWords;
    *dst_at<kOp, 2, D>(pc, E, s) = cell;
    NEXT_OP_KINDS(H, T);
}
void h_put_list(ARGS) { TAIL((put_list_kinds<K::S, K::S, K::S>)); }

template <K S, K D>
void get_tuple_element_kinds(ARGS) {
    constexpr Op kOp = Op::get_tuple_element;
    *dst_at<kOp, 2, D>(pc, E, s) = tuple_element(src_at<kOp, 0, S>(pc, E, s), WORD(1));
    NEXT_OP_KINDS(S);
}
void h_get_tuple_element(ARGS) { TAIL((get_tuple_element_kinds<K::S, K::S>)); }

HANDLER(set_tuple_element) {
    tuple_elements(SRC(1))[WORD(2)] = SRC(0);
    NEXT_OP();
}
HANDLER(put_tuple2) {
    const Word n = LIST_COUNT();
    const Word* list = LIST();
    Term* p = htop;
    p[0] = Term{make_header(Kind::tuple, n)};
    for (Word i = 0; i < n; ++i) {
        p[i + 1] = list_value(list[i], E, s);
    }
    htop += n + 1;
    DST(0) = make_boxed(p);
    NEXT(fixed_words(kOp) + n);
}
HANDLER(update_record) {
    const Word arity = WORD(1);
    const Word n = LIST_COUNT();
    const Word* list = LIST();
    if (MINIVM_UNLIKELY(reinterpret_cast<char*>(E) - reinterpret_cast<char*>(htop) <
                        static_cast<ptrdiff_t>((arity + 1 + kReserveWords) * sizeof(Term)))) {
        COLLECT(LIVE(), arity + 1);
    }
    const Term* from = boxed_ptr(SRC(2));
    Term* p = htop;
    p[0] = Term{make_header(Kind::tuple, arity)};  // Src may have more
    for (Word i = 1; i <= arity; ++i) {
        p[i] = from[i];
    }
    for (Word i = 0; i < n; i += 2) {
        p[list[i]] = list_value(list[i + 1], E, s);
    }
    htop += arity + 1;
    DST(3) = make_boxed(p);
    NEXT_OP();
}
HANDLER(make_fun) {
    FunEntry* fe = reinterpret_cast<FunEntry*>(WORD(0));
    const Word n = LIST_COUNT();
    const Word* list = LIST();
    Term* p = htop;
    p[0] = Term{make_header(Kind::fun, n + 2)};
    p[1] = Term{reinterpret_cast<Word>(fe)};
    p[2] = s->process->id;
    for (Word i = 0; i < n; ++i) {
        p[kFunFixedWords + i] = list_value(list[i], E, s);
    }
    htop += kFunFixedWords + n;
    DST(1) = make_boxed(p);
    NEXT(fixed_words(kOp) + n);
}

// ---- maps --------------------------------------------------------------------------------------------

HANDLER(new_flat_map) {
    const Word n = LIST_COUNT();
    const Word* list = LIST();
    if (MINIVM_UNLIKELY(reinterpret_cast<char*>(E) - reinterpret_cast<char*>(htop) <
                        static_cast<ptrdiff_t>((n + 2 + kReserveWords) * sizeof(Term)))) {
        COLLECT(LIVE(), n + 2);
    }
    Term* p = htop;
    p[0] = Term{make_header(Kind::flat_map, n + 1)};
    p[1] = Term{WORD(0)};
    for (Word i = 0; i < n; ++i) {
        p[i + 2] = list_value(list[i], E, s);
    }
    htop += n + 2;
    DST(1) = make_boxed(p);
    NEXT_OP();
}

// These hold arrays of their own, so they are no handlers: a handler must not have locals whose address
// escapes, or its last call would not become a jump.
static MINIVM_NOINLINE Term do_put_map(Process& p, Term m, const Word* list, Word n, bool exact,
                                       Scheduler* s) {
    Scratch<Term, 64> scratch(n);
    Term* const pairs = scratch.data();
    for (Word i = 0; i < n; ++i) {
        pairs[i] = list_value(list[i], p.heap.end, s);
    }
    if (MINIVM_UNLIKELY(!is_map(m))) {
        return badmap(p, m);
    }
    if (!exact) {
        return map::update_assoc(p.heap, m, pairs, n / 2);
    }
    Term missing = kNonValue;
    Term r = map::update_exact(p.heap, m, pairs, n / 2, &missing);
    return is_value(r) ? r : badkey(p, missing);
}

// To operand 2: the result of a meaning that may have left fragments.
#define PUT_RESULT(meaning)                                                  \
    do {                                                                     \
        Process& p = *s->process;                                            \
        ENTER_RUNTIME(p);                                                    \
        Term r = (meaning);                                                  \
        if (is_value(r) && p.needs_gc()) {                                   \
            r = collect_result_gc(s, LIVE(), r);                             \
        }                                                                    \
        LEAVE_RUNTIME(p);                                                    \
        if (MINIVM_UNLIKELY(!is_value(r))) {                                 \
            FAIL_OR_RAISE(p);                                                \
        }                                                                    \
        DST(2) = r;                                                          \
        NEXT_OP();                                                           \
    } while (0)

HANDLER(put_map_assoc) {
    PUT_RESULT(do_put_map(p, SRC(1), LIST(), LIST_COUNT(), false, s));
}
HANDLER(put_map_exact) {
    PUT_RESULT(do_put_map(p, SRC(1), LIST(), LIST_COUNT(), true, s));
}
// Values of keys in a map. Immediates in a flat map are found by word, and the next one mostly lies
// behind the last (loader/lower.cpp).
struct NextKeys {
    Term map;
    Word at = 0;  // in a flat map
    Term fetch(Term key) {
        if (!is_immediate(key) || !is_flat_map(map)) {
            return map::get(map, key);
        }
        const Term* p = boxed_ptr(map);
        const Word n = header_arity(p->raw) - 1;
        const Term* keys = tuple_elements(p[1]);
        const Word first = at;
        while (at < n) {
            if (keys[at++] == key) {
                return p[1 + at];
            }
        }
        for (at = 0; at < first;) {
            if (keys[at++] == key) {
                return p[1 + at];
            }
        }
        return kNonValue;
    }
};
HANDLER(has_map_fields) {
    NextKeys map{SRC(1)};
    const Word n = LIST_COUNT();
    const Word* list = LIST();
    for (Word i = 0; i < n; ++i) {
        if (!is_value(map.fetch(list_value(list[i], E, s)))) {
            JUMP();
        }
    }
    NEXT_OP();
}
HANDLER(get_map_elements) {
    NextKeys map{SRC(1)};
    const Word n = LIST_COUNT();
    const Word* list = LIST();
    for (Word i = 0; i < n; i += 2) {
        const Term v = map.fetch(list_value(list[i], E, s));
        if (!is_value(v)) {
            JUMP();
        }
        *list_reg(list[i + 1], E, s) = v;
    }
    NEXT_OP();
}

// ---- native records ----------------------------------------------------------------------------------

HANDLER(is_native_record) {
    if (!is_native_record(SRC(1))) {
        JUMP();
    }
    NEXT_OP();
}
HANDLER(is_native_record_of) {
    if (!semantics::is_native_record_of(SRC(1), Term{WORD(2)}, Term{WORD(3)})) {
        JUMP();
    }
    NEXT_OP();
}
HANDLER(is_record_accessible) {
    if (!semantics::is_record_accessible(SRC(1), Term{WORD(2)})) {
        JUMP();
    }
    NEXT_OP();
}
HANDLER(get_record_elements) {
    const Term record = SRC(1);
    const Word n = LIST_COUNT();
    const Word* list = LIST();
    for (Word i = 0; i < n; i += 2) {
        const Term v = semantics::record_element(record, list_value(list[i], E, s));
        if (!is_value(v)) {
            JUMP();
        }
        *list_reg(list[i + 1], E, s) = v;
    }
    NEXT_OP();
}
// Not inlined for the array, as do_put_map.
static MINIVM_NOINLINE Term do_put_record(Process& p, bool is_new, Term from, const Word* list, Word n,
                                          Scheduler* s) {
    Scratch<Term, 64> scratch(n);
    Term* const pairs = scratch.data();
    for (Word i = 0; i < n; ++i) {
        pairs[i] = list_value(list[i], p.heap.end, s);
    }
    return is_new ? semantics::new_native_record(p, from, pairs, n / 2, s->code_ix)
                  : semantics::update_native_record(p, from, pairs, n / 2);
}
HANDLER(get_record_field) {
    Process& p = *s->process;
    ENTER_RUNTIME(p);
    const Term r = semantics::get_record_field(p, SRC(1), Term{WORD(2)}, Term{WORD(3)});
    LEAVE_RUNTIME(p);
    if (MINIVM_UNLIKELY(!is_value(r))) {
        FAIL_OR_RAISE(p);
    }
    DST(4) = r;
    NEXT_OP();
}
HANDLER(new_native_record) {
    PUT_RESULT(do_put_record(p, true, Term{WORD(1)}, LIST(), LIST_COUNT(), s));
}
HANDLER(update_native_record) {
    PUT_RESULT(do_put_record(p, false, SRC(1), LIST(), LIST_COUNT(), s));
}

Handler select_data(Op op, const K* k) {
    const auto i = [&](int n) { return static_cast<int>(k[n]); };
    switch (op) {
#define PICK_EXPECT(name)                                  \
    case Op::name:                                         \
        return k[0] == K::X   ? name##_kind<K::X>          \
               : k[0] == K::Y ? name##_kind<K::Y>          \
                              : nullptr;
            PICK_EXPECT(expect_cons)
            PICK_EXPECT(expect_tuple)
            PICK_EXPECT(expect_float)
        case Op::get_list: {
            if (k[0] == K::C) {
                return nullptr;
            }
            static constexpr Handler table[2][2][2] = {
                {{get_list_kinds<K::X, K::X, K::X>, get_list_kinds<K::X, K::X, K::Y>},
                 {get_list_kinds<K::X, K::Y, K::X>, get_list_kinds<K::X, K::Y, K::Y>}},
                {{get_list_kinds<K::Y, K::X, K::X>, get_list_kinds<K::Y, K::X, K::Y>},
                 {get_list_kinds<K::Y, K::Y, K::X>, get_list_kinds<K::Y, K::Y, K::Y>}}};
            return table[i(0)][i(1)][i(2)];
        }
#define PICK_SD(name, dst)                                                                    \
    case Op::name: {                                                                          \
        if (k[0] == K::C) {                                                                   \
            return nullptr;                                                                   \
        }                                                                                     \
        static constexpr Handler table[2][2] = {{name##_kinds<K::X, K::X>, name##_kinds<K::X, K::Y>}, \
                                                {name##_kinds<K::Y, K::X>, name##_kinds<K::Y, K::Y>}}; \
        return table[i(0)][i(dst)];                                                           \
    }
            PICK_SD(get_hd, 1)
            PICK_SD(get_tl, 1)
            PICK_SD(get_tuple_element, 2)
        case Op::put_list: {
            static constexpr Handler table[3][3][2] = {
                {{put_list_kinds<K::X, K::X, K::X>, put_list_kinds<K::X, K::X, K::Y>},
                 {put_list_kinds<K::X, K::Y, K::X>, put_list_kinds<K::X, K::Y, K::Y>},
                 {put_list_kinds<K::X, K::C, K::X>, put_list_kinds<K::X, K::C, K::Y>}},
                {{put_list_kinds<K::Y, K::X, K::X>, put_list_kinds<K::Y, K::X, K::Y>},
                 {put_list_kinds<K::Y, K::Y, K::X>, put_list_kinds<K::Y, K::Y, K::Y>},
                 {put_list_kinds<K::Y, K::C, K::X>, put_list_kinds<K::Y, K::C, K::Y>}},
                {{put_list_kinds<K::C, K::X, K::X>, put_list_kinds<K::C, K::X, K::Y>},
                 {put_list_kinds<K::C, K::Y, K::X>, put_list_kinds<K::C, K::Y, K::Y>},
                 {put_list_kinds<K::C, K::C, K::X>, put_list_kinds<K::C, K::C, K::Y>}}};
            return table[i(0)][i(1)][i(2)];
        }
        default:
            return nullptr;
    }
}

}  // namespace minivm::interp
