// Functions for trace_nif_send.erl.
#include <erl_nif.h>

static ERL_NIF_TERM send(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    ErlNifPid to;
    if (!enif_get_local_pid(env, argv[0], &to)) {
        return enif_make_badarg(env);
    }
    return enif_make_int(env, enif_send(env, &to, NULL, argv[1]));
}

static ERL_NIF_TERM send_env(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    ErlNifPid to;
    if (!enif_get_local_pid(env, argv[0], &to)) {
        return enif_make_badarg(env);
    }
    ErlNifEnv* message = enif_alloc_env();
    const int sent = enif_send(env, &to, message, enif_make_copy(message, argv[1]));
    enif_free_env(message);
    return enif_make_int(env, sent);
}

static ErlNifFunc functions[] = {
    {"send", 2, send, 0},
    {"send_env", 2, send_env, 0},
    {"send_dirty", 2, send, ERL_NIF_DIRTY_JOB_CPU_BOUND},
};

ERL_NIF_INIT(trace_nif_send, functions, NULL, NULL, NULL, NULL)
