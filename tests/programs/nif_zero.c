// Functions for nif_zero.erl. Libraries take a word of zero for "no term" (fast_yaml does); OTP never gives them one.
#include <erl_nif.h>

static ERL_NIF_TERM at_load;
static int loaded_with;

static ERL_NIF_TERM truth(ErlNifEnv* env, int yes) { return enif_make_atom(env, yes ? "true" : "false"); }

static ERL_NIF_TERM made(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    ERL_NIF_TERM all[6];
    all[0] = enif_make_int(env, 0);
    all[1] = enif_make_uint(env, 0);
    all[2] = enif_make_long(env, 0);
    all[3] = enif_make_ulong(env, 0);
    all[4] = enif_make_int64(env, 0);
    all[5] = enif_make_uint64(env, 0);
    for (int i = 0; i < 6; ++i)
        if (!all[i]) return enif_make_int(env, i);
    return enif_make_tuple2(env, enif_make_tuple_from_array(env, all, 6), enif_make_list_from_array(env, all, 6));
}

// given(0, [0 | 0], {0, a, 0}, #{0 => 0}, Binary of 0) -> what each of them shows
static ERL_NIF_TERM given(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    ERL_NIF_TERM zero = enif_make_int(env, 0);
    ERL_NIF_TERM head, tail, key, value, decoded;
    ERL_NIF_TERM shown[12];
    const ERL_NIF_TERM* elements;
    const ERL_NIF_TERM* unowned;
    ErlNifMapIterator i;
    ErlNifBinary bytes;
    ErlNifEnv* other = enif_alloc_env();
    int arity, n = -1;
    long same;
    shown[0] = truth(env, argv[0] == zero && enif_get_int(env, argv[0], &n) && n == 0);
    shown[1] = truth(env, enif_get_list_cell(env, argv[1], &head, &tail) && head == zero && tail == zero);
    shown[2] = truth(env, enif_get_tuple(env, argv[2], &arity, &elements) && arity == 3 && elements[0] == zero &&
                              elements[1] == enif_make_atom(env, "a") && elements[2] == zero);
    shown[3] = truth(env, enif_get_tuple(NULL, argv[2], &arity, &unowned) && unowned[2] == zero && elements[2] == zero);
    shown[4] = truth(env, enif_get_map_value(env, argv[3], zero, &value) && value == zero);
    enif_map_iterator_create(env, argv[3], &i, ERL_NIF_MAP_ITERATOR_FIRST);
    shown[5] = truth(env, enif_map_iterator_get_pair(env, &i, &key, &value) && key == zero && value == zero);
    enif_map_iterator_destroy(env, &i);
    shown[6] = truth(env, enif_inspect_binary(env, argv[4], &bytes) &&
                              enif_binary_to_term(env, bytes.data, bytes.size, &decoded, 0) && decoded == zero);
    shown[7] = truth(env, enif_make_copy(other, zero) == zero && enif_get_long(other, zero, &same) && same == 0);
    shown[8] = truth(env, enif_is_number(env, zero) && enif_term_type(env, zero) == ERL_NIF_TERM_TYPE_INTEGER);
    shown[9] = truth(env, enif_is_identical(zero, head) && enif_compare(zero, enif_make_int(env, 1)) < 0);
    shown[10] = truth(env, loaded_with && at_load == zero);
    shown[11] = truth(env, !enif_is_exception(env, zero));
    enif_free_env(other);
    return enif_make_list_from_array(env, shown, 12);
}

static ERL_NIF_TERM same(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) { return argv[0]; }

static ERL_NIF_TERM later(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    return enif_schedule_nif(env, "same", 0, same, 1, argv);
}

static ERL_NIF_TERM raised(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    ERL_NIF_TERM reason = 1;
    ERL_NIF_TERM none = enif_raise_exception(env, argv[0]);
    if (none || !enif_is_exception(env, none) || !enif_has_pending_exception(env, &reason) || reason != argv[0])
        return enif_make_badarg(env);
    return none;
}

static ERL_NIF_TERM bad(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    ERL_NIF_TERM none = enif_make_badarg(env);
    return none ? enif_raise_exception(env, enif_make_atom(env, "some_term")) : none;
}

static int load(ErlNifEnv* env, void** data, ERL_NIF_TERM info)
{
    at_load = info;
    loaded_with = info != 0;
    return 0;
}

static ErlNifFunc functions[] = {{"made", 0, made, 0}, {"given", 5, given, 0}, {"same", 1, same, 0},
                                 {"later", 1, later, 0}, {"raised", 1, raised, 0}, {"bad", 0, bad, 0}};

ERL_NIF_INIT(nif_zero, functions, load, NULL, NULL, NULL)
