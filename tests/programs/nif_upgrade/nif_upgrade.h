// The library of nif_upgrade_module in several versions; each notes what happens to it in the
// file that the environment variable NIF_LOG names.
#pragma once

#include <erl_nif.h>

#include <stdio.h>

typedef struct {
    int version;
    int objects;
} Data;

static ErlNifResourceType* type;

static void note(const char* what, int number)
{
    char name[200];
    size_t size = sizeof name;
    FILE* log = enif_getenv("NIF_LOG", name, &size) == 0 ? fopen(name, "a") : NULL;
    if (log != NULL) {
        fprintf(log, "%s(%d:%d) ", what, VERSION, number);
        fclose(log);
    }
}

static void destroyed(ErlNifEnv* env, void* object) { note("destroyed", *(int*)object); }

static int open_type(ErlNifEnv* env, ErlNifResourceFlags flags)
{
    ErlNifResourceFlags tried;
    type = enif_open_resource_type(env, NULL, "object", destroyed, flags, &tried);
    return type == NULL ? 1 : 0;
}

static Data* new_data(int version)
{
    Data* data = enif_alloc(sizeof(Data));
    data->version = version;
    data->objects = 0;
    return data;
}

static int load(ErlNifEnv* env, void** priv_data, ERL_NIF_TERM info)
{
    int n = 0;
    enif_get_int(env, info, &n);
    note("load", n);
    if (n == 13) {
        open_type(env, ERL_NIF_RT_CREATE);
        return 13;
    }
    *priv_data = new_data(VERSION);
    return open_type(env, ERL_NIF_RT_CREATE);
}

static int upgrade(ErlNifEnv* env, void** priv_data, void** old_priv_data, ERL_NIF_TERM info)
{
    int n = 0;
    Data* old = *old_priv_data;
    enif_get_int(env, info, &n);
    note("upgrade", old->version);
    if (n == 14) {
        open_type(env, (ErlNifResourceFlags)(ERL_NIF_RT_TAKEOVER));
        *old_priv_data = NULL;
        return 14;
    }
    *priv_data = new_data(VERSION);
    ((Data*)*priv_data)->objects = old->objects;
    return open_type(env, (ErlNifResourceFlags)(ERL_NIF_RT_CREATE | ERL_NIF_RT_TAKEOVER));
}

static void unload(ErlNifEnv* env, void* priv_data)
{
    note("unload", ((Data*)priv_data)->version);
    enif_free(priv_data);
}

static ERL_NIF_TERM version(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    Data* data = enif_priv_data(env);
    return enif_make_tuple3(env, enif_make_int(env, VERSION), enif_make_int(env, data->version),
                            enif_make_int(env, data->objects));
}

static ERL_NIF_TERM create(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    int* object = enif_alloc_resource(type, sizeof(int));
    ERL_NIF_TERM t = enif_make_resource(env, object);
    enif_get_int(env, argv[0], object);
    enif_release_resource(object);
    ++((Data*)enif_priv_data(env))->objects;
    return t;
}

static ERL_NIF_TERM read_object(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    void* object;
    return enif_get_resource(env, argv[0], type, &object) ? enif_make_int(env, *(int*)object)
                                                          : enif_make_badarg(env);
}

static ErlNifFunc functions[] = {
    {"version", 0, version, 0}, {"create", 1, create, 0}, {"read", 1, read_object, 0}};
