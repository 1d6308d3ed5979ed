// Errors of native functions that belong to stdlib's modules: OTP explains them in
// erl_stdlib_errors.
#pragma once

#include "vm/bif/bif.hpp"
#include "vm/term/map.hpp"

namespace minivm {

inline Term stdlib_error(Process& p, Term reason) {
    error(p, reason);
    Term keys[1] = {atoms::module};
    Term values[1] = {atoms::erl_stdlib_errors};
    p.exception.error_info = map::from_pairs(p.heap, keys, values, 1);
    return kNonValue;
}
inline Term stdlib_badarg(Process& p) {
    return stdlib_error(p, atoms::badarg);
}
inline Term stdlib_system_limit(Process& p) {
    return stdlib_error(p, atoms::system_limit);
}

// Start and length of a part of `size` bytes; a negative length ends at *first. False: out of
// range.
inline bool byte_range(uint64_t size, int64_t* first, int64_t* n) {
    const int64_t limit = static_cast<int64_t>(size);
    if (*first < 0 || *first > limit) {
        return false;
    }
    if (*n < 0) {
        if (*n < -*first) {
            return false;
        }
        *first += *n;
        *n = -*n;
    }
    return *n <= limit - *first;
}

}  // namespace minivm
