// Conversions between atoms and text.
#include "vm/bif/bif.hpp"
#include "vm/bif/numbers/text.hpp"
#include "vm/term/binary.hpp"
#include "vm/util/utf8.hpp"

#include <string>

namespace minivm {

namespace {

enum class Encoding { latin1, utf8, unknown };

Encoding encoding_of(Term t) {
    return t == atoms::latin1                        ? Encoding::latin1
           : t == atoms::utf8 || t == atoms::unicode ? Encoding::utf8
                                                     : Encoding::unknown;
}

enum class TextError { none, bad, too_long };

// The atom of well-formed text, made if need be; `existing`: only looked up.
Term to_atom(Process& p, TextError e, std::string_view utf8, bool existing) {
    if (existing) {
        const Term atom = e == TextError::none ? atom_table::find(utf8) : kNonValue;
        return is_value(atom) ? atom : badarg(p);
    }
    if (e == TextError::bad) {
        return badarg(p);
    }
    const Term atom = e == TextError::none ? atom_table::intern(utf8) : kNonValue;
    return is_value(atom) ? atom : system_limit(p);
}

// OTP looks at no more characters than an atom may have before it calls the text too long.
TextError list_text(Term list, std::string* utf8) {
    for (size_t n = 0; is_cons(list); list = tail(list), ++n) {
        if (n == kMaxAtomChars) {
            return TextError::too_long;
        }
        const Term t = head(list);
        if (!is_small(t) || small_value(t) < 0 || small_value(t) > 0x10FFFF ||
            (small_value(t) >= 0xD800 && small_value(t) <= 0xDFFF)) {
            return TextError::bad;
        }
        append_utf8(static_cast<uint32_t>(small_value(t)), utf8);
    }
    return is_nil(list) ? TextError::none : TextError::bad;
}

TextError binary_text(std::string_view bytes, Encoding encoding, std::string* utf8) {
    if (encoding == Encoding::latin1) {
        if (bytes.size() > kMaxAtomChars) {
            return TextError::too_long;
        }
        for (const char c : bytes) {
            append_utf8(static_cast<uint8_t>(c), utf8);
        }
        return TextError::none;
    }
    // `end`: behind the characters that an atom may have at most.
    size_t end = 0;
    for (size_t chars = 0; end < bytes.size(); ++end) {
        if ((static_cast<uint8_t>(bytes[end]) & 0xC0) != 0x80 && ++chars > kMaxAtomChars) {
            break;
        }
    }
    if (!atom_table::is_valid(bytes.substr(0, end))) {
        return TextError::bad;
    }
    if (end < bytes.size()) {
        return TextError::too_long;
    }
    *utf8 = bytes;
    return TextError::none;
}

Term atom_from_list(Process& p, Term list, bool existing) {
    std::string utf8;
    const TextError e = list_text(list, &utf8);
    return to_atom(p, e, utf8, existing);
}

Term atom_from_binary(Process& p, Term binary, Term encoding_name, bool existing) {
    Bytes bytes;
    const Encoding encoding = encoding_of(encoding_name);
    if (encoding == Encoding::unknown || !get_bytes(binary, &bytes)) {
        return badarg(p);
    }
    std::string utf8;
    const TextError e =
        binary_text({reinterpret_cast<const char*>(bytes.data), bytes.size}, encoding, &utf8);
    return to_atom(p, e, utf8, existing);
}

Term erlang_list_to_atom_1(Process& p, const Term* a) {
    return atom_from_list(p, a[0], false);
}

Term erlang_list_to_existing_atom_1(Process& p, const Term* a) {
    return atom_from_list(p, a[0], true);
}

Term erlang_binary_to_atom_2(Process& p, const Term* a) {
    return atom_from_binary(p, a[0], a[1], false);
}

Term erlang_binary_to_existing_atom_2(Process& p, const Term* a) {
    return atom_from_binary(p, a[0], a[1], true);
}

Term erlang_atom_to_list_1(Process& p, const Term* a) {
    if (!is_atom(a[0])) {
        return badarg(p);
    }
    const std::string_view text = atom_table::text(a[0]);
    return make_string_utf8(p.heap, text.data(), text.size());
}

Term atom_binary(Process& p, Term atom, Term encoding_name) {
    const Encoding encoding = encoding_of(encoding_name);
    if (!is_atom(atom) || encoding == Encoding::unknown) {
        return badarg(p);
    }
    const std::string_view text = atom_table::text(atom);
    if (encoding == Encoding::utf8) {
        return make_binary(p.heap, text.data(), text.size());
    }
    std::string latin1;
    for (size_t i = 0; i < text.size(); ++i) {
        const auto c = static_cast<uint8_t>(text[i]);
        if (c < 0x80) {
            latin1 += text[i];
        } else if (c <= 0xC3) {
            latin1 += static_cast<char>((c << 6) | (static_cast<uint8_t>(text[++i]) & 0x3F));
        } else {
            return badarg(p);  // no Latin-1 character
        }
    }
    return binary_string_of(p, latin1);
}

Term erlang_atom_to_binary_2(Process& p, const Term* a) {
    return atom_binary(p, a[0], a[1]);
}

}  // namespace

MINIVM_BIF_TABLE(atoms) = {
    {"erlang", "atom_to_list", 1, erlang_atom_to_list_1, kBifPlain, nullptr},
    // Not allowed in guards, but the compiler of OTP 29 calls it in bodies by the instruction of a guard.
    {"erlang", "list_to_atom", 1, erlang_list_to_atom_1, kBifGuard, nullptr},
    {"erlang", "list_to_existing_atom", 1, erlang_list_to_existing_atom_1, kBifGuard, nullptr},
    {"erlang", "atom_to_binary", 2, erlang_atom_to_binary_2, kBifPlain, nullptr},
    {"erlang", "binary_to_atom", 2, erlang_binary_to_atom_2, kBifGuard, nullptr},
    {"erlang", "binary_to_existing_atom", 2, erlang_binary_to_existing_atom_2, kBifGuard, nullptr},
};

}  // namespace minivm
