// The atom table: text <-> index, append only.
//
// Guarantees: an index, once given out, is valid for ever; text() of it never changes. Indices of the
// atoms in atoms.def are constants (atoms::ok, ...).
// Threads: intern() and find() from any thread; text() is wait-free. set_limit() before threads start.
#pragma once

#include <span>
#include <string_view>

#include "vm/term/term.hpp"

namespace minivm {

constexpr size_t kMaxAtomChars = 255;     // characters (code points), as OTP

namespace atoms {
enum Index : uint32_t {
#define ATOM(name, text) k_##name,
#include "vm/term/atoms.def"
#undef ATOM
    kPredefinedCount
};
#define ATOM(name, text) constexpr Term name = make_atom(k_##name);
#include "vm/term/atoms.def"
#undef ATOM
}  // namespace atoms

namespace atom_table {
// The atom of this UTF-8 text; the caller has checked that it is valid UTF-8 and at most
// kMaxAtomChars characters. A table that is full ends the VM, as it does OTP's.
Term intern(std::string_view utf8);
// As intern for Latin-1 bytes (an atom chunk or external term in the old encoding).
Term intern_latin1(std::string_view latin1);
// The atom if it exists already, else the non-value.
Term find(std::string_view utf8);
std::string_view text(Term atom);
uint32_t count();
// The most atoms that the table takes.
constexpr uint32_t kDefaultLimit = 1048576, kLeastLimit = 8192, kMostLimit = 2147483647;
uint32_t limit();
void set_limit(uint32_t atoms);
// True if `utf8` is well-formed UTF-8 (no surrogates, no overlong forms) of at most kMaxAtomChars
// characters.
bool is_valid(std::string_view utf8);
// Term order of two atoms: by code points; memcmp of the UTF-8 gives the same. <0, 0, >0.
int compare(Term a, Term b);
// Order of two atoms by their numbers: the order in which they were made. <0, 0, >0.
int compare_numbers(Term a, Term b);
// Numbers these atoms before all others: OTP's emulator makes them first. Before threads start; first call only.
void number_first(std::span<const std::string_view> texts);
// The hash that phash2 and friends use for an atom's text (OTP's atom hash, kept per entry).
uint32_t hash_value(Term atom);
}  // namespace atom_table

inline bool is_bool(Term t) { return t == atoms::true_ || t == atoms::false_; }
inline Term make_bool(bool b) { return b ? atoms::true_ : atoms::false_; }

}  // namespace minivm
