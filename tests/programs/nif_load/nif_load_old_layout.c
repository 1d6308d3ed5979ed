// A library of version 2.6, whose functions had no flags.
#include "nif_load.h"
static struct {
    const char* name;
    unsigned arity;
    ERL_NIF_TERM (*code)(ErlNifEnv*, int, const ERL_NIF_TERM[]);
} old[] = {{"f", 1, f}, {"h", 2, f}};
ENTRY(2, 6, "nif_load_old", 2, (ErlNifFunc*)old, NULL, "beam.vanilla")
