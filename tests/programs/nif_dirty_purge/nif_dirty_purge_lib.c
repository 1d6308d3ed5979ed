// Functions for nif_dirty_purge_module.erl: a dirty one that returns when it is told to.
#include <erl_nif.h>

typedef struct {
    ErlNifMutex* lock;
    ErlNifCond* changed;
    int waiting;
    int released;
} State;

static int load(ErlNifEnv* env, void** priv_data, ERL_NIF_TERM info)
{
    State* s = enif_alloc(sizeof(State));
    s->lock = enif_mutex_create("lock");
    s->changed = enif_cond_create("changed");
    s->waiting = s->released = 0;
    *priv_data = s;
    return 0;
}
// The state is shared: processes in the old code wait for the new code's release().
static int upgrade(ErlNifEnv* env, void** priv_data, void** old_priv_data, ERL_NIF_TERM info)
{
    *priv_data = *old_priv_data;
    return 0;
}

static ERL_NIF_TERM block(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    State* s = enif_priv_data(env);
    ERL_NIF_TERM result = enif_make_tuple2(env, enif_make_atom(env, "blocked"), argv[0]);
    enif_mutex_lock(s->lock);
    ++s->waiting;
    while (!s->released) enif_cond_wait(s->changed, s->lock);
    --s->waiting;
    enif_mutex_unlock(s->lock);
    return result;
}
static ERL_NIF_TERM waiting(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    State* s = enif_priv_data(env);
    int n;
    enif_mutex_lock(s->lock);
    n = s->waiting;
    enif_mutex_unlock(s->lock);
    return enif_make_int(env, n);
}
static ERL_NIF_TERM release(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    State* s = enif_priv_data(env);
    int released = 0;
    enif_get_int(env, argv[0], &released);
    enif_mutex_lock(s->lock);
    s->released = released;
    enif_cond_broadcast(s->changed);
    enif_mutex_unlock(s->lock);
    return argv[0];
}

static ErlNifFunc functions[] = {
    {"block", 1, block, ERL_NIF_DIRTY_JOB_IO_BOUND}, {"waiting", 0, waiting, 0}, {"release", 1, release, 0},
};
ERL_NIF_INIT(nif_dirty_purge_module, functions, load, NULL, upgrade, NULL)
