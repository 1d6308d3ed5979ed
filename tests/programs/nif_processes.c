// Functions for nif_processes.erl: messages, threads, resources, monitors, calls made later.
#include <erl_nif.h>

#include <string.h>

#define A(name) enif_make_atom(env, name)
#define I(value) enif_make_int(env, value)

typedef struct {
    ErlNifPid owner;
    int number;
    ErlNifMonitor monitor;
} Object;

static ErlNifResourceType* plain;
static ErlNifResourceType* watched;
static ErlNifMutex* lock;
static int alive = 0;

static void tell(ErlNifEnv* caller, const ErlNifPid* to, const char* what, int number)
{
    ErlNifEnv* env = enif_alloc_env();
    enif_send(caller, to, env, enif_make_tuple2(env, A(what), I(number)));
    enif_free_env(env);
}
static void destroyed(ErlNifEnv* env, void* object)
{
    Object* o = object;
    enif_mutex_lock(lock);
    --alive;
    enif_mutex_unlock(lock);
    if (o->number >= 0) tell(env, &o->owner, "destroyed", o->number);
}
static void down(ErlNifEnv* env, void* object, ErlNifPid* pid, ErlNifMonitor* monitor)
{
    Object* o = object;
    tell(env, &o->owner, enif_compare_monitors(monitor, &o->monitor) == 0 ? "down" : "wrong_monitor", o->number);
}
static void called(ErlNifEnv* env, void* object, void* data) { *(int*)data += ((Object*)object)->number; }

static int load(ErlNifEnv* env, void** priv_data, ERL_NIF_TERM info)
{
    ErlNifResourceFlags tried;
    const ErlNifResourceTypeInit init = {destroyed, NULL, down, 4, called};
    static int data = 4711;
    *priv_data = &data;
    lock = enif_mutex_create("the lock");
    plain = enif_open_resource_type(env, NULL, "plain", destroyed, ERL_NIF_RT_CREATE, &tried);
    watched = enif_init_resource_type(env, "watched", &init, ERL_NIF_RT_CREATE | ERL_NIF_RT_TAKEOVER, &tried);
    return plain == NULL || watched == NULL || tried != ERL_NIF_RT_CREATE ||
           strcmp(enif_mutex_name(lock), "the lock") != 0;
}

static ERL_NIF_TERM create(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    ErlNifResourceType* type = enif_is_identical(argv[0], A("watched")) ? watched : plain;
    Object* o = enif_alloc_resource(type, sizeof(Object));
    ERL_NIF_TERM t;
    enif_mutex_lock(lock);
    ++alive;
    enif_mutex_unlock(lock);
    enif_self(env, &o->owner);
    enif_get_int(env, argv[1], &o->number);
    t = enif_make_resource(env, o);
    enif_release_resource(o);
    return t;
}
static ERL_NIF_TERM number(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    void* o;
    int more = 1000;
    const int failed = enif_dynamic_resource_call(env, A("nif_processes"), A("watched"), argv[0], &more);
    if (enif_get_resource(env, argv[0], plain, &o)) {
        return enif_make_tuple4(env, A("plain"), I(((Object*)o)->number), I(enif_sizeof_resource(o) == sizeof(Object)), I(!!failed));
    }
    if (enif_get_resource(env, argv[0], watched, &o)) {
        return enif_make_tuple4(env, A("watched"), I(((Object*)o)->number), I(more), I(!!failed));
    }
    return enif_make_badarg(env);
}
static ERL_NIF_TERM living(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) { return I(alive); }
static ERL_NIF_TERM watch(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    void* o;
    ErlNifPid pid;
    if (!enif_get_local_pid(env, argv[1], &pid)) return enif_make_badarg(env);
    if (enif_get_resource(env, argv[0], plain, &o)) {
        return I(enif_monitor_process(env, o, &pid, NULL) < 0);
    }
    if (!enif_get_resource(env, argv[0], watched, &o)) return enif_make_badarg(env);
    const int result = enif_monitor_process(env, o, &pid, &((Object*)o)->monitor);
    return result > 0 ? A("noproc") : result == 0 ? A("ok") : A("error");
}
static ERL_NIF_TERM unwatch(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    void* o;
    if (!enif_get_resource(env, argv[0], watched, &o)) return enif_make_badarg(env);
    return I(!!enif_demonitor_process(env, o, &((Object*)o)->monitor));
}

static ERL_NIF_TERM send(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    ErlNifPid to;
    ErlNifEnv* own = enif_alloc_env();
    int with_env, without;
    if (!enif_get_local_pid(env, argv[0], &to) && !enif_whereis_pid(env, argv[0], &to)) return A("nobody");
    with_env = enif_send(env, &to, own, enif_make_tuple3(own, A("copied"), enif_make_copy(own, argv[1]), enif_make_copy(own, argv[1])));
    without = enif_send(env, &to, NULL, enif_make_tuple2(env, A("direct"), argv[1]));
    // The environment may be used again.
    enif_send(env, &to, own, enif_make_atom(own, "atom"));
    enif_free_env(own);
    return enif_make_tuple3(env, I(with_env), I(without), I(!!enif_is_process_alive(env, &to)));
}

typedef struct {
    ErlNifPid to;
    int count;
    ErlNifTSDKey key;
    ErlNifTid self;
    int type;
} Work;
static void* worker(void* data)
{
    Work* w = data;
    int i;
    w->self = enif_thread_self();
    w->type = enif_thread_type();
    enif_tsd_set(w->key, w);
    for (i = 1; i <= w->count; ++i) tell(NULL, &w->to, "from_thread", i);
    return enif_tsd_get(w->key);
}
static ERL_NIF_TERM thread(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    Work w = {.count = 0};
    ErlNifTid tid;
    ErlNifThreadOpts* options = enif_thread_opts_create("options");
    void* result = NULL;
    enif_self(env, &w.to);
    enif_get_int(env, argv[0], &w.count);
    enif_tsd_key_create("key", &w.key);
    enif_thread_create("worker", &tid, worker, &w, options);
    enif_thread_join(tid, &result);
    enif_thread_opts_destroy(options);
    const int no_data = enif_tsd_get(w.key) == NULL;
    enif_tsd_key_destroy(w.key);
    return enif_make_tuple4(env, I(result == &w), I(!!enif_equal_tids(w.self, tid)), I(w.type), I(no_data));
}

// Adds up to N in steps, each a call of its own, on another kind of scheduler each time.
static ERL_NIF_TERM step(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    int n, sum, types;
    enif_get_int(env, argv[0], &n);
    enif_get_int(env, argv[1], &sum);
    enif_get_int(env, argv[2], &types);
    types |= 1 << enif_thread_type();
    if (n == 0) return enif_make_tuple3(env, I(sum), I(types), argv[3]);
    if (n < 0) return enif_raise_exception(env, enif_make_tuple2(env, A("negative"), argv[3]));
    const ERL_NIF_TERM next[] = {n == 7 ? I(n - 1) : I(n - 1), I(sum + n), I(types), argv[3]};
    return enif_schedule_nif(env, "a_step", n % 3, step, 4, next);
}
static ERL_NIF_TERM steps(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    const ERL_NIF_TERM first[] = {argv[0], I(0), I(0), argv[1]};
    return enif_schedule_nif(env, "a_step", ERL_NIF_DIRTY_JOB_IO_BOUND, step, 4, first);
}

static ERL_NIF_TERM slices(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    int n = 0;
    while (!enif_consume_timeslice(env, 10) && n < 1000) ++n;
    return A(n < 11 ? "exhausted" : "never");
}

static ERL_NIF_TERM misc(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    char value[8];
    size_t small = 3, large = sizeof value;
    ErlNifSysInfo info;
    ErlNifPid pid;
    enif_system_info(&info, sizeof info);
    enif_set_pid_undefined(&pid);
    const int found = enif_getenv("NIF_TEST", value, &large);
    const int length = (int)large;
    const ERL_NIF_TERM text = enif_make_string(env, value, ERL_NIF_LATIN1);
    const int cut = enif_getenv("NIF_TEST", value, &small);
    const ErlNifTime ns = enif_monotonic_time(ERL_NIF_NSEC), ms = enif_monotonic_time(ERL_NIF_MSEC);
    return enif_make_list(env, 14, I(*(int*)enif_priv_data(env)),
                          I(found), I(length), text, I(cut), I(small != 3), I(enif_getenv("NIF_NOT_THERE", value, &large)),
                          I(info.nif_major_version * 100 + info.nif_minor_version), I(info.dirty_scheduler_support),
                          I(!!enif_is_pid_undefined(&pid)), I(ms - enif_convert_time_unit(ns, ERL_NIF_NSEC, ERL_NIF_MSEC) < 1000),
                          I((int)enif_convert_time_unit(-1500, ERL_NIF_USEC, ERL_NIF_MSEC)),
                          I(enif_convert_time_unit(1, (ErlNifTimeUnit)9, ERL_NIF_SEC) == ERL_NIF_TIME_ERROR),
                          I(!!enif_is_current_process_alive(env)));
}
static ERL_NIF_TERM times(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    return enif_make_list(env, 5, enif_make_unique_integer(env, 0), enif_make_unique_integer(env, ERL_NIF_UNIQUE_POSITIVE),
                          enif_make_unique_integer(env, ERL_NIF_UNIQUE_MONOTONIC | ERL_NIF_UNIQUE_POSITIVE),
                          enif_now_time(env), enif_cpu_time(env));
}

// The vector is gone when this has returned; what it holds is freed later, with the environment.
__attribute__((noinline)) static int enqueue(ErlNifEnv* env, ErlNifIOQueue* q, ERL_NIF_TERM list, int skip, ERL_NIF_TERM* tail)
{
    ErlNifIOVec vec, *iov = &vec;
    const int done = enif_inspect_iovec(env, 64, list, tail, &iov) && enif_ioq_enqv(q, iov, skip);
    memset(&vec, 0x5a, sizeof vec);
    __asm__ volatile("" : : "r"(&vec) : "memory");
    return done;
}

// A queue of what a list of binaries holds: all but `skip` bytes at the front, taken out in pieces.
static ERL_NIF_TERM queue(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    ErlNifIOQueue* q = enif_ioq_create(ERL_NIF_IOQ_NORMAL);
    ErlNifBinary bin;
    SysIOVec* view;
    ERL_NIF_TERM tail, head, sizes = enif_make_list(env, 0), result;
    int skip = 0, n;
    size_t size, at = 0;
    enif_get_int(env, argv[1], &skip);
    if (!enqueue(env, q, argv[0], skip, &tail)) {
        enif_ioq_destroy(q);
        return enif_make_badarg(env);
    }
    enif_alloc_binary(5, &bin);
    memcpy(bin.data, "added", 5);
    enif_ioq_enq_binary(q, &bin, 1);
    enif_alloc_binary(enif_ioq_size(q), &bin);
    while (enif_ioq_size(q) > 0) {
        if (!enif_ioq_peek_head(env, q, &size, &head)) size = 0;
        sizes = enif_make_list_cell(env, enif_make_tuple2(env, I((int)size), head), sizes);
        view = enif_ioq_peek(q, &n);
        const size_t take = n == 1 && view[0].iov_len > 2 ? view[0].iov_len / 2 : view[0].iov_len;
        memcpy(bin.data + at, view[0].iov_base, take);
        at += take;
        enif_ioq_deq(q, take, NULL);
    }
    result = enif_make_tuple4(env, enif_make_binary(env, &bin), sizes, I((int)enif_ioq_deq(q, 1, NULL)), tail);
    enif_ioq_destroy(q);
    return result;
}

static ErlNifFunc functions[] = {
    {"create", 2, create, 0}, {"number", 1, number, 0}, {"living", 0, living, 0}, {"watch", 2, watch, 0},
    {"unwatch", 1, unwatch, 0}, {"send", 2, send, 0}, {"send_dirty", 2, send, ERL_NIF_DIRTY_JOB_IO_BOUND},
    {"thread", 1, thread, ERL_NIF_DIRTY_JOB_IO_BOUND}, {"steps", 2, steps, 0}, {"slices", 0, slices, 0},
    {"misc", 0, misc, 0}, {"times", 0, times, 0}, {"queue", 2, queue, 0},
};
ERL_NIF_INIT(nif_processes, functions, load, NULL, NULL, NULL)
