// Functions for nif_newer.erl: what came with the interface of OTP 26 to 28, which the headers of OTP 25 lack.
// Weak: where the VM does not have one, what it would answer is not_there.
#include <erl_nif.h>

#include <string.h>

#define UTF8 2
#define HERE __attribute__((weak))

extern int HERE enif_get_string_length(ErlNifEnv*, ERL_NIF_TERM, unsigned*, int encoding);
extern int HERE enif_make_new_atom(ErlNifEnv*, const char*, ERL_NIF_TERM*, int encoding);
extern int HERE enif_make_new_atom_len(ErlNifEnv*, const char*, size_t, ERL_NIF_TERM*, int encoding);
extern size_t HERE enif_term_size(ERL_NIF_TERM);

static ERL_NIF_TERM atom(ErlNifEnv* env, const char* name) { return enif_make_atom(env, name); }

static ERL_NIF_TERM string_length(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    unsigned n = 12345;
    int encoding;
    if (enif_get_string_length == NULL) return atom(env, "not_there");
    if (!enif_get_int(env, argv[1], &encoding)) return enif_make_badarg(env);
    return enif_get_string_length(env, argv[0], &n, encoding) ? enif_make_uint(env, n) : atom(env, "false");
}

// get_string(String, BytesOfBuffer) -> {What it answers, what stands in the buffer before its zero}
static ERL_NIF_TERM get_string(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    char buffer[16];
    unsigned size;
    int answer;
    ERL_NIF_TERM text;
    size_t n;
    if (enif_get_string_length == NULL) return atom(env, "not_there");
    if (!enif_get_uint(env, argv[1], &size) || size > sizeof buffer) return enif_make_badarg(env);
    memset(buffer, '?', sizeof buffer);
    answer = enif_get_string(env, argv[0], buffer, size, UTF8);
    n = strnlen(buffer, size);
    memcpy(enif_make_new_binary(env, n, &text), buffer, n);
    return enif_make_tuple2(env, enif_make_int(env, answer), text);
}

static ERL_NIF_TERM new_atom(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    ErlNifBinary name;
    ERL_NIF_TERM made = 0;
    int encoding, ok;
    if (enif_make_new_atom_len == NULL) return atom(env, "not_there");
    if (!enif_inspect_binary(env, argv[0], &name) || !enif_get_int(env, argv[1], &encoding)) return enif_make_badarg(env);
    ok = enif_make_new_atom_len(env, (const char*)name.data, name.size, &made, encoding);
    if (ok && name.size > 0 && memchr(name.data, 0, name.size) == NULL) {
        char text[2000];
        ERL_NIF_TERM again = 0;
        memcpy(text, name.data, name.size);
        text[name.size] = 0;
        if (!enif_make_new_atom(env, text, &again, encoding) || again != made) return atom(env, "differs");
    }
    return ok ? made : atom(env, "false");
}

static ERL_NIF_TERM term_size(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    if (enif_term_size == NULL) return atom(env, "not_there");
    return enif_make_uint64(env, enif_term_size(argv[0]) / sizeof(ERL_NIF_TERM));
}

// make_string(Bytes) -> its characters
static ERL_NIF_TERM make_string(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    ErlNifBinary bytes;
    if (enif_get_string_length == NULL) return atom(env, "not_there");
    if (!enif_inspect_binary(env, argv[0], &bytes)) return atom(env, "no_binary");
    return enif_make_string_len(env, (const char*)bytes.data, bytes.size, UTF8);
}

static ErlNifFunc functions[] = {
    {"string_length", 2, string_length, 0}, {"get_string", 2, get_string, 0}, {"new_atom", 2, new_atom, 0},
    {"term_size", 1, term_size, 0}, {"make_string", 1, make_string, 0}};
ERL_NIF_INIT(nif_newer, functions, NULL, NULL, NULL, NULL)
