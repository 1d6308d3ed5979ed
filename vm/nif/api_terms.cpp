// Terms: testing, taking apart, making; environments.
#include "vm/nif/api.hpp"
#include "vm/nif/library.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/semantics/binary.hpp"
#include "vm/term/arguments.hpp"
#include "vm/term/compare.hpp"
#include "vm/term/hash.hpp"
#include "vm/term/map.hpp"
#include "vm/util/utf8.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace minivm::nif {

namespace {

// The number of bytes of an atom's text, or -1: the encoding does not have one of its characters.
int64_t atom_bytes(Term atom, int encoding, std::string* out) {
    const std::string_view text = atom_table::text(atom);
    if (encoding == kUtf8) {
        *out = text;
        return static_cast<int64_t>(out->size());
    }
    out->clear();
    for (size_t i = 0; i < text.size(); ++i) {
        const auto c = static_cast<uint8_t>(text[i]);
        if (c < 0x80) {
            *out += static_cast<char>(c);
        } else if (c == 0xC2 || c == 0xC3) {
            *out += static_cast<char>((c & 3) << 6 | (static_cast<uint8_t>(text[++i]) & 0x3F));
        } else {
            return -1;
        }
    }
    return static_cast<int64_t>(out->size());
}

// The name in UTF-8; false: the encoding is unknown, or this is no text of an atom.
bool atom_text(const char* name, size_t n, int encoding, std::string* out) {
    if (encoding == kUtf8) {
        out->assign(name, n);
    } else {
        out->resize(2 * n);
        out->resize(utf8_of_latin1({name, n}, out->data()));
    }
    return (encoding == kLatin1 || encoding == kUtf8) && atom_table::is_valid(*out);
}

// False: no proper list of characters.
bool utf8_of_list(Term list, std::string* out) {
    for (; is_cons(list); list = tail(list)) {
        const Term c = head(list);
        if (!is_small(c) || small_value(c) < 0 || !is_unicode(static_cast<uint64_t>(small_value(c)))) {
            return false;
        }
        append_utf8(static_cast<uint32_t>(small_value(c)), out);
    }
    return is_nil(list);
}

// `atom_of` makes the atom or looks for it; 0: the name is no text of an atom, or there is no such atom.
int get_atom(Term (*atom_of)(std::string_view), const char* name, size_t n, Word* out, int encoding) {
    std::string text;
    if (!atom_text(name, n, encoding, &text)) {
        return 0;
    }
    const Term atom = atom_of(text);
    if (!is_value(atom)) {
        return 0;
    }
    *out = atom.raw;
    return 1;
}

template <typename T>
int get_signed(Word term, T* out) {
    int64_t v;
    if (!get_int64(term_of(term), &v) || static_cast<T>(v) != v) {
        return 0;
    }
    *out = static_cast<T>(v);
    return 1;
}
template <typename T>
int get_unsigned(Word term, T* out) {
    uint64_t v;
    if (!get_uint64(term_of(term), &v) || static_cast<T>(v) != v) {
        return 0;
    }
    *out = static_cast<T>(v);
    return 1;
}

struct TemporaryWords final : Temporary {
    std::vector<Word> words;
};

// The library's words for a tuple's elements, valid as long as `env`; without one, until the thread's next call.
const Word* words_for(Env* env, const Term* elements, size_t n) {
    thread_local std::vector<Word> without;
    std::vector<Word> words(n);
    std::transform(elements, elements + n, words.begin(), word_of);
    if (env == nullptr) {
        without = std::move(words);
        return without.data();
    }
    auto kept = std::make_unique<TemporaryWords>();
    kept->words = std::move(words);
    const Word* const data = kept->words.data();
    env->temporaries.push_back(std::move(kept));
    return data;
}

Word make_tuple_of(Env* env, const Word* elements, unsigned n) {
    Term* t = heap_of(env).alloc(size_t{n} + 1);
    t[0] = Term{make_header(Kind::tuple, n)};
    for (unsigned i = 0; i < n; ++i) {
        t[i + 1] = term_of(elements[i]);
    }
    return make_boxed(t).raw;
}
Word make_list_of(Env* env, const Word* elements, unsigned n) {
    if (n == 0) {
        return kNil.raw;
    }
    Term* cells = heap_of(env).alloc(size_t{n} * kConsWords);
    Term list = kNil;
    for (unsigned i = n; i > 0; --i) {
        list = put_cons(cells + (i - 1) * kConsWords, term_of(elements[i - 1]), list);
    }
    return list.raw;
}

}  // namespace

extern "C" {

// ---- tests --------------------------------------------------------------------------------------

int enif_is_atom(Env*, Word t) {
    return is_atom(term_of(t));
}
int enif_is_binary(Env*, Word t) {
    return is_binary(term_of(t));
}
int enif_is_ref(Env*, Word t) {
    return is_reference(term_of(t));
}
int enif_is_fun(Env*, Word t) {
    return is_fun(term_of(t));
}
int enif_is_pid(Env*, Word t) {
    return is_pid(term_of(t));
}
int enif_is_port(Env*, Word t) {
    return is_port(term_of(t));
}
int enif_is_empty_list(Env*, Word t) {
    return is_nil(term_of(t));
}
int enif_is_list(Env*, Word t) {
    return is_list(term_of(t));
}
int enif_is_tuple(Env*, Word t) {
    return is_tuple(term_of(t));
}
int enif_is_number(Env*, Word t) {
    return is_number(term_of(t));
}
int enif_is_map(Env*, Word t) {
    return is_map(term_of(t));
}
int enif_is_exception(Env* env, Word t) {
    return env->exception && !is_value(term_of(t));
}

int enif_term_type(Env*, Word word) {
    const Term t = term_of(word);
    if (is_atom(t)) {
        return kTypeAtom;
    }
    if (is_integer(t)) {
        return kTypeInteger;
    }
    if (is_float(t)) {
        return kTypeFloat;
    }
    if (is_list(t)) {
        return kTypeList;
    }
    if (is_tuple(t)) {
        return kTypeTuple;
    }
    if (is_map(t)) {
        return kTypeMap;
    }
    if (is_bitstring(t)) {
        return kTypeBitstring;
    }
    if (is_fun(t)) {
        return kTypeFun;
    }
    if (is_pid(t)) {
        return kTypePid;
    }
    if (is_port(t)) {
        return kTypePort;
    }
    MINIVM_CHECK(is_reference(t));
    return kTypeReference;
}

int enif_is_identical(Word a, Word b) {
    return exact_equal(term_of(a), term_of(b));
}
int enif_compare(Word a, Word b) {
    return compare_terms(term_of(a), term_of(b));
}

uint64_t enif_hash(int kind, Word t, uint64_t salt) {
    constexpr uint32_t kPhash2Bits = 27;
    return kind == kPhash2 ? phash2(term_of(t)) & ((1U << kPhash2Bits) - 1)
                           : internal_hash(term_of(t), static_cast<uint32_t>(salt));
}

// ---- numbers ------------------------------------------------------------------------------------

int enif_get_int(Env*, Word t, int* out) {
    return get_signed(t, out);
}
int enif_get_long(Env*, Word t, long* out) {
    return get_signed(t, out);
}
int enif_get_uint(Env*, Word t, unsigned* out) {
    return get_unsigned(t, out);
}
int enif_get_ulong(Env*, Word t, unsigned long* out) {
    return get_unsigned(t, out);
}
int enif_get_double(Env*, Word t, double* out) {
    if (!is_float(term_of(t))) {
        return 0;
    }
    *out = float_value(term_of(t));
    return 1;
}
Word enif_make_int(Env* env, int v) {
    return word_of(make_integer(heap_of(env), v));
}
Word enif_make_long(Env* env, long v) {
    return word_of(make_integer(heap_of(env), v));
}
Word enif_make_uint(Env* env, unsigned v) {
    return word_of(make_unsigned(heap_of(env), v));
}
Word enif_make_ulong(Env* env, unsigned long v) {
    return word_of(make_unsigned(heap_of(env), v));
}
Word enif_make_double(Env* env, double v) {
    return std::isfinite(v) ? make_float(heap_of(env), v).raw : swap_zero(raise_badarg(env));
}

// ---- atoms --------------------------------------------------------------------------------------

Word enif_make_atom_len(Env* env, const char* name, size_t n) {
    std::string text;
    if (n > kMaxAtomChars || !atom_text(name, n, kLatin1, &text)) {
        return swap_zero(raise_badarg(env));
    }
    const Term atom = atom_table::intern(text);
    return is_value(atom) ? atom.raw : swap_zero(raise_badarg(env));
}
Word enif_make_atom(Env* env, const char* name) {
    return enif_make_atom_len(env, name, std::strlen(name));
}
int enif_make_existing_atom_len(Env*, const char* name, size_t n, Word* out, int encoding) {
    return get_atom(atom_table::find, name, n, out, encoding);
}
int enif_make_existing_atom(Env* env, const char* name, Word* out, int encoding) {
    return enif_make_existing_atom_len(env, name, std::strlen(name), out, encoding);
}
int enif_get_atom_length(Env*, Word t, unsigned* length, int encoding) {
    std::string text;
    if (!is_atom(term_of(t)) || atom_bytes(term_of(t), encoding, &text) < 0) {
        return 0;
    }
    *length = static_cast<unsigned>(text.size());
    return 1;
}
int enif_get_atom(Env*, Word t, char* buffer, unsigned size, int encoding) {
    std::string text;
    if (size == 0 || !is_atom(term_of(t)) || atom_bytes(term_of(t), encoding, &text) < 0 ||
        text.size() >= size) {
        return 0;
    }
    std::memcpy(buffer, text.c_str(), text.size() + 1);
    return static_cast<int>(text.size()) + 1;
}

// ---- lists and tuples ---------------------------------------------------------------------------

int enif_get_list_cell(Env*, Word t, Word* first, Word* rest) {
    if (!is_cons(term_of(t))) {
        return 0;
    }
    *first = word_of(head(term_of(t)));
    *rest = word_of(tail(term_of(t)));
    return 1;
}
int enif_get_list_length(Env*, Word t, unsigned* length) {
    const int64_t n = list_length(term_of(t));
    if (n < 0) {
        return 0;
    }
    *length = static_cast<unsigned>(n);
    return 1;
}
int enif_get_tuple(Env* env, Word t, int* arity, const Word** elements) {
    if (!is_tuple(term_of(t))) {
        return 0;
    }
    const Term* const held = tuple_elements(term_of(t));
    const size_t n = tuple_arity(term_of(t));
    *arity = static_cast<int>(n);
    *elements = reinterpret_cast<const Word*>(held);
    if (std::find(held, held + n, make_small(0)) != held + n) {
        *elements = words_for(env, held, n);
    }
    return 1;
}
Word enif_make_tuple_from_array(Env* env, const Word* elements, unsigned n) {
    return make_tuple_of(env, elements, n);
}
Word enif_make_list_from_array(Env* env, const Word* elements, unsigned n) {
    return make_list_of(env, elements, n);
}
Word enif_make_tuple(Env* env, unsigned n, ...) {
    std::vector<Word> elements(n);
    va_list arguments;
    va_start(arguments, n);
    for (Word& e : elements) {
        e = va_arg(arguments, Word);
    }
    va_end(arguments);
    return make_tuple_of(env, elements.data(), n);
}
Word enif_make_list(Env* env, unsigned n, ...) {
    std::vector<Word> elements(n);
    va_list arguments;
    va_start(arguments, n);
    for (Word& e : elements) {
        e = va_arg(arguments, Word);
    }
    va_end(arguments);
    return make_list_of(env, elements.data(), n);
}
Word enif_make_list_cell(Env* env, Word first, Word rest) {
    return cons(heap_of(env), term_of(first), term_of(rest)).raw;
}
int enif_make_reverse_list(Env* env, Word t, Word* out) {
    Term reversed = kNil;
    Term list = term_of(t);
    for (; is_cons(list); list = tail(list)) {
        reversed = cons(heap_of(env), head(list), reversed);
    }
    if (!is_nil(list)) {
        return 0;
    }
    *out = reversed.raw;
    return 1;
}

// The bytes that a copy of the term would take.
size_t enif_term_size(Word t) { return flat_size_of_term(term_of(t)) * sizeof(Term); }

int enif_make_new_atom_len(Env*, const char* name, size_t n, Word* out, int encoding) {
    return get_atom(atom_table::intern, name, n, out, encoding);
}
int enif_make_new_atom(Env* env, const char* name, Word* out, int encoding) {
    return enif_make_new_atom_len(env, name, std::strlen(name), out, encoding);
}

// ---- strings ------------------------------------------------------------------------------------

static bool is_utf8(const char* text, size_t n) {
    const auto* const bytes = reinterpret_cast<const uint8_t*>(text);
    uint32_t c = 0;
    bool more = false;
    for (size_t i = 0; i < n;) {
        const unsigned length = utf8_decode(bytes + i, n - i, &c, &more);
        if (length == 0) {
            return false;
        }
        i += length;
    }
    return true;
}

Word enif_make_string_len(Env* env, const char* text, size_t n, int encoding) {
    if (encoding == kUtf8 && !is_utf8(text, n)) {
        return swap_zero(raise_badarg(env));
    }
    // OTP 25 knows one encoding and does not look at the argument.
    return (encoding == kUtf8 ? make_string_utf8(heap_of(env), text, n)
                              : make_string(heap_of(env), text, n))
        .raw;
}
Word enif_make_string(Env* env, const char* text, int encoding) {
    return enif_make_string_len(env, text, std::strlen(text), encoding);
}
int enif_get_string_length(Env*, Word t, unsigned* length, int encoding) {
    if (encoding == kUtf8) {
        std::string text;
        if (!utf8_of_list(term_of(t), &text)) {
            return 0;
        }
        *length = static_cast<unsigned>(text.size());
        return 1;
    }
    unsigned n = 0;
    Term list = term_of(t);
    for (; is_cons(list); list = tail(list)) {
        const Term c = head(list);
        if (encoding != kLatin1 || !is_small(c) || small_value(c) < 0 || small_value(c) > 255) {
            return 0;
        }
        n++;
    }
    if (!is_nil(list)) {
        return 0;
    }
    *length = n;
    return 1;
}
// The bytes written, the zero included; negative if the buffer is too small for all.
int enif_get_string(Env*, Word t, char* buffer, unsigned size, int encoding) {
    if (size >= 1 && encoding == kUtf8) {
        std::string text;
        if (!utf8_of_list(term_of(t), &text)) {
            buffer[0] = '\0';
            return 0;
        }
        const bool fits = text.size() < size;
        size_t n = fits ? text.size() : size - 1;
        while (!fits && n > 0 && (static_cast<uint8_t>(text[n]) & 0xC0) == 0x80) {
            --n;  // no part of a character
        }
        std::memcpy(buffer, text.data(), n);
        buffer[n] = '\0';
        return fits ? static_cast<int>(n) + 1 : -static_cast<int>(n + 1);
    }
    if (size < 1 || encoding != kLatin1) {
        return 0;
    }
    unsigned n = 0;
    Term list = term_of(t);
    for (; is_cons(list); list = tail(list)) {
        const Term c = head(list);
        if (!is_small(c) || small_value(c) < 0 || small_value(c) > 255) {
            buffer[n] = '\0';
            return 0;
        }
        if (n + 1 == size) {
            buffer[n] = '\0';
            return -static_cast<int>(size);
        }
        buffer[n++] = static_cast<char>(small_value(c));
    }
    buffer[n] = '\0';
    return is_nil(list) ? static_cast<int>(n) + 1 : 0;
}

// ---- maps ---------------------------------------------------------------------------------------

Word enif_make_new_map(Env* env) {
    return map::empty(heap_of(env)).raw;
}
int enif_get_map_size(Env*, Word t, size_t* size) {
    if (!is_map(term_of(t))) {
        return 0;
    }
    *size = map_size(term_of(t));
    return 1;
}
int enif_get_map_value(Env*, Word t, Word key, Word* value) {
    if (!is_map(term_of(t))) {
        return 0;
    }
    const Term v = map::get(term_of(t), term_of(key));
    if (!is_value(v)) {
        return 0;
    }
    *value = word_of(v);
    return 1;
}
int enif_make_map_put(Env* env, Word t, Word key, Word value, Word* out) {
    if (!is_map(term_of(t))) {
        return 0;
    }
    *out = map::put(heap_of(env), term_of(t), term_of(key), term_of(value)).raw;
    return 1;
}
int enif_make_map_update(Env* env, Word t, Word key, Word value, Word* out) {
    if (!is_map(term_of(t))) {
        return 0;
    }
    const Term updated = map::update(heap_of(env), term_of(t), term_of(key), term_of(value));
    if (!is_value(updated)) {
        return 0;
    }
    *out = updated.raw;
    return 1;
}
int enif_make_map_remove(Env* env, Word t, Word key, Word* out) {
    if (!is_map(term_of(t))) {
        return 0;
    }
    *out = map::remove(heap_of(env), term_of(t), term_of(key)).raw;
    return 1;
}
int enif_make_map_from_arrays(Env* env, const Word* keys, const Word* values, size_t n, Word* out) {
    // from_pairs() may reorder its arguments.
    std::vector<Term> k(n);
    std::vector<Term> v(n);
    for (size_t i = 0; i < n; ++i) {
        k[i] = term_of(keys[i]);
        v[i] = term_of(values[i]);
    }
    const Term made = map::from_pairs(heap_of(env), k.data(), v.data(), n);
    if (map_size(made) != n) {
        return 0;  // a key is there twice
    }
    *out = made.raw;
    return 1;
}

int enif_map_iterator_create(Env*, Word t, MapIterator* i, int entry) {
    const Term m = term_of(t);
    if (!is_map(m) || (entry != kFirst && entry != kLast)) {
        return 0;
    }
    *i = MapIterator{};
    i->map = t;
    i->size = map_size(m);
    i->index = entry == kFirst ? 1 : i->size;
    if (is_flat_map(m)) {
        i->keys = tuple_elements(boxed_ptr(m)[1]);
        i->values = boxed_ptr(m) + 2;
        return 1;
    }
    i->values = static_cast<Term*>(std::malloc(2 * i->size * sizeof(Term)));
    MINIVM_CHECK(i->values != nullptr);
    map::Iterator pairs(m);
    for (Term* p = i->values; pairs.next(p, p + 1); p += 2) {
    }
    return 1;
}
void enif_map_iterator_destroy(Env*, MapIterator* i) {
    if (i->keys == nullptr) {
        std::free(i->values);
    }
    i->values = nullptr;
    i->map = word_of(kNonValue);
}
int enif_map_iterator_is_head(Env*, MapIterator* i) {
    return i->size == 0 || i->index == 0;
}
int enif_map_iterator_is_tail(Env*, MapIterator* i) {
    return i->size == 0 || i->index > i->size;
}
int enif_map_iterator_next(Env*, MapIterator* i) {
    if (i->index <= i->size) {
        ++i->index;
    }
    return i->index <= i->size;
}
int enif_map_iterator_prev(Env*, MapIterator* i) {
    if (i->index > 0) {
        --i->index;
    }
    return i->index > 0;
}
int enif_map_iterator_get_pair(Env*, MapIterator* i, Word* key, Word* value) {
    if (i->index == 0 || i->index > i->size) {
        return 0;
    }
    const Word n = i->index - 1;
    *key = word_of(i->keys != nullptr ? i->keys[n] : i->values[2 * n]);
    *value = word_of(i->keys != nullptr ? i->values[n] : i->values[2 * n + 1]);
    return 1;
}

// ---- references, copies, exceptions -------------------------------------------------------------

Word enif_make_ref(Env* env) {
    return put_ref(heap_of(env).alloc(kRefWords), new_ref_id(this_scheduler())).raw;
}
Word enif_make_copy(Env* env, Word t) {
    // An environment without a process has its own copies of literals.
    return word_of(copy_term(term_of(t), heap_of(env), env->process != nullptr));
}
Word enif_make_badarg(Env* env) {
    return swap_zero(raise_badarg(env));
}
Word enif_raise_exception(Env* env, Word reason) {
    return swap_zero(raise(env, term_of(reason)));
}
int enif_has_pending_exception(Env* env, Word* reason) {
    if (env->exception && reason != nullptr) {
        *reason = word_of(env->reason);
    }
    return env->exception;
}

// ---- environments -------------------------------------------------------------------------------

Env* enif_alloc_env() {
    return new Env(nullptr);
}
void enif_free_env(Env* env) {
    delete env;
}
void enif_clear_env(Env* env) {
    env->clear();
}
void* enif_priv_data(Env* env) {
    return env->library != nullptr ? env->library->priv_data : nullptr;
}

}  // extern "C"

}  // namespace minivm::nif
