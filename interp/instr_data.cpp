// Lists, tuples, funs.
#include "interp/handlers.hpp"

namespace minivm::interp {

#define EXPECT(name, condition)                     \
    template <K S>                                  \
    void name##_kind(ARGS) {                        \
        constexpr Op kOp = Op::name;                \
        const Term t = src_at<kOp, 0, S>(pc, E, s); \
        if (MINIVM_LIKELY(condition)) {             \
            NEXT_OP_KINDS(S);                       \
        }                                           \
        TAIL(generic<kOp>);                         \
    }                                               \
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

Handler select_data(Op op, const K* k) {
    const auto i = [&](int n) { return static_cast<int>(k[n]); };
    switch (op) {
#define PICK_EXPECT(name)                         \
    case Op::name:                                \
        return k[0] == K::X   ? name##_kind<K::X> \
               : k[0] == K::Y ? name##_kind<K::Y> \
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
#define PICK_SD(name, dst)                                                                             \
    case Op::name: {                                                                                   \
        if (k[0] == K::C) {                                                                            \
            return nullptr;                                                                            \
        }                                                                                              \
        static constexpr Handler table[2][2] = {{name##_kinds<K::X, K::X>, name##_kinds<K::X, K::Y>},  \
                                                {name##_kinds<K::Y, K::X>, name##_kinds<K::Y, K::Y>}}; \
        return table[i(0)][i(dst)];                                                                    \
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
