// The clocks for code_loading.erl: how long ago was the last look, by the wall and by the processor time of
// the thread?
#include <erl_nif.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BUCKETS 200000  // of 1/10 microsecond, for what is below 20 ms

struct histogram {
    unsigned counts[BUCKETS];
    unsigned long total;
    unsigned long worst;  // nanoseconds
};
static struct histogram g_wall;
static struct histogram g_cpu;
static long g_last_wall;
static long g_last_cpu;
static __thread char t_here;
static char* g_thread;

static long now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void add(struct histogram* h, long ns) {
    const unsigned long bucket = (unsigned long)ns / 100;
    ++h->counts[bucket < BUCKETS ? bucket : BUCKETS - 1];
    ++h->total;
    if ((unsigned long)ns > h->worst) {
        h->worst = (unsigned long)ns;
    }
}

// One process calls it.
static ERL_NIF_TERM sample(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) {
    const long wall = now(CLOCK_MONOTONIC);
    const long cpu = now(CLOCK_THREAD_CPUTIME_ID);
    if (g_last_wall != 0) {
        add(&g_wall, wall - g_last_wall);
        if (g_thread == &t_here) {
            add(&g_cpu, cpu - g_last_cpu);
        }
    }
    g_thread = &t_here;
    g_last_wall = wall;
    g_last_cpu = cpu;
    // Two system calls are more than a reduction: a time slice is to be as long as others are.
    enif_consume_timeslice(env, 1);
    return enif_make_int(env, 0);
}

static ERL_NIF_TERM reset(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) {
    memset(&g_wall, 0, sizeof g_wall);
    memset(&g_cpu, 0, sizeof g_cpu);
    g_last_wall = 0;
    return enif_make_int(env, 0);
}

static unsigned long below(const struct histogram* h, double part) {
    unsigned long left = (unsigned long)((double)h->total * part);
    unsigned i = 0;
    while (i < BUCKETS - 1 && left >= h->counts[i]) {
        left -= h->counts[i++];
    }
    return i * 100ul + 100;
}

static ERL_NIF_TERM describe(ErlNifEnv* env, const struct histogram* h) {
    return enif_make_tuple5(env, enif_make_ulong(env, h->total), enif_make_ulong(env, below(h, 0.5)),
                            enif_make_ulong(env, below(h, 0.999)), enif_make_ulong(env, below(h, 0.99999)),
                            enif_make_ulong(env, h->worst));
}

// [{Samples, P50, P99.9, P99.999, Worst}] by the wall and by the thread's clock, nanoseconds.
static ERL_NIF_TERM results(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[]) {
    return enif_make_list2(env, describe(env, &g_wall), describe(env, &g_cpu));
}

static ErlNifFunc functions[] = {{"sample", 0, sample, 0}, {"reset", 0, reset, 0}, {"results", 0, results, 0}};

ERL_NIF_INIT(code_loading, functions, NULL, NULL, NULL, NULL)
