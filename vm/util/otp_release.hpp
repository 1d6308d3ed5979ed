// Which release of OTP the library tree in use belongs to, and all that the VM does by release.
//
// The libraries of a release expect the VM of that release, so the VM behaves as that one while its tree is in
// use. All code that depends on the release asks here and nowhere else.
// Threads: set_otp_release() before the VM starts; any thread may ask.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace minivm {

struct OtpRelease {
    int number = 25;                     // erlang:system_info(otp_release)
    std::string erts_version = "13.1.5"; // erlang:system_info(version)
    bool operator==(const OtpRelease&) const = default;
};

// The release of a library tree, from its own files: releases/*/OTP_VERSION and the names of its
// applications. What they do not tell has its default.
OtpRelease read_otp_release(const std::string& root);
void set_otp_release(OtpRelease release);
const OtpRelease& otp_release();

namespace by_release {

// Set with the release, since look-ups in maps and comparisons read them.
extern bool g_hashes_are_wide;
extern bool g_zeros_are_equal;
extern bool g_atom_keys_have_numbers;
// 0.0 =:= -0.0, so that each matches the other and they are one key.
inline bool zeros_are_equal() { return g_zeros_are_equal; }
// Maps and ETS tables are ordered by 64 bits of MurmurHash3; before, by 32 bits of Jenkins' mix.
inline bool hashes_are_wide() { return g_hashes_are_wide; }

// Small maps order their atom keys by the atoms' numbers (atom_table.hpp); before, as terms.
inline bool atom_keys_have_numbers() { return g_atom_keys_have_numbers; }

inline bool at_least(int number) { return otp_release().number >= number; }

// The external term format: term_to_binary writes atoms as UTF-8 (minor version 2).
inline int external_minor_version() { return at_least(26) ? 2 : 1; }
// external_size/2 takes what term_to_binary/2 takes, and not only {minor_version, 0 | 1}.
inline bool size_takes_all_options() { return at_least(26); }
// A program without a shell writes in the encoding of the locale (25: Latin-1).
inline bool prints_by_locale() { return at_least(26); }
// Module re is PCRE2 with its own error texts and positions (up to 27: those of PCRE 8), knows the
// option `export`, and takes a zero byte as a character.
inline bool re_is_pcre2() { return at_least(28); }
// A fun knows the process that made it, and the external format holds that; later all funs name init's pid.
inline bool funs_have_creators() { return !at_least(27); }
// fun_info(F, refc) counts the funs of that code; later it answers 1.
inline bool counts_funs() { return !at_least(27); }
// The source of a utf8 segment is checked for a character while sizes are added up, before other sources are checked.
inline bool checks_utf8_with_sizes() { return at_least(26); }
// With trace sessions: set_on_link applies to link/1 as well (before, to spawn_link alone); a child has its parent's
// flags and not those for new processes beside them, and none of a sensitive parent; flags are cleared whichever tracer
// the call names.
inline bool traces_by_session() { return at_least(27); }
// To erts_internal:term_type/1 a bit string is a heap_binary or a sub_binary, whatever its size in bits.
inline bool has_one_kind_of_bit_string() { return at_least(27); }
// binary_part, binary_to_list/3 and decode_packet/3 take the whole bytes of a bit string; later, only binaries.
inline bool has_parts_of_bit_strings() { return !at_least(27); }
// Native records are terms: binary_to_term makes them, is_record/3 takes two names.
inline bool has_native_records() { return at_least(29); }
// The head of a match specification for traces may be [First, ... | '_'].
inline bool spec_heads_may_be_prefixes() { return at_least(29); }
// term_to_binary/2 takes `local`.
inline bool terms_may_be_local() { return at_least(26); }
// Bytes that a socket reads at once by default.
inline unsigned default_socket_buffer() { return at_least(27) ? 9216 : 1460; }
// prim_inet puts a reference in front of the data to send, and expects it in the answer.
inline bool socket_sends_have_references() { return otp_release().number >= 26; }
// decode_packet: http://[FEDC::1]:80/ has the host [FEDC::1].
inline bool uri_hosts_have_brackets() { return at_least(29); }
// The external format refuses a bit string of no bits (which is written as an empty binary).
inline bool refuses_no_bits() { return at_least(29); }
// A map in the key of a match specification's head matches all maps with its associations, as anywhere else;
// before, the key was looked up.
inline bool maps_in_keys_match_larger_ones() { return at_least(29); }
// ets:insert/2 inserts a list into a bag from the front, as it does with a long list in any table.
inline bool lists_go_in_from_their_beginning() { return at_least(29); }
// maps:keys/1, values/1 and to_list/1 have the order of an iterator; before, of large maps, the opposite.
inline bool maps_are_listed_in_their_order() { return at_least(29); }
// ets:update_counter/4 and update_element/4 check their default object even if the key has an object.
inline bool checks_default_objects() { return at_least(29); }
// Words of the largest integer; a larger result raises system_limit.
inline size_t max_big_limbs() { return (size_t{1} << (at_least(27) ? 16 : 19)) - 1; }
// The interface of native functions that system_info(nif_version) and enif_system_info() name.
int nif_minor_version();

}  // namespace by_release
}  // namespace minivm
