#include "nif_load.h"
ERL_NIF_INIT_EXPORT ErlNifEntry* nif_init(void);
ERL_NIF_INIT_EXPORT ErlNifEntry* nif_init(void) { return NULL; }
