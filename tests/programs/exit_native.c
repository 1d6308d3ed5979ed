// Functions for exit_native.erl: exit() of a program that a native function has forked, and of the function itself.
#include <erl_nif.h>

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static ERL_NIF_TERM forked(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    int status = 0;
    pid_t pid;
    (void)argc;
    if (!enif_get_int(env, argv[0], &status))
        return enif_make_badarg(env);
    pid = fork();
    if (pid == 0)
        exit(status);
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return enif_make_badarg(env);
    return enif_make_tuple2(env, enif_make_int(env, WIFEXITED(status) != 0),
                            enif_make_int(env, WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status)));
}

static ERL_NIF_TERM leave(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    int status = 0;
    (void)argc;
    if (!enif_get_int(env, argv[0], &status))
        return enif_make_badarg(env);
    exit(status);
}

static ErlNifFunc functions[] = {{"forked", 1, forked, 0}, {"leave", 1, leave, 0}};

ERL_NIF_INIT(exit_native, functions, NULL, NULL, NULL, NULL)
