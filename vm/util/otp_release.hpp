// Which release of OTP the library tree in use belongs to, and all that the VM does by release.
//
// The libraries and the VM are made for each other: what a release's libraries expect of the VM, it
// does when that release's tree is in use. Whoever has to know asks here and nowhere else.
// Threads: set_otp_release() before the VM starts; what is asked for, from any.
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
// applications. Of what cannot be told, the default.
OtpRelease read_otp_release(const std::string& root);
void set_otp_release(OtpRelease release);
const OtpRelease& otp_release();

namespace by_release {

// Set with the release: asked for at every look into a map and every comparison.
extern bool g_hashes_are_wide;
extern bool g_zeros_are_equal;
extern bool g_atom_keys_have_numbers;
// 0.0 =:= -0.0, so that each matches the other and they are one key.
inline bool zeros_are_equal() { return g_zeros_are_equal; }
// Maps and tables of ets have the order of 64 bits of MurmurHash3, and not of 32 of Jenkins' mix.
inline bool hashes_are_wide() { return g_hashes_are_wide; }

// Atoms among the keys of small maps are in the order of their numbers (atom_table.hpp); before, in that of terms.
inline bool atom_keys_have_numbers() { return g_atom_keys_have_numbers; }

inline bool at_least(int number) { return otp_release().number >= number; }

// The external term format: term_to_binary writes atoms as UTF-8 (minor version 2).
inline int external_minor_version() { return at_least(26) ? 2 : 1; }
// external_size/2 takes what term_to_binary/2 takes, and not only {minor_version, 0 | 1}.
inline bool size_takes_all_options() { return at_least(26); }
// What a program without a shell writes has the encoding of the locale (25: Latin-1).
inline bool prints_by_locale() { return at_least(26); }
// Module re is PCRE2 with its own error texts and positions (up to 27: those of PCRE 8), knows the
// option `export`, and takes a zero byte as a character.
inline bool re_is_pcre2() { return at_least(28); }
// A fun knows which process made it, and is written with it; later that is init's pid for all.
inline bool funs_have_creators() { return !at_least(27); }
// fun_info(F, refc) counts the funs of that code; later a fun counts none but its module.
inline bool counts_funs() { return !at_least(27); }
// Whether the source of an utf8 segment is a character is looked at before other sources are.
inline bool checks_utf8_with_sizes() { return at_least(26); }
// With sessions of tracing: link/1 gives what set_on_link says (before, spawn_link alone), and a child has the flags of its
// parent and not those of new processes beside them, but none of one that is sensitive; flags are taken away whoever is named
// as the tracer.
inline bool traces_by_session() { return at_least(27); }
// A bit string is in the heap or refers to one, whatever its size in bits (erts_internal:term_type/1).
inline bool has_one_kind_of_bit_string() { return at_least(27); }
// Parts are those of binaries (binary_part, binary_to_list/3, decode_packet/3); before, of the whole bytes of a bit string.
inline bool has_parts_of_bit_strings() { return !at_least(27); }
// Native records are terms: binary_to_term makes them, is_record/3 takes two names.
inline bool has_native_records() { return at_least(29); }
// The head of a match specification for traces may be [First, ... | '_'].
inline bool spec_heads_may_be_prefixes() { return at_least(29); }
// term_to_binary/2 takes `local`.
inline bool terms_may_be_local() { return at_least(26); }
// What a socket reads at once, in bytes, if nobody says how much.
inline unsigned default_socket_buffer() { return at_least(27) ? 9216 : 1460; }
// prim_inet puts a reference in front of what it sends, which the answer is to have.
inline bool socket_sends_have_references() { return otp_release().number >= 26; }
// decode_packet: http://[FEDC::1]:80/ has the host [FEDC::1].
inline bool uri_hosts_have_brackets() { return at_least(29); }
// No bits at all are no bit string in the external format (they are an empty binary).
inline bool refuses_no_bits() { return at_least(29); }
// In the key of a match specification's head, a map matches all that have its associations, as anywhere
// else; before, such a key was looked up.
inline bool maps_in_keys_match_larger_ones() { return at_least(29); }
// ets:insert/2 puts a list into a bag from its beginning on, and a long list into any table.
inline bool lists_go_in_from_their_beginning() { return at_least(29); }
// maps:keys/1, values/1 and to_list/1 have the order of an iterator; before, of large maps, the opposite.
inline bool maps_are_listed_in_their_order() { return at_least(29); }
// The default object of ets:update_counter/4 and update_element/4 is looked at even if there is another.
inline bool checks_default_objects() { return at_least(29); }
// The largest integer has so many words; what would be larger is a system_limit.
inline size_t max_big_limbs() { return (size_t{1} << (at_least(27) ? 16 : 19)) - 1; }
// The interface of native functions that system_info(nif_version) and enif_system_info() name.
int nif_minor_version();

}  // namespace by_release
}  // namespace minivm
