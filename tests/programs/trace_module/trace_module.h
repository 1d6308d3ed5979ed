// Callbacks of a tracer that do what their state says, {To, Answers}: enabled and its like answer what
// the map Answers has for the tag (else discard), and tell To of the question if it has the key `log`;
// trace and its like tell To all they get, and in which process they are.
#pragma once

#include <erl_nif.h>

static int get_state(ErlNifEnv* env, ERL_NIF_TERM state, ErlNifPid* to, ERL_NIF_TERM* answers)
{
    int arity;
    const ERL_NIF_TERM* elements;
    if (!enif_get_tuple(env, state, &arity, &elements) || arity != 2) {
        return 0;
    }
    *answers = elements[1];
    return enif_get_local_pid(env, elements[0], to) && enif_is_map(env, elements[1]);
}

static ERL_NIF_TERM self(ErlNifEnv* env)
{
    ErlNifPid pid;
    return enif_self(env, &pid) != NULL ? enif_make_pid(env, &pid) : enif_make_atom(env, "none");
}

static ERL_NIF_TERM ask(ErlNifEnv* env, const char* function, const ERL_NIF_TERM argv[])
{
    ErlNifPid to;
    ERL_NIF_TERM answers, answer;
    if (!get_state(env, argv[1], &to, &answers)) {
        return enif_make_atom(env, "discard");
    }
    if (enif_get_map_value(env, answers, enif_make_atom(env, "log"), &answer)) {
        enif_send(env, &to, NULL,
                  enif_make_tuple4(env, enif_make_atom(env, function), argv[0], argv[2], self(env)));
    }
    if (!enif_get_map_value(env, answers, argv[0], &answer)) {
        return enif_make_atom(env, "discard");
    }
    return enif_is_identical(answer, enif_make_atom(env, "raise")) ? enif_make_badarg(env) : answer;
}

static ERL_NIF_TERM tell(ErlNifEnv* env, const char* function, const ERL_NIF_TERM argv[])
{
    ErlNifPid to;
    ERL_NIF_TERM answers;
    if (get_state(env, argv[1], &to, &answers)) {
        // More than a small heap has room for: it is not the traced process's.
        ERL_NIF_TERM list = enif_make_list(env, 0);
        for (int i = 0; i < 1000; ++i) {
            list = enif_make_list_cell(env, argv[3], list);
        }
        enif_get_list_cell(env, list, &answers, &list);
        enif_send(env, &to, NULL,
                  enif_make_tuple6(env, enif_make_atom(env, function), argv[0], argv[2], answers,
                                   argv[4], self(env)));
    }
    return enif_make_atom(env, "ok");
}

#define ASK(name)                                                                        \
    static ERL_NIF_TERM name(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])        \
    {                                                                                    \
        return ask(env, #name, argv);                                                    \
    }
#define TELL(name)                                                                       \
    static ERL_NIF_TERM name(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])        \
    {                                                                                    \
        return tell(env, #name, argv);                                                   \
    }

static int load(ErlNifEnv* env, void** data, ERL_NIF_TERM info) { return 0; }
static int upgrade(ErlNifEnv* env, void** data, void** old_data, ERL_NIF_TERM info) { return 0; }
