// Fused instructions: pairs and triples that are frequent in real code (docs/interpreter.md has the table).
// pack.cpp lays them out; only their first part can be a jump target. Only the interpreter has them.
//
//   move2, move3     word 0: source, destination; word 1: the others
//   move_call...     word 0: source, frame words; word 1: label
//   ..._return       word 0: source, frame words
//   get_elements2    word 0: tuple, destination; word 1: destination, first index, second index
// A constant source is the word after the fixed ones.
#include "interp/fused.hpp"
#include "interp/handlers.hpp"

namespace minivm::interp {
namespace {

inline uint32_t slot16(const Word* pc, int word, int shift) {
    return static_cast<uint16_t>(pc[word] >> shift);
}
template <K Kind>
inline Term* reg(uint32_t slot, Term* E, Scheduler* s) {
    if constexpr (Kind == K::X) {
        return reinterpret_cast<Term*>(reinterpret_cast<char*>(s->x) + slot);
    } else {
        return reinterpret_cast<Term*>(reinterpret_cast<char*>(E) + (slot - kSlotY));
    }
}
// The source in slot 0 of word 0; a constant follows the `fixed` words.
template <K Kind>
inline Term first_source(const Word* pc, int fixed, Term* E, Scheduler* s) {
    if constexpr (Kind == K::C) {
        return Term{pc[fixed]};
    } else {
        return *reg<Kind>(slot16(pc, 0, 32), E, s);
    }
}

template <K S1, K D1, K S2, K D2>
void move2(ARGS) {
    *reg<D1>(slot16(pc, 0, 48), E, s) = *reg<S1>(slot16(pc, 0, 32), E, s);
    *reg<D2>(slot16(pc, 1, 16), E, s) = *reg<S2>(slot16(pc, 1, 0), E, s);
    NEXT(2);
}
template <K S1, K D1, K S2, K D2, K S3, K D3>
void move3(ARGS) {
    *reg<D1>(slot16(pc, 0, 48), E, s) = *reg<S1>(slot16(pc, 0, 32), E, s);
    *reg<D2>(slot16(pc, 1, 16), E, s) = *reg<S2>(slot16(pc, 1, 0), E, s);
    *reg<D3>(slot16(pc, 1, 48), E, s) = *reg<S3>(slot16(pc, 1, 32), E, s);
    NEXT(2);
}

template <K S>
void move_call(ARGS) {
    constexpr int kSize = S == K::C ? 3 : 2;
    s->x[0] = first_source<S>(pc, 2, E, s);
    *--E = return_address(pc + kSize);
    const Word* target = pc + label_at(pc);
    ENTER(target, entry_arity(target));
}
template <K S>
void move_call_only(ARGS) {
    s->x[0] = first_source<S>(pc, 2, E, s);
    const Word* target = pc + label_at(pc);
    ENTER(target, entry_arity(target));
}
template <K S>
void move_call_last(ARGS) {
    s->x[0] = first_source<S>(pc, 2, E, s);
    E += slot16(pc, 0, 48);
    const Word* target = pc + label_at(pc);
    ENTER(target, entry_arity(target));
}
template <K S>
void move_return(ARGS) {
    s->x[0] = first_source<S>(pc, 1, E, s);
    pc = return_target(*E);
    ++E;
    DISPATCH();
}
template <K S>
void move_deallocate_return(ARGS) {
    s->x[0] = first_source<S>(pc, 1, E, s);
    E += slot16(pc, 0, 48);
    pc = return_target(*E);
    ++E;
    DISPATCH();
}

template <K T, K D1, K D2>
void get_elements2(ARGS) {
    const Term* elements = tuple_elements(*reg<T>(slot16(pc, 0, 32), E, s));
    const Term a = elements[slot16(pc, 1, 16)];
    const Term b = elements[slot16(pc, 1, 32)];
    *reg<D1>(slot16(pc, 0, 48), E, s) = a;
    *reg<D2>(slot16(pc, 1, 0), E, s) = b;
    NEXT(2);
}

constexpr K kind_bit(int bits, int n) { return (bits >> n) & 1 ? K::Y : K::X; }

template <int... B>
constexpr auto move2_table(std::integer_sequence<int, B...>) {
    return std::array<Handler, sizeof...(B)>{
        move2<kind_bit(B, 0), kind_bit(B, 1), kind_bit(B, 2), kind_bit(B, 3)>...};
}
template <int... B>
constexpr auto move3_table(std::integer_sequence<int, B...>) {
    return std::array<Handler, sizeof...(B)>{move3<kind_bit(B, 0), kind_bit(B, 1), kind_bit(B, 2),
                                                   kind_bit(B, 3), kind_bit(B, 4), kind_bit(B, 5)>...};
}
template <int... B>
constexpr auto elements_table(std::integer_sequence<int, B...>) {
    return std::array<Handler, sizeof...(B)>{
        get_elements2<kind_bit(B, 0), kind_bit(B, 1), kind_bit(B, 2)>...};
}

int bits_of(const K* kinds, int n) {
    int bits = 0;
    for (int i = 0; i < n; ++i) {
        bits |= (kinds[i] == K::Y) << i;
    }
    return bits;
}

}  // namespace

void h_deallocate_return(ARGS) {
    E += slot16(pc, 0, 48);
    pc = return_target(*E);
    ++E;
    DISPATCH();
}

Handler fused_move2(const K* kinds) {
    static constexpr auto table = move2_table(std::make_integer_sequence<int, 16>());
    return table[static_cast<size_t>(bits_of(kinds, 4))];
}
Handler fused_move3(const K* kinds) {
    static constexpr auto table = move3_table(std::make_integer_sequence<int, 64>());
    return table[static_cast<size_t>(bits_of(kinds, 6))];
}
Handler fused_get_elements2(const K* kinds) {
    static constexpr auto table = elements_table(std::make_integer_sequence<int, 8>());
    return table[static_cast<size_t>(bits_of(kinds, 3))];
}
Handler fused_move_then(Op op, bool deallocate, K source) {
    static constexpr Handler table[5][3] = {
        {move_call<K::X>, move_call<K::Y>, move_call<K::C>},
        {move_call_only<K::X>, move_call_only<K::Y>, move_call_only<K::C>},
        {move_call_last<K::X>, move_call_last<K::Y>, move_call_last<K::C>},
        {move_return<K::X>, move_return<K::Y>, move_return<K::C>},
        {move_deallocate_return<K::X>, move_deallocate_return<K::Y>, move_deallocate_return<K::C>}};
    const int row = deallocate             ? 4
                    : op == Op::call       ? 0
                    : op == Op::call_only  ? 1
                    : op == Op::call_last  ? 2
                                           : 3;
    return table[row][static_cast<int>(source)];
}

}  // namespace minivm::interp
