#include "vm/term/arguments.hpp"

#include "vm/term/bignum.hpp"

namespace minivm {

int64_t list_length(Term list) {
    int64_t n = 0;
    while (is_cons(list)) {
        ++n;
        list = tail(list);
    }
    return is_nil(list) ? n : -1;
}

bool get_int64(Term t, int64_t* out) {
    if (is_small(t)) {
        *out = small_value(t);
        return true;
    }
    if (!is_big(t) || big_limbs(t) != 1) {
        return false;
    }
    const Word magnitude = *big_digits(t);
    if (big_is_negative(t)) {
        if (magnitude > Word{1} << 63) {
            return false;
        }
        *out = static_cast<int64_t>(~magnitude + 1);
        return true;
    }
    if (magnitude >= Word{1} << 63) {
        return false;
    }
    *out = static_cast<int64_t>(magnitude);
    return true;
}

bool get_uint64(Term t, uint64_t* out) {
    if (is_small(t) && small_value(t) >= 0) {
        *out = static_cast<uint64_t>(small_value(t));
        return true;
    }
    if (!is_big(t) || big_limbs(t) != 1 || big_is_negative(t)) {
        return false;
    }
    *out = *big_digits(t);
    return true;
}

bool small_in(Term t, int64_t low, int64_t high, uint32_t* out) {
    if (!is_small(t) || small_value(t) < low || small_value(t) > high) {
        return false;
    }
    *out = static_cast<uint32_t>(small_value(t));
    return true;
}

}  // namespace minivm
