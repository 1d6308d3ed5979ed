// Libraries for nif_load.erl, each with something wrong.
#pragma once

#include <erl_nif.h>

__attribute__((unused)) static ERL_NIF_TERM f(ErlNifEnv* env, int argc, const ERL_NIF_TERM argv[])
{
    return enif_make_atom(env, "native");
}

__attribute__((unused)) static ErlNifFunc functions[] = {{"f", 1, f, 0}};

// As ERL_NIF_INIT, with everything to choose.
#define ENTRY(MAJOR, MINOR, NAME, COUNT, FUNCTIONS, LOAD, VARIANT)                                    \
    ERL_NIF_INIT_EXPORT ErlNifEntry* nif_init(void);                                                   \
    ERL_NIF_INIT_EXPORT ErlNifEntry* nif_init(void)                                                    \
    {                                                                                                  \
        static ErlNifEntry entry = {MAJOR, MINOR, NAME, COUNT, FUNCTIONS, LOAD, NULL, NULL, NULL,      \
                                    VARIANT, 1, sizeof(ErlNifResourceTypeInit), "erts-99.9"};          \
        return &entry;                                                                                 \
    }
