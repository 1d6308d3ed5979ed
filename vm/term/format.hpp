// Numbers and terms as text.
// Threads: any.
#pragma once

#include "vm/term/term.hpp"

#include <string>
#include <string_view>

namespace minivm {

// As ~w prints it (atoms quoted where needed). For reports and logs: what is deeper than 64 levels or
// longer than `limit` bytes ends in "...".
std::string format_term(Term t, size_t limit = 65536);
// As erlang:display/1 and the runtime system's own messages show it: lists and binaries that are
// text as text (in Latin-1, whatever the locale), floats with six digits. Longer than `limit` bytes ends in
// "..."; the second one has no limit and hands the text over in parts.
std::string display_term(Term t, size_t limit = 65536);
void display_term(Term t, void (*flush)(const std::string& text));
// The same, ending in "... " after so many elements as OTP counts them: terms, characters of a text, bytes of a binary,
// bytes of an atom's name.
std::string display_elements(Term t, int64_t elements);
void append_atom(std::string* out, Term atom, bool quote);
// float_to_list/1 of OTP 25 and later without options is scientific with 20 digits; [short] is the
// shortest text that reads back, of at most 17 digits: fixed or, where that is shorter, scientific.
class ShortFloat {
public:
    explicit ShortFloat(double d);
    std::string_view text() const { return {text_, size_}; }

private:
    char text_[40];
    size_t size_;
};
std::string float_scientific(double d, int decimals);
// False: too large for the fixed format (OTP's badarg).
bool float_decimals(double d, int decimals, bool compact, std::string* out);
// Erlang float syntax only ("1.0", "-2.5e10"); false otherwise or if it overflows.
bool parse_float(std::string_view text, double* out);
std::string format_pid(Term pid);
std::string format_ref(Term ref);

}  // namespace minivm
