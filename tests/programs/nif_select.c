// Functions for nif_select.erl: files that the VM waits for, binaries that are part of a resource.
#include <erl_nif.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define A(name) enif_make_atom(env, name)
#define I(value) enif_make_int(env, value)

typedef struct {
    int fd;
    ErlNifPid owner;
    unsigned char bytes[200];
} File;

static ErlNifResourceType* type;
static ErlNifResourceType* other_type;

static void tell(ErlNifEnv* caller, const ErlNifPid* to, const char* what, int number)
{
    ErlNifEnv* env = enif_alloc_env();
    enif_send(caller, to, env, enif_make_tuple2(env, A(what), I(number)));
    enif_free_env(env);
}
static void destroyed(ErlNifEnv* env, void* object)
{
    tell(env, &((File*)object)->owner, "destroyed", ((File*)object)->bytes[0]);
}
static void stop(ErlNifEnv* env, void* object, ErlNifEvent event, int is_direct)
{
    File* f = object;
    const int same = f->fd == event;
    (void)is_direct;
    if (event >= 0 && event < 100000) close(event);
    f->fd = -1;
    tell(env, &f->owner, "stopped", same);
}
static void down(ErlNifEnv* env, void* object, ErlNifPid* pid, ErlNifMonitor* monitor)
{
    tell(env, &((File*)object)->owner, "down", ((File*)object)->bytes[0]);
}

// An object that looks at its file once more when it is destroyed.
typedef struct {
    int fd;
} Closing;
static ErlNifResourceType* closing_type;
static void close_last(ErlNifEnv* env, void* object)
{
    enif_select(env, ((Closing*)object)->fd, ERL_NIF_SELECT_READ | ERL_NIF_SELECT_CANCEL, object, NULL, A("none"));
    close(((Closing*)object)->fd);
}
static void stop_nothing(ErlNifEnv* env, void* object, ErlNifEvent event, int is_direct) {}

static int load(ErlNifEnv* env, void** priv_data, ERL_NIF_TERM info)
{
    const ErlNifResourceTypeInit init = {destroyed, stop, down, 3, NULL};
    const ErlNifResourceTypeInit closing = {close_last, stop_nothing, NULL, 3, NULL};
    type = enif_open_resource_type_x(env, "a_file", &init, ERL_NIF_RT_CREATE, NULL);
    other_type = enif_open_resource_type_x(env, "other_file", &init, ERL_NIF_RT_CREATE, NULL);
    closing_type = enif_open_resource_type_x(env, "closing_file", &closing, ERL_NIF_RT_CREATE, NULL);
    return closing_type == NULL || type == NULL || other_type == NULL;
}

static ERL_NIF_TERM make(ErlNifEnv* env, ErlNifResourceType* t, int fd, int byte)
{
    File* f = enif_alloc_resource(t, sizeof(File));
    ERL_NIF_TERM term;
    f->fd = fd;
    memset(f->bytes, byte, sizeof f->bytes);
    enif_self(env, &f->owner);
    term = enif_make_resource(env, f);
    enif_release_resource(f);
    return term;
}
static File* get(ErlNifEnv* env, ERL_NIF_TERM t)
{
    void* f = NULL;
    return enif_get_resource(env, t, type, &f) || enif_get_resource(env, t, other_type, &f) ? f : NULL;
}

static ERL_NIF_TERM new_pipe(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    int fds[2];
    if (pipe(fds) != 0) return A("no_pipe");
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    fcntl(fds[1], F_SETFL, O_NONBLOCK);
    return enif_make_tuple2(env, make(env, type, fds[0], 'r'), make(env, type, fds[1], 'w'));
}
static ERL_NIF_TERM object(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    int fd = -1, byte = 0;
    enif_get_int(env, argv[0], &fd);
    enif_get_int(env, argv[1], &byte);
    return make(env, type, fd, byte);
}
static ERL_NIF_TERM ordinary(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    return make(env, type, open("/proc/self/exe", O_RDONLY), 'o');
}
static ERL_NIF_TERM same_file(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    return make(env, other_type, get(env, argv[0])->fd, 's');
}
static ERL_NIF_TERM write_to(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    ErlNifBinary b;
    ssize_t n;
    enif_inspect_binary(env, argv[1], &b);
    n = write(get(env, argv[0])->fd, b.data, b.size);
    return n >= 0 ? I((int)n) : A(errno == EAGAIN ? "eagain" : "error");
}
static ERL_NIF_TERM read_from(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    ErlNifBinary b;
    int size = 0;
    ssize_t n;
    enif_get_int(env, argv[1], &size);
    enif_alloc_binary(size, &b);
    n = read(get(env, argv[0])->fd, b.data, size);
    if (n <= 0) {
        enif_release_binary(&b);
        return A(n == 0 ? "eof" : errno == EAGAIN ? "eagain" : "error");
    }
    enif_realloc_binary(&b, n);
    return enif_make_binary(env, &b);
}
static ERL_NIF_TERM close_file(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    return I(close(get(env, argv[0])->fd));
}

// select_file(File, Mode, Pid | null, Term, copy | env): {failed, Flags} or what was cancelled; where it
// is stopped is left out.
static ERL_NIF_TERM select_file(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    File* f = get(env, argv[0]);
    int mode = 0, result;
    ErlNifPid pid;
    const ErlNifPid* to = enif_get_local_pid(env, argv[2], &pid) ? &pid : NULL;
    enif_get_int(env, argv[1], &mode);
    if (enif_is_identical(argv[4], A("env"))) {
        ErlNifEnv* message = enif_alloc_env();
        result = enif_select_x(env, f->fd, (enum ErlNifSelectFlags)mode, f, to,
                               enif_make_copy(message, argv[3]), message);
        enif_free_env(message);
    } else if ((mode & ERL_NIF_SELECT_CUSTOM_MSG) != 0) {
        result = enif_select_x(env, f->fd, (enum ErlNifSelectFlags)mode, f, to, argv[3], NULL);
    } else {
        result = enif_select(env, f->fd, (enum ErlNifSelectFlags)mode, f, to, argv[3]);
    }
    if (result < 0) return enif_make_tuple2(env, A("failed"), I(result & INT_MAX));
    if ((result & (ERL_NIF_SELECT_STOP_CALLED | ERL_NIF_SELECT_STOP_SCHEDULED)) != 0) {
        return enif_make_tuple2(
            env, A("stop"), I(result & ~(ERL_NIF_SELECT_STOP_CALLED | ERL_NIF_SELECT_STOP_SCHEDULED)));
    }
    return I(result);
}

// Selects a file with an atom as the message, in an environment that alone has an object: its destructor runs where the
// environment is emptied, and selects.
static ERL_NIF_TERM select_with_object(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    File* f = get(env, argv[0]);
    ErlNifEnv* message = enif_alloc_env();
    const int mode = ERL_NIF_SELECT_READ | ERL_NIF_SELECT_CUSTOM_MSG;
    Closing* c = enif_alloc_resource(closing_type, sizeof(Closing));
    int result;
    c->fd = dup(f->fd);
    enif_make_resource(message, c);
    enif_release_resource(c);
    result = enif_select_x(env, f->fd, (enum ErlNifSelectFlags)mode, f, NULL, A("an_atom"), message);
    enif_free_env(message);
    return I(result);
}

static ERL_NIF_TERM part(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    File* f = get(env, argv[0]);
    int from = 0, size = 0;
    enif_get_int(env, argv[1], &from);
    enif_get_int(env, argv[2], &size);
    return enif_make_resource_binary(env, f, f->bytes + from, size);
}
static ERL_NIF_TERM set(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    int at = 0, byte = 0;
    enif_get_int(env, argv[1], &at);
    enif_get_int(env, argv[2], &byte);
    get(env, argv[0])->bytes[at] = byte;
    return A("ok");
}
static ERL_NIF_TERM is_in(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    ErlNifBinary b;
    File* f = get(env, argv[0]);
    enif_inspect_binary(env, argv[1], &b);
    return A(b.data >= f->bytes && b.data + b.size <= f->bytes + sizeof f->bytes ? "true" : "false");
}
static ERL_NIF_TERM watch(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    ErlNifPid pid;
    enif_get_local_pid(env, argv[1], &pid);
    return I(enif_monitor_process(env, get(env, argv[0]), &pid, NULL));
}

static ErlNifFunc functions[] = {
    {"new_pipe", 0, new_pipe, 0}, {"object", 2, object, 0}, {"ordinary", 0, ordinary, 0},
    {"same_file", 1, same_file, 0}, {"write_to", 2, write_to, 0}, {"read_from", 2, read_from, 0},
    {"close_file", 1, close_file, 0}, {"select_file", 5, select_file, 0},
    {"select_dirty", 5, select_file, ERL_NIF_DIRTY_JOB_IO_BOUND}, {"part", 3, part, 0}, {"set", 3, set, 0},
    {"select_with_object", 1, select_with_object, 0}, {"is_in", 2, is_in, 0}, {"watch", 2, watch, 0},
};
ERL_NIF_INIT(nif_select, functions, load, NULL, NULL, NULL)
