// Functions for nif_basics.erl.
#include <erl_nif.h>

static ERL_NIF_TERM add(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    long a, b;
    if (!enif_get_long(env, argv[0], &a) || !enif_get_long(env, argv[1], &b)) {
        return enif_make_badarg(env);
    }
    return enif_make_long(env, a + b);
}

static ERL_NIF_TERM add_on_thread(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[], int type)
{
    return enif_thread_type() == type ? add(env, argc, argv) : enif_make_atom(env, "wrong_thread");
}
static ERL_NIF_TERM add_cpu(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    return add_on_thread(env, argc, argv, ERL_NIF_THR_DIRTY_CPU_SCHEDULER);
}
static ERL_NIF_TERM add_io(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    return add_on_thread(env, argc, argv, ERL_NIF_THR_DIRTY_IO_SCHEDULER);
}

static ERL_NIF_TERM zero(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    return enif_make_atom(env, "zero");
}

static ERL_NIF_TERM raise(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    ERL_NIF_TERM reason;
    enif_raise_exception(env, argv[0]);
    // What is returned beside an exception does not count.
    return enif_has_pending_exception(env, &reason) ? reason : enif_make_atom(env, "none");
}

// A list of N tuples, so that what a function makes does not fit the heap.
static ERL_NIF_TERM many(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    int n;
    if (!enif_get_int(env, argv[0], &n)) {
        return enif_make_badarg(env);
    }
    ERL_NIF_TERM list = enif_make_list(env, 0);
    for (; n > 0; --n) {
        list = enif_make_list_cell(env, enif_make_tuple2(env, enif_make_int(env, n), argv[1]), list);
    }
    return list;
}

static ErlNifFunc functions[] = {
    {"add", 2, add, 0},
    {"add_cpu", 2, add_cpu, ERL_NIF_DIRTY_JOB_CPU_BOUND},
    {"add_io", 2, add_io, ERL_NIF_DIRTY_JOB_IO_BOUND},
    {"zero", 0, zero, 0},
    {"raise", 1, raise, 0},
    {"raise_cpu", 1, raise, ERL_NIF_DIRTY_JOB_CPU_BOUND},
    {"many", 2, many, 0},
    {"local", 1, raise, 0},
};
ERL_NIF_INIT(nif_basics, functions, NULL, NULL, NULL, NULL)
