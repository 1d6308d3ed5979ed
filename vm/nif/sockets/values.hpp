// The terms that the natives of sockets and OTP's modules exchange: results, numbers, addresses, flags.
//
// Reference: what prim_socket.erl and prim_net.erl of OTP 25 to 29 pass and expect.
// Threads: any; a term goes to the environment's heap.
#pragma once

#include "vm/nif/environment.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/map.hpp"
#include "vm/util/socket_address.hpp"

#include <net/if.h>
#include <netinet/in.h>

#include <initializer_list>
#include <span>
#include <string>
#include <utility>

namespace minivm::nif::sockets {

inline Term atom(const char* name) {
    return atom_table::intern(name);
}

// ---- results ----------------------------------------------------------------------------------------------------

Word ok(Env* env, Term value);                     // {ok, Value}
Word error(Env* env, Term reason);                 // {error, Reason}
Word error(Env* env, const char* reason);          // the same of an atom
Word errno_error(Env* env, int number);            // {error, econnrefused}
Word invalid(Env* env, Term what);                 // {invalid, What}: the module says which argument it was
Word invalid(Env* env, const char* what);
Word error_invalid(Env* env, const char* what);    // {error, {invalid, What}}
Word raise_invalid(Env* env, Term what);           // error({invalid, What})
Word not_supported(Env* env);                      // error(notsup), as a VM that was built without the feature
// A map of these names and values.
Term make_map(Env* env, std::initializer_list<std::pair<const char*, Term>> fields);
inline Term boolean(bool b) {
    return b ? atoms::true_ : atoms::false_;
}

// ---- arguments --------------------------------------------------------------------------------------------------

// None of these changes *out unless it is true.
bool get_int(Term t, int* out);
bool get_unsigned(Term t, unsigned* out);
bool get_int64(Term t, int64_t* out);
bool get_boolean(Term t, bool* out);
// The answer to a term that get_int() refuses: {invalid, {integer_range, I}} for an integer that is out of range, else
// badarg.
Word bad_integer(Env* env, Term t);
// kNonValue: t is no map, or has no such key.
Term field(Term t, const char* name);
bool get_string(Term t, std::string* out);         // a list of bytes

// The name of a constant. A constant that the system does not have has the number 0.
struct Named {
    const char* name;
    int number;
};
std::span<const Named> message_flags();
std::span<const Named> interface_flags();
// [flag()], with bits that have no name as one integer.
Term flags_term(Env* env, std::span<const Named> names, int flags);
// [{Name, Number}]
Term named_terms(Env* env, std::span<const Named> names);

// 1: a family with a name. -1: an integer. 0: neither.
int get_family(Term t, int* out);
Term family_term(Env* env, int family);
bool get_type(Term t, int* out);
Term type_term(Env* env, int type);
bool get_level(Term t, int* out);
Term level_term(Env* env, int level);

// ---- addresses --------------------------------------------------------------------------------------------------

bool get_ipv4(Term t, in_addr* out);               // {A, B, C, D}, any, loopback or broadcast
Term ipv4_term(Env* env, const in_addr& address);
bool get_ipv6(Term t, in6_addr* out);
Term ipv6_term(Env* env, const in6_addr& address);
// A map of socket:sockaddr().
bool get_address(Term t, SocketAddress* out);
// size 0: the size that the family's addresses have.
Term address_term(Env* env, const sockaddr* address, socklen_t size);
inline Term address_term(Env* env, const SocketAddress& address) {
    return address_term(env, address.get(), address.size);
}
// A hardware address: its family is the kind of hardware (ARPHRD_ETHER: ether).
Term hardware_address_term(Env* env, const sockaddr& address);
bool get_hardware_address(Term t, SocketAddress* out);

}  // namespace minivm::nif::sockets
