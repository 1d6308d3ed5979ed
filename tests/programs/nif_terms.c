// Functions for nif_terms.erl: what the interface says of any term, and terms it makes.
#include <erl_nif.h>

#include <string.h>

#define A(name) enif_make_atom(env, name)
#define I(value) enif_make_int(env, value)
#define PAIR(name, value) list = enif_make_list_cell(env, enif_make_tuple2(env, A(name), value), list)

// What each is_... and get_... says of a term.
static ERL_NIF_TERM inspect(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    const ERL_NIF_TERM t = argv[0];
    ERL_NIF_TERM list = enif_make_list(env, 0);
    int i;
    unsigned u;
    long l;
    unsigned long ul;
    ErlNifSInt64 s64;
    ErlNifUInt64 u64;
    double d;
    ErlNifBinary bin;
    ERL_NIF_TERM head, tail;
    const ERL_NIF_TERM* elements;
    char text[64];
    size_t size;
    ErlNifPid pid;
    ErlNifPort port;
    PAIR("atom", I(!!enif_is_atom(env, t)));
    PAIR("binary", I(!!enif_is_binary(env, t)));
    PAIR("ref", I(!!enif_is_ref(env, t)));
    PAIR("fun", I(!!enif_is_fun(env, t)));
    PAIR("pid", I(!!enif_is_pid(env, t)));
    PAIR("port", I(!!enif_is_port(env, t)));
    PAIR("empty_list", I(!!enif_is_empty_list(env, t)));
    PAIR("list", I(!!enif_is_list(env, t)));
    PAIR("tuple", I(!!enif_is_tuple(env, t)));
    PAIR("number", I(!!enif_is_number(env, t)));
    PAIR("map", I(!!enif_is_map(env, t)));
    PAIR("exception", I(!!enif_is_exception(env, t)));
    PAIR("type", I(enif_term_type(env, t)));
    if (enif_get_int(env, t, &i)) PAIR("get_int", enif_make_int(env, i));
    if (enif_get_uint(env, t, &u)) PAIR("get_uint", enif_make_uint(env, u));
    if (enif_get_long(env, t, &l)) PAIR("get_long", enif_make_long(env, l));
    if (enif_get_ulong(env, t, &ul)) PAIR("get_ulong", enif_make_ulong(env, ul));
    if (enif_get_int64(env, t, &s64)) PAIR("get_int64", enif_make_int64(env, s64));
    if (enif_get_uint64(env, t, &u64)) PAIR("get_uint64", enif_make_uint64(env, u64));
    if (enif_get_double(env, t, &d)) PAIR("get_double", enif_make_double(env, d));
    if (enif_inspect_binary(env, t, &bin)) PAIR("inspect", enif_make_binary(env, &bin));
    if (enif_inspect_iolist_as_binary(env, t, &bin)) PAIR("inspect_iolist", enif_make_binary(env, &bin));
    if (enif_get_list_cell(env, t, &head, &tail)) PAIR("cell", enif_make_tuple2(env, tail, head));
    if (enif_get_list_length(env, t, &u)) PAIR("length", I((int)u));
    if (enif_get_tuple(env, t, &i, &elements)) PAIR("elements", enif_make_list_from_array(env, elements, i));
    if (enif_get_map_size(env, t, &size)) PAIR("map_size", I((int)size));
    if (enif_get_atom_length(env, t, &u, ERL_NIF_LATIN1)) PAIR("atom_length", I((int)u));
    for (unsigned room = 0; room <= 4; ++room) {
        memset(text, 'x', sizeof text);
        i = enif_get_atom(env, t, text, room, ERL_NIF_LATIN1);
        PAIR("get_atom", enif_make_tuple2(env, I(i), enif_make_string(env, i > 0 ? text : "", ERL_NIF_LATIN1)));
        memset(text, 'x', sizeof text);
        i = enif_get_string(env, t, text, room, ERL_NIF_LATIN1);
        PAIR("get_string", enif_make_tuple2(env, I(i), enif_make_string(env, i != 0 ? text : "", ERL_NIF_LATIN1)));
    }
    if (enif_get_local_pid(env, t, &pid)) PAIR("local_pid", enif_make_pid(env, &pid));
    if (enif_get_local_port(env, t, &port)) PAIR("local_port", A("yes"));
    if (enif_make_reverse_list(env, t, &tail)) PAIR("reversed", tail);
    PAIR("copy", enif_make_copy(env, t));
    PAIR("phash2", enif_make_uint64(env, enif_hash(ERL_NIF_PHASH2, t, 0)));
    PAIR("own_hash", I(enif_hash(ERL_NIF_INTERNAL_HASH, t, 1) == enif_hash(ERL_NIF_INTERNAL_HASH, enif_make_copy(env, t), 1)));
    return list;
}

static int sign(int v) { return (v > 0) - (v < 0); }

static ERL_NIF_TERM compare(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    return enif_make_tuple2(env, I(sign(enif_compare(argv[0], argv[1]))),
                            I(!!enif_is_identical(argv[0], argv[1])));
}

static ERL_NIF_TERM text(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    char buffer[4096];
    const int n = enif_snprintf(buffer, sizeof buffer, "%T", argv[0]);
    return enif_make_tuple2(env, I(n == (int)strlen(buffer)), enif_make_string(env, buffer, ERL_NIF_LATIN1));
}

static ERL_NIF_TERM formats(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    char b[1000];
    enif_snprintf(b, sizeof b, "%d|%5d|%-5d|%05d|%u|%x|%X|%o|%c|%s|%10s|%-10s|%.2s|%ld|%lu|%lld|%f|%.3f|%e|%%|%T|%s",
                  -1, 42, 42, 42, 7u, 255, 255, 8, 'c', "str", "right", "left", "cut", -5L, 5UL, 6LL,
                  1.5, 2.0, 12345.678, argv[0], "end");
    return enif_make_string(env, b, ERL_NIF_LATIN1);
}

// The length of a term's text, as a thread with a small stack finds it.
typedef struct {
    ERL_NIF_TERM term;
    int length;
} Printed;
static void* print(void* data)
{
    Printed* p = data;
    const size_t size = 1000000;
    char* text = enif_alloc(size);
    p->length = enif_snprintf(text, size, "%T", p->term);
    enif_free(text);
    return NULL;
}
// text_on_small_stack(Kind, N): of N terms, one in the other, or one after the other in a list.
static ERL_NIF_TERM text_on_small_stack(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    ErlNifEnv* own = enif_alloc_env();
    ERL_NIF_TERM t = enif_make_list(own, 0), map;
    Printed p;
    int n = 0;
    ErlNifTid tid;
    ErlNifThreadOpts* options = enif_thread_opts_create("small");
    enif_get_int(env, argv[1], &n);
    while (n-- > 0) {
        if (enif_is_identical(argv[0], A("tuples"))) t = enif_make_tuple1(own, t);
        else if (enif_is_identical(argv[0], A("lists"))) t = enif_make_list1(own, t);
        else if (enif_is_identical(argv[0], A("maps"))) map = enif_make_new_map(own), enif_make_map_put(own, map, A("k"), t, &t);
        else if (enif_is_identical(argv[0], A("pairs"))) t = enif_make_tuple2(own, A("x"), t);
        else t = enif_make_list_cell(own, argv[0], t);
    }
    p.term = t;
    options->suggested_stack_size = 32;
    enif_thread_create("printer", &tid, print, &p, options);
    enif_thread_join(tid, NULL);
    enif_thread_opts_destroy(options);
    enif_free_env(own);
    return I(p.length);
}

// Whether there is room for so many bytes, in a new binary and in one that is there; and what is left of that.
static ERL_NIF_TERM room(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    ErlNifUInt64 size = 0;
    ErlNifBinary bin;
    int fresh, grown;
    enif_get_uint64(env, argv[0], &size);
    fresh = enif_alloc_binary(size, &bin);
    if (fresh) enif_release_binary(&bin);
    if (!enif_alloc_binary(3, &bin)) return A("no_room");
    memcpy(bin.data, "abc", 3);
    grown = enif_realloc_binary(&bin, size);
    if (bin.size > 3) enif_realloc_binary(&bin, 3);
    return enif_make_tuple3(env, I(!!fresh), I(!!grown), enif_make_binary(env, &bin));
}

// Terms of each kind.
static ERL_NIF_TERM make(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    ERL_NIF_TERM list = enif_make_list(env, 0);
    ERL_NIF_TERM t;
    ErlNifBinary bin;
    unsigned char* bytes;
    PAIR("ints", enif_make_list(env, 6, enif_make_int(env, -2147483647 - 1), enif_make_uint(env, 4294967295u),
                                enif_make_int64(env, ERL_NAPI_SINT64_MAX__), enif_make_int64(env, ERL_NAPI_SINT64_MIN__),
                                enif_make_uint64(env, ~0ul), enif_make_uint64(env, 1ul << 60)));
    PAIR("edges", enif_make_list(env, 4, enif_make_int64(env, (1l << 59) - 1), enif_make_int64(env, 1l << 59),
                                 enif_make_int64(env, -(1l << 60)), enif_make_int64(env, -(1l << 60) - 1)));
    PAIR("doubles", enif_make_list(env, 5, enif_make_double(env, 0.5), enif_make_double(env, 1e300),
                                   enif_make_double(env, -1e-300), enif_make_double(env, 0.0), enif_make_double(env, 1.0)));
    PAIR("atoms", enif_make_list(env, 3, enif_make_atom(env, "\xe9t\xe9"), enif_make_atom_len(env, "abcdef", 3),
                                 enif_make_atom(env, "")));
    PAIR("existing", I(enif_make_existing_atom(env, "no atom of this name exists", &t, ERL_NIF_LATIN1)));
    PAIR("existing", enif_make_existing_atom(env, "ok", &t, ERL_NIF_LATIN1) ? t : A("none"));
    PAIR("existing", enif_make_existing_atom_len(env, "errorXX", 5, &t, ERL_NIF_LATIN1) ? t : A("none"));
    PAIR("strings", enif_make_list(env, 3, enif_make_string(env, "text \xff", ERL_NIF_LATIN1),
                                   enif_make_string_len(env, "a\0b", 3, ERL_NIF_LATIN1), enif_make_string(env, "", ERL_NIF_LATIN1)));
    PAIR("tuples", enif_make_list(env, 3, enif_make_tuple(env, 0), enif_make_tuple1(env, A("a")),
                                  enif_make_tuple9(env, I(1), I(2), I(3), I(4), I(5), I(6), I(7), I(8), I(9))));
    PAIR("lists", enif_make_list3(env, enif_make_list_from_array(env, NULL, 0), enif_make_list1(env, I(1)),
                                  enif_make_list_cell(env, I(1), I(2))));
    bytes = enif_make_new_binary(env, 200, &t);
    for (int i = 0; i < 200; ++i) bytes[i] = (unsigned char)i;
    PAIR("new_binary", t);
    PAIR("sub_binary", enif_make_sub_binary(env, t, 10, 100));
    PAIR("sub_binary", enif_make_sub_binary(env, t, 200, 0));
    bytes = enif_make_new_binary(env, 0, &t);
    PAIR("empty", t);
    enif_alloc_binary(5, &bin);
    memcpy(bin.data, "hello", 5);
    enif_realloc_binary(&bin, 300);
    memset(bin.data + 5, '!', 295);
    enif_realloc_binary(&bin, 8);
    PAIR("realloc", enif_make_binary(env, &bin));
    enif_alloc_binary(1000, &bin);
    memset(bin.data, 'b', 1000);
    t = enif_make_binary(env, &bin);
    PAIR("large", t);
    // An inspected binary becomes one of our own when it grows.
    enif_inspect_binary(env, t, &bin);
    enif_realloc_binary(&bin, 1002);
    bin.data[1000] = '?';
    bin.data[1001] = '!';
    PAIR("grown", enif_make_binary(env, &bin));
    enif_alloc_binary(77, &bin);
    enif_release_binary(&bin);
    PAIR("term_to_binary", enif_term_to_binary(env, argv[0], &bin) ? enif_make_binary(env, &bin) : A("failed"));
    PAIR("ref", I(enif_is_ref(env, enif_make_ref(env)) && !enif_is_identical(enif_make_ref(env), enif_make_ref(env))));
    return list;
}

static ERL_NIF_TERM from_binary(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    ErlNifBinary bin;
    ERL_NIF_TERM t;
    int safe;
    size_t used;
    if (!enif_inspect_binary(env, argv[0], &bin) || !enif_get_int(env, argv[1], &safe)) {
        return enif_make_badarg(env);
    }
    used = enif_binary_to_term(env, bin.data, bin.size, &t, safe ? ERL_NIF_BIN2TERM_SAFE : 0);
    return used == 0 ? A("malformed") : enif_make_tuple2(env, I((int)used), t);
}

// Calls that raise; each in turn.
static ERL_NIF_TERM raising(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    char name[300];
    int which = 0;
    memset(name, 'a', sizeof name);
    name[256] = 0;
    enif_get_int(env, argv[0], &which);
    switch (which) {
        case 0:
            return enif_make_double(env, 1e308 * 10);
        case 1:
            return enif_make_double(env, 0.0 / (argc - 1));
        case 2:
            return enif_make_atom(env, name);
        case 3:
            name[255] = 0;
            return I(enif_is_atom(env, enif_make_atom(env, name)));
        case 4:
            return enif_make_string(env, "x", (ErlNifCharEncoding)77);
        case 5: {
            ERL_NIF_TERM reason = A("none");
            const ERL_NIF_TERM t = enif_make_badarg(env);
            enif_has_pending_exception(env, &reason);
            return enif_is_exception(env, t) && enif_has_pending_exception(env, NULL) && enif_is_identical(reason, A("badarg"))
                       ? enif_raise_exception(env, enif_make_tuple1(env, A("replaced")))
                       : A("wrong");
        }
        default:
            return enif_make_badarg(env);
    }
}

// [{Key, Value}] in the iterator's order, there and back.
static ERL_NIF_TERM walk(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    ErlNifMapIterator i;
    ERL_NIF_TERM key, value, there = enif_make_list(env, 0), back = enif_make_list(env, 0);
    int tails, heads;
    if (!enif_map_iterator_create(env, argv[0], &i, ERL_NIF_MAP_ITERATOR_FIRST)) {
        return enif_make_badarg(env);
    }
    heads = enif_map_iterator_is_head(env, &i);
    while (enif_map_iterator_get_pair(env, &i, &key, &value)) {
        there = enif_make_list_cell(env, enif_make_tuple2(env, key, value), there);
        enif_map_iterator_next(env, &i);
    }
    tails = enif_map_iterator_is_tail(env, &i);
    enif_map_iterator_destroy(env, &i);
    enif_map_iterator_create(env, argv[0], &i, ERL_NIF_MAP_ITERATOR_LAST);
    while (enif_map_iterator_get_pair(env, &i, &key, &value)) {
        back = enif_make_list_cell(env, enif_make_tuple2(env, key, value), back);
        enif_map_iterator_prev(env, &i);
    }
    heads += 2 * enif_map_iterator_is_head(env, &i);
    // And on again from before the first.
    key = A("none");
    if (enif_map_iterator_next(env, &i)) enif_map_iterator_get_pair(env, &i, &key, &value);
    enif_map_iterator_destroy(env, &i);
    return enif_make_tuple5(env, there, back, I(heads), I(!!tails), key);
}

static ERL_NIF_TERM change(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    ERL_NIF_TERM out[5];
    for (int i = 0; i < 5; ++i) out[i] = A("none");
    enif_get_map_value(env, argv[0], argv[1], &out[0]);
    enif_make_map_put(env, argv[0], argv[1], argv[2], &out[1]);
    enif_make_map_update(env, argv[0], argv[1], argv[2], &out[2]);
    enif_make_map_remove(env, argv[0], argv[1], &out[3]);
    out[4] = enif_make_new_map(env);
    return enif_make_tuple_from_array(env, out, 5);
}

static ERL_NIF_TERM from_arrays(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    ERL_NIF_TERM keys[200], values[200], rest = argv[0], pair, out;
    const ERL_NIF_TERM* kv;
    int n = 0, arity;
    while (enif_get_list_cell(env, rest, &pair, &rest) && enif_get_tuple(env, pair, &arity, &kv)) {
        keys[n] = kv[0];
        values[n++] = kv[1];
    }
    return enif_make_map_from_arrays(env, keys, values, n, &out) ? out : A("duplicate");
}

// A term that outlives others in an environment of its own.
static ERL_NIF_TERM through(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    ErlNifEnv* own = enif_alloc_env();
    ERL_NIF_TERM t = enif_make_copy(own, argv[0]);
    ERL_NIF_TERM result = enif_make_copy(env, enif_make_tuple2(own, t, t));
    ErlNifPid pid;
    const int none = enif_self(own, &pid) == NULL;
    enif_clear_env(own);
    t = enif_make_string(own, "again", ERL_NIF_LATIN1);
    result = enif_make_tuple3(env, result, enif_make_copy(env, t), I(none));
    enif_free_env(own);
    return result;
}

static ErlNifFunc functions[] = {
    {"inspect", 1, inspect, 0}, {"compare", 2, compare, 0}, {"text", 1, text, 0}, {"formats", 1, formats, 0},
    {"make", 1, make, 0}, {"from_binary", 2, from_binary, 0}, {"raising", 1, raising, 0}, {"walk", 1, walk, 0},
    {"change", 3, change, 0}, {"from_arrays", 1, from_arrays, 0}, {"through", 1, through, 0},
    {"text_on_small_stack", 2, text_on_small_stack, 0}, {"room", 1, room, 0},
    {"through_dirty", 1, through, ERL_NIF_DIRTY_JOB_CPU_BOUND},
};
ERL_NIF_INIT(nif_terms, functions, NULL, NULL, NULL, NULL)
