// The hash that gives large maps and the tables of ets their order.
//
// OTP's own hash of terms (make_internal_hash), by the release in use, so that large maps and tables
// have the order that they have on `erl`: up to OTP 26 32 bits by Bob Jenkins' mix of 1996, from OTP 27
// on 64 bits by MurmurHash3's. Equal for =:= terms. It differs from OTP's where OTP's own numbers count:
// for terms with atoms in them (but not for an atom as an object's key in ets), local pids, ports,
// references, funs or native records; and from OTP 27 on for maps of more than 32 keys.
// Threads: any; reads only. No recursion on the C++ stack in the depth of the terms.
#pragma once

#include "vm/term/hash_parts.hpp"
#include "vm/term/term.hpp"
#include "vm/util/otp_release.hpp"

namespace minivm {
namespace order_hashing {

// True if the immediate t is one in OTP too: all are but floats and integers of 61 bits. otp_word() is OTP's word.
constexpr bool is_otp_immediate(Term t) {
    return is_small(t) ? static_cast<int64_t>(t.raw << 1) >> 1 == static_cast<int64_t>(t.raw)
                       : is_immediate(t) && !is_imm_float(t);
}
constexpr Word otp_word(Term t) {
    constexpr Word kOtpSmall = 0xF;
    constexpr Word kOtpAtom = 0xB;
    constexpr Word kOtpPid = 0x3;
    constexpr Word kOtpPort = 0x7;
    constexpr Word kOtpNil = 0x3B;
    return is_small(t)       ? t.raw << 1 | kOtpSmall
           : is_atom(t)      ? Word{atom_index(t)} << 6 | kOtpAtom
           : is_nil(t)       ? kOtpNil
           : is_local_pid(t) ? imm_data(t) << 4 | kOtpPid
                             : imm_data(t) << 4 | kOtpPort;
}

// OTP starts with this so that keys with the same phash2 do not collide in a table as well.
constexpr uint32_t kNarrowStart = 3432918353;

// The finish of MurmurHash3, which is the whole hash of an immediate.
constexpr uint64_t mix64(uint64_t hash) {
    hash = (hash ^ hash >> 33) * 0xFF51AFD7ED558CCD;
    hash = (hash ^ hash >> 33) * 0xC4CEB9FE1A85EC53;
    return hash ^ hash >> 33;
}

uint64_t of_pointer(Term t);

}  // namespace order_hashing

inline uint64_t order_hash(Term t) {
    if (MINIVM_UNLIKELY(!order_hashing::is_otp_immediate(t))) {
        return order_hashing::of_pointer(t);
    }
    const Word word = order_hashing::otp_word(t);
    if (by_release::hashes_are_wide()) {
        return order_hashing::mix64(word);
    }
    uint32_t hash = order_hashing::kNarrowStart;
    hashing::mix_in(hash, static_cast<uint32_t>(word), static_cast<uint32_t>(word >> 32),
                    hashing::golden(1));
    return hash;
}

// The next 32 bits, for where 32 are not enough; up to OTP 26.
uint32_t order_hash_again(Term t);

}  // namespace minivm
