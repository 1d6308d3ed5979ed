// A number that everybody sees, for nif_causality.erl.
#include <erl_nif.h>

static long g_told;

static ERL_NIF_TERM tell(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) {
    long n = 0;
    if (!enif_get_long(env, argv[0], &n)) {
        return enif_make_badarg(env);
    }
    __atomic_store_n(&g_told, n, __ATOMIC_RELEASE);
    return argv[0];
}

static ERL_NIF_TERM told(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) {
    return enif_make_long(env, __atomic_load_n(&g_told, __ATOMIC_ACQUIRE));
}

static ErlNifFunc functions[] = {{"tell", 1, tell, 0}, {"told", 0, told, 0}};

ERL_NIF_INIT(nif_causality, functions, NULL, NULL, NULL, NULL)
