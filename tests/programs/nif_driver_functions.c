// Functions of erl_driver.h in a library of NIFs.
#include <erl_driver.h>
#include <erl_nif.h>
#include <errno.h>
#include <string.h>

static ErlDrvMutex* g_lock;
static ErlDrvCond* g_changed;
static int g_value;

static void* run(void* argument) {
    erl_drv_mutex_lock(g_lock);
    g_value = *(int*)argument;
    erl_drv_cond_signal(g_changed);
    erl_drv_mutex_unlock(g_lock);
    return &g_value;
}

static ERL_NIF_TERM errno_ids(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) {
    return enif_make_list4(env, enif_make_string(env, erl_errno_id(ENOENT), ERL_NIF_LATIN1),
                           enif_make_string(env, erl_errno_id(EEXIST), ERL_NIF_LATIN1),
                           enif_make_string(env, erl_errno_id(EAGAIN), ERL_NIF_LATIN1),
                           enif_make_string(env, erl_errno_id(123456), ERL_NIF_LATIN1));
}

static ERL_NIF_TERM threads(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) {
    int wanted = 42;
    void* result = NULL;
    ErlDrvTid thread;
    ErlDrvThreadOpts* options = erl_drv_thread_opts_create("options");
    ErlDrvRWLock* rwlock = erl_drv_rwlock_create("rwlock");
    ErlDrvTSDKey key;
    g_lock = erl_drv_mutex_create("lock");
    g_changed = erl_drv_cond_create("changed");
    erl_drv_tsd_key_create("key", &key);
    erl_drv_tsd_set(key, &wanted);
    erl_drv_mutex_lock(g_lock);
    const int created = erl_drv_thread_create("thread", &thread, run, &wanted, options);
    while (g_value != wanted) {
        erl_drv_cond_wait(g_changed, g_lock);
    }
    erl_drv_mutex_unlock(g_lock);
    const int is_self = erl_drv_equal_tids(thread, erl_drv_thread_self());
    const int joined = erl_drv_thread_join(thread, &result);
    erl_drv_rwlock_rlock(rwlock);
    const int busy = erl_drv_rwlock_tryrwlock(rwlock) != 0;
    erl_drv_rwlock_runlock(rwlock);
    const int own = erl_drv_tsd_get(key) == &wanted;
    ERL_NIF_TERM names = enif_make_list3(env, enif_make_string(env, erl_drv_mutex_name(g_lock), ERL_NIF_LATIN1),
                                         enif_make_string(env, erl_drv_cond_name(g_changed), ERL_NIF_LATIN1),
                                         enif_make_string(env, erl_drv_rwlock_name(rwlock), ERL_NIF_LATIN1));
    erl_drv_tsd_key_destroy(key);
    erl_drv_rwlock_destroy(rwlock);
    erl_drv_cond_destroy(g_changed);
    erl_drv_mutex_destroy(g_lock);
    erl_drv_thread_opts_destroy(options);
    return enif_make_tuple7(env, enif_make_int(env, created), enif_make_int(env, is_self), enif_make_int(env, joined),
                            enif_make_int(env, *(int*)result), enif_make_int(env, busy), enif_make_int(env, own), names);
}

static ERL_NIF_TERM memory(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) {
    char* text = driver_alloc(4);
    strcpy(text, "abc");
    text = driver_realloc(text, 100000);
    ERL_NIF_TERM result = enif_make_string(env, text, ERL_NIF_LATIN1);
    driver_free(text);
    return result;
}

static ERL_NIF_TERM system_info(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) {
    ErlDrvSysInfo info;
    driver_system_info(&info, sizeof info);
    return enif_make_tuple4(env, enif_make_int(env, info.driver_major_version),
                            enif_make_int(env, info.driver_minor_version), enif_make_int(env, info.smp_support),
                            enif_make_string(env, info.otp_release, ERL_NIF_LATIN1));
}

static ERL_NIF_TERM environment(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) {
    char value[10];
    size_t size = sizeof value;
    const int put = erl_drv_putenv("NIF_DRIVER", "value");
    const int got = erl_drv_getenv("NIF_DRIVER", value, &size);
    return enif_make_tuple3(env, enif_make_int(env, put), enif_make_int(env, got),
                            enif_make_string(env, value, ERL_NIF_LATIN1));
}

static ErlNifFunc functions[] = {{"errno_ids", 0, errno_ids, 0},
                                 {"threads", 0, threads, 0},
                                 {"memory", 0, memory, 0},
                                 {"system_info", 0, system_info, 0},
                                 {"environment", 0, environment, 0}};

ERL_NIF_INIT(nif_driver_functions, functions, NULL, NULL, NULL, NULL)
