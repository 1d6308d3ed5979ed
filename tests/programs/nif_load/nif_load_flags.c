#include "nif_load.h"
static ErlNifFunc more[] = {{"f", 1, f, 77}};
ERL_NIF_INIT(nif_load_bad, more, NULL, NULL, NULL, NULL)
