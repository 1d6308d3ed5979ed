#include "nif_load.h"
static ErlNifFunc more[] = {{"f", 1, f, 0}, {"f", 7, f, 0}};
ERL_NIF_INIT(nif_load_bad, more, NULL, NULL, NULL, NULL)
